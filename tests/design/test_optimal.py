"""Optimal mechanisms: private to the last bit, certified, and equal to an independent program's optimum."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import sievert as sv
from sievert import testing
from sievert.errors import GainError, MechanismError, PriorError, TooLargeError
from sievert.spaces import Edges, closure


def expected_loss(channel: sv.Channel, prior: Any = None, loss: Any = None) -> Any:
    """What is lost with the best action for each output."""
    return sv.remap(channel, prior, loss).after


FloatArray = NDArray[np.float64]


def euclidean_grid(side: int) -> sv.Metric:
    return sv.metrics.euclidean(list(product(range(side), repeat=2)))


def plain_program(distances: FloatArray, eps: float, prior: FloatArray, loss: FloatArray) -> float:
    """The textbook program on all pairs, by another solver interface."""
    n, m = len(prior), len(loss)
    rows = []
    for x, z in product(range(n), repeat=2):
        if x != z and np.isfinite(distances[x, z]):
            for w in range(m):
                row = np.zeros((n, m))
                row[x, w], row[z, w] = -1.0, math.exp(-eps * distances[x, z])
                rows.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(m))
    limits = {"A_ub": np.array(rows), "b_ub": np.zeros(len(rows))} if rows else {}
    found = linprog((prior[:, None] * loss.T).ravel(), A_eq=sums, b_eq=np.ones(n), **limits)
    return float(found.fun)


def check(best: sv.results.OptimalMechanism, metric: sv.Metric, eps: float, gap: float = 1e-9) -> FloatArray:
    """What every design must satisfy; returns its matrix."""
    matrix = best.mechanism.matrix
    assert best.lower_bound <= best.loss
    assert best.gap <= gap
    if best.mechanism.form == "exact":
        assert (best.mechanism.exact.sum(axis=1) == 1).all()
    else:
        assert (matrix.sum(axis=1) == 1.0).all()
        assert (matrix[:, ::-1].cumsum(axis=1)[:, -1] == 1.0).all()
        assert (matrix * 2.0**53 == np.round(matrix * 2.0**53)).all()
    assert best.certificate.verify().holds
    assert sv.epsilon(best.mechanism, metric).nats <= eps * (1 + 1e-12)
    return matrix


@pytest.mark.parametrize("eps", [0.5, 1, 2])
@pytest.mark.parametrize("n", [2, 5, 20, 60])
def test_lines_by_the_closed_form(n: int, eps: float) -> None:
    metric = sv.metrics.line(n)
    best = sv.optimal_mechanism(metric, eps, None, sv.losses.absolute(n))
    check(best, metric, eps)
    geometric = sv.mechanisms.truncated_geometric(n, eps)
    assert float(expected_loss(geometric, None, sv.losses.absolute(n))) == pytest.approx(
        float(best.loss), abs=1e-11
    )
    assert "two inputs" in best.method if n == 2 else "geometric" in best.method


@pytest.mark.parametrize(
    ("n", "kind", "most"),
    [(300, "squared", 1e-9), (300, "absolute", 2e-11), (1000, "absolute", 1e-10), (1000, "squared", 1.5e-8)],
)
def test_long_lines_are_off_by_about_a_unit_for_each_answer(n: int, kind: str, most: float) -> None:
    """Every answer has at least 2^-53 everywhere: 1.0e-8 of the squared loss on 1000 places."""
    best = sv.optimal_mechanism(sv.metrics.line(n), 1, None, getattr(sv.losses, kind)(n))
    assert "geometric" in best.method and best.certificate.verify().holds
    assert 0 <= best.gap <= most * float(best.loss)


SPEC_VALUES = [
    ("line 10", sv.metrics.line(10), 0.5, sv.losses.absolute(10), 1.369319693),
    ("grid 6", euclidean_grid(6), 1.0, None, 1.324117015),
    ("grid 7", euclidean_grid(7), 1.0, None, 1.394617469),
    ("grid 8", euclidean_grid(8), 1.0, None, 1.449671254),
    ("discrete 10", sv.metrics.discrete(10), 1.0, sv.losses.absolute(10), 2.099247696),
    ("discrete 20", sv.metrics.discrete(20), 1.0, sv.losses.absolute(20), 4.259860244),
    ("discrete 50", sv.metrics.discrete(50), 1.0, sv.losses.absolute(50), 10.671692537),
    ("discrete 100", sv.metrics.discrete(100), 1.0, sv.losses.absolute(100), 21.346265240),
]


@pytest.mark.parametrize("name, metric, eps, loss, value", SPEC_VALUES, ids=[case[0] for case in SPEC_VALUES])
def test_measured_values(name: str, metric: sv.Metric, eps: float, loss: Any, value: float) -> None:
    best = sv.optimal_mechanism(metric, eps, None, sv.losses.distance(metric) if loss is None else loss)
    check(best, metric, eps)
    assert float(best.loss) == pytest.approx(value, abs=1.1e-9)


@pytest.mark.slow
def test_ten_by_ten_grid() -> None:
    metric = euclidean_grid(10)
    best = sv.optimal_mechanism(metric, 1.0, None, sv.losses.distance(metric))
    check(best, metric, 1.0)
    assert float(best.loss) == pytest.approx(1.530301533, abs=1.1e-9)


@pytest.mark.parametrize("eps", [3, 4, 6, 10])
def test_large_eps_keeps_its_certificate(eps: float) -> None:
    metric = euclidean_grid(5)
    check(sv.optimal_mechanism(metric, eps, None, sv.losses.distance(metric)), metric, eps, gap=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_losses_below_the_solvers_tolerance(seed: int) -> None:
    """At ε = 10 a tree loses less than the program can see; the exponential kernel takes over."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    pairs = np.array([(int(rng.integers(0, i)), i) for i in range(1, n)])
    metric = sv.Metric.from_edges(Edges(pairs, 0.5 + 2.5 * rng.random(n - 1)), None, n)
    best = sv.optimal_mechanism(metric, 10.0, rng.dirichlet(np.ones(n)), sv.losses.distance(metric))
    check(best, metric, 10.0)


def random_instance(seed: int) -> tuple[sv.Metric, float, FloatArray, FloatArray]:
    """Planar, whole, clustered, disconnected, uniform and tree metrics with every kind of loss."""
    rng = np.random.default_rng(seed)
    n, m, kind = int(rng.integers(1, 7)), int(rng.integers(1, 6)), seed % 6
    lengths = np.full((n, n), np.inf)
    if kind == 0:
        points = rng.random((n, 2))
        lengths = np.linalg.norm(points[:, None] - points[None], axis=2)
    elif kind == 1:
        lengths = rng.integers(0, 4, (n, n)).astype(float)
    elif kind == 2:
        points = np.sort(rng.random(n))
        lengths = np.abs(points[:, None] - points[None])
    elif kind == 3:
        lengths = np.where(rng.random((n, n)) < 0.5, np.inf, rng.random((n, n)))
    elif kind == 4:
        lengths = np.ones((n, n))
    else:
        for i in range(1, n):
            lengths[int(rng.integers(0, i)), i] = 3 * rng.random()
    upper = np.where(np.triu(np.ones((n, n)), 1) > 0, lengths, np.inf)
    lengths = np.minimum(upper, upper.T)
    np.fill_diagonal(lengths, 0.0)
    prior = rng.dirichlet(np.ones(n))
    if n > 1 and rng.random() < 0.3:
        prior[0] = 0.0
        prior = prior / prior.sum()
    loss = [rng.random((m, n)), 1 - np.eye(n), rng.normal(size=(m, n))][int(rng.integers(3))]
    return sv.Metric(closure(lengths)), float(rng.choice([0.01, 0.1, 0.5, 1, 3, 10, 60])), prior, loss


@pytest.mark.parametrize("method", ["auto", "program"])
@pytest.mark.parametrize("seed", range(60))
def test_any_metric_and_loss(seed: int, method: Any) -> None:
    metric, eps, prior, loss = random_instance(seed)
    best = sv.optimal_mechanism(metric, eps, prior, loss, method=method)
    assert best.gap <= 1e-9 * max(1.0, float(np.abs(loss).max()))
    assert best.certificate.verify().holds
    expected = plain_program(metric.matrix, eps, prior, loss)
    assert float(best.loss) == pytest.approx(expected, abs=2e-7)


@given(st.data())
def test_optimum_is_below_every_family(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 5))
    eps = data.draw(st.sampled_from([0.2, 0.7, 1.5]))
    prior = data.draw(testing.priors(n))
    loss = np.asarray(data.draw(testing.gain_matrices(n)), dtype=np.float64)
    for metric, families in (
        (sv.metrics.line(n), [sv.mechanisms.truncated_geometric(n, eps)]),
        (sv.metrics.discrete(n), [sv.mechanisms.randomised_response(n, eps)]),
        (sv.metrics.cycle(n), [sv.mechanisms.exponential(sv.metrics.cycle(n), eps)]),
    ):
        best = sv.optimal_mechanism(metric, eps, prior, loss)
        for channel in families:
            reached = float(expected_loss(channel, prior, sv.losses.matrix(loss)))
            assert float(best.lower_bound) <= reached + 1e-9


@given(st.data())
def test_remapping_never_hurts(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    channel = data.draw(testing.channels((n, n), (n, n)))
    prior = data.draw(testing.priors(n))
    found = sv.remap(channel, prior, sv.losses.absolute(n))
    assert found.before is None or found.after <= found.before + 1e-12
    assert found.after <= found.without_release + 1e-12
    again = sv.remap(found.mechanism, prior, sv.losses.absolute(n))
    assert float(again.after) == pytest.approx(float(found.after), abs=1e-12)


def test_symmetric_and_plain_programs_agree() -> None:
    metric = euclidean_grid(4)
    loss = sv.losses.distance(metric)
    folded = sv.optimal_mechanism(metric, 1.0, None, loss, method="program")
    nudged = np.full(16, 1 / 16)
    nudged[3] += 1e-7
    nudged[4] -= 1e-7
    plain = sv.optimal_mechanism(metric, 1.0, nudged, loss, method="program")
    assert "folded" in folded.method and "folded" not in plain.method
    assert float(folded.loss) == pytest.approx(float(plain.loss), abs=1e-6)
    assert float(folded.loss) == pytest.approx(
        plain_program(metric.matrix, 1.0, np.full(16, 1 / 16), metric.matrix), abs=1e-7
    )


def test_symmetry_within_rounding_is_enough() -> None:
    metric = sv.metrics.euclidean([(0.2 * i, 0.2 * j) for i in range(5) for j in range(5)])
    best = sv.optimal_mechanism(metric, 4.0, None, sv.losses.distance(metric))
    assert "folded" in best.method
    check(best, metric, 4.0)


def test_agreement_with_qif(oracle: Callable[[str], ModuleType]) -> None:
    qif = oracle("qif")
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        points = rng.random((n, 2)) * 3
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        prior = rng.dirichlet(np.ones(n))
        theirs = qif.mechanism.d_privacy.min_loss_given_d(
            prior, n, lambda x, z, d=distances: d[x, z], lambda w, x, d=distances: d[w, x]
        )
        if sv.epsilon(sv.Channel(theirs, normalise=True), sv.Metric(distances)).nats > 1 + 1e-9:
            continue
        compared += 1
        ours = sv.optimal_mechanism(sv.Metric(distances), 1.0, prior, distances)
        reached = float((prior[:, None] * distances * theirs).sum())
        assert float(ours.loss) == pytest.approx(reached, abs=1e-6)
    assert compared >= 6


def test_qif_is_not_private_where_ours_is(oracle: Callable[[str], ModuleType]) -> None:
    qif = oracle("qif")
    n = 30
    theirs = qif.mechanism.d_privacy.min_loss_given_d(
        np.full(n, 1 / n),
        n,
        lambda x, z: abs(int(x) - int(z)),
        lambda w, x: abs(int(w) - int(x)),
        d_priv_ch=lambda x, z: abs(int(x) - int(z)) > 1,
    )
    assert math.isinf(sv.epsilon(sv.Channel(theirs, normalise=True), sv.metrics.line(n)).nats)
    best = sv.optimal_mechanism(sv.metrics.line(n), 1.0, None, sv.losses.absolute(n))
    check(best, sv.metrics.line(n), 1.0)


class TestExact:
    def test_line_and_program_in_fractions(self) -> None:
        best = sv.optimal_mechanism(sv.metrics.line(5), alpha="1/2", loss=sv.losses.absolute(5))
        assert best.gap == 0 and isinstance(best.loss, Fraction)
        assert best.mechanism.exact is not None
        assert (
            best.mechanism.exact.tolist() == sv.mechanisms.truncated_geometric(5, alpha="1/2").exact.tolist()
        )
        parity = [[1, 0, 1, 0], [0, 1, 0, 1]]
        found = sv.optimal_mechanism(sv.metrics.line(4), alpha="1/2", loss=sv.losses.matrix(parity))
        assert found.gap == 0 and "program" in found.method
        assert found.certificate.verify().holds
        assert found.loss < expected_loss(
            sv.mechanisms.truncated_geometric(4, alpha="1/2"), None, sv.losses.matrix(parity)
        )

    def test_floats_agree_with_fractions(self) -> None:
        for metric in (sv.metrics.cycle(5), sv.metrics.grid(2, 3), sv.metrics.discrete(4)):
            n = metric.size
            loss = sv.losses.matrix([[(3 * w + x * x) % 5 for x in range(n)] for w in range(n)])
            exact = sv.optimal_mechanism(metric, alpha="1/3", loss=loss)
            floats = sv.optimal_mechanism(metric, alpha="1/3", loss=loss, method="program")
            assert exact.gap == 0
            assert float(floats.lower_bound) <= float(exact.loss) <= float(floats.loss) + 1e-15
            assert floats.gap < 1e-11

    def test_insisting(self) -> None:
        with pytest.raises(MechanismError, match="not everything is rational"):
            sv.optimal_mechanism(sv.metrics.line(3), 1.0, method="exact")
        with pytest.raises(MechanismError, match="too large"):
            sv.optimal_mechanism(sv.metrics.cycle(60), alpha="1/2", method="exact")


class TestEdges:
    def test_one_input(self) -> None:
        best = sv.optimal_mechanism(sv.metrics.line(1), 1.0, None, [[3.0], [1.0]])
        assert float(best.loss) == pytest.approx(1.0) and best.mechanism.matrix.tolist() == [[0.0, 1.0]]

    @pytest.mark.parametrize("eps", [0.0, 1e-12])
    def test_nothing_may_be_told(self, eps: float) -> None:
        best = sv.optimal_mechanism(sv.metrics.line(4), eps, [0.1, 0.2, 0.3, 0.4], sv.losses.absolute(4))
        assert float(best.loss) == pytest.approx(best.without_release, abs=1e-9)
        assert best.gap <= 1e-9 and best.certificate.verify().holds

    def test_everything_may_be_told(self) -> None:
        best = sv.optimal_mechanism(sv.metrics.line(4), math.inf, None, sv.losses.absolute(4))
        assert float(best.loss) == 0 or float(best.loss) < 1e-300
        assert best.mechanism.matrix.tolist() == np.eye(4).tolist()
        assert best.certificate.verify().holds

    def test_groups_in_fractions(self) -> None:
        """ε of 0 and ∞, and points at distance 0, need no program."""
        loss, prior = sv.losses.absolute(20), [Fraction(k + 1, 210) for k in range(20)]
        blind = sv.optimal_mechanism(sv.metrics.line(20), 0.0, prior, loss)
        assert blind.method.startswith("nothing may be told") and blind.certificate.verify().holds
        assert blind.loss == min(sum(p * abs(w - x) for x, p in enumerate(prior)) for w in range(20))
        truth = sv.optimal_mechanism(sv.metrics.line(20), math.inf, prior, loss)
        assert truth.loss == 0 and truth.certificate.verify().holds
        pairs = sv.Metric([[0 if x // 2 == z // 2 else math.inf for z in range(4)] for x in range(4)])
        half = sv.optimal_mechanism(pairs, alpha="1/2", loss=sv.losses.bayes_risk(4))
        assert half.loss == Fraction(1, 2) and half.certificate.verify().holds
        assert half.method.startswith("2 groups")

    def test_a_question_with_one_answer_costs_nothing(self) -> None:
        found = sv.optimal_mechanism(sv.metrics.line(4), 0.5, None, sv.losses.threshold(4, 99))
        assert found.loss == 0 and found.gap < 1e-14 and found.certificate.verify().holds
        assert "loses 0 on average" in str(found)

    def test_zero_and_infinite_distances(self) -> None:
        distances = np.array([[0, 0, np.inf], [0, 0, np.inf], [np.inf, np.inf, 0]])
        best = sv.optimal_mechanism(sv.Metric(distances), 1.0, [0.5, 0.25, 0.25], sv.losses.bayes_risk(3))
        assert best.mechanism.matrix[0].tolist() == best.mechanism.matrix[1].tolist() == [1, 0, 0]
        assert float(best.loss) == pytest.approx(0.25) and best.gap < 1e-14
        assert best.certificate.verify().holds

    def test_merged_points_of_a_complete_graph(self) -> None:
        """Groups joined at distance 0 by single edges, all groups equally far apart."""
        pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (2, 4)]
        edges = Edges(np.array(pairs), np.array([1.0, 1.0, 1.0, 0.0, 0.0]))
        metric = sv.Metric.from_edges(edges, None, 5)
        for loss in (sv.losses.bayes_risk(5), sv.losses.absolute(5)):
            best = sv.optimal_mechanism(metric, 0.8, [0.1, 0.2, 0.3, 0.3, 0.1], loss)
            assert best.gap < 1e-12 and best.certificate.verify().holds
            rows = best.mechanism.matrix
            assert (rows[0] == rows[3]).all() and (rows[2] == rows[4]).all()
            table = np.asarray(loss.table, dtype=float)
            prior = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
            assert float(best.loss) == pytest.approx(
                plain_program(metric.matrix, 0.8, prior, table), abs=1e-8
            )

    def test_impossible_inputs_still_count_for_privacy(self) -> None:
        best = sv.optimal_mechanism(sv.metrics.line(3), 1.0, [0.5, 0.0, 0.5], sv.losses.bayes_risk(3))
        check(best, sv.metrics.line(3), 1.0)
        # Through the middle point the ends are 2 apart, and a mechanism on them alone would do better.
        alone = sv.optimal_mechanism(sv.metrics.line([0, 2]), 1.0)
        assert float(best.loss) > float(alone.loss) + 1e-3

    def test_queries_and_policies(self) -> None:
        policy = sv.Policy.differential(["yes", "no"], records=5)
        query = sv.Query.count(["yes"])
        best = sv.optimal_mechanism(policy, math.log(2), query=query)
        # Alvim et al., Ex 31: 4/9 is the best guess on the line 0…5.
        assert 1 - float(best.loss) == pytest.approx(4 / 9, abs=1e-12)
        local = sv.optimal_mechanism(sv.Policy.local(["a", "b", "c"]), math.log(2))
        assert 1 - float(local.loss) == pytest.approx(1 / 2, abs=1e-12)
        assert local.mechanism.inputs == ("a", "b", "c")

    def test_bad_arguments(self) -> None:
        line = sv.metrics.line(3)
        with pytest.raises(MechanismError, match="exactly one"):
            sv.optimal_mechanism(line)
        with pytest.raises(MechanismError, match="eps is -1"):
            sv.optimal_mechanism(line, -1)
        with pytest.raises(PriorError, match="prior has 2 entries"):
            sv.optimal_mechanism(line, 1, [0.5, 0.5])
        with pytest.raises(GainError, match="about 2 secrets"):
            sv.optimal_mechanism(line, 1, None, [[0, 1]])
        with pytest.raises(GainError, match="is the gain"):
            sv.optimal_mechanism(line, 1, None, sv.gains.matrix(np.eye(3)))
        with pytest.raises(MechanismError, match='method is "fast"'.replace('"', "'")):
            sv.optimal_mechanism(line, 1, method="fast")  # type: ignore[arg-type]
        with pytest.raises(MechanismError, match=r"stretch is 0\.5"):
            sv.optimal_mechanism(line, 1, method="spanner", stretch=0.5)
        with pytest.raises(MechanismError, match="gap is -1"):
            sv.optimal_mechanism(line, 1, gap=-1)
        with pytest.raises(TooLargeError, match="probabilities"):
            sv.optimal_mechanism(sv.metrics.line(3000), 1)

    def test_spanner_is_private_and_says_its_price(self) -> None:
        metric = euclidean_grid(5)
        loss = sv.losses.distance(metric)
        best = sv.optimal_mechanism(metric, 1.0, None, loss)
        for stretch in (1.02, 1.2, 1.42):
            found = sv.optimal_mechanism(metric, 1.0, None, loss, method="spanner", stretch=stretch)
            assert "dilation" in found.method
            assert sv.epsilon(found.mechanism, metric).nats <= 1 + 1e-12
            assert found.certificate.verify().holds
            assert float(best.lower_bound) <= float(found.loss)
            assert float(found.lower_bound) <= float(best.loss)

    def test_the_sentence(self) -> None:
        best = sv.optimal_mechanism(sv.metrics.line(3), alpha="1/2", loss=sv.losses.absolute(3))
        assert str(best).startswith("loses 5/9 = 0.555556 on average (0.666667 without any release)")
        assert best.to_dict()["gap"] == 0 and "certificate" not in best.to_dict()
        assert "<table>" in best._repr_html_()


@pytest.mark.parametrize(("gap", "words"), [(4.6, "within 4.6 of"), (3.2e-9, "within 3.2e-09 of")])
def test_a_gap_is_said_as_a_number_that_one_reads(gap: float, words: str) -> None:
    found = sv.optimal_mechanism(euclidean_grid(2), 1.0, None, sv.losses.absolute(4))
    assert words in str(dataclasses.replace(found, lower_bound=float(found.loss) - gap))
