"""The figures that libqif's own suite asserts, and libqif itself on the same arguments.

Its channels: the identity, the one that says nothing, and C = [[.8, .2], [.3, .7]]; its priors: uniform,
point, and a few pairs. Where it draws a random channel the law is asserted on seeded ones.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sievert as sv

LETTERS = {
    "I2": np.eye(2), "I4": np.eye(4), "I10": np.eye(10),
    "N4": np.ones((4, 1)), "N10": np.ones((10, 1)), "C": np.array([[0.8, 0.2], [0.3, 0.7]]),
}  # fmt: skip
PRIORS: dict[str, list[float]] = {
    "u2": [1 / 2] * 2, "u4": [1 / 4] * 4, "u10": [1 / 10] * 10,
    "p2": [1, 0], "p4": [1, 0, 0, 0], "p10": [1] + [0] * 9,
    "a": [0.2, 0.8], "a10": [0.2, 0.8] + [0] * 8, "b": [0.25, 0.75], "c": [0.75, 0.25],
}  # fmt: skip

EXACT_C = [["4/5", "1/5"], ["3/10", "7/10"]]

# adversary, prior, its value before; and adversary, prior, channel, its value after.
BEFORE = [
    ("bayes_vuln", "u2", 0.5), ("bayes_vuln", "u10", 0.1), ("bayes_vuln", "p4", 1), ("bayes_vuln", "a", 0.8),
    ("bayes_risk", "u2", 0.5), ("bayes_risk", "u10", 0.9), ("bayes_risk", "p4", 0), ("bayes_risk", "a", 0.2),
    ("guessing", "u2", 1.5), ("guessing", "u10", 5.5), ("guessing", "p4", 1), ("guessing", "a", 1.2),
    ("shannon", "u2", 1), ("shannon", "u10", math.log2(10)), ("shannon", "p4", 0),
    ("shannon", "a", 0.721928094887362),
]  # fmt: skip
CERTAIN = [("u2", "I2"), ("p2", "I2"), ("a", "I2"), ("u10", "I10"), ("p10", "I10"), ("a10", "I10")]
CERTAINTY = {"bayes_vuln": 1, "bayes_risk": 0, "guessing": 1, "shannon": 0}
AFTER = [(kind, prior, channel, value) for kind, value in CERTAINTY.items() for prior, channel in CERTAIN] + [
    ("bayes_vuln", "u10", "N10", 0.1), ("bayes_vuln", "p10", "N10", 1), ("bayes_vuln", "a10", "N10", 0.8),
    ("bayes_vuln", "b", "C", 0.75), ("bayes_vuln", "c", "C", 31 / 40),
    ("bayes_risk", "u10", "N10", 0.9), ("bayes_risk", "p10", "N10", 0), ("bayes_risk", "a10", "N10", 0.2),
    ("bayes_risk", "b", "C", 0.25), ("bayes_risk", "c", "C", 9 / 40),
    ("guessing", "u10", "N10", 5.5), ("guessing", "p10", "N10", 1), ("guessing", "a10", "N10", 1.2),
    ("guessing", "b", "C", 1.25), ("guessing", "c", "C", 1.225),
    ("shannon", "u10", "N10", math.log2(10)), ("shannon", "p10", "N10", 0),
    ("shannon", "a10", "N10", 0.721928094887362), ("shannon", "b", "C", 0.669020059980807),
]  # fmt: skip


@pytest.fixture(scope="module")
def qif(oracle: Callable[[str], ModuleType]) -> ModuleType:
    return oracle("qif")


def adversary(kind: str, n: int) -> Any:
    named = {"bayes_vuln": sv.gains.identity, "bayes_risk": sv.losses.bayes_risk,
             "guessing": sv.losses.guessing, "shannon": sv.losses.shannon}  # fmt: skip
    return named[kind](n)


def random_channels(n: int = 10) -> list[np.ndarray]:
    return [np.random.default_rng(seed).dirichlet(np.ones(n), n) for seed in range(5)]


@pytest.mark.parametrize(("kind", "name", "expected"), BEFORE)
def test_value_of_a_prior(qif: ModuleType, kind: str, name: str, expected: float) -> None:
    prior = PRIORS[name]
    assert float(sv.vulnerability(prior, adversary(kind, len(prior)))) == pytest.approx(expected, rel=1e-12)
    assert getattr(qif.measure, kind).prior(np.array(prior, float)) == pytest.approx(expected, abs=1e-12)
    if kind == "bayes_vuln":
        assert float(sv.vulnerability(prior, np.eye(len(prior)))) == pytest.approx(expected, rel=1e-12)
        assert sv.information.entropy(prior, math.inf) == pytest.approx(-math.log2(expected))


@pytest.mark.parametrize(("kind", "name", "letter", "expected"), AFTER)
def test_value_after_a_release(qif: ModuleType, kind: str, name: str, letter: str, expected: float) -> None:
    prior, matrix = PRIORS[name], LETTERS[letter]
    gain = adversary(kind, len(prior))
    found = float(sv.posterior_vulnerability(sv.Channel(matrix), prior, gain))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
    theirs = getattr(qif.measure, kind).posterior(np.array(prior, float), matrix)
    assert theirs == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", list(CERTAINTY))
def test_a_prior_of_another_size_is_refused(kind: str) -> None:
    with pytest.raises(sv.SievertError):
        sv.posterior_vulnerability(sv.Channel.identity(10), PRIORS["u2"], adversary(kind, 10))
    with pytest.raises(sv.SievertError):
        sv.vulnerability(PRIORS["u2"], adversary(kind, 10))


@pytest.mark.parametrize("prior", [["3/4", "1/4"], ["1/4", "3/4"]])
def test_rational_arguments_give_the_fraction(prior: list[str]) -> None:
    """31/40, 9/40 and 49/40 for the prior (3/4, 1/4), and no change in Bayes vulnerability for (1/4, 3/4)."""
    channel = sv.Channel(EXACT_C)
    values = [sv.posterior_vulnerability(channel, prior, adversary(kind, 2)).value
              for kind in ("bayes_vuln", "bayes_risk", "guessing")]  # fmt: skip
    skewed = [Fraction(31, 40), Fraction(9, 40), Fraction(49, 40)]
    assert values == (skewed if prior[0] == "3/4" else [Fraction(3, 4), Fraction(1, 4), Fraction(5, 4)])


@pytest.mark.parametrize(("letter", "expected"), [("I2", 2), ("I10", 10), ("N10", 1), ("N4", 1), ("C", 1.5)])
def test_multiplicative_capacity(qif: ModuleType, letter: str, expected: float) -> None:
    matrix = LETTERS[letter]
    assert float(sv.capacity(sv.Channel(matrix))) == pytest.approx(expected, rel=1e-14)
    assert qif.measure.bayes_vuln.mult_capacity(matrix) == pytest.approx(expected)
    assert sv.information.maximal_leakage(sv.Channel(matrix)) == pytest.approx(math.log2(expected), abs=1e-15)


def test_multiplicative_capacity_is_reached_at_the_uniform_prior() -> None:
    for matrix in random_channels():
        channel = sv.Channel(matrix)
        assert sv.leakage(channel, sv.uniform(10)).factor == pytest.approx(
            float(sv.capacity(channel)), rel=1e-14
        )


@pytest.mark.parametrize(("letter", "expected"), [("I2", math.inf), ("I10", math.inf), ("N10", 1), ("C", 2)])
def test_capacity_of_the_bayes_risk(qif: ModuleType, letter: str, expected: float) -> None:
    matrix = LETTERS[letter]
    assert float(sv.capacity(sv.Channel(matrix), kind="risk")) == pytest.approx(expected)
    assert qif.measure.bayes_risk.mult_capacity(matrix)[0] == pytest.approx(expected)


def test_risk_capacity_of_two_secrets_is_reached_at_the_uniform_prior() -> None:
    for seed in range(5):
        channel = sv.Channel(np.random.default_rng(seed).dirichlet(np.ones(2), 2))
        found = sv.leakage(channel, sv.uniform(2), sv.losses.bayes_risk(2)).factor
        assert found == pytest.approx(float(sv.capacity(channel, kind="risk")), rel=1e-12)


@pytest.mark.parametrize(
    ("prior", "letter", "bits"),
    [("u2", "I2", 1), ("u10", "I10", math.log2(10)), ("u10", "N10", 0), ("u2", "C", math.log2(1.5))],
)
def test_min_entropy_leakage(qif: ModuleType, prior: str, letter: str, bits: float) -> None:
    matrix = LETTERS[letter]
    assert sv.information.min_entropy_leakage(sv.Channel(matrix), PRIORS[prior]) == pytest.approx(
        bits, abs=1e-14
    )
    theirs = qif.measure.bayes_vuln.min_entropy_leakage(np.array(PRIORS[prior]), matrix)
    assert theirs == pytest.approx(bits, abs=1e-12)


@pytest.mark.parametrize(
    ("prior", "letter", "spanning", "signed"),
    [("u2", "I2", 0.5, 1), ("p2", "I2", 0, 0), ("u4", "N4", 0, 0)],
)
def test_additive_capacity_at_a_prior(prior: str, letter: str, spanning: float, signed: float) -> None:
    channel = sv.Channel(LETTERS[letter])
    assert sv.capacity(
        channel, kind="additive", gains="spanning", prior=PRIORS[prior]
    ).difference == pytest.approx(spanning)
    assert sv.capacity(
        channel, kind="additive", gains="signed", prior=PRIORS[prior]
    ).difference == pytest.approx(signed)
    with pytest.raises(sv.SievertError):
        sv.capacity(sv.Channel.identity(10), kind="additive", gains="signed", prior=PRIORS["u2"])


def test_bound_on_the_capacity_of_a_million_runs(qif: ModuleType) -> None:
    """Their bound (n + 1)^k-like is 627991708.19 for the identity of 4; the capacity itself is 4."""
    assert qif.measure.bayes_vuln.mult_capacity_bound_cap(np.eye(4), 10**6) == pytest.approx(
        627991708.1934142
    )
    assert float(sv.capacity(sv.Channel.identity(4).repeated(2))) == 4
    matrix = LETTERS["C"]
    for n in (1, 2, 5, 20):
        exact = float(sv.capacity(sv.Channel(matrix).repeated(n)))
        assert exact <= qif.measure.bayes_vuln.mult_capacity_bound_cap(matrix, n) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("matrix", "bits"),
    [
        (np.eye(2), 1), (np.eye(10), math.log2(10)), (np.ones((10, 1)), 0),
        (LETTERS["C"], 0.19123813831431799),
        ([[0.3, 0.2, 0.5], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]], math.log2(3) - 1.4854752972273344),
        ([[1 / 3, 1 / 6, 1 / 2], [1 / 3, 1 / 2, 1 / 6]], math.log2(3) - 1.4591479170272448),
    ],
)  # fmt: skip
def test_shannon_capacity(qif: ModuleType, matrix: Any, bits: float) -> None:
    """Symmetric and weakly symmetric channels have log m minus the entropy of a row."""
    found = sv.capacity(sv.Channel(matrix), kind="shannon")
    assert float(found) == pytest.approx(bits, abs=1e-9)
    assert found.gap <= 1e-9
    assert qif.measure.shannon.add_capacity(np.array(matrix))[0] == pytest.approx(bits, abs=1e-6)
    if bits > 0 and matrix is not LETTERS["C"] and found.prior is not None:
        assert found.prior == pytest.approx(np.full(len(matrix), 1 / len(matrix)), abs=1e-5)


@pytest.mark.parametrize(("letter", "level"), [("N10", 0), ("I10", math.inf), ("C", math.log(3.5))])
def test_smallest_epsilon_on_the_line(qif: ModuleType, letter: str, level: float) -> None:
    matrix = LETTERS[letter]
    channel, line = sv.Channel(matrix), sv.metrics.line(len(matrix))
    assert sv.epsilon(channel, line).nats == pytest.approx(level, rel=1e-14)
    assert qif.measure.d_privacy.smallest_epsilon(matrix, qif.metric.euclidean()) == pytest.approx(level)
    assert sv.is_private(channel, line, 10_000.0) == (letter != "I10")
    assert sv.is_private(channel, line, 0.0) == (letter == "N10")
    if letter == "C":
        assert sv.is_private(channel, line, math.log(7 / 2))
        assert not sv.is_private(channel, line, math.log(6.9 / 2))


EPS, STEP = 0.9, 1.1
SCALED = sv.metrics.line([STEP * i for i in range(10)])


def test_geometric_of_ten_values_is_exactly_private(qif: ModuleType) -> None:
    channel = sv.mechanisms.truncated_geometric(10, EPS * STEP)
    labelled = sv.Channel(channel.matrix, inputs=SCALED.points)
    assert channel.shape == (10, 10)
    assert sv.epsilon(labelled, SCALED).nats == pytest.approx(EPS, rel=1e-12)
    assert not sv.is_private(labelled, SCALED, EPS - 0.01)
    assert channel.matrix == pytest.approx(qif.mechanism.d_privacy.geometric(10, EPS * STEP), rel=1e-12)
    tight = sv.mechanisms.tight_constraints(SCALED, EPS)
    assert tight.matrix == pytest.approx(channel.matrix, rel=1e-9)


@pytest.mark.parametrize(("metric", "level"), [
    (SCALED, 0.64197307180467134),
    (sv.metrics.euclidean([(STEP * x, STEP * y) for x in range(3) for y in range(3)]), 0.58945591528726249),
])  # fmt: skip
def test_true_level_of_the_exponential_mechanism(metric: sv.Metric, level: float) -> None:
    channel = sv.mechanisms.exponential(metric, EPS)
    assert sv.epsilon(channel, metric).nats == pytest.approx(level, rel=1e-12)
    assert sv.is_private(channel, metric, EPS)


@pytest.mark.parametrize("width", [20, 10, 18, 6])
def test_geometric_with_other_ranges_is_the_clamped_one(qif: ModuleType, width: int) -> None:
    """Inputs 5..14, outputs 0..9, 10..19, 1..18 or 7..12: the 20 × 20 mechanism, then clamped."""
    whole = sv.mechanisms.truncated_geometric(20, EPS)
    starts = {20: [0], 10: [0, 10], 18: [1], 6: [7]}[width]
    for start in starts:
        top = start + width - 1
        clamped = whole.then(sv.Channel.from_function(lambda y, a=start, b=top: min(max(y, a), b), range(20)))
        direct = sv.mechanisms.truncated_geometric(
            points=range(5, 15), eps=EPS, outputs=range(start, top + 1)
        )
        assert direct.matrix == pytest.approx(clamped.matrix[5:15], rel=1e-12)
        theirs = qif.mechanism.d_privacy.geometric(10, EPS, width, 5, start)
        assert direct.matrix == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(("inputs", "outputs"), [(10, 20), (20, 10)])
def test_fat_and_skinny_geometric(inputs: int, outputs: int) -> None:
    channel = sv.mechanisms.truncated_geometric(inputs, EPS, outputs=range(outputs))
    assert channel.shape == (inputs, outputs)
    assert sv.epsilon(channel, sv.metrics.line(inputs)).nats == pytest.approx(EPS, rel=1e-12)


def test_on_the_discrete_metric_three_mechanisms_are_one() -> None:
    """Tight constraints at ε, randomised response at ε and the exponential mechanism at 2ε."""
    metric = sv.metrics.discrete(5)
    tight = sv.mechanisms.tight_constraints(metric, EPS)
    assert sv.epsilon(tight, metric).nats == pytest.approx(EPS, rel=1e-12)
    assert not sv.is_private(tight, metric, EPS - 0.01)
    assert sv.mechanisms.exponential(metric, 2 * EPS).matrix == pytest.approx(tight.matrix, rel=1e-12)
    assert sv.mechanisms.randomised_response(5, EPS).matrix == pytest.approx(tight.matrix, rel=1e-12)


def test_tight_constraints_of_a_plane_grid_are_tight() -> None:
    metric = sv.metrics.euclidean([(STEP * x, STEP * y) for x in range(3) for y in range(3)])
    tight = sv.mechanisms.tight_constraints(metric, EPS)
    assert sv.epsilon(tight, metric).nats == pytest.approx(EPS, rel=1e-9)
    assert not sv.is_private(tight, metric, EPS - 0.01)


def test_the_best_mechanism_of_a_line_under_the_binary_loss_is_the_geometric() -> None:
    geometric = sv.mechanisms.truncated_geometric(10, EPS * STEP)
    found = sv.optimal_mechanism(SCALED, EPS, sv.uniform(10), 1 - np.eye(10))
    assert found.loss == pytest.approx(1 - geometric.matrix.trace() / 10, abs=1e-9)
    assert found.mechanism.matrix == pytest.approx(geometric.matrix, abs=1e-7)


def test_without_constraints_the_best_mechanism_is_the_identity() -> None:
    apart = sv.Metric(np.where(np.eye(10) == 1, 0, np.inf))
    found = sv.optimal_mechanism(apart, EPS, sv.uniform(10), 1 - np.eye(10))
    assert found.loss == pytest.approx(0, abs=1e-12)
    assert found.mechanism.matrix == pytest.approx(np.eye(10), abs=1e-12)


DISTANCES: list[tuple[sv.Metric, int, int, float]] = [
    (sv.metrics.line(6), 3, 3, 0), (sv.metrics.line(6), 0, 5, 5), (sv.metrics.line(6), 5, 0, 5),
    (sv.metrics.discrete(6), 3, 3, 0), (sv.metrics.discrete(6), 0, 2, 1), (sv.metrics.discrete(6), 5, 0, 1),
    (sv.metrics.line(6).scaled(10), 0, 5, 50), (sv.metrics.line(6).scaled(10), 3, 3, 0),
    (sv.metrics.discrete(6).scaled(10), 0, 3, 10), (sv.metrics.discrete(6).scaled(10), 5, 0, 10),
    (sv.metrics.euclidean([(1, 1), (0, 0), (2, 3)]), 0, 1, math.sqrt(2)),
    (sv.metrics.euclidean([(1, 1), (0, 0), (2, 3)]), 2, 0, math.sqrt(5)),
    (sv.metrics.manhattan([(1, 1), (0, 0), (2, 3)]), 0, 1, 2),
    (sv.metrics.manhattan([(1, 1), (0, 0), (2, 3)]), 2, 0, 3),
    (sv.metrics.grid(4, 4), 5, 5, 0), (sv.metrics.grid(4, 4), 0, 5, 2), (sv.metrics.grid(4, 4), 11, 5, 3),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "first", "second", "expected"), DISTANCES)
def test_distances(metric: sv.Metric, first: int, second: int, expected: float) -> None:
    assert metric.matrix[first, second] == pytest.approx(expected, rel=1e-15)


UNIFORM, POINT, HEAVY = [0.25] * 4, [1, 0, 0, 0], [0.1, 0.1, 0.1, 0.7]
PAIRS: list[tuple[list[float], list[float], dict[str, float]]] = [
    (UNIFORM, UNIFORM, {"variation": 0, "separation": 0, "ratio": 0, "line": 0, "multiplicative": 0}),
    (POINT, POINT, {"variation": 0, "separation": 0, "ratio": 0, "line": 0, "multiplicative": 0}),
    (UNIFORM, POINT, {"variation": 0.75, "separation": 1, "ratio": math.inf, "line": 1.5,
                      "multiplicative": 2.0538953374413045}),
    (UNIFORM, HEAVY, {"variation": 0.45, "separation": 9 / 14, "ratio": math.log(0.7 / 0.25)}),
    ([0.1] * 10, [1] + [0] * 9, {"line": 4.5, "multiplicative": 7.156044651432}),
]  # fmt: skip


@pytest.mark.parametrize(("p", "q", "expected"), PAIRS)
def test_distances_of_distributions(
    qif: ModuleType, p: list[float], q: list[float], expected: dict[str, float]
) -> None:
    """Total variation, convex separation, the largest log ratio, Kantorovich on the line, and its
    multiplicative form, both ways round."""
    n = len(p)
    line, discrete = sv.metrics.line(n), sv.metrics.discrete(n)
    for first, second in ((p, q), (q, p)):
        pair = sv.Channel([first, second])
        found = {
            "variation": float(sv.kantorovich(first, second, discrete)),
            "separation": float((1 - np.exp(-sv.divergences.one_sided_divergence(pair))).max()),
            "ratio": sv.distinguishability(pair).matrix[0, 1],
            "line": float(sv.kantorovich(first, second, line)),
            "multiplicative": float(sv.estimation.multiplicative_kantorovich(first, second, line)),
        }
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, rel=1e-11, abs=1e-12), name
        apart = sv.Metric(np.where(np.eye(n) == 1, 0, np.inf))
        assert float(sv.estimation.multiplicative_kantorovich(first, second, apart)) == pytest.approx(
            found["ratio"]
        )
        a, b = np.array(first, float), np.array(second, float)
        assert qif.metric.total_variation()(a, b) == pytest.approx(found["variation"])
        assert qif.metric.convex_separation()(a, b) == pytest.approx(found["separation"])


@pytest.mark.parametrize("i", [0, 1, 2, 3])
def test_point_distributions_are_as_far_apart_as_their_points(i: int) -> None:
    p, q = sv.priors.point(4, 0), sv.priors.point(4, i)
    for metric in (sv.metrics.line(4), sv.metrics.discrete(4)):
        assert float(sv.kantorovich(p, q, metric)) == pytest.approx(metric.matrix[0, i], rel=1e-14)
        assert float(sv.estimation.multiplicative_kantorovich(p, q, metric)) == pytest.approx(
            metric.matrix[0, i]
        )


@pytest.mark.parametrize("seed", range(10))
def test_kantorovich_of_the_discrete_metric_is_total_variation(seed: int) -> None:
    p, q = np.random.default_rng(seed).dirichlet(np.ones(10), 2)
    assert float(sv.kantorovich(p, q, sv.metrics.discrete(10))) == pytest.approx(
        abs(p - q).sum() / 2, rel=1e-12
    )
    cumulative = abs(np.cumsum(p - q)).sum()
    assert float(sv.kantorovich(p, q, sv.metrics.line(10))) == pytest.approx(cumulative, rel=1e-12)
    apart = sv.Metric(np.where(np.eye(10) == 1, 0, np.inf))
    ratio = abs(np.log(p) - np.log(q)).max()
    assert float(sv.estimation.multiplicative_kantorovich(p, q, apart)) == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_refinement_with_an_adversary_for_every_no(seed: int) -> None:
    """The identity is refined by all, the silent channel refines all, C·C refines C; never the reverse."""
    matrix = np.random.default_rng(seed).dirichlet(np.ones(10), 10)
    chain = [sv.Channel.identity(10), sv.Channel(matrix), sv.Channel(matrix @ matrix), sv.Channel.null(10)]
    for i, less_safe in enumerate(chain):
        for j, safer in enumerate(chain):
            verdict = sv.refines(less_safe, safer)
            assert verdict.holds is (i <= j)
            if i <= j:
                post = np.asarray(verdict.certificate.post, dtype=float)  # type: ignore[union-attr]
                assert less_safe.matrix @ post == pytest.approx(safer.matrix, abs=1e-9)
            else:
                assert verdict.witness is not None
                gain, prior = verdict.witness.gain, verdict.witness.prior
                before = float(sv.posterior_vulnerability(less_safe, prior, gain))
                assert before < float(sv.posterior_vulnerability(safer, prior, gain))


@pytest.mark.parametrize("seed", range(3))
def test_a_product_is_factorised(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.dirichlet(np.ones(6), 4), rng.dirichlet(np.ones(4), 6)
    post = np.asarray(sv.refines(sv.Channel(first), sv.Channel(first @ second)).certificate.post, dtype=float)  # type: ignore[union-attr]
    assert post.shape == (6, 4)
    assert first @ post == pytest.approx(first @ second, abs=1e-9)


def test_a_fat_pair_from_their_suite_is_factorised() -> None:
    first = [[0.9694, 0.0062, 0.0244], [0.5312, 0.1401, 0.3287]]
    second = [[0.4405, 0.5595], [0.6588, 0.3412]]
    verdict = sv.refines(sv.Channel(first), sv.Channel(second))
    assert verdict.holds is True
    assert np.array(first) @ np.asarray(verdict.certificate.post, float) == pytest.approx(np.array(second))  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_by_a_refinement(seed: int) -> None:
    """Their additive metric of a refined pair is 0; so is Le Cam's deficiency, at both kinds of prior."""
    matrix = np.random.default_rng(seed).dirichlet(np.ones(6), 6)
    chain = [sv.Channel.identity(6), sv.Channel(matrix), sv.Channel(matrix @ matrix), sv.Channel.null(6)]
    for less_safe, safer in pairwise(chain):
        assert float(sv.deficiency(less_safe, safer)) == pytest.approx(0, abs=1e-9)
        assert float(sv.deficiency(less_safe, safer, "uniform")) == pytest.approx(0, abs=1e-9)
        assert float(sv.deficiency(safer, less_safe)) > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_the_iterative_update_finds_the_distribution(seed: int) -> None:
    """From expected counts: the prior itself through the identity and the geometric, the uniform start
    through a channel that says nothing."""
    prior = np.random.default_rng(seed).dirichlet(np.ones(10))
    for channel, truth in (
        (sv.Channel.identity(10), prior),
        (sv.mechanisms.truncated_geometric(10, 1.0), prior),
    ):
        found = sv.estimate(prior @ channel.matrix * 1e6, channel, "ibu", interval="none")
        assert found.distribution == pytest.approx(truth, abs=1e-4)
    silent = sv.estimate([1000], sv.Channel.null(10), "ibu", interval="none")
    assert silent.distribution == pytest.approx(np.full(10, 0.1))
    assert silent.unique is False


@pytest.mark.parametrize("rows", [[[1, 2], [3, 0]], [[0.5, 0.4], [0.5, 0.5]], [[1.1, -0.1], [0, 1]]])
def test_rows_that_are_no_distributions_are_refused(rows: list[list[float]]) -> None:
    with pytest.raises(sv.SievertError):
        sv.Channel(rows)
    with pytest.raises(sv.SievertError):
        sv.vulnerability([0.1, 0.2, 0.3])


def test_named_priors_and_channels() -> None:
    assert np.asarray(sv.uniform(4), float) == pytest.approx([0.25] * 4)
    assert np.asarray(sv.priors.point(4, 0), float).tolist() == [1, 0, 0, 0]
    assert np.asarray(sv.priors.point(4, 2), float).tolist() == [0, 0, 1, 0]
    assert sv.Channel.identity(3).matrix.tolist() == np.eye(3).tolist()
    assert sv.Channel([["1", "0", "0"], ["0", "1", "0"]]).matrix.tolist() == [[1, 0, 0], [0, 1, 0]]
