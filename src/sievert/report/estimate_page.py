"""The page of `sievert estimate --report`: sentences, the picture and every value in one file."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go

from sievert.files import Scenario
from sievert.report import plots
from sievert.report.estimate import FileEstimate, estimate_lines, table_header, table_rows
from sievert.report.page import Page, Picture, Table, page_html
from sievert.report.plots.style import LARGEST_BARS

__all__ = ["estimate_figure", "estimate_html"]


def estimate_html(scenario: Scenario, result: FileEstimate) -> str:
    """The estimate as one self-contained page."""
    source = Path(scenario.source).name
    return page_html(
        Page(
            title=result.title,
            made_by=f"Estimate from the reports of {source}",
            headline=str(result),
            sections=list(estimate_lines(result)),
            tables=[Table("Every value", table_header(result), list(table_rows(result)))],
            pictures=[Picture(*_words(result), estimate_figure(result))],
            proofs=_proofs(source, result),
            text=scenario.to_toml(),
            private=result.private,
        )
    )


def estimate_figure(result: FileEstimate) -> go.Figure:
    """Original, noisy and estimated shares side by side."""
    found = result.estimate
    return plots.estimated_distribution(
        found.inputs,
        found.distribution.tolist(),
        reported={item: count / found.reports for item, count in result.reported.items()}
        if _comparable(result)
        else None,
        original=None if result.original is None else result.original.tolist(),
        interval=None if found.interval is None else found.interval.tolist(),
    )


def _comparable(result: FileEstimate) -> bool:
    """Whether some reports are themselves values, and can stand beside them."""
    return any(item in result.reported for item in result.estimate.inputs)


def _words(result: FileEstimate) -> tuple[str, str]:
    """Heading and caption of the picture."""
    names, parts = [], []
    if result.private:
        names.append("original")
        parts.append("in the original data")
    if _comparable(result):
        names.append("noisy")
        parts.append("as reported through the mechanism")
    names.append("estimated")
    parts.append("as estimated from the reports alone")
    drawn = result.estimate.interval is not None and len(result.estimate.inputs) <= LARGEST_BARS
    whiskers = "; the whiskers are its intervals" if drawn else ""
    return _listed(names).capitalize(), f"The share of each value {_listed(parts)}{whiskers}."


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _proofs(source: str, result: FileEstimate) -> list[str]:
    again = f"sievert estimate {source} counts the reports again and recomputes every number of this page."
    if result.estimate.total_gap is None:
        return [again]
    return [
        again,
        f"sievert estimate {source} --proof proof.json saves a proof of how far the likelihood can be from "
        "the largest, and sievert verify proof.json checks it in exact fractions, without a solver.",
    ]
