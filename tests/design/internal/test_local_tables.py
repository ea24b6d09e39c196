"""Inside `_local_tables`: designs for tables and sums."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.design._local_tables import LocalTable


def test_local_responses_by_brute_force() -> None:
    """Variance of the estimated sum over all reports of two records, and the guess of one record."""
    policy = sv.Policy.differential([0, 1, 4], 2)
    table = sv.Query.sum().statistic(policy)
    assert table is not None
    local = LocalTable(table, 2, 0.8, np.array([0.5, 0.3, 0.2]))
    lie = 1 / (math.exp(0.8) + 2)
    channel = np.full((3, 3), lie) + (1 - 3 * lie) * np.eye(3)
    amounts = np.array([0.0, 1.0, 4.0])
    weights = (amounts - lie * amounts.sum()) / (1 - 3 * lie)
    assert np.allclose(channel @ weights, amounts)
    variances = channel @ weights**2 - (channel @ weights) ** 2
    assert np.allclose(local.variances, variances)
    assert local.deviation == pytest.approx(math.sqrt(2 * variances.max()))
    joint = np.array([0.5, 0.3, 0.2])[:, None] * channel
    assert local.guess(1).guess == pytest.approx(joint.max(axis=0).sum())
    twice = np.einsum("v,va,vb->vab", [0.5, 0.3, 0.2], channel, channel)
    assert local.guess(2).guess == pytest.approx(twice.max(axis=0).sum()) and local.guess(2).exact


def test_the_estimated_count_is_binomial() -> None:
    policy = sv.Policy.differential(["yes", "no"], 20)
    table = sv.Query.count(["yes"]).statistic(policy)
    assert table is not None
    local = LocalTable(table, 20, 1.0, np.array([0.5, 0.5]))
    found = local.law(0.95)
    assert found is not None
    chance = math.e / (1 + math.e)
    from scipy.stats import binom

    hits = np.arange(21)
    off = np.abs(hits - 20 * chance) / (2 * chance - 1)
    assert found[0] == pytest.approx(float(off @ binom.pmf(hits, 20, chance)))
    inside = off <= found[1] + 1e-9
    assert binom.pmf(hits, 20, chance)[inside].sum() >= 0.95
    assert binom.pmf(hits, 20, chance)[off < found[1] - 1e-9].sum() < 0.95


def test_reports_that_tell_nothing_cannot_be_inverted() -> None:
    policy = sv.Policy.differential(["yes", "no"], 20)
    table = sv.Query.count(["yes"]).statistic(policy)
    assert table is not None
    local = LocalTable(table, 20, 0.0, np.array([0.5, 0.5]))
    assert not local.inverts and math.isinf(local.deviation) and local.law(0.95) is None
