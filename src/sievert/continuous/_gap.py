"""The price of Laplace noise: how much more it loses than the best mechanism on a grid.

On a grid of N cells the geometric mechanism is the best one for every single-crossing loss, and the
truncated Laplace loses at most cosh(ε/2N) times as much, whatever prior and loss (our notes on Fernandes, Ch
7, 4.1). Against mechanisms that are private on the whole interval it loses nothing: it is the best of them
(4.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sievert.continuous._density import Density, interval_of
from sievert.continuous._discrete import Belief
from sievert.continuous._laplace import grid
from sievert.continuous._loss import LaplaceLoss, belief_of, finite_eps, laplace_loss, on_points
from sievert.continuous._losses import IntervalLoss, Squared, loss_of
from sievert.design import GeometricOptimality, geometric_optimality, optimal_mechanism
from sievert.errors import MechanismError, PriorError
from sievert.measures import losses, single_crossing_order
from sievert.numerics import abbreviated, flag, positive, require_size, taken, whole
from sievert.results import Result
from sievert.spaces import metrics

__all__ = ["Gap", "Resolution", "gap", "resolution"]
# Points up to which a linear program is asked, and pairs of actions are compared.
MOST_PROGRAM, MOST_ACTIONS = 200, 400
# Cells of the grid on which both are compared.
LARGEST_GRID = 2_000_000
# Nats of a step of which a float still holds the bound; a factor above which it is no percentage.
LARGEST_STEP, LARGEST_SHARE = 1400.0, 10.0


@dataclass(frozen=True)
class Gap(Result):
    """What Laplace noise loses beyond the geometric mechanism on a grid, and what bounds it.

    Attributes
    ----------
    geometric : expected loss of the geometric mechanism on the grid
    laplace : expected loss of the truncated Laplace, for the same prior on the grid
    gap : laplace - geometric
    error : how far off each of them can be by rounding
    factor : laplace/geometric
    cosh_bound : (cosh(ε/2N) - 1)·geometric, which the gap never exceeds
    lipschitz_bound : κ·tanh(ε/2N)/2 for a loss with Lipschitz constant κ; None where it has none
    thesis_bound : 3κ/(N·(1 - e^-ε)²), Fernandes, Thm 7.10; its printed proof does not establish it
    bound, bound_name : the least proved bound, and which it is
    cells, eps : N, and nats for one unit
    loss : what is lost
    single_crossing : whether the loss is single-crossing on the grid, so that the geometric is best for every
        prior; None where there are too many actions to compare
    optimality : whether it is best for this prior, with prices that prove it or a column that a better one
    uses;
        None unless asked for
    optimum : what the best mechanism that is private on the grid loses; None unless asked for
    on_interval : the loss of the truncated Laplace for the density itself; None for a prior on points
    """

    geometric: float
    laplace: float
    gap: float
    error: float
    factor: float
    cosh_bound: float
    lipschitz_bound: float | None
    thesis_bound: float | None
    bound: float
    bound_name: str
    cells: int
    eps: float
    loss: str
    single_crossing: bool | None = None
    optimality: GeometricOptimality | None = field(default=None, repr=False)
    optimum: float | None = None
    on_interval: LaplaceLoss | None = field(default=None, repr=False)

    def __float__(self) -> float:
        return self.gap

    def __str__(self) -> str:
        more = "nothing" if self.gap <= self.error else f"{self.gap:.4g}"
        share = ""
        if self.geometric > 0 and self.gap > self.error:
            big = self.factor > LARGEST_SHARE
            share = f", {self.factor:.3g} times as much" if big else f", {self.factor - 1:.2%} more"
        best = " (the least possible there)" if self.single_crossing else ""
        return (
            f"on a grid of {self.cells} cells the geometric loses {self.geometric:.6g}{best} and Laplace "
            "noise "
            f"{self.laplace:.6g} ({self.loss}): {more} beyond it{share}; at most {self.bound:.4g} by the "
            f"{self.bound_name} bound"
        )


def gap(
    prior: object,
    loss: object,
    eps: object,
    cells: int | None = None,
    *,
    interval: object = None,
    optimum: bool = False,
) -> Gap:
    """How much more the truncated Laplace loses than the geometric mechanism on a grid of the interval.

    Parameters
    ----------
    prior : a `Density`, of which each cell's mass is put at its lower end; or probabilities of the N + 1
    points of
        the grid (None: all alike)
    loss : as for `laplace_loss`
    eps : nats for one unit of the values
    cells : N, how many equal cells; by default as many as the probabilities have
    interval : its two ends; by default the density's, or (0, 1)
    optimum : also find the best mechanism that is private on the grid, and decide whether the geometric is it

    Returns
    -------
    Gap

    Notes
    -----
    Cost: O(N·log N) for the named losses; a linear program for the optimum of a loss that is not
    single-crossing.

    References
    ----------
    Fernandes, Thm 7.8 and Thm 7.10.

    Examples
    --------
    >>> found = gap(None, "bayes-risk", 2.772588722239781, cells=4)
    >>> round(found.geometric * 15, 12), round(found.factor / math.cosh(found.eps / 8), 12)
    (8.0, 1.0)
    """
    level = finite_eps(eps)
    wanted = loss_of(loss)
    flag("optimum", optimum, MechanismError)
    dense = prior if isinstance(prior, Density) else None
    ends = (
        interval_of((0, 1) if dense is None else dense.interval)
        if interval is None
        else interval_of(interval)
    )
    if cells is None and prior is not None and dense is None:
        cells = max(1, len(taken("prior", prior, PriorError, "probabilities")) - 1)
    count = whole("cells", cells, MechanismError)
    require_size(count, LARGEST_GRID, "the cells", "take fewer")
    places = _places(count, ends)
    belief = belief_of(prior if dense is None else _floor(dense, count, ends), places, level)
    geometric, laplace, error = on_points(wanted, belief)
    width = float(ends[1] - ends[0])
    h = level * width / count
    # cosh(h/2) - 1; beyond a float's range no bound is known from it.
    cosh_bound = 2 * math.sinh(h / 4) ** 2 * geometric if h < LARGEST_STEP else math.inf
    constant = wanted.lipschitz(width)
    lipschitz = None if constant is None else constant * width * math.tanh(h / 2) / 2
    thesis = None
    if constant is not None and level > 0:
        told = math.expm1(-level * width) ** 2
        thesis = 3 * constant * width / (count * told) if told > 0 else math.inf
    bound, name = min(
        (value, name) for value, name in ((cosh_bound, "cosh"), (lipschitz, "Lipschitz")) if value is not None
    )
    crossing, optimality, best = _judged(wanted, belief, count, optimum)
    return Gap(
        geometric=geometric,
        laplace=laplace,
        gap=max(0.0, laplace - geometric),
        error=2 * error,
        factor=laplace / geometric if geometric > 0 else 1.0 if laplace <= error else math.inf,
        cosh_bound=cosh_bound,
        lipschitz_bound=lipschitz,
        thesis_bound=thesis,
        bound=bound,
        bound_name=name,
        cells=count,
        eps=level,
        loss=wanted.words,
        single_crossing=crossing,
        optimality=optimality,
        optimum=best,
        on_interval=None if dense is None else _on_interval(dense, wanted, eps),
    )


def _places(cells: int, ends: Any) -> Any:
    low, high = ends
    if cells <= 20_000:
        return [float(x) for x in grid(cells, ends)]
    return float(low) + float(high - low) * (np.arange(cells + 1) / cells)


def _floor(prior: Density, cells: int, ends: Any) -> Any:
    if prior.interval != ends:
        raise MechanismError("interval: the density has an interval of its own; leave interval out")
    masses = prior.floor(cells)
    return masses / masses.sum()


def _on_interval(prior: Density, loss: IntervalLoss, eps: object) -> LaplaceLoss | None:
    try:
        return laplace_loss(prior, loss, eps)
    except ValueError:  # a table on points, or a loss without a Lipschitz constant, speaks of points only
        return None


def _judged(
    loss: IntervalLoss, belief: Belief, cells: int, optimum: bool
) -> tuple[bool | None, GeometricOptimality | None, float | None]:
    """Whether the loss is single-crossing, whether the geometric is best, and what the best loses."""
    known = loss.crosses_once
    if isinstance(loss, Squared):
        return known, None, None  # guesses are real numbers, not a list
    if loss.actions_on(cells + 1) > MOST_ACTIONS:
        if optimum:
            require_size(loss.actions_on(cells + 1), MOST_ACTIONS, "the actions", "take a coarser grid")
        return known, None, None
    table, _ = loss.table(belief.points)
    crossing = known or single_crossing_order(table) is not None
    if not optimum:
        return crossing, None, None
    require_size(cells + 1, MOST_PROGRAM, "the optimum on the grid", "take a coarser grid")
    points = belief.points.tolist()
    wanted = losses.matrix(table, secrets=points)
    if belief.eps == 0:
        return crossing, None, float((table * belief.prior).sum(axis=1).min())
    decided = geometric_optimality(points, belief.eps, belief.prior, wanted)
    if decided.holds:
        return crossing, decided, float(decided.loss)
    found = optimal_mechanism(metrics.line(points), belief.eps, belief.prior, wanted)
    return crossing, decided, float(found.loss)


@dataclass(frozen=True)
class Resolution(Result):
    """How fine a grid must be for Laplace noise to lose little more than the best.

    Attributes
    ----------
    cells : the fewest cells for which the cosh bound keeps the loss on the grid within the share
    pixels : the fewest pixels, an even number, for which releasing pixels keeps it within the share
    eps : nats for one unit
    largest_eps : the largest ε for which these cells still suffice
    relative : the share
    """

    cells: int
    pixels: int
    eps: float
    largest_eps: float
    relative: float

    def __str__(self) -> str:
        cells = "1 cell keeps" if self.cells == 1 else f"{self.cells} cells keep"
        return (
            f"{cells} Laplace noise of ε = {self.eps:g} within {self.relative:g} of the "
            "best on their "
            f"grid, and {self.pixels} pixels within {self.relative:g} of releasing every digit"
        )


def resolution(
    relative: float, eps: object = None, cells: int | None = None, *, interval: object = (0, 1)
) -> Resolution:
    """The grid that a relative loss asks for, or the ε that a grid allows: the cosh bound solved backwards.

    Parameters
    ----------
    relative : the share of the loss that may be added, such as 0.01
    eps : nats for one unit; without it the largest that the cells allow
    cells : how many equal cells; without it the fewest that suffice
    interval : its two ends

    Returns
    -------
    Resolution

    Notes
    -----
    cosh(ε/2N) ≤ 1 + relative. With T = 2N pixels the output rounded to the nearest grid point is a function
    of the pixel, so releasing pixels loses no more than cosh(ε/T) times as much, whatever prior and loss.

    Cost: O(1).

    Examples
    --------
    >>> resolution(0.01, eps=1).cells, resolution(0.01, eps=8).cells
    (4, 29)
    >>> print(resolution(0.01, eps=8))
    29 cells keep Laplace noise of ε = 8 within 0.01 of the best on their grid, and 58 pixels within 0.01 of \
releasing every digit
    """
    share = positive("relative", relative, MechanismError)
    low, high = interval_of(interval, MechanismError)
    width = float(high - low)
    # acosh(1 + r) = ln(1 + r + √(r(2 + r))), with all digits for a small r.
    reach = math.log1p(share + math.sqrt(share * (2 + share)))
    if (eps is None) == (cells is None):
        raise MechanismError(
            f"eps is {abbreviated(eps)} and cells is {abbreviated(cells)}; give exactly one of them"
        )
    if cells is None:
        level = finite_eps(eps)
        needed = level * width / (2 * reach)
        require_size(needed, 1e300, "the cells", "give a smaller eps, a narrower interval or more to lose")
        count = max(1, math.ceil(needed))
    else:
        count = whole("cells", cells, MechanismError)
        level = 2 * count * reach / width
    return Resolution(count, 2 * count, level, 2 * count * reach / width, share)
