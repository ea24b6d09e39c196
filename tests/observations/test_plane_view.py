"""One place seen through planar noise: against all pairs of cells, the spec's numbers, and simulation."""

import math

import numpy as np
import pytest

from sievert.errors import GainError, TooLargeError
from sievert.measures import gains
from sievert.observations import PlanarLikelihood, likelihood_of
from sievert.spaces import metrics

SHAPES = [(6, 7), (1, 9), (9, 1), (2, 2), (1, 1), (2, 6), (11, 10)]


def even(noise):
    return np.full(len(noise.region), 1 / len(noise.region))


def uneven(noise, seed, kind):
    rng = np.random.default_rng(seed)
    belief = rng.random(len(noise.region))
    if kind == "rough":
        belief = belief**8
    if kind == "holes":
        belief = np.where(rng.random(len(belief)) < 0.3, belief, 0.0)
        belief[-1] += 1e-6
    return belief / belief.sum()


def distances(noise):
    rows, columns = np.divmod(np.arange(len(noise.region)), noise.region.shape[1])
    return np.hypot(np.subtract.outer(rows, rows), np.subtract.outer(columns, columns))


@pytest.mark.parametrize(
    ("rows", "columns", "step", "guess"),
    [(6, 6, "1/2", 0.1002078), (30, 40, "1/4", 0.0147335071), (100, 200, "5/4", 0.235483677)],
)
def test_guess_of_the_spec(map_noise, rows, columns, step, guess):
    noise = map_noise(rows, columns, step)
    found = likelihood_of(noise, even(noise)).guess()
    assert found.exact
    assert found.guess == pytest.approx(guess, rel=5e-7)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["smooth", "rough", "holes"])
@pytest.mark.parametrize("step", ["1/20", "1/2", "2"])
def test_guess_under_any_belief(map_noise, shape, kind, step):
    noise = map_noise(*shape, step)
    belief = uneven(noise, 7, kind)
    exact = (belief[:, None] * noise.finite().matrix).max(axis=0).sum()
    found = likelihood_of(noise, belief).guess()
    assert found.exact
    assert found.guess == pytest.approx(max(exact, belief.max()), rel=1e-12)


@pytest.mark.parametrize("kind", ["smooth", "holes"])
def test_gains_are_those_of_the_list(map_noise, kind):
    noise = map_noise(8, 9, "1/3")
    belief = uneven(noise, 3, kind)
    view, matrix = likelihood_of(noise, belief), noise.finite().matrix
    joint = belief[:, None] * matrix
    tried = np.sort(joint, axis=0)[-4:].sum()
    assert view.gain(gains.tries(noise.region.labels, 4)).after == pytest.approx(tried, rel=1e-12)
    near = (distances(noise) <= 2 + 1e-9).astype(float)
    exact = (near @ joint).max(axis=0).sum()
    metric = metrics.euclidean([[c, r] for r, c in noise.region.labels], labels=noise.region.labels)
    assert view.within(200).after == pytest.approx(exact, rel=1e-12)
    assert view.gain(gains.within(metric, 2)).after == pytest.approx(exact, rel=1e-12)
    assert view.within(200).before == pytest.approx((near @ belief).max(), rel=1e-12)
    districts = np.arange(72) % 5
    shown = np.max([np.where(districts == d, belief, 0) @ matrix for d in range(5)], axis=0).sum()
    assert view.districts(districts).after == pytest.approx(max(shown, view.districts(districts).before))
    assert view.districts(districts).exact
    assert view.gain(gains.identity(noise.region.labels)).after == view.guess().guess


def test_large_regions_are_enclosed(map_noise):
    """Where all pairs are too many and the belief is uneven, a certain interval is given and called one."""
    noise = map_noise(170, 140, "1/2")
    belief = uneven(noise, 5, "rough")
    for found in (likelihood_of(noise, belief).within(250), likelihood_of(noise, belief).tries(6)):
        assert not found.exact
        assert found.before <= found.lower <= found.upper == found.after <= 1
        assert found.method.startswith("bound")
    wide = likelihood_of(noise, even(noise)).within(5000)
    assert wide.lower <= wide.upper <= 1


@pytest.mark.parametrize("kind", ["even", "smooth", "rough"])
@pytest.mark.parametrize("step", ["1/10", "1/2", "2"])
def test_several_releases_are_bounded(map_noise, kind, step):
    """Two and three releases by listing them all."""
    noise = map_noise(3, 4, step)
    belief = even(noise) if kind == "even" else uneven(noise, 11, kind)
    view, matrix = likelihood_of(noise, belief), noise.finite().matrix
    twice = (belief[:, None, None] * matrix[:, :, None] * matrix[:, None, :]).max(axis=0).sum()
    thrice = np.einsum("x,xa,xb,xc->xabc", belief, matrix, matrix, matrix).max(axis=0).sum()
    for count, exact in ((2, twice), (3, thrice)):
        found = view.guess(count)
        assert not found.exact
        assert exact * (1 - 1e-12) <= found.guess
        assert all(bound >= exact * (1 - 1e-12) for bound, _ in view.bounds(count))
        assert found.guess == min(value for value, _ in view.bounds(count))


def test_bounds_grow_to_the_limit(map_noise):
    view = likelihood_of(noise := map_noise(20, 20, "1/4"), even(noise))
    curve = [view.guess(n).guess for n in (1, 2, 3, 5, 10, 50, 300, 10**4, 10**9)]
    assert curve == sorted(curve)
    assert curve[-1] == pytest.approx(view.limit) == 1
    assert view.guess(20).guess == min(view.bounds(20))[0] < view.bounds(20)[0][0]
    assert "neighbours" in view.guess(20).method


def test_rate_between_neighbours(map_noise):
    """The Chernoff information of two cells in the middle of a region much wider than the noise."""
    view = likelihood_of(noise := map_noise(41, 44, "1"), even(noise))
    first, second = noise.law((20, 21)), noise.law((20, 22))
    rates = [-math.log((first**s * second ** (1 - s)).sum()) for s in (0.4, 0.5, 0.6)]
    assert max(rates) == rates[1]
    assert view.rate == pytest.approx(rates[1], rel=1e-9)
    assert view.rate_is_exact
    corner = noise.law((0, 0)), noise.law((0, 1))
    assert -view.affinity(0, 1) == pytest.approx(-math.log(np.sqrt(corner[0] * corner[1]).sum()), rel=1e-9)
    assert -view.affinity(0, 1) < view.rate
    fine = likelihood_of(tiny := map_noise(5, 5, "1/2000"), even(tiny))
    assert not fine.rate_is_exact
    assert fine.rate == pytest.approx((1 / 2000) ** 2 / 8, rel=1e-6)


def test_nearby_on_a_map_of_public_population(map_noise):
    """Too many cells for all pairs: exact within three cells, and never below the noisy cell itself."""
    noise = map_noise(50, 60, "1")
    view = likelihood_of(noise, uneven(noise, 3, "rough"))
    found = view.within(3 * noise.region.cell)
    assert found.exact and found.method.startswith("exact: the best disc")
    assert view.tries(3).exact and view.guess().guess < view.tries(3).after < found.after
    away = np.hypot(np.arange(50)[:, None] - 25, np.arange(60)[None, :] - 30)
    assert noise.law((25, 30))[away <= 3].sum() <= found.after <= 1


def test_releases_within_a_limit(map_noise):
    view = likelihood_of(noise := map_noise(30, 40, "1/4"), even(noise))
    within = view.releases_within(0.3)
    assert within.releases >= 2
    assert view.guess(within.releases).guess <= 0.3 < view.guess(within.releases + 1).guess
    assert view.releases_within(0.01).releases == 0
    assert view.releases_within(1.0).releases is None


@pytest.mark.parametrize("releases", [1, 2])
def test_simulation_agrees_with_what_is_exact(map_noise, releases):
    """False alarm 0.1 % for each interval."""
    noise = map_noise(4, 5, "1/2")
    belief = uneven(noise, 2, "smooth")
    view, matrix = likelihood_of(noise, belief), noise.finite().matrix
    exact = view.guess().guess
    if releases == 2:
        exact = (belief[:, None, None] * matrix[:, :, None] * matrix[:, None, :]).max(axis=0).sum()
    found = view.simulated(releases, rng=1)
    assert found.lower <= exact <= found.upper
    assert found.upper <= view.guess(releases).guess + 0.1
    assert "by simulation" in str(found)
    joint = belief[:, None] * matrix
    if releases == 2:
        joint = (joint[:, :, None] * matrix[:, None, :]).reshape(len(belief), -1)
    several = view.simulated(releases, rng=1, samples=1500, adversary=gains.tries(len(belief), 3))
    assert several.lower <= np.sort(joint, axis=0)[-3:].sum() <= several.upper
    assert several.gain == "3 tries" and view.tries(3, releases).upper >= several.lower
    rows, columns = np.divmod(np.arange(20), 5)
    near = np.hypot(rows[:, None] - rows, columns[:, None] - columns) <= 1.01
    step = noise.region.cell
    disc = view.simulated(releases, rng=1, samples=1500, metres=1.01 * step)
    assert disc.lower <= (near @ joint).max(axis=0).sum() <= disc.upper
    bound = view.within(1.01 * step, releases)
    assert bound.lower <= disc.upper and disc.lower <= bound.upper


def test_without_epsilon_nothing_is_learned(map_noise):
    noise = map_noise(5, 6, "0")
    view = likelihood_of(noise, uneven(noise, 1, "smooth"))
    for found in (view.guess(1), view.guess(100)):
        assert found.guess == view.before
        assert found.exact
    assert view.limit == view.before
    assert view.within(100, 5).after == view.within(100).before
    assert view.rate == 0


def test_a_million_cells(map_noise):
    noise = map_noise(1000, 1000, "1/4")
    view = likelihood_of(noise, even(noise))
    assert view.guess().guess == pytest.approx(noise.capacity / 10**6, rel=1e-14)
    assert view.within(500).exact
    assert view.tries(10).exact
    assert view.guess(12).guess < 0.5


def test_bad_questions_are_refused(map_noise):
    noise = map_noise(50, 60, "1/2")
    view = likelihood_of(noise, even(noise))
    with pytest.raises(GainError, match="adversary is about 3 values, but the region has 3000 cells"):
        view.gain(gains.identity(3))
    with pytest.raises(GainError, match="whole number ≥ 0 for each of the 3000 cells"):
        view.districts(np.zeros(5, int))
    with pytest.raises(GainError, match="metres"):
        view.within(-1)
    with pytest.raises(GainError, match="tries"):
        view.tries(0)
    with pytest.raises(TooLargeError, match="need no list"):
        view.gain(gains.matrix(np.full((1, 3000), 0.5)))


def test_it_is_what_record_view_gives(map_noise):
    assert isinstance(likelihood_of(map_noise(2, 2, "1"), np.full(4, 0.25)), PlanarLikelihood)
