"""How often something is observed: one number, or the numbers at which a curve is asked."""

from __future__ import annotations

from collections.abc import Sized

from sievert.errors import ChannelError, SievertError
from sievert.numerics import brief, count_of, require_size, whole
from sievert.spaces import iterable

__all__ = ["LONGEST_CURVE", "observation_count", "observation_counts", "upto"]

# A curve has a point for each number of observations.
LONGEST_CURVE = 1_000_000
# Results keep the number in 64 bits.
MOST_OBSERVATIONS = 10**18


def observation_counts(observations: object) -> list[int]:
    """Numbers of observations in increasing order; a single N stands for 1…N."""
    if not iterable(observations):
        return list(range(1, upto(observations, ChannelError) + 1))
    if isinstance(observations, str | bytes):
        raise ChannelError(f"observations is {brief(observations)}; give numbers, such as range(1, 101)")
    if isinstance(observations, Sized):
        _require_short(count_of(observations))
    if isinstance(observations, range) and observations:
        ends = {observation_count(n, ChannelError) for n in (observations[0], observations[-1])}
        return list(observations) if observations[0] == min(ends) else list(observations[::-1])
    counts = sorted({observation_count(n, ChannelError) for n in observations})
    if not counts:
        raise ChannelError("observations is empty; give at least one number, such as range(1, 101)")
    return counts


def observation_count(observations: object, error: type[SievertError]) -> int:
    """A number of observations of one channel."""
    return whole("observations", observations, error, most=MOST_OBSERVATIONS)


def upto(observations: object, error: type[SievertError]) -> int:
    """The length N of a curve over n = 1…N."""
    count = whole("observations", observations, error)
    _require_short(count)
    return count


def _require_short(points: int) -> None:
    way = "ask at fewer numbers, such as observations=[1, 10, 100, 10**9]"
    require_size(points, LONGEST_CURVE, "the points of the curve", way)
