"""Proof that the noise of several tables is enough together: every pair of values is looked at.

Independent noise adds up. A cell that moves by c steps under discrete Laplace noise of ε₀ for a step costs
c·ε₀, under stairs of width w of ε₀ each ⌈c/w⌉·ε₀; a quantile on a grid is a table of positions, of which a
record takes one and leaves another. The certificate lists what each profile of values adds to which cell of
every table, and which profiles are neighbours; checking it adds up the costs of every pair anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import IndexArray, IntArray
from sievert.channels import GeometricLaw, JointNoise, NoiseChannel, NoiseLaw, QuantileNoise, StaircaseLaw
from sievert.errors import TooLargeError
from sievert.proofs._base import Proof, growth
from sievert.proofs._reading import entries, fraction, listed, whole

__all__ = ["JointNoiseProof"]

# Profiles, and pairs of neighbours, that a certificate lists.
LARGEST_PROFILES, LARGEST_EDGES = 2_000, 100_000


@dataclass(frozen=True, eq=False)
class TableCosts:
    """One table: ε₀ for so many steps (one stair), and what each profile adds to which cell."""

    eps: Fraction
    width: int
    cells: tuple[int, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class JointNoiseProof(Proof):
    """Noise in several tables is together ε-private, and for no smaller ε: `pair` needs all of it.

    `edges` lists the neighbours with their distances; None: any two profiles are, at distance 1.
    """

    kind: ClassVar[str] = "noise of several tables"
    grounds: ClassVar[str] = (
        "independent noise adds up over the tables that one record moves (Fernandes, Lem 3.6, for each)"
    )
    eps: Fraction
    tables: tuple[TableCosts, ...]
    edges: tuple[tuple[int, int, Fraction], ...] | None
    pair: tuple[int, int]

    @staticmethod
    def of(noise: JointNoise) -> Proof | None:
        """That the noise is enough; None where nothing moves, no ε is, or too many values would be listed."""
        if not noise.keeps_eps or not noise.joint.exact or not noise.joint.cost or noise.policy.constrained:
            return None
        levels = [_level(part) for part in noise.parts]
        columns = np.array([[p.statistic.cell_of, p.statistic.amount] for p in noise.parts])
        rows = columns.reshape(-1, columns.shape[-1]).T
        if noise.absence:
            rows = np.vstack([rows, np.zeros(rows.shape[1], dtype=rows.dtype)])
        profiles, profile = np.unique(rows, axis=0, return_inverse=True)
        profile = profile.ravel()
        try:
            edges = None if noise.absence else _edges(noise, profile)
        except TooLargeError:
            return None
        if any(level is None for level in levels) or len(profiles) > LARGEST_PROFILES:
            return None
        tables = tuple(
            TableCosts(*level, tuple(profiles[:, 2 * j].tolist()), tuple(profiles[:, 2 * j + 1].tolist()))
            for j, level in enumerate(levels)
            if level is not None
        )
        names = [*noise.policy.values, "left out"]
        assert noise.joint.pair is not None
        first, second = (int(profile[names.index(value)]) for value in noise.joint.pair)
        return JointNoiseProof(noise.joint.cost, tables, edges, (first, second))

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "tables": [
                {"eps": str(t.eps), "width": t.width, "cells": list(t.cells), "amounts": list(t.amounts)}
                for t in self.tables
            ],
            "edges": None if self.edges is None else [[a, b, str(length)] for a, b, length in self.edges],
            "pair": list(self.pair),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> JointNoiseProof:
        tables = tuple(
            TableCosts(
                fraction(table["eps"]),
                whole(table["width"], 1),
                tuple(whole(cell, 0) for cell in listed(table["cells"])),
                tuple(whole(amount, -(2**62), 2**62) for amount in listed(table["amounts"])),
            )
            for table in listed(data["tables"])
        )
        edges = None
        if data["edges"] is not None:
            edges = tuple((whole(a, 0), whole(b, 0), fraction(d)) for a, b, d in entries(data["edges"], 3))
        first, second = listed(data["pair"])
        return cls(fraction(data["eps"]), tables, edges, (whole(first, 0), whole(second, 0)))

    def proved(self) -> str:
        size = len(self.tables[0].cells) if self.tables else 0
        if not size or size > LARGEST_PROFILES:
            raise ValueError(f"the proof lists {size} profiles; it needs 1 to {LARGEST_PROFILES}")
        if any(len(t.cells) != size or len(t.amounts) != size for t in self.tables):
            raise ValueError("the tables list different numbers of profiles")
        if self.eps <= 0 or any(t.eps < 0 or t.width < 1 for t in self.tables):
            raise ValueError("eps must be above 0, and no step may cost less than nothing")
        for a, b, length in self.edges or ():
            if not (a < size and b < size and length > 0):
                raise ValueError(f"the neighbours {a} and {b} at distance {length} are no two profiles")
        apart = self._apart()
        if max(self.pair) >= size or not apart:
            raise ValueError("the pair that needs all of ε is no pair of neighbours")
        for rows, columns, length in self._pairs(size):
            if (self._costs(rows, columns) > self._scaled(self.eps * length)).any():
                raise ValueError(f"a pair of values costs more than ε = {self.eps}")
        first, second = self.pair
        reached = self._costs(np.array([first]), np.array([second]))[0]
        if reached not in {self._scaled(self.eps * length) for length in apart}:
            raise ValueError(
                f"the pair named does not cost ε = {self.eps}: it is not the level of this noise"
            )
        return (
            f"for every move of one record the noise of {len(self.tables)} tables together keeps ε = "
            f"{self.eps}, and no smaller one"
        )

    def meaning(self) -> str:
        return (
            f"one record more, less or other makes what is published in all {len(self.tables)} tables "
            f"together at most {growth(self.eps)} times as likely."
        )

    def _apart(self) -> set[Fraction]:
        """The distances at which the pair that needs all of ε is listed."""
        if self.edges is None:
            return {Fraction(1)}
        return {length for a, b, length in self.edges if {a, b} == set(self.pair)}

    def _scale(self) -> int:
        lengths = [d for _, _, d in self.edges or ()]
        return math.lcm(
            *(t.eps.denominator for t in self.tables),
            *((self.eps * d).denominator for d in lengths),
            self.eps.denominator,
        )

    def _scaled(self, value: Fraction) -> int:
        return int(value * self._scale())

    def _pairs(self, size: int) -> Iterator[tuple[IndexArray, IndexArray, Fraction]]:
        """Neighbours of one distance at a time."""
        if self.edges is None:
            for row in range(size):
                yield np.array([row]), np.arange(row, size), Fraction(1)
            return
        for length in sorted({d for _, _, d in self.edges}):
            ends = np.array([(a, b) for a, b, d in self.edges if d == length])
            yield ends[:, 0], ends[:, 1], length

    def _costs(self, rows: IndexArray, columns: IndexArray) -> Any:
        """What pairs of profiles cost, in whole numbers."""
        total: Any = 0
        scale = self._scale()
        for table in self.tables:
            # As Python's whole numbers: NumPy reads very large ones as floats, of which two may be alike.
            cell, amount = (np.array(column, dtype=object) for column in (table.cells, table.amounts))
            a, b = amount[rows], amount[columns]
            one = np.where(cell[rows] == cell[columns], _stairs(a - b, table.width), 0)
            two = np.where(cell[rows] == cell[columns], 0, _stairs(a, table.width) + _stairs(b, table.width))
            total = total + int(table.eps * scale) * (one + two)
        return np.asarray(total, dtype=object)


def _stairs(steps: Any, width: int) -> Any:
    return -(-np.abs(steps) // width)


def _edges(noise: JointNoise, profile: IntArray) -> tuple[tuple[int, int, Fraction], ...] | None:
    """Neighbouring profiles, each pair once at its least distance; None: any two."""
    policy = noise.policy
    if policy.record_metric.uniform_distance == 1:
        return None
    edges = policy.record_edges
    if len(edges.pairs) > LARGEST_EDGES:
        raise TooLargeError("the neighbours are too many to list", size=len(edges.pairs))
    found: dict[tuple[int, int], Fraction] = {}
    for (a, b), length in zip(profile[edges.pairs].tolist(), edges.lengths.tolist(), strict=True):
        key = (min(a, b), max(a, b))
        if a != b:
            found[key] = min(found.get(key, Fraction(length)), Fraction(length))
    return tuple((a, b, length) for (a, b), length in sorted(found.items()))


@singledispatch
def _level(part: NoiseChannel) -> tuple[Fraction, int] | None:
    law: NoiseLaw | None = getattr(part, "law", None)
    return None if law is None else _level_of(law)


@_level.register
def _of_quantile(part: QuantileNoise) -> tuple[Fraction, int] | None:
    return part.cell_eps(1), 1


@singledispatch
def _level_of(law: NoiseLaw) -> tuple[Fraction, int] | None:
    return None


@_level_of.register
def _of_geometric(law: GeometricLaw) -> tuple[Fraction, int] | None:
    name, value = law.written
    return (value, 1) if name == "eps" else None


@_level_of.register
def _of_stairs(law: StaircaseLaw) -> tuple[Fraction, int] | None:
    return law.eps, law.sensitivity
