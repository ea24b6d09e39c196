"""Every number of the sources about optimal mechanisms, and every erratum: theirs fails, ours holds."""

import math
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sievert as sv
from sievert.measures import losses
from sievert.measures.losses import lifted, restricted
from sievert.spaces import Edges
from sievert.spaces.graphs import random_tree


def expected_loss(channel: sv.Channel, prior: Any = None, loss: Any = None) -> Any:
    """What is lost with the best action for each output."""
    return sv.remap(channel, prior, loss).after


HALF = "1/2"
FloatArray = NDArray[np.float64]


def line(n: int) -> sv.Metric:
    return sv.metrics.line(n)


def best(metric: sv.Metric, loss: Any = None, prior: Any = None, alpha: Any = HALF) -> F:
    found = sv.optimal_mechanism(metric, alpha=alpha, prior=prior, loss=loss)
    assert found.gap == 0 and found.certificate.verify().holds
    assert isinstance(found.loss, F)
    return found.loss


class TestFernandesDiscrete:
    """Chapter 6, at e^-ε = 1/2 unless said."""

    def test_example_6_1(self) -> None:
        channel = sv.Channel(
            [["3/4", "1/8", "1/8"], ["2/3", 0, "1/3"], ["1/4", "1/4", "1/2"]], inputs=["T", "A", "S"]
        )
        loss = sv.losses.matrix([[0, 1, 1], [1, 0, 0]], secrets=["T", "A", "S"])
        found = sv.remap(channel, None, loss)
        assert found.after == found.without_release == F(1, 3)
        assert expected_loss(channel, ["1/2", "1/4", "1/4"], loss) == F(17, 48)

    def test_geometric_on_three_points(self) -> None:
        found = sv.optimal_mechanism(line(3), alpha=HALF)
        assert found.mechanism.exact is not None
        assert found.mechanism.exact.tolist() == [
            [F(2, 3), F(1, 6), F(1, 6)],
            [F(1, 3), F(1, 3), F(1, 3)],
            [F(1, 6), F(1, 6), F(2, 3)],
        ]

    def test_average_or_not(self) -> None:
        """Sec 6.7.3: the geometric mechanism is useless here and H is best, for every prior (4.10)."""
        loss = sv.losses.matrix([["7/10", 0, "7/10"], ["3/10", 1, "3/10"]])
        h = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
        geometric = sv.mechanisms.truncated_geometric(3, alpha=HALF)
        assert expected_loss(h, None, loss) == best(line(3), loss) == F(2, 5)
        found = sv.remap(geometric, None, loss)
        assert found.after == found.without_release == F(7, 15)
        rng = np.random.default_rng(0)
        for _ in range(20):
            prior = [F(int(v), 1) for v in rng.integers(0, 20, 3) + np.array([1, 0, 0])]
            prior = [p / sum(prior) for p in prior]
            assert expected_loss(h, prior, loss) == best(line(3), loss, prior)

    def test_example_6_5_and_erratum_16(self) -> None:
        """Zeros at (w1, x3) and (w2, x1); randomised response is not optimal."""
        loss = sv.losses.matrix([[3, 1, 0], [0, 1, 3]])
        discrete = sv.metrics.discrete(3)
        k_a = sv.Channel([["1/3", "2/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
        k_b = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
        response = sv.mechanisms.randomised_response(3, alpha=HALF)
        assert expected_loss(k_a, None, loss) == expected_loss(k_b, None, loss) == 1
        assert expected_loss(response, None, loss) == F(13, 12)
        assert best(discrete, loss) == 1
        # With zeros as printed w1 → x3, w2 → x1 is no monotone map: the other one is.
        printed = sv.losses.matrix([[0, 1, 3], [3, 1, 0]])
        maps = [sv.losses.classify_loss(item, discrete).monotonic for item in (loss, printed)]
        assert maps == [{0: 2, 1: 0}, {0: 0, 1: 2}]
        assert (loss.matrix[0, 2], printed.matrix[0, 2]) == (0, 3)

    def test_tall_average_short_and_erratum_4(self) -> None:
        """The thesis prints 3/4 and 2/3: the factor 1/3 of the prior is forgotten."""
        loss = sv.losses.matrix([[0, 1, 0], [1, 0, 0]])
        response = sv.mechanisms.randomised_response(3, alpha=HALF)
        k = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
        assert expected_loss(response, None, loss) == F(1, 4) != F(3, 4)
        assert expected_loss(k, None, loss) == F(2, 9) != F(2, 3)
        assert best(sv.metrics.discrete(3), loss) == F(2, 9)

    def test_one_against_the_rest(self) -> None:
        """Thm 6.28: a kernel equal to T on a pair, so best for losses extended on it; T has ratio 2."""
        k = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
        loss = lifted(sv.losses.bayes_risk([0, 1]), [0, 1, 2])
        assert expected_loss(k, None, loss) == best(sv.metrics.discrete(3), loss) == F(2, 9)

    def test_two_actions_on_the_discrete_metric(self) -> None:
        """4.8: one bit is best for every prior, whatever the two actions cost."""
        rng = np.random.default_rng(2)
        for _ in range(20):
            n = int(rng.integers(3, 6))
            table, weights = rng.integers(0, 9, (2, n)), rng.integers(1, 9, n)
            prior = [F(int(w), int(weights.sum())) for w in weights]
            loss = sv.losses.matrix(table.tolist())
            bit = (table[0] < table[1]).astype(int)
            rows = [["2/3", "1/3"] if b else ["1/3", "2/3"] for b in bit]
            reached = expected_loss(sv.Channel(rows), prior, loss)
            assert reached == best(sv.metrics.discrete(n), loss, prior)
            floats = sv.optimal_mechanism(sv.metrics.discrete(n), math.log(2), prior, loss, method="closed")
            assert floats.gap < 1e-12

    def test_hamming_cube(self) -> None:
        cube = sv.metrics.hamming(3, 2)
        assert best(cube) == F(19, 27)
        assert float(sv.optimal_mechanism(cube, math.log(2), loss=sv.losses.distance(cube)).loss) == (
            pytest.approx(1, abs=1e-12)
        )
        heavy = sv.losses.property(cube.points, lambda point: sum(point) >= 2)
        assert best(cube, heavy) == F(7, 24)
        weights = [sum(point) for point in cube.points]
        rows = [sv.mechanisms.truncated_geometric(4, alpha=HALF).exact[w].tolist() for w in weights]
        by_weight = sv.Channel(rows, inputs=cube.points)
        assert expected_loss(by_weight, None, sv.losses.bayes_risk(cube.points)) == F(3, 4)
        hamming_loss = sv.losses.matrix(cube.matrix.astype(int), cube.points, secrets=cube.points)
        assert expected_loss(by_weight, None, hamming_loss) == F(9, 8)
        assert expected_loss(by_weight, None, heavy) == F(7, 24)

    def test_printed_privacy_is_unsatisfiable_erratum_2(self) -> None:
        """With the exponent on the wrong side in one line no positive column is left; as corrected G is."""
        channel = sv.mechanisms.truncated_geometric(3, alpha=HALF).exact
        for column in channel.T:
            pairs = [(column[x], column[z]) for x in range(3) for z in range(3) if abs(x - z) == 1]
            assert all(2 * b - a >= 0 for a, b in pairs)
            assert not all(b - 2 * a >= 0 for a, b in pairs)

    def test_post_processing_keeps_privacy_not_the_reverse_erratum_3(self) -> None:
        private = sv.mechanisms.truncated_geometric(3, alpha=HALF)
        truth = sv.Channel(np.eye(3, dtype=int))
        assert sv.refines(truth, private).holds and not sv.is_private(truth, line(3), math.log(2))
        merged = private.then(sv.Channel([[1, 0], [0, 1], [0, 1]]))
        assert sv.is_private(merged, line(3), math.log(2))

    def test_lift_of_the_loss_erratum_6(self) -> None:
        """Optimal on a pair carries over to the lift of the loss, not to any loss extended on the pair."""
        k = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
        lift = lifted(sv.losses.matrix([[0, 3], [1, 0]], secrets=[0, 1]), [0, 1, 2])
        assert expected_loss(k, None, lift) == best(sv.metrics.discrete(3), lift)

    def test_two_points_have_a_universal_optimum_erratum_12(self) -> None:
        """For one step, or ε 0 or ∞, the impossibility fails: T is best whatever the loss."""
        t = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"]])
        rng = np.random.default_rng(3)
        for _ in range(15):
            loss = sv.losses.matrix(rng.integers(0, 9, (3, 2)).tolist())
            weight = F(int(rng.integers(1, 9)), 10)
            prior = [weight, 1 - weight]
            assert expected_loss(t, prior, loss) == best(line(2), loss, prior)

    def test_the_reversed_response_erratum_14(self) -> None:
        """With alpha on the diagonal it is the other kernel: private, but it points away from the truth."""
        reversed_response = sv.Channel([["1/5" if x == y else "2/5" for y in range(3)] for x in range(3)])
        assert sv.epsilon(reversed_response, sv.metrics.discrete(3)).exact == 2
        assert expected_loss(reversed_response) > expected_loss(
            sv.mechanisms.randomised_response(3, alpha=HALF)
        )

    def test_one_against_the_rest_is_a_channel_erratum_15(self) -> None:
        """Thm 6.28 prints the joint; the channel's entries are 1/(1+alpha) and alpha/(1+alpha)."""
        found = sv.optimal_mechanism(
            sv.metrics.discrete(3), alpha=HALF, loss=lifted(sv.losses.bayes_risk([0, 1]), [0, 1, 2])
        )
        assert found.mechanism.exact is not None
        assert sorted(found.mechanism.exact[0].tolist())[-1] == F(2, 3)
        assert found.mechanism.exact[1].min() == F(1, 3)

    def test_restriction_is_not_optimal_erratum_5(self) -> None:
        """Cor 6.23 fails: G restricted to the ends loses 1/4, T at distance 2 loses 1/5."""
        ends = sv.Channel(sv.mechanisms.truncated_geometric(3, alpha=HALF).exact[[0, 2]].tolist())
        assert expected_loss(ends) == F(1, 4)
        assert best(sv.metrics.line([0, 2])) == F(1, 5)

    def test_maximum_likelihood_is_an_argmax_erratum_17(self) -> None:
        channel = sv.Channel([["3/4", "1/4"], ["1/3", "2/3"]])
        assert sv.remap(channel).actions == {0: 0, 1: 1}
        # The actual prior stays in: a strong one outvotes the output.
        assert sv.remap(channel, ["9/10", "1/10"]).actions == {0: 0, 1: 0}

    @pytest.mark.parametrize("alpha", ["1/10", "1/3", "1/2", "9/10"])
    def test_discrete_bayes_closed_form(self, alpha: str) -> None:
        """6.5: V* = max_k S_k/(1 + (k-1)·alpha)."""
        rng = np.random.default_rng(5)
        for _ in range(6):
            weights = rng.integers(0, 30, 5) + np.array([1, 0, 0, 0, 0])
            prior = sorted((F(int(w), int(weights.sum())) for w in weights), reverse=True)
            values = [sum(prior[: k + 1]) / (1 + k * F(alpha)) for k in range(5)]
            assert 1 - best(sv.metrics.discrete(5), None, prior, alpha) == max(values)
            floats = sv.optimal_mechanism(
                sv.metrics.discrete(5), -math.log(float(F(alpha))), prior, method="closed"
            )
            assert floats.gap < 1e-12 and 1 - float(floats.loss) == pytest.approx(float(max(values)))

    @pytest.mark.parametrize("seed", range(15))
    def test_trees_with_bayes_risk(self, seed: int) -> None:
        """Theorem TREE-BAYES: V* = Σ_y a_y·max_w π_w·e^(-d(w,y)) where every weight is ≥ 0."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 14))
        graph = random_tree(n, rng)
        lengths = 1.2 + 2 * rng.random(n - 1)
        metric = sv.Metric.from_edges(Edges(graph.edges, lengths), None, n)
        prior = rng.dirichlet(np.ones(n))
        found = sv.optimal_mechanism(metric, 1.0, prior, method="closed")
        kernel = np.exp(-metric.matrix)
        weights = np.linalg.solve(kernel, np.ones(n))
        expected = np.ones(n)
        for (a, b), length in zip(graph.edges, lengths, strict=True):
            expected[[a, b]] -= 1 / (1 + math.exp(length))
        assert weights == pytest.approx(expected)
        program = sv.optimal_mechanism(metric, 1.0, prior, method="program")
        assert program.gap < 1e-10
        if weights.min() >= 0:
            value = float((weights * (prior[:, None] * kernel).max(axis=0)).sum())
            assert 1 - float(found.loss) == pytest.approx(value, abs=1e-12)
            assert found.gap < 1e-12
            assert float(program.loss) == pytest.approx(float(found.loss), abs=1e-10)

    def test_a_star_without_kernel_needs_the_program(self) -> None:
        star = sv.metrics.from_graph([(0, i) for i in range(1, 6)])
        for alpha, exists in (("1/5", True), ("1/4", True), ("1/3", False)):
            found = sv.optimal_mechanism(star, -math.log(float(F(alpha))), [0.1, 0.3, 0.2, 0.2, 0.1, 0.1])
            assert ("TREE-BAYES" in found.method) is exists
            assert found.gap < 1e-10

    def test_galton_heights(self) -> None:
        """Section 10: children Tall, Average, Short; ε = ln 4."""
        prior = [F(402, 928), F(258, 928), F(268, 928)]
        channels = [
            sv.mechanisms.randomised_response(3, alpha="1/4"),
            sv.Channel([["4/5", "1/5"], ["1/5", "4/5"], ["4/5", "1/5"]]),
            sv.mechanisms.truncated_geometric(3, alpha="1/4"),
        ]
        table = {
            "extended": (
                [[0, 1, 0], [1, 0, 0]],
                (0.278017, 0.164871, 0.142241, 0.142241, 0.142241, 0.142241),
            ),
            "bayes": (
                (1 - np.eye(3, dtype=int)).tolist(),
                (0.566810, 0.333333, 0.431034, 0.255603, 0.333333, 0.255603),
            ),
            "6.7.3": (
                [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]],
                (0.494612, 0.357399, 0.329957, 0.371121, 0.329957, 0.329957),
            ),
            "absolute": (
                [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
                (0.721983, 0.453664, 0.662069, 0.291703, 0.453664, 0.291703),
            ),
        }
        for rows, values in table.values():
            loss = sv.losses.matrix(rows)
            before = sv.remap(channels[0], prior, loss).without_release
            found = [before, *(expected_loss(channel, prior, loss) for channel in channels)]
            found += [best(sv.metrics.discrete(3), loss, prior, "1/4"), best(line(3), loss, prior, "1/4")]
            assert [float(value) for value in found] == pytest.approx(list(values), abs=6e-7)

    def test_balanced_cuts_are_needed(self) -> None:
        """With cuts at 66 and 70 inches and ε = ln 2 nothing can be told: the prior loss is the best."""
        # Galton's children from the bin at 61.7 inches to the one at 73.7.
        bins = [5, 7, 32, 59, 48, 117, 138, 120, 167, 99, 64, 41, 17, 14]
        assert (sum(bins[8:]), sum(bins[6:8]), sum(bins[:6])) == (402, 258, 268)
        prior = [F(sum(part), 928) for part in (bins[9:], bins[5:9], bins[:5])]
        tables: list[Any] = [
            [[0, 1, 0], [1, 0, 0]],
            [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
            [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]],
            [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
        ]
        for table, metric in product(tables, (sv.metrics.discrete(3), line(3))):
            loss = sv.losses.matrix(table)
            blind = sv.remap(sv.Channel([[1], [1], [1]]), prior, loss).without_release
            assert best(metric, loss, prior) == blind


class TestLines:
    """Chapter 7, 4.2 and 4.4: single-crossing losses and the certificate."""

    @pytest.mark.parametrize("seed", range(40))
    def test_single_crossing_is_certified(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 20)), int(rng.integers(2, 12))
        points = np.cumsum(0.1 + 2 * rng.random(n))
        guesses = np.sort(points[0] + (points[-1] - points[0]) * rng.random(m))
        kinds = [
            sv.losses.absolute(points.tolist(), guesses.tolist()),
            sv.losses.squared(points.tolist(), guesses.tolist()),
            sv.losses.pinball(points.tolist(), 0.8, guesses.tolist()),
            sv.losses.bayes_risk(points.tolist()),
            sv.losses.threshold(points.tolist(), float(points[n // 2])),
        ]
        loss = kinds[seed % 5]
        prior = rng.dirichlet(np.ones(n))
        assert (
            sv.losses.classify_loss(loss).single_crossing is not None
            or sv.losses.classify_loss(loss).trivial is not None
        )
        metric = sv.metrics.line(points.tolist())
        found = sv.optimal_mechanism(metric, 0.7, prior, loss, method="closed")
        assert found.gap <= 1e-11 * max(1.0, float(np.max(loss.table)))
        assert sv.design.geometric_optimality(points.tolist(), 0.7, prior, loss).holds

    def test_a_loss_that_crosses_twice_is_refused(self) -> None:
        loss = sv.losses.matrix([[1, 0, 1], [0, 1, 0]])
        assert sv.losses.classify_loss(loss).single_crossing is None
        prior = ["1/4", "1/2", "1/4"]
        verdict = sv.design.geometric_optimality(3, alpha=HALF, prior=prior, loss=loss)
        assert not verdict.holds
        found = sv.optimal_mechanism(line(3), math.log(2), prior, loss)
        assert "program" in found.method and found.gap < 1e-12
        assert float(found.loss) < float(verdict.loss) - 1e-3

    def test_adjacent_pairs_are_not_enough(self) -> None:
        """4.2: if only adjacent actions cross once the claim fails."""
        rng = np.random.default_rng(0)
        failures = 0
        for _ in range(4000):
            table = rng.integers(0, 6, (3, 4)).astype(float)
            adjacent = all(
                len({*np.sign(row[row != 0])}) == 2 and (np.diff(np.sign(row[row != 0])) != 0).sum() == 1
                for row in np.diff(table, axis=0)
            )
            first = [row[row != 0][0] for row in np.diff(table, axis=0) if (row != 0).any()]
            if (
                not adjacent
                or min(first) < 0
                or sv.losses.classify_loss(sv.losses.matrix(table)).single_crossing
            ):
                continue
            prior = rng.dirichlet(np.ones(4))
            failures += not sv.design.geometric_optimality(4, 0.7, prior, table).holds
        assert failures > 0

    @pytest.mark.parametrize("seed", range(60))
    def test_the_certificate_agrees_with_the_program(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        table, prior = rng.random((m, n)), rng.dirichlet(np.ones(n))
        verdict = sv.design.geometric_optimality(n, 1.0, prior, table)
        program = sv.optimal_mechanism(line(n), 1.0, prior, table, method="program")
        assert verdict.holds == (float(verdict.loss) <= float(program.loss) + 1e-9)
        if verdict.column is not None:
            ratios = np.diff(np.log(np.array(verdict.column, dtype=float)))
            assert np.abs(ratios) == pytest.approx(1.0)

    def test_section_7_6(self) -> None:
        """e^-ε = 1/16 over the unit interval: G_2 has 1/4 a step, G_4 has 1/2."""
        three, five = sv.losses.bayes_risk(3), sv.losses.bayes_risk(5)
        g2, g4 = (sv.mechanisms.truncated_geometric(n, alpha=a) for n, a in ((3, "1/4"), (5, HALF)))
        assert expected_loss(g2, None, three) == best(line(3), three, None, "1/4") == F(4, 15)
        assert expected_loss(g4, None, five) == best(line(5), five) == F(8, 15)
        absolute = sv.losses.absolute([0, 1, 2])
        assert expected_loss(g2, None, absolute) / 2 == F(3, 20)
        assert expected_loss(g4, None, sv.losses.absolute(5)) / 4 == F(49, 240)
        restricted_g4 = sv.Channel(g4.exact[[0, 2, 4]].tolist())
        assert expected_loss(restricted_g4, None, three) == F(1, 3)
        assert expected_loss(restricted_g4, None, sv.losses.absolute([0, 1, 2])) / 2 == F(13, 72)

    @pytest.mark.parametrize("parts", [4, 8, 16])
    def test_finer_grids_forbid_the_coarse_optimum(self, parts: int) -> None:
        """Private on a finer grid, 1/3 is the best for the three points, which Laplace attains."""
        n = parts + 1
        prior = np.zeros(n)
        prior[[0, parts // 2, parts]] = 1 / 3
        table = np.ones((3, n))
        table[[0, 1, 2], [0, parts // 2, parts]] = 0
        found = sv.optimal_mechanism(line(n), 4 * math.log(2) / parts, prior, table)
        assert float(found.loss) == pytest.approx(1 / 3, abs=1e-12) and found.gap < 1e-11

    def test_the_parity_consumer(self) -> None:
        parity = sv.losses.matrix([[1, 0, 1, 0, 1], [0, 2, 0, 2, 0]])
        g4 = sv.mechanisms.truncated_geometric(5, alpha=HALF)
        m2 = sv.Channel([["2/3", "1/6", "1/6"]] * 2 + [["1/3", "1/3", "1/3"]] * 2 + [["1/6", "1/6", "2/3"]])
        assert expected_loss(g4, None, parity) == F(7, 12)
        assert expected_loss(m2, None, parity) == F(17, 30)
        assert best(line(5), parity) == F(7, 15)
        assert expected_loss(m2, None, sv.losses.bayes_risk(5)) == F(2, 3)
        assert expected_loss(m2, None, sv.losses.absolute(5)) / 4 == F(31, 120)
        assert sv.refines(g4, m2).holds is False

    @pytest.mark.parametrize(
        "eps, n, k, value",
        [
            (1.0, 24, 4, 0.6599455399),
            (4 * math.log(2), 24, 4, 0.5325696428),
            (4 * math.log(2), 20, 5, 0.6038765969),
            (8.0, 24, 3, 0.2202898304),
        ],
    )
    def test_step_losses(self, eps: float, n: int, k: int, value: float) -> None:
        """5.5: guess the cell of k; the geometric mechanism is the best on the grid."""
        cells = np.arange(n) * k // n
        table = (np.arange(k)[:, None] != cells[None, :]).astype(float)
        found = sv.optimal_mechanism(line(n), eps / (n - 1), None, table, method="closed")
        assert found.gap < 1e-11
        assert float(found.loss) == pytest.approx(value, abs=1.1e-10)


class TestAlvim:
    def test_theorem_28_on_symmetric_spaces(self) -> None:
        """Uniform prior: the best guess is right with probability γ = 1/Σ_d n_d·e^(-εd)."""
        spaces = [
            sv.metrics.cycle(7),
            sv.metrics.hamming(2, 3),
            sv.graphs.petersen().metric(),
            sv.graphs.truncated_tetrahedron().metric(),
            sv.graphs.chang(1).metric(),
        ]
        for metric in spaces:
            found = sv.optimal_mechanism(metric, 0.8)
            gamma = 1 / np.exp(-0.8 * metric.matrix[0]).sum()
            assert 1 - float(found.loss) == pytest.approx(gamma, abs=1e-12)
            assert found.gap < 1e-12 and "Thm 27/28" in found.method
            assert found.mechanism.matrix == pytest.approx(gamma * np.exp(-0.8 * metric.matrix), abs=1e-12)

    def test_example_30(self) -> None:
        """Six cities: with the prior of the example neither mechanism shown is optimal; 0.32 is."""
        clique = sv.metrics.discrete(6)
        noise = sv.mechanisms.truncated_geometric(6, eps=math.log(2) / 5)
        response = sv.mechanisms.randomised_response(6, alpha=HALF)
        assert 1 - expected_loss(noise) == pytest.approx(0.224337, abs=1e-6)
        assert 1 - expected_loss(response) == F(2, 7)
        assert 1 - best(clique) == F(2, 7)
        prior = ["1/10", "1/5", "1/5", "1/5", "1/5", "1/10"]
        assert 1 - expected_loss(noise, prior) == pytest.approx(0.241522, abs=1e-6)
        assert 1 - expected_loss(response, prior) == F(2, 7)
        assert 1 - best(clique, None, prior) == F(32, 100)

    def test_example_31_and_remark_29(self) -> None:
        """A ring added to the line keeps privacy but not optimality: 8/21 against 4/9."""
        ring = sv.optimal_mechanism(sv.metrics.cycle(6), alpha=HALF).mechanism
        assert ring.exact is not None and ring.exact[0].tolist() == [F(v, 21) for v in (8, 4, 2, 1, 2, 4)]
        assert 1 - expected_loss(ring) == F(8, 21)
        assert sv.epsilon(ring, line(6)).nats <= math.log(2) + 1e-15
        assert 1 - best(line(6)) == F(4, 9)
        truncated = sv.mechanisms.truncated_geometric(6, alpha=HALF)
        assert sv.epsilon(truncated, sv.metrics.cycle(6)).nats == pytest.approx(5 * math.log(2))

    def test_through_a_query(self) -> None:
        """The optimal noise for the induced answer graph, and the policy kept by the whole pipeline."""
        policy = sv.Policy.blowfish(sv.secrets.line(4), records=2)
        query = sv.Query.sum()
        found = sv.optimal_mechanism(policy, 0.9, loss=sv.losses.absolute(7), query=query)
        assert sv.epsilon(found.mechanism, policy, query).nats <= 0.9 * (1 + 1e-12)
        assert found.mechanism.inputs == query.answers(policy).labels
        pipeline = found.mechanism.after(query, policy)
        assert sv.epsilon(pipeline, policy).nats <= 0.9 * (1 + 1e-12)

    def test_known_priors_agree_with_the_limits(self) -> None:
        """Point 8: the largest posterior vulnerability under a prior is 1 minus the least Bayes risk."""
        prior = [0.4, 0.1, 0.2, 0.3]
        metric = sv.metrics.cycle(4)
        worst = sv.worst_leakage(metric, 0.7, prior=prior)
        found = sv.optimal_mechanism(metric, 0.7, prior)
        assert 1 - float(found.loss) == pytest.approx(worst.lower.factor * max(prior), rel=1e-9)


class TestSpanner:
    """7.6 on the 8 by 8 grid: edges, true dilation and loss."""

    @pytest.mark.parametrize(
        "target, edges, dilation, loss",
        [(1.42, 112, 1.4142, 1.644249), (1.1, 210, 1.0823, 1.494739)],
    )
    def test_measured(self, target: float, edges: int, dilation: float, loss: float) -> None:
        metric = sv.metrics.euclidean([(i, j) for i in range(8) for j in range(8)])
        found = sv.optimal_mechanism(
            metric, 1.0, None, sv.losses.distance(metric), method="spanner", stretch=target
        )
        assert f"spanner with {edges} of 2016 pairs, dilation {dilation:.4f}" in found.method
        assert float(found.loss) == pytest.approx(loss, abs=1e-6)
        assert sv.epsilon(found.mechanism, metric).nats <= 1 + 1e-12


def test_restricting_a_loss_keeps_its_expected_value() -> None:
    """Lem 6.18: with all belief on S only the rows and losses of S count."""
    channel = sv.mechanisms.truncated_geometric(4, alpha=HALF)
    loss = sv.losses.absolute(4)
    part = restricted(loss, [1, 3])
    rows = sv.Channel(channel.exact[[1, 3]].tolist(), inputs=[1, 3])
    assert expected_loss(rows, ["1/3", "2/3"], part) == expected_loss(channel, [0, "1/3", 0, "2/3"], loss)


@pytest.mark.parametrize("eps", [1e-6, 0.1, 1.0, 5.0, 40.0, 700.0])
@pytest.mark.parametrize("loss", [losses.absolute, losses.squared, losses.bayes_risk])
def test_floats_agree_that_the_geometric_is_optimal(loss: Any, eps: float) -> None:
    """Every prior and every loss that grows with the distance (Ghosh et al. 2009), rounding or not."""
    for size in (3, 5, 21):
        skewed = np.arange(1, size + 1) / (size * (size + 1) / 2)
        for prior in (None, skewed):
            assert sv.design.geometric_optimality(size, eps, prior, loss(size)).holds


def test_floats_find_the_better_column() -> None:
    table = losses.matrix([[7, 0, 7], [3, 10, 3]])
    exact = sv.design.geometric_optimality(3, alpha="1/2", loss=table)
    found = sv.design.geometric_optimality(3, math.log(2), loss=table)
    assert not found.holds and found.action == exact.action
    assert found.column == pytest.approx([1, 0.5, 1])
    assert found.loss == pytest.approx(float(exact.loss), rel=1e-12)
