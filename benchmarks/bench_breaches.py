"""Chernoff information of all pairs against scipy.optimize, and exact curves against listing every type."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

import sievert as sv
from benchmarks.harness import Row

SAMPLE = 60


def run() -> list[Row]:
    """The peer's time for all pairs, and for whole curves, is extrapolated from a sample."""
    rows = [_all_pairs(n, "even rows") for n in (250, 500, 1000)]
    rows.append(_all_pairs(500, "sparse rows"))
    rows += [_curve(3, 3, n) for n in (250, 500, 1000)]
    rows += [_curve(5, 5, n) for n in (15, 30, 60)]
    rows += [_by(n) for n in (100, 200, 400)]
    return rows


def _random(rows: int, columns: int) -> sv.Channel:
    matrix = np.random.default_rng(rows).random((rows, columns))
    return sv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _sparse(size: int) -> sv.Channel:
    """Rows with most of their mass on few outputs, where the minimum is far from λ = ½."""
    return sv.Channel(
        np.random.default_rng(size).dirichlet(np.full(size, 0.2), size) + 1e-200, normalise=True
    )


def _once(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of one call, and what it returned: these run for seconds, so once is enough."""
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def _all_pairs(size: int, kind: str) -> Row:
    channel = _random(size, size) if kind == "even rows" else _sparse(size)
    logs = channel.log_matrix
    pairs = size * (size - 1) // 2
    picked = np.random.default_rng(1).integers(0, size, (SAMPLE, 2))
    ours, found = _once(lambda: sv.observations.chernoff_pairs(channel).bits)
    theirs, values = _once(lambda: [_by_scipy(logs[i], logs[j]) for i, j in picked])
    assert np.allclose(found[picked[:, 0], picked[:, 1]], values, rtol=1e-7, atol=1e-12)
    tracemalloc.start()
    sv.observations.chernoff_pairs(channel)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return Row(
        f"Chernoff information of all pairs, {kind}",
        size,
        ours,
        "scipy.optimize, pair by pair",
        theirs / SAMPLE * pairs,
        f"{pairs / ours:,.0f} pairs/s, peak {peak:,.0f} MB; peer from {SAMPLE} pairs",
    )


def _by_scipy(p: Any, q: Any) -> float:
    found = minimize_scalar(
        lambda x: logsumexp(x * p + (1 - x) * q), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    return float(-found.fun / np.log(2))


def _curve(inputs: int, outputs: int, most: int) -> Row:
    """Every n up to the last; the peer lists the types of each n anew, sampled at some n."""
    channel = _random(inputs, outputs)
    picked = [most // 4, most // 2]
    ours, curve = _once(lambda: sv.observations.success_curve(channel, None, range(1, most + 1)))
    assert curve.methods == ("exact by types",)
    rates = []
    for n in picked:
        seconds, value = _once(lambda n=n: _by_listing(channel, n))
        assert np.isclose(curve.at(n).value, value, rtol=1e-10)
        # Its time goes with the number of types, n^(outputs-1).
        rates.append(seconds / n ** (outputs - 1))
    theirs = float(np.mean(rates) * (np.arange(1, most + 1.0) ** (outputs - 1)).sum())
    return Row(
        f"exact success for n = 1…N, {outputs} outputs",
        most,
        ours,
        "Channel.repeated at each n",
        theirs,
        f"peer from n = {picked[0]} and {picked[1]}",
    )


def _by_listing(channel: sv.Channel, n: int) -> float:
    logs = channel.repeated(n).log_matrix
    return float(np.exp(logs.max(axis=0)).sum() / channel.shape[0])


def _by(most: int) -> Row:
    channel = _random(3, 3)
    seconds, _ = _once(lambda: sv.observations.breach_curve(channel, None, [0], 1.0, most))
    return Row("breach at and by n = 1…N, 3 outputs", most, seconds)
