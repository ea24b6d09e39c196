"""Word channels: the worked numbers, privacy of every one, simulation as oracle, exact draws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import sievert as sv
from sievert.errors import MechanismError, TextError, TooLargeError
from sievert.sampling import WideExponentialRows, exponential_rows
from sievert.text import Embedding, _tight, capacity_bound, estimate_word_channel, marginal_tail, word_channel
from sievert.text._embedding import RoughDistances
from sievert.text._mechanisms import ExponentialWords, word_mechanism

SMALL = Embedding.small()
places = st.lists(st.tuples(*[st.integers(-30, 30)] * 2), min_size=1, max_size=7)


def test_three_words_on_a_line() -> None:
    """Spec 3.4: decoding gains privacy, 2.8318 instead of 3 nats."""
    found = word_channel([[0.0], [1.0], [3.0]], 1.0)
    assert found.matrix == pytest.approx(
        np.array(
            [
                [0.696734670144, 0.235597688238, 0.0676676416183],
                [0.303265329856, 0.512794949558, 0.183939720586],
                [0.0410424993119, 0.142897221274, 0.816060279414],
            ]
        ),
        abs=1e-12,
    )
    logs = found.log_matrix
    worst = np.abs(logs[:, None] - logs[None]).max(axis=2)
    assert (worst[0, 1], worst[1, 2], worst[0, 2]) == pytest.approx((1.0, 2.0, 2.83179657), abs=1e-8)


def test_three_words_in_the_plane() -> None:
    """Spec 7: the capacity of the decoding channel, and every bound of it."""
    points = [[0, 0], [2, 0], [0, 1]]
    found = word_channel(points, 1.0)
    assert found.matrix.max(axis=0).sum() == pytest.approx(1.783476, abs=1e-6)
    bound = capacity_bound(Embedding(list("abc"), points), 1.0)
    assert (bound.by_neighbours, bound.by_number, bound.by_diameter) == pytest.approx(
        (2.415044, 2.471667, 9.356469), abs=1e-6
    )
    assert bound.value == bound.by_neighbours
    assert bound.method == "the neighbours of every word"
    assert float(sv.worst_leakage(sv.metrics.euclidean(points), 1.0)) <= bound.value


@pytest.mark.parametrize("n", [1, 2, 3, 7, 300])
def test_two_words_in_any_space(n: int) -> None:
    points = np.zeros((2, n))
    points[1, 0] = 1.3
    flip = marginal_tail(0.65, n, 2.0)
    assert word_channel(points, 2.0).matrix == pytest.approx(
        np.array([[1 - flip, flip], [flip, 1 - flip]]), abs=1e-12
    )


@given(places, st.floats(0.05, 3.0))
def test_every_channel_is_private(points: list[tuple[int, int]], eps: float) -> None:
    """Thm 9.10: noise is ε·d-private and decoding is post-processing."""
    table = np.array(points) / 10
    found = word_channel(table, eps)
    assert found.matrix.sum(axis=1) == pytest.approx(np.ones(len(points)), abs=1e-12)
    distances = np.linalg.norm(table[:, None] - table[None], axis=2)
    support = found.support.any(axis=0)
    logs = found.log_matrix[:, support]
    worst = np.abs(logs[:, None] - logs[None]).max(axis=2)
    assert (worst <= eps * distances + 1e-8).all()


def test_in_the_plane_as_simulated() -> None:
    """All 99.9 % intervals at once."""
    grid = np.array([[i, j] for i in range(3) for j in range(3)], dtype=float)
    table = Embedding([str(i) for i in range(9)], grid)
    simulated = estimate_word_channel(table, 1.5, trials=30_000, confidence=0.999, rng=4)
    exact = word_channel(table, 1.5).matrix
    assert ((simulated.lower <= exact) & (exact <= simulated.upper)).all()
    assert "30000 draws" in str(simulated)
    triple = SMALL.restricted(["doctor", "nurse", "physician"])
    simulated = estimate_word_channel(triple, 8.0, trials=20_000, confidence=0.999, rng=4)
    exact = word_channel(triple, 8.0).matrix
    assert ((simulated.lower <= exact) & (exact <= simulated.upper)).all()


def test_words_that_share_a_vector_answer_with_the_first() -> None:
    found = word_channel([[0.0], [1.0], [0.0]], 1.0).matrix
    assert (found[:, 2] == 0).all()
    assert found[0] == pytest.approx(found[2])


def test_the_exponential_channel_and_its_tight_level() -> None:
    """Spec 7: words 0, 1, 3 at nominal ε = 1 have 0.607950443."""
    table = Embedding(["0", "1", "3"], [[0.0], [1.0], [3.0]])
    channel = word_channel(table, 1.0, kind="word-exponential")
    tight = float(sv.epsilon(channel, table.metric()))
    assert tight == pytest.approx(0.607950443, abs=1e-9)
    mechanism = word_mechanism(table, 1.0, "word-exponential")
    assert isinstance(mechanism, ExponentialWords)
    assert mechanism.tight() == pytest.approx(tight, abs=1e-12)


def test_a_projection_keeps_the_promise_in_the_original_metric() -> None:
    table = SMALL.first(6)
    found = word_channel(table, 0.7, kind="word-projected-laplace", dimensions=2)
    distances = table.metric().matrix
    logs = found.log_matrix
    assert (np.abs(logs[:, None] - logs[None]).max(axis=2) <= 0.7 * distances + 1e-9).all()


def test_wide_rows_draw_the_law_of_the_table_of_boundaries() -> None:
    """False alarms once in a thousand runs; both samplers are exact, so one expected law serves both."""
    table = SMALL.restricted(["king", "queen", "prince", "car", "road", "sea", "lake"])
    mechanism = word_mechanism(table, 1.5, "word-exponential")
    expected = word_channel(table, 1.5, kind="word-exponential").matrix
    drawn = mechanism.sampler(3).draw(np.repeat(np.arange(7), 4000)).reshape(7, 4000)
    for row, law in zip(drawn, expected, strict=True):
        assert chisquare(np.bincount(row, minlength=7), 4000 * law).pvalue > 1e-3 / 7
    rows = exponential_rows(table.metric().matrix, Fraction(3, 4), insecure_rng=3)
    assert (
        rows.draw([0] * 20)
        == WideExponentialRows(lambda row: table.metric().matrix[row], (7, 7), Fraction(3, 4), 3).draw(
            [0] * 20
        )
    ).all()


def test_wide_rows_decide_every_word_by_integers_where_floats_cannot() -> None:
    """With a margin as wide as everything, all draws go the exact way, and are the same."""
    lengths = np.abs(np.arange(5)[:, None] - np.arange(5)[None]).astype(float)
    fast = WideExponentialRows(lambda row: lengths[row], (5, 5), Fraction(1, 2), 11)
    slow = WideExponentialRows(lambda row: lengths[row], (5, 5), Fraction(1, 2), 11)
    slow.margin = 1.0
    rows = np.tile(np.arange(5), 40)
    assert (fast.draw(rows) == slow.draw(rows)).all()
    assert fast.exact and not fast.secure
    assert WideExponentialRows(lambda row: lengths[row], (5, 5), 1).secure
    with pytest.raises(MechanismError, match="eps is -1"):
        WideExponentialRows(lambda row: lengths[row], (5, 5), -1)


def test_rough_distances_are_within_their_error() -> None:
    """And the rows made of them draw the same words as exact ones, bit for bit."""
    table = SMALL.first(2500)
    rough = RoughDistances(table.vectors)
    places = np.arange(0, 2500, 50)
    exact = table.distances([table.words[i] for i in places])
    assert np.abs(rough.rows(places) - exact).max() <= rough.error
    assert rough.error < 1e-11
    mechanism = word_mechanism(table, 2.0, "word-exponential")
    assert isinstance(mechanism, ExponentialWords)
    plain = WideExponentialRows(mechanism.distances, (2500, 2500), Fraction(1), 5)
    assert (plain.draw(places) == mechanism.sampler(5).draw(places)).all()


def test_clusters_never_leave_their_cluster() -> None:
    table = SMALL.first(400)
    mechanism = word_mechanism(table, 1.0, "word-clusters", clusters=12)
    drawn = mechanism.sampler(1).draw(np.arange(400))
    cluster = mechanism.cluster_of  # type: ignore[attr-defined]
    assert (cluster[drawn] == cluster).all()
    assert len(np.unique(cluster)) == 12
    assert (drawn != np.arange(400)).any()


def test_the_printed_capacity_needs_gains_that_are_not_negative() -> None:
    """Erratum E6: with a negative gain the leakage exceeds e^(ε·d*)."""
    gain = np.array([[0, 3, -2], [0, -1, 2], [-1, 1, -3]])
    channel = np.array(
        [
            [0.34447836, 0.42635979, 0.22916185],
            [0.53165512, 0.27330573, 0.19503914],
            [0.37858232, 0.38352924, 0.23788844],
        ]
    )
    before = (gain.mean(axis=1)).max()
    after = (gain @ (channel / 3)).max(axis=0).sum()
    logs = np.log(channel)
    largest = np.abs(logs[:, None] - logs[None]).max()
    assert after / before == pytest.approx(1.612291, abs=1e-5)
    assert math.exp(largest) == pytest.approx(1.560010, abs=1e-5)


@given(st.integers(2, 6), st.floats(0.1, 3.0), st.integers(0, 10**6))
def test_the_chain_of_capacity_bounds(words: int, eps: float, seed: int) -> None:
    """Spec 2.12: channel ≤ by neighbours ≤ by number ≤ by diameter, for every ε·d-private channel."""
    rng = np.random.default_rng(seed)
    table = Embedding([str(i) for i in range(words)], rng.standard_normal((words, 3)))
    found = capacity_bound(table, eps)
    channel = word_channel(table, eps, kind="word-exponential")
    assert channel.matrix.max(axis=0).sum() <= found.by_neighbours + 1e-9
    assert found.by_neighbours <= found.by_number + 1e-9 <= found.by_diameter + 2e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: word_channel(SMALL.first(6), 1.0), "span 5 dimensions"),
        (lambda: word_channel([[0.0], [1.0]], 0.0), "eps is 0"),
        (lambda: word_channel([[0.0], [1.0]], 1.0, kind="laplace"), "did you mean 'word-laplace'"),
        (lambda: word_channel("words", 1.0), "row of coordinates"),
        (lambda: word_channel([[0.0], [float("inf")]], 1.0), "finite coordinates"),
        (lambda: word_mechanism(SMALL, 1.0, "word-projected-laplace"), "dimensions is not given"),
        (lambda: word_mechanism(SMALL, 1.0, dimensions=3), "goes with kind = 'word-projected-laplace' only"),
        (lambda: word_mechanism(SMALL, 1.0, "word-projected-laplace", dimensions=51), "from 1 to 50"),
        (lambda: word_mechanism([[0.0]], 1.0), "nats per unit of its distances"),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_are_refused(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TextError, match=message):
        call()


def test_sizes_are_checked_before_work() -> None:
    with pytest.raises(TooLargeError):
        word_channel(SMALL, 1.0, kind="word-exponential")
    with pytest.raises(TooLargeError, match="take a smaller eps"):
        word_channel([[0.0], [1e6]], 1.0)


def test_clusters_are_never_left() -> None:
    points = np.array([[0.0], [1.0], [9.0]])
    found = word_channel(points, 1.0, kind="word-clusters", clusters=2).matrix
    near = 1 / (1 + np.exp(-0.5))
    expected = [[near, 1 - near, 0], [1 - near, near, 0], [0, 0, 1]]
    assert found == pytest.approx(np.array(expected), rel=1e-14)


def brute_slope(points: np.ndarray, rate: float) -> float:
    """The largest |ln Z - ln Z'|/d, in balls of 300 bits."""
    from flint import arb, ctx

    before, ctx.prec = ctx.prec, 300
    try:
        exact = [[arb(float(entry)) for entry in row] for row in points]
        lengths = [
            [sum((a - b) ** 2 for a, b in zip(u, v, strict=True)).sqrt() for v in exact] for u in exact
        ]
        logs = [sum((-arb(rate) * d).exp() for d in row).log() for row in lengths]
        size = range(len(exact))
        return max(
            (
                float((abs(logs[i] - logs[j]) / lengths[i][j]).mid())
                for i in size
                for j in size
                if lengths[i][j] > 0
            ),
            default=0.0,
        )
    finally:
        ctx.prec = before


@pytest.mark.parametrize("apart", [None, 1e-7, 1e-14, 5e-324])
def test_the_tight_eps_is_never_said_too_low(apart: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against balls of 300 bits, with words that (nearly) coincide, over several blocks."""
    monkeypatch.setattr(_tight, "BLOCK", 4)
    rng = np.random.default_rng(5)
    for eps in (0.2, 3.0, 40.0):
        points = rng.standard_normal((13, 2))
        if apart is not None:
            points[4], points[9] = points[3] * 0, points[3] * 0
            points[9, 0], points[11] = apart, points[7]
        found = word_mechanism(
            Embedding([f"w{i}" for i in range(13)], points), eps, "word-exponential"
        ).tight()
        true = eps / 2 + brute_slope(points, eps / 2)
        assert found is not None and true <= found <= eps
        assert found == pytest.approx(true, rel=1e-9)


def test_pairs_that_nearly_coincide_are_not_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then ε itself, which always holds, is the answer."""
    monkeypatch.setattr(_tight, "MOST_CLOSE", 1)
    points = np.concatenate([np.arange(6.0), np.arange(6.0) + 1e-13])[:, None]
    found = word_mechanism(Embedding([f"w{i}" for i in range(12)], points), 2.0, "word-exponential").tight()
    assert found == 2.0
