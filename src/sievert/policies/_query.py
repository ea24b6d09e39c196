"""Queries: what is computed from a database before noise is added.

A query's answers inherit a distance from the databases: two answers are adjacent when some adjacent
databases have them (Alvim et al., Def 25; Fernandes, Def 3.3.3), and noise on the answers is private
for that distance exactly when the whole pipeline is private for the policy (Prop 26, Lem 3.7).
Counts, sums and histograms add up one contribution per record, so their answers are found without
listing the databases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import MetricError, PolicyError, QueryError, TooLargeError
from sievert.numerics import brief, choice, did_you_mean, instance, readable, require_float, taken
from sievert.policies._answers import (
    LARGEST_ANSWERS,
    Answers,
    IntArray,
    additive_edges,
    contexts_of,
    edges_of_answers,
    induced_edges,
    no_edges,
    reachable_totals,
    whole_numbers,
)
from sievert.policies._policy import Policy
from sievert.spaces import Labels, Metric, iterable, label, shown

__all__ = ["Query"]

LARGEST_CONTEXTS = 20_000_000


KINDS = ("record", "count", "sum", "histogram", "table")
_MAKERS = {"count": "count", "sum": "sum", "histogram": "histogram", "table": "from_table"}


@dataclass(frozen=True)
class Query:
    """What is computed: build with `record`, `count`, `sum`, `histogram` or `from_table`.

    Attributes
    ----------
    kind : "record", "count", "sum", "histogram" or "table"
    words : the query in words
    contribution : what one record adds to the answer, where answers add up
    table : the answer for each database, for `from_table`
    wanted : the values that a count counts

    Examples
    --------
    >>> import sievert as sv
    >>> policy = sv.Policy.differential(["yes", "no"], records=3)
    >>> tuple(sv.Query.count(["yes"]).answers(policy).labels)
    (0, 1, 2, 3)
    """

    kind: str
    words: str
    contribution: Callable[[Hashable], Any] | None = field(default=None, repr=False)
    table: Mapping[Hashable, Hashable] | None = field(default=None, repr=False)
    wanted: frozenset[Hashable] | None = field(default=None, repr=False)

    @classmethod
    def record(cls) -> Query:
        """The record itself (local release: the mechanism sees one value)."""
        return cls("record", "the value itself")

    @classmethod
    def count(cls, where: Callable[[Any], bool] | Iterable[object] | object) -> Query:
        """How many records satisfy a condition: a function of the value, a set of values, or one value.

        >>> Query.count(["yes"]).answers(Policy.differential(["yes", "no"], 3)).labels
        (0, 1, 2, 3)
        """
        if callable(where):
            words = "the number of records that satisfy a condition"
            return cls("count", words, partial(_satisfies, where))
        single = isinstance(where, str) or not iterable(where)
        items = [where] if single else taken("where", where, QueryError, "values")
        try:
            listed = tuple(dict.fromkeys(label(value) for value in items))
        except TypeError as problem:
            raise QueryError(f"where: {problem}") from None
        wanted = frozenset(listed)
        if not wanted:
            raise QueryError("where is empty; give at least one value to count, or a function")
        # A set has no order of its own.
        names = sorted(map(str, listed)) if isinstance(where, Set) else list(map(str, listed))
        words = f"the number of records that are {' or '.join(names)}"
        return cls("count", words, partial(_is_among, wanted), wanted=wanted)

    @classmethod
    def sum(cls) -> Query:
        """The sum of the values (numbers; decimals are added as written).

        >>> Query.sum().answers(Policy.differential([0, 0.1, 0.3], 2)).labels
        (0, 0.1, 0.2, 0.3, 0.4, 0.6)
        """
        return cls("sum", "the sum of the values", _as_number)

    @classmethod
    def histogram(cls) -> Query:
        """How many records have each value.

        >>> Query.histogram().answers(Policy.differential(["a", "b"], 2)).labels
        ((0, 2), (1, 1), (2, 0))
        """
        return cls("histogram", "how many records have each value", _itself)

    @classmethod
    def from_table(cls, table: Mapping[Any, Any] | Callable[[Any], Any]) -> Query:
        """Any function of the database: a mapping from each database to its answer, or a callable.

        >>> largest = Query.from_table(max)
        >>> largest.answers(Policy.differential(3, records=2)).metric.distance(0, 2)
        1.0
        """
        if callable(table):
            return cls("table", "a function of the database", contribution=table)
        if not isinstance(table, Mapping):
            raise QueryError(f"table is a {type(table).__name__}; give a mapping or a function")
        return cls("table", "a tabulated function", table={label(k): label(v) for k, v in table.items()})

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS, QueryError)
        per_record = {"count", "sum", "histogram"}
        lacks = self.kind in per_record and not callable(self.contribution)
        if lacks or (self.kind == "table" and self.contribution is None and self.table is None):
            raise QueryError(f"query: a {self.kind} needs its function; use sv.Query.{_MAKERS[self.kind]}(…)")

    def answers(self, policy: Policy) -> Answers:
        """The possible answers, their adjacency and their distance under a policy.

        Cost grows with the number of answers, not of databases, except for tables and under public
        knowledge, where the permitted databases are listed.
        """
        policy = instance("policy", policy, Policy, "a sv.Policy", PolicyError)
        if self.kind == "record":
            if policy.records != 1:
                raise QueryError(
                    f"query: record releases one value but the policy has {policy.records} records",
                    fix="use count, sum or histogram, or Policy.local",
                    file_fix='use kind = "count", "sum" or "histogram", or leave records out',
                )
            if not policy.constrained:
                return Answers(policy, policy.values, None, np.arange(len(policy.values))[None, :])
        if policy.constrained:
            return self._listed(policy)
        if self.kind == "table":
            return self._tabulated(policy)
        return self._additive(policy)

    def _listed(self, policy: Policy) -> Answers:
        """Answers over the databases that public knowledge permits, one by one."""
        labels, answer_of = self._answer_of(policy)
        edges = edges_of_answers(policy.database_graph, answer_of, len(labels))
        contexts = contexts_of(policy.permitted_databases, answer_of)
        return Answers(policy, labels, edges, contexts)

    def _answer_of(self, policy: Policy) -> tuple[Labels, IndexArray]:
        """The answers of the permitted databases, and which of them each database has."""
        rows = policy.permitted_databases.rows
        if self.kind == "table":
            images = [self._look_up(database, policy) for database in policy.databases()]
            answers = _sorted(set(images))
            position = {answer: i for i, answer in enumerate(answers)}
            return answers, np.array([position[image] for image in images], dtype=np.intp)
        if self.kind == "record":
            return policy.database_labels(), np.arange(len(rows))
        if self.kind == "histogram":
            present = [i for i, value in enumerate(policy.values) if not _is_absent(value, policy)]
            counts = np.column_stack([(rows == i).sum(axis=1) for i in present])
            distinct, inverse = np.unique(counts, axis=0, return_inverse=True)
            return tuple(map(tuple, distinct.tolist())), inverse.ravel().astype(np.intp)
        contributions, read = self._contributions(policy)
        totals, inverse = np.unique(contributions[rows].sum(axis=1), return_inverse=True)
        return tuple(read(int(total)) for total in totals), inverse.ravel().astype(np.intp)

    def sensitivity(self, policy: Policy, metric: Metric | None = None) -> float:
        """Lipschitz constant of the query: largest change of the answer per unit of policy distance.

        Numbers are compared by |y - y'| and histograms by the Manhattan distance (Fernandes, Sec 3.3),
        unless a `metric` on the answers is given.
        """
        policy = instance("policy", policy, Policy, "a sv.Policy", PolicyError)
        if metric is not None:
            instance("metric", metric, Metric, "a sv.Metric on the answers", MetricError)
        apart = policy.record_metric.uniform_distance
        numeric = self.kind in ("count", "sum") or (self.kind == "record" and policy.records == 1)
        if metric is None and apart is not None and numeric and not policy.constrained:
            # Any two values are equally far apart, so the least and the greatest decide.
            spread = self._spread(policy) if len(policy.values) > 1 else 0.0
            return _largest_ratio(np.array([spread]), np.array([apart]))
        if metric is not None or self.kind in ("record", "table") or policy.constrained:
            return self._explicit_sensitivity(policy, metric)
        edges = policy.record_edges
        first, second = edges.pairs[:, 0], edges.pairs[:, 1]
        if self.kind == "histogram":
            present = np.array([not _is_absent(value, policy) for value in policy.values], dtype=np.float64)
            change = present[first] + present[second]
        else:
            whole, scale = self.whole_contributions(policy)
            numbers = np.array([number / scale for number in whole])
            change = np.abs(numbers[first] - numbers[second])
        return _largest_ratio(change, edges.lengths)

    def _spread(self, policy: Policy) -> float:
        """The greatest contribution of a value less the least one."""
        if isinstance(policy.values, range) and self.kind != "count":
            return float(abs(policy.values[-1] - policy.values[0]))
        if self.kind == "record":
            numbers = [_as_number(value) for value in policy.values]
            return float(max(numbers) - min(numbers))
        whole, scale = self.whole_contributions(policy)
        return (max(whole) - min(whole)) / scale

    def _explicit_sensitivity(self, policy: Policy, metric: Metric | None) -> float:
        answers = self.answers(policy)
        first, second = answers.edges.pairs[:, 0], answers.edges.pairs[:, 1]
        if metric is None and self.kind == "histogram":
            bins = np.array(answers.labels, dtype=np.float64)
            change = np.abs(bins[first] - bins[second]).sum(axis=1)
        elif metric is None:
            values = np.array([_as_number(answer) for answer in answers.labels], dtype=np.float64)
            change = np.abs(values[first] - values[second])
        else:
            index = np.array([metric.index(answer) for answer in answers.labels])
            change = metric.matrix[index[first], index[second]]
        return _largest_ratio(change, answers.edges.lengths)

    def _numbers(self, policy: Policy) -> list[Fraction]:
        """Each value's contribution to a count or sum, decimals read as written; absent records give 0."""
        contribution = self.contribution
        assert contribution is not None
        unknown = (self.wanted or frozenset()) - set(policy.values)
        if unknown:
            name = min(unknown, key=repr)
            raise QueryError(
                f"where: {brief(name)} is not one of the policy's values {shown(policy.values)}"
                f"{did_you_mean(name, policy.values)}"
            )
        found = [0 if _is_absent(value, policy) else contribution(value) for value in policy.values]
        numbers = [Fraction(number if type(number) is int else str(number)) for number in found]
        for number in numbers:
            require_float("value", number, QueryError)
        return numbers

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int]:
        """Each value's contribution to a count or sum as a whole number of 1/scale, and the scale."""
        policy = instance("policy", policy, Policy, "a sv.Policy", PolicyError)
        if self.kind == "sum" and isinstance(policy.values, range):
            return list(policy.values), 1
        numbers = self._numbers(policy)
        scale = math.lcm(*(number.denominator for number in numbers))
        return [number.numerator * (scale // number.denominator) for number in numbers], scale

    def _contributions(self, policy: Policy) -> tuple[IntArray, Callable[[int], Hashable]]:
        """Each value's contribution as an integer, and how to read a total back as an answer."""
        if self.kind == "histogram":
            return self._digits(policy)
        numbers, scale = self.whole_contributions(policy)
        integers = whole_numbers(numbers, policy.records)
        return integers, lambda total: total // scale if total % scale == 0 else total / scale

    def _digits(self, policy: Policy) -> tuple[IntArray, Callable[[int], Hashable]]:
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

    def _additive(self, policy: Policy) -> Answers:
        contributions, read = self._contributions(policy)
        # k records of s different contributions have at least k·(s - 1) + 1 different totals.
        least = (policy.records - 1) * (len(np.unique(contributions)) - 1) + 1
        self._refuse_many(least * len(contributions), policy)
        others = reachable_totals(contributions, policy.records - 1)
        self._refuse_many(len(others) * len(contributions), policy)
        sums = others[:, None] + contributions[None, :]
        totals, inverse = np.unique(sums, return_inverse=True)
        contexts = inverse.reshape(sums.shape).astype(np.intp)
        edges = additive_edges(contexts, contributions, totals, policy.record_edges)
        return Answers(policy, tuple(read(int(total)) for total in totals), edges, contexts)

    def _refuse_many(self, contexts: int, policy: Policy) -> None:
        if contexts > LARGEST_CONTEXTS:
            raise TooLargeError(
                f"{self.words} over {policy.records} records of {len(policy.values)} values has at least "
                f"{readable(contexts)} pairs of a total of the others and a value, and {LARGEST_CONTEXTS:,} "
                "can be listed",
                size=contexts,
                fix="coarsen the values, lower the records, or ask for query.sensitivity(policy), "
                "which needs no list",
                file_fix="coarsen the values or lower the records; `sievert release` needs no list",
            )

    def _tabulated(self, policy: Policy) -> Answers:
        images = self.images(policy)
        labels = _sorted(set(images))
        position = {answer: i for i, answer in enumerate(labels)}
        index = np.array([position[image] for image in images], dtype=np.intp)
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

    def _look_up(self, database: tuple[Hashable, ...], policy: Policy) -> Hashable:
        key: Hashable = database[0] if policy.records == 1 else database
        if self.table is None:
            assert self.contribution is not None
            return label(self.contribution(key))
        if key not in self.table:
            raise QueryError(
                f"table: no answer for the database {brief(key)}; give one for every possible database"
            )
        return self.table[key]

    def evaluate(self, database: object, policy: Policy) -> Hashable:
        """The answer on one database."""
        items = instance("policy", policy, Policy, "a sv.Policy", PolicyError).database(database)
        if self.kind == "record":
            return items[0]  # type: ignore[no-any-return]
        if self.kind == "table":
            return self._look_up(items, policy)
        if self.kind == "histogram":
            return tuple(items.count(value) for value in policy.values if not _is_absent(value, policy))
        contributions, read = self._contributions(policy)
        index = policy.record_metric.index
        return read(sum(int(contributions[index(value)]) for value in items))

    def images(self, policy: Policy) -> list[Hashable]:
        """The answers on all databases, in the order of `policy.databases()`."""
        policy = instance("policy", policy, Policy, "a sv.Policy", PolicyError)
        policy.require_enumerable("evaluating a query on every database")
        if self.kind == "record":
            self.answers(policy)
            return list(policy.database_labels())
        if policy.constrained:
            labels, answer_of = self._answer_of(policy)
            return [labels[i] for i in answer_of.tolist()]
        if self.kind == "table":
            return [self._look_up(database, policy) for database in policy.databases()]
        contributions, read = self._contributions(policy)
        totals = np.zeros(1, dtype=contributions.dtype)
        for _ in range(policy.records):
            totals = (totals[:, None] + contributions[None, :]).ravel()
        distinct, inverse = np.unique(totals, return_inverse=True)
        names = [read(int(total)) for total in distinct]
        return [names[i] for i in inverse.ravel().tolist()]


def _satisfies(condition: Callable[[Any], object], value: Hashable) -> int:
    return int(bool(condition(value)))


def _is_among(wanted: frozenset[Hashable], value: Hashable) -> int:
    return int(value in wanted)


def _itself(value: Hashable) -> Hashable:
    return value


def _as_number(value: object) -> Fraction | float:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise QueryError(f"value {brief(value)} is not a number, so it cannot be summed or compared")
    if isinstance(value, float) and not math.isfinite(value):
        raise QueryError(f"value {brief(value)} is not finite, so it cannot be summed or compared")
    require_float("value", value, QueryError)
    return value


def _histograms(records: int, values: int) -> int | float:
    """How many ways there are to spread records over values; only few are counted exactly."""
    nats = math.lgamma(records + values) - math.lgamma(values) - math.lgamma(records + 1)
    if nats > 100:
        return math.exp(nats) if nats < 700 else math.inf
    return math.comb(records + values - 1, values - 1)


def _is_absent(value: Hashable, policy: Policy) -> bool:
    return policy.absent is not None and value == policy.absent


def _largest_ratio(change: NDArray[np.float64], lengths: NDArray[np.float64]) -> float:
    """max change/length with 0/0 = 0 and positive/0 = inf."""
    if not len(change):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(change == 0, 0.0, change / lengths)
    return float(ratios.max())


def _sorted(answers: Iterable[Hashable]) -> Labels:
    """Answers in their natural order, or by their text when they cannot be compared."""
    items = list(answers)
    try:
        return tuple(sorted(items))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(items, key=repr))
