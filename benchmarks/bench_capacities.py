"""Capacities against qif (C++), repetition by types against all sequences, memory of large channels."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import qif

import sievert as sv
from benchmarks.harness import Row, compare, timed

MILLION = 10**6


def run() -> list[Row]:
    return [*_risk(), *_shannon(), *_additive(), *_types(), *_memory()]


def _risk() -> list[Row]:
    """Bayes-risk capacity: the pair of rows furthest apart. qif tries every pair entry by entry."""
    rows = []
    for n in (500, 1000, 2000):
        matrix = _random(n)
        theirs, peer_seconds = _clock(lambda m=matrix: qif.measure.bayes_risk.mult_capacity(m)[0])
        channel = sv.Channel(matrix)
        assert np.isclose(float(sv.capacity(channel, kind="risk")), theirs)
        seconds = timed(lambda c=channel: sv.capacity(c, kind="risk"), repeat=3)
        rows.append(Row("Bayes-risk capacity", n, seconds, "qif", peer_seconds))
    return rows


def _shannon() -> list[Row]:
    """Ours stops at a proved gap below 1e-10 bits, qif at a step of 1e-7."""
    rows = []
    for n in (25, 50, 100):
        matrix = _random(n)
        theirs, peer_seconds = _clock(lambda m=matrix: qif.measure.shannon.add_capacity(m)[0])
        channel = sv.Channel(matrix)
        found = sv.capacity(channel, kind="shannon")
        assert abs(float(found) - theirs) < 1e-5
        seconds = timed(lambda c=channel: sv.capacity(c, kind="shannon"), repeat=3)
        note = f"proved gap {found.gap:.0e} bits"
        rows.append(Row("Shannon capacity", n, seconds, "qif", peer_seconds, note))
    return rows


def _additive() -> list[Row]:
    rows = []
    for n in (100, 300, 1000):
        channel, prior = sv.Channel(_random(n)), np.full(n, 1 / n)
        matrix = channel.matrix
        rows.append(
            compare(
                "additive capacity, actions that span 1",
                n,
                lambda c=channel, p=prior: sv.capacity(c, kind="additive", gains="spanning", prior=p),
                "qif",
                lambda m=matrix, p=prior: qif.measure.g_vuln.add_capacity(p, m, True),
            )
        )
    for n in (20, 40, 80):
        channel = sv.Channel(_random(n))
        seconds = timed(lambda c=channel: sv.capacity(c, kind="additive", gains="unit"), repeat=2)
        rows.append(Row("additive capacity, gains in [0, 1], all priors", n, seconds, "no peer", None))
    return rows


def _types() -> list[Row]:
    """Guessing after n answers of a three-valued mechanism: 3^n sequences, (n+1)(n+2)/2 types."""
    rows = []
    response = sv.mechanisms.randomised_response(3, 0.5)
    matrix, prior = response.matrix, np.full(3, 1 / 3)

    def sequences(n: int) -> float:
        return float(
            qif.measure.bayes_vuln.posterior(prior, qif.channel.compose.repeated_independent(matrix, n))
        )

    for n in (6, 9, 12):
        assert np.isclose(float(sv.posterior_vulnerability(response.repeated(n), prior)), sequences(n))
        rows.append(
            compare(
                "guess after n answers, three values",
                n,
                lambda n=n: sv.posterior_vulnerability(response.repeated(n), prior),
                "qif, all sequences",
                lambda n=n: sequences(n),
                repeat=2,
            )
        )
    return rows


def _memory() -> list[Row]:
    """Peak of what each question allocates, on channels whose matrix would take 8 TB or 3^(10^6) columns."""
    values = sv.mechanisms.randomised_response(MILLION, 1.0)
    records = sv.mechanisms.randomised_response(3, 1.0).product(MILLION)
    prior = np.random.default_rng(0).dirichlet(np.ones(MILLION))
    questions: dict[str, Callable[[], Any]] = {
        "10^6 values: leakage": lambda: sv.leakage(values, prior),
        "10^6 values: guessing entropy": lambda: sv.leakage(values, prior, sv.losses.guessing(MILLION)),
        "10^6 values: Shannon capacity": lambda: sv.capacity(values, kind="shannon"),
        "10^6 records: leakage": lambda: sv.leakage(records),
        "10^6 records: ε": lambda: sv.epsilon(records, sv.Policy.differential(3, MILLION)),
    }
    rows = []
    for name, question in questions.items():
        seconds = timed(question, repeat=2)
        tracemalloc.start()
        question()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append(Row(name, MILLION, seconds, "no peer", None, f"peak {peak / 1e6:.1f} MB"))
    return rows


def _clock(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    value = function()
    return value, time.perf_counter() - start


def _random(n: int) -> np.ndarray[Any, Any]:
    matrix = np.random.default_rng(n).random((n, n))
    return matrix / matrix.sum(axis=1, keepdims=True)
