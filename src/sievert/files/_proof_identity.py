"""Which question a proof answers: a digest of what the files say, and the check that a proof carries it.

A proof holds numbers only; that they are the numbers of this policy, this query and this ε is what its digest
says. The digest covers every table that a proof may rest on, with defaults filled in, and the contents of the
files they name, the order of several columns and whether rows are left out; title, limits, data and outputs
are not part of it. It is a label that the writer of the proof put there: it tells proofs of different files
apart, not an honest writer from a dishonest one. That a proof is about a file is decided by comparing what it
is about with the file (`sievert.verification`); its label is the first thing that is looked at.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from functools import singledispatch
from pathlib import Path
from typing import Any, TypeVar

from sievert.errors import FileError
from sievert.files._documents import DocumentsScenario
from sievert.files._loading import described, load_policy_scenario
from sievert.files._noise import may_drop_rows
from sievert.files._paths import contents
from sievert.files._scenario import PolicyScenario, Scenario
from sievert.files._vectors import VectorsScenario
from sievert.kinds import paths_in
from sievert.numerics import abbreviated
from sievert.proofs import Proof, Verification
from sievert.tables import files_named

__all__ = ["RELEASED", "bind_proof", "check_identity", "digest_of", "question_digest"]

# What marks a proof of the mechanism that a release draws from; no command is told it.
RELEASED = "released"
# What a command may be told beside a file, and a proof then names.
OPTIONS: dict[str, type] = {
    **dict.fromkeys(("eps", "delta", "rho", "sigma", "sensitivity", "within", "guess"), float),
    **dict.fromkeys(("accuracy", "confidence"), float),
    **dict.fromkeys(("releases", "seed"), int),
    **dict.fromkeys(("centre", "column", "of", "reports", "solve"), str),
    RELEASED: bool,
}
ProofKind = TypeVar("ProofKind", bound=Proof)
TABLES = {"policy", "query", "mechanism", "adversary", "use", "claim", "inference"}
# Of [documents], what no proof rests on: where the private ones are, and whose.
PRIVATE_KEYS = {"input", "column", "person", "documents_per_person"}


def bind_proof(proof: ProofKind, scenario: Scenario, **options: Any) -> ProofKind:
    """The proof, named after the file's question and the options that it was asked with."""
    told = {name: value for name, value in options.items() if value is not None}
    return proof.with_identity(question_digest(scenario, **told), told)


def question_digest(scenario: Scenario, **options: Any) -> str:
    """The digest of a file's question; options are what a command was told instead of the file's own."""
    told = {name: value for name, value in options.items() if value is not None}
    canonical = json.dumps({**_question(scenario), "options": told}, sort_keys=True)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


@singledispatch
def _question(scenario: Scenario) -> dict[str, Any]:
    """What a proof may rest on: tables of the file, and the contents of the files that they name."""
    raise FileError(f"{scenario.source}: is about nothing that has proofs")


@_question.register
def _of_records(scenario: PolicyScenario) -> dict[str, Any]:
    content = scenario.document.model_dump(mode="json", include=TABLES)
    if content.get("inference") is None:  # other questions do not rest on it
        content.pop("inference", None)
    if len(scenario.columns) > 1:  # their order says which part of a value a query means
        content["columns"] = scenario.columns
    if may_drop_rows(scenario):  # a row left out moves a table, too
        content["drops"] = True
    tables = [getattr(scenario.document, table) for table in sorted(TABLES)]
    named = {str(name) for _, name in paths_in(tables) if (scenario.folder / name).is_file()}
    return {
        "question": content,
        "files": {name: _contents(scenario.folder / name) for name in sorted(named)},
    }


@_question.register
def _of_documents(scenario: DocumentsScenario) -> dict[str, Any]:
    content = scenario.document.model_dump(mode="json", include={"documents", "mechanism"})
    told = {key: value for key, value in content["documents"].items() if key not in PRIVATE_KEYS}
    return {
        "question": {**content, "documents": told},
        "files": contents(scenario.document.documents, scenario.folder),
    }


@_question.register
def _of_vectors(scenario: VectorsScenario) -> dict[str, Any]:
    content = scenario.document.model_dump(mode="json", include={"vectors", "mechanism"})
    told = {key: content["vectors"][key] for key in ("hash", "distance", "delta")}
    return {"question": {**content, "vectors": told}, "dimension": scenario.dimension}


def digest_of(*paths: str | Path, **options: Any) -> str:
    """The digest of one file, or of several in order; a file that is no scenario counts by its contents."""
    digests = []
    for path in map(Path, paths):
        if path.suffix == ".toml":
            digests.append(question_digest(described(path) or load_policy_scenario(path), **options))
        else:
            digests += [f"sha256:{_contents(file)}" for file in files_named(path)]
    if len(digests) == 1:
        return digests[0]
    return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"


def check_identity(proof: Proof, *paths: str | Path, **options: Any) -> Verification:
    """Whether the proof holds and its author labels it for these files, asked with the options that it names.

    Options that are given must be among them. The label is a claim of the proof's author, not a comparison.
    """
    result = proof.verify()
    names = " and ".join(map(str, paths))
    if not result.holds:
        return result
    if proof.about is None:
        return replace(
            result,
            holds=False,
            statement=f"the proof does not say what it is about; make it again to check it against {names}",
        )
    strange = [
        f"{name} = {abbreviated(value)}" for name, value in proof.options.items() if not _is(name, value)
    ]
    if strange:
        return replace(result, holds=False, statement=f"no command has the option {', '.join(strange)}")
    told = {name: value for name, value in proof.options.items() if name != RELEASED}
    asked = "".join(f" --{name} {abbreviated(value)}" for name, value in told.items())
    given = {name: value for name, value in options.items() if value is not None}
    same = all(proof.options.get(name) == value for name, value in given.items())
    if not same or proof.about != digest_of(*paths, **proof.options):
        with_them = f" with{asked}" if asked else ""
        return replace(
            result,
            holds=False,
            statement=f"the proof is not about {names} as it stands"
            f"{'' if same else ' with these options'}; what it proves{with_them} is: {result.statement}",
        )
    return result


def _is(name: str, value: Any) -> bool:
    """Whether a command has an option of this name and type; whole numbers of floats are real, too."""
    wanted = OPTIONS.get(name)
    whole = wanted is float and type(value) is int and abs(value) <= sys.float_info.max
    return wanted is not None and (type(value) is wanted or whole)


def _contents(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as problem:
        raise FileError(f"{path}: cannot be read ({problem.strerror})") from None
