"""From a claim to the best guess about one person: certified ends, and which of them are attained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sievert.limits.approximate import Ends, guess_proof, likeliest, pure_guess, worst_ends
from sievert.limits.claims import ApproximateClaim, Claim, GaussianClaim
from sievert.limits.composition import revealed
from sievert.limits.gaussian_guess import simplex_ends
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
# Levels at which another number of values becomes worst that are looked at.
MOST_SWITCHES = 512
NUMERICAL = "the exact value is an integral, computed with floats"
# Two ends this close are one number to every digit anybody prints.
MEETS = 1e-9


@dataclass(frozen=True, eq=False)
class Guess:
    """Ends of the best guess that mechanisms with a claim allow, how they were found, and the proof.

    `reason` says why there is no proof. `gained` and `missed` are the upper end minus the blind guess and 1
    minus the upper end, where they are known more precisely than by that difference.
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
        cls, ends: Ends, method: str, certificate: Proof | None = None, reason: str | None = None
    ) -> Guess:
        """A guess that some mechanism reaches, with its difference from the blind one and from 1."""
        return cls(ends.guess, ends.guess, method, certificate, reason, ends.gained, ends.missed)

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
        ends = worst_ends(claim.eps, claim.lost, values, prior)
        method = f"closed form (Alvim et al., Prop 21{', with δ' if claim.lost else ''})"
        if upper_only:
            return Guess.exactly(ends, method)
        reason = _unprovable(claim, values, prior)
        proof = None if reason else guess_proof(claim.eps, claim.lost, values, prior)
        return Guess.exactly(ends, method, *_checked(proof, reason))
    if isinstance(claim, GaussianClaim):
        method = "exact: Gaussian noise on answers as far apart as may be (a simplex)"
        return Guess.exactly(simplex_ends(claim.mu, values, prior), method, None, NUMERICAL)
    possible = values if prior is None else int((prior > 0).sum())
    if possible == 2:
        exact = claim.between_two(0.5 if prior is None else before)
        if exact is not None:
            method = "exact: k-fold randomised response dominates (Kairouz, Oh and Viswanath, Thm 3.3)"
            if upper_only:
                return Guess.exactly(exact, method)
            return Guess.exactly(exact, method, *_repeated_proof(claim, before, values))
    upper, level = _least_over_levels(claim, values, prior)
    upper = max(before, upper)
    if upper_only:
        return Guess(before, upper, "best (ε, δ) of the claim's curve")
    lower = max(before, _reached(claim, values, prior))
    method = "the best (ε, δ) that the claim implies"
    return Guess(min(lower, upper), upper, method, *_composed_proof(claim, values, prior, level))


def _replaced_guess(claim: ReplacementClaim, values: int, prior: FloatArray | None, before: float) -> Guess:
    """The lesser of two bounds: values as a group of two, and by comparison with the person's absence."""
    grouped = best_guess(claim.replaced, values, prior, upper_only=True).upper
    compared = claim.largest_guess(before)
    if compared < grouped:
        return Guess(before, compared, "how far the promise lets a blind guess without the person grow")
    return Guess(before, grouped, "two values of a person as a group of two: one removed, the other added")


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
    repeated = pair * plain.between_two(0.5).guess
    for used, share in shares:
        if used > 2:
            repeated = max(repeated, share * repeated_response_guess(claim.eps, used, counted))
    used, share = max(shares)
    repeated = max(repeated, share * coded_response_guess(claim.eps, used, claim.releases))
    given_away = revealed(claim.lost, claim.releases)
    return given_away + (1 - given_away) * max(single, repeated)
