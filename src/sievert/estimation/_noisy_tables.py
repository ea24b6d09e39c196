"""What a table with noise in its cells still tells: the nearest table that is possible, and how far off.

Noise knows nothing of what a table can be: counts are whole numbers from 0 on, and their total may be public.
The nearest possible table in squares is post-processing, so it costs nothing. It moves every cell the same
way, so it is a nearest table in absolute values too: with geometric noise, cut off or not, and with Gaussian
noise it is a likeliest one. Cutting off at 0 raises empty cells and, where the total is known, lowers the
others: simulated from the adjusted table, by its own noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IntArray
from sievert.channels import (
    Channel,
    GaussianLaw,
    GeometricLaw,
    NoiseLaw,
    TableNoise,
    clamped_bias,
    total_error,
)
from sievert.errors import EstimationError
from sievert.estimation._confidence import checked_confidence
from sievert.numerics import abbreviated, as_fraction, flag, generator_of, instance, number, require_size
from sievert.policies import Policy, Statistic
from sievert.results import Result
from sievert.spaces import iterable

__all__ = ["AdjustmentError", "TableEstimate", "estimate_answer", "estimate_table", "nearest_table"]

# Noise of all simulated tables together, and simulated tables at most.
LARGEST_SIMULATION, MOST_TABLES = 2_000_000, 2_000
# Values of the law that combines a cell with what the total says about it; more cells gain next to nothing.
LARGEST_LAW, MOST_COMBINED = 200_000, 40
# Permitted tables times cells that are compared with the noisy one.
LARGEST_LIST = 20_000_000
# Whole numbers below this are added up in 64 bits.
SAFE = 2**62


@dataclass(frozen=True)
class AdjustmentError(Result):
    """What adjusting does on average if the adjusted table were the true one: simulated, not proved.

    Attributes
    ----------
    tables : how many noisy tables were simulated
    before, after : mean absolute error of a cell, as released and adjusted
    empty, others : by how much cells that come out 0 (or at their least value), and the others, are too high
        on average after adjusting; None where there are none
    within : three standard errors of these averages, at most
    """

    tables: int
    before: float
    after: float
    empty: float | None
    others: float | None
    within: float

    def __str__(self) -> str:
        return f"the mean error of a cell goes from {self.before:.3g} to {self.after:.3g} (simulated)"

    def times(self, unit: float) -> AdjustmentError:
        """In units of so much."""
        empty, others = (None if bias is None else bias * unit for bias in (self.empty, self.others))
        before, after, within = (value * unit for value in (self.before, self.after, self.within))
        return AdjustmentError(self.tables, before, after, empty, others, within)


@dataclass(frozen=True, eq=False)
class TableEstimate(Result):
    """A released table, adjusted to what is possible.

    Attributes
    ----------
    cells : what the numbers are about, in the order of the others
    values : as released
    adjusted : the possible table that is nearest to them
    intervals : for each cell, where its true value lies at `level` confidence, for that cell alone
    level : that confidence
    total : the sum of the cells, where it is public
    total_interval : where the sum of the cells lies at that confidence
    criterion : what makes the adjusted table the best: "least squares" or "likelihood"
    likeliest : whether no possible table is likelier, given the noise; False: none is nearer, but some may be
    unbiased : whether the released values are right on average; noise that is cut off is not
    clamped_bias : at most how much too high an empty cell is released on average (0 where `unbiased`)
    error : what adjusting does on average; None where noise is not added to the cells
    method : how the intervals were found
    """

    cells: tuple[Any, ...]
    values: NDArray[Any]
    adjusted: NDArray[Any]
    intervals: NDArray[Any]
    level: float
    total: float | None
    total_interval: tuple[float, float]
    criterion: str
    likeliest: bool
    unbiased: bool
    clamped_bias: float
    error: AdjustmentError | None
    method: str

    def __str__(self) -> str:
        if len(self.cells) == 1:
            low, high = self.intervals[0]
            return (
                f"{number(self.adjusted[0])} ({number(low)} to {number(high)} at {self.level:.0%} confidence)"
            )
        total = number(sum(self.adjusted.tolist()))
        known = "as is public" if self.total is not None else self._total_words()
        return f"a table of {len(self.cells):,} cells and {total} in all ({known})"

    def _total_words(self) -> str:
        low, high = self.total_interval
        return f"{number(low)} to {number(high)} at {self.level:.0%} confidence"


def estimate_table(
    values: Any,
    noise: TableNoise,
    policy: Policy,
    *,
    absence: bool = False,
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
) -> TableEstimate:
    """Adjust a released table of counts, or a sum, to what is possible, with intervals.

    Parameters
    ----------
    values : the released number of every cell, in the order of `noise.statistic.cells`
    noise : what was added to them
    policy : which tables are possible: how many records there are, and what is public about them
    absence : whether rows may have been left out, so that the number of records is only an upper limit
    confidence : of each interval
    rng : for the simulation of what adjusting does

    Returns
    -------
    TableEstimate

    Notes
    -----
    The nearest table with a known total subtracts one number from all cells and cuts off at 0. In squares it
    is the only one but for rounding; with geometric noise any table that moves all cells the same way is as
    likely. Where the total is known, a cell's interval is the narrower of its own and the one that the other
    cells and the total give together with it.
    Cost: O(k log k) for k cells, and two million draws of noise.

    Examples
    --------
    >>> import sievert as sv
    >>> from sievert.channels import GeometricLaw, HistogramNoise, EpsilonOrAlpha
    >>> policy = sv.Policy(sv.secrets.complete(["a", "b", "c", "d"]), records=100)
    >>> law = GeometricLaw(EpsilonOrAlpha(0.5, None))
    >>> noise = HistogramNoise(sv.Query.histogram().statistic(policy), law)
    >>> found = estimate_table([52, -3, 40, 14], noise, policy)
    >>> found.adjusted.tolist(), found.likeliest
    ([50, 0, 38, 12], True)
    """
    if not isinstance(noise, TableNoise):
        raise EstimationError(
            f"noise is {abbreviated(noise)}; give the noise of a table, such as the channel of a file with a "
            "count, sum or histogram"
        )
    instance("policy", policy, Policy, "the policy of the table", EstimationError)
    absence = flag("absence", absence, EstimationError)
    confidence = checked_confidence(confidence)
    steps = _steps(values, noise)
    known = _known_total(noise.statistic, policy, absence)
    limits = noise.statistic.range(policy, absence)
    found = _possible(steps, noise, policy, known, limits)
    low, high, method = _intervals(steps, noise, known, limits, confidence)
    return _in_units(
        noise,
        found,
        steps,
        (low, high, method),
        _total_interval(steps, noise, known, limits, policy, confidence),
        known,
        confidence,
        _simulated(found.table, noise, policy, known, limits, rng),
    )


def _steps(values: Any, noise: TableNoise) -> NDArray[Any]:
    """The released numbers in whole steps, as 64-bit integers where they fit."""
    cells = noise.statistic.cells
    single = isinstance(values, str | bytes) or not iterable(values)
    given = [values] if single else list(islice(values, len(cells) + 1))
    if len(given) != len(cells):
        many = f"more than {len(cells)}" if len(given) > len(cells) else f"{len(given)}"
        raise EstimationError(f"values has {many} numbers; give one for each of the {len(cells)} cells")
    step, found = noise.statistic.step, []
    for place, value in enumerate(given):
        try:
            steps = as_fraction(value if isinstance(value, Fraction | int) else str(value)) / step
        except (ValueError, TypeError):
            raise EstimationError(f"values[{place}] is {abbreviated(value)}; give a finite number") from None
        if steps.denominator != 1:
            raise EstimationError(
                f"values[{place}] is {abbreviated(value)}; this noise gives multiples of {number(step)}"
            )
        found.append(int(steps))
    if noise.limits is not None:
        low, high = noise.limits
        outside = next((place for place, item in enumerate(found) if not low <= item <= high), None)
        if outside is not None:
            raise EstimationError(
                f"values[{outside}] is {abbreviated(given[outside])}; this noise is cut off at "
                f"{number(low * step)} and {number(high * step)}"
            )
    small = sum(map(abs, found)) < SAFE
    return np.array(found, dtype=np.int64 if small else object)


def _known_total(statistic: Statistic, policy: Policy, absence: bool) -> int | None:
    """How many records all cells hold together, where that is public."""
    counted = len(statistic.cells) > 1 and bool((statistic.amount == 1).all())
    return policy.records if counted and policy.absent is None and not absence else None


# ── The nearest possible table ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Possible:
    table: NDArray[Any]
    criterion: str
    likeliest: bool


def _possible(
    steps: NDArray[Any], noise: TableNoise, policy: Policy, known: int | None, limits: tuple[int, int]
) -> _Possible:
    if policy.constrained:
        return _permitted(steps, noise, policy)
    if len(steps) == 1:  # every law falls away from 0
        return _Possible(np.clip(steps, *limits), "least squares", True)
    likeliest = _squares_are_likeliest(noise.law, noise.limits is not None)
    if known is not None:
        return _Possible(nearest_table(steps, known), "least squares", likeliest)
    inside = np.maximum(steps, 0)
    found = inside if inside.sum() <= policy.records else nearest_table(steps, policy.records)
    return _Possible(found, "least squares", likeliest)


def nearest_table(values: Any, total: int) -> NDArray[Any]:
    """The nearest table of whole numbers ≥ 0 with a known total: least squares on the simplex.

    Parameters
    ----------
    values : whole numbers
    total : what the table adds up to, at least 0

    Returns
    -------
    array
        One number is subtracted from all cells, which are cut off at 0; what rounding leaves over goes to the
        first cells, all of which are equally far from it.

    Notes
    -----
    Cost: O(k log k) for k cells.

    Examples
    --------
    >>> nearest_table([52, -3, 40, 14], 100).tolist()
    [50, 0, 38, 12]
    """
    given = np.asarray(values)
    wide = given.dtype == object or abs(given).max() >= SAFE // len(given) - abs(total)
    given = given.astype(object) if wide else given.astype(np.int64)
    ordered = np.sort(given)[::-1]
    excess, count = np.cumsum(ordered) - total, np.arange(1, len(given) + 1)
    # The largest number of cells that stay above 0 when their excess is shared out: v·count > excess.
    kept = int(np.flatnonzero(ordered * count > excess)[-1]) + 1 if total > 0 else 0
    if not kept:
        return np.zeros_like(given)
    shift, extra = divmod(int(excess[kept - 1]), kept)
    above = given * kept > int(excess[kept - 1])
    found = np.where(above, given - shift, 0)
    # Of the cells above 0 the last lose one more.
    found[np.flatnonzero(above)[kept - extra :]] -= 1
    return found


@singledispatch
def _squares_are_likeliest(law: NoiseLaw, clamped: bool) -> bool:
    """Whether a nearest table in squares is also a likeliest one; not known of laws in general."""
    return False


@_squares_are_likeliest.register
def _of_geometric(law: GeometricLaw, clamped: bool) -> bool:
    # The likelihood falls by α a step, from a value that was cut off too, and no table moves fewer steps:
    # all cells above 0 move the same way.
    return True


@_squares_are_likeliest.register
def _of_gaussian(law: GaussianLaw, clamped: bool) -> bool:
    return not clamped


def _permitted(steps: NDArray[Any], noise: TableNoise, policy: Policy) -> _Possible:
    """The likeliest of the tables that public knowledge permits, the nearest of those in squares."""
    tables = permitted_tables(noise.statistic, policy)
    true, seen = tables.astype(np.float64), np.broadcast_to(steps.astype(np.float64), tables.shape)
    logs = noise.log_cells(true, seen).sum(axis=1)
    squares = ((true - seen) ** 2).sum(axis=1)
    # Sums of logarithms of a few cells: equal ones differ by rounding only.
    best = np.flatnonzero(logs >= logs.max() - 1e-9 * max(1.0, abs(float(logs.max()))))
    chosen = int(best[np.argmin(squares[best])])
    return _Possible(tables[chosen], "likelihood", True)


def permitted_tables(statistic: Statistic, policy: Policy) -> IntArray:
    """The different tables of permitted databases, in steps."""
    rows = policy.permitted_databases.rows
    require_size(
        len(rows) * len(statistic.cells), LARGEST_LIST, "permitted databases times cells", "permit fewer"
    )
    columns = [
        np.where(statistic.cell_of[rows] == cell, statistic.amount[rows], 0).sum(axis=1)
        for cell in range(len(statistic.cells))
    ]
    return np.unique(np.stack(columns, axis=1), axis=0)


# ── Intervals ───────────────────────────────────────────────────────────────────────────────────────────────


def _intervals(
    steps: NDArray[Any],
    noise: TableNoise,
    known: int | None,
    limits: tuple[int, int],
    confidence: float,
) -> tuple[NDArray[Any], NDArray[Any], str]:
    """Least and greatest steps of every cell; which form is narrower depends on the noise alone."""
    least, greatest = limits
    if math.isinf(noise.law.deviation):
        return (
            np.full_like(steps, least),
            np.full_like(steps, greatest),
            "the possible range: no end of noise",
        )
    radius, method = noise.law.radius(confidence), "the noise of the cell"
    low, high = steps - radius, steps + radius
    if known is not None and noise.limits is None:
        cells, excess = len(steps), int(steps.sum()) - known
        together = _combined_radius(noise.law, cells, confidence)
        if together is not None and together < cells * radius:
            # k·v - excess ± together, the true cell times k: whole numbers inside.
            low = -((excess + together - cells * steps) // cells)
            high = (cells * steps - excess + together) // cells
            method = "the noise of all cells and the public total"
    if noise.limits is not None:
        low = np.where(steps <= noise.limits[0], least, low)
        high = np.where(steps >= noise.limits[1], greatest, high)
    return np.clip(low, least, greatest), np.clip(high, least, greatest), method


def _combined_radius(law: NoiseLaw, cells: int, confidence: float) -> int | None:
    """The radius of (k-1)·z_1 - z_2 - … - z_k, k times the error of a cell whose total is known."""
    reach = law.beyond(-70.0) if math.isinf(law.reach) else int(law.reach)
    if cells > MOST_COMBINED or 2 * reach * (2 * cells - 2) > LARGEST_LAW:
        return None
    once = np.exp(law.log_pmf(np.arange(-float(reach), reach + 1)))
    own = np.zeros(2 * reach * (cells - 1) + 1)
    own[:: cells - 1] = once
    for _ in range(cells - 1):
        own = np.convolve(own, once) if len(own) * len(once) < 1e7 else _convolved(own, once)
    middle = len(own) // 2
    # P(|W| > r) from both ends inwards.
    outside = 2 * np.cumsum(own[::-1])[: middle + 1][::-1]
    found = np.flatnonzero(np.append(outside[1:], 0.0) <= 1 - confidence)
    return int(found[0])


def _convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    from scipy.signal import fftconvolve

    return np.asarray(np.maximum(fftconvolve(first, second), 0.0))


def _total_interval(
    steps: NDArray[Any],
    noise: TableNoise,
    known: int | None,
    limits: tuple[int, int],
    policy: Policy,
    confidence: float,
) -> tuple[int, int]:
    """Where the sum of all cells lies.

    Noise cut off below was lower than it shows, so the sum of what is shown still bounds the total from
    above; from below all cells are bounded at once.
    """
    if known is not None:
        return known, known
    if len(steps) == 1:
        low, high, _ = _intervals(steps, noise, None, limits, confidence)
        return int(low[0]), int(high[0])
    most = policy.records
    if math.isinf(noise.law.deviation):
        return 0, most
    total, radius = int(steps.sum()), total_error(noise.law, len(steps), confidence).radius
    low_end, high_end = total - radius, total + radius
    if noise.limits is not None:
        # Each side misses with half of the probability, the lower one in any of the cells.
        each = noise.law.beyond(math.log1p(-confidence) - math.log(len(steps)))
        low_end = int(np.maximum(steps - each, 0).sum())
        high_end = most if (steps >= noise.limits[1]).any() else high_end
    return min(max(low_end, 0), most), min(max(high_end, 0), most)


# ── What adjusting does on average ──────────────────────────────────────────────────────────────────────────


def _simulated(
    table: NDArray[Any],
    noise: TableNoise,
    policy: Policy,
    known: int | None,
    limits: tuple[int, int],
    rng: int | np.random.Generator | None,
) -> AdjustmentError | None:
    """Noisy tables of the adjusted one, adjusted in turn (in real numbers), in steps."""
    if math.isinf(noise.law.deviation) or policy.constrained:
        return None
    true, generator = table.astype(np.float64), generator_of(rng)
    count = max(2, min(MOST_TABLES, LARGEST_SIMULATION // len(true)))
    noisy = true + noise.law.simulated(generator, count * len(true)).reshape(count, len(true))
    if noise.limits is not None:
        noisy = np.clip(noisy, float(noise.limits[0]), float(noise.limits[1]))
    if len(true) == 1:
        found = np.clip(noisy, float(limits[0]), float(limits[1]))
    else:
        found = _nearest_rows(noisy, float(policy.records), known is not None)
    off = found - true
    least = true == (limits[0] if len(true) == 1 else 0)
    empty, others = (off[:, mask].mean(axis=1) if mask.any() else None for mask in (least, ~least))
    # At least two tables are simulated, so that their averages have a deviation.
    errors = [float(found.std(ddof=1)) for found in (empty, others) if found is not None]
    return AdjustmentError(
        count,
        float(np.abs(noisy - true).mean()),
        float(np.abs(off).mean()),
        None if empty is None else float(empty.mean()),
        None if others is None else float(others.mean()),
        3 * max(errors) / math.sqrt(count),
    )


def _nearest_rows(noisy: FloatArray, records: float, known: bool) -> FloatArray:
    """Least squares on the simplex for every row; where the total is only bounded, where it is exceeded."""
    ordered = -np.sort(-noisy, axis=1)
    excess = np.cumsum(ordered, axis=1) - records
    count = np.arange(1.0, noisy.shape[1] + 1)
    kept = np.maximum((ordered * count > excess).sum(axis=1), 1)
    shift = np.take_along_axis(excess, kept[:, None] - 1, axis=1) / kept[:, None]
    if not known:
        shift = np.maximum(shift, 0.0)
    return np.asarray(np.maximum(noisy - shift, 0.0))


def _in_units(
    noise: TableNoise,
    found: _Possible,
    steps: NDArray[Any],
    intervals: tuple[NDArray[Any], NDArray[Any], str],
    total_interval: tuple[int, int],
    known: int | None,
    confidence: float,
    error: AdjustmentError | None,
) -> TableEstimate:
    """From steps to the units of the answer."""
    step = noise.statistic.step
    unit: Any = int(step) if step.denominator == 1 else float(step)
    low, high, method = intervals
    cells = noise.statistic.cells if noise.statistic.names or len(steps) > 1 else ((noise.statistic.words,),)
    bias = 0.0 if noise.limits is None else clamped_bias(noise.law) * unit
    return TableEstimate(
        cells=tuple(cells),
        values=steps * unit,
        adjusted=found.table * unit,
        intervals=np.stack([low, high], axis=1) * unit,
        level=confidence,
        total=None if known is None else known * unit,
        total_interval=(total_interval[0] * unit, total_interval[1] * unit),
        criterion=found.criterion,
        likeliest=found.likeliest,
        unbiased=noise.limits is None,
        clamped_bias=bias,
        error=None if error is None else error.times(float(unit)),
        method=method,
    )


# ── An answer of any other mechanism ────────────────────────────────────────────────────────────────────────


def estimate_answer(
    output: Any, channel: Channel, cells: tuple[Any, ...], confidence: float = 0.95
) -> TableEstimate:
    """The likeliest answer behind one output of a listed channel, with a confidence set's ends.

    Parameters
    ----------
    output : one of the channel's outputs
    channel : from answers, which are numbers or tuples of them, to outputs
    cells : what the numbers of an answer are about
    confidence : of the set of answers for which an output so unlikely is no surprise

    Returns
    -------
    TableEstimate

    Notes
    -----
    The set holds every answer x for which outputs no likelier than this one have more than 1 - confidence
    together, so it holds the true one with that probability at least, whatever it is (Neyman).
    Cost: O(inputs·outputs).

    Examples
    --------
    >>> from sievert.mechanisms import truncated_geometric
    >>> found = estimate_answer(3, truncated_geometric(11, 1.0), (("how many",),))
    >>> found.adjusted.tolist(), found.intervals.tolist()
    ([3], [[1, 6]])
    """
    confidence = checked_confidence(confidence)
    matrix, place = channel.matrix, channel.output_index(output)
    column = np.asarray(matrix[:, place], dtype=np.float64)
    if not column.any():
        raise EstimationError(f"output is {abbreviated(output)}; no answer gives it: check the mechanism")
    # Entries that are equal but for rounding count as equal, which only widens the set.
    unlikely = np.where(matrix <= column[:, None] * (1 + 1e-9), matrix, 0.0).sum(axis=1)
    kept = (column > 0) & (unlikely > 1 - confidence)
    best = int(np.argmax(column))
    kept[best] = True
    answers = np.array([np.atleast_1d(np.asarray(item)) for item in channel.inputs])
    totals = answers.sum(axis=1)
    low, high = answers[kept].min(axis=0), answers[kept].max(axis=0)
    shown = np.atleast_1d(np.asarray(output))
    same = len(np.unique(totals)) == 1
    return TableEstimate(
        cells=cells,
        values=shown,
        adjusted=answers[best],
        intervals=np.stack([low, high], axis=1),
        level=confidence,
        total=totals[0].item() if same and len(cells) > 1 else None,
        total_interval=(totals[kept].min().item(), totals[kept].max().item()),
        criterion="likelihood",
        likeliest=True,
        unbiased=False,
        clamped_bias=0.0,
        error=None,
        method="answers for which the output is no surprise",
    )
