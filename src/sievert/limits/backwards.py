"""Backwards: the weakest claim that keeps a guess within a limit, whatever the mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Literal

from sievert.errors import MechanismError
from sievert.limits.claims import LARGEST_RELEASES, Claim, claim_of
from sievert.limits.explain import Explanation, _count, explain_claim, guess_under, listed
from sievert.limits.policy_guesses import checked_prior
from sievert.limits.worst import Target
from sievert.numerics.checks import brief, choice, probability
from sievert.results import Result

__all__ = ["WeakestClaim", "weakest_claim"]

Unknown = Literal["eps", "delta", "rho", "sigma", "releases"]
HIGHEST = 1e300
# Relative width at which a bisection stops.
PRECISION = 1e-12
# Below this a parameter is 0: what it lets anybody gain is 0 as a float.
SMALLEST = 1e-300
SYMBOLS = {"eps": "ε", "delta": "δ", "rho": "ρ", "sigma": "σ", "releases": "number of releases"}


@dataclass(frozen=True)
class WeakestClaim(Result):
    """The largest ε, δ, ρ or number of releases (or the smallest σ) that keeps a promise, and what it means.

    `value` is inf (for σ: 0) when no parameter can break the promise. The sentence rounds to the safe side.
    """

    name: str
    value: float
    guess: float
    explanation: Explanation | None

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        promise = f"no mechanism lets anybody guess one person's value with probability above {self.guess:g}"
        symbol = SYMBOLS[self.name]
        if math.isinf(self.value):
            return f"any {symbol} will do: {promise}"
        if self.name == "sigma":
            return f"σ ≥ {_six_digits(self.value, ROUND_CEILING)} guarantees: {promise}"
        if self.name == "releases":
            return f"at most {self.value:.0f} release{'' if self.value == 1 else 's'}: {promise}"
        return f"{symbol} ≤ {_six_digits(self.value, ROUND_FLOOR)} guarantees: {promise}"


def _six_digits(value: float, rounding: str) -> str:
    """Six digits, so rounded that the printed parameter keeps the promise too.

    >>> _six_digits(1.791759469, ROUND_FLOOR), _six_digits(1.973583, ROUND_CEILING)
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
    solve : which parameter to look for; the others are given (eps with solve="delta", and one of eps, rho,
        sigma and renyi with solve="releases")

    Notes
    -----
    The proved upper bound on the guess grows with ε, δ, ρ and releases and falls with σ, so bisection finds
    the last parameter that keeps the promise; the answer is on the safe side by a relative 1e-12. At most
    10 million releases are counted.

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

    def keeps(value: float) -> bool:
        found, before = guess_under(claim(value), count, belief, policy, upper_only=True)
        # Near the blind guess what is gained tells more than the guess itself, which is rounded.
        return guess >= 1 or (found.upper <= guess and found.gain(before) <= guess - before)

    value = _search(solve, keeps, guess, count)
    explanation = None
    if (math.isfinite(value) and solve != "sigma") or value > 0:
        explanation = None if math.isinf(value) else explain_claim(claim(value), count, belief, policy)
    return WeakestClaim(solve, value, guess, explanation)


def _require_open(solve: str, given: dict[str, object]) -> None:
    """The parameter that is looked for must not be given, and what it goes with must be."""
    families = [name for name in ("eps", "rho", "sigma", "renyi") if given[name] is not None]
    if solve in ("eps", "rho", "sigma") and families:
        raise MechanismError(f"{families[0]} is given; leave it out when solve is {brief(solve)}")
    if solve == "delta" and (families != ["eps"] or given["delta"]):
        raise MechanismError('solve="delta" needs eps, and no delta')
    if solve == "releases" and (len(families) != 1 or given["releases"] != 1):
        raise MechanismError('solve="releases" needs one of eps, rho, sigma and renyi, and no releases')


def _search(solve: str, keeps: Callable[[float], bool], guess: float, count: int) -> float:
    if solve == "sigma":
        return _smallest_sigma(keeps, guess)
    if solve == "releases":
        return _most_releases(keeps, guess)
    if not keeps(0.0):
        raise MechanismError(
            f"guess is {guess:g}: even {SYMBOLS[solve]} = 0 allows more (a blind guess among {count} "
            "values, another given parameter, or what the policy leaves unprotected, is already better); "
            "no claim can promise that"
        )
    if solve == "delta":
        return _bisect(keeps, 0.0, 1.0) if not keeps(1.0) else math.inf
    if keeps(math.inf):
        return math.inf
    high = 1.0
    while keeps(high) and high < HIGHEST:
        high *= 2
    return _bisect(keeps, 0.0 if high == 1 else high / 2, high)


def _bisect(keeps: Callable[[float], bool], low: float, high: float) -> float:
    """The last value that keeps the promise, between one that does and one that does not."""
    while abs(high - low) > max(PRECISION * max(abs(high), abs(low)), SMALLEST):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return 0.0 if low < SMALLEST else low


def _smallest_sigma(keeps: Callable[[float], bool], guess: float) -> float:
    if keeps(0.0):
        return 0.0
    high = 1.0
    while not keeps(high):
        high *= 2
        if high > 1e12:
            raise MechanismError(f"guess is {guess:g}; no noise can promise that, a blind guess is better")
    low = high / 2 if high > 1 else 0.0
    return _bisect(keeps, high, low)


def _most_releases(keeps: Callable[[float], bool], guess: float) -> float:
    if not keeps(1):
        raise MechanismError(f"guess is {guess:g}; one release with this claim already allows more")
    if guess >= 1:
        return math.inf
    low, high = 1, 2
    while keeps(high):
        if high == LARGEST_RELEASES:
            return float(high)
        low, high = high, min(2 * high, LARGEST_RELEASES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return float(low)
