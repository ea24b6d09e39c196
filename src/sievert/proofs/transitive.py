"""The capacity of a vertex-transitive graph, both ends from one search (Alvim et al., Thm 12).

Symmetries that move a point to every other give each row of Φ = e^(-εd) the same sum S. Then Φ/S is a private
channel that leaks n/S, and the packing vector 1/S proves that none leaks more.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.numerics.balls import exp_above, exp_below
from sievert.proofs.reading import indices
from sievert.proofs.space import ProofSpace

__all__ = ["transitive_value"]


def transitive_value(space: ProofSpace, eps: Fraction, certificate: dict[str, Any], down: bool) -> Fraction:
    """n/Σ_d n_d·e^(-εd), rounded down or up, after checking that the symmetries reach every point."""
    if space.metric or not space.whole:
        raise ValueError("a transitive certificate needs a graph with whole lengths")
    images = [indices(image) for image in certificate["symmetries"]]
    for image in images:
        _require_symmetry(space, image)
    start = np.tile(np.arange(space.size), len(images))
    stop = np.concatenate([*images, np.empty(0, dtype=np.intp)])
    joined = coo_array((np.ones(len(start)), (start, stop)), shape=(space.size, space.size))
    if connected_components(joined, directed=False)[0] > 1:
        raise ValueError("the symmetries do not move one point to every other")
    away = space.distances_from(np.array([0]))
    if not np.isfinite(away).all():
        raise ValueError("a transitive certificate needs a connected graph")
    distances, counts = np.unique(away, return_counts=True)
    enclose = exp_above if down else exp_below
    total = sum(
        (
            count * enclose(-eps * Fraction(d))
            for d, count in zip(distances.tolist(), counts.tolist(), strict=True)
        ),
        Fraction(0),
    )
    return space.size / total


def _require_symmetry(space: ProofSpace, image: NDArray[np.intp]) -> None:
    """A permutation of the points that maps every edge to one of the same length."""
    if image.shape != (space.size,) or not np.array_equal(np.sort(image), np.arange(space.size)):
        raise ValueError("a symmetry must be a permutation of the points")
    tables = []
    for pairs in (space.pairs, image[space.pairs]):
        code = pairs.min(axis=1) * space.size + pairs.max(axis=1)
        order = np.lexsort((space.lengths, code))
        tables.append((code[order], space.lengths[order]))
    if any((a != b).any() for a, b in zip(*tables, strict=True)):
        raise ValueError("a symmetry does not map edges to edges of the same length")
