"""The bound on a total error whose law would be too long, beside the law."""

from fractions import Fraction

import pytest

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, StaircaseLaw, total_error
from sievert.channels import _total_error as module

LAWS = [GeometricLaw(EpsilonOrAlpha(0.5, None)), GaussianLaw(Fraction(3)), StaircaseLaw(Fraction(1), 3)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
def test_the_bound_holds_and_is_not_far(law: NoiseLaw, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = total_error(law, 50, 0.99)
    monkeypatch.setattr(module, "LARGEST_LAW", 0)
    bound = total_error(law, 50, 0.99)
    assert exact.exact and not bound.exact
    assert exact.radius <= bound.radius <= 1.6 * exact.radius
