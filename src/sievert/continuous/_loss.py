"""What the truncated Laplace mechanism loses: one number between two that are proved."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.continuous._density import Density, rational
from sievert.continuous._discrete import Belief, both_losses, relative_error
from sievert.continuous._enclosure import enclosed
from sievert.continuous._losses import Cells, IntervalLoss, loss_of
from sievert.errors import MechanismError, PriorError
from sievert.mechanisms import privacy
from sievert.numerics import is_whole, require_size, taken, whole
from sievert.results import Result

__all__ = ["LaplaceLoss", "belief_of", "finite_eps", "laplace_loss", "on_points"]
MOST_POINTS = 20_000_000
# Below this, what a sum of floats lost to underflow might matter.
SMALLEST = 1e-290


@dataclass(frozen=True)
class LaplaceLoss(Result):
    """The expected loss of the truncated Laplace with the best guess for each output.

    Attributes
    ----------
    value : the loss; where no more than an upper bound is proved, that bound
    low, high : proved bounds on it
    loss : what is lost
    eps : nats for one unit
    cells : of the grid that the bounds come from; for a prior on points, how many points there are
    method : how it was found
    """

    value: float
    low: float
    high: float
    loss: str
    eps: float
    cells: int
    method: str

    def __float__(self) -> float:
        return self.value

    def amount(self) -> str:
        """The loss with its bounds, in words."""
        if self.low == self.high:
            return f"{self.value:.6g} ({self.loss}), exactly"
        if self.low == 0:
            return f"at most {self.high:.6g} ({self.loss}); no more is proved"
        spread = max(self.high - self.low, math.ulp(self.high))
        digits = max(3, min(17, math.floor(-math.log10(spread / self.high))))
        return (
            f"{self.value:.{digits}g} ({self.loss}), certainly between {self.low:.{digits + 2}g} and "
            f"{self.high:.{digits + 2}g}"
        )

    def __str__(self) -> str:
        return f"the truncated Laplace of ε = {self.eps:.6g} loses {self.amount()}"


def laplace_loss(
    prior: object,
    loss: object,
    eps: object,
    points: int | Iterable[object] | None = None,
) -> LaplaceLoss:
    """The expected loss of the truncated Laplace mechanism, between two proved numbers.

    Parameters
    ----------
    prior : a `Density`; or probabilities of points (None: all alike)
    loss : "absolute", "squared", "bayes-risk"; {"pinball": 0.8}, {"threshold": 0.5}, {"tolerance": 0.1} or
        {"cells": 4}; a table [action, point]; `step_loss(…)` or `function_loss(…)`
    eps : nats for one unit of the values
    points : where a prior of probabilities lives: increasing numbers, or how many equal cells [0, 1] has; by
        default as many as there are probabilities. Densities need none.

    Returns
    -------
    LaplaceLoss
        With `low` and `high`, certified.

    Notes
    -----
    For points, the exact integral of the lower envelope, in closed form. For densities an integral over cells
    on which everything is a power series, by Gauss–Legendre with the bound of Bernstein's ellipses on what
    it misses: some twelve digits, for every ε of up to 20,000 nats over the interval. Fewer where less is
    known, and `method` says so: a distribution function alone says nothing of what lies within a cell, a
    Lipschitz constant nothing of what a loss does between points. For a tolerance and a belief with several
    peaks, the outputs at which the best window jumps are found and proved, each by one comparison.

    Cost: O(n·log n) for n points and the named losses, O(n·actions) for tables; for densities O(c·log c) with
    about 2·ε·(interval) cells c beside the density's own.

    Examples
    --------
    >>> print(laplace_loss([1/3, 1/3, 1/3], "bayes-risk", 2.772588722239781))
    the truncated Laplace of ε = 2.77259 loses 0.3333333333333 (chance of a wrong value), certainly between \
0.333333333333323 and 0.333333333333344
    >>> found = laplace_loss(Density.uniform(), "squared", 1)
    >>> found.low < 0.077991121920711 < found.high
    True
    """
    level = finite_eps(eps)
    wanted = loss_of(loss)
    if isinstance(prior, Density):
        if points is not None:
            raise PriorError(
                "points: a density is on an interval; leave points out, or give probabilities of points"
            )
        found = enclosed(prior, wanted, level)
        middle = found.high if found.low == 0 else (found.low + found.high) / 2
        return LaplaceLoss(middle, found.low, found.high, wanted.words, level, found.cells, found.method)
    belief = belief_of(prior, points, level)
    _, value, error = on_points(wanted, belief)
    return LaplaceLoss(
        value,
        max(0.0, value - error),
        value + error,
        wanted.words,
        level,
        len(belief.points),
        "exact on points",
    )


def finite_eps(eps: object) -> float:
    """ε in nats, finite."""
    level = privacy(eps, None).eps
    if math.isinf(level):
        raise MechanismError(
            "eps is inf: without noise nothing is lost but what the guess itself cannot say; give a finite "
            "eps"
        )
    return level


def on_points(loss: IntervalLoss, belief: Belief) -> tuple[float, float, float]:
    """The losses of geometric and Laplace, and how far off either can be."""
    wanted = loss
    if isinstance(loss, Cells) and loss.cells is not None:
        low, high = (rational("points", end) for end in belief.points[[0, -1]])
        wanted = loss.steps((low, high))
    geometric, laplace = both_losses(wanted, belief)
    return geometric, laplace, abs(laplace) * relative_error(belief) + SMALLEST


def belief_of(prior: object, points: int | Iterable[object] | None, eps: float) -> Belief:
    """Probabilities with the places they are at."""
    if points is None:
        if prior is None:
            raise PriorError("points is missing; give the points, or how many equal cells [0, 1] has")
        count = len(taken("prior", prior, PriorError, "probabilities"))
        places: FloatArray = np.arange(count) / max(count - 1, 1)
    elif is_whole(points):
        cells = whole("points", points, PriorError, least=0)
        require_size(cells, MOST_POINTS, "the points", "take fewer")
        places = np.arange(cells + 1) / max(cells, 1)
    elif isinstance(points, np.ndarray) and points.dtype == np.float64 and points.ndim == 1:
        places = points
    else:
        listed = taken("points", points, PriorError, "numbers")
        places = np.array([float(rational("points", x)) for x in listed])
    if not len(places) or not np.isfinite(places).all() or (np.diff(places) <= 0).any():
        raise PriorError("points: give one finite number at least, in increasing order")
    if prior is None:
        return Belief(places, np.full(len(places), 1 / len(places)), eps)
    return Belief(places, np.asarray(as_prior(prior, len(places)), dtype=np.float64), eps)
