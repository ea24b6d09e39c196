"""Randomness of analyses: a seed, a generator, or nothing for a fresh one."""

from __future__ import annotations

import numpy as np

from sievert.errors import SievertError
from sievert.numerics.checks import instance, whole

__all__ = ["generator_of"]


def generator_of(rng: object, argument: str = "rng") -> np.random.Generator:
    """The generator that a seed ≥ 0 or a generator stands for; a fresh one for None."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    instance(argument, rng, int | np.integer, "a seed, a numpy.random.Generator or None", SievertError)
    return np.random.default_rng(whole(argument, rng, least=0))
