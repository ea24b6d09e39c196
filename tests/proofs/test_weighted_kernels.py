"""A kernel channel under a known prior, for both checkers."""

import json

import numpy as np
import pytest
from opinions import first_opinion, second_opinion

import sievert as sv
from sievert.limits._objectives import prior_packing
from sievert.limits._space import space_of
from sievert.numerics import read_eps
from sievert.proofs import save_proof


@pytest.fixture(scope="module")
def content() -> dict:
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    return json.loads(save_proof(prior_packing(space_of(sv.graphs.path(4)), read_eps(1), prior)))


def test_both_checkers_accept_it(content: dict) -> None:
    assert first_opinion(content).holds and second_opinion(content).holds


@pytest.mark.parametrize("forgery", ["negative", "gain", "remainder"])
def test_forgeries_are_refused(content: dict, forgery: str) -> None:
    forged = json.loads(json.dumps(content))
    if forgery == "negative":
        forged["weights"][3] = -0.1
    elif forgery == "gain":
        forged["gain"] = [[0.4, 0, 0, 0], [0, 0.3, 0, 0], [0, 0, 0.2, 0], [0, 0, 0, 0.1]]
        forged["weights"] = None
    else:
        forged["lower"]["t"] = 0.0
        forged["lower"]["z"][0] *= 2
    assert not first_opinion(forged).holds and not second_opinion(forged).holds
