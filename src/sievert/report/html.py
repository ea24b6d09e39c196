"""The audit as one self-contained HTML page: sentences, a table, three pictures, the file itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple

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
from sievert.leakage.closed_forms import Identity
from sievert.leakage.records import record_leakage
from sievert.report import plots
from sievert.report.audit import Audit
from sievert.report.findings import Finding, bits_at
from sievert.report.text import audit_lines

__all__ = ["Picture", "audit_figures", "audit_html", "embedded"]

# Points of the curve beside ε = 0; fewer where one channel is large.
CURVE_POINTS, FEWER_POINTS = 24, 12
LARGE_CHANNEL = 250_000


class Picture(NamedTuple):
    """A figure with the heading above it and the sentence below it."""

    heading: str
    caption: str
    figure: go.Figure


def audit_html(scenario: Scenario, audit: Audit) -> str:
    """The whole page, working offline."""
    template = (
        resources.files("sievert.report").joinpath("templates", "audit.html").read_text(encoding="utf-8")
    )
    environment = Environment(autoescape=True)
    environment.filters["number"] = _number
    figures = [
        (picture.heading, picture.caption, Markup(embedded(picture.figure, i)))
        for i, picture in enumerate(audit_figures(scenario, audit))
    ]
    return environment.from_string(template).render(
        audit=audit,
        version=__version__,
        source=Path(scenario.source).name,
        headline=str(audit),
        sections=list(audit_lines(audit)),
        figures=figures,
        text=scenario.to_toml(),
        plotly_js=Markup(f"<script>{get_plotlyjs()}</script>"),
    )


def _number(value: object, digits: int = 6) -> str:
    """A number of the table; a dash where there is none."""
    return "–" if value is None else f"{float(value):.{digits}g}"  # type: ignore[arg-type]


def embedded(figure: go.Figure, number: int) -> str:
    """A figure as HTML for a page that carries Plotly itself."""
    html: str = to_html(
        figure,
        full_html=False,
        include_plotlyjs=False,
        div_id=f"figure-{number}",
        config={"displayModeBar": False, "responsive": True},
    )
    return html


def audit_figures(scenario: Scenario, audit: Audit) -> list[Picture]:
    """The channel, belief before and after, leakage against ε."""
    channel = scenario.channel
    return [
        Picture(
            "What the mechanism does",
            "Each row is a true value; the darker a cell, the likelier that output.",
            plots.channel_heatmap(channel),
        ),
        Picture(
            "Belief before and after the most revealing output",
            "What an adversary believes before the release, and after the output that makes some value "
            "likeliest.",
            plots.beliefs(channel, scenario.prior),
        ),
        _curve(scenario, audit),
    ]


def _curve(scenario: Scenario, audit: Audit) -> Picture:
    """Leakage of the file's family (or of randomised response beside a fixed matrix) around the file's ε."""
    model = scenario.document.mechanism
    assert model is not None
    here = audit.claimed_eps if audit.claimed_eps is not None else audit.epsilon.nats
    top = 4 * here if here and math.isfinite(here) else 4.0
    fixed = model.matrix is not None or model.kind == "metric-channel"
    channel = scenario.channel.finite()
    family: Callable[[float], Channel] = (
        partial(mechanisms.randomised_response, channel.inputs) if fixed else scenario.with_eps
    )
    points = CURVE_POINTS if math.prod(channel.shape) <= LARGE_CHANNEL else FEWER_POINTS
    # Leakage bends most near 0, so the points are denser there.
    grid = top * np.linspace(0, 1, points + 1) ** 2
    members = [(eps, _member(family, eps)) for eps in grid.tolist()]
    rows = [(eps, _bits(scenario, audit, member)) for eps, member in members if member is not None]
    curves = {name: [bits[name] for _, bits in rows] for name in (rows[0][1] if rows else ())}
    limit = scenario.accept.bits if scenario.accept is not None and scenario.observations == 1 else None
    name = "randomised response on the same inputs" if fixed else str(model.kind).replace("-", " ")
    figure = plots.leakage_curve(
        [eps for eps, _ in rows], curves, here=here if math.isfinite(here) else None, limit=limit
    )
    caption = f"Leakage of one release through {name} as ε varies; the dotted line is this file."
    return Picture("Leakage against ε", caption, figure)


def _member(family: Callable[[float], Channel], eps: float) -> Channel | None:
    """The family's channel at this ε, or None where the family has none (tight constraints)."""
    try:
        return family(eps)
    except SievertError:
        return None


def _bits(scenario: Scenario, audit: Audit, channel: Channel) -> dict[str, float]:
    """Bits leaked about one record, and to each adversary whose leakage is measured in bits."""
    found = {}
    # With one record that is what the exact guess is about.
    if audit.records > 1 or not any(isinstance(gain, Identity) for gain in scenario.gains):
        record = record_leakage(channel, scenario.answers, scenario.record_prior)
        found["the value" if audit.records == 1 else "one record"] = record.bits
    belief = scenario.prior.astype(np.float64)
    for item, gain in zip(audit.leakages, scenario.gains, strict=True):
        bits = bits_at(channel, belief, gain, float(item.before))
        if bits is not None:
            found[_curve_name(item)] = bits
    return found


def _curve_name(item: Finding) -> str:
    return {"identity": "exact guess", "shannon": "uncertainty removed"}.get(item.name, item.name)
