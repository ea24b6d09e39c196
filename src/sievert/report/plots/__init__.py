"""Pictures: one function each, returning a Plotly figure without a title, for a page to give it a heading.

Colours mean the same in all of them (see `style`): grey is before the release, blue after, red a limit.
"""

from __future__ import annotations

from sievert.report.plots.belief_bars import beliefs
from sievert.report.plots.designs import candidates, frontier
from sievert.report.plots.estimates import estimated_distribution
from sievert.report.plots.heatmaps import channel_heatmap
from sievert.report.plots.leakage_curves import leakage_curve
from sievert.report.plots.places import places_before_after
from sievert.report.plots.policies import policy_graph
from sievert.report.plots.repeats import breach_curve, long_run, success_curve
from sievert.report.plots.simplex import hypers, simplex_surface
from sievert.report.plots.style import AFTER, BEFORE, LIMIT
from sievert.report.plots.thresholds import threshold_curves
from sievert.report.plots.tradeoffs import tradeoff_curve

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
