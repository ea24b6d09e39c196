"""One order of arguments: what is judged, then against what; one name for one thing."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import sievert as sv

# A function takes those it needs, in this order. What it judges comes first, whatever that is (a prior is
# judged by `vulnerability`, and is what others are judged against). A promise stands beside its policy.
ORDER = [
    "less_safe", "safer", "first", "second", "p", "q", "inputs", "outputs", "counts", "channel",
    "policy", "policy_or_metric", "metric", "n", "values", "records", "size", "eps", "delta", "rho", "orders",
    "query", "prior", "predicate", "level", "loss", "gain", "gains", "kind", "case", "method", "observations",
    "releases", "confidence", "trials", "rng",
]  # fmt: skip
# The same words for other things: which ε is meant; how many outputs there may be; about how many values a
# promise is explained; how many inputs two families have, which few families need.
OTHER = {
    "mechanisms.exponential": {"level"},
    "worst_leakage": {"outputs"},
    "bounds.limited_outputs_bound": {"outputs"},
    "explain": {"values"},
    "threshold": {"n"},
    "inference.newcomer": {"eps"},
    "inference.newcomer_table": {"eps"},
    "inference.frontier": {"metric"},
    "inference.curve": {"metric"},
}
# Names that would say the same as one of ours.
SYNONYMS = {
    "metric_or_policy", "policy_or_metric_or_graph", "policy_or_answers", "against", "epsilon", "seed",
    "random_state", "tol", "belief_prior",
}  # fmt: skip
SPACES = [
    "adapters", "adversaries", "bounds", "design", "divergences", "estimation", "gains", "geometry",
    "inference", "information", "lattice", "losses", "mechanisms", "observations", "priors", "promises",
    "protocols", "symmetries", "transformations",
]  # fmt: skip


def functions() -> list[tuple[str, Any]]:
    found = [(name, getattr(sv, name)) for name in sv.__all__]
    for space in SPACES:
        found += [
            (f"{space}.{name}", getattr(getattr(sv, space), name)) for name in getattr(sv, space).__all__
        ]
    return [(name, function) for name, function in found if inspect.isfunction(function)]


# What is judged are counts, and the channel is what they came through.
COUNTS_FIRST = ("adversaries.class_of", "estimate", "estimate_mean", "estimation.estimate_repeated")


@pytest.mark.parametrize(
    ("name", "function"), functions(), ids=lambda item: item if isinstance(item, str) else ""
)
def test_arguments_stand_in_one_order(name: str, function: Any) -> None:
    parameters = list(inspect.signature(function).parameters.values())
    ordered = [p.name for p in parameters[1:] if p.kind is not p.KEYWORD_ONLY]
    known = [p for p in ordered if p in ORDER and p not in OTHER.get(name, set())]
    assert known == sorted(known, key=ORDER.index)


@pytest.mark.parametrize(
    ("name", "function"), functions(), ids=lambda item: item if isinstance(item, str) else ""
)
def test_one_name_for_one_thing(name: str, function: Any) -> None:
    parameters = inspect.signature(function).parameters
    assert not SYNONYMS & set(parameters)
    if "eps" in parameters and "alpha" in parameters:
        by_name = parameters["alpha"].kind is inspect.Parameter.KEYWORD_ONLY
        assert by_name is (name != "geometry.polytope")  # its level is all that it takes
    if "rng" in parameters:
        assert parameters["rng"].default is None
    if "channel" in parameters and name not in COUNTS_FIRST:
        assert next(iter(parameters)) == "channel"


def test_a_query_comes_before_a_prior() -> None:
    channel, policy = sv.mechanisms.truncated_geometric(3, 1.0), sv.Policy.differential(2, 2)
    found = sv.record_leakage(channel, policy, sv.Query.sum(), [0.5, 0.5])
    assert 0.5 < found.after < 0.8


# Two of them side by side were confused: composed_claim(1, 1) meant δ = 1, capacity(c, "risk") a prior.
BY_NAME = {"kind", "gains", "delta", "releases"}


@pytest.mark.parametrize(
    ("name", "function"), functions(), ids=lambda item: item if isinstance(item, str) else ""
)
def test_what_has_a_default_and_is_easily_confused_is_given_by_name(name: str, function: Any) -> None:
    positional = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is not parameter.empty
    ]
    assert not BY_NAME & set(positional)


def test_a_kind_given_in_place_of_the_prior_is_named() -> None:
    with pytest.raises(sv.SievertError, match="write kind='risk'"):
        sv.capacity(sv.mechanisms.randomised_response(3, eps=1.0), "risk")
    with pytest.raises(TypeError):
        sv.promises.composed_claim(1, 1)
