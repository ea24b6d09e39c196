"""The standard loss functions: what an adversary, or a user of the data, wants to be small."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GainError
from sievert.leakage import gains
from sievert.leakage.adversary import MatrixAdversary, matrix_adversary
from sievert.leakage.closed_forms import Guessing, Shannon
from sievert.leakage.gains import secret_labels
from sievert.spaces.labels import Labels

__all__ = ["absolute", "bayes_risk", "guessing", "matrix", "property", "shannon", "squared"]


def absolute(n: int | Iterable[float]) -> MatrixAdversary:
    """|guess - secret| on 0…n-1, or on the given numbers.

    >>> absolute([0, 1, 5]).matrix[0].tolist()
    [0, 1, 5]
    """
    labels = secret_labels(n)
    return matrix_adversary(np.abs(_differences(labels)), labels, "absolute", is_loss=True, secrets=labels)


def squared(n: int | Iterable[float]) -> MatrixAdversary:
    """(guess - secret)² on 0…n-1, or on the given numbers.

    >>> squared(3).matrix[0].tolist()
    [0, 1, 4]
    """
    labels = secret_labels(n)
    return matrix_adversary(_differences(labels) ** 2, labels, "squared", is_loss=True, secrets=labels)


def _differences(labels: Labels) -> NDArray[Any]:
    for item in labels:
        if isinstance(item, bool) or not isinstance(item, int | float | Fraction):
            raise GainError(f"n: the secret {item!r} is not a number, so a difference from it is undefined")
    numbers = np.array(labels)
    return np.asarray(numbers[:, None] - numbers[None, :])


def bayes_risk(n: int | Iterable[object]) -> MatrixAdversary:
    """1 for a wrong guess, 0 for the right one."""
    labels = secret_labels(n)
    table = 1 - np.eye(len(labels), dtype=np.int64)
    return matrix_adversary(table, labels, "bayes risk", is_loss=True, secrets=labels)


def property(
    secrets: int | Iterable[object], holds: Callable[[Any], object] | Iterable[object]
) -> MatrixAdversary:
    """1 for a wrong answer to whether the secret has a property (`sv.gains.property`), 0 for the right one.

    >>> property([10, 20, 60, 100], [60, 100]).matrix
    array([[1, 1, 0, 0],
           [0, 0, 1, 1]])
    """
    gain = gains.property(secrets, holds)
    return matrix_adversary(1 - gain.table, gain.actions, "property", is_loss=True, secrets=gain.secrets)


def guessing(n: int | Iterable[object]) -> Guessing:
    """Number of guesses until right (guessing entropy), evaluated by sorting."""
    return Guessing(secret_labels(n))


def shannon(n: int | Iterable[object]) -> Shannon:
    """Shannon entropy in bits, evaluated in closed form."""
    return Shannon(secret_labels(n))


def matrix(
    table: Any,
    actions: Iterable[object] | None = None,
    name: str = "matrix",
    secrets: Iterable[object] | None = None,
) -> MatrixAdversary:
    """A loss function of your own: rows are actions, columns secrets."""
    return matrix_adversary(table, actions, name, is_loss=True, secrets=secrets)
