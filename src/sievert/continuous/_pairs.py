"""A belief at x and at x + 2r, on cells where both are polynomials: what the ends of a window pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.continuous._mesh import FACTOR, least_of
from sievert.continuous._shapes import Pieces, centred, moved, restricted
from sievert.numerics import UNIT

__all__ = ["Pair", "pair", "pair_edges"]
# Edges nearer than this are one, and the mass between them may be anywhere.
ALIKE = 2e-15


@dataclass(frozen=True)
class Pair:
    """π(x) and π(x + 2r) on cells, as polynomials [cell, power]."""

    centres: FloatArray
    halves: FloatArray
    low: FloatArray
    high: FloatArray

    def some(self, chosen: BoolArray) -> Pair:
        """Some of the cells."""
        return Pair(self.centres[chosen], self.halves[chosen], self.low[chosen], self.high[chosen])

    def halved(self) -> Pair:
        """Both halves of every cell."""
        half = np.full(len(self.centres), 0.5)
        parts = [
            Pair(
                self.centres + side * self.halves / 2,
                self.halves / 2,
                moved(self.low, side * half, half),
                moved(self.high, side * half, half),
            )
            for side in (-1, 1)
        ]
        return Pair(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))


_FIELDS = ("centres", "halves", "low", "high")


def pair_edges(model: Pieces, width: float, start: float, end: float, *places: float) -> FloatArray:
    """Where either polynomial changes, and some places more, from a start to an end."""
    shifted = _shifted(model, width)[0]
    edges = np.unique(np.concatenate([model.edges, shifted, places]))
    return np.concatenate([[start], edges[(edges > start) & (edges < end)], [end]])


def _shifted(model: Pieces, width: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Where π(x + 2r) changes, but for those places that are edges up to rounding; these, and by how much."""
    places = model.edges[model.edges > width] - width
    after = np.clip(np.searchsorted(model.edges, places), 1, len(model.edges) - 1)
    off = np.minimum(np.abs(places - model.edges[after - 1]), np.abs(model.edges[after] - places))
    alike = off <= ALIKE
    return places[~alike], places[alike], off[alike]


def pair(model: Pieces, edges: FloatArray, width: float) -> tuple[Pair, float, float]:
    """The cells, the factor by which densities may be off, and the mass that may be anywhere."""
    centres, halves, _ = centred(edges)
    moved_edges = edges + width
    (low, missed), (high, more) = restricted(model, edges), restricted(model, moved_edges)
    # What x + 2r is rounded by, exactly (two sums).
    part = moved_edges - edges
    slip = np.abs((edges - (moved_edges - part)) + (width - part))
    slips = np.maximum(slip[:-1], slip[1:])
    share, lost = 0.0, _slivers(model, edges, width, np.abs(high).sum(axis=1))
    for rows, error, off in ((low, missed, 0.0), (high, more, slips)):
        sizes = np.abs(rows)
        # Halving costs some units.
        whole = (
            error + 2 * off / halves * (sizes @ np.arange(rows.shape[1])) + 4000 * UNIT * sizes.sum(axis=1)
        )
        least = least_of(rows, whole / FACTOR)
        ratio = np.divide(whole, least, out=np.full_like(least, np.inf), where=least > 0)
        small = ratio <= FACTOR
        share = max(share, float(ratio[small].max(initial=0.0)))
        lost += float((whole * 2 * halves)[~small].sum())
    return Pair(centres, halves, low, high), share, lost


def _slivers(model: Pieces, edges: FloatArray, width: float, heights: FloatArray) -> float:
    """The mass between places and the edges that stand for them."""
    _, places, off = _shifted(model, width)
    cell = np.clip(np.searchsorted(edges, places) - 1, 0, len(heights) - 1)
    near = np.stack([heights[np.clip(cell + k, 0, len(heights) - 1)] for k in (-1, 0, 1)])
    return float((off * near.max(axis=0)).sum())
