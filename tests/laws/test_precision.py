"""Closed forms of families, information, divergences and rates, against 120 digits."""

from __future__ import annotations

import math

import pytest
from mpmath import cosh, exp, expm1, log, mpf, tanh

import sievert as sv

EPSILONS = [1e-12, 1e-9, 1e-5, 1e-2, 0.5, 1.0, 3.0, 10.0, 60.0, 350.0, 700.0]
SIZES = [2, 3, 7, 1000, 10**6]
# A million values take seconds, so fewer ε.
CASES = [(eps, n) for n in SIZES for eps in (EPSILONS if n < 10**6 else [1e-12, 1.0, 700.0])]


def response(n, eps):
    grown = exp(mpf(eps))
    return grown / (grown + n - 1), 1 / (grown + n - 1)


@pytest.mark.parametrize(("eps", "n"), CASES)
def test_entries_and_epsilon(agrees, eps, n):
    truth, lie = response(n, eps)
    channel = sv.mechanisms.randomised_response(n, eps)
    agrees(channel.truth, truth)
    agrees(channel.lie, lie)
    agrees(sv.epsilon(channel, sv.metrics.discrete(n)).nats, eps)
    geometric = sv.mechanisms.truncated_geometric(n, eps)
    end, inner = geometric.weights()
    agrees(end, 1 / (1 + exp(-mpf(eps))))
    agrees(inner, tanh(mpf(eps) / 2))
    agrees(sv.epsilon(geometric, sv.metrics.line(n)).nats, eps)
    whole = sv.mechanisms.geometric(n, eps)
    agrees(whole.probability(0, 1), tanh(mpf(eps) / 2) * exp(-mpf(eps)))


@pytest.mark.parametrize(("eps", "n"), CASES)
def test_information_of_randomised_response(agrees, eps, n):
    truth, lie = response(n, eps)
    channel = sv.mechanisms.randomised_response(n, eps)
    shannon = (truth * log(n * truth) + (n - 1) * lie * log(n * lie)) / log(2)
    agrees(sv.information.mutual_information(channel), shannon)
    agrees(sv.capacity(channel, kind="shannon", gains="shannon").bits, shannon)
    for order in (0.5, 2.0, 10.0):
        power = (truth**order + (n - 1) * lie**order) / n
        expected = order / (mpf(order) - 1) * log(n * power ** (1 / mpf(order))) / log(2)
        agrees(sv.information.sibson_information(channel, order=order), expected)
        agrees(sv.information.arimoto_information(channel, order=order), expected)


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", [2, 3, 7, 60])
def test_divergences_of_families(agrees, eps, n):
    truth, lie = response(n, eps)
    channel, metric = sv.mechanisms.randomised_response(n, eps), sv.metrics.discrete(n)
    agrees(sv.distinguishability(channel).distance(0, 1), eps)
    levels = [0.0, eps / 2]
    delta = sv.divergences.delta_curve(channel, metric, levels).delta
    for found, level in zip(delta, levels, strict=True):
        agrees(found, truth - exp(mpf(level)) * lie)
    rest = 1 - truth - lie
    for order, found in zip(
        (0.5, 1.0, 2.0, 8.0), sv.divergences.renyi_curve(channel, metric, [0.5, 1, 2, 8]).nats, strict=True
    ):
        if order == 1:
            expected = (truth - lie) * mpf(eps)
        else:
            a = mpf(order)
            expected = log(truth**a * lie ** (1 - a) + lie**a * truth ** (1 - a) + rest) / (a - 1)
        agrees(found, expected)
    geometric = sv.distinguishability(sv.mechanisms.truncated_geometric(n, eps))
    agrees(geometric.distance(0, n - 1), (n - 1) * mpf(eps))


@pytest.mark.parametrize("eps", EPSILONS)
def test_rates(agrees, eps):
    expected = log(cosh(mpf(eps) / 2)) / log(2)
    agrees(sv.observations.geometric_rate(eps=eps).bits, expected)
    for n in (2, 3, 6):
        found = sv.observations.rates(sv.mechanisms.truncated_geometric(n, eps))
        agrees(found.utility.bits, expected)
        agrees(found.worst.bits, (n - 1) * mpf(eps) / log(2))
        truth, lie = response(n, eps)
        pair = -log(1 - (truth.sqrt() - lie.sqrt()) ** 2) / log(2) if n else None
        rates = sv.observations.rates(sv.mechanisms.randomised_response(n, eps))
        agrees(rates.utility.bits, pair)
        agrees(rates.average.bits, pair)
    two = sv.mechanisms.randomised_response(2, eps)
    agrees(sv.observations.average_level(two).distance, tanh(mpf(eps) / 2))


@pytest.mark.parametrize("h", [1e-3, 5e-7, 1e-8, 1e-10])
def test_matrices_with_nearly_equal_rows(agrees, h):
    """By the numbers as they are given, their sum taken as 1."""
    rows = [[0.5 + h, 0.5 - h], [0.5 - h, 0.5 + h]]
    channel = sv.Channel(rows)
    p, q = (mpf(item) / (mpf(rows[0][0]) + mpf(rows[0][1])) for item in rows[0])
    agrees(sv.epsilon(channel, sv.metrics.discrete(2)).nats, log(p / q))
    agrees(sv.observations.chernoff_information(*rows), -log(2 * (p * q).sqrt()) / log(2))
    agrees(sv.information.mutual_information(channel), (p * log(2 * p) + q * log(2 * q)) / log(2))
    agrees(sv.capacity(channel).bits, log(2 * p) / log(2))
    agrees(sv.divergences.delta_curve(channel, sv.metrics.discrete(2), [0.0]).delta[0], p - q)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, math.inf])
@pytest.mark.parametrize("n", [1, 2, 1000, 10**6])
def test_entropy_of_uniform_distributions(agrees, order, n):
    agrees(sv.information.entropy(sv.uniform(n), order), log(n) / log(2))


@pytest.mark.parametrize("eps", EPSILONS)
def test_one_observation(agrees, eps):
    truth, _ = response(3, eps)
    agrees(sv.success_probability(sv.mechanisms.randomised_response(3, eps)).value, truth)
    agrees(expm1(sv.leakage(sv.mechanisms.randomised_response(3, eps)).bits * log(2)), 3 * truth - 1)
