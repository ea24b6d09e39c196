"""The page of `sievert breach --report`: sentences, curves and table in one file."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from pathlib import Path

from sievert.files import PolicyScenario
from sievert.numerics import in_bits, in_percent, times
from sievert.observations import BreachCurve
from sievert.questions import finely
from sievert.questions.breach import (
    BAR,
    MOST_POINTS,
    MOST_ROWS,
    BreachAnswer,
    listed_names,
    observations_text,
    probability_text,
    round_numbers,
)
from sievert.report import plots
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.spaces import worded

__all__ = ["lines", "page", "table"]

# Bits from which on their power of 2 is no float.
LARGEST_POWER = 1023


def page(report: BreachAnswer, scenario: PolicyScenario, command: str = "") -> str:
    """The report as one self-contained page."""
    header, rows = table(report)
    source = Path(scenario.source).name
    return page_html(
        Page(
            title=report.title,
            made_by=f"Repeated answers of {source}",
            headline=str(report),
            sections=list(lines(report)),
            tables=[PageTable("Observation by observation", header[:-1], [row[:-1] for row in rows])],
            pictures=_pictures(report),
            command=command or f"sievert breach {source} --report page.html",
            text=scenario.to_toml(),
        )
    )


def _pictures(report: BreachAnswer) -> list[Picture]:
    found = report.found
    pictures = [
        Picture(
            "A right guess after n observations",
            "The band is where the truth lies when it is not exact. A dashed line says how fast the rest is "
            "learned in the long run, where that is near; its height means nothing.",
            plots.success_curve(found.success, found.rates.utility.bits),
        )
    ]
    if found.breach is not None:
        pictures.append(
            Picture(
                "A breach at n and by n observations",
                f"Belief in {listed_names(found.breach.predicate)} exceeds "
                f"{in_percent(found.breach.threshold)}, "
                "given that it is true.",
                plots.breach_curve(found.breach),
            )
        )
    return pictures


def lines(report: BreachAnswer) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What is protected", [report.policy, f"Released: {report.query}, through {report.mechanism}."]
    one = "One observation"
    if report.about_record and report.records > 1:
        one += ", by somebody who knows all records but one"
    yield one, _one(report)
    yield "Many observations", _many(report)
    yield f"How many observations until {report.secret} is known", _until(report)
    if report.found.breach is not None:
        yield "A breach", _breach(report)


def _one(report: BreachAnswer) -> list[str]:
    worst, average = report.found.worst, report.found.average
    if worst.pair is None or average.pair is None:
        return ["No output changes any belief: the release tells nothing."]
    likely, unlikely = worst.pair
    if math.isinf(worst.bits):
        lines = [
            f"Output {worded(worst.output)} rules {worded(unlikely)} out: beliefs can change without limit."
        ]
    else:
        size = in_bits(worst.bits, 3)
        if worst.bits < LARGEST_POWER:
            size = f"{times(2**worst.bits)} ({size})"
        lines = [
            f"Whatever somebody believes and asks, no belief changes by more than {size}. "
            f"Output {worded(worst.output)} comes as close as one likes to that for "
            f"somebody who is nearly sure of {worded(unlikely)} and sees {worded(likely)} become likelier."
        ]
    lines.append(
        f"On average: whether it is {worded(average.pair[0])} or {worded(average.pair[1])} is guessed "
        f"right with probability {in_percent((1 + average.distance) / 2)} instead of 50.0% "
        f"({in_bits(average.bits, 3)}); no yes-or-no question gains more."
    )
    return lines + _privacy(report)


def _privacy(report: BreachAnswer) -> list[str]:
    found = report.found
    assert found.privacy is not None
    level = found.privacy.nats / math.log(2)
    if report.is_metric:
        lines = [f"The promise is {in_bits(level, 3)} (ε = {found.privacy.nats:.4g}) for a distance of 1."]
    elif math.isinf(level):
        lines = ["The policy promises nothing here: neighbours are told apart without limit."]
    elif not found.differs:
        lines = [f"That is the policy's own promise: ε = {found.privacy.nats:.4g} is {in_bits(level, 3)}."]
    else:
        lines = [
            f"The promise of the policy is {in_bits(level, 3)} (ε = {found.privacy.nats:.4g}) for "
            f"neighbours; inputs further apart are told apart by up to {_bits(found.worst.bits)}."
        ]
    one = found.individual
    if report.records > 1 and one is not None and one.values is not None and one.inputs is not None:
        lines.append(
            f"About one record, the others independent of it: belief in {worded(one.values[0])} against "
            f"{worded(one.values[1])} changes by up to {_bits(one.bits)}, for somebody who knows the others "
            f"and that the answer is {worded(one.inputs[0])} or {worded(one.inputs[1])}. If records "
            f"may depend on each other: up to {_bits(one.correlated_bits)}."
        )
    return lines


def _many(report: BreachAnswer) -> list[str]:
    rates, last = report.found.rates, report.found.success[-1]
    lines = []
    if rates.average.pair is not None and rates.utility.pair is not None:
        easiest, hardest = _pair(rates.average.pair), _pair(rates.utility.pair)
        pace = f"{in_bits(rates.utility.bits, 3)} an observation"
        if math.isinf(rates.utility.bits):
            lines.append("One observation tells any two apart for certain.")
        elif rates.utility.bits >= rates.average.bits * (1 - 1e-9):
            lines.append(f"Any two are equally easy to tell apart: {pace}.")
        else:
            top = rates.average.bits
            easy = "for certain, by one" if math.isinf(top) else f"{in_bits(top, 3)} an observation"
            lines.append(
                f"Easiest to tell apart: {easiest} ({easy}). Hardest: {hardest} ({pace}), which decides how "
                "fast everything becomes known."
            )
        if math.isfinite(rates.worst.bits):
            lines.append(
                f"In the worst case each further observation adds {in_bits(rates.worst.bits, 3)} to the "
                "change of a belief."
            )
        if math.isfinite(rates.utility.bits):
            lines.append(
                f"In the long run what a guess lacks falls like 2^(-{rates.utility.bits:.4g} n); the column "
                "of that name shows this pace, not the height."
            )
    lines += [f"Never told apart, however often one looks: {listed_names(group)}." for group in rates.classes]
    if last.limit < 1 - 1e-12:
        lines.append(f"So no number of observations makes a guess better than {in_percent(last.limit)}.")
    lines.append(
        f"After {observations_text(last.observations)} {report.secret} is guessed with probability "
        f"{probability_text(last)} ({last.method})."
    )
    if report.simulated is not None:
        drawn = report.simulated
        lines.append(
            f"A simulation of {drawn.samples:,} records guesses {finely(drawn.value)} of them: between "
            f"{finely(drawn.lower)} and {finely(drawn.upper)} at 99.9% confidence, no bound."
        )
    if report.rows_per_person > 1:
        rows = report.rows_per_person
        lines.append(
            f"All this is about one row. A person has up to {rows} (data.rows_per_person): rows of one value "
            f"are further observations, {rows} in each release."
        )
    total = last.observations - report.found.success[0].observations + 1
    if MOST_POINTS < total != len(report.found.success):
        lines.append(f"Guesses are computed for {len(report.found.success)} of the {total} numbers.")
    return lines


def _until(report: BreachAnswer) -> list[str]:
    if not report.until:
        return [f"It is guessed with probability {in_percent(report.found.success[0].before)} without any."]
    lines = []
    for item in report.until:
        chance = in_percent(item.target)
        if item.least is None:
            first = chance.replace(".0%", "%")
            lines.append(f"No number of observations makes a guess right with probability {first} or more.")
            break
        if item.most is None and report.about_record:
            lines.append(f"{chance}: at least {item.least} observations ({item.method}).")
        elif item.most is None:
            lines.append(f"{chance}: more than 10^12 observations.")
        elif item.least == item.most:
            lines.append(f"{chance}: {observations_text(item.most)} ({item.method}).")
        else:
            lines.append(f"{chance}: between {item.least} and {item.most} observations ({item.method}).")
    return lines


def _breach(report: BreachAnswer) -> list[str]:
    curve = report.found.breach
    assert curve is not None
    named = listed_names(curve.predicate)
    if curve.before > 1 - 1e-12:
        return [f"Belief in {named} is certain from the start: nothing is left to learn."]
    if not curve.reachable:
        return [
            f"Belief in {named} is {in_percent(curve.before)} at first and cannot grow by "
            f"{in_bits(curve.level_bits, 3)}: such a breach never happens."
        ]
    n = len(curve.at)
    lines = [
        f"Belief in {named}, {in_percent(curve.before)} at first, exceeds {in_percent(curve.threshold)} "
        f"({in_bits(curve.level_bits, 3)} more). If it is true, that is the case at {n} observations with "
        f"probability {_breach_chance(curve, n, 0)}, and at some point by then with "
        f"{_breach_chance(curve, n, 1)} ({curve.method})."
    ]
    half = report.half
    if half is not None and half.most is not None:
        count = (
            observations_text(half.most)
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


def table(report: BreachAnswer) -> tuple[list[str], list[list[str]]]:
    """Header and rows: success, its asymptote, the breach at n and by n, and success as a bar."""
    found, curve = report.found, report.found.breach
    breach = [] if curve is None else ["breach at n", "breach by n"]
    header = ["n", "right guess", "in the long run", *breach, "right guess, 0 to 100%"]
    counts = [point.observations for point in found.success.points]
    shown = {counts[0], counts[-1]} | round_numbers()
    shown |= set(counts) if len(counts) <= MOST_ROWS else set()
    rows = []
    for point in found.success.points:
        n = point.observations
        if n in shown:
            rows.append(
                [
                    str(n),
                    probability_text(point),
                    in_percent(plots.long_run(point, found.rates.utility.bits)),
                    *([] if curve is None else [_breach_chance(curve, n, row) for row in (0, 1)]),
                    "█" * round(BAR * point.value),
                ]
            )
    return header, rows


def _breach_chance(curve: BreachCurve, n: int, row: int) -> str:
    low, high = (in_percent(float(bound[row, n - 1])) for bound in (curve.lower, curve.upper))
    return low if low == high else f"{low} to {high}"


def _bits(value: float) -> str:
    return "without limit" if math.isinf(value) else in_bits(value, 3)


def _pair(pair: tuple[Hashable, Hashable]) -> str:
    return f"{worded(pair[0])} and {worded(pair[1])}"
