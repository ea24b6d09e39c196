"""Losses of Laplace noise: certified, against SciPy's adaptive quadrature over output and input.

`scipy.integrate.quad` is nested as one would write it: the outer one over the output, the inner ones over the
input, with a search for the best guess; for squares also with the three moments that replace the search. It
is asked for ten digits of the double integral, as ours proves ten and more. On points the peer integrates
over the output alone.
"""

from __future__ import annotations

import functools
import math
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.continuous import Density, laplace_loss, witness


def run() -> list[Row]:
    """Densities, points, growth up to a million points, and witnesses against a dense solve."""
    warnings.simplefilter("ignore")
    return [*_densities(), *_points(), *_growth(), *_witnesses()]


def _densities() -> list[Row]:
    rows = []
    searched = functools.partial(_with_search, power=1), functools.partial(_with_search, power=2)
    prior = Density.beta(2.5, 5)
    for name, loss, naive in (
        ("squared, by moments", "squared", _by_quad),
        ("squared", "squared", searched[1]),
        ("absolute", "absolute", searched[0]),
    ):
        for eps in (1.0, 4.0, 16.0):
            ours = laplace_loss(prior, loss, eps)
            assert abs(ours.value - naive(2.5, 5.0, eps)) < 1e-6 * ours.value
            rows += [
                compare(
                    f"{name} loss, Beta density{made}, ε = {eps:g}",
                    ours.cells,
                    lambda loss=loss, eps=eps, density=density: laplace_loss(density(), loss, eps),
                    "scipy.integrate.quad",
                    lambda naive=naive, eps=eps: naive(2.5, 5.0, eps),
                    repeat=5,
                    clock="cpu",
                    note="ours certified; the peer estimates",
                )
                for made, density in (("", lambda: prior), (" made anew", lambda: Density.beta(2.5, 5)))
            ]
    return [*rows, _as_often_written(prior)]


def _as_often_written(prior: Density) -> Row:
    """The peer's density from scipy.stats, as it is most often written."""
    density = stats.beta(2.5, 5).pdf

    def moment(k: int, y: float) -> float:
        parts = ((0.0, y), (y, 1.0)) if 0 < y < 1 else ((0.0, 1.0),)
        return sum(
            quad(lambda x: x**k * density(x) * math.exp(-4.0 * abs(x - y)), *part, epsrel=1e-11)[0]
            for part in parts
        )

    def variance(y: float) -> float:
        zero, one, two = (moment(k, y) for k in range(3))
        return two - one * one / zero

    return compare(
        "squared, by moments loss, Beta density of scipy.stats, ε = 4",
        laplace_loss(prior, "squared", 4.0).cells,
        lambda: laplace_loss(prior, "squared", 4.0),
        "scipy.integrate.quad",
        lambda: 2.0 * quad(variance, 0, 1, epsrel=1e-10)[0] + (variance(0.0) + variance(1.0)) / 2,
        repeat=1,
        clock="cpu",
    )


def _with_search(a: float, b: float, eps: float, power: int) -> float:
    """The double integral, with the best guess of each output searched for."""
    scale = math.gamma(a + b) / (math.gamma(a) * math.gamma(b))

    def cost(w: float, y: float) -> float:
        def integrand(x: float) -> float:
            return (
                abs(x - w) ** power * scale * x ** (a - 1) * (1 - x) ** (b - 1) * math.exp(-eps * abs(x - y))
            )

        places = sorted({0.0, min(max(w, 0.0), 1.0), y, 1.0})
        return sum(quad(integrand, *part, epsabs=1e-13, epsrel=1e-11)[0] for part in pairwise(places))

    def least(y: float) -> float:
        found = minimize_scalar(cost, bounds=(0, 1), args=(y,), method="bounded", options={"xatol": 1e-7})
        return float(found.fun)

    inner = quad(least, 0, 1, epsabs=1e-12, epsrel=1e-10, limit=200)[0]
    return eps / 2 * inner + (least(0.0) + least(1.0)) / 2


def _by_quad(a: float, b: float, eps: float) -> float:
    scale = math.gamma(a + b) / (math.gamma(a) * math.gamma(b))

    def moment(k: int, y: float) -> float:
        def integrand(x: float) -> float:
            return scale * x ** (a - 1 + k) * (1 - x) ** (b - 1) * math.exp(-eps * abs(x - y))

        parts = ((0.0, y), (y, 1.0)) if 0 < y < 1 else ((0.0, 1.0),)
        return sum(quad(integrand, *part, epsabs=1e-13, epsrel=1e-11)[0] for part in parts)

    def variance(y: float) -> float:
        zero, one, two = (moment(k, y) for k in range(3))
        return two - one * one / zero

    inner = quad(variance, 0, 1, epsabs=1e-12, epsrel=1e-10, limit=200)[0]
    return eps / 2 * inner + (variance(0.0) + variance(1.0)) / 2


def _points() -> list[Row]:
    rows = []
    for cells in (64, 256, 768):
        places, prior = np.arange(cells + 1) / cells, np.full(cells + 1, 1 / (cells + 1))
        table = np.abs(np.subtract.outer(places, places)) * prior

        def by_quad(table: Any = table, places: Any = places) -> float:
            def least(y: float) -> float:
                return float((table @ np.exp(-8.0 * np.abs(places - y))).min())

            inner = sum(quad(least, a, b)[0] for a, b in pairwise(places.tolist()))
            return 4.0 * inner + (least(0.0) + least(1.0)) / 2

        rows.append(
            compare(
                "absolute loss on points, ε = 8",
                cells,
                lambda cells=cells: laplace_loss(None, "absolute", 8.0, cells),
                "scipy.integrate.quad",
                by_quad,
                repeat=1,
                clock="cpu",
            )
        )
    return rows


def _growth() -> list[Row]:
    return [
        Row(f"{loss} loss, exact", cells, timed(lambda loss=loss, cells=cells: _exact(loss, cells), 1, "cpu"))
        for loss in ("absolute", "squared", "bayes-risk")
        for cells in (10_000, 100_000, 1_000_000)
    ]


def _exact(loss: str, cells: int) -> object:
    return laplace_loss(None, loss, 8.0, cells)


def _witnesses() -> list[Row]:
    rows = []
    for cells in (256, 512, 1024):

        def solved(cells: int = cells) -> object:
            geometric = sv.continuous.grid_geometric(cells, 8.0).matrix
            return np.linalg.solve(
                geometric, sv.continuous.truncated_laplace(8.0).pixelated(cells, cells).matrix
            )

        rows.append(
            compare(
                "witness from geometric to Laplace",
                cells,
                lambda cells=cells: witness(cells, cells, 8.0),
                "numpy.linalg.solve",
                solved,
                repeat=1,
                clock="cpu",
            )
        )
    return rows
