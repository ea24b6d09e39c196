"""Row by row: numbers, categories and places; streamed, resumable, never drawn twice."""

import csv
import dataclasses
import importlib.util
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import sievert as sv
from sievert.errors import BudgetError, DataError, FileError
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.ledger import Budget, Ledger
from sievert.mechanisms import planar_noise
from sievert.release import make_plan
from sievert.spaces import Region
from sievert.tables import Batch, open_rows
from tests.batches import in_batches_of

_spec = importlib.util.spec_from_file_location("faults", Path(__file__).parents[1] / "faults.py")
assert _spec is not None and _spec.loader is not None
faults = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(faults)

SURVEY = """version = 1
[policy]
values = ["nie", "manchmal", "häufig, sehr", "日常"]
[mechanism]
kind = "randomised-response"
alpha = "1/3"
[data]
input = "data.csv"
column = "answer"
fit = { unknown = 1, dropped = 1 }
[release]
ledger = "budget.toml"
output = "out.csv"
"""
AGES = """version = 1
[policy]
values = { range = [0, 9] }
secrets = "line"
[mechanism]
kind = "truncated-geometric"
eps = 0.5
[data]
input = "data.csv"
column = "age"
fit = { unknown = 1, dropped = 1 }
[release]
ledger = "budget.toml"
output = "out.csv"
"""
MAP = """version = 1
[policy]
[policy.secrets]
metric = "euclidean"
region = { south = 48.85, west = 2.30, north = 48.86, east = 2.32, cell = 100 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[data]
input = "data.csv"
column = ["lat", "lon"]
person = "who"
rows_per_person = 2
fit = { unknown = 1, dropped = 1 }
[release]
ledger = "budget.toml"
output = "out.csv"
"""


def scenario(
    folder: Path, text: str, header: str, rows: list[Any], budget: str = "person = 100.0"
) -> PolicyScenario:
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header.split(","))
        writer.writerows(row if isinstance(row, list | tuple) else [row] for row in rows)
    (folder / "budget.toml").write_text(budget)
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def seeded_run(described: PolicyScenario, *, seed: int, **options: Any) -> sv.results.Release:
    """Release as a test: the file with a seed of its own."""
    assert described.document.release is not None
    rules = described.document.release.model_copy(update={"test_seed": seed})
    document = described.document.model_copy(update={"release": rules})
    return sv.release.run(dataclasses.replace(described, document=document), **options)


def released(folder: Path, name: str = "out.csv") -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_categories_with_unicode_labels(tmp_path: Path) -> None:
    """40 000 draws against the channel; fails by chance once in a million (fixed seed)."""
    labels = ["nie", "manchmal", "häufig, sehr", "日常"]
    rows = labels * 10_000
    described = scenario(tmp_path, SURVEY, "answer", rows)
    done = seeded_run(described, seed=3)
    assert done.eps == Fraction("1.098612289")
    out = [row["answer"] for row in released(tmp_path)]
    table = np.array([[sum(o == b for o in out[i::4]) for b in labels] for i, _ in enumerate(labels)])
    expected = described.channel.matrix * 10_000
    assert chisquare(table.ravel(), expected.ravel(), ddof=3).pvalue > 1e-6


def test_numbers_are_the_truncated_geometric(tmp_path: Path) -> None:
    described = scenario(tmp_path, AGES, "age", [4] * 50_000)
    seeded_run(described, seed=4)
    counts = np.bincount([int(row["age"]) for row in released(tmp_path)], minlength=10)
    assert chisquare(counts, described.channel.row(4) * 50_000).pvalue > 1e-6


def test_declared_treatments(tmp_path: Path) -> None:
    rows = ["3", "12", "", "old", "4.6", "-1e999", "nan", "NA"]
    declared = 'out_of_range = "clamp"\noff_grid = "nearest"\nmissing = "drop"\nunknown = { use = 0 }\n'
    text = AGES + declared
    text = text.replace('column = "age"', 'column = "age"\nmissing_values = ["NA"]')
    domain = make_plan(scenario(tmp_path, text, "age", rows)).domain()
    found = domain.codes(Batch(1, {"age": rows}, len(rows))).tolist()
    assert found == [3, 9, -1, 0, 5, 0, -1, -1]
    sv.release.run(load_policy_scenario(tmp_path / "file.toml"))
    assert len(released(tmp_path)) == 5
    for row, message in [
        ("12", "row 2 has '12', which is not from 0 to 9"),
        ("", "row 2 has no value"),
        ("old", "row 2 has 'old', which is not one of"),
        ("4.6", "row 2 has '4.6', which lies between"),
    ]:
        with pytest.raises(DataError, match=message):
            sv.release.run(scenario(tmp_path, AGES, "age", ["1", row]), output=tmp_path / "x.csv")


def test_the_domain_is_never_taken_from_the_data(tmp_path: Path) -> None:
    """Values that occur in the data only are refused, and values that never occur are still put out."""
    described = scenario(tmp_path, SURVEY, "answer", ["nie"] * 400)
    seeded_run(described, seed=1)
    assert {row["answer"] for row in released(tmp_path)} == {"nie", "manchmal", "häufig, sehr", "日常"}


@pytest.mark.parametrize("count", [1, 2])
def test_few_rows(tmp_path: Path, count: int) -> None:
    sv.release.run(scenario(tmp_path, AGES, "age", ["5"] * count))
    assert len(released(tmp_path)) == count
    assert (tmp_path / "out.csv").read_text().startswith("age\n")


def test_parquet_arrow_and_csv_agree(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    values = [i % 10 for i in range(1000)]
    described = scenario(tmp_path, AGES, "age", values)
    table = arrow.table({"id": list(range(1000)), "age": values})
    parquet.write_table(table, tmp_path / "data.parquet", row_group_size=300)
    with ipc.new_file(tmp_path / "data.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=128)
    with ipc.new_stream(tmp_path / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    results = []
    for name in ("data.csv", "data.parquet", "data.arrow", "stream.arrow"):
        out = tmp_path / f"{name}.out.csv"
        seeded_run(described, data=tmp_path / name, output=out, seed=8)
        results.append([row["age"] for row in released(tmp_path, out.name)])
    # Arrow files bring their own batches; one batch holds these rows in the other three.
    assert results[0] == results[1] == results[3]
    assert len(results[2]) == 1000
    for suffix in (".parquet", ".arrow"):
        seeded_run(described, output=tmp_path / f"out{suffix}", seed=8)
    assert parquet.read_table(tmp_path / "out.parquet")["age"].to_pylist() == [int(v) for v in results[0]]
    with ipc.open_file(tmp_path / "out.arrow") as reader:
        assert reader.read_all()["age"].to_pylist() == [int(v) for v in results[0]]
    for name in ("broken.parquet", "broken.arrow"):
        (tmp_path / name).write_bytes(b"not a table")
        with pytest.raises(DataError, match="cannot be read as"):
            sv.release.run(described, data=tmp_path / name, output=tmp_path / "never.csv")
    with pytest.raises(FileError, match="data is read from"):
        sv.release.run(described, data=tmp_path / "file.toml", output=tmp_path / "never.csv")


def test_a_run_lets_its_callback_go(tmp_path: Path) -> None:
    class Heard:
        def __call__(self, word: str, rows: int, total: int | None) -> None: ...

    heard = Heard()
    held = weakref.ref(heard)
    done = sv.release.run(scenario(tmp_path, AGES, "age", [1, 2, 3]), progress=heard)
    del heard
    assert held() is None and done.eps


def test_rows_that_people_own(tmp_path: Path) -> None:
    text = AGES.replace('column = "age"', 'column = "age"\nperson = "who"')
    rows = [(1, "ann"), (2, "bob"), (3, "ann")]
    with pytest.raises(DataError, match=r"a person with 2 rows.*data\.rows_per_person"):
        sv.release.run(scenario(tmp_path, text, "age,who", rows))
    two = text.replace('person = "who"', 'person = "who"\nrows_per_person = 2')
    two = two.replace('output = "out.csv"', 'output = "out.csv"\nkeep = ["who"]')
    done = sv.release.run(scenario(tmp_path, two, "age,who", rows))
    assert done.eps == 1
    assert [row["who"] for row in released(tmp_path)] == ["ann", "bob", "ann"]
    with pytest.raises(FileError, match="'age' is private"):
        kept = two.replace('keep = ["who"]', 'keep = ["age"]')
        sv.release.run(scenario(tmp_path, kept, "age,who", rows), output=tmp_path / "x.csv")


def test_two_columns_are_one_value(tmp_path: Path) -> None:
    text = SURVEY.replace(
        '["nie", "manchmal", "häufig, sehr", "日常"]', '{ product = [["f", "m"], { range = [1, 3] }] }'
    )
    text = text.replace('column = "answer"', 'column = ["sex", "size"]').replace(
        'alpha = "1/3"', 'alpha = "1/1000000000"'
    )
    rows = [("f", 1), ("m", "3.0"), ("m", 2)]
    seeded_run(scenario(tmp_path, text, "sex,size", rows), seed=1)
    assert [(row["sex"], row["size"]) for row in released(tmp_path)] == [("f", "1"), ("m", "3"), ("m", "2")]
    substitute = text + 'missing = { use = ["f", 2] }\n'
    sv.release.run(
        scenario(tmp_path, substitute, "sex,size", [("", 1), ("m", ""), ("m", 3)]), output=tmp_path / "b.csv"
    )
    written = [tuple(row.values()) for row in released(tmp_path, "b.csv")]
    assert written == [("f", "1"), ("m", "2"), ("m", "3")]
    with pytest.raises(FileError, match="must be a list with a value for each"):
        make_plan(scenario(tmp_path, text + "missing = { use = 2 }\n", "sex,size", rows)).domain()
    with pytest.raises(FileError, match="or lists with an entry for each column"):
        flat = text.replace('{ product = [["f", "m"], { range = [1, 3] }] }', '["f", "m"]')
        make_plan(scenario(tmp_path, flat, "sex,size", rows)).domain()


# ── places ───────────────────────────────────────────────────────────────────────────────────────


def places(count: int, seed: int = 1) -> list[tuple[float, float, str]]:
    rng = np.random.default_rng(seed)
    lats, lons = rng.uniform(48.85, 48.86, count), rng.uniform(2.30, 2.32, count)
    return [(round(a, 6), round(b, 6), f"p{i}") for i, (a, b) in enumerate(zip(lats, lons, strict=True))]


def test_clamped_planar_noise_of_the_specification() -> None:
    region = Region(0.0, 0.0, 0.0026, 0.0026, 100)
    assert region.shape == (3, 3)
    matrix = planar_noise(region, Fraction(1, 100)).finite().matrix
    assert matrix[4, [4, 1, 0]] == pytest.approx([0.153674943737, 0.0894352376844, 0.122146026381], rel=1e-11)
    assert matrix.sum(axis=1) == pytest.approx(1)
    policy = sv.metrics.euclidean([[r, c] for r in range(3) for c in range(3)])
    assert sv.epsilon(sv.Channel(matrix), policy).nats == pytest.approx(1)


def test_places_are_moved_by_planar_noise(tmp_path: Path) -> None:
    """The released cells of one place against the clamped planar geometric (fixed seed)."""
    text = MAP.replace("rows_per_person = 2", "rows_per_person = 20000")
    described = scenario(tmp_path, text, "lat,lon,who", [(48.855, 2.31, "x")] * 20_000, "person = 1000")
    seeded_run(described, seed=6)
    plan = make_plan(described, tmp_path / "unused.csv")
    assert plan.places is not None
    region = plan.places.region
    out = np.array([[float(row["lat"]), float(row["lon"])] for row in released(tmp_path)])
    cells = region.cells(out[:, 0], out[:, 1])
    start = region.cells([48.855], [2.31])[0]
    width = region.shape[1]
    counts = np.bincount(cells[:, 0] * width + cells[:, 1], minlength=len(region))
    row = plan.places.matrix[start[0] * width + start[1]] * len(out)
    large = row >= 5
    observed = [*counts[large], counts[~large].sum()]
    assert chisquare(observed, [*row[large], row[~large].sum()]).pvalue > 1e-6
    # Outputs are centres of cells: they tell nothing more about where in its cell a place was.
    assert np.abs(np.array(region.centres(cells)).T - out).max() < 1e-6


def test_bad_places(tmp_path: Path) -> None:
    good = places(1)[0]
    for bad, message, declared in [
        ((48.9, 2.31, "x"), "row 2 has a place outside the region", 'out_of_range = "clamp"'),
        ((48.9, 2.31, "x"), "row 2 has a place outside the region", 'out_of_range = "drop"'),
        (("", 2.31, "x"), "row 2 has no value in the column 'lat'", 'missing = "drop"'),
        ((48.855, "east", "x"), "row 2 has 'east', which is not a number", 'unknown = "drop"'),
    ]:
        with pytest.raises(DataError, match=message):
            sv.release.run(scenario(tmp_path, MAP, "lat,lon,who", [good, bad]), output=tmp_path / "x.csv")
        out = tmp_path / f"{declared[-6:-1]}-{message[6:20].replace(' ', '')}.csv"
        sv.release.run(scenario(tmp_path, MAP + declared, "lat,lon,who", [good, bad]), output=out)
        assert len(released(tmp_path, out.name)) == (2 if "clamp" in declared else 1)


def test_a_remap_brings_places_closer_to_where_people_are(tmp_path: Path) -> None:
    with (tmp_path / "people.csv").open("w") as stream:
        stream.write("lat,lon,people\n48.8521,2.3021,1000\n48.8585,2.3180,1\n")
    rows = [(48.8521, 2.3021, f"p{i}") for i in range(300)]
    text = MAP + 'remap = "people.csv"\n'
    described = scenario(tmp_path, text, "lat,lon,who", rows)
    seeded_run(described, seed=2)
    seeded_run(scenario(tmp_path, MAP, "lat,lon,who", rows), output=tmp_path / "plain.csv", seed=2)

    def error(name: str) -> float:
        out = released(tmp_path, name)
        return float(np.mean([abs(float(r["lat"]) - 48.8521) + abs(float(r["lon"]) - 2.3021) for r in out]))

    assert error("out.csv") < error("plain.csv") / 3
    plan = make_plan(described, tmp_path / "unused.csv")
    assert plan.places is not None and plan.places.population is not None
    # The remap is the best answer of all: no other cell is nearer to the truth on average.
    joint = plan.places.population[:, None] * plan.places.matrix
    size = len(plan.places.region)
    grid = np.array(np.divmod(np.arange(size), plan.places.region.shape[1])).T
    for noisy in range(0, size, 17):
        costs = [joint[:, noisy] @ np.hypot(*(grid - grid[cell]).T) for cell in range(size)]
        assert costs[plan.places.remapped[noisy]] == pytest.approx(min(costs))


def test_one_stable_place_for_each_person(tmp_path: Path) -> None:
    text = MAP.replace("rows_per_person = 2\n", "") + 'stable = true\nkeep = ["who"]\n'
    rows = [(a, b, f"p{i % 5}") for i, (a, b, _) in enumerate(places(40))]
    described = scenario(tmp_path, text, "lat,lon,who", rows)
    first = sv.release.run(described)
    assert first.eps == Fraction(1, 100)
    found = {}
    for row in released(tmp_path):
        assert found.setdefault(row["who"], (row["lat"], row["lon"])) == (row["lat"], row["lon"])
    assert len(found) == 5
    again = sv.release.run(described, output=tmp_path / "again.csv")
    assert again.eps == 0, "a place that was paid for is not paid for again"
    for row in released(tmp_path, "again.csv"):
        assert found[row["who"]] == (row["lat"], row["lon"])
    # Another month's data, with one new id, which may be a known driver's: the others stay where they were.
    later = scenario(tmp_path, text.replace('output = "out.csv"', 'output = "later.csv"'), "lat,lon,who",
                     [*[(a, b, "p3") for a, b, _ in places(3, seed=5)], (48.855, 2.31, "new")])  # fmt: skip
    assert sv.release.run(later).eps == Fraction(1, 100)
    assert [(row["lat"], row["lon"]) for row in released(tmp_path, "later.csv")][:3] == [found["p3"]] * 3
    finer = scenario(tmp_path, text.replace("eps = 0.01", "eps = 0.02"), "lat,lon,who", rows)
    assert sv.release.run(finer, output=tmp_path / "finer.csv").eps == Fraction(2, 100)
    content = (tmp_path / "budget.ledger" / "places.sqlite").read_bytes()
    assert b"p3" not in content, "people are kept as salted hashes"
    with pytest.raises(FileError, match=r"needs data\.person"):
        nobody = text.replace('person = "who"\n', "")
        sv.release.run(scenario(tmp_path, nobody, "lat,lon,who", rows), output=tmp_path / "x.csv")


def test_a_channel_on_the_cells_of_a_map(tmp_path: Path) -> None:
    exponential = 'kind = "exponential"\nlevel = "true"\neps = 0.005'
    text = MAP.replace("cell = 100", "cell = 400")
    text = text.replace('kind = "planar-geometric"\neps = 0.01', exponential)
    done = sv.release.run(scenario(tmp_path, text, "lat,lon,who", places(50)))
    assert Fraction("0.00999") < done.eps < Fraction("0.010001")
    assert len(released(tmp_path)) == 50


# ── interruptions ────────────────────────────────────────────────────────────────────────────────

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")


def killed_in_every_state(described: PolicyScenario) -> Iterator[None]:
    """Release in a child that is killed in each state of the disk, each time from what the folder held first.

    The file is read once: what follows from it alone need not be worked out in every child.
    """
    folder = described.folder
    files = {path: path.read_bytes() for path in folder.iterdir()}
    steps = faults.WITHOUT_WAITING
    for step, moment in faults.every_state(lambda: sv.release.run(described), folder, steps):
        shutil.rmtree(folder)
        folder.mkdir()
        for path, content in files.items():
            path.write_bytes(content)
        assert faults.interrupted(lambda: sv.release.run(described), step, moment, steps)
        yield


@needs_fork
def test_a_central_release_killed_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    text = AGES.replace('secrets = "line"', "records = 4").replace(
        "[mechanism]", '[query]\nkind = "sum"\n[mechanism]'
    )
    folder, described = tmp_path, scenario(tmp_path, text, "age", [1, 2, 3, 4], "person = 1")
    for _ in killed_in_every_state(described):
        with Ledger.hold(folder / "budget.ledger", described_budget(folder)) as ledger:
            charged = ledger.spent
            finished = any(entry.finished for entry in ledger.entries)
        assert charged in (0, Fraction(1, 2))
        assert (folder / "out.csv").exists() == (folder / "out.csv.json").exists() == finished
        done = sv.release.run(described, output=folder / "second.csv")
        # What was charged and not published is finished elsewhere at no further cost.
        assert done.resumed == (charged > 0 and not finished)
        assert Ledger.look(folder / "budget.ledger").spent == (1 if finished else Fraction(1, 2))
        assert not list(folder.glob(".*"))
        left = {path.name for path in (folder / "budget.ledger").iterdir()}
        assert left == {"ledger.jsonl", "ledger.lock"}, "the sealed key is gone"


def described_budget(folder: Path) -> Any:
    return Budget.read(folder / "budget.toml")


def test_two_processes_at_once(tmp_path: Path) -> None:
    """Each waits for the other; a budget for one is spent once."""
    scenario(tmp_path, AGES, "age", list(range(10)) * 500, "person = 0.5")
    command = [sys.executable, "-m", "sievert", "release", str(tmp_path / "file.toml"), "--output"]
    running = [
        subprocess.Popen(
            [*command, str(tmp_path / f"{i}.csv")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for i in range(2)
    ]
    codes = []
    for process in running:
        process.communicate()
        codes.append(process.returncode)
    assert sorted(codes) == [0, 1]
    assert len(list(tmp_path.glob("?.csv"))) == 1
    with pytest.raises(BudgetError):
        sv.release.run(tmp_path / "file.toml", output=tmp_path / "third.csv")


# The most memory this program has had, which a parent's does not count towards.
PEAK = """
import resource, sys
def peak():
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) / 2**10
"""


@pytest.mark.slow
def test_millions_of_rows_in_constant_memory(tmp_path: Path) -> None:
    """Beyond what a few batches take, rows take less than a list of them would."""
    block = "".join(f"{i % 10}\n" for i in range(100_000))
    code = f"{PEAK}\nimport sievert as sv\n"
    for folder, blocks in (("few", 2), ("many", 20)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.csv").write_text("age\n" + block * blocks)
        (tmp_path / folder / "budget.toml").write_text("person = 1")
        (tmp_path / folder / "file.toml").write_text(AGES)
        code += f"sv.release.run({str(tmp_path / folder / 'file.toml')!r})\n{folder} = peak()\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "print(many - few)"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 14, f"{done.stdout.strip()} MB more for 1,800,000 rows more"
    with (tmp_path / "many" / "out.csv").open() as stream:
        assert sum(1 for _ in stream) == 2_000_001


def test_a_seeded_place_is_never_repeated_in_a_private_release(tmp_path: Path) -> None:
    text = MAP.replace("rows_per_person = 2\n", "") + "stable = true\n"
    described = scenario(tmp_path, text, "lat,lon,who", places(200))
    seeded_run(described, output=tmp_path / "seeded.csv", seed=1)
    private = sv.release.run(described)
    assert private.secure and private.eps == Fraction(1, 100)
    assert released(tmp_path) != released(tmp_path, "seeded.csv")
    assert sv.release.run(described, output=tmp_path / "again.csv").eps == 0
    assert released(tmp_path) == released(tmp_path, "again.csv")


def test_a_remap_that_is_too_large_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("lat,lon,people\n48.8521,2.3021,1\n")
    text = MAP.replace("cell = 100", "cell = 10") + 'remap = "people.csv"\n'
    with pytest.raises(FileError, match="at most 2000"):
        sv.release.run(scenario(tmp_path, text, "lat,lon,who", places(2)))
    assert not (tmp_path / "budget.ledger").exists()


def test_how_far_places_are_moved(tmp_path: Path) -> None:
    """Mean and radius of the preview against seeded releases of one place."""
    (tmp_path / "people.csv").write_text("lat,lon,people\n48.855,2.31,3\n48.8585,2.3180,1\n")
    exponential = MAP.replace("cell = 100", "cell = 300").replace("planar-geometric", "exponential")
    for name, text in {
        "planar": MAP,
        "remap": MAP + 'remap = "people.csv"\n',
        "channel": exponential.replace("eps = 0.01", 'level = "true"\neps = 0.005'),
    }.items():
        text = text.replace("rows_per_person = 2", "rows_per_person = 4000")
        rows = [(48.855, 2.31, "a")] * 3000 + [(48.8585, 2.3180, "b")] * 1000
        described = scenario(tmp_path, text, "lat,lon,who", rows, "person = 1000")
        found = sv.release.preview(described, output=tmp_path / f"{name}.csv")
        assert found.expected_error is not None and found.radius is not None
        seeded_run(described, output=tmp_path / f"{name}.csv", seed=4)
        plan = make_plan(described, tmp_path / "unused.csv")
        assert plan.places is not None
        region = plan.places.region
        out = np.array([[float(r["lat"]), float(r["lon"])] for r in released(tmp_path, f"{name}.csv")])
        true = region.cells([row[0] for row in rows], [row[1] for row in rows])
        moved = region.cell * np.hypot(*(region.cells(out[:, 0], out[:, 1]) - true).T)
        assert (moved <= float(found.radius)).mean() >= 0.94
        if name == "remap":
            assert moved.mean() == pytest.approx(found.expected_error, rel=0.1)
        else:  # clamping, and a cell that is not the worst, only make it less
            assert 0.5 * found.expected_error < moved.mean() < 1.05 * found.expected_error


def test_texts_that_python_alone_takes_for_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1 has '0_7', which is not one of"):
        sv.release.run(scenario(tmp_path, AGES, "age", [("0_7",)]))
    with pytest.raises(DataError, match=r"row 1 has '48_\.855', which is not a number"):
        sv.release.run(scenario(tmp_path, MAP, "lat,lon,who", [("48_.855", 2.31, "x")]))
    with pytest.raises(DataError, match=r"row 1 has '4_8\.855', which is not a number"):
        sv.release.run(scenario(tmp_path, MAP, "lat,lon,who", [("4_8.855", 2.31, "x")]))
    # NaN is a missing number, as in the formats that have a type for it.
    sv.release.run(scenario(tmp_path, AGES + 'missing = "drop"\n', "age", [("NaN",), ("nan",), (3,)]))
    assert len(released(tmp_path)) == 1
    text = (MAP + 'missing = "drop"\n').replace("budget.toml", "places.toml")
    (tmp_path / "places.toml").write_text("person = 1.0")
    described = scenario(tmp_path, text, "lat,lon,who", [("nan", 2.31, "x"), (48.855, 2.31, "x")])
    sv.release.run(described, output=tmp_path / "places.csv")
    assert len(released(tmp_path, "places.csv")) == 1


def test_randomised_response_is_refused_where_values_are_nearer_than_its_unit(tmp_path: Path) -> None:
    """At distance 1/5 a response of ε = 4 has 20 for a unit, as its channel shows: 4 must not be charged."""
    text = SURVEY.replace(
        'values = ["nie", "manchmal", "häufig, sehr", "日常"]',
        'secrets = { metric = "euclidean", points = "points.csv" }',
    ).replace('alpha = "1/3"', "eps = 4.0")
    (tmp_path / "points.csv").write_text("place,x,y\na,0,0\nb,0.2,0\nc,3,0\n")
    described = scenario(tmp_path, text, "answer", ["a", "c"])
    assert sv.epsilon(described.channel, described.answers).nats == pytest.approx(20)
    with pytest.raises(FileError, match=r"claims ε = 4 but only satisfies ε = 20"):
        sv.release.run(described)
    assert not (tmp_path / "budget.ledger").exists()
    (tmp_path / "points.csv").write_text("place,x,y\na,0,0\nb,2,0\nc,3,0\n")
    assert sv.release.run(scenario(tmp_path, text, "answer", ["a", "c"])).eps == 4


def test_an_output_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    described = scenario(tmp_path, SURVEY, "answer", ["nie"])
    for name in ("out.xlsx", "out"):
        with pytest.raises(FileError, match=r"is written to \.csv, \.parquet or \.arrow"):
            sv.release.run(described, output=tmp_path / name)
    assert not (tmp_path / "budget.ledger").exists()


def test_a_first_batch_without_rows_has_no_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    in_batches_of(2, monkeypatch)
    rows = ["NA", "NA", "nie", "nie"]
    text = SURVEY.replace('column = "answer"', 'column = "answer"\nmissing_values = ["NA"]')
    described = scenario(tmp_path, text + 'missing = "drop"\n', "answer", rows)
    sv.release.run(described, output=tmp_path / "out.parquet")
    assert sum(batch.size for batch in open_rows(tmp_path / "out.parquet").batches(["answer"])) == 2


def test_a_kept_column_may_begin_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    in_batches_of(2, monkeypatch)
    table = arrow.table({"answer": ["nie"] * 4, "note": [None, None, "late", None]})
    described = scenario(tmp_path, SURVEY + 'keep = ["note"]\n', "answer", [])
    sv.release.run(described, data=table, output=tmp_path / "out.parquet")
    rows = open_rows(tmp_path / "out.parquet")
    notes = [note for batch in rows.batches(["note"]) for note in batch.columns["note"]]
    assert notes == [None, None, "late", None]
