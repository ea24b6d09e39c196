"""Files that no honest writer makes are refused with a sentence, whatever they cost to write."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.proofs import load_proof, proof_from_dict, save_proof, verify
from sievert.proofs._reading import flag, floats, fraction, indices, parse_json, require_plain, whole


@pytest.fixture(scope="module")
def honest() -> dict[str, dict[str, Any]]:
    makers = {
        "guess": sv.explain(eps=1, values=3).certificate,
        "repeated": sv.explain(eps=0.5, releases=4, prior=[0.3, 0.7]).certificate,
        "composed": sv.explain(eps=0.5, releases=4, values=3).certificate,
        "worst": sv.worst_leakage(sv.graphs.cycle(5), 1).certificate,
        "design": sv.optimal_mechanism(sv.metrics.line(3), 1.0).certificate,
        "exact design": sv.optimal_mechanism(sv.metrics.line(3), alpha="1/2").certificate,
    }
    return {name: json.loads(save_proof(proof)) for name, proof in makers.items()}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested"),
        ("[" * 60 + "]" * 60, "nested"),
        ('{"a":' * 60 + "1" + "}" * 60, "nested"),
        ("[" + "9" * 100_000 + "]", "a whole number has 100000 digits"),
        ("[1e400]", "beyond the largest float"),
        ("[NaN]", "finite"),
        ("[-Infinity]", "finite"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": {"b": 1, "b": 1}}', "twice"),
        ("{", "Expecting"),
    ],
)
def test_json_is_read_strictly(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=why):
        parse_json(text)
    path = tmp_path / "proof.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=why):
        load_proof(path)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("guess", "eps", "1e1000000000"),
        ("guess", "eps", "1e400000"),
        ("guess", "eps", "1" * 100_000),
        ("guess", "eps", "1/" + "3" * 100_000),
        ("guess", "eps", "१"),
        ("guess", "eps", True),
        ("guess", "eps", float("nan")),
        ("guess", "delta", "-1/10"),
        ("guess", "values", 3.9),
        ("guess", "values", True),
        ("guess", "used", 1.5),
        ("repeated", "releases", 10**9),
        ("repeated", "releases", 4.0),
        ("composed", "releases", 10**9),
        ("worst", "copies", 1.5),
        ("worst", "space", {"size": 5.9, "edges": []}),
        ("worst", "space", {"size": 10**12, "edges": []}),
        ("worst", "space", {"size": 5, "edges": [[0, 1.5]]}),
        ("worst", "space", {"size": 5, "edges": [[0, -1]]}),
        ("worst", "space", {"size": 5, "edges": [], "metric": 1}),
        ("worst", "about", 7),
        ("design", "counts", [[0.5]]),
        ("design", "lower", "1e99999"),
        ("exact design", "alpha", "1/0"),
    ],
)
def test_numbers_are_read_strictly(honest: dict[str, Any], name: str, key: str, value: Any) -> None:
    with pytest.raises(FileError):
        proof_from_dict({**honest[name], key: value})


def test_large_powers_are_not_written_out(honest: dict[str, Any]) -> None:
    far = {**honest["exact design"]["space"], "lengths": [1e300, 1e300]}
    assert "digits" in str(proof_from_dict({**honest["exact design"], "space": far}).verify())
    many = {
        "format": "sievert proof 1",
        "kind": "refinement of families",
        "first": "randomised response",
        "second": "truncated geometric",
        "size": 10**9,
        "first_parameter": "1/2",
        "second_parameter": "1/2",
        "holds": False,
    }
    assert "too long" in str(proof_from_dict(many).verify())
    assert proof_from_dict({**many, "size": 50}).verify()


def test_noise_over_many_steps_is_compared_by_logarithms() -> None:
    steps = {"format": "sievert proof 1", "kind": "noise", "step_eps": None, "step_alpha": "999/1000"}
    assert "more noise" in str(proof_from_dict({**steps, "eps": "1", "moves": [[10**12, "1"]]}).verify())


def test_small_files_ask_for_little_memory(tmp_path: Path) -> None:
    """A few bytes that name ten million points, checked within a limit on memory."""
    content = {
        "format": "sievert proof 1",
        "kind": "worst leakage",
        "space": {"size": 10**7, "edges": []},
        "eps": "1",
        "upper": {"type": "dual", "y": [], "forward": [], "backward": []},
        "lower": None,
    }
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9,) * 2)\n"
        f"from sievert.proofs._base import verify; print(verify({str(path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("NOT verified")


def test_a_proof_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="regular file"):
        load_proof("/dev/zero")
    with pytest.raises(FileError):
        load_proof(tmp_path)
    with pytest.raises(FileError, match="cannot be read"):
        verify(tmp_path / "missing.json")
    with pytest.raises(FileError, match="cannot be read"):
        verify("a\0b")


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "proof.json"
    path.write_text("[" + "1," * 1000 + "1]", encoding="utf-8")
    monkeypatch.setattr("sievert.proofs._base.LARGEST_FILE", 1000)
    with pytest.raises(FileError, match="1,000 bytes"):
        load_proof(path)


def test_numbers_in_python_data_are_finite() -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        require_plain({"a": [float("nan")]})


def test_long_texts_are_not_converted() -> None:
    for text in ("1" * 5000, "1/" + "1" * 5000):
        with pytest.raises(ValueError, match="has more than 4300 digits"):
            fraction(text)


def test_scalars() -> None:
    assert (fraction("-3/4"), fraction("0.1"), fraction(0.5)) == (Fraction(-3, 4), Fraction(1, 10), 0.5)
    assert (whole("12"), whole(np.int64(3)), flag(True)) == (12, 3, True)
    for wrong in ("1.0", "１", "", "-1", None, 1.0, True, [1]):
        with pytest.raises(ValueError, match="whole number"):
            whole(wrong)
    with pytest.raises(ValueError, match="from 0 to 5"):
        whole(6, 0, 5)
    for wrong in (1, "true", None):
        with pytest.raises(ValueError, match="true or false"):
            flag(wrong)
    for wrong in (["1"], [True], [[1.0, float("inf")]], [None]):
        with pytest.raises(ValueError):
            floats(wrong)
    for wrong in ([0.0], [-1], ["0"], [True], [2**60]):
        with pytest.raises(ValueError):
            indices(wrong)
    assert floats([]).shape == indices([]).shape == (0,)


def test_content_that_is_not_plain_is_refused(honest: dict[str, Any]) -> None:
    for wrong in (object(), {1: 2}, {"a": {2, 3}}):
        with pytest.raises(FileError):
            proof_from_dict({**honest["guess"], "more": wrong})
    for kind in ("nothing", 3, ["guess"]):
        with pytest.raises(FileError, match="unknown"):
            proof_from_dict({**honest["guess"], "kind": kind})
    for content in ([], None, {**honest["guess"], "format": "sievert proof 9"}):
        with pytest.raises(FileError, match="not a proof"):
            proof_from_dict(content)
