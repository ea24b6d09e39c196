"""A design in words and as a page: what the best mechanism loses, its proof, what others would cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial, singledispatch
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sievert.channels import Channel
from sievert.design import Alternative, Candidates, Leak, SurveyOption, TableOption
from sievert.files import PolicyScenario, table_noise
from sievert.numerics import in_bits, in_percent
from sievert.questions.design import DesignAnswer, NoiseDesign, ResponseDesign
from sievert.report import plots
from sievert.report._audit_pictures import noise_pictures
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.results import Result

__all__ = ["content", "lines", "page", "table"]

AnyDesign = DesignAnswer | NoiseDesign | ResponseDesign


# Parts of the longest distance to which irrational ones are rounded in pictures: of posteriors, of kernels,
# which are made of powers of e^-ε.
FINE_PARTS, COARSE_PARTS = 10**6, 20


@singledispatch
def lines(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them, of either design."""
    raise TypeError(f"{type(result).__name__} is no design")


@lines.register
def _of_noise(design: NoiseDesign) -> Iterator[tuple[str, list[str]]]:
    found = design.found
    yield "What is protected", [design.policy, f"Released: {design.query}."]
    yield "What each mechanism is", [_described(option) for option in found.options]
    yield "What is proved", [_proved(option) for option in found.options]
    in_range = [
        f"{_capital(option.name)}: {option.in_range:.6g}."
        for option in found.options
        if option.in_range is not None
    ]
    if in_range:
        yield "Mean error, clamped to the range, all answers equally likely", in_range
    yield (
        "Not possible here",
        [f"{_capital(name)}: {why}." for name, why in found.missing.items()] or ["Everything is."],
    )
    if design.verified:
        yield "Proof", [f"{_capital(found.best)}: {design.verified}."]


@lines.register
def _of_survey(design: ResponseDesign) -> Iterator[tuple[str, list[str]]]:
    found = design.found
    yield "What is protected", [design.policy, f"Released: {design.query}, one report a record."]
    yield (
        "What is made small",
        [
            "The squared error of the frequencies that are estimated from all reports, for the best estimate "
            f"that is right on average. {_capital(found.optimality)}."
        ],
    )
    singular = [f"{_capital(str(option))}." for option in found.options if not option.invertible]
    if singular:
        yield "What cannot be inverted", singular
    unlisted = [option.name for option in found.options if option.mechanism is None]
    if unlisted:
        yield "Too many outputs for a file", [f"{_capital(name)}." for name in unlisted]
    if found.missing:
        yield "Not possible here", [f"{_capital(name)}: {why}." for name, why in found.missing.items()]
    yield "What each would give away", [_leaks(item) for item in found.options if item.leaks]


def _described(option: TableOption) -> str:
    note = f": {option.note}" if option.note else ""
    return f"{_capital(option.name)}{note}."


def _proved(option: TableOption) -> str:
    return f"{_capital(option.name)}: {option.optimality}."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


@singledispatch
def table(result: Result) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows of the mechanisms side by side; None where sentences say it all."""
    return None


@table.register
def _table_of_noise(design: NoiseDesign) -> tuple[list[str], list[list[str]]]:
    found = design.found
    return ["mechanism", *found.headings], [[option.name, *found.cells(option)] for option in found.options]


@table.register
def _table_of_survey(design: ResponseDesign) -> tuple[list[str], list[list[str]]]:
    found = design.found
    header = ["mechanism", "standard error", "times the best", "true ε"]
    least = found.options[0].variance
    return header, [
        [
            option.name,
            f"{option.standard_error:.4g}" if option.invertible else "–",
            f"{math.sqrt(option.variance / least):.3g}" if option.invertible else "–",
            "–" if option.eps is None else f"{option.eps:.6g}",
        ]
        for option in found.options
    ]


@lines.register
def _of_list(design: DesignAnswer) -> Iterator[tuple[str, list[str]]]:
    best = design.found.optimal
    yield "What is protected", [design.policy, f"Released: {design.query}."]
    looked_for = best if design.regret is None else design.regret
    method = [f"{_capital(looked_for.method)}."]
    if design.regret is not None:
        method += ["What each mechanism loses and gives away below is for a uniform prior."]
    yield "How it was found", method
    yield (
        "Proof",
        [
            f"{_capital(design.verified)}.",
            "Every probability is a multiple of 2^-53, every row sums to exactly 1 and every ratio is "
            "allowed exactly, not within a tolerance."
            if design.mechanism.form != "exact"
            else "Every probability is a fraction; nothing is rounded.",
        ],
    )
    other = design.whatever_the_prior()
    if other:
        yield "Whatever the prior", other
    if looked_for.warning is not None:
        yield "What it cannot be used for", [f"{_capital(looked_for.warning)}."]
    own = next(item.loss for item in design.found.alternatives if item.is_optimal)
    rows = [_cost(item, own) for item in design.found.alternatives]
    missing = [f"{_capital(name)}: not possible here ({why})." for name, why in design.found.missing.items()]
    yield "What each mechanism would cost at the same ε", rows + missing
    if design.beside is not None:
        yield "Beside planar geometric noise", [f"{_capital(str(design.beside))}."]
    leaks = [_leaks(item) for item in design.found.alternatives]
    yield "What each would give away", leaks
    if design.found.neighbours:
        yield (
            "Which is safer, against everybody",
            [f"{_capital(str(item))}." for item in design.found.neighbours],
        )


def _cost(item: Alternative, best: float) -> str:
    more = ""
    if not item.is_optimal:
        excess = item.loss - best
        small = abs(excess) <= 1e-9 * max(1.0, abs(best))
        if small:
            more = ", as good"
        elif excess < 0:
            more = f", {-excess / best:.1%} less"
        elif best <= 0:
            more = f", {excess:.4g} more"
        else:
            share = excess / best
            more = f", {share:.1%} more" if share < 2 else f", {item.loss / best:.3g} times as much"
    raw = ""
    if item.as_released is not None and item.as_released > item.loss * (1 + 1e-9) + 1e-12:
        raw = f" ({item.as_released:.6g} if outputs are taken as they are)"
    return f"{_capital(item.name)}: loses {item.loss:.6g}{more}{raw}."


def _leaks(item: Alternative | SurveyOption) -> str:
    return f"{_capital(item.name)} – {_leak_words(item.leaks)}."


def _leak_words(leaks: tuple[Leak, ...]) -> str:
    parts = []
    for leak in leaks:
        words, amount = LOSSES.get(leak.name, (leak.title, _share if _is_share(leak) else _number))
        parts.append(f"{words}: {amount(leak.before)} → {amount(leak.after)}")
    return ", ".join(parts)


def _is_share(leak: Leak) -> bool:
    return not leak.is_loss and leak.before >= 0 and leak.before - 1e-9 <= leak.after <= 1 + 1e-9


def _share(value: float) -> str:
    return in_percent(min(value, 1.0))


def _number(value: float) -> str:
    return f"{value:.4g}"


# Losses that a file names by a word: what is lost, and how that is written.
LOSSES: dict[str, tuple[str, Callable[[float], str]]] = {
    "bayes risk": ("wrong guess", _share),
    "shannon": ("uncertainty", partial(in_bits, digits=3)),
    "guessing": ("guesses needed", _number),
}


class _Shown(NamedTuple):
    """What the page of a design has beside its sentences."""

    pictures: list[Picture]
    below: str = ""  # the table of the mechanisms
    proof: str = ""  # what `--proof` does


def page(design: AnyDesign, scenario: PolicyScenario, command: str = "") -> str:
    """The design as one page that works offline."""
    return page_html(content(design, scenario, command))


def content(design: AnyDesign, scenario: PolicyScenario, command: str = "") -> Page:
    """What the page says."""
    source, side_by_side, shown = Path(scenario.source).name, table(design), _shown(design, scenario)
    return Page(
        title=design.title,
        made_by=f"Design for {source}",
        headline=str(design),
        sections=list(lines(design)),
        summary=side_by_side and PageTable("Mechanisms side by side", *side_by_side, shown.below),
        pictures=shown.pictures,
        command=command or f"sievert design {source} --report page.html",
        proofs=[f"`sievert design {source} --proof proof.json` {shown.proof}"] if shown.proof else [],
        text=scenario.to_toml(),
    )


@singledispatch
def _shown(design: Result, scenario: PolicyScenario) -> _Shown:
    raise TypeError(f"{type(design).__name__} is no design")


@_shown.register
def _shown_of_noise(design: NoiseDesign, scenario: PolicyScenario) -> _Shown:
    found = design.found
    radius = f"within the radius with probability {in_percent(found.confidence)}"
    proof = (
        "saves the certificate that the chosen noise is enough for what one record can change; "
        "`sievert verify proof.json` checks it."
    )
    return _Shown(
        _noise_pictures(design, scenario),
        f"Errors of one place, in metres; it is {radius}."
        if found.unit
        else f"Errors of one number, in the units of the answer; it is {radius}. Guesses are about one "
        "record by somebody who knows all others.",
        "" if design.certificate is None else proof,
    )


def _noise_pictures(design: NoiseDesign, scenario: PolicyScenario) -> list[Picture]:
    """The laws side by side; on a map where a place is released, and the guess against ε."""
    if design.found.unit:
        noise = table_noise(scenario)
        return [] if noise is None else noise_pictures(noise, scenario)
    caption = "How far off a released number is, and how often."
    return [Picture("The noise in one number", caption, plots.noise_laws(design.found))]


@_shown.register
def _shown_of_survey(design: ResponseDesign, scenario: PolicyScenario) -> _Shown:
    mechanism = design.found.chosen.mechanism
    assert mechanism is not None
    return _Shown(
        [_heatmap(f"What {design.found.best} does", mechanism)],
        f"Root mean square error of one frequency, estimated from {design.found.reports:,} reports. All "
        "keep the same ε.",
    )


@_shown.register
def _shown_of_list(design: DesignAnswer, scenario: PolicyScenario) -> _Shown:
    return _Shown(
        [
            Picture("Candidates on one chart", _chart_words(design.found), plots.candidates(design.found)),
            *_noise_beside(design, scenario),
            _heatmap("What the best mechanism does", design.mechanism),
            *_shape(design, scenario),
        ],
        proof="saves the mechanism with multipliers that prove how much less any other could lose; "
        "`sievert verify proof.json` checks both without a solver.",
    )


def _heatmap(title: str, mechanism: Channel) -> Picture:
    words = "Each row is a true value; the darker a cell, the likelier that output."
    return Picture(title, words, plots.channel_heatmap(mechanism))


def _noise_beside(design: DesignAnswer, scenario: PolicyScenario) -> list[Picture]:
    """Where the likeliest place is released: by the best mechanism, and by planar geometric noise."""
    if design.beside is None or scenario.region is None:
        return []
    belief = np.asarray(scenario.use_prior, dtype=np.float64)
    return [
        Picture(
            "Where the likeliest place is released",
            "Where people are, as is public; and what is released of the cell where most of them are, by "
            "planar geometric noise and by the best mechanism, with the same ε.",
            plots.noise_beside(scenario.region, design.mechanism, design.beside.eps, belief),
        )
    ]


def _shape(design: DesignAnswer, scenario: PolicyScenario) -> list[Picture]:
    """All private posteriors of two to four answers, and for three which mechanism is best by prior."""
    metric = scenario.answers.metric
    if not 2 <= metric.size <= 4 or not 0 < design.found.eps < math.inf:
        return []
    words = (
        "Every point is a belief about the answer; the grey body holds the beliefs that a private mechanism "
        "may lead to, its corners are the most telling ones, and circles are those of this mechanism."
    )
    fine = coarse = None
    if not (metric.matrix == np.floor(metric.matrix)).all():
        longest = float(metric.matrix[np.isfinite(metric.matrix)].max())
        fine, coarse = (f"{longest / parts:.1e}" for parts in (FINE_PARTS, COARSE_PARTS))
        words += f" Distances are rounded to multiples of {float(fine):g}."
    figure = plots.private_posteriors(metric, design.found.eps, design.mechanism, tolerance=fine)
    pictures = [Picture("All private mechanisms", words, figure)]
    if metric.size == 3 and (metric.matrix[~np.eye(3, dtype=bool)] > 0).all():
        words = (
            "Every point is a prior, and its colour says which of the extreme private mechanisms is best for "
            "it. One colour beside grey means that one of them is best whatever the prior."
        )
        words += "" if coarse is None else f" Distances are rounded to multiples of {float(coarse):g}."
        map_ = plots.optimality_map(metric, math.exp(-design.found.eps), scenario.use_loss, tolerance=coarse)
        pictures.append(Picture("Which mechanism is best for which prior", words, map_))
    return pictures


def _chart_words(found: Candidates) -> str:
    """What the chart shows, and of its lines only those that are drawn."""
    words = "Every mechanism satisfies the same ε. Lower loses less, further left gives away less."
    relations = {pair.relation for pair in found.neighbours}
    if relations & {"safer", "less safe"}:
        words += " An arrow leads to a mechanism that is at least as safe against every adversary."
    if "equivalent" in relations:
        words += " A solid line without a head joins two that tell exactly the same."
    if "neither" in relations:
        words += " A dotted line: some adversary prefers one end, another the other."
    if "undecided" in relations:
        words += " A dotted line may also mean that the precision does not tell."
    if not relations and len(found.alternatives) > 1:
        words += (
            " With so many inputs they are not compared against every adversary; `sievert compare` does that "
            "for two files."
        )
    return words
