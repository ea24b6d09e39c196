"""Breaches of a file's mechanism in words: one observation, many, and how many it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import ClassVar

import numpy as np

from sievert.analysis import Analysis, table_noise_analysis
from sievert.channels import Channel, NoiseChannel
from sievert.errors import FileError
from sievert.files import PolicyScenario
from sievert.numerics import (
    abbreviated,
    at_least_percent,
    at_most_percent,
    did_you_mean,
    in_percent,
    require_size,
)
from sievert.observations import (
    Breaches,
    BreachUntil,
    ObservationsUntil,
    SimulatedVulnerability,
    SuccessProbability,
    breaches,
    observations_until_breach,
    observations_until_each,
    predicate_breach,
    predicate_members,
)
from sievert.questions._beside import finely
from sievert.questions._one_row import OfOneRow, one_row, rows_of_person
from sievert.questions._record_breach import (
    median_breach_time,
    predicate_breaches,
    record_breaches,
    releases_until,
    simulated_guess,
)
from sievert.spaces import KnownLabels, Metric, worded

__all__ = [
    "BreachAnswer",
    "breach_of",
    "listed_names",
    "observations_text",
    "probability_text",
    "read_range",
    "round_numbers",
]

TARGETS = (0.5, 0.9, 0.99)
# Rows of the table: all of a few numbers, else 1, 2, 5, 10, …
STEPS = (1, 2, 5)
MOST_ROWS = 12
# Numbers of observations of a long range for which success is computed.
MOST_POINTS = 200
# A breach is followed from one observation to the next.
MOST_OBSERVATIONS = 100_000
LONGEST_NUMBER = 30
# Pairs of answers times outputs that are compared: some ten seconds.
LARGEST_PAIRS = 500_000_000
SEED = 0
BAR = 20


@dataclass(frozen=True)
class BreachAnswer(OfOneRow):
    """What a file's mechanism gives away over many observations.

    Attributes
    ----------
    found : levels, rates and curves
    until : observations until a guess is right with probability 50 %, 90 % and 99 %
    about_record : whether all of it is about one record when the others are known, the mechanism having no
        list of inputs; levels are then about the two values that are easiest to tell apart, and so are
        breaches unless values were named
    half : observations by which a breach is likelier than not (None: it cannot happen)
    simulated : the last guess by simulation, where only bounds on it are known; an estimate, never a bound
    """

    title: str
    policy: str
    query: str
    mechanism: str
    records: int
    is_metric: bool
    found: Breaches
    until: tuple[ObservationsUntil, ...]
    half: BreachUntil | None
    about_record: bool = False
    simulated: SimulatedVulnerability | None = None

    passed: ClassVar[bool | None] = None

    @property
    def secret(self) -> str:
        """What is guessed, in words."""
        if self.records == 1:
            return "the value"
        return "one record" if self.about_record else "the true answer"

    def __str__(self) -> str:
        first, last = self.found.success[0], self.found.success[-1]
        start = in_percent(first.before)
        if last.observations == 1:
            return (
                f"One observation: {self.secret} is guessed with probability {start} before and "
                f"{self._chance(last)} after.{one_row(self.rows_per_person)}"
            )
        return (
            f"{last.observations} observations: {self.secret} is guessed with probability {start} before, "
            f"{self._chance(first)} after {observations_text(first.observations)} and {self._chance(last)} "
            f"after {last.observations}.{one_row(self.rows_per_person)}"
        )

    def _chance(self, point: SuccessProbability) -> str:
        """Both ends between which the chance surely lies, with the simulation of the last of them."""
        words, drawn = probability_text(point), self.simulated
        if drawn is None or point.exact or point.observations != drawn.releases:
            return words
        return f"{words} (simulated: {finely(drawn.lower)} to {finely(drawn.upper)})"


def read_range(text: str) -> list[int]:
    """The numbers of "1..1000", "10" (that is 1..10) or "1,10,100".

    >>> read_range("3..5"), read_range("2"), read_range("1,10")
    ([3, 4, 5], [1, 2], [1, 10])
    """
    written = re.fullmatch(r"\s*(?:(\d+)\s*\.\.)?\s*(\d+)\s*|\s*(\d+(?:\s*,\s*\d+)+)\s*", text, re.ASCII)
    numbers = [] if written is None else _numbers(*written.groups())
    if not numbers or numbers[0] < 1 or numbers[-1] < numbers[0]:
        raise FileError(
            f"--observations is {abbreviated(text)}; write 1..1000, or 10 for 1..10, or 1,10,100, from 1 on"
        )
    _require_few(numbers[-1], "--observations")
    return numbers if written is None or written[3] else list(range(numbers[0], numbers[-1] + 1))


def _numbers(first: str | None, last: str | None, several: str | None) -> list[int]:
    """First and last of a range, or the numbers of a list in order; longer ones than any limit are cut."""
    if several is not None:
        return sorted({int(part.strip()[:LONGEST_NUMBER]) for part in several.split(",")})
    assert last is not None
    return [int((first or "1")[:LONGEST_NUMBER]), int(last[:LONGEST_NUMBER])]


def _require_few(last: int, what: str) -> None:
    require_size(
        last,
        MOST_OBSERVATIONS,
        f"{what}: following the observations one after the other",
        "so ask for fewer; how many it takes until a guess is right is answered in any case",
    )


def run(
    scenario: PolicyScenario,
    observations: Sequence[int] | None = None,
    about: Sequence[str] | None = None,
    level: float | None = None,
) -> BreachAnswer:
    """The answer of `sievert breach`."""
    return breach_of(scenario, observations, about or (), level)


def breach_of(
    scenario: PolicyScenario,
    observations: Sequence[int] | None = None,
    about: Sequence[str] = (),
    level: float | None = None,
) -> BreachAnswer:
    """Levels, rates and curves of the file's mechanism about its input.

    Without a level, a breach is belief in the predicate that has come more than half of the way to certainty.
    """
    if not observations:
        _require_few(scenario.observations, f"{scenario.source}, adversary.observations")
    counts = list(observations) if observations else list(range(1, max(10, scenario.observations) + 1))
    return _breach(scenario.channel, scenario, counts, about, level)


@singledispatch
def _breach(
    channel: Channel, scenario: PolicyScenario, counts: list[int], about: Sequence[str], level: float | None
) -> BreachAnswer:
    """About the channel's input; about one record where the file asks for that."""
    if scenario.document.adversary.about == "record" and not scenario.query.is_record:
        view = table_noise_analysis(scenario.analysis)
        if view is None:
            raise FileError(
                f'{scenario.source}, adversary.about: is "record", but {scenario.mechanism.words()} on '
                f"{scenario.query.words} is no noise that is the same whatever the other records are; say "
                'about = "answer", or ask `sievert audit`, which looks at every situation of the others'
            )
        return _record_report(view, scenario, counts, about, level)
    channel, prior = channel.finite(), scenario.prior
    rows, columns = channel.shape
    require_size(
        rows * rows * columns,
        LARGEST_PAIRS,
        f"the {rows:,} answers, two by two, at {columns:,} outputs",
        'ask about one record (adversary: about = "record"), or take values in larger steps',
    )
    predicate = _about(channel.inputs, about)
    members = None if predicate is None else predicate_members(channel, predicate)
    first = predicate_breach(channel, prior, members)
    size = math.log2((1 + first.before) / 2 / first.before) if level is None else level
    named = list(first.predicate)
    found = breaches(
        channel, prior, named, size, _thinned(counts), policy_or_metric=scenario.answers, rng=SEED
    )
    assert found.breach is not None
    half = None
    if found.breach.reachable:
        # Without a rate it may never become likely, so it is not looked for as far.
        most = 1 << 12 if found.breach.rate_bits > 0 else max(256, counts[-1])
        half = observations_until_breach(
            channel, 0.5, level=size, predicate=named, prior=prior, most=most, rng=SEED
        )
    targets = [target for target in TARGETS if found.success[-1].before < target]
    return BreachAnswer(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        scenario.mechanism.words(),
        scenario.policy.records,
        isinstance(scenario.policy.secrets, Metric),
        found,
        observations_until_each(channel, targets, prior, SEED),
        half,
        rows_per_person=rows_of_person(scenario),
    )


@_breach.register
def _about_record(
    channel: NoiseChannel,
    scenario: PolicyScenario,
    counts: list[int],
    about: Sequence[str],
    level: float | None,
) -> BreachAnswer:
    """About one record, where the channel has no list of inputs."""
    return _record_report(scenario.analysis, scenario, counts, about, level)


def _record_report(
    view: Analysis, scenario: PolicyScenario, counts: list[int], about: Sequence[str], level: float | None
) -> BreachAnswer:
    named = _about(scenario.policy.values, about)
    found = record_breaches(view, _thinned(counts), level)
    half = median_breach_time(view, found) if named is None else None
    if named is not None:
        found, half = predicate_breaches(view, found, named, counts[-1], level)
    return BreachAnswer(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        view.description,
        scenario.policy.records,
        scenario.policy.is_metric,
        found,
        releases_until(view, TARGETS),
        half,
        about_record=True,
        simulated=simulated_guess(view, found.success),
        rows_per_person=rows_of_person(scenario),
    )


def _thinned(counts: list[int]) -> list[int]:
    """At most some numbers of a long range, denser at first, with those that the table shows."""
    if len(counts) <= MOST_POINTS or counts != list(range(counts[0], counts[-1] + 1)):
        return counts
    places = np.geomspace(1, len(counts), MOST_POINTS).round().astype(int) - 1
    return sorted({counts[i] for i in places} | (round_numbers() & set(counts)))


def round_numbers() -> set[int]:
    """1, 2, 5, 10, 20, …"""
    return {a * 10**k for a in STEPS for k in range(8)}


def _about(inputs: Sequence[Hashable], texts: Sequence[str]) -> list[Hashable] | None:
    """The inputs that the command line names by their texts."""
    if not texts:
        return None
    known = KnownLabels(tuple(inputs))
    named = []
    for text in texts:
        item = known.find(text)
        if item is None:
            # Cells and combinations of columns, as they are shown.
            item = next((label for label in inputs if isinstance(label, tuple) and str(label) == text), None)
        if item is None:
            hint = did_you_mean(text, inputs)
            raise FileError(
                f"--about is {abbreviated(text)}, which is no input; inputs are {listed_names(inputs)}{hint}"
            )
        named.append(item)
    return named


def probability_text(point: SuccessProbability) -> str:
    """The chance of a right guess: one number where it is known, else both ends."""
    if point.value == 1 and point.missing_bits < math.inf:
        return "almost 100%"
    if point.exact or in_percent(point.lower) == in_percent(point.upper):
        return in_percent(point.value)
    return f"{at_least_percent(point.lower)} to {at_most_percent(point.upper)}"


def observations_text(count: int) -> str:
    """How many observations, with the word."""
    return "1 observation" if count == 1 else f"{count} observations"


def listed_names(items: Sequence[Hashable], most: int = 8) -> str:
    """Names, the first few of many."""
    named = ", ".join(map(worded, items[:most]))
    return f"{named} and {len(items) - most} more" if len(items) > most else named
