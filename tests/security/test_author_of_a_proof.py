"""The author of a proof: true proofs of other claims, relabelled, and forged ones."""

from __future__ import annotations

import base64
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.cli import main
from sievert.files import digest_of
from sievert.proofs import Verification, checker_path, proof_from_dict
from sievert.proofs._base import _kinds
from sievert.verification import check_about

sys.path.insert(0, str(Path(__file__).parents[1] / "proofs"))
from opinions import CHECKER
from test_every_check import BASES

Content = dict[str, Any]


def run(*words: object) -> int:
    """A command's exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def relabelled(content: Content, *paths: Path, **options: Any) -> Content:
    """The same claim, said to be about other files, asked with these options: what any author can write."""
    bare = {key: value for key, value in content.items() if key != "options"}
    return {**bare, "about": digest_of(*paths, **options), **({"options": options} if options else {})}


def checked(content: Content, *paths: Path, **options: Any) -> Verification:
    return check_about(proof_from_dict(json.loads(json.dumps(content))), *paths, **options)


# ── proofs about a file ─────────────────────────────────────────────────────────────────────────────

RECORDS = """version = 1
[policy]
values = { range = [0, 3] }
secrets = "line"
[query]
kind = "record"
[mechanism]
kind = "geometric"
eps = 1.0
[use]
loss = "absolute"
"""
COMPLETE = RECORDS.replace('"line"', '"complete"').replace("geometric", "randomised-response")
TABLE = RECORDS.replace('[query]\nkind = "record"', 'records = 3\n[query]\nkind = "histogram"').replace(
    '[use]\nloss = "absolute"\n', ""
)
ANY_TABLE = TABLE.replace('"line"', '"complete"')
GRID = [(a, b) for a in range(9) for b in range(7)]
EDGES = [
    [7 * a + b, 7 * c + d]
    for (a, b), (c, d) in itertools.combinations(GRID, 2)
    if abs(a - c) + abs(b - d) == 1
]
INFERENCE = """version = 1
[policy]
values = ["yes", "no"]
[query]
kind = "record"
[mechanism]
kind = "randomised-response"
eps = 1.0
[inference]
secret = "vote"
use = "answer"
table = "public.csv"
counts = "people"
public = true
"""
PUBLIC = "answer,vote,people\nyes,A,1\nyes,B,3\nno,A,4\nno,B,2\n"
MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 48.85, west = 2.30, north = 48.90, east = 2.36, cell = 100 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
"""
TEXTS = """version = 1
[documents]
input = "private.csv"
column = "text"
person = "who"
documents_per_person = 1
embedding = "table.npz"
scale = 1.0
references = ["one.txt", "two.txt"]
[mechanism]
kind = "word-exponential"
eps = 0.5
"""
VECTORS = """version = 1
[vectors]
input = "ratings.npz"
dimension = 60
hash = { kind = "minhash", bits = 8, seed = 7 }
distance = 0.05
delta = 0.001
[mechanism]
kind = "lsh-response"
eps = 2.0
"""
REPORTS = COMPLETE.replace('[use]\nloss = "absolute"\n', "")
Change = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A command, the file it is asked about, and changes of it that make its proof one about something else.

    `beside` are further files; a change that names one of them as NAME: changes that file.
    """

    command: str
    text: str
    changes: tuple[Change, ...]
    options: str = ""
    beside: dict[str, str] = field(default_factory=dict)


def changed(text: str, *changes: Change) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


EPS, VALUES, MORE = ("eps = 1.0", "eps = 2.0"), ("[0, 3]", "[0, 4]"), ("records = 3", "records = 4")
GRAPH = ('"line"', '"cycle"')
PRIOR = "[adversary]\nrecord_prior = [0.4, 0.3, 0.2, 0.1]\n"
OTHER_PRIOR = ("[0.4, 0.3, 0.2, 0.1]", "[0.3, 0.4, 0.2, 0.1]")
OWNED: Change = ("records = 3", "records = 3\nperson_records = 2")
MOVED: Change = ("records = 3", 'records = 3\nadjacency = "add-remove"')
AGAIN = "[adversary]\nobservations = 4\n"
FEWER: Change = ("observations = 4", "observations = 3")
ABSOLUTE: Change = ('"absolute"', '"squared"')
CASES: dict[str, Case] = {
    "worst leakage": Case("limits", TABLE, (EPS, VALUES, MORE, GRAPH)),
    "worst leakage asked with --eps": Case("limits", TABLE, (VALUES, MORE, GRAPH), "--eps 0.25"),
    "worst leakage of a product": Case(
        "limits",
        changed(TABLE, ("[0, 3]", "[0, 62]"), ('"line"', f"{{ edges = {EDGES} }}")),
        (EPS, MORE, ("[[0, 1], ", "[[0, 8], ")),
    ),
    "worst leakage in closed form": Case(
        "limits",
        changed(TABLE, ("[0, 3]", "[0, 4999]")),
        (EPS, MORE, ("[0, 4999]", "[0, 5000]"), ('"line"', '"complete"')),
    ),
    "worst leakage of a map": Case("limits", MAP, (("0.01", "0.02"), ("cell = 100", "cell = 90"))),
    "worst of groups": Case(
        "explain",
        changed(
            TABLE,
            ('"line"', "{ threshold = 2 }"),
            ("records = 3", "records = 3\npermitted = { counts = { 0 = 1 } }"),
        ),
        (EPS, MORE, ("threshold = 2", "threshold = 1"), ("0 = 1", "0 = 2")),
    ),
    "guess under a claim": Case("explain", ANY_TABLE, (EPS, VALUES, OWNED)),
    "guess under a claim, a prior": Case("explain", ANY_TABLE + PRIOR, (EPS, OTHER_PRIOR, OWNED)),
    "worst leakage, a prior": Case("explain", TABLE + PRIOR, (EPS, OTHER_PRIOR, GRAPH, OWNED)),
    "guess after several releases": Case("explain", COMPLETE + AGAIN, (EPS, VALUES, FEWER)),
    "guess after several releases, --releases": Case("explain", COMPLETE, (EPS, VALUES), "--releases 5"),
    "repeated guess between two values": Case(
        "explain", changed(COMPLETE, ("[0, 3]", "[0, 1]")) + AGAIN, (EPS, FEWER, ("[0, 1]", "[0, 2]"))
    ),
    "guess under a divergence": Case(
        "explain", ANY_TABLE + "[claim]\nrho = 0.1\n", (VALUES, ("rho = 0.1", "rho = 0.2"), OWNED)
    ),
    "guess under a divergence, --rho": Case("explain", ANY_TABLE, (VALUES, OWNED), "--rho 0.1"),
    "guess through Gaussian noise": Case(
        "explain", ANY_TABLE, (VALUES, OWNED), "--sigma 1.5 --sensitivity 1"
    ),
    "approximate worst guess": Case(
        "explain",
        TABLE + "[claim]\neps = 0.5\ndelta = 0.01\n",
        (("eps = 0.5", "eps = 2.0"), ("0.01", "0.02"), VALUES, GRAPH),
    ),
    "guess under a claim, backwards": Case("explain", ANY_TABLE, (VALUES,), "--guess 0.6"),
    "guess under a claim, for an accuracy": Case("explain", ANY_TABLE, (VALUES,), "--accuracy 3"),
    "optimal design": Case("design", RECORDS, (EPS, VALUES, GRAPH, ABSOLUTE)),
    "optimal design, a prior": Case(
        "design",
        changed(RECORDS, ("[use]", "[use]\nprior = [0.4, 0.3, 0.2, 0.1]")),
        (EPS, GRAPH, ABSOLUTE, OTHER_PRIOR),
    ),
    "exact optimal design": Case(
        "design",
        changed(RECORDS, ("eps = 1.0", 'alpha = "1/2"')),
        (('"1/2"', '"1/3"'), VALUES, GRAPH, ABSOLUTE),
    ),
    "least regret": Case(
        "design",
        changed(
            RECORDS,
            ("[use]", '[use]\nprior = "unknown"'),
            ("eps = 1.0", 'alpha = "1/2"'),
            GRAPH,
            ('"geometric"', '"exponential"'),
        ),
        (('"1/2"', '"1/3"'), ("[0, 3]", "[0, 2]")),
    ),
    "universal optimality by theorem": Case(
        "design",
        changed(RECORDS, ("[use]", '[use]\nprior = "unknown"'), ("eps = 1.0", 'alpha = "1/2"')),
        (('"1/2"', '"1/3"'), VALUES, ABSOLUTE),
    ),
    "noise": Case("audit", ANY_TABLE, (EPS, ("eps = 1.0", 'alpha = "1/2"'), ("histogram", "sum"), MOVED)),
    "noise of several tables": Case(
        "audit",
        changed(
            ANY_TABLE,
            ("[query]\nkind", '[[query]]\nname = "one"\nkind'),
            ("[mechanism]", '[[query]]\nname = "two"\nkind = "sum"\n[mechanism]'),
        ),
        (EPS, ('"sum"', '"count"\nwhere = [1, 2]'), MOVED),
    ),
    "Gaussian noise": Case(
        "audit",
        changed(ANY_TABLE, ('"geometric"\neps = 1.0', '"gaussian"\nsigma = 2.0')),
        (("sigma = 2.0", "sigma = 3.0"), ("histogram", "sum"), MOVED),
    ),
    "released mechanism": Case(
        "audit",
        changed(RECORDS, ('"geometric"\neps', '"truncated-geometric"\neps')),
        (EPS, VALUES, ('"truncated-geometric"', '"randomised-response"')),
    ),
    "staircase noise": Case(
        "design",
        changed(TABLE, ('"line"', "{ threshold = 3 }"), ("histogram", "sum"), ("[0, 3]", "[0, 40]")),
        (EPS, ("threshold = 3", "threshold = 2")),
    ),
    "inference frontier": Case(
        "infer",
        INFERENCE,
        (EPS, ("public.csv:A,4", "A,5"), ('["yes", "no"]', '["no", "yes"]')),
        beside={"public.csv": PUBLIC},
    ),
    "likelihood": Case(
        "estimate",
        REPORTS + '[estimate]\nreports = "reports.csv"\n',
        (EPS, ("reports.csv:3\n3", "3\n2"), VALUES),
        beside={"reports.csv": "report\n" + "0\n1\n1\n2\n" * 9 + "3\n3\n"},
    ),
    "likelihood, of reports that are named": Case(
        "estimate",
        REPORTS,
        (EPS, ("reports.csv:3\n3", "3\n2"), VALUES),
        "--reports reports.csv",
        beside={"reports.csv": "report\n" + "0\n1\n1\n2\n" * 9 + "3\n3\n"},
    ),
    "documents": Case("audit", TEXTS, (("eps = 0.5", "eps = 0.6"), ("one.txt:seaa", "seab"))),
    "documents, --releases": Case(
        "explain", TEXTS, (("eps = 0.5", "eps = 0.6"), ("one.txt:seaa", "seab")), "--releases 3"
    ),
    "optimal design, of words": Case("design", TEXTS, (("eps = 0.5", "eps = 0.6"),)),
    "codes": Case(
        "audit",
        VECTORS,
        (
            ("eps = 2.0", "eps = 1.0"),
            ("bits = 8", "bits = 9"),
            ("distance = 0.05", "distance = 0.1"),
            ("delta = 0.001", "delta = 0.002"),
        ),
    ),
    "codes, --releases": Case("explain", VECTORS, (("eps = 2.0", "eps = 1.0"),), "--releases 3"),
}


def written(folder: Path, case: Case) -> Path:
    """The file of a case and what lies beside it."""
    folder.mkdir(exist_ok=True)
    path = folder / "file.toml"
    path.write_text(case.text, encoding="utf-8")
    for name, text in case.beside.items():
        (folder / name).write_text(text, encoding="utf-8")
    if case.text is TEXTS:
        rng = np.random.default_rng(5)
        words = [f"{a}{b}" for a in ("sea", "car", "sky") for b in "abcdefghij"]
        np.savez(folder / "table.npz", words=np.array(words), vectors=rng.standard_normal((30, 3)))
        (folder / "one.txt").write_text("seaa seab cara")
        (folder / "two.txt").write_text("carc skya skyb")
    return path


@functools.cache
def made(folder: Path, name: str) -> tuple[Path, Content]:
    """The proof that a command writes about the file of a case."""
    case = CASES[name]
    path = written(folder / name.replace(" ", "-"), case)
    proof = path.with_name("proof.json")
    words = [str(path.with_name(word)) if word == "reports.csv" else word for word in case.options.split()]
    more = ["--output", path.with_name("best.toml")] if case.command == "design" else []
    assert run(case.command, path, *words, *more, "--proof", proof) in (0, 1)
    return path, json.loads(proof.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proofs")


@pytest.mark.parametrize("name", CASES)
def test_a_true_proof_of_another_file_is_not_verified_under_a_new_label(folder: Path, name: str) -> None:
    case = CASES[name]
    path, content = made(folder, name)
    assert content["kind"] == name.partition(",")[0].removesuffix(" asked with --eps")
    honest = checked(content, path)
    assert honest.holds and honest.about.startswith(str(path)), str(honest)
    for number, (old, new) in enumerate(case.changes):
        beside, _, text = old.rpartition(":")
        other = written(folder / f"{name.replace(' ', '-')}-{number}", case)
        target = other.with_name(beside) if beside else other
        target.write_text(changed(target.read_text(encoding="utf-8"), (text, new)), encoding="utf-8")
        for options in ({}, {"released": True}, content.get("options", {})):
            forged = checked(relabelled(content, other, **options), other)
            assert not forged.holds, (old, new, options, str(forged))
            assert forged.unchecked or "is not about what that says" in str(forged), (old, new, str(forged))
        if case.options and "--reports" not in case.options:
            bare = checked(relabelled(content, path), path)
            assert not bare.holds, str(bare)


A = [["3/4", "1/4"], ["1/4", "3/4"]]
B = [["5/8", "3/8"], ["3/8", "5/8"]]
OTHER = [["9/16", "7/16"], ["3/8", "5/8"]]
RESPONSES = changed(COMPLETE, ("eps = 1.0", 'alpha = "1/3"'), ("[0, 3]", "[0, 399]"))
CHANNELS: dict[str, tuple[Any, Any, Any]] = {
    "refinement": (A, B, OTHER),
    "objecting adversary": (B, A, OTHER),
    "refinement of families": (
        RESPONSES,
        changed(RESPONSES, ('"1/3"', '"1/2"')),
        changed(RESPONSES, ('"1/3"', '"2/3"')),
    ),
    "order of noise": (ANY_TABLE, changed(ANY_TABLE, ("1.0", "0.5")), changed(ANY_TABLE, ("1.0", "0.25"))),
}


def channel(path: Path, given: Any) -> Path:
    """A channel or a file, as it is given."""
    if isinstance(given, str):
        path.with_suffix(".toml").write_text(given, encoding="utf-8")
        return path.with_suffix(".toml")
    sv.save(sv.Channel(given), path.with_suffix(".csv"))
    return path.with_suffix(".csv")


@pytest.mark.parametrize("kind", CHANNELS)
def test_a_comparison_of_other_mechanisms_is_not_verified(tmp_path: Path, kind: str) -> None:
    given = zip("abc", CHANNELS[kind], strict=True)
    first, second, third = (channel(tmp_path / name, one) for name, one in given)
    proof = tmp_path / "proof.json"
    assert run("compare", first, second, "--proof", proof) in (0, 1)
    content = json.loads(proof.read_text(encoding="utf-8"))
    assert content["kind"] == kind
    assert checked(content, first, second).holds
    for pair in ((second, first), (first, third), (third, second), (first, first)):
        forged = checked(relabelled(content, *pair), *pair)
        assert not forged.holds and not forged.unchecked, str(forged)
    alone = checked(relabelled(content, first), first)
    assert not alone.holds, str(alone)


def test_runs_that_show_less_are_not_verified(tmp_path: Path) -> None:
    """Another table of runs, another seed, another confidence; a split that nobody names is not checked."""
    draw, paths = np.random.default_rng(1), []
    for name, scale in (("leaky", 0.5), ("quiet", 0.8)):
        paths.append(tmp_path / f"{name}.csv")
        secret = draw.integers(0, 2, 4000)
        noisy = secret + draw.laplace(0, scale, 4000)
        rows = "".join(f"{x},{y:.6f}\n" for x, y in zip(secret, noisy, strict=True))
        paths[-1].write_text("input,output\n" + rows)
    leaky, quiet, proof = *paths, tmp_path / "proof.json"
    assert run("audit", "--samples", leaky, "--eps", "0.5", "--proof", proof) == 1
    content = json.loads(proof.read_text(encoding="utf-8"))
    options = content["options"]
    assert checked(content, leaky).holds
    assert run("verify", proof, leaky) == 0 and run("verify", proof, quiet) == 1
    for path, told in (
        (quiet, options),
        (leaky, {**options, "seed": options["seed"] + 1}),
        (leaky, {**options, "confidence": 0.5}),
        (leaky, {**options, "delta": 0.1}),
    ):
        forged = checked(relabelled(content, path, **told), path)
        assert not forged.holds and not forged.unchecked, str(forged)
    split = checked(relabelled(content, leaky), leaky)
    assert split.unchecked and "seed" in str(split)
    (tmp_path / "claim.toml").write_text(changed(COMPLETE, ("[0, 3]", "[0, 1]")))
    both = tmp_path / "claim.toml", leaky
    assert run("audit", both[0], "--samples", leaky, "--seed", 3, "--proof", proof, "--force") in (0, 1)
    assert run("verify", proof, *both) == 0 and run("verify", proof, leaky) == 1


SUBJECTS = ("policy", "table", "map", "documents", "vectors", "two files", "runs")


@pytest.fixture(scope="module")
def subjects(folder: Path) -> dict[str, tuple[Path, ...]]:
    """A file of every sort that a proof may be labelled for."""
    texts = {
        "policy": RECORDS,
        "table": changed(TABLE, EPS),
        "map": MAP,
        "documents": TEXTS,
        "vectors": VECTORS,
    }
    found = {
        name: (written(folder / f"of-{name}", Case("limits", text, ())),) for name, text in texts.items()
    }
    pair = tuple(channel(folder / name, rows) for name, rows in (("first", A), ("second", B)))
    runs = folder / "runs.csv"
    runs.write_text("input,output\n" + "a,x\nb,y\n" * 40)
    return {**found, "two files": pair, "runs": (runs,)}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_kind_of_proof_is_verified_for_a_file_that_it_is_not_about(
    subjects: dict[str, tuple[Path, ...]], subject: str
) -> None:
    """True proofs by hand of all kinds, labelled for a file: each is about something else, or not checked."""
    paths, kinds = subjects[subject], set()
    for name, base in BASES.items():
        content = base()
        kinds.add(content["kind"])
        options = {"seed": 1} if subject == "runs" else {}
        forged = checked(relabelled(content, *paths, **options), *paths)
        assert not forged.holds, (name, str(forged))
        assert content["kind"] in CHECKED or forged.unchecked, (name, str(forged))
    assert kinds == set(_kinds())


# What commands write about files; a proof of any other kind is labelled for one by its author alone.
CHECKED = {
    *(name.partition(",")[0].removesuffix(" asked with --eps") for name in CASES),
    *CHANNELS,
    "block sizes",
    "partitions",
    "leak in runs",
    "universal optimality",
    "universal optimality of blocks",
}


def test_the_verdict_and_the_exit_code_say_which_of_three_it_is(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, content = made(folder, "worst leakage")
    proof, other = tmp_path / "proof.json", tmp_path / "other.toml"
    other.write_text(changed(TABLE, EPS))
    transport = BASES["transport"]()
    for told, file, code, words in (
        (content, path, 0, "verified: about"),
        (
            relabelled(content, other),
            other,
            1,
            'NOT verified: the proof is labelled for .* its eps is "1", that of the file "2"',
        ),
        (relabelled(transport, path), path, 3, "not checked: the proof holds, and its author labels it for"),
        (
            relabelled(content, path, eps=1),
            path,
            0,
            r"asked with --eps 1 \(the file itself says ε = 1, observations = 1\)",
        ),
    ):
        proof.write_text(json.dumps(told))
        capsys.readouterr()
        assert run("verify", proof, file) == code
        assert re.search(words, " ".join(capsys.readouterr().out.split())), words
    proof.write_text(json.dumps(relabelled(transport, path)))
    assert run("verify", proof, path, "--json") == 3
    assert "no command writes" in json.loads(capsys.readouterr().out)["unchecked"]
    assert run("verify", proof) == 0
    assert "It was compared with no file" in " ".join(capsys.readouterr().out.split())


def test_options_are_compared_and_never_believed(folder: Path) -> None:
    """An option that is added, left out or of another type makes no other claim pass."""
    path, content = made(folder, "worst leakage asked with --eps")
    assert content["options"] == {"eps": 0.25} and checked(content, path).holds
    assert not checked(relabelled(content, path), path).holds
    assert not checked(relabelled(content, path, eps=0.5), path).holds
    assert not checked(content, path, eps=1.0).holds and checked(content, path, eps=0.25).holds
    for options in (
        {"eps": "0.25"},
        {"eps": True},
        {"eps": 0.25, "releases": 1.5},
        {"eps": 0.25, "seed": 10**400},
        {"eps": -1.0},
        {"eps": 1e308},
        {"eps": 0.25, "guess": 0.5},
        {"eps": 0.25, "accuracy": -3},
        {"eps": 0.25, "centre": "\x1b[2J"},
        {"eps": 0.25, "releases": 10**18},
        {"eps": 0.25, "of": "nothing"},
        {"eps": 0.25, "within": 1e400},
        {"frob": 1},
    ):
        try:
            forged = checked(relabelled(content, path, **options), path)
        except (sv.SievertError, ValueError):
            continue
        assert not forged.holds and "\x1b" not in str(forged), (options, str(forged))


def test_a_claim_of_which_a_metric_keeps_no_delta_is_not_verified_without_it(tmp_path: Path) -> None:
    """The nearest pairs were rebuilt from ε alone, so that a smaller guess than the claim allows passed."""
    text = TABLE.replace('secrets = "line"', 'secrets = { metric = "line" }').replace("= 1.0", "= 0.5")
    text += "[adversary]\nobservations = 2\nrecord_prior = [0.5, 0.25, 0.125, 0.125]\n[claim]\neps = 0.5\n"
    pure, lost, proof = (tmp_path / name for name in ("pure.toml", "lost.toml", "proof.json"))
    pure.write_text(text)
    lost.write_text(f"{text}delta = 0.01\n")
    assert run("explain", pure, "--proof", proof) == 0 and run("verify", proof, pure) == 0
    assert not checked(relabelled(json.loads(proof.read_text()), lost), lost).holds


def test_an_option_beyond_all_sums_is_a_question_like_any_other(folder: Path, tmp_path: Path) -> None:
    """Formerly ε·4999 overflowed: "this is a mistake of Sievert", with the exit code of "not checked"."""
    path, content = made(folder, "worst leakage in closed form")
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(relabelled(content, path, eps=1e308)))
    assert run("verify", proof, path) == 1
    assert run("limits", path, "--eps", "1e300", "--proof", proof, "--force") == 0
    assert run("verify", proof, path) == 0


@pytest.mark.parametrize("eps", [5e-324, 1e-308, 1e-306, -1.0])
def test_an_option_whose_noise_is_no_float_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], eps: float
) -> None:
    """Formerly "this is a mistake of Sievert", with the exit code of "not checked"."""
    path, content = made(folder, "noise")
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(relabelled(content, path, eps=eps)))
    capsys.readouterr()
    assert run("verify", proof, path) == 3
    told = capsys.readouterr()
    assert not told.err and "for an ε from 1e-100 to 1e100" in " ".join(told.out.split())


@pytest.mark.parametrize("eps", [10**400, -(10**400), 10**4299], ids=["large", "negative", "longest"])
def test_a_whole_number_beyond_all_floats_is_no_option(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], eps: int
) -> None:
    path, content = made(folder, "noise")
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(relabelled(content, path, eps=eps)))
    capsys.readouterr()
    assert run("verify", proof, path) == 1
    told = capsys.readouterr()
    assert not told.err and "no command has the option eps = " in " ".join(told.out.split())


def slow_documents() -> Content:
    """Half a megabyte that takes hours: unrelated denominators are added up, for every way again."""
    far = [[f"1/{10**3999 + 2 * k + 1}" for k in range(start, start + 30)] for start in (0, 30)]
    ways = [[0, 1, 1]] * 500
    return {**BASES["documents"](), "vectors": far, "bags": [[[0, 500]], [[1, 500]]], "plans": [ways]}


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is not limited there")
@pytest.mark.parametrize(
    "what", ["numbers", "a question that is solved backwards", "known before it is begun"]
)
def test_a_check_ends_when_its_time_is_over(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """Neither the numbers of a proof nor its options hold `sievert verify` longer than it may take."""
    path, content = made(folder, "guess under a claim, backwards")
    told = slow_documents() if what == "numbers" else content
    if what.startswith("a question"):
        told = relabelled(content, path, guess=0.6, eps=5e-324)
    proof, allowed = tmp_path / "proof.json", "1e-6" if what.startswith("known") else "0.4"
    proof.write_text(json.dumps(told))
    files = [] if what == "numbers" else [path]
    capsys.readouterr()
    begun = time.process_time()
    assert run("verify", proof, *files, "--seconds", allowed) == 3
    assert time.process_time() - begun < 10
    told_us = " ".join(capsys.readouterr().out.split())
    assert (
        told_us
        == f"not checked: {proof}: the check takes more than {float(allowed):g} s; allow more with --seconds"
    )
    assert run("verify", proof, *files, "--seconds", allowed, "--json") == 3
    assert "takes more than" in json.loads(capsys.readouterr().out)["unchecked"]
    for seconds in ("0", "-1"):
        assert run("verify", proof, "--seconds", seconds) == 2


WEAKER = {
    "noise of a table": ("audit", changed(ANY_TABLE, ("1.0", "0.01")), ANY_TABLE, ""),
    "noise, where a file has Gaussian noise": (
        "audit",
        changed(ANY_TABLE, ("1.0", "0.01")),
        changed(ANY_TABLE, ('"geometric"\neps = 1.0', '"gaussian"\nsigma = 0.1')),
        "",
    ),
    "documents": ("explain", TEXTS, TEXTS, "--eps 0.01"),
    "codes": ("explain", VECTORS, VECTORS, "--eps 0.01"),
}


@pytest.mark.parametrize("name", WEAKER)
def test_a_mechanism_at_a_level_that_its_author_chose_is_not_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The option eps = 0.01 makes no noise of ε = 0.01 that of a file that says another."""
    command, source, text, words = WEAKER[name]
    proof = tmp_path / "proof.json"
    made_from = written(tmp_path / "source", Case(command, source, ()))
    path = written(tmp_path / "file", Case(command, text, ()))
    assert run(command, made_from, *words.split(), "--proof", proof) in (0, 1)
    told = "".join(capsys.readouterr().out.split())
    assert f"{proof}{made_from}{words.replace(' ', '')}" in told, (
        "the command to check it asks for its options"
    )
    content = json.loads(proof.read_text(encoding="utf-8"))
    proof.write_text(json.dumps(relabelled(content, path, eps=0.01)))
    forged = checked(json.loads(proof.read_text()), path)
    assert not forged.holds and forged.unchecked, str(forged)
    assert "another mechanism" in str(forged) and "the file itself says" in str(forged)
    assert run("verify", proof, path) == 3
    assert run("verify", proof, path, "--eps", "0.01") == 0
    assert "asked with --eps 0.01" in checked(json.loads(proof.read_text()), path, eps=0.01).about
    assert run("verify", proof, path, "--eps", "0.01", "--no-options") == 1


def test_the_verdict_says_what_the_file_itself_claims(tmp_path: Path) -> None:
    """Not the ε of its mechanism where [claim] says another thing, and not nothing where noise keeps no ε."""
    proof, path = tmp_path / "proof.json", tmp_path / "file.toml"
    for text, said in (
        (ANY_TABLE + "[claim]\nrho = 5\n", "the file itself says ρ = 5"),
        (WEAKER["noise, where a file has Gaussian noise"][2], "kind = 'gaussian', sigma = 0.1"),
    ):
        path.write_text(text)
        assert run("explain", path, "--eps", "0.01", "--proof", proof, "--force") == 0
        found = checked(json.loads(proof.read_text()), path)
        assert found.holds and said in str(found), str(found)
        assert not checked(json.loads(proof.read_text()), path, no_options=True).holds
    assert run("explain", path, "--rho", "0.1", "--proof", proof, "--force") == 0
    assert run("verify", proof, path) == 0 and run("verify", proof, path, "--no-options") == 1


def test_a_proof_names_no_file_to_read_but_reports_beside_the_scenario(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, content = made(folder, "likelihood, of reports that are named")
    assert content["options"] == {"reports": "reports.csv"} and checked(content, path).holds
    os.mkfifo(path.with_name("pipe.csv"))
    (tmp_path / "elsewhere.csv").write_text("report\n0\n")
    path.with_name("link.csv").symlink_to(tmp_path / "elsewhere.csv")
    for name in (
        "../elsewhere.csv",
        str(tmp_path / "elsewhere.csv"),
        "pipe.csv",
        "link.csv",
        "/dev/stdin",
        "none",
        ".",
        "\0",
    ):
        forged = checked(relabelled(content, path, reports=name), path)
        assert not forged.holds and forged.unchecked, (name, str(forged))
    path.with_name("circle.csv").symlink_to("circle.csv")
    for name in ("circle.csv", "\ud800", "a" * 5000, "a/" * 5000):
        proof = tmp_path / "proof.json"
        proof.write_text(json.dumps(relabelled(content, path, reports=name)))
        capsys.readouterr()
        assert run("verify", proof, path) == 3, name
        assert "only a file in the folder of" in " ".join(capsys.readouterr().out.split()), name
    private = path.with_name("private.csv")
    private.write_text("report\n" + "0\n" * 7 + "3\n" * 12345)
    forged = checked(relabelled(content, path, reports="private.csv"), path)
    assert not forged.holds and "12345" not in str(forged)


# ── proofs alone ────────────────────────────────────────────────────────────────────────────────────


TWICE = ("eps", "about", "kind", "options", "space", "lower")


@pytest.mark.parametrize("key", TWICE)
def test_a_key_that_stands_twice_is_refused_by_both_checkers(folder: Path, tmp_path: Path, key: str) -> None:
    """One checker might take the first and the other the last."""
    path, content = made(folder, "worst leakage asked with --eps")
    text = json.dumps(content)
    twice = text.replace(f'"{key}": ', f'"{key}": 0, "{key}": ', 1)
    assert twice != text
    proof = tmp_path / "proof.json"
    proof.write_text(twice)
    assert run("verify", proof, path) == 2
    alone = subprocess.run(
        [sys.executable, str(checker_path()), str(proof)], capture_output=True, text=True, check=False
    )
    assert alone.returncode == 2 and "twice" in alone.stdout


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "1" + "0" * 5000,
        '"1e999999999"',
        '"\\u0661"',
        "[" * 60 + "]" * 60,
    ],
)
def test_a_number_that_is_none_is_refused_by_both_checkers(folder: Path, tmp_path: Path, value: str) -> None:
    path, content = made(folder, "worst leakage asked with --eps")
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps({**content, "eps": "EPS"}).replace('"EPS"', value))
    assert run("verify", proof, path) in (1, 2)
    alone = subprocess.run(
        [sys.executable, str(checker_path()), str(proof)], capture_output=True, text=True, check=False
    )
    assert alone.returncode in (1, 2) and "Traceback" not in alone.stdout + alone.stderr


# A number of the claim just beside a round one, which the sentence may not say instead of it.
BESIDE: dict[str, tuple[Content, str]] = {
    "noisy codes": ({"eps": "0.99999999"}, "ε = 1,"),
    "documents": ({"eps": "0.49999999"}, "is 0.5·d"),
    "divergence": ({"rho": "0.09999999", "divergence": "0.19999998"}, "ρ = 0.1 the"),
    "one order": ({"order": "1.49999999"}, "order 1.5 the"),
    "Gaussian": ({"mu": "0.9999999999", "lower": "0.546", "upper": "0.547"}, "most 1 standard"),
    "leakage design": ({"budget": 0.50000000000003}, "most 0.5;"),
    "additive": ({"upper": "0.50000000000001"}, "more than 0.5 on"),
    "runs": (
        {"confidence": "0.999999997", "eps": "1/5", "delta": "0", "low": "0.5", "high": "0.4"},
        "with 100% confidence",
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_no_sentence_rounds_a_claim_to_another_one(name: str) -> None:
    """Formerly six digits were shown: "with 100% confidence", or ε = 1 for what is proved at 0.99999999."""
    changes, words = BESIDE[name]
    content = BASES[name]()
    for key, value in changes.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    found = proof_from_dict(content).verify()
    assert found.holds, found
    assert words not in found.statement, found.statement
    assert "100 times in" not in found.meaning and " 0 times in" not in found.meaning
    verdict, statement, *_ = CHECKER.check(content)
    assert verdict and words not in statement and "100% confidence" not in statement, statement


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x1b[31mverified", "a\u202eb", "\r\nverified: about", "sha256:\u0430"]
)
def test_what_a_proof_calls_itself_steers_no_terminal(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path, content = made(folder, "worst leakage")
    proof = tmp_path / "proof.json"
    for told in (
        {**content, "about": text},
        {**relabelled(content, path), "options": {text: 1}},
        {**relabelled(content, path), "options": {"centre": text}},
        {**content, "labels": [text] * 4, "meaning": text, "statement": text},
    ):
        proof.write_text(json.dumps(told))
        capsys.readouterr()
        assert run("verify", proof, path) == 1
        shown = capsys.readouterr()
        assert not any(letter in shown.out + shown.err for letter in "\x1b\u202e\r")
        assert "\nverified" not in shown.out


@pytest.mark.parametrize("text", ["\x1b[2J\nverified in 0.00 s: all", "a\u202eb\r", "\ud800", "x" * 10**6])
def test_what_a_proof_holds_steers_no_terminal_of_the_other_checker(
    folder: Path, tmp_path: Path, text: str
) -> None:
    """Its label, an entry that is refused, and the name of its file, plain and as JSON; none ends the run."""
    _, content = made(folder, "worst leakage")
    edges = {**content["space"], "edges": [[text, 0]]}
    for number, (told, code) in enumerate(
        (({**content, "about": text}, 0), ({**content, "space": edges}, 1))
    ):
        proof = tmp_path / f"{number}{text[:20]}.json" if text != "\ud800" else tmp_path / "proof.json"
        proof.write_text(json.dumps(told), encoding="utf-8")
        for words in ([], ["--json"]):
            done = subprocess.run(
                [sys.executable, str(checker_path()), str(proof), *words], capture_output=True, check=False
            )
            shown = done.stdout.decode("utf-8")
            assert done.returncode == code and not done.stderr, done.stderr
            assert (
                not any(letter in shown for letter in "\x1b\u202e\r")
                and "\nverified in 0.00 s: all" not in shown
            )
            assert words or len(shown) < 2000
            assert not words or json.loads(shown)["holds"] == (code == 0)


def test_a_page_says_that_its_proof_is_its_authors(folder: Path, tmp_path: Path) -> None:
    """The proof in a page is the one that `--proof` saves; the page tells how to compare it with the file."""
    path, content = made(folder, "worst leakage")
    page = tmp_path / "page.html"
    assert run("limits", path, "--report", page) == 0
    text = page.read_text(encoding="utf-8")
    carried = re.search(r'<a download="proof.json" href="data:application/json;base64,([^"]+)">', text)
    assert carried is not None
    assert json.loads(base64.b64decode(carried[1])) == content
    assert "knows no file" in text and "compares it with the file" in text


@pytest.mark.parametrize("older", [False, True])
def test_a_proof_that_is_not_made_is_said_in_the_exit_code(
    tmp_path: Path, older: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """No answer without a certificate leaves an older proof in silence."""
    proof, path = tmp_path / "proof.json", tmp_path / "file.toml"
    words = ["--force"] if older else []
    for command, text, code, said in (
        ("limits", TEXTS, 3, "There is no certificate to save"),
        ("limits", VECTORS, 3, "There is no certificate to save"),
        ("estimate", TABLE, 2, "--proof: only reports that are counted one by one"),
    ):
        written(tmp_path, Case(command, text, ()))
        if older:
            proof.write_text("{}")
        for form in ([], ["--json"]):
            capsys.readouterr()
            assert run(command, path, "--proof", proof, *words, *form) == code, command
            shown = capsys.readouterr()
            told = " ".join((shown.out + shown.err).split())
            assert said in told and (code == 2 or ("is from an earlier run" in told) == older), told
            assert proof.exists() == older
