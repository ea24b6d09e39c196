"""Many observations: exact curves against brute force, rates, bounds, simulation, and solving backwards."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError, GainError, PriorError
from sievert.observations import observations_until_each

# What results say of how they were found.
EXACT, BOUNDS, SIMULATION = "exact by types", "certified bounds", "simulation, 99.9 % interval"
COIN = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]])


def random_channel(rows: int, columns: int, seed: int, least: float = 0.0) -> sv.Channel:
    matrix = least + np.random.default_rng(seed).random((rows, columns))
    return sv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


def sequences(channels: list[sv.Channel]) -> np.ndarray:
    """[secret, sequence]: the probability of every sequence of outputs."""
    columns = np.ones((channels[0].shape[0], 1))
    for channel in channels:
        columns = (columns[:, :, None] * channel.rounded()[:, None, :]).reshape(len(columns), -1)
    return columns


def float_prior(prior: object) -> np.ndarray:
    return np.asarray(prior, dtype=float)


# ── success ──────────────────────────────────────────────────────────────────────────────────────


@given(testing.channels(inputs=(1, 4), outputs=(1, 3)), st.data())
def test_success_is_that_of_all_sequences(channel, data) -> None:
    prior = data.draw(testing.priors((channel.shape[0], channel.shape[0])))
    curve = sv.observations.success_curve(channel, prior, range(1, 5))
    for n in range(1, 5):
        joint = float_prior(prior)[:, None] * sequences([channel] * n)
        assert curve.at(n).value == pytest.approx(joint.max(axis=0).sum(), rel=1e-12)
        assert curve.at(n).method == EXACT


def test_several_mechanisms_on_one_secret() -> None:
    first, second = random_channel(4, 3, 2), random_channel(4, 2, 3)
    prior = [0.1, 0.2, 0.3, 0.4]
    brute = (np.array(prior)[:, None] * sequences([first, first, second])).max(axis=0).sum()
    for mechanisms in (
        [(first, 2), second],
        [first, second, first],
        [second, sv.Channel(first.matrix), first],
    ):
        assert sv.success_probability(mechanisms, prior).value == pytest.approx(brute, rel=1e-12)
    twice = (np.array(prior)[:, None] * sequences([first, second] * 2)).max(axis=0).sum()
    assert sv.success_probability([first, second], prior, 2).value == pytest.approx(twice, rel=1e-12)
    shuffled = sv.Channel(second.matrix[::-1], inputs=[3, 2, 1, 0])
    found = sv.success_probability([first, shuffled], prior, 2)
    assert found.value == pytest.approx(twice, rel=1e-12)
    curve = sv.observations.success_curve([first, second], prior, [1, 2])
    assert curve[1].value == pytest.approx(twice, rel=1e-12)


def test_bounds_for_several_large_mechanisms() -> None:
    first, second = random_channel(2, 30, 4, 0.3), random_channel(2, 40, 5, 0.3)
    found = sv.success_probability([first, second], None, 20)
    assert found.method == BOUNDS
    assert found.upper - found.lower < 0.01
    shares = [sv.success_probability(c, None, 20).lower for c in (first, second)]
    assert found.upper >= max(shares)


def test_the_slope_of_the_exact_curve_is_the_rate() -> None:
    """1 - success is 2^(-n·rate)/√n times a constant (Thm 9, with the factor of Bahadur and Rao)."""
    channel = random_channel(3, 3, 7)
    rate = sv.observations.rates(channel).utility.bits + 0.5 / 300
    bits = [sv.success_probability(channel, None, n).missing_bits for n in (300, 600)]
    assert (bits[1] - bits[0]) / 300 == pytest.approx(rate, rel=0.005)
    loss = [
        sv.observations.expected_loss(
            channel, loss=sv.losses.absolute(3), prior=[0.2, 0.5, 0.3], observations=n
        ).gap
        for n in (300, 600)
    ]
    assert -math.log2(loss[1] / loss[0]) / 300 == pytest.approx(rate, rel=0.005)


def test_endpoint_minima_decide_the_rate() -> None:
    """Where supports differ the minimum is at an end point: the error is exactly 0.2^n times the prior."""
    channel = sv.Channel([[0.9, 0.1, 0], [0.2, 0, 0.8]])
    assert sv.observations.rates(channel).utility.bits == pytest.approx(-math.log2(0.2))
    found = sv.success_probability(channel, None, 40)
    assert found.missing_bits == pytest.approx(40 * -math.log2(0.2) + 1, rel=1e-12)


def test_invariance_under_merging_and_monotone_under_post_processing() -> None:
    channel = random_channel(3, 4, 8)
    split = sv.Channel(np.column_stack([channel.matrix * 0.3, channel.matrix * 0.7]))
    post = random_channel(4, 3, 9)
    for n in (20, 1, 6):
        value = sv.success_probability(channel, None, n).value
        assert sv.success_probability(split, None, n).value == pytest.approx(value, rel=1e-12)
        assert sv.success_probability(channel.then(post), None, n).value <= value
    assert sv.success_probability(channel.repeated(3), None, 2).value == pytest.approx(value, rel=1e-12)


@pytest.mark.slow
def test_the_curves_of_the_issue() -> None:
    three = sv.observations.success_curve(random_channel(3, 3, 10), None, range(1, 1001))
    assert three.methods == (EXACT,)
    assert len(three) == 1000
    assert (np.diff(three.values) >= -1e-12).all()
    five = sv.observations.success_curve(random_channel(5, 5, 11), None, range(1, 61))
    assert five.methods == (EXACT,)
    assert (np.diff(five.values) >= -1e-12).all()


# ── bounds and simulation ────────────────────────────────────────────────────────────────────────


def test_the_way_is_always_said() -> None:
    wide = random_channel(36, 36, 15, 0.3)
    found = sv.success_probability(wide, None, 10, rng=0)
    assert found.method == SIMULATION
    assert "simulation, 99.9 % interval" in str(found)
    assert found.before <= found.lower <= found.upper <= 1
    certain = sv.success_probability(random_channel(20, 20, 16), None, 5000)
    assert certain.method == BOUNDS
    assert "wrong with probability at most" in str(certain)


# ── losses ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "loss",
    [
        sv.losses.absolute(3),
        sv.losses.squared(3),
        sv.losses.shannon(3),
        sv.losses.guessing(3),
        sv.gains.tries(3, 2),
        sv.gains.matrix([[1, 0, 2], [0, 3, 0]]),
        None,
    ],
    ids=str,
)
def test_losses_are_those_of_all_sequences(loss) -> None:
    channel, prior = random_channel(3, 3, 17), [0.5, 0.2, 0.3]
    for point in sv.observations.loss_curve(channel, loss=loss, prior=prior, observations=[1, 3, 4]):
        repeated = sv.Channel(sequences([channel] * point.observations))
        brute = float(sv.posterior_vulnerability(repeated, prior, loss))
        assert point.value == pytest.approx(brute, rel=1e-12)
        assert point.method == EXACT
        assert point.before == pytest.approx(float(sv.vulnerability(prior, loss)))


def test_losses_with_equal_rows_tend_to_their_limit() -> None:
    channel = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"], ["2/5", "3/5"]])
    found = sv.observations.expected_loss(
        channel, loss=sv.losses.absolute(3), prior=[0.5, 0.3, 0.2], observations=4000
    )
    # Knowing the class {1, 2} the best guess is 1, which costs 1 with probability 0.2.
    assert found.limit == pytest.approx(0.2)
    assert found.value == pytest.approx(0.2, abs=1e-6)


# ── breaches at n and by n ───────────────────────────────────────────────────────────────────────


def brute_breach(
    channel: sv.Channel, prior: list[float], members: list[int], level: float, n: int, sign: int
):
    """P(breach at n), P(breach by n) given the predicate, over all sequences."""
    belief = np.array(prior)
    before = belief[members].sum()
    at = by = 0.0
    for outputs in product(range(channel.shape[1]), repeat=n):
        joint = belief.copy()
        hits = []
        for y in outputs:
            joint = joint * channel.rounded()[:, y]
            change = joint[members].sum() / joint.sum() / before if joint.sum() > 0 else 1.0
            hits.append(math.log2(change) * sign > level + 1e-9 if change > 0 else sign < 0)
        weight = joint[members].sum() / before
        at += weight * hits[-1]
        by += weight * any(hits)
    return at, by


@pytest.mark.parametrize("direction, sign", [("up", 1), ("down", -1)])
@pytest.mark.parametrize("members", [[0], [1, 2], [0, 3]])
@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_breaches_are_those_of_all_sequences(
    direction: str, sign: int, members: list[int], level: float
) -> None:
    matrix = random_channel(4, 3, 19).matrix.copy()
    matrix[3] = [0, 0.5, 0.5]
    channel, prior = sv.Channel(matrix), [0.1, 0.2, 0.3, 0.4]
    found = sv.observations.breach_curve(channel, prior, members, level, 5, direction)
    for n in range(1, 6):
        at, by = brute_breach(channel, prior, members, level, n, sign)
        assert found.at[n - 1] == pytest.approx(at, abs=1e-12)
        assert found.by[n - 1] == pytest.approx(by, abs=1e-12)
        assert found.not_at[n - 1] == pytest.approx(1 - at, abs=1e-12)
        assert found.not_by[n - 1] == pytest.approx(1 - by, abs=1e-12)


def test_at_and_by_of_erratum_5() -> None:
    """Thm 7 is about the breach at n, not by n."""
    found = sv.observations.breach_curve(COIN, None, [0], 0.5, 30)
    assert [round(x, 3) for x in (found.at[9], found.by[9], found.at[29], found.by[29])] == [
        0.382,
        0.567,
        0.715,
        0.877,
    ]
    either = sv.observations.breach_curve(COIN, None, [0], 0.5, 10, "either")
    assert either.by[-1] > found.by[9]


def test_a_level_that_cannot_be_reached() -> None:
    """2^ε·p(Q) ≥ 1: the posterior cannot grow by that factor, which Thm 7 omits."""
    for level in (1.0, 1.5):
        found = sv.observations.breach_curve(COIN, None, [0], level, 20)
        assert not found.reachable
        assert found.at.tolist() == found.by.tolist() == [0] * 20
        assert found.asymptote(1000) == 0
        assert "cannot happen" in str(found)
    # A breach is strictly beyond its level: with belief 1/4, certainty is exactly 2 bits.
    told = sv.Channel([[1, 0], [0, 1]])
    assert sv.observations.breach_curve(told, [0.25, 0.75], [0], 2.0, 3).at.tolist() == [0, 0, 0]
    assert sv.observations.breach_curve(told, [0.25, 0.75], [0], 1.99, 3).at.tolist() == [1, 1, 1]
    everything = sv.observations.breach_curve(COIN, None, [0, 1], 0.0, 3)
    assert not everything.reachable


def test_a_breach_is_out_of_reach_where_rows_are_equal() -> None:
    """Belief tends to that in a class of equal rows, and never exceeds the largest of these."""
    silent = sv.Channel([["1/2", "1/2"]] * 3)
    for direction in ("up", "down", "either"):
        found = sv.observations.breach_curve(silent, None, [0], 0.0, 4, direction)
        assert not found.reachable
        assert found.by.tolist() == [0] * 4
    until = sv.observations.observations_until_breach(silent, 0.5, level=1.0, predicate=[0])
    assert not until.reachable
    assert "no number of observations causes" in str(until)
    merged = sv.Channel([["3/5", "2/5"], ["3/5", "2/5"], ["2/5", "3/5"]])
    # Belief in 0 grows from 1/3 to at most 1/2, by less than 0.585 bits.
    assert sv.observations.breach_curve(merged, None, [0], 0.58, 200).by[-1] > 0
    assert not sv.observations.breach_curve(merged, None, [0], math.log2(1.5), 3).reachable


def test_the_rate_of_a_breach_depends_on_its_direction() -> None:
    assert sv.observations.breach_curve(COIN, None, [0], 0.5, 1, "up").rate_bits == pytest.approx(
        0.029447, abs=1e-6
    )
    # If the predicate is true, belief in it does not stay low: such a breach goes away.
    down = sv.observations.breach_curve(COIN, None, [0], 0.5, 400, "down")
    assert down.rate_bits == 0
    assert down.not_at[-1] > 0.99
    # 0 shares its row with 1: belief in it tends to 1/2 from 1/4, so half a bit is passed for good.
    merged = sv.Channel([["3/5", "2/5"], ["3/5", "2/5"], ["2/5", "3/5"], ["2/5", "3/5"]])
    for direction in ("up", "either"):
        found = sv.observations.breach_curve(merged, None, [0], 0.5, 800, direction)
        slope = -math.log2(found.not_at[799] / found.not_at[399]) / 400
        assert found.rate_bits == pytest.approx(0.029447, abs=1e-6)
        assert slope == pytest.approx(found.rate_bits + 0.5 / 400, rel=0.03)
    # 2 shares its row with 3, so belief in {0, 2} stays at 1/2 if it is 2.
    coins = sv.Channel([["3/5", "2/5"], ["1/2", "1/2"], ["2/5", "3/5"], ["2/5", "3/5"]])
    assert sv.observations.breach_curve(coins, None, [0, 2], 0.5, 1).rate_bits == 0


def test_breaches_of_extreme_levels() -> None:
    sharp = sv.Channel([[1 - 1e-300, 1e-300], [1e-300, 1 - 1e-300]])
    assert sv.observations.breach_curve(sharp, None, [0], 990.0, 1, "down").at[0] == pytest.approx(
        1e-300, rel=1e-9
    )
    assert sv.observations.breach_curve(sharp, None, [0], 1000.0, 1, "down").at[0] == 0
    told = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    for level in (1.0, 900.0, 1e6):
        found = sv.observations.breach_curve(told, None, [0], level, 2, "down")
        assert found.at.tolist() == [0, 0], "what is true is never ruled out"
    assert not sv.observations.breach_curve(told, None, [0], math.inf, 2, "either").reachable


def test_theorem_7_gives_the_slope_of_the_breach_at_n() -> None:
    channel = random_channel(3, 3, 20)
    found = sv.observations.breach_curve(channel, [0.2, 0.3, 0.5], [0], 1.0, 400)
    bits = sv.observations.chernoff_pairs(channel).bits
    assert found.rate_bits == pytest.approx(min(bits[0, 1], bits[0, 2]))
    slope = -math.log2(found.not_at[399] / found.not_at[199]) / 200
    assert slope == pytest.approx(found.rate_bits + 0.5 / 200, rel=0.02)
    assert (np.diff(found.by) >= -1e-12).all()
    assert (found.by >= found.at - 1e-12).all()


def test_zero_likelihoods_and_impossible_secrets() -> None:
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"], ["1/3", "1/3", "1/3"]])
    found = sv.observations.breach_curve(channel, [0.5, 0.5, 0], [0], 0.9, 3)
    assert found.at.tolist() == pytest.approx([0.5, 0.75, 0.875])
    assert found.by.tolist() == pytest.approx([0.5, 0.75, 0.875])
    assert found.rate_bits == pytest.approx(1)
    with pytest.raises(PriorError, match="probability 0"):
        sv.observations.breach_curve(channel, [0.5, 0.5, 0], [2], 0.5)


# ── backwards ────────────────────────────────────────────────────────────────────────────────────


def test_how_many_observations_until() -> None:
    found = sv.observations.observations_until(COIN, 0.9)
    assert (found.least, found.most) == (41, 41)
    assert sv.success_probability(COIN, None, 41).value >= 0.9 > sv.success_probability(COIN, None, 40).value
    assert sv.observations.observations_until(COIN, 0.5).most == 0
    never = sv.observations.observations_until(sv.Channel([[1, 0], [1, 0], [0, 1]]), 0.9)
    assert never.most is None
    assert "no number of observations" in str(never)
    assert sv.observations.observations_until(COIN, 1.0).most is None
    assert sv.observations.observations_until(sv.Channel([[1, 0], [0, 1]]), 1.0).most == 1
    with pytest.raises(GainError, match="probability above 0"):
        sv.observations.observations_until(COIN, 1.5)


def test_an_interval_of_observations_where_types_are_too_many() -> None:
    channel = random_channel(2, 60, 21, 1.0)
    found = sv.observations.observations_until(channel, 0.99)
    assert found.method == BOUNDS
    assert found.least <= found.most <= found.least * 1.05
    assert sv.success_probability(channel, None, found.most).lower >= 0.99 - 1e-9
    assert sv.success_probability(channel, None, found.least - 1).upper < 0.99


def test_several_targets_share_what_is_learned() -> None:
    channel = random_channel(6, 30, 23, 0.5)
    found = observations_until_each(channel, [0.5, 0.9], rng=4)
    assert [item.target for item in found] == [0.5, 0.9]
    assert found[0].most < found[1].least
    for item in found:
        alone = sv.observations.observations_until(channel, item.target, rng=5)
        assert alone.least <= item.most
        assert item.least <= alone.most
    few = random_channel(3, 3, 24)
    assert observations_until_each(few, [0.8]) == (sv.observations.observations_until(few, 0.8),)


def test_a_budget_in_queries() -> None:
    found = sv.query_budget(COIN, 0.75)
    assert (found.queries, found.too_many) == (10, 11)
    # Two observations are no better than one: ties count as kept.
    assert sv.query_budget(COIN, 0.6).queries == 2
    assert sv.query_budget(COIN, 0.55).queries == 0
    assert sv.query_budget(COIN, 1.0).queries is None
    other = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    mixed = sv.query_budget([COIN, other], 0.9)
    values = [(COIN, 1), (other, 1)]
    turn = [values[i % 2] for i in range(mixed.queries + 1)]
    assert sv.success_probability(turn[:-1]).value <= 0.9 < sv.success_probability(turn).value


def test_observations_until_a_breach() -> None:
    curve = sv.observations.breach_curve(COIN, None, [0], 0.5, 200)
    for when in ("at", "by"):
        found = sv.observations.observations_until_breach(COIN, 0.9, level=0.5, predicate=[0], when=when)
        n = found.most
        assert found.least == n
        assert found.method == EXACT
        values = getattr(curve, when)
        assert values[n - 1] >= 0.9
        assert (values[: n - 1] < 0.9).all()
    assert sv.observations.observations_until_breach(COIN, 0.9, level=1.0, predicate=[0]).most is None
    assert (
        sv.observations.observations_until_breach(COIN, 0.9, level=0.5, predicate=[0], most=20).most is None
    )
    many = random_channel(2, 40, 22)
    found = sv.observations.observations_until_breach(many, 0.9, level=0.5, predicate=[0], rng=1)
    assert found.least <= found.most


def test_bad_input_is_named() -> None:
    loss = sv.losses.bayes_risk(2)
    for asked in (
        sv.breaches,
        sv.observations.rates,
        sv.observations.chernoff_pairs,
        lambda matrix: sv.observations.breach_curve(matrix, None, [0]),
        lambda matrix: sv.observations.expected_loss(matrix, loss=loss),
    ):
        with pytest.raises(ChannelError, match=r"channel is array.*; give a sv\.Channel"):
            asked(np.eye(2))
    with pytest.raises(ChannelError, match=r"give one sv.Channel; join several by first\.alongside"):
        sv.observations.loss_curve([COIN, COIN], loss=loss)
    with pytest.raises(ChannelError, match="channel is 3; give"):
        sv.observations.observations_until(3, 0.5)
    with pytest.raises(ChannelError, match="observations is 0"):
        sv.success_probability(COIN, None, 0)
    with pytest.raises(ChannelError, match="empty"):
        sv.observations.success_curve(COIN, None, [])
    with pytest.raises(ChannelError, match="empty list"):
        sv.success_probability([])
    with pytest.raises(ChannelError, match="one of the channels is"):
        sv.success_probability([3])
    with pytest.raises(GainError, match="level is -1"):
        sv.observations.breach_curve(COIN, None, [0], -1)
    with pytest.raises(GainError, match="direction"):
        sv.observations.breach_curve(COIN, None, [0], 1, direction="sideways")
    with pytest.raises(ChannelError, match="not one of the channel's inputs"):
        sv.observations.breach_curve(COIN, None, ["x"], 1)


@pytest.mark.parametrize("h", [5e-7, 1e-8])
def test_nearly_equal_rows_take_very_many_observations(h: float) -> None:
    """About (z/2h)² observations, z the 90 % point of the normal distribution; never none, never an error."""
    channel = sv.Channel([[0.5 + h, 0.5 - h], [0.5 - h, 0.5 + h]])
    wanted = (1.2815515655446004 / (2 * h)) ** 2
    found = sv.observations.observations_until(channel, 0.9)
    assert found.least is not None and found.most is not None
    assert wanted * (1 - 1e-5) < found.least <= found.most < wanted * (1 + 1e-5)
    budget = sv.query_budget(channel, 0.9)
    assert budget.queries is not None and budget.too_many is not None
    assert wanted * (1 - 1e-5) < budget.queries < budget.too_many < wanted * (1 + 1e-5)


def test_numbers_beyond_reach_are_said_to_be_so() -> None:
    channel = sv.mechanisms.randomised_response(2, 1e-12)
    found = sv.observations.observations_until(channel, 0.9)
    assert found.most is None and found.least == 1 << 62 and "at least" in str(found)
    budget = sv.query_budget(channel, 0.9)
    assert budget.queries == (1 << 62) - 1 and budget.too_many is None


@pytest.mark.slow
def test_a_long_loss_curve_is_bounded_by_some_of_its_points() -> None:
    """Between the numbers that are looked at, the loss never rises; single questions fall within."""
    rr = sv.mechanisms.randomised_response(3, 0.2)
    for loss, is_loss in ((sv.losses.absolute(3), True), (sv.gains.identity(3), False)):
        curve = sv.observations.loss_curve(rr, loss=loss, observations=3000, rng=1)
        assert [point.observations for point in curve] == list(range(1, 3001))
        lower, upper = (np.array([getattr(point, end) for point in curve]) for end in ("lower", "upper"))
        assert (lower <= upper).all()
        ends = upper if is_loss else -lower
        assert (np.diff(ends) <= 1e-3).all()
        for n in (1, 37, 777, 2345):
            alone = sv.observations.expected_loss(rr, loss=loss, observations=n, rng=1)
            assert curve[n - 1].lower - 1e-3 <= alone.value <= curve[n - 1].upper + 1e-3


@pytest.mark.parametrize("h", [5e-7, 1e-9])
def test_nearly_equal_rows_are_told_apart_in_the_end(h: float) -> None:
    """Of two rows .5 ± h the better guess is right with probability Φ(2h√n) nearly."""
    channel = sv.Channel([[0.5 + h, 0.5 - h], [0.5 - h, 0.5 + h]])
    found = sv.observations.observations_until(channel, 0.9)
    assert found.least is not None and found.most is not None
    expected = (norm.ppf(0.9) / (2 * h)) ** 2
    assert found.least <= expected * (1 + 1e-9) and expected * (1 - 1e-9) <= found.most
    assert found.most <= found.least * (1 + 1e-4)
    budget = sv.query_budget(channel, 0.9)
    assert budget.queries is not None and abs(budget.queries + 1 - found.least) <= 1e-6 * found.least


def test_points_between_others_are_bounds() -> None:
    curve = sv.observations.success_curve(
        sv.mechanisms.randomised_response(3, 1.0), None, range(1, 5001), rng=1
    )
    assert all(point.exact == (point.method == "exact by types") for point in curve.points)
    assert not all(point.exact for point in curve.points)
