"""Proof of the worst leakage of a space: an upper bound for every private channel, and a channel below it.

The quantity is the largest value of Σ A[x,w]·K[x,w] over ε-private channels K (rows are distributions);
with A the identity it is the capacity Σ_j max_i K[i,j] of the space. `sievert.proofs._bounds` holds the
certificates; *parts* joins one for each class of isomorphic components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.numerics import decimal, eps_in_words, log2_bounds
from sievert.proofs._base import Proof
from sievert.proofs._bounds import (
    block_spaces,
    blocks_lower,
    blocks_upper,
    channel_diagonal,
    channel_value,
    cover_bound,
    dual_bound,
    kernel_value,
    levels_value,
    packing_bound,
    tree_lower,
    tree_upper,
)
from sievert.proofs._orbits import (
    columns_above,
    columns_below,
    orbits_above,
    orbits_below,
    transitive_value,
)
from sievert.proofs._reading import floats, fraction, indices, listed, number, whole
from sievert.proofs._space import LARGEST_TABLE, ProofSpace

__all__ = [
    "WorstLeakageProof",
    "is_packing",
    "lower_value",
    "shown_value",
    "upper_value",
]
Certificate = dict[str, Any]
LARGEST_PRINTED = 10**9


@dataclass(frozen=True, eq=False)
class WorstLeakageProof(Proof):
    """Certified bounds on the most that any ε-private channel on a space can leak.

    Attributes
    ----------
    space, eps : what the channels must respect
    weights : objective weights of the points (all 1: capacity; a prior: vulnerability); or a matrix `gain`
    upper, lower : certificates as plain dictionaries; long lists may be arrays
    copies : the databases are this many independent records, each a point of the space
    """

    kind: ClassVar[str] = "worst leakage"
    found: ClassVar[tuple[str, ...]] = ("upper", "lower")
    grounds: ClassVar[str] = (
        "weak duality of linear programming above (Edwards et al., Thm 1 over records), an "
        "explicit channel below"
    )
    space: ProofSpace
    eps: Fraction
    upper: Certificate
    lower: Certificate | None
    weights: FloatArray | None = None
    gain: FloatArray | None = None
    copies: int = 1
    labels: Sequence[Any] = field(default=())

    def __post_init__(self) -> None:
        if self.eps < 0 or self.copies < 1:
            raise ValueError("eps must be ≥ 0 and copies ≥ 1")
        for name, table, dimensions in (("weights", self.weights, 1), ("gain", self.gain, 2)):
            if table is None:
                continue
            if table.ndim != dimensions or len(table) != self.space.size or not np.isfinite(table).all():
                raise ValueError(f"{name} must have one finite entry (or row) for each point")

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "eps": str(self.eps),
            "weights": None if self.weights is None else self.weights.tolist(),
            "gain": None if self.gain is None else self.gain.tolist(),
            "copies": self.copies,
            "upper": _listed_out(self.upper),
            "lower": _listed_out(self.lower),
            "labels": [str(label) for label in self.labels],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> WorstLeakageProof:
        return cls(
            ProofSpace.from_data(data["space"]),
            fraction(data["eps"]),
            data["upper"],
            data["lower"],
            None if data.get("weights") is None else floats(data["weights"]),
            None if data.get("gain") is None else floats(data["gain"]),
            whole(data.get("copies", 1), 1),
            tuple(listed(data.get("labels", []))),
        )

    @property
    def is_capacity(self) -> bool:
        """Whether the quantity is the capacity (no weights, no gain)."""
        return self.gain is None and self.weights is None

    def objective(self) -> FloatArray:
        """A[x, w]: what a unit of probability for output w at input x is worth."""
        if self.gain is not None:
            return self.gain
        if self.space.size > LARGEST_TABLE:
            raise ValueError(f"{self.space.size} points are too many for a table of gains")
        return np.diag(np.ones(self.space.size) if self.weights is None else self.weights)

    def bounds(self) -> tuple[Fraction | None, Fraction]:
        """Proved lower and upper bound for one record; ValueError when a certificate does not hold."""
        if self.copies > 1 and not (self.is_capacity and is_packing(self.upper)):
            # Edwards et al., Thm 1 with 1.5 of our notes: P multiplies; a smaller capacity need not.
            raise ValueError("over several records only a packing certificate bounds the capacity")
        upper = upper_value(self)
        lower = None if self.lower is None else lower_value(self, self.lower)
        if lower is not None and lower > upper:
            raise ValueError("the lower bound exceeds the upper bound, so one of the certificates is wrong")
        return lower, upper

    def proved(self) -> str:
        lower, upper = self.bounds()
        each = "" if self.copies == 1 else f" to the power of {self.copies} (records)"
        what = "the sum of column maxima" if self.is_capacity else "the expected gain"
        where = "a metric known to a relative 2^-48 on " if self.space.metric else "on "
        reached = ""
        if lower is not None:
            reached = f", and some channel reaches at least {shown_value(lower, down=True)}{each}"
        setting = f"{where}{self.space.size} points with ε = {eps_in_words(self.eps)}"
        most = f"{shown_value(upper, down=False)}{each}"
        return f"{setting}, {what} of every private channel is at most {most}{reached}"

    def meaning(self) -> str:
        if not self.is_capacity:
            return (
                "whatever is released with this ε, nobody who is paid by these weights expects more than "
                f"{shown_value(upper_value(self), down=False)}; of a prior, that is the probability of a "
                "right guess."
            )
        each = (
            "" if self.copies == 1 else f" about one record, and that to the power of {self.copies} about all"
        )
        return (
            "whatever is released with this ε, seeing it makes a best guess at most "
            f"{shown_value(upper_value(self), down=False)} times as likely to be right as before{each}."
        )


def _listed_out(found: Any) -> Any:
    """A certificate with its arrays as lists."""
    if isinstance(found, dict):
        return {key: _listed_out(value) for key, value in found.items()}
    if isinstance(found, list) and found and isinstance(found[0], dict):
        return [_listed_out(part) for part in found]
    return found.tolist() if isinstance(found, np.ndarray) else found


def shown_value(value: Fraction, down: bool) -> str:
    """Twelve decimals rounded in the safe direction, or a power of two where those would fill a screen."""
    if value < LARGEST_PRINTED:
        return decimal(value, 12, down)
    low, high = log2_bounds(value, value)
    return f"2^{low if down else high!r}"


def is_packing(certificate: Certificate) -> bool:
    """Whether an upper certificate is a packing vector."""
    if certificate["type"] == "parts":
        return all(is_packing(part) for part in certificate["parts"])
    return certificate["type"] in PACKINGS


def upper_value(proof: WorstLeakageProof) -> Fraction:
    """The upper bound that the certificate proves."""
    kind = proof.upper["type"]
    if kind not in UPPER:
        raise ValueError(f"unknown upper certificate {kind!r}")
    _require_capacity(proof, kind)
    return UPPER[kind](proof, proof.upper)


def lower_value(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    """The value that the private channel of a lower certificate really has."""
    kind = certificate["type"]
    if kind not in LOWER:
        raise ValueError(f"unknown lower certificate {kind!r}")
    _require_capacity(proof, kind)
    return LOWER[kind](proof, certificate)


def _require_capacity(proof: WorstLeakageProof, kind: str) -> None:
    if kind not in ANY_GAIN and not proof.is_capacity:
        raise ValueError(f"a {kind} certificate bounds the capacity only")


def _parts_above(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    return sum((count * upper_value(part) for count, part in _parts(proof, certificate)), Fraction(0))


def _parts_below(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    parts = zip(_parts(proof, certificate), certificate["parts"], strict=True)
    return sum((count * lower_value(one, part) for (count, one), part in parts), Fraction(0))


def _packing_above(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    if proof.gain is not None:
        raise ValueError("a packing certificate bounds weights of points, not a general gain")
    weights = np.broadcast_to(1.0, proof.space.size) if proof.weights is None else proof.weights
    return packing_bound(proof.space, proof.eps, weights, floats(certificate["y"]))


def _cover_above(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    return cover_bound(proof.space, proof.eps, certificate["centres"], number(certificate["radius"]))


def _block_bounds_above(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    """With no multipliers at the cut vertices, capacity ≤ n + Σ_B (Cap(B) - |B|)."""
    bounds = (
        upper_value(WorstLeakageProof(part, proof.eps, block["upper"], None)) - part.size
        for block, _, part in block_spaces(proof.space, certificate["blocks"])
    )
    return sum(bounds, Fraction(proof.space.size))


def _channel_below(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    objective = None if proof.is_capacity else proof.objective()
    return channel_value(proof.space, proof.eps, objective, certificate)


def _kernel_below(proof: WorstLeakageProof, certificate: Certificate) -> Fraction:
    if proof.gain is not None:
        raise ValueError("a kernel certificate is about weights of points, not a general gain")
    return kernel_value(proof.space, proof.eps, certificate, proof.weights)


def _parts(proof: WorstLeakageProof, certificate: Certificate) -> Iterator[tuple[int, WorstLeakageProof]]:
    """How many components are alike, and the proof for one of them; capacities of components add up.

    `points` lists the points of a part, or a row for each of several parts that are the same when points
    in the same place are matched.
    """
    space = proof.space
    tables = [np.atleast_2d(indices(listed(part["points"]))) for part in listed(certificate["parts"])]
    owner, row, place = (np.full(space.size, -1, dtype=np.intp) for _ in range(3))
    for k, table in enumerate(tables):
        if table.ndim != 2 or not table.size or table.max() >= space.size:
            raise ValueError("a part names a point that does not exist")
        owner[table] = k
        row[table] = np.arange(len(table))[:, None]
        place[table] = np.arange(table.shape[1])
    if (owner == -1).any() or sum(table.size for table in tables) != space.size:
        raise ValueError("the parts do not contain every point exactly once")
    first, second = space.pairs.T
    if (owner[first] != owner[second]).any() or (row[first] != row[second]).any():
        raise ValueError("an edge joins two parts")
    order = np.argsort(owner[first], kind="stable")
    starts = np.searchsorted(owner[first][order], np.arange(len(tables) + 1))
    for k, (table, part) in enumerate(zip(tables, certificate["parts"], strict=True)):
        edges = order[starts[k] : starts[k + 1]]
        _require_alike(len(table), row[first[edges]], place[space.pairs[edges]], space.lengths[edges])
        one = edges[row[first[edges]] == 0]
        yield len(table), WorstLeakageProof(space.part(table[0], one), proof.eps, part, part)


def _require_alike(count: int, row: NDArray[np.intp], ends: NDArray[np.intp], lengths: FloatArray) -> None:
    """Every row of a part must have the same edges with the same lengths."""
    if count == 1:
        return
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((lengths, high, low, row))
    if len(order) % count or (row[order] != np.repeat(np.arange(count), len(order) // count)).any():
        raise ValueError("parts that should be alike have different edges")
    for column in (low, high, lengths):
        table = column[order].reshape(count, -1)
        if (table != table[0]).any():
            raise ValueError("parts that should be alike have different edges")


# ── The certificates by their names ─────────────────────────────────────────────────────────────────────────

Value = Callable[[WorstLeakageProof, Certificate], Fraction]
UPPER: dict[str, Value] = {
    "parts": _parts_above,
    "packing": _packing_above,
    "orbits": lambda proof, found: orbits_above(proof.space, proof.eps, found),
    "columns": lambda proof, found: columns_above(proof.space, proof.eps, found),
    "cover": _cover_above,
    "points": lambda proof, _: Fraction(proof.space.size),
    "dual": lambda proof, found: dual_bound(proof.space, proof.eps, proof.objective(), found),
    "tree": lambda proof, found: tree_upper(proof.space, proof.eps, found),
    "blocks": lambda proof, found: blocks_upper(proof.space, proof.eps, found),
    "block bounds": _block_bounds_above,
    "transitive": lambda proof, found: transitive_value(proof.space, proof.eps, found, down=False),
}
LOWER: dict[str, Value] = {
    "parts": _parts_below,
    "channel": _channel_below,
    "kernel": _kernel_below,
    "orbits": lambda proof, found: orbits_below(proof.space, proof.eps, found),
    "columns": lambda proof, found: columns_below(proof.space, proof.eps, found),
    "levels": lambda proof, found: levels_value(proof.space, proof.eps, found["source"]),
    "tree": lambda proof, found: tree_lower(proof.space, proof.eps, found),
    "blocks": lambda proof, found: blocks_lower(proof.space, proof.eps, found, channel_diagonal),
    "transitive": lambda proof, found: transitive_value(proof.space, proof.eps, found, down=True),
}
# Upper certificates that are packing vectors: only these multiply over records (the capacity may not).
PACKINGS = ("packing", "cover", "points", "transitive", "orbits")
# Certificates for weights or gains of any kind; the others bound the capacity only.
ANY_GAIN = ("packing", "dual", "channel", "kernel")
