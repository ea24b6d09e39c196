"""Why Laplace noise is at least as safe as geometric noise of the same ε, and how near to it.

On the points of a grid every Laplace posterior lies between two neighbouring geometric ones, so "Laplace =
geometric, then a little smoothing": G·R is the (pixelated) Laplace, with R in closed form (Fernandes, Lem
7.7; our notes, 3.4). G is invertible and its inverse tridiagonal, so R = G⁻¹·M decides for any channel M
whether it is G followed by something; a negative entry of R is a consumer who would rather have M.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel, EpsilonOrAlpha, as_channel, require_dense
from sievert.continuous._density import interval_of, rational
from sievert.continuous._laplace import grid_geometric, truncated_laplace
from sievert.errors import ChannelError, MechanismError
from sievert.mechanisms import PixelatedLaplaceChannel, privacy, rational_power
from sievert.numerics import UNIT, fractions_of, whole
from sievert.orders import Objection, refines
from sievert.results import Result

# A rate of a cell below it is no rate: half of it would lose its digits, and the limit is off by less.
NONE = 1e-300

__all__ = [
    "Refinement",
    "pixel_witness",
    "refined_by_geometric",
    "witness",
]
# Relative rounding of a channel's entries; where it leaves entries of R unsure by more than the second
# number, the answer is open.
ROUNDING, TOLERANCE = 64 * UNIT, 1e-6


def witness(
    cells: int, pixels: int, eps: object = None, *, alpha: object = None, interval: object = (0, 1)
) -> Channel:
    """The channel R with G·R = Laplace: geometric noise on a grid, smoothed, is pixelated Laplace noise.

    Parameters
    ----------
    cells : N, the cells of the grid; G has its N + 1 points as inputs and outputs
    pixels : T, how many equal pixels the Laplace output falls into; any number
    eps, alpha : exactly one of eps (nats for one unit of the values) and alpha = e^-eps
    interval : its two ends

    Returns
    -------
    Channel
        From the points of the grid to pixels; exact where the powers of alpha are fractions.

    Notes
    -----
    Output i is spread over its two neighbouring cells with density (ε/2)·sinh(h - ε|y - x_i|)/(sinh
    h·tanh(h/2)), h = ε/N; masses come as products of sinh, so that no digit is lost at either end of ε.

    Cost: O(N·T).

    References
    ----------
    Fernandes, Lem 7.7 and Thm 7.8.

    Examples
    --------
    >>> witness(2, 4, alpha="1/16").exact.tolist()[1]
    [Fraction(1, 9), Fraction(7, 18), Fraction(7, 18), Fraction(1, 9)]
    """
    ends = interval_of(interval, MechanismError)
    count, parts = whole("cells", cells, MechanismError), whole("pixels", pixels, MechanismError)
    require_dense(count + 1, parts, "the witness")
    geometric = grid_geometric(count, eps, interval, alpha=alpha)
    laplace = truncated_laplace(eps, interval, alpha=alpha).pixelated(parts, count)
    if geometric.form == "exact" and laplace.form == "exact" and 0 < geometric.level.alpha < 1:  # type: ignore[attr-defined]
        steps = _objects([geometric.level.alpha] * count)  # type: ignore[attr-defined]
        rows: NDArray[Any] = _solved(laplace.entries, steps)
        return Channel.trusted(rows, "exact", laplace.inputs, laplace.outputs)
    level = privacy(eps, alpha).eps
    table = _spread(level, ends, count, parts)
    return Channel.trusted(table, "float", laplace.inputs, laplace.outputs)


def _spread(eps: float, ends: tuple[Fraction, Fraction], cells: int, pixels: int) -> FloatArray:
    """R by its closed form; ε = 0 and ε = ∞ are its limits."""
    low, high = ends
    step = (high - low) / cells
    points, borders = _offsets(cells, high - low), _offsets(pixels, high - low)
    if eps == 0 or math.isinf(eps):
        return _limit(eps, points, pixels, float(high - low))
    h, width = eps * float(step), float(step)
    if h < NONE:
        return _limit(0.0, points, pixels, float(high - low))
    start, stop = borders[:-1][None, :] - points[:, None], borders[1:][None, :] - points[:, None]
    right = _half(eps, h, np.clip(start, 0, width), np.clip(stop, 0, width))
    left = _half(eps, h, np.clip(-stop, 0, width), np.clip(-start, 0, width))
    right[-1], left[0] = 0.0, 0.0
    table = (left + right) / math.tanh(h / 2)
    end = 1 + math.exp(-h)
    table[0], table[-1] = end * right[0], end * left[-1]
    table[0, 0] += end / 2
    table[-1, -1] += end / 2
    return np.asarray(table)


def _offsets(cells: int, width: Fraction) -> FloatArray:
    """How far the ends of equal cells are from the lower end, each rounded once."""
    return np.array([width.numerator * k / (width.denominator * cells) for k in range(cells + 1)])


def _half(eps: float, h: float, near: FloatArray, far: FloatArray) -> FloatArray:
    """∫ (ε/2)·sinh(h - εu)/sinh h du from near to far: sinh((p+q)/2)·sinh((p-q)/2)/sinh h."""
    p, q = h - eps * near, h - eps * far
    both, apart = np.maximum((p + q) / 2, 0.0), np.maximum(eps * (far - near) / 2, 0.0)
    scale = np.exp(-eps * near) / (-2 * math.expm1(-2 * h))
    return np.asarray(scale * np.expm1(-2 * both) * np.expm1(-2 * apart))


def _limit(eps: float, points: FloatArray, pixels: int, width: float) -> FloatArray:
    """Without privacy each point keeps its pixel; with ε = 0 only the ends occur."""
    table = np.zeros((len(points), pixels))
    if math.isinf(eps):
        share = points * pixels / width
        first, last = np.floor(share).astype(int), np.ceil(share).astype(int) - 1
        rows = np.arange(len(points))
        np.add.at(table, (rows, np.clip(first, 0, pixels - 1)), 0.5)
        np.add.at(table, (rows, np.clip(last, 0, pixels - 1)), 0.5)
        return table
    table[:, 0] = np.linspace(1.0, 0.0, len(points))
    table[:, -1] += 1.0 - table[:, 0] if pixels > 1 else 0.0
    if pixels == 1:
        table[:, 0] = 1.0
    return table


def _solved(table: NDArray[Any], steps: NDArray[Any]) -> NDArray[Any]:
    """G⁻¹·M for the geometric on points with these steps e^(-ε·gap): tridiagonal, then the weights."""
    t = steps[:, None]
    s = t / (1 - t * t)
    rows = table.copy()
    rows[:-1] = rows[:-1] + s * (t * table[:-1] - table[1:])
    rows[1:] = rows[1:] + s * (t * table[1:] - table[:-1])
    sides = [1, *((1 - step) / (1 + step) for step in steps.tolist()), 1]
    for i, (a, b) in enumerate(pairwise(sides)):
        rows[i] = rows[i] * 2 / (a + b)
    return np.asarray(rows)


def _amplified(sizes: FloatArray, steps: FloatArray) -> FloatArray:
    """The product with the absolute values of G⁻¹."""
    t = steps[:, None]
    s = t / (1 - t * t)
    rows = sizes.copy()
    rows[:-1] += s * (t * sizes[:-1] + sizes[1:])
    rows[1:] += s * (t * sizes[1:] + sizes[:-1])
    sides = np.concatenate([[1.0], (1 - steps) / (1 + steps), [1.0]])
    return np.asarray(rows * 2 / (sides[:-1] + sides[1:])[:, None])


def _objects(items: Iterable[Any]) -> NDArray[Any]:
    listed = list(items)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


@dataclass(frozen=True)
class Refinement(Result):
    """Whether one channel is another followed by something, with what follows or with who objects.

    Attributes
    ----------
    holds : exact where the channels are; otherwise entries of R within their rounding of 0 count as 0, and
        None says that this rounding leaves the answer open
    witness : the channel R with first·R = second; None where there is none
    objection : the consumer who does better with the second; None where it holds
    losses : the consumer's loss [action, input], under the uniform prior
    before, after : what that consumer loses with the first and with the second channel
    """

    holds: bool | None
    witness: Channel | None = field(repr=False)
    losses: Any = field(default=None, repr=False)
    before: float | Fraction | None = None
    after: float | Fraction | None = None
    objection: Objection | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ChannelError(
                "the order is undecided at this precision; give alpha, and the channel in fractions"
            )
        return self.holds

    def __str__(self) -> str:
        if self.holds is None:
            return "whether the second channel is the first followed by another is open at this precision"
        if self.holds:
            return "the second channel is the first followed by another: nobody does better with it"
        if self.objection is not None:
            return f"the second channel is not the first followed by another: {self.objection}"
        return (
            "the second channel is not the first followed by another: a consumer loses "
            f"{float(self.after or 0):.6g} with it and {float(self.before or 0):.6g} with the first"
        )


def refined_by_geometric(channel: Channel, eps: object = None, *, alpha: object = None) -> Refinement:
    """Is a channel on points of the line the geometric mechanism of the same points, followed by something?

    Parameters
    ----------
    channel : a channel whose inputs are increasing numbers
    eps, alpha : exactly one of eps (nats for one unit) and alpha = e^-eps, of the geometric mechanism

    Returns
    -------
    Refinement
        With R = G⁻¹·M, or the consumer who prefers the channel: two actions, with a loss on at most three
        inputs.

    Notes
    -----
    Cost: O(inputs·outputs).

    Examples
    --------
    >>> from sievert.continuous import lifted
    >>> found = refined_by_geometric(lifted(grid_geometric(2, alpha="1/4"), 2), alpha="1/16")
    >>> found.holds, found.losses.astype(int).tolist()
    (False, [[0, 0, 5, 0, 0], [0, 2, 0, 2, 0]])
    """
    given = as_channel(channel)
    points = [rational("inputs", x, MechanismError) for x in given.inputs]
    if len(points) < 2 or any(a >= b for a, b in pairwise(points)):
        raise ChannelError("channel: its inputs must be two or more numbers in increasing order")
    level = privacy(eps, alpha)
    if not 0 < level.eps < math.inf:
        raise MechanismError(f"eps is {level.eps!r}; the question needs 0 < eps < inf")
    gaps = [b - a for a, b in pairwise(points)]
    roots = [None if level.alpha is None else rational_power(level.alpha, gap) for gap in gaps]
    exact = given.form == "exact" and all(root is not None for root in roots)
    steps: NDArray[Any]
    if exact:
        steps, table = _objects(roots), given.entries
    else:
        steps = np.exp(-level.eps * np.array([float(gap) for gap in gaps]))
        if (steps == 1).any():
            # No float tells e^-ε from 1: not decided without an exact alpha.
            return Refinement(None, None)
        table = given.matrix
    rows = _solved(table, steps)
    closed = _closed_form(given, level, points)
    if closed is not None:
        return Refinement(True, closed)
    # Rounding of the entries, which have the units of their logarithms, amplified as the entries are.
    unsure = 0 if exact else _amplified((ROUNDING + 8 * UNIT * _sizes(given)) * np.abs(table), steps)
    if not (rows < -unsure).any():
        kept = rows if exact else np.maximum(rows, 0.0)
        if np.max(unsure) > TOLERANCE:
            return Refinement(None, None)
        return Refinement(
            True, Channel.trusted(kept, "exact" if exact else "float", given.inputs, given.outputs)
        )
    return _objecting(rows, table, steps, exact)


def _sizes(channel: Channel) -> FloatArray:
    """|ln| of the entries, 0 where there is none."""
    logs = channel.log_matrix
    return np.where(np.isfinite(logs), np.abs(logs), 0.0)


@singledispatch
def _closed_form(channel: Channel, level: EpsilonOrAlpha, points: list[Fraction]) -> Channel | None:
    """What follows the geometric mechanism, where that is known without solving for it."""
    return None


@_closed_form.register
def _of_pixels(
    channel: PixelatedLaplaceChannel, level: EpsilonOrAlpha, points: list[Fraction]
) -> Channel | None:
    """Laplace noise of the same ε on a grid of its own interval (Fernandes, Lem 7.7)."""
    low, high = channel.interval
    cells = len(points) - 1
    on_grid = all(x == low + (high - low) * k / cells for k, x in enumerate(points))
    if not on_grid or channel.level.written != level.written:
        return None
    name, value = level.written
    given = {"eps": value} if name == "eps" else {"alpha": value}
    found = witness(cells, channel.pixels, given.get("eps"), alpha=given.get("alpha"), interval=(low, high))
    return Channel.trusted(found.entries, found.form, channel.inputs, channel.outputs)


def _objecting(rows: NDArray[Any], table: NDArray[Any], steps: NDArray[Any], exact: bool) -> Refinement:
    """A row f of G⁻¹ with f·M < 0 somewhere: bet f⁺ against f⁻. Every column of G makes the bet a loss."""
    size = len(table)
    i = int(np.argmin(rows.min(axis=1)))
    identity = fractions_of(np.eye(size, dtype=int)) if exact else np.eye(size)
    bet = _solved(identity, steps)[i]
    zero: Any = Fraction(0) if exact else 0.0
    loss = np.array(
        [[max(v, zero) for v in bet], [max(-v, zero) for v in bet]], dtype=object if exact else float
    )
    if not exact:
        bet[np.abs(bet) < 1e-300] = 0.0
    # With G the first action is never better: f·G_j ≥ 0, so the second is always taken.
    share: Any = Fraction(1, size) if exact else 1 / size
    before = sum(loss[1], zero) * share
    after = sum(np.minimum(loss[0] @ table, loss[1] @ table), zero) * share
    return Refinement(False, None, loss, before, after)


def pixel_witness(
    pixels: int, coarser: int, cells: int, eps: object = None, *, alpha: object = None
) -> Refinement:
    """Are coarse pixels of Laplace noise a function of fine ones, on the points of a grid?

    Parameters
    ----------
    pixels : how many fine pixels
    coarser : how many coarse ones; where it divides `pixels`, each groups as many fine ones
    cells : of the grid that the inputs are on
    eps, alpha : exactly one of eps (nats for one unit) and alpha = e^-eps

    Returns
    -------
    Refinement
        With the grouping, or with whatever else turns fine pixels into coarse ones, or with who objects.

    Notes
    -----
    Losses fall along divisors only: three pixels may be better than four.

    Cost: O(pixels) where coarser divides pixels; else a linear program.

    References
    ----------
    Fernandes, Lem B.1 and Lem B.2.

    Examples
    --------
    >>> pixel_witness(4, 2, cells=2, alpha="1/16").witness.matrix.tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    >>> pixel_witness(4, 6, cells=2, alpha="1/16").holds
    False
    """
    fine, coarse = whole("pixels", pixels, MechanismError), whole("coarser", coarser, MechanismError)
    noise = truncated_laplace(eps, alpha=alpha)
    first, second = noise.pixelated(fine, cells), noise.pixelated(coarse, cells)
    if fine % coarse == 0:
        table = np.zeros((fine, coarse), dtype=object)
        table[np.arange(fine), np.arange(fine) * coarse // fine] = Fraction(1)
        table[table == 0] = Fraction(0)
        return Refinement(True, Channel.trusted(table, "exact", first.outputs, second.outputs))
    found = refines(first, second)
    return Refinement(found.holds, found.post, objection=found.witness)
