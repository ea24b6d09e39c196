"""n-dimensional Laplace noise: density, radius, how often a word loses to a neighbour.

The noise of density c_n·e^(-ε·|v|) makes vectors ε·|·|-private by the triangle inequality (Fernandes, Thm
9.7). Seen along k directions it is a normal vector of k coordinates times √W, W ~ Gamma((n+1)/2, 2/ε²), so
tails are one integral over W; in ln W its integrand is analytic and falls doubly exponentially, and the
trapezoidal rule has all digits, for n = 300 as for n = 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln, log_ndtr

from sievert.arrays import FloatArray
from sievert.errors import TextError
from sievert.numerics import abbreviated, non_negative, positive, probability, whole
from sievert.results import guarded
from sievert.sampling import floats
from sievert.spaces import floats as real_numbers

__all__ = [
    "laplace_log_density",
    "laplace_radius",
    "log_plane_tail",
    "marginal_tail",
    "utility_bound",
    "utility_radius",
]

# Nodes of the integral over ln W; steps are below 0.3 widths of the peak, where the rule has all digits.
NODES = 512
# So far, in units of 1/eps, no noise of a probability that a float can hold goes.
SURELY_NEARER = 1e100
# What lies e^-80 below the peak of the integrand is left out.
DEPTH = 80.0
# Beyond this many dimensions logarithms of Gamma functions cancel.
# Words of a document.
MOST_WORDS = 10**12
MOST_DIMENSIONS = 1_000_000


def laplace_log_density(v: Any, eps: float) -> Any:
    """ln of the density of n-dimensional Laplace noise, ln c_n(eps) - eps·|v|.

    Parameters
    ----------
    v : a vector, or rows of vectors
    eps : ε in nats per unit of distance

    Returns
    -------
    float or array

    Notes
    -----
    c_n(ε) = ε^n·Γ(n/2)/(2·π^(n/2)·Γ(n)); a density may exceed 1 (c_1(3) = 1.5).

    Cost: O(size).

    References
    ----------
    Fernandes (2021), Def 9.4.1; the constant of Def 9.4.3 is an erratum (E3).

    Examples
    --------
    >>> float(np.exp(laplace_log_density([0.0, 0.0, 0.0], 1.0)))
    0.03978873577
    """
    rate = positive("eps", eps, TextError)
    rows = _rows("v", v)
    n = rows.shape[-1]
    log_constant = n * math.log(rate) + gammaln(n / 2) - math.log(2) - n / 2 * math.log(math.pi) - gammaln(n)
    with np.errstate(over="ignore"):  # so far out that the density is 0
        found = log_constant - rate * np.linalg.norm(rows, axis=-1)
    return float(found) if rows.ndim == 1 else found


@guarded
def laplace_radius(p: float, n: int, eps: float) -> float:
    """The norm below which n-dimensional Laplace noise stays with probability p.

    Parameters
    ----------
    p : a probability
    n : how many dimensions
    eps : ε in nats per unit of distance

    Returns
    -------
    float

    Notes
    -----
    The norm is Gamma(n, 1/ε): n/ε on average, ± √n/ε.

    Cost: O(1).

    Examples
    --------
    >>> laplace_radius(0.5, 2, 1.0), laplace_radius(0.5, 300, 10.0)
    (1.67834699, 29.96667...)
    """
    rate = positive("eps", eps, TextError)
    return float(
        floats.laplace_radius(
            whole("n", n, TextError, most=MOST_DIMENSIONS), rate, probability("p", p, TextError)
        )
    )


def marginal_tail(t: Any, n: int, eps: float) -> Any:
    """How often the noise goes farther than t in one direction.

    A word loses to one neighbour at distance D with probability marginal_tail(D/2, n, eps).

    Parameters
    ----------
    t : how far, ≥ 0; a number or an array
    n : how many dimensions
    eps : ε in nats per unit of distance

    Returns
    -------
    float or array

    Notes
    -----
    E[Φ(-t/√W)] with W ~ Gamma((n+1)/2, 2/ε²); full relative precision in the tail.

    Cost: 512 evaluations a number.

    Examples
    --------
    >>> marginal_tail(0.5, 3, 2.0)
    0.275909580879
    >>> marginal_tail(1.0, 300, 40.0)
    0.01069063
    """
    rate, dimensions = positive("eps", eps, TextError), whole("n", n, TextError, most=MOST_DIMENSIONS)
    lengths = _lengths(t)
    with np.errstate(over="ignore"):
        scaled = np.minimum(rate * lengths, SURELY_NEARER)
    found = np.exp(_log_mixture(scaled, (dimensions + 1) / 2, _log_normal_tail))
    return float(found) if lengths.ndim == 0 else found


def log_plane_tail(x: FloatArray, n: int) -> FloatArray:
    """ln P(the noise of eps = 1, seen in a plane, is longer than x)."""
    if n == 2:
        return np.asarray(np.log1p(x) - x)
    return _log_mixture(x, (n + 1) / 2, _log_plane_tail)


@guarded
def utility_bound(size: int, n: int, eps: float, within: float) -> float:
    """A lower bound of P(E(b, noisy b) ≤ within) for a bag of vectors, before decoding.

    Parameters
    ----------
    size : words of the document
    n : how many dimensions
    eps : ε in nats per unit of distance
    within : the earth mover's distance allowed

    Returns
    -------
    float

    Notes
    -----
    P(n·N, ε·N·Δ), the regularised incomplete gamma function: the sum of the N radii is Gamma(n·N, 1/ε), and
    E is at most its mean. The printed theorem has n in place of n·N and is false for N ≥ 2 (erratum E1).
    Exact where all vectors are equal. After decoding to words the bound holds for 2·within.

    Cost: O(1).

    References
    ----------
    Fernandes (2021), Thm 9.9, corrected.

    Examples
    --------
    >>> utility_bound(1, 1, 1.0, 0.5), utility_bound(2, 1, 1.0, 0.18393972058572117)
    (0.39346934, 0.053153)
    """
    rate, dimensions = positive("eps", eps, TextError), whole("n", n, TextError, most=MOST_DIMENSIONS)
    many = whole("size", size, TextError, most=MOST_WORDS)
    reach = non_negative("within", within, TextError)
    return float(gammainc(dimensions * many, rate * many * reach))


@guarded
def utility_radius(size: int, n: int, eps: float, p: float) -> float:
    """The earth mover's distance that noisy vectors keep with probability p at least.

    Parameters
    ----------
    size : words of the document
    n : how many dimensions
    eps : ε in nats per unit of distance
    p : a probability

    Returns
    -------
    float

    Notes
    -----
    The inverse of `utility_bound`.

    Cost: O(1).

    Examples
    --------
    >>> utility_radius(250, 300, 10.0, 0.01), utility_radius(250, 300, 10.0, 0.99)
    (29.745..., 30.255...)
    """
    rate, dimensions = positive("eps", eps, TextError), whole("n", n, TextError, most=MOST_DIMENSIONS)
    many = whole("size", size, TextError, most=MOST_WORDS)
    with np.errstate(over="ignore"):  # ∞ where no float is large enough
        return float(gammaincinv(dimensions * many, probability("p", p, TextError)) / (rate * many))


def _rows(argument: str, given: Any) -> FloatArray:
    rows = real_numbers(given, argument, TextError, "give a vector, or rows of vectors")
    if rows.ndim not in (1, 2) or not rows.shape[-1] or not np.isfinite(rows).all():
        raise TextError(f"{argument} is {abbreviated(given)}; give finite vectors of at least one number")
    return rows


def _lengths(given: Any) -> FloatArray:
    lengths = real_numbers(given, "t", TextError, "it must be a number ≥ 0, or an array of them")
    if not (lengths >= 0).all() or not np.isfinite(lengths).all():
        raise TextError(f"t is {abbreviated(given)}; it must be a finite number ≥ 0")
    return lengths


def _log_normal_tail(x: FloatArray, log_mass: FloatArray) -> FloatArray:
    return np.asarray(log_ndtr(-x / np.sqrt(2.0) * np.exp(-log_mass / 2)))


def _log_plane_tail(x: FloatArray, log_mass: FloatArray) -> FloatArray:
    return np.asarray(-(x**2) / 4 * np.exp(-log_mass))


def _log_mixture(x: FloatArray, a: float, log_tail: Any) -> FloatArray:
    """ln E[tail(x, G)] for G ~ Gamma(a), where tail(x, G) falls like e^(-x²/4G): trapezoids at the peak."""
    x = np.asarray(x, dtype=np.float64)[..., None]
    c = x**2 / 4
    # The peak of a·s - e^s - c·e^-s, and how far on either side it takes to fall by DEPTH.
    peak = (a + np.sqrt(a * a + 4 * c)) / 2
    left = c / peak
    down = np.minimum(DEPTH / (2 * a) + math.sqrt(DEPTH / a), np.sqrt(DEPTH / np.maximum(left, 1e-300)))
    up = np.sqrt(DEPTH / peak)
    step = (down + up) / NODES
    s = np.log(peak) - down + step * np.arange(NODES + 1)
    terms = a * s - np.exp(s) - gammaln(a) + log_tail(x, s)
    top = terms.max(axis=-1, keepdims=True)
    return np.asarray((top + np.log(np.exp(terms - top).sum(axis=-1, keepdims=True) * step))[..., 0])
