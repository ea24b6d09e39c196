"""The standard loss functions: what an adversary, or a user of the data, wants to be small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GainError
from sievert.measures import gains
from sievert.measures._adversary import (
    LARGEST_TABLE,
    Guessing,
    MatrixAdversary,
    Shannon,
    matrix_adversary,
    number_of,
    require_table,
    secret_labels,
    table_adversary,
)
from sievert.numerics import (
    as_fraction,
    brief,
    fractions_of,
    is_exact,
    non_negative,
    probability,
    require_size,
)
from sievert.spaces import Labels, Metric, by_label, label, metric_of

__all__ = [
    "absolute",
    "bayes_risk",
    "canonical",
    "combined",
    "distance",
    "guessing",
    "lifted",
    "matrix",
    "pinball",
    "property",
    "restricted",
    "scaled",
    "shannon",
    "shifted",
    "squared",
    "threshold",
    "tolerance",
]


def absolute(n: int | Iterable[float], guesses: Iterable[float] | None = None) -> MatrixAdversary:
    """|guess - secret| on 0…n-1, or on the given numbers; guesses are the secrets unless given.

    >>> absolute([0, 1, 5]).matrix[0].tolist()
    [0, 1, 5]
    """
    return _of_differences(n, guesses, "absolute", np.abs)


def squared(n: int | Iterable[float], guesses: Iterable[float] | None = None) -> MatrixAdversary:
    """(guess - secret)² on 0…n-1, or on the given numbers; guesses are the secrets unless given.

    >>> squared(3).matrix[0].tolist()
    [0, 1, 4]
    >>> squared(2, guesses=[0.5]).matrix.tolist()
    [[0.25, 0.25]]
    """
    return _of_differences(n, guesses, "squared", lambda difference: difference**2)


def pinball(
    n: int | Iterable[float], quantile: object, guesses: Iterable[float] | None = None
) -> MatrixAdversary:
    """quantile·(secret - guess) below the secret, (1 - quantile)·(guess - secret) above it.

    The best guess is that quantile of what is believed.

    >>> pinball(3, "1/4").matrix[1].tolist()
    [Fraction(3, 4), Fraction(0, 1), Fraction(1, 4)]
    """
    try:
        level: Any = (
            as_fraction(quantile) if is_exact(quantile) else probability("quantile", quantile, GainError)
        )
    except ValueError:
        level = -1
    if not 0 <= level <= 1:
        raise GainError(f"quantile is {brief(quantile)}; it must be a number from 0 to 1")
    return _of_differences(
        n,
        guesses,
        f"pinball {_brief(quantile)}",
        lambda difference: np.where(difference < 0, -difference * level, difference * (1 - level)),
    )


def tolerance(
    n: int | Iterable[float], radius: float, guesses: Iterable[float] | None = None
) -> MatrixAdversary:
    """0 for a guess within a radius of the secret, 1 for any other.

    >>> tolerance(4, 1).matrix[0].tolist()
    [0, 0, 1, 1]
    """
    if not isinstance(radius, Fraction):
        radius = non_negative("radius", radius, GainError, infinite=True)
    return _of_differences(
        n,
        guesses,
        f"tolerance {_brief(radius)}",
        lambda difference: (np.abs(difference) > radius).astype(np.int64),
    )


def threshold(n: int | Iterable[float], at: float) -> MatrixAdversary:
    """1 for a wrong answer to whether the secret is at least a number, 0 for the right one.

    >>> threshold(4, 2).matrix.tolist()
    [[0, 0, 1, 1], [1, 1, 0, 0]]
    """
    labels = secret_labels(n)
    above = _differences(labels, [at])[0] <= 0
    table = np.array([above, ~above], dtype=np.int64)
    return matrix_adversary(
        table, ["below", "at least"], f"threshold {_brief(at)}", is_loss=True, secrets=labels
    )


def distance(metric: Metric) -> MatrixAdversary:
    """Distance between guess and secret in a metric, whose points are both.

    >>> from sievert.spaces import metrics
    >>> distance(metrics.cycle(4)).matrix[0].tolist()
    [0.0, 1.0, 2.0, 1.0]
    """
    metric = metric_of(metric)
    return matrix_adversary(metric.matrix, metric.points, "distance", is_loss=True, secrets=metric.points)


def _brief(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of_differences(
    n: int | Iterable[float],
    guesses: Iterable[float] | None,
    name: str,
    loss: Callable[[NDArray[Any]], NDArray[Any]],
) -> MatrixAdversary:
    labels = secret_labels(n)
    actions = labels if guesses is None else secret_labels(guesses)
    table = loss(_differences(labels, actions))
    if table.dtype == object:
        table = fractions_of(table)
    return matrix_adversary(table, actions, name, is_loss=True, secrets=labels)


def _differences(labels: Labels, guesses: Sequence[Any] | None = None) -> NDArray[Any]:
    """guess - secret, [guess, secret]."""
    require_table(len(labels) if guesses is None else len(guesses), len(labels))
    chosen = list(labels if guesses is None else guesses)
    for item in [*labels, *chosen]:
        number = isinstance(item, int | float | Fraction) and not isinstance(item, bool)
        if not number or not -math.inf < item < math.inf:
            raise GainError(
                f"the value {brief(item)} is not a number, so a difference from it is undefined; use Bayes "
                "risk, a distance or a matrix of your own"
            )
    return np.asarray(np.array(chosen)[:, None] - np.array(labels)[None, :])


def bayes_risk(n: int | Iterable[object]) -> MatrixAdversary:
    """1 for a wrong guess, 0 for the right one."""
    labels = secret_labels(n)
    require_table(len(labels), len(labels))
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


# ── Loss functions made from others, and what each does to the expected loss (Fernandes, eqs 6.3-6.17) ──────
# With U(π, C, ℓ) the expected loss of somebody who chooses the best action for each output: scaling by a ≥
# 0 gives a·U, adding q(x) gives U + π·q, and combining two losses with weights gives the weighted sum of
# their U. None of it changes which mechanism is best.


def scaled(loss: MatrixAdversary, factor: object) -> MatrixAdversary:
    """Every loss times a factor ≥ 0.

    >>> from sievert.measures.losses import absolute
    >>> scaled(absolute(3), "1/2").matrix[0].tolist()
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 1)]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    number = number_of("factor", factor)
    if not 0 <= number < math.inf:
        raise GainError(f"factor is {brief(factor)}; it must be a finite number ≥ 0")
    with np.errstate(over="ignore"):
        table = _exact_if(loss, number) * number
    if table.dtype != object and not np.isfinite(table).all():
        raise GainError(f"factor is {brief(factor)}; the losses times that are no longer numbers")
    return _like(loss, table, f"{factor} × {loss.name}")


def shifted(loss: MatrixAdversary, amounts: object) -> MatrixAdversary:
    """An amount added whatever the action: one number, or one for each secret.

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


def combined(
    first: MatrixAdversary, second: MatrixAdversary, weights: tuple[object, object] = (1, 1)
) -> MatrixAdversary:
    """Two decisions at once: actions are pairs, losses add with weights ≥ 0 (Fernandes, eq 6.6).

    >>> from sievert.measures.losses import bayes_risk, threshold
    >>> combined(bayes_risk(2), threshold(2, 1)).matrix.shape
    (4, 2)
    """
    first, second = (table_adversary(item, "loss", is_loss=True) for item in (first, second))
    other = second.for_secrets(first.secrets)
    if not isinstance(weights, list | tuple) or len(weights) != 2:
        raise GainError(f"weights is {brief(weights)}; give two numbers ≥ 0, one for each loss")
    require_size(
        len(first.actions) * len(other.actions) * first.size,
        LARGEST_TABLE,
        "the losses of all pairs of actions",
        "combine fewer actions",
    )
    a, b = (scaled(loss, weight) for loss, weight in zip((first, other), weights, strict=True))
    table = (a.table[:, None, :] + b.table[None, :, :]).reshape(-1, first.size)
    actions = [(u, v) for u in first.actions for v in other.actions]
    return matrix_adversary(
        table, actions, f"{first.name} and {second.name}", is_loss=True, secrets=first.secrets
    )


def canonical(loss: MatrixAdversary) -> MatrixAdversary:
    """Without duplicate and dominated actions, and with 0 for the best action of every secret.

    >>> from sievert.measures.losses import matrix
    >>> canonical(matrix([[0, 1, 1], [1, 2, 3]])).matrix.tolist()
    [[Fraction(0, 1), Fraction(0, 1), Fraction(0, 1)]]
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    table = loss.table
    kept: list[int] = []
    for w in sorted(range(len(table)), key=lambda w: (table[w].sum(), w)):
        if not any((table[v] <= table[w]).all() for v in kept):
            kept.append(w)
    kept.sort()
    rest = table[kept]
    return matrix_adversary(
        rest - rest.min(axis=0),
        [loss.actions[w] for w in kept],
        loss.name,
        is_loss=True,
        secrets=loss.secrets,
    )


def restricted(loss: MatrixAdversary, secrets: Iterable[object]) -> MatrixAdversary:
    """The loss when only some secrets are possible."""
    loss = table_adversary(loss, "loss", is_loss=True)
    chosen = [_position(loss, secret) for secret in secret_labels(secrets)]
    names = [loss.secrets[i] for i in chosen]
    return matrix_adversary(loss.table[:, chosen], loss.actions, loss.name, is_loss=True, secrets=names)


def lifted(loss: MatrixAdversary, secrets: Iterable[object]) -> MatrixAdversary:
    """The loss on more secrets, 0 on the new ones: extended on the old ones (Fernandes, Def 6.5.3).

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
            f"secrets: {brief(missing[0])} of the loss is not among them; a lift only adds secrets"
        )
    table = np.zeros((len(loss.table), len(names)), dtype=loss.table.dtype)
    if table.dtype == object:
        table = fractions_of(table)
    table[:, [names.index(secret) for secret in loss.secrets]] = loss.table
    return matrix_adversary(table, loss.actions, loss.name, is_loss=True, secrets=names)


def _position(loss: MatrixAdversary, secret: object) -> int:
    try:
        return list(loss.secrets).index(label(secret))
    except ValueError:
        raise GainError(f"secrets: {brief(secret)} is not a secret of the loss {loss.name!r}") from None


def _exact_if(loss: MatrixAdversary, number: object) -> NDArray[Any]:
    if loss.is_exact and isinstance(number, Fraction):
        return loss._fractions
    return np.asarray(loss.table, dtype=np.float64)


def _like(loss: MatrixAdversary, table: NDArray[Any], name: str) -> MatrixAdversary:
    return matrix_adversary(table, loss.actions, name, is_loss=True, secrets=loss.secrets)
