"""What several releases, a Rényi curve or Gaussian noise promise together, as a curve δ(ε).

Two neighbouring inputs are all that matters here. Any adaptive sequence of k mechanisms that are (ε,
δ)-private tells no more about them than k independent draws of one pair of distributions: with probability
δ the input itself, else randomised response (Kairouz, Oh and Viswanath, Thm 3.3). So that pair gives every
total exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, log_ndtr, ndtr, ndtri

from sievert.arrays import FloatArray
from sievert.channels.divergences import Tradeoff
from sievert.numerics import mills_drop
from sievert.results import Result

__all__ = [
    "ComposedClaim",
    "GaussianTradeoff",
    "ImpliedTradeoff",
    "advanced_epsilon",
    "composed_claim",
    "composed_delta",
    "composed_epsilon",
    "composed_points",
    "corners_between",
    "from_profile",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_tradeoff",
    "repeated_response",
    "response_tradeoff",
    "revealed",
    "smallest_level",
    "zcdp_delta",
]
# Outcomes less likely than e^-745 are 0 as a float; leaving them out changes nothing that can be stored.
SMALLEST_LOG = -745.0
# Points of a composed curve that are listed; between two of them the curve in e^ε is a straight line.
MOST_POINTS = 1024
HALVINGS = 200
# Newton's steps for an order, which at first may only double it. δ is flat at the best one, so that an order
# within this share of it gives all digits.
MOST_STEPS = 1000
SAME_ORDER = 1e-9
# Deviations whose square is still a float; a Gaussian has nothing left there.
FARTHEST = 1e150
# Terms up to which every level is summed on its own.
LARGEST_DIRECT = 1_000_000


def revealed(delta: float, releases: int) -> float:
    """Probability that at least one of the releases gives the input away: 1 - (1-δ)^k.

    >>> round(revealed(1e-6, 10) / 1e-5, 4)
    1.0
    """
    if delta >= 1:
        return 1.0
    return -math.expm1(releases * math.log1p(-delta))


def repeated_response(eps: float, releases: int) -> tuple[FloatArray, FloatArray]:
    """Outcomes of k-fold randomised response between two inputs: probability under the first, and loss.

    Outcome l is "l of the k answers point to the second input"; its loss is (k - 2l)·ε, so its probability
    under the second input is e^-loss times that under the first.
    """
    if math.isinf(eps):
        return np.array([1.0]), np.array([math.inf])
    wrong = _likely_outcomes(releases, 1 / (1 + math.exp(eps)) if eps < 700 else 0.0)
    log_right, log_wrong = -np.log1p(np.exp(-eps)), -eps - np.log1p(np.exp(-eps))
    ways = gammaln(releases + 1.0) - gammaln(wrong + 1) - gammaln(releases - wrong + 1)
    with np.errstate(over="ignore"):
        logs = ways + (releases - wrong) * log_right + wrong * log_wrong
        loss = (releases - 2 * wrong) * eps
    # The mirror outcome must stay, so that both directions keep their mass.
    kept = np.maximum(logs, logs[::-1]) > SMALLEST_LOG
    first = np.exp(logs)
    # Logarithms of factorials are off by some units of their own size; the total is known to be 1.
    first /= math.fsum(first.tolist())
    return first[kept], loss[kept]


def _likely_outcomes(releases: int, chance: float) -> FloatArray:
    """Numbers of wrong answers, and their mirror images, that may be likelier than e^-745.

    A number t away from the mean has a probability of at most e^(-2t²/k) (Hoeffding).
    """
    reach = math.sqrt(-SMALLEST_LOG * releases / 2) + 1
    low = max(0, math.floor(releases * chance - reach))
    high = min(releases, math.ceil(releases * chance + reach))
    near = np.arange(low, high + 1, dtype=np.float64)
    return np.union1d(near, releases - near)


def composed_delta(eps: float, delta: float, releases: int, total_eps: ArrayLike) -> FloatArray:
    """The smallest total δ at a total ε of k adaptive releases, each (ε, δ)-private: exact.

    >>> composed_delta(1.0, 0.0, 1, [0.0])           # (e-1)/(e+1)
    array([0.46211716])
    """
    levels = np.atleast_1d(np.asarray(total_eps, dtype=np.float64))
    first, loss = repeated_response(eps, releases)
    lost = revealed(delta, releases)
    if len(levels) * len(first) > LARGEST_DIRECT:
        return lost + (1 - lost) * _excesses(first, loss, levels)
    return np.array([lost + (1 - lost) * _excess(first, loss, level) for level in levels.ravel()])


def _excess(first: FloatArray, loss: FloatArray, level: float) -> float:
    """Σ P·(1 - e^(level - loss)) over outcomes whose loss exceeds the level."""
    if math.isinf(level):
        return 0.0
    over = loss > level
    return float(np.sum(first[over] * -np.expm1(level - loss[over])))


def _excesses(first: FloatArray, loss: FloatArray, levels: FloatArray) -> FloatArray:
    """The same at many levels: sums of P and of Q over the outcomes of largest loss, once for all levels.

    The difference of the two sums is off by some units of the first, 1e-13 of the total.
    """
    # The loss falls from one outcome to the next, and Q is P read backwards.
    here = np.concatenate([[0.0], np.cumsum(first)])
    there = np.concatenate([[0.0], np.cumsum(first[::-1])])
    counted = np.searchsorted(-loss, -levels, side="left")
    with np.errstate(divide="ignore", invalid="ignore"):
        # e^level·Q as one exponential; a Q that a float cannot hold is left out, which only raises δ.
        second = np.where(there[counted] > 0, np.exp(levels + np.log(there[counted])), 0.0)
    return np.where(counted > 0, np.clip(here[counted] - second, 0.0, 1.0), 0.0)


def composed_points(eps: float, delta: float, releases: int) -> tuple[FloatArray, FloatArray]:
    """Corners (ε, δ) of the composed curve, ε falling from k·ε to 0; some are left out of long curves."""
    if math.isinf(eps):
        return np.array([math.inf, 0.0]), np.array([revealed(delta, releases), 1.0])
    steps = np.arange(releases // 2 + 1)
    if len(steps) > MOST_POINTS:
        steps = np.unique(np.linspace(0, len(steps) - 1, MOST_POINTS).round()).astype(np.intp)
    levels = (releases - 2.0 * steps) * eps
    if levels[-1] > 0:
        levels = np.append(levels, 0.0)
    levels = np.unique(levels)[::-1]
    return np.asarray(levels, dtype=np.float64), composed_delta(eps, delta, releases, levels)


def corners_between(eps: float, releases: int, low: float, high: float) -> FloatArray:
    """Corners (k-2l)·ε of the composed curve strictly between two levels, at most MOST_POINTS of them."""
    if eps == 0 or math.isinf(eps) or math.isinf(high):
        return np.zeros(0)
    first = max(0, math.ceil((releases - high / eps) / 2))
    last = min(releases // 2, math.floor((releases - low / eps) / 2))
    count = max(0, last - first + 1)
    steps = np.linspace(first, last, min(count, MOST_POINTS)).round() if count else np.zeros(0)
    corners = np.unique((releases - 2.0 * steps) * eps)
    return np.asarray(corners[(corners > low) & (corners < high)], dtype=np.float64)


def composed_epsilon(eps: float, delta: float, releases: int, total_delta: float) -> float:
    """The smallest total ε at a total δ; inf where even that δ is below what is revealed outright."""
    lost = revealed(delta, releases)
    if total_delta < lost:
        return math.inf
    if math.isinf(eps):
        return 0.0 if total_delta >= 1 else math.inf
    first, loss = repeated_response(eps, releases)
    return smallest_level(
        lambda level: lost + (1 - lost) * _excess(first, loss, level), total_delta, releases * eps
    )


def smallest_level(curve: Callable[[float], float], limit: float, top: float) -> float:
    """Smallest level in [0, top] at which a falling curve is within the limit, rounded up."""
    if curve(0.0) <= limit:
        return 0.0
    low, high = 0.0, top
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if curve(middle) <= limit else (middle, high)
    return high


def advanced_epsilon(eps: float, delta: float, releases: int, total_delta: float) -> float:
    """Advanced composition: ε√(2k ln(1/δ″)) + kε(e^ε-1)/(e^ε+1) with δ″ = total δ - kδ (inf where ≤ 0).

    Dwork, Rothblum and Vadhan, Thm III.3, with the mean loss of Kairouz et al., Thm 3.4.
    """
    slack = total_delta - releases * delta
    if slack <= 0 or math.isinf(eps):
        return math.inf
    if slack >= 1:
        return 0.0
    return eps * math.sqrt(2 * releases * -math.log(slack)) + releases * eps * math.tanh(eps / 2)


@dataclass(frozen=True)
class ComposedClaim(Result):
    """Total ε, in nats, of several releases at a total δ, three ways.

    `basic` adds up (its own δ is k·δ), `advanced` is the textbook bound, `optimal` is the exact total: no
    accountant that knows only (ε, δ) of each release can promise less.
    """

    eps: float
    delta: float
    releases: int
    total_delta: float
    basic: float
    advanced: float
    optimal: float

    def __float__(self) -> float:
        return self.optimal

    def __str__(self) -> str:
        return (
            f"{self.releases} releases with ε = {self.eps:g}, δ = {self.delta:g} each: at a total δ of "
            f"{self.total_delta:g} the total ε is {self.optimal:.6g} (advanced composition "
            f"{self.advanced:.6g}, adding up {self.basic:.6g})"
        )


def composed_claim(
    eps: float, *, delta: float = 0.0, releases: int = 1, total_delta: float = 1e-6
) -> ComposedClaim:
    """Total ε of k adaptive releases, each (ε, δ)-private, at a total δ.

    Parameters
    ----------
    eps, delta : what each release promises
    releases : how many
    total_delta : the δ of all together

    Returns
    -------
    ComposedClaim
        The total ε: `basic` by adding up, `advanced` composition, and `optimal`, which is the least possible.

    Notes
    -----
    Cost: O(releases) for each step of a bisection.

    Examples
    --------
    >>> print(composed_claim(0.1, releases=100, total_delta=1e-6))
    100 releases with ε = 0.1, δ = 0 each: at a total δ of 1e-06 the total ε is 4.77457 (advanced \
composition 5.75611, adding up 10)
    """
    from sievert.limits.promises import checked_delta, checked_releases, promised

    level, lost, count = promised(eps), checked_delta(delta), checked_releases(releases)
    total = checked_delta(total_delta, "total_delta")
    basic = count * level if total >= min(1.0, count * lost) else math.inf
    return ComposedClaim(
        level,
        lost,
        count,
        total,
        basic,
        advanced_epsilon(level, lost, count, total),
        composed_epsilon(level, lost, count, total),
    )


def gaussian_delta(mu: float, eps: ArrayLike) -> FloatArray:
    """δ(ε) between two Gaussians of variance 1 whose means are μ apart: exact (Balle and Wang, Thm 8).

    >>> gaussian_delta(1.0, [0.0, 1.0]).round(6)
    array([0.382925, 0.126937])
    """
    levels = np.atleast_1d(np.asarray(eps, dtype=np.float64))
    if mu == 0:
        return np.zeros(levels.shape)
    if math.isinf(mu):
        return np.ones(levels.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        # e^ε·Φ(…) as one exponential, so that neither factor overflows or underflows alone.
        second = np.exp(levels + log_ndtr(-levels / mu - mu / 2))
        found = ndtr(mu / 2 - levels / mu) - second
        if mu < 1:
            # Φ(-a) - e^ε·Φ(-b) = φ(a)·(R(a) - R(b)) with b = a + μ, R Mills' ratio.
            start = np.minimum(levels / mu - mu / 2, FARTHEST)
            found = np.exp(-(start**2) / 2) / math.sqrt(2 * math.pi) * mills_drop(start, mu)
    return np.where(np.isinf(levels), 0.0, np.clip(found, 0.0, 1.0))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest ε at which two Gaussians μ apart are (ε, δ)-close."""
    if mu == 0 or delta >= 1:
        return 0.0
    if math.isinf(mu) or delta == 0:
        return math.inf
    top = 1.0
    while float(gaussian_delta(mu, top)[0]) > delta:
        top *= 2
        if top > 1e300:
            return math.inf
    return smallest_level(lambda level: float(gaussian_delta(mu, level)[0]), delta, top)


def zcdp_delta(rho: float, eps: ArrayLike) -> FloatArray:
    """A δ that every ρ-zCDP mechanism has at ε (Canonne, Kamath and Steinke, Prop 12).

    min over α > 1 of e^((α-1)(αρ-ε))·(1-1/α)^α/(α-1). Its logarithm's derivative (2α-1)ρ - ε + ln(1-1/α) is
    rising and concave, so Newton's steps from below never pass its zero; any α, the found one too, gives a
    valid δ. At ε = 0 the total variation is also at most √(ρ/2) (Pinsker) and √(1-e^-ρ) (Bretagnolle and
    Huber).

    >>> zcdp_delta(0.5, [1.0]).round(6)
    array([0.246846])
    """
    levels = np.atleast_1d(np.asarray(eps, dtype=np.float64))
    if rho == 0:
        return np.zeros(levels.shape)
    if math.isinf(rho):
        return np.ones(levels.shape)
    order = np.full(levels.shape, 1 + 1e-9)
    for _ in range(MOST_STEPS):
        slope = 2 * rho + 1 / (order * (order - 1))
        step = (levels - (2 * order - 1) * rho - np.log1p(-1 / order)) / slope
        # Orders beyond 1e150 say no more, and their products would overflow.
        before, order = order, np.minimum(order + np.maximum(step, 0.0), 1e150)
        if (order - before <= SAME_ORDER * (before - 1)).all():
            break
    found = np.exp(np.minimum(log_conversion(order, rho * order, levels), 0.0))
    at_zero = min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))
    # δ falls with ε, so what holds at 0 holds above.
    return np.clip(np.minimum(found, at_zero), 0.0, 1.0)


def log_conversion(order: FloatArray, divergence: FloatArray, eps: FloatArray) -> FloatArray:
    """ln δ from one Rényi divergence (Canonne, Kamath and Steinke, Prop 12)."""
    return np.asarray(
        (order - 1) * (divergence - eps) + order * np.log1p(-1 / order) - np.log(order - 1), dtype=np.float64
    )


# ── The trade-off between false alarms and misses that a claim of privacy implies ───────────────────────────
CURVE_POINTS = 201


def response_tradeoff(eps: float, delta: float, releases: int = 1) -> Tradeoff:
    """The exact trade-off of k releases, each (ε, δ)-private: outcomes added in order of falling loss.

    >>> float(response_tradeoff(math.log(3), 0.0).at(0.25))
    0.25
    """
    if math.isinf(eps):
        return Tradeoff(np.array([0.0, 1.0]), np.zeros(2))
    first, _ = repeated_response(eps, releases)
    lost = revealed(delta, releases)
    # Ordered by loss: "alarm" (the first input) on the outcomes most in favour of it. What is revealed
    # outright costs no false alarm; what reveals the second input is never an alarm.
    alarms = np.minimum(np.concatenate([[0.0], np.cumsum(first[::-1])]), 1.0)
    # What is missed is summed from its own small end, which is the same sum backwards.
    false_alarm = np.append((1 - lost) * alarms, 1.0)
    apart = float(composed_delta(eps, delta, releases, 0.0)[0])
    return Tradeoff(false_alarm, np.append((1 - lost) * alarms[::-1], 0.0), total_variation=apart)


@dataclass(frozen=True, eq=False)
class GaussianTradeoff(Tradeoff):
    """G_μ(α) = Φ(Φ⁻¹(1-α) - μ) (Dong, Roth and Su, Def 2.6), exactly; the points are for pictures."""

    mu: float = 0.0

    def at(self, false_alarm: ArrayLike) -> FloatArray:
        shares = np.asarray(false_alarm, dtype=np.float64)
        return np.asarray(ndtr(-ndtri(shares) - self.mu), dtype=np.float64)

    @property
    def advantage(self) -> float:
        return math.erf(self.mu / math.sqrt(8))

    def to_dict(self) -> dict[str, Any]:
        """The points, as of every trade-off."""
        return {name: value for name, value in super().to_dict().items() if name != "mu"}


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """The trade-off between two Gaussians whose means are μ deviations apart.

    >>> curve = gaussian_tradeoff(1.0)
    >>> round((1 - float(curve.at(1e-10))) * 1e8, 4), round(curve.advantage, 6)
    (4.1303, 0.382925)
    """
    if math.isinf(mu):
        return Tradeoff(np.array([0.0, 1.0]), np.zeros(2))
    # Thresholds from one mean to the other and 8 deviations beyond, the best one (μ/2) among them.
    cut = mu / 2 + np.linspace(-8 - mu / 2, 8 + mu / 2, 2 * CURVE_POINTS + 1)
    grid = np.concatenate([[0.0], ndtr(-cut[::-1]), [1.0]])
    return GaussianTradeoff(grid, np.concatenate([[1.0], ndtr(cut[::-1] - mu), [0.0]]), mu=mu)


@dataclass(frozen=True, eq=False)
class ImpliedTradeoff(Tradeoff):
    """What pairs (ε, δ) imply: max of 1-δ-e^ε·α and e^-ε·(1-δ-α) over them, at least 0.

    The curve is the largest of these lines, so no chord overstates what is missed.
    """

    eps: FloatArray = field(default_factory=lambda: np.zeros(0))
    delta: FloatArray = field(default_factory=lambda: np.zeros(0))

    def at(self, false_alarm: ArrayLike) -> FloatArray:
        shares = np.asarray(false_alarm, dtype=np.float64)
        return np.asarray(_highest_line(self.eps, self.delta, shares.ravel()).reshape(shares.shape))

    @property
    def advantage(self) -> float:
        # The curve is its own mirror image, so right minus false alarms are most where it equals its share:
        # 1 - 2(1-δ)/(1+e^ε) = tanh(ε/2) + 2δ/(1+e^ε).
        with np.errstate(over="ignore"):
            found = np.tanh(self.eps / 2) + 2 * self.delta / (1 + np.exp(self.eps))
        return float(np.min(found, initial=1.0))

    def to_dict(self) -> dict[str, Any]:
        """The points, as of every trade-off."""
        return {name: value for name, value in super().to_dict().items() if name not in ("eps", "delta")}


def from_profile(eps: ArrayLike, delta: ArrayLike, *, exact: bool = False) -> Tradeoff:
    """The trade-off that pairs (ε, δ) imply."""
    levels, lost = np.atleast_1d(np.asarray(eps, float)), np.atleast_1d(np.asarray(delta, float))
    finite = np.isfinite(levels)
    levels, lost = levels[finite], lost[finite]
    inner = np.concatenate([np.linspace(0, 1, CURVE_POINTS), np.logspace(-9, -0.01, CURVE_POINTS)])
    grid = np.unique(np.concatenate([inner, corners(levels, lost)]))
    return ImpliedTradeoff(grid, _highest_line(levels, lost, grid), exact, eps=levels, delta=lost)


def _highest_line(levels: FloatArray, lost: FloatArray, shares: FloatArray) -> FloatArray:
    best = np.zeros(len(shares))
    for level, one in zip(levels, lost, strict=True):
        growth = math.exp(min(level, 700.0))
        best = np.maximum(best, np.maximum(1 - one - growth * shares, (1 - one - shares) / growth))
    return best


def corners(levels: Iterable[float], lost: Iterable[float]) -> FloatArray:
    """Where the two lines of one (ε, δ) meet: (1-δ)/(1+e^ε), the point of its advantage."""
    found = [(1 - one) / (1 + math.exp(min(level, 700.0))) for level, one in zip(levels, lost, strict=True)]
    return np.array(found, dtype=np.float64)
