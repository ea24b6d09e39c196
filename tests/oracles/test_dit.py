"""The figures that dit's own suite asserts: entropies, informations, capacities, orders, deficiencies."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sievert as sv

ORDERS = [0, 0.5, 1, 2, 5, math.inf]


def binary_entropy(p: float) -> float:
    return 0.0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def symmetric(p: float) -> list[list[float]]:
    return [[1 - p, p], [p, 1 - p]]


def erasing(p: float) -> list[list[float]]:
    return [[1 - p, 0, p], [0, 1 - p, p]]


def silent(inputs: int, outputs: int) -> list[list[float]]:
    return [[1 / outputs] * outputs] * inputs


IDENTITY: list[list[float]] = [[1, 0], [0, 1]]
BAY = [[0.7, 0.1, 0.2], [0.1, 0.7, 0.2]]


@pytest.fixture(scope="module")
def dit(oracle: Callable[[str], ModuleType]) -> ModuleType:
    return oracle("dit")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", range(2, 10))
def test_entropy_of_the_uniform_distribution_has_no_order(dit: ModuleType, n: int, order: float) -> None:
    prior = [1 / n] * n
    assert sv.information.entropy(prior, order) == pytest.approx(math.log2(n), rel=1e-14)
    peer = dit.other.renyi_entropy(dit.Distribution([str(i) for i in range(n)], prior), order)
    assert peer == pytest.approx(math.log2(n))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", range(2, 6))
def test_entropy_of_a_certain_value_is_nothing(n: int, order: float) -> None:
    assert sv.information.entropy([1] + [0] * (n - 1), order) == 0


@pytest.mark.parametrize("order", [-math.inf, -5, -1, -0.5, -1e-7, math.nan])
def test_a_negative_order_is_refused(order: float) -> None:
    with pytest.raises(sv.SievertError):
        sv.information.entropy([0.5, 0.5], order)
    with pytest.raises(sv.SievertError):
        sv.information.sibson_information(sv.Channel(symmetric(0.1)), None, order)


@pytest.mark.parametrize("order", [0, 0.5, 1, 2])
def test_entropy_is_what_the_divergence_from_uniform_leaves(dit: ModuleType, order: float) -> None:
    prior = [1 / 4, 1 / 2, 1 / 4]
    letters = ["0", "1", "2"]
    first, uniform = dit.Distribution(letters, prior), dit.Distribution(letters, [1 / 3] * 3)
    divergence = dit.divergences.renyi_divergence(first, uniform, order)
    assert sv.information.entropy(prior, order) == pytest.approx(math.log2(3) - divergence, abs=1e-12)
    if order > 0:
        pair = sv.Channel([prior, [1 / 3] * 3], inputs=["prior", "uniform"])
        found = sv.divergences.renyi_curve(pair, sv.metrics.discrete(["prior", "uniform"]), [order]).nats[0]
        assert found / math.log(2) >= divergence - 1e-12


PAIRS = [
    ([0, 1], [0.5, 0.5], 0.5, 1.0), ([0.5, 0.5], [1, 0], 0.5, 1.0), ([0, 1], [1, 0], 0.5, math.inf),
    ([0.5, 0.5], [0.5, 0.5], 2, 0.0), ([1 / 3] * 3, [1 / 3] * 3, 7, 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("p", "q", "order", "bits"), PAIRS)
def test_renyi_divergence(p: list[float], q: list[float], order: float, bits: float) -> None:
    """At order 1/2 it is symmetric, so the worst of both directions is either."""
    found = sv.divergences.renyi_curve(sv.Channel([p, q]), sv.metrics.line(2), [order]).nats[0]
    assert found / math.log(2) == pytest.approx(bits, abs=1e-12)


TWO = [[1 / 2, 1 / 2], [1 / 3, 2 / 3], [2 / 5, 3 / 5]]
THREE = [[1 / 5, 2 / 5, 2 / 5], [1 / 4, 1 / 2, 1 / 4], [1 / 3] * 3, [1 / 6, 2 / 6, 3 / 6]]


@pytest.mark.parametrize("order", [0.1, 0.5, 1, 1.1, 1.5, 2])
@pytest.mark.parametrize("rows", [TWO, THREE])
def test_renyi_divergence_of_their_distributions(dit: ModuleType, rows: Any, order: float) -> None:
    letters = [str(i) for i in range(len(rows[0]))]
    theirs = [dit.Distribution(letters, row) for row in rows]
    for i, first in enumerate(theirs):
        for j in range(i):
            both = max(
                dit.divergences.renyi_divergence(first, theirs[j], order),
                dit.divergences.renyi_divergence(theirs[j], first, order),
            )
            assert both > 0
            found = sv.divergences.renyi_curve(
                sv.Channel([rows[i], rows[j]]), sv.metrics.line(2), [order]
            ).nats[0]
            assert found / math.log(2) == pytest.approx(both, rel=1e-9)


# Joint distributions: outcomes XY with their probabilities, I(X; Y), H(X | Y).
JOINTS = [
    ([[1 / 4, 1 / 4], [1 / 4, 1 / 4]], 0, 1),
    ([[1 / 2, 0], [0, 1 / 2]], 1, 0),
    ([[1 / 4, 0, 0, 0], [0, 1 / 4, 0, 0], [0, 0, 1 / 4, 0], [0, 0, 0, 1 / 4]], 2, 0),
    ([[1 / 3, 1 / 3], [1 / 3, 0]], math.log2(3) - 4 / 3, 2 / 3),
]  # fmt: skip


@pytest.mark.parametrize(("joint", "information", "left"), JOINTS)
def test_mutual_information(joint: Any, information: float, left: float) -> None:
    array = np.array(joint)
    prior = array.sum(axis=1)
    channel = sv.Channel(array / prior[:, None])
    assert sv.information.mutual_information(channel, prior) == pytest.approx(information, abs=1e-14)
    remaining = sv.posterior_vulnerability(channel, prior, sv.losses.shannon(len(prior)))
    assert float(remaining) == pytest.approx(left, abs=1e-14)


@pytest.mark.parametrize("order", [0.5, 1, 2, 5, math.inf])
def test_sibson_information_at_the_ends(dit: ModuleType, order: float) -> None:
    """Nothing of an independent pair; the Rényi entropy of order 1/α of a copied one: 1 bit of a coin."""
    assert sv.information.sibson_information(sv.Channel(silent(2, 2)), None, order) == pytest.approx(
        0, abs=1e-15
    )
    assert sv.information.sibson_information(sv.Channel(IDENTITY), None, order) == pytest.approx(1)
    peer = dit.other.sibson_mutual_information_pmf(np.array([[0.5, 0], [0, 0.5]]), order)
    assert peer == pytest.approx(1)
    prior = [0.2, 0.8]
    copied = sv.information.sibson_information(sv.Channel(IDENTITY), prior, order)
    assert copied == pytest.approx(sv.information.entropy(prior, 1 / order), rel=1e-12)


def test_sibson_information_minimises_over_outputs(dit: ModuleType) -> None:
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    closed = sv.information.sibson_information(sv.Channel(joint * 2), None, 2.0)
    assert closed == pytest.approx(dit.other.sibson_mutual_information_pmf(joint, 2.0), rel=1e-12)
    best = min(
        math.log2((joint**2 / (np.array([[0.5], [0.5]]) * np.array([q, 1 - q]))).sum())
        for q in np.linspace(0.01, 0.99, 197)
    )
    assert closed == pytest.approx(best, abs=1e-4)


def test_sibson_information_is_not_symmetric() -> None:
    joint = np.array([[0.5, 0.25], [0.0, 0.25]])
    found = [
        sv.information.sibson_information(sv.Channel(j / j.sum(axis=1, keepdims=True)), j.sum(axis=1), 2.0)
        for j in (joint, joint.T)
    ]
    assert abs(found[0] - found[1]) > 1e-3


@pytest.mark.parametrize("matrix", [IDENTITY, silent(3, 2), symmetric(0.1), BAY])
def test_maximal_leakage_is_the_information_of_infinite_order(matrix: list[list[float]]) -> None:
    channel = sv.Channel(matrix)
    bits = math.log2(np.array(matrix).max(axis=0).sum())
    assert sv.information.maximal_leakage(channel) == pytest.approx(bits, abs=1e-14)
    assert sv.information.sibson_information(channel, None, math.inf) == pytest.approx(bits, abs=1e-14)


TYPEWRITER = [[0.5 if (y - x) % 6 in (0, 1) else 0 for y in range(6)] for x in range(6)]
FOUR = [[0.7 if x == y else 0.1 for y in range(4)] for x in range(4)]
ERASED = [[0.75 if x == y else 0.25 if y == 4 else 0 for y in range(5)] for x in range(4)]
# channel, capacity in bits, the prior that reaches it.
CAPACITIES: list[tuple[Any, float, list[float] | None]] = [
    (erasing(0.3), 0.7, [0.5, 0.5]), (erasing(0.01), 0.99, [0.5, 0.5]), (erasing(0.25), 0.75, [0.5, 0.5]),
    (symmetric(0.11), 1 - binary_entropy(0.11), [0.5, 0.5]), (symmetric(0), 1, [0.5, 0.5]),
    (symmetric(0.5), 0, None), (IDENTITY, 1, [0.5, 0.5]), (np.eye(4).tolist(), 2, [0.25] * 4),
    (silent(3, 3), 0, None), (TYPEWRITER, math.log2(3), None),
    (FOUR, 2 - binary_entropy(0.3) - 0.3 * math.log2(3), [0.25] * 4), (ERASED, 1.5, [0.25] * 4),
    ([[0.5, 0.5], [1, 0]], math.log2(5 / 4), [0.4, 0.6]),
    ([[1, 0], [0.3, 0.7]], math.log2(1 + 0.7 * 0.3 ** (0.3 / 0.7)), None),
    (BAY, 0.8 * (1 - binary_entropy(1 / 8)), [0.5, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize(("matrix", "bits", "prior"), CAPACITIES)
def test_shannon_capacity(dit: ModuleType, matrix: Any, bits: float, prior: list[float] | None) -> None:
    """Erasure, symmetric, Z, q-ary and typewriter channels have closed forms."""
    found = sv.capacity(sv.Channel(matrix), kind="shannon")
    assert float(found) == pytest.approx(bits, abs=2e-9)
    assert float(dit.algorithms.channel_capacity(np.array(matrix, float))[0]) == pytest.approx(bits, abs=1e-4)
    if prior is not None and found.prior is not None:
        assert found.prior == pytest.approx(prior, abs=1e-4)


def test_capacity_of_more_noise_is_less() -> None:
    kept, noisy = (float(sv.capacity(sv.Channel(c), kind="shannon")) for c in (symmetric(0.1), BAY))
    assert 0 < noisy < kept


# less safe, safer, whether the second is the first with more noise (Blackwell).
ORDERED: list[tuple[Any, Any, bool]] = [
    (IDENTITY, symmetric(0.3), True), (IDENTITY, erasing(0.4), True), (symmetric(0.3), silent(2, 2), True),
    (silent(2, 2), symmetric(0.3), False), (symmetric(0.2), symmetric(0.2), True),
    (symmetric(0.1), symmetric(0.26), True), (symmetric(0.3), symmetric(0.1), False),
    (erasing(0.2), erasing(0.5), True), (erasing(0.5), erasing(0.2), False),
    (erasing(0.15), symmetric(0.1), True), (erasing(0.3), symmetric(0.1), False),
    (erasing(0.4), symmetric(0.1), False), (erasing(0.9), symmetric(0.1), False),
    (symmetric(0.1), erasing(0.15), False), (symmetric(0.4), IDENTITY, False),
]  # fmt: skip


@pytest.mark.parametrize(("less_safe", "safer", "holds"), ORDERED)
def test_blackwell_order(less_safe: Any, safer: Any, holds: bool) -> None:
    first, second = sv.Channel(less_safe), sv.Channel(safer)
    assert sv.refines(first, second).holds is holds
    lost = float(sv.deficiency(first, second))
    assert lost == pytest.approx(0, abs=1e-9) if holds else lost > 1e-3
    if holds:
        for order in (1.0, 2.0, math.inf):
            ours = [sv.information.sibson_information(c, None, order) for c in (first, second)]
            assert ours[0] >= ours[1] - 1e-12


@pytest.mark.parametrize("p", [0.05, 0.1, 0.2, 0.3])
def test_an_erasure_degrades_to_a_flip_up_to_twice_its_rate(p: float) -> None:
    """Between 2p and h(p) an erasing channel has more Shannon capacity and is still not the worse one."""
    assert sv.refines(sv.Channel(erasing(2 * p - 0.01)), sv.Channel(symmetric(p))).holds is True
    assert sv.refines(sv.Channel(erasing(2 * p + 0.01)), sv.Channel(symmetric(p))).holds is False
    if 2 * p + 0.01 < binary_entropy(p):
        kept = float(sv.capacity(sv.Channel(erasing(2 * p + 0.01)), kind="shannon"))
        assert kept > float(sv.capacity(sv.Channel(symmetric(p)), kind="shannon"))


@pytest.mark.parametrize("seed", range(6))
def test_deficiency_laws(seed: int) -> None:
    """Not negative, zero to itself and after post-processing; the triangle inequality."""
    rng = np.random.default_rng(seed)
    a, b, c = (sv.Channel(rng.dirichlet(np.ones(3), 3)) for _ in range(3))
    post = sv.Channel(rng.dirichlet(np.ones(2), 3))
    assert float(sv.deficiency(a, a)) == pytest.approx(0, abs=1e-9)
    assert float(sv.deficiency(a, a.then(post))) == pytest.approx(0, abs=1e-9)
    ab, bc, ac = (float(sv.deficiency(*pair)) for pair in ((a, b), (b, c), (a, c)))
    assert min(ab, bc, ac) >= -1e-12
    assert ac <= ab + bc + 1e-9
    assert float(sv.deficiency(a, b, "uniform")) <= ab + 1e-9


def test_deficiency_of_flips_in_closed_form() -> None:
    """From a flip of .3 to none: gains in [0, 1] win at most the difference of the two guesses."""
    assert float(sv.deficiency(sv.Channel(symmetric(0.3)), sv.Channel(IDENTITY))) == pytest.approx(0.3)
    assert float(sv.deficiency(sv.Channel(symmetric(0.3)), sv.Channel(symmetric(0.1)))) == pytest.approx(0.2)


# Two distributions over the same letters: half their L1 distance, Jensen-Shannon divergence in bits.
DISTANCES = [
    ([0.5, 0.5], [0.5, 0.5], 0, 0), ([0.5, 0.5, 0], [0, 0.5, 0.5], 0.5, 0.5),
    ([0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], 1, 1), ([2 / 3, 1 / 3], [0, 1], 2 / 3, None),
    ([1 / 2, 1 / 2], [1 / 3, 2 / 3], 1 / 6, None), ([1 / 2, 1 / 2], [2 / 5, 3 / 5], 1 / 10, None),
    ([1 / 3, 2 / 3], [2 / 5, 3 / 5], 1 / 15, None),
]  # fmt: skip


@pytest.mark.parametrize(("p", "q", "variation", "shannon"), DISTANCES)
def test_distances(
    dit: ModuleType, p: list[float], q: list[float], variation: float, shannon: float | None
) -> None:
    """Total variation is the transport of the discrete metric; Jensen-Shannon the information of a coin."""
    assert float(sv.kantorovich(p, q, sv.metrics.discrete(len(p)))) == pytest.approx(variation, abs=1e-14)
    letters = [str(i) for i in range(len(p))]
    first, second = dit.Distribution(letters, p), dit.Distribution(letters, q)
    assert dit.divergences.variational_distance(first, second) == pytest.approx(variation)
    if shannon is not None:
        assert sv.information.mutual_information(sv.Channel([p, q])) == pytest.approx(shannon, abs=1e-14)


def test_weighted_jensen_shannon_divergence() -> None:
    found = sv.information.mutual_information(sv.Channel([[0.5, 0.5, 0], [0, 0.5, 0.5]]), [0.25, 0.75])
    assert found == pytest.approx(0.40563906222956625, rel=1e-14)
