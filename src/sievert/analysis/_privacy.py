"""The privacy parameters of a measurement: ε by its channel or its sensitivity, ρ by its noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

from sievert.analysis._measurement import Measurement
from sievert.channels import Channel, Epsilon, JointNoise, PlanarNoise, TableNoise, epsilon
from sievert.policies import joint_sensitivity

__all__ = ["epsilon_of", "rho_of"]

# By how much a difference of logarithms of listed probabilities may be off: some units in their last place.
ROUNDED_LOGARITHMS = 1e-13
SAME_PROBABILITY = 1e-9


@singledispatch
def epsilon_of(channel: Channel, measurement: Measurement) -> Epsilon:
    """By looking at all outputs of all neighbours; to the last digits where the law of the noise is known."""
    found = epsilon(channel, measurement.answers)
    law = _eps_of_law(measurement)
    same = law is not None and abs(found.nats - law) <= ROUNDED_LOGARITHMS + SAME_PROBABILITY * law
    return replace(found, nats=law) if law is not None and same and found.exact is None else found


def _eps_of_law(measurement: Measurement) -> float | None:
    """The ε of noise that is added to a table, by its sensitivity; None where public knowledge is in play."""
    if measurement.policy.constrained or not measurement.is_table:
        return None
    noise = measurement.table_noise
    return noise.nats_of(measurement.sensitivity) if isinstance(noise, TableNoise) else None


@epsilon_of.register
def _of_table(noise: TableNoise, measurement: Measurement) -> Epsilon:
    """By the sensitivity of the table: its largest move needs all of the noise (Fernandes, Lem 3.6)."""
    sensitivity = measurement.sensitivity
    nats = noise.nats_of(sensitivity)
    return Epsilon(nats, sensitivity.pair if nats else None, None, None, 1.0)


@epsilon_of.register
def _of_several(noise: JointNoise, measurement: Measurement) -> Epsilon:
    """The largest sum of what the tables cost, over one pair of neighbours."""
    if not noise.keeps_eps:
        return Epsilon(math.inf, None, None, None, 1.0)
    found = noise.joint
    return Epsilon(float(found.cost), found.pair if found.cost else None, None, None, 1.0)


@epsilon_of.register
def _of_map(noise: PlanarNoise, measurement: Measurement) -> Epsilon:
    """For each metre between the centres of cells (Fernandes, 3.13)."""
    return Epsilon(float(noise.eps), None, None, None, 1.0)


@singledispatch
def rho_of(channel: Channel, measurement: Measurement) -> Fraction | None:
    """The ρ for one record of noise in cells; None: not known."""
    return None


@rho_of.register
def _rho_of_several(noise: JointNoise, measurement: Measurement) -> Fraction | None:
    return None if measurement.policy.is_metric else noise.joint_rho.cost


@rho_of.register
def _rho_of_table(noise: TableNoise, measurement: Measurement) -> Fraction | None:
    """For one record, and a unit of distance squared."""
    policy = measurement.policy
    if policy.is_metric:
        return None
    absence = measurement.absence and policy.absent is None
    return joint_sensitivity(policy, [noise.statistic], [noise.law.rho_of], absence=absence, power=2).cost
