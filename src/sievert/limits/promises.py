"""Claims of privacy as plain data: what is promised about two neighbouring inputs, in one common form.

Every claim knows its curve δ(ε) after all releases, the levels ε at which that curve is worth looking at, the
trade-off between false alarms and misses, and the best guess between two values where that is known exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from sievert.arrays import FloatArray
from sievert.channels.divergences import Tradeoff
from sievert.errors import MechanismError
from sievert.limits._closed_guess_bounds import GuessInterval, guess_proof
from sievert.limits._composition import (
    composed_claim,
    composed_delta,
    composed_epsilon,
    composed_points,
    corners_between,
    from_profile,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_tradeoff,
    log_conversion,
    repeated_response,
    response_tradeoff,
    revealed,
    smallest_level,
    zcdp_delta,
)
from sievert.limits._worst_response import response_of_curve, response_of_rho
from sievert.numerics import abbreviated, non_negative, probability, read_eps, whole
from sievert.proofs import Proof

__all__ = [
    "composed_claim",
]


def __dir__() -> list[str]:
    return sorted(__all__)


SYMBOLS = {"eps": "ε", "delta": "δ", "rho": "ρ", "sigma": "σ", "releases": "number of releases"}
LARGEST_RELEASES = 10_000_000
GRID_POINTS = 240
# ε above which nobody could tell a promise from none.
HIGHEST = 1e6
# A loss beyond this is as good as ∞, and sums of such losses are no floats.
BOUNDLESS = 1e30
HIGHEST_ORDER = 1e100


def checked_eps(eps: object, name: str = "eps") -> float:
    """A number ≥ 0, perhaps infinite."""
    return non_negative(name, eps, MechanismError, infinite=True)


def promised(eps: object, name: str = "eps") -> float:
    """A number ≥ 0 that bounds a loss; one that no float can tell from ∞ is ∞."""
    level = checked_eps(eps, name)
    return math.inf if level > BOUNDLESS else level


def checked_delta(delta: object, name: str = "delta") -> float:
    """A probability."""
    return probability(name, delta, MechanismError)


def checked_releases(releases: object) -> int:
    """A whole number ≥ 1."""
    return whole("releases", releases, MechanismError, most=LARGEST_RELEASES)


class Claim(ABC):
    """What is promised about any two neighbouring inputs, after all releases."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The claim as people write it."""

    @abstractmethod
    def delta(self, eps: FloatArray) -> FloatArray:
        """δ(ε) after all releases."""

    @abstractmethod
    def levels(self) -> FloatArray:
        """Levels ε ≥ 0 between which the best one is looked for."""

    def between(self, low: float, high: float) -> FloatArray:
        """Further levels between two, for a closer look; none where the look is close enough."""
        return np.linspace(low, high, 41) if math.isfinite(high) and low < high else np.zeros(0)

    @abstractmethod
    def tradeoff(self) -> Tradeoff:
        """Misses against false alarms of whoever must tell two neighbours apart."""

    def between_two(self, first: float) -> GuessInterval | None:
        """Exact best guess between two values, the likelier of which has this prior; None where not known."""
        return None

    def of_group(self, size: int) -> Claim:
        """What the claim implies for somebody who owns several records."""
        if size == 1:
            return self

        def profile(level: float) -> float:
            # One record after the other, each at a part of ε: δ·(1 + e^(ε/m) + … + e^((m-1)ε/m)).
            lost, step = float(self.delta(np.array([level / size]))[0]), level / size
            return lost * math.fsum(math.exp(min(k * step, 700.0)) for k in range(size))

        return ProfileClaim(profile, f"{self.words}, {size} times in a row")

    def largest_event(self, share: float) -> float:
        """The largest probability that an event may have in a database when in a neighbour it has `share`.

        1 - f(share) for the trade-off function f: the least of δ + e^ε·share and 1 - e^-ε·(1-δ-share) over
        the curve. Every ε gives a valid bound, so a finer look only helps.
        """
        if not 0 < share < 1:
            return 1.0 if share > 0 else float(self.delta(np.array([math.inf]))[0])
        levels, least = np.unique(self.levels()), 1.0
        for _ in range(4):
            lost = self.delta(levels)
            with np.errstate(over="ignore"):
                found = np.minimum(lost + np.exp(levels) * share, 1 - np.exp(-levels) * (1 - lost - share))
            best = int(np.argmin(found))
            least = min(least, float(found[best]))
            levels = self.between(levels[max(best - 1, 0)], levels[min(best + 1, len(levels) - 1)])
            if not len(levels):
                break
        return least

    @property
    def pure(self) -> float:
        """The ε that the claim implies at δ = 0; inf where some δ > 0 is left at every ε."""
        return math.inf

    def epsilon(self, delta: float) -> float:
        """The smallest ε that the claim implies at a δ; inf where there is none."""
        # A δ that is computed underflows to 0 long before the claim says 0.
        return self._searched(delta) if delta > 0 else self.pure

    def _searched(self, delta: float) -> float:
        if float(self.delta(np.zeros(1))[0]) <= delta:
            return 0.0
        top = 1.0
        while float(self.delta(np.array([top]))[0]) > delta:
            top *= 2
            if top > HIGHEST:
                return math.inf
        return smallest_level(lambda level: float(self.delta(np.array([level]))[0]), delta, top)

    def worst_response(self, values: int) -> WorstResponse | None:
        """Among equally likely values: randomised response, worst of all with the claim; None: not known."""
        return None

    @property
    def tight(self) -> bool:
        """Whether δ(ε) is attained by some mechanism with the claim, for every ε at once."""
        return False


class WorstResponse(NamedTuple):
    """What some releases with a claim let anybody guess, with its proof, and the ε of what one may be."""

    releases: int
    ends: GuessInterval
    once: float
    proof: Callable[[], Proof | None]


@dataclass(frozen=True)
class ApproximateClaim(Claim):
    """k adaptive releases, each (ε, δ)-private (δ = 0: pure differential privacy)."""

    eps: float
    lost: float = 0.0
    releases: int = 1

    @property
    def words(self) -> str:
        each = "" if self.releases == 1 else f" in each of {self.releases} releases"
        level = "∞" if math.isinf(self.eps) else f"{self.eps:g}"
        return f"ε = {level}{f', δ = {self.lost:g}' if self.lost else ''}{each}"

    def of_group(self, size: int) -> ApproximateClaim:
        if size == 1:
            return self
        # δ·(1 + e^ε + … + e^((m-1)ε)): one record after the other.
        steps = [self.lost * math.exp(min(k * self.eps, 700.0)) for k in range(size)] if self.lost else []
        return replace(self, eps=size * self.eps, lost=min(1.0, math.fsum(steps)))

    def delta(self, eps: FloatArray) -> FloatArray:
        return composed_delta(self.eps, self.lost, self.releases, eps)

    def epsilon(self, delta: float) -> float:
        return composed_epsilon(self.eps, self.lost, self.releases, delta)

    def levels(self) -> FloatArray:
        return composed_points(self.eps, self.lost, self.releases)[0]

    def between(self, low: float, high: float) -> FloatArray:
        """Corners of the composed curve; between two of them δ is a straight line in e^ε."""
        return corners_between(self.eps, self.releases, low, high)

    def tradeoff(self) -> Tradeoff:
        return response_tradeoff(self.eps, self.lost, self.releases)

    def between_two(self, first: float) -> GuessInterval:
        if math.isinf(self.eps):
            return GuessInterval(1.0, 1 - first, 0.0)
        mass, loss = repeated_response(self.eps, self.releases)
        # Σ max(π_1·P, π_2·Q) - π_1 = Σ max(0, π_2·Q - π_1·P), and what is missed is Σ min(π_1·P, π_2·Q).
        with np.errstate(over="ignore", invalid="ignore"):
            other = (1 - first) * mass[::-1]
            grown = mass * ((1 - first) * np.expm1(-loss) + (1 - 2 * first))
        gained = math.fsum(np.where(np.isfinite(grown), grown, other)[other > first * mass].tolist())
        missed = math.fsum(np.minimum(first * mass, other).tolist())
        lost = revealed(self.lost, self.releases)
        gained = (1 - lost) * gained + lost * (1 - first)
        missed = (1 - lost) * missed
        return GuessInterval(min(1.0, 1 - missed if missed < 0.5 else first + gained), gained, missed)

    @property
    def tight(self) -> bool:
        return True


@dataclass(frozen=True)
class GaussianClaim(Claim):
    """Gaussian noise of scale σ on an answer of sensitivity Δ, k times: means μ = Δ√k/σ deviations apart."""

    sigma: float
    sensitivity: float = 1.0
    releases: int = 1

    @property
    def mu(self) -> float:
        """How many deviations two neighbours are apart."""
        if self.sensitivity == 0:
            return 0.0
        return math.inf if self.sigma == 0 else self.sensitivity * math.sqrt(self.releases) / self.sigma

    @property
    def words(self) -> str:
        each = "" if self.releases == 1 else f", {self.releases} times"
        return f"Gaussian noise with σ = {self.sigma:g} at sensitivity {self.sensitivity:g}{each}"

    def of_group(self, size: int) -> GaussianClaim:
        return replace(self, sensitivity=size * self.sensitivity)

    def delta(self, eps: FloatArray) -> FloatArray:
        return gaussian_delta(self.mu, eps)

    def largest_event(self, share: float) -> float:
        # Dong, Roth and Su, Def 2.6: 1 - G_μ(α) = Φ(Φ⁻¹(α) + μ).
        return float(ndtr(ndtri(share) + self.mu))

    def epsilon(self, delta: float) -> float:
        return gaussian_epsilon(self.mu, delta)

    def levels(self) -> FloatArray:
        mu = min(self.mu, 1e6)
        return np.linspace(0, mu**2 / 2 + 9 * mu, GRID_POINTS)

    def tradeoff(self) -> Tradeoff:
        return gaussian_tradeoff(self.mu)

    @property
    def tight(self) -> bool:
        return True


@dataclass(frozen=True)
class ZeroConcentratedClaim(Claim):
    """k releases, each ρ-zCDP (Bun and Steinke): ρ adds up. A δ that follows from it is an upper bound."""

    rho: float
    releases: int = 1

    @property
    def words(self) -> str:
        return (
            f"ρ = {self.rho:g} (zCDP){'' if self.releases == 1 else f' in each of {self.releases} releases'}"
        )

    @property
    def total(self) -> float:
        """ρ of all releases."""
        return self.rho * self.releases

    def of_group(self, size: int) -> ZeroConcentratedClaim:
        # Bun and Steinke, Prop 1.9: ρ grows with the square.
        return replace(self, rho=size**2 * self.rho)

    def delta(self, eps: FloatArray) -> FloatArray:
        return zcdp_delta(self.total, eps)

    def worst_response(self, values: int) -> WorstResponse:
        found, once = response_of_rho(values, self.total), response_of_rho(values, self.rho).eps

        def proof() -> Proof | None:
            if math.isinf(self.total):
                return None
            return found.proof(values, read_eps(self.rho) * self.releases)

        return WorstResponse(self.releases, found.ends(values), once, proof)

    @property
    def pure(self) -> float:
        return 0.0 if self.total == 0 else math.inf

    def levels(self) -> FloatArray:
        total = min(self.total, 1e9)
        return np.linspace(0, total + 13 * math.sqrt(total), GRID_POINTS)

    def tradeoff(self) -> Tradeoff:
        levels = self.levels()
        return from_profile(levels, self.delta(levels))


@dataclass(frozen=True)
class RenyiClaim(Claim):
    """k releases whose Rényi divergence of some orders α > 1 is bounded (in nats); divergences add up."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]
    releases: int = 1

    @property
    def words(self) -> str:
        each = "" if self.releases == 1 else f", {self.releases} releases"
        return f"a Rényi curve at {len(self.orders)} orders{each}"

    def delta(self, eps: FloatArray) -> FloatArray:
        best = np.ones(np.shape(eps))
        for order, divergence in zip(self.orders, self.divergences, strict=True):
            if math.isinf(divergence):
                continue
            total = self.releases * divergence
            if math.isinf(order):
                # D_∞ = ε: pure differential privacy at that level.
                best = np.minimum(best, composed_delta(total, 0.0, 1, eps))
                continue
            logs = log_conversion(np.array(order), np.array(total), np.asarray(eps, dtype=np.float64))
            # Divergences rise with the order, so this one bounds Kullback and Leibler's, and that the
            # total variation (Pinsker; Bretagnolle and Huber), which bounds δ at every ε.
            flat = min(math.sqrt(total / 2), math.sqrt(-math.expm1(-total)))
            best = np.minimum(best, np.minimum(np.exp(np.minimum(logs, 0.0)), flat))
        return best

    def worst_response(self, values: int) -> WorstResponse:
        found = response_of_curve(values, self.orders, tuple(self.releases * d for d in self.divergences))
        once = response_of_curve(values, self.orders, self.divergences).eps

        def proof() -> Proof | None:
            if math.isinf(found.order):
                return None if math.isinf(found.eps) else guess_proof(found.eps, 0.0, values)
            promised = self.divergences[self.orders.index(found.order)]
            return found.proof(values, None, self.releases * read_eps(promised))

        return WorstResponse(self.releases, found.ends(values), once, proof)

    @property
    def pure(self) -> float:
        """D_∞ itself; a divergence of 0 at any order means equal distributions."""
        if 0 in self.divergences:
            return 0.0
        worst = [d for order, d in zip(self.orders, self.divergences, strict=True) if math.isinf(order)]
        return self.releases * min(worst, default=math.inf)

    def levels(self) -> FloatArray:
        finite = [d * self.releases for d in self.divergences if math.isfinite(d)]
        top = max(finite, default=0.0) + 40.0
        return np.concatenate([[0.0], np.geomspace(1e-4, top, GRID_POINTS)])

    def tradeoff(self) -> Tradeoff:
        levels = self.levels()
        return from_profile(levels, self.delta(levels))


@dataclass(frozen=True, eq=False)
class ProfileClaim(Claim):
    """A curve δ(ε) that somebody else computed, an upper bound on the true one."""

    profile: Callable[[float], float] = field(repr=False)
    source: str
    top: float = 60.0
    releases: int = 1
    known: dict[float, float] = field(default_factory=dict, repr=False)

    @property
    def words(self) -> str:
        return self.source if self.releases == 1 else f"{self.source}, {self.releases} times"

    def delta(self, eps: FloatArray) -> FloatArray:
        return np.array([self._at(float(level)) for level in np.ravel(eps)])

    @property
    def pure(self) -> float:
        return self._searched(0.0)

    def _at(self, level: float) -> float:
        if level not in self.known:
            self.known[level] = min(1.0, max(0.0, float(self.profile(level))))
        return self.known[level]

    def levels(self) -> FloatArray:
        return np.concatenate([[0.0], np.geomspace(1e-3, self.top, 80)])

    def tradeoff(self) -> Tradeoff:
        levels = self.levels()
        return from_profile(levels, self.delta(levels))


def claim_of(
    eps: object = None,
    delta: object = 0.0,
    rho: object = None,
    sigma: object = None,
    sensitivity: object = 1.0,
    renyi: Mapping[float, float] | None = None,
    releases: object = 1,
) -> Claim:
    """The claim that the arguments state; exactly one of eps, rho, sigma and renyi.

    With eps, delta is a part of it; the others have a δ for every ε, and it says where they are read.
    """
    given = {"eps": eps, "rho": rho, "sigma": sigma, "renyi": renyi}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise MechanismError(
            f"give exactly one of eps, rho, sigma and renyi (given: {', '.join(named) or 'none'})"
        )
    count, lost = checked_releases(releases), checked_delta(delta)
    if sigma is None and checked_eps(sensitivity, "sensitivity") != 1.0:
        raise MechanismError(
            f"sensitivity is {abbreviated(sensitivity)}; it goes with sigma, and {named[0]} is about "
            f"one person"
        )
    if eps is not None:
        return ApproximateClaim(promised(eps), lost, count)
    if rho is not None:
        return ZeroConcentratedClaim(promised(rho, "rho"), count)
    if sigma is not None:
        reach = checked_eps(sensitivity, "sensitivity")
        return GaussianClaim(checked_eps(sigma, "sigma"), reach, count)
    assert renyi is not None
    return _renyi(renyi, count)


def _renyi(curve: Mapping[float, float], releases: int) -> RenyiClaim:
    if not isinstance(curve, Mapping) or not curve:
        raise MechanismError(
            f"renyi is {abbreviated(curve)}; give a mapping from orders α > 1 to divergences"
        )
    pairs = []
    for order, divergence in curve.items():
        level = checked_eps(order, "order of renyi")
        if not level > 1:
            raise MechanismError(f"renyi: order {abbreviated(order)} must be above 1")
        # Divergences rise with the order, so what holds at a higher order holds here.
        level = level if math.isinf(level) else min(level, HIGHEST_ORDER)
        pairs.append((level, promised(divergence, f"renyi at order {abbreviated(order)}")))
    pairs.sort()
    return RenyiClaim(tuple(a for a, _ in pairs), tuple(d for _, d in pairs), releases)
