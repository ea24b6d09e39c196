"""Two checkers that share no line: they agree on honest, forged and damaged proofs of every kind.

10,000 damaged ones, or as many as `SIEVERT_MUTANTS` says; `make fuzz` makes 100,000.
"""

import ast
import base64
import copy
import itertools
import json
import math
import os
import random
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import pytest
from jsonschema import Draft202012Validator
from more_proofs import BEYOND, MORE
from mutations import mutated
from opinions import CHECKER, disagreement, first_opinion, probes, said, second_opinion
from test_every_check import BASES, FORGED, changed

import sievert as sv
from sievert.errors import FileError
from sievert.proofs import checker_path, load_proof, proof_from_dict, save_proof
from sievert.proofs._base import _kinds
from sievert.report import Page, page_html, page_with_proof

MUTANTS = int(os.environ.get("SIEVERT_MUTANTS", "10000"))
PARTS = 10
SCHEMA = json.loads(Path("docs/schemas/proof.json").read_text(encoding="utf-8"))
PAGE = Path("docs/proofs.md").read_text(encoding="utf-8")
JUDGES = (first_opinion, second_opinion)
RECORDED = Path(__file__).parent / "statements.json"
# Proofs that tell a small mistake in a checker from what is right, by tests/mutate_checks.py --search.
EDGES = Path(__file__).parent / "edges.json"
PATH3 = {"size": 3, "edges": [[0, 1], [1, 2]]}


def made() -> dict[str, dict[str, Any]]:
    """Proofs that Sievert writes, larger than those by hand."""
    line, noisy = sv.metrics.line(4), sv.mechanisms.truncated_geometric(3, alpha="1/2")
    makers = {
        "cycle": sv.worst_leakage(sv.graphs.cycle(7), 0.7),
        "path": sv.worst_leakage(sv.graphs.path(9), 0.5),
        "plane": sv.worst_leakage(sv.metrics.euclidean([[0, 0], [1, 0], [0, 2], [2, 2]]), 0.8),
        "design": sv.optimal_mechanism(line, 1.0),
        "exact design": sv.optimal_mechanism(sv.metrics.line(3), alpha="1/2"),
        "guess": sv.explain(eps=1, values=3),
        "repeated": sv.explain(eps=0.5, releases=40, prior=[0.3, 0.7]),
        "composed": sv.explain(eps=0.5, delta=1e-6, releases=4, values=3),
        "refines": sv.refines(noisy, sv.mechanisms.truncated_geometric(3, alpha="2/3")),
        "not refined": sv.refines(sv.mechanisms.randomised_response(3, alpha="1/2"), noisy),
    }
    return {name: json.loads(save_proof(made.certificate)) for name, made in makers.items()}


def damaged(contents: list[dict[str, Any]], count: int, part: int) -> Iterator[dict[str, Any]]:
    """So many damaged copies, the same ones every time for one part."""
    draw = random.Random(24 + part)
    changed_copies = (mutated(content, draw) for content in itertools.cycle(contents))
    made_copies = (json.loads(json.dumps(content)) for content in changed_copies if content is not None)
    yield from itertools.islice(made_copies, count)


@pytest.fixture(scope="module")
def written() -> dict[str, dict[str, Any]]:
    return made()


def test_the_checker_is_one_file_of_the_standard_library() -> None:
    text = checker_path().read_text(encoding="utf-8")
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    assert names <= set(sys.stdlib_module_names)
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 2500


def test_registry_checker_schema_and_page_know_the_same_kinds() -> None:
    kinds = set(_kinds())
    assert [kind for kind, proof in _kinds().items() if not getattr(proof, "grounds", "")] == []
    assert set(CHECKER.KINDS) == kinds
    assert set(SCHEMA["properties"]["kind"]["enum"]) == kinds
    assert kinds <= set(re.findall(r"^### (.+)$", PAGE, re.MULTILINE))
    assert {base()["kind"] for base in BASES.values()} == kinds


def test_the_page_shows_the_fields_of_every_kind() -> None:
    tables = runpy.run_path("docs/_ext/schema_tables.py")
    assert tables["filled_proofs"](PAGE) == PAGE, "run python docs/_ext/schema_tables.py"
    assert {f"<!-- proof: {kind} -->" for kind in _kinds()} <= set(PAGE.splitlines())


def rules_of(kind: str) -> Draft202012Validator:
    """The schema of one kind, which the whole schema leads to."""
    name = next(rule["then"] for rule in SCHEMA["allOf"] if rule["if"]["properties"]["kind"]["const"] == kind)
    return Draft202012Validator({**name, "$defs": SCHEMA["$defs"]})


def test_every_proof_fits_its_schema(written: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    seen = set()
    for name, content in {**honest(), **written}.items():
        rules = rules_of(content["kind"])
        assert list(rules.iter_errors(content)) == [], name
        for key in content if content["kind"] not in seen else ():
            rest = {other: value for other, value in content.items() if other != key}
            if not second_opinion(rest).holds:
                assert not rules.is_valid(rest), (name, key)
        assert not rules.is_valid({**content, "extra": 1})
        seen.add(content["kind"])


def test_the_whole_schema_leads_to_every_kind() -> None:
    whole = Draft202012Validator(SCHEMA)
    assert whole.is_valid(BASES["noise"]())
    assert not whole.is_valid({**BASES["noise"](), "eps": None})
    assert not whole.is_valid({**BASES["noise"](), "kind": "wishful"})


def test_proofs_that_sievert_wrote_hold(written: dict[str, Any]) -> None:
    for name, content in written.items():
        assert second_opinion(content).holds, (name, second_opinion(content))
        assert disagreement(content) is None


def honest() -> dict[str, dict[str, Any]]:
    """Proofs by hand of every kind."""
    return {**{name: base() for name, base in BASES.items()}, **copy.deepcopy(MORE)}


def proofs_of_the_tests() -> dict[str, dict[str, Any]]:
    """Honest ones, forged ones, and those at the edge of a rule, by what is changed."""
    found = {**honest(), **HAND}
    bases = {**{name: base() for name, base in BASES.items()}, **MORE}
    edges = [(name, [(path, value)]) for name, path, value, *_ in [*FORGED, *BEYOND]]
    edges += json.loads(EDGES.read_text(encoding="utf-8"))
    for name, changes in edges:
        content, words = json.loads(json.dumps(bases[name])), []
        for path, *value in changes:
            content = changed(content, path, *value)
            words.append(f"{'.'.join(map(str, path))} {json.dumps(value)[1:-1] or 'gone'}"[:80])
        known = f"{name}: {'; '.join(words)}"
        found[known if known not in found else f"{known} ({len(found)})"] = content
    return found


def test_both_accept() -> None:
    for name, content in honest().items():
        assert first_opinion(content).holds, (name, first_opinion(content))
        assert second_opinion(content).holds, (name, second_opinion(content))


def test_both_refuse_every_forgery() -> None:
    for name, path, value, _ in FORGED:
        content = changed(BASES[name](), path, value)
        first, second = first_opinion(content), second_opinion(content)
        assert not first.holds, (name, path)
        assert not second.holds or "overflow" in str(first), (name, path)


def test_both_refuse_what_is_just_beyond_a_rule() -> None:
    for name, path, value in BEYOND:
        content = changed(copy.deepcopy(MORE[name]), path, value)
        assert not first_opinion(content).holds, (name, path)
        assert not second_opinion(content).holds, (name, path)


@pytest.mark.parametrize("part", range(PARTS))
def test_they_agree_on_damaged_proofs(part: int, written: dict[str, Any]) -> None:
    contents = [*honest().values(), *written.values()]
    held = refused = 0
    for content in damaged(contents, MUTANTS // PARTS, part):
        told = disagreement(content)
        assert told is None, told
        holds = second_opinion(content).holds
        held, refused = held + holds, refused + (not holds)
    # Damage that always or never refuses would compare nothing.
    assert min(held, refused) > MUTANTS // PARTS // 20


def bounds(content: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """The ends that verify.py proves of a worst leakage."""
    question = CHECKER.Question(CHECKER.Space.read(content["space"]), CHECKER.exact(content["eps"]))
    low, high = (CHECKER.bound_by(question, content[name], name == "upper") for name in ("lower", "upper"))
    return low, high


def test_they_prove_the_same_numbers() -> None:
    asked = {name: content for name, content in honest().items() if content["kind"] == "worst leakage"}
    capacities = {
        name: c for name, c in asked.items() if c["lower"] and not (c.get("weights") or c.get("gain"))
    }
    assert len(capacities) >= 15
    for name, content in capacities.items():
        ours, theirs = proof_from_dict(content).bounds(), bounds(content)
        assert [float(end) for end in ours] == pytest.approx([float(end) for end in theirs], rel=1e-12), name
        # Floats lose something; what is proved exactly is never weaker.
        assert ours[0] <= theirs[0] <= theirs[1] <= ours[1], name


def test_every_statement_is_what_was_recorded() -> None:
    """To the letter, with its numbers; `SIEVERT_GOLDEN=write` records anew. Both judge alike."""
    told: dict[str, Any] = {}
    for name, content in proofs_of_the_tests().items():
        told[name] = [said(judge(content)) for judge in JUDGES]
        if len({words.startswith("NOT") for words in told[name]}) > 1:
            assert disagreement(content) is None, name
    told["verify.py"] = {name: run() for name, run in probes(CHECKER).items()}
    if os.environ.get("SIEVERT_GOLDEN") == "write":
        RECORDED.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert told == json.loads(RECORDED.read_text(encoding="utf-8"))


# ── Forged by hand ──────────────────────────────────────────────────────────────────────────────────────────


def worst(upper: Any, lower: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "format": "sievert proof 1",
        "kind": "worst leakage",
        "space": PATH3,
        "eps": "1",
        "upper": upper,
        "lower": lower,
        **more,
    }


BROKEN = {"size": 3, "edges": [[0, 1], [0, 2], [1, 2]], "lengths": [1.0, 9.0, 1.0], "metric": True}


def test_a_broken_triangle_inequality_proves_nothing_more() -> None:
    """Φ of lengths that are no metric is not private; both take the shortest paths, 2 instead of 9."""
    kernel = {"type": "kernel", "z": [1.0, 1.0, 1.0], "t": 0.1}
    content = worst({"type": "points"}, kernel, space=BROKEN)
    short = worst({"type": "points"}, kernel, space={**BROKEN, "lengths": [1.0, 2.0, 1.0]})
    assert bounds(content)[0] == pytest.approx(bounds(short)[0])
    assert proof_from_dict(content).bounds()[0] == pytest.approx(bounds(short)[0])
    straight = {**BROKEN, "coordinates": [[0.0], [1.0], [2.0]]}
    assert "coordinates" in str(second_opinion(worst({"type": "points"}, kernel, space=straight)))
    assert disagreement(worst({"type": "points"}, kernel, space=straight)) is None


FOUR = {"size": 4, "edges": [[0, 1], [2, 3]]}
CIRCLE = {"size": 3, "edges": [[0, 1], [1, 2], [0, 2]]}
SEVEN_TENTHS = {"type": "tree", "denominator": 10, "there": [3, 3], "back": [3, 3]}


def parts(points: Any) -> dict[str, Any]:
    return {"type": "parts", "parts": [{"type": "points", "points": points}]}


def with_a_gap() -> dict[str, Any]:
    """Representatives that lose a little more than the best: with losses 5 times as large, that is more."""
    inner = {key: value for key, value in BASES["universal"]().items() if key != "kind"}
    return changed(BASES["quotient"](), ("inner",), {**inner, "kind": "universal optimality", "gap": "1/100"})


HAND: dict[str, dict[str, Any]] = {
    "a part that an edge leaves": worst(parts([[0, 2], [1, 3]]), space=FOUR),
    "a part that is left out": worst(parts([0, 1]), space=FOUR),
    "parts that are not alike": worst(parts([[0, 1], [2, 3]]), space={"size": 4, "edges": [[0, 1]]}),
    "blocks that hide a circle": worst(
        {
            "type": "block bounds",
            "blocks": [{"vertices": [k, k + 1], "edges": [k], "upper": {"type": "points"}} for k in range(2)],
        },
        space=CIRCLE,
    ),
    "a symmetry that is none": worst({"type": "transitive", "symmetries": [[1, 2, 0]]}),
    "symmetries without an orbit": worst({"type": "transitive", "symmetries": [[2, 1, 0]]}),
    "a channel of a looser policy": worst({"type": "points"}, SEVEN_TENTHS, eps="1/10"),
    "a dual of another policy": {**BASES["approximate"](), "upper": "2", "lower": "1"},
    "a gap among representatives": with_a_gap(),
}


@pytest.mark.parametrize(("why", "content"), HAND.items())
def test_forgeries_by_hand_are_refused_by_both(why: str, content: dict[str, Any]) -> None:
    assert not first_opinion(content).holds, why
    assert not second_opinion(content).holds, why


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "sievert proof 1", "kind": "noise", "kind": "codes"}',
        '{"format": "sievert proof 2", "kind": "noise"}',
        '{"format": "sievert proof 1", "kind": "wishful"}',
        '{"format": "sievert proof 1", "kind": "noise", "about": 7}',
        '{"eps": 1e400}',
        '{"eps": NaN}',
        '{"eps": -Infinity}',
        "[" * 60 + "]" * 60,
        "[" * 100_000,
        '{"eps": ' + "9" * 5000 + "}",
        "{",
        "[]",
        "\ufeff{}",
    ],
)
def test_files_that_are_no_proofs(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proof.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError):
        load_proof(path)
    assert CHECKER.main([str(path)]) == 2
    assert "no proof" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("eps", "1e3001"),
        ("eps", "1/0"),
        ("eps", "1_0"),
        ("eps", " 1"),
        ("eps", "+1/2"),
        ("eps", True),
        ("eps", "9" * 4301),
    ],
)
def test_numbers_are_read_by_both_alike(key: str, value: Any) -> None:
    content = {**BASES["noise"](), key: value}
    assert not first_opinion(content).holds
    assert not second_opinion(content).holds


# ── The checker itself ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "x",
    [
        Fraction(1, 3),
        Fraction(-7, 5),
        Fraction(700),
        Fraction(-99_999),
        Fraction(1, 10**40),
        Fraction(12345, 678),
    ],
)
def test_powers_of_e_are_enclosed_tightly(x: Fraction) -> None:
    low, high = CHECKER.exp_ends(x)
    old = flint.ctx.prec
    flint.ctx.prec = 2000
    try:
        true = flint.arb(flint.fmpq(x.numerator, x.denominator)).exp()
        assert flint.arb(flint.fmpq(low.numerator, low.denominator)) < true
        assert true < flint.arb(flint.fmpq(high.numerator, high.denominator))
    finally:
        flint.ctx.prec = old
    assert (high - low) / low < Fraction(1, 2**310)


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(7, 5), Fraction(10**40), Fraction(10**40 + 1, 10**40), Fraction(2)]
)
@pytest.mark.parametrize("bits", [64, 700])
def test_logarithms_are_enclosed_tightly(x: Fraction, bits: int) -> None:
    low, high = CHECKER.log_ends(x, bits)
    old = flint.ctx.prec
    flint.ctx.prec = 2000
    try:
        true = flint.arb(flint.fmpq(x.numerator, x.denominator)).log()
        assert flint.arb(flint.fmpq(low.numerator, low.denominator)) < true
        assert true < flint.arb(flint.fmpq(high.numerator, high.denominator))
    finally:
        flint.ctx.prec = old
    assert high - low < Fraction(1, 2 ** (bits - 4))


def test_ends_that_are_known_are_exact() -> None:
    assert CHECKER.exp_ends(Fraction(0)) == (1, 1)
    assert CHECKER.log_ends(Fraction(1), 64) == (0, 0)
    assert CHECKER.exp_ends(Fraction(-200_000))[0] == 0 < CHECKER.exp_ends(Fraction(-200_000))[1]
    with pytest.raises(CHECKER.Refused, match="too large"):
        CHECKER.exp_ends(Fraction(200_000))


def test_extreme_rays_by_brute_force() -> None:
    """Columns on three points in a line, α = 1/2: rays are where two of the constraints are tight."""
    setting = CHECKER.Setting(
        {"space": PATH3, "alpha": "1/2", "channel": [["1"]] * 3, "loss": [["0", "0", "0"]]}
    )
    rays = {tuple(value / ray[0] for value in ray) for ray in setting.extreme_columns}
    half = Fraction(1, 2)
    assert rays == {(1, a, a * b) for a in (2, half) for b in (2, half)}


def test_the_cost_comes_first_and_bounds_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proof.json"
    path.write_text(
        json.dumps(worst({"type": "points"}, space={"size": 9_000_000, "edges": []})), encoding="utf-8"
    )
    assert CHECKER.main(["--seconds", "1", str(path)]) == 3
    out = capsys.readouterr().out
    assert out.index("will take about") < out.index("not checked")
    most = CHECKER.Work.most
    try:
        CHECKER.Work.most = 10
        with pytest.raises(CHECKER.TooLong):
            CHECKER.check(BASES["kernel"]())
    finally:
        CHECKER.Work.most = most


def test_the_checker_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    content = {**BASES["noise"](), "about": "sha256:0"}
    good.write_text(json.dumps(content), encoding="utf-8")
    bad.write_text(json.dumps({**content, "eps": "1/2"}), encoding="utf-8")
    assert CHECKER.main([str(good)]) == 0
    out = capsys.readouterr().out
    assert "verified in" in out and "keeps ε = 1" in out and "digest sha256:0" in out
    assert CHECKER.main(["--json", str(good), str(bad)]) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["holds"] for line in told] == [True, False]
    assert told[1]["statement"] == "a move needs more noise"
    assert CHECKER.main([str(tmp_path / "none.json")]) == 2


def test_a_page_with_a_proof_offers_the_checker() -> None:
    page = page_html(Page("Title", "Made by hand", "Nothing.", [], proofs=["There is one."]))
    found = re.search(
        r'<a download="verify.py" href="data:text/x-python;charset=utf-8;base64,([^"]+)">', page
    )
    assert found is not None and "Check this page yourself" in page
    assert base64.b64decode(found[1]) == checker_path().read_bytes()
    bare = page_html(Page("Title", "Made by hand", "Nothing.", []))
    assert "verify.py" not in bare
    content = BASES["worst"]()
    proof = proof_from_dict(content)
    carried = re.search(
        r'<a download="proof.json" href="data:application/json;base64,([^"]+)">', page_with_proof(page, proof)
    )
    assert carried is not None
    assert proof_from_dict(json.loads(base64.b64decode(carried[1]))).to_dict() == proof.to_dict()
    # A page that spoke of no proof offers the checker with it.
    assert "verify.py" in page_with_proof(bare, proof) and "proof.json" in page_with_proof(bare, proof)
    long = page_with_proof(page, replace(proof, labels=("x" * 2_000_000,)))
    assert len(long) < 2_000_000 and "base64" not in long.split("too long to be a part of it")[1]
    assert "Not certified: a &lt; b." in page_with_proof(bare, "a < b")


def test_numbers_are_shown_so_that_sentences_stay_true() -> None:
    assert CHECKER.shown(Fraction(1, 3)) == "0.333333333334"
    assert CHECKER.shown(Fraction(1, 3), False) == "0.333333333333"
    assert CHECKER.shown(Fraction(-1, 2)) == "-0.5"
    assert CHECKER.shown(Fraction(0)) == "0"
    large = CHECKER.shown(Fraction(2**100))
    assert large.startswith("2^") and int(large[2:]) >= 100
    assert math.isclose(float(Fraction(CHECKER.shown(Fraction(22, 7)))), 22 / 7)


def test_copies_are_not_changed() -> None:
    content = BASES["universal"]()
    kept = copy.deepcopy(content)
    CHECKER.check(content)
    assert content == kept


def test_a_pipe_is_no_proof_and_escapes_stay_out_of_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(CHECKER.NoProof, match="not a regular file"):
        CHECKER.read(str(pipe))
    told = tmp_path / "told.json"
    told.write_text(json.dumps({**BASES["guess"](), "about": "\x1b[2Jgone"}), encoding="utf-8")
    assert CHECKER.main([str(told)]) == 0
    assert "\x1b" not in capsys.readouterr().out
