"""Objects of other libraries, explained."""

import math
import sys

import pytest

import sievert as sv
from sievert.errors import SievertError
from sievert.limits.adapters import claim_of_event, claim_of_measurement
from sievert.limits.claims import ApproximateClaim, ZeroConcentratedClaim


@pytest.fixture
def opendp(oracle):  # type: ignore[no-untyped-def]
    dp = oracle("opendp.prelude")
    dp.enable_features("contrib")
    return dp


def _noise(dp, make, scale):  # type: ignore[no-untyped-def]
    return make(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)


def test_opendp_measurements(opendp) -> None:  # type: ignore[no-untyped-def]
    laplace = _noise(opendp, opendp.m.make_laplace, 2.0)
    gauss = _noise(opendp, opendp.m.make_gaussian, 2.0)
    curve = opendp.c.make_zCDP_to_approxDP(gauss)
    fixed = opendp.c.make_fix_delta(curve, 1e-6)
    assert claim_of_measurement(laplace, 1.0) == ApproximateClaim(pytest.approx(0.5))
    assert claim_of_measurement(gauss, 1.0, 3) == ZeroConcentratedClaim(pytest.approx(0.125), 3)
    eps, delta = fixed.map(1.0)
    assert claim_of_measurement(fixed, 1.0) == ApproximateClaim(eps, delta)
    assert sv.explain_opendp(laplace, 1.0, values=4).after == pytest.approx(sv.explain(0.5, values=4).after)
    # A curve says at least as much as any of its points, and is an upper bound on the truth.
    found = sv.explain_opendp(curve, 1.0, values=3)
    assert (
        sv.explain(sigma=2, values=3).reached <= found.after <= sv.explain_opendp(fixed, 1.0, values=3).after
    )
    with pytest.raises(SievertError, match="composed before"):
        sv.explain_opendp(curve, 1.0, releases=2)


def test_opendp_renyi(opendp) -> None:  # type: ignore[no-untyped-def]
    class Measurement:
        output_measure = "RenyiDivergence"

        def map(self, d_in: float) -> object:
            return lambda order: order * d_in**2 / 8

    assert claim_of_measurement(Measurement(), 1.0).divergences[2] == pytest.approx(0.25)
    Measurement.output_measure = "FixedSomething"
    with pytest.raises(SievertError, match="FixedSomething"):
        claim_of_measurement(Measurement(), 1.0)


def test_dp_accounting_objects(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    pld = oracle("dp_accounting.pld.privacy_loss_distribution")
    exact = sv.explain(sigma=2, releases=4).after
    event = sv.explain_dp_accounting(accounting.GaussianDpEvent(2.0), releases=4)
    assert event.releases == 4 and "4 releases" in str(event)
    assert event.after == pytest.approx(exact, abs=1e-4)
    loss = sv.explain_dp_accounting(pld.from_gaussian_mechanism(2.0), releases=4)
    assert loss.after == pytest.approx(exact, abs=1e-4)
    accountant = accounting.pld.PLDAccountant()
    accountant.compose(accounting.GaussianDpEvent(2.0), 4)
    assert sv.explain_dp_accounting(accountant).after == pytest.approx(event.after)
    with pytest.raises(SievertError, match="composed before"):
        sv.explain_dp_accounting(accountant, releases=2)
    # Laplace noise: better than the worst mechanism with the same ε, here Φ-free: TV = 1 - e^(-1/2).
    laplace = sv.explain_dp_accounting(accounting.LaplaceDpEvent(1.0))
    assert laplace.after == pytest.approx(1 - math.exp(-0.5) / 2, abs=1e-4)
    with pytest.raises(SievertError, match="refuses"):
        sv.explain_dp_accounting(accounting.UnsupportedDpEvent())


def test_objects_that_are_none_of_these(oracle) -> None:  # type: ignore[no-untyped-def]
    oracle("dp_accounting")
    with pytest.raises(SievertError):
        claim_of_event(3)
    with pytest.raises(SievertError):
        claim_of_measurement(3)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(SievertError, match="dp-accounting"):
        claim_of_event(object())
