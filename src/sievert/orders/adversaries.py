"""Refinement against some adversaries only: those whose actions are made of given gains, or a given prior.

A class is a cone: every action's gain is a non-negative combination of generators, under one prior π. Then
V·diag(π)·(B - AR) ≤ 0 for some channel R iff no adversary of the class prefers B (linear-programming
duality), so the general program decides it with A and B replaced by V·diag(π)·A and V·diag(π)·B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import AnyArray
from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, GainError, PriorError
from sievert.measures import GainFunction, as_gain, posterior_vulnerability
from sievert.measures import gains as gain_functions
from sievert.numerics import abbreviated, exact_matmul, fractions_of, instance, non_negative
from sievert.orders._decisions import TOLERANCE, aligned
from sievert.orders._exact import decide_program
from sievert.orders._programs import deficiency_program
from sievert.orders._verdicts import Objection, Verdict, entries, objected
from sievert.proofs import AdversaryProof, ClassProof
from sievert.spaces import Metric, column_of, iterable, metric_of

__all__ = [
    "AdversaryClass",
    "class_of",
    "gains",
    "monotone",
    "prior",
    "properties",
    "refines_class",
    "within",
]


def __dir__() -> list[str]:
    return sorted(__all__)


@dataclass(frozen=True, eq=False)
class AdversaryClass:
    """Adversaries to guard against.

    Attributes
    ----------
    name : what they are called in results
    generators : gains [generator, secret] that actions are combined from; None allows every gain
    prior : what they believe (None: uniform)
    listed : instead of generators, a finite list of gain functions, each evaluated as it is
    """

    name: str
    generators: GainFunction | None = None
    prior: Any = None
    listed: tuple[Any, ...] = ()


def within(metric: Metric, radius: float, prior: Any = None) -> AdversaryClass:
    """Adversaries who win by guessing within a radius (each guess may pay differently).

    Parameters
    ----------
    metric : Metric on the secrets
    radius : how far from the secret a guess may be
    prior : what the adversaries believe; uniform by default

    Returns
    -------
    AdversaryClass

    Notes
    -----
    Cost: O(n²) for n points.

    Examples
    --------
    >>> import sievert as sv
    >>> within(sv.metrics.line(3), 1).name
    'within 1'
    """
    metric = metric_of(metric)
    radius = non_negative("radius", radius, GainError, infinite=True)
    return AdversaryClass(
        f"within {radius:g}", gain_functions.within(metric, radius), _held(prior, metric.points)
    )


def monotone(metric: Metric, prior: Any = None) -> AdversaryClass:
    """Adversaries whose gain falls with the distance of the guess: combinations of balls round one guess.

    Parameters
    ----------
    metric : Metric on the secrets
    prior : what the adversaries believe; uniform by default

    Returns
    -------
    AdversaryClass

    Notes
    -----
    Cost: O(n³) for n points: every ball round every point.

    Examples
    --------
    >>> import sievert as sv
    >>> monotone(sv.metrics.line(3)).name
    'gain falling with distance'
    """
    metric = metric_of(metric)
    rows: dict[tuple[int, ...], None] = {}
    for centre in metric.matrix:
        for radius in np.unique(centre[np.isfinite(centre)]):
            rows[tuple((centre <= radius).astype(int).tolist())] = None
    table = gain_functions.matrix([list(row) for row in rows], secrets=metric.points)
    return AdversaryClass("gain falling with distance", table, _held(prior, metric.points))


def _held(prior: Any, secrets: Any) -> Any:
    """A prior over these secrets, None where the uniform one is meant."""
    return None if prior is None else as_prior(prior, secrets)


def properties(
    secrets: int | Iterable[object],
    sets: Sequence[Callable[[Any], object] | Iterable[object]],
    prior: Any = None,
) -> AdversaryClass:
    """Adversaries who bet for or against given properties of the secret.

    Parameters
    ----------
    secrets : number of secrets, or their labels
    sets : properties, each a function of the secret or the secrets that have it
    prior : what the adversaries believe; uniform by default

    Returns
    -------
    AdversaryClass

    Notes
    -----
    Cost: O(secrets·properties).

    Examples
    --------
    >>> properties(3, [[0], [0, 1]]).name
    'properties'
    """
    if isinstance(sets, str | bytes) or not iterable(sets):
        raise GainError(
            f"sets is {abbreviated(sets)}; give a list of properties, each a function or the secrets with it"
        )
    tables = [gain_functions.property(secrets, holds) for holds in sets]
    if not tables:
        raise GainError("sets is empty; give at least one property")
    rows = np.concatenate([table.matrix for table in tables])
    named = tables[0].secrets
    table = gain_functions.matrix(rows, secrets=named)
    return AdversaryClass("properties", table, _held(prior, named))


def gains(listed: Sequence[Any], prior: Any = None) -> AdversaryClass:
    """A finite list of gain functions under one prior: decided by evaluating each.

    Parameters
    ----------
    listed : gain functions
    prior : what the adversaries believe; uniform by default

    Returns
    -------
    AdversaryClass

    Notes
    -----
    Cost: O(1); each gain is evaluated on both channels when they are compared.

    Examples
    --------
    >>> import sievert as sv
    >>> a, b = sv.mechanisms.randomised_response(3, 2.0), sv.mechanisms.randomised_response(3, 1.0)
    >>> sv.refines(a, b, adversary=sv.adversaries.gains([sv.gains.identity(3)])).holds
    True
    """
    given = tuple(listed) if isinstance(listed, list | tuple) else ()
    if not given:
        raise GainError(f"listed is {abbreviated(listed)}; give a list of gains, at least one")
    if prior is not None:
        column_of(prior, "prior", PriorError)
    return AdversaryClass("given gains", None, prior, given)


def prior(belief: Any) -> AdversaryClass:
    """Every gain function, but only this prior: secrets it rules out do not matter.

    Parameters
    ----------
    belief : probabilities of the secrets

    Returns
    -------
    AdversaryClass

    Notes
    -----
    Cost: O(1); refinement is then a linear program as without a class.

    Examples
    --------
    >>> import sievert as sv
    >>> a, b = sv.Channel.identity(3), sv.Channel([[1, 0], [1, 0], [0, 1]])
    >>> sv.refines(b, a).holds, sv.refines(b, a, adversary=sv.adversaries.prior([0, "1/2", "1/2"])).holds
    (False, True)
    """
    column_of(belief, "belief", PriorError)
    return AdversaryClass("given prior", None, belief)


def class_of(adversary: Any, channel: Channel) -> AdversaryClass:
    """A class as it is; a gain or a list of gains as a finite class, for the inputs of the channel.

    Parameters
    ----------
    adversary : a class of this module, a gain function, or a list of gain functions
    channel : whose inputs gains are about

    Returns
    -------
    AdversaryClass

    Notes
    -----
    Cost: O(gains·actions·secrets) for checking the gains.

    Examples
    --------
    >>> import sievert as sv
    >>> class_of(sv.gains.identity(2), sv.Channel.identity(2)).name
    'given gains'
    """
    instance("channel", channel, Channel, "a sv.Channel", ChannelError)
    if isinstance(adversary, AdversaryClass):
        return adversary
    if isinstance(adversary, GainFunction) or (isinstance(adversary, np.ndarray) and adversary.ndim == 2):
        adversary = [adversary]
    if isinstance(adversary, list | tuple):
        return gains([as_gain(item, channel.inputs) for item in adversary])
    raise GainError(
        f"adversary is {abbreviated(adversary)}; give a gain function, a list of them, or a class such as "
        "sv.adversaries.within(metric, radius)"
    )


def refines_class(less_safe: Channel, safer: Channel, adversary: AdversaryClass) -> Verdict:
    """Average refinement against one class of adversaries.

    Parameters
    ----------
    less_safe, safer : channels on the same inputs
    adversary : a class of this module

    Returns
    -------
    Verdict
        `holds`, with a certificate for a yes and an objecting adversary for a no.

    Notes
    -----
    Cost: a linear program of outputs² variables; a finite list of gains is evaluated one by one.

    Examples
    --------
    >>> import sievert as sv
    >>> line = sv.metrics.line(3)
    >>> a, b = sv.Channel.identity(3), sv.mechanisms.truncated_geometric(3, alpha="1/2")
    >>> sv.adversaries.refines_class(a, b, sv.adversaries.within(line, 1)).holds
    True
    """
    instance(
        "adversary",
        adversary,
        AdversaryClass,
        "a class such as sv.adversaries.within(metric, radius)",
        GainError,
    )
    first, second = aligned(less_safe, safer)
    order = f"average, {adversary.name}"
    if adversary.listed:
        return _by_evaluation(first, second, adversary, order)
    size = first.shape[0]
    belief = as_prior(adversary.prior, first)
    if adversary.generators is None:
        table = np.eye(size, dtype=np.int64)[np.asarray(belief != 0, dtype=bool)]
    else:
        table = adversary.generators.for_secrets(first.inputs).matrix
    exact = (
        first.form == "exact"
        and second.form == "exact"
        and belief.dtype == object
        and table.dtype.kind in "iO"
    )
    decided = _in_fractions(first, second, fractions_of(table), belief, order) if exact else None
    return _in_floats(first, second, table, belief, order, exact) if decided is None else decided


def _in_fractions(
    first: Channel, second: Channel, generators: AnyArray, belief: AnyArray, order: str
) -> Verdict | None:
    """What the program over the rationals decides; None where it is too large."""
    a, b = entries(first, True), entries(second, True)
    weighted = generators * belief[None, :]
    decided = decide_program(exact_matmul(weighted, a), exact_matmul(weighted, b))
    if decided is None:
        return None
    if decided.holds:
        assert decided.post is not None
        proof = ClassProof(a, b, generators, belief, decided.post)
        return Verdict(True, order, 0.0, proof, None, decided.method, True)
    assert decided.witness is not None
    combined = exact_matmul(generators.T.copy(), decided.witness)
    return _objector(first, second, combined, belief, decided.method, order)


def _in_floats(
    first: Channel, second: Channel, table: AnyArray, belief: AnyArray, order: str, exact: bool
) -> Verdict:
    """What the program in floats shows; a yes about fractions it only suggests."""
    # A class holds every multiple of its gains: small ones are compared as if they were large.
    largest = np.abs(table.astype(np.float64)).max(axis=1, keepdims=True)
    generators = table.astype(np.float64) / np.where(largest > 0, largest, 1.0)
    believed = belief.astype(np.float64)
    weighted = generators * believed
    found = deficiency_program(weighted @ first.rounded(), weighted @ second.rounded(), le_cam=False)
    assert found.post is not None
    assert found.witness is not None
    excess = (weighted @ (second.rounded() - first.rounded() @ found.post)).max(axis=0)
    upper = float(np.maximum(excess, 0.0).sum())
    if upper <= TOLERANCE and not exact:
        rational = _normalised(believed)
        proof = ClassProof(
            first.rounded(), second.rounded(), generators, rational, found.post, Fraction(2 * TOLERANCE)
        )
        return Verdict(True, order, upper, proof, None, found.method)
    witness = generators.T @ np.maximum(found.witness, 0.0)
    verdict = _objector(first, second, witness, _normalised(believed), found.method, order)
    return (
        verdict if verdict.deficiency > TOLERANCE else Verdict(None, order, upper, None, None, found.method)
    )


def _normalised(belief: NDArray[np.float64]) -> AnyArray:
    """A float prior as fractions that sum to 1."""
    values = [Fraction(value) for value in belief.tolist()]
    table = np.empty(len(values), dtype=object)
    table[:] = [value / sum(values) for value in values]
    return table


def _objector(
    first: Channel, second: Channel, witness: AnyArray, belief: AnyArray, method: str, order: str
) -> Verdict:
    """The adversary as found: combinations of generators are not shifted, which would leave the class."""
    exact = witness.dtype == object
    gain = (witness / witness.max()).T
    a, b = entries(first, exact), entries(second, exact)
    proof = AdversaryProof(a, b, gain, belief, "average", exact)
    before, after = proof.values()
    if after <= before:
        return Verdict(None, order, 0.0, None, None, method)
    objection = Objection(float(before), float(after), gain, belief, secrets=first.inputs)
    return Verdict(False, order, float(after - before), proof, objection, method, exact)


def _size(gain: Any, channel: Channel) -> float:
    """The largest gain, which rounding is relative to; 1 for gains that are no table."""
    table = getattr(as_gain(gain, channel.inputs), "matrix", None)
    return 1.0 if table is None else float(np.abs(np.asarray(table, dtype=np.float64)).max())


def _by_evaluation(first: Channel, second: Channel, wanted: AdversaryClass, order: str) -> Verdict:
    worst: tuple[Any, Any, Any, Any] = (0, 0, 0, None)
    exact = True
    for gain in wanted.listed:
        before = posterior_vulnerability(first, wanted.prior, gain)
        after = posterior_vulnerability(second, wanted.prior, gain)
        sign = -1 if before.is_loss else 1
        difference = sign * (after.value - before.value)
        sharp = isinstance(difference, Fraction | int)
        exact = exact and sharp
        # Float values of the same quantity may differ by rounding.
        if difference > worst[0] and (sharp or difference > 1e-12 * _size(gain, first)):
            worst = (difference, before.value, after.value, gain)
    if worst[0] <= 0:
        return Verdict(True, order, 0.0, None, None, "each gain evaluated", exact)
    adversary = as_gain(worst[3], first.inputs)
    belief = as_prior(wanted.prior, first)
    objection = Objection(float(worst[1]), float(worst[2]), adversary.matrix, belief, secrets=first.inputs)
    proof = None
    if not adversary.is_loss:
        table = adversary.matrix
        witness = fractions_of(table) if table.dtype.kind in "iO" else table.astype(np.float64)
        shaped = objected(
            first, second, witness.T, "", prior=belief if belief.dtype == object else _normalised(belief)
        )
        proof = shaped.certificate
    return Verdict(False, order, float(worst[0]), proof, objection, "each gain evaluated", exact)
