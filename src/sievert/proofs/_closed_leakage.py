"""Proof of the worst leakage of very many values whose capacity is a closed form, from that form alone.

q = e^(-ε). Any two values at one distance d: n/(1 + (n-1)·q^d). A line: 1 + Σ tanh(ε·gap/2). A star of k
values around one: min(e^ε, 1 + k·tanh(ε/2)). In a row of n values of which those up to θ places apart are
neighbours, the noise c·q^⌈|z|/θ⌉ with c = (1-q)/(1-q+2θq), clamped, reaches c·(n + 2θq/(1-q)); weights c
everywhere with c·(θ/(1-q) - 1) more at either end are a packing, as are the middle alone and blocks of θ+1
neighbours. All of these are packings, so that both ends multiply over records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.numerics import eps_in_words, exp_above, exp_below
from sievert.proofs._base import Proof
from sievert.proofs._reading import fraction, listed, whole
from sievert.proofs._worst import shown_value

__all__ = ["ClosedLeakageProof"]

# Values of a row, and different gaps of a line, that a check may have to do with.
LARGEST_SIZE = 10**15
MOST_GAPS = 100_000
FINE = 2**240
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class ClosedLeakageProof(Proof):
    """Bounds on the most that any ε-private channel can leak about values in a regular order.

    Attributes
    ----------
    form : "complete", "line", "star" or "row"
    size : how many values
    length : of "complete", the distance of any two
    gaps : of "line", how often each distance between two values next to each other occurs
    reach : of "row", how many places apart neighbours are at most
    copies : the databases are this many independent records
    """

    kind: ClassVar[str] = "worst leakage in closed form"
    grounds: ClassVar[str] = (
        "a packing above and a mechanism below, both in closed form (Alvim et al., Thm 15 and Prop 16 for "
        "complete graphs; Edwards et al., Thm 1 over records)"
    )
    eps: Fraction
    form: str
    size: int
    length: Fraction | None = None
    gaps: tuple[tuple[Fraction, int], ...] | None = None
    reach: int | None = None
    copies: int = 1

    @classmethod
    def of_gaps(cls, eps: Fraction, gaps: list[Fraction]) -> ClosedLeakageProof | None:
        """The proof for a line; None where it has too many different gaps."""
        counted = tuple(sorted(Counter(gaps).items()))
        if len(counted) > MOST_GAPS:
            return None
        return cls(eps, "line", len(gaps) + 1, gaps=counted)

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "form": self.form,
            "size": self.size,
            "length": None if self.length is None else str(self.length),
            "gaps": None if self.gaps is None else [[str(gap), times] for gap, times in self.gaps],
            "reach": self.reach,
            "copies": self.copies,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ClosedLeakageProof:
        gaps = None
        if data["gaps"] is not None:
            pairs = [listed(pair) for pair in listed(data["gaps"])]
            gaps = tuple((fraction(gap), whole(times, 1)) for gap, times in pairs)
        return cls(
            fraction(data["eps"]),
            str(data["form"]),
            whole(data["size"], 1),
            None if data["length"] is None else fraction(data["length"]),
            gaps,
            None if data["reach"] is None else whole(data["reach"], 1),
            whole(data.get("copies", 1), 1),
        )

    def bounds(self) -> Ends:
        """Proved lower and upper bound for one record; ValueError where the parts do not fit."""
        if self.eps < 0 or not 1 <= self.size <= LARGEST_SIZE or self.copies < 1:
            raise ValueError(f"eps must be ≥ 0, size from 1 to {LARGEST_SIZE} and copies ≥ 1")
        if self.form not in FORMS:
            raise ValueError(f"the form {self.form!r} is unknown")
        wanted, ends = FORMS[self.form]
        given = {"length": self.length, "gaps": self.gaps, "reach": self.reach}
        if {name for name, value in given.items() if value is not None} != wanted:
            raise ValueError(f"the form {self.form!r} needs {' and '.join(wanted) or 'its size'} alone")
        return ends(self)

    def _complete(self) -> Ends:
        assert self.length is not None
        if self.length < 0:
            raise ValueError("a length must be ≥ 0")
        low, high = _decay(self.eps * self.length)
        return self.size / (1 + (self.size - 1) * high), self.size / (1 + (self.size - 1) * low)

    def _line(self) -> Ends:
        assert self.gaps is not None
        if len(self.gaps) > MOST_GAPS or any(gap < 0 or times < 1 for gap, times in self.gaps):
            raise ValueError(f"a line has at most {MOST_GAPS} different gaps ≥ 0, each once or more")
        if sum(times for _, times in self.gaps) != self.size - 1:
            raise ValueError("a line has one gap less than values")
        low = high = 0
        for gap, times in self.gaps:
            least, most = _half_tanh(self.eps * gap)
            low += times * math.floor(least * FINE)
            high += times * math.ceil(most * FINE)
        return 1 + Fraction(low, FINE), 1 + Fraction(high, FINE)

    def _star(self) -> Ends:
        least, most = _half_tanh(self.eps)
        low, high = 1 + (self.size - 1) * least, 1 + (self.size - 1) * most
        if self.eps >= self.size.bit_length():  # e^ε is above the number of values
            return low, high
        return min(low, exp_below(self.eps)), min(high, exp_above(self.eps))

    def _row(self) -> Ends:
        assert self.reach is not None
        if self.eps == 0:
            raise ValueError("eps must be above 0 in a row")
        low, high = _decay(self.eps)
        n, near = self.size, self.reach
        if n - 1 <= near:
            return n / (1 + (n - 1) * high), n / (1 + (n - 1) * low)
        # Clamped noise: c·(n + 2θq/(1-q)) = (n·(1-q) + 2θq)/(1-q+2θq), which falls as q grows.
        reached = (n * (1 - high) + 2 * near * high) / (1 - high + 2 * near * high)
        spread = (n * (1 - low) + 2 * (near - 1 + low)) / (1 - low + 2 * near * low)
        blocks, left = divmod(n, near + 1)
        cliques = Fraction(blocks * (near + 1)) / (1 + near * low)
        cliques += Fraction(left) / (1 + (left - 1) * low) if left else 0
        bounds = [Fraction(n), spread, cliques]
        hops = -(-(n // 2) // near)
        if self.eps * hops < n.bit_length():
            bounds.append(exp_above(self.eps * hops))
        return max(Fraction(1), reached), min(bounds)

    def proved(self) -> str:
        lower, upper = self.bounds()
        each = "" if self.copies == 1 else f" to the power of {self.copies} (records)"
        return (
            f"on {self._words()} with ε = {eps_in_words(self.eps)}, the sum of column maxima of every "
            f"private channel is at most {shown_value(upper, down=False)}{each}, and some channel reaches at "
            f"least {shown_value(lower, down=True)}{each}"
        )

    def meaning(self) -> str:
        each = (
            "" if self.copies == 1 else f" about one record, and that to the power of {self.copies} about all"
        )
        return (
            "whatever is released with this ε, seeing it makes a best guess at most "
            f"{shown_value(self.bounds()[1], down=False)} times as likely to be right as before{each}."
        )

    def _words(self) -> str:
        return {
            "complete": f"{self.size} values, any two at distance {self.length}",
            "line": f"{self.size} values on a line",
            "star": f"{self.size - 1} values beside a missing one",
            "row": f"{self.size} values in a row, those up to {self.reach} places apart neighbours",
        }[self.form]


# What goes with each form, and its ends.
FORMS: dict[str, tuple[set[str], Callable[[ClosedLeakageProof], Ends]]] = {
    "complete": ({"length"}, ClosedLeakageProof._complete),
    "line": ({"gaps"}, ClosedLeakageProof._line),
    "star": (set(), ClosedLeakageProof._star),
    "row": ({"reach"}, ClosedLeakageProof._row),
}


def _decay(exponent: Fraction) -> Ends:
    """Rationals around e^-x, x ≥ 0."""
    return exp_below(-exponent), min(Fraction(1), exp_above(-exponent))


def _half_tanh(x: Fraction) -> Ends:
    """Rationals around tanh(x/2) = (1-q)/(1+q), q = e^-x."""
    low, high = _decay(x)
    return (1 - high) / (1 + high), (1 - low) / (1 + low)
