"""A proof says which question it answers, and `sievert verify PROOF FILE` holds it to that."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import check_identity, digest_of
from sievert.proofs import load_proof, save_proof

POLICY = """
version = 1
title = "ages"
[policy]
values = { range = [0, 3] }
secrets = "line"
[mechanism]
kind = "geometric"
eps = 1.0
[use]
loss = "absolute"
"""


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "ages.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["limits", "design", "explain"])
def test_a_proof_is_about_the_file_it_was_made_from(scenario: Path, tmp_path: Path, command: str) -> None:
    proof, other = tmp_path / "proof.json", tmp_path / "other.toml"
    made = run(command, scenario, "--proof", proof)
    assert made.exit_code == 0, made.output
    assert run("verify", proof).exit_code == 0
    done = run("verify", proof, scenario)
    assert done.exit_code == 0 and str(scenario) in done.output.replace("\n", "")
    for old, new in (
        ("[0, 3]", "[0, 4]"),
        ('"line"', '"complete"'),
        ("eps = 1.0", "eps = 1.1"),
        ('"absolute"', '"squared"'),
    ):
        other.write_text(POLICY.replace(old, new), encoding="utf-8")
        done = run("verify", proof, other)
        assert done.exit_code == 1 and "not about" in done.output, done.output


def test_what_the_answer_does_not_rest_on_may_change(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    text = POLICY.replace('"ages"', '"others"') + "[accept]\nguess = 0.9\n"
    other.write_text(text.replace("[policy]", '[query]\nkind = "record"\n[policy]'), encoding="utf-8")
    assert digest_of(scenario) == digest_of(other)


def test_another_epsilon_on_the_command_line_is_another_question(scenario: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    assert run("limits", scenario, "--eps", "2", "--proof", proof).exit_code == 0
    done = run("verify", proof, scenario)
    assert done.exit_code == 0 and "asked with --eps 2.0" in done.output.replace("\n", " ")
    assert run("verify", proof, scenario, "--eps", "2").exit_code == 0
    assert run("verify", proof, scenario, "--eps", "1").exit_code == 1
    content = json.loads(proof.read_text(encoding="utf-8"))
    proof.write_text(json.dumps({**content, "options": {}}), encoding="utf-8")
    assert run("verify", proof, scenario).exit_code == 1


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("explain", "--releases 3"),
        ("explain", "--eps 0.5 --releases 2"),
        ("explain", "--eps 0.5 --within 1 --centre 2"),
        ("explain", "--guess 0.6"),
        ("explain", "--guess 0.9 --eps 0.1 --solve releases"),
        ("limits", "--eps 0.25"),
        ("design", "--eps 0.25"),
    ],
)
def test_a_proof_says_which_options_it_was_asked_with(tmp_path: Path, command: str, words: str) -> None:
    scenario, proof = tmp_path / "ages.toml", tmp_path / "proof.json"
    text = POLICY.replace('"line"', '{ metric = "line" }') if "within" in words else POLICY
    scenario.write_text(text, encoding="utf-8")
    made = run(command, scenario, *words.split(), "--proof", proof)
    assert made.exit_code == 0, made.output
    done = run("verify", proof, scenario)
    assert done.exit_code == 0, done.output
    assert all(word in done.output for word in words.split()[::2])
    scenario.write_text(text.replace("[0, 3]", "[0, 4]"), encoding="utf-8")
    assert run("verify", proof, scenario).exit_code == 1


@pytest.mark.parametrize("options", [[1], "eps", {"eps": [1]}, {"eps": None}])
def test_options_are_a_table_of_plain_values(scenario: Path, tmp_path: Path, options: Any) -> None:
    proof = tmp_path / "proof.json"
    run("limits", scenario, "--proof", proof)
    content = json.loads(proof.read_text(encoding="utf-8"))
    proof.write_text(json.dumps({**content, "options": options}), encoding="utf-8")
    assert isinstance(run("verify", proof, scenario).exception, FileError)


@pytest.mark.parametrize("options", [{"scenario": 1}, {"delta": 1e-6}, {"frob": "x"}])
def test_options_that_were_not_given_change_the_question(
    scenario: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    proof = tmp_path / "proof.json"
    run("limits", scenario, "--proof", proof)
    content = json.loads(proof.read_text(encoding="utf-8"))
    proof.write_text(json.dumps({**content, "options": options}), encoding="utf-8")
    done = run("verify", proof, scenario)
    assert done.exit_code == 1 and "NOT verified" in done.output


def test_a_proof_without_a_digest_does_not_pass(scenario: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    proof.write_text(save_proof(sv.worst_leakage(sv.graphs.path(4), 1).certificate), encoding="utf-8")
    assert run("verify", proof).exit_code == 0
    done = run("verify", proof, scenario)
    assert done.exit_code == 1 and "does not say" in done.output


def test_a_proof_that_fails_is_not_about_anything(scenario: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    run("limits", scenario, "--proof", proof)
    content = json.loads(proof.read_text(encoding="utf-8"))
    content["eps"] = "1/2"
    proof.write_text(json.dumps(content), encoding="utf-8")
    done = run("verify", proof, scenario)
    assert done.exit_code == 1 and "not private" in done.output


def test_files_that_are_named_count_by_their_contents(tmp_path: Path) -> None:
    path, prior = tmp_path / "survey.toml", tmp_path / "prior.csv"
    path.write_text(POLICY + '[adversary]\nprior = "prior.csv"\n', encoding="utf-8")
    prior.write_text("value,probability\n0,0.5\n", encoding="utf-8")
    before = digest_of(path)
    prior.write_text("value,probability\n0,0.6\n", encoding="utf-8")
    assert digest_of(path) != before


def test_a_value_that_happens_to_name_a_file_is_no_path(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('version = 1\npolicy = { values = ["a", "b"] }\n', encoding="utf-8")
    before = digest_of(path)
    (tmp_path / "a").write_text("anything", encoding="utf-8")
    assert digest_of(path) == before


def test_a_comparison_is_about_both_files_in_order(tmp_path: Path) -> None:
    first, second, proof = (tmp_path / name for name in ("a.csv", "b.csv", "proof.json"))
    sv.save(sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]]), first)
    sv.save(sv.Channel([["5/8", "3/8"], ["3/8", "5/8"]]), second)
    assert run("compare", first, second, "--proof", proof).exit_code == 0
    assert run("verify", proof, first, second).exit_code == 0
    assert run("verify", proof, second, first).exit_code == 1
    assert not check_identity(load_proof(proof), first)


def test_rows_left_out_and_the_order_of_columns_are_part_of_the_question(tmp_path: Path) -> None:
    """A proof that clamped rows keep ε says nothing about dropped ones, which move a sum further."""
    text = """
version = 1
[policy]
values = { product = [[1, 2], [10, 11, 12]] }
records = 4
[query]
kind = "sum"
of = "b"
[mechanism]
kind = "geometric"
alpha = "1/2"
[data]
input = "data.csv"
column = ["a", "b"]
[release]
ledger = "budget.toml"
unknown = "reject"
"""
    path, proof = tmp_path / "sum.toml", tmp_path / "proof.json"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "budget.toml").write_text("person = 30.0\n")
    made = run("release", path, "--preview", "--proof", proof)
    assert made.exit_code == 0, made.output
    assert run("verify", proof, path).exit_code == 0
    for old, new in (('"reject"', '"drop"'), ('["a", "b"]', '["b", "a"]')):
        path.write_text(text.replace(old, new), encoding="utf-8")
        done = run("verify", proof, path)
        assert done.exit_code == 1 and "not about" in done.output, done.output
