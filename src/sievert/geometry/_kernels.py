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
from math import lcm
from typing import Any

import flint
import numpy as np

from sievert.arrays import BoolArray, ObjectArray
from sievert.channels import Channel
from sievert.errors import MechanismError, TooLargeError
from sievert.geometry._polytope import Polytope, polytope
from sievert.geometry._posteriors import Vertices, merged_words
from sievert.numerics import abbreviated, advance, ray_blocks, support_rows, whole
from sievert.policies import Answers, Policy
from sievert.programs import LinearProgram, solve
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Kernel", "Kernels", "exact_polytope", "iter_kernels", "kernels"]

# Vertices among which kernels are looked for.
LARGEST_VERTICES = 4096
# Rays that a search for all kernels may meet on its way where a limit is given: this many, and so many for
# each kernel of the limit. Beyond that, programs with random costs find some.
FEW_RAYS, RAYS_EACH = 2000, 20


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
    complete : whether these are known to be all; False where a limit cut the search off
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
        return f"{_several(len(self), 'kernel')}{more}: {parts}{merged_words(self.vertices.merged)}"

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
            f"alpha is {abbreviated(alpha)}; which sets of posteriors are kernels depends on exact "
            f"ratios, give a "
            'fraction such as "1/2"'
        )
    lengths = shape.metric.matrix
    broken = lengths[np.isfinite(lengths) & (lengths != np.floor(lengths))]
    if len(broken) and 0 < shape.level.alpha < 1:
        raise MechanismError(
            f"metric: a distance is {abbreviated(float(broken[0]))}; exact ratios are powers of alpha, "
            f"give whole "
            "distances, in a smaller unit with alpha for that unit"
        )
    return shape


def kernels(metric: Metric | Policy | Answers, alpha: object, limit: int | None = None) -> Kernels:
    """All kernel mechanisms of a metric, in fractions.

    Parameters
    ----------
    metric : Metric, Policy or Answers, with whole distances
    alpha : e^-ε for one unit of distance, as a fraction
    limit : how many at most; `complete` says whether these are all

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
    shape, found = _vertices(metric, alpha)
    if most is None:
        blocks = list(_supports(shape, found, None))
        complete = True
    else:
        blocks, complete = _first_supports(shape, found, most)
    supports = np.concatenate(blocks)
    order = np.lexsort((*supports.T[::-1], -supports.sum(axis=1)))[::-1] if complete else slice(None)
    return Kernels(found, supports[order], complete)


def iter_kernels(
    metric: Metric | Policy | Answers, alpha: object, limit: int | None = None
) -> Iterator[Kernel]:
    """Kernel mechanisms of a metric one after another, without keeping them.

    Parameters
    ----------
    metric : Metric, Policy or Answers, with whole distances
    alpha : e^-ε for one unit of distance, as a fraction
    limit : how many at most

    Returns
    -------
    iterator of Kernel
        In the order in which they are found; `kernels` sorts them.

    Notes
    -----
    Double description meets one condition after another; kernels come while the last one is met, so few are
    kept at a time where most are found there.

    Cost: that of `kernels` for all; the first come after all conditions but one.

    References
    ----------
    Fernandes, Def 6.3.2.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> sum(len(kernel) == 5 for kernel in iter_kernels(metrics.line(5), "1/3"))
    167
    """
    most = None if limit is None else whole("limit", limit, MechanismError)
    shape, found = _vertices(metric, alpha)
    return _each(shape, found, most)


def _each(shape: Polytope, found: Vertices, most: int | None) -> Iterator[Kernel]:
    columns = found.columns()
    blocks = _supports(shape, found, None) if most is None else _first_supports(shape, found, most)[0]
    for block in blocks:
        for support in block:
            yield _kernel(columns, np.flatnonzero(support), found.inputs)


def _vertices(metric: Metric | Policy | Answers, alpha: object) -> tuple[Polytope, Vertices]:
    """The exact polytope with all of its vertices."""
    shape = exact_polytope(metric, alpha)
    found = shape.vertices(limit=LARGEST_VERTICES + 1)
    if not found.complete:
        count = f"more than {LARGEST_VERTICES:,}" if len(found) > LARGEST_VERTICES else "too many to list"
        raise TooLargeError(
            f"the vertices, of which kernels are made, are {count}; take fewer inputs", size=len(found)
        )
    return shape, found


def _supports(shape: Polytope, found: Vertices, most: int | None) -> Iterator[BoolArray]:
    """Supports of all kernels [kernel, vertex], a block at a time; TooLargeError beyond `most` rays."""
    count = 0
    try:
        for words in ray_blocks(_equations(shape, found), most):
            count += len(words)
            advance("kernels", count, count)
            yield support_rows(words, len(found))
    except TooLargeError as problem:
        raise TooLargeError(f"{problem}, or give a limit for some kernels", size=problem.size) from None


def _first_supports(shape: Polytope, found: Vertices, most: int) -> tuple[list[BoolArray], bool]:
    """Supports of at most so many kernels, and whether these are all."""
    blocks, count = [], 0
    try:
        for rows in _supports(shape, found, FEW_RAYS + RAYS_EACH * most):
            blocks.append(rows[: most - count])
            if count + len(rows) > most:
                return blocks, False
            count += len(rows)
    except TooLargeError:
        return [_some(found, most)], False
    return blocks, True


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


def _some(found: Vertices, most: int) -> BoolArray:
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
