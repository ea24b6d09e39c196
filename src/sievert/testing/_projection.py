"""Nearest points: B's projection on the post-processings of A, and a posterior's on a hull of posteriors.

Both are least squares over distributions: the rows of R in the first (Fernandes, Thm 4.12: B - B* is itself
an adversary, whose advantage is at least the squared distance over n), the weights of a mixture in the second
(Sec 4.5.2: the distance to the hull is a convex measure that objects in the max case).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.errors import ChannelError
from sievert.orders import aligned
from sievert.results import Result

__all__ = ["Projection", "hull_distance", "project"]
ROUNDS = 20_000
# Movement of an iterate below which its zeros are settled.
STILL = 1e-13
# Below this share of a uniform row an entry counts as zero.
ZERO = 1e-7


@dataclass(frozen=True)
class Projection(Result):
    """The post-processing of A nearest to B in the Frobenius norm.

    Attributes
    ----------
    distance : ‖B - A·R‖
    advantage : what the adversary B - A·R (gains shifted to start at 0) expects more from B, uniform prior
    gain : that adversary's gain [action, secret]
    nearest : A·R
    post : R
    """

    distance: float
    advantage: float
    gain: FloatArray = field(repr=False)
    nearest: Channel = field(repr=False)
    post: Channel = field(repr=False)

    def __float__(self) -> float:
        return self.distance

    def __str__(self) -> str:
        return (
            f"the nearest post-processing is {self.distance:.6g} away; "
            f"an adversary gains {self.advantage:.6g} from the rest"
        )


def project(less_safe: Channel, safer: Channel) -> Projection:
    """The nearest post-processing of `less_safe` to `safer`, and the adversary made of what is left.

    The advantage is quadratic in the distance, so near the boundary the witness of `refines` says more.

    Parameters
    ----------
    less_safe, safer : channels on the same inputs

    Returns
    -------
    Projection
        The `distance`, and the `advantage` of the adversary.

    Notes
    -----
    Cost: a least-squares problem of outputs² variables.

    Examples
    --------
    >>> a = Channel([["3/4", 0, "1/4", 0], ["3/4", "1/4", 0, 0], [0, "1/4", "1/4", "1/2"]])
    >>> b = Channel([["1/2", 0, "1/2"], ["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    >>> found = project(a, b)
    >>> print(f"{found.distance**2:.6f} {found.advantage:.6f}")
    0.062500 0.020833
    """
    first, second = aligned(less_safe, safer)
    a, b = first.rounded(), second.rounded()
    post = _least_squares(a, b)
    nearest = a @ post
    rest = b - nearest
    before, after = (float((channel.T @ rest).max(axis=1).sum()) for channel in (a, b))
    advantage = max(0.0, (after - before) / len(a))
    return Projection(
        float(np.linalg.norm(rest)),
        advantage,
        np.asarray((rest - rest.min(axis=1)[:, None]).T),
        Channel.trusted(nearest, "float", first.inputs, second.outputs),
        Channel.trusted(post, "float", first.outputs, second.outputs),
    )


def hull_distance(channel: Channel, posterior: Any) -> float:
    """Euclidean distance of a distribution from the hull of the channel's posteriors under the uniform prior.

    Parameters
    ----------
    channel : Channel
    posterior : probabilities of the secrets

    Returns
    -------
    float

    Notes
    -----
    Cost: a least-squares problem of as many variables as the channel has outputs.

    Examples
    --------
    >>> a = Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    >>> round(hull_distance(a, [1 / 3, 2 / 3]), 6), round(hull_distance(a, [3 / 4, 1 / 4]), 6)
    (0.0, 0.117851)
    """
    matrix = channel.finite().rounded()
    point = np.array([float(value) for value in posterior])
    if point.shape != (len(matrix),):
        raise ChannelError(
            f"posterior has {len(point)} entries but the channel has {len(matrix)} inputs; give one for each"
        )
    sums = matrix.sum(axis=0)
    inner = matrix[:, sums > 0] / sums[sums > 0]
    weights = _simplex_mixture(inner, point)
    return float(np.linalg.norm(point - inner @ weights))


def _onto_simplices(rows: FloatArray) -> FloatArray:
    """Every row to its nearest distribution (Held, Wolfe and Crowder)."""
    ordered = -np.sort(-rows, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    counts = np.arange(1, rows.shape[1] + 1)
    last = (ordered - excess / counts > 0).sum(axis=1)
    level = excess[np.arange(len(rows)), last - 1] / last
    return np.asarray(np.maximum(rows - level[:, None], 0.0))


def _least_squares(a: FloatArray, b: FloatArray) -> FloatArray:
    """argmin ‖B - AR‖ over stochastic R: projected gradients, then the equations of its support."""
    curvature = float(np.linalg.norm(a, 2)) ** 2
    post = _descend(lambda table: a.T @ (a @ table - b), curvature, (a.shape[1], b.shape[1]))
    better = _on_face(a, b, post)
    return better if np.linalg.norm(b - a @ better) <= np.linalg.norm(b - a @ post) else post


def _simplex_mixture(inner: FloatArray, point: FloatArray) -> FloatArray:
    """argmin ‖point - inner·λ‖ over distributions λ."""
    curvature = float(np.linalg.norm(inner, 2)) ** 2

    def slope(row: FloatArray) -> FloatArray:
        return np.asarray((inner.T @ (inner @ row[0] - point))[None, :])

    found = _descend(slope, curvature, (1, inner.shape[1]))[0]
    support = np.flatnonzero(found > ZERO / len(found))
    # Differences to one member of the support leave the sum free.
    base, moves = inner[:, support[0]], inner[:, support[1:]] - inner[:, support[:1]]
    shares = np.linalg.lstsq(moves, point - base, rcond=None)[0] if len(support) > 1 else np.empty(0)
    exact = np.zeros_like(found)
    exact[support[0]], exact[support[1:]] = 1 - shares.sum(), shares
    nearer = np.linalg.norm(point - inner @ exact) <= np.linalg.norm(point - inner @ found)
    return np.asarray(exact if exact.min() >= 0 and nearer else found)


def _descend(gradient: Any, curvature: float, shape: tuple[int, int]) -> FloatArray:
    """Accelerated projected gradient with restarts (Beck and Teboulle; O'Donoghue and Candès)."""
    point = ahead = np.full(shape, 1 / shape[1])
    weight = 1.0
    for _ in range(ROUNDS):
        slope = gradient(ahead)
        moved = _onto_simplices(ahead - slope / curvature)
        if float(((ahead - moved) * (moved - point)).sum()) > 0:
            weight = 1.0
        following = (1 + np.sqrt(1 + 4 * weight * weight)) / 2
        step = moved - point
        ahead = moved + (weight - 1) / following * step
        point, weight = moved, following
        if float(np.abs(step).max()) < STILL:
            break
    return point


def _on_face(a: FloatArray, b: FloatArray, post: FloatArray) -> FloatArray:
    """The best R with the zeros of a given one, from the optimality conditions; the given one if negative."""
    m, k = post.shape
    support = np.flatnonzero(post.ravel() > ZERO / k)
    if len(support) > 1500:
        return post
    y, w = np.divmod(support, k)
    gram = (a.T @ a)[np.ix_(y, y)] * (w[:, None] == w)
    sums = (y[None, :] == np.arange(m)[:, None]).astype(np.float64)
    system = np.block([[gram, sums.T], [sums, np.zeros((m, m))]])
    right = np.concatenate([(a.T @ b)[y, w], np.ones(m)])
    solved = np.linalg.lstsq(system, right, rcond=None)[0][: len(support)]
    if solved.min() < 0:
        return post
    table = np.zeros(m * k)
    table[support] = solved
    return np.asarray(table.reshape(m, k))
