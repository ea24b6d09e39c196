"""Sums against e^(-ε|x-y|): what every loss of the Laplace mechanism is made of.

For y on a grid, ∫ (y-x)^k·π(x)·e^(-ε(y-x)) dx over x < y is a scan from the left, and its mirror image one
from the right. A scan by doubling adds non-negative numbers log₂ N times, so that its relative error stays
below a few units times log₂ N, where a recursion would have N. Cells of a density are integrated by
Gauss–Legendre, exact for the model's polynomials; what is missed is counted (`Tilted.error`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.continuous._density import NODES, Density, Pieces
from sievert.errors import PriorError
from sievert.numerics import UNIT

__all__ = ["Tilted", "decayed", "on_grid", "scan_error", "tilted"]
# Cells narrower than this share of their piece, and of 1/ε, need few nodes.
NARROW, FEW_NODES = 1 / 64, 4
# Cells wider than so many nats tell nothing.
LARGEST_EXPONENT = 100.0
# Parts of cells that are integrated at once: they stay in the processor's cache.
BLOCK = 16_384


@dataclass(frozen=True)
class Tilted:
    """Integrals of a density over equal cells.

    Attributes
    ----------
    left : [power, cell], ∫ (end - x)^k·π·e^(-ε(end - x)) dx, measured from the upper end of each cell
    right : the same from the lower end, ∫ (x - start)^k·π·e^(-ε(x - start)) dx
    error : bound on the L1 distance of what was integrated from the density, rounding included
    """

    left: FloatArray
    right: FloatArray
    error: float


def tilted(
    prior: Density, cells: int, eps: float, power: int, within: tuple[float, float] | None = None
) -> Tilted:
    """The integrals up to a power, of what is `within` two numbers, with all that is missed."""
    model = prior.pieces()
    if model is None:
        raise PriorError(f"the density {prior} is known by the masses of its cells alone")
    low, high = (float(end) for end in prior.interval)
    grid = np.linspace(low, high, cells + 1)
    low, high = (low, high) if within is None else within
    edges = np.unique(np.concatenate([[low, high], grid, model.edges]))
    edges = edges[(edges >= low) & (edges <= high)]
    sums = np.zeros((2, power + 1, len(edges) - 1))
    error = model.error
    cell = np.clip(np.searchsorted(grid, (edges[:-1] + edges[1:]) / 2, side="right") - 1, 0, cells - 1)
    for start in range(0, len(edges) - 1, BLOCK):
        part = slice(start, min(start + BLOCK, len(edges) - 1))
        found = _block(model, edges[part.start : part.stop + 1], grid, cell[part], eps, power)
        sums[:, :, part] = found[0]
        error += found[1]
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    whole = np.zeros((2, power + 1, cells))
    whole[:, :, cell[starts]] = np.maximum(np.add.reduceat(sums, starts, axis=2), 0.0)
    return Tilted(whole[0], whole[1], error)


def _block(
    model: Pieces, edges: FloatArray, grid: FloatArray, cell: IndexArray, eps: float, power: int
) -> tuple[FloatArray, float]:
    """The integrals over some parts of cells, each within one piece, and what is missed of them."""
    halves, centres = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
    k = np.clip(np.searchsorted(model.edges, centres, side="right") - 1, 0, len(model.edges) - 2)
    middle, reach = (model.edges[k] + model.edges[k + 1]) / 2, (model.edges[k + 1] - model.edges[k]) / 2
    there = np.abs(centres - middle) <= reach
    shift, scale = (centres - middle) / reach, halves / reach
    table = model.coefficients.T[:, k] * there
    before, after = centres - grid[cell], grid[cell + 1] - centres
    sums = np.zeros((2, power + 1, len(centres)))
    degree = len(table) - 1
    narrow = (scale <= NARROW) & (eps * halves <= NARROW)
    missed = 0.0
    for chosen, count in ((narrow, FEW_NODES), (~narrow, NODES)):
        if not chosen.any():
            continue
        some = slice(None) if chosen.all() else np.flatnonzero(chosen)
        half = halves[some]
        sums[:, :, some] = _quadrature(
            count, table[:, some], shift[some], scale[some], half, (after[some], before[some]), eps, power
        )
        sizes = np.abs(table[:, some])
        lengths = 2 * half
        missed += float((sizes.sum(axis=0) * lengths).sum()) * (6 * degree + 60) * UNIT
        if count == NODES:
            missed += float((sizes.sum(axis=0) * lengths).sum()) * _cut(
                degree, power, float(half.max()) * eps
            )
        elif degree + power > 0 or eps > 0:
            # |f^(8)| ≤ 8!·M/ρ^8 on a disc of radius ρ = min(reach, 1/ε), where |t| ≤ 2 and e^(ερ) ≤ e.
            bound = (sizes * 2.0 ** np.arange(degree + 1)[:, None]).sum(axis=0) * math.e**2
            radius = np.minimum(reach[some], 1 / eps if eps else np.inf)
            missed += 0.0058 * float((bound * lengths * (half / radius) ** 8).sum())
    return sums, missed


def _quadrature(
    count: int,
    table: FloatArray,
    shift: FloatArray,
    scale: FloatArray,
    halves: FloatArray,
    distances: tuple[FloatArray, FloatArray],
    eps: float,
    power: int,
) -> FloatArray:
    """Gauss–Legendre with so many nodes, [side, power, part]; distances are those of the centres."""
    sums = np.zeros((2, power + 1, len(halves)))
    nodes, weights = np.polynomial.legendre.leggauss(count)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        t = shift + scale * node
        height = table[-1].copy()
        for row in table[-2::-1]:
            height *= t
            height += row
        height *= weight * halves
        for side, sign in ((0, -1), (1, 1)):
            distance = distances[side] + sign * halves * node
            term = height if eps == 0 else height * np.exp(-eps * distance)
            for j in range(power + 1):
                sums[side, j] += term
                if j < power:
                    term = term * distance
    return sums


def _cut(degree: int, power: int, exponent: float) -> float:
    """What Gauss–Legendre misses for each unit of Σ|a_n|·length.

    It is exact for the polynomial times the first terms of the exponential's series around the centre; the
    rest is at most x^m/m!·e^x for x = ε·half, and enters twice, once in the sum and once in the integral.
    """
    if exponent > LARGEST_EXPONENT:
        return math.inf
    terms = 2 * NODES - degree - power
    return 2 * exponent**terms / math.factorial(terms) * math.exp(exponent) if exponent else 0.0


def scan_error(count: int, exponent: float) -> float:
    """Relative error of a scan of so many numbers, with decays of up to e^-exponent in all.

    Every level adds a product: 3 units; e^(-ε·distance) has the units of its exponent, rounded three times.
    """
    return (3 * math.ceil(math.log2(count + 2)) + 4 * min(exponent, 745.0) + 16) * UNIT


def on_grid(terms: FloatArray, step: float, eps: float) -> FloatArray:
    """A_k(y_i) = Σ_{j<i} of the cells below y_i, [power, point], from `Tilted.left`; for i = 0…cells."""
    power = len(terms) - 1
    found = np.zeros((power + 1, terms.shape[1] + 1))
    found[:, 1:] = terms
    size, span = found.shape[1], 1
    while span < size:
        length = step * span
        decay = math.exp(-eps * length)
        if decay == 0.0:
            break
        earlier = found[:, :-span].copy()
        # (y' - x)^k for y' = y + length, by the binomial theorem.
        for j in range(power + 1):
            moved = earlier[j].copy()
            for i in range(j):
                moved += math.comb(j, i) * length ** (j - i) * earlier[i]
            found[j, span:] += decay * moved
        span *= 2
    return found


def decayed(values: FloatArray, points: FloatArray, eps: float) -> FloatArray:
    """Σ_{j ≤ i} values[…, j]·e^(-ε(x_i - x_j)) along the last axis, for increasing points."""
    found = np.array(values, dtype=np.float64)
    size, span = found.shape[-1], 1
    while span < size:
        decay = np.exp(-eps * (points[span:] - points[:-span]))
        if not decay.any():
            break
        found[..., span:] += decay * found[..., :-span].copy()
        span *= 2
    return found
