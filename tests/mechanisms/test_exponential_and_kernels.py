"""Exponential mechanism, metric channel, tight constraints (Fernandes 1.6, F10, F11, 3.12, 3.14)."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import MechanismError, MetricError
from sievert.mechanisms import _exponential

F = Fraction
inf = math.inf
exponential = sv.mechanisms.exponential
true_epsilon, nominal_epsilon = sv.mechanisms.true_epsilon, sv.mechanisms.nominal_epsilon


def exact(channel: sv.Channel) -> list[list[Fraction]]:
    assert channel.exact is not None
    entries: list[list[Fraction]] = channel.exact.tolist()
    return entries


def test_fernandes_ex_4_7_and_e20_the_exponential_over_reports() -> None:
    """Ex 4.7, E20: nominal ln 4 on three inputs is really ln(16/7) = 0.826679, less than reported."""
    channel = exponential(sv.metrics.line([1, 2, 3]), alpha="1/4")
    sevenths = [F(4, 7), F(2, 7), F(1, 7)]
    assert exact(channel) == [sevenths, [F(1, 4), F(1, 2), F(1, 4)], sevenths[::-1]]
    found = sv.epsilon(channel, sv.metrics.line([1, 2, 3]))
    assert found.exact == F(16, 7)
    assert f"{found.nats:.6f}" == "0.826679"
    assert math.log(4) / 2 <= found.nats < math.log(4)


def test_fernandes_3_14_four_inputs() -> None:
    channel = exponential(sv.metrics.line([1, 2, 3, 4]), alpha="1/4")
    rows = [[F(v, 15) for v in (8, 4, 2, 1)], [F(v, 9) for v in (2, 4, 2, 1)]]
    assert exact(channel) == [*rows, rows[1][::-1], rows[0][::-1]]
    ratios = np.exp(sv.distinguishability(channel).matrix)
    expected = {(0, 1): 2.4, (0, 2): 4.8, (0, 3): 8, (1, 2): 2, (1, 3): 4.8, (2, 3): 2.4}
    for pair, ratio in expected.items():
        assert ratios[pair] == pytest.approx(ratio)
    response = sv.mechanisms.randomised_response(4, alpha="5/12")
    assert exact(response)[0] == [F(4, 9), F(5, 27), F(5, 27), F(5, 27)]
    for mechanism in (channel, response):
        assert sv.epsilon(mechanism, sv.metrics.line(4)).exact == F(12, 5)


@pytest.mark.parametrize("n", [*range(2, 9), 12, 20])
@pytest.mark.parametrize("nominal", [0.001, 0.05, 0.5, 1.0, 2.0, 5.0, 12.0, 30.0])
def test_fernandes_f10_true_epsilon_against_brute_force(n: int, nominal: float) -> None:
    line = sv.metrics.line(n)
    found = sv.epsilon(exponential(line, nominal), line)
    assert true_epsilon(n, nominal) == pytest.approx(found.nats, rel=1e-12)
    assert nominal / 2 <= found.nats * (1 + 1e-12)
    assert found.nats <= nominal * (1 + 1e-12)
    assert nominal_epsilon(n, true_epsilon(n, nominal)) == pytest.approx(nominal, rel=1e-12)


@pytest.mark.parametrize(
    ("true", "nominal"), [(0.5, "0.69743933"), (1, "1.5873664"), (2, "3.7573419"), (4, "7.9637252")]
)
def test_fernandes_nominal_parameters_for_five_inputs(true: float, nominal: str) -> None:
    """Fernandes 4.4 (3.75734194823… for true ε 2, printed 3.7573420)."""
    digits = len(nominal.split(".")[1])
    assert f"{nominal_epsilon(5, true):.{digits}f}" == nominal
    line = sv.metrics.line(5)
    channel = exponential(line, true, level="true")
    assert sv.epsilon(channel, line).nats == pytest.approx(true, rel=1e-12)
    assert channel.matrix == pytest.approx(exponential(line, nominal_epsilon(5, true)).matrix, rel=1e-11)


def test_fernandes_f10_limits_of_the_ratio() -> None:
    """ε_true/nominal → (1 + m_0 - m_1)/2 (0.8 for n = 5) as nominal → 0, and → 1/2 as nominal → ∞."""
    for n in range(2, 12):
        end, next_one = (sum(abs(i - y) for y in range(n)) / n for i in (0, 1))
        for tiny in (1e-9, 1e-100):
            assert true_epsilon(n, tiny) / tiny == pytest.approx((1 + end - next_one) / 2, rel=1e-8)
        assert true_epsilon(n, 1e6) / 1e6 == pytest.approx(0.5)
    assert true_epsilon(5, 1e-9) / 1e-9 == pytest.approx(0.8)
    assert (true_epsilon(1, 3), true_epsilon(4, 0), true_epsilon(4, inf)) == (0, 0, inf)
    assert nominal_epsilon(5, inf) == inf
    assert nominal_epsilon(5, 0) == 0


def test_the_true_level_is_above_half_by_the_naive_formula_too() -> None:
    """The closed form as printed, where it does not cancel."""
    for n in (2, 3, 7):
        for nominal in (0.5, 3.0):
            a = math.exp(-nominal / 2)
            printed = math.log((1 + a - a * a - a ** (n - 1)) / (a * (1 - a**n)))
            assert true_epsilon(n, nominal) == pytest.approx(printed, rel=1e-13)


@pytest.mark.parametrize(
    "metric",
    [
        sv.metrics.discrete(3),
        sv.metrics.discrete(2),
        sv.metrics.cycle(5),
        sv.metrics.grid(2, 3),
        sv.metrics.euclidean([[0, 0], [1, 0], [0, 3], [5, 5]]),
        sv.metrics.line([0, 1, 7]),
    ],
)
@pytest.mark.parametrize("true", [0.01, 1.0, 4.0])
def test_true_level_on_any_metric(metric: sv.Metric, true: float) -> None:
    channel = exponential(metric, true, level="true")
    assert sv.epsilon(channel, metric).nats == pytest.approx(true, rel=1e-10)


def test_vertex_transitive_metrics_have_half_the_nominal_level() -> None:
    metric = sv.metrics.cycle(6)
    assert sv.epsilon(exponential(metric, 2.0), metric).nats == pytest.approx(1.0)


def test_inputs_and_outputs_may_differ() -> None:
    metric = sv.metrics.line([0, 1, 5])
    channel = exponential(metric, 1.0, inputs=[0, 1], outputs=[5, 0])
    weights = np.exp(-0.5 * np.array([[5, 0], [4, 1]]))
    assert channel.matrix == pytest.approx(weights / weights.sum(axis=1, keepdims=True))
    assert (channel.inputs, channel.outputs) == ((0, 1), (5, 0))


def test_extreme_levels_of_the_exponential() -> None:
    line = sv.metrics.line(3)
    assert exact(exponential(line, 0)) == [[F(1, 3)] * 3] * 3
    assert exponential(line, inf).is_equivalent(sv.Channel.identity(3))
    assert exponential(line, 0, level="true").is_equivalent(sv.Channel.null(3))
    assert exponential(line, inf, level="true").is_equivalent(sv.Channel.identity(3))
    tie = exponential(line, inf, inputs=[1], outputs=[0, 2])
    assert exact(tie) == [[F(1, 2), F(1, 2)]]
    assert exponential(sv.metrics.line(1), 1.0, level="true").matrix.tolist() == [[1]]
    assert exponential(line, 5000.0).log_matrix[0].tolist() == [0, -2500, -5000]


def test_exponential_on_a_disconnected_metric() -> None:
    metric = sv.Metric([[0, 1, inf], [1, 0, inf], [inf, inf, 0]], points=["a", "b", "c"])
    expected = [[F(2, 3), F(1, 3), 0], [F(1, 3), F(2, 3), 0], [0, 0, 1]]
    assert exact(exponential(metric, alpha="1/4")) == expected
    assert exponential(metric, math.log(4)).matrix == pytest.approx(np.array(expected, dtype=float))
    assert sv.epsilon(exponential(metric, alpha="1/4"), metric).exact == 2
    assert exact(exponential(metric, 0)) == [[F(1, 2), F(1, 2), 0], [F(1, 2), F(1, 2), 0], [0, 0, 1]]
    with pytest.raises(MechanismError, match="input 'c' is at infinite distance from every output; add it"):
        exponential(metric, 1.0, outputs=["a", "b"])


def test_exactness_needs_a_rational_root_and_integer_distances() -> None:
    assert exponential(sv.metrics.line(3), alpha="1/2").form == "log"
    assert exponential(sv.metrics.line([0, 0.5]), alpha="1/4").form == "log"
    assert exponential(sv.metrics.line(3), alpha="4/9").form == "exact"


@given(testing.metrics((1, 6), extended=True))
def test_fernandes_lem_4_14_metric_channel_has_exactly_the_metric(metric: sv.Metric) -> None:
    """F11, Lem 4.14 with the exponent d(x, y) of E19."""
    channel = sv.mechanisms.metric_channel(metric)
    assert np.exp(channel.log_matrix).sum(axis=1) == pytest.approx(1)
    assert sv.distinguishability(channel).matrix == pytest.approx(metric.matrix, abs=1e-12)


def test_fernandes_e19_without_the_distance_in_the_exponent_the_channel_is_null() -> None:
    """E19: an exponent that does not depend on y would give equal rows, so d_C = 0 instead of d."""
    metric = sv.metrics.line(3)
    wrong = np.full((3, 3), math.exp(-1) / 3)
    null = sv.Channel(np.column_stack([wrong, 1 - wrong.sum(axis=1)]))
    assert sv.distinguishability(null).matrix.max() == 0
    assert sv.distinguishability(sv.mechanisms.metric_channel(metric)).matrix == pytest.approx(metric.matrix)


def test_fernandes_3_11_metric_channels_to_the_printed_digits() -> None:
    two, three, four = math.log(2), math.log(3), math.log(4)
    join = sv.Metric([[0, two, three], [two, 0, two], [three, two, 0]])
    meet = sv.Metric([[0, three, four], [three, 0, three], [four, three, 0]])
    printed = {
        join: [
            [0.12262648, 0.06131324, 0.04087549, 0.77518479],
            [0.06131324, 0.12262648, 0.06131324, 0.75474704],
        ],
        meet: [
            [0.12262648, 0.04087549, 0.03065662, 0.80584141],
            [0.04087549, 0.12262648, 0.04087549, 0.79562253],
        ],
    }
    for metric, rows in printed.items():
        channel = sv.mechanisms.metric_channel(metric)
        assert channel.outputs == (0, 1, 2, "⊥")
        assert np.round(channel.matrix[:2], 8).tolist() == rows
        assert np.round(channel.matrix[2, :3], 8).tolist() == rows[0][2::-1]


def test_metric_channel_beyond_underflow() -> None:
    metric = sv.Metric([[0, 5000.0], [5000.0, 0]])
    assert sv.distinguishability(sv.mechanisms.metric_channel(metric)).distance(0, 1) == 5000


@given(st.integers(1, 6), st.fractions(0, 1, max_denominator=9).filter(lambda a: 0 < a < 1))
def test_fernandes_note_b_tight_constraints_on_lines_and_cliques(n: int, alpha: Fraction) -> None:
    """Note (b): TC is TG on a line and R under dD."""
    tight = sv.mechanisms.tight_constraints
    line, discrete = sv.metrics.line(n), sv.metrics.discrete(n)
    assert exact(tight(line, alpha=alpha)) == exact(sv.mechanisms.truncated_geometric(n, alpha=alpha))
    assert exact(tight(discrete, alpha=alpha)) == exact(sv.mechanisms.randomised_response(n, alpha=alpha))
    eps = -math.log(alpha)
    assert tight(line, eps).matrix == pytest.approx(tight(line, alpha=alpha).matrix, rel=1e-10, abs=1e-14)


def test_fernandes_note_b_tight_constraints_often_do_not_exist() -> None:
    """On random planar sets some weight is negative in about 26 % of 500 draws."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(500):
        # Five points in the unit square at ε = 1.
        metric = sv.metrics.euclidean(rng.random((5, 2)))
        try:
            channel = sv.mechanisms.tight_constraints(metric, 1.0)
        except MechanismError as problem:
            assert "negative, so the mechanism does not exist" in str(problem)
            refused += 1
        else:
            assert sv.distinguishability(channel).matrix == pytest.approx(metric.matrix, rel=1e-9)
    assert 0.15 < refused / 500 < 0.6


def test_tight_constraints_names_the_negative_weight() -> None:
    """A hub with leaves at distance 1 from it and 2 from each other has a negative weight."""
    star = sv.metrics.from_graph([("hub", leaf) for leaf in range(6)])
    message = r"the weight of 'hub' is -1, negative, so the mechanism does not exist"
    with pytest.raises(MechanismError, match=message):
        sv.mechanisms.tight_constraints(star, alpha="1/2")
    with pytest.raises(MechanismError, match=message):
        sv.mechanisms.tight_constraints(star, math.log(2))


def test_extreme_levels_of_tight_constraints() -> None:
    tight = sv.mechanisms.tight_constraints
    apart = sv.Metric([[0, 1, inf], [1, 0, inf], [inf, inf, 0]])
    assert exact(tight(sv.metrics.line(3), 0)) == [[F(1, 3)] * 3] * 3
    assert exact(tight(apart, 0)) == [[F(1, 2), F(1, 2), 0], [F(1, 2), F(1, 2), 0], [0, 0, 1]]
    assert tight(sv.metrics.euclidean([[0, 0], [1, 1]]), inf).is_equivalent(sv.Channel.identity(2))
    assert exact(tight(apart, alpha="1/2")) == [[F(2, 3), F(1, 3), 0], [F(1, 3), F(2, 3), 0], [0, 0, 1]]
    assert tight(apart, math.log(2)).matrix == pytest.approx(tight(apart, alpha="1/2").matrix)
    assert tight(sv.metrics.line(1), 1.0).matrix.tolist() == [[1]]
    far = tight(sv.metrics.line([0, 1, 3000]), 1.0)
    assert sv.epsilon(far, sv.metrics.line([0, 1, 3000])).nats == pytest.approx(1)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: exponential(sv.metrics.line(3)), MechanismError, "neither eps nor alpha"),
        (lambda: exponential(sv.metrics.line(3), -1), MechanismError, "eps is -1; it must be a number ≥ 0"),
        (lambda: exponential(sv.metrics.line(3), 1, "real"), MechanismError, "level is 'real'; it must be"),
        (
            lambda: exponential(sv.metrics.line(3), 1, inputs=[9]),
            MetricError,
            "point: 9 is not one of the points",
        ),
        (
            lambda: exponential(sv.metrics.line(3), 1, outputs=[]),
            MechanismError,
            "inputs or outputs is empty",
        ),
        (lambda: true_epsilon(0, 1), MechanismError, "n is 0; it must be a whole number ≥ 1"),
        (lambda: true_epsilon(3, -1), MechanismError, "nominal is -1; it must be a number ≥ 0"),
        (lambda: nominal_epsilon(3, math.nan), MechanismError, "true is nan"),
        (lambda: nominal_epsilon(1, 1), MechanismError, "with one input every parameter has true ε 0"),
        (
            lambda: sv.mechanisms.tight_constraints(sv.metrics.line(3)),
            MechanismError,
            "neither eps nor alpha",
        ),
        (
            lambda: sv.mechanisms.tight_constraints(sv.Metric([[0, 0], [0, 0]], points=["a", "b"]), 1.0),
            MechanismError,
            "'a' and 'b' are at distance 0, so Φ is singular; merge them first",
        ),
    ],
)
def test_bad_parameters_are_refused(
    build: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize(
    ("points", "closed"),
    [(7, True), (2, True), (range(0, 40, 4), True), ([1, 2, 4], False), ([0.0, 0.1, 0.2, 0.3], False)],
)
def test_the_true_epsilon_of_a_line_needs_no_search(
    points: Any, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closed form of evenly spaced points says what the search over all pairs says."""
    metric = sv.metrics.line(points)
    assert (_exponential._step_of_line(metric.matrix) is not None) == closed
    quick = exponential(metric, 0.9, "true")
    monkeypatch.setattr(_exponential, "_step_of_line", lambda distances: None)
    searched = exponential(metric.restricted(metric.points), 0.9, "true")
    np.testing.assert_allclose(quick.matrix, searched.matrix, rtol=1e-12)
    assert sv.epsilon(quick, metric).nats == pytest.approx(0.9, rel=1e-13)
