"""Proofs that a mechanism is best whatever the prior, or that it is not.

Yes by cells: the loss of a mechanism is linear in the prior on cells, and the least loss of all private
mechanisms is concave, so it is enough that they agree at the corners of the cells. At each corner prices λ of
the inputs prove it: they sum to the mechanism's loss, and π·ℓ_w - λ is never negative on a private column.
Corners and extreme private columns are computed anew here, from the mechanism, the loss and the constraints.

Yes by theorem: what the theorem asks of mechanism, metric and loss is checked. No: a prior and a private
mechanism that loses less for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import ObjectArray
from sievert.numerics import extreme_rays, require_size
from sievert.proofs._base import (
    Proof,
    proof_from_dict,
    require_channels,
    require_prior,
    rows_from,
    texts_of,
)
from sievert.proofs._reading import fraction, whole
from sievert.proofs._space import ProofSpace, exact_power

__all__ = [
    "BetterForPriorProof",
    "QuotientProof",
    "UniversalByTheoremProof",
    "UniversalProof",
    "best_loss",
    "cell_priors",
    "is_exponential_kernel",
    "is_peaked",
    "is_single_crossing",
    "is_trivial",
    "line_order",
]

# Unknowns of the cone whose corners are the cells'.
LARGEST_CELLS = 400


def best_loss(prior: ObjectArray, channel: ObjectArray, loss: ObjectArray) -> Fraction:
    """Σ_y min_w Σ_x π_x·C[x,y]·ℓ[w,x]: the loss with the best action for each output."""
    scores = loss.dot(prior[:, None] * channel)
    return sum((min(column) for column in scores.T.tolist()), Fraction(0))


def cell_priors(channel: ObjectArray, loss: ObjectArray) -> list[tuple[Fraction, ...]]:
    """The corners of the cells of priors on which `best_loss` is linear.

    They are the corners of {(π, z) : z_y ≤ Σ_x π_x·C[x,y]·ℓ[w,x] for all y, w}: with slacks, the extreme rays
    of a cone in the orthant.
    """
    n, outputs = channel.shape
    actions = len(loss)
    require_size(n + outputs * actions, LARGEST_CELLS, "the cells of priors", "take fewer inputs or actions")
    rows = []
    for y in range(outputs):
        for w in range(1, actions):
            row = np.full(n + outputs * actions, Fraction(0), dtype=object)
            row[:n] = channel[:, y] * (loss[w] - loss[0])
            row[n + y * actions] += 1
            row[n + y * actions + w] -= 1
            rows.append(_whole(row))
    if not rows:
        return [tuple(Fraction(int(x == k)) for x in range(n)) for k in range(n)]
    found = []
    for ray in extreme_rays(np.array(rows, dtype=object)):
        total = sum(ray[:n])
        if total:
            found.append(tuple(Fraction(value, total) for value in ray[:n]))
    return sorted(set(found))


def _whole(row: ObjectArray) -> list[int]:
    """A row of fractions times their common denominator."""
    scale = lcm(*(Fraction(value).denominator for value in row))
    return [int(value * scale) for value in row]


@dataclass(frozen=True, eq=False)
class _Setting(Proof):
    """What all proofs of this kind are about: the constraints, the mechanism [input, output] and the loss."""

    space: ProofSpace
    alpha: Fraction
    channel: ObjectArray
    loss: ObjectArray

    def setting(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "space": self.space.to_data(),
            "alpha": str(self.alpha),
            "channel": texts_of(self.channel),
            "loss": texts_of(self.loss),
        }

    @staticmethod
    def setting_from(data: dict[str, Any]) -> tuple[ProofSpace, Fraction, ObjectArray, ObjectArray]:
        """Back from plain data."""
        return (
            ProofSpace.from_data(data["space"]),
            fraction(data["alpha"]),
            rows_from(data["channel"]),
            rows_from(data["loss"]),
        )

    def check_setting(self) -> None:
        """ValueError unless the mechanism is a private channel and the loss fits it."""
        if not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be from 0 to 1")
        if self.loss.ndim != 2 or self.loss.shape[1] != self.space.size:
            raise ValueError("the loss and the space do not fit each other")
        self.require_private("the mechanism", self.channel)

    def require_private(self, name: str, table: ObjectArray) -> None:
        """ValueError unless a table is a channel on the space's points that is private along every edge."""
        if len(table) != self.space.size:
            raise ValueError(f"{name} and the space do not fit each other")
        require_channels((name, table), rounding=Fraction(0))
        for (a, b), length in zip(self.space.pairs.tolist(), self.space.lengths.tolist(), strict=True):
            factor = exact_power(self.alpha, length)
            for x, z in ((a, b), (b, a)):
                if (table[x] < factor * table[z]).any():
                    raise ValueError(f"{name} is not private between points {x} and {z}")

    def extreme_columns(self) -> ObjectArray:
        """Extreme rays of the private columns, from the slacks c_x - α^length·c_z ≥ 0 of all arcs."""
        n = self.space.size
        rows = []
        for x in range(n):
            row = np.full(n, Fraction(0), dtype=object)
            row[x] = Fraction(1)
            rows.append(row)
        for (a, b), length in zip(self.space.pairs.tolist(), self.space.lengths.tolist(), strict=True):
            factor = exact_power(self.alpha, length)
            for x, z in ((a, b), (b, a)):
                row = np.full(n, Fraction(0), dtype=object)
                row[x], row[z] = row[x] + 1, row[z] - factor
                rows.append(row)
        # Variables: the column's entries, then one slack for each arc, tied to them by an equation.
        equations = []
        for k, row in enumerate(rows[n:]):
            tied = np.full(len(rows), Fraction(0), dtype=object)
            tied[:n] = row
            tied[n + k] = Fraction(-1)
            equations.append(_whole(tied))
        if not equations:
            return np.array([[int(x == k) for x in range(n)] for k in range(n)], dtype=object)
        return np.asarray(extreme_rays(np.array(equations, dtype=object))[:, :n])


@dataclass(frozen=True, eq=False)
class UniversalProof(_Setting):
    """A mechanism that is best, up to a gap, whatever the prior: corners of its cells, with prices."""

    kind: ClassVar[str] = "universal optimality"
    priors: ObjectArray
    prices: ObjectArray
    gap: Fraction = Fraction(0)

    def data(self) -> dict[str, Any]:
        return {
            **self.setting(),
            "priors": texts_of(self.priors),
            "prices": texts_of(self.prices),
            "gap": str(self.gap),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> UniversalProof:
        priors, prices = rows_from(data["priors"]), rows_from(data["prices"])
        return cls(*cls.setting_from(data), priors, prices, fraction(data["gap"]))

    def proved(self) -> str:
        self.check_setting()
        if self.priors.shape != self.prices.shape:
            raise ValueError("every prior needs one price for each input")
        columns = self.extreme_columns()
        for prior, price in zip(self.priors, self.prices, strict=True):
            require_prior(prior, self.space.size)
            if best_loss(prior, self.channel, self.loss) - sum(price) > self.gap:
                raise ValueError("the prices of a prior are too low for the gap")
            for row in self.loss:
                if (columns.dot(prior * row - price) < 0).any():
                    raise ValueError("prices exceed what a private column costs")
        listed = {tuple(prior.tolist()) for prior in self.priors}
        missing = [prior for prior in cell_priors(self.channel, self.loss) if prior not in listed]
        if missing:
            raise ValueError("a corner of a cell of priors is missing")
        more = "loses least" if self.gap == 0 else f"loses at most {self.gap} more than the best"
        return (
            f"the mechanism on {self.space.size} inputs {more} among all private mechanisms with "
            f"e^-ε = {self.alpha}, whatever the prior: it does at the {len(listed)} corners of its cells"
        )


@dataclass(frozen=True, eq=False)
class BetterForPriorProof(_Setting):
    """A prior for which another private mechanism loses less."""

    kind: ClassVar[str] = "better for a prior"
    prior: ObjectArray
    better: ObjectArray
    gap: Fraction

    def data(self) -> dict[str, Any]:
        return {
            **self.setting(),
            "prior": [str(value) for value in self.prior],
            "better": texts_of(self.better),
            "gap": str(self.gap),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> BetterForPriorProof:
        prior = rows_from([data["prior"]])[0]
        return cls(*cls.setting_from(data), prior, rows_from(data["better"]), fraction(data["gap"]))

    def proved(self) -> str:
        self.check_setting()
        require_prior(self.prior, self.space.size)
        self.require_private("the better mechanism", self.better)
        own = best_loss(self.prior, self.channel, self.loss)
        other = best_loss(self.prior, self.better, self.loss)
        if self.gap <= 0 or own - other != self.gap:
            raise ValueError(
                f"the mechanism loses {own} and the other {other}, which is no gap of {self.gap}"
            )
        return (
            f"for one prior on the {self.space.size} inputs a private mechanism with e^-ε = {self.alpha} "
            f"loses {other}, {self.gap} less than the given one"
        )


@dataclass(frozen=True, eq=False)
class QuotientProof(_Setting):
    """A mechanism, metric and loss that do not tell inputs of one block apart, and a proof about one of each.

    Averaging the rows of any private mechanism over a block, weighted by the prior, keeps it private between
    blocks, so what is best on representatives is best on all inputs (our notes, 4.10).
    """

    kind: ClassVar[str] = "universal optimality of blocks"
    blocks: tuple[tuple[int, ...], ...]
    inner: Proof

    def data(self) -> dict[str, Any]:
        blocks = [list(block) for block in self.blocks]
        return {**self.setting(), "blocks": blocks, "inner": self.inner.to_dict()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> QuotientProof:
        blocks = tuple(tuple(whole(x) for x in block) for block in data["blocks"])
        return cls(*cls.setting_from(data), blocks, proof_from_dict(data["inner"]))

    def proved(self) -> str:
        self.check_setting()
        if sorted(x for block in self.blocks for x in block) != list(range(self.space.size)):
            raise ValueError("the blocks are no partition of the inputs")
        for block in self.blocks:
            self._check_block(list(block))
        inner, first = self.inner, [block[0] for block in self.blocks]
        if not isinstance(inner, UniversalProof | UniversalByTheoremProof) or inner.alpha != self.alpha:
            raise ValueError("the proof about representatives is of another kind")
        for name, given, own in (
            ("loss", inner.loss, self.loss[:, first]),
            ("mechanism", inner.channel, self.channel[first]),
            ("metric", inner.space.distances, self.space.distances[np.ix_(first, first)]),
        ):
            if given.shape != own.shape or (given != own).any():
                raise ValueError(f"the proof about representatives has another {name}")
        return f"inputs fall into {len(first)} blocks that nothing tells apart inside, and {inner.proved()}"

    def _check_block(self, block: list[int]) -> None:
        if any((self.channel[x] != self.channel[block[0]]).any() for x in block):
            raise ValueError("the mechanism tells inputs of one block apart")
        if any(not _alike(self.loss[:, block[0]], self.loss[:, x]) for x in block):
            raise ValueError("the loss tells inputs of one block apart")
        others = [x for x in range(self.space.size) if x not in block]
        away = self.space.distances[np.ix_(block, others)]
        if (away != away[0]).any():
            raise ValueError("inputs of one block are at different distances from another")


def _alike(first: ObjectArray, second: ObjectArray) -> bool:
    """Whether losses at two inputs differ by a positive factor and a shift only."""
    a, b = first - min(first), second - min(second)
    if not a.any() or not b.any():
        return not a.any() and not b.any()
    return not (a * max(b) != b * max(a)).any()


@dataclass(frozen=True, eq=False)
class UniversalByTheoremProof(_Setting):
    """A mechanism to which a theorem applies; `witness` is what the theorem asks to be shown."""

    kind: ClassVar[str] = "universal optimality by theorem"
    theorem: str
    witness: tuple[int, ...]

    def data(self) -> dict[str, Any]:
        return {**self.setting(), "theorem": self.theorem, "witness": list(self.witness)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> UniversalByTheoremProof:
        witness = tuple(whole(item) for item in data["witness"])
        return cls(*cls.setting_from(data), str(data["theorem"]), witness)

    def proved(self) -> str:
        self.check_setting()
        if self.theorem not in RULES:
            raise ValueError(f"unknown theorem {self.theorem!r}")
        words, rule = RULES[self.theorem]
        if not rule(self):
            raise ValueError(f"what the theorem asks for does not hold: {words}")
        return (
            f"the mechanism on {self.space.size} inputs loses least among all private mechanisms with "
            f"e^-ε = {self.alpha}, whatever the prior: {words}"
        )


def is_trivial(loss: ObjectArray, action: int) -> bool:
    """Whether an action is best whatever the input (Fernandes, Lem 6.19)."""
    return 0 <= action < len(loss) and bool((loss[action] <= loss).all())


def line_order(space: ProofSpace) -> list[int] | None:
    """The points of a path, from one end to the other; None where the space is no path."""
    if not space.is_forest or len(space.pairs) != space.size - 1:
        return None
    near: list[list[int]] = [[] for _ in range(space.size)]
    for a, b in space.pairs.tolist():
        near[a].append(b)
        near[b].append(a)
    ends = [v for v in range(space.size) if len(near[v]) <= 1]
    if any(len(points) > 2 for points in near) or not ends:
        return None
    order = [ends[0]]
    while len(order) < space.size:
        following = [v for v in near[order[-1]] if v not in order[-2:]]
        if not following:
            return None
        order.append(following[0])
    return order


def is_single_crossing(loss: ObjectArray, points: list[int], actions: tuple[int, ...]) -> bool:
    """Whether of any two listed actions the later is first worse, then better; others are dominated."""
    table = loss[:, points]
    if len(set(actions)) != len(actions) or any(not 0 <= w < len(loss) for w in actions):
        return False
    kept = list(actions)
    for w in range(len(loss)):
        if w not in kept and not any((table[v] <= table[w]).all() for v in kept):
            return False
    for i, v in enumerate(kept):
        for w in kept[i + 1 :]:
            difference = (table[w] - table[v]).tolist()
            fallen = False
            for value in difference:
                if fallen and value > 0:
                    return False
                fallen = fallen or value < 0
    return True


def is_peaked(loss: ObjectArray) -> bool:
    """Whether every action is better than the worst one at one input at most: Bayes risk with weights."""
    gains = loss.max(axis=0)[None, :] - loss
    return bool(((gains > 0).sum(axis=1) <= 1).all())


def is_exponential_kernel(space: ProofSpace, alpha: Fraction, channel: ObjectArray) -> bool:
    """Whether every column is proportional to α^d(·,y) for some point y."""
    distances = space.distances
    if not np.isfinite(distances).all() or (distances != np.floor(distances)).any():
        return False
    powers = np.array([[exact_power(alpha, float(d)) for d in row] for row in distances], dtype=object)
    for column in channel.T:
        if not column.any():
            continue
        y = int(np.argmax(column == max(column)))
        if (column != column[y] * powers[y]).any():
            return False
    return True


def _crossing(proof: UniversalByTheoremProof) -> bool:
    order = line_order(proof.space)
    return (
        order is not None
        and is_exponential_kernel(proof.space, proof.alpha, proof.channel)
        and is_single_crossing(proof.loss, order, proof.witness)
    )


def _tree(proof: UniversalByTheoremProof) -> bool:
    connected = proof.space.is_forest and len(proof.space.pairs) == proof.space.size - 1
    return (
        connected and is_peaked(proof.loss) and is_exponential_kernel(proof.space, proof.alpha, proof.channel)
    )


def _pair(proof: UniversalByTheoremProof) -> bool:
    """Actions differ on two inputs only, and on them every output is as telling as allowed (Lem 6.20)."""
    if len(proof.witness) != 2 or len(set(proof.witness)) != 2:
        return False
    if any(not 0 <= x < proof.space.size for x in proof.witness):
        return False
    a, b = proof.witness
    rest = [x for x in range(proof.space.size) if x not in (a, b)]
    if any((proof.loss[:, x] != proof.loss[0, x]).any() for x in rest):
        return False
    length = float(proof.space.distances[a, b])
    if length != int(length):
        return False
    factor = exact_power(proof.alpha, length)
    first, second = proof.channel[a], proof.channel[b]
    return bool(((first == factor * second) | (second == factor * first)).all())


RULES: dict[str, tuple[str, Callable[[UniversalByTheoremProof], bool]]] = {
    "trivial": (
        "one action is best whatever the input (Fernandes, Lem 6.19)",
        lambda proof: len(proof.witness) == 1 and is_trivial(proof.loss, proof.witness[0]),
    ),
    "single crossing": (
        "the geometric mechanism on a line, for a single-crossing loss (Theorem SC)",
        _crossing,
    ),
    "tree": ("the exponential kernel on a tree, for Bayes risk (Theorem TREE-BAYES)", _tree),
    "pair": (
        "the loss is about two inputs, told apart as far as allowed by every output (Fernandes, Lem 6.20)",
        _pair,
    ),
}
