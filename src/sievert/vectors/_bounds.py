"""The paper's bounds beside the exact account, promises by name and how they convert (Fernandes, Ch. 10)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betainc, xlogy

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import abbreviated, in_nats, instance, non_negative, positive, probability, whole
from sievert.results import Result, guarded
from sievert.vectors._accountant import MOST_USERS, accountant, read_delta
from sievert.vectors._codes import MOST_BITS, Codes
from sievert.vectors._hashing import LocalityHash
from sievert.vectors._rows import read_array

__all__ = [
    "CXDP",
    "PXDP",
    "XDP",
    "LossCurve",
    "PaperBounds",
    "alpha_hoeffding",
    "alpha_kl",
    "code_xi",
    "delta_for_population",
    "loss_curve",
    "paper_bounds",
    "realised_xi",
    "response_cxdp",
    "subgaussian",
    "xi_hoeffding",
]

# What a binomial tail of SciPy may be off by, relatively; it is taken that much larger.
TAIL_MARGIN = 1e-11
# Nats a bit, or of noise before the hash: beyond them everything, or nothing, is released.
LARGEST_EPS, SMALLEST_EPS = 1e12, 1e-12


@dataclass(frozen=True)
class XDP(Result):
    """A(x)(S) ≤ e^xi·A(x')(S) + delta for every set S of outputs; survives processing."""

    xi: float
    delta: float

    def __str__(self) -> str:
        return f"({self.xi:g}, {self.delta:g})-XDP"

    def tail(self, xi: float) -> PXDP:
        """The loss exceeds a larger ξ' with probability at most delta/(1 - e^(ξ - ξ'))."""
        if not xi > self.xi:
            raise VectorError(f"xi is {abbreviated(xi)}; it must be above {self.xi:g}")
        return PXDP(xi, min(1.0, self.delta / -math.expm1(self.xi - xi)))


@dataclass(frozen=True)
class PXDP(Result):
    """The loss exceeds xi with probability at most delta; processing may break it."""

    xi: float
    delta: float

    def __str__(self) -> str:
        return f"({self.xi:g}, {self.delta:g})-PXDP"

    def to_xdp(self) -> XDP:
        """The same numbers hold for XDP (Fernandes, Prop 10.5)."""
        return XDP(self.xi, self.delta)


@dataclass(frozen=True)
class CXDP(Result):
    """The loss of a pair at distance d is mu·d on average at most, and tau-subgaussian around its mean."""

    mu: float
    tau: float

    def __str__(self) -> str:
        return f"({self.mu:g}, {self.tau:g})-CXDP"

    def to_pxdp(self, distance: float, delta: float) -> PXDP:
        """ξ = mu·d + tau·√(-2·ln δ) (Fernandes, Prop 10.4)."""
        d, level = probability("distance", distance, VectorError), _positive_delta(delta)
        return PXDP(self.mu * d + self.tau * math.sqrt(-2 * math.log(level)), level)


def response_cxdp(bits: int, eps: float) -> CXDP:
    """Concentrated privacy of noisy codes, for any number of bits and any distance.

    Parameters
    ----------
    bits : of a code
    eps : nats a bit

    Returns
    -------
    CXDP
        mu = eps·bits·tanh(eps/2), tau = eps·√bits.

    Notes
    -----
    Fernandes, Thm 10.6 prints tau = eps·bits/2, false below four bits: the loss ranges over ±eps·bits.
    Cost: O(1).

    References
    ----------
    Fernandes (2021), Thm 10.6.

    Examples
    --------
    >>> print(response_cxdp(4, 0.1))
    (0.0199834, 0.2)-CXDP
    """
    count, level = whole("bits", bits, VectorError, most=MOST_BITS), non_negative("eps", eps, VectorError)
    return CXDP(level * count * math.tanh(level / 2), level * math.sqrt(count))


@guarded
def subgaussian(distance: float, eps: float) -> float:
    """The sharp subgaussian constant of one bit's loss, in units of eps.

    Parameters
    ----------
    distance : probability that the bit differs
    eps : nats a bit

    Returns
    -------
    float
        τ₁ with E e^(s·(W - EW)) ≤ e^(s²·τ₁²/2) for all s, W the loss over eps; bits give eps·√bits·τ₁.

    Notes
    -----
    A supremum over s, in floating point. Thm 10.6 holds exactly where bits ≥ 4·τ₁².
    Cost: O(1).

    References
    ----------
    Fernandes (2021), Thm 10.6.

    Examples
    --------
    >>> round(subgaussian(0.5, 1.0), 6)
    0.679792
    """
    d = probability("distance", distance, VectorError)
    level = positive("eps", eps, VectorError)
    flip = 1 / (1 + math.exp(min(level, 700.0)))
    mean = d * math.tanh(level / 2)
    if d == 0:
        return 0.0

    def constant(s: float) -> float:
        if abs(s) < 1e-4:  # the variance, as s goes to 0
            return d - mean**2
        same = math.log1p(-d) if d < 1 else -math.inf
        told, turned = math.log(d) + math.log1p(-flip), math.log(d) + math.log(flip)
        big = np.logaddexp.reduce([s + told, same, -s + turned])
        return float(2 * (big - s * mean) / s**2)

    grid = np.concatenate([-np.geomspace(60, 1e-3, 400), np.geomspace(1e-3, 60, 400)])
    values = [constant(float(s)) for s in grid]
    best = int(np.argmax(values))
    ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(lambda s: -constant(s), bounds=ends, method="bounded", options={"xatol": 1e-10})
    return math.sqrt(max(values[best], -float(found.fun), d - mean**2))


@guarded
def alpha_hoeffding(bits: int, delta: float) -> float:
    """How far the share of differing bits exceeds the distance, by Hoeffding: √(-ln δ/(2·bits)).

    Parameters
    ----------
    bits : of a code
    delta : probability that it exceeds more, above 0 and at most 1

    Returns
    -------
    float

    Notes
    -----
    Cost: O(1). Thm 10.7 in other words.

    References
    ----------
    Fernandes (2021), Thm 10.7.

    Examples
    --------
    >>> alpha_hoeffding(20, 0.01)
    0.339307
    """
    return math.sqrt(
        -math.log(_positive_delta(delta)) / (2 * whole("bits", bits, VectorError, most=MOST_BITS))
    )


@guarded
def alpha_kl(bits: int, distance: float, delta: float) -> float:
    """How far the share of differing bits exceeds the distance, by Chernoff (Fernandes, Prop 10.8).

    Parameters
    ----------
    bits : of a code
    distance : from 0 to 1
    delta : probability that it exceeds more, above 0 and at most 1

    Returns
    -------
    float
        The root of bits·KL(d + α, d) = -ln δ; 1 - d where there is none, and then the loss never exceeds
        eps·bits; 0 at distance 0.

    Notes
    -----
    d + α rises with d, so a guarantee at d covers all smaller distances.
    Cost: O(1).

    References
    ----------
    Fernandes (2021), Prop 10.8.

    Examples
    --------
    >>> round(alpha_kl(20, 0.05, 0.01), 8)
    0.20280078
    """
    count = whole("bits", bits, VectorError, most=MOST_BITS)
    d, wanted = probability("distance", distance, VectorError), -math.log(_positive_delta(delta)) / count
    if d == 0 or wanted == 0:
        return 0.0
    if d == 1 or _divergence(1 - d, d) <= wanted:
        return 1 - d
    found = float(brentq(lambda a: _divergence(a, d) - wanted, 0.0, 1 - d, xtol=1e-16, rtol=1e-15))
    step = 0.0
    while found < 1 - d and _divergence(found, d) < wanted:
        found = max(float(np.nextafter(found, 1.0)), found + step)
        step = max(2 * step, math.ulp(found))
    return min(found, 1 - d)


def _divergence(alpha: float, d: float) -> float:
    """KL(d + α, d) of coins, without cancellation for small α."""
    a, rest = d + alpha, max(1 - d - alpha, 0.0)
    grown = alpha / d
    first = a * (math.log1p(grown) if grown < math.inf else math.log(a) - math.log(d))
    return float(first + (xlogy(rest, rest / (1 - d)) if rest < 0.5 else rest * math.log1p(-alpha / (1 - d))))


@guarded
def xi_hoeffding(bits: int, distance: float, eps: float, delta: float) -> float:
    """ξ of Fernandes, Thm 10.7: eps·(bits·d + √(-bits·ln δ/2)), at most eps·bits.

    Parameters
    ----------
    bits : of a code
    distance : from 0 to 1
    eps : nats a bit
    delta : above 0 and at most 1

    Returns
    -------
    float

    Notes
    -----
    Cost: O(1).

    References
    ----------
    Fernandes (2021), Thm 10.7.

    Examples
    --------
    >>> xi_hoeffding(20, 0.05, 1.0, 0.01)
    7.7861
    """
    d, level = probability("distance", distance, VectorError), non_negative("eps", eps, VectorError)
    count = whole("bits", bits, VectorError, most=MOST_BITS)
    return level * count * min(1.0, d + alpha_hoeffding(bits, delta))


@dataclass(frozen=True)
class PaperBounds(Result):
    """ξ of a pair by every accountant, in nats, at one δ.

    Attributes
    ----------
    hoeffding : (Fernandes, Thm 10.7)
    kl : Proposition 10.8
    binomial : eps times the least number of differing bits that is exceeded with probability δ at most
    tail : exact PXDP
    exact : exact XDP, which is what to report
    alpha_hoeffding, alpha_kl : by how much the share of differing bits exceeds the distance
    differing : the number of bits of `binomial`
    worst : eps·bits, which holds without δ
    """

    bits: int
    distance: float
    eps: float
    delta: float
    hoeffding: float
    kl: float
    binomial: float
    tail: float
    exact: float
    alpha_hoeffding: float
    alpha_kl: float
    differing: int
    worst: float

    def __str__(self) -> str:
        return (
            f"ξ at δ = {self.delta:g}: exact {in_nats(self.exact)} (XDP), {self.tail:.4g} (PXDP); the "
            f"paper's bounds are {self.binomial:.4g} (binomial), {self.kl:.4g} (Prop 10.8) and "
            f"{self.hoeffding:.4g} (Thm 10.7)"
        )


def paper_bounds(bits: int, distance: float, eps: float, delta: float) -> PaperBounds:
    """What the paper's bounds say of a pair, beside the exact values.

    Parameters
    ----------
    bits : of a code
    distance : of the pair, from 0 to 1
    eps : nats a bit
    delta : above 0 and below 1

    Returns
    -------
    PaperBounds

    Notes
    -----
    Every bound is valid; each is larger than the next: Hoeffding, Chernoff, the exact binomial tail of the
    differing bits, the exact tail of the loss, its exact hockey-stick divergence.
    Cost: O(bits).

    Examples
    --------
    >>> found = paper_bounds(20, 0.05, 1.0, 0.01)
    >>> found.hoeffding, found.kl, found.binomial, found.tail, found.exact
    (7.7861, 5.0560, 4.0, 3.0, 2.6776)
    """
    read_delta("delta", delta)
    level = non_negative("eps", eps, VectorError)
    if level > LARGEST_EPS:
        raise VectorError(f"eps is {abbreviated(eps)}; give at most {LARGEST_EPS:g} nats a bit")
    account = accountant(bits, distance, level)
    apart = account.distance
    chernoff = alpha_kl(bits, apart, delta)
    differing = differing_bits(bits, apart, delta)
    return PaperBounds(
        bits,
        apart,
        level,
        float(delta),
        0.0 if apart == 0 else xi_hoeffding(bits, apart, level, delta),
        level * bits * (apart + chernoff),
        level * differing,
        account.tail_xi(delta),
        account.xi(delta),
        alpha_hoeffding(bits, delta),
        chernoff,
        differing,
        level * bits,
    )


def differing_bits(bits: int, distance: float, delta: float) -> int:
    """The least m with P[Bin(bits, distance) > m] ≤ delta."""
    count = whole("bits", bits, VectorError, most=MOST_BITS)
    low, high = -1, count
    while high - low > 1:
        middle = (low + high) // 2
        tail = float(betainc(middle + 1, count - middle, distance))
        low, high = (low, middle) if tail * (1 + TAIL_MARGIN) <= delta else (middle, high)
    return high


@dataclass(frozen=True)
class LossCurve(Result):
    """ξ against the distance of a pair, for every accountant, in nats."""

    bits: int
    eps: float
    delta: float
    distances: FloatArray = field(repr=False)
    hoeffding: FloatArray = field(repr=False)
    kl: FloatArray = field(repr=False)
    binomial: FloatArray = field(repr=False)
    tail: FloatArray = field(repr=False)
    exact: FloatArray = field(repr=False)

    def __str__(self) -> str:
        return (
            f"{self.bits} bits at ε = {self.eps:g}: ξ rises to {in_nats(self.exact.max())} at distance "
            f"{self.distances[int(self.exact.argmax())]:g} (δ = {self.delta:g})"
        )


def loss_curve(bits: int, eps: float, delta: float, distances: Any = None) -> LossCurve:
    """The whole curve d ↦ ξ(d; δ), by every accountant.

    Parameters
    ----------
    bits : of a code
    eps : nats a bit
    delta : above 0 and below 1
    distances : from 0 to 1; 51 of them from 0 to 1/2 unless given

    Returns
    -------
    LossCurve

    Notes
    -----
    One number at one distance hides what far pairs can be told apart by; compare mechanisms by curves.
    Cost: O(bits) a distance.

    Examples
    --------
    >>> loss_curve(20, 1.0, 0.01, [0.05, 0.1, 0.25]).exact.round(4).tolist()
    [2.6776, 3.8676, 6.8283]
    """
    count, level = whole("bits", bits, VectorError, most=MOST_BITS), non_negative("eps", eps, VectorError)
    shown = float(read_delta("delta", delta))
    given = np.linspace(0, 0.5, 51) if distances is None else np.atleast_1d(_distances(distances))
    found = [paper_bounds(bits, float(d), eps, delta) for d in given]
    columns = ("hoeffding", "kl", "binomial", "tail", "exact")
    return LossCurve(
        count,
        level,
        shown,
        given,
        *(np.array([getattr(one, name) for one in found]) for name in columns),
    )


def _distances(given: Any) -> FloatArray:
    found = read_array("distances", given, "angular distances").astype(np.float64)
    if found.ndim > 1:
        raise VectorError(f"distances has shape {found.shape}; give a list of angular distances")
    return found


@guarded
def code_xi(first: Any, second: Any, eps: float) -> float:
    """The largest loss between two codes, eps times their Hamming distance (Fernandes, Prop 10.1).

    Parameters
    ----------
    first, second : one code each: Codes of one row, or a row of zeros and ones
    eps : nats a bit

    Returns
    -------
    float

    Notes
    -----
    Tight: some output has exactly this loss.
    Cost: O(bits).

    References
    ----------
    Fernandes (2021), Prop 10.1.

    Examples
    --------
    >>> code_xi([0, 0, 1], [1, 0, 0], 0.5)
    1.0
    """
    one, other = (
        given
        if isinstance(given, Codes)
        else Codes.of(np.atleast_2d(read_array(argument, given, "one code", "iub")))
        for argument, given in (("first", first), ("second", second))
    )
    if len(one) != 1 or len(other) != 1:
        raise VectorError("first and second must be one code each; give one row")
    return non_negative("eps", eps, VectorError) * int(one.distances(other)[0, 0])


@guarded
def realised_xi(hashing: LocalityHash, x: Any, y: Any, eps: float) -> FloatArray:
    """The largest loss between vectors under this very hash (Fernandes, Prop 10.2).

    Parameters
    ----------
    hashing : the public hash
    x, y : vectors; every row of x is compared with every row of y
    eps : nats a bit

    Returns
    -------
    array, a row for each of x and a column for each of y, in nats

    Notes
    -----
    Without δ, and for this hash only: a quantity of the vectors themselves, so private.
    Cost: hashing both.

    References
    ----------
    Fernandes (2021), Prop 10.2.

    Examples
    --------
    >>> from sievert.vectors import HyperplaneLSH
    >>> realised_xi(HyperplaneLSH(2, 8, seed=7), [1.0, 0.0], [[2.0, 0.0], [-1.0, 0.0]], 0.5).tolist()
    [[0.0, 4.0]]
    """
    level = non_negative("eps", eps, VectorError)
    instance("hashing", hashing, LocalityHash, "a hash such as HyperplaneLSH", VectorError)
    with np.errstate(over="ignore"):
        return np.asarray(level * hashing.codes(x).distances(hashing.codes(y)))


@guarded
def delta_for_population(users: int, expected: float = 1.0) -> float:
    """δ per pair such that at most so many of all pairs of users are expected to exceed ξ.

    Parameters
    ----------
    users : how many, at least 2
    expected : pairs that may exceed, above 0

    Returns
    -------
    float

    Notes
    -----
    expected/(N·(N-1)/2).
    Cost: O(1).

    Examples
    --------
    >>> delta_for_population(943)
    2.25e-06
    """
    count = whole("users", users, VectorError, least=2, most=MOST_USERS)
    return min(1.0, positive("expected", expected, VectorError) / math.comb(count, 2))


def _positive_delta(delta: object) -> float:
    level = probability("delta", delta, VectorError)
    if level == 0:
        raise VectorError(f"delta is {abbreviated(delta)}; this bound needs δ above 0 and at most 1")
    return level
