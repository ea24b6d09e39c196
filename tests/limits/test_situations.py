"""One record under public constraints, a known prior and very many values: what holds beyond the programs."""

import itertools
import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import PolicyError
from sievert.limits import worst_leakage
from sievert.policies import Policy
from sievert.spaces import metrics, secrets

# Record 1 has four values, two when record 2 has value 1; record 2 has three or four.
MIXED = Policy.blowfish(
    secrets.complete(4),
    2,
    permitted=[(a, b) for a, b in itertools.product(range(4), repeat=2) if b != 1 or a < 2],
)
KNOWN_TOTAL = Policy.blowfish(secrets.complete(4), 4, permitted=lambda database: sum(database) == 6)


def test_a_promise_about_a_guess_holds_where_few_values_are_left() -> None:
    found = sv.largest_epsilon(MIXED, guess=0.6, individual=True)
    # Two values left: e^ε/(1 + e^ε) = 0.6; four would allow more.
    assert found.nats == pytest.approx(math.log(1.5), rel=1e-9)


@pytest.mark.parametrize(("policy", "guess", "named"), [(MIXED, 0.4, "2 values"), (KNOWN_TOTAL, 0.6, "1/1")])
def test_a_guess_below_the_blind_one_is_refused(policy: Policy, guess: float, named: str) -> None:
    with pytest.raises(PolicyError, match=named):
        sv.largest_epsilon(policy, guess=guess, individual=True)


@pytest.mark.parametrize(("policy", "values"), [(MIXED, 4), (KNOWN_TOTAL, 1)])
def test_infinite_eps_about_one_record_is_what_the_others_leave_open(policy: Policy, values: int) -> None:
    found = worst_leakage(policy, math.inf, individual=True)
    assert found.exact.factor == pytest.approx(values)


def test_very_many_values_have_their_mechanism() -> None:
    found = worst_leakage(Policy.differential(100_000, 3), 2)
    assert found.mechanism.shape[0] == 100_000**3
    assert sv.capacity(found.mechanism).bits == pytest.approx(found.exact.bits, rel=1e-12)
    assert np.isclose(float(sv.epsilon(found.mechanism, Policy.differential(100_000, 3))), 2)


def test_within_is_refused_under_constraints_and_names_one_record() -> None:
    line = Policy(metrics.line(5), records=2)
    assert "about one record within 1" in str(sv.largest_epsilon(line, guess=0.9, within=1))
    constrained = Policy.blowfish(secrets.line(5), 2, permitted=[(0, 1), (1, 1), (2, 3)])
    with pytest.raises(PolicyError, match="without public constraints"):
        sv.largest_epsilon(constrained, guess=0.9, within=1)


@pytest.mark.parametrize("limit", [{"guess": "a"}, {"bits": "a"}, {"guess": 0}, {"bits": -1}])
def test_limits_that_are_no_numbers_are_named(limit: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=next(iter(limit))):
        sv.largest_epsilon(Policy.local(3), **limit)


def test_a_reason_shows_no_endless_number() -> None:
    assert len(worst_leakage(Policy.differential(3, 1000), 1, outputs=5).reason) < 100
