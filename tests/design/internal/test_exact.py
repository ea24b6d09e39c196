"""Inside `_exact`: repair."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sievert as sv
from sievert import testing
from sievert.design._exact import Problem, majorant, private_counts
from sievert.numerics import exp_below
from sievert.proofs import SCALE, Decay

FloatArray = NDArray[np.float64]


def pieces_of(metric: sv.Metric, eps: float, cost: FloatArray) -> Problem:
    return Problem.of(metric, Decay(eps=Fraction(str(eps))), cost, cost.T)


def is_private(problem: Problem, counts: NDArray[np.int64]) -> bool:
    """By definition: rows sum to 2^53, and along every edge no ratio is too large, exactly."""
    if (counts < 0).any() or (counts.sum(axis=1) != SCALE).any():
        return False
    return all(
        problem.decay.allows(int(p), int(q), float(length))
        for (x, z), length in zip(problem.space.pairs.tolist(), problem.space.lengths, strict=True)
        for a, b in ((x, z), (z, x))
        for p, q in zip(counts[a], counts[b], strict=True)
    )


@given(st.data())
def test_garbage_becomes_private(data: st.DataObject) -> None:
    metric = data.draw(testing.metrics((2, 6), extended=True))
    eps = data.draw(st.sampled_from([0.01, 0.3, 1.0, 5.0, 60.0]))
    actions = data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cost = rng.random((metric.size, actions))
    problem = pieces_of(metric, eps, cost)
    factors = problem.decay.enclosure(problem.space.lengths)[1]
    for piece in problem.pieces():
        garbage = rng.random((piece.size, actions)) ** 8 * rng.integers(0, 2, (piece.size, actions))
        counts = private_counts(piece, garbage, factors[piece.edges])
        assert (counts.sum(axis=1) == SCALE).all() and (counts >= 0).all()
        for (x, z), edge in zip(piece.pairs.tolist(), piece.edges.tolist(), strict=True):
            length = Fraction(float(problem.space.lengths[edge]))
            # e^(-ε·length) from below would not do: the comparison is exact up to 1e-30.
            least = exp_below(-problem.decay.eps * length)  # type: ignore[operator]
            for a, b in ((x, z), (z, x)):
                assert all(int(p) >= least * int(q) for p, q in zip(counts[a], counts[b], strict=True))


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9, 1e-6])
def test_little_is_lost(noise: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = int(rng.integers(2, 12))
        points = rng.random((n, 2)) * 3
        metric = sv.Metric(np.linalg.norm(points[:, None] - points[None], axis=2))
        nearest = float(metric.matrix[metric.matrix > 0].min())
        best = sv.optimal_mechanism(metric, 1.0, None, metric.matrix)
        cost = metric.matrix / n
        problem = pieces_of(metric, 1.0, cost)
        (piece,) = problem.pieces()
        noisy = best.mechanism.matrix + noise * (2 * rng.random((n, n)) - 1)
        factors = problem.decay.enclosure(problem.space.lengths)[1]
        counts = private_counts(piece, noisy, factors[piece.edges])
        assert is_private(problem, counts)
        worse = float((cost * counts / SCALE).sum()) - float(best.loss)
        # The damage is the infeasibility times the largest loss over e^nearest - 1.
        assert worse <= (1e-13 + 4 * n * noise) * metric.diameter * (1 + 1 / np.expm1(nearest))


def test_the_majorant_is_the_least_private_one() -> None:
    for metric in (sv.metrics.line([0, 1, 3, 3.5]), sv.metrics.discrete(4), sv.metrics.cycle(5)):
        rng = np.random.default_rng(metric.size)
        cost = rng.random((metric.size, 2))
        (piece,) = pieces_of(metric, 0.7, cost).pieces()
        columns = rng.random((metric.size, 2))
        expected = (np.exp(-piece.distances)[:, :, None] * columns[None]).max(axis=1)
        assert majorant(piece, columns) == pytest.approx(expected, rel=1e-12)


def test_qif_output_is_repaired_cheaply(oracle: object) -> None:
    qif = oracle("qif")  # type: ignore[operator]
    n = 50
    theirs = qif.mechanism.d_privacy.min_loss_given_d(
        np.full(n, 1 / n),
        n,
        lambda x, z: 0.5 * abs(int(x) - int(z)),
        lambda w, x: abs(int(w) - int(x)),
        d_priv_ch=lambda x, z: abs(int(x) - int(z)) > 1,
    )
    metric = sv.metrics.line(n)
    cost = metric.matrix / n
    problem = pieces_of(metric, 0.5, cost)
    assert not is_private(problem, np.round(theirs * SCALE).astype(np.int64))
    (piece,) = problem.pieces()
    factors = problem.decay.enclosure(problem.space.lengths)[1]
    counts = private_counts(piece, theirs, factors[piece.edges])
    assert is_private(problem, counts)
    best = sv.optimal_mechanism(metric, 0.5, None, sv.losses.absolute(n))
    reached = float((cost * (counts / SCALE)).sum())
    assert float(best.lower_bound) <= reached <= float(best.loss) + 1e-4
