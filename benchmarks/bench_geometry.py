"""Vertices, kernels and universality: against plain backtracking, against lrs, and how they grow.

lrs is the exact vertex enumerator of the field; its program comes in the wheel of `passagemath-lrslib` and is
run on the same polytope, {a ≥ 0 : V·a = 1}. Its seconds include starting the process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.geometry._vertices import LARGEST_GENERAL, Component, _general


def run() -> list[Row]:
    """Vertices, kernels, certificates and universality at growing sizes."""
    return [*vertices(), *general(), *kernels(), *certificates(), *universality()]


def vertices() -> list[Row]:
    """Cubes, grids and lines against backtracking point after point in plain Python."""
    cases: list[tuple[str, int, sv.Metric]] = [
        *(("vertices of cubes", 2**k, sv.metrics.hamming(k, 2)) for k in (3, 4, 5)),
        *(("vertices of square grids", s * s, sv.metrics.grid(s, s)) for s in (3, 4, 5)),
        *(("vertices of lines", n, sv.metrics.line(n)) for n in (8, 12, 16)),
    ]
    rows = []
    for name, size, metric in cases:
        part = Component(np.rint(metric.matrix).astype(np.int64))
        count = sum(len(block) for block in part.blocks())
        start = time.perf_counter()
        assert _backtracking(part) == count
        theirs = time.perf_counter() - start

        def ours(part: Component = part) -> int:
            return sum(len(block) for block in part.blocks())

        rows.append(Row(name, size, timed(ours, 3), "backtracking", theirs, f"{count:,} vertices"))
    return [*rows, *_odd_graphs()]


def _odd_graphs() -> list[Row]:
    """A king's moves on a board, whose graph has odd cycles, against the extension of all subsets."""
    rows = []
    for a, b in ((3, 3), (3, 4), (4, 4)):
        squares = [(i, j) for i in range(a) for j in range(b)]
        table = [[max(abs(p[0] - q[0]), abs(p[1] - q[1])) for q in squares] for p in squares]
        part = Component(np.array(table, dtype=np.int64))

        def ours(part: Component = part) -> int:
            return sum(len(block) for block in part.blocks())

        note = f"{ours():,} vertices"
        if len(squares) > LARGEST_GENERAL:
            rows.append(Row("vertices of king's moves", len(squares), timed(ours, 3), note=note))
            continue
        theirs = timed(lambda part=part: len(_general(part.distances)), 1)
        rows.append(
            Row("vertices of king's moves", len(squares), timed(ours, 3), "all subsets", theirs, note)
        )
    return rows


def _backtracking(part: Component) -> int:
    """Height functions one by one: neighbours differ by exactly 1."""
    near, order = part._neighbours, part._breadth_first().tolist()
    height: dict[int, int] = {order[0]: 0}

    def extend(k: int) -> int:
        if k == len(order):
            return 1
        v = order[k]
        known = [height[w] for w in near[v] if w in height]
        low, high = max(known) - 1, min(known) + 1
        total = 0
        for value in {low, high} if low <= high else ():
            if all(abs(value - other) == 1 for other in known):
                height[v] = value
                total += extend(k + 1)
                del height[v]
        return total

    return extend(1)


def general() -> list[Row]:
    """Generic metrics, whose counts are the largest possible."""
    rows = []
    for n in (6, 7, 8, 9, 10):
        table = np.triu(np.random.default_rng(n).integers(10**6, 2 * 10**6, (n, n)), 1)
        part = Component(table + table.T)

        def ours(part: Component = part) -> int:
            return sum(len(block) for block in part.blocks())

        rows.append(Row("vertices of a generic metric", n, timed(ours, 3), note=f"{ours():,} vertices"))
    return rows


def kernels() -> list[Row]:
    """Kernels against lrs, and against all sets of n vertices."""
    cases: list[tuple[str, sv.Metric, str]] = [
        *(("kernels of the line", sv.metrics.line(n), "1/2") for n in (4, 5, 6)),
        *(("kernels of the discrete metric", sv.metrics.discrete(n), "1/2") for n in (3, 4, 5)),
    ]
    rows = []
    program = _lrs()
    for name, metric, alpha in cases:
        count = len(sv.geometry.kernels(metric, alpha))
        ours = timed(lambda metric=metric, alpha=alpha: sv.geometry.kernels(metric, alpha), 3)
        if program is not None:
            theirs, found = _timed_lrs(program, metric, alpha)
            assert found == count
            rows.append(Row(name, metric.size, ours, "lrs", theirs, f"{count:,} kernels"))
        if metric.size < 6:
            naive = timed(lambda metric=metric, alpha=alpha: _subsets(metric, alpha), 1)
            rows.append(Row(name, metric.size, ours, "all sets of n vertices", naive, f"{count:,} kernels"))
    return rows


def _lrs() -> Path | None:
    """The program of passagemath-lrslib, if that is installed."""
    found = sorted(Path(sys.prefix).glob("lib/python*/site-packages/sage_wheels/bin/lrs"))
    return found[0] if found else None


def _timed_lrs(program: Path, metric: sv.Metric, alpha: str) -> tuple[float, int]:
    columns = sv.geometry.polytope(metric, alpha=alpha).vertices().columns().T
    n, m = columns.shape
    scale = lcm(*(value.denominator for value in columns.ravel()))
    rows = [[-scale, *(int(value * scale) for value in row)] for row in columns]
    rows += [[0, *(int(k == s) for k in range(m))] for s in range(m)]
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    equations = " ".join(str(i + 1) for i in range(n))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.ine"
        head = f"kernels\nH-representation\nlinearity {n} {equations}\nbegin\n{len(rows)} {m + 1} rational\n"
        file.write_text(f"{head}{text}\nend\n", encoding="utf-8")
        best, output = float("inf"), ""
        for _ in range(3):
            start = time.perf_counter()
            output = subprocess.run([program, file], capture_output=True, text=True, check=True).stdout
            best = min(best, time.perf_counter() - start)
    total = next(line for line in output.splitlines() if "vertices=" in line)
    return best, int(total.partition("vertices=")[2].split()[0])


def _subsets(metric: sv.Metric, alpha: str) -> int:
    from flint import fmpq, fmpq_mat

    rows = sv.geometry.polytope(metric, alpha=alpha).vertices().matrix
    n = metric.size
    points = [[fmpq(v.numerator, v.denominator) for v in row] for row in rows]
    centre = fmpq_mat([[fmpq(1, n)]] * n)
    found = set()
    for chosen in combinations(range(len(points)), n):
        matrix = fmpq_mat([[points[s][x] for s in chosen] for x in range(n)])
        if matrix.det() != 0:
            weights = [row[0] for row in matrix.solve(centre).tolist()]
            if all(w >= 0 for w in weights):
                found.add(tuple(s for s, w in zip(chosen, weights, strict=True) if w > 0))
    return len(found)


def certificates() -> list[Row]:
    """Optimality of the geometric mechanism on a line, for three actions: O(n·actions)."""
    rows = []
    for n in (250, 500, 1000, 2000):
        places = np.array([[n // 4], [n // 2], [3 * n // 4]])
        loss = np.abs(np.arange(n) - places).astype(np.float64)
        geometric, line = sv.mechanisms.truncated_geometric(n, 0.1), sv.metrics.line(n)

        def ours(geometric: sv.Channel = geometric, line: sv.Metric = line, loss: Any = loss) -> object:
            return sv.is_optimal(geometric, line, 0.1, loss=loss)

        def theirs(n: int = n, loss: Any = loss) -> object:
            return _by_matrices(n, 0.1, loss)

        rows.append(compare("optimality on a line, 3 actions", n, ours, "dense matrices", theirs, 3))
    return rows


def _by_matrices(n: int, eps: float, loss: Any) -> bool:
    """The same certificate with e^-distance as a matrix: its prices by elimination, and the zig-zags."""
    kernel = np.exp(-eps * np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    costs = loss / n
    rest = costs - np.linalg.solve(kernel, (costs @ kernel).min(axis=0))
    value, alpha = rest[:, -1], float(np.exp(-eps))
    for x in range(n - 2, -1, -1):
        value = rest[:, x] + np.where(value < 0, value / alpha, value * alpha)
    return bool((value >= 0).all())


def universality() -> list[Row]:
    """The largest gap over all priors, by cells, of randomised response and the geometric mechanism."""
    rows = []
    for n in (3, 4, 5):
        geometric = sv.mechanisms.truncated_geometric(n, alpha="1/2")
        cases: list[tuple[str, Callable[[], object]]] = [
            (
                "universal gap of randomised response, Bayes risk",
                lambda n=n: sv.design.universal_gap(
                    sv.mechanisms.randomised_response(n, alpha="1/2"), sv.metrics.discrete(n), alpha="1/2"
                ),
            ),
            (
                "universal gap of the geometric mechanism, two actions",
                lambda n=n, geometric=geometric: sv.design.universal_gap(
                    geometric,
                    sv.metrics.line(n),
                    alpha="1/2",
                    loss=[[x % 2 for x in range(n)], [1 - x % 2 for x in range(n)]],
                ),
            ),
        ]
        for name, question in cases:
            start = time.perf_counter()
            question()
            rows.append(Row(name, n, time.perf_counter() - start))
    return rows
