"""The explanation of a claim as one self-contained HTML page: sentences, the trade-off curve, a table."""

from __future__ import annotations

from sievert.limits.backwards import SYMBOLS
from sievert.report import plots
from sievert.report.explain import OTHER_NUMBERS, ClaimReport, explanation_lines
from sievert.report.page import Page, Picture, Table, page_html
from sievert.report.words import probability

__all__ = ["explain_html"]


def explain_html(report: ClaimReport, text: str | None = None) -> str:
    """The whole page, working offline; `text` is the file it was made from."""
    found = report.explanation
    tables = []
    if found.table and found.before < 1:
        name = found.table[0][0]
        header = (SYMBOLS.get(name, name), "best guess before", "best guess after")
        before = probability(found.before)
        rows = [(f"{value:g}", before, probability(after)) for _, value, after in found.table]
        tables.append(Table(OTHER_NUMBERS, header, rows))
    picture = Picture(
        "False alarms against misses",
        f"Whoever must tell from the output which of {found.between} was used: at each share of false "
        "alarms, misses are at least on the curve. The further below the grey line, the weaker the "
        "promise.",
        plots.tradeoff_curve({found.claim: found.curve}),
    )
    return page_html(
        Page(
            title=report.title,
            made_by=f"Explanation of a claim, {found.claim}",
            headline=str(report),
            sections=[item for item in explanation_lines(report) if item[0] != OTHER_NUMBERS],
            good=report.passed if report.checks or not report.kept else None,
            tables=tables,
            pictures=[picture],
            proofs=[
                "The same command with `--proof proof.json` saves the certificate where there is one, and "
                "`sievert verify proof.json` checks it without a solver."
            ],
            text=text or "",
        )
    )
