"""Labels are plain, distinct, and matched by name before position."""

import numpy as np
import pytest

from sievert.errors import ChannelError
from sievert.numerics import whole
from sievert.spaces import align, label, labels_of, labels_or_range


def test_labels_are_plain_python() -> None:
    assert label(np.int64(3)) == 3
    assert type(label(np.float64(0.5))) is float
    assert label([1, [np.str_("a"), 2]]) == (1, ("a", 2))
    assert label(np.array([1, 2])) == (1, 2)
    assert type(label((np.int64(1),))[0]) is int  # type: ignore[index]


def test_defaults_are_positions() -> None:
    assert labels_or_range(None, 3, "inputs", ChannelError) == (0, 1, 2)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "inputs has the label 'a' twice; labels must be distinct"),
        (["a"], "inputs has 1 labels but 2 are needed"),
        ([{}, "a"], "inputs: label {} is not hashable"),
        ([(1, []), (1, [])], "twice"),
        ([1, 1.0], "twice"),
    ],
)
def test_bad_labels_are_named(labels: list[object], message: str) -> None:
    with pytest.raises(ChannelError, match=message):
        labels_or_range(labels, 2, "inputs", ChannelError)


def test_n_or_labels() -> None:
    assert labels_of(3, "n", "secrets", ChannelError) == (0, 1, 2)
    assert labels_of(np.int64(1), "n", "secrets", ChannelError) == (0,)
    assert labels_of(iter("ab"), "n", "secrets", ChannelError) == ("a", "b")
    for bad in (0, -1, True, 2.5, "abc", None, []):
        with pytest.raises(ChannelError, match=r"n is .*give the number of secrets or their labels"):
            labels_of(bad, "n", "secrets", ChannelError)


def test_whole_numbers() -> None:
    assert whole("k", np.int64(2), ChannelError) == 2
    for bad in (0, True, 1.0, "1"):
        with pytest.raises(ChannelError, match=r"k is .*; it must be a whole number ≥ 1"):
            whole("k", bad, ChannelError)


def test_alignment_is_by_label_first() -> None:
    assert align((0, 1, 2), (0, 1, 2), "x", ChannelError) is None
    assert align(("a", "b"), ("b", "a"), "x", ChannelError) == [1, 0]
    # The same numbers in another order are labels, not positions.
    assert align((0, 1, 2), (2, 0, 1), "x", ChannelError) == [1, 2, 0]


def test_unlabelled_matches_anything_of_its_length() -> None:
    assert align((0, 1), ("a", "b"), "x", ChannelError) is None
    assert align(("a", "b"), (0, 1), "x", ChannelError) is None


def test_misaligned_labels_are_refused() -> None:
    with pytest.raises(ChannelError, match="x has no element labelled 'a', but 'c', 'b'; labels must agree"):
        align(("a", "b"), ("c", "b"), "x", ChannelError)
    with pytest.raises(ChannelError, match="x has 3 elements but 2 are needed"):
        align(("a", "b"), ("a", "b", "c"), "x", ChannelError)
