"""The cells of priors on which a mechanism's loss is linear, cut out of the simplex one output at a time.

The loss Σ_y min_w Σ_x π_x·C[x,y]·ℓ[w,x] is linear where each output has one best action. The simplex of
priors is cut into such cells by half-spaces, exactly, and every corner that appears is a corner of the end:
one that a proof does not list refutes it at once. Searches find corners in another way (extreme rays of one
cone), so this check shares nothing with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sievert.arrays import ObjectArray
from sievert.numerics import advance, require_size

__all__ = ["require_corners"]

# Cells that are cut out, corners of one on the way, and products of outputs and actions.
LARGEST_CELLS, LARGEST_CELL, LARGEST_CUTS = 20_000, 500, 400

Prior = tuple[Fraction, ...]


@dataclass(frozen=True)
class _Corner:
    """A prior, and which of the half-spaces of its cell it lies on the side of."""

    prior: Prior
    on: frozenset[int]


Cell = list[_Corner]


def require_corners(channel: ObjectArray, loss: ObjectArray, listed: set[Prior]) -> None:
    """ValueError unless all corners of the cells of priors of a mechanism [input, output] are listed."""
    n, outputs = channel.shape
    require_size(outputs * len(loss), LARGEST_CUTS, "the cells of priors", "take fewer inputs or actions")
    units = [tuple(Fraction(int(x == k)) for x in range(n)) for k in range(n)]
    cells = [[_Corner(unit, frozenset(x for x in range(n) if x != k)) for k, unit in enumerate(units)]]
    _require_listed(cells, listed)
    name = n
    for y in range(outputs):
        advance("outputs", y, outputs)
        # Actions that cost the same with this output are one.
        costs = list(dict.fromkeys(tuple((channel[:, y] * row).tolist()) for row in loss))
        pieces: list[Cell] = []
        for cell in cells:
            pieces += _pieces(cell, costs, name)
            require_size(len(pieces), LARGEST_CELLS, "the cells of priors", "take fewer inputs or actions")
        _require_listed(pieces, listed)
        cells = pieces
        name += len(costs) ** 2


def _require_listed(cells: list[Cell], listed: set[Prior]) -> None:
    if any(corner.prior not in listed for cell in cells for corner in cell):
        raise ValueError("a corner of a cell of priors is missing")


def _pieces(cell: Cell, costs: list[Prior], name: int) -> list[Cell]:
    """The parts of a cell in which one action is best, those with an interior."""
    scores = {corner.prior: [_dot(cost, corner.prior) for cost in costs] for corner in cell}
    found = []
    for w in range(len(costs)):
        if all(row[w] == min(row) for row in scores.values()):
            return [cell]
        piece: Cell | None = cell
        for v in range(len(costs)):
            if v != w and piece is not None:
                difference = tuple(a - b for a, b in zip(costs[v], costs[w], strict=True))
                piece = _cut(piece, difference, name + v * len(costs) + w)
        found += [] if piece is None else [piece]
    return found


def _dot(first: Prior, second: Prior) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True) if b), Fraction(0))


def _cut(cell: Cell, normal: Prior, name: int) -> Cell | None:
    """The part of a cell where a linear function is ≥ 0; None where that has no interior."""
    require_size(len(cell), LARGEST_CELL, "the corners of a cell", "take fewer inputs or actions")
    values = [_dot(normal, corner.prior) for corner in cell]
    if min(values) >= 0:
        return cell
    if max(values) <= 0:
        return None
    kept = [
        _Corner(corner.prior, corner.on | {name}) if value == 0 else corner
        for corner, value in zip(cell, values, strict=True)
        if value >= 0
    ]
    above = [k for k, value in enumerate(values) if value > 0]
    below = [k for k, value in enumerate(values) if value < 0]
    for i in above:
        for j in below:
            common = cell[i].on & cell[j].on
            # Two corners share an edge iff no third lies on all that both lie on.
            if any(common <= corner.on for k, corner in enumerate(cell) if k not in (i, j)):
                continue
            share = values[i] / (values[i] - values[j])
            pairs = zip(cell[i].prior, cell[j].prior, strict=True)
            kept.append(_Corner(tuple(a + share * (b - a) for a, b in pairs), common | {name}))
    return kept
