"""The least noise within [accept] of files with documents or vectors, and what is found with it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.questions import max_level

LETTERS, USERS = Path("examples/letters/letters.toml"), Path("examples/users/users.toml")


def test_documents_are_within_their_limits_up_to_the_level_and_not_beyond() -> None:
    limits = {"nats": 2.0, "guess": 0.6}
    letters = sv.load(LETTERS).replaced({f"accept.{key}": value for key, value in limits.items()})
    found = max_level(letters)
    assert (found.name, found.own) == ("eps", 4.0)
    assert sv.audit(letters.with_eps(found.level)).passed
    assert not sv.audit(letters.with_eps(found.level * 1.00001)).passed
    assert str(found) == f"The largest ε within [accept] is {found.level:g}; the file has ε = 4."
    # A guess of 0.6 between two takes ln 1.5 nats, which are proportional to ε.
    nats = max_level(letters, {"nats": 2.0})
    assert found.level == pytest.approx(nats.level * math.log(1.5) / 2, rel=1e-5)


def test_vectors_are_within_their_limits_up_to_the_level_and_not_far_beyond() -> None:
    users = sv.load(USERS)
    found = max_level(users)
    assert found.name == "eps" and found.passed == sv.audit(users).passed
    assert sv.audit(users.with_level(found.level)).passed
    assert not sv.audit(users.with_level(found.level * 1.0002)).passed
    stricter = max_level(users, {"nats": 1.0})
    assert stricter.level < found.level
    assert users.with_level(stricter.level).mechanism.xi(0.05, 0.001) <= 1.0


def test_a_file_without_limits_is_not_solved() -> None:
    with pytest.raises(FileError, match=r"letters.toml: has no limit under \[accept\]"):
        max_level(sv.load(LETTERS))
    with pytest.raises(FileError, match=r"accept.guess: is 0.1; a blind guess among 2"):
        max_level(sv.load(LETTERS), {"guess": 0.1})
