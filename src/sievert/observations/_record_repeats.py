"""One record after several independent releases from the same data.

Given all other records, only the rows that the record's values lead to matter, and of the values that
share a row only the likeliest is ever guessed. On these few rows most columns are proportional, so that
the reduced channel is small and its repetition is listed exactly by types (`Channel.repeated`). Where
it is not small, a bound is given and called one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.errors import GainError, PriorError
from sievert.measures import context_rows
from sievert.numerics import log_of
from sievert.observations._types import observation_count
from sievert.policies import Answers
from sievert.results import Result

__all__ = [
    "ReleasesWithin",
    "RepeatedGuess",
    "guess_limit",
    "guessed_together",
    "releases_within",
    "repeated_guess",
]

# Types of one situation that are listed, and entries of all situations that are looked at: some seconds.
LARGEST_TYPES = 50_000
LARGEST_WORK = 5_000_000
TYPES = "exact by types in every situation of the other records"
BOUND = "bound: the least of what ε allows, the capacity of every release, and the true answer"
# More observations than this are as good as any: their number is also a float.
MANY = 10**300
# ln of a ratio that is none.
NEVER = -1e100
# Nobody budgets for more releases of the same data.
MOST_RELEASES = 1000


@dataclass(frozen=True)
class RepeatedGuess(Result):
    """Best guess about one record after several releases, for someone who knows all the others.

    `guess` is the exact probability when `exact`, else an upper bound on it; `before` is the best guess
    without any release in the same situation of the others (under public knowledge they differ). `method`
    says how it was found, or which bound it is.
    """

    before: float
    guess: float
    exact: bool
    observations: int
    method: str = ""

    @property
    def bits(self) -> float:
        """log2 of the growth of the guess."""
        return math.log2(self.guess / self.before)

    def __float__(self) -> float:
        return self.guess

    def __str__(self) -> str:
        return (
            f"after {self.observations} releases the record is guessed with probability "
            f"{'exactly' if self.exact else 'at most'} {self.guess:.4g}"
        )


def guessed_together(guesses: Sequence[RepeatedGuess]) -> RepeatedGuess:
    """The best guess about a record of several columns, each behind noise of its own.

    Where the columns are independent before the release, so are they after it: beliefs multiply, and so do
    the best guesses. Each is about the marginal table of one column.

    >>> halves = RepeatedGuess(0.5, 0.6, True, 1), RepeatedGuess(0.25, 0.5, True, 1)
    >>> guessed_together(halves).guess
    0.3
    """
    if not guesses:
        raise GainError("guesses is empty; give the guess about each column")
    return RepeatedGuess(
        math.prod(guess.before for guess in guesses),
        math.prod(guess.guess for guess in guesses),
        all(guess.exact for guess in guesses),
        max(guess.observations for guess in guesses),
        next((guess.method for guess in guesses if not guess.exact), guesses[0].method),
    )


@dataclass(frozen=True)
class ReleasesWithin(Result):
    """How many releases keep the best guess about one record, or one person, within a limit.

    `releases` certainly do (None: any number); where `exact`, one more does not.
    """

    limit: float
    releases: int | None
    exact: bool
    about: Literal["one record", "one person"] = "one record"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; whom it is about only where that is a person with several records."""
        found = super().to_dict()
        if self.about == "one record":
            del found["about"]
        return found

    def __str__(self) -> str:
        kept = f"the best guess about {self.about} at or below {self.limit:g}"
        if self.releases is None:
            return f"any number of releases keep {kept}"
        many = "1 release keeps" if self.releases == 1 else f"{self.releases} releases keep"
        return f"{'up to' if self.exact else 'at least'} {many} {kept}"


@dataclass(frozen=True, eq=False)
class _Situation:
    """The distinct rows one record can lead to; for each, the likeliest value's belief and all belief."""

    logs: FloatArray
    likeliest: FloatArray
    total: FloatArray

    @property
    def before(self) -> float:
        """The best guess without a release."""
        return float(self.likeliest.max())


def repeated_guess(
    channel: Channel, answers: Answers, observations: int, prior: object = None
) -> RepeatedGuess:
    """Best guess about one record after independent releases, in the situation of the others where it
    grows most.

    Situations are taken from the largest bound down, each one exactly, until no bound is left above what
    was found; where one is too large to list, its bound is the answer.

    >>> from sievert.mechanisms._response import randomised_response
    >>> from sievert.policies._policy import Policy
    >>> from sievert.policies._query import Query
    >>> answers = Query.record().answers(Policy.local(["yes", "no"]))
    >>> print(repeated_guess(randomised_response(["yes", "no"], alpha="1/3"), answers, 3))
    after 3 releases the record is guessed with probability exactly 0.8438
    """
    count = observation_count(observations, GainError)
    situations = _situations(channel, answers, prior)
    found = [(_bound(situation, count), situation) for situation in situations]
    found.sort(key=lambda pair: (-pair[0] / pair[1].before, -pair[0]))
    best = RepeatedGuess(1.0, 0.0, True, count)
    known: dict[bytes, float] = {}
    work = 0
    for bound, situation in found:
        if bound * best.before <= best.guess * situation.before:
            break
        work += situation.logs.size
        guess = _exactly(situation, count, known) if work <= LARGEST_WORK else None
        if guess is None:
            return RepeatedGuess(situation.before, bound, False, count, BOUND)
        if guess * best.before > best.guess * situation.before:
            best = RepeatedGuess(situation.before, min(1.0, guess), True, count, TYPES)
    return best


def guess_limit(channel: Channel, answers: Answers, prior: object = None) -> float:
    """Best guess about one record after infinitely many releases: values that share a row stay together."""
    return min(1.0, max(float(item.likeliest.sum()) for item in _situations(channel, answers, prior)))


def releases_within(
    channel: Channel, answers: Answers, guess: float, prior: object = None, most: int = MOST_RELEASES
) -> ReleasesWithin:
    """How many releases certainly keep the best guess about one record within a limit, up to `most`.

    >>> from sievert.mechanisms._response import randomised_response
    >>> from sievert.policies._policy import Policy
    >>> from sievert.policies._query import Query
    >>> answers = Query.record().answers(Policy.local(["yes", "no"]))
    >>> print(releases_within(randomised_response(["yes", "no"], alpha="1/3"), answers, 0.9))
    up to 6 releases keep the best guess about one record at or below 0.9
    """
    # A limit is not exceeded by the last few digits.
    limit = guess * (1 + 1e-9)
    if guess_limit(channel, answers, prior) <= limit:
        return ReleasesWithin(guess, None, True)
    if max(item.before for item in _situations(channel, answers, prior)) > limit:
        return ReleasesWithin(guess, 0, True)
    low, high = 0, 1
    while (found := repeated_guess(channel, answers, high, prior)).guess <= limit:
        if high >= most:
            return ReleasesWithin(guess, most, False)
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        tried = repeated_guess(channel, answers, middle, prior)
        if tried.guess <= limit:
            low = middle
        else:
            high, found = middle, tried
    return ReleasesWithin(guess, low, found.exact)


def _situations(channel: Channel, answers: Answers, prior: object) -> list[_Situation]:
    finite = channel.finite()
    belief = as_prior(prior, answers.policy.values).astype(np.float64)
    logs, rows = finite.log_matrix, context_rows(finite, answers)
    contexts = np.unique(np.where(rows >= 0, first_equal_rows(logs)[rows], -1), axis=0)
    found = [_situation(logs, row[row >= 0], belief[row >= 0]) for row in contexts if belief[row >= 0].any()]
    if not found:
        raise PriorError("prior: no database is possible under it; give weight to a permitted value")
    return found


def first_equal_rows(logs: FloatArray) -> NDArray[np.intp]:
    """For each row the first one that is equal to it."""
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), i) for i, row in enumerate(logs)], dtype=np.intp)


def _situation(logs: FloatArray, row_of_value: NDArray[np.intp], weights: FloatArray) -> _Situation:
    belief = weights / weights.sum()
    rows, place = np.unique(row_of_value, return_inverse=True)
    likeliest, total = np.zeros(len(rows)), np.zeros(len(rows))
    np.maximum.at(likeliest, place, belief)
    np.add.at(total, place, belief)
    possible = likeliest > 0
    return _Situation(logs[rows[possible]], likeliest[possible], total[possible])


def _bound(situation: _Situation, observations: int) -> float:
    """The least of three bounds on the best guess.

    No output raises the belief in v above π_v / Σ_u π_u e^(-k·d(v, u)); each release multiplies the best
    guess by at most the capacity of the rows; and even the true answer only tells which row it is.
    """
    logs, likeliest = situation.logs, situation.likeliest
    with np.errstate(over="ignore"):
        spread = np.exp(-float(min(observations, MANY)) * _row_distances(logs)) @ situation.total
    reach = float((likeliest / spread).max())
    growth = observations * math.log(np.exp(logs.max(axis=0)).sum()) + math.log(likeliest.max())
    return min(1.0, reach, math.exp(min(growth, 0.0)), float(likeliest.sum()))


def _row_distances(logs: FloatArray) -> NDArray[Any]:
    size = len(logs)
    result = np.zeros((size, size))
    for i in range(size):
        with np.errstate(invalid="ignore"):
            gap = np.abs(logs - logs[i])
        result[i] = np.where(np.isnan(gap), 0.0, gap).max(axis=1)
    return result


def _exactly(situation: _Situation, observations: int, known: dict[bytes, float]) -> float | None:
    """Σ over types of max over rows of belief times probability; None where there are too many types."""
    if len(situation.logs) == 1:
        return float(situation.likeliest[0])
    # Situations that differ in rounding only (the middle of a truncated mechanism) are computed once.
    key = _profile(situation)
    if key not in known:
        reduced = Channel.trusted(situation.logs, "log").reduced()
        if math.comb(reduced.shape[1] + observations - 1, observations) > LARGEST_TYPES:
            return None
        columns = reduced.repeated(observations).log_matrix + log_of(situation.likeliest)[:, None]
        known[key] = float(np.exp(columns.max(axis=0)).sum())
    return known[key]


def _profile(situation: _Situation) -> bytes:
    """The kinds of columns up to a factor, how likely each is, and the belief, all to 12 digits.

    Equal for situations that differ in rounding only, and found at far less than a reduction costs.
    """
    peak = situation.logs.max(axis=0)
    seen = ~np.isneginf(peak)
    apart = np.maximum(situation.logs[:, seen] - peak[seen], NEVER)
    kinds, kind = np.unique(np.round(apart, 12), axis=1, return_inverse=True)
    mass = np.bincount(kind.ravel(), weights=np.exp(peak[seen])).astype(np.float64)
    mass = log_of(mass)  # columns below 1e-308 count as none
    belief = np.append(situation.likeliest, 0.0)
    return (np.round(np.column_stack([np.vstack([kinds, mass]), belief]), 12) + 0.0).tobytes()
