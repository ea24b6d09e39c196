"""Two pictures of a mechanism with its truth: what is published of one value, and what can be guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sievert.channels import Channel
from sievert.numerics import guess_words
from sievert.questions import LeakageComparisonRow
from sievert.report._bars import bars
from sievert.report._page import Picture
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, laid_out, percents

__all__ = ["guesses_picture", "guesses_side_by_side", "published_picture"]


def published_picture(channel: Channel) -> Picture:
    """The outputs of a listed channel when the truth lies in the middle of what is possible."""
    place = len(channel.inputs) // 2
    truth, chances = guess_words(channel.inputs[place]), channel.finite().rounded()[place]
    shown = np.flatnonzero(chances > 0).tolist()
    names = [guess_words(channel.outputs[output]) for output in shown]
    figure = Drawing()
    figure.add_bar(x=names, y=chances[shown], name=f"when the truth is {truth}", marker_color=AFTER)
    figure.update_xaxes(type="category")
    percents(laid_out(figure, "what is published", "probability"))
    caption = f"How likely each output is when the truth is {truth}, in the middle of what is possible."
    return Picture("What is published", caption, figure)


def guesses_picture(rows: Sequence[LeakageComparisonRow], releases: int) -> Picture:
    """The best guess before and after, by this mechanism and by any with its promise."""
    shown = [("before", rows[0].before, True)]
    for row in rows:
        when = "after one" if row is rows[0] else f"after {releases}"
        amounts = ((row.mechanism, when, False), (row.promise, f"{when}, promised", True))
        shown += [(name, amount.value, pale) for amount, name, pale in amounts if amount is not None]
    names, values, pale = zip(*shown, strict=True)
    figure = percents(bars(names, values, "probability of a right guess", pale), "x")
    caption = (
        "The best guess of somebody who knows everything else, before and after the releases. Pale: before, "
        "and the most that any mechanism with the same promise allows."
    )
    return Picture("What can be guessed", caption, figure)


def guesses_side_by_side(
    rows: Mapping[str, Sequence[LeakageComparisonRow]], releases: Mapping[str, int]
) -> Picture:
    """The best guess after one release and after all, by each of several mechanisms."""
    shown = []
    for name, found in rows.items():
        shown.append((f"{name}: before", found[0].before, True))
        for row in found:
            when = "after one" if row is found[0] else f"after {releases[name]}"
            if row.mechanism is not None:
                shown.append((f"{name}: {when}", row.mechanism.value, False))
    names, values, pale = zip(*shown, strict=True)
    figure = percents(bars(names, values, "probability of a right guess", pale), "x")
    caption = "The best guess of somebody who knows everything else, by each mechanism; pale: before."
    return Picture("What can be guessed", caption, figure)
