"""Exact samplers against OpenDP (exact) and the float samplers of LDP libraries; CPU time, 10^6 draws.

Peers draw fewer where they are slow, and their time is scaled; the note says so. multi-freq-ldpy and
pure-ldp are measured where they can be imported (`make bench` installs them).
"""

from __future__ import annotations

import importlib
import math
import os
import random
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import sievert as sv
from benchmarks.harness import Row, timed

DRAWS = 1_000_000


def run() -> list[Row]:
    """Fast and fixed-work paths on the operating system's bits."""
    rows = [*_laplace(), *_bounded(), *_response(), *_channels(), *_others(), *_one_draw()]
    words = np.zeros(8 * DRAWS, dtype=np.uint8)
    rows.append(Row("8 MB from the operating system", DRAWS, _cpu(lambda: os.urandom(len(words)))))
    return rows


def _cpu(function: Callable[[], object]) -> float:
    return timed(function, repeat=3, clock="cpu")


def _once(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def _both(
    name: str,
    make: Callable[[Any], Callable[[], object]],
    peer: str | None,
    seconds: float | None,
    note: str = "",
) -> list[Row]:
    return [
        Row(f"{name}, {timing}", DRAWS, _cpu(make(timing)), peer, seconds, note)
        for timing in ("fast", "fixed")
    ]


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


def _laplace() -> list[Row]:
    dp, rows = _opendp(), []
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    for eps in (Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(5)):
        measure = dp.m.make_laplace(*space, scale=float(1 / eps))
        count = DRAWS // 5
        zeros = [0] * count
        seconds = _once(lambda measure=measure, zeros=zeros: measure(zeros)) * (DRAWS / count)

        def make(timing: Any, eps: Fraction = eps) -> Callable[[], object]:
            sampler = sv.sampling.discrete_laplace(eps, timing=timing)
            return lambda: sampler.noise(DRAWS)

        rows += _both(f"discrete Laplace ε = {eps}", make, "OpenDP", seconds, "peer from 200,000 draws")
    return rows


def _bounded() -> list[Row]:
    dp = _opendp()
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    measure = dp.m.make_geometric(*space, scale=1.0, bounds=(0, 100))
    seconds = _once(lambda: [measure(50) for _ in range(4000)]) * (DRAWS / 4000)
    inputs = np.full(DRAWS, 50)

    def make(timing: Any) -> Callable[[], object]:
        sampler = sv.sampling.truncated_geometric(101, 1, timing=timing)
        return lambda: sampler.draw(inputs)

    return _both("truncated geometric 0…100, ε = 1", make, "OpenDP bounded", seconds, "peer from 4,000 draws")


def _response() -> list[Row]:
    rows = []
    for n in (2, 100, 10_000):
        inputs = np.random.default_rng(n).integers(0, n, DRAWS)

        def make(timing: Any, n: int = n, inputs: Any = inputs) -> Callable[[], object]:
            sampler = sv.sampling.randomised_response(n, 1, timing=timing)
            return lambda: sampler.draw(inputs)

        peers = _response_peers(n, inputs)
        peer, seconds = min(peers, key=lambda found: found[1]) if peers else (None, None)
        note = "; ".join(f"{name} {second:.3g} s" for name, second in peers)
        rows += _both(f"randomised response of {n:,} values, ε = 1", make, peer, seconds, note)
    return rows


def _response_peers(n: int, inputs: Any) -> list[tuple[str, float]]:
    """Seconds for all draws of each LDP library that is installed, from 100,000 records."""
    found = []
    records = inputs[:100_000].tolist()
    factor = DRAWS / len(records)
    try:
        client = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR").GRR_Client
        client(records[0], n, 1.0)  # compiles
        found.append(("multi-freq-ldpy", _once(lambda: [client(x, n, 1.0) for x in records]) * factor))
    except ImportError:
        pass
    try:
        module = importlib.import_module("pure_ldp.frequency_oracles.direct_encoding")
        oracle = module.DEClient(1.0, n)
        found.append(("pure-ldp", _once(lambda: [oracle.privatise(x + 1) for x in records]) * factor))
    except ImportError:
        pass
    return found


def _channels() -> list[Row]:
    rng = np.random.default_rng(1)
    rows = []
    for size in (10, 100, 400):
        weights = rng.integers(1, 1000, (size, size))
        matrix = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
        channel, inputs = sv.Channel(matrix), rng.integers(0, size, DRAWS)
        start = time.process_time()
        sv.sampling.for_channel(channel)
        setup = time.process_time() - start
        simulated = _cpu(lambda channel=channel, inputs=inputs: channel.sample(inputs, 1))

        def make(timing: Any, channel: Any = channel, inputs: Any = inputs) -> Callable[[], object]:
            sampler = sv.sampling.for_channel(channel, timing=timing)
            return lambda: sampler.draw(inputs)

        note = f"set-up {setup * 1e3:.0f} ms"
        rows += _both(
            f"rational channel {size} × {size}", make, "NumPy floats, a row at a time", simulated, note
        )
    return rows


def _staircases() -> list[Row]:
    """Against a loop in floats: sign, stair by a logarithm, place on it (Geng and Viswanath, algorithm 1)."""
    rows = []
    for width in (3, 1000, 150_000):
        law = sv.sampling.staircase(1, width).law
        chance = float(2 * (law.top + width / math.expm1(1)) - 1)

        def loop(width: int = width, top: int = law.top, whole: float = chance) -> list[int]:
            drawn, uniform = [], random.random
            for _ in range(50_000):
                if uniform() * whole < 2 * top - 1:
                    drawn.append(int(uniform() * (2 * top - 1)) - top + 1)
                    continue
                far = top + int(-math.log(1 - uniform())) * width + int(uniform() * width)
                drawn.append(far if uniform() < 0.5 else -far)
            return drawn

        def staircase(timing: Any, width: int = width) -> Callable[[], object]:
            sampler = sv.sampling.staircase(1, width, timing=timing)
            return lambda: sampler.noise(DRAWS)

        seconds = _once(loop) * (DRAWS / 50_000)
        name, note = f"staircase Δ = {width}, ε = 1", "peer from 50,000 draws"
        rows += _both(name, staircase, "float loop", seconds, note)
    return rows


def _others() -> list[Row]:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    rows = []
    for sigma in (10, 2000):
        measure = dp.m.make_gaussian(*space, scale=float(sigma))
        zeros = [0] * 50_000
        seconds = _once(lambda measure=measure, zeros=zeros: measure(zeros)) * (DRAWS / 50_000)

        def gaussian(timing: Any, sigma: int = sigma) -> Callable[[], object]:
            sampler = sv.sampling.discrete_gaussian(sigma, timing=timing)
            return lambda: sampler.noise(DRAWS)

        rows += _both(f"discrete Gaussian σ = {sigma}", gaussian, "OpenDP", seconds, "peer from 50,000 draws")
    rows += _staircases()
    for eps in (Fraction(1, 100), Fraction(1)):

        def planar(timing: Any, eps: Fraction = eps) -> Callable[[], object]:
            sampler = sv.sampling.planar_geometric(eps, timing=timing)
            return lambda: sampler.noise(DRAWS)

        rows += _both(f"planar geometric ε = {eps}", planar, None, None)
    inputs = np.random.default_rng(2).integers(0, 1001, DRAWS)

    def pixels(timing: Any) -> Callable[[], object]:
        sampler = sv.sampling.pixelated_laplace(64, 4, denominator=1000, timing=timing)
        return lambda: sampler.draw(inputs)

    return rows + _both("truncated Laplace, 64 pixels, ε = 4", pixels, None, None)


def _one_draw() -> list[Row]:
    """A single release: the sampler made anew each time, and kept."""
    dp = _opendp()
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    measure = dp.m.make_laplace(*space, scale=1.0)
    theirs = _cpu(lambda: measure(0))
    kept = sv.sampling.discrete_laplace(1)
    return [
        Row("one discrete Laplace draw, sampler kept", 1, _cpu(lambda: kept.noise(1)), "OpenDP", theirs),
        Row(
            "one discrete Laplace draw, new sampler",
            1,
            _cpu(lambda: sv.sampling.discrete_laplace(1).noise(1)),
            "OpenDP",
            theirs,
        ),
    ]
