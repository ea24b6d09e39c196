"""Closed forms of Alvim et al. and Edwards et al.: worked numbers, errata, extremes."""

import math

import pytest
from flint import arb, ctx

from sievert.errors import PolicyError
from sievert.limits import worst_leakage
from sievert.limits.bounds import (
    Bound,
    blowfish_bound,
    database_bound,
    individual_bound,
    limited_outputs_bound,
    posterior_bound,
    regular_capacity,
)
from sievert.policies import Policy
from sievert.spaces import graphs


@pytest.mark.parametrize(
    ("records", "values", "eps", "bits"),
    [
        (100, 2, 5, 99.031180),
        (2, 3, 1, 1.578792),
        (10, 100, 1, 14.181160),
        (100, 100, 0.01, 1.428196),
        (1000, 100, 2, 2796.040329),
    ],
)
def test_alvim_theorem_15(records: int, values: int, eps: float, bits: float) -> None:
    assert database_bound(records=records, values=values, eps=eps).bits == pytest.approx(bits, abs=6e-7)
    found = worst_leakage(Policy.differential(values, records), eps)
    assert found.exact.bits == pytest.approx(bits, abs=6e-7)
    # The diameter bound is ε·n·log2 e for ordinary differential privacy: weaker.
    assert found.diameter.bits == pytest.approx(records * eps / math.log(2))


def test_proposition_21() -> None:
    assert individual_bound(3, 1.35).bits == pytest.approx(0.982334, abs=6e-7)
    found = worst_leakage(Policy.differential(3, 50), 1.35, individual=True)
    assert found.exact.bits == pytest.approx(0.982334, abs=6e-7)
    assert found.diameter.bits == pytest.approx(1.947638, abs=6e-7)
    assert found.records == 1


def ceil_version(records: int, values: int, outputs: int, eps: float) -> float:
    """Prop 20 as the appendix prints it."""
    length = math.ceil(math.log(outputs) / math.log(values))
    grown = math.exp(eps)
    below = (values - 1 + grown) ** length - grown**length + grown**records
    return outputs * grown**records / below


def test_erratum_the_ceil_version_of_proposition_20_is_false() -> None:
    truth = worst_leakage(Policy.differential(2, 2), 1, outputs=3).exact.factor
    assert truth == pytest.approx(1.924234, abs=6e-7)
    assert ceil_version(2, 2, 3, 1) == pytest.approx(1.603340, abs=6e-7)
    assert (
        ceil_version(2, 2, 3, 1)
        < truth
        <= limited_outputs_bound(records=2, values=2, outputs=3, eps=1).factor
    )


def test_proposition_20_is_reported_with_theorem_15() -> None:
    # u=3, v=2, r=4, ε=0.3: the proposition alone gives 1.597, the theorem 1.516.
    assert limited_outputs_bound(records=3, values=2, outputs=4, eps=0.3).factor == pytest.approx(
        1.516, abs=6e-4
    )
    assert limited_outputs_bound(records=3, values=2, outputs=4, eps=0.3) == database_bound(
        records=3, values=2, eps=0.3
    )


def test_whole_powers_are_counted_exactly() -> None:
    # Pitfall 6: floor(log 1000 / log 10) is 2 in floats.
    assert math.floor(math.log(1000) / math.log(10)) == 2
    grown = math.exp(0.1)
    proposition = 1000 * grown**5 / ((9 + grown) ** 3 - grown**3 + grown**5)
    assert limited_outputs_bound(records=5, values=10, outputs=1000, eps=0.1).factor == pytest.approx(
        min(proposition, database_bound(records=5, values=10, eps=0.1).factor)
    )


@pytest.mark.parametrize("eps", [1e-9, 1e-3, 50, 500, 5000])
def test_extremes_lose_no_digits(eps: float) -> None:
    with ctx.workprec(400):
        grown = arb(eps).exp()
        true = float((3 * grown / (2 + grown)).log() / arb(2).log())
    assert individual_bound(3, eps).bits == pytest.approx(true, rel=1e-14)
    assert database_bound(records=10**6, values=3, eps=eps).bits == pytest.approx(10**6 * true, rel=1e-14)


def test_bounds_never_overflow() -> None:
    # Pitfall 5.
    bound = blowfish_bound([3, 2000, 2000], 1)
    assert bound.factor == math.inf
    assert bound.bits == pytest.approx(2000 / math.log(2) + 1)
    assert bound.to_dict()["factor"] == "inf"
    assert blowfish_bound({0: 5}, 7).factor == pytest.approx(5)


def test_radius_is_never_worse_than_diameter() -> None:
    found = worst_leakage(graphs.path(5), 1)
    assert (found.radius.factor, found.diameter.factor) == pytest.approx((math.exp(2), math.exp(4)))


def test_edwards_theorem_2() -> None:
    assert posterior_bound([1, 1], eps=math.log(2), databases=6) == pytest.approx(4 / 6)
    assert posterior_bound([5], eps=3, databases=6) == 1.0


def test_infinite_eps_and_zero() -> None:
    assert individual_bound(4, math.inf).factor == pytest.approx(4)
    assert individual_bound(4, 0).bits == 0
    assert regular_capacity([1, 2], 0).bits == 0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: database_bound(records=0, values=2, eps=1), "records is 0"),
        (lambda: individual_bound(0, 1), "values is 0"),
        (lambda: individual_bound(2, -1), "eps is -1"),
        (lambda: individual_bound(2, math.nan), "eps is nan"),
        (lambda: limited_outputs_bound(records=2, values=2, outputs=0, eps=1), "outputs is 0"),
    ],
)
def test_bad_arguments_are_named(call, named: str) -> None:
    with pytest.raises(PolicyError, match=named):
        call()


def test_a_bound_speaks() -> None:
    assert str(Bound(math.log(2))) == "a factor of 2, 1 bit"
    assert str(Bound(1000)) == "1442.7 bits"
    assert float(Bound(0.0)) == 1.0
