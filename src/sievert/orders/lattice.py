"""Meet and join of two mechanisms: the safest below both, and the least safe above both.

*Privacy* order: metrics, so the meet is the larger distance and the join the shortest-path closure of the
smaller (Fernandes, Sec 4.6). *Max* order: hulls of posteriors, so the meet is the hull of both and the join
their intersection. *Average* order: for two secrets ROC curves (smallest concave majorant, minimum);
for three or more secrets neither exists in general, and the refusal carries two incomparable bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from sievert.arrays import AnyArray, ObjectArray
from sievert.channels import Channel, distinguishability
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, MetricError, TooLargeError
from sievert.mechanisms import metric_channel
from sievert.numerics import choice
from sievert.orders._closed_forms import Point, channel_of_curve, curve, height
from sievert.orders._decisions import aligned
from sievert.orders._exact import cone_program
from sievert.orders._maximum import decide_maximum
from sievert.programs import ExactProgram, exact_optimum
from sievert.proofs import exact_rows
from sievert.spaces import Metric, align, metric_of

__all__ = [
    "NoBoundError",
    "in_both_hulls",
    "join",
    "meet",
    "privacy_join_metric",
    "privacy_meet_metric",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Order = Literal["average", "max", "privacy"]
LARGEST_SECRETS = 6
# Rays of the lifted cone grow quickly with the number of outputs.
LARGEST_OUTPUTS = 40


class NoBoundError(ChannelError):
    """The average order has no such bound for three secrets or more (Fernandes, Ex 4.6).

    `first`, `second` are the example's channels, and `bounds` two incomparable bounds of them with nothing
    between.
    """

    def __init__(self, word: str, first: Channel, second: Channel, bounds: tuple[Channel, Channel]) -> None:
        super().__init__(
            f"order is 'average': with three secrets or more two channels have no {word} in general; "
            "use order='max' or order='privacy' (two channels and two incomparable bounds of them are the "
            "error's .first, .second and .bounds)"
        )
        self.first, self.second, self.bounds = first, second, bounds


def meet(first: Channel, second: Channel, order: Order = "average") -> Channel:
    """The safest channel that is less safe than both.

    Parameters
    ----------
    first, second : channels on the same inputs
    order : "average", "max" or "privacy"

    Returns
    -------
    Channel

    Notes
    -----
    In the average order more than two inputs need not have such a channel, and `NoBoundError` is raised.

    Cost: O(outputs·log outputs) for two inputs; for "max" one hull of the outputs of both.

    Examples
    --------
    >>> a = Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    >>> b = Channel([["2/5", "3/5"], ["4/5", "1/5"]])
    >>> [[str(v) for v in row] for row in meet(a, b).exact]
    [['1/5', '1/5', '3/5'], ['3/5', '1/5', '1/5']]
    """
    a, b = aligned(first, second, ("first", "second"))
    choice("order", order, ("average", "max", "privacy"), ChannelError)
    if order == "privacy":
        return metric_channel(privacy_meet_metric(distinguishability(a), distinguishability(b)))
    if order == "max":
        columns = np.concatenate([_fractions(a), _fractions(b)], axis=1)
        return channel_with_posteriors(extreme_columns(columns), a.inputs)
    if a.shape[0] > 2:
        raise NoBoundError("meet", *_no_meet())
    return _on_curves(a, b, _concave_majorant)


def join(first: Channel, second: Channel, order: Order = "average") -> Channel:
    """The least safe channel that is safer than both.

    For the max order and more than a handful of secrets the vertices cannot be listed; `in_both_hulls` then
    answers for one posterior at a time.

    Parameters
    ----------
    first, second : channels on the same inputs
    order : "average", "max" or "privacy"

    Returns
    -------
    Channel

    Notes
    -----
    In the average order more than two inputs need not have such a channel, and `NoBoundError` is raised.

    Cost: O(outputs·log outputs) for two inputs; the vertices of an intersection of two hulls for "max".

    Examples
    --------
    >>> a = Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    >>> b = Channel([["2/5", "3/5"], ["4/5", "1/5"]])
    >>> [[str(v) for v in row] for row in join(a, b).exact]
    [['1/3', '2/3'], ['2/3', '1/3']]
    """
    a, b = aligned(first, second, ("first", "second"))
    choice("order", order, ("average", "max", "privacy"), ChannelError)
    if order == "privacy":
        return metric_channel(privacy_join_metric(distinguishability(a), distinguishability(b)))
    if order == "max":
        return _hull_intersection(a, b)
    if a.shape[0] > 2:
        raise NoBoundError("join", *_no_join())
    return _on_curves(a, b, _minimum)


def privacy_meet_metric(first: Metric, second: Metric) -> Metric:
    """The larger of two metrics.

    Parameters
    ----------
    first, second : metrics on the same points

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n²) for n points.

    Examples
    --------
    >>> import sievert as sv
    >>> privacy_meet_metric(sv.metrics.line(3), sv.metrics.discrete(3)).matrix[0].tolist()
    [0.0, 1.0, 2.0]
    """
    nearer, other = _on_same_points(first, second)
    return Metric(np.maximum(nearer, other), first.points)


def privacy_join_metric(first: Metric, second: Metric) -> Metric:
    """The largest metric below two: shortest paths of the smaller distance (the raw minimum may be none).

    Parameters
    ----------
    first, second : metrics on the same points

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n³) for n points.

    Examples
    --------
    >>> first, second = Metric([[0, 1, 9], [1, 0, 9], [9, 9, 0]]), Metric([[0, 9, 9], [9, 0, 1], [9, 1, 0]])
    >>> privacy_join_metric(first, second).distance(0, 2)
    2.0
    """
    nearer, other = _on_same_points(first, second)
    return Metric(np.minimum(nearer, other), first.points, close=True)


def _on_same_points(first: Metric, second: Metric) -> tuple[AnyArray, AnyArray]:
    """The distances of two metrics, those of the second in the order of the first's points."""
    a, b = metric_of(first, "first"), metric_of(second, "second")
    if a.size != b.size:
        raise MetricError(f"first has {a.size} points and second {b.size}; give metrics on the same points")
    order = align(a.points, b.points, "the points of second", MetricError)
    return a.matrix, b.matrix if order is None else b.matrix[np.ix_(order, order)]


def in_both_hulls(first: Channel, second: Channel, posterior: Any) -> bool:
    """Whether a posterior (uniform prior) belongs to the max-order join: it lies in the hulls of both.

    Parameters
    ----------
    first, second : channels on the same inputs
    posterior : probabilities of the secrets

    Returns
    -------
    bool

    Notes
    -----
    Cost: two linear programs, of as many variables as a channel has outputs.

    Examples
    --------
    >>> a = Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    >>> in_both_hulls(a, a, [0.5, 0.5]), in_both_hulls(a, a, [0.9, 0.1])
    (True, False)
    """
    a, b = aligned(first, second, ("first", "second"))
    given = as_prior(posterior, a).astype(object)[:, None]
    exact = all(isinstance(value, int | Fraction) for value in given.ravel())
    if exact and a.form == "exact" and b.form == "exact":
        decided = [cone_program(channel.entries, exact_rows(given)) for channel in (a, b)]
        if all(found is not None for found in decided):
            return all(found is not None and found.holds for found in decided)
    point = given.astype(np.float64)
    return all(decide_maximum(channel.rounded(), point).holds is True for channel in (a, b))


def _fractions(channel: Channel) -> AnyArray:
    return channel.entries if channel.form == "exact" else exact_rows(channel.rounded())


def _as_given(table: AnyArray, first: Channel, second: Channel) -> Channel:
    """Exact when both channels are; rounding otherwise."""
    if first.form == "exact" and second.form == "exact":
        return Channel(table.tolist(), first.inputs)
    return Channel(table.astype(np.float64), first.inputs)


def _on_curves(first: Channel, second: Channel, combine: Callable[[Any, Any], list[Point]]) -> Channel:
    if first.shape[0] == 1:
        return Channel([[1]], first.inputs)
    points = combine(*(_corners(_fractions(channel)) for channel in (first, second)))
    return _as_given(channel_of_curve(points), first, second)


def _corners(table: AnyArray) -> list[Point]:
    points = curve(table)
    # Rows of float channels may miss 1 by rounding; both curves must end at the same point.
    x, y = points[-1]
    return [(p / x, q / y) for p, q in points]


def _minimum(first: list[Point], second: list[Point]) -> list[Point]:
    """The lower of two concave curves, which is concave: corners of both and their crossings."""
    places = sorted({x for x, _ in (*first, *second)})
    crossings = []
    for left, right in pairwise(places):
        gaps = [height(first, at)[0] - height(second, at)[0] for at in (left, right)]
        if left == 0:
            # At 0 curves may jump; the difference next to it is what crosses.
            gaps[0] = _after(first) - _after(second)
        if gaps[0] * gaps[1] < 0:
            crossings.append(left + (right - left) * gaps[0] / (gaps[0] - gaps[1]))
    points = [(at, min(height(first, at)[0], height(second, at)[0])) for at in sorted([*places, *crossings])]
    return _merged([(0, 0), (0, min(_after(first), _after(second))), *points[1:]])


def _after(points: list[Point]) -> Any:
    """Height of a curve just after 0: the top of its first rise."""
    return max(y for x, y in points if x == 0)


def _concave_majorant(first: list[Point], second: list[Point]) -> list[Point]:
    """The least concave curve above two: the upper hull of all corners."""
    return _merged(sorted({*first, *second}))


def _merged(points: list[Point]) -> list[Point]:
    """The upper hull of points in order: corners on or below a line between others are dropped."""
    kept: list[Point] = []
    for x, y in points:
        while len(kept) >= 2:
            (x0, y0), (x1, y1) = kept[-2:]
            if (y1 - y0) * (x - x0) <= (y - y0) * (x1 - x0):
                kept.pop()
            else:
                break
        if not kept or kept[-1] != (x, y):
            kept.append((x, y))
    return kept


def _hull_intersection(first: Channel, second: Channel) -> Channel:
    secrets, outputs = first.shape[0], first.shape[1] + second.shape[1]
    if secrets > LARGEST_SECRETS or outputs > LARGEST_OUTPUTS:
        raise TooLargeError(
            f"the join of hulls with {secrets} secrets and {outputs} outputs has too many vertices to list "
            f"(at most {LARGEST_SECRETS} and {LARGEST_OUTPUTS}); ask in_both_hulls for one posterior",
            size=secrets,
        )
    rays = intersection_rays(extreme_columns(_fractions(first)), extreme_columns(_fractions(second)))
    return channel_with_posteriors(extreme_columns(rays), first.inputs)


def _no_join() -> tuple[Channel, Channel, tuple[Channel, Channel]]:
    """X, Y and two incomparable upper bounds: even and odd permutations of (1/2, 1/3, 1/6)."""
    x = Channel([["2/3", "1/6", "1/6"], ["1/6", "2/3", "1/6"], ["1/6", "1/6", "2/3"]])
    y = Channel([["1/2", 0, "1/2"], ["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    even = Channel([["1/2", "1/3", "1/6"], ["1/3", "1/6", "1/2"], ["1/6", "1/2", "1/3"]])
    odd = Channel([["1/2", "1/3", "1/6"], ["1/6", "1/2", "1/3"], ["1/3", "1/6", "1/2"]])
    return x, y, (even, odd)


def _no_meet() -> tuple[Channel, Channel, tuple[Channel, Channel]]:
    """X, Y and two incomparable lower bounds with nothing above both and below X and Y."""
    x = Channel([["3/8", "5/8"], ["5/8", "3/8"], ["1/2", "1/2"]])
    y = Channel([["7/16", "9/16"], ["7/16", "9/16"], ["5/8", "3/8"]])
    corners = Channel(
        [
            ["5/32", "7/32", "9/32", "11/32"],
            ["9/32", "11/32", "5/32", "7/32"],
            ["5/16", "3/16", "5/16", "3/16"],
        ]
    )
    other = Channel([["7/16", "5/32", "13/32"], ["7/16", "13/32", "5/32"], ["5/8", "3/16", "3/16"]])
    return x, y, (corners, other)


# ── Hulls of posteriors as cones of columns, in exact arithmetic ────────────────────────────────────────────
# A posterior is a column up to scale, so a hull is the cone of the columns. The intersection of two cones
# is the image of {(λ, μ) ≥ 0 : Aλ = Bμ}, whose extreme rays the double description method lists one
# equation at a time; lower-dimensional hulls need no special care.
MOST_RAYS = 20_000


def _distinct(columns: ObjectArray) -> list[tuple[Fraction, ...]]:
    """Normalised non-zero columns, each once, in order."""
    found = {tuple(value / sum(column) for value in column) for column in columns.T.tolist() if any(column)}
    return sorted(found)


def _stacked(columns: list[tuple[Fraction, ...]]) -> ObjectArray:
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def extreme_columns(columns: ObjectArray) -> ObjectArray:
    """The normalised columns that are no mixture of others."""
    kept = _distinct(columns)
    for column in list(kept):
        others = [other for other in kept if other != column]
        if not others:
            break
        found = cone_program(_stacked(others), _stacked([column]))
        if found is None:
            raise ChannelError("a posterior is too close to the hull of the others to be decided exactly")
        if found.holds:
            kept = others
    return _stacked(kept)


def intersection_rays(first: ObjectArray, second: ObjectArray) -> ObjectArray:
    """Columns whose cone is the intersection of two cones of columns (not all of them extreme)."""
    equations = _integer_rows(np.concatenate([first, -second], axis=1))
    size = first.shape[1] + second.shape[1]
    rays = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    for equation in equations:
        rays = _cut(rays, equation)
    points = [first @ np.array(ray[: first.shape[1]], dtype=object) for ray in rays]
    return np.stack(points, axis=1)


def _integer_rows(table: ObjectArray) -> list[list[int]]:
    rows = []
    for row in table.tolist():
        scale = math.lcm(*(Fraction(value).denominator for value in row))
        rows.append([int(value * scale) for value in row])
    return rows


def _cut(rays: list[tuple[int, ...]], equation: list[int]) -> list[tuple[int, ...]]:
    """Extreme rays of a pointed cone cut by equation·ray = 0: mixtures of adjacent rays on either side."""
    values = [sum(e * r for e, r in zip(equation, ray, strict=True)) for ray in rays]
    supports = [sum(1 << i for i, entry in enumerate(ray) if entry) for ray in rays]
    kept = [ray for ray, value in zip(rays, values, strict=True) if value == 0]
    above = [i for i, value in enumerate(values) if value > 0]
    below = [i for i, value in enumerate(values) if value < 0]
    for i in above:
        for j in below:
            joint = supports[i] | supports[j]
            # Adjacent iff no third ray lives on their joint support.
            if any(s | joint == joint for t, s in enumerate(supports) if t not in (i, j)):
                continue
            mixed = [values[i] * q - values[j] * p for p, q in zip(rays[i], rays[j], strict=True)]
            factor = math.gcd(*mixed)
            kept.append(tuple(entry // factor for entry in mixed))
    if len(kept) > MOST_RAYS:
        raise TooLargeError(f"the hulls intersect in over {MOST_RAYS} candidate vertices", size=len(kept))
    return kept


def channel_with_posteriors(points: ObjectArray, inputs: Any) -> Channel:
    """A channel with exactly these posteriors under the uniform prior, which must lie inside their hull.

    The weights maximise the least of them, so that every posterior really occurs.
    """
    n, count = points.shape
    zero, one = Fraction(0), Fraction(1)
    # Variables w_1 … w_count, slacks s and t; Σ w_i p_i = uniform, w_i - s_i - t = 0; maximise t.
    matrix = np.full((n + count, 2 * count + 1), zero, dtype=object)
    matrix[:n, :count] = points
    for i in range(count):
        matrix[n + i, i], matrix[n + i, count + i], matrix[n + i, -1] = one, -one, -one
    sides: list[Any] = [Fraction(1, n)] * n + [zero] * count
    cost = np.array([zero] * (2 * count) + [-one], dtype=object)
    bounds: list[Any] = [zero] * (2 * count + 1)
    vertex = exact_optimum(ExactProgram(cost, matrix, sides, sides, bounds, [None] * (2 * count + 1)))
    if vertex is None or not vertex.primal[-1] > 0:
        raise ChannelError("the posteriors do not surround the uniform prior, so no channel has all of them")
    return Channel((points * vertex.primal[:count][None, :] * n).tolist(), inputs)
