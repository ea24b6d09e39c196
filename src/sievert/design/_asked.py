"""What a proof about a design must be about, found without solving anything.

A proof says its constraints, prior and loss itself. Whether they are those of a use is decided here, where
they are made: the question that an honest proof of each kind would answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sievert.channels import target_metric
from sievert.channels.priors import as_prior
from sievert.design._optimal import as_loss, decay_of, require_few_entries
from sievert.design._problem import Problem
from sievert.mechanisms import privacy
from sievert.numerics import fractions_of
from sievert.policies import Answers, Policy
from sievert.proofs import (
    ExactDesignProof,
    Multipliers,
    OptimalDesignProof,
    Proof,
    costs,
)
from sievert.spaces import Metric

__all__ = ["design_question"]


def design_question(
    proof: Proof,
    policy_or_metric: Policy | Metric | Answers,
    eps: float | None = None,
    prior: object = None,
    loss: object = None,
    *,
    alpha: object = None,
) -> dict[str, Any] | None:
    """The question that a proof of this kind and size about the best mechanism answers; None for others.

    >>> import sievert as sv
    >>> metric, loss = sv.metrics.line(4), sv.losses.absolute(4)
    >>> proof = sv.optimal_mechanism(metric, 1.0, loss=loss).certificate
    >>> proof.question() == design_question(proof, metric, 1.0, loss=loss)
    True
    >>> proof.question() == design_question(proof, metric, 1.0, loss=sv.losses.squared(4))
    False
    """
    metric = target_metric(policy_or_metric)
    if not isinstance(proof, OptimalDesignProof | ExactDesignProof) or proof.space.size != metric.size:
        return None
    belief = as_prior(prior, metric.points)
    wanted = as_loss(loss, metric.points)
    require_few_entries(metric, wanted)
    decay = decay_of(privacy(eps, alpha), metric)
    table = np.asarray(wanted.table, dtype=np.float64)
    space = Problem.of(metric, decay, costs(belief, wanted.table), table).space
    if isinstance(proof, OptimalDesignProof):
        none, nothing = np.zeros((0, 0), dtype=np.int64), Multipliers.none()
        asked = OptimalDesignProof(
            space, decay, belief, wanted.table, none, nothing, (), 0.0, 0.0, tuple(metric.points)
        )
        return asked.question()
    if isinstance(proof, ExactDesignProof) and decay.alpha is not None:
        rows = fractions_of(wanted.table.tolist())
        return ExactDesignProof(space, decay.alpha, belief, rows, rows[:0], ()).question()
    return None
