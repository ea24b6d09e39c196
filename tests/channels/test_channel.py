"""Channels: forms, labels, validation, sampling."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError, SievertError, TooLargeError

half = Fraction(1, 2)


@pytest.mark.parametrize(
    "matrix",
    [
        [[half, half], [0, 1]],
        [["1/2", "0.5"], [0, "1"]],
        [[Decimal("0.5"), half], [False, True]],
        np.array([[half, half], [Fraction(0), Fraction(1)]], dtype=object),
    ],
)
def test_exact_input_stays_exact(matrix: Any) -> None:
    channel = sv.Channel(matrix)
    assert channel.form == "exact"
    assert channel.exact is not None
    assert channel.exact.tolist() == [[half, half], [0, 1]]
    assert channel.matrix.tolist() == [[0.5, 0.5], [0, 1]]
    assert channel.log_matrix.tolist() == [[math.log(0.5)] * 2, [-math.inf, 0]]


def test_integer_arrays_are_exact_and_one_float_makes_floats() -> None:
    assert sv.Channel(np.eye(3, dtype=np.uint8)).form == "exact"
    assert sv.Channel(np.eye(3)).form == "float"
    assert sv.Channel([[half, 0.5], [1, 0]]).form == "float"


def test_floats_are_exact_only_when_rows_sum_to_one_exactly() -> None:
    assert sv.Channel([[0.5, 0.5]]).exact.tolist() == [[half, half]]  # type: ignore[union-attr]
    assert sv.Channel([[0.1, 0.9]]).exact is None  # 0.1 + 0.9 is not 1 as exact binary fractions
    assert sv.Channel.from_log([[0.0]]).exact is None


def test_logarithms_too_small_for_floats_are_refused_as_a_matrix() -> None:
    channel = sv.Channel.from_log([[0.0, -2000.0]], inputs=["a"], outputs=["y", "z"], normalise=True)
    with pytest.raises(
        ChannelError, match=r"input 'a' and output 'z' is e\^-2000, too small for a float; use .log_m"
    ):
        _ = channel.matrix
    assert channel.rounded().tolist() == [[1, 0]]
    assert channel.support.all()
    exact = sv.Channel([[1 - Fraction(1, 2**2000), Fraction(1, 2**2000)]])
    with pytest.raises(ChannelError, match=r"e\^-1386.29, too small"):
        _ = exact.matrix
    assert exact.log_matrix[0, 1] == pytest.approx(-2000 * math.log(2))


def test_structural_zeros_are_no_underflow() -> None:
    assert sv.Channel.from_log([[0.0, -math.inf]]).matrix.tolist() == [[1, 0]]


@given(testing.channels(form="exact", sparse=True))
def test_the_three_forms_agree(channel: sv.Channel) -> None:
    as_log = sv.Channel.from_log(channel.log_matrix)
    as_float = sv.Channel(channel.matrix)
    assert np.allclose(as_log.matrix, channel.matrix, rtol=1e-14, atol=0)
    assert np.allclose(np.exp(as_float.log_matrix), channel.matrix, rtol=1e-14, atol=0)
    assert np.array_equal(as_log.support, channel.support)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([], "matrix is empty; a channel needs at least one row and one column"),
        ([[]], "matrix is empty"),
        (np.empty((0, 2)), "matrix is empty"),
        (np.empty((2, 0)), "matrix is empty"),
        (
            [[1], [0.5, 0.5]],
            "row 1 of the channel has 2 entries but row 0 has 1; every row needs one entry for each",
        ),
        ([0.5, 0.5], r"matrix is \[0.5, 0.5\]; give one row of probabilities for each input"),
        (5, "matrix is 5; give one row"),
        ([["half", "1/2"]], "row 0 of the channel has 'half' in column 0, which is not a finite number"),
        ([["1/0", 1]], "row 0 of the channel has '1/0' in column 0"),
        ([[None, 1]], "row 0 of the channel has None in column 0"),
        ([[1j, 0]], "has 1j in column 0"),
        ([[Decimal("NaN"), 1]], "in column 0, which is not a finite number"),
        (
            [[1.5, -0.5]],
            "row 0 of the channel has -0.5 at output 1, which is not a probability; entries must be",
        ),
        ([[2, -1]], "row 0 of the channel has -1 at output 1"),
        (np.array([[2, -1]]), "row 0 of the channel has -1 at output 1"),
        ([[math.nan, 1]], "row 0 of the channel has nan at output 0, which is not a probability"),
        ([[math.inf, 0]], "row 0 of the channel has inf at output 0"),
        (
            [[1, 0], [0.5, 0.48]],
            "row 1 of the channel sums to 0.98; rows must sum to 1 within 1e-09; pass normalise=T",
        ),
        (
            [["1/3", "1/3"]],
            "row 0 of the channel sums to 2/3; rows must sum to 1 exactly; pass normalise=True",
        ),
        (np.array([[1, 1]]), "row 0 of the channel sums to 2; rows must sum to 1 exactly"),
        ([[0.0, 0.0]], "row 0 of the channel sums to 0"),
    ],
)
def test_bad_matrices_are_refused_naming_row_and_value(matrix: Any, message: str) -> None:
    with pytest.raises(ChannelError, match=message):
        sv.Channel(matrix)


def test_errors_use_the_labels_and_are_value_errors() -> None:
    with pytest.raises(ChannelError, match="row 'Bonn' of the channel has -1 at output 'hot'"):
        sv.Channel([[1, 0], [-1, 2]], inputs=["Jena", "Bonn"], outputs=["hot", "cold"])
    assert issubclass(ChannelError, SievertError)
    assert issubclass(SievertError, ValueError)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"inputs": ["a"]}, "inputs has 1 labels but 2 are needed"),
        ({"outputs": ["y", "y"]}, "outputs has the label 'y' twice; labels must be distinct"),
        ({"inputs": [{}, 1]}, "inputs: label {} is not hashable"),
    ],
)
def test_bad_labels_are_refused(labels: dict[str, Any], message: str) -> None:
    with pytest.raises(ChannelError, match=message):
        sv.Channel([[1, 0], [0, 1]], **labels)


@pytest.mark.parametrize(
    ("log_matrix", "message"),
    [
        ([[0.0], [0.0, -1.0]], "log_matrix is ragged or not numeric"),
        ([0.0], r"log_matrix has shape \(1,\)"),
        (
            [[math.nan]],
            "row 0 of the channel has nan at output 0, which is not the logarithm of a probability",
        ),
        ([[math.inf]], "has inf at output 0"),
        ([[-1.0, -1.0]], "sums to 0.735758882343; rows must sum to 1"),
        ([[-math.inf]], "sums to 0"),
    ],
)
def test_bad_logarithms_are_refused(log_matrix: Any, message: str) -> None:
    with pytest.raises(ChannelError, match=message):
        sv.Channel.from_log(log_matrix)


def test_normalise_rescales_every_form() -> None:
    assert sv.Channel([[2, 1], [0, 5]], normalise=True).exact.tolist() == [  # type: ignore[union-attr]
        [Fraction(2, 3), Fraction(1, 3)],
        [0, 1],
    ]
    assert sv.Channel([[2.0, 2.0]], normalise=True).matrix.tolist() == [[0.5, 0.5]]
    assert sv.Channel([[1e308, 1e308, 1e308]], normalise=True).matrix == pytest.approx(1 / 3)
    assert sv.Channel.from_log([[5.0, 5.0]], normalise=True).matrix == pytest.approx(0.5)
    for channel in ([[0, 0]], [[0.0, 0.0]]):
        with pytest.raises(ChannelError, match="row 0 of the channel is all 0, so it cannot be rescaled"):
            sv.Channel(channel, normalise=True)


def test_row_sums_may_be_off_by_rounding_only() -> None:
    sv.Channel([[0.1] * 10])
    sv.Channel([[0.5, 0.5 + 5e-10]])
    with pytest.raises(ChannelError):
        sv.Channel([[0.5, 0.5 + 5e-9]])


def test_data_are_read_only_copies() -> None:
    source = np.array([[0.5, 0.5]])
    channel = sv.Channel(source)
    source[0, 0] = 7
    assert channel.matrix[0, 0] == 0.5
    for array in (channel.matrix, channel.then(sv.Channel.identity(2)).matrix, channel.reduced().log_matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_labels_and_rows() -> None:
    channel = sv.Channel([[0.5, 0.5], [0, 1]], inputs=["a", (1, 2)], outputs=[10, 20])
    assert channel.input_index([1, 2]) == 1
    assert channel.output_index(20) == 1
    assert channel.row("a").tolist() == [0.5, 0.5]
    for bad in ("z", [3], {}):
        with pytest.raises(ChannelError, match="is not one of the channel's inputs: 'a', "):
            channel.row(bad)


def test_identity_and_null() -> None:
    assert sv.Channel.identity(["a", "b"]).outputs == ("a", "b")
    assert sv.Channel.null(np.int64(3)).shape == (3, 1)
    for make in (sv.Channel.identity, sv.Channel.null):
        with pytest.raises(ChannelError, match="at least one"):
            make(0)


def test_large_integer_matrices_are_quick() -> None:
    assert sv.Channel(np.eye(500, dtype=np.int64)).form == "exact"


def test_plain_data_round_trip() -> None:
    exact = sv.Channel([["1/3", "2/3"]], inputs=["a"], outputs=["y", "z"])
    data = json.loads(json.dumps(exact.to_dict()))
    again = sv.Channel(data["entries"], data["inputs"], data["outputs"])
    assert again.exact.tolist() == exact.exact.tolist()  # type: ignore[union-attr]
    assert "1/3" in exact._repr_html_()
    assert repr(exact) == "Channel(1 inputs, 2 outputs, exact)"


def test_sampling_frequencies() -> None:
    """Chi-squared on 60 000 draws, fixed seed; false-alarm rate 1e-6."""
    from scipy.stats import chisquare

    channel = sv.Channel(
        [[0.2, 0, 0.5, 0.3], [1, 0, 0, 0], [0.25] * 4], inputs=["a", "b", "c"], outputs=list("wxyz")
    )
    drawn = channel.sample(["a"] * 30_000 + ["b"] * 100 + ["c"] * 30_000, rng=5)
    assert set(drawn[30_000:30_100]) == {"w"}
    first = [int((drawn[:30_000] == name).sum()) for name in "wyz"]
    assert (drawn[:30_000] == "x").sum() == 0
    assert chisquare(first, [6000, 15_000, 9000]).pvalue > 1e-6
    last = [int((drawn[30_100:] == name).sum()) for name in "wxyz"]
    assert chisquare(last).pvalue > 1e-6


def test_sampling_is_repeatable_and_takes_arrays() -> None:
    channel = sv.mechanisms.truncated_geometric(50, 0.3)
    xs = np.random.default_rng(0).integers(0, 50, 100_000)
    assert np.array_equal(
        channel.sample(xs, rng=3), channel.sample(xs.tolist(), rng=np.random.default_rng(3))
    )
    assert channel.sample([]).shape == (0,)
    tuples = channel.product(2)
    assert tuples.sample([(1, 2), (3, 4)], rng=1).shape == (2, 2)
    with pytest.raises(ChannelError, match="99 is not one of the channel's inputs"):
        channel.sample(np.array([1, 99]))


def test_sampling_never_draws_an_impossible_output() -> None:
    channel = sv.Channel([[0.1] * 10 + [0.0]])
    assert channel.sample(np.zeros(10_000, dtype=int), rng=1).max() < 10


@pytest.mark.parametrize(
    ("compose", "size"),
    [
        (lambda c: c.alongside(c).alongside(c), 101**4),
        (lambda c: c.repeated(5), 101 * math.comb(105, 5)),
        (lambda c: c.product(3).matrix, 101**6),
    ],
)
def test_too_large_matrices_are_refused_with_their_size(
    compose: Callable[[sv.Channel], sv.Channel], size: int
) -> None:
    with pytest.raises(
        TooLargeError,
        match=r"would (be a .* × .* matrix \(.* bytes\); at most 100,000,000|take 9,752,625,246)",
    ) as caught:
        compose(sv.mechanisms.randomised_response(101, 1.0))
    assert caught.value.size == size
