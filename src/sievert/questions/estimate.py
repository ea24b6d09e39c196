"""What noisy reports still tell, in words and pictures: counted, estimated, with how far off it may be.

On a map the reports are places, and what is estimated is the density of the true cells. Noise there is far
wider than a cell, so the likeliest density is a handful of spikes; unless the file asks for it, rounds of IBU
end where they predict held-out reports best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, PlaneChannel, finite_channel
from sievert.errors import EstimationError, FileError, SievertError
from sievert.estimation import (
    Estimate,
    Mean,
    counts_over,
    estimate,
    estimate_mean,
    estimate_repeated,
    identifiability,
    kantorovich,
    likelihood_question,
    prove_likelihood,
)
from sievert.files import EstimateModel, PolicyScenario, Scenario
from sievert.mechanisms import planar_noise
from sievert.numerics import abbreviated, in_tenths, read_eps
from sievert.proofs import LikelihoodProof
from sievert.questions._estimate_tables import TableEstimateAnswer, table_estimate
from sievert.results import Result
from sievert.spaces import Region, as_float
from sievert.tables import Counted, cell_text, count_reports, expanded, open_rows, reports_by_person

__all__ = [
    "UNPROVED",
    "EstimateAnswer",
    "TableEstimateAnswer",
    "estimate_of",
    "estimate_proof",
    "estimate_question",
    "reports_beside",
    "reports_named",
    "unproved_estimate",
]
SHOWN_FILES = 3
UNPROVED = "only reports that are counted one by one have a likelihood to prove"
STABLE = (
    "a person's place was drawn once and repeated (release.stable), so rows are not independent: people with "
    "many rows count more, and intervals that take rows one by one are too narrow"
)
# Cells of a map between whose densities a distance is computed.
LARGEST_TRANSPORT = 300


@dataclass(frozen=True, eq=False)
class EstimateAnswer(Result):
    """The estimate of a file, with what was counted.

    Attributes
    ----------
    estimate : see `sv.estimate`
    reported : how often each output was reported
    original : the true shares, where the file names true values and nobody asked for a public answer
    distance : Kantorovich distance between estimate and original, in the distance of the policy
    identified : what reports through this mechanism determine, in words
    mean : the mean of the values with its interval, where they are numbers
    region : of a map, the cells that the values are
    people : who made the reports, where a column says whose each is: several of one value count together
    misplaced : of a map whose original is known, the share of all places in the wrong cell, by the estimate
        and in the noisy reports (total variation)
    """

    title: str
    mechanism: str
    estimate: Estimate
    reported: Mapping[Hashable, int]
    rows: int
    dropped: int
    files: tuple[str, ...]
    original: FloatArray | None
    distance: float | None
    raw_distance: float | None
    identified: str
    groups: tuple[Mapping[Hashable, int], ...]
    mean: Mean | None
    region: Region | None = None
    misplaced: tuple[float, float] | None = None
    people: int | None = None

    @property
    def private(self) -> bool:
        """Whether anything here was computed from true values, and not from noisy reports alone."""
        return self.original is not None

    def __str__(self) -> str:
        found = self.estimate
        top = int(np.argmax(found.distribution))
        if self.mean is not None:
            answer = self._mean_words(self.mean)
        elif found.ranges is not None and found.ranges[top, 0] < np.delete(found.ranges[:, 1], top).max():
            answer = "distributions with different most frequent values fit them equally well"
        elif self.region is not None:
            latitude, longitude = self.region.centres([found.inputs[top]])
            around = f"{latitude[0]:.4f}, {longitude[0]:.4f}"
            answer = f"the fullest cell is around {around}, with {self._top_share(top)}"
        else:
            answer = f"the most frequent value is {found.inputs[top]!s} with {self._top_share(top)}"
        by = "" if self.people is None else f" by {self.people:,} people"
        return f"From {sum(self.reported.values()):,.0f} noisy reports{by}: {answer}."

    def _mean_words(self, mean: Mean) -> str:
        """The mean with its interval; both stay among the values, as the true mean does."""
        values = np.array(self.estimate.inputs, dtype=float)
        least, greatest = float(values.min()), float(values.max())
        value, low, high = np.clip([mean.value, *mean.interval], least, greatest).tolist()
        if (low, high) == (least, greatest):
            return f"the mean can be anything from {least:.4g} to {greatest:.4g}, for all they tell"
        return f"the mean is {value:.4g} ({low:.4g} to {high:.4g} at {mean.level:.0%} confidence)"

    def _top_share(self, top: int) -> str:
        found = self.estimate
        share = in_tenths(found.distribution[top])
        if found.interval is None:
            return share
        low, high = found.interval[top]
        return f"{share} ({in_tenths(low)} to {in_tenths(high)} at {found.level:.0%} confidence)"


def estimate_of(
    scenario: PolicyScenario,
    *,
    reports: Sequence[str | Path] = (),
    column: str | Sequence[str] | None = None,
    method: str | None = None,
    interval: str | None = None,
    public: bool = False,
) -> EstimateAnswer | TableEstimateAnswer:
    """Count and estimate what [estimate] of the file names; arguments go before what the file says.

    A table over all records is read as it was released and adjusted to what is possible. A public answer is
    made from what was released alone: true values are not even read.
    """
    model = scenario.document.estimate or EstimateModel()
    if scenario.document.query.is_table:
        _only_for_reports(scenario, model, method=method, interval=interval)
        paths = expanded(reports) if reports else _named(scenario, model)
        return table_estimate(scenario, paths, _one(column if column is not None else model.column), model)
    _not_remapped(scenario)
    groups, chosen = _groups(scenario, model, reports), _column(scenario, model, reports, column)
    asked = method or model.method
    if scenario.region is not None and asked == "auto":
        asked = "regularised"
    try:
        if model.person is not None:
            counted, found, people = _repeated(scenario, groups[0], chosen, asked, interval)
        else:
            counted = [_count(scenario, channel, paths, chosen) for paths, channel in groups]
            people, found = (
                None,
                estimate(
                    [part.counts for part in counted],
                    [channel for _, channel in groups],
                    asked,  # type: ignore[arg-type]
                    interval=interval or model.interval,  # type: ignore[arg-type]
                    confidence=model.level,
                    rng=model.seed,
                ),
            )
    except EstimationError as problem:
        raise FileError(f"{scenario.source}, estimate: {problem.in_file()}") from None
    return _answer(scenario, model, groups, counted, found, public, people)


def _column(
    scenario: PolicyScenario,
    model: EstimateModel,
    reports: Sequence[str | Path],
    given: str | Sequence[str] | None,
) -> Any:
    """The column of the reports; what the file itself released has the file's own."""
    chosen = given if given is not None else model.column
    if chosen is None and (scenario.region is not None or _own(model, reports)):
        return scenario.columns or None
    return chosen


def _answer(
    scenario: PolicyScenario,
    model: EstimateModel,
    groups: list[tuple[list[Path], Channel]],
    counted: list[Counted],
    found: Estimate,
    public: bool,
    people: int | None,
) -> EstimateAnswer:
    """The estimate with what was counted, and beside the original where that may be read."""
    channels = [channel for _, channel in groups]
    merged = counted[0]
    for part in counted[1:]:
        merged = merged.merged(part)
    original = None if public else _original(scenario, model, channels[0])
    distance = raw = None
    if original is not None and (scenario.region is None or len(found.inputs) <= LARGEST_TRANSPORT):
        metric = scenario.distance.restricted(found.inputs)
        if found.is_distribution:
            shares = np.maximum(found.distribution, 0.0)
            distance = kantorovich(shares / shares.sum(), original, metric).value
        noisy = np.array([merged.counts.get(item, 0) for item in found.inputs], dtype=float)
        if noisy.sum() == merged.total:
            raw = kantorovich(noisy / noisy.sum(), original, metric).value
    if scenario.document.release is not None and scenario.document.release.stable:
        found = replace(found, remarks=(*found.remarks, STABLE))
    return EstimateAnswer(
        scenario.title,
        scenario.mechanism.words(),
        found,
        _with_zeros(merged.counts, channels, found.inputs),
        merged.rows,
        merged.dropped,
        merged.files,
        original,
        distance,
        raw,
        _identified(channels),
        tuple(Counter(part.counts) for part in counted),
        None if people is not None else _mean(found, [part.counts for part in counted], channels),
        scenario.region,
        None if scenario.region is None or original is None else _misplaced(found, merged, original),
        people,
    )


def _only_for_reports(scenario: PolicyScenario, model: EstimateModel, **options: str | None) -> None:
    """Refuse what a released table has no use for."""
    keys = ("method", "interval", "counts", "groups", "person", "original")
    for name in keys:
        if options.get(name) is not None or name in model.model_fields_set:
            raise FileError(
                f"{scenario.source}, estimate.{name}: goes with reports row by row; a released table is "
                "adjusted to what is possible, and its intervals follow from its noise: leave it out"
            )


def _not_remapped(scenario: PolicyScenario) -> None:
    rules = scenario.document.release
    if scenario.region is not None and rules is not None and rules.remap is not None:
        raise FileError(
            f"{scenario.source}, release.remap: remapped places are drawn to where people are expected, and "
            "no longer have the noise of the mechanism alone; estimate from a release without remap"
        )


def _repeated(
    scenario: PolicyScenario,
    group: tuple[list[Path], Channel],
    column: Any,
    method: str,
    interval: str | None,
) -> tuple[list[Counted], Estimate, int]:
    """Reports of people who report more than once, each always of one true value."""
    paths, channel = group
    model = scenario.document.estimate or EstimateModel()
    if scenario.region is not None:
        raise FileError(
            f"{scenario.source}, estimate.person: places are counted report by report; leave person out"
        )
    finite = finite_channel(channel)
    found = reports_by_person(
        paths, _one(column), str(model.person), labels=finite.outputs, missing=model.missing
    )
    asked = interval or (model.interval if "interval" in model.model_fields_set else "profile")
    estimated = estimate_repeated(
        found.outputs,
        finite,
        method,  # type: ignore[arg-type]
        interval=asked,  # type: ignore[arg-type]
        confidence=model.level,
        rng=model.seed,
    )
    return [found.counted], estimated, len(found.outputs)


def _misplaced(found: Estimate, counted: Counted, original: FloatArray) -> tuple[float, float]:
    noisy = np.array([counted.counts.get(item, 0) for item in found.inputs], dtype=np.float64)
    shares = np.maximum(found.distribution, 0.0) / np.maximum(found.distribution, 0.0).sum()
    first, second = (float(np.abs(part - original).sum()) / 2 for part in (shares, noisy / noisy.sum()))
    return first, second


def _with_zeros(
    counts: Mapping[Hashable, int], channels: list[Channel], inputs: Sequence[Hashable]
) -> dict[Hashable, int]:
    """Counts of every output; of those without an end, of the inputs and of what was reported."""
    outputs: dict[Hashable, int] = {}
    for channel in channels:
        listed = channel.listed_outputs
        outputs |= dict.fromkeys(inputs if listed is None else listed, 0)
    return {**outputs, **counts}


def _mean(found: Estimate, counts: list[Mapping[Hashable, int]], channels: list[Channel]) -> Mean | None:
    """The mean of values that are numbers, where the mechanism has an inverse."""
    if any(isinstance(item, bool) or not isinstance(item, int | float) for item in found.inputs):
        return None
    try:
        return estimate_mean(counts, channels, confidence=found.level)
    except SievertError:
        return None


def unproved_estimate(scenario: PolicyScenario) -> str | None:
    """Why an estimate of this file has no proof, known before the work; None where it may have one."""
    model = scenario.document.estimate or EstimateModel()
    return UNPROVED if scenario.document.query.is_table or model.person is not None else None


def reports_beside(scenario: Scenario, reports: Sequence[str | Path]) -> str | None:
    """The name of the one file of reports that an estimate was told, where it lies beside the scenario's.

    A proof names it, and whoever checks the proof reads it there; other reports are given again.

    >>> from sievert.files import load_policy_scenario
    >>> scenario = load_policy_scenario("examples/commute-reports.toml")
    >>> reports_beside(scenario, ["examples/data/reports.csv"]), reports_beside(scenario, ["/etc/hosts"])
    ('data/reports.csv', None)
    """
    if len(reports) != 1:
        return None
    folder, path = scenario.folder.resolve(), Path(reports[0]).resolve()
    inside = path.is_relative_to(folder) and not any(letter in path.name for letter in "*?[")
    return path.relative_to(folder).as_posix() if inside else None


def reports_named(scenario: Scenario, name: str) -> list[Path]:
    """The reports that a proof names, which somebody else wrote: one regular file beside the scenario's."""
    path = _inside(scenario.folder, name)
    if path is None:
        raise FileError(
            f"the proof names the reports {abbreviated(name)}, and only a file in the folder of "
            f"{scenario.source} "
            "is read because a proof names it; say with --reports which they are"
        )
    return [path]


def _inside(folder: Path, name: str) -> Path | None:
    """A regular file below the folder; None for all else, also what can be no name and a circle of links."""
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def estimate_question(
    scenario: PolicyScenario, reports: Sequence[str | Path] = (), column: str | None = None
) -> dict[str, Any] | None:
    """What the proof of an estimate of this file's reports, or of others, is about; None: it has none."""
    if unproved_estimate(scenario) is not None:
        return None
    model = scenario.document.estimate or EstimateModel()
    groups, chosen = _groups(scenario, model, reports), _column(scenario, model, reports, column)
    counted = [_count(scenario, channel, paths, chosen) for paths, channel in groups]
    return likelihood_question([Counter(part.counts) for part in counted], [channel for _, channel in groups])


def estimate_proof(
    scenario: PolicyScenario, result: EstimateAnswer | TableEstimateAnswer
) -> LikelihoodProof | None:
    """The proof of the estimate's likelihood gap; None where reports are not counted one by one."""
    if isinstance(result, TableEstimateAnswer) or unproved_estimate(scenario) is not None:
        return None
    model = scenario.document.estimate or EstimateModel()
    groups = model.groups if model.groups is not None and len(result.groups) == len(model.groups) else None
    channels = [
        _channel(scenario, None if groups is None else groups[k].eps) for k in range(len(result.groups))
    ]
    return prove_likelihood(result.estimate, list(result.groups), channels)


def _groups(
    scenario: PolicyScenario, model: EstimateModel, reports: Sequence[str | Path]
) -> list[tuple[list[Path], Channel]]:
    """Files and the channel their reports came through, one entry a group of users."""
    if reports:
        return [(expanded(reports), _channel(scenario))]
    if model.groups is not None:
        return [
            (
                expanded(_listed(group.reports), scenario.folder),
                _channel(scenario, group.eps),
            )
            for group in model.groups
        ]
    return [(_named(scenario, model), _channel(scenario))]


def _own(model: EstimateModel, reports: Sequence[str | Path]) -> bool:
    """Whether what is read is what the file itself released."""
    return not reports and model.reports is None and model.groups is None


def _named(scenario: PolicyScenario, model: EstimateModel) -> list[Path]:
    """The files that [estimate] names, or else what the file itself has released."""
    if model.reports is not None:
        return expanded(_listed(model.reports), scenario.folder)
    document, ways = scenario.document, 'write [estimate] with reports = "reports.csv", or pass --reports'
    if document.data is None and document.release is None:
        raise FileError(f"{scenario.source}: says nowhere where the noisy reports are; {ways}")
    if not scenario.released.is_file():
        raise FileError(
            f"{scenario.source}: nothing was released to {scenario.released} yet; run sievert release, {ways}"
        )
    return [scenario.released]


def _channel(scenario: PolicyScenario, eps: float | None = None) -> Channel:
    """What the reports went through, at another ε where one is given; on a map from cells to cells."""
    per_metre = scenario.mechanism.per_metre
    if scenario.region is not None and per_metre is not None:
        exact: Fraction = read_eps(per_metre if eps is None else eps)
        return planar_noise(scenario.region, exact).over_cells()
    return scenario.channel if eps is None else scenario.with_eps(eps)


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _count(scenario: PolicyScenario, channel: Channel, paths: list[Path], column: Any) -> Counted:
    model = scenario.document.estimate or EstimateModel()
    if scenario.region is not None:
        return _count_places(scenario.region, paths, column, model)
    # Noise on all integers has no list of outputs: the estimate checks what was reported.
    labels = channel.listed_outputs
    return count_reports(paths, _one(column), labels=labels, counts=model.counts, missing=model.missing)


def _one(column: Any) -> str | None:
    """The column of reports that are no places."""
    if column is None or isinstance(column, str):
        return column
    if len(column) != 1:
        raise FileError(
            f"estimate.column is {abbreviated(column)}; give one column, or two where the reports are places"
        )
    return str(column[0])


def _count_places(
    region: Region, paths: list[Path], column: Any, model: EstimateModel, original: bool = False
) -> Counted:
    columns = column.split(",") if isinstance(column, str) else list(column or ())
    if len(columns) != 2:
        raise FileError(
            f"estimate.column is {abbreviated(column)}; reports are places: give the columns of latitude and "
            'longitude, such as column = ["lat", "lon"]'
        )
    names = [str(name).strip() for name in columns]
    found = Counted(Counter(), 0, 0, ())
    for path in paths:
        found = found.merged(_places_of(path, names, region, model, original))
    return found


def _places_of(
    path: Path, columns: list[str], region: Region, model: EstimateModel, original: bool
) -> Counted:
    """How many reports lie in each cell; a place outside the region cannot come from this mechanism."""
    counts: Counter[Hashable] = Counter()
    rows = empty = 0
    weighted = [model.counts] if model.counts is not None else []
    for batch in open_rows(path).batches([*columns, *weighted]):
        places = np.array([[_degrees(cell) for cell in batch.columns[name]] for name in columns])
        number = np.ones(batch.size, dtype=np.int64)
        if model.counts is not None:
            number = np.array([_whole(path, cell) for cell in batch.columns[model.counts]], dtype=np.int64)
        there = np.isfinite(places).all(axis=0)
        rows += int(number.sum())
        empty += int(number[~there].sum())
        latitude, longitude = places[0, there], places[1, there]
        outside = ~region.contains(latitude, longitude)
        if outside.any() and not _nearly(region, latitude[outside], longitude[outside]):
            row = batch.first + int(np.flatnonzero(there)[np.flatnonzero(outside)[0]])
            why = "check that the reports come from this file's mechanism"
            if original:
                why = "true places (estimate.original) lie in the region: leave the row out, or widen that"
            raise FileError(f"{path}: row {row} is outside the region of the policy; {why}")
        cells = region.cells(latitude, longitude)
        flat = np.bincount(
            cells[:, 0] * region.shape[1] + cells[:, 1], number[there], minlength=len(region)
        ).astype(np.int64)
        for i in np.flatnonzero(flat).tolist():
            counts[divmod(i, region.shape[1])] += int(flat[i])
    if empty and model.missing == "reject":
        what = "true values (estimate.original)" if original else "reports"
        raise FileError(
            f'{path}: {empty} of {rows} {what} are no places; correct them, or say missing = "drop"'
        )
    return Counted(counts, rows, empty, (str(path),))


def _nearly(region: Region, latitude: FloatArray, longitude: FloatArray) -> bool:
    """Whether places are in the cells of the region, whose outermost stick out of the rectangle."""
    east, north = region.metres(latitude, longitude)
    rows, columns = region.shape
    inside = (east >= -1) & (east <= columns * region.cell + 1)
    return bool((inside & (north >= -1) & (north <= rows * region.cell + 1)).all())


def _degrees(cell: Any) -> float:
    number = as_float(cell_text(cell))
    return np.nan if number is None else number


def _whole(path: Path, cell: Any) -> int:
    number = as_float(cell_text(cell))
    if number is None or not np.isfinite(number) or number < 0 or number != int(number):
        raise FileError(f"{path}: the count {abbreviated(cell)} is not a whole number ≥ 0")
    return int(number)


def _original(scenario: PolicyScenario, model: EstimateModel, channel: Channel) -> FloatArray | None:
    if model.original is None:
        return None
    paths = expanded([model.original], scenario.folder)
    column = model.original_column
    if scenario.region is not None:
        counted = _count_places(
            scenario.region, paths, column or model.column or scenario.columns, model, True
        )
    else:
        counted = count_reports(paths, _one(column), labels=channel.inputs, missing=model.missing)
    shares = counts_over(counted.counts, channel.inputs, "original")
    return np.asarray(shares / shares.sum())


def _identified(channels: list[Channel]) -> str:
    if isinstance(channels[0], PlaneChannel):
        return (
            "the noise blurs neighbouring cells, so that the reports tell about neighbourhoods, and about "
            "single cells only where there are very many of them"
        )
    try:
        return str(identifiability(channels))
    except SievertError as problem:
        return f"not decided: {problem}"
