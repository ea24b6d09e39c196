"""Limits of the tables by which answers are joined."""

import numpy as np
import pytest

import sievert as sv
from sievert.errors import TooLargeError
from sievert.policies import _answers as induced


def test_many_answers_are_joined_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = sv.Policy.differential(4, 4, permitted=sv.constraints.total(6))
    query = sv.Query.from_table(lambda database: database[:2])
    expected = query.answers(policy).edges.pairs
    monkeypatch.setattr(induced, "LARGEST_TABLE", 3)
    assert np.array_equal(query.answers(policy).edges.pairs, expected)


def test_situations_of_the_others_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(induced, "LARGEST_CONTEXTS", 10)
    policy = sv.Policy.differential(4, 4, permitted=sv.constraints.total(6))
    with pytest.raises(TooLargeError, match="44 databases have up to 176 pairs of a situation"):
        sv.Query.sum().answers(policy)
