"""Geometric noise: unbounded, truncated, over-truncated, irregular (Fernandes 1.6, F13, 3.12, 3.15)."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import ChannelError, MechanismError, SievertError, TooLargeError

F = Fraction
truncated, unbounded = sv.mechanisms.truncated_geometric, sv.mechanisms.geometric
alphas = st.fractions(0, 1, max_denominator=12).filter(lambda a: 0 < a < 1)


def exact(channel: sv.Channel) -> list[list[Fraction]]:
    assert channel.exact is not None
    entries: list[list[Fraction]] = channel.exact.tolist()
    return entries


def test_fernandes_ex_3_1_truncated_geometric() -> None:
    third, sixth = F(1, 3), F(1, 6)
    assert exact(truncated(3, alpha="1/2")) == [
        [2 * third, sixth, sixth],
        [third, third, third],
        [sixth, sixth, 2 * third],
    ]


@given(st.integers(2, 7), alphas)
def test_entries_by_the_table_and_distance_exactly_eps(n: int, alpha: Fraction) -> None:
    """Fernandes 1.6: inner columns (1-α)/(1+α)·α^|x-y|, end columns α^|x-y|/(1+α); d_TG = ε·d2."""
    channel = truncated(n, alpha=alpha)
    for x in range(n):
        for y in range(n):
            weight = (1 if y in (0, n - 1) else 1 - alpha) / (1 + alpha)
            assert exact(channel)[x][y] == weight * alpha ** abs(x - y)
    eps = -math.log(alpha)
    assert sv.distinguishability(channel).matrix == pytest.approx(eps * sv.metrics.line(n).matrix, rel=1e-12)
    assert sv.epsilon(channel, sv.metrics.line(n)).nats == pytest.approx(eps, rel=1e-14)


@given(st.integers(1, 7), alphas)
def test_exact_and_log_forms_agree(n: int, alpha: Fraction) -> None:
    by_eps = truncated(n, -math.log(alpha))
    assert by_eps.matrix == pytest.approx(truncated(n, alpha=alpha).matrix, rel=1e-12)
    by_float = truncated(n, alpha=float(alpha))
    assert by_float.matrix == pytest.approx(truncated(n, alpha=alpha).matrix, rel=1e-12)
    assert by_float.form == ("log" if n > 1 else "exact")


def test_fernandes_note_d_e10_one_input_is_certain() -> None:
    """Note (d), E10: the formula would give 1/(1+α), which is no distribution."""
    for channel in (truncated(1, alpha="1/2"), truncated(1, 0.3), truncated(1, 0), truncated(1, math.inf)):
        assert exact(channel) == [[1]]
    assert F(1) / (1 + F(1, 2)) != 1


def test_fernandes_note_e_e10_alpha_one() -> None:
    """Note (e), E10: G at α = 1 would be identically 0; TG at α = 1 is null with all mass on the two ends."""
    for arguments in ({"alpha": 1}, {"eps": 0}, {"alpha": 1.0}):
        assert exact(truncated(4, **arguments)) == [[F(1, 2), 0, 0, F(1, 2)]] * 4  # type: ignore[arg-type]
        with pytest.raises(MechanismError, match="eps is 0; geometric noise on all integers needs eps > 0"):
            unbounded(4, **arguments)  # type: ignore[arg-type]
    assert truncated(4, eps=0).is_equivalent(sv.Channel.null(4))
    assert sv.epsilon(truncated(4, eps=0), sv.metrics.line(4)).nats == 0


def test_infinite_eps_is_the_identity() -> None:
    for arguments in ({"alpha": 0}, {"eps": math.inf}, {"alpha": "0"}):
        assert truncated(3, **arguments).is_equivalent(sv.Channel.identity(3))  # type: ignore[arg-type]
        assert unbounded(3, **arguments).is_equivalent(sv.Channel.identity(3))  # type: ignore[arg-type]
    clamped = truncated(points=[0, 5, 9], eps=math.inf, outputs=range(2, 7))
    assert exact(clamped) == [[1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]


@given(st.integers(-5, 5), st.integers(2, 6), alphas, st.integers(-4, 4), st.integers(2, 6))
def test_fernandes_note_a_over_truncation_moves_the_tails(
    low: int, n: int, alpha: Fraction, first: int, m: int
) -> None:
    """Note (a): P(noise ≥ k) = α^k/(1+α) for k ≥ 0 and 1 - α^(1-k)/(1+α) for k < 0, against sums."""
    inputs, outputs = list(range(low, low + n)), list(range(first, first + m))
    channel = truncated(points=inputs, alpha=alpha, outputs=outputs)
    density = (1 - alpha) / (1 + alpha)

    def upper(k: int) -> Fraction:
        """Σ_{j ≥ k} density·α^|j|, by summing the finitely many j < 0 and a geometric series."""
        series = density * alpha ** max(k, 0) / (1 - alpha)
        return series + sum((density * alpha ** abs(j) for j in range(k, 0)), F(0))

    for x, row in zip(inputs, exact(channel), strict=True):
        assert row[0] == upper(x - outputs[0])
        assert row[-1] == upper(outputs[-1] - x)
        for y, entry in zip(outputs[1:-1], row[1:-1], strict=True):
            assert entry == density * alpha ** abs(x - y)
        assert sum(row) == 1
    eps = -math.log(alpha)
    as_log = truncated(points=inputs, eps=eps, outputs=outputs)
    assert as_log.matrix == pytest.approx(channel.matrix, rel=1e-11)
    line = sv.metrics.line(inputs)
    assert sv.epsilon(channel, line).nats <= eps * (1 + 1e-14)


def test_fernandes_ex_4_7_over_truncated_instance() -> None:
    channel = truncated(points=[1, 2, 3], alpha="1/2", outputs=[1, 2])
    assert exact(channel) == [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)], [F(1, 6), F(5, 6)]]
    quarter = truncated(points=[1, 2, 3], alpha="1/4", outputs=[1, 2])
    assert exact(quarter) == [[F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)], [F(1, 20), F(19, 20)]]


def test_one_output_tells_nothing() -> None:
    assert exact(truncated(3, alpha="1/2", outputs=[7])) == [[1], [1], [1]]


def test_clamping_to_the_inputs_is_truncation() -> None:
    assert exact(truncated(5, alpha="1/3", outputs=range(5))) == exact(truncated(5, alpha="1/3"))
    assert exact(unbounded(5, alpha="1/3", outputs=range(5))) == exact(truncated(5, alpha="1/3"))


def test_over_truncation_is_post_processing_of_the_unbounded_noise() -> None:
    wide = truncated(4, alpha="1/2", outputs=range(-9, 14))
    clamp = {y: min(max(y, 1), 2) for y in range(-9, 14)}
    narrowed = wide.then(sv.Channel.identity([1, 2]).after(clamp))
    assert narrowed.is_equivalent(truncated(4, alpha="1/2", outputs=[1, 2]))


@pytest.mark.parametrize("points", [[0, 1, 2, 3], [0, 2, 5], [-4, 0, 1, 10]])
def test_fernandes_f13_unbounded_noise_reduces_exactly(points: list[int]) -> None:
    """Lem 4.15: columns beyond the inputs are proportional, so G is equivalent to a finite channel."""
    alpha = F(2, 5)
    noise = unbounded(points=points, alpha=alpha)
    finite = noise.finite()
    density = (1 - alpha) / (1 + alpha)
    for x in points:
        left = density * alpha ** (x - points[0]) / (1 - alpha)
        right = density * alpha ** (points[-1] - x) / (1 - alpha)
        assert finite.exact[finite.input_index(x), 0] == left  # type: ignore[index]
        assert finite.exact[finite.input_index(x), -1] == right  # type: ignore[index]
        for y in range(points[0] - 3, points[-1] + 4):
            assert noise.probability(x, y) == density * alpha ** abs(x - y)  # type: ignore[attr-defined]
    assert sum(finite.exact[0]) == 1  # type: ignore[index]
    if points == [0, 1, 2, 3]:
        assert noise.is_equivalent(truncated(4, alpha=alpha))
        assert noise.reduced().is_equivalent(truncated(4, alpha=alpha))
        assert noise.hyper().is_same(truncated(4, alpha=alpha).hyper())
    assert sv.epsilon(noise, sv.metrics.line(points)).nats == pytest.approx(-math.log(alpha))


def test_unbounded_noise_has_no_matrix_but_every_measure() -> None:
    noise = unbounded(4, 0.5)
    for attribute in ("matrix", "log_matrix", "outputs", "shape"):
        with pytest.raises(ChannelError, match="infinitely many outputs; use"):
            getattr(noise, attribute)
    assert repr(noise) == "Channel(4 inputs, all integers as outputs, log)"
    assert "all integers" in noise._repr_html_()
    assert noise.to_dict()["eps"] == 0.5
    assert noise.probability(0, 3) == pytest.approx(math.tanh(0.25) * math.exp(-1.5))  # type: ignore[attr-defined]
    bounded = truncated(4, 0.5)
    assert float(sv.leakage(noise)) == pytest.approx(float(sv.leakage(bounded)))
    assert float(sv.capacity(noise)) == pytest.approx(float(sv.capacity(bounded)))
    assert sv.distinguishability(noise).matrix == pytest.approx(sv.distinguishability(bounded).matrix)
    assert unbounded(1, 0.5).finite().shape == (1, 1)
    with pytest.raises(AttributeError):
        _ = noise.nothing  # type: ignore[attr-defined]


def test_unbounded_noise_samples() -> None:
    """The share of exact answers is (1-α)/(1+α); 5σ of 40 000 draws, fixed seed."""
    noise = unbounded(3, alpha="1/2")
    drawn = noise.sample(np.full(40_000, 1), rng=8)
    share = float((drawn == 1).mean())
    assert abs(share - 1 / 3) < 5 * math.sqrt(2 / 9 / 40_000)
    assert drawn.min() < 0
    assert drawn.max() > 2
    assert set(unbounded(3, math.inf).sample([0, 2], rng=1)) == {0, 2}


def test_unbounded_noise_on_points_too_far_apart_is_refused_with_its_size() -> None:
    noise = unbounded(points=[0, 10**12], eps=1.0)
    with pytest.raises(TooLargeError, match="2 × 1,000,000,000,001 matrix"):
        noise.finite()


@pytest.mark.parametrize("points", [[0, 1, 3], [0.0, 0.5, 2.25], [F(1, 3), F(1, 2), 4]])
def test_irregular_points_keep_the_distance(points: list[Any]) -> None:
    channel = truncated(points=points, eps=0.8)
    line = sv.metrics.line(points)
    assert channel.matrix.sum(axis=1) == pytest.approx(1, rel=1e-14)
    assert sv.distinguishability(channel).matrix == pytest.approx(0.8 * line.matrix, rel=1e-12)
    assert channel.inputs == tuple(points)


def test_irregular_points_exactly() -> None:
    channel = truncated(points=[0, 1, 3], alpha="1/2")
    assert channel.form == "exact"
    assert all(sum(row) == 1 for row in exact(channel))
    shifted = truncated(points=[F(1, 2), F(3, 2), F(7, 2)], alpha="1/2")
    assert exact(shifted) == exact(channel)
    assert truncated(points=[0, 0.5], alpha="1/4").form == "log"
    assert exact(truncated(points=[0, 0.5], alpha=1)) == [[F(1, 2)] * 2] * 2


def test_fernandes_fig_4_1() -> None:
    """Fernandes Ex 4.1.2, Fig 4.1 (3.15): the row of 50 on 0…100 at α = 25/27, and the levels."""
    geometric = truncated(101, alpha=F(25, 27))
    response = sv.mechanisms.randomised_response(101, alpha="1/2")
    row = geometric.exact[50]  # type: ignore[index]
    assert row[50] == F(1, 26)
    printed = {49: 0.0356125, 40: 0.0178151, 25: 0.00561607, 1: 0.000885651, 0: 0.0110706, 100: 0.0110706}
    for y, value in printed.items():
        assert f"{float(row[y]):.6g}" == f"{value:.6g}"
    assert response.exact[50, 50] == F(1, 51)  # type: ignore[index]
    assert response.exact[50, 49] == F(1, 102)  # type: ignore[index]
    assert f"{sv.epsilon(geometric, sv.metrics.line(101)).nats:.7f}" == "0.0769610"
    assert f"{sv.epsilon(response, sv.metrics.line(101)).nats:.6f}" == "0.693147"
    assert f"{100 * sv.epsilon(geometric, sv.metrics.line(101)).nats:.5f}" == "7.69610"
    below = [y for y in range(101) if row[y] < F(1, 102)]
    assert sorted({abs(y - 50) for y in below}) == list(range(18, 50))


def test_large_truncated_geometric_in_the_log_domain() -> None:
    channel = truncated(2000, 2.0)
    assert channel.form == "log"
    assert np.exp(channel.log_matrix[[0, 1, 1000, 1999]]).sum(axis=1) == pytest.approx(1, rel=1e-14)
    assert sv.epsilon(channel, sv.metrics.line(2000)).nats == pytest.approx(2, rel=1e-12)
    with pytest.raises(ChannelError, match="too small for a float"):
        _ = channel.matrix


def test_tiny_eps_keeps_its_weights() -> None:
    channel = truncated(5, 1e-300)
    assert channel.log_matrix[0, 2] == pytest.approx(math.log(5e-301))
    assert channel.log_matrix[:, 0] == pytest.approx(math.log(0.5))


@pytest.mark.parametrize("make", [truncated, unbounded])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3}, "neither eps nor alpha is given; give exactly one"),
        ({"n": 3, "eps": 1, "alpha": "1/2"}, "both eps and alpha are given; give exactly one"),
        ({"n": 3, "eps": -1}, "eps is -1; it must be a number ≥ 0"),
        ({"n": 3, "eps": math.nan}, "eps is nan"),
        ({"n": 3, "eps": "strong"}, "eps is 'strong'; it must be a number"),
        ({"n": 3, "alpha": "3/2"}, r"alpha is '3/2'; it must be a number from 0 \(reveal everything\) to 1"),
        ({"n": 3, "alpha": -0.5}, "alpha is -0.5"),
        ({"n": 3, "alpha": "x"}, "alpha is 'x'"),
        ({"n": 3, "alpha": math.nan}, "alpha is nan"),
        ({"n": 0, "eps": 1}, "n is 0; give the number of inputs"),
        ({"n": 2.5, "eps": 1}, "n is 2.5; give the number of inputs or their labels"),
        ({"eps": 1}, "n is missing; give the number of inputs, or points"),
        ({"n": [], "eps": 1}, "n is empty"),
        ({"n": 3, "points": [0, 1], "eps": 1}, "n is 3 but points has 2 entries"),
        ({"points": [0, 0], "eps": 1}, "points has the label 0 twice"),
        ({"points": [1, 0], "eps": 1}, "points: 0 comes after 1; points must increase"),
        ({"points": ["a"], "eps": 1}, "points: 'a' is not a finite number"),
        ({"points": [0, math.inf], "eps": 1}, "points: inf is not a finite number"),
        ({"n": 3, "eps": 1, "outputs": [0, 2]}, "outputs is 0, 2; it must be consecutive integers"),
        ({"n": 3, "eps": 1, "outputs": []}, "outputs is empty; give"),
        ({"n": 3, "eps": 1, "outputs": [0.5, 1.5]}, "outputs: 0.5 is not an integer"),
        ({"n": 3, "eps": 1, "outputs": ["a"]}, "outputs: 'a' is not an integer"),
        ({"points": [0, 0.5], "eps": 1, "outputs": [0, 1]}, "points: 0.5 is not an integer"),
    ],
)
def test_bad_parameters_are_refused(
    make: Callable[..., object], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(MechanismError, match=message):
        make(**arguments)


def test_unbounded_noise_needs_integer_points() -> None:
    with pytest.raises(MechanismError, match=r"points: 0.5 is not an integer"):
        unbounded(points=[0, 0.5], eps=1.0)
    assert unbounded(points=[0, 1.0], eps=1.0).inputs == (0, 1)


@pytest.mark.parametrize("make", [sv.mechanisms.geometric, sv.mechanisms.truncated_geometric])
@pytest.mark.parametrize("point", [10**400, Fraction(10**400, 3), 2 * int(1e308)])
def test_points_beyond_the_largest_float_are_refused(make: Any, point: Any) -> None:
    with pytest.raises(SievertError, match="beyond the largest float"):
        make(points=[0, point], eps=1)


@pytest.mark.parametrize("alpha", ["0." + "9" * 900, Fraction(1, 10**200), Decimal("0." + "1" * 150)])
def test_a_ratio_of_endless_digits_is_refused(alpha: Any) -> None:
    with pytest.raises(MechanismError, match="more than 100 digits"):
        sv.mechanisms.truncated_geometric(5, alpha=alpha)
    assert sv.mechanisms.truncated_geometric(3, alpha=1e-100).matrix[0, 0] == pytest.approx(1.0)


def test_an_alpha_of_many_digits_is_listed_in_floats() -> None:
    """Entries would have thousands of digits each; the sampler and the level stay exact."""
    alpha = Fraction(10**30 - 1, 10**30)
    channel = sv.mechanisms.truncated_geometric(301, alpha=alpha)
    assert channel.exact is None and channel.log_matrix.shape == (301, 301)
    assert sv.epsilon(channel, sv.metrics.line(301)).nats == pytest.approx(1e-30, rel=1e-12)
    assert sv.capacity(channel).bits == pytest.approx(300 * 5e-31 / math.log(2), rel=1e-9)
    short = sv.mechanisms.truncated_geometric(61, alpha="0.999")
    assert short.exact is not None and short.exact[0].sum() == 1


@pytest.mark.filterwarnings("error")
def test_levels_beyond_what_a_float_multiplies_warn_of_nothing() -> None:
    """Formerly NumPy told of an overflow where an entry is 0."""
    channel = truncated(4, 1e308)
    assert channel.row(3).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert channel.mean_shifts().tolist() == [0.0] * 4
