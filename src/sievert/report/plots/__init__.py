"""Pictures: one function each, returning a Plotly figure without a title, for a page to give it a heading.

Colours mean the same in all of them (see `style`): grey is before the release, blue after, red a limit.
"""

from __future__ import annotations

from sievert.report.plots._channels import beliefs, channel_heatmap, hypers, simplex_surface, tradeoff_curve
from sievert.report.plots._curves import (
    breach_curve,
    candidates,
    estimated_distribution,
    frontier,
    leakage_curve,
    long_run,
    success_curve,
    threshold_curves,
)
from sievert.report.plots._policies import places_before_after, policy_graph
from sievert.report.plots._style import AFTER, BEFORE, LIMIT

__all__ = [
    "AFTER",
    "BEFORE",
    "LIMIT",
    "beliefs",
    "breach_curve",
    "candidates",
    "channel_heatmap",
    "estimated_distribution",
    "frontier",
    "hypers",
    "leakage_curve",
    "long_run",
    "places_before_after",
    "policy_graph",
    "simplex_surface",
    "success_curve",
    "threshold_curves",
    "tradeoff_curve",
]


def __dir__() -> list[str]:
    return sorted(__all__)
