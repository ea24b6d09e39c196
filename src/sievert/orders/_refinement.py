"""Refinement of channels: is B at least as safe as A against every adversary?

A ⊑ B holds iff B = A·R for some channel R (Fernandes, Lem 2.2). Either answer carries its own proof: R, or an
adversary who prefers B. Three orders, each implied by the one before: *average* (every gain and prior), *max*
(every quasi-convex measure at the worst output), *privacy* (every metric). Up means safer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.channels import Channel, DeterministicChannel, PartitionChannel, as_channel, reduction
from sievert.errors import ChannelError
from sievert.numerics import abbreviated, choice, one_thread
from sievert.orders._average import decide_average
from sievert.orders._closed_forms import (
    decide_binary,
    decide_family,
    decide_family_exactly,
    family_proof,
    member_of,
)
from sievert.orders._decisions import TOLERANCE, Decision, aligned, residual, two_action_gap
from sievert.orders._deficiency import Deficiency, deficiency
from sievert.orders._exact import ExactDecision, decide_exactly, undecided_reason
from sievert.orders._maximum import decide_maximum, decide_maximum_exactly
from sievert.orders._noise import by_noise
from sievert.orders._privacy import by_one_metric, by_privacy
from sievert.orders._verdicts import Comparison, Objection, Verdict, entries, objected
from sievert.orders.adversaries import AdversaryClass, class_of, refines_class
from sievert.proofs import BlockSizesProof, CascadeProof, MixtureProof, PartitionProof, sizes_forbid
from sievert.spaces import Metric, metric_of

__all__ = [
    "Comparison",
    "Deficiency",
    "Objection",
    "Verdict",
    "by_partitions",
    "compare",
    "deficiency",
    "refines",
]

Order = Literal["average", "max", "privacy"]
ORDERS: tuple[Order, ...] = ("average", "max", "privacy")
NEAR = "too near the boundary for floats; give both channels in fractions to decide it"


def refines(
    less_safe: Channel,
    safer: Channel,
    order: Order = "average",
    *,
    metric: Metric | None = None,
    adversary: AdversaryClass | Any = None,
) -> Verdict:
    """Is `safer` at least as safe as `less_safe`, against every adversary of an order?

    Parameters
    ----------
    less_safe, safer : channels on the same inputs
    order : "average", "max" or "privacy"
    metric : with order="privacy", compare the smallest ε for this one metric only
    adversary : with order="average", only these adversaries: a class of `sv.adversaries`, a gain function,
        or a list of gain functions (with the uniform prior)

    Returns
    -------
    Verdict
        `holds` (None where the precision cannot decide), with a certificate for a yes and an objecting
        adversary for a no.

    Notes
    -----
    On average `safer` must be `less_safe` followed by some channel; for "max" its posteriors must lie in the
    hull of the other's; for "privacy" no pair of inputs may be further apart.

    Cost: a linear program of outputs² variables for "average", one a posterior for "max", O(n²·outputs) for
    "privacy".

    References
    ----------
    Fernandes, Lem 2.2.

    Examples
    --------
    >>> a = Channel([["4/5", "1/5"], ["1/5", "4/5"]])
    >>> refines(a, a.then(a)).holds, refines(a.then(a), a).holds
    (True, False)
    """
    choice("order", order, ORDERS, ChannelError)
    less_safe, safer = as_channel(less_safe, "less_safe"), as_channel(safer, "safer")
    if metric is not None and order != "privacy":
        raise ChannelError(f'metric belongs to order="privacy", not to order={abbreviated(order)}')
    if adversary is not None:
        if order != "average":
            raise ChannelError(f'adversary belongs to order="average", not to order={abbreviated(order)}')
        first, second = aligned(less_safe, safer)
        with one_thread(max(*first.shape, *second.shape)):
            return refines_class(first, second, class_of(adversary, first))
    if metric is not None:
        return by_one_metric(*aligned(less_safe, safer), metric_of(metric))
    for shortcut in (by_noise, by_partitions):
        known = shortcut(less_safe, safer, order)
        if known is not None:
            return known
    first, second = aligned(less_safe, safer)
    with one_thread(max(*first.shape, *second.shape)):
        return {"average": _average, "max": _maximum, "privacy": by_privacy}[order](first, second)


def compare(first: Channel, second: Channel) -> Comparison:
    """Compare two mechanisms in every order, both ways.

    Parameters
    ----------
    first, second : channels on the same inputs

    Returns
    -------
    Comparison
        `forward` and `backward`: a verdict for each of the orders "average", "max" and "privacy".

    Notes
    -----
    Cost: six tests by `sv.refines`.

    Examples
    --------
    >>> import sievert as sv
    >>> noise, answer = sv.mechanisms.truncated_geometric(3, alpha="1/2"), sv.Channel.identity(3)
    >>> found = sv.compare(answer, noise)
    >>> [verdict.holds for verdict in found.forward], [verdict.holds for verdict in found.backward]
    ([True, True, True], [False, False, False])
    """
    forward = tuple(refines(first, second, order) for order in ORDERS)
    backward = tuple(refines(second, first, order) for order in ORDERS)
    return Comparison(forward, backward)


def _both_exact(first: Channel, second: Channel) -> bool:
    return first.form == "exact" and second.form == "exact"


def _average(first: Channel, second: Channel) -> Verdict:
    """Structured cases, each named; then the general flow, made exact where both channels are."""
    by_family = _family(first, second)
    if by_family is not None:
        return by_family
    if first.shape[0] == 2:
        return _binary(first, second)
    merged = reduction(first)
    guess = decide_average(merged.channel.rounded(), second.rounded())
    if not _both_exact(first, second):
        return _float_verdict(first, second, _spread(guess, merged.groups, first.shape[1]))
    exact_a, exact_b = merged.channel.entries, second.entries
    decided = decide_exactly(exact_a, exact_b, guess)
    if decided is None:
        # A float R proves nothing about fractions.
        return Verdict(None, "average", guess.upper, None, None, undecided_reason(exact_a, exact_b))
    if decided.post is not None:
        post = _expanded(decided.post, merged.groups, first.shape[1], Fraction(0))
        decided = ExactDecision(True, post, None, decided.method)
    return _exact_verdict(first, second, decided)


def _spread(guess: Decision, groups: tuple[tuple[int, ...], ...], size: int) -> Decision:
    """A decision about the merged outputs of A as one about all of them."""
    if guess.post is None:
        return guess
    post = _expanded(guess.post, groups, size, 0.0)
    return Decision(guess.lower, guess.upper, post, guess.witness, guess.method)


def _expanded(post: NDArray[Any], groups: tuple[tuple[int, ...], ...], size: int, zero: Any) -> NDArray[Any]:
    """R on all outputs of A: merged outputs share a row; outputs that never occur go to the first output."""
    table = np.full((size, post.shape[1]), zero, dtype=post.dtype)
    table[:, 0] = zero + 1
    for row, members in enumerate(groups):
        for y in members:
            table[y] = post[row]
    return table


def _exact_verdict(first: Channel, second: Channel, decided: ExactDecision) -> Verdict:
    if not decided.holds:
        assert decided.witness is not None
        return objected(first, second, decided.witness, decided.method)
    assert decided.post is not None
    proof = CascadeProof(first.entries, second.entries, decided.post)
    post = Channel.trusted(decided.post, "exact", first.outputs, second.outputs)
    return Verdict(True, "average", 0.0, proof, None, decided.method, True, post)


def _float_verdict(first: Channel, second: Channel, guess: Decision) -> Verdict:
    if guess.holds is False:
        assert guess.witness is not None
        return objected(first, second, guess.witness, guess.method)
    if guess.holds is None or guess.post is None:
        return Verdict(None, "average", guess.upper, None, None, NEAR)
    proof = CascadeProof(first.rounded(), second.rounded(), guess.post, Fraction(TOLERANCE))
    post = Channel.trusted(guess.post, "float", first.outputs, second.outputs)
    return Verdict(True, "average", guess.upper, proof, None, guess.method, False, post)


def _family(first: Channel, second: Channel) -> Verdict | None:
    """A truncated geometric, randomised response or exponential on a line as the less safe channel."""
    family = member_of(first)
    if family is None:
        return None
    both = _both_exact(first, second)
    decided = decide_family_exactly(family, second) if both else None
    if decided is not None:
        return _exact_verdict(first, second, decided)
    # A member's parameter is exact also where its entries have too many digits to be listed.
    other = member_of(second) if family.exact else None
    closed = family_proof(family, other)
    if closed is None or other is None:
        floats = None if both else decide_family(family, first.rounded(), second.rounded())
        return None if floats is None else _float_verdict(first, second, floats)
    method = "closed form of two families"
    if closed.holds:
        return Verdict(True, "average", 0.0, closed, None, method, True)
    a, b = family.floats(), other.floats()
    found = decide_family(family, a, b)
    witness = None
    if found.witness is not None and found.lower > 0:
        rounded, others = (Channel.trusted(table, "float", first.inputs) for table in (a, b))
        witness = objected(rounded, others, found.witness, found.method).witness
    return Verdict(False, "average", found.lower, closed, witness, method, True)


def _binary(first: Channel, second: Channel) -> Verdict:
    """Two secrets: ROC curves. In floats the certificates are re-evaluated, not believed."""
    exact = _both_exact(first, second)
    a, b = entries(first, exact), entries(second, exact)
    found = decide_binary(a, b)
    method = "ROC curves of two secrets"
    if exact:
        return _exact_verdict(first, second, ExactDecision(found.holds, found.post, found.witness, method))
    lower = 0.0 if found.witness is None else two_action_gap(found.witness, a, b)
    if lower > TOLERANCE:
        return _float_verdict(first, second, Decision(lower, 1.0, None, found.witness, method))
    upper = 1.0 if found.post is None else residual(found.post, a, b)
    if upper <= TOLERANCE:
        return _float_verdict(first, second, Decision(0.0, upper, found.post, None, method))
    merged = reduction(first)
    guess = decide_average(merged.channel.rounded(), b)
    return _float_verdict(first, second, _spread(guess, merged.groups, first.shape[1]))


def _maximum(first: Channel, second: Channel) -> Verdict:
    exact = _both_exact(first, second)
    known = _maximum_of_family(first, second, exact)
    if known is not None:
        return known
    if exact:
        # A post-processing is a mixture of posteriors.
        verdict = _average(first, second)
        if verdict.holds:
            return replace(verdict, order="max")
    found = decide_maximum(first.rounded(), second.rounded())
    if exact:
        proved = decide_maximum_exactly(first.entries, second.entries, found)
        if proved is None:
            return Verdict(
                None, "max", found.distance, None, None, "too near a hull, and too large to decide exactly"
            )
        found = proved
    if found.holds is False:
        assert found.direction is not None
        return _separated(first, second, found.direction, exact)
    if not found.holds:
        return Verdict(None, "max", found.distance, None, None, NEAR)
    assert found.mixing is not None
    tolerance = Fraction(0) if exact else Fraction(TOLERANCE)
    proof = MixtureProof(entries(first, exact), entries(second, exact), found.mixing, tolerance)
    return Verdict(True, "max", found.distance, proof, None, "hull membership", exact)


def _maximum_of_family(first: Channel, second: Channel, exact: bool) -> Verdict | None:
    """Families have independent columns, so that average and max refinement coincide (Fernandes, Lem 2.6)."""
    family = member_of(first)
    if family is None:
        return None
    verdict = _average(first, second)
    if verdict.holds and exact:
        return replace(verdict, order="max")
    if verdict.holds:
        assert verdict.post is not None
        a, b, post = first.rounded(), second.rounded(), verdict.post.rounded()
        misses, weights = np.abs(a @ post - b).sum(axis=0) / 2, b.sum(axis=0)
        # Rare outputs count as much as others at the most revealing output.
        if (misses > TOLERANCE * weights).any():
            return None
        proof = MixtureProof(a, b, post, Fraction(TOLERANCE))
        return Verdict(True, "max", verdict.deficiency, proof, None, verdict.method)
    if verdict.holds is None:
        return Verdict(None, "max", verdict.deficiency, None, None, verdict.method)
    proved = decide_family_exactly(family, second) if exact else None
    if proved is not None:
        assert proved.witness is not None
        return _separated(first, second, proved.witness[:, 0], exact)
    floats = [Channel.trusted(channel.rounded(), "float", first.inputs) for channel in (first, second)]
    found = decide_family(family, *(channel.rounded() for channel in floats))
    if found.witness is None:
        return replace(verdict, order="max", witness=None)
    shown = _separated(floats[0], floats[1], found.witness[:, 0], False)
    return replace(verdict, order="max", witness=shown.witness) if exact else shown


def _separated(first: Channel, second: Channel, direction: NDArray[Any], exact: bool) -> Verdict:
    """Two actions: h, and the constant that no posterior of A exceeds."""
    table = np.empty((len(direction), 2), dtype=direction.dtype)
    table[:, 0] = direction
    if exact:
        table[:, 1] = Fraction(0)
    else:
        matrix = first.rounded()
        sums = matrix.sum(axis=0)
        table[:, 1] = (direction @ (matrix[:, sums > 0] / sums[sums > 0])).max()
    return objected(first, second, table, "separating direction", case="max")


# ── Deterministic programs: A ⊑ B iff the output of B is a function of the output of A ──────────────────────

# The proof lists the output of every input; beyond this only the verdict is given.
LARGEST_PROOF = 2_000_000


def by_partitions(first: Channel, second: Channel, order: str) -> Verdict | None:
    """The verdict for two deterministic programs; all orders agree on them (except that ε is 0 or ∞)."""
    mine, theirs = listed_program(first), listed_program(second)
    if mine is None or theirs is None:
        return _by_sizes(first, second, order)
    if tuple(first.inputs) != tuple(second.inputs):
        return None
    leader = np.zeros(first.shape[1], dtype=np.intp)
    leader[mine[::-1]] = np.arange(len(mine))[::-1]  # the first input of every block of A
    split = np.flatnonzero(theirs != theirs[leader[mine]])
    small = len(mine) <= LARGEST_PROOF
    a, b = (tuple(images.tolist()) for images in (mine, theirs)) if small else ((), ())
    if not len(split):
        proof = PartitionProof(a, b) if small else None
        return Verdict(True, order, 0.0, proof, None, "partition of the less safe program is finer", True)
    i, j = int(leader[mine[split[0]]]), int(split[0])
    proof = PartitionProof(a, b, (i, j)) if small else None
    labels = (first.inputs[i], first.inputs[j])
    prior, gain = np.zeros(len(mine)), np.zeros((2, len(mine))) if small else None
    prior[[i, j]] = 0.5
    if gain is not None:
        gain[0, i] = gain[1, j] = 1.0
    if order == "privacy":
        objection = Objection(0.0, np.inf, pair=labels, output=second.outputs[int(theirs[i])])
    else:
        objection = Objection(0.5, 1.0, gain, prior, secrets=first.inputs)
    return Verdict(
        False, order, 0.5, proof, objection, "two secrets that only the second program separates", True
    )


@singledispatch
def listed_program(channel: Channel) -> IndexArray | None:
    """The output of every input of a deterministic program, where it is listed; None for others."""
    return None


@listed_program.register
def _outputs_of_program(channel: DeterministicChannel) -> IndexArray:
    return channel.images


@singledispatch
def sizes_of_blocks(channel: Channel) -> Mapping[int, int] | None:
    """How many outputs of a deterministic program have each number of inputs; None for other channels."""
    return None


@sizes_of_blocks.register
def _sizes_of_program(channel: DeterministicChannel | PartitionChannel) -> Mapping[int, int]:
    return channel.block_sizes()


def _by_sizes(first: Channel, second: Channel, order: str) -> Verdict | None:
    """Programs known by the sizes of their blocks: sizes can refuse; they confirm only at the extremes."""
    mine, theirs = sizes_of_blocks(first), sizes_of_blocks(second)
    if mine is None or theirs is None:
        return None
    if first.shape[0] != second.shape[0]:
        raise ChannelError(
            f"the programs have {first.shape[0]} and {second.shape[0]} inputs; give the same inputs"
        )
    reason = sizes_forbid(mine, theirs)
    if reason is not None:
        proof = BlockSizesProof(tuple(mine.items()), tuple(theirs.items()))
        return Verdict(False, order, 0.0, proof, None, reason, True)
    if first.shape[1] == first.shape[0] or second.shape[1] == 1:
        return Verdict(
            True, order, 0.0, None, None, "the less safe program tells everything, or the other nothing", True
        )
    return Verdict(None, order, 1.0, None, None, "block sizes alone do not tell which secrets share a block")
