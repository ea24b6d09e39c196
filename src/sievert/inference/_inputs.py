"""What a mechanism of the frontier sees: inputs, the use and the secrets of each, and what guesses gain."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from sievert.arrays import AnyArray, BoolArray, IndexArray, ObjectArray
from sievert.errors import GainError, PolicyError
from sievert.inference._correlation import Correlation
from sievert.measures import GainFunction
from sievert.numerics import exact_matmul, require_size
from sievert.proofs import exact_rows
from sievert.spaces import Labels, Metric, shown

__all__ = ["actions_of", "gain_table", "gained", "inputs_of", "possible_cells", "wanted", "whole_joint"]

LARGEST_ACTIONS = 10_000
# Limits on the value of a gain are kept up to 1e-11, and the solver knows numbers of about this size.
LEAST_GAIN, MOST_GAIN = 1e-3, 1e9


def inputs_of(
    correlations: list[Correlation], metric: Metric | None, insensitive: bool
) -> tuple[Labels, ObjectArray, IndexArray, list[ObjectArray]]:
    """Labels and prior of what the mechanism sees, the use of each, and for each secret [secret, input]."""
    first = correlations[0]
    for other in correlations[1:]:
        if tuple(other.uses) != tuple(first.uses) or not _equal(other.use_prior, first.use_prior):
            raise PolicyError(
                "correlations must be about the same data: the same uses with the same probabilities"
            )
    on_uses = metric is not None and set(metric.points) == set(first.uses)
    if insensitive or on_uses:
        joints = [whole_joint(item.joint) for item in correlations]
        prior = joints[0].sum(axis=0)
        return first.uses, prior, np.arange(len(first.uses)), [_with_prior(joint, prior) for joint in joints]
    same = all(
        tuple(item.inputs) == tuple(first.inputs)
        and np.array_equal(item.use_of, first.use_of)
        and _equal(item.input_prior, first.input_prior)
        for item in correlations[1:]
    )
    if not same:
        raise PolicyError(
            "several secrets that are known only beside the use leave open how they go together; give "
            "insensitive=True "
            "for mechanisms that see the use only, or correlations from the same rows"
        )
    secrets = [item.secret_of for item in correlations]
    if metric is not None:
        if set(metric.points) != set(first.inputs):
            raise PolicyError(
                f"metric is about {shown(metric.points)}; it must be about the uses {shown(first.uses)} or "
                "the inputs "
                f"{shown(first.inputs)}"
            )
        groups, names = np.arange(len(first.inputs)), first.inputs
    else:
        groups, names = _grouped(first, secrets)
    size = int(groups.max()) + 1
    use_of = np.zeros(size, dtype=np.intp)
    use_of[groups] = first.use_of
    joints = [
        whole_joint(_added(first.input_prior, groups, secret, (len(item.secrets), size)))
        for item, secret in zip(correlations, secrets, strict=True)
    ]
    prior = joints[0].sum(axis=0)
    return names, prior, use_of, [_with_prior(joint, prior) for joint in joints]


def whole_joint(joint: AnyArray) -> ObjectArray:
    """Fractions that sum to 1: what rounding left over goes to the largest."""
    exact = exact_rows(joint).copy()
    largest = np.unravel_index(int(np.argmax(joint.astype(np.float64))), joint.shape)
    exact[largest] += 1 - sum(exact.ravel().tolist(), Fraction(0))
    return exact


def _with_prior(joint: ObjectArray, prior: ObjectArray) -> ObjectArray:
    """The joint with exactly these probabilities of the inputs, from which it differs by rounding."""
    found = joint.copy()
    for u in np.flatnonzero(joint.sum(axis=0) != prior).tolist():
        total = sum(joint[:, u].tolist(), Fraction(0))
        found[:, u] = found[:, u] * (prior[u] / total) if total else prior[u] / len(joint)
    return found


def _grouped(first: Correlation, secrets: list[IndexArray]) -> tuple[IndexArray, Labels]:
    """Inputs that agree in every secret and in the use are one."""
    key = np.stack([*secrets, first.use_of], axis=1)
    distinct, groups = np.unique(key, axis=0, return_inverse=True)
    if len(distinct) == len(first.inputs):
        return np.arange(len(first.inputs)), first.inputs
    names = [(*(int(v) for v in row[:-1]), first.uses[int(row[-1])]) for row in distinct]
    if len(secrets) == 1:
        names = [(first.secrets[int(row[0])], first.uses[int(row[1])]) for row in distinct]
    return np.asarray(groups).ravel(), tuple(names)


def _added(weights: AnyArray, columns: IndexArray, rows: IndexArray, shape: tuple[int, int]) -> AnyArray:
    table = np.full(shape, Fraction(0), dtype=object) if weights.dtype == object else np.zeros(shape)
    np.add.at(table, (rows, columns), weights)
    return table


def _equal(first: AnyArray, second: AnyArray) -> bool:
    if first.shape != second.shape:
        return False
    return bool(np.allclose(first.astype(np.float64), second.astype(np.float64), rtol=1e-9, atol=1e-12))


def gain_table(adversary: GainFunction) -> AnyArray:
    """A gain as a table [action, secret]."""
    if adversary.is_loss:
        raise GainError(f"gain is the loss {adversary.name!r}; give a gain, such as sv.gains.from_loss of it")
    require_size(adversary.action_count, LARGEST_ACTIONS, "the actions of the gain", "give one with fewer")
    return np.asarray(adversary.matrix)


def actions_of(adversary: GainFunction) -> Labels:
    """The names of what may be guessed."""
    names = getattr(adversary, "actions", None)
    return tuple(range(len(gain_table(adversary)))) if names is None else tuple(names)


def wanted(adversary: GainFunction) -> ObjectArray | None:
    """A gain on the secrets as fractions; None for one guess."""
    if adversary.name == "identity":
        return None
    table = exact_rows(gain_table(adversary))
    largest = max(abs(value) for value in table.ravel().tolist())
    if not largest:
        raise GainError(
            "gain is 0 for every guess of every secret, so no limit guards anything; give one that somebody "
            "can gain from"
        )
    if not LEAST_GAIN <= largest <= MOST_GAIN:
        size = Decimal(largest.numerator) / Decimal(largest.denominator)
        raise GainError(
            f"gain has entries of up to {size:.3g} in size; limits are kept up to 1e-11, so give it in a "
            f"unit in which its largest entry is from {LEAST_GAIN:g} to {MOST_GAIN:g}, and the limits too"
        )
    return table


def gained(want: ObjectArray | None, joint: ObjectArray) -> ObjectArray:
    """What each guess of a secret gains together with each input."""
    return joint if want is None else exact_matmul(want, joint)


def possible_cells(joint: AnyArray, labels: Labels, uses: Labels) -> BoolArray:
    """Pairs that may occur: all of secret and use; of raw data, whose secret is known, those that do."""
    if tuple(labels) == tuple(uses):
        return np.ones(joint.shape, dtype=bool)
    return np.asarray(joint != 0, dtype=bool)
