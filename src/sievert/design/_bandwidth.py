"""Orders of points, and equal blocks of them: a constraint reaches to the next block at most."""

from __future__ import annotations

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IndexArray

__all__ = ["block_order", "cut", "most_blocks", "reached", "wider"]
# Directions in which points may be taken.
DIRECTIONS = 12


def block_order(pairs: IndexArray, distances: FloatArray) -> IndexArray:
    """Points in an order in which pairs are near each other: as they are, or across a plane of theirs.

    Classical scaling gives the plane that fits the distances best; several directions across it are tried.
    """
    size = len(distances)
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    plane = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    angles = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
    across = plane @ np.stack([np.cos(angles), np.sin(angles)])
    orders = [np.arange(size), *np.argsort(across, axis=0, kind="stable").T]
    # An inverse permutation says where each point has gone.
    return max(orders, key=lambda order: most_blocks(np.argsort(order)[pairs], size))


def most_blocks(pairs: IndexArray, size: int) -> int:
    """The largest number of blocks none of which is shorter than a pair; in two any pair is in reach."""
    farthest = int(np.abs(pairs[:, 0] - pairs[:, 1]).max(initial=1))
    return min(size, max(2, size // farthest))


def wider(blocks: int) -> int:
    """The next smaller number of blocks that is worth trying."""
    return max(2, 3 * blocks // 4)


def cut(size: int, blocks: int) -> IndexArray:
    """Where so many blocks of nearly equal size begin, and where the last ends."""
    return np.arange(blocks + 1) * size // blocks


def reached(size: int, blocks: int) -> BoolArray:
    """Which points are no farther apart than a block is long: in fewer blocks they stay in reach."""
    every = np.arange(size)
    return np.asarray(np.abs(every[:, None] - every) <= (size // blocks if blocks > 2 else size))
