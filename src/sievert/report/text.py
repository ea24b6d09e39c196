"""The audit in sentences, one screen long."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sievert.report.audit import Audit
from sievert.report.findings import Finding
from sievert.report.words import bits, guess_words, probability, times

__all__ = ["audit_lines"]


def audit_lines(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What is protected", [audit.policy, f"Released: {audit.query}, through {audit.mechanism}."]
    yield "Does the mechanism keep the promise?", _promise(audit)
    yield ("The value" if audit.records == 1 else "One record"), _record(audit)
    if audit.leakages:
        secret = "the value" if audit.records == 1 else "the true answer"
        yield f"Guessing {secret}", [_finding(item) for item in audit.leakages]
    yield (
        ("Any adversary" if audit.records == 1 else "The whole database"),
        [_database(audit), *_worst(audit)],
    )
    if audit.checks:
        yield "Accepted?", [f"{check.name[0].upper()}{str(check)[1:]}." for check in audit.checks]


def _promise(audit: Audit) -> list[str]:
    found = audit.epsilon
    if math.isinf(found.nats):
        answer = "NO: no ε is large enough."
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
    apart = "" if found.distance == 1 else f" (distance {found.distance:.4g})"
    if math.isinf(found.nats):
        return f"Witness: output {found.output!r} can occur for {likely!r} but never for {unlikely!r}{apart}."
    ratio = times(found.odds(found.distance))
    return f"Witness: output {found.output!r} is {ratio} as likely for {likely!r} as for {unlikely!r}{apart}."


def _record(audit: Audit) -> list[str]:
    record = audit.record
    before, after = probability(record.before), probability(record.after)
    most = "at most " if audit.record_is_bound else ""
    growth = "no more than before" if record.after == record.before else bits(record.bits)
    if audit.records == 1:
        lines = [
            f"It is guessed with probability {before} now and {most}{after} after the release ({growth})."
        ]
    else:
        lines = [
            f"Someone who knows everything except one record guesses it with probability {before} "
            f"now and {most}{after} after the release ({growth})."
        ]
    if audit.radii and audit.epsilon.nats > 0:
        reach = ", ".join(f"{times(factor)} for {radius:.3g}" for radius, factor in audit.radii)
        lines.append(
            f"For someone who knows it to within a distance, belief in the truth grows at most {reach}."
        )
    if audit.person_records > 1:
        lines.append(
            f"One person may own {audit.person_records} records: together they are protected by ε = "
            f"{audit.epsilon.nats * audit.person_records:.4g}; the guesses here are about one of them, "
            "the others known."
        )
    if audit.observations > 1:
        lines.append(
            f"After {audit.observations} independent releases of the same data: "
            f"{'exactly' if audit.repeated_exact else 'at most'} {probability(audit.repeated_guess)} "
            f"(total ε = {audit.repeated_eps:.4g})."
        )
    return lines + _budget(audit)


def _budget(audit: Audit) -> list[str]:
    """How far releases of the same data can go."""
    limit = audit.guess_limit
    if limit is None or limit == audit.record.before:
        return []
    ever = f"However often the same data is released, the guess stays at or below {probability(limit)}."
    lines = [ever] if limit < 1 else []
    kept = audit.releases_within
    if kept is not None and kept.releases is not None:
        many = "No release keeps" if kept.releases == 0 else "One release keeps"
        if kept.releases > 1:
            many = f"{'Up to' if kept.exact else 'At least'} {kept.releases} releases keep"
        lines.append(f"{many} the limit of {probability(kept.limit)}.")
    return lines


# Opening words for the adversaries that the file names by a word.
OPENINGS = {
    "identity": "Exactly",
    "closeness": "Closeness (1 is exact, 0 as far as possible)",
    "bayes risk": "Chance of a wrong guess",
    "shannon": "Uncertainty",
    "guessing": "Guesses needed on average",
}


def _finding(item: Finding) -> str:
    name = OPENINGS.get(item.name, item.name[0].upper() + item.name[1:])
    before, after = _amount(item, float(item.before)), _amount(item, float(item.after))
    sentence = f"{name}: {before} before, {after} after{_growth(item)}"
    if item.blind_guess is not None:
        sentence += f"; best blind guess: {guess_words(item.blind_guess)}"
    return sentence + "."


def _amount(item: Finding, value: float) -> str:
    if item.unit in ("probability", "risk"):
        return probability(value)
    return bits(value) if item.unit == "bits" else f"{value:.4g}"


def _growth(item: Finding) -> str:
    if float(item.difference) == 0:
        return ", no change"
    if item.unit in ("probability", "closeness", "gain"):
        if item.bits is None or item.factor is None:
            return f" ({float(item.difference):.4g} more)"
        return f" ({times(float(item.factor))}, {bits(item.bits)})"
    return ""


def _database(audit: Audit) -> str:
    factor, amount = float(audit.database.factor), bits(audit.database.bits)
    if audit.records == 1:
        whoever = "Whatever somebody believes and wants to know about the value"
        if factor == 1:
            return f"{whoever}, the release tells nothing."
        return f"{whoever}, no guess becomes more than {times(factor)} as likely on average ({amount})."
    if factor == 1:
        return f"Of {audit.database_bits:.4g} bits in the database, the release gives away nothing."
    return (
        f"Of {audit.database_bits:.4g} bits in the database, the release gives away at most {amount}: no "
        f"guess about it becomes more than {times(factor)} as likely on average."
    )


def _worst(audit: Audit) -> list[str]:
    """What any mechanism of the same ε could give away, and how much of that this one does."""
    worst = audit.worst
    if worst is None or worst.upper.bits <= 0:
        return []
    share = audit.database.bits / worst.upper.bits
    reached = (
        "some mechanism does" if worst.exact is not None else f"some gives away {bits(worst.lower.bits)}"
    )
    certified = "" if worst.certificate is None else ", certified"
    each = ((worst.diameter, "diameter"), (worst.radius, "radius"), (worst.packing, "packing"))
    bounds = ", ".join(f"{bits(bound.bits)} ({name})" for bound, name in each)
    last = "exactly" if worst.exact is not None else "at most"
    return [
        f"Mechanisms with the same ε could give away up to {bits(worst.upper.bits)} ({reached}); this one "
        f"uses {share:.0%} of that.",
        f"Bounds on all of them: {bounds}; {last} {bits(worst.upper.bits)}{certified}.",
    ]
