"""How questions see the mechanism of a file: through the list of its answers, or as noise without one.

Every question asks the same things: the true ε, whether the promise is kept, how well one record is guessed
now and after many releases, and what the whole database gives away. A list answers by looking at its entries.
Noise that is the same everywhere answers by closed forms, whatever the number of answers: ε by the
sensitivity, with a certificate that is verified here, and guesses by what one record shows through the noise.
"""

from __future__ import annotations

from functools import singledispatch

from sievert.channels import Channel, NoiseChannel, SeveralNoise, TableNoise
from sievert.files import Scenario, added_noise
from sievert.questions._seen_base import SEED, SHARE, Seen, belief_of
from sievert.questions._seen_listed import Listed
from sievert.questions._seen_noise import OnSeveral, OnTable, Unlisted

__all__ = ["SEED", "SHARE", "Seen", "Unlisted", "belief_of", "one_record_of", "seen"]


def seen(scenario: Scenario) -> Seen:
    """How to see the mechanism of a file; the file keeps the view, and the view what was found."""
    if "view" not in scenario.kept:
        scenario.kept["view"] = _seen(scenario.channel, scenario)
    view: Seen = scenario.kept["view"]
    return view


@singledispatch
def _seen(channel: Channel, scenario: Scenario) -> Seen:
    return Listed(scenario)


@_seen.register
def _without_list(channel: NoiseChannel, scenario: Scenario) -> Seen:
    return Unlisted(scenario, channel)


@_seen.register
def _on_several(channel: SeveralNoise, scenario: Scenario) -> Seen:
    return OnSeveral(scenario, channel)


@_seen.register
def _on_table(channel: TableNoise, scenario: Scenario) -> Seen:
    return OnTable(scenario, channel)


def one_record_of(view: Seen) -> Seen | None:
    """A mechanism with a list seen as noise on one record; None where it is no such noise."""
    noise = added_noise(view.scenario)
    if not isinstance(view, Listed) or view._view is None or not isinstance(noise, TableNoise):
        return None
    return OnTable(view.scenario, noise)
