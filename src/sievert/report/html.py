"""The audit as one self-contained HTML page: sentences, a table, three pictures, the file itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from jinja2 import Environment
from markupsafe import Markup
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from sievert import __version__, mechanisms
from sievert.channels.channel import Channel
from sievert.errors import SievertError
from sievert.files import Scenario
from sievert.leakage.measures import leakage
from sievert.leakage.records import record_leakage
from sievert.report import plots
from sievert.report.audit import Audit
from sievert.report.text import audit_lines, headline

__all__ = ["audit_figures", "audit_html"]

CURVE_POINTS = 25


def audit_html(scenario: Scenario, audit: Audit) -> str:
    """The whole page, working offline."""
    template = (
        resources.files("sievert.report").joinpath("templates", "audit.html").read_text(encoding="utf-8")
    )
    environment = Environment(autoescape=True)
    figures = [
        (caption, Markup(_embedded(figure, i)))
        for i, (caption, figure) in enumerate(audit_figures(scenario, audit))
    ]
    return environment.from_string(template).render(
        audit=audit,
        version=__version__,
        source=Path(scenario.source).name,
        headline=headline(audit),
        sections=list(audit_lines(audit)),
        figures=figures,
        text=scenario.to_toml(),
        plotly_js=Markup(f"<script>{get_plotlyjs()}</script>"),
    )


def _embedded(figure: go.Figure, number: int) -> str:
    html: str = to_html(
        figure,
        full_html=False,
        include_plotlyjs=False,
        div_id=f"figure-{number}",
        config={"displaylogo": False, "responsive": True},
    )
    return html


def audit_figures(scenario: Scenario, audit: Audit) -> list[tuple[str, go.Figure]]:
    """Captions and figures: the channel, belief before and after, leakage against ε."""
    channel = scenario.channel
    return [
        (
            "Each row is a true value; the darker a cell, the likelier that output.",
            plots.channel_heatmap(channel),
        ),
        (
            "What an adversary believes before the release, and after the output that makes some value "
            "likeliest.",
            plots.beliefs(channel, scenario.prior),
        ),
        _curve(scenario, audit),
    ]


def _curve(scenario: Scenario, audit: Audit) -> tuple[str, go.Figure]:
    """Leakage of the file's family (or of randomised response beside a fixed matrix) around the file's ε."""
    model = scenario.document.mechanism
    assert model is not None
    here = audit.claimed_eps if audit.claimed_eps is not None else audit.epsilon.nats
    top = 4 * here if here and math.isfinite(here) else 4.0
    grid = np.linspace(0, top, CURVE_POINTS + 1)[1:].tolist()
    fixed = model.matrix is not None or model.kind == "metric-channel"
    labels = scenario.channel.finite().inputs
    family: Callable[[float], Channel] = (
        partial(mechanisms.randomised_response, labels) if fixed else scenario.with_eps
    )
    channels = [(eps, _member(family, eps)) for eps in grid]
    rows = [(eps, _bits(scenario, channel)) for eps, channel in channels if channel is not None]
    curves = {name: [bits[name] for _, bits in rows] for name in (rows[0][1] if rows else ())}
    limit = scenario.accept.bits if scenario.accept is not None and scenario.observations == 1 else None
    name = "randomised response on the same inputs" if fixed else str(model.kind).replace("-", " ")
    caption = f"Leakage of {name} as ε varies; the dotted line is this file."
    figure = plots.leakage_curve(
        [eps for eps, _ in rows], curves, here=here if math.isfinite(here) else None, limit=limit
    )
    return caption, figure


def _member(family: Callable[[float], Channel], eps: float) -> Channel | None:
    """The family's channel at this ε, or None where the family has none (tight constraints)."""
    try:
        return family(eps)
    except SievertError:
        return None


def _bits(scenario: Scenario, channel: Channel) -> dict[str, float]:
    """Bits leaked about one record, and for each gain of the file."""
    found = {"one record": record_leakage(channel, scenario.answers, scenario.record_prior).bits}
    for gain in scenario.gains:
        found[gain.name] = leakage(channel, scenario.prior, gain).bits
    return found
