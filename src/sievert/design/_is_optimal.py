"""Is a given mechanism the best for a prior and a loss? With a dual certificate either way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import Channel, target_metric
from sievert.design._candidates import remap
from sievert.design._optimal import as_loss, optimal_mechanism
from sievert.geometry import PrivateColumns
from sievert.numerics import non_negative
from sievert.policies import Answers, Policy
from sievert.proofs import ExactDesignProof, Proof
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Optimality", "is_optimal"]


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
    tolerance : in floats, the share of the largest loss that a gap may have and count as none

    Returns
    -------
    Optimality
        With a better mechanism where there is one.

    Notes
    -----
    The mechanism's outputs are used with the best action for each. On a line the multipliers of the geometric
    mechanism are computed without a program.

    Cost: O(inputs·actions·outputs) for the loss, and that of `sv.optimal_mechanism`.

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
    columns = PrivateColumns(mechanism, metric, eps, alpha)
    space = target_metric(metric)
    wanted = as_loss(loss, space.points)
    own = remap(mechanism, prior, wanted)
    best = optimal_mechanism(space, eps, prior, wanted, alpha=alpha)
    exact = columns.exact and isinstance(own.after, Fraction) and best.mechanism.form == "exact"
    if exact:
        holds: bool | None = own.after == best.loss
        proof = best.certificate
        if holds and isinstance(proof, ExactDesignProof):
            given = own.mechanism if own.mechanism.inputs == space.points else _ordered(own.mechanism, space)
            proof = replace(proof, channel=given.entries)
        return Optimality(holds, own.after, best.loss, None if holds else best.mechanism, True, proof)
    allowed = tolerance * max(1.0, float(np.abs(np.asarray(wanted.table, dtype=np.float64)).max()))
    after = float(own.after)
    holds = True if after - float(best.lower_bound) <= allowed else None
    if after - float(best.loss) > allowed:
        holds = False
    better = None if holds is not False else best.mechanism
    return Optimality(holds, after, best.lower_bound, better, False, best.certificate)


def _ordered(channel: Channel, metric: Metric) -> Channel:
    """The same channel with its rows in the order of the metric."""
    place = {name: i for i, name in enumerate(channel.inputs)}
    order = [place[point] for point in metric.points]
    return Channel.trusted(channel.entries[order], channel.form, metric.points, channel.outputs)
