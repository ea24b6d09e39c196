"""Backwards: which ε keeps a pair at a distance within (ξ, δ)?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy.optimize import brentq

from sievert.errors import VectorError
from sievert.numerics import abbreviated, choice, positive, whole
from sievert.results import Result
from sievert.vectors._accountant import MOST_USERS, Accountant, accountant, read_delta
from sievert.vectors._bounds import LARGEST_EPS, alpha_hoeffding, alpha_kl, differing_bits
from sievert.vectors._codes import MOST_BITS

__all__ = ["VectorCalibration", "calibrate"]
# Bits whose exact account is solved for ε, some forty times over.
MOST_CALIBRATED = 30_000

ACCOUNTANTS = ("exact", "binomial", "kl", "hoeffding")


@dataclass(frozen=True)
class VectorCalibration(Result):
    """The ε per bit for a promise about a pair.

    Attributes
    ----------
    eps : nats a bit; inf where no noise is needed
    flip : probability that a bit is flipped
    bits, distance, xi, delta : what was asked
    accountant : which one decided
    reached : the exact δ at ξ of this eps
    vacuous : whether plain hashing satisfies the promise already
    warnings : why the promise may be worth little
    """

    eps: float
    flip: float
    bits: int
    distance: float
    xi: float
    delta: float
    accountant: str
    reached: float
    vacuous: bool
    warnings: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.eps

    def __str__(self) -> str:
        if self.vacuous:
            return f"No noise is needed, and none is promised: {'; '.join(self.warnings)}"
        return (
            f"ε = {self.eps:.6g} a bit, {100 * self.flip:.3g} % of the bits flipped: two users at distance "
            f"{self.distance:g} are (ξ, δ) = ({self.xi:g}, {self.delta:g}) close ({self.accountant} account)"
        )


def calibrate(
    bits: int,
    distance: float,
    xi: float,
    delta: float,
    *,
    method: str = "exact",
    users: int | None = None,
    values: int = 2,
) -> VectorCalibration:
    """The largest ε per bit with which a pair at a distance is (ξ, δ)-XDP.

    Parameters
    ----------
    bits : of a code
    distance : of the pair, from 0 to 1; smaller distances are covered
    xi : nats, above 0
    delta : from 0 to below 1; above 0 for the paper's bounds
    method : "exact", or one of the paper's: "binomial", "kl" (Prop 10.8), "hoeffding" (Thm 10.7)
    users : how many there are, to weigh δ against the number of pairs
    values : values of a coordinate, 2 for bits; the paper's bounds hold for more as well

    Returns
    -------
    VectorCalibration

    Notes
    -----
    δ rises with ε (data processing), so a bracketed root is found and then rounded down until the certified
    δ is at most the one asked. Where even codes without noise satisfy δ the answer is inf, marked vacuous.
    Cost: about 20 accounts.

    References
    ----------
    Fernandes (2021), Prop 10.8, Thm 10.7.

    Examples
    --------
    >>> found = calibrate(20, 0.05, 5.0, 0.01, method="kl")
    >>> found.eps, found.flip, found.reached
    (0.988921, 0.271125, 3.04025e-05)
    >>> calibrate(20, 0.05, 5.0, 0.01).eps
    1.696680
    """
    choice("method", method, ACCOUNTANTS, VectorError)
    wanted = positive("xi", xi, VectorError)
    count = whole("bits", bits, VectorError, most=MOST_CALIBRATED if method == "exact" else MOST_BITS)
    if users is not None:
        whole("users", users, VectorError, most=MOST_USERS)
    if wanted > LARGEST_EPS * count:
        raise VectorError(f"xi is {abbreviated(xi)}; give at most {LARGEST_EPS * count:g} for {count} bits")
    level = float(read_delta("delta", delta))
    plain = accountant(bits, distance, math.inf, values=values)
    vacuous = plain.differs <= level
    if vacuous:
        eps = math.inf
    elif method == "exact":
        eps = wanted / whole("bits", bits) if level == 0 else _largest(plain, wanted, level)
    else:
        counts: dict[str, Callable[[], float]] = {
            "binomial": lambda: float(differing_bits(bits, distance, level)),
            "kl": lambda: bits * (distance + alpha_kl(bits, distance, level)),
            "hoeffding": lambda: bits * min(1.0, distance + alpha_hoeffding(bits, level)),
        }
        eps = wanted / counts[method]()
    account = replace(plain, eps=eps)
    others = values - 1
    return VectorCalibration(
        eps,
        others / (others + math.exp(min(eps, 700.0))) if eps < math.inf else 0.0,
        bits,
        float(distance),
        wanted,
        level,
        method,
        account.delta(wanted),
        vacuous,
        account.warnings(level, users),
    )


def _largest(plain: Accountant, xi: float, delta: float) -> float:
    """The largest ε with δ(ξ) ≤ delta: a root in ln ε, rounded down until it is certified."""

    def excess(log_eps: float) -> float:
        found = replace(plain, eps=math.exp(log_eps)).delta(xi)
        return math.log(found) - math.log(delta) if found > 0 else -1e3

    low = math.log(xi) - math.log(plain.bits)  # δ is 0 there
    high = low + 1.0
    while excess(high) <= 0:
        low, high = high, high + 1.0
    eps = math.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    shrink = 1e-15
    while replace(plain, eps=eps).delta(xi) > delta:
        eps *= 1 - shrink
        shrink *= 2
    return eps
