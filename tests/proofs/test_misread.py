"""False claims by data that a machine misreads: each is refused by both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from more_proofs import MORE
from opinions import CHECKER, disagreement, first_opinion, second_opinion
from test_every_check import BASES

FORMAT = {"format": "sievert proof 1"}
BOTH = (first_opinion, second_opinion)


def tables(*cells: int) -> dict[str, Any]:
    """Two values add 5 to a cell each; a third adds nothing. Two cells apart they cost 10, not 5."""
    part = {"eps": "1", "width": 1, "cells": list(cells), "amounts": [0, 5, 5]}
    return {
        **FORMAT,
        "kind": "noise of several tables",
        "eps": "5",
        "tables": [part],
        "edges": None,
        "pair": [0, 1],
    }


@pytest.mark.parametrize("first", [2, 2**53, 2**63, 2**64])
def test_cells_whose_floats_are_alike_are_two(first: int) -> None:
    for judge in BOTH:
        assert judge(tables(1, first, first)).holds
        assert not judge(tables(1, first, first + 1)).holds


def on_a_line(places: list[float]) -> dict[str, Any]:
    """1, 1 and 9 apart are no line: a channel of one tells 2.08, and none on these points more than 1.93."""
    edges = [[0, 1], [0, 2], [1, 2]]
    space = {"size": 3, "edges": edges, "lengths": [1.0, 9.0, 1.0], "metric": True}
    return {
        **FORMAT,
        "kind": "worst leakage",
        "space": {**space, "coordinates": [[place] for place in places]},
        "eps": "1",
        "upper": {"type": "points"},
        "lower": {"type": "kernel", "z": [1.0, 0.0, 1.0], "t": 0.14},
    }


@pytest.mark.parametrize("places", [[0.0, 1.0, 2.0], [-1e308, 0.0, 1e308], [1e200, -1e200, 3e200]])
def test_coordinates_too_far_apart_to_be_squared_are_none(places: list[float]) -> None:
    for judge in BOTH:
        assert "coordinates" in str(judge(on_a_line(places)))
        assert not judge(on_a_line(places)).holds


def test_both_know_forests_of_one_size() -> None:
    space = {"form": "forest", "pairs": [[0, 1]], "lengths": ["1"], "eps": "1", "alpha": None}
    content = {
        **FORMAT,
        "kind": "released mechanism",
        "law": "response",
        "rows": None,
        "level": {"eps": "1"},
        "places": None,
    }
    for judge in BOTH:
        assert judge({**content, "space": {**space, "size": 1000}}).holds
        assert not judge({**content, "space": {**space, "size": 10**7 + 1}}).holds


def test_both_say_what_rounding_may_hide() -> None:
    """Rows that sum to 1 + 1e-9 let somebody expect 1e-9 more from a copy: no claim is finer than that."""
    row = [["1.000000001"], ["1.000000001"]]
    content = {
        **FORMAT,
        "kind": "deficiency",
        "less_safe": [["1"], ["1"]],
        "safer": row,
        "post": row[:1],
        "prior": [["1/2", "1/2"]],
        "gain": [["1", "1"]],
        "lower": "1e-9",
        "upper": "0",
        "any_prior": True,
    }
    for judge in BOTH:
        assert "(to 4.0e-09)" in judge(content).statement


def test_what_a_prior_misses_1_by_is_told() -> None:
    content = {
        **BASES["deficiency of a prior"](),
        "prior": [["3/4", "2500000001/10000000000"]],
        "upper": "1/11",
    }
    for judge in BOTH:
        assert "(to 2.0e-10)" in judge(content).statement


def test_first_points_of_orbits_that_read_otherwise_from_behind() -> None:
    assert CHECKER.first_points([0, 0, 1, 2, 1]) == [0, 2, 3]


# ── Other shapes of the same data ───────────────────────────────────────────────────────────────────────────


def shapes(value: Any) -> Iterator[Any]:
    """What a program may read as the value, and no proof has: a text for a list of digits, say."""
    if isinstance(value, dict):
        yield [[key, inner] for key, inner in value.items()]
    elif isinstance(value, list):
        yield from ({}, "", [value])
        plain = [str(entry) for entry in value if isinstance(entry, int | str) and len(str(entry)) == 1]
        if len(plain) == len(value) > 0:
            yield "".join(plain)
            yield dict.fromkeys(plain)
        if len(value) == 1:
            yield value[0]
        if value and all(isinstance(entry, list) for entry in value):
            yield [entry[:1] for entry in value]
    else:
        yield from ([value], {"": value}, str(value))


def places(item: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something, of a list the first and the last."""
    keys = list(item) if isinstance(item, dict) else [*range(len(item))] if isinstance(item, list) else []
    for key in keys if isinstance(item, dict) else sorted({*keys[:1], *keys[-1:]}):
        if key not in ("format", "kind", "labels"):
            yield (*above, key)
            yield from places(item[key], (*above, key))


@pytest.mark.parametrize("name", [*BASES, *MORE])
def test_both_read_every_shape_alike(name: str) -> None:
    text = json.dumps(BASES[name]() if name in BASES else MORE[name])
    for *above, key in places(json.loads(text)):
        box = json.loads(text)
        for step in above:
            box = box[step]
        for shape in shapes(box[key]):
            content = inner = json.loads(text)
            for step in above:
                inner = inner[step]
            inner[key] = json.loads(json.dumps(shape))
            told = disagreement(content)
            assert told is None, (above, key, shape, told)
