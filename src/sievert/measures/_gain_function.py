"""Adversaries: what an attacker wants, as a function of what they believe.

Every measure here is evaluated on columns of the joint distribution J[x, y] = π_x C[x, y] without
normalising them, because each is homogeneous: the value of a column is its probability times the value
of its posterior. Summing over columns gives the average case with no division by zero
(Fernandes, Thm 2.1).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.errors import GainError
from sievert.numerics import (
    abbreviated,
    as_fraction,
    exact_matmul,
    finite,
    fractions_of,
    instance,
    is_exact,
    require_float,
    require_size,
)
from sievert.spaces import Labels, LazyLabels, align, floats, iterable, labels_of, labels_or_range, table_of

__all__ = [
    "GainFunction",
    "GainMatrix",
    "RankedColumns",
    "Unit",
    "gain_matrix",
    "labels_of_secrets",
    "number_of",
    "require_table",
    "secret_labels",
    "table_adversary",
    "unique_argmax",
]

BLOCK_ENTRIES = 16_000_000
# Gains and losses are stored as tables of up to this many numbers (800 MB).
LARGEST_TABLE = 100_000_000

Columns = NDArray[Any]  # [n, m] joint probabilities, float64 or object
# What values count; "closeness" is a probability that a file calls so.
Unit = Literal["probability", "closeness", "gain", "risk", "loss", "guesses", "bits"]
# Two actions this close (relative) are equally good: rounding alone could tell them apart.
TIE_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class RankedColumns:
    """Columns listed by their entries, each column's from the largest to the smallest.

    Attributes
    ----------
    entries : the entries of all columns, one column after another
    rank : the place of each entry in its column, from 0
    column : the column of each entry
    starts : where each column begins
    totals : the sum of each column
    """

    entries: FloatArray
    rank: NDArray[np.intp]
    column: NDArray[np.intp]
    starts: NDArray[np.intp]
    totals: FloatArray


class GainFunction:
    """What an attacker maximises (a gain) or minimises (a loss).

    Subclasses give `values(joint)`, the attacker's unnormalised optimum for each column, and
    `best(joint)`, the action that reaches it. Both must be homogeneous in the column. What else they say
    of themselves spares a matrix where a channel is known by a rule.

    Attributes
    ----------
    name : what the adversary is called in results
    secrets : labels of the secrets, in the order of the columns' entries
    is_loss : whether small values are good for the attacker
    is_convex : whether no release makes the best action worse on average
    is_divisible : whether it can be asked about some of the secrets alone (`on_entries`)
    is_symmetric : whether all secrets are alike to it (`even_value`, `one_above`, `contributions`)
    names_actions : whether an action is a single name, however many secrets there are
    """

    name: str
    secrets: Labels
    is_loss: bool = False
    is_convex: ClassVar[bool] = True
    is_divisible: ClassVar[bool] = False
    is_symmetric: ClassVar[bool] = False
    names_actions: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of secrets."""
        return len(self.secrets)

    def values(self, joint: Columns) -> NDArray[Any]:
        """Optimal expected gain (or loss) for each column of a joint distribution."""
        raise NotImplementedError

    def best(self, joint: Columns) -> list[Hashable]:
        """An optimal action for each column."""
        raise NotImplementedError

    @property
    def matrix(self) -> NDArray[Any]:
        """Gains or losses as an array [action, secret]."""
        raise NotImplementedError

    @property
    def action_count(self) -> int:
        """How many actions are compared: the rows of a table; a closed form looks at the secrets."""
        return self.size

    @property
    def unit(self) -> Unit:
        """What its values count; shares of 1 unless it says otherwise."""
        return "risk" if self.is_loss else "probability"

    def bounds(self) -> tuple[float, float] | None:
        """Between which numbers the value of every belief lies; None where that is not known."""
        return None

    def bits(self, before: float, after: float) -> float | None:
        """Leakage in bits where it has a meaning: the growth of a gain."""
        if self.is_loss or before <= 0:
            return None
        return max(0.0, math.log2(after / before))

    def sole_best(self, belief: FloatArray) -> Hashable:
        """The one best action for a belief; None where there are ties or actions have no name."""
        return None

    def on_entries(self, secrets: slice) -> GainFunction:
        """The same adversary when only these secrets are possible."""
        raise NotImplementedError

    def values_by_products(
        self, product: Callable[[FloatArray], FloatArray], belief: FloatArray
    ) -> FloatArray | None:
        """Values of all columns by one product of the channel for each action; None where none are listed."""
        return None

    def even_value(self, size: int, total: int) -> Any:
        """Value of a column of `size` equal entries 1/total."""
        raise NotImplementedError

    def one_above(self, size: int, truth: Any, lie: Any, log_truth: float) -> Any:
        """Value of a column whose one largest entry is `truth` and whose other size - 1 are `lie`."""
        raise NotImplementedError

    def contributions(self, columns: RankedColumns) -> FloatArray:
        """What each entry adds to the value of its column."""
        raise NotImplementedError

    def relabelled(self, name: str) -> Self:
        """The same adversary under another name."""
        return self._with(name=name)

    def for_secrets(self, labels: Labels) -> Self:
        """The same adversary on these secrets: its own in this order, or named so if it had no labels."""
        if len(labels) != self.size:
            raise GainError(
                f"gain {self.name!r} is about {self.size} secrets but there are {len(labels)}; "
                "give one column for each secret"
            )
        if labels == self.secrets:
            return self
        order = align(labels, self.secrets, f"gain {self.name!r}", GainError)
        # A gain with labels of its own keeps them when the secrets have none.
        unlabelled = order is None and labels == tuple(range(len(labels)))
        return self if unlabelled else self._reordered(labels, order)

    def _reordered(self, labels: Labels, order: list[int] | None) -> Self:
        """The adversary with `labels`; `order` gives the present position of each (None: unchanged)."""
        return self._with(secrets=labels)

    def _with(self, **changes: Any) -> Self:
        other = copy.copy(self)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.matrix, dtype=dtype)

    def __repr__(self) -> str:
        return f"{'loss' if self.is_loss else 'gain'} {self.name!r} on {self.size} secrets"


@dataclass(frozen=True, eq=False, repr=False)
class GainMatrix(GainFunction):
    """A gain or loss given by a matrix [action, secret]."""

    table: NDArray[Any]
    actions: Labels
    secrets: Labels
    name: str = "matrix"
    is_loss: bool = False
    is_divisible: ClassVar[bool] = True
    names_actions: ClassVar[bool] = True

    @property
    def matrix(self) -> NDArray[Any]:
        return self.table

    @property
    def action_count(self) -> int:
        return len(self.table)

    @property
    def unit(self) -> Unit:
        if ((self.table >= 0) & (self.table <= 1)).all():
            return super().unit
        return "loss" if self.is_loss else "gain"

    def bounds(self) -> tuple[float, float]:
        return float(self._floats.min()), float(self._floats.max())

    def sole_best(self, belief: FloatArray) -> Hashable:
        scores = self.table.astype(np.float64) @ belief
        return unique_argmax(-scores if self.is_loss else scores, self.actions)

    @property
    def is_exact(self) -> bool:
        """Whether every gain is an integer or a fraction."""
        return self.table.dtype.kind in "iO"

    def _reordered(self, labels: Labels, order: list[int] | None) -> Self:
        table = self.table if order is None else self.table[:, order]
        other = self._with(secrets=labels, table=table)
        for cached in ("_floats", "_fractions"):
            other.__dict__.pop(cached, None)
        return other

    def on_entries(self, secrets: slice) -> GainMatrix:
        """The same adversary when only these secrets are possible."""
        return GainMatrix(
            self.table[:, secrets], self.actions, self.secrets[secrets], self.name, self.is_loss
        )

    def _scores(self, joint: Columns) -> NDArray[Any]:
        if joint.dtype == object and self.is_exact:
            return exact_matmul(self._fractions, joint)
        return np.asarray(self._floats @ joint.astype(np.float64, copy=False))

    @cached_property
    def _floats(self) -> NDArray[np.float64]:
        return np.asarray(self.table, dtype=np.float64)

    @cached_property
    def _fractions(self) -> NDArray[np.object_]:
        return fractions_of(self.table)

    def values_by_products(
        self, product: Callable[[FloatArray], FloatArray], belief: FloatArray
    ) -> FloatArray:
        rows = (product(np.asarray(row, dtype=np.float64) * belief) for row in self.table)
        return reduce(np.minimum if self.is_loss else np.maximum, rows)

    def values(self, joint: Columns) -> NDArray[Any]:
        blocks = [self._extreme(self._scores(part)) for part in self._blocks(joint)]
        return np.concatenate(blocks)

    def best(self, joint: Columns) -> list[Hashable]:
        chosen: list[Hashable] = []
        for part in self._blocks(joint):
            scores = self._scores(part)
            winners = scores.argmin(axis=0) if self.is_loss else scores.argmax(axis=0)
            chosen += [self.actions[int(w)] for w in winners]
        return chosen

    def _blocks(self, joint: Columns) -> Iterable[Columns]:
        step = max(1, BLOCK_ENTRIES // len(self.table))
        return (joint[:, start : start + step] for start in range(0, joint.shape[1], step))

    def _extreme(self, scores: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(scores.min(axis=0) if self.is_loss else scores.max(axis=0))


def unique_argmax(scores: FloatArray, actions: Labels) -> Hashable:
    """The action with the largest score; None where several have it up to rounding."""
    best = scores.max()
    winners = np.flatnonzero(scores >= best - TIE_TOLERANCE * abs(best))
    return actions[int(winners[0])] if len(winners) == 1 else None


def gain_matrix(
    table: Any,
    actions: Iterable[object] | None = None,
    name: str = "matrix",
    is_loss: bool = False,
    secrets: Iterable[object] | None = None,
) -> GainMatrix:
    """A gain or loss from rows [action, secret]; fractions stay exact, signs are allowed.

    A table's own names of rows and columns are the actions and the secrets.
    """
    word = "loss" if is_loss else "gain"
    instance("name", name, str, f"what the {word} is called, a text", GainError)
    labelled = table_of(table, word, GainError)
    entries, actions, secrets = labelled.ordered(actions, secrets, ("actions", "secrets"), GainError)
    array = _read(entries, word)
    return GainMatrix(
        array,
        labels_or_range(actions, array.shape[0], "actions", GainError),
        labels_or_range(secrets, array.shape[1], "secrets", GainError),
        name,
        is_loss,
    )


def table_adversary(given: object, argument: str = "gain", is_loss: bool | None = None) -> GainMatrix:
    """A gain or loss with a matrix: as it is, from a closed form, or from rows [action, secret].

    `is_loss` says which of the two is wanted; None takes either.
    """
    if isinstance(given, GainMatrix):
        found = given
    elif isinstance(given, GainFunction):
        found = gain_matrix(given.matrix, None, given.name, given.is_loss, given.secrets)
    elif given is None or isinstance(given, str | bytes | int | float | complex):
        fix = "give sv.losses.…" if is_loss else "give sv.gains.…"
        raise GainError(f"{argument} is {abbreviated(given)}; {fix}, or rows of numbers [action, secret]")
    else:
        found = gain_matrix(given, is_loss=bool(is_loss))
    if is_loss is not None and found.is_loss != is_loss:
        word, fix = ("gain", "its negative") if is_loss else ("loss", "sv.gains.from_loss of it")
        raise GainError(f"{argument} is the {word} {found.name!r}; give {fix}")
    return found


def labels_of_secrets(secrets: object) -> Labels:
    """Secrets that a gain is read against: labels, in a form of ours or any other, or how many there are."""
    listed = isinstance(secrets, tuple | range | LazyLabels) and iterable(secrets)
    return secrets if listed else secret_labels(secrets, "secrets")  # type: ignore[return-value]


def secret_labels(secrets: object, argument: str = "n") -> Labels:
    """Labels of the secrets: 0…n-1, or the given ones."""
    return labels_of(secrets, argument, "secrets", GainError)


def number_of(argument: str, value: object) -> Any:
    """A number of a gain or loss: exact where it is written exactly, else a finite float."""
    try:
        number = as_fraction(value) if is_exact(value) else finite(argument, value, GainError)
    except ValueError:
        raise GainError(f"{argument}: {abbreviated(value)} is not a number") from None
    require_float(argument, number, GainError)
    return number


def require_table(actions: int, secrets: int) -> None:
    """Refuse a table of gains or losses that would not fit in memory."""
    way = "group the secrets, or use a closed form such as sv.gains.identity"
    require_size(actions * secrets, LARGEST_TABLE, f"gains of {actions} actions on {secrets} secrets", way)


def _read(table: Any, word: str) -> NDArray[Any]:
    if isinstance(table, np.ndarray) and table.dtype == np.uint64:
        table = table.astype(object)  # beyond the range of int64
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.size and table.dtype.kind in "fiub":
        array: NDArray[Any] = table.astype(np.float64 if table.dtype.kind == "f" else np.int64)
        return _finite(array, word)
    try:
        rows = [list(row) for row in table]
    except TypeError:
        raise GainError(f"{word} is {abbreviated(table)}; give one row of numbers for each action") from None
    if isinstance(table, np.ndarray) and table.ndim != 2:
        raise GainError(f"{word} has shape {table.shape}; give one row of numbers for each action")
    if not rows or not rows[0]:
        raise GainError(f"{word} is empty; give at least one action and one secret")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise GainError(
                f"row {i} of the {word} has {len(row)} entries but row 0 has {len(rows[0])}; "
                "give one for each secret"
            )
    exact = all(is_exact(value) for row in rows for value in row)
    try:
        if exact:
            return fractions_of(rows)
    except ValueError as problem:
        raise GainError(f"{word} has an entry that is not a number: {problem}") from None
    return _finite(floats(rows, word, GainError, "entries must be numbers"), word)


def _finite(array: NDArray[Any], word: str) -> NDArray[Any]:
    broken = np.argwhere(~np.isfinite(array))
    if len(broken):
        i, j = map(int, broken[0])
        raise GainError(f"row {i} of the {word} has {array[i, j]} for secret {j}; entries must be finite")
    return array
