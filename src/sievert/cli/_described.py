"""Commands about files with [documents] or [vectors]: each says whether it has answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sievert.cli._present import OutputFiles, present, progress_bar
from sievert.cli._streams import say_how_it_fits
from sievert.errors import EstimationError, FileError, TooLargeError

if TYPE_CHECKING:
    from sievert.files import DocumentsScenario, Scenario, VectorsScenario
    from sievert.proofs import Proof
    from sievert.results import Result

__all__ = ["SEEDED", "answer", "attack", "audit", "compare", "estimate", "law_of", "release"]

SEEDED = "its noise came from a seed that is known, and protects nobody"


@dataclass(frozen=True)
class _Answers:
    """What answers about one kind of file, and how it is shown."""

    about: Callable[..., Any]
    compare: Callable[[Any, Any], Any]
    promise: Callable[[Any], Proof]
    lines: Callable[[Any], list[tuple[str, list[str]]]]
    page: Callable[[Any, Any, str], str]


def _answers(scenario: Scenario) -> _Answers:
    """The one place that tells kinds of files apart."""
    if scenario.table == "documents":
        from sievert.questions import documents
        from sievert.report import documents as texts

        return _Answers(
            documents.about_documents,
            documents.compare_documents,
            documents.promise_of_documents,
            texts.lines,
            texts.page,
        )
    from sievert.questions import vectors
    from sievert.report import vectors as codes

    return _Answers(
        vectors.about_vectors, vectors.compare_vectors, vectors.promise_of_vectors, codes.lines, codes.page
    )


def _scenario(file: Path) -> DocumentsScenario | VectorsScenario | None:
    from sievert.files import described

    return described(file)


def _only(scenario: Scenario, without: Mapping[str, object]) -> None:
    """Refuse options that say nothing about such files."""
    # A number that is given is given, 0 too.
    absent = (type(None), bool, list, tuple)
    given = [name for name, value in without.items() if value or not isinstance(value, absent)]
    if given:
        raise FileError(
            f"--{given[0].replace('_', '-')}: says nothing about the [{scenario.table}] of "
            f"{scenario.source}; leave it out"
        )


def _show(
    found: Result, scenario: Scenario, asked: OutputFiles, as_json: bool, good: bool, **further: Any
) -> None:
    shown = _answers(scenario)
    present(
        found,
        shown.lines,
        asked,
        json=as_json,
        title=scenario.title,
        page=lambda command: shown.page(found, scenario, command),
        good=good,
        **further,
    )


def audit(file: Path, force: bool, as_json: bool, report: Path | None, proof: Path | None) -> bool:
    """Audit such a file."""
    scenario = _scenario(file)
    if scenario is None:
        return False
    from sievert.questions.audit import audit as audit_of
    from sievert.release import mechanism_proof

    asked = OutputFiles(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        found: Any = audit_of(scenario)
    _show(
        found,
        scenario,
        asked,
        as_json,
        found.passed,
        proof=lambda: mechanism_proof(scenario),
        about=(file,),
        data={"passed": found.passed},
        holds=found.passed,
    )
    return True


def law_of(scenario: Scenario, *, required: bool) -> Callable[[], Proof | str]:
    """The proof of what a release of any file draws from, or why there is none; refused if it is required."""
    from sievert.release import mechanism_proof

    found = cache(lambda: mechanism_proof(scenario))
    if required and isinstance(found(), str):
        raise FileError(f"{scenario.source}: what is released has no proof: {found()}")
    return found


def answer(
    question: str,
    file: Path,
    force: bool,
    as_json: bool,
    report: Path | None,
    proof: Path | None = None,
    *,
    without: Mapping[str, object] | None = None,
    output: Path | None = None,
    **given: Any,
) -> bool:
    """Answer another question about such a file; `output` is where the file of a design goes."""
    scenario = _scenario(file)
    if scenario is None:
        return False
    from sievert.files import bind_proof

    _only(scenario, without or {})
    asked = OutputFiles(scenario.reads(), force, output=output, proof=proof, report=report)
    with progress_bar():
        found = _answers(scenario).about(question, scenario, **given)
    if output is not None and found.chosen is not None:
        asked.write_text(output, found.chosen.text_in(output.parent))
    _show(
        found,
        scenario,
        asked,
        as_json,
        found.good,
        proof=lambda: (
            found.unproved
            if found.certificate is None
            else bind_proof(found.certificate, scenario, **found.told)
        ),
        about=(file,),
    )
    return True


def estimate(
    file: Path,
    force: bool,
    as_json: bool,
    report: Path | None,
    proof: Path | None,
    without: Mapping[str, object],
    **given: Any,
) -> bool:
    """Estimate word frequencies from released documents, or say what codes tell of distances."""
    scenario = _scenario(file)
    if scenario is None:
        return False
    if scenario.table == "vectors":
        return answer("estimate", file, force, as_json, report, proof, without={**without, **given})
    from sievert.files import bind_proof
    from sievert.questions.documents import estimate_documents, prove_estimate
    from sievert.questions.estimate import reports_beside
    from sievert.report.estimate import lines, page

    texts: Any = scenario
    _only(texts, without)
    asked = OutputFiles([*texts.reads(), texts.released], force, proof=proof, report=report)
    with progress_bar():
        found = estimate_documents(texts, **given)

    def certificate() -> Proof | str:
        try:
            named = reports_beside(texts, given["reports"])
            return bind_proof(prove_estimate(texts, found), texts, column=given["column"], reports=named)
        except (EstimationError, TooLargeError) as problem:
            return str(problem)

    present(
        found,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(found, texts, command),
        proof=certificate,
        about=(file,),
        good=found.estimate.unique is not False,
    )
    return True


def attack(
    file: Path, force: bool, as_json: bool, report: Path | None, eps: list[float] | None, device: str | None
) -> None:
    """Attack documents; any other file is refused."""
    from sievert.files import DocumentsScenario
    from sievert.questions.documents import attack_documents

    scenario = _scenario(file)
    if not isinstance(scenario, DocumentsScenario):
        raise FileError(f"{file}: has no [documents]; an attack needs documents whose authors are known")
    asked = OutputFiles(scenario.reads(), force, report=report)
    with progress_bar():
        found = attack_documents(scenario, eps, device)
    _show(found, scenario, asked, as_json, True)


def compare(
    first: Path, second: Path, force: bool, as_json: bool, report: Path | None, proof: Path | None
) -> bool:
    """Compare two such files of one kind."""
    one, other = (_scenario(path) for path in (first, second))
    if one is None and other is None:
        return False
    if one is None or other is None or one.table != other.table:
        table = next(item.table for item in (one, other) if item is not None)
        raise FileError(f"{first} and {second}: only one has [{table}]; compare two files of one kind")
    from sievert.files import digest_of

    asked = OutputFiles([*one.reads(), *other.reads()], force, proof=proof, report=report)
    found = _answers(one).compare(one, other)
    _show(
        found,
        one,
        asked,
        as_json,
        found.good,
        proof=lambda: (
            found.unproved
            if found.certificate is None
            else found.certificate.with_identity(digest_of(first, second))
        ),
        about=(first, second),
        holds=found.good,
    )
    return True


def release(
    file: Path,
    preview: bool,
    force: bool,
    as_json: bool,
    report: Path | None,
    proof: Path | None,
    device: str | None,
    **given: Any,
) -> bool:
    """Preview or run a release of such a file."""
    scenario = _scenario(file)
    if device is not None and (scenario is None or scenario.table != "documents"):
        raise FileError("--device: goes with [documents]; leave it out")
    if scenario is None:
        return False
    from sievert.release import preview as look
    from sievert.release import run

    asked = OutputFiles(scenario.reads(), force, proof=proof, report=report)
    law = law_of(scenario, required=proof is not None)
    if preview:
        would: Any = look(scenario, output=given["output"], despite_accept=given["despite_accept"])
        data = {"possible": would.possible}
        possible = would.possible
        _show(would, scenario, asked, as_json, possible, holds=possible, data=data, proof=law, about=(file,))
        return True
    with progress_bar() as show:
        done: Any = run(
            scenario,
            progress=lambda word, count, total: show(f"{word} {scenario.table}", count, total),
            device=device,
            fit=say_how_it_fits,
            **given,
        )
    law = law if done.secure else lambda: SEEDED
    _show(done, scenario, asked, as_json, done.secure, proof=law, about=(file,))
    return True
