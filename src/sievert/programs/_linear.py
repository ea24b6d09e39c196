"""Linear programs through HiGHS, with the duals and the basis that certificates are made from.

Nothing here is a proof: a solution is a float guess. Callers turn it into a bound that holds whatever the
solver did, or rebuild it over the rationals (`sievert.programs._exact`).
"""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from sievert.arrays import FloatArray, IndexArray
from sievert.numerics import abbreviated, advance

__all__ = [
    "GrowingProgram",
    "LinearProgram",
    "MovingProgram",
    "RowProgram",
    "Solution",
    "Unsolved",
    "cost_scale",
    "run_solver",
    "solve",
    "solved",
]
Method = Literal["choose", "simplex", "ipm", "pdlp"]

# Entries of a program from which solving may take seconds.
LONG_PROGRAM = 20_000
# After so many steps such a program says how far it is.
SHOWN_STEPS = 100
# Bounds are blown up by this before a solver with an absolute tolerance sees them.
MAGNIFIED = 2.0**8
# Multipliers that miss a cost by more are looked for inside the optimal face too.
LARGEST_MISS = 1e-11


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """minimise cost·x subject to row_lower ≤ matrix·x ≤ row_upper, lower ≤ x ≤ upper."""

    cost: FloatArray
    matrix: csc_array = field(repr=False)
    row_lower: FloatArray = field(repr=False)
    row_upper: FloatArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver returned.

    Attributes
    ----------
    status : "optimal", "infeasible", "unbounded" or the solver's own word
    value : objective
    primal, reduced : one entry a column (value and reduced cost)
    activity, dual : one entry a row (matrix·x and its multiplier; cost = matrixᵀ·dual + reduced)
    basic_columns, basic_rows : which variables and slacks are basic (empty after an interior point without
        crossover, or when not asked for)
    """

    status: str
    value: float
    primal: FloatArray
    reduced: FloatArray
    activity: FloatArray
    dual: FloatArray
    basic_columns: NDArray[np.bool_]
    basic_rows: NDArray[np.bool_]

    @property
    def optimal(self) -> bool:
        """Whether the solver says it reached an optimum within its tolerances."""
        return self.status == "optimal"


class Unsolved(Exception):
    """The solver found no optimum of a program that has one."""


def solved(
    program: LinearProgram,
    method: Method = "choose",
    *,
    tolerance: float = 1e-9,
    crossover: bool = True,
    time_limit: float | None = None,
) -> Solution:
    """Solve a program that is known to have an optimum; `Unsolved` when the solver does not find it."""
    solution = solve(program, method, tolerance=tolerance, crossover=crossover, time_limit=time_limit)
    if not solution.optimal or not np.isfinite(solution.primal).all():
        raise Unsolved(f"the linear-program solver stopped with the status {solution.status!r}")
    return solution


def solve(
    program: LinearProgram,
    method: Method = "choose",
    *,
    tolerance: float = 1e-9,
    crossover: bool = True,
    presolve: bool = True,
    basis: bool = True,
    time_limit: float | None = None,
) -> Solution:
    """Solve a linear program.

    Parameters
    ----------
    method : solver of HiGHS
    tolerance : primal and dual feasibility; HiGHS accepts 1e-10 at the least
    crossover : after an interior point, move to a vertex (needed for a basis)
    presolve : simplify first; small programs are faster without
    basis : read the basis too; reading it costs as much as solving a small program
    """
    solver = highspy.Highs()
    options: dict[str, Any] = {
        "output_flag": False,
        "solver": method,
        "primal_feasibility_tolerance": max(tolerance, 1e-10),
        "dual_feasibility_tolerance": max(tolerance, 1e-10),
        "run_crossover": "on" if crossover else "off",
        "presolve": "choose" if presolve else "off",
    }
    if time_limit is not None:
        options["time_limit"] = time_limit
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(_model(program))
    run_solver(solver, program.matrix.nnz)
    return _solution(solver, program, basis)


def run_solver(solver: Any, entries: int) -> None:
    """Solve; a program that takes long says how far it is, and looks whether Ctrl-C was pressed meanwhile.

    Signals reach Python in the main thread only, and there only between two steps of Python: the solver's own
    call to ask is one.
    """
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    if entries < LONG_PROGRAM or before is None:
        solver.run()
        return
    pressed: list[int] = []
    rows = solver.getNumRow()

    def look(event: Any) -> None:
        if pressed:
            event.interrupt()
        steps = event.data_out.simplex_iteration_count
        if steps > 0 and steps % SHOWN_STEPS == 0:
            # The simplex takes about as many steps as there are rows, often more.
            advance("steps of the linear program", steps, max(steps, rows))

    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    events = (solver.cbSimplexInterrupt, solver.cbIpmInterrupt)
    try:
        for event in events:
            event.subscribe(look)
        solver.run()
    finally:
        for event in events:
            event.unsubscribe(look)
        signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


def _model(program: LinearProgram) -> Any:
    rows, columns = program.matrix.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = program.cost
    model.col_lower_, model.col_upper_ = program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    matrix = program.matrix.tocsc()
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    return model


def _solution(solver: Any, program: LinearProgram, with_basis: bool = True) -> Solution:
    found = solver.getSolution()
    basis = solver.getBasis() if with_basis else None
    basic = highspy.HighsBasisStatus.kBasic
    status = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kUnbounded: "unbounded",
        highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible or unbounded",
    }.get(solver.getModelStatus(), solver.modelStatusToString(solver.getModelStatus()).lower())
    rows, columns = program.matrix.shape
    return Solution(
        status=status,
        value=float(solver.getInfo().objective_function_value),
        primal=_filled(found.col_value, columns),
        reduced=_filled(found.col_dual, columns),
        activity=_filled(found.row_value, rows),
        dual=_filled(found.row_dual, rows),
        basic_columns=np.array([s == basic for s in basis.col_status] if basis else [], dtype=bool),
        basic_rows=np.array([s == basic for s in basis.row_status] if basis else [], dtype=bool),
    )


def _filled(values: Any, size: int) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    return array if len(array) == size else np.full(size, np.nan)


class GrowingProgram:
    """minimise cost·x over free x with rows k·x ≥ 1, added over time; each solve starts from the last.

    Adding rows keeps the last basis dual feasible, so the dual simplex needs few steps.
    """

    def __init__(self, cost: FloatArray) -> None:
        self.size = len(cost)
        self.rows = 0
        self.solver = highspy.Highs()
        for name, value in (("output_flag", False), ("presolve", "off"), ("solver", "simplex")):
            self.solver.setOptionValue(name, value)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.solver.setOptionValue(name, 1e-10)
        free = np.full(self.size, highspy.kHighsInf)
        self.solver.addVars(self.size, -free, free)
        self.solver.changeColsCost(self.size, np.arange(self.size, dtype=np.int32), cost)

    def add(self, rows: FloatArray) -> None:
        """Require k·x ≥ 1 for each row k."""
        count = len(rows)
        index = np.tile(np.arange(self.size, dtype=np.int32), count)
        starts = np.arange(0, count * self.size, self.size, dtype=np.int32)
        upper = np.full(count, highspy.kHighsInf)
        self.solver.addRows(count, np.ones(count), upper, rows.size, starts, index, rows.ravel())
        self.rows += count

    def drop(self, rows: NDArray[np.intp]) -> None:
        """Forget rows; those that are slack leave the basis as good as it was."""
        self.solver.deleteRows(len(rows), rows.astype(np.int32))
        self.rows -= len(rows)

    def solve(self) -> tuple[FloatArray, FloatArray, float]:
        """The optimal x, the multiplier of each row, and the value."""
        run_solver(self.solver, self.rows * self.size)
        found = self.solver.getSolution()
        value = float(self.solver.getInfo().objective_function_value)
        return np.array(found.col_value), np.array(found.row_dual), value


def _magnified(program: LinearProgram, scale: float) -> LinearProgram:
    """Costs times `scale`, and bounds times MAGNIFIED."""
    bounds = (program.row_lower, program.row_upper, program.lower, program.upper)
    return LinearProgram(program.cost * scale, program.matrix, *(bound * MAGNIFIED for bound in bounds))


class MovingProgram:
    """A program whose upper bounds on rows move; each solve starts from the last basis.

    Costs are scaled up before and multipliers down after, and so are bounds and the solution, which the
    solver measures by absolute tolerances: 1e-10 of it is 1e-10 / MAGNIFIED of ours.
    """

    def __init__(self, program: LinearProgram, tolerance: float = 1e-10) -> None:
        self.program = program
        # Bounds have taken a part of what both can be scaled by before the simplex loses its way.
        self.scale = cost_scale(program.cost) / MAGNIFIED
        self.tolerance = max(tolerance, 1e-10)
        # Small programs are faster without.
        presolve = "off" if program.matrix.nnz < LONG_PROGRAM else "choose"
        self.solver = self._loaded(_model(_magnified(program, self.scale)), presolve)

    def _loaded(self, model: Any, presolve: str) -> Any:
        solver = highspy.Highs()
        options: dict[str, Any] = {
            "output_flag": False,
            "solver": "simplex",
            "presolve": presolve,
            "small_matrix_value": SMALLEST_COEFFICIENT,
            "primal_feasibility_tolerance": self.tolerance,
            "dual_feasibility_tolerance": self.tolerance,
        }
        for name, value in options.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        return solver

    def solve(self, rows: IndexArray, upper: FloatArray, careful: bool = True) -> Solution:
        """The optimum with these upper bounds on these rows; `Unsolved` when the solver does not find it.

        A careful one is looked for from several sides, until rows and costs are met as closely as floats
        allow.
        """
        self._move(rows, upper)
        moved = self.program.row_upper.copy()
        moved[rows] = upper
        found = self._found()
        if not careful:
            return found
        tried = [found, self._from_basis() or found]
        if min(self._dual_miss(one) for one in tried) > LARGEST_MISS:
            tried.append(self._inside() or found)
        first = min(tried, key=lambda one: self._primal_miss(one, moved))
        second = min(tried, key=self._dual_miss)
        return replace(
            first, value=float(self.program.cost @ first.primal), dual=second.dual, reduced=second.reduced
        )

    def inside(self, rows: IndexArray, upper: FloatArray) -> Solution:
        """As `solve`, by the interior point alone: no vertex, and the same few steps for any bounds."""
        self._move(rows, upper)
        found = self._inside()
        if found is None:
            raise Unsolved("the linear-program solver found no optimum from inside")
        return replace(found, value=float(self.program.cost @ found.primal))

    def _move(self, rows: IndexArray, upper: FloatArray) -> None:
        """These upper bounds on these rows."""
        for row, value in zip(rows.tolist(), upper.tolist(), strict=True):
            low = float(self.program.row_lower[row])
            self.solver.changeRowBounds(row, low * MAGNIFIED, value * MAGNIFIED)

    def _primal_miss(self, found: Solution, upper: FloatArray) -> float:
        """By how much rows and bounds are missed: chains of small factors hide that from the solver."""
        activity = self.program.matrix @ found.primal
        misses = (
            self.program.row_lower - activity,
            activity - upper,
            self.program.lower - found.primal,
            found.primal - self.program.upper,
        )
        return max(float(miss.max(initial=0.0)) for miss in misses)

    def _dual_miss(self, found: Solution) -> float:
        """By how much a column that is not at its upper bound costs less than the multipliers say."""
        reduced = self.program.cost - self.program.matrix.T @ found.dual
        free = found.primal < self.program.upper - LARGEST_MISS
        return float((-reduced[free]).max(initial=0.0))

    def _found(self) -> Solution:
        """From the last basis; where that leads nowhere, from none, and then by the interior point."""
        status = ""
        for method in ("last", "simplex", "ipm"):
            if method != "last":
                self.solver.clearSolver()
                self.solver.setOptionValue("solver", method)
                self.solver.setOptionValue("presolve", "choose")
            run_solver(self.solver, self.program.matrix.nnz)
            found = self._read(self.solver)
            self.solver.setOptionValue("solver", "simplex")
            if found is not None:
                return found
            status = status or str(self.solver.modelStatusToString(self.solver.getModelStatus())).lower()
        raise Unsolved(f"the linear-program solver stopped with the status {status!r}")

    def _again(self, **options: Any) -> Any:
        """Another solver on the program as it stands."""
        solver = self._loaded(self.solver.getLp(), "off")
        for name, value in options.items():
            solver.setOptionValue(name, value)
        return solver

    def _from_basis(self) -> Solution | None:
        """The same basis without the solver's own scaling: fewer digits are lost on the way back."""
        solver = self._again(simplex_scale_strategy=0)
        solver.setBasis(self.solver.getBasis())
        run_solver(solver, self.program.matrix.nnz)
        return self._read(solver)

    def _inside(self) -> Solution | None:
        """A point inside the optimal face, whose multipliers are not chained."""
        options = {"solver": "ipm", "run_crossover": "off", "presolve": "choose"}
        solver = self._again(ipm_optimality_tolerance=1e-12, **options)
        run_solver(solver, self.program.matrix.nnz)
        return self._read(solver)

    def _read(self, solver: Any) -> Solution | None:
        """The solution in the program's own units; None where there is none."""
        found = _solution(solver, self.program, with_basis=False)
        if not found.optimal or not np.isfinite(found.primal).all():
            return None
        return replace(
            found,
            value=found.value / self.scale / MAGNIFIED,
            primal=found.primal / MAGNIFIED,
            activity=found.activity / MAGNIFIED,
            reduced=found.reduced / self.scale,
            dual=found.dual / self.scale,
        )


# ── A linear program whose inequality rows arrive over time ─────────────────────────────────────────────────
# A linear program whose inequality rows arrive over time: solved from scratch, then from the last basis.
#
# minimise cost·x over x ≥ 0 with equality rows given at the start and rows x_left - coefficient·x_right ≥ 0
# added in rounds. Large first rounds go to the interior point with crossover, which is several times faster
# than the simplex there; later rounds are a few dual simplex steps, with Devex pricing, since exact
# steepest-edge weights would have to be computed anew for the imported basis.
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
                raise Unsolved(f"the linear-program solver stopped with the status {abbreviated(word)}")
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
