"""Deterministic programs: A ⊑ B iff the output of B is a function of the output of A."""

from __future__ import annotations

import numpy as np

from sievert.channels.channel import Channel
from sievert.channels.deterministic import DeterministicChannel, PartitionChannel
from sievert.errors import ChannelError
from sievert.orders.verdicts import Objection, Verdict
from sievert.proofs.partitions import BlockSizesProof, PartitionProof, sizes_forbid

__all__ = ["by_partitions"]

# The proof lists the output of every input; beyond this only the verdict is given.
LARGEST_PROOF = 2_000_000


def by_partitions(first: Channel, second: Channel, order: str) -> Verdict | None:
    """The verdict for two deterministic programs; all orders agree on them (except that ε is 0 or ∞)."""
    if isinstance(first, PartitionChannel) or isinstance(second, PartitionChannel):
        return _by_sizes(first, second, order)
    if not (isinstance(first, DeterministicChannel) and isinstance(second, DeterministicChannel)):
        return None
    if tuple(first.inputs) != tuple(second.inputs):
        return None
    mine, theirs = first.images, second.images
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


def _by_sizes(first: Channel, second: Channel, order: str) -> Verdict | None:
    """Programs known by the sizes of their blocks: sizes can refuse; they confirm only at the extremes."""
    known = (DeterministicChannel, PartitionChannel)
    if not (isinstance(first, known) and isinstance(second, known)):
        return None
    if first.shape[0] != second.shape[0]:
        raise ChannelError(
            f"the programs have {first.shape[0]} and {second.shape[0]} inputs; give the same inputs"
        )
    mine, theirs = first.block_sizes(), second.block_sizes()
    reason = sizes_forbid(mine, theirs)
    if reason is not None:
        proof = BlockSizesProof(tuple(mine.items()), tuple(theirs.items()))
        return Verdict(False, order, 0.0, proof, None, reason, True)
    if first.shape[1] == first.shape[0] or second.shape[1] == 1:
        return Verdict(
            True, order, 0.0, None, None, "the less safe program tells everything, or the other nothing", True
        )
    return Verdict(None, order, 1.0, None, None, "block sizes alone do not tell which secrets share a block")
