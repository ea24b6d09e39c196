"""Kernel channels under a known prior, and packing over orbits, for both checkers."""

import json

import numpy as np
import pytest
from opinions import first_opinion, second_opinion

import sievert as sv
from sievert.limits import space_of
from sievert.numerics import read_eps
from sievert.proofs import WorstLeakageProof, save_proof


@pytest.fixture(scope="module")
def content() -> dict:
    found = sv.worst_leakage(sv.graphs.path(4), 1, prior=[0.4, 0.3, 0.2, 0.1]).certificate
    content = json.loads(save_proof(found))
    assert content["upper"]["type"] == "packing" and content["lower"]["type"] == "kernel"
    return content


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
    """Databases of three kinds; their weights solve Φw = 1, summed over the databases of a kind."""
    policy = sv.Policy.differential(range(3), 4, permitted=sv.constraints.total(4))
    graph, alike = policy.adjacency(), policy.alike_databases
    first = [alike.tolist().index(kind) for kind in range(3)]
    kernel = np.exp(-graph.metric().matrix)[first] @ (alike[:, None] == np.arange(3))
    weights = np.linalg.solve(kernel, np.ones(3)).tolist()
    packed = {"type": "orbits", "symmetries": [image.tolist() for image in policy.exchanges]}
    upper, lower = {**packed, "y": weights}, {**packed, "z": weights, "t": 1e-13}
    proof = WorstLeakageProof(space_of(graph).proof, read_eps(1), upper, lower)
    low, high = proof.bounds()
    assert low is not None and high - low < 1e-9
    return json.loads(save_proof(proof))


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
