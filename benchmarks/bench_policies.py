"""What several tables cost together, against a loop over pairs; a quantile on a long grid, against OpenDP."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from benchmarks.harness import Row, compare, timed
from sievert.policies import Policy, Statistic, joint_sensitivity
from sievert.sampling._scores import ScoreSampler

TABLES, CELLS = 5, 50


def run() -> list[Row]:
    """Five queries over any two of so many profiles; one draw from so many grid points."""
    dp.enable_features("contrib")
    what, loops = "joint cost of 5 queries", "Python loop over pairs"
    small = [(size, *_joint(size)) for size in (100, 200)]
    rows = [compare(what, size, ours, loops, loop, clock="cpu") for size, ours, loop in small]
    rows += [
        Row(what, size, timed(_joint(size)[0], repeat=2, clock="cpu")) for size in (2_500, 5_000, 10_000)
    ]
    rows += [_quantile(size) for size in (1_000, 10_000, 100_000)]
    return rows


def _joint(size: int) -> tuple[Callable[[], None], Callable[[], None]]:
    rng = np.random.default_rng(size)
    policy = Policy.differential(size, 10)
    names = tuple((i,) for i in range(CELLS))
    tables = [
        Statistic((), names, rng.integers(0, CELLS, size), rng.integers(0, 100, size), Fraction(1), "table")
        for _ in range(TABLES)
    ]
    costs = [lambda steps, unit=Fraction(1, 7 * (j + 1)): unit * steps for j in range(TABLES)]

    def ours() -> None:
        assert joint_sensitivity(policy, tables, costs).exact

    def loop() -> None:
        best = Fraction(0)
        for u in range(size):
            for v in range(u):
                total = Fraction(0)
                for table, cost in zip(tables, costs, strict=True):
                    a, b = int(table.amount[u]), int(table.amount[v])
                    together = table.cell_of[u] == table.cell_of[v]
                    total += cost(abs(a - b)) if together else cost(a) + cost(b)
                best = max(best, total)

    return ours, loop


def _quantile(size: int) -> Row:
    scores = np.abs(np.arange(size) - size // 3)
    ours = ScoreSampler(Fraction(1, 200))
    noisy_max = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32"), dp.max_divergence(), 200.0
    )
    given = (-scores).tolist()

    def theirs() -> None:
        noisy_max(given)

    return compare(
        "quantile on a grid", size, lambda: ours.draw(scores), "OpenDP noisy max", theirs, clock="cpu"
    )
