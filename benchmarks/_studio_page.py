"""The studio in a real browser: a slider to its pictures, and a command to its first page."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Row

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "examples" / "census-count.toml"
PROBES = ROOT / "tests" / "studio" / "page" / "probes.js"
MOVES = 20
OPTIONS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


def rows() -> list[Row]:
    """Nothing where there is no Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        return []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, tempfile.TemporaryDirectory() as compiled:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        context = browser.new_context(viewport={"width": 1400, "height": 1000})
        context.add_init_script(path=PROBES)
        found = [*_first_page(context, _installed(compiled)), *_moves(context, _installed(compiled))]
        browser.close()
    return found


def _installed(compiled: str) -> dict[str, str]:
    """The surroundings of an installed program: its modules are compiled once, not at every start."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": compiled}


@contextmanager
def _studio(surroundings: dict[str, str]) -> Iterator[tuple[float, str]]:
    """A studio in a process of its own: when it was started, and its link."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "sievert", "studio", str(FILE), "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=surroundings
    )
    try:
        assert process.stdout is not None
        link = re.search(r"http://\S+", process.stdout.readline())
        assert link is not None
        yield begun, link[0]
    finally:
        process.terminate()
        process.wait(20)


def _first_page(context: Any, surroundings: dict[str, str]) -> list[Row]:
    """From the command to a page, and to its headline, against a report by the command line."""
    pages, headlines = [], []
    for _ in range(4):  # the first one compiles
        with _studio(surroundings) as (begun, link):
            page = context.new_page()
            page.goto(link, wait_until="domcontentloaded")
            pages.append(time.perf_counter() - begun)
            page.wait_for_selector("#headline p")
            headlines.append(time.perf_counter() - begun)
            page.close()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        command = [sys.executable, "-m", "sievert", "audit", str(FILE), "--report", f"{folder}/report.html"]
        subprocess.run(command, check=True, capture_output=True, env=surroundings)
        peer = ("audit --report", time.perf_counter() - begun)
    return [
        Row("from the command to the first page", 1, min(pages), *peer),
        Row("from the command to its headline", 1, min(headlines), *peer),
    ]


def _moves(context: Any, surroundings: dict[str, str]) -> list[Row]:
    """The median of so many moves of ε, each to its last picture, against the page opened anew."""
    with _studio(surroundings) as (_, link):
        page = context.new_page()
        page.goto(link)
        page.wait_for_selector("body[data-ready=true]")
        begun = time.perf_counter()
        page.reload()
        page.wait_for_selector("body[data-ready=true]")
        anew = time.perf_counter() - begun
        page.evaluate("probes.moves(4)")
        seconds = [found / 1000 for found in page.evaluate(f"probes.moves({MOVES})")]
        page.close()
    spread = f"{min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f} ms"
    median = statistics.median(seconds)
    return [Row("ε slider to three pictures, median", MOVES, median, "page anew", anew, spread)]
