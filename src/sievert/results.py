"""What every result object can do: speak a sentence, become a number, become plain data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from html import escape
from importlib import import_module
from inspect import isfunction
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from sievert.errors import NotANumberError

if TYPE_CHECKING:
    from sievert.channels import DeltaCurve as DeltaCurve
    from sievert.channels import Epsilon as Epsilon
    from sievert.channels import Hyper as Hyper
    from sievert.channels import RenyiCurve as RenyiCurve
    from sievert.channels import Tradeoff as Tradeoff
    from sievert.continuous import Gap as Gap
    from sievert.continuous import HyperDistance as HyperDistance
    from sievert.continuous import LaplaceLoss as LaplaceLoss
    from sievert.continuous import Refinement as Refinement
    from sievert.continuous import Resolution as Resolution
    from sievert.design import Calibration as Calibration
    from sievert.design import Candidates as Candidates
    from sievert.design import Domination as Domination
    from sievert.design import Existence as Existence
    from sievert.design import Frontier as Frontier
    from sievert.design import GeometricOptimality as GeometricOptimality
    from sievert.design import LeakageDesign as LeakageDesign
    from sievert.design import MinimaxRegret as MinimaxRegret
    from sievert.design import Optimality as Optimality
    from sievert.design import OptimalMechanism as OptimalMechanism
    from sievert.design import PlanarBeside as PlanarBeside
    from sievert.design import Remap as Remap
    from sievert.design import SurveyDesign as SurveyDesign
    from sievert.design import TableDesign as TableDesign
    from sievert.design import Universality as Universality
    from sievert.estimation import BayesRisk as BayesRisk
    from sievert.estimation import BlackBoxAudit as BlackBoxAudit
    from sievert.estimation import Estimate as Estimate
    from sievert.estimation import Frequencies as Frequencies
    from sievert.estimation import Identifiability as Identifiability
    from sievert.estimation import Mean as Mean
    from sievert.estimation import MultiplicativeTransport as MultiplicativeTransport
    from sievert.estimation import TableEstimate as TableEstimate
    from sievert.estimation import Transport as Transport
    from sievert.geometry import Decomposition as Decomposition
    from sievert.geometry import Kernel as Kernel
    from sievert.geometry import KernelMechanism as KernelMechanism
    from sievert.geometry import Kernels as Kernels
    from sievert.geometry import KernelThresholds as KernelThresholds
    from sievert.geometry import Membership as Membership
    from sievert.geometry import OptimalKernels as OptimalKernels
    from sievert.geometry import PairRealizable as PairRealizable
    from sievert.geometry import UniversalExistence as UniversalExistence
    from sievert.geometry import VertexForm as VertexForm
    from sievert.geometry import VertexMechanism as VertexMechanism
    from sievert.geometry import Vertices as Vertices
    from sievert.inference import Accuracy as Accuracy
    from sievert.inference import DaleniusWitness as DaleniusWitness
    from sievert.inference import InferenceCurve as InferenceCurve
    from sievert.inference import InferenceFrontier as InferenceFrontier
    from sievert.inference import InferencePoint as InferencePoint
    from sievert.inference import Newcomer as Newcomer
    from sievert.inference import NewcomerTable as NewcomerTable
    from sievert.inference import PrivacyLoss as PrivacyLoss
    from sievert.inference import Survey as Survey
    from sievert.limits import Bound as Bound
    from sievert.limits import ComposedClaim as ComposedClaim
    from sievert.limits import Explanation as Explanation
    from sievert.limits import LargestEpsilon as LargestEpsilon
    from sievert.limits import WeakestClaim as WeakestClaim
    from sievert.limits import WorstLeakage as WorstLeakage
    from sievert.measures import Capacity as Capacity
    from sievert.measures import EquivalentGuess as EquivalentGuess
    from sievert.measures import Leakage as Leakage
    from sievert.measures import LossClass as LossClass
    from sievert.measures import RecordLeakage as RecordLeakage
    from sievert.measures import Vulnerability as Vulnerability
    from sievert.mechanisms import Magnitude as Magnitude
    from sievert.observations import AverageLevel as AverageLevel
    from sievert.observations import BreachCurve as BreachCurve
    from sievert.observations import Breaches as Breaches
    from sievert.observations import BreachUntil as BreachUntil
    from sievert.observations import ChernoffPairs as ChernoffPairs
    from sievert.observations import ExpectedLoss as ExpectedLoss
    from sievert.observations import IndividualBreach as IndividualBreach
    from sievert.observations import ObservationsUntil as ObservationsUntil
    from sievert.observations import QueryBudget as QueryBudget
    from sievert.observations import Rate as Rate
    from sievert.observations import Rates as Rates
    from sievert.observations import SuccessCurve as SuccessCurve
    from sievert.observations import SuccessProbability as SuccessProbability
    from sievert.observations import WorstLevel as WorstLevel
    from sievert.orders import Comparison as Comparison
    from sievert.orders import Deficiency as Deficiency
    from sievert.orders import Objection as Objection
    from sievert.orders import Verdict as Verdict
    from sievert.policies import Answers as Answers
    from sievert.proofs import Verification as Verification
    from sievert.questions.audit import Audit as Audit
    from sievert.questions.documents import DocumentsAnswer as DocumentsAnswer
    from sievert.questions.documents import DocumentsAudit as DocumentsAudit
    from sievert.questions.documents import ReferencePair as ReferencePair
    from sievert.questions.interval import IntervalFacts as IntervalFacts
    from sievert.questions.match import Match as Match
    from sievert.questions.vectors import VectorsAnswer as VectorsAnswer
    from sievert.questions.vectors import VectorsAudit as VectorsAudit
    from sievert.release import Affordable as Affordable
    from sievert.release import AffordableReleases as AffordableReleases
    from sievert.release import Afforded as Afforded
    from sievert.release import ChargedPlan as ChargedPlan
    from sievert.release import ChargedRelease as ChargedRelease
    from sievert.release import DataFit as DataFit
    from sievert.release import DocumentsPreview as DocumentsPreview
    from sievert.release import DocumentsRelease as DocumentsRelease
    from sievert.release import LedgerAccount as LedgerAccount
    from sievert.release import LedgerGuess as LedgerGuess
    from sievert.release import PlannedReleases as PlannedReleases
    from sievert.release import Preview as Preview
    from sievert.release import Release as Release
    from sievert.release import VectorsPreview as VectorsPreview
    from sievert.release import VectorsRelease as VectorsRelease
    from sievert.spaces import Automorphisms as Automorphisms
    from sievert.spaces import PairOrbits as PairOrbits
    from sievert.spaces import ProductSymmetries as ProductSymmetries
    from sievert.spaces import Symmetries as Symmetries
    from sievert.text import AttackBench as AttackBench
    from sievert.text import AttackOutcome as AttackOutcome
    from sievert.text import BagLikelihood as BagLikelihood
    from sievert.text import BagLoss as BagLoss
    from sievert.text import DocumentGuarantee as DocumentGuarantee
    from sievert.text import Flow as Flow
    from sievert.text import HideReveal as HideReveal
    from sievert.text import Neighbours as Neighbours
    from sievert.text import Obfuscated as Obfuscated
    from sievert.text import Profile as Profile
    from sievert.text import TextCalibration as TextCalibration
    from sievert.text import WordCapacity as WordCapacity
    from sievert.text import WordChannelEstimate as WordChannelEstimate
    from sievert.vectors import CXDP as CXDP
    from sievert.vectors import PXDP as PXDP
    from sievert.vectors import XDP as XDP
    from sievert.vectors import Accountant as Accountant
    from sievert.vectors import BitsChoice as BitsChoice
    from sievert.vectors import DistanceEstimate as DistanceEstimate
    from sievert.vectors import LaplaceAccountant as LaplaceAccountant
    from sievert.vectors import LossCurve as LossCurve
    from sievert.vectors import LossDistribution as LossDistribution
    from sievert.vectors import Matches as Matches
    from sievert.vectors import MechanismCandidate as MechanismCandidate
    from sievert.vectors import MechanismChoice as MechanismChoice
    from sievert.vectors import PaperBounds as PaperBounds
    from sievert.vectors import ReIdentification as ReIdentification
    from sievert.vectors import SoftAccountant as SoftAccountant
    from sievert.vectors import UtilityLoss as UtilityLoss
    from sievert.vectors import VectorCalibration as VectorCalibration
    from sievert.vectors import VectorFrontier as VectorFrontier
    from sievert.vectors import VectorPoint as VectorPoint

# Where each class of results is made. Rooms import this leaf, so a class is looked up when it is asked for.
ROOMS = {
    "channels": "DeltaCurve Epsilon Hyper RenyiCurve Tradeoff",
    "continuous": "Gap HyperDistance LaplaceLoss Refinement Resolution",
    "design": (
        "Calibration Candidates Domination Existence Frontier GeometricOptimality LeakageDesign "
        "MinimaxRegret OptimalMechanism Optimality PlanarBeside Remap SurveyDesign TableDesign Universality"
    ),
    "estimation": (
        "BayesRisk BlackBoxAudit Estimate Frequencies Identifiability Mean MultiplicativeTransport "
        "TableEstimate Transport"
    ),
    "geometry": (
        "Decomposition Kernel KernelMechanism KernelThresholds Kernels Membership OptimalKernels "
        "PairRealizable UniversalExistence VertexForm VertexMechanism Vertices"
    ),
    "inference": (
        "Accuracy DaleniusWitness InferenceCurve InferenceFrontier InferencePoint Newcomer NewcomerTable "
        "PrivacyLoss Survey"
    ),
    "limits": "Bound ComposedClaim Explanation LargestEpsilon WeakestClaim WorstLeakage",
    "measures": "Capacity EquivalentGuess Leakage LossClass RecordLeakage Vulnerability",
    "mechanisms": "Magnitude",
    "observations": (
        "AverageLevel BreachCurve BreachUntil Breaches ChernoffPairs ExpectedLoss IndividualBreach "
        "ObservationsUntil QueryBudget Rate Rates SuccessCurve SuccessProbability WorstLevel"
    ),
    "orders": "Comparison Deficiency Objection Verdict",
    "policies": "Answers",
    "proofs": "Verification",
    "questions.audit": "Audit",
    "questions.documents": "DocumentsAnswer DocumentsAudit ReferencePair",
    "questions.interval": "IntervalFacts",
    "questions.match": "Match",
    "questions.vectors": "VectorsAnswer VectorsAudit",
    "release": (
        "Affordable AffordableReleases Afforded ChargedPlan ChargedRelease DataFit DocumentsPreview "
        "DocumentsRelease LedgerAccount LedgerGuess PlannedReleases Preview Release VectorsPreview "
        "VectorsRelease"
    ),
    "spaces": "Automorphisms PairOrbits ProductSymmetries Symmetries",
    "text": (
        "AttackBench AttackOutcome BagLikelihood BagLoss DocumentGuarantee Flow HideReveal Neighbours "
        "Obfuscated Profile TextCalibration WordCapacity WordChannelEstimate"
    ),
    "vectors": (
        "Accountant BitsChoice CXDP DistanceEstimate LaplaceAccountant LossCurve LossDistribution Matches "
        "MechanismCandidate MechanismChoice PXDP PaperBounds ReIdentification SoftAccountant UtilityLoss "
        "VectorCalibration VectorFrontier VectorPoint XDP"
    ),
}
HOMES = {name: room for room, names in ROOMS.items() for name in names.split()}
# Names of earlier versions, and what they are called now.
RENAMED = {
    "Finding": "AttackOutcome",
    "Fit": "AffordableReleases",
    "Guess": "EquivalentGuess",
    "Pair": "ReferencePair",
    "Promise": "DocumentGuarantee",
}
__all__ = ["Result", *HOMES]


if not TYPE_CHECKING:  # a name that is not listed is an error to a type checker too

    def __getattr__(name: str) -> Any:
        if name not in HOMES:
            now = f"; it is called {RENAMED[name]} now" if name in RENAMED else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{now}")
        return getattr(import_module(f"sievert.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


# What a cell of a notebook's table shows at most.
LONGEST_LIST, LONGEST_TEXT, LONGEST_FRACTION = 6, 300, 9


def plain(value: Any) -> Any:
    """Turn a result's field into data that JSON can hold: fractions as floats, infinities as strings."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Fraction):
        return plain(_nearest(value))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    return str(value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exact_texts(value: Any) -> Any:
    """A fraction, or a list of nothing but fractions and whole numbers, as texts; None for other data."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype == object else None
    if isinstance(value, Fraction):
        return str(value)
    if not isinstance(value, list | tuple) or not value:
        return None
    texts = [str(item) if type(item) is int else exact_texts(item) for item in value]
    only_integers = all(type(item) is int for item in value)
    return None if only_integers or any(text is None for text in texts) else texts


P = ParamSpec("P")
T = TypeVar("T")
# What the annotation of a method that returns numbers begins with.
NUMERIC = (
    *(
        "float",
        "FloatArray",
        "Fraction",
        "Number",
        "ObjectArray",
        "NDArray[Any]",
        "tuple[float",
        "list[float]",
    ),
    *(
        "list[tuple[",
        "list[dict[",
        "tuple[Any",
        "dict[float, float]",
        "dict[Hashable, float]",
        "dict[str, float",
    ),
    "Any",
)


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which raises NotANumberError where its answer would hold NaN."""

    @wraps(function)
    def answer(*args: P.args, **kwargs: P.kwargs) -> T:
        found = function(*args, **kwargs)
        if _holds_nan(found):
            raise NotANumberError(function.__qualname__)
        return found

    answer.guarded = True  # type: ignore[attr-defined]
    return answer


def _holds_nan(value: Any) -> bool:
    """Whether NaN is among the numbers of a field: results in it were guarded when they were made."""
    if isinstance(value, float | complex | Decimal | np.inexact):
        return bool(value != value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            # A sum is NaN where a number is, and where both infinities are: only then each is looked at.
            with np.errstate(all="ignore"):
                return bool(np.isnan(value.sum()) and np.isnan(value).any())
        return value.dtype.kind == "O" and any(map(_holds_nan, value.flat))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_nan, value))
    if isinstance(value, Mapping):
        return any(map(_holds_nan, value)) or any(map(_holds_nan, value.values()))
    return False


class Result:
    """Base of the frozen dataclasses that functions return.

    No field and no number that a method returns is NaN: a bound that compares with nothing is refused where
    it is made (NotANumberError).
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name != "__float__":
                continue
            if isinstance(member, property) and member.fget is not None and _returns_numbers(member.fget):
                setattr(cls, name, property(guarded(member.fget), doc=member.__doc__))
            elif isfunction(member) and _returns_numbers(member):
                setattr(cls, name, guarded(member))

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if _holds_nan(getattr(self, field.name)):
                raise NotANumberError(f"{type(self).__name__}.{field.name}")

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, ready for JSON.

        A field that holds fractions is given as floats, and as texts under its name followed by _exact;
        a field named `exact` is the text itself.
        """
        found: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            texts = exact_texts(value)
            if texts is not None and field.name == "exact":
                found[field.name] = texts
                continue
            found[field.name] = plain(value)
            if texts is not None:
                found[f"{field.name}_exact"] = texts
        return found

    def _repr_html_(self) -> str:
        """The sentence, and below it the fields that hold something."""
        rows = {
            field.name.replace("_", " "): cell_text(getattr(self, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) is not None
        }
        return html_table(str(self), rows)


def _returns_numbers(function: Callable[..., Any]) -> bool:
    return str(function.__annotations__.get("return", "")).startswith(NUMERIC)


def html_table(sentence: str, rows: Mapping[str, str]) -> str:
    """A sentence with a table of names and texts below it; everything is escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows.items()
        if text
    )
    return f"<p>{escape(sentence)}</p><table>{body}</table>" if body else f"<p>{escape(sentence)}</p>"


def cell_text(value: Any) -> str:
    """A field in one short line: numbers in six digits, the beginning of lists, results as sentences.

    >>> cell_text(Fraction(1, 3)), cell_text(0.123456789), cell_text(range(100))
    ('1/3', '0.123457', 'range(0, 100)')
    >>> cell_text(list(range(100))), cell_text(np.zeros((50, 50)))
    ('0, 1, 2, 3, 4, 5, … (100 in all)', '50 × 50 numbers')
    """
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            return f"{' × '.join(map(str, value.shape))} numbers"
        value = value.tolist()
    if isinstance(value, list | tuple):
        mark = "; " if any(isinstance(item, Result | list | tuple) for item in value) else ", "
        texts = [cell_text(item) for item in value[:LONGEST_LIST]]
        rest = [f"… ({len(value)} in all)"] if len(value) > LONGEST_LIST else []
        return mark.join([_cut(mark.join(texts)), *rest])
    if isinstance(value, dict):
        return cell_text([f"{key}: {cell_text(item)}" for key, item in value.items()])
    if isinstance(value, Fraction) and len(str(value)) > LONGEST_FRACTION:
        value = _nearest(value)
    if isinstance(value, float | np.floating):
        text = f"{value:.6g}"
        return "almost 1" if text == "1" and value < 1 else text
    if isinstance(value, str | int | Fraction | Result):
        return _cut(str(value))
    # Proofs and channels are seen by themselves, not in a cell.
    text = str(value)
    return text if len(text) <= LONGEST_TEXT and "\n" not in text else type(value).__name__


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def package_version() -> str:
    """The version of Sievert."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sievert")
    except PackageNotFoundError:
        return "unknown"
