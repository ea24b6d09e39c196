"""Correlations from matrices, counts and tables; what they refuse."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sievert as sv
from sievert.errors import PolicyError, PriorError
from sievert.inference import Correlation

COMPAS = [
    [1838, 46, 269, 61, 127, 20],
    [15, 0, 1, 0, 0, 0],
    [27, 0, 6, 3, 3, 0],
    [1, 0, 0, 0, 0, 0],
    [7135, 338, 1159, 227, 390, 39],
    [5, 0, 0, 0, 0, 0],
]
RECORDS = {
    "age": [30, 70, 80, 20, 40, 66],
    "ill": ["no", "yes", "yes", "no", "no", "no"],
    "town": ["A", "A", "B", "B", "C", "C"],
}


def test_the_survey_of_two_is_the_correlation_of_the_thesis() -> None:
    rows = {"first": [0, 1, 0, 1], "second": [0, 0, 1, 1]}
    found = Correlation.from_table(rows, secret="first", use={"count": ["first", "second"], "of": 1})
    quarter = Fraction(1, 4)
    assert found.joint.tolist() == [[quarter, quarter, 0], [0, quarter, quarter]]
    assert found.uses == (0, 1, 2)
    given = found.joint / found.use_prior
    assert given[0].tolist() == [1, Fraction(1, 2), 0]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_of_table_is_read_alike(make: Any) -> None:
    found = Correlation.from_table(make(RECORDS), secret="ill", use={"where": {"age": {"least": 65}}})
    assert found.secrets == ("no", "yes")
    assert found.joint.tolist() == [[Fraction(1, 2), Fraction(1, 6)], [0, Fraction(1, 3)]]
    assert found.total == 6


def test_bins_membership_and_several_conditions() -> None:
    found = Correlation.from_table(RECORDS, secret="ill", use={"column": "age", "bins": [18, 40, 65]})
    assert found.uses == ("18 to below 40", "40 to below 65", "65 or more")
    assert found.use_prior.tolist() == [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)]
    use = {"where": {"town": ["A", "B"], "age": {"above": 30, "most": 70}}}
    assert Correlation.from_table(RECORDS, secret="ill", use=use).use_prior.tolist() == [
        Fraction(5, 6),
        Fraction(1, 6),
    ]


def test_counts_of_rows_weigh_them() -> None:
    rows = {"a": ["x", "x", "y"], "b": [0, 1, 1], "n": [3, 1, 4]}
    found = Correlation.from_table(rows, secret="a", use="b", counts="n")
    assert found.joint.tolist() == Correlation.from_counts([[3, 1], [0, 4]]).joint.tolist()
    assert found.total == 8


def test_labels_of_a_table_are_kept() -> None:
    table = pd.DataFrame([[0.25, 0.25], [0.5, 0.0]], index=["in", "out"], columns=["low", "high"])
    found = Correlation(table)
    assert (found.secrets, found.uses) == (("in", "out"), ("low", "high"))


def test_association_of_the_compas_aggregate() -> None:
    found = Correlation.from_counts(COMPAS)
    assert round(found.cramers_v, 5) == 0.02716
    assert round(found.mutual_information, 6) == 0.002897
    assert round(sv.information.entropy(found.secret_prior.astype(float)), 6) == 0.777305
    assert Correlation([[Fraction(1, 4)] * 2] * 2).cramers_v == 0
    assert Correlation([["1/2", 0], [0, "1/2"]]).cramers_v == pytest.approx(1)


def test_insensitive_channels_have_a_factor() -> None:
    found = Correlation.from_labels([1, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2])
    tally = sv.Channel([[1, 0], [0, 1], [0, 1], [1, 0]])
    factor = found.insensitive(tally)
    assert factor is not None
    assert factor.matrix.tolist() == [[1, 0], [0, 1], [1, 0]]
    answer = sv.Channel([[1, 0], [0, 1], [1, 0], [0, 1]])
    assert found.insensitive(answer) is None
    own = found.insensitive(answer, to="use")
    assert own is not None and own.matrix.tolist() == [[1, 0], [0, 1]]


def test_an_input_that_cannot_occur_says_nothing_about_the_factor() -> None:
    raw = Correlation.from_labels([1, 1, 0], [0, 1, 1], [0, 1, 0])
    assert raw.insensitive(sv.Channel([[1, 0], [0, 1], [0, 1]])) is not None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Correlation([[0.5, 0.2], [0.1, 0.1]]), "sums to 0.9"),
        (lambda: Correlation([["1/2", "1/2"], ["1/4", 0]]), "sums to 5/4"),
        (lambda: Correlation([[0.5, -0.1], [0.3, 0.3]]), r"joint\[0, 1\] is"),
        (lambda: Correlation([[1, 2], [3]]), "ragged"),
        (lambda: Correlation([[float("nan"), 1]]), "NaN"),
        (lambda: Correlation.from_counts([[1, 0.5]]), r"counts\[0, 1\] is 0.5"),
        (lambda: Correlation.from_counts([[0, 0]]), "all 0"),
        (lambda: Correlation.from_labels([1, 1], [0, 1], [0]), "shapes"),
        (lambda: Correlation.from_labels([float("nan"), 0.5], [0, 1], [0, 1]), "weights hold NaN"),
        (lambda: Correlation.from_labels([1, 1], [0.7, 1], [0, 1]), r"secret_of is \[0.7, 1\]; give a list"),
        (lambda: Correlation.from_labels([1, 1], [0, 1], ["a", "b"]), "use_of is"),
        (lambda: Correlation.from_labels(["x", "y"], [0, 1], [0, 1]), "weights is"),
        (lambda: Correlation.from_labels([[1, 2], [3]], [0, 1], [0, 1]), "weights is"),
        (lambda: Correlation([[[0.5]], [[0.5]]]), "joint has 3 axes"),
    ],
)
def test_joints_that_are_none_are_refused(make: Any, message: str) -> None:
    with pytest.raises(PriorError, match=message):
        make()


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ("il", "no column 'il'.*did you mean 'ill'"),
        ({"where": {"age": {"least": 200}}}, "matches nothing"),
        ({"where": {"age": {"least": 0}}}, "matches every row"),
        ({"where": {"town": {"least": 1}}}, "no numbers"),
        ({"wher": {}}, "secret, key wher is {}: there is no such key .did you mean 'where'"),
        ({"column": "age", "bins": [3, 1]}, "rising"),
        (3, "give the name of a column"),
    ],
)
def test_properties_that_do_not_fit_are_refused(secret: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Correlation.from_table(RECORDS, secret=secret, use="town")


def test_a_channel_on_something_else_is_refused() -> None:
    with pytest.raises(PolicyError, match="acts on the uses 'A'"):
        Correlation.from_table(RECORDS, secret="ill", use="town").with_outputs(sv.Channel([[1, 0], [0, 1]]))


def test_a_million_records_need_no_gain() -> None:
    size = 200_000
    secret, use = np.arange(size) % 3, np.arange(size) % 5
    found = Correlation.from_labels(np.ones(size, dtype=int), secret, use)
    channel = sv.Channel(np.tile([[0.5, 0.5], [0.25, 0.75]], (size // 2, 1)))
    assert sv.inference.vulnerability(channel, found).value == pytest.approx(1 / 3, abs=1e-5)


def test_information_of_pairs_that_hardly_occur() -> None:
    near = Correlation([[0.5, 1e-18], [1e-18, 0.5]])
    assert near.mutual_information == pytest.approx(1, rel=1e-15)
    assert Correlation([[0.5, 1e-300], [1e-300, 0.5]]).mutual_information == pytest.approx(1, rel=1e-15)
    assert Correlation([[1e-200, 0], [0, 1]]).mutual_information == pytest.approx(6.6438562e-198, rel=1e-2)
    # Near independence Σ d²/(2·q·ln 2) with d = 1e-6 in four pairs of 1/4.
    tilted = Correlation([[0.25 + 1e-6, 0.25 - 1e-6], [0.25 - 1e-6, 0.25 + 1e-6]])
    assert tilted.mutual_information == pytest.approx(8e-12 / math.log(2), rel=1e-9)
    assert Correlation([["1/4", "1/4"], ["1/4", "1/4"]]).mutual_information == 0


def test_counts_whose_sum_is_beyond_64_bits() -> None:
    large = 2**61
    rows = {"s": ["a", "b", "c", "a"], "u": [1, 2, 1, 2], "n": [large] * 4}
    found = Correlation.from_table(rows, secret="s", use="u", counts="n")
    assert found.joint.tolist() == [[Fraction(1, 4)] * 2, [0, Fraction(1, 4)], [Fraction(1, 4), 0]]
    assert found.total == 4 * large
    assert Correlation.from_counts([[large, large]] * 2).joint.tolist() == [[Fraction(1, 4)] * 2] * 2


def test_weights_may_be_texts_of_fractions() -> None:
    assert Correlation.from_labels(["1/3", "2/3"], [0, 1], [0, 1]).joint[1, 1] == Fraction(2, 3)


def test_a_use_that_cannot_occur_is_told_in_any_way() -> None:
    found = Correlation([["1/4", "1/4", 0], ["1/4", "1/4", 0]])
    told = sv.Channel([["3/4", "1/4"], ["1/2", "1/2"]] * 2, inputs=found.inputs)
    factor = found.insensitive(told)
    assert factor is not None and factor.inputs == (0, 1, 2)
    assert factor.exact[:2].tolist() == told.exact[:2].tolist()
    assert found.with_outputs(factor).tolist() == found.with_outputs(told).tolist()


def test_insensitive_over_all_pairs() -> None:
    found = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    pairs = [(s, u) for s in range(2) for u in range(3)]
    by_use = sv.Channel([[1, 0], ["1/2", "1/2"], [0, 1]] * 2, inputs=pairs)
    factor = found.insensitive(by_use, over="all")
    assert factor is not None and factor.exact[1].tolist() == [Fraction(1, 2)] * 2
    # (0, 2) and (1, 0) cannot occur: what they say counts over all pairs only.
    odd = by_use.exact.copy()
    odd[2] = odd[0]
    channel = sv.Channel(odd, inputs=pairs)
    assert found.insensitive(channel) is not None
    assert found.insensitive(channel, over="all") is None
    assert found.with_outputs(channel).tolist() == found.with_outputs(factor).tolist()
    with pytest.raises(PolicyError, match="asked of a release on all 6 pairs"):
        found.insensitive(sv.Channel([[1]] * 4, inputs=found.inputs), over="all")
    raw = Correlation.from_labels([1, 1, 0], [0, 1, 1], [0, 1, 0])
    assert raw.insensitive(sv.Channel([[1, 0], [0, 1], [0, 1]]), over="all") is None


def test_a_column_of_truth_values_is_asked_for() -> None:
    rows = {"flag": np.array([True, False, True, False]), "town": ["A", "A", "B", "B"]}
    found = Correlation.from_table(rows, secret={"where": {"flag": True}}, use="town")
    assert found.secrets == ("no", "yes") and found.secret_prior.tolist() == [Fraction(1, 2)] * 2


def test_bins_that_lie_close_have_names_of_their_own() -> None:
    rows = {"x": [1000000.1, 1000000.3, 1000000.5], "s": ["a", "b", "a"]}
    binned = {"column": "x", "bins": [1000000.2, 1000000.4]}
    found = Correlation.from_table(rows, secret="s", use=binned)
    assert found.uses == ("below 1000000.2", "1000000.2 to below 1000000.4", "1000000.4 or more")
