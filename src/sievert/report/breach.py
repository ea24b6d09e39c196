"""Breaches of a file's mechanism in words: one observation, many, and how many it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sievert.errors import FileError
from sievert.files import Scenario
from sievert.leakage.breach_levels import predicate_breach
from sievert.leakage.breach_times import (
    BreachCurve,
    BreachUntil,
    observations_until_breach,
    predicate_members,
)
from sievert.leakage.breaches import Breaches, breaches
from sievert.leakage.success import EXACT, SuccessProbability
from sievert.leakage.until import ObservationsUntil, observations_until_each
from sievert.numerics.checks import brief, did_you_mean, require_size
from sievert.report import plots
from sievert.report.audit import describe_mechanism
from sievert.report.words import bits, probability, times
from sievert.results import Result
from sievert.spaces.metric import Metric
from sievert.tables.label_texts import KnownLabels

__all__ = ["BreachReport", "breach_lines", "breach_of", "breach_table", "listed", "read_range"]

TARGETS = (0.5, 0.9, 0.99)
# Rows of the table: all of a few numbers, else 1, 2, 5, 10, …
STEPS = (1, 2, 5)
MOST_ROWS = 12
# Numbers of observations of a long range for which success is computed.
MOST_POINTS = 200
# A breach is followed from one observation to the next.
MOST_OBSERVATIONS = 100_000
LONGEST_NUMBER = 30
SEED = 0
BAR = 20


@dataclass(frozen=True)
class BreachReport(Result):
    """What a file's mechanism gives away over many observations.

    Attributes
    ----------
    found : levels, rates and curves
    until : observations until a guess is right with probability 50 %, 90 % and 99 %
    half : observations by which a breach is likelier than not (None: it cannot happen)
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

    @property
    def secret(self) -> str:
        """What is guessed, in words."""
        return "the value" if self.records == 1 else "the true answer"

    def __str__(self) -> str:
        first, last = self.found.success[0], self.found.success[-1]
        start = probability(first.before)
        if last.observations == 1:
            return (
                f"One observation: {self.secret} is guessed with probability {start} before and "
                f"{_chance(last)} after."
            )
        return (
            f"{last.observations} observations: {self.secret} is guessed with probability {start} before, "
            f"{_chance(first)} after {_observations(first.observations)} and {_chance(last)} after "
            f"{last.observations}."
        )


def read_range(text: str) -> list[int]:
    """The numbers of "1..1000", "10" (that is 1..10) or "1,10,100".

    >>> read_range("3..5"), read_range("2"), read_range("1,10")
    ([3, 4, 5], [1, 2], [1, 10])
    """
    written = re.fullmatch(r"\s*(?:(\d+)\s*\.\.)?\s*(\d+)\s*|\s*(\d+(?:\s*,\s*\d+)+)\s*", text, re.ASCII)
    numbers = [] if written is None else _numbers(*written.groups())
    if not numbers or numbers[0] < 1 or numbers[-1] < numbers[0]:
        raise FileError(
            f"--observations is {brief(text)}; write 1..1000, or 10 for 1..10, or 1,10,100, from 1 on"
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


def breach_of(
    scenario: Scenario,
    observations: Sequence[int] | None = None,
    about: Sequence[str] = (),
    level: float | None = None,
) -> BreachReport:
    """Levels, rates and curves of the file's mechanism about its input.

    Without a level, a breach is belief in the predicate that has come more than half of the way to certainty.
    """
    channel, prior = scenario.channel.finite(), scenario.prior
    if not observations:
        _require_few(scenario.observations, f"{scenario.source}, adversary.observations")
    counts = list(observations) if observations else list(range(1, max(10, scenario.observations) + 1))
    predicate = _about(channel.inputs, about)
    members = None if predicate is None else predicate_members(channel, predicate)
    first = predicate_breach(channel, prior, members)
    size = math.log2((1 + first.before) / 2 / first.before) if level is None else level
    named = list(first.predicate)
    found = breaches(channel, prior, named, size, _thinned(counts), scenario.answers, rng=SEED)
    assert found.breach is not None
    half = None
    if found.breach.reachable:
        # Without a rate it may never become likely, so it is not looked for as far.
        most = 1 << 12 if found.breach.rate_bits > 0 else max(256, counts[-1])
        half = observations_until_breach(channel, 0.5, size, named, prior, most=most, rng=SEED)
    targets = [target for target in TARGETS if found.success[-1].before < target]
    return BreachReport(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        describe_mechanism(scenario),
        scenario.policy.records,
        isinstance(scenario.policy.secrets, Metric),
        found,
        observations_until_each(channel, targets, prior, SEED),
        half,
    )


def _thinned(counts: list[int]) -> list[int]:
    """At most some numbers of a long range, denser at first, with those that the table shows."""
    if len(counts) <= MOST_POINTS or counts != list(range(counts[0], counts[-1] + 1)):
        return counts
    places = np.geomspace(1, len(counts), MOST_POINTS).round().astype(int) - 1
    return sorted({counts[i] for i in places} | (_round_numbers() & set(counts)))


def _round_numbers() -> set[int]:
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
            hint = did_you_mean(text, inputs)
            raise FileError(f"--about is {brief(text)}, which is no input; inputs are {listed(inputs)}{hint}")
        named.append(item)
    return named


def breach_lines(report: BreachReport) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What is protected", [report.policy, f"Released: {report.query}, through {report.mechanism}."]
    yield "One observation", _one(report)
    yield "Many observations", _many(report)
    yield f"How many observations until {report.secret} is known", _until(report)
    yield "A breach", _breach(report)


def _one(report: BreachReport) -> list[str]:
    worst, average = report.found.worst, report.found.average
    if worst.pair is None or average.pair is None:
        return ["No output changes any belief: the release tells nothing."]
    likely, unlikely = worst.pair
    if math.isinf(worst.bits):
        lines = [f"Output {worst.output!r} rules {unlikely!r} out: beliefs can change without limit."]
    else:
        lines = [
            f"Whatever somebody believes and asks, no belief changes by more than {times(2**worst.bits)} "
            f"({bits(worst.bits)}). Output {worst.output!r} comes as close as one likes to that for somebody "
            f"who is nearly sure of {unlikely!r} and sees {likely!r} become likelier."
        ]
    lines.append(
        f"On average: whether it is {average.pair[0]!r} or {average.pair[1]!r} is guessed right with "
        f"probability {probability((1 + average.distance) / 2)} instead of 50.0% ({bits(average.bits)}); no "
        "yes-or-no question gains more."
    )
    return lines + _privacy(report)


def _privacy(report: BreachReport) -> list[str]:
    found = report.found
    assert found.privacy is not None
    level = found.privacy.nats / math.log(2)
    if report.is_metric:
        lines = [f"The promise is {bits(level)} (ε = {found.privacy.nats:.4g} nats) for a distance of 1."]
    elif math.isinf(level):
        lines = ["The policy promises nothing here: neighbours are told apart without limit."]
    elif not found.differs:
        lines = [f"That is the policy's own promise: ε = {found.privacy.nats:.4g} nats is {bits(level)}."]
    else:
        lines = [
            f"The promise of the policy is {bits(level)} (ε = {found.privacy.nats:.4g} nats) for neighbours; "
            f"inputs further apart are told apart by up to {_bits(found.worst.bits)}."
        ]
    one = found.individual
    if report.records > 1 and one is not None and one.values is not None and one.inputs is not None:
        lines.append(
            f"About one record, the others independent of it: belief in {one.values[0]!r} against "
            f"{one.values[1]!r} changes by up to {_bits(one.bits)}, for somebody who knows the others and "
            f"that the answer is {one.inputs[0]!r} or {one.inputs[1]!r}. If records may depend on each "
            f"other: up to {_bits(one.correlated_bits)}."
        )
    return lines


def _many(report: BreachReport) -> list[str]:
    rates, last = report.found.rates, report.found.success[-1]
    lines = []
    if rates.average.pair is not None and rates.utility.pair is not None:
        easiest, hardest = _pair(rates.average.pair), _pair(rates.utility.pair)
        pace = f"{bits(rates.utility.bits)} an observation"
        if math.isinf(rates.utility.bits):
            lines.append("One observation tells any two apart for certain.")
        elif rates.utility.bits >= rates.average.bits * (1 - 1e-9):
            lines.append(f"Any two are equally easy to tell apart: {pace}.")
        else:
            top = rates.average.bits
            easy = "for certain, by one" if math.isinf(top) else f"{bits(top)} an observation"
            lines.append(
                f"Easiest to tell apart: {easiest} ({easy}). Hardest: {hardest} ({pace}), which decides how "
                "fast everything becomes known."
            )
        if math.isfinite(rates.worst.bits):
            lines.append(
                f"In the worst case each further observation adds {bits(rates.worst.bits)} to the change of "
                "a belief."
            )
        if math.isfinite(rates.utility.bits):
            lines.append(
                f"In the long run what a guess lacks falls like 2^(-{rates.utility.bits:.4g} n); the column "
                "of that name shows this pace, not the height."
            )
    lines += [f"Never told apart, however often one looks: {listed(group)}." for group in rates.classes]
    if last.limit < 1 - 1e-12:
        lines.append(f"So no number of observations makes a guess better than {probability(last.limit)}.")
    lines.append(
        f"After {_observations(last.observations)} {report.secret} is guessed with probability "
        f"{_chance(last)} ({last.method})."
    )
    total = last.observations - report.found.success[0].observations + 1
    if MOST_POINTS < total != len(report.found.success):
        lines.append(f"Guesses are computed for {len(report.found.success)} of the {total} numbers.")
    return lines


def _until(report: BreachReport) -> list[str]:
    if not report.until:
        return [f"It is guessed with probability {probability(report.found.success[0].before)} without any."]
    lines = []
    for item in report.until:
        chance = probability(item.target)
        if item.least is None:
            first = chance.replace(".0%", "%")
            lines.append(f"No number of observations makes a guess right with probability {first} or more.")
            break
        if item.most is None:
            lines.append(f"{chance}: more than 10^12 observations.")
        elif item.least == item.most:
            lines.append(f"{chance}: {_observations(item.most)} ({item.method}).")
        else:
            lines.append(f"{chance}: between {item.least} and {item.most} observations ({item.method}).")
    return lines


def _breach(report: BreachReport) -> list[str]:
    curve = report.found.breach
    assert curve is not None
    named = listed(curve.predicate)
    if curve.before > 1 - 1e-12:
        return [f"Belief in {named} is certain from the start: nothing is left to learn."]
    if not curve.reachable:
        return [
            f"Belief in {named} is {probability(curve.before)} at first and cannot grow by "
            f"{bits(curve.level_bits)}: such a breach never happens."
        ]
    n = len(curve.at)
    lines = [
        f"Belief in {named}, {probability(curve.before)} at first, exceeds {probability(curve.threshold)} "
        f"({bits(curve.level_bits)} more). If it is true, that is the case at {n} observations with "
        f"probability {_breach_chance(curve, n, 0)}, and at some point by then with "
        f"{_breach_chance(curve, n, 1)} ({curve.method})."
    ]
    half = report.half
    if half is not None and half.most is not None:
        count = (
            _observations(half.most)
            if half.least == half.most
            else f"{half.least} to {half.most} observations"
        )
        lines.append(f"By {count} it is likelier than not to have happened ({half.method}).")
    elif half is not None:
        certainly = "" if half.least is None else "certainly "
        lines.append(
            f"Even by {half.searched} observations it is not {certainly}likelier than not to have happened "
            f"({half.method})."
        )
    if 0 < curve.rate_bits < math.inf:
        # Thm 7 is about channels without zeros.
        pace = "at least as fast as" if math.isinf(report.found.worst.bits) else "like"
        lines.append(
            f"In the long run the probability that it is not the case at n falls {pace} "
            f"2^(-{curve.rate_bits:.4g} n)."
        )
    return lines


def breach_table(report: BreachReport) -> tuple[list[str], list[list[str]]]:
    """Header and rows: success, its asymptote, the breach at n and by n, and success as a bar."""
    found, curve = report.found, report.found.breach
    assert curve is not None
    header = ["n", "right guess", "in the long run", "breach at n", "breach by n", "right guess, 0 to 100%"]
    counts = [point.observations for point in found.success.points]
    shown = {counts[0], counts[-1]} | _round_numbers()
    shown |= set(counts) if len(counts) <= MOST_ROWS else set()
    rows = []
    for point in found.success.points:
        n = point.observations
        if n in shown:
            rows.append(
                [
                    str(n),
                    _chance(point),
                    probability(plots.long_run(point, found.rates.utility.bits)),
                    _breach_chance(curve, n, 0),
                    _breach_chance(curve, n, 1),
                    "█" * round(BAR * point.value),
                ]
            )
    return header, rows


def _chance(point: SuccessProbability) -> str:
    if point.value == 1 and point.missing_bits < math.inf:
        return "almost 100%"
    if point.method == EXACT or probability(point.lower) == probability(point.upper):
        return probability(point.value)
    return f"{probability(point.lower)} to {probability(point.upper)}"


def _breach_chance(curve: BreachCurve, n: int, row: int) -> str:
    low, high = (probability(float(bound[row, n - 1])) for bound in (curve.lower, curve.upper))
    return low if low == high else f"{low} to {high}"


def _bits(value: float) -> str:
    return "without limit" if math.isinf(value) else bits(value)


def _pair(pair: tuple[Hashable, Hashable]) -> str:
    return f"{pair[0]!r} and {pair[1]!r}"


def _observations(count: int) -> str:
    return "1 observation" if count == 1 else f"{count} observations"


def listed(items: Sequence[Hashable], most: int = 8) -> str:
    """Names, the first few of many."""
    named = ", ".join(map(repr, items[:most]))
    return f"{named} and {len(items) - most} more" if len(items) > most else named
