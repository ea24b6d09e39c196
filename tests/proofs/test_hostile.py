"""Files that were made to trouble a checker: each ends with a plain sentence and an exit code, in both."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from opinions import CHECKER, first_opinion, second_opinion
from test_every_check import BASES

from sievert.cli import main

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
