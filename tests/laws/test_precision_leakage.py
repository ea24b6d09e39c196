"""Leakage, information and capacities by their definitions, against 420 digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf

import sievert as sv

EPSILONS = [1e-12, 1e-9, 1e-5, 1e-2, 1.0, 10.0, 60.0, 350.0, 700.0]
PRIORS = {
    "none": None,
    "even": [0.25] * 4,
    "tied": [0.4, 0.4, 0.1, 0.1],
    "uneven": [0.5, 0.25, 0.125, 0.125],
    "impossible": [0.5, 0.5, 0.0, 0.0],
    "thirds": [1 / 3, 1 / 3, 1 / 3, 0.0],
}
GAINS = [[1, 0.5, 0, 0.25], [0, 1, 0.5, 0.5], [0.5, 0.25, 1, 0], [0.4375] * 4]


def response(n, eps):
    grown = exp(mpf(eps))
    return [[(grown if i == j else 1) / (grown + n - 1) for j in range(n)] for i in range(n)]


def geometric(n, eps):
    a = exp(-mpf(eps))
    ends = [1 / (1 + a), *[(1 - a) / (1 + a)] * (n - 2), 1 / (1 + a)]
    return [[ends[j] * a ** abs(i - j) for j in range(n)] for i in range(n)]


def exponential(n, eps):
    a = exp(-mpf(eps) / 2)
    rows = [[a ** abs(i - j) for j in range(n)] for i in range(n)]
    return [[entry / sum(row) for entry in row] for row in rows]


FAMILIES = {
    "response": (sv.mechanisms.randomised_response, response),
    "geometric": (sv.mechanisms.truncated_geometric, geometric),
    "exponential": (lambda n, eps: sv.mechanisms.exponential(sv.metrics.line(n), eps), exponential),
}


@pytest.fixture(autouse=True)
def digits(many_digits):
    """A probability next to 1 is e^-700 away from it."""
    with mp.workdps(420):
        yield


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


@pytest.fixture(params=PRIORS)
def prior(request):
    return PRIORS[request.param]


def joint(table, prior):
    """Columns of the joint distribution, and the prior with sum 1."""
    size = len(table)
    belief = [mpf(1)] * size if prior is None else [mpf(p) for p in prior]
    belief = [p / sum(belief) for p in belief]
    return [[p * row[y] for p, row in zip(belief, table, strict=True)] for y in range(size)], belief


def compared(agrees, found, before, after):
    top, bottom = (before, after) if before > after else (after, before)
    # What the reference itself rounds.
    agrees(found.difference, 0 if top - bottom < mpf("1e-400") else top - bottom)
    agrees(found.bits, 0 if top - bottom < mpf("1e-400") else log(top / bottom) / log(2))


@pytest.mark.parametrize("eps", EPSILONS)
def test_guesses(agrees, family, prior, eps):
    mechanism, table = family
    channel = mechanism(4, eps)
    columns, belief = joint(table(4, eps), prior)
    compared(agrees, sv.leakage(channel, prior), max(belief), sum(map(max, columns)))
    worst = max(max(column) / sum(column) for column in columns if sum(column))
    compared(agrees, sv.leakage(channel, prior, case="max"), max(belief), worst)
    product = sv.leakage(channel.product(3), prior)
    compared(agrees, product, max(belief) ** 3, sum(map(max, columns)) ** 3)
    found = sv.record_leakage(channel, sv.Policy.local(4), prior=prior)
    agrees(found.bits, sv.leakage(channel, prior).bits)


@pytest.mark.parametrize("eps", EPSILONS)
def test_other_adversaries(agrees, family, prior, eps):
    mechanism, table = family
    channel = mechanism(4, eps)
    columns, belief = joint(table(4, eps), prior)

    def two(column):
        return sum(sorted(column)[-2:])

    def places(column):
        return sum(k * p for k, p in enumerate(sorted(column, reverse=True), 1))

    def best(column):
        return max(sum(mpf(g) * p for g, p in zip(row, column, strict=True)) for row in GAINS)

    for gain, value in ((sv.gains.tries(4, 2), two), (sv.losses.guessing(4), places), (GAINS, best)):
        compared(agrees, sv.leakage(channel, prior, gain), value(belief), sum(map(value, columns)))


def entropy(column):
    return -sum(p * log(p / sum(column)) for p in column if p) / log(2)


@pytest.mark.parametrize("eps", EPSILONS)
def test_information(agrees, family, prior, eps):
    mechanism, table = family
    channel, rows = mechanism(4, eps), table(4, eps)
    columns, belief = joint(rows, prior)
    before, after = entropy(belief), sum(map(entropy, columns))
    agrees(sv.information.mutual_information(channel, prior), before - after)
    compared(agrees, sv.leakage(channel, prior, sv.losses.shannon(4)), before, after)
    for order in (0.5, 2.0, 10.0):
        a = mpf(order)
        for measure, weights in (
            (sv.information.sibson_information, belief),
            (sv.information.arimoto_information, [p**a / sum(q**a for q in belief) for p in belief]),
        ):
            powers = (
                sum(w * row[y] ** a for w, row in zip(weights, rows, strict=True)) ** (1 / a)
                for y in range(4)
            )
            agrees(measure(channel, prior, order=order), a / (a - 1) * log(sum(powers)) / log(2))


@pytest.mark.parametrize("eps", EPSILONS)
def test_capacities(agrees, family, eps):
    mechanism, table = family
    channel, rows = mechanism(4, eps), table(4, eps)
    shared = min(
        sum(min(a, b) for a, b in zip(p, q, strict=True)) for i, p in enumerate(rows) for q in rows[:i]
    )
    agrees(sv.capacity(channel, kind="risk").bits, -log(shared) / log(2))
    lowest = [min(row[y] for row in rows) for y in range(4)]
    signed = sum(entry - low for entry, low in zip(rows[0], lowest, strict=True))
    agrees(sv.capacity(channel, kind="additive", gains="signed").difference, signed)
    output = [sum(row[y] for row in rows) / 4 for y in range(4)]
    spanning = sum(abs(row[y] - output[y]) for row in rows for y in range(4)) / 8
    agrees(sv.capacity(channel, kind="additive", gains="spanning", prior=[0.25] * 4).difference, spanning)
    if table is response:
        told = rows[0][0] - rows[0][1]
        agrees(sv.capacity(channel, kind="additive", gains="unit").difference, told * 3 / 4)
        agrees(
            sv.capacity(channel, kind="additive", gains="unit", prior=PRIORS["tied"]).difference, told * 0.6
        )


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 1.0, 700.0])
@pytest.mark.parametrize("n", [1, 2000, 10**6])
def test_many_values(agrees, eps, n):
    """Half of the values are twice as likely as the others."""
    likely = n - n // 2
    prior = np.where(np.arange(n) < likely, 2.0, 1.0) / (2 * likely + n // 2)
    channel = sv.mechanisms.randomised_response(n, eps)
    grown = exp(mpf(eps))
    lie = 1 / (grown + n - 1)
    top, low = mpf(prior[0]), mpf(prior[-1])
    total = likely * top + (n // 2) * (low if n > 1 else 0)
    gained = (likely - 1) * lie * top * (grown - 1) + (n // 2) * lie * max(mpf(0), low * grown - top)
    found = sv.leakage(channel, prior)
    agrees(found.difference, gained / total)
    agrees(found.bits, log(1 + gained / top) / log(2))
