"""Every tab, wide and narrow, light and dark: in its frame, for every reader, a table behind each picture."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest

from tests.studio.page.shrink import shrink

TABS = (
    *("glance", "guess", "noise", "epsilon", "releases", "compare"),
    *("design", "secrets", "places", "inference", "release", "budget", "proofs"),
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


# What each kind of file asks of the page: its own pictures, maps, tables and refusals.
KINDS = {
    "a count": Path("examples/census-count.toml"),
    "a table": Path("examples/register-table.toml"),
    "places on a road": Path("examples/town-places.toml"),
    "places on a map": Path("examples/city-places.toml"),
    "shares": Path("examples/solar-share.toml"),
    "documents": """version = 1
[documents]
input = "letters/*.txt"
embedding = "words.txt"
scale = 1.0
references = ["sea.txt", "lake.txt"]
[mechanism]
kind = "word-exponential"
eps = 1.0
""",
    "vectors": """version = 1
[vectors]
input = "ratings.npz"
dimension = 3
hash = { kind = "hyperplane", bits = 4, seed = 1 }
[mechanism]
kind = "lsh-response"
eps = 1.0
""",
}


@pytest.fixture
def axe(studio: Any) -> Callable[..., list[str]]:
    """What axe-core finds wrong on the page as it stands."""
    source = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")

    def faults(part: str = "html") -> list[str]:
        if not studio.page.evaluate("() => Boolean(window.axe)"):
            studio.page.evaluate(source)
        found: list[str] = studio.probe("axe", [part, RULES])
        return found

    return faults


def finished(studio: Any, tab: str) -> None:
    """The tab with all its answers, long ones too."""
    studio.tab(tab)
    studio.page.wait_for_selector(f"#panel-{tab} .card[data-hash]")


@pytest.mark.parametrize("kind", KINDS)
def test_every_tab_is_fit_for_every_reader(studio: Any, axe: Callable[..., list[str]], kind: str) -> None:
    described = KINDS[kind]
    text = described.read_text(encoding="utf-8") if isinstance(described, Path) else described
    if studio.text() != text:
        studio.write(text)
    assert studio.page.inner_text("#errors") == "" and axe() == []
    for tab in TABS:
        finished(studio, tab)
        assert axe(f"#panel-{tab}") == [], tab
        assert studio.probe("outside") == [], tab
        shown = studio.page.locator(f"#panel-{tab} figure:visible").count()
        assert studio.probe("tables") >= shown, tab


def test_dark_and_narrow_tabs_too(studio: Any, axe: Callable[..., list[str]]) -> None:
    studio.page.set_viewport_size({"width": 390, "height": 844})
    studio.page.click("#theme")
    for tab in ("glance", "guess", "secrets", "proofs"):
        finished(studio, tab)
        assert studio.probe("wider") <= 0, tab
        assert studio.probe("outside") == [], tab
        assert axe(f"#panel-{tab}") == [], tab
    studio.page.click("#show-file")
    assert studio.page.is_visible("#text")
    assert axe() == [] and studio.probe("wider") <= 0


def test_the_secret_graph_is_read_on_a_phone(studio: Any) -> None:
    letters = "nodes => Math.min(...nodes.map(node => node.getBoundingClientRect().height))"
    finished(studio, "secrets")
    for width in (1400, 390):
        studio.page.set_viewport_size({"width": width, "height": 844})
        studio.page.wait_for_function("() => document.querySelector('svg.graph').clientWidth > 0")
        studio.page.wait_for_timeout(200)
        assert studio.page.eval_on_selector_all("svg.graph text", letters) >= 13, width
        assert studio.probe("outside") == [], width


def test_what_a_table_is_about_is_read_without_scrolling(studio: Any) -> None:
    studio.page.set_viewport_size({"width": 390, "height": 844})
    finished(studio, "guess")
    about = studio.page.get_by_text("This mechanism: what the file's own").bounding_box()
    assert about["x"] >= 0 and about["x"] + about["width"] <= 390
    assert studio.probe("tables") >= 1
    behind = studio.page.locator("#panel-guess details.behind").first
    said = studio.page.locator("#panel-guess figcaption").first.inner_text()
    assert said not in behind.inner_text()


def test_a_journey_by_keys_alone(studio: Any) -> None:
    """From the top of the page to another ε, a field, every tab and back, without a mouse."""
    page = studio.page
    press = page.keyboard.press

    def reach(selector: str, key: str = "Tab") -> None:
        for _ in range(120):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            press(key)
        raise AssertionError(f"{selector} cannot be reached by {key}")

    studio.afresh()
    press("Tab")
    press("Enter")
    reach("#eps-range")
    press("ArrowLeft")
    studio.settle()
    assert studio.page.input_value("#eps-box") != "0.5"
    reach("#limit")
    reach("[role=tab]")
    for _ in TABS[1:]:
        press("ArrowRight")
        studio.settle()
    assert page.evaluate("() => document.activeElement.id") == "tab-proofs"
    press("Home")
    studio.settle()
    assert page.evaluate("() => document.activeElement.id") == "tab-glance"
    reach("details.behind > summary")
    press("Enter")
    page.locator("#panel-glance details.behind[open] tbody tr").first.wait_for()
    reach('[data-path=\'["policy","records"]\'] input', "Shift+Tab")
    press("Control+A")
    page.keyboard.type("50")
    press("Enter")
    studio.settle()
    assert "records = 50" in studio.text()
    press("Control+Z")
    studio.settle()
    assert "records = 100" in studio.text()


def test_edges_of_the_secret_graph_come_and_go_by_keys(studio: Any) -> None:
    finished(studio, "secrets")
    nodes = studio.page.locator("#panel-secrets g.node")
    assert nodes.count() == 5
    edges = studio.page.locator("#panel-secrets line.edge")
    assert edges.count() == 10
    nodes.nth(0).focus()
    studio.page.keyboard.press("Enter")
    nodes.nth(1).focus()
    studio.page.keyboard.press("Enter")
    studio.settle()
    assert edges.count() == 9
    assert "edges" in studio.text() and '["very low", "low"]' not in studio.text().split("[query]")[0]
    assert studio.headline() == str(studio.audited())


def test_a_rectangle_is_drawn_on_the_plot(studio: Any) -> None:
    text = Path("examples/city-places.toml").read_text(encoding="utf-8")
    studio.page.click("#tab-places")
    # The belief of the example is about its own cells.
    studio.write("\n".join(line for line in text.splitlines() if not line.startswith("prior")))
    finished(studio, "places")
    before = tomllib.loads(studio.text())["policy"]["secrets"]["region"]
    box = studio.page.locator("#panel-places .drawing .nsewdrag").first.bounding_box()
    studio.page.mouse.move(box["x"] + box["width"] * 0.42, box["y"] + box["height"] * 0.42)
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5, steps=4)
    studio.page.mouse.move(box["x"] + box["width"] * 0.58, box["y"] + box["height"] * 0.58, steps=4)
    studio.page.mouse.up()
    studio.settle()
    after = tomllib.loads(studio.text())["policy"]["secrets"]["region"]
    assert before["west"] < after["west"] < after["east"] < before["east"]
    assert before["south"] < after["south"] < after["north"] < before["north"]
    assert studio.page.input_value("#region-west") == str(after["west"])
    # What no cell can be is marked where it was typed, and the rectangle stays.
    studio.page.fill("#region-cell", "0")
    studio.page.press("#region-cell", "Tab")
    studio.settle()
    assert studio.page.get_attribute("#region-cell", "aria-invalid") == "true"
    assert tomllib.loads(studio.text())["policy"]["secrets"]["region"] == after


def test_long_work_is_cancelled(studio: Any) -> None:
    """Whatever is asked next is answered, and the work can be asked for again."""
    studio.probe("stuck")
    studio.probe("give", [["mechanism", "eps"], "0.7"])
    studio.settle()
    studio.page.click("#tab-design")
    cancel = studio.page.locator("#panel-design .job button:visible")
    cancel.wait_for()
    studio.page.locator("#panel-design .job", has_text="3 of 10").wait_for()
    with studio.page.expect_request(lambda request: request.method == "DELETE"):
        cancel.click()
    assert "Cancelled" in studio.page.inner_text("#panel-design .job")
    studio.tab("glance")
    assert len(set(studio.probe("hashes"))) == 1


# ── Pictures of docs/studio.md ──────────────────────────────────────────────────────────────────────────────

PICTURES = Path("docs/pictures")
SHOTS = {
    "studio.png": (1400, "light", "glance"),
    "studio-dark.png": (1400, "dark", "secrets"),
    "studio-narrow.png": (390, "light", "guess"),
}


@pytest.mark.parametrize("name", SHOTS)
def test_pictures_of_the_documentation(studio: Any, name: str) -> None:
    """Made anew with SIEVERT_GOLDEN=write; in every run the page fits the window they show."""
    width, theme, tab = SHOTS[name]
    if os.environ.get("SIEVERT_GOLDEN") == "write":
        studio.afresh()
    studio.page.set_viewport_size({"width": width, "height": 1100 if tab == "glance" else 844})
    if theme == "dark":
        studio.page.click("#theme")
    finished(studio, tab)
    studio.page.locator(".solved p").first.wait_for()
    studio.page.mouse.move(5, 5)
    if tab != "glance":
        studio.page.evaluate("() => document.getElementById('tabs').scrollIntoView()")
    assert studio.probe("wider") <= 0
    if os.environ.get("SIEVERT_GOLDEN") == "write":
        studio.page.screenshot(path=PICTURES / name)
        shrink(PICTURES / name)
    assert 0 < (PICTURES / name).stat().st_size <= 150_000
    assert f"pictures/{name}" in Path("docs/studio.md").read_text(encoding="utf-8")
