"""Kernel mechanisms: the extreme points of all private mechanisms (Fernandes, Def 6.3.2, Prop 1-3).

With V the vertices of the private posteriors, kernels are the extreme rays of {b ≥ 0 : V·b constant}: vertex
mechanisms whose posteriors are linearly independent. Every private mechanism is a post-processing of a convex
sum of kernels (Lem 6.11), and for every prior and loss one of them is optimal (Lem B2). How many there are
depends on ε, and at some ε the count drops for that ε alone, so everything is computed in fractions.

Under the discrete metric kernels are the minimal balanced collections of subsets, whatever ε is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import comb, lcm
from typing import Any

import flint
import numpy as np

from sievert.arrays import ObjectArray
from sievert.channels import Channel
from sievert.errors import MechanismError
from sievert.geometry._polytope import Polytope, polytope
from sievert.geometry._posteriors import Vertices
from sievert.numerics import advance, brief, ray_blocks, require_size, support_rows, whole
from sievert.policies import Answers, Policy
from sievert.programs import LinearProgram, solve
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Kernel", "KernelThresholds", "Kernels", "exact_polytope", "kernel_thresholds", "kernels"]

# Vertices among which kernels are looked for.
LARGEST_VERTICES = 4096
# Beyond this many vertices a limit is met by programs with random costs instead of a complete search.
LARGEST_COMPLETE = 32
# Subsets of vertices whose determinants are computed as polynomials.
LARGEST_MINORS = 250_000


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, eq=False)
class Kernel(Result):
    """One kernel mechanism.

    Attributes
    ----------
    support : positions of its posteriors among the vertices
    outers : probability of each posterior under the uniform prior
    inners : the posteriors [output, input]
    """

    support: tuple[int, ...]
    outers: ObjectArray
    inners: ObjectArray
    inputs: Any = field(repr=False, default=())

    @cached_property
    def channel(self) -> Channel:
        """The mechanism: K[x, y] = n·outer_y·inner_y[x]."""
        table = (self.outers[:, None] * self.inners).T * len(self.inners[0])
        return Channel.trusted(table, "exact", self.inputs or None)

    def __len__(self) -> int:
        return len(self.support)

    def __str__(self) -> str:
        outers = ", ".join(map(str, self.outers))
        return f"a kernel with {_several(len(self), 'output')}, of probabilities {outers}"


@dataclass(frozen=True, eq=False)
class Kernels(Result):
    """Kernels of a metric; a sequence of them.

    Attributes
    ----------
    vertices : the extreme posteriors they are made of
    supports : which of them each kernel has [kernel, vertex]
    complete : whether these are all; False where a limit was reached
    """

    vertices: Vertices
    supports: Any
    complete: bool

    @property
    def sizes(self) -> dict[int, int]:
        """How many kernels have so many outputs."""
        return dict(sorted(Counter(self.supports.sum(axis=1).tolist()).items()))

    def __len__(self) -> int:
        return len(self.supports)

    def __getitem__(self, item: int) -> Kernel:
        return _kernel(self._columns, np.flatnonzero(self.supports[item]), self.vertices.inputs)

    def __iter__(self) -> Iterator[Kernel]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def _columns(self) -> ObjectArray:
        return self.vertices.columns()

    def __str__(self) -> str:
        parts = ", ".join(f"{count:,} with {_several(size, 'output')}" for size, count in self.sizes.items())
        more = "" if self.complete else ", not all"
        return f"{_several(len(self), 'kernel')}{more}: {parts}"

    def to_dict(self) -> dict[str, Any]:
        """Counts, and the support of each kernel, as plain data."""
        return {
            "count": len(self),
            "complete": self.complete,
            "sizes": {str(size): count for size, count in self.sizes.items()},
            "supports": [np.flatnonzero(row).tolist() for row in self.supports],
            "vertices": self.vertices.to_dict(),
        }


def _kernel(columns: ObjectArray, support: Any, inputs: Any) -> Kernel:
    """The kernel with a support: weights of Σ b_s·v_s = 1, which are unique."""
    chosen = columns[support].T
    ones = np.full((len(chosen), 1), Fraction(1), dtype=object)
    weights = _unique_solution(chosen, ones[:, 0])
    sums = columns[support].sum(axis=1)
    inners = columns[support] / sums[:, None]
    outers = weights * sums / len(chosen)
    return Kernel(tuple(int(s) for s in support), outers, inners, inputs)


def _unique_solution(matrix: ObjectArray, right: ObjectArray) -> ObjectArray:
    """The solution of a system with independent columns, over the rationals."""
    rows, columns = matrix.shape
    joined = flint.fmpq_mat(
        rows,
        columns + 1,
        [flint.fmpq(v.numerator, v.denominator) for v in np.column_stack([matrix, right]).ravel()],
    )
    reduced, rank = joined.rref()
    if rank != columns or any(reduced[i, i] != 1 for i in range(columns)):
        raise ValueError("the posteriors do not determine their weights")
    found = np.empty(columns, dtype=object)
    found[:] = [Fraction(int(reduced[i, columns].p), int(reduced[i, columns].q)) for i in range(columns)]
    return found


def exact_polytope(metric: Metric | Policy | Answers, alpha: object) -> Polytope:
    """The polytope at a rational alpha over whole distances: what exact questions need."""
    shape = polytope(metric, alpha=alpha)
    if shape.level.alpha is None:
        raise MechanismError(
            f"alpha is {brief(alpha)}; which sets of posteriors are kernels depends on exact ratios, give a "
            'fraction such as "1/2"'
        )
    return shape


def kernels(metric: Metric | Policy | Answers, alpha: object, limit: int | None = None) -> Kernels:
    """All kernel mechanisms of a metric, in fractions.

    Parameters
    ----------
    metric : Metric, Policy or Answers, with whole distances
    alpha : e^-ε for one unit of distance, as a fraction
    limit : how many at most; what is found is then marked as not complete

    Returns
    -------
    Kernels
        A sequence; `sizes` counts them by their number of outputs, and `channel` of an item is the mechanism.

    Notes
    -----
    No kernel's support contains another's (Prop 1), and no kernel is a post-processing of another (Prop 3).
    Under the discrete metric they are the minimal balanced collections, independent of alpha.

    Cost: exponential in the inputs, as is the output; 6 inputs on a line have 15,346 kernels.

    References
    ----------
    Fernandes, Def 6.3.2, Prop 1-3.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(kernels(metrics.line(4), "1/2"))
    11 kernels: 1 with 2 outputs, 2 with 3 outputs, 8 with 4 outputs
    >>> for row in kernels(metrics.line(3), "1/2")[0].channel.exact:
    ...     print(*row)
    1/3 2/3
    2/3 1/3
    1/3 2/3
    """
    most = None if limit is None else whole("limit", limit, MechanismError)
    shape = exact_polytope(metric, alpha)
    found = shape.vertices(limit=LARGEST_VERTICES + 1)
    require_size(len(found), LARGEST_VERTICES, "the vertices", "take fewer inputs")
    if not found.exact:
        raise MechanismError(
            f"metric: a unit of distance is {found.unit}; kernels need powers of alpha, give whole distances"
        )
    if most is not None and len(found) > LARGEST_COMPLETE:
        return Kernels(found, _some(found, most), False)
    blocks, count, complete = [], 0, True
    for words in ray_blocks(_equations(shape, found)):
        rows = support_rows(words, len(found))
        if most is not None and count + len(rows) > most:
            rows, complete = rows[: most - count], False
        blocks.append(rows)
        count += len(rows)
        advance("kernels", count, count)
        if not complete:
            break
    supports = np.concatenate(blocks)
    order = np.lexsort((*supports.T[::-1], -supports.sum(axis=1)))[::-1] if complete else np.arange(count)
    return Kernels(found, supports[order], complete)


def _equations(shape: Polytope, found: Vertices) -> ObjectArray:
    """Σ b_s·v_s is the same at all inputs, in whole numbers."""
    if shape.shapes == ("uniform",):
        # Balanced collections: every input in sets of the same total weight.
        high: ObjectArray = (found.levels == 0).astype(object).T
        return np.asarray(high[:-1] - high[1:])
    columns = found.columns()
    scale = lcm(*{value.denominator for value in columns.ravel().tolist()})
    table = np.empty(columns.shape, dtype=object)
    table.ravel()[:] = [int(value * scale) for value in columns.ravel().tolist()]
    return np.asarray(table.T[:-1] - table.T[1:])


def _some(found: Vertices, most: int) -> Any:
    """Supports of some kernels: optima of programs with random costs, rebuilt in fractions."""
    from scipy.sparse import csc_array

    columns = found.columns()
    dense = columns.T.astype(np.float64)
    rng = np.random.default_rng(0)
    seen: dict[bytes, Any] = {}
    n, m = dense.shape
    for _ in range(4 * most):
        cost = rng.exponential(size=m) * dense.sum(axis=0)
        program = LinearProgram(
            cost, csc_array(dense), np.ones(n), np.ones(n), np.zeros(m), np.full(m, np.inf)
        )
        basic = np.flatnonzero(solve(program, "simplex", tolerance=1e-10).basic_columns)
        support = _exact_support(columns, basic)
        if support is not None:
            seen.setdefault(support.tobytes(), support)
        if len(seen) == most:
            break
    return np.array(list(seen.values()), dtype=bool).reshape(len(seen), m)


def _exact_support(columns: ObjectArray, basic: Any) -> Any:
    """The support of the exact solution on a basis; None where it is no kernel."""
    try:
        weights = _unique_solution(columns[basic].T, np.full(columns.shape[1], Fraction(1), dtype=object))
    except ValueError:
        return None
    if (weights < 0).any():
        return None
    support = np.zeros(len(columns), dtype=bool)
    support[basic[np.asarray(weights > 0, dtype=bool)]] = True
    return support


# ── Where counts jump ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class KernelThresholds(Result):
    """The number of kernels for every alpha = e^-ε from 0 to 1.

    Attributes
    ----------
    thresholds : where it changes, or differs for that alpha alone; roots of minors, as floats
    exact : the same as fractions where they are rational, else None
    between : counts in the open intervals before, between and after the thresholds
    at : counts at the thresholds that are rational, else None
    polynomials : for each threshold the polynomial in alpha whose root it is, coefficients from the constant
    """

    thresholds: tuple[float, ...]
    exact: tuple[Fraction | None, ...]
    between: tuple[int, ...]
    at: tuple[int | None, ...]
    polynomials: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        if not self.thresholds:
            return f"{_several(self.between[0], 'kernel')} whatever ε is"
        parts = [f"{self.between[0]:,} below"]
        for value, known, here, after in zip(
            self.thresholds, self.exact, self.at, self.between[1:], strict=True
        ):
            name = f"{value:.6g}" if known is None else str(known)
            alone = f" ({here:,} there)" if here is not None and here != after else ""
            parts.append(f"{name}{alone}, then {after:,}")
        return f"kernels as e^-ε grows: {', '.join(parts)}"


def kernel_thresholds(metric: Metric | Policy | Answers) -> KernelThresholds:
    """Every e^-ε at which the number of kernels changes, as the root of a minor; nothing is sampled.

    Parameters
    ----------
    metric : Metric, Policy or Answers, with whole distances

    Returns
    -------
    KernelThresholds
        The counts between thresholds, and at those that are rational.

    Notes
    -----
    A set of posteriors is a kernel iff its weights, which are ratios of minors of the vertices' matrix with a
    column of ones, are positive. Minors are polynomials in alpha, so between two of their roots nothing
    changes, and one alpha decides for the interval.

    Cost: the number of sets of n columns, and a count of kernels for each root from 0 to 1.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(kernel_thresholds(metrics.from_graph([(0, 1), (0, 2), (0, 3)])))
    kernels as e^-ε grows: 6 below, 1/2 (6 there), then 9
    """
    shape = exact_polytope(metric, Fraction(1, 2))
    parts = _components(shape)
    for part in parts:
        size = comb(part.count() + 1, part.dimension + 1)
        way = "take a metric with fewer vertices"
        require_size(size, LARGEST_MINORS, "the minors of the vertices", way)
    # A kernel of several components is one of each (their weights do not mix), and so are the thresholds.
    found = {(item[2], item[0]): item for part in parts for item in _roots(part)}
    roots = sorted(found.values(), key=lambda item: item[0])
    cuts = [Fraction(0), *(item[0] for item in roots), Fraction(1)]
    between = [len(kernels(metric, _simplest(a, b))) for a, b in pairwise(cuts)]
    kept: list[tuple[float, Fraction | None, int | None, tuple[int, ...]]] = []
    counts = [between[0]]
    for (near, known, factor), before, after in zip(roots, between[:-1], between[1:], strict=True):
        here = None if known is None else len(kernels(metric, known))
        if before == after and here in (None, after):
            continue
        kept.append((float(near), known, here, factor))
        counts.append(after)
    return KernelThresholds(
        tuple(item[0] for item in kept),
        tuple(item[1] for item in kept),
        tuple(counts),
        tuple(item[2] for item in kept),
        tuple(item[3] for item in kept),
    )


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


def _components(shape: Polytope) -> list[Polytope]:
    """The polytopes of the inputs at finite distance of each other."""
    home = shape._component_of[shape._group_of]
    names = [[name for name, c in zip(shape.inputs, home.tolist(), strict=True) if c == k]
             for k in range(int(home.max()) + 1)]  # fmt: skip
    return [Polytope(shape.metric.restricted(part), shape.level, None) for part in names]


def _roots(shape: Polytope) -> list[tuple[Fraction, Fraction | None, tuple[int, ...]]]:
    """Roots from 0 to 1 of all minors: an approximation to 1e-30, the root if rational, its polynomial."""
    factors: dict[tuple[int, ...], Any] = {}
    # Under the discrete metric kernels are balanced collections, whatever ε is.
    for minor in _minors(shape) if shape.shapes != ("uniform",) else ():
        for factor, _ in minor.factor()[1]:
            if factor.degree() > 0:
                factors.setdefault(tuple(int(c) for c in factor.coeffs()), factor)
    found: list[tuple[Fraction, Fraction | None, tuple[int, ...]]] = []
    for coefficients, factor in factors.items():
        if factor.degree() == 1:
            root = Fraction(-coefficients[0], coefficients[1])
            if 0 < root < 1:
                found.append((root, root, coefficients))
            continue
        with flint.ctx.workprec(128):
            for root, _ in factor.complex_roots():
                if root.imag == 0 and 0 < float(root.real.mid()) < 1:
                    mantissa, exponent = root.real.mid().man_exp()
                    near = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
                    found.append((near, None, coefficients))
    return found


def _minors(shape: Polytope) -> Iterator[Any]:
    """The minors of [V | 1] as polynomials in alpha, each once."""
    levels = -shape.vertices().levels.astype(int) * int(shape.vertices().unit)
    powers = np.vstack([levels, np.zeros((1, levels.shape[1]), dtype=int)])
    rows = np.unique(powers, axis=1)
    n = rows.shape[1]
    degree = int(np.sort(rows.max(axis=1))[-n:].sum())
    # A polynomial of that degree is known by its values at degree + 1 places.
    tables = [
        [[flint.fmpz(at) ** int(k) for k in row] for row in rows.tolist()] for at in range(1, degree + 2)
    ]
    seen: set[tuple[int, ...]] = set()
    total = comb(len(rows), n)
    for done, chosen in enumerate(combinations(range(len(rows)), n)):
        if done % 1000 == 0:
            advance("minors", done, total)
        values = [int(flint.fmpz_mat([table[s] for s in chosen]).det()) for table in tables]
        sign = next((1 if v > 0 else -1 for v in values if v), 0)
        key = tuple(sign * v for v in values)
        if sign and key not in seen:
            seen.add(key)
            yield _interpolated(key)


def _interpolated(values: tuple[int, ...]) -> Any:
    """The polynomial with given values at 1, 2, 3, …, with whole coefficients (Newton's differences)."""
    result, basis = flint.fmpq_poly([0]), flint.fmpq_poly([1])
    differences = [flint.fmpq(v) for v in values]
    for k in range(len(values)):
        result += basis * differences[0]
        basis *= flint.fmpq_poly([-(k + 1), 1]) / (k + 1)
        differences = [b - a for a, b in pairwise(differences)]
    return result.numer()
