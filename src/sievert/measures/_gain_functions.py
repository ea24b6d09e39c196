"""Adversaries with very many or infinitely many actions, whose optimum has a closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.errors import GainError
from sievert.measures._gain_function import (
    TIE_TOLERANCE,
    Columns,
    GainFunction,
    RankedColumns,
    Unit,
    labels_of_secrets,
    require_table,
    table_adversary,
    unique_argmax,
)
from sievert.numerics import abbreviated, is_whole, require_size
from sievert.spaces import Labels

__all__ = [
    "BeliefGain",
    "Guessing",
    "Identity",
    "Shannon",
    "Symmetric",
    "Tries",
    "as_gain",
    "gain_of",
    "gain_title",
]

LARGEST_ACTIONS = 200_000
FORM_ENTRIES = 1_000_000


# What tables and pictures call an adversary whose name says less.
TITLES = {"identity": "exact guess"}


def gain_title(name: str) -> str:
    """What tables and pictures call the adversary that results know by this name."""
    return TITLES.get(name, name)


class Symmetric(GainFunction):
    """An adversary to whom all secrets are alike: the values depend on the entries, not on whose they are."""

    is_divisible: ClassVar[bool] = True
    is_symmetric: ClassVar[bool] = True

    def on_entries(self, secrets: slice) -> Self:
        """The same adversary when only these secrets are possible."""
        return self._with(secrets=range(secrets.stop - secrets.start))


@dataclass(frozen=True, eq=False, repr=False)
class Identity(Symmetric):
    """Guess the secret in one try: gain 1 for the right guess (Bayes vulnerability)."""

    secrets: Labels
    name: str = "identity"
    tries: ClassVar[int] = 1
    names_actions: ClassVar[bool] = True

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def sole_best(self, belief: FloatArray) -> Hashable:
        return unique_argmax(belief, self.secrets)

    def even_value(self, size: int, total: int) -> Fraction:
        return Fraction(1, total)

    def one_above(self, size: int, truth: Any, lie: Any, log_truth: float) -> Any:
        return truth

    def contributions(self, columns: RankedColumns) -> FloatArray:
        return np.where(columns.rank < 1, columns.entries, 0.0)

    @property
    def actions(self) -> Labels:
        """The guesses."""
        return self.secrets

    @property
    def matrix(self) -> NDArray[Any]:
        require_table(self.size, self.size)
        return np.eye(self.size, dtype=np.int64)

    def values(self, joint: Columns) -> NDArray[Any]:
        return np.asarray(joint.max(axis=0))

    def best(self, joint: Columns) -> list[Hashable]:
        return [self.secrets[int(i)] for i in joint.argmax(axis=0)]


@dataclass(frozen=True, eq=False, repr=False)
class Tries(Symmetric):
    """Guess the secret in k tries: gain 1 if one of them is right."""

    secrets: Labels
    tries: int
    name: str = ""

    def __post_init__(self) -> None:
        if not is_whole(self.tries) or self.tries < 1:
            raise GainError(f"k is {abbreviated(self.tries)}; the number of tries must be a whole number ≥ 1")
        if not self.name:
            object.__setattr__(self, "name", "1 try" if self.tries == 1 else f"{self.tries} tries")

    @property
    def _chosen(self) -> int:
        return min(int(self.tries), self.size)

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def sole_best(self, belief: FloatArray) -> Hashable:
        order = np.argsort(-belief, kind="stable")
        chosen = min(self.tries, len(belief))
        if chosen == len(belief) or belief[order[chosen]] >= belief[order[chosen - 1]] * (1 - TIE_TOLERANCE):
            return None
        return tuple(self.secrets[int(i)] for i in order[:chosen])

    def even_value(self, size: int, total: int) -> Fraction:
        return Fraction(min(self.tries, size), total)

    def one_above(self, size: int, truth: Any, lie: Any, log_truth: float) -> Any:
        return truth + (min(self.tries, size) - 1) * lie

    def contributions(self, columns: RankedColumns) -> FloatArray:
        return np.where(columns.rank < self.tries, columns.entries, 0.0)

    @property
    def matrix(self) -> NDArray[Any]:
        fewer = min(self._chosen, self.size - self._chosen)
        # n choose k is at least (n/k)^k.
        many = fewer * math.log2(max(2, self.size / max(1, fewer))) > 63
        count = 2**63 if many else math.comb(self.size, fewer)
        way = "its values need no matrix"
        require_size(count, LARGEST_ACTIONS, f"the actions of {self.name}", way)
        require_table(count, self.size)
        table = np.zeros((count, self.size), dtype=np.int64)
        chosen = np.array(list(combinations(range(self.size), self._chosen)))
        np.put_along_axis(table, chosen, 1, axis=1)
        return table

    def values(self, joint: Columns) -> NDArray[Any]:
        k = self._chosen
        ordered = np.sort(joint, axis=0) if joint.dtype == object else np.partition(joint, -k, axis=0)
        return np.asarray(ordered[-k:].sum(axis=0))

    def best(self, joint: Columns) -> list[Hashable]:
        order = np.argsort(-joint, axis=0, kind="stable")[: self._chosen]
        return [tuple(self.secrets[int(i)] for i in column) for column in order.T]


@dataclass(frozen=True, eq=False, repr=False)
class Guessing(Symmetric):
    """Guess until right: the loss is the number of guesses (guessing entropy, Massey)."""

    secrets: Labels
    name: str = "guessing"
    is_loss: bool = True

    @property
    def unit(self) -> Unit:
        return "guesses"

    def bounds(self) -> tuple[float, float]:
        return 1.0, float(self.size)

    def even_value(self, size: int, total: int) -> Fraction:
        return Fraction(size * (size + 1), 2 * total)

    def one_above(self, size: int, truth: Any, lie: Any, log_truth: float) -> Any:
        return truth + lie * (size * (size + 1) // 2 - 1)

    def contributions(self, columns: RankedColumns) -> FloatArray:
        return (columns.rank + 1) * columns.entries

    @property
    def matrix(self) -> NDArray[Any]:
        count = math.factorial(min(self.size, 20))
        require_size(count, LARGEST_ACTIONS, "the orders of guessing", "its values need no matrix")
        return np.argsort(np.array(list(permutations(range(self.size)))), axis=1) + 1

    def values(self, joint: Columns) -> NDArray[Any]:
        ranked = np.sort(joint, axis=0)
        position = np.arange(self.size, 0, -1)
        return np.asarray(position.astype(joint.dtype) @ ranked)

    def best(self, joint: Columns) -> list[Hashable]:
        order = np.argsort(-joint, axis=0, kind="stable")
        return [tuple(self.secrets[int(i)] for i in column) for column in order.T]


@dataclass(frozen=True, eq=False, repr=False)
class Shannon(Symmetric):
    """Shannon entropy in bits: the loss of describing the secret with the best code for one's belief."""

    secrets: Labels
    name: str = "shannon"
    is_loss: bool = True

    @property
    def unit(self) -> Unit:
        return "bits"

    def bounds(self) -> tuple[float, float]:
        return 0.0, math.log2(self.size)

    def bits(self, before: float, after: float) -> float:
        """The uncertainty taken away."""
        return max(0.0, before - after)

    def even_value(self, size: int, total: int) -> float:
        return size / total * math.log2(size)

    def one_above(self, size: int, truth: Any, lie: Any, log_truth: float) -> float:
        lies = -float(lie) * math.log2(lie) if lie > 0 else 0.0
        return -(float(truth) * log_truth) / math.log(2) + (size - 1) * lies

    def contributions(self, columns: RankedColumns) -> FloatArray:
        entries, first = columns.entries, columns.rank == 0
        share = entries / np.where(columns.totals > 0, columns.totals, 1.0)[columns.column]
        rest = np.add.reduceat(np.where(first, 0.0, entries), columns.starts)[columns.column]
        # The likeliest secret's share may be next to 1; what the others have is known.
        above = np.log1p(rest / np.where(entries > 0, entries, 1.0)) / math.log(2)
        return np.asarray(entries * np.where(first, above, -np.log2(np.where(share > 0, share, 1.0))))

    @property
    def matrix(self) -> NDArray[Any]:
        raise GainError("the Shannon loss has infinitely many actions, so it has no matrix")

    def values(self, joint: Columns) -> NDArray[Any]:
        columns = joint.astype(np.float64, copy=False)
        weights = columns.sum(axis=0)
        total, rest = np.zeros((2, columns.shape[1]))
        top, place = columns.max(axis=0), columns.argmax(axis=0)
        rows = max(1, FORM_ENTRIES // columns.shape[1])
        for start in range(0, len(columns), rows):
            part = columns[start : start + rows]
            part = np.where(np.arange(start, start + len(part))[:, None] == place, 0.0, part)
            posteriors = part / np.where(weights > 0, weights, 1.0)
            total -= (part * np.log2(np.where(posteriors > 0, posteriors, 1.0))).sum(axis=0)
            rest += part.sum(axis=0)
        # The likeliest secret's share may be next to 1; what the others have is known.
        first = top * np.log1p(rest / np.where(top > 0, top, 1.0)) / math.log(2)
        return np.asarray(total + first)

    def best(self, joint: Columns) -> list[Hashable]:
        return [tuple(column) for column in _posteriors(joint)[1].T.tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class BeliefGain(GainFunction):
    """A vulnerability given as a function of the belief, such as a quasi-convex one for the max case."""

    secrets: Labels
    function: Callable[[NDArray[np.float64]], float]
    name: str = "belief"
    is_loss: bool = False
    is_convex: ClassVar[bool] = False

    @property
    def matrix(self) -> NDArray[Any]:
        raise GainError(f"{self.name!r} is a function of the belief, so it has no matrix of actions")

    def values(self, joint: Columns) -> NDArray[Any]:
        columns, posteriors = _posteriors(joint)
        weights = columns.sum(axis=0)
        found = [
            weight * float(self.function(posterior)) if weight > 0 else 0.0
            for weight, posterior in zip(weights, posteriors.T, strict=True)
        ]
        return np.array(found)

    def best(self, joint: Columns) -> list[Hashable]:
        return [None] * joint.shape[1]


def _posteriors(joint: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns as floats, and the same columns normalised (zero columns stay zero)."""
    columns = joint.astype(np.float64)
    weights = columns.sum(axis=0)
    return columns, columns / np.where(weights > 0, weights, 1.0)


def as_gain(gain: object, secrets: Labels) -> GainFunction:
    """An adversary about these secrets: None is the one-try guess; a matrix [action, secret] is a gain."""
    secrets = labels_of_secrets(secrets)
    if gain is None:
        return Identity(secrets)
    return gain_of(gain).for_secrets(secrets)


def gain_of(gain: object) -> GainFunction:
    """An adversary as it is; a matrix [action, secret] as a gain."""
    return gain if isinstance(gain, GainFunction) else table_adversary(gain)
