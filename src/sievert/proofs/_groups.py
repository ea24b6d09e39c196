"""Proof of the worst leakage about any one of several groups of points, on a space private as a whole.

For a group S the quantity is the largest Σ_{j∈S} K[j,j] over ε-private channels K on *all* points: which
element of S is true, S being known. One person's record given all others is such a group for each situation
of the others; a mechanism with at most r outputs has its column maxima in some group of r points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from sievert.arrays import FloatArray
from sievert.numerics import UNIT, decimal, eps_in_words, exp_below, exp_enclosure, sum_error
from sievert.proofs._base import Proof, measured
from sievert.proofs._bounds import SMALLEST, channel_table, channel_value, dual_bound, exact_sum, require_dual
from sievert.proofs._orbits import MOST_MOVED
from sievert.proofs._reading import entries, floats, fraction, listed, pairs, whole
from sievert.proofs._space import ProofSpace

__all__ = ["DirectedProof", "GroupsProof", "images"]
Certificate = dict[str, Any]
LARGEST_CHOICE = 100_000
# Symmetries times groups of points.
MOST_IMAGES = 10**8


@dataclass(frozen=True, eq=False)
class GroupsProof(Proof):
    """Certified bounds on what any ε-private channel leaks about the worst of several groups.

    Attributes
    ----------
    space, eps : what the channels must respect
    cases : a group (`points`) and its upper certificate each: a *packing* vector on some points, or a *dual*
    lower : a group and a private channel with an output for each of its points
    outputs : with a number r, the cases stand for all groups of r points, by the symmetries of the space
    symmetries : generators of them, each the image of every point
    """

    kind: ClassVar[str] = "worst of groups"
    grounds: ClassVar[str] = "weak duality of linear programming above, an explicit private channel below"
    space: ProofSpace
    eps: Fraction
    cases: list[Certificate]
    lower: Certificate | None
    outputs: int | None = None
    symmetries: tuple[tuple[int, ...], ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "eps": str(self.eps),
            "outputs": self.outputs,
            "symmetries": [list(image) for image in self.symmetries],
            "cases": self.cases,
            "lower": self.lower,
        }

    def question(self) -> dict[str, Any]:
        groups = [case["points"] for case in self.cases]
        return {
            "space": self.space.to_data(),
            "eps": str(self.eps),
            "outputs": self.outputs,
            "groups": groups,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GroupsProof:
        return cls(
            ProofSpace.from_data(data["space"]),
            fraction(data["eps"]),
            listed(data["cases"]),
            data["lower"],
            None if data["outputs"] is None else whole(data["outputs"], 1),
            tuple(tuple(whole(v) for v in image) for image in entries(data["symmetries"])),
        )

    def bounds(self) -> tuple[Fraction | None, Fraction]:
        """Proved lower and upper bound over all groups; ValueError when a certificate does not hold."""
        return self._found

    @cached_property
    def _found(self) -> tuple[Fraction | None, Fraction]:
        if self.eps < 0 or not self.cases:
            raise ValueError("eps must be ≥ 0 and there must be a group")
        if self.outputs is not None:
            self._require_every_choice(self.outputs)
        upper = max(self._upper(case) for case in self.cases)
        if self.lower is None:
            return None, upper
        group = self._group(self.lower["points"])
        if self.outputs is None and group not in {self._group(case["points"]) for case in self.cases}:
            raise ValueError("the channel is about a group that is not listed")
        if self.outputs is not None and len(group) > self.outputs:
            raise ValueError("the channel has more outputs than are allowed")
        lower = channel_value(self.space, self.eps, self._objective(group), self.lower["channel"])
        if lower > upper:
            raise ValueError("the lower bound exceeds the upper bound, so one of the certificates is wrong")
        return lower, upper

    def proved(self) -> str:
        lower, upper = self.bounds()
        if self.outputs is None:
            some = "group" if len(self.cases) == 1 else "groups"
            what = f"the probability mass on the right answer about any of {len(self.cases)} {some} of points"
        else:
            what = f"the sum of column maxima of every channel with at most {self.outputs} outputs that"
        reached = "" if lower is None else f", and some channel reaches at least {decimal(lower, 12, True)}"
        is_private = " is private" if self.outputs is not None else " under every private channel"
        return (
            f"on {self.space.size} points with ε = {eps_in_words(self.eps)}, {what}{is_private} is at most "
            f"{decimal(upper, 12, False)}{reached}"
        )

    def meaning(self) -> str:
        upper = self.bounds()[1]
        if self.outputs is not None:
            return (
                f"whatever is released with this ε in one of {self.outputs} ways, seeing it makes a best "
                f"guess at most {measured(upper, down=False)} times as likely to be right as before."
            )
        return (
            "whatever is released with this ε, the probabilities that each value of a group is told rightly "
            f"add up to {measured(upper, down=False)} at most: among k equally likely ones a guess is right "
            "with a k-th of that."
        )

    def _group(self, points: Any) -> tuple[int, ...]:
        group = tuple(whole(v) for v in listed(points))
        if not group or len(set(group)) != len(group) or max(group) >= self.space.size:
            raise ValueError("a group must name different points of the space")
        return group

    def _objective(self, group: tuple[int, ...]) -> FloatArray:
        require_dual(self.space.size, len(group))
        objective = np.zeros((self.space.size, len(group)))
        objective[list(group), range(len(group))] = 1.0
        return objective

    def _upper(self, case: Certificate) -> Fraction:
        group, certificate = self._group(case["points"]), case["upper"]
        if certificate["type"] == "dual":
            return dual_bound(self.space, self.eps, self._objective(group), certificate)
        if certificate["type"] != "packing":
            raise ValueError(f"unknown upper certificate {certificate['type']!r}")
        # Any private K has K[i,j] ≥ Φ[i,j]·K[j,j], so Σ_{j∈S} K[j,j]·(Φy)_j ≤ Σy for y ≥ 0.
        on = np.array(self._group(certificate["on"]), dtype=np.intp)
        y = floats(certificate["y"])
        if y.shape != on.shape or not (y >= 0).all():
            raise ValueError("the packing vector must have one finite entry ≥ 0 for each of its points")
        covered = self.space.kernel(self.eps)[0][np.ix_(np.array(group), on)] @ y * (1 - sum_error(len(y)))
        least = float(covered.min() * (1 - 2 * UNIT))
        if not least > SMALLEST:
            raise ValueError("the packing vector leaves some point of the group uncovered")
        return exact_sum(y) / Fraction(least)

    def _require_every_choice(self, count: int) -> None:
        """Every group of `count` points must be an image of a listed one."""
        size = self.space.size
        if not 1 <= count <= size or comb(size, count) > LARGEST_CHOICE:
            raise ValueError("there are too many groups of that many points to check")
        if len(self.symmetries) * comb(size, count) > MOST_IMAGES:
            raise ValueError("there are too many images of groups to check")
        if len(self.symmetries) * len(self.space.pairs) > MOST_MOVED:
            raise ValueError("there are too many symmetries to check")
        for image in self.symmetries:
            self._require_symmetry(image)
        seen: set[tuple[int, ...]] = set()
        for case in self.cases:
            group = tuple(sorted(self._group(case["points"])))
            if len(group) != count:
                raise ValueError(f"a group has {len(group)} points where {count} outputs are allowed")
            if group not in seen:
                seen.update(images(group, self.symmetries))
        if any(choice not in seen for choice in combinations(range(size), count)):
            raise ValueError("some choice of outputs is the image of no listed group")

    def _require_symmetry(self, image: tuple[int, ...]) -> None:
        """A permutation of the points that maps every edge to one of the same length."""
        space = self.space
        if sorted(image) != list(range(space.size)):
            raise ValueError("a symmetry must be a permutation of the points")
        moved = np.array(image, dtype=np.intp)[space.pairs]
        tables = []
        for ends in (space.pairs, moved):
            low, high = ends.min(axis=1), ends.max(axis=1)
            order = np.lexsort((space.lengths, high, low))
            tables.append((low[order], high[order], space.lengths[order]))
        if any((a != b).any() for a, b in zip(*tables, strict=True)):
            raise ValueError("a symmetry does not map edges to edges of the same length")


def images(group: tuple[int, ...], symmetries: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, ...]]:
    """A group (sorted) and everything that symmetries move it to."""
    seen = {group}
    waiting = [group]
    while waiting:
        current = waiting.pop()
        yield current
        for image in symmetries:
            moved = tuple(sorted(image[i] for i in current))
            if moved not in seen:
                seen.add(moved)
                waiting.append(moved)


# ── Proof of the worst leakage when privacy runs one way only: K[a] ≤ e^ε·K[b] for each arc (a, b) ──────────
# Definition 2 of Edwards et al. may hold from D to D' and not back. Distances then count arcs in the
# direction in which the inequality runs, and differ by direction.
LARGEST_TABLE = 6000


@dataclass(frozen=True, eq=False)
class DirectedProof(Proof):
    """Certified bounds on the sum of column maxima of any channel with K[a] ≤ e^ε·K[b] for each arc (a, b).

    `upper` is a *packing* vector y ≥ 0 or a *dual* (y of free sign, multipliers on arcs); `lower` an explicit
    channel of integers over one denominator.
    """

    kind: ClassVar[str] = "worst leakage, one way"
    found: ClassVar[tuple[str, ...]] = ("upper", "lower")
    grounds: ClassVar[str] = "weak duality of linear programming above, an explicit private channel below"
    size: int
    arcs: NDArray[np.intp]
    eps: Fraction
    upper: Certificate
    lower: Certificate

    def __post_init__(self) -> None:
        if self.eps < 0 or self.size < 1 or self.arcs.ndim != 2 or self.arcs.shape[1] != 2:
            raise ValueError("eps must be ≥ 0, and arcs pairs of points")
        if len(self.arcs) and (self.arcs.min() < 0 or self.arcs.max() >= self.size):
            raise ValueError("an arc names a point that does not exist")

    def data(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "arcs": self.arcs.tolist(),
            "eps": str(self.eps),
            "upper": self.upper,
            "lower": self.lower,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> DirectedProof:
        arcs = pairs(data["arcs"])
        return cls(whole(data["size"], 1), arcs, fraction(data["eps"]), data["upper"], data["lower"])

    @cached_property
    def distances(self) -> FloatArray:
        """d[j, i]: arcs from j to i, in the direction of the inequality; inf where there is no way."""
        if self.size > LARGEST_TABLE:
            raise ValueError(f"{self.size} points are too many for a table of distances")
        ends = (self.arcs[:, 0], self.arcs[:, 1])
        graph = csr_array((np.ones(len(self.arcs)), ends), shape=(self.size, self.size))
        return np.asarray(shortest_path(graph, directed=True, unweighted=True))

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Proved lower and upper bound; ValueError when a certificate does not hold."""
        return self._found

    @cached_property
    def _found(self) -> tuple[Fraction, Fraction]:
        lower, upper = self._lower(), self._upper()
        if lower > upper:
            raise ValueError("the lower bound exceeds the upper bound, so one of the certificates is wrong")
        return lower, upper

    def proved(self) -> str:
        lower, upper = self.bounds()
        return (
            f"on {self.size} points with {len(self.arcs)} one-way inequalities and ε = "
            f"{eps_in_words(self.eps)}, the sum of column maxima of every private channel is at most "
            f"{decimal(upper, 12, False)}, and some channel reaches at least {decimal(lower, 12, True)}"
        )

    def meaning(self) -> str:
        return (
            "whatever is released with this ε, kept in one direction of each pair only, seeing it makes a "
            f"best guess at most {measured(self.bounds()[1], down=False)} times as likely to be right as "
            "before."
        )

    def _upper(self) -> Fraction:
        kind = self.upper["type"]
        if kind == "dual":
            if len(listed(self.upper["backward"])):
                raise ValueError("an arc has no multiplier in the other direction")
            space = ProofSpace(self.size, self.arcs, np.ones(len(self.arcs)))
            require_dual(self.size, self.size)
            return dual_bound(space, self.eps, np.eye(self.size), self.upper)
        if kind != "packing":
            raise ValueError(f"unknown upper certificate {kind!r}")
        y = floats(self.upper["y"])
        if y.shape != (self.size,) or not (y >= 0).all():
            raise ValueError("the packing vector must have one finite entry ≥ 0 for each point")
        # K[i,j] ≥ e^(-ε·d(j→i))·K[j,j]: summed with y over the rows, each column is covered.
        covered = exp_enclosure(-self.eps, self.distances)[0] @ y * (1 - sum_error(self.size))
        least = float(covered.min() * (1 - 2 * UNIT))
        if not least > SMALLEST:
            raise ValueError("the packing vector leaves some point uncovered")
        return exact_sum(y) / Fraction(least)

    def _lower(self) -> Fraction:
        table, denominator = channel_table(self.size, self.lower)
        g = exp_below(self.eps)
        for a, b in self.arcs.tolist():
            if (table[a] * g.denominator > table[b] * g.numerator).any():
                raise ValueError(f"the channel is not private from point {a} to point {b}")
        return Fraction(int(table.max(axis=0).sum()), denominator)
