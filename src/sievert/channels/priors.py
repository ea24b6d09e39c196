"""Priors: what an adversary believes before the release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import PriorError, TooLargeError
from sievert.numerics.checks import readable
from sievert.numerics.rationals import as_fraction, is_exact
from sievert.spaces.labels import Labels, label, shown

__all__ = ["SUM_TOLERANCE", "as_prior", "from_counts", "point", "uniform"]

# A prior typed with six decimals is off by at most 1e-6 relative; accumulated rounding stays below 1e-9.
SUM_TOLERANCE = 1e-9
LARGEST_VECTOR = 1_000_000_000

Prior = NDArray[Any]  # float64, or object (Fraction) for an exact prior


def uniform(n: int) -> Prior:
    """Every one of n secrets equally likely, exactly.

    >>> uniform(4).tolist()
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)]
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise PriorError(f"n is {n!r}; a prior needs at least one secret")
    prior = np.empty(int(n), dtype=object)
    prior[:] = Fraction(1, int(n))
    return prior


def point(n: int, secret: int) -> Prior:
    """All belief on one secret, given by its position.

    >>> point(3, 1).tolist()
    [Fraction(0, 1), Fraction(1, 1), Fraction(0, 1)]
    """
    prior = uniform(n)
    if not isinstance(secret, int | np.integer) or isinstance(secret, bool) or not 0 <= secret < n:
        raise PriorError(f"secret is {secret!r}; it must be a position from 0 to {n - 1}")
    prior[:] = Fraction(0)
    prior[secret] = Fraction(1)
    return prior


def from_counts(counts: Iterable[Any] | Mapping[Any, Any], labels: Labels | None = None) -> Prior:
    """Shares of counts (a list in the order of the secrets, or a mapping from label to count).

    >>> from_counts([3, 1]).tolist()
    [Fraction(3, 4), Fraction(1, 4)]
    """
    if isinstance(counts, Mapping):
        if labels is None:
            raise PriorError("labels is missing; a mapping of counts needs the labels of the secrets")
        unknown = [name for name in counts if label(name) not in labels]
        if unknown:
            raise PriorError(f"counts: {unknown[0]!r} is not one of the labels {shown(labels)}")
        named = {label(name): count for name, count in counts.items()}
        counts = [named.get(name, 0) for name in labels]
    values = [_count(position, count) for position, count in enumerate(counts)]
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
        raise PriorError(
            f"counts: entry {position} is {count!r}; counts must be finite numbers ≥ 0"
        ) from None
    if value < 0:
        raise PriorError(f"counts: entry {position} is {count!r}; counts must be finite numbers ≥ 0")
    return value


def as_prior(prior: object, n: int) -> Prior:
    """A checked prior over n secrets: None is uniform; fractions stay exact, other numbers become floats."""
    if n > LARGEST_VECTOR:
        raise TooLargeError(f"a prior over {readable(n)} secrets is too long to be written out", size=n)
    if prior is None:
        return uniform(n)
    if isinstance(prior, np.ndarray) and prior.dtype == np.float64 and prior.shape == (n,):
        # Nothing to complain about: taken as it is. Otherwise the loop below finds the entry to name.
        good = float(prior.min()) >= 0 and abs(float(prior.sum()) - 1) <= SUM_TOLERANCE
        if good:
            return prior
    if isinstance(prior, str | Mapping) or not isinstance(prior, Iterable):
        raise PriorError(f"prior is {prior!r}; give a list of {n} probabilities, or None for uniform")
    items = list(prior)
    if len(items) != n:
        raise PriorError(
            f"prior has {len(items)} entries but there are {n} secrets; give one probability for each"
        )
    exact = all(is_exact(item) for item in items)
    values = [_probability(position, item, exact) for position, item in enumerate(items)]
    total = sum(values) if exact else math.fsum(values)
    if not abs(total - 1) <= (0 if exact else SUM_TOLERANCE):
        raise PriorError(
            f"prior sums to {total if exact else format(total, '.12g')}; probabilities must sum to 1",
            fix="use sv.priors.from_counts to rescale",
            file_fix="correct the list, or name a CSV file of label and weight, whose weights are rescaled",
        )
    result = np.empty(n, dtype=object if exact else np.float64)
    result[:] = values
    return result


def _probability(position: int, item: Any, exact: bool) -> Any:
    try:
        value = as_fraction(item) if exact or is_exact(item) else float(item)
    except (TypeError, ValueError):
        raise PriorError(
            f"prior: entry {position} is {item!r}, not a number; probabilities must be numbers ≥ 0"
        ) from None
    if not 0 <= value < math.inf:
        raise PriorError(f"prior: entry {position} is {value}; probabilities must be numbers ≥ 0")
    return value if exact else float(value)
