"""Commands about a file with [documents], or else [vectors]: each says whether it has answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sievert.cli import _vectors as vectors
from sievert.cli._present import Asked, present, progress_bar
from sievert.errors import FileError

__all__ = ["answer", "audit", "compare", "release"]


def _asked(reads: list[Path], force: bool, **paths: Path | None) -> Asked:
    if any(path is not None for path in paths.values()):
        option = next(name for name, path in paths.items() if path is not None)
        raise FileError(
            f"--{option}: a file with [documents] has no page or certificate; use --json to keep the answer"
        )
    return Asked(reads, force)


def audit(file: Path, force: bool, as_json: bool, report: Path | None) -> bool:
    """Audit documents, if that is what the file is about."""
    from sievert.files import text_scenario

    scenario = text_scenario(file)
    if scenario is None:
        return vectors.audit(file, force, as_json, report)
    from sievert.questions.documents import audit_documents
    from sievert.report.documents import audit_lines

    asked = _asked(scenario.reads(), force, report=report)
    with progress_bar():
        found = audit_documents(scenario)
    present(found, audit_lines, asked, json=as_json, good=found.passed, data={"passed": found.passed})
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
    **given: Any,
) -> bool:
    """Answer another question about documents, if that is what the file is about."""
    from sievert.files import text_scenario

    scenario = text_scenario(file)
    if scenario is None:
        return vectors.answer(question, file, force, as_json, report, proof, **given)
    from sievert.questions.documents import about_documents
    from sievert.report.documents import answer_lines

    asked = _asked(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        found = about_documents(question, scenario, **given)
    present(found, answer_lines, asked, json=as_json, good=found.good)
    return True


def compare(
    first: Path, second: Path, force: bool, as_json: bool, report: Path | None, proof: Path | None
) -> bool:
    """Compare two mechanisms on documents, if that is what both files are about."""
    from sievert.files import text_scenario

    scenarios = [text_scenario(path) for path in (first, second)]
    one, other = scenarios
    if one is None and other is None:
        return vectors.compare(first, second, force, as_json, report, proof)
    if one is None or other is None:
        raise FileError(f"{first} and {second}: only one has [documents]; compare two files of one kind")
    from sievert.questions.documents import compare_documents
    from sievert.report.documents import answer_lines

    asked = _asked([*one.reads(), *other.reads()], force, report=report, proof=proof)
    found = compare_documents(one, other)
    present(found, answer_lines, asked, json=as_json, good=found.good)
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
    from sievert.files import text_scenario

    scenario = text_scenario(file)
    if scenario is None:
        return vectors.release(file, preview, force, as_json, report, proof, **given)
    from sievert.release import preview_documents, run_documents
    from sievert.report.documents import preview_lines, release_lines

    asked = _asked(scenario.reads(), force, report=report, proof=proof)
    if preview:
        would = preview_documents(scenario, given["output"])
        present(
            would, preview_lines, asked, json=as_json, good=would.possible, data={"possible": would.possible}
        )
        if not would.possible:
            raise typer.Exit(1)
        return True
    with progress_bar() as show:
        done = run_documents(
            scenario, progress=lambda word, count, total: show(f"{word} documents", count, total), **given
        )
    present(done, release_lines, asked, json=as_json, title=scenario.title, good=done.secure)
    return True
