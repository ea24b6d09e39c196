"""One check for each kind of argument: a wrong thing is named with what to give instead, everywhere."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import MetricError, QueryError, SievertError

COIN = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
POLICY = sv.Policy.differential(2, 1)
LINE = sv.metrics.line(2)
GOOD: dict[str, Any] = {
    "channel": COIN,
    "first": COIN,
    "second": COIN,
    "less_safe": COIN,
    "safer": COIN,
    "metric": LINE,
    "policy": POLICY,
    "policy_or_metric": LINE,
    "prior": [0.5, 0.5],
    "loss": sv.losses.absolute(2),
    "eps": 1.0,
    "radius": 1.0,
    "delta": 0.1,
    "orders": [2.0],
    "success": 0.9,
    "probability": 0.5,
    "counts": [1, 2],
    "p": [0.5, 0.5],
    "q": [0.5, 0.5],
    "holds": [0],
    "generators": [[1, 0]],
    "gain": sv.gains.identity(2),
    "posterior": [0.5, 0.5],
    "adversary": sv.adversaries.within(LINE, 1),
}
SPACES = (
    "sv", "adversaries", "design", "divergences", "estimation", "gains", "information", "lattice", "losses",
    "mechanisms", "observations", "transformations",
)  # fmt: skip
KINDS = {
    "channel": ("channel", "less_safe", "safer"),
    "metric": ("metric", "policy_or_metric"),
    "policy": ("policy",),
}
# What a function needs beside its required arguments.
MORE: dict[str, dict[str, Any]] = {
    "explain": {"eps": 1.0},
    "largest_epsilon": {"guess": 0.9},
    "optimal_mechanism": {"eps": 1.0},
    "candidates": {"eps": 1.0},
    "exponential": {"eps": 1.0},
    "tight_constraints": {"eps": 1.0},
    "refines": {"order": "privacy"},
}
# A channel may be a level of privacy here.
EXEMPT = {("record_leakage", "channel")}


def functions() -> list[tuple[str, Any, str]]:
    found = []
    for space in SPACES:
        module: Any = sv if space == "sv" else getattr(sv, space)
        for name in module.__all__:
            function = getattr(module, name)
            if not inspect.isfunction(function):
                continue
            parameters = inspect.signature(function).parameters
            known = all(p in GOOD or q.default is not q.empty for p, q in parameters.items())
            wanted = [p for kinds in KINDS.values() for p in kinds if p in parameters]
            if known:
                found += [(name, function, p) for p in wanted if (name, p) not in EXEMPT]
    return found


@pytest.mark.parametrize(
    "wrong",
    [[[0.5, 0.5], [0.5, 0.5]], np.eye(2), "x", 3.5, object()],
    ids=["rows", "array", "text", "number", "object"],
)
@pytest.mark.parametrize(
    ("name", "function", "argument"), functions(), ids=lambda item: getattr(item, "__name__", item)
)
def test_a_wrong_kind_is_named(name: str, function: Any, argument: str, wrong: Any) -> None:
    parameters = inspect.signature(function).parameters
    given = {p: GOOD[p] for p, q in parameters.items() if q.default is q.empty}
    given |= MORE.get(name, {})
    with pytest.raises(SievertError, match=rf"{argument}|policy|metric"):
        function(**{**given, argument: wrong})


@pytest.mark.parametrize("query", ["nonsense", sv.Query.count([0])])
def test_a_query_needs_a_policy(query: Any) -> None:
    for ask in (
        lambda: sv.is_private(COIN, LINE, 1.0, query),
        lambda: sv.epsilon(COIN, LINE, query),
        lambda: sv.divergences.smallest_epsilon(COIN, LINE, 0.1, query),
        lambda: sv.divergences.tradeoff_function(COIN, LINE, query=query),
        lambda: sv.divergences.delta_curve(COIN, LINE, [1.0], query),
    ):
        with pytest.raises(QueryError, match="query"):
            ask()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sv.breaches(COIN, direction="sideways"),  # type: ignore[arg-type]
        lambda: sv.Query("nonsense", "x"),
        lambda: sv.Query.count([]),
        lambda: sv.deficiency(COIN, COIN, np.array([0.5, 0.5])),  # type: ignore[arg-type]
        lambda: sv.observations.geometric_rate(alpha=-1),
        lambda: sv.observations.geometric_rate(alpha="x"),
        lambda: sv.estimation.audit_outputs([0, 1] * 50, [0, 1] * 50, names=("x",)),  # type: ignore[arg-type]
        lambda: sv.lattice.in_both_hulls(COIN, COIN, [0.2, 0.3, 0.5]),
        lambda: sv.adversaries.refines_class(COIN, sv.Channel.identity(3), sv.adversaries.within(LINE, 1)),
        lambda: sv.mechanisms.randomised_response(2, alpha="१/३"),
        lambda: sv.mechanisms.randomised_response(2, -(10**400)),
        lambda: sv.estimate([1, 2], COIN, rng=-1),
        lambda: sv.capacity(COIN, kind=[1]),  # type: ignore[arg-type]
        lambda: sv.information.entropy([0.5, 0.5], "x"),  # type: ignore[arg-type]
        lambda: sv.information.entropy([0.5, 0.5], math.nan),
        lambda: sv.gains.matrix(np.ones((2, 2, 2))),
    ],
)
def test_arguments_that_mean_nothing_are_refused(ask: Any) -> None:
    with pytest.raises(SievertError):
        ask()


def test_metrics_are_combined_by_point() -> None:
    first = sv.Metric([[0, 1, 5], [1, 0, 4], [5, 4, 0]], points=["a", "b", "c"])
    turned = first.restricted(["c", "a", "b"])
    assert sv.lattice.privacy_meet_metric(first, turned).matrix.tolist() == first.matrix.tolist()
    assert sv.lattice.privacy_join_metric(first, turned).matrix.tolist() == first.matrix.tolist()
    with pytest.raises(MetricError, match="no element labelled 'a'"):
        sv.lattice.privacy_join_metric(first, sv.metrics.discrete(["x", "y", "z"]))


def test_calibration_and_smoothing_go_by_label() -> None:
    metric = sv.Metric([[0, 1, 5], [1, 0, 4], [5, 4, 0]], points=["a", "b", "c"])
    turned = metric.restricted(["c", "a", "b"])
    channel = sv.Channel([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]], ["a", "b", "c"])
    assert sv.design.calibration(channel, channel, metric, 1) == sv.design.calibration(
        channel, channel, turned, 1
    )
    smooth = [
        sv.transformations.smooth_by_distance(channel, given).matrix.tolist() for given in (metric, turned)
    ]
    assert smooth[0] == smooth[1]
