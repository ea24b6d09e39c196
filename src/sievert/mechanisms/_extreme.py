"""Mechanisms that are best for one question: a set or the rest, a distance, a balanced collection, pairs.

Balanced collections that are minimal, and blocks of two points, are kernels (Fernandes, Ch 6): no private
mechanism tells more without telling less of something else; `sv.geometry.is_kernel` says whether another is.
Which losses each is best for, whatever the prior, `sv.is_universally_optimal` decides.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from sievert.arrays import AnyArray
from sievert.channels import Channel, EpsilonOrAlpha, require_dense
from sievert.errors import MechanismError
from sievert.kinds import Finite, Value, variant
from sievert.mechanisms._family import EpsilonFamily, Family, inputs_of, privacy
from sievert.mechanisms._from_metric import tight_constraints
from sievert.numerics import abbreviated, as_fraction, exact_rank, exact_solve, is_exact, require_size, taken
from sievert.policies import Answers, Query
from sievert.results import Result
from sievert.spaces import Metric, iterable, label, metric_of, metrics

__all__ = ["Magnitude", "balanced_collection", "magnitude", "pull_back", "two_point_blocks", "versus"]

# Inputs times sets, all in fractions.
LARGEST_COLLECTION = 200_000

# What rounding may add to the slope of a map.
SLOPE_ROUNDING = 1e-12
# The least logarithm of a probability > 0; the normaliser leaves it a float.
LEAST_LOG = -1e308


def _ratio(level: EpsilonOrAlpha, distance: float) -> Any:
    """e^(-ε·d): a fraction where alpha is one and the distance is whole, or alpha is 0 or 1."""
    if math.isinf(distance):
        return Fraction(0)
    if level.alpha is not None and (level.alpha in (0, 1) or distance == int(distance)):
        return Fraction(1) if distance == 0 else level.alpha ** math.ceil(distance)
    return math.exp(-level.eps * distance) if distance else 1.0


def _in_proportion(
    level: EpsilonOrAlpha, distances: AnyArray, weights: list[Fraction], inputs: Any, outputs: Any
) -> Channel:
    """K[x, y] in proportion to w_y·e^(-ε·d(x, y)); kept as logarithms where it is not exact.

    Weights at distance 0 of an input add up to 1, and inputs of one output have the same sum.
    """
    finite = distances[np.isfinite(distances)]
    if level.alpha is not None and (level.alpha in (0, 1) or np.array_equal(finite, np.rint(finite))):
        powers = {d: _ratio(level, d) for d in np.unique(distances).tolist()}
        table: AnyArray = np.array([[powers[d] for d in row] for row in distances.tolist()], dtype=object)
        table = table * np.array(weights, dtype=object)
        return Channel.trusted(table / table.sum(axis=1, keepdims=True), "exact", inputs, outputs)
    # ∞·0 does not arise: a level without alpha has 0 < ε < ∞.
    # A product beyond floats stays finite, as the distance is.
    with np.errstate(over="ignore"):
        exponents = np.where(np.isinf(distances), -np.inf, np.maximum(-level.eps * distances, LEAST_LOG))
    numbers = np.array([float(weight) for weight in weights])
    elsewhere = np.where(distances > 0, np.exp(exponents), 0.0) @ numbers
    logs = exponents + np.log(numbers) - np.log1p(elsewhere)[:, None]
    return Channel.trusted(logs, "log", inputs, outputs, relative=exponents)


def versus(
    metric: Metric,
    members: Iterable[object],
    eps: float | None = None,
    *,
    alpha: object = None,
) -> Channel:
    """Is the input one of these, or not: one bit, as truthful as the nearest pair across allows.

    Parameters
    ----------
    metric : Metric
    members : some of the points, not all
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha and whole distances
        give an exact channel

    Returns
    -------
    Channel
        With outputs True and False.

    Notes
    -----
    Under the discrete metric it is best, whatever the prior, for every loss with two actions whose sign
    follows the set.

    Cost: O(n²) for n points.

    References
    ----------
    Fernandes, Thm 6.28.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> versus(metrics.discrete(3), [0], alpha="1/2").exact[:, 0].tolist()
    [Fraction(2, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    metric, level = metric_of(metric), privacy(eps, alpha)
    inside = np.zeros(metric.size, dtype=bool)
    inside[[metric.index(point) for point in taken("members", members, MechanismError, "points")]] = True
    if inside.all() or not inside.any():
        raise MechanismError(
            f"members: {int(inside.sum())} of {metric.size} points; name some and leave some"
        )
    across = metric.matrix[np.ix_(inside, ~inside)].min()
    distances = np.where(np.column_stack([inside, ~inside]), 0.0, across)
    return _in_proportion(level, distances, [Fraction(1)] * 2, metric.points, (True, False))


def pull_back(
    metric: Metric,
    along: object,
    eps: float | None = None,
    *,
    alpha: object = None,
) -> Channel:
    """Geometric noise on a number that changes no faster than the distance: how far from a point, say.

    Parameters
    ----------
    metric : Metric, with finite distances
    along : a point, for the distance from it; or a mapping from points to numbers of slope 1 at most
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha and whole numbers give
        an exact channel

    Returns
    -------
    Channel
        From the points to the numbers.

    Notes
    -----
    x ↦ G(f(x)) is private because f lengthens nothing; on every shortest path along which f grows at full
    speed it is the geometric mechanism itself.

    Cost: O(n²) for n points.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> cube = metrics.hamming(3, 2)
    >>> [str(p) for p in pull_back(cube, (0, 0, 0), alpha="1/2").exact[0]]
    ['2/3', '1/6', '1/12', '1/12']
    """
    metric = metric_of(metric)
    if isinstance(along, Mapping):
        missing = [point for point in metric.points if point not in along]
        if missing:
            raise MechanismError(f"along has no number for {missing[0]!r}; give one for every point")
        numbers = [along[point] for point in metric.points]
    else:
        numbers = metric.matrix[metric.index(along)].tolist()
    values = np.array([_number("along", number) for number in numbers])
    if not np.isfinite(values).all():
        raise MechanismError("along: a point is at infinite distance; take one component of the metric")
    _refuse_steep(metric, values)
    places = sorted(set(values.tolist()))
    noise = tight_constraints(metrics.line(places), eps, alpha=alpha)
    require_dense(metric.size, len(places), "the mechanism")
    rows = [places.index(value) for value in values.tolist()]
    return Channel.trusted(noise.entries[rows], noise.form, metric.points, noise.outputs)


def _number(argument: str, given: Any) -> float:
    """A number of an argument, ∞ allowed."""
    try:
        found = math.nan if isinstance(given, bool) or given is np.ma.masked else float(given)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if math.isnan(found):
        raise MechanismError(f"{argument} has {abbreviated(given)}; give a number")
    return found


def _refuse_steep(metric: Metric, values: AnyArray) -> None:
    with np.errstate(invalid="ignore"):
        over = np.abs(values[:, None] - values[None, :]) - metric.matrix * (1 + SLOPE_ROUNDING)
    if (over > 0).any():
        i, j = map(int, np.argwhere(over > 0)[0])
        a, b = metric.points[i], metric.points[j]
        raise MechanismError(
            f"along: {abbreviated(a)} and {abbreviated(b)} are at distance {metric.matrix[i, j]:g} but go to "
            f"{values[i]:g} and {values[j]:g}; numbers may not change faster than the distance"
        )


def balanced_collection(
    n: int | Iterable[object],
    sets: Iterable[Iterable[object]] | Mapping[Any, object],
    eps: float | None = None,
    *,
    alpha: object = None,
) -> Channel:
    """An output for each set of a balanced collection, likelier from inputs inside it (discrete metric).

    Parameters
    ----------
    n : number of inputs, or their labels
    sets : subsets of the inputs for which weights λ > 0 exist such that every input is in sets of total
        weight 1; a mapping from tuples to weights where the sets alone do not determine them
    eps, alpha : exactly one of eps (nats) and alpha = e^-eps; rational alpha gives an exact channel

    Returns
    -------
    Channel
        K[x, A] = λ_A·(α + (1 - α)·[x ∈ A])/(1 - α + α·Σλ), with the sets as outputs.

    Notes
    -----
    Kernels of the discrete metric are exactly these, for minimal balanced collections. Singletons give
    randomised response.

    Cost: O(n·sets), and a linear system of the sets.

    Examples
    --------
    >>> pairs = balanced_collection(3, [[0, 1], [1, 2], [0, 2]], alpha="1/2")
    >>> pairs.exact[0].tolist()
    [Fraction(2, 5), Fraction(1, 5), Fraction(2, 5)]
    """
    inputs = inputs_of(n)
    named = sets if isinstance(sets, Mapping) else taken("sets", sets, MechanismError, "sets of inputs")
    entries = len(inputs) * len(named)
    require_size(entries, LARGEST_COLLECTION, "the entries of the channel", "group the inputs")
    place = {name: i for i, name in enumerate(inputs)}
    members = []
    for item in named:
        if not iterable(item) or isinstance(item, str):
            raise MechanismError(f"sets: {abbreviated(item)} is no set of inputs; give a list of them")
        names = [label(name) for name in item]
        unknown = [name for name in names if name not in place]
        if unknown:
            raise MechanismError(f"sets: {abbreviated(unknown[0])} is not one of the inputs")
        members.append(tuple(names))
    if not members or any(not 0 < len(set(item)) < len(inputs) for item in members):
        raise MechanismError("sets: give proper subsets of the inputs that are not empty")
    inside = np.array([[int(name in set(item)) for item in members] for name in inputs], dtype=object)
    weights = _weights(inside, None if not isinstance(sets, Mapping) else list(sets.values()))
    level = privacy(eps, alpha)
    return _in_proportion(level, 1.0 - inside.astype(np.float64), weights, inputs, members)


def _weights(inside: AnyArray, given: list[Any] | None) -> list[Any]:
    """The balancing weights: given ones checked, or the only ones that exist."""
    fractions: AnyArray = np.vectorize(Fraction, otypes=[object])(inside)
    weights: list[Any]
    if given is None:
        count = fractions.shape[1]
        if exact_rank(fractions) < count:
            raise MechanismError(
                "sets: their weights are not determined; give a mapping from sets to weights"
            )
        square = fractions.T.dot(fractions)
        right = fractions.T.dot(np.full((len(inside), 1), Fraction(1), dtype=object))
        weights = exact_solve(square, right)[:, 0].tolist()
    else:
        weights = [_weight(value) for value in given]
    covered = fractions.dot(np.array(weights, dtype=object))
    if any(weight <= 0 for weight in weights) or any(value != 1 for value in covered):
        worst = int(np.argmax([abs(value - 1) for value in covered]))
        raise MechanismError(
            f"sets are not balanced: input number {worst + 1} is in sets of total weight {covered[worst]}, "
            f"and weights are {', '.join(map(str, weights))}; weights > 0 must add up to 1 at every input"
        )
    return weights


def _weight(given: Any) -> Fraction:
    """A balancing weight as a fraction."""
    try:
        return as_fraction(given) if is_exact(given) else Fraction(_number("sets", given))
    except (ValueError, OverflowError):
        raise MechanismError(f"sets: the weight {abbreviated(given)} is no number; give one > 0") from None


def two_point_blocks(metric: Metric, eps: float | None = None, *, alpha: object = None) -> Channel:
    """The mechanism that is best for every use and every prior, where no three inputs must be alike.

    Parameters
    ----------
    metric : Metric; at most two different points of each component
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha and whole distances
        give an exact channel

    Returns
    -------
    Channel
        The component is told, and inside it the point as truthfully as its distance allows.

    Notes
    -----
    Only such metrics have a universally optimal mechanism (`sv.geometry.has_universally_optimal`). Points at
    distance 0 are one.

    Cost: O(n²) for n points.

    References
    ----------
    Fernandes, Thm 6.15.

    Examples
    --------
    >>> from math import inf
    >>> metric = Metric([[0, 1, inf], [1, 0, inf], [inf, inf, 0]])
    >>> [str(p) for p in two_point_blocks(metric, alpha="1/2").exact[0]]
    ['2/3', '1/3', '0']
    """
    metric, level = metric_of(metric), privacy(eps, alpha)
    table = metric.matrix
    groups = (table == 0).argmax(axis=1)
    firsts = np.unique(groups)
    distances = table[:, firsts]
    for row in np.isfinite(distances):
        near = np.flatnonzero(row).tolist()
        if len(near) > 2:
            names = ", ".join(repr(metric.points[int(firsts[k])]) for k in near[:3])
            raise MechanismError(
                f"metric: {names} are at finite distance of each other, and no mechanism is then best for "
                "every use (Fernandes, Thm 6.15); use sv.optimal_mechanism for one use"
            )
    outputs = [metric.points[int(first)] for first in firsts]
    return _in_proportion(level, distances, [Fraction(1)] * len(firsts), metric.points, outputs)


@dataclass(frozen=True)
class Magnitude(Result):
    """The weights of the exponential kernel, and whether it is a mechanism.

    Attributes
    ----------
    exists : whether all weights are ≥ 0, so that the mechanism exists
    weights : the solution of Σ_y e^(-ε·d(x,y))·w_y = 1
    magnitude : their sum: the effective number of points at this ε
    negative : a point of negative weight, where it does not exist
    """

    exists: bool
    weights: tuple[Any, ...]
    magnitude: Any
    negative: Hashable | None

    def __bool__(self) -> bool:
        return self.exists

    def __str__(self) -> str:
        effective = f"as many as {float(self.magnitude):.6g} points that are told apart"
        if self.exists:
            return f"the exponential kernel exists; {effective}"
        return (
            f"the exponential kernel does not exist: the weight of {self.negative!r} is negative; {effective}"
        )


def magnitude(metric: Metric, eps: float | None = None, *, alpha: object = None) -> Magnitude:
    """The magnitude weighting of a metric: the weights of its exponential kernel, if that is a mechanism.

    Parameters
    ----------
    metric : Metric, without points at distance 0
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha and whole distances
        give exact weights

    Returns
    -------
    Magnitude
        With the point whose weight is negative, where `sv.mechanisms.tight_constraints` does not exist.

    Notes
    -----
    On a line weights are always positive; on a tree the one at v is 1 - Σ 1/(1 + e^(ε·length)) over its
    edges, so a star with m leaves has none beyond alpha = 1/(m - 1).

    Cost: O(n³): one linear system of n points.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> star = metrics.from_graph([(0, 1), (0, 2), (0, 3)])
    >>> magnitude(star, alpha="1/2").weights[0], magnitude(star, alpha="2/3").negative
    (Fraction(0, 1), 0)
    """
    metric, level = metric_of(metric), privacy(eps, alpha)
    n = metric.size
    require_dense(n, n, "the kernel")
    entries = [_ratio(level, float(d)) for d in metric.matrix.ravel().tolist()]
    exact = all(isinstance(value, Fraction) for value in entries)
    table = np.array(entries, dtype=object if exact else np.float64).reshape(n, n)
    weights: AnyArray
    try:
        if exact:
            weights = exact_solve(table, np.full((n, 1), Fraction(1), dtype=object))[:, 0]
        else:
            weights = np.linalg.solve(table.astype(np.float64), np.ones(n))
    except (ZeroDivisionError, np.linalg.LinAlgError):
        raise MechanismError(
            "metric: points at distance 0, or this ε, make the kernel singular; merge points or change ε"
        ) from None
    least = 0 if exact else -1e-12 * float(np.abs(weights).max())
    below = np.flatnonzero(np.asarray(weights < least, dtype=bool))
    negative = metric.points[int(below[0])] if len(below) else None
    return Magnitude(not len(below), tuple(weights.tolist()), weights.sum(), negative)


# ── What a file can name ────────────────────────────────────────────────────────────────────────────────────


@variant(Family, "versus")
class Versus(EpsilonFamily):
    """Whether the answer is one of some values: one bit, as truthful as ε allows."""

    members: Annotated[list[Value], Field(description="the values of one side", min_length=1)]

    def channel(self, answers: Answers, query: Query) -> Channel:
        return versus(answers.metric, [label(item) for item in self.members], self.eps, alpha=self.alpha)


@variant(Family, "pull-back")
class PullBack(EpsilonFamily):
    """Geometric noise on the distance from one value, or on numbers that change no faster than distances."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"oneOf": [{"required": ["eps"]}, {"required": ["alpha"]}]},
                {"oneOf": [{"required": ["anchor"]}, {"required": ["along"]}]},
            ]
        },
    )

    anchor: Annotated[Value | None, Field(description="the value from which distances are measured")] = None
    along: Annotated[
        list[Finite] | None,
        Field(description="instead of anchor: a number for each answer, in order, of slope 1 at most"),
    ] = None

    @model_validator(mode="after")
    def _one_map(self) -> Self:
        if (self.anchor is None) == (self.along is None):
            raise ValueError("give exactly one of anchor (distances from a value) and along (numbers)")
        return self

    def channel(self, answers: Answers, query: Query) -> Channel:
        along: object = None if self.anchor is None else label(self.anchor)
        if self.along is not None:
            if len(self.along) != len(answers.labels):
                raise MechanismError(
                    f"along has {len(self.along)} numbers for {len(answers.labels)} answers; give one each"
                )
            along = dict(zip(answers.labels, self.along, strict=True))
        return pull_back(answers.metric, along, self.eps, alpha=self.alpha)


@variant(Family, "balanced-collection")
class BalancedCollection(EpsilonFamily):
    """An output for each set of a balanced collection, likelier from the values inside it."""

    sets: Annotated[
        list[list[Value]],
        Field(description="sets of values such that weights make every value equally covered", min_length=1),
    ]
    weights: Annotated[
        list[str | Finite] | None,
        Field(description="a weight > 0 for each set, where the sets alone do not determine them"),
    ] = None

    def channel(self, answers: Answers, query: Query) -> Channel:
        named = [[label(item) for item in part] for part in self.sets]
        nearest = float(answers.metric.matrix[~np.eye(answers.metric.size, dtype=bool)].min(initial=np.inf))
        if nearest != 1:
            raise MechanismError(
                f"sets: the nearest two answers are at distance {nearest:g}; a balanced collection is for "
                'answers at distance 1 or more, such as secrets = "complete"'
            )
        if self.weights is None:
            return balanced_collection(answers.labels, named, self.eps, alpha=self.alpha)
        if len(self.weights) != len(named):
            raise MechanismError(f"weights has {len(self.weights)} numbers for {len(named)} sets")
        weighed = {tuple(part): weight for part, weight in zip(named, self.weights, strict=True)}
        if len(weighed) != len(named):
            raise MechanismError(
                "sets: one of them is listed twice; give it once, with the sum of the weights"
            )
        return balanced_collection(answers.labels, weighed, self.eps, alpha=self.alpha)


@variant(Family, "two-point-blocks")
class TwoPointBlocks(EpsilonFamily):
    """The best mechanism for every use, where no three answers must be alike."""

    def channel(self, answers: Answers, query: Query) -> Channel:
        return two_point_blocks(answers.metric, self.eps, alpha=self.alpha)
