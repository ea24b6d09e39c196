"""Is this a metric, a graph, a policy, a query? One check and one message each, for every public function."""

from __future__ import annotations

from sievert.errors import GraphError, MetricError, PolicyError, QueryError
from sievert.numerics.checks import brief, instance
from sievert.spaces.graph import Graph
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy
from sievert.spaces.query import Answers, Query

__all__ = [
    "graph_of",
    "metric_of",
    "policy_of",
    "policy_or_answers_of",
    "query_of",
    "query_over",
    "target_of",
]


def metric_of(given: object, argument: str = "metric") -> Metric:
    """The metric a function was given."""
    words = "a sv.Metric, such as sv.metrics.line(n) or sv.Metric(distances)"
    found: Metric = instance(argument, given, Metric, words, MetricError)
    return found


def graph_of(given: object, argument: str = "graph") -> Graph:
    """The graph a function was given."""
    found: Graph = instance(argument, given, Graph, "a sv.Graph, such as sv.graphs.cycle(n)", GraphError)
    return found


def policy_of(given: object, argument: str = "policy") -> Policy:
    """The policy a function was given."""
    words = "a sv.Policy, such as sv.Policy.differential(values, records=n)"
    found: Policy = instance(argument, given, Policy, words, PolicyError)
    return found


def policy_or_answers_of(given: object, argument: str = "policy_or_answers") -> Policy | Answers:
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


def query_over(given: object, query: object, argument: str = "metric_or_policy") -> Query | None:
    """A query beside what it is asked over; only a policy says which databases that are."""
    asked = query_of(query)
    if asked is not None and not isinstance(given, Policy):
        raise QueryError(
            f"query goes with a policy, but {argument} is {brief(given)}; leave the query out, or give a "
            "sv.Policy"
        )
    return asked
