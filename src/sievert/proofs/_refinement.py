"""Proofs about refinement: a channel R with A·R = B, or an adversary who gains more from B than from A.

All are checked exactly. Floats are dyadic rationals, so a float witness is evaluated in fractions; a float R
proves only that B is within a stated distance of A·R, and the proof says so. Matrices are kept as they were
found and become fractions when a proof is written or checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import AnyArray, ObjectArray
from sievert.numerics import at_most, exact_matmul
from sievert.proofs._base import (
    ROUNDING,
    Proof,
    exact_rows,
    require_channels,
    require_prior,
    require_small,
    rows_from,
    texts_of,
    unevenness,
)
from sievert.proofs._reading import entries, flag, fraction, listed, whole

__all__ = [
    "AdversaryProof",
    "BlockSizesProof",
    "CascadeProof",
    "ClassProof",
    "MixtureProof",
    "PartitionProof",
    "sizes_forbid",
]


@dataclass(frozen=True, eq=False)
class CascadeProof(Proof):
    """B = A·R for a channel R, exactly (tolerance 0) or up to a total-variation distance in every row."""

    kind: ClassVar[str] = "refinement"
    found: ClassVar[tuple[str, ...]] = ("post", "tolerance")
    grounds: ClassVar[str] = "post-processing helps no adversary (Blackwell; Fernandes, Lem 2.2)"
    less_safe: AnyArray
    safer: AnyArray
    post: AnyArray
    tolerance: Fraction = Fraction(0)

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "post": texts_of(self.post),
            "tolerance": str(self.tolerance),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> CascadeProof:
        a, b, post = (rows_from(data[name]) for name in ("less_safe", "safer", "post"))
        return cls(a, b, post, fraction(data["tolerance"]))

    def proved(self) -> str:
        a, b, post = _processed(self)
        distance = max(np.abs(exact_matmul(a, post) - b).sum(axis=1).tolist()) / 2
        if distance > self.tolerance:
            raise ValueError(
                f"B is {float(distance):.3g} away from A·R, more than {float(self.tolerance):.3g}"
            )
        # Rows that miss 1 stand for rows divided by their sums, which moves each matrix by what it misses.
        distance += unevenness(a, b, post)
        if distance == 0:
            return "B is A followed by post-processing, exactly: no adversary gains more from B"
        miss = at_most(distance)
        return (
            f"B is A followed by post-processing, up to {miss} in total variation: "
            f"no adversary with gains in [0, 1] expects over {miss} more from B"
        )

    def meaning(self) -> str:
        rounding = ", up to rounding" if self.tolerance else ""
        return (
            f"whatever anybody may learn from B can be learned from A{rounding}: B may replace A against "
            "everybody."
        )


def _processed(proof: CascadeProof | ClassProof) -> tuple[AnyArray, AnyArray, AnyArray]:
    """A, B and the post-processing in fractions, each of them a channel up to what rounding may miss."""
    rounding = ROUNDING if proof.tolerance else Fraction(0)
    require_small(proof.tolerance)
    a, b, post = (exact_rows(part) for part in (proof.less_safe, proof.safer, proof.post))
    _require_fit(a, post, b)
    require_channels(("A", a), ("B", b), rounding=rounding)
    require_channels(("the post-processing", post), rounding=rounding)
    return a, b, post


def _require_fit(a: ObjectArray, between: ObjectArray, b: ObjectArray) -> None:
    if a.shape[1] != between.shape[0] or between.shape[1] != b.shape[1]:
        raise ValueError("the shapes of the three matrices do not fit")


@dataclass(frozen=True, eq=False)
class MixtureProof(Proof):
    """Every posterior of B is a mixture of posteriors of A: B = A·M for some M ≥ 0 (Fernandes, Thm 4.1)."""

    kind: ClassVar[str] = "max refinement"
    found: ClassVar[tuple[str, ...]] = ("mixing", "tolerance")
    grounds: ClassVar[str] = (
        "posteriors that are mixtures of others say no more than these (Fernandes, Thm 4.1)"
    )
    less_safe: AnyArray
    safer: AnyArray
    mixing: AnyArray
    tolerance: Fraction = Fraction(0)

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "mixing": texts_of(self.mixing),
            "tolerance": str(self.tolerance),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> MixtureProof:
        a, b, mixing = (rows_from(data[name]) for name in ("less_safe", "safer", "mixing"))
        return cls(a, b, mixing, fraction(data["tolerance"]))

    def proved(self) -> str:
        require_small(self.tolerance)
        a, b, mixing = (exact_rows(part) for part in (self.less_safe, self.safer, self.mixing))
        _require_fit(a, mixing, b)
        require_channels(("A", a), ("B", b), rounding=ROUNDING if self.tolerance else Fraction(0))
        if any(value < 0 for value in mixing.ravel()):
            raise ValueError("the mixing weights have a negative entry")
        for mixed, column in zip(exact_matmul(a, mixing).T.tolist(), b.T.tolist(), strict=True):
            if _apart(mixed, column) > self.tolerance:
                raise ValueError("a posterior of B is not the stated mixture of posteriors of A")
        # Rows divided by their sums move a posterior by at most twice what they miss 1 by.
        distance = self.tolerance + 2 * unevenness(a, b)
        exactly = "exactly" if distance == 0 else f"up to {at_most(distance)} in total variation"
        return f"every posterior of B is a mixture of posteriors of A, {exactly}: no output of B says more"

    def meaning(self) -> str:
        rounding = ", up to rounding" if self.tolerance else ""
        return (
            f"no single output of B says more than some output of A does{rounding}: B may replace A against "
            "the worst case."
        )


def _apart(mixed: list[Fraction], column: list[Fraction]) -> Fraction:
    """Total variation of the posteriors that two columns stand for; an output that never occurs has none."""
    weight, other = sum(column, Fraction(0)), sum(mixed, Fraction(0))
    if weight == 0:
        return Fraction(0)
    if other == 0:
        return Fraction(1)
    return sum((abs(m / other - c / weight) for m, c in zip(mixed, column, strict=True)), Fraction(0)) / 2


@dataclass(frozen=True, eq=False)
class AdversaryProof(Proof):
    """An adversary (prior and gain function [action, secret]) who expects more from B than from A.

    `stated` holds what the adversary expects of either channel; `exact` says that rows sum to 1 exactly.
    """

    kind: ClassVar[str] = "objecting adversary"
    found: ClassVar[tuple[str, ...]] = ("gain", "prior", "exact", "before", "after")
    grounds: ClassVar[str] = "an adversary who expects more refutes refinement (Fernandes, Lem 2.2)"
    less_safe: AnyArray
    safer: AnyArray
    gain: AnyArray
    prior: AnyArray
    case: str = "average"
    exact: bool = True
    stated: tuple[Fraction, Fraction] | None = None

    def data(self) -> dict[str, Any]:
        before, after = self.stated or self.values()
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "gain": texts_of(self.gain),
            "prior": texts_of(self.prior[None, :])[0],
            "case": self.case,
            "exact": self.exact,
            "before": str(before),
            "after": str(after),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> AdversaryProof:
        a, b, gain = (rows_from(data[name]) for name in ("less_safe", "safer", "gain"))
        prior = rows_from([data["prior"]])[0]
        stated = (fraction(data["before"]), fraction(data["after"]))
        return cls(a, b, gain, prior, str(data["case"]), flag(data["exact"]), stated)

    def values(self) -> tuple[Fraction, Fraction]:
        """What the adversary expects of A and of B, exactly."""
        gain, prior = exact_rows(self.gain), exact_rows(self.prior[None, :])[0]
        a, b = exact_rows(self.less_safe), exact_rows(self.safer)
        value = _largest if self.case == "max" else _expected
        return value(a, gain, prior), value(b, gain, prior)

    def gap(self) -> Fraction:
        """How much more the adversary expects from B than from A."""
        before, after = self.values()
        return after - before

    def proved(self) -> str:
        if self.case not in ("average", "max"):
            raise ValueError(f"the case {self.case!r} is unknown")
        a, b = exact_rows(self.less_safe), exact_rows(self.safer)
        require_channels(("A", a), ("B", b), rounding=Fraction(0) if self.exact else ROUNDING)
        require_prior(exact_rows(self.prior[None, :])[0], len(a))
        gain = exact_rows(self.gain)
        if gain.shape[1] != len(a):
            raise ValueError("the gain function needs a gain for each input")
        before, after = self.values()
        if self.stated is not None and self.stated != (before, after):
            raise ValueError("the adversary does not expect what the proof states")
        # Dividing uneven rows by their sums moves what is expected by at most this.
        hidden = 4 * max(abs(value) for value in gain.ravel()) * unevenness(a, b)
        gap = after - before
        if gap <= hidden:
            raise ValueError(f"the adversary does not prefer B: the difference is {float(gap):.3g}")
        return (
            f"an adversary with {len(gain)} actions expects {float(gap - hidden):.6g} more from B than from "
            f"A ({self.case} case)"
        )

    def meaning(self) -> str:
        before, after = self.values()
        return (
            f"somebody with {len(self.gain)} choices expects {float(after):.6g} from B and "
            f"{float(before):.6g} from A: B may not replace A against everybody."
        )


def _expected(channel: ObjectArray, gain: ObjectArray, prior: ObjectArray) -> Fraction:
    """V_g[π ▷ C] = Σ_y max_w Σ_x π_x g[w,x] C[x,y]."""
    return Fraction(exact_matmul(gain * prior[None, :], channel).max(axis=0).sum())


def _largest(channel: ObjectArray, gain: ObjectArray, prior: ObjectArray) -> Fraction:
    """Max case: the best expected gain over the outputs that can occur."""
    joint = prior[:, None] * channel
    scores = exact_matmul(gain, joint).max(axis=0)
    weights = joint.sum(axis=0)
    return max(Fraction(s / w) for s, w in zip(scores.tolist(), weights.tolist(), strict=True) if w > 0)


@dataclass(frozen=True, eq=False)
class ClassProof(Proof):
    """No adversary of a class prefers B: R with Σ_x v_x π_x (AR - B)[x,w] ≥ 0 for every generator v.

    The class: each action's gain is a non-negative combination of the generators, under the prior π. Float
    channels need a `tolerance`: no gain of the class that is a mixture of generators expects more than it.
    """

    kind: ClassVar[str] = "class of adversaries"
    grounds: ClassVar[str] = "post-processing that no generator of the class objects to"
    less_safe: AnyArray
    safer: AnyArray
    generators: AnyArray
    prior: AnyArray
    post: AnyArray
    tolerance: Fraction = Fraction(0)

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "generators": texts_of(self.generators),
            "prior": texts_of(self.prior[None, :])[0],
            "post": texts_of(self.post),
            "tolerance": str(self.tolerance),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ClassProof:
        a, b, generators = (rows_from(data[name]) for name in ("less_safe", "safer", "generators"))
        prior = rows_from([data["prior"]])[0]
        return cls(a, b, generators, prior, rows_from(data["post"]), fraction(data["tolerance"]))

    def proved(self) -> str:
        a, b, post = _processed(self)
        prior, generators = exact_rows(self.prior[None, :])[0], exact_rows(self.generators)
        require_prior(prior, len(a))
        if generators.shape[1] != len(a):
            raise ValueError("a generator needs a gain for each input")
        # A class holds every multiple of its gains, so what is tolerated is for gains of size 1.
        largest = np.abs(generators).max(axis=1)
        generators = generators[largest > 0] / largest[largest > 0, None]
        if not len(generators):
            raise ValueError("every generator is 0: a class of no adversaries")
        excess = exact_matmul(generators * prior[None, :], b - exact_matmul(a, post))
        # Each output of B may be answered by its own generator.
        worst = sum((max(value, Fraction(0)) for value in excess.max(axis=0).tolist()), Fraction(0))
        if worst > self.tolerance:
            raise ValueError(f"an adversary of the class may expect {float(worst):.3g} more from B")
        worst += unevenness(a, b, post)
        more = "more" if worst == 0 else f"over {at_most(worst)} of its largest gain more"
        return f"no adversary of a class with {len(generators)} generators expects {more} from B than from A"

    def meaning(self) -> str:
        rounding = ", up to rounding" if self.tolerance else ""
        return f"nobody who is after what this class describes learns more from B than from A{rounding}."


# ── Proofs about deterministic programs: one partition coarsens another, or two secrets show it does not ────


@dataclass(frozen=True)
class PartitionProof(Proof):
    """The output of every input under both programs; with `pair`, two inputs that only B tells apart."""

    kind: ClassVar[str] = "partitions"
    found: ClassVar[tuple[str, ...]] = ("pair",)
    grounds: ClassVar[str] = "a function of an output tells no more than the output"
    less_safe: tuple[int, ...]
    safer: tuple[int, ...]
    pair: tuple[int, int] | None = None

    def data(self) -> dict[str, Any]:
        pair = None if self.pair is None else list(self.pair)
        return {"less_safe": list(self.less_safe), "safer": list(self.safer), "pair": pair}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PartitionProof:
        a, b = (tuple(whole(v) for v in listed(data[name])) for name in ("less_safe", "safer"))
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

    def meaning(self) -> str:
        if self.pair is not None:
            return (
                f"who sees B knows whether it was input {self.pair[0]} or {self.pair[1]}, and who sees A "
                "does not."
            )
        return "what B tells can be worked out from what A tells: B may replace A."


def _pair(values: Any) -> tuple[int, int]:
    first, second = (whole(value) for value in listed(values))
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
    grounds: ClassVar[str] = "a coarsening joins whole blocks, so that some sizes are impossible"
    less_safe: tuple[tuple[int, int], ...]
    safer: tuple[tuple[int, int], ...]

    def data(self) -> dict[str, Any]:
        return {"less_safe": [list(p) for p in self.less_safe], "safer": [list(p) for p in self.safer]}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> BlockSizesProof:
        a, b = (
            tuple((whole(s, 1), whole(c, 1)) for s, c in entries(data[name], 2))
            for name in ("less_safe", "safer")
        )
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

    def meaning(self) -> str:
        return "by the sizes of what they leave open alone, B cannot be worked out from A."
