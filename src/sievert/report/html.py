"""The audit as one self-contained HTML page: sentences, pictures, a table, the file itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from sievert import mechanisms
from sievert.channels.channel import Channel
from sievert.errors import SievertError
from sievert.files import Scenario
from sievert.leakage.closed_forms import Identity
from sievert.leakage.records import record_leakage
from sievert.report import plots
from sievert.report.audit import Audit
from sievert.report.findings import Finding, bits_at
from sievert.report.page import Page, Picture, Table, page_html
from sievert.report.text import audit_lines
from sievert.spaces.secrets import SecretGraph

__all__ = ["audit_figures", "audit_html"]

# Points of the curve beside ε = 0; fewer where one channel is large.
CURVE_POINTS, FEWER_POINTS = 24, 12
LARGE_CHANNEL = 250_000
# More values than this make a graph that nobody can read.
LARGEST_GRAPH = 30


def audit_html(scenario: Scenario, audit: Audit) -> str:
    """The whole page, working offline."""
    header = ("adversary", "before", "after", "factor", "bits", "difference")
    rows = [
        (
            "exact guess" if item.name == "identity" else item.name,
            item.before,
            item.after,
            item.factor,
            item.bits,
            item.difference,
        )
        for item in audit.leakages
    ]
    source = Path(scenario.source).name
    return page_html(
        Page(
            title=audit.title,
            made_by=f"Audit of {source}",
            headline=str(audit),
            sections=list(audit_lines(audit)),
            good=audit.passed,
            tables=[Table("Leakage by adversary", header, rows)] if rows else [],
            pictures=audit_figures(scenario, audit),
            proofs=[
                f"`sievert audit {source}` recomputes every number of this page; `sievert limits {source} "
                "--proof proof.json` saves a proof of what the policy allows, and `sievert verify "
                "proof.json` checks it without a solver."
            ],
            text=scenario.to_toml(),
        )
    )


def audit_figures(scenario: Scenario, audit: Audit) -> list[Picture]:
    """The channel, belief before and after, leakage against ε; for small policies, what must stay hidden."""
    channel = scenario.channel
    pictures = [
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
    secrets = scenario.policy.secrets
    if audit.records == 1 and isinstance(secrets, SecretGraph) and secrets.size <= LARGEST_GRAPH:
        pair = audit.epsilon.pair
        shown = pair if pair is not None and all(value in secrets.position for value in pair) else None
        marked = "" if shown is None else "; the red line joins the two that are easiest to tell apart"
        pictures.append(
            Picture(
                "What must not be told apart",
                f"Values that are joined must not be told apart{marked}.",
                plots.policy_graph(secrets, witness=shown),
            )
        )
    return pictures


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
    caption = f"Leakage of one release through {name} as ε varies; the upright line is this file."
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
