"""The program for a known prior or another goal, packing around it, and what is said beyond its limits."""

import copy
import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError, TooLargeError
from sievert.limits import _objectives as objectives
from sievert.limits import space_of, worst_leakage
from sievert.numerics import read_eps
from sievert.policies import Policy
from sievert.proofs import DirectedProof, proof_from_dict, save_proof
from sievert.spaces import metrics, secrets


def test_a_known_prior_beyond_the_program_has_a_proved_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    metric, prior = metrics.line(6), [0.3, 0.1, 0.1, 0.1, 0.1, 0.3]
    exact = worst_leakage(metric, 1, prior=prior).exact
    near = sv.gains.within(metric, 1)
    exact_near = worst_leakage(metric, 1, prior=prior, gain=near).exact
    monkeypatch.setattr(objectives, "LARGEST_UNKNOWNS", 10)
    found = worst_leakage(metric, 1, prior=prior)
    assert found.exact is None and "36 unknowns" in found.reason
    assert exact.factor <= found.upper.factor < worst_leakage(metric, 1).upper.factor
    assert found.certificate.verify()
    assert exact_near.factor <= worst_leakage(metric, 1, prior=prior, gain=near).upper.factor


GRAPHS = {
    "path": sv.graphs.path(7),
    "cycle": sv.graphs.cycle(6),
    "fork": sv.Graph(range(5), [(0, 1), (1, 2), (0, 3), (0, 4)]),
    "grid": sv.graphs.grid(3, 3),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("eps", [0.3, 1.0])
def test_the_program_lies_between_packing_and_its_kernel(name: str, eps: float) -> None:
    space = space_of(GRAPHS[name])
    prior = np.random.default_rng(len(name)).dirichlet(np.ones(space.size))
    lower, upper, _ = objectives.prior_packing(space, read_eps(eps), prior)
    exact, _ = objectives.solve_objective(space, read_eps(eps), np.diag(prior))
    least, most = exact.bounds()
    assert lower <= most and least <= upper
    assert float(lower) >= 0.8 * float(upper)


def test_packing_alone_is_exact_where_its_kernel_attains_it() -> None:
    prior = [0.05, 0.2, 0.1, 0.3, 0.1, 0.2, 0.05]
    found = sv.worst_leakage(sv.graphs.path(7), 2.0, prior)
    assert found.exact is not None
    program, _ = objectives.solve_objective(space_of(sv.graphs.path(7)), read_eps(2.0), np.diag(prior))
    low, high = program.bounds()
    assert found.exact.factor == pytest.approx(float(low + high) / 2 / 0.3, rel=1e-9)
    even = sv.worst_leakage(sv.graphs.path(7), 2.0, [1 / 7] * 7)
    assert "packing on the known prior" in even.method
    assert even.exact.factor == pytest.approx(1 + 6 * np.tanh(1.0), rel=1e-9)
    assert even.certificate.verify().holds


def test_many_places_are_bounded_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = sv.metrics.euclidean([(i, j) for i in range(4) for j in range(4)])
    prior = np.random.default_rng(0).dirichlet(np.ones(16))
    exact = sv.worst_leakage(metric, 0.7, prior)
    monkeypatch.setattr(objectives, "LARGEST_ROWS", 10)
    found = sv.worst_leakage(metric, 0.7, prior)
    assert "constraints; at most" in found.reason
    assert 1 < found.lower.factor <= exact.exact.factor * (1 + 1e-9)
    assert exact.exact.factor <= found.upper.factor * (1 + 1e-9)
    assert found.upper.factor < sv.worst_leakage(metric, 0.7).upper.factor
    assert found.certificate.verify().holds


@pytest.mark.parametrize("seed", range(3))
def test_signed_gains_by_shifting(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    graph, table = sv.graphs.path(5), rng.uniform(-1, 1, (3, 5)) + 0.3
    prior = rng.dirichlet(np.ones(5))
    if (table @ prior).max() <= 0:
        table += 1
    exact = sv.worst_leakage(graph, 0.8, prior, table)
    # Shifting the gains of a secret moves both values alike.
    shift = -table.min(axis=0)
    moved = sv.worst_leakage(graph, 0.8, prior, table + shift)
    before, added = (table @ prior).max(), shift @ prior
    assert exact.exact.factor * before + added == pytest.approx(moved.exact.factor * (before + added))
    monkeypatch.setattr(objectives, "LARGEST_ROWS", 1)
    bound = sv.worst_leakage(graph, 0.8, prior, table)
    capacity = sv.worst_leakage(graph, 0.8).upper.factor
    assert bound.exact is None and bound.upper.factor >= exact.exact.factor - 1e-9
    assert bound.upper.factor * before == pytest.approx(
        min(capacity * before, capacity * (before + added) - added)
    )


def random_policy(seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    every = list(product(range(3), repeat=3))
    kept = [every[i] for i in np.flatnonzero(rng.random(27) < 0.5)]
    return Policy.blowfish(secrets.line(3), 3, permitted=kept)


def test_beyond_the_exact_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objectives, "LARGEST_UNKNOWNS", 10)
    found = worst_leakage(random_policy(1).adjacency(directed=True), 0.5)
    assert found.exact is None and "10 unknowns" in found.reason and found.mechanism is None
    assert found.certificate.verify() and found.lower <= found.upper
    monkeypatch.setattr(objectives, "LARGEST_DENSE", 5)
    with pytest.raises(TooLargeError, match="at most 5"):
        worst_leakage(random_policy(1).adjacency(directed=True), 0.5)


# Edwards et al. as corrected: the smallest policy with a one-way pair.
ONE_WAY = Policy.blowfish(secrets.edges(3, [(0, 1), (0, 2)]), 2, permitted=[(0, 0), (0, 1), (1, 2)])


CHANGES: list[tuple[str, Any]] = [
    ("an arc more", lambda c: c["arcs"].append([2, 0])),
    ("an arc to nowhere", lambda c: c["arcs"].append([0, 9])),
    ("a smaller ε", lambda c: c.update(eps="1/10")),
    ("a row raised", lambda c: c["lower"]["rows"][0].__setitem__(0, 10**40)),
    ("a multiplier the other way", lambda c: c["upper"].update(backward=[[0, 0, 1.0]])),
    ("an unknown certificate", lambda c: c["upper"].update(type="guess")),
]


@pytest.mark.parametrize(("what", "change"), CHANGES, ids=[what for what, _ in CHANGES])
def test_proofs_survive_json_and_notice_changes(what: str, change: Any) -> None:
    content = json.loads(save_proof(_dual_proof()))
    proof = proof_from_dict(copy.deepcopy(content))
    assert isinstance(proof, DirectedProof) and proof.verify()
    change(content)
    try:
        changed = proof_from_dict(content)
    except FileError:
        return
    assert not changed.verify(), what


def _dual_proof() -> DirectedProof:
    arcs = ONE_WAY.adjacency(directed=True)
    found = worst_leakage(arcs, 0.5).certificate
    assert isinstance(found, DirectedProof)
    exact, _ = objectives._exact(found)
    return exact
