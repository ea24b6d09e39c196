"""Mechanisms whose loss is below a unit of 2^-53: probabilities in parts of 2^-bits, bounds in fractions.

For large ε the best mechanism hardly ever errs, and a grid of 2^-53 errs more often than it must. A fraction
a little above e^(-ε·length), by a relative 2^-60, makes everything rational: the optimum for it is private
for ε, loses a relative 2^-60 more, and keeps every ratio when it is rounded to a grid so fine that a unit is
less than what it leaves. What is proved is proved for e^-ε itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import ObjectArray
from sievert.design._exact import Factor, Multiplied, in_fractions
from sievert.design._problem import Problem
from sievert.numerics import exact_solve, rounded_to
from sievert.proofs import MOST_BITS_OF_ONE, Decay, FineMechanism, Multipliers, ProofSpace, exact_costs

__all__ = ["Fine", "solve_finely"]
# Entries of a channel, and points of a kernel that is inverted in fractions: a second.
LARGEST_FINE, LARGEST_KERNEL = 400, 20
LEAST_FACTOR = Fraction(1, 2**MOST_BITS_OF_ONE)
# Relative digits that are left to rounding; fewer where distances are floats that miss each other's sums.
SPARE_DIGITS, SPARE_OF_FLOATS = 60, 36


@dataclass(frozen=True, eq=False)
class Fine:
    """A private mechanism in parts of 2^bits, and what it and every private mechanism lose."""

    found: FineMechanism
    multipliers: Multipliers
    channel: ObjectArray
    lower: float
    upper: float
    method: str


def solve_finely(
    problem: Problem, prior: NDArray[Any], loss: NDArray[Any], gap: float, method: str
) -> Fine | None:
    """The optimum within a share `gap` of its loss; None where the problem is large or no form fits.

    Parameters
    ----------
    problem : in any unit; its constraints and shape count
    prior, loss : as given, loss [action, point]
    """
    size, decay = problem.cost.size, problem.decay
    pieces = problem.pieces()
    if size > LARGEST_FINE or len(pieces) > 1 or not 1 < pieces[0].size == problem.space.size:
        return None
    cost = exact_costs(prior, loss)
    factor = _factors(decay, problem.space)
    if factor is None:
        return None
    for name, (channel, listed) in _forms(problem, factor, cost, method):
        value = Fraction((cost * channel).sum())
        fine = _rounded(problem.space, cost, channel, factor, value)
        if fine is None:
            return None
        multipliers = _whole(listed, fine.bits)
        lower = fine.loss_below(problem.space, decay, cost, multipliers)
        upper = fine.loss(cost)
        if upper - lower <= Fraction(gap) * abs(upper) and fine.is_private(problem.space, decay):
            # A checker may round what multipliers prove by a little more.
            low = rounded_to(lower - abs(lower) / 2**SPARE_DIGITS, down=True)
            words = name.removesuffix(", in fractions")
            return Fine(
                fine,
                multipliers,
                fine.channel,
                low,
                rounded_to(upper, down=False),
                f"{words}; probabilities in parts of 2^-{fine.bits}",
            )
    return None


def _factors(decay: Decay, space: ProofSpace) -> Factor | None:
    """Fractions above e^(-ε·length) by a little, of few digits; powers of one where lengths are whole.

    None is below what the finest grid holds, so that arithmetic with them stays short.
    """
    whole = space.whole
    spare = SPARE_DIGITS if whole else SPARE_OF_FLOATS
    lengths = sorted(set(space.lengths.tolist()))
    unit = max(_above(decay, 1.0, spare), LEAST_FACTOR) if whole else Fraction(0)
    known = {v: unit ** int(v) if whole else _above(decay, v, spare) for v in lengths}
    known = {v: max(value, LEAST_FACTOR) for v, value in known.items()}
    return known.__getitem__ if all(0 < value < 1 for value in known.values()) else None


def _above(decay: Decay, length: float, spare: int) -> Fraction:
    """Above e^(-ε·length) by a relative 2^-spare to 2^(2-spare), in as many digits."""
    wanted = decay.ends(length)[1] * (1 + Fraction(1, 2**spare))
    shift = spare + 1 + wanted.denominator.bit_length() - wanted.numerator.bit_length()
    return Fraction(-(-wanted.numerator * 2**shift // wanted.denominator), 2**shift)


def _forms(
    problem: Problem, factor: Factor, cost: ObjectArray, method: str
) -> Iterator[tuple[str, Multiplied]]:
    """Closed forms, the exponential kernel, and the basis of a linear program."""
    program = method == "auto"
    kernel = _kernel(problem, factor, cost) if len(cost) <= LARGEST_KERNEL else None
    forms = in_fractions(problem, problem.pieces(), factor, cost, program)
    if kernel is not None and problem.pieces()[0].shape in ("tree", "general"):
        yield "exponential kernel, with the best remap", kernel
        kernel = None
    yield from forms
    if kernel is not None:
        yield "exponential kernel, with the best remap", kernel


def _kernel(problem: Problem, factor: Factor, cost: ObjectArray) -> Multiplied | None:
    """e^-d with weights that make rows sum to 1, each output answered best; None where a weight is below 0.

    Prices λ with λ·e^-d = what the best answers lose leave each action what it can spare at every point;
    along shortest paths that is carried to the point where it is short.
    """
    size = len(cost)
    kernel, through = _paths(problem.space, factor)
    try:
        weights = exact_solve(kernel, np.full((size, 1), Fraction(1), dtype=object))[:, 0]
    except ZeroDivisionError:
        return None
    if (weights < 0).any():
        return None
    scores = kernel.dot(cost)
    remap = [row.index(min(row)) for row in scores.tolist()]
    taken = np.full(cost.shape, Fraction(0), dtype=object)
    taken[np.arange(size), remap] = weights
    least = scores[np.arange(size), remap]
    price = exact_solve(kernel, least[:, None])[:, 0]
    rest = cost - price[:, None]
    edge_of = {tuple(pair): e for e, pair in enumerate(problem.space.pairs.tolist())}
    multipliers = []
    for w in range(cost.shape[1]):
        carried = rest[:, w].tolist()
        target = carried.index(min(carried))
        for x in sorted(range(size), key=lambda x: kernel[x, target]):
            if x == target or carried[x] <= 0:
                continue
            z = through[x][target]
            turned = (x, z) not in edge_of
            edge = edge_of[(z, x) if turned else (x, z)]
            multipliers.append((2 * edge + turned, w, Fraction(carried[x])))
            carried[z] += factor(float(problem.space.lengths[edge])) * carried[x]
    return kernel.dot(taken), tuple(multipliers)


def _paths(space: ProofSpace, factor: Factor) -> tuple[ObjectArray, list[list[int]]]:
    """Largest products of factors along paths, and the first step of each path."""
    size = space.size
    kernel = np.full((size, size), Fraction(0), dtype=object)
    through = [list(range(size)) for _ in range(size)]
    for (a, b), length in zip(space.pairs.tolist(), space.lengths.tolist(), strict=True):
        kernel[a, b] = kernel[b, a] = max(kernel[a, b], factor(length))
    for x in range(size):
        kernel[x, x] = Fraction(1)
    for middle, x, z in product(range(size), repeat=3):
        if kernel[x, middle] * kernel[middle, z] > kernel[x, z]:
            kernel[x, z] = kernel[x, middle] * kernel[middle, z]
            through[x][z] = through[x][middle]
    return kernel, through


def _rounded(
    space: ProofSpace, cost: ObjectArray, channel: ObjectArray, factor: Factor, value: Fraction
) -> FineMechanism | None:
    """The channel on a grid so fine that no ratio breaks; None where that takes too many digits.

    Entries below a small share of the loss are raised to it, which costs that share: then no grid must be
    finer than that. Rows that sum to more than 1 are brought back by a private addition to one column.
    """
    largest = max(abs(v) for v in cost.ravel().tolist()) * cost.size
    if not value or not largest:
        return None
    digits = SPARE_DIGITS + max(0, _log2(largest / abs(value)))
    bits = digits + SPARE_DIGITS + 2 * cost.shape[1].bit_length() + 8
    if bits > MOST_BITS_OF_ONE:
        return None
    least = [Fraction(int(any(column)), 2**digits) for column in channel.T.tolist()]
    rows = [list(map(max, row, least)) for row in channel.tolist()]
    raised = np.array(rows, dtype=object)
    excess = raised.sum(axis=1) - 1
    height = max(excess.max(), Fraction(0))
    for (a, b), length in zip(space.pairs.tolist(), space.lengths.tolist(), strict=True):
        f = factor(length)
        for x, z in ((a, b), (b, a)):
            height = max(height, (excess[x] - f * excess[z]) / (1 - f))
    answer = cost.sum(axis=0).argmin()
    raised[:, answer] += height - excess
    scale = 2**bits / (1 + height)
    counts = np.array([[int(v * scale) for v in row] for row in raised.tolist()], dtype=object)
    for row in counts:
        row[row.argmax()] += 2**bits - row.sum()
    return FineMechanism(counts, bits)


def _log2(value: Fraction) -> int:
    """The least whole number that log2 is not above by more than 1."""
    return value.numerator.bit_length() - value.denominator.bit_length() + 1


def _whole(listed: tuple[tuple[int, int, Fraction], ...], bits: int) -> Multipliers:
    """Multipliers in parts of 2^bits, rounded down; what is left of none is dropped."""
    parts = [(arc, w, int(value * 2**bits)) for arc, w, value in listed]
    kept = [part for part in parts if part[2] > 0]
    values = np.empty(len(kept), dtype=object)
    values[:] = [value for _, _, value in kept]
    return Multipliers(
        np.array([arc for arc, _, _ in kept], dtype=np.intp),
        np.array([w for _, w, _ in kept], dtype=np.intp),
        values,
    )
