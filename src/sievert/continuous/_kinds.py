"""What a file can name as a belief about real numbers: densities, each on the interval of the values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sievert.channels import StatedPrior
from sievert.continuous._density import Density, rational
from sievert.errors import FileError
from sievert.kinds import Finite, PublicPath, variant
from sievert.numerics import abbreviated
from sievert.spaces import LabelledTable, Labels, number_in

__all__ = ["DensityPrior"]


class DensityPrior(StatedPrior):
    """A density on the interval that the values span."""

    @abstractmethod
    def on(self, interval: tuple[Fraction, Fraction]) -> Density:
        """The density on an interval."""

    def over(self, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
        """To each value the mass of what is nearer to it than to any other."""
        strange = any(isinstance(label, bool) or not isinstance(label, int | float) for label in labels)
        if strange or len(labels) < 2:
            raise FileError(
                "a density is a prior of real numbers; write policy.values = { interval = [0.0, 1.0], "
                "cells = 1000 }, or list probabilities"
            )
        places = [rational("values", label) for label in labels]
        steps = {b - a for a, b in pairwise(places)}
        step = (places[-1] - places[0]) / (len(places) - 1)
        if any(abs(found - step) > step / 10**6 for found in steps):
            raise FileError(
                "a density needs values that are equally far apart; use an interval and its cells"
            )
        halves = self.on((places[0], places[-1])).masses(2 * (len(places) - 1))
        found = np.zeros(len(places))
        found[:-1] += halves[::2]
        found[1:] += halves[1::2]
        return np.asarray(found / math.fsum(found))


@variant(StatedPrior, key="beta")
class BetaPrior(DensityPrior):
    """A Beta density, stretched to the interval of the values."""

    beta: Annotated[
        list[Finite], Field(min_length=2, max_length=2, description="its two parameters, both positive")
    ]

    def on(self, interval: tuple[Fraction, Fraction]) -> Density:
        return Density.beta(self.beta[0], self.beta[1], interval)


@variant(StatedPrior, key="normal")
class NormalPrior(DensityPrior):
    """A normal density, cut to the interval of the values."""

    normal: Annotated[
        list[Finite], Field(min_length=2, max_length=2, description="its mean and its standard deviation")
    ]

    def on(self, interval: tuple[Fraction, Fraction]) -> Density:
        return Density.truncated_normal(self.normal[0], self.normal[1], interval)


@variant(StatedPrior, key="density")
class HistogramPrior(DensityPrior):
    """A public histogram over the interval of the values."""

    density: Annotated[
        PublicPath,
        Field(description="a CSV with the lower end, the upper end and the count of a cell in each row"),
    ]

    def on(self, interval: tuple[Fraction, Fraction]) -> Density:
        table: LabelledTable = self.density.table()
        if len(table.header) < 3:
            raise FileError(f"{self.density}: needs a lower end, an upper end and a count in each row")
        rows = [[number_in(table, row, k, self.density) for k in range(3)] for row in table.rows]
        for before, after in pairwise(rows):
            if before[1] != after[0]:
                raise FileError(
                    f"{self.density}: a cell ends at {before[1]:g} and the next begins at {after[0]:g}; "
                    "give cells without gaps, in increasing order"
                )
        edges = [rows[0][0], *(row[1] for row in rows)] if rows else []
        ends = (float(interval[0]), float(interval[1]))
        if not rows or (edges[0], edges[-1]) != ends:
            raise FileError(
                f"{self.density}: reaches over {abbreviated(edges[:1] + edges[-1:])}; it must reach over the "
                f"values, {ends[0]:g} to {ends[1]:g}"
            )
        return Density.histogram(edges, [row[2] for row in rows])
