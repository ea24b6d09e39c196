"""Reports in a real browser: no errors, no sideways scrolling, every picture drawn."""

from collections.abc import Callable
from typing import Any

import pytest

import sievert as sv
from sievert.report.html import audit_html
from sievert.report.page import Page, Picture, Table, page_html
from sievert.report.pictures.policies import policy_graph
from sievert.report.pictures.simplex import hypers
from sievert.report.plots import channel_heatmap

DESKTOP, PHONE = 1100, 500  # a headless window is at least 500 wide


def audit_page() -> str:
    scenario = sv.load("examples/census-count.toml")
    return audit_html(scenario, sv.audit(scenario))


def gallery() -> str:
    warner = sv.mechanisms.warner()
    pictures = [
        Picture("Policy", "a ring", policy_graph(sv.graphs.cycle(6), colour="orbit")),
        Picture(
            "Hypers", "two secrets", hypers({"Warner": warner, "nothing": sv.Channel.null(["yes", "no"])})
        ),
        Picture("Channel", "two inputs", channel_heatmap(warner)),
    ]
    wide = Table("Wide", [f"column {k}" for k in range(30)], [list(range(30))])
    return page_html(
        Page(
            "Gallery",
            "Made by hand",
            "Everything at once.",
            [("Words", ["One sentence."])],
            None,
            [wide],
            pictures,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize(("build", "pictures"), [(audit_page, 3), (gallery, 3)])
def test_reports_render(
    build: Callable[[], str], pictures: int, width: int, rendered: Callable[[str, int], Any]
) -> None:
    found = rendered(build(), width)
    assert found.errors == ""
    assert found.overflow == 0
    assert found.drawings >= pictures
