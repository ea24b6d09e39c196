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
from functools import cached_property
from itertools import combinations, permutations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GainError
from sievert.numerics import (
    as_fraction,
    brief,
    exact_matmul,
    finite,
    fractions_of,
    instance,
    is_exact,
    is_whole,
    require_float,
    require_size,
)
from sievert.spaces import Labels, LazyLabels, align, floats, iterable, labels_of, labels_or_range, table_of

__all__ = [
    "Adversary",
    "Belief",
    "Guessing",
    "Identity",
    "MatrixAdversary",
    "Shannon",
    "Symmetric",
    "Tries",
    "as_gain",
    "labels_of_secrets",
    "matrix_adversary",
    "number_of",
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


def as_gain(gain: object, secrets: Labels) -> Adversary:
    """An adversary about these secrets: None is the one-try guess; a matrix [action, secret] is a gain."""
    secrets = labels_of_secrets(secrets)
    if gain is None:
        return Identity(secrets)
    adversary = gain if isinstance(gain, Adversary) else table_adversary(gain)
    return adversary.for_secrets(secrets)


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
        raise GainError(f"{argument}: {brief(value)} is not a number") from None
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


# ── Adversaries with very many or infinitely many actions, whose optimum has a closed form ──────────────────

LARGEST_ACTIONS = 200_000
FORM_ENTRIES = 1_000_000


class Symmetric(Adversary):
    """An adversary to whom all secrets are alike: the values depend on the entries, not on whose they are."""

    def on_entries(self, secrets: slice) -> Self:
        """The same adversary when only these secrets are possible."""
        return self._with(secrets=range(secrets.stop - secrets.start))


@dataclass(frozen=True, eq=False, repr=False)
class Identity(Symmetric):
    """Guess the secret in one try: gain 1 for the right guess (Bayes vulnerability)."""

    secrets: Labels
    name: str = "identity"

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
            raise GainError(f"k is {brief(self.tries)}; the number of tries must be a whole number ≥ 1")
        if not self.name:
            object.__setattr__(self, "name", "1 try" if self.tries == 1 else f"{self.tries} tries")

    @property
    def _chosen(self) -> int:
        return min(int(self.tries), self.size)

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
class Belief(Adversary):
    """A vulnerability given as a function of the belief, such as a quasi-convex one for the max case."""

    secrets: Labels
    function: Callable[[NDArray[np.float64]], float]
    name: str = "belief"
    is_loss: bool = False

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
