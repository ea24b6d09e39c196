"""Proof that the mechanism a release draws from is private: its law, its level and the policy's neighbours.

A list of rows is looked at entry by entry. Two laws need no list: randomised response, which says the truth
e^ε' times as often as each lie, and noise around a place, where every output has the probability Σ c·e^(-ε'·
|place - point|) with weights c ≥ 0 of its own: geometric or Laplace noise and whatever is made of it, clamped
or cut into pixels. By the triangle inequality two places then differ by e^(ε'·|place - place'|) at most. On a
map the places are the cells, and noise and policy both go by the straight line between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.arrays import AnyArray
from sievert.proofs._base import Proof, exact_rows, growth, require_channels, rows_from, texts_of
from sievert.proofs._neighbours import Neighbours
from sievert.proofs._reading import fraction, fractions, listed, named

__all__ = ["ReleasedProof"]

PRECISION = 256


@dataclass(frozen=True, eq=False)
class ReleasedProof(Proof):
    """What is drawn keeps ε for the neighbours.

    Attributes
    ----------
    space : the neighbours, and ε
    law : "rows", "response", "noise" or "plane"
    rows : the mechanism [input, output], of "rows"
    level : ("eps", ε') or ("alpha", e^-ε'), of all others; of "plane" for the width of a cell
    places : where each input is, of "noise"
    labels : names of the inputs; no part of the claim
    """

    kind: ClassVar[str] = "released mechanism"
    grounds: ClassVar[str] = (
        "ratios of the law that is drawn from, entry by entry or by the triangle inequality (Fernandes, Lem "
        "3.3 for what is made of its outputs)"
    )
    space: Neighbours
    law: str
    rows: AnyArray | None = None
    level: tuple[str, Fraction] | None = None
    places: tuple[Fraction, ...] | None = None
    labels: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "law": self.law,
            "rows": None if self.rows is None else texts_of(self.rows),
            "level": None if self.level is None else {self.level[0]: str(self.level[1])},
            "places": None if self.places is None else [str(place) for place in self.places],
            **({"labels": list(self.labels)} if self.labels else {}),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ReleasedProof:
        level = None
        if data["level"] is not None:
            ((name, value),) = named(data["level"]).items()
            level = str(name), fraction(value)
        return cls(
            Neighbours.from_data(data["space"]),
            str(data["law"]),
            None if data["rows"] is None else rows_from(data["rows"]),
            level,
            None if data["places"] is None else fractions(data["places"]),
            tuple(str(label) for label in listed(data.get("labels", []))),
        )

    def proved(self) -> str:
        self.space.check()
        if self.space.form == "free" or self.space.eps is None:
            raise ValueError("the neighbours must say which ε is kept")
        if self.law not in LAWS:
            raise ValueError(f"the law {self.law!r} is unknown")
        given = {"rows": self.rows, "level": self.level, "places": self.places}
        if {name for name, value in given.items() if value is not None} != LAWS[self.law]:
            raise ValueError(f"the law {self.law!r} needs {' and '.join(sorted(LAWS[self.law]))} alone")
        if self.law == "plane" and self.space.form != "uniform":
            raise ValueError("of a map the one length is the width of a cell")
        if self.rows is not None:
            table = exact_rows(self.rows)
            require_channels(("the mechanism", table), rounding=Fraction(0))
            if len(table) != self.space.size:
                raise ValueError("the mechanism needs one row for each input")
            self.space.require_private(table)
        else:
            self._require_level()
        of = f"cells of a map of {self.space.size}" if self.law == "plane" else "neighbours"
        among = "" if self.law == "plane" else f" among {self.space.size} inputs"
        return (
            f"what is drawn ({self._words()}) keeps ε = {self.space.eps} for every two {of}{among}, times "
            "their distance"
        )

    def meaning(self) -> str:
        assert self.space.eps is not None
        return (
            f"whatever is published is at most {growth(self.space.eps)} times as "
            "likely with one input as with another at a distance of 1."
        )

    def _words(self) -> str:
        if self.rows is not None:
            return f"{self.rows.shape[0]} by {self.rows.shape[1]} fractions"
        assert self.level is not None
        name, value = self.level
        level = f"{'ε' if name == 'eps' else 'e^-ε'} = {value}"
        named = {
            "response": f"randomised response, {level}",
            "noise": f"noise, {level} for a unit",
            "plane": f"noise, {level} for the width of a cell",
        }
        return named[self.law]

    def _require_level(self) -> None:
        """ValueError unless no two neighbours are apart by more than ε·distance under the law."""
        assert self.level is not None and self.space.eps is not None
        name, value = self.level
        if not (name == "eps" and value >= 0) and not (name == "alpha" and 0 < value <= 1):
            raise ValueError("the level is eps ≥ 0, or alpha above 0 and at most 1")
        if self.places is not None and len(self.places) != self.space.size:
            raise ValueError("every input needs a place")
        for apart, length in self._gaps():
            if not _keeps(name, value, apart, self.space.eps * length):
                raise ValueError(
                    f"two neighbours at distance {length} are told apart by more than ε = {self.space.eps}"
                )

    def _gaps(self) -> set[tuple[Fraction, Fraction]]:
        """How far apart neighbours are under the law, and at which distance of the policy."""
        if self.space.size == 1:
            return set()
        if self.space.form == "uniform":
            places = self.places or ()
            apart = max(places) - min(places) if places else Fraction(1)
            return {(apart, self.space.lengths[0])}
        edges = zip(self.space.pairs, self.space.lengths, strict=True)
        if self.places is None:
            return {(Fraction(1), length) for _, length in edges}
        return {(abs(self.places[a] - self.places[b]), length) for (a, b), length in edges}


# What goes with each law.
LAWS = {"rows": {"rows"}, "response": {"level"}, "noise": {"level", "places"}, "plane": {"level"}}


def _keeps(name: str, value: Fraction, apart: Fraction, allowed: Fraction) -> bool:
    """Whether ε'·apart is at most what is allowed."""
    if name == "eps":
        return value * apart <= allowed
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        log, scale, most = (
            flint.arb(flint.fmpq(v.numerator, v.denominator)) for v in (value, apart, allowed)
        )
        return bool(scale * log.log() + most >= 0)
    finally:
        flint.ctx.prec = old
