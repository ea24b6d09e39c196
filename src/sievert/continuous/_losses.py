"""What a guess of a real number costs: the losses whose price is known on an interval.

Named as in a file ("absolute", { pinball = 0.8 }), or made here: steps (constant on parts of the interval),
and any function of guess and truth with a Lipschitz constant.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import FloatArray
from sievert.continuous._density import rational
from sievert.errors import GainError
from sievert.measures import GainMatrix, losses
from sievert.numerics import abbreviated, did_you_mean, function, instance, non_negative, require_size, taken

__all__ = [
    "Band",
    "Cells",
    "Function",
    "IntervalLoss",
    "Quantile",
    "Squared",
    "Steps",
    "Table",
    "Threshold",
    "function_loss",
    "loss_of",
    "step_loss",
]

# Entries of a table [action, part].
MOST_COSTS = 10_000_000


class IntervalLoss:
    """A loss l(guess, truth) ≥ 0 on an interval."""

    words: str = "loss"
    # Whether of any two guesses the larger is first worse, then better as the truth grows; None: not known.
    crosses_once: ClassVar[bool | None] = None

    def lipschitz(self, width: float) -> float | None:
        """How fast it changes with the truth at most; None where it jumps."""
        return None

    def largest(self, width: float) -> float:
        """The largest loss of a sensible guess."""
        return 1.0

    def actions_on(self, points: int) -> int:
        """How many actions there are on so many points."""
        return points

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        """[action, point] on finitely many points, with the actions that can be best there."""
        raise NotImplementedError


@dataclass(frozen=True)
class Quantile(IntervalLoss):
    """factor·(q·(x - w) below the truth, (1 - q)·(w - x) above it): the best guess is the q-quantile."""

    crosses_once = True
    quantile: Fraction
    factor: Fraction
    words: str

    def lipschitz(self, width: float) -> float:
        return float(self.factor * max(self.quantile, 1 - self.quantile))

    def largest(self, width: float) -> float:
        return self.lipschitz(width) * width

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        off = points[None, :] - points[:, None]
        q, factor = float(self.quantile), float(self.factor)
        return np.where(off > 0, factor * q * off, factor * (q - 1) * off), tuple(points.tolist())


@dataclass(frozen=True)
class Squared(IntervalLoss):
    """(w - x)²; the best guess is the mean."""

    crosses_once = True
    words: str = "squared error"

    def lipschitz(self, width: float) -> float:
        return 2 * width

    def largest(self, width: float) -> float:
        return width * width


@dataclass(frozen=True)
class Steps(IntervalLoss):
    """Constant between the edges: costs[action, part]; a part has its lower end, the last both."""

    edges: tuple[Fraction, ...]
    costs: tuple[tuple[float, ...], ...]
    words: str = "step loss"

    def largest(self, width: float) -> float:
        return max(max(row) for row in self.costs)

    def actions_on(self, points: int) -> int:
        return len(self.costs)

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        inner = np.array([float(edge) for edge in self.edges[1:-1]])
        part = np.searchsorted(inner, points, side="right")
        return np.array(self.costs)[:, part], tuple(range(len(self.costs)))


@dataclass(frozen=True)
class Cells(IntervalLoss):
    """1 unless the guess names the truth's cell of so many; None: the point itself (Bayes risk)."""

    crosses_once = True
    cells: int | None
    words: str = "chance of a wrong cell"

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        return 1.0 - np.eye(len(points)), tuple(points.tolist())

    def steps(self, interval: tuple[Fraction, Fraction]) -> Steps:
        """The same as steps on an interval."""
        if self.cells is None:
            raise GainError(
                'loss is "bayes-risk", but an exact real number is never guessed; give { cells = 10 } for '
                "the chance of naming the wrong one of ten cells"
            )
        low, high = interval
        require_size(self.cells**2, MOST_COSTS, "the costs of all guesses in all cells", "take fewer cells")
        edges = tuple(low + (high - low) * k / self.cells for k in range(self.cells + 1))
        costs = 1.0 - np.eye(self.cells)
        return Steps(edges, tuple(map(tuple, costs.tolist())), self.words)


@dataclass(frozen=True)
class Band(IntervalLoss):
    """0 for a guess within a radius of the truth, else 1."""

    crosses_once = True
    radius: Fraction

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"chance to be off by more than {float(self.radius):g}"

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        # A window that covers the most begins at a point.
        centres = points + float(self.radius)
        off = np.abs(points[None, :] - centres[:, None])
        slack = 1e-12 * max(1.0, float(np.abs(points).max()))
        return (off > float(self.radius) + slack).astype(np.float64), tuple(centres.tolist())


@dataclass(frozen=True)
class Function(IntervalLoss):
    """Any function of guess and truth with finitely many guesses and a Lipschitz constant."""

    call: Callable[[Any, Any], Any]
    actions: tuple[Hashable, ...]
    constant: float | None
    words: str = "loss"

    def lipschitz(self, width: float) -> float | None:
        return self.constant

    def actions_on(self, points: int) -> int:
        return len(self.actions)

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        rows = np.empty((len(self.actions), len(points)))
        for i, action in enumerate(self.actions):
            rows[i] = [_cost(self.call, action, x) for x in points.tolist()]
        if not np.isfinite(rows).all() or (rows < 0).any():
            i, j = map(int, np.argwhere(~np.isfinite(rows) | (rows < 0))[0])
            raise GainError(
                f"loss: {abbreviated(rows[i, j])} for the guess {abbreviated(self.actions[i])} and the truth "
                f"{points[j]:g}; a loss "
                "must be a finite number ≥ 0 (add a constant where it is not)"
            )
        return rows, self.actions


def _cost(call: Callable[[Any, Any], Any], action: Hashable, truth: float) -> float:
    found = call(action, truth)
    try:
        return float(found)
    except (TypeError, ValueError):
        raise GainError(
            f"loss: {abbreviated(found)} for the guess {abbreviated(action)} and the truth {truth:g}; a "
            f"loss must be a "
            "finite number ≥ 0"
        ) from None


@dataclass(frozen=True)
class Table(IntervalLoss):
    """A table [action, point] for points that are given."""

    matrix: GainMatrix

    @property
    def words(self) -> str:  # type: ignore[override]
        return str(self.matrix.name)

    def actions_on(self, points: int) -> int:
        return len(self.matrix.actions)

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        rows = np.asarray(self.matrix.table, dtype=np.float64)
        if rows.shape[1] != len(points):
            raise GainError(
                f"loss has {rows.shape[1]} columns but there are {len(points)} points; give one for each"
            )
        return rows, tuple(self.matrix.actions)


def step_loss(costs: Any, edges: Iterable[object], name: str = "step loss") -> IntervalLoss:
    """A loss that is constant in the truth between edges: the cost of each action on each part.

    Parameters
    ----------
    costs : [action, part], numbers ≥ 0
    edges : the ends of the parts, one more than there are parts; the first and last are those of the interval
    name : what the loss is called

    Returns
    -------
    IntervalLoss

    Notes
    -----
    Cost: O(actions·parts).

    Examples
    --------
    >>> step_loss([[0, 1], [1, 0]], [0, 0.5, 1]).words
    'step loss'
    """
    places = tuple(rational("edges", edge, GainError) for edge in taken("edges", edges, GainError, "numbers"))
    table = losses.matrix(costs, name=name).table.astype(np.float64)
    if len(places) != table.shape[1] + 1 or any(a >= b for a, b in pairwise(places)):
        raise GainError(
            f"edges has {len(places)} entries; {table.shape[1]} parts need {table.shape[1] + 1}, in "
            "increasing order"
        )
    if (table < 0).any():
        raise GainError(f"costs: {table.min():g} is negative; costs must be ≥ 0 (add a constant to a column)")
    return Steps(places, tuple(map(tuple, table.tolist())), name)


def function_loss(
    call: Callable[[Any, Any], Any], actions: Iterable[Hashable], lipschitz: object = None, name: str = "loss"
) -> IntervalLoss:
    """A loss of your own, l(guess, truth) ≥ 0, with the guesses that are allowed.

    Parameters
    ----------
    call : a function of guess and truth
    actions : the guesses
    lipschitz : how much l changes at most for one unit of the truth, whatever the guess; without it only
        priors on points have an answer
    name : what the loss is called

    Returns
    -------
    IntervalLoss

    Notes
    -----
    Cost: O(actions).

    Examples
    --------
    >>> function_loss(lambda w, x: abs(w - x) ** 1.5, [0.0, 0.5, 1.0], lipschitz=1.5).words
    'loss'
    """
    function("call", call, "guess and truth", GainError)
    guesses = tuple(taken("actions", actions, GainError, "guesses"))
    if not guesses:
        raise GainError("actions is empty; give one guess at least")
    for guess in guesses:
        if not isinstance(guess, Hashable):
            raise GainError(f"actions has {abbreviated(guess)}; give numbers, texts or tuples of them")
    constant = None if lipschitz is None else non_negative("lipschitz", lipschitz, GainError)
    return Function(call, guesses, constant, instance("name", name, str, "a text", GainError))


NAMES = ("absolute", "squared", "bayes-risk")
KEYS = ("pinball", "threshold", "tolerance", "cells")


@singledispatch
def loss_of(given: object) -> IntervalLoss:
    """The loss that an argument stands for."""
    try:
        return Table(losses.matrix(given))
    except GainError:
        raise GainError(
            f"loss is {abbreviated(given)}; give one of {', '.join(map(repr, NAMES))}, a table such as "
            f"{{'pinball': 0.8}} "
            f"({', '.join(KEYS)}), a table [action, point] or continuous.function_loss(…)"
        ) from None


@loss_of.register
def _itself(given: IntervalLoss) -> IntervalLoss:
    return given


@loss_of.register
def _of_matrix(given: GainMatrix) -> IntervalLoss:
    return Table(given)


@loss_of.register
def _named(given: str) -> IntervalLoss:
    if given == "absolute":
        return Quantile(Fraction(1, 2), Fraction(2), "absolute error")
    if given == "squared":
        return Squared()
    if given == "bayes-risk":
        return Cells(None, "chance of a wrong value")
    raise GainError(
        f"loss is {abbreviated(given)}; it must be one of {', '.join(NAMES)}{did_you_mean(given, NAMES)}"
    )


@loss_of.register
def _keyed(given: Mapping) -> IntervalLoss:  # type: ignore[type-arg]
    if len(given) != 1 or next(iter(given)) not in KEYS:
        key = next(iter(given), "")
        raise GainError(
            f"loss is {abbreviated(given)}; give one of {', '.join(KEYS)}{did_you_mean(key, KEYS)}"
        )
    ((key, value),) = given.items()
    number = rational(key, value, GainError)
    if key == "pinball":
        if not 0 <= number <= 1:
            raise GainError(f"pinball is {abbreviated(value)}; it must be a quantile from 0 to 1")
        return Quantile(number, Fraction(1), f"pinball loss for the quantile {float(number):g}")
    if key == "threshold":
        words = f"chance of a wrong answer to whether it is at least {float(number):g}"
        return Threshold(number, words)
    if key == "tolerance":
        if number < 0:
            raise GainError(f"tolerance is {abbreviated(value)}; it must be a number ≥ 0")
        return Band(number)
    if number.denominator != 1 or number < 1:
        raise GainError(f"cells is {abbreviated(value)}; it must be a whole number ≥ 1")
    return Cells(int(number))


@dataclass(frozen=True)
class Threshold(IntervalLoss):
    """1 for a wrong answer to whether the truth is at least a number."""

    crosses_once = True
    at: Fraction
    words: str

    def steps(self, interval: tuple[Fraction, Fraction]) -> Steps:
        """The same as steps on an interval."""
        low, high = interval
        if not low < self.at < high:
            return Steps((low, high), ((0.0,), (1.0,)), self.words)
        return Steps((low, self.at, high), ((0.0, 1.0), (1.0, 0.0)), self.words)

    def actions_on(self, points: int) -> int:
        return 2

    def table(self, points: FloatArray) -> tuple[FloatArray, tuple[Hashable, ...]]:
        above = points >= float(self.at)
        return np.array([above, ~above], dtype=np.float64), ("below", "at least")
