"""When belief in a predicate has grown too much: the probability of a breach at n and by n observations.

A breach of level ε about Q is a posterior p(Q | observations) above 2^ε·p(Q) (or below 2^-ε·p(Q)). *At* n:
all n observations together cause one; *by* n: the first m did for some m ≤ n. The first is a sum over
types. For the second, all orders of a type are equally likely whatever the secret, so one array suffices:
the share of orders of each type that have met no breach, a mean over the types one observation before.
Both are conditional on the predicate being true (Boreale and Paolini, Thm 7, is about *at*).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import BoolArray, FloatArray
from sievert.channels import Channel, finite_channel
from sievert.errors import GainError, PriorError
from sievert.numerics import (
    abbreviated,
    advance,
    choice,
    generator_of,
    in_bits,
    non_negative,
    require_size,
    whole,
)
from sievert.numerics import probability as as_probability
from sievert.observations._chernoff import chernoff_pairs
from sievert.observations._error_bounds import share_interval
from sievert.observations._success import EXACT, LARGEST_TABLE, LARGEST_WORK, SIMULATION, Random
from sievert.observations._types import RowClasses, TypeTable, row_classes, types_of, upto
from sievert.results import Result
from sievert.spaces import iterable, label, shown

__all__ = [
    "BreachCurve",
    "BreachQuestion",
    "BreachUntil",
    "Direction",
    "Predicate",
    "breach_curve",
    "observations_until_breach",
    "predicate_members",
]
Direction = Literal["up", "down", "either"]
Predicate = Callable[[Hashable], bool] | Iterable[object] | object

LN2 = math.log(2)
# A breach is strictly beyond its level; rounding of a logarithm must not make a tie one.
TIE = 1e-11
# Simulated attackers: fewer where there are many classes and observations.
SAMPLES, LEAST_SAMPLES = 5_000, 1_000
SIMULATED_WORK = 200_000_000
LONGEST_SIMULATION = 100_000


@dataclass(frozen=True, eq=False)
class BreachCurve(Result):
    """Probability of a breach for n = 1, 2, …, given that the predicate is true.

    Attributes
    ----------
    predicate : the inputs that satisfy it
    level_bits : the breach's level
    direction : belief grows ("up"), falls ("down") or either
    before : prior probability of the predicate
    at, by : [n-1]: probability of a breach by all n observations, and by the first m for some m ≤ n
    not_at, not_by : 1 - at and 1 - by, to full precision
    rate_bits : not_at falls like 2^(-n·rate) (Thm 7; at least so fast where entries are 0); 0 where it
        does not fall
    reachable : whether any observations could cause such a breach
    exact_until : up to which n the probabilities are exact, by types; beyond, they are simulated
    lower, upper : [2, n]: bounds of (at, by), 99.9 % intervals where simulated
    """

    predicate: tuple[Hashable, ...]
    level_bits: float
    direction: Direction
    before: float
    at: FloatArray
    by: FloatArray
    not_at: FloatArray
    not_by: FloatArray
    rate_bits: float
    reachable: bool
    exact_until: int
    lower: FloatArray
    upper: FloatArray

    @property
    def method(self) -> str:
        """How the probabilities were found."""
        if self.exact_until == len(self.at):
            return EXACT
        return f"{EXACT} up to n = {self.exact_until}, then {SIMULATION}" if self.exact_until else SIMULATION

    @property
    def level_nats(self) -> float:
        """The level in nats."""
        return self.level_bits * LN2

    @property
    def threshold(self) -> float:
        """The belief beyond which it is a breach upwards."""
        return float(self.before * 2.0 ** min(self.level_bits, 1000.0)) if self.before else 0.0

    def asymptote(self, observations: int) -> float:
        """1 - 2^(-n·rate), which has the right exponent only; 0 when out of reach."""
        return -math.expm1(-observations * self.rate_bits * LN2) if self.reachable else 0.0

    def __str__(self) -> str:
        what = f"a breach of {in_bits(self.level_bits)} about {shown(self.predicate)}"
        if not self.reachable:
            verb = {"up": "grow", "down": "fall", "either": "change"}[self.direction]
            return f"{what} cannot happen: belief {self.before:.4g} cannot {verb} that much"
        n = len(self.at)
        return (
            f"{what} has probability {self.at[-1]:.4g} at n = {n} and {self.by[-1]:.4g} by n = {n} "
            f"({self.method})"
        )


@dataclass(frozen=True)
class BreachUntil(Result):
    """The first number of observations at or by which a breach has a given probability.

    Attributes
    ----------
    least, most : it is between them; equal when exact, None when not up to `searched` observations
    searched : how many observations were looked at
    reachable : whether any observations could cause such a breach
    """

    probability: float
    when: Literal["at", "by"]
    least: int | None
    most: int | None
    searched: int
    method: str
    reachable: bool = True

    def __float__(self) -> float:
        return math.inf if self.most is None else float(self.most)

    def __str__(self) -> str:
        what = f"a breach has probability {self.probability:g}"
        if not self.reachable:
            return "no number of observations causes such a breach: belief cannot change that much"
        if self.most is None:
            return f"{self.when} no number of observations up to {self.searched} {what} ({self.method})"
        count = f"{self.most}" if self.least == self.most else f"{self.least} to {self.most}"
        return f"{self.when} {count} observation{'' if count == '1' else 's'} {what} ({self.method})"


def predicate_members(channel: Channel, predicate: Predicate) -> tuple[int, ...]:
    """Positions of the inputs that satisfy a predicate: a function, some inputs, or one input."""
    inputs = channel.inputs
    if callable(predicate):
        return tuple(i for i, item in enumerate(inputs) if predicate(item))
    try:
        single = label(predicate) in inputs
    except TypeError:
        single = False
    if single or isinstance(predicate, str) or not iterable(predicate):
        return (channel.input_index(predicate),)
    return tuple(sorted({channel.input_index(item) for item in predicate}))


def breach_curve(
    channel: Channel,
    prior: object = None,
    predicate: Predicate = (),
    level: float = 1.0,
    observations: int = 1,
    direction: Direction = "up",
    rng: Random = None,
) -> BreachCurve:
    """Probability that belief in a predicate changes by more than `level` bits, for n = 1…observations.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the inputs (uniform by default)
    predicate : what must not be learned: some inputs, a function of the input, or one input
    level : size of a breach in bits: belief grows by more than a factor of 2^level
    observations : the largest n
    direction : whether a breach is belief growing ("up"), falling ("down") or either
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    BreachCurve
        For each n the probability of a breach `at` n and `by` n, given that the predicate is true.

    Notes
    -----
    Cost: exact while the types of n observations can be listed, bounded by a simulation beyond.

    Examples
    --------
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> found = breach_curve(coin, predicate=[0], level=0.5, observations=30)
    >>> [round(float(x), 3) for x in (found.at[9], found.by[9], found.at[29], found.by[29])]
    [0.382, 0.567, 0.715, 0.877]
    """
    finite = finite_channel(channel)
    most = upto(observations, GainError)
    generator = generator_of(rng)
    return _Curves(finite, prior, predicate, level, direction).upto(most, generator)


class _Curves:
    """Curves of one breach for several numbers of observations; what is exact in one serves the others."""

    def __init__(
        self, channel: Channel, prior: object, predicate: Predicate, level: float, direction: Direction
    ) -> None:
        self.bits = _level(level)
        choice("direction", direction, ("up", "down", "either"), GainError)
        self.direction: Direction = direction
        members = predicate_members(channel, predicate)
        classes = row_classes([channel], prior)
        self.question = BreachQuestion(classes, members, self.bits, direction)
        self.named = tuple(channel.inputs[i] for i in members)
        self.rate = _rate(self.question, classes) if self.question.reachable else 0.0
        self._logs = classes.parts[0]
        self._exact = np.zeros((4, 0))

    def exactly(self, most: int) -> FloatArray:
        """[at, by, not at, not by], n = 1…most, by types."""
        if self._exact.shape[1] < most:
            self._exact = np.array(_exactly(self.question, self._logs, most))
        return self._exact[:, :most]

    def upto(self, most: int, generator: np.random.Generator) -> BreachCurve:
        """The curve for n = 1…most."""
        question, logs = self.question, self._logs
        at, by, not_at, not_by = np.zeros((4, most))
        not_at[:] = not_by[:] = 1.0
        lower, upper = np.zeros((2, 2, most))
        exact = _affordable(logs, most) if question.reachable else most
        if exact < most:
            way = "ask for a shorter curve, or for the rate"
            require_size(most, LONGEST_SIMULATION, "the simulated points of the curve", way)
        if question.reachable and exact:
            at[:exact], by[:exact], not_at[:exact], not_by[:exact] = self.exactly(exact)
        if exact < most:
            shares, lower, upper = _simulated(question, logs, most, generator)
            at[exact:], by[exact:] = shares[:, exact:]
            not_at[exact:], not_by[exact:] = 1 - shares[:, exact:]
            # What has happened by then has happened by later.
            lower[1] = np.maximum(lower[1], by[exact - 1] if exact else 0.0)
        lower[:, :exact] = upper[:, :exact] = at[:exact], by[:exact]
        return BreachCurve(
            self.named,
            self.bits,
            self.direction,
            question.before,
            at,
            by,
            not_at,
            not_by,
            self.rate,
            question.reachable,
            exact,
            lower,
            upper,
        )


def _affordable(logs: FloatArray, most: int) -> int:
    """Up to how many observations all types are gone through."""
    rows, outputs = logs.shape
    for work in (LARGEST_WORK, LARGEST_WORK // 5):
        total = 0
        for n in range(1, most + 1):
            size = types_of(outputs, n)
            total += size * (rows + 2)
            if total > work or size * (rows + 2 * outputs) > LARGEST_TABLE:
                break
        else:
            return most
    return n - 1


def observations_until_breach(
    channel: Channel,
    probability: float,
    prior: object = None,
    predicate: Predicate = (),
    level: float = 1.0,
    when: Literal["at", "by"] = "by",
    direction: Direction = "up",
    most: int = 1 << 12,
    rng: Random = None,
) -> BreachUntil:
    """The first n at which (or by which) a breach has a given probability, looking up to `most`.

    Parameters
    ----------
    channel : Channel
    probability : of a breach, to be reached
    prior : probabilities of the inputs (uniform by default)
    predicate : what must not be learned: some inputs, a function of the input, or one input
    level : size of a breach in bits: belief grows by more than a factor of 2^level
    when : "at" n, or "by" n at the latest
    direction : whether a breach is belief growing ("up"), falling ("down") or either
    most : the largest n that is looked at
    rng : seed for the simulation, if it comes to that

    Returns
    -------
    BreachUntil
        `least` and `most`: not before the one, surely by the other (None: not within what was looked at).

    Notes
    -----
    Cost: curves of 32, 64, … observations until the answer is found.

    Examples
    --------
    >>> coin = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    >>> print(observations_until_breach(coin, 0.9, level=0.5, predicate=[0]))
    by 35 observations a breach has probability 0.9 (exact by types)
    """
    choice("when", when, ("at", "by"), GainError)
    share = as_probability("probability", probability, GainError)
    if share == 0:
        raise GainError(f"probability is {abbreviated(probability)}; give one above 0 and at most 1")
    most = whole("most", most, GainError)
    aim = share * (1 - 1e-12)
    row = ("at", "by").index(when)
    count = min(32, most)
    curves = _Curves(finite_channel(channel), prior, predicate, level, direction)
    while True:
        found = curves.upto(upto(count, GainError), generator_of(rng))
        sure = np.flatnonzero(found.lower[row] >= aim)
        maybe = np.flatnonzero(found.upper[row] >= aim)
        if len(sure) or not found.reachable or count >= most:
            least = int(maybe[0]) + 1 if len(maybe) else None
            enough = int(sure[0]) + 1 if len(sure) else None
            exact = found.reachable is False or (enough or count) <= found.exact_until
            method = EXACT if exact else found.method
            return BreachUntil(probability, when, least, enough, count, method, found.reachable)
        count = min(2 * count, most)


def _level(level: float) -> float:
    return non_negative("level", level, GainError, infinite=True)


class BelievedClasses(Protocol):
    """Secrets in classes that are never told apart: members, belief in each secret and in each class."""

    @property
    def belief(self) -> FloatArray:
        """In each secret."""

    @property
    def total(self) -> FloatArray:
        """In each class."""

    @property
    def members(self) -> Sequence[Sequence[int]]:
        """Secrets of each class."""


class BreachQuestion:
    """Is a posterior a breach? Belief in the predicate and in anything, for each class of rows."""

    def __init__(
        self, classes: BelievedClasses, members: tuple[int, ...], bits: float, direction: Direction
    ) -> None:
        wanted = set(members)
        inside = np.array([sum(classes.belief[i] for i in group if i in wanted) for group in classes.members])
        self.before = float(inside.sum())
        if not self.before > 0:
            raise PriorError("predicate has probability 0 under the prior; name inputs that are possible")
        # 1 up to rounding: every possible secret satisfies it.
        self.certain = wanted.issuperset(np.flatnonzero(classes.belief > 0).tolist())
        self.shares = inside / self.before
        self.weights = np.array([inside, classes.total])
        self.direction = direction
        self.nats = bits * LN2
        # Belief in the predicate once the class is known: every posterior is an average of these.
        with np.errstate(divide="ignore"):
            known = np.log(inside / classes.total) - math.log(self.before)
        self.ends_above = known > self.nats + TIE
        self._ends_below = known < -self.nats - TIE
        # So belief cannot grow by 1/p(Q) or more (erratum 5), nor at all where all rows are equal.
        ends = {"up": self.ends_above, "down": self._ends_below, "either": self.ends_above | self._ends_below}
        self.reachable = not self.certain and bool(ends[direction].any())
        # A finite number that is compared with posteriors; the least positive one is exceeded by all but 0.
        self._high = self.before * math.exp(min(self.nats + TIE, 700.0))
        self._low = self.before * math.exp(max(-self.nats - TIE, -700.0))

    def rate_pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Classes that must be told apart for the breach to be there in the end; none if it need not be."""
        ends = self.ends_above | self._ends_below if self.direction == "either" else self.ends_above
        if self.direction == "down" or not ends[self.shares > 0].all():
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self.ends_above), np.flatnonzero(~self.ends_above)

    def judge(self, logs: FloatArray) -> tuple[BoolArray, FloatArray]:
        """For columns of log-likelihoods: is it a breach, and how likely is it if the predicate holds.

        A posterior that underflows is as good as 0 for every level that fits in a float.
        """
        top = logs.max(axis=0)
        scaled = self.nats > 100 or float(top.min()) < -500
        if scaled:
            top = np.where(np.isneginf(top), 0.0, top)
            logs = logs - top
        inside, possible = self.weights @ np.exp(logs)
        breach = self.is_breach(inside, possible)
        weights = inside / self.before
        return breach, weights * np.exp(top) if scaled else weights

    def is_breach(self, inside: FloatArray, possible: FloatArray) -> BoolArray:
        """Whether belief has changed too much, from unnormalised belief in the predicate and in anything."""
        if self.direction != "down":
            breach = inside > possible * self._high
        if self.direction != "up":
            below = inside < possible * self._low
            if self.nats > 600:
                below = (inside == 0) & (possible > 0) & (self.nats < math.inf)
            breach = below if self.direction == "down" else breach | below
        return np.asarray(breach)


def _exactly(
    question: BreachQuestion, logs: FloatArray, most: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    table = TypeTable(logs, most)
    counts = np.ascontiguousarray(table.counts.T, dtype=np.float64)
    before = np.ascontiguousarray(table.before.T)
    at, by, not_at, not_by = np.zeros((4, most))
    alive = np.ones(1)
    happened = 0.0
    for n in range(1, most + 1):
        size = table.size(n)
        alive = _one_more(counts, before, table.others, alive, n, size)
        for part, block in table.blocks(n):
            breach, weights = question.judge(block)
            # Products of floats with floats: those with booleans have no fast form.
            breached = breach.astype(np.float64)
            at[n - 1] += weights @ breached
            not_at[n - 1] += weights @ (1 - breached)
            met = alive[part] * breached
            happened += float(weights @ met)
            alive[part] -= met
            not_by[n - 1] += float(weights @ alive[part])
        by[n - 1] = happened
        advance("observations followed", n, most)
    at, by, not_at, not_by = np.minimum((at, by, not_at, not_by), 1.0)
    return at, by, not_at, not_by


def _one_more(
    counts: FloatArray,
    before: NDArray[np.intp],
    others: NDArray[np.intp],
    alive: FloatArray,
    n: int,
    size: int,
) -> FloatArray:
    """Share of the orders of each type of n that met no breach before: a mean over the last observation."""
    last = np.zeros(size)
    last[: len(alive)] = alive * (n - others[: len(alive)])
    for count, place in zip(counts, before, strict=True):
        last += count[:size] * alive.take(place[:size], mode="clip")
    return last / n


def _simulated(
    question: BreachQuestion, logs: FloatArray, most: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares [at or by, n] of simulated attackers who meet a breach, with their intervals."""
    samples = int(np.clip(SIMULATED_WORK / (len(logs) * most), LEAST_SAMPLES, SAMPLES))
    shares = question.shares / question.shares.sum()
    drawn = generator.choice(len(shares), size=samples, p=shares)
    cumulative = np.cumsum(np.exp(logs), axis=1)
    last = np.array([np.searchsorted(row, row[-1]) for row in cumulative])
    seen = np.zeros((len(logs), samples))
    met = np.zeros(samples, dtype=bool)
    hits = np.zeros((2, most), dtype=np.int64)
    order = np.argsort(drawn, kind="stable")
    groups = [(k, order[drawn[order] == k]) for k in np.unique(drawn)]
    output = np.zeros(samples, dtype=np.intp)
    for n in range(most):
        for k, members in groups:
            places = generator.random(len(members)) * cumulative[k, -1]
            output[members] = np.minimum(np.searchsorted(cumulative[k], places, side="right"), last[k])
        seen += logs.take(output, axis=1)
        breach, _ = question.judge(seen)
        met |= breach
        hits[:, n] = breach.sum(), met.sum()
        advance("observations simulated", n + 1, most)
    lower, upper = share_interval(hits, samples)
    return hits / samples, lower, upper


def _rate(question: BreachQuestion, classes: RowClasses) -> float:
    """Least Chernoff information of a row of the predicate and one outside (Thm 7); both possible.

    With equal rows inside and outside, a class counts as inside if knowing it is a breach.
    """
    inside, outside = question.rate_pairs()
    if not len(inside) or not len(outside):
        return 0.0
    bits = chernoff_pairs(Channel.trusted(classes.parts[0], "log")).bits
    return float(bits[np.ix_(inside, outside)].min())
