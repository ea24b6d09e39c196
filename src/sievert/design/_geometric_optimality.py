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

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.design._line import discounted, line_prices
from sievert.design._optimal import as_loss
from sievert.errors import MechanismError
from sievert.measures import GainMatrix
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, fractions_of, require_size
from sievert.results import Result
from sievert.spaces import labels_of, listed

__all__ = ["GeometricOptimality", "geometric_optimality"]

# Beyond those that rounding can grow into.
SPARE_BITS = 128
# Of all costs in balls; 250 MB.
MOST_BITS = 2_000_000_000


@dataclass(frozen=True)
class GeometricOptimality(Result):
    """Whether the geometric mechanism is optimal.

    Attributes
    ----------
    holds : exact for rational input; for floats a no is certain, and a yes holds up to 2^-100 of the costs
    loss : what the geometric mechanism loses with the best remap
    prices : λ, one for each input; where G is optimal they sum to its loss and prove it
    action, column : where it is not, an action and a zig-zag column that a better mechanism uses for it
    """

    holds: bool
    loss: float | Fraction
    prices: tuple[Any, ...]
    action: Hashable | None
    column: tuple[Any, ...] | None

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
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
            raise MechanismError(f"points: {abbreviated(item)} is not a finite number")
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
    if exact:
        assert level.alpha is not None
        steps = [level.alpha ** int(gap) for gap in gaps]
        q: NDArray[Any] = fractions_of(wanted.table) * belief
        return _decided(q.T, _objects(steps), _objects([t / (1 - t * t) for t in steps]), wanted.actions)
    if not 0 < level.eps < np.inf:
        raise MechanismError(f"eps is {level.eps!r}; the question needs 0 < eps < inf")
    return _in_balls(np.asarray(wanted.table, np.float64), belief.astype(np.float64), gaps, level.eps, wanted)


def _in_balls(
    table: FloatArray, belief: FloatArray, gaps: list[Any], eps: float, wanted: GainMatrix
) -> GeometricOptimality:
    """As for rational numbers, with floats as exact numbers and e^(-ε·gap) enclosed.

    A zig-zag multiplies by e^(ε·gap) at every step up, and rounding with it: so many bits more are carried.
    """
    rates = [Fraction(eps) * Fraction(gap) for gap in gaps]
    smallest = min((rate.numerator.bit_length() - rate.denominator.bit_length() for rate in rates), default=0)
    carried = math.ceil(sum(rates) * 3 / 2) + SPARE_BITS + max(0, -2 * smallest)
    way = "give fewer points, or alpha and the rest as fractions"
    require_size(carried * table.size, MOST_BITS, "the bits of the decision", way)
    with flint.ctx.workprec(carried):
        angles = [flint.arb(flint.fmpq(rate.numerator, rate.denominator)) for rate in rates]
        ball = np.frompyfunc(flint.arb, 1, 1)
        q: Any = ball(table) * ball(belief)
        # t/(1 - t²) = 1/(2·sinh(ε·gap))
        down, spread = [(-angle).exp() for angle in angles], [1 / (2 * angle.sinh()) for angle in angles]
        return _decided(q.T, _objects(down), _objects(spread), wanted.actions)


def _objects(items: list[Any]) -> NDArray[Any]:
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return found


def _decided(
    q: NDArray[Any], t: NDArray[Any], s: NDArray[Any], actions: Sequence[Hashable]
) -> GeometricOptimality:
    """From the costs q[input, action], the steps t = e^(-ε·gap) and s = t/(1 - t²): fractions or balls.

    A ball is below 0 only where all of it is.
    """
    exact = isinstance(q[0, 0], Fraction)
    smaller = np.frompyfunc(min if exact else flint.arb.min, 2, 1)
    prices = line_prices(smaller.reduce(discounted(q, t), axis=1), t, s)
    rest = q - prices[:, None]
    # V_i: the least of Σ_{j ≥ i} p_j·c_j over zig-zags with c_i = 1, stepping up where the rest is negative.
    value = rest[-1]
    ups = []
    for x in range(len(q) - 2, -1, -1):
        up = (value < 0).astype(bool)
        ups.append(up)
        value = rest[x] + np.where(up, value / t[x], value * t[x])
    below = np.flatnonzero((value < 0).astype(bool)).tolist()
    worst = min(below, key=lambda i: value[i] if exact else value[i].mid(), default=None)
    column = None if worst is None else _zigzag([up[worst] for up in reversed(ups)], t, exact)
    total = prices.sum()
    return GeometricOptimality(
        worst is None,
        total if exact else float(total),
        tuple(prices.tolist() if exact else map(float, prices)),
        None if worst is None else actions[worst],
        column,
    )


def _zigzag(ups: list[bool], t: NDArray[Any], exact: bool) -> tuple[Any, ...]:
    """The column that steps up or down at each gap; its least entry is 1, in floats its largest."""
    entries: list[Any] = [Fraction(1) if exact else flint.arb(1)]
    for up, step in zip(ups, t, strict=True):
        entries.append(entries[-1] / step if up else entries[-1] * step)
    if exact:
        return tuple(entry / min(entries) for entry in entries)
    peak = max(entries, key=flint.arb.mid)
    return tuple(float(entry / peak) for entry in entries)
