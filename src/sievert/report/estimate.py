"""The page of `sievert estimate --report`: sentences, the picture and every value in one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sievert.estimation import Estimate
from sievert.files import Scenario
from sievert.numerics import in_tenths
from sievert.questions.estimate import SHOWN_FILES, FileEstimate
from sievert.report import plots
from sievert.report._page import Page, Picture, Table, page_html
from sievert.report.plots._style import LARGEST_BARS

__all__ = ["lines", "page", "table"]

# Cells of a map that a table lists; the picture and --json have all.
SHOWN_CELLS = 100


def page(result: FileEstimate, scenario: Scenario, command: str = "") -> str:
    """The estimate as one self-contained page."""
    source = Path(scenario.source).name
    return page_html(
        Page(
            title=result.title,
            made_by=f"Estimate from the reports of {source}",
            headline=str(result),
            sections=list(lines(result)),
            tables=[Table("Every value", *table(result))],
            pictures=[Picture(*_words(result), _figure(result))],
            command=command or f"sievert estimate {source} --report page.html",
            proofs=_proofs(source, result),
            text=scenario.to_toml(),
            private=result.private,
        )
    )


def _figure(result: FileEstimate) -> go.Figure:
    """Original, noisy and estimated shares side by side."""
    found = result.estimate
    if result.region is not None:
        return plots.place_densities(result.region, _densities(result))
    return plots.estimated_distribution(
        found.inputs,
        found.distribution.tolist(),
        reported={item: count / found.reports for item, count in result.reported.items()}
        if _comparable(result)
        else None,
        original=None if result.original is None else result.original.tolist(),
        interval=None if found.interval is None else found.interval.tolist(),
    )


def _densities(result: FileEstimate) -> dict[str, Any]:
    """Maps of the original, the noisy and the estimated places."""
    found = result.estimate
    maps: dict[str, Any] = {} if result.original is None else {"original": result.original}
    maps["noisy"] = [result.reported.get(item, 0) for item in found.inputs]
    maps["estimated"] = found.distribution.clip(min=0.0)
    return maps


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
    if result.estimate.total_gap is None:
        return []
    return [
        f"`sievert estimate {source} --proof proof.json` saves a proof of how far the likelihood can be from "
        "the largest, and `sievert verify proof.json` checks it in exact fractions, without a solver."
    ]


def lines(result: FileEstimate) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    found = result.estimate
    files = ", ".join(Path(name).name for name in result.files[:SHOWN_FILES])
    more = f" and {len(result.files) - SHOWN_FILES} more files" if len(result.files) > SHOWN_FILES else ""
    counted = [f"{found.reports:,.0f} reports in {files}{more}, made by {result.mechanism}."]
    if result.dropped:
        counted.append(f"{result.dropped:,} empty cells were left out.")
    yield "What was counted", counted
    yield "What the reports can tell", [f"{result.identified[0].upper()}{result.identified[1:]}."]
    yield "How good the estimate is", _quality(found)
    if result.original is not None:
        yield "Against the original", _against(result)
    if found.remarks:
        yield "Remarks", [f"{remark[0].upper()}{remark[1:]}." for remark in found.remarks]


def _quality(found: Estimate) -> list[str]:
    gap = found.total_gap
    lines = [f"Method: {found.method.replace('-', ' ')}{_rounds(found)}."]
    if gap is None:
        lines.append("Some shares are below 0: unbiased for every value alone, but together no distribution.")
    elif found.method in ("regularised", "projection"):
        lines.append(
            f"It is not the likeliest distribution, by up to {gap:,.3g} nats, and is not meant to be."
        )
    elif gap <= 0.5:
        lines.append(
            f"No distribution is likelier given these reports by more than {gap:.1e} nats: certified, and "
            "far less than the reports themselves can tell."
        )
    else:
        lines.append(f"Some other distribution may be likelier by up to {gap:.3g} nats: NOT converged.")
    if found.unique is False:
        lines.append(
            "Other distributions fit these reports equally well; the table shows how far each value can go."
        )
    elif found.unique:
        lines.append("It is the only distribution that fits the reports so well.")
    if found.interval is not None:
        lines.append(
            f"Each interval holds with {found.level:.0%} confidence for its value alone, not for all at once."
        )
        if found.method == "regularised":
            lines.append("The intervals do not rely on a smooth truth, as the estimate does: hence so wide.")
    return lines


def _rounds(found: Estimate) -> str:
    rounds = "1 iteration" if found.iterations == 1 else f"{found.iterations:,} iterations"
    return f", {rounds}" if found.iterations else ", closed form"


def _against(result: FileEstimate) -> list[str]:
    lines = ["Computed from true values: not to be published unless they are public; --public leaves it out."]
    if result.misplaced is not None:
        estimated, noisy = (in_tenths(share) for share in result.misplaced)
        lines.append(
            f"{estimated} of all places are in the wrong cell by the estimate, {noisy} in the reports."
        )
    if result.distance is not None:
        lines.append(f"The estimate is {result.distance:.4g} away (Kantorovich distance).")
    if result.raw_distance is not None:
        lines.append(f"The raw reports are {result.raw_distance:.4g} away.")
    return lines


def table(result: FileEstimate) -> tuple[list[str], list[list[str]]]:
    """Header and rows: what was reported and estimated, its interval, and where known the original."""
    header = ["value", "reported", "estimated"]
    if result.estimate.interval is not None:
        header.append(f"{result.estimate.level:.0%} interval")
    if result.estimate.ranges is not None:
        header.append("possible")
    if result.original is not None:
        header.append("original")
    return header, list(_rows(result))


def _rows(result: FileEstimate) -> Iterator[list[str]]:
    found = result.estimate
    for i in _shown(result):
        item = found.inputs[i]
        count: Any = result.reported.get(item)
        row = [
            _name(result, item),
            "–" if count is None else in_tenths(count / found.reports),
            in_tenths(found.distribution[i]),
        ]
        if found.interval is not None:
            row.append(f"{in_tenths(found.interval[i, 0])} to {in_tenths(found.interval[i, 1])}")
        if found.ranges is not None:
            row.append(f"{in_tenths(found.ranges[i, 0])} to {in_tenths(found.ranges[i, 1])}")
        if result.original is not None:
            row.append(in_tenths(result.original[i]))
        yield row


def _shown(result: FileEstimate) -> list[int]:
    """All values in their order; of a map the likeliest cells."""
    size = len(result.estimate.inputs)
    if result.region is None:
        return list(range(size))
    order = np.argsort(-result.estimate.distribution, kind="stable")
    return [int(i) for i in order[:SHOWN_CELLS]]


def _name(result: FileEstimate, item: Any) -> str:
    """What a table calls a value; a cell by the place of its middle."""
    if result.region is None:
        return str(item)
    latitude, longitude = result.region.centres([item])
    return f"{latitude[0]:.5f}, {longitude[0]:.5f}"
