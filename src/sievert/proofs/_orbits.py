"""Certificates of a graph that symmetries move: one number, or one column, for each orbit of its points.

The symmetries are permutations that keep the edges; the orbits are what they join, numbered by first points.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray
from sievert.numerics import exp_above, exp_below
from sievert.proofs._bounds import dual_bound, exact_sum, require_dual
from sievert.proofs._reading import floats, indices, listed, number
from sievert.proofs._space import ProofSpace

__all__ = ["MOST_MOVED", "columns_above", "columns_below", "orbits_above", "orbits_below", "transitive_value"]
Certificate = dict[str, Any]
# Symmetries times edges.
MOST_MOVED = 10**9

# ── The capacity of a vertex-transitive graph, both ends from one search (Alvim et al., Thm 12) ─────────────
# Symmetries that move a point to every other give each row of Φ = e^(-εd) the same sum S. Then Φ/S is a
# private channel that leaks n/S, and the packing vector 1/S proves that none leaks more.


def transitive_value(space: ProofSpace, eps: Fraction, certificate: Certificate, down: bool) -> Fraction:
    """n/Σ_d n_d·e^(-εd), rounded down or up, after checking that the symmetries reach every point."""
    if space.metric or not space.whole:
        raise ValueError("a transitive certificate needs a graph with whole lengths")
    if _orbits(space, certificate).max(initial=0) > 0:
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


def _orbits(space: ProofSpace, certificate: Certificate) -> NDArray[np.intp]:
    """The orbit of each point under the symmetries, numbered by first points, after checking these."""
    images = [indices(image) for image in listed(certificate["symmetries"])]
    if len(images) * len(space.pairs) > MOST_MOVED:
        raise ValueError(f"{len(images)} symmetries of {len(space.pairs)} edges are too many to check")
    for image in images:
        _require_symmetry(space, image)
    start = np.tile(np.arange(space.size), len(images))
    stop = np.concatenate([*images, np.empty(0, dtype=np.intp)])
    joined = coo_array((np.ones(len(start)), (start, stop)), shape=(space.size, space.size))
    label = connected_components(joined, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[label], dtype=np.intp)


def _orbit_sums(
    space: ProofSpace, eps: Fraction, label: NDArray[np.intp], values: FloatArray, down: bool
) -> list[Fraction]:
    """Σ_i values[orbit of i]·e^(-ε·d(r, i)) for the first point r of each orbit, rounded down or up."""
    powers = _Powers(eps, down)
    found = []
    for source in np.unique(label, return_index=True)[1].tolist():
        away = np.ravel(space.distances_from(np.array([source])))
        parts = powers.summed(away, label)
        found.append(sum((Fraction(float(values[k])) * part for k, part in parts.items()), Fraction(0)))
    return found


class _Powers:
    """e^(-ε·length) rounded down or up, each computed once."""

    def __init__(self, eps: Fraction, down: bool) -> None:
        self.eps, self.enclose = eps, exp_below if down else exp_above
        self.known: dict[float, Fraction] = {0.0: Fraction(1)}

    def summed(self, lengths: NDArray[Any], label: NDArray[np.intp]) -> dict[int, Fraction]:
        """Σ e^(-ε·length) over the points of each orbit; points that are not reached add nothing."""
        reached = np.isfinite(lengths)
        pairs, counts = np.unique(np.stack([lengths[reached], label[reached]]), axis=1, return_counts=True)
        totals: dict[int, Fraction] = {}
        for far, orbit, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            if far not in self.known:
                self.known[far] = self.enclose(-self.eps * Fraction(far))
            totals[int(orbit)] = totals.get(int(orbit), Fraction(0)) + count * self.known[far]
        return totals


def _labelled(space: ProofSpace, certificate: Certificate) -> NDArray[np.intp]:
    """The orbit of each point of a graph with whole lengths."""
    if space.metric or not space.whole:
        raise ValueError("a certificate over orbits needs a graph with whole lengths")
    return _orbits(space, certificate)


def _orbit_values(
    space: ProofSpace, certificate: Certificate, name: str
) -> tuple[NDArray[np.intp], FloatArray]:
    """Orbits, and a number ≥ 0 for each."""
    label, values = _labelled(space, certificate), floats(certificate[name])
    if values.shape != (int(label.max()) + 1,) or not (values >= 0).all() or not values.any():
        raise ValueError(f"a certificate over orbits needs {name} ≥ 0 for each orbit, not all 0")
    return label, values


def orbits_above(space: ProofSpace, eps: Fraction, certificate: Certificate) -> Fraction:
    """Packing with a vector that is the same at points that symmetries exchange: one of each is covered."""
    label, y = _orbit_values(space, certificate, "y")
    least = min(_orbit_sums(space, eps, label, y, down=True))
    if least <= 0:
        raise ValueError("the packing vector leaves some point uncovered")
    return _orbit_total(label, y) / least


def orbits_below(space: ProofSpace, eps: Fraction, certificate: Certificate) -> Fraction:
    """The kernel channel with weights that are the same at points that symmetries exchange."""
    label, z = _orbit_values(space, certificate, "z")
    low, high = (_orbit_sums(space, eps, label, z, down) for down in (True, False))
    return _with_remainder(space, eps, certificate, label, (low, high), _orbit_total(label, z))


def _with_remainder(
    space: ProofSpace,
    eps: Fraction,
    certificate: Certificate,
    label: NDArray[np.intp],
    sums: tuple[list[Fraction], list[Fraction]],
    reached: Fraction,
) -> Fraction:
    """Private columns times (1-t)/s, s the largest of their sums, and one more that takes the rest.

    `sums` enclose what the columns have at a point of each orbit, `reached` is the sum of their maxima.
    """
    t = Fraction(number(certificate["t"]))
    low, high = sums
    scale = max(high)
    if not 0 <= t < 1 or scale <= 0:
        raise ValueError("the kernel needs 0 ≤ t < 1 and a weight above 0")
    least, most = ([1 - (1 - t) * row / scale for row in rows] for rows in (high, low))
    ends = np.column_stack([label[space.pairs], space.lengths.astype(np.intp)])
    for a, b, length in np.unique(ends, axis=0).tolist():
        growth = exp_below(eps * length)
        if a != b and (most[a] > growth * least[b] or most[b] > growth * least[a]):
            raise ValueError("the remainder of the kernel channel is not private")
    return (1 - t) * reached / scale + max(least)


def _orbit_total(label: NDArray[np.intp], values: FloatArray) -> Fraction:
    """The sum over all points."""
    sizes = np.bincount(label).tolist()
    return sum((size * Fraction(v) for size, v in zip(sizes, values.tolist(), strict=True)), Fraction(0))


# ── Columns of one point for each orbit ─────────────────────────────────────────────────────────────────────
# A column k and its images under the symmetries, evenly weighed, are private as k is, and have the mean of k
# over an orbit in each of its rows. A vector y that is alike on orbits pays for an image what it pays for k.


def columns_above(space: ProofSpace, eps: Fraction, certificate: Certificate) -> Fraction:
    """The dual with the first point of each orbit as outputs: y pays as much for all images of a column."""
    label, y = _labelled(space, certificate), floats(certificate["y"])
    firsts = np.unique(label, return_index=True)[1]
    if y.shape != (len(firsts),):
        raise ValueError("columns need a number y for each orbit")
    require_dual(space.size, len(firsts))
    objective = np.zeros((space.size, len(firsts)))
    objective[firsts, np.arange(len(firsts))] = 1.0
    return dual_bound(space, eps, objective, certificate | {"y": y[label].tolist()})


def columns_below(space: ProofSpace, eps: Fraction, certificate: Certificate) -> Fraction:
    """Columns e^(-ε·u), u whole numbers from 0 that change by at most its length along an edge, spread evenly
    over their images, and one more that takes the rest of each row."""
    label = _labelled(space, certificate)
    z, columns = floats(certificate["z"]), [indices(column) for column in listed(certificate["columns"])]
    if z.shape != (len(columns),) or not (z >= 0).all():
        raise ValueError("columns need a weight ≥ 0 each")
    for column in columns:
        if column.shape != (space.size,) or column.min() != 0:
            raise ValueError("a column needs a whole number from 0 for each point")
        if (np.abs(np.diff(column[space.pairs], axis=1))[:, 0] > space.lengths).any():
            raise ValueError("a column is not private along some edge")
    sizes = np.bincount(label).tolist()
    sums = []
    for down in (True, False):
        powers, found = _Powers(eps, down), [Fraction(0)] * len(sizes)
        for weight, column in zip(z.tolist(), columns, strict=True):
            for k, part in powers.summed(column, label).items():
                found[k] += Fraction(weight) * part / sizes[k]
        sums.append(found)
    return _with_remainder(space, eps, certificate, label, (sums[0], sums[1]), exact_sum(z))


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
