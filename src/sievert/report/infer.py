"""Inference in sentences and as a page: the best guess, beliefs, and the trade-off with everything on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import plotly.graph_objects as go

from sievert.files import PolicyScenario
from sievert.inference import BeliefShift, InferenceCurve
from sievert.numerics import in_bits, in_percent, times
from sievert.questions.infer import InferenceAnswer
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import AFTER, CURVES, LIMIT, MARK, SHARE, SYMBOLS, laid_out

__all__ = ["audit_lines", "content", "lines", "page", "tradeoff", "tradeoff_picture"]

# Secret values that the sentences list; a page has them all.
MOST_SHIFTS = 8
# Bounds this close read the same in percents.
REACHED = 1e-6
# The file's own mechanism is the star.
POINTS = ("star", *SYMBOLS[:-1])


def lines(found: InferenceAnswer) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What goes with what", _association(found)
    yield "What the release tells", _told(found)
    yield "Beliefs", [f"{str(shift)[0].upper()}{str(shift)[1:]}." for shift in _shown_shifts(found)]
    yield "The best possible", _best(found)
    if found.checks:
        yield "Accepted?", [f"{check.name[0].upper()}{str(check)[1:]}." for check in found.checks]


def _association(found: InferenceAnswer) -> list[str]:
    v, bits = found.association
    secret = f"{found.secret[0].upper()}{found.secret[1:]}"
    return [
        f"{secret} against {found.answer}, from {found.rows:,} public rows: Cramér's V {v:.4g}, "
        f"{in_bits(bits)} of mutual information.",
        f"Released: {found.answer}, through {found.mechanism}.",
    ]


def audit_lines(found: InferenceAnswer) -> list[str]:
    """What an audit says about inference: what is told, and what the best mechanism would tell."""
    return [*_told(found), *_best(found)[:1]]


def _told(found: InferenceAnswer) -> list[str]:
    loss, told = found.loss, found.accuracy
    before, after = in_percent(float(loss.before)), in_percent(float(loss.after))
    grown = f"{times(float(loss.factor))} as well" if loss.leaks else "no better: zero Bayes leakage"
    sentences = [
        f"{found.secret[0].upper()}{found.secret[1:]} is guessed with {before} before and {after} after "
        "the release "
        f"({grown})."
    ]
    if loss.preserves:
        sentences.append("Nothing whatever is told about it: every belief stays as it was.")
    else:
        sentences.append(
            f"Beliefs move: the odds of a value change by up to {times(loss.odds)}, {in_bits(loss.bits)} "
            "are told, and "
            f"no gain or belief grows more than {times(float(loss.capacity))}."
        )
    right, blind = in_percent(float(told.value)), in_percent(float(told.before))
    sentences.append(f"The answer itself is told right with {right}, and with {blind} without a release.")
    return sentences


def _shown_shifts(found: InferenceAnswer) -> list[BeliefShift]:
    return sorted(found.loss.shifts, key=lambda shift: -shift.before)[:MOST_SHIFTS]


def _best(found: InferenceAnswer) -> list[str]:
    if found.best is None:
        return ["The program of the best mechanism is too large; group the values."]
    sentences = []
    if found.least is not None:
        sentences.append(
            "Secret and answer are one property, so there is no free lunch (Fernandes, Thm 5.1): an "
            "accuracy of "
            f"1 - e and a guess of at most {float(found.loss.before):.4g} + e need e ≥ {found.least:.4g}."
        )
    best = found.best
    right, told = float(best.upper), float(best.accuracy)
    reached = "one reaches it" if right - told <= REACHED else f"one reaches {in_percent(told)}"
    sentences.append(
        f"No mechanism {found.rivals} that lets {found.secret} be guessed with at most "
        f"{in_percent(float(best.limits[0]))} tells the answer right more often than with "
        f"{in_percent(right)}; this is proved, and {reached}."
    )
    if found.curve is None:
        sentences.append("There are too many answers to draw the whole trade-off.")
    elif found.curve.slopes:
        sentences.append(str(found.curve))
    return sentences


def page(found: InferenceAnswer, scenario: PolicyScenario, command: str = "") -> str:
    """The whole page, working offline."""
    return page_html(content(found, scenario, command))


def content(found: InferenceAnswer, scenario: PolicyScenario, command: str = "") -> Page:
    """What the page says."""
    source = Path(scenario.source).name
    shifts = [(str(s.secret), *map(in_percent, (s.before, s.least, s.most))) for s in found.loss.shifts]
    points = [(c.name, in_percent(c.guess), in_percent(c.accuracy)) for c in found.candidates]
    proofs = [
        f"`sievert infer {source} --proof proof.json` saves the best mechanism with the prices that prove "
        "it; "
        "`sievert verify proof.json` checks both in fractions, without a solver."
    ]
    return Page(
        title=found.title,
        made_by=f"Inference from {source}",
        headline=str(found),
        sections=list(lines(found)),
        good=found.passed if found.checks else None,
        tables=[
            PageTable(f"Belief in {found.secret}", ("value", "before", "least after", "most after"), shifts),
            PageTable(
                "Mechanisms on the same answers", ("mechanism", "secret guessed", "answer right"), points
            ),
        ],
        pictures=[tradeoff_picture(found)],
        command=command or f"sievert infer {source} --report page.html",
        proofs=[] if found.best is None else proofs,
        text=scenario.to_toml(),
    )


def tradeoff_picture(found: InferenceAnswer) -> Picture:
    """The frontier with its caption."""
    caption = "Every mechanism is a point: how much it gives away, and how often its answer is right."
    if found.curve is not None and found.curve.slopes:
        caption = f"No mechanism {found.rivals} lies above the line. {caption}"
    return Picture("Accuracy against inference", caption, tradeoff(found))


def tradeoff(found: InferenceAnswer) -> go.Figure:
    """The frontier with the file's mechanism and standard ones on it, in percents."""
    figure = Drawing()
    if found.curve is not None and found.curve.slopes:
        _draw_frontier(figure, found, found.curve)
    for place, candidate in enumerate(found.candidates):
        figure.add_scatter(
            x=[candidate.guess],
            y=[candidate.accuracy],
            mode="markers",
            name=candidate.name,
            marker={"color": MARK if place == 0 else CURVES[place % len(CURVES)],
                    "size": 15 if place == 0 else 10, "symbol": POINTS[place % len(POINTS)]},
            hovertemplate=f"guessed %{{x:{SHARE}}}<br>right %{{y:{SHARE}}}",
        )  # fmt: skip
    limit = next((check.limit for check in found.checks if check.key == "inference"), None)
    if limit is not None:
        figure.add_vline(x=limit, line={"color": LIMIT, "dash": "dash"}, annotation_text="accepted")
    figure.update_xaxes(tickformat=SHARE)
    figure.update_yaxes(tickformat=SHARE)
    return laid_out(figure, f"{found.secret} guessed", "answer right")


def _draw_frontier(figure: go.Figure, found: InferenceAnswer, best: InferenceCurve) -> None:
    """The line that no mechanism is above, level after its last kink."""
    end = max(best.limits[-1], *(candidate.guess for candidate in found.candidates))
    figure.add_scatter(
        x=[*best.limits, end],
        y=[*best.accuracies, best.accuracies[-1]],
        mode="lines",
        name=f"best {found.rivals}",
        line={"color": AFTER, "width": 2.5},
        hovertemplate=f"guessed %{{x:{SHARE}}}<br>right %{{y:{SHARE}}}<extra></extra>",
    )
