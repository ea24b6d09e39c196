"""Breaches over tables of very many cells: cells of the same belief are alike, so only their number counts.

With geometric noise a release either hits a cell or does not, and its ratio is e^(ε·(2·hits - n)). So a
simulated table is how many cells of each belief have been hit how often, which binomial draws move on; a
million cells cost as much as a hundred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.channels import GeometricLaw
from sievert.numerics import advance
from sievert.observations._breach_times import BreachQuestion
from sievert.observations._table_likelihood import HistogramLikelihood, TableLikelihood

__all__ = ["AlikeCells"]

# Kinds of cells that are followed, and binomial draws of one simulation.
MOST_KINDS, MOST_DRAWS = 64, 60_000_000
SAMPLES, FEWEST = 5_000, 200
# e^this is the largest ratio that is followed.
LARGEST_LOG = 300.0


@dataclass(frozen=True, eq=False)
class AlikeCells:
    """Kinds of cells.

    Attributes
    ----------
    eps : nats of one step
    weights : [predicate or anything, kind]: belief in each cell of the kind
    counts : how many cells there are of each
    kind : of each possible class; -1 for values that are in no cell
    still : belief [predicate or anything] in values that are in no cell
    """

    eps: float
    weights: FloatArray
    counts: IntArray
    kind: IndexArray
    still: FloatArray

    @staticmethod
    def of(view: TableLikelihood, question: BreachQuestion, most: int) -> AlikeCells | None:
        """None where cells are not alike, or noise is not geometric."""
        law = view.noise.law
        if not isinstance(view, HistogramLikelihood) or not isinstance(law, GeometricLaw):
            return None
        moved = view.classes.amount[view.classes.possible] != 0
        kinds, place, counts = np.unique(
            question.weights[:, moved], axis=1, return_inverse=True, return_counts=True
        )
        if len(counts) > MOST_KINDS or law.level.eps * most > LARGEST_LOG:
            return None
        kind = np.full(len(moved), -1)
        kind[moved] = place.ravel()
        still = question.weights[:, ~moved].sum(axis=1)
        return AlikeCells(law.level.eps, kinds, counts.astype(np.int64), kind, still)

    def breaches(
        self, question: BreachQuestion, most: int, generator: np.random.Generator
    ) -> tuple[IntArray, int]:
        """[at or by, n]: in how many samples there was a breach, and of how many."""
        samples = int(np.clip(MOST_DRAWS / (len(self.counts) * most**2), FEWEST, SAMPLES))
        shares = question.shares / question.shares.sum()
        own = self.kind[generator.choice(len(shares), size=samples, p=shares)]
        present = own >= 0
        cells = np.zeros((samples, len(self.counts), most + 1), dtype=np.int64)
        cells[:, :, 0] = self.counts
        # The record's own cell is followed apart.
        cells[present, own[present], 0] -= 1
        mine = np.zeros(samples)
        met, hits = np.zeros(samples, dtype=bool), np.zeros((2, most), dtype=np.int64)
        alpha = math.exp(-self.eps)
        for n in range(1, most + 1):
            moving = generator.binomial(cells[:, :, :n], alpha / (1 + alpha))
            cells[:, :, :n] -= moving
            cells[:, :, 1 : n + 1] += moving
            mine += generator.random(samples) < 1 / (1 + alpha)
            breach = question.is_breach(*self._beliefs(cells[:, :, : n + 1], own, mine, n))
            met |= breach
            hits[:, n - 1] = breach.sum(), met.sum()
            advance("releases simulated", n, most)
        return hits, samples

    def _beliefs(
        self, cells: IntArray, own: IndexArray, mine: FloatArray, n: int
    ) -> tuple[FloatArray, FloatArray]:
        """Unnormalised belief in the predicate and in anything, for each sample."""
        ratios = np.exp(self.eps * (2 * np.arange(n + 1.0) - n))
        sums = self.weights @ (cells @ ratios).T + self.still[:, None]
        alone = np.where(own >= 0, self.weights[:, own] * np.exp(self.eps * (2 * mine - n)), 0.0)
        inside, possible = sums + alone
        return inside, possible
