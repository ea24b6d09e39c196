"""Proofs of likelihood and transport: they hold after JSON, and fail when an entry is changed."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

import sievert as sv
from sievert.errors import EstimationError, TooLargeError
from sievert.estimation import prove_likelihood, prove_transport
from sievert.proofs import proof_from_dict, save_proof


def likelihood_proofs():
    rng = np.random.default_rng(0)
    exact = sv.mechanisms.truncated_geometric(6, alpha="1/2")
    mixed = sv.Channel(rng.dirichlet(np.ones(4), 3), normalise=True)
    response = sv.mechanisms.randomised_response(3, 1.0)
    for counts, channel in (
        ([5, 9, 3, 0, 2, 1], exact),
        ([30, 20, 10, 5], mixed),
        ([[30, 20, 10, 5], [9, 9, 2]], [mixed, response]),
    ):
        yield prove_likelihood(sv.estimate(counts, channel, interval="none"), counts, channel)


def transport_proof():
    rng = np.random.default_rng(1)
    metric = sv.metrics.euclidean(rng.random((7, 2)))
    p, q = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    found = sv.kantorovich(p, q, metric)
    return found, prove_transport(found, p, q, metric)


def test_likelihood_proofs_hold_and_are_tight() -> None:
    for proof in likelihood_proofs():
        again = proof_from_dict(json.loads(save_proof(proof)))
        verdict = again.verify()
        assert verdict, verdict
        assert float(again.bound * again.reports) < 1e-8


def test_a_worse_estimate_has_a_larger_bound() -> None:
    channel = sv.mechanisms.randomised_response(2, alpha="1/2")
    early = sv.estimate([9, 1], channel, "ibu", tolerance=0, most_rounds=10)
    proof = prove_likelihood(early, [9, 1], channel)
    assert float(proof.bound) == pytest.approx(np.expm1(early.likelihood_gap), rel=1e-4)
    assert proof.verify()


def test_transport_proofs_hold() -> None:
    found, proof = transport_proof()
    again = proof_from_dict(json.loads(save_proof(proof)))
    assert again.verify()
    assert float(again.lower) == pytest.approx(found.value, abs=1e-13)
    assert float(again.upper - again.lower) < 1e-13
    line = sv.metrics.line(5)
    p, q = [0.5, 0.5, 0, 0, 0], [0, 0, 0, 0.25, 0.75]
    assert prove_transport(sv.kantorovich(p, q, line), p, q, line).verify()


def changed(data):
    """Every copy of the data with one number changed."""
    for key, value in data.items():
        if key in ("format", "kind"):
            continue
        for place in places(value):
            other = copy.deepcopy(data)
            spot = other
            for step in (key, *place[:-1]):
                spot = spot[step]
            last = place[-1] if place else None
            if last is None:
                other[key] = alter(other[key])
            else:
                spot[last] = alter(spot[last])
            yield key, place, other


def places(value):
    if not isinstance(value, list):
        yield ()
        return
    for i, item in enumerate(value):
        for rest in places(item):
            yield (i, *rest)


def alter(value):
    from fractions import Fraction

    if isinstance(value, int):
        return value + 1
    return str(Fraction(value) - Fraction(1, 1000))


def test_a_changed_entry_is_noticed() -> None:
    proofs = [*likelihood_proofs(), transport_proof()[1]]
    for proof in proofs:
        for key, place, data in changed(json.loads(save_proof(proof))):
            if proof.kind == "transport" and key == "lower":
                continue  # a lower bound that claims less is true as well
            try:
                holds = bool(proof_from_dict(data).verify())
            except sv.SievertError:
                holds = False
            assert not holds, (proof.kind, key, place)


def test_checked_where_the_solver_cannot_be_imported(tmp_path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(save_proof(next(iter(likelihood_proofs()))))
    code = (
        "import sys; sys.modules['highspy'] = None; sys.modules['scipy.optimize'] = None\n"
        f"from sievert.proofs._base import verify; print(verify({str(path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("verified: no distribution of these 6 values")


def test_what_cannot_be_proved_is_said() -> None:
    channel = sv.mechanisms.randomised_response(2, alpha="1/2")
    with pytest.raises(EstimationError, match="leaves the simplex"):
        prove_likelihood(sv.estimate([9, 1], channel, "inversion"), [9, 1], channel)
    large = sv.mechanisms.randomised_response(600, 1.0)
    with pytest.raises(TooLargeError):
        prove_likelihood(sv.estimate(np.ones(600), large), np.ones(600), large)
    apart = sv.Metric([[0, np.inf], [np.inf, 0]])
    with pytest.raises(EstimationError, match="infinite"):
        prove_transport(sv.kantorovich([1, 0], [0, 1], apart), [1, 0], [0, 1], apart)
