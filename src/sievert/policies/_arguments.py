"""Is this a metric, a graph, a policy, a query? One check and one message each, for every public function."""

from __future__ import annotations

from sievert.errors import PolicyError, QueryError
from sievert.numerics import brief, instance
from sievert.policies._answers import Answers
from sievert.policies._policy import Policy
from sievert.policies._query import Query
from sievert.spaces import Graph, Metric

__all__ = ["policy_or_answers_of", "query_of", "query_over", "target_of"]


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
            f"query goes with a policy, but {argument} is {brief(given)}; leave the query out, or give a "
            "sv.Policy"
        )
    return asked
