"""Theorems by which a mechanism is best whatever the prior: what each asks for is checked.

A loss that is trivial, single crossing on a line, Bayes risk on a tree, about one pair; and inputs that fall
into blocks which nothing tells apart inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import ObjectArray
from sievert.proofs._base import Proof, proof_from_dict
from sievert.proofs._reading import entries, listed, whole
from sievert.proofs._space import ProofSpace, exact_power
from sievert.proofs._universal import UniversalProof, UniversalProofBase

__all__ = [
    "QuotientProof",
    "UniversalByTheoremProof",
    "is_exponential_kernel",
    "is_peaked",
    "is_single_crossing",
    "is_trivial",
    "line_order",
]


@dataclass(frozen=True, eq=False)
class QuotientProof(UniversalProofBase):
    """A mechanism, metric and loss that do not tell inputs of one block apart, and a proof about one of each.

    Averaging the rows of any private mechanism over a block, weighted by prior and loss, keeps it private
    between blocks, so what is best on representatives, the first of each, is best on all inputs (our notes,
    4.10).
    """

    kind: ClassVar[str] = "universal optimality of blocks"
    found: ClassVar[tuple[str, ...]] = ("channel", "blocks", "inner")
    grounds: ClassVar[str] = "averaging rows over inputs that nothing tells apart keeps a mechanism private"
    blocks: tuple[tuple[int, ...], ...]
    inner: Proof

    def data(self) -> dict[str, Any]:
        blocks = [list(block) for block in self.blocks]
        return {**self.setting(), "blocks": blocks, "inner": self.inner.to_dict()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> QuotientProof:
        blocks = tuple(tuple(whole(x) for x in block) for block in entries(data["blocks"]))
        return cls(*cls.setting_from(data), blocks, proof_from_dict(data["inner"]))

    def proved(self) -> str:
        self.check_setting()
        listed = sorted(x for block in self.blocks for x in block)
        if listed != list(range(self.space.size)) or not all(self.blocks):
            raise ValueError("the blocks are no partition of the inputs")
        for block in self.blocks:
            self._check_block(list(block))
        inner, first = self.inner, [block[0] for block in self.blocks]
        if not isinstance(inner, UniversalProof | UniversalByTheoremProof) or inner.alpha != self.alpha:
            raise ValueError("the proof about representatives is of another kind")
        # Losses of one block may differ by a factor, which would multiply a gap.
        if isinstance(inner, UniversalProof) and inner.gap != 0:
            raise ValueError("the proof about representatives leaves a gap")
        for name, given, own in (
            ("loss", inner.loss, self.loss[:, first]),
            ("mechanism", _merged(inner.channel), _merged(self.channel[first])),
            ("metric", inner.space.distances, self.space.distances[np.ix_(first, first)]),
        ):
            if given.shape != own.shape or (given != own).any():
                raise ValueError(f"the proof about representatives has another {name}")
        return (
            f"the mechanism on {self.space.size} inputs loses least among all private mechanisms with "
            f"e^-ε = {self.alpha}, whatever the prior: inputs fall into {len(first)} blocks that nothing "
            f"tells apart inside, and for one input of each {inner.proved()}"
        )

    def meaning(self) -> str:
        return "whatever the users' data look like, no mechanism that is as private serves them better."

    def _check_block(self, block: list[int]) -> None:
        if any((self.channel[x] != self.channel[block[0]]).any() for x in block):
            raise ValueError("the mechanism tells inputs of one block apart")
        if any(not _alike(self.loss[:, block[0]], self.loss[:, x]) for x in block):
            raise ValueError("the loss tells inputs of one block apart")
        others = [x for x in range(self.space.size) if x not in block]
        away = self.space.distances[np.ix_(block, others)]
        if (away != away[0]).any():
            raise ValueError("inputs of one block are at different distances from another")


def _merged(table: ObjectArray) -> ObjectArray:
    """A channel up to what no loss notices: proportional outputs are one, empty ones none, in one order."""
    columns: dict[tuple[Fraction, ...], Fraction] = {}
    for column in table.T.tolist():
        total = sum(column, Fraction(0))
        if total:
            key = tuple(value / total for value in column)
            columns[key] = columns.get(key, Fraction(0)) + total
    return np.array([[*key, columns[key]] for key in sorted(columns)], dtype=object)


def _alike(first: ObjectArray, second: ObjectArray) -> bool:
    """Whether losses at a second input are those at a first up to a factor ≥ 0 and a shift."""
    a, b = first - min(first), second - min(second)
    return not b.any() or (bool(a.any()) and not (a * max(b) != b * max(a)).any())


@dataclass(frozen=True, eq=False)
class UniversalByTheoremProof(UniversalProofBase):
    """A mechanism to which a theorem applies; `witness` is what the theorem asks to be shown."""

    kind: ClassVar[str] = "universal optimality by theorem"
    found: ClassVar[tuple[str, ...]] = ("channel", "theorem", "witness")
    grounds: ClassVar[str] = "the theorem that the statement names"
    theorem: str
    witness: tuple[int, ...]

    def data(self) -> dict[str, Any]:
        return {**self.setting(), "theorem": self.theorem, "witness": list(self.witness)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> UniversalByTheoremProof:
        witness = tuple(whole(item) for item in listed(data["witness"]))
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

    def meaning(self) -> str:
        return "whatever the users' data look like, no mechanism that is as private serves them better."


def is_trivial(loss: ObjectArray, action: int) -> bool:
    """Whether an action is best whatever the input (Fernandes, Lem 6.19)."""
    return 0 <= action < len(loss) and bool((loss[action] <= loss).all())


def line_order(space: ProofSpace) -> list[int] | None:
    """The points of a path, from one end to the other; None where the space is no path."""
    if not space.is_forest:
        return None
    near: list[list[int]] = [[] for _ in range(space.size)]
    for a, b in space.pairs.tolist():
        near[a].append(b)
        near[b].append(a)
    ends = [v for v in range(space.size) if len(near[v]) <= 1]
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
    # The kernel asks for finite distances, so that a forest is one tree.
    return (
        proof.space.is_forest
        and is_peaked(proof.loss)
        and is_exponential_kernel(proof.space, proof.alpha, proof.channel)
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
    if np.isfinite(length) and length != int(length):
        return False
    factor = exact_power(proof.alpha, length) if np.isfinite(length) else Fraction(0)
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
