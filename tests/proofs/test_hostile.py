"""Files that were made to trouble a checker: each ends with a plain sentence and an exit code, in both."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from opinions import CHECKER, first_opinion, second_opinion
from test_every_check import BASES

from sievert.cli import main
from sievert.proofs import checker_path

GOOD = json.dumps(BASES["noise"]())
EPS = '"eps": "1"'
FILES: dict[str, bytes] = {
    "empty": b"",
    "a byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "UTF-16": GOOD.encode("utf-16"),
    "Latin-1": "\xef".encode("latin-1"),
    "zeros": bytes(100),
    "lists in lists": b"[" * 100_000,
    "60 levels": b"[" * 60 + b"]" * 60,
    "objects in objects": b'{"a":' * 100_000,
    "a key twice": GOOD.replace(EPS, f'{EPS}, "eps": "2"').encode(),
    "a long whole number": GOOD.replace(EPS, f'"eps": 1{"0" * 5000}').encode(),
    "no number": GOOD.replace(EPS, '"eps": NaN').encode(),
    "beyond doubles": GOOD.replace(EPS, '"eps": 1e999').encode(),
    "a list for a number": GOOD.replace(EPS, '"eps": [1]').encode(),
    "an object for a number": GOOD.replace(EPS, '"eps": {"a": 1}').encode(),
    "a truth value for a number": GOOD.replace(EPS, '"eps": true').encode(),
    "a huge exponent": GOOD.replace(EPS, '"eps": "1e999999999"').encode(),
    "a million digits": GOOD.replace(EPS, f'"eps": "1{"0" * 10**6}"').encode(),
    "a division by 0": GOOD.replace(EPS, '"eps": "1/0"').encode(),
    "foreign digits": GOOD.replace(EPS, '"eps": "\u0661"').encode(),
    "another version": GOOD.replace("proof 1", "proof 2").encode(),
    "another kind": GOOD.replace('"noise"', '["noise"]').encode(),
    "half a letter": GOOD.replace('"noise"', '"\\ud800"').encode(),
    "a digest that is a list": GOOD.replace(EPS, f'{EPS}, "about": [1]').encode(),
    "options that are a list": GOOD.replace(EPS, f'{EPS}, "options": [1]').encode(),
    "a list at the top": b"[]",
    "the first half": GOOD[:40].encode(),
    "twice": (GOOD + GOOD).encode(),
}


@pytest.fixture(params=[*FILES, "a pipe", "a folder", "a link to nothing", "nothing"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    target = tmp_path / "proof.json"
    if request.param in FILES:
        target.write_bytes(FILES[request.param])
    elif request.param == "a pipe":
        os.mkfifo(target)
    elif request.param == "a folder":
        target.mkdir()
    elif request.param == "a link to nothing":
        target.symlink_to("nowhere")
    return target


def test_a_hostile_file_is_refused_in_a_sentence(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert CHECKER.main([str(path)]) in (1, 2)
    alone = capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(path)])
    told = capsys.readouterr()
    assert ended.value.code in (1, 2)
    for words in (alone, told.out + told.err):
        assert "Traceback" not in words and "Error" not in words and len(words) > 20


def large(what: str) -> dict[str, Any]:
    """A small file that would fill the memory, or take hours."""
    n, named = 20_000, {"format": "sievert proof 1", "eps": "1", "lower": None}
    dual = {"y": [0] * n, "forward": [], "backward": []}
    many = {"size": 2, "edges": [[0, 1]] * n}
    empty = {"size": n, "edges": []}
    group = {"points": [*range(n)], "upper": {"type": "dual", **dual}}
    one = {"points": [0], "upper": {"type": "packing", "on": [0], "y": [1]}}
    return {
        "columns": {
            **named,
            "kind": "worst leakage",
            "space": empty,
            "upper": {"type": "columns", "symmetries": [], **dual},
        },
        "one way": {
            **named,
            "kind": "worst leakage, one way",
            "size": n,
            "arcs": [],
            "upper": {"type": "dual", **dual},
            "lower": {"denominator": 1, "rows": [[1]] * n},
        },
        "a group": {
            **named,
            "kind": "worst of groups",
            "space": empty,
            "outputs": None,
            "symmetries": [],
            "cases": [group],
        },
        "symmetries": {
            **named,
            "kind": "worst leakage",
            "space": many,
            "upper": {"type": "orbits", "symmetries": [[0, 1]] * 60_000, "y": [1, 1]},
        },
        "symmetries of groups": {
            **named,
            "kind": "worst of groups",
            "space": many,
            "outputs": 1,
            "symmetries": [[1, 0]] * 60_000,
            "cases": [one],
        },
        "images of groups": {
            **named,
            "kind": "worst of groups",
            "space": {"size": 400, "edges": []},
            "outputs": 2,
            "symmetries": [[*range(400)]] * 1300,
            "cases": [{**one, "points": [0, 1]}],
        },
    }[what]


@pytest.mark.parametrize(
    "what", ["columns", "one way", "a group", "symmetries", "symmetries of groups", "images of groups"]
)
def test_what_is_too_large_is_refused_before_it_is_tried(what: str) -> None:
    begun = time.process_time()
    for judge in (first_opinion, second_opinion):
        found = judge(large(what))
        assert not found.holds and ("too many" in str(found) or "too large" in str(found)), found
    assert time.process_time() - begun < 5


def test_orbits_of_many_points_are_counted_once() -> None:
    """As many orbits as points, one column: a count of every orbit would take n² steps."""
    n = 100_000
    column = {"type": "columns", "symmetries": [], "columns": [[0] * n], "z": [1], "t": 0.5}
    content = {**large("columns"), "upper": {"type": "points"}, "lower": column}
    content["space"] = {"size": n, "edges": []}
    assert second_opinion(content).holds


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is not limited there")
def test_time_that_was_not_foreseen_ends_in_a_sentence() -> None:
    """A second of processor time is left; the limit is that of --seconds and a minute."""
    found = subprocess.run(
        [sys.executable, "-c", UNFORESEEN, str(checker_path())],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.stdout == "more than 600 s\n", found


UNFORESEEN = """
import runpy, sys
alone = runpy.run_path(sys.argv[1])
alone["bound"](-59)
try:
    while True:
        pass
except alone["TooLong"] as problem:
    print(str(problem).split("takes ")[1].split(";")[0])
"""
HUGE = ("1e30", "1e3000", "100001", "1" + "0" * 4000)
LEVELS = {"cover": "eps", "tree": "eps", "worst": "eps", "metric": "eps", "kernel": "eps", "dual": "eps",
          "map": "step", "map with a prior": "step", "star form": "eps", "product": "eps", "groups": "eps",
          "guess": "eps", "repeated": "eps", "composed": "eps", "runs": "eps", "codes": "eps"}  # fmt: skip


@pytest.mark.parametrize("base", LEVELS)
@pytest.mark.parametrize("level", HUGE, ids=lambda text: text[:6])
def test_huge_levels_take_no_memory(base: str, level: str) -> None:
    """e^ε is written out by neither; Sievert accepts nothing that verify.py refuses."""
    content: dict[str, Any] = copy.deepcopy(BASES[base]())
    content[LEVELS[base]] = level
    first, second = first_opinion(content), second_opinion(content)
    assert second.holds or not first.holds
    assert "Error" not in first.statement and "Error" not in second.statement


def test_a_map_of_huge_cells_tells_every_cell() -> None:
    content = {**BASES["map"](), "step": "1e30"}
    assert first_opinion(content).holds and "72" in second_opinion(content).statement
