"""Whether a proof that holds is about a file: compared with what the file asks, never with its own label.

Four verdicts. The proof fails; it is about something else; it is about the file; or it holds, and nothing
rebuilds from the file what it would have to be about, so that its label is all there is. The label, `about`,
is looked at first because it is quick: it cannot make a proof pass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sievert.errors import SievertError
from sievert.files import RELEASED, PolicyScenario, check_identity, file_eps
from sievert.numerics import abbreviated
from sievert.proofs import Proof, Verification
from sievert.questions.explain import file_claim
from sievert.verification._subjects import Asked, Subject, subject_of

__all__ = ["check_about"]

# What a sentence may quote of a file, and in how many letters: never what was counted from reports.
SAID = {
    "eps",
    "alpha",
    "delta",
    "rho",
    "variance",
    "values",
    "releases",
    "copies",
    "size",
    "level",
    "bits",
    "step",
}
SHORT = 40
# Options that put another mechanism in the place of the file's.
LEVELS = frozenset({"eps", "guess"})


def check_about(
    proof: Proof,
    *paths: str | Path,
    reports: Sequence[str | Path] = (),
    no_options: bool = False,
    **options: Any,
) -> Verification:
    """Whether a proof holds and is about these files, with its inputs rebuilt from them.

    Parameters
    ----------
    proof : the certificate
    paths : the file that it must be about; two of `compare`, or runs of a black box
    reports : of an estimate, the reports that it was made from, where they are not the file's own
    no_options : whether a proof that was asked with options beside the files is refused
    options : what the command must have been asked with; None asks for nothing

    Returns
    -------
    Verification
        `holds` where the proof holds and is about the files. Where it holds and that cannot be compared,
        `unchecked` says why. `about` names the files, with the options that its command was asked with.

    Notes
    -----
    What the proof says about itself (`about`, `options`) is compared with the files and never believed: its
    options only say which question of the file is rebuilt, and the verdict says them. A claim about a
    mechanism at another ε than the file's, by an option that is not among `options`, is `unchecked`.

    Cost: the check of the proof, and that of reading the files; no linear program is solved, except for a
    limit that is solved backwards (`explain --guess`, `--accuracy`), which is asked again.

    Examples
    --------
    >>> import sievert as sv
    >>> from sievert.files import bind_proof
    >>> scenario = sv.load("examples/survey-response.toml")
    >>> proof = sv.worst_leakage(scenario.policy, 1).certificate
    >>> bool(check_about(bind_proof(proof, scenario), "examples/survey-response.toml"))
    False
    """
    label = check_identity(proof, *paths, **options)
    if not label.holds:
        return label
    told = {name: value for name, value in proof.options.items() if name != RELEASED}
    subject = subject_of(*map(Path, paths), reports=reports)
    if no_options and told:
        return _with_options(label, subject, told)
    possible = [one for one in subject.questions if proof.kind in one.kinds and told.keys() <= one.options]
    if not possible:
        return _unchecked(label, subject, f"no command writes a proof of the kind “{proof.kind}” about it")
    mine = _plain(proof.question())
    differences: list[list[str]] = []
    problems: list[str] = []
    for question in possible:
        try:
            rebuilt = list(question.rebuilt(proof, told))
        except SievertError as problem:
            problems.append(problem.in_file())
            continue
        for asked in rebuilt:
            found = _differences(mine, _plain(asked.question))
            if not found and question.of_mechanism and _at_another_level(proof, subject, told, options):
                return _unchecked(label, subject, _chosen(subject, told))
            if not found:
                return _about(label, subject, question.words, told, asked)
            differences.append(found)
    if differences or not problems:
        return _of_other(label, subject, differences)
    return _unchecked(label, subject, f"what it would have to be about cannot be rebuilt: {problems[0]}")


def _about(
    label: Verification, subject: Subject, words: str, told: Mapping[str, Any], asked: Asked
) -> Verification:
    own = _own(subject, told)
    about = f"{subject.names}{f' asked with{_typed(told)}' if told else ''}"
    given = f"; taken as given: {asked.given}" if asked.given else ""
    statement = f"about {about}{own}: {label.statement}; {words}{given}"
    return replace(label, about=about, statement=statement)


def _at_another_level(
    proof: Proof, subject: Subject, told: Mapping[str, Any], asked_for: Mapping[str, Any]
) -> bool:
    """Whether the ε of a mechanism is the author's choice: neither the file's nor asked for."""
    if not told.keys() & LEVELS - {name for name, value in asked_for.items() if value is not None}:
        return False
    drawn = [one for one in subject.questions if not one.options and proof.kind in one.kinds]
    levels = [asked.question.get("eps") for one in drawn for asked in one.rebuilt(proof, {})]
    return proof.question().get("eps") not in levels


def _chosen(subject: Subject, told: Mapping[str, Any]) -> str:
    ask = f"; `verify --eps {abbreviated(told['eps'])}` asks for it" if "eps" in told else ""
    return (
        f"its author asked with{_typed(told)}, so that it is about another mechanism than that of the "
        f"file{_own(subject, told)}{ask}"
    )


def _with_options(label: Verification, subject: Subject, told: Mapping[str, Any]) -> Verification:
    statement = (
        f"the proof was asked with{_typed(told)} beside {subject.names}{_own(subject, told)}. What it proves "
        f"is: {label.statement}"
    )
    return replace(label, holds=False, statement=statement)


def _of_other(label: Verification, subject: Subject, found: list[list[str]]) -> Verification:
    """A true proof of another claim; the comparison with fewest differences is told."""
    fewest = sorted((len(told), told) for told in found)
    why = "; ".join(fewest[0][1]) if fewest else "it is no proof of an answer about it"
    statement = (
        f"the proof is labelled for {subject.names}, but is not about what that says: {why}. What it proves "
        f"is: {label.statement}"
    )
    return replace(label, holds=False, statement=statement)


def _unchecked(label: Verification, subject: Subject, why: str) -> Verification:
    statement = (
        f"the proof holds, and its author labels it for {subject.names}; whether it is about that was not "
        f"checked: {why}. What it proves is: {label.statement}"
    )
    return replace(label, holds=False, unchecked=why, statement=statement)


def _typed(told: Mapping[str, Any]) -> str:
    return "".join(f" --{name} {abbreviated(value)}" for name, value in told.items())


def _own(subject: Subject, told: Mapping[str, Any]) -> str:
    """What the file itself says, where a proof was asked with options instead."""
    scenario = subject.scenario
    if not told or scenario is None:
        return ""
    if isinstance(scenario, PolicyScenario):
        said = f"{_own_claim(scenario)}, observations = {scenario.observations}"
    else:
        said = scenario.mechanism.words()  # type: ignore[attr-defined]
    return f" (the file itself says {said})"


def _own_claim(scenario: PolicyScenario) -> str:
    """The claim of the file, or the ε of its mechanism, or the mechanism where that keeps none."""
    if scenario.document.claim is not None:
        with suppress(SievertError):
            return file_claim(scenario, 1)[0].words
    with suppress(SievertError):
        return f"ε = {file_eps(scenario):g}"
    mechanism = scenario.document.mechanism
    said = {} if mechanism is None else mechanism.spelled(defaults=True)
    return (
        ", ".join(f"{key} = {abbreviated(value)}" for key, value in said.items() if value is not None)
        or "no ε"
    )


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it is written to a file and read again."""
    return dict(json.loads(json.dumps(content)))


def _differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """What differs, in a few words each."""
    return [
        _difference(key, mine.get(key), theirs.get(key))
        for key in {**theirs, **mine}
        if key not in mine or key not in theirs or mine[key] != theirs[key]
    ]


def _difference(key: str, mine: Any, theirs: Any) -> str:
    shown = [json.dumps(value, ensure_ascii=False) if key in SAID else "" for value in (mine, theirs)]
    if all(0 < len(text) <= SHORT for text in shown):
        return f"its {key} is {shown[0]}, that of the file {shown[1]}"
    return f"its {key} is not that of the file"
