"""What leaves the studio: the file as TOML, Python or a command, and "I accept at most" solved backwards."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from typing import Any

from sievert.errors import FileError, SievertError
from sievert.files import PolicyScenario, as_python
from sievert.numerics import abbreviated, probability
from sievert.questions import max_epsilon
from sievert.questions.explain import weakest_claim_for_file
from sievert.release import mechanism_proof
from sievert.report import audit, page_with_proof
from sievert.studio._described import page_of
from sievert.studio._payload import Shown
from sievert.studio._sandbox_path import inside
from sievert.studio._validated_file import ValidatedFile

__all__ = ["backward", "exported", "report"]

FORMS = ("toml", "python", "command")
# Limits that are probabilities, or differences of them.
SHARES = ("guess", "advantage")
# Below this ε nothing is released: nobody takes it into a file.
LEAST_EPS = 1e-12


def exported(case: ValidatedFile, text: str, form: str, name: str) -> Shown:
    """The same question in another form, with the name of a file for it."""
    if form == "toml":
        return {"content": text, "name": name}
    if form == "python":
        return {"content": as_python(case.scenario), "name": f"{name.removesuffix('.toml')}.py"}
    if form != "command":
        raise FileError(f"form is {abbreviated(form)}; there are {', '.join(FORMS)}")
    if not name.isprintable():
        raise FileError(
            f"{abbreviated(name)} has letters that end a line or steer a terminal; rename the file"
        )
    if name.startswith("-"):  # no option
        name = f"./{name}"
    first = "" if _stands(case, text, name) else f"# First save the text of the studio as {name}.\n"
    return {"content": f"{first}{shlex.join(['sievert', 'audit', name])}\n", "name": "audit.sh"}


def _stands(case: ValidatedFile, text: str, name: str) -> bool:
    """Whether the file of that name holds the text; the studio changes none."""
    try:
        return inside(case.folder, name).read_text(encoding="utf-8-sig") == text.replace("\r\n", "\n")
    except (OSError, ValueError, FileError):
        return False


def report(case: ValidatedFile, name: str) -> str:
    """The page of the audit with the proof of what is drawn, to be kept."""
    command = shlex.join(["sievert", "audit", name, "--report", "page.html"])
    if isinstance(case.scenario, PolicyScenario):
        page = audit.page(case.audit, case.scenario, command)
    else:
        page = page_of(case, command)
    return page_with_proof(page, mechanism_proof(case.scenario))


def backward(case: ValidatedFile, quantity: str, limit: float) -> dict[str, Shown]:
    """The largest ε that keeps a limit: for this mechanism, and for any."""
    if not isinstance(case.scenario, PolicyScenario):
        return {
            "refused": {
                "sentence": f"A file with [{case.scenario.table}] is not solved backwards here; `sievert "
                f"explain {case.scenario.source} --guess {limit:g}` does it."
            }
        }
    try:
        guess = _as_guess(case, quantity, limit)
    except SievertError as problem:
        return {"refused": {"sentence": problem.in_file()}}
    return {
        "this": _solved(lambda: _for_this(case.of_records, limit, quantity)),
        "any": _solved(lambda: _for_any(case.of_records, guess)),
    }


def _as_guess(case: ValidatedFile, quantity: str, limit: float) -> float:
    """The limit as a probability of a right guess about one record."""
    before = float(case.analysis.vulnerability().prior)
    forms: dict[str, Callable[[float], float]] = {
        "guess": lambda share: share,
        "bits": lambda bits: before * 2.0 ** min(bits, 1000.0),
        "odds": lambda times: times * before / (1 - before + times * before),
        "advantage": lambda growth: before + growth,
    }
    if quantity not in forms:
        raise FileError(f"quantity is {abbreviated(quantity)}; there are {', '.join(forms)}")
    if quantity in SHARES:
        probability("limit", limit, FileError)
    found = forms[quantity](limit)
    if not before <= found:
        raise FileError(
            f"limit is {abbreviated(limit)}: without any release one record is guessed with "
            f"{before:.4g} already"
        )
    return min(1.0, found)


def _solved(solve: Callable[[], Shown]) -> Shown:
    try:
        return solve()
    except SievertError as problem:
        return {"eps": None, "sentence": problem.in_file()}


def _for_any(scenario: PolicyScenario, guess: float) -> Shown:
    found = weakest_claim_for_file(scenario, guess, "eps")
    return _said(found.value, f"{found}.", opens=False)


def _for_this(scenario: PolicyScenario, limit: float, quantity: Any) -> Shown:
    found = max_epsilon(scenario, limit, quantity)
    return _said(found.eps, f"{found}.")


def _said(eps: float, sentence: str, *, opens: bool = True) -> dict[str, Any]:
    # A symbol keeps its case, and so does what follows a colon.
    opening = sentence[0].upper() if opens and sentence[0].isascii() else sentence[0]
    return {"eps": eps if LEAST_EPS <= eps < math.inf else None, "sentence": f"{opening}{sentence[1:]}"}
