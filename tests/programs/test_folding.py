"""Programs solved by classes of rows and columns."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from sievert.programs import LinearProgram, solved, solved_by_classes


def blown_up(rng, copies):
    """A covering program of which every column and row stands several times, in any order."""
    rows, columns = 4, 5
    small = rng.integers(0, 4, size=(rows, columns)).astype(float)
    small[:, 0] += 1.0  # every row can be met
    matrix = np.kron(small, np.ones((copies, copies)))
    cost = np.repeat(rng.integers(1, 5, size=columns).astype(float), copies)
    least = np.repeat(rng.integers(1, 4, size=rows).astype(float), copies)
    order, place = rng.permutation(rows * copies), rng.permutation(columns * copies)
    matrix, least, cost = matrix[order][:, place], least[order], cost[place]
    infinite = np.full(len(least), np.inf)
    return LinearProgram(
        cost, csc_array(matrix), least, infinite, np.zeros(len(cost)), np.full(len(cost), np.inf)
    )


@pytest.mark.parametrize("seed", range(20))
def test_averages_are_as_good_as_any_solution(seed):
    rng = np.random.default_rng(seed)
    program = blown_up(rng, int(rng.integers(1, 5)))
    found, whole = solved_by_classes(program), solved(program)
    assert found.value == pytest.approx(whole.value, rel=1e-9)
    assert program.cost @ found.primal == pytest.approx(whole.value, rel=1e-9)
    assert (program.matrix @ found.primal >= program.row_lower - 1e-8).all()
    # Weak duality: multipliers that no column's cost falls below prove the value.
    assert (found.dual >= -1e-9).all()
    assert (program.matrix.T @ found.dual <= program.cost + 1e-8).all()
    assert program.row_lower @ found.dual == pytest.approx(whole.value, rel=1e-8)


def test_columns_that_differ_in_one_row_are_kept_apart():
    matrix = csc_array(np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]))
    program = LinearProgram(
        np.ones(3), matrix, np.array([1.0, 1.0]), np.full(2, np.inf), np.zeros(3), np.full(3, np.inf)
    )
    found = solved_by_classes(program)
    assert found.value == pytest.approx(1.0)
    assert found.primal == pytest.approx([0.5, 0.5, 0.0])
