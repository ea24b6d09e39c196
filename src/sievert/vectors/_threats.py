"""What an attacker makes of noisy codes: who is it, among people whose vectors are all known?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_expit, log_ndtr, logit

from sievert.arrays import FloatArray, IntArray
from sievert.errors import VectorError
from sievert.numerics import (
    generator_of,
    in_percent,
    instance,
    non_negative,
    positive,
    probability,
    require_size,
    whole,
)
from sievert.results import Result
from sievert.vectors._bounds import LARGEST_EPS
from sievert.vectors._codes import Codes, read_codes
from sievert.vectors._distance import unit_rows
from sievert.vectors._hashing import HyperplaneLSH
from sievert.vectors._mechanisms import perturb
from sievert.vectors._rows import Rows, dense, lengths, read_rows, refuse_zeros

__all__ = [
    "ReIdentification",
    "exposed_planes",
    "reidentification",
    "reidentification_of_chances",
    "reidentification_of_laplace",
]

MOST_LISTED_BITS = 22
LARGEST_LIST = 400_000_000
BLOCK = 256


@dataclass(frozen=True)
class ReIdentification(Result):
    """How often somebody who knows all vectors says rightly whose noisy code it is.

    Attributes
    ----------
    value : posterior Bayes vulnerability: every user as likely before
    prior : by guessing alone, one in the number of users
    without_noise : with codes as the hash gives them
    exact : whether `value` is exact; else it is simulated
    deviation : standard error of a simulated value, 0 where it is exact
    least : what an attack on the codes alone reached, where `value` is that of somebody who sees more
    """

    value: float
    prior: float
    without_noise: float
    users: int
    exact: bool
    deviation: float = 0.0
    least: float | None = None

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        share = in_percent(self.value)
        if self.least is not None:
            share = f"between {in_percent(self.least)} and {share}"
        return (
            f"an attacker who knows all {self.users:,} users re-identifies {share} of them, "
            f"without noise {in_percent(self.without_noise)}, by guessing {in_percent(self.prior)}"
        )


def reidentification(
    codes: Codes | Any, eps: float, *, draws: int = 4000, rng: int | np.random.Generator | None = 0
) -> ReIdentification:
    """How often a noisy code is traced back to its user by somebody who knows everybody's vector.

    Parameters
    ----------
    codes : of all users, as the hash gives them
    eps : nats a bit of the noise, from 0 to inf
    draws : noisy codes that are tried where the codes have more than 22 bits, or more than two values
    rng : seed or generator of the trial

    Returns
    -------
    ReIdentification

    Notes
    -----
    V = (1/N)·Σ_y max_u P(y|u). The likeliest user has one of the nearest codes, so up to 22 bits every output
    is looked at: its distance to the nearest code follows by passes over the cube. Beyond that noisy
    codes are drawn.
    Cost: O(bits·2^bits), or draws·users popcounts.

    Examples
    --------
    >>> found = reidentification([[0, 0], [0, 1], [1, 1], [1, 1]], 1.0)
    >>> found.value, found.without_noise
    (0.449988, 0.75)
    """
    given = read_codes("codes", codes)
    if given.mechanism != "no noise":
        raise VectorError("codes must be as the hash gives them, without noise; perturb nothing before")
    level = non_negative("eps", eps, VectorError, infinite=True)
    tries, generator = whole("draws", draws, VectorError), generator_of(rng)
    users = len(given)
    distinct = len(np.unique(given.words, axis=0))
    plain = distinct / users
    if level == math.inf:
        return ReIdentification(plain, 1 / users, plain, users, True)
    if given.values == 2 and given.bits <= MOST_LISTED_BITS:
        value = _listed(given, level) / users
        return ReIdentification(min(value, plain), 1 / users, plain, users, True)
    value, deviation = _simulated(given, level, tries, generator)
    return ReIdentification(value, 1 / users, plain, users, False, deviation)


def _listed(codes: Codes, eps: float) -> float:
    """Σ_y max_u P(y|u): how many outputs lie at each distance from the nearest code."""
    nearest = np.full(2**codes.bits, 100, dtype=np.int8)
    nearest[codes.words[:, 0].astype(np.intp)] = 0
    for bit in range(codes.bits):
        pairs = nearest.reshape(-1, 2, 2**bit)
        low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
        np.minimum(low, high + 1, out=pairs[:, 0])
        np.minimum(high, low + 1, out=pairs[:, 1])
    counts = np.bincount(nearest, minlength=codes.bits + 1)
    distances = np.arange(len(counts))
    sharp = min(eps, LARGEST_EPS)  # beyond it only the nearest codes have a chance
    return float(counts @ np.exp(-sharp * distances + codes.bits * log_expit(eps)))


def _simulated(codes: Codes, eps: float, draws: int, generator: np.random.Generator) -> tuple[float, float]:
    """Noisy codes of random users, and whether the user is among the nearest."""
    users = generator.integers(0, len(codes), draws)
    noisy = perturb(codes.rows(users), eps, insecure_rng=generator)
    wins = np.empty(draws)
    for start in range(0, draws, BLOCK):
        part = slice(start, start + BLOCK)
        distances = noisy.rows(part).distances(codes)
        least = distances.min(axis=1)
        mine = distances[np.arange(len(least)), users[part]]
        wins[part] = np.where(mine == least, 1 / (distances == least[:, None]).sum(axis=1), 0.0)
    return float(wins.mean()), float(wins.std() / math.sqrt(draws))


def reidentification_of_chances(
    chances: Any, *, draws: int = 4000, rng: int | np.random.Generator | None = 0
) -> ReIdentification:
    """The same for bits with a probability each, such as soft signs.

    Parameters
    ----------
    chances : probability of a 1, one row a user, one column a bit
    draws : noisy codes that are tried where all outputs are too many to list
    rng : seed or generator of the trial

    Returns
    -------
    ReIdentification

    Notes
    -----
    Exact while users·2^bits is at most 4·10⁸.
    Cost: O(users·2^bits), or draws·users·bits.

    Examples
    --------
    >>> round(float(reidentification_of_chances([[0.9, 0.5], [0.2, 0.5]])), 6)
    0.85
    """
    tries, generator = whole("draws", draws, VectorError), generator_of(rng)
    given = dense(read_rows("chances", chances))
    if not given.size or not ((given >= 0) & (given <= 1)).all():
        raise VectorError("chances must be a table of probabilities, one row a user and one column a bit")
    users, bits = given.shape
    sides = (given >= 0.5).astype(int)
    plain = len(np.unique(sides, axis=0)) / users
    with np.errstate(divide="ignore"):
        ones, none = np.log(given), np.log1p(-given)
    if users * 2**bits <= LARGEST_LIST:
        best = np.full(2**bits, -np.inf)
        for one, zero in zip(ones, none, strict=True):
            row = np.zeros(1)
            for bit in range(bits):  # bit j of the place is bit j of the output
                row = np.concatenate([row + zero[bit], row + one[bit]])
            np.maximum(best, row, out=best)
        return ReIdentification(float(np.exp(best).sum()) / users, 1 / users, plain, users, True)
    require_size(users * bits, LARGEST_LIST, "the table of chances", "take fewer users")
    who = generator.integers(0, users, tries)
    drawn = (generator.random((len(who), bits)) < given[who]).astype(np.float64)
    weights = np.clip(logit(given), -700, 700)
    wins = np.empty(len(who))
    for start in range(0, len(who), BLOCK):
        part = slice(start, start + BLOCK)
        wins[part] = _won(drawn[part] @ weights.T + np.clip(none, -700, 0).sum(axis=1), who[part])
    deviation = float(wins.std() / math.sqrt(len(who)))
    return ReIdentification(float(wins.mean()), 1 / users, plain, users, False, deviation)


def _won(scores: FloatArray, who: IntArray) -> FloatArray:
    """How often one guess among the best scores is the right one: ties are guessed among."""
    best = scores >= scores.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(best[np.arange(len(who)), who] / best.sum(axis=1))


def reidentification_of_laplace(
    x: Any,
    hashing: HyperplaneLSH,
    eps: float,
    *,
    draws: int = 4000,
    rng: int | np.random.Generator | None = 0,
) -> ReIdentification:
    """The same for Laplace noise before the hash, whose bits depend on one another: between two attackers.

    Parameters
    ----------
    x : vectors of all users, one a row
    hashing : the public hyperplanes
    eps : nats per unit of Euclidean distance, vectors scaled to length 1
    draws : noisy vectors that are tried
    rng : seed or generator of the trial

    Returns
    -------
    ReIdentification
        `value` is the share that somebody traces back who sees the noisy projections themselves, which no
        attack on the bits exceeds; `least` what the likeliest user by bits taken as independent gives.
        Both are simulated, with the standard error of `value`.

    Notes
    -----
    In the span of the planes the density of the noise falls with its length, so the likeliest user is the
    nearest one there.
    Cost: two products of draws × bits × users.

    Examples
    --------
    >>> x = np.eye(3)
    >>> found = reidentification_of_laplace(x, HyperplaneLSH(3, 8, seed=7), 3.0)
    >>> found.prior < found.least <= found.value < 1
    True
    """
    instance("hashing", hashing, HyperplaneLSH, "a HyperplaneLSH", VectorError)
    level = positive("eps", eps, VectorError, least=1e-9, most=1e9)
    tries = whole("draws", draws, VectorError, most=1_000_000)
    rows = read_rows("x", x, hashing.dimension)
    refuse_zeros("x", rows)
    units, users = unit_rows(rows), rows.shape[0]
    planes = hashing.planes.astype(np.float64)
    planes /= np.linalg.norm(planes, axis=1, keepdims=True)
    basis = np.linalg.qr(planes.T)[0]  # of the span of the planes
    generator = generator_of(rng)
    who = generator.integers(0, users, tries)
    inside, spread = units @ basis, math.sqrt(hashing.dimension + 1) / level
    sides = units @ planes.T / spread
    ones, none = log_ndtr(sides).T, log_ndtr(-sides).sum(axis=1)
    seen, guessed = np.empty(len(who)), np.empty(len(who))
    for start in range(0, len(who), BLOCK):
        part = slice(start, start + BLOCK)
        radius = np.sqrt(generator.gamma((hashing.dimension + 1) / 2, 2 / level**2, len(who[part])))
        noisy = inside[who[part]] + radius[:, None] * generator.standard_normal((len(radius), basis.shape[1]))
        seen[part] = _won(2 * noisy @ inside.T - (inside**2).sum(axis=1), who[part])
        bits = noisy @ (planes @ basis).T >= 0
        guessed[part] = _won(bits @ (ones - log_ndtr(-sides).T) + none, who[part])
    deviation, found = float(seen.std() / math.sqrt(len(who))), float(seen.mean())
    least = min(found, float(guessed.mean()))
    plain = len(np.unique(hashing.codes(rows).words, axis=0)) / users
    return ReIdentification(found, 1 / users, plain, users, False, deviation, least)


def exposed_planes(hashing: HyperplaneLSH, x: Any, distance: float) -> IntArray:
    """How many hyperplanes of this very hash lie within a distance of each vector.

    Parameters
    ----------
    hashing : the public hyperplanes
    x : one vector a row
    distance : angular distance, from 0 to 1

    Returns
    -------
    array of counts
        eps times the count bounds the loss against every vector within the distance, without δ.

    Notes
    -----
    A plane separates x from some vector within angle πd where |asin(r·x/(|r|·|x|))| ≤ πd. The count is a
    quantity of the vector itself: releasing it leaks about the vector.
    Cost: a product of matrices.

    Examples
    --------
    >>> exposed_planes(HyperplaneLSH(2, 100, seed=7), [[1.0, 0.0]], 0.5).tolist()
    [100]
    """
    instance("hashing", hashing, HyperplaneLSH, "a HyperplaneLSH", VectorError)
    rows: Rows = read_rows("x", x, hashing.dimension)
    refuse_zeros("x", rows)
    near = probability("distance", distance, VectorError)
    sizes = np.linalg.norm(hashing.planes.astype(np.float64), axis=1)
    cosine = hashing.projections(dense(rows) / lengths(rows)[:, None]) / sizes
    angles = np.abs(np.arcsin(np.clip(cosine, -1.0, 1.0)))
    return np.asarray((angles <= math.pi * near + 1e-12).sum(axis=1))
