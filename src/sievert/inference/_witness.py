"""Joints that object: who can infer more from B than from A, and why no mechanism is best for everybody.

Two channels that do not refine each other are told apart by some secret that is only correlated with their
input (Fernandes, eq. 5.3); the linear program finds it. The counter-examples of Thms 5.1 to 5.3 are built for
a mechanism of one's own. All are proofs: data that is checked in fractions, without a solver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import AnyArray, FloatArray, ObjectArray
from sievert.channels import Channel, as_channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, MechanismError, PriorError
from sievert.inference._correlation import Correlation
from sievert.mechanisms import privacy
from sievert.numerics import (
    as_fraction,
    brief,
    exp_above,
    exp_below,
    is_exact,
    probability,
    read_eps,
    require_size,
)
from sievert.orders import aligned
from sievert.orders import refines as refinement
from sievert.programs import LinearProgram, solve
from sievert.proofs import (
    AccuracyCounterexample,
    DaleniusProof,
    InferenceCounterexample,
    NoFreeLunchProof,
    Proof,
    exact_rows,
)
from sievert.results import Result
from sievert.spaces import Metric, metric_of

__all__ = [
    "DaleniusWitness",
    "accuracy_counterexample",
    "inference_counterexample",
    "lunch_counterexample",
    "no_free_lunch",
    "witness",
]

LARGEST_PROGRAM = 500_000
# Denominators with which a witness is written, the simplest that still objects.
DENOMINATORS = (20, 1000, 10**6, 10**12)
# A linear program that finds less than this leaves the question to exact refinement.
LEAST_GAP = 1e-9
ROUNDING = Fraction(1, 10**12)
# What rounded entries add to the logarithm of their ratio.
ENTRIES = Fraction(1, 2**49)


@dataclass(frozen=True)
class DaleniusWitness(Result):
    """A correlation under which B tells more than A, or the proof that there is none.

    Attributes
    ----------
    refines : whether B is at least as safe as A for every correlation; None where that cannot be decided
    correlation : secret (as many values as B has outputs, at most) against input, where one objects
    before, after : how often the secret is guessed from A and from B
    certificate : the proof of either
    """

    refines: bool | None
    correlation: Correlation | None
    before: Any
    after: Any
    certificate: Proof | None = field(repr=False)

    def __str__(self) -> str:
        if self.refines:
            return "B is A followed by post-processing: no correlated secret is inferred better from it."
        if self.correlation is None:
            return "Undecided: too near the boundary for floats; give both channels in fractions."
        count = self.correlation.shape[0]
        return (
            f"A correlated secret with {count} values is guessed with {float(self.after):.6g} from B and "
            f"{float(self.before):.6g} from A."
        )


def witness(less_safe: Channel, safer: Channel) -> DaleniusWitness:
    """A correlated secret that is inferred better from one channel than from another, or proof that none is.

    Parameters
    ----------
    less_safe : A, the channel that might be replaced
    safer : B, the channel that might replace it, on the same inputs

    Returns
    -------
    DaleniusWitness
        With `correlation`, `before` and `after` where some secret objects to B, and the `certificate` of
        either.

    Notes
    -----
    Maximises ⟨F, B⟩ - Σ_y max_z Σ_x A[x,y]·F[x,z] over F in [0, 1], a linear program with inputs·outputs of B
    variables; the witness is F turned into a joint, checked in fractions. Secrets of two values are not
    enough in general.

    Cost: one linear program; rows of floats stand for rows divided by their sums.

    References
    ----------
    Fernandes, Def 5.3.1 and eq. 5.3.

    Examples
    --------
    >>> import sievert as sv
    >>> a = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> found = witness(a.then(a), a)
    >>> found.refines, found.before, found.after
    (False, Fraction(5, 8), Fraction(3, 4))
    >>> witness(a, a.then(a)).refines
    True
    """
    first, second = aligned(as_channel(less_safe, "less_safe").finite(), as_channel(safer, "safer").finite())
    a, b = _normalised(first), _normalised(second)
    inputs, outputs = b.shape
    require_size(
        inputs * outputs * a.shape[1], LARGEST_PROGRAM, "the program of the witness", "merge outputs"
    )
    found = _objection(a.astype(np.float64), b.astype(np.float64))
    for most in DENOMINATORS if found is not None else ():
        assert found is not None
        proof = _proof(a, b, found, most)
        if proof is not None:
            before, after = proof.values()
            correlation = Correlation(proof.joint, secrets=range(len(proof.joint)), uses=first.inputs)
            return DaleniusWitness(False, correlation, before, after, proof)
    verdict = refinement(first, second)
    holds = True if verdict.holds else None
    return DaleniusWitness(holds, None, None, None, verdict.certificate if holds else None)


def _normalised(channel: Channel) -> ObjectArray:
    table = exact_rows(channel.exact_or_rounded())
    return np.asarray(table / table.sum(axis=1)[:, None])


def _objection(a: FloatArray, b: FloatArray) -> FloatArray | None:
    """The gains F [input, guess] of somebody who prefers B; None where the program finds none."""
    (n, m), z = a.shape, b.shape[1]
    cell = np.arange(n * z).reshape(n, z)
    rows, columns, values = [], [], []
    for y in range(m):
        rows.append(np.repeat(y * z + np.arange(z)[None, :], n, axis=0).ravel())
        columns.append(cell.ravel())
        values.append(np.repeat(-a[:, y], z))
        rows.append(y * z + np.arange(z))
        columns.append(np.full(z, n * z + y))
        values.append(np.ones(z))
    places = (np.concatenate(rows), np.concatenate(columns))
    matrix = csc_array((np.concatenate(values), places), shape=(m * z, n * z + m))
    cost = np.concatenate([-b.ravel(), np.ones(m)])
    lower = np.concatenate([np.zeros(n * z), np.full(m, -np.inf)])
    upper = np.concatenate([np.ones(n * z), np.full(m, np.inf)])
    program = LinearProgram(cost, matrix, np.zeros(m * z), np.full(m * z, np.inf), lower, upper)
    found = solve(program, "simplex", tolerance=1e-10, basis=False)
    if not found.optimal or -found.value <= LEAST_GAP:
        return None
    return found.primal[: n * z].reshape(n, z)


def _proof(a: ObjectArray, b: ObjectArray, gains: FloatArray, most: int) -> DaleniusProof | None:
    """The gains in simple fractions as a joint, where they still object."""
    joint = np.empty(gains.T.shape, dtype=object)
    flat = np.clip(gains.T, 0.0, 1.0).ravel().tolist()
    joint.ravel()[:] = [Fraction(value).limit_denominator(most) for value in flat]
    joint = joint[[bool(any(row)) for row in joint.tolist()]]
    total = joint.sum() if joint.size else Fraction(0)
    if not total:
        return None
    proof = DaleniusProof(a, b, joint / total)
    return proof if proof.verify().holds else None


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
        belief = as_prior(prior, len(prior))
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
            f"prior is {brief(given)}; give probabilities that sum to 1, or the best guess among them"
        ) from None
    probability("prior", float(value), PriorError)
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
    return NoFreeLunchProof(_normalised(channel), np.asarray(belief / belief.sum()))


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
    table = _normalised(channel)
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
    metric : on the secrets; only one with a common distance, which is the default
    alpha : e^-eps instead of `eps`

    Returns
    -------
    AccuracyCounterexample
        A proof: the pair of secrets that go with the two uses, and how often the other mechanism tells right.

    Notes
    -----
    Two rows of an ε-private channel are at most tanh(ε/2) apart in total variation, and no three rows are all
    so far apart; the other mechanism spends everything on the nearest pair. For two secrets randomised
    response is optimal, for a metric in which some secrets are infinitely far apart the theorem fails, and
    both are refused.

    Cost: O(secrets²·outputs).

    References
    ----------
    Fernandes, Thm 5.3.

    Examples
    --------
    >>> import sievert as sv
    >>> found = accuracy_counterexample(sv.mechanisms.randomised_response(3, alpha="1/2"), alpha="1/2")
    >>> found.own, found.truth
    (Fraction(5, 8), Fraction(2, 3))
    """
    channel = as_channel(channel).finite()
    level = privacy(eps, alpha)
    table = _normalised(channel)
    if len(table) < 3:
        raise ChannelError(
            f"the channel has {len(table)} inputs; with two secrets randomised response is optimal for "
            "accuracy, so the "
            "theorem needs |S| ≥ 3"
        )
    length = _common_distance(metric, channel)
    if not 0 < level.eps < math.inf:
        raise MechanismError(f"eps is {level.eps:g}; the theorem needs 0 < ε < ∞")
    i, j, _ = _extreme_pair(table, largest=False)
    promise = _promise(level, length)
    # The proof compares with both: 1/e^ε and e^-ε are rounded apart where ε is large.
    ratio = promise[1] if promise[1] is not None else max(1 / exp_below(promise[0]), exp_above(-promise[0]))
    proof = AccuracyCounterexample(table, *promise, (i, j), 1 / (1 + ratio))
    result = proof.verify()
    if not result.holds:
        raise MechanismError(
            f"channel: {result.statement}; eps is {brief(level.eps)}, give the ε that it keeps"
        )
    return proof


def _common_distance(metric: Metric | None, channel: Channel) -> float:
    """The distance between any two secrets; 1 without a metric."""
    if metric is None:
        return 1.0
    given = metric_of(metric).restricted(channel.inputs)
    length = given.uniform_distance
    if length is not None and 0 < length < math.inf:
        return length
    if np.isinf(given.matrix).any():
        raise MechanismError(
            "metric has secrets that are infinitely far apart, where some mechanism is optimal for accuracy; "
            "the theorem needs a connected metric"
        )
    raise MechanismError(
        "metric has different distances; the counter-example is built for secrets at one distance > 0, "
        "give such a metric, or restrict the channel to secrets that have one"
    )


def _promise(level: Any, length: float) -> tuple[Any, Any]:
    """(ε, None) or (None, e^-ε), with the distance counted in."""
    if level.alpha is not None and float(length).is_integer():
        return None, level.alpha ** int(length)
    # Rows of floats keep a logarithm up to rounding.
    return (level.exact_eps or read_eps(level.eps)) * Fraction(length) * (1 + ROUNDING) + ENTRIES, None


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
