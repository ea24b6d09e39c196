"""The question whether a mechanism is best whatever the prior, and its answer with what proves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel, target_metric
from sievert.design._optimal import as_loss
from sievert.geometry import PrivateColumns
from sievert.measures import MatrixAdversary
from sievert.numerics import fractions_of
from sievert.policies import Answers, Policy
from sievert.proofs import BetterForPriorProof, Proof, ProofSpace, best_loss
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["TOLERANCE", "Case", "Universality"]

# A gap in floats below this share of the largest loss counts as none.
TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Universality(Result):
    """Whether a mechanism is best for a loss whatever the prior.

    Attributes
    ----------
    holds : True, False, or None where it is not decided within the effort
    gap : how much more than the best it loses at `prior`; 0 where it holds, None where it is not decided
    prior : a prior for which another mechanism is better
    better : that mechanism
    bound : no prior has a larger gap; None where that is not known
    theorem : why
    exact : whether it was decided in fractions; otherwise gaps below 1e-8 of the largest loss count as none
    certificate : a proof in fractions, re-checked without a solver; None for floats
    """

    holds: bool | None
    gap: float | Fraction | None
    prior: AnyArray | None
    better: Channel | None = field(repr=False)
    bound: float | Fraction | None
    theorem: str
    exact: bool
    certificate: Proof | None = field(repr=False)

    @property
    def worst(self) -> bool:
        """Whether no prior has a larger gap."""
        return self.gap is not None and self.bound is not None and self.gap >= self.bound

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        if self.holds is None:
            return f"not decided within this effort: {self.theorem}"
        if self.holds:
            return f"best for this use whatever the prior: {self.theorem}"
        assert self.gap is not None
        assert self.prior is not None
        most = "" if self.worst else "at least "
        prior = ", ".join(f"{float(p):.4g}" for p in self.prior)
        return (
            f"not best for every prior: for ({prior}) another private mechanism loses {most}"
            f"{float(self.gap):.6g} less; {self.theorem}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return {**found, "worst": self.worst}


class Case:
    """A private mechanism with its metric and loss, in one order of the inputs."""

    def __init__(
        self,
        mechanism: Channel,
        metric: Metric | Policy | Answers,
        eps: float | None,
        loss: object,
        alpha: object,
        effort: int,
    ) -> None:
        columns = PrivateColumns(mechanism, metric, eps, alpha)
        self.metric = target_metric(metric)
        self.eps, self.alpha, self.effort = eps, alpha, effort
        self.polytope = columns.polytope
        self.pairs = columns.pairs
        self.wanted: MatrixAdversary = as_loss(loss, self.metric.points)
        self.exact = columns.exact and self.wanted.is_exact
        self.table: AnyArray = columns.table
        self.loss: AnyArray = (
            fractions_of(self.wanted.table.tolist())
            if self.exact
            else np.asarray(self.wanted.table, dtype=np.float64)
        )
        if not self.exact:
            self.table = self.table.astype(np.float64)

    @cached_property
    def space(self) -> ProofSpace:
        """The irreducible pairs, for proofs."""
        lengths = self.metric.matrix[self.pairs[:, 0], self.pairs[:, 1]]
        return ProofSpace(self.metric.size, self.pairs, lengths)

    @property
    def scale(self) -> float:
        """The largest loss, at least 1."""
        return max(1.0, float(np.abs(self.loss.astype(np.float64)).max()))

    @property
    def nothing(self) -> Any:
        """What counts as no gap."""
        return 0 if self.exact else TOLERANCE * self.scale

    @cached_property
    def ratio(self) -> Fraction:
        """alpha, of an exact case."""
        assert self.polytope.level.alpha is not None
        return self.polytope.level.alpha

    def lost(self, prior: AnyArray, table: AnyArray | None = None) -> Any:
        """The loss of the mechanism, or another, with the best action for each output."""
        rows = self.table if table is None else table
        if self.exact:
            return best_loss(prior, rows, self.loss)
        return float((self.loss @ (prior[:, None] * rows)).min(axis=0).sum())

    def yes(self, words: str, proof: Proof | None) -> Universality:
        """Best whatever the prior."""
        nothing: Any = Fraction(0) if self.exact else 0.0
        return Universality(True, nothing, None, None, nothing, words, self.exact, proof)

    def no(self, prior: AnyArray, better: AnyArray, gap: Any, words: str, bound: Any = None) -> Universality:
        """Another mechanism is better for a prior; with its proof where everything is in fractions."""
        exact = isinstance(gap, Fraction)
        proof = self.attained(prior, better, gap) if exact else None
        channel = Channel.trusted(better, "exact" if exact else "float", self.metric.points)
        return Universality(False, gap, prior, channel, bound, words, exact, proof)

    def attained(self, prior: AnyArray, better: AnyArray, gap: Any) -> BetterForPriorProof:
        """The proof that a gap is attained at a prior."""
        return BetterForPriorProof(self.space, self.ratio, self.table, self.loss, prior, better, gap)
