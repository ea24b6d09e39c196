"""What soft signs tell about a pair of users, over the draw of the planes: a bound by cells.

The two projections of a pair at angular distance d are a = g₁ and b = cos(πd)·g₁ + sin(πd)·g₂ with g normal,
and bits are independent. The plane of g is cut into cells. In a cell the losses ln p(a) - ln p(b) lie in an
interval whose ends are known, since ln p is concave; all of its probability, under both users, is put on two
points of a grid of losses outside of that interval so that both sums are kept. Merging the two points again
is a processing of the output, so the result dominates (Doroshenko et al., 2022). The probabilities of cells
are integrals of smooth functions by Gauss's rule, rounded down by its remainder; what is missing under the
first user counts as told. The law of all bits is a power, by FFT, and what could wrap around is bounded by
Chernoff.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit, log_ndtr, ndtr

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import choice, in_nats, non_negative, positive, probability, whole
from sievert.results import Result, guarded
from sievert.vectors._accountant import read_delta
from sievert.vectors._codes import MOST_BITS

__all__ = ["SoftAccountant", "calibrate_soft_sign", "soft_sign_accountant"]

# Projections beyond this many standard deviations count as told.
REACH = 8.3
LARGEST_GRID = 2**22
MOST_CELLS = 1_500_000
FINER = 16
# Cells to one scale of the noise and to a standard deviation of g₂; fewer for a first look.
CELLS, COARSE = 12, 5
# Nodes, weights (for a cell of length 1) and constant of the remainder h^(2q)·|f^(2q)| of Gauss's rules.
TWO = (np.array([-1.0, 1.0]) / math.sqrt(12), np.array([0.5, 0.5]), 1 / 4320)
THREE = (np.array([-1.0, 0.0, 1.0]) * math.sqrt(0.15), np.array([5.0, 8.0, 5.0]) / 18, 1 / 2_016_000)
# Special functions are computed to 1e-14 of their value; this leaves room.
ROOM = 1e-12


@dataclass(frozen=True)
class SoftAccountant(Result):
    """What soft signs tell about a pair of users; see `soft_sign_accountant`.

    Attributes
    ----------
    bits, distance, scale, noise, clip : as given
    cells : to one scale of the noise; more of them come nearer to the least δ
    view, quantifier : what the observer sees, and what the statement is about
    exact : False: an upper bound by cells
    """

    bits: int
    distance: float
    scale: float
    noise: str = "logistic"
    clip: float | None = None
    cells: int = CELLS
    view: str = "output+seed"
    quantifier: str = "for each pair fixed before the hash is drawn, over the draw of the hash"
    exact: bool = False

    @cached_property
    def _one_bit(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """For each cell an interval that holds its losses, and its probabilities under both users.

        Both projections with their signs turned make a 0 of every 1: the bit is a 1 without loss.
        """
        turn = math.pi * self.distance
        cosine, sine = math.cos(turn), math.sin(turn)
        first, second = self._edges(cosine, sine)
        mine = self._mine(first)
        cell = np.diff(ndtr(second))
        masses = 2 * mine[:, None] * cell[None, :] * (1 - ROOM)
        ends = cosine * first[:, None] + sine * second[None, :]
        low = np.minimum(ends[:-1, :-1], ends[1:, :-1])
        high = np.maximum(ends[:-1, 1:], ends[1:, 1:])
        other = 2 * self._other(first, second, cosine, sine, low, high) * (1 - ROOM)
        one, two = (edges[:-1] + np.diff(edges) / 2 for edges in (first, second))
        middle = self._log_chance(one)[:, None] - self._log_chance(
            cosine * one[:, None] + sine * two[None, :]
        )
        fall, rise = self._steepness(first[:-1, None], first[1:, None])
        there, here = self._steepness(low, high)
        # |∂L/∂g₁| = |D(a) - cos·D(b)| for D = (ln p)', and |∂L/∂g₂| = sin·D(b).
        parts = (cosine * there, cosine * here) if cosine >= 0 else (cosine * here, cosine * there)
        moved = np.maximum(np.abs(fall - parts[1]), np.abs(rise - parts[0]))
        reach = np.diff(first)[:, None] / 2 * moved + np.diff(second)[None, :] / 2 * sine * there
        reach = reach * (1 + ROOM) + ROOM
        return middle - reach, middle + reach, masses, other

    def _edges(self, cosine: float, sine: float) -> tuple[FloatArray, FloatArray]:
        """Cells: fine where a bit is undecided."""
        core = min(REACH, 7 * self.scale + 2.5 * sine)
        step = min(0.05, self.scale / self.cells)
        while (2 * core / step + 2 * REACH / 0.05) * (
            2 * REACH * max(sine / step / 2, self.cells)
        ) > MOST_CELLS:
            step *= 1.1
        first = np.concatenate([np.arange(0, core, step), np.arange(core, REACH, 0.05), [REACH]])
        if self.clip is not None and self._clipped_at < REACH:
            first = np.unique(np.append(first, self._clipped_at))
        first = np.concatenate([-first[:0:-1], first])
        count = max(8, math.ceil(REACH * max(sine / step / 2, self.cells)))
        return first, np.linspace(-REACH, REACH, 2 * count + 1)

    @cached_property
    def _clipped_at(self) -> float:
        """The projection from which on a bit's log-odds are clipped."""
        if self.clip is None:
            return math.inf
        if self.noise == "logistic":
            return self.clip * self.scale
        clip = self.clip
        return self.scale * float(brentq(lambda y: log_ndtr(y) - log_ndtr(-y) - clip, 0.0, 2 + 2 * clip))

    def _slope(self, projection: FloatArray) -> FloatArray:
        """K with |p^(k)| ≤ K^k·p for k ≤ 6 from a projection on.

        For the logistic law 1.05/scale; for the normal one (√6 + |y|)/scale below 0 (Hermite), else √6/scale.
        """
        if self.noise == "logistic":
            return np.full_like(projection, 1.05 / self.scale)
        below = np.minimum(np.maximum(-projection, 0.0), self._clipped_at)
        return (below / self.scale + math.sqrt(6)) / self.scale

    def _mine(self, edges: FloatArray) -> FloatArray:
        """The probability of a 1 and a cell of g₁ under the first user, from below, by cells 16 times finer.

        With |f^(k)| ≤ K^k·f the remainder of Gauss's rule is at most C·(hK)^(2q)·e^(hK) of the integral.
        """
        nodes, weights, constant = THREE
        parts = np.diff(edges)[:, None] / FINER
        starts = edges[:-1, None] + parts * np.arange(FINER)
        found = np.zeros(starts.shape)
        for node, weight in zip(nodes, weights, strict=True):
            g = starts + (0.5 + node) * parts
            found += weight * parts * _density(g) * np.exp(self._log_chance(g))
        slope = parts * (
            np.maximum(np.abs(starts), np.abs(starts + parts)) + math.sqrt(6) + self._slope(starts)
        )
        return np.asarray((found / (1 + constant * slope**6 * np.exp(slope))).sum(axis=1))

    def _other(
        self,
        first: FloatArray,
        second: FloatArray,
        cosine: float,
        sine: float,
        low: FloatArray,
        high: FloatArray,
    ) -> FloatArray:
        """The probability of a 1 and a cell under the second user, from below: the better of two bounds."""
        widths, heights = np.diff(first), np.diff(second)
        nodes, weights, constant = TWO
        total = np.zeros(low.shape)
        for node, weight in zip(nodes, weights, strict=True):
            one = first[:-1] + (0.5 + node) * widths
            for other, share in zip(nodes, weights, strict=True):
                two = second[:-1] + (0.5 + other) * heights
                chance = np.exp(self._log_chance(cosine * one[:, None] + sine * two[None, :]))
                total += (
                    chance * (weight * widths * _density(one))[:, None] * (share * heights * _density(two))
                )
        slope = self._slope(low)
        across = widths[:, None] * (_far(first)[:, None] + 2 + abs(cosine) * slope)
        along = heights[None, :] * (_far(second)[None, :] + 2 + sine * slope)
        with np.errstate(over="ignore"):
            error = constant * (across**4 + along**4) * np.exp(np.minimum(across + along, 700.0))
        smooth = total / (1 + error)
        for edge in (-self._clipped_at, self._clipped_at):
            smooth = np.where((low < edge) & (edge < high), 0.0, smooth)
        plain = np.diff(ndtr(first))[:, None] * np.diff(ndtr(second)) * np.exp(self._log_chance(low))
        return np.maximum(smooth, plain)

    def _steepness(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The largest and the least of (ln p)' between two projections; it falls, and is 0 where clipped."""
        edge = self._clipped_at
        most = self._derivative(np.maximum(low, -edge))
        least = self._derivative(high)
        most = np.where((high <= -edge) | (low >= edge), 0.0, most)
        return most, np.where((low < -edge) | (high > edge), 0.0, least)

    def _derivative(self, projection: FloatArray) -> FloatArray:
        scaled = projection / self.scale
        if self.noise == "logistic":
            return np.asarray(expit(-scaled) / self.scale)
        return np.exp(-(scaled**2) / 2 - log_ndtr(scaled)) / math.sqrt(2 * math.pi) / self.scale

    def _log_chance(self, projection: FloatArray) -> FloatArray:
        """ln P(1) of a bit."""
        scaled = projection / self.scale
        if self.clip is None:
            return np.asarray(log_expit(scaled) if self.noise == "logistic" else log_ndtr(scaled))
        odds = scaled if self.noise == "logistic" else log_ndtr(scaled) - log_ndtr(-scaled)
        return np.asarray(log_expit(np.clip(odds, -self.clip, self.clip)))

    @property
    def mean(self) -> float:
        """The expected loss in nats, to about three digits."""
        return self.bits * self._moment(1)

    @property
    def variance(self) -> float:
        """The variance of the loss, to about three digits."""
        return self.bits * (self._moment(2) - self._moment(1) ** 2)

    def _moment(self, order: int) -> float:
        low, high, mass, _ = self._one_bit
        return float((((low + high) / 2) ** order * mass).sum())

    @property
    def worst(self) -> float:
        """The loss that no output exceeds, over all planes: bits·clip, or inf."""
        return math.inf if self.clip is None else self.bits * self.clip

    @cached_property
    def _law(self) -> tuple[FloatArray, FloatArray, float]:
        """The grid of losses, their probabilities for all bits, and a bound on the rest."""
        low, high, mass, other = (part.ravel() for part in self._one_bit)
        span = max(self.mean, 0.5) + 14 * math.sqrt(self.variance) + 4 * min(float(high.max()), 25.0)
        # Splitting costs about bits·grid²/8 nats.
        spread = math.sqrt(self.variance / self.bits)
        grid = min(0.01, 0.05 / math.sqrt(self.bits), max(1e-4, spread / 10))
        size = min(LARGEST_GRID, 2 ** math.ceil(math.log2(2 * span / grid)))
        span = size * grid / 2
        inside = (mass > 0) & (other > 0)
        losses = np.log(mass[inside] / other[inside])
        inside[inside] = np.maximum(losses, high[inside]) < span / 4
        low, high, mass = (part[inside] for part in (low, high, mass))
        losses = np.log(mass / other[inside])
        below = np.maximum(np.floor(low / grid), -size // 8).astype(np.int64)
        above = np.maximum(np.ceil(np.maximum(high, losses) / grid), below + 1).astype(np.int64)
        # Parts p·λ and p·(1-λ) with p·e^-ℓ = p·λ·e^-above + p·(1-λ)·e^-below.
        share = np.expm1(grid * below - losses) / np.expm1(grid * (below - above))
        share = np.clip(share, 0.0, 1.0)
        places = np.concatenate([above, below]) % size
        parts = np.concatenate([mass * share, mass * (1 - share)])
        law = np.asarray(np.bincount(places, parts, minlength=size), dtype=np.float64)
        total = np.fft.irfft(np.fft.rfft(law) ** self.bits, size)
        values = np.fft.fftfreq(size, 1 / size) * grid
        lost = min(1.0, max(0.0, 1.0 - float(mass.sum())) + 1e-15)
        beyond = self.bits * lost + self._wrapped(values, law, size * grid / 2) + _fft_error(law, self.bits)
        order = np.argsort(values)
        return values[order], np.maximum(total[order], 0.0), min(1.0, beyond)

    def _wrapped(self, values: FloatArray, law: FloatArray, span: float) -> float:
        """Chernoff's bound on the probability that the loss of all bits exceeds the grid."""
        kept = law > 0
        values, law = values[kept], law[kept]
        most = math.inf
        for rate in np.geomspace(0.1, 20, 24).tolist():
            peak = float((rate * values).max())
            moment = peak + math.log(float(law @ np.exp(rate * values - peak)))
            most = min(most, math.exp(min(0.0, self.bits * moment - rate * span)))
        return most

    def delta(self, xi: float) -> float:
        """A δ with which (ξ, δ)-XDP holds; the least one to about three digits."""
        level = non_negative("xi", xi, VectorError)
        if self.distance == 0:
            return 0.0
        values, mass, beyond = self._law
        over = values > level
        found = float(-np.expm1(level - values[over]) @ mass[over])
        return min(1.0, found * (1 + ROOM) + beyond)

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
            f"{self.distance:g}: loss {in_nats(self.mean)} on average; observer sees {self.view}"
        )


def _density(g: FloatArray) -> FloatArray:
    return np.exp(-(g**2) / 2) / math.sqrt(2 * math.pi)


def _far(edges: FloatArray) -> FloatArray:
    """The larger end of each cell, in absolute value."""
    return np.maximum(np.abs(edges[:-1]), np.abs(edges[1:]))


def _fft_error(law: FloatArray, bits: int) -> float:
    """What rounding may move in a sum over the transform of a power (Higham 2002, Thm 24.2)."""
    size = len(law)
    per_transform = 8 * math.log2(size) * 2.0**-52
    return math.sqrt(size) * per_transform * (1 + bits * float(np.linalg.norm(law)))


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
    δ is a bound: in every cell of the two projections losses are taken from above and probabilities are
    rounded by the remainder of the quadrature, so nothing but floating point is left open, for which 1e-12
    of each term is added. It is above the true δ by about 1 %, and no δ below about 1e-9 is found. It is not
    a certificate; `accountant` of LSHRR has one.
    Cost: about 0.1 s, more for scales below 0.1.

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


@guarded
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
    Cost: about 8 accounts.

    Examples
    --------
    >>> round(calibrate_soft_sign(10, 0.05, 1.0, 0.01), 2)
    0.35
    """
    level = float(read_delta("delta", delta))
    if level == 0:
        raise VectorError("delta is 0; soft signs over random planes need δ above 0")
    if level < 1e-8:
        raise VectorError(f"delta is {level:g}; the account of soft signs finds none below 1e-8: raise it")
    wanted = positive("xi", xi, VectorError)

    account = soft_sign_accountant(bits, distance, 1.0, noise=noise, clip=clip)

    def excess(log_scale: float, cells: int) -> float:
        found = replace(account, scale=math.exp(log_scale), cells=cells).delta(wanted)
        return math.log(max(found, 1e-300) / level)

    low = high = math.log(0.25)
    while excess(high, COARSE) > 0:
        low, high = high, high + 1.0
        if high > 14:
            raise VectorError(
                f"xi is {wanted:g}; no scale up to a million keeps so little: raise xi or delta"
            )
    while high - low < 0.5 or excess(low, COARSE) <= 0:
        low, high = low - 1.0, min(high, low)
        if low < math.log(0.01):
            return 0.01
    # Coarse cells give a scale that is a little too large.
    high = float(brentq(excess, low, high, args=(COARSE,), xtol=1e-3)) + 1e-3
    while excess(high, CELLS) > 0:
        high += 1e-3
    low = high - 0.02
    while excess(low, CELLS) <= 0:
        low, high = low - 0.02, low
    scale = math.exp(brentq(excess, low, high, args=(CELLS,), xtol=1e-4))
    while excess(math.log(scale), CELLS) > 0:
        scale *= 1.0001
    return scale
