"""What runs of a mechanism show about a claim: they can refute it, but a pass proves nothing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.channels.divergences import neighbours_of
from sievert.errors import FileError
from sievert.estimation import BayesRisk, BlackBoxAudit, audit_samples, bayes_risk
from sievert.files import PolicyScenario
from sievert.numerics import several
from sievert.questions.explain import stated_claim
from sievert.results import Result
from sievert.spaces import LabelledTable, as_float
from sievert.tables import cell_text, files_in, is_several, read_table

__all__ = ["SamplesAnswer", "black_box", "samples_audit"]

# Tables of runs that a folder may hold.
SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class SamplesAnswer(Result):
    """Runs held against a claim, and how well the input can be guessed from them.

    `inputs` is how many different ones there are; `any_two` whether any two were taken for neighbours.
    """

    title: str
    audit: BlackBoxAudit
    guess: BayesRisk
    inputs: int
    any_two: bool

    @property
    def passed(self) -> bool:
        """Whether the runs leave the claim standing."""
        return self.audit.passed

    def __str__(self) -> str:
        return str(self.audit)

    def to_dict(self) -> dict[str, Any]:
        """The two findings."""
        return {"audit": self.audit.to_dict(), "guess": self.guess.to_dict()}


def samples_audit(
    samples: Path,
    scenario: PolicyScenario | None = None,
    eps: float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> SamplesAnswer:
    """Hold runs against a claim: the one given, or the file's, which says what are neighbours."""
    inputs, outputs, policy, eps, delta = _asked(samples, scenario, eps, delta)
    return SamplesAnswer(
        f"What do the runs in {samples.name} show?",
        audit_samples(
            inputs, outputs, eps, delta=delta, confidence=confidence, policy_or_metric=policy, rng=seed
        ),
        bayes_risk(inputs, outputs, confidence=confidence, rng=seed),
        len(set(inputs)),
        policy is None,
    )


def black_box(
    samples: Path,
    scenario: PolicyScenario | None = None,
    eps: float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> BlackBoxAudit:
    """The audit of `samples_audit` alone, whose certificate is the proof of what the runs show."""
    inputs, outputs, policy, eps, delta = _asked(samples, scenario, eps, delta)
    return audit_samples(
        inputs, outputs, eps, delta=delta, confidence=confidence, policy_or_metric=policy, rng=seed
    )


def _asked(
    samples: Path, scenario: PolicyScenario | None, eps: float | None, delta: float | None
) -> tuple[list[Hashable], list[Any], Any, float | None, float]:
    """Inputs and outputs of the runs, which inputs are neighbours, and the claim."""
    inputs, outputs = _runs(samples)
    policy: Any = None
    if scenario is not None:
        policy = scenario.answers
        known = {str(label): label for label in neighbours_of(policy)[0]}
        inputs = [known.get(str(item), item) for item in inputs]
        if eps is None and (scenario.document.claim or scenario.document.mechanism):
            stated = stated_claim(scenario)
            eps = stated.get("eps")
            delta = stated.get("delta") if delta is None else delta
    return inputs, outputs, policy, eps, delta or 0.0


def _runs(path: Path) -> tuple[list[Hashable], list[Any]]:
    """Inputs and outputs from a table with the columns input and output (several: output_1, output_2, …).

    A folder or a pattern is its tables, one after another.
    """
    table = _tables(path) if is_several(path) else read_table(path)
    columns = [k for k, name in enumerate(table.header) if name == "output" or name.startswith("output_")]
    if "input" not in table.header or not columns:
        raise FileError(
            f"{path}: has the columns {several(table.header)}; give one run a row, with the columns input "
            "and output (output_1, output_2, … for vectors)"
        )
    given = table.header.index("input")
    inputs = [table.value(row[given]) for row in table.rows]
    cells = [[row[k] for k in columns] for row in table.rows]
    chosen = [[_entry(entry) for entry in row] for row in cells]
    return inputs, [row[0] if len(columns) == 1 else tuple(row) for row in chosen]


def _entry(cell: Any) -> Any:
    """A cell as the number that its text is, if it is one."""
    text = cell_text(cell)
    number = as_float(text)
    return text or "" if number is None or number != number else number


def _tables(path: Path) -> LabelledTable:
    """The tables of a folder or pattern as one; all must have the same columns."""
    first, *others = [read_table(file) for file in files_in(path, ".", SUFFIXES)]
    for other in others:
        if other.header != first.header:
            raise FileError(
                f"{other.path}: has the columns {several(other.header)}, but {first.path} has "
                f"{several(first.header)}; give runs of one mechanism in tables of the same columns"
            )
        if other.typed != first.typed:
            raise FileError(f"{other.path}: is not in the format of {first.path}; give tables of one format")
    rows = [row for table in (first, *others) for row in table.rows]
    return LabelledTable(path, first.header, rows, typed=first.typed)
