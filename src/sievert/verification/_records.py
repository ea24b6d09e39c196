"""What limits, explain, design, infer, estimate, audit and release ask of a file with [policy]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sievert.files import PolicyScenario, file_eps
from sievert.limits import guess_questions, worst_leakage_questions
from sievert.proofs import (
    ApproximateProof,
    ClosedLeakageProof,
    ComposedGuessProof,
    ExactDesignProof,
    FrontierProof,
    GaussianGuessProof,
    GaussianNoiseProof,
    GroupsProof,
    GuessProof,
    JointNoiseProof,
    LikelihoodProof,
    MapLeakageProof,
    NoiseProof,
    OptimalDesignProof,
    ProductLeakageProof,
    Proof,
    QuotientProof,
    RegretProof,
    ReleasedProof,
    RepeatedGuessProof,
    ResponseGuessProof,
    StaircaseProof,
    UniversalByTheoremProof,
    UniversalProof,
    WorstLeakageProof,
)
from sievert.questions import accuracy_asked, accurate_report, record_belief
from sievert.questions.design import design_questions
from sievert.questions.estimate import estimate_question
from sievert.questions.explain import file_claim, weakest_claim_for_file
from sievert.questions.infer import inference_question
from sievert.release import mechanism_proof
from sievert.verification._subjects import Asked, Question, reports_of

__all__ = ["questions_of_records"]


def _kinds(*proofs: type[Proof]) -> frozenset[str]:
    return frozenset(proof.kind for proof in proofs)


LEAKAGE = _kinds(WorstLeakageProof, ProductLeakageProof, ClosedLeakageProof, MapLeakageProof)
GUESSES = LEAKAGE | _kinds(
    GuessProof,
    ComposedGuessProof,
    RepeatedGuessProof,
    ResponseGuessProof,
    GaussianGuessProof,
    ApproximateProof,
    GroupsProof,
)
DESIGNS = _kinds(
    OptimalDesignProof,
    ExactDesignProof,
    RegretProof,
    UniversalProof,
    UniversalByTheoremProof,
    QuotientProof,
)
NOISES = _kinds(NoiseProof, StaircaseProof)
DRAWN = _kinds(NoiseProof, JointNoiseProof, GaussianNoiseProof, ReleasedProof)
CLAIM = frozenset({"eps", "delta", "rho", "sigma", "sensitivity"})
EXPLAINED = CLAIM | {"releases", "within", "centre", "guess", "solve", "accuracy", "confidence", "of"}


def questions_of_records(
    scenario: PolicyScenario, path: Path, reports: Sequence[str | Path]
) -> tuple[Question, ...]:
    """Every question about one such file whose answer has a proof."""

    def drawn(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        found = mechanism_proof(scenario)
        if not isinstance(found, str) and found.kind == proof.kind:
            yield Asked(found.question())

    def limits(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        level = told["eps"] if "eps" in told else file_eps(scenario)
        return map(Asked, worst_leakage_questions(proof, scenario.policy, level))

    def design(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        return map(Asked, design_questions(scenario, proof, told.get("eps")))

    def infer(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        yield Asked(inference_question(scenario))

    def estimate(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        found = estimate_question(scenario, reports_of(scenario, reports, told), told.get("column"))
        if found is not None:
            yield Asked(found)

    owned = scenario.policy.person_records
    each = "" if owned == 1 else f", for one record; a person may own {owned}"
    none: frozenset[str] = frozenset()
    found = "it is about what `sievert design` finds, which need not be the mechanism of the file"
    return (
        Question(f"the mechanism of {path} draws from this{each}", DRAWN, none, drawn),
        Question("it is what `sievert limits` asks of the policy", LEAKAGE, frozenset({"eps"}), limits),
        Question(
            "it is what `sievert explain` asks of the claim and the policy",
            GUESSES,
            EXPLAINED,
            lambda proof, told: _explained(scenario, proof, told),
        ),
        Question(found, DESIGNS, frozenset({"eps"}), design),
        Question(found, NOISES, frozenset({"eps"}), design, of_mechanism=True),
        Question("it is what `sievert infer` asks", _kinds(FrontierProof), none, infer),
        Question(
            "it is what `sievert estimate` asks of the reports",
            _kinds(LikelihoodProof),
            frozenset({"column", "reports"}),
            estimate,
        ),
    )


def _explained(scenario: PolicyScenario, proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
    """The claim of the file or of the options; one that is looked for backwards is looked for again."""
    claim = {name: value for name, value in told.items() if name in CLAIM}
    releases = told.get("releases")
    if "accuracy" in told:
        wanted = accuracy_asked(told["accuracy"], told.get("confidence"), told.get("of"))
        explanation = accurate_report(wanted, scenario=scenario, releases=releases).explanation
    elif "guess" in told:
        solve = told.get("solve", "releases" if claim.keys() & {"eps", "rho", "sigma"} else "eps")
        found = weakest_claim_for_file(scenario, told["guess"], solve, releases, **claim).explanation
        if found is None:
            return
        explanation = found
    else:
        asked, _ = file_claim(scenario, releases, **claim)
        for question, given in guess_questions(proof, asked, scenario.policy, record_belief(scenario)):
            yield Asked(question, given)
        return
    if explanation.certificate is not None:
        yield Asked(explanation.certificate.question(), explanation.uncertified)
