"""The parts that are questions of their own: compare, design, inference, release, budget and proofs.

Each is the content of that command's page, so that the studio and a report never say different things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sievert.errors import FileError, SievertError
from sievert.files import PolicyScenario, Scenario, bind_proof
from sievert.proofs import Proof, checker_path, save_proof
from sievert.questions import audit_headline, guess_rows
from sievert.report import Page, PageTable, Picture, audit, guesses_side_by_side
from sievert.report import compare as comparing
from sievert.studio._payload import Shown, of_page, of_pictures, refused
from sievert.studio._sandbox_path import inside
from sievert.studio._validated_file import ValidatedFile

__all__ = [
    "NAMES",
    "budget",
    "compare",
    "design",
    "inference",
    "looked_at",
    "other_case",
    "preview",
    "proofs",
    "proofs_of",
    "told_of",
]

Settings = Mapping[str, Any]
# What the page calls the file and the text beside it.
NAMES = ("A", "B")
SAME = "A and B say the same so far: change the file, or take another text for B."


def compare(case: ValidatedFile, settings: Settings) -> Shown:
    """Whether B can replace A against every adversary, and both side by side."""
    from sievert.questions.compare import replacement

    other = other_case(case, settings)
    if other is None:
        return refused("There is no second file to compare with.", "Choose B, or take the text as B first.")
    if not isinstance(other.scenario, PolicyScenario):
        return refused(f"Only B has [{other.scenario.table}]; compare two files of one kind.")
    rows, picture = _side_by_side(case, other), _guesses(case, other)
    try:
        page = comparing.content(replacement(case.of_records, other.of_records, NAMES))
        return of_pictures(
            told_of(case, other, page.headline),
            [picture, *page.pictures],
            [rows, *page.tables],
            good=page.good,
            sections=[[heading, list(sentences)] for heading, sentences in page.sections],
        )
    except SievertError as problem:
        reason = f"They are not compared against every adversary: {problem.in_file()}"
        return of_pictures(reason, [picture], [rows], good=None)


def other_case(case: ValidatedFile, settings: Settings) -> ValidatedFile | None:
    """The case of B, by its text."""
    text = settings.get("other")
    if text is None:
        return None
    if not isinstance(text, str):
        raise FileError("other must be the text of a file")
    try:
        return case.reads(text)
    except SievertError as problem:
        # It is read in place of the file, and is not that file.
        source = Path(case.scenario.source).name
        said = problem.in_file().removeprefix(f"{source}: ").removeprefix(f"{source}, ")
        raise FileError(f"B cannot be read: {said}") from None


def told_of(case: ValidatedFile, other: ValidatedFile, sentence: str) -> str:
    """The verdict; of a file beside itself, that it is so."""
    return f"{SAME} {sentence}" if other.state == case.state else sentence


def _side_by_side(first: ValidatedFile, second: ValidatedFile) -> PageTable:
    """Who could guess how much, by A and by B."""
    header, rows = audit.table(first.audit)
    both = zip(NAMES, (rows, audit.table(second.audit)[1]), strict=True)
    found = [[f"{name}: {row[0]}", *row[1:]] for name, part in both for row in part]
    return PageTable("Who could guess how much", header, found)


def _guesses(first: ValidatedFile, second: ValidatedFile) -> Picture:
    both = dict(zip(NAMES, (first.of_records, second.of_records), strict=True))
    rows = {name: guess_rows(scenario, audit_headline(scenario)) for name, scenario in both.items()}
    return guesses_side_by_side(rows, {name: scenario.observations for name, scenario in both.items()})


def design(case: ValidatedFile, settings: Settings) -> Shown:
    """The best mechanism for the file's use, others beside it: error against leak."""
    from sievert.questions.design import design_of
    from sievert.report import design as designs

    scenario = case.of_records
    if scenario.document.use is None:
        return refused(
            'The file has no [use]: say what the data is for, such as loss = "absolute".',
            "Add [use] in the form; until then ask what can be guessed.",
        )
    page = designs.content(case.once("design", lambda: design_of(scenario)), scenario)
    return of_page(page)


def inference(case: ValidatedFile, settings: Settings) -> Shown:
    """What the release tells about a correlated secret."""
    from sievert.questions.infer import infer
    from sievert.report import infer as inferring

    scenario = case.of_records
    if scenario.document.inference is None:
        return refused(
            "The file has no [inference]: say which secret goes with which use, by a public table.",
            "Ask what can be guessed about one record.",
        )
    return of_page(inferring.content(case.once("inference", lambda: infer(scenario)), scenario))


def budget(case: ValidatedFile, settings: Settings) -> Shown:
    """What the file's ledger says; nothing is changed, and only a ledger of the folder is read."""
    from sievert.release import account, read_key
    from sievert.report import ledger

    rules = case.scenario.document.release
    if rules is None or rules.ledger is None:
        return refused("The file names no budget: [release] ledger is missing.", "Ask over releases.")
    try:
        _inside(case)
        path, key = inside(case.folder, rules.ledger), getattr(rules, "ledger_key", None)
        secret = None if key is None else read_key(inside(case.folder, key))
    except FileError as problem:
        return refused(f"The budget is not read: {problem}")
    return of_page(ledger.content(account(path, key=secret)))


def _inside(case: ValidatedFile) -> None:
    """Refuse a ledger, its key or an output that lies elsewhere, or leads there."""
    rules = case.scenario.document.release
    for key in ("ledger", "ledger_key", "output"):
        name = getattr(rules, key, None)
        if name is not None:
            inside(case.folder, name)
            inside(case.folder, str(Path(name).with_suffix(".ledger")))


def preview(case: ValidatedFile, settings: Settings) -> Shown:
    """What `sievert release --preview` says: no data are read, nothing is spent and nothing is written."""
    from sievert.release import preview as look
    from sievert.report import release as releasing

    return looked_at(case, lambda: releasing.content(look(case.of_records), case.of_records))


def looked_at(case: ValidatedFile, look: Callable[[], Page]) -> Shown:
    """The preview of a release whose ledger and output lie in the folder."""
    try:
        _inside(case)
    except FileError as problem:
        return refused(f"The release is not looked at: {problem}")
    return of_page(look())


# ── Proofs ──────────────────────────────────────────────────────────────────────────────────────────────────


def proofs(case: ValidatedFile, settings: Settings) -> Shown:
    """Every certificate that the file has, to be taken away and checked by somebody else."""
    return proofs_of(case.scenario, _of_records(case))


def _of_records(case: ValidatedFile) -> Iterator[tuple[str, Callable[[], Proof | None]]]:
    from sievert.questions.limits import limits_of
    from sievert.release import released_proof

    scenario = case.of_records

    def released() -> Proof:
        return bind_proof(released_proof(scenario), scenario, released=True)

    def limits() -> Proof | None:
        found = case.once("limits", lambda: limits_of(scenario)).database.certificate
        return None if found is None else bind_proof(found, scenario)

    yield "released", released
    yield "limits", limits


def proofs_of(scenario: Scenario, kinds: Iterator[tuple[str, Callable[[], Proof | None]]]) -> Shown:
    """The proofs with what each states, its checker, and how to run it."""
    rows, downloads = [], []
    for name, make in kinds:
        try:
            proof = make()
        except SievertError as problem:
            rows.append((name, "none", problem.in_file()))
            continue
        if proof is None:
            rows.append((name, "none", "this answer has no certificate"))
            continue
        checked = proof.verify()
        rows.append((name, "holds" if checked.holds else "DOES NOT HOLD", checked.statement))
        downloads.append({"name": f"{name}.json", "content": save_proof(proof), "type": "application/json"})
    if not downloads:
        return {**refused("; ".join(f"{row[0]}: {row[2]}" for row in rows)), "downloads": []}
    checker = checker_path()
    downloads.append(
        {"name": checker.name, "content": checker.read_text(encoding="utf-8"), "type": "text/x-python"}
    )
    first, source = downloads[0]["name"], Path(scenario.source).name
    shown = of_pictures(
        f"Check this yourself: save {first} and {checker.name} and run `python {checker.name} {first}`: it "
        f"needs nothing but Python; `sievert verify {first} {source}` checks too that it is about this file.",
        [],
        [PageTable("Proofs", ("proof", "checked here", "what it states"), rows)],
        good=all(row[1] != "DOES NOT HOLD" for row in rows),
    )
    return {**shown, "downloads": downloads}
