"""Thresholds between families and the exponential mechanism's two ε, against 120 digits."""

from __future__ import annotations

import pytest
from mpmath import exp, expm1, log, mpf

import sievert as sv
from sievert.mechanisms import nominal_epsilon, true_epsilon

TG, RR, E = "truncated-geometric", "randomised-response", "exponential"
EPSILONS = [1e-12, 1e-9, 1e-5, 1e-2, 0.5, 1.0, 3.0, 10.0, 60.0, 350.0, 700.0]
SIZES = [3, 4, 7, 100]
LARGE = [10**4, 10**6]


def row_sum(a, i, n):
    """Σ_y a^|i-y|."""
    return (1 + a - a ** (i + 1) - a ** (n - i)) / (1 - a)


def true_of(h, n):
    a = exp(-h)
    return log(row_sum(a, 1, n) / (a * row_sum(a, 0, n)))


def solved(function, target, high):
    """h with function(h) = target, for an increasing function; 25 digits."""
    low, high = mpf(10) ** -40, mpf(high)
    for _ in range(400):
        middle = (low * high) ** mpf("0.5") if high > 2 * low else (low + high) / 2
        low, high = (middle, high) if function(middle) < target else (low, middle)
        if high - low < mpf(10) ** -25 * high:
            break
    return low


def exponential_column(h, y, n):
    a = exp(-h)
    return [a ** abs(i - y) / row_sum(a, i, n) for i in range(n)]


def admits_by_geometric(eps, h, n):
    """Every entry of the inverse of the truncated geometric times the exponential mechanism is ≥ 0."""
    alpha = exp(-mpf(eps))
    for y in range(n):
        b = exponential_column(h, y, n)
        rows = [b[0] - alpha * b[1], b[-1] - alpha * b[-2]]
        rows += [(1 + alpha**2) * b[i] - alpha * (b[i - 1] + b[i + 1]) for i in range(1, n - 1)]
        if min(rows) < 0:
            return False
    return True


def admits_by_response(eps, h, n):
    bound = exp(mpf(eps)) + n - 1
    return all(
        sum(column) <= bound * min(column) for column in (exponential_column(h, y, n) for y in range(n))
    )


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", SIZES + LARGE)
def test_true_and_nominal_epsilon(agrees, eps, n):
    agrees(true_epsilon(n, eps), true_of(mpf(eps) / 2, n))
    agrees(true_of(mpf(nominal_epsilon(n, eps)) / 2, n), eps)


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", SIZES + LARGE)
def test_thresholds_with_a_formula(agrees, eps, n):
    alpha = exp(-mpf(eps))
    agrees(sv.threshold(TG, RR, eps, n), -log(alpha / (1 - alpha + alpha**2)))
    h = solved(lambda x: true_of(x, n), mpf(eps), eps)
    a = exp(-h)
    agrees(sv.threshold(E, TG, eps, n), 2 * h - mpf(eps))
    middle = row_sum(a, (n - 1) // 2, n)
    agrees(sv.threshold(E, RR, eps, n), log(1 + (1 - a * a) / (a * middle)))
    agrees(sv.threshold(E, TG, eps, n, "privacy"), h)
    m = n // 2
    gap = log(row_sum(a, m, n) / row_sum(a, m - 1, n)) if n % 2 else 0
    agrees(sv.threshold(E, RR, eps, n, "privacy"), h + gap)
    agrees(sv.threshold(RR, E, eps, n, "privacy"), true_of(mpf(eps) / (n - 1), n))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", SIZES + LARGE)
def test_randomised_response_to_geometric(agrees, eps, n):
    found = mpf(sv.threshold(RR, TG, eps, n))

    def total(x):
        return exp(x) * expm1((n - 1) * x) / expm1(x) - (n - 1)

    near = mpf("1e-10")
    assert total(found * (1 - near)) < expm1(mpf(eps)) < total(found * (1 + near))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", [3, 4, 5, 6, 9])
@pytest.mark.parametrize(("first", "admits"), [(TG, admits_by_geometric), (RR, admits_by_response)])
def test_thresholds_to_the_exponential(first, admits, eps, n):
    """By every column and row of the inverse; the threshold is the last that passes."""
    found = mpf(sv.threshold(first, E, eps, n))
    for factor, holds in ((1 - mpf("1e-10"), True), (1 + mpf("1e-10"), False)):
        wanted = found * factor
        h = solved(lambda x: true_of(x, n), wanted, wanted)
        # Where the threshold is eps itself to the last digit, only the safe side can be told.
        assert admits(eps, h, n) == holds or (not holds and found > mpf(eps) * (1 - mpf("1e-14")))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", LARGE)
def test_large_thresholds_to_the_exponential(eps, n):
    """The end column decides, at the row beside the end."""
    found = mpf(sv.threshold(TG, E, eps, n))
    for factor, holds in ((1 - mpf("1e-10"), True), (1 + mpf("1e-10"), False)):
        h = solved(lambda x: true_of(x, n), found * factor, found * factor)
        a = exp(-h)
        left = exp(found * factor) + a * row_sum(a, 1, n) / row_sum(a, 2, n)
        passes = left <= exp(mpf(eps)) + exp(-mpf(eps))
        assert passes == holds or (not holds and found > mpf(eps) * (1 - mpf("1e-14")))


@pytest.mark.parametrize("eps", EPSILONS)
def test_response_to_the_exponential_of_many_values(eps):
    n = 100
    found = mpf(sv.threshold(RR, E, eps, n))
    for factor, holds in ((1 - mpf("1e-10"), True), (1 + mpf("1e-10"), False)):
        h = solved(lambda x: true_of(x, n), found * factor, found * factor)
        column = exponential_column(h, 0, n)
        assert (sum(column) <= (exp(mpf(eps)) + n - 1) * min(column)) == holds
