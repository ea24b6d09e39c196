"""What nobody should give and somebody will: read rightly, or refused with the argument's name."""

import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import sievert as sv
from sievert.errors import (
    ChannelError,
    DataError,
    EstimationError,
    GainError,
    GraphError,
    LabelError,
    LedgerError,
    MechanismError,
    MetricError,
    PolicyError,
    PriorError,
    SievertError,
    TooLargeError,
)
from sievert.measures import as_gain

RR = sv.mechanisms.randomised_response(3, 1.0)
UNARY = sv.protocols.unary(3, 1.0)
MASKED = np.ma.array([0.5, 0.3, 0.2], mask=[0, 1, 0])


def nested(depth: int) -> list[Any]:
    found: list[Any] = [1.0]
    for _ in range(depth):
        found = [found]
    return found


class TestLabelledPairs:
    """Two distributions are matched by label, or refused where only one has labels."""

    P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]

    def test_one_labelled_side_in_another_order(self) -> None:
        expected = sv.observations.chernoff_information(self.P, self.Q)
        shuffled = {2: 0.2, 0: 0.5, 1: 0.3}
        assert sv.observations.chernoff_information(shuffled, self.Q) == pytest.approx(expected, rel=1e-12)
        assert sv.observations.chernoff_information(self.Q, shuffled) == pytest.approx(expected, rel=1e-12)
        series = pd.Series([0.6, 0.2, 0.2], index=[2, 0, 1])
        assert sv.observations.chernoff_information(self.P, series) == pytest.approx(expected, rel=1e-12)
        assert sv.observations.chernoff_information(shuffled, series) == pytest.approx(expected, rel=1e-12)

    def test_names_on_one_side_only_are_refused(self) -> None:
        named = dict(zip("abc", self.P, strict=True))
        for pair in ((named, self.Q), (self.Q, named)):
            with pytest.raises(PriorError, match="label both or neither"):
                sv.observations.chernoff_information(*pair)

    def test_a_generator_is_read_once(self) -> None:
        expected = sv.observations.chernoff_information(self.P, self.Q)
        assert sv.observations.chernoff_information(iter(self.P), iter(self.Q)) == expected


class TestLabelledVectors:
    def test_a_number_of_secrets_names_them(self) -> None:
        assert sv.priors.as_prior({2: 0.2, 0: 0.5, 1: 0.3}, 3).tolist() == [0.5, 0.3, 0.2]
        with pytest.raises(PriorError, match="'a' is not one of the labels 0, 1, 2"):
            sv.priors.as_prior({"a": 0.5, "b": 0.3, "c": 0.2}, 3)

    def test_labelled_counts_need_the_labels_of_the_secrets(self) -> None:
        for counts in ({1: 3, 0: 1}, pd.Series([3, 1], index=[1, 0])):
            with pytest.raises(PriorError, match="labels is missing"):
                sv.priors.from_counts(counts)
            assert list(map(str, sv.priors.from_counts(counts, labels=(0, 1)))) == ["1/4", "3/4"]

    def test_a_vector_is_read_by_the_labels_of_the_channel(self) -> None:
        expected = RR.matvec([1.0, 2.0, 3.0])
        for given in ({2: 3.0, 0: 1.0, 1: 2.0}, pd.Series([3, 2, 1], index=[2, 1, 0]), pl.Series([1, 2, 3])):
            assert RR.matvec(given) == pytest.approx(expected, rel=1e-15)
        for bad in ([math.nan] * 3, [1e308] * 3, ["a"] * 3, [1.0, 2.0]):
            with pytest.raises(ChannelError, match="vector"):
                RR.rmatvec(bad)

    @pytest.mark.parametrize("protocol", ["randomised_response", "unary", "local_hashing"])
    def test_variances_are_read_by_label(self, protocol: str) -> None:
        made = getattr(sv.protocols, protocol)(3, 1.0)
        expected = made.variances([0.5, 0.3, 0.2], 100)
        for given in ({2: 0.2, 0: 0.5, 1: 0.3}, pd.Series([0.2, 0.3, 0.5], index=[2, 1, 0])):
            assert made.variances(given, 100) == pytest.approx(expected, rel=1e-15)

    def test_a_picture_is_drawn_by_name(self) -> None:
        figure = sv.plots.estimated_distribution(["a", "b"], {"b": 0.25, "a": 0.75})
        assert list(figure.data[0].y) == [0.75, 0.25]

    def test_values_without_names_have_no_order(self) -> None:
        named = sv.explain(eps=1.0, prior={"a": 0.75, "b": 0.25})
        assert named.after == sv.explain(eps=1.0, prior=[0.25, 0.75]).after


FLAGS: list[Callable[[Any], object]] = [
    lambda given: sv.Channel([[1]], normalise=given),
    lambda given: sv.Channel.from_log([[0.0]], normalise=given),
    lambda given: sv.Channel.from_noise([1.0], 3, cyclic=given),
    lambda given: sv.Metric([[0]], close=given),
    lambda given: sv.Policy.local(2).adjacency(directed=given),
    lambda given: sv.worst_leakage(sv.Policy.local(2), 1.0, individual=given),
    lambda given: sv.largest_epsilon(sv.Policy.local(2), bits=0.5, individual=given),
    lambda given: sv.testing.channels(sparse=given),
    lambda given: sv.testing.gain_matrices(signed=given),
    lambda given: sv.testing.metrics(extended=given),
    lambda given: sv.testing.priors(exact=given),
]


@pytest.mark.parametrize("bad", [np.array([True, False]), pd.Series([True]), 1, "yes", None])
@pytest.mark.parametrize("ask", FLAGS)
def test_a_flag_is_true_or_false(ask: Callable[[Any], object], bad: object) -> None:
    with pytest.raises(SievertError, match="it must be True or False"):
        ask(bad)
    ask(np.True_)


ENDLESS: list[Callable[[Any], object]] = [
    lambda given: sv.Channel([[1, 0], [0, 1]], inputs=given),
    sv.Policy.local,
    sv.graphs.of_pairs,
    lambda given: sv.adversaries.within(sv.metrics.line(3), 1.0, prior=given),
    lambda given: sv.Policy.differential(2, 2, permitted=given),
    sv.success_probability,
    lambda given: sv.explain(eps=1.0, values=given),
    lambda given: sv.divergences.renyi_curve(RR, sv.metrics.line(3), given),
]


def counting() -> Iterator[int]:
    yield from itertools.count()


@pytest.mark.parametrize("ask", ENDLESS)
def test_what_never_ends_is_refused(ask: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SievertError):
        ask(itertools.count())
    # Fewer items are read before it is refused, which takes as long as there are.
    monkeypatch.setattr("sievert.numerics._checks.MOST_TAKEN", 10_000)
    with pytest.raises(SievertError):
        ask(counting())


def test_what_seems_never_to_end_is_refused() -> None:
    with pytest.raises(SievertError, match="more than 10,000,000"):
        sv.Policy.local(counting())
    with pytest.raises(SievertError, match="more than 10,000,000"):
        sv.Policy.local(itertools.cycle("ab"))


@pytest.mark.parametrize("bad", [{}, {1}, pd.Series([1]), math.nan, 1 + 2j, nested(2000)])
def test_a_label_is_a_plain_name(bad: object) -> None:
    with pytest.raises(LabelError):
        RR.hyper().posterior(bad)
    with pytest.raises(SievertError, match="inputs"):
        sv.Channel([[1, 0], [0, 1]], inputs=[bad, "b"])


REFUSED: list[tuple[Callable[[], object], type[SievertError], str]] = [
    (lambda: sv.Policy.differential(10**18, 2, "add-remove"), TooLargeError, "a list of values"),
    (lambda: sv.Policy.differential(2, 2, np.array(["replace"] * 2)), PolicyError, "adjacency"),  # type: ignore[arg-type]
    (lambda: sv.constraints.satisfying(len, words=np.eye(2)), PolicyError, "words"),  # type: ignore[arg-type]
    (lambda: sv.constraints.total(2, nested(2000)), PolicyError, "is not a finite number"),
    (lambda: sv.gains.matrix(np.eye(3), name=3), GainError, "name is 3"),  # type: ignore[arg-type]
    (lambda: sv.gains.of_belief(..., 3), GainError, "function is Ellipsis"),  # type: ignore[arg-type]
    (lambda: as_gain(np.eye(3), sv.metrics.line(3)), GainError, "secrets is Metric"),  # type: ignore[arg-type]
    (lambda: sv.gains.matrix(np.eye(3), secrets=range(10**12)), GainError, "secrets has 1000000000000"),
    (lambda: sv.gains.from_loss(sv.losses.absolute(3), sv.losses.absolute(4)), GainError, "bound"),
    (lambda: sv.adversaries.class_of(np.eye(3), math.nan), ChannelError, "channel is nan"),  # type: ignore[arg-type]
    (lambda: sv.bayes_risk([0, 1] * 100, [0, 1] * 100, method=np.zeros(3)), ChannelError, "method"),  # type: ignore[arg-type]
    (lambda: sv.priors.as_prior([1e308] * 3, 3), PriorError, "sums to inf"),
    (lambda: sv.observations.breach_curve(RR, None, [0], 0.5, rng=math.nan), SievertError, "rng is nan"),  # type: ignore[arg-type]
    (lambda: sv.observations.breach_curve(RR, None, [0], 0.5, 10**6), TooLargeError, "simulated points"),
    (
        lambda: sv.observations.rates(sv.mechanisms.randomised_response(10**6, 1.0)),
        TooLargeError,
        "would be a",
    ),
    (lambda: sv.Channel.block_diagonal(3), ChannelError, "blocks is 3"),  # type: ignore[arg-type]
    (lambda: sv.Channel.product_of(None), ChannelError, "channels is None"),  # type: ignore[arg-type]
    (lambda: sv.Channel.from_blocks(0.5), ChannelError, "sizes is 0.5"),  # type: ignore[arg-type]
    (lambda: sv.Channel.from_function(None, 3), ChannelError, "function is None"),  # type: ignore[arg-type]
    (lambda: sv.Channel.from_noise({0: 1}, 3, first=2), ChannelError, "first is 2"),
    (lambda: sv.metrics.line(3).restricted(3.7), MetricError, "points is 3.7"),  # type: ignore[arg-type]
    (lambda: sv.Query.sum().whole_contributions(sv.metrics.line(3)), SievertError, "policy"),  # type: ignore[arg-type]
    (lambda: sv.information.entropy(sparse.csr_array(np.eye(3))), PriorError, "distribution"),
    (lambda: sv.secrets.threshold(3, 1.0, int), GraphError, "metric raised TypeError"),  # type: ignore[arg-type]
    (lambda: sv.information.arimoto_information(RR, None, 5e-324), GainError, "order is"),
    (lambda: sv.sampling.exponential_rows([[math.nan]], 1), MechanismError, "distances holds NaN"),
    (lambda: sv.explain(rho=0.5, values=10**400), MechanismError, "values is a whole number of"),
    (lambda: sv.testing.structured_channels(kinds=["nonsense"]), SievertError, "kinds is 'nonsense'"),
    (lambda: sv.testing.priors(size=(3, 1)), SievertError, "size is 1"),
    (lambda: sv.optimal_mechanism(sv.metrics.line(3), 1e308), MechanismError, "eps is 1e"),
    (lambda: sv.design.geometric_optimality(3, 1e308), TooLargeError, "the bits of the decision"),
    (lambda: sv.explain(eps=1.0, values=np.eye(3) * 1j), MechanismError, "values: label"),
    (lambda: sv.Channel.identity(2).repeated(10**400), TooLargeError, "would"),
    (lambda: sv.losses.scaled(sv.losses.absolute(3), 1e308), GainError, "factor is 1e"),
    (lambda: sv.sampling.SeededBits(1j), MechanismError, "seed is 1j"),  # type: ignore[arg-type]
    (lambda: sv.gains.tries(3, nested(2000)), GainError, "k is a list"),  # type: ignore[arg-type]
    (lambda: sv.worst_leakage(sv.metrics.line(3), 10**400), PolicyError, "eps is"),
    (lambda: sv.estimate([5e-324] * 3, RR), EstimationError, "counts"),
    (lambda: sv.estimate([1e308] * 3, RR), EstimationError, "counts: the largest is 1e"),
    (lambda: sv.estimate([2**63] * 3, RR, interval="bootstrap"), EstimationError, "up to 9e"),
    (lambda: sv.estimate_mean([5, 3, 2], RR, [1e308] * 3), EstimationError, "weights is .*at most 1e"),
    (lambda: sv.estimate_mean(MASKED, RR, [0, 1, 2]), EstimationError, "a masked entry is missing"),
    (lambda: sv.information.entropy(MASKED), PriorError, "distribution is masked"),
    (lambda: sv.Channel(np.ma.masked_less(np.eye(2), 0.5)), ChannelError, "matrix is masked"),
    (lambda: sv.constraints.constraint(np.eye(3) * 1j), PolicyError, "databases"),
    (lambda: sv.constraints.listed(np.full((3, 3), math.nan)), PolicyError, "databases"),
    (lambda: sv.adversaries.class_of(np.eye(3) * 1j, RR), GainError, "not numeric"),
    (lambda: sv.adversaries.class_of(np.full((3, 3), math.nan), RR), GainError, "nan"),
    (lambda: sv.frontier(None, sv.losses.absolute(3), points=MASKED), MechanismError, "none of them masked"),
    (lambda: sv.frontier(None, sv.losses.absolute(2), points=[np.ma.masked]), MechanismError, "masked"),
    (lambda: sv.information.entropy([0.5, np.ma.masked]), PriorError, "masked"),
    (lambda: sv.Channel([[np.ma.masked, 0], [0, 1]]), ChannelError, "masked"),
    (lambda: sv.gains.matrix([[np.ma.masked, 0.5]]), GainError, "masked"),
    (
        lambda: sv.Channel.identity([np.ma.masked, "b"]),
        SievertError,
        "inputs is .masked, .*none of them masked",
    ),
    (lambda: RR.hyper().posterior(pd.NA), LabelError, "equals nothing, not even itself"),
    (lambda: RR.hyper().posterior(pd.NaT), LabelError, "equals nothing, not even itself"),
    (lambda: sv.sampling.planar_geometric(1, bounds=np.array(0.5)), MechanismError, "bounds is array"),
    (lambda: sv.sampling.planar_geometric(1, bounds=[np.array(1)] * 2), MechanismError, "bounds is"),  # type: ignore[arg-type]
    (lambda: sv.transformations.symmetrise(RR, np.array(0.5)), ChannelError, "generators is array"),  # type: ignore[arg-type]
    (lambda: sv.transformations.symmetrise(RR, [np.array(0.5)]), ChannelError, "is not a permutation"),  # type: ignore[list-item]
    (lambda: sv.sampling.irregular_geometric(itertools.count(), 1), MechanismError, "more than 10,000,000"),  # type: ignore[arg-type]
    (lambda: sv.sampling.irregular_geometric(range(10**12), 1), TooLargeError, "points"),
    (lambda: sv.sampling.irregular_geometric(range(10**4), 1), TooLargeError, "the points of the kernel"),
    (lambda: sv.success_probability(RR, None, 10**400), ChannelError, "observations is a whole number of"),
    (
        lambda: sv.observations.success_curve(RR, None, [10**400]),
        ChannelError,
        "observations is a whole number of",
    ),
    (
        lambda: sv.observations.expected_loss(RR, observations=10**400),
        ChannelError,
        "observations is",
    ),
    (lambda: sv.observations.loss_curve(RR, rng=math.nan), SievertError, "rng is nan"),  # type: ignore[arg-type]
    (lambda: sv.mechanisms.truncated_geometric(3, alpha="1/2", outputs=10**6), TooLargeError, "give eps"),
    (lambda: sv.Policy.differential(2, 2).neighbours(nested(2000)), PolicyError, "database a list"),  # type: ignore[arg-type]
    (lambda: sv.Channel.from_sparse(nested(2000)), ChannelError, "ragged or not numeric"),
    (lambda: sv.losses.threshold(3, nested(2000)), GainError, "the value a list is not"),  # type: ignore[arg-type]
    (lambda: sv.worst_leakage(sv.metrics.line(3), nested(2000)), PolicyError, "eps is a list"),  # type: ignore[arg-type]
    (lambda: sv.sampling.planar_laplace(10**400), MechanismError, "eps is a whole number of"),
    (
        lambda: sv.threshold("truncated-geometric", "exponential", 1.0, n=10**400),
        MechanismError,
        "n: a whole",
    ),
    (lambda: sv.gains.from_loss(sv.losses.absolute(3), np.ma.masked), GainError, "bound: masked"),
    (lambda: sv.gains.from_loss(sv.losses.absolute(3), Fraction(1, 10**400)), GainError, "at least that"),
    (lambda: sv.gains.from_loss(np.eye(3), "1e400"), GainError, "beyond the largest float"),  # type: ignore[arg-type]
    (lambda: sv.losses.scaled(sv.losses.absolute(3), "1e400"), GainError, "beyond the largest float"),
    (lambda: sv.Channel.from_noise([0.5, 0.5], 2**63), TooLargeError, "inputs: labels would take"),
    (lambda: sv.priors.from_counts({0: 1, 1: 2}, labels=range(10**12)), TooLargeError, "labels of counts"),
    (lambda: sv.losses.lifted(sv.losses.absolute(3), 10**9), TooLargeError, "gains of 3 actions"),  # type: ignore[arg-type]
    (lambda: sv.symmetries.pair_orbits(sv.graphs.path(4), range(10**12)), SievertError, "colours is range"),
    (lambda: sv.Channel([[1, 0], [0, 1]], inputs=range(10**30)), TooLargeError, "more items than can be"),
    (lambda: sv.priors.as_prior(None, range(10**30)), TooLargeError, "more items than can be counted"),
    (lambda: sv.priors.as_prior(np.array([]), ()), PriorError, "sums to 0"),
    (lambda: sv.gains.property(["a", 1], int), GainError, "holds has no answer for the secret 'a'"),
    (lambda: as_gain(np.eye(3), range(10**30)), TooLargeError, "more items than can be counted"),
    (lambda: sv.graphs.of_pairs(range(10**12)), GraphError, "give rows of two vertices"),
    (lambda: sv.graphs.of_pairs([[np.ma.masked, 0], [0, 1]]), GraphError, "pairs is"),
    (lambda: sv.estimation.audit_outputs([0.5, np.ma.masked] * 9, [1] * 9, 1.0), ChannelError, "masked"),
    (lambda: sv.Channel.from_blocks(np.array([1, 2], dtype="m8[s]")), ChannelError, "is not a whole number"),
    (lambda: sv.uniform(np.timedelta64(2, "s")), SievertError, "whole number"),  # type: ignore[arg-type]
    (lambda: sv.explain(eps=np.timedelta64(2, "s")), SievertError, "eps is"),  # type: ignore[arg-type]
    (lambda: sv.load("\ud800"), SievertError, "path is"),
    (lambda: UNARY.count(np.eye(3) * 1j), EstimationError, "reports is ragged or not numeric"),
]


@pytest.mark.parametrize(("ask", "error", "message"), REFUSED)
def test_the_argument_is_named(ask: Callable[[], object], error: type[SievertError], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()


@pytest.mark.parametrize("bad", [sv.Policy.local(3), np.ones(3), 3])
def test_an_order_of_privacy_takes_a_metric(bad: Any) -> None:
    with pytest.raises(MetricError, match=r"metric is .*; give a sv\.Metric"):
        sv.refines(RR, RR, order="privacy", metric=bad)


def test_exact_noise_between_far_points() -> None:
    for far in (2**63 - 1, 2**63 + 5, 2**80):
        for near in (-far, -1, 0):
            even = sv.mechanisms.truncated_geometric(points=[near, far], alpha=1)
            assert even.exact is not None and set(even.exact.ravel().tolist()) == {Fraction(1, 2)}
            with pytest.raises(TooLargeError, match="give eps instead of alpha"):
                sv.mechanisms.truncated_geometric(points=[near, far], alpha="1/2")


def test_unsigned_gains_keep_their_sign() -> None:
    table = np.array([[2**63, 0], [0, 1]], dtype=np.uint64)
    assert sv.gains.matrix(table).matrix[0, 0] == 2**63


def test_extremes_have_an_answer() -> None:
    assert sv.design.geometric_optimality(3, 1e-300, loss=sv.losses.absolute(3)).holds
    assert sv.worst_leakage(sv.metrics.line(3), 1e308).upper.bits == pytest.approx(math.log2(3))
    tight = sv.mechanisms.tight_constraints(sv.metrics.line(3), 1e308)
    assert tight.log_matrix.diagonal().tolist() == [0, 0, 0]
    told = sv.observations.individual_breach(
        sv.Channel.identity(3), sv.Query.sum().answers(sv.Policy.differential(2, 2))
    )
    assert told.bits == math.inf
    assert sv.success_probability(RR, None, 10**18).lower == pytest.approx(1)
    assert sv.largest_epsilon(sv.Policy.local(3), bits=0).nats == 0
    assert 0 < sv.largest_epsilon(sv.Policy.local(3), bits=1e-12).nats < 1e-11
    assert sv.bounds.limited_outputs_bound(
        records=2, values=3, outputs=10**400, eps=1.0
    ) <= sv.bounds.database_bound(records=2, values=3, eps=1.0)
    assert sv.mechanisms.nominal_epsilon(10**400, 1.0) == sv.mechanisms.nominal_epsilon(10**100, 1.0)
    assert sv.sampling.bernoulli_exp(10**400, insecure_rng=1).noise(3).tolist() == [0, 0, 0]
    assert (
        sv.information.entropy([0.5, 0.5], order=np.uint8(255))
        == sv.information.entropy([0.5, 0.5], order=10**400)
        == 1.0
    )
    assert sv.explain(sigma=1e308, prior=[0.5, 0.3, 0.2]).after == pytest.approx(0.5)
    assert sv.divergences.delta_curve(RR, sv.metrics.line(3), 1e308).delta[0] == 0
    even = sv.estimate([50, 30, 20], RR, method="ibu", start=[1e308] * 3, interval="none")
    assert np.allclose(
        even.distribution, sv.estimate([50, 30, 20], RR, method="ibu", interval="none").distribution
    )


@pytest.mark.parametrize("huge", [1e3, 1e25, 1e100, 1e308, 10**400])
def test_a_boundless_promise_is_none(huge: float) -> None:
    for values in (2, 3):
        for releases in (1, 2, 3):
            assert sv.explain(eps=huge, values=values, releases=releases).after == pytest.approx(1)
            assert sv.explain(rho=huge, values=values, releases=releases).after == pytest.approx(1)
    assert sv.explain(renyi={huge: huge}).after == pytest.approx(1)
    assert sv.explain(sigma=1.0, sensitivity=huge, values=3).after == pytest.approx(1)
    assert sv.promises.composed_claim(huge, releases=2, total_delta=0.3).optimal >= 1e3


def test_a_bound_at_a_far_order_still_bounds() -> None:
    assert sv.explain(renyi={1e308: 0.1}).after == pytest.approx(sv.explain(renyi={1e90: 0.1}).after)


def test_a_delta_of_any_numeric_type() -> None:
    found = sv.estimation.audit_outputs([0, 1] * 100, [1, 1] * 100, 1.0, delta=Decimal("0.5"), rng=1)  # type: ignore[arg-type]
    assert found.delta == 0.5


SCENARIO = """
version = 1
[policy]
values = ["a", "b"]
records = 2
[query]
kind = "count"
where = ["a"]
[mechanism]
kind = "truncated-geometric"
eps = 1.0
[data]
input = "data.csv"
column = "letter"
person = "id"
[release]
output = "noisy.csv"
ledger = "budget.toml"
"""


def test_a_release_checks_its_arguments_before_it_spends(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("id,letter\n1,a\n2,b\n")
    (tmp_path / "budget.toml").write_text('person = "10"\n')
    file = tmp_path / "release.toml"
    file.write_text(SCENARIO)
    before = sorted(tmp_path.iterdir())
    wrong: list[tuple[dict[str, Any], type[SievertError], str]] = [
        ({"anchor": 5}, LedgerError, "anchor is 5"),
        ({"anchor": np.zeros(3)}, LedgerError, "anchor"),
        ({"output": 5}, DataError, "output is 5"),
        ({"fresh": pd.Series([True])}, DataError, "fresh"),
        ({"despite_accept": "yes"}, DataError, "despite_accept"),
        ({"insecure_rng": nested(2000)}, MechanismError, "insecure_rng"),
        ({"id": nested(2000)}, LedgerError, "id is a list"),
        ({"id": ["a"]}, LedgerError, "id is"),
        ({"anchor": "0" * 64}, LedgerError, "0" * 12),
        ({"anchor": "nothing"}, LedgerError, "at least 12 digits"),
        ({"progress": lambda *_: 1 / 0}, DataError, "progress raised ZeroDivisionError: division by zero"),
    ]
    for options, error, message in wrong:
        with pytest.raises(error, match=message):
            sv.release.run(file, **options)
        assert sorted(tmp_path.iterdir()) == before
    sv.release.run(file, wait=2**63)
    assert (tmp_path / "noisy.csv").exists()
