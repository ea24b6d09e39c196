"""A comparison of two mechanisms in words: which may replace which, and who objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sievert.channels import Channel
from sievert.orders import Comparison, Objection, Verdict, bet_in_words
from sievert.report._page import Page, Picture, Table, page_html
from sievert.report.plots._channels import channel_heatmap, hypers

__all__ = ["comparison_html", "comparison_json", "comparison_lines", "replacement_sentence"]

MEANING = {
    "average": "every adversary, on average over the outputs",
    "max": "every adversary, at the most revealing output",
    "privacy": "every metric, by the smallest ε",
}
# What is left when B is safer in a weaker order only.
REACH = {
    "max": "Still, no single output of B reveals more (max order).",
    "privacy": "Still, B needs no larger ε under any metric (privacy order).",
}
SHOWN_ACTIONS = 4


def replacement_sentence(result: Comparison) -> str:
    """The answer in one sentence."""
    main = result.forward[0]
    if main.holds:
        return f"B can replace A against every adversary{main.precision}."
    if main.holds is None:
        near = (
            f" B is within {main.deficiency:.3g} of a post-processing of A." if main.deficiency < 0.5 else ""
        )
        return f"Undecided: {main.method}.{near}"
    weaker = result.strongest
    reach = "" if weaker is None else f" {REACH[weaker]}"
    reason = main.method if main.witness is None else main.witness.sentence("B", "A")
    return f"No: {reason}.{reach}"


def comparison_lines(result: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
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
            f"{witness.secrets[i]!r} ({prior[i]:.3g})" for i in np.argsort(prior)[::-1][:6] if prior[i] > 0
        ]
        belief = f"these secrets likely: {', '.join(likely)}"
    lines = [f"Believes {belief}, sees the output, and chooses the best of these bets:"]
    for row in witness.gain[:SHOWN_ACTIONS]:
        words = bet_in_words(row, witness.secrets)
        lines.append(words if len(words) <= 150 else f"{words[:150]}…")
    if len(witness.gain) > SHOWN_ACTIONS:
        lines.append(f"and {len(witness.gain) - SHOWN_ACTIONS} more; --json lists them all.")
    lines.append(f"Expects {witness.before:.4g} from A and {witness.after:.4g} from B.")
    return lines


def comparison_json(result: Comparison) -> dict[str, Any]:
    """The comparison as plain data, proofs left out (they are saved with --proof)."""

    def plain(verdict: Verdict) -> dict[str, Any]:
        data = verdict.to_dict()
        data.pop("certificate")
        data.pop("post")
        return data

    return {
        "can_replace": result.forward[0].holds,
        "strongest": result.strongest,
        "forward": [plain(verdict) for verdict in result.forward],
        "backward": [plain(verdict) for verdict in result.backward],
    }


# ── A comparison of two mechanisms as a page: both channels, their posteriors, and who objects ──────────────


def comparison_html(first: Channel, second: Channel, names: tuple[str, str], result: Comparison) -> str:
    """The whole page, working offline."""
    main = result.forward[0]
    rows = [
        (way, verdict.order, {True: "yes", False: "no", None: "undecided"}[verdict.holds], verdict.method)
        for way, verdicts in (("B replaces A", result.forward), ("A replaces B", result.backward))
        for verdict in verdicts
    ]
    return page_html(
        Page(
            title=f"A = {names[0]}, B = {names[1]}",
            made_by="Comparison of two mechanisms",
            headline=replacement_sentence(result),
            sections=list(comparison_lines(result)),
            good=main.holds,
            tables=[Table("Every order, both ways", ("question", "order", "answer", "how"), rows)],
            pictures=_pictures(first.finite(), second.finite()),
            proofs=[
                f"`sievert compare {names[0]} {names[1]} --proof proof.json` saves a proof of the headline: "
                "a post-processing that turns A into B, or an adversary who gains more from B. `sievert "
                "verify proof.json` checks it without a solver."
            ],
        )
    )


def _pictures(first: Channel, second: Channel) -> list[Picture]:
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
