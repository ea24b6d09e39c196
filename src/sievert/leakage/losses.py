"""The standard loss functions: what an adversary, or a user of the data, wants to be small."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GainError
from sievert.leakage import gains
from sievert.leakage.adversary import MatrixAdversary, matrix_adversary, secret_labels
from sievert.leakage.closed_forms import Guessing, Shannon
from sievert.leakage.loss_algebra import canonical, combined, lifted, restricted, scaled, shifted
from sievert.numerics.rationals import as_fraction, fractions_of, is_exact
from sievert.spaces.labels import Labels
from sievert.spaces.metric import Metric

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
        level: Any = as_fraction(quantile) if is_exact(quantile) else float(quantile)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        level = -1
    if not 0 <= level <= 1:
        raise GainError(f"quantile is {quantile!r}; it must be a number from 0 to 1")
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
    if not isinstance(radius, int | float | Fraction) or not radius >= 0:
        raise GainError(f"radius is {radius!r}; it must be a number ≥ 0")
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


def _differences(labels: Labels, guesses: Iterable[Any] | None = None) -> NDArray[Any]:
    """guess - secret, [guess, secret]."""
    chosen = list(labels if guesses is None else guesses)
    for item in [*labels, *chosen]:
        if isinstance(item, bool) or not isinstance(item, int | float | Fraction):
            raise GainError(
                f"the value {item!r} is not a number, so a difference from it is undefined; use Bayes risk, "
                "a distance or a matrix of your own"
            )
    return np.asarray(np.array(chosen)[:, None] - np.array(labels)[None, :])


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
