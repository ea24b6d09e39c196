"""What noise on an interval means for real numbers: the loss to expect, the best one, guesses, pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sievert.channels import Channel
from sievert.continuous import (
    Density,
    DensityPrior,
    Gap,
    LaplaceLoss,
    Resolution,
    TruncatedLaplace,
    gap,
    laplace_loss,
    pixelated_loss,
    resolution,
    truncated_laplace,
)
from sievert.files import PolicyScenario
from sievert.mechanisms import PixelatedLaplaceChannel
from sievert.numerics import in_nats, in_percent
from sievert.results import Result

__all__ = ["IntervalCurves", "IntervalFacts", "WithinShare", "interval_curves", "interval_facts"]
# The share of the loss that coarse pixels may add, for the number of pixels that is recommended.
SHARE = 0.01
# Grids on which the price of Laplace noise is drawn.
PRICED = (2, 4, 8, 16, 32, 64, 128)
# What the file's loss is where it states none.
DEFAULT_LOSS = "absolute"


@dataclass(frozen=True)
class WithinShare(Result):
    """The chance to guess a real number within a radius, before the release and after it."""

    radius: float
    before: LaplaceLoss
    after: LaplaceLoss

    def __str__(self) -> str:
        return (
            f"The number itself, not the nearest value, is guessed within {self.radius:g}: "
            f"{_between(self.before)} before, {_between(self.after)} after seeing every digit."
        )


def _between(missed: LaplaceLoss) -> str:
    """The chance of a hit, as far as it is certain."""
    low, high = in_percent(1 - missed.high), in_percent(1 - missed.low)
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class IntervalFacts(Result):
    """What noise on an interval does to real numbers.

    Attributes
    ----------
    loss : what Laplace noise of every digit loses for the belief's density, certified
    released : what the file's release loses: the number rounded to the nearest value, and one of its pixels;
        None where the loss has no closed form for pixels
    on_grid : the same on the file's grid, beside the geometric mechanism's
    optimal : whether no mechanism that is private on the whole interval loses less
    within : guesses within a distance, for each such gain of the file
    advice : the grid and pixels for which little is lost
    pixels : how many the file has
    step : how far apart the values are that numbers are rounded to; two numbers that are less apart may be
        that far apart when rounded
    """

    loss: LaplaceLoss | None
    released: LaplaceLoss | None
    on_grid: Gap
    optimal: bool
    within: tuple[WithinShare, ...]
    advice: Resolution
    pixels: int
    step: float

    def sentences(self) -> list[str]:
        """The facts, one a sentence."""
        found = []
        if self.loss is not None:
            best = (
                ", and no mechanism that is private on the whole interval loses less" if self.optimal else ""
            )
            said = str(self.loss)
            found.append(f"With every digit {said}{best}.")
        found += self._released()
        grid = str(self.on_grid)
        found.append(f"{grid[0].upper()}{grid[1:]}.")
        found += [str(item) for item in self.within]
        enough = "are enough" if self.pixels >= self.advice.pixels else "would be enough"
        found.append(
            f"{self.advice.pixels} pixels {enough} to lose at most 1% more than with every digit; the file "
            f"has {self.pixels}."
        )
        found.append(self._rounding())
        return found

    def of_rounding(self) -> list[str]:
        """What it costs to release the nearest value and a pixel in place of every digit."""
        return [*self._released(), self._rounding()]

    def _released(self) -> list[str]:
        if self.released is None:
            return []
        more = ""
        if self.loss is not None and self.loss.value > 0:
            # Between the proved bounds of both, as far as the percentage shows.
            share = self.released.value / self.loss.value - 1
            more = f": rounding and pixels cost {share:.2%} of what is lost with every digit"
        return [
            f"From what the file releases, the nearest value in {self.pixels} pixels, the best guess loses "
            f"{self.released.amount()}{more}."
        ]

    def _rounding(self) -> str:
        return (
            f"Numbers are rounded to the nearest value first, by at most {self.step / 2:g}: two that are d "
            f"apart are protected like ⌊d/{self.step:g}⌋ + 1 steps of {self.step:g} "
            f"({in_nats(self.on_grid.eps * self.step)} each) between them."
        )

    def __str__(self) -> str:
        return " ".join(self.sentences())


def interval_facts(scenario: PolicyScenario) -> IntervalFacts | None:
    """The facts, where the file's noise is on an interval."""
    return _facts(scenario.channel, scenario)


@singledispatch
def _facts(channel: Channel, scenario: PolicyScenario) -> IntervalFacts | None:
    return None


@_facts.register
def _on_interval(channel: PixelatedLaplaceChannel, scenario: PolicyScenario) -> IntervalFacts | None:
    if math.isinf(channel.level.eps):
        return None  # without noise there is nothing to say of it
    eps = channel.level.exact_eps if channel.level.exact_eps is not None else channel.level.eps
    cells = channel.shape[0] - 1
    loss, density = _loss(scenario), _density(channel, scenario)
    on_grid = gap(scenario.use_prior, loss, eps, cells, interval=channel.interval)
    whole = None if density is None else laplace_loss(density, loss, eps)
    released = None if density is None else pixelated_loss(density, loss, eps, channel.pixels, cells)
    return IntervalFacts(
        loss=whole,
        released=released,
        on_grid=on_grid,
        optimal=on_grid.single_crossing is True,
        within=() if density is None else tuple(_within(density, r, eps) for r in _radii(scenario)),
        advice=resolution(SHARE, eps=eps, interval=channel.interval),
        pixels=channel.pixels,
        step=float((channel.interval[1] - channel.interval[0]) / cells),
    )


@dataclass(frozen=True)
class IntervalCurves:
    """What is drawn of noise on an interval.

    Attributes
    ----------
    noise : whose density is drawn
    inputs : for which it is
    prices : of Laplace noise on ever finer grids
    pixels : how many the file has
    belief : in both ends and the middle, each with what is believed of the values nearest to it
    """

    noise: TruncatedLaplace
    inputs: tuple[float, ...]
    prices: tuple[Gap, ...]
    pixels: int
    belief: tuple[float, float, float]


def interval_curves(scenario: PolicyScenario) -> IntervalCurves | None:
    """The noise and its price, where the file's noise is on an interval."""
    return _view(scenario.channel, scenario)


@singledispatch
def _view(channel: Channel, scenario: PolicyScenario) -> IntervalCurves | None:
    return None


@_view.register
def _view_on_interval(channel: PixelatedLaplaceChannel, scenario: PolicyScenario) -> IntervalCurves | None:
    if math.isinf(channel.level.eps):
        return None
    eps = channel.level.exact_eps if channel.level.exact_eps is not None else channel.level.eps
    low, high = channel.interval
    loss, density = _loss(scenario), _density(channel, scenario)
    prices = () if density is None else tuple(gap(density, loss, eps, cells) for cells in PRICED)
    inputs = tuple(float(low + (high - low) * share) for share in (Fraction(1, 4), Fraction(1, 2)))
    noise = truncated_laplace(eps, (low, high))
    return IntervalCurves(noise, inputs, prices, channel.pixels, _of_three(channel, scenario.use_prior))


def _of_three(channel: PixelatedLaplaceChannel, prior: Any) -> tuple[float, float, float]:
    """A belief in numbers of an interval, rounded to its ends and its middle; halfway belongs to both."""
    low, high = channel.interval
    found = [0.0, 0.0, 0.0]
    for point, mass in zip(channel.points, prior, strict=True):
        place = 2 * (point - low) / (high - low)
        nearest = [k for k in range(3) if abs(place - k) <= Fraction(1, 2)]
        for k in nearest:
            found[k] += float(mass) / len(nearest)
    return found[0], found[1], found[2]


def _loss(scenario: PolicyScenario) -> Any:
    """The use's loss as it is written, where it is one of real numbers; else its table."""
    use = scenario.document.use
    if use is None:
        return DEFAULT_LOSS
    spelled = use.loss.spelled()
    known = ("absolute", "squared") if isinstance(spelled, str) else ("pinball", "threshold", "tolerance")
    named = (
        spelled in known if isinstance(spelled, str) else len(spelled) == 1 and next(iter(spelled)) in known
    )
    return spelled if named else scenario.use_loss


def _density(channel: PixelatedLaplaceChannel, scenario: PolicyScenario) -> Density | None:
    """What is believed about the number itself; None for a belief about the grid's points."""
    if not isinstance(_loss(scenario), str | dict):
        return None
    adversary, use = scenario.document.adversary, scenario.document.use
    stated = [adversary.prior, adversary.record_prior] if use is None else [use.prior, adversary.prior]
    given = next((prior for prior in (*stated, adversary.record_prior) if prior is not None), None)
    if given is None or given.is_uniform:
        return Density.uniform(channel.interval)
    return given.on(channel.interval) if isinstance(given, DensityPrior) else None


def _radii(scenario: PolicyScenario) -> list[float]:
    radii = (getattr(gain, "within", None) for gain in scenario.document.adversary.gains)
    return [radius for radius in radii if radius is not None]


def _within(density: Density, radius: float, eps: Any) -> WithinShare:
    loss = {"tolerance": radius}
    return WithinShare(radius, laplace_loss(density, loss, 0), laplace_loss(density, loss, eps))
