"""The certificate that added noise is enough: it verifies, survives JSON, and every changed number fails."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import SievertError
from sievert.files import load_policy_scenario
from sievert.policies import Move
from sievert.proofs import NoiseProof, load_proof, save_proof
from sievert.release import make_plan, noise_proof

TEXT = """version = 1
[policy]
values = [0, 2, 4]
{secrets}
records = 4
[query]
kind = "{query}"
[mechanism]
kind = "geometric"
{level}
[data]
input = "data.csv"
column = "x"
[release]
ledger = "budget.toml"
{drop}
"""


@pytest.mark.parametrize("secrets", ['secrets = "complete"', 'secrets = "line"', "permitted = { total = 8 }"])
@pytest.mark.parametrize("query", ["sum", "histogram"])
@pytest.mark.parametrize("level", ["eps = 0.3", 'alpha = "2/3"'])
@pytest.mark.parametrize("drop", ["", 'missing = "drop"'])
def test_noise_is_enough(tmp_path: Path, secrets: str, query: str, level: str, drop: str) -> None:
    (tmp_path / "file.toml").write_text(TEXT.format(secrets=secrets, query=query, level=level, drop=drop))
    if drop and "complete" not in secrets:
        # Nothing says how far a dropped row is from the others.
        with pytest.raises(SievertError, match="drop"):
            make_plan(load_policy_scenario(tmp_path / "file.toml"))
        return
    proof = noise_proof(make_plan(load_policy_scenario(tmp_path / "file.toml")))
    if proof is None:  # with a known total, the sum tells nothing new
        assert (query, "total" in secrets) == ("sum", True)
        return
    path = tmp_path / "proof.json"
    path.write_text(save_proof(proof))
    checked = sv.verify(path)
    assert checked, checked.statement
    content = json.loads(path.read_text())
    for damaged in damages(content):
        path.write_text(json.dumps(damaged))
        assert not load_proof(path).verify()


def damages(content: dict) -> list[dict]:
    """The certificate with one number changed, in every way that makes the statement false."""
    found = []
    for name, factor in (
        ("eps", Fraction(1, 2)),
        ("eps", Fraction(2)),
        ("step_eps", 2),
        ("step_alpha", Fraction(1, 2)),
    ):
        if content[name] is not None:
            found.append({**content, name: str(Fraction(content[name]) * factor)})
    moves = content["moves"]
    tightest = max(range(len(moves)), key=lambda i: moves[i][0] / Fraction(moves[i][1]))
    changes = ([moves[tightest][0] + 1, moves[tightest][1]], [moves[tightest][0], "0"])
    found.extend({**content, "moves": [*moves[:tightest], m, *moves[tightest + 1 :]]} for m in changes)
    found.append({**content, "moves": []})
    return found


def test_a_known_example() -> None:
    move = Move(2, Fraction(1))
    assert NoiseProof(Fraction(1), Fraction(1, 2), None, (move,)).verify()
    assert not NoiseProof(Fraction(1), Fraction(51, 100), None, (move,)).verify()
    # ln(9/4) = 0.810930216…: stated just above, never below.
    assert NoiseProof(Fraction("0.810930217"), None, Fraction(2, 3), (move,)).verify()
    assert not NoiseProof(Fraction("0.810930216"), None, Fraction(2, 3), (move,)).verify()
