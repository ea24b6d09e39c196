"""Randomised response and Warner's protocol (Fernandes 1.5, 1.6; Alvim Ex 17)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import MechanismError

F = Fraction
response = sv.mechanisms.randomised_response


@given(st.integers(1, 6), st.fractions(0, 1, max_denominator=9).filter(lambda a: 0 < a < 1))
def test_entries_and_distance(n: int, alpha: Fraction) -> None:
    """Fernandes 1.6: 1/k on the diagonal, α/k elsewhere, k = 1 + (n-1)α; d_R = ε·dD, also Priv_d2 = ε."""
    channel = response(n, alpha=alpha)
    k = 1 + (n - 1) * alpha
    expected = [[(1 if x == y else alpha) / k for y in range(n)] for x in range(n)]
    assert channel.exact.tolist() == expected  # type: ignore[union-attr]
    eps = -math.log(alpha)
    assert sv.distinguishability(channel).matrix == pytest.approx(
        eps * sv.metrics.discrete(n).matrix, rel=1e-12
    )
    assert sv.epsilon(channel, sv.metrics.line(n)).nats == pytest.approx(eps if n > 1 else 0)
    assert response(n, eps).matrix == pytest.approx(channel.matrix, rel=1e-12)


def test_inputs_outside_the_outputs_report_uniformly() -> None:
    channel = response(["a", "b", "c"], alpha="1/2", outputs=["a", "b"])
    assert channel.exact.tolist() == [  # type: ignore[union-attr]
        [F(2, 3), F(1, 3)],
        [F(1, 3), F(2, 3)],
        [F(1, 2), F(1, 2)],
    ]
    as_log = response(["a", "b", "c"], math.log(2), outputs=["a", "b"])
    assert as_log.matrix == pytest.approx(channel.matrix)


def test_extreme_levels() -> None:
    assert response(3, math.inf).is_equivalent(sv.Channel.identity(3))
    assert response(3, alpha=0).is_equivalent(sv.Channel.identity(3))
    assert response(3, 0).is_equivalent(sv.Channel.null(3))
    assert response(1, 5.0).matrix.tolist() == [[1]]
    assert response(4, 2000.0).log_matrix[0, 1] == -2000
    assert np.allclose(response(1_000, 1e-12).log_matrix, -math.log(1000), rtol=1e-11, atol=0)


def test_labels_are_inputs_and_outputs() -> None:
    channel = response(["yes", "no"], alpha="1/3")
    assert channel.inputs == channel.outputs == ("yes", "no")


def test_warner() -> None:
    """Fernandes Sec 1.1: [[3/4, 1/4], [1/4, 3/4]], ε = ln 3, unbiased estimate 2q - 1/2."""
    warner = sv.mechanisms.warner()
    assert warner.exact.tolist() == [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]  # type: ignore[union-attr]
    level = sv.epsilon(warner, sv.Policy.local(["yes", "no"]))
    assert (level.nats, level.exact, f"{level.nats:.6f}") == (math.log(3), 3, "1.098612")
    for share in (F(0), F(1, 5), F(1)):
        observed = share * warner.exact[0, 0] + (1 - share) * warner.exact[1, 0]  # type: ignore[index]
        assert 2 * observed - F(1, 2) == share


@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
def test_alvim_ex_17_highest_leakage_matrix_is_response_for_each_record(eps: float) -> None:
    """Alvim Ex 17, Prop 16: entry e^{-ε·Hamming}·e^{2ε}/(2+e^ε)² on the nine databases of two records."""
    channel = response(["a", "b", "c"], eps).product(2)
    hamming = sv.Policy.differential(["a", "b", "c"], 2).database_metric()
    expected = np.exp(-eps * hamming.matrix) * math.exp(2 * eps) / (2 + math.exp(eps)) ** 2
    assert channel.inputs == hamming.points
    assert channel.matrix == pytest.approx(expected)
    assert sv.epsilon(channel, hamming).nats == pytest.approx(eps)


@pytest.mark.parametrize(
    ("records", "values", "eps", "bits"),
    [
        (100, 2, 5, 99.031180),
        (2, 3, 1, 1.578792),
        (10, 100, 1, 14.181160),
        (100, 100, 0.01, 1.428196),
        (1000, 100, 2, 2796.040329),
    ],
)
def test_alvim_thm_15_numbers_are_attained_by_response(
    records: int, values: int, eps: float, bits: float
) -> None:
    """The bound u·log2(v e^ε/(v-1+e^ε)) is the capacity of response applied to each of u records."""
    assert f"{records * sv.capacity(response(values, eps)).bits:.6f}" == f"{bits:.6f}"


def test_alvim_prop_21_individual() -> None:
    assert f"{sv.capacity(response(3, 1.35)).bits:.6f}" == "0.982334"
    assert f"{1.35 * math.log2(math.e):.6f}" == "1.947638"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0, "eps": 1}, "n is 0; give the number of inputs"),
        ({"n": ["a", "a"], "eps": 1}, "n has the label 'a' twice"),
        ({"n": "yes", "eps": 1}, "n is 'yes'; give the number of inputs or their labels"),
        ({"n": 3}, "neither eps nor alpha"),
        ({"n": 3, "eps": 1, "alpha": 0.5}, "both eps and alpha"),
        ({"n": 3, "eps": -0.1}, "eps is -0.1"),
        ({"n": 3, "alpha": 2}, "alpha is 2"),
        ({"n": 3, "eps": 1, "outputs": []}, "outputs is empty"),
    ],
)
def test_bad_parameters_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        response(**arguments)  # type: ignore[arg-type]
