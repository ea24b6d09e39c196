"""Seeded experiments: how far estimates are from the truth, for truths, mechanisms and numbers of reports.

Every cell (truth, mechanism, number of reports) draws from a stream of its own, spawned from the one seed,
so that a cell gives the same numbers whichever others are run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.errors import EstimationError
from sievert.estimation import Method, estimate, kantorovich
from sievert.numerics import abbreviated
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Cell", "Experiment", "batched_rounds", "binomial", "run_experiment"]


@dataclass(frozen=True, eq=False)
class Cell(Result):
    """Errors of one way to estimate in one setting, a run each.

    `method` is the number of IBU rounds from the uniform start, or the name of a method of `sv.estimate`.
    """

    truth: str
    mechanism: str
    reports: int
    method: str
    errors: FloatArray
    variations: FloatArray

    @property
    def mean(self) -> float:
        """Mean Kantorovich error."""
        return float(self.errors.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the error over the runs."""
        return float(self.errors.std(ddof=1)) if len(self.errors) > 1 else 0.0

    @property
    def variation(self) -> float:
        """Mean total variation."""
        return float(self.variations.mean())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Student interval for the mean error."""
        runs = len(self.errors)
        if runs < 2:
            return -math.inf, math.inf
        reach = float(student.ppf((1 + level) / 2, runs - 1)) * self.deviation / math.sqrt(runs)
        return self.mean - reach, self.mean + reach

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.truth}, {self.mechanism}, {self.reports:,} reports, {self.method}: Kantorovich error "
            f"{self.mean:.3f} ({low:.3f} to {high:.3f})"
        )


@dataclass(frozen=True, eq=False)
class Experiment(Result):
    """All cells, and the seed they repeat from."""

    cells: tuple[Cell, ...]
    runs: int
    seed: int

    def cell(self, truth: str, mechanism: str, reports: int, method: str | int) -> Cell:
        """One cell by its names."""
        for cell in self.cells:
            if (cell.truth, cell.mechanism, cell.reports, cell.method) == (
                truth,
                mechanism,
                reports,
                str(method),
            ):
                return cell
        raise EstimationError(
            f"no cell for {abbreviated(truth)}, {abbreviated(mechanism)}, {reports} reports and "
            f"{abbreviated(method)}"
        )

    def __str__(self) -> str:
        return f"{len(self.cells)} cells of {self.runs} runs, seed {self.seed}"


def run_experiment(
    truths: Mapping[str, Any],
    mechanisms: Mapping[str, Channel],
    reports: Sequence[int],
    methods: Sequence[int | Method],
    metric: Metric,
    *,
    runs: int = 20,
    seed: int = 8,
    against: str = "population",
) -> Experiment:
    """Sample people, let them report, estimate, and measure the error, for every combination.

    Parameters
    ----------
    truths : distributions over the inputs, by name
    methods : numbers of IBU rounds from the uniform start (all runs at once), or methods of `sv.estimate`
    against : "population" measures against the people who reported, "truth" against what they were drawn from
    """
    if against not in ("population", "truth"):
        raise EstimationError(f'against is {abbreviated(against)}; choose "population" or "truth"')
    cells: list[Cell] = []
    for i, (truth_name, truth) in enumerate(truths.items()):
        p = as_prior(truth, metric.points).astype(np.float64)
        for j, (mechanism_name, channel) in enumerate(mechanisms.items()):
            for k, total in enumerate(reports):
                rng = np.random.default_rng(np.random.SeedSequence([seed, i, j, k]))
                people = rng.multinomial(total, p, size=runs)
                counts = np.array([_reported(channel, person, rng) for person in people])
                target = people / total if against == "population" else np.tile(p, (runs, 1))
                for method, estimates in _estimates(counts, channel, methods).items():
                    errors = [
                        float(kantorovich(a, b, metric)) for a, b in zip(estimates, target, strict=True)
                    ]
                    variations = np.abs(estimates - target).sum(axis=1) / 2
                    cells.append(
                        Cell(truth_name, mechanism_name, int(total), method, np.array(errors), variations)
                    )
    return Experiment(tuple(cells), runs, seed)


def _reported(channel: Channel, people: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    """Counts of the outputs: one multinomial draw for each value that people have."""
    counts = np.zeros(channel.shape[1])
    for value in np.flatnonzero(people).tolist():
        row = channel.row(channel.inputs[value])
        counts += rng.multinomial(int(people[value]), row / row.sum())
    return counts


def _estimates(
    counts: FloatArray, channel: Channel, methods: Sequence[int | Method]
) -> dict[str, FloatArray]:
    rounds = sorted(method for method in methods if isinstance(method, int))
    found = {
        str(k): p
        for k, p in batched_rounds(counts / counts.sum(axis=1, keepdims=True), channel.matrix, rounds).items()
    }
    for method in methods:
        if isinstance(method, str):
            rows = [estimate(row, channel, method, interval="none", rng=0).distribution for row in counts]
            found[method] = np.array([row / row.sum() for row in np.maximum(rows, 0.0)])
    return found


def batched_rounds(shares: FloatArray, matrix: FloatArray, rounds: Sequence[int]) -> dict[int, FloatArray]:
    """IBU from the uniform start for many problems at once: the estimates after each number of rounds."""
    p = np.full((len(shares), len(matrix)), 1 / len(matrix))
    found: dict[int, FloatArray] = {}
    done = 0
    for target in rounds:
        for _ in range(target - done):
            expected = p @ matrix
            p *= np.divide(shares, expected, out=np.zeros_like(expected), where=shares > 0) @ matrix.T
            p[p < 1e-300] = 0.0
        done = target
        found[target] = p / p.sum(axis=1, keepdims=True)
    return found


def binomial(size: int, chance: float) -> FloatArray:
    """Bin(size - 1, chance) on 0…size-1."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(size), size - 1, chance))
