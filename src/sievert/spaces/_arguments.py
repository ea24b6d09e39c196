from __future__ import annotations

from sievert.errors import GraphError, MetricError
from sievert.numerics import instance
from sievert.spaces._graph import Graph
from sievert.spaces._metric import Metric

__all__ = ["graph_of", "metric_of"]


def metric_of(given: object, argument: str = "metric") -> Metric:
    """The metric a function was given."""
    words = "a sv.Metric, such as sv.metrics.line(n) or sv.Metric(distances)"
    found: Metric = instance(argument, given, Metric, words, MetricError)
    return found


def graph_of(given: object, argument: str = "graph") -> Graph:
    """The graph a function was given."""
    found: Graph = instance(argument, given, Graph, "a sv.Graph, such as sv.graphs.cycle(n)", GraphError)
    return found
