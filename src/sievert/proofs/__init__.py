"""Proofs as data: every certificate, and its check with no solver.

A proof saves to JSON and `verify` re-checks it from its own numbers. The checks use exact integers, ball
arithmetic, and float sums with a proved rounding error; they import no linear-program solver.
"""

from sievert.proofs.base import Proof, Verification, load_proof, proof_from_dict, save_proof, verify
from sievert.proofs.estimation import LikelihoodProof, TransportProof
from sievert.proofs.refinement import AdversaryProof, CascadeProof, PrivacyOrderProof
from sievert.proofs.worst import WorstLeakageProof

__all__ = [
    "AdversaryProof",
    "CascadeProof",
    "LikelihoodProof",
    "PrivacyOrderProof",
    "Proof",
    "TransportProof",
    "Verification",
    "WorstLeakageProof",
    "load_proof",
    "proof_from_dict",
    "save_proof",
    "verify",
]
