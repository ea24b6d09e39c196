"""Correlated secrets against the naive forms: dense programs, materialised gains, whole matrices.

The peer of the frontier is the same program as one would write it down: a dense matrix with a row for every
pair of neighbours and every output, solved by scipy's HiGHS; the certificate, which it does not have, is
timed by itself. That of Dalenius vulnerability lists the gain over the raw data.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog
from scipy.stats import binom

import sievert as sv
from benchmarks.harness import Row, timed
from sievert.inference import (
    Correlation,
    frontier,
    newcomer_table,
    survey,
    survey_channel,
    survey_correlation,
    vulnerability,
)
from sievert.inference._frontier import _level
from sievert.inference._frontier_problem import FrontierProblem

COMPAS = [
    [1838, 46, 269, 61, 127, 20],
    [15, 0, 1, 0, 0, 0],
    [27, 0, 6, 3, 3, 0],
    [1, 0, 0, 0, 0, 0],
    [7135, 338, 1159, 227, 390, 39],
    [5, 0, 0, 0, 0, 0],
]
LEVELS = [1, 3, 5, 10, 100, 200, 500, 1000, 1e5]


def run() -> list[Row]:
    """Everything, at growing sizes."""
    return [*frontiers(), *dalenius(), *surveys(), *table_5_1()]


def frontiers() -> list[Row]:
    """The best ln 3-private mechanism on a tally against the dense program, and with its certificate."""
    rows, proved = [], []
    for n, limit in ((10, 0.55), (20, 0.55), (30, 0.55), (100, 0.52), (300, 0.51), (1000, 0.505)):
        correlation, metric = survey_correlation(n, 0.5), sv.metrics.line(n + 1)
        repeat = 3 if n <= 30 else 1
        value = program(correlation, metric, limit)
        ours = timed(lambda c=correlation, m=metric, t=limit: program(c, m, t), repeat)
        peer = None
        if n <= 30:
            naive = dense(correlation, limit)
            assert abs(naive - value) < 1e-6, (n, naive, value)
            peer = timed(lambda c=correlation, t=limit: dense(c, t), repeat)
        rows.append(Row("best mechanism of a tally", n, ours, "dense program", peer))
        point = frontier(correlation, limit, eps=math.log(3), metric=metric)[0]
        ours = timed(
            lambda c=correlation, m=metric, t=limit: frontier(c, t, eps=math.log(3), metric=m), repeat
        )
        note = f"gap {point.upper - point.accuracy:.1g}"
        proved.append(Row("the same with its certificate", n, ours, "dense program", peer, note))
    return rows + proved


def program(correlation: Correlation, metric: sv.Metric, limit: float) -> float:
    """The program alone: built and solved, nothing proved."""
    level = _level(math.log(3), None)
    question = FrontierProblem(correlation, level, metric, False, (None, None), (None, None))
    return float(question.solver.solve([limit]).value)


def dense(correlation: Correlation, limit: float) -> float:
    """The program of the spec: 2(n + 1) outputs, a row for every pair of tallies and output."""
    joint = correlation.floats
    prior = joint.sum(axis=0)
    n = len(prior)
    m = 2 * n
    cells = n * m
    cost = np.zeros(cells + m)
    for u in range(n):
        cost[u * m + u] = -prior[u]
        cost[u * m + n + u] = -prior[u]
    rows = []
    for s in range(2):
        for y in range(m):
            row = np.zeros(cells + m)
            row[y:cells:m] = joint[s]
            row[cells + y] = -1
            rows.append(row)
    total = np.zeros(cells + m)
    total[cells:] = 1
    rows.append(total)
    sides = [0.0] * (len(rows) - 1) + [limit]
    for u in range(n):
        for v in (u - 1, u + 1):
            if 0 <= v < n:
                for y in range(m):
                    row = np.zeros(cells + m)
                    row[u * m + y], row[v * m + y] = 1, -3
                    rows.append(row)
                    sides.append(0.0)
    sums = np.zeros((n, cells + m))
    for u in range(n):
        sums[u, u * m : (u + 1) * m] = 1
    bounds = [(0, None)] * cells + [(None, None)] * m
    found = linprog(cost, np.array(rows), sides, sums, np.ones(n), bounds)
    return float(-found.fun)


def dalenius() -> list[Row]:
    """Raw records grouped by secret, against a gain over every record."""
    rows, rng = [], np.random.default_rng(1)
    for size in (10_000, 100_000, 1_000_000):
        secret, use = rng.integers(0, 20, size), rng.integers(0, 5, size)
        matrix = rng.dirichlet(np.ones(100), size)
        channel = sv.Channel(matrix, normalise=True)
        correlation = Correlation.from_labels(np.full(size, 1 / size), secret, use)
        ours = timed(lambda c=channel, k=correlation: vulnerability(c, k), 2)
        peer = None
        if size <= 100_000:
            peer = timed(lambda s=secret, m=matrix: lifted(s, m), 2)
        rows.append(Row("Dalenius vulnerability", size, ours, "gain over records", peer, "100 outputs"))
    return rows


def lifted(secret: np.ndarray, matrix: np.ndarray) -> float:
    """V of the lifted gain [secret, record], written out."""
    gain = (np.arange(20)[:, None] == secret[None, :]).astype(np.float64)
    return float((gain @ (matrix / len(secret))).max(axis=0).sum())


def surveys() -> list[Row]:
    """Randomised response on the tally, against its whole matrix."""
    rows = []
    for n in (100, 300, 1000, 10_000):
        ours = timed(lambda n=n: survey(n, math.log(3), kind="response"), 1)
        peer = timed(lambda n=n: by_matrix(n), 1) if n <= 300 else None
        rows.append(Row("survey by randomised response", n, ours, "whole matrix", peer))
    return rows


def by_matrix(n: int) -> float:
    """V_U from the channel on tallies and the prior."""
    table = survey_channel(n, 1 / 3, "response").matrix
    prior = binom.pmf(np.arange(n + 1), n, 0.5)
    return float((prior[:, None] * table).max(axis=0).sum())


def table_5_1() -> list[Row]:
    """All 72 cells with their thresholds."""
    own = np.diag(np.sum(COMPAS, axis=1)).tolist()
    eps = [math.log(level) for level in LEVELS]
    ours = timed(lambda: [newcomer_table(table, 0, eps) for table in (own, COMPAS)], 1)
    return [Row("Table 5.1", 72, ours, note="COMPAS, 11,710 rows")]
