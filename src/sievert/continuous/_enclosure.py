"""The loss of the truncated Laplace for a belief with a density, enclosed to certified digits.

For every belief on the interval, every loss ≥ 0 and every grid y_0 < … < y_N of it,
    Λ ≤ U[Laplace] ≤ cosh(ε/2N)·Λ,   Λ = Σ_i c_i·min_w ∫ l(w, x)·π(x)·e^(-ε|x - y_i|) dx,
with the weights c_i of the geometric mechanism. Left: between two neighbours e^(-ε|x-y|) is at least the
combination of its values there with weights sinh, and the least of sums is at least the sum of the least.
Right: round the output to the nearest y_i; inside its own pixel a point has at most cosh(ε/2N)·c_i·e^(-ε|x -
y_i|), as it has outside. So the cosh bound of the grid (our notes on Fernandes, Ch 7, 4.1) holds for real
inputs too, and encloses to second order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray
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
from sievert.continuous._moments import on_grid, scan_error, tilted
from sievert.errors import GainError

__all__ = ["Enclosure", "enclosed"]
# Points of the grid: at least, for smooth losses, and at most.
FEWEST, MOST = 1000, 1_000_000
# [action, point] entries that are held at once.
MOST_COSTS = 20_000_000
# A relative width from which the loss without a release may be the better bound, and the widest step in nats.
WIDE, LARGEST_STEP = 0.1, 1400.0
# Windows of a tolerance, each weighed at so many outputs.
WINDOWS = 1500
# Points that take the place of a density that is known by its masses alone.
MASSES = 200_000


@dataclass(frozen=True)
class Enclosure:
    """Two numbers with the loss between them, the grid that gave them, and how."""

    low: float
    high: float
    cells: int
    method: str


def enclosed(prior: Density, loss: IntervalLoss, eps: float, relative: float) -> Enclosure:
    """The loss of the truncated Laplace on the density's interval, as narrowly as asked where possible."""
    if prior.pieces() is None:
        return _from_masses(prior, loss, eps)
    found = _on_grid(loss, prior, eps, relative)
    if not math.isfinite(found.high) or found.high - found.low > WIDE * found.high:
        # Where ε outgrows every grid, what is lost without a release bounds it still.
        blind = _on_grid(loss, prior, 0.0, relative)
        high = blind.high if math.isnan(found.high) else min(found.high, blind.high)
        found = Enclosure(min(found.low, high), high, found.cells, found.method)
    return Enclosure(max(0.0, float(found.low)), float(found.high), found.cells, found.method)


def _cells_for(eps: float, width: float, relative: float, least: int, most: int = MOST) -> int:
    """The grid for which cosh(ε·step/2) - 1 is at most so much."""
    wanted = eps * width / (2 * math.sqrt(2 * relative))
    return int(min(most, max(least, math.ceil(wanted))))


def _weights(cells: int, h: float) -> FloatArray:
    inner = math.tanh(h / 2)
    weights = np.full(cells + 1, inner)
    weights[[0, -1]] = (1 + inner) / 2
    return weights


def _grown(h: float) -> float:
    """cosh(h/2), rounded up; inf where a float cannot hold it."""
    return math.cosh(h / 2) * (1 + 1e-15) if h < LARGEST_STEP else math.inf


def _closed(low: float, high: float, h: float, error: float) -> tuple[float, float]:
    grown = _grown(h)
    return low - error, math.inf if math.isinf(grown) else high * grown + error


def _counted(prior: Density, loss: IntervalLoss, eps: float, cells: int, missed: float) -> float:
    """What all errors amount to: of the model, of what is spread near the ends, and of rounding."""
    model = prior.pieces()
    assert model is not None
    moved = model.ends * model.spread / prior.width * (1 + eps * prior.width) * 2
    rounding = 8 * scan_error(cells, eps * prior.width)
    return 4 * loss.largest(prior.width) * (missed + moved + rounding)


@singledispatch
def _on_grid(loss: IntervalLoss, prior: Density, eps: float, relative: float) -> Enclosure:
    raise GainError(f"loss: {loss.words} is not known on an interval; give a prior on points")


@_on_grid.register
def _of_table(loss: Table, prior: Density, eps: float, relative: float) -> Enclosure:
    raise GainError(
        "loss is a table [action, point], but the prior has a density; give points, or "
        "continuous.step_loss(costs, "
        "edges) for a loss that is constant between edges"
    )


@_on_grid.register
def _squares(loss: Squared, prior: Density, eps: float, relative: float) -> Enclosure:
    cells = _cells_for(eps, prior.width, relative, FEWEST)
    step = prior.width / cells
    found = tilted(prior, cells, eps, 2)
    left = on_grid(found.left, step, eps)
    right = on_grid(found.right[:, ::-1], step, eps)[:, ::-1]
    total, first, second = left[0] + right[0], right[1] - left[1], left[2] + right[2]
    mean = np.divide(first, total, out=np.zeros_like(total), where=total > 0)
    least = np.maximum(second - mean * first, 0.0)
    value = float((_weights(cells, eps * step) * least).sum())
    error = _counted(prior, loss, eps, cells, found.error)
    low, high = _closed(value, value, eps * step, error)
    return Enclosure(low, high, cells, "squares on a grid")


@_on_grid.register
def _quantiles(loss: Quantile, prior: Density, eps: float, relative: float) -> Enclosure:
    # Guesses on the grid lose up to density·step²/8: so much finer than the kernel alone would ask for.
    fine = math.ceil(1 / math.sqrt(4 * max(relative, 1e-12)))
    cells = _cells_for(eps, prior.width, relative, min(MOST, max(FEWEST, 2 * fine)))
    step, q = prior.width / cells, float(loss.quantile)
    found = tilted(prior, cells, eps, 1)
    left = on_grid(found.left, step, eps)
    right = on_grid(found.right[:, ::-1], step, eps)[:, ::-1]
    total = left[0] + right[0]
    k = _quantile_cells(left[0], right[0], total, step, eps, q)
    high, low = _least_costs(left, right, total, k, step, eps, q)
    weights = float(loss.factor) * _weights(cells, eps * step)
    error = _counted(prior, loss, eps, cells, found.error)
    lower, upper = _closed(float((weights * low).sum()), float((weights * high).sum()), eps * step, error)
    return Enclosure(lower, upper, cells, "quantiles on a grid")


def _quantile_cells(
    left: FloatArray, right: FloatArray, total: FloatArray, step: float, eps: float, q: float
) -> np.ndarray:
    """For each output the last grid point at or below the quantile of what is believed then."""
    size = len(total)
    index = np.arange(size)
    low, high = np.zeros(size, dtype=np.intp), np.full(size, size - 1, dtype=np.intp)
    for _ in range(size.bit_length()):
        middle = np.minimum((low + high + 1) // 2, size - 1)
        decay = np.exp(-eps * step * np.abs(middle - index))
        is_below = np.where(
            middle <= index, left[middle] * decay <= q * total, right[middle] * decay >= (1 - q) * total
        )
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle - 1)
    return np.minimum(low, size - 2)


def _least_costs(
    left: FloatArray, right: FloatArray, total: FloatArray, k: np.ndarray, step: float, eps: float, q: float
) -> tuple[FloatArray, FloatArray]:
    """The cost of the better guess beside the quantile, and a bound on the least from both tangents."""
    index = np.arange(len(total))
    costs, slopes = [], []
    for guess in (k, k + 1):
        distance = step * np.abs(guess - index)
        decay = np.exp(-eps * distance)
        before = guess <= index
        # What lies beyond the guess on its far side, and what all is on average away from it.
        far = np.where(before, left[1][guess], right[1][guess]) * decay
        mass = np.where(before, left[0][guess], right[0][guess]) * decay
        drift = np.where(before, 1.0, -1.0) * (right[1] - left[1]) + distance * total
        lower = np.where(before, mass, total - mass)
        below = np.where(before, far, drift + far)
        above = np.where(before, drift + far, far)
        costs.append((1 - q) * below + q * above)
        slopes.append(lower - q * total)
    # Convex in the guess: from the left it falls with slope s0 ≤ 0, from the right with s1 ≥ 0.
    fall, rise = np.maximum(-slopes[0], 0.0), np.maximum(slopes[1], 0.0)
    both = np.maximum(fall + rise, np.finfo(np.float64).tiny)
    meeting = (costs[0] * rise + costs[1] * fall - step * fall * rise) / both
    flat = (fall == 0) | (rise == 0)
    high = np.minimum(costs[0], costs[1])
    return high, np.where(
        flat, np.minimum(high, np.where(fall == 0, costs[0], costs[1])), np.minimum(meeting, high)
    )


@_on_grid.register
def _in_cells(loss: Cells, prior: Density, eps: float, relative: float) -> Enclosure:
    return _steps(loss.steps(prior.interval), prior, eps, relative)


@_on_grid.register
def _at_threshold(loss: Threshold, prior: Density, eps: float, relative: float) -> Enclosure:
    return _steps(loss.steps(prior.interval), prior, eps, relative)


@_on_grid.register
def _steps(loss: Steps, prior: Density, eps: float, relative: float) -> Enclosure:
    low, high = prior.interval
    if loss.edges[0] > low or loss.edges[-1] < high:
        raise GainError(
            f"edges reach from {float(loss.edges[0]):g} to {float(loss.edges[-1]):g}; they must cover the "
            "prior's "
            f"interval [{float(low):g}, {float(high):g}]"
        )
    costs = np.array(loss.costs)
    most = max(FEWEST, MOST_COSTS // len(costs))
    cells = _cells_for(eps, prior.width, relative, FEWEST, min(MOST, most))
    step = prior.width / cells
    sums, missed = np.zeros((len(costs), cells + 1)), 0.0
    for part in range(len(loss.edges) - 1):
        ends = (max(float(low), float(loss.edges[part])), min(float(high), float(loss.edges[part + 1])))
        if ends[0] >= ends[1]:
            continue
        found = tilted(prior, cells, eps, 0, ends)
        weight = on_grid(found.left, step, eps)[0]
        weight += on_grid(found.right[:, ::-1], step, eps)[0, ::-1]
        sums += costs[:, part : part + 1] * weight
        missed += found.error
    value = float((_weights(cells, eps * step) * sums.min(axis=0)).sum())
    model = prior.pieces()
    assert model is not None
    # An edge within what is spread near the ends may have any of that mass on either side.
    inner = [float(edge) for edge in loss.edges if low < edge < high]
    near = any(min(edge - float(low), float(high) - edge) <= model.spread for edge in inner)
    error = _counted(prior, loss, eps, cells, missed + (model.ends if near else 0.0))
    return Enclosure(*_closed(value, value, eps * step, error), cells, "steps on a grid")


@_on_grid.register
def _within(loss: Band, prior: Density, eps: float, relative: float) -> Enclosure:
    """The window of a guess lies between one of fewer cells and one of more."""
    cells, radius = WINDOWS, float(loss.radius)
    step = prior.width / cells
    found = tilted(prior, cells, eps, 0)
    size = cells + 1
    total = on_grid(found.left, step, eps)[0] + on_grid(found.right[:, ::-1], step, eps)[0, ::-1]
    # What is believed to lie below each grid point, [output, point].
    inputs = np.arange(size)
    masses = np.zeros((size, cells))
    outputs = inputs[:, None]
    cell = np.arange(cells)[None, :]
    above = outputs > cell
    masses = np.where(
        above,
        found.left[0][None, :] * np.exp(-eps * step * np.abs(outputs - cell - 1)),
        found.right[0][None, :] * np.exp(-eps * step * np.abs(cell - outputs)),
    )
    below = np.concatenate([np.zeros((size, 1)), np.cumsum(masses, axis=1)], axis=1)
    covered = []
    for count in (math.floor(2 * radius / step * (1 - 1e-12)), math.floor(2 * radius / step) + 2):
        wide = min(count, cells)
        covered.append((below[:, wide:] - below[:, : size - wide]).max(axis=1))
    weights = _weights(cells, eps * step)
    least = [np.maximum(total - part, 0.0) for part in covered]
    error = _counted(prior, loss, eps, cells, found.error) + cells * 1e-16
    low, high = _closed(
        float((weights * least[1]).sum()), float((weights * least[0]).sum()), eps * step, error
    )
    return Enclosure(low, high, cells, "windows on a grid")


@_on_grid.register
def _any(loss: Function, prior: Density, eps: float, relative: float) -> Enclosure:
    """The loss at the middle of each cell stands for the cell, up to its Lipschitz constant."""
    constant = loss.lipschitz(prior.width)
    if constant is None:
        raise GainError(
            "lipschitz is missing: without it nothing bounds the loss between two points; state how much "
            "it changes "
            "at most for one unit of the truth, or give a prior on points"
        )
    cells = max(FEWEST, min(100_000, MOST_COSTS // (4 * len(loss.actions))))
    step = prior.width / cells
    low = float(prior.interval[0])
    table, _ = loss.table(np.asarray(low + step * (np.arange(cells) + 0.5), dtype=np.float64))
    found = tilted(prior, cells, eps, 0)
    least = np.full(cells + 1, np.inf)
    for row in table:
        cost = on_grid(found.left * row, step, eps)[0]
        cost += on_grid((found.right * row)[:, ::-1], step, eps)[0, ::-1]
        least = np.minimum(least, cost)
    value = float((_weights(cells, eps * step) * least).sum())
    largest = float(table.max()) + constant * step
    error = _counted(prior, loss, eps, cells, found.error) * max(1.0, largest) + constant * step / 2
    return Enclosure(*_closed(value, value, eps * step, error), cells, "Lipschitz loss on a grid")


def _from_masses(prior: Density, loss: IntervalLoss, eps: float) -> Enclosure:
    """Each cell's mass at its middle.

    Joint probabilities change by e^(±ε·step/2) at most, losses by their Lipschitz constant (Fernandes,
    Lem 7.5, with midpoints).
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
            "prior with a "
            "density (Density.beta, .truncated_normal, .piecewise, .mixture) or points"
        )
    points = float(prior.interval[0]) + step * (np.arange(cells) + 0.5)
    belief = Belief(np.asarray(points, dtype=np.float64), masses / masses.sum(), eps)
    _, value = both_losses(steps, belief)
    largest = steps.largest(prior.width)
    error = largest * (unsure + getattr(prior, "error", 0.0) * 4) + constant * step / 2
    error += value * relative_error(belief)
    factor = math.exp(eps * step / 2)
    low_value = (value - error) / factor
    return Enclosure(max(0.0, low_value), (value + error) * factor, cells, "masses of cells")
