"""What every sampler is: one verb, where its bits come from, and what it promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, Never

import numpy as np
from numpy.typing import NDArray

from sievert.errors import MechanismError
from sievert.numerics.checks import brief, choice
from sievert.sampling.bits import BitSource, bit_source

__all__ = ["FURTHEST", "LARGEST_INPUT", "NoiseSampler", "Sampler", "Timing", "integers"]

Timing = Literal["fixed", "fast"]
IntArray = NDArray[np.int64]

# Noise is clipped to ±FURTHEST and outputs to ±LARGEST_INPUT. Inputs lie within ±LARGEST_INPUT, so the first
# clip changes no output: together they are one clamp of the exact output, which costs no privacy.
FURTHEST = 2**62
LARGEST_INPUT = 2**61


class Sampler(ABC):
    """Draws outputs of a mechanism.

    Attributes
    ----------
    kind : the family, in words
    exact : whether the law is exactly the stated one (integers only) or subject to floating point
    timing : "fixed" (equal work whatever the noise, the default) or "fast" (an observer of the run time
        learns how many draws of a batch needed more bits)
    source : where the bits come from; `source.used` counts bytes, `source.secure` says whether a release
        may use it
    """

    kind: str = "noise"
    exact: bool = True

    def __init__(self, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        choice("timing", timing, ("fixed", "fast"), MechanismError)
        self.timing: Timing = timing
        self.source: BitSource = bit_source(insecure_rng)

    @property
    def secure(self) -> bool:
        """Whether the output may be released: an exact law on secret bits."""
        return self.exact and self.source.secure

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What defines the law, as plain data (fractions as texts)."""

    @abstractmethod
    def draw(self, inputs: Any) -> NDArray[Any]:
        """One independent output for each input."""

    def to_dict(self) -> dict[str, Any]:
        """What a release writes beside its output."""
        return {
            "kind": self.kind,
            "parameters": self.parameters,
            "arithmetic": "exact" if self.exact else "float",
            "timing": self.timing,
            "bits": self.source.name,
            "secure": self.secure,
        }

    def __str__(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        arithmetic = "exact" if self.exact else "floating point, not for release"
        return f"{self.kind} ({settings}); {arithmetic}; {self.timing} work; bits from {self.source.name}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> Never:
        raise MechanismError(
            "a sampler does not pickle: a copy would use the same random bits twice; pickle the channel and "
            "call sv.sampling.for_channel where it is drawn"
        )


class NoiseSampler(Sampler):
    """Noise that does not depend on the input and is added to it."""

    @abstractmethod
    def noise(self, size: int) -> NDArray[Any]:
        """`size` independent draws of the noise alone."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise of one draw (of one coordinate, in the plane)."""

    def draw(self, inputs: Any) -> NDArray[Any]:
        """Integers plus noise; sums beyond ±2^61 are clamped there (post-processing)."""
        values = integers(inputs)
        noisy = self.noise(len(values))  # before any input is added: time does not depend on it
        noisy += values
        return np.clip(noisy, -LARGEST_INPUT, LARGEST_INPUT, out=noisy)


def integers(
    inputs: Any, low: int = -LARGEST_INPUT, high: int = LARGEST_INPUT, coordinates: int | None = None
) -> IntArray:
    """Inputs as 64-bit integers within the given bounds: a list, or rows of as many coordinates."""
    try:
        values = np.asarray(inputs)
    except (TypeError, ValueError):
        raise MechanismError(f"inputs is {brief(inputs)}; give a list or an array of integers") from None
    if values.ndim == 0:
        raise MechanismError(f"inputs is {brief(inputs)}; give a list or an array of integers")
    if values.shape[1:] != (() if coordinates is None else (coordinates,)) and values.size:
        wanted = "a list of integers" if coordinates is None else f"rows of {coordinates} integers"
        raise MechanismError(f"inputs has shape {values.shape}; give {wanted}")
    if values.size == 0:
        return np.empty(0 if coordinates is None else (0, coordinates), np.int64)
    if values.dtype.kind not in "iub":
        whole = values.dtype.kind == "f" and bool((values == np.floor(values)).all())
        if not whole or bool((np.abs(values) >= 2.0**62).any()):
            bad = values.ravel()[0] if values.dtype.kind != "f" else _first_bad(values)
            raise MechanismError(
                f"inputs: {brief(bad)} is not an integer of at most 61 bits; round or scale first"
            )
    smallest, largest = int(values.min()), int(values.max())
    if smallest < low or largest > high:
        bad = smallest if smallest < low else largest
        raise MechanismError(f"inputs: {bad} is not from {low} to {high}; clamp the inputs first")
    return values.astype(np.int64, copy=False)


def _first_bad(values: NDArray[Any]) -> float:
    wrong = (values != np.floor(values)) | ~(np.abs(values) < 2.0**62)
    return float(values[wrong].ravel()[0])
