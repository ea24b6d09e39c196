"""Public knowledge that adds up: known totals, histograms and marginal counts as linear equations.

Each record contributes a vector that depends on its value, and the sum of all contributions is known.
Partial sums are the states of a dynamic program over the records: it counts the solutions exactly, and
the partial sums from which a solution can still be reached prune the listing, so that no prefix is ever
extended in vain. Nothing of size values^records is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray, IntArray
from sievert.errors import PolicyError, TooLargeError
from sievert.spaces import Rows, smallest_integers

__all__ = ["Equations", "joined"]

# Steps (partial sum, value) the dynamic program may take: a few seconds.
LARGEST_PROGRAM = 20_000_000
# A layer costs some twenty NumPy calls however small it is, as much as this many steps.
LAYER_STEPS = 5_000


@dataclass(frozen=True, eq=False)
class Equations:
    """Σ over records of contributions[kind of the record, value] = targets.

    Attributes
    ----------
    contributions : [kinds, values, equations]; records of one kind contribute alike
    kind_of : [records], the kind of each record
    targets : [equations]
    """

    contributions: IntArray
    kind_of: IndexArray
    targets: IntArray

    @classmethod
    def of_fractions(
        cls,
        contributions: Sequence[Sequence[Sequence[Fraction]]],
        kind_of: IndexArray,
        targets: Sequence[Fraction],
    ) -> Equations:
        """Equations with fractions, multiplied by their common denominator."""
        numbers = [number for kind in contributions for value in kind for number in value]
        scale = math.lcm(*(number.denominator for number in [*numbers, *targets]))
        largest = max((abs(number * scale) for number in [*numbers, *targets]), default=Fraction(0))
        if largest * max(len(kind_of), 1) >= 2**62:
            raise PolicyError(
                f"permitted: the total of {len(kind_of)} numbers as large as {float(largest / scale):g} with "
                f"denominator {scale} does not fit 64 bits; round the values"
            )
        whole = [[[int(number * scale) for number in value] for value in kind] for kind in contributions]
        shape = (len(whole), len(whole[0]), len(targets))
        return cls(
            np.array(whole, dtype=np.int64).reshape(shape),
            kind_of,
            np.array([int(target * scale) for target in targets], dtype=np.int64),
        )

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self.kind_of)

    @property
    def values(self) -> int:
        """Number of values."""
        return int(self.contributions.shape[1])

    def hold(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows satisfy all equations."""
        sums = np.zeros((len(rows), len(self.targets)), dtype=np.int64)
        for record, kind in enumerate(self.kind_of):
            sums += self.contributions[kind][rows[:, record]]
        return np.asarray((sums == self.targets).all(axis=1))

    @cached_property
    def histogram(self) -> tuple[int, ...] | None:
        """How many records have each value, where the equations say that and no more; else None."""
        if len(self.contributions) != 1:
            return None
        table = self.contributions[0]
        one_each = (table.sum(axis=0) == 1).all() and (table.sum(axis=1) <= 1).all() and (table >= 0).all()
        named = table.sum(axis=1) == 1
        if not one_each or (~named).sum() > 1:
            return None
        counts = table @ self.targets
        counts[~named] = self.records - counts.sum()
        if (counts < 0).any() or counts.sum() != self.records:
            return None
        return tuple(int(count) for count in counts)

    @cached_property
    def groups(self) -> tuple[IndexArray, IntArray] | None:
        """The group of each value and how many records have a value of it, where that is all that is known.

        Values that no equation counts are one more group, whose number follows. None where it is not so, or
        the counts contradict each other.
        """
        if len(self.contributions) != 1:
            return None
        table = self.contributions[0]
        if ((table != 0) & (table != 1)).any() or (table.sum(axis=1) > 1).any():
            return None
        rest = self.records - int(self.targets.sum())
        counted = table.any(axis=1)
        if rest < 0 or (self.targets < 0).any() or (rest > 0 and counted.all()):
            return None
        group_of = np.where(counted, table.argmax(axis=1), len(self.targets)).astype(np.intp)
        return group_of, np.append(self.targets, rest)

    @cached_property
    def count(self) -> int:
        """Number of solutions, an exact integer."""
        if self.histogram is not None:
            return _multinomial(self.histogram)
        return self._program[0]

    def rows(self, promising: Callable[[Rows], NDArray[np.bool_]] | None = None) -> Rows:
        """All solutions in order, by extending prefixes that some solution has: O(solutions·records·values).

        `promising` may refuse prefixes: it is given those of each length and says which to keep.
        """
        count, steps = self._program
        prefixes = np.empty((min(count, 1), self.records), dtype=smallest_integers(self.values))
        state = np.zeros(len(prefixes), dtype=np.intp)
        for record, step in enumerate(steps):
            parent, value = np.nonzero(step[state] >= 0)
            prefixes = prefixes[parent]
            prefixes[:, record] = value
            state = step[state[parent], value]
            if promising is not None:
                kept = promising(prefixes[:, : record + 1])
                prefixes, state = prefixes[kept], state[kept]
        return prefixes

    @cached_property
    def _program(self) -> tuple[int, list[IndexArray]]:
        """Number of solutions; and for each record [state, value] the next state, -1 where none is left.

        States are the partial sums over the first records that occur and from which the targets can be
        reached.
        """
        layers = self._reachable()
        if not len(layers[-1]):
            return 0, []
        # Counts may exceed 64 bits only where values^records does.
        exact: Any = np.int64 if self.values**self.records < 2**62 else object
        ways = np.ones(len(layers[-1]), dtype=exact)
        alive = np.ones(len(layers[-1]), dtype=bool)
        steps: list[IndexArray] = []
        for record in range(self.records - 1, -1, -1):
            following = self._next_states(layers[record], record, layers[record + 1])
            renumbered = np.where(alive, np.cumsum(alive) - 1, -1)
            following = np.where(following >= 0, renumbered[following], -1)
            ways = np.where(following >= 0, ways[alive][following], 0).sum(axis=1).astype(exact)
            alive = ways > 0
            steps.append(following[alive])
        return int(ways[0]), steps[::-1]

    def _reachable(self) -> list[IntArray]:
        """Partial sums after each number of records, cut by how far the rest can still go."""
        layers: list[IntArray] = [np.zeros((1, len(self.targets)), dtype=np.int64)]
        # What every layer costs at least is known before; so is a refusal met once.
        spent: int = self.__dict__.get("_refused", self.records * (self.values + LAYER_STEPS))
        for record in range(self.records):
            spent += (len(layers[-1]) - 1) * self.values
            if spent > LARGEST_PROGRAM:
                self.__dict__["_refused"] = spent
                raise TooLargeError(
                    f"permitted: counting the databases of {self.records} records takes more than "
                    f"{LARGEST_PROGRAM} steps; coarsen the values or lower the records",
                    size=math.inf,
                )
            sums, inside, codes = self._sums(layers[-1], record)
            _, first = np.unique(codes, return_index=True)
            layers.append(sums[inside][first])
        return layers

    def _sums(self, layer: IntArray, record: int) -> tuple[IntArray, NDArray[np.bool_], NDArray[Any]]:
        """Partial sums one record on [state and value, equation], which are possible, and codes of those."""
        lowest, highest = (box[record + 1] for box in self._boxes)
        sums = layer[:, None, :] + self.contributions[self.kind_of[record]]
        sums = sums.reshape(len(layer) * self.values, len(self.targets))
        inside = ((sums >= lowest) & (sums <= highest)).all(axis=1)
        return sums, inside, self._codes(sums[inside], record + 1)

    def _codes(self, sums: IntArray, layer: int) -> NDArray[Any]:
        """One integer for each partial sum of a layer."""
        lowest, highest = (box[layer] for box in self._boxes)
        sides = [max(int(side), 1) for side in highest - lowest + 1]
        exact: Any = np.int64 if math.prod(sides) < 2**62 else object
        weights = np.array([math.prod(sides[:k]) for k in range(len(sides))], dtype=exact)
        return np.asarray((sums - lowest).astype(exact) @ weights)

    @cached_property
    def _boxes(self) -> tuple[IntArray, IntArray]:
        """Least and largest partial sum after each number of records that the rest could complete."""
        least = self.contributions.min(axis=1)[self.kind_of]
        most = self.contributions.max(axis=1)[self.kind_of]
        start = np.zeros((1, len(self.targets)), dtype=np.int64)
        so_far = [np.concatenate([start, np.cumsum(part, axis=0)]) for part in (least, most)]
        rest = [part[-1] - part for part in so_far]
        return np.maximum(so_far[0], self.targets - rest[1]), np.minimum(so_far[1], self.targets - rest[0])

    def _next_states(self, layer: IntArray, record: int, following: IntArray) -> IndexArray:
        """[state, value]: position in the next layer of the partial sum, -1 where it is not there."""
        _, inside, codes = self._sums(layer, record)
        result = np.full(len(inside), -1, dtype=np.intp)
        if len(following):
            known = self._codes(following, record + 1)
            place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
            result[inside] = np.where(known[place] == codes, place, -1)
        return result.reshape(len(layer), self.values)


def joined(systems: Sequence[Equations]) -> Equations:
    """All the equations of several systems on the same records and values."""
    kinds, kind_of = np.unique(np.column_stack([s.kind_of for s in systems]), axis=0, return_inverse=True)
    contributions = np.concatenate(
        [system.contributions[kinds[:, k]] for k, system in enumerate(systems)], axis=2
    )
    targets = np.concatenate([system.targets for system in systems])
    return Equations(contributions, kind_of.ravel().astype(np.intp), targets)


def _multinomial(counts: Sequence[int]) -> int:
    ways, rest = 1, sum(counts)
    for count in counts:
        ways *= math.comb(rest, count)
        rest -= count
    return ways
