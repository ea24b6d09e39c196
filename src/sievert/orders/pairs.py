"""Two channels made comparable: finite, on the same inputs in the same order."""

from __future__ import annotations

from sievert.channels.channel import Channel, finite_channel
from sievert.errors import ChannelError
from sievert.spaces.labels import align

__all__ = ["aligned"]


def aligned(
    less_safe: Channel, safer: Channel, names: tuple[str, str] = ("less_safe", "safer")
) -> tuple[Channel, Channel]:
    """Both channels, finite, with the inputs of the second in the order of the first."""
    first, second = finite_channel(less_safe, names[0]), finite_channel(safer, names[1])
    if first.shape[0] != second.shape[0]:
        raise ChannelError(
            f"the channels have {first.shape[0]} and {second.shape[0]} inputs; "
            "compare channels on the same inputs"
        )
    positions = align(first.inputs, second.inputs, "the inputs of the second channel", ChannelError)
    if positions is not None:
        second = Channel._trusted(second._data[positions], second.form, first.inputs, second.outputs)
    return first, second
