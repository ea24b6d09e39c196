"""Maximum likelihood over many inputs through a few of them.

The maximiser sits on few inputs when rows are alike. Solve exactly on some candidates, add the inputs whose
factor c_i is locally largest and above 1 (no candidates would gain otherwise), and repeat: the certified
gap ln max c over all inputs says when to stop.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sievert.estimation.expectation_maximisation import Fit, log_likelihood
from sievert.estimation.interior_point import maximise
from sievert.estimation.operators import Operator

__all__ = ["grow"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
FIRST = 24
MOST_ROUNDS = 60
MOST_NEW = 40


def grow(
    operator: Operator,
    shares: FloatArray,
    candidates: IndexArray,
    tolerance: float,
    rows: Callable[[IndexArray], FloatArray] | None = None,
    base: float = 0.0,
) -> Fit | None:
    """The maximum over all inputs to within `tolerance` per report; see `maximise` for `rows` and `base`.

    None where the first candidates cannot explain every observed output: then rows are not alike.
    """
    take = operator.rows if rows is None else rows
    size = len(operator.backward(shares))
    spaced = np.unique(
        np.linspace(0, len(candidates) - 1, min(FIRST, len(candidates))).round().astype(np.intp)
    )
    chosen = candidates[spaced]
    if (base + take(chosen).max(axis=0) <= 0).any():
        return None
    best: tuple[float, FloatArray] | None = None
    iterations = stalled = 0
    for _ in range(MOST_ROUNDS):
        weights, _, steps = maximise(take(chosen), base, shares)
        iterations += steps
        p = np.zeros(size)
        p[chosen] = weights
        factor = operator.backward(shares / operator.expected(p))
        gap = float(max(0.0, np.log(factor.max())))
        if best is None or gap < best[0]:
            stalled = 0 if best is None or gap < 0.99 * best[0] else stalled + 1
            best = gap, p
        else:
            stalled += 1
        new = _peaks(factor, candidates, chosen)
        if gap <= tolerance or not len(new) or stalled > 6:
            break
        kept = chosen[weights > 1e-12]
        chosen = np.unique(np.concatenate([kept, new]))
    assert best is not None
    gap, p = best
    return Fit(p, log_likelihood(operator, shares, p), gap, iterations)


def _peaks(factor: FloatArray, candidates: IndexArray, chosen: IndexArray) -> IndexArray:
    """Candidates that are not chosen yet, above 1 and no lower than their neighbours, the highest first."""
    values = factor[candidates]
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peak = (values >= padded[:-2]) & (values >= padded[2:]) & (values > 1)
    found = candidates[peak]
    found = found[~np.isin(found, chosen)]
    if not len(found):
        # The peak itself is chosen: its better neighbours refine it.
        found = candidates[(values > 1) & ~np.isin(candidates, chosen)]
    return np.asarray(found[np.argsort(-factor[found], kind="stable")][:MOST_NEW])
