"""Commands about a file with [documents], or else [vectors]: each says whether it has answered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sievert.cli import _vectors as vectors
from sievert.cli._present import Asked, present, progress_bar
from sievert.errors import FileError

if TYPE_CHECKING:
    from sievert.files import TextScenario
    from sievert.results import Result

__all__ = ["answer", "attack", "audit", "compare", "estimate", "release"]


def _scenario(file: Path) -> TextScenario | None:
    from sievert.files import text_scenario

    return text_scenario(file)


def _only(scenario: TextScenario, without: Mapping[str, object]) -> None:
    """Refuse options that say nothing about documents."""
    given = [name for name, value in without.items() if value not in (None, False, [], ())]
    if given:
        raise FileError(
            f"--{given[0].replace('_', '-')}: says nothing about the [documents] of {scenario.source}; leave "
            "it out"
        )


def _show(
    found: Result, scenario: TextScenario, asked: Asked, as_json: bool, good: bool, **further: Any
) -> None:
    from sievert.report.documents import lines, page

    present(
        found,
        lines,
        asked,
        json=as_json,
        title=scenario.title,
        page=lambda command: page(found, scenario, command),
        good=good,
        **further,
    )


def audit(file: Path, force: bool, as_json: bool, report: Path | None) -> bool:
    """Audit documents, if that is what the file is about."""
    scenario = _scenario(file)
    if scenario is None:
        return vectors.audit(file, force, as_json, report)
    from sievert.questions.documents import audit_documents

    asked = Asked(scenario.reads(), force, report=report)
    with progress_bar():
        found = audit_documents(scenario)
    _show(found, scenario, asked, as_json, found.passed, data={"passed": found.passed})
    if not found.passed:
        raise typer.Exit(1)
    return True


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
    """Answer another question about documents, if that is what the file is about.

    `output` is where the file of a design goes.
    """
    scenario = _scenario(file)
    if scenario is None:
        return vectors.answer(question, file, force, as_json, report, proof, **given)
    from sievert.files import identified
    from sievert.questions.documents import about_documents

    _only(scenario, without or {})
    asked = Asked(scenario.reads(), force, output=output, proof=proof, report=report)
    with progress_bar():
        found = about_documents(question, scenario, **given)
    if output is not None and found.chosen is not None:
        asked.write_text(output, scenario.with_mechanism(found.chosen).text_in(output.parent))
    _show(
        found,
        scenario,
        asked,
        as_json,
        found.good,
        proof=lambda: (
            None if found.certificate is None else identified(found.certificate, scenario, **found.told)
        ),
        unproved=f"There is no certificate to save: {found.unproved}",
        about=file,
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
    """Estimate word frequencies from released documents, if that is what the file is about."""
    scenario = _scenario(file)
    if scenario is None:
        return False
    from sievert.files import identified
    from sievert.questions.documents import estimate_documents, prove_estimate
    from sievert.report.estimate import lines, page

    _only(scenario, without)
    asked = Asked([*scenario.reads(), scenario.released], force, proof=proof, report=report)
    with progress_bar():
        found = estimate_documents(scenario, **given)
    present(
        found,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(found, scenario, command),
        proof=lambda: identified(prove_estimate(scenario, found), scenario),
        about=file,
        good=found.estimate.unique is not False,
    )
    return True


def attack(
    file: Path, force: bool, as_json: bool, report: Path | None, eps: list[float] | None, device: str | None
) -> None:
    """Attack documents; any other file is refused."""
    from sievert.questions.documents import attack_documents

    scenario = _scenario(file)
    if scenario is None:
        raise FileError(f"{file}: has no [documents]; an attack needs documents whose authors are known")
    asked = Asked(scenario.reads(), force, report=report)
    with progress_bar():
        found = attack_documents(scenario, eps, device)
    _show(found, scenario, asked, as_json, True)


def compare(
    first: Path, second: Path, force: bool, as_json: bool, report: Path | None, proof: Path | None
) -> bool:
    """Compare two mechanisms on documents, if that is what both files are about."""
    one, other = (_scenario(path) for path in (first, second))
    if one is None and other is None:
        return vectors.compare(first, second, force, as_json, report, proof)
    if one is None or other is None:
        raise FileError(f"{first} and {second}: only one has [documents]; compare two files of one kind")
    from sievert.files import digest_of
    from sievert.questions.documents import compare_documents

    asked = Asked([*one.reads(), *other.reads()], force, proof=proof, report=report)
    found = compare_documents(one, other)
    _show(
        found,
        one,
        asked,
        as_json,
        found.good,
        proof=lambda: (
            None if found.certificate is None else found.certificate.with_identity(digest_of(first, second))
        ),
        unproved=f"There is no certificate to save: {found.unproved}",
    )
    if not found.good:
        raise typer.Exit(1)
    return True


def release(
    file: Path,
    preview: bool,
    force: bool,
    as_json: bool,
    report: Path | None,
    proof: Path | None,
    **given: Any,
) -> bool:
    """Preview or run a release of documents, if that is what the file is about."""
    scenario = _scenario(file)
    if scenario is None:
        if given.pop("device") is not None:
            raise FileError("--device: goes with [documents]; leave it out")
        return vectors.release(file, preview, force, as_json, report, proof, **given)
    from sievert.files import identified
    from sievert.proofs import save_proof
    from sievert.release import preview_documents, run_documents
    from sievert.text import prove_promises

    asked = Asked(scenario.reads(), force, proof=proof, report=report)
    if proof is not None:
        scenario.check()
        bags = [bag for _, bag in scenario.references]
        with scenario.at("documents.references"):
            certificate = prove_promises(bags, scenario.mechanism, scenario.length)
        asked.write_text(proof, save_proof(identified(certificate, scenario)))
    if preview:
        would = preview_documents(scenario, given["output"])
        _show(would, scenario, asked, as_json, would.possible, data={"possible": would.possible})
        if not would.possible:
            raise typer.Exit(1)
        return True
    with progress_bar() as show:
        done = run_documents(
            scenario, progress=lambda word, count, total: show(f"{word} documents", count, total), **given
        )
    _show(done, scenario, asked, as_json, done.secure)
    return True
