"""How well one record is guessed from a release, by someone who knows all the others."""

from __future__ import annotations

import math

from sievert.errors import TooLargeError
from sievert.measures import record_leakage
from sievert.policies import Policy
from sievert.release._errors import AddedNoise, Randomiser
from sievert.release._places import PlaceNoise
from sievert.release._plan import Plan
from sievert.spaces import SecretGraph

__all__ = ["CLOSED_FORM", "guesses", "histogram_guess"]

CLOSED_FORM = "exact: by the likelihood ratios of the noise"
# Beyond this many pairs of a total and a value, the guess about one record is bounded by ε alone.
LARGEST_LISTED = 200_000
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000


def guesses(plan: Plan) -> tuple[float | None, float | None, bool]:
    """Best guess about one record before and after, and whether the latter is only a bound."""
    scenario, mechanism = plan.scenario, plan.mechanism
    if isinstance(mechanism, PlaceNoise):
        return None, None, False
    policy = scenario.policy
    adversary = scenario.document.adversary
    prior = adversary.record_prior or adversary.prior
    uniform = prior is None or prior.is_uniform
    histogram = plan.central and plan.table is not None and len(plan.table.cells) > 1
    plain_policy = policy.records > 1 and policy.hides_any_two and not policy.constrained
    if histogram and isinstance(mechanism, AddedNoise) and uniform and plain_policy:
        assert plan.table is not None
        if len(plan.table.cells) == len(policy.values):
            return histogram_guess(len(policy.values), mechanism.rate)
    small = policy.constrained or policy.records * len(policy.values) ** 2 <= LARGEST_LISTED
    if small and not (histogram and isinstance(mechanism, AddedNoise)) and _has_channel(plan):
        try:
            found = record_leakage(scenario.channel, scenario.answers, scenario.record_prior)
            return found.before, found.after, found.method.startswith("bound")
        except TooLargeError:
            pass  # the bound below needs no list
    if uniform and len(policy.values) > LARGEST_PAIRS:
        return _uniform_bound(policy, float(plan.unit_eps))
    found = record_leakage(float(plan.unit_eps), policy, scenario.record_prior)
    return found.before, found.after, True


def _uniform_bound(policy: Policy, eps: float) -> tuple[float, float, bool]:
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
    return 1 / size, min(1.0, 1 / spread), True


def _has_channel(plan: Plan) -> bool:
    """Whether the file's own channel is what is drawn from."""
    return isinstance(plan.mechanism, Randomiser) or not plan.domain().drops


def histogram_guess(values: int, rate: float) -> tuple[float, float, bool]:
    """Best guess about one record, uniform among the values, from a histogram with noise in every cell.

    A record of value v multiplies the likelihood of the noise by e^ε₀ where cell v came out above the count
    of the others, and by e^-ε₀ where it did not. So the guess is right with probability
    (e^ε₀·(1 - q) + e^-ε₀·q)/n, where q = (1 + e^-ε₀)^-n is the chance that no cell came out above.

    >>> before, after, _ = histogram_guess(2, math.log(2))
    >>> before, after
    (0.5, 0.666666666)
    """
    none_above = math.exp(-values * math.log1p(math.exp(-rate)))
    after = (math.exp(rate) * (1 - none_above) + math.exp(-rate) * none_above) / values
    return 1 / values, min(1.0, after), False
