"""Backwards: the largest ε for which no mechanism can leak more than is acceptable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sievert.errors import PolicyError
from sievert.leakage.gains import within as within_gain
from sievert.leakage.measures import vulnerability
from sievert.limits.restricted import individual_groups, worst_of_situations
from sievert.limits.worst import Target, WorstLeakage, finite_eps, worst_leakage
from sievert.numerics.checks import flag, non_negative, probability
from sievert.results import Result, in_bits
from sievert.spaces.arguments import target_of
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy

__all__ = ["LargestEpsilon", "largest_epsilon"]

# ε above which nobody could tell the promise from none.
HIGHEST = 1e4
# Relative width at which the bisection stops.
PRECISION = 1e-12


@dataclass(frozen=True)
class LargestEpsilon(Result):
    """The largest ε that keeps a promise for every mechanism, and the promise in words.

    `nats` is inf when no ε can break the promise. `leakage` is the worst case at that ε.
    """

    nats: float
    promise: str
    leakage: WorstLeakage | None

    def __float__(self) -> float:
        return self.nats

    def __str__(self) -> str:
        if math.isinf(self.nats):
            return f"any ε: {self.promise} holds whatever the mechanism does"
        return f"ε ≤ {self.nats:.6g} guarantees: {self.promise}"


def largest_epsilon(
    policy: Target,
    bits: float | None = None,
    guess: float | None = None,
    within: float | None = None,
    individual: bool = False,
) -> LargestEpsilon:
    """The largest ε such that no ε-private mechanism exceeds a limit.

    Parameters
    ----------
    bits : most bits that may leak (min-entropy leakage, any prior)
    guess : highest probability of a right guess that is acceptable, under a uniform prior
    within : with `guess`, a guess counts as right within this distance
    individual : about one record when all others are known, instead of the whole database

    Examples
    --------
    >>> round(largest_epsilon(Policy.local(2), guess=0.75).nats, 9)    # ln 3
    1.098612289
    """
    target_of(policy)
    if (bits is None) == (guess is None):
        raise PolicyError("give exactly one of bits and guess (within goes with guess)")
    if within is not None and guess is None:
        raise PolicyError("within goes with guess: how likely may a guess within that distance be?")
    policy = target_of(policy)
    individual = flag("individual", individual, PolicyError)
    if guess is not None:
        guess = probability("guess", guess, PolicyError)
        if guess == 0:
            raise PolicyError("guess is 0; it must be a probability above 0")
    if bits is not None:
        bits = non_negative("bits", bits, PolicyError, infinite=True)
    if within is not None:
        return _within(policy, float(guess or 0), within)
    limit, promise = _limit(policy, bits, guess, individual)
    if guess is not None and individual and isinstance(policy, Policy) and policy.permitted is not None:
        return _in_every_situation(policy, guess, promise)
    count = math.log2(_candidates(policy, individual))
    return _solve(lambda eps: worst_leakage(policy, eps, individual=individual), limit, count, promise)


def _limit(policy: Target, bits: float | None, guess: float | None, individual: bool) -> tuple[float, str]:
    about = "about one record" if individual else "about the whole database"
    if bits is not None:
        return bits, f"no mechanism leaks more than {in_bits(bits, 6)} {about}"
    assert guess is not None
    count = _candidates(policy, individual)
    if guess < 1 / count:
        raise PolicyError(f"guess is {guess:g}, below the blind guess 1/{count}; no ε can promise that")
    promise = f"no mechanism lets anybody guess {about} with probability above {guess:g}"
    return math.log2(guess) + math.log2(count), promise


def _in_every_situation(policy: Policy, guess: float, promise: str) -> LargestEpsilon:
    """One record under public constraints: the fewer values are left open, the easier the guess."""
    situations: dict[int, list[tuple[int, ...]]] = {}
    for group in individual_groups(policy):
        situations.setdefault(len(group), []).append(group)
    fewest = min(situations)
    if guess < 1 / fewest:
        left = "one value" if fewest == 1 else f"{fewest} values"
        raise PolicyError(
            f"guess is {guess:g}, but what everybody knows may leave only {left} to a record once the "
            f"others are known: the blind guess is 1/{fewest}, so no ε promises that; ask for bits="
        )
    answers = [
        _solve(
            partial(_situations, policy, groups),
            math.log2(guess) + math.log2(count),
            math.log2(count),
            promise,
        )
        for count, groups in situations.items()
    ]
    return min(answers, key=float)


def _situations(policy: Policy, groups: list[tuple[int, ...]], eps: float) -> WorstLeakage:
    return worst_of_situations(policy, finite_eps(eps), groups)


def _candidates(policy: Target, individual: bool) -> int:
    if isinstance(policy, Policy) and individual and policy.permitted is None:
        return len(policy.values)
    if isinstance(policy, Policy) and individual:
        return max(map(len, individual_groups(policy)))
    return policy.size


def _within(policy: Target, guess: float, radius: float) -> LargestEpsilon:
    metric = policy if isinstance(policy, Metric) else None
    about = "about one record " if isinstance(policy, Policy) and policy.records > 1 else ""
    if isinstance(policy, Policy):
        if policy.permitted is not None:
            raise PolicyError(
                "within is answered for policies without public constraints; with them ask for bits or guess"
            )
        metric = policy.record_metric
    if metric is None:
        raise PolicyError("within needs a metric, or a policy whose values have a distance")
    gain = within_gain(metric, radius)
    before = float(vulnerability(None, gain).value)
    if guess < before:
        raise PolicyError(f"guess is {guess:g}, below the blind guess {before:g} within {radius:g}")
    promise = f"no mechanism lets anybody guess {about}within {radius:g} with probability above {guess:g}"
    limit = math.log2(guess) - math.log2(before)
    return _solve(lambda eps: worst_leakage(metric, eps, gain=gain), limit, -math.log2(before), promise)


def _solve(worst: Callable[[float], WorstLeakage], limit: float, most: float, promise: str) -> LargestEpsilon:
    """Bisection on the proved upper bound, which grows with ε; the answer keeps the promise, proved.

    `most` bits are all there is to leak.
    """
    if limit >= most:
        return LargestEpsilon(math.inf, promise, None)
    nothing = worst(0.0)
    if nothing.upper.bits > limit:
        raise PolicyError(
            f"even ε = 0 allows {in_bits(nothing.upper.bits, 6)}, since databases in different components "
            f"need not be hidden from each other; no ε can promise {in_bits(limit, 6)}"
        )
    low, high = 0.0, 1.0
    while worst(high).upper.bits <= limit:
        low, high = high, 2 * high
        if high > HIGHEST:
            return LargestEpsilon(math.inf, promise, None)
    shrink = 0.5
    while high - low > PRECISION * high:
        middle = _between(low, high, shrink)
        if middle == 0:
            break
        shrink *= shrink
        low, high = (low, middle) if worst(middle).upper.bits > limit else (middle, high)
    return LargestEpsilon(low, promise, worst(low))


def _between(low: float, high: float, shrink: float) -> float:
    """Where to look next: by magnitude until it is known, so that no answer takes a thousand steps."""
    if low == 0:
        return high * shrink
    return math.sqrt(low) * math.sqrt(high) if high > 2 * low else (low + high) / 2
