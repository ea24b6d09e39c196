"""Lines of values, and gains within a radius on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from sievert.channels import EpsilonOrAlpha, GeometricLaw, NoiseLaw, ScalarNoise
from sievert.measures import WithinRadius
from sievert.observations import TableLikelihood, likelihood_of
from sievert.policies import Statistic


def line(
    amounts: Sequence[int], law: NoiseLaw | float, belief: Sequence[float] | None = None
) -> TableLikelihood:
    """Values at amounts of a sum."""
    places = np.array(amounts, dtype=np.int64)
    statistic = Statistic((), ((),), np.zeros(len(places), np.int64), places, Fraction(1), "sum")
    noise = ScalarNoise(statistic, GeometricLaw(EpsilonOrAlpha(law, None)) if isinstance(law, float) else law)
    return likelihood_of(noise, np.full(len(places), 1 / len(places)) if belief is None else np.array(belief))


def windows(positions: Sequence[float], radius: float) -> WithinRadius:
    return WithinRadius(tuple(positions), np.array(positions, dtype=np.float64), radius, "windows")


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[int], list[float], list[float], float]:
    """Amounts in the order of the values or against it, positions, beliefs (some 0) and a radius."""
    size = draw(st.integers(2, 9))
    gaps = draw(st.lists(st.integers(0, 6), min_size=size, max_size=size))
    steps = draw(st.lists(st.sampled_from([0.1, 1.0, 2.5]), min_size=size, max_size=size))
    weights = draw(st.lists(st.sampled_from([0, 1, 1, 2, 7, 1000]), min_size=size, max_size=size))
    order = draw(st.permutations(range(size)))
    sign = draw(st.sampled_from([1, -1]))
    belief = np.array(weights, dtype=float) + (0 if any(weights) else 1)
    amounts, positions = sign * np.cumsum(gaps), np.cumsum(steps)
    radius = draw(st.sampled_from([0.0, 0.1, 0.2, 1.0, 2.5, 5.0, math.inf]))
    chosen = list(order)
    return (
        amounts[chosen].tolist(),
        positions[chosen].tolist(),
        (belief / belief.sum())[chosen].tolist(),
        radius,
    )
