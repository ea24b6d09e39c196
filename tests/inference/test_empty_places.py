"""What has probability 0, what nobody is in, and what is believed about somebody else."""

from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.inference import Correlation, accuracy, frontier, newcomer, newcomer_table, privacy_loss

ALL = [[3, 1, 0], [2, 4, 1]]


def test_a_secret_of_probability_0_changes_nothing() -> None:
    noise = sv.mechanisms.truncated_geometric(3, alpha="1/3")
    plain = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    wide = Correlation([["1/4", "1/4", 0], [0, 0, 0], [0, "1/4", "1/4"]])
    first, second = privacy_loss(noise, plain), privacy_loss(noise, wide)
    for name in ("factor", "before", "after", "odds", "capacity", "bits"):
        assert getattr(first, name) == getattr(second, name), name
    assert [shift.most for shift in second.shifts][1] == 0
    assert accuracy(noise, wide).value == accuracy(noise, plain).value
    assert wide.cramers_v == pytest.approx(plain.cramers_v)
    assert wide.mutual_information == pytest.approx(plain.mutual_information)
    limits = ["1/2", "3/4"]
    assert frontier(wide, limits, alpha="1/3").accuracies == frontier(plain, limits, alpha="1/3").accuracies
    assert sv.inference.vulnerability(noise, wide).value == sv.inference.vulnerability(noise, plain).value
    floats = Correlation(np.array([[0.5, 0.25], [0.0, 0.0], [0.0, 0.25]]))
    assert np.isfinite(privacy_loss(sv.mechanisms.truncated_geometric(2, 1.0), floats).capacity)
    assert Correlation([[1, 0], [0, 0]]).cramers_v == 0


@pytest.mark.parametrize("mechanism", ["oblivious", "local"])
def test_an_empty_row_changes_nothing(mechanism: str) -> None:
    plain = newcomer(ALL, 0, mechanism=mechanism, alpha="1/10")
    wide = newcomer([ALL[0], [0, 0, 0], ALL[1]], 0, mechanism=mechanism, alpha="1/10")
    assert (wide.privacy_loss, wide.utility) == (plain.privacy_loss, plain.utility)


@pytest.mark.parametrize("mechanism", ["oblivious", "local"])
def test_the_first_to_join_a_table_without_rows(mechanism: str) -> None:
    found = newcomer([[0, 0], [0, 0]], 0, mechanism=mechanism, alpha="1/3", belief=[["1/2", 0], [0, "1/2"]])
    # One record, whose noisy bit is the release: randomised response of α = 1/3.
    assert (found.records, found.secret_before) == (0, Fraction(1, 2))
    assert found.secret_after == found.utility == Fraction(3, 4)
    uniform = newcomer([[0, 0], [0, 0]], 0, mechanism=mechanism, alpha="1/3")
    assert (uniform.secret_before, uniform.secret_after) == (Fraction(1, 2), Fraction(1, 2))


def test_a_belief_that_differs_from_the_table() -> None:
    belief = [["1/10", "4/10", 0], [0, "2/10", "3/10"]]
    found = newcomer(ALL, 1, alpha="1/10", belief=belief)
    assert found.records == 11
    joint = np.array([[Fraction(x) for x in row] for row in belief], dtype=object)
    counted = np.array([0, 1, 0])
    lines = (joint * (1 - counted)).sum(axis=1), (joint * counted).sum(axis=1)
    alpha = Fraction(1, 10)
    after = sum(max(a * x + b * y for a, b in zip(*lines, strict=True)) for x, y in ((1, alpha), (alpha, 1)))
    assert found.secret_after == after / (1 + alpha)
    same = newcomer(ALL, 1, alpha="1/10", belief=[[Fraction(n, 11) for n in row] for row in ALL])
    assert same == newcomer(ALL, 1, alpha="1/10")
    by_name = Correlation(belief, uses=["no", "yes", "old"])
    table = Correlation.from_counts(ALL, uses=["old", "no", "yes"])
    assert newcomer(table, "no", alpha="1/10", belief=by_name).utility_before == Fraction(9, 10)
    assert len(newcomer_table(ALL, 1, [0.5, 1.0], belief=belief).rows()) == 2
    with pytest.raises(sv.SievertError, match="belief is about the values"):
        newcomer(ALL, 1, 1.0, belief=Correlation([["1/2", "1/2", 0]], uses=["a", "b", "c"]))
