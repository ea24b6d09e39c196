"""What soft signs tell about a pair of users, over the draw of the planes.

The two projections of a pair at angular distance d are normal with correlation cos(πd), and bits are
independent. The law of one bit's loss is integrated on a grid of both projections and put on a grid of losses
so that the result dominates it: an atom between two losses is split so that its probabilities under both
users are kept, and merging the two parts again is a processing of the output (Doroshenko et al., 2022). The
law of all bits is a power of it, by FFT.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_expit, log_ndtr

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import choice, non_negative, positive, probability, whole
from sievert.results import Result
from sievert.vectors._accountant import read_delta
from sievert.vectors._codes import MOST_BITS

__all__ = ["SoftAccountant", "calibrate_soft_sign", "soft_sign_accountant"]

# Projections beyond this many standard deviations count as an infinite loss.
REACH = 8.0
# Added to every δ for the error of the quadrature, which is measured and not proved: halving the step changes
# δ by less than 2e-7 at all scales from 0.02 to 3.
ROUNDING = 1e-6
LARGEST_GRID = 2**22


@dataclass(frozen=True)
class SoftAccountant(Result):
    """What soft signs tell about a pair of users; see `soft_sign_accountant`.

    Attributes
    ----------
    bits, distance, scale, noise, clip : as given
    view, quantifier : what the observer sees, and what the statement is about
    exact : False: an upper bound on a grid, up to the error of the quadrature, which is measured, not proved
    """

    bits: int
    distance: float
    scale: float
    noise: str = "logistic"
    clip: float | None = None
    view: str = "output+seed"
    quantifier: str = "for each pair fixed before the hash is drawn, over the draw of the hash"
    exact: bool = False

    @cached_property
    def _one_bit(self) -> tuple[FloatArray, FloatArray]:
        """Losses of one bit and their probabilities, before they are put on a grid."""
        step = min(0.04, self.scale / 2)  # poles lie π·scale off the line: an error of e^(-4π²)
        line = np.arange(-REACH, REACH + step / 2, step)
        weight = np.exp(-(line**2) / 2)
        weight /= weight.sum()
        turn = math.pi * self.distance
        first, rest = line[:, None], line[None, :]
        second = math.cos(turn) * first + math.sin(turn) * rest
        # Both projections with their signs turned make a 0 of every 1: the bit is a 1 without loss.
        one = self._log_chance(first / self.scale)
        losses = one - self._log_chance(second / self.scale)
        mass = 2 * weight[:, None] * weight[None, :] * np.exp(one)
        return losses.ravel(), mass.ravel()

    def _log_chance(self, scaled: FloatArray) -> FloatArray:
        """ln P(1) of a bit."""
        if self.clip is None:
            return np.asarray(log_expit(scaled) if self.noise == "logistic" else log_ndtr(scaled))
        odds = scaled if self.noise == "logistic" else log_ndtr(scaled) - log_ndtr(-scaled)
        return np.asarray(log_expit(np.clip(odds, -self.clip, self.clip)))

    @property
    def mean(self) -> float:
        """The expected loss in nats."""
        losses, mass = self._one_bit
        return self.bits * float(losses @ mass)

    @property
    def variance(self) -> float:
        """The variance of the loss."""
        losses, mass = self._one_bit
        return self.bits * float(losses**2 @ mass - (losses @ mass) ** 2)

    @property
    def worst(self) -> float:
        """The loss that no output exceeds, over all planes: bits·clip, or inf."""
        return math.inf if self.clip is None else self.bits * self.clip

    @cached_property
    def _law(self) -> tuple[FloatArray, FloatArray, float]:
        """The grid of losses, their probabilities for all bits, and the probability of anything beyond."""
        losses, mass = self._one_bit
        span = max(self.mean, 0.5) + 14 * math.sqrt(self.variance) + 4 * float(np.abs(losses).max(initial=0))
        # Splitting costs about bits·grid²/8 nats.
        grid = min(0.01, 0.05 / math.sqrt(self.bits))
        size = 2 ** math.ceil(math.log2(2 * span / grid))
        if size > LARGEST_GRID:
            size, span = LARGEST_GRID, LARGEST_GRID * grid / 2
        inside = np.abs(losses) < span / 4
        places = np.floor(losses[inside] / grid).astype(np.int64)
        # Parts p·λ and p·(1-λ) with p·e^-ℓ = p·λ·e^-low + p·(1-λ)·e^-high.
        above = losses[inside] - places * grid
        share = np.expm1(above) / math.expm1(grid) * np.exp(grid - above)
        share = np.clip(share, 0.0, 1.0)
        law = np.bincount((places + 1) % size, mass[inside] * share, minlength=size)
        law += np.bincount(places % size, mass[inside] * (1 - share), minlength=size)
        lost = 1.0 - float(mass[inside].sum())
        total = np.fft.irfft(np.fft.rfft(law) ** self.bits, size)
        values = np.fft.fftfreq(size, 1 / size) * grid
        order = np.argsort(values)
        beyond = -math.expm1(self.bits * math.log1p(-min(max(lost, 0.0), 0.5)))
        return values[order], np.maximum(total[order], 0.0), beyond

    def delta(self, xi: float) -> float:
        """The least δ with which (ξ, δ)-XDP holds, from above but for the error of the quadrature."""
        level = non_negative("xi", xi, VectorError)
        if self.distance == 0:
            return 0.0
        values, mass, beyond = self._law
        over = values > level
        found = float(-np.expm1(level - values[over]) @ mass[over])
        return min(1.0, found + beyond + ROUNDING)

    def xi(self, delta: float) -> float:
        """The least ξ with which `delta` is at most δ, in nats."""
        level = float(read_delta("delta", delta))
        if self.delta(0.0) <= level:
            return 0.0
        most = float(self._law[0][-1])
        if self.delta(most) > level:
            return self.worst
        return min(self.worst, float(brentq(lambda v: self.delta(v) - level, 0.0, most, xtol=1e-9)) + 1e-9)

    def __str__(self) -> str:
        return (
            f"{self.bits} soft signs with {self.noise} noise of scale {self.scale:g}, users at distance "
            f"{self.distance:g}: loss {self.mean:.4g} nats on average; observer sees {self.view}"
        )


def soft_sign_accountant(
    bits: int, distance: float, scale: float, *, noise: str = "logistic", clip: float | None = None
) -> SoftAccountant:
    """The account of a pair of users whose soft signs are released.

    Parameters
    ----------
    bits : of a code
    distance : angular distance of the pair, from 0 to 1
    scale : of the noise, for vectors of length 1
    noise : "logistic" or "gaussian"
    clip : the largest log-odds of a bit, in nats

    Returns
    -------
    SoftAccountant
        With `delta(xi)`, `xi(delta)`, `mean`, `variance`, `worst`.

    Notes
    -----
    Losses are put on a grid so that δ is never below the true one but for the quadrature of two normal
    variables. Its error is not proved: halving the step moved δ by less than 2e-7 wherever it was tried, and
    1e-6 is added, so no δ below that is found. `accountant` of LSHRR is certified.
    Cost: about 0.05 s, more for small scales.

    Examples
    --------
    >>> account = soft_sign_accountant(20, 0.05, 0.259)
    >>> round(account.delta(2.0), 3)
    0.01
    """
    choice("noise", noise, ("logistic", "gaussian"), VectorError)
    if clip is not None:
        clip = positive("clip", clip, VectorError)
    width = positive("scale", scale, VectorError)
    if width < 0.01:
        raise VectorError(
            f"scale is {scale}; the account is for scales from 0.01 on: use LSHRR with its account"
        )
    return SoftAccountant(
        whole("bits", bits, VectorError, most=MOST_BITS),
        probability("distance", distance, VectorError),
        width,
        noise,
        clip,
    )


def calibrate_soft_sign(
    bits: int, distance: float, xi: float, delta: float, *, noise: str = "logistic", clip: float | None = None
) -> float:
    """The least scale of soft signs with which a pair at a distance is (ξ, δ)-XDP.

    Parameters
    ----------
    bits : of a code
    distance : angular distance of the pair
    xi : nats, above 0
    delta : above 0 and below 1
    noise : "logistic" or "gaussian"
    clip : the largest log-odds of a bit, in nats

    Returns
    -------
    float

    Notes
    -----
    δ falls as the scale grows, so a bracketed root is found. At equal ξ for close pairs soft signs flip fewer
    bits than LSHRR, and tell more about far pairs: compare curves.
    Cost: about 15 accounts.

    Examples
    --------
    >>> round(calibrate_soft_sign(10, 0.05, 1.0, 0.01), 2)
    0.35
    """
    level = float(read_delta("delta", delta))
    if level == 0:
        raise VectorError("delta is 0; soft signs over random planes need δ above 0")
    wanted = positive("xi", xi, VectorError)

    def excess(log_scale: float) -> float:
        account = soft_sign_accountant(bits, distance, math.exp(log_scale), noise=noise, clip=clip)
        return math.log(max(account.delta(wanted), 1e-300) / level)

    low = high = math.log(0.25)
    while excess(high) > 0:
        low, high = high, high + 1.0
    while high - low < 0.5 or excess(low) <= 0:
        low, high = low - 1.0, min(high, low)
        if low < math.log(0.01):
            return 0.01
    return math.exp(brentq(excess, low, high, xtol=1e-4)) * 1.0001
