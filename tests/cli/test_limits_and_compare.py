"""`sievert limits`, `compare` and `verify` as a user runs them."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Sievert = Callable[..., CompletedProcess[str]]


def mechanism(folder: Path, name: str, kind: str, alpha: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(
        'version = 1\npolicy = { values = { range = [0, 4] }, secrets = "line" }\n'
        f'mechanism = {{ kind = "{kind}", alpha = "{alpha}" }}\n'
    )
    return path


def test_limits_are_proved(sievert: Sievert, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    done = sievert("limits", "examples/survey-response.toml", "--proof", proof)
    assert done.returncode == 0, done.stderr
    assert "Exact maximum: 1 bit " in done.stdout
    assert "100% of what the policy allows" in done.stdout
    checked = sievert("verify", proof)
    for words in ("In other words: whatever is released", "By: weak duality", "Checked in", "verify.py"):
        assert words in checked.stdout
    assert checked.returncode == 0
    assert checked.stdout.startswith("verified")
    content = json.loads(proof.read_text())
    content["upper"]["y"] = [value * 0.9 for value in content["upper"]["y"]]
    content["lower"]["rows"][0][0] += 1
    proof.write_text(json.dumps(content))
    broken = sievert("verify", proof)
    assert broken.returncode == 1
    assert broken.stdout.startswith("NOT verified")


def test_limits_at_another_eps_as_json(sievert: Sievert) -> None:
    done = sievert("limits", "examples/census-count.toml", "--eps", "1", "--json")
    result = json.loads(done.stdout)
    assert result["database"]["exact"]["bits"] == pytest.approx(100 * 1.016532, rel=1e-5)
    assert result["individual"]["exact"]["factor"] == pytest.approx(2.023048, rel=1e-6)


@pytest.mark.parametrize(("eps", "curve"), [("1e300", True), ("inf", False)])
def test_limits_page_of_a_huge_eps(sievert: Sievert, tmp_path: Path, eps: str, curve: bool) -> None:
    page = tmp_path / "limits.html"
    done = sievert("limits", "examples/survey-response.toml", "--eps", eps, "--report", page)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("Leakage against ε" in page.read_text(encoding="utf-8")) == curve


def test_a_mechanism_that_can_replace_another(sievert: Sievert, tmp_path: Path) -> None:
    geometric = mechanism(tmp_path, "a", "truncated-geometric", "1/2")
    response = mechanism(tmp_path, "b", "randomised-response", "3/4")
    proof = tmp_path / "proof.json"
    done = sievert("compare", geometric, response, "--proof", proof)
    assert done.returncode == 0, done.stderr
    assert "B can replace A against every adversary." in done.stdout
    assert "verified: B is A followed by post-processing, exactly" in sievert("verify", proof).stdout


def test_an_adversary_objects(sievert: Sievert, tmp_path: Path) -> None:
    geometric = mechanism(tmp_path, "a", "truncated-geometric", "1/2")
    response = mechanism(tmp_path, "b", "randomised-response", "3/5")
    proof = tmp_path / "proof.json"
    done = sievert("compare", geometric, response, "--proof", proof)
    assert done.returncode == 1
    assert done.stdout.split("\n")[1].startswith("No: an adversary who may bet on")
    assert "Still, B needs no larger ε under any metric" in " ".join(done.stdout.split())
    assert sievert("verify", proof).stdout.startswith("verified: an adversary")
    result = json.loads(sievert("compare", geometric, response, "--json").stdout)
    assert result["can_replace"] is False
    assert result["strongest"] == "privacy"
    assert result["forward"][0]["witness"]["gain"]


def test_comparing_channels_in_tables(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",u,v,w,z\na,3/4,0,1/4,0\nb,3/4,1/4,0,0\nc,0,1/4,1/4,1/2\n")
    (tmp_path / "b.csv").write_text(",u,v,w\nc,0,1/2,1/2\na,1/2,0,1/2\nb,1/2,1/2,0\n")
    done = sievert("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert (
        "gains 20.0% more from B than from A (0.5 against 0.4167). Still, no single output of B reveals more"
        in said
    )
    assert "matched by position" not in said
    (tmp_path / "c.csv").write_text(",u\n1,1\n2,1\n3,1\n")
    done = sievert("compare", tmp_path / "a.csv", tmp_path / "c.csv")
    assert done.returncode == 2
    assert "no element labelled 'a'" in done.stderr
    (tmp_path / "d.csv").write_text(",u\n1,1\n2,1\n")
    done = sievert("compare", tmp_path / "a.csv", tmp_path / "d.csv")
    assert done.returncode == 2
    assert "3 and 2 inputs" in done.stderr


def test_inputs_matched_by_position_are_named(sievert: Sievert, tmp_path: Path) -> None:
    first = mechanism(tmp_path, "a", "truncated-geometric", "1/2")
    (tmp_path / "c.csv").write_text(",u\n" + "".join(f"{name},1\n" for name in "pqrst"))
    done = sievert("compare", first, tmp_path / "c.csv")
    assert done.returncode == 0, done.stderr
    assert "'p', 'q', 'r', 's', 't') were matched by position." in done.stdout


def test_an_undecided_pair_says_what_to_do(sievert: Sievert, tmp_path: Path) -> None:
    kinds = {"a": "truncated-geometric", "b": "randomised-response"}
    first, second = (mechanism(tmp_path, name, kind, "1/2") for name, kind in kinds.items())
    for path, eps in ((first, 0.6931471805599453), (second, 0.40546512)):
        path.write_text(path.read_text().replace('alpha = "1/2"', f"eps = {eps}"))
    done = sievert("compare", first, second)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "Undecided: too near the boundary for floats; give both channels in fractions" in said
    assert "B is within" in said


def test_bad_proofs_are_bad_input(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for path in (tmp_path / "x.json", tmp_path / "none.json"):
        done = sievert("verify", path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_a_sum_over_a_million_values_is_compared_without_a_list(sievert: Sievert, tmp_path: Path) -> None:
    """It was refused: more pairs of a total and a value than can be listed."""
    text = Path("examples/release/household-sizes.toml").read_text(encoding="utf-8")
    wide, less = tmp_path / "wide.toml", tmp_path / "less.toml"
    wide.write_text(text.replace("range = [1, 6]", "range = [1, 1000000]"), encoding="utf-8")
    less.write_text(wide.read_text(encoding="utf-8").replace("eps = 0.5", "eps = 0.25"), encoding="utf-8")
    done = sievert("compare", wide, less, "--proof", tmp_path / "proof.json")
    assert done.returncode == 0 and "B can replace A against every adversary." in done.stdout
    assert sievert("verify", tmp_path / "proof.json").returncode == 0
    done = sievert("compare", less, wide, "--report", tmp_path / "page.html")
    assert done.returncode == 1 and "succeeds by odds of" in " ".join(done.stdout.split())
