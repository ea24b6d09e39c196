"""Several tables in one release: what each costs, alone and for the pair of values that costs most in all."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from sievert.channels import Channel, JointNoise, QuantileNoise, TableNoise
from sievert.files import PolicyScenario, ReleaseModel
from sievert.results import Result

__all__ = ["JointCost", "TableCost", "joint_cost"]


@dataclass(frozen=True)
class TableCost(Result):
    """One of several tables.

    Attributes
    ----------
    name : what it is called
    words : what it is
    noise : what is added to it
    symbol : what costs are in: ε, or ρ where some noise keeps no ε
    cost_alone : what it would cost by itself
    cost_at_pair : what it costs for the pair that costs most in all
    noise_sd, radius : standard deviation of a number, and how far off it is at most at `confidence` (None
        for a quantile)
    ranks : for a quantile: how many records further from its rank than the best grid point it is at most
    """

    name: str
    words: str
    noise: str
    symbol: str
    cost_alone: Fraction
    cost_at_pair: Fraction
    noise_sd: float | None
    radius: Fraction | None
    ranks: float | None


@dataclass(frozen=True)
class JointCost(Result):
    """Several tables on one ε, or on one ρ.

    Attributes
    ----------
    symbol : what costs are in: ε, or ρ where some noise keeps no ε
    cost : what they cost in all
    sum_of_parts : what they would cost if each were charged by itself
    pair : two values of a record that cost most
    exact : whether the pair attains the cost; otherwise it is the sum of what each costs alone
    confidence : of the errors
    """

    symbol: str
    cost: Fraction
    sum_of_parts: Fraction
    pair: tuple[Hashable, Hashable] | None
    exact: bool
    confidence: float
    tables: tuple[TableCost, ...]


@singledispatch
def joint_cost(channel: Channel, scenario: PolicyScenario) -> JointCost | None:
    """What each of several tables costs; None where there is only one."""
    return None


@joint_cost.register
def _of_several(noise: JointNoise, scenario: PolicyScenario) -> JointCost | None:
    rules = scenario.document.release or ReleaseModel()
    joint, in_rho = noise.charged, not noise.keeps_eps
    symbol = "ρ" if in_rho else "ε"
    alone = [
        JointNoise([part], [name], noise.policy, noise.absence).largest(in_rho).cost
        for part, name in zip(noise.parts, noise.names, strict=True)
    ]
    tables = [
        _share(part, name, (symbol, cost, at_pair), rules.confidence)
        for part, name, cost, at_pair in zip(noise.parts, noise.names, alone, joint.parts, strict=True)
    ]
    return JointCost(
        symbol,
        joint.cost,
        sum(alone, Fraction(0)),
        joint.pair,
        joint.exact,
        rules.confidence,
        tuple(tables),
    )


def _share(
    part: TableNoise | QuantileNoise, name: str, costs: tuple[str, Fraction, Fraction], confidence: float
) -> TableCost:
    words = part.statistic.words
    if isinstance(part, QuantileNoise):
        ranks = part.ranks_off(confidence)
        return TableCost(name, words, part.words(), *costs, None, None, ranks)
    law, step = part.law, part.statistic.step
    if math.isinf(law.deviation):
        return TableCost(name, words, part.words(), *costs, None, None, None)
    sd, radius = float(step) * law.deviation, law.radius(confidence) * step
    return TableCost(name, words, part.words(), *costs, sd, radius, None)
