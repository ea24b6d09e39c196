"""Breaches where no list holds the mechanism: one record, all others known, after many releases.

The guess follows from what one record shows through the noise (`likelihood_of`). Levels, rates and breaches
are those of the two values of a record that are easiest to tell apart: two laws, told apart by their
likelihood ratio alone. The pace in the long run is set by the two that are hardest to tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch

import numpy as np

from sievert.analysis import Analysis, Attacker, NoiseAnalysis
from sievert.arrays import BoolArray, FloatArray, IntArray
from sievert.channels import (
    Channel,
    GeometricLaw,
    GroupedSumNoise,
    HistogramNoise,
    JointNoise,
    NoiseChannel,
    NoiseLaw,
    PlanarNoise,
    QuantileNoise,
    ScalarNoise,
    TableNoise,
)
from sievert.errors import FileError, TooLargeError
from sievert.measures import GainFunction, gains
from sievert.numerics import abbreviated, require_size, tracked
from sievert.observations import (
    Breaches,
    BreachUntil,
    JointLikelihood,
    ObservationsUntil,
    PredicateBreach,
    Rates,
    RecordGain,
    RecordLikelihood,
    RepeatedGuess,
    SimulatedVulnerability,
    SuccessCurve,
    SuccessProbability,
    TableLikelihood,
    average_level,
    breaches,
    likelihood_ratio_law,
    observations_until_breach,
    predicate_breach,
    rates,
    record_breach_curve,
    record_breach_until,
    worst_level,
)
from sievert.orders import TextLabel
from sievert.policies import cells_moved

__all__ = ["median_breach_time", "predicate_breaches", "record_breaches", "releases_until", "simulated_guess"]

# Likelihood ratios with which a breach is followed from one release to the next.
MOST_RATIOS = 64
# Cells of a region whose laws are written out.
LARGEST_REGION = 2_000_000
# Releases that are looked at for a guess that is right often enough.
MOST_RELEASES = 1 << 14
# Kinds of values that several tables tell apart, all of whose pairs are compared; ratios of two of them.
LARGEST_KINDS, LARGEST_RATIOS, SAME_RATIO = 1_000, 1 << 20, 1e-11
EXACT = "exact: one record seen through the noise"
SEED = 0


def record_breaches(view: Analysis, counts: Sequence[int], level: float | None) -> Breaches:
    """Levels, rates and curves about one record."""
    scenario = view.measurement
    assert isinstance(view, NoiseAnalysis)
    seen = _view(view)
    easiest = extreme_pair(view.noise, view)
    half = np.full(2, 0.5)
    first = predicate_breach(easiest, half, None)
    size = math.log2((1 + first.before) / 2 / first.before) if level is None else level
    success = SuccessCurve(tuple(_point(seen, count) for count in tracked("releases looked at", counts)))
    if easiest.shape[1] <= MOST_RATIOS:
        named = list(first.predicate)
        found = breaches(easiest, half, named, size, max(counts), rng=SEED)
        return replace(found, privacy=scenario.epsilon, success=success, rates=_rates(view, easiest))
    return Breaches(
        worst_level(easiest),
        average_level(easiest),
        scenario.epsilon,
        None,
        first,
        _rates(view, easiest),
        success,
        None,
    )


def predicate_breaches(
    view: Analysis, found: Breaches, named: Sequence[Hashable], most: int, level: float | None
) -> tuple[Breaches, BreachUntil | None]:
    """The same with breaches about some values of the record, and when one is likelier than not."""
    assert isinstance(view, NoiseAnalysis)
    seen, values = _view(view), view.measurement.policy.values
    if not isinstance(seen, TableLikelihood):
        raise _unfollowed(view.noise, "belief in some values is not followed")
    chosen = set(named)
    holds = np.array([value in chosen for value in values])
    first = _first_breach(view, seen, holds)
    size = math.log2((1 + first.before) / 2 / first.before) if level is None else level
    members = np.flatnonzero(holds).tolist()
    curve = record_breach_curve(seen, members, size, most, rng=SEED, values=values)
    half = record_breach_until(seen, 0.5, members, size, rng=SEED) if curve.reachable else None
    return replace(found, predicate=first, breach=curve), half


def _first_breach(view: NoiseAnalysis, seen: TableLikelihood, holds: BoolArray) -> PredicateBreach:
    """What one release does to belief in the predicate."""
    values = view.measurement.policy.values
    named = tuple(values[i] for i in np.flatnonzero(holds).tolist())
    before = float(seen.belief[holds].sum())
    if not (before and seen.belief[~holds].any()):
        raise FileError(
            f"--about names values that are {'certain' if before else 'impossible'} before any release; name "
            "some of the possible values, and not all of them"
        )
    pro, con = (largest_odds(view.noise, seen, part) for part in (holds, ~holds))
    gained = seen.gain(gains.property(range(len(values)), np.flatnonzero(holds).tolist()))
    if not gained.exact:
        raise _unfollowed(view.noise, "the gain of this property is only bounded")
    return PredicateBreach(
        named,
        before,
        1 / (1 + 1 / pro),
        "the likeliest for it",
        1 / (1 + con),
        "the likeliest against it",
        math.log2(gained.after / gained.before),
        -math.log1p(1 / pro) - math.log(before),
        math.log1p(con) + math.log(before),
    )


def _unfollowed(noise: NoiseChannel, why: str) -> FileError:
    return FileError(
        f"--about: under {noise.words()} {why}; leave --about out for the two values that are easiest to "
        "tell apart, or ask `sievert audit` with gains = [{ property = [...] }]"
    )


@singledispatch
def largest_odds(noise: NoiseChannel, seen: TableLikelihood, holds: BoolArray) -> float:
    """The largest odds, after one release, that the record has one of some values."""
    raise _unfollowed(noise, f"belief in some values ({abbreviated(int(holds.sum()))}) is not followed")


@largest_odds.register
def _in_cells(noise: HistogramNoise, seen: TableLikelihood, holds: BoolArray) -> float:
    """Each cell's ratio lies between 1/r and r: the odds are largest where those that favour it have r.

    A linear fraction over a box is largest at a corner that a threshold on the coefficients picks.
    """
    table = noise.statistic
    nats = noise.law.nats_of(Fraction(1))
    counted = table.amount != 0
    if math.isinf(nats) or seen.is_cut or (np.abs(table.amount[counted]) != 1).any():
        raise _unfollowed(noise, "no belief is the largest, or clamping hides it")
    width = len(table.cells)
    pro, con = (
        _gathered(table.cell_of[counted & part], seen.belief[counted & part], width)
        for part in (holds, ~holds)
    )
    some = pro + con > 0
    pro, con = pro[some], con[some]
    order = np.argsort(-pro / (pro + con), kind="stable")
    high, low = math.exp(nats), math.exp(-nats)

    def weighed(part: FloatArray, nowhere: float) -> FloatArray:
        raised = np.concatenate([[0.0], np.cumsum(part[order])])
        lowered = np.concatenate([np.cumsum(part[order][::-1])[::-1], [0.0]])
        return np.asarray(nowhere + high * raised + low * lowered)

    up = weighed(pro, float(seen.belief[holds & ~counted].sum()))
    down = weighed(con, float(seen.belief[~holds & ~counted].sum()))
    return float((up / down).max())


@largest_odds.register
def _in_sums(noise: ScalarNoise, seen: TableLikelihood, holds: BoolArray) -> float:
    """Between two positions the odds are monotone under geometric noise, so a position is the extreme."""
    if not isinstance(noise.law, GeometricLaw):
        raise _unfollowed(noise, "the largest belief has no closed form")
    places, which = np.unique(noise.statistic.amount, return_inverse=True)
    fade = np.exp(-noise.law.level.eps * np.diff(places).astype(np.float64))
    pro, con = (_gathered(which[part], seen.belief[part], len(places)) for part in (holds, ~holds))
    up, down = _seen_from(pro, fade), _seen_from(con, fade)
    return float((up / down).max())


def _gathered(where: IntArray, weights: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(where, weights, minlength=size), dtype=np.float64)


def _seen_from(weights: FloatArray, fade: FloatArray) -> FloatArray:
    """Σ_v w_v e^(-ε|x - x_v|) at every position x."""
    found = weights.copy()
    for shown, kept in ((found, fade), (found[::-1], fade[::-1])):
        running = 0.0
        source = weights if shown is found else weights[::-1]
        for i in range(1, len(weights)):
            running = (running + source[i - 1]) * kept[i - 1]
            shown[i] += running
    return found


def _view(view: NoiseAnalysis) -> RecordLikelihood:
    if len(view.likelihoods) != 1:
        raise FileError(
            f"{view.measurement.source}, policy.permitted: what others leave possible differs from record to "
            "record, so that there is no one curve; `sievert audit FILE` says what one record gives away"
        )
    return _bounded(view.noise, view)


@singledispatch
def _bounded(noise: NoiseChannel, view: NoiseAnalysis) -> RecordLikelihood:
    """One record, and where its guess has no closed form what ε or ρ allows."""
    return view.likelihoods[0]


@_bounded.register(JointNoise)
@_bounded.register(GroupedSumNoise)
def _several_bounded(noise: JointNoise | GroupedSumNoise, view: NoiseAnalysis) -> RecordLikelihood:
    return BoundedJointLikelihood(noise, view.likelihoods[0].belief, view)


def median_breach_time(view: Analysis, found: Breaches) -> BreachUntil | None:
    """Releases by which the breach is likelier than not; None where it is not followed or cannot happen."""
    if found.breach is None or not found.breach.reachable:
        return None
    assert isinstance(view, NoiseAnalysis)
    return observations_until_breach(
        extreme_pair(view.noise, view),
        0.5,
        level=found.breach.level_bits,
        predicate=list(found.breach.predicate),
        prior=np.full(2, 0.5),
        most=1 << 12,
        rng=SEED,
    )


@dataclass(frozen=True, eq=False)
class BoundedJointLikelihood(JointLikelihood):
    """Several tables, whose guess is bounded where it has no closed form."""

    seen: NoiseAnalysis

    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess after independent releases, exactly or at most."""
        found = self.seen.vulnerability(releases=releases)
        return RepeatedGuess(found.prior, found.value, found.is_exact, releases, found.posterior.method)

    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """The guess in one try, exactly or at most."""
        found = self.seen.vulnerability(Attacker(adversary), releases)
        ends = found.posterior
        return RecordGain(
            found.gain,
            found.prior,
            found.value,
            found.is_exact,
            ends.lower,
            ends.upper,
            ends.method,
            releases,
        )


@singledispatch
def extreme_pair(noise: NoiseChannel, view: Analysis, hardest: bool = False) -> Channel:
    """The two values of a record that are easiest (or hardest) to tell apart, as a channel of two inputs."""
    raise TooLargeError(f"two values under {noise.words()} are not listed", size=math.inf)


@extreme_pair.register(JointNoise)
@extreme_pair.register(GroupedSumNoise)
def _of_several(noise: JointNoise | GroupedSumNoise, view: Analysis, hardest: bool = False) -> Channel:
    """By the cells that the two values move in every table: noise is independent, so that ratios multiply."""
    parts = noise.parts if isinstance(noise, JointNoise) else (noise,)
    if any(isinstance(part, QuantileNoise) for part in parts):
        raise TooLargeError(
            "how a quantile tells two values apart depends on all other records, so that breaches are not "
            "followed; `sievert audit` with [adversary] observations bounds how well one record is guessed "
            "after many releases, and a file without the quantile is followed",
            size=math.inf,
        )
    values = view.measurement.policy.values
    kinds = np.column_stack([part.statistic.alike[1] for part in parts])
    chosen = np.unique(kinds, axis=0, return_index=True)[1]
    require_size(len(chosen), LARGEST_KINDS, "the values that some table tells apart", "ask `sievert audit`")
    first, second = (chosen[side] for side in np.triu_indices(len(chosen), 1))
    if not len(first):
        raise FileError(f"{view.measurement.source}, query: all values add the same, so nothing is told")
    tables = [cells_moved(part.statistic, first, second) for part in parts]
    rows = np.column_stack([column for both in tables for column in both])
    moves, where = np.unique(rows, axis=0, return_index=True)
    laws = [part.law for part in parts if isinstance(part, TableNoise) for _ in range(2)]
    hidden: dict[tuple[int, int], float] = {}
    rate = [_affinity(laws, move, hidden) for move in moves.tolist()]
    place = int(np.argmin(rate) if hardest else np.argmax(rate))
    pair = (values[int(side[where[place]])] for side in (first, second))
    return _product(laws, moves[place].tolist(), tuple(pair))


def _affinity(laws: list[NoiseLaw], move: list[int], known: dict[tuple[int, int], float]) -> float:
    """-ln Σ √(P·Q), which adds up over cells; what was computed before is looked up."""
    total = 0.0
    for place, steps in enumerate(move):
        key = place - place % 2, steps
        if steps and key not in known:
            found = likelihood_ratio_law(laws[place], steps, 1)
            known[key] = -float(np.logaddexp.reduce((found.log_pmf + found.log_shown) / 2))
        total += known[key] if steps else 0.0
    return total


def _product(laws: list[NoiseLaw], move: list[int], pair: tuple[Hashable, ...]) -> Channel:
    """The law of the product of all cells' likelihood ratios, for the first of two values and the second."""
    ratios, rows = np.zeros(1), np.zeros((2, 1))
    for law, steps in zip(laws, move, strict=True):
        if not steps:
            continue
        found = likelihood_ratio_law(law, steps, 1)
        if found.hidden > 0:
            raise TooLargeError(
                f"{law.words()} rules values out, which several tables do not follow", size=math.inf
            )
        require_size(
            len(ratios) * len(found.logs), LARGEST_RATIOS, "the likelihood ratios", "ask `sievert audit`"
        )
        both = np.stack([found.log_shown, found.log_pmf])
        ratios = np.add.outer(ratios, found.logs).ravel()
        rows = (rows[:, :, None] + both[:, None, :]).reshape(2, -1)
        ratios, rows = _merged(ratios, rows)
    outputs = [TextLabel(f"with odds e^{ratio!r}") for ratio in ratios.tolist()]
    return Channel.trusted(rows, "log", list(pair), outputs)


def _merged(ratios: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outputs of one ratio are one output; sums of floats miss each other by some units in the last place."""
    order = np.argsort(ratios, kind="stable")
    ratios, rows = ratios[order], rows[:, order]
    starts = np.flatnonzero(np.append(True, np.diff(ratios) > SAME_RATIO))
    return ratios[starts], np.logaddexp.reduceat(rows, starts, axis=1)


@extreme_pair.register
def _of_cells(noise: HistogramNoise, view: Analysis, hardest: bool = False) -> Channel:
    """A value that is in no cell is one step from any other, two cells are two steps apart."""
    table, values = noise.statistic, view.measurement.policy.values
    counted = np.flatnonzero(table.amount != 0)
    nowhere = np.flatnonzero(table.amount == 0)
    if len(nowhere) and (hardest or len(table.cells) == 1):
        return _two(noise, 1, 1, (values[int(counted[0])], values[int(nowhere[0])]))
    other = counted[table.cell_of[counted] != table.cell_of[counted[0]]]
    return _two(noise, 1, 2, (values[int(counted[0])], values[int(other[0])]))


@extreme_pair.register
def _of_sums(noise: ScalarNoise, view: Analysis, hardest: bool = False) -> Channel:
    amounts, values = noise.statistic.amount, view.measurement.policy.values
    order = np.argsort(amounts, kind="stable")
    low, high = int(order[0]), int(order[-1])
    if hardest:
        gaps = np.diff(amounts[order])
        place = int(np.argmin(np.where(gaps > 0, gaps, np.iinfo(np.int64).max)))
        low, high = int(order[place]), int(order[place + 1])
    steps = int(amounts[high] - amounts[low])
    if not steps:
        raise FileError(f"{view.measurement.source}, query: all values add the same, so nothing is told")
    return _two(noise, steps, 1, (values[high], values[low]))


@extreme_pair.register
def _of_places(noise: PlanarNoise, view: Analysis, hardest: bool = False) -> Channel:
    """Opposite corners; or neighbours in a corner, where clamping hides most, or in the middle."""
    rows, columns = noise.region.shape
    require_size(rows * columns, LARGEST_REGION, "the cells", "use larger cells")
    if rows * columns == 1:
        raise FileError(f"{view.measurement.source}, policy.secrets.region: has one cell, so nothing is told")
    if not hardest:
        return _two_places(noise, (0, 0), (rows - 1, columns - 1))
    beside = [(0, 1)] * (columns > 1) + [(1, 0)] * (rows > 1)
    starts = (0, 0), ((rows - 1) // 2, (columns - 1) // 2)
    pairs = [(cell, (cell[0] + step[0], cell[1] + step[1])) for cell in starts for step in beside]
    inside = [pair for pair in pairs if pair[1][0] < rows and pair[1][1] < columns]
    return min((_two_places(noise, *pair) for pair in inside), key=lambda two: rates(two).utility.bits)


def _two_places(noise: PlanarNoise, first: tuple[int, int], second: tuple[int, int]) -> Channel:
    # Logarithms: a cell far away is never ruled out, however unlikely.
    logs = np.stack([noise.log_law(cell).ravel() for cell in (first, second)])
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return Channel.trusted(logs, "log", [first, second], noise.region.labels)


def _two(
    noise: ScalarNoise | HistogramNoise, steps: int, times: int, pair: tuple[Hashable, Hashable]
) -> Channel:
    """The law of the likelihood ratio for the first of two values, and for the second."""
    found = likelihood_ratio_law(noise.law, steps, times)
    rows = np.stack([found.log_shown, found.log_pmf])
    outputs = [TextLabel(f"with odds e^{ratio:.4g}") for ratio in found.logs.tolist()]
    if found.hidden > 0:
        certain = math.log(found.hidden)
        rows = np.concatenate([rows, [[-math.inf, certain], [certain, -math.inf]]], axis=1)
        outputs += [TextLabel("that the first never leads to"), TextLabel("that the second never leads to")]
    if len(set(outputs)) < len(outputs):
        exactly = [TextLabel(f"with odds e^{ratio!r}") for ratio in found.logs.tolist()]
        outputs = exactly + outputs[len(found.logs) :]
    return Channel.trusted(rows, "log", list(pair), outputs)


def _rates(view: NoiseAnalysis, easiest: Channel) -> Rates:
    found = rates(easiest)
    return replace(found, utility=rates(extreme_pair(view.noise, view, hardest=True)).utility, pairs=None)


def _point(view: RecordLikelihood, count: int) -> SuccessProbability:
    found = view.guess(count)
    lower = found.guess if found.exact else view.before
    if not found.exact and count > 1:
        once = view.guess(1)
        lower = once.guess if once.exact else lower
    missing = view.limit - found.guess
    bits = -math.log2(missing) if missing > 0 else math.inf
    method = EXACT if found.exact else _named(view, count)
    return SuccessProbability(count, lower, found.guess, method, view.before, view.limit, bits, found.exact)


def _named(view: RecordLikelihood, count: int) -> str:
    """Which bound it is that no guess exceeds."""
    method = view.gain(view.identity, count).method
    return f"an upper bound: {method.removeprefix('bound: ')}"


def simulated_guess(view: Analysis, success: SuccessCurve) -> SimulatedVulnerability | None:
    """The last guess of a curve by simulation, where only bounds on it are known."""
    assert isinstance(view, NoiseAnalysis)
    last = success[-1]
    if last.exact:
        return None
    with suppress(TooLargeError):
        return _view(view).simulated(last.observations, SEED)
    return None


def releases_until(view: Analysis, targets: Sequence[float]) -> tuple[ObservationsUntil, ...]:
    """Releases until one record is guessed right with each probability."""
    assert isinstance(view, NoiseAnalysis)
    seen = _view(view)
    return tuple(
        _until(seen, target) for target in tracked("chances asked for", targets) if seen.before < target
    )


def _until(view: RecordLikelihood, target: float) -> ObservationsUntil:
    if view.limit < target:
        return ObservationsUntil(target, None, None, view.limit, EXACT)
    low, high = 0, 1
    while view.guess(high).guess < target:
        if high >= MOST_RELEASES:
            return ObservationsUntil(target, high + 1, None, view.limit, _named(view, high))
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if view.guess(middle).guess >= target else (middle, high)
    exact = view.guess(high).exact
    method = EXACT if exact else _named(view, high)
    return ObservationsUntil(target, high, high if exact else None, view.limit, method)
