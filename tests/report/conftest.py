"""A page in a headless Chromium: what it logged, how wide it became, how many drawings it holds."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

# Runs before anything else of the page: errors and widths become attributes that the dumped page shows.
WATCH = """<script>
const root = document.documentElement, errors = [];
const note = text => { errors.push(String(text)); root.dataset.errors = errors.join(" | "); };
window.addEventListener("error", event => note(event.message));
window.addEventListener("unhandledrejection", event => note(event.reason));
for (const name of ["error", "warn"]) console[name] = (...words) => note(words.join(" "));
window.addEventListener("load", () => setTimeout(() => {
  root.dataset.overflow = Math.max(0, root.scrollWidth - window.innerWidth);
  root.dataset.drawings = document.querySelectorAll(".plotly-graph-div .main-svg").length;
}, 1500));
</script>"""


@dataclass(frozen=True)
class Rendered:
    errors: str
    overflow: int
    drawings: int
    text: str


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
def rendered(tmp_path: Path) -> Callable[[str, int], Rendered]:
    """Show a page in a window of some width."""
    return lambda html, width: _rendered(html, tmp_path, width)


def _rendered(html: str, folder: Path, width: int) -> Rendered:
    program = chromium()
    page = folder / f"page-{width}.html"
    page.write_text(html.replace("<head>", f"<head>{WATCH}", 1), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"]
    options += [f"--window-size={width},1200", f"--user-data-dir={folder}/profile"]
    done = subprocess.run(
        [program, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    opening = re.search(r"<html[^>]*>", done.stdout)
    assert opening is not None, done.stderr[-500:]
    found = dict(re.findall(r'data-(\w+)="([^"]*)"', opening[0]))
    words = re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", done.stdout, flags=re.DOTALL))
    return Rendered(
        unescape(found.get("errors", "")), int(found["overflow"]), int(found["drawings"]), unescape(words)
    )
