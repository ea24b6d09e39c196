"""Does any mechanism serve a loss best whatever the prior? By the theorem that applies, or by all kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel, target_metric
from sievert.design._input_blocks import blocks_of
from sievert.design._optimal import as_loss
from sievert.design._universal_case import MOST_LISTED
from sievert.errors import MechanismError
from sievert.geometry import has_universally_optimal, kernels, optimal_kernels, pair_T_realizable, polytope
from sievert.measures import single_crossing_order, undominated
from sievert.measures.losses import classify_loss
from sievert.mechanisms import privacy, tight_constraints, two_point_blocks, versus
from sievert.policies import Answers, Policy
from sievert.proofs import ProofSpace, line_order
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Existence", "existence_by_theorem", "universal_existence"]

# Kernels that are tried one by one where no theorem speaks, and inputs of a metric whose kernels are listed.
LARGEST_KERNELS, LARGEST_INPUTS = 300, 6


@dataclass(frozen=True)
class Existence(Result):
    """Whether some mechanism is best for a loss whatever the prior, and which theorem says so.

    Attributes
    ----------
    holds : True, False, or None where no theorem speaks and the metric is too large for a search
    theorem : the theorem, or what was searched
    mechanism : one that is, where one is known
    """

    holds: bool | None
    theorem: str
    mechanism: Channel | None = field(repr=False)

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        verdict = {
            True: "some mechanism is best for this loss whatever the prior",
            False: "no mechanism is best for this loss whatever the prior",
            None: "not decided whether a mechanism is best for this loss whatever the prior",
        }
        return f"{verdict[self.holds]}: {self.theorem}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; a mechanism on many inputs is left out."""
        found = super().to_dict()
        if self.mechanism is not None and len(self.mechanism.inputs) > MOST_LISTED:
            found["mechanism"] = None
        return found


def universal_existence(
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    loss: object = None,
    *,
    alpha: object = None,
) -> Existence:
    """Whether some mechanism is best for a loss whatever the prior, by the theorem that applies.

    Parameters
    ----------
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default
    alpha : e^-eps, instead of eps; with fractions small metrics are searched where no theorem speaks

    Returns
    -------
    Existence
        With a mechanism where one is known.

    Notes
    -----
    Cost: O(actions²·inputs²) for the theorems; the search tries every kernel.

    References
    ----------
    Fernandes, Thm 6.4, Thm 6.14, Thm 6.16, Thm 6.28, Thm 6.33.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.spaces import metrics
    >>> universal_existence(metrics.discrete(4), 1.0, losses.absolute(4)).theorem
    'non-trivial pairs of inputs form an odd cycle under the discrete metric (Thm 6.33)'
    >>> universal_existence(metrics.line(4), 1.0, losses.absolute(4)).theorem
    'single crossing on a line: the geometric mechanism (Theorem SC, Thm 6.4)'
    """
    space = target_metric(metric)
    wanted = as_loss(loss, space.points)
    level = privacy(eps, alpha)
    found = existence_by_theorem(space, eps, wanted, alpha=alpha)
    if found is not None:
        return found
    if level.alpha is None or not wanted.is_exact or space.size > LARGEST_INPUTS:
        return Existence(
            None, "no theorem applies; give alpha and the loss as fractions, for few inputs", None
        )
    if len(kernels(space, level.alpha, limit=LARGEST_KERNELS + 1)) > LARGEST_KERNELS:
        return Existence(None, f"no theorem applies, and there are more than {LARGEST_KERNELS} kernels", None)
    best = optimal_kernels(space, level.alpha, wanted)
    words = f"{len(best)} of the {len(best.kernels)} kernels are (Thm 6.16)"
    return Existence(len(best) > 0, words, best[0].channel if len(best) else None)


def existence_by_theorem(
    space: Metric, eps: float | None, loss: object, *, alpha: object = None
) -> Existence | None:
    """The first theorem that decides; None where none does."""
    wanted, rate = as_loss(loss, space.points), privacy(eps, alpha).eps
    table: AnyArray = wanted.table
    kinds = classify_loss(wanted)
    if kinds.trivial is not None:
        constant = Channel([[1]] * space.size, space.points)
        return Existence(True, "one action is best whatever the input (Lem 6.19)", constant)
    if rate in (0.0, np.inf):
        words = "nothing may be told" if rate == 0 else "everything may be told"
        rows = np.isfinite(space.matrix) if rate == 0 else space.matrix == 0
        return Existence(True, words, Channel(rows.astype(np.int64), space.points, normalise=True))
    if has_universally_optimal(space):
        words = "two inputs" if space.size <= 2 else "no three inputs at finite distance of each other"
        best = two_point_blocks(space, eps, alpha=alpha)
        return Existence(True, f"{words}: best for every loss (Thm 6.14, Thm 6.15)", best)
    order = _line(space)
    if order is not None and single_crossing_order(table[:, order]) is not None:
        words = "single crossing on a line: the geometric mechanism (Theorem SC, Thm 6.4)"
        return Existence(True, words, tight_constraints(space, eps, alpha=alpha))
    matter = np.flatnonzero((table != table[0]).any(axis=0))
    if len(matter) == 2:
        first, second = (space.points[int(x)] for x in matter)
        pair = pair_T_realizable(space, first, second, eps, alpha=alpha)
        if pair:
            return Existence(
                True, "a loss about one pair, told apart as far as allowed (Lem 6.20)", pair.mechanism
            )
    if space.uniform_distance is not None and np.isfinite(space.uniform_distance):
        if kinds.two_actions:
            better = undominated(table)
            members = [x for x, v, w in zip(space.points, *(table[k] for k in better), strict=True) if v < w]
            bit = versus(space, members, eps, alpha=alpha)
            return Existence(True, "two actions under the discrete metric: one bit (Thm 6.28)", bit)
        if not kinds.pairs_bipartite:
            words = "non-trivial pairs of inputs form an odd cycle under the discrete metric (Thm 6.33)"
            return Existence(False, words, None)
    return _tree(space, table, eps, alpha) or _by_blocks(space, table, eps, alpha)


def _by_blocks(space: Metric, table: AnyArray, eps: Any, alpha: Any) -> Existence | None:
    """The same question for one input of each block that metric and loss do not tell apart inside."""
    blocks = blocks_of(space.matrix, table)
    if len(blocks) == space.size:
        return None
    first = [block[0] for block in blocks]
    inside = space.restricted([space.points[x] for x in first])
    found = existence_by_theorem(inside, eps, table[:, first].tolist(), alpha=alpha)
    if found is None:
        return None
    words = f"inputs in {len(blocks)} blocks (quotient theorem); {found.theorem}"
    if found.mechanism is None:
        return Existence(found.holds, words, None)
    home = np.empty(space.size, dtype=np.intp)
    for k, block in enumerate(blocks):
        home[list(block)] = k
    given = found.mechanism
    whole = Channel.trusted(given.entries[home], given.form, space.points, given.outputs)
    return Existence(found.holds, words, whole)


def _line(space: Metric) -> list[int] | None:
    shape = polytope(space)
    if shape.merged:
        return None
    pairs = shape._pairs
    return line_order(ProofSpace(space.size, pairs, space.matrix[pairs[:, 0], pairs[:, 1]]))


def _tree(space: Metric, table: AnyArray, eps: Any, alpha: Any) -> Existence | None:
    """Bayes risk on a tree, where the exponential kernel exists."""
    gains = table.max(axis=0)[None, :] - table
    shape = polytope(space)
    if ((gains > 0).sum(axis=1) > 1).any() or shape.merged or len(shape._pairs) != space.size - 1:
        return None
    try:
        kernel = tight_constraints(space, eps, alpha=alpha)
    except MechanismError:
        return None
    return Existence(True, "Bayes risk on a tree: the exponential kernel (Theorem TREE-BAYES)", kernel)
