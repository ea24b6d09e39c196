"""What kind of loss it is, with witnesses: which theorems about optimal mechanisms apply to it.

(Fernandes, Sec 6.5 and 6.8, with the corrections of our notes; single crossing is the class for which the
geometric mechanism is optimal on every line, whatever the gaps and the prior.)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from sievert.arrays import AnyArray, FloatArray
from sievert.errors import GainError
from sievert.measures._gain_function import GainMatrix, table_adversary
from sievert.measures._loss_algebra import canonical, undominated
from sievert.results import Result
from sievert.spaces import Metric, align, metric_of

__all__ = ["LossClass", "classify_loss", "monotone_map", "single_crossing_order"]
Pair = tuple[Hashable, Hashable]
# Steps of the search for a monotone map before it gives up.
LARGEST_SEARCH = 200_000


@dataclass(frozen=True)
class LossClass(Result):
    """Classes a loss belongs to; each with its witness, or None where it does not belong.

    Attributes
    ----------
    trivial : an action that is best whatever the secret (every mechanism is then optimal, Lem 6.19)
    extended_on : the secrets that matter at all: those on which actions differ
    single_crossing : the actions, dominated ones left out, in an order such that of any two the later is
        first worse, then better as the secret grows; secrets are taken in the order given
    monotonic : for each action the point it stands for, when losses grow with the distance from it
    strictly_monotonic : whether that map is one to one onto the points and losses grow strictly
    trivial_pairs : pairs of secrets for which one action is best for both (None: too many secrets to list)
    pairs_bipartite : whether the other pairs form a bipartite graph, which a universally optimal mechanism
        under the discrete metric needs
    blocks : blocks of secrets, when the loss is 1 for naming the wrong block and 0 for the right one
    two_actions, symmetric, monge, unimodal : as they say; None where the shape does not allow the question
    """

    trivial: Hashable | None
    extended_on: tuple[Hashable, ...]
    single_crossing: tuple[Hashable, ...] | None
    monotonic: dict[Hashable, Hashable] | None
    strictly_monotonic: bool
    trivial_pairs: tuple[Pair, ...]
    pairs_bipartite: bool
    blocks: tuple[tuple[Hashable, ...], ...] | None
    two_actions: bool
    symmetric: bool
    monge: bool
    unimodal: bool

    @property
    def pairwise_nontrivial(self) -> bool:
        """Whether no action is best for two secrets; then the discrete metric has no universal optimum."""
        return not self.trivial_pairs

    def __str__(self) -> str:
        if self.trivial is not None:
            return f"trivial: {self.trivial!r} is best whatever the secret"
        names = [
            (
                "single crossing (the geometric mechanism is optimal on lines)",
                self.single_crossing is not None,
            ),
            ("strictly monotonic", self.strictly_monotonic),
            ("monotonic", self.monotonic is not None and not self.strictly_monotonic),
            (f"about {len(self.blocks or ())} blocks", self.blocks is not None),
            ("two actions", self.two_actions),
            ("pairwise non-trivial", self.pairwise_nontrivial),
        ]
        held = [name for name, holds in names if holds]
        return ", ".join(held) if held else "in none of the classes that theorems speak of"


def classify_loss(loss: GainMatrix, metric: Metric | None = None) -> LossClass:
    """The classes of a loss, for the given metric where one matters.

    Parameters
    ----------
    loss : a loss with a matrix
    metric : distances between the secrets, for monotonicity; without one it is not asked

    Returns
    -------
    LossClass
        Which theorems of optimality apply to the loss.

    Notes
    -----
    Cost: O(actions²·secrets), and with a metric O(secrets²·actions) besides.

    Examples
    --------
    >>> from sievert.measures.losses import absolute
    >>> from sievert.spaces import metrics
    >>> print(classify_loss(absolute(4), metrics.line(4)))
    single crossing (the geometric mechanism is optimal on lines), strictly monotonic, pairwise non-trivial
    """
    loss = table_adversary(loss, "loss", is_loss=True)
    table = _numbers(loss)
    distances = None
    if metric is not None:
        metric = metric_of(metric)
        order = align(loss.secrets, metric.points, "the metric", GainError)
        distances = metric.matrix if order is None else metric.matrix[np.ix_(order, order)]
    reduced = canonical(loss)
    bare = _numbers(reduced)
    best = table == table.min(axis=0)
    everywhere = np.flatnonzero(best.all(axis=1))
    crossing = single_crossing_order(table)
    found = None if distances is None else monotone_map(table, distances)
    shared = (best.astype(np.int64).T @ best.astype(np.int64)) > 0
    rows, columns = np.nonzero(np.triu(shared, 1))
    strict = False
    if found is not None and distances is not None:
        strict = len(table) == len(distances) and _strictly(table, distances)
    return LossClass(
        trivial=loss.actions[int(everywhere[0])] if len(everywhere) else None,
        extended_on=tuple(loss.secrets[i] for i in np.flatnonzero(np.ptp(bare, axis=0) > 0).tolist()),
        single_crossing=None if crossing is None else tuple(loss.actions[w] for w in crossing),
        monotonic=None if found is None else {loss.actions[w]: loss.secrets[x] for w, x in enumerate(found)},
        strictly_monotonic=strict,
        trivial_pairs=tuple(
            (loss.secrets[i], loss.secrets[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        ),
        pairs_bipartite=_bipartite(~shared),
        blocks=_blocks(loss, table),
        two_actions=len(bare) == 2,
        symmetric=table.shape[0] == table.shape[1] and bool((table == table.T).all()),
        monge=_monge(table),
        unimodal=_unimodal(table),
    )


def _numbers(loss: GainMatrix) -> AnyArray:
    """The table as it is: whole numbers and fractions are compared exactly."""
    return loss.table if loss.is_exact else np.asarray(loss.table, dtype=np.float64)


def single_crossing_order(table: AnyArray) -> list[int] | None:
    """Actions ordered so that every later one minus an earlier is first ≥ 0, then ≤ 0; None if impossible.

    Dominated actions are left out, of equal ones the first is kept. All pairs count: it is not enough that
    neighbours cross once. O(actions²·secrets).
    """
    kept = undominated(table)
    wins = dict.fromkeys(kept, 0)
    for i, v in enumerate(kept):
        for w in kept[:i]:
            signs = np.sign(table[w] - table[v])
            signs = signs[signs != 0]
            if (signs[1:] != signs[:-1]).sum() != 1:
                return None
            # w - v first positive, then negative: w comes later.
            wins[w if signs[0] > 0 else v] += 1
    ordered = sorted(kept, key=lambda w: wins[w])
    return ordered if [wins[w] for w in ordered] == list(range(len(kept))) else None


def monotone_map(table: FloatArray, distances: FloatArray) -> list[int] | None:
    """A point for each action such that at every secret the loss grows with the distance to the point.

    A search with look-ahead over pairs of (action, point); None when there is no such map (Def 6.5.2).
    """
    actions, size = table.shape
    candidates = [list(range(size)) for _ in range(actions)]
    steps = 0

    def agrees(w: int, a: int, v: int, b: int) -> bool:
        nearer = distances[a] < distances[b]
        farther = distances[a] > distances[b]
        return not (
            (nearer & (table[w] > table[v])).any()
            or (farther & (table[w] < table[v])).any()
            or (~nearer & ~farther & (table[w] != table[v])).any()
        )

    def extend(chosen: list[int], left: list[list[int]]) -> list[int] | None:
        nonlocal steps
        w = len(chosen)
        if w == actions:
            return chosen
        for a in left[w]:
            steps += 1
            if steps > LARGEST_SEARCH:
                raise GainError(
                    f"loss: the search for a monotone map of {actions} actions to {size} points was given up"
                )
            rest = [
                options if v <= w else [b for b in options if agrees(w, a, v, b)]
                for v, options in enumerate(left)
            ]
            if all(rest[w + 1 :]):
                found = extend([*chosen, a], rest)
                if found is not None:
                    return found
        return None

    return extend([], candidates)


def _strictly(table: FloatArray, distances: FloatArray) -> bool:
    """Whether some bijection from actions to points makes every loss grow strictly (Def 6.8.1)."""
    size = len(table)
    # Under a strict map, ranks of losses at each secret are ranks of distances.
    rank_loss = np.array([np.unique(column, return_inverse=True)[1] for column in table.T])
    rank_far = np.array([np.unique(row, return_inverse=True)[1] for row in distances])
    options = [[a for a in range(size) if (rank_loss[:, w] == rank_far[:, a]).all()] for w in range(size)]
    taken: dict[int, int] = {}

    def place(w: int, seen: set[int]) -> bool:
        for a in options[w]:
            if a not in seen:
                seen.add(a)
                if a not in taken or place(taken[a], seen):
                    taken[a] = w
                    return True
        return False

    return all(place(w, set()) for w in range(size))


def _bipartite(joined: NDArray[np.bool_]) -> bool:
    """Whether the pairs of secrets on which the loss is not trivial can be split into two sides."""
    pairs = joined & ~np.eye(len(joined), dtype=bool)
    graph = csr_array(coo_array(pairs.astype(np.int8)))
    side = np.full(len(joined), -1)
    for start in range(len(joined)):
        if side[start] >= 0:
            continue
        order, before = breadth_first_order(graph, start, directed=False)
        for v in order.tolist():
            side[v] = 0 if v == start else 1 - side[before[v]]
    rows, columns = np.nonzero(pairs)
    return not bool((side[rows] == side[columns]).any())


def _blocks(loss: GainMatrix, table: FloatArray) -> tuple[tuple[Hashable, ...], ...] | None:
    """The blocks, when each action names one: 0 inside it and 1 outside, every secret in one block."""
    if not np.isin(table, (0.0, 1.0)).all() or ((table == 0).sum(axis=0) != 1).any():
        return None
    return tuple(
        tuple(loss.secrets[x] for x in np.flatnonzero(row == 0).tolist()) for row in table if (row == 0).any()
    )


def _monge(table: FloatArray) -> bool:
    """ℓ(w,x) + ℓ(w',x') ≤ ℓ(w,x') + ℓ(w',x) for w < w', x < x'."""
    crossed = table[:-1, 1:] + table[1:, :-1] - table[:-1, :-1] - table[1:, 1:]
    return bool((crossed >= -1e-12 * max(1.0, float(np.abs(table).max()))).all())


def _unimodal(table: FloatArray) -> bool:
    """Every action's loss falls, then rises, as the secret grows."""
    steps = np.diff(table, axis=1)
    return all(not (np.diff(np.sign(row[row != 0])) < 0).any() for row in steps)
