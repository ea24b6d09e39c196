"""The noise that a place on a map could get, without a list of its cells.

Planar geometric noise, P(z) proportional to e^(-ε·|z|), is weighed beside what needs no map at all: geometric
noise in each of the two coordinates. |x| + |y| is at most √2 times the straight distance, so each coordinate
gets ε/√2 for a metre. Its channel on the cells is a product of two, and so is its capacity. No linear program
reaches so many cells, and neither noise is proved to be best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from sievert.arrays import FloatArray
from sievert.channels import Channel, PlanarNoise
from sievert.design._candidates import remap
from sievert.design._table_results import NO_PROOF, TableDesign, TableOption
from sievert.measures import GainMatrix, posterior_vulnerability
from sievert.numerics import in_percent
from sievert.observations import likelihood_of
from sievert.results import Result

__all__ = ["PlanarBeside", "place_design", "planar_beside"]
# Planar noise that is guessed as often is looked for between these multiples of ε.
WIDEST = 16.0
# Half the side, in cells, of the square whose noise is added up; a finer lattice is as good as the plane.
LARGEST_SUM = 400
# e^-40 of the noise lies beyond the square.
TAIL = 40


def place_design(
    noise: PlanarNoise, belief: FloatArray | None, releases: int, confidence: float, optimum: str
) -> TableDesign:
    """The noise for places at the ε of a planar one, by its mean error in metres.

    `belief` is about the cells (uniform: None); `optimum` says why the best of all mechanisms is not looked
    for.
    """
    options = (_planar(noise, belief, releases, confidence), _by_axes(noise, belief, releases, confidence))
    best = min(options, key=lambda option: option.mean_error or 0.0)
    missing = {"the best of all mechanisms": optimum}
    words = "the place itself"
    return TableDesign(float(noise.eps), words, releases, confidence, options, missing, best.name, unit="m")


@dataclass(frozen=True)
class PlanarBeside(Result):
    """Planar geometric noise beside another mechanism on the same cells, each place taken for its best.

    Attributes
    ----------
    loss, guess : of the mechanism: what it loses, and how often a place is guessed
    planar_loss, planar_guess : of planar geometric noise with the same ε
    equal_eps, equal_loss : ε of the planar noise through which places are guessed as often, and what it loses
        (None: there is none near)
    """

    eps: float
    loss: float
    guess: float
    planar_loss: float
    planar_guess: float
    equal_eps: float | None
    equal_loss: float | None

    def __str__(self) -> str:
        said = (
            f"planar geometric noise with the same ε loses {self.planar_loss:.6g} instead of {self.loss:.6g} "
            f"({in_percent(self.planar_loss / self.loss - 1)} more), and a place is guessed with probability "
            f"{in_percent(self.planar_guess)} instead of {in_percent(self.guess)}"
        )
        if self.equal_eps is None or self.equal_loss is None:
            return said
        return (
            f"{said}; with ε = {self.equal_eps:.3g}, where a place is guessed as often, it loses "
            f"{self.equal_loss:.6g} ({in_percent(self.equal_loss / self.loss - 1)} more)"
        )


def planar_beside(
    mechanism: Channel, lost: float, noise: PlanarNoise, belief: FloatArray, loss: GainMatrix
) -> PlanarBeside:
    """Planar noise beside a mechanism that loses so much, at the same ε and at the same guess."""
    guess = float(posterior_vulnerability(mechanism, belief).value)

    def planar(level: float) -> PlanarNoise:
        return PlanarNoise(noise.region, Fraction(math.exp(level)))

    def excess(level: float) -> float:
        return likelihood_of(planar(level), belief).guess(1).guess - guess

    def lost_by(through: PlanarNoise) -> float:
        return float(remap(through.finite(), belief, loss).after)

    own = math.log(noise.eps)
    ends = own - math.log(WIDEST), own + math.log(WIDEST)
    equal = None
    if excess(ends[0]) < 0 < excess(ends[1]):
        equal = float(brentq(excess, *ends, xtol=1e-9))
    return PlanarBeside(
        float(noise.eps),
        lost,
        guess,
        lost_by(noise),
        likelihood_of(noise, belief).guess(1).guess,
        None if equal is None else math.exp(equal),
        None if equal is None else lost_by(planar(equal)),
    )


def _planar(noise: PlanarNoise, belief: FloatArray | None, releases: int, confidence: float) -> TableOption:
    size, cell = len(noise.region), noise.region.cell
    view = likelihood_of(noise, np.full(size, 1 / size) if belief is None else belief)
    once, often = view.guess(1), view.guess(releases)
    scale, mean, reach = noise.lengths(confidence)
    return TableOption(
        "planar geometric",
        {"kind": "planar-geometric", "eps": float(noise.eps)},
        scale * cell,
        mean * cell,
        reach * cell,
        None,
        float(noise.eps),
        once.before,
        once.guess,
        once.exact,
        often.guess,
        often.exact,
        NO_PROOF,
        note="alike in all directions, clamped to the region",
    )


def _by_axes(noise: PlanarNoise, belief: FloatArray | None, releases: int, confidence: float) -> TableOption:
    rows, columns = noise.region.shape
    cell, level = noise.region.cell, noise.level.eps / math.sqrt(2)
    scale, mean, reach = axis_lengths(level, confidence)
    share = np.full(len(noise.region), 1 / len(noise.region)) if belief is None else belief
    blind, once = float(share.max()), axis_guess(share.reshape(rows, columns), level)
    kept = math.tanh(level / 2)
    capacity = (1 + (rows - 1) * kept) * (1 + (columns - 1) * kept)
    # What several releases multiply a guess by is at most the product.
    often = once if releases == 1 else math.exp(min(0.0, math.log(blind) + releases * math.log(capacity)))
    return TableOption(
        "geometric in each coordinate",
        None,
        scale * cell,
        mean * cell,
        reach * cell,
        None,
        float(noise.eps) if min(rows, columns) > 1 else float(noise.eps) / math.sqrt(2),
        blind,
        once,
        True,
        often,
        releases == 1,
        NO_PROOF,
        note="ε/√2 for a metre north and for a metre east, for whoever has no planar noise",
    )


def axis_guess(belief: FloatArray, level: float) -> float:
    """The best guess of a cell from geometric noise of a level in rows and columns, clamped to them.

    The likeliest cell for an output is found along the columns and then along the rows: largest logarithms of
    the belief, less the level for each step, carried forth and back.
    """
    best = np.full(belief.shape, -np.inf)
    np.log(belief, where=belief > 0, out=best)
    for axis, size in enumerate(belief.shape):
        fall = level * np.arange(size).reshape((-1, 1) if axis == 0 else (1, -1))
        ahead = np.maximum.accumulate(best + fall, axis=axis) - fall
        behind = np.flip(np.maximum.accumulate(np.flip(best - fall, axis), axis=axis), axis) + fall
        best = np.maximum(ahead, behind)
    row, column = (_chances(size, level) for size in belief.shape)
    return float(min(1.0, row @ np.exp(best) @ column))


def _chances(size: int, level: float) -> FloatArray:
    """What e^(-level·steps) is multiplied by at each place of an axis, whose ends have all beyond them."""
    if size == 1:
        return np.ones(1)
    found = np.full(size, math.tanh(level / 2))
    found[[0, -1]] = 1 / (1 + math.exp(-level))
    return found


def axis_lengths(level: float, confidence: float) -> tuple[float, float, float]:
    """Root mean square, mean and quantile of √(x² + y²), in cells, of geometric noise of a level in both.

    >>> axis_lengths(2.0, 1 / 2)
    (0.850918128239, 0.514952063206, 0.0)
    """
    q = math.exp(-level)
    scale = 2 * math.sqrt(q) / -math.expm1(-level)
    reach = math.ceil(TAIL / level) if level > TAIL / LARGEST_SUM else LARGEST_SUM + 1
    if reach > LARGEST_SUM:
        # ∫ (cos + sin)^-3 over a quarter turn, of the plane's e^(-level·(|x| + |y|)).
        mean = (math.sqrt(2) + math.asinh(1)) / (math.sqrt(2) * level)
        return scale, mean, brentq(lambda radius: _beyond(radius) - (1 - confidence), 0.0, 2.0 * TAIL) / level
    offsets = np.abs(np.arange(-reach, reach + 1))
    across, along = np.meshgrid(offsets, offsets)
    length = np.hypot(across, along).ravel()
    order = np.argsort(length, kind="stable")
    weights = np.exp(-level * (across + along).ravel()[order]) * math.tanh(level / 2) ** 2
    place = int(np.searchsorted(np.cumsum(weights), confidence - 1e-12))
    return scale, float(weights @ length[order]), float(length[order][place])


def _beyond(radius: float) -> float:
    """P(√(x² + y²) > r) for the plane's e^(-|x| - |y|)/4."""

    def ray(angle: float) -> float:
        rate = math.cos(angle) + math.sin(angle)
        return math.exp(-radius * rate) * (radius / rate + 1 / rate**2)

    return float(quad(ray, 0.0, math.pi / 2)[0])
