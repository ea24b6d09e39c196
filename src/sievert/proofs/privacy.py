"""Proofs about the privacy order: no pair of secrets is told apart better, or one that is.

The ratios are compared as fractions, so that no logarithm has to be rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.proofs.base import Proof
from sievert.proofs.matrices import ROUNDING, exact_rows, normalised, require_channels, rows_from, texts_of
from sievert.proofs.reading import flag, whole

__all__ = ["PrivacyOrderProof", "PrivacyProof", "checked_pair", "likelihood_ratio", "privacy_violation"]

ObjectArray = NDArray[np.object_]
AnyArray = NDArray[Any]  # of floats or of fractions


def likelihood_ratio(first: Iterable[Any], second: Iterable[Any]) -> Fraction | None:
    """max_y max(p/q, q/p) of two rows; None is infinite, 0/0 counts nothing."""
    best = Fraction(1)
    for p, q in zip(first, second, strict=True):
        low, high = (p, q) if p < q else (q, p)
        if high > 0:
            if low == 0:
                return None
            best = max(best, high / low)
    return best


@dataclass(frozen=True, eq=False)
class PrivacyProof(Proof):
    """No pair of secrets is told apart better by B: d_A ≥ d_B. The channels are all the proof needs."""

    kind: ClassVar[str] = "privacy order holds"
    less_safe: AnyArray
    safer: AnyArray
    exact: bool = True

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "exact": self.exact,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PrivacyProof:
        return cls(rows_from(data["less_safe"]), rows_from(data["safer"]), flag(data["exact"]))

    def proved(self) -> str:
        rounding = Fraction(0) if self.exact else ROUNDING
        a, b = checked_pair(self.less_safe, self.safer, rounding)
        worse = privacy_violation(a, b, rounding)
        if worse is not None:
            raise ValueError(f"B tells secrets {worse[0]} and {worse[1]} apart better than A")
        digits = "" if self.exact else f", to a relative {float(ROUNDING):.0g} of the odds"
        return f"B tells no pair of secrets apart better than A{digits}: no metric prefers A"


def checked_pair(less_safe: AnyArray, safer: AnyArray, rounding: Fraction) -> tuple[ObjectArray, ObjectArray]:
    """Both channels in fractions, checked; float rows are divided by their sums."""
    a, b = exact_rows(less_safe), exact_rows(safer)
    require_channels(("A", a), ("B", b), rounding=rounding)
    return (normalised(a), normalised(b)) if rounding else (a, b)


def privacy_violation(
    less_safe: ObjectArray,
    safer: ObjectArray,
    rounding: Fraction = Fraction(0),
    pairs: Iterable[tuple[int, int]] | None = None,
) -> tuple[int, int] | None:
    """A pair (of those given, or of all) with d_B > d_A by more than a relative `rounding`, or None."""
    for j, i in combinations(range(len(less_safe)), 2) if pairs is None else pairs:
        mine = likelihood_ratio(less_safe[i].tolist(), less_safe[j].tolist())
        if mine is None:
            continue
        theirs = likelihood_ratio(safer[i].tolist(), safer[j].tolist())
        if theirs is None or theirs > mine * (1 + rounding):
            return i, j
    return None


@dataclass(frozen=True, eq=False)
class PrivacyOrderProof(Proof):
    """A pair of secrets that B tells apart better than A: B is not private for A's own metric."""

    kind: ClassVar[str] = "privacy order"
    less_safe: AnyArray
    safer: AnyArray
    pair: tuple[int, int]
    output: int
    exact: bool = True

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "pair": list(self.pair),
            "output": self.output,
            "exact": self.exact,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PrivacyOrderProof:
        i, j = (whole(v) for v in data["pair"])
        a, b = rows_from(data["less_safe"]), rows_from(data["safer"])
        return cls(a, b, (i, j), whole(data["output"]), flag(data["exact"]))

    def proved(self) -> str:
        i, j = self.pair
        a, b = checked_pair(self.less_safe, self.safer, Fraction(0) if self.exact else ROUNDING)
        if not (min(i, j) >= 0 and max(i, j) < len(b) and 0 <= self.output < b.shape[1]):
            raise ValueError("the pair or the output does not exist")
        top, bottom = b[i, self.output], b[j, self.output]
        if top <= bottom:
            raise ValueError("the output is not likelier for the first secret of the pair")
        # B's ratio must exceed every ratio of A, in both directions.
        mine = likelihood_ratio(a[i].tolist(), a[j].tolist())
        if mine is None or mine * bottom >= top:
            raise ValueError("A tells the pair apart at least as well")
        ratio = "infinitely" if bottom == 0 else f"{float(top / bottom):.6g} times"
        return f"B makes secret {i} {ratio} likelier against secret {j} at output {self.output}, A never"
