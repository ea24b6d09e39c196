"""Certificates: checked without the solver, after a round trip, and refused when any entry is changed."""

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import sievert as sv
from sievert.errors import FileError
from sievert.limits import space_of, worst_leakage
from sievert.policies import Policy
from sievert.proofs import WorstLeakageProof, load_proof, proof_from_dict, save_proof, verify
from sievert.spaces import Graph, graphs, metrics, secrets

K23 = Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])
FORK = Graph(range(5), [(0, 1), (1, 2), (0, 3), (0, 4)])
# Two chords leave no symmetry and no weights that are not negative: the program proves more than packing.
CHORDS = Graph(range(7), [(0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 0), (6, 4)])
LOLLIPOP = Graph(range(7), [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (3, 5), (3, 6)])


def kernel_proof() -> WorstLeakageProof:
    """The grid's weights, which cover every point and make a channel, without their prior."""
    found = worst_leakage(graphs.grid(4, 4), 0.5, prior=[1 / 16] * 16).certificate
    upper = {"type": "packing", "y": found.lower["z"]}
    return WorstLeakageProof(found.space, found.eps, upper, found.lower)


def levels_proof() -> WorstLeakageProof:
    space = space_of(graphs.grid(4, 4)).proof
    cover = {"type": "cover", "centres": [5, 10], "radius": 4.0}
    return WorstLeakageProof(space, Fraction(1, 2), cover, {"type": "levels", "source": 0})


def block_bounds_proof() -> WorstLeakageProof:
    """The lollipop's triangle and edges, each with a packing vector of its own."""
    found = worst_leakage(LOLLIPOP, 0.4).certificate
    blocks = [
        {
            "vertices": block["vertices"],
            "edges": block["edges"],
            "upper": {"type": "packing", "y": [1.0] * len(block["vertices"])},
        }
        for block in found.upper["blocks"]
    ]
    upper = {"type": "block bounds", "blocks": blocks}
    return WorstLeakageProof(found.space, found.eps, upper, {"type": "levels", "source": 0})


def transitive_proof() -> WorstLeakageProof:
    """The ring of seven, rotated by one."""
    turn = {"type": "transitive", "symmetries": [[(v + 1) % 7 for v in range(7)]]}
    return WorstLeakageProof(space_of(graphs.cycle(7)).proof, Fraction(1), turn, turn)


PROOFS: dict[str, Callable[[], WorstLeakageProof]] = {
    "packing and channel": lambda: worst_leakage(graphs.cycle(5), 1).certificate,
    "kernel": kernel_proof,
    "levels and cover": levels_proof,
    "dual": lambda: worst_leakage(CHORDS, 0.4).certificate,
    "tree": lambda: worst_leakage(FORK, 0.5).certificate,
    "blocks": lambda: worst_leakage(LOLLIPOP, 0.4).certificate,
    "block bounds": block_bounds_proof,
    "transitive": transitive_proof,
    "parts": lambda: worst_leakage(graphs.theorem_five(4), 0.2).certificate,
    "records": lambda: (
        worst_leakage(Policy.blowfish(secrets.edges(5, FORK.labelled_edges()), 4), 0.5).certificate
    ),
    "prior": lambda: (
        worst_leakage(
            graphs.path(4), 1, prior=[0.4, 0.3, 0.2, 0.1], gain=sv.gains.within(metrics.line(4), 1)
        ).certificate
    ),
    "metric": lambda: (
        worst_leakage(metrics.euclidean(np.random.default_rng(1).random((12, 2))), 2).certificate
    ),
}


@pytest.fixture(scope="module")
def saved() -> dict[str, dict[str, Any]]:
    return {name: json.loads(save_proof(make())) for name, make in PROOFS.items()}


def test_proofs_verify_where_the_solver_cannot_be_imported(saved, tmp_path) -> None:
    for k, content in enumerate(saved.values()):
        (tmp_path / f"{k}.json").write_text(json.dumps(content), encoding="utf-8")
    code = (
        "import sys; sys.modules['highspy'] = None\n"
        "from sievert.proofs._base import verify\n"
        "for path in sys.argv[1:]: print(bool(verify(path)), verify(path))\n"
    )
    paths = sorted(map(str, tmp_path.glob("*.json")))
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(PROOFS) and all(line.startswith("True") for line in lines), done.stdout


def test_the_kinds_are_what_they_say(saved) -> None:
    kinds = {name: (data["upper"]["type"], data["lower"]["type"]) for name, data in saved.items()}
    assert kinds["packing and channel"] == ("packing", "channel")
    assert kinds["kernel"][1] == "kernel"
    assert kinds["dual"][0] == "dual"
    assert kinds["tree"] == ("tree", "tree")
    assert kinds["blocks"] == ("blocks", "blocks")
    assert kinds["parts"] == ("parts", "parts")
    assert kinds["records"] == ("packing", "tree")


def bounds(content: dict[str, Any]) -> tuple[Fraction | None, Fraction] | None:
    """The proved bounds, or None when the proof is refused."""
    try:
        proof = proof_from_dict(content)
    except FileError:
        return None
    assert isinstance(proof, WorstLeakageProof)
    return proof.bounds() if proof.verify() else None


Change = Callable[[dict[str, Any]], Any]


def scaled(section: str, key: str, factor: float) -> Change:
    def change(data: dict[str, Any]) -> None:
        data[section][key] = [v * factor for v in data[section][key]]

    return change


def put(value: Any, *path: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value(data[path[-1]]) if callable(value) else value

    return change


def more(data: list[int]) -> list[int]:
    return [data[0] + 1, *data[1:]]


def shifted(rows: list[list[int]]) -> list[list[int]]:
    """Move a thousandth of the first row to its largest entry: still a distribution, no longer private."""
    row = list(rows[0])
    step = min(v for v in row if v) // 2
    low, high = row.index(min(row)), row.index(max(row))
    row[low] -= step
    row[high] += step
    return [row, *rows[1:]]


REFUSED: list[tuple[str, str, Change]] = [
    ("packing and channel", "a negative y", put(-1.0, "upper", "y", 0)),
    ("packing and channel", "a y that is no number", put(math.nan, "upper", "y", 0)),
    ("packing and channel", "too few y", put([1.0], "upper", "y")),
    ("packing and channel", "all y zero", scaled("upper", "y", 0.0)),
    ("packing and channel", "a channel entry raised", put(more, "lower", "rows", 0)),
    ("packing and channel", "a row no longer private", put(shifted, "lower", "rows")),
    ("packing and channel", "another denominator", put(lambda d: d - 1, "lower", "denominator")),
    ("packing and channel", "a row missing", put(lambda rows: rows[1:], "lower", "rows")),
    ("packing and channel", "smaller eps", put("1/2", "eps")),
    ("packing and channel", "negative eps", put("-1", "eps")),
    ("packing and channel", "eps no number", put("one", "eps")),
    ("packing and channel", "eps a fraction by 0", put("1/0", "eps")),
    ("packing and channel", "an edge more", put(lambda e: [*e, [0, 2]], "space", "edges")),
    ("packing and channel", "an edge to nowhere", put([0, 9], "space", "edges", 0)),
    ("packing and channel", "an edge to half a point", put([0, 1.5], "space", "edges", 0)),
    ("packing and channel", "a length negative", put([-1.0] * 5, "space", "lengths")),
    ("packing and channel", "a length shorter", put([0.5, 1, 1, 1, 1], "space", "lengths")),
    ("packing and channel", "a length missing", put([1.0] * 4, "space", "lengths")),
    ("packing and channel", "a metric without all pairs", put(True, "space", "metric")),
    ("packing and channel", "another kind", put("proof by hope", "kind")),
    ("packing and channel", "another format", put("sievert proof 0", "format")),
    ("packing and channel", "an unknown certificate", put("hope", "upper", "type")),
    ("packing and channel", "an unknown channel", put("hope", "lower", "type")),
    ("packing and channel", "no certificate", put(None, "upper")),
    ("packing and channel", "a list for a certificate", put([], "lower")),
    ("packing and channel", "no copies", put(0, "copies")),
    ("packing and channel", "no points", put(0, "space", "size")),
    ("kernel", "no mixing", put(0.0, "lower", "t")),
    ("kernel", "full mixing", put(1.0, "lower", "t")),
    ("kernel", "a weight infinite", put(math.inf, "lower", "z", 0)),
    ("kernel", "a weight negative", put(-1.0, "lower", "z", 0)),
    ("kernel", "weights all 0", scaled("lower", "z", 0.0)),
    ("kernel", "a weight raised", put(lambda z: 3 * z, "lower", "z", 5)),
    ("levels and cover", "a radius too small", put(2.0, "upper", "radius")),
    ("levels and cover", "a radius that is no number", put(math.nan, "upper", "radius")),
    ("levels and cover", "no centre", put([], "upper", "centres")),
    ("levels and cover", "a centre elsewhere", put([99], "upper", "centres")),
    ("levels and cover", "a source elsewhere", put(-1, "lower", "source")),
    ("levels and cover", "levels of broken lengths", put([0.5] * 24, "space", "lengths")),
    ("dual", "a negative multiplier", put(-1.0, "upper", "forward", 0, 2)),
    ("dual", "an infinite multiplier", put(math.inf, "upper", "forward", 0, 2)),
    ("dual", "an arc that does not exist", put(99, "upper", "forward", 0, 0)),
    ("dual", "too few y", put([1.0], "upper", "y")),
    ("dual", "a y that is no number", put(math.nan, "upper", "y", 0)),
    ("dual", "several records", put(2, "copies")),
    ("dual", "an eps that overflows", put("1000", "eps")),
    ("tree", "a negative multiplier", put(-1.0, "upper", "mu", 0)),
    ("tree", "too few multipliers", put([0.0], "upper", "mu")),
    ("tree", "leaving less", put(lambda v: 0, "lower", "there", 0)),
    ("tree", "leaving more than all", put(lambda v: 2**62, "lower", "there", 0)),
    ("tree", "a cycle", put(lambda e: [*e, [2, 3]], "space", "edges")),
    ("tree", "another denominator", put(1, "lower", "denominator")),
    ("tree", "several records", put(2, "copies")),
    ("blocks", "a negative multiplier", put(-1.0, "upper", "mu", 0)),
    ("blocks", "an edge twice", put(lambda e: [*e, *e], "upper", "blocks", 0, "edges")),
    ("blocks", "a block missing", put(lambda b: b[1:], "upper", "blocks")),
    ("blocks", "a vertex in the wrong block", put(6, "upper", "blocks", 0, "vertices", 0)),
    ("blocks", "a vertex that does not exist", put(-1, "upper", "blocks", 0, "vertices", 0)),
    ("blocks", "a chord between blocks", put(lambda e: [*e, [0, 6]], "space", "edges")),
    ("transitive", "no permutation", put(0, "upper", "symmetries", 0, 0)),
    ("transitive", "no symmetries", put(lambda s: [], "lower", "symmetries")),
    ("transitive", "a reflection reaches too little", put([6, 5, 4, 3, 2, 1, 0], "upper", "symmetries", 0)),
    ("transitive", "an edge missing", put(lambda e: e[1:], "space", "edges")),
    ("transitive", "a chord", put(lambda e: [*e, [0, 3]], "space", "edges")),
    ("block bounds", "a block missing", put(lambda b: b[1:], "upper", "blocks")),
    ("block bounds", "an edge twice", put(lambda e: [*e, *e], "upper", "blocks", 0, "edges")),
    ("block bounds", "a vertex in the wrong block", put(6, "upper", "blocks", 0, "vertices", 0)),
    ("block bounds", "a chord between blocks", put(lambda e: [*e, [0, 6]], "space", "edges")),
    ("block bounds", "a negative entry", put(-1.0, "upper", "blocks", 0, "upper", "y", 0)),
    ("block bounds", "an uncovered block", put(lambda y: [0.0] * len(y), "upper", "blocks", 0, "upper", "y")),
    ("blocks", "a block's row raised", put(more, "lower", "blocks", 0, "rows", 0)),
    ("blocks", "a block's row shifted", put(shifted, "lower", "blocks", 0, "rows")),
    ("parts", "a point twice", put(4, "upper", "parts", 1, "points", 0, 1)),
    ("parts", "a part missing", put(lambda p: p[1:], "upper", "parts")),
    ("parts", "a point elsewhere", put(99, "upper", "parts", 0, "points", 0, 0)),
    ("parts", "an edge between parts", put(lambda e: [*e, [0, 4]], "space", "edges")),
    ("parts", "copies that differ", put([1.0] * 8 + [2.0], "space", "lengths")),
    ("parts", "rows of unequal length", put([[4, 5], [6]], "upper", "parts", 1, "points")),
    ("records", "a tree's own maximum", put({"type": "tree", "mu": [0.0] * 5}, "upper")),
    ("prior", "a gain that is no number", put(math.nan, "gain", 0, 0)),
    ("prior", "a gain of another shape", put([[1.0]], "gain")),
    ("prior", "a capacity certificate", put({"type": "points"}, "upper")),
    ("prior", "a packing for a gain", put({"type": "packing", "y": [1.0] * 4}, "upper")),
    ("prior", "a channel with other outputs", put([[2**62]] * 4, "lower", "rows")),
    ("metric", "a length shorter", put(lambda v: v / 2, "space", "lengths", 0)),
]


@pytest.mark.parametrize(("name", "what", "change"), REFUSED, ids=[f"{n}: {w}" for n, w, _ in REFUSED])
def test_a_changed_proof_is_refused(saved, name: str, what: str, change: Change) -> None:
    content = copy.deepcopy(saved[name])
    change(content)
    assert bounds(content) is None


WEAKENED: list[tuple[str, str, Change]] = [
    # Entries that only carry a bound: what is proved then is another, still true, statement.
    ("packing and channel", "y lowered", put(lambda v: v / 2, "upper", "y", 0)),
    ("dual", "y lowered", put(lambda v: v - 0.1, "upper", "y", 0)),
    ("dual", "no multipliers", put([], "upper", "forward")),
    ("tree", "other multipliers", put(0.5, "upper", "mu", 4)),
    ("blocks", "other multipliers", put(0.5, "upper", "mu", 0)),
    ("levels and cover", "another source", put(5, "lower", "source")),
    ("kernel", "more mixing", put(0.5, "lower", "t")),
]


@pytest.mark.parametrize(("name", "what", "change"), WEAKENED, ids=[f"{n}: {w}" for n, w, _ in WEAKENED])
def test_a_weaker_certificate_proves_a_weaker_bound(saved, name: str, what: str, change: Change) -> None:
    before, content = bounds(saved[name]), copy.deepcopy(saved[name])
    change(content)
    after = bounds(content)
    assert before is not None and after is not None
    low, high = float(before[0]), float(before[1])
    assert float(after[0]) <= low * (1 + 1e-12) and float(after[1]) >= high * (1 - 1e-12)
    assert after != before


@pytest.mark.parametrize(
    ("graph", "closed"),
    [
        (graphs.path(9), lambda q: 1 + 8 * (1 - q) / (1 + q)),
        (graphs.complete(6), lambda q: 6 / (1 + 5 * q)),
        (graphs.cycle(7), lambda q: 7 / (1 + 2 * q + 2 * q**2 + 2 * q**3)),
        (graphs.petersen(), lambda q: 10 / (1 + 3 * q + 6 * q**2)),
        (graphs.grid(9, 9), lambda q: (1 + 8 * (1 - q) / (1 + q)) ** 2),
        (graphs.star(6), lambda q: 1 / q if q > 0.25 else 1 + 5 * (1 - q) / (1 + q)),
        (K23, lambda q: 1 / q if q >= 0.5 else None),
        (graphs.path(300), lambda q: 1 + 299 * (1 - q) / (1 + q)),
    ],
    ids=["path", "complete", "cycle", "petersen", "grid", "star", "K23", "long path"],
)
@pytest.mark.parametrize("eps", ["0.001", "0.1", "0.5", "1.7", "6", "40"])
def test_the_certified_ends_enclose_the_true_value(graph: Graph, closed, eps: str) -> None:
    lower, upper = worst_leakage(graph, float(eps)).certificate.bounds()
    exponent = Fraction(eps)
    with ctx.workprec(200):
        q = (-arb(fmpq(exponent.numerator, exponent.denominator))).exp()
        true = closed(q)
        if true is None:
            return
        # Balls compare only where they are apart: 200 bits are enough for that.
        assert arb(fmpq(lower.numerator, lower.denominator)) < true
        assert true < arb(fmpq(upper.numerator, upper.denominator))
    assert upper - lower < Fraction(1, 10**8) * upper


def test_files(tmp_path) -> None:
    proof = worst_leakage(graphs.cycle(5), 1).certificate
    path = tmp_path / "proof.json"
    path.write_text(save_proof(proof), encoding="utf-8")
    assert verify(path) and str(verify(path)).startswith("verified: on 5 points with ε = 1")
    assert load_proof(path).to_dict() == proof.to_dict()
    path.write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="is not JSON"):
        load_proof(path)
    with pytest.raises(FileError, match="cannot be read"):
        load_proof(tmp_path / "none.json")
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(FileError, match="not a proof"):
        load_proof(path)


def test_huge_bounds_are_shown_as_powers() -> None:
    space = space_of(graphs.path(40)).proof
    proof = WorstLeakageProof(space, Fraction(100), {"type": "cover", "centres": [0], "radius": 39.0}, None)
    assert "2^5626.5" in str(proof.verify())
