"""The explanation of a claim as one self-contained HTML page: sentences, the trade-off curve, a table."""

from __future__ import annotations

from importlib import resources

import plotly.graph_objects as go
from jinja2 import Environment
from markupsafe import Markup
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from sievert import __version__
from sievert.limits.backwards import SYMBOLS
from sievert.report import plots
from sievert.report.explain import OTHER_NUMBERS, ClaimReport, explanation_lines
from sievert.report.words import probability

__all__ = ["explain_html"]


def explain_html(report: ClaimReport, text: str | None = None) -> str:
    """The whole page, working offline; `text` is the file it was made from."""
    template = (
        resources.files("sievert.report").joinpath("templates", "explain.html").read_text(encoding="utf-8")
    )
    environment = Environment(autoescape=True)
    environment.filters["probability"] = probability
    found = report.explanation
    return environment.from_string(template).render(
        report=report,
        found=found,
        version=__version__,
        sections=[item for item in explanation_lines(report) if item[0] != OTHER_NUMBERS],
        other_numbers=OTHER_NUMBERS,
        parameter=SYMBOLS.get(found.table[0][0], found.table[0][0]) if found.table else "",
        figure=Markup(_embedded(plots.tradeoff_curve({found.claim: found.curve}))),
        text=text,
        plotly_js=Markup(f"<script>{get_plotlyjs()}</script>"),
    )


def _embedded(figure: go.Figure) -> str:
    html: str = to_html(
        figure,
        full_html=False,
        include_plotlyjs=False,
        div_id="tradeoff",
        config={"displayModeBar": False, "responsive": True},
    )
    return html
