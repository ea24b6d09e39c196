"""The claim that is read off a measurement of OpenDP."""

import pytest

from sievert.errors import SievertError
from sievert.limits import ReplacementClaim
from sievert.limits._measurements import claim_of_measurement
from sievert.limits.promises import ApproximateClaim, ZeroConcentratedClaim


def test_opendp_renyi() -> None:
    class Measurement:
        input_metric = "HammingDistance()"
        input_domain = "VectorDomain(AtomDomain(T=i32))"
        output_measure = "RenyiDivergence"

        def map(self, d_in: float) -> object:
            return lambda order: order * d_in**2 / 8

    assert claim_of_measurement(Measurement(), 1.0).divergences[2] == pytest.approx(0.25)  # type: ignore[attr-defined]
    Measurement.input_metric = "SymmetricDistance()"
    found = claim_of_measurement(Measurement(), 1)
    assert isinstance(found, ReplacementClaim)
    assert found.replaced.divergences[2] == pytest.approx(1.0)  # type: ignore[attr-defined]
    Measurement.output_measure = "FixedSomething"
    with pytest.raises(SievertError, match="FixedSomething"):
        claim_of_measurement(Measurement(), 1)
    Measurement.input_metric = "UserDistance(mine)"
    with pytest.raises(SievertError, match="UserDistance"):
        claim_of_measurement(Measurement(), 1)


def test_claims_of_measurements(oracle) -> None:  # type: ignore[no-untyped-def]
    dp = oracle("opendp.prelude")
    dp.enable_features("contrib")
    numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace, gauss = dp.m.make_laplace(*numbers, scale=2.0), dp.m.make_gaussian(*numbers, scale=2.0)
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gauss), 1e-6)
    assert claim_of_measurement(laplace, 1.0) == ApproximateClaim(pytest.approx(0.5))
    assert claim_of_measurement(gauss, 1.0, 3) == ZeroConcentratedClaim(pytest.approx(0.125), 3)
    eps, delta = fixed.map(1.0)
    assert claim_of_measurement(fixed, 1.0) == ApproximateClaim(eps, delta)
