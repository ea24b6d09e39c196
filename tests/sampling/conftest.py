"""Chi-square with pooled cells, and ball arithmetic as the independent oracle.

The statistical tests have fixed seeds. Were the seeds free, a correct sampler would fail one of them with
probability `FALSE_ALARM`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import flint
import numpy as np
import pytest
from scipy.stats import chi2

FALSE_ALARM = 1e-6


@pytest.fixture
def precise() -> Iterator[None]:
    """700 bits for flint's balls."""
    old = flint.ctx.prec
    flint.ctx.prec = 700
    yield
    flint.ctx.prec = old


@pytest.fixture
def fits() -> Callable[[Any, Any], bool]:
    """Whether counts agree with probabilities, which may leave out a tail."""

    def fits(counts: Any, probabilities: Any) -> bool:
        return chi_square(np.asarray(counts, float), np.asarray(probabilities, float)) >= FALSE_ALARM

    return fits


@pytest.fixture
def same_law() -> Callable[[Any, Any], bool]:
    """Whether two samples of integers may have one law; cells below 10 in total are pooled."""

    def same(first: Any, second: Any) -> bool:
        low = int(min(first.min(), second.min()))
        size = int(max(first.max(), second.max())) - low + 1
        a, b = (np.bincount(np.asarray(x) - low, minlength=size).astype(float) for x in (first, second))
        large = a + b >= 10
        a, b = (np.append(counts[large], counts[~large].sum()) for counts in (a, b))
        used = a + b > 0
        a, b = a[used], b[used]
        if len(a) < 2:
            return True
        ratio = (b.sum() / a.sum()) ** 0.5
        statistic = ((a * ratio - b / ratio) ** 2 / (a + b)).sum()
        return bool(chi2.sf(statistic, len(a) - 1) >= FALSE_ALARM)

    return same


def chi_square(counts: Any, probabilities: Any) -> float:
    """p-value; cells of expectation below 5 are pooled with the tail. 1.0 where one cell is left."""
    total = counts.sum()
    assert not counts[probabilities == 0].any()
    expected = probabilities * total
    large = expected >= 5
    cells = [*zip(counts[large], expected[large], strict=True)]
    rest = counts[~large].sum(), total - expected[large].sum()
    if rest[1] >= 5:
        cells.append(rest)
    elif cells:
        cells[-1] = cells[-1][0] + rest[0], cells[-1][1] + rest[1]
    if len(cells) < 2:
        return 1.0
    statistic = sum((found - wanted) ** 2 / wanted for found, wanted in cells)
    return float(chi2.sf(statistic, len(cells) - 1))
