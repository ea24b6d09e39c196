"""Sums after many releases: Gaussian noise exactly by its sum, other noise by chains of neighbours; tries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import GaussianLaw, GeometricLaw, NoiseLaw, Privacy, StaircaseLaw, SumNoise
from sievert.measures import Adversary, Nearness, envelope_mass
from sievert.observations import Ratios, RecordView, ratios_after, record_view
from sievert.observations._gain_bounds import Classes, told
from sievert.observations._line_chains import best_value, chained, longest_windows, told_apart
from sievert.observations._line_gains import neighbours_named
from sievert.observations._ratios import _by_convolution, ratios_above
from sievert.observations._summed_noise import law_of_sum
from sievert.observations._view_samples import _likelihoods, gains_on_even_line
from sievert.policies import Statistic

LAWS = [
    GeometricLaw(Privacy(0.3, None)),
    GeometricLaw(Privacy(1.5, None)),
    GaussianLaw(Fraction(3, 4)),
    GaussianLaw(Fraction(5, 2)),
    StaircaseLaw(Fraction(1), 4),
    StaircaseLaw(Fraction(1, 2), 2, 1),
]


def line(amounts: Sequence[int], law: NoiseLaw, belief: Sequence[float] | None = None) -> RecordView:
    """Values at amounts of a sum."""
    places = np.array(amounts, dtype=np.int64)
    statistic = Statistic((), ((),), np.zeros(len(places), np.int64), places, Fraction(1), "sum")
    even = np.full(len(places), 1 / len(places))
    return record_view(SumNoise(statistic, law), even if belief is None else np.array(belief))


def by_outputs(view: RecordView, adversary: Adversary, releases: int) -> float:
    """Every combination of outputs, straight from the probabilities of the noise."""
    amounts, law = view.noise.statistic.amount, view.noise.law
    reach = law.beyond(math.log(1e-13))
    outputs = np.arange(amounts.min() - reach, amounts.max() + reach + 1.0)
    likely = np.exp(law.log_pmf(outputs - amounts[:, None]))
    joint = view.belief[:, None] * likely
    for _ in range(releases - 1):
        joint = (joint[:, :, None] * likely[:, None, :]).reshape(len(amounts), -1)
    return float(adversary.values(joint).sum())


def adversaries(size: int) -> list[Adversary]:
    names = range(size)
    return [
        sv.gains.identity(names),
        sv.gains.tries(names, 2),
        sv.gains.within(sv.metrics.line(names), 1),
        sv.gains.property(names, [0, 1]),
        sv.gains.closeness(sv.metrics.line(names)),
        Nearness(names, np.arange(float(size)), "nearness"),
        sv.losses.shannon(names),
        sv.losses.guessing(names),
    ]


@pytest.mark.parametrize("law", LAWS[2:4], ids=repr)
@pytest.mark.parametrize("belief", [None, [0.5, 0.1, 0.1, 0.3]])
def test_gaussian_releases_are_one_of_their_sum(law: NoiseLaw, belief: list[float] | None) -> None:
    view = line([0, 1, 3, 4], law, belief)
    for adversary in adversaries(4):
        found = view.gain(adversary, 2)
        assert found.exact
        assert found.after == pytest.approx(by_outputs(view, adversary, 2), rel=1e-10)


def test_the_sum_of_narrow_gaussians_is_listed() -> None:
    law = law_of_sum(LAWS[2], 3)
    assert law is not None
    once = np.exp(LAWS[2].log_pmf(np.arange(-20.0, 21)))
    often = np.convolve(np.convolve(once, once), once)
    assert np.exp(law.log_pmf(np.arange(-60.0, 61))) == pytest.approx(often, rel=1e-11, abs=1e-30)
    tails = np.exp(law.log_upper(np.array([-3.0, 0.0, 1.0, 4.0])))
    assert tails == pytest.approx([often[k:].sum() for k in (57, 60, 61, 64)], rel=1e-11)
    assert law.mean_error == pytest.approx(float(np.abs(np.arange(-60, 61)) @ often), rel=1e-11)
    drawn = law.simulated(np.random.default_rng(1), 20_000)
    # Five standard errors: a false alarm of 6e-7.
    assert abs(drawn.std() / law.deviation - 1) < 5 / math.sqrt(2 * 20_000)
    assert law.reach >= 18 and law.eps_of(Fraction(1)) is None and "3 draws" in law.words()


def test_gaussian_guesses_hold_at_any_size() -> None:
    """150,001 values, 10,000 releases: (1/k)(1 + (k - 1)·P(the noise of the sum is nearest to 0))."""
    law = GaussianLaw(Fraction(150_000))
    view = line(range(150_001), law)
    found = view.guess(10_000)
    # 2Φ(½/σ') - 1 with σ' = 1500 after division by the number of releases.
    near = math.erf(0.5 / 1500 / math.sqrt(2))
    assert found.exact and found.guess == pytest.approx((1 + 150_000 * near) / 150_001, rel=1e-6)
    peaked = np.exp(-np.arange(150_001) / 30_000)
    uneven = line(range(150_001), law, peaked / peaked.sum()).guess(100)
    assert uneven.exact and 1.3 * uneven.before < uneven.guess < found.guess


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
    st.lists(st.sampled_from([1, 2, 5, 40, 1000]), min_size=7, max_size=7),
    st.sampled_from([GaussianLaw(Fraction(3, 4)), GaussianLaw(Fraction(3)), GaussianLaw(Fraction(40))]),
)
def test_the_gaussian_envelope_is_a_hull(gaps: list[int], weights: list[int], law: GaussianLaw) -> None:
    places = np.concatenate([[0], np.cumsum(gaps)])
    beliefs = np.array(weights[: len(places)]) / sum(weights[: len(places)])
    outputs = np.arange(-400.0, 450)
    listed = (beliefs[:, None] * np.exp(law.log_pmf(outputs - places[:, None]))).max(axis=0).sum()
    assert envelope_mass(law, places, np.log(beliefs)) == pytest.approx(float(listed), rel=1e-11)


@given(st.data())
def test_tries_by_either_side_are_those_of_every_output(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 7))
    amounts = data.draw(st.lists(st.integers(0, 12), min_size=size, max_size=size))
    weights = np.array(data.draw(st.lists(st.sampled_from([0, 1, 1, 3, 50]), min_size=size, max_size=size)))
    belief = (weights + (not weights.any())) / (weights + (not weights.any())).sum()
    eps = data.draw(st.sampled_from([0.05, 0.7, 4.0]))
    view = line(amounts, GeometricLaw(Privacy(eps, None)), belief.tolist())
    adversary = sv.gains.tries(range(size), data.draw(st.integers(1, size)))
    reach = math.ceil(36 / eps)
    outputs = np.arange(-float(reach), 13 + reach)
    joint = belief[:, None] * np.exp(view.noise.law.log_pmf(outputs - np.array(amounts)[:, None]))
    found = view.gain(adversary)
    assert found.exact
    assert found.after == pytest.approx(float(adversary.values(joint).sum()), rel=1e-11)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_equal_beliefs_are_guessed_by_the_nearest_values(law: NoiseLaw) -> None:
    view = line([0, 1, 3, 4, 9], law)
    adversary = sv.gains.tries(range(5), 2)
    assert view.gain(adversary).after == pytest.approx(by_outputs(view, adversary, 1), rel=1e-11)
    gaps = np.array([0, 1, 2, 5, 8])
    listed = np.arange(-300.0, 310)
    apart = [np.abs(np.exp(law.log_pmf(listed - g)) - np.exp(law.log_pmf(listed))).sum() / 2 for g in gaps]
    assert told_apart(law, gaps) == pytest.approx(apart, abs=1e-13)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("belief", [None, [0.1, 0.4, 0.3, 0.2], [0.4, 0.1, 0.2, 0.3]])
def test_chains_bound_what_two_releases_tell(law: NoiseLaw, belief: list[float] | None) -> None:
    """Above every output of two releases, by little: neighbours lose what three values share."""
    places = np.array([0, 1, 2, 5])
    view = line(places.tolist(), law, belief)
    starts, stops = longest_windows(np.array([0, 0, 1, 2]), np.array([2, 3, 4, 4]))
    assert (starts.tolist(), stops.tolist()) == ([0, 1], [3, 4])
    for adversary, bound in (
        (sv.gains.identity(range(4)), best_value(law, 2, places, view.belief)),
        (
            sv.gains.within(sv.metrics.line(range(4)), 1),
            chained(law, 2, places, view.belief, starts, stops),
        ),
    ):
        true = by_outputs(view, adversary, 2)
        assert bound is not None and true <= bound <= true * 1.2


@pytest.mark.parametrize("law", [LAWS[0], LAWS[4]], ids=repr)
def test_what_is_bounded_encloses_the_gain(law: NoiseLaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sievert.observations._line.LARGEST_CHANNEL", 0)
    for view in (line(range(5), law), line(range(5), law, [0.1, 0.4, 0.1, 0.2, 0.2])):
        for adversary in adversaries(5):
            found = view.gain(adversary, 2)
            true = by_outputs(view, adversary, 2)
            assert found.lower * (1 - 1e-11) <= true <= found.upper * (1 + 1e-11)
            assert found.exact == found.method.startswith("exact")


def test_a_chain_is_far_below_the_capacity_of_each_release() -> None:
    view = line(range(401), GeometricLaw(Privacy(1 / 400, None)))
    found = view.gain(sv.gains.identity(range(401)), 100)
    assert "neighbours" in found.method and not found.exact
    drawn = view.simulated(100, 1, samples=2000)
    assert drawn.lower < found.after < 1.05 * drawn.upper
    near = view.gain(sv.gains.within(sv.metrics.line(range(401)), 20), 100)
    assert "neighbours" in near.method and found.after < near.after < 41 * found.after


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_staircase_ratios_have_three_values(steps: int) -> None:
    for law in (
        StaircaseLaw(Fraction(1), 4),
        StaircaseLaw(Fraction(1, 3), 4, 1),
        StaircaseLaw(Fraction(2), 4, 4),
    ):
        found, listed = ratios_after(law, steps, 1), _by_convolution(law, steps, 1)
        kept = listed.log_pmf > -60
        assert found.logs[np.isfinite(found.log_pmf)] == pytest.approx(listed.logs[kept], abs=1e-12)
        finite = np.isfinite(found.log_pmf)
        assert np.exp(found.log_pmf[finite]) == pytest.approx(np.exp(listed.log_pmf[kept]), rel=1e-11)


def test_coarse_ratios_are_larger_in_convex_order(monkeypatch: pytest.MonkeyPatch) -> None:
    law = GeometricLaw(Privacy(0.004, None))
    fine = ratios_after(law, 300, 20)
    monkeypatch.setattr("sievert.observations._ratios.LARGEST_FINE", 0)
    coarse = ratios_above(law, 300, 20)

    def excess(ratios: Ratios, level: float) -> float:
        return float(np.exp(ratios.log_pmf) @ np.maximum(np.exp(ratios.logs) - level, 0.0))

    for level in (0.0, 0.3, 1.0, 4.0):
        assert excess(fine, level) * (1 - 1e-12) <= excess(coarse, level) <= excess(fine, level) * 1.001


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_losses_of_long_lines_are_those_of_every_output(law: NoiseLaw) -> None:
    """Uncertainty, guesses and closeness by closed sums, against every output."""
    names = range(6)
    near = Nearness(names, np.arange(6.0) * 2, "closeness")
    view = line(range(6), law)
    for adversary in (near, sv.losses.shannon(names), sv.losses.guessing(names)):
        found = view.gain(adversary)
        assert found.exact
        assert found.after == pytest.approx(by_outputs(view, adversary, 1), rel=1e-11)


@given(st.data())
def test_medians_and_entropies_for_any_prior(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 6))
    gaps = data.draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    steps = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=size, max_size=size))
    weights = np.array(data.draw(st.lists(st.sampled_from([1, 1, 2, 30]), min_size=size, max_size=size)))
    sign = data.draw(st.sampled_from([1, -1]))
    law = GeometricLaw(Privacy(data.draw(st.sampled_from([0.05, 0.7, 4.0])), None))
    amounts, belief = np.cumsum(gaps), weights / weights.sum()
    view = line(amounts.tolist(), law, belief.tolist())
    reach = math.ceil(36 / law.level.eps)
    outputs = np.arange(amounts[0] - float(reach), amounts[-1] + reach)
    joint = belief[:, None] * np.exp(law.log_pmf(outputs - amounts[:, None]))
    for adversary in (
        Nearness(range(size), sign * np.cumsum(steps), "closeness"),
        sv.losses.shannon(size),
    ):
        found = view.gain(adversary)
        assert found.exact
        assert found.after == pytest.approx(float(adversary.values(joint).sum()), rel=1e-10, abs=1e-12)


def test_nearness_is_closeness_without_a_table() -> None:
    rng = np.random.default_rng(2)
    positions = rng.permutation(np.cumsum(rng.integers(1, 5, size=8))).astype(float)
    metric = sv.metrics.line(positions.tolist())
    near, table = Nearness(metric.points, positions, "closeness"), sv.gains.closeness(metric)
    joint = rng.dirichlet(np.ones(8), size=5).T
    assert near.values(joint) == pytest.approx(table.values(joint), rel=1e-12)
    assert near.best(joint) == table.best(joint)
    assert near.matrix == pytest.approx(table.matrix)
    assert near.sole_best(joint[:, 0]) == table.sole_best(joint[:, 0])
    assert near.sole_best(np.full(8, 1 / 8)) is None
    shuffled = near.for_secrets(tuple(metric.points[::-1]))
    assert shuffled.values(joint[::-1]) == pytest.approx(table.values(joint), rel=1e-12)
    assert isinstance(sv.gains.closeness(sv.metrics.line(range(4000))), Nearness)
    place = np.array([0, 0, 1, 1, 1, 2, 3, 3])
    classes = Classes(np.zeros(4, np.int64), np.arange(4), place, joint[:, 0])
    for adversary in (near, sv.losses.shannon(8), sv.losses.guessing(8)):
        listed = float(adversary.values(classes.columns()).sum())
        assert told(adversary, classes) == pytest.approx(listed, rel=1e-12)


def test_losses_of_long_lines() -> None:
    size = 20_001
    view = line(range(size), GeometricLaw(Privacy(1 / 20_000, None)))
    bits = view.gain(sv.losses.shannon(size))
    guesses = view.gain(sv.losses.guessing(size))
    close = view.gain(sv.gains.closeness(sv.metrics.line(range(size))))
    assert bits.exact and guesses.exact and close.exact
    assert 0 < bits.before - bits.after < math.log2(size * view.guess().guess)
    assert (1 / view.guess().guess + 1) / 2 < guesses.after < guesses.before == (size + 1) / 2
    assert close.before == pytest.approx(0.75, rel=1e-4) and close.before < close.after < 1
    often = [view.gain(a, 1000) for a in (sv.losses.shannon(size), sv.losses.guessing(size))]
    assert [found.exact for found in often] == [False, False]
    assert 1 < often[1].after < guesses.after and often[1].method.endswith("by the best guess")
    peaked = line(range(size), LAWS[0], (np.arange(size, 0, -1) / (size * (size + 1) / 2)).tolist())
    assert peaked.gain(sv.gains.closeness(sv.metrics.line(range(size)))).exact
    assert not peaked.gain(sv.losses.guessing(size)).exact


@pytest.mark.parametrize("releases", [1, 2, 7])
def test_runs_of_an_even_line_are_drawn_by_series(releases: int) -> None:
    """The same draws, judged by every value's belief."""
    view = line(range(3, 60, 4), LAWS[0])
    for adversary, width in (
        (sv.gains.tries(15, 4), 4),
        (sv.gains.within(sv.metrics.line(15), 1), 3),
        (sv.gains.identity(15), 1),
    ):
        assert neighbours_named(adversary, view.line) == width
        found = gains_on_even_line(LAWS[0], view.line, width, releases, 300, np.random.default_rng(5))
        generator = np.random.default_rng(5)
        true = view.line.places[generator.integers(15, size=300)]
        seen = true + LAWS[0].simulated(generator, releases * 300).reshape(releases, 300)
        logs = sum(LAWS[0].log_pmf(row - view.line.places[:, None]) for row in seen)
        joint = np.exp(logs - logs.max(axis=0))
        assert found == pytest.approx(adversary.values(joint / joint.sum(axis=0)), rel=1e-11)


def test_stairs_below_the_top_are_counted_edge_by_edge() -> None:
    law, places = StaircaseLaw(Fraction(1, 2), 5, 2), np.array([0, 1, 4, 9, 30])
    outputs = np.random.default_rng(4).integers(-40, 60, size=(7, 50)).astype(float)
    found = _likelihoods(law, outputs, places)
    listed = sum(law.log_pmf(row - places[:, None]) for row in outputs)
    # Equal but for what all values share.
    assert found - found[0] == pytest.approx(listed - listed[0], abs=1e-10)


def test_bounds_never_fall_however_many_releases() -> None:
    """Long convolutions lose their far ends, which must not lower a bound."""
    view = line(range(0, 4001, 10), GeometricLaw(Privacy(1 / 400, None)))
    curve = [view.guess(n).guess for n in (1, 10, 1000, 50_000, 300_000, 10**7)]
    assert curve == sorted(curve) and curve[-1] == pytest.approx(1)
