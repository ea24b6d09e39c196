"""The page of `sievert breach --report`: sentences, curves and table in one file."""

from __future__ import annotations

from pathlib import Path

from sievert.files import Scenario
from sievert.report import plots
from sievert.report.breach import BreachReport, breach_lines, breach_table, listed
from sievert.report.page import Page, Picture, Table, page_html
from sievert.report.words import probability

__all__ = ["breach_html"]


def breach_html(scenario: Scenario, report: BreachReport) -> str:
    """The report as one self-contained page."""
    header, rows = breach_table(report)
    source = Path(scenario.source).name
    return page_html(
        Page(
            title=report.title,
            made_by=f"Repeated answers of {source}",
            headline=str(report),
            sections=list(breach_lines(report)),
            tables=[Table("Observation by observation", header[:-1], [row[:-1] for row in rows])],
            pictures=_pictures(report),
            proofs=[f"`sievert breach {source}` recomputes every number of this page."],
            text=scenario.to_toml(),
        )
    )


def _pictures(report: BreachReport) -> list[Picture]:
    found = report.found
    assert found.breach is not None
    return [
        Picture(
            "A right guess after n observations",
            "The band is where the truth lies when it is not exact. The dashed line says how fast the rest "
            "is learned in the long run; its height means nothing.",
            plots.success_curve(found.success, found.rates.utility.bits),
        ),
        Picture(
            "A breach at n and by n observations",
            f"Belief in {listed(found.breach.predicate)} exceeds {probability(found.breach.threshold)}, "
            "given that it is true.",
            plots.breach_curve(found.breach),
        ),
    ]
