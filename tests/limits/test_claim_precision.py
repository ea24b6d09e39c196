"""What explains a claim: all digits, on the safe side, monotone, and never with a failing proof."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import sievert as sv
from sievert.errors import SievertError
from sievert.proofs import GaussianGuessProof, proof_from_dict

LEVELS = (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 37.0, 40.0, 300.0, 700.0)


@pytest.mark.parametrize("values", [2, 3, 7, 1000, 10**6])
@pytest.mark.parametrize("eps", LEVELS)
def test_closed_forms_keep_their_digits(eps: float, values: int) -> None:
    found = sv.explain(eps, values=values)
    with mpmath.workdps(400):
        growth = mpmath.exp(mpmath.mpf(eps))
        after = growth / (growth + values - 1)
        before = mpmath.mpf(1) / values
        assert found.after == pytest.approx(float(after), rel=1e-12)
        assert found.odds == pytest.approx(float(growth), rel=1e-9)
        assert found.advantage == pytest.approx(float(after - before), rel=1e-9)
        assert found.bits == pytest.approx(float(mpmath.log(after / before, 2)), rel=1e-9)
        limit = sv.bounds.individual_bound(values, eps)
        assert limit.log == pytest.approx(float(mpmath.log(after / before)), rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 1001, 10**6])
@pytest.mark.parametrize("eps", LEVELS)
def test_capacities_of_paths_and_cycles_keep_their_digits(eps: float, size: int) -> None:
    with mpmath.workdps(400):
        q = mpmath.exp(-mpmath.mpf(eps))
        half = (size - 1) // 2
        near = 1 + 2 * q * (1 - q**half) / (1 - q) + (q ** (size // 2) if size % 2 == 0 else 0)
        path = mpmath.log(1 + (size - 1) * mpmath.tanh(mpmath.mpf(eps) / 2))
        assert sv.bounds.cycle_capacity(size, eps).log == pytest.approx(
            float(mpmath.log(size / near)), rel=1e-9
        )
        assert sv.bounds.path_capacity(size, eps).log == pytest.approx(float(path), rel=1e-9)


@pytest.mark.parametrize("eps", LEVELS[:8])
@pytest.mark.parametrize(("records", "values", "outputs"), [(1, 2, 2), (3, 7, 7), (3, 3, 5), (4, 2, 16)])
def test_few_outputs_keep_their_digits(eps: float, records: int, values: int, outputs: int) -> None:
    length = max(n for n in range(records + 1) if values**n <= outputs)
    with mpmath.workdps(200):
        growth = mpmath.exp(mpmath.mpf(eps))
        top = outputs * growth**records
        few = top / ((values - 1 + growth) ** length - growth**length + growth**records)
        every = (values * growth / (values - 1 + growth)) ** records
        expected = float(mpmath.log(min(few, every)))
    found = sv.bounds.limited_outputs_bound(records=records, values=values, outputs=outputs, eps=eps).log
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("eps", [1e-15, 1e-12, 1e-9, 1e-6, 1e-4])
def test_worst_leakage_of_small_eps_keeps_its_digits(eps: float) -> None:
    with mpmath.workdps(50):
        growth = mpmath.exp(mpmath.mpf(eps))
        database = 10 * mpmath.log(3 * growth / (2 + growth), 2)
        line = mpmath.log(1 + 4 * mpmath.tanh(mpmath.mpf(eps) / 2), 2)
    found = sv.worst_leakage(sv.Policy.differential(3, 10), eps)
    assert found.exact is not None and found.exact.bits == pytest.approx(float(database), rel=1e-9)
    assert found.lower.bits <= found.exact.bits <= found.upper.bits
    on_line = sv.worst_leakage(sv.metrics.line(5), eps)
    assert on_line.exact is not None and on_line.exact.bits == pytest.approx(float(line), rel=1e-9)


def test_the_gaussian_trade_off_is_exact() -> None:
    curve = sv.explain(sigma=1).curve
    shares = np.concatenate([np.logspace(-30, -1, 60), np.linspace(0.1, 1, 20)])
    assert curve.exact
    assert curve.at(shares) == pytest.approx(ndtr(-ndtri(shares) - 1), rel=1e-13)
    assert 1 - float(curve.at(1e-10)) == pytest.approx(4.13030e-8, rel=1e-5)
    assert curve.advantage == pytest.approx(2 * ndtr(0.5) - 1, rel=1e-12)
    assert float(sv.explain(sigma=1e6).curve.advantage) == pytest.approx(3.989422804e-7, rel=1e-9)


@pytest.mark.parametrize("releases", [100, 199, 200, 365, 800, 2000])
@pytest.mark.parametrize(("values", "prior"), [(2, None), (3, None), (3, [0.5, 0.3, 0.2]), (2, [0.7, 0.3])])
def test_many_releases_are_certified(releases: int, values: int, prior: list[float] | None) -> None:
    found = sv.explain(3.0, delta=1e-6, values=values, prior=prior, releases=releases)
    assert found.certificate is not None and found.uncertified is None
    assert proof_from_dict(found.certificate.to_dict()).verify()


def test_what_has_no_certificate_says_why() -> None:
    for found in (
        sv.explain(1.0, releases=5000),
        sv.explain(1.0, values=3, releases=5000),
        sv.explain(sigma=1.0, values=3, prior=[0.5, 0.3, 0.2]),
        sv.explain(sigma=1.0, values=100_000),
        sv.explain(rho=0.1, prior=[0.7, 0.3]),
        sv.explain(rho=math.inf),
        sv.explain(math.inf),
    ):
        assert found.certificate is None and found.uncertified
    assert sv.explain(1.0).uncertified is None


@pytest.mark.parametrize(("values", "releases"), [(2, 1), (2, 7), (5, 3), (60, 1)])
def test_guesses_through_gaussian_noise_are_proved(values: int, releases: int) -> None:
    found = sv.explain(sigma=1.5, values=values, releases=releases)
    proof = found.certificate
    assert isinstance(proof, GaussianGuessProof) and proof.verify() and found.uncertified is None
    assert float(proof.upper) == pytest.approx(found.after, rel=1e-13)
    assert proof.upper - proof.lower < Fraction(1, 10**18)


def test_guesses_rise_with_releases_and_eps() -> None:
    prior = [1 / 2, 1 / 3, 1 / 6]
    for eps in (0.1, 0.5, 1.0, 1.3):
        found = [sv.explain(eps, values=3, prior=prior, releases=k).after for k in range(1, 24)]
        assert found == sorted(found)
    for releases in (5, 8):
        found = [sv.explain(e, values=3, prior=prior, releases=releases).after for e in np.linspace(0, 2, 41)]
        assert all(b >= a - 1e-12 for a, b in pairwise(found))
        table = [after for _, _, after in sv.explain(1.0, values=3, prior=prior, releases=releases).table]
        assert table == sorted(table)


def test_backwards_is_on_the_safe_side() -> None:
    assert sv.weakest_claim(guess=0.5).value == 0
    assert sv.weakest_claim(guess=1 / 3, values=3).value == 0
    for guess in (0.5 + 1e-15, 0.5 + 1e-9, 0.5001, 0.6, 0.75, 0.999999, 1 - 1e-15):
        for more in ({}, {"values": 3}, {"delta": 1e-16}, {"releases": 3}, {"prior": [0.5, 0.3, 0.2]}):
            value = sv.weakest_claim(guess=guess, **more).value  # type: ignore[arg-type]
            assert sv.explain(value, **more).after <= guess  # type: ignore[arg-type]
    tiny = sv.weakest_claim(guess=0.5 + 2**-40).value
    assert tiny == pytest.approx(4 * 2**-40, rel=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sv.bounds.regular_capacity([0, 0, 0], 0),
        lambda: sv.bounds.regular_capacity([], 1),
        lambda: sv.bounds.regular_capacity([1, 2.5], 1),
        lambda: sv.bounds.path_capacity(2.5, 1),
        lambda: sv.bounds.path_capacity(3, math.nan),
        lambda: sv.bounds.path_capacity(10**30, 1),
        lambda: sv.bounds.cycle_capacity(-3, 1),
        lambda: sv.bounds.complete_capacity(0, 1),
        lambda: sv.bounds.individual_bound(3, -1),
        lambda: sv.bounds.individual_bound(3, "abc"),
        lambda: sv.bounds.database_bound(records=2.5, values=2, eps=1),
        lambda: sv.bounds.limited_outputs_bound(records=2, values=2, outputs=1.5, eps=1),
        lambda: sv.bounds.blowfish_bound([], 1),
        lambda: sv.bounds.blowfish_bound([-1], 1),
        lambda: sv.bounds.blowfish_bound([math.nan], 1),
        lambda: sv.bounds.blowfish_bound({1: 0.5}, 1),
        lambda: sv.bounds.blowfish_bound(3, 1),
        lambda: sv.bounds.posterior_bound([1], eps=1, databases=0),
        lambda: sv.mechanisms.nominal_epsilon("abc", 0.0),
        lambda: sv.mechanisms.nominal_epsilon(5, math.nan),
        lambda: sv.explain(eps="a"),
        lambda: sv.explain(eps=1, releases=10**9),
        lambda: sv.explain(renyi={"a": 1}),
    ],
)
def test_numbers_that_are_none_are_refused(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SievertError):
        call()


def test_a_percentage_is_told_how_to_be_written() -> None:
    with pytest.raises(SievertError, match=r"write 0\.6"):
        sv.weakest_claim(60)


def test_infinite_eps_and_diameters_have_an_answer() -> None:
    assert sv.bounds.cycle_capacity(7, math.inf).factor == pytest.approx(7)
    assert sv.bounds.regular_capacity([1, 2, 2], math.inf).factor == pytest.approx(5)
    assert sv.bounds.limited_outputs_bound(
        records=2, values=3, outputs=4, eps=math.inf
    ).factor == pytest.approx(4)
    assert sv.bounds.blowfish_bound([0, 2], math.inf).log == math.inf
    assert sv.bounds.blowfish_bound([0, math.inf], 0.0).factor == pytest.approx(2)
