"""Is a mechanism the best for a use whatever the prior? Yes with the theorem or the cells, no with the prior.

The loss of a mechanism is linear in the prior on cells; the least loss of all private mechanisms is concave.
So their difference is largest at a corner of a cell, and finitely many linear programs decide (our notes on
Fernandes, Ch 6, section 7). Theorems are tried first: each is a proof whose conditions are checked. Where the
corners are too many, regions of priors bound the difference from both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, ObjectArray
from sievert.channels import Channel
from sievert.design._existence import existence_by_theorem
from sievert.design._input_blocks import blocks_of
from sievert.design._optimal import optimal_mechanism
from sievert.design._universal_case import TOLERANCE, Case, Universality
from sievert.design._universal_theorems import by_pairs, by_theorem
from sievert.errors import TooLargeError
from sievert.geometry import VertexProgram, cell_priors, vertex_program, worst_prior
from sievert.numerics import advance, whole
from sievert.policies import Answers, Policy
from sievert.proofs import (
    LargestGapProof,
    Proof,
    QuotientProof,
    UniversalByTheoremProof,
    UniversalProof,
)
from sievert.spaces import Metric

__all__ = ["by_cells", "is_universally_optimal", "universal_by_theorem", "universal_gap"]

# Floats become fractions with this denominator where cells are enumerated.
GRID = 2**40
# What costs about as much as so many programs: a region of priors in fractions, one in floats, and a ray that
# is met on the way to the corners.
EXACT_REGION, REGION, RAYS = 50, 10, 5
ROUNDED = (
    "in floats no gap is found that is larger than rounding may be; fractions for alpha, the mechanism and "
    "the loss decide"
)
# Corners up to which all of them are settled in fractions although one has a gap.
COMPLETE = 500
# Inputs up to which the worst prior of all is looked for before any prior is; programs for them.
FEW, EFFORT = 6, 5000


def is_universally_optimal(
    mechanism: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
    effort: int = EFFORT,
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

    Cost: O(actions²·inputs) for the theorems; a linear program for each corner, or as many as the effort
    allows.

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
    return decided(Case(mechanism, metric, eps, loss, alpha, whole("effort", effort)))


def universal_gap(
    mechanism: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
    effort: int = 10_000,
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
        `gap` is the largest over all priors and `prior` attains it. Where that is more than the effort, a
        `bound` that no prior exceeds, and the largest gap found.

    Notes
    -----
    Cost: a linear program for each corner of the cells of priors: 210 for randomised response on 5 inputs,
    2,058 on 7, but 1,322 on 12 inputs for two actions.

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
    found = by_cells(case)
    return by_regions(case) if found is None else found


def universal_by_theorem(
    mechanism: Channel, metric: Metric | Policy | Answers, eps: float | None, loss: object, alpha: object
) -> Universality:
    """Whether a theorem decides that a mechanism is best whatever the prior; undecided otherwise."""
    return decided_by_theorem(Case(mechanism, metric, eps, loss, alpha, EFFORT))


def decided(case: Case) -> Universality:
    """Theorems, blocks of inputs, the cells of priors, pairs of inputs, and what is known without them."""
    attempts: list[Callable[[Case], Universality | None]] = [by_theorem, by_blocks, by_cells, by_pairs]
    if case.metric.size > FEW:
        attempts = [by_theorem, by_blocks, by_pairs, by_cells]
    known = []
    for attempt in attempts:
        found = attempt(case)
        if found is not None and found.holds is not None:
            return found
        known += [] if found is None else [found]
    return known[0] if known else undecided(case)


def decided_by_theorem(case: Case) -> Universality:
    """Theorems, blocks of inputs and pairs alone; the cells of few blocks, but of no more."""
    for attempt in (by_theorem, partial(by_blocks, decide=_decided_if_few), by_pairs, by_rival):
        found = attempt(case)
        if found is not None and found.holds is not None:
            return found
    size = case.metric.size
    return case.undecided(
        f"no theorem speaks of it, and {size} inputs have too many cells of priors to try them all"
    )


def by_rival(case: Case) -> Universality | None:
    """No where a theorem names the best mechanism, and that loses less for a prior on two neighbours."""
    best = existence_by_theorem(case.metric, case.eps, case.wanted, alpha=case.alpha)
    if best is None or best.mechanism is None:
        return None
    rival = best.mechanism.entries if case.exact else best.mechanism.rounded()
    half: Any = Fraction(1, 2) if case.exact else 0.5
    found: tuple[Any, AnyArray] | None = None
    for pair in case.pairs.tolist():
        prior = np.full(case.metric.size, half * 0, dtype=case.table.dtype)
        prior[pair] = half
        gap = case.lost(prior) - case.lost(prior, rival)
        if found is None or gap > found[0]:
            found = gap, prior
    if found is None or found[0] <= case.nothing:
        return None
    return case.no(found[1], rival, found[0], f"best is another: {best.theorem}")


def _decided_if_few(case: Case) -> Universality:
    return decided(case) if case.metric.size <= FEW else decided_by_theorem(case)


def by_blocks(case: Case, decide: Callable[[Case], Universality] | None = None) -> Universality | None:
    """The same question for one input of each block, where nothing tells inputs of a block apart."""
    blocks = blocks_of(case.metric.matrix, case.given, case.has_same_rows)
    if len(blocks) == case.metric.size:
        return None
    first = [block[0] for block in blocks]
    found = (decide or decided)(case.restricted(first))
    if found.holds is None:
        return None
    words = f"inputs in {len(blocks)} block{'' if len(blocks) == 1 else 's'} (quotient); {found.theorem}"
    if found.holds:
        proof: Proof | None = None
        if isinstance(found.certificate, UniversalProof | UniversalByTheoremProof):
            proof = QuotientProof(
                case.space, case.ratio, case.table, case.loss, tuple(blocks), found.certificate
            )
        return case.yes(words, proof)
    assert found.prior is not None
    assert found.better is not None
    prior = np.full(case.metric.size, case.table.flat[0] * 0, dtype=case.table.dtype)
    prior[first] = found.prior
    rows = np.empty((case.metric.size, found.better.shape[1]), dtype=case.table.dtype)
    for k, block in enumerate(blocks):
        rows[list(block)] = found.better.entries[k]
    assert found.gap is not None
    return case.no(prior, rows, found.gap / case.unit, words)


def by_cells(case: Case, above: Fraction | None = None) -> Universality | None:
    """The corners of the cells; None where they are too many for the effort.

    Any gap `above` a given one is enough, where one is given; without one that is larger all are settled.
    """
    try:
        most = max(1, case.effort // RAYS)
        corners = cell_priors(_gridded(case, case.table), _gridded(case, case.loss), most)
        program = vertex_program(case.polytope)
    except TooLargeError:
        return None
    if len(corners) > case.effort:
        return None
    priors: list[AnyArray] = [
        np.array(corner, dtype=object) if case.exact else np.array([float(p) for p in corner])
        for corner in corners
    ]
    if case.exact and (above is not None or len(corners) > COMPLETE):
        found = _at_likely_corners(case, priors, program)
        if found is not None and found.gap is not None and (above is None or found.gap > above):
            return found
    gaps = []
    for k, prior in enumerate(priors):
        advance("corners of the cells of priors", k, len(corners))
        gaps.append(case.lost(prior) - program.optimum(prior, case.loss).value)
    gap = max(gaps)
    prior = priors[gaps.index(gap)]
    proof = cells_proof(case, priors, program, gap) if case.exact else None
    if gap <= case.nothing:
        if not case.exact:
            return case.undecided(ROUNDED, case.nothing)
        return case.yes(f"at all {len(corners)} corners of its cells of priors", proof)
    better = program.channel(program.optimum(prior, case.loss).weights, case.metric.points).entries
    found = case.no(prior, better, gap, f"the worst of {len(corners)} corners of its cells", gap)
    if proof is None:
        return found
    return replace(found, certificate=LargestGapProof(case.attained(prior, better, gap), proof))


def _at_likely_corners(case: Case, corners: list[AnyArray], program: VertexProgram) -> Universality | None:
    """No at the corner whose gap is largest in floats, if it has one in fractions; others may be larger."""
    table, loss = case.table.astype(np.float64), case.loss.astype(np.float64)
    gaps = []
    for k, corner in enumerate(corners):
        advance("corners of the cells of priors", k, len(corners))
        prior = corner.astype(np.float64)
        lost = (loss @ (prior[:, None] * table)).min(axis=0).sum()
        gaps.append(float(lost) - program.estimate(prior, loss))
    likely = corners[int(np.argmax(gaps))]
    best = program.optimum(likely, case.loss)
    gap = case.lost(likely) - best.value
    if gap <= 0:
        return None
    better = program.channel(best.weights, case.metric.points).entries
    return case.no(likely, better, gap, f"the worst in floats of {len(corners)} corners of its cells")


def cells_proof(
    case: Case, corners: list[AnyArray], program: VertexProgram, gap: Fraction
) -> UniversalProof | None:
    """Prices at every corner of a mechanism's cells: it never loses more than the gap above the best.

    None where the constraints are too many for the check.
    """
    prices = np.array([program.optimum(corner, case.loss).prices for corner in corners], dtype=object)
    priors = np.array([corner.tolist() for corner in corners], dtype=object)
    proof = UniversalProof(case.space, case.ratio, case.table, case.loss, priors, prices, gap)
    return proof if proof.is_checkable else None


def _gridded(case: Case, table: AnyArray) -> ObjectArray:
    """Fractions as they are, floats rounded to a grid that cells do not notice."""
    if case.exact:
        return table
    found = np.empty(table.shape, dtype=object)
    found.ravel()[:] = [Fraction(round(float(v) * GRID), GRID) for v in table.ravel()]
    return found


def by_regions(case: Case) -> Universality:
    """The largest gap from both sides, by splitting regions of priors as long as the effort allows."""
    program = vertex_program(case.polytope)
    effort = case.effort // (EXACT_REGION if case.exact else REGION)
    found = worst_prior(program, case.table, case.loss, max(1, effort))
    if found.gap > case.nothing:
        better = program.channel(found.best.weights, case.metric.points).entries
        words = f"the largest gap found; none exceeds {float(found.bound * case.unit):.6g}"
        return case.no(found.prior, better, found.gap, words, found.bound)
    if found.bound <= case.nothing:
        if case.exact:
            return case.yes("in all regions of priors", None)
        return case.undecided(ROUNDED, case.nothing)
    words = (
        "no prior was found for which another is better, and for none is the gap larger than "
        f"{float(found.bound * case.unit):.6g}"
    )
    return case.undecided(words, found.bound)


def undecided(case: Case) -> Universality:
    """What regions of priors tell, or the uniform prior where the metric has too many vertices."""
    try:
        return by_regions(case)
    except TooLargeError:
        return _by_uniform_prior(case)


def _by_uniform_prior(case: Case) -> Universality:
    best = optimal_mechanism(case.metric, case.eps, None, case.wanted, alpha=case.alpha)
    one: Any = Fraction(1) if case.exact else 1.0
    prior = np.full(case.metric.size, one / case.metric.size, dtype=case.table.dtype)
    exact = case.exact and best.mechanism.form == "exact"
    shift = 0 if exact else float(prior @ np.asarray(case.wanted.table, dtype=np.float64).min(axis=0))
    gap = case.lost(prior) - (best.loss if exact else (float(best.loss) - shift) / case.unit)
    if gap > (0 if exact else TOLERANCE):
        words = "another mechanism is better for the uniform prior"
        return case.no(prior, best.mechanism.entries, gap, words)
    return case.undecided(
        f"it is best for the uniform prior; {case.metric.size} inputs have too many cells of priors"
    )
