"""Commands about a file with [vectors]: each says whether it has answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sievert.cli._present import Asked, present, progress_bar
from sievert.errors import FileError

__all__ = ["answer", "audit", "compare", "release"]


def _asked(reads: list[Path], force: bool, **paths: Path | None) -> Asked:
    if any(path is not None for path in paths.values()):
        option = next(name for name, path in paths.items() if path is not None)
        raise FileError(
            f"--{option}: a file with [vectors] has no page or certificate; use --json to keep the answer"
        )
    return Asked(reads, force)


def audit(file: Path, force: bool, as_json: bool, report: Path | None) -> bool:
    """Audit codes of vectors, if that is what the file is about."""
    from sievert.files import vector_scenario

    scenario = vector_scenario(file)
    if scenario is None:
        return False
    from sievert.questions.vectors import audit_vectors
    from sievert.report.vectors import audit_lines

    asked = _asked(scenario.reads(), force, report=report)
    with progress_bar():
        found = audit_vectors(scenario)
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
    """Answer another question about vectors, if that is what the file is about."""
    from sievert.files import vector_scenario

    scenario = vector_scenario(file)
    if scenario is None:
        return False
    from sievert.questions.vectors import about_vectors
    from sievert.report.vectors import answer_lines

    asked = _asked(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        found = about_vectors(question, scenario, **given)
    present(found, answer_lines, asked, json=as_json, good=found.good)
    return True


def compare(
    first: Path, second: Path, force: bool, as_json: bool, report: Path | None, proof: Path | None
) -> bool:
    """Compare two mechanisms on vectors, if that is what both files are about."""
    from sievert.files import vector_scenario

    one, other = (vector_scenario(path) for path in (first, second))
    if one is None and other is None:
        return False
    if one is None or other is None:
        raise FileError(f"{first} and {second}: only one has [vectors]; compare two files of one kind")
    from sievert.questions.vectors import compare_vectors
    from sievert.report.vectors import answer_lines

    asked = _asked([*one.reads(), *other.reads()], force, report=report, proof=proof)
    found = compare_vectors(one, other)
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
    """Preview or run a release of codes, if that is what the file is about."""
    from sievert.files import vector_scenario

    scenario = vector_scenario(file)
    if scenario is None:
        return False
    from sievert.release import preview_vectors, run_vectors
    from sievert.report.vectors import preview_lines, release_lines

    asked = _asked(scenario.reads(), force, report=report, proof=proof)
    if preview:
        would = preview_vectors(scenario, given["output"])
        possible = would.possible
        present(would, preview_lines, asked, json=as_json, good=possible, data={"possible": possible})
        if not possible:
            raise typer.Exit(1)
        return True
    with progress_bar() as show:
        done = run_vectors(
            scenario, progress=lambda word, count, total: show(f"{word} codes", count, total), **given
        )
    present(done, release_lines, asked, json=as_json, title=scenario.title, good=done.secure)
    return True
