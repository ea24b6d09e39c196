"""Worked examples and errata of Alvim et al., on the leakage of differentially-private mechanisms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import sievert as sv

F = Fraction
uniform = sv.uniform(6)
skewed = ["1/10", "1/5", "1/5", "1/5", "1/5", "1/10"]


def utility(channel: sv.Channel, prior: object = None) -> float:
    """Def 22, Prop 24: expected gain of the best guess of the answer, Σ_z max_y p(y) H[y, z]."""
    return float(sv.posterior_vulnerability(channel, prior))


def optimal_utility(metric: sv.Metric, eps: float, prior: list[float]) -> float:
    """Largest Σ_y p(y) H[y, y] over ε·d-private H, by linear programming."""
    n = metric.size
    rows, columns = [], np.arange(n)
    for x in range(n):
        for y in range(n):
            if x != y:
                for z in columns:
                    row = np.zeros((n, n))
                    row[x, z], row[y, z] = 1, -math.exp(eps * metric.matrix[x, y])
                    rows.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(n))
    found = linprog(-np.diag(prior).ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(n))
    return float(-found.fun)


def cities() -> tuple[sv.Channel, sv.Channel]:
    """Ex 30: TG on 0…5 with ratio 2^(-1/5), and randomised response, both ln 2-private on the clique."""
    geometric = sv.mechanisms.truncated_geometric(6, math.log(2) / 5)
    return geometric, sv.mechanisms.randomised_response(6, alpha="1/2")


def test_alvim_measures() -> None:
    """V, H∞, I∞ and C∞ on one channel."""
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]])
    found = sv.leakage(channel)
    assert found.bits == pytest.approx(math.log2(F(7, 12) / F(1, 3)))
    assert sv.capacity(channel).bits == pytest.approx(math.log2(F(1, 2) + F(1, 2) + F(3, 4)))
    assert sv.capacity(channel).factor == sv.leakage(channel, sv.uniform(3)).factor


def test_alvim_ex_18_leakage_does_not_bound_epsilon() -> None:
    """Row 1 = (β, (1-β)/(m-1), …), other rows uniform, prior α on row 1: leakage → 0 while ε → ∞."""
    m = n = 4
    for beta in (F(1, 10), F(1, 1000), F(1, 10**9)):
        first = [beta, *[(1 - beta) / (m - 1)] * (m - 1)]
        channel = sv.Channel([first, *[[F(1, m)] * m] * (n - 1)])
        level = max(abs(math.log(m * beta)), abs(math.log(m * (1 - beta) / (m - 1))))
        assert sv.epsilon(channel, sv.metrics.discrete(n)).nats == pytest.approx(level)
    previous = math.inf
    for alpha in (F(1, 10), F(1, 100), F(1, 1000)):
        prior = [alpha, *[(1 - alpha) / (n - 1)] * (n - 1)]
        bits = sv.leakage(channel, prior).bits
        assert 0 <= bits <= previous
        previous = bits
    assert previous < 1e-9
    assert sv.epsilon(channel, sv.metrics.discrete(n)).nats > 19


def test_alvim_ex_30_levels_and_utilities() -> None:
    geometric, response = cities()
    clique = sv.metrics.discrete(6)
    row = [0.5346, 0.0602, 0.0524, 0.0457, 0.0397, 0.2673]
    assert [float(f"{v:.4f}") for v in geometric.matrix[0]] == row
    assert response.exact.tolist()[0] == [F(2, 7), *[F(1, 7)] * 5]  # type: ignore[union-attr]
    for channel in (geometric, response):
        assert sv.epsilon(channel, clique).nats == pytest.approx(math.log(2), rel=1e-14)
    assert f"{utility(geometric):.6f}" == "0.224337"
    assert f"{utility(response):.6f}" == "0.285714"
    assert f"{utility(geometric, skewed):.6f}" == "0.241522"
    assert f"{utility(response, skewed):.6f}" == "0.285714"


def test_alvim_erratum_3_interval_ratio_and_optimality() -> None:
    """Erratum 3: [0,6] and α ≈ 1.5 give neither the printed matrix nor the level; the optimum is 0.32."""
    printed = np.array([0.5346, 0.0602, 0.0524, 0.0457, 0.0397, 0.2673])
    clique = sv.metrics.discrete(6)
    claimed = sv.mechanisms.truncated_geometric(6, math.log(1.5))
    assert np.abs(claimed.matrix[0] - printed).max() > 0.1
    assert sv.epsilon(claimed, clique).nats > 2
    seven = sv.mechanisms.truncated_geometric(7, math.log(2) / 6)
    assert np.abs(seven.matrix[0, :6] - printed).max() > 0.01
    assert f"{2 ** (1 / 5):.6f}" == "1.148698"
    geometric, response = cities()
    prior = [float(F(p)) for p in skewed]
    best = optimal_utility(clique, math.log(2), prior)
    assert best == pytest.approx(0.32, abs=1e-9)
    assert max(utility(geometric, skewed), utility(response, skewed)) < best - 0.03
    assert optimal_utility(clique, math.log(2), [1 / 6] * 6) == pytest.approx(utility(response), abs=1e-9)


def test_alvim_ex_31_levels_and_utilities() -> None:
    """Ex 31: five voters, line 0…5, ε = ln 2: truncated geometric 4/9 beats the ring mechanism 8/21."""
    policy = sv.Policy.differential(["for", "against"], 5)
    answers = sv.Query.count("for").answers(policy)
    geometric = sv.mechanisms.truncated_geometric(6, alpha="1/2")
    rows = [[32, 8, 4, 2, 1, 1], [16, 16, 8, 4, 2, 2], [8, 8, 16, 8, 4, 4]]
    expected = [[F(v, 48) for v in row] for row in (*rows, *(row[::-1] for row in rows[::-1]))]
    assert geometric.exact.tolist() == expected  # type: ignore[union-attr]
    ring_metric = sv.metrics.cycle(6)
    ring = sv.mechanisms.tight_constraints(ring_metric, alpha="1/2")
    first = [F(v, 21) for v in (8, 4, 2, 1, 2, 4)]
    assert ring.exact.tolist() == [first[-i:] + first[:-i] for i in range(6)]  # type: ignore[union-attr]
    assert sv.posterior_vulnerability(geometric).value == F(4, 9)
    assert sv.posterior_vulnerability(ring).value == F(8, 21)
    for channel in (geometric, ring):
        assert sv.epsilon(channel, answers).nats == math.log(2)
    assert sv.epsilon(ring, ring_metric).nats == math.log(2)
    found = sv.epsilon(geometric, ring_metric)
    assert found.exact == 32
    assert found.nats == 5 * math.log(2)
    assert optimal_utility(answers.metric, math.log(2), [1 / 6] * 6) == pytest.approx(4 / 9, abs=1e-9)


def test_alvim_thm_27_ring_mechanism_attains_the_bound() -> None:
    """Uniform prior on a vertex-transitive graph: U ≤ 1/Σ_d n_d e^{-εd}, attained by tight constraints."""
    for n in (3, 6, 7):
        distances = sv.metrics.cycle(n).matrix[0]
        gamma = 1 / np.exp(-math.log(2) * distances).sum()
        assert utility(sv.mechanisms.tight_constraints(sv.metrics.cycle(n), alpha="1/2")) == pytest.approx(
            gamma
        )


def test_alvim_erratum_4_the_sum_is_over_outputs() -> None:
    """Erratum 4: U = Σ_z max_y p(y) H[y,z]; with the indices swapped a null channel would have utility 1."""
    null = sv.Channel([[1, 0], [1, 0]])
    assert utility(null) == 0.5
    swapped = sum(max(row) for row in (null.matrix * 0.5).tolist())
    assert swapped == 1
    channel = sv.Channel([["1/3", "1/3", "1/3"], [1, 0, 0]])
    joint = channel.exact * sv.uniform(2)[:, None]  # type: ignore[operator]
    assert sv.posterior_vulnerability(channel).value == joint.max(axis=0).sum() == F(5, 6)
    assert joint.max(axis=1).sum() == F(2, 3)
