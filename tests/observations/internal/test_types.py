"""Inside `_types`: many observations."""

import numpy as np
import pytest

import sievert as sv
from sievert.observations._types import TypeTable


def random_channel(rows: int, columns: int, seed: int, least: float = 0.0) -> sv.Channel:
    matrix = least + np.random.default_rng(seed).random((rows, columns))
    return sv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("outputs, most", [(1, 4), (2, 6), (3, 5), (4, 4), (5, 3)])
def test_types_of_fewer_observations_come_first(outputs: int, most: int) -> None:
    channel = random_channel(3, outputs, 1)
    table = TypeTable(channel.log_matrix, most)
    for n in range(1, most + 1):
        types = np.exp(np.concatenate([logs for _, logs in table.blocks(n)], axis=1))
        listed = channel.repeated(n).matrix
        assert types.shape == listed.shape
        assert np.allclose(np.sort(types, axis=1), np.sort(listed, axis=1), rtol=1e-12)
        assert np.allclose(types.sum(axis=1), 1, rtol=1e-12)
    rank = {tuple(counts): i for i, counts in enumerate(table.counts.tolist())}
    for i, counts in enumerate(table.counts.tolist()):
        for j, count in enumerate(counts):
            if count:
                before = [c - (k == j) for k, c in enumerate(counts)]
                assert table.before[i, j] == rank[tuple(before)]
