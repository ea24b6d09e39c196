"""Is a given mechanism the best for a prior and a loss? With a dual certificate either way.

The certificate is that of the design: on a line it is found without a program, in O(inputs·actions), and a
mechanism known by a rule is judged by its rule, so that nothing is as large as its matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel, finite_channel, target_metric
from sievert.channels.priors import as_prior
from sievert.design._candidates import remap
from sievert.design._optimal import as_loss, optimal_mechanism
from sievert.errors import ChannelError
from sievert.geometry import PrivateColumns
from sievert.measures import GainMatrix, posterior_vulnerability
from sievert.mechanisms import privacy
from sievert.numerics import non_negative
from sievert.policies import Answers, Policy
from sievert.proofs import ExactDesignProof, Proof
from sievert.results import Result
from sievert.spaces import Metric, align

__all__ = ["Optimality", "is_optimal"]

# Entries up to which a mechanism known by a rule is judged by its matrix, exactly where that is exact.
LISTED = 10_000


@dataclass(frozen=True, eq=False)
class Optimality(Result):
    """Whether a mechanism loses least among the private ones, for a prior and a loss.

    Attributes
    ----------
    holds : whether it does; in floats up to `tolerance`; None where the bounds do not tell
    loss : what it loses with the best action for each output
    lower_bound : no private mechanism loses less; proved
    better : a private mechanism that loses less, where there is one
    exact : whether it was decided in fractions
    certificate : proof of the lower bound, with the given mechanism where that is optimal exactly
    """

    holds: bool | None
    loss: float | Fraction
    lower_bound: float | Fraction
    better: Channel | None = field(repr=False)
    exact: bool
    certificate: Proof = field(repr=False)

    @property
    def gap(self) -> float | Fraction:
        """How much more than the best it may lose."""
        return self.loss - self.lower_bound

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        if self.holds is None:
            return f"not decided: it loses at most {float(self.gap):.3g} more than the best"
        if self.holds:
            to = "" if self.exact else f", up to {max(float(self.gap), 0.0):.1e}"
            return f"optimal: it loses {float(self.loss):.6g}, and no private mechanism less{to}"
        return f"not optimal: it loses {float(self.loss):.6g}, the best {float(self.lower_bound):.6g}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return {**found, "gap": float(self.gap)}


def is_optimal(
    mechanism: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    prior: object = None,
    loss: object = None,
    *,
    alpha: object = None,
    tolerance: float = 1e-8,
) -> Optimality:
    """Whether a private mechanism loses least for a prior and a loss, with a dual certificate.

    Parameters
    ----------
    mechanism : a private mechanism; one that is not private is refused with the violated pair
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance
    prior : what is known about the inputs; uniform by default
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; fractions throughout decide exactly
    tolerance : in floats, the share of the largest loss (over what is lost at least) that a gap may have and
        count as none

    Returns
    -------
    Optimality
        With a better mechanism where there is one.

    Notes
    -----
    The mechanism's outputs are used with the best action for each. The lower bound is that of
    `sv.optimal_mechanism`: on a line the multipliers that prove it come from the geometric mechanism, without
    a program, wherever that is optimal.

    Cost: O(inputs·actions) on a line for the geometric mechanism of more than 100 inputs; in general
    O(inputs·actions·outputs) for the loss, and that of `sv.optimal_mechanism`.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.mechanisms import randomised_response, truncated_geometric
    >>> from sievert.spaces import metrics
    >>> geometric = truncated_geometric(3, alpha="1/2")
    >>> print(is_optimal(geometric, metrics.line(3), alpha="1/2", loss=losses.absolute(3)))
    optimal: it loses 0.555556, and no private mechanism less
    >>> print(is_optimal(geometric, metrics.line(3), alpha="1/2", loss=[[7, 0, 7], [3, 10, 3]]))
    not optimal: it loses 4.66667, the best 4
    """
    tolerance = non_negative("tolerance", tolerance)
    space = target_metric(metric)
    wanted = as_loss(loss, space.points)
    belief = as_prior(prior, space.points)
    given = _ordered(mechanism, space)
    exact = _is_private_exactly(given, space, eps, alpha)
    best = optimal_mechanism(space, eps, belief, wanted, alpha=alpha)
    after = _lost(given, belief, wanted)
    if exact and isinstance(after, Fraction) and best.mechanism.form == "exact":
        holds: bool | None = after == best.loss
        proof = best.certificate
        if holds and isinstance(proof, ExactDesignProof):
            proof = replace(proof, channel=remap(given, belief, wanted).mechanism.entries)
        return Optimality(holds, after, best.loss, None if holds else best.mechanism, True, proof)
    floats = np.asarray(wanted.table, dtype=np.float64)
    allowed = tolerance * float((floats - floats.min(axis=0)).max())
    holds = True if float(after) - float(best.lower_bound) <= allowed else None
    if float(after) - float(best.loss) > allowed:
        holds = False
    better = None if holds is not False else best.mechanism
    return Optimality(holds, float(after), best.lower_bound, better, False, best.certificate)


def _ordered(channel: Channel, metric: Metric) -> Channel:
    """The same channel with its rows in the order of the metric."""
    finite = finite_channel(channel, "mechanism")
    order = align(metric.points, finite.inputs, "the inputs of the mechanism", ChannelError)
    if order is None or order == list(range(len(order))):
        return finite
    return Channel.trusted(finite.entries[order], finite.form, metric.points, finite.outputs)


def _is_private_exactly(channel: Channel, metric: Metric, eps: float | None, alpha: object) -> bool:
    """Whether a mechanism is private in fractions (True) or floats; MechanismError where it is not.

    A rule may know its ε without its matrix; what exceeds it by rounding alone is left to the matrix.
    """
    if channel.is_rule_beyond(LISTED):
        known = channel.smallest_epsilon(metric)
        if known is not None and known[0] <= privacy(eps, alpha).eps:
            return False
    return PrivateColumns(channel, metric, eps, alpha).exact


def _lost(channel: Channel, belief: AnyArray, loss: GainMatrix) -> float | Fraction:
    """The loss with the best action for each output; by a rule's products where it is one."""
    if channel.is_rule_beyond(LISTED):
        return float(loss.values_by_products(channel.rmatvec, belief.astype(np.float64)).sum())
    found: float | Fraction = posterior_vulnerability(channel, belief, loss).value
    return found
