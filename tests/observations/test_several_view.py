"""One record seen through several tables: the worked numbers, and brute force over all outputs."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sievert.channels import GeometricLaw, JointNoise, QuantileNoise
from sievert.errors import TooLargeError
from sievert.mechanisms import add_to_table, privacy
from sievert.observations import likelihood_of
from sievert.policies import Policy, QuantileConfig, Statistic, statistic_of_cells

VALUES = list(product(range(2), range(5)))


def by(*places: int) -> Statistic:
    return statistic_of_cells([tuple(v[i] for i in places) for v in VALUES], ("x",) * len(places), "counts")


def noise(*tables: tuple[Statistic, str], values: int = len(VALUES)) -> JointNoise:
    parts = [add_to_table(table, GeometricLaw(privacy(Fraction(eps), None))) for table, eps in tables]
    return JointNoise(parts, [str(i) for i in range(len(parts))], Policy.differential(values, 10))


def test_marginals_over_different_columns_multiply() -> None:
    view = likelihood_of(noise((by(0), "3/10"), (by(1), "1/5")), np.full(10, 0.1))
    assert view.guess().guess == pytest.approx(0.138000333, abs=1e-9)
    assert view.guess().exact
    assert view._by_states(3) == pytest.approx(view.guess(3).guess, rel=1e-12)  # type: ignore[attr-defined]
    assert view.limit == pytest.approx(1)


def test_a_table_with_its_own_marginal() -> None:
    view = likelihood_of(noise((by(0), "3/10"), (by(0, 1), "1/5")), np.full(10, 0.1))
    found = view.guess()
    assert found.guess == pytest.approx(0.138939953, abs=1e-9)
    assert found.exact
    # The ε of .3·2 + .2·2 alone allows more.
    eps = math.e
    assert eps / (eps + 9) == pytest.approx(0.231969, abs=1e-6)


def test_brute_force_over_the_outputs_of_both_tables() -> None:
    """Three values, two of which share a cell of the first table, and a belief that is no product."""
    cells = [
        statistic_of_cells([("a",), ("a",), ("b",)], ("x",), "first"),
        statistic_of_cells([("c",), ("d",), None], ("y",), "second"),
    ]
    eps, belief = (0.9, 0.7), np.array([0.2, 0.5, 0.3])
    found = likelihood_of(noise((cells[0], "9/10"), (cells[1], "7/10"), values=3), belief).guess()
    reach, total = 40, 0.0
    span = np.arange(-reach, reach + 1)
    laws = []
    for table, level in zip(cells, eps, strict=True):
        law = np.tanh(level / 2) * np.exp(-level * np.abs(span))
        moved = np.tanh(level / 2) * np.exp(-level * np.abs(span - 1))
        rows = []
        for value in range(3):
            one = [moved if table.amount[value] and table.cell_of[value] == c else law for c in range(2)]
            rows.append(np.multiply.outer(one[0], one[1]).ravel())
        # Outputs with the same likelihoods are one.
        keys, inverse = np.unique(np.round(np.log(np.array(rows) / rows[-1]), 9), axis=1, return_inverse=True)
        laws.append(np.stack([np.bincount(inverse.ravel(), row, keys.shape[1]) for row in rows]))
    for i in range(laws[0].shape[1]):
        total += (belief[:, None] * laws[0][:, i : i + 1] * laws[1]).max(axis=0).sum()
    assert found.guess == pytest.approx(total, abs=1e-9)


def test_a_quantile_leaves_only_the_bound() -> None:
    policy = Policy.differential(10, 5)
    table = QuantileConfig(q="1/2").tables(policy, [])[0]
    assert table.order is not None
    part = QuantileNoise(table.statistic, table.order, Fraction(1), Fraction(1), Fraction(1, 2))
    with pytest.raises(TooLargeError, match="quantile"):
        likelihood_of(JointNoise([part], ["q"], policy), np.full(10, 0.1)).guess()
