"""Which mechanism with how many bits serves matching best at one promise.

Predicted utility is the probability that the noisy code of a near user is nearer to one's own noisy code than
that of a far user, over the draw of the planes, with ties by a coin. The number of differing bits of two
noisy codes is binomial for independent bits; under Laplace noise before the hash it is so given both noises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln, logit, xlog1py, xlogy

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import log_binomial, positive, probability, taken, whole
from sievert.results import Result
from sievert.vectors._calibrate import calibrate
from sievert.vectors._laplace_account import MOST_DIMENSIONS, calibrate_laplace
from sievert.vectors._mechanisms import log_odds
from sievert.vectors._soft_account import calibrate_soft_sign

__all__ = [
    "BitsChoice",
    "MechanismCandidate",
    "MechanismChoice",
    "choose_bits",
    "choose_mechanism",
]

TRIED = (8, 16, 32, 64, 128)
# Pairs of noises that Laplace noise is averaged over.
DRAWS = 2000


@dataclass(frozen=True)
class BitsChoice(Result):
    """How well codes of several lengths tell near users from far ones, at one promise.

    Attributes
    ----------
    bits : the best of them
    tried : numbers of bits
    eps : calibrated for each
    success : probability that a near user's noisy code is nearer than a far one's, ties by a coin
    """

    bits: int
    tried: tuple[int, ...]
    eps: FloatArray = field(repr=False)
    success: FloatArray = field(repr=False)

    def __str__(self) -> str:
        best = float(self.success.max())
        return f"{self.bits} bits: a near user is ranked before a far one with probability {best:.4g}"


def choose_bits(
    distance: float,
    xi: float,
    delta: float,
    near: float,
    far: float,
    bits: Iterable[int] = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256),
) -> BitsChoice:
    """How many bits serve matching best at a promise (ξ, δ) for pairs at a distance.

    Parameters
    ----------
    distance, xi, delta : the promise that every number of bits is calibrated to
    near, far : angular distances of users who should be told apart, such as a typical nearest neighbour and
        a typical user
    bits : numbers of bits to try

    Returns
    -------
    BitsChoice

    Notes
    -----
    Predicted utility: both users and the one who asks have noisy codes, so bits differ with probability
    q + d·(1 - 2q), q = 2r(1-r).
    Cost: a calibration and O(bits²) for each number.

    Examples
    --------
    >>> choose_bits(0.05, 5.0, 0.01, near=0.2, far=0.45, bits=[10, 20, 50]).bits
    10
    """
    tried = tuple(
        whole("bits", n, VectorError, most=4096) for n in taken("bits", bits, VectorError, "numbers")
    )
    if not tried:
        raise VectorError("bits is empty; give numbers of bits to try")
    low, high = probability("near", near, VectorError), probability("far", far, VectorError)
    eps = np.array([calibrate(n, distance, xi, delta).eps for n in tried])
    success = [
        _ranked(flipped_distance(n, level, low), flipped_distance(n, level, high))
        for n, level in zip(tried, eps.tolist(), strict=True)
    ]
    best = tried[int(np.argmax(success))]
    return BitsChoice(best, tried, eps, np.array(success))


def _ranked(near: FloatArray, far: FloatArray) -> float:
    """P[near < far] + P[near = far]/2 of two independent numbers of differing bits."""
    further = np.append(np.cumsum(far[:0:-1])[::-1], 0.0)
    return float(near @ (further + far / 2))


def flipped_distance(bits: int, eps: float, distance: float) -> FloatArray:
    """The law of differing bits of two codes at a distance after flips: q + d·(1 - 2q), q = 2r(1-r)."""
    flip = 1 / (1 + math.exp(min(eps, 700.0)))
    q = 2 * flip * (1 - flip)
    return np.exp(log_binomial(bits, float(logit(q + distance * (1 - 2 * q)))))


def soft_distance(bits: int, scale: float, clip: float | None, distance: float) -> FloatArray:
    """The same of soft signs with logistic noise: the mean over both projections, by Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    second = math.cos(math.pi * distance) * nodes[:, None] + math.sin(math.pi * distance) * nodes
    first, other = (
        np.tanh(log_odds(part / scale, "logistic", clip) / 2) for part in (nodes[:, None], second)
    )
    differs = (1 - float(weights @ (first * other) @ weights)) / 2
    return np.exp(log_binomial(bits, float(logit(differs))))


def laplace_distance(dimension: int, bits: int, eps: float, distance: float) -> FloatArray:
    """The same of Laplace noise before the hash, averaged over the angle of two noisy vectors."""
    rng = np.random.default_rng(0)
    count = min(dimension, 3)  # two coordinates of the plane; the rest by lengths and one angle
    x = np.zeros((2, 1, count))
    x[0, 0, 0], x[1, 0, 0] = 1.0, math.cos(math.pi * distance)
    x[1, 0, min(1, count - 1)] += math.sin(math.pi * distance)
    noise = np.sqrt(rng.gamma((dimension + 1) / 2, 2 / eps**2, (2, DRAWS, 1)))
    noisy = x + noise * rng.standard_normal((2, DRAWS, count))
    inner, sizes = (noisy[0] * noisy[1]).sum(axis=1), (noisy**2).sum(axis=2)
    if dimension > count:
        rest = noise[..., 0] ** 2 * rng.chisquare(dimension - count, (2, DRAWS))
        turn = rng.standard_normal(DRAWS)
        cosine = turn / np.sqrt(turn**2 + rng.chisquare(max(dimension - count - 1, 1), DRAWS))
        inner, sizes = inner + cosine * np.sqrt(rest[0] * rest[1]), sizes + rest
    angles = np.arccos(np.clip(inner / np.sqrt(sizes[0] * sizes[1]), -1, 1)) / math.pi
    counts = np.arange(bits + 1)
    ways = gammaln(bits + 1) - gammaln(counts + 1) - gammaln(bits + 1 - counts)
    laws = np.exp(ways + xlogy(counts, angles[:, None]) + xlog1py(bits - counts, -angles[:, None]))
    return np.asarray(laws.mean(axis=0))


@dataclass(frozen=True)
class MechanismCandidate(Result):
    """One mechanism with one number of bits, at the promise.

    Attributes
    ----------
    mechanism : "lsh-response", "soft-sign" or "laplace-lsh"
    bits : of a code
    level : calibrated: eps, or the scale of soft signs
    success : probability that a near user is ranked before a far one
    """

    mechanism: str
    bits: int
    level: float
    success: float

    def __str__(self) -> str:
        name = "scale" if self.mechanism == "soft-sign" else "eps"
        return (
            f"{self.mechanism} with {self.bits} bits and {name} = {self.level:.4g} ranks a near user before "
            f"a far one {100 * self.success:.1f} % of times"
        )


@dataclass(frozen=True)
class MechanismChoice(Result):
    """How well mechanisms and lengths of codes tell near users from far ones, at one promise.

    Attributes
    ----------
    candidates : all that were tried
    clip : of soft signs, the largest log-odds of a bit in nats
    """

    candidates: tuple[MechanismCandidate, ...]
    clip: float

    @property
    def best(self) -> MechanismCandidate:
        """The one that ranks best."""
        return max(self.candidates, key=lambda one: one.success)

    def of(self, mechanism: str) -> MechanismCandidate:
        """The best of one mechanism."""
        found = [one for one in self.candidates if one.mechanism == mechanism]
        if not found:
            raise VectorError(f"mechanism is {mechanism!r}; nothing of this kind was tried")
        return max(found, key=lambda one: one.success)

    def __str__(self) -> str:
        return f"{self.best}"


def choose_mechanism(
    dimension: int,
    distance: float,
    xi: float,
    delta: float,
    near: float = 0.2,
    far: float = 0.45,
    bits: Iterable[int] = TRIED,
    *,
    clip: float = 3.0,
) -> MechanismChoice:
    """Which mechanism with how many bits serves matching best at a promise (ξ, δ) for pairs at a distance.

    Parameters
    ----------
    dimension : coordinates of a vector
    distance, xi, delta : the promise that every candidate is calibrated to
    near, far : angular distances of users who should be told apart
    bits : numbers of bits to try
    clip : largest log-odds of a bit of soft signs, in nats; a release is charged bits·clip

    Returns
    -------
    MechanismChoice

    Notes
    -----
    Hyperplanes with Gaussian normals. lsh-response is calibrated exactly, the two others by bounds. Equal ξ
    at one distance is not equal risk: soft signs tell more about far pairs, so look at the whole curve.
    Cost: a calibration of each mechanism for each number of bits, about 0.5 s.

    Examples
    --------
    >>> found = choose_mechanism(60, 0.05, 2.0, 0.01, bits=[8, 16])
    >>> found.best.mechanism, found.of("lsh-response").bits
    ('soft-sign', 16)
    """
    size = whole("dimension", dimension, VectorError, most=MOST_DIMENSIONS)
    tried = tuple(
        whole("bits", n, VectorError, most=4096) for n in taken("bits", bits, VectorError, "numbers")
    )
    if not tried:
        raise VectorError("bits is empty; give numbers of bits to try")
    low, high = probability("near", near, VectorError), probability("far", far, VectorError)
    most = positive("clip", clip, VectorError)
    positive("xi", xi, VectorError, least=1e-6, most=1e4)
    found = []
    for n in tried:
        eps = calibrate(n, distance, xi, delta).eps
        scale = calibrate_soft_sign(n, distance, xi, delta, clip=most)
        inner = calibrate_laplace(size, n, distance, xi, delta)
        laws = {
            "lsh-response": (eps, [flipped_distance(n, eps, d) for d in (low, high)]),
            "soft-sign": (scale, [soft_distance(n, scale, most, d) for d in (low, high)]),
            "laplace-lsh": (inner, [laplace_distance(size, n, inner, d) for d in (low, high)]),
        }
        found += [MechanismCandidate(kind, n, level, _ranked(*law)) for kind, (level, law) in laws.items()]
    return MechanismChoice(tuple(found), most)
