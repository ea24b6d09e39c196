"""What noisy reports still tell, in words and pictures: counted, estimated, with how far off it may be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.errors import EstimationError, FileError, SievertError
from sievert.estimation import (
    Estimate,
    Mean,
    counts_over,
    estimate,
    estimate_mean,
    identifiability,
    kantorovich,
    prove_likelihood,
)
from sievert.files import EstimateModel, Scenario
from sievert.proofs import LikelihoodProof
from sievert.results import Result
from sievert.tables import Counted, count_reports, expanded

__all__ = ["FileEstimate", "estimate_of", "estimate_proof"]
SHOWN_FILES = 3


@dataclass(frozen=True, eq=False)
class FileEstimate(Result):
    """The estimate of a file, with what was counted.

    Attributes
    ----------
    estimate : see `sv.estimate`
    reported : how often each output was reported
    original : the true shares, where the file names true values and nobody asked for a public answer
    distance : Kantorovich distance between estimate and original, in the distance of the policy
    identified : what reports through this mechanism determine, in words
    mean : the mean of the values with its interval, where they are numbers
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
        else:
            answer = f"the most frequent value is {found.inputs[top]!s} with {self._top_share(top)}"
        return f"From {found.reports:,.0f} noisy reports: {answer}."

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
        share = _share(found.distribution[top])
        if found.interval is None:
            return share
        low, high = found.interval[top]
        return f"{share} ({_share(low)} to {_share(high)} at {found.level:.0%} confidence)"


def _share(value: float) -> str:
    """A share to a tenth of a percent; exact at 0 and 1."""
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.0%}" if value in (0, 1) or abs(value) < 1e-12 else f"{value:.1%}"


def estimate_of(
    scenario: Scenario,
    *,
    reports: Sequence[str | Path] = (),
    column: str | None = None,
    method: str | None = None,
    interval: str | None = None,
    public: bool = False,
) -> FileEstimate:
    """Count and estimate what [estimate] of the file names; arguments go before what the file says.

    A public answer is made from the noisy reports alone: true values are not even read.
    """
    model = scenario.document.estimate or EstimateModel()
    groups = _groups(scenario, model, reports)
    chosen = column if column is not None else model.column
    counted = [_count(paths, channel, chosen, model) for paths, channel in groups]
    try:
        found = estimate(
            [part.counts for part in counted],
            [channel for _, channel in groups],
            method or model.method,  # type: ignore[arg-type]
            interval=interval or model.interval,  # type: ignore[arg-type]
            confidence=model.level,
            rng=model.seed,
        )
    except EstimationError as problem:
        raise FileError(f"{scenario.source}, estimate: {problem.in_file()}") from None
    merged = counted[0]
    for part in counted[1:]:
        merged = merged.merged(part)
    original = None if public else _original(scenario, model, groups[0][1])
    distance = raw = None
    if original is not None:
        metric = scenario.distance.restricted(found.inputs)
        if found.is_distribution:
            shares = np.maximum(found.distribution, 0.0)
            distance = kantorovich(shares / shares.sum(), original, metric).value
        noisy = np.array([merged.counts.get(item, 0) for item in found.inputs], dtype=float)
        if noisy.sum() == merged.total:
            raw = kantorovich(noisy / noisy.sum(), original, metric).value
    return FileEstimate(
        scenario.title,
        scenario.mechanism.words(),
        found,
        _with_zeros(merged.counts, [channel for _, channel in groups], found.inputs),
        merged.rows,
        merged.dropped,
        merged.files,
        original,
        distance,
        raw,
        _identified([channel for _, channel in groups]),
        tuple(dict(part.counts) for part in counted),
        _mean(found, [part.counts for part in counted], [channel for _, channel in groups]),
    )


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


def estimate_proof(scenario: Scenario, result: FileEstimate) -> LikelihoodProof:
    """The proof of the estimate's likelihood gap."""
    model = scenario.document.estimate or EstimateModel()
    groups = model.groups if model.groups is not None and len(result.groups) == len(model.groups) else None
    channels = [
        scenario.channel
        if groups is None or groups[k].eps is None
        else scenario.with_eps(groups[k].eps or 0.0)
        for k in range(len(result.groups))
    ]
    return prove_likelihood(result.estimate, list(result.groups), channels)


def _groups(
    scenario: Scenario, model: EstimateModel, reports: Sequence[str | Path]
) -> list[tuple[list[Path], Channel]]:
    """Files and the channel their reports came through, one entry a group of users."""
    if reports:
        return [(expanded(reports), scenario.channel)]
    if model.groups is not None:
        return [
            (
                expanded(_listed(group.reports), scenario.folder),
                scenario.channel if group.eps is None else scenario.with_eps(group.eps),
            )
            for group in model.groups
        ]
    if model.reports is None:
        raise FileError(
            f"{scenario.source}: says nowhere where the noisy reports are; write [estimate] with "
            'reports = "reports.csv", or pass --reports'
        )
    return [(expanded(_listed(model.reports), scenario.folder), scenario.channel)]


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _count(paths: list[Path], channel: Channel, column: str | None, model: EstimateModel) -> Counted:
    # Noise on all integers has no list of outputs: the estimate checks what was reported.
    labels = channel.listed_outputs
    return count_reports(paths, column, labels=labels, counts=model.counts, missing=model.missing)


def _original(scenario: Scenario, model: EstimateModel, channel: Channel) -> FloatArray | None:
    if model.original is None:
        return None
    paths = expanded([model.original], scenario.folder)
    counted = count_reports(paths, model.original_column, labels=channel.inputs, missing=model.missing)
    shares = counts_over(counted.counts, channel.inputs, "original")
    return np.asarray(shares / shares.sum())


def _identified(channels: list[Channel]) -> str:
    try:
        return str(identifiability(channels))
    except SievertError as problem:
        return f"not decided: {problem}"
