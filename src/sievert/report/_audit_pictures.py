"""The pictures of an audit: what the mechanism does, what can be believed, and how guesses grow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from sievert.channels import Channel, NoiseChannel
from sievert.files import PolicyScenario
from sievert.numerics import guess_words, in_percent
from sievert.questions import (
    GuessCurve,
    LeakageCurves,
    NoiseCurve,
    NoiseMap,
    guess_by_eps,
    guess_by_releases,
    leakage_curves,
    noise_curve,
)
from sievert.questions.audit import Audit
from sievert.report import plots
from sievert.report._page import Picture
from sievert.results import Result
from sievert.spaces.secrets import SecretGraph

if TYPE_CHECKING:
    from sievert.questions.interval import IntervalCurves

__all__ = ["eps_picture", "law_pictures", "noise_pictures", "pictures", "releases_picture"]

# More values than this make a graph that nobody can read.
LARGEST_GRAPH = 30


def pictures(audit: Audit, scenario: PolicyScenario) -> list[Picture]:
    """How the guess grows, what the mechanism does, what is believed; of small policies the secrets."""
    drawn = [*releases_picture(scenario), *_of_channel(scenario.channel, audit, scenario)]
    if audit.interval is not None:
        from sievert.questions.interval import interval_curves

        drawn += _of_interval(interval_curves(scenario))
    if audit.inference is not None:
        from sievert.report.infer import tradeoff_picture

        drawn.append(tradeoff_picture(audit.inference))
    secrets = scenario.policy.secrets
    if audit.records == 1 and isinstance(secrets, SecretGraph) and secrets.size <= LARGEST_GRAPH:
        drawn.append(_secrets(audit, secrets))
    return drawn


def _of_interval(found: IntervalCurves | None) -> Iterator[Picture]:
    """Noise on an interval: its density with atoms, its price on ever finer grids, its path of beliefs."""
    if found is None:
        return
    yield Picture(
        "The noise before it is told in pixels",
        "The density of the output for two true numbers; a bar is the probability of that end itself.",
        plots.laplace_density(found.noise, found.inputs),
    )
    if found.prices:
        yield Picture(
            "What Laplace noise loses beyond the best on a grid",
            "The finer the grid, the less is lost to a mechanism that is private on the grid alone; the "
            "bounds hold for every belief.",
            plots.laplace_price(found.prices),
        )
    yield Picture(
        "Beliefs along the outputs of the noise",
        "If only both ends and the middle were possible, each as likely as the values nearest to it: what is "
        "believed after every output, between what a geometric mechanism on these three would tell.",
        plots.laplace_posteriors(found.noise, found.pixels, found.belief),
    )


def releases_picture(scenario: PolicyScenario, most: int | None = None) -> Iterator[Picture]:
    """The guess about one record against the number of releases."""
    curve = guess_by_releases(scenario, most)
    if curve is None:
        return
    caption = "The best guess about one record for somebody who knows all others, release after release."
    yield Picture("The guess, release by release", caption + _bounds(curve), _guesses(curve, "releases"))


def _bounds(curve: GuessCurve) -> str:
    """What the dashes mean, where there are some."""
    return "" if all(curve.exact) else " Dashed: at most that."


def _guesses(curve: GuessCurve, axis: str) -> go.Figure:
    return plots.guess_curve(
        curve.levels,
        curve.guesses,
        curve.before,
        exact=curve.exact,
        here=curve.here,
        limit=curve.limit,
        ever=curve.ever,
        axis=axis,
    )


@singledispatch
def _of_channel(channel: Channel, audit: Audit, scenario: PolicyScenario) -> list[Picture]:
    """A channel with a list: its entries, the most revealing output, leakage against ε."""
    return [
        Picture(
            "Belief before and after the most revealing output",
            "What an adversary believes before the release, and after the output that makes some value "
            "likeliest.",
            plots.beliefs(channel, scenario.prior),
        ),
        Picture(
            "What the mechanism does",
            "Each row is a true value; the darker a cell, the likelier that output.",
            plots.channel_heatmap(channel),
        ),
        _curve(leakage_curves(scenario, audit)),
    ]


@_of_channel.register
def _of_noise(channel: NoiseChannel, audit: Audit, scenario: PolicyScenario) -> list[Picture]:
    return noise_pictures(channel, scenario)


def noise_pictures(noise: NoiseChannel, scenario: PolicyScenario) -> list[Picture]:
    """Noise: its law in one number or on the map, one belief; without a list the guess against ε."""
    return [*law_pictures(noise, scenario), *eps_picture(scenario)]


def law_pictures(channel: Channel, scenario: PolicyScenario) -> Iterator[Picture]:
    """What the mechanism does to one number or place, and to one belief; nothing where there is a list."""
    found = noise_curve(channel, scenario)
    return iter(()) if found is None else _drawn(found)


def eps_picture(scenario: PolicyScenario) -> Iterator[Picture]:
    """The guess about one record against ε."""
    curve = guess_by_eps(scenario)
    if curve is not None:
        caption = "The best guess about one record after one release, if the mechanism had another ε."
        yield Picture("The guess against ε", caption + _bounds(curve), _guesses(curve, "ε (nats)"))


@singledispatch
def _drawn(found: Result) -> Iterator[Picture]:
    raise TypeError(f"{type(found).__name__} is no noise")


@_drawn.register
def _cell(found: NoiseCurve) -> Iterator[Picture]:
    yield Picture(
        "The noise in one number",
        f"How far a released number may be from the truth; blue is what happens with probability "
        f"{in_percent(found.confidence)} or more.",
        plots.noise_law(found.amounts, found.probabilities, radius=found.radius, confidence=found.confidence),
    )
    yield Picture(
        "Belief before and after",
        "What somebody who knows all other records believes about the remaining one before the release, and "
        f"after the output that is likeliest when it is {guess_words(found.seen)}.",
        plots.belief_shift(
            found.values, found.before, found.after, f"after it looks like {guess_words(found.seen)}"
        ),
    )


@_drawn.register
def _map(found: NoiseMap) -> Iterator[Picture]:
    yield Picture(
        "Where a place is released",
        "A place in the middle of the region, and how likely each cell is to be released in its stead.",
        plots.noise_map(found.east, found.north, found.probabilities.tolist()),
    )


def _secrets(audit: Audit, secrets: SecretGraph) -> Picture:
    pair = audit.epsilon.pair
    shown = pair if pair is not None and all(value in secrets.position for value in pair) else None
    marked = "" if shown is None else "; the red line joins the two that are easiest to tell apart"
    return Picture(
        "What must not be told apart",
        f"Values that are joined must not be told apart{marked}.",
        plots.policy_graph(secrets, witness=shown),
    )


def _curve(curves: LeakageCurves) -> Picture:
    figure = plots.leakage_curve(curves.eps, curves.bits, here=curves.here, limit=curves.limit)
    caption = f"Leakage of one release through {curves.family} as ε varies; the upright line is this file."
    return Picture("Leakage against ε", caption, figure)
