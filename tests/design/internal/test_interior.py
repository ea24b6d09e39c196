"""Inside `_interior`: the interior point over columns."""

import dataclasses
import itertools

import numpy as np
import pytest

import sievert as sv
from sievert.design import _interior
from sievert.design._interior import (
    Breakdown,
    DesignComponent,
    block_order,
    columns_on,
    cut,
    most_blocks,
    reached,
)
from sievert.numerics import device
from sievert.proofs import costs


def places(side: int) -> np.ndarray:
    return np.array(list(itertools.product(range(side), repeat=2)), dtype=float)


def random_prior(size: int) -> np.ndarray:
    found = np.random.default_rng(0).exponential(size=size)
    return found / found.sum()


def loss_of(points: np.ndarray, kind: str) -> np.ndarray:
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    return {"distance": apart, "squared": apart**2, "bayes": (apart > 0).astype(float)}[kind]


def piece_of(metric: sv.Metric, eps: float, prior: np.ndarray, loss: np.ndarray) -> DesignComponent:
    """The whole of a metric as one piece: a tree by its edges, all pairs otherwise."""
    rows, columns = np.triu_indices(metric.size, 1)
    pairs, lengths = np.column_stack([rows, columns]), metric.matrix[rows, columns]
    if metric.edges is not None:
        pairs, lengths = metric.edges.pairs, metric.edges.lengths
    every = np.arange(metric.size), np.arange(len(pairs))
    return DesignComponent(every[0], pairs, eps * lengths, every[1], costs(prior, loss), loss)


def small_problems() -> list[DesignComponent]:
    rng = np.random.default_rng(1)
    scattered = rng.random((12, 2)) * 4
    tree = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (5, 6)])
    return [
        piece_of(sv.metrics.euclidean(places(4)), 0.5, random_prior(16), loss_of(places(4), "distance")),
        piece_of(sv.metrics.euclidean(scattered), 1.0, random_prior(12), loss_of(scattered, "squared")),
        piece_of(tree, 0.7, random_prior(7), rng.random((5, 7))),
        piece_of(sv.metrics.euclidean(scattered), 4.0, random_prior(12), rng.random((9, 12)) - 0.5),
    ]


@pytest.mark.parametrize("piece", small_problems(), ids=["grid", "scattered", "tree", "signed"])
def test_bounds_hold_at_every_step(piece: DesignComponent) -> None:
    search = _interior.Search(piece)
    rest = search.cost - search.prices
    assert search.pairs.spread(search.y) == pytest.approx(rest, abs=1e-12 * abs(rest).max())
    assert (search.s > 0).all() and (search.y > 0).all()
    bounds = []
    for _ in range(12):
        try:
            search._step()
        except Breakdown:
            break
        search.repair()
        bounds.append(search._bound(search.y))
        assert max(bounds) <= search.upper + 1e-12
        assert (search.s > 0).all() and (search.y > 0).all()
        # Private for all pairs, not only for those taken.
        decay = np.exp(-piece.distances)
        for x in range(piece.size):
            assert (search.channel[:, x] >= (decay[x] * search.channel).max(axis=1) - 1e-15).all()
        assert search.channel.sum(axis=0) == pytest.approx(np.ones(piece.size), abs=1e-14)
    assert len(bounds) > 5


def test_an_interrupt_between_rounds_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs that have joined by then have no multipliers yet."""
    points = np.random.default_rng(5).random((20, 2)) * 8
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")
    set_pairs, calls = _interior.Search._set_pairs, []

    def interrupted(search: _interior.Search, codes: np.ndarray) -> None:
        set_pairs(search, codes)
        calls.append(len(codes))
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_interior.Search, "_set_pairs", interrupted)
    found = sv.optimal_mechanism(metric, 0.5, random_prior(20), loss, method="interior", gap=1e-5)
    assert len(calls) == 2 and found.method.endswith("interrupted")
    assert found.gap < 0.5 * found.loss and found.certificate.verify().holds


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_matrices_of_columns_are_factored_by_blocks(blocks: int) -> None:
    rng = np.random.default_rng(2)
    count, size = 3, 41
    every = [(x, z) for x in range(size) for z in range(x + 1, size) if reached(size, blocks)[x, z]]
    # Every column has entries of its own; sums of rows are positive, so that its matrix is.
    chosen = [sorted(every[k] for k in rng.permutation(len(every))[: 150 + 20 * w]) for w in range(count)]
    first, second = np.array([pair for pairs in chosen for pair in pairs]).T
    starts = np.cumsum([0, *map(len, chosen)])
    aside = -(rng.exponential(size=len(first)) ** 3)
    dense = np.zeros((count, size, size))
    w = np.repeat(np.arange(count), np.diff(starts))
    dense[w, first, second] = dense[w, second, first] = aside
    diagonal = rng.exponential(size=(count, size)) - dense.sum(axis=2)
    dense[:, np.arange(size), np.arange(size)] = diagonal
    columns = columns_on(device(), count, size)
    columns.place(first, second, starts, cut(size, blocks))
    columns.factor(diagonal, aside)
    inverse = np.linalg.inv(dense)
    right = rng.normal(size=(count, size))
    assert columns.product(right) == pytest.approx((inverse @ right[:, :, None])[:, :, 0], rel=1e-9, abs=1e-9)
    assert inverse.sum(0) @ columns.prices(right[0]) == pytest.approx(right[0])
    with pytest.raises(Breakdown):
        columns.factor(diagonal - 2 * diagonal.max(), aside)


@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_an_order_is_found_in_which_constraints_are_short(turn: float) -> None:
    points = places(12) @ [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    points = points[np.random.default_rng(4).permutation(144)]
    loss = loss_of(points, "distance")
    piece = piece_of(sv.metrics.euclidean(points), 0.5, random_prior(144), loss)
    ends = piece.pairs[_interior._near(piece)]
    # Row by row the pairs of two rows and a point apart leave five blocks.
    place = np.argsort(block_order(ends, piece.distances))
    assert most_blocks(ends, 144) == 2 and most_blocks(place[ends], 144) >= 4


def test_the_same_pairs_are_needed_in_another_order() -> None:
    points = places(4)
    piece = piece_of(sv.metrics.euclidean(points), 0.5, random_prior(16), loss_of(points, "distance"))
    turned = piece.ordered(np.random.default_rng(0).permutation(16))
    found = dataclasses.replace(turned).needed  # found anew
    assert (turned.needed == found).all() and len(found) < len(piece.pairs)
