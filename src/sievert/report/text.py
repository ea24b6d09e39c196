"""The audit in sentences, one screen long."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sievert.leakage.measures import Leakage
from sievert.report.audit import Audit

__all__ = ["audit_lines", "bits", "headline", "probability"]


def bits(value: float) -> str:
    """A number of bits.

    >>> bits(1.0), bits(0.3157)
    ('1 bit', '0.316 bits')
    """
    return f"{value:.3g} bit{'' if value == 1 else 's'}"


def probability(value: float) -> str:
    """A probability as people read it.

    >>> probability(0.25), probability(0.9999999), probability(1e-9)
    ('25.0%', 'almost 100%', '1.00e-07%')
    """
    if 0.9995 < value < 1:
        return "almost 100%"
    percent = 100 * value
    return (
        f"{percent:.3g}%"
        if percent == 0 or percent >= 100
        else f"{percent:.1f}%"
        if percent >= 0.1
        else f"{percent:.2e}%"
    )


def headline(audit: Audit) -> str:
    """The audit in one sentence."""
    if not audit.satisfied:
        return "The mechanism does not keep its promise."
    failed = [check for check in audit.checks if not check.passed]
    if failed:
        return f"The mechanism keeps its promise but is not acceptable: {failed[0]}."
    accepted = " and is within every limit of the file" if audit.checks else ""
    return (
        f"The mechanism keeps its promise{accepted}: one person's value is guessed with probability "
        f"{probability(audit.record.before)} before and {probability(audit.record.after)} after."
    )


def audit_lines(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What is protected", [audit.policy, f"Released: {audit.query}, through {audit.mechanism}."]
    yield "Does the mechanism keep the promise?", _promise(audit)
    yield "One person", _record(audit)
    secret = "the value" if audit.records == 1 else "the true answer"
    yield f"Guessing {secret}", [_gain_sentence(item) for item in audit.leakages]
    yield ("Any adversary" if audit.records == 1 else "The whole database"), [_database(audit)]
    if audit.checks:
        yield "Accepted?", [str(check) for check in audit.checks]


def _promise(audit: Audit) -> list[str]:
    found = audit.epsilon
    lines = []
    if math.isinf(found.nats):
        lines.append("NO: no ε is large enough.")
    elif audit.claimed_eps is None:
        lines.append(f"The smallest ε it satisfies is {found.nats:.6g}.")
    elif not audit.satisfied:
        lines.append(f"NO: it claims ε = {audit.claimed_eps:.6g} but only satisfies ε = {found.nats:.6g}.")
    elif found.nats < audit.claimed_eps * (1 - 1e-6):
        lines.append(
            f"Yes, and better than claimed: true ε = {found.nats:.6g}, claimed {audit.claimed_eps:.6g}."
        )
    else:
        value = f"ln({found.exact}) = " if found.exact is not None and found.distance == 1 else ""
        lines.append(f"Yes: it satisfies ε = {value}{found.nats:.6g}, as claimed, and no smaller one.")
    if found.pair is not None:
        ratio = (
            "infinitely many" if math.isinf(found.nats) else f"{math.exp(found.nats * found.distance):.4g}"
        )
        apart = "" if found.distance == 1 else f" (distance {found.distance:.4g})"
        lines.append(
            f"Witness: output {found.output!r} is {ratio} times as likely for {found.pair[0]!r} "
            f"as for {found.pair[1]!r}{apart}."
        )
    return lines


def _record(audit: Audit) -> list[str]:
    record = audit.record
    before, after = probability(record.before), probability(record.after)
    lines = [
        f"Someone who knows everything except one record guesses it with probability {before} "
        f"now and {after} after the release ({bits(record.bits)})."
    ]
    if audit.radii:
        reach = ", ".join(f"{factor:.3g} times for {radius:.3g}" for radius, factor in audit.radii)
        lines.append(
            f"For someone who knows it to within a distance, belief in the truth grows at most {reach}."
        )
    if audit.person_records > 1:
        lines.append(
            f"A person with {audit.person_records} records is protected by ε = "
            f"{audit.epsilon.nats * audit.person_records:.4g}."
        )
    if audit.observations > 1:
        lines.append(
            f"After {audit.observations} independent releases of the same data: at most "
            f"{probability(audit.repeated_guess)} (total ε = {audit.repeated_eps:.4g})."
        )
    return lines


def _gain_sentence(item: Leakage) -> str:
    before, after = float(item.prior), float(item.posterior)
    if item.gain == "shannon":
        return f"Uncertainty: {before:.4g} bits before, {after:.4g} bits after."
    if item.gain == "guessing":
        return f"Guesses needed on average: {before:.4g} before, {after:.4g} after."
    words = {"identity": "Exactly", "closeness": "Closeness (1 is exact, 0 as far as possible)"}
    name = words.get(item.gain, item.gain[0].upper() + item.gain[1:])
    numbers = f"{probability(before)} before, {probability(after)} after"
    if item.gain == "closeness":
        numbers = f"{before:.3g} before, {after:.3g} after"
    growth = f"{float(item.factor):.3g} times, {bits(item.bits)}"
    return f"{name}: {numbers} ({growth}); best blind guess {item.action!r}."


def _database(audit: Audit) -> str:
    factor = f"{float(audit.database.factor):.4g}"
    if audit.records == 1:
        return (
            f"Whatever somebody believes and wants to know about the value, no guess becomes more than "
            f"{factor} times as likely on average ({bits(audit.database.bits)})."
        )
    return (
        f"Of {audit.database_bits:.4g} bits in the database, the release gives away at most "
        f"{bits(audit.database.bits)}: no guess about it becomes more than {factor} times as likely on "
        "average."
    )
