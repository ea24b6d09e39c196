"""Thresholds between families: every printed digit of the table, and what they mean."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest

import sievert as sv
from sievert.orders import refines, threshold

TG, RR, E = "truncated-geometric", "randomised-response", "exponential"
COLUMNS = [(TG, RR), (TG, E), (RR, TG), (RR, E), (E, TG), (E, RR)]
FIGURE = """
0.1 0.00995858439 0.0361726986 0.0103544040 0.0205056426 0.0274484829 0.0271311065
0.25 0.0609315862 0.167267726 0.0272538167 0.0531349263 0.0788306974 0.0768288484
0.5 0.227336294 0.432736189 0.0592421576 0.112286257 0.197439332 0.189701084
1 0.735325664 0.972375034 0.138188448 0.245942507 0.587366404 0.565622850
1.5 1.30963447 1.49175162 0.236582288 0.393485061 1.14908222 1.12766323
2 1.87554767 1.99789124 0.351431270 0.546310695 1.75734195 1.74516499
3 2.95153605 2.99988301 0.612055091 0.843411561 2.90334384 2.90113797
4 3.98185622 3.99999397 0.888127482 1.11564263 3.96372517 3.96340250
5 4.99328496 4.99999970 1.16379199 1.36759497 4.98657053 4.98652576
6 5.99752433 5.99999998 1.43464018 1.60841758 5.99504869 5.99504258
8 7.99966459 8.00000000 1.96249569 2.07983882 7.99932919 7.99932907
"""
ROWS = [line.split() for line in FIGURE.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_figure(row):  # Fig 4.5, five inputs
    for pair, printed in zip(COLUMNS, row[1:], strict=True):
        digits = len(printed.split(".")[1])
        assert f"{threshold(*pair, float(row[0]), 5):.{digits}f}" == printed
        assert threshold(*pair, float(row[0]), 5, "max") == threshold(*pair, float(row[0]), 5)


def test_other_sizes():
    expected = {
        3: [0.73532566, 0.94463284, 0.40015415, 0.52806356, 0.71650021, 0.71650021],
        10: [0.73532566, 0.97680896, 0.034167595, 0.078504412, 0.55701230, 0.50112361],
    }
    for n, values in expected.items():
        assert [threshold(*pair, 1.0, n) for pair in COLUMNS] == pytest.approx(values, rel=2e-8)
    assert [threshold(*pair, 1.7, 2) for pair in COLUMNS] == [1.7] * 6


def test_privacy_order():
    expected = {1.0: [0.25, 0.369909, 0.793683, 0.843315], 4.0: [1.0, 1.200870, 3.981863, 3.982192]}
    pairs = [(RR, TG), (RR, E), (E, TG), (E, RR)]
    for eps, values in expected.items():
        assert [threshold(*pair, eps, 5, "privacy") for pair in pairs] == pytest.approx(values, abs=6e-7)
        assert threshold(TG, RR, eps, 5, "privacy") == threshold(TG, E, eps, 5, "privacy") == eps


def test_text_on_the_figure():  # E23: "TG^4 ⊑ R^4" and "R^4 ⊑ TG^1" are not literally true
    assert threshold(TG, RR, 4.0, 5) == pytest.approx(3.981856, abs=1e-6)
    assert threshold(RR, TG, 4.0, 5) == pytest.approx(0.888127, abs=1e-6)
    assert threshold(RR, TG, 4.0, 5, "privacy") == 1.0


def test_small_parameters():
    eps = 1e-3
    limits = [eps**2, 4 * eps**2, eps / 10, eps / 5, eps / 4, eps / 4]
    assert [threshold(*pair, eps, 5) for pair in COLUMNS] == pytest.approx(limits, rel=0.02)


@pytest.mark.parametrize("pair", COLUMNS)
def test_thresholds_separate_yes_from_no(pair):
    def member(name, eps):
        if name == E:
            return sv.mechanisms.exponential(sv.metrics.line(4), eps, level="true")
        makers = {TG: sv.mechanisms.truncated_geometric, RR: sv.mechanisms.randomised_response}
        return makers[name](4, eps)

    for order in ("average", "max", "privacy"):
        limit = threshold(*pair, 1.3, 4, order)
        assert refines(member(pair[0], 1.3), member(pair[1], limit * (1 - 1e-5)), order).holds
        assert refines(member(pair[0], 1.3), member(pair[1], limit * (1 + 1e-4)), order).holds is False


def test_any_two_families():
    found = threshold(lambda eps: sv.mechanisms.truncated_geometric(5, eps), RR, 1.0, 5)
    assert found == pytest.approx(0.735325664, abs=1e-7)
    grid = sv.metrics.grid(2, 2)
    first = lambda eps: sv.mechanisms.exponential(grid, eps)  # noqa: E731
    found = threshold(first, lambda eps: sv.mechanisms.randomised_response(grid.points, eps), 1.0)
    assert 0 < found < 1
    assert threshold(RR, lambda eps: sv.Channel([[1]] * 4), 1.0, 4) == math.inf


def test_refusals():
    with pytest.raises(sv.errors.MechanismError, match="laplace"):
        threshold("laplace", RR, 1.0, 5)
    with pytest.raises(sv.errors.MechanismError, match="n is None"):
        threshold(TG, RR, 1.0)
    with pytest.raises(sv.errors.MechanismError, match="eps is -1"):
        threshold(TG, RR, -1, 5)
    assert threshold(TG, RR, 0.0, 5) == 0.0
    assert threshold(TG, RR, 1.0, 1) == math.inf


@pytest.mark.parametrize("eps", [1e-9, 1e-6, 1e-3, 0.999999, 1.000001, 5.0, 700.0, 2000.0])
@pytest.mark.parametrize("n", [3, 5, 1000])
def test_closed_forms_keep_their_digits(eps, n):
    """Tiny ε cancels and large ε overflows in the printed formulas; 80 digits do neither."""
    with localcontext(prec=80):
        given, near = Decimal(eps), Decimal("1e-13")
        alpha = (-given).exp()
        expected = given + (1 - alpha + alpha**2).ln()
        assert abs(Decimal(threshold(TG, RR, eps, n)) / expected - 1) < Decimal("1e-14")
        other = Decimal(threshold(RR, TG, eps, n))

        def total(x):
            step = x.exp()
            return step * (step ** (n - 1) - 1) / (step - 1) - (n - 1)

        assert total(other * (1 - near)) < given.exp() - 1 < total(other * (1 + near))
