"""Ways to make a channel other than from a matrix, and what they refuse."""

from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError, SievertError, TooLargeError


def test_programs_by_running_them() -> None:
    program = sv.Channel.from_function(lambda x: "even" if x % 2 == 0 else "odd", 5)
    assert program.outputs == ("even", "odd")
    assert program.exact.tolist() == [[1, 0], [0, 1]] * 2 + [[1, 0]]  # type: ignore[union-attr]
    assert program.sample([3, 4]).tolist() == ["odd", "even"]
    assert sv.Channel.from_function(len, ["a", "bb", "c"]).inputs == ("a", "bb", "c")
    assert sv.Channel.from_function(lambda x: [x], np.int64(2)).outputs == ((0,), (1,))


def test_programs_by_block_sizes() -> None:
    listed, counted = sv.Channel.from_blocks([3, 1, 1]), sv.Channel.from_blocks({1: 2, 3: 1}, inputs=5)
    assert listed.exact.tolist() == counted.exact.tolist()  # type: ignore[union-attr]
    assert counted.shape == (5, 3)
    # Blocks lie from the smallest to the largest.
    assert counted.sample([0, 1, 2, 4]).tolist() == [0, 1, 2, 2]
    assert counted.row(1).tolist() == [0, 1, 0]


def test_noise_on_integers_and_cycles() -> None:
    line = sv.Channel.from_noise(["1/4", "1/2", "1/4"], size=2, first=-1)
    assert line.exact.tolist() == [[F(1, 4), F(1, 2), F(1, 4), 0], [0, F(1, 4), F(1, 2), F(1, 4)]]  # type: ignore[union-attr]
    assert line.outputs == (-1, 0, 1, 2)
    ring = sv.Channel.from_noise(["1/4", "3/4"], size=3, first=-1, cyclic=True)
    assert ring.exact.tolist() == [  # type: ignore[union-attr]
        [F(3, 4), 0, F(1, 4)],
        [F(1, 4), F(3, 4), 0],
        [0, F(1, 4), F(3, 4)],
    ]


def test_blocks_keep_labels_that_differ_and_number_those_that_do_not() -> None:
    named = sv.Channel.block_diagonal([sv.Channel.identity(["a", "b"]), sv.Channel.identity(["c"])])
    assert named.inputs == ("a", "b", "c")
    assert named.outputs == ("a", "b", "c")
    numbered = sv.Channel.block_diagonal([sv.Channel.identity(2), sv.Channel.null(2)])
    assert numbered.inputs == (0, 1, 2, 3)
    assert numbered.matrix.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_products_list_tuples_while_they_are_few() -> None:
    both = sv.Channel.product_of([sv.Channel.identity(["a", "b"]), (sv.Channel.null(2), 2)])
    assert both.inputs == tuple(product("ab", (0, 1), (0, 1)))
    assert both.shape == (8, 2)
    assert both.row(("b", 0, 1)).tolist() == [0, 1]
    single = sv.mechanisms.warner().product(1)
    assert single.inputs == (("yes",), ("no",))


@given(testing.channels((1, 3), (1, 3), form="exact", sparse=True), st.integers(1, 4))
@settings(max_examples=25)
def test_repetition_by_types_is_repetition_by_sequences(channel: sv.Channel, times: int) -> None:
    """Sequences with the same counts have proportional columns, so merging them changes nothing."""
    sequences = channel
    for _ in range(times - 1):
        sequences = sequences.alongside(channel)
    types = channel.repeated(times)
    assert types.is_equivalent(sequences)
    for name in channel.inputs:
        for kind, probability in zip(types.outputs, types.exact[types.input_index(name)], strict=True):  # type: ignore[index]
            row = channel.exact[channel.input_index(name)]  # type: ignore[index]
            brute = sum(
                np.prod([row[y] for y in sequence], initial=F(1))
                for sequence in product(range(len(row)), repeat=times)
                if tuple(sequence.count(y) for y in range(len(row))) == kind
            )
            assert probability == brute
    floats = sv.Channel(channel.matrix).repeated(times)
    assert floats.matrix == pytest.approx(types.matrix, abs=1e-14)
    logs = sv.Channel.from_log(channel.log_matrix).repeated(times)
    assert logs.matrix == pytest.approx(types.matrix, abs=1e-14)


def test_twelve_repetitions_of_three_outputs_are_91_columns() -> None:
    channel = sv.mechanisms.randomised_response(3, alpha="1/2").repeated(12)
    assert channel.shape == (3, 91)
    assert sum(channel.exact[0]) == 1  # type: ignore[index]


def unlucky(x: int) -> int:
    return 1 // (x - 3)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: sv.Channel.from_blocks([2, 2], inputs=5),
            ChannelError,
            "the blocks hold 4 inputs together but there are 5; block sizes must sum",
        ),
        (lambda: sv.Channel.from_blocks([2], inputs=range(2)), ChannelError, r"inputs is range\(0, 2\)"),
        (lambda: sv.Channel.from_noise({}, 3), ChannelError, "kernel is empty"),
        (lambda: sv.Channel.from_noise({0.5: 1}, 3), ChannelError, "the noise 0.5 is not a whole number"),
        (lambda: sv.Channel.from_blocks([2, 0]), ChannelError, "the size 0 is not a whole number ≥ 1"),
        (lambda: sv.Channel.from_blocks({2: -1}), ChannelError, "the count -1 is not a whole number"),
        (lambda: sv.Channel.from_blocks([1.5]), ChannelError, "the size 1.5 is not a whole number"),
        (lambda: sv.Channel.from_blocks([]), ChannelError, "sizes is empty"),
        (
            lambda: sv.Channel.from_blocks({2**40: 2**40}),
            TooLargeError,
            r"hold 1\.21e24 inputs together; at most [0-9]+ can be numbered",
        ),
        (
            lambda: sv.Channel.from_function(unlucky, 5),
            ChannelError,
            "function raised ZeroDivisionError: .* on the input 3; it must return a label",
        ),
        (
            lambda: sv.Channel.from_function(lambda x: {x}, ["a"]),
            ChannelError,
            "function raised LabelError: .*not hashable.* on the input 'a'",
        ),
        (
            lambda: sv.Channel.from_function(len, ["a", "b", "a"]),
            ChannelError,
            "inputs has the label 'a' twice",
        ),
        (lambda: sv.Channel.from_function(len, []), ChannelError, "inputs is empty"),
        (
            lambda: sv.Channel.from_function(abs, 2**32),
            TooLargeError,
            "4294967296 inputs is too long .* use Channel.from_blocks",
        ),
        (lambda: sv.Channel.from_noise([0.5, 0.6], 3), ChannelError, "kernel: row 0 .* sums to 1.1"),
        (lambda: sv.Channel.from_noise([1.5, -0.5], 3), ChannelError, "kernel: .* has -0.5"),
        (lambda: sv.Channel.from_noise([], 3), ChannelError, "kernel: matrix is empty"),
        (lambda: sv.Channel.from_noise(7, 3), ChannelError, "kernel is 7; give a list of probabilities"),  # type: ignore[arg-type]
        (lambda: sv.Channel.from_noise(np.ones((2, 2, 2)), 3), ChannelError, "kernel: "),
        (lambda: sv.Channel.from_noise([1], 0), ChannelError, "size is 0; it must be a whole number ≥ 1"),
        (lambda: sv.Channel.from_noise([1], 2, 0.5), ChannelError, "first is 0.5; it must be a whole number"),  # type: ignore[arg-type]
        (
            lambda: sv.Channel.from_noise([0.5, 0.25, 0.25], 2, cyclic=True),
            ChannelError,
            "kernel has 3 entries but the cycle only 2; add up what wraps around",
        ),
        (lambda: sv.Channel.block_diagonal([]), ChannelError, "blocks is empty"),
        (lambda: sv.Channel.block_diagonal([1]), ChannelError, "a block is 1; give a sv.Channel"),  # type: ignore[list-item]
        (lambda: sv.Channel.product_of([]), ChannelError, "factors is empty"),
        (lambda: sv.Channel.product_of(["x"]), ChannelError, "one of the channels is 'x'; give a channel"),  # type: ignore[list-item]
        (lambda: sv.mechanisms.warner().product(0), ChannelError, "records is 0; it must be a whole number"),
        (
            lambda: sv.Channel.from_sparse([[0.5, 0.5], [1.0]]),
            ChannelError,
            "matrix is ragged or not numeric",
        ),
        (lambda: sv.Channel.from_sparse([["a"]]), ChannelError, "matrix is ragged or not numeric"),
        (
            lambda: sv.Channel.from_sparse([[1.5, -0.5]], outputs=["p", "q"]),
            ChannelError,
            "row 0 of the channel has -0.5 at output 'q', which is not a probability",
        ),
        (lambda: sv.Channel.from_sparse([[np.nan, 1]]), ChannelError, "has nan at output 0"),
        (
            lambda: sv.Channel.from_sparse([[0.5, 0.5], [0.5, 0]], ["a", "b"]),
            ChannelError,
            "row 'b' of the channel sums to 0.5; rows must sum to 1",
        ),
        (
            lambda: sv.Channel.from_sparse(scipy.sparse.csr_array((0, 3))),
            ChannelError,
            r"matrix has shape \(0, 3\)",
        ),
        (
            lambda: sv.Channel.from_sparse(scipy.sparse.eye_array(2), inputs=["a", "a"]),
            ChannelError,
            "inputs has the label 'a' twice",
        ),
        (
            lambda: sv.Channel(np.full((2, 5000), 1 / 5000)).repeated(2),
            TooLargeError,
            "the outcomes of 2 repetitions would take 62,512,500,000",
        ),
        (
            lambda: sv.mechanisms.warner().product(3).row(("yes", "no")),
            ChannelError,
            "is not an input; give a tuple of 3 entries",
        ),
        (
            lambda: sv.mechanisms.warner().product(3).sample([("yes", "no")]),
            ChannelError,
            r"xs has shape \(1, 2\); it must be \[draws, 3\]",
        ),
        (
            lambda: sv.mechanisms.warner().product(50).inputs,
            TooLargeError,
            "are tuples of 50 entries, too many to list; use .factors",
        ),
        (
            lambda: sv.Channel.from_blocks({1: 2**29}).row(0),
            TooLargeError,
            "a row of .* would be a 1 × 536,870,912 matrix",
        ),
        (
            lambda: sv.Channel.from_blocks({2**32: 2}).matvec([0, 1]),
            TooLargeError,
            "the product of .* with a vector would be a 1 × 8,589,934,592 matrix",
        ),
    ],
)
def test_what_is_wrong_is_named(build: Any, error: type[SievertError], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_noise_as_a_mapping() -> None:
    listed = sv.Channel.from_noise(["1/4", 0, "3/4"], 4, first=-1)
    mapped = sv.Channel.from_noise({1: "3/4", -1: "1/4"}, 4)
    assert mapped.outputs == listed.outputs
    assert (mapped.exact == listed.exact).all()
