"""From a claim to the best guess about one person: certified ends, and which of them are attained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, log_ndtr, ndtr

from sievert.arrays import FloatArray
from sievert.limits._closed_guess_bounds import GuessInterval, guess_proof, likeliest, pure_guess, worst_ends
from sievert.limits._composition import revealed
from sievert.limits._replacement import ReplacementClaim
from sievert.limits.promises import ApproximateClaim, Claim, GaussianClaim, WorstResponse
from sievert.numerics import gauss_legendre, log_binomial, mills_drop, read_eps
from sievert.proofs import (
    ComposedGuessProof,
    GaussianGuessProof,
    Proof,
    RepeatedGuessProof,
    composed_delta_above,
)

__all__ = [
    "GuessBounds",
    "best_guess",
    "coded_response_guess",
    "repeated_response_guess",
    "simplex_ends",
    "simplex_guess",
]
# Up to here certificates are written out.
LARGEST_PROOF = 5_000
LARGEST_REPEATED_PROOF = 2_000
# Releases of many-valued randomised response that are counted exactly; fewer releases are a lower bound.
MOST_COUNTED = 120
MOST_USED = 8
# Levels at which another number of values becomes worst that are looked at.
MOST_SWITCHES = 512
UNEVEN = "the prior is not uniform, and the integral of its exact value is computed with floats"
ENDLESS = "the integral of the exact value would take too many terms to be written out"
# A float that is a root or a quotient, with its error upwards.
ROUNDED_UP = 1 + Fraction(1, 2**50)
# What a sum of shares of belief may have lost.
ROUNDED = 1e-12
# Two ends this close are one number to every digit anybody prints.
MEETS = 1e-9


@dataclass(frozen=True, eq=False)
class GuessBounds:
    """Ends of the best guess that mechanisms with a claim allow, how they were found, and the proof.

    `reason` says why there is no proof, or what it takes as given. `gained` and `missed` are the upper end
    minus the blind guess and 1 minus the upper end, where they are known more precisely than by that
    difference.
    """

    lower: float
    upper: float
    method: str
    certificate: Proof | None = None
    reason: str | None = None
    gained: float | None = None
    missed: float | None = None

    @classmethod
    def exactly(
        cls, ends: GuessInterval, method: str, certificate: Proof | None = None, reason: str | None = None
    ) -> GuessBounds:
        """A guess that some mechanism reaches, with its difference from the blind one and from 1."""
        return cls(ends.guess, ends.guess, method, certificate, reason, ends.gained, ends.missed)

    def of_share(self, share: float) -> GuessBounds:
        """The guess where so much of the belief is on points that can be told apart, rounded outward."""
        reason = "points at distance 0 are taken as one"
        low, high = share * self.lower * (1 - ROUNDED), min(1.0, share * self.upper * (1 + ROUNDED))
        return GuessBounds(low, high, self.method, reason=reason)

    @property
    def uncertified(self) -> str | None:
        """Why there is no proof, or what it takes as given; None where it proves the whole answer."""
        if self.certificate is not None or self.reason is not None:
            return self.reason
        return f"computed, not written down ({self.method})"

    def gain(self, before: float) -> float:
        """How much better than the blind guess, in full precision where that is known."""
        return max(0.0, self.upper - before) if self.gained is None else self.gained

    def miss(self) -> float:
        """1 minus the guess, in full precision where that is known."""
        return 1 - self.upper if self.missed is None else self.missed

    @property
    def exact(self) -> bool:
        """Whether some mechanism reaches the upper end."""
        return self.upper - self.lower <= MEETS


def best_guess(
    claim: Claim, values: int, prior: FloatArray | None, *, upper_only: bool = False
) -> GuessBounds:
    """Best guess among values any two of which are neighbours, over all mechanisms with the claim.

    With `upper_only`, neither a proof nor a lower end is looked for (`lower` is then the blind guess).
    """
    before = 1 / values if prior is None else float(prior.max())
    if before >= 1:
        return GuessBounds(1.0, 1.0, "only one value is possible")
    if isinstance(claim, ReplacementClaim):
        return _replaced_guess(claim, values, prior, before)
    if isinstance(claim, ApproximateClaim) and claim.releases == 1:
        ends = worst_ends(claim.eps, claim.lost, values, prior)
        method = f"closed form (Alvim et al., Prop 21{', with δ' if claim.lost else ''})"
        if upper_only:
            return GuessBounds.exactly(ends, method)
        reason = _unprovable(claim, values, prior)
        proof = None if reason else guess_proof(claim.eps, claim.lost, values, prior)
        return GuessBounds.exactly(ends, method, *_checked(proof, reason))
    if isinstance(claim, GaussianClaim):
        method = "exact: Gaussian noise on answers as far apart as may be (a simplex)"
        ends = simplex_ends(claim.mu, values, prior)
        return GuessBounds.exactly(
            ends, method, *((None, None) if upper_only else _gaussian(claim, values, prior))
        )
    possible = values if prior is None else int((prior > 0).sum())
    if prior is None or np.ptp(prior[prior > 0]) == 0:
        worst = claim.worst_response(possible)
        if worst is not None:
            return _response_guess(worst, possible, before, upper_only)
    if possible == 2:
        exact = claim.between_two(0.5 if prior is None else before)
        if exact is not None:
            method = "exact: k-fold randomised response dominates (Kairouz, Oh and Viswanath, Thm 3.3)"
            if upper_only:
                return GuessBounds.exactly(exact, method)
            return GuessBounds.exactly(exact, method, *_repeated_proof(claim, before, values))
    upper, level = _least_over_levels(claim, values, prior)
    upper = max(before, upper)
    if upper_only:
        return GuessBounds(before, upper, "best (ε, δ) of the claim's curve")
    lower = max(before, _reached(claim, values, prior))
    method = "the best (ε, δ) that the claim implies"
    return GuessBounds(min(lower, upper), upper, method, *_composed_proof(claim, values, prior, level))


def _response_guess(worst: WorstResponse, values: int, before: float, upper_only: bool) -> GuessBounds:
    """Randomised response with all that a claim allows, in one release; in several, what responses reach."""
    ends, nothing = worst.ends, "nothing is promised"
    if worst.releases == 1:
        method = "exact: averaged over all permutations, the worst is randomised response"
        return GuessBounds.exactly(ends, method, *(() if upper_only else _checked(worst.proof(), nothing)))
    method = "randomised response with the divergences of all releases together, averaged over permutations"
    if upper_only:
        return GuessBounds(before, ends.guess, method, gained=ends.gained, missed=ends.missed)
    several = ApproximateClaim(worst.once, 0.0, worst.releases)
    reached = min(max(before, _reached_by_response(several, values, None)), ends.guess)
    proof = _checked(worst.proof(), nothing)
    return GuessBounds(reached, ends.guess, method, *proof, ends.gained, ends.missed)


def _replaced_guess(
    claim: ReplacementClaim, values: int, prior: FloatArray | None, before: float
) -> GuessBounds:
    """The lesser of two bounds: values as a group of two, and by comparison with the person's absence."""
    grouped = best_guess(claim.replaced, values, prior, upper_only=True).upper
    compared = claim.largest_guess(before)
    if compared < grouped:
        return GuessBounds(before, compared, "how far the promise lets a blind guess without the person grow")
    return GuessBounds(
        before, grouped, "two values of a person as a group of two: one removed, the other added"
    )


def _unprovable(claim: Claim, values: int, prior: FloatArray | None) -> str | None:
    """Why no certificate is written out; None where one can be."""
    if not isinstance(claim, ApproximateClaim):
        return "the bound follows from a curve δ(ε), which is computed with floats"
    if math.isinf(claim.eps):
        return "ε = ∞ promises nothing"
    if prior is not None and values > LARGEST_PROOF:
        return f"the prior has {values} entries, and proofs are written out up to {LARGEST_PROOF}"
    if claim.releases > LARGEST_REPEATED_PROOF:
        return f"proofs are written out for up to {LARGEST_REPEATED_PROOF} releases"
    return None


def _checked(proof: Proof | None, reason: str | None) -> tuple[Proof | None, str | None]:
    """A proof that holds, or none and why: a certificate that fails is shown to nobody."""
    if proof is None:
        return None, reason
    found = proof.verify()
    return (proof, None) if found else (None, f"the one that was tried does not hold: {found.statement}")


def _composed_proof(
    claim: Claim, values: int, prior: FloatArray | None, level: float
) -> tuple[Proof | None, str | None]:
    """The guess at the best (ε, δ) of the composition, a whole number of steps of the claim's ε or not."""
    reason = _unprovable(claim, values, prior)
    if reason is not None or not isinstance(claim, ApproximateClaim):
        return None, reason
    eps, lost = read_eps(claim.eps), read_eps(claim.lost)
    steps = round(level / claim.eps) if claim.eps else 0
    on_corner = math.isclose(steps * claim.eps, level, rel_tol=1e-12)
    total = steps * eps if on_corner else read_eps(level)
    above = composed_delta_above(eps, lost, claim.releases, total)
    return _checked(
        ComposedGuessProof(eps, lost, claim.releases, guess_proof(total, above, values, prior)), None
    )


def _gaussian(claim: GaussianClaim, values: int, prior: FloatArray | None) -> tuple[Proof | None, str | None]:
    """Equally likely values through Gaussian noise; those that cannot be are left out."""
    possible = values if prior is None else int((prior > 0).sum())
    if prior is not None and np.ptp(prior[prior > 0]) > 0:
        return None, UNEVEN
    if not math.isfinite(claim.mu):
        return None, "nothing is promised"
    proof = GaussianGuessProof.of(possible, Fraction(claim.mu) * ROUNDED_UP)
    return _checked(proof, ENDLESS)


def _repeated_proof(claim: Claim, first: float, values: int) -> tuple[Proof | None, str | None]:
    reason = _unprovable(claim, values, None)
    if reason is not None or not isinstance(claim, ApproximateClaim):
        return None, reason
    one = Fraction(str(first))
    eps, lost = read_eps(claim.eps), read_eps(claim.lost)
    return _checked(RepeatedGuessProof.of(eps, lost, claim.releases, (one, 1 - one)), None)


def _least_over_levels(claim: Claim, values: int, prior: FloatArray | None) -> tuple[float, float]:
    """min over ε of δ(ε) + (1-δ(ε))·V_ε, and that ε: every ε gives a valid bound, a finer look only helps.

    Where δ is a line in e^ε and V_ε uses one number of values, the bound has no least value inside, so for a
    composed claim the corners of both are enough. The least over all ε rises with ε and with releases.
    """
    levels = np.unique(np.concatenate([claim.levels(), _switches(claim, prior)]))
    found = _bounds_at(claim, levels, values, prior)
    best = int(np.argmin(found))
    for _ in range(3):
        around = claim.between(levels[max(best - 1, 0)], levels[min(best + 1, len(levels) - 1)])
        if not len(around):
            break
        levels = np.union1d(around, levels[best])
        found = _bounds_at(claim, levels, values, prior)
        best = int(np.argmin(found))
    return float(found[best]), float(levels[best])


def _switches(claim: Claim, prior: FloatArray | None) -> FloatArray:
    """Levels ε up to the claim's highest at which the worst mechanism begins to use one more value.

    m values and m+1 allow the same guess where e^ε = (π_1+…+π_m)/π_{m+1} - (m-1).
    """
    if prior is None:
        return np.zeros(0)
    ordered = np.sort(prior[prior > 0])[::-1]
    growth = likeliest(ordered)[:-1] / ordered[1:] - np.arange(len(ordered) - 1)
    switches = np.unique(np.log(np.maximum(growth, 1.0)))
    top = float(np.max(claim.levels(), initial=0.0))
    kept = switches[switches <= top]
    if len(kept) > MOST_SWITCHES:
        kept = kept[np.linspace(0, len(kept) - 1, MOST_SWITCHES).round().astype(np.intp)]
    return np.asarray(kept, dtype=np.float64)


def _bounds_at(claim: Claim, levels: FloatArray, values: int, prior: FloatArray | None) -> FloatArray:
    lost = np.clip(claim.delta(levels), 0.0, 1.0)
    decay = np.exp(-levels)
    if prior is None:
        pure = 1 / (1 + (values - 1) * decay)
    else:
        shares, others = likeliest(prior), np.arange(len(prior))
        pure = np.array([min(1.0, float((shares / (1 + others * q)).max())) for q in decay.tolist()])
    return np.asarray(lost + (1 - lost) * pure, dtype=np.float64)


def _reached(claim: Claim, values: int, prior: FloatArray | None) -> float:
    """What some mechanism with the claim lets an attacker guess; 0 where none is known."""
    if isinstance(claim, ApproximateClaim):
        return _reached_by_response(claim, values, prior)
    return 0.0


def _shares(values: int, prior: FloatArray | None) -> list[tuple[int, float]]:
    """How many of the likeliest values a mechanism may use, and their total probability."""
    if prior is None:
        return [(values, 1.0), *((used, used / values) for used in range(1, min(values, MOST_USED + 1)))]
    ordered = np.cumsum(np.sort(prior)[::-1])
    possible = int((prior > 0).sum())
    counts = sorted({*range(1, min(possible, MOST_USED) + 1), possible})
    return [(used, float(ordered[used - 1])) for used in counts]


def _reached_by_response(claim: ApproximateClaim, values: int, prior: FloatArray | None) -> float:
    """The truth whenever a release gives it away, else what k randomised responses tell."""
    if math.isinf(claim.eps):
        return 1.0
    single = pure_guess(claim.eps, values, prior)[0]
    counted = min(claim.releases, MOST_COUNTED)
    shares = _shares(values, prior)
    # Between two values all releases are counted, however many.
    pair = next((share for used, share in shares if used == 2), 0.0)
    plain = ApproximateClaim(claim.eps, 0.0, claim.releases)
    repeated = pair * plain.between_two(0.5).guess
    for used, share in shares:
        if used > 2:
            repeated = max(repeated, share * repeated_response_guess(claim.eps, used, counted))
    used, share = max(shares)
    repeated = max(repeated, share * coded_response_guess(claim.eps, used, claim.releases))
    given_away = revealed(claim.lost, claim.releases)
    return given_away + (1 - given_away) * max(single, repeated)


# ── The best guess through Gaussian noise, exactly, for any number of values and any prior ──────────────────
# The guess is E max_i π_i·L_i, with L_i the likelihood of value i. Interpolating between two sets of
# answers (Kahane), its derivative is -½ Σ_{i<j} (d²_ij)'·E[M_ij·L_i·L_j] for M = max, whose mixed second
# derivatives M_ij are ≤ 0: moving any two answers apart never helps the person. So the worst are answers
# that are pairwise as far apart as the sensitivity allows, the corners of a simplex. The guess as a
# function of π has the same signs of second derivatives, so the same holds release by release, however the
# releases are chosen.
# Deviations from a mean beyond which a Gaussian weighs less than 1e-32.
REACH = 12.0
# Nodes of the quadrature for each deviation; everything that is integrated varies over about one.
NODES = 24
# Corners this many deviations apart are never confused as far as floats can tell.
CERTAIN = 60.0
# A handicap whose square is still a float; nobody makes up for so much.
HOPELESS = 1e150
# Deviations behind beyond which winning is less likely than any float.
FADED = 75.0
# A gain below this is added up on its own: as a difference it would lose digits.
CLOSE = 0.1


def simplex_ends(mu: float, values: int, prior: FloatArray | None = None) -> GuessInterval:
    """Best guess among corners of a simplex with side μ, seen through unit Gaussian noise.

    With what it gains over the blind guess and what it misses, each a sum of positive terms.
    """
    weights, counts = _distinct(values, prior)
    blind = float(weights.max())
    if mu == 0 or counts.sum() == 1:
        return GuessInterval(blind, 0.0, 1 - blind)
    if values == 2 and prior is None:
        return GuessInterval(float(ndtr(mu / 2)), math.erf(mu / math.sqrt(8)) / 2, float(ndtr(-mu / 2)))
    shift = mu / math.sqrt(2)
    if shift > CERTAIN:
        return GuessInterval(1.0, 1 - blind, 0.0)
    with np.errstate(over="ignore"):
        handicaps = np.maximum(np.log(weights / blind) / shift, -HOPELESS)
    missed = _missed(shift, weights, counts, handicaps)
    gained = 1 - blind - missed
    if gained < CLOSE:
        gained = _gained(shift, blind, counts, handicaps)
    guess = 1 - missed if missed < 0.5 else min(1.0, blind + gained)
    return GuessInterval(max(blind, guess), max(0.0, gained), missed)


def simplex_guess(mu: float, values: int, prior: FloatArray | None = None) -> float:
    """The guess of `simplex_ends` alone.

    >>> round(simplex_guess(1.0, 2), 6)              # Φ(1/2)
    0.691462
    """
    return simplex_ends(mu, values, prior).guess


def _missed(shift: float, weights: FloatArray, counts: FloatArray, handicaps: FloatArray) -> float:
    """Σ_j π_j ∫ φ(s - s_j - a)·(1 - Π_{i≠j} Φ(s - s_i)) ds with a = μ/√2 and s_j = ln(π_j/max π)/a.

    Value j wins where its coordinate, the only one with mean a, beats all others by their handicaps.
    """
    total = 0.0
    for weight, count, own in zip(weights, counts, handicaps, strict=True):
        if own + shift < -FADED:
            # So far behind that it never wins, and that a float has no digits left for the quadrature.
            total += float(count * weight) * math.sqrt(2 * math.pi)
            continue
        nodes, parts = _quadrature(own - REACH, own + shift + REACH)
        behind = log_ndtr(nodes - handicaps[:, None])
        others = counts @ behind - log_ndtr(nodes - own)
        lost = np.exp(-((nodes - own - shift) ** 2) / 2) * -np.expm1(others)
        total += float(count * weight * (lost @ parts))
    return min(1.0, total / math.sqrt(2 * math.pi))


def _gained(shift: float, blind: float, counts: FloatArray, handicaps: FloatArray) -> float:
    """max π·E[(e^(aT - a²/2) - e^(aX - a²/2))⁺] for T the best of the other values, X the likeliest's own."""
    others = counts - (handicaps == 0)
    kept = others > 0
    others, behind_by = others[kept], handicaps[kept]
    if not len(others) or behind_by.max() < -FADED:
        return 0.0
    nodes, parts = _quadrature(-FADED, shift + REACH)
    behind = log_ndtr(nodes - behind_by[:, None])
    density = others @ behind - behind - (nodes - behind_by[:, None]) ** 2 / 2
    found = others @ (np.exp(density + _log_growth(nodes, shift)) @ parts)
    return blind * float(found) / math.sqrt(2 * math.pi)


def _log_growth(t: FloatArray, shift: float) -> FloatArray:
    """ln of e^(at - a²/2)·Φ(t) - Φ(t - a), which is φ(t - a)·(R(-t) - R(a - t)) with R Mills' ratio."""
    near = t < REACH if shift < 1 else np.zeros(len(t), dtype=bool)
    inside = np.where(near, t, 0.0)
    drop = np.log(mills_drop(-inside, min(shift, 1.0)))
    close = drop - (inside - shift) ** 2 / 2 - math.log(2 * math.pi) / 2
    top = log_ndtr(t) + shift * t - shift**2 / 2
    far = top + np.log(-np.expm1(np.where(near, -1.0, log_ndtr(t - shift) - top)))
    return np.where(near, close, far)


def _distinct(values: int, prior: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Different probabilities of the possible values, and how many values have each."""
    if prior is None:
        return np.array([1 / values]), np.array([float(values)])
    weights, counts = np.unique(prior[prior > 0], return_counts=True)
    return weights, counts.astype(np.float64)


def _quadrature(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Gauss and Legendre's rule on pieces of one deviation."""
    inner, shares = gauss_legendre(NODES)
    edges = np.linspace(low, high, math.ceil(high - low) + 1)
    half = np.diff(edges)[:, None] / 2
    nodes = edges[:-1, None] + half * (inner + 1)
    return nodes.ravel(), (half * shares).ravel()


# ── Mechanisms that many releases may be, and how well they let an attacker guess ───────────────────────────
# Mechanisms that many releases may be, and how well they let an attacker guess: lower ends for several
# releases.
#
# Each release is ε-private by itself: randomised response about the value, or about one public bit of it.
# Bits that are counted; fewer releases are a lower bound.
MOST_BITS = 1_000_000


def repeated_response_guess(eps: float, values: int, releases: int) -> float:
    """Best guess among equally likely values after k independent randomised responses: the most frequent one.

    Σ_c P(the truth is answered c times)·P(no other answer occurs more often, ties broken by lot). All terms
    are positive, so nothing is lost to cancellation.

    >>> round(repeated_response_guess(1.0, 5, 1), 6), round(repeated_response_guess(0.5, 2, 10), 6)
    (0.40461, 0.778526)
    """
    if values == 1:
        return 1.0
    likely = np.exp(log_binomial(releases, eps - math.log(values - 1)))
    total = sum(p * _wins(values - 1, releases - c, c) for c, p in enumerate(likely.tolist()))
    return min(1.0, max(1 / values, float(total)))


def _wins(others: int, draws: int, count: int) -> float:
    """P(none of the other letters beats `count` in so many uniform draws, ties broken by lot).

    With a lot u between 0 and 1 for the truth, a letter that ties loses with probability u. Given the sum,
    letters are Poisson variables, so the probability is a coefficient of (Σ_{i<c} w_i x^i + u·w_c
    x^c)^others, a polynomial in u that Gauss and Legendre's rule integrates exactly.
    """
    if draws == 0:
        return 1.0 if count else 1 / (others + 1)
    if count == 0 or (count == 1 and draws > others):
        # Every other letter would have to stay at the truth's count, or there are too many draws for that.
        return 0.0
    grid = np.arange(draws + 1, dtype=np.float64)
    mean = draws / others
    weights = np.exp(grid * math.log(mean) - mean - gammaln(grid + 1))
    # P(Poisson(draws) = draws), what is conditioned on.
    whole = math.exp(draws * math.log(draws) - draws - math.lgamma(draws + 1))
    most_ties = min(others, draws // count)
    nodes, shares = gauss_legendre(most_ties // 2 + 1)
    total = 0.0
    for u, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        series = np.where(grid < count, weights, np.where(grid == count, u * weights, 0.0))
        total += share * float(_power(series, others)[draws])
    return min(1.0, total / whole)


def _power(series: FloatArray, power: int) -> FloatArray:
    """A power of a series, cut to its length, by repeated squaring."""
    size = len(series)
    total = np.zeros(size)
    total[0] = 1.0
    while power:
        if power & 1:
            total = np.convolve(total, series)[:size]
        power >>= 1
        if power:
            series = np.convolve(series, series)[:size]
    return total


def coded_response_guess(eps: float, values: int, releases: int) -> float:
    """Guess among equally likely values when each release answers one public random bit of the value.

    The bits are a random code and randomised response is its noise, so the value is decoded as the nearest
    code word: Σ_t P(t bits answered wrongly)·P(every other word is farther away than t, ties broken by
    lot). With few values and large ε randomised response about the value is better; with many values this
    is.

    >>> round(coded_response_guess(0.1, 5, 1000), 4) > round(repeated_response_guess(0.1, 5, 100), 4)
    True
    """
    bits = min(releases, MOST_BITS)
    likely = np.exp(log_binomial(bits, -eps))
    # Words of other values are at a distance like that of fair coins.
    coins = np.exp(log_binomial(bits, 0.0))
    # By symmetry more than t of n coins show heads as often as fewer than n - t do.
    farther, tied = np.append(np.cumsum(coins)[-2::-1], 0.0), coins
    # ∫ (S + u·f)^(v-1) du over lots u is ((S+f)^v - S^v)/(v·f); where f is 0 it is S^(v-1).
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.log(farther + tied)
        grown = -np.expm1(values * np.log1p(-np.minimum(tied / (farther + tied), 1.0)))
        integral = np.exp(values * whole) * grown / (values * tied)
        plain = np.exp((values - 1) * np.log(farther))
    wins = np.where(tied > 1e-300, integral, plain)
    return min(1.0, float(np.sum(likely * np.clip(np.nan_to_num(wins), 0.0, 1.0))))
