"""Private codes: flip the bits of a hash, soften its signs, or add noise to the vector first.

Three places for the noise (Fernandes, Sec 10.3): after the hash (`perturb`, LSHRR), on the projections
(`soft_sign`, which contains LSHRR), before the hash (`laplace_lsh`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from scipy.special import expit, gammaincinv, log_expit, log_ndtr, ndtri

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.errors import VectorError
from sievert.mechanisms import randomised_response as response_channel
from sievert.numerics import abbreviated, choice, instance, non_negative, positive, require_size, whole
from sievert.sampling import BitSource, Timing, bit_flips, bit_source, coins, exp_neg, randomised_response
from sievert.vectors._bounds import LARGEST_EPS
from sievert.vectors._codes import Codes, pack_bits, read_codes
from sievert.vectors._distance import unit_rows
from sievert.vectors._hashing import HyperplaneLSH
from sievert.vectors._rows import read_rows, refuse_zeros

__all__ = [
    "MOST_CHANNEL_BITS",
    "channel",
    "laplace_lsh",
    "one_chances",
    "perturb",
    "soft_sign",
    "soft_sign_channel",
]

MOST_CHANNEL_BITS = 16
BLOCK = 8192
LARGEST_TABLE = 50_000_000
# Both distribution functions are computed to 1e-15; this leaves room.
CHANCE_ERROR = 2.0**-44
Enclosure = tuple[int, int]


def perturb(
    codes: Codes | Any, eps: object, *, timing: Timing = "fast", insecure_rng: object = None
) -> Codes:
    """Make codes noisy: every bit is flipped with probability 1/(1 + e^eps) (Fernandes, Def 10.3.8).

    Coordinates with more values are kept with probability e^eps/(e^eps + values - 1) and else replaced by any
    other value alike.

    Parameters
    ----------
    codes : of a hash, or rows of zeros and ones
    eps : nats per coordinate, a rational number read as it is written; inf leaves the codes as they are
    timing : "fast" or "fixed" work; neither depends on a code
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Codes

    Notes
    -----
    Drawn exactly from the operating system's bits: integers only, 64 flips at a time. Codes at distance h are
    eps·h nats apart, and at most eps·bits (Fernandes, Prop 10.1, 10.3).
    Cost: about 2 random bytes a bit.

    References
    ----------
    Fernandes (2021), Def 10.3.8, Prop 10.1, Prop 10.3.

    Examples
    --------
    >>> noisy = perturb([[0, 0, 0, 0], [1, 1, 1, 1]], 1.0, insecure_rng=2)
    >>> noisy.coordinates().tolist(), round(noisy.flip, 6)
    ([[0, 0, 0, 0], [1, 1, 0, 1]], 0.268941)
    """
    given = read_codes("codes", codes)
    if given.mechanism != "no noise":
        raise VectorError(
            f"codes are noisy already ({given.mechanism}); more noise on top has no account; perturb the "
            "codes of the hash"
        )
    if given.values == 2:
        flips = bit_flips(eps, timing=timing, insecure_rng=insecure_rng)
        words = given.words ^ flips.masks(len(given), given.bits)
        flip = flips.probability
    else:
        sampler = randomised_response(given.values, eps, timing=timing, insecure_rng=insecure_rng)
        drawn = sampler.draw(given.coordinates().astype(np.int64).ravel())
        words = Codes.of(drawn.reshape(len(given), given.bits), values=given.values).words
        others = given.values - 1
        flip = float(others / (math.exp(min(float(eps), 700.0)) + others))  # type: ignore[arg-type]
    return replace(given, words=words, flip=flip, mechanism=f"randomised response, eps = {eps} a coordinate")


def channel(bits: int, eps: float | None = None, *, alpha: object = None, values: int = 2) -> Channel:
    """The channel from a code to its noisy code, as an object that every question of Sievert takes.

    Parameters
    ----------
    bits : coordinates of a code, at most 16
    eps, alpha : exactly one of eps (nats a coordinate) and alpha = e^-eps; rational alpha is exact
    values : values of a coordinate

    Returns
    -------
    Channel
        From codes to codes, both as tuples.

    Notes
    -----
    The channel is a product and is never listed unless asked for.
    Cost: O(1).

    Examples
    --------
    >>> import sievert as sv
    >>> float(sv.capacity(channel(2, alpha="1/3")))
    2.25
    """
    whole("values", values, VectorError, least=2, most=256)
    count = whole("bits", bits, VectorError)
    if count > MOST_CHANNEL_BITS or values**count > 2**MOST_CHANNEL_BITS:
        raise VectorError(
            f"bits is {abbreviated(bits)}; a channel on codes has at most {2**MOST_CHANNEL_BITS:,} inputs, "
            f"{int(MOST_CHANNEL_BITS / math.log2(values))} coordinates of {values} values. The accountant "
            "(sv.vectors.accountant) takes any number"
        )
    return Channel.product_of([(response_channel(range(values), eps, alpha=alpha), count)])


def soft_sign(
    x: Any,
    hashing: HyperplaneLSH,
    scale: float,
    *,
    noise: str = "logistic",
    clip: float | None = None,
    insecure_rng: object = None,
) -> Codes:
    """Noise on the projections: bit i is 1 with probability σ(r_i·x/scale), x on the unit sphere.

    Parameters
    ----------
    x : one vector a row, dense or sparse; scaled to length 1
    hashing : the public hyperplanes
    scale : of the noise, in the unit of the projections; 0 with `clip` is exactly LSHRR with eps = clip
    noise : "logistic", or "gaussian" for Φ instead of σ
    clip : the largest log-odds of a bit, in nats: any two vectors are then at most bits·clip apart
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Codes

    Notes
    -----
    With logistic noise two vectors are |R·(x - x')|₁/scale nats apart at most, for these very planes and
    without δ: the promise is by distance, where that of LSHRR jumps at a hyperplane. Coins are exact for
    the projections as computed in double precision.
    Cost: a product of matrices and 4 bytes a bit.

    Examples
    --------
    >>> hashed = HyperplaneLSH(2, 8, seed=7)
    >>> len(soft_sign([[3.0, 4.0]], hashed, 0.5, insecure_rng=1))
    1
    """
    chances, clipped = one_chances(x, hashing, scale, noise, clip)
    source = bit_source(insecure_rng)
    found = np.empty((len(chances), -(-hashing.bits // 64)), dtype=np.uint64)
    flat = clipped.ravel()
    for start in range(0, len(chances), BLOCK):
        part = slice(start, start + BLOCK)

        def exact(place: int, shift: int = start * hashing.bits) -> Callable[[int], Enclosure]:
            return _enclosed(float(flat[shift + place]), noise, clip)

        found[part] = pack_bits(coins(chances[part], CHANCE_ERROR, exact, source))
    words = f"soft sign, {noise} noise of scale {float(scale):g}" + (
        "" if clip is None else f", clipped at {float(clip):g}"
    )
    return Codes(found, hashing.bits, hashing.identity, flip=None, mechanism=words)


def soft_sign_channel(
    x: Any, hashing: HyperplaneLSH, scale: float, *, noise: str = "logistic", clip: float | None = None
) -> Channel:
    """The channel from given vectors to soft signs, as an object that every question of Sievert takes.

    Parameters
    ----------
    x : vectors, one a row, scaled to length 1: the inputs of the channel
    hashing : the public hyperplanes, at most 16
    scale, noise, clip : as for `soft_sign`

    Returns
    -------
    Channel
        Outputs are codes as numbers, bit j of the number for plane j.

    Notes
    -----
    A product of independent bits for each vector.
    Cost: O(vectors·2^bits).

    Examples
    --------
    >>> import sievert as sv
    >>> hashed = HyperplaneLSH(2, 4, seed=7)
    >>> found = soft_sign_channel([[1.0, 0.0], [0.0, 1.0]], hashed, 0.5)
    >>> found.shape, round(float(sv.posterior_vulnerability(found, sv.uniform(2))), 4)
    ((2, 16), 0.87)
    """
    instance("hashing", hashing, HyperplaneLSH, "a HyperplaneLSH", VectorError)
    if hashing.bits > MOST_CHANNEL_BITS:
        raise VectorError(
            f"hashing has {hashing.bits} bits; a channel on codes has at most {MOST_CHANNEL_BITS}"
        )
    chances, scaled = one_chances(x, hashing, scale, noise, clip)
    require_size(len(chances) << hashing.bits, LARGEST_TABLE, "the channel", "take fewer vectors or bits")
    odds = log_odds(scaled, noise, None if clip is None else float(clip))
    # Logarithms: a bit that is almost sure has a chance of the other side that no float holds.
    found = np.zeros((len(chances), 1))
    for one, zero in zip(log_expit(odds).T, log_expit(-odds).T, strict=True):
        found = np.concatenate([found + zero[:, None], found + one[:, None]], axis=1)
    return Channel.from_log(found, outputs=range(2**hashing.bits), normalise=True)


def one_chances(
    x: Any, hashing: HyperplaneLSH, scale: float, noise: str, clip: float | None
) -> tuple[FloatArray, FloatArray]:
    """Probabilities that bits are 1, and the scaled projections they are computed from."""
    instance("hashing", hashing, HyperplaneLSH, "a HyperplaneLSH", VectorError)
    choice("noise", noise, ("logistic", "gaussian"), VectorError)
    spread = non_negative("scale", scale, VectorError)
    rows = read_rows("x", x, hashing.dimension)
    refuse_zeros("x", rows)
    if clip is not None:
        clip = positive("clip", clip, VectorError)
    if spread == 0:
        if clip is None:
            raise VectorError("scale is 0 and clip is missing: that is no noise at all; give clip = eps")
        sides = hashing.codes(rows).coordinates().astype(np.float64)
        scaled = np.where(sides > 0, np.inf, -np.inf)
    else:
        with np.errstate(over="ignore"):  # ±∞, as without noise
            scaled = hashing.projections(unit_rows(rows)) / spread
    return expit(log_odds(scaled, noise, clip)), scaled


def log_odds(scaled: FloatArray, noise: str, clip: float | None) -> FloatArray:
    """ln P(1) - ln P(0) of bits with the given projections, in units of the noise."""
    odds = scaled if noise == "logistic" else log_ndtr(scaled) - log_ndtr(-scaled)
    return np.asarray(odds if clip is None else np.clip(odds, -clip, clip))


def _enclosed(scaled: float, noise: str, clip: float | None) -> Callable[[int], Enclosure]:
    """The exact probability of a one, at any number of bits."""
    odds = float(log_odds(np.array(scaled), noise, clip))
    if noise == "logistic" or (clip is not None and abs(odds) == clip):
        return _logistic(odds)
    return lambda bits: _normal(scaled, bits)


def _logistic(odds: float) -> Callable[[int], Enclosure]:
    exact = Fraction(min(abs(odds), 2.0**20))

    def enclosure(bits: int) -> Enclosure:
        low, high = exp_neg(exact.numerator, exact.denominator, bits + 8)
        one = 1 << (bits + 8)
        # λ/(1 + λ) for λ = e^-|odds|, and the rest of 1.
        small = (low << bits) // (one + low), -((-high << bits) // (one + high))
        return small if odds < 0 else ((1 << bits) - small[1], (1 << bits) - small[0])

    return enclosure


def _normal(scaled: float, bits: int) -> Enclosure:
    old = flint.ctx.prec
    flint.ctx.prec = bits + 64
    try:
        ball = (-flint.arb(scaled) / flint.arb(2).sqrt()).erfc() / 2 * flint.arb(2) ** bits
        low, high = ball.lower().floor().unique_fmpz(), ball.upper().ceil().unique_fmpz()
        assert low is not None and high is not None  # both ends are exact
        return int(low), int(high)
    finally:
        flint.ctx.prec = old


def laplace_lsh(
    x: Any,
    hashing: HyperplaneLSH,
    eps: float,
    *,
    sampler: str = "projected",
    insecure_rng: object = None,
) -> Codes:
    """Noise before the hash: x + z with density ∝ e^(-eps·|z|), then the hash (Fernandes, Def 10.3.9).

    Parameters
    ----------
    x : one vector a row, dense or sparse; scaled to length 1
    hashing : the public hyperplanes
    eps : nats per unit of Euclidean distance
    sampler : "projected" draws the noise of the projections only; "naive" that of every coordinate
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Codes

    Notes
    -----
    The noise is √W·G with G standard normal and W ~ Gamma((n+1)/2, 2/eps²), so that of the projections is
    √W·C·g with C·Cᵀ = R·Rᵀ. Drawn in floating point. Two vectors are eps·|x - x'| nats apart at most
    (Fernandes, Prop 10.9), which charges far more than the bits give away.
    Cost: O(bits²) a user instead of O(n·bits), and the product with the planes.

    References
    ----------
    Fernandes (2021), Def 10.3.9, Prop 10.9.

    Examples
    --------
    >>> hashed = HyperplaneLSH(2, 8, seed=7)
    >>> len(laplace_lsh([[3.0, 4.0]], hashed, 5.0, insecure_rng=1))
    1
    """
    instance("hashing", hashing, HyperplaneLSH, "a HyperplaneLSH", VectorError)
    choice("sampler", sampler, ("projected", "naive"), VectorError)
    level = positive("eps", eps, VectorError, most=LARGEST_EPS)
    rows = read_rows("x", x, hashing.dimension)
    refuse_zeros("x", rows)
    units = unit_rows(rows)
    source = bit_source(insecure_rng)
    planes = hashing.planes.astype(np.float64)
    factor = planes.T if sampler == "naive" else _root(planes).T
    found = np.empty((len(units), -(-hashing.bits // 64)), dtype=np.uint64)
    for start in range(0, len(units), BLOCK):
        part = units[start : start + BLOCK]
        radius = np.sqrt(mixing_quantile(_uniforms(source, (len(part), 1)), hashing.dimension, 1.0))
        normals = ndtri(_uniforms(source, (len(part), factor.shape[0])))
        found[start : start + BLOCK] = pack_bits(level * (part @ planes.T) + radius * (normals @ factor) >= 0)
    words = f"Laplace noise before the hash, eps = {level:g} a unit of length"
    return Codes(found, hashing.bits, hashing.identity, flip=None, mechanism=words)


def mixing_quantile(share: FloatArray, dimension: int, eps: float) -> FloatArray:
    """Quantiles of W: Laplace noise in n dimensions is √W times a standard normal vector."""
    return np.asarray(gammaincinv((dimension + 1) / 2, share) * (2 / eps**2))


def _root(planes: FloatArray) -> FloatArray:
    """C with C·Cᵀ = R·Rᵀ, also where there are more planes than dimensions."""
    values, vectors = np.linalg.eigh(planes @ planes.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _uniforms(source: BitSource, shape: tuple[int, int]) -> FloatArray:
    """Uniform floats inside (0, 1)."""
    words = source.words(0, source.reserve(shape[0] * shape[1]))
    return np.asarray(((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)
