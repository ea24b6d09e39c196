"""Proofs of refinement: a JSON round trip, a process without the solver, and tampering."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from fractions import Fraction

import pytest

import sievert as sv
from sievert.orders import refines
from sievert.proofs import proof_from_dict, save_proof

TG, RR = sv.mechanisms.truncated_geometric, sv.mechanisms.randomised_response
WIDE = sv.Channel([["1/2", "1/4", "1/8", "1/8"], ["1/8", "1/2", "1/4", "1/8"], ["1/8", "1/8", "1/4", "1/2"]])
POST = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/2", "1/2"], ["1/5", "4/5"]])
LINE = sv.metrics.line(3)


def verdicts():
    g, r = TG(3, alpha="1/2"), RR(3, alpha="1/3")
    floats = [sv.Channel(c.matrix) for c in (g, r)]
    yield "cascade", refines(WIDE, WIDE.then(POST))
    yield "float cascade", refines(sv.Channel(WIDE.matrix), sv.Channel(WIDE.then(POST).matrix))
    yield "adversary", refines(g, r)
    yield "float adversary", refines(*floats)
    yield "max adversary", refines(g, r, "max")
    yield "mixture", refines(WIDE, WIDE.then(POST), "max")
    yield "privacy", refines(g, r.then(r), "privacy")
    yield "privacy fails", refines(g, r, "privacy")
    yield "one metric", refines(r, g, "privacy", metric=LINE)
    yield "one metric fails", refines(g, r, "privacy", metric=LINE)
    yield "float, one metric", refines(*floats[::-1], "privacy", metric=LINE)
    yield "families", refines(TG(500, alpha="1/2"), RR(500, alpha="2/3"))
    yield "partition", refines(*(sv.Channel.from_function(lambda h, m=m: h % m, 12) for m in (6, 3)))
    yield "partition fails", refines(*(sv.Channel.from_function(lambda h, m=m: h % m, 12) for m in (3, 6)))
    yield "sizes", refines(sv.Channel.from_blocks({6: 2}), sv.Channel.from_blocks({3: 4}))
    yield "class objects", refines(g, r.then(r), adversary=sv.adversaries.within(LINE, 1))
    a, b = sv.Channel([[1, 0], [0, 1], [0, 1]]), sv.Channel([["1/2", "1/2"], [0, 1], ["1/4", "3/4"]])
    yield "class", refines(a, b, adversary=sv.adversaries.properties(3, [[0]]))


PROOFS = {name: verdict.certificate for name, verdict in verdicts()}


@pytest.mark.parametrize("name", PROOFS)
def test_round_trip(name):
    proof = PROOFS[name]
    assert proof.verify()
    again = proof_from_dict(json.loads(save_proof(proof)))
    assert type(again) is type(proof)
    assert again.verify().statement == proof.verify().statement
    assert again.to_dict() == proof.to_dict()


def test_checked_where_the_solver_cannot_be_imported(tmp_path):
    paths = []
    for name, proof in PROOFS.items():
        path = tmp_path / f"{name}.json"
        path.write_text(save_proof(proof), encoding="utf-8")
        paths.append(str(path))
    code = (
        "import sys; sys.modules['highspy'] = None\n"
        "from sievert.proofs._base import verify\n"
        "results = [verify(path) for path in sys.argv[1:]]\n"
        "assert all(results), [str(r) for r in results]\n"
        "print(len(results))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(len(PROOFS))


def changes(data, path=()):
    """Every copy of the data with one number changed."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("format", "kind"):
                for changed in changes(value, (*path, key)):
                    yield {**data, key: changed}
    elif isinstance(data, list):
        for i, value in enumerate(data):
            for changed in changes(value, (*path, i)):
                yield [*data[:i], changed, *data[i + 1 :]]
    elif isinstance(data, bool):
        yield not data
    elif isinstance(data, int):
        yield data + 1
        yield data - 1
    elif isinstance(data, str):
        try:
            value = Fraction(data)
        except ValueError:
            yield data + "x"
            return
        yield str(value + Fraction(1, 100))
        yield str(value - Fraction(1, 100))


TAMPERED = [
    "cascade",
    "float cascade",
    "adversary",
    "float adversary",
    "max adversary",
    "mixture",
    "class",
    "one metric",
]


@pytest.mark.parametrize("name", TAMPERED)
def test_any_changed_number_is_noticed(name):
    content = json.loads(save_proof(PROOFS[name]))
    tried = 0
    for changed in changes(copy.deepcopy(content)):
        tried += 1
        # `exact` only says how strictly rows are checked; loosening it changes no number.
        if changed.get("exact") != content.get("exact"):
            continue
        proof = proof_from_dict(changed)
        # What an action pays where it is never chosen does not matter: the statement is then still true.
        irrelevant = any(changed.get(key) != content.get(key) for key in ("gain", "generators"))
        if irrelevant and proof.verify():
            assert proof.verify().statement == PROOFS[name].verify().statement
            continue
        assert not proof.verify(), changed
    assert tried > 20


def test_a_wide_tolerance_proves_nothing():
    """Far from a post-processing, no tolerance makes a proof, and no statement claims safety."""
    content = json.loads(save_proof(PROOFS["float cascade"]))
    b = sv.Channel([["9/10", "1/10"], ["1/10", "9/10"]])
    a = b.then(b)
    identity = [["1", "0"], ["0", "1"]]
    matrices = {"less_safe": a.exact, "safer": b.exact}
    texts = {name: [[str(value) for value in row] for row in table] for name, table in matrices.items()}
    forged = {**content, **texts, "post": identity, "tolerance": "1/2"}
    assert "tolerance is 0.5" in proof_from_dict(forged).verify().statement
    assert not proof_from_dict(forged).verify()


def test_floats_claim_no_more_than_they_prove():
    a = sv.Channel([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    b = a.then(sv.Channel([[0.9, 0.1], [0.3, 0.7]])).matrix.copy()
    b[0] += (1e-12, -1e-12)
    statement = sv.refines(a, sv.Channel(b)).certificate.verify().statement
    assert "no adversary with gains in [0, 1] expects over" in statement
    assert "exactly" not in statement


def test_tampering_with_the_others():
    for name in ("privacy", "privacy fails"):
        content = json.loads(save_proof(PROOFS[name]))
        for key in ("less_safe", "safer"):
            changed = copy.deepcopy(content)
            changed[key][0][0] = "9/10"
            assert not proof_from_dict(changed).verify()
    content = json.loads(save_proof(PROOFS["privacy fails"]))
    for change in ({"pair": [0, 0]}, {"pair": [0, 9]}, {"output": 7}, {"pair": content["pair"][::-1]}):
        assert not proof_from_dict({**content, **change}).verify()
    content = json.loads(save_proof(PROOFS["families"]))
    for change in (
        {"holds": False},
        {"second_parameter": "3/5"},
        {"first_parameter": "3/2"},
        {"second": "laplace"},
    ):
        assert not proof_from_dict({**content, **change}).verify()
    content = json.loads(save_proof(PROOFS["partition"]))
    images = content["safer"]
    assert not proof_from_dict({**content, "safer": [1 - images[0], *images[1:]]}).verify()
    content = json.loads(save_proof(PROOFS["partition fails"]))
    assert not proof_from_dict({**content, "pair": [0, 0]}).verify()
    content = json.loads(save_proof(PROOFS["sizes"]))
    assert not proof_from_dict({**content, "safer": [[12, 1]]}).verify()
    assert not proof_from_dict({**content, "safer": [[3, 5]]}).verify()
