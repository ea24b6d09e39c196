"""Proofs as data: every certificate, and its check with no solver.

A proof saves to JSON and `verify` re-checks it from its own numbers. The checks use exact integers, ball
arithmetic, and float sums with a proved rounding error; they import no linear-program solver.
"""

from sievert.proofs.base import Proof, Verification, load_proof, proof_from_dict, save_proof, verify
from sievert.proofs.claims import ApproximateProof, GuessProof, RepeatedGuessProof
from sievert.proofs.composed import ComposedGuessProof
from sievert.proofs.directed import DirectedProof
from sievert.proofs.groups import GroupsProof
from sievert.proofs.refinement import AdversaryProof, CascadeProof, PrivacyOrderProof
from sievert.proofs.worst import WorstLeakageProof

__all__ = [
    "AdversaryProof",
    "ApproximateProof",
    "CascadeProof",
    "ComposedGuessProof",
    "DirectedProof",
    "GroupsProof",
    "GuessProof",
    "PrivacyOrderProof",
    "Proof",
    "RepeatedGuessProof",
    "Verification",
    "WorstLeakageProof",
    "load_proof",
    "proof_from_dict",
    "save_proof",
    "verify",
]
