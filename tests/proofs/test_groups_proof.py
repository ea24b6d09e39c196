"""Proofs about the worst of several groups: every group is covered, and a changed entry is noticed."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from sievert.errors import FileError
from sievert.limits import worst_about, worst_leakage
from sievert.policies import Policy
from sievert.proofs import GroupsProof, proof_from_dict, save_proof
from sievert.spaces import graphs, secrets

PERMITTED = [(i, 1) for i in range(1, 7)] + [(0, 2)]
STAR = Policy.blowfish(secrets.edges(7, [(0, i) for i in range(1, 7)]), 2, permitted=PERMITTED)

PROOFS: dict[str, Callable[[], Any]] = {
    "outputs": lambda: worst_leakage(graphs.hamming(2, 3), 1, outputs=3).certificate,
    "individual": lambda: worst_leakage(STAR, 1, individual=True).certificate,
    "about": lambda: worst_about(graphs.path(7), 1, [0, 3, 6]).certificate,
}


@pytest.fixture(scope="module")
def saved() -> dict[str, dict[str, Any]]:
    return {name: json.loads(save_proof(make())) for name, make in PROOFS.items()}


def test_proofs_verify_where_the_solver_cannot_be_imported(saved, tmp_path) -> None:
    for name, content in saved.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    code = (
        "import sys; sys.modules['highspy'] = None\n"
        "from sievert.proofs._base import verify\n"
        "for path in sys.argv[1:]: print(bool(verify(path)), verify(path))\n"
    )
    paths = sorted(map(str, tmp_path.glob("*.json")))
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    assert [line[:4] for line in done.stdout.splitlines()] == ["True"] * 3, done.stdout


@pytest.mark.parametrize(
    ("name", "truth"), [("outputs", 2.264241), ("individual", 2.718282), ("about", 2.604248)]
)
def test_the_ends_enclose_the_value_of_the_spec(saved, name: str, truth: float) -> None:
    proof = proof_from_dict(saved[name])
    assert isinstance(proof, GroupsProof)
    lower, upper = proof.bounds()
    assert lower is not None and lower <= upper
    assert float(lower) == pytest.approx(truth, abs=1e-6) == pytest.approx(float(upper), abs=1e-6)


def at(content: dict[str, Any], *path: Any) -> Any:
    for key in path:
        content = content[key]
    return content


CHANGES: list[tuple[str, str, Callable[[dict[str, Any]], object]]] = [
    ("outputs", "a choice left out", lambda c: c["cases"].pop()),
    ("outputs", "more outputs than were tried", lambda c: c.update(outputs=4)),
    ("outputs", "no symmetry", lambda c: c.update(symmetries=[])),
    ("outputs", "no permutation", lambda c: c["symmetries"][0].__setitem__(0, c["symmetries"][0][1])),
    (
        "outputs",
        "a permutation that is no symmetry",
        lambda c: c["symmetries"].append([1, 0, *range(2, 9)]),
    ),
    ("outputs", "another group", lambda c: c["cases"][0].update(points=c["cases"][1]["points"])),
    ("outputs", "a point twice", lambda c: c["cases"][0].update(points=[0, 0, 1])),
    (
        "outputs",
        "a channel row raised",
        lambda c: at(c, "lower", "channel", "rows", 0).__setitem__(0, 10**30),
    ),
    ("outputs", "too many outputs in the channel", lambda c: c["lower"].update(points=[0, 1, 2, 3])),
    ("individual", "a channel about another group", lambda c: c["lower"].update(points=[0, 1])),
    ("individual", "an edge missing", lambda c: c["space"]["edges"].pop()),
    ("individual", "a smaller ε", lambda c: c.update(eps="1/2")),
    ("individual", "no group", lambda c: c.update(cases=[])),
    (
        "about",
        "a negative multiplier",
        lambda c: at(c, "cases", 0, "upper", "forward", 0).__setitem__(2, -1.0),
    ),
    ("about", "a point that does not exist", lambda c: c["cases"][0].update(points=[0, 3, 9])),
    ("about", "an unknown certificate", lambda c: c["cases"][0]["upper"].update(type="guess")),
]


@pytest.mark.parametrize(("name", "what", "change"), CHANGES, ids=[f"{n}: {w}" for n, w, _ in CHANGES])
def test_a_changed_proof_is_refused_or_proves_less(saved, name: str, what: str, change) -> None:
    content = copy.deepcopy(saved[name])
    change(content)
    try:
        proof = proof_from_dict(content)
    except FileError:
        return
    assert not proof.verify(), what


def test_a_weaker_packing_proves_a_weaker_bound(saved) -> None:
    content = copy.deepcopy(saved["individual"])
    before = proof_from_dict(content).bounds()[1]
    case = next(case for case in content["cases"] if case["upper"]["type"] == "packing")
    case["upper"]["y"] = [2 * v + 0.5 for v in case["upper"]["y"]]
    after = proof_from_dict(content).bounds()[1]
    assert after >= before - Fraction(1, 10**12)
