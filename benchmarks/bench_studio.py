"""The studio's server: an ε change answered in parts against an audit with its page anew, and the first page;
and what every example takes of the engine under it.

Answers are those of the tab that follows the slider: headline, guess, noise and ε, each with its picture and
the table behind it.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from statistics import median

from benchmarks import _studio_engine, _studio_page
from benchmarks.harness import Row, compare
from sievert.files import scenario_from_text
from sievert.questions.audit import audit
from sievert.report.audit import page
from sievert.studio import Session

PARTS = ("headline", "guess", "noise", "epsilon")
EXAMPLES = Path(__file__).parent.parent / "examples"
MEANT = "an ε change, all answers"


def run() -> list[Row]:
    """Server side, in this process; the last rows start servers of their own, and a browser."""
    changes = [_change(values) for values in (10, 100, 1_000)]
    return [*changes, *_studio_engine.rows(), *_served(), *_studio_page.rows()]


def _file(values: int, eps: float) -> str:
    listed = f"values = {{ range = [1, {values}] }}\nrecords = 500"
    return (
        f'version = 1\n[policy]\n{listed}\n[query]\nkind = "histogram"\n[mechanism]\nkind = "geometric"\n'
        f"eps = {eps}\n[adversary]\nobservations = 12\n[accept]\nguess = 0.5\n"
    )


def _change(values: int) -> Row:
    """Another ε each time: what the desk shares, and what an audit builds anew."""
    desk = Session(EXAMPLES, "file.toml")
    text, levels = _file(values, 0.5), itertools.count(1)

    def ours() -> None:
        edit = {"control": "eps", "value": 0.5 + 1e-4 * next(levels)}
        found = dict(desk.check(text, [edit]))["check"]["text"]
        json.dumps(dict(desk.answer(found, PARTS, {"brief": True})))

    def theirs() -> None:
        scenario = scenario_from_text(_file(values, 0.5 + 1e-4 * next(levels)), EXAMPLES)
        page(audit(scenario), scenario)  # type: ignore[arg-type, call-overload]

    return compare(MEANT, values, ours, "audit and its page", theirs, repeat=3, clock="cpu")


def _served() -> list[Row]:
    """Seconds from the start of the process to the page, and the median of 20 changes over the wire."""
    start = time.perf_counter()
    command = [
        sys.executable,
        "-P",
        "-m",
        "sievert.studio",
        "--no-browser",
        str(EXAMPLES / "weekly-visits.toml"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as server:
        try:
            first, waits = _measured(server, start)
        finally:
            server.terminate()
    return [
        Row("first page after the start", 1, first, note="at most 1 s is asked for"),
        Row("an ε change over the wire, median of 20", 12, median(waits), note="weekly-visits, 4 parts"),
    ]


def _measured(server: subprocess.Popen[str], start: float) -> tuple[float, list[float]]:
    assert server.stdout is not None
    link = re.search(r"http://\S+", server.stdout.readline())
    assert link is not None
    base = link[0].partition("/?")[0]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.addheaders = [("origin", base)]
    _opened(opener, link[0])
    first = time.perf_counter() - start
    text = (EXAMPLES / "weekly-visits.toml").read_text(encoding="utf-8")
    return first, [_asked(opener, base, text, 0.5 + place / 100) for place in range(22)][2:]


def _opened(opener: urllib.request.OpenerDirector, link: str) -> None:
    with opener.open(link) as reply:
        reply.read()


def _asked(opener: urllib.request.OpenerDirector, base: str, text: str, eps: float) -> float:
    body = {
        "text": text,
        "edits": [{"control": "eps", "value": eps}],
        "parts": PARTS,
        "settings": {"brief": True},
    }
    start = time.perf_counter()
    kind = {"content-type": "application/json"}
    request = urllib.request.Request(f"{base}/api/answer", json.dumps(body).encode(), kind)
    with opener.open(request) as reply:
        found = [json.loads(line) for line in reply]
    assert found[0]["ok"] and [line["part"] for line in found[1:]] == list(PARTS)
    return time.perf_counter() - start


if __name__ == "__main__":
    for row in run():
        print(row)
