"""Proofs about deterministic programs: one partition coarsens another, or two secrets show it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sievert.proofs.base import Proof
from sievert.proofs.reading import whole

__all__ = ["BlockSizesProof", "PartitionProof", "sizes_forbid"]


@dataclass(frozen=True)
class PartitionProof(Proof):
    """The output of every input under both programs; with `pair`, two inputs that only B tells apart."""

    kind: ClassVar[str] = "partitions"
    less_safe: tuple[int, ...]
    safer: tuple[int, ...]
    pair: tuple[int, int] | None = None

    def data(self) -> dict[str, Any]:
        pair = None if self.pair is None else list(self.pair)
        return {"less_safe": list(self.less_safe), "safer": list(self.safer), "pair": pair}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PartitionProof:
        a, b = (tuple(whole(v) for v in data[name]) for name in ("less_safe", "safer"))
        pair = data["pair"]
        return cls(a, b, None if pair is None else _pair(pair))

    def proved(self) -> str:
        if len(self.less_safe) != len(self.safer):
            raise ValueError("the programs have different numbers of inputs")
        if self.pair is not None:
            i, j = self.pair
            if not (0 <= i < len(self.safer) and 0 <= j < len(self.safer)):
                raise ValueError("the pair is not among the inputs")
            if self.less_safe[i] != self.less_safe[j] or self.safer[i] == self.safer[j]:
                raise ValueError("the pair does not show that B tells apart what A does not")
            return f"B tells inputs {i} and {j} apart and A does not"
        image: dict[int, int] = {}
        for mine, theirs in zip(self.less_safe, self.safer, strict=True):
            if image.setdefault(mine, theirs) != theirs:
                raise ValueError(f"output {mine} of A goes to two outputs of B")
        return "the output of B is a function of the output of A: nobody gains more from B"


def _pair(values: Any) -> tuple[int, int]:
    first, second = (whole(value) for value in values)
    return first, second


def sizes_forbid(less_safe: Mapping[int, int], safer: Mapping[int, int]) -> str | None:
    """Why blocks of these sizes {size: how many} never make B a coarsening of A; None if they may."""
    if sum(less_safe.values()) < sum(safer.values()):
        return "B has more outputs than A"
    if max(less_safe) > max(safer):
        return "A has a block larger than every block of B"
    if min(less_safe) > min(safer):
        return "B has a block smaller than every block of A"
    return None


@dataclass(frozen=True)
class BlockSizesProof(Proof):
    """B is no coarsening of A however the blocks lie: their sizes forbid it."""

    kind: ClassVar[str] = "block sizes"
    less_safe: tuple[tuple[int, int], ...]
    safer: tuple[tuple[int, int], ...]

    def data(self) -> dict[str, Any]:
        return {"less_safe": [list(p) for p in self.less_safe], "safer": [list(p) for p in self.safer]}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> BlockSizesProof:
        a, b = (tuple((whole(s, 1), whole(c, 1)) for s, c in data[name]) for name in ("less_safe", "safer"))
        return cls(a, b)

    def proved(self) -> str:
        totals = {sum(size * count for size, count in sizes) for sizes in (self.less_safe, self.safer)}
        if len(totals) > 1:
            raise ValueError("the blocks do not hold the same number of inputs")
        for sizes in (self.less_safe, self.safer):
            if not sizes or any(min(pair) < 1 for pair in sizes):
                raise ValueError("there must be blocks, each size and each number of them ≥ 1")
            if len(dict(sizes)) < len(sizes):
                raise ValueError("a size of blocks is listed twice")
        reason = sizes_forbid(dict(self.less_safe), dict(self.safer))
        if reason is None:
            raise ValueError("the sizes forbid nothing")
        return reason
