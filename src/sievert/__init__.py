"""Sievert: measure, bound, compare and design what a privacy mechanism leaks.

>>> import sievert as sv
>>> warner = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
>>> print(sv.epsilon(warner, sv.Policy.local(["yes", "no"])))
ε = ln(3) = 1.09861, between inputs 'yes' and 'no' on output 'yes'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name → where it lives; each is imported when first used, so that `import sievert` is instant.
_ATTRIBUTES = {
    "Answers": "sievert.spaces",
    "BayesRisk": "sievert.estimation.bayes_risk",
    "BlackBoxAudit": "sievert.estimation.black_box",
    "Bound": "sievert.limits.bounds",
    "BreachCurve": "sievert.leakage.breach_times",
    "Breaches": "sievert.leakage.breaches",
    "Calibration": "sievert.estimation.calibration",
    "Candidates": "sievert.design.candidates",
    "Capacity": "sievert.leakage.capacity",
    "Channel": "sievert.channels",
    "ChernoffPairs": "sievert.leakage.chernoff",
    "Comparison": "sievert.orders.refinement",
    "ComposedClaim": "sievert.limits.composition",
    "DeltaCurve": "sievert.channels.divergences",
    "Epsilon": "sievert.channels",
    "Estimate": "sievert.estimation.estimate",
    "Explanation": "sievert.limits.explain",
    "Frontier": "sievert.design.frontier",
    "Graph": "sievert.spaces",
    "Guess": "sievert.leakage.translations",
    "Hyper": "sievert.channels",
    "Identifiability": "sievert.estimation.identifiability",
    "Leakage": "sievert.leakage.measures",
    "LeakageDesign": "sievert.design.leakage_families",
    "LossClass": "sievert.leakage.loss_classes",
    "Mean": "sievert.estimation.means",
    "Metric": "sievert.spaces",
    "Objection": "sievert.orders.refinement",
    "ObservationsUntil": "sievert.leakage.until",
    "OptimalMechanism": "sievert.design.optimal",
    "Policy": "sievert.spaces",
    "Proof": "sievert.proofs.base",
    "Query": "sievert.spaces",
    "QueryBudget": "sievert.leakage.until",
    "RecordLeakage": "sievert.leakage.records",
    "Remap": "sievert.design.remap",
    "RenyiCurve": "sievert.channels.divergences",
    "SecretGraph": "sievert.spaces",
    "SievertError": "sievert.errors",
    "SuccessCurve": "sievert.leakage.success",
    "SuccessProbability": "sievert.leakage.success",
    "Tradeoff": "sievert.channels.tradeoff",
    "Transport": "sievert.estimation.transport",
    "Verdict": "sievert.orders.refinement",
    "Verification": "sievert.proofs.base",
    "Vulnerability": "sievert.leakage.measures",
    "WeakestClaim": "sievert.limits.backwards",
    "WorstLeakage": "sievert.limits.worst",
    "arimoto_information": "sievert.leakage.information",
    "as_guess": "sievert.leakage.translations",
    "audit": "sievert.report.audit",
    "audit_mechanism": "sievert.estimation.black_box",
    "audit_outputs": "sievert.estimation.black_box",
    "audit_samples": "sievert.estimation.black_box",
    "average_level": "sievert.leakage.breach_levels",
    "bayes_risk": "sievert.estimation.bayes_risk",
    "breach_curve": "sievert.leakage.breach_times",
    "breaches": "sievert.leakage.breaches",
    "calibration": "sievert.estimation.calibration",
    "candidates": "sievert.design.candidates",
    "capacity": "sievert.leakage.capacity",
    "chernoff_information": "sievert.leakage.chernoff",
    "chernoff_pairs": "sievert.leakage.chernoff",
    "classify_loss": "sievert.leakage.loss_classes",
    "compare": "sievert.orders.refinement",
    "composed_claim": "sievert.limits.composition",
    "composed_distinguishability": "sievert.channels.privacy",
    "deficiency": "sievert.orders.refinement",
    "delta_curve": "sievert.channels.divergences",
    "diagonalise": "sievert.limits.transformations",
    "distinguishability": "sievert.channels",
    "entropy": "sievert.leakage.information",
    "epsilon": "sievert.channels",
    "estimate": "sievert.estimation.estimate",
    "estimate_mean": "sievert.estimation.means",
    "expected_loss": "sievert.leakage.expected_losses",
    "explain": "sievert.limits.explain",
    "explain_dp_accounting": "sievert.limits.events",
    "explain_opendp": "sievert.limits.adapters",
    "frontier": "sievert.design.frontier",
    "geometric_optimality": "sievert.design.line_certificate",
    "geometric_rate": "sievert.leakage.rates",
    "identifiability": "sievert.estimation.identifiability",
    "individual_breach": "sievert.leakage.individuals",
    "is_private": "sievert.channels.privacy",
    "kantorovich": "sievert.estimation.transport",
    "largest_epsilon": "sievert.limits.largest",
    "least_leakage": "sievert.design.leakage_families",
    "least_loss": "sievert.design.leakage_families",
    "load": "sievert.files",
    "loss_curve": "sievert.leakage.expected_losses",
    "maximal_leakage": "sievert.leakage.information",
    "min_entropy_leakage": "sievert.leakage.information",
    "multiplicative_kantorovich": "sievert.estimation.multiplicative_transport",
    "mutual_information": "sievert.leakage.information",
    "observations_until": "sievert.leakage.until",
    "observations_until_breach": "sievert.leakage.breach_times",
    "one_sided_divergence": "sievert.channels.privacy",
    "optimal_mechanism": "sievert.design.optimal",
    "posterior_privacy_vulnerability": "sievert.channels.privacy",
    "posterior_vulnerability": "sievert.leakage.measures",
    "privacy_vulnerability": "sievert.channels.privacy",
    "property_channel": "sievert.leakage.translations",
    "query_budget": "sievert.leakage.until",
    "rates": "sievert.leakage.rates",
    "record_leakage": "sievert.leakage.records",
    "refines": "sievert.orders.refinement",
    "remap": "sievert.design.remap",
    "renyi_curve": "sievert.channels.divergences",
    "save": "sievert.files",
    "sibson_information": "sievert.leakage.information",
    "smallest_epsilon": "sievert.channels.divergences",
    "smooth_by_distance": "sievert.limits.transformations",
    "strategy": "sievert.leakage.measures",
    "success_curve": "sievert.leakage.success",
    "success_probability": "sievert.leakage.success",
    "symmetrise": "sievert.limits.transformations",
    "threshold": "sievert.orders.thresholds",
    "tradeoff_function": "sievert.channels.divergences",
    "uniform": "sievert.channels.priors",
    "verify": "sievert.proofs.base",
    "vulnerability": "sievert.leakage.measures",
    "weakest_claim": "sievert.limits.backwards",
    "worst_leakage": "sievert.limits.worst",
    "worst_level": "sievert.leakage.breach_levels",
}
_MODULES = {
    "adversaries": "sievert.orders.adversaries",
    "bounds": "sievert.limits.bounds",
    "constraints": "sievert.spaces.constraints",
    "errors": "sievert.errors",
    "gains": "sievert.leakage.gains",
    "graphs": "sievert.spaces.graphs",
    "lattice": "sievert.orders.lattice",
    "leakage": "sievert.leakage",
    "losses": "sievert.leakage.losses",
    "mechanisms": "sievert.mechanisms",
    "metrics": "sievert.spaces.metrics",
    "plots": "sievert.report.plots",
    "priors": "sievert.channels.priors",
    "protocols": "sievert.estimation.protocols",
    "release": "sievert.release",
    "sampling": "sievert.sampling",
    "secrets": "sievert.spaces.secrets",
    "symmetries": "sievert.spaces.symmetries",
    "testing": "sievert.testing",
}

__all__ = ["__version__", *sorted([*_ATTRIBUTES, *_MODULES])]

if TYPE_CHECKING:
    from sievert import errors as errors
    from sievert import mechanisms as mechanisms
    from sievert import release as release
    from sievert import sampling as sampling
    from sievert import testing as testing
    from sievert.channels import Channel as Channel
    from sievert.channels import Epsilon as Epsilon
    from sievert.channels import Hyper as Hyper
    from sievert.channels import distinguishability as distinguishability
    from sievert.channels import epsilon as epsilon
    from sievert.channels import priors as priors
    from sievert.channels.divergences import DeltaCurve as DeltaCurve
    from sievert.channels.divergences import RenyiCurve as RenyiCurve
    from sievert.channels.divergences import delta_curve as delta_curve
    from sievert.channels.divergences import renyi_curve as renyi_curve
    from sievert.channels.divergences import smallest_epsilon as smallest_epsilon
    from sievert.channels.divergences import tradeoff_function as tradeoff_function
    from sievert.channels.priors import uniform as uniform
    from sievert.channels.privacy import composed_distinguishability as composed_distinguishability
    from sievert.channels.privacy import is_private as is_private
    from sievert.channels.privacy import one_sided_divergence as one_sided_divergence
    from sievert.channels.privacy import posterior_privacy_vulnerability as posterior_privacy_vulnerability
    from sievert.channels.privacy import privacy_vulnerability as privacy_vulnerability
    from sievert.channels.tradeoff import Tradeoff as Tradeoff
    from sievert.design.candidates import Candidates as Candidates
    from sievert.design.candidates import candidates as candidates
    from sievert.design.frontier import Frontier as Frontier
    from sievert.design.frontier import frontier as frontier
    from sievert.design.leakage_families import LeakageDesign as LeakageDesign
    from sievert.design.leakage_families import least_leakage as least_leakage
    from sievert.design.leakage_families import least_loss as least_loss
    from sievert.design.line_certificate import geometric_optimality as geometric_optimality
    from sievert.design.optimal import OptimalMechanism as OptimalMechanism
    from sievert.design.optimal import optimal_mechanism as optimal_mechanism
    from sievert.design.remap import Remap as Remap
    from sievert.design.remap import remap as remap
    from sievert.errors import SievertError as SievertError
    from sievert.estimation import protocols as protocols
    from sievert.estimation.bayes_risk import BayesRisk as BayesRisk
    from sievert.estimation.bayes_risk import bayes_risk as bayes_risk
    from sievert.estimation.black_box import BlackBoxAudit as BlackBoxAudit
    from sievert.estimation.black_box import audit_mechanism as audit_mechanism
    from sievert.estimation.black_box import audit_outputs as audit_outputs
    from sievert.estimation.black_box import audit_samples as audit_samples
    from sievert.estimation.calibration import Calibration as Calibration
    from sievert.estimation.calibration import calibration as calibration
    from sievert.estimation.estimate import Estimate as Estimate
    from sievert.estimation.estimate import estimate as estimate
    from sievert.estimation.identifiability import Identifiability as Identifiability
    from sievert.estimation.identifiability import identifiability as identifiability
    from sievert.estimation.means import Mean as Mean
    from sievert.estimation.means import estimate_mean as estimate_mean
    from sievert.estimation.multiplicative_transport import (
        multiplicative_kantorovich as multiplicative_kantorovich,
    )
    from sievert.estimation.transport import Transport as Transport
    from sievert.estimation.transport import kantorovich as kantorovich
    from sievert.files import load as load
    from sievert.files import save as save
    from sievert.leakage import gains as gains
    from sievert.leakage import losses as losses
    from sievert.leakage.breach_levels import average_level as average_level
    from sievert.leakage.breach_levels import worst_level as worst_level
    from sievert.leakage.breach_times import BreachCurve as BreachCurve
    from sievert.leakage.breach_times import breach_curve as breach_curve
    from sievert.leakage.breach_times import observations_until_breach as observations_until_breach
    from sievert.leakage.breaches import Breaches as Breaches
    from sievert.leakage.breaches import breaches as breaches
    from sievert.leakage.capacity import Capacity as Capacity
    from sievert.leakage.capacity import capacity as capacity
    from sievert.leakage.chernoff import ChernoffPairs as ChernoffPairs
    from sievert.leakage.chernoff import chernoff_information as chernoff_information
    from sievert.leakage.chernoff import chernoff_pairs as chernoff_pairs
    from sievert.leakage.expected_losses import expected_loss as expected_loss
    from sievert.leakage.expected_losses import loss_curve as loss_curve
    from sievert.leakage.individuals import individual_breach as individual_breach
    from sievert.leakage.information import arimoto_information as arimoto_information
    from sievert.leakage.information import entropy as entropy
    from sievert.leakage.information import maximal_leakage as maximal_leakage
    from sievert.leakage.information import min_entropy_leakage as min_entropy_leakage
    from sievert.leakage.information import mutual_information as mutual_information
    from sievert.leakage.information import sibson_information as sibson_information
    from sievert.leakage.loss_classes import LossClass as LossClass
    from sievert.leakage.loss_classes import classify_loss as classify_loss
    from sievert.leakage.measures import Leakage as Leakage
    from sievert.leakage.measures import Vulnerability as Vulnerability
    from sievert.leakage.measures import leakage as leakage
    from sievert.leakage.measures import posterior_vulnerability as posterior_vulnerability
    from sievert.leakage.measures import strategy as strategy
    from sievert.leakage.measures import vulnerability as vulnerability
    from sievert.leakage.rates import geometric_rate as geometric_rate
    from sievert.leakage.rates import rates as rates
    from sievert.leakage.records import RecordLeakage as RecordLeakage
    from sievert.leakage.records import record_leakage as record_leakage
    from sievert.leakage.success import SuccessCurve as SuccessCurve
    from sievert.leakage.success import SuccessProbability as SuccessProbability
    from sievert.leakage.success import success_curve as success_curve
    from sievert.leakage.success import success_probability as success_probability
    from sievert.leakage.translations import Guess as Guess
    from sievert.leakage.translations import as_guess as as_guess
    from sievert.leakage.translations import property_channel as property_channel
    from sievert.leakage.until import ObservationsUntil as ObservationsUntil
    from sievert.leakage.until import QueryBudget as QueryBudget
    from sievert.leakage.until import observations_until as observations_until
    from sievert.leakage.until import query_budget as query_budget
    from sievert.limits import bounds as bounds
    from sievert.limits.adapters import explain_opendp as explain_opendp
    from sievert.limits.backwards import WeakestClaim as WeakestClaim
    from sievert.limits.backwards import weakest_claim as weakest_claim
    from sievert.limits.bounds import Bound as Bound
    from sievert.limits.composition import ComposedClaim as ComposedClaim
    from sievert.limits.composition import composed_claim as composed_claim
    from sievert.limits.events import explain_dp_accounting as explain_dp_accounting
    from sievert.limits.explain import Explanation as Explanation
    from sievert.limits.explain import explain as explain
    from sievert.limits.largest import largest_epsilon as largest_epsilon
    from sievert.limits.transformations import diagonalise as diagonalise
    from sievert.limits.transformations import smooth_by_distance as smooth_by_distance
    from sievert.limits.transformations import symmetrise as symmetrise
    from sievert.limits.worst import WorstLeakage as WorstLeakage
    from sievert.limits.worst import worst_leakage as worst_leakage
    from sievert.orders import adversaries as adversaries
    from sievert.orders import lattice as lattice
    from sievert.orders.refinement import Comparison as Comparison
    from sievert.orders.refinement import Objection as Objection
    from sievert.orders.refinement import Verdict as Verdict
    from sievert.orders.refinement import compare as compare
    from sievert.orders.refinement import deficiency as deficiency
    from sievert.orders.refinement import refines as refines
    from sievert.orders.thresholds import threshold as threshold
    from sievert.proofs.base import Proof as Proof
    from sievert.proofs.base import Verification as Verification
    from sievert.proofs.base import verify as verify
    from sievert.report import plots as plots
    from sievert.report.audit import audit as audit
    from sievert.spaces import Answers as Answers
    from sievert.spaces import Graph as Graph
    from sievert.spaces import Metric as Metric
    from sievert.spaces import Policy as Policy
    from sievert.spaces import Query as Query
    from sievert.spaces import SecretGraph as SecretGraph
    from sievert.spaces import constraints as constraints
    from sievert.spaces import graphs as graphs
    from sievert.spaces import metrics as metrics
    from sievert.spaces import secrets as secrets
    from sievert.spaces import symmetries as symmetries


def __getattr__(name: str) -> Any:
    if name in _ATTRIBUTES:
        value = getattr(import_module(_ATTRIBUTES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'sievert' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
