"""One record behind noise that no list holds: worked numbers, brute force, laws, the ends of every scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    HistogramNoise,
    NoiseLaw,
    ScalarNoise,
    StaircaseLaw,
)
from sievert.errors import GainError
from sievert.measures import GainFunction
from sievert.observations import TableLikelihood, guessed_together, likelihood_of
from sievert.policies import Statistic, statistic_of_cells

LAWS = [
    GeometricLaw(EpsilonOrAlpha(0.5, None)),
    GeometricLaw(EpsilonOrAlpha(2.0, None)),
    GaussianLaw(Fraction(1)),
    GaussianLaw(Fraction(3)),
    StaircaseLaw(Fraction(1), 3),
    StaircaseLaw(Fraction(1, 2), 2, 1),
]


def geometric(eps: float) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(eps, None))


def table(
    cells: int | Sequence[int | None], law: NoiseLaw | float, belief: Sequence[float] | None = None
) -> TableLikelihood:
    """Values in cells; None is in no cell."""
    listed = list(range(cells)) if isinstance(cells, int) else list(cells)
    statistic = statistic_of_cells([None if c is None else (c,) for c in listed], ("cell",), "histogram")
    noise = HistogramNoise(statistic, geometric(law) if isinstance(law, float) else law)
    return likelihood_of(noise, even(len(listed)) if belief is None else np.array(belief))


def line(
    amounts: Sequence[int], law: NoiseLaw | float, belief: Sequence[float] | None = None
) -> TableLikelihood:
    """Values at amounts of a sum."""
    places = np.array(amounts, dtype=np.int64)
    statistic = Statistic((), ((),), np.zeros(len(places), np.int64), places, Fraction(1), "sum")
    noise = ScalarNoise(statistic, geometric(law) if isinstance(law, float) else law)
    return likelihood_of(noise, even(len(places)) if belief is None else np.array(belief))


def even(size: int) -> np.ndarray:
    return np.full(size, 1 / size)


def window(law: NoiseLaw, most: int) -> np.ndarray:
    """Noise that is followed: beyond it lies less than 1e-13."""
    reach = min(most, law.beyond(math.log(1e-13)))
    return np.arange(-reach, reach + 1)


def by_brute_force(view: TableLikelihood, adversary: GainFunction, releases: int, most: int = 400) -> float:
    """Over every combination of outputs in every release, straight from the probabilities of the noise."""
    statistic, law = view.noise.statistic, view.noise.law
    cells = range(len(statistic.cells))
    noise = window(law, most)
    outputs = np.arange(
        noise[0] + min(0, statistic.amount.min()), noise[-1] + max(0, statistic.amount.max()) + 1
    )
    total = 0.0
    for seen in product(*[outputs] * (len(cells) * (releases - 1) + len(cells) - 1)):
        # The last cell of the last release is a vector.
        logs = np.zeros((len(view.belief), len(outputs)))
        for place in range(len(cells) * releases):
            shown: object = seen[place] if place < len(seen) else outputs
            added = np.where(statistic.cell_of == place % len(cells), statistic.amount, 0)
            logs += law.log_pmf(np.subtract.outer(-added.astype(float), -np.atleast_1d(shown).astype(float)))
        total += float(adversary.values(view.belief[:, None] * np.exp(logs)).sum())
    return total


# ── The worked numbers of the specification ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cells", "eps", "releases", "guess"),
    [
        (12, 0.25, 1, 0.106960164),
        (12, 0.25, 4, 0.167128244),
        (12, 0.25, 52, 0.575237886),
        (5, 0.5, 1, 0.310266806),
        (5, 0.5, 10, 0.668852823),
        (100, 0.05, 365, 0.076144720),
    ],
)
def test_equally_likely_cells(cells: int, eps: float, releases: int, guess: float) -> None:
    found = table(cells, eps).guess(releases)
    assert found.exact
    assert found.guess == pytest.approx(guess, abs=5.1e-10)


@pytest.mark.parametrize(("releases", "guess"), [(1, 0.548841551), (10, 0.799540936)])
def test_cells_of_different_belief(releases: int, guess: float) -> None:
    assert table(3, 0.5, [0.5, 0.3, 0.2]).guess(releases).guess == pytest.approx(guess, abs=5.1e-10)


def test_absence_is_one_more_value() -> None:
    found = table([0, 1, 2, 3, 4, None], 0.5).guess(1)
    assert found.guess == pytest.approx(0.264683612, abs=5.1e-10)


def test_values_of_a_sum() -> None:
    assert line(range(0, 1001, 100), 0.001).guess().guess == pytest.approx(0.135245978, abs=5.1e-10)
    many = line(range(150_001), 1 / 150_000).guess()
    assert many.exact
    assert many.guess == pytest.approx(9.99993333376e-06, rel=5e-12)


def test_the_closed_form_of_one_release() -> None:
    """(1/k)((1-(1-q)^k)/α + α(1-q)^k), q = α/(1+α)."""
    for cells, eps in product((1, 2, 7, 1000), (1e-3, 0.5, 5.0)):
        alpha = math.exp(-eps)
        none = (1 - alpha / (1 + alpha)) ** cells
        expected = ((1 - none) / alpha + alpha * none) / cells
        assert table(cells, eps).guess(1).guess == pytest.approx(expected, rel=1e-12)


def test_marginals_over_different_columns_multiply() -> None:
    """Under a product prior the record's two coordinates are guessed apart: 2 cells at .3 and 5 at .2."""
    both = guessed_together([table(2, 0.3).guess(1), table(5, 0.2).guess(1)])
    assert both.exact and both.before == pytest.approx(0.1)
    assert both.guess == pytest.approx(0.138000333, abs=5.1e-10)
    # Every combination of cells that came out above, in both tables.
    listed = 0.0
    for shown in product((0, 1), repeat=7):
        chance, ratios = 1.0, []
        for cell, up in enumerate(shown):
            alpha = math.exp(-0.3 if cell < 2 else -0.2)
            chance *= (alpha if up else 1.0) / (1 + alpha)
            ratios.append(alpha ** (1 - 2 * up))
        listed += chance * max(a * b for a in ratios[:2] for b in ratios[2:]) / 10
    assert both.guess == pytest.approx(listed, rel=1e-12)
    with pytest.raises(GainError, match="guesses is empty"):
        guessed_together([])


def test_the_rate_between_two_cells() -> None:
    assert table(5, 0.5).rate == pytest.approx(0.0618596072, abs=5e-11)
    for eps in (1e-6, 0.5, 3.0, 40.0):
        assert table(2, eps).rate == pytest.approx(2 * math.log(math.cosh(eps / 2)), rel=1e-9)


# ── Brute force ─────────────────────────────────────────────────────────────────────────────────────────────


def adversaries(size: int) -> list[GainFunction]:
    found: list[GainFunction] = [
        sv.gains.identity(size),
        sv.losses.bayes_risk(size),
        sv.losses.guessing(size),
    ]
    found += [sv.gains.tries(size, k) for k in range(2, size + 1)]
    found += [sv.gains.property(size, [0]), sv.gains.within(sv.metrics.line(size), 1)]
    found += [sv.gains.partition([[0], list(range(1, size))]), sv.gains.closeness(sv.metrics.line(size))]
    return found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
def test_two_cells_once(law: NoiseLaw) -> None:
    view = table([0, 1, None], law, [0.3, 0.5, 0.2])
    for adversary in adversaries(3):
        found = view.gain(adversary)
        assert found.exact, adversary.name
        assert found.after == pytest.approx(by_brute_force(view, adversary, 1), rel=1e-10), adversary.name


def test_two_cells_twice() -> None:
    law = geometric(3.0)
    view = table([0, 1, 1], law, [0.3, 0.5, 0.2])
    for adversary in (sv.gains.identity(3), sv.gains.property(3, [0, 1]), sv.gains.tries(3, 2)):
        expected = by_brute_force(view, adversary, 2, most=8)
        assert view.gain(adversary, 2).after == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize("amounts", [[0, 1], [0, 2, 3], [-1, 4, 4, 5]])
def test_a_sum_once(law: NoiseLaw, amounts: list[int]) -> None:
    size = len(amounts)
    view = line(amounts, law, np.arange(1.0, size + 1) / (size * (size + 1) / 2))
    for adversary in adversaries(size):
        found = view.gain(adversary)
        assert found.exact, adversary.name
        assert found.after == pytest.approx(by_brute_force(view, adversary, 1), rel=1e-10), adversary.name


@pytest.mark.parametrize("amounts", [[0, 1], [0, 3], [0, 1, 2], [0, 2, 2, 3]])
@pytest.mark.parametrize("releases", [2, 3])
def test_a_sum_several_times(amounts: list[int], releases: int) -> None:
    size = len(amounts)
    view = line(amounts, 2.5, np.arange(1.0, size + 1) / (size * (size + 1) / 2))
    for adversary in adversaries(size):
        found = view.gain(adversary, releases)
        assert found.exact, adversary.name
        expected = by_brute_force(view, adversary, releases, most=14)
        assert found.after == pytest.approx(expected, abs=3e-12), adversary.name


def test_rational_cross_check() -> None:
    """α = 1/2, three cells of .5, .3, .2, two releases: Σ over B of the largest product, in fractions."""
    alpha, belief = Fraction(1, 2), [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    hit = alpha / (1 + alpha)
    chance = [(1 - hit) ** 2, 2 * hit * (1 - hit), hit**2]
    ratio = [alpha**2, Fraction(1), 1 / alpha**2]
    exact = sum(
        chance[a] * chance[b] * chance[c] * max(p * ratio[t] for p, t in zip(belief, (a, b, c), strict=True))
        for a, b, c in product(range(3), repeat=3)
    )
    level = EpsilonOrAlpha(math.log(2), None, exact_alpha=alpha)
    view = table(3, GeometricLaw(level), [float(p) for p in belief])
    assert view.guess(2).guess == pytest.approx(float(exact), rel=1e-14)


# ── Gains ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("releases", [1, 7, 60])
def test_gains_over_a_table_against_simulation(releases: int) -> None:
    """Intervals miss with probability 0.1 % at most, and simulations are repeatable."""
    view = table([0, 1, 2, 3, 4, 5, None], 0.4, [0.1, 0.1, 0.2, 0.2, 0.1, 0.2, 0.1])
    chosen = [
        sv.gains.identity(7),
        sv.gains.tries(7, 3),
        sv.gains.partition([[0, 1, 6], [2, 3], [4], [5]]),
        sv.gains.property(7, [0, 2, 4]),
    ]
    for adversary in chosen:
        found = view.gain(adversary, releases)
        drawn = view.simulated(releases, rng=1, samples=20_000, adversary=adversary)
        assert drawn.lower <= found.upper and found.lower <= drawn.upper, adversary.name
        assert found.upper - found.lower <= 1e-4, adversary.name
        assert found.lower <= found.after <= found.upper


def test_uneven_lines_are_simulated_belief_by_belief() -> None:
    assert line(range(9), 0.5).line.is_even
    for view in (line([0, 1, 3], 0.5), line([0, 0, 1], 0.5), line([0, 1], 0.5, [0.3, 0.7])):
        assert not view.line.is_even
    found = line([0, 1, 3], 0.5).simulated(2, rng=1)
    exact = line([0, 1, 3], 0.5).guess(2)
    assert exact.exact and found.lower <= exact.guess <= found.upper


@pytest.mark.parametrize("eps", [1e-4, 0.3, 60.0, 800.0])
def test_filters_lose_no_belief(eps: float) -> None:
    """Two groups of values on a long line: blocks of the filter against every output."""
    amounts = [0, 3, 40, 1000, 1001]
    view = line(amounts, eps, [0.1, 0.2, 0.3, 0.15, 0.25])
    groups = np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]])
    noisy = np.arange(-200, 1202) if eps > 0.01 else np.arange(-400_000, 401_001)
    likely = np.exp(view.noise.law.log_pmf(noisy - np.array(amounts)[:, None]))
    exact = ((groups * view.belief) @ likely).max(axis=0).sum()
    assert view.gain(sv.gains.partition([[0, 2, 4], [1, 3]])).after == pytest.approx(exact, rel=1e-11)


def test_what_is_not_exact_is_enclosed() -> None:
    """Within one cell of the truth on a circle, too many to list: between the best cell and three tries."""
    view, adversary = table(12, 0.5), sv.gains.within(sv.metrics.cycle(12), 1)
    found = view.gain(adversary, 4)
    assert not found.exact
    assert view.guess(4).guess <= found.lower <= found.upper
    assert found.upper <= view.gain(sv.gains.tries(12, 3), 4).after + 1e-12
    drawn = view.simulated(4, rng=2, samples=20_000, adversary=adversary)
    assert found.lower <= drawn.upper and drawn.lower <= found.upper
    assert found.method.startswith("bound")


def test_shared_cells() -> None:
    """Values in one cell are never told apart: tries take them together, and a property may split a cell."""
    view = table([0, 0, 1, 1, 2, 2], 0.7)
    single = table(3, 0.7)
    assert view.guess(9).guess == pytest.approx(single.guess(9).guess / 2, rel=1e-12)
    two = view.gain(sv.gains.tries(6, 2), 9)
    assert two.after == pytest.approx(single.guess(9).guess, rel=1e-12)
    three = view.gain(sv.gains.tries(6, 3), 9).after
    several = single.gain(sv.gains.tries(3, 2), 9).after
    assert three == pytest.approx((single.guess(9).guess + several) / 2, rel=1e-12)
    split = view.gain(sv.gains.property(6, [0, 2, 4]), 9)
    assert split.exact and split.after == pytest.approx(0.5)


# ── Laws ────────────────────────────────────────────────────────────────────────────────────────────────────

beliefs = st.lists(st.sampled_from([0, 1, 1, 2, 5]), min_size=2, max_size=6).filter(any)


def normalised(weights: list[int]) -> np.ndarray:
    return np.array(weights) / sum(weights)


@given(beliefs, st.sampled_from([0.01, 0.3, 2.0]), st.integers(1, 20), st.data())
def test_more_releases_and_less_noise_tell_more(
    weights: list[int], eps: float, releases: int, data: st.DataObject
) -> None:
    belief = normalised(weights)
    size = len(weights)
    chosen = data.draw(
        st.sampled_from([sv.gains.identity(size), sv.gains.tries(size, 2), sv.gains.property(size, [0])])
    )
    after = table(size, eps, belief).gain(chosen, releases)
    more = table(size, eps, belief).gain(chosen, releases + 1)
    louder = table(size, eps / 2, belief).gain(chosen, releases)
    assert after.before - 1e-12 <= louder.lower
    assert louder.lower <= after.upper + 1e-9 and after.lower <= more.upper + 1e-9
    # Replacing a record moves two steps: nothing grows by more than e^(2nε).
    assert math.log(after.lower) <= math.log(after.before) + 2 * releases * eps + 1e-9
    assert more.upper <= 1 + 1e-12


@given(beliefs, st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_order_of_cells_does_not_matter(weights: list[int], releases: int, random: object) -> None:
    belief = normalised(weights)
    order = list(range(len(belief)))
    random.shuffle(order)  # type: ignore[attr-defined]
    one, other = table(len(belief), 0.4, belief), table(len(belief), 0.4, belief[order])
    assert one.guess(releases).guess == pytest.approx(other.guess(releases).guess, rel=1e-12)


@given(
    st.lists(st.integers(-6, 9), min_size=2, max_size=5),
    st.sampled_from([0.05, 0.5, 2.0]),
    st.integers(1, 40),
)
def test_a_sum_obeys_the_same_laws(amounts: list[int], eps: float, releases: int) -> None:
    view = line(amounts, eps)
    now, later = view.gain(view.identity, releases), view.gain(view.identity, releases + 1)
    assert now.before <= now.lower + 1e-12 and now.upper <= view.limit + 1e-12
    assert now.lower <= later.upper + 1e-12
    width = max(amounts) - min(amounts)
    assert math.log(now.lower / now.before) <= releases * eps * width + 1e-9


@given(st.integers(1, 30), st.sampled_from([0.1, 0.8]))
def test_two_values_of_a_sum_are_two_cells_half_as_far(releases: int, eps: float) -> None:
    """A table moves one step in and one out: it tells as much as two releases of the sum."""
    assert line([0, 1], eps).guess(2 * releases).guess == pytest.approx(
        table(2, eps).guess(releases).guess, rel=1e-11
    )


# ── The ends of every scale ─────────────────────────────────────────────────────────────────────────────────


def test_no_noise_to_speak_of_and_nothing_but_noise() -> None:
    assert table(5, 0.0).guess(100).guess == pytest.approx(0.2, rel=1e-15)
    assert line([0, 5], 0.0).guess(100).guess == pytest.approx(0.5, rel=1e-15)
    tiny = table(2, 1e-9).guess(1)
    # (1/2)(1 + tanh(ε/2)·…): half of 1 + the distance of two laws one step apart, twice.
    assert tiny.guess - 0.5 == pytest.approx(0.5 * 0.5e-9, rel=1e-6)
    for releases in (1, 1000, 10_000):
        assert table(5, 700.0).guess(releases).guess == pytest.approx(1.0, abs=1e-7)
        assert line([0, 3, 7], 700.0).guess(releases).guess == pytest.approx(1.0, abs=1e-9)
        assert line([0, 3], 700.0).guess(releases).guess == pytest.approx(1.0, abs=1e-9)


def test_priors_with_zeros_and_one_value() -> None:
    padded, plain = table(4, 0.5, [0.6, 0.0, 0.4, 0.0]), table(2, 0.5, [0.6, 0.4])
    assert padded.guess(7).guess == pytest.approx(plain.guess(7).guess, rel=1e-14)
    assert table(1, 0.5).guess(9).guess == 1.0
    assert table(3, 0.5, [0.0, 1.0, 0.0]).guess(9).guess == pytest.approx(1.0, rel=1e-14)
    assert line([3], 0.5).guess(9).guess == 1.0
    assert line([0, 4, 9], 0.5, [0.0, 1.0, 0.0]).guess(9).guess == pytest.approx(1.0, rel=1e-14)


def test_all_values_in_one_cell() -> None:
    view = table([0, 0, 0], 0.5)
    assert view.limit == pytest.approx(1 / 3)
    assert view.guess(1000).guess == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize("releases", [1, 1000, 10_000])
def test_a_million_cells(releases: int) -> None:
    size = 10**6
    cells = np.arange(size)
    statistic = Statistic(
        ("cell",), tuple((c,) for c in range(10)), cells, np.ones(size, np.int64), Fraction(1), ""
    )
    belief = np.random.default_rng(0).integers(1, 40, size).astype(float)
    view = likelihood_of(HistogramNoise(statistic, geometric(0.05)), belief / belief.sum())
    found = view.gain(view.identity, releases)
    assert found.before < found.lower <= found.upper <= 1 + 1e-12
    assert found.exact


def test_many_releases_tend_to_the_limit() -> None:
    view = table([0, 0, 1, None], 0.3, [0.4, 0.1, 0.3, 0.2])
    assert view.limit == pytest.approx(0.9)
    assert view.guess(10_000).guess == pytest.approx(0.9, rel=1e-12)
    assert line([0, 0, 1], 0.3, [0.4, 0.2, 0.4]).guess(10_000).guess == pytest.approx(0.8, rel=1e-12)


def test_releases_within_a_limit() -> None:
    view = table(12, 0.25)
    found = view.releases_within(0.3)
    assert found.exact and found.releases is not None
    assert view.guess(found.releases).guess <= 0.3 < view.guess(found.releases + 1).guess
    assert view.releases_within(0.05).releases == 0
    assert table([0, 0], 0.5).releases_within(0.5).releases is None


def test_clamped_gaussian_noise_is_bounded_by_the_unclamped() -> None:
    open_view = line([0, 1, 4], GaussianLaw(Fraction(2)), [0.5, 0.3, 0.2])
    cut = likelihood_of(ScalarNoise(open_view.noise.statistic, open_view.noise.law, (0, 4)), open_view.belief)
    found, free = cut.gain(cut.identity), open_view.gain(open_view.identity)
    assert free.exact and not found.exact
    assert found.after == free.after
    # A clamped geometric release tells as much as an unclamped one.
    noise = ScalarNoise(open_view.noise.statistic, geometric(0.5), (0, 4))
    assert likelihood_of(noise, open_view.belief).gain(open_view.identity).exact


def test_bad_arguments() -> None:
    view = table(3, 0.5)
    with pytest.raises(GainError, match="4 values, but a record has 3"):
        view.gain(sv.gains.identity(4))
    with pytest.raises(GainError, match="adversary"):
        view.gain("identity")  # type: ignore[arg-type]
    for releases in (0, -1, 1.5, "many"):
        with pytest.raises(GainError):
            view.guess(releases)  # type: ignore[arg-type]
    with pytest.raises(GainError, match="samples"):
        view.simulated(1, samples=-3)


def test_bounds_stay_within_what_a_gain_can_be() -> None:
    """Beliefs that add up to a little more than 1: no bound says so."""
    view, apart = line(range(301), 1 / 40), sv.metrics.line(301)
    for radius, releases in ((10, 4), (10, 400), (300, 4)):
        found = view.gain(sv.gains.within(apart, radius), releases)
        assert found.lower <= found.upper <= 1


def _everything(size: int) -> list[GainFunction]:
    return [
        sv.gains.identity(size),
        sv.gains.tries(size, 2),
        sv.losses.shannon(size),
        sv.gains.matrix(np.eye(size) * 2 - 0.5),
        sv.losses.absolute(size),
        sv.gains.within(sv.metrics.line(size), 1),
    ]


@pytest.mark.parametrize("staircase", [False, True])
@pytest.mark.parametrize("eps", [5e-324, 1e-310, 1e-60, 1e308])
@pytest.mark.parametrize("releases", [1, 7, 10**9])
def test_noise_that_floats_do_not_know(staircase: bool, eps: float, releases: int) -> None:
    """Noise too wide shows nothing, noise too rare hides nothing, whatever is wanted."""
    policy, query = sv.Policy.differential(5, 3), sv.Query.sum()
    level = EpsilonOrAlpha(eps, None, exact_eps=Fraction(eps))
    law = StaircaseLaw(Fraction(eps), 4) if staircase else GeometricLaw(level)
    view = likelihood_of(ScalarNoise(query.statistic(policy), law), np.arange(1, 6) / 15)
    for wanted in _everything(5):
        if eps < 1:
            found = view.gain(wanted, releases)
            assert found.exact and found.after == found.before
        elif not staircase:
            found = view.gain(wanted, releases)
            told = wanted.values(np.eye(5) * view.belief).sum()
            assert found.exact and found.after == pytest.approx(told)


def test_uncertainty_under_noise_that_is_hardly_ever_there() -> None:
    policy = sv.Policy.differential(2, 3)
    law = GeometricLaw(EpsilonOrAlpha(730.0, None))
    view = likelihood_of(ScalarNoise(sv.Query.sum().statistic(policy), law), np.full(2, 0.5))
    assert view.gain(sv.losses.shannon(2)).after == pytest.approx(0.0, abs=1e-12)
