"""Every worked number of Fernandes, chapter 8, and the errata about it."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import sievert as sv

LN2 = math.log(2)
RR2 = sv.mechanisms.randomised_response(2, alpha="1/2")
RR3 = sv.mechanisms.randomised_response(3, alpha="1/2")
NOT_UNIQUE = sv.Channel([[0.5, 0.25, 0.25], [0.5, 0.4, 0.1], [0.2, 0.3, 0.5]])
RANK_DEFICIENT = sv.Channel([[0.5, 0.5], [0.3, 0.7], [0.9, 0.1]])


def test_inverse_leaves_the_simplex_and_the_maximum_does_not() -> None:
    inverse = sv.estimate([9, 1], RR2, "inversion")
    assert inverse.distribution == pytest.approx([17 / 10, -7 / 10])
    assert not inverse.is_distribution and inverse.likelihood_gap is None
    maximum = sv.estimate([9, 1], RR2)
    assert maximum.distribution == pytest.approx([1, 0])
    assert maximum.mean_log_likelihood == pytest.approx(-0.474779826, abs=1e-9)
    assert maximum.unique and maximum.likelihood_gap == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize(
    ("rounds", "first"), [(1, 0.633333), (2, 0.744301), (5, 0.924809), (10, 0.991171), (20, 1 - 1.1898e-4)]
)
def test_rounds_of_ibu(rounds: int, first: float) -> None:
    found = sv.estimate([9, 1], RR2, "ibu", tolerance=0, most_rounds=rounds)
    assert found.iterations == rounds
    assert found.distribution == pytest.approx([first, 1 - first], abs=6e-7)


def test_the_gap_bounds_what_is_missing() -> None:
    found = sv.estimate([9, 1], RR2, "ibu", tolerance=0, most_rounds=10)
    best = sv.estimate([9, 1], RR2)
    assert found.likelihood_gap == pytest.approx(3.110e-3, abs=1e-6)
    assert best.mean_log_likelihood - found.mean_log_likelihood == pytest.approx(3.103e-3, abs=1e-6)


def test_figure_one_probabilities_and_condition_numbers() -> None:
    response = sv.mechanisms.randomised_response(101, LN2)
    noise = sv.mechanisms.truncated_geometric(101, LN2 / 10)
    assert response.matrix[50, [50, 0]] == pytest.approx([0.0196078, 0.00980392], abs=5e-8)
    row = noise.matrix[50]
    assert row[[50, 40, 0, 100, 1]] == pytest.approx(
        [0.0346434897, 0.0173217448, 0.0161663045, 0.0161663045, 0.00116031165], abs=5e-11
    )
    assert np.linalg.cond(noise.matrix) == pytest.approx(1311.91, abs=0.01)
    assert np.linalg.cond(response.matrix) == pytest.approx(102, abs=1e-9)
    for channel, norm in ((noise, 833.21), (response, 201)):
        assert np.abs(inverse_matrix(channel)).sum(axis=1).max() == pytest.approx(norm, abs=0.005)


def test_an_invertible_channel_may_have_many_maxima() -> None:
    """Erratum: Thm 8.1 speaks of "the" maximum for any invertible matrix."""
    assert np.linalg.det(NOT_UNIQUE.matrix) == pytest.approx(0.045)
    limits = {
        (1, 1, 1): [1 / 2, 1 / 2, 0],
        (0.8, 0.1, 0.1): [8 / 9, 1 / 9, 0],
        (0.1, 0.8, 0.1): [1 / 9, 8 / 9, 0],
    }
    for start, limit in limits.items():
        found = sv.estimate([10, 0, 0], NOT_UNIQUE, "ibu", start=start, tolerance=1e-14)
        assert found.distribution == pytest.approx(limit, abs=1e-9)
        assert found.mean_log_likelihood == pytest.approx(math.log(1 / 2), abs=1e-12)
    exact = sv.estimate([10, 0, 0], NOT_UNIQUE)
    assert exact.unique is False
    assert exact.ranges == pytest.approx(np.array([[0, 1], [0, 1], [0, 0]]), abs=1e-6)


def test_a_rank_deficient_channel() -> None:
    limits = {(1, 1, 1): [0.319417, 0.287055, 0.393528], (0.8, 0.1, 0.1): [0.681030, 0.045980, 0.272990]}
    for start, limit in limits.items():
        found = sv.estimate([6, 4], RANK_DEFICIENT, "ibu", start=start, tolerance=1e-14)
        assert found.distribution == pytest.approx(limit, abs=1e-6)
        assert found.distribution @ RANK_DEFICIENT.matrix == pytest.approx([0.6, 0.4], abs=1e-6)
    exact = sv.estimate([6, 4], RANK_DEFICIENT)
    assert exact.unique is False
    assert exact.ranges == pytest.approx(np.array([[0, 0.75], [0, 0.5], [0.25, 0.5]]), abs=1e-6)


def test_neither_projection_nor_clipping_is_the_maximum() -> None:
    shares = [60, 35, 5]
    inverse = sv.estimate(shares, RR3, "inversion").distribution
    assert inverse == pytest.approx([1.4, 0.4, -0.8])
    assert sv.estimate(shares, RR3).distribution == pytest.approx([17 / 19, 2 / 19, 0])
    assert sv.estimate(shares, RR3, "projection").distribution == pytest.approx([1, 0, 0])


def test_an_inverse_without_negative_entries_is_the_maximum() -> None:
    """Prop 8.2."""
    counts = [500, 450, 480]
    inverse, maximum = sv.estimate(counts, RR3, "inversion"), sv.estimate(counts, RR3)
    assert (inverse.distribution > 0).all()
    assert inverse.distribution == pytest.approx(maximum.distribution, abs=1e-12)
    assert inverse.likelihood_gap == pytest.approx(0, abs=1e-13)


def test_expected_error_of_the_raw_inverse() -> None:
    """Formula 7.3 for Bin(100, 1/2), 10^5 reports: the error against the population itself."""
    binomial = np.array([math.comb(100, k) / 2**100 for k in range(101)])
    expected = {
        sv.mechanisms.truncated_geometric(101, LN2 / 10): 6.631,
        sv.mechanisms.randomised_response(101, LN2): 10.170,
    }
    for channel, value in expected.items():
        covariance = inversion_covariance(channel, binomial, 1e5, population=True)
        assert expected_line_error(covariance) == pytest.approx(value, abs=6e-4)


@pytest.fixture(scope="module")
def chapter_eight() -> dict[str, tuple[sv.Channel, np.ndarray]]:
    """One run of N = 10^5 for each truth and mechanism."""
    rng = np.random.default_rng(8)
    truths = {
        "binomial": rng.binomial(100, 0.5, 100_000),
        "points": rng.choice([10, 35, 60, 90], 100_000, p=[0.4, 0.3, 0.2, 0.1]),
    }
    channels = {
        "TG": sv.mechanisms.truncated_geometric(101, LN2 / 10),
        "RR": sv.mechanisms.randomised_response(101, LN2),
    }
    return {
        f"{truth} {name}": (channel, np.bincount(channel.sample(values, rng=rng), minlength=101))
        for truth, values in truths.items()
        for name, channel in channels.items()
    }


# L*, and N·(L* - L) after 0, 10, 100, 1000 and 5000 rounds: another run of the same setting, so that they
# agree within its sampling error only.
TRACES = {
    "binomial TG": (-4.2839456, [32636.28, 1068.06, 16.51, 4.90, 2.99]),
    "binomial RR": (-4.6147709, [34.97, 34.85, 33.83, 24.24, 4.32]),
    "points TG": (-4.3183097, [10411.99, 615.77, 217.40, 14.73, 3.23]),
    "points RR": (-4.6139418, [117.87, 117.56, 114.41, 55.59, 3.55]),
}


def after(counts: np.ndarray, channel: sv.Channel, rounds: int) -> sv.results.Estimate:
    """So many rounds of IBU from the uniform distribution."""
    found = sv.estimate(counts, channel, "ibu", interval="none", tolerance=0, most_rounds=rounds)
    assert found.iterations == rounds
    return found


@pytest.mark.parametrize("name", TRACES)
def test_trace_of_ibu_falls_as_in_the_example(name: str, chapter_eight: dict) -> None:
    """Erratum: 5000 rounds are not convergence, and ten are far from it (footnote 4, Sec 8.4)."""
    channel, counts = chapter_eight[name]
    best = sv.estimate(counts, channel, interval="none")
    assert best.total_gap < 1e-6
    highest, nats = TRACES[name]
    assert best.mean_log_likelihood == pytest.approx(highest, abs=0.005)
    start = float(counts / counts.sum() @ np.log(np.full(101, 1 / 101) @ channel.matrix))
    rounds = [start, *(after(counts, channel, k).mean_log_likelihood for k in (10, 100, 1000, 5000))]
    found = [1e5 * (best.mean_log_likelihood - value) for value in rounds]
    assert found == sorted(found, reverse=True)
    for ours, theirs in zip(found, nats, strict=True):
        assert theirs / 2.5 < ours < theirs * 2.5
    if name == "binomial TG":
        assert found[1] > 500  # "TG converges within 10 iterations"


def test_small_steps_are_no_convergence(chapter_eight: dict) -> None:
    """The step rule stops randomised response at once, tens of nats short; the certified rule does not."""
    channel, counts = chapter_eight["binomial RR"]
    one = after(counts, channel, 1)
    assert np.abs(one.distribution - 1 / 101).max() < 2e-5
    best = sv.estimate(counts, channel, interval="none")
    assert 1e5 * (best.mean_log_likelihood - one.mean_log_likelihood) > 20
    certified = sv.estimate(counts, channel, "ibu", interval="none")
    assert certified.total_gap <= 0.5
    assert 1e5 * (best.mean_log_likelihood - certified.mean_log_likelihood) <= certified.total_gap


def inversion_covariance(
    channel: sv.Channel, p: NDArray[np.float64], total: float, *, population: bool = False
) -> NDArray[np.float64]:
    """Covariance of the inverse of `total` reports: R'(diag(m) - m m')R/N with m = pG.

    With `population`, p is the distribution of the very people who reported, not what they are drawn from:
    the middle is then diag(pG) - Σ_i p_i·G_i'G_i. Inside the simplex the first is the inverse Fisher
    information.
    """
    finite = channel.finite()
    matrix, inverse = finite.rounded(), inverse_matrix(finite)
    m = p @ matrix
    middle = np.diag(m) - ((matrix.T * p) @ matrix if population else np.outer(m, m))
    return inverse.T @ middle @ inverse / total


def inverse_matrix(channel: sv.Channel) -> NDArray[np.float64]:
    """R, row by row: what inversion makes of reports of one output only."""
    every = np.eye(channel.shape[1])
    return np.array([sv.estimate(row, channel, "inversion", interval="none").distribution for row in every])


def expected_line_error(covariance: NDArray[np.float64]) -> float:
    """Expected Kantorovich distance on the line of a Gaussian error: Σ_x √(2/π · Var F(x))."""
    cumulative = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    return float(np.sqrt(2 / math.pi * np.maximum(np.diag(cumulative)[:-1], 0.0)).sum())
