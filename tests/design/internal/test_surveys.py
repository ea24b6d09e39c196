"""Inside `_surveys`: mechanisms for surveys."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.design import survey_design


def option(found, start):
    return next(item for item in found.options if item.name.startswith(start))


@pytest.mark.parametrize("start", ["subsets", "bits flipped alike", "bits flipped at best", "randomised"])
def test_listed_and_closed_forms_agree(start):
    listed = option(survey_design(sv.metrics.discrete(6), 0.4), start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sievert.design._surveys.LARGEST_SETS", 0)
        closed = option(survey_design(sv.metrics.discrete(6), 0.4), start)
    # The best estimate from single bits uses that frequencies sum to 1; each bit alone does not.
    assert listed.variance <= closed.variance * (1 + 1e-9)
    if not start.startswith("bits"):
        assert listed.variance == pytest.approx(closed.variance, rel=1e-9)
    assert (listed.eps or 0.4) == pytest.approx(0.4, rel=1e-9)


def test_an_option_that_cannot_be_inverted_says_so():
    from sievert.design import _surveys

    blurred = sv.Channel([[1, 0], ["1/2", "1/2"], ["1/2", "1/2"]], inputs=["a", "b", "c"])
    metric = sv.metrics.discrete(["a", "b", "c"])
    found = _surveys._listed("blurred", blurred, metric, np.full(3, 1 / 3), [], 100)
    assert (found.invertible, found.variance) == (False, math.inf)
    assert "of 'b' and 'c' only the total" in found.alike
    assert "cannot be inverted" in str(found)
