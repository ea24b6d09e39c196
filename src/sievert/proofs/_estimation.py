"""Proofs about estimates: that no distribution fits reports much better, that no transport is cheaper.

Both are checked in fractions. With c_i = Σ_j (n_j/N)·G_ij/(pG)_j, concavity gives for every distribution
p' that (L(p') - L(p))/N ≤ ln max c ≤ max c - 1. For transport, a plan bounds the distance from above and a
1-Lipschitz function from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.arrays import AnyArray
from sievert.numerics import at_most, eps_in_words
from sievert.proofs._base import ROUNDING, Proof, exact_rows, measured, rows_from, texts_of
from sievert.proofs._reading import entries, fraction, fractions, listed, whole

__all__ = ["LikelihoodProof", "TransportProof"]


def _vector(values: Sequence[Any]) -> list[Fraction]:
    return [Fraction(value) for value in values]


def _distribution(name: str, values: Sequence[Fraction]) -> None:
    if any(value < 0 for value in values) or sum(values) != 1:
        raise ValueError(f"{name} is not a distribution")


@dataclass(frozen=True, eq=False)
class LikelihoodProof(Proof):
    """No distribution has a log-likelihood of the reports that is larger by more than `bound` nats a report.

    Attributes
    ----------
    rows : the channels of all groups of users side by side, every output
    outputs : number of outputs of each group
    counts : reports of each output, in the same order
    distribution : the estimate, as fractions that sum to 1
    """

    kind: ClassVar[str] = "likelihood"
    found: ClassVar[tuple[str, ...]] = ("distribution", "bound")
    grounds: ClassVar[str] = "the log-likelihood is concave, so its slopes bound every other distribution"
    rows: AnyArray
    outputs: tuple[int, ...]
    counts: tuple[Fraction, ...]
    distribution: tuple[Fraction, ...]
    reports: Fraction
    bound: Fraction

    def data(self) -> dict[str, Any]:
        """The certificate as plain data."""
        return {
            "rows": texts_of(self.rows),
            "outputs": list(self.outputs),
            "counts": [str(value) for value in self.counts],
            "distribution": [str(value) for value in self.distribution],
            "reports": str(self.reports),
            "bound": str(self.bound),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> LikelihoodProof:
        """The certificate back from plain data."""
        return cls(
            rows_from(data["rows"]),
            tuple(whole(value, 1) for value in listed(data["outputs"])),
            fractions(data["counts"]),
            fractions(data["distribution"]),
            fraction(data["reports"]),
            fraction(data["bound"]),
        )

    @classmethod
    def of(
        cls, rows: AnyArray, outputs: Sequence[int], counts: Sequence[float], distribution: Sequence[float]
    ) -> LikelihoodProof:
        """The proof with the smallest bound that it can have, rounded up."""
        p = _vector(distribution)
        total = sum(p)
        shares = tuple(value / total for value in p)
        numbers = tuple(_vector(counts))
        largest = _largest_factor(exact_rows(rows), numbers, shares)
        return cls(rows, tuple(outputs), numbers, shares, sum(numbers, Fraction(0)), _above(largest - 1))

    def proved(self) -> str:
        """Check the rows, the distribution and max c ≤ 1 + bound."""
        nats = self._nats()
        return (
            f"no distribution of these {len(self.distribution)} values has a log-likelihood of the "
            f"{eps_in_words(self.reports)} reports that is larger by more than {nats} nats"
        )

    def meaning(self) -> str:
        nats = self._nats()
        return (
            f"among all distributions of the {len(self.distribution)} values, none explains the "
            f"{eps_in_words(self.reports)} reports better than this one by more than a factor of e^{nats}."
        )

    def _nats(self) -> str:
        # Rows divided by their sums move a log-likelihood by at most twice what they miss, either way.
        return at_most((self.bound + 4 * self._check()) * self.reports)

    def _check(self) -> Fraction:
        """The most that a row of a channel misses 1 by; ValueError where the certificate does not hold."""
        rows, missed = exact_rows(self.rows), Fraction(0)
        _distribution("the estimate", self.distribution)
        if rows.shape != (len(self.distribution), len(self.counts)) or sum(self.outputs) != len(self.counts):
            raise ValueError("rows, counts and distribution do not fit together")
        if any(value < 0 for value in rows.ravel()) or any(value < 0 for value in self.counts):
            raise ValueError("a row or a count is negative")
        if self.reports != sum(self.counts) or self.reports <= 0:
            raise ValueError("the counts do not sum to the number of reports")
        start = 0
        for size in self.outputs:
            for row in rows[:, start : start + size].tolist():
                missed = max(missed, abs(sum(row) - 1))
                if missed > ROUNDING:
                    raise ValueError("a row of a channel does not sum to 1")
            start += size
        if _largest_factor(rows, self.counts, self.distribution) > 1 + self.bound:
            raise ValueError("a factor c exceeds 1 + bound")
        return missed


def _largest_factor(rows: AnyArray, counts: Sequence[Fraction], p: Sequence[Fraction]) -> Fraction:
    """max_i Σ_j (n_j/N)·G_ij/(pG)_j over the observed outputs."""
    total = sum(counts)
    used = [i for i, value in enumerate(p) if value]
    factors = [Fraction(0)] * len(rows)
    for j, count in enumerate(counts):
        if count:
            column = rows[:, j].tolist()
            weight = count / (total * sum(p[i] * column[i] for i in used))
            # Rounded up to 200 bits: a bound stays a bound, and the numbers stay short.
            factors = [_short(factor + weight * entry) for factor, entry in zip(factors, column, strict=True)]
    return max(factors)


def _short(value: Fraction, bits: int = 200) -> Fraction:
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)


def _above(value: Fraction) -> Fraction:
    """A short number just above."""
    return max(Fraction(0), _short(value * (1 + Fraction(1, 10**6)), 160))


@dataclass(frozen=True, eq=False)
class TransportProof(Proof):
    """The Kantorovich distance of p and q lies between `lower` and `upper`.

    `moves` is a part of a plan: no more leaves a point than p has there, no more arrives than q has; the
    mass that is left over travels at most the largest distance.
    """

    kind: ClassVar[str] = "transport"
    found: ClassVar[tuple[str, ...]] = ("moves", "potentials", "lower", "upper")
    grounds: ClassVar[str] = "Kantorovich duality: a plan from above, potentials from below"
    distances: AnyArray
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    moves: tuple[tuple[int, int, Fraction], ...]
    potentials: tuple[Fraction, ...]
    lower: Fraction
    upper: Fraction

    def data(self) -> dict[str, Any]:
        """The certificate as plain data."""
        return {
            "distances": texts_of(self.distances),
            "p": [str(value) for value in self.p],
            "q": [str(value) for value in self.q],
            "moves": [[i, j, str(mass)] for i, j, mass in self.moves],
            "potentials": [str(value) for value in self.potentials],
            "lower": str(self.lower),
            "upper": str(self.upper),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> TransportProof:
        """The certificate back from plain data."""
        return cls(
            rows_from(data["distances"]),
            fractions(data["p"]),
            fractions(data["q"]),
            tuple((whole(i), whole(j), fraction(mass)) for i, j, mass in entries(data["moves"], 3)),
            fractions(data["potentials"]),
            fraction(data["lower"]),
            fraction(data["upper"]),
        )

    @classmethod
    def of(
        cls,
        distances: AnyArray,
        p: Sequence[float],
        q: Sequence[float],
        moves: Sequence[tuple[int, int, float]],
        potentials: Sequence[float],
    ) -> TransportProof:
        """From float answers: the plan is shrunk and the potentials flattened until they fit exactly."""
        table = exact_rows(distances)
        first, second = (tuple(value / sum(side) for value in side) for side in (_vector(p), _vector(q)))
        masses = [(i, j, Fraction(mass)) for i, j, mass in moves if mass > 0]
        leaving, arriving = [Fraction(0)] * len(first), [Fraction(0)] * len(first)
        for i, j, mass in masses:
            leaving[i] += mass
            arriving[j] += mass
        shrink = min(
            [Fraction(1)]
            + [first[i] / mass for i, mass in enumerate(leaving) if mass]
            + [second[j] / mass for j, mass in enumerate(arriving) if mass]
        )
        heights = _vector(potentials)
        size = len(heights)
        steepest = max(
            [Fraction(1)]
            + [
                (heights[i] - heights[j]) / table[i, j]
                for i in range(size)
                for j in range(size)
                if table[i, j] > 0 and heights[i] != heights[j]
            ]
        )
        flat = tuple(value / steepest for value in heights)
        plan = tuple((i, j, mass * shrink) for i, j, mass in masses)
        left = 1 - sum((mass for _, _, mass in plan), Fraction(0))
        upper = sum((mass * table[i, j] for i, j, mass in plan), Fraction(0)) + left * max(table.ravel())
        lower = sum((f * (a - b) for f, a, b in zip(flat, first, second, strict=True)), Fraction(0))
        return cls(distances, first, second, plan, flat, lower, upper)

    def proved(self) -> str:
        """Check the plan, the potentials and both bounds."""
        self._check()
        return (
            f"the Kantorovich distance is {eps_in_words(self.lower)}, to within "
            f"{at_most(self.upper - self.lower, 2)}"
        )

    def meaning(self) -> str:
        return (
            "to make one distribution from the other, probability has to travel "
            f"{measured(self.lower, down=True)} on average at least, and {measured(self.upper, down=False)} "
            "is enough."
        )

    def _check(self) -> None:
        table = exact_rows(self.distances)
        size = len(self.p)
        _distribution("p", self.p)
        _distribution("q", self.q)
        if table.shape != (size, size) or len(self.q) != size or len(self.potentials) != size:
            raise ValueError("distances, distributions and potentials do not fit together")
        entries = table.tolist()
        for i in range(size):
            if entries[i][i] != 0 or any(
                entries[i][j] != entries[j][i] or entries[i][j] < 0 for j in range(i)
            ):
                raise ValueError("the distances are not symmetric with a zero diagonal")
            if any(abs(self.potentials[i] - self.potentials[j]) > entries[i][j] for j in range(i)):
                raise ValueError("the potentials are steeper than the distance")
        left, wanted = list(self.p), list(self.q)
        cost = Fraction(0)
        for i, j, mass in self.moves:
            left[i] -= mass
            wanted[j] -= mass
            cost += mass * entries[i][j]
            if mass < 0 or left[i] < 0 or wanted[j] < 0:
                raise ValueError("the plan moves more than there is")
        if self.upper < cost + sum(left) * max(max(row) for row in entries):
            raise ValueError("the plan costs more than the upper bound")
        if self.lower > sum(f * (a - b) for f, a, b in zip(self.potentials, self.p, self.q, strict=True)):
            raise ValueError("the potentials do not reach the lower bound")
