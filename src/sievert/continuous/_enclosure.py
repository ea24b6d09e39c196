"""The loss of the truncated Laplace for a belief with a density, enclosed to certified digits.

Every loss has its own structure, and each is integrated on cells where all is a power series, with a bound on
what that misses: squares through the posterior's variance, quantiles through one decision for each threshold,
steps through the crossings of their actions, windows through the two ends of the best one. What a density's
model is off by, what is spread near singular ends and what rounding may do are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray
from sievert.continuous._actions import actions
from sievert.continuous._density import Density
from sievert.continuous._discrete import Belief, both_losses, relative_error
from sievert.continuous._losses import (
    Band,
    Cells,
    Function,
    IntervalLoss,
    Quantile,
    Squared,
    Steps,
    Table,
    Threshold,
)
from sievert.continuous._mesh import MOST_NATS, Mesh, mesh, scan_error
from sievert.continuous._quantiles import quantiles
from sievert.continuous._shapes import Pieces
from sievert.continuous._squares import squares
from sievert.continuous._windows import windows
from sievert.errors import GainError, PriorError
from sievert.numerics import UNIT

__all__ = ["LossEnclosure", "LossIntegral", "closed", "enclosed", "inner_places"]
# Points that take the place of a density that is known by its masses alone.
MASSES = 200_000
# Parts of the interval on which a function stands for itself at the middle: fewest, most, and all entries.
FEWEST_PARTS, MOST_PARTS, MOST_ENTRIES = 1000, 100_000, 2_000_000
# Windows of which the best is taken where the best of all has no formula.
WINDOWS = 160
# Halvings of cells that a variance may need.
HALVINGS, ENOUGH = 30, 1e-13


@dataclass(frozen=True)
class LossEnclosure:
    """Two numbers with the loss between them, the grid that gave them, and how."""

    low: float
    high: float
    cells: int
    method: str


@dataclass(frozen=True)
class LossIntegral:
    """A loss over [0, 1], what its integral misses, how many cells, and what the density may be off by."""

    value: float
    missed: float
    cells: int
    relative: float
    lost: float
    method: str
    least: float | None = None
    exact: bool = False


def enclosed(prior: Density, loss: IntervalLoss, eps: float) -> LossEnclosure:
    """The loss of the truncated Laplace on the density's interval."""
    model = prior.pieces()
    if model is None:
        return _from_masses(prior, loss, eps)
    level = eps * prior.width
    if level > MOST_NATS:
        return _beyond(prior, loss, level)
    return closed(_found(loss, prior, model, level), loss, prior, model, level)


def closed(
    found: LossIntegral, loss: IntervalLoss, prior: Density, model: Pieces, level: float
) -> LossEnclosure:
    """The two numbers, in the interval's units, with what the density, its ends and rounding may change."""
    if found.exact:
        return LossEnclosure(found.value, found.value, found.cells, found.method)
    scale, largest = _scale(loss, prior), loss.largest(1.0)
    spread = 2 * model.ends * model.spread * (1 + level)
    off = found.relative + 8 * scan_error(found.cells, level) + 4 * UNIT
    error = found.missed + largest * (found.lost + spread)
    low = found.value * (1 - off) - error if found.least is None else found.least
    high = scale * (found.value * (1 + off) + error)
    return LossEnclosure(max(0.0, float(scale * low)), float(high), found.cells, found.method)


@singledispatch
def _scale(loss: IntervalLoss, prior: Density) -> float:
    """What one unit of the loss over [0, 1] is worth on the interval."""
    return 1.0


@_scale.register
def _of_lengths(loss: Quantile, prior: Density) -> float:
    return prior.width


@_scale.register
def _of_areas(loss: Squared, prior: Density) -> float:
    try:
        return prior.width**2
    except OverflowError:
        raise PriorError(
            f"prior is on an interval of width {prior.width:g}, whose square is beyond floats; give it in "
            "another unit"
        ) from None


@singledispatch
def _found(loss: IntervalLoss, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    raise GainError(f"loss: {loss.words} is not known on an interval; give a prior on points")


@_found.register
def _of_table(loss: Table, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    raise GainError(
        "loss is a table [action, point], but the prior has a density; give points, or "
        "continuous.step_loss(costs, edges) for a loss that is constant between edges"
    )


@_found.register
def _of_squares(loss: Squared, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    cells = mesh(model, eps)
    for _ in range(HALVINGS):
        value, missed = squares(cells)
        again = missed > ENOUGH * value / len(missed)
        if not again.any():
            break
        cells = mesh(model, eps, np.concatenate([cells.edges, cells.centres[again]]))
    return _on(cells, value, float(missed.sum()), "variances, by Gauss–Legendre on cells")


def _known(value: float) -> LossIntegral:
    return LossIntegral(value, 0.0, 1, 0.0, 0.0, "known exactly", exact=True)


def _on(cells: Mesh, value: float, missed: float, method: str, lost: float = 0.0) -> LossIntegral:
    return LossIntegral(value, missed, len(cells.centres), cells.relative, cells.lost + lost, method)


@_found.register
def _of_quantiles(loss: Quantile, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    if loss.quantile in (0, 1):
        return _known(0.0)
    cells = mesh(model, eps)
    value, missed = quantiles(cells, float(loss.quantile))
    factor = float(loss.factor)
    # The quantile is rounded once, and changes the loss by no more than that.
    rounded = 0.0 if Fraction(float(loss.quantile)) == loss.quantile else UNIT
    return _on(
        cells,
        factor * value,
        factor * (missed + rounded),
        "one decision for each threshold, by Gauss–Legendre",
    )


@_found.register
def _in_cells(loss: Cells, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    return _of_steps(loss.steps(prior.interval), prior, model, eps)


@_found.register
def _at_threshold(loss: Threshold, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    return _of_steps(loss.steps(prior.interval), prior, model, eps)


@_found.register
def _of_steps(loss: Steps, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    inner, inside, lost = inner_places(loss, prior, model)
    costs = np.array(loss.costs)[:, inside]
    if len(inside) == 1 or not costs.any(axis=1).all():
        return _known(float(costs.max(axis=1).min()))  # one action is best wherever the truth is
    value, missed, cells = actions(model, eps, inner, costs)
    return _on(cells, value, missed, "crossings of the actions", lost)


def inner_places(loss: Steps, prior: Density, model: Pieces) -> tuple[FloatArray, list[int], float]:
    """Where the parts within the interval end, which they are, and the mass beside those places."""
    low, high = prior.interval
    if loss.edges[0] > low or loss.edges[-1] < high:
        raise GainError(
            f"edges reach from {float(loss.edges[0]):g} to {float(loss.edges[-1]):g}; they must cover the "
            f"prior's interval [{float(low):g}, {float(high):g}]"
        )
    inside = [k for k in range(len(loss.edges) - 1) if loss.edges[k + 1] > low and loss.edges[k] < high]
    shares = [(loss.edges[k] - low) / (high - low) for k in inside[1:]]
    inner = np.array([float(share) for share in shares])
    return inner, inside, _beside(model, shares, inner)


def _beside(model: Pieces, shares: list[Fraction], inner: FloatArray) -> float:
    """The mass between places and the floats for them; all that is spread, where they lie in it."""
    if not len(inner):
        return 0.0
    slips = np.array(
        [float(abs(Fraction(place) - share)) for place, share in zip(inner, shares, strict=True)]
    )
    k = np.clip(np.searchsorted(model.edges, inner, side="right") - 1, 0, len(model.edges) - 2)
    heights = np.abs(model.coefficients).sum(axis=1)
    beside = np.maximum(heights[k], heights[np.maximum(k - 1, 0)])
    near = (np.minimum(inner, 1 - inner) <= model.spread).any()
    return float((slips * beside).sum()) + (model.ends if near else 0.0)


@_found.register
def _within(loss: Band, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    radius = loss.radius / (prior.interval[1] - prior.interval[0])
    if 2 * radius >= 1 or radius == 0:
        return _known(float(radius == 0))
    found = windows(model, eps, radius)
    if found.attained:
        times = {0: "", 1: ", which jumps once"}.get(found.jumps, f", which jumps {found.jumps} times")
        how = f"the two ends of the best window{times}"
        return LossIntegral(found.value, found.missed, found.cells, 0.0, 0.0, how)
    # Jumps that could not be told apart: the best of a few windows is a bound.
    places = np.linspace(0.0, float(1 - 2 * radius), WINDOWS)
    inner = np.unique(np.concatenate([places, places + float(2 * radius)]))
    inner = inner[(inner > 0) & (inner < 1)]
    middles = np.concatenate([[0.0], inner, [1.0]])
    middles = (middles[:-1] + middles[1:]) / 2
    # A window that is shorter by the rounding of its ends misses more.
    covered = (middles >= places[:, None]) & (middles <= places[:, None] + float(2 * radius) - 1e-14)
    value, missed, cells = actions(model, eps, inner, 1.0 - covered)
    least = max(0.0, found.value - found.missed)
    how = "from below by the ends of a window, from above by the best of some windows; ends disagree"
    return LossIntegral(value, missed, len(cells.centres), cells.relative, cells.lost, how, least)


@_found.register
def _any(loss: Function, prior: Density, model: Pieces, eps: float) -> LossIntegral:
    """The loss at the middle of each part stands for the part, up to its Lipschitz constant."""
    constant = loss.lipschitz(prior.width)
    if constant is None:
        raise GainError(
            "lipschitz is missing: without it nothing bounds the loss between two points; state how much it "
            "changes at most for one unit of the truth, or give a prior on points"
        )
    parts = max(FEWEST_PARTS, min(MOST_PARTS, MOST_ENTRIES // len(loss.actions)))
    low, step = float(prior.interval[0]), prior.width / parts
    places = np.asarray(low + step * (np.arange(parts) + 0.5), dtype=np.float64)
    table, _ = loss.table(places)
    _require_lipschitz(table, places, constant)
    inner = np.arange(1, parts) / parts
    value, missed, cells = actions(model, eps, inner, table, halvings=0)
    slack = constant * step / 2 + cells.lost * max(0.0, float(table.max()) - 1)
    return _on(cells, value, missed + slack, "Lipschitz loss, constant on parts")


def _require_lipschitz(table: FloatArray, places: FloatArray, constant: float) -> None:
    """Refuse a constant that the loss itself refutes."""
    allowed = constant * np.diff(places) + 8 * UNIT * np.abs(table).max()
    change = np.abs(np.diff(table, axis=1))
    if (change > allowed * (1 + 1e-9)).any():
        i, j = np.unravel_index(int(np.argmax(change - allowed)), change.shape)
        raise GainError(
            f"lipschitz is {constant:g}, but from the truth {places[j]:.6g} to {places[j + 1]:.6g} the loss "
            f"changes by {change[i, j]:.6g}, which is {change[i, j] / (places[j + 1] - places[j]):.6g} for "
            "one unit; state the larger number"
        )


def _beyond(prior: Density, loss: IntervalLoss, level: float) -> LossEnclosure:
    """Where ε outgrows every mesh: no more is lost than without a release, nor than by taking the output."""
    blind = enclosed(prior, loss, 0.0)
    return LossEnclosure(
        0.0, min(blind.high, _scale(loss, prior) * _taken(loss, level)), blind.cells, "bounds alone"
    )


@singledispatch
def _taken(loss: IntervalLoss, level: float) -> float:
    """What is lost on [0, 1] where the output is taken for the truth."""
    return math.inf


@_taken.register
def _distance(loss: Quantile, level: float) -> float:
    return float(loss.factor * max(loss.quantile, 1 - loss.quantile)) / level * (1 + 4 * UNIT)


@_taken.register
def _square(loss: Squared, level: float) -> float:
    return math.nextafter(2 / level / level * (1 + 4 * UNIT), math.inf)


def _from_masses(prior: Density, loss: IntervalLoss, eps: float) -> LossEnclosure:
    """Each cell's mass at its middle.

    Joint probabilities change by e^(±ε·step/2) at most, losses by their Lipschitz constant (Fernandes,
    Lem 7.5, with midpoints). How a mass lies within its cell is not known, so no rule does much better.
    """
    cells = MASSES
    step = prior.width / cells
    masses = prior.masses(cells)
    steps = loss.steps(prior.interval) if isinstance(loss, Cells | Threshold) else loss
    constant = steps.lipschitz(prior.width)
    unsure = 0.0
    if isinstance(steps, Steps):
        low = float(prior.interval[0])
        cut = {(float(edge) - low) / step for edge in steps.edges[1:-1]}
        # A cell that an edge cuts may lie on either side of it.
        unsure = sum(float(masses[min(int(c), cells - 1)]) for c in cut if abs(c - round(c)) > 1e-9)
        constant = 0.0
    if constant is None:
        raise GainError(
            f"loss: {loss.words} jumps, and the prior is known by the masses of its cells alone; give a "
            "prior with a density (Density.beta, .truncated_normal, .piecewise, .mixture) or points"
        )
    points = float(prior.interval[0]) + step * (np.arange(cells) + 0.5)
    belief = Belief(np.asarray(points, dtype=np.float64), masses / masses.sum(), eps)
    _, value = both_losses(steps, belief)
    largest = steps.largest(prior.width)
    error = largest * (unsure + getattr(prior.shape, "error", 0.0) * 4) + constant * step / 2
    error += value * relative_error(belief)
    factor = math.exp(eps * step / 2)
    low_value = (value - error) / factor
    return LossEnclosure(max(0.0, low_value), (value + error) * factor, cells, "masses of cells")
