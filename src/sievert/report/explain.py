"""The explanation of a claim as one self-contained HTML page: sentences, the trade-off curve, a table."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sievert.limits import Explanation
from sievert.limits.promises import SYMBOLS
from sievert.numerics import at_most_percent, bounded_percent, in_bits, in_nats, in_percent, times
from sievert.questions import SAYS_NOTHING
from sievert.questions.explain import FALSE_ALARMS, OTHER_NUMBERS, ExplainAnswer, MechanismCurve
from sievert.report import plots
from sievert.report._page import Page, Picture, page_html

__all__ = ["lines", "page"]


def page(report: ExplainAnswer, text: str | None = None, command: str = "") -> str:
    """The whole page, working offline; `text` is the file it was made from."""
    found = report.explanation
    return page_html(
        Page(
            title=report.title,
            made_by=f"Explanation of a claim, {found.claim}",
            headline=str(report),
            sections=list(lines(report)),
            good=report.passed if report.checks or not report.kept else None,
            pictures=list(_pictures(found)),
            command=command,
            proofs=[
                "The same command with `--proof proof.json` saves the certificate where there is one, and "
                "`sievert verify proof.json` checks it without a solver."
            ],
            text=text or "",
        )
    )


def _pictures(found: Explanation) -> Iterator[Picture]:
    """The guess at other strengths of the promise, and how well two values are told apart."""
    if found.table and found.before < 1:
        name, levels = found.table[0][0], [value for _, value, _ in found.table]
        most = "" if found.exact else ", at most"
        yield Picture(
            OTHER_NUMBERS,
            f"How often a guess is right{most}, if the promise were stronger or weaker.",
            plots.guess_curve(
                levels,
                [after for _, _, after in found.table],
                found.before,
                exact=[found.exact] * len(levels),
                axis=SYMBOLS.get(name, name),
            ),
        )
    yield Picture(
        "False alarms against misses",
        f"Whoever must tell from the output which of {found.between} was used: at each share of false "
        "alarms, misses are at least on the curve. The further below the grey line, the weaker the "
        "promise.",
        plots.tradeoff_curve({found.claim: found.curve}),
    )


def lines(report: ExplainAnswer) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    found = report.explanation
    if found.policy is not None:
        lines = [found.policy, f"Promised: {found.claim}."]
        if found.person is not None:
            lines[1] = (
                f"Promised for each record: {found.claim}. For all records of one person together this "
                f"means {found.person}; the answers below are about a person whose records all say the same."
            )
        yield "What is protected", lines
    yield "One person", [*_person(found), *_rows(report)]
    yield f"Telling {found.between.partition(',')[0]} apart", _apart(found)
    if found.totals is not None:
        yield f"After {found.releases} releases", _releases(found)
    if found.equivalents:
        yield "As ε and δ", [_equivalents(found)]
    if found.near is not None:
        yield "Someone whose whereabouts are roughly known", _near(found)
    if found.database is not None:
        text = str(found.database)
        yield "The whole database", [f"{text[0].upper()}{text[1:]}."]
    if report.mechanism is not None:
        broken = [] if report.kept else ["It does NOT keep the promise."]
        yield "The mechanism of this file", [*broken, *_own(report.mechanism)]
    if found.table and found.before < 1:
        yield OTHER_NUMBERS, _table(found)
    if found.certificate is not None:
        checked = str(found.certificate.verify())
        given = [] if found.uncertified is None else [f"Not part of the proof: {found.uncertified}."]
        yield "Certificate", [f"{checked[0].upper()}{checked[1:]}.", *given]
    elif found.uncertified is not None:
        yield "Certificate", [f"None: {found.uncertified}."]
    if report.checks:
        lines = [f"{check.name[0].upper()}{str(check)[1:]}." for check in report.checks]
        if any(check.key == "eps" and math.isinf(check.value) for check in report.checks):
            lines.append(
                "This claim has no finite ε at that δ; say in [accept] at which δ the total ε is judged, for "
                "instance delta = 1e-6, with eps."
            )
        if report.mechanism is not None and not report.passed:
            lines.append(
                "Here the limits are held against every mechanism with the claim; `sievert audit` holds them "
                "against the mechanism of this file."
            )
        yield "Accepted?", lines


def _person(found: Explanation) -> list[str]:
    if found.before >= 1:
        return ["The value is certain before the release, so no release can tell more."]
    rise = f"A guess rises from {in_percent(found.before)} to "
    if found.exact:
        lines = [
            f"{rise}{in_percent(found.after)}: no mechanism that keeps the promise lets anybody guess "
            "better, and some mechanism reaches it."
        ]
    else:
        lines = [
            f"{rise}at most {at_most_percent(found.after)}: no mechanism that keeps the promise lets anybody "
            "guess better."
        ]
        if found.reached > found.before:
            lines[0] += f" Some mechanism that keeps it allows {in_percent(found.reached)}."
    lines.append(f"How it was found: {found.method}.")
    most = "" if found.exact else "at most "
    growth = "without limit" if math.isinf(found.odds) else f"{most}{times(found.odds)}"
    factor = times(found.after / found.before)
    if factor == "once":
        lines.append("The release tells nothing about the person.")
    else:
        lines.append(
            f"A right guess becomes {most}{factor} as likely ({in_bits(found.bits, 3)}); its odds "
            f"grow {growth}."
        )
    lines.append(
        "In the terms of data protection this bounds inference, the deduction of a person's value, "
        "whatever else the attacker knows. It does not speak of singling out or linkability."
    )
    return lines


def _rows(report: ExplainAnswer) -> list[str]:
    """What a person's rows that are released one by one come to."""
    if report.rows_per_person == 1:
        return []
    known = "is not known"
    if report.all_rows is not None:
        says = report.all_rows < SAYS_NOTHING
        known = f"is at most {at_most_percent(report.all_rows)}" if says else "has no bound below 100%"
    return [
        f"All this is about one row. A person has up to {report.rows_per_person} (data.rows_per_person): the "
        f"guess from all of them, of one value, {known}."
    ]


def _apart(found: Explanation) -> list[str]:
    most = "" if found.curve.exact else "at most "
    lines = [
        "Whoever must tell from the output which of the two was used, and raises the alarm for one of them, "
        f"does so {most}{100 * found.distinguishing:.3g} percentage points more often when it was that one "
        "than when it was the other (the attacker's advantage)."
    ]
    least = "" if found.curve.exact else "at least "
    first, *others = ((f"{a:.0%}", f"{least}{in_percent(float(found.curve.at(a)))}") for a in FALSE_ALARMS)
    more = "; ".join(f"in {share}: {missed}" for share, missed in others)
    lines.append(
        f"Raising false alarms in {first[0]} of the cases they miss {first[1]} of the true ones ({more})."
    )
    return lines


def _releases(found: Explanation) -> list[str]:
    totals = found.totals
    assert totals is not None
    advanced = "says nothing here" if math.isinf(totals.advanced) else f"gives {totals.advanced:.4g}"
    used = " The guess above uses the exact total."
    if found.by_distance:
        used = f" This is for {found.between.rstrip(',')}, and says nothing of others."
    return [
        f"At a total δ of {totals.total_delta:g} the exact total is ε = {totals.optimal:.4g}; adding up "
        f"gives {totals.basic:.4g}, advanced composition {advanced}.{used}"
    ]


def _equivalents(found: Explanation) -> str:
    listed = [f"ε = {eps:.4g} at δ = {delta:g}" for delta, eps in found.equivalents if math.isfinite(eps)]
    if not listed:
        return "No finite ε follows from it at any small δ."
    together = "It implies" if found.releases == 1 else f"All {found.releases} releases together have"
    return f"{together} {', '.join(listed)}."


def _near(found: Explanation) -> list[str]:
    near = found.near
    assert near is not None
    after = bounded_percent(near.after, near.exact)
    return [
        f"Someone known to be within {near.radius:g} of {near.centre} ({near.points} places) is located "
        f"with probability {in_percent(near.before)} before and {after} after.",
        f"Belief in {near.centre} itself grows at most {times(near.belief_factor)}; the odds between "
        f"two of the places change at most {times(near.odds_factor)}.",
    ]


def _own(curve: MechanismCurve) -> list[str]:
    at = ", ".join(f"{eps:.4g} at δ = {delta:g}" for delta, eps in curve.eps_at)
    pure = "no pure ε" if math.isinf(curve.eps) else f"ε = {curve.eps:.6g}"
    return [
        f"It satisfies {pure}; allowing a δ, ε = {at}.",
        f"Between neighbouring inputs: an advantage of at most {100 * curve.distinguishing:.3g} percentage "
        f"points, {in_nats(curve.kullback)} of Kullback-Leibler divergence.",
    ]


def _table(found: Explanation) -> list[str]:
    return [
        f"{SYMBOLS.get(name, name)} = {value:g}: {bounded_percent(after, found.exact)}"
        for name, value, after in found.table
    ]
