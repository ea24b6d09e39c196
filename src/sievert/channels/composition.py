"""Putting channels together: cascade, parallel, repetition, products over records, oblivious queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sievert.errors import ChannelError, TooLargeError
from sievert.numerics.checks import readable
from sievert.numerics.logs import log_matmul
from sievert.numerics.rationals import exact_matmul
from sievert.spaces.labels import align, label
from sievert.spaces.policy import Policy
from sievert.spaces.query import Query

if TYPE_CHECKING:
    from sievert.channels.channel import Channel, Form

__all__ = [
    "LARGEST_DENSE",
    "RELATIVE",
    "cascade",
    "common_form",
    "oblivious",
    "parallel",
    "repeated",
    "require_dense",
    "whole_number",
]

LARGEST_DENSE = 100_000_000
# Where a channel that knows its `relative_logs` keeps them.
RELATIVE = "relative logs"


def require_dense(rows: int, columns: int, what: str) -> None:
    """Refuse a matrix that would not fit in memory, saying its size."""
    entries = rows * columns
    if entries > LARGEST_DENSE:
        raise TooLargeError(
            f"{what} would be a {readable(rows)} × {readable(columns)} matrix "
            f"({readable(8 * entries)} bytes); at most {LARGEST_DENSE} entries are stored densely",
            size=entries,
        )


def common_form(channels: Iterable[Channel]) -> Form:
    """The form of what is made of several channels: exact if all are, logarithms if any is."""
    forms = {channel.form for channel in channels}
    return "exact" if forms == {"exact"} else "log" if "log" in forms else "float"


def _data(channel: Channel, form: Form) -> NDArray[Any]:
    if form == "exact":
        assert channel.exact is not None
        return channel.exact
    return channel.log_matrix if form == "log" else channel.rounded()


def cascade(first: Channel, post: Channel) -> Channel:
    """The matrix product C·R.

    Post-processing never increases any leakage (Fernandes, Lem 3.3, 4.10, 4.11).
    """
    post = post.finite()
    order = align(first.outputs, post.inputs, "the inputs of the second channel", ChannelError)
    require_dense(first.shape[0], post.shape[1], "the cascade")
    form = common_form([first, post])
    left, right = _data(first, form), _data(post, form)
    if order is not None:
        right = right[order]
    if form == "exact":
        joined: NDArray[Any] = exact_matmul(left, right)
    else:
        joined = log_matmul(left, right) if form == "log" else left @ right
    return first._trusted(joined, form, first.inputs, post.outputs)


def parallel(first: Channel, second: Channel) -> Channel:
    """C;D: both outputs for one input, (C;D)[x, (y, z)] = C[x, y]·D[x, z]; the ε's add (Lem 3.1)."""
    first, second = first.finite(), second.finite()
    order = align(first.inputs, second.inputs, "the inputs of the second channel", ChannelError)
    form = common_form([first, second])
    left, right = _data(first, form), _data(second, form)
    if order is not None:
        right = right[order]
    n = left.shape[0]
    require_dense(n, left.shape[1] * right.shape[1], "the parallel composition")
    combined = left[:, :, None] + right[:, None, :] if form == "log" else left[:, :, None] * right[:, None, :]
    outputs = list(cartesian(first.outputs, second.outputs))
    joined = first._trusted(combined.reshape(n, -1), form, first.inputs, outputs)
    if form == "log":
        here, there = first.relative_logs, second.relative_logs
        there = there if order is None else there[order]
        joined._cache[RELATIVE] = (here[:, :, None] + there[:, None, :]).reshape(n, -1)
    return joined


def repeated(channel: Channel, times: int) -> Channel:
    """The channel observed several times independently, up to the order of the observations.

    Sequences with the same counts have proportional columns, so the outputs are the types: for three
    outputs and twelve repetitions 91 columns instead of 3^12.
    """
    channel = channel.finite()
    n, m = channel.shape
    count = whole_number("times", times)
    size = math.comb(m + count - 1, count)
    require_dense(n, size, f"{times} repetitions")
    require_dense(size, m, f"the counts of {times} repetitions")
    types = np.array(list(_types(m, count)), dtype=np.int64).reshape(size, m)
    data = _data(channel, channel.form)
    if channel.form == "exact":
        joined: NDArray[Any] = np.array(
            [[_multinomial(kind) * _power(row, kind) for kind in types.tolist()] for row in data.tolist()],
            dtype=object,
        )
        return channel._trusted(joined, "exact", channel.inputs, types.tolist())
    # 0·log 0 = 0: an output that never occurs may have a zero probability.
    logs = channel.log_matrix
    possible = np.where(np.isneginf(logs), 0.0, logs) @ types.T
    impossible = np.isneginf(logs).astype(np.float64) @ types.T > 0
    weights = gammaln(count + 1) - gammaln(types + 1).sum(axis=1)
    joined = np.where(impossible, -np.inf, possible + weights)
    return channel._trusted(joined, "log", channel.inputs, types.tolist())


def _types(outputs: int, times: int) -> Iterator[tuple[int, ...]]:
    """All ways to share `times` observations among the outputs."""
    if outputs == 1:
        yield (times,)
        return
    for first in range(times, -1, -1):
        for rest in _types(outputs - 1, times - first):
            yield (first, *rest)


def _multinomial(counts: list[int]) -> int:
    return math.factorial(sum(counts)) // math.prod(math.factorial(k) for k in counts)


def _power(row: list[Any], counts: list[int]) -> Any:
    return math.prod((value**k for value, k in zip(row, counts, strict=True) if k), start=Fraction(1))


def whole_number(name: str, value: object) -> int:
    """A count of at least 1, or an error that names it."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ChannelError(f"{name} is {value!r}; it must be a whole number ≥ 1")
    return int(value)


def oblivious(
    channel: Channel,
    query: Query | Callable[[Any], object] | Mapping[Any, object],
    policy: Policy | Iterable[object] | None,
) -> Channel:
    """K = H∘f, i.e. K[x, :] = H[f(x), :] (Fernandes, Sec 3.3)."""
    images = _images(query, policy)
    rows = [channel.input_index(answer) for answer in images.values()]
    channel = channel.finite()
    require_dense(len(rows), channel.shape[1], "the composed channel")
    data = _data(channel, channel.form)[rows]
    composed = channel._trusted(data, channel.form, list(images), channel.outputs)
    if channel.form == "log":
        composed._cache[RELATIVE] = channel.relative_logs[rows]
    return composed


def _images(
    query: Query | Callable[[Any], object] | Mapping[Any, object],
    policy: Policy | Iterable[object] | None,
) -> dict[Hashable, object]:
    if isinstance(query, Query):
        if not isinstance(policy, Policy):
            raise ChannelError("policy is missing; a query is composed over the databases of a policy")
        images = query.images(policy)
        databases = policy.database_labels()
        return dict(zip(databases, images, strict=True))
    if isinstance(query, Mapping):
        return {label(new): old for new, old in query.items()}
    if policy is None or isinstance(policy, Policy):
        raise ChannelError("policy: give the list of new inputs together with a function")
    return {label(new): query(new) for new in policy}
