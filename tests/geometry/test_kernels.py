"""Kernel mechanisms: all counts of table 3.4 with the ε at which they jump, Props 1-3, decompositions."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import MechanismError, MetricError, SievertError, TooLargeError
from sievert.geometry import _thresholds

line, discrete, cycle = sv.metrics.line, sv.metrics.discrete, sv.metrics.cycle


def star(n: int) -> sv.Metric:
    return sv.metrics.from_graph([(0, leaf) for leaf in range(1, n)])


K4_LESS_AN_EDGE = sv.metrics.from_graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])

TABLE = [
    (line(2), ("1/2", "1/9"), (1,)),
    (line(3), ("1/100", "1/2", "99/100"), (1, 1)),
    (line(4), ("1/1000000", "1/2", "999/1000"), (1, 2, 8)),
    (line(5), ("1/2",), (1, 5, 24, 157)),
    (line(5), ("1/20", "9/20"), (1, 4, 23, 167)),
    (line(5), ("7/11", "13/20", "2/3"), (1, 4, 26, 191)),
    (line(5), ("7/10", "9/10"), (1, 4, 26, 199)),
    (line([0, 1, 3, 4]), ("1/2", "3/4"), (0, 0, 16)),
    (discrete(3), ("1/7", "1/2"), (3, 2)),
    (discrete(4), ("1/7", "1/2"), (7, 12, 22)),
    (discrete(5), ("2/3",), (15, 50, 250, 976)),
    (cycle(4), ("1/3", "1/2", "2/3"), (1, 2, 1)),
    (star(4), ("1/3",), (1, 3, 2)),
    (star(4), ("1/2",), (1, 4, 1)),
    (star(4), ("2/3",), (1, 3, 5)),
    (star(5), ("1/2",), (1, 13, 6, 26)),
    (K4_LESS_AN_EDGE, ("1/3", "1/2", "4/5"), (5, 3, 29)),
    (line(6), ("1/2",), (1, 8, 77, 816, 14444)),
    (line(6), ("1/3",), (1, 6, 65, 794, 15232)),
]


@pytest.mark.parametrize("metric, alphas, sizes", TABLE)
def test_table_of_kernels_by_size(metric: sv.Metric, alphas: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    for alpha in alphas:
        found = sv.geometry.kernels(metric, alpha)
        assert found.sizes == {size: count for size, count in enumerate(sizes, 2) if count}
        assert found.complete


@pytest.mark.parametrize(
    "metric, counts",
    [
        (line(5), {"11/20": 214, "3/5": 218}),
        (cycle(5), {"3/5": 5806, "13/20": 5846, "7/10": 5846, "3/4": 5866, "4/5": 5876, "17/20": 5906}),
        (
            cycle(6),
            {"7/20": 490, "2/5": 508, "9/20": 508, "1/2": 473, "11/20": 500, "3/5": 500, "13/20": 506},
        ),
        (star(5), {"1/3": 42, "7/20": 52, "9/20": 52, "1/2": 46, "11/20": 130, "2/3": 118, "7/10": 146}),
    ],
)
def test_table_of_kernel_counts(metric: sv.Metric, counts: dict[str, int]) -> None:
    assert {alpha: len(sv.geometry.kernels(metric, alpha)) for alpha in counts} == counts


@pytest.mark.slow
def test_large_entries_of_the_table() -> None:
    cube = sv.metrics.hamming(3, 2)
    assert len(sv.geometry.kernels(cube, "1/2")) == 29_213
    assert len(sv.geometry.kernels(cube, "1/3")) == 37_124
    assert sv.geometry.kernels(discrete(6), "1/2").sizes == {2: 31, 3: 180, 4: 1910, 5: 18_780, 6: 179_312}


def test_counts_jump_at_roots_of_minors() -> None:
    found = sv.geometry.kernel_thresholds(line(5))
    assert found.between == (195, 214, 218, 222, 230)
    assert found.exact == (F(1, 2), None, None, None)
    assert found.at == (187, 206, 210, 216)
    golden = (math.sqrt(5) - 1) / 2
    assert found.thresholds[2] == pytest.approx(golden, rel=1e-15)
    for root, coefficients in zip(found.thresholds, found.polynomials, strict=True):
        assert sum(c * root**k for k, c in enumerate(coefficients)) == pytest.approx(0, abs=1e-14)
    assert str(sv.geometry.kernel_thresholds(star(5))) == (
        "kernels as e^-ε grows: 42 below, 1/3 (42 there), then 52, 1/2 (46 there), then 130, 2/3 (118 "
        "there), then 146"
    )
    for metric, count in ((line(4), 11), (cycle(4), 4), (discrete(4), 41), (K4_LESS_AN_EDGE, 37)):
        steady = sv.geometry.kernel_thresholds(metric)
        assert (steady.thresholds, steady.between) == ((), (count,))


@pytest.mark.parametrize("metric", [line(5), star(5), cycle(6)], ids=["line", "star", "cycle"])
def test_counts_on_both_sides_of_every_threshold(metric: sv.Metric) -> None:
    """Kernels listed at fractions just below and above: no threshold is misplaced."""
    found = sv.geometry.kernel_thresholds(metric)
    for k, root in enumerate(found.thresholds):
        below, above = (F(round(root * 1000) + step, 1000) for step in (-1, 1))
        assert len(sv.geometry.kernels(metric, below)) == found.between[k]
        assert len(sv.geometry.kernels(metric, above)) == found.between[k + 1]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 10**6))
def test_minors_are_determinants(size: int, more: int, seed: int) -> None:
    """Laplace's rule over coefficients, against determinants of numbers at alpha = 3."""
    powers = np.random.default_rng(seed).integers(0, 4, (size + more, size))
    found = _thresholds._determinants(powers)
    sets = _thresholds._sets(size + more, size)
    assert sorted(map(tuple, sets.tolist())) == list(combinations(range(size + more), size))
    assert _thresholds._places(sets).tolist() == list(range(len(sets)))
    for chosen, row in zip(sets.tolist(), found.tolist(), strict=True):
        table = fmpz_mat([[3 ** int(k) for k in powers[s]] for s in chosen])
        assert int(table.det()) == sum(c * 3**k for k, c in enumerate(row))


@pytest.mark.slow
def test_counts_on_a_line_of_six_jump_at_95_values() -> None:
    """The sequence of counts that walks from root to root of the present kernels' weights find too."""
    found = sv.geometry.kernel_thresholds(line(6))
    assert len(found.thresholds) == 95
    assert found.between[:4] == (16_050, 16_076, 16_098, 16_130)
    assert found.between[-4:] == (21_349, 21_351, 21_357, 21_359)
    half = found.exact.index(F(1, 2))
    assert (found.between[half], found.at[half], found.between[half + 1]) == (16_420, 15_346, 17_576)
    assert [value for value in found.exact if value is not None] == [F(1, 2)]
    golden = found.polynomials.index((-1, 1, 1))
    assert (found.between[golden], found.between[golden + 1]) == (18_924, 19_409)
    for alpha, count in (("61/100", 18_924), ("62/100", 19_409)):
        assert len(sv.geometry.kernels(line(6), alpha)) == count


def test_thresholds_beyond_reach_are_refused_before_work() -> None:
    with pytest.raises(TooLargeError, match=r"61,523,748.*all sets of 8 among 38 vertices"):
        sv.geometry.kernel_thresholds(sv.metrics.hamming(3, 2))
    apart = sv.Metric([[0, 9e6, 9e6], [9e6, 0, 18e6], [9e6, 18e6, 0]])
    with pytest.raises(TooLargeError, match="larger unit"):
        sv.geometry.kernel_thresholds(apart)


def test_counts_under_the_discrete_metric_need_no_minors(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are minimal balanced collections, as many whatever ε is; so 6 inputs are not too many."""
    monkeypatch.setattr("sievert.geometry._thresholds.LARGEST_MINORS", 1)
    assert str(sv.geometry.kernel_thresholds(discrete(4))) == "41 kernels whatever ε is"
    with pytest.raises(TooLargeError, match="fewer vertices"):
        sv.geometry.kernel_thresholds(line(4))


def brute_force(metric: sv.Metric, alpha: F) -> set[tuple[int, ...]]:
    """Supports of the basic solutions a ≥ 0 of Σ a·v = (1/n, …), from all sets of n vertices."""
    rows = sv.geometry.polytope(metric, alpha=alpha).vertices().matrix
    n = metric.size
    points = [[fmpq(v.numerator, v.denominator) for v in row] for row in rows]
    centre = fmpq_mat([[fmpq(1, n)]] * n)
    found = set()
    for chosen in combinations(range(len(points)), n):
        matrix = fmpq_mat([[points[s][x] for s in chosen] for x in range(n)])
        if matrix.det() != 0:
            weights = [row[0] for row in matrix.solve(centre).tolist()]
            if all(w >= 0 for w in weights):
                found.add(tuple(s for s, w in zip(chosen, weights, strict=True) if w > 0))
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.integers(0, 10**6), st.sampled_from(["1/2", "1/3", "3/5"]))
def test_kernels_are_those_of_the_definition(n: int, seed: int, alpha: str) -> None:
    table = np.triu(np.random.default_rng(seed).integers(1, 4, (n, n)), 1).astype(float)
    metric = sv.Metric(table + table.T, close=True)
    found = sv.geometry.kernels(metric, alpha)
    assert {kernel.support for kernel in found} == brute_force(metric, F(alpha))
    for kernel in found:
        assert sum(kernel.outers) == 1
        assert (kernel.outers @ kernel.inners == F(1, n)).all()


def test_kernels_of_the_line_of_four() -> None:
    """All eleven, as signs of the steps with their outer probabilities."""
    printed = {
        "-+- +-+": "1/2 1/2",
        "--- +-- ++- +++": "5/16 3/16 3/16 5/16",
        "--+ +-+ ++-": "3/8 1/4 3/8",
        "--- +-+ ++- +++": "5/16 1/4 9/32 5/32",
        "-+- -++ +--": "1/4 3/8 3/8",
        "--+ -+- +-- +++": "3/20 3/10 3/10 1/4",
        "--- -+- +-- +++": "5/32 1/4 9/32 5/16",
        "--- -++ +-- ++-": "5/32 3/8 9/32 3/16",
        "--+ -++ +-- ++-": "1/4 1/4 1/4 1/4",
        "--- -++ +-+ ++-": "1/4 3/20 3/10 3/10",
        "--+ +-- ++- +++": "3/8 3/16 9/32 5/32",
    }
    listed = {}
    for kernel in sv.geometry.kernels(line(4), "1/2"):
        signs = ["".join("+" if b > a else "-" for a, b in pairwise(p)) for p in kernel.inners]
        order = sorted(range(len(signs)), key=lambda i: signs[i].replace("-", " "))
        listed[" ".join(signs[i] for i in order)] = " ".join(str(kernel.outers[i]) for i in order)
    assert listed == printed


SMALL = [(line(4), "1/2"), (discrete(3), "1/2"), (star(4), "1/2"), (star(4), "1/3")]


@pytest.mark.parametrize("metric, alpha", SMALL)
def test_no_support_contains_another_prop_1(metric: sv.Metric, alpha: str) -> None:
    supports = [set(kernel.support) for kernel in sv.geometry.kernels(metric, alpha)]
    assert not any(a < b for a in supports for b in supports)


@pytest.mark.parametrize("metric, alpha", SMALL)
def test_no_kernel_refines_another_prop_3(metric: sv.Metric, alpha: str, oracle: Any) -> None:
    qif = oracle("qif")
    channels = [kernel.channel for kernel in sv.geometry.kernels(metric, alpha)]
    for i, first in enumerate(channels):
        for second in channels[i + 1 :]:
            assert not sv.refines(first, second).holds
            assert not sv.refines(second, first).holds
            assert not qif.refinement.refined_by(first.matrix, second.matrix)
            assert not qif.refinement.refined_by(second.matrix, first.matrix)


@pytest.mark.parametrize("metric, alpha", SMALL)
def test_sums_of_kernels_are_vertex_mechanisms_prop_2(metric: sv.Metric, alpha: str) -> None:
    found = list(sv.geometry.kernels(metric, alpha))
    for i, first in enumerate(found):
        assert sv.geometry.is_kernel(first.channel, metric, alpha=alpha)
        second = found[(i + 1) % len(found)]
        mixed = convex_sum([F(1, 3), F(2, 3)], [first.channel, second.channel])
        assert sv.geometry.is_vertex_mechanism(mixed, metric, alpha=alpha)
        parts = sv.geometry.decompose(mixed, metric, alpha=alpha)
        again = convex_sum(parts.weights, parts.kernels)
        assert again.hyper().is_same(mixed.hyper())
        assert sum(parts.weights) == 1
        assert all(sv.geometry.is_kernel(kernel, metric, alpha=alpha) for kernel in parts.kernels)


def test_convex_sums_of_hypers() -> None:
    """Posteriors of all with their probabilities scaled; losses are linear in it; not the average matrix."""
    found = [kernel.channel for kernel in sv.geometry.kernels(discrete(3), "1/2")]
    weights = [F(1, 12), F(1, 4), F(1, 6), F(1, 3), F(1, 6)]
    mixed = sv.geometry.convex_sum(found, weights)
    assert mixed.hyper().is_same(convex_sum(weights, found).hyper())
    prior, loss = ["1/5", "3/10", "1/2"], sv.losses.matrix([[3, 1, 0], [0, 1, 3], [1, 0, 2]])
    parts = [sv.remap(channel, prior, loss).after for channel in found]
    assert sv.remap(mixed, prior, loss).after == sum(w * u for w, u in zip(weights, parts, strict=True))
    # Ex 6.3: a third of each H_i is 4/9 of R1 and 5/9 of R2.
    high = [sv.mechanisms.versus(discrete(3), [x], alpha="1/2") for x in range(3)]
    response = sv.mechanisms.randomised_response(3, alpha="1/2")
    low = sv.Channel([["1/5" if x == y else "2/5" for y in range(3)] for x in range(3)])
    by_two = sv.geometry.convex_sum([response, low], ["4/9", "5/9"])
    assert sv.geometry.convex_sum(high).hyper().is_same(by_two.hyper())
    again = sv.geometry.decompose(by_two, discrete(3), alpha="1/2")
    assert again.channel.hyper().is_same(by_two.hyper())
    # Inputs are matched by name, floats stay private, a weight of 0 leaves nothing.
    turned = sv.Channel(response.exact[::-1].tolist(), [2, 1, 0])
    assert sv.geometry.convex_sum([response, turned], [1, 0]).hyper().is_same(response.hyper())
    floats = sv.geometry.convex_sum([sv.mechanisms.randomised_response(3, 800.0)] * 2, [0.3, 0.7])
    assert sv.epsilon(floats, discrete(3)).nats == pytest.approx(800, rel=1e-12)


@pytest.mark.parametrize(
    "channels, weights, words",
    [
        ([], None, "channels is empty"),
        ([sv.Channel([[1]])], ["1/2"], "sum to 1"),
        ([sv.Channel([[1]])] * 2, [2, -1], "must be ≥ 0"),
        ([sv.Channel([[1]])], [1, 0], "2 numbers for 1 channels"),
        ([sv.Channel([[1]])], ["x"], "weights"),
        ([sv.Channel([[1]]), sv.Channel([[1], [1]])], None, "inputs"),
    ],
)
def test_convex_sums_of_what_does_not_fit(channels: Any, weights: Any, words: str) -> None:
    with pytest.raises(SievertError, match=words):
        sv.geometry.convex_sum(channels, weights)


def convex_sum(weights: Any, channels: Any) -> sv.Channel:
    """From the definition: columns side by side, scaled."""
    columns = [weight * np.asarray(channel.exact) for weight, channel in zip(weights, channels, strict=True)]
    return sv.Channel(np.concatenate(columns, axis=1).tolist(), channels[0].inputs)


def test_worked_kernels_of_the_line_of_three() -> None:
    found = sv.geometry.kernels(line(3), "1/2")
    geometric = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    assert {tuple(sorted(map(str, kernel.outers))) for kernel in found} == {
        ("2/9", "7/18", "7/18"),
        ("4/9", "5/9"),
    }
    assert sum(kernel.channel.hyper().is_same(geometric.hyper()) for kernel in found) == 1
    # The hull of {A, C, B} contains the uniform prior, but its weights are not positive (erratum 7).
    vertices = found.vertices.matrix
    names = {
        "A": [F(2, 5), F(1, 5), F(2, 5)],
        "B": [F(4, 7), F(2, 7), F(1, 7)],
        "C": [F(1, 4), F(1, 2), F(1, 4)],
    }
    chosen = {vertices.tolist().index(row) for row in names.values()}
    assert all(set(kernel.support) != chosen for kernel in found)


def test_worked_kernels_of_the_discrete_metric() -> None:
    eye = np.eye(3, dtype=bool)
    high, low = (np.where(eye, F(*on), F(*off)) for on, off in (((1, 2), (1, 4)), ((1, 5), (2, 5))))
    inners = np.concatenate([high, low])
    outers = np.array([F(4, 27)] * 3 + [F(5, 27)] * 3, dtype=object)
    channel = sv.Channel((outers[:, None] * inners * 3).T.tolist())
    parts = sv.geometry.decompose(channel, discrete(3), alpha="1/2")
    assert sorted(map(str, parts.weights)) in (["4/9", "5/9"], ["1/3", "1/3", "1/3"])
    assert convex_sum(parts.weights, parts.kernels).hyper().is_same(channel.hyper())
    assert not sv.geometry.is_kernel(channel, discrete(3), alpha="1/2")
    assert sv.geometry.is_vertex_mechanism(channel, discrete(3), alpha="1/2")
    # Appendix A.5 writes randomised response with alpha on the diagonal: the other kernel (erratum 14).
    response = sv.mechanisms.randomised_response(3, alpha="1/2")
    other = sv.Channel([["1/5" if x == y else "2/5" for y in range(3)] for x in range(3)])
    assert sv.geometry.is_kernel(response, discrete(3), alpha="1/2")
    assert sv.geometry.is_kernel(other, discrete(3), alpha="1/2")


@pytest.mark.parametrize("n, count", [(2, 2), (3, 6), (4, 42), (5, 1292)])
def test_discrete_kernels_are_minimal_balanced_collections(n: int, count: int) -> None:
    """The known sequence counts the collection of the whole set too; weights follow from balancing ones."""
    metric = discrete(n) if n > 1 else line(1)
    found = sv.geometry.kernels(metric, "1/3")
    assert len(found) + 1 == count
    for kernel in list(found)[:50]:
        members = [tuple(x for x in range(n) if row[x] == max(row)) for row in kernel.inners]
        weights = [
            outer / (F(1, 3) * n + F(2, 3) * len(part))
            for outer, part in zip(kernel.outers, members, strict=True)
        ]
        totals = {sum(w for w, part in zip(weights, members, strict=True) if x in part) for x in range(n)}
        assert len(totals) == 1


def test_recognition_names_what_is_missing() -> None:
    uniform = sv.Channel([["1/2", "1/2"]] * 3)
    found = sv.geometry.is_vertex_mechanism(uniform, line(3), alpha="1/2")
    assert not found
    assert found.parts == ((0,), (1,), (2,))
    geometric = sv.mechanisms.truncated_geometric(4, 1.0)
    assert sv.geometry.is_kernel(geometric, line(4), 1.0)
    assert not sv.geometry.is_kernel(geometric, line(4), 1.0).exact
    doubled = sv.Channel(np.concatenate([geometric.matrix / 2, geometric.matrix[::-1, ::-1] / 2], axis=1))
    assert sv.geometry.is_kernel(doubled, line(4), 1.0)  # equal posteriors are one
    assert not sv.geometry.is_vertex_mechanism(sv.mechanisms.exponential(line(4), 1.0), line(4), 1.0)


def test_a_mechanism_that_is_not_private_is_refused_with_the_pair() -> None:
    leaking = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"])
    metric = sv.metrics.discrete(["yes", "no"])
    for function in (
        sv.geometry.is_kernel,
        sv.geometry.is_vertex_mechanism,
        sv.geometry.decompose,
        sv.geometry.to_vertex_mechanism,
    ):
        with pytest.raises(
            MechanismError, match=r"3 times as likely from 'no' as from 'yes', and 2 is allowed"
        ):
            function(leaking, metric, alpha="1/2")
    with pytest.raises(MechanismError, match="not private"):
        sv.geometry.is_kernel(sv.Channel([[1, 0], [0, 1]]), line(2), 1.0)


def test_bad_arguments() -> None:
    with pytest.raises(MechanismError, match='give a fraction such as "1/2"'):
        sv.geometry.kernels(line(3), 0.5)
    with pytest.raises(MechanismError, match="limit is 0"):
        sv.geometry.kernels(line(3), "1/2", limit=0)
    with pytest.raises(MechanismError, match="whole distances"):
        sv.geometry.kernels(line([0, 0.5, 1.5]), "1/2")
    euclidean = sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)])
    for call in (sv.geometry.kernels, sv.geometry.iter_kernels):
        with pytest.raises(MechanismError, match="give whole distances") as refused:
            call(euclidean, "1/2")
        assert "tolerance" not in str(refused.value)
    with pytest.raises(MechanismError, match="limit is 0"):
        sv.geometry.iter_kernels(line(3), "1/2", limit=0)
    with pytest.raises(TooLargeError, match=r"more than 4,096; take fewer inputs$"):
        sv.geometry.kernels(line(14), "1/2")
    with pytest.raises(MechanismError, match="to_vertex_mechanism"):
        sv.geometry.decompose(sv.Channel([["1/2", "1/2"]] * 3), line(3), alpha="1/2")


def test_a_limit_gives_some_kernels_and_says_so() -> None:
    few = sv.geometry.kernels(line(5), "1/2", limit=10)
    assert (len(few), few.complete) == (10, False)
    assert "not all" in str(few)
    enough = sv.geometry.kernels(line(5), "1/2", limit=187)
    assert (len(enough), enough.complete) == (187, True)
    far = np.full((34, 34), np.inf)
    for k in range(0, 34, 2):
        far[k : k + 2, k : k + 2] = [[0, 1], [1, 0]]
    only = sv.geometry.kernels(sv.Metric(far), "1/2", limit=10)
    assert (len(only), only.complete, len(only.vertices)) == (1, True, 34)
    cube = sv.metrics.hamming(4, 2)
    some = sv.geometry.kernels(cube, "1/2", limit=3)
    assert (len(some), some.complete) == (3, False)
    assert all(sv.geometry.is_kernel(kernel.channel, cube, alpha="1/2") for kernel in some)


def test_an_iterator_of_kernels_gives_the_same() -> None:
    for metric, alpha in SMALL:
        listed = {kernel.support for kernel in sv.geometry.kernels(metric, alpha)}
        assert {kernel.support for kernel in sv.geometry.iter_kernels(metric, alpha)} == listed
    few = list(sv.geometry.iter_kernels(sv.metrics.hamming(4, 2), "1/2", limit=2))
    assert len(few) == 2
    assert all(sum(kernel.outers) == 1 for kernel in few)


@st.composite
def private_channels(draw: Any) -> tuple[sv.Channel, sv.Metric]:
    """Exact private mechanisms: mixtures of kernels, post-processed."""
    n = draw(st.integers(2, 5))
    metric = draw(st.sampled_from([line(n), discrete(n), cycle(max(3, n)), star(max(3, n))]))
    found = sv.geometry.kernels(metric, "1/2", limit=40)
    chosen = draw(st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=2))
    mixed = convex_sum([F(1, len(chosen))] * len(chosen), [found[i].channel for i in chosen])
    outputs = draw(st.integers(1, 4))
    rows = []
    for _ in range(mixed.shape[1]):
        weights = draw(st.lists(st.integers(0, 4), min_size=outputs, max_size=outputs).filter(any))
        rows.append([F(w, sum(weights)) for w in weights])
    return mixed.then(sv.Channel(rows)), metric


@settings(max_examples=40, deadline=None)
@given(private_channels())
def test_every_private_channel_refines_a_convex_sum_of_kernels_lem_6_11(
    case: tuple[sv.Channel, sv.Metric],
) -> None:
    channel, metric = case
    found = sv.geometry.to_vertex_mechanism(channel, metric, alpha="1/2")
    assert found.exact
    assert sv.geometry.is_vertex_mechanism(found.mechanism, metric, alpha="1/2")
    assert (found.mechanism.then(found.remap).exact == channel.reduced().exact).all()
    parts = sv.geometry.decompose(found.mechanism, metric, alpha="1/2")
    assert convex_sum(parts.weights, parts.kernels).hyper().is_same(found.mechanism.hyper())
    again = sv.geometry.to_vertex_mechanism(sv.Channel(channel.matrix, channel.inputs), metric, math.log(2))
    assert np.allclose(again.mechanism.then(again.remap).matrix, channel.reduced().matrix, atol=1e-8)


def test_which_metrics_have_a_universally_optimal_mechanism() -> None:
    inf = math.inf
    assert sv.geometry.has_universally_optimal(line(2))
    assert sv.geometry.has_universally_optimal(line(1))
    assert sv.geometry.has_universally_optimal(sv.Metric([[0, 0, 1], [0, 0, 1], [1, 1, 0]]))
    blocks = sv.Metric([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 3], [inf, inf, 3, 0]])
    assert sv.geometry.has_universally_optimal(blocks)
    assert len(sv.geometry.kernels(blocks, "1/2")) == 1
    found = sv.geometry.has_universally_optimal(line(3))
    assert not found
    assert found.component == (0, 1, 2)
    assert "Thm 6.15" in str(found)


def test_pairs_on_which_a_mechanism_can_be_best() -> None:
    assert sv.geometry.pair_T_realizable(line(4), 1, 2, alpha="1/2")
    assert not sv.geometry.pair_T_realizable(line(4), 0, 2, alpha="1/2")
    for a, b in combinations(range(4), 2):
        found = sv.geometry.pair_T_realizable(discrete(4), a, b, alpha="1/3")
        assert found
        assert found.mechanism is not None
        assert sv.is_private(found.mechanism, discrete(4), math.log(3))
        assert found.mechanism.exact is not None
        assert found.mechanism.exact[[a, b], 0].tolist() == [F(3, 4), F(1, 4)]
    edge = math.log((1 + math.exp(2)) / 2)
    for s, holds in ((edge - 1e-6, False), (edge + 1e-6, True), (1.2, False), (1.9, True)):
        triangle = sv.Metric([[0, 2, s], [2, 0, s], [s, s, 0]])
        assert sv.geometry.pair_T_realizable(triangle, 0, 1).holds is holds
    with pytest.raises(MetricError, match="the same input"):
        sv.geometry.pair_T_realizable(line(3), 1, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 5), st.integers(0, 10**6))
def test_pair_criterion_agrees_with_a_linear_program(n: int, seed: int) -> None:
    from scipy.optimize import linprog

    table = np.triu(np.random.default_rng(seed).integers(1, 5, (n, n)), 1).astype(float)
    metric = sv.Metric(table + table.T, close=True)
    t = 0.5**metric.matrix
    rows, sides = [], []
    for x in range(n):
        for z in range(n):
            if x != z:
                row = np.zeros(n)
                row[x], row[z] = t[x, z], -1.0
                rows += [row, -row]
                sides += [0.0, 1.0 - t[x, z]]
    low = t[0, 1] / (1 + t[0, 1])
    bounds = [(1 - low, 1 - low), (low, low)] + [(0, 1)] * (n - 2)
    feasible = (
        linprog(np.zeros(n), A_ub=np.array(rows), b_ub=np.array(sides) + 1e-10, bounds=bounds).status == 0
    )
    found = sv.geometry.pair_T_realizable(metric, 0, 1, alpha="1/2")
    assert found.holds == feasible
    if found:
        assert found.mechanism is not None
        assert sv.is_private(found.mechanism, metric, math.log(2))


def test_inputs_infinitely_far_apart_are_told_apart_lem_6_11() -> None:
    inf = math.inf
    blind = sv.Channel([["1/2", "1/2"]] * 3)
    apart = sv.geometry.to_vertex_mechanism(blind, line(3), alpha=0)
    assert sorted(map(tuple, apart.mechanism.exact.tolist())) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]  # type: ignore[union-attr]
    metric = sv.Metric([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, inf], [inf, inf, inf, 0]])
    for channel in (
        sv.Channel([[1]] * 4),
        sv.Channel([["1/3", "2/3"], ["1/2", "1/2"], [1, 0], ["1/7", "6/7"]]),
    ):
        found = sv.geometry.to_vertex_mechanism(channel, metric, alpha="1/2")
        assert sv.geometry.is_vertex_mechanism(found.mechanism, metric, alpha="1/2")
        assert (found.mechanism.exact.sum(axis=1) == 1).all()  # type: ignore[union-attr]
        assert (found.mechanism.then(found.remap).exact == channel.reduced().exact).all()


def count_in_balls(metric: sv.Metric, alpha: arb) -> int:
    """Supports of bases with weights ≥ 0 at any alpha, where what is below 1e-60 is 0: no minors."""
    levels = -sv.geometry.polytope(metric).vertices().levels.astype(int)
    n = metric.size
    supports = set()
    for basis in combinations(range(len(levels)), n):
        matrix = arb_mat([[alpha ** int(levels[s, x]) for s in basis] for x in range(n)])
        if abs(float(matrix.det().mid())) < 1e-60:
            continue
        weights = [float(matrix.solve(arb_mat([[1]] * n))[i, 0].mid()) for i in range(n)]
        if min(weights) > -1e-60:
            supports.add(tuple(s for s, w in zip(basis, weights, strict=True) if w > 1e-60))
    return len(supports)


def test_counts_at_irrational_thresholds_are_exact() -> None:
    """Five points on a line: three thresholds are roots of polynomials of degree 2 and 3."""
    found = sv.geometry.kernel_thresholds(line(5))
    assert found.between == (195, 214, 218, 222, 230)
    assert found.at == (187, 206, 210, 216)
    assert found.exact == (F(1, 2), None, None, None)
    assert found.polynomials[2] == (-1, 1, 1)  # the golden ratio
    with ctx.workprec(500):
        golden = (arb(5).sqrt() - 1) / 2
        assert count_in_balls(line(5), golden) == 210
        assert count_in_balls(line(5), arb(1) / 2) == 187


def test_thresholds_of_components_multiply() -> None:
    """A star of four beside a point, and beside a line of three: one kernel of each."""
    star = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=float)
    for other, times in (([[0.0]], 1), ([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)):
        size = 4 + len(other)
        table = np.full((size, size), np.inf)
        table[:4, :4], table[4:, 4:] = star, other
        metric = sv.Metric(table)
        found = sv.geometry.kernel_thresholds(metric)
        assert (found.between, found.at, found.exact) == ((6 * times, 9 * times), (6 * times,), (F(1, 2),))
        for alpha, count in (("1/3", 6), ("1/2", 6), ("3/4", 9)):
            assert len(sv.geometry.kernels(metric, alpha)) == count * times
    assert str(sv.geometry.kernel_thresholds(line(2))) == "1 kernel whatever ε is"


def test_a_limit_bounds_the_work() -> None:
    found = sv.geometry.kernels(line(7), "1/2", limit=10)
    assert len(found) == 10
    assert not found.complete
    assert all(sv.geometry.is_kernel(kernel.channel, line(7), alpha="1/2") for kernel in found)
