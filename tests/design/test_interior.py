"""The interior point over columns: strict starts, bounds at every step, and the optimum between them."""

import itertools
import re

import numpy as np
import pytest

import sievert as sv
from sievert.errors import MechanismError, TooLargeError
from sievert.numerics import on_device, progress_listener

# Square grids of unit cells with a random prior (guide to design at city scale, 7).
CITY = {
    "distance": {64: 2.152263, 100: 2.49506},
    "squared": {100: 9.0719},
    "bayes": {100: 0.812756},
}


def places(side: int) -> np.ndarray:
    return np.array(list(itertools.product(range(side), repeat=2)), dtype=float)


def random_prior(size: int) -> np.ndarray:
    found = np.random.default_rng(0).exponential(size=size)
    return found / found.sum()


def loss_of(points: np.ndarray, kind: str) -> np.ndarray:
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    return {"distance": apart, "squared": apart**2, "bayes": (apart > 0).astype(float)}[kind]


def test_places_that_are_named_twice_are_merged_and_said() -> None:
    points = np.concatenate([places(3), places(3)[:2]])
    metric = sv.metrics.euclidean(points, labels=range(11))
    prior = random_prior(11)
    found = sv.optimal_mechanism(metric, 0.5, prior, loss_of(points, "distance"), method="interior", gap=1e-3)
    assert "2 inputs at distance 0 from others" in found.method
    assert (found.mechanism.matrix[9:] == found.mechanism.matrix[:2]).all()
    assert found.gap <= 1e-3 * found.loss and found.certificate.verify().holds


def test_places_that_nearly_coincide() -> None:
    """Each has the other next to it, and neither may be left to the other alone."""
    points = np.concatenate([places(4), places(4) + np.array([0, 1e-4])])
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")
    found = sv.optimal_mechanism(metric, 0.5, random_prior(32), loss, method="interior", gap=1e-3)
    assert found.gap <= 1e-3 * found.loss and found.certificate.verify().holds


@pytest.mark.parametrize("kind", ["distance", "squared", "bayes"])
@pytest.mark.parametrize("eps", [0.2, 1.0, 4.0])
def test_the_optimum_of_the_program_lies_between_the_bounds(kind: str, eps: float) -> None:
    for points in (places(5), np.random.default_rng(7).random((14, 2)) * 5):
        metric, prior, loss = sv.metrics.euclidean(points), random_prior(len(points)), loss_of(points, kind)
        found = sv.optimal_mechanism(metric, eps, prior, loss, method="interior", gap=1e-4)
        exact = sv.optimal_mechanism(metric, eps, prior, loss, method="program")
        assert found.lower_bound <= exact.loss and exact.lower_bound <= found.loss
        assert found.gap <= 1e-4 * found.loss
        assert found.certificate.verify().holds
        assert float(sv.epsilon(found.mechanism, metric)) <= eps


def test_trees_need_no_further_constraints() -> None:
    tree = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (5, 6), (6, 7)])
    loss = np.random.default_rng(3).random((8, 8))
    found = sv.optimal_mechanism(tree, 0.7, random_prior(8), loss, method="interior", gap=1e-4)
    assert "1.8 constraints for each" in found.method
    exact = sv.optimal_mechanism(tree, 0.7, random_prior(8), loss, method="program")
    assert found.lower_bound <= exact.loss <= found.loss


@pytest.mark.parametrize(
    ("kind", "side"), [("distance", 8), ("distance", 10), ("squared", 10), ("bayes", 10)]
)
def test_values_of_a_small_city(kind: str, side: int) -> None:
    points = places(side)
    metric, loss = sv.metrics.euclidean(points), loss_of(points, kind)
    found = sv.optimal_mechanism(metric, 0.5, random_prior(side**2), loss, method="interior", gap=0.01)
    assert found.lower_bound <= CITY[kind][side**2] * (1 + 1e-5)
    assert found.loss >= CITY[kind][side**2] * (1 - 1e-5)
    assert found.gap <= 0.01 * found.loss


def test_rounding_ends_the_search_with_an_honest_gap() -> None:
    points = places(4)
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")
    found = sv.optimal_mechanism(metric, 0.5, random_prior(16), loss, method="interior", gap=1e-12)
    assert 0 <= found.gap < 1e-5
    assert found.certificate.verify().holds
    best = sv.optimal_mechanism(metric, 0.5, random_prior(16), loss, method="program")
    assert found.lower_bound <= best.loss and best.lower_bound <= found.loss


def test_odd_problems() -> None:
    """Priors with zeros, two names of one place, places that may differ freely, fewer actions than places."""
    points = np.vstack([places(3), [[0.0, 0.0]], places(2) + 100])
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    apart[:10, 10:] = apart[10:, :10] = np.inf
    metric = sv.Metric(apart, range(14))
    prior = random_prior(14)
    prior[[2, 5]] = 0
    prior /= prior.sum()
    loss = np.minimum(apart, 9)[[0, 4, 8, 10, 13]]
    found = sv.optimal_mechanism(metric, 1.0, prior, loss, method="interior", gap=1e-3)
    assert (found.mechanism.matrix[0] == found.mechanism.matrix[9]).all()
    assert found.certificate.verify().holds and found.gap <= 1e-3 * found.loss
    exact = sv.optimal_mechanism(metric, 1.0, prior, loss)
    assert found.lower_bound <= exact.loss and exact.lower_bound <= found.loss


def test_the_same_problem_has_the_same_answer() -> None:
    points = places(4)
    problem = sv.metrics.euclidean(points), 1.0, random_prior(16), loss_of(points, "bayes")
    one, two = (sv.optimal_mechanism(*problem, method="interior", gap=0.01) for _ in range(2))
    assert (one.mechanism.matrix == two.mechanism.matrix).all() and one.lower_bound == two.lower_bound


def test_an_interrupt_returns_the_best_so_far() -> None:
    points = places(5)
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")
    heard: list[str] = []

    def listener(what: str, done: int, total: int) -> None:
        heard.append(what)
        raise KeyboardInterrupt

    with progress_listener(listener):
        found = sv.optimal_mechanism(metric, 0.5, random_prior(25), loss, method="interior", gap=1e-6)
    assert found.method.endswith("interrupted") and heard[0].startswith("certified within 0.0")
    assert found.interrupted and found.nearness in str(found)
    assert 1e-6 < found.gap / found.loss < 1
    assert found.certificate.verify().holds


def test_an_interrupt_starts_no_other_program() -> None:
    points = np.random.default_rng(5).random((64, 2)) * 8
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")
    heard: list[str] = []

    def listener(what: str, done: int, total: int) -> None:
        heard.append(what)
        if len(heard) == 1:
            raise KeyboardInterrupt

    with progress_listener(listener):
        found = sv.optimal_mechanism(metric, 0.5, random_prior(64), loss, gap=1e-4)
    assert found.method.endswith("interrupted") and len(heard) == 1


def test_a_loss_below_the_tolerances_of_programs_is_proved() -> None:
    apart = np.random.default_rng(36).uniform(0.2, 3, (5, 5))
    apart = np.minimum(apart, apart.T)
    np.fill_diagonal(apart, 0)
    for k in range(5):
        apart = np.minimum(apart, apart[:, k, None] + apart[k])
    found = sv.optimal_mechanism(sv.Metric(apart), 40.0, None, apart, gap=1e-3)
    assert found.gap <= 1e-3 * found.loss and found.certificate.verify().holds


def test_auto_takes_it_for_few_places_with_many_answers() -> None:
    points = np.random.default_rng(5).random((30, 2)) * 8
    loss = np.random.default_rng(6).random((150, 30))
    found = sv.optimal_mechanism(sv.metrics.euclidean(points), 0.5, random_prior(30), loss, gap=0.05)
    assert "interior point" in found.method and found.gap <= 0.05 * found.loss


def test_nothing_is_worse_than_an_answer_that_does_not_look() -> None:
    points, loss = places(4), 1 - np.eye(16)
    metric, prior = sv.metrics.euclidean(points), np.array([10.0, *[1.0] * 15]) / 25
    found = sv.optimal_mechanism(metric, 1e-4, prior, loss, method="interior", gap=0.1)
    assert found.loss <= found.without_release * (1 + 1e-12)


@pytest.mark.parametrize("apart", [1e-7, 1e-8, 4e-9])
def test_places_too_near_for_rounding_are_merged_and_said(apart: float) -> None:
    points = np.concatenate([places(4), places(4) + np.array([0, apart])])
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")
    found = sv.optimal_mechanism(metric, 0.5, random_prior(32), loss, method="interior", gap=1e-3)
    assert "16 inputs within ε·distance 1e-07 of others" in found.method
    assert found.gap <= 1e-3 * found.loss and found.certificate.verify().holds


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("eps", [40.0, 300.0, 1000.0])
def test_hardly_any_noise(eps: float) -> None:
    """Losses far below rounding: what is left is less than a 10⁻⁹ of the largest loss."""
    tree = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (5, 6)])
    for metric in (tree, sv.metrics.euclidean(places(3))):
        loss = np.minimum(metric.matrix, 3.0)
        prior = random_prior(metric.size)
        found = sv.optimal_mechanism(metric, eps, prior, loss, method="interior", gap=1e-2)
        assert found.gap <= 3e-9 and found.certificate.verify().holds


def test_auto_takes_it_beyond_a_hundred_places_without_symmetry() -> None:
    points = np.random.default_rng(5).random((104, 2)) * 8
    metric, loss = sv.metrics.euclidean(points), loss_of(points, "distance")[::8]
    found = sv.optimal_mechanism(metric, 0.5, random_prior(104), loss, gap=0.05)
    assert "interior point" in found.method and found.gap <= 0.05 * found.loss


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = sv.metrics.euclidean(places(2))
    for gap in (0, -1, 1.5):
        with pytest.raises(MechanismError, match=f"gap is {gap}; it must be above 0 and at most 1"):
            sv.optimal_mechanism(metric, 1.0, gap=gap)
    with pytest.raises(MechanismError, match="device is 'cuda:99'"):
        sv.optimal_mechanism(metric, 1.0, device="cuda:99")
    monkeypatch.setattr("sievert.numerics._device.ROOM", 8 * 48 - 1)
    with pytest.raises(TooLargeError, match="4 inputs need 48 floats at once; at most 47 fit, those of 3 "):
        sv.optimal_mechanism(metric, 1.0, np.array([0.1, 0.2, 0.3, 0.4]), method="interior")


@pytest.mark.parametrize("name", ["distance", "squared", "bayes", "within"])
def test_the_losses_of_places(name: str) -> None:
    metric = sv.metrics.euclidean(list(itertools.product(range(4), repeat=2)))
    loss = {
        "distance": sv.losses.distance(metric),
        "squared": sv.losses.squared_distance(metric),
        "bayes": sv.losses.bayes_risk(metric.points),
        "within": sv.losses.within(metric, 1.5),
    }[name]
    prior = np.random.default_rng(0).dirichlet(np.ones(16))
    best = sv.optimal_mechanism(metric, 0.5, prior, loss, method="program")
    found = sv.optimal_mechanism(metric, 0.5, prior, loss, method="interior", gap=0.01)
    assert found.gap <= 0.01 * found.loss
    assert found.lower_bound <= best.loss + 1e-12
    assert best.lower_bound <= found.loss + 1e-12


def test_points_in_any_order_are_solved_alike() -> None:
    points, order = places(6), np.random.default_rng(4).permutation(36)
    prior, loss = random_prior(36), loss_of(places(6), "distance")
    given = sv.optimal_mechanism(sv.metrics.euclidean(points), 0.5, prior, loss, method="interior", gap=1e-3)
    mixed = sv.optimal_mechanism(
        sv.metrics.euclidean(points[order]),
        0.5,
        prior[order],
        loss[order][:, order],
        method="interior",
        gap=1e-3,
    )
    assert mixed.gap <= 1e-3 * mixed.loss and mixed.certificate.verify().holds
    assert mixed.lower_bound <= given.loss and given.lower_bound <= mixed.loss


@pytest.mark.parametrize("kind", ["distance", "bayes"])
def test_pytorch_has_the_same_answer(kind: str) -> None:
    pytest.importorskip("torch")
    for side in (6, 10):
        points = places(side)
        problem = sv.metrics.euclidean(points), 0.5, random_prior(side**2), loss_of(points, kind)
        one, two = (
            sv.optimal_mechanism(*problem, method="interior", gap=1e-3, device=name)
            for name in ("cpu", "torch")
        )
        assert two.gap <= 1e-3 * two.loss and two.certificate.verify().holds
        assert one.lower_bound <= two.loss and two.lower_bound <= one.loss


def test_words_say_how_near_to_the_best() -> None:
    metric = sv.metrics.euclidean(places(4))
    best = sv.optimal_mechanism(metric, 0.5, random_prior(16), method="interior", gap=0.05)
    share = best.gap / best.lower_bound
    said = re.search(r"within ([0-9.]+)% of the best possible", str(best))
    assert said is not None and 0 <= float(said[1]) - 100 * share <= 0.1
    assert "exactly optimal" in str(sv.optimal_mechanism(sv.metrics.line(3), alpha="1/2"))


def test_a_device_without_floats_of_64_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")

    def put(_: object, array: np.ndarray) -> None:
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype")

    metric, loss = sv.metrics.euclidean(places(3)), loss_of(places(3), "distance")
    with on_device("torch") as there:
        monkeypatch.setattr(type(there), "put", put)
        with pytest.raises(MechanismError, match="no floats of 64 bits"):
            sv.optimal_mechanism(metric, 0.5, random_prior(9), loss, method="interior", gap=0.1)
