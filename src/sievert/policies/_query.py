"""Queries: what is computed from a database before noise is added.

A query's answers inherit a distance from the databases: two answers are adjacent when some adjacent
databases have them (Alvim et al., Def 25; Fernandes, Def 3.3.3), and noise on the answers is private
for that distance exactly when the whole pipeline is private for the policy (Prop 26, Lem 3.7).
Counts, sums and histograms add up one contribution per record, so their answers are found without
listing the databases.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sievert.errors import MetricError, PolicyError, QueryError
from sievert.numerics import abbreviated, instance, taken
from sievert.policies._additive import Count, Histogram, Sum
from sievert.policies._answers import Answers
from sievert.policies._policy import Policy
from sievert.policies._query_forms import QueryForm, Record, TabulatedQuery, as_number
from sievert.policies._statistic import Statistic
from sievert.results import html_table
from sievert.spaces import Graph, Metric, iterable, label, worded

__all__ = ["Query", "policy_or_answers_of", "query_of", "query_over", "target_of"]


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

    words: str
    form: QueryForm = field(repr=False)

    def __post_init__(self) -> None:
        words = "what sv.Query.record(), count(…), sum(), histogram() and from_table(…) build"
        instance("form", self.form, QueryForm, words, QueryError)

    def _repr_html_(self) -> str:
        return html_table(f"Query: {self.words}", {})

    @property
    def is_record(self) -> bool:
        """Whether the answer is the record itself."""
        return self.form.is_record

    @property
    def is_histogram(self) -> bool:
        """Whether the answer is how many records have each value."""
        return self.form.is_histogram

    @property
    def is_total(self) -> bool:
        """Whether the answer is a number that each record adds to, as of a count or sum."""
        return self.form.is_total

    @classmethod
    def record(cls) -> Query:
        """The record itself (local release: the mechanism sees one value)."""
        return cls("the value itself", Record())

    @classmethod
    def count(cls, where: Callable[[Any], bool] | Iterable[object] | object) -> Query:
        """How many records satisfy a condition: a function of the value, a set of values, or one value.

        >>> Query.count(["yes"]).answers(Policy.differential(["yes", "no"], 3)).labels
        (0, 1, 2, 3)
        """
        if callable(where):
            return cls("the number of records that satisfy a condition", Count(partial(_satisfies, where)))
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
        names = [worded(value, str) for value in listed]
        named = " or ".join(sorted(names) if isinstance(where, Set) else names)
        return cls(f"the number of records that are {named}", Count(partial(_is_among, wanted), wanted))

    @classmethod
    def sum(cls) -> Query:
        """The sum of the values (numbers; decimals are added as written).

        >>> Query.sum().answers(Policy.differential([0, 0.1, 0.3], 2)).labels
        (0, 0.1, 0.2, 0.3, 0.4, 0.6)
        """
        return cls("the sum of the values", Sum(as_number))

    @classmethod
    def histogram(cls) -> Query:
        """How many records have each value.

        >>> Query.histogram().answers(Policy.differential(["a", "b"], 2)).labels
        ((0, 2), (1, 1), (2, 0))
        """
        return cls("how many records have each value", Histogram())

    @classmethod
    def from_table(cls, table: Mapping[Any, Any] | Callable[[Any], Any]) -> Query:
        """Any function of the database: a mapping from each database to its answer, or a callable.

        >>> largest = Query.from_table(max)
        >>> largest.answers(Policy.differential(3, records=2)).metric.distance(0, 2)
        1.0
        """
        if callable(table):
            return cls("a function of the database", TabulatedQuery(function=table))
        if not isinstance(table, Mapping):
            raise QueryError(f"table is a {type(table).__name__}; give a mapping or a function")
        return cls("a tabulated function", TabulatedQuery({label(k): label(v) for k, v in table.items()}))

    def answers(self, policy: Policy) -> Answers:
        """The possible answers, their adjacency and their distance under a policy.

        Cost grows with the number of answers, not of databases, except for tables and under public
        knowledge, where the permitted databases are listed.
        """
        return self.form.answers(_policy(policy), self.words)

    def sensitivity(self, policy: Policy, metric: Metric | None = None) -> float:
        """Lipschitz constant of the query: largest change of the answer per unit of policy distance.

        Numbers are compared by |y - y'| and histograms by the Manhattan distance (Fernandes, Sec 3.3),
        unless a `metric` on the answers is given.
        """
        policy = _policy(policy)
        if metric is not None:
            instance("metric", metric, Metric, "a sv.Metric on the answers", MetricError)
        return self.form.sensitivity(policy, metric, self.words)

    def whole_contributions(self, policy: Policy) -> tuple[list[int], int]:
        """Each value's contribution to a count or sum as a whole number of 1/scale, and the scale."""
        found = self.form.whole_contributions(_policy(policy))
        if found is None:
            raise QueryError(f"query: {self.words} is no count or sum, to which each record adds a number")
        return found

    def statistic(self, policy: Policy) -> Statistic | None:
        """The table that records add up to, known without a list; None where answers are no such table.

        >>> Query.sum().statistic(Policy.differential([0, 0.5, 2], 10)).amount.tolist()
        [0, 1, 4]
        """
        return self.form.statistic(_policy(policy), self.words)

    def evaluate(self, database: object, policy: Policy) -> Hashable:
        """The answer on one database."""
        policy = _policy(policy)
        return self.form.evaluate(policy.database(database), policy)

    def images(self, policy: Policy) -> list[Hashable]:
        """The answers on all databases, in the order of `policy.databases()`."""
        return self.form.images(_policy(policy))


def _policy(given: object) -> Policy:
    found: Policy = instance("policy", given, Policy, "a sv.Policy", PolicyError)
    return found


def _satisfies(condition: Callable[[Any], object], value: Hashable) -> int:
    return int(bool(condition(value)))


def _is_among(wanted: frozenset[Hashable], value: Hashable) -> int:
    return int(value in wanted)


def policy_or_answers_of(given: object, argument: str = "policy") -> Policy | Answers:
    """The policy, or the answers of a query over one, that a function was given."""
    words = "a sv.Policy or a query's answers"
    found: Policy | Answers = instance(argument, given, Policy | Answers, words, PolicyError)
    return found


def target_of(given: object, argument: str = "policy") -> Policy | Metric | Graph:
    """What must stay hidden: a policy, a metric or a graph."""
    words = "a sv.Policy, a sv.Metric or a sv.Graph"
    found: Policy | Metric | Graph = instance(argument, given, Policy | Metric | Graph, words, PolicyError)
    return found


def query_of(given: object, argument: str = "query") -> Query | None:
    """The query a function was given, or None."""
    if given is None:
        return None
    found: Query = instance(argument, given, Query, "a sv.Query, such as sv.Query.count(values)", QueryError)
    return found


def query_over(given: object, query: object, argument: str = "policy_or_metric") -> Query | None:
    """A query beside what it is asked over; only a policy says which databases that are."""
    asked = query_of(query)
    if asked is not None and not isinstance(given, Policy):
        raise QueryError(
            f"query goes with a policy, but {argument} is {abbreviated(given)}; leave the query out, or "
            f"give a "
            "sv.Policy"
        )
    return asked
