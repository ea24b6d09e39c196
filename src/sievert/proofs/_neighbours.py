"""Which columns of a mechanism privacy allows, and the most that an allowed column makes of a functional.

Inputs are neighbours in one of four forms, and each has its own check: entry by entry without ε; the least
and the largest entry where all inputs are equally far apart; from the leaves to the root where neighbours are
the edges of a forest; else by multipliers of the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sievert.arrays import ObjectArray
from sievert.numerics import decimal, eps_in_words, exp_above, exp_below
from sievert.proofs._reading import entries, fraction, fractions, whole

__all__ = ["Neighbours", "binary_digits", "forest_excess", "polar_excess", "shown"]

# Sums that are rounded upwards keep so many binary digits of the least probability.
BITS = 100
# Powers of alpha have at most so many binary digits.
MOST_BITS = 10**6
LARGEST_FOREST = 10**7
# Fractions of up to so many characters are written out.
SHORT = 12


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Which inputs are how far apart: nobody may tell the two ends of an edge apart by more than
    e^(ε·length).

    Attributes
    ----------
    form : "free" (no promise), "uniform" (all inputs one length apart), "forest" (edges without a circle) or
        "graph"
    size : number of inputs
    pairs, lengths : the edges; of "uniform" the one length
    eps, alpha : ε, or e^-ε where that is known exactly
    """

    form: str
    size: int
    pairs: tuple[tuple[int, int], ...] = ()
    lengths: tuple[Fraction, ...] = ()
    eps: Fraction | None = None
    alpha: Fraction | None = None

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "form": self.form,
            "size": self.size,
            "pairs": [list(pair) for pair in self.pairs],
            "lengths": [str(length) for length in self.lengths],
            "eps": None if self.eps is None else str(self.eps),
            "alpha": None if self.alpha is None else str(self.alpha),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Neighbours:
        """Back from plain data."""
        pairs = tuple((whole(a, 0), whole(b, 0)) for a, b in entries(data["pairs"], 2))
        eps, alpha = (None if data[key] is None else fraction(data[key]) for key in ("eps", "alpha"))
        return cls(
            str(data["form"]), whole(data["size"], 1), pairs, tuple(fractions(data["lengths"])), eps, alpha
        )

    def check(self) -> None:
        """ValueError unless the edges are what the form says."""
        if self.form not in ("free", "uniform", "forest", "graph"):
            raise ValueError(f"the form {self.form!r} is unknown")
        if self.form == "free":
            return
        if (self.eps is None) == (self.alpha is None):
            raise ValueError("give exactly one of eps and alpha")
        if (self.eps is not None and self.eps < 0) or (self.alpha is not None and not 0 <= self.alpha <= 1):
            raise ValueError("ε must be ≥ 0")
        count = 1 if self.form == "uniform" else len(self.pairs)
        if len(self.lengths) != count or any(length < 0 for length in self.lengths):
            raise ValueError("every edge needs a length ≥ 0")
        if self.alpha is not None and any(length.denominator != 1 for length in self.lengths):
            raise ValueError("with alpha, lengths must be whole")
        if self.alpha is not None:
            digits = max(self.alpha.numerator.bit_length(), self.alpha.denominator.bit_length())
            if digits * max(self.lengths, default=0) > MOST_BITS:
                raise ValueError("a length is too large for powers of alpha to be written out")
        if any(not (0 <= a < self.size and 0 <= b < self.size and a != b) for a, b in self.pairs):
            raise ValueError("an edge names an input that does not exist")
        if self.form == "forest" and self.size > LARGEST_FOREST:
            raise ValueError(f"a forest has at most {LARGEST_FOREST:,} inputs")
        if self.form == "forest" and len(self.order) != len(self.pairs):
            raise ValueError("the edges have a circle")

    def shrinks(self, length: Fraction) -> tuple[Fraction, Fraction]:
        """Numbers between which e^(-ε·length) lies."""
        if length not in self._known:
            self._known[length] = self._enclosed(length)
        return self._known[length]

    @cached_property
    def _known(self) -> dict[Fraction, tuple[Fraction, Fraction]]:
        return {}

    def _enclosed(self, length: Fraction) -> tuple[Fraction, Fraction]:
        if self.alpha is not None:
            exact = self.alpha ** int(length)
            return exact, exact
        assert self.eps is not None
        exponent = -self.eps * length
        return exp_below(exponent), exp_above(exponent)

    def words(self) -> str:
        """Which mechanisms are compared."""
        inputs = f"{self.size} input" + ("s" if self.size != 1 else "")
        if self.form == "free":
            return f"any mechanism on {inputs}"
        level = f"ε = {eps_in_words(self.eps)}" if self.eps is not None else f"e^-ε = {self.alpha}"
        if self.form == "uniform":
            return f"any mechanism on {inputs}, each {self.lengths[0]} from every other, with {level}"
        lengths = sorted(set(self.lengths))
        apart = (
            f"{shown(lengths[0])}" if len(lengths) == 1 else f"{shown(lengths[0])} to {shown(lengths[-1])}"
        )
        if self.pairs == tuple((i, i + 1) for i in range(self.size - 1)):
            return f"any mechanism on {inputs} in a line, neighbours {apart} apart, with {level}"
        return f"any mechanism on {inputs}, {len(self.pairs)} pairs of which are {apart} apart, with {level}"

    @cached_property
    def order(self) -> list[tuple[int, int, int]]:
        """(child, parent, edge) with every child before its parent; shorter than the edges with a circle."""
        around: dict[int, list[tuple[int, int]]] = {}
        for edge, (a, b) in enumerate(self.pairs):
            around.setdefault(a, []).append((b, edge))
            around.setdefault(b, []).append((a, edge))
        found: list[tuple[int, int, int]] = []
        seen: set[int] = set()
        # From the middle edge, so that nothing is far from a root.
        middle = [self.pairs[len(self.pairs) // 2][0]] if self.pairs else []
        for root in [*middle, *around]:
            if root in seen:
                continue
            seen.add(root)
            queue = [root]
            for node in queue:
                for other, edge in around[node]:
                    if other not in seen:
                        seen.add(other)
                        queue.append(other)
                        found.append((other, node, edge))
        return found[::-1]

    @property
    def roots(self) -> list[int]:
        """The inputs that are no child of another."""
        children = {child for child, _, _ in self.order}
        return [i for i in range(self.size) if i not in children]

    def require_private(self, table: ObjectArray) -> None:
        """ValueError unless every column of a mechanism is allowed, exactly."""
        if self.form == "free":
            return
        if self.form == "uniform":
            above = self.shrinks(self.lengths[0])[1]
            for column in table.T.tolist():
                if min(column) < above * max(column):
                    raise ValueError("the mechanism is not private: a column's ends are too far apart")
            return
        for (a, b), length in zip(self.pairs, self.lengths, strict=True):
            above = self.shrinks(length)[1]
            first, second = table[a].tolist(), table[b].tolist()
            for x, y in zip(first, second, strict=True):
                if x < above * y or y < above * x:
                    raise ValueError(f"the mechanism is not private between inputs {a} and {b}")


def polar_excess(
    space: Neighbours, functionals: ObjectArray, multipliers: Sequence[Any] = (), digits: int = BITS
) -> list[Fraction]:
    """For each functional [output, input]: a number that is ≤ 0 only where no private column makes it
    positive.

    Where e^-ε is known exactly nothing is rounded; else sums along a forest are rounded upwards to so many
    binary digits after the point.
    """
    if space.form == "free":
        return [max(row) for row in functionals.tolist()]
    if space.form == "uniform":
        low = space.shrinks(space.lengths[0])[0]
        return [_spread_over(row, low) for row in functionals.tolist()]
    if space.form == "graph":
        return _by_multipliers(space, functionals, multipliers)
    if space.alpha is None:
        scaled = [[-((-v.numerator << digits) // v.denominator) for v in row] for row in functionals.tolist()]
        return [Fraction(most, 1 << digits) for most in forest_excess(space, scaled)]
    held = functionals.copy()
    unbounded = [Fraction(0)] * len(held)
    for child, parent, edge in space.order:
        low = space.shrinks(space.lengths[edge])[0]
        values = held[:, child].tolist()
        if not low:
            unbounded = [max(pair) for pair in zip(unbounded, values, strict=True)]
        # A child's entry is as large as allowed where it helps, and as small where it does not.
        carried = [v / low if v > 0 and low else v * low for v in values]
        held[:, parent] = [v + more for v, more in zip(held[:, parent].tolist(), carried, strict=True)]
    found = [max(row) for row in held[:, space.roots].tolist()]
    return [far or near for far, near in zip(unbounded, found, strict=True)]


def binary_digits(prior: ObjectArray) -> int:
    """How many binary digits after the point keep BITS of every probability above 0."""
    return BITS + max(int(1 / v).bit_length() for v in prior.tolist() if v > 0)


def forest_excess(space: Neighbours, functionals: list[list[int]]) -> list[int]:
    """`polar_excess` of a forest in whole numbers of one unit, every sum rounded upwards."""
    columns = [list(column) for column in zip(*functionals, strict=True)]
    unbounded = [0] * len(functionals)
    for child, parent, edge in space.order:
        low = space.shrinks(space.lengths[edge])[0]
        top, bottom = low.numerator, low.denominator
        values = columns[child]
        if not top:
            unbounded = [max(pair) for pair in zip(unbounded, values, strict=True)]
            continue
        # A child's entry is as large as allowed where it helps, and as small where it does not.
        columns[parent] = [
            held - (-v * bottom // top if v > 0 else -v * top // bottom)
            for held, v in zip(columns[parent], values, strict=True)
        ]
    found = [max(row) for row in zip(*(columns[root] for root in space.roots), strict=True)]
    return [far or near for far, near in zip(unbounded, found, strict=True)]


def _spread_over(row: list[Fraction], low: Fraction) -> Fraction:
    """The most that entries from 1 to 1/low make of a functional; what is positive without a bound counts."""
    above = sum((max(v, Fraction(0)) for v in row), Fraction(0))
    if not low:
        return above or sum(row, Fraction(0))
    return sum(row, Fraction(0)) + (1 / low - 1) * above


def _by_multipliers(
    space: Neighbours, functionals: ObjectArray, multipliers: Sequence[Any]
) -> list[Fraction]:
    """c_a ≥ e^(-ε·length)·c_b on every edge: adding multiples of what is ≥ 0 only raises a functional."""
    rest = functionals.copy()
    shrunk = [space.shrinks(length)[0] for length in space.lengths]
    for edge, turned, output, value in multipliers:
        if value < 0 or not (0 <= edge < len(space.pairs) and 0 <= output < len(rest)):
            raise ValueError("a multiplier is negative, or names an edge or an output that does not exist")
        a, b = space.pairs[edge][::-1] if turned else space.pairs[edge]
        rest[output, a] += value
        rest[output, b] -= value * shrunk[edge]
    return [max(row) for row in rest.tolist()]


def shown(value: Fraction) -> str:
    """A probability as it is where that is short, else rounded up."""
    return str(value) if len(str(value)) <= SHORT else decimal(value, 9, down=False)
