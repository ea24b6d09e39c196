"""From a claim to the best guess about one person: certified ends, and which of them are attained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sievert.limits.approximate import guess_proof, pure_guess, worst_guess
from sievert.limits.claims import ApproximateClaim, Claim, GaussianClaim
from sievert.limits.composition import revealed
from sievert.limits.gaussian_guess import simplex_guess
from sievert.limits.replacement import ReplacementClaim
from sievert.limits.responses import coded_response_guess, repeated_response_guess
from sievert.numerics.balls import read_eps
from sievert.proofs.base import Proof
from sievert.proofs.claims import RepeatedGuessProof
from sievert.proofs.composed import ComposedGuessProof, composed_delta_above

__all__ = ["Guess", "best_guess"]

FloatArray = NDArray[np.float64]
# Up to here certificates are written out.
LARGEST_PROOF = 5_000
LARGEST_REPEATED_PROOF = 2_000
# Releases of many-valued randomised response that are counted exactly; fewer releases are a lower bound.
MOST_COUNTED = 120
MOST_USED = 8
# Two ends this close are one number to every digit anybody prints.
MEETS = 1e-9


@dataclass(frozen=True, eq=False)
class Guess:
    """Ends of the best guess that mechanisms with a claim allow, how they were found, and the proof."""

    lower: float
    upper: float
    method: str
    certificate: Proof | None = None

    @property
    def exact(self) -> bool:
        """Whether some mechanism reaches the upper end."""
        return self.upper - self.lower <= MEETS


def best_guess(claim: Claim, values: int, prior: FloatArray | None, *, upper_only: bool = False) -> Guess:
    """Best guess among values any two of which are neighbours, over all mechanisms with the claim.

    With `upper_only`, neither a proof nor a lower end is looked for (`lower` is then the blind guess).
    """
    before = 1 / values if prior is None else float(prior.max())
    if before >= 1:
        return Guess(1.0, 1.0, "only one value is possible")
    if isinstance(claim, ReplacementClaim):
        return _replaced_guess(claim, values, prior, before)
    if isinstance(claim, ApproximateClaim) and claim.releases == 1:
        found = worst_guess(claim.eps, claim.lost, values, prior)
        certificate = None
        if not upper_only and _is_provable(claim, values, prior):
            certificate = guess_proof(claim.eps, claim.lost, values, prior)
        theorem = f"Alvim et al., Prop 21{', with δ' if claim.lost else ''}"
        return Guess(found, found, f"closed form ({theorem})", certificate)
    if isinstance(claim, GaussianClaim):
        found = simplex_guess(claim.mu, values, prior)
        return Guess(found, found, "exact: Gaussian noise on answers as far apart as may be (a simplex)")
    possible = values if prior is None else int((prior > 0).sum())
    if possible == 2:
        first = 0.5 if prior is None else before
        exact = claim.between_two(first)
        if exact is not None:
            method = "exact: k-fold randomised response dominates (Kairouz, Oh and Viswanath, Thm 3.3)"
            return Guess(exact, exact, method, None if upper_only else _repeated_proof(claim, first, exact))
    upper, level = _least_over_levels(claim, values, prior)
    upper = max(before, upper)
    if upper_only:
        return Guess(before, upper, "best (ε, δ) of the claim's curve")
    lower = max(before, _reached(claim, values, prior))
    method = "the best (ε, δ) that the claim implies"
    return Guess(min(lower, upper), upper, method, _composed_proof(claim, values, prior, level))


def _replaced_guess(claim: ReplacementClaim, values: int, prior: FloatArray | None, before: float) -> Guess:
    """The lesser of two bounds: values as a group of two, and by comparison with the person's absence."""
    grouped = best_guess(claim.replaced, values, prior, upper_only=True).upper
    compared = claim.largest_guess(before)
    if compared < grouped:
        return Guess(before, compared, "how far the promise lets a blind guess without the person grow")
    return Guess(before, grouped, "two values of a person as a group of two: one removed, the other added")


def _is_provable(claim: ApproximateClaim, values: int, prior: FloatArray | None) -> bool:
    """Whether a certificate can be written out."""
    return math.isfinite(claim.eps) and (prior is None or values <= LARGEST_PROOF)


def _composed_proof(claim: Claim, values: int, prior: FloatArray | None, level: float) -> Proof | None:
    """The guess at the best (ε, δ) of the composition, whose ε is a whole number of steps of the claim's."""
    if not isinstance(claim, ApproximateClaim) or claim.releases > LARGEST_REPEATED_PROOF:
        return None
    if not _is_provable(claim, values, prior) or claim.eps == 0:
        return None
    eps, lost = read_eps(claim.eps), read_eps(claim.lost)
    total = round(level / claim.eps) * eps
    above = composed_delta_above(eps, lost, claim.releases, total)
    return ComposedGuessProof(eps, lost, claim.releases, guess_proof(total, above, values, prior))


def _repeated_proof(claim: Claim, first: float, value: float) -> Proof | None:
    if not isinstance(claim, ApproximateClaim) or claim.releases > LARGEST_REPEATED_PROOF:
        return None
    if math.isinf(claim.eps):
        return None
    one = Fraction(str(first))
    # Float sums of k + 1 terms are off by far less than this; verify() recomputes with balls.
    room = Fraction(1, 10**11)
    ends = max(Fraction(0), Fraction(value) - room), min(Fraction(1), Fraction(value) + room)
    return RepeatedGuessProof(
        read_eps(claim.eps), read_eps(claim.lost), claim.releases, (one, 1 - one), *ends
    )


def _least_over_levels(claim: Claim, values: int, prior: FloatArray | None) -> tuple[float, float]:
    """min over ε of δ(ε) + (1-δ(ε))·V_ε, and that ε: every ε gives a valid bound, a finer look only helps."""
    levels = np.unique(claim.levels())
    found = _bounds_at(claim, levels, values, prior)
    best = int(np.argmin(found))
    if not isinstance(claim, ApproximateClaim):
        for _ in range(3):
            around = np.linspace(levels[max(best - 1, 0)], levels[min(best + 1, len(levels) - 1)], 41)
            finer = _bounds_at(claim, around, values, prior)
            levels, found = around, finer
            best = int(np.argmin(found))
    return float(found[best]), float(levels[best])


def _bounds_at(claim: Claim, levels: FloatArray, values: int, prior: FloatArray | None) -> FloatArray:
    lost = np.clip(claim.delta(levels), 0.0, 1.0)
    pure = np.array([pure_guess(float(level), values, prior)[0] for level in levels])
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
    repeated = pair * plain.between_two(0.5)
    for used, share in shares:
        if used > 2:
            repeated = max(repeated, share * repeated_response_guess(claim.eps, used, counted))
    used, share = max(shares)
    repeated = max(repeated, share * coded_response_guess(claim.eps, used, claim.releases))
    given_away = revealed(claim.lost, claim.releases)
    return given_away + (1 - given_away) * max(single, repeated)
