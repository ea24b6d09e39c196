"""Releases row by row against OpenDP and a plain loop; reading, and what a long ledger costs."""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from unittest.mock import patch

import opendp.prelude as dp

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.channels import EpsilonOrAlpha, GeometricLaw
from sievert.ledger import Budget, Ledger
from sievert.limits import planned_claim
from sievert.tables import _batches as batches
from sievert.tables import _dictionary_encoding as coded

AGES = """version = 1
[policy]
values = { range = [0, 99] }
secrets = "line"
[mechanism]
kind = "truncated-geometric"
eps = 1.0
[data]
input = "ages.csv"
column = "age"
[release]
ledger = "budget.toml"
"""
RELEASES = count()


def run() -> list[Row]:
    """From the file of true rows to the file of noisy rows: both checked, charged and synced only by us."""
    dp.enable_features("contrib")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "budget.toml").write_text("person = 1000000")
        (folder / "file.toml").write_text(AGES)
        for size in (500, 1000, 2000):
            _data(folder, size)
            rows.append(_compared(folder, size, "OpenDP, a call a row", _opendp))
        for size in (10_000, 30_000, 100_000):
            _data(folder, size)
            rows.append(_compared(folder, size, "Python loop, floats", _loop))
        for size in (100_000, 300_000, 1_000_000):
            _data(folder, size)
            rows.append(_compared(folder, size, "Python's reader", _by_python))
        rows += [_ledger(folder, records) for records in (100, 400, 1600)]
        rows += [_charge(folder, records) for records in (100, 1000, 10_000)]
        rows += [_folder(folder, size) for size in (500_000, 1_000_000, 2_000_000)]
    return [*rows, *_plans()]


def _by_python(folder: Path) -> None:
    """The same release where Arrow is not installed: cell by cell."""
    with (
        patch.object(batches, "arrow_or_none", lambda: None),
        patch.object(coded, "arrow_or_none", lambda: None),
    ):
        _ours(folder)


def _folder(folder: Path, size: int) -> Row:
    """Eight files by a pool of two processes, started for it, against one process: seconds of the clock."""
    place = folder / f"in-{size}"
    place.mkdir()
    for number in range(8):
        values = random.Random(number).choices(range(100), k=size // 8)
        (place / f"{number}.csv").write_text("age\n" + "\n".join(map(str, values)) + "\n")
    for name, line in (("one", ""), ("pool", 'engine = { kind = "processes", workers = 2 }\n')):
        (folder / f"{name}.toml").write_text(AGES.replace('"ages.csv"', f'"{place.name}"') + line)

    def drawn(name: str) -> None:
        sv.release.run(folder / f"{name}.toml", output=folder / f"ours-{next(RELEASES)}.csv")

    ours, theirs = (lambda: drawn("pool")), (lambda: drawn("one"))
    return compare("eight files, pool of two", size, ours, "one process", theirs, repeat=1)


def _plans() -> list[Row]:
    """ε at δ = 1e-6 of so many tables a year, exactly, against dp-accounting's grid of losses."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    law = GeometricLaw(EpsilonOrAlpha(0.25, None))

    def ours(count: int) -> float:
        return planned_claim([(law, 1), (law, 1)], count).epsilon(1e-6)

    def theirs(count: int) -> float:
        once = pld.from_discrete_laplace_mechanism(0.25)
        return float(once.self_compose(2 * count).get_epsilon_for_delta(1e-6))

    return [
        compare(
            "plan composed exactly",
            count,
            lambda n=count: ours(n),
            "dp-accounting",
            lambda n=count: theirs(n),
        )
        for count in (10, 100, 1000)
    ]


def _compared(folder: Path, size: int, peer: str, theirs: Callable[[Path], None]) -> Row:
    name = "ages row by row, file to file"
    return compare(name, size, lambda: _ours(folder), peer, lambda: theirs(folder), repeat=2, clock="cpu")


def _data(folder: Path, size: int) -> None:
    values = random.Random(size).choices(range(100), k=size)
    (folder / "ages.csv").write_text("age\n" + "\n".join(map(str, values)) + "\n")


def _ours(folder: Path) -> None:
    sv.release.run(folder / "file.toml", output=folder / f"ours-{next(RELEASES)}.csv")


def _opendp(folder: Path) -> None:
    domain = dp.atom_domain(T=int)
    noise = domain, dp.absolute_distance(T=int)
    mechanism = dp.m.make_geometric(*noise, scale=1.0, bounds=(0, 99))
    _rewritten(folder, "opendp.csv", lambda value: str(mechanism(value)))


def _loop(folder: Path) -> None:
    draw = random.Random(1).expovariate
    _rewritten(
        folder, "loop.csv", lambda value: str(max(0, min(99, value + int(draw(1.0)) - int(draw(1.0)))))
    )


def _rewritten(folder: Path, name: str, noisy: object) -> None:
    with (folder / "ages.csv").open(newline="") as source, (folder / name).open("w", newline="") as target:
        reader, writer = csv.reader(source), csv.writer(target)
        writer.writerow(next(reader))
        writer.writerows([noisy(int(row[0]))] for row in reader)  # type: ignore[operator]


def _ledger(folder: Path, records: int) -> Row:
    """CPU time to open, check and recover a ledger with many releases."""
    path = folder / f"ledger-{records}"
    with Ledger.hold(path, Budget(Fraction(10**9))) as ledger:
        for i in range(records):
            ledger.chain.append(
                {
                    "kind": "reserve",
                    "id": f"r{i}",
                    "eps": "1/10",
                    "unit": "pair of neighbours",
                    "columns": ["age"],
                    "targets": [str(folder / "gone.csv")],
                }
            )
            ledger.chain.append({"kind": "commit", "id": f"r{i}", "sha256": ["0" * 64]})

    def opened() -> None:
        with Ledger.hold(path):
            pass

    return Row("open and check a ledger", records, timed(opened, repeat=3, clock="cpu"))


def _charge(folder: Path, records: int) -> Row:
    """CPU time of a charge on a ledger with many releases, which asks for sums and not for the past."""
    path = folder / f"charged-{records}"
    target = folder / "charged.csv"
    with Ledger.hold(path, Budget(Fraction(10**9))) as ledger:
        for _ in range(records):
            _charged(ledger, target)

    def charged() -> None:
        with Ledger.hold(path) as ledger:
            _charged(ledger, target)

    return Row("charge a release", records, timed(charged, repeat=7, clock="cpu"))


def _charged(ledger: Ledger, target: Path) -> None:
    held = ledger.reserve(Fraction(1, 10), ["age"], [target])
    held.write(0, b"1\n")
    held.commit()
    target.unlink()
