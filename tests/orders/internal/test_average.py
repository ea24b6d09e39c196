"""Inside `_average`: boundary cases, undecided answers, agreement with the exact program and with qif."""

from __future__ import annotations

from fractions import Fraction
from fractions import Fraction as F
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.orders._average import decide_average


def test_every_float_witness_survives_exact_evaluation():
    rng = np.random.default_rng(5)
    for n, m, k in ((4, 6, 3), (10, 15, 10), (30, 45, 30), (30, 30, 30)):
        a, b = rng.dirichlet(np.ones(m), n), rng.dirichlet(np.ones(k), n)
        found = decide_average(a, b)
        assert found.holds is False
        exact = [np.array([[F(v) for v in row] for row in table], dtype=object) for table in (a, b)]
        assert exact_gap(rational_witness(found.witness), *exact) > 0


def exact_gap(witness: NDArray[Any], less_safe: NDArray[Any], safer: NDArray[Any]) -> Fraction:
    """<G,B> - Σ_y max_w (AᵀG)[y,w], exactly."""
    total = sum((less_safe.T @ witness).max(axis=1).tolist(), Fraction(0))
    return sum((g * b for g, b in zip(witness.ravel(), safer.ravel(), strict=True)), Fraction(0)) - total


def rational_witness(witness: NDArray[np.float64]) -> NDArray[Any]:
    """A float witness scaled to at most 1 and rounded to 52 binary digits."""
    scaled = witness / max(float(np.abs(witness).max()), 1e-300)
    table = np.empty(witness.shape, dtype=object)
    table.ravel()[:] = [Fraction(round(value * 2**52), 2**52) for value in scaled.ravel().tolist()]
    return table
