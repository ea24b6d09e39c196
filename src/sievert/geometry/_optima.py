"""The least loss of all private mechanisms for a prior, over the extreme private columns, with its prices.

min Σ_s c_s·b_s subject to Σ_s b_s·v_s = 1, b ≥ 0, where c_s is what the best action makes of column v_s. The
dual prices λ of the inputs satisfy λ·v_s ≤ c_s for all s; their sum is the least loss. There is one row for
each input and one unknown for each vertex: small for few inputs, whatever the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sievert.arrays import AnyArray, FloatArray, ObjectArray
from sievert.channels import Channel
from sievert.errors import GainError, MetricError, TooLargeError
from sievert.geometry._cells import cell_priors
from sievert.geometry._kernels import Kernel, Kernels, exact_polytope, kernels
from sievert.geometry._polytope import Polytope, polytope
from sievert.measures import table_adversary
from sievert.numerics import advance, fractions_of, require_size
from sievert.policies import Answers, Policy
from sievert.programs import ExactProgram, LinearProgram, exact_optimum, solve
from sievert.proofs import best_loss
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["OptimalKernels", "Optimum", "VertexProgram", "optimal_kernels", "vertex_program"]

# Extreme columns among which an optimum is looked for.
LARGEST_COLUMNS = 4096
# Share of the longest distance to which irrational ones are rounded, where answers are floats anyway.
ROUNDED = 1e-10


@dataclass(frozen=True, eq=False)
class Optimum:
    """The least loss for a prior, prices that prove it, and how much of each extreme column is used."""

    value: Any
    prices: AnyArray
    weights: AnyArray


def _as_fractions(values: AnyArray) -> AnyArray:
    """Numbers as they are: a float is the fraction that it stands for."""
    found = np.empty(values.shape, dtype=object)
    found.ravel()[:] = [Fraction(value) for value in np.asarray(values).ravel().tolist()]
    return found


class VertexProgram:
    """All private mechanisms of a polytope, as weights of its extreme columns [column, input]."""

    def __init__(self, shape: Polytope) -> None:
        found = shape.vertices(limit=LARGEST_COLUMNS + 1)
        require_size(len(found), LARGEST_COLUMNS, "the vertices", "take fewer inputs")
        self.exact = found.exact
        self.columns: AnyArray = found.columns() if found.exact else found.matrix
        self._dense = self.columns.astype(np.float64)
        self._known: dict[Any, Optimum] = {}

    def optimum(self, prior: AnyArray, loss: AnyArray) -> Optimum:
        """The least loss for a prior and a loss [action, input]; in fractions where the columns are."""
        key = tuple(prior.tolist()) if self.exact else None
        if key in self._known:
            return self._known[key]
        table = _as_fractions(loss) * _as_fractions(prior) if self.exact else loss * prior
        scores = self.columns.dot(table.T)
        costs = np.array([min(row) for row in scores.tolist()], dtype=self.columns.dtype)
        found = self._exact(costs) if self.exact else self._floats(costs)
        if key is not None:
            self._known[key] = found
        return found

    def estimate(self, prior: FloatArray, loss: FloatArray) -> float:
        """The least loss in floats, as an LP solver finds it."""
        return float(self._floats((self._dense @ (loss * prior).T).min(axis=1)).value)

    def _exact(self, costs: ObjectArray) -> Optimum:
        n, m = self.columns.shape[1], len(self.columns)
        one = [Fraction(1)] * n
        free: list[Fraction | None] = [None] * m
        program = ExactProgram(costs, self.columns.T, [*one], [*one], [Fraction(0)] * m, free)
        found = exact_optimum(program)
        if found is None:
            raise TooLargeError(
                "the least loss could not be settled in fractions; give a larger ε, or fewer inputs", size=m
            )
        return Optimum(found.value, found.dual, found.primal)

    def _floats(self, costs: NDArray[Any]) -> Optimum:
        n, m = self.columns.shape[1], len(self.columns)
        # At a small ε inputs are nearly alike: the first, and how the others differ from it, in units of ε.
        differences = self._dense.T[1:] - self._dense.T[0]
        unit = float(np.abs(differences).max(initial=0.0)) or 1.0
        rows = np.vstack([self._dense.T[:1], differences / unit])
        ones = np.concatenate([[1.0], np.zeros(n - 1)])
        program = LinearProgram(costs, csc_array(rows), ones, ones, np.zeros(m), np.full(m, np.inf))
        found = solve(program, "simplex", tolerance=1e-10)
        if not found.optimal:
            raise TooLargeError(
                f"the least loss was not found in floats (the solver says {found.status}); give alpha as a "
                "fraction, or a larger ε",
                size=m,
            )
        others = found.dual[1:] / unit
        dual = np.concatenate([[found.dual[0] - others.sum()], others])
        return Optimum(float(costs @ found.primal), dual, np.maximum(found.primal, 0.0))

    def channel(self, weights: AnyArray, inputs: Any) -> Channel:
        """The mechanism with these weights."""
        used = np.flatnonzero(np.asarray(weights > 0, dtype=bool))
        table = (self.columns[used] * weights[used][:, None]).T
        if self.exact:
            return Channel.trusted(table, "exact", inputs)
        return Channel.trusted(table / table.sum(axis=1)[:, None], "float", inputs)


def vertex_program(shape: Polytope) -> VertexProgram:
    """The program of a polytope; irrational distances are rounded to a ten-billionth of the longest."""
    try:
        return VertexProgram(shape)
    except MetricError:
        lengths = shape.metric.matrix
        longest = float(lengths[np.isfinite(lengths)].max())
        step = f"{longest * ROUNDED:.1g}"
        return VertexProgram(polytope(shape.metric, shape.level.eps, tolerance=step))


@dataclass(frozen=True, eq=False)
class OptimalKernels(Result):
    """The kernels that are best for a loss whatever the prior.

    Attributes
    ----------
    kernels : all kernels of the metric
    optimal : positions of those that are universally optimal for the loss
    """

    kernels: Kernels = field(repr=False)
    optimal: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.optimal)

    def __getitem__(self, item: int) -> Kernel:
        return self.kernels[self.optimal[item]]

    def __str__(self) -> str:
        if not self.optimal:
            return f"none of the {len(self.kernels)} kernels is best for this loss whatever the prior"
        return f"{len(self)} of the {len(self.kernels)} kernels are best for this loss whatever the prior"

    def to_dict(self) -> dict[str, Any]:
        """Which kernels, as plain data."""
        return {"optimal": list(self.optimal), "kernels": self.kernels.to_dict()}


def optimal_kernels(metric: Metric | Policy | Answers, alpha: object, loss: object) -> OptimalKernels:
    """Which kernels are best for a loss, whatever the prior, in fractions.

    Parameters
    ----------
    metric : Metric, Policy or Answers, with whole distances
    alpha : e^-ε for one unit of distance, as a fraction
    loss : a loss (`sv.losses`) with exact entries

    Returns
    -------
    OptimalKernels
        Those generate all mechanisms that are universally optimal for the loss; where there is none, neither
        is any mechanism.

    Notes
    -----
    A kernel is universally optimal iff it loses least at the corners of the cells of priors on which its loss
    is linear.

    Cost: a linear program in fractions for each corner of each kernel.

    References
    ----------
    Fernandes, Thm 6.16.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.spaces import metrics
    >>> print(optimal_kernels(metrics.line(3), "1/2", losses.absolute(3)))
    1 of the 2 kernels are best for this loss whatever the prior
    """
    shape = exact_polytope(metric, alpha)
    wanted = table_adversary(loss, "loss", is_loss=True).for_secrets(shape.inputs)
    if not wanted.is_exact:
        raise GainError("loss: its entries are floats; give fractions or whole numbers for an exact decision")
    table = fractions_of(wanted.table.tolist())
    found = kernels(metric, alpha)
    program = VertexProgram(shape)
    best = []
    for k, kernel in enumerate(found):
        advance("kernels", k, len(found))
        if _is_best(program, np.asarray(kernel.channel.entries), table):
            best.append(k)
    return OptimalKernels(found, tuple(best))


def _is_best(program: VertexProgram, channel: ObjectArray, loss: ObjectArray) -> bool:
    """Whether a mechanism loses least at every corner of its cells."""
    for corner in cell_priors(channel, loss):
        prior = np.array(corner, dtype=object)
        if best_loss(prior, channel, loss) != program.optimum(prior, loss).value:
            return False
    return True
