"""Exact samplers on a bit source, and float reference samplers.

A sampler has one verb: `sampler.draw(inputs)` gives one independent output for each input. Additive ones
also have `sampler.noise(size)` and `sampler.variance`. Each says what it promises: `.exact` (integers only,
or floating point), `.timing` ("fixed" work by default, or "fast"), `.source` (the bits; `.source.secure`,
`.source.used` in bytes), `.parameters`, `.secure` (exact law on secret bits), `.to_dict()`, `str()`.

Every maker takes `timing="fixed"` and `insecure_rng=None` (the operating system; a seed, a numpy Generator or
a `BitSource` asked for by name). ε is rational: an int, a Fraction, a Decimal, a text such as "1/10", or a
float, read as it is written. `alpha` = e^-ε is a rational ratio.

    discrete_laplace(eps | alpha= | scale=)         integers: x + noise
    truncated_geometric(n, eps | alpha=)            x + noise, clamped to 0…n-1 (or low=, high= instead of n)
    irregular_geometric(points, eps | alpha=)       indices of increasing rational points
    randomised_response(n, eps | alpha=)            0…n-1: keep or replace by a uniform value
    rational_rows(matrix)                           row indices to column indices, any exact channel
    exponential_rows(distances, eps)                row indices to column indices, P ∝ e^(-ε·distance)
    pixelated_laplace(pixels, eps, *, low=0, high=1, denominator=None)    numbers to pixels 0…pixels-1
    planar_geometric(eps, *, bounds=None)           lattice points (n, 2): x + noise of P(z) ∝ e^(-ε·|z|)
    discrete_gaussian(sigma= | variance=)           integers: x + noise of P(z) ∝ e^(-z²/2σ²)
    staircase(eps, sensitivity)                     integers: x + noise that falls once in every Δ steps
    bit_flips(eps | alpha=)                         packed bits: each flipped with probability 1/(1 + e^ε)
    bernoulli(p), bernoulli_exp(gamma)              0 or 1
    bernoulli_exp_each(denominator)                 numerators of γ to 0 or 1, with probability e^-γ
    for_channel(channel)                            labels to labels: the exact sampler of any channel that
                                                    has one; refused otherwise (then floats.of_channel)
    laplace_radius(n, eps, p | upper=)              radius of n-dimensional Laplace noise; n = 2: the plane
    floats.laplace, .truncated_laplace, .planar_laplace, .laplace_vectors, .of_channel     reference tier
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "BitSource",
    "NoiseSampler",
    "OperatingSystemBits",
    "Sampler",
    "SeededBits",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exp_each",
    "bit_flips",
    "bit_source",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_rows",
    "floats",
    "for_channel",
    "irregular_geometric",
    "laplace_radius",
    "pixelated_laplace",
    "planar_geometric",
    "randomised_response",
    "rational_rows",
    "staircase",
    "truncated_geometric",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
