"""What many releases give away about one record behind noise without a list: curves, rates, breaches.

The same results as for a listed channel, asked about the record's value by somebody who knows all other
records. Success is exact wherever the guess is; else between certain bounds, or simulated between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.errors import GainError
from sievert.numerics import abbreviated, advance, choice, generator_of, require_size, tracked
from sievert.observations._alike_cells import AlikeCells
from sievert.observations._breach_times import BreachCurve, BreachQuestion, BreachUntil, Direction
from sievert.observations._contribution_classes import ContributionClasses
from sievert.observations._error_bounds import share_interval
from sievert.observations._success import (
    BOUNDS,
    SIMULATION,
    WIDE,
    Random,
    SuccessCurve,
    SuccessProbability,
)
from sievert.observations._table_likelihood import TableLikelihood
from sievert.observations._types import observation_count, observation_counts, upto
from sievert.observations._until import ObservationsUntil, Rate, Rates

__all__ = ["record_breach_curve", "record_breach_until", "record_rates", "record_success", "record_until"]

LN2 = math.log(2)
RATIOS = "exact by likelihood ratios"
TOLERANCE = 1e-9
# The most releases that are looked at for a target.
MOST_RELEASES = 1 << 20
# Beliefs that a simulated breach follows, and simulated records.
SIMULATED, SAMPLES, FEWEST = 300_000_000, 5_000, 200
# More classes than this are followed by how many have been hit how often.
FEW_CLASSES = 50


def record_success(
    view: TableLikelihood, observations: int | Iterable[int] = 1, rng: Random = None
) -> SuccessCurve:
    """How often the best guess about the record is right, for n = 1…N or the given numbers of releases.

    Parameters
    ----------
    view : one record seen through noise
    observations : a number N, or the numbers themselves
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    SuccessCurve
        With `before`, `limit` and the method of every point.
    """
    generator = generator_of(rng)
    counts = observation_counts(observations)
    return SuccessCurve(tuple(_success(view, n, generator) for n in tracked("releases looked at", counts)))


def _success(
    view: TableLikelihood, releases: int, generator: np.random.Generator | None
) -> SuccessProbability:
    """One point; without a generator, certain bounds only."""
    found = view.gain(view.identity, releases)
    lower, upper = min(found.lower, view.limit), min(found.upper, view.limit)
    method = RATIOS if found.exact else BOUNDS
    if not found.exact and generator is not None and upper - lower > WIDE:
        drawn = view.simulated(releases, generator)
        if max(lower, drawn.lower) <= min(upper, drawn.upper):
            lower, upper, method = max(lower, drawn.lower), min(upper, drawn.upper), SIMULATION
    gap = view.limit - lower
    # Where rounding leaves nothing, the Chernoff bound of all pairs still says how little is missed.
    bits = -math.log2(gap) if gap > 1e-12 else max(-math.log2(max(gap, 1e-300)), _missed_bits(view, releases))
    return SuccessProbability(releases, lower, upper, method, view.before, view.limit, bits, found.exact)


def _missed_bits(view: TableLikelihood, releases: int) -> float:
    """-log2 of Σ over pairs of √(π_u·π_v)·e^(n·affinity), at most (Σ√π)²/2 times the largest."""
    chosen = view.classes.likeliest[view.classes.possible]
    if len(chosen) == 1:
        return math.inf
    affinity = -record_rates(view).utility.nats
    return -(2 * math.log(float(np.sqrt(chosen).sum())) - LN2 + releases * affinity) / LN2


def record_until(
    view: TableLikelihood, successes: Iterable[float], rng: Random = None
) -> tuple[ObservationsUntil, ...]:
    """How many releases until the best guess about the record reaches each probability."""
    generator = generator_of(rng)
    return tuple(_until(view, target, generator) for target in successes)


def _until(view: TableLikelihood, target: float, generator: np.random.Generator) -> ObservationsUntil:
    if not 0 < target <= 1:
        raise GainError(f"success is {abbreviated(target)}; give a probability above 0 and at most 1")
    aim = target * (1 - TOLERANCE)
    if aim <= view.before:
        return ObservationsUntil(target, 0, 0, view.limit, RATIOS)
    if aim > view.limit or view.limit <= view.before:
        return ObservationsUntil(target, None, None, view.limit, RATIOS)
    known: dict[int, SuccessProbability] = {}

    def point(releases: int) -> SuccessProbability:
        if releases not in known:
            found = _success(view, releases, None)
            if not found.exact and found.lower < aim <= found.upper:
                found = _success(view, releases, generator)
            known[releases] = found
        return known[releases]

    most = _first(lambda n: point(n).lower >= aim)
    least = _first(lambda n: point(n).upper >= aim, most)
    used = {known[n].method for n in (least, most) if n is not None and n in known}
    method = max(used, key=[RATIOS, BOUNDS, SIMULATION].index, default=BOUNDS)
    return ObservationsUntil(target, least, most, view.limit, method)


def _first(holds: Callable[[int], bool], known: int | None = None) -> int | None:
    """The least number of releases that satisfies a condition which stays true; None where none does."""
    low, high = 0, known or 1
    while known is None and not holds(high):
        low, high = high, 2 * high
        if high > MOST_RELEASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def record_rates(view: TableLikelihood, values: Sequence[Hashable] | None = None) -> Rates:
    """Bits that each further release adds about the record: worst case, easiest pair and hardest pair.

    Parameters
    ----------
    view : one record seen through noise
    values : names of the values; by default their positions

    Returns
    -------
    Rates
        Chernoff information is -ln Σ √(p·p') for every pair, since the noise is symmetric: it grows with the
        distance of two amounts, and is that of two steps for two cells.
    """
    names = range(len(view.belief)) if values is None else values
    classes = view.classes
    groups = _members(classes)
    named = tuple(tuple(names[i] for i in group) for group in groups if len(group) > 1)
    worst = Rate(view.log_ratio / LN2)
    pairs = view.extreme_pairs()
    if pairs is None:
        return Rates(Rate(0.0), Rate(0.0), Rate(0.0), None, named)
    easiest, hardest = (Rate(-view.affinity(*pair) / LN2, (names[pair[0]], names[pair[1]])) for pair in pairs)
    return Rates(worst, easiest, hardest, None, named)


def _members(classes: ContributionClasses) -> list[list[int]]:
    """Values of each possible class of more than one, and one of each other."""
    order = np.argsort(classes.place, kind="stable")
    edges = np.flatnonzero(np.diff(classes.place[order])) + 1
    return [group.tolist() for group in np.split(order, edges)]


def record_breach_curve(
    view: TableLikelihood,
    predicate: Iterable[int],
    level: float = 1.0,
    observations: int = 1,
    direction: Direction = "up",
    rng: Random = None,
    values: Sequence[Hashable] | None = None,
) -> BreachCurve:
    """Probability that belief in a predicate about the record changes by more than some bits, by simulation.

    Parameters
    ----------
    view : one record seen through noise
    predicate : positions of the values that satisfy it
    level : size of a breach in bits: belief grows by more than a factor of 2^level
    observations : the largest n
    direction : whether a breach is belief growing ("up"), falling ("down") or either
    rng : seed of the simulation
    values : names of the values; by default their positions

    Returns
    -------
    BreachCurve
        `at` and `by` each n with 99.9 % intervals; the rate is exact.
    """
    choice("direction", direction, ("up", "down", "either"), GainError)
    most = upto(observations, GainError)
    members = tuple(sorted({int(i) for i in predicate}))
    names = range(len(view.belief)) if values is None else values
    question = BreachQuestion(_RecordClasses(view), members, level, direction)
    rate = _rate(view, question) if question.reachable else 0.0
    shares, lower, upper = np.zeros((3, 2, most))
    if question.reachable:
        shares, lower, upper = _simulated(view, question, most, generator_of(rng))
    return BreachCurve(
        tuple(names[i] for i in members),
        level,
        direction,
        question.before,
        shares[0],
        shares[1],
        1 - shares[0],
        1 - shares[1],
        rate,
        question.reachable,
        0 if question.reachable else most,
        lower,
        upper,
    )


class _RecordClasses:
    """Classes of values as a question about breaches reads them."""

    def __init__(self, view: TableLikelihood) -> None:
        chosen = view.classes.possible
        self.belief: FloatArray = view.belief
        self.total: FloatArray = view.classes.total[chosen]
        members = _members(view.classes)
        self.members: Sequence[Sequence[int]] = [members[i] for i in chosen]


def _rate(view: TableLikelihood, question: BreachQuestion) -> float:
    """Least Chernoff information of a class inside and one outside, in bits."""
    inside, outside = question.rate_pairs()
    if not len(inside) or not len(outside):
        return 0.0
    return -view.affinity(*view.hardest(inside, outside)) / LN2


def _simulated(
    view: TableLikelihood, question: BreachQuestion, most: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares [at or by, n] of simulated records that meet a breach, with their intervals."""
    size = len(view.classes.possible)
    cells = AlikeCells.of(view, question, most) if size > FEW_CLASSES else None
    if cells is not None:
        return _intervals(cells.breaches(question, most, generator))
    require_size(size * most * FEWEST, 10 * SIMULATED, "the simulated breach", "ask for fewer releases")
    samples = int(np.clip(SIMULATED / (size * most), FEWEST, SAMPLES))
    shares = question.shares / question.shares.sum()
    true = generator.choice(len(shares), size=samples, p=shares)
    seen, met = np.zeros((size, samples)), np.zeros(samples, dtype=bool)
    hits = np.zeros((2, most), dtype=np.int64)
    for n in range(most):
        seen += view.drawn(true, generator)
        breach, _ = question.judge(seen)
        met |= breach
        hits[:, n] = breach.sum(), met.sum()
        advance("releases simulated", n + 1, most)
    return _intervals((hits, samples))


def _intervals(drawn: tuple[IntArray, int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of the samples with their intervals."""
    hits, samples = drawn
    lower, upper = share_interval(hits, samples)
    return hits / samples, lower, upper


def record_breach_until(
    view: TableLikelihood,
    probability: float,
    predicate: Iterable[int],
    level: float = 1.0,
    most: int = 1 << 10,
    rng: Random = None,
) -> BreachUntil:
    """The first number of releases by which a breach has a given probability, looking up to `most`."""
    members, count = list(predicate), min(32, observation_count(most, GainError))
    while True:
        found = record_breach_curve(view, members, level, count, rng=rng)
        sure = np.flatnonzero(found.lower[1] >= probability)
        maybe = np.flatnonzero(found.upper[1] >= probability)
        if len(sure) or not found.reachable or count >= most:
            least = int(maybe[0]) + 1 if len(maybe) else None
            enough = int(sure[0]) + 1 if len(sure) else None
            return BreachUntil(probability, "by", least, enough, count, found.method, found.reachable)
        count = min(4 * count, most)
