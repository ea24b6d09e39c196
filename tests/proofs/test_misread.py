"""False claims by data that a machine misreads: each is refused by both."""

from __future__ import annotations

from typing import Any

import pytest
from opinions import first_opinion, second_opinion

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
    """1, 1 and 9 apart are no line: what is proved of one, 2.08 at least, is false of 1, 1 and 2, at most 1.93."""
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
