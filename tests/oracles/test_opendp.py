"""The figures that OpenDP's own suites (Python and Rust) assert of maps, conversions and accuracies."""

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

import sievert as sv
from sievert.limits.promises import ApproximateClaim, ZeroConcentratedClaim
from sievert.mechanisms import geometric_table_noise
from sievert.policies import Policy, Query


@pytest.fixture(scope="module")
def dp(oracle: Callable[[str], ModuleType]) -> ModuleType:
    module = oracle("opendp.prelude")
    module.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    return module


# categories, probability of the truth, ε.
RESPONSES = [(2, 0.75, math.log(3)), (2, 0.5, 0), (2, 1.0, math.inf), (4, 0.75, math.log(9)), (5, 0.2, 0),
             (5, 1.0, math.inf), (3, 0.9, math.log(18))]  # fmt: skip


@pytest.mark.parametrize(("n", "truth", "eps"), RESPONSES)
def test_epsilon_of_randomised_response(dp: ModuleType, n: int, truth: float, eps: float) -> None:
    matrix = np.full((n, n), (1 - truth) / (n - 1))
    np.fill_diagonal(matrix, truth)
    found = sv.epsilon(sv.Channel(matrix), sv.metrics.discrete(n)).nats
    assert found == pytest.approx(eps, rel=1e-12, abs=1e-15)
    theirs = dp.m.make_randomized_response([str(i) for i in range(n)], truth).map(1)
    assert theirs == pytest.approx(eps, rel=1e-12, abs=1e-15)
    if 0 < eps < math.inf:
        ours = sv.mechanisms.randomised_response(n, eps).matrix
        assert ours == pytest.approx(matrix, rel=1e-12)
        assert sv.is_private(sv.Channel(matrix), sv.metrics.discrete(n), eps * (1 + 1e-12))
        assert not sv.is_private(sv.Channel(matrix), sv.metrics.discrete(n), eps - 1e-3)


@pytest.mark.parametrize(
    ("scale", "shift", "eps"),
    [(2.0, 1, 0.5), (1.0, 1, 1.0), (2.0, 10, 5.0), (10.0, 1, 0.1), (200.0, 1, 0.005)],
)
def test_epsilon_of_integer_laplace_noise(dp: ModuleType, scale: float, shift: int, eps: float) -> None:
    """ε = shift/scale, clamped to a range or not: .5 and no less at scale 2."""
    clamped = sv.mechanisms.truncated_geometric(shift + 1, 1 / scale, outputs=range(11))
    wide = sv.mechanisms.geometric(shift + 1, 1 / scale)
    apart = sv.metrics.line(shift + 1)
    for channel in (clamped, wide):
        assert sv.epsilon(channel, apart).nats * shift == pytest.approx(eps, rel=1e-12)
    assert not sv.is_private(clamped, apart, eps / shift - 1e-5)
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    assert dp.m.make_laplace(*space, scale=scale).map(shift) == pytest.approx(eps, rel=1e-12)


# ρ, δ, the ε that follows.
CONVERTED = [
    (1 / 32, 1e-3, 0.6880024554878085), (0.005, 1e-6, 0.42994146883694934),
    (0.5, 1e-7, 11.341717670937543 / 2),
]  # fmt: skip


@pytest.mark.parametrize(("rho", "delta", "eps"), CONVERTED)
def test_concentrated_claims_as_epsilon_and_delta(
    dp: ModuleType, rho: float, delta: float, eps: float
) -> None:
    """Canonne, Kamath and Steinke, Prop. 12, both ways round."""
    claim = ZeroConcentratedClaim(rho)
    assert claim.epsilon(delta) == pytest.approx(eps, rel=1e-9)
    assert float(claim.delta(np.array([eps]))[0]) == pytest.approx(delta, rel=1e-9)
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    profile = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, math.sqrt(0.5 / rho))).map(1.0)
    assert profile.epsilon(delta) == pytest.approx(eps, rel=1e-6)


def test_a_histogram_costs_less_than_any_mechanism_of_its_epsilon(dp: ModuleType) -> None:
    """Theirs is ε²/2 for any ε; ε·tanh(ε/4) is what geometric noise on a histogram costs."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*space, 4.0)).map(2)
    assert theirs == pytest.approx(0.125, rel=1e-9)
    policy = Policy.differential(["a", "b", "c"], 10)
    table = Query.histogram().statistic(policy)
    noise = geometric_table_noise(table, table.sensitivity(policy).steps, Fraction(1, 2))
    assert float(noise.rho_of([1, 1])) == pytest.approx(0.062176501, abs=5e-10)


def test_concentrated_claims_at_their_ends() -> None:
    claim = ZeroConcentratedClaim(1 / 32)
    # They convert at ε = 0 as everywhere; Pinsker's √(ρ/2) is less there, and valid.
    found = float(claim.delta(np.array([0.0]))[0])
    assert found == pytest.approx(math.sqrt(1 / 64))
    assert found < 0.1508457845622862
    assert claim.epsilon(0.0) == math.inf
    assert claim.epsilon(1.0) == 0
    assert sv.explain(rho=0.0, values=4).after == pytest.approx(0.25)
    listed = dict(sv.explain(rho=1 / 32).equivalents)
    assert listed[1e-3] == pytest.approx(0.6880024554878085, rel=1e-6)


def test_approximate_claims_compose() -> None:
    """Twice (ε, 1e-7) is at most (2ε, 2e-7), the figure they state; the optimum is below."""
    eps = 11.341717670937543 / 2
    found = sv.promises.composed_claim(eps, releases=2, delta=1e-7, total_delta=2e-7)
    assert found.basic == pytest.approx(11.341717670937543, rel=1e-12)
    assert found.optimal <= found.basic * (1 + 1e-12)


def test_a_pure_claim_is_its_own_profile() -> None:
    """Laplace noise of scale 10: ε = .1 at δ = 0, and no more at any δ."""
    claim = ApproximateClaim(0.1)
    assert claim.epsilon(0.0) == pytest.approx(0.1)
    assert claim.epsilon(1e-7) <= 0.1
    assert float(claim.delta(np.array([0.1]))[0]) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("accuracy", "share", "scale"),
    [(1, 0.5, 0.9102392266268373), (25, 0.05, None), (3, 0.1, None), (1, 0.01, None)],
)
def test_accuracy_of_integer_laplace_noise(
    oracle: Callable[[str], ModuleType], accuracy: int, share: float, scale: float | None
) -> None:
    """The scale at which noise reaches `accuracy` with this probability: 2a^k/(1 + a) of the two tails."""
    theirs = oracle("opendp.accuracy").accuracy_to_discrete_laplacian_scale(float(accuracy), share)
    if scale is not None:
        assert theirs == pytest.approx(scale, rel=1e-15)
    row = sv.mechanisms.truncated_geometric(
        points=[0, accuracy, 2 * accuracy], eps=1 / theirs, outputs=range(2 * accuracy + 1)
    ).row(accuracy)
    assert row[0] + row[-1] == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 2.0, 20.0])
def test_sampled_integer_laplace_noise_has_its_tail(scale: float) -> None:
    """P[X > 2] of 50,000 draws within 5 deviations: a false alarm in about a million runs."""
    sampler = sv.sampling.discrete_laplace(scale=str(scale), insecure_rng=7)
    draws = sampler.noise(50_000)
    ratio = math.exp(-1 / scale)
    tail = ratio**3 / (1 + ratio)
    assert abs((draws > 2).mean() - tail) < 5 * math.sqrt(tail * (1 - tail) / 50_000)


@pytest.mark.parametrize(("scale", "threshold", "delta"), [(2.0, 28, 5.175928103895444e-07)])
def test_chance_to_pass_a_threshold(scale: float, threshold: int, delta: float) -> None:
    """A count of one passes 28 at scale 2 with 5.18e-7: the tail of integer noise from 28 on."""
    row = sv.mechanisms.truncated_geometric(points=[1, threshold], eps=1 / scale, outputs=range(-40, 30)).row(
        1
    )
    assert row[-1] == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize(("eps", "rho"), [(0.1, 0.005), (1.0, 0.5), (2.0, 2.0)])
def test_a_pure_claim_is_a_concentrated_one(eps: float, rho: float) -> None:
    """ε is ρ = ε²/2 (Bun and Steinke, Prop. 1.4): less certain, so its δ is nowhere below."""
    levels = np.linspace(0, eps, 6)
    pure, weaker = ApproximateClaim(eps).delta(levels), ZeroConcentratedClaim(rho).delta(levels)
    assert (weaker >= pure - 1e-12).all()


@pytest.mark.parametrize("alpha", [1.5, 2.0, 4.0, 16.0])
def test_a_concentrated_claim_as_renyi_orders(alpha: float) -> None:
    """ρ is ρ·α at every order; what follows from one order alone is no better than from all."""
    one = sv.explain(renyi={alpha: 0.5 * alpha}, values=3).after
    assert one >= sv.explain(rho=0.5, values=3).after - 1e-9
