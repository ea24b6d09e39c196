"""The exact trade-off: worked frontiers, proofs and forgeries, every deterministic mechanism as oracle,
laws."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import GainError, MechanismError, PolicyError, TooLargeError
from sievert.inference import Correlation, accuracy, curve, frontier, survey_correlation, vulnerability
from sievert.inference._certificates import GRID, Exactly
from sievert.inference._solver import Solver
from sievert.proofs import FrontierProof, proof_from_dict, save_proof
from sievert.testing import channels

SURVEY = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
PEOPLE = [
    Correlation.from_labels([1, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2]),
    Correlation.from_labels([1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 1, 2]),
]
CROSSED = Correlation.from_counts([[3, 1, 4, 1], [1, 3, 1, 4]])
LIMITS = ["1/2", "11/20", "3/5", "5/8", "13/20", "2/3", "7/10", "3/4"]
FREE = ["3/4", "4/5", "17/20", "7/8", "9/10", "11/12", "19/20", "1"]
PRIVATE = ["9/16", "93/160", "3/5", "39/64", "99/160", "5/8", "5/8", "5/8"]
# Answers that differ in one participant: <0,0>, <1,0>, <0,1>, <1,1>.
HAMMING = sv.Metric([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]])


def fractions(texts: list[str]) -> tuple[Fraction, ...]:
    return tuple(Fraction(text) for text in texts)


def test_the_frontier_of_the_survey_of_two_is_exact() -> None:
    free = frontier(SURVEY, LIMITS)
    assert free.accuracies == fractions(FREE)
    private = frontier(SURVEY, LIMITS, alpha="1/3", metric=sv.metrics.line(3))
    assert private.accuracies == fractions(PRIVATE)
    for point in (*free, *private):
        assert point.exact and point.certificate.verify().holds
        assert vulnerability(point.mechanism, SURVEY).value == point.vulnerabilities[0] <= point.limits[0]
        assert accuracy(point.mechanism, SURVEY).value == point.accuracy


def test_it_is_the_same_with_and_without_seeing_the_answers() -> None:
    for limit, free, private in zip(LIMITS, FREE, PRIVATE, strict=True):
        raw = frontier(PEOPLE[0], limit)[0]
        assert raw.accuracy == Fraction(free)
        both = frontier(PEOPLE[0], limit, alpha="1/3", metric=HAMMING)[0]
        assert float(both.accuracy) == pytest.approx(float(Fraction(private)), abs=1e-8)
        assert frontier(PEOPLE[0], limit, insensitive=True)[0].accuracy == Fraction(free)


def test_randomised_response_is_dominated_and_the_geometric_is_not() -> None:
    best = curve(SURVEY, eps=math.log(3), metric=sv.metrics.line(3))
    assert best.at(5 / 8) == pytest.approx(0.609375) and best.at(5 / 8) > 19 / 32
    assert best.at(2 / 3) == pytest.approx(5 / 8)


def test_the_parity_tells_the_tally_and_nobody() -> None:
    for secrets in (PEOPLE, PEOPLE[:1]):
        point = frontier(secrets, "1/2")[0]
        assert point.accuracy == Fraction(3, 4)
        assert point.vulnerabilities == (Fraction(1, 2),) * len(secrets)


def test_one_secret_may_be_ignored_and_several_are_not() -> None:
    one = frontier(PEOPLE[0], "5/8")[0]
    other = vulnerability(one.mechanism, Correlation.from_labels([1] * 4, [0, 0, 1, 1], [0, 1, 1, 2]))
    both = frontier(PEOPLE, "5/8")[0]
    assert other.value >= both.vulnerabilities[1]
    assert both.accuracy <= one.accuracy
    loose = frontier(PEOPLE, ("5/8", "1"))[0]
    assert both.accuracy <= loose.accuracy <= one.accuracy


@pytest.mark.parametrize(("n", "value"), [(10, 0.492020789), (20, 0.485394701), (30, 0.487776467)])
def test_surveys_of_n_at_tally_level(n: int, value: float) -> None:
    """The spec prints 0.487776469 for 30: a solver that dropped probabilities below 1e-9. This one is
    proved."""
    point = frontier(survey_correlation(n), 0.55, eps=math.log(3), metric=sv.metrics.line(n + 1))[0]
    assert float(point.accuracy) == pytest.approx(value, abs=1e-9)
    assert 0 <= point.upper - point.accuracy < 1e-9
    assert max(point.vulnerabilities) <= 0.55 + 1e-9
    assert point.certificate.verify().holds


@pytest.mark.parametrize("limit", [0.5, 0.52, 0.53])
def test_a_long_line_is_cut_and_folded(limit: float) -> None:
    n = 120
    point = frontier(survey_correlation(n, 0.5), limit, eps=math.log(3), metric=sv.metrics.line(n + 1))[0]
    proof = point.certificate
    assert point.mechanism.shape[0] == n + 1
    assert proof.space.size < n and 0 < proof.tails < 1e-10
    assert 0 <= point.upper - point.accuracy < 1e-9
    assert proof.verify().holds
    assert sv.epsilon(point.mechanism, sv.metrics.line(n + 1)).nats <= math.log(3) + 1e-9
    assert float(vulnerability(point.mechanism, survey_correlation(n, 0.5)).value) <= limit + 1e-12
    # What the ends stand for is paid for: the same bound without it is refused.
    assert not replace(proof, tails=2 * proof.tails).verify().holds


def test_a_loose_limit_on_a_long_line_needs_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    n, metric, data = 100, sv.metrics.line(101), survey_correlation(100, 0.5)
    monkeypatch.setattr(Solver, "solve", None)
    point = frontier(data, 0.54, eps=math.log(3), metric=metric)[0]
    assert 0 <= point.upper - point.accuracy < 1e-10 and point.certificate.verify().holds
    assert float(vulnerability(point.mechanism, data).value) < 0.539
    # Ghosh, Roughgarden and Sundararajan: no mechanism is better than the geometric one.
    noise = sv.mechanisms.truncated_geometric(n + 1, math.log(3))
    assert float(point.accuracy) == pytest.approx(float(accuracy(noise, data).value), abs=1e-10)


def test_every_guess_counts_near_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sievert.inference._solver.VERY_LONG_LINE", 0)
    data, metric = survey_correlation(100, 0.5), sv.metrics.line(101)
    top = frontier(data, 1.0, eps=math.log(3), metric=metric)[0]
    limit = top.vulnerabilities[0] - 1e-4
    point = frontier(data, limit, eps=math.log(3), metric=metric)[0]
    assert 0 <= point.upper - point.accuracy < 1e-8 and point.certificate.verify().holds
    assert point.vulnerabilities[0] <= limit + 1e-11 and 0 < top.accuracy - point.accuracy < 1e-3


@pytest.mark.slow
def test_a_thousand_participants_are_proved_to_nine_digits() -> None:
    point = frontier(survey_correlation(1000, 0.5), 0.505, eps=math.log(3), metric=sv.metrics.line(1001))[0]
    assert float(point.accuracy) == pytest.approx(0.4398979103, abs=1e-9)
    assert 0 <= point.upper - point.accuracy < 1e-9
    assert max(point.vulnerabilities) <= 0.505 + 1e-12
    assert point.certificate.verify().holds


def test_a_long_lopsided_line_is_cut_on_each_side() -> None:
    n = 90
    point = frontier(survey_correlation(n, 0.3), 0.7, eps=0.5, metric=sv.metrics.line(n + 1))[0]
    assert 0 <= point.upper - point.accuracy < 1e-9 and point.certificate.verify().holds


@pytest.mark.parametrize("seed", range(4))
def test_floats_that_miss_1_by_rounding_are_proved_all_the_same(seed: int) -> None:
    joint = np.random.default_rng(seed).dirichlet(np.ones(6)).reshape(2, 3)
    point = frontier(Correlation(joint), 0.95, eps=1.0, insensitive=True)[0]
    assert point.certificate.verify().holds


def test_a_lopsided_line_needs_no_mirror() -> None:
    n = 8
    found = survey_correlation(n, "1/3")
    point = frontier(found, "7/10", alpha="1/2", metric=sv.metrics.line(n + 1))[0]
    dense = frontier(found, "7/10", alpha="1/2", metric=sv.Metric(sv.metrics.line(n + 1).matrix))[0]
    assert float(point.accuracy) == pytest.approx(float(dense.accuracy), abs=1e-8)


def every_deterministic(correlation: Correlation) -> list[tuple[Fraction, Fraction]]:
    """(V_S, V_U) of each map from pairs to guesses."""
    found = []
    uses = len(correlation.uses)
    for guesses in product(range(uses), repeat=len(correlation.inputs)):
        rows = [[int(y == guess) for y in range(uses)] for guess in guesses]
        channel = sv.Channel(rows, inputs=correlation.inputs)
        found.append((vulnerability(channel, correlation).value, accuracy(channel, correlation).value))
    return found


@given(st.lists(st.integers(0, 4), min_size=4, max_size=6))
@settings(max_examples=12)
def test_no_deterministic_mechanism_is_above_the_frontier(cells: list[int]) -> None:
    half = len(cells) // 2
    counts = [cells[:half], cells[half : 2 * half]]
    counts[0][0] += 1
    counts[1][-1] += 1
    counts[1][0] += 1
    correlation = Correlation.from_counts(counts)
    points = sorted(set(every_deterministic(correlation)))
    best = frontier(correlation, [limit for limit, _ in points])
    for (_, told), point in zip(points, best, strict=True):
        assert point.upper >= told - Fraction(1, 10**9)
        assert point.certificate.verify().holds
    # Telling the use itself is the end of the frontier.
    assert best[-1].accuracy == 1
    values = [float(point.accuracy) for point in best]
    assert values == sorted(values)


@given(channels(inputs=3, outputs=(2, 4), form="exact"))
@settings(max_examples=25)
def test_no_channel_is_above_the_frontier_of_its_own_level(channel: sv.Channel) -> None:
    correlation = Correlation([["1/4", "1/8", "1/8"], ["1/16", "3/16", "1/4"]])
    limit = vulnerability(channel, correlation).value
    told = accuracy(channel, correlation).value
    assert frontier(correlation, limit, insensitive=True)[0].upper >= told - Fraction(1, 10**9)
    level = sv.epsilon(channel, sv.metrics.discrete(3)).nats
    if 0 < level < 20:
        point = frontier(correlation, limit, eps=level * (1 + 1e-9), insensitive=True)[0]
        assert point.upper >= float(told) - 1e-9
        assert point.certificate.verify().holds


def test_the_curve_is_concave_and_rises() -> None:
    found = curve(CROSSED, eps=1.0, metric=sv.metrics.line(4))
    assert list(found.slopes) == sorted(found.slopes, reverse=True) and min(found.slopes) > 0
    assert list(found.limits) == sorted(found.limits)
    for a, b in zip(found.limits[:-1], found.limits[1:], strict=True):
        middle = (a + b) / 2
        point = frontier(CROSSED, middle, eps=1.0, metric=sv.metrics.line(4))[0]
        assert found.at(middle) == pytest.approx(float(point.accuracy), abs=1e-7)
    with pytest.raises(PolicyError, match="already"):
        found.at(0.1)


@pytest.mark.parametrize("people", [10, 30])
def test_every_kink_and_every_piece_of_a_curve_is_proved(people: int) -> None:
    line = sv.metrics.line(people + 1)
    found = curve(survey_correlation(people, 0.5), eps=math.log(3), metric=line)
    assert len(found.points) == len(found.limits) > 5 and found.gap < 1e-9
    for point, limit, told in zip(found.points, found.limits, found.accuracies, strict=True):
        assert float(point.limits[0]) == pytest.approx(limit, abs=1e-12) and float(point.accuracy) == told
    for left, right in pairwise(found.points[:: len(found.points) // 4]):
        assert left.certificate.verify().holds
        # The certificate of the left point, and the line that it is over all limits, checked once more.
        slope = sum(left.certificate.weights[0][0].tolist())
        further = slope * (right.certificate.limits[0] - left.certificate.limits[0])
        moved = replace(
            left.certificate,
            limits=right.certificate.limits,
            upper=left.certificate.upper + further,
            mechanism=right.certificate.mechanism,
            given=right.certificate.given,
            lower=right.certificate.lower,
        )
        assert moved.verify().holds
        assert not replace(moved, upper=moved.lower - Fraction(1, 10**6)).verify().holds


def test_the_gap_of_a_coarse_curve_says_how_coarse() -> None:
    survey, line = survey_correlation(30, 0.5), sv.metrics.line(31)
    fine = curve(survey, eps=math.log(3), metric=line)
    coarse = curve(survey, eps=math.log(3), metric=line, within=1e-2)
    assert len(coarse.limits) < len(fine.limits) and 1e-5 < coarse.gap <= 1e-2
    below = [fine.at(limit) - coarse.at(limit) for limit in np.linspace(0.5, fine.limits[-1], 200)]
    assert min(below) >= -1e-9 and 1e-6 < max(below) <= coarse.gap
    assert "drawn to within" in str(coarse) and "drawn" not in str(fine)
    assert "points" not in fine.to_dict()


@pytest.mark.slow
def test_the_curve_of_two_hundred_people_is_found() -> None:
    survey, line = survey_correlation(200, 0.5), sv.metrics.line(201)
    found = curve(survey, eps=math.log(3), metric=line, within=5e-3)
    assert found.accuracies[0] == pytest.approx(0.384, abs=1e-3)
    assert found.accuracies[-1] == pytest.approx(0.5, abs=1e-7)
    assert list(found.slopes) == sorted(found.slopes, reverse=True)
    point = frontier(survey, 0.51, eps=math.log(3), metric=line)[0]
    assert -1e-7 <= float(point.accuracy) - found.at(0.51) <= 5e-3
    with pytest.raises(PolicyError, match="within is 2"):
        curve(SURVEY, within=2)


def test_without_a_promise_the_whole_use_may_be_told() -> None:
    found = curve(SURVEY)
    assert found.limits == pytest.approx((0.5, 0.75)) and found.accuracies == pytest.approx((0.75, 1.0))
    assert found.slopes == pytest.approx((1.0,))


@pytest.mark.parametrize(
    "metric",
    [
        None,
        sv.metrics.line(4),
        sv.metrics.cycle(4),
        sv.Metric([[0, 0, 2, 3], [0, 0, 2, 3], [2, 2, 0, 1], [3, 3, 1, 0]]),
    ],
    ids=["discrete", "line", "cycle", "with coinciding points"],
)
def test_every_form_of_neighbourhood_is_proved(metric: Any) -> None:
    correlation = Correlation.from_counts([[3, 1, 4, 1], [5, 9, 2, 6]])
    for options in (dict(alpha="1/2"), dict(eps=0.7)):
        point = frontier(correlation, 0.72, metric=metric, insensitive=True, **options)[0]
        assert point.certificate.verify().holds
        assert point.upper - point.accuracy < 1e-7
        against = sv.metrics.discrete(4) if metric is None else metric
        assert sv.is_private(point.mechanism, against, options.get("eps", math.log(2) + 1e-12))
        assert float(accuracy(point.mechanism, correlation).value) >= float(point.accuracy) - 1e-12


def test_other_gains_stay_linear_programs() -> None:
    correlation = Correlation.from_counts([[3, 1, 4], [5, 9, 2], [2, 2, 2]])
    near = sv.gains.within(sv.metrics.line(3), 1)
    near = sv.gains.matrix(near.matrix, secrets=correlation.uses)
    blind = float(np.max(near.matrix @ correlation.use_prior.astype(float)))
    two = sv.gains.tries(correlation.secrets, 2)
    before = float(sv.vulnerability(correlation.secret_prior, two).value)
    points = frontier(correlation, [before, 0.9], gain=two, use_gain=near, insensitive=True)
    assert blind - 1e-9 <= float(points[0].accuracy) <= float(points[1].accuracy) <= 1
    assert all(point.certificate.verify().holds for point in points)
    with pytest.raises(GainError, match="loss"):
        frontier(correlation, 0.9, gain=sv.losses.bayes_risk(3))


SIZED = Correlation([["3/8", "1/8"], ["1/8", "3/8"]])


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (((0, 0), (0, 0)), "gain is 0 for every guess"),
        # Limits of 5e-13 are kept up to 1e-11: a mechanism that gives everything away would be "within" them.
        (((1e-12, 0), (0, 1e-12)), "gain has entries of up to 1.00e-12 in size"),
        (((1e-300, 0), (0, 1e-300)), "gain has entries of up to 1.00e-300 in size"),
        (((1e12, 0), (0, 1e12)), "1.00e.12 in size"),
        (((10**400, 0), (0, 1)), "e.400 in size"),
    ],
)
def test_a_gain_of_a_size_that_limits_do_not_resolve_is_refused(gain: Any, words: str) -> None:
    with pytest.raises(GainError, match=words):
        curve(SIZED, eps=1.0, gain=gain)
    with pytest.raises(GainError, match=words):
        frontier(SIZED, 0.7, gain=gain)


def test_a_gain_of_a_secret_that_never_occurs_is_one_point() -> None:
    found = curve(Correlation([["1/2", "1/2"], [0, 0]]), gain=((0, 0), (0, 1)))
    assert found.limits == (0,) and found.accuracies == (1,) and found.slopes == ()
    assert found.points[0].certificate.verify().holds


# ── Correlations that are known only nearly ─────────────────────────────────────────────────────────────────

NEARLY = Correlation([["3/8", "1/8"], ["1/8", "3/8"]])


@pytest.mark.parametrize("near", [dict(ball="1/10"), dict(box="1/20")])
def test_a_robust_mechanism_keeps_its_limit_for_every_joint_that_may_be_true(near: dict[str, str]) -> None:
    nominal = frontier(NEARLY, "3/5", insensitive=True)[0]
    point = frontier(NEARLY, "3/5", insensitive=True, **near)[0]
    assert point.exact and point.certificate.verify().holds
    assert point.accuracy < nominal.accuracy
    rng, exceeded = np.random.default_rng(1), 0
    for _ in range(300):
        if "ball" in near:
            other = 0.9 * NEARLY.floats + 0.1 * rng.dirichlet(np.ones(4) / 3).reshape(2, 2)
        else:
            shift = rng.uniform(-0.05, 0.05, (2, 2))
            other = NEARLY.floats + shift - shift.mean()
            if np.abs(other - NEARLY.floats).max() > 0.05:
                continue
        true = Correlation(other / other.sum())
        assert float(vulnerability(point.mechanism, true)) <= 0.6 + 1e-9
        exceeded += float(vulnerability(nominal.mechanism, true)) > 0.6 + 1e-9
    assert exceeded > 0


@pytest.mark.parametrize("near", [dict(ball=0), dict(box=0)])
def test_no_doubt_is_the_plain_frontier(near: dict[str, int]) -> None:
    plain = frontier(NEARLY, ["3/5", "7/10"], insensitive=True)
    assert frontier(NEARLY, ["3/5", "7/10"], insensitive=True, **near).accuracies == plain.accuracies


def test_more_doubt_costs_more() -> None:
    points = [frontier(NEARLY, "7/10", alpha="1/9", insensitive=True, ball=r)[0] for r in (0, "1/20", "1/10")]
    found = [float(point.accuracy) for point in points]
    assert found == sorted(found, reverse=True) and found[-1] < found[0]
    raw = frontier(PEOPLE[0], "7/10", ball="1/20")[0]
    assert raw.certificate.verify().holds and raw.accuracy <= Fraction(19, 20)


@pytest.mark.parametrize(
    ("near", "message"),
    [
        (dict(ball=2), "ball is 2"),
        (dict(box="x"), "box is 'x'"),
        (dict(ball=0.1, box=0.1), "both given"),
        (dict(ball=0.5), "before any release"),
    ],
)
def test_bad_doubts(near: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        frontier(NEARLY, 0.6, insensitive=True, **near)


def test_a_box_with_too_many_corners_is_refused() -> None:
    with pytest.raises(TooLargeError, match="give a ball instead"):
        frontier(survey_correlation(12), 0.7, insensitive=True, box=0.01)


# ── Proofs ──────────────────────────────────────────────────────────────────────────────────────────────────


def proof(**options: Any) -> FrontierProof:
    return frontier(SURVEY, "3/5", alpha="1/3", metric=sv.metrics.line(3), **options)[0].certificate


def test_a_proof_survives_json() -> None:
    found = proof_from_dict(json.loads(save_proof(proof())))
    assert found.verify().holds and "exactly 3/5" in found.verify().statement


def test_a_proof_is_checked_where_no_solver_can_be_imported(tmp_path: Path) -> None:
    target = tmp_path / "proof.json"
    target.write_text(save_proof(proof()), encoding="utf-8")
    code = (
        "import sys; sys.modules['highspy'] = None; from sievert.proofs import verify; "
        f"print(verify({str(target)!r}).holds)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_forged_proofs_are_refused() -> None:
    good = proof()
    better = good.mechanism.copy()
    better[0, 0], better[0, 1] = better[0, 0] + Fraction(1, 100), better[0, 1] - Fraction(1, 100)
    raised = good.weights[0].copy()
    raised[0, 0], raised[0, 1] = raised[0, 0] + raised[0, 1] + 1, Fraction(-1)
    forgeries = [
        replace(good, upper=good.upper - Fraction(1, 1000)),
        replace(good, lower=good.lower + Fraction(1, 1000), upper=good.upper + Fraction(1, 1000)),
        replace(good, mechanism=better),
        replace(good, given=(good.given[0] - Fraction(1, 1000),)),
        replace(
            good,
            prices=good.prices - Fraction(1, 1000),
            upper=good.upper - Fraction(3, 1000),
            lower=Fraction(0),
        ),
        replace(good, weights=(raised,)),
        replace(good, space=replace(good.space, alpha=Fraction(1, 2))),
        replace(good, limits=(good.limits[0] + Fraction(1, 100),)),
        replace(good, prior=good.prior * 2),
    ]
    for forged in forgeries:
        assert not forged.verify().holds


def truth() -> dict[str, Any]:
    """Parts of a mechanism that tells the tally itself, and of prices that pay for it."""
    tally = np.array([[Fraction(int(i == j)) for j in range(3)] for i in range(3)], dtype=object)
    prices = np.array([Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)], dtype=object)
    nothing = (np.full((3, 2), Fraction(0), dtype=object),)
    return dict(mechanism=tally, prices=prices, weights=nothing, lower=Fraction(1), upper=Fraction(1))


def test_a_mechanism_above_the_limit_proves_no_optimum() -> None:
    good = frontier(SURVEY, "1/2", insensitive=True)[0].certificate
    above = replace(good, given=(Fraction(3, 4),), **truth()).verify()
    assert above.holds and "the most" not in above.statement and "which is more" in above.statement


def test_secrets_are_tied_to_the_prior() -> None:
    good = frontier(SURVEY, "1/2", insensitive=True)[0].certificate
    zero = tuple(joint * 0 for joint in good.joints)
    for joints in (zero, tuple(joint[::, ::-1] * 1 for joint in good.joints), (good.joints[0] * 2,)):
        nothing = dict(given=(Fraction(0),), limits=(Fraction(0),), **truth())
        forged = replace(good, joints=joints, **nothing)
        assert not forged.verify().holds


def test_a_proof_says_for_which_level_and_neighbours() -> None:
    said = proof().verify().statement
    assert "3 inputs in a line, neighbours 1 apart, with e^-ε = 1/3" in said
    other = frontier(SURVEY, "3/5", eps=1.0, insensitive=True)[0].certificate.verify().statement
    assert "3 inputs, each 1 from every other, with ε = 1" in other
    circle = frontier(CROSSED, 0.6, eps=1.0, metric=sv.metrics.cycle(4))[0].certificate.verify().statement
    assert "4 inputs, 4 pairs of which are 1 apart" in circle


def test_a_length_that_nobody_can_raise_to_is_refused_before_work() -> None:
    good = proof()
    for length in (10**9, 10**12):
        space = replace(good.space, lengths=(Fraction(length),) * 2)
        assert not replace(good, space=space).verify().holds


def test_a_gain_of_ones_own_is_not_cut() -> None:
    found, gain = survey_correlation(60, 0.5), np.array([[1e6, 0], [0, 1e6]])
    point = frontier(found, 520000.0, eps=1.0, metric=sv.metrics.line(61), gain=gain)[0]
    assert point.certificate.tails == 0 and point.certificate.verify().holds
    assert float(vulnerability(point.mechanism, found, gain)) <= 520000.0 * (1 + 1e-12)
    own = tuple(np.array([[Fraction(2), 0], [0, Fraction(2)]], dtype=object) for _ in point.certificate.wants)
    assert not replace(point.certificate, wants=own, tails=Fraction(1, 100)).verify().holds


@pytest.mark.parametrize("eps", [20.0, 36.0, 40.0, 100.0, 700.0, 745.0, 1e4, 1e300])
@pytest.mark.parametrize(
    "metric", [None, sv.metrics.line(3), sv.metrics.cycle(4)], ids=["any", "line", "cycle"]
)
def test_a_large_level_is_almost_none(eps: float, metric: Any) -> None:
    correlation = CROSSED if metric is not None and metric.size == 4 else SURVEY
    free = frontier(correlation, "3/5", insensitive=metric is not None)[0]
    point = frontier(correlation, "3/5", eps=eps, metric=metric)[0]
    assert point.certificate.verify().holds
    assert float(free.accuracy) - 20 * math.exp(-eps) - 1e-12 <= float(point.accuracy)
    assert float(point.upper) <= float(free.accuracy) + math.exp(-eps) + 1e-12
    assert float(max(point.vulnerabilities)) <= 0.6 + 1e-15


def test_no_level_at_all_takes_a_metric_too() -> None:
    for level in (dict(eps=math.inf), dict(alpha=0)):
        assert frontier(SURVEY, "3/5", metric=sv.metrics.line(3), **level)[0].accuracy == Fraction(17, 20)


@pytest.mark.parametrize("limit", [0.6979166666666666, 0.7291666666666666, 0.7604166666666666])
def test_rounding_never_makes_a_probability_negative(limit: float) -> None:
    point = frontier(Correlation.from_counts([[2, 0, 3], [3, 7, 0]]), limit)[0]
    assert point.certificate.verify().holds and point.upper - point.accuracy < 1e-12


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(limits=0.4), PolicyError, "guessed with probability 0.5 before any release"),
        (dict(limits=[]), PolicyError, "limits is empty"),
        (dict(limits="a"), PolicyError, "give probabilities"),
        (dict(limits=(0.6, 0.7)), PolicyError, "one for each of 1"),
        (dict(limits=0.6, metric=sv.metrics.line(3)), MechanismError, "metric goes with eps"),
        (dict(limits=0.6, eps=1.0, metric=sv.metrics.line(5)), PolicyError, "metric is about"),
        (dict(limits=0.6, eps=-1.0), MechanismError, "eps"),
        (dict(limits=0.6, alpha="1/2", metric=sv.Metric([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]])),
         MechanismError, "whole distances"),
    ],
)  # fmt: skip
def test_bad_questions(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        frontier(SURVEY, **arguments)


def test_a_secret_that_is_the_use_has_no_free_lunch() -> None:
    same = Correlation([["2/3", 0], [0, "1/3"]])
    point = frontier(same, 0.8)[0]
    assert point.accuracy == pytest.approx(0.8)
    assert re.search(r"no free lunch.*Thm 5\.1.*e ≥ 0\.166667", point.remark)
    assert point.remark in str(point)


def test_a_secret_that_is_the_use_under_a_promise() -> None:
    half = Correlation([["1/2", 0], [0, "1/2"]])
    found = frontier(half, ["1/2", "2/3", "3/4", "1"], alpha="1/5")
    # min(τ, best): randomised response of α = 1/5 tells 5/6.
    assert found.accuracies == (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(5, 6))
    assert all(point.certificate.verify().holds for point in found)
    assert curve(half, alpha="1/5").accuracies == pytest.approx((1 / 2, 5 / 6))
    # One of several secrets is the use; and another that is independent of it.
    other = Correlation([["1/4", "1/4"], ["1/4", "1/4"]])
    both = frontier([other, half], [("1/2", "3/4")], alpha="1/5", insensitive=True)[0]
    assert (both.accuracy, bool(both.remark)) == (Fraction(3, 4), True)
    assert not frontier(other, "1/2")[0].remark


@pytest.mark.parametrize("level", [{"eps": 1.0}, {"alpha": "1/2"}, {"eps": 0.0}])
def test_no_two_points_at_finite_distance(level: dict[str, Any]) -> None:
    apart = sv.Metric(np.where(np.eye(3) > 0, 0, np.inf))
    survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    # Nothing is promised between any two, so that it is as without a promise.
    found = frontier(survey, ["1/2", "3/4"], metric=apart, **level)
    assert found.accuracies == frontier(survey, ["1/2", "3/4"], insensitive=True).accuracies
    assert all(point.certificate.verify().holds for point in found)
    assert curve(survey, metric=apart, **level).accuracies == curve(survey, insensitive=True).accuracies


def test_secrets_known_apart_need_insensitive_mechanisms() -> None:
    first, second = Correlation([["1/4", "1/4"], ["1/4", "1/4"]]), Correlation([["1/2", 0], [0, "1/2"]])
    third = Correlation([["3/8", "1/8"], ["1/8", "3/8"]])
    with pytest.raises(PolicyError, match="insensitive=True"):
        frontier([first, third], 0.7)
    assert frontier([first, third], "3/4", insensitive=True)[0].accuracy == 1
    with pytest.raises(PolicyError, match="same data"):
        frontier([first, Correlation([["3/4", "1/4"]])], 0.8)
    assert second.secret_equals_use


def test_what_guesses_are_worth_beyond_the_prices_is_exact() -> None:
    proof = frontier(survey_correlation(6, "1/3"), 0.7, eps=1.0, metric=sv.metrics.line(7))[0].certificate
    exact = Exactly(
        proof.prior, proof.gain, proof.joints, proof.wants, proof.leaks, proof.tails, proof.robust
    )
    prices = np.array([3 * x - 7 for x in range(7)], dtype=object)
    weights = np.array([[y, 5 - y] for y in range(7)], dtype=object)
    found = exact.functionals(prices, (weights,)).fractions * GRID
    for y, x in product(range(7), range(7)):
        paid = sum(w * leak[x] for w, leak in zip(weights[y], proof.leaks[0], strict=True))
        assert found[y, x] == GRID * proof.gain[y, x] * proof.prior[x] - prices[x] - paid
    assert all(sum(row) == 1 for row in proof.mechanism.tolist())
