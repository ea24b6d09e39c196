"""From tables, counts and weights to the probabilities of a joint, and what a joint tells by itself."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from sievert.channels import Channel
from sievert.errors import PolicyError, PriorError
from sievert.inference._properties import Columns
from sievert.numerics import (
    abbreviated,
    as_fraction,
    entropy_excess,
    fractions_of,
    is_exact,
    require_size,
)
from sievert.spaces import Labels

__all__ = [
    "LARGEST_JOINT",
    "columns_of",
    "factored",
    "gathered",
    "information_bits",
    "matched",
    "positions",
    "probabilities",
    "shares",
    "summed",
    "weights_of",
    "whole_counts",
]

# What probabilities that are floats may miss 1 by.
SUM_TOLERANCE = 1e-9
LARGEST_JOINT = 50_000_000
# Fractions are kept up to this many weights.
LARGEST_EXACT = 20_000


def columns_of(frame: Any) -> Columns:
    """Columns by name of a table that narwhals reads, or of a mapping."""
    if isinstance(frame, dict):
        sizes = {len(values) for values in frame.values()}
        if len(sizes) > 1:
            raise PolicyError(f"frame has columns of {sorted(sizes)} rows; all must have as many")
        return {str(name): values for name, values in frame.items()}
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise PolicyError(
            f"frame is {abbreviated(frame)}; give a pandas, polars or Arrow table, or a mapping from "
            f"column to "
            "values"
        ) from None
    return {str(name): _entries(table[name]) for name in table.columns}


def _entries(series: Any) -> Any:
    if series.dtype.is_numeric() and not series.is_null().any():
        return np.asarray(series.to_numpy())
    return list(series.to_list())


def information_bits(joint: FloatArray) -> float:
    """Mutual information of a joint distribution in bits; each term keeps its digits near independence."""
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    product = rows[:, None] * columns
    there = joint > 0
    i, j = np.nonzero(there)
    both, apart = joint[there], product[there]
    logs = np.log(both) - np.log(rows[i]) - np.log(columns[j])
    near = np.abs(logs) < 0.5
    logs[near] = np.log1p(both[near] / apart[near] - 1)
    # Σ q·(1 - r + r·ln r) ≥ 0 term by term with r = p/q, since Σ q·(r - 1) = 0.
    high = logs > 1
    terms = np.where(high, both * (logs - 1) + apart, apart * entropy_excess(np.where(high, 0.0, logs)))
    lost = math.fsum(product[~there].tolist())
    return (math.fsum(terms.tolist()) + lost) / math.log(2)


def probabilities(entries: Any) -> AnyArray:
    """A matrix of probabilities that sum to 1: fractions where every entry is exact."""
    try:
        rows = [list(row) for row in entries]
    except TypeError:
        raise PriorError(f"joint is {abbreviated(entries)}; give a matrix [secret, use]") from None
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise PriorError("joint is empty or ragged; give as many probabilities for every secret")
    require_size(len(rows) * len(rows[0]), LARGEST_JOINT, "the pairs of secrets and uses", "group them")
    flat = [item for row in rows for item in row]
    for item in flat:
        if item is np.ma.masked or isinstance(item, complex | np.complexfloating):
            raise PriorError(f"joint holds {abbreviated(item)}, which is no real number; give probabilities")
    exact = all(is_exact(item) for item in flat)
    try:
        array = fractions_of(rows) if exact else np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise PriorError(f"joint holds something that is no number ({problem}); give probabilities") from None
    if array.ndim != 2:
        raise PriorError(f"joint has {array.ndim} axes; give a matrix [secret, use]")
    if not exact and not np.isfinite(array).all():
        raise PriorError("joint holds NaN or an infinite number; give probabilities from 0 to 1")
    negative = np.argwhere(np.asarray(array < 0, dtype=bool))
    if len(negative):
        i, j = negative[0].tolist()
        raise PriorError(f"joint[{i}, {j}] is {abbreviated(array[i, j])}; probabilities must be ≥ 0")
    total = array.sum() if exact else math.fsum(array.ravel().tolist())
    if abs(total - 1) > (0 if exact else SUM_TOLERANCE):
        raise PriorError(
            f"joint sums to {total if exact else format(total, '.12g')}; probabilities must sum to 1",
            fix="use sv.inference.Correlation.from_counts for a table of counts",
        )
    return array


def whole_counts(entries: Any) -> Any:
    """Counts ≥ 0 as whole numbers."""
    try:
        rows = [list(row) for row in entries]
    except TypeError:
        raise PriorError(
            f"counts is {abbreviated(entries)}; give rows of counts, one for each secret"
        ) from None
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise PriorError("counts is empty or ragged; give as many counts for every secret")
    found = np.empty((len(rows), len(rows[0])), dtype=np.int64)
    for i, row in enumerate(rows):
        for j, item in enumerate(row):
            try:
                value = as_fraction(item)
            except ValueError:
                value = Fraction(-1)
            if value < 0 or value.denominator != 1 or value >= 2**62:
                raise PriorError(f"counts[{i}, {j}] is {abbreviated(item)}; counts must be whole numbers ≥ 0")
            found[i, j] = int(value)
    return found


def positions(given: Any, argument: str) -> IndexArray:
    """Positions from 0 on: whole numbers, none of them rounded."""
    try:
        array = np.asarray(given)
        whole = array.dtype.kind in "iub" or not array.size
    except ValueError:
        whole = False
    if not whole:
        raise PriorError(
            f"{argument} is {abbreviated(given)}; give a list of positions, whole numbers from 0"
        )
    return array.astype(np.intp)


def weights_of(given: Any) -> AnyArray:
    """Weights as whole numbers, finite floats or fractions."""
    try:
        array = np.asarray(given)
        if array.dtype.kind in "iu":
            return array
        if array.dtype.kind != "f":
            exact = np.empty(array.shape, dtype=object)
            exact[...] = np.vectorize(as_fraction, otypes=[object])(array) if array.size else array
            return exact
    except (TypeError, ValueError):
        raise PriorError(f"weights is {abbreviated(given)}; give a number for every input") from None
    if not np.isfinite(array).all():
        raise PriorError("weights hold NaN or an infinite number; give a finite number for every input")
    return array.astype(np.float64)


def shares(mass: AnyArray) -> tuple[AnyArray, int | None]:
    """Weights as probabilities, exact where they are whole and few, and how many records they count."""
    if mass.dtype.kind in "iu":
        # Whole numbers of Python: a sum of int64 may wrap around.
        total = sum(mass.tolist())
        if mass.min() < 0 or not total:
            raise PriorError("weights must be ≥ 0, and one of them positive")
        if len(mass) <= LARGEST_EXACT:
            shares = np.empty(len(mass), dtype=object)
            shares[:] = [Fraction(int(value), total) for value in mass.tolist()]
            return shares, total
        return mass / total, total
    shares = mass
    total_mass = mass.sum() if mass.dtype == object else math.fsum(mass.tolist())
    if min(shares.tolist()) < 0 or abs(total_mass - 1) > (0 if mass.dtype == object else SUM_TOLERANCE):
        raise PriorError(
            f"weights sum to {abbreviated(total_mass)}; give probabilities ≥ 0 that sum to 1, or whole counts"
        )
    return shares, None


def summed(prior: AnyArray, rows: IndexArray, columns: IndexArray, shape: tuple[int, int]) -> AnyArray:
    if prior.dtype != object:
        place = rows * shape[1] + columns
        return np.bincount(place, prior, shape[0] * shape[1]).reshape(shape)
    return gathered(prior, rows, columns, shape)


def gathered(weights: AnyArray, rows: IndexArray, columns: IndexArray, shape: tuple[int, int]) -> AnyArray:
    table = np.full(shape, Fraction(0), dtype=object)
    np.add.at(table, (rows, columns), weights)
    return table


def factored(
    channel: Channel,
    order: list[int] | range,
    group: IndexArray,
    possible: BoolArray,
    labels: Labels,
    tolerance: float,
) -> Channel | None:
    """One row for each label, where all inputs that are possible and in its group have that row."""
    entries = channel.exact_or_float()[list(order)]
    limit = 0 if channel.form == "exact" else tolerance
    factor = np.empty((len(labels), channel.shape[1]), dtype=entries.dtype)
    for i in range(len(labels)):
        mine = entries[possible & (group == i)]
        # What cannot occur may be told in any way.
        factor[i] = mine[0] if len(mine) else entries[possible][0]
        if len(mine) and np.abs(mine - mine[0]).max() > limit:
            return None
    return Channel(factor, inputs=labels, outputs=channel.outputs)


def matched(labels: Labels, inputs: Labels) -> list[int] | range | None:
    """The position among the channel's inputs of each label; None where they are not the same."""
    if len(labels) != len(inputs):
        return None
    if isinstance(labels, range) and isinstance(inputs, range):
        return range(len(labels)) if labels == inputs else None
    position = {item: i for i, item in enumerate(inputs)}
    if all(item in position for item in labels):
        return [position[item] for item in labels]
    return None
