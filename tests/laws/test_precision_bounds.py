"""Bounds and capacities in closed form, against 120 digits."""

from __future__ import annotations

import pytest
from mpmath import exp, log, mpf, tanh

import sievert as sv

EPSILONS = [1e-12, 1e-9, 1e-5, 1e-2, 0.5, 1.0, 3.0, 10.0, 60.0, 350.0, 700.0]
SIZES = [1, 2, 3, 7, 1000, 10**6]
# A million values take seconds, so fewer ε.
CASES = [(eps, n) for n in SIZES[1:] for eps in (EPSILONS if n < 10**6 else [1e-12, 1.0, 700.0])]


def individual(v, eps):
    return log(v / (1 + (v - 1) * exp(-mpf(eps))))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", SIZES)
def test_complete_path_and_database(agrees, eps, n):
    agrees(sv.bounds.individual_bound(n, eps).log, individual(n, eps))
    agrees(sv.bounds.complete_capacity(n, eps).log, individual(n, eps))
    agrees(sv.bounds.database_bound(records=1000, values=n, eps=eps).log, 1000 * individual(n, eps))
    agrees(sv.bounds.path_capacity(n, eps).log, log(1 + (n - 1) * tanh(mpf(eps) / 2)))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 101])
def test_cycle(agrees, eps, n):
    total = sum(exp(-mpf(eps) * min(d, n - d)) for d in range(n))
    agrees(sv.bounds.cycle_capacity(n, eps).log, log(n / total))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize(
    ("records", "values", "outputs"), [(3, 2, 4), (3, 2, 5), (10, 10, 1000), (50, 2, 2**40)]
)
def test_limited_outputs(agrees, eps, records, values, outputs):
    length = 0
    while values ** (length + 1) <= outputs and length < records:
        length += 1
    grown = exp(mpf(eps))
    top = outputs * grown**records
    bottom = (values - 1 + grown) ** length - grown**length + grown**records
    expected = min(records * individual(values, eps), log(top / bottom))
    agrees(
        sv.bounds.limited_outputs_bound(records=records, values=values, outputs=outputs, eps=eps).log,
        expected,
    )


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("diameters", [[0], [1], [3], [0, 0, 2], [5, 1, 1, 1]])
def test_components(agrees, eps, diameters):
    total = sum(exp(mpf(eps) * d) for d in diameters)
    agrees(sv.bounds.blowfish_bound(diameters, eps).log, log(total))
    agrees(sv.bounds.posterior_bound(diameters, eps=eps, databases=10**6), min(mpf(1), total / 10**6))


@pytest.mark.parametrize(("eps", "n"), CASES)
def test_capacities_of_families(agrees, eps, n):
    grown = individual(n, eps) / log(2)
    response = sv.mechanisms.randomised_response(n, eps)
    agrees(sv.capacity(response).bits, grown)
    agrees(sv.information.maximal_leakage(response), grown)
    agrees(sv.information.min_entropy_leakage(response), grown)
    geometric = sv.mechanisms.truncated_geometric(n, eps)
    path = log(1 + (n - 1) * tanh(mpf(eps) / 2)) / log(2)
    agrees(sv.capacity(geometric).bits, path)
    agrees(sv.information.min_entropy_leakage(geometric), path)
