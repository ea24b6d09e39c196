"""Estimation from noisy reports against multi-freq-ldpy, pure-ldp, POT, qif and dense NumPy."""

from __future__ import annotations

import lzma
import math
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import ot
import qif
from multi_freq_ldpy.estimators.Histogram_estimator import IBU
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from pure_ldp.frequency_oracles import local_hashing as pure_hashing

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.channels import PlanarNoise
from sievert.estimation import nearest_table
from sievert.estimation._interior_point import water_filling
from sievert.estimation._likelihood import geometric_maximum
from sievert.estimation._operators import iterate, operator_of
from sievert.estimation._reports import read_reports
from sievert.estimation.protocols._hashing import local_hashing
from sievert.spaces import Region
from tests.estimation.suite_of_mechanisms import CASES

ROUNDS = 1000
LN2 = math.log(2)


def run() -> list[Row]:
    """IBU a round, exact maxima, transport, local hashing, counting, black boxes."""
    return [
        *iterations(),
        *exact(),
        *transport(),
        *multiplicative(),
        *hashing(),
        *counting(),
        *places(),
        *tables(),
        *black_boxes(),
        *guesses(),
    ]


def _counts(channel: sv.Channel, reports: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(channel.shape[0])
    values = rng.binomial(channel.shape[0] - 1, 0.5, reports)
    return np.bincount(channel.sample(values, rng=rng), minlength=channel.shape[1])


def _dense_rounds(
    matrix: np.ndarray[Any, Any], shares: np.ndarray[Any, Any], rounds: int
) -> np.ndarray[Any, Any]:
    p = np.full(len(matrix), 1 / len(matrix))
    for _ in range(rounds):
        p *= matrix @ (shares / (p @ matrix))
    return p


def iterations() -> list[Row]:
    """1000 rounds from the uniform start. The peer's are those of a symmetric matrix: right for RR only."""
    rows = []
    for n in (101, 300, 1000):
        rr = sv.mechanisms.randomised_response(n, LN2)
        tg = sv.mechanisms.truncated_geometric(n, LN2 / 10)
        start = np.full(n, 1 / n)
        for name, channel in (
            ("IBU, 1000 rounds, randomised response", rr),
            ("IBU, 1000 rounds, truncated geometric", tg),
        ):
            matrix = np.ascontiguousarray(channel.matrix)
            shares = _counts(channel, 200 * n) / (200 * n)
            operator, observed = operator_of(read_reports(shares * 200 * n, channel))

            def ours(op: Any = operator, q: Any = observed, p: Any = start) -> Any:
                return iterate(op, q, p, -1.0, ROUNDS)

            dense = _dense_rounds(matrix, shares, 50)
            assert np.abs(iterate(operator, observed, start, -1.0, 50).distribution - dense).max() < 1e-12
            seconds = timed(ours, repeat=3, clock="cpu")
            naive = (
                timed(lambda m=matrix, q=shares: _dense_rounds(m, q, ROUNDS // 10), repeat=2, clock="cpu")
                * 10
            )
            rows.append(
                Row(name, n, seconds, "dense NumPy", naive, f"{seconds / ROUNDS * 1e6:.3g} µs a round")
            )
            if channel is rr:
                peer = timed(
                    lambda m=matrix, q=shares, n=n: IBU(n, m, q, ROUNDS, 1e-300, "max_abs"),
                    repeat=2,
                    clock="cpu",
                )
                rows.append(Row(name, n, seconds, "multi-freq-ldpy", peer))
    rows.append(_peer_bug())
    return rows


def _peer_bug() -> Row:
    """The peer multiplies on the wrong side: on truncated geometric noise it finds another distribution."""
    channel = sv.mechanisms.truncated_geometric(5, 0.5)
    truth = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    shares = channel.rmatvec(truth)
    theirs = IBU(5, np.ascontiguousarray(channel.matrix), shares, 5000, 1e-15, "max_abs")
    ours = sv.estimate(shares * 1e6, channel, interval="none").distribution
    wrong, right = (np.abs(found - truth).max() for found in (theirs, ours))
    note = f"largest error ours {right:.1e}, multi-freq-ldpy {wrong:.2g}"
    return Row(
        "truncated geometric inverted",
        5,
        timed(lambda: sv.estimate(shares * 1e6, channel, interval="none")),
        note=note,
    )


def exact() -> list[Row]:
    """Exact maxima; the certified gap of each is in the note."""
    rows = []
    for n in (1000, 10_000, 100_000):
        rng = np.random.default_rng(n)
        shares = rng.multinomial(20 * n, rng.dirichlet(np.full(n, 0.3))) / (20 * n)
        rows.append(
            Row(
                "exact maximum, randomised response",
                n,
                timed(lambda q=shares: water_filling(q, 1.0), repeat=3, clock="cpu"),
            )
        )
    for n in (101, 1000, 10_000, 100_000):
        channel = sv.mechanisms.truncated_geometric(n, LN2 / 10)
        rng = np.random.default_rng(n)
        counts = np.bincount(channel.sample(rng.integers(0, n, 100 * n), rng=rng), minlength=n)
        operator, shares = operator_of(read_reports(counts, channel))
        fit = geometric_maximum(operator, shares)
        seconds = timed(lambda op=operator, q=shares: geometric_maximum(op, q), repeat=2, clock="cpu")
        note = f"{fit.iterations} Newton steps, N·gap {100 * n * fit.gap:.0e} nats"
        rows.append(Row("exact maximum, truncated geometric", n, seconds, note=note))
    flat = sv.mechanisms.truncated_geometric(101, 1e-9)
    counts = _counts(flat, 100_000)
    found = sv.estimate(counts, flat, interval="none")
    seconds = timed(lambda: sv.estimate(counts, flat, interval="none"), repeat=3, clock="cpu")
    rows.append(Row("exact maximum, alpha = 1 - 10^-9", 101, seconds, note=f"gap {found.total_gap:.0e} nats"))
    for n in (50, 200, 500):
        rng = np.random.default_rng(n)
        channel = sv.Channel(rng.dirichlet(np.ones(n), n), normalise=True)
        counts = rng.multinomial(100 * n, channel.rmatvec(rng.dirichlet(np.ones(n))))
        found = sv.estimate(counts, channel, interval="none")
        seconds = timed(
            lambda c=counts, ch=channel: sv.estimate(c, ch, interval="none"), repeat=1, clock="cpu"
        )
        rows.append(Row("exact maximum, any matrix", n, seconds, note=f"N·gap {found.total_gap:.0e} nats"))
    return rows


def transport() -> list[Row]:
    """Points in the plane against POT; qif only where it ends soon."""
    rows = []
    for n in (100, 300, 1000):
        rng = np.random.default_rng(n)
        metric = sv.metrics.euclidean(rng.random((n, 2)))
        p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
        distances = metric.matrix
        ours, theirs = sv.kantorovich(p, q, metric).value, ot.emd2(p, q, distances)
        row = compare(
            "Kantorovich, points in the plane",
            n,
            lambda p=p, q=q, m=metric: sv.kantorovich(p, q, m),
            "POT",
            lambda p=p, q=q, d=distances: ot.emd2(p, q, d),
            repeat=3,
            clock="cpu",
            note=f"difference {abs(ours - theirs):.0e}",
        )
        rows.append(row)
        if n <= 300:
            peer = qif.metric.kantorovich(lambda i, j, d=distances: float(d[i, j]))
            start = time.process_time()
            value = peer(p, q)
            seconds = time.process_time() - start
            rows.append(
                Row(row.name, n, row.ours_seconds, "qif", seconds, f"qif is off by {abs(value - ours):.0e}")
            )
    for n in (10_000, 100_000, 1_000_000):
        rng = np.random.default_rng(n)
        p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
        line = sv.metrics.line(n)
        seconds = timed(lambda p=p, q=q, m=line: sv.kantorovich(p, q, m), repeat=2, clock="cpu")
        rows.append(Row("Kantorovich on the line, with plan", n, seconds))
    return rows


def multiplicative() -> list[Row]:
    """The multiplicative distance of points in the plane against qif, and along the line."""
    rows = []
    for n in (100, 300, 1000):
        rng = np.random.default_rng(n)
        metric = sv.metrics.euclidean(rng.random((n, 2)))
        p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
        distances = metric.matrix
        found = sv.estimation.multiplicative_kantorovich(p, q, metric)
        seconds = timed(
            lambda p=p, q=q, m=metric: sv.estimation.multiplicative_kantorovich(p, q, m),
            repeat=1,
            clock="cpu",
        )
        name, note = (
            "multiplicative Kantorovich, plane",
            f"program less function {found.upper - found.value:.0e}",
        )
        if n > 300:
            rows.append(Row(name, n, seconds, note=note))
            continue
        peer = qif.metric.mult_kantorovich(lambda i, j, d=distances: float(d[i, j]))
        start = time.process_time()
        value = peer(p, q)
        theirs = time.process_time() - start
        rows.append(
            Row(name, n, seconds, "qif", theirs, f"{note}, difference {abs(value - found.value):.0e}")
        )
    for n in (100, 300, 1000):
        rng = np.random.default_rng(n)
        p, q, line = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n)), sv.metrics.line(n)
        seconds = timed(
            lambda p=p, q=q, m=line: sv.estimation.multiplicative_kantorovich(p, q, m), repeat=2, clock="cpu"
        )
        rows.append(Row("multiplicative Kantorovich, line", n, seconds))
    return rows


def hashing() -> list[Row]:
    """Servers of local hashing, 100 values; the size is the number of reports."""
    rows = []
    values, eps, functions = 100, 1.0, 1000
    for reports in (10_000, 30_000, 100_000):
        rng = np.random.default_rng(reports)
        people = rng.integers(0, values, reports)
        exact_protocol, limited = local_hashing(values, eps), local_hashing(values, eps, hashes=functions)
        ours = exact_protocol.privatise(people, rng)
        seconds = timed(lambda p=exact_protocol, r=ours: p.estimate(r), repeat=3, clock="cpu")
        rows.append(
            Row(
                "exact local hashing, server",
                reports,
                seconds,
                "pure-ldp",
                _pure_exact(people, values, eps),
            )
        )
        rows.append(
            Row(
                "exact local hashing, server",
                reports,
                seconds,
                "multi-freq-ldpy",
                _multi_exact(people, values, eps),
            )
        )
        few = limited.privatise(people, rng)
        seconds = timed(lambda p=limited, r=few: p.estimate(r), repeat=5, clock="cpu")
        loop, tail = _pure_fast(people, values, eps, functions)
        note = f"pure-ldp's estimates alone, reports aggregated before: {tail:.2g} s"
        rows.append(Row("limited-hash, server", reports, seconds, "pure-ldp fast", loop + tail, note))
    return rows


def _pure_exact(people: np.ndarray[Any, Any], values: int, eps: float) -> float:
    client, server = (
        pure_hashing.LHClient(eps, values, use_olh=True),
        pure_hashing.LHServer(eps, values, use_olh=True),
    )
    reports = [client.privatise(int(value) + 1) for value in people]
    start = time.process_time()
    for report in reports:
        server.aggregate(report)
    server.estimate(1, suppress_warnings=True)
    return time.process_time() - start


def _pure_fast(people: np.ndarray[Any, Any], values: int, eps: float, functions: int) -> tuple[float, float]:
    """Seconds of aggregating the reports, and of the estimates after it; the table is made before."""
    client = pure_hashing.FastLHClient(eps, values, functions, use_olh=True)
    server = pure_hashing.FastLHServer(eps, values, functions, use_olh=True)
    reports = [client.privatise(int(value) + 1) for value in people]
    start = time.process_time()
    for report in reports:
        server.aggregate(report)
    middle = time.process_time()
    server.estimate(1, suppress_warnings=True)
    return middle - start, time.process_time() - middle


def _multi_exact(people: np.ndarray[Any, Any], values: int, eps: float) -> float:
    reports = [LH_Client(int(value), values, eps) for value in people]
    start = time.process_time()
    LH_Aggregator_MI(reports, values, eps)
    return time.process_time() - start


def counting() -> list[Row]:
    """Stored reports counted in a process of its own; the note says how much its memory grew."""
    import pyarrow as arrow
    from pyarrow import parquet

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for reports in (1_000_000, 10_000_000, 100_000_000):
            path = Path(folder) / "reports.parquet"
            rng = np.random.default_rng(reports)
            schema = arrow.schema([("report", arrow.int16())])
            with parquet.ParquetWriter(path, schema) as writer:
                for _ in range(0, reports, 1_000_000):
                    values = rng.integers(0, 100, 1_000_000).astype(np.int16)
                    writer.write_table(arrow.table({"report": values}, schema=schema))
            rows.append(_counted("stored reports counted, Parquet", path, reports))
        for reports in (1_000_000, 10_000_000, 30_000_000):
            path = Path(folder) / "reports.csv"
            with path.open("w", encoding="ascii") as stream:
                stream.write("report\n")
                for _ in range(0, reports, 1_000_000):
                    stream.write("\n".join(map(str, rng.integers(0, 100, 1_000_000))) + "\n")
            rows.append(_counted("stored reports counted, CSV", path, reports))
    return rows


# The kernel's own high-water mark: resource.getrusage starts from that of the parent process.
COUNT = """
import sys, time
from pathlib import Path
from sievert.tables import count_reports
import pyarrow.csv, pyarrow.parquet
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
before, start = peak(), time.process_time()
found = count_reports([sys.argv[1]], "report", labels=range(100))
print(found.total, time.process_time() - start, peak() - before)
"""


def _counted(name: str, path: Path, reports: int) -> Row:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(path)], capture_output=True, text=True, check=True
    )
    total, seconds, grown = done.stdout.split()
    assert int(total) == reports
    note = f"{path.stat().st_size >> 20} MB on disk, memory grew by {float(grown):.0f} MB"
    return Row(name, reports, float(seconds), note=note)


def places() -> list[Row]:
    """Noise on a map: one product by transforms, and the best guess, against the matrix of all pairs."""
    rows = []
    for side in (11, 22, 44):
        noise = _map(side)
        matrix = noise.finite().matrix
        density = np.random.default_rng(side).dirichlet(np.ones(side * side))
        noise.rmatvec(density)
        rows.append(
            compare(
                "places: one product with the noise",
                side * side,
                lambda noise=noise, density=density: noise.rmatvec(density),
                "dense matrix, already built",
                lambda matrix=matrix, density=density: density @ matrix,
            )
        )
        rows.append(
            compare(
                "places: best guess, all cells equally likely",
                side * side,
                lambda side=side: _map(side).capacity / side**2,
                "list of all pairs",
                lambda side=side: _map(side).finite().matrix.max(axis=0).sum() / side**2,
                repeat=3,
            )
        )
    return rows


def _map(side: int) -> PlanarNoise:
    region = Region(0.0, 0.0, (side - 0.5) / 1105.74, (side - 0.5) / 1113.2, 100)
    return PlanarNoise(region, Fraction(1, 200))


def _by_fractions(values: list[int], total: int) -> list[int]:
    """The nearest table with a total, one cell after the other in fractions."""
    shift, running = Fraction(0), 0
    for count, value in enumerate(sorted(values, reverse=True), start=1):
        running += value
        if value - (candidate := Fraction(running - total, count)) > 0:
            shift = candidate
    real = [max(Fraction(0), value - shift) for value in values]
    found = [int(value) for value in real]
    for place in sorted(range(len(real)), key=lambda i: found[i] - real[i])[: total - sum(found)]:
        found[place] += 1
    return found


def tables() -> list[Row]:
    """A released table adjusted to its public total."""
    rows = []
    for cells in (1_000, 10_000, 100_000):
        rng = np.random.default_rng(cells)
        values = (rng.poisson(3, cells) + np.rint(rng.laplace(0, 2, cells))).astype(np.int64)
        listed, total = values.tolist(), 3 * cells
        assert nearest_table(values, total).tolist() == _by_fractions(listed, total)
        rows.append(
            compare(
                "a table adjusted to its total",
                cells,
                lambda values=values, total=total: nearest_table(values, total),
                "fractions, cell by cell",
                lambda listed=listed, total=total: _by_fractions(listed, total),
                repeat=3,
            )
        )
    return rows


def black_boxes() -> list[Row]:
    """Audits of the mechanisms of DP-Sniper's suite; the size is runs a side."""
    rows = []
    for case in CASES:
        sizes = (20_000, 60_000, 200_000) if case.name == "SVT 5" else (200_000,)
        for runs in sizes:
            first, second = case.outputs(runs, 0)
            found = sv.estimation.audit_outputs(first, second, rng=0)
            seconds = timed(
                lambda a=first, b=second: sv.estimation.audit_outputs(a, b, rng=0), repeat=1, clock="cpu"
            )
            truth = "no ε" if math.isinf(case.true_eps) else f"ε = {case.true_eps:.3g}"
            note = f"found ε ≥ {found.eps_lower:.3g}, it satisfies {truth}"
            rows.append(Row(f"audit of runs, {case.name}", runs, seconds, note=note))
    return rows


def guesses() -> list[Row]:
    """The best guess from runs: F-BLEAU's example (0.544 is the truth, its k-NN finds 0.527)."""
    path = Path(__file__).parents[1] / "tests" / "estimation" / "data" / "geometric-4.csv.xz"
    with lzma.open(path) as stream:
        table = np.random.default_rng(0).permutation(np.loadtxt(stream, delimiter=","))
    rows = []
    for runs in (10_000, 30_000, 100_000):
        secrets, outputs = table[:runs, 0].astype(int), table[:runs, 1:]
        found = sv.bayes_risk(secrets, outputs, rng=0)
        seconds = timed(lambda s=secrets, o=outputs: sv.bayes_risk(s, o, rng=0), repeat=1, clock="cpu")
        note = f"guess {found.guess:.3f}, at least {found.guess_interval[0]:.3f}"
        rows.append(Row("best guess from runs, F-BLEAU's example", runs, seconds, note=note))
    return rows
