"""Breaches where no list holds the mechanism: one record, all others known, after many releases.

The guess follows from what one record shows through the noise (`record_view`). Levels, rates and breaches are
those of the two values of a record that are easiest to tell apart: two laws, told apart by their likelihood
ratio alone. The pace in the long run is set by the two that are hardest to tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import singledispatch

import numpy as np

from sievert.channels import CellNoise, Channel, NoiseChannel, PlanarNoise, SumNoise
from sievert.errors import FileError, TooLargeError
from sievert.numerics import require_size
from sievert.observations import (
    Breaches,
    BreachUntil,
    ObservationsUntil,
    OneRecord,
    Rates,
    SimulatedGain,
    SuccessCurve,
    SuccessProbability,
    average_level,
    breaches,
    observations_until_breach,
    predicate_breach,
    rates,
    ratios_after,
    worst_level,
)
from sievert.questions._seen import Seen, Unlisted

__all__ = ["half_time", "record_breaches", "releases_until", "simulated_guess"]

# Likelihood ratios with which a breach is followed from one release to the next.
MOST_RATIOS = 64
# Cells of a region whose laws are written out.
LARGEST_REGION = 2_000_000
# Releases that are looked at for a guess that is right often enough.
MOST_RELEASES = 1 << 14
EXACT = "exact: one record seen through the noise"
SEED = 0


def record_breaches(view: Seen, counts: Sequence[int], level: float | None) -> Breaches:
    """Levels, rates and curves about one record."""
    scenario = view.scenario
    assert isinstance(view, Unlisted)
    seen = _view(view)
    easiest = told_apart(view.noise, view)
    half = np.full(2, 0.5)
    first = predicate_breach(easiest, half, None)
    size = math.log2((1 + first.before) / 2 / first.before) if level is None else level
    success = SuccessCurve(tuple(_point(seen, count) for count in counts))
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


def _view(view: Unlisted) -> OneRecord:
    if len(view.views) != 1:
        raise FileError(
            f"{view.scenario.source}, policy.permitted: what others leave possible differs from record to "
            "record, so that there is no one curve; `sievert audit FILE` says what one record gives away"
        )
    return view.views[0]


def half_time(view: Seen, found: Breaches) -> BreachUntil | None:
    """Releases by which the breach is likelier than not; None where it is not followed or cannot happen."""
    if found.breach is None or not found.breach.reachable:
        return None
    assert isinstance(view, Unlisted)
    return observations_until_breach(
        told_apart(view.noise, view),
        0.5,
        level=found.breach.level_bits,
        predicate=list(found.breach.predicate),
        prior=np.full(2, 0.5),
        most=1 << 12,
        rng=SEED,
    )


@singledispatch
def told_apart(noise: NoiseChannel, view: Seen, hardest: bool = False) -> Channel:
    """The two values of a record that are easiest (or hardest) to tell apart, as a channel of two inputs."""
    raise TooLargeError(f"two values under {noise.words()} are not listed", size=math.inf)


@told_apart.register
def _of_cells(noise: CellNoise, view: Seen, hardest: bool = False) -> Channel:
    """A value that is in no cell is one step from any other, two cells are two steps apart."""
    table, values = noise.statistic, view.scenario.policy.values
    counted = np.flatnonzero(table.amount != 0)
    nowhere = np.flatnonzero(table.amount == 0)
    if len(nowhere) and (hardest or len(table.cells) == 1):
        return _two(noise, 1, 1, (values[int(counted[0])], values[int(nowhere[0])]))
    other = counted[table.cell_of[counted] != table.cell_of[counted[0]]]
    return _two(noise, 1, 2, (values[int(counted[0])], values[int(other[0])]))


@told_apart.register
def _of_sums(noise: SumNoise, view: Seen, hardest: bool = False) -> Channel:
    amounts, values = noise.statistic.amount, view.scenario.policy.values
    order = np.argsort(amounts, kind="stable")
    low, high = int(order[0]), int(order[-1])
    if hardest:
        gaps = np.diff(amounts[order])
        place = int(np.argmin(np.where(gaps > 0, gaps, np.iinfo(np.int64).max)))
        low, high = int(order[place]), int(order[place + 1])
    steps = int(amounts[high] - amounts[low])
    if not steps:
        raise FileError(f"{view.scenario.source}, query: all values add the same, so nothing is told")
    return _two(noise, steps, 1, (values[high], values[low]))


@told_apart.register
def _of_places(noise: PlanarNoise, view: Seen, hardest: bool = False) -> Channel:
    """Opposite corners; or neighbours in a corner, where clamping hides most, or in the middle."""
    rows, columns = noise.region.shape
    require_size(rows * columns, LARGEST_REGION, "the cells", "use larger cells")
    if rows * columns == 1:
        raise FileError(f"{view.scenario.source}, policy.secrets.region: has one cell, so nothing is told")
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


def _two(noise: SumNoise | CellNoise, steps: int, times: int, pair: tuple[Hashable, Hashable]) -> Channel:
    """The law of the likelihood ratio for the first of two values, and for the second."""
    found = ratios_after(noise.law, steps, times)
    rows = np.stack([found.log_shown, found.log_pmf])
    outputs = [f"odds e^{ratio:.4g}" for ratio in found.logs.tolist()]
    if found.hidden > 0:
        certain = math.log(found.hidden)
        rows = np.concatenate([rows, [[-math.inf, certain], [certain, -math.inf]]], axis=1)
        outputs += ["never for the first", "never for the second"]
    if len(set(outputs)) < len(outputs):
        outputs = [f"odds e^{ratio!r}" for ratio in found.logs.tolist()] + outputs[len(found.logs) :]
    return Channel.trusted(rows, "log", list(pair), outputs)


def _rates(view: Unlisted, easiest: Channel) -> Rates:
    found = rates(easiest)
    return replace(found, utility=rates(told_apart(view.noise, view, hardest=True)).utility, pairs=None)


def _point(view: OneRecord, count: int) -> SuccessProbability:
    found = view.guess(count)
    lower = found.guess if found.exact else view.before
    if not found.exact and count > 1:
        once = view.guess(1)
        lower = once.guess if once.exact else lower
    missing = view.limit - found.guess
    bits = -math.log2(missing) if missing > 0 else math.inf
    method = EXACT if found.exact else _named(view, count)
    return SuccessProbability(count, lower, found.guess, method, view.before, view.limit, bits, found.exact)


def _named(view: OneRecord, count: int) -> str:
    """Which bound it is that no guess exceeds."""
    method = view.gain(view.identity, count).method
    return f"an upper bound: {method.removeprefix('bound: ')}"


def simulated_guess(view: Seen, success: SuccessCurve) -> SimulatedGain | None:
    """The last guess of a curve by simulation, where only bounds on it are known."""
    assert isinstance(view, Unlisted)
    last = success[-1]
    if last.exact:
        return None
    with suppress(TooLargeError):
        return _view(view).simulated(last.observations, SEED)
    return None


def releases_until(view: Seen, targets: Sequence[float]) -> tuple[ObservationsUntil, ...]:
    """Releases until one record is guessed right with each probability."""
    assert isinstance(view, Unlisted)
    seen = _view(view)
    return tuple(_until(seen, target) for target in targets if seen.before < target)


def _until(view: OneRecord, target: float) -> ObservationsUntil:
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
