"""What is said of private posteriors: whether one is, and the list of the extreme ones."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import AnyArray, BoolArray, FloatArray, ObjectArray
from sievert.channels import EpsilonOrAlpha
from sievert.numerics import require_size
from sievert.results import Result
from sievert.spaces import Labels

__all__ = ["Membership", "Vertices", "merged_words"]

# Fractions of posteriors that are written out at once.
LARGEST_EXACT = 5_000_000
# Groups of merged inputs that are named, and inputs of one.
MOST_NAMED = 3


def merged_words(merged: tuple[tuple[Hashable, ...], ...]) -> str:
    """Which inputs are taken as one, where some are."""
    if not merged:
        return ""
    named = " and ".join(
        " = ".join([*map(repr, group[:MOST_NAMED]), *(["…"] if len(group) > MOST_NAMED else [])])
        for group in merged[:MOST_NAMED]
    )
    more = f" and {len(merged) - MOST_NAMED} more groups" if len(merged) > MOST_NAMED else ""
    return f"; no private mechanism tells {named}{more} apart, so they are taken as one"


@dataclass(frozen=True)
class Membership(Result):
    """Whether a posterior is private.

    Attributes
    ----------
    holds : whether every ratio is allowed
    pair : the two inputs whose ratio exceeds what is allowed most, the likelier one first; None if it holds
    ratio, allowed : their ratio, and the largest one allowed
    """

    holds: bool
    pair: tuple[Hashable, Hashable] | None = None
    ratio: float | None = None
    allowed: float | None = None

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return "a private posterior"
        assert self.pair is not None
        allowed = "a factor beyond 1e308" if self.allowed == math.inf else f"{self.allowed:.6g}"
        return (
            f"not private: {self.pair[0]!r} is {self.ratio:.6g} times as likely as {self.pair[1]!r}, and "
            f"{allowed} is allowed"
        )


@dataclass(frozen=True, eq=False)
class Vertices(Result):
    """The extreme private posteriors; a sequence of them.

    Attributes
    ----------
    levels : whole numbers [vertex, input] with greatest entry 0; the posterior is proportional to
        e^(ε·unit·level)
    inside : where it is positive: False at inputs infinitely far from the vertex's own
    unit : distance of one level
    complete : whether these are all; False where a limit was reached
    method : how they were found
    tolerance : to what distances were rounded, where that was asked for
    exact : whether items are fractions
    merged : groups of inputs that no private mechanism tells apart, which are one here
    """

    levels: AnyArray
    inside: BoolArray
    unit: Fraction
    inputs: Labels
    complete: bool
    method: str
    tolerance: Fraction | None
    level: EpsilonOrAlpha = field(repr=False)
    exact: bool = True
    merged: tuple[tuple[Hashable, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, item: int) -> NDArray[Any]:
        if self.exact:
            return np.asarray(self._fractions(self.levels[item][None], self.inside[item][None])[0])
        return np.asarray(self._floats(self.levels[item][None], self.inside[item][None])[0])

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    @property
    def matrix(self) -> NDArray[Any]:
        """All posteriors [vertex, input]: fractions where they are exact, else floats."""
        if not self.exact:
            return self._floats(self.levels, self.inside)
        require_size(
            self.levels.size,
            LARGEST_EXACT,
            "the fractions of all vertices",
            "ask with exact=False for floats",
        )
        return self._fractions(self.levels, self.inside)

    @cached_property
    def _powers(self) -> dict[int, Fraction]:
        assert self.level.alpha is not None
        step = self.level.alpha ** int(self.unit)
        return {k: step**-k for k in np.unique(self.levels).tolist()}

    def columns(self) -> ObjectArray:
        """Unnormalised exact posteriors [vertex, input], with greatest entry 1."""
        table = np.empty(self.levels.shape, dtype=object)
        powers = self._powers
        table.ravel()[:] = [powers[k] for k in self.levels.ravel().tolist()]
        table[~self.inside] = Fraction(0)
        return table

    def _fractions(self, levels: AnyArray, inside: BoolArray) -> ObjectArray:
        table = np.empty(levels.shape, dtype=object)
        table.ravel()[:] = [self._powers[k] for k in levels.ravel().tolist()]
        table[~inside] = Fraction(0)
        return np.asarray(table / table.sum(axis=1)[:, None])

    def _floats(self, levels: AnyArray, inside: BoolArray) -> FloatArray:
        with np.errstate(invalid="ignore", over="ignore"):
            weights = np.exp(self.level.eps * float(self.unit) * levels)
        weights = np.where(levels == 0, 1.0, weights)
        weights[~inside] = 0.0
        return np.asarray(weights / weights.sum(axis=1)[:, None])

    def __str__(self) -> str:
        how_many = f"{len(self):,} vertices" if self.complete else f"{len(self):,} vertices, not all,"
        rounded = "" if self.tolerance is None else f"; distances rounded to {float(self.tolerance):g}"
        return (
            f"{how_many} of the private posteriors over {len(self.inputs)} inputs; {self.method}{rounded}"
            f"{merged_words(self.merged)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The levels and how they were found, as plain data."""
        return {
            "inputs": list(self.inputs),
            "levels": [
                [k if here else None for k, here in zip(row, where, strict=True)]
                for row, where in zip(self.levels.tolist(), self.inside.tolist(), strict=True)
            ],
            "unit": str(self.unit),
            "complete": self.complete,
            "method": self.method,
            "tolerance": None if self.tolerance is None else str(self.tolerance),
            "merged": [list(group) for group in self.merged],
        }
