"""The standard loss functions: what an adversary, or a user of the data, wants to be small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import AnyArray, FloatArray
from sievert.errors import GainError
from sievert.measures import gains
from sievert.measures._gain_function import (
    GainMatrix,
    gain_matrix,
    require_table,
    secret_labels,
)
from sievert.measures._gain_functions import Guessing, Shannon
from sievert.measures._loss_algebra import canonical, combined, lifted, restricted, scaled, shifted
from sievert.measures._loss_classes import classify_loss
from sievert.numerics import (
    abbreviated,
    as_fraction,
    fractions_of,
    is_exact,
    non_negative,
    probability,
    require_float,
)
from sievert.spaces import Labels, Metric, metric_of

__all__ = [
    "absolute",
    "bayes_risk",
    "canonical",
    "classify_loss",
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
    "squared_distance",
    "threshold",
    "tolerance",
    "within",
]

# Distances and their squares that floats hold without rounding.
LARGEST_WHOLE = 2.0**53


def __dir__() -> list[str]:
    return sorted(__all__)


def absolute(n: int | Iterable[float], guesses: Iterable[float] | None = None) -> GainMatrix:
    """|guess - secret| on 0…n-1, or on the given numbers; guesses are the secrets unless given.

    Parameters
    ----------
    n : number of secrets 0…n-1, or the numbers themselves
    guesses : numbers that may be guessed; by default the secrets

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(guesses·secrets).

    Examples
    --------
    >>> absolute([0, 1, 5]).matrix[0].tolist()
    [0, 1, 5]
    """
    return _of_differences(n, guesses, "absolute", np.abs)


def squared(n: int | Iterable[float], guesses: Iterable[float] | None = None) -> GainMatrix:
    """(guess - secret)² on 0…n-1, or on the given numbers; guesses are the secrets unless given.

    Parameters
    ----------
    n : number of secrets 0…n-1, or the numbers themselves
    guesses : numbers that may be guessed; by default the secrets

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(guesses·secrets).

    Examples
    --------
    >>> squared(3).matrix[0].tolist()
    [0, 1, 4]
    >>> squared(2, guesses=[0.5]).matrix.tolist()
    [[0.25, 0.25]]
    """
    return _of_differences(n, guesses, "squared", lambda difference: difference**2)


def pinball(n: int | Iterable[float], quantile: object, guesses: Iterable[float] | None = None) -> GainMatrix:
    """quantile·(secret - guess) below the secret, (1 - quantile)·(guess - secret) above it.

    The best guess is that quantile of what is believed.

    Parameters
    ----------
    n : number of secrets 0…n-1, or the numbers themselves
    quantile : from 0 to 1; an exact number gives an exact loss
    guesses : numbers that may be guessed; by default the secrets

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(guesses·secrets).

    Examples
    --------
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
        raise GainError(f"quantile is {abbreviated(quantile)}; it must be a number from 0 to 1")
    return _of_differences(
        n,
        guesses,
        f"pinball {_brief(quantile)}",
        lambda difference: np.where(difference < 0, -difference * level, difference * (1 - level)),
    )


def tolerance(n: int | Iterable[float], radius: float, guesses: Iterable[float] | None = None) -> GainMatrix:
    """0 for a guess within a radius of the secret, 1 for any other.

    Parameters
    ----------
    n : number of secrets 0…n-1, or the numbers themselves
    radius : how far from the secret a guess may be
    guesses : numbers that may be guessed; by default the secrets

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(guesses·secrets).

    Examples
    --------
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


def threshold(n: int | Iterable[float], at: float) -> GainMatrix:
    """1 for a wrong answer to whether the secret is at least a number, 0 for the right one.

    Parameters
    ----------
    n : number of secrets 0…n-1, or the numbers themselves
    at : the number that is asked about

    Returns
    -------
    GainMatrix
        With the actions "below" and "at least".

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> threshold(4, 2).matrix.tolist()
    [[0, 0, 1, 1], [1, 1, 0, 0]]
    """
    labels = secret_labels(n)
    above = _differences(labels, [at])[0] <= 0
    table = np.array([above, ~above], dtype=np.int64)
    return gain_matrix(table, ["below", "at least"], f"threshold {_brief(at)}", is_loss=True, secrets=labels)


def distance(metric: Metric) -> GainMatrix:
    """Distance between guess and secret in a metric, whose points are both.

    Parameters
    ----------
    metric : Metric of finite diameter

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(n²) for n points.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> distance(metrics.cycle(4)).matrix[0].tolist()
    [0, 1, 2, 1]
    """
    metric = metric_of(metric)
    return gain_matrix(_whole(metric.matrix), metric.points, "distance", is_loss=True, secrets=metric.points)


def squared_distance(metric: Metric) -> GainMatrix:
    """The square of the distance between guess and secret in a metric, whose points are both.

    Parameters
    ----------
    metric : Metric of finite diameter

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(n²) for n points.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> squared_distance(metrics.cycle(4)).matrix[0].tolist()
    [0, 1, 4, 1]
    """
    metric = metric_of(metric)
    with np.errstate(over="ignore"):
        table = _whole(metric.matrix**2)
    return gain_matrix(table, metric.points, "squared distance", is_loss=True, secrets=metric.points)


def within(metric: Metric, radius: float) -> GainMatrix:
    """0 for a point within a radius of the secret, 1 for any other.

    Parameters
    ----------
    metric : Metric
    radius : how far from the secret a guess may be

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(n²) for n points.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> within(metrics.cycle(4), 1).matrix[0].tolist()
    [0, 0, 1, 0]
    """
    metric = metric_of(metric)
    radius = non_negative("radius", radius, GainError, infinite=True)
    table = (metric.matrix > radius).astype(np.int64)
    return gain_matrix(
        table, metric.points, f"off by more than {radius:g}", is_loss=True, secrets=metric.points
    )


def _whole(table: FloatArray) -> AnyArray:
    """Whole numbers as such, so that what is made of them stays exact."""
    inside = np.isfinite(table) & (np.abs(table) < LARGEST_WHOLE)
    return table.astype(np.int64) if (inside & (table == np.floor(table))).all() else table


def _brief(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of_differences(
    n: int | Iterable[float],
    guesses: Iterable[float] | None,
    name: str,
    loss: Callable[[NDArray[Any]], NDArray[Any]],
) -> GainMatrix:
    labels = secret_labels(n)
    actions = labels if guesses is None else secret_labels(guesses)
    table = loss(_differences(labels, actions))
    if table.dtype == object:
        table = fractions_of(table)
    return gain_matrix(table, actions, name, is_loss=True, secrets=labels)


def _differences(labels: Labels, guesses: Sequence[Any] | None = None) -> NDArray[Any]:
    """guess - secret, [guess, secret]."""
    require_table(len(labels) if guesses is None else len(guesses), len(labels))
    chosen = list(labels if guesses is None else guesses)
    for item in [*labels, *chosen]:
        number = isinstance(item, int | float | Fraction) and not isinstance(item, bool)
        if not number or not -math.inf < item < math.inf:
            raise GainError(
                f"the value {abbreviated(item)} is not a number, so a difference from it is undefined; "
                f"use Bayes "
                "risk, a distance or a matrix of your own"
            )
        require_float("a value", item, GainError)
    return np.asarray(np.array(chosen)[:, None] - np.array(labels)[None, :])


def bayes_risk(n: int | Iterable[object]) -> GainMatrix:
    """1 for a wrong guess, 0 for the right one.

    Parameters
    ----------
    n : number of secrets, or their labels

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(n²).

    Examples
    --------
    >>> bayes_risk(2).matrix.tolist()
    [[0, 1], [1, 0]]
    """
    labels = secret_labels(n)
    require_table(len(labels), len(labels))
    table = 1 - np.eye(len(labels), dtype=np.int64)
    return gain_matrix(table, labels, "bayes risk", is_loss=True, secrets=labels)


def property(
    secrets: int | Iterable[object], holds: Callable[[Any], object] | Iterable[object]
) -> GainMatrix:
    """1 for a wrong answer to whether the secret has a property (`sv.gains.property`), 0 for the right one.

    Parameters
    ----------
    secrets : number of secrets, or their labels
    holds : a function of the secret, or the secrets that have the property

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(secrets).

    Examples
    --------
    >>> property([10, 20, 60, 100], [60, 100]).matrix
    array([[1, 1, 0, 0],
           [0, 0, 1, 1]])
    """
    gain = gains.property(secrets, holds)
    return gain_matrix(1 - gain.table, gain.actions, "property", is_loss=True, secrets=gain.secrets)


def guessing(n: int | Iterable[object]) -> Guessing:
    """Number of guesses until right (guessing entropy), evaluated by sorting.

    Parameters
    ----------
    n : number of secrets, or their labels

    Returns
    -------
    Guessing

    Notes
    -----
    Cost: O(n·log n) for each output.

    Examples
    --------
    >>> import sievert as sv
    >>> float(sv.vulnerability([0.5, 0.3, 0.2], sv.losses.guessing(3)))
    1.7
    """
    return Guessing(secret_labels(n))


def shannon(n: int | Iterable[object]) -> Shannon:
    """Shannon entropy in bits, evaluated in closed form.

    Parameters
    ----------
    n : number of secrets, or their labels

    Returns
    -------
    Shannon

    Notes
    -----
    Cost: O(n) for each output.

    Examples
    --------
    >>> import sievert as sv
    >>> float(sv.vulnerability([0.5, 0.25, 0.25], sv.losses.shannon(3)))
    1.5
    """
    return Shannon(secret_labels(n))


def matrix(
    table: Any,
    actions: Iterable[object] | None = None,
    name: str = "matrix",
    secrets: Iterable[object] | None = None,
) -> GainMatrix:
    """A loss function of your own: rows are actions, columns secrets.

    Parameters
    ----------
    table : [action, secret], numbers or exact texts such as "1/2"
    actions : labels of the rows; by default 0, 1, 2, …
    name : what the loss is called
    secrets : labels of the columns; by default 0, 1, 2, …

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> matrix([[0, 1], [5, 0]], actions=["deny", "grant"]).actions
    ('deny', 'grant')
    """
    return gain_matrix(table, actions, name, is_loss=True, secrets=secrets)
