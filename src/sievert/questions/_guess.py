"""How well one record is guessed from a release, by someone who knows all the others."""

from __future__ import annotations

import math

from sievert.channels import TableNoise
from sievert.errors import TooLargeError
from sievert.files import Scenario
from sievert.measures import RecordLeakage, record_leakage
from sievert.policies import Policy
from sievert.questions._accept import has_noise_in_cells
from sievert.spaces import SecretGraph

__all__ = ["CLOSED_FORM", "guessed", "is_listed"]

CLOSED_FORM = "exact: by the likelihood ratios of the noise"
# Beyond this many pairs of a total and a value, the guess about one record is bounded by ε alone.
LARGEST_LISTED = 200_000
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000


def is_listed(scenario: Scenario) -> bool:
    """Whether the file's own channel on the listed answers is what is drawn.

    Noise on all multiples of a step is listed where the step is whole: a channel on integers.
    """
    noise = scenario.noise
    if has_noise_in_cells(scenario):
        return False
    if not isinstance(noise, TableNoise):
        return True
    whole = noise.limits is not None or noise.statistic.step.denominator == 1
    return whole and not scenario.tabulated.absence


def guessed(scenario: Scenario, eps: float) -> RecordLeakage:
    """Best guess about one record: by the noise, by the listed channel where it is small, else by ε alone."""
    policy, noise = scenario.policy, scenario.noise
    prior = scenario.document.adversary.record_prior or scenario.document.adversary.prior
    uniform = prior is None or prior.is_uniform
    if isinstance(noise, TableNoise) and uniform:
        known = noise.record_guess(policy)
        if known is not None:
            before, after = known
            return RecordLeakage(before, after, math.log2(after / before), (), CLOSED_FORM)
    small = policy.constrained or policy.records * len(policy.values) ** 2 <= LARGEST_LISTED
    if small and is_listed(scenario):
        try:
            return record_leakage(scenario.channel, scenario.answers, prior=scenario.record_prior)
        except TooLargeError:
            pass  # the bound below needs no list
    if uniform and len(policy.values) > LARGEST_PAIRS:
        before, after = _uniform_bound(policy, eps)
        return RecordLeakage.at_most(before, after, math.log2(after / before))
    return record_leakage(eps, policy, prior=scenario.record_prior)


def _uniform_bound(policy: Policy, eps: float) -> tuple[float, float]:
    """1/Σ_u e^(-ε·d(v, u)) at the worst of very many values, without listing their distances.

    Where all are equally far apart the sum is 1 + (n - 1)·e^(-ε·d); on a line it is least at an end.
    """
    size = len(policy.values)
    apart = policy.record_metric.uniform_distance
    if apart is not None:
        spread = 1 + (size - 1) * math.exp(-eps * apart)
    elif isinstance(policy.secrets, SecretGraph) and policy.secrets.is_path:
        spread = float(size) if eps == 0 else math.expm1(-eps * size) / math.expm1(-eps)
    else:
        spread = 1.0
    return 1 / size, min(1.0, 1 / spread)
