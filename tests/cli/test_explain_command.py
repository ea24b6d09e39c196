"""`sievert explain`: sentences, JSON, a page, proofs, and exit codes as a gate."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import SievertError

runner = CliRunner()


def run(*arguments: str, code: int = 0) -> str:
    done = runner.invoke(app, ["explain", *arguments], env={"COLUMNS": "100"})
    assert done.exit_code == code, done.output
    # Lines are wrapped for the terminal; sentences are compared without that.
    return done.output if "--json" in arguments else " ".join(done.output.split())


def test_the_three_minute_entry() -> None:
    text = run("--eps", "3", "--delta", "1e-6", "--values", "5")
    assert "20.0% before" in text and "83.4% after" in text
    assert "some mechanism reaches it" in text
    assert "inference" in text
    assert "ε = 0.5: 29.2%" in text
    assert "Verified" in text


def test_json_proof_and_page(tmp_path: Path) -> None:
    proof, page = tmp_path / "proof.json", tmp_path / "page.html"
    data = json.loads(
        run("--eps", "1", "--values", "3", "--json", "--proof", str(proof), "--report", str(page))
    )
    assert data["passed"] is True
    assert data["explanation"]["after"] == pytest.approx(sv.explain(eps=1, values=3).after)
    assert sv.verify(proof)
    html = page.read_text(encoding="utf-8")
    assert ">False alarms against misses</h2>" in html
    assert "57.6%" in html
    assert "<script>" in html and "http://" not in html.split("<body>")[1]


def test_other_claims() -> None:
    assert "59.9%" in run("--sigma", "2")
    assert "at most" in run("--rho", "0.1", "--values", "4")
    text = run("--eps", "0.5", "--releases", "10")
    assert "77.9% after 10 releases" in text and "adding up gives 5" in text
    assert "66.5% after" in run("--eps", "1", "--delta", "0.02", "--prior", "0.6,0.3,0.1")
    near = run("--eps", "2", "--within", "0.3", "--values", "4")
    assert "Belief in the centre itself grows at most 1.822 times" in near


def test_backwards() -> None:
    assert "ε ≤ 0.405465 guarantees" in run("--guess", "0.6")
    assert "σ ≥ 1.97358" in run("--guess", "0.6", "--solve", "sigma")
    assert "At most 26 releases: no mechanism" in run("--guess", "0.6", "--eps", "0.1")
    data = json.loads(run("--guess", "0.6", "--delta", "0.001", "--json"))
    assert data["name"] == "eps" and data["value"] < 0.405465
    assert "any ε" in run("--guess", "1")


def test_sentences_at_the_ends() -> None:
    """No table of certainties, no infinite ε in a list, no δ where there is none."""
    certain = run("--eps", "1", "--prior", "1,0")
    assert "certain already" in certain and "other strengths" not in certain
    assert "No finite ε follows" in run("--sigma", "0")
    assert "“ε = ∞”" in run("--eps", "inf")
    assert "Prop 21)" in run("--eps", "1")
    assert "false alarms in 1% of the cases they miss 97.3% of the true ones (in 5%: 86.4%" in run(
        "--eps", "1"
    )
    assert "ρ = 0.2: at most" in run("--rho", "0.1", "--prior", "0.7,0.3")
    assert "ε = 17.43 at δ = 1e-10" in run("--rho", "2.63", "--delta", "1e-10")


def test_backwards_leaves_a_page_and_a_proof(tmp_path: Path) -> None:
    proof, page = tmp_path / "proof.json", tmp_path / "page.html"
    text = run("--guess", "0.6", "--proof", str(proof), "--report", str(page))
    assert "ε ≤ 0.405465 guarantees" in text and "Report written" in text
    assert sv.verify(proof)
    assert "ε ≤ 0.405465 guarantees" in page.read_text(encoding="utf-8")
    run("--guess", "0.7", "--proof", str(proof), "--json", "--force")
    assert "at most 0.7000" in str(sv.verify(proof))


def test_backwards_for_a_file(tmp_path: Path) -> None:
    """The file says how often the data is released, what is believed, and what is claimed."""
    often = "[claim]\neps = 0.1\n[adversary]\nobservations = 10\nrecord_prior = [0.4, 0.4, 0.2]\n"
    path = scenario(tmp_path, often)
    found = json.loads(run(path, "--guess", "0.6", "--json"))
    same = sv.weakest_claim(0.6, prior=[0.4, 0.4, 0.2], releases=10)
    assert found["value"] == pytest.approx(same.value, rel=1e-9)
    assert found["value"] < sv.weakest_claim(0.6, values=3).value / 3
    found = json.loads(run(path, "--guess", "0.6", "--solve", "releases", "--json"))
    assert found["value"] == sv.weakest_claim(0.6, "releases", eps=0.1, prior=[0.4, 0.4, 0.2]).value
    found = json.loads(run(path, "--guess", "0.6", "--solve", "delta", "--json"))
    assert 0 < found["value"] < 0.1


def test_a_person_with_several_records_as_a_gate(tmp_path: Path) -> None:
    rest = "[claim]\neps = 0.5\n[accept]\neps = 1.0\n"
    policy = 'values = ["a", "b", "c"]\nrecords = 10\nperson_records = 4'
    text = run(scenario(tmp_path, rest, policy), code=1)
    assert "For all records of one person together this means ε = 2" in text
    assert "total ε for a person with 4 records after the release: at most 2" in text
    assert "Not acceptable" not in run(scenario(tmp_path, rest, policy.replace("4", "2")))


def test_options_change_what_a_file_claims(tmp_path: Path) -> None:
    path = scenario(tmp_path, "[claim]\neps = 1.0\ndelta = 1e-6\n")
    data = json.loads(run(path, "--delta", "0.1", "--json"))
    assert data["explanation"]["after"] == pytest.approx(sv.explain(eps=1, delta=0.1, values=3).after)


def test_bad_input() -> None:
    for arguments in (
        [],
        ["--eps", "1", "--delta", "2"],
        ["--eps", "1", "--prior", "0.5,x"],
        ["--eps", "1", "--prior", "0.5,0.6"],
        ["--guess", "0.1"],
        ["examples/census-count.toml", "--values", "3"],
        ["examples/census-count.toml", "--guess", "0.6", "--values", "3"],
        ["--eps", "1", "--solve", "rho"],
        ["--eps", "1", "--sensitivity", "3"],
        ["--guess", "0.6", "--within", "2"],
        ["--guess", "1", "--report", "page.html"],
    ):
        done = runner.invoke(app, ["explain", *arguments])
        assert isinstance(done.exception, SievertError), arguments


def scenario(tmp_path: Path, rest: str, policy: str = 'values = ["a", "b", "c"]') -> str:
    path = tmp_path / "claim.toml"
    path.write_text(f"version = 1\n[policy]\n{policy}\n{rest}", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("accept", "code"),
    [
        ("guess = 0.6", 0),
        ("guess = 0.5", 1),
        ("bits = 0.8", 0),
        ("bits = 0.7", 1),
        ("odds = 2.72", 0),
        ("odds = 2.7", 1),
        ("advantage = 0.25", 0),
        ("advantage = 0.24", 1),
        ("eps = 1.0", 0),
        ("eps = 0.9", 1),
        ("eps = 0.99\ndelta = 0.1", 0),
        ("eps = 0.9\ndelta = 1e-9", 1),
    ],
)
def test_a_claim_as_a_gate(tmp_path: Path, accept: str, code: int) -> None:
    text = run(scenario(tmp_path, f"[claim]\neps = 1.0\n[accept]\n{accept}\n"), code=code)
    assert ("EXCEEDS" in text) == (code == 1)
    assert ("Not acceptable" in text) == (code == 1)


@pytest.mark.parametrize(
    ("accept", "code"), [("advantage = 0.2", 0), ("advantage = 0.1", 1), ("odds = 3", 0), ("odds = 2", 1)]
)
def test_the_same_gate_in_an_audit(tmp_path: Path, accept: str, code: int) -> None:
    mechanism = '[mechanism]\nkind = "randomised-response"\nalpha = "1/2"\n'
    values = 'values = ["a", "b", "c"]' if "advantage" in accept else 'values = ["a", "b"]'
    if accept.startswith("odds"):
        mechanism = mechanism.replace("1/2", "2/5")
    path = scenario(tmp_path, f"{mechanism}[accept]\n{accept}\n", values)
    done = runner.invoke(app, ["audit", path])
    assert done.exit_code == code, done.output
    if code:
        assert "EXCEEDS the limit" in done.output


def test_total_epsilon_at_a_delta_in_an_audit(tmp_path: Path) -> None:
    """ε of the mechanism is 1; allowing δ = 0.1 it is less, and 30 releases compose."""
    mechanism = '[mechanism]\nkind = "randomised-response"\neps = 1.0\n'
    path = scenario(tmp_path, mechanism + "[accept]\neps = 0.9\ndelta = 0.1\n")
    assert runner.invoke(app, ["audit", path]).exit_code == 0
    path = scenario(tmp_path, mechanism + "[accept]\neps = 0.9\n")
    assert runner.invoke(app, ["audit", path]).exit_code == 1
    many = (
        mechanism.replace("1.0", "0.1")
        + "[adversary]\nobservations = 30\n[accept]\neps = 2.5\ndelta = 1e-3\n"
    )
    assert runner.invoke(app, ["audit", scenario(tmp_path, many)]).exit_code == 0
    assert runner.invoke(app, ["audit", scenario(tmp_path, many.replace("delta = 1e-3", ""))]).exit_code == 1


def test_files(tmp_path: Path) -> None:
    text = run("examples/census-count.toml", code=1)
    assert "NOT SHOWN to be within the limit 50.0%" in text
    assert "The mechanism of this file" in text and "sievert audit" in text
    assert "exact total" in text
    line = scenario(
        tmp_path, "[claim]\neps = 1\ndelta = 0.01\n", 'values = { range = [0, 4] }\nsecrets = "line"'
    )
    assert "57.4% after" in run(line)
    metric = scenario(
        tmp_path, "[claim]\neps = 1\n", 'values = { range = [0, 6] }\nsecrets = { metric = "line" }'
    )
    assert "within 2 of 3 (5 places)" in run(metric, "--within", "2", "--centre", "3")
    prior = "[claim]\neps = 1\n[adversary]\nrecord_prior = [0.6, 0.3, 0.1]\n"
    assert "60.0% before and 65.8% after" in run(scenario(tmp_path, prior))
    assert "51.4% after" in run(scenario(tmp_path, "[claim]\neps = 1\n"), "--eps", "0.75")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "neither"),
        ("[claim]\neps = 1\nrho = 1\n", "exactly one"),
        ("[claim]\ndelta = 0.1\n", "exactly one"),
        ("[claim]\nrho = 1\ndelta = 1.5\n", "claim.delta"),
        ("[claim]\neps = -1\n", "claim.eps"),
        ("[claim]\neps = 1\ndelta = 1.5\n", "claim.delta"),
        ("[accept]\ndelta = 0.1\n", "delta goes with eps"),
        ("[accept]\nodds = 0.5\n", "accept.odds"),
    ],
)
def test_mistakes_in_files(tmp_path: Path, table: str, message: str) -> None:
    done = runner.invoke(app, ["explain", scenario(tmp_path, table)])
    assert isinstance(done.exception, SievertError)
    assert message in str(done.exception)
