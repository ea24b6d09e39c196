"""Proof of the worst leakage of a Cartesian product, from proofs of its factors.

In a product one coordinate changes at a time, along an edge of its factor. Let y ≥ 0 be a packing vector of
the factor H. For a private column k on G□H, Σ_h y_h·k(·, h) is private on G and at least max_h k(·, h), so
that Cap(G□H) ≤ Cap(G)·Σy. Channels multiply, so that capacities do from below. Hence all factors but one
must be bounded by packing vectors; the last may be bounded in any way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import IndexArray
from sievert.numerics import eps_in_words
from sievert.proofs._base import Proof
from sievert.proofs._reading import fraction, indices, listed, whole
from sievert.proofs._space import ProofSpace
from sievert.proofs._worst import WorstLeakageProof, is_packing, shown_value

__all__ = ["ProductLeakageProof"]

LARGEST_PRODUCT = 64


@dataclass(frozen=True, eq=False)
class ProductLeakageProof(Proof):
    """Certified bounds on the most that any ε-private channel on a Cartesian product can leak.

    Attributes
    ----------
    factors : a proof of the capacity of each factor, with this ε
    copies : the databases are this many independent records, each a point of the product
    given : a space that is said to be the product, where one was given as a whole
    places : for each of its points the position in each factor
    """

    kind: ClassVar[str] = "worst leakage of a product"
    grounds: ClassVar[str] = (
        "the product rule: packing vectors fold factors of a Cartesian product away, and channels multiply"
    )
    eps: Fraction
    factors: tuple[WorstLeakageProof, ...]
    copies: int = 1
    given: ProofSpace | None = None
    places: IndexArray | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.factors) <= LARGEST_PRODUCT:
            raise ValueError(f"a product has from 1 to {LARGEST_PRODUCT} factors")
        if self.eps < 0 or self.copies < 1:
            raise ValueError("eps must be ≥ 0 and copies ≥ 1")
        if (self.given is None) != (self.places is None):
            raise ValueError("a space that is given needs the places of its points, and these need it")

    def data(self) -> dict[str, Any]:
        parts = [{key: part.data()[key] for key in ("space", "upper", "lower")} for part in self.factors]
        return {
            "eps": str(self.eps),
            "factors": parts,
            "copies": self.copies,
            "given": None if self.given is None else self.given.to_data(),
            "places": None if self.places is None else self.places.tolist(),
        }

    def question(self) -> dict[str, Any]:
        found = self.data()
        if self.given is None:
            return {**found, "factors": [part["space"] for part in found["factors"]]}
        # That the factors make the space that was given is checked.
        return {name: found[name] for name in ("eps", "copies", "given")}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ProductLeakageProof:
        eps = fraction(data["eps"])
        factors = tuple(
            WorstLeakageProof(ProofSpace.from_data(part["space"]), eps, part["upper"], part["lower"])
            for part in listed(data["factors"])
        )
        given, places = data["given"], data["places"]
        return cls(
            eps,
            factors,
            whole(data.get("copies", 1), 1),
            None if given is None else ProofSpace.from_data(given),
            None if places is None else indices(places),
        )

    @cached_property
    def size(self) -> int:
        """How many points the product has."""
        return math.prod(part.space.size for part in self.factors)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Proved lower and upper bound for one record; ValueError when a certificate does not hold."""
        loose = sum(not is_packing(part.upper) for part in self.factors)
        if loose > (1 if self.copies == 1 else 0):
            raise ValueError(
                "all factors but one, and over several records every factor, must have packing certificates"
            )
        if self.given is not None and self.places is not None:
            self._require_product(self.given, self.places)
        lower = upper = Fraction(1)
        for part in self.factors:
            low, high = part.bounds()
            if low is None:
                raise ValueError("every factor needs a lower certificate")
            lower, upper = lower * low, upper * high
        return lower, upper

    def _require_product(self, given: ProofSpace, places: IndexArray) -> None:
        """Different points have different places, and edges are those of one factor at a time."""
        sizes = tuple(part.space.size for part in self.factors)
        if given.metric or any(part.space.metric for part in self.factors):
            raise ValueError("a space that is given has edges, as its factors have, and is no metric")
        if given.size != self.size or places.shape != (given.size, len(sizes)):
            raise ValueError("a product has a point for every choice of places, one in each factor")
        if (places >= np.array(sizes)).any() or len(np.unique(_codes(places, sizes))) != given.size:
            raise ValueError("two points have the same places, or a place does not exist")
        first, second = places[given.pairs[:, 0]], places[given.pairs[:, 1]]
        moved = first != second
        if (moved.sum(axis=1) != 1).any():
            raise ValueError("an edge changes no place, or several")
        for k, part in enumerate(self.factors):
            chosen = moved[:, k]
            ends = np.sort(np.column_stack([first[chosen, k], second[chosen, k]]), axis=1)
            found = _counted(ends, given.lengths[chosen])
            wanted = _counted(np.sort(part.space.pairs, axis=1), part.space.lengths)
            times = given.size // part.space.size
            if {edge: times * count for edge, count in wanted.items()} != found:
                raise ValueError("the edges are not those of the product")
            others = np.delete(places[given.pairs[chosen, 0]], k, axis=1)
            rows = np.column_stack([others, ends])
            if len(np.unique(rows, axis=0)) != len(rows):
                raise ValueError("an edge stands twice")

    def proved(self) -> str:
        lower, upper = self.bounds()
        each = "" if self.copies == 1 else f" to the power of {self.copies} (records)"
        sizes = " × ".join(str(part.space.size) for part in self.factors)
        what = "a product" if self.given is None else "a space that is the product"
        return (
            f"on {what} of {sizes} points with ε = {eps_in_words(self.eps)}, the sum of column maxima of "
            f"every private channel is at most {shown_value(upper, down=False)}{each}, and some channel "
            f"reaches at least {shown_value(lower, down=True)}{each}"
        )

    def meaning(self) -> str:
        each = "" if self.copies == 1 else f", and that to the power of {self.copies} about all records"
        return (
            "whatever is released with this ε, seeing it makes a best guess at most "
            f"{shown_value(self.bounds()[1], down=False)} times as likely to be right as before{each}."
        )


def _codes(places: IndexArray, sizes: tuple[int, ...]) -> IndexArray:
    """One number for the places of each point; their product is the number of points, so that it fits."""
    code = np.zeros(len(places), dtype=np.int64)
    for column, size in zip(places.T, sizes, strict=True):
        code = code * size + column
    return code


def _counted(ends: IndexArray, lengths: np.ndarray[Any, Any]) -> dict[tuple[int, int, float], int]:
    """How often each edge stands with each length."""
    rows, counts = np.unique(np.column_stack([ends, lengths]), axis=0, return_counts=True)
    return {(int(a), int(b), float(d)): int(n) for (a, b, d), n in zip(rows, counts, strict=True)}
