"""The exact program with δ on a graph, and the ends by packing that stand in for it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.limits import space_of
from sievert.limits._approximate import approximate_interval, approximate_program
from sievert.spaces import graphs


def test_path_of_four() -> None:
    proof, _ = approximate_program(space_of(graphs.path(4)), Fraction(1), Fraction(1, 20), np.eye(4))
    low, high = proof.bounds()
    assert float(low) == pytest.approx(2.467033898, abs=1e-9)
    assert float(high - low) < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_interval_without_the_program(seed: int) -> None:
    """The ends by packing enclose the exact value, on graphs small enough for the program."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 6))
    pairs = list(itertools.combinations(range(size), 2))
    edges = [pairs[k] for k in rng.choice(len(pairs), int(rng.integers(1, len(pairs) + 1)), replace=False)]
    weights = rng.dirichlet(np.ones(size)) if seed % 2 else np.full(size, 1 / size)
    space = space_of(sv.Graph(range(size), edges))
    for eps, delta in ((0.0, 0.1), (0.5, 0.0), (0.5, 0.1), (1.5, 0.01), (1.0, 1e-6)):
        low, high = approximate_interval(space, eps, delta, weights)
        proof, _ = approximate_program(space, Fraction(eps), Fraction(delta), np.diag(weights))
        least, most = proof.bounds()
        assert float(most - least) < 1e-6
        assert low - 1e-9 <= most and least <= high + 1e-9
