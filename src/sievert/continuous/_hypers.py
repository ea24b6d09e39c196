"""How far the posteriors of two mechanisms are apart: Kantorovich's distance between hypers on a line.

The distance of two posteriors is Wasserstein's, Σ over gaps of |difference of distribution functions|·gap,
and hypers are distributions of posteriors. No Lipschitz loss tells two mechanisms apart by more than its
constant times the distance (Kantorovich–Rubinstein).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, as_channel
from sievert.channels.priors import as_prior
from sievert.continuous._density import rational
from sievert.errors import ChannelError
from sievert.estimation import kantorovich
from sievert.numerics import require_size, taken
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["HyperDistance", "hyper_distance"]
MOST_POSTERIORS = 3000


@dataclass(frozen=True)
class HyperDistance(Result):
    """How far apart two channels' posteriors are, as distributions on distributions.

    Attributes
    ----------
    value : the Kantorovich distance of the hypers, over the Kantorovich distance of posteriors on the line
    move : what the refining move costs, where the second channel is the first followed by `move_by`; else
    None
    adjacent : the largest distance between neighbouring posteriors of the first channel
    """

    value: float
    move: float | None
    adjacent: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        cost = "" if self.move is None else f"; the refining move costs {self.move:.8g}"
        return f"the hypers are {self.value:.8g} apart{cost}"


def hyper_distance(
    first: Channel,
    second: Channel,
    prior: object = None,
    points: Iterable[object] | None = None,
    move_by: Channel | None = None,
) -> HyperDistance:
    """The Kantorovich distance between what two channels make of a prior.

    Every Lipschitz loss differs by no more than that times its constant.

    Parameters
    ----------
    first, second : channels on the same inputs
    prior : of the inputs; uniform by default
    points : where the inputs lie on the line; by default they are numbers themselves
    move_by : a channel that turns the first into the second, whose cost is then found too

    Returns
    -------
    HyperDistance
        |U_l[first] - U_l[second]| is at most κ times its value for every κ-Lipschitz loss.

    Notes
    -----
    Cost: O((m + m')²·n) for posteriors over n inputs, and a network simplex over m + m' posteriors.

    Examples
    --------
    >>> from sievert.continuous import grid_geometric, truncated_laplace, witness
    >>> geometric, smooth = grid_geometric(2, 1), truncated_laplace(1).pixelated(16, 2)
    >>> print(hyper_distance(geometric, smooth, move_by=witness(2, 16, 1)))
    the hypers are 0.013524228 apart; the refining move costs 0.018166964
    """
    a, b = as_channel(first, "first"), as_channel(second, "second")
    if a.shape[0] != b.shape[0]:
        raise ChannelError(f"first has {a.shape[0]} inputs and second {b.shape[0]}; they need the same ones")
    places = list(a.inputs) if points is None else taken("points", points, ChannelError, "numbers")
    at = np.array([float(rational("points", place, ChannelError)) for place in places])
    if len(at) != a.shape[0] or (np.diff(at) <= 0).any():
        raise ChannelError("points: give one number for each input, in increasing order")
    require_size(a.shape[1] + b.shape[1], MOST_POSTERIORS, "the posteriors", "use fewer outputs")
    belief = np.asarray(as_prior(prior, a.shape[0]), dtype=np.float64)
    sides = [_posteriors(channel, belief) for channel in (a, b)]
    cumulative = np.concatenate([np.cumsum(posterior, axis=0)[:-1].T for _, posterior in sides])
    apart = np.zeros((len(cumulative), len(cumulative)))
    for column, gap in zip(cumulative.T, np.diff(at), strict=True):
        apart += gap * np.abs(column[:, None] - column[None, :])
    here = len(sides[0][0])
    p, q = np.zeros(len(apart)), np.zeros(len(apart))
    p[:here], q[here:] = sides[0][0], sides[1][0]
    value = float(kantorovich(p, q, Metric(apart)))
    move = None
    if move_by is not None:
        moved = as_channel(move_by, "move_by")
        if moved.shape != (here, len(sides[1][0])):
            raise ChannelError(
                f"move_by has shape {moved.shape}; it must lead from the {here} posteriors of first to the "
                f"{len(sides[1][0])} of second"
            )
        plan = moved.matrix * sides[0][0][:, None]
        move = float((plan * apart[:here, here:]).sum())
    neighbours = np.abs(np.diff(cumulative[:here], axis=0)) @ np.diff(at) if here > 1 else np.zeros(1)
    return HyperDistance(value, move, float(neighbours.max()))


def _posteriors(channel: Channel, belief: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outer probabilities and posteriors [input, output]; impossible outputs have the prior."""
    joint = belief[:, None] * channel.rounded()
    outer = joint.sum(axis=0)
    outer = outer / outer.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return outer, np.where(outer > 0, joint / joint.sum(axis=0), belief[:, None])
