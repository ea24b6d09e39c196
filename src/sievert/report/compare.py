"""A comparison of two mechanisms in words and as a page: which may replace which, and who objects."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sievert.channels import Channel, NoiseChannel
from sievert.orders import Objection, Verdict, bet_in_words
from sievert.questions.compare import CompareAnswer
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.report.plots._channels import channel_heatmap, hypers
from sievert.spaces import worded

__all__ = ["content", "lines", "page"]

MEANING = {
    "average": "every adversary, on average over the outputs",
    "max": "every adversary, at the most revealing output",
    "privacy": "every metric, by the smallest ε",
}
SHOWN_ACTIONS = 4


def lines(found: CompareAnswer) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    result = found.comparison
    yield "Is B at least as safe as A?", [_line(verdict, "B", "A") for verdict in result.forward]
    yield "Is A at least as safe as B?", [_line(verdict, "A", "B") for verdict in result.backward]
    witness = next((v.witness for v in result.forward if v.witness is not None), None)
    if witness is not None and witness.gain is not None:
        yield "The adversary who objects to B", _objection(witness)


def _line(verdict: Verdict, channel: str, other: str) -> str:
    answer = {True: "yes", False: "no", None: "undecided"}[verdict.holds]
    proved = ", proved exactly" if verdict.exact else verdict.precision
    reason = ""
    if verdict.witness is not None:
        reason = f"; {verdict.witness.sentence(channel, other)}"
    elif not verdict.holds:
        reason = f"; {verdict.method}"
    return f"{MEANING[verdict.order][0].upper()}{MEANING[verdict.order][1:]}: {answer}{proved}{reason}."


def _objection(witness: Objection) -> list[str]:
    """What the adversary believes, and the bets, one line each."""
    prior = [float(value) for value in witness.prior]
    belief = "every secret equally likely"
    if max(prior) - min(prior) > 1e-12:
        likely = [
            f"{worded(witness.secrets[i])} ({prior[i]:.3g})"
            for i in np.argsort(prior)[::-1][:6]
            if prior[i] > 0
        ]
        belief = f"these secrets likely: {', '.join(likely)}"
    words = [f"Believes {belief}, sees the output, and chooses the best of these bets:"]
    for row in witness.gain[:SHOWN_ACTIONS]:
        bet = bet_in_words(row, witness.secrets)
        words.append(bet if len(bet) <= 150 else f"{bet[:150]}…")
    if len(witness.gain) > SHOWN_ACTIONS:
        words.append(f"and {len(witness.gain) - SHOWN_ACTIONS} more; --json lists them all.")
    words.append(f"Expects {witness.before:.4g} from A and {witness.after:.4g} from B.")
    return words


# ── A comparison of two mechanisms as a page: both channels, their posteriors, and who objects ──────────────


def page(found: CompareAnswer, command: str = "") -> str:
    """The whole page, working offline."""
    return page_html(content(found, command))


def content(found: CompareAnswer, command: str = "") -> Page:
    """What the page says."""
    result = found.comparison
    rows = [
        (way, verdict.order, {True: "yes", False: "no", None: "undecided"}[verdict.holds], verdict.method)
        for way, verdicts in (("B replaces A", result.forward), ("A replaces B", result.backward))
        for verdict in verdicts
    ]
    return Page(
        title=found.title,
        made_by="Comparison of two mechanisms",
        headline=str(found),
        sections=list(lines(found)),
        good=found.can_replace,
        tables=[PageTable("Every order, both ways", ("question", "order", "answer", "how"), rows)],
        pictures=_pictures(found.first, found.second),
        command=command or f"sievert compare {' '.join(found.names)} --report page.html",
        proofs=[
            f"`sievert compare {' '.join(found.names)} --proof proof.json` saves a proof of the "
            "headline: a post-processing that turns A into B, or an adversary who gains more from B. "
            "`sievert verify proof.json` checks it without a solver."
        ],
    )


def _pictures(first: Channel, second: Channel) -> list[Picture]:
    """Both channels; noise without a list has no rows to draw."""
    if isinstance(first, NoiseChannel) or isinstance(second, NoiseChannel):
        return []
    first, second = first.finite(), second.finite()
    darkest = max(float(channel.rounded().max()) for channel in (first, second))
    caption = "Each row is a true value; darker is likelier, the shades being those of both pictures."
    pictures = [
        Picture("Mechanism A", caption, channel_heatmap(first, darkest)),
        Picture("Mechanism B", caption, channel_heatmap(second, darkest)),
    ]
    if first.shape[0] in (2, 3):
        caption = (
            "What is believed after each output, the prior being uniform. B is safer at worst when its "
            "points lie within those of A."
        )
        pictures.append(Picture("Beliefs after the release", caption, hypers({"A": first, "B": second})))
    return pictures
