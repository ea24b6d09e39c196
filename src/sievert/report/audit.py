"""The audit in sentences, one screen long."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from functools import partial, singledispatch
from pathlib import Path
from typing import Any

from sievert.files import PolicyScenario
from sievert.numerics import (
    at_least_percent,
    at_most_percent,
    belief_growth,
    guess_words,
    in_bits,
    in_percent,
    in_share,
    number,
    times,
)
from sievert.observations import SimulatedVulnerability
from sievert.questions import SAYS_NOTHING, AttackerResult, UnansweredAttacker, bounded_words, finely
from sievert.questions.audit import Audit
from sievert.questions.samples import SamplesAnswer
from sievert.report._page import Page, PageTable, page_html
from sievert.results import Result
from sievert.spaces import worded

__all__ = ["STANDING", "content", "leakages", "lines", "page", "page_of", "table"]


@singledispatch
def lines(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them, of an audit of any kind."""
    raise TypeError(f"{type(result).__name__} is no audit")


@lines.register
def _(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    yield "What is protected", [audit.policy, f"Released: {audit.query}, through {audit.mechanism}."]
    yield "Does the mechanism keep the promise?", _promise(audit)
    yield ("The value" if audit.records == 1 else "One record"), _record(audit)
    if audit.leakages or audit.unanswered:
        yield (
            f"Guessing {SECRETS[audit.secret]}",
            [
                *(_finding(item) for item in audit.leakages),
                *(_unanswered(item) for item in audit.unanswered),
            ],
        )
    yield (
        ("Any adversary" if audit.records == 1 else "The whole database"),
        [*_database(audit), *_worst(audit)],
    )
    if audit.inference is not None:
        from sievert.report.infer import audit_lines

        yield "Inference", audit_lines(audit.inference)
    if audit.interval is not None:
        yield "Real numbers", audit.interval.sentences()
    if audit.checks:
        yield "Accepted?", [f"{check.name[0].upper()}{str(check)[1:]}." for check in audit.checks]


def _unanswered(item: UnansweredAttacker) -> str:
    return f"{item.name[0].upper()}{item.name[1:]}: NOT KNOWN, because {item.reason}."


def _promise(audit: Audit) -> list[str]:
    found = audit.epsilon
    if math.isinf(found.nats) and (audit.promise is None or audit.claimed_eps is not None):
        answer = "NO: no ε is large enough."
    elif audit.rho is not None and audit.promise is not None and audit.promise.kept:
        answer = f"Yes: {audit.promise.claim}; it has {audit.promise.satisfied}. No pure ε is promised."
    elif audit.promise is None:
        answer = f"The file claims no ε; the smallest one that holds is {found.nats:.6g}."
    elif not audit.promise.kept:
        answer = f"NO: it claims {audit.promise.claim} but only satisfies {audit.promise.satisfied}."
    elif audit.claimed_eps is None:
        answer = f"Yes: it claims {audit.promise.claim} and satisfies {audit.promise.satisfied}."
    elif found.nats < audit.claimed_eps * (1 - 1e-6):
        answer = f"Yes, and better than claimed: true ε = {found.nats:.6g}, claimed {audit.claimed_eps:.6g}."
    else:
        value = f"ln({found.exact}) = " if found.exact is not None and found.distance == 1 else ""
        answer = f"Yes: it satisfies ε = {value}{found.nats:.6g}, as claimed, and no smaller one."
    return [answer] if found.pair is None or found.nats == 0 else [answer, _witness(audit)]


def _witness(audit: Audit) -> str:
    found = audit.epsilon
    assert found.pair is not None
    likely, unlikely = found.pair
    if audit.together is not None:
        return _shared(audit, likely, unlikely)
    if not audit.listed:
        return _moved(audit, likely, unlikely)
    apart = "" if found.distance == 1 else f" (distance {found.distance:.4g})"
    output, one, other = map(worded, (found.output, likely, unlikely))
    if math.isinf(found.nats):
        return f"Witness: output {output} can occur for {one} but never for {other}{apart}."
    ratio = times(found.odds(found.distance))
    return f"Witness: output {output} is {ratio} as likely for {one} as for {other}{apart}."


def _shared(audit: Audit, first: Hashable, second: Hashable) -> str:
    """Which pair costs most over all tables together, and what each costs there."""
    assert audit.together is not None
    enough = ""
    if audit.proved is not None:
        enough = f"; the noise {'was verified to be' if audit.proved else 'is NOT'} enough for every pair"
    costs = ", ".join(f"{table.name} {number(table.cost_at_pair)}" for table in audit.together.tables)
    return f"No pair costs more than {_change(first, second, audit.records)} ({costs}){enough}."


def _moved(audit: Audit, first: Hashable, second: Hashable) -> str:
    """How far one record moves the table, and whether the noise was verified to be enough for it."""
    assert audit.steps is not None
    unit = "" if audit.steps == 1 else "s"
    enough = ""
    if audit.proved is not None:
        enough = f", and the noise {'was verified to be' if audit.proved else 'is NOT'} enough for it"
    return (
        f"One record moves the table by at most {number(audit.steps)} step{unit} for a unit of distance, as "
        f"{_change(first, second, audit.records)}{enough}."
    )


def _change(first: Hashable, second: Hashable, records: int) -> str:
    """From one value or database to another; of long databases only the records that change."""
    if not (isinstance(first, tuple) and isinstance(second, tuple) and LONGEST < records == len(first)):
        return f"from {worded(first)} to {worded(second)}"
    moved = [f"{worded(a)} becomes {worded(b)}" for a, b in zip(first, second, strict=True) if a != b]
    more = f" and {len(moved) - LONGEST} more change" if len(moved) > LONGEST else ""
    return f"where {' and '.join(moved[:LONGEST])}{more}"


def _record(audit: Audit) -> list[str]:
    record = audit.record
    before, after = in_percent(record.before), audit.guess_once
    growth = "no more than before" if record.after == record.before else in_bits(record.bits, 3)
    if audit.records == 1:
        lines = [f"It is guessed with probability {before} now and {after} after the release ({growth})."]
    else:
        lines = [
            f"Someone who knows everything except one record guesses it with probability {before} "
            f"now and {after} after the release ({growth})."
        ]
    if audit.radii and audit.epsilon.nats > 0:
        lines.append(belief_growth("places" if audit.on_map else "values", audit.radii, " m" * audit.on_map))
    if audit.person_records > 1:
        lines.append(
            f"One person may own {audit.person_records} records: together they are protected by "
            f"{_level(audit, audit.person_records, 1)}; the guesses here are about one of them, "
            "the others known."
        )
    if audit.observations > 1:
        total = _level(audit, audit.person_records, audit.observations)
        nothing = audit.simulated is not None and audit.repeated_guess >= SAYS_NOTHING
        lines.append(
            f"After {audit.observations} independent releases of the same data: "
            f"{'exactly ' if audit.repeated_exact else ''}{audit.guess_after_all} "
            f"(total {total}){_by(nothing or audit.repeated_exact, audit.repeated_method)}."
        )
    drawn = audit.simulated or audit.simulated_once
    if drawn is not None:
        lines.append(_simulated(drawn))
    if audit.person_rows is not None:
        lines.append(str(audit.person_rows))
    return lines + _budget(audit)


def _level(audit: Audit, owned: int, releases: int) -> str:
    """What so many records of one person in so many releases have: ε adds up, ρ with the records' square."""
    if audit.rho is not None:
        return f"ρ = {float(audit.rho) * owned**2 * releases:.4g}"
    return f"ε = {audit.epsilon.nats * owned * releases:.4g}"


def _simulated(found: SimulatedVulnerability) -> str:
    """How the simulation was made, said once; an interval is wherever one is printed."""
    given = f", with {found.given}" if found.given else ""
    return (
        f"Simulated: {found.samples:,} records drawn{given}; an estimate with its 99.9% interval, no bound."
    )


def _by(exact: bool, method: str) -> str:
    """Which bound it is, where it is one."""
    name = method.removeprefix("bound: ").removeprefix("enclosed: ")
    return "" if exact or not name else f", a bound: {name}"


def _budget(audit: Audit) -> list[str]:
    """How far releases of the same data can go."""
    limit = audit.guess_limit
    if limit is None or limit == audit.record.before:
        return []
    ever = f"However often the same data is released, the guess stays at or below {in_percent(limit)}."
    lines = [ever] if limit < 1 else []
    kept = audit.releases_within
    if kept is not None and kept.releases is not None:
        many = "No release keeps" if kept.releases == 0 else "One release keeps"
        if kept.releases > 1:
            many = f"{'Up to' if kept.exact else 'At least'} {kept.releases} releases keep"
        whose = " about one person" if kept.about == "one person" else ""
        lines.append(f"{many} the limit of {in_percent(kept.limit)}{whose}.")
    return lines


# Records of a database that are written one by one.
LONGEST = 8
SECRETS = {"value": "the value", "record": "one record", "answer": "the true answer"}
# Units of which less is worse for the record.
LOSSES = ("risk", "loss", "guesses", "bits")
# Opening words for the adversaries that the file names by a word.
OPENINGS = {
    "identity": "Exactly",
    "closeness": "Closeness (1 is exact, 0 as far as possible)",
    "bayes risk": "Chance of a wrong guess",
    "shannon": "Uncertainty",
    "guessing": "Guesses needed on average",
}


def _finding(item: AttackerResult) -> str:
    name = OPENINGS.get(item.name, item.name[0].upper() + item.name[1:])
    before, after = _amount(item, float(item.before)), _after(item)
    release = "" if item.releases == 1 else " one release"
    sentence = f"{name}: {before} before, {after} after{release}{_growth(item)}"
    if item.releases > 1:
        sentence += f", {_after_all(item)} after {item.releases}"
    if not (item.simulated is not None and _says_nothing(item, item.repeated)):
        sentence += _by(_is_shown(item), item.repeated_method).replace(", a bound", "; a bound")
    if item.blind_guess is not None:
        sentence += f"; best blind guess: {guess_words(item.blind_guess)}"
    return sentence + "."


def _amount(item: AttackerResult, value: float) -> str:
    if item.unit in ("probability", "risk"):
        return in_percent(value)
    return in_bits(value, 3) if item.unit == "bits" else f"{value:.4g}"


def _growth(item: AttackerResult) -> str:
    if float(item.difference) == 0:
        return ", no change"
    if item.unit in ("probability", "closeness", "gain"):
        if item.bits is None or item.factor is None:
            return f" ({float(item.difference):.4g} more)"
        return f" ({times(float(item.factor))}, {in_bits(item.bits, 3)})"
    return ""


def _database(audit: Audit) -> list[str]:
    if audit.database is None:
        return []
    return [_given_away(audit, float(audit.database.factor), in_bits(audit.database.bits, 3))]


def _given_away(audit: Audit, factor: float, amount: str) -> str:
    if audit.records == 1:
        whoever = "Whatever somebody believes and wants to know about the value"
        if factor == 1:
            return f"{whoever}, the release tells nothing."
        return f"{whoever}, no guess becomes more than {times(factor)} as likely on average ({amount})."
    if factor == 1:
        return f"Of {in_bits(audit.database_bits)} in the database, the release gives away nothing."
    whole = f"Of {in_bits(audit.database_bits)} in the database, the release gives away"
    given = f"{whole} at most {amount}"
    if audit.database is not None and audit.database.gap == 0:
        given = f"{whole} {amount} to whoever holds all databases equally likely, and to nobody more"
    if math.isinf(factor):
        return f"{given}."
    return f"{given}: no guess about it becomes more than {times(factor)} as likely on average."


def _worst(audit: Audit) -> list[str]:
    """What any mechanism of the same ε could give away, and how much of that this one does."""
    worst = audit.worst
    if worst is None or worst.upper.bits <= 0:
        return []
    uses = ""
    if audit.database is not None:
        share = audit.database.bits / worst.upper.bits
        uses = f"; this one uses {in_share(share)} of that"
    reached = (
        "some mechanism does"
        if worst.exact is not None
        else f"some gives away {in_bits(worst.lower.bits, 3)}"
    )
    certified = "" if worst.certificate is None else ", certified (sievert limits --proof saves that)"
    each = ((worst.diameter, "diameter"), (worst.radius, "radius"), (worst.packing, "packing"))
    bounds = ", ".join(f"{in_bits(bound.bits, 3)} ({name})" for bound, name in each)
    last = "exactly" if worst.exact is not None else "at most"
    return [
        f"Mechanisms with the same ε could give away up to {in_bits(worst.upper.bits, 3)} ({reached}){uses}.",
        f"Bounds on all of them: {bounds}; {last} {in_bits(worst.upper.bits, 3)}{certified}.",
    ]


# ── The audit as one self-contained HTML page: the table, pictures, sentences, the file itself ──────────────

STANDING = (
    "This mechanism: what the file's own gives away. This promise ({}): the most that any mechanism with the "
    "same promise could. Any mechanism: what there is to give away when nothing is promised. “At most” marks "
    "a bound; below it is the 99.9% interval of a simulation. Every other number is exact."
)


@singledispatch
def page_of(result: Result, scenario: PolicyScenario) -> Callable[[str], str]:
    """How the page of an audit of any kind is made."""
    raise TypeError(f"{type(result).__name__} is no audit")


@page_of.register
def _page_of_audit(result: Audit, scenario: PolicyScenario) -> Callable[[str], str]:
    return lambda command: page(result, scenario, command)


def table(audit: Audit) -> tuple[list[str], list[list[str]]]:
    """This mechanism, this promise, any mechanism: header and rows, in the terminal as on the page."""
    rows = [(row.texts(), row.simulated_texts()) for row in audit.standing.rows]
    return audit.standing.header, [cells for both in rows for cells in both if cells is not None]


def page(audit: Audit, scenario: PolicyScenario, command: str = "") -> str:
    """The whole page, working offline."""
    return page_html(content(audit, scenario, command))


def content(audit: Audit, scenario: PolicyScenario, command: str = "") -> Page:
    """What the page says."""
    from sievert.report._audit_pictures import pictures

    header, rows = leakages(audit)
    source = Path(scenario.source).name
    return Page(
        title=audit.title,
        made_by=f"Audit of {source}",
        headline=str(audit),
        sections=list(lines(audit)),
        good=audit.passed,
        command=command or f"sievert audit {source} --report page.html",
        summary=PageTable("Who could guess how much", *table(audit), STANDING.format(audit.standing.promise)),
        tables=[PageTable("Leakage by adversary", header, rows)] if rows else [],
        pictures=pictures(audit, scenario),
        proofs=[
            f"What any mechanism of this ε could give away at most is proved by `sievert limits {source} "
            f"--proof limits.json`, which `sievert verify limits.json {source}` checks without a solver."
        ],
        text=scenario.to_toml(),
    )


def leakages(audit: Audit) -> tuple[list[str], list[list[Any]]]:
    """The adversaries of the file: header and rows; after all releases where there are several."""
    many = audit.observations > 1
    header = ["adversary", "before", "after one release" if many else "after"]
    header += [f"after {audit.observations}"] * many + ["factor", "bits", "difference"]
    rows: list[list[Any]] = []
    for item in audit.leakages:
        after, repeated = _after(item), [_after_all(item)] * many
        growth = [item.factor, item.bits, _amount(item, float(item.difference))]
        rows.append([item.title, _amount(item, float(item.before)), after, *repeated, *growth])
    rest = [None] * (len(header) - 3)
    return header, rows + [[item.name, None, "not known", *rest] for item in audit.unanswered]


def _after(item: AttackerResult) -> str:
    return _bounded(item, item.after, item.exact, item.least, item.simulated_once)


def _after_all(item: AttackerResult) -> str:
    return _bounded(item, item.repeated, item.repeated_exact, item.repeated_least, item.simulated)


def _bounded(
    item: AttackerResult, value: float, exact: bool, other: float | None, drawn: SimulatedVulnerability | None
) -> str:
    """The amount with the word of a bound, unless both ends are written alike: losses are at least that."""
    shown = _amount(item, float(value))
    alike = other is not None and _amount(item, float(other)) == shown
    if exact or alike:
        return shown
    bound = "at least " if item.unit in LOSSES else "at most "
    if item.unit in ("probability", "risk"):
        shown = (at_least_percent if item.unit == "risk" else at_most_percent)(float(value))
    return bounded_words(f"{bound}{shown}", not _says_nothing(item, value), drawn, partial(_finely, item))


def _says_nothing(item: AttackerResult, value: float) -> bool:
    """Whether a bound on a probability reads as what holds of any."""
    return item.unit in ("probability", "risk") and _amount(item, float(value)) in (
        "100%",
        "almost 100%",
        "0%",
    )


def _finely(item: AttackerResult, value: float) -> str:
    """An end of an interval: more digits than a percentage has."""
    return finely(value) if item.unit in ("probability", "risk") else _amount(item, value)


def _is_shown(item: AttackerResult) -> bool:
    """Whether what is written of all releases is the gain itself."""
    other = item.repeated_least
    alike = other is not None and _amount(item, float(other)) == _amount(item, float(item.repeated))
    return item.repeated_exact or alike


# ── Runs of a black box ─────────────────────────────────────────────────────────────────────────────────────


@lines.register
def _(found: SamplesAnswer) -> Iterator[tuple[str, list[str]]]:
    guess = str(found.guess)
    yield "Guessing the input", [f"{guess[0].upper()}{guess[1:]}."]
    if found.any_two and found.inputs > 2:
        yield (
            "Neighbours",
            ["Any two inputs were taken for neighbours; a policy file beside --samples says which are."],
        )
