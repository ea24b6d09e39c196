"""The order of two noises on the same table: which of two releases without a list is safer?

Geometric noise decides itself: the larger is the smaller plus independent noise (`NoiseOrderProof`), in every
cell, so one refines the other in every order. Of other laws no such sum is known (for the discrete Gaussian
there is none: σ = 1 is not σ = 0.8 plus noise). There the one-record channels speak: a release from which one
record is guessed better, once or several times, is no post-processing of the other; else it stays undecided.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

import numpy as np

from sievert.channels import (
    Channel,
    GeometricLaw,
    HistogramNoise,
    JointNoise,
    NoiseChannel,
    NoiseLaw,
    PlanarNoise,
    QuantileNoise,
    TableNoise,
)
from sievert.errors import ChannelError, TooLargeError
from sievert.observations import likelihood_of
from sievert.orders._verdicts import Objection, TextLabel, Verdict
from sievert.proofs import NoiseOrderProof

__all__ = ["by_noise"]

# Numbers of releases after which one record is guessed; refinement carries over to each.
RELEASES = (1, 2, 5, 10)
# A guess that is larger by a share of this is not so by rounding.
MARGIN = 1e-9
SUM = "the larger noise is the smaller one plus independent noise"
SAME = "the same noise"
UNKNOWN = "no post-processing between these noises is known"
NO_BETTER = f"{UNKNOWN}, and one record is guessed no better after {{}}"
BY_TABLES = "table by table: the noise of each is independent"
NOT_COMPARED = f"{UNKNOWN}, and what single outputs reveal is not compared without a list"
# Cells of a map up to which its clamped noise is a list that is compared entry by entry.
LARGEST_MAP = 500


@singledispatch
def by_noise(less_safe: Channel, safer: Channel, order: str) -> Verdict | None:
    """Whether the second release is at least as safe as the first, without a list; None: there is one."""
    if isinstance(safer, NoiseChannel) and not _is_small_map(safer):
        raise _different(less_safe, safer)
    return None


def _is_same(first: NoiseChannel, second: NoiseChannel) -> bool:
    return first.written == second.written and _law(first) == _law(second)


def _is_small_map(noise: NoiseChannel) -> bool:
    return isinstance(noise, PlanarNoise) and len(noise.region) <= LARGEST_MAP


@by_noise.register
def _of_noise(less_safe: NoiseChannel, safer: Channel, order: str) -> Verdict | None:
    listed = not isinstance(safer, NoiseChannel) or (
        _agree(less_safe, safer) and not _is_same(less_safe, safer)
    )
    if _is_small_map(less_safe) and listed:
        return None
    if not isinstance(safer, NoiseChannel) or not _agree(less_safe, safer):
        raise _different(less_safe, safer)
    if _is_same(less_safe, safer):
        name, value = safer.written
        moves = value > 0 and (name == "eps" or value < 1)
        provable = _is_geometric(safer) and moves
        proof = NoiseOrderProof.of(less_safe.written, safer.written) if provable else None
        return Verdict(True, order, 0.0, proof, None, SAME, True)
    if _is_geometric(less_safe) and _is_geometric(safer):
        return _by_sum(less_safe, safer, order)
    if order == "privacy":
        return _by_epsilon(less_safe, safer)
    return _by_guesses(less_safe, safer, order)


@by_noise.register
def _of_several(less_safe: JointNoise, safer: Channel, order: str) -> Verdict | None:
    """Table by table: where each is at least as safe, so are all together, for their noise is independent."""
    if not isinstance(safer, JointNoise) or not _agree(less_safe, safer):
        raise _different(less_safe, safer)
    found = [by_noise(a, b, order) for a, b in zip(less_safe.parts, safer.parts, strict=True)]
    if all(verdict is not None and verdict.holds for verdict in found):
        return Verdict(True, order, 0.0, None, None, BY_TABLES, True)
    return _by_guesses(less_safe, safer, order)


@by_noise.register
def _of_quantile(less_safe: QuantileNoise, safer: Channel, order: str) -> Verdict | None:
    """The same choice, or none that is known to be a post-processing of the other."""
    assert isinstance(safer, QuantileNoise)
    if less_safe.eps == safer.eps:
        return Verdict(True, order, 0.0, None, None, SAME, True)
    return Verdict(None, order, 1.0, None, None, NOT_COMPARED)


def _different(first: Channel, second: Channel) -> ChannelError:
    names = [item.words() if isinstance(item, NoiseChannel) else repr(item) for item in (first, second)]
    return ChannelError(
        f"A is {names[0]}, and B is {names[1]}, on different answers; compare mechanisms for the same "
        "values, records and query"
    )


@singledispatch
def _agree(first: NoiseChannel, second: NoiseChannel) -> bool:
    return False


@_agree.register
def _tables_agree(first: TableNoise, second: NoiseChannel) -> bool:
    if not isinstance(second, TableNoise):
        return False
    a, b = first.statistic, second.statistic
    return (
        a.step == b.step
        and np.array_equal(a.amount, b.amount)
        and np.array_equal(a.cell_of, b.cell_of)
        and len(a.cells) == len(b.cells)
    )


@_agree.register
def _all_agree(first: JointNoise, second: NoiseChannel) -> bool:
    if not isinstance(second, JointNoise) or len(first.parts) != len(second.parts):
        return False
    return all(_agree(a, b) for a, b in zip(first.parts, second.parts, strict=True))


@_agree.register
def _quantiles_agree(first: QuantileNoise, second: NoiseChannel) -> bool:
    if not isinstance(second, QuantileNoise):
        return False
    a, b = first.order, second.order
    return (
        a.q == b.q and a.grid == b.grid and np.array_equal(first.statistic.cell_of, second.statistic.cell_of)
    )


@_agree.register
def _maps_agree(first: PlanarNoise, second: NoiseChannel) -> bool:
    return isinstance(second, PlanarNoise) and first.region == second.region


def _law(noise: NoiseChannel) -> NoiseLaw | None:
    return noise.law if isinstance(noise, TableNoise) else None


def _is_geometric(noise: NoiseChannel) -> bool:
    return isinstance(_law(noise), GeometricLaw)


def _by_sum(less_safe: NoiseChannel, safer: NoiseChannel, order: str) -> Verdict:
    proof = NoiseOrderProof.of(less_safe.written, safer.written)
    if proof.holds:
        return Verdict(True, order, 0.0, proof, None, SUM, True)
    return Verdict(False, order, _gap(less_safe, safer), proof, _told_apart(less_safe, safer), SUM, True)


def _told_apart(less_safe: NoiseChannel, safer: NoiseChannel) -> Objection:
    """Two values that the smaller noise tells apart by higher odds than any output of the larger."""
    assert isinstance(safer, TableNoise) and isinstance(less_safe, TableNoise)
    pair, steps, output = _easiest(safer)
    return Objection(less_safe.law.nats_of(steps), safer.law.nats_of(steps), pair=pair, output=output)


@singledispatch
def _easiest(noise: TableNoise) -> tuple[tuple[object, object], Fraction, str]:
    """The values of one record that are easiest to tell apart, how many steps apart, and by what."""
    table = noise.statistic
    low, high = (Fraction(int(end)) * table.step for end in (table.amount.min(), table.amount.max()))
    pair = tuple(int(end) if end.denominator == 1 else float(end) for end in (high, low))
    return (
        (pair[0], pair[1]),
        (high - low) / table.step,
        TextLabel("outputs as high as the larger or higher"),
    )


@_easiest.register
def _two_cells(noise: HistogramNoise) -> tuple[tuple[object, object], Fraction, str]:
    cells = [cell if len(cell) > 1 else cell[0] for cell in noise.statistic.cells[:2]]
    return (
        (cells[0], cells[1]),
        Fraction(2),
        TextLabel("outputs with more in the first cell and less in the second"),
    )


def _gap(less_safe: NoiseChannel, safer: NoiseChannel) -> float:
    """How much further apart the second puts two answers one step apart, in total variation."""
    assert isinstance(safer, TableNoise) and isinstance(less_safe, TableNoise)
    one = Fraction(1)
    a, b = (math.tanh(noise.law.nats_of(one) / 2) for noise in (less_safe, safer))
    return max(0.0, b - a)


def _by_epsilon(less_safe: NoiseChannel, safer: NoiseChannel) -> Verdict:
    """The privacy order of two laws, by their ε for one step; a metric stretches them alike."""
    first, second = (_nats(noise) for noise in (less_safe, safer))
    if math.isinf(first):
        return Verdict(True, "privacy", 0.0, None, None, "A keeps no ε at all")
    if second <= first * (1 + MARGIN):
        return Verdict(None, "privacy", 1.0, None, None, "ε at one step decides nothing at others")
    objection = Objection(
        first,
        second,
        pair=(TextLabel("a record one step higher"), TextLabel("one that is not")),
        output=TextLabel("outputs far out"),
    )
    return Verdict(False, "privacy", 0.0, None, objection, "ε of one step")


def _nats(noise: NoiseChannel) -> float:
    return noise.law.nats_of(Fraction(1)) if isinstance(noise, TableNoise) else float(noise.written[1])


def _by_guesses(less_safe: NoiseChannel, safer: NoiseChannel, order: str) -> Verdict:
    """Who guesses one record better from the second release objects to it."""
    if order != "average":
        return Verdict(None, order, 1.0, None, None, NOT_COMPARED)
    values = _values(safer)
    belief = np.full(values, 1 / values)
    views = likelihood_of(less_safe, belief), likelihood_of(safer, belief)
    compared = []
    for count in RELEASES:
        try:
            first, second = (view.guess(count) for view in views)
        except TooLargeError:
            break
        if not first.exact or not second.exact:
            continue
        if second.guess > first.guess * (1 + MARGIN):
            objection = Objection(first.guess, second.guess, releases=count)
            return Verdict(False, order, objection.gap, None, objection, "guesses about one record")
        compared.append(str(count))
    if not compared:
        return Verdict(None, order, 1.0, None, None, UNKNOWN)
    times = f"{', '.join(compared)} release{'s' if compared != ['1'] else ''}"
    return Verdict(None, order, 1.0, None, None, NO_BETTER.format(times))


def _values(noise: NoiseChannel) -> int:
    if isinstance(noise, JointNoise):
        return len(noise.policy.values)
    return len(noise.statistic.amount) if isinstance(noise, TableNoise) else len(noise.region)
