"""Proofs as data: every certificate, and its check with no solver.

A proof saves to JSON and `verify` re-checks it from its own numbers. The checks use exact integers, ball
arithmetic, and float sums with a proved rounding error; they import no linear-program solver.
"""

from sievert.proofs.additive import AdditiveCapacityProof
from sievert.proofs.base import Proof, Verification, load_proof, proof_from_dict, save_proof, verify
from sievert.proofs.claims import ApproximateProof, GuessProof, RepeatedGuessProof
from sievert.proofs.composed import ComposedGuessProof
from sievert.proofs.design import OptimalDesignProof
from sievert.proofs.directed import DirectedProof
from sievert.proofs.estimation import LikelihoodProof, TransportProof
from sievert.proofs.exact_design import ExactDesignProof
from sievert.proofs.families import FamilyProof
from sievert.proofs.groups import GroupsProof
from sievert.proofs.leakage_design import LeakageDesignProof
from sievert.proofs.metric_order import MetricOrderProof
from sievert.proofs.noise import NoiseProof
from sievert.proofs.partitions import BlockSizesProof, PartitionProof
from sievert.proofs.privacy import PrivacyOrderProof, PrivacyProof
from sievert.proofs.refinement import AdversaryProof, CascadeProof, ClassProof, MixtureProof
from sievert.proofs.worst import WorstLeakageProof

__all__ = [
    "AdditiveCapacityProof",
    "AdversaryProof",
    "ApproximateProof",
    "BlockSizesProof",
    "CascadeProof",
    "ClassProof",
    "ComposedGuessProof",
    "DirectedProof",
    "ExactDesignProof",
    "FamilyProof",
    "GroupsProof",
    "GuessProof",
    "LeakageDesignProof",
    "LikelihoodProof",
    "MetricOrderProof",
    "MixtureProof",
    "NoiseProof",
    "OptimalDesignProof",
    "PartitionProof",
    "PrivacyOrderProof",
    "PrivacyProof",
    "Proof",
    "RepeatedGuessProof",
    "TransportProof",
    "Verification",
    "WorstLeakageProof",
    "load_proof",
    "proof_from_dict",
    "save_proof",
    "verify",
]
