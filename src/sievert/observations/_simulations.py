"""Gains by simulation: secrets and releases are drawn, and what the best action gains is averaged.

The belief after the releases is known for every sample, so that its expected gain is averaged rather than
single hits counted: the interval (Maurer and Pontil) is narrower for the same work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sievert.arrays import FloatArray
from sievert.measures import GainFunction
from sievert.numerics import generator_of
from sievert.observations._contribution_classes import SimulatedVulnerability
from sievert.observations._error_bounds import RISK, mean_interval

__all__ = ["AT_ONCE", "FEWEST", "MOST", "SIMULATED", "Plan", "posterior_gains", "simulation"]

# Beliefs that one simulation computes by default, and how many records it draws at least and at most.
SIMULATED = 30_000_000
FEWEST, MOST = 50, 20_000
# Beliefs that are computed at once: they stay near the processor.
AT_ONCE = 2_000_000
# The least gain whose logarithm is taken.
TINY = 1e-300


class Plan(NamedTuple):
    """How many samples, how many of them at once, of how many releases each, and from which seed.

    `risk` is how likely the interval may miss the gain.
    """

    samples: int
    at_once: int
    releases: int
    rng: int | np.random.Generator | None
    risk: float = RISK


def simulation(
    adversary: GainFunction,
    before: float,
    log_lift: float,
    draw: Callable[[int, np.random.Generator], FloatArray],
    plan: Plan,
    given: str = "",
) -> SimulatedVulnerability:
    """The mean of drawn gains with its interval.

    `before` is the gain without a release, `log_lift` ln of how much any output raises any belief at most,
    `draw` what the best action gains in so many samples, and `given` in which situation of the others.
    """
    generator = generator_of(plan.rng)
    drawn = np.concatenate(
        [
            draw(min(plan.at_once, plan.samples - start), generator)
            for start in range(0, plan.samples, plan.at_once)
        ]
    )
    least, most = adversary.bounds() or (min(0.0, float(drawn.min())), float(drawn.max()))
    if least >= 0:
        # No output multiplies a gain by more than the largest likelihood over the average one.
        nats = math.log(max(before, TINY)) + log_lift
        most = min(most, math.exp(min(nats, 0.0)) if most <= 1 else math.exp(min(nats, 700.0)))
    lower, upper = mean_interval(drawn, least, max(most, float(drawn.max())), plan.risk)
    return SimulatedVulnerability(
        adversary.name, float(drawn.mean()), lower, upper, plan.samples, plan.releases, given
    )


def posterior_gains(adversary: GainFunction, belief: FloatArray, logs: FloatArray) -> FloatArray:
    """What the best action gains in every sample, from log-likelihoods [value, sample]."""
    if not (belief > 0).all():
        logs = np.where(belief[:, None] > 0, logs, -np.inf)
    joint = np.exp(logs - logs.max(axis=0))
    joint *= belief[:, None]
    return np.asarray(adversary.values(joint / joint.sum(axis=0)), dtype=np.float64)
