"""What each kind of query computes, and what its answers inherit from the databases.

Counts, sums and histograms add up one contribution per record, so their answers are found without listing the
databases; any other function is evaluated on each.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import QueryError, TooLargeError
from sievert.numerics import as_fraction, brief, did_you_mean, readable, require_float
from sievert.policies._answers import (
    LARGEST_ANSWERS,
    Answers,
    IntArray,
    additive_edges,
    contexts_of,
    edges_of_answers,
    in_order,
    induced_edges,
    largest_ratio,
    no_edges,
    reachable_totals,
    whole_numbers,
)
from sievert.policies._policy import Policy
from sievert.policies._statistic import Statistic, statistic_of_cells, statistic_of_numbers
from sievert.spaces import Labels, Metric, label, shown

__all__ = ["Count", "Form", "Histogram", "Record", "Sum", "Tabulated", "as_number"]

LARGEST_CONTEXTS = 20_000_000


class Form(ABC):
    """What a query computes."""

    # Whether the answer is the record itself, how many records have each value, or a number that each
    # record adds to.
    is_record: ClassVar[bool] = False
    is_histogram: ClassVar[bool] = False
    is_total: ClassVar[bool] = False

    def answers(self, policy: Policy, words: str) -> Answers:
        """The possible answers, their adjacency and their distance under a policy."""
        if not policy.constrained:
            return self._unconstrained(policy, words)
        labels, answer_of = self._answer_of(policy)
        edges = edges_of_answers(policy.database_graph, answer_of, len(labels))
        return Answers(policy, labels, edges, contexts_of(policy.permitted_databases, answer_of))

    def sensitivity(self, policy: Policy, metric: Metric | None, words: str) -> float:
        """The largest change of the answer per unit of policy distance."""
        if metric is not None or policy.constrained:
            return self._explicit_sensitivity(policy, metric, words)
        apart = policy.record_metric.uniform_distance
        if apart is not None and self._is_numeric(policy):
            # Any two values are equally far apart, so the least and the greatest decide.
            spread = self._spread(policy) if len(policy.values) > 1 else 0.0
            return largest_ratio(np.array([spread]), np.array([apart]))
        change = self._changes(policy)
        if change is None:
            return self._explicit_sensitivity(policy, None, words)
        return largest_ratio(change, policy.record_edges.lengths)

    def _explicit_sensitivity(self, policy: Policy, metric: Metric | None, words: str) -> float:
        answers = self.answers(policy, words)
        first, second = answers.edges.pairs[:, 0], answers.edges.pairs[:, 1]
        if metric is None:
            places = self._places(answers.labels)
            change = np.abs(places[first] - places[second]).sum(axis=1)
        else:
            index = np.array([metric.index(answer) for answer in answers.labels])
            change = metric.matrix[index[first], index[second]]
        return largest_ratio(change, answers.edges.lengths)

    def images(self, policy: Policy) -> list[Hashable]:
        """The answers on all databases, in the order of `policy.databases()`."""
        policy.require_enumerable("evaluating a query on every database")
        if not policy.constrained:
            return self._unconstrained_images(policy)
        labels, answer_of = self._answer_of(policy)
        return [labels[i] for i in answer_of.tolist()]

    @abstractmethod
    def evaluate(self, items: tuple[Hashable, ...], policy: Policy) -> Hashable:
        """The answer on one database of the policy."""

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int] | None:
        """What each value adds as a whole number of 1/scale, and the scale; None where it adds no number."""
        return None

    def statistic(self, policy: Policy, words: str) -> Statistic | None:
        """The table that records add up to; None where answers are no such table."""
        return None

    @abstractmethod
    def _unconstrained(self, policy: Policy, words: str) -> Answers:
        """The answers over every combination of values."""

    @abstractmethod
    def _unconstrained_images(self, policy: Policy) -> list[Hashable]:
        """The answer of every combination of values, in order."""

    @abstractmethod
    def _answer_of(self, policy: Policy) -> tuple[Labels, IndexArray]:
        """The answers of the permitted databases, and which of them each database has."""

    def _is_numeric(self, policy: Policy) -> bool:
        """Whether each value stands for one number, which `_spread` compares."""
        return False

    def _spread(self, policy: Policy) -> float:
        """The greatest number of a value less the least one."""
        raise NotImplementedError

    def _changes(self, policy: Policy) -> NDArray[np.float64] | None:
        """How far each of the policy's pairs of values moves the answer; None where only a list tells."""
        return None

    def _places(self, answers: Labels) -> NDArray[np.float64]:
        """The answers as points, whose Manhattan distance says how far they are apart."""
        return np.array([[as_number(answer)] for answer in answers], dtype=np.float64)


@dataclass(frozen=True)
class Record(Form):
    """The record itself."""

    is_record: ClassVar[bool] = True

    def _unconstrained(self, policy: Policy, words: str) -> Answers:
        _require_one(policy)
        return Answers(policy, policy.values, None, np.arange(len(policy.values))[None, :])

    def _answer_of(self, policy: Policy) -> tuple[Labels, IndexArray]:
        _require_one(policy)
        return policy.database_labels(), np.arange(len(policy.permitted_databases.rows))

    def _unconstrained_images(self, policy: Policy) -> list[Hashable]:
        _require_one(policy)
        return list(policy.database_labels())

    def evaluate(self, items: tuple[Hashable, ...], policy: Policy) -> Hashable:
        return items[0]

    def statistic(self, policy: Policy, words: str) -> Statistic | None:
        values = policy.values
        if isinstance(values, range):
            return statistic_of_numbers(values, 1, 1, words)
        if not all(map(_is_number, values)):
            return None
        return statistic_of_numbers(*_over_one_scale([as_fraction(str(value)) for value in values]), 1, words)

    def _is_numeric(self, policy: Policy) -> bool:
        return policy.records == 1

    def _spread(self, policy: Policy) -> float:
        if isinstance(policy.values, range):
            return float(abs(policy.values[-1] - policy.values[0]))
        numbers = [as_number(value) for value in policy.values]
        return float(max(numbers) - min(numbers))


def _require_one(policy: Policy) -> None:
    if policy.records != 1:
        raise QueryError(
            f"query: record releases one value but the policy has {policy.records} records",
            fix="use count, sum or histogram, or Policy.local",
            file_fix='use kind = "count", "sum" or "histogram", or leave records out',
        )


@dataclass(frozen=True)
class Tabulated(Form):
    """Any function of the database, given by a table or by a callable."""

    table: Mapping[Hashable, Hashable] | None = field(default=None, repr=False)
    function: Callable[[Any], Any] | None = field(default=None, repr=False)

    def _unconstrained(self, policy: Policy, words: str) -> Answers:
        labels, index = self._indexed(self.images(policy))
        values = len(policy.values)
        if values == 1:
            return Answers(policy, labels, no_edges(), np.zeros((1, 1), dtype=np.intp))
        shaped = index.reshape([values] * policy.records)
        contexts = np.unique(
            np.concatenate(
                [np.moveaxis(shaped, axis, -1).reshape(-1, values) for axis in range(policy.records)]
            ),
            axis=0,
        )
        return Answers(policy, labels, induced_edges(contexts, policy.record_edges, len(labels)), contexts)

    def _answer_of(self, policy: Policy) -> tuple[Labels, IndexArray]:
        return self._indexed(self._unconstrained_images(policy))

    def _indexed(self, images: list[Hashable]) -> tuple[Labels, IndexArray]:
        labels = in_order(set(images))
        position = {answer: i for i, answer in enumerate(labels)}
        return labels, np.array([position[image] for image in images], dtype=np.intp)

    def _unconstrained_images(self, policy: Policy) -> list[Hashable]:
        return [self.evaluate(database, policy) for database in policy.databases()]

    def evaluate(self, items: tuple[Hashable, ...], policy: Policy) -> Hashable:
        key: Hashable = items[0] if policy.records == 1 else items
        if self.function is not None:
            return label(self.function(key))
        if self.table is None or key not in self.table:
            raise QueryError(
                f"table: no answer for the database {brief(key)}; give one for every possible database"
            )
        return self.table[key]


class Additive(Form):
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
class Total(Additive):
    """A number to which each record adds one."""

    contribution: Callable[[Hashable], Any] = field(repr=False)
    is_total: ClassVar[bool] = True

    def _contributions(self, policy: Policy) -> tuple[IntArray, Callable[[int], Hashable]]:
        numbers, scale = self.whole_contributions(policy)
        integers = whole_numbers(numbers, policy.records)
        return integers, lambda total: total // scale if total % scale == 0 else total / scale

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int]:
        return _over_one_scale(self._numbers(policy))

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
class Count(Total):
    """How many records satisfy a condition."""

    wanted: frozenset[Hashable] = field(default=frozenset(), repr=False)

    def _numbers(self, policy: Policy) -> list[Fraction]:
        unknown = self.wanted - set(policy.values)
        if unknown:
            name = min(unknown, key=repr)
            raise QueryError(
                f"where: {brief(name)} is not one of the policy's values {shown(policy.values)}"
                f"{did_you_mean(name, policy.values)}"
            )
        return super()._numbers(policy)


@dataclass(frozen=True)
class Sum(Total):
    """The sum of the values, or of a part of each."""

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int]:
        whole = isinstance(policy.values, range)
        return (list(policy.values), 1) if whole else super().whole_contributions(policy)  # type: ignore[arg-type]

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
        cells = [None if _is_absent(value, policy) else (value,) for value in policy.values]
        return statistic_of_cells(cells, ("value",), words)

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


def as_number(value: object) -> Fraction | float:
    """A value that can be summed and compared."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise QueryError(f"value {brief(value)} is not a number, so it cannot be summed or compared")
    if isinstance(value, float) and not math.isfinite(value):
        raise QueryError(f"value {brief(value)} is not finite, so it cannot be summed or compared")
    require_float("value", value, QueryError)
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # neither NaN nor beyond the floats


def _over_one_scale(numbers: list[Fraction]) -> tuple[list[int], int]:
    """Numbers as whole numbers of 1/scale, and the scale."""
    scale = math.lcm(*(number.denominator for number in numbers))
    return [number.numerator * (scale // number.denominator) for number in numbers], scale


def _histograms(records: int, values: int) -> int | float:
    """How many ways there are to spread records over values; only few are counted exactly."""
    nats = math.lgamma(records + values) - math.lgamma(values) - math.lgamma(records + 1)
    if nats > 100:
        return math.exp(nats) if nats < 700 else math.inf
    return math.comb(records + values - 1, values - 1)


def _is_absent(value: Hashable, policy: Policy) -> bool:
    return policy.absent is not None and value == policy.absent
