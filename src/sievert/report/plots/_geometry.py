"""The shape of privacy in pictures: private posteriors of three or four inputs, and who is best where."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sievert.arrays import FloatArray
from sievert.channels import Channel, finite_channel, target_metric
from sievert.errors import MetricError
from sievert.geometry import Kernel, Polytope, kernels, polytope, whole_metric
from sievert.measures import table_adversary
from sievert.mechanisms import privacy
from sievert.numerics import finite, whole
from sievert.policies import Answers, Policy
from sievert.report.plots._channels import _bare, _frame, _points
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, BEFORE, CORNER, CURVES, EDGE, LIMIT, MARK, SYMBOLS, folded
from sievert.spaces import Metric

__all__ = ["optimality_map", "private_posteriors"]

# Corners of a regular tetrahedron, seen from a corner of the page.
TETRAHEDRON = np.array([[0.0, 0.0], [1.0, 0.0], [0.42, 0.86], [0.66, 0.34]])
# Closest fraction for pictures of an ε that is no logarithm of one.
LARGEST_DENOMINATOR = 64
# Kernels that can still be told apart by their colours.
MOST_KERNELS = 24


def private_posteriors(
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    mechanism: Channel | None = None,
    *,
    alpha: object = None,
    tolerance: object = None,
) -> go.Figure:
    """All private posteriors of three inputs in a triangle (of four in a projection), with their vertices.

    Parameters
    ----------
    metric : Metric, Policy or Answers with two to four inputs
    eps : ε in nats per unit of distance
    mechanism : one whose posteriors are shown, each as large as it is likely
    alpha : e^-eps, instead of eps
    tolerance : to what irrational distances (Euclidean ones, say) are rounded

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Grey lines are the constraints, the grey body the private posteriors, the cross the uniform prior.

    Cost: O(vertices).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.private_posteriors(sv.metrics.line(3), alpha="1/2")
    >>> [round(float(x), 6) for x in sorted(figure.data[-2].x)]
    [0.357143, 0.4, 0.571429, 0.625]
    """
    shape = polytope(metric, eps, alpha, tolerance=tolerance)
    n = shape.metric.size
    if not 2 <= n <= 4:
        raise MetricError(f"metric: {n} inputs; a picture shows two to four")
    rows = shape.vertices(exact=False).matrix.astype(np.float64)
    figure = Drawing()
    if n == 4:
        _tetrahedron(figure, [str(name) for name in shape.inputs])
    else:
        _frame(figure, [str(name) for name in shape.inputs])
        _constraints(figure, shape)
    x, y = _spots(rows)
    hull = _around(x, y)
    figure.add_scatter(
        x=x[hull], y=y[hull], fill="toself", fillcolor="rgba(180,186,196,0.3)", mode="lines",
        line={"color": BEFORE, "width": 1}, name="private posteriors", hoverinfo="skip",
    )  # fmt: skip
    if mechanism is not None:
        hyper = finite_channel(mechanism, "mechanism").hyper()
        a, b = _spots(hyper.inners.astype(np.float64))
        weight = hyper.outers.astype(np.float64)
        figure.add_scatter(
            x=a, y=b, mode="markers", name="the mechanism's posteriors",
            hovertemplate="%{text}<extra></extra>", text=[f"probability {w:.4g}" for w in weight],
            marker={"size": 10 + 26 * weight, "color": AFTER, "opacity": 0.75},
        )  # fmt: skip
    texts = ["(" + ", ".join(f"{value:.3g}" for value in row) + ")" for row in rows]
    figure.add_scatter(
        x=x, y=y, mode="markers", name="vertices", text=texts, hovertemplate="%{text}<extra></extra>",
        marker={"size": 8, "color": LIMIT, "symbol": "diamond"},
    )  # fmt: skip
    centre = _spots(np.full((1, n), 1 / n))
    figure.add_scatter(
        x=centre[0], y=centre[1], mode="markers", name="uniform prior", hoverinfo="skip",
        marker={"size": 9, "color": MARK, "symbol": "x"},
    )  # fmt: skip
    return _bare(figure)


def _spots(beliefs: FloatArray) -> tuple[FloatArray, FloatArray]:
    if beliefs.shape[1] < 4:
        return _points(beliefs)
    spots = beliefs @ TETRAHEDRON
    return spots[:, 0], spots[:, 1]


def _around(x: FloatArray, y: FloatArray) -> list[int]:
    """The outline of points in the plane, in order (monotone chain)."""
    order = np.lexsort((y, x)).tolist()

    def half(points: list[int]) -> list[int]:
        chain: list[int] = []
        for p in points:
            while len(chain) > 1:
                a, b = chain[-2], chain[-1]
                turn = (x[b] - x[a]) * (y[p] - y[a]) - (y[b] - y[a]) * (x[p] - x[a])
                if turn > 1e-12:
                    break
                chain.pop()
            chain.append(p)
        return chain[:-1]

    outline = half(order) + half(order[::-1])
    return [*outline, outline[0]] if outline else order


def _constraints(figure: go.Figure, shape: Polytope) -> None:
    """Where the ratio of two inputs is as large as allowed: a line from the third corner."""
    names = list(shape.inputs)
    for a, b, length in shape.edges:
        i, j = names.index(a), names.index(b)
        ratio = math.exp(-min(700.0, shape.level.eps * length))
        for high, low in ((i, j), (j, i)):
            end = np.zeros(len(names))
            end[high], end[low] = 1 / (1 + ratio), ratio / (1 + ratio)
            rest = [k for k in range(len(names)) if k not in (i, j)]
            start = np.eye(len(names))[rest[0]] if rest else end
            x, y = _points(np.array([start, end]))
            figure.add_scatter(
                x=x, y=y, mode="lines", line={"color": EDGE, "width": 1, "dash": "dot"}, showlegend=False,
                hoverinfo="skip",
            )  # fmt: skip


def _tetrahedron(figure: go.Figure, names: list[str]) -> None:
    for a in range(4):
        for b in range(a):
            figure.add_scatter(
                x=TETRAHEDRON[[a, b], 0], y=TETRAHEDRON[[a, b], 1], mode="lines", showlegend=False,
                line={"color": MARK, "width": 1}, hoverinfo="skip",
            )  # fmt: skip
    figure.add_scatter(
        x=TETRAHEDRON[:, 0], y=TETRAHEDRON[:, 1], mode="text", showlegend=False, hoverinfo="skip",
        text=[folded(f"surely {name}", CORNER) for name in names],
        textposition=["bottom center", "bottom center", "top center", "middle right"],
    )  # fmt: skip


def optimality_map(
    metric: Metric | Policy | Answers,
    alpha: object,
    loss: object,
    resolution: int = 40,
    *,
    tolerance: object = None,
) -> go.Figure:
    """Every prior over three inputs in the colour of the kernel that is best for it.

    Parameters
    ----------
    metric : Metric, Policy or Answers with three inputs; with whole distances, or with a tolerance
    alpha : e^-ε for one unit of distance; a float is drawn for the nearest fraction
    loss : a loss (`sv.losses`) or an array [action, input]
    resolution : points along a side of the triangle
    tolerance : to what irrational distances (Euclidean ones, say) are rounded down

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    A kernel is drawn wherever no other loses less; where nothing is gained by any release, in grey.

    Cost: O(resolution²·kernels·actions).

    Examples
    --------
    >>> import sievert as sv
    >>> figure = sv.plots.optimality_map(sv.metrics.line(3), "1/2", sv.losses.absolute(3), resolution=6)
    >>> [trace.name for trace in figure.data if trace.name]
    ['no release helps', 'kernel with 3 outputs']
    """
    resolution = whole("resolution", resolution, MetricError, least=2, most=400)
    ratio: object = alpha
    if tolerance is not None:
        metric, unit = whole_metric(target_metric(metric), tolerance)
        ratio = math.exp(-privacy(None, alpha).eps * float(unit))
    if isinstance(ratio, float):
        ratio = Fraction(finite("alpha", ratio, MetricError)).limit_denominator(LARGEST_DENOMINATOR)
    found = kernels(metric, ratio)
    inputs = found.vertices.inputs
    if len(inputs) != 3:
        raise MetricError(f"metric: {len(inputs)} inputs; the map shows the priors over three")
    table = np.asarray(
        table_adversary(loss, "loss", is_loss=True).for_secrets(inputs).table, dtype=np.float64
    )
    steps = np.arange(resolution + 1)
    first, second = (grid.ravel() for grid in np.meshgrid(steps, steps))
    inside = first + second <= resolution
    priors = np.column_stack([first, second, resolution - first - second])[inside] / resolution
    losses = np.array([_lost(kernel.channel, priors, table) for kernel in found])
    before = (priors @ table.T).min(axis=1)
    best = losses.min(axis=0)
    useless = best >= before - 1e-12
    wins = losses <= best + 1e-12
    # Of kernels that are equally good at a prior, the one that is best most often.
    order = np.argsort(-wins.sum(axis=1), kind="stable")
    winner = np.where(useless, -1, order[wins[order].argmax(axis=0)])
    figure = Drawing()
    _frame(figure, [str(name) for name in inputs])
    for place, k in enumerate(sorted(set(winner.tolist()))[:MOST_KERNELS]):
        chosen = winner == k
        x, y = _points(priors[chosen])
        name = "no release helps" if k < 0 else _kernel_name(found[k])
        gaps = losses[:, chosen].min(axis=0)
        colour: Any = BEFORE if k < 0 else CURVES[(place - 1) % len(CURVES)]
        figure.add_scatter(
            x=x, y=y, mode="markers", name=name, text=[f"least loss {v:.4g}" for v in gaps],
            hovertemplate="%{text}<extra></extra>",
            marker={
                "size": max(4, 260 // resolution), "color": colour, "symbol": SYMBOLS[place % len(SYMBOLS)],
            },
        )  # fmt: skip
    return _bare(figure)


def _kernel_name(kernel: Kernel) -> str:
    """Two outputs by the inputs that they tell apart, others by how many there are."""
    if len(kernel) != 2:
        return f"kernel with {len(kernel)} outputs"
    likelier = kernel.inners[0] > kernel.inners[1]
    first, second = (
        ", ".join(str(x) for x, up in zip(kernel.inputs, likelier, strict=True) if bool(up) is side)
        for side in (True, False)
    )
    return f"{first} or {second}?"


def _lost(channel: Channel, priors: FloatArray, loss: FloatArray) -> FloatArray:
    """Loss of a mechanism with the best action for each output, for each prior."""
    matrix = channel.matrix
    scores = np.einsum("px,xy,wx->pyw", priors, matrix, loss)
    return np.asarray(scores.min(axis=2).sum(axis=1))
