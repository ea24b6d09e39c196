"""What is lost to pixels: numbers rounded to a grid, noise clamped, and one of T pixels told.

Within one cell of the grid every number has the same chances of all pixels, so a pixel's belief is the
density with a factor for each cell: its mean, its quantiles and its parts are sums over cells, without an
integral over outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.continuous._density import Density
from sievert.continuous._enclosure import LossIntegral, closed, inner_places
from sievert.continuous._guesses import horner
from sievert.continuous._loss import LaplaceLoss, finite_eps
from sievert.continuous._losses import Cells, IntervalLoss, Quantile, Squared, Steps, Threshold, loss_of
from sievert.continuous._mesh import MOST_NATS, Mesh, mesh
from sievert.continuous._shapes import Pieces, snapped
from sievert.errors import PriorError
from sievert.mechanisms import log_pixels
from sievert.numerics import UNIT, require_size, whole

__all__ = ["pixelated_loss"]
# Entries [cell, pixel] that are held at once.
MOST_ENTRIES = 20_000_000
HALVINGS = 60


def pixelated_loss(prior: Density, loss: object, eps: object, pixels: int, cells: int) -> LaplaceLoss | None:
    """The loss where numbers are rounded to the nearest of a grid and one of so many pixels is released.

    Parameters
    ----------
    prior : a density
    loss : as for `laplace_loss`
    eps : nats for one unit of the values
    pixels : how many equal parts of the interval are told apart
    cells : of the grid that numbers are rounded to: its N + 1 points

    Returns
    -------
    LaplaceLoss or None
        None for losses that have no closed form here: tolerances, functions and tables.

    Notes
    -----
    Cost: O(cells·pixels).

    Examples
    --------
    >>> found = pixelated_loss(Density.uniform(), "squared", 8, 64, 1000)
    >>> round(found.value, 6), found.value - found.low < 1e-11
    (0.019889, True)
    """
    level, wanted = finite_eps(eps), loss_of(loss)
    count, parts = whole("pixels", pixels, PriorError), whole("cells", cells, PriorError)
    model = prior.pieces()
    nats = level * prior.width
    if model is None or nats > MOST_NATS:
        return None
    found = _found(wanted, prior, model, _Grid(nats, count, parts))
    if found is None:
        return None
    ends = closed(found, wanted, prior, model, nats)
    middle = (ends.low + ends.high) / 2
    return LaplaceLoss(middle, ends.low, ends.high, wanted.words, level, parts, ends.method)


@dataclass(frozen=True)
class _Grid:
    """Nats over [0, 1], how many pixels, and the cells of the grid that numbers are rounded to."""

    eps: float
    pixels: int
    cells: int

    def mesh(self, model: Pieces, places: FloatArray | None = None) -> tuple[Mesh, IndexArray, FloatArray]:
        """A mesh that ends cells where rounding changes, the grid point of each, and its pixels' chances."""
        halfway = snapped((np.arange(self.cells) + 0.5) / self.cells)
        found = mesh(model, 0.0, halfway if places is None else np.concatenate([halfway, places]))
        require_size(
            len(found.centres) * self.pixels, MOST_ENTRIES, "the cells times the pixels", "take fewer pixels"
        )
        point = np.searchsorted(halfway, found.centres)
        borders = np.arange(self.pixels + 1) / self.pixels - (np.arange(self.cells + 1) / self.cells)[:, None]
        return found, point, np.exp(log_pixels(self.eps, borders))


@singledispatch
def _found(loss: IntervalLoss, prior: Density, model: Pieces, grid: _Grid) -> LossIntegral | None:
    return None


def _on(cells: Mesh, value: float, lost: float = 0.0, missed: float = 0.0) -> LossIntegral:
    return LossIntegral(
        value, missed, len(cells.centres), cells.relative, cells.lost + lost, "sums over cells"
    )


@_found.register
def _of_squares(loss: Squared, prior: Density, model: Pieces, grid: _Grid) -> LossIntegral:
    cells, point, chances = grid.mesh(model)
    mass, mean, spread = _moments(cells)
    joint = chances[point].T * mass
    total = joint.sum(axis=1)
    means = np.divide(joint @ mean, total, out=np.zeros_like(total), where=total > 0)
    share = np.divide(spread, mass, out=np.zeros_like(mass), where=mass > 0)
    off = (mean[None, :] - means[:, None]) ** 2 + share
    return _on(cells, float((joint * off).sum()))


def _moments(cells: Mesh) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mass, mean and spread of every cell."""
    t, mass, _ = cells.nodes
    off = cells.halves[:, None, None] * t
    whole_mass = mass.sum(axis=(1, 2))
    first = (mass * off).sum(axis=(1, 2))
    mean = np.divide(first, whole_mass, out=np.zeros_like(first), where=whole_mass > 0)
    spread = (mass * (off - mean[:, None, None]) ** 2).sum(axis=(1, 2))
    return whole_mass, cells.centres + mean, spread


@_found.register
def _of_quantiles(loss: Quantile, prior: Density, model: Pieces, grid: _Grid) -> LossIntegral:
    cells, point, chances = grid.mesh(model)
    q, (mass, mean, _) = float(loss.quantile), _moments(cells)
    joint = chances[point].T * mass
    below, total = np.cumsum(joint, axis=1), joint.sum(axis=1)
    cell = np.minimum((below < q * total[:, None]).sum(axis=1), len(mass) - 1)
    index = np.arange(len(total))
    before = below[index, cell] - joint[index, cell]
    share = (q * total - before) / np.where(joint[index, cell] > 0, joint[index, cell], 1.0)
    guess, part, first = _within(cells, cell, np.clip(share, 0.0, 1.0))
    # What lies on either side of the guess, in whole cells and in its own.
    off = mean[None, :] - guess[:, None]
    whole_cells = np.where(np.arange(len(mass)) < cell[:, None], (q - 1) * off, q * off)
    whole_cells[index, cell] = 0.0
    factor = chances[point[cell], index]
    own = (1 - q) * (guess * part[0] - first[0]) + q * (first[1] - guess * part[1])
    value = float((joint * whole_cells).sum() + (factor * own).sum())
    scale = float(loss.factor)
    # Moments are taken about 0: their rounding is absolute.
    return _on(cells, scale * value, missed=scale * 64 * UNIT)


def _within(
    cells: Mesh, cell: IndexArray, share: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """The place below which a share of a cell's mass lies, with mass and first moment on both sides of it."""
    rows, half, centre = cells.table[cell], cells.halves[cell], cells.centres[cell]
    degree = rows.shape[1]
    mass = np.zeros((len(cell), degree + 1))
    mass[:, 1:] = half[:, None] * rows / np.arange(1, degree + 1)
    first = np.zeros((len(cell), degree + 2))
    first[:, 1:-1] = half[:, None] * centre[:, None] * rows / np.arange(1, degree + 1)
    first[:, 2:] += half[:, None] ** 2 * rows / np.arange(2, degree + 2)
    ends = [
        (horner(part, np.full(len(cell), -1.0)), horner(part, np.ones(len(cell)))) for part in (mass, first)
    ]
    low, high = np.full(len(cell), -1.0), np.ones(len(cell))
    for _ in range(HALVINGS):
        u = (low + high) / 2
        less = horner(mass, u) - ends[0][0] < share * (ends[0][1] - ends[0][0])
        low, high = np.where(less, u, low), np.where(less, high, u)
    at = [horner(part, low) for part in (mass, first)]
    sides = [(value - start, end - value) for value, (start, end) in zip(at, ends, strict=True)]
    return centre + half * low, sides[0], sides[1]


@_found.register
def _in_cells(loss: Cells, prior: Density, model: Pieces, grid: _Grid) -> LossIntegral | None:
    return None if loss.cells is None else _of_steps(loss.steps(prior.interval), prior, model, grid)


@_found.register
def _at_threshold(loss: Threshold, prior: Density, model: Pieces, grid: _Grid) -> LossIntegral:
    return _of_steps(loss.steps(prior.interval), prior, model, grid)


@_found.register
def _of_steps(loss: Steps, prior: Density, model: Pieces, grid: _Grid) -> LossIntegral:
    inner, inside, lost = inner_places(loss, prior, model)
    cells, point, chances = grid.mesh(model, inner)
    part = np.searchsorted(inner, cells.centres, side="right")
    costs = np.array(loss.costs)[:, inside][:, part]
    mass, _, _ = _moments(cells)
    return _on(cells, float(((costs * mass) @ chances[point]).min(axis=0).sum()), lost)
