"""Adversaries: what an attacker wants, as a function of what they believe.

Every measure here is evaluated on columns of the joint distribution J[x, y] = π_x C[x, y] without
normalising them, because each is homogeneous: the value of a column is its probability times the value
of its posterior. Summing over columns gives the average case with no division by zero
(Fernandes, Thm 2.1).
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GainError
from sievert.numerics.checks import brief, instance, require_size
from sievert.numerics.rationals import exact_matmul, fractions_of, is_exact
from sievert.spaces.labels import Labels, LazyLabels, align, labels_of, labels_or_range
from sievert.spaces.tabular import floats, table_of

__all__ = [
    "Adversary",
    "MatrixAdversary",
    "labels_of_secrets",
    "matrix_adversary",
    "require_table",
    "secret_labels",
    "table_adversary",
]

BLOCK_ENTRIES = 16_000_000
# Gains and losses are stored as tables of up to this many numbers (800 MB).
LARGEST_TABLE = 100_000_000

Columns = NDArray[Any]  # [n, m] joint probabilities, float64 or object


class Adversary:
    """What an attacker maximises (a gain) or minimises (a loss).

    Subclasses give `values(joint)`, the attacker's unnormalised optimum for each column, and
    `best(joint)`, the action that reaches it. Both must be homogeneous in the column.

    Attributes
    ----------
    name : what the adversary is called in results
    secrets : labels of the secrets, in the order of the columns' entries
    is_loss : whether small values are good for the attacker
    """

    name: str
    secrets: Labels
    is_loss: bool = False

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
class MatrixAdversary(Adversary):
    """A gain or loss given by a matrix [action, secret]."""

    table: NDArray[Any]
    actions: Labels
    secrets: Labels
    name: str = "matrix"
    is_loss: bool = False

    @property
    def matrix(self) -> NDArray[Any]:
        return self.table

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

    def on_entries(self, secrets: slice) -> MatrixAdversary:
        """The same adversary when only these secrets are possible."""
        return MatrixAdversary(
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


def matrix_adversary(
    table: Any,
    actions: Iterable[object] | None = None,
    name: str = "matrix",
    is_loss: bool = False,
    secrets: Iterable[object] | None = None,
) -> MatrixAdversary:
    """A gain or loss from rows [action, secret]; fractions stay exact, signs are allowed.

    A table's own names of rows and columns are the actions and the secrets.
    """
    word = "loss" if is_loss else "gain"
    instance("name", name, str, f"what the {word} is called, a text", GainError)
    labelled = table_of(table, word, GainError)
    entries, actions, secrets = labelled.ordered(actions, secrets, ("actions", "secrets"), GainError)
    array = _read(entries, word)
    return MatrixAdversary(
        array,
        labels_or_range(actions, array.shape[0], "actions", GainError),
        labels_or_range(secrets, array.shape[1], "secrets", GainError),
        name,
        is_loss,
    )


def table_adversary(given: object, argument: str = "gain", is_loss: bool | None = None) -> MatrixAdversary:
    """A gain or loss with a matrix: as it is, from a closed form, or from rows [action, secret].

    `is_loss` says which of the two is wanted; None takes either.
    """
    if isinstance(given, MatrixAdversary):
        found = given
    elif isinstance(given, Adversary):
        found = matrix_adversary(given.matrix, None, given.name, given.is_loss, given.secrets)
    elif given is None or isinstance(given, str | bytes | int | float | complex):
        fix = "give sv.losses.…" if is_loss else "give sv.gains.…"
        raise GainError(f"{argument} is {brief(given)}; {fix}, or rows of numbers [action, secret]")
    else:
        found = matrix_adversary(given, is_loss=bool(is_loss))
    if is_loss is not None and found.is_loss != is_loss:
        word, fix = ("gain", "its negative") if is_loss else ("loss", "sv.gains.from_loss of it")
        raise GainError(f"{argument} is the {word} {found.name!r}; give {fix}")
    return found


def labels_of_secrets(secrets: object) -> Labels:
    """Secrets that a gain is read against: labels, in a form of ours or any other, or how many there are."""
    return secrets if isinstance(secrets, tuple | range | LazyLabels) else secret_labels(secrets, "secrets")


def secret_labels(secrets: object, argument: str = "n") -> Labels:
    """Labels of the secrets: 0…n-1, or the given ones."""
    return labels_of(secrets, argument, "secrets", GainError)


def require_table(actions: int, secrets: int) -> None:
    """Refuse a table of gains or losses that would not fit in memory."""
    way = "group the secrets, or use a closed form such as sv.gains.identity"
    require_size(actions * secrets, LARGEST_TABLE, f"gains of {actions} actions on {secrets} secrets", way)


def _read(table: Any, word: str) -> NDArray[Any]:
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.size and table.dtype.kind in "fiub":
        array: NDArray[Any] = table.astype(np.float64 if table.dtype.kind == "f" else np.int64)
        return _finite(array, word)
    try:
        rows = [list(row) for row in table]
    except TypeError:
        raise GainError(f"{word} is {brief(table)}; give one row of numbers for each action") from None
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
