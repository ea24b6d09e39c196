"""Utility against what is promised and against what an attacker finds, for all mechanisms alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.errors import VectorError
from sievert.numerics import generator_of, in_nats, instance, positive, require_size, taken
from sievert.results import Result
from sievert.sampling import bit_source
from sievert.vectors._calibrate import calibrate
from sievert.vectors._families import LaplaceHash, NoisyHash, SoftSigns, VectorMechanism
from sievert.vectors._hashing import HyperplaneLSH
from sievert.vectors._laplace_account import calibrate_laplace
from sievert.vectors._matching import neighbours, true_neighbours, utility_loss
from sievert.vectors._rows import read_rows
from sievert.vectors._soft_account import calibrate_soft_sign

__all__ = ["VectorFrontier", "VectorPoint", "mechanism_frontier"]

LARGEST = 20_000


@dataclass(frozen=True)
class VectorPoint(Result):
    """One mechanism at one promise.

    Attributes
    ----------
    mechanism : "lsh-response", "soft-sign" or "laplace-lsh"
    xi : nats promised at the distance and δ of the frontier
    loss : utility loss of matching, in angular distance
    reidentified : share of these users that somebody who knows them all traces back; of laplace-lsh an upper
        bound
    words : the mechanism in words
    least : what an attack on the bits of laplace-lsh traces back; None where `reidentified` is the value
    """

    mechanism: str
    xi: float
    loss: float
    reidentified: float
    words: str
    least: float | None = None

    def __str__(self) -> str:
        most = "" if self.least is None else "at most "
        return (
            f"{self.mechanism} at {in_nats(self.xi, 6)}: utility loss {self.loss:.4f}, {most}"
            f"{100 * self.reidentified:.3g} % traced back"
        )


@dataclass(frozen=True)
class VectorFrontier(Result):
    """Every mechanism at every promise, between plain hashing and anybody.

    Attributes
    ----------
    points : one for each mechanism and ξ
    plain, random : utility loss of codes without noise, and of recommending anybody
    plain_reidentified : share traced back from codes without noise
    """

    points: tuple[VectorPoint, ...]
    distance: float
    delta: float
    plain: float
    random: float
    plain_reidentified: float

    def __str__(self) -> str:
        return (
            f"{len(self.points)} points at distance {self.distance:g} and δ = {self.delta:g}: utility loss "
            f"between {self.plain:.4f} without noise and {self.random:.4f} for anybody"
        )


def mechanism_frontier(
    x: Any,
    hashing: HyperplaneLSH,
    xi: Iterable[float],
    *,
    distance: float = 0.05,
    delta: float = 0.01,
    k: int = 10,
    rng: int | np.random.Generator | None = 0,
) -> VectorFrontier:
    """Utility loss and re-identification of the three mechanisms, calibrated to the same promises.

    Parameters
    ----------
    x : vectors of people, public or synthetic, one a row
    hashing : the public hyperplanes, Gaussian
    xi : promises to try, in nats at `distance` and `delta`
    distance, delta : of the promise
    k : neighbours that are recommended
    rng : seed or generator of the noise and of ties

    Returns
    -------
    VectorFrontier

    Notes
    -----
    Equal ξ at one distance is not equal risk: soft signs tell more about far pairs. Laplace noise is
    calibrated by its bound (`laplace_accountant`), so it promises more than is asked.
    Cost: for each promise three rounds of noise and matching, and a calibration of soft signs.

    Examples
    --------
    >>> from sievert.vectors import synthetic_ratings
    >>> people = synthetic_ratings(60, 30, rng=1)
    >>> found = mechanism_frontier(people, HyperplaneLSH(30, 8, seed=7), [2.0], k=5)
    >>> [point.mechanism for point in found.points]
    ['lsh-response', 'soft-sign', 'laplace-lsh']
    """
    instance("hashing", hashing, HyperplaneLSH, "a HyperplaneLSH", VectorError)
    rows = read_rows("x", x, hashing.dimension)
    require_size(rows.shape[0], LARGEST, "the people", "take fewer")
    positive("distance", distance, VectorError)
    levels = [positive("xi", value, VectorError) for value in taken("xi", xi, VectorError, "promises")]
    generator = generator_of(rng)
    truth = true_neighbours(rows, k)
    codes = hashing.codes(rows)
    plain = utility_loss(rows, neighbours(codes, k, rng=generator), truth)
    points = []
    for level in levels:
        eps = calibrate(hashing.bits, distance, level, delta).eps
        scale = calibrate_soft_sign(hashing.bits, distance, level, delta)
        tried: list[VectorMechanism] = [
            NoisyHash(hashing, eps),
            SoftSigns(hashing, scale),
            LaplaceHash(hashing, calibrate_laplace(hashing.dimension, hashing.bits, distance, level, delta)),
        ]
        for mechanism in tried:
            noisy = mechanism.noisy(rows, bit_source(generator))
            loss = utility_loss(rows, neighbours(noisy, k, rng=generator), truth)
            threat = mechanism.threat(rows)
            points.append(
                VectorPoint(mechanism.kind, level, loss.value, threat.value, mechanism.words(), threat.least)
            )
    distinct = len(np.unique(codes.words, axis=0)) / len(codes)
    return VectorFrontier(tuple(points), distance, delta, plain.value, plain.random, distinct)
