"""A page in a headless Chromium: what it logged, how wide it became, how many drawings it holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SHEET = 718  # a sheet of A4 between margins of a centimetre
# Runs before anything else of the page, which tells its frame what happened once it has been drawn.
WATCH = """<script>
const found = {width: window.innerWidth, errors: []};
const note = text => found.errors.push(String(text));
window.addEventListener("error", event => note(event.message));
window.addEventListener("unhandledrejection", event => note(event.reason));
for (const name of ["error", "warn"]) console[name] = (...words) => note(words.join(" "));
const plots = () => [...document.querySelectorAll(".plotly-graph-div")];
const drawn = () => [...document.querySelectorAll(".plotly-graph-div .main-svg")];
const widest = () => Math.max(0, ...drawn().map(item => item.clientWidth));
const until = async happened => {
  for (let tries = 0; tries < 400 && !happened(); tries++) await new Promise(done => setTimeout(done, 20));
};
window.addEventListener("load", async () => {
  await until(() => plots().every(plot => plot.querySelector(".main-svg")));
  found.overflow = Math.max(0, document.documentElement.scrollWidth - window.innerWidth);
  found.drawings = drawn().length;
  window.dispatchEvent(new Event("beforeprint"));
  await until(() => widest() <= SHEET);
  found.printed = widest();
  window.parent.postMessage(found, "*");
});
</script>""".replace("SHEET", str(SHEET))

# One page holds another in frames of several widths: phones are narrower than the browser's windows.
FRAMES = """<!doctype html><html><body>{frames}<script>
const found = [];
window.addEventListener("message", event => found.push(event.data));
</script></body></html>"""


@dataclass(frozen=True)
class Rendered:
    """A page at one width: `printed` is the width of its widest drawing on paper."""

    width: int
    errors: list[str]
    overflow: int
    drawings: int
    printed: int

    @property
    def fits_paper(self) -> bool:
        return 0 < self.printed <= SHEET


@pytest.fixture
def browser(chromium: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Chromium draws stills in this test."""
    monkeypatch.setenv("SIEVERT_BROWSER", chromium)
    return chromium


@pytest.fixture(scope="package")
def window(started_browser: Any) -> Iterator[Any]:
    """One window for all pages of this folder."""
    opened = started_browser.new_page()
    yield opened
    opened.close()


@pytest.fixture
def rendered(window: Any, tmp_path: Path) -> Callable[[str, list[int]], list[Rendered]]:
    """Show a page in frames of some widths."""
    return lambda html, widths: _rendered(window, html, tmp_path, widths)


def _rendered(window: Any, html: str, folder: Path, widths: list[int]) -> list[Rendered]:
    page, frames = folder / "page.html", folder / "frames.html"
    page.write_text(html.replace("<head>", f"<head>{WATCH}", 1), encoding="utf-8")
    shown = "".join(f'<iframe src="page.html" width="{width}" height="1200"></iframe>' for width in widths)
    frames.write_text(FRAMES.format(frames=shown), encoding="utf-8")
    window.set_viewport_size({"width": sum(widths) + 100, "height": 1400})
    window.goto(frames.as_uri())
    window.wait_for_function(f"found.length === {len(widths)}", polling=20)
    return [Rendered(**item) for item in window.evaluate("found")]
