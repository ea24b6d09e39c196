"""Every measure of a channel known by a rule against the same channel as a matrix.

Small channels are measured twice: as they are, and with every size limit lowered to nothing, so that the
rules meant for channels without a matrix are what answers.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import TooLargeError

KINDS = sorted(testing.STRUCTURED)
LIMITS = {
    "sievert.measures._output_values.BLOCK_ENTRIES": 0,
    "sievert.measures._output_values.SMALL_RESPONSE": 0,
    "sievert.measures._output_values.CHUNK": 2,
    "sievert.measures._capacities.SMALL_MATRIX": 0,
    "sievert.measures._vulnerability.LARGEST_COLUMNS": 0,
    "sievert.measures._vulnerability.LARGEST_VECTOR": 0,
    "sievert.measures._extremes.LARGEST_EXACT": 0,
    "sievert.measures.information.SMALL_MATRIX": 0,
    "sievert.measures._power_sums.BLOCK_ENTRIES": 0,
    "sievert.channels._structured.BLOCK_ENTRIES": 0,
}


@contextmanager
def no_matrix_is_small() -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in LIMITS.items():
            stack.enter_context(patch(name, value))
        yield


def adversaries(data: st.DataObject, size: int) -> dict[str, Any]:
    gain = data.draw(testing.gain_matrices(size, exact=data.draw(st.booleans())))
    return {
        "identity": None,
        "tries": sv.gains.tries(size, data.draw(st.integers(1, size + 1))),
        "guessing": sv.losses.guessing(size),
        "shannon": sv.losses.shannon(size),
        "gain": sv.gains.matrix(gain),
        "loss": sv.losses.matrix(gain),
        "belief": sv.gains.of_belief(lambda belief: float((belief**2).sum()), size),
    }


def dense(channel: sv.Channel) -> sv.Channel:
    finite = channel.finite()
    if finite.form == "exact":
        return sv.Channel(finite.exact, finite.inputs, finite.outputs)
    return sv.Channel(finite.matrix, finite.inputs, finite.outputs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given_prior", [False, True])
@given(st.data())
@settings(max_examples=12)
def test_vulnerability_and_leakage(kind: str, given_prior: bool, data: st.DataObject) -> None:
    channel = data.draw(testing.structured_channels(kinds=[kind]))
    plain = dense(channel)
    size = plain.shape[0]
    prior = data.draw(testing.priors(size, exact=data.draw(st.booleans()))) if given_prior else None
    for name, gain in adversaries(data, size).items():
        for case in ("average", "max"):
            expected = sv.leakage(plain, prior, gain, kind="additive", case=case)
            found = [sv.leakage(channel, prior, gain, kind="additive", case=case)]
            with no_matrix_is_small():
                found.append(sv.leakage(channel, prior, gain, kind="additive", case=case))
            for one in found:
                assert one.prior == pytest.approx(float(expected.prior), abs=1e-12), name
                assert one.posterior == pytest.approx(float(expected.posterior), abs=1e-12), (name, case)
                assert one.difference == pytest.approx(float(expected.difference), abs=1e-12)
            if case == "max":
                check_worst_output(channel, plain, prior, gain, found[0].posterior)


def check_worst_output(channel: sv.Channel, plain: sv.Channel, prior: Any, gain: Any, value: Any) -> None:
    """The output named in the max case is one where the value is reached."""
    with no_matrix_is_small():
        output = sv.posterior_vulnerability(channel, prior, gain, "max").output
    assert output is not None
    column = plain.exact_or_rounded()[:, [plain.output_index(output)]]
    belief = np.full(len(column), 1 / len(column)) if prior is None else np.array(prior)
    joint = (belief[:, None] * column).astype(np.float64)
    posterior = (joint / joint.sum())[:, 0]
    assert float(sv.vulnerability(posterior, gain)) == pytest.approx(float(value), abs=1e-9)


MEASURES: dict[str, Callable[[sv.Channel, Any], float]] = {
    "mutual": sv.information.mutual_information,
    "min-entropy": sv.information.min_entropy_leakage,
    "maximal": sv.information.maximal_leakage,
    "Sibson 1/2": lambda c, p: sv.information.sibson_information(c, p, 0.5),
    "Sibson 3": lambda c, p: sv.information.sibson_information(c, p, 3),
    "Arimoto 1/2": lambda c, p: sv.information.arimoto_information(c, p, 0.5),
    "Arimoto 3": lambda c, p: sv.information.arimoto_information(c, p, 3),
    "capacity": lambda c, p: float(sv.capacity(c, prior=p)),
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=12)
def test_information(kind: str, data: st.DataObject) -> None:
    channel = data.draw(testing.structured_channels(kinds=[kind]))
    plain = dense(channel)
    size = plain.shape[0]
    for prior in (None, data.draw(testing.priors(size, exact=data.draw(st.booleans())))):
        for name, measure in MEASURES.items():
            expected = measure(plain, prior)
            assert measure(channel, prior) == pytest.approx(expected, abs=1e-10), name
            with no_matrix_is_small():
                assert measure(channel, prior) == pytest.approx(expected, abs=1e-10), name


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=12)
def test_capacities(kind: str, data: st.DataObject) -> None:
    channel = data.draw(testing.structured_channels(kinds=[kind]))
    plain = dense(channel)
    size = plain.shape[0]
    prior = data.draw(testing.priors(size, full_support=True, exact=data.draw(st.booleans())))
    marked = [x for i, x in enumerate(plain.inputs) if i % 2]
    feature = sv.gains.property(plain.inputs, marked)
    questions: list[dict[str, Any]] = [
        {},
        {"prior": prior},
        {"kind": "additive", "gains": "unit", "prior": prior},
        {"kind": "additive", "gains": "spanning", "prior": prior},
        {"kind": "additive", "gains": "signed"},
        {"kind": "risk"},
        {"kind": "risk", "gains": feature},
        {"gains": feature},
        {"kind": "shannon"},
    ]
    for question in questions:
        expected = sv.capacity(plain, **question)
        assert float(sv.capacity(channel, **question)) == pytest.approx(float(expected), abs=1e-9), question
        with no_matrix_is_small():
            found = sv.capacity(channel, **question)
        assert float(found) == pytest.approx(float(expected), rel=1e-9, abs=1e-9), question
        if found.factor is not None:
            assert found.bits == pytest.approx(expected.bits, abs=1e-9)
        if found.pair is not None:
            check_pair(plain, found, question)


def check_pair(plain: sv.Channel, found: sv.results.Capacity, question: dict[str, Any]) -> None:
    """The even prior on the pair named has the leakage claimed."""
    if math.isinf(found.factor):
        return
    prior = np.zeros(plain.shape[0])
    places = [plain.input_index(name) for name in found.pair]
    np.add.at(prior, places, 0.5)
    if question.get("kind") == "risk":
        gain = sv.losses.bayes_risk(plain.inputs)
    else:
        gain = question["gains"]
    if float(sv.vulnerability(prior, gain)) > 0:
        assert float(sv.leakage(plain, prior, gain)) == pytest.approx(float(found.factor), rel=1e-9)


@pytest.mark.parametrize("kind", ["response", "program", "partition"])
@given(st.data())
@settings(max_examples=12)
def test_closed_form_of_the_radius(kind: str, data: st.DataObject) -> None:
    """Gains in [0, 1] over all priors: the closed forms for large channels against the linear program."""
    channel = data.draw(testing.structured_channels(kinds=[kind]))
    expected = sv.capacity(dense(channel), kind="additive", gains="unit")
    with patch("sievert.measures._capacities.LARGEST_PROGRAM", 0):
        assert float(sv.capacity(channel, kind="additive", gains="unit")) == pytest.approx(
            float(expected), abs=1e-9
        )


@given(st.data())
@settings(max_examples=12)
def test_every_form_of_a_product_prior_is_the_same_question(data: st.DataObject) -> None:
    """One prior a record, one a factor, and the vector over all tuples."""
    channel = data.draw(testing.structured_channels(kinds=["product"]))
    records = [data.draw(testing.priors(part.shape[0], exact=True)) for part in channel.channels()]  # type: ignore[attr-defined]
    joint = records[0]
    for record in records[1:]:
        joint = np.multiply.outer(joint, record).ravel()
    for gain in (None, sv.losses.shannon(channel.shape[0]), sv.gains.tries(channel.shape[0], 2)):
        expected = sv.leakage(dense(channel), joint, gain, kind="additive")
        for prior in (records, joint):
            assert sv.leakage(channel, prior, gain, kind="additive").difference == pytest.approx(
                float(expected.difference), abs=1e-12
            )
    assert sv.gains.strategy(channel, records) == sv.gains.strategy(dense(channel), joint)
    exact = sv.leakage(channel, records)
    if channel.form == "exact":
        assert exact.factor == sv.leakage(dense(channel), joint).factor
        assert exact.action is not None


def test_one_prior_for_all_records_of_a_product() -> None:
    coin = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    found = sv.leakage(coin.product(3), ["2/3", "1/3"])
    single = sv.leakage(coin, ["2/3", "1/3"])
    assert found.posterior == single.posterior**3
    assert found.action == (0, 0, 0)
    worst = sv.posterior_vulnerability(coin.product(3), ["2/3", "1/3"], case="max")
    assert worst.output == (0, 0, 0)
    assert worst.value == sv.posterior_vulnerability(coin, ["2/3", "1/3"], case="max").value ** 3


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.5], "prior has 2 entries but 3 are needed"),
        ([[0.5, 0.3, 0.2]] * 3, "prior has 3 records' priors but the product has 4 records in 2 factors"),
        (7, "prior is 7; give numbers"),
        ("uniform", "prior is 'uniform'"),
        ([[0.5, 0.3, 0.3], [0.5, 0.5]], "prior sums to 1.1"),
    ],
)
def test_product_priors_of_the_wrong_shape_are_refused(prior: Any, message: str) -> None:
    factors = [(sv.mechanisms.randomised_response(3, 1.0), 3), (sv.mechanisms.randomised_response(3, 2.0), 1)]
    with pytest.raises(sv.SievertError, match=message):
        sv.leakage(sv.Channel.product_of(factors), prior)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (lambda c: sv.capacity(c, kind="risk"), "the matrix of .* would be a .* × .* matrix"),
        (
            lambda c: sv.capacity(c, kind="additive", gains="unit"),
            "need a linear program of .* × .* variables",
        ),
        (
            lambda c: sv.capacity(c, kind="additive", gains="unit", prior=[0.5, 0.5]),
            "the prior of .* would be a 1 × ",
        ),
        (lambda c: sv.leakage(c, None, sv.gains.tries(2, 2)), "are tuples of 1000000 entries, too many"),
        (lambda c: sv.leakage(c, [0.5, 0.5], sv.gains.tries(2, 2)), "the prior of .* would be a 1 × "),
        (sv.gains.strategy, "too many to list"),
        (lambda c: c.hyper(), r"a prior over 9\.90e301029 secrets is too long"),
        (lambda c: c.reduced(), "would be a .* × .* matrix"),
        (sv.distinguishability, "would be a .* × .* matrix"),
    ],
)
def test_what_has_no_closed_form_says_how_large_it_is(question: Any, message: str) -> None:
    with pytest.raises(TooLargeError, match=message):
        question(sv.mechanisms.randomised_response(2, 1.0).product(10**6))


def test_sparse_channels_with_one_full_column() -> None:
    """An output that everybody shares does not make the others expensive."""
    n = 2000
    matrix = np.zeros((n, n + 1))
    matrix[:, 0] = 0.5
    matrix[np.arange(n), np.arange(n) + 1] = 0.5
    channel = sv.Channel.from_sparse(matrix)
    assert float(sv.posterior_vulnerability(channel)) == pytest.approx(0.5 + 0.5 / n)
    assert float(sv.capacity(channel)) == pytest.approx(0.5 + 0.5 * n)
    assert sv.information.mutual_information(channel) == pytest.approx(0.5 * math.log2(n))
    assert float(sv.leakage(channel, None, sv.losses.guessing(n)).posterior) == pytest.approx(
        0.5 * (n + 1) / 2 + 0.5
    )


def test_shannon_capacity_of_blocks_is_the_sum_channel() -> None:
    binary = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    blocks = sv.Channel.block_diagonal([binary, sv.Channel.identity(2), sv.Channel.null(3)])
    single = sv.capacity(binary, kind="shannon").bits
    found = sv.capacity(blocks, kind="shannon")
    assert found.bits == pytest.approx(math.log2(2**single + 2 + 1))
    assert sv.information.mutual_information(blocks, found.prior) == pytest.approx(found.bits)
