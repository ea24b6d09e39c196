"""Priors: what an adversary believes before the release."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels._channel import Channel
from sievert.errors import PriorError, TooLargeError
from sievert.numerics import abbreviated, as_fraction, count_of, is_exact, non_negative, readable, whole
from sievert.spaces import Labels, LazyLabels, by_label, column_of, labels_of, shown

__all__ = [
    "as_prior",
    "from_counts",
    "point",
    "uniform",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# A prior typed with six decimals is off by at most 1e-6 relative; accumulated rounding stays below 1e-9.
SUM_TOLERANCE = 1e-9
LARGEST_VECTOR = 100_000_000

Prior = NDArray[Any]  # float64, or object (Fraction) for an exact prior


def uniform(n: int) -> Prior:
    """Every one of n secrets equally likely, exactly.

    Parameters
    ----------
    n : how many secrets

    Returns
    -------
    array of fractions

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> uniform(4).tolist()
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)]
    """
    size = listed_size(whole("n", n, PriorError))
    prior = np.empty(size, dtype=object)
    prior[:] = Fraction(1, size)
    return prior


def point(n: int, secret: int) -> Prior:
    """All belief on one secret, given by its position.

    Parameters
    ----------
    n : how many secrets
    secret : the position of the one

    Returns
    -------
    array of fractions

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> point(3, 1).tolist()
    [Fraction(0, 1), Fraction(1, 1), Fraction(0, 1)]
    """
    prior = uniform(n)
    position = whole("secret", secret, PriorError, least=0, most=len(prior) - 1)
    prior[:] = Fraction(0)
    prior[position] = Fraction(1)
    return prior


def from_counts(counts: Any, labels: Labels | None = None) -> Prior:
    """Shares of counts: a list in the order of the secrets, or anything labelled together with `labels`.

    A label without a count is an error; a `collections.Counter` counts it as 0.

    Parameters
    ----------
    counts : how often each secret occurs
    labels : of the secrets, in the order wanted

    Returns
    -------
    array of fractions

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> from_counts([3, 1]).tolist()
    [Fraction(3, 4), Fraction(1, 4)]
    >>> from_counts({"no": 3, "yes": 1}, labels=("yes", "no")).tolist()
    [Fraction(1, 4), Fraction(3, 4)]
    """
    if labels is None:
        column = column_of(counts, "counts", PriorError)
        if column.named:
            raise PriorError(
                "labels is missing; counts with labels of their own need those of the secrets",
                fix="pass labels= in the order of the secrets",
            )
        given = column.values
    else:
        order = labels_of(labels, "labels", "secrets", PriorError)
        given = by_label(counts, order, "counts", PriorError)
    values = [_count(position, count) for position, count in enumerate(given)]
    total = sum(values, Fraction(0))
    if total == 0:
        raise PriorError("counts are all 0 or empty; at least one must be positive")
    prior = np.empty(len(values), dtype=object)
    prior[:] = [value / total for value in values]
    return prior


def _count(position: int, count: Any) -> Fraction:
    try:
        value = as_fraction(count)
    except ValueError:
        value = Fraction(-1)
    if value < 0:
        raise PriorError(
            f"counts: entry {position} is {abbreviated(count)}; counts must be finite numbers ≥ 0"
        ) from None
    return value


def as_prior(prior: object, secrets: int | Labels | Channel) -> Prior:
    """A checked prior over the secrets: None is uniform; fractions stay exact, other numbers become floats.

    Parameters
    ----------
    prior : None, probabilities in order, or a labelled table, series or mapping
    secrets : labels of the secrets, or the channel whose inputs they are; n stands for the secrets 0…n-1

    Returns
    -------
    array
        Of floats, or of fractions for an exact prior.

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> as_prior({"no": "1/4", "yes": "3/4"}, ("yes", "no")).tolist()
    [Fraction(3, 4), Fraction(1, 4)]
    """
    if isinstance(secrets, bool) or not isinstance(secrets, int | tuple | range | LazyLabels | Channel):
        secrets = labels_of(secrets, "secrets", "secrets", PriorError)
    n = listed_size(secrets)
    labels = secrets.inputs if isinstance(secrets, Channel) else secrets
    if prior is None:
        return uniform(n)
    if isinstance(prior, np.ndarray) and _is_uniform(prior, n):
        return prior
    items = prior
    if not (isinstance(prior, np.ndarray) and prior.dtype == np.float64 and prior.shape == (n,)):
        items = by_label(prior, labels, "prior", PriorError)
    if isinstance(items, np.ndarray) and items.dtype == np.float64:
        # Nothing to complain about: taken as it is. Otherwise the loop below finds the entry to name.
        good = bool(items.size) and float(items.min()) >= 0 and abs(float(items.sum()) - 1) <= SUM_TOLERANCE
        if good:
            return items
    values = list(items)  # type: ignore[call-overload]
    exact = all(is_exact(item) for item in values)
    values = [_probability(position, item, exact) for position, item in enumerate(values)]
    total = sum(values) if exact else _sum(values)
    if not abs(total - 1) <= (0 if exact else SUM_TOLERANCE):
        raise PriorError(
            f"prior sums to {total if exact else format(total, '.12g')}; probabilities must sum to 1",
            fix="use sv.priors.from_counts to rescale",
            file_fix="correct the list, or name a CSV file of label and weight, whose weights are rescaled",
        )
    result = np.empty(n, dtype=object if exact else np.float64)
    result[:] = values
    return result


def _is_uniform(prior: Prior, size: int) -> bool:
    """Whether it is one fraction again and again, as `uniform` makes it; a million are not added up."""
    if prior.dtype != object or prior.shape != (size,) or not isinstance(prior[0], Fraction):
        return False
    return prior[0] * size == 1 and len(set(map(id, prior.tolist()))) == 1


def _sum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def own_distribution(given: object, argument: str) -> Prior:
    """A distribution over whatever it names itself."""
    column = column_of(given, argument, PriorError)
    if not len(column.values):
        raise PriorError(f"{argument} is empty; give at least one probability")
    return as_prior(column.values, len(column.values))


def paired_distributions(p: object, q: object) -> tuple[Prior, Prior]:
    """Two distributions over the same things: by label where they name them, else by position.

    Where only one names them, the other is read by position if the names are 0, 1, 2, …, else refused.
    """
    first, second = column_of(p, "p", PriorError), column_of(q, "q", PriorError)
    own_distribution(first, "p")
    if not first.named and not second.named:
        return as_prior(first, len(first.values)), as_prior(second, len(first.values))
    labels = first.labels if first.named else second.labels
    assert labels is not None
    if first.named != second.named:
        given, other = ("p", "q") if first.named else ("q", "p")
        if set(labels) != set(range(len(labels))):
            raise PriorError(
                f"{given} has the labels {shown(labels)} but {other} has none, so they cannot be matched; "
                "label both or neither"
            )
        labels = tuple(range(len(labels)))
    return as_prior(first, labels), as_prior(second, labels)


def listed_size(secrets: int | Labels | Channel) -> int:
    """How many secrets there are, refused where a prior over them cannot be written out."""
    size = secrets.shape[0] if isinstance(secrets, Channel) else secrets
    size = whole("secrets", size, PriorError) if isinstance(size, int) else count_of(size)
    if size > LARGEST_VECTOR:
        raise TooLargeError(
            f"a prior over {readable(size)} secrets is too long to be written out; "
            "leave it out: uniform beliefs on a structured channel need no list",
            size=size,
        )
    return size


def _probability(position: int, item: Any, exact: bool) -> Any:
    where = f"prior: entry {position}"
    if not is_exact(item):
        return non_negative(where, item, PriorError)
    try:
        value = as_fraction(item)
    except ValueError:
        value = Fraction(-1)
    if value < 0:
        raise PriorError(f"{where} is {abbreviated(item)}; it must be a finite number ≥ 0")
    return value if exact else float(value)
