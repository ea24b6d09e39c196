"""Gains behind a channel with a list, by simulation: inputs are drawn, and how often each output is seen."""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.errors import GainError, TooLargeError
from sievert.measures import GainFunction, GainMatrix
from sievert.observations._contribution_classes import SimulatedVulnerability, prior_value
from sievert.observations._error_bounds import RISK
from sievert.observations._matrix_gains import distinct_situations, situations_of
from sievert.observations._simulations import (
    AT_ONCE,
    FEWEST,
    MOST,
    SIMULATED,
    Plan,
    posterior_gains,
    simulation,
)
from sievert.observations._types import observation_count
from sievert.policies import Answers

__all__ = ["simulated_gain", "simulated_record_gain"]

# Situations of the other records that are simulated, each with its part of the work.
MOST_SITUATIONS = 32
# Products of a matrix that take as long as one belief.
PRODUCTS = 50


def simulated_gain(
    channel: Channel,
    adversary: GainFunction,
    belief: FloatArray,
    releases: int,
    rng: int | np.random.Generator | None = None,
    share: int = 1,
) -> SimulatedVulnerability:
    """What an adversary gains about the channel's input after several releases, by simulation.

    Parameters
    ----------
    channel : what is observed
    adversary : a gain or loss over its inputs, in their order
    belief : in each input
    releases : how many
    rng : seed of the simulation
    share : the part of the work, and of the risk that the interval misses the gain

    Returns
    -------
    SimulatedVulnerability
        The mean with its 99.9 % interval; an estimate beside a bound, never one itself.
    """
    logs, count = channel.finite().log_matrix, observation_count(releases, GainError)
    return _simulated(logs, np.arange(len(logs)), adversary, belief, count, rng, share, RISK / share)


def simulated_record_gain(
    channel: Channel,
    answers: Answers,
    adversary: GainFunction,
    releases: int,
    prior: object = None,
    rng: int | np.random.Generator | None = None,
    share: int = 1,
) -> SimulatedVulnerability:
    """What an adversary gains about one record, in the situation of the others where that is most.

    Every situation is simulated; the interval is for the largest of them, or the least of losses.
    """
    count = observation_count(releases, GainError)
    finite = channel.finite()
    belief = as_prior(prior, answers.policy.values).astype(np.float64)
    rows, beliefs = situations_of(finite, answers, belief)
    chosen = distinct_situations(finite, rows, beliefs, MOST_SITUATIONS)
    if chosen is None:
        raise TooLargeError("the other records leave too many situations to simulate each", size=math.inf)
    found = [
        _simulated(
            finite.log_matrix,
            np.where(rows[i] >= 0, rows[i], rows[i].max()),
            adversary,
            beliefs[i],
            count,
            rng,
            share * len(chosen),
            RISK / share / len(chosen),
        )
        for i in chosen
    ]
    best = min if adversary.is_loss else max
    ends = best(item.lower for item in found), best(item.upper for item in found)
    largest = best(found, key=lambda item: item.value)
    return SimulatedVulnerability(
        adversary.name, largest.value, *ends, sum(item.samples for item in found), count
    )


def _simulated(
    logs: FloatArray,
    place: IndexArray,
    adversary: GainFunction,
    belief: FloatArray,
    releases: int,
    rng: int | np.random.Generator | None,
    share: int,
    risk: float,
) -> SimulatedVulnerability:
    """With rows of the channel, and which of them each value leads to."""
    distinct, row = np.unique(place, return_inverse=True)
    row = row.ravel()
    shown = Channel.trusted(logs[distinct], "log").reduced().log_matrix
    inputs, outputs = shown.shape
    actions = len(adversary.table) if isinstance(adversary, GainMatrix) else 1
    work = len(belief) + outputs + (inputs * outputs + actions * len(belief)) // PRODUCTS
    samples = min(SIMULATED // share // work, MOST // share)
    if samples < FEWEST:
        raise TooLargeError("this channel is too large to be simulated", size=work)
    zero = np.isneginf(shown)
    finite, chances = np.where(zero, 0.0, shown), np.exp(shown)
    chances /= chances.sum(axis=1, keepdims=True)

    def draw(size: int, generator: np.random.Generator) -> FloatArray:
        values = generator.choice(len(belief), size, p=belief / belief.sum())
        counts = generator.multinomial(releases, chances[row[values]])
        seen: FloatArray = finite @ counts.T
        if zero.any():
            seen[zero @ counts.T > 0] = -np.inf
        return posterior_gains(adversary, belief, seen[row])

    with np.errstate(invalid="ignore"):
        widest = float((shown.max(axis=0) - shown.min(axis=0)).max(initial=0.0))
    plan = Plan(samples, max(1, AT_ONCE // work), releases, rng, risk)
    return simulation(adversary, prior_value(adversary, belief), releases * widest, draw, plan)
