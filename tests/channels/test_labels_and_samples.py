"""Labels of mixed kinds keep their kinds, and a single input is not taken for many."""

import numpy as np
import pytest

import sievert as sv
from sievert.channels import label_array
from sievert.errors import ChannelError


def test_arrays_of_labels() -> None:
    assert label_array((1, 2)).dtype == np.int64
    assert label_array((1, 0.5)).dtype == np.float64
    assert label_array(("a", "b")).dtype.kind == "U"
    assert label_array((True, False)).dtype == bool
    for mixed in ((1, "1"), (True, 2), ((0, 1), (1, 0)), (None, "x"), (2**70, 1)):
        array = label_array(mixed)
        assert array.dtype == object
        assert array.shape == (2,)
        assert tuple(array) == mixed
        assert list(map(type, array)) == list(map(type, mixed))


def test_samples_of_mixed_labels_keep_their_kind() -> None:
    channel = sv.Channel([[1, 0], [0, 1]], outputs=[1, "one"])
    assert channel.sample([0, 1], rng=0).tolist() == [1, "one"]


CHANNELS = [
    sv.Channel.identity(["yes", "no"]),
    sv.mechanisms.geometric(3, 1.0),
    sv.mechanisms.truncated_geometric(3, 1.0),
    sv.mechanisms.randomised_response(3, 1.0),
    sv.Channel.from_function(lambda x: x % 2, 4),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
@pytest.mark.parametrize("single", [1, "yes", np.int64(1), np.array(1), None], ids=repr)
def test_one_input_alone_is_refused(channel: sv.Channel, single: object) -> None:
    with pytest.raises(ChannelError, match="give a list or an array of inputs, for one input"):
        channel.sample(single, rng=0)
