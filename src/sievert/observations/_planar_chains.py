"""The best guess about a place after several releases, bounded by a tree of neighbouring cells.

As on a line (`_neighbour_chains`), max_x f_x ≤ f_root + Σ (f_child - f_parent)⁺ over the edges of any tree,
and each term compares two neighbouring cells, whose likelihood ratio after n releases has a known law. Here
the cells of a row are a chain, and the rows hang on the first column. Clamping only loses information.
"""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import PlanarNoise
from sievert.errors import TooLargeError
from sievert.observations._neighbour_chains import ROUNDING, excess
from sievert.observations._ratios import LikelihoodRatioLaw, coarsely_repeated

__all__ = ["tree_of_neighbours"]

# Noise is followed as far as e^-this, and no further than so many cells.
FAR, FURTHEST = 45.0, 1_200


def tree_of_neighbours(noise: PlanarNoise, belief: FloatArray, releases: int) -> float | None:
    """At most how well a cell is guessed, for a belief [rows, columns]; None where it takes too long."""
    found = _one_step(noise)
    if found is None:
        return None
    once, missed = found
    try:
        ratios = coarsely_repeated(once, releases)
    except TooLargeError:
        return None
    total = float(belief[0, 0])
    for parents, children in ((belief[:, :-1], belief[:, 1:]), (belief[:-1, 0], belief[1:, 0])):
        pairs = parents.ravel(), children.ravel()
        some = pairs[1] > 0
        certain = some & (pairs[0] == 0)
        total += float(pairs[1][certain].sum())
        both = some & ~certain
        if both.any():
            total += float(excess(ratios, pairs[0][both], pairs[1][both]).sum())
    # Noise that is not followed may show everything, in every release.
    return min(1.0, total * (1 + ROUNDING) + 2 * releases * missed)


def _one_step(noise: PlanarNoise) -> tuple[LikelihoodRatioLaw, float] | None:
    """The ratio of two neighbouring cells in one release, and the noise that is not followed."""
    reach = math.ceil(FAR / noise.level.eps) if noise.level.eps > 0 else FURTHEST + 1
    if reach > FURTHEST:
        return None
    down, across = np.abs(np.arange(-reach, reach + 1))[:, None], np.arange(-reach, reach + 2)
    nobody = noise.lattice.point(down, np.abs(across)[None, :]).ravel()
    there = noise.lattice.point(down, np.abs(across - 1)[None, :]).ravel()
    logs = there - nobody
    order = np.argsort(logs, kind="stable")
    missed = max(0.0, 1 - float(np.exp(nobody).sum()), 1 - float(np.exp(there).sum()))
    return LikelihoodRatioLaw(logs[order], nobody[order]), missed
