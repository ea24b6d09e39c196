"""What a proof that compares two channels must be about, found without solving anything."""

from __future__ import annotations

from typing import Any

from sievert.channels import Channel
from sievert.orders._closed_forms import family_proof, member_of
from sievert.orders._decisions import aligned
from sievert.orders._noise import by_noise
from sievert.orders._refinement import by_partitions
from sievert.orders._verdicts import entries
from sievert.proofs import AdversaryProof, CascadeProof, Proof, texts_of

__all__ = ["refinement_questions"]


def refinement_questions(proof: Proof, less_safe: Channel, safer: Channel) -> list[dict[str, Any]]:
    """What a proof of this kind about the order "average" may be about; no program is solved.

    Channels of fractions may be proved as such or as the floats they are rounded to.

    >>> import sievert as sv
    >>> a = sv.Channel([["4/5", "1/5"], ["1/5", "4/5"]])
    >>> b = a.then(a)
    >>> proof = sv.refines(a, b).certificate
    >>> [proof.question() in refinement_questions(proof, *pair) for pair in ((a, b), (b, a))]
    [True, False]
    """
    if isinstance(proof, CascadeProof | AdversaryProof):
        first, second = aligned(less_safe, safer)
        both = first.form == "exact" and second.form == "exact"
        case = {"case": "average"} if isinstance(proof, AdversaryProof) else {}
        return [
            {
                "less_safe": texts_of(entries(first, exact)),
                "safer": texts_of(entries(second, exact)),
                **case,
            }
            for exact in ([True, False] if both else [False])
        ]
    for shortcut in (by_noise, by_partitions):
        known = shortcut(less_safe, safer, "average")
        if known is not None:
            return [] if known.certificate is None else [known.certificate.question()]
    first, second = aligned(less_safe, safer)
    mine, theirs = member_of(first), member_of(second)
    closed = None if mine is None or not mine.exact else family_proof(mine, theirs)
    return [] if closed is None else [closed.question()]
