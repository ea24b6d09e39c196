"""Priors: exact, float, and refused."""

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.channels.priors import as_prior
from sievert.errors import PriorError


def test_uniform_is_exact() -> None:
    assert sv.uniform(3).tolist() == [Fraction(1, 3)] * 3
    assert sv.uniform is sv.priors.uniform
    assert as_prior(None, 2).tolist() == [Fraction(1, 2)] * 2


def test_point_and_counts() -> None:
    assert sv.priors.point(3, 2).tolist() == [0, 0, 1]
    assert sv.priors.from_counts([1, 3, "1/2"]).tolist() == [Fraction(2, 9), Fraction(6, 9), Fraction(1, 9)]
    assert sv.priors.from_counts(Counter({"b": 3}), labels=("a", "b")).tolist() == [0, 1]
    assert sv.priors.from_counts(np.array([2, 2])).tolist() == [Fraction(1, 2)] * 2


@given(testing.priors(exact=True))
def test_exact_priors_stay_exact(prior: Any) -> None:
    again = as_prior(prior, len(prior))
    assert again.dtype == object
    assert again.tolist() == prior.tolist()


def test_one_float_makes_a_float_prior() -> None:
    assert as_prior([Fraction(1, 2), 0.5], 2).dtype == np.float64
    assert as_prior([Decimal("0.5"), "1/2"], 2).dtype == object
    assert as_prior(np.array([0.25, 0.75]), 2).tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.5, 0], "prior has 3 entries but 2 are needed"),
        ([], "prior has 0 entries"),
        ([1.5, -0.5], "prior: entry 1 is -0.5; it must be a finite number ≥ 0"),
        ([math.nan, 1], "prior: entry 0 is nan"),
        ([math.inf, 0], "prior: entry 0 is inf"),
        ([0.5, 0.48], "prior sums to 0.98; probabilities must sum to 1; use sv.priors.from_counts"),
        (["1/3", "1/3"], "prior sums to 2/3"),
        (["a", "1/3"], "prior: entry 0 is 'a'; it must be"),
        ([None, 0.5], "prior: entry 0 is None; it must be"),
        (["1/0", "1"], "prior: entry 0 is '1/0'; it must be"),
        (0.5, "prior is 0.5; give numbers: a list"),
        ("uniform", "prior is 'uniform'; give numbers"),
        ({"a": 0.5, "b": 0.5}, "prior: 'a' is not one of the labels 0, 1"),
    ],
)
def test_bad_priors_are_refused(prior: Any, message: str) -> None:
    with pytest.raises(PriorError, match=message):
        sv.posterior_vulnerability(sv.Channel.identity(2), prior)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sv.uniform(0), "n is 0; it must be a whole number ≥ 1"),
        (lambda: sv.uniform(2.0), "n is 2.0"),  # type: ignore[arg-type]
        (lambda: sv.priors.point(2, 2), "secret is 2; it must be a whole number from 0 to 1"),
        (lambda: sv.priors.point(2, "a"), "secret is 'a'"),  # type: ignore[arg-type]
        (lambda: sv.priors.from_counts([1, -1]), "counts: entry 1 is -1; counts must be finite numbers ≥ 0"),
        (lambda: sv.priors.from_counts([1, "x"]), "counts: entry 1 is 'x'"),
        (lambda: sv.priors.from_counts([math.nan]), "counts: entry 0 is nan"),
        (lambda: sv.priors.from_counts([0, 0]), "all 0 or empty"),
        (lambda: sv.priors.from_counts([]), "all 0 or empty"),
        (lambda: sv.priors.from_counts({"a": 1}), "labels is missing"),
        (lambda: sv.priors.from_counts({"z": 1}, labels=("a",)), "counts: 'z' is not one of the labels 'a'"),
    ],
)
def test_bad_arguments_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(PriorError, match=message):
        build()
