"""Errata of Fernandes chapter 6 about vertices, kernels and what theorems say: theirs fails, ours holds.

Vertices and kernels are enumerated here from their definitions, in fractions.
"""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction as F
from itertools import combinations, pairwise, permutations, product
from typing import Any

import pytest
from flint import fmpq, fmpq_mat

import sievert as sv
from sievert.measures.losses import combined, lifted

HALF = F(1, 2)
Edges = list[tuple[int, int]]


def path(n: int) -> Edges:
    return list(pairwise(range(n)))


def complete(n: int) -> Edges:
    return list(combinations(range(n), 2))


def lipschitz_vertices(n: int, edges: Edges) -> list[tuple[int, ...]]:
    """Integer u with u_0 = 0 and steps of at most 1 along edges, whose tight edges connect all points."""
    found = []
    for rest in product(range(1 - n, n), repeat=n - 1):
        u = (0, *rest)
        if any(abs(u[a] - u[b]) > 1 for a, b in edges):
            continue
        reached, frontier = {0}, [0]
        tight = [(a, b) for a, b in edges if abs(u[a] - u[b]) == 1]
        while frontier:
            v = frontier.pop()
            new = {b if a == v else a for a, b in tight if v in (a, b)} - reached
            reached |= new
            frontier += new
        if len(reached) == n:
            found.append(u)
    return found


def posteriors(n: int, edges: Edges, alpha: F) -> list[list[F]]:
    """The extreme private posteriors: alpha^-u, normalised."""
    powers = [[alpha**-k for k in u] for u in lipschitz_vertices(n, edges)]
    return [[value / sum(row) for value in row] for row in powers]


def kernels(n: int, edges: Edges, alpha: F) -> Counter[int]:
    """How many kernels of each size: the basic solutions a ≥ 0 of Σ a_s·v_s = (1/n, …), by their support."""
    points = [[fmpq(v.numerator, v.denominator) for v in row] for row in posteriors(n, edges, alpha)]
    centre = fmpq_mat([[fmpq(1, n)]] * n)
    supports = set()
    for chosen in combinations(range(len(points)), n):
        matrix = fmpq_mat([[points[s][x] for s in chosen] for x in range(n)])
        if matrix.det() == 0:
            continue
        weights = matrix.solve(centre)
        values = [weights[i, 0] for i in range(n)]
        if all(value >= 0 for value in values):
            supports.add(tuple(s for s, value in zip(chosen, values, strict=True) if value > 0))
    return Counter(map(len, supports))


@pytest.mark.parametrize(
    "alpha, sizes",
    [
        ("1/2", (1, 5, 24, 157)),
        ("1/3", (1, 4, 23, 167)),
        ("2/3", (1, 4, 26, 191)),
    ],
)
def test_kernels_of_five_inputs_depend_on_epsilon_erratum_1(alpha: str, sizes: tuple[int, ...]) -> None:
    """Table 6.1 prints 187 for every ε; that is the degenerate e^-ε = 1/2."""
    found = kernels(5, path(5), F(alpha))
    assert tuple(found[k] for k in (2, 3, 4, 5)) == sizes
    assert (sum(sizes) == 187) is (alpha == "1/2")


@pytest.mark.parametrize("alpha", ["1/2", "1/3", "9/10"])
def test_the_other_kernel_counts_hold_for_every_epsilon(alpha: str) -> None:
    """Tables 6.1 (up to four inputs) and 6.2."""
    assert [kernels(n, path(n), F(alpha)).total() for n in (2, 3, 4)] == [1, 2, 11]
    assert [kernels(n, complete(n), F(alpha)).total() for n in (2, 3, 4)] == [1, 5, 41]


def test_the_centre_in_the_hull_is_not_enough_erratum_7() -> None:
    """A, B and C are independent and hold the centre in their hull, but only with weight 0 on B."""
    a, b, c = [F(2, 5), F(1, 5), F(2, 5)], [F(4, 7), F(2, 7), F(1, 7)], [F(1, 4), F(1, 2), F(1, 4)]
    assert all(p in posteriors(3, path(3), HALF) for p in (a, b, c))
    weights = (F(5, 9), F(0), F(4, 9))
    centre = [sum(w * p[x] for w, p in zip(weights, (a, b, c), strict=True)) for x in range(3)]
    assert centre == [F(1, 3)] * 3
    # Independent, so there are no other weights; as a kernel only the support {A, C} counts.
    rows = fmpq_mat([[fmpq(p[x].numerator, p[x].denominator) for p in (a, b, c)] for x in range(3)])
    assert rows.det() != 0
    assert kernels(3, path(3), HALF) == Counter({2: 1, 3: 1})


def test_vertices_and_facets_erratum_11() -> None:
    """Lem B1: the line has 2^(n-1) vertices, and a cycle of four fewer; 2(n-1) is a bound all the same."""
    assert [len(lipschitz_vertices(n, path(n))) for n in (2, 3, 4, 5)] == [2, 4, 8, 16]
    cycle = [*path(4), (0, 3)]
    assert len(lipschitz_vertices(4, cycle)) == 6 < 8
    bipartite = [(a, b) for a in range(3) for b in (3, 4)]
    assert len(lipschitz_vertices(5, bipartite)) == 10 < 16
    assert len(lipschitz_vertices(4, complete(4))) == 14
    for n, edges in ((4, cycle), (5, bipartite), (4, path(4)), (4, complete(4))):
        assert len(lipschitz_vertices(n, edges)) >= 2 * (n - 1)


def lost(channel: sv.Channel, loss: Any, prior: Any = None) -> Any:
    return sv.remap(channel, prior, loss).after


def best(metric: sv.Metric, loss: Any, prior: Any = None) -> F:
    found = sv.optimal_mechanism(metric, alpha=HALF, prior=prior, loss=loss)
    assert isinstance(found.loss, F) and found.gap == 0
    return found.loss


def pair_losses() -> dict[tuple[int, int], Any]:
    """Bayes risk between two of three inputs, nothing about the third."""
    return {pair: lifted(sv.losses.bayes_risk(pair), [0, 1, 2]) for pair in combinations(range(3), 2)}


def test_single_losses_and_whole_classes_erratum_13() -> None:
    """Thm 6.28 has a best mechanism for one loss under any prior, Thm 6.6 speaks of all losses at once."""
    discrete = sv.metrics.discrete(3)
    one_against_the_rest = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
    loss = pair_losses()[0, 1]
    for prior in (None, ["1/2", "1/4", "1/4"], ["1/10", "2/5", "1/2"], ["9/10", "1/20", "1/20"]):
        assert lost(one_against_the_rest, loss, prior) == best(discrete, loss, prior)
    assert lost(one_against_the_rest, sv.losses.bayes_risk(3)) > best(discrete, sv.losses.bayes_risk(3))


def test_no_mechanism_is_best_for_every_pair_erratum_20() -> None:
    """The pigeonhole of 4.9: an extreme posterior has two values, so two of three inputs agree in it."""
    assert all(len(set(row)) == 2 for row in posteriors(3, complete(3), HALF))
    losses = pair_losses()
    apart = [best(sv.metrics.discrete(3), loss) for loss in losses.values()]
    assert apart == [F(2, 9)] * 3
    together = combined(combined(losses[0, 1], losses[0, 2]), losses[1, 2])
    assert best(sv.metrics.discrete(3), together) > sum(apart)


def test_counts_go_up_to_the_number_of_rows_erratum_18() -> None:
    """Lem 6.3: three records of two values are 8 databases, and answers 0 … 3 on a line."""
    policy = sv.Policy.differential(["yes", "no"], records=3)
    query = sv.Query.count(["yes"])
    found = sv.optimal_mechanism(policy, alpha=HALF, query=query, loss=sv.losses.absolute(4))
    assert found.mechanism.shape[0] == 4
    assert found.loss == sv.optimal_mechanism(sv.metrics.line(4), alpha=HALF, loss=sv.losses.absolute(4)).loss


def test_minimal_not_minimum_erratum_18() -> None:
    """Cor 6.12: the two kernels of three inputs are both minimal; neither refines the other."""
    geometric = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    other = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
    assert sv.refines(geometric, other).holds is False and sv.refines(other, geometric).holds is False


def geodesics(metric: sv.Metric, size: int) -> list[tuple[Any, ...]]:
    """Ordered shortest paths of so many points."""
    table, count = metric.matrix, metric.size
    walks = [(x,) for x in range(count)]
    for step in range(1, size):
        walks = [
            (*walk, x)
            for walk in walks
            for x in range(count)
            if all(table[walk[i], x] == step - i for i in range(step))
        ]
    return [tuple(metric.points[x] for x in walk) for walk in walks]


def is_geometric(channel: sv.Channel, walk: tuple[Any, ...]) -> bool:
    geometric = sv.mechanisms.truncated_geometric(len(walk), alpha="1/2")
    return restricted_to(channel, walk).hyper().is_same(geometric.hyper())


def restricted_to(channel: sv.Channel, points: Iterable[Any]) -> sv.Channel:
    rows = [channel.exact[channel.inputs.index(point)].tolist() for point in points]
    return sv.Channel(rows)


def alike(first: sv.Channel, second: sv.Channel) -> bool:
    return bool(sv.refines(first, second).holds and sv.refines(second, first).holds)


def test_all_six_monotone_paths_of_the_cube_erratum_19() -> None:
    """K is the geometric mechanism on each of six paths, of which three are listed; RR³ is T on each edge."""
    cube = sv.metrics.hamming(3, 2)
    four = sv.mechanisms.truncated_geometric(4, alpha="1/2")
    by_weight = sv.Channel([four.exact[sum(p)].tolist() for p in cube.points], inputs=cube.points)
    flips = [
        [tuple(int(i in order[:k]) for i in range(3)) for k in range(4)] for order in permutations(range(3))
    ]
    assert len(flips) == 6
    assert all(alike(restricted_to(by_weight, walk), four) for walk in flips)
    response = sv.Channel(
        [
            [
                math.prod((F(2, 3) if a == b else F(1, 3)) for a, b in zip(p, q, strict=True))
                for q in cube.points
            ]
            for p in cube.points
        ],
        inputs=cube.points,
    )
    two = sv.mechanisms.truncated_geometric(2, alpha="1/2")
    edges = [
        (p, q) for p, q in combinations(cube.points, 2) if sum(a != b for a, b in zip(p, q, strict=True)) == 1
    ]
    assert len(edges) == 12 and all(alike(restricted_to(response, edge), two) for edge in edges)
    assert not any(alike(restricted_to(response, walk), four) for walk in flips)


def test_geodesics_of_the_cube_section_8() -> None:
    """K is G4 on 12 of the 48 ordered geodesics; product RR is G3 or G4 on none, and splits into kernels."""
    cube = sv.metrics.hamming(3, 2)
    by_weight = sv.mechanisms.pull_back(cube, (0, 0, 0), alpha="1/2")
    response = sv.mechanisms.tight_constraints(cube, alpha="1/2")
    walks = {size: geodesics(cube, size) for size in (2, 3, 4)}
    assert {size: len(found) for size, found in walks.items()} == {2: 24, 3: 48, 4: 48}
    found = {
        name: {size: sum(is_geometric(channel, walk) for walk in walks[size]) for size in walks}
        for name, channel in (("K", by_weight), ("RR", response))
    }
    assert found == {"K": {2: 24, 3: 24, 4: 12}, "RR": {2: 24, 3: 0, 4: 0}}
    walk = restricted_to(response, [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)])
    outers = sorted(walk.hyper().outers)
    assert outers == sorted(map(F, ["5/36", "1/12", "1/9", "1/6", "1/12", "1/9", "1/6", "5/36"]))
    parts = sv.geometry.decompose(walk, sv.metrics.line(4), alpha="1/2")
    assert parts.channel.hyper().is_same(walk.hyper())


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_the_determinant_of_randomised_response(n: int) -> None:
    """(1 - a)^(n-1)·(1 + (n-1)·a), and with a on the diagonal (a - 1)^(n-1)·(a + n - 1): both kernels."""
    for a in (F(1, 2), F(1, 3), F(9, 10)):
        one, other = fmpq(1), fmpq(a.numerator, a.denominator)
        for on, off, product_ in (
            (one, other, (1 - a) ** (n - 1) * (1 + (n - 1) * a)),
            (other, one, (a - 1) ** (n - 1) * (a + n - 1)),
        ):
            matrix = fmpq_mat([[on if x == y else off for y in range(n)] for x in range(n)])
            assert matrix.det() == fmpq(product_.numerator, product_.denominator) != 0
