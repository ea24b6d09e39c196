"""Queries that add up one contribution of each record: counts, sums and histograms.

Their answers are found without listing the databases.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import QueryError, TooLargeError
from sievert.numerics import abbreviated, did_you_mean, readable, require_float
from sievert.policies._answers import (
    LARGEST_ANSWERS,
    Answers,
    IntArray,
    additive_edges,
    reachable_totals,
    whole_numbers,
)
from sievert.policies._policy import Policy
from sievert.policies._query_forms import QueryForm, over_one_scale
from sievert.policies._statistic import Statistic, statistic_of_numbers, statistic_of_values
from sievert.spaces import Labels, shown, worded

__all__ = ["Count", "Histogram", "Sum"]

LARGEST_CONTEXTS = 20_000_000


class Additive(QueryForm):
    """A query whose answer adds up one contribution of each record."""

    @abstractmethod
    def _contributions(self, policy: Policy) -> tuple[IntArray, Callable[[int], Hashable]]:
        """Each value's contribution as an integer, and how to read a total back as an answer."""

    def _unconstrained(self, policy: Policy, words: str) -> Answers:
        contributions, read = self._contributions(policy)
        # k records of s different contributions have at least k·(s - 1) + 1 different totals.
        least = (policy.records - 1) * (len(np.unique(contributions)) - 1) + 1
        _refuse_many(least * len(contributions), policy, words)
        others = reachable_totals(contributions, policy.records - 1)
        _refuse_many(len(others) * len(contributions), policy, words)
        sums = others[:, None] + contributions[None, :]
        totals, inverse = np.unique(sums, return_inverse=True)
        contexts = inverse.reshape(sums.shape).astype(np.intp)
        edges = additive_edges(contexts, contributions, totals, policy.record_edges)
        return Answers(policy, tuple(read(int(total)) for total in totals), edges, contexts)

    def _unconstrained_images(self, policy: Policy) -> list[Hashable]:
        contributions, read = self._contributions(policy)
        totals = np.zeros(1, dtype=contributions.dtype)
        for _ in range(policy.records):
            totals = (totals[:, None] + contributions[None, :]).ravel()
        distinct, inverse = np.unique(totals, return_inverse=True)
        names = [read(int(total)) for total in distinct]
        return [names[i] for i in inverse.ravel().tolist()]


@dataclass(frozen=True)
class TotalQuery(Additive):
    """A number to which each record adds one."""

    contribution: Callable[[Hashable], Any] = field(repr=False)
    is_total: ClassVar[bool] = True

    def _contributions(self, policy: Policy) -> tuple[IntArray, Callable[[int], Hashable]]:
        numbers, scale = self.whole_contributions(policy)
        integers = whole_numbers(numbers, policy.records)
        return integers, lambda total: total // scale if total % scale == 0 else total / scale

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int]:
        return over_one_scale(self._numbers(policy))

    def statistic(self, policy: Policy, words: str) -> Statistic:
        return statistic_of_numbers(*self.whole_contributions(policy), policy.records, words)

    def _numbers(self, policy: Policy) -> list[Fraction]:
        """Each value's contribution, decimals read as written; absent records give 0."""
        found = [0 if _is_absent(value, policy) else self.contribution(value) for value in policy.values]
        numbers = [Fraction(number if type(number) is int else str(number)) for number in found]
        for number in numbers:
            require_float("value", number, QueryError)
        return numbers

    def _answer_of(self, policy: Policy) -> tuple[Labels, IndexArray]:
        contributions, read = self._contributions(policy)
        rows = policy.permitted_databases.rows
        totals, inverse = np.unique(contributions[rows].sum(axis=1), return_inverse=True)
        return tuple(read(int(total)) for total in totals), inverse.ravel().astype(np.intp)

    def evaluate(self, items: tuple[Hashable, ...], policy: Policy) -> Hashable:
        contributions, read = self._contributions(policy)
        index = policy.record_metric.index
        return read(sum(int(contributions[index(value)]) for value in items))

    def _is_numeric(self, policy: Policy) -> bool:
        return True

    def _spread(self, policy: Policy) -> float:
        whole, scale = self.whole_contributions(policy)
        return (max(whole) - min(whole)) / scale

    def _changes(self, policy: Policy) -> NDArray[np.float64]:
        whole, scale = self.whole_contributions(policy)
        ends = np.array([number / scale for number in whole])[policy.record_edges.pairs]
        return np.asarray(np.abs(ends[:, 0] - ends[:, 1]))


@dataclass(frozen=True)
class Count(TotalQuery):
    """How many records satisfy a condition."""

    wanted: frozenset[Hashable] = field(default=frozenset(), repr=False)

    def _numbers(self, policy: Policy) -> list[Fraction]:
        unknown = self.wanted - set(policy.values)
        if unknown:
            name = min(unknown, key=repr)
            raise QueryError(
                f"where: {abbreviated(name, worded)} is not one of the policy's values {shown(policy.values)}"
                f"{did_you_mean(name, policy.values)}"
            )
        return super()._numbers(policy)


@dataclass(frozen=True)
class Sum(TotalQuery):
    """The sum of the values, or of a part of each."""

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int]:
        if isinstance(policy.values, range):
            return list(policy.values), 1
        absent = policy.absent is not None
        present: Any = policy.values[absent:]
        if set(map(type, present)) != {int}:
            return super().whole_contributions(policy)
        for number in (min(present), max(present)):
            require_float("value", number, QueryError)
        return [0, *present] if absent else list(present), 1

    def _spread(self, policy: Policy) -> float:
        if isinstance(policy.values, range):
            return float(abs(policy.values[-1] - policy.values[0]))
        return super()._spread(policy)


@dataclass(frozen=True)
class Histogram(Additive):
    """How many records have each value."""

    is_histogram: ClassVar[bool] = True

    def _contributions(self, policy: Policy) -> tuple[IntArray, Callable[[int], Hashable]]:
        """Histograms as integers: digit i of a total is how many records have the i-th value."""
        bins = len(policy.values) - (policy.absent is not None)
        size = _histograms(policy.records, len(policy.values))
        radix = policy.records + 1
        if size > LARGEST_ANSWERS:
            raise TooLargeError(
                f"the histogram of {policy.records} records over {bins} values has {readable(size)} answers, "
                f"and {LARGEST_ANSWERS:,} can be listed",
                size=size,
                fix="coarsen the values, lower the records, or ask for query.sensitivity(policy), "
                "which needs no list",
                file_fix="coarsen the values, lower the records, or add geometric noise to every cell, which "
                "`sievert audit` and `sievert release` treat without a list",
            )
        powers = [radix**i for i in range(bins)][::-1]
        digits = iter(powers)
        integers = [0 if _is_absent(value, policy) else next(digits) for value in policy.values]
        return whole_numbers(integers, radix), lambda total: tuple((total // p) % radix for p in powers)

    def statistic(self, policy: Policy, words: str) -> Statistic:
        absent = policy.absent is not None
        return statistic_of_values([(value,) for value in policy.values[absent:]], absent, ("value",), words)

    def _answer_of(self, policy: Policy) -> tuple[Labels, IndexArray]:
        rows = policy.permitted_databases.rows
        present = [i for i, value in enumerate(policy.values) if not _is_absent(value, policy)]
        counts = np.column_stack([(rows == i).sum(axis=1) for i in present])
        distinct, inverse = np.unique(counts, axis=0, return_inverse=True)
        return tuple(map(tuple, distinct.tolist())), inverse.ravel().astype(np.intp)

    def evaluate(self, items: tuple[Hashable, ...], policy: Policy) -> Hashable:
        return tuple(items.count(value) for value in policy.values if not _is_absent(value, policy))

    def _places(self, answers: Labels) -> NDArray[np.float64]:
        return np.array(answers, dtype=np.float64)

    def _changes(self, policy: Policy) -> NDArray[np.float64]:
        present = np.array([not _is_absent(value, policy) for value in policy.values], dtype=np.float64)
        return np.asarray(present[policy.record_edges.pairs].sum(axis=1))


def _refuse_many(contexts: int, policy: Policy, words: str) -> None:
    if contexts > LARGEST_CONTEXTS:
        raise TooLargeError(
            f"{words} over {policy.records} records of {len(policy.values)} values has at least "
            f"{readable(contexts)} pairs of a total of the others and a value, and {LARGEST_CONTEXTS:,} "
            "can be listed",
            size=contexts,
            fix="coarsen the values, lower the records, or ask for query.sensitivity(policy), "
            "which needs no list",
            file_fix="coarsen the values or lower the records; `sievert release` needs no list",
        )


def _histograms(records: int, values: int) -> int | float:
    """How many ways there are to spread records over values; only few are counted exactly."""
    nats = math.lgamma(records + values) - math.lgamma(values) - math.lgamma(records + 1)
    if nats > 100:
        return math.exp(nats) if nats < 700 else math.inf
    return math.comb(records + values - 1, values - 1)


def _is_absent(value: Hashable, policy: Policy) -> bool:
    return policy.absent is not None and value == policy.absent
