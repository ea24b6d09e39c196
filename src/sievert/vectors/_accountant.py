"""The exact accountant of noisy codes: what two users at a distance can be told apart by.

The observer sees the hash and the noisy code. For a pair of users fixed before the hash is drawn, the loss is
a sum of independent steps, and everything below is computed from its exact law; the paper's bounds stand
beside it in `paper_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import bdtr, logit

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import abbreviated, choice, in_nats, log_binomial, number, probability, whole
from sievert.results import Result
from sievert.vectors._laws import StepLaw, ball, precision, read_level, rounded, threshold

__all__ = ["Accountant", "LossDistribution", "accountant", "read_delta", "read_distance"]

SEEN, HIDDEN = "output+seed", "output only"
# Users whose pairs are weighed.
MOST_USERS = 10**15


@dataclass(frozen=True)
class LossDistribution(Result):
    """The law of the privacy loss of one pair.

    Attributes
    ----------
    losses : in nats, rising
    probabilities : under the first user of the pair
    infinite : probability that the loss is infinite: some output rules the second user out
    """

    losses: FloatArray = field(repr=False)
    probabilities: FloatArray = field(repr=False)
    infinite: float = 0.0

    def __str__(self) -> str:
        return f"{len(self.losses):,} possible losses from {self.losses[0]:g} to {self.losses[-1]:g} nats"


@dataclass(frozen=True)
class Accountant(Result):
    """What noisy codes tell about a pair of users; see `accountant`.

    Attributes
    ----------
    bits : coordinates of a code
    distance : probability that one coordinate of the pair's codes differs
    eps : nats per coordinate and release
    view : what the observer sees
    quantifier : what the statement is about
    values : values of a coordinate
    releases : how often a code was released
    hashing : "fresh" hash for each release, or the "same"
    """

    bits: int
    distance: float
    eps: float
    view: str = SEEN
    values: int = 2
    releases: int = 1
    hashing: str = "fresh"
    quantifier: str = "for each pair fixed before the hash is drawn, over the draw of the hash"

    @cached_property
    def law(self) -> StepLaw | None:
        """The exact law of the loss in units of eps; None where it is 0 or without bound."""
        eps = read_level("eps", self.eps)
        if eps is None or eps == 0 or self.view == HIDDEN:
            return None
        fresh = self.hashing == "fresh"
        return StepLaw(
            self.bits * (self.releases if fresh else 1),
            read_distance("distance", self.distance),
            eps,
            self.values,
            1 if fresh else self.releases,
        )

    @property
    def worst(self) -> float:
        """The loss that no output exceeds, eps·bits·releases, in nats (Fernandes, Prop 10.3)."""
        if self.view == HIDDEN or self.distance == 0 or self.eps == 0:
            return 0.0
        return self.eps * self.bits * self.releases

    @property
    def differs(self) -> float:
        """The probability that the codes differ at all without noise, 1 - (1 - d)^bits."""
        coordinates = self.bits * (self.releases if self.hashing == "fresh" else 1)
        return 1.0 if self.distance == 1 else -math.expm1(coordinates * math.log1p(-self.distance))

    def delta(self, xi: float) -> float:
        """The least δ with which (ξ, δ)-XDP holds: E[(1 - e^(ξ - L))₊], rounded up.

        XDP survives any processing of the codes, so it is what is reported.
        """
        law = self.law
        if law is None:
            read_level("xi", xi)
            return self._without_law()
        level, m = threshold(xi, law.eps)
        return min(1.0, max(0.0, rounded(law.delta(level, m))))

    def tail(self, xi: float) -> float:
        """The probability that the loss exceeds ξ, (ξ, δ)-PXDP, rounded up; matching may raise it."""
        law = self.law
        if law is None:
            read_level("xi", xi)
            return self._without_law()
        return min(1.0, rounded(law.tail(threshold(xi, law.eps)[1])))

    def _without_law(self) -> float:
        """δ where the loss is 0, or is infinite as soon as the codes differ."""
        return self.differs if math.isinf(self.eps) and self.view == SEEN else 0.0

    def xi(self, delta: float) -> float:
        """The least ξ with which (ξ, δ)-XDP holds, in nats, rounded up."""
        level = read_delta("delta", delta)
        law = self.law
        if law is None:
            return math.inf if self._without_law() > level else 0.0
        worst = rounded(ball(law.eps * law.reach))  # no output loses more
        found, most = min(max(0.0, rounded(law.smallest_xi(level))), worst), float(level)
        while self.delta(found) > most:  # ξ is read as it is written, and δ is rounded up
            found = math.nextafter(found, math.inf)
        return found

    def tail_xi(self, delta: float) -> float:
        """The least ξ with which (ξ, δ)-PXDP holds, in nats: a multiple of eps."""
        level = read_delta("delta", delta)
        law = self.law
        if law is None:
            return math.inf if self._without_law() > level else 0.0
        bound = ball(level)
        low, high = -1, law.reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if law.tail(middle) <= bound else (middle, high)
        return float(law.eps * high)

    def tail_within(self, xi: float) -> float:
        """The largest `tail` over all distances up to this one; the tail itself may fall as users move apart.

        Found on a grid and refined, in floating point.
        """
        law = self.law
        if law is None or law.releases > 1 or law.values > 2:
            raise VectorError(
                "tail_within is for bits, an eps above 0 and fresh hashes; use delta, which rises"
            )
        m = threshold(xi, law.eps)[1]
        flip = 1 / (1 + math.exp(float(law.eps)))
        differing = np.arange(law.reach + 1)
        # P[z - 2·Bin(z, r) > m]
        most = np.ceil((differing - m) / 2) - 1
        exceeds = np.where(most >= 0, bdtr(np.maximum(most, 0), differing, flip), 0.0)

        def tail(distance: float) -> float:
            return float(np.exp(log_binomial(law.reach, float(logit(distance)))) @ exceeds)

        grid = np.linspace(0.0, self.distance, 257)
        values = [tail(float(d)) for d in grid]
        best = int(np.argmax(values))
        ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
        if ends[0] == ends[1]:
            return values[best]
        found = minimize_scalar(lambda d: -tail(d), bounds=ends, method="bounded", options={"xatol": 1e-12})
        return max(values[best], -float(found.fun))

    @property
    def mean(self) -> float:
        """The expected loss in nats: eps·bits·d·tanh(eps/2) for bits."""
        moments = self._moments()
        return moments[0]

    @property
    def variance(self) -> float:
        """The variance of the loss."""
        return self._moments()[1]

    def _moments(self) -> tuple[float, float]:
        if self.law is None:
            return (0.0, 0.0) if self._without_law() == 0 else (math.inf, math.nan)
        grown, others = math.expm1(self.eps), self.values - 1
        drift, size = grown / (grown + 1 + others), (grown + 2) / (grown + 1 + others)
        d, t = self.distance, self.releases
        mean = self.bits * d * t * drift
        # Under the same hash a differing coordinate gives t independent steps, else none.
        second = size * t + (t * (t - 1) * drift**2 if self.hashing == "same" else 0.0)
        first = d * t * drift if self.hashing == "same" else d * drift
        spread = d * second - first**2 if self.hashing == "same" else t * (d * size - first**2)
        return self.eps * mean, self.eps**2 * self.bits * spread

    @cached_property
    def loss_distribution(self) -> LossDistribution:
        """The law of the loss of the pair."""
        law = self.law
        if law is None:
            lost = self._without_law()
            return LossDistribution(np.zeros(1), np.array([1 - lost]), lost)
        support = np.arange(-law.reach, law.reach + 1, dtype=np.float64) * float(law.eps)
        return LossDistribution(support, law.probabilities())

    def renyi(self, order: float) -> float:
        """The Rényi divergence of an order above 1, in nats; it adds over releases with fresh hashes."""
        a = _order(order)
        if self.law is None:
            return 0.0 if self._without_law() == 0 else math.inf
        if self.hashing == "same" and self.releases > 1:
            raise VectorError("renyi is for fresh hashes; under the same hash use delta or tail")
        # λ·(e^(aε) + e^((1-a)ε) - 1 - e^ε) = -λ·expm1(aε)·expm1((1-a)ε), λ = P(step = -1).
        eps = self.eps
        down = 1 / (math.exp(eps) + self.values - 1) if eps < 700 else 0.0
        if a * eps > 700:
            return self.bits * self.releases * _large_order(self.distance, a, eps, self.values) / (a - 1)
        excess = -down * math.expm1(a * eps) * math.expm1((1 - a) * eps)
        return self.bits * self.releases * math.log1p(self.distance * excess) / (a - 1)

    def compose(self, releases: int, hashing: str = "fresh") -> Accountant:
        """The account of several releases of every code: with a fresh hash each time, or the same one."""
        choice("hashing", hashing, ("fresh", "same"), VectorError)
        if self.releases != 1:
            raise VectorError("the account is of several releases already; compose that of one release")
        return replace(self, releases=whole("releases", releases, VectorError), hashing=hashing)

    def warnings(self, delta: float, users: int | None = None) -> tuple[str, ...]:
        """Why a statement with this δ may be worth nothing."""
        level = float(read_delta("delta", delta))
        found = []
        if self.view == HIDDEN:
            found.append(
                "the hash is taken to be secret; users must know it, so an observer does too: use output+seed"
            )
        if self.differs <= level:
            found.append(
                f"vacuous: codes without any noise differ with probability {self.differs:.6g} only, so plain "
                f"hashing already satisfies this δ = {level:g}"
            )
        if users is not None:
            pairs = math.comb(whole("users", users, VectorError, least=2, most=MOST_USERS), 2)
            if level * pairs >= 1:
                found.append(
                    f"δ = {level:g} is per pair: of {pairs:,.0f} pairs of users {level * pairs:,.0f} may "
                    f"exceed ξ; δ below {1 / pairs:.3g} would leave less than one"
                )
        return tuple(found)

    def __str__(self) -> str:
        bits = "bits" if self.values == 2 else f"coordinates of {self.values} values"
        many = "" if self.releases == 1 else f", {self.releases} releases under {self.hashing} hash"
        return (
            f"{self.bits} {bits} at ε = {number(self.eps)}, users at distance {self.distance:g}{many}: loss "
            f"{in_nats(self.mean)} on average, {self.worst:.4g} at most; observer sees {self.view}"
        )


def accountant(bits: int, distance: float, eps: float, view: str = SEEN, *, values: int = 2) -> Accountant:
    """The exact account of a pair of users whose codes are released with noise.

    Parameters
    ----------
    bits : coordinates of a code
    distance : probability that one coordinate of the two codes differs, the angular distance for hyperplanes
        (`hash.collision` gives it for other families)
    eps : nats per coordinate, from 0 to inf
    view : "output+seed" (the observer knows the hash, as every user does) or "output only"
    values : values of a coordinate, 2 for bits

    Returns
    -------
    Accountant
        With `delta(xi)` (XDP), `tail(xi)` (PXDP), `xi(delta)`, `mean`, `variance`, `loss_distribution`,
        `renyi(order)`, `compose(releases, hashing)`.

    Notes
    -----
    Exact: the law is computed in balls of 160 bits, and every δ and ξ is rounded up, so also δ = 1e-300 is
    certified. Coordinates must be independent, as with Gaussian hyperplanes. With the hash hidden one code
    alone is uniform and says nothing; this is no promise (Fernandes, Def 10.4.1), since users know the hash.
    Cost: O(bits), 0.05 s for 10,000 bits.

    References
    ----------
    Fernandes (2021), Def 10.4.1.

    Examples
    --------
    >>> account = accountant(20, 0.05, 1.0)
    >>> account.delta(2.0), account.tail(2.0), account.xi(0.01)
    (0.01914756, 0.02858582, 2.677627)
    >>> accountant(2000, 0.05, 1.0).delta(300.0)
    1.1702110e-102
    """
    choice("view", view, (SEEN, HIDDEN), VectorError)
    level = read_level("eps", eps)
    return Accountant(
        whole("bits", bits, VectorError),
        float(read_distance("distance", distance)),
        math.inf if level is None else float(level),
        view,
        whole("values", values, VectorError, least=2, most=256),
    )


def read_distance(argument: str, value: Any) -> Fraction:
    """A distance from 0 to 1, read as it is written."""
    probability(argument, value, VectorError)
    found = read_level(argument, float(value) if isinstance(value, float | np.floating) else value)
    assert found is not None
    return found


def read_delta(argument: str, value: Any) -> Fraction:
    """δ from 0 to below 1."""
    found = read_distance(argument, value)
    if found >= 1:
        raise VectorError(
            f"{argument} is {abbreviated(value)}; it must be below 1, or nothing at all is promised"
        )
    return found


def _order(order: float) -> float:
    try:
        found = float(order)
    except (TypeError, ValueError):
        found = math.nan
    if not 1 < found < math.inf:
        raise VectorError(f"order is {abbreviated(order)}; a Rényi order here is a finite number above 1")
    return found


def _large_order(distance: float, order: float, eps: float, values: int) -> float:
    """ln(1 - d + d·(…)) where e^(a·ε) is beyond floats."""
    with precision():
        d, e = ball(Fraction(distance)), ball(Fraction(eps))
        down = 1 / (e.exp() + (values - 1))
        inner = (e * order).exp() + (e * (1 - order)).exp() + (values - 2)
        return float((1 - d + d * down * inner).log().mid()) if distance else 0.0
