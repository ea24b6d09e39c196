"""Proof of the worst leakage about any one of several groups of points, on a space private as a whole.

For a group S the quantity is the largest Σ_{j∈S} K[j,j] over ε-private channels K on *all* points: which
element of S is true, S being known. One person's record given all others is such a group for each situation
of the others; a mechanism with at most r outputs has its column maxima in some group of r points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.balls import UNIT, decimal, sum_error
from sievert.proofs.base import Proof
from sievert.proofs.lowers import channel_value
from sievert.proofs.reading import floats, fraction, whole
from sievert.proofs.space import ProofSpace
from sievert.proofs.uppers import SMALLEST, dual_bound, exact_sum
from sievert.proofs.words import eps_in_words

__all__ = ["GroupsProof", "images"]

FloatArray = NDArray[np.float64]
Certificate = dict[str, Any]
LARGEST_CHOICE = 100_000


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

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GroupsProof:
        return cls(
            ProofSpace.from_data(data["space"]),
            fraction(data["eps"]),
            list(data["cases"]),
            data["lower"],
            None if data["outputs"] is None else whole(data["outputs"], 1),
            tuple(tuple(whole(v) for v in image) for image in data["symmetries"]),
        )

    def bounds(self) -> tuple[Fraction | None, Fraction]:
        """Proved lower and upper bound over all groups; ValueError when a certificate does not hold."""
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

    def _group(self, points: Any) -> tuple[int, ...]:
        group = tuple(whole(v) for v in points)
        if not group or len(set(group)) != len(group) or max(group) >= self.space.size:
            raise ValueError("a group must name different points of the space")
        return group

    def _objective(self, group: tuple[int, ...]) -> FloatArray:
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
        for pairs in (space.pairs, moved):
            low, high = pairs.min(axis=1), pairs.max(axis=1)
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
