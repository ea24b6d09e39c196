"""Everything public goes through pickle, so that a pool of processes can share the work."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import BudgetError, MechanismError, SievertError, TooLargeError

LOCAL = sv.Policy.local(["yes", "no"])
POLICY = sv.Policy.differential(["yes", "no"], 3)
LINE = sv.metrics.line(4)
COIN = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
METRICS = [
    LINE,
    sv.metrics.grid(2, 2),
    sv.metrics.discrete(3),
    sv.metrics.hamming(2, 2),
    sv.metrics.cycle(5),
    sv.metrics.euclidean([[0.0, 1.0], [1.0, 2.0]]),
    sv.metrics.manhattan([[0.0, 1.0], [1.0, 2.0]]),
    sv.metrics.from_graph([("a", "b")]),
    LINE.scaled(2),
    LINE.restricted([0, 2]),
    sv.Metric([[0, 1], [1, 0]]),
    sv.distinguishability(COIN),
    sv.divergences.composed_distinguishability(COIN, COIN),
    POLICY.database_metric(),
    POLICY.record_metric,
]
CHANNELS = [
    COIN,
    sv.mechanisms.randomised_response(3, 1.0),
    sv.mechanisms.truncated_geometric(3, 1.0),
    sv.mechanisms.truncated_geometric(points=[0, 1, 5], eps=1.0),
    sv.mechanisms.truncated_geometric(3, 1.0, outputs=range(-1, 4)),
    sv.mechanisms.geometric(3, 1.0),
    sv.mechanisms.exponential(LINE, 1.0),
    sv.mechanisms.tight_constraints(LINE, 1.0),
    COIN.product(3),
    COIN.repeated(2),
    sv.Channel.block_diagonal([COIN, sv.Channel.null(["c"])]),
    sv.Channel.from_function(lambda x: x % 2, 5),
    sv.Channel.from_noise(["1/4", "1/2", "1/4"], 3, -1),
    sv.Channel.from_noise(["1/4", "1/2", "1/4"], 3, -1, cyclic=True),
    sv.Channel.from_sparse(np.eye(3)),
]
OTHERS: list[Any] = [
    sv.graphs.cycle(4),
    sv.secrets.line(3),
    sv.secrets.complete(3),
    POLICY,
    sv.Policy.metric(LINE),
    sv.Query.record(),
    sv.Query.count(["yes"]),
    sv.Query.count("yes"),
    sv.Query.sum(),
    sv.Query.histogram(),
    sv.Query.from_table(max),
    sv.Query.count(["yes"]).answers(POLICY),
    sv.Query.histogram().answers(POLICY),
    sv.gains.within(LINE, 1),
    sv.losses.absolute(3),
    sv.losses.shannon(3),
    sv.epsilon(COIN, LOCAL),
    sv.leakage(COIN),
    sv.capacity(COIN, kind="additive", gains="unit"),
    sv.record_leakage(COIN, LOCAL),
    COIN.hyper(),
    sv.breaches(COIN, level=0.5, observations=3, policy_or_metric=LOCAL),
    sv.worst_leakage(POLICY, 1.0),
    sv.explain(1.0),
    sv.compare(COIN, COIN.then(COIN)),
    sv.deficiency(COIN, COIN.then(COIN)),
    sv.optimal_mechanism(LINE, 1.0, loss=sv.losses.absolute(4)),
    sv.candidates(LINE, 1.0, None, sv.losses.absolute(4)),
    sv.estimate([60, 40], COIN),
    sv.identifiability(COIN),
    sv.kantorovich([1, 0], [0, 1], sv.metrics.line(2)),
    sv.divergences.delta_curve(COIN, LOCAL, [0, 1]),
]


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_pickle_before_and_after_their_matrix_is_built(metric: sv.Metric) -> None:
    early = pickle.loads(pickle.dumps(metric))
    assert early.points == metric.points
    assert early.matrix.tolist() == metric.matrix.tolist()
    assert pickle.loads(pickle.dumps(metric)).matrix.tolist() == metric.matrix.tolist()


@pytest.mark.parametrize("channel", CHANNELS)
def test_channels_pickle_in_every_form(channel: sv.Channel) -> None:
    again = pickle.loads(pickle.dumps(channel))
    assert repr(again) == repr(channel)
    assert again.finite().to_dict() == channel.finite().to_dict()


@pytest.mark.parametrize("item", OTHERS, ids=lambda item: type(item).__name__)
def test_results_and_spaces_pickle(item: Any) -> None:
    again = pickle.loads(pickle.dumps(item))
    assert type(again) is type(item)
    assert repr(again) == repr(item)
    assert str(again) == str(item)


@pytest.mark.parametrize(
    "error",
    [
        SievertError("a", fix="b", file_fix="c"),
        TooLargeError("many", size=3),
        BudgetError("spent", requested=Fraction(1), remaining=Fraction(1, 3), currency="rho"),
    ],
)
def test_errors_pickle_with_all_they_know(error: SievertError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.in_file(), again.__dict__) == (str(error), error.in_file(), error.__dict__)


def test_an_error_that_holds_channels_pickles() -> None:
    first, second = (sv.mechanisms.randomised_response(3, eps) for eps in (1.0, 2.0))
    with pytest.raises(sv.lattice.NoBoundError) as caught:
        sv.lattice.meet(first, second)
    assert pickle.loads(pickle.dumps(caught.value)).first.shape == caught.value.first.shape


def test_protocols_pickle() -> None:
    protocol = pickle.loads(pickle.dumps(sv.protocols.local_hashing(["a", "b", "c"], 1.0)))
    assert protocol.values == ("a", "b", "c")
    assert protocol.eps == 1.0


def test_samplers_refuse_to_be_copied() -> None:
    with pytest.raises(MechanismError, match="same random bits twice"):
        pickle.dumps(sv.sampling.for_channel(COIN))


def ask(question: Any, *arguments: Any) -> Any:
    return question(*arguments)


def test_a_pool_of_processes_answers_and_raises() -> None:
    count = sv.Query.count(["yes"])
    noise = sv.mechanisms.truncated_geometric(4, 1.0)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        level = pool.submit(ask, sv.epsilon, noise, count.answers(POLICY))
        distance = pool.submit(ask, sv.kantorovich, [1, 0, 0, 0], [0, 0, 0, 1], LINE)
        refused = pool.submit(ask, sv.uniform, 10**12)
        assert level.result(timeout=60).nats == pytest.approx(1)
        assert distance.result(timeout=60).value == 3
        with pytest.raises(TooLargeError):
            refused.result(timeout=60)


ONE_COLUMN = """version = 1
[policy]
values = { range = [0, 2] }
records = 3
[data]
input = "data.csv"
column = "n"
"""
TWO_COLUMNS = ONE_COLUMN.replace("{ range = [0, 2] }", '{ product = [["x", "y"], [0, 2]] }').replace(
    '"n"', '["c", "n"]'
)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (ONE_COLUMN, 'kind = "sum"'),
        (ONE_COLUMN, 'kind = "count"\nwhere = { at_least = 1 }'),
        (TWO_COLUMNS, 'kind = "sum"\nof = "n"'),
        (TWO_COLUMNS, 'kind = "count"\nwhere = { n = { at_most = 1 }, c = "x" }'),
    ],
)
def test_a_file_with_columns(tmp_path: Path, text: str, query: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text(f"{text}[query]\n{query}\n", encoding="utf-8")
    scenario = sv.load(path)
    assert scenario.answers.labels
    again = pickle.loads(pickle.dumps(scenario))
    assert again.query.answers(again.policy).labels == scenario.answers.labels
