"""Labelled input is read by label, whatever its order; unlabelled input by position; nothing is guessed."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sievert as sv
from sievert.errors import SievertError
from sievert.spaces import by_label

LABELS = ("low", "middle", "high")
VALUES = [5, 3, 2]
NAMED = {"high": 2, "low": 5, "middle": 3}
LABELLED: list[Any] = [
    NAMED,
    Counter(NAMED),
    pd.Series(NAMED),
    pd.Series(NAMED, dtype="Int64"),
    pd.DataFrame({"count": NAMED}),
    pd.DataFrame({"value": list(NAMED), "count": list(NAMED.values())}),
    pl.DataFrame({"value": list(NAMED), "count": list(NAMED.values())}),
    pa.table({"value": list(NAMED), "count": list(NAMED.values())}),
    pd.Series(["low"] * 5 + ["middle"] * 3 + ["high"] * 2).sample(frac=1, random_state=1).value_counts(),
    pl.Series("value", ["high"] * 2 + ["low"] * 5 + ["middle"] * 3).value_counts(sort=False),
]
UNLABELLED: list[Any] = [
    VALUES,
    tuple(VALUES),
    np.array(VALUES),
    np.array([5, 0, 3, 0, 2])[::2],
    pl.Series(VALUES),
    pa.array(VALUES),
    pa.chunked_array([VALUES]),
    pd.Series(VALUES),
    iter(VALUES),
]


@pytest.mark.parametrize("given", LABELLED)
def test_labelled_counts_go_to_their_label(given: Any) -> None:
    assert list(by_label(given, LABELS, "counts", SievertError)) == VALUES


@pytest.mark.parametrize("given", UNLABELLED)
def test_unlabelled_counts_keep_their_order(given: Any) -> None:
    assert list(by_label(given, LABELS, "counts", SievertError)) == VALUES


def test_an_index_that_pandas_made_is_none_unless_the_labels_are_whole_numbers() -> None:
    made_up = pd.Series([0.1, 0.2, 0.7])
    assert list(by_label(made_up, LABELS, "prior", SievertError)) == [0.1, 0.2, 0.7]
    assert list(by_label(made_up, (2, 0, 1), "prior", SievertError)) == [0.7, 0.1, 0.2]
    with pytest.raises(SievertError, match="0 is not one of the labels 10, 20, 30; to give it by position"):
        by_label(made_up, (10, 20, 30), "prior", SievertError)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 1, "middle": 2}, "counts: the label 'high' is missing"),
        (pd.Series({**NAMED, "huge": 1}), "counts: 'huge' is not one of the labels 'low', 'middle', 'high'"),
        (Counter(huge=1), "'huge' is not one of the labels"),
        (pd.Series([1, 2, 3], index=["low", "low", "high"]), "counts has the label 'low' twice"),
        (pl.LazyFrame({"a": [1]}), r"call \.collect\(\)"),
        (pl.DataFrame({"a": [1], "b": [1], "c": [1]}), "a table of 3 columns"),
        (np.ones((3, 1)), r"counts has shape \(3, 1\)"),
        ([1, 2], "counts has 2 entries but 3 are needed"),
        ("abc", "counts is 'abc'"),
        (3, "counts is 3"),
    ],
)
def test_what_does_not_fit_is_named(given: Any, message: str) -> None:
    with pytest.raises(SievertError, match=message):
        by_label(given, LABELS, "counts", SievertError)


def test_a_counter_counts_what_it_lacks_as_0() -> None:
    assert by_label(Counter(high=2), LABELS, "counts", SievertError) == [0, 0, 2]
    assert sv.priors.from_counts(Counter(high=2), LABELS).tolist() == [0, 0, 1]


RESPONSE = sv.mechanisms.randomised_response(LABELS, alpha="1/2")
PRIOR = [0.5, 0.3, 0.2]
SHUFFLED = pd.Series({"high": 0.2, "low": 0.5, "middle": 0.3})
LOSS = sv.losses.matrix([[0, 1, 4], [1, 0, 1], [4, 1, 0]], LABELS, secrets=LABELS)
METRIC = sv.Metric([[0, 1, 3], [1, 0, 2], [3, 2, 0]], points=LABELS)
FIXED = sv.uniform(3)


@pytest.mark.parametrize(
    "ask",
    [
        lambda prior: float(sv.posterior_vulnerability(RESPONSE, prior, LOSS)),
        lambda prior: float(sv.vulnerability(prior, LOSS)),
        lambda prior: sv.gains.strategy(RESPONSE, prior),
        lambda prior: float(sv.leakage(RESPONSE, prior, LOSS)),
        lambda prior: RESPONSE.hyper(prior).to_dict(),
        lambda prior: sv.information.mutual_information(RESPONSE, prior),
        lambda prior: sv.capacity(RESPONSE, kind="additive", gains="unit", prior=prior).difference,
        lambda prior: sv.kantorovich(prior, FIXED, METRIC).value,
        lambda prior: sv.kantorovich(FIXED, prior, METRIC).value,
        lambda prior: sv.estimation.multiplicative_kantorovich(prior, FIXED, METRIC).value,
        lambda prior: sv.divergences.privacy_vulnerability(prior, METRIC),
        lambda prior: sv.divergences.posterior_privacy_vulnerability(RESPONSE, prior=prior, metric=METRIC),
        lambda prior: sv.optimal_mechanism(METRIC, 1.0, prior, LOSS).loss,
        lambda prior: sv.remap(RESPONSE, prior, LOSS).after,
        lambda prior: sv.success_probability(RESPONSE, prior, 3).value,
        lambda prior: sv.breaches(RESPONSE, prior).predicate.predicate,
        lambda prior: sv.gains.property_channel(RESPONSE, prior, ["low"])[0].tolist(),
        lambda prior: sv.design.least_loss(prior, LOSS, 0.6).loss,
        lambda prior: sv.record_leakage(RESPONSE, sv.Policy.local(LABELS), prior=prior).after,
        lambda prior: float(sv.observations.expected_loss(RESPONSE, loss=LOSS, prior=prior).value),
        lambda prior: sv.worst_leakage(METRIC, 1.0, prior, sv.gains.within(METRIC, 1)).lower.log,
        lambda prior: sv.explain(1.0, values=LABELS, prior=prior).after,
        lambda prior: sv.explain(1.0, policy=METRIC, prior=prior).after,
        lambda prior: sv.weakest_claim(0.7, values=LABELS, prior=prior).value,
        lambda prior: float(sv.posterior_vulnerability(RESPONSE.product(2), prior)),
        lambda prior: sv.estimate([40, 30, 30], RESPONSE, "ibu", start=prior).distribution.tolist(),
        lambda prior: sv.estimate_mean([40, 30, 30], RESPONSE, prior).value,
        lambda prior: sv.priors.from_counts(prior, LABELS).tolist(),
    ],
)
def test_a_labelled_prior_means_the_same_in_any_order(ask: Any) -> None:
    expected = ask(PRIOR)
    for given in (SHUFFLED, SHUFFLED.to_dict(), pl.DataFrame({"value": list(SHUFFLED.index), "p": SHUFFLED})):
        assert (
            ask(given) == pytest.approx(expected) if isinstance(expected, float) else ask(given) == expected
        )
    with pytest.raises(SievertError, match=r"label|'huge'"):
        ask(SHUFFLED.rename({"high": "huge"}))


def test_counts_are_estimated_by_label() -> None:
    counts = pd.Series({"high": 100, "low": 600, "middle": 300})
    assert sv.estimate(counts, RESPONSE).distribution == pytest.approx(
        sv.estimate([600, 300, 100], RESPONSE).distribution
    )
    noise = sv.mechanisms.geometric(3, alpha="1/2")
    far = pd.Series({4: 2, 0: 5, -1: 3, 1: 1})
    assert sv.estimate(far, noise).distribution == pytest.approx(
        sv.estimate(far.to_dict(), noise).distribution
    )


TABLE = pd.DataFrame([[0.1, 0.9], [0.9, 0.1]], index=["a", "b"], columns=["x", "y"])


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        pl.DataFrame({"input": ["a", "b"], "x": [0.1, 0.9], "y": [0.9, 0.1]}),
        pa.table({"input": ["a", "b"], "x": [0.1, 0.9], "y": [0.9, 0.1]}),
        TABLE.reset_index(),
        {"a": {"x": 0.1, "y": 0.9}, "b": {"y": 0.1, "x": 0.9}},
    ],
)
def test_a_channel_keeps_the_names_of_its_table(table: Any) -> None:
    channel = sv.Channel(table)
    assert (channel.inputs, channel.outputs) == (("a", "b"), ("x", "y"))
    assert channel.matrix.tolist() == [[0.1, 0.9], [0.9, 0.1]]
    turned = sv.Channel(table, inputs=["b", "a"], outputs=["y", "x"])
    assert turned.matrix.tolist() == [[0.1, 0.9], [0.9, 0.1]]
    assert turned.inputs == ("b", "a")
    with pytest.raises(SievertError, match="'b' is not one of the labels 'a', 'c'"):
        sv.Channel(table, inputs=["a", "c"])


def test_a_polars_table_has_a_row_for_each_input() -> None:
    channel = sv.Channel(pl.DataFrame({"x": [0.2, 0.8], "y": [0.8, 0.2]}).with_columns(pl.col("x")))
    assert channel.matrix.tolist() == [[0.2, 0.8], [0.8, 0.2]]
    assert (channel.inputs, channel.outputs) == ((0, 1), ("x", "y"))
    assert sv.Channel(pl.DataFrame({"x": [0.2, 0.7], "y": [0.8, 0.3]})).matrix.tolist() == [
        [0.2, 0.8],
        [0.7, 0.3],
    ]


def test_exact_entries_of_a_table_stay_exact() -> None:
    texts = sv.Channel(pl.DataFrame({"input": ["a", "b"], "x": ["1/3", "1"], "y": ["2/3", "0"]}))
    assert texts.exact is not None and texts.exact[0, 0] == Fraction(1, 3)
    assert texts.inputs == ("a", "b")
    decimals = pa.table({"x": [Decimal("0.1"), Decimal("0.3")], "y": [Decimal("0.9"), Decimal("0.7")]})
    assert sv.Channel(decimals).form == "exact"


def test_channels_and_estimates_go_back_to_tables() -> None:
    channel = sv.Channel(TABLE)
    pd.testing.assert_frame_equal(channel.to_pandas(), TABLE)
    assert sv.Channel(channel.to_polars()).to_dict() == channel.to_dict()
    numbers = sv.mechanisms.truncated_geometric(3, 1.0)
    again = sv.Channel(numbers.to_polars(), inputs=numbers.inputs, outputs=numbers.outputs)
    assert again.matrix.tolist() == numbers.matrix.tolist()
    exact = sv.Channel(RESPONSE.to_pandas())
    assert exact.form == "exact" and exact.inputs == LABELS
    found = sv.estimate([60, 30, 10], RESPONSE)
    assert found.to_pandas().loc["low", "probability"] == found.probability("low")
    assert found.to_polars()["value"].to_list() == list(LABELS)
    hyper = RESPONSE.hyper()
    assert hyper.to_pandas().columns.tolist() == ["probability", *LABELS]
    assert hyper.to_polars()["probability"].sum() == pytest.approx(1)


def test_gains_losses_and_metrics_keep_the_names_of_their_tables() -> None:
    gain = pd.DataFrame([[1, 0, 5], [0, 1, 0]], index=["go", "stay"], columns=["high", "low", "middle"])
    found = sv.vulnerability(PRIOR, sv.gains.matrix(gain, secrets=LABELS))
    assert (float(found), found.action) == (0.3 * 5 + 0.2, "go")
    assert float(sv.posterior_vulnerability(RESPONSE, PRIOR, gain)) == float(
        sv.posterior_vulnerability(RESPONSE, PRIOR, gain[list(LABELS)].to_numpy())
    )
    assert sv.remap(RESPONSE, PRIOR, gain).actions == sv.remap(RESPONSE, PRIOR, gain[list(LABELS)]).actions
    distances = pd.DataFrame([[0, 1], [1, 0]], index=["b", "a"], columns=["a", "b"])
    with pytest.raises(SievertError, match=r"diagonal|itself"):
        sv.Metric(distances)
    turned = pd.DataFrame([[0, 1, 3], [1, 0, 2], [3, 2, 0]], index=LABELS, columns=LABELS)
    shuffled = turned.loc[:, ["high", "low", "middle"]]
    assert sv.Metric(shuffled).matrix.tolist() == METRIC.matrix.tolist()
    assert sv.Metric(shuffled).points == LABELS


@pytest.mark.parametrize(
    "make",
    [
        sv.Channel,
        sv.Channel.from_log,
        sv.Metric,
        sv.gains.matrix,
        sv.losses.matrix,
        sv.Channel.from_sparse,
        lambda m: sv.vulnerability(m[0]),
        sv.metrics.euclidean,
    ],
)
def test_complex_numbers_are_refused(make: Any) -> None:
    with pytest.raises(SievertError):
        make(np.array([[1 + 1j, 0], [0, 1 + 1j]]))
