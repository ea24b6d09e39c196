"""What a query computes, and what its answers inherit from the databases: the record, or any function."""

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
from sievert.errors import QueryError
from sievert.numerics import abbreviated, as_fraction, require_float
from sievert.policies._answers import (
    Answers,
    contexts_of,
    edges_of_answers,
    in_order,
    induced_edges,
    largest_ratio,
    no_edges,
)
from sievert.policies._policy import Policy
from sievert.policies._statistic import Statistic, statistic_of_numbers
from sievert.spaces import Labels, Metric, label

__all__ = ["QueryForm", "Record", "TabulatedQuery", "as_number", "over_one_scale"]


class QueryForm(ABC):
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
class Record(QueryForm):
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
        return statistic_of_numbers(*over_one_scale([as_fraction(str(value)) for value in values]), 1, words)

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
class TabulatedQuery(QueryForm):
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
                f"table: no answer for the database {abbreviated(key)}; give one for every possible database"
            )
        return self.table[key]


def as_number(value: object) -> Fraction | float:
    """A value that can be summed and compared."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise QueryError(f"value {abbreviated(value)} is not a number, so it cannot be summed or compared")
    if isinstance(value, float) and not math.isfinite(value):
        raise QueryError(f"value {abbreviated(value)} is not finite, so it cannot be summed or compared")
    require_float("value", value, QueryError)
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # neither NaN nor beyond the floats


def over_one_scale(numbers: list[Fraction]) -> tuple[list[int], int]:
    """Numbers as whole numbers of 1/scale, and the scale."""
    scale = math.lcm(*(number.denominator for number in numbers))
    return [number.numerator * (scale // number.denominator) for number in numbers], scale
