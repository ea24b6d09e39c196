"""Guesses on a line that may be off by a radius: each gains on a window of secrets, so no table is needed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IntArray
from sievert.measures._adversary import BLOCK_ENTRIES, Adversary, Columns, require_table, sole_largest
from sievert.spaces import Labels

__all__ = ["Windows"]


@dataclass(frozen=True, eq=False, repr=False)
class Windows(Adversary):
    """Guess a point of a line within a radius of the secret.

    Attributes
    ----------
    secrets : the points, which are also the guesses
    positions : where they lie
    radius : how far from the secret a guess may be
    """

    secrets: Labels
    positions: FloatArray
    radius: float
    name: str
    names_actions: ClassVar[bool] = True

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def actions(self) -> Labels:
        """The guesses."""
        return self.secrets

    @cached_property
    def order(self) -> IntArray:
        """The secrets from left to right."""
        return np.argsort(self.positions, kind="stable")

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        """Of the guesses from left to right: the first secret in that order within reach, and the last + 1.

        A secret is reached where the rounded distance is within the radius, as in a table of distances.
        """
        places = self.positions[self.order]
        return _reached(places, self.radius), len(places) - _reached(-places[::-1], self.radius)[::-1]

    @property
    def matrix(self) -> NDArray[Any]:
        require_table(self.size, self.size)
        return (np.abs(self.positions[:, None] - self.positions) <= self.radius).astype(np.int64)

    def sole_best(self, belief: FloatArray) -> Hashable:
        scores = np.empty(self.size)
        scores[self.order] = self._scores(belief[self.order, None])[:, 0]
        return sole_largest(scores, self.secrets)

    def values(self, joint: Columns) -> NDArray[Any]:
        starts, stops = self.ends
        found: list[Any] = []
        for part in self._parts(joint):
            # Differences find the best window; its own sum loses no digits.
            chosen = self._scores(part).argmax(axis=0)
            found += [part[starts[i] : stops[i], c].sum() for c, i in enumerate(chosen)]
        return np.array(found, dtype=joint.dtype if joint.dtype == object else np.float64)

    def best(self, joint: Columns) -> list[Hashable]:
        winners = (int(i) for part in self._parts(joint) for i in self._scores(part).argmax(axis=0))
        return [self.secrets[int(self.order[i])] for i in winners]

    def _parts(self, joint: Columns) -> list[Columns]:
        """Some columns at a time, from left to right."""
        step = max(1, BLOCK_ENTRIES // self.size)
        return [joint[self.order, start : start + step] for start in range(0, joint.shape[1], step)]

    def _scores(self, part: Columns) -> NDArray[Any]:
        """[guess, column], both from left to right, by differences of running sums."""
        starts, stops = self.ends
        sums = np.concatenate([np.zeros((1, part.shape[1]), dtype=part.dtype), np.cumsum(part, axis=0)])
        return np.asarray(sums[stops] - sums[starts])

    def _reordered(self, labels: Labels, order: list[int] | None) -> Self:
        positions = self.positions if order is None else self.positions[order]
        other = self._with(secrets=labels, positions=positions)
        for cached in ("order", "ends"):
            other.__dict__.pop(cached, None)
        return other


def _reached(places: FloatArray, radius: float) -> IntArray:
    """The first of increasing places that each reaches to its left."""
    starts = np.searchsorted(places, places - radius).astype(np.int64)
    # A difference and its bound may be rounded apart.
    while (more := (starts > 0) & (places - places[starts - 1] <= radius)).any():
        starts = starts - more
    while (less := places - places[starts] > radius).any():
        starts = starts + less
    return starts
