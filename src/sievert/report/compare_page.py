"""A comparison of two mechanisms as a page: both channels, their posteriors, and who objects."""

from __future__ import annotations

from sievert.channels.channel import Channel
from sievert.orders.refinement import Comparison
from sievert.report.comparison import comparison_lines, replacement_sentence
from sievert.report.page import Page, Picture, Table, page_html
from sievert.report.pictures.simplex import hypers
from sievert.report.plots import channel_heatmap

__all__ = ["comparison_html"]


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
                f"sievert compare {names[0]} {names[1]} --proof proof.json saves the proof of the headline: "
                "a post-processing that turns A into B, or an adversary who gains more from B. sievert "
                "verify proof.json checks it without a solver."
            ],
        )
    )


def _pictures(first: Channel, second: Channel) -> list[Picture]:
    pictures = [
        Picture("Mechanism A", "Each row is a true value; darker is likelier.", channel_heatmap(first)),
        Picture("Mechanism B", "Each row is a true value; darker is likelier.", channel_heatmap(second)),
    ]
    if first.shape[0] in (2, 3):
        caption = (
            "What is believed after each output, the prior being uniform. B is safer at worst when its "
            "points lie within those of A."
        )
        pictures.append(Picture("Beliefs after the release", caption, hypers({"A": first, "B": second})))
    return pictures
