"""What the parts of a check give at their edges, each compared with what its sentence says."""

import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import flint
import numpy as np
import pytest
from more_proofs import MORE
from test_every_check import BASES, PATH, TRUE, UNIT

from sievert.numerics import UNIT as ROUNDED
from sievert.proofs import Decay, Proof, ProofSpace, proof_from_dict
from sievert.proofs import _base as base
from sievert.proofs._bounds import kernel_value
from sievert.proofs._closed_leakage import ClosedLeakageProof, _decay
from sievert.proofs._design import Multipliers, check_private, costs, loss_below, require_rows
from sievert.proofs._designs import exact_loss, vulnerability_above
from sievert.proofs._documents import _short, distance_above
from sievert.proofs._joint import _edges, _of_quantile
from sievert.proofs._noise import composed_delta_above
from sievert.proofs._noise_order import _above
from sievert.proofs._objections import _held
from sievert.proofs._privacy import (
    EXPONENTIAL,
    GEOMETRIC,
    RESPONSE,
    Slope,
    compare_slopes,
    likelihood_ratio,
    privacy_violation,
    smallest_alpha,
    steepest,
)
from sievert.proofs._reading import floats, fraction, parse_json, whole
from sievert.proofs._refinement import AdversaryProof, BlockSizesProof, CascadeProof, ClassProof, MixtureProof
from sievert.proofs._runs import _tail_above
from sievert.proofs._space import METRIC_ERROR, _enclosed, exact_power
from sievert.proofs._universal import UniversalProof
from sievert.proofs._universal_theorems import is_single_crossing
from sievert.proofs._vector_codes import FINE, _convolved, _up
from sievert.proofs._worst import WorstLeakageProof, shown_value
from sievert.spaces import Edges

HALF, ONE = Fraction(1, 2), Fraction(1)


def table(*rows: Any) -> Any:
    """Rows of fractions."""
    return np.array([[Fraction(value) for value in row] for row in rows], dtype=object)


def space(size: int, *edges: tuple[int, int], lengths: Any = None, metric: bool = False) -> ProofSpace:
    pairs = np.array(edges, dtype=np.intp).reshape(-1, 2)
    return ProofSpace(size, pairs, np.array(lengths or [1.0] * len(edges)), metric)


# ── Reading, and words ──────────────────────────────────────────────────────────────────────────────────────


def test_a_kind_needs_grounds() -> None:
    with pytest.raises(TypeError, match="no theorem"):

        class Wishful(Proof):
            kind: ClassVar[str] = "wishful"

    class Part(Proof):  # no kind of its own, so that it needs none
        pass

    assert "wishful" not in base._KINDS


def test_what_a_command_was_told_comes_back() -> None:
    told = {**BASES["noise"](), "about": "digest", "options": {"eps": 1}}
    assert proof_from_dict(told).to_dict()["options"] == {"eps": 1}


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (lambda: base.growth(ONE), "2.718282"),
        (lambda: base.growth(Fraction(40)), "235385266837019985.407900"),
        (lambda: base.growth(Fraction(81, 2)), "e^40.5"),
        (lambda: base.measured(Fraction(1, 3), down=True), "0.333333"),
        (lambda: base.measured(HALF, down=False), "0.5"),
        (lambda: shown_value(Fraction(10**9) - HALF, down=True), "999999999.500000000000"),
        (lambda: shown_value(Fraction(10**9), down=True)[:4], "2^29"),
        (lambda: _held([Fraction(1, 4)] * 3), "0 (1/4), 1 (1/4), 2 (1/4)"),
        (lambda: _held([Fraction(1, 4)] * 4), "0, 1 … 3"),
    ],
)
def test_numbers_in_words(shown: Callable[[], str], words: str) -> None:
    assert shown() == words


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("worst", {}, "as before."),
        ("worst", {"copies": 2}, "as before about one record, and that to the power of 2 about all."),
        ("weights", {}, "nobody who is paid by these weights expects more than"),
        ("star form", {}, "as before."),
        ("line form", {}, "as before about one record, and that to the power of 2 about all."),
        ("map", {}, "as before, and that to the power of 2 about all records."),
        ("map", {"copies": 1}, "as before."),
        ("product", {}, "as before."),
        ("product", {"copies": 2, "factors": 1}, "as before, and that to the power of 2 about all records."),
        ("universal", {}, "no mechanism that is as private serves them better."),
        ("universal", {"gap": HALF}, "serves them better by at most 1/2."),
    ],
)
def test_meanings(name: str, given: dict[str, Any], words: str) -> None:
    proof: Any = proof_from_dict(BASES[name]())
    if "factors" in given:
        given = {**given, "factors": proof.factors[:1], "given": None, "places": None}
    assert words in replace(proof, **given).meaning()


def test_a_meaning_counts_what_rows_miss() -> None:
    rows = [["0.7499999990", "1/4"], ["1/4", "3/4"]]
    proof = proof_from_dict({**BASES["likelihood"](), "rows": rows, "bound": "2e-9"})
    assert "e^1.2e-08." in proof.meaning()


def test_limits_of_what_is_read() -> None:
    assert parse_json("[" * 50 + "]" * 50)
    with pytest.raises(ValueError, match="nested more than 50"):
        parse_json("[" * 51 + "]" * 51)
    assert fraction("-" + "9" * 4300) < 0 < whole("9" * 4300)
    with pytest.raises(ValueError, match="more than 4300 digits"):
        fraction("-" + "9" * 4301)
    assert floats([2**63 - 1]) == 2.0**63
    with pytest.raises(ValueError, match="not a number that it may have"):
        floats([2**63])


# ── Spaces and powers of e ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("points", "is_uniform"),
    [
        (space(1), False),
        (space(2, (0, 1)), True),
        (space(2, (0, 0)), False),
        (space(3, (0, 1), (1, 2), (0, 2)), True),
        (space(3, (0, 1), (1, 2), (2, 0), lengths=[2.0, 2.0, 2.0]), True),
        (space(3, (0, 1), (1, 2), (2, 0), lengths=[2.0, 2.0, 3.0]), False),
        (space(3, (0, 1), (1, 2)), False),
        (space(3, (0, 1), (1, 2), (2, 1)), False),
        (space(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)), True),
        (space(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3)), False),
    ],
)
def test_whether_all_points_are_equally_far_apart(points: ProofSpace, is_uniform: bool) -> None:
    assert points.is_uniform is is_uniform


def test_lengths_that_keep_their_digits() -> None:
    assert space(2, (0, 1), lengths=[2.0**53 - 1]).whole
    assert not space(3, (0, 1), (1, 2), lengths=[2.0**52] * 2).whole
    for size in (2, 50):
        error = space(size, (0, 1), lengths=[0.5]).distance_error
        assert 2 * size * ROUNDED <= error <= 4 * (size + 1) * ROUNDED
    straight = np.array([[0.0], [1.0]])
    for units, holds in ((24, True), (30, False)):
        pair = space(2, (0, 1), lengths=[1 + units * ROUNDED], metric=True)
        with contextlib.nullcontext() if holds else pytest.raises(ValueError, match="not that between"):
            replace(pair, coordinates=straight)
    shorter = space(2, (0, 1), lengths=[3.0], metric=True).shorter
    assert 3 * (1 - 1.1 * METRIC_ERROR - 8 * ROUNDED) < shorter < 3 * (1 - METRIC_ERROR)


def test_a_length_that_is_known_roughly_bounds_little() -> None:
    far = np.array([1e14])
    assert [float(end[0]) for end in _enclosed(-HALF, far, METRIC_ERROR)] == [0.0, 1e-300]
    assert [float(end[0]) for end in _enclosed(HALF, far, METRIC_ERROR)] == [1e300, math.inf]


def test_powers_and_exponents() -> None:
    with pytest.raises(ValueError, match="too many digits"):
        exact_power(Fraction(1, 2**20), 7000.0)
    lengths = np.array([0.0, 2.0, np.inf])
    assert Decay(alpha=Fraction(0)).exponents(lengths).tolist() == [0.0, np.inf, np.inf]
    assert Decay(alpha=ONE).exponents(lengths[:2]).tolist() == [0.0, 0.0]
    assert Decay(alpha=Fraction(2, 3)).exponents(lengths[:2]) == pytest.approx([0, 2 * math.log(1.5)])
    assert Decay(eps=HALF).exponents(lengths[:2]).tolist() == [0.0, 1.0]
    near = Decay(eps=Fraction(1, 10**60))
    assert near.allows(5, 5, 1.0) and not near.allows(4, 5, 1.0)
    assert Decay(eps=ONE).allows(2, 5, 1.0) and not Decay(eps=ONE).allows(1, 5, 1.0)
    assert Decay(eps=ONE).allows(1, 5, 2.0) and not Decay(eps=ONE).allows(4, 5, 0.0)
    assert _decay(Fraction(1, 10**60))[1] == 1


def test_a_kernel_is_kept_for_its_own_level() -> None:
    path = space(3, (0, 1), (1, 2))
    first, second = (path.kernel(Fraction(level))[0] for level in (1, 2))
    assert first[0, 1] == pytest.approx(math.exp(-1)) and second[0, 1] == pytest.approx(math.exp(-2))
    assert path.kernel(Fraction(2))[0] is second


def test_columns_of_no_weight() -> None:
    """One of them adds nothing; without any there is no channel."""
    content = json.loads(json.dumps(MORE["columns"]))
    whole = proof_from_dict(content).bounds()[0]
    content["lower"]["columns"].append([0, 2, 0])
    content["lower"]["z"].append(0.0)
    assert proof_from_dict(content).bounds()[0] == whole
    content["lower"]["z"] = [0.0] * 3
    with pytest.raises(ValueError, match="a weight above 0"):
        proof_from_dict(content).bounds()


def test_a_divergence_whose_power_is_not_written_out() -> None:
    content = {**BASES["divergence"](), "order": "3", "divergence": "60000", "rho": "20000"}
    with pytest.raises(ValueError, match="too large to be written out"):
        proof_from_dict(content).proved()


def test_a_kernel_too_large_for_doubles() -> None:
    with pytest.raises(ValueError, match="too large"):
        kernel_value(ProofSpace.from_data(PATH), ONE, {"z": [1.5e200, 0.0, 0.0], "t": 0.5})


def test_numbers_rounded_upwards() -> None:
    assert (_up(ONE), _up(Fraction(1, 3))) == (1 << FINE, ((1 << FINE) + 2) // 3)
    one = 1 << FINE
    assert _convolved([one], [one]) == [one]
    assert _convolved([one, one], [one, 0, one // 2]) == [one, one, one // 2, one // 2]
    root, unit = distance_above((ONE, ONE), (Fraction(0), Fraction(0))), Fraction(1, 2**100)
    assert (root - unit) ** 2 < 2 <= root**2
    assert 0 <= _short(Fraction(1, 3)) - Fraction(1, 3) < unit


@pytest.mark.parametrize(("trials", "share"), [(1, "1/2"), (7, "1/4"), (8, "1/2"), (8, "2/3"), (900, "1/2")])
def test_tails_of_binomials(trials: int, share: str) -> None:
    p = Fraction(share)
    for hits in range(1, trials + 1) if trials < 9 else (455, 500, 900):
        terms = (math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(hits, trials + 1))
        exact, found = sum(terms, Fraction(0)), _tail_above(trials, hits, p)
        if (trials - hits) * p >= (hits + 1) * (1 - p):
            assert found == 1
        else:
            assert exact <= found <= exact * (1 + Fraction(1, 2**99))


def test_composed_deltas_are_probabilities() -> None:
    for total in (0, 1):
        assert composed_delta_above(Fraction(1000), Fraction(0), 2, Fraction(total)) == 1
    assert composed_delta_above(ONE, Fraction(0), 2, Fraction(2)) <= Fraction(1, 2**99)
    assert flint.ctx.prec == 53


def test_levels_that_only_many_digits_tell_apart() -> None:
    level, near = ("alpha", HALF), Fraction(1, 2**300)
    with flint.ctx.workprec(400):
        mantissa, exponent = flint.arb(2).log().mid().man_exp()
    about = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    assert [_above(("eps", about + shift), level) for shift in (near, -near)] == [1, -1]
    assert [_above(level, ("eps", about + shift)) for shift in (near, -near)] == [-1, 1]


# ── Designs ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_costs_at_the_ends_of_what_doubles_hold() -> None:
    largest = Fraction(float(np.finfo(np.float64).max))
    assert costs(table([HALF])[0], table([2 * largest])) == largest
    with pytest.raises(ValueError, match="beyond the largest float"):
        costs(table([HALF])[0], table([2 * largest + 1]))


@pytest.mark.parametrize("row", [[-1, 1], [UNIT + 1, 0], [-1, UNIT + 1]])
def test_entries_of_a_mechanism(row: list[int]) -> None:
    with pytest.raises(ValueError, match="from 0 to 2"):
        require_rows(np.array([row]))


def test_a_row_whose_sum_wraps_around() -> None:
    with pytest.raises(ValueError, match="not distributions"):
        require_rows(np.full((1, 2**11 + 1), UNIT))


def test_a_mechanism_of_one_row_for_each_point() -> None:
    for counts in (np.full((1, 3), UNIT), np.zeros((3, 0), dtype=np.int64), np.full(3, UNIT)):
        with pytest.raises(ValueError, match="one row for each point"):
            check_private(ProofSpace.from_data(PATH), Decay(eps=ONE), counts)


def test_multipliers_count_along_their_own_edge() -> None:
    """Σ_x min_w of the costs less what flows out and more what flows in, shrunk along the edge."""
    points = space(3, (0, 1), (1, 2), lengths=[1.0, 3.0])
    flow = Multipliers(np.array([2]), np.array([1]), np.array([0.4]))
    cost = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    found = loss_below(points, Decay(alpha=HALF), cost, flow)
    assert found == pytest.approx(0.0 + 0.6 + 0.05)
    joined = Multipliers.joined([flow, Multipliers.none(), flow])
    assert (joined.arc.tolist(), joined.value.tolist()) == ([2, 2], [0.4, 0.4])
    assert len(Multipliers.joined([]).value) == 0


@pytest.mark.parametrize(
    ("prior", "gain", "counts", "is_nothing"),
    [
        ([1.0, 0.0], [[0.0, 1.0]], [[UNIT], [UNIT]], True),
        ([0.5, 0.5], [[1.0, 0.0]], [[0], [UNIT]], True),
        ([1.0], [[0.0]], [[UNIT]], True),
        ([5e-324], [[1.0]], [[1]], False),
    ],
)
def test_what_is_reached_never_is_nothing_by_rounding(
    prior: Any, gain: Any, counts: Any, is_nothing: bool
) -> None:
    found = vulnerability_above(np.array(prior), np.array(gain), np.array(counts))
    assert (found == 0.0) is is_nothing


def test_a_loss_counts_the_least_probability() -> None:
    assert exact_loss(np.array([1.0]), np.array([[0.0], [1.0]]), np.array([[UNIT - 1, 1]])) == Fraction(
        1, UNIT
    )


def test_a_budget_has_a_price_from_0_on() -> None:
    proof: Any = proof_from_dict(MORE["least loss"])
    assert "the price of the budget" in replace(proof, price=-1.0).verify().statement
    assert not replace(proof, price=math.inf).verify()


# ── Noise of several tables ─────────────────────────────────────────────────────────────────────────────────


def test_neighbours_of_profiles_are_listed_once_at_their_least_distance() -> None:
    pairs = np.array([[0, 1], [2, 0], [1, 2], [0, 3]])
    for uniform in (None, 2):
        policy = SimpleNamespace(
            record_metric=SimpleNamespace(uniform_distance=uniform),
            record_edges=Edges(pairs, np.array([3.0, 1.0, 2.0, 5.0])),
        )
        noise: Any = SimpleNamespace(policy=policy)
        assert _edges(noise, np.array([0, 1, 1, 0])) == ((0, 1, ONE),)
    policy.record_metric.uniform_distance = 1
    assert _edges(noise, np.array([0, 1, 1, 0])) is None
    cell: Any = SimpleNamespace(cell_eps=Fraction)
    assert _of_quantile(cell) == (ONE, 1)


# ── Orders ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_ratios_of_likelihoods() -> None:
    assert likelihood_ratio([0, ONE], [0, ONE]) == 1
    assert likelihood_ratio([0, ONE], [ONE, 0]) is None
    a, b = table(["1/2", "1/2"], ["1/4", "3/4"]), table(["1/2", "1/2"], ["1/5", "4/5"])
    assert privacy_violation(a, b) == (1, 0)
    assert privacy_violation(a, b, Fraction(1, 4)) is None
    assert privacy_violation(a, b, Fraction(249, 1000)) == (1, 0)
    proof: Any = proof_from_dict(BASES["privacy witness"]())
    assert "does not exist" in replace(proof, pair=(-1, 0)).verify().statement


@pytest.mark.parametrize(
    ("first", "second", "sign"),
    [
        (Slope(Fraction(2), ONE), Slope(Fraction(2), ONE), 0),
        (Slope(Fraction(4), Fraction(2)), Slope(Fraction(2), ONE), 0),
        (Slope(Fraction(5), Fraction(2)), Slope(Fraction(2), ONE), 1),
        (Slope(Fraction(3), Fraction(2)), Slope(Fraction(2), ONE), -1),
        (Slope(), Slope(Fraction(2), Fraction(9)), -1),
        (Slope(), Slope(ONE, Fraction(10**7)), 0),
        (Slope(None), Slope(Fraction(2)), 1),
    ],
)
def test_slopes_are_compared_exactly(first: Slope, second: Slope, sign: int) -> None:
    assert compare_slopes(first, second) == sign


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Slope(1 + Fraction(1, 10**1300)), Slope(1 + Fraction(2, 10**1300), Fraction(2))),
        (Slope(Fraction(2**3000), Fraction(3000)), Slope(Fraction(2))),
    ],
)
def test_slopes_that_nothing_tells_apart_are_refused(first: Slope, second: Slope) -> None:
    with pytest.raises(ValueError, match="too close"):
        compare_slopes(first, second)


def test_the_first_of_equal_slopes_is_the_steepest() -> None:
    told = table(["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"])
    found = steepest(told, np.ones((3, 3)))
    assert (found.pair, found.ratio) == ((0, 1), 2)
    small = table(["1/2", "1/2"], ["2/5", "3/5"])
    assert steepest(small, np.ones((2, 2))).ratio == Fraction(5, 4)
    assert steepest(small[:1], np.ones((1, 1))) == Slope(ONE, ONE, None)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_the_least_parameter_of_an_exponential_mechanism(size: int) -> None:
    """A⁻¹B ≥ 0 at that parameter, and not just below it."""
    a = Fraction(2, 5)
    kernel = table(*[[a ** abs(i - j) for j in range(size)] for i in range(size)])
    inverse = np.linalg.inv((kernel / kernel.sum(axis=1)[:, None]).astype(np.float64))
    for second in (GEOMETRIC, RESPONSE):
        least = float(smallest_alpha(EXPONENTIAL, second, a, size))
        for alpha, holds in ((least + 1e-6, True), (least - 1e-6, False)):
            away = (
                np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
                if second == GEOMETRIC
                else (1 - np.eye(size))
            )
            other = alpha ** away.astype(np.float64)
            if second == GEOMETRIC:  # truncated: the ends take what lies beyond
                other[:, 1:-1] *= 1 - alpha
                other /= 1 + alpha
            else:
                other /= other.sum(axis=1)[:, None]
            assert bool((inverse @ other >= -1e-12).all()) is holds


# ── Defaults of proofs that are made in Python ──────────────────────────────────────────────────────────────


def test_proofs_made_in_python_are_exact_and_about_one_record() -> None:
    told = table(*TRUE)
    even = np.full((2, 2), HALF)
    assert CascadeProof(told, even, even).verify()
    assert (
        MixtureProof(told, even, even).tolerance == ClassProof(told, even, told, told[0], even).tolerance == 0
    )
    assert AdversaryProof(even, told, told, np.array([HALF, HALF], dtype=object)).gap() == HALF
    line = ClosedLeakageProof.of_gaps(ONE, [ONE, ONE, HALF])
    assert line is not None and (line.size, line.copies) == (4, 1) and line.verify()
    worst: Any = proof_from_dict(BASES["worst"]())
    assert WorstLeakageProof(worst.space, worst.eps, worst.upper, None).copies == 1
    product: Any = proof_from_dict(BASES["product"]())
    assert type(product)(product.eps, product.factors).copies == 1
    cell: Any = proof_from_dict(BASES["map"]())
    assert type(cell)(cell.eps, cell.step, cell.rows, cell.columns, cell.upper, cell.terms).copies == 1
    best: Any = proof_from_dict(BASES["universal"]())
    assert UniversalProof(best.space, best.alpha, best.channel, best.loss, best.priors, best.prices).gap == 0
    frontier: Any = proof_from_dict(BASES["frontier"]())
    given = [getattr(frontier, one.name) for one in fields(frontier) if one.name not in ("tails", "robust")]
    assert type(frontier)(*given).tails == 0


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("guess", {"delta": Fraction(3, 2)}, "delta a probability"),
        ("approximate", {"delta": Fraction(3, 2)}, "delta a probability"),
        ("product", {"copies": 0}, "copies ≥ 1"),
        ("product", {"eps": -ONE}, "eps must be ≥ 0"),
    ],
)
def test_fields_given_in_python_are_checked_too(name: str, given: dict[str, Any], words: str) -> None:
    proof: Any = proof_from_dict(BASES[name]())
    with pytest.raises(ValueError, match=words):
        replace(proof, **given).bounds()


def test_blocks_given_in_python_have_sizes() -> None:
    assert "each size and each number" in BlockSizesProof(((2, 1),), ((1, 2), (0, 3))).verify().statement


# ── Losses that cross once ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("difference", "crosses"),
    [([1, -1, 0], True), ([0, 1, -1], True), ([-1, 0, 1], False), ([-1, 1, 0], False), ([0, 0, 0], True)],
)
def test_of_two_actions_the_later_is_first_worse_then_better(difference: list[int], crosses: bool) -> None:
    assert is_single_crossing(table([0, 0, 0], difference), [0, 1, 2], (0, 1)) is crosses
