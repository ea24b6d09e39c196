"""`sievert audit --samples RUNS.csv`: what runs of a mechanism prove about its claim."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import typer

from sievert.cli._printing import print_json, print_sections

__all__ = ["audit_runs"]


def audit_runs(
    samples: Path,
    file: Path | None,
    eps: float | None,
    delta: float | None,
    confidence: float,
    seed: int | None,
    as_json: bool,
) -> None:
    """Hold runs against a claim: the options', else the file's; the file says which inputs are neighbours."""
    from sievert.channels.divergences import neighbours_of
    from sievert.estimation import audit_samples, bayes_risk
    from sievert.files import load_scenario
    from sievert.questions.explain import stated_claim

    inputs, outputs = _runs(samples)
    policy: Any = None
    if file is not None:
        scenario = load_scenario(file)
        policy = scenario.answers
        known = {str(label): label for label in neighbours_of(policy)[0]}
        inputs = [known.get(str(item), item) for item in inputs]
        if eps is None and (scenario.document.claim or scenario.document.mechanism):
            stated = stated_claim(scenario)
            eps = stated.get("eps")
            delta = stated.get("delta") if delta is None else delta
    found = audit_samples(inputs, outputs, eps, delta or 0.0, confidence, policy_or_metric=policy, rng=seed)
    guess = bayes_risk(inputs, outputs, confidence=confidence, rng=seed)
    if as_json:
        both = {"audit": found.to_dict(), "guess": guess.to_dict(), "passed": found.passed}
        print_json(both)
    else:
        lines = _sections(str(guess), policy is None, len(set(inputs)))
        print_sections(f"What do the runs in {samples.name} show?", str(found), lines, found.passed)
    if not found.passed:
        raise typer.Exit(1)


def _sections(guess: str, any_two: bool, inputs: int) -> Iterator[tuple[str, list[str]]]:
    yield "Guessing the input", [f"{guess[0].upper()}{guess[1:]}."]
    if any_two and inputs > 2:
        yield (
            "Neighbours",
            ["Any two inputs were taken for neighbours; a policy file beside --samples says which are."],
        )


def _runs(path: Path) -> tuple[list[Hashable], list[Any]]:
    """Inputs and outputs from a table with the columns input and output (several: output_1, output_2, …)."""
    from sievert.errors import FileError
    from sievert.tables import read_table

    table = read_table(path)
    columns = [k for k, name in enumerate(table.header) if name == "output" or name.startswith("output_")]
    if "input" not in table.header or not columns:
        raise FileError(
            f"{path}: has the columns {', '.join(table.header)}; give one run a row, with the columns input "
            "and output (output_1, output_2, … for vectors)"
        )
    given = table.header.index("input")
    inputs = [table.value(row[given]) for row in table.rows]
    cells = [[row[k] for k in columns] for row in table.rows]
    try:
        numbers = [[float(entry) for entry in row] for row in cells]
        is_numeric = all(math.isfinite(entry) for row in numbers for entry in row)
    except (TypeError, ValueError):
        is_numeric = False
    chosen: list[list[Any]] = numbers if is_numeric else cells
    return inputs, [row[0] if len(columns) == 1 else tuple(row) for row in chosen]
