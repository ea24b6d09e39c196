"""Inside `_problem`: repair."""

import numpy as np

import sievert as sv
from sievert.design._problem import necessary


def test_necessary_pairs_of_grids() -> None:
    for side, pairs, needed in ((4, 120, 86), (6, 630, 418), (8, 2016, 1282)):
        metric = sv.metrics.euclidean([(i, j) for i in range(side) for j in range(side)])
        rows, columns = np.triu_indices(metric.size, 1)
        listed = np.column_stack([rows, columns])
        assert len(listed) == pairs
        assert len(necessary(listed, metric.matrix[rows, columns], metric.matrix)) == needed
