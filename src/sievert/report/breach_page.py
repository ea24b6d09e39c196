"""The page of `sievert breach --report`: sentences, table and curves in one file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from sievert import __version__
from sievert.files import Scenario
from sievert.report import plots
from sievert.report.breach import BreachReport, breach_lines, breach_table, listed
from sievert.report.html import Picture, embedded
from sievert.report.words import probability

__all__ = ["breach_html"]


def breach_html(scenario: Scenario, report: BreachReport) -> str:
    """The report as one self-contained page."""
    folder = resources.files("sievert.report").joinpath("templates")
    template = folder.joinpath("breach.html").read_text(encoding="utf-8")
    pictures = _pictures(report)
    header, rows = breach_table(report)
    return (
        Environment(autoescape=True)
        .from_string(template)
        .render(
            report=report,
            version=__version__,
            source=Path(scenario.source).name,
            sections=list(breach_lines(report)),
            header=header[:-1],
            rows=[row[:-1] for row in rows],
            figures=[
                (picture.heading, picture.caption, Markup(embedded(picture.figure, i)))
                for i, picture in enumerate(pictures)
            ],
            text=scenario.to_toml(),
            plotly_js=Markup(f"<script>{get_plotlyjs()}</script>"),
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
