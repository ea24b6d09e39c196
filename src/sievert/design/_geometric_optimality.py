"""Is the geometric mechanism the best on this line, for this prior and this loss? Decided without a program.

G is optimal iff q_w - λ is non-negative on every zig-zag column (c_{i+1} = c_i·e^(±gap), the extreme rays of
the private columns), where λ prices the inputs so that G's own columns are worth exactly what they cost. One
backward recursion finds the worst zig-zag of each action, so the answer costs O(inputs·actions)
(our notes on Fernandes, Ch 7, 4.4; with rational numbers it is exact).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.priors import as_prior
from sievert.design._optimal import as_loss
from sievert.errors import MechanismError
from sievert.mechanisms import privacy
from sievert.numerics import brief, fractions_of
from sievert.results import Result
from sievert.spaces import labels_of, listed

__all__ = ["GeometricOptimality", "geometric_optimality"]

# Rounding of O(n) float operations on numbers of the size of the costs.
ROUNDING = 1e-12


@dataclass(frozen=True)
class GeometricOptimality(Result):
    """Whether the geometric mechanism is optimal.

    Attributes
    ----------
    optimal : exact for rational input; floats decide up to rounding, 1e-12 of the largest cost
    loss : what the geometric mechanism loses with the best remap
    prices : λ, one for each input; where G is optimal they sum to its loss and prove it
    action, column : where it is not, an action and a zig-zag column that a better mechanism uses for it
    """

    optimal: bool
    loss: float | Fraction
    prices: tuple[Any, ...]
    action: Hashable | None
    column: tuple[Any, ...] | None

    def __bool__(self) -> bool:
        return self.optimal

    def __str__(self) -> str:
        if self.optimal:
            return f"the geometric mechanism is optimal: it loses {float(self.loss):.6g}"
        return f"the geometric mechanism is not optimal: a better one uses {self.action!r} differently"


def geometric_optimality(
    points: int | Sequence[float],
    eps: float | None = None,
    prior: object = None,
    loss: object = None,
    *,
    alpha: object = None,
) -> GeometricOptimality:
    """Decide whether the geometric mechanism has least loss among private mechanisms on a line.

    Parameters
    ----------
    points : how many consecutive integers, or increasing numbers
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps
    prior : what is known about the inputs; uniform by default
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default

    Returns
    -------
    GeometricOptimality
        Whether it is, with its loss; or a column that a better mechanism would use.

    Notes
    -----
    Cost: O(n·actions) for n points, in fractions where everything is exact.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> print(geometric_optimality(4, alpha="1/2", loss=losses.absolute(4)))
    the geometric mechanism is optimal: it loses 0.708333
    >>> geometric_optimality(3, alpha="1/2", loss=losses.matrix([[7, 0, 7], [3, 10, 3]])).column
    (Fraction(2, 1), Fraction(1, 1), Fraction(2, 1))
    """
    labels = listed(labels_of(points, "points", "points", MechanismError), "points")
    for item in labels:
        if not isinstance(item, int | float | Fraction) or not -math.inf < item < math.inf:
            raise MechanismError(f"points: {brief(item)} is not a finite number")
    positions: list[Any] = list(labels)
    gaps = [b - a for a, b in pairwise(positions)]
    if not positions or any(not gap > 0 for gap in gaps):
        raise MechanismError("points: give at least one point, in increasing order")
    level = privacy(eps, alpha)
    labels = tuple(positions)
    wanted = as_loss(loss, labels)
    belief = as_prior(prior, labels)
    exact = (
        level.alpha is not None
        and 0 < level.alpha < 1
        and all(gap == int(gap) for gap in gaps)
        and belief.dtype == object
        and wanted.is_exact
    )
    if not exact and not 0 < level.eps < np.inf:
        raise MechanismError(f"eps is {level.eps!r}; the question needs 0 < eps < inf")
    if exact:
        assert level.alpha is not None
        table: NDArray[Any] = fractions_of(wanted.table)
        steps = np.array([Fraction(level.alpha ** int(gap)) for gap in gaps], dtype=object)
    else:
        table, belief = np.asarray(wanted.table, dtype=np.float64), belief.astype(np.float64)
        steps = np.exp(-level.eps * np.array(gaps, dtype=np.float64))
        if not ((steps > 0) & (steps < 1)).all():
            raise MechanismError(
                f"eps is {level.eps!r}; times the gaps it is too small or too large for floats",
                fix="give alpha and the rest as fractions",
            )
    q = table * belief
    return _decided(q, steps, wanted.actions, exact)


def _decided(
    q: NDArray[Any], t: NDArray[Any], actions: Sequence[Hashable], exact: bool
) -> GeometricOptimality:
    size = q.shape[1]
    left, right = q.copy(), q.copy()
    for x in range(1, size):
        left[:, x] = left[:, x] + t[x - 1] * left[:, x - 1]
    for x in range(size - 2, -1, -1):
        right[:, x] = right[:, x] + t[x] * right[:, x + 1]
    least = (left + right - q).min(axis=0)
    prices = least.copy()
    s = t / (1 - t * t)
    prices[:-1] = prices[:-1] + s * (t * least[:-1] - least[1:])
    prices[1:] = prices[1:] + s * (t * least[1:] - least[:-1])
    rest = q - prices
    # V_i: the least of Σ_{j ≥ i} p_j·c_j over zig-zags with c_i = 1, stepping up where the rest is negative.
    value = rest[:, -1]
    ups = []
    for x in range(size - 2, -1, -1):
        up = value < 0
        ups.append(up)
        value = rest[:, x] + np.where(up, value / t[x], value * t[x])
    worst = int(value.argmin())
    slack = Fraction(0) if exact else ROUNDING * max(1.0, float(np.abs(q).max())) * size
    optimal = bool(value[worst] >= -slack)
    column = None
    if not optimal:
        entries = [t[0] * 0 + 1] if size > 1 else [1]
        for x in range(size - 1):
            entries.append(entries[-1] / t[x] if ups[size - 2 - x][worst] else entries[-1] * t[x])
        peak = max(entries)
        low = min(entries)
        column = tuple(entry / low for entry in entries) if exact else tuple(float(e / peak) for e in entries)
    total = prices.sum()
    return GeometricOptimality(
        optimal,
        total if exact else float(total),
        tuple(prices.tolist()),
        None if optimal else actions[worst],
        column,
    )
