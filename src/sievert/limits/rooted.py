"""A tree hung up by its centre: levels, subtree sizes, and which vertices symmetry makes alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.limits.space import Space
from sievert.spaces.graph import Graph
from sievert.spaces.traversal import distances_to_nearest

__all__ = ["RootedTree", "rooted"]

IndexArray = NDArray[np.intp]
Hash = NDArray[np.uint64]
# Constants of the splitmix64 generator: bits of a sum that equal subtrees alone share.
STEP, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


@dataclass(frozen=True, eq=False)
class RootedTree:
    """Edge e leads from `parent[e]` down to `child[e]`; `levels` lists the edges, nearest the root first."""

    size: int
    root: int
    parent: IndexArray
    child: IndexArray
    lengths: NDArray[np.float64]
    levels: list[IndexArray]

    def below(self) -> IndexArray:
        """For each edge, how many vertices hang below it."""
        count = np.ones(self.size, dtype=np.intp)
        for edges in reversed(self.levels):
            np.add.at(count, self.parent[edges], count[self.child[edges]])
        return count[self.child]

    def orbits(self) -> tuple[IndexArray, IndexArray]:
        """Orbit number of each vertex under the automorphisms that fix the root, and of each edge.

        Equal subtrees get equal hashes; should two others collide (one chance in 10^6 for 10^6 vertices),
        the program is solved for another tree and the certificates do not meet.
        """
        length = self.lengths.view(np.uint64)
        shape = np.zeros(self.size, dtype=np.uint64)
        for edges in reversed(self.levels):
            np.add.at(shape, self.parent[edges], _mixed(_mixed(shape[self.child[edges]]) ^ length[edges]))
        place = _mixed(shape)
        for edges in self.levels:
            below = shape[self.child[edges]] ^ length[edges] * STEP
            place[self.child[edges]] = _mixed(_mixed(place[self.parent[edges]]) + _mixed(below))
        number = np.unique(place, return_inverse=True)[1].ravel()
        return number, number[self.child]


def _mixed(values: Hash) -> Hash:
    """Every bit of the result depends on every bit given (splitmix64)."""
    values = values + STEP
    values = (values ^ (values >> np.uint64(30))) * FIRST
    values = (values ^ (values >> np.uint64(27))) * SECOND
    return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)


def rooted(space: Space) -> RootedTree:
    """A tree hung up by a vertex in its middle."""
    root = space.extent[2]
    depth = distances_to_nearest(Graph._of_indices(range(space.size), space.pairs), [root])
    down = depth[space.pairs[:, 0]] < depth[space.pairs[:, 1]]
    parent = np.where(down, space.pairs[:, 0], space.pairs[:, 1])
    child = np.where(down, space.pairs[:, 1], space.pairs[:, 0])
    order = np.argsort(depth[child], kind="stable")
    stops = np.cumsum(np.bincount(depth[child], minlength=2)[1:])[:-1]
    return RootedTree(space.size, root, parent, child, space.lengths, list(np.split(order, stops)))
