"""The reference tier: floating-point samplers for simulations and plots, not for release.

Which floats such a sampler can produce depends on its input (see `attack`), so its output may reveal the
input with certainty. Each says so: `exact` is False, and so is `secure`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln

from sievert.arrays import FloatArray, IntArray
from sievert.channels import Channel
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, generator_of, positive, whole
from sievert.sampling._base import BitSource, Lanes, Sampler, Timing
from sievert.spaces import floats as real_numbers
from sievert.spaces import label

__all__ = [
    "FloatRows",
    "FloatSampler",
    "GeneratorBits",
    "laplace",
    "laplace_radius",
    "laplace_vectors",
    "normaliser",
    "of_channel",
    "planar_laplace",
    "truncated_laplace",
]

MOST_DIMENSIONS = 1_000_000


def __dir__() -> list[str]:
    return sorted(__all__)


class GeneratorBits(BitSource):
    """numpy's generator: good for simulation, not for secrets."""

    name = "numpy's generator (not secret)"
    secure = False

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__()
        self._generator = generator

    def _words(self, level: int, lanes: Lanes, dtype: np.dtype[Any]) -> NDArray[Any]:
        return self._generator.integers(0, 2 ** (8 * dtype.itemsize), len(lanes), dtype=dtype)


class FloatSampler(Sampler):
    """A floating-point sampler on a numpy generator; repeatable with a seed, never for release."""

    exact = False

    def __init__(
        self,
        kind: str,
        parameters: dict[str, Any],
        transform: Callable[[Any, np.random.Generator], NDArray[Any]],
        insecure_rng: object = None,
    ) -> None:
        generator = generator_of(insecure_rng, "insecure_rng")
        super().__init__("fast", GeneratorBits(generator))
        self.kind, self._parameters, self._transform = kind, parameters, transform
        self._generator = generator

    @property
    def parameters(self) -> dict[str, Any]:
        return self._parameters

    def draw(self, inputs: Any) -> NDArray[Any]:
        """One simulated output for each input."""
        return self._transform(inputs, self._generator)


def laplace(scale: float, *, insecure_rng: object = None) -> FloatSampler:
    """x plus Laplace noise of density e^(-|z|/scale)/(2·scale): the textbook sampler.

    >>> laplace(1.0, insecure_rng=1).secure
    False
    """
    width = positive("scale", scale, MechanismError)

    def transform(inputs: Any, generator: np.random.Generator) -> NDArray[Any]:
        values = np.asarray(inputs, dtype=np.float64)
        return np.asarray(values + generator.laplace(0.0, width, values.shape))

    return FloatSampler("Laplace", {"scale": width}, transform, insecure_rng)


def truncated_laplace(
    eps: float, low: float = 0.0, high: float = 1.0, *, insecure_rng: object = None
) -> FloatSampler:
    """Laplace noise of rate eps, clamped to [low, high]; an end at distance d from x gets mass e^(-ε·d)/2."""
    rate = positive("eps", eps, MechanismError)

    def transform(inputs: Any, generator: np.random.Generator) -> NDArray[Any]:
        values = np.asarray(inputs, dtype=np.float64)
        return np.asarray(np.clip(values + generator.laplace(0.0, 1 / rate, values.shape), low, high))

    return FloatSampler("truncated Laplace", {"eps": rate, "low": low, "high": high}, transform, insecure_rng)


def planar_laplace(eps: float, *, insecure_rng: object = None) -> FloatSampler:
    """Points of the plane plus noise of density ε²/2π·e^(-ε·|z|) (Andrés et al. 2013)."""
    sampler = laplace_vectors(2, eps, insecure_rng=insecure_rng)
    sampler.kind = "planar Laplace"
    return sampler


def laplace_vectors(n: int, eps: float, *, insecure_rng: object = None) -> FloatSampler:
    """Vectors of n coordinates plus noise of density c_n·e^(-ε·|v|), Euclidean norm (Fernandes, Thm 9.7).

    The norm of the noise is Gamma(n, 1/ε): n/ε on average, so it grows linearly with n.
    """
    rate = positive("eps", eps, MechanismError)
    n = whole("n", n, MechanismError)
    if math.isinf(laplace_radius(n, rate, upper=2.0**-54)):
        raise MechanismError(
            f"eps is {abbreviated(eps)}; the noise goes beyond the largest float, count distances in a "
            f"larger unit"
        )

    def transform(inputs: Any, generator: np.random.Generator) -> NDArray[Any]:
        values = np.asarray(inputs, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != n:
            raise MechanismError(f"inputs has shape {values.shape}; give rows of {n} numbers")
        directions = generator.standard_normal(values.shape)
        norms = np.linalg.norm(directions, axis=1)
        while (zero := np.flatnonzero(norms == 0)).size:
            directions[zero] = generator.standard_normal((zero.size, n))
            norms[zero] = np.linalg.norm(directions[zero], axis=1)
        lengths = laplace_radius(n, rate, generator.random(len(values)))
        return np.asarray(values + directions * (lengths / norms)[:, None])

    return FloatSampler("n-dimensional Laplace", {"n": n, "eps": rate}, transform, insecure_rng)


def laplace_radius(n: int, eps: float, p: Any = None, *, upper: Any = None) -> Any:
    """The norm below which n-dimensional Laplace noise stays with probability p (or 1 - upper).

    Parameters
    ----------
    n : dimensions of the noise; 2 for planar Laplace noise
    eps : ε in nats per unit of distance
    p : probability that the norm is below the answer
    upper : 1 - p instead, where p is near 1

    Returns
    -------
    float or array
        In the unit of distance.

    Notes
    -----
    By the inverse incomplete gamma function: the lower branch of Lambert's W, often given for the plane,
    loses every digit near p = 0.

    Cost: one evaluation an entry of p.

    Examples
    --------
    >>> round(float(laplace_radius(2, 1.0, 0.95)), 12)
    4.743864518391
    """
    if (p is None) == (upper is None):
        raise MechanismError("give exactly one of p and upper = 1 - p")
    dimensions = whole("n", n, MechanismError, most=MOST_DIMENSIONS)
    rate = positive("eps", eps, MechanismError)
    side, given, inverse = ("p", p, gammaincinv) if p is not None else ("upper", upper, gammainccinv)
    with np.errstate(over="ignore"):  # ∞ where no float is large enough
        return inverse(dimensions, _probabilities(side, given)) / rate


def _probabilities(argument: str, given: Any) -> FloatArray:
    """A probability, or an array of them."""
    rule = "it must be a probability from 0 to 1, or an array of them"
    found = real_numbers(given, argument, MechanismError, rule)
    if not ((found >= 0) & (found <= 1)).all():
        raise MechanismError(f"{argument} is {abbreviated(given)}; {rule}")
    return found


def normaliser(n: int, eps: float = 1.0) -> float:
    """c_n = ε^n·Γ(n/2)/(2·π^(n/2)·Γ(n)), the density of n-dimensional Laplace noise at 0."""
    return math.exp(n * math.log(eps) + gammaln(n / 2) - math.log(2) - n / 2 * math.log(math.pi) - gammaln(n))


def of_channel(channel: Channel, *, insecure_rng: object = None) -> FloatSampler:
    """`Channel.sample` as a sampler: labels to labels, by floating point."""
    return FloatSampler(
        "channel",
        {"channel": repr(channel)},
        channel.sample,
        insecure_rng,
    )


class FloatRows(Sampler):
    """Positions of a channel by floating point, for a release whose file asks for it: marked as not exact."""

    kind = "channel"
    exact = False

    def __init__(self, channel: Channel, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self._channel = channel
        self._position = {item: i for i, item in enumerate(channel.outputs)}

    @property
    def parameters(self) -> dict[str, Any]:
        """Its size."""
        return {"inputs": self._channel.shape[0], "outputs": self._channel.shape[1]}

    def draw(self, inputs: Any) -> IntArray:
        """Positions of outputs for positions of inputs."""
        # A fresh generator for each batch, seeded with 256 bits of the source.
        seed = self.source.words(0, self.source.reserve(4)).tolist()
        labels = [self._channel.inputs[i] for i in np.asarray(inputs).tolist()]
        drawn = self._channel.sample(labels, np.random.default_rng(seed))
        return np.array([self._position[label(item)] for item in drawn], dtype=np.int64)
