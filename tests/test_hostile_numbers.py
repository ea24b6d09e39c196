"""Arguments that the fuzz suite found: each is refused in a sentence, before any work."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sievert as sv

LINE = sv.metrics.line(3)
LETTERS = sv.metrics.discrete(["a", "b", "c"])
PAIRS = sv.inference.Correlation([[0.3, 0.1, 0.1], [0.1, 0.2, 0.2]])
CODES = [[1, 0, 1], [0, 0, 1], [1, 1, 1]]
HOSTILE: dict[str, Callable[[], Any]] = {
    "function": lambda: sv.continuous.induced_metric(LETTERS, lambda x: x > 0),
    "device": lambda: sv.optimal_mechanism(LINE, alpha="1/2", device=1 + 2j),
    "device is": lambda: sv.candidates(LINE, alpha="1/2", device=Ellipsis),
    "rng": lambda: sv.vectors.reidentification(CODES, 1.0, rng=np.eye(3) * 1j),
    "draws": lambda: sv.vectors.reidentification(CODES, 1.0, draws=object()),
    "draws is": lambda: sv.vectors.reidentification_of_chances([[0.2, 0.8], [0.6, 0.4]], draws=float("nan")),
    "finer grid": lambda: sv.continuous.lifted(sv.continuous.grid_geometric(2, 1), 10**6),
    "limits": lambda: sv.inference.frontier(PAIRS, -(10**400), eps=1.0),
    "give probabilities": lambda: sv.inference.frontier(PAIRS, "1e400", eps=1.0),
    "move_by has shape": lambda: sv.continuous.hyper_distance(
        sv.continuous.grid_geometric(2, 1),
        sv.continuous.truncated_laplace(1).pixelated(4, 2),
        move_by=sv.Channel([[1, 0, 0]] * 3),
    ),
    "bits": lambda: sv.vectors.calibrate(10**6, 0.1, 2.0, 0.1),
    "xi is": lambda: sv.vectors.calibrate(4, 0.1, 1e308, 0.1),
    "users is": lambda: sv.vectors.calibrate(4, 0.1, 2.0, 0.1, users=2**1000),
    "eps is": lambda: sv.vectors.paper_bounds(4, 0.1, 1e308, 0.1),
    "x has shape": lambda: sv.vectors.angular_distance(np.zeros((0, 3)), [[1.0, 2.0, 0.5]]),
    "cells": lambda: sv.continuous.resolution(0.01, eps=1e308),
    "points": lambda: sv.continuous.laplace_loss([0.5, 0.3, 0.2], "squared", 1.0, points=[10**400] * 3),
    "yes is": lambda: sv.inference.survey(3, 1.0, yes=10**400),
    "prior is": lambda: sv.inference.no_free_lunch(sparse.csr_array(np.eye(3))),
    "eps:": lambda: sv.sampling.staircase(10**400, 3),
    "size is": lambda: sv.text.utility_radius(10**400, 3, 1.0, 0.5),
    "no real number": lambda: sv.inference.privacy_loss(sv.mechanisms.warner(), np.eye(3) * 1j),
    "ball|box": lambda: sv.inference.curve(PAIRS, eps=1.0, box=np.ma.masked),
    "at most 1,000,000": lambda: sv.release.afford("examples/census-count.toml", eps=2**1000, delta=1e-6),
}


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_arguments_are_refused_in_a_sentence(words: str) -> None:
    with pytest.raises(sv.SievertError, match=words):
        HOSTILE[words]()


def test_tiny_and_decimal_numbers_are_answered() -> None:
    tiny = sv.continuous.refined_by_geometric(sv.continuous.grid_geometric(2, 1), 5e-324)
    assert tiny.holds is None
    assert sv.vectors.paper_bounds(4, Decimal("1e-400"), 1.0, 0.1).exact >= 0
