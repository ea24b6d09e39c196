"""The parts about one release of records: headline, guess, noise, ε and releases.

Each takes a case and what the page set, and gives what is shown. Sentences, pictures and tables are those of
the reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import Any

from sievert.channels import Channel, JointNoise, NoiseChannel
from sievert.numerics import guess_words, in_bits, in_percent, number
from sievert.questions import AuditHeadline, NoiseCurve, guess_beside, guess_rows, joint_cost, noise_curve
from sievert.questions import audit_headline as first_sentence
from sievert.questions.audit import Audit
from sievert.report import (
    PageTable,
    Picture,
    audit,
    bars,
    eps_picture,
    guesses_picture,
    law_pictures,
    plots,
    published_picture,
    releases_picture,
)
from sievert.studio._controls import unit_of
from sievert.studio._payload import Shown, facts_of, of_pictures, refused, tabled
from sievert.studio._validated_file import ValidatedFile

__all__ = ["epsilon", "guess", "headline", "noise", "releases"]

Settings = Mapping[str, Any]
# Releases that the curve of a file with one of them shows.
FEWEST_RELEASES = 10


def headline(case: ValidatedFile, settings: Settings) -> Shown:
    """The answer in one sentence, and its numbers."""
    found = first_sentence(case.of_records)
    facts = _facts(found, unit_of(case.scenario))
    rows = [(name, value) for name, (value, _) in facts.items()]
    return {
        "sentence": str(found),
        "good": found.passed,
        "table": tabled(PageTable("In numbers", ("", ""), rows)),
        "facts": facts_of(facts),
    }


def _facts(found: AuditHeadline, unit: str) -> dict[str, tuple[str, str]]:
    """The numbers of the headline, by name, with their units."""
    most = "at most " if found.record_is_bound else ""
    told = {
        "guess before": (in_percent(found.record.before), "probability"),
        "guess after": (found.guess_once, "probability"),
        "growth": (f"{most}{in_bits(found.record.bits, 3)}", "bits"),
        "ε": (f"{found.epsilon.nats:.6g}" if math.isfinite(found.epsilon.nats) else "∞", unit),
    }
    if found.observations > 1:
        told[f"guess after {found.observations} releases"] = (found.guess_after_all, "probability")
    return told


def guess(case: ValidatedFile, settings: Settings) -> Shown:
    """How well one record is guessed before, after and by anybody, and what each adversary gains."""
    scenario = case.of_records
    told = first_sentence(scenario)
    pictures = _guesses(case, told)
    if is_brief(settings):
        return of_pictures(_about_record(told), pictures, brief=True)
    found: Audit = case.audit
    sections, (header, rows) = dict(audit.lines(found)), audit.leakages(found)
    caption = audit.STANDING.format(found.standing.promise)
    tables = [PageTable("Who could guess how much", *audit.table(found), caption)]
    tables += [PageTable("Leakage by adversary", header, rows)] if rows else []
    return of_pictures(
        " ".join(sections["The value" if found.records == 1 else "One record"]),
        pictures,
        tables,
        sections=[[heading, list(lines)] for heading, lines in sections.items()],
    )


def _about_record(told: AuditHeadline) -> str:
    what, before = "The value" if told.records == 1 else "One record", in_percent(told.record.before)
    return f"{what} is guessed with {before} before and {told.guess_once} after one release."


def is_brief(settings: Settings) -> bool:
    """Whether the page shows one picture of this part only."""
    return settings.get("brief") is True


def _guesses(case: ValidatedFile, told: AuditHeadline) -> Iterator[Picture]:
    yield guesses_picture(guess_rows(case.of_records, told), told.observations)
    yield from _belief(case.of_records.channel, case)


@singledispatch
def _belief(channel: Channel, case: ValidatedFile) -> Iterator[Picture]:
    """Belief before and after the output that tells most."""
    caption = "What an adversary believes before the release, and after the most revealing output."
    yield Picture("Belief before and after", caption, plots.beliefs(channel, case.of_records.prior))


@_belief.register
def _belief_through_noise(channel: NoiseChannel, case: ValidatedFile) -> Iterator[Picture]:
    for picture in law_pictures(channel, case.of_records):
        if picture.heading.startswith("Belief"):
            yield picture


def noise(case: ValidatedFile, settings: Settings) -> Shown:
    """What is published: the number or place with its noise."""
    return _published(case.of_records.channel, case, is_brief(settings))


@singledispatch
def _published(channel: Channel, case: ValidatedFile, brief: bool) -> Shown:
    """A channel with a list: what comes out when the truth lies in the middle, and the whole list."""
    truth = channel.inputs[len(channel.inputs) // 2]
    chances = channel.finite().rounded()[len(channel.inputs) // 2]
    right = dict(zip(channel.outputs, chances.tolist(), strict=True)).get(truth)
    sentence = f"If the truth is {guess_words(truth)}, what is published is drawn as the picture shows"
    sentence += "." if right is None else f": with probability {in_percent(right)} it is the truth itself."
    return of_pictures(sentence, _listed(channel), brief=brief)


def _listed(channel: Channel) -> Iterator[Picture]:
    yield published_picture(channel)
    words = "Each row is a true value; the darker a cell, the likelier that output."
    yield Picture("What the mechanism does", words, plots.channel_heatmap(channel))


@_published.register
def _published_noise(channel: NoiseChannel, case: ValidatedFile, brief: bool) -> Shown:
    found = noise_curve(channel, case.of_records)
    if found is None:
        return refused("The noise of this mechanism has no picture.", "Ask about releases.")
    pictures = [
        item for item in law_pictures(channel, case.of_records) if not item.heading.startswith("Belief")
    ]
    if not isinstance(found, NoiseCurve):
        return of_pictures("A place is released as another one nearby, drawn as the map shows.", pictures)
    return of_pictures(
        f"With probability {in_percent(found.confidence)} or more, a published number is off by at most "
        f"{number(found.radius)}.",
        pictures,
    )


@_published.register
def _published_tables(channel: JointNoise, case: ValidatedFile, brief: bool) -> Shown:
    """Several tables: how far off a number of each is."""
    found = joint_cost(channel, case.of_records)
    assert found is not None
    rows = [
        (
            table.name,
            table.noise,
            None if table.noise_sd is None else f"{table.noise_sd:.4g}",
            None if table.radius is None else number(table.radius),
            None if table.ranks is None else f"{table.ranks:.4g}",
        )
        for table in found.tables
    ]
    share = in_percent(found.confidence)
    header = ("table", "noise", "standard deviation", f"off by at most ({share})", "ranks off at most")
    known = [(table.name, float(table.radius)) for table in found.tables if table.radius is not None]
    pictures = []
    if known:
        names, radii = zip(*known, strict=True)
        caption = f"How far off a number of each table is at most, with probability {share}."
        pictures.append(Picture("How far off the tables are", caption, bars(names, radii, "off by at most")))
    sentence = f"{len(found.tables)} tables are published at once, each with noise of its own."
    return of_pictures(sentence, pictures, [PageTable("The tables", header, rows)], brief=brief)


def epsilon(case: ValidatedFile, settings: Settings) -> Shown:
    """The guess against ε."""
    pictures = list(eps_picture(case.of_records))
    if not pictures:
        return refused(
            f"{case.of_records.mechanism.words()} has no other ε to draw the guess against.",
            "Ask how the guess grows over releases.",
        )
    found = case.analysis.vulnerability()
    before = in_percent(found.prior)
    after = guess_beside(found.value, found.is_exact, case.analysis.simulate())
    nats = case.of_records.epsilon.nats
    sentence = f"At ε = {nats:.6g} one record is guessed with {after} after one release, {before} before."
    return of_pictures(sentence, pictures)


def releases(case: ValidatedFile, settings: Settings) -> Shown:
    """The guess release by release."""
    count = case.of_records.observations
    pictures = list(releases_picture(case.of_records, max(FEWEST_RELEASES, 2 * count)))
    found = case.analysis.vulnerability(releases=count)
    guessed = guess_beside(found.value, found.is_exact, case.analysis.simulate(releases=count))
    often = "one release" if count == 1 else f"{count} releases"
    sentence = f"After {often} of the same data one record is guessed with {guessed}."
    return of_pictures(sentence, pictures)
