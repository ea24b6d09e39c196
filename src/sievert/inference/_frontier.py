"""The exact trade-off: how accurate can a release be while a secret stays guarded?

The largest accuracy under V_S ≤ τ is a linear program (`_program`), so the whole frontier is a concave line
of finitely many pieces. Every point comes with a mechanism that reaches it and with prices that prove that
none exceeds it (`_certificates`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from sievert.channels import Channel
from sievert.errors import GainError, MechanismError, PolicyError
from sievert.inference._certificates import Exactly, certified
from sievert.inference._correlation import Correlation, correlation_of
from sievert.inference._program import Problem, Solver
from sievert.inference._witness import no_free_lunch
from sievert.inference._worlds import worlds
from sievert.measures import Adversary, as_gain
from sievert.mechanisms import privacy
from sievert.numerics import (
    advance,
    as_fraction,
    brief,
    exact_matmul,
    flag,
    in_percent,
    is_exact,
    read_eps,
    require_size,
    taken,
)
from sievert.programs import Unsolved
from sievert.proofs import FrontierProof, Neighbours, exact_rows
from sievert.results import Result
from sievert.spaces import Labels, Metric, metric_of, shown

__all__ = ["InferenceCurve", "InferenceFrontier", "InferencePoint", "curve", "frontier"]

# Limits this close to each other or to the best guess before a release are the same but for rounding.
SAME_LIMIT = 1e-12
# What a line of tallies may leave out at its ends, at so many tallies or more.
OUTSIDE, LARGE_LINE = 1e-9, 60
# Pieces of a curve that are looked at; a kink smaller than this is rounding.
MOST_PIECES, SMALLEST_KINK = 400, 1e-9
LARGEST_ACTIONS = 10_000


@dataclass(frozen=True)
class InferencePoint(Result):
    """The most accurate mechanism under a limit.

    Attributes
    ----------
    limit : how often the secret may be guessed at most; one for each secret
    accuracy : how often the best mechanism tells the use right (`exact` says that it is known exactly)
    upper : what no mechanism exceeds; equal to `accuracy` where that is exact
    vulnerability : how often each secret is guessed from this mechanism; at most 1e-8 above its limit
    mechanism : the channel that reaches it
    certificate : the proof, which verifies without a solver
    """

    limit: tuple[Any, ...]
    accuracy: Any
    upper: Any
    vulnerability: tuple[Any, ...]
    mechanism: Channel = field(repr=False)
    certificate: FrontierProof = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether the accuracy is exact, or only enclosed by `accuracy` and `upper`."""
        return bool(self.accuracy == self.upper)

    def __float__(self) -> float:
        return float(self.accuracy)

    def __str__(self) -> str:
        guessed = " and ".join(in_percent(float(limit)) for limit in self.limit)
        kept = "stays" if len(self.limit) == 1 else "stay"
        return (
            f"While the best guess of the secret {kept} at {guessed}, no mechanism tells the use right "
            "more often than "
            f"with {in_percent(float(self.upper))}, and this one reaches that."
        )


@dataclass(frozen=True)
class InferenceFrontier(Result):
    """Points of the frontier, one for each limit asked for."""

    points: tuple[InferencePoint, ...]

    def __iter__(self) -> Iterator[InferencePoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, place: int) -> InferencePoint:
        return self.points[place]

    @property
    def accuracies(self) -> tuple[Any, ...]:
        """The accuracy at each limit."""
        return tuple(point.accuracy for point in self.points)

    def __str__(self) -> str:
        return "\n".join(
            f"{', '.join(f'{float(limit):.6g}' for limit in point.limit)}: {float(point.accuracy):.6g}"
            for point in self.points
        )


@dataclass(frozen=True)
class InferenceCurve(Result):
    """The whole frontier: accuracy is linear between these limits, and constant after the last.

    `slopes` has one entry for each piece: how much accuracy a larger limit is worth.
    """

    limits: tuple[float, ...]
    accuracies: tuple[float, ...]
    slopes: tuple[float, ...]

    def at(self, limit: float) -> float:
        """The largest accuracy under a limit."""
        if limit < self.limits[0] - SAME_LIMIT:
            raise PolicyError(
                f"limit is {brief(limit)}; the secret is guessed with {self.limits[0]:.6g} already"
            )
        return float(np.interp(limit, self.limits, self.accuracies))

    def __str__(self) -> str:
        count = len(self.slopes)
        pieces = "one straight piece" if count == 1 else f"{count} straight pieces"
        first, last = (in_percent(float(value)) for value in (self.accuracies[0], self.accuracies[-1]))
        low, high = (in_percent(float(value)) for value in (self.limits[0], self.limits[-1]))
        return (
            f"The best accuracy rises from {first}, where nobody guesses the secret better than before "
            f"({low}), to "
            f"{last}, where it is guessed with {high}, in {pieces}."
        )


def frontier(
    correlation: Correlation | Sequence[Correlation],
    limits: Any,
    eps: float | None = None,
    metric: Metric | None = None,
    insensitive: bool = False,
    *,
    alpha: object = None,
    gain: object = None,
    use_gain: object = None,
    ball: object = None,
    box: object = None,
) -> InferenceFrontier:
    """The largest accuracy while a secret is guessed with at most a given probability, with proof.

    Parameters
    ----------
    correlation : how secret and use go together; several, over the same data, protect several secrets at once
    limits : how often a secret may be guessed: one number, or a list of them, a point for each; with several
        secrets one number is for all of them, and a tuple has one for each
    eps : the mechanism must also be ε-private, in nats
    metric : between uses, or between the inputs of the raw data; ε counts for its distances. By default any
        two inputs are at distance 1
    insensitive : the mechanism sees the use only, not the raw data
    alpha : e^-eps instead of `eps`; a fraction makes exact answers possible
    gain : on the secrets: what is limited is the value of this gain; one guess by default
    use_gain : on the uses: what is made large; one guess by default
    ball : the limits hold for every joint of which a share of at least 1 - ball is the given one
    box : the limits hold for every joint whose probabilities differ from the given ones by at most this

    Returns
    -------
    InferenceFrontier
        Points with `accuracy`, `mechanism` and `certificate`, in the order of the limits.

    Notes
    -----
    A linear program over mechanisms [input, guess of the use]. Only the secrets that are given are protected:
    for every participant of a survey give one correlation each, or use `insensitive`.

    Cost: one program of inputs·uses variables, solved anew from the last limit; tallies on a line are cut to
    where all but 1e-9 of the probability is, and folded where they are symmetric: 1000 participants take
    seconds.

    References
    ----------
    Fernandes, Sec 5.4 and 5.5; the program is not in the thesis.

    Examples
    --------
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> frontier(survey, ["1/2", "3/4"]).accuracies
    (Fraction(3, 4), Fraction(1, 1))
    """
    level = _level(eps, alpha)
    question = _Question(correlation, level, metric, insensitive, (gain, use_gain), (ball, box))
    wanted = [question.limits(item) for item in _listed(limits)]
    found = []
    for place, limit in enumerate(wanted):
        advance("best mechanisms", place, len(wanted))
        found.append(question.point(limit))
    return InferenceFrontier(tuple(found))


def curve(
    correlation: Correlation | Sequence[Correlation],
    eps: float | None = None,
    metric: Metric | None = None,
    insensitive: bool = False,
    *,
    alpha: object = None,
    gain: object = None,
    use_gain: object = None,
    ball: object = None,
    box: object = None,
) -> InferenceCurve:
    """The whole frontier: every limit at which its slope changes.

    Parameters
    ----------
    correlation : how secret and use go together; several secrets have one limit
    eps, metric, insensitive, alpha, gain, use_gain, ball, box : as for `frontier`

    Returns
    -------
    InferenceCurve
        `limits` and `accuracies` at the kinks, and the `slopes` between them.

    Notes
    -----
    Each solve gives a point and a tangent, its multiplier; where two tangents meet, the curve either has a
    kink or is solved again. So k kinks take about 2k solves, and none lies between them unseen.

    Cost: that of `frontier` once, and a few steps of the simplex for each kink.

    Examples
    --------
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> found = curve(survey, eps=math.log(3), metric=Metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    >>> [round(x, 6) for x in found.limits], [round(x, 6) for x in found.accuracies]
    ([0.5, 0.666667], [0.5625, 0.625])
    """
    level = _level(eps, alpha)
    question = _Question(correlation, level, metric, insensitive, (gain, use_gain), (ball, box))
    return question.curve()


def _level(eps: object, alpha: object) -> Any:
    """What is promised; None for nothing."""
    level = None if eps is None and alpha is None else privacy(eps, alpha)
    return None if level is None or math.isinf(level.eps) else level


def _listed(limits: Any) -> list[Any]:
    single = isinstance(limits, str | int | float | Fraction | np.number | tuple)
    items = [limits] if single else taken("limits", limits, PolicyError, "limits")
    if not items:
        raise PolicyError("limits is empty; give how often the secret may be guessed")
    return items


class _Question:
    """The inputs that a mechanism may tell apart, and the program over them."""

    def __init__(
        self,
        correlation: Any,
        level: Any,
        metric: Any,
        insensitive: bool,
        gains: tuple[Any, Any],
        near: tuple[Any, Any],
    ) -> None:
        gain, use_gain = gains
        insensitive = flag("insensitive", insensitive, MechanismError)
        several = isinstance(correlation, list | tuple) and any(
            isinstance(item, Correlation) for item in correlation
        )
        self.correlations = [correlation_of(item) for item in (correlation if several else [correlation])]
        _refuse_same(self.correlations, gain, use_gain)
        if metric is not None and level is None:
            raise MechanismError(
                "metric goes with eps: how much may the odds change for each unit of distance?"
            )
        given = None if metric is None else metric_of(metric)
        self.labels, self.prior, self.use_of, joints = _inputs(self.correlations, given, insensitive)
        uses = self.correlations[0].uses
        worth = as_gain(use_gain, uses)
        wants = [as_gain(gain, item.secrets) for item in self.correlations]
        self.gain_table = _table(worth)[:, self.use_of]
        self.guesses = _actions(worth)
        self.robust = any(item is not None for item in near)
        blocks = [
            (owner, adversary, world)
            for owner, (adversary, joint) in enumerate(zip(wants, joints, strict=True))
            for world in worlds(joint, _cells(joint, self.labels, uses), *near)
        ]
        self.owners = [owner for owner, _, _ in blocks]
        self.leaks = tuple(_gained(adversary, world) for _, adversary, world in blocks)
        self.before = [_blind(adversary, world) for _, adversary, world in blocks]
        space = _neighbours(self.labels, given, level)
        whole = (0, len(self.labels) - 1)
        first, last = whole if self.robust else _window(space, self.prior, worth)
        self.first, self.last = first, last
        self._set_up(space, first, last)

    def _set_up(self, space: Neighbours, first: int, last: int) -> None:
        kept = slice(first, last + 1)
        whole = last - first + 1 == len(self.labels)
        guesses = slice(None) if whole else kept
        prior, gain = self.prior[kept], self.gain_table[guesses, kept]
        leaks = tuple(leak[:, kept] for leak in self.leaks)
        if not whole:
            pairs = tuple((i, i + 1) for i in range(last - first))
            space = Neighbours(
                "forest", last - first + 1, pairs, space.lengths[first:last], space.eps, space.alpha
            )
        self.exact = Exactly(prior, gain, leaks)
        value = gain.astype(np.float64) * prior.astype(np.float64)[None, :]
        self.problem = Problem(value, tuple(leak.astype(np.float64) for leak in leaks), space)
        self.solver = Solver(self.problem)
        self.outputs = self.guesses if whole else self.guesses[first : last + 1]

    def limits(self, given: Any) -> tuple[Fraction, ...]:
        """One limit a secret, at least the best guess before any release."""
        count = len(self.correlations)
        items = list(given) if isinstance(given, tuple) else [given] * count
        if len(items) != count:
            raise PolicyError(
                f"limits has the entry {brief(given)}; give one number, or one for each of {count}"
            )
        found = []
        for item, before in zip((items[owner] for owner in self.owners), self.before, strict=True):
            try:
                value = as_fraction(item) if is_exact(item) else read_eps(float(item))
            except (TypeError, ValueError):
                raise PolicyError(f"limits has the entry {brief(item)}; give probabilities") from None
            if value < before and float(before) - float(value) > SAME_LIMIT:
                raise PolicyError(
                    f"limits has the entry {float(value):.6g}; the secret is guessed with probability "
                    f"{float(before):.6g} before any release, and no mechanism can be below that"
                )
            # 2/3 as a float is meant as the best guess before, which is a little more.
            close = not is_exact(item) and abs(float(value) - float(before)) <= SAME_LIMIT
            found.append(before if close else max(value, before))
        return tuple(found)

    def point(self, limits: tuple[Fraction, ...]) -> InferencePoint:
        """The best mechanism, repaired and proved."""
        guess = self._solve([float(limit) for limit in limits])
        proof = certified(self.problem, self.exact, limits, guess)
        exact = proof.lower == proof.upper
        tables = proof.mechanism
        if self.last - self.first + 1 < len(self.labels):
            places = np.clip(np.arange(len(self.labels)), self.first, self.last) - self.first
            tables = tables[places]
        rows = tables if exact or tables.size <= 10_000 else tables.astype(np.float64)
        if rows.dtype != object:
            rows = rows / rows.sum(axis=1, keepdims=True)
        channel = Channel(rows, inputs=self.labels, outputs=self.outputs)
        given = proof.given if exact else tuple(float(away) for away in proof.given)
        return InferencePoint(
            self._each(limits if exact else tuple(float(limit) for limit in limits)),
            proof.lower if exact else float(proof.lower),
            proof.upper if exact else float(proof.upper),
            self._each(given),
            channel,
            proof,
        )

    def _each(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One number for each secret: the largest over the joints that may be true."""
        count = len(self.correlations)
        return tuple(max(v for v, o in zip(values, self.owners, strict=True) if o == k) for k in range(count))

    def _solve(self, limits: Sequence[float]) -> Any:
        try:
            return self.solver.solve(limits)
        except Unsolved as problem:
            raise PolicyError(
                f"the best mechanism was not found ({problem}); give probabilities of similar size, or a "
                "larger limit"
            ) from None

    def curve(self) -> InferenceCurve:
        """Tangents from both ends until every two neighbours meet on the curve."""
        low = max(float(before) for before in self.before)
        top = max(float(max(leak.max(axis=0).sum() for leak in self.problem.leaks)) + _slack(self), low)
        ends = [self._tangent(low), self._tangent(top)]
        kinks = {limit: value for limit, value, _ in ends}
        open_ = [(ends[0], ends[1])]
        while open_ and len(kinks) < MOST_PIECES:
            (a, value_a, steep), (b, value_b, flat) = open_.pop()
            if steep - flat <= SMALLEST_KINK or b - a <= SMALLEST_KINK:
                continue
            meet = (value_b - flat * b - value_a + steep * a) / (steep - flat)
            if not a + SMALLEST_KINK < meet < b - SMALLEST_KINK:
                continue
            expected = value_a + steep * (meet - a)
            middle = self._tangent(meet)
            kinks[meet] = middle[1]
            if expected - middle[1] > SMALLEST_KINK:
                open_ += [((a, value_a, steep), middle), (middle, (b, value_b, flat))]
        return _pieces(kinks)

    def _tangent(self, limit: float) -> tuple[float, float, float]:
        found = self._solve([limit] * len(self.owners))
        return limit, found.value, float(found.slopes.sum())


def _slack(question: _Question) -> float:
    """What outputs that are never merged could add: nothing, but rounding at the last kink."""
    return 1e-9 * max(float(np.abs(leak).sum()) for leak in question.problem.leaks)


def _pieces(kinks: dict[float, float]) -> InferenceCurve:
    """Kinks in order, those in the middle of a straight piece left out."""
    limits = sorted(kinks)
    kept = [limits[0]]
    for limit, after in zip(limits[1:], [*limits[2:], None], strict=True):
        if after is not None:
            left = (kinks[limit] - kinks[kept[-1]]) / (limit - kept[-1])
            right = (kinks[after] - kinks[limit]) / (after - limit)
            if left - right <= 10 * SMALLEST_KINK:
                continue
        kept.append(limit)
    if len(kept) > 1 and kinks[kept[-1]] - kinks[kept[-2]] <= SMALLEST_KINK:
        kept.pop()
    values = [kinks[limit] for limit in kept]
    slopes = tuple(
        (b - a) / (y - x) for x, y, a, b in zip(kept[:-1], kept[1:], values[:-1], values[1:], strict=True)
    )
    return InferenceCurve(tuple(kept), tuple(values), slopes)


def _refuse_same(correlations: list[Correlation], gain: Any, use_gain: Any) -> None:
    for item in correlations:
        if gain is None and use_gain is None and item.secret_equals_use:
            before = max(item.secret_prior.tolist())
            least = no_free_lunch(item.secret_prior)
            raise PolicyError(
                "secret and use are one property, so that whoever tells the use tells the secret: there is "
                "no free "
                f"lunch (Fernandes, Thm 5.1). It is guessed with {float(before):.6g} before; an accuracy "
                "of 1 - e and a "
                f"guess of at most {float(before):.6g} + e need e ≥ {float(least):.6g}"
            )


def _inputs(
    correlations: list[Correlation], metric: Metric | None, insensitive: bool
) -> tuple[Labels, AnyArray, IndexArray, list[AnyArray]]:
    """Labels and prior of what the mechanism sees, the use of each, and for each secret [secret, input]."""
    first = correlations[0]
    for other in correlations[1:]:
        if tuple(other.uses) != tuple(first.uses) or not _equal(other.use_prior, first.use_prior):
            raise PolicyError(
                "correlations must be about the same data: the same uses with the same probabilities"
            )
    on_uses = metric is not None and set(metric.points) == set(first.uses)
    if insensitive or on_uses:
        return first.uses, first.use_prior, np.arange(len(first.uses)), [item.joint for item in correlations]
    same = all(
        tuple(item.inputs) == tuple(first.inputs)
        and np.array_equal(item.use_of, first.use_of)
        and _equal(item.input_prior, first.input_prior)
        for item in correlations[1:]
    )
    if not same:
        raise PolicyError(
            "several secrets that are known only beside the use leave open how they go together; give "
            "insensitive=True "
            "for mechanisms that see the use only, or correlations from the same rows"
        )
    secrets = [item.secret_of for item in correlations]
    if metric is not None:
        if set(metric.points) != set(first.inputs):
            raise PolicyError(
                f"metric is about {shown(metric.points)}; it must be about the uses {shown(first.uses)} or "
                "the inputs "
                f"{shown(first.inputs)}"
            )
        groups, names = np.arange(len(first.inputs)), first.inputs
    else:
        groups, names = _grouped(first, secrets)
    size = int(groups.max()) + 1
    prior = _added(first.input_prior, groups, np.zeros(len(groups), dtype=np.intp), (1, size))[0]
    use_of = np.zeros(size, dtype=np.intp)
    use_of[groups] = first.use_of
    joints = [
        _added(first.input_prior, groups, secret, (len(item.secrets), size))
        for item, secret in zip(correlations, secrets, strict=True)
    ]
    return names, prior, use_of, joints


def _grouped(first: Correlation, secrets: list[IndexArray]) -> tuple[IndexArray, Labels]:
    """Inputs that agree in every secret and in the use are one."""
    key = np.stack([*secrets, first.use_of], axis=1)
    distinct, groups = np.unique(key, axis=0, return_inverse=True)
    if len(distinct) == len(first.inputs):
        return np.arange(len(first.inputs)), first.inputs
    names = [(*(int(v) for v in row[:-1]), first.uses[int(row[-1])]) for row in distinct]
    if len(secrets) == 1:
        names = [(first.secrets[int(row[0])], first.uses[int(row[1])]) for row in distinct]
    return np.asarray(groups).ravel(), tuple(names)


def _added(weights: AnyArray, columns: IndexArray, rows: IndexArray, shape: tuple[int, int]) -> AnyArray:
    table = np.full(shape, Fraction(0), dtype=object) if weights.dtype == object else np.zeros(shape)
    np.add.at(table, (rows, columns), weights)
    return table


def _equal(first: AnyArray, second: AnyArray) -> bool:
    if first.shape != second.shape:
        return False
    return bool(np.allclose(first.astype(np.float64), second.astype(np.float64), rtol=1e-9, atol=1e-12))


def _table(adversary: Adversary) -> AnyArray:
    """A gain as a table [action, secret]."""
    if adversary.is_loss:
        raise GainError(f"gain is the loss {adversary.name!r}; give a gain, such as sv.gains.from_loss of it")
    require_size(adversary.action_count, LARGEST_ACTIONS, "the actions of the gain", "give one with fewer")
    return np.asarray(adversary.matrix)


def _actions(adversary: Adversary) -> Labels:
    names = getattr(adversary, "actions", None)
    return tuple(range(len(_table(adversary)))) if names is None else tuple(names)


def _gained(adversary: Adversary, joint: AnyArray) -> AnyArray:
    """What each action gains together with each input."""
    table = _table(adversary)
    if joint.dtype == object:
        return exact_matmul(exact_rows(table), joint)
    return np.asarray(table.astype(np.float64) @ joint)


def _blind(adversary: Adversary, joint: AnyArray) -> Fraction:
    """The value before any release, as a fraction."""
    totals = _gained(adversary, joint).sum(axis=1)
    return max(Fraction(value) for value in totals.tolist())


def _neighbours(labels: Labels, metric: Metric | None, level: Any) -> Neighbours:
    """Who must not be told apart from whom, in the form that is checked fastest."""
    n = len(labels)
    if level is None or n == 1:
        return Neighbours("free", n)
    promise = (
        (None, level.alpha) if level.alpha is not None else (level.exact_eps or read_eps(level.eps), None)
    )
    if metric is None:
        return Neighbours("uniform", n, (), (Fraction(1),), *promise)
    if tuple(metric.points) != tuple(labels):
        metric = metric.restricted(labels)
    if metric.uniform_distance is not None and 0 < metric.uniform_distance < math.inf:
        return Neighbours("uniform", n, (), _lengths([metric.uniform_distance], promise), *promise)
    pairs, lengths = _edges(metric)
    form = "forest" if len(pairs) < n else "graph"
    found = Neighbours(form, n, pairs, _lengths(lengths, promise), *promise)
    if form == "forest" and len(found.order) != len(pairs):
        found = Neighbours("graph", n, pairs, found.lengths, *promise)
    return found


def _lengths(lengths: Sequence[float], promise: tuple[Any, Any]) -> tuple[Fraction, ...]:
    found = tuple(Fraction(float(length)) for length in lengths)
    if promise[1] is not None and any(length.denominator != 1 for length in found):
        raise MechanismError("alpha goes with whole distances; give eps for a metric with others")
    return found


def _edges(metric: Metric) -> tuple[tuple[tuple[int, int], ...], list[float]]:
    """Edges whose shortest paths are the metric: those that no third point lies between."""
    if metric.edges is not None:
        pairs = tuple((int(a), int(b)) for a, b in metric.edges.pairs.tolist())
        return pairs, metric.edges.lengths.tolist()
    require_size(
        metric.size, 600, "the points of a metric without edges", "give a metric on a line or a graph"
    )
    distance = metric.matrix
    n = len(distance)
    needed = np.isfinite(distance) & np.triu(np.ones((n, n), dtype=bool), 1)
    for v in range(n):
        through = distance[:, v][:, None] + distance[v][None, :]
        near = through <= distance * (1 + 1e-12)
        # A point at distance 0 from an end is that end; the first of them stands for all.
        near[distance[:, v] == 0] = False
        near[:, distance[v] == 0] = False
        needed &= ~near
    zero = distance == 0
    first = zero.argmax(axis=0)
    for i, j in np.argwhere(needed).tolist():
        if distance[i, j] > 0 and (first[i] != i or first[j] != j):
            needed[i, j] = False
        if distance[i, j] == 0 and first[j] != i:
            needed[i, j] = False
    found = np.argwhere(needed).tolist()
    return tuple((int(i), int(j)) for i, j in found), [float(distance[i, j]) for i, j in found]


def _cells(joint: AnyArray, labels: Labels, uses: Labels) -> BoolArray:
    """Pairs that may occur: all of secret and use; of raw data, whose secret is known, those that do."""
    if tuple(labels) == tuple(uses):
        return np.ones(joint.shape, dtype=bool)
    return np.asarray(joint != 0, dtype=bool)


def _window(space: Neighbours, prior: AnyArray, worth: Adversary) -> tuple[int, int]:
    """The part of a long line of tallies that holds all but OUTSIDE of the probability."""
    n = len(prior)
    line = tuple((i, i + 1) for i in range(n - 1))
    if n < LARGE_LINE or space.form != "forest" or space.pairs != line or worth.name != "identity":
        return 0, n - 1
    weights: FloatArray = prior.astype(np.float64)
    up, down = np.cumsum(weights), np.cumsum(weights[::-1])
    cut = min(int(np.searchsorted(up, OUTSIDE / 2)), int(np.searchsorted(down, OUTSIDE / 2)))
    left, right = (
        (cut, cut)
        if _mirrored(weights)
        else (
            int(np.searchsorted(up, OUTSIDE / 2)),
            int(np.searchsorted(down, OUTSIDE / 2)),
        )
    )
    return left, n - 1 - right


def _mirrored(weights: FloatArray) -> bool:
    return bool((np.abs(weights - weights[::-1]) <= 1e-12).all())
