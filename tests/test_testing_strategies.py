"""The public strategies: what they promise, and what is said when Hypothesis is missing."""

import subprocess
import sys
from typing import Any

import numpy as np
from hypothesis import find, given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing


@given(testing.priors((2, 4), exact=True, full_support=True))
def test_full_support_priors_are_positive(prior: Any) -> None:
    assert all(p > 0 for p in prior)
    assert sum(prior) == 1


@given(
    st.sampled_from(["exact", "float", "log"]).flatmap(lambda form: testing.channels(3, (2, 4), form=form))
)
def test_channels_have_the_size_and_form_asked_for(channel: sv.Channel) -> None:
    assert channel.shape[0] == 3
    assert 2 <= channel.shape[1] <= 4
    assert channel.support.all()


@given(testing.degraded_pairs(3, form="exact"))
def test_degraded_pairs_are_post_processings(pair: tuple[sv.Channel, sv.Channel]) -> None:
    first, after = pair
    assert first.inputs == after.inputs
    assert sv.capacity(after).factor <= sv.capacity(first).factor


@given(testing.gain_matrices(3, 2, signed=True, exact=False))
def test_gain_matrices_have_actions_as_rows(gain: Any) -> None:
    assert gain.shape == (2, 3)
    assert gain.dtype == np.float64


def test_the_rare_cases_are_reached() -> None:
    find(testing.channels(sparse=True), lambda c: bool((c.matrix.sum(axis=0) == 0).any()))
    find(testing.metrics(extended=True), lambda m: bool(np.isinf(m.matrix).any()))
    find(testing.metrics((2, 3), extended=True), lambda m: m.matrix[0, 1] == 0)
    find(testing.gain_matrices(signed=True), lambda g: bool((g < 0).any()))
    for words in (
        "no two",
        "values may",
        "cycle",
        "distance",
        "block",
        "parent",
        "listed",
        "attri",
    ):
        find(testing.secret_graphs(), lambda graph, words=words: words in graph.words)
    for preset in ("blowfish", "differential", "differential (add-remove)", "metric"):
        find(testing.policies(), lambda policy, preset=preset: policy.preset == preset)


def test_a_missing_hypothesis_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from sievert import testing\n"
        "try:\n    testing.priors()\n"
        "except ImportError as problem:\n    print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "sievert.testing._strategies needs Hypothesis; install sievert[test]\n"


@given(testing.correlations(secrets=(2, 3), uses=4, exact=False, sparse=False))
def test_correlations_are_distributions(found: Any) -> None:
    assert found.shape[0] in (2, 3) and found.shape[1] == 4
    assert abs(found.floats.sum() - 1) < 1e-12 and found.floats.min() > 0
    assert not found.is_exact


def test_correlations_may_have_impossible_pairs() -> None:
    found = find(testing.correlations(2, 2), lambda item: bool((item.joint == 0).any()))
    assert found.is_exact and min(found.secret_prior) > 0
