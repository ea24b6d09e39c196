"""Inside `_exact`: boundary cases, undecided answers, agreement with the exact program and with qif."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np

import sievert as sv
from sievert.orders import refines


def _channel(rng, n, m, zero=0.0):
    while True:
        table = rng.integers(0 if zero else 1, 20, (n, m)) * (rng.random((n, m)) >= zero)
        if (table.sum(axis=1) > 0).all():
            break
    result = np.empty((n, m), dtype=object)
    for i, row in enumerate(table.tolist()):
        result[i] = [F(value, sum(row)) for value in row]
    return result


def test_too_large_to_decide_exactly_gives_its_reason(monkeypatch):
    monkeypatch.setattr("sievert.orders._exact.LARGEST_DECISION", 40)
    rng = np.random.default_rng(24)
    a = _channel(rng, 8, 12)
    post = np.full((12, 5), F(0), dtype=object)
    post[np.arange(12), rng.integers(0, 5, 12)] = F(1)
    b = a @ post
    w = int(np.flatnonzero(post[3] == 1)[0])
    b[:, w] += F(1, 10**15) * a[:, 3]
    b[:, (w + 1) % 5] -= F(1, 10**15) * a[:, 3]
    verdict = refines(sv.Channel(a.tolist()), sv.Channel(b.tolist()))
    assert verdict.holds is None and verdict.certificate is None
    assert "52 rows where at most 40 are solved" in str(verdict)
