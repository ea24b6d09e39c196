"""What a released table still tells: read as it was published, adjusted to what is possible, with intervals.

Nothing private is read: the table that was released, and what the file says about its noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.channels import TableNoise
from sievert.errors import EstimationError, FileError
from sievert.estimation import TableEstimate, estimate_answer, estimate_table
from sievert.files import EstimateModel, PolicyScenario, table_noise
from sievert.numerics import abbreviated
from sievert.policies import Statistic
from sievert.results import Result
from sievert.spaces import KnownLabels, as_float, worded
from sievert.tables import cell_text, open_rows

__all__ = ["TableEstimateAnswer", "table_estimate"]

# What a released table calls its numbers.
VALUE = "value"


@dataclass(frozen=True, eq=False)
class TableEstimateAnswer(Result):
    """The released table of a file, adjusted.

    Attributes
    ----------
    found : see `sv.estimation.estimate_table`
    names : of the columns that say which cell a number is about
    words : what the numbers are
    file : where the released table was read
    """

    title: str
    mechanism: str
    words: str
    names: tuple[str, ...]
    found: TableEstimate
    file: str

    def __str__(self) -> str:
        if len(self.found.cells) == 1:
            return f"From the released number: {self.words} is {self.found}."
        return f"From the released table: {self.found}."


def table_estimate(
    scenario: PolicyScenario, paths: Sequence[Path], column: str | None, model: EstimateModel
) -> TableEstimateAnswer:
    """Read the released table and adjust it."""
    if len(paths) != 1:
        raise FileError(
            f"{scenario.source}, estimate: {len(paths)} tables are named; each is about its own data: "
            "estimate from one at a time"
        )
    statistic, noise = scenario.tabulated.statistic, _noise(scenario)
    values = _read(paths[0], statistic, column or VALUE, noise)
    try:
        found = (
            _of_list(scenario, statistic, values, model.level)
            if noise is None
            else estimate_table(
                values,
                noise,
                scenario.policy,
                absence=scenario.tabulated.absence,
                confidence=model.level,
                rng=model.seed,
            )
        )
    except EstimationError as problem:
        raise FileError(f"{paths[0]}: {problem.in_file()}") from None
    return TableEstimateAnswer(
        scenario.title, scenario.mechanism.words(), statistic.words, statistic.names, found, str(paths[0])
    )


def _noise(scenario: PolicyScenario) -> TableNoise | None:
    """The noise that is added to the cells; None where the mechanism is a channel on a list."""
    found = table_noise(scenario)
    return found if isinstance(found, TableNoise) else None


def _of_list(
    scenario: PolicyScenario, statistic: Statistic, values: list[Any], level: float
) -> TableEstimate:
    channel = scenario.channel.finite()
    output = KnownLabels(channel.outputs).find(values[0]) if len(values) == 1 else _tuple(values)
    if output is None or output not in channel.outputs:
        said = values[0] if len(values) == 1 else tuple(values)
        raise EstimationError(
            f"the released value {abbreviated(said, worded)} is not one of the "
            "mechanism's outputs; check that the table comes from this file"
        )
    cells = statistic.cells if statistic.names or len(values) > 1 else ((statistic.words,),)
    return estimate_answer(output, channel, cells, level)


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    numbers = [as_float(value) for value in values]
    whole = [int(item) if item is not None and item == int(item) else item for item in numbers]
    return tuple(whole)


def _read(path: Path, statistic: Statistic, column: str, noise: TableNoise | None) -> list[Any]:
    """The released number of every cell, in the statistic's order."""
    rows = open_rows(path)
    parameter = None if noise is None else f"{noise.written[0]}_of_step"
    checked = [parameter] if parameter is not None and parameter in rows.header else []
    known = [KnownLabels(dict.fromkeys(part)) for part in zip(*statistic.cells, strict=True)]
    place = {cell: i for i, cell in enumerate(statistic.cells)}
    values: dict[int, Any] = {}
    for batch in rows.batches([*statistic.names, column, *checked]):
        for row in range(batch.size):
            where = f"{path}: row {batch.first + row}"
            names = [cell_text(batch.columns[name][row]) for name in statistic.names]
            cell = _cell(names, known, place, len(values), where)
            if cell in values:
                raise FileError(f"{where} is a second number for {_named(names)}; give one for each cell")
            values[cell] = cell_text(batch.columns[column][row])
            if noise is not None and checked:
                _check_noise(str(cell_text(batch.columns[checked[0]][row])), noise, where, checked[0])
    missing = next((cell for i, cell in enumerate(statistic.cells) if i not in values), None)
    if missing is not None:
        what = f"for {_named(missing)}" if missing else "below its header"
        raise FileError(f"{path}: has no number {what}; give the whole released table")
    return [values[i] for i in range(len(statistic.cells))]


def _cell(
    names: Sequence[Any],
    known: Sequence[KnownLabels],
    place: dict[tuple[Hashable, ...], int],
    found: int,
    where: str,
) -> int:
    if not names:
        if found:
            raise FileError(
                f"{where} is a second number; {abbreviated('value')} of one row is the whole answer"
            )
        return 0
    labels = tuple(labels.find(name) for labels, name in zip(known, names, strict=True))
    if labels not in place:
        raise FileError(f"{where} is about {_named(names)}, which is no cell of this file's table")
    return place[labels]


def _named(names: Sequence[Any]) -> str:
    return ", ".join(abbreviated(name) for name in names)


def _check_noise(written: str, noise: TableNoise, where: str, column: str) -> None:
    if written.strip() != str(noise.written[1]):
        raise FileError(
            f"{where} says {column} = {abbreviated(written)}, but this file's noise has "
            f"{noise.written[1]!s}; "
            "estimate with the file that released the table"
        )
