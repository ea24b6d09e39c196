"""Why no mechanism is best for everybody: the counter-examples of Fernandes, Thms 5.1 to 5.3, for one's own.

All are proofs: data that is checked in fractions, without a solver.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, FloatArray, ObjectArray
from sievert.channels import Channel, as_channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, MechanismError, PriorError
from sievert.inference._certificates import repaired
from sievert.inference._neighbours import neighbours_of
from sievert.inference._witness import normalised_rows, witness
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, as_fraction, count_of, is_exact, probability
from sievert.proofs import (
    AccuracyCounterexample,
    DaleniusProof,
    InferenceCounterexample,
    Neighbours,
    NoFreeLunchProof,
    exact_rows,
)
from sievert.spaces import Metric, metric_of

__all__ = [
    "accuracy_counterexample",
    "inference_counterexample",
    "lunch_counterexample",
    "no_free_lunch",
]

# Rows of floats keep a logarithm up to this share of it, and what rounded entries add to it.
ROUNDING, ENTRIES = Fraction(1, 10**12), Fraction(1, 2**49)


def no_free_lunch(prior: Any) -> Any:
    """The least compromise where secret and use are one: at what e can accuracy reach 1 - e at all?

    Parameters
    ----------
    prior : probabilities of the values, or the best guess among them

    Returns
    -------
    Fraction or float
        The least e such that some mechanism has an accuracy of at least 1 - e while the property is guessed
        with at most the best guess before plus e.

    Notes
    -----
    (1 - V)/2 for a best guess V; reached by a mechanism that tells the property half of the time.

    Cost: O(values).

    References
    ----------
    Fernandes, Thm 5.1.

    Examples
    --------
    >>> no_free_lunch(["1/2", "1/4", "1/4"])
    Fraction(1, 4)
    """
    if not isinstance(prior, str) and hasattr(prior, "__len__"):
        try:
            count = count_of(prior)
        except TypeError:
            raise PriorError(f"prior is {abbreviated(prior)}; give a list of probabilities") from None
        belief = as_prior(prior, count)
    else:
        belief = np.array([_guess(prior)], dtype=object)
    return (1 - max(belief.tolist())) / 2


def _guess(given: Any) -> Any:
    """A best guess: one probability, a fraction where it is exact."""
    exact = is_exact(given) and not isinstance(given, bool)
    try:
        value: Any = as_fraction(given) if exact else probability("prior", given, PriorError)
    except ValueError:
        raise PriorError(
            f"prior is {abbreviated(given)}; give probabilities that sum to 1, or the best guess among them"
        ) from None
    probability("prior", value, PriorError)
    return value


def lunch_counterexample(channel: Channel, prior: Any = None) -> NoFreeLunchProof:
    """How much a mechanism on a property that is both secret and useful compromises, and the least possible.

    Parameters
    ----------
    channel : on the values of the property
    prior : their probabilities; uniform by default

    Returns
    -------
    NoFreeLunchProof
        A proof that no e below `compromise` bounds both what is missing from the accuracy and what is
        guessed more.

    Notes
    -----
    Cost: O(values·outputs) fractions.

    References
    ----------
    Fernandes, Thm 5.1.

    Examples
    --------
    >>> import sievert as sv
    >>> found = lunch_counterexample(sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> found.compromise, found.least
    (Fraction(1, 4), Fraction(1, 4))
    """
    channel = as_channel(channel).finite()
    belief = exact_rows(as_prior(prior, channel)[None, :])[0]
    return NoFreeLunchProof(normalised_rows(channel), np.asarray(belief / belief.sum()))


def inference_counterexample(channel: Channel) -> InferenceCounterexample:
    """A correlation under which a mechanism on uses is worse against inference than one that says nothing.

    Parameters
    ----------
    channel : on the uses, two of them at least; not one that says nothing itself

    Returns
    -------
    InferenceCounterexample
        A proof: two uses, and how often a secret that goes with them is guessed.

    Notes
    -----
    Of the two rows that differ most in total variation, each goes with one value of the secret. So no
    mechanism that says anything is optimal against inference for every correlation; a secret of one value has
    nothing to infer.

    Cost: O(uses²·outputs).

    References
    ----------
    Fernandes, Thm 5.2.

    Examples
    --------
    >>> import sievert as sv
    >>> inference_counterexample(sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])).guess
    Fraction(3, 4)
    """
    channel = as_channel(channel).finite()
    table = normalised_rows(channel)
    if len(table) < 2:
        raise ChannelError("the channel has one input; a counter-example needs two uses, |U| ≥ 2")
    i, j, apart = _extreme_pair(table, largest=True)
    if apart == 0:
        raise ChannelError(
            "the channel says nothing: all its rows are equal, so it is optimal against inference (Thm 5.2 "
            "is about "
            "the others)"
        )
    return InferenceCounterexample(table, (i, j))


def accuracy_counterexample(
    channel: Channel, eps: float | None = None, *, metric: Metric | None = None, alpha: object = None
) -> AccuracyCounterexample:
    """Another mechanism, as private, that tells a use better than a mechanism on secrets does.

    Parameters
    ----------
    channel : on the secrets, three of them at least; ε-private
    eps : its level in nats
    metric : on the secrets, with three of them at finite distances; any two are at distance 1 by default
    alpha : e^-eps instead of `eps`

    Returns
    -------
    AccuracyCounterexample
        A proof: how the use goes with the secrets (`joint`), the `other` mechanism, and how often each tells
        right (`own`, `truth`).

    Notes
    -----
    At one distance, two rows of an ε-private channel are at most tanh(ε/2) apart in total variation, and no
    three rows are all so far apart; the other mechanism spends everything on the nearest pair. At several
    distances let a and b be as near to each other as any two. One bit, "near a" with probability
    e^(-ε·d(a,x)) / (1 + e^(-ε·d(a,b))), is private, and so is the one for b. A channel from which both can
    be made has only columns that fall from a or from b as fast as privacy allows, and their sums are not 1 at
    a third secret; so one of the two bits cannot be made from it, and some use that the bit tells better
    exists (Fernandes, eq. 5.3).

    For two secrets randomised response is optimal, and where no three are at finite distances from each other
    the theorem fails; both are refused.

    Cost: O(secrets²·outputs); at several distances one linear program of 2·secrets variables.

    References
    ----------
    Fernandes, Thm 5.3.

    Examples
    --------
    >>> import sievert as sv
    >>> found = accuracy_counterexample(sv.mechanisms.randomised_response(3, alpha="1/2"), alpha="1/2")
    >>> found.own, found.truth
    (Fraction(5, 8), Fraction(2, 3))
    >>> noise = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    >>> found = accuracy_counterexample(noise, alpha="1/2", metric=sv.metrics.line(3))
    >>> found.own, found.truth
    (Fraction(5, 9), Fraction(2, 3))
    """
    channel = as_channel(channel).finite()
    level = privacy(eps, alpha)
    table = normalised_rows(channel)
    if len(table) < 3:
        raise ChannelError(
            f"the channel has {len(table)} inputs; with two secrets randomised response is optimal for "
            "accuracy, so the theorem needs |S| ≥ 3"
        )
    if not 0 < level.eps < math.inf:
        raise MechanismError(f"eps is {level.eps:g}; the theorem needs 0 < ε < ∞")
    given = None if metric is None else metric_of(metric).restricted(channel.inputs)
    distances = None if given is None else given.matrix
    nearest = None if distances is None else _nearest(distances)
    space = _promised(neighbours_of(channel.inputs, given, level))
    try:
        space.require_private(table)
    except ValueError as broken:
        raise MechanismError(
            f"channel: {broken}; eps is {abbreviated(level.eps)}, give the ε that it keeps"
        ) from None
    if space.form == "uniform":
        return _on_a_pair(space, table)
    assert distances is not None and nearest is not None
    bits = (_near(space, level, distances, place, nearest) for place in nearest)
    found = [witness(Channel(table), Channel(bit)).certificate for bit in bits]
    proofs = [
        AccuracyCounterexample(space, table, one.safer, _apart(exact_rows(one.joint)))
        for one in found
        if isinstance(one, DaleniusProof)
    ]
    if proofs:
        return max(proofs, key=lambda proof: proof.truth - proof.own)
    raise MechanismError(
        f"eps is {abbreviated(level.eps)}; another mechanism tells some use better, but by too little "
        f"to be found "
        "in floats: give alpha as a fraction and a channel of fractions, or a larger ε"
    )


def _nearest(distances: FloatArray) -> tuple[int, int]:
    """The two nearest secrets of those that have a third at a finite distance."""
    finite = np.isfinite(distances)
    different = (distances > 0) & finite
    # Secrets at distance 0 are one.
    first = (distances == 0).argmax(axis=1)
    enough = np.array([len(set(first[row].tolist())) >= 3 for row in finite])
    if not enough.any():
        raise MechanismError(
            "metric has no three secrets at finite distances > 0 from each other: some are infinitely far "
            "apart or alike, and some mechanism is optimal for accuracy; the theorem needs three that are "
            "connected"
        )
    open_ = np.where(different & enough[:, None], distances, np.inf)
    a, b = np.unravel_index(int(open_.argmin()), open_.shape)
    return int(a), int(b)


def _promised(space: Neighbours) -> Neighbours:
    """The promise with what rounding adds to the logarithms of rows of floats."""
    if space.eps is None:
        return space
    shortest = min((length for length in space.lengths if length > 0), default=Fraction(1))
    return replace(space, eps=space.eps * (1 + ROUNDING) + ENTRIES / shortest)


def _on_a_pair(space: Neighbours, table: ObjectArray) -> AccuracyCounterexample:
    """At one distance: everything is spent on the pair that the mechanism tells apart least."""
    i, j, _ = _extreme_pair(table, largest=False)
    truth = 1 / (1 + space.shrinks(space.lengths[0])[1])
    other = np.full((len(table), 2), 1 - truth, dtype=object)
    other[:, 0] = truth
    other[j] = [1 - truth, truth]
    joint = np.full((2, len(table)), Fraction(0), dtype=object)
    joint[0, i] = joint[1, j] = Fraction(1, 2)
    return AccuracyCounterexample(space, table, other, joint)


def _near(
    space: Neighbours, level: Any, distances: FloatArray, place: int, pair: tuple[int, int]
) -> ObjectArray:
    """One bit: whether the secret is near this one, one of the nearest two."""
    apart = distances[place]
    if level.alpha is not None:
        powers = [level.alpha ** int(d) if math.isfinite(d) else Fraction(0) for d in apart.tolist()]
        near: Any = np.array(powers, dtype=object) / (1 + level.alpha ** int(distances[pair]))
        return np.column_stack([near, 1 - near])
    powers = np.exp(-level.eps * apart)
    near = powers / (1 + np.exp(-level.eps * distances[pair]))
    return repaired(space, np.column_stack([near, 1 - near])).fractions


def _apart(joint: ObjectArray) -> ObjectArray:
    """The joint without what both uses share at a secret, which every mechanism tells equally well."""
    rest = joint - joint.min(axis=0)[None, :]
    return np.asarray(rest / rest.sum())


def _extreme_pair(table: AnyArray, largest: bool) -> tuple[int, int, Fraction]:
    """The two rows that are furthest apart, or nearest, in total variation."""
    best: tuple[int, int, Fraction] | None = None
    for i in range(len(table)):
        for j in range(i + 1, len(table)):
            apart = sum((abs(a - b) for a, b in zip(table[i], table[j], strict=True)), Fraction(0)) / 2
            if best is None or (apart > best[2] if largest else apart < best[2]):
                best = (i, j, apart)
    assert best is not None
    return best
