"""Putting channels together: cascade, parallel, repetition, products over records, oblivious queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import chain, combinations
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sievert.errors import ChannelError, TooLargeError
from sievert.numerics import abbreviated, exact_matmul, log_matmul, readable, require_size, taken, whole
from sievert.policies import Policy, Query
from sievert.spaces import CheckedLabels, align, iterable, label

if TYPE_CHECKING:
    from sievert.channels._channel import Channel
    from sievert.channels._constructors import Form

__all__ = [
    "LARGEST_DENSE",
    "cascade",
    "common_form",
    "oblivious",
    "parallel",
    "repeated",
    "require_dense",
]

LARGEST_DENSE = 100_000_000
LARGEST_TYPES = 20_000_000
LARGEST_EXACT_TYPES = 2_000_000
# Sets of outputs among which one that lies within another is looked for.
MOST_KINDS = 200


def require_dense(rows: int, columns: int, what: str) -> None:
    """Refuse a matrix that would not fit in memory, saying its size."""
    entries = rows * columns
    if entries > LARGEST_DENSE:
        raise TooLargeError(
            f"{what} would be a {readable(rows)} × {readable(columns)} matrix "
            f"({readable(8 * entries)} bytes); at most {readable(LARGEST_DENSE)} entries are stored densely",
            size=entries,
        )


def channel_argument(argument: str, given: object) -> Channel:
    """The other channel of a composition (the class is known only when the function is called)."""
    from sievert.channels._channel import as_channel

    return as_channel(given, argument)


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
    post = channel_argument("post", post).finite()
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
    return first.trusted(joined, form, first.inputs, post.outputs)


def parallel(first: Channel, second: Channel) -> Channel:
    """C;D: both outputs for one input, (C;D)[x, (y, z)] = C[x, y]·D[x, z]; the ε's add (Lem 3.1)."""
    first, second = first.finite(), channel_argument("other", second).finite()
    order = align(first.inputs, second.inputs, "the inputs of the second channel", ChannelError)
    form = common_form([first, second])
    left, right = _data(first, form), _data(second, form)
    if order is not None:
        right = right[order]
    n = left.shape[0]
    require_dense(n, left.shape[1] * right.shape[1], "the parallel composition")
    combined = left[:, :, None] + right[:, None, :] if form == "log" else left[:, :, None] * right[:, None, :]
    outputs = list(cartesian(first.outputs, second.outputs))
    relative = None
    if form == "log":
        here, there = first.relative_logs, second.relative_logs
        there = there if order is None else there[order]
        relative = (here[:, :, None] + there[:, None, :]).reshape(n, -1)
    return first.trusted(combined.reshape(n, -1), form, first.inputs, outputs, relative=relative)


def repeated(channel: Channel, times: int) -> Channel:
    """The channel observed several times independently, up to the order of the observations.

    Sequences with the same counts have proportional columns, so the outputs are the types: for three
    outputs and twelve repetitions 91 columns instead of 3^12.
    """
    channel = channel.finite()
    n, m = channel.shape
    count = whole("times", times, ChannelError)
    size = _number_of_types(m, count)
    listed, large = None, size
    if size * max(n, m) > LARGEST_TYPES or (channel.form == "exact" and size * count > LARGEST_EXACT_TYPES):
        # What no input ever shows is not listed.
        kinds = _possible_kinds(channel)
        listed = [(kind, _number_of_types(len(kind), count)) for kind in kinds]
        size = sum(many for _, many in listed)
        # One output alone is certain: no power and no factorial.
        large = sum(many for kind, many in listed if len(kind) > 1)
    way = "sv.success_probability and sv.breaches answer for many observations without listing them"
    require_size(size * max(n, m), LARGEST_TYPES, f"the outcomes of {count} repetitions", way)
    if channel.form == "exact":
        require_size(
            size + large * count, LARGEST_EXACT_TYPES, f"the exact outcomes of {count} repetitions", way
        )
    types = _types(m, count, size) if listed is None else _types_within(m, count, listed)
    size = len(types)
    outputs = CheckedLabels(map(tuple, types.tolist()))
    data = _data(channel, channel.form)
    if channel.form == "exact":
        joined: NDArray[Any] = np.full((n, size), Fraction(0), dtype=object)
        never = np.asarray(data == 0, dtype=np.int64) @ (types > 0).T
        for i, k in np.argwhere(never == 0).tolist():
            kind = types[k].tolist()
            joined[i, k] = _multinomial(kind) * _power(data[i].tolist(), kind)
        return channel.trusted(joined, "exact", channel.inputs, outputs)
    # 0·log 0 = 0: an output that never occurs may have a zero probability.
    logs = channel.log_matrix
    possible = np.where(np.isneginf(logs), 0.0, logs) @ types.T
    impossible = np.isneginf(logs).astype(np.float64) @ types.T > 0
    weights = gammaln(count + 1) - gammaln(types + 1).sum(axis=1)
    joined = np.where(impossible, -np.inf, possible + weights)
    return channel.trusted(joined, "log", channel.inputs, outputs)


def _possible_kinds(channel: Channel) -> list[tuple[int, ...]]:
    """The sets of outputs that inputs show, without those that lie within another."""
    shown = np.asarray(_data(channel, channel.form) != (-np.inf if channel.form == "log" else 0), dtype=bool)
    kinds = sorted({tuple(np.flatnonzero(row).tolist()) for row in shown}, key=len, reverse=True)
    kept: list[tuple[int, ...]] = []
    for kind in kinds:
        if len(kept) > MOST_KINDS or not any(set(kind) <= set(other) for other in kept):
            kept.append(kind)
    return kept


def _types_within(outputs: int, times: int, kinds: list[tuple[tuple[int, ...], int]]) -> NDArray[np.int64]:
    """All ways to share `times` observations among the outputs of one of some sets."""
    parts = []
    for kind, size in kinds:
        part = np.zeros((size, outputs), dtype=np.int64)
        part[:, list(kind)] = _types(len(kind), times, size)
        parts.append(part)
    return np.unique(np.concatenate(parts), axis=0)[::-1]


def _number_of_types(outputs: int, times: int) -> int:
    """Ways to share `times` observations among the outputs; 2^63 stands for anything beyond."""
    small = min(times, outputs - 1)
    if times > 2**62:  # the counts themselves are 64-bit integers
        return 2**63
    if small == 0:
        return 1
    if small * math.log2(max(2, (outputs + times - 1) / small)) > 63:
        return 2**63
    return math.comb(outputs + times - 1, small)


def _types(outputs: int, times: int, size: int) -> NDArray[np.int64]:
    """All ways to share `times` observations among the outputs: stars and bars, the first output falling."""
    ends = combinations(range(outputs + times - 1), outputs - 1)
    bars = np.fromiter(chain.from_iterable(ends), dtype=np.int64, count=size * (outputs - 1))
    bars = bars.reshape(size, outputs - 1)[::-1]
    edges = np.column_stack([np.full(size, -1), bars, np.full(size, outputs + times - 1)])
    return np.asarray(np.diff(edges, axis=1) - 1, dtype=np.int64)


def _multinomial(counts: list[int]) -> int:
    return math.prod(math.comb(sum(counts[: place + 1]), k) for place, k in enumerate(counts) if k)


def _power(row: list[Any], counts: list[int]) -> Any:
    return math.prod((value**k for value, k in zip(row, counts, strict=True) if k), start=Fraction(1))


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
    relative = channel.relative_logs[rows] if channel.form == "log" else None
    return channel.trusted(data, channel.form, list(images), channel.outputs, relative=relative)


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
    if not callable(query) or not iterable(policy):
        raise ChannelError(
            f"query is {abbreviated(query)} and policy {abbreviated(policy)}; give a query with its "
            f"policy, a mapping, "
            "or a function with the list of new inputs"
        )
    return {label(new): query(new) for new in taken("policy", policy, ChannelError, "new inputs")}
