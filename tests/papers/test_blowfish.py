"""The family of Edwards et al., Theorem 5, with its table of worked numbers."""

import math
from fractions import Fraction

import pytest

import sievert as sv
from papers.blowfish import theorem_five
from sievert.errors import MechanismError
from sievert.spaces import graphs


@pytest.mark.parametrize(
    ("n", "delta", "bound", "leakage"),
    [
        (2, "1", 2.000000, 1.415037),
        (2, "0.1", 1.137504, 1.067114),
        (2, "0.001", 1.001442, 1.000721),
        (5, "1", 3.321928, 2.736966),
        (50, "0.001", 5.645298, 5.644577),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_table(n: int, delta: str, bound: float, leakage: float, exact: bool) -> None:
    channel = theorem_five(n, delta if exact else float(delta))
    assert channel.form == ("exact" if exact else "float")
    assert channel.shape == (2 * n + 2, 2 * n + 2)
    bits = math.log2(float(channel.matrix.max(axis=0).sum()))
    assert bits == pytest.approx(leakage, abs=5e-7)
    step = float(delta)
    assert bits == pytest.approx(math.log2(4 * n * (1 + step) / (4 + 2 * step)), abs=1e-12)
    assert bits <= math.log2(n * (1 + step)) == pytest.approx(bound, abs=5e-7)


@pytest.mark.parametrize("delta", ["1", "1/10", "3"])
def test_privacy_level_is_the_logarithm_of_one_plus_delta(delta: str) -> None:
    """Erratum 2: the proof writes ε(δ) = 1 + δ; it is ln(1 + δ)."""
    policy = sv.Policy.of_graph(graphs.theorem_five(3))
    level = sv.epsilon(theorem_five(3, delta), policy)
    assert level.nats == pytest.approx(math.log1p(float(Fraction(delta))), abs=1e-12)


def test_rows_as_printed() -> None:
    rows = theorem_five(2, 1).matrix * 6
    assert rows[1].round(12).tolist() == [1, 2, 2, 1, 0, 0]
    assert rows[3].round(12).tolist() == [2, 1, 1, 2, 0, 0]
    assert rows[5].round(12).tolist() == [0, 0, 0, 0, 2, 4]


def test_nothing_leaks_beyond_the_component_at_delta_zero() -> None:
    assert theorem_five(4, 0).matrix.max(axis=0).sum() == pytest.approx(4)


@pytest.mark.parametrize(
    ("n", "delta"), [(1, 1), (2.5, 1), (2, -1), (2, "much"), (2, math.inf), (2, math.nan)]
)
def test_refusals(n: object, delta: object) -> None:
    with pytest.raises(MechanismError, match=r"must be a finite number|≥ 2"):
        theorem_five(n, delta)  # type: ignore[arg-type]
