"""The question whether a mechanism is best whatever the prior, and its answer with what proves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, BoolArray
from sievert.channels import Channel, target_metric
from sievert.design._optimal import as_loss
from sievert.geometry import PrivateColumns
from sievert.measures import GainMatrix
from sievert.mechanisms import privacy
from sievert.numerics import fractions_of
from sievert.policies import Answers, Policy
from sievert.proofs import BetterForPriorProof, Proof, ProofSpace, best_loss
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["MOST_LISTED", "TOLERANCE", "ULPS", "Case", "Universality"]

# In floats a gap below this share of the largest loss (over what is lost at least) is not told from none.
TOLERANCE = 1e-8
# Inputs whose probabilities are listed without their names, and whose mechanisms are plain data.
MOST_LISTED = 12
# Logarithms of float probabilities agree to this share of ε·d (or of 1), and to rounding.
SAME, ULPS = 1e-9, 2.0**-47
# Probabilities of a written mechanism are off by this much for each input, where ε·d is not as small as this.
WRITTEN, SMALL = 2.0**-48, 1e-6


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
    exact : whether it was decided in fractions; in floats only a theorem says yes, and gaps below 1e-8 of the
        largest loss leave it undecided
    certificate : a proof in fractions, re-checked without a solver; None for floats, and where cells
        decide for more constraints than the check enumerates
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
        return (
            f"not best for every prior: for ({self._prior_words()}) another private mechanism loses {most}"
            f"{float(self.gap):.6g} less; {self.theorem}"
        )

    def _prior_words(self) -> str:
        """The prior in order; of many inputs those that are possible, by name."""
        assert self.prior is not None
        assert self.better is not None
        if len(self.prior) <= MOST_LISTED:
            return ", ".join(f"{float(p):.4g}" for p in self.prior)
        named = zip(self.better.inputs, self.prior, strict=True)
        words = [f"{name}: {float(p):.4g}" for name, p in named if p > 0]
        more = [f"{len(words) - MOST_LISTED} more"] if len(words) > MOST_LISTED else []
        return ", ".join([*words[:MOST_LISTED], *more])

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself, a mechanism on many inputs too."""
        found = super().to_dict()
        found.pop("certificate")
        if self.better is not None and len(self.better.inputs) > MOST_LISTED:
            found["better"] = None
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
        privacy(eps, alpha)
        columns = PrivateColumns(mechanism, metric, eps, alpha)
        self.metric = target_metric(metric)
        self.eps, self.alpha, self.effort = eps, alpha, effort
        self.polytope = columns.polytope
        self.pairs = columns.pairs
        self.wanted: GainMatrix = as_loss(loss, self.metric.points)
        self.exact = columns.exact
        self.table: AnyArray = columns.table
        self.logs, self._reach = columns.logs, columns.reach
        # The loss as it is given, and as gaps are computed with: what is lost whatever is done changes none.
        self.given: AnyArray = self.wanted.table
        self.unit: Any = 1
        if self.exact:
            # A float is the fraction that it stands for.
            rows = [[Fraction(value) for value in row] for row in self.wanted.table.tolist()]
            self.loss = self.given = fractions_of(rows)
        else:
            self.given = np.asarray(self.wanted.table, dtype=np.float64)
            above = self.given - self.given.min(axis=0)
            self.unit = float(above.max()) or 1.0
            self.loss, self.table = above / self.unit, self.table.astype(np.float64)

    @cached_property
    def space(self) -> ProofSpace:
        """The irreducible pairs, for proofs."""
        lengths = self.metric.matrix[self.pairs[:, 0], self.pairs[:, 1]]
        return ProofSpace(self.metric.size, self.pairs, lengths)

    @property
    def nothing(self) -> Any:
        """What cannot be told from no gap, in units of the loss."""
        return 0 if self.exact else TOLERANCE

    @cached_property
    def ratio(self) -> Fraction:
        """alpha, of an exact case."""
        assert self.polytope.level.alpha is not None
        return self.polytope.level.alpha

    def restricted(self, inputs: list[int]) -> Case:
        """The same question for some of the inputs."""
        points = [self.metric.points[x] for x in inputs]
        form: Any = "exact" if self.exact else "log"
        part = Channel.trusted((self.table if self.exact else self.logs)[inputs], form, points)
        inside = self.metric.restricted(points)
        return Case(part, inside, self.eps, self.given[:, inputs].tolist(), self.alpha, self.effort)

    def agree(self, first: AnyArray, second: AnyArray) -> BoolArray:
        """Whether logarithms of probabilities agree, to a small share of ε however small that is."""
        near = float(self._reach[(self._reach > 0) & np.isfinite(self._reach)].min(initial=1.0))
        step = SAME * min(1.0, near)
        size = np.maximum(*(np.where(np.isfinite(part), np.abs(part), 0.0) for part in (first, second)))
        with np.errstate(invalid="ignore"):
            close = np.abs(first - second) <= step + ULPS * np.maximum(1.0, size)
        # What is written in multiples of 2^-53 has few digits where it is unlikely, and loses nothing by it.
        unlikely = np.abs(np.exp(first) - np.exp(second)) <= (
            WRITTEN * self.metric.size if near > SMALL else 0.0
        )
        return np.asarray(close | (first == second) | unlikely)

    def has_same_rows(self, first: int, second: int) -> bool:
        """Whether the mechanism treats two inputs alike."""
        if self.exact:
            return bool((self.table[first] == self.table[second]).all())
        return bool(self.agree(self.logs[first], self.logs[second]).all())

    def lost(self, prior: AnyArray, table: AnyArray | None = None) -> Any:
        """The loss of the mechanism, or another, with the best action for each output, in units."""
        rows = self.table if table is None else table
        if self.exact:
            return best_loss(prior, rows, self.loss)
        return float((self.loss @ (prior[:, None] * rows)).min(axis=0).sum())

    def yes(self, words: str, proof: Proof | None) -> Universality:
        """Best whatever the prior."""
        nothing: Any = Fraction(0) if self.exact else 0.0
        return Universality(True, nothing, None, None, nothing, words, self.exact, proof)

    def no(self, prior: AnyArray, better: AnyArray, gap: Any, words: str, bound: Any = None) -> Universality:
        """Another mechanism is better for a prior by a gap in units, with its proof in fractions."""
        exact = isinstance(gap, Fraction)
        proof = self.attained(prior, better, gap) if exact else None
        channel = Channel.trusted(better, "exact" if exact else "float", self.metric.points)
        most = None if bound is None else bound * self.unit
        return Universality(False, gap * self.unit, prior, channel, most, words, exact, proof)

    def undecided(self, words: str, bound: Any = None) -> Universality:
        """Neither; no gap is larger than the bound, in units."""
        most = None if bound is None else bound * self.unit
        return Universality(None, None, None, None, most, words, self.exact, None)

    def attained(self, prior: AnyArray, better: AnyArray, gap: Any) -> BetterForPriorProof:
        """The proof that a gap is attained at a prior."""
        return BetterForPriorProof(self.space, self.ratio, self.table, self.loss, prior, better, gap)
