"""Optimality for one prior and for all: worked examples of sections 7 and 8, certificates and forgeries."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction as F
from itertools import combinations
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.design import universal_by_theorem
from sievert.errors import MechanismError
from sievert.geometry import cell_priors
from sievert.proofs import (
    BetterForPriorProof,
    LargestGapProof,
    ProofSpace,
    QuotientProof,
    RegretProof,
    UniversalByTheoremProof,
    UniversalProof,
    proof_from_dict,
    save_proof,
)
from sievert.proofs._cells import require_corners

line, discrete = sv.metrics.line, sv.metrics.discrete
HALF = "1/2"
AVERAGE = [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]]
G3 = sv.mechanisms.truncated_geometric(3, alpha=HALF)
H3 = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
RR3 = sv.mechanisms.randomised_response(3, alpha=HALF)
K_A = sv.Channel([["1/3", "2/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
K_B = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
MIDDLE = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
EXAMPLE_6_5 = [[3, 1, 0], [0, 1, 3]]
BIT = [[0, 1, 1], [2, 0, 0]]


def verified(found: Any) -> None:
    """The certificate holds after a JSON round trip."""
    proof = proof_from_dict(json.loads(save_proof(found.certificate)))
    assert proof.verify().holds, proof.verify().statement


# ── One prior ───────────────────────────────────────────────────────────────────────────────────────────────


def test_optimality_for_a_prior_is_proved_in_fractions() -> None:
    found = sv.is_optimal(G3, line(3), alpha=HALF, loss=sv.losses.absolute(3))
    assert (found.holds, found.exact, found.gap) == (True, True, 0)
    verified(found)
    other = sv.is_optimal(G3, line(3), alpha=HALF, loss=AVERAGE)
    assert (other.holds, other.loss, other.lower_bound) == (False, F(7, 15), F(2, 5))
    assert other.better is not None
    assert sv.remap(other.better, None, sv.losses.matrix(AVERAGE)).after == F(2, 5)
    verified(other)


def test_optimality_for_a_prior_in_floats() -> None:
    geometric = sv.mechanisms.truncated_geometric(5, 1.0)
    found = sv.is_optimal(geometric, line(5), 1.0, [0.1, 0.2, 0.3, 0.2, 0.2], sv.losses.absolute(5))
    assert found.holds
    assert not found.exact
    assert float(found.gap) < 1e-8
    worse = sv.is_optimal(sv.mechanisms.exponential(line(5), 1.0), line(5), 1.0, loss=sv.losses.absolute(5))
    assert worse.holds is False
    assert worse.better is not None


def test_optimality_on_a_long_line_needs_no_matrix() -> None:
    """2000 inputs: the rule tells ε and loss, the multipliers of the geometric mechanism the lower bound."""
    n = 2000
    loss = np.abs(np.arange(n) - np.array([[n // 4], [n // 2], [3 * n // 4]]))
    geometric = sv.mechanisms.truncated_geometric(n, 0.1)
    found = sv.is_optimal(geometric, line(n), 0.1, loss=loss)
    assert found.holds
    assert found.certificate.verify().holds
    matrix = np.asarray(geometric.matrix)
    assert float(found.loss) == pytest.approx((loss @ matrix / n).min(axis=0).sum(), rel=1e-12)
    fractions = sv.optimal_mechanism(line(n), alpha="1/2", loss=loss)
    assert isinstance(fractions.loss, F)
    other = sv.is_optimal(sv.mechanisms.truncated_geometric(n, 0.05), line(n), 0.1, loss=loss)
    assert other.holds is False
    with pytest.raises(MechanismError, match="is allowed"):
        sv.is_optimal(sv.mechanisms.truncated_geometric(200, 0.2), line(200), 0.1)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10**6))
def test_the_order_of_the_inputs_does_not_matter(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 5, n)
    prior = [F(int(w), int(weights.sum())) for w in weights]
    loss = rng.integers(0, 6, (3, n)).tolist()
    mechanism = sv.mechanisms.truncated_geometric(n, alpha=HALF)
    order = rng.permutation(n).tolist()
    moved = sv.Channel([mechanism.exact[x].tolist() for x in order], order, mechanism.outputs)
    first = sv.is_optimal(mechanism, line(n), alpha=HALF, prior=prior, loss=loss)
    second = sv.is_optimal(moved, line(n), alpha=HALF, prior=prior, loss=loss)
    assert (first.holds, first.loss, first.lower_bound) == (second.holds, second.loss, second.lower_bound)
    verified(first)
    verified(second)
    assert first.holds is sv.design.geometric_optimality(n, alpha=HALF, prior=prior, loss=loss).holds


def test_a_mechanism_that_is_not_private_is_refused() -> None:
    with pytest.raises(MechanismError, match="is allowed"):
        sv.is_optimal(sv.Channel([[1, 0], [0, 1]]), line(2), alpha=HALF)
    with pytest.raises(MechanismError, match="is allowed"):
        sv.is_universally_optimal(sv.Channel([[1, 0], [0, 1]]), line(2), alpha=HALF)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.integers(0, 10**6))
def test_the_best_kernel_is_the_optimum_lem_b2(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = line(n) if seed % 2 else discrete(n)
    weights = rng.integers(0, 5, n) + (np.arange(n) == 0)
    prior = [F(int(w), int(weights.sum())) for w in weights]
    loss = sv.losses.matrix(rng.integers(0, 6, (3, n)).tolist())
    best = min(sv.remap(kernel.channel, prior, loss).after for kernel in sv.geometry.kernels(metric, HALF))
    assert best == sv.optimal_mechanism(metric, alpha=HALF, prior=prior, loss=loss).loss


# ── All priors: worked answers ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "mechanism, metric, loss, gap",
    [
        (H3, line(3), AVERAGE, 0),
        (G3, line(3), AVERAGE, F(1, 15)),
        (RR3, discrete(3), None, F(1, 24)),
        (K_A, discrete(3), EXAMPLE_6_5, 0),
        (K_B, discrete(3), EXAMPLE_6_5, 0),
        (RR3, discrete(3), EXAMPLE_6_5, None),
        (MIDDLE, discrete(3), EXAMPLE_6_5, None),
        (MIDDLE, discrete(3), [[0, 1, 0], [1, 0, 0]], 0),
        (RR3, discrete(3), [[0, 1, 0], [1, 0, 0]], None),
    ],
)
def test_worked_examples_by_cells(mechanism: sv.Channel, metric: sv.Metric, loss: Any, gap: F | None) -> None:
    found = sv.design.universal_gap(mechanism, metric, alpha=HALF, loss=loss)
    if gap is None:
        assert found.holds is False
        assert found.gap > 0  # type: ignore[operator]
    else:
        assert found.gap == gap
    assert found.holds is (found.gap == 0)
    verified(found)


def test_mixtures_of_universally_optimal_kernels_are_optimal() -> None:
    columns = np.concatenate([np.asarray(K_A.exact) / 2, np.asarray(K_B.exact) / 2], axis=1)
    found = sv.is_universally_optimal(sv.Channel(columns.tolist()), discrete(3), alpha=HALF, loss=EXAMPLE_6_5)
    assert found.holds
    verified(found)


def test_worst_gaps_of_the_identity_loss() -> None:
    """Trivial on every pair, and yet no kernel is universally optimal."""
    loss = [[int(x == w) for x in range(3)] for w in range(3)]
    found = sv.geometry.kernels(discrete(3), HALF)
    gaps = sorted(sv.design.universal_gap(k.channel, discrete(3), alpha=HALF, loss=loss).gap for k in found)
    assert gaps == [F(1, 30), F(1, 20), F(1, 12), F(1, 12), F(1, 12)]


def test_which_kernels_of_the_line_of_four_are_best() -> None:
    def count(rows: Any) -> int:
        return len(sv.geometry.optimal_kernels(line(4), HALF, sv.losses.matrix(rows)))

    geometric = sv.mechanisms.truncated_geometric(4, alpha=HALF)
    points = range(4)
    for rows in (
        [[int(x != w) for x in points] for w in points],
        [[abs(x - w) for x in points] for w in points],
        [[(x - w) ** 2 for x in points] for w in points],
        [[int(x >= 2) for x in points], [int(x < 2) for x in points]],
        [[0, 0, 0, 1], [1, 0, 0, 0]],
    ):
        found = sv.geometry.optimal_kernels(line(4), HALF, sv.losses.matrix(rows))
        assert len(found) == 1
        assert found[0].channel.hyper().is_same(geometric.hyper())
    assert count([[0, 0, 1, 0], [1, 0, 0, 0]]) == 4
    assert count([[0, 0, 1, 0], [0, 1, 0, 0]]) == 11
    assert count([[0, 1, 0, 1], [1, 0, 1, 0]]) == 0  # parity
    assert count([[0, 1, 1, 0], [1, 0, 0, 1]]) == 0  # ends or middle


# ── All priors: theorems ────────────────────────────────────────────────────────────────────────────────────


def test_theorems_come_first_and_are_proofs() -> None:
    gaps = sv.metrics.line([0, 1, 3, 4, 9])
    geometric = sv.mechanisms.tight_constraints(gaps, alpha=HALF)
    found = sv.is_universally_optimal(geometric, gaps, alpha=HALF, loss=sv.losses.absolute([0, 1, 3, 4, 9]))
    assert (found.holds, found.gap) == (True, 0)
    assert "Theorem SC" in found.theorem
    assert isinstance(found.certificate, UniversalByTheoremProof)
    verified(found)
    star = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3), (3, 4), (4, 5), (5, 6), (6, 7)])
    kernel = sv.mechanisms.tight_constraints(star, alpha="1/3")
    tree = sv.is_universally_optimal(kernel, star, alpha="1/3")
    assert "TREE-BAYES" in tree.theorem
    verified(tree)
    trivial = sv.is_universally_optimal(RR3, discrete(3), alpha=HALF, loss=[[0, 1, 1], [1, 2, 3]])
    assert "Lem 6.19" in trivial.theorem
    verified(trivial)
    pair = sv.is_universally_optimal(K_B, discrete(3), alpha=HALF, loss=[[0, 1, 0], [1, 0, 0]])
    assert "Lem 6.20" in pair.theorem
    verified(pair)


def test_theorems_hold_for_floats_with_many_inputs() -> None:
    geometric = sv.mechanisms.truncated_geometric(200, 0.3)
    found = sv.is_universally_optimal(geometric, line(200), 0.3, sv.losses.absolute(200))
    assert found.holds
    assert not found.exact
    assert found.certificate is None


def test_blocks_are_asked_one_input_each() -> None:
    """Six inputs under the discrete metric, a loss that only asks for one bit: T on the bit is best."""
    bits = [0, 1, 1, 0, 1, 0, 1]
    mechanism = sv.Channel([["2/3", "1/3"] if bit else ["1/3", "2/3"] for bit in bits])
    loss = [[3 * bit for bit in bits], [1 - bit for bit in bits]]
    found = sv.is_universally_optimal(mechanism, discrete(7), alpha=HALF, loss=loss)
    assert found.holds
    assert "blocks" in found.theorem
    assert isinstance(found.certificate, QuotientProof)
    verified(found)
    wrong = replace(found.certificate, blocks=((0, 1), (2, 3, 4, 5, 6)))
    assert "apart" in wrong.verify().statement
    response = sv.mechanisms.randomised_response(7, alpha=HALF)
    assert sv.is_universally_optimal(response, discrete(7), alpha=HALF, loss=loss).holds is False


TIES = [[0, 1, 0, 0, 2, "1/2", "7/10"], [1, 0, 3, 4, 0, "1/2", 0]]


@pytest.mark.parametrize("eps", [1e-10, 0.3, 300.0])
def test_blocks_of_floats(eps: float) -> None:
    """The quotient shortcut for floats; an input at which actions cost the same goes with any block."""
    bit = sv.mechanisms.versus(discrete(7), [0, 2, 3, 5], eps)
    loss = [[float(F(v)) for v in row] for row in TIES]
    found = sv.is_universally_optimal(bit, discrete(7), eps, loss)
    assert found.holds
    assert "2 blocks (quotient)" in found.theorem
    response = sv.mechanisms.randomised_response(7, max(eps, 1e-3))
    assert sv.is_universally_optimal(response, discrete(7), max(eps, 1e-3), loss).holds is not True
    exact = sv.mechanisms.versus(discrete(7), [0, 2, 3], alpha=HALF)
    proved = sv.is_universally_optimal(exact, discrete(7), alpha=HALF, loss=TIES)
    assert proved.holds
    verified(proved)
    average = sv.is_universally_optimal(
        sv.Channel(H3.matrix), line(3), math.log(2), [[0.7, 0.0, 0.7], [0.3, 1.0, 0.3]]
    )
    assert average.holds and "quotient" in average.theorem


def test_no_theorem_takes_a_constant_for_a_kernel_at_a_small_eps() -> None:
    """1 and e^-1e-10 agree to nine digits, and yet the mechanism says nothing."""
    blind = sv.Channel([[1.0], [1.0], [1.0]])
    assert sv.is_universally_optimal(blind, line(3), 1e-10, sv.losses.absolute(3)).holds is not True
    assert sv.is_universally_optimal(blind, discrete(3), 1e-10, [[0, 1, 0], [1, 0, 0]]).holds is not True
    geometric = sv.mechanisms.truncated_geometric(3, 1e-10)
    assert sv.is_universally_optimal(geometric, line(3), 1e-10, sv.losses.absolute(3)).holds


def test_many_inputs_by_theorems_alone() -> None:
    """What `sievert design` says of more than twelve answers: yes, no with a rival, or not decided."""
    designed = sv.optimal_mechanism(line(40), 1.0, loss=sv.losses.absolute(40)).mechanism
    assert universal_by_theorem(designed, line(40), 1.0, sv.losses.absolute(40), None).holds
    folded = sv.optimal_mechanism(line(40), 0.2, loss=sv.losses.absolute(40)).mechanism
    found = universal_by_theorem(folded, line(40), 0.2, sv.losses.absolute(40), None)
    assert found.holds is False
    assert "Theorem SC" in found.theorem
    assert found.gap == pytest.approx(
        float(sv.remap(folded, found.prior, sv.losses.absolute(40)).after)
        - float(sv.remap(found.better, found.prior, sv.losses.absolute(40)).after)
    )
    assert str(found).count("0.5") == 2
    response = sv.mechanisms.randomised_response(15, 1.0)
    assert universal_by_theorem(response, discrete(15), 1.0, None, None).holds is False
    grid = sv.metrics.grid(4, 4)
    open_ = universal_by_theorem(sv.mechanisms.tight_constraints(grid, 1.0), grid, 1.0, None, None)
    assert open_.holds is None
    assert "no theorem speaks of it" in str(open_)


def test_odd_cycles_of_pairs_exclude_universal_optima_under_the_discrete_metric() -> None:
    response = sv.mechanisms.randomised_response(9, alpha="1/3")
    found = sv.is_universally_optimal(response, discrete(9), alpha="1/3", loss=sv.losses.absolute(9))
    assert found.holds is False
    assert not found.worst
    assert "Thm 6.33" in found.theorem
    verified(found)
    floats = sv.is_universally_optimal(sv.mechanisms.randomised_response(9, 1.0), discrete(9), 1.0)
    assert floats.holds is False


def test_the_third_answer_says_what_is_known() -> None:
    """With little effort: no prior for which another is better is known, but how large a gap may be."""
    geometric = sv.mechanisms.truncated_geometric(5, alpha=HALF)
    loss = [[0, 2, 3, 1, 4], [1, 0, 2, 5, 1], [3, 1, 0, 2, 2], [2, 2, 2, 0, 1]]
    all_of_it = sv.design.universal_gap(geometric, line(5), alpha=HALF, loss=loss)
    assert all_of_it.holds is False
    assert all_of_it.worst
    for effort in (1, 60, 200, 600):
        found = sv.is_universally_optimal(geometric, line(5), alpha=HALF, loss=loss, effort=effort)
        assert found.holds in (False, None)
        assert found.bound is not None
        assert (found.gap or 0) <= all_of_it.gap <= found.bound
        assert ("not decided within this effort" in str(found)) is (found.holds is None)
        assert not found.worst or found.gap == all_of_it.gap
    few = sv.is_universally_optimal(geometric, line(5), alpha=HALF, loss=loss, effort=1)
    assert few.holds is None
    assert few.gap is None
    assert "for none is the gap larger than" in str(few)


def test_more_inputs_than_cells_can_be_listed_for() -> None:
    """The cube of three bits: a prior for which another mechanism is better is found without its cells."""
    cube = sv.metrics.hamming(3, 2)
    kernel = sv.mechanisms.tight_constraints(cube, alpha=HALF)
    found = sv.is_universally_optimal(kernel, cube, alpha=HALF, effort=1000)
    assert found.holds is False
    assert not found.worst
    assert found.gap == sv.remap(kernel, found.prior).after - sv.remap(found.better, found.prior).after
    verified(found)
    rounded = sv.Channel(kernel.matrix, kernel.inputs)
    floats = sv.is_universally_optimal(rounded, cube, math.log(2), effort=1000)
    assert floats.holds is False
    assert floats.gap < floats.bound  # type: ignore[operator]
    long = sv.metrics.line(40)
    far = sv.is_universally_optimal(
        sv.mechanisms.truncated_geometric(40, 1.0), long, 1.0, [[x % 2 for x in range(40)], [0.5] * 40]
    )
    assert far.holds is not True


def test_what_a_bit_of_the_cube_says() -> None:
    cube = sv.metrics.hamming(3, 2)
    parity = sv.losses.property(cube.points, lambda point: sum(point) % 2)
    by_weight = sv.Channel(
        [sv.mechanisms.truncated_geometric(4, alpha=HALF).exact[sum(p)].tolist() for p in cube.points],
        cube.points,
    )
    worse = sv.is_universally_optimal(by_weight, cube, alpha=HALF, loss=parity)
    assert (worse.holds, worse.gap, worse.worst) == (False, F(1, 6), True)
    verified(worse)


def corners_by_subsets(channel: Any, loss: Any) -> set[tuple[F, ...]]:
    """Points where n - 1 hyperplanes of ties and sides of the simplex meet: all corners, and more."""
    n = len(channel)
    sides = [[F(int(x == z)) for x in range(n)] for z in range(n)]
    ties = [
        [channel[x][y] * (F(v[x]) - F(w[x])) for x in range(n)]
        for y in range(len(channel[0]))
        for v, w in combinations(loss, 2)
    ]
    found = set()
    for rows in combinations([*sides, *ties], n - 1):
        whole = [[flint.fmpq(a.numerator, a.denominator) for a in row] for row in rows]
        matrix = flint.fmpq_mat([*whole, [flint.fmpq(1)] * n])
        if matrix.det() == 0:
            continue
        point = matrix.solve(flint.fmpq_mat([[0]] * (n - 1) + [[1]]))
        prior = tuple(F(int(point[x, 0].p), int(point[x, 0].q)) for x in range(n))
        if min(prior) >= 0:
            found.add(prior)
    return found


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_the_corners_of_cells_are_among_all_meeting_points_and_enough(seed: int) -> None:
    """Brute force over subsets of hyperplanes: no larger gap, and every corner is such a point."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    loss = rng.integers(0, 5, (3, n)).tolist()
    kernels = sv.geometry.kernels(discrete(n), HALF)
    channel = kernels[int(rng.integers(len(kernels)))].channel
    points = corners_by_subsets(channel.exact.tolist(), loss)
    table = np.array([[F(v) for v in row] for row in loss], dtype=object)
    corners = cell_priors(channel.exact, table)
    assert set(corners) <= points
    # The check cuts cells out of the simplex, and meets the same corners.
    require_corners(channel.exact, table, set(corners))
    for corner in corners:
        with pytest.raises(ValueError, match="missing"):
            require_corners(channel.exact, table, set(corners) - {corner})
    gaps = [
        sv.remap(channel, prior, loss).after
        - sv.optimal_mechanism(discrete(n), alpha=HALF, prior=prior, loss=loss).loss
        for prior in points
    ]
    assert sv.design.universal_gap(channel, discrete(n), alpha=HALF, loss=loss).gap == max(gaps)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_single_crossing_losses_have_no_gap_on_lines(seed: int) -> None:
    """Theorem SC against the cells: what the theorem promises, the linear programs find."""
    rng = np.random.default_rng(seed)
    loss = [[0, 0, 0], *np.cumsum(np.sort(rng.integers(-3, 4, (2, 3)), axis=1)[:, ::-1], axis=0).tolist()]
    geometric = sv.mechanisms.tight_constraints(line([0, 1, 3]), alpha="1/3")
    found = sv.is_universally_optimal(geometric, line([0, 1, 3]), alpha="1/3", loss=loss)
    cells = sv.design.universal_gap(geometric, line([0, 1, 3]), alpha="1/3", loss=loss)
    assert found.holds is cells.holds
    verified(found)
    verified(cells)
    floats = sv.design.universal_gap(
        sv.Channel(geometric.matrix, geometric.inputs),
        line([0, 1, 3]),
        math.log(3),
        np.array(loss, dtype=float),
    )
    if cells.holds:
        assert floats.holds is None  # rounding decides nothing
        assert float(floats.bound) <= 1e-7  # type: ignore[arg-type]
    else:
        assert floats.holds is False
        assert float(floats.gap) == pytest.approx(float(cells.gap), abs=1e-7)  # type: ignore[arg-type]


# ── Forgeries ───────────────────────────────────────────────────────────────────────────────────────────────


def cells_proof() -> UniversalProof:
    found = sv.design.universal_gap(H3, line(3), alpha=HALF, loss=AVERAGE)
    assert isinstance(found.certificate, UniversalProof)
    return found.certificate


def test_a_proof_by_cells_is_refused_when_one_rule_alone_fails() -> None:
    proof = cells_proof()
    assert proof.verify().holds
    fewer = replace(proof, priors=proof.priors[1:], prices=proof.prices[1:])
    assert "corner" in fewer.verify().statement
    moved = proof.prices.copy()
    moved[-1, 0] += F(1, 7)
    moved[-1, 1] -= F(1, 7)
    assert "exceed" in replace(proof, prices=moved).verify().statement
    low = proof.prices.copy()
    low[2] = low[2] - F(1, 100)
    assert "too low" in replace(proof, prices=low).verify().statement
    other = replace(proof, channel=G3.reduced().exact)
    assert not other.verify().holds
    leaking = replace(proof, alpha=F(2, 3))
    assert "not private" in leaking.verify().statement


def test_a_better_mechanism_is_refused_when_one_rule_alone_fails() -> None:
    found = sv.is_universally_optimal(RR3, discrete(3), alpha=HALF)
    both = found.certificate
    assert isinstance(both, LargestGapProof)
    assert both.verify().holds
    other = sv.design.universal_gap(G3, line(3), alpha=HALF, loss=AVERAGE).certificate
    assert isinstance(other, LargestGapProof)
    assert "different" in replace(both, most=other.most).verify().statement
    looser = replace(both.most, gap=both.most.gap * 2)
    assert looser.verify().holds
    assert "attained" in replace(both, most=looser).verify().statement
    proof = both.attained
    assert isinstance(proof, BetterForPriorProof)
    assert proof.verify().holds
    assert "no gap" in replace(proof, gap=proof.gap / 2).verify().statement
    better = sv.Channel.trusted(np.array([[F(1), F(0)], [F(0), F(1)], [F(0), F(1)]], dtype=object), "exact")
    assert "not private" in replace(proof, better=better.exact).verify().statement
    assert "distribution" in replace(proof, prior=proof.prior / 2).verify().statement


def test_a_theorem_is_refused_where_it_does_not_apply() -> None:
    found = sv.is_universally_optimal(G3, line(3), alpha=HALF, loss=sv.losses.absolute(3))
    proof = found.certificate
    assert isinstance(proof, UniversalByTheoremProof)
    assert proof.verify().holds
    for forged in (
        replace(proof, witness=proof.witness[::-1]),
        replace(proof, witness=proof.witness[:2]),
        replace(proof, theorem="trivial", witness=(0,)),
        replace(proof, theorem="pair", witness=(0, 1)),
        replace(proof, theorem="magic"),
        replace(proof, channel=H3.exact),
    ):
        assert not forged.verify().holds
    tree = replace(proof, theorem="tree", witness=())
    assert not tree.verify().holds  # the loss is no Bayes risk


def test_proofs_are_checked_where_the_solver_cannot_be_imported(tmp_path: Any) -> None:
    cases = {
        "cells": cells_proof(),
        "worse": sv.is_universally_optimal(RR3, discrete(3), alpha=HALF).certificate,
        "theorem": sv.is_universally_optimal(G3, line(3), alpha=HALF).certificate,
        "blocks": sv.is_universally_optimal(
            sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]]), discrete(3), alpha=HALF, loss=BIT
        ).certificate,
        "one prior": sv.is_optimal(G3, line(3), alpha=HALF, loss=AVERAGE).certificate,
        "regret": sv.design.minimax_regret(discrete(3), alpha=HALF).certificate,
    }
    assert isinstance(cases["blocks"], QuotientProof)
    assert isinstance(cases["regret"], RegretProof)
    for name, proof in cases.items():
        assert proof is not None
        (tmp_path / f"{name}.json").write_text(save_proof(proof), encoding="utf-8")
    code = (
        "import sys; sys.modules['highspy'] = sys.modules['scipy.optimize'] = None\n"
        "import sievert as sv\n"
        f"print(all(sv.verify({str(tmp_path)!r} + '/' + n + '.json').holds for n in {list(cases)}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_irrational_distances_are_rounded_where_answers_are_floats() -> None:
    metric = sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)])
    best = sv.optimal_mechanism(metric, 1.0).mechanism
    found = sv.is_universally_optimal(best, metric, 1.0)
    assert found.holds is not None
    assert not found.exact


def test_a_loss_in_floats_beside_an_exact_mechanism() -> None:
    """Floats stand for the fractions that they are, so a table of halves says what its fractions say."""
    mechanism, line = sv.mechanisms.truncated_geometric(3, alpha="1/2"), sv.metrics.line(3)
    rounded = [[0.5, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 1.0]]
    exact = [["1/2", 0, 0], [0, "1/4", 0], [0, 0, 1]]
    found = [sv.design.universal_gap(mechanism, line, loss=loss, alpha="1/2") for loss in (rounded, exact)]
    assert found[0].holds == found[1].holds and found[0].gap == found[1].gap


# ── Rounding decides nothing ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("eps", [1e-3, 1.0, 18.0, 20.0, 40.0, 700.0])
def test_thm_6_33_holds_for_every_epsilon(eps: float) -> None:
    response = sv.mechanisms.randomised_response(3, eps)
    assert sv.is_universally_optimal(response, discrete(3), eps).holds is False
    assert sv.design.universal_existence(discrete(3), eps).holds is False


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e-100, 1e9])
def test_the_unit_of_a_loss_does_not_matter(unit: float) -> None:
    bayes = unit * (np.ones((3, 3)) - np.eye(3))
    response = sv.mechanisms.randomised_response(3, 1.0)
    found = sv.is_universally_optimal(response, discrete(3), 1.0, bayes)
    assert found.holds is False
    assert float(found.gap) == pytest.approx(0.0489709 * unit, rel=1e-5)  # type: ignore[arg-type]
    average = unit * np.array([[0.7, 0, 0.7], [0.3, 1, 0.3]]) + unit * np.array([5.0, 0.0, 9.0])
    prior = sv.is_optimal(sv.mechanisms.truncated_geometric(3, 1.0), line(3), 1.0, loss=average)
    assert prior.holds is False
    assert prior.certificate.verify().holds
    least = sv.optimal_mechanism(line(3), 1.0, loss=average)
    assert least.gap <= 1e-8 * unit
    assert sv.is_optimal(least.mechanism, line(3), 1.0, loss=average).holds


def test_single_crossing_is_decided_in_fractions() -> None:
    """A difference of 1e-20 is none in floats, and parity on a line in fractions."""
    tiny = F(1, 10**20)
    loss = [[1, 0, 1], [1 - tiny, tiny, 1 - tiny]]
    found = sv.is_universally_optimal(G3, line(3), alpha=HALF, loss=loss)
    assert found.holds is False
    verified(found)
    exists = sv.design.universal_existence(line(3), alpha=HALF, loss=loss)
    assert exists.holds
    assert exists.mechanism is not None
    assert exists.mechanism.hyper().is_same(H3.hyper())


def test_an_epsilon_must_be_given() -> None:
    for question in (sv.is_universally_optimal, sv.design.universal_gap):
        with pytest.raises(MechanismError, match="neither eps nor alpha"):
            question(RR3, discrete(3))


def test_proofs_about_infinite_distances_and_merged_outputs_verify() -> None:
    far = math.inf
    apart = sv.Metric([[0, 1, far, far], [1, 0, far, far], [far, far, 0, 2], [far, far, 2, 0]])
    kernel = sv.geometry.kernels(apart, "1/3")[0].channel
    pair = sv.is_universally_optimal(kernel, apart, alpha="1/3", loss=[[0, 1, 1, 2], [2, 1, 1, 0]])
    assert pair.holds
    verified(pair)
    star = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3)])
    rows = [["5/7", "1/7", "1/7"], ["5/42", "1/42", "6/7"], ["5/42", "6/7", "1/42"], ["5/42", "1/42", "6/7"]]
    blocks = sv.is_universally_optimal(sv.Channel(rows), star, alpha="1/6", loss=[[2, 1, 0, 1], [2, 0, 1, 0]])
    assert isinstance(blocks.certificate, QuotientProof)
    verified(blocks)
    assert "on 4 inputs" in blocks.certificate.verify().statement
    empty = replace(blocks.certificate, blocks=(*blocks.certificate.blocks, ()))
    assert "no partition" in empty.verify().statement


@pytest.mark.parametrize("missing", [0, 1])
def test_a_small_file_cannot_make_verify_work_for_hours(missing: int) -> None:
    n = 12
    pairs = np.array([(i, j) for i in range(n) for j in range(i)][missing:])
    space = ProofSpace(n, pairs, np.ones(len(pairs)))
    ones = np.full((n, 1), F(1), dtype=object)
    loss = np.full((1, n), F(1), dtype=object)
    units = np.array([[F(int(x == z)) for x in range(n)] for z in range(n)], dtype=object)
    proof = UniversalProof(space, F(1, 2), ones, loss, units, units)
    found = proof.verify()
    assert found.holds if not missing else "cone of private columns" in found.statement
    table = np.array([[F(abs(x - w)) for x in range(n)] for w in range(n)], dtype=object)
    response = sv.mechanisms.randomised_response(n, alpha=HALF).exact
    free = ProofSpace(n, pairs[:0], np.ones(0))
    much = UniversalProof(free, F(1, 2), response, table, units, units * 0, F(50))
    assert "missing" in much.verify().statement


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10**6))
def test_costs_that_are_never_negative_by_shape_and_by_extreme_columns(n: int, seed: int) -> None:
    """Forests by what points pass on, uniform spaces by signs, against all extreme columns."""
    rng = np.random.default_rng(seed)
    path = [(i, i + 1) for i in range(n - 1)]
    shapes = [path, path[:-1], [(0, i) for i in range(1, n)], [(i, j) for i in range(n) for j in range(i)]]
    pairs = np.array(shapes[int(rng.integers(4))], dtype=np.intp).reshape(-1, 2)
    lengths = np.full(len(pairs), 2.0) if len(pairs) >= n else rng.integers(1, 3, len(pairs)).astype(float)
    proof = replace(cells_proof(), space=ProofSpace(n, pairs, lengths), alpha=F(1, 3))
    cost = np.array([F(int(v)) for v in rng.integers(-3, 9, n)], dtype=object)
    expected = not (proof.extreme_columns.dot(cost) < 0).any()
    assert proof.is_never_negative(cost) is expected


@pytest.mark.parametrize("eps", [1e-6, 3e-9, 1e-9, 1e-10, 1e-12])
def test_a_small_level_makes_no_large_gap(eps: float) -> None:
    # No private mechanism gains more than ε over saying nothing, so no gap is larger.
    metric, loss = sv.metrics.discrete(3), [[0, 1, 1], [1, 0, 0]]
    response = sv.mechanisms.randomised_response(3, eps)
    found = sv.is_universally_optimal(response, metric, eps, loss)
    assert found.gap is None or found.gap <= eps
    if found.holds is False:
        assert found.better is not None
        assert sv.is_private(found.better, metric, eps * (1 + 1e-6))
    best = sv.mechanisms.versus(metric, [0], eps)
    assert sv.is_universally_optimal(best, metric, eps, loss).holds is not False
