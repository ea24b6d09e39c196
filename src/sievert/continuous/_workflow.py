"""Where to add the noise: sensitivity of a function between metric spaces, and the metric that it induces."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from sievert.errors import MetricError
from sievert.numerics import abbreviated
from sievert.numerics import function as callable_of
from sievert.results import guarded
from sievert.spaces import Metric, label, metric_of

__all__ = ["induced_metric", "sensitivity"]


@guarded
def sensitivity(metric: Metric, function: Callable[[Any], Any], output_metric: Metric) -> float:
    """The smallest D with d_out(f(x), f(x')) ≤ D·d(x, x'), whatever x and x'.

    If a mechanism is private for the outputs' distance, then the function followed by it is private for D
    times that of the inputs.

    Parameters
    ----------
    metric : distances between the inputs
    function : from inputs to points of the other metric
    output_metric : distances between the function's values

    Returns
    -------
    float
        inf where different values come from inputs at distance 0; inputs at distance inf impose nothing.

    Notes
    -----
    Cost: O(n²) for n inputs.

    References
    ----------
    Fernandes, Def 3.3.2 and Lem 3.6.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> sensitivity(metrics.line(5), lambda x: x // 2, metrics.line(3))
    1.0
    """
    inputs, outputs = metric_of(metric), metric_of(output_metric)
    values = _values(inputs, function)
    known = {point: i for i, point in enumerate(outputs.points)}
    strange = [value for value in values if value not in known]
    if strange:
        raise MetricError(f"function: its value {strange[0]!r} is no point of output_metric")
    order = np.array([known[value] for value in values])
    apart, moved = inputs.matrix, outputs.matrix[np.ix_(order, order)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((moved == 0) | np.isinf(apart), 0.0, moved / apart)
    return float(ratios.max())


def induced_metric(metric: Metric, function: Callable[[Any], Any]) -> Metric:
    """The distance between a function's values: the shortest way over inputs that have them.

    A mechanism is private for it exactly where the function followed by the mechanism is private for the
    inputs' distance.

    Parameters
    ----------
    metric : distances between the inputs
    function : of an input

    Returns
    -------
    Metric
        On the function's values, in the order in which they first occur.

    Notes
    -----
    Cost: O(n² + m³) for n inputs with m values.

    References
    ----------
    Fernandes, Def 3.3.3 and Lem 3.7.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> induced_metric(metrics.line([0, 1, 5, 6]), lambda x: x >= 5).matrix.tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    inputs = metric_of(metric)
    values = _values(inputs, function)
    nodes = list(dict.fromkeys(values))
    place = {value: i for i, value in enumerate(nodes)}
    index = np.array([place[value] for value in values])
    lengths = np.full((len(nodes), len(nodes)), np.inf)
    pairs = np.broadcast_to(index[:, None], inputs.matrix.shape), np.broadcast_to(index, inputs.matrix.shape)
    np.minimum.at(lengths, pairs, inputs.matrix)
    np.fill_diagonal(lengths, 0.0)
    # Floyd–Warshall; SciPy's would read a distance of 0 as no edge.
    for k in range(len(nodes)):
        np.minimum(lengths, lengths[:, k, None] + lengths[None, k, :], out=lengths)
    return Metric(lengths, nodes)


def _values(metric: Metric, function: Callable[[Any], Any]) -> list[Hashable]:
    callable_of("function", function, "an input", MetricError)
    values = []
    for point in metric.points:
        try:
            values.append(label(function(point)))
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as problem:
            raise MetricError(f"function fails on the point {abbreviated(point)}: {problem}") from problem
    return values
