"""One remap for a whole class of losses: when a mechanism serves everybody at least as well as another.

Classes of losses that are convex cones, and that scaling by a prior leaves alone, are served by one remap if
they are served at all (minimax); whether there is one is a linear program in the remap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array

from sievert.channels import Channel, finite_channel, target_metric
from sievert.errors import ChannelError, SievertError
from sievert.numerics import choice
from sievert.policies import Answers, Policy
from sievert.programs import LinearProgram, solve
from sievert.results import Result
from sievert.spaces import Metric, align

__all__ = ["Domination", "dominating_remap"]

# A margin below 0 by less is rounding of the program.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Domination(Result):
    """Whether one remap makes a mechanism at least as good as another for a whole class of losses.

    Attributes
    ----------
    holds : whether there is such a remap
    remap : it, from the mechanism's outputs to the other's
    slack : the largest margin with which all comparisons can hold at once; negative where none is possible
    losses : the class
    """

    holds: bool
    remap: Channel | None = field(repr=False)
    slack: float
    losses: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"one remap is at least as good for all losses of the class ({self.losses}) and all priors"
        return f"no remap is at least as good for all losses of the class ({self.losses}): {self.slack:.6g}"


def dominating_remap(
    mechanism: Channel,
    other: Channel,
    metric: Metric | Policy | Answers,
    losses: Literal["monotone", "unimodal", "all"] = "monotone",
) -> Domination:
    """One remap of a mechanism's outputs that is at least as good as another mechanism for a class of losses.

    Parameters
    ----------
    mechanism : the mechanism to be remapped
    other : a mechanism whose outputs are inputs: the answers that are taken as they are
    metric : distances between the inputs
    losses : "monotone" in the distance from the truth, "unimodal" in the order of the inputs, or "all"

    Returns
    -------
    Domination
        With the remap, or the margin by which none is possible.

    Notes
    -----
    The classes are convex cones that scaling by the prior leaves alone, so by minimax one remap serves all of
    them: for monotone losses every ball around the truth must be at least as likely, for unimodal ones every
    tail at most as likely, for all losses the remapped mechanism must be the other.

    Cost: one linear program with a variable for each output and answer.

    Examples
    --------
    >>> from sievert.channels import Channel
    >>> from sievert.mechanisms import randomised_response, truncated_geometric
    >>> from sievert.spaces import metrics
    >>> two = Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]], outputs=[0, 1])
    >>> dominating_remap(truncated_geometric(3, alpha="1/2"), two, metrics.line(3)).holds
    True
    >>> round(dominating_remap(randomised_response(3, alpha="1/2"), two, metrics.discrete(3)).slack * 24, 9)
    -1.0
    """
    choice("losses", losses, ("monotone", "unimodal", "all"), SievertError)
    space = target_metric(metric)
    first, second = (
        _rows(channel, space, name) for channel, name in ((mechanism, "mechanism"), (other, "other"))
    )
    places = [space.index(name) for name in finite_channel(other, "other").outputs]
    reached = np.zeros((second.shape[1], space.size))
    reached[np.arange(second.shape[1]), places] = 1.0
    target = second @ reached
    events = [_events(space, x, losses) for x in range(space.size)]
    outputs, n = first.shape[1], space.size
    rows, sides, margins = [], [], []
    for x, sets in enumerate(events):
        for inside, at_least in sets:
            coefficient = np.outer(first[x], inside).ravel()
            sign = 1.0 if at_least else -1.0
            rows.append(sign * coefficient)
            sides.append(sign * float(target[x] @ inside))
            margins.append(-1.0)
    matrix = np.zeros((len(rows) + outputs, outputs * n + 1))
    matrix[: len(rows), :-1], matrix[: len(rows), -1] = rows, margins
    for y in range(outputs):
        matrix[len(rows) + y, y * n : (y + 1) * n] = 1.0
    cost = np.zeros(outputs * n + 1)
    cost[-1] = -1.0
    lower = np.concatenate([sides, np.ones(outputs)])
    upper = np.concatenate([np.full(len(rows), np.inf), np.ones(outputs)])
    floor = np.concatenate([np.zeros(outputs * n), [-1.0]])
    found = solve(
        LinearProgram(cost, csc_array(matrix), lower, upper, floor, np.full(outputs * n + 1, 1.0)),
        "simplex",
        tolerance=1e-10,
    )
    slack = float(found.primal[-1])
    if slack < -ROUNDING:
        return Domination(False, None, slack, losses)
    table = np.maximum(found.primal[:-1].reshape(outputs, n), 0.0)
    remap = Channel(
        table / table.sum(axis=1)[:, None], finite_channel(mechanism, "mechanism").outputs, space.points
    )
    return Domination(True, remap, slack, losses)


def _rows(channel: Channel, space: Metric, name: str) -> Any:
    finite = finite_channel(channel, name)
    order = align(space.points, finite.inputs, f"the inputs of {name}", ChannelError)
    rows = finite.rounded()
    return rows if order is None else rows[order]


def _events(space: Metric, x: int, losses: str) -> list[tuple[Any, bool]]:
    """Sets of answers whose probability at x must not fall (True) or not grow (False)."""
    row = space.matrix[x]
    if losses == "all":
        return [
            ((np.arange(space.size) == w).astype(float), flag)
            for w in range(space.size)
            for flag in (True, False)
        ]
    if losses == "monotone":
        return [((row <= t).astype(float), True) for t in np.unique(row) if (row > t).any()]
    places = np.arange(space.size)
    left = [((places <= t).astype(float), False) for t in range(x)]
    return left + [((places >= t).astype(float), False) for t in range(x + 1, space.size)]
