"""Reports in a real browser: no errors, no sideways scrolling, every picture drawn."""

from collections.abc import Callable
from typing import Any

import pytest

import sievert as sv
from sievert.questions.breach import breach_of
from sievert.questions.compare import replacement
from sievert.questions.design import design_of
from sievert.questions.estimate import estimate_of
from sievert.questions.explain import explain_file
from sievert.questions.limits import limit_curves, limits_of
from sievert.report import (
    Page,
    PageTable,
    Picture,
    audit,
    breach,
    compare,
    design,
    estimate,
    explain,
    limits,
    page_html,
    release,
)
from sievert.report.plots import channel_heatmap, hypers, policy_graph

DESKTOP, PHONE, NARROW = 1100, 500, 390


def audit_page() -> str:
    scenario = sv.load("examples/census-count.toml")
    found = sv.audit(scenario)
    return audit.page(found, scenario)


def histogram_page() -> str:
    scenario = sv.load("examples/release/income-by-district.toml")
    return audit.page(sv.audit(scenario), scenario)


def map_page() -> str:
    scenario = sv.load("examples/release/taxis.toml")
    return audit.page(sv.audit(scenario), scenario)


def preview_page() -> str:
    scenario = sv.load("examples/release/household-sizes.toml")
    return release.page(sv.release.preview(scenario), scenario)


def limits_page() -> str:
    scenario = sv.load("examples/survey-response.toml")
    found = limits_of(scenario)
    return limits.page(found, scenario, limit_curves(scenario, found))


def compare_page() -> str:
    first = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"], ["1/3", "1/3", "1/3"]], inputs="abc")
    second = sv.Channel([[1, 0], [0, 1], ["1/2", "1/2"]], inputs="abc")
    return compare.page(replacement(first, second, ("a.csv", "b.csv")))


def explain_page() -> str:
    scenario = sv.load("examples/daily-question.toml")
    return explain.page(explain_file(scenario, None, None, None), scenario.to_toml())


def breach_page() -> str:
    scenario = sv.load("examples/survey-response.toml")
    return breach.page(breach_of(scenario), scenario)


def design_page() -> str:
    scenario = sv.load("examples/town-places.toml")
    return design.page(design_of(scenario), scenario)


def estimate_page() -> str:
    scenario = sv.load("examples/commute-reports.toml")
    page = estimate.page(estimate_of(scenario), scenario)
    assert "Made from private data" in page  # the example names true values
    return page


def gallery() -> str:
    warner = sv.mechanisms.warner()
    pictures = [
        Picture("Policy", "a ring", policy_graph(sv.graphs.cycle(6), colour="orbit")),
        Picture(
            "Hypers", "two secrets", hypers({"Warner": warner, "nothing": sv.Channel.null(["yes", "no"])})
        ),
        Picture("Channel", "two inputs", channel_heatmap(warner)),
    ]
    wide = PageTable("Wide", [f"column {k}" for k in range(30)], [list(range(30))])
    return page_html(
        Page(
            "Gallery",
            "Made by hand",
            "Everything at once.",
            [("Words", ["One sentence.", "0123456789abcdef" * 8])],
            tables=[wide],
            pictures=pictures,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "pictures"),
    [
        (audit_page, 4),
        (histogram_page, 4),
        (map_page, 2),
        (preview_page, 2),
        (limits_page, 2),
        (compare_page, 3),
        (explain_page, 2),
        (breach_page, 2),
        (design_page, 2),
        (estimate_page, 1),
        (gallery, 3),
    ],
)
def test_reports_render(
    build: Callable[[], str], pictures: int, rendered: Callable[[str, list[int]], list[Any]]
) -> None:
    found = rendered(build(), [DESKTOP, PHONE, NARROW])
    assert sorted(item.width for item in found) == [NARROW, PHONE, DESKTOP]
    for item in found:
        assert item.errors == []
        assert item.overflow == 0
        assert item.drawings >= pictures
        assert item.fits_paper


@pytest.mark.slow
def test_the_browser_tells_what_is_wrong(rendered: Callable[[str, list[int]], list[Any]]) -> None:
    """A page with an error and a line that is too wide is caught, so the test above can fail."""
    page = "<!doctype html><html><head></head><body><div style='width:800px'>wide</div>"
    (found,) = rendered(page + "<script>console.error('lost'); nothing();</script></body></html>", [500])
    assert found.errors[0] == "lost"
    assert "nothing" in found.errors[1]
    assert found.overflow > 250
    assert found.drawings == 0
