"""A page in a headless Chromium: what it logged, how wide it became, how many drawings it holds."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

# Runs before anything else of the page, which tells its frame what happened once it has been drawn.
WATCH = """<script>
const found = {width: window.innerWidth, errors: []};
const note = text => found.errors.push(String(text));
window.addEventListener("error", event => note(event.message));
window.addEventListener("unhandledrejection", event => note(event.reason));
for (const name of ["error", "warn"]) console[name] = (...words) => note(words.join(" "));
const drawn = () => [...document.querySelectorAll(".plotly-graph-div .main-svg")];
window.addEventListener("load", () => setTimeout(() => {
  found.overflow = Math.max(0, document.documentElement.scrollWidth - window.innerWidth);
  found.drawings = drawn().length;
  window.dispatchEvent(new Event("beforeprint"));
  setTimeout(() => {
    found.printed = Math.max(0, ...drawn().map(item => item.clientWidth));
    window.parent.postMessage(found, "*");
  }, 500);
}, 1500));
</script>"""

# One start of the browser shows a page in frames of several widths; phones are narrower than its windows.
FRAMES = """<!doctype html><html><body>{frames}<pre id="found"></pre><script>
const all = [];
window.addEventListener("message", event => {{
  all.push(event.data);
  document.getElementById("found").textContent = JSON.stringify(all);
}});
</script></body></html>"""


@dataclass(frozen=True)
class Rendered:
    """A page at one width: `printed` is the width of its widest drawing on paper."""

    width: int
    errors: list[str]
    overflow: int
    drawings: int
    printed: int


def chromium() -> str:
    """The browser, or a skipped test; SIEVERT_REQUIRE_BROWSER=1 makes it a failure."""
    found = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
    if found is None:
        reason = "chromium was not found (Debian package chromium)"
        if os.environ.get("SIEVERT_REQUIRE_BROWSER") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> str:
    """Chromium draws stills in this test."""
    found = chromium()
    monkeypatch.setenv("SIEVERT_BROWSER", found)
    return found


@pytest.fixture
def rendered(tmp_path: Path) -> Callable[[str, list[int]], list[Rendered]]:
    """Show a page in windows of some widths."""
    return lambda html, widths: _rendered(html, tmp_path, widths)


def _rendered(html: str, folder: Path, widths: list[int]) -> list[Rendered]:
    program = chromium()
    page, frames = folder / "page.html", folder / "frames.html"
    page.write_text(html.replace("<head>", f"<head>{WATCH}", 1), encoding="utf-8")
    shown = "".join(f'<iframe src="page.html" width="{width}" height="1200"></iframe>' for width in widths)
    frames.write_text(FRAMES.format(frames=shown), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"]
    options += [f"--window-size={sum(widths) + 100},1400", f"--user-data-dir={folder}/profile"]
    done = subprocess.run(
        [program, *options, "--dump-dom", frames.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answer = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, flags=re.DOTALL)
    assert answer is not None, done.stderr[-500:]
    return [Rendered(**item) for item in json.loads(unescape(answer[1]))]
