"""The figures that dp_accounting's own suite asserts, for the losses Sievert can express.

Discrete noise, randomised response and sampling are channels of two rows here; Gaussian noise and composition
are claims. "Replace special" compares an answer with a uniform one.
"""

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

import sievert as sv
from sievert.limits.promises import ApproximateClaim, GaussianClaim, ZeroConcentratedClaim

TWO = sv.metrics.line(2)


def discrete_laplace(rate: float, shift: int) -> NDArray[np.float64]:
    """Two rows of noise of mass ∝ e^(-rate·|x|), `shift` apart; the tails beyond them are one output each."""
    matrix = sv.mechanisms.truncated_geometric(shift + 1, rate).matrix
    return np.asarray(matrix[[0, -1]])


def discrete_gaussian(sigma: float, shift: int, bound: int) -> NDArray[np.float64]:
    """Noise of mass ∝ e^(-x²/2σ²) on -bound…bound, and the same moved by `shift`."""
    steps = np.arange(-bound, bound + 1)
    mass = np.exp(-(steps**2) / (2 * sigma**2))
    mass /= mass.sum()
    rows = np.zeros((2, len(steps) + shift))
    rows[0, : len(steps)], rows[1, shift:] = mass, mass
    return rows


def sampled(rows: NDArray[np.float64], rate: float) -> sv.Channel:
    """The second row's record is used with this probability only."""
    return sv.Channel(np.array([rows[0], (1 - rate) * rows[0] + rate * rows[1]]))


def response(noise: float, buckets: int) -> sv.Channel:
    matrix = np.full((buckets, buckets), noise / buckets)
    return sv.Channel(matrix + (1 - noise) * np.eye(buckets))


def against_uniform(noise: float, buckets: int) -> sv.Channel:
    return sv.Channel(np.array([response(noise, buckets).matrix[0], np.full(buckets, 1 / buckets)]))


def neighbours(size: int) -> sv.Metric:
    return sv.metrics.discrete(size)


# rate, shift, ε, δ(ε) of discrete Laplace noise.
LAPLACE = [
    (1.0, 1, 1.0, 0), (0.333333, 3, 1.0, 0), (0.5, 4, 2.0, 0), (0.5, 4, 0.5, 0.54202002),
    (0.5, 4, 1.0, 0.39346934), (0.5, 4, 0.0, 0.63212056),
]  # fmt: skip


@pytest.mark.parametrize(("rate", "shift", "eps", "delta"), LAPLACE)
def test_delta_of_discrete_laplace_noise(rate: float, shift: int, eps: float, delta: float) -> None:
    channel = sv.Channel(discrete_laplace(rate, shift))
    assert sv.divergences.delta_curve(channel, TWO, [eps]).delta[0] == pytest.approx(delta, abs=1e-8)
    assert sv.divergences.smallest_epsilon(channel, TWO, 0.0) == pytest.approx(rate * shift, rel=1e-12)


# rate of sampling, ε, δ of adding and of removing the record; the worst of both is ours.
SAMPLED_LAPLACE = [
    (0.2, 0.0, 0.12642411, 0.12642411), (0.2, 0.1, 0.058632421, 0.11181698),
    (0.2, 0.2, 0.0, 0.095673604), (0.2, 0.3, 0.0, 0.07817137),
    (0.7, 0.5, 0.2293628348747755, 0.3523838505224567),
    (0.3, 0.5, 0.0, 0.1068168460276349), (0.6, 1.0, 0.0, 0.178181891763215),
]  # fmt: skip


@pytest.mark.parametrize(("rate", "eps", "adding", "removing"), SAMPLED_LAPLACE)
def test_delta_of_sampled_discrete_laplace_noise(
    rate: float, eps: float, adding: float, removing: float
) -> None:
    channel = sampled(discrete_laplace(0.5, 4), rate)
    found = sv.divergences.delta_curve(channel, TWO, [eps])
    assert found.delta[0] == pytest.approx(max(adding, removing), abs=1e-8)


# σ, shift, bound, rate of sampling, ε, δ.
GAUSSIAN_NOISE = [
    (1.0, 1, 2, 1.0, 0.0, 0.402619947), (1.0, 1, 2, 1.0, 1.0, 0.150574425),
    (1.0, 1, 2, 1.0, 2.0, 0.054488685), (10.0, 3, 5, 1.0, 0.0, 0.285480872),
    (10.0, 3, 5, 1.0, 1.0, 0.263672394), (10.0, 3, 5, 1.0, 2.0, 0.263672394),
    (1.0, 1, 2, 0.8, 0.0, 0.322095958), (1.0, 1, 2, 0.8, 1.0, 0.101734157),
    (1.0, 1, 2, 0.8, 2.0, 0.043590948), (5.0, 3, 5, 0.4, 0.0, 0.129522020),
    (5.0, 3, 5, 0.4, 0.1, 0.104486937), (5.0, 3, 5, 0.4, 0.2, 0.094851204),
]  # fmt: skip


@pytest.mark.parametrize(("sigma", "shift", "bound", "rate", "eps", "delta"), GAUSSIAN_NOISE)
def test_delta_of_discrete_gaussian_noise(
    sigma: float, shift: int, bound: int, rate: float, eps: float, delta: float
) -> None:
    channel = sampled(discrete_gaussian(sigma, shift, bound), rate)
    assert sv.divergences.delta_curve(channel, TWO, [eps]).delta[0] == pytest.approx(delta, abs=1e-8)


# σ, sensitivity, ε, δ(ε) of Gaussian noise.
GAUSSIAN = [
    (1, 1, 0.0, 0.38292492), (1, 1, 1.0, 0.12693674), (2, 2, 1.0, 0.12693674), (1, 3, 1.0, 0.78760074),
    (2, 6, 1.0, 0.78760074), (1, 1, 2.0, 0.020923636), (5, 5, 2.0, 0.02092364), (0.344, 1, 16.0, 1.016e-5),
    (0.688, 2, 16.0, 1.016e-5), (4, 2, 1.0, None), (1 / 3, 1, 1.0, 0.78760074),
]  # fmt: skip


@pytest.mark.parametrize(("sigma", "sensitivity", "eps", "delta"), GAUSSIAN)
def test_delta_of_gaussian_noise(
    oracle: Callable[[str], ModuleType], sigma: float, sensitivity: float, eps: float, delta: float | None
) -> None:
    claim = GaussianClaim(sigma, sensitivity)
    found = float(claim.delta(np.array([eps]))[0])
    mechanism = oracle("dp_accounting.pld.privacy_loss_mechanism")
    theirs = float(mechanism.GaussianPrivacyLoss(sigma, sensitivity=sensitivity).get_delta_for_epsilon(eps))
    assert found == pytest.approx(theirs, rel=1e-9)
    assert found == pytest.approx(theirs if delta is None else delta, abs=2e-8, rel=1e-3)
    if eps > 0:
        assert claim.epsilon(found) == pytest.approx(eps, rel=1e-6)


@pytest.mark.parametrize("sigma", [0.5, 1, 3, 10])
@pytest.mark.parametrize("delta", [1e-1, 1e-2, 1e-3, 1e-5, 1e-10])
def test_epsilon_of_gaussian_noise(oracle: Callable[[str], ModuleType], sigma: float, delta: float) -> None:
    theirs = oracle("dp_accounting.gaussian_mechanism").get_epsilon_gaussian(sigma, delta)
    assert GaussianClaim(sigma).epsilon(delta) == pytest.approx(theirs, rel=1e-6, abs=1e-9)


def test_gaussian_noise_many_times() -> None:
    """25 answers of sensitivity 6 at σ = 10 are one of sensitivity 3 at σ = 1; √3 three times is 1 once."""
    many = GaussianClaim(10, 6, 25)
    assert float(many.delta(np.array([1.0]))[0]) == pytest.approx(0.78760074, abs=1e-8)
    thrice = sv.explain(sigma=math.sqrt(3), releases=3)
    assert thrice.distinguishing == pytest.approx(0.38292492254802624, rel=1e-9)
    assert 1 - float(thrice.curve.at(0.1)) == pytest.approx(0.38914, abs=1e-3)


SHARES = [
    (2, 0.125, 0.375), (2, 0.25, 0.75), (4, 0.0625, 0.3125), (4, 0.125, 0.625), (4, 0.375, 0.875),
    (4, 0.75, 0.95), (2, 1e-10, 3e-10), (2, 1e-9, 3e-9), (2, 1e-8, 3e-8), (2, 1e-7, 3e-7),
    (2, 1e-6, 3e-6), (2, 1e-5, 3e-5), (2, 1e-4, 3e-4),
]  # fmt: skip


@pytest.mark.parametrize(("buckets", "false_alarm", "power"), SHARES)
def test_power_against_randomised_response(buckets: int, false_alarm: float, power: float) -> None:
    curve = sv.divergences.tradeoff_function(response(0.5, buckets), pair=(0, 1))
    assert 1 - float(curve.at(false_alarm)) == pytest.approx(power, rel=1e-6)


def test_power_against_composed_claims() -> None:
    """ε = 1 and ε = 2 together: 3 in the worst case, and .8286 of the truths at .1 of false alarms."""
    both = sv.mechanisms.randomised_response(2, 1.0).alongside(sv.mechanisms.randomised_response(2, 2.0))
    assert 1 - float(sv.divergences.tradeoff_function(both, pair=(0, 1)).at(0.1)) == pytest.approx(
        0.8286, abs=1e-4
    )
    assert sv.epsilon(both, TWO).nats == pytest.approx(3)
    assert sv.divergences.delta_curve(both, TWO, [3.0]).delta[0] == pytest.approx(0, abs=1e-12)


def lossy_response(eps: float, lost: float) -> sv.Channel:
    """The worst (ε, δ)-private answer about a bit: told outright with probability δ, else randomised."""
    told = np.eye(2) * lost
    return sv.Channel(np.hstack([told, (1 - lost) * sv.mechanisms.randomised_response(2, eps).matrix]))


def test_power_against_lossy_claims() -> None:
    """(1, .1) and (2, .2) together: δ(3) = 1 - .9·.8 = .28, and .91938 of the truths at .1."""
    both = lossy_response(1.0, 0.1).alongside(lossy_response(2.0, 0.2))
    assert sv.divergences.delta_curve(both, TWO, [3.0]).delta[0] == pytest.approx(0.28, abs=1e-12)
    assert 1 - float(sv.divergences.tradeoff_function(both, pair=(0, 1)).at(0.1)) == pytest.approx(
        0.91938, abs=1e-3
    )


@pytest.mark.parametrize(
    ("channel", "eps"),
    [
        (response(4 / (3 + math.e), 4), 1.0), (against_uniform((4 - math.e) / 3, 4), 1.0),
        (against_uniform(math.exp(-1), 2), 1.0), (response(0.5, 2), math.log(3)),
        (response(0.2, 4), math.log(17)), (response(0.0, 3), math.inf), (response(1.0, 3), 0.0),
    ],
)  # fmt: skip
def test_epsilon_of_randomised_response(channel: sv.Channel, eps: float) -> None:
    assert sv.epsilon(channel, neighbours(channel.shape[0])).nats == pytest.approx(eps, rel=1e-12, abs=1e-12)


# Losses with their probabilities, from the first row to the second and back.
Losses = dict[float, float]
LOSSES: list[tuple[sv.Channel, Losses, Losses]] = [
    (response(0.5, 2), {math.log(3): 0.75, -math.log(3): 0.25}, {math.log(3): 0.75, -math.log(3): 0.25}),
    (response(0.2, 4), {math.log(17): 0.85, -math.log(17): 0.05, 0.0: 0.1},
     {math.log(17): 0.85, -math.log(17): 0.05, 0.0: 0.1}),
    (against_uniform(0.5, 2), {math.log(3 / 2): 0.75, math.log(1 / 2): 0.25},
     {math.log(2): 0.5, math.log(2 / 3): 0.5}),
    (against_uniform(0.2, 4), {math.log(0.85 / 0.25): 0.85, math.log(0.05 / 0.25): 0.15},
     {math.log(5): 0.75, math.log(0.25 / 0.85): 0.25}),
]  # fmt: skip


@pytest.mark.parametrize(("channel", "there", "back"), LOSSES)
@pytest.mark.parametrize("eps", [0.0, 0.1, 0.5, 1.0, 2.0, 3.0])
def test_delta_is_the_expectation_over_losses(
    channel: sv.Channel, there: Losses, back: Losses, eps: float
) -> None:
    """δ(ε) = E[1 - e^(ε - loss)]₊, the worst of both directions."""
    expected = max(
        sum(p * max(0.0, 1 - math.exp(eps - loss)) for loss, p in losses.items()) for losses in (there, back)
    )
    found = sv.divergences.delta_curve(channel, neighbours(channel.shape[0]), [eps]).delta[0]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


ORDERS = [1.5, 2.5, 5, 50, 100, math.inf]
RENYI: list[tuple[float, int, bool, list[float]]] = [
    (0.3, 10, True, [1.5030552584146897, 1.7801182478869704, 1.9091969256833639, 1.9814516798923105,
                     1.9846954517418232, 1.9878743481543455]),
    (0.05, 20, True, [2.8985312222056674, 2.9615414620514047, 2.982908949957726, 2.994685471627712,
                      2.9952141594692665, 2.995732273553991]),
    (0.01, 3, True, [3.851345343526459, 4.334924907685137, 4.503803908976894, 4.596895387863428,
                     4.601074578835478, 4.605170185988092]),
    (0.3, 10, False, [2.6946320226546314, 2.983865364028855, 3.11316970070507, 3.1854244842182466,
                      3.1886682560677593, 3.1918471524802814]),
    (0.05, 20, False, [5.850317703374384, 5.910360162307462, 5.930633082131939, 5.94180620835157,
                       5.942307807732949, 5.942799375126701]),
    (0.01, 3, False, [5.684126770932727, 5.692634596034571, 5.695421239467805, 5.696956976543137,
                      5.697025920968522, 5.697093486505405]),
]  # fmt: skip


@pytest.mark.parametrize(("noise", "buckets", "uniform", "nats"), RENYI)
def test_renyi_divergences_of_randomised_response(
    noise: float, buckets: int, uniform: bool, nats: list[float]
) -> None:
    """The worst of both directions, as their accountant takes it."""
    channel = against_uniform(noise, buckets) if uniform else response(noise, buckets)
    found = sv.divergences.renyi_curve(channel, neighbours(channel.shape[0]), ORDERS)
    assert found.nats == pytest.approx(nats, rel=1e-9)


# ε, δ of one release, releases, total δ, the total ε they state (None: no ε will do).
COMPOSED: list[tuple[float, float, int, float, float | None]] = [
    (1, 0, 30, 0, 30), (1, 0.001, 30, 0.06, 22), (1, 0.001, 30, 0.1, 20), (1, 0.2, 1, 0.1, None),
    (1, 0.01, 30, 0.26, None), (0.25, 0, 50, 0.01, 5),
]  # fmt: skip


@pytest.mark.parametrize(("eps", "lost", "releases", "delta", "stated"), COMPOSED)
def test_composition(eps: float, lost: float, releases: int, delta: float, stated: float | None) -> None:
    """Theirs are the steps (k - 2i)·ε of the theorem; between two steps lies the least that is valid."""
    found = sv.promises.composed_claim(eps, releases=releases, delta=lost, total_delta=delta).optimal
    if stated is None:
        assert found == math.inf
        return
    assert stated - 2 * eps < found <= stated + 1e-6
    reached = float(ApproximateClaim(eps, lost, releases).delta(np.array([found]))[0])
    assert reached == pytest.approx(delta, rel=1e-9)


def composed_delta(eps: float, lost: float, releases: int, total: float) -> float:
    """Kairouz, Oh and Viswanath, Thm 3.3: the sum itself."""
    share = 1 / (1 + math.exp(-eps))

    def likely(true: int, false: int) -> float:
        return share**true * (1 - share) ** false

    mass = sum(
        math.comb(releases, i) * max(0.0, likely(releases - i, i) - math.exp(total) * likely(i, releases - i))
        for i in range(releases + 1)
    )
    return 1 - (1 - lost) ** releases * (1 - mass)


@pytest.mark.parametrize(("eps", "lost", "releases", "total"), [
    (1, 0.001, 30, 21.7), (1, 0.001, 30, 10), (0.25, 0, 50, 5), (0.1, 0, 10, 0.5), (2, 0.1, 3, 1),
    (1, 0, 2, 0),
])  # fmt: skip
def test_the_theorem_of_composition(eps: float, lost: float, releases: int, total: float) -> None:
    found = float(ApproximateClaim(eps, lost, releases).delta(np.array([float(total)]))[0])
    assert found == pytest.approx(composed_delta(eps, lost, releases, total), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("eps", "releases", "lost", "total"), [(3.0, 5, 0.0, 15.0), (1.0, 30, 0.0, 30.0)])
def test_pure_claims_add_up(eps: float, releases: int, lost: float, total: float) -> None:
    found = sv.promises.composed_claim(eps, releases=releases, delta=lost, total_delta=0.0)
    assert found.basic == pytest.approx(total)
    assert found.optimal == pytest.approx(total)


@pytest.mark.parametrize(("eps", "delta"), [(-0.1, 0.1), (1, -0.1), (1, 1.1)])
def test_levels_that_are_none_are_refused(eps: float, delta: float) -> None:
    with pytest.raises(sv.SievertError):
        sv.explain(eps, delta=delta)
    with pytest.raises(sv.SievertError):
        sv.promises.composed_claim(eps, releases=2, delta=delta)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.5, 3.14159])
def test_gaussian_noise_keeps_its_concentrated_claim(sigma: float) -> None:
    """ρ = 1/2σ² is what the noise has; what follows from ρ alone is never less than the noise's own δ."""
    levels = np.array([0.1, 0.5, 1.0, 2.0, 4.0])
    assert (ZeroConcentratedClaim(0.5 / sigma**2).delta(levels) >= GaussianClaim(sigma).delta(levels)).all()
    assert sv.explain(rho=0.5 / sigma**2, values=2).after >= sv.explain(sigma=sigma, values=2).after - 1e-12


def test_no_noise_hides_nothing_and_no_sensitivity_everything() -> None:
    assert sv.explain(sigma=1e-6, values=4).after == pytest.approx(1)
    assert sv.explain(sigma=1.0, sensitivity=0.0, values=4).after == pytest.approx(0.25)
