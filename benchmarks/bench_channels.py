"""Smallest ε against qif (C++) and naive NumPy; the truncated geometric where floats underflow."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import qif

import sievert as sv
from benchmarks.harness import Row, compare, timed


def run() -> list[Row]:
    """A random channel against the Euclidean metric of random points (every pair counts) and a line."""
    rows: list[Row] = []
    for n in (250, 500, 1000):
        rng = np.random.default_rng(n)
        matrix = rng.random((n, n))
        matrix /= matrix.sum(axis=1, keepdims=True)
        channel = sv.Channel(matrix)
        points = rng.random((n, 2))
        plane, line = sv.metrics.euclidean(points), sv.metrics.line(n)
        once = plane.matrix
        theirs, peer_seconds = _clock(
            lambda m=matrix, d=once: qif.measure.d_privacy.smallest_epsilon(m, lambda i, j: d[i, j])
        )
        ours = sv.epsilon(channel, plane).nats
        assert np.isclose(ours, theirs, rtol=1e-9), (ours, theirs)
        seconds = timed(lambda c=channel, d=plane: sv.epsilon(c, d), repeat=3)
        rows.append(Row("smallest ε, all pairs", n, seconds, "qif", peer_seconds))
        theirs, peer_seconds = _clock(
            lambda m=matrix: qif.measure.d_privacy.smallest_epsilon(m, qif.metric.euclidean(qif.uint))
        )
        assert np.isclose(sv.epsilon(channel, line).nats, theirs, rtol=1e-9)
        seconds = timed(lambda c=channel, d=line: sv.epsilon(c, d), repeat=3)
        rows.append(Row("smallest ε, line", n, seconds, "qif", peer_seconds))
        if n <= 500:
            rows.append(
                compare(
                    "distinguishability",
                    n,
                    lambda c=channel: sv.distinguishability(c),
                    "NumPy, a row at a time",
                    lambda m=matrix: np.array([np.abs(np.log(m) - np.log(row)).max(axis=1) for row in m]),
                    repeat=2,
                )
            )
    return rows + _underflow()


def _underflow() -> list[Row]:
    """ε of the truncated geometric at ε = 2: exact in the log domain, lost by floats from n ≈ 375 on."""
    rows = []
    for n in (800, 2000, 5000):
        start = time.perf_counter()
        found = sv.epsilon(sv.mechanisms.truncated_geometric(n, 2.0), sv.metrics.line(n)).nats
        seconds = time.perf_counter() - start
        assert abs(found - 2.0) < 1e-9, found
        note = f"ε = {found:.12g}"
        if n == 800:
            peer: np.ndarray[Any, Any] = np.asarray(qif.mechanism.d_privacy.geometric(n, 2.0))
            note += f"; qif's matrix has ε = {sv.epsilon(sv.Channel(peer), sv.metrics.line(n)).nats:g}"
        rows.append(Row("truncated geometric and its ε, ε = 2", n, seconds, note=note))
    return rows


def _clock(function: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start
