"""Questions about tables, sums and maps that no list holds: against lists, and how they grow."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.files import table_noise
from sievert.observations import likelihood_of, repeated_guess

HISTOGRAM = '[query]\nkind = "histogram"\n[mechanism]\nkind = "geometric"\neps = 1.0\n'
SUM = '[query]\nkind = "sum"\n[mechanism]\nkind = "{kind}"\neps = 1.0\n'
OFTEN = "[adversary]\nobservations = {count}\n"
PLACE = """[policy.secrets]
metric = "euclidean"
region = {{ south = 0.0, west = 0.0, north = {degrees}, east = {degrees}, cell = 100 }}
[mechanism]
kind = "planar-geometric"
eps = 0.01
"""
# Policies whose distances no list holds, and their values.
HIDDEN = {
    "add/remove": 'adjacency = "add-remove"',
    "line": 'secrets = "line"',
    "threshold": "secrets = {{ threshold = {wide} }}",
}
ROWS = (10_000, 100_000, 1_000_000)
# Degrees of latitude or longitude of a cell of 100 m at the equator, nearly.
DEGREES = 1 / 1105.8


def run() -> list[Row]:
    """Files are read anew for every answer, as a command does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.toml"
        rows = [_listed(path, top) for top in (20, 40, 80)]
        rows += [_simulated(path, cells) for cells in (100, 1_000, 5_000)]
        sizes = (1_000, 10_000, 100_000, 1_000_000)
        rows += [_row("audit of a table", path, cells, _table(cells)) for cells in sizes]
        rows += [_row("audit of a sum", path, top, _sum(top)) for top in (1_500, 15_000, 150_000)]
        rows += [
            _row(f"audit of a sum, {name}", path, top, _hidden(top, name)) for name in HIDDEN for top in ROWS
        ]
        rows += [_row("audit of a map", path, side**2, _map(side)) for side in (32, 100, 316, 1_000)]
        rows += [_preview("preview of a table", path, cells, _table(cells)) for cells in ROWS]
        rows += [_preview("preview of a sum", path, top, _sum(top)) for top in ROWS]
        rows += [_repeated(path, top) for top in (2, 5, 9)]
        rows += [_process(path, cells, _table(cells)) for cells in (1_000, 1_000_000)]
    return rows


def _written(path: Path, text: str) -> Path:
    path.write_text("version = 1\n" + text, encoding="utf-8")
    return path


def _policy(values: str, records: int) -> str:
    return f"[policy]\nvalues = {values}\nrecords = {records}\n"


def _table(cells: int) -> str:
    product = f"{{ product = [{{ range = [1, {cells // 10}] }}, {{ range = [1, 10] }}] }}"
    return _policy(product, 1000) + HISTOGRAM + OFTEN.format(count=12)


def _sum(top: int) -> str:
    return _policy(f"{{ range = [0, {top}] }}", 300) + SUM.format(kind="geometric") + OFTEN.format(count=12)


def _hidden(top: int, name: str) -> str:
    rule = HIDDEN[name].format(wide=top // 100) + "\n"
    return _policy(f"{{ range = [0, {top}] }}", 300) + rule + SUM.format(kind="geometric")


def _map(side: int) -> str:
    return PLACE.format(degrees=(side - 0.5) * DEGREES)


def _listed(path: Path, top: int) -> Row:
    """One record in a sum of ten, by its noise alone, and over the list of all answers and outputs."""
    _written(path, _policy(f"{{ range = [0, {top}] }}", 10) + SUM.format(kind="truncated-geometric"))

    def ours() -> float:
        noise = table_noise(sv.load(path))
        assert noise is not None
        return likelihood_of(noise, np.full(top + 1, 1 / (top + 1))).guess(1).guess

    def theirs() -> float:
        scenario = sv.load(path)
        return float(sv.record_leakage(scenario.channel, scenario.answers).after)

    assert abs(ours() - theirs()) < 1e-12
    return compare("one record in a sum of ten", 10 * top + 1, ours, "listing", theirs, repeat=3)


def _simulated(path: Path, cells: int) -> Row:
    """The guess after twelve releases, exactly, and by 1000 simulated records: one digit and a half."""
    noise = table_noise(sv.load(_written(path, _table(cells))))
    assert noise is not None
    view = likelihood_of(noise, np.full(cells, 1 / cells))

    def theirs() -> object:
        return view.simulated(12, 1, 1000)

    return compare("guess after 12 releases", cells, lambda: view.guess(12), "simulation", theirs, repeat=3)


def _repeated(path: Path, top: int) -> Row:
    """The guess after four releases of a sum of ten: by the law of its noise, against every situation."""
    scenario = sv.load(
        _written(path, _policy(f"{{ range = [0, {top}] }}", 10) + SUM.format(kind="geometric"))
    )
    channel, answers = scenario.channel, scenario.answers

    def ours() -> float:
        return scenario.replaced({}).analysis.vulnerability(releases=4).value

    def theirs() -> float:
        return repeated_guess(channel, answers, 4).guess

    return compare("guess after 4 releases of a sum", top, ours, "every situation", theirs, repeat=3)


def _row(name: str, path: Path, size: int, text: str) -> Row:
    return Row(name, size, timed(lambda: sv.audit(_written(path, text)), 2, "cpu"))


def _preview(name: str, path: Path, size: int, text: str) -> Row:
    """What a release of the file would do: nothing is read or spent."""
    parts = (
        '[data]\ninput = "data.csv"\ncolumn = {column}\n'
        '[release]\noutput = "out.csv"\nledger = "budget.toml"\n'
    )
    column = '["a", "b"]' if "product" in text else '"a"'
    _written(path, text + parts.format(column=column))
    path.with_name("data.csv").write_text("a,b\n1,1\n", encoding="utf-8")
    path.with_name("budget.toml").write_text("person = 100.0\n", encoding="utf-8")
    return Row(name, size, timed(lambda: sv.release.preview(path), 2, "cpu"))


def _process(path: Path, size: int, text: str) -> Row:
    """A command from its start to its end, in processor time."""
    command = [sys.executable, "-m", "sievert", "audit", str(_written(path, text))]

    def spent() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    spent()
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return Row(
        "sievert audit, whole process", size, min(spent() for _ in range(3)), note=f"at most {most} MB"
    )
