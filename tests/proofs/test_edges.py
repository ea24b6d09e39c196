"""Proofs by hand that lie at the edge of a rule, on either side: what is said of each.

`python tests/mutate_checks.py proofs` makes small mistakes in the rules; each of these proofs tells one of
them from what is right.
"""

import copy
import json
from typing import Any

import pytest
from more_proofs import MORE
from opinions import disagreement, first_opinion
from test_every_check import BASES, BLANK, EVEN, NEAR, TOLD, TRUE, TWO_INPUTS, UNIT, changed

from sievert.proofs import proof_from_dict

HUGE = "10000000000000"
FAR = {"size": 2, "edges": [[0, 1]], "lengths": [1.0], "metric": True}
ALONE: dict[str, Any] = {"size": 1, "edges": []}
APART: dict[str, Any] = {"size": 2, "edges": []}
TRIANGLES = {"size": 6, "edges": [[0, 1], [1, 2], [3, 4], [4, 5]], "lengths": [1.0, 2.0, 1.0, 2.0]}
BENT = {"size": 3, "edges": [[0, 1], [2, 1]]}
ACROSS = {"size": 4, "edges": [[0, 3]]}
THREE = ["1/2", "1/4", "1/4"]
FREE: dict[str, Any] = {"form": "free", "size": 3, "pairs": [], "lengths": [], "eps": None, "alpha": None}
TWO_SECRETS: dict[str, Any] = {
    "joints": [[["1/2", "1/2"]]] * 2,
    "wants": [None, None],
    "limits": ["1", "1"],
    "weights": [[["0"], ["0"]]] * 2,
    "given": ["1", "1"],
}
UNEVEN = [["0.5000000004", "0.4999999997"], ["0.4999999996", "0.5000000004"]]
SMALL = {"generators": [["1", "0"]], "safer": [["1/2", "1/4", "1/4"]] * 2}
ONE_TABLE = [{"eps": "1/2", "width": 1, "cells": [0, 0], "amounts": [0, 1]}]
NOTHING = {"eps": "0", "width": 1, "cells": [0, 0, 0], "amounts": [0, 0, 0]}
INNER = {key: value for key, value in BASES["universal"]().items() if key != "kind"}

# base, new values of its entries, and words of what is said; "verified" where it holds
EDGES: list[tuple[str, dict[str, Any], str]] = [
    # Reading
    ("noise", {"kind": "wishful"}, "is unknown"),
    ("noise", {"options": {"eps": None}}, "options is"),
    ("noise", {"options": {"eps": 1}}, "verified"),
    # Worst leakage
    ("dual", {"eps": "1000"}, "verified"),
    ("worst", {"space": ALONE, "upper": {"type": "points"}, "lower": {"type": "channel", "denominator": 1,
     "rows": [[1]]}}, "verified"),
    ("worst", {"space": FAR, "eps": HUGE, "upper": {"type": "packing", "y": [1e150, 0.0]}, "lower": None},
     "uncovered"),
    ("transitive", {"space": ALONE, "upper": {"type": "transitive", "symmetries": []},
     "lower": {"type": "transitive", "symmetries": []}}, "verified"),
    ("transitive", {"space": ACROSS, "upper": {"type": "transitive", "symmetries": [[1, 0, 3, 2]]},
     "lower": None}, "does not map edges to edges"),
    ("orbits", {"space": APART, "upper": {"type": "orbits", "symmetries": [], "y": [1.0, 0.0]},
     "lower": None}, "leaves some point uncovered"),
    ("orbits", {"space": BENT, "lower": {"type": "orbits", "symmetries": [[2, 1, 0]],
     "z": [1.0, 0.0], "t": 0.0}}, "remainder of the kernel channel"),
    ("orbits", {"space": BENT, "lower": {"type": "orbits", "symmetries": [[2, 1, 0]],
     "z": [0.0, 1.0], "t": 0.0}}, "remainder of the kernel channel"),
    ("parts", {"space": TRIANGLES, "upper": {"type": "parts", "parts": [{"type": "points",
     "points": [[0, 1, 2], [3, 4, 5]]}]}}, "verified"),
    ("parts", {"space": TRIANGLES, "upper": {"type": "parts", "parts": [{"type": "points",
     "points": [[0, 1, 2], [5, 4, 3]]}]}}, "different edges"),
    ("one way", {"size": 1, "arcs": [], "upper": {"type": "packing", "y": [1.0]},
     "lower": {"denominator": 1, "rows": [[1]]}}, "verified"),
    ("groups", {"space": FAR, "eps": HUGE, "cases": [{"points": [0], "upper": {"type": "packing", "on": [1],
     "y": [1e150]}}], "lower": None}, "uncovered"),
    ("map", {"columns": 1, "upper.every": [1, 1], "upper.weights": [[1.0]]}, "verified"),
    ("line form", {"size": 3, "gaps": [["1", 1], ["1/2", 1]]}, "verified"),
    ("row form", {"eps": "3", "size": 16}, "at most 11.864951825854"),
    # Promises
    ("guess with a prior", {"prior": ["1", "0"], "cover": ["1", "0"], "upper": "1"}, "verified"),
    ("guess", {"cover": ["2"], "upper": "1"}, "verified"),
    ("repeated", {"eps": "1000", "lower": "1/2", "upper": "1"}, "verified"),
    ("composed by hand", {"delta": "1", "total.delta": "1", "total.upper": "1"}, "verified"),
    ("composed by hand", {"eps": "1000", "total.eps": "0", "total.delta": "1", "total.upper": "1"},
     "verified"),
    ("codes", {"distance": "1", "values": 3, "eps": "1000", "delta": "1", "guess": "1"}, "verified"),
    ("divergence", {"eps": "0", "divergence": "0", "rho": "0", "upper": "1/3"}, "verified"),
    ("limit order", {"eps": "0", "divergence": "0", "rho": "0", "upper": "1/2"}, "verified"),
    ("divergence", {"order": "1001", "divergence": "200200", "rho": "200"}, "too large to be written out"),
    ("divergence", {"order": "1001", "divergence": "200", "rho": None}, "too large to be written out"),
    ("divergence", {"order": "2", "divergence": "150000", "rho": None}, "too large to be written out"),
    ("divergence", {"order": "2", "divergence": "60000", "rho": None}, "keeps the divergence"),
    ("divergence", {"eps": "100001"}, "too large to be written out"),
    ("leak in few runs", {"confidence": "119/128"}, "verified"),
    ("leak in few runs", {"confidence": "239/256"}, "not as often as low says"),
    ("Gaussian of few terms", {"lower": "106562016/178062835"}, "do not enclose"),
    ("runs", {"delta": "3/2"}, "delta a probability"),
    # Noise
    ("noise by ratio", {"eps": "1", "step_alpha": "0.3678794412"}, "verified"),
    ("noise that is 1", {"step_alpha": "99/100"}, "needs more noise"),
    ("staircase", {"eps": "0"}, "needs more noise"),
    ("staircase", {"width": 1, "cells": 2, "moves": [[2, "1"]]}, "verified"),
    ("order of noise", {"first": {"eps": "2"}}, "goes with two ratios"),
    ("order of noise", {"second": {"eps": "1/2"}}, "goes with two ratios"),
    ("order of noise", {"weight": "3/9"}, "do not add up"),
    ("order of noise", {"first": {"eps": "1", "alpha": "1/4"}}, "a level is eps or alpha"),
    ("order of noise", {"first": {"rate": "1"}}, "a level is eps or alpha"),
    ("tables", {"tables": [*BASES["tables"]()["tables"], NOTHING]}, "verified"),
    ("tables of a policy", {"eps": "1/2", "tables": ONE_TABLE, "edges": [[0, 1, "3/2"]], "pair": [0, 1]},
     "not the level"),
    ("released response", {"space.size": 2, "level": {"eps": "2"}}, "told apart by more"),
    ("released response", {"space.size": 1, "level": {"eps": "2"}}, "verified"),
    ("released response", {"space": {**NEAR, "alpha": None, "eps": "1"}}, "verified"),
    ("released response", {"space.eps": "0", "level": {"alpha": "1"}}, "verified"),
    ("released response", {"space.eps": "0", "level": {"alpha": "99/100"}}, "told apart by more"),
    # Designs
    ("design", {"counts": [[1, UNIT - 1], [0, UNIT], [0, UNIT]]}, "not private between points"),
    ("design", {"loss": [[0.0] * 3, [1.0] * 3], "upper": 0.0}, "verified"),
    ("design", {"loss": [[0.0] * 3, [1.0] * 3], "counts": [[UNIT - 1, 1]] * 3, "upper": 0.0}, "may lose"),
    ("design", {"prior": [1.000000005, 0.0, 0.0]}, "not a distribution"),
    ("design by multipliers", {"multipliers": [[0, 1, 0.3333333333], [1, 0, 0.3333333333], [0, 0, 0.0]]},
     "verified"),
    ("design by multipliers", {"space.lengths": [2.0]}, "less than the 0.33333 claimed"),
    ("design by prices", {"uniform.0.group": [1, 2, 2]}, "verified"),
    ("design by prices", {"space": APART, "prior": ["1/2", "1/2"], "loss": [["0", "1"], ["1", "0"]],
     "counts": [[UNIT, 0], [0, UNIT]], "uniform": [], "lower": 0.0, "upper": 0.0}, "verified"),
    ("design by multipliers", {"alpha": "0", "counts": [[UNIT, 0], [0, UNIT]], "multipliers": [],
     "uniform": [{"points": [0, 1], "group": [0, 1], "price": [0.0, 0.0]}], "lower": 0.0}, "verified"),
    ("design by multipliers", {"space.lengths": [0.0], "counts": [[UNIT, 0]] * 2, "multipliers": [],
     "uniform": [{"points": [0, 1], "group": [0, 0], "price": [0.25, 0.25]}], "lower": 0.4999999,
     "upper": 0.51}, "verified"),
    # Documents
    ("documents", {"bags": [[[0, 3]], [[0, 1], [1, 1], [2, 1]]], "plans": [[[0, 0, 1], [0, 1, 2]]]},
     "does not carry one document to the other"),
    # Inference
    ("frontier", TWO_SECRETS, "verified"),
    ("frontier", {**TWO_SECRETS, "limits": ["1", "1/2"]}, "which is more, and is worth"),
    ("frontier", {"joints": [], "wants": [], "limits": [], "weights": [], "given": []}, "do not fit"),
    ("frontier", {**TWO_SECRETS, "joints": [[["1/2", "1/2"]], [["1/2", "1/4", "1/4"]]]}, "do not fit"),
    ("frontier", {**TWO_SECRETS, "wants": [TRUE, None]}, "do not fit"),
    ("frontier", {**TWO_SECRETS, "weights": [[["0"], ["0"]], [["0", "0"]] * 2]}, "do not fit"),
    ("frontier", {"space.alpha": "3/2"}, "ε must be ≥ 0"),
    ("frontier", {"space.pairs": [[0, 1]] * 2, "space.lengths": ["1", "1"]}, "the edges have a circle"),
    ("frontier of a graph", {"space.pairs": [[0, 1]] * 2, "space.lengths": ["1", "1"]}, "verified"),
    ("frontier of a graph", {"multipliers": [[0, 0, 1, "1/3"], [0, 1, 0, "1/3"], [0, 0, 0, "0"]]},
     "verified"),
    ("frontier of a graph", {"multipliers": [[0, 0, 2, "1/3"], [0, 1, 0, "1/3"]]}, "that does not exist"),
    ("free frontier", {"space": FREE, "prior": THREE, "gain": [["1", "0", "0"]], "mechanism": [["1"]] * 3,
     "joints": [[["1/2", "3/8", "1/8"]]], "prices": ["1/2", "0", "0"], "weights": [[["0"]]],
     "lower": "1/2"}, "does not have the prior's probabilities"),
    ("accuracy", {"space.size": 4, "channel": EVEN * 2, "other": [TOLD[0], *[TOLD[1]] * 3],
     "joint": [["1/2", "0", "0", "0"], ["0", "1/6", "1/6", "1/6"]]}, "0 (1/2) and 1 (1/6), 2 (1/6), 3 (1/6)"),
    # Refinement
    ("geometric of response", {"first_parameter": "9/19"}, "verified"),
    ("geometric of response", {"first_parameter": "10/19"}, "says otherwise"),
    ("adversary", {"exact": False, "safer": UNEVEN, "before": "1/2", "after": "0.5000000004"},
     "does not prefer B"),
    ("adversary", {"exact": False, "safer": UNEVEN, "gain": [["3", "0"], ["0", "3"]], "before": "3/2",
     "after": "1.5000000012"}, "does not prefer B"),
    ("adversary", {"exact": False, "safer": [["0.5000000007", "0.4999999994"],
     ["0.4999999993", "0.5000000007"]], "gain": [["3", "0"], ["0", "3"]], "before": "3/2",
     "after": "1.5000000021"}, "expects 9e-10 more"),
    ("adversary at one output", {"prior": ["1", "0"], "before": "1", "after": "1"}, "does not prefer B"),
    ("class", {**SMALL, "post": [["1", "0", "0"], ["0", "1/2", "1/2"]]}, "may expect 0.25 more"),
    ("pair", {"pair": [3, 0]}, "not among the inputs"),
    ("pair", {"pair": [0, 3]}, "not among the inputs"),
    ("additive", {"channel": [["0.9999999995", "0"], ["0", "1"]], "lower": "0.49"}, "(to 1e-09)"),
    # Universal optimality
    ("quotient", {"inner": {**INNER, "kind": "universal optimality"}}, "verified"),
    ("crossing", {"loss": [["0", "1"], ["1", "0"], ["1", "1"]]}, "verified"),
    ("crossing", {"loss": [["0", "1"], ["1", "0"], ["0", "2"]]}, "verified"),
    ("crossing", {"space": {"size": 3, "edges": [[0, 1]]}, "channel": [*TOLD, TOLD[0]],
     "loss": [["0", "1", "0"], ["1", "0", "0"]]}, "does not hold"),
    ("by tree", {"alpha": "1", "space": {**TWO_INPUTS["space"], "lengths": [0.5]}, "channel": EVEN},
     "does not hold"),
    ("by tree", {"space": APART, "alpha": "1/2", "channel": TOLD}, "does not hold"),
    ("by pair", {"loss": [["0", "7", "7"], ["1", "7", "7"]], "witness": [0, 0]}, "does not hold"),
    ("by pair", {"witness": [0, 1, 1]}, "does not hold"),
    ("by pair", {"loss": [["0", "1", "7"]]}, "verified"),
    ("crossing", {"theorem": "pair"}, "verified"),
    ("crossing", {"theorem": "pair", "space": APART, "channel": TRUE}, "verified"),
    ("trivial", {"channel": BLANK}, "verified"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "words"), EDGES)
def test_at_the_edge_of_a_rule(name: str, changes: dict[str, Any], words: str) -> None:
    content = BASES[name]() if name in BASES else copy.deepcopy(MORE[name])
    for place, value in json.loads(json.dumps(changes)).items():
        changed(content, [int(step) if step.isdigit() else step for step in place.split(".")], value)
    assert words in str(first_opinion(content)).removeprefix("NOT verified" if words == "verified" else "")
    assert disagreement(content) is None


@pytest.mark.parametrize("name", ["product", "map", "worst", "line form"])
def test_one_record_where_a_proof_does_not_say_how_many(name: str) -> None:
    content = changed(BASES[name](), ["copies"], 1)
    bare = changed(copy.deepcopy(content), ["copies"])
    assert str(first_opinion(bare)) == str(first_opinion(content))
    assert proof_from_dict(bare).to_dict()["copies"] == 1
