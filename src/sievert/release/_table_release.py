"""One table over all rows: computed exactly, then released with noise.

The table is computed before anything is charged, so that a row that does not fit costs nothing; noise is
drawn only after the reservation is on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.channels import DerivedMean, GroupedSumNoise, JointNoise, QuantileNoise, TableNoise
from sievert.errors import ChannelError, DataError
from sievert.estimation import nearest_table, noisy_mean
from sievert.release._contribution_bounding import BoundedContributions, SampledThere, nobody
from sievert.release._domain import DROPPED, Fingerprints
from sievert.release._fit import DataFit, Show, Tally, admit
from sievert.release._plan import NOT_PRIVATE, SEEDED, Plan
from sievert.release._sidecar import note
from sievert.sampling import Sampler, SeveralSampler
from sievert.tables import Batch, DictionaryColumn, Meaning, Rows, Warehouse, in_code

__all__ = [
    "NoisyTable",
    "PersonRows",
    "chosen_tables",
    "computed",
    "noisy_table",
    "persons",
    "read_columns",
    "refuse_too_many",
    "true_answer",
]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class NoisyTable:
    """A released table: names of its columns, and the columns."""

    names: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]

    def column(self, name: str) -> list[Any]:
        """One of the columns."""
        return list(self.columns[self.names.index(name)])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a row."""
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.columns, strict=True)]


@dataclass(frozen=True)
class _Read:
    """Exact tables, or rows that a key will choose among; how many rows; where it is asked, every record."""

    found: list[IntArray] | BoundedContributions | SampledThere
    rows: int
    fit: DataFit
    records: Sequence[int] | None = None


def computed(
    plan: Plan,
    data: Rows | Warehouse,
    progress: Progress | None = None,
    seen: Fingerprints | None = None,
    show: Show | None = None,
) -> list[IntArray] | BoundedContributions | SampledThere:
    """The exact tables, in steps, or the rows that a key will choose among.

    Private: they must not leave the process. `seen` keeps what was read; `show` is called with how it fits.
    """
    policy, name = plan.scenario.policy, data.name
    if isinstance(data, Warehouse):
        read = _counted(plan, data, seen)
    else:
        read = _added(plan, data, progress, seen)
    if policy.absent is None and read.rows != policy.records:
        raise DataError(
            f"{name}: has {read.rows} rows but the policy protects {policy.records} records; set records "
            'to the public number of rows, or use adjacency = "add-remove" where their number is private'
        )
    if read.rows > policy.records:
        raise DataError(
            f"{name}: has {read.rows} rows but the policy allows at most {policy.records} records; raise "
            "records to a public upper limit"
        )
    if read.records is not None and not policy._known.permits(read.records):
        raise DataError(
            f"{name}: is not one of the databases that the policy permits; the promise is only for "
            "those: correct permitted, or the data"
        )
    admit(read.fit, plan.data.fit, show)
    if progress is not None:
        progress(read.rows)
    return read.found


def _added(plan: Plan, rows: Rows, progress: Progress | None, seen: Fingerprints | None) -> _Read:
    """Row by row, in batches."""
    tables, domain, policy = plan.tables, plan.domain(), plan.scenario.policy
    totals, read, tally = [table.totals() for table in tables], 0, Tally()
    records: list[int] = []  # every record, where public knowledge has to be compared with the data
    people = PersonRows(plan.data.person, plan.owned, "policy.person_records", plan.data.meaning)
    sampled = (
        BoundedContributions(plan.data.person, plan.owned, plan.data.meaning) if _samples(plan) else None
    )
    shift = _shift(plan)
    for batch in rows.batches([*plan.columns, *people.columns]):
        if read > policy.records and sampled is None:
            raise DataError(
                f"{rows.name}: has more rows than the {policy.records} records of the policy; set records to "
                "the public number of rows, or to an upper limit of it"
            )
        codes = _located(partial(domain.codes, tally=tally), batch, rows)
        if sampled is not None:
            _located(partial(sampled.add, codes=codes + shift, kept=codes != DROPPED), batch, rows)
        kept = codes[codes != DROPPED] + shift
        for table, total in zip(tables, totals, strict=True):
            table.add(total, kept)
        if policy.constrained:
            records.extend((codes + shift).tolist())
        _located(people.add, batch, rows)
        if seen is not None:
            seen.add(batch)
        read += batch.size
        if progress is not None:
            progress(read)
    if sampled is not None:
        return _Read(sampled, sampled.size, tally.fit(sampled.rows - sampled.size, sampled.persons_over))
    people.check()
    return _Read(totals, read, tally.fit(), records if policy.constrained else None)


def _counted(plan: Plan, there: Warehouse, seen: Fingerprints | None) -> _Read:
    """From distinct cells and their counts, by the same rules."""
    cells = there.cells(plan.columns)
    counts, person = cells.counts, plan.data.person
    batch = Batch(1, cells.columns, len(counts))
    tally = Tally()
    located = partial(
        plan.domain().codes, place=lambda i: f"one of {counts[i]} rows", counts=counts, tally=tally
    )
    codes = _located(located, batch, there)
    kept = codes != DROPPED
    own, rows = codes[kept] + _shift(plan), counts[kept]
    facts = [*zip(cells.texts, counts.tolist(), strict=True)]
    if _samples(plan):
        texts = [text for text, stays in zip(cells.texts, kept.tolist(), strict=True) if stays]
        sampled = SampledThere(there, str(person), plan.columns, plan.owned, texts, own, rows)
        people = sampled.people(plan.data.meaning)
        found = _Read(sampled, people.kept, tally.fit(int(rows.sum()) - people.kept, people.over))
        facts.append((("people",), people.people))
    else:
        if person is not None:
            most, without = there.most_rows(person, plan.data.meaning)
            if without:
                raise DataError(f"{there.name}: one of {without} rows {nobody(person)}")
            refuse_too_many(most, person, plan.owned, "policy.person_records")
        totals = [table.totals() for table in plan.tables]
        for table, total in zip(plan.tables, totals, strict=True):
            table.add(total, own, rows)
        found = _Read(totals, int(counts.sum()), tally.fit())
    there.require_still()
    if seen is not None:
        seen.add_counted(facts)
    return found


def read_columns(plan: Plan) -> list[str]:
    """The columns on which a table depends: with rows chosen by person, also whose they are."""
    return [*plan.columns, *([str(plan.data.person)] if _samples(plan) else [])]


def _samples(plan: Plan) -> bool:
    return plan.rules.too_many == "sample"


def _shift(plan: Plan) -> int:
    """The policy's values begin with the absent one, where there is one."""
    return int(plan.scenario.policy.absent is not None)


def chosen_tables(
    plan: Plan, found: list[IntArray] | BoundedContributions | SampledThere, key: bytes
) -> list[IntArray]:
    """The exact tables; where rows are chosen by person, of those that the key keeps."""
    if isinstance(found, list):
        return found
    totals, (codes, counts) = [table.totals() for table in plan.tables], found.chosen(key)
    for table, total in zip(plan.tables, totals, strict=True):
        table.add(total, codes, counts)
    return totals


def _located(read: Callable[[Any], Any], batch: Any, rows: Rows | Warehouse) -> Any:
    try:
        return read(batch)
    except DataError as problem:
        raise DataError(f"{rows.name}: {problem}", private=problem.private) from None


def true_answer(plan: Plan, totals: IntArray) -> int:
    """The position of the exact table among the channel's inputs."""
    assert plan.table is not None
    steps = totals.tolist()
    answer: Hashable = tuple(steps) if len(steps) > 1 else _plain(plan.table.step * steps[0])
    try:
        return plan.channel.input_index(answer)
    except ChannelError:
        raise DataError(
            "the data is not one of the databases that the policy permits; correct permitted, or the data"
        ) from None


def noisy_table(plan: Plan, totals: list[IntArray], sampler: Sampler) -> NoisyTable:
    """Draw the noise and lay out the table: value, interval and what the noise is in every row."""
    if plan.several is not None:
        return _several(plan, plan.several, totals, sampler)
    return _one_table(plan, totals[0], sampler)


def _one_table(plan: Plan, totals: IntArray, sampler: Sampler) -> NoisyTable:
    table, noise, errors = plan.table, plan.noise, plan.errors
    assert table is not None
    drawn, values = _drawn(plan, totals, sampler)
    # The truth lies in its public range, whether or not the noisy value does.
    limits = table.range(plan.scenario.policy, plan.domain().drops)
    clamped = None if noise is None else noise.limits
    lows, highs = _intervals(drawn, errors.radius, limits, table.step, clamped)
    by = list(zip(*table.cells, strict=True)) if table.names else [(table.words,)]
    names = [*(table.names or ["what"]), "value", "low", "high", "noise_sd"]
    sd = None if errors.sd is None else float(f"{errors.sd:.6g}")
    columns = [*by, values, lows, highs, [sd] * len(values)]
    if noise is not None:
        parameter, level = noise.written
        names.append(f"{parameter}_of_step")
        columns.append([str(level)] * len(values))
    adds_up = len(table.cells) > 1 and not isinstance(noise, GroupedSumNoise)
    if adds_up and plan.scenario.policy.absent is None and not plan.domain().drops:
        names.append("adjusted")
        nearest = nearest_table(values, plan.scenario.policy.records)
        columns.append(nearest.tolist())
    if note(plan):
        names.append(NOTE)
        columns.append([note(plan)] * len(values))
    if plan.seeded:
        names.append(NOT_PRIVATE)
        columns.append([SEEDED] * len(values))
    return NoisyTable(tuple(names), tuple(tuple(column) for column in columns))


# ── Several tables in one: what each row is about stands in its first columns ───────────────────────────────

QUERY, NOTE = "query", "note"


def _several(plan: Plan, noise: JointNoise, totals: list[IntArray], sampler: Sampler) -> NoisyTable:
    """All tables below each other, means before the two tables that they are made of."""
    assert isinstance(sampler, SeveralSampler)
    found: list[tuple[str, NoisyTable]] = []
    for place, (name, part) in enumerate(zip(noise.names, noise.parts, strict=True)):
        drawn = sampler.parts[place]
        if isinstance(part, QuantileNoise):
            found.append((name, _quantile(part, totals[place], drawn)))
        else:
            found.append((name, _one_table(plan.part(place), totals[place], drawn)))
    for mean in reversed(noise.means):
        found.insert(mean.total, (mean.name, _mean(plan, noise, mean, found)))
    return _below_each_other(plan, found)


def _quantile(noise: QuantileNoise, totals: IntArray, sampler: Sampler) -> NoisyTable:
    value = noise.order.grid[int(sampler.draw(totals)[0])]
    return NoisyTable(("value", "eps_of_step"), ((value,), (str(noise.eps),)))


def _mean(
    plan: Plan, noise: JointNoise, mean: DerivedMean, drawn: list[tuple[str, NoisyTable]]
) -> NoisyTable:
    """The quotient of two released tables, which costs nothing more."""
    # Means that come later stand further down, so that these two are where the noise has them.
    table, counted = drawn[mean.total][1], drawn[mean.count][1]
    sums, counts = noise.parts[mean.total], noise.parts[mean.count]
    assert isinstance(sums, TableNoise)
    assert isinstance(counts, TableNoise)
    step = sums.statistic.step
    rows = zip(table.column("value"), counted.column("value"), strict=True)
    found = [
        noisy_mean(
            Fraction(str(total)),
            int(count),
            (sums.law, counts.law),
            step,
            mean.limits,
            plan.rules.confidence,
            mean.middle,
        )
        for total, count in rows
    ]
    by = sums.statistic.names
    columns = [table.column(name) for name in by]
    numbers = ([getattr(one, name) for one in found] for name in ("value", "low", "high", "sd"))
    rounded = [[float(f"{x:.12g}") if math.isfinite(x) else None for x in column] for column in numbers]
    return NoisyTable((*by, "value", "low", "high", "noise_sd"), tuple(map(tuple, [*columns, *rounded])))


def _below_each_other(plan: Plan, parts: list[tuple[str, NoisyTable]]) -> NoisyTable:
    by = dict.fromkeys(name for table in plan.tables for name in table.names if name in plan.columns)
    given = dict.fromkeys(name for _, part in parts for name in part.names if name != "what")
    names = [QUERY, *by, *(name for name in given if name not in by)]
    # What was done to the rows holds for means and quantiles too, which have no column of their own for it.
    noted = note(plan)
    names += [NOTE] if noted and NOTE not in names else []
    if plan.seeded and NOT_PRIVATE not in names:
        names.append(NOT_PRIVATE)
    columns: list[list[Any]] = [[] for _ in names]
    for title, part in parts:
        size = len(part.columns[0])
        for name, column in zip(names, columns, strict=True):
            if name == QUERY:
                column += [title] * size
            elif name == NOT_PRIVATE:
                column += [SEEDED] * size
            elif name == NOTE and name not in part.names:
                column += [noted] * size
            else:
                column += part.column(name) if name in part.names else [None] * size
    return NoisyTable(tuple(names), tuple(map(tuple, columns)))


@dataclass(frozen=True)
class Numbers:
    """Numbers as whole numbers of 1/scale: a million of them need no fraction each."""

    whole: list[int]
    scale: int

    def over(self, scale: int) -> list[int]:
        """As whole numbers of a finer 1/scale."""
        factor = scale // self.scale
        return self.whole if factor == 1 else [factor * number for number in self.whole]

    def written(self) -> list[Any]:
        """As they are written: integers where they are, else decimals."""
        scale = self.scale
        if scale == 1:
            return self.whole
        return [number / scale if number % scale else number // scale for number in self.whole]


def _drawn(plan: Plan, totals: IntArray, sampler: Sampler) -> tuple[Numbers | None, list[Any]]:
    """What was drawn for every cell, as numbers where they are, and as it is written."""
    table = plan.table
    assert table is not None
    if plan.noise is not None:
        size = table.step.numerator
        found = Numbers([size * steps for steps in sampler.draw(totals).tolist()], table.step.denominator)
        return found, found.written()
    output: Any = plan.channel.outputs[int(sampler.draw_positions([true_answer(plan, totals)])[0])]
    several = len(table.cells) > 1
    if not several and not isinstance(output, int | float):
        return None, [output]
    listed = [Fraction(str(value)) for value in (output if several else [output])]
    scale = math.lcm(*(value.denominator for value in listed))
    found = Numbers([int(value * scale) for value in listed], scale)
    return found, found.written()


def _intervals(
    drawn: Numbers | None,
    radius: Fraction | None,
    limits: tuple[int, int],
    step: Fraction,
    clamped: tuple[int, int] | None = None,
) -> tuple[list[Any], list[Any]]:
    if radius is None or drawn is None:
        missing = [None] * (1 if drawn is None else len(drawn.whole))
        return missing, missing
    scale = math.lcm(drawn.scale, radius.denominator, step.denominator)
    unit, away, values = int(step * scale), int(radius * scale), drawn.over(scale)
    least, greatest = limits[0] * unit, limits[1] * unit
    lows = [min(max(value - away, least), greatest) for value in values]
    highs = [max(min(value + away, greatest), least) for value in values]
    if clamped is not None:
        # A number that was cut off to fit says only that the noisy one lay at its limit or beyond.
        bottom, top = clamped[0] * unit, clamped[1] * unit
        lows = [least if v <= bottom else low for v, low in zip(values, lows, strict=True)]
        highs = [greatest if v >= top else high for v, high in zip(values, highs, strict=True)]
    return Numbers(lows, scale).written(), Numbers(highs, scale).written()


def _plain(value: Any) -> Any:
    """A number as it is written: an integer where it is one, else a decimal."""
    if not isinstance(value, Fraction):
        return value
    return int(value) if value.denominator == 1 else float(value)


# ── How many rows each person has, where a column says whose row it is ──────────────────────────────────────
# A promise for one person's rows holds only if nobody has more of them than was promised. Counting keeps
# eight bytes a row: a keyed hash of the person, not the name.


class PersonRows:
    """Counts the rows of each person; without a column there is nothing to count."""

    def __init__(self, column: str | None, most: int, key: str, meaning: Meaning) -> None:
        self.columns = [] if column is None else [column]
        self.most, self.key, self._meaning = most, key, meaning
        self._hashes: list[NDArray[np.int64]] = []

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        for name in self.columns:
            people = persons(batch, name, self._meaning)
            # Python hashes texts with a secret key of the process; two people collide with chance 2^-64.
            found = np.fromiter(map(hash, people.values.items), np.int64, len(people.values))
            self._hashes.append(people.mapped(found))

    def check(self) -> None:
        """Refuse data in which somebody has too many rows."""
        if not self._hashes:
            return
        _, counts = np.unique(np.concatenate(self._hashes), return_counts=True)
        refuse_too_many(int(counts.max()), self.columns[0], self.most, self.key)


def persons(batch: Batch, name: str, meaning: Meaning) -> DictionaryColumn:
    """Whom each row names, as one text for all who count; a row that names nobody is refused."""
    found = in_code(batch.columns[name])
    people = meaning.people(found.values.items, name)
    if None in people:
        without = np.array([person is None for person in people])
        row = int(np.flatnonzero(found.mapped(without))[0])
        raise DataError(f"row {batch.first + row} {nobody(name)}")
    return found.meant(people)


def refuse_too_many(rows: int, column: str, most: int, key: str) -> None:
    """Refuse data in which somebody has more rows than was promised."""
    if rows > most:
        raise DataError(
            f"the column {column!r} has a person with {rows} rows, but the promise is for at most {most}; "
            f"nothing was released. Raise {key} (each row costs its share of the budget), or leave rows out "
            "beforehand"
        )
