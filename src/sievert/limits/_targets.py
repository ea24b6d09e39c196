"""What a claim is about: the values of one record, whether they are all alike, and a belief about them."""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.errors import PriorError
from sievert.policies import Policy
from sievert.spaces import Graph, Labels, Metric, column_of, label
from sievert.spaces.secrets import CompleteGraph

__all__ = ["Target", "checked_prior", "is_complete", "power", "values_of"]

Target = Policy | Metric | Graph


def values_of(target: Target) -> Labels:
    """The values that one record can take."""
    if isinstance(target, Policy):
        return target.values
    return target.nodes if isinstance(target, Graph) else target.points


def is_complete(target: Target) -> bool:
    """Whether any two values of a record are neighbours at distance 1, and nothing is known publicly."""
    if isinstance(target, Policy):
        return not target.constrained and is_complete(target.secrets)
    if isinstance(target, Metric):
        return target.uniform_distance == 1
    size = target.size
    return isinstance(target, CompleteGraph) or len(target.edges) == size * (size - 1) // 2


def power(eps: float, distance: float) -> float:
    """e^(ε·distance), with ∞·0 = 0."""
    if eps == 0 or distance == 0:
        return 1.0
    exponent = eps * distance
    return math.exp(exponent) if exponent < 709 else math.inf


def checked_prior(prior: object, count: int, values: object, target: Target | None) -> FloatArray | None:
    """A prior over the values as floats, read by their labels where they have any; None stays uniform.

    Values without a name are alike, so that the order of their probabilities says nothing.
    """
    if prior is None:
        return None
    if target is not None:
        labels: Labels = tuple(label(value) for value in values_of(target))
    elif isinstance(values, list | tuple):
        labels = tuple(label(value) for value in values)
    else:
        return as_prior(column_of(prior, "prior", PriorError).values, count).astype(np.float64)
    return as_prior(prior, labels).astype(np.float64)
