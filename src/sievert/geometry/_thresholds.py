"""Where the number of kernels jumps: roots of minors in alpha, and the counts there, exactly.

A set of n vertices is a basis iff its determinant is not 0, and by Cramer's rule the weights of its vertices
are ratios of minors of [V | 1]; a kernel is a basis without the vertices of weight 0, where no weight is
negative. Minors are polynomials in alpha. So between two of their roots nothing changes, and at a root,
rational or not, the sign of a minor is 0 iff the root's own polynomial divides it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, prod
from typing import Any

import flint
import numpy as np

from sievert.arrays import IntArray
from sievert.geometry._kernels import exact_polytope, kernels
from sievert.geometry._polytope import Polytope
from sievert.numerics import advance, require_size
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["KernelThresholds", "kernel_thresholds"]

# Sets of vertices whose determinants are computed as polynomials.
LARGEST_MINORS = 250_000
# Bits of a root, and of what is computed at it: more are taken until a sign is known.
BITS = 128


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

    Cost: the number of sets of n columns, and a pass over the sets for each root from 0 to 1.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(kernel_thresholds(metrics.from_graph([(0, 1), (0, 2), (0, 3)])))
    kernels as e^-ε grows: 6 below, 1/2 (6 there), then 9
    """
    shape = exact_polytope(metric, Fraction(1, 2))
    parts = [_component(shape, c) for c in range(int(shape._component_of.max()) + 1)]
    roots = sorted({root for part in parts for root in part.roots()}, key=lambda root: root.near)
    cuts = [Fraction(0), *(root.near for root in roots), Fraction(1)]
    between = [prod(part.count_at(_simplest(a, b)) for part in parts) for a, b in pairwise(cuts)]
    kept, counts, at = [], [between[0]], []
    for root, before, after in zip(roots, between[:-1], between[1:], strict=True):
        here = prod(part.count_at_root(root) for part in parts)
        if before != after or here != after:
            kept.append(root)
            counts.append(after)
            at.append(here)
    return KernelThresholds(
        tuple(float(root.near) for root in kept),
        tuple(root.known for root in kept),
        tuple(counts),
        tuple(at),
        tuple(root.factor for root in kept),
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
        self.size, self.vertices = powers.shape[1], len(powers)
        rows = np.vstack([powers, np.zeros((1, self.size), dtype=int)]).tolist()
        degree = sum(sorted(max(row) for row in rows)[-self.size :])
        # A polynomial of that degree is known by its values at degree + 1 places.
        tables = [
            [[flint.fmpz(place) ** int(k) for k in row] for row in rows] for place in range(1, degree + 2)
        ]
        names: dict[tuple[int, ...], int] = {}
        place: dict[tuple[int, ...], int] = {}
        found: list[tuple[int, int]] = []
        total = comb(len(rows), self.size)
        for done, chosen in enumerate(combinations(range(len(rows)), self.size)):
            if done % 1000 == 0:
                advance("minors", done, total)
            values = [int(flint.fmpz_mat([table[s] for s in chosen]).det()) for table in tables]
            sign = next((1 if v > 0 else -1 for v in values if v), 0)
            name = names.setdefault(tuple(sign * v for v in values), len(names)) if sign else 0
            place[chosen] = len(found)
            found.append((name, sign))
        self.names, self.signs = np.array(found, dtype=np.int64).reshape(-1, 2).T
        self.polynomials = [_interpolated(values) for values in names]
        bases = list(combinations(range(self.vertices), self.size))
        ones = (self.vertices,)
        self.bases = np.array(bases, dtype=np.int64).reshape(-1, self.size)
        self.own = np.array([place[basis] for basis in bases], dtype=np.intp)
        self.rests = np.array(
            [[place[basis[:i] + basis[i + 1 :] + ones] for i in range(self.size)] for basis in bases],
            dtype=np.intp,
        ).reshape(-1, self.size)

    def roots(self) -> set[_Root]:
        """Roots from 0 to 1 of all minors."""
        factors = {
            tuple(int(c) for c in factor.coeffs())
            for minor in self.polynomials
            for factor, _ in minor.factor()[1]
            if factor.degree() > 0
        }
        return {root for factor in factors for root in _roots_of(factor)}

    def count_at(self, alpha: Fraction) -> int:
        """The number of kernels at a rational alpha."""
        place = flint.fmpq(alpha.numerator, alpha.denominator)
        return self._count([_sign(polynomial(place)) for polynomial in self.polynomials])

    def count_at_root(self, root: _Root) -> int:
        """The number of kernels at a root: a minor is 0 there iff the root's polynomial divides it."""
        if root.known is not None:
            return self.count_at(root.known)
        factor = flint.fmpz_poly(list(root.factor))
        return self._count([_sign_at(polynomial, factor, root.near) for polynomial in self.polynomials])

    def _count(self, of_polynomials: list[int]) -> int:
        """Different supports of bases whose weights are not negative: the signs of Cramer's ratios."""
        known = self.signs * np.array([*of_polynomials, 0])[self.names]
        own = known[self.own]
        # The column of ones takes a vertex's place: it stands last, and moving it there turns the sign.
        turns = (-1) ** (self.size - 1 - np.arange(self.size))
        weights = own[:, None] * turns * known[self.rests]
        feasible = (own != 0) & (weights >= 0).all(axis=1)
        supports = np.where(weights[feasible] > 0, self.bases[feasible], -1)
        return len(np.unique(np.sort(supports, axis=1), axis=0))


@dataclass(frozen=True)
class _Uniform:
    """All points equally far apart: minimal balanced collections, as many whatever alpha is."""

    count: int

    def roots(self) -> set[_Root]:
        """None at which the count changes."""
        return set()

    def count_at(self, alpha: Fraction) -> int:
        """The same everywhere."""
        return self.count

    def count_at_root(self, root: _Root) -> int:
        """The same everywhere."""
        return self.count


def _component(shape: Polytope, component: int) -> _Minors | _Uniform:
    """One component of a polytope, by the levels of its vertices."""
    groups, part = shape._whole[0][component]
    size, count = len(groups), part.count()
    if part.shape == "uniform":
        inside = shape.metric.restricted([shape.inputs[int(shape._first[g])] for g in groups])
        return _Uniform(len(kernels(inside, Fraction(1, 2))))
    listed = count if count is not None else sum(len(block) for block in part.blocks())
    way = "take a metric with fewer vertices"
    require_size(comb(listed + 1, size), LARGEST_MINORS, "the minors of the vertices", way)
    levels = np.concatenate(list(part.blocks())).astype(np.int64)
    return _Minors(-levels * int(shape._whole[1]))


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


def _sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


def _sign_at(polynomial: Any, factor: Any, near: Fraction) -> int:
    """The sign of a polynomial at the root of an irreducible one that is nearest to a fraction."""
    rest: Any = flint.fmpq_poly(polynomial) % flint.fmpq_poly(factor)
    if rest == 0:
        return 0
    bits = BITS
    while True:
        with flint.ctx.workprec(bits):
            here = flint.arb(flint.fmpq(near.numerator, near.denominator))
            root = min(_real_roots(factor), key=lambda value: float(abs(value - here).mid()))
            value = flint.arb_poly(polynomial)(root)
            if value > 0 or value < 0:
                return 1 if value > 0 else -1
        bits *= 2


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator strictly between two (Stern and Brocot)."""
    left, right = (0, 1), (1, 0)
    while True:
        middle = (left[0] + right[0], left[1] + right[1])
        value = Fraction(*middle)
        if value <= low:
            left = middle
        elif value >= high:
            right = middle
        else:
            return value


def _interpolated(values: tuple[int, ...]) -> Any:
    """The polynomial with given values at 1, 2, 3, …, with whole coefficients (Newton's differences)."""
    result, basis = flint.fmpq_poly([0]), flint.fmpq_poly([1])
    differences = [flint.fmpq(v) for v in values]
    for k in range(len(values)):
        result += basis * differences[0]
        basis *= flint.fmpq_poly([-(k + 1), 1]) / (k + 1)
        differences = [b - a for a, b in pairwise(differences)]
    return result.numer()
