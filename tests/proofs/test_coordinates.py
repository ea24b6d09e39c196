"""Coordinates in a proof: they spare the search for shortest paths, and lengths that differ are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.proofs import proof_from_dict, save_proof


def _proof(dimensions: int = 2) -> dict[str, Any]:
    points = np.random.default_rng(7).random((310, dimensions)) * 9
    certificate = sv.worst_leakage(sv.metrics.euclidean(points), 1.0).certificate
    assert certificate is not None
    return dict(json.loads(save_proof(certificate)))


def _verdict(data: dict[str, Any]) -> bool:
    return bool(proof_from_dict(json.loads(json.dumps(data))).verify())


def _space(data: dict[str, Any]) -> dict[str, Any]:
    """The part of the proof with the coordinates, wherever it stands."""
    if "coordinates" in data:
        return data
    return next(
        _space(part) for part in data.values() if isinstance(part, dict) and "coordinates" in str(part)
    )


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_straight_lines_are_verified(dimensions: int) -> None:
    assert _verdict(_proof(dimensions))


def test_as_much_is_proved_as_by_shortest_paths() -> None:
    data = _proof()
    del _space(data)["coordinates"]
    assert _verdict(data)


def test_a_length_that_is_no_straight_line_is_refused() -> None:
    data = _proof()
    space = _space(data)
    space["lengths"][3] *= 1 + 1e-12
    with pytest.raises(FileError, match="coordinates"):
        _verdict(data)


@pytest.mark.parametrize("places", [[[0.0, 0.0]], [0.0, 1.0], [[1e-300, 0.0]] * 310])
def test_coordinates_of_another_space_are_refused(places: list[Any]) -> None:
    data = _proof()
    _space(data)["coordinates"] = places
    with pytest.raises(FileError):
        _verdict(data)


def test_distances_that_lose_digits_go_without_coordinates() -> None:
    points = np.random.default_rng(7).random((310, 2)) * 1e-150
    found = sv.worst_leakage(sv.metrics.euclidean(points), 1e150)
    assert found.certificate is not None
    assert bool(sv.verify(found.certificate))
