"""Is a mechanism the best for a use whatever the prior? Yes with the theorem or the cells, no with the prior.

The loss of a mechanism is linear in the prior on cells; the least loss of all private mechanisms is concave.
So their difference is largest at a corner of a cell, and finitely many linear programs decide (our notes on
Fernandes, Ch 6, section 7). Theorems are tried first: each is a proof whose conditions are checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, ObjectArray
from sievert.channels import Channel, target_metric
from sievert.design._optimal import as_loss, optimal_mechanism
from sievert.errors import TooLargeError
from sievert.geometry import Optimum, PrivateColumns, VertexProgram
from sievert.measures import MatrixAdversary, single_crossing_order
from sievert.measures.losses import classify_loss
from sievert.numerics import advance, fractions_of, whole
from sievert.policies import Answers, Policy
from sievert.proofs import (
    BetterForPriorProof,
    Proof,
    ProofSpace,
    QuotientProof,
    UniversalByTheoremProof,
    UniversalProof,
    best_loss,
    cell_priors,
    line_order,
)
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Case", "Universality", "is_universally_optimal", "universal_gap"]

# Inputs, and outputs times actions, up to which cells are enumerated.
LARGEST_INPUTS, LARGEST_SCORES = 6, 64
# A gap in floats below this share of the largest loss counts as none.
TOLERANCE = 1e-8
# Floats become fractions with this denominator where cells are enumerated.
GRID = 2**40


@dataclass(frozen=True, eq=False)
class Universality(Result):
    """Whether a mechanism is best for a loss whatever the prior.

    Attributes
    ----------
    holds : True, False, or None where it is not decided within the effort
    gap : how much more than the best it loses at `prior`; 0 where it holds, None where nothing is known
    prior : a prior for which another mechanism is better
    better : that mechanism
    worst : whether no prior has a larger gap
    theorem : why
    exact : whether it was decided in fractions; otherwise gaps below 1e-8 of the largest loss count as none
    certificate : a proof in fractions, re-checked without a solver; None for floats
    """

    holds: bool | None
    gap: float | Fraction | None
    prior: AnyArray | None
    better: Channel | None = field(repr=False)
    worst: bool
    theorem: str
    exact: bool
    certificate: Proof | None = field(repr=False)

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
        return found


def is_universally_optimal(
    mechanism: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
    effort: int = 5000,
) -> Universality:
    """Whether a private mechanism is best for a loss whatever the prior.

    Parameters
    ----------
    mechanism : a private mechanism; one that is not private is refused with the violated pair
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; fractions throughout give an exact decision with its proof
    effort : linear programs that may be solved

    Returns
    -------
    Universality
        Yes with the theorem and a certificate, no with the worst prior, its gap and the better mechanism, or
        neither, with what is known.

    Notes
    -----
    Tried first: trivial losses, single crossing on a line with any gaps, Bayes risk on a tree, losses about
    one pair, inputs that fall into blocks, and under the discrete metric the pairs on which the loss is not
    trivial. Then the corners of the cells of priors on which the loss of the mechanism is linear.

    Cost: O(actions²·inputs) for the theorems; a linear program for each corner, for up to 6 inputs.

    References
    ----------
    Fernandes, Lem 6.19, Lem 6.20, Thm 6.33.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.mechanisms import randomised_response, truncated_geometric
    >>> from sievert.spaces import metrics
    >>> geometric = truncated_geometric(3, alpha="1/2")
    >>> print(is_universally_optimal(geometric, metrics.line(3), alpha="1/2", loss=losses.absolute(3)))
    best for this use whatever the prior: single crossing (Theorem SC)
    >>> found = is_universally_optimal(randomised_response(3, alpha="1/2"), metrics.discrete(3), alpha="1/2")
    >>> found.holds, found.gap
    (False, Fraction(1, 24))
    """
    case = Case(mechanism, metric, eps, loss, alpha, whole("effort", effort))
    for attempt in (case.by_theorem, case.by_blocks, case.by_cells, case.by_pairs):
        found = attempt()
        if found is not None:
            return found
    return case.undecided()


def universal_gap(
    mechanism: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
    effort: int = 100_000,
) -> Universality:
    """How much more than the best a mechanism may lose, over all priors, with the prior where it does.

    Parameters
    ----------
    mechanism : a private mechanism; one that is not private is refused with the violated pair
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; fractions throughout give an exact gap with its proof
    effort : linear programs that may be solved

    Returns
    -------
    Universality
        `gap` is the largest over all priors and `prior` attains it.

    Notes
    -----
    Cost: a linear program for each corner of the cells of priors, for up to 6 inputs.

    Examples
    --------
    >>> from sievert.channels import Channel
    >>> from sievert.mechanisms import truncated_geometric
    >>> from sievert.spaces import metrics
    >>> loss = [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]]
    >>> geometric = truncated_geometric(3, alpha="1/2")
    >>> found = universal_gap(geometric, metrics.line(3), alpha="1/2", loss=loss)
    >>> found.gap, [str(p) for p in found.prior]
    (Fraction(1, 15), ['1/3', '1/3', '1/3'])
    """
    case = Case(mechanism, metric, eps, loss, alpha, whole("effort", effort))
    found = case.by_cells()
    if found is None:
        n, outputs = case.table.shape
        raise TooLargeError(
            f"{n} inputs, {outputs} outputs and {len(case.loss)} actions have too many cells of priors; at "
            f"most {LARGEST_INPUTS} inputs, {LARGEST_SCORES} outputs times actions and {case.effort} corners",
            size=n * outputs * len(case.loss),
        )
    return found


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

    @cached_property
    def ratio(self) -> Fraction:
        """alpha, of an exact case."""
        assert self.polytope.level.alpha is not None
        return self.polytope.level.alpha

    def by_theorem(self) -> Universality | None:
        """The first theorem whose conditions hold."""
        trivial = np.flatnonzero((self.loss <= self.loss.min(axis=0)).all(axis=1))
        if len(trivial):
            return self._yes(
                "trivial", (int(trivial[0]),), "one action is best whatever the input (Lem 6.19)"
            )
        order = line_order(self.space)
        if order is not None and self._is_kernel():
            actions = self._crossing(order)
            if actions is not None:
                return self._yes("single crossing", actions, "single crossing (Theorem SC)")
        connected = self.space.is_forest and len(self.pairs) == self.metric.size - 1
        if connected and self._is_peaked() and self._is_kernel():
            return self._yes("tree", (), "Bayes risk on a tree (Theorem TREE-BAYES)")
        matter = np.flatnonzero((self.loss != self.loss[0]).any(axis=0))
        if len(matter) == 2 and self._tells_apart(int(matter[0]), int(matter[1])):
            words = "the loss is about one pair, told apart as far as allowed (Lem 6.20)"
            return self._yes("pair", (int(matter[0]), int(matter[1])), words)
        return None

    def _yes(self, theorem: str, witness: tuple[int, ...], words: str) -> Universality:
        proof = None
        if self.exact:
            proof = UniversalByTheoremProof(self.space, self.ratio, self.table, self.loss, theorem, witness)
        return Universality(True, Fraction(0), None, None, True, words, self.exact, proof)

    def _crossing(self, order: list[int]) -> tuple[int, ...] | None:
        found = single_crossing_order(self.loss[:, order].astype(np.float64))
        return None if found is None else tuple(found)

    def _is_peaked(self) -> bool:
        gains = self.loss.max(axis=0)[None, :] - self.loss
        return bool(((gains > 0).sum(axis=1) <= 1).all())

    def _is_kernel(self) -> bool:
        """Whether every column is e^(-ε·d) from some input, exactly or to a relative 1e-9."""
        distances = self.metric.matrix
        if not np.isfinite(distances).all():
            return False
        for column in self.table.T:
            y = int(np.argmax(column == max(column)))
            if self.exact:
                ratios = [self.ratio ** int(d) * column[y] for d in distances[y]]
                if any(a != b for a, b in zip(column, ratios, strict=True)):
                    return False
            elif not np.allclose(
                column, column[y] * np.exp(-self.polytope.level.eps * distances[y]), rtol=1e-9, atol=0
            ):
                return False
        return True

    def _tells_apart(self, a: int, b: int) -> bool:
        first, second = self.table[a], self.table[b]
        length = float(self.metric.matrix[a, b])
        if self.exact:
            factor = Fraction(0) if np.isinf(length) else self.ratio ** int(length)
            return bool(((first == factor * second) | (second == factor * first)).all())
        ratio = np.exp(-self.polytope.level.eps * length)
        near = np.isclose(first, ratio * second, rtol=1e-9, atol=0) | np.isclose(
            second, ratio * first, rtol=1e-9, atol=0
        )
        return bool(near.all())

    def by_blocks(self) -> Universality | None:
        """The same question for one input of each block, where nothing tells inputs of a block apart."""
        if not self.exact:
            return None
        blocks = self._blocks()
        if len(blocks) == self.metric.size:
            return None
        first = [block[0] for block in blocks]
        points = [self.metric.points[x] for x in first]
        part = Channel.trusted(self.table[first], "exact", points)
        loss = self.loss[:, first].tolist()
        found = is_universally_optimal(
            part, self.metric.restricted(points), None, loss, alpha=self.ratio, effort=self.effort
        )
        if found.holds is None:
            return None
        words = f"inputs in {len(blocks)} blocks (quotient); {found.theorem}"
        if found.holds:
            proof: Proof | None = None
            if isinstance(found.certificate, UniversalProof | UniversalByTheoremProof):
                proof = QuotientProof(
                    self.space, self.ratio, self.table, self.loss, tuple(blocks), found.certificate
                )
            return Universality(True, Fraction(0), None, None, True, words, True, proof)
        assert found.prior is not None
        assert found.better is not None
        prior = np.full(self.metric.size, Fraction(0), dtype=object)
        prior[first] = found.prior
        rows = np.empty((self.metric.size, found.better.shape[1]), dtype=object)
        for k, block in enumerate(blocks):
            rows[list(block)] = found.better.entries[k]
        assert isinstance(found.gap, Fraction)
        return self._no(prior, rows, found.gap, False, words)

    def _blocks(self) -> list[tuple[int, ...]]:
        """The coarsest blocks inside which mechanism and loss are alike, and distances to others too."""
        lowest = self.loss - self.loss.min(axis=0)
        tops = np.array([max(column) or Fraction(1) for column in lowest.T.tolist()], dtype=object)
        keys = [
            (tuple((lowest[:, x] / tops[x]).tolist()), tuple(self.table[x].tolist()))
            for x in range(self.metric.size)
        ]
        names = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        home = np.array([names[key] for key in keys])
        distances = self.metric.matrix
        while True:
            seen: dict[tuple[Any, ...], int] = {}
            new = home.copy()
            for x in range(self.metric.size):
                away = tuple(distances[x, z] for z in range(self.metric.size) if home[z] != home[x])
                new[x] = seen.setdefault((int(home[x]), away), len(seen))
            if len(set(new.tolist())) == len(set(home.tolist())):
                break
            home = new
        return [tuple(np.flatnonzero(home == k).tolist()) for k in dict.fromkeys(home.tolist())]

    def by_cells(self) -> Universality | None:
        """The corners of the cells; None where they are too many."""
        n, outputs = self.table.shape
        if n > LARGEST_INPUTS or outputs * len(self.loss) > LARGEST_SCORES:
            return None
        try:
            corners = cell_priors(self._gridded(self.table), self._gridded(self.loss))
        except TooLargeError:
            return None
        if len(corners) > self.effort:
            return None
        program = VertexProgram(self.polytope)
        prices: list[AnyArray] = []
        worst: tuple[AnyArray, Optimum, Any] | None = None
        for k, corner in enumerate(corners):
            advance("corners of the cells of priors", k, len(corners))
            prior = np.array(corner, dtype=object) if self.exact else np.array([float(p) for p in corner])
            best = program.optimum(prior, self.loss)
            gap = self.lost(prior) - best.value
            prices.append(best.prices)
            if worst is None or gap > worst[2]:
                worst = prior, best, gap
        assert worst is not None
        prior, best, gap = worst
        none = gap == 0 if self.exact else gap <= TOLERANCE * self.scale
        words = f"at all {len(corners)} corners of its cells of priors"
        if not none:
            better = program.channel(best.weights, self.metric.points)
            return self._no(
                prior, better.entries, gap, True, f"the worst of {len(corners)} corners of its cells"
            )
        proof = None
        if self.exact:
            listed = np.array([list(corner) for corner in corners], dtype=object)
            proof = UniversalProof(
                self.space, self.ratio, self.table, self.loss, listed, np.array(prices, dtype=object)
            )
        return Universality(
            True, gap if self.exact else float(gap), None, None, True, words, self.exact, proof
        )

    def _gridded(self, table: AnyArray) -> ObjectArray:
        """Fractions as they are, floats rounded to a grid that cells do not notice."""
        if self.exact:
            return table
        found = np.empty(table.shape, dtype=object)
        found.ravel()[:] = [Fraction(round(float(v) * GRID), GRID) for v in table.ravel()]
        return found

    def lost(self, prior: AnyArray) -> Any:
        """The loss of the mechanism with the best action for each output."""
        if self.exact:
            return best_loss(prior, self.table, self.loss)
        return float((self.loss @ (prior[:, None] * self.table)).min(axis=0).sum())

    def _no(self, prior: AnyArray, better: AnyArray, gap: Any, worst: bool, words: str) -> Universality:
        proof = None
        if self.exact:
            proof = BetterForPriorProof(self.space, self.ratio, self.table, self.loss, prior, better, gap)
        form: Any = "exact" if self.exact else "float"
        channel = Channel.trusted(better, form, self.metric.points)
        return Universality(False, gap, prior, channel, worst, words, self.exact, proof)

    def by_pairs(self) -> Universality | None:
        """Under the discrete metric: a pair and a prior on it for which "one versus the rest" is better."""
        length = self.metric.uniform_distance
        if length is None or self.metric.size < 3 or not np.isfinite(length):
            return None
        one: Any = Fraction(1) if self.exact else 1.0
        ratio: Any = (
            self.ratio ** int(length) if self.exact else float(np.exp(-self.polytope.level.eps * length))
        )
        found: tuple[Any, Any, int] | None = None
        for a, b in combinations(range(self.metric.size), 2):
            for share in _kinks(self.loss[:, a], self.loss[:, b], one):
                prior = np.full(self.metric.size, one * 0, dtype=self.table.dtype)
                prior[a], prior[b] = share, one - share
                versus = self._versus(a, ratio, one)
                gap = self.lost(prior) - _lost(prior, versus, self.loss, self.exact)
                if found is None or gap > found[0]:
                    found = gap, prior, a
        if found is None or found[0] <= (0 if self.exact else TOLERANCE * self.scale):
            return None
        gap, prior, a = found
        words = "one versus the rest is better on a pair"
        if not classify_loss(self.wanted).pairs_bipartite:
            words = "no mechanism is: pairs on which the loss is not trivial form an odd cycle (Thm 6.33)"
        return self._no(prior, self._versus(a, ratio, one), gap, False, words)

    def _versus(self, a: int, ratio: Any, one: Any) -> AnyArray:
        """One input versus the rest: two outputs."""
        table = np.full((self.metric.size, 2), one / (one + ratio), dtype=self.table.dtype)
        table[:, 0] = ratio / (one + ratio)
        table[a] = table[a][::-1].copy()
        return table

    def undecided(self) -> Universality:
        """The uniform prior, and what it tells."""
        best = optimal_mechanism(self.metric, self.eps, None, self.wanted, alpha=self.alpha)
        one: Any = Fraction(1) if self.exact else 1.0
        prior = np.full(self.metric.size, one / self.metric.size, dtype=self.table.dtype)
        gap = self.lost(prior) - (
            best.loss if self.exact and best.mechanism.form == "exact" else float(best.loss)
        )
        if gap > (0 if isinstance(gap, Fraction) else TOLERANCE * self.scale):
            words = "another mechanism is better for the uniform prior"
            if isinstance(gap, Fraction):
                return self._no(prior, best.mechanism.entries, gap, False, words)
            return Universality(False, float(gap), prior, best.mechanism, False, words, False, None)
        words = f"it is best for the uniform prior; {self.metric.size} inputs have too many cells of priors"
        return Universality(None, None, None, None, False, words, self.exact, None)


def _kinks(first: AnyArray, second: AnyArray, one: Any) -> list[Any]:
    """Probabilities of the first of two inputs at which two actions are equally good, and best."""
    found = []
    for v, w in combinations(range(len(first)), 2):
        rise, fall = first[v] - first[w], second[v] - second[w]
        if rise * fall < 0:
            share = fall / (fall - rise)
            values = share * first + (one - share) * second
            if values[v] <= min(values) + (0 if isinstance(share, Fraction) else TOLERANCE):
                found.append(share)
    return found


def _lost(prior: AnyArray, table: AnyArray, loss: AnyArray, exact: bool) -> Any:
    if exact:
        return best_loss(prior, table, loss)
    return float((loss @ (prior[:, None] * table)).min(axis=0).sum())
