"""A linear program whose inequality rows arrive over time: solved from scratch, then from the last basis.

minimise cost·x over x ≥ 0 with equality rows given at the start and rows x_left - coefficient·x_right ≥ 0
added in rounds. Large first rounds go to the interior point with crossover, which is several times faster
than the simplex there; later rounds are a few dual simplex steps, with Devex pricing, since exact
steepest-edge weights would have to be computed anew for the imported basis.
"""

from __future__ import annotations

from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sievert.numerics.checks import brief
from sievert.numerics.linear_programs import Unsolved, run_solver

__all__ = ["RowProgram", "cost_scale"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
# Coefficients below the default 1e-9 would silently be deleted.
SMALLEST_COEFFICIENT = 1e-12
LARGEST_COST = 14


class RowProgram:
    """The program, its live solver and the rows added so far.

    Parameters
    ----------
    cost : objective
    equalities : matrix of the equality rows, whose right side is `right`
    tolerance : primal and dual feasibility (HiGHS accepts 1e-10 at the least)
    seconds : after which every solve stops with what it has; None for no limit

    The solver measures dual feasibility in units of the cost, so costs are scaled up before and multipliers
    down after: a tolerance of 1e-10 is then 1e-14 of the largest cost.
    """

    def __init__(
        self,
        cost: FloatArray,
        equalities: csr_array,
        right: FloatArray,
        tolerance: float = 1e-10,
        seconds: float | None = None,
    ):
        self.scale = cost_scale(cost)
        self.seconds = seconds
        self.equalities = equalities.shape[0]
        self.left = np.empty(0, dtype=np.intp)
        self.right = np.empty(0, dtype=np.intp)
        self.coefficient = np.empty(0)
        self.solver = highspy.Highs()
        self._set("output_flag", False)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._set(name, max(tolerance, 1e-10))
        self._set("small_matrix_value", SMALLEST_COEFFICIENT)
        size = len(cost)
        self.solver.addVars(size, np.zeros(size), np.full(size, highspy.kHighsInf))
        self.solver.changeColsCost(size, np.arange(size, dtype=np.int32), cost * self.scale)
        rows = equalities.tocsr()
        self.solver.addRows(
            rows.shape[0],
            right,
            right,
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data,
        )

    def _set(self, name: str, value: Any) -> None:
        self.solver.setOptionValue(name, value)

    def add(self, left: IndexArray, right: IndexArray, coefficient: FloatArray) -> None:
        """Require x_left ≥ coefficient·x_right for each entry."""
        count = len(left)
        if not count:
            return
        index = np.column_stack([left, right]).astype(np.int32).ravel()
        value = np.column_stack([np.ones(count), -coefficient]).ravel()
        starts = np.arange(0, 2 * count, 2, dtype=np.int32)
        infinite = np.full(count, highspy.kHighsInf)
        self.solver.addRows(count, np.zeros(count), infinite, 2 * count, starts, index, value)
        self.left = np.concatenate([self.left, left])
        self.right = np.concatenate([self.right, right])
        self.coefficient = np.concatenate([self.coefficient, coefficient])

    def solve(
        self, method: Literal["simplex", "ipm", "warm", "pdlp"]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve; "warm" goes on from the last basis.

        Returns
        -------
        x, the prices of the equality rows, and the multipliers of the rows added (in their order, ≥ 0)
        """
        self._set("solver", "simplex" if method == "warm" else method)
        if method == "warm":
            self._set("simplex_dual_edge_weight_strategy", 1)
        if self.seconds is not None:
            self._set("time_limit", self.seconds)
        run_solver(self.solver, self.solver.getNumNz())
        found = self.solver.getSolution()
        primal, dual = np.array(found.col_value), np.array(found.row_dual)
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # Whatever was reached is as good a guess as any; without numbers there is none.
            word = self.solver.modelStatusToString(self.solver.getModelStatus()).lower()
            if not len(primal) or not np.isfinite(primal).all() or not np.isfinite(dual).all():
                raise Unsolved(f"the linear-program solver stopped with the status {brief(word)}")
        dual /= self.scale
        return primal, dual[: self.equalities], np.maximum(dual[self.equalities :], 0.0)

    @property
    def out_of_time(self) -> bool:
        """Whether the time that was given is spent; the clock runs over all solves."""
        return self.seconds is not None and self.solver.getRunTime() >= self.seconds


def cost_scale(cost: FloatArray) -> float:
    """A power of 2 that brings the largest cost to about 2^14."""
    largest = float(np.abs(cost).max(initial=0.0))
    return 1.0 if largest == 0 else float(2.0 ** (LARGEST_COST - np.frexp(largest)[1]))
