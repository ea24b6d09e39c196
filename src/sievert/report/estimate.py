"""The page of `sievert estimate --report`: sentences, the picture and every value in one file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sievert.estimation import Estimate
from sievert.files import Scenario
from sievert.numerics import in_nats, in_tenths, number
from sievert.questions.estimate import SHOWN_FILES, EstimateAnswer, TableEstimateAnswer
from sievert.report import plots
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.report.plots._style import LARGEST_BARS
from sievert.results import Result

__all__ = ["lines", "page", "table"]

# Cells of a map that a table lists; the picture and --json have all.
SHOWN_CELLS = 100
# Rows that a page lists; --json has all.
MOST_ROWS = 1000


def page(result: EstimateAnswer | TableEstimateAnswer, scenario: Scenario, command: str = "") -> str:
    """The estimate as one self-contained page."""
    source = Path(scenario.source).name
    header, rows = table(result)
    cut = f"The first {MOST_ROWS:,} of {len(rows):,} cells." if len(rows) > MOST_ROWS else ""
    return page_html(
        Page(
            title=result.title,
            made_by=f"Estimate from what was released of {source}",
            headline=str(result),
            sections=list(lines(result)),
            tables=[PageTable("Every value", header, rows[:MOST_ROWS], cut)],
            pictures=[_picture(result)],
            command=command or f"sievert estimate {source} --report page.html",
            proofs=_proofs(result, source),
            text=scenario.to_toml(),
            private=isinstance(result, EstimateAnswer) and result.private,
        )
    )


@singledispatch
def _picture(result: Result) -> Picture:
    raise TypeError(f"{type(result).__name__} is no estimate")


@_picture.register
def _(result: EstimateAnswer) -> Picture:
    return Picture(*_words(result), _figure(result))


@_picture.register
def _(result: TableEstimateAnswer) -> Picture:
    found = result.found
    names = [", ".join(map(str, cell)) for cell in found.cells]
    return Picture(
        "Released and adjusted",
        f"Every released number, the interval of its true value at {found.level:.0%} confidence, and the "
        "adjusted one.",
        plots.released_numbers(
            names,
            [float(value) for value in found.values],
            found.intervals.astype(float).tolist(),
            [float(value) for value in found.adjusted],
        ),
    )


def _figure(result: EstimateAnswer) -> go.Figure:
    """Original, noisy and estimated shares side by side."""
    found = result.estimate
    if result.region is not None:
        return plots.place_densities(result.region, _densities(result))
    return plots.estimated_distribution(
        found.inputs,
        found.distribution.tolist(),
        reported={item: count / _reports(result) for item, count in result.reported.items()}
        if _comparable(result)
        else None,
        original=None if result.original is None else result.original.tolist(),
        interval=None if found.interval is None else found.interval.tolist(),
    )


def _densities(result: EstimateAnswer) -> dict[str, Any]:
    """Maps of the original, the noisy and the estimated places."""
    found = result.estimate
    maps: dict[str, Any] = {} if result.original is None else {"original": result.original}
    maps["noisy"] = [result.reported.get(item, 0) for item in found.inputs]
    maps["estimated"] = found.distribution.clip(min=0.0)
    return maps


def _reports(result: EstimateAnswer) -> int:
    """How many reports there are; people may have made several."""
    return sum(result.reported.values())


def _comparable(result: EstimateAnswer) -> bool:
    """Whether some reports are themselves values, and can stand beside them."""
    return any(item in result.reported for item in result.estimate.inputs)


def _words(result: EstimateAnswer) -> tuple[str, str]:
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


@singledispatch
def _proofs(result: Result, source: str) -> list[str]:
    return []


@_proofs.register
def _(result: EstimateAnswer, source: str) -> list[str]:
    if result.estimate.total_gap is None or result.people is not None:
        return []
    return [
        f"`sievert estimate {source} --proof proof.json` saves a proof of how far the likelihood can be from "
        "the largest, and `sievert verify proof.json` checks it in exact fractions, without a solver."
    ]


@singledispatch
def lines(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    raise TypeError(f"{type(result).__name__} is no estimate")


@lines.register
def _(result: EstimateAnswer) -> Iterator[tuple[str, list[str]]]:
    found = result.estimate
    files = ", ".join(Path(name).name for name in result.files[:SHOWN_FILES])
    more = f" and {len(result.files) - SHOWN_FILES} more files" if len(result.files) > SHOWN_FILES else ""
    by = "" if result.people is None else f" by {result.people:,} people"
    counted = [f"{_reports(result):,.0f} reports{by} in {files}{more}, made by {result.mechanism}."]
    if result.dropped:
        counted.append(f"{result.dropped:,} empty cells were left out.")
    yield "What was counted", counted
    yield "What the reports can tell", [f"{result.identified[0].upper()}{result.identified[1:]}."]
    yield "How good the estimate is", _quality(found)
    if result.original is not None:
        yield "Against the original", _against(result)
    if found.remarks:
        yield "Remarks", [f"{remark[0].upper()}{remark[1:]}." for remark in found.remarks]


@lines.register
def _(result: TableEstimateAnswer) -> Iterator[tuple[str, list[str]]]:
    found, one = result.found, len(result.found.cells) == 1
    what = "One number" if one else f"{len(found.cells):,} numbers"
    yield "What was read", [f"{what} in {Path(result.file).name}, made by {result.mechanism}."]
    yield "What is possible", list(_possible(result))
    yield "How good it is", list(_table_quality(result))


def _possible(result: TableEstimateAnswer) -> Iterator[str]:
    found, one = result.found, len(result.found.cells) == 1
    best = "no possible answer is likelier" if one else "no possible table is likelier"
    if not found.likeliest:
        best = "none that is possible is nearer in squares, though some may be likelier"
    changed = int((found.adjusted != found.values).sum())
    if one:
        yield (
            f"The released number is possible: {best}."
            if not changed
            else f"The released number is not possible; {number(found.adjusted[0])} is the nearest: {best}."
        )
    else:
        total = "" if found.total is None else f" and the public total {number(found.total)}"
        yield (
            f"Whole numbers from 0 on{total} are possible; {changed:,} of {len(found.cells):,} released "
            f"numbers are adjusted to them: {best}."
        )
    yield "Adjusting is done with released numbers alone, so it gives nothing more away."


def _table_quality(result: TableEstimateAnswer) -> Iterator[str]:
    found, one = result.found, len(result.found.cells) == 1
    if not one:
        low, high = found.total_interval
        if found.total is None:
            yield f"All cells together hold {number(low)} to {number(high)}, at {found.level:.0%} confidence."
        yield f"Each interval is for its cell alone, by {found.method}."
    if found.unbiased:
        yield "As released, numbers are right on average: add up those, not the adjusted ones."
    elif found.clamped_bias:
        yield (
            "Noisy numbers were cut off, so that one at the end of the range is off by up to "
            f"{found.clamped_bias:.3g} on average."
        )
    if found.error is not None:
        yield from _adjustment(result)


def _adjustment(result: TableEstimateAnswer) -> Iterator[str]:
    """What adjusting does on average, where it does anything that the simulation can tell."""
    found, error = result.found, result.found.error
    assert error is not None
    words = []
    if error.empty is not None and abs(error.empty) > error.within:
        words.append(f"cells that come out {number(found.adjusted.min())} are {_too(error.empty)}")
    if error.others is not None and abs(error.others) > error.within:
        words.append(f"{'the others' if words else 'cells'} are {_too(error.others)}")
    if len(found.cells) > 1:
        moved = f"; {' and '.join(words)}" if words else ""
        yield (
            f"If the adjusted table were the true one, adjusting would take the error of a cell from "
            f"{error.before:.3g} to {error.after:.3g} on average{moved} (simulated {error.tables:,} times, "
            f"± {error.within:.1g}: no bound)."
        )


def _too(bias: float) -> str:
    return f"{abs(bias):.2g} too {'high' if bias > 0 else 'low'}"


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
        lines.append(f"Some other distribution may be likelier by up to {in_nats(gap, 3)}: NOT converged.")
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


def _against(result: EstimateAnswer) -> list[str]:
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


@singledispatch
def table(result: Result) -> tuple[list[str], list[list[str]]]:
    """Header and rows: what was reported and estimated, its interval, and where known the original."""
    raise TypeError(f"{type(result).__name__} is no estimate")


@table.register
def _(result: EstimateAnswer) -> tuple[list[str], list[list[str]]]:
    header = ["value", "reported", "estimated"]
    if result.estimate.interval is not None:
        header.append(f"{result.estimate.level:.0%} interval")
    if result.estimate.ranges is not None:
        header.append("possible")
    if result.original is not None:
        header.append("original")
    return header, list(_rows(result))


@table.register
def _(result: TableEstimateAnswer) -> tuple[list[str], list[list[str]]]:
    found = result.found
    names = list(result.names) or ["what"]
    columns = zip(
        found.cells, found.values.tolist(), found.adjusted.tolist(), found.intervals.tolist(), strict=True
    )
    rows = [
        [*map(str, cell), number(value), number(nearest), f"{number(low)} to {number(high)}"]
        for cell, value, nearest, (low, high) in columns
    ]
    return [*names, "released", "adjusted", f"{found.level:.0%} interval"], rows


def _rows(result: EstimateAnswer) -> Iterator[list[str]]:
    found = result.estimate
    for i in _shown(result):
        item = found.inputs[i]
        count: Any = result.reported.get(item)
        row = [
            _name(result, item),
            "–" if count is None else in_tenths(count / _reports(result)),
            in_tenths(found.distribution[i]),
        ]
        if found.interval is not None:
            row.append(f"{in_tenths(found.interval[i, 0])} to {in_tenths(found.interval[i, 1])}")
        if found.ranges is not None:
            row.append(f"{in_tenths(found.ranges[i, 0])} to {in_tenths(found.ranges[i, 1])}")
        if result.original is not None:
            row.append(in_tenths(result.original[i]))
        yield row


def _shown(result: EstimateAnswer) -> list[int]:
    """All values in their order; of a map the likeliest cells."""
    size = len(result.estimate.inputs)
    if result.region is None:
        return list(range(size))
    order = np.argsort(-result.estimate.distribution, kind="stable")
    return [int(i) for i in order[:SHOWN_CELLS]]


def _name(result: EstimateAnswer, item: Any) -> str:
    """What a table calls a value; a cell by the place of its middle."""
    if result.region is None:
        return str(item)
    latitude, longitude = result.region.centres([item])
    return f"{latitude[0]:.5f}, {longitude[0]:.5f}"
