"""Inside `_confidence`: audits by samples: they rarely say too much, and they see what is wrong."""

import pytest
from scipy.stats import beta, binom

from sievert.estimation._confidence import share_above, share_below


def test_clopper_pearson_is_exact() -> None:
    for hits, trials in ((0, 10), (3, 10), (10, 10), (250, 1000)):
        low, high = share_above(hits, trials, 0.025), share_below(hits, trials, 0.025)
        if hits:
            assert low == pytest.approx(beta.ppf(0.025, hits, trials - hits + 1))
            assert binom.sf(hits - 1, trials, low) == pytest.approx(0.025)
        if hits < trials:
            assert binom.cdf(hits, trials, high) == pytest.approx(0.025)
    assert share_above(0, 10, 0.05) == 0
    assert share_below(10, 10, 0.05) == 1
