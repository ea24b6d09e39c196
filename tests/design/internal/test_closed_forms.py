"""Inside `_closed_forms`: which losses have one best answer for each input."""

import numpy as np

from sievert.design._closed_forms import peaks


def test_peaks() -> None:
    """Fernandes, chapter 6."""
    assert peaks(1 - np.eye(3)).tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert peaks(np.abs(np.subtract.outer(np.arange(3), np.arange(3.0)))) is None
