"""Proofs about claims survive JSON, need no solver, and fail when an entry is changed."""

import copy
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.proofs import GuessProof, Proof, proof_from_dict, save_proof


def proofs() -> dict[str, Proof]:
    return {
        "uniform": sv.explain(eps=1.2, delta=0.01, values=5).certificate,
        "prior": sv.explain(eps=1, delta=0.02, prior=[0.6, 0.3, 0.1]).certificate,
        "repeated": sv.explain(eps=0.5, releases=10, delta=1e-4, prior=[0.3, 0.7]).certificate,
        "composed": sv.explain(eps=0.5, releases=7, delta=1e-4, values=3).certificate,
        "graph": sv.explain(
            eps=0.5, delta=0.1, policy=sv.graphs.path(4), prior=[0.1, 0.2, 0.3, 0.4]
        ).certificate,
    }


def test_round_trip_and_no_solver(tmp_path: Path) -> None:
    paths = []
    for name, proof in proofs().items():
        assert proof.verify()
        path = tmp_path / f"{name}.json"
        path.write_text(save_proof(proof), encoding="utf-8")
        assert sv.verify(path).statement == proof.verify().statement
        paths.append(str(path))
    code = (
        "import sys\n"
        "for name in ('highspy', 'scipy.optimize'): sys.modules[name] = None\n"
        "import sievert as sv\n"
        f"print(*(bool(sv.verify(path)) for path in {paths!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * len(paths)


def _changed(value: object, factor: float) -> list[object]:
    """The value with each single number in it changed, one at a time."""
    if isinstance(value, list):
        return [
            [*value[:i], new, *value[i + 1 :]] for i, x in enumerate(value) for new in _changed(x, factor)
        ]
    if isinstance(value, dict):
        return [{**value, key: new} for key, item in value.items() for new in _changed(item, factor)]
    if isinstance(value, str):
        number = Fraction(value)
        return [str(number * Fraction(factor))] if number else []
    if isinstance(value, float) and value:
        return [value * factor]
    return []


@pytest.mark.parametrize("factor", [0.5, 0.999, 1.001, 2.0])
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("uniform", ["cover", "eps", "delta"]),
        ("prior", ["cover", "eps", "delta", "prior"]),
        ("repeated", ["eps", "delta", "prior"]),
        ("graph", ["eps", "delta"]),
    ],
)
def test_every_changed_number_fails(name: str, keys: list[str], factor: float) -> None:
    content = json.loads(save_proof(proofs()[name]))
    for key in keys:
        for new in _changed(content[key], factor):
            altered = {**content, key: new}
            try:
                verified = bool(proof_from_dict(altered).verify())
            except sv.SievertError:
                verified = False
            assert not verified, (key, new)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_changed_multipliers_prove_nothing_false(factor: float) -> None:
    """A changed multiplier must not make the stated upper end smaller than it is."""
    content = json.loads(save_proof(proofs()["graph"]))
    for new in _changed(content["dual"], factor):
        found = proof_from_dict({**content, "dual": new})
        assert not found.verify() or found.bounds()[1] >= Fraction(content["lower"])
    stronger = {**content, "upper": str(Fraction(content["upper"]) - Fraction(1, 10**6))}
    assert not proof_from_dict(stronger).verify()


def test_changed_entries_fail() -> None:
    found = proofs()
    uniform = json.loads(save_proof(found["uniform"]))
    for key, value in {"cover": ["1/10"], "used": 9, "values": 0, "eps": "-1", "upper": "0.4"}.items():
        assert not proof_from_dict({**uniform, key: value}).verify()
    with pytest.raises(sv.SievertError, match="delta"):
        proof_from_dict({**uniform, "delta": "2"})
    prior = json.loads(save_proof(found["prior"]))
    assert not proof_from_dict({**prior, "prior": ["0.5", "0.3", "0.1"]}).verify()
    assert not proof_from_dict({**prior, "cover": prior["cover"][:2]}).verify()
    repeated = json.loads(save_proof(found["repeated"]))
    for key, value in {
        "lower": "0.9",
        "upper": "0.5",
        "releases": 11,
        "eps": "1",
        "prior": ["1/2", "1/4"],
    }.items():
        assert not proof_from_dict({**repeated, key: value}).verify()
    graph = json.loads(save_proof(found["graph"]))
    for change in (
        lambda d: d["channel"]["rows"][0].__setitem__(0, d["channel"]["rows"][0][0] + 1),
        lambda d: d["channel"]["rows"].pop(),
        lambda d: d["dual"]["y"].__setitem__(0, -1e6),
        lambda d: d["dual"]["forward"].__setitem__(0, [0, 0, -1.0]),
        lambda d: d.__setitem__("delta", "0"),
        lambda d: d.__setitem__("eps", "1/100"),
    ):
        altered = copy.deepcopy(graph)
        change(altered)
        assert not proof_from_dict(altered).verify()


def test_bounds_meet() -> None:
    for eps in (0, 1e-9, 0.3, 5, 40, 900):
        for values in (2, 3, 1000):
            low, high = sv.explain(eps=eps, delta=1e-3, values=values).certificate.bounds()
            assert 0 <= high - low < Fraction(1, 10**15)
    rng = np.random.default_rng(1)
    for _ in range(20):
        prior = rng.dirichlet(np.full(6, 0.5)).tolist()
        low, high = sv.explain(eps=float(rng.uniform(0, 4)), delta=0.01, prior=prior).certificate.bounds()
        assert -1e-15 < float(high - low) < 1e-9


def test_composed_totals_are_checked() -> None:
    found = sv.explain(eps=0.5, releases=7, delta=1e-4, values=3)
    proof = found.certificate
    assert float(proof.upper()) == pytest.approx(found.after, abs=1e-12)
    content = json.loads(save_proof(proof))
    for key, value in {"eps": "0.51", "delta": "2/10000", "releases": 8}.items():
        assert not proof_from_dict({**content, key: value}).verify()
    for key, value in {"delta": "1/100000", "eps": "1/10", "upper": "0.4", "cover": ["1/100"]}.items():
        altered = {**content, "total": {**content["total"], key: value}}
        assert not proof_from_dict(altered).verify()
    with_prior = sv.explain(eps=0.3, releases=9, prior=[0.5, 0.25, 0.25])
    assert with_prior.certificate.verify()
    assert float(with_prior.certificate.upper()) == pytest.approx(with_prior.after, abs=1e-12)


def test_a_lower_bound_above_the_upper_is_refused() -> None:
    wrong = GuessProof(Fraction(1), Fraction(0), 3, None, (Fraction(1, 100),), 3)
    assert not wrong.verify()
    assert "cover" in wrong.verify().statement
    assert math.isclose(float(sv.explain(eps=1, values=3).after), math.e / (math.e + 2))
