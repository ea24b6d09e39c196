"""What the commands ask of documents, vectors, two files and runs of a black box."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sievert.design import design_question
from sievert.errors import FileError
from sievert.files import DocumentsScenario, PolicyScenario, Scenario, VectorsScenario, load
from sievert.measures import losses
from sievert.orders import refinement_questions
from sievert.proofs import (
    AdversaryProof,
    BlockSizesProof,
    CascadeProof,
    CodesProof,
    DocumentsProof,
    ExactDesignProof,
    FamilyProof,
    LikelihoodProof,
    NoiseOrderProof,
    OptimalDesignProof,
    PartitionProof,
    Proof,
    RunsProof,
)
from sievert.questions.compare import compared_channels
from sievert.questions.documents import documents_estimate_question, listed_words, promise_of_documents
from sievert.questions.samples import black_box
from sievert.questions.vectors import about_vectors, compare_vectors, promise_of_vectors
from sievert.verification._subjects import Asked, Question, reports_of

__all__ = ["comparison_questions", "questions_of_documents", "questions_of_vectors", "runs_question"]

NONE: frozenset[str] = frozenset()
ORDERS = frozenset(
    proof.kind
    for proof in (
        CascadeProof,
        AdversaryProof,
        FamilyProof,
        NoiseOrderProof,
        PartitionProof,
        BlockSizesProof,
    )
)


def comparison_questions(paths: Sequence[Path], scenarios: Sequence[Scenario | None]) -> tuple[Question, ...]:
    """Whether the mechanism of the second file can replace that of the first."""

    def rebuilt(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        return map(Asked, _compared(proof, paths, scenarios))

    words = f"it compares the mechanism of {paths[0]}, the less safe one, with that of {paths[1]}"
    return (Question(words, ORDERS, NONE, rebuilt),)


def _compared(
    proof: Proof, paths: Sequence[Path], scenarios: Sequence[Scenario | None]
) -> list[Mapping[str, Any]]:
    first, second = scenarios
    if isinstance(first, DocumentsScenario) and isinstance(second, DocumentsScenario):
        return [*refinement_questions(proof, listed_words(first), listed_words(second))]
    if isinstance(first, VectorsScenario) and isinstance(second, VectorsScenario):
        found = compare_vectors(first, second).certificate
        return [] if found is None or found.kind != proof.kind else [found.question()]
    loaded: list[Any] = [
        load(path) if scenario is None else scenario for path, scenario in zip(paths, scenarios, strict=True)
    ]
    return [*refinement_questions(proof, *compared_channels(*loaded))]


def runs_question(samples: Path, scenario: PolicyScenario | None) -> Question:
    """What runs of a black box show, with the split that their audit was told."""

    def rebuilt(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        if "seed" not in told:
            raise FileError(
                "the audit was not told a seed, so that its split of the runs is not known; audit again"
            )
        found = black_box(samples, scenario, **told).certificate
        if found is not None:
            yield Asked(found.question())

    words = f"it is what the runs in {samples} show, split by the seed that the audit was told"
    options = frozenset({"eps", "delta", "confidence", "seed"})
    return Question(words, frozenset({RunsProof.kind}), options, rebuilt)


def questions_of_documents(
    scenario: DocumentsScenario, path: Path, reports: Sequence[str | Path]
) -> tuple[Question, ...]:
    """Every question about a file with [documents] whose answer has a proof."""

    def promised(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        asked = scenario.with_eps(told["eps"]) if "eps" in told else scenario
        asked.check()
        yield Asked(promise_of_documents(asked, told.get("releases", 1)).question())

    def design(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        level = told.get("eps", scenario.mechanism.eps)
        metric = scenario.embedding.metric()
        found = design_question(proof, metric, level, loss=losses.distance(metric))
        if found is not None:
            yield Asked(found)

    def estimate(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        yield Asked(
            documents_estimate_question(scenario, reports_of(scenario, reports, told), told.get("column"))
        )

    return (
        Question(
            f"the mechanism of {path} draws from this, between its references",
            frozenset({DocumentsProof.kind}),
            NONE,
            promised,
        ),
        Question(
            "it is what the mechanism promises the references with these options",
            frozenset({DocumentsProof.kind}),
            frozenset({"eps", "releases"}),
            promised,
            of_mechanism=True,
        ),
        Question(
            "it is what `sievert design` asks of the vocabulary",
            frozenset({OptimalDesignProof.kind, ExactDesignProof.kind}),
            frozenset({"eps"}),
            design,
        ),
        Question(
            "it is what `sievert estimate` asks of what was released",
            frozenset({LikelihoodProof.kind}),
            frozenset({"column", "reports"}),
            estimate,
        ),
    )


def questions_of_vectors(scenario: VectorsScenario, path: Path) -> tuple[Question, ...]:
    """Every question about a file with [vectors] whose answer has a proof."""
    codes = frozenset({CodesProof.kind})

    def drawn(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
        scenario.check()
        yield Asked(promise_of_vectors(scenario).question())

    def answered(question: str) -> Callable[[Proof, Mapping[str, Any]], Iterable[Asked]]:
        def rebuilt(proof: Proof, told: Mapping[str, Any]) -> Iterable[Asked]:
            found = about_vectors(question, scenario, **told).certificate
            if found is not None and found.kind == proof.kind:
                yield Asked(found.question())

        return rebuilt

    return (
        Question(f"the mechanism of {path} draws from this, for users as far apart", codes, NONE, drawn),
        Question(
            "it is what `sievert explain` asks of two users as far apart",
            codes,
            frozenset({"eps", "releases", "guess"}),
            answered("explain"),
            of_mechanism=True,
        ),
        Question(
            "it is what the design that `sievert design` chooses promises, not the mechanism of the file",
            codes,
            frozenset({"eps"}),
            answered("design"),
            of_mechanism=True,
        ),
    )
