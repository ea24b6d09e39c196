"""What an attacker, or a user of the data, expects to lose after several observations.

U_n is the least expected loss after n observations (Boreale and Paolini, Def 10). It falls to U_R, the loss
of someone who knows the row, at the utility rate: U_n = U_R + 2^(-n·ρ) up to the exponent (Thm 9), whatever
the prior and the loss, as long as different rows have different best guesses.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import accumulate, takewhile

import numpy as np

from sievert.channels import Channel, finite_channel
from sievert.errors import TooLargeError
from sievert.measures import GainFunction, GainMatrix, as_gain
from sievert.numerics import generator_of, log_sum
from sievert.observations._error_bounds import SAMPLES, mean_interval, simulated_likelihoods
from sievert.observations._success import (
    ANCHORS,
    BOUNDS,
    EXACT,
    LARGEST_TABLE,
    LARGEST_WORK,
    SIMULATION,
    Attack,
    Random,
    anchors,
)
from sievert.observations._types import (
    RowClasses,
    TypeTable,
    class_regrets,
    curve_work,
    observation_counts,
    row_classes,
    values_by_types,
)
from sievert.results import Result

__all__ = ["ExpectedLoss", "expected_loss", "loss_curve"]

# Bounds further apart than this share of all there is to gain call for a simulation.
WIDE = 0.02


@dataclass(frozen=True)
class ExpectedLoss(Result):
    """Least expected loss (or largest expected gain) after some observations.

    Attributes
    ----------
    lower, upper : bounds; equal when exact
    gap : distance from the limit, to full precision where the loss is a matrix; at most, unless exact
    before, limit : without any observation, and after infinitely many
    method : how it was found
    exact : whether it was computed exactly (up to rounding)
    """

    observations: int
    lower: float
    upper: float
    gap: float
    before: float
    limit: float
    name: str
    is_loss: bool
    method: str
    exact: bool

    @property
    def value(self) -> float:
        """The expected loss, or the middle of its bounds."""
        return (self.lower + self.upper) / 2

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        word = "loss" if self.is_loss else "gain"
        times = "1 observation" if self.observations == 1 else f"{self.observations} observations"
        known = f"{self.value:.6g}" if self.exact else f"between {self.lower:.4g} and {self.upper:.4g}"
        return (
            f"after {times} the expected {word} ({self.name}) is {known} ({self.method}); it was "
            f"{self.before:.4g} and tends to {self.limit:.4g}"
        )


def expected_loss(
    channel: Channel, prior: object = None, loss: object = None, observations: int = 1, rng: Random = None
) -> ExpectedLoss:
    """U_n: the expected loss (or gain) of the best action after n independent observations.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the secrets (uniform by default)
    loss : a loss or gain function, such as `sv.losses.absolute(5)`; the one-try guess by default
    observations : n
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    ExpectedLoss
        `lower` and `upper`, what it was `before` and its `limit`; `float(result)` is the middle.

    Notes
    -----
    Cost: that of `sv.observations.loss_curve` for one n.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> round(expected_loss(coin, loss=losses.bayes_risk(2), observations=25).value, 6)
    0.153768
    """
    return loss_curve(channel, prior, loss, [observations], rng)[0]


def loss_curve(
    channel: Channel,
    prior: object = None,
    loss: object = None,
    observations: Iterable[int] = range(1, 101),
    rng: Random = None,
) -> tuple[ExpectedLoss, ...]:
    """U_n for several n, each exactly by types or, where there are too many, by bounds or simulation.

    Where the whole curve costs too much, some numbers are looked at and the others are bounded by them.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the secrets (uniform by default)
    loss : a loss or gain function, such as `sv.losses.absolute(5)`; the one-try guess by default
    observations : the numbers n
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    tuple of ExpectedLoss
        One for each n.

    Notes
    -----
    Cost: O(types·actions·secrets), with at most (n+1)^(outputs-1) types of n observations.

    Examples
    --------
    >>> import sievert as sv
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> found = loss_curve(coin, loss=sv.losses.bayes_risk(2), observations=[1, 5, 25])
    >>> [round(float(point), 4) for point in found]
    [0.4, 0.3174, 0.1538]
    """
    finite = finite_channel(channel)
    adversary = as_gain(loss, finite.inputs)
    classes = row_classes([finite], prior)
    counts = observation_counts(observations)
    generator = generator_of(rng)
    before = float(adversary.values(classes.belief[:, None])[0])
    exact = _affordable(classes, adversary, counts)
    found = _exactly(classes, adversary, counts[:exact], before)
    if exact < len(counts):
        found += _anchored(classes, adversary, counts[exact:], before, found[-1:], generator)
    return tuple(found)


def _work(classes: RowClasses, adversary: GainFunction, n: int) -> int:
    """Probabilities computed for one point."""
    return curve_work(len(classes) + adversary.action_count, classes.parts[0].shape[1], [n])


def _affordable(classes: RowClasses, adversary: GainFunction, counts: list[int]) -> int:
    """How many of the first points are computed exactly; fewer where the others cost time too."""
    listable = list(
        takewhile(lambda work: work <= LARGEST_TABLE, (_work(classes, adversary, n) for n in counts))
    )
    totals = list(accumulate(listable))
    if len(totals) == len(counts) and totals[-1] <= LARGEST_WORK:
        return len(counts)
    return bisect_right(totals, LARGEST_WORK // 5)


def _exactly(
    classes: RowClasses, adversary: GainFunction, counts: list[int], before: float
) -> list[ExpectedLoss]:
    if not counts:
        return []
    table = TypeTable(classes.parts[0], counts[-1])
    values, gaps, limit = values_by_types(adversary, table, classes, counts)
    return [
        ExpectedLoss(
            n, float(u), float(u), float(gap), before, limit, adversary.name, adversary.is_loss, EXACT, True
        )
        for n, u, gap in zip(counts, values, gaps, strict=True)
    ]


def _anchored(
    classes: RowClasses,
    adversary: GainFunction,
    counts: list[int],
    before: float,
    last: list[ExpectedLoss],
    generator: np.random.Generator,
) -> list[ExpectedLoss]:
    """Some points by the best affordable way, those between by monotonicity: more observations never hurt."""
    places = anchors(counts)
    known = {}
    for i in places:
        cheap = _work(classes, adversary, counts[i]) <= LARGEST_TABLE // ANCHORS
        known[i] = (
            _exactly(classes, adversary, [counts[i]], before)[0]
            if cheap
            else _estimated(classes, adversary, counts[i], before, generator)
        )
    found = list(last)
    for i, n in enumerate(counts):
        if i in known:
            found.append(known[i])
        else:
            found.append(_between(found[-1], known[places[bisect_right(places, i)]], n))
    return found[len(last) :]


def _between(last: ExpectedLoss, following: ExpectedLoss, n: int) -> ExpectedLoss:
    """What two points tell about one between them."""
    method = SIMULATION if SIMULATION in (last.method, following.method) else BOUNDS
    if last.is_loss:
        return replace(
            last, observations=n, lower=min(last.upper, following.lower), method=method, exact=False
        )
    return replace(last, observations=n, upper=max(last.lower, following.upper), method=method, exact=False)


def _estimated(
    classes: RowClasses, adversary: GainFunction, n: int, before: float, generator: np.random.Generator
) -> ExpectedLoss:
    """Certain bounds from how often classes are confused; simulation where they are far apart."""
    limit = _limit(classes, adversary)
    lower, upper = min(before, limit), max(before, limit)
    gap = abs(before - limit)
    regret = regret_bounds(adversary, classes, n) if len(classes) > 1 else None
    if regret is not None:
        least, most = regret
        gap = min(gap, most)
        ends = (
            sorted([limit + least, limit + gap])
            if adversary.is_loss
            else sorted([limit - gap, limit - least])
        )
        lower, upper = max(lower, ends[0]), min(upper, ends[1])
    method = BOUNDS
    if upper - lower > WIDE * abs(before - limit):
        low, high = _simulated(classes, adversary, n, generator)
        if max(lower, low) <= min(upper, high):
            lower, upper, method = max(lower, low), min(upper, high), SIMULATION
    return ExpectedLoss(n, lower, upper, gap, before, limit, adversary.name, adversary.is_loss, method, False)


def _limit(classes: RowClasses, adversary: GainFunction) -> float:
    """The value for someone who knows the class."""
    known = np.zeros((len(classes.belief), len(classes)))
    for column, group in enumerate(classes.members):
        known[list(group), column] = classes.belief[list(group)]
    return float(adversary.values(known).sum())


@singledispatch
def regret_bounds(adversary: GainFunction, classes: RowClasses, n: int) -> tuple[float, float] | None:
    """Bounds on the distance from the limit; None where actions are not listed."""
    return None


@regret_bounds.register
def _regret_of_actions(adversary: GainMatrix, classes: RowClasses, n: int) -> tuple[float, float]:
    """Whoever acts for a wrong class regrets between the least and the largest regret.

    Where an action is best for two classes they need not be told apart, and the least regret is 0.
    """
    regrets, _ = class_regrets(classes, adversary)
    low, high = Attack(classes, (0,), classes.total).missed_bounds(n)
    best_actions = regrets.argmin(axis=0)
    largest = float(regrets[best_actions].max())
    shared = bool(((regrets <= 1e-15 * max(1.0, regrets.max())).sum(axis=1) > 1).any())
    least = 0.0 if shared else float(regrets[regrets > 0].min(initial=math.inf))
    return least * math.exp(low), largest * math.exp(min(high, 0.0))


def _simulated(
    classes: RowClasses, adversary: GainFunction, n: int, generator: np.random.Generator
) -> tuple[float, float]:
    known = adversary.bounds()
    if known is None:
        raise TooLargeError(
            f"{adversary.name!r} after so many observations has too many types, and its range is not known; "
            "observe fewer times",
            size=LARGEST_TABLE,
        )
    drawn = generator.choice(len(classes), size=SAMPLES, p=classes.total / classes.total.sum())
    logs = simulated_likelihoods(classes, [n], drawn, generator)
    place = np.zeros(len(classes.belief), dtype=np.intp)
    for position, group in enumerate(classes.members):
        place[list(group)] = position
    logs -= log_sum(logs + np.log(classes.total), axis=1)[:, None]
    return mean_interval(adversary.values(classes.belief[:, None] * np.exp(logs).T[place]), *known)
