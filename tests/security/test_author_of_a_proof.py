"""The author of a proof: true proofs of other claims, relabelled, and forged ones."""

from __future__ import annotations

import functools
import itertools
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sievert.cli import main
from sievert.files import digest_of
from sievert.proofs import Verification, proof_from_dict
from sievert.verification import check_about

sys.path.insert(0, str(Path(__file__).parents[1] / "proofs"))

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
