"""Backwards: the weakest claim that keeps a guess within a limit, whatever the mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache, cached_property, partial
from typing import Any, Literal

from sievert.arrays import FloatArray
from sievert.errors import MechanismError, PolicyError
from sievert.limits._explain import (
    Explanation,
    _count,
    explain_claim,
    guess_under,
    listed,
    records_of_person,
)
from sievert.limits._guess_upper_bound import fast_guess_bound, is_by_programs
from sievert.limits._restricted import individual_groups, worst_of_situations
from sievert.limits._targets import Target, checked_prior, is_complete
from sievert.limits._worst import WorstLeakage, finite_eps, worst_leakage
from sievert.limits.promises import LARGEST_RELEASES, SYMBOLS, Claim, claim_of
from sievert.measures import vulnerability
from sievert.measures.gains import within as within_gain
from sievert.numerics import abbreviated, advance, choice, flag, in_bits, non_negative, probability
from sievert.policies import Policy, target_of
from sievert.results import Result, html_table, plain
from sievert.spaces import Metric

__all__ = [
    "LargestEpsilon",
    "WeakestClaim",
    "largest_epsilon",
    "largest_satisfying",
    "six_digits",
    "weakest_claim",
]

Unknown = Literal["eps", "delta", "rho", "sigma", "releases"]
HIGHEST = 1e300
# Relative width at which a search stops.
PRECISION = 1e-12
# The same where a step is a linear program, whose proved ends are about as far apart.
PROGRAM_PRECISION = 1e-10
# Levels ε this close have programs with one optimum, to the digits that are printed.
ALIKE = 1e-3
# What the bracket grows by; programs at a small ε are the slow ones.
GROWTH = 4.0
# Below this a parameter is 0: what it lets anybody gain is 0 as a float.
SMALLEST = 1e-300


@dataclass(frozen=True)
class WeakestClaim(Result):
    """The largest ε, δ, ρ or number of releases (or the smallest σ) that keeps a promise, and what it means.

    `value` is inf (for σ: 0) when no parameter can break the promise. The sentence rounds to the safe side.
    """

    name: str
    value: float
    guess: float
    _question: tuple[Claim, int, FloatArray | None, Target | None] | None = field(repr=False, compare=False)

    @cached_property
    def explanation(self) -> Explanation | None:
        """What the claim with this parameter means; None where any will do."""
        return None if self._question is None else explain_claim(*self._question)

    def to_dict(self) -> dict[str, Any]:
        """The parameter, the promise and what it means, as plain data."""
        shown = {"name": self.name, "value": self.value, "guess": self.guess, "explanation": self.explanation}
        return {name: plain(value) for name, value in shown.items()}

    def _repr_html_(self) -> str:
        return html_table(
            str(self), {"value": f"{self.value:.6g}", "explanation": str(self.explanation or "")}
        )

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        promise = f"no mechanism lets anybody guess one person's value with probability above {self.guess:g}"
        symbol = SYMBOLS[self.name]
        if math.isinf(self.value):
            return f"any {symbol} will do: {promise}"
        if self.name == "sigma":
            return f"σ ≥ {six_digits(self.value, ROUND_CEILING)} guarantees: {promise}"
        if self.name == "releases":
            return f"at most {self.value:.0f} release{'' if self.value == 1 else 's'}: {promise}"
        return f"{symbol} ≤ {six_digits(self.value, ROUND_FLOOR)} guarantees: {promise}"


def six_digits(value: float, rounding: str) -> str:
    """Six digits, so rounded that the printed parameter keeps the promise too.

    >>> six_digits(1.791759469, ROUND_FLOOR), six_digits(1.973583, ROUND_CEILING)
    ('1.79175', '1.97359')
    """
    return f"{float(Context(prec=6, rounding=rounding).create_decimal(Decimal(value))):.6g}"


def weakest_claim(
    guess: float,
    solve: Unknown = "eps",
    *,
    eps: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    sigma: float | None = None,
    sensitivity: float = 1.0,
    renyi: Mapping[float, float] | None = None,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    releases: int = 1,
    policy: Target | None = None,
) -> WeakestClaim:
    """The weakest claim under which no mechanism lets anybody guess more often than is acceptable.

    Parameters
    ----------
    guess : highest acceptable probability of a right guess about one person
    solve : "eps", "delta", "rho", "sigma" or "releases": which parameter to look for; the others are given
        (eps with solve="delta", and one of eps, rho, sigma and renyi with solve="releases")
    eps, delta, rho, sigma, sensitivity, renyi, releases : the given part of the claim, as in `sv.explain`
    values, prior, policy : about whom it is, as in `sv.explain`

    Returns
    -------
    WeakestClaim
        `value` of the parameter, and the `explanation` of the claim with it.

    Notes
    -----
    The proved upper bound on the guess grows with ε, δ, ρ and releases and falls with σ, so a bracket finds
    the last parameter that keeps the promise; the answer is on the safe side by a relative 1e-12, or 1e-10
    where a linear program is solved for each. At most 10 million releases are counted.

    Cost: about ten bounds as in `sv.explain`, without their proofs; the explanation is made when asked for.

    Examples
    --------
    >>> print(weakest_claim(guess=0.75))                         # ln 3
    ε ≤ 1.09861 guarantees: no mechanism lets anybody guess one person's value with probability above 0.75
    >>> int(weakest_claim(guess=0.6, solve="releases", eps=0.1).value)
    26
    """
    choice("solve", solve, tuple(SYMBOLS), MechanismError)
    guess = probability("guess", guess, MechanismError)
    if guess == 0:
        raise MechanismError("guess is 0; somebody always guesses right sometimes, so give a number above 0")
    given: dict[str, object] = {
        "eps": eps,
        "delta": delta,
        "rho": rho,
        "sigma": sigma,
        "sensitivity": sensitivity,
        "renyi": renyi,
        "releases": releases,
    }
    _require_open(solve, given)
    named = listed(values)
    count = _count(named, prior, policy)
    belief = checked_prior(prior, count, named, policy)

    def claim(value: float) -> Claim:
        chosen = {**given, solve: int(value) if solve == "releases" else value}
        return claim_of(**chosen)  # type: ignore[arg-type]

    @cache
    def excess(value: float) -> float:
        if guess >= 1:
            return -1.0
        advance("levels of the claim", excess.cache_info().misses - 1, excess.cache_info().misses)
        found, before = guess_under(claim(value), count, belief, policy, upper_only=True)
        # Near the blind guess what is gained tells more than the guess itself, which is rounded.
        return max(found.upper - guess, found.gain(before) - (guess - before))

    closed = policy is None or is_complete(policy)
    value = _search(solve, excess, guess, count, PRECISION if closed else PROGRAM_PRECISION)
    if solve == "eps" and 0 < value < math.inf and policy is not None and not closed:
        value = _polished(value, claim, policy, belief, guess)
    some = math.isfinite(value) and (solve != "sigma" or value > 0)
    return WeakestClaim(solve, value, guess, (claim(value), count, belief, policy) if some else None)


def _polished(
    value: float, claim: Callable[[float], Claim], policy: Target, belief: FloatArray | None, guess: float
) -> float:
    """The last ε by programs that are solved next to it, where the search carried them over from afar."""
    if not is_by_programs(policy):
        return value
    people = records_of_person(policy)

    @cache
    def excess(level: float) -> float:
        found = fast_guess_bound(claim(level).of_group(people), policy, belief, nearby=ALIKE)
        return math.inf if found is None else found.upper - guess

    kept, broken, step = value, value, ALIKE / 16
    while excess(broken) <= 0 and step < 1:
        kept, broken, step = broken, broken * (1 + step), 4 * step
    return (
        largest_satisfying(excess, kept, broken, PROGRAM_PRECISION)
        if kept < broken and excess(broken) > 0
        else kept
    )


def _require_open(solve: str, given: dict[str, object]) -> None:
    """The parameter that is looked for must not be given, and what it goes with must be."""
    families = [name for name in ("eps", "rho", "sigma", "renyi") if given[name] is not None]
    if solve in ("eps", "rho", "sigma") and families:
        raise MechanismError(f"{families[0]} is given; leave it out when solve is {abbreviated(solve)}")
    if solve == "delta" and (families != ["eps"] or given["delta"]):
        raise MechanismError('solve="delta" needs eps, and no delta')
    if solve == "releases" and (len(families) != 1 or given["releases"] != 1):
        raise MechanismError('solve="releases" needs one of eps, rho, sigma and renyi, and no releases')


def _search(
    solve: str, excess: Callable[[float], float], guess: float, count: int, precision: float
) -> float:
    if solve == "sigma":
        return _smallest_sigma(excess, guess, precision)
    if solve == "releases":
        return _most_releases(excess, guess)
    if excess(0.0) > 0:
        raise MechanismError(
            f"guess is {guess:g}: even {SYMBOLS[solve]} = 0 allows more (a blind guess among {count} "
            "values, another given parameter, or what the policy leaves unprotected, is already better); "
            "no claim can promise that"
        )
    if solve == "delta":
        return largest_satisfying(excess, 0.0, 1.0, precision) if excess(1.0) > 0 else math.inf
    if excess(math.inf) <= 0:
        return math.inf
    low, high = 0.0, GROWTH
    while excess(high) <= 0 and high < HIGHEST:
        low, high = high, GROWTH * high
    if excess(high) <= 0:
        return high
    return largest_satisfying(excess, low, high, precision)


def largest_satisfying(
    excess: Callable[[float], float], kept: float, broken: float, precision: float = PRECISION
) -> float:
    """The last value whose excess is not above 0, between one that keeps the promise and one that does not.

    Chandrupatla's method: inverse quadratic interpolation where the excess is smooth enough for it, bisection
    where not, and never less than half the precision from an end, so that both ends close in.
    """
    old, far, new = kept, kept, broken
    at_old = at_far = excess(kept)
    at_new, share = excess(broken), 0.5
    while abs(new - far) > max(precision * max(abs(new), abs(far)), SMALLEST):
        middle = new + share * (far - new)
        if middle in (new, far):
            break
        at_middle = excess(middle)
        if (at_middle > 0) == (at_new > 0):
            old, at_old = new, at_new
        else:
            old, at_old, far, at_far = far, at_far, new, at_new
        new, at_new = middle, at_middle
        least = min(0.5, precision / 2 * max(abs(new), abs(far)) / abs(far - new))
        share = min(max(_share(new, far, old, at_new, at_far, at_old), least), 1 - least)
    value = far if at_new > 0 else new
    return 0.0 if value < SMALLEST else value


def _share(new: float, far: float, old: float, at_new: float, at_far: float, at_old: float) -> float:
    """How much of the way from `new` to `far` to go next."""
    place, height = (new - far) / (old - far), (at_new - at_far) / (at_old - at_far)
    if not (height**2 < place and (1 - height) ** 2 < 1 - place):
        return 0.5
    first = at_new / (at_far - at_new) * (at_old / (at_far - at_old))
    second = (old - new) / (far - new) * (at_new / (at_old - at_new)) * (at_far / (at_old - at_far))
    return first + second


def _smallest_sigma(excess: Callable[[float], float], guess: float, precision: float) -> float:
    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > 1e12:
            raise MechanismError(f"guess is {guess:g}; no noise can promise that, a blind guess is better")
    low = high / 2 if high > 1 else 0.0
    return largest_satisfying(excess, high, low, precision)


def _most_releases(excess: Callable[[float], float], guess: float) -> float:
    if excess(1) > 0:
        raise MechanismError(f"guess is {guess:g}; one release with this claim already allows more")
    if guess >= 1:
        return math.inf
    low, high = 1, 2
    while excess(high) <= 0:
        if high == LARGEST_RELEASES:
            return float(high)
        low, high = high, min(2 * high, LARGEST_RELEASES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return float(low)


# ── Backwards: the largest ε for which no mechanism can leak more than is acceptable ────────────────────────

# ε above which nobody could tell the promise from none.
HIGHEST_EPS = 1e4


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
    policy : Policy, Metric or Graph
    bits : most bits that may leak (min-entropy leakage, any prior)
    guess : highest probability of a right guess that is acceptable, under a uniform prior
    within : with `guess`, a guess counts as right within this distance
    individual : about one record when all others are known, instead of the whole database

    Returns
    -------
    LargestEpsilon
        `nats`, and what leaks at worst with it (`leakage`); `float(result)` is ε.

    Notes
    -----
    What leaks at worst grows with ε, so a bracket finds the last ε within the limit.

    Cost: about ten evaluations of `sv.worst_leakage`.

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
    """A bracket on the proved upper bound, which grows with ε; the answer keeps the promise, proved.

    `most` bits are all there is to leak.
    """
    if limit >= most:
        return LargestEpsilon(math.inf, promise, None)
    worst = cache(worst)
    nothing = worst(0.0)
    if nothing.upper.bits > limit:
        raise PolicyError(
            f"even ε = 0 allows {in_bits(nothing.upper.bits, 6)}, since databases in different components "
            f"need not be hidden from each other; no ε can promise {in_bits(limit, 6)}"
        )
    low, high = 0.0, 1.0
    while worst(high).upper.bits <= limit:
        low, high = high, 2 * high
        if high > HIGHEST_EPS:
            return LargestEpsilon(math.inf, promise, None)
    low, high = _magnitude(lambda eps: worst(eps).upper.bits <= limit, low, high)
    eps = largest_satisfying(lambda eps: worst(eps).upper.bits - limit, low, high) if low else 0.0
    return LargestEpsilon(eps, promise, worst(eps))


def _magnitude(keeps: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """A bracket no wider than a factor of 2, by squares and roots, so that none takes a thousand steps.

    Its low end is 0 where no float above 0 keeps the promise.
    """
    shrink = 0.5
    while high > 2 * low:
        middle = high * shrink if low == 0 else math.sqrt(low) * math.sqrt(high)
        if middle == 0:
            break
        shrink *= shrink
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low, high
