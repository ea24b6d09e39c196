"""Kernel channels under a known prior, and packing over orbits, for both checkers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from opinions import first_opinion, second_opinion

import sievert as sv
from sievert.limits._objectives import prior_packing
from sievert.limits._orbits import orbit_bounds
from sievert.limits._space import space_of
from sievert.numerics import read_eps
from sievert.proofs import WorstLeakageProof, save_proof


@pytest.fixture(scope="module")
def content() -> dict:
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    packed = prior_packing(space_of(sv.graphs.path(4)), read_eps(1), prior)
    assert packed is not None
    return json.loads(save_proof(packed.proof))


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


@pytest.fixture(scope="module")
def orbits() -> dict:
    policy = sv.Policy.differential(range(3), 4, permitted=sv.constraints.total(4))
    space = replace(space_of(policy.adjacency()), symmetries=policy.exchanges)
    _, upper, lower, _ = orbit_bounds(space, read_eps(1))
    return json.loads(save_proof(WorstLeakageProof(space.proof, read_eps(1), upper, lower)))


def test_both_checkers_accept_orbits(orbits: dict) -> None:
    assert len(orbits["upper"]["y"]) == 3
    assert first_opinion(orbits).holds and second_opinion(orbits).holds


@pytest.mark.parametrize(
    "forgery", ["no symmetry", "no permutation", "too few", "negative", "uncovered", "remainder", "all kept"]
)
def test_forged_orbits_are_refused(orbits: dict, forgery: str) -> None:
    forged = json.loads(json.dumps(orbits))
    upper, lower = forged["upper"], forged["lower"]
    if forgery == "no symmetry":
        image = upper["symmetries"][0]
        image[0], image[1] = image[1], image[0]
    elif forgery == "no permutation":
        lower["symmetries"][0][0] = lower["symmetries"][0][1]
    elif forgery == "too few":
        upper["y"].pop()
    elif forgery == "negative":
        upper["y"][0] = -upper["y"][0] - 1e-3
    elif forgery == "uncovered":
        upper["y"] = [0.0, 0.0, 0.0]
    elif forgery == "remainder":
        lower["z"][0] *= 3
        lower["t"] = 0.0
    else:
        lower["t"] = 1.0
    assert not first_opinion(forged).holds and not second_opinion(forged).holds
