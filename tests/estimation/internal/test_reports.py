"""Inside `_reports`: every worked number of Fernandes, chapter 8, and the errata about it."""

import numpy as np
import pytest

from sievert.estimation._reports import clipped, nearest_distribution


def test_the_nearest_distribution_and_the_clipped_one() -> None:
    inverse = np.array([1.4, 0.4, -0.8])
    assert nearest_distribution(inverse) == pytest.approx([1, 0, 0])
    assert clipped(inverse) == pytest.approx([7 / 9, 2 / 9, 0])
