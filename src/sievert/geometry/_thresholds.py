"""Where the number of kernels jumps: roots of minors in alpha, and the counts there, exactly.

A set of n vertices is a basis iff its determinant is not 0, and by Cramer's rule the weights of its vertices
are ratios of minors of [V | 1]; a kernel is a basis without the vertices of weight 0, where no weight is
negative. Minors are polynomials in alpha. So between two of their roots nothing changes; at a root, rational
or not, a minor is 0 iff the root's own polynomial divides it, and beyond it its sign has turned as often as
that polynomial divides it. Signs near 0 are those of the lowest powers, so no value is ever computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import comb, prod
from typing import Any

import flint
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sievert.arrays import AnyArray, IntArray, WordArray
from sievert.errors import TooLargeError
from sievert.geometry._kernels import exact_polytope, kernels
from sievert.geometry._polytope import Polytope
from sievert.numerics import advance, require_size
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["KernelThresholds", "kernel_thresholds"]

# Sets of vertices whose determinants are computed as polynomials, and the coefficients of all of them. Beyond
# stand the 61 million minors of the cube of 8 points. So many have at most 12 rows, whose determinants have
# coefficients below 12! < 2^31.
LARGEST_MINORS, LARGEST_COEFFICIENTS = 1_500_000, 60_000_000
# Bits of a root, and how near two may stand so that their order is certain.
BITS, NEAREST = 128, Fraction(1, 2**100)


@dataclass(frozen=True)
class KernelThresholds(Result):
    """The number of kernels for every alpha = e^-ε from 0 to 1.

    Attributes
    ----------
    thresholds : where it changes, or differs for that alpha alone; roots of minors, as floats
    exact : the same as fractions where they are rational, else None
    between : counts in the open intervals before, between and after the thresholds
    at : counts at the thresholds
    polynomials : for each threshold the polynomial in alpha whose root it is, coefficients from the constant
    """

    thresholds: tuple[float, ...]
    exact: tuple[Fraction | None, ...]
    between: tuple[int, ...]
    at: tuple[int, ...]
    polynomials: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        if not self.thresholds:
            return f"{_kernels(self.between[0])} whatever ε is"
        parts = [f"{self.between[0]:,} below"]
        for value, known, here, after in zip(
            self.thresholds, self.exact, self.at, self.between[1:], strict=True
        ):
            name = f"{value:.6g}" if known is None else str(known)
            alone = f" ({here:,} there)" if here != after else ""
            parts.append(f"{name}{alone}, then {after:,}")
        return f"kernels as e^-ε grows: {', '.join(parts)}"


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count:,} kernels"


def kernel_thresholds(metric: Metric | Policy | Answers) -> KernelThresholds:
    """Every e^-ε at which the number of kernels changes, as the root of a minor; nothing is sampled.

    Parameters
    ----------
    metric : Metric, Policy or Answers, with whole distances

    Returns
    -------
    KernelThresholds
        The counts between thresholds, and at them, rational or not.

    Notes
    -----
    A set of posteriors is a kernel iff its weights, which are ratios of minors of the vertices' matrix with a
    column of ones, are positive. Minors are polynomials in alpha, so between two of their roots nothing
    changes, and one alpha decides for the interval. Components at infinite distance are taken by themselves:
    a kernel is one of each.

    Cost: the number of sets of n columns, and for each root from 0 to 1 a pass over those whose minors it
    divides. Seconds for the 1.1 million of six points on a line, whose count changes at 95 values.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(kernel_thresholds(metrics.from_graph([(0, 1), (0, 2), (0, 3)])))
    kernels as e^-ε grows: 6 below, 1/2 (6 there), then 9
    """
    shape = exact_polytope(metric, Fraction(1, 2))
    parts = [_component(shape, c) for c in range(int(shape._component_of.max()) + 1)]
    roots = sorted({root for part in parts for root in part.roots()}, key=lambda root: root.near)
    if any(right.near - left.near < NEAREST for left, right in pairwise(roots)):
        raise TooLargeError("two roots of minors are nearer than 2^-100; take smaller distances", size=BITS)
    found = [part.counts(roots) for part in parts]
    between = [prod(counts) for counts in zip(*(each[0] for each in found), strict=True)]
    at = [prod(counts) for counts in zip(*(each[1] for each in found), strict=True)]
    kept = [k for k, count in enumerate(at) if not between[k] == count == between[k + 1]]
    return KernelThresholds(
        tuple(float(roots[k].near) for k in kept),
        tuple(roots[k].known for k in kept),
        (between[0], *(between[k + 1] for k in kept)),
        tuple(at[k] for k in kept),
        tuple(roots[k].factor for k in kept),
    )


@dataclass(frozen=True)
class _Root:
    """A root from 0 to 1: to 1e-30, its irreducible polynomial from the constant on, itself if rational."""

    near: Fraction
    factor: tuple[int, ...]
    known: Fraction | None


class _Minors:
    """Minors of [V | 1] of one component as polynomials, each different one once, and bases among them."""

    def __init__(self, powers: IntArray) -> None:
        """From the exponents of alpha in the columns [vertex, input]."""
        vertices, size = powers.shape
        minors = _determinants(np.vstack([powers, np.zeros((1, size), dtype=np.int64)]))
        names, signs, self.polynomials = _different(minors)
        bases = _sets(vertices, size)
        bases = bases[signs[_places(bases)] != 0]
        # The minor of a basis, then those with the column of ones in the place of each vertex: it stands
        # last, and moving it there turns the sign.
        ones = np.full((len(bases), 1), vertices)
        rests = [np.hstack([np.delete(bases, i, axis=1), ones]) for i in range(size)]
        places = np.stack([_places(sets) for sets in (bases, *rests)])
        turns = np.append(1, (-1) ** (size - 1 - np.arange(size)))
        self.names = names[places].astype(np.int32)
        self.signs = (signs[places] * turns[:, None]).astype(np.int8)
        bits = np.uint64(1) << (bases.T % 64).astype(np.uint64)
        kinds = np.arange(vertices // 64 + 1)[:, None, None]
        # [word, position in the basis, basis]
        self.words = np.where(kinds == bases.T // 64, bits, np.uint64(0))
        self.factors = [_factors(row) for row in self.polynomials.tolist()]

    def roots(self) -> set[_Root]:
        """Roots from 0 to 1 of all minors."""
        factors = {factor for each in self.factors for factor in each}
        return {root for factor in factors for root in _roots_of(factor)}

    def counts(self, roots: list[_Root]) -> tuple[list[int], list[int]]:
        """The numbers of kernels between roots in rising order, and at them.

        At a root the polynomials with its factor are 0, and beyond it their signs have turned as often as
        the factor divides them. No other sign changes, so only bases with such a minor are looked at.
        """
        lowest = (self.polynomials != 0).argmax(axis=1)
        of = np.append(np.sign(self.polynomials[np.arange(len(lowest)), lowest]), 0).astype(np.int8)
        supports = self._supports(of, slice(None))
        between, at = [_count(supports)], []
        for done, root in enumerate(roots):
            advance("roots of minors", done, len(roots))
            powers = np.array([*(each.get(root.factor, 0) for each in self.factors), 0])
            rows = np.flatnonzero((powers > 0)[self.names].any(axis=0))
            here = np.where(powers > 0, 0, of).astype(np.int8)
            supports[:, rows] = self._supports(here, rows)
            at.append(_count(supports))
            of = np.where(powers % 2 > 0, -of, of)
            supports[:, rows] = self._supports(of, rows)
            between.append(_count(supports))
        return between, at

    def _supports(self, of: Any, rows: Any) -> WordArray:
        """Vertices of positive weight of some bases, as bits; none where a weight is negative."""
        known = self.signs[:, rows] * of[self.names[:, rows]]
        # Cramer's rule.
        weights = known[0] * known[1:]
        feasible = (known[0] != 0) & (weights >= 0).all(axis=0)
        kept = feasible & (weights > 0)
        return np.asarray(np.bitwise_or.reduce(self.words[:, :, rows] * kept, axis=1))


def _sets(count: int, size: int) -> IntArray:
    """Sets of some of so many things, each rising, ordered by their largest, then the next."""
    flat = np.fromiter(chain.from_iterable(combinations(range(count), size)), dtype=np.int64)
    return count - 1 - flat.reshape(-1, size)[::-1, ::-1]


def _places(sets: IntArray) -> IntArray:
    """Where sets stand in that order: Σ C(element, its position from 1 on)."""
    size, top = sets.shape[1], int(sets.max(initial=0)) + 1
    table = np.array([[comb(v, i + 1) for i in range(size)] for v in range(top)], dtype=np.int64)
    return np.asarray(table[sets, np.arange(size)].sum(axis=1))


def _determinants(powers: IntArray) -> AnyArray:
    """Coefficients of the determinants of all sets of rows of powers of alpha [set, power].

    Laplace's rule column by column: a determinant of k rows by those of k - 1 of them, each times a power of
    alpha, which shifts its coefficients.
    """
    count, size = powers.shape
    width = _width(powers)
    # Zeros before every row, so that a shifted row is a window that begins earlier.
    before = int(powers.max(initial=0))
    known = np.zeros((1, before + width), dtype=np.int32)
    known[0, before] = 1
    for column in range(size):
        sets = _sets(count, column + 1)
        found = np.zeros((len(sets), before + width), dtype=np.int32)
        windows = sliding_window_view(known.ravel(), width)
        for i in range(column + 1):
            advance("minors", column * size + i, size * size)
            rest = _places(np.delete(sets, i, axis=1))
            starts = rest * (before + width) + before - powers[sets[:, i], column]
            if (column - i) % 2:
                found[:, before:] -= windows[starts]
            else:
                found[:, before:] += windows[starts]
        known = found
    return known[:, before:]


def _width(powers: IntArray) -> int:
    """One more than the degree of any determinant of these rows."""
    return int(np.sort(powers.max(axis=1))[-powers.shape[1] :].sum()) + 1


def _different(polynomials: AnyArray) -> tuple[IntArray, AnyArray, AnyArray]:
    """Which of the different ones up to sign each is, its sign, and these; one past the last names 0."""
    lowest = (polynomials != 0).argmax(axis=1)
    signs = np.sign(polynomials[np.arange(len(polynomials)), lowest])
    turned = polynomials * signs[:, None]
    # Equal rows by a random hash, and then compared.
    weights = np.random.default_rng(0).integers(1, 2**62, polynomials.shape[1])
    _, first, names = np.unique(turned @ weights, return_index=True, return_inverse=True)
    if not (turned[first][names] == turned).all():
        different, names = np.unique(turned, axis=0, return_inverse=True)
    else:
        different = turned[first]
    zero = np.flatnonzero(~different.any(axis=1))
    order = np.append(np.delete(np.arange(len(different)), zero), zero)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[names], signs, different[order[: len(order) - len(zero)]]


def _factors(coefficients: list[int]) -> dict[tuple[int, ...], int]:
    """Irreducible factors but alpha itself, with how often each divides."""
    found = flint.fmpz_poly(coefficients).factor()[1]
    rows = ((tuple(int(c) for c in factor.coeffs()), times) for factor, times in found)
    return {factor: times for factor, times in rows if len(factor) > 1 and factor[0]}


def _count(supports: WordArray) -> int:
    """How many different ones that are not empty."""
    held = supports[:, supports.any(axis=0)]
    return len(np.unique(held[0])) if len(held) == 1 else np.unique(held, axis=1).shape[1]


@dataclass(frozen=True)
class _Uniform:
    """All points equally far apart: minimal balanced collections, as many whatever alpha is."""

    count: int

    def roots(self) -> set[_Root]:
        """None at which the count changes."""
        return set()

    def counts(self, roots: list[_Root]) -> tuple[list[int], list[int]]:
        """The same everywhere."""
        return [self.count] * (len(roots) + 1), [self.count] * len(roots)


def _component(shape: Polytope, component: int) -> _Minors | _Uniform:
    """One component of a polytope, by the levels of its vertices."""
    groups, part = shape._whole[0][component]
    size, count = len(groups), part.count()
    if part.shape == "uniform":
        inside = shape.metric.restricted([shape.inputs[int(shape._first[g])] for g in groups])
        return _Uniform(len(kernels(inside, Fraction(1, 2))))
    listed = count if count is not None else sum(len(block) for block in part.blocks())
    minors = comb(listed + 1, size)
    way = f"all sets of {size} among {listed} vertices are compared; take a metric with fewer vertices"
    require_size(minors, LARGEST_MINORS, "the minors of the vertices", way)
    powers = -np.concatenate(list(part.blocks())).astype(np.int64) * int(shape._whole[1])
    way = "give distances in a larger unit"
    require_size(minors * _width(powers), LARGEST_COEFFICIENTS, "the coefficients of all minors", way)
    return _Minors(powers)


def _roots_of(coefficients: tuple[int, ...]) -> list[_Root]:
    """The roots from 0 to 1 of an irreducible polynomial."""
    if len(coefficients) == 2:
        root = Fraction(-coefficients[0], coefficients[1])
        return [_Root(root, coefficients, root)] if 0 < root < 1 else []
    with flint.ctx.workprec(BITS):
        real = _real_roots(flint.fmpz_poly(list(coefficients)))
    found = []
    for root in real:
        mantissa, exponent = root.mid().man_exp()
        near = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        found += [_Root(near, coefficients, None)] if 0 < near < 1 else []
    return found


def _real_roots(polynomial: Any) -> list[Any]:
    """As balls of the precision at hand."""
    return [root.real for root, _ in polynomial.complex_roots() if root.imag == 0]
