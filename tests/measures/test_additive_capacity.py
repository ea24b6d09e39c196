"""Additive capacities over the three classes of gains (spec F5) against linear programs over the classes."""

from collections.abc import Callable, Iterator
from fractions import Fraction as F
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import sievert as sv
from sievert import testing
from sievert.errors import GainError

FloatArray = NDArray[np.float64]


def instances(count: int = 12) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Random priors and channels, every second channel sparse."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 6, size=2)
        matrix = rng.dirichlet(np.ones(m), n)
        if seed % 2 and m > 1:
            matrix[rng.random(matrix.shape) < 0.4] = 0
            matrix[:, 0] += 1 - matrix.sum(axis=1)
        yield rng.dirichlet(np.ones(n)), matrix


def best_in_class(
    matrix: FloatArray, prior: FloatArray | None, gains: Literal["unit", "spanning", "signed"]
) -> float:
    """max V_g[π▷C] - V_g(π) over the class, one action an output, as a linear program over h = π_x·g.

    Variables: h[y, x], then t ≥ the prior value of every action, then π (all priors), an offset for each
    action (spanning), or one more action of prior value at least 0 (signed).
    """
    n, m = matrix.shape
    actions = m + (gains == "signed")
    offsets = m if gains == "spanning" else 0
    free_prior = n if prior is None else 0
    size = actions * n + 1 + offsets + free_prior
    t, first_offset, first_prior = actions * n, actions * n + 1, actions * n + 1 + offsets

    def at(action: int, secret: int) -> int:
        return action * n + secret

    cost = np.zeros(size)
    cost[t] = 1
    for y in range(m):
        for x in range(n):
            cost[at(y, x)] = -matrix[x, y]
    upper, right = [], []

    def require(terms: dict[int, float], bound: float) -> None:
        row = np.zeros(size)
        for place, value in terms.items():
            row[place] += value
        upper.append(row)
        right.append(bound)

    for w in range(actions):
        require({**{at(w, x): 1.0 for x in range(n)}, t: -1.0}, 0)
        for x in range(n):
            if prior is None:
                require({at(w, x): 1.0, first_prior + x: -1.0}, 0)
            elif gains == "spanning":
                require({at(w, x): 1.0, first_offset + w: -prior[x]}, prior[x])
                require({at(w, x): -1.0, first_offset + w: prior[x]}, 0)
            else:
                require({at(w, x): 1.0}, prior[x])
    if gains == "signed":
        require({at(m, x): -1.0 for x in range(n)}, 0)
    lower = 0 if gains == "unit" else None
    bounds = [(lower, None)] * (actions * n) + [(None, None)] * (1 + offsets) + [(0, None)] * free_prior
    equal = np.zeros((1, size))
    equal[0, first_prior:] = 1
    sums = {"A_eq": equal, "b_eq": [1.0]} if prior is None else {}
    solution = linprog(cost, np.array(upper), right, bounds=bounds, **sums)
    assert solution.success
    return float(-solution.fun)


@pytest.mark.parametrize("gains", ["unit", "spanning", "signed"])
def test_fixed_prior_against_the_program_over_the_class(gains: Any) -> None:
    for prior, matrix in instances():
        found = sv.capacity(sv.Channel(matrix), kind="additive", gains=gains, prior=prior)
        assert float(found) == pytest.approx(best_in_class(matrix, prior, gains), abs=1e-8)


def test_all_priors_against_the_program_over_the_class() -> None:
    for _, matrix in instances():
        found = sv.capacity(sv.Channel(matrix), kind="additive", gains="unit")
        assert float(found) == pytest.approx(best_in_class(matrix, None, "unit"), abs=1e-8)
        assert found.gap <= 1e-9


@given(testing.channels((1, 4), (1, 4), form="exact", sparse=True), st.data())
@settings(max_examples=40)
def test_exact_channels_have_exact_capacities(channel: sv.Channel, data: st.DataObject) -> None:
    prior = data.draw(testing.priors(channel.shape[0], exact=True, full_support=True))
    rounded = sv.Channel(channel.matrix)
    for gains in ("unit", "spanning", "signed"):
        found = sv.capacity(channel, kind="additive", gains=gains, prior=prior)  # type: ignore[arg-type]
        assert isinstance(found.difference, F)
        assert found.gap == 0
        assert float(
            sv.capacity(rounded, kind="additive", gains=gains, prior=prior.astype(float))
        ) == pytest.approx(  # type: ignore[arg-type]
            float(found), abs=1e-12
        )
    radius = sv.capacity(channel, kind="additive", gains="unit")
    assert isinstance(radius.difference, F)
    assert float(sv.capacity(rounded, kind="additive", gains="unit")) == pytest.approx(
        float(radius), abs=1e-9
    )
    # The vertex rebuilt over the rationals proves itself: prior and gain give the value back exactly.
    assert sum(radius.prior) == 1
    assert (
        sv.leakage(channel, radius.prior, radius.gain.tolist(), kind="additive").difference
        == radius.difference
    )


def test_the_three_classes_differ() -> None:
    channel = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    prior = ["2/3", "1/3"]
    found = [
        sv.capacity(channel, kind="additive", gains=gains, prior=prior).difference
        for gains in ("unit", "spanning", "signed")
    ]  # type: ignore[arg-type]
    assert found == [F(1, 6), F(2, 9), F(1, 2)]
    assert sv.capacity(channel, kind="additive", gains="unit").difference == F(1, 4)


def test_more_may_be_gained_from_a_larger_class() -> None:
    for prior, matrix in instances():
        channel = sv.Channel(matrix)
        unit, spanning, signed = (
            float(sv.capacity(channel, kind="additive", gains=gains, prior=prior))  # type: ignore[arg-type]
            for gains in ("unit", "spanning", "signed")
        )
        assert unit <= spanning + 1e-12 <= signed + 2e-12
        assert unit <= float(sv.capacity(channel, kind="additive", gains="unit")) + 1e-9


def test_against_qif(oracle: Callable[[str], ModuleType]) -> None:
    measure = oracle("qif").measure.g_vuln
    for prior, matrix in instances(30):
        channel = sv.Channel(matrix)
        spanning = measure.add_capacity(prior, matrix, one_spanning_g=True)
        assert float(sv.capacity(channel, kind="additive", gains="spanning", prior=prior)) == pytest.approx(
            spanning, abs=1e-12
        )
        signed = measure.add_capacity(prior, matrix)
        assert float(sv.capacity(channel, kind="additive", gains="signed", prior=prior)) == pytest.approx(
            signed, abs=1e-12
        )


def test_the_radius_against_qif(oracle: Callable[[str], ModuleType]) -> None:
    """The least L1 ball around the rows, in the simplex, has twice the radius in total variation."""
    optimize = oracle("qif").metric.optimize
    for _, matrix in instances(20):
        radius, _ = optimize.simplex_l1_min_enclosing_ball(matrix)
        assert float(sv.capacity(sv.Channel(matrix), kind="additive", gains="unit")) == pytest.approx(
            radius / 2, abs=1e-7
        )


def test_ties_that_rounding_hides() -> None:
    """Randomised response: the last output's r ends at an entry, where only exact arithmetic sees the tie."""
    for n in range(2, 12):
        channel = sv.Channel(sv.mechanisms.randomised_response(n, alpha="2/5").matrix)
        truth = float(channel.matrix[0, 0])
        found = sv.capacity(channel, kind="additive", gains="unit", prior=np.full(n, 1 / n))
        assert float(found) == pytest.approx(truth - 1 / n, abs=1e-12)
        assert found.gap <= 1e-12


@pytest.mark.parametrize(
    ("gains", "prior", "message"),
    [
        ("all", None, "known are"),
        (None, None, "known are"),
    ],
)
def test_questions_without_an_answer_are_refused(gains: Any, prior: Any, message: str) -> None:
    with pytest.raises(GainError, match=message):
        sv.capacity(sv.Channel.identity(2), kind="additive", gains=gains, prior=prior)


def test_impossible_secrets_do_not_count_among_signed_gains() -> None:
    """Gains on a secret of probability 0 change no value, so the capacity is that of the possible rows."""
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"], ["1/4", "1/2", "1/4"]])
    found = sv.capacity(channel, kind="additive", gains="signed", prior=[0.5, 0, 0.5]).difference
    assert found == sv.capacity(sv.Channel(channel.exact[[0, 2]]), kind="additive", gains="signed").difference  # type: ignore[index]
    assert sv.capacity(channel, kind="additive", gains="signed", prior=[0, 1, 0]).difference == 0
