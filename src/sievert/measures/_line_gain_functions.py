"""Guesses on a line, without a table: within a radius, a window of secrets; by closeness, a median."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IntArray
from sievert.measures._gain_function import BLOCK_ENTRIES, Columns, GainFunction, require_table, unique_argmax
from sievert.spaces import Labels

__all__ = ["Closeness", "WithinRadius"]


class _OnLine(GainFunction):
    """Guesses are the secrets, points of a line; a gain is a share of 1."""

    secrets: Labels
    positions: FloatArray
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


@dataclass(frozen=True, eq=False, repr=False)
class WithinRadius(_OnLine):
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
        return unique_argmax(scores, self.secrets)

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


@dataclass(frozen=True, eq=False, repr=False)
class Closeness(_OnLine):
    """Guess a point of a line near the secret: 1 less the distance, as a share of the largest.

    Attributes
    ----------
    secrets : the points, which are also the guesses
    positions : where they lie
    """

    secrets: Labels
    positions: FloatArray
    name: str

    @property
    def diameter(self) -> float:
        """The largest distance; 1 where all are at one place."""
        return float(np.ptp(self.positions)) or 1.0

    @property
    def matrix(self) -> NDArray[Any]:
        require_table(self.size, self.size)
        return np.asarray(1 - np.abs(self.positions[:, None] - self.positions) / self.diameter)

    def sole_best(self, belief: FloatArray) -> Hashable:
        ranked = belief[self.order]
        below = np.cumsum(ranked)
        # Between two medians all guesses are equally good.
        places = np.flatnonzero((below >= below[-1] / 2) & (below - ranked <= below[-1] / 2))
        used = self.positions[self.order][places]
        return self.secrets[int(self.order[places[0]])] if np.ptp(used) == 0 and len(used) == 1 else None

    def values(self, joint: Columns) -> NDArray[Any]:
        return np.concatenate([self._near(part) for part in self._parts(joint)])

    def _near(self, part: Columns) -> NDArray[Any]:
        """The mean distance to a median is ∫ min(belief below, belief above)."""
        sums = np.cumsum(part, axis=0)
        other = np.cumsum(part[::-1], axis=0)[::-1]
        apart = np.diff(self.positions[self.order]) / self.diameter
        return np.asarray(sums[-1] - apart @ np.minimum(sums[:-1], other[1:]))

    def best(self, joint: Columns) -> list[Hashable]:
        chosen: list[Hashable] = []
        for part in self._parts(joint):
            sums = np.cumsum(part, axis=0)
            chosen += [self.secrets[int(self.order[i])] for i in (sums >= sums[-1] / 2).argmax(axis=0)]
        return chosen

    def _parts(self, joint: Columns) -> list[Columns]:
        """Some columns at a time, from left to right."""
        step = max(1, BLOCK_ENTRIES // self.size)
        return [joint[self.order, start : start + step] for start in range(0, joint.shape[1], step)]

    def _reordered(self, labels: Labels, order: list[int] | None) -> Self:
        positions = self.positions if order is None else self.positions[order]
        other = self._with(secrets=labels, positions=positions)
        other.__dict__.pop("order", None)
        return other
