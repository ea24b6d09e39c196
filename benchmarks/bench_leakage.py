"""Bayes capacity and g-vulnerability against qif (C++) and naive NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import qif

import sievert as sv
from benchmarks.harness import Row, compare

ACTIONS = 1000


def run() -> list[Row]:
    """Parity with qif is the target: both are bound by memory and by one matrix product."""
    rows: list[Row] = []
    for n in (500, 1000, 2000):
        matrix, gain = _random(n)
        channel = sv.Channel(matrix)
        prior = np.full(n, 1 / n)
        adversary = sv.gains.matrix(gain)
        assert np.isclose(float(sv.capacity(channel)), qif.measure.bayes_vuln.mult_capacity(matrix))
        ours = float(sv.posterior_vulnerability(channel, prior, adversary))
        assert np.isclose(ours, qif.measure.g_vuln.posterior(gain, prior, matrix))
        rows += [
            compare(
                "Bayes capacity",
                n,
                lambda channel=channel: sv.capacity(channel),
                "qif",
                lambda matrix=matrix: qif.measure.bayes_vuln.mult_capacity(matrix),
            ),
            compare(
                f"g-posterior, {ACTIONS} actions",
                n,
                lambda c=channel, p=prior, g=adversary: sv.posterior_vulnerability(c, p, g),
                "qif",
                lambda g=gain, p=prior, m=matrix: qif.measure.g_vuln.posterior(g, p, m),
            ),
            compare(
                f"g-posterior, {ACTIONS} actions",
                n,
                lambda c=channel, p=prior, g=adversary: sv.posterior_vulnerability(c, p, g),
                "NumPy, one column at a time",
                lambda g=gain, p=prior, m=matrix: sum((g @ (p * column)).max() for column in m.T),
            ),
        ]
    return rows


def _random(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(n)
    matrix = rng.random((n, n))
    return matrix / matrix.sum(axis=1, keepdims=True), rng.random((ACTIONS, n))
