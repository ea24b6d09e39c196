"""Loss functions made from others, and what each does to the expected loss (Fernandes, eqs 6.3-6.17).

With U(π, C, ℓ) the expected loss of somebody who chooses the best action for each output: scaling by a ≥ 0
gives a·U, adding q(x) gives U + π·q, and combining two losses with weights gives the weighted sum of their U.
None of it changes which mechanism is best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GainError
from sievert.measures._gain_function import (
    LARGEST_TABLE,
    GainMatrix,
    gain_matrix,
    number_of,
    require_table,
    secret_labels,
    table_adversary,
)
from sievert.numerics import (
    abbreviated,
    fractions_of,
    require_size,
)
from sievert.spaces import by_label, label

__all__ = ["canonical", "combined", "lifted", "restricted", "scaled", "shifted", "undominated"]


def scaled(loss: GainMatrix, factor: object) -> GainMatrix:
    """Every loss times a factor ≥ 0.

    Parameters
    ----------
    loss : a loss function with finitely many actions
    factor : at least 0; an exact number keeps an exact loss exact

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> from sievert.measures.losses import absolute
    >>> scaled(absolute(3), "1/2").matrix[0].tolist()
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 1)]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    number = number_of("factor", factor)
    if not 0 <= number < math.inf:
        raise GainError(f"factor is {abbreviated(factor)}; it must be a finite number ≥ 0")
    with np.errstate(over="ignore"):
        table = _exact_if(loss, number) * number
    if table.dtype != object and not np.isfinite(table).all():
        raise GainError(f"factor is {abbreviated(factor)}; the losses times that are no longer numbers")
    return _like(loss, table, f"{factor} × {loss.name}")


def shifted(loss: GainMatrix, amounts: object) -> GainMatrix:
    """An amount added whatever the action: one number, or one for each secret.

    Parameters
    ----------
    loss : a loss function with finitely many actions
    amounts : one number, or one for each secret in order or by label

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> from sievert.measures.losses import bayes_risk
    >>> shifted(bayes_risk(2), [0, 3]).matrix.tolist()
    [[Fraction(0, 1), Fraction(4, 1)], [Fraction(1, 1), Fraction(3, 1)]]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    single = isinstance(amounts, str | int | float | Fraction | np.generic)
    items = [amounts] * loss.size if single else by_label(amounts, loss.secrets, "amounts", GainError)
    numbers = [number_of("amounts", item) for item in items]
    row = np.empty(loss.size, dtype=object)
    row[:] = numbers
    exact = loss.is_exact and all(isinstance(number, Fraction) for number in numbers)
    table = loss._fractions if exact else np.asarray(loss.table, dtype=np.float64)
    return _like(loss, table + (row if exact else row.astype(np.float64)), f"{loss.name} shifted")


def combined(first: GainMatrix, second: GainMatrix, weights: tuple[object, object] = (1, 1)) -> GainMatrix:
    """Two decisions at once: actions are pairs, losses add with weights ≥ 0.

    Parameters
    ----------
    first, second : two losses about the same secrets
    weights : what each counts for

    Returns
    -------
    GainMatrix
        An action is one of each.

    Notes
    -----
    Cost: O(actions·other actions·secrets).

    References
    ----------
    Fernandes, eq 6.6.

    Examples
    --------
    >>> from sievert.measures.losses import bayes_risk, threshold
    >>> combined(bayes_risk(2), threshold(2, 1)).matrix.shape
    (4, 2)
    """
    first, second = (table_adversary(item, "loss", is_loss=True) for item in (first, second))
    other = second.for_secrets(first.secrets)
    if not isinstance(weights, list | tuple) or len(weights) != 2:
        raise GainError(f"weights is {abbreviated(weights)}; give two numbers ≥ 0, one for each loss")
    require_size(
        len(first.actions) * len(other.actions) * first.size,
        LARGEST_TABLE,
        "the losses of all pairs of actions",
        "combine fewer actions",
    )
    a, b = (scaled(loss, weight) for loss, weight in zip((first, other), weights, strict=True))
    table = (a.table[:, None, :] + b.table[None, :, :]).reshape(-1, first.size)
    actions = [(u, v) for u in first.actions for v in other.actions]
    return gain_matrix(table, actions, f"{first.name} and {second.name}", is_loss=True, secrets=first.secrets)


def canonical(loss: GainMatrix) -> GainMatrix:
    """Without duplicate and dominated actions, and with 0 for the best action of every secret.

    Parameters
    ----------
    loss : a loss function with finitely many actions

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions²·secrets).

    Examples
    --------
    >>> from sievert.measures.losses import matrix
    >>> canonical(matrix([[0, 1, 1], [1, 2, 3]])).matrix.tolist()
    [[Fraction(0, 1), Fraction(0, 1), Fraction(0, 1)]]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    table = loss.table
    kept = sorted(undominated(table))
    rest = table[kept]
    return gain_matrix(
        rest - rest.min(axis=0),
        [loss.actions[w] for w in kept],
        loss.name,
        is_loss=True,
        secrets=loss.secrets,
    )


def undominated(table: NDArray[Any]) -> list[int]:
    """Actions that no other one is always at least as good as, best sums first; of equal ones the first."""
    kept: list[int] = []
    for w in sorted(range(len(table)), key=lambda w: (table[w].sum(), w)):
        if not any((table[v] <= table[w]).all() for v in kept):
            kept.append(w)
    return kept


def restricted(loss: GainMatrix, secrets: Iterable[object]) -> GainMatrix:
    """The loss when only some secrets are possible.

    Parameters
    ----------
    loss : a loss function with finitely many actions
    secrets : those of its secrets that are possible

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> from sievert.measures.losses import absolute
    >>> restricted(absolute(3), [0, 2]).matrix.tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    chosen = [_position(loss, secret) for secret in secret_labels(secrets)]
    names = [loss.secrets[i] for i in chosen]
    return gain_matrix(loss.table[:, chosen], loss.actions, loss.name, is_loss=True, secrets=names)


def lifted(loss: GainMatrix, secrets: Iterable[object]) -> GainMatrix:
    """The loss on more secrets, 0 on the new ones: extended on the old ones.

    Parameters
    ----------
    loss : a loss function with finitely many actions
    secrets : the new secrets, among which are all of the loss

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    References
    ----------
    Fernandes, Def 6.5.3.

    Examples
    --------
    >>> from sievert.measures.losses import bayes_risk
    >>> lifted(bayes_risk(["a", "b"]), ["a", "x", "b"]).matrix.tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    labels = secret_labels(secrets)
    require_table(len(loss.table), len(labels))
    names = list(labels)
    missing = [secret for secret in loss.secrets if secret not in names]
    if missing:
        raise GainError(
            f"secrets: {abbreviated(missing[0])} of the loss is not among them; a lift only adds secrets"
        )
    table = np.zeros((len(loss.table), len(names)), dtype=loss.table.dtype)
    if table.dtype == object:
        table = fractions_of(table)
    table[:, [names.index(secret) for secret in loss.secrets]] = loss.table
    return gain_matrix(table, loss.actions, loss.name, is_loss=True, secrets=names)


def _position(loss: GainMatrix, secret: object) -> int:
    try:
        return list(loss.secrets).index(label(secret))
    except ValueError:
        raise GainError(f"secrets: {abbreviated(secret)} is not a secret of the loss {loss.name!r}") from None


def _exact_if(loss: GainMatrix, number: object) -> NDArray[Any]:
    if loss.is_exact and isinstance(number, Fraction):
        return loss._fractions
    return np.asarray(loss.table, dtype=np.float64)


def _like(loss: GainMatrix, table: NDArray[Any], name: str) -> GainMatrix:
    return gain_matrix(table, loss.actions, name, is_loss=True, secrets=loss.secrets)
