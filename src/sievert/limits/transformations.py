"""The papers' transformations of a channel: each keeps privacy and leakage and makes it more regular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.channels import Channel, finite_channel
from sievert.errors import ChannelError
from sievert.numerics import abbreviated, instance, taken
from sievert.spaces import Metric, align, metric_of

__all__ = [
    "diagonalise",
    "smooth_by_distance",
    "symmetrise",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def diagonalise(channel: Channel) -> Channel:
    """Merge the columns whose (first) maximum is in row k into column k.

    A square channel, still private, with the same sum of column maxima, all on the diagonal.

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    Channel

    Notes
    -----
    Cost: O(inputs·outputs).

    References
    ----------
    Edwards et al., Lemma 6; Alvim et al., Lemma 7.

    Examples
    --------
    >>> diagonalise(Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]])).exact.tolist()
    [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)]]
    """
    channel = finite_channel(channel)
    channel = finite_channel(channel)
    data = channel.exact_or_rounded()
    size = data.shape[0]
    merged = np.full((size, size), data.ravel()[0] * 0, dtype=data.dtype)
    for column in data.T:
        merged[:, int(np.argmax(column))] += column
    return Channel.trusted(
        merged, "exact" if data.dtype == object else "float", channel.inputs, channel.inputs
    )


def symmetrise(channel: Channel, generators: Sequence[Sequence[int]]) -> Channel:
    """Average K[σi, σj] over the group that permutations generate.

    The average over the group is the average over its orbits on ordered pairs, which union–find gets from
    the generators; the group is never listed.

    Parameters
    ----------
    channel : Channel, square, its outputs in the order of its inputs
    generators : permutations of the inputs 0…n-1

    Returns
    -------
    Channel

    Notes
    -----
    Cost: O(n²·generators) for n inputs.

    References
    ----------
    Edwards et al., Lemma 7.

    Examples
    --------
    >>> symmetrise(Channel([["1/2", "1/2"], ["1/4", "3/4"]]), [[1, 0]]).exact.tolist()
    [[Fraction(5, 8), Fraction(3, 8)], [Fraction(3, 8), Fraction(5, 8)]]
    """
    data = _square(channel)
    n = len(data)
    base = np.arange(n * n)
    links = []
    instance("generators", generators, list | tuple | np.ndarray, "a list of permutations", ChannelError)
    for generator in taken("generators", generators, ChannelError, "permutations"):
        given = np.asarray(generator, dtype=object).ravel().tolist()
        if not all(isinstance(i, int) for i in given) or sorted(given) != list(range(n)):
            raise ChannelError(f"generators: {abbreviated(generator)} is not a permutation of 0…{n - 1}")
        moved = np.array(given, dtype=np.intp)
        links.append(np.column_stack([base, (moved[:, None] * n + moved[None, :]).ravel()]))
    joined = np.concatenate(links) if links else np.empty((0, 2), dtype=np.intp)
    table = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(n * n, n * n))
    orbit = connected_components(table, directed=False)[1]
    return _averaged(channel, data, orbit)


def smooth_by_distance(channel: Channel, metric: Metric) -> Channel:
    """Average K over all pairs at the same distance: for distance-regular graphs.

    Parameters
    ----------
    channel : Channel, square, its outputs in the order of its inputs
    metric : Metric on the inputs

    Returns
    -------
    Channel

    Notes
    -----
    Cost: O(n²·log n) for n inputs.

    References
    ----------
    Alvim et al., Lemma 8.

    Examples
    --------
    >>> import sievert as sv
    >>> rows = [["1/2", "1/4", "1/4"], ["1/4", "3/4", 0], ["1/2", 0, "1/2"]]
    >>> smooth_by_distance(Channel(rows), sv.metrics.discrete(3)).exact[0].tolist()
    [Fraction(7, 12), Fraction(5, 24), Fraction(5, 24)]
    """
    data = _square(channel)
    order = align(channel.inputs, metric_of(metric).points, "metric", ChannelError)
    distances = metric.matrix if order is None else metric.matrix[np.ix_(order, order)]
    orbit = np.unique(distances.ravel(), return_inverse=True)[1].ravel()
    return _averaged(channel, data, orbit)


def _square(channel: Channel) -> NDArray[Any]:
    data = finite_channel(channel).exact_or_rounded()
    if data.shape[0] != data.shape[1]:
        raise ChannelError(f"the channel has shape {data.shape}; apply diagonalise first to make it square")
    return data


def _averaged(channel: Channel, data: NDArray[Any], orbit: NDArray[Any]) -> Channel:
    count = np.bincount(orbit)
    total = np.full(len(count), data.ravel()[0] * 0, dtype=data.dtype)
    np.add.at(total, orbit, data.ravel())
    mean = np.array([value / int(size) for value, size in zip(total, count, strict=True)], dtype=data.dtype)
    averaged = mean[orbit].reshape(data.shape)
    return Channel.trusted(
        averaged, "exact" if data.dtype == object else "float", channel.inputs, channel.inputs
    )
