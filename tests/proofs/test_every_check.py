"""For each check of each proof a forged proof that this check refuses, and says so in its own words.

`python -m pytest -p mutants tests/proofs` (tests/mutants.py) switches the checks off one by one.
"""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.proofs import Decay, ProofSpace, proof_from_dict, save_proof
from sievert.proofs._base import FORMAT
from sievert.proofs._design import check_private, require_rows
from sievert.spaces import Graph

Content = dict[str, Any]
UNIT = 2**53
HALF = 2**52
PATH = {"size": 3, "edges": [[0, 1], [1, 2]]}
EVEN = [["1/2", "1/2"], ["1/2", "1/2"]]
TRUE = [["1", "0"], ["0", "1"]]


def of(kind: str, **data: Any) -> Callable[[], Content]:
    return lambda: {"format": FORMAT, "kind": kind, **copy.deepcopy(data)}


def saved(make: Callable[[], Any]) -> Callable[[], Content]:
    kept: list[Content] = []

    def content() -> Content:
        if not kept:
            kept.append(json.loads(save_proof(make())))
        return copy.deepcopy(kept[0])

    return content


TOLD = [["2/3", "1/3"], ["1/3", "2/3"]]
FOLDED = [*TOLD, TOLD[0]]
BLANK = [["1"], ["1"]]
TWO_INPUTS: Content = {
    "space": {"size": 2, "edges": [[0, 1]]},
    "alpha": "1/2",
    "loss": [["0", "1"], ["1", "0"]],
}
BLIND_AT_MOST: Content = {
    **TWO_INPUTS,
    "channel": BLANK,
    "priors": [["0", "1"], ["1/2", "1/2"], ["1", "0"]],
    "prices": [["0", "0"], ["1/6", "1/6"], ["0", "0"]],
    "gap": "1/6",
}
THEIRS = (
    [["0", "1"], ["1/3", "2/3"], ["2/3", "1/3"], ["1", "0"]],
    [["0", "0"], ["1/3", "0"], ["0", "1/3"], ["0", "0"]],
)
PACKED = {"type": "packing", "y": [1.0, 1.0, 1.0]}
BLIND = {"type": "channel", "denominator": 1, "rows": [[1], [1], [1]]}
NO_DUAL = {"type": "dual", "y": [1.0, 1.0, 1.0], "forward": [], "backward": []}

TWO_DUAL = {"type": "dual", "y": [1.0, 1.0], "forward": [], "backward": []}
BLIND_OF_TWO = {"type": "channel", "denominator": 1, "rows": [[1], [1]]}

# One length between two inputs, e^-ε = 1/2: telling the input right is worth 2/3 at most.
NEAR: Content = {
    "form": "forest",
    "size": 2,
    "pairs": [[0, 1]],
    "lengths": ["1"],
    "eps": None,
    "alpha": "1/2",
}
FRONTIER: Content = {
    "prior": ["1/2", "1/2"],
    "gain": TRUE,
    "joints": [[["1/2", "1/2"]]],
    "wants": [None],
    "limits": ["1"],
    "mechanism": TOLD,
    "prices": ["1/3", "1/3"],
    "weights": [[["0"], ["0"]]],
    "multipliers": [],
    "given": ["1"],
    "lower": "2/3",
    "upper": "2/3",
    "tails": "0",
    "robust": False,
}

CLOSED = "worst leakage in closed form"

BASES: dict[str, Callable[[], Content]] = {
    "additive": of(
        "additive capacity",
        channel=TRUE,
        prior=[["1/2", "1/2"]],
        gain=TRUE,
        reference=[["1/2", "1/2"]],
        lower="1/2",
        upper="1/2",
        any_prior=False,
    ),
    "guess": of(
        "guess under a claim",
        eps="0",
        delta="0",
        values=2,
        prior=None,
        cover=["1/4"],
        used=1,
        lower="1/2",
        upper="1/2",
    ),
    "guess with a prior": of(
        "guess under a claim",
        eps="0",
        delta="0",
        values=2,
        prior=["1/2", "1/2"],
        cover=["1/4", "1/4"],
        used=1,
        lower="1/2",
        upper="1/2",
    ),
    "divergence": of(
        "guess under a divergence", values=3, order="2", divergence="1/5", eps="3/5", upper="1/2", rho="1/10"
    ),
    "limit order": of(
        "guess under a divergence",
        values=2,
        order="1",
        divergence="1/5",
        eps="7/10",
        upper="7/10",
        rho="1/5",
    ),
    "one order": of(
        "guess under a divergence",
        values=2,
        order="3/2",
        divergence="1/5",
        eps="7/10",
        upper="7/10",
        rho=None,
    ),
    "codes": of(
        "codes",
        bits=2,
        distance="1/2",
        eps="0",
        values=2,
        releases=1,
        xi="0",
        delta="0",
        guess="1/2",
    ),
    "noisy codes": of(
        "codes",
        bits=1,
        distance="1/2",
        eps="1",
        values=2,
        releases=1,
        xi="1/2",
        delta="15/100",
        guess="62/100",
    ),
    "documents": of(
        "documents",
        eps="1/2",
        vectors=[["0", "0"], ["3", "4"], ["1", "0"]],
        bags=[[[0, 2]], [[1, 1], [2, 1]]],
        plans=[[[0, 1, 1], [0, 2, 1]]],
        drawn=None,
        releases=1,
        nats="3",
        guess="953/1000",
    ),
    "documents, drawn": of(
        "documents",
        eps="1/2",
        vectors=[["0", "0"], ["3", "4"]],
        bags=[[[0, 1]], [[0, 1], [1, 1]]],
        plans=[[[0, 0, 1], [0, 1, 1]]],
        drawn=2,
        releases=1,
        nats="5",
        guess="994/1000",
    ),
    "repeated": of(
        "repeated guess between two values",
        eps="1",
        delta="0",
        releases=2,
        prior=["1/2", "1/2"],
        lower="1/2",
        upper="1",
    ),
    "composed": saved(lambda: sv.explain(eps=0.5, releases=4, values=3).certificate),
    "approximate": of(
        "approximate worst guess",
        space=PATH,
        eps="1",
        delta="0",
        objective=[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],
        dual={"y": [1.0, 1.0, 1.0], "forward": [], "backward": []},
        channel={"denominator": 1, "rows": [[1, 0], [1, 0], [1, 0]]},
        lower="3",
        upper="3.0001",
    ),
    "worst": of("worst leakage", space=PATH, eps="1", upper=PACKED, lower=BLIND),
    "weights": of("worst leakage", space=PATH, eps="1", upper=PACKED, lower=None, weights=[0.5, 0.3, 0.2]),
    "cover": of(
        "worst leakage",
        space=PATH,
        eps="1",
        upper={"type": "cover", "centres": [1], "radius": 1.0},
        lower={"type": "levels", "source": 0},
    ),
    "dual": of("worst leakage", space=PATH, eps="1", upper=NO_DUAL, lower=None),
    "kernel": of(
        "worst leakage",
        space=PATH,
        eps="1",
        upper=PACKED,
        lower={"type": "kernel", "z": [1.0, 1.0, 1.0], "t": 0.1},
    ),
    "metric": of(
        "worst leakage",
        space={"size": 3, "edges": [[0, 1], [0, 2], [1, 2]], "lengths": [1.0, 1.5, 1.2], "metric": True},
        eps="1",
        upper=PACKED,
        lower=BLIND,
    ),
    "transitive": of(
        "worst leakage",
        space={"size": 3, "edges": [[0, 1], [1, 2], [0, 2]]},
        eps="1",
        upper={"type": "transitive", "symmetries": [[1, 2, 0]]},
        lower={"type": "transitive", "symmetries": [[1, 2, 0]]},
    ),
    "tree": of(
        "worst leakage",
        space=PATH,
        eps="1",
        upper={"type": "tree", "mu": [0.0, 0.0, 0.0]},
        lower={"type": "tree", "denominator": 10, "there": [3, 3], "back": [3, 3]},
    ),
    "blocks": saved(
        lambda: (
            sv.worst_leakage(
                Graph(range(7), [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (3, 5), (3, 6)]), 0.4
            ).certificate
        )
    ),
    "parts": of(
        "worst leakage",
        space={"size": 4, "edges": [[0, 1], [2, 3]]},
        eps="1",
        upper={"type": "parts", "parts": [{"type": "points", "points": [[0, 1], [2, 3]]}]},
        lower=None,
    ),
    "complete form": of(CLOSED, eps="1", form="complete", size=5000, length="1/2", gaps=None, reach=None),
    "line form": of(
        CLOSED, eps="1", form="line", size=6, length=None, gaps=[["1", 3], ["1/2", 2]], reach=None, copies=2
    ),
    "star form": of(CLOSED, eps="1", form="star", size=5000, length=None, gaps=None, reach=None),
    "row form": of(CLOSED, eps="1/2", form="row", size=5000, length=None, gaps=None, reach=7),
    "map": of(
        "worst leakage of a map",
        eps="1/2",
        step="2",
        rows=9,
        columns=8,
        upper={"every": [1, 2], "weights": [[1.0, 0.5, 0.5, 1.0], [0.5] * 4, [1.0] * 4], "reach": 2},
        terms=20,
        prior=None,
        copies=2,
    ),
    "map with a prior": of(
        "worst leakage of a map",
        eps="1/2",
        step="2",
        rows=2,
        columns=3,
        upper={"every": [1, 1], "weights": None, "reach": 1},
        terms=None,
        prior=[[3.0, 1.0, 0.0], [1.0, 1.0, 2.0]],
    ),
    "product": of(
        "worst leakage of a product",
        eps="1",
        factors=[
            {"space": PATH, "upper": PACKED, "lower": BLIND},
            {"space": {"size": 2, "edges": [[0, 1]]}, "upper": TWO_DUAL, "lower": BLIND_OF_TWO},
        ],
        copies=1,
        given={"size": 6, "edges": [[0, 1], [2, 3], [4, 5], [0, 2], [2, 4], [1, 3], [3, 5]]},
        places=[[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]],
    ),
    "one way": of(
        "worst leakage, one way",
        size=2,
        arcs=[[0, 1]],
        eps="1",
        upper={"type": "packing", "y": [1.0, 1.0]},
        lower={"denominator": 1, "rows": [[1], [1]]},
    ),
    "one way, dual": of(
        "worst leakage, one way",
        size=2,
        arcs=[[0, 1]],
        eps="1",
        upper={"type": "dual", "y": [1.0, 1.0], "forward": [], "backward": []},
        lower={"denominator": 1, "rows": [[1], [1]]},
    ),
    "groups": of(
        "worst of groups",
        space=PATH,
        eps="1",
        outputs=None,
        symmetries=[],
        cases=[{"points": [0, 2], "upper": {"type": "packing", "on": [0, 2], "y": [1.0, 1.0]}}],
        lower={"points": [0, 2], "channel": {"denominator": 2, "rows": [[1, 1], [1, 1], [1, 1]]}},
    ),
    "outputs": of(
        "worst of groups",
        space=PATH,
        eps="1",
        outputs=1,
        symmetries=[[2, 1, 0]],
        cases=[{"points": [k], "upper": {"type": "packing", "on": [k], "y": [1.0]}} for k in (0, 1)],
        lower={"points": [1], "channel": {"denominator": 1, "rows": [[1], [1], [1]]}},
    ),
    "design": of(
        "optimal design",
        space=PATH,
        eps="1",
        prior=[0.5, 0.25, 0.25],
        loss=[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]],
        counts=[[UNIT, 0]] * 3,
        multipliers=[],
        uniform=[],
        lower=0.0,
        upper=0.6,
    ),
    "fine design": of(
        "optimal design",
        space={"size": 2, "edges": [[0, 1]]},
        alpha="1/2",
        prior=["1/2", "1/2"],
        loss=[["0", "1"], ["1", "0"]],
        bits=60,
        counts=[[str(2**61 // 3), str(2**60 // 3 + 1)], [str(2**60 // 3 + 1), str(2**61 // 3)]],
        multipliers=[[0, 1, str(2**60 // 3)], [1, 0, str(2**60 // 3)]],
        uniform=[],
        lower=0.33333,
        upper=0.33334,
    ),
    "uniform design": of(
        "optimal design",
        space={"size": 3, "edges": [[0, 1], [0, 2], [1, 2]]},
        eps="1",
        prior=[0.5, 0.25, 0.25],
        loss=[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]],
        counts=[[UNIT, 0]] * 3,
        multipliers=[],
        uniform=[{"points": [0, 1, 2], "group": [0, 1, 2], "price": [0.0, 0.0, 0.0]}],
        lower=0.0,
        upper=0.6,
    ),
    "hub design": of(
        "optimal design",
        space={"size": 3, "edges": [[0, 2], [1, 2]]},
        eps="1",
        prior=[0.5, 0.25, 0.25],
        loss=[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]],
        counts=[[UNIT, 0]] * 3,
        multipliers=[],
        uniform=[],
        lower=0.0,
        upper=0.6,
    ),
    "alpha design": of(
        "optimal design",
        space=PATH,
        alpha="1/2",
        prior=[0.5, 0.25, 0.25],
        loss=[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]],
        counts=[[UNIT, 0]] * 3,
        multipliers=[],
        uniform=[],
        lower=0.0,
        upper=0.6,
    ),
    "exact design": of(
        "exact optimal design",
        space={"size": 2, "edges": [[0, 1]]},
        alpha="1/2",
        prior=["1", "0"],
        loss=[["0", "1"], ["1", "0"]],
        channel=[["1", "0"], ["1", "0"]],
        multipliers=[],
    ),
    "leakage design": of(
        "leakage design",
        family="least leakage",
        prior=[0.5, 0.5],
        loss=[[0.0, 1.0], [1.0, 0.0]],
        gain=[[1.0, 0.0], [0.0, 1.0]],
        budget=0.5,
        counts=[[UNIT, 0], [UNIT, 0]],
        strategy=[[0.5, 0.5], [0.5, 0.5]],
        price=0.0,
        lower=0.4,
        upper=0.6,
    ),
    "likelihood": of(
        "likelihood",
        rows=[["3/4", "1/4"], ["1/4", "3/4"]],
        outputs=[2],
        counts=["1", "1"],
        distribution=["1/2", "1/2"],
        reports="2",
        bound="1/1000",
    ),
    "transport": of(
        "transport",
        distances=[["0", "1"], ["1", "0"]],
        p=["1", "0"],
        q=["0", "1"],
        moves=[[0, 1, "1"]],
        potentials=["1", "0"],
        lower="1",
        upper="1",
    ),
    "families": of(
        "refinement of families",
        first="truncated geometric",
        second="truncated geometric",
        size=3,
        first_parameter="1/3",
        second_parameter="1/2",
        holds=True,
    ),
    "noise": of("noise", eps="1", step_eps="1/2", step_alpha=None, moves=[[2, "1"]]),
    "noise by ratio": of("noise", eps="0.6931471806", step_eps=None, step_alpha="1/2", moves=[[1, "1"]]),
    "partitions": of("partitions", less_safe=[0, 1, 2], safer=[0, 0, 1], pair=None),
    "pair": of("partitions", less_safe=[0, 0, 1], safer=[0, 1, 1], pair=[0, 1]),
    "block sizes": of("block sizes", less_safe=[[2, 1]], safer=[[1, 2]]),
    "staircase": of(
        "staircase noise", eps="1", stair_eps="1/2", width=2, top=1, cells=1, moves=[[4, "1"], [1, "1"]]
    ),
    "tables": of(
        "noise of several tables",
        eps="2",
        tables=[
            {"eps": "1/2", "width": 1, "cells": [0, 1, 0], "amounts": [1, 1, 1]},
            {"eps": "1/4", "width": 2, "cells": [0, 0, 0], "amounts": [0, -7, 1]},
        ],
        edges=None,
        pair=[0, 1],
    ),
    "tables of a policy": of(
        "noise of several tables",
        eps="1",
        tables=[{"eps": "1/2", "width": 1, "cells": [0, 1, 0], "amounts": [1, 1, 4]}],
        edges=[[0, 1, "1"], [2, 0, "3/2"]],
        pair=[2, 0],
    ),
    "Gaussian noise": of(
        "Gaussian noise", rho="1/4", variance="9", moves=[[[2, 1], "2"], [[3], "3/2"], [[1, 1], "2/3"]]
    ),
    "released rows": of(
        "released mechanism",
        space={**NEAR, "alpha": None, "eps": "7/10"},
        law="rows",
        rows=TOLD,
        level=None,
        places=None,
        labels=["no", "yes"],
    ),
    "released response": of(
        "released mechanism",
        space={"form": "uniform", "size": 4, "pairs": [], "lengths": ["2"], "eps": "1/2", "alpha": None},
        law="response",
        rows=None,
        level={"eps": "1"},
        places=None,
    ),
    "released noise": of(
        "released mechanism",
        space={
            **NEAR,
            "size": 3,
            "pairs": [[0, 1], [2, 1]],
            "lengths": ["1", "5"],
            "alpha": None,
            "eps": "7/5",
        },
        law="noise",
        rows=None,
        level={"alpha": "1/2"},
        places=["0", "2", "12"],
    ),
    "released places": of(
        "released mechanism",
        space={"form": "uniform", "size": 36, "pairs": [], "lengths": ["250"], "eps": "1/100", "alpha": None},
        law="plane",
        rows=None,
        level={"eps": "5/2"},
        places=None,
    ),
    "released noise of any two": of(
        "released mechanism",
        space={"form": "uniform", "size": 3, "pairs": [], "lengths": ["1"], "eps": "3", "alpha": None},
        law="noise",
        rows=None,
        level={"eps": "1/2"},
        places=["3", "-1", "5"],
    ),
    "Gaussian": of(
        "guess through Gaussian noise",
        values=3,
        mu="1",
        step="1/2",
        strip="2",
        terms=20,
        lower="546244/1000000",
        upper="546245/1000000",
    ),
    "deficiency": of(
        "deficiency",
        less_safe=[["1/2", "1/2"], ["1/2", "1/2"]],
        safer=TOLD,
        post=EVEN,
        prior=[["1/2", "1/2"]],
        gain=TRUE,
        lower="1/6",
        upper="1/6",
        any_prior=True,
    ),
    "deficiency of a prior": of(
        "deficiency",
        less_safe=BLANK,
        safer=TOLD,
        post=[["2/3", "1/3"]],
        prior=[["3/4", "1/4"]],
        gain=TRUE,
        lower="0",
        upper="1/12",
        any_prior=False,
    ),
    "runs": of(
        "leak in runs",
        eps="1",
        delta="1/10",
        distance="1",
        confidence="9/10",
        likelier=[90, 100],
        other=[10, 100],
        low="8/10",
        high="2/10",
    ),
    "order of noise": of(
        "order of noise", first={"alpha": "1/4"}, second={"alpha": "1/2"}, holds=True, weight="2/9"
    ),
    "order of two forms": of(
        "order of noise", first={"eps": "1"}, second={"alpha": "1/4"}, holds=False, weight=None
    ),
    "Dalenius": of("Dalenius witness", less_safe=EVEN, safer=TRUE, joint=[["1/2", "0"], ["0", "1/2"]]),
    "no free lunch": of("no free lunch", channel=TOLD, prior=["1/2", "1/2"]),
    "inference": of("inference counter-example", channel=TOLD, pair=[0, 1]),
    "accuracy": of(
        "accuracy counter-example",
        space={**NEAR, "form": "uniform", "pairs": []},
        channel=EVEN,
        other=TOLD,
        joint=[["1/2", "0"], ["0", "1/2"]],
    ),
    "frontier": of("inference frontier", space=NEAR, **FRONTIER),
    "frontier of a graph": of(
        "inference frontier",
        space={**NEAR, "form": "graph"},
        **{**FRONTIER, "multipliers": [[0, 0, 1, "1/3"], [0, 1, 0, "1/3"]]},
    ),
    "free frontier": of(
        "inference frontier",
        space={"form": "free", "size": 2, "pairs": [], "lengths": [], "eps": None, "alpha": None},
        **{**FRONTIER, "prices": ["1/2", "1/2"], "upper": "1", "lower": "2/3"},
    ),
    "privacy": of("privacy order holds", less_safe=[["3/4", "1/4"], ["1/4", "3/4"]], safer=EVEN, exact=True),
    "privacy witness": of("privacy order", less_safe=EVEN, safer=TRUE, pair=[0, 1], output=0, exact=True),
    "metric order": of(
        "privacy order for one metric",
        less_safe=[["3/4", "1/4"], ["1/4", "3/4"]],
        safer=EVEN,
        metric=[["0", "1"], ["1", "0"]],
        holds=True,
        exact=True,
    ),
    "refinement": of("refinement", less_safe=TRUE, safer=EVEN, post=EVEN, tolerance="0"),
    "mixture": of("max refinement", less_safe=TRUE, safer=EVEN, mixing=EVEN, tolerance="0"),
    "adversary": of(
        "objecting adversary",
        less_safe=EVEN,
        safer=TRUE,
        gain=TRUE,
        prior=["1/2", "1/2"],
        case="average",
        exact=True,
        before="1/2",
        after="1",
    ),
    "class": of(
        "class of adversaries",
        less_safe=TRUE,
        safer=EVEN,
        generators=TRUE,
        prior=["1/2", "1/2"],
        post=EVEN,
        tolerance="0",
    ),
    "universal": of(
        "universal optimality",
        **TWO_INPUTS,
        channel=TOLD,
        priors=[["0", "1"], ["1/3", "2/3"], ["2/3", "1/3"], ["1", "0"]],
        prices=[["0", "0"], ["1/3", "0"], ["0", "1/3"], ["0", "0"]],
        gap="0",
    ),
    "better": of(
        "better for a prior", **TWO_INPUTS, channel=BLANK, prior=["1/2", "1/2"], better=TOLD, gap="1/6"
    ),
    "largest gap": of(
        "largest gap over priors",
        attained={**TWO_INPUTS, "channel": BLANK, "prior": ["1/2", "1/2"], "better": TOLD, "gap": "1/6"},
        most=BLIND_AT_MOST,
    ),
    "regret": of(
        "least regret",
        most={**BLIND_AT_MOST, "channel": TOLD, "priors": THEIRS[0], "prices": THEIRS[1], "gap": "0"},
        priors=[["1/2", "1/2"]],
        weights=["1"],
        rivals=[TOLD],
        prices=["1/6", "1/6"],
    ),
    "crossing": of(
        "universal optimality by theorem",
        **TWO_INPUTS,
        channel=TOLD,
        theorem="single crossing",
        witness=[0, 1],
    ),
    "by tree": of("universal optimality by theorem", **TWO_INPUTS, channel=TOLD, theorem="tree", witness=[]),
    "by pair": of(
        "universal optimality by theorem",
        space=PATH,
        alpha="1/2",
        channel=FOLDED,
        loss=[["0", "1", "7"], ["1", "0", "7"]],
        theorem="pair",
        witness=[0, 1],
    ),
    "trivial": of(
        "universal optimality by theorem",
        **{**TWO_INPUTS, "loss": [["0", "1"], ["1", "1"]]},
        channel=BLANK,
        theorem="trivial",
        witness=[0],
    ),
    "quotient": of(
        "universal optimality of blocks",
        space=PATH,
        alpha="1/2",
        channel=FOLDED,
        loss=[["0", "1", "0"], ["1", "0", "5"]],
        blocks=[[0, 2], [1]],
        inner={
            "format": FORMAT,
            "kind": "universal optimality by theorem",
            **TWO_INPUTS,
            "channel": TOLD,
            "theorem": "single crossing",
            "witness": [0, 1],
        },
    ),
}

# base, the entry that is changed, its new value, words of the check that refuses it
FORGED: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("universal", ("alpha",), "3/2", "alpha must be from 0 to 1"),
    ("universal", ("alpha",), "3/4", "not private between points"),
    ("universal", ("loss",), [["0", "1", "0"]], "do not fit each other"),
    ("universal", ("channel",), [*TOLD, TOLD[0]], "do not fit each other"),
    ("universal", ("channel", 0), ["2/3", "2/3"], "sum"),
    ("universal", ("prices",), THEIRS[1][1:], "one price for each input"),
    ("universal", ("priors", 0), ["1/2", "1"], "distribution"),
    ("universal", ("prices", 1), ["1/4", "0"], "too low for the gap"),
    ("universal", ("prices", 1), ["1/2", "0"], "prices exceed"),
    ("universal", ("gap",), "-1/10", "too low for the gap"),
    ("better", ("gap",), "1/7", "no gap of 1/7"),
    ("better", ("better",), BLANK, "no gap of 1/6"),
    ("better", ("better",), TRUE, "not private between points"),
    ("better", ("prior",), ["1/2", "1/4"], "distribution"),
    ("better", ("channel",), [["0"], ["0"]], "sum"),
    ("largest gap", ("most", "gap"), "1/3", "a gap of 1/6 is attained, and one of 1/3 bounded"),
    ("largest gap", ("most", "alpha"), "1/3", "different mechanisms, losses or metrics"),
    ("largest gap", ("most", "priors"), [["0", "1"], ["1", "0"], ["1", "0"]], "prices exceed"),
    ("regret", ("weights",), ["1/2"], "distribution"),
    ("regret", ("rivals",), [], "one rival"),
    ("regret", ("prices",), ["1/3"], "one price"),
    ("regret", ("rivals", 0), TRUE, "not private between points"),
    ("regret", ("prices",), ["1/5", "1/6"], "costs less than the prices say"),
    ("regret", ("prices",), ["1/8", "1/8"], "a regret of at least -1/12 is proved"),
    ("crossing", ("theorem",), "magic", "unknown theorem"),
    ("crossing", ("witness",), [1, 0], "what the theorem asks for does not hold"),
    ("crossing", ("witness",), [0, 0], "what the theorem asks for does not hold"),
    ("crossing", ("witness",), [0], "what the theorem asks for does not hold"),
    ("crossing", ("channel",), [["3/5", "2/5"], ["2/5", "3/5"]], "what the theorem asks for does not hold"),
    ("by tree", ("loss",), [["0", "0"], ["1", "1"]], "what the theorem asks for does not hold"),
    ("by tree", ("channel",), [["3/5", "2/5"], ["2/5", "3/5"]], "what the theorem asks for does not hold"),
    ("by pair", ("loss", 0), ["0", "1", "6"], "what the theorem asks for does not hold"),
    ("by pair", ("witness",), [0, 2], "what the theorem asks for does not hold"),
    ("by pair", ("witness",), [0, 0], "what the theorem asks for does not hold"),
    ("by pair", ("witness",), [0, 3], "what the theorem asks for does not hold"),
    ("trivial", ("witness",), [1], "what the theorem asks for does not hold"),
    ("trivial", ("witness",), [2], "what the theorem asks for does not hold"),
    ("quotient", ("blocks",), [[0, 2]], "no partition"),
    ("quotient", ("blocks",), [[0, 2], [1], []], "no partition"),
    ("quotient", ("blocks",), [[0, 1], [2]], "the mechanism tells inputs of one block apart"),
    ("quotient", ("loss", 0), ["0", "1", "6"], "the loss tells inputs of one block apart"),
    ("quotient", ("space", "edges"), [[0, 1]], "at different distances from another"),
    ("quotient", ("inner", "alpha"), "2/3", "of another kind"),
    ("quotient", ("inner", "loss"), [["0", "2"], ["1", "0"]], "has another loss"),
    ("quotient", ("inner", "channel"), BLANK, "has another mechanism"),
    ("quotient", ("inner", "space", "edges"), [], "has another metric"),
    ("additive", ("prior",), [["1"]], "sizes of the channel"),
    ("additive", ("reference",), [["1"]], "sizes of the channel"),
    ("additive", ("gain",), [["2", "0"], ["0", "1"]], "outside [0, 1]"),
    ("additive", ("channel", 0), ["3/2", "-1/2"], "negative entry"),
    ("additive", ("channel", 0), ["1", "1/2"], "does not sum to 1"),
    ("additive", ("lower",), "3/5", "gains 0.5 only"),
    ("additive", ("upper",), "2/5", "the reference allows"),
    ("additive", ("gain",), [[]], "empty or ragged"),
    ("additive", ("gain",), [["1", "0"], ["1"]], "empty or ragged"),
    ("additive", ("prior", 0), "1", "must be a list"),
    ("guess", ("eps",), "-1", "eps must be ≥ 0"),
    ("guess", ("used",), 0, "used between 1 and values"),
    ("guess", ("used",), 3, "used between 1 and values"),
    ("guess", ("cover",), ["-1"], "must not be negative"),
    ("guess", ("cover",), ["1/4", "1/4"], "one entry of the cover"),
    ("guess", ("cover",), ["1/8"], "does not bound"),
    ("guess", ("upper",), "1/4", "does not prove the ends"),
    ("guess", ("delta",), "2", "between 0 and 1"),
    ("guess with a prior", ("prior",), ["1/4", "1/2"], "the prior the sum 1"),
    ("guess with a prior", ("cover",), ["1/2"], "prior and cover need one entry"),
    ("divergence", ("order",), "1/2", "order must be 1 or more"),
    ("divergence", ("divergence",), "-1/5", "divergence and eps 0 or more"),
    ("divergence", ("eps",), "-3/5", "divergence and eps 0 or more"),
    ("divergence", ("rho",), "1/20", "ρ times the order"),
    ("divergence", ("values",), 1, "whole number"),
    ("divergence", ("eps",), "1/2", "keeps the divergence"),
    ("divergence", ("upper",), "47/100", "less than the guess of the response"),
    ("divergence", ("upper",), "3/2", "or above 1"),
    ("limit order", ("eps",), "3/5", "keeps the divergence"),
    ("limit order", ("upper",), "2/3", "less than the guess of the response"),
    ("one order", ("order",), "1", "order above 1"),
    ("one order", ("divergence",), "2/5", "keeps the divergence"),
    ("codes", ("bits",), 0, "must be 1 or more"),
    ("codes", ("releases",), 9999, "few enough to check"),
    ("codes", ("distance",), "3/2", "distance must be from 0 to 1"),
    ("codes", ("eps",), "-1", "eps and xi at least 0"),
    ("codes", ("values",), 1, "values 2 or more"),
    ("codes", ("xi",), "-1", "eps and xi at least 0"),
    ("codes", ("eps",), "1", "so small a δ"),
    ("noisy codes", ("delta",), "14/100", "so small a δ"),
    ("noisy codes", ("xi",), "4/10", "so small a δ"),
    ("noisy codes", ("guess",), "61/100", "so small a guess"),
    ("noisy codes", ("eps",), "11/10", "so small a δ"),
    ("noisy codes", ("releases",), 2, "so small a δ"),
    ("documents", ("eps",), "-1", "eps must be ≥ 0"),
    ("documents", ("releases",), 0, "releases and drawn 1 or more"),
    ("documents", ("releases",), 2, "longer than the nats that are stated"),
    ("documents", ("nats",), "299/100", "longer than the nats that are stated"),
    ("documents", ("vectors", 1), ["3", "41/10"], "longer than the nats that are stated"),
    ("documents", ("vectors", 1), ["5"], "different lengths"),
    ("documents", ("guess",), "952/1000", "do not prove the guess"),
    ("documents", ("bags",), [[[0, 2]]], "two documents or more"),
    ("documents", ("plans",), [], "a plan for every pair"),
    ("documents", ("bags", 0), [[0, 1], [0, 1]], "a word twice or less than once"),
    ("documents", ("bags", 0), [[0, 3]], "different sizes, and a release shows its size"),
    ("documents", ("plans", 0), [[0, 2, 2]], "does not carry one document to the other"),
    ("documents", ("plans", 0), [[0, 1, 1], [0, 2, 1], [0, 2, 0]], "a way carries nothing"),
    ("documents", ("plans", 0), [[0, 1, 1], [2, 2, 1]], "a word that is not there"),
    ("documents, drawn", ("drawn",), 0, "releases and drawn 1 or more"),
    ("documents, drawn", ("drawn",), 3, "longer than the nats that are stated"),
    ("documents, drawn", ("plans", 0), [[0, 0, 2]], "does not carry one document to the other"),
    ("repeated", ("eps",), "-1", "eps must be ≥ 0"),
    ("repeated", ("releases",), 0, "releases ≥ 1"),
    ("repeated", ("prior",), ["1/2", "1/4"], "prior must sum to 1"),
    ("repeated", ("upper",), "3/5", "do not enclose"),
    ("composed", ("delta",), "2", "delta a probability"),
    ("composed", ("eps",), "-1", "eps must be ≥ 0"),
    ("composed", ("eps",), "5", "not as private"),
    ("approximate", ("eps",), "-1", "eps must be ≥ 0"),
    ("approximate", ("objective",), [[1.0], [1.0]], "one row of finite numbers"),
    ("approximate", ("channel", "rows"), [[1, 0], [1, 0]], "one row for each point"),
    ("approximate", ("channel", "rows", 0), [2, 0], "not distributions"),
    ("approximate", ("lower",), "4", "does not prove the ends"),
    (
        "approximate",
        ("channel", "rows"),
        [[1, 0], [1, 0], [0, 1]],
        "not private enough",
    ),
    ("worst", ("eps",), "-1", "eps must be ≥ 0"),
    ("worst", ("copies",), 0, "whole number ≥ 1"),
    ("worst", ("space",), {"size": 3, "edges": [[0, 3]]}, "names a point that does not exist"),
    ("worst", ("space",), {**PATH, "lengths": [1.0]}, "every edge needs one length"),
    ("worst", ("space",), {**PATH, "lengths": [[1.0], [1.0]]}, "every edge needs one length"),
    ("worst", ("space",), {**PATH, "lengths": [1.0, -1.0]}, "finite and ≥ 0"),
    ("worst", ("space",), {**PATH, "metric": True}, "each pair at finite distance exactly once"),
    ("worst", ("space",), {"size": 6001, "edges": [], "metric": True}, "too many for a table of distances"),
    ("worst", ("gain",), [[1.0]], "gain must have one finite entry"),
    ("worst", ("upper", "y"), [1.0, 1.0], "one finite entry ≥ 0"),
    ("worst", ("upper", "y"), [1.0, -0.5, 1.0], "one finite entry ≥ 0"),
    ("worst", ("upper", "y"), [0.0, 0.0, 0.0], "uncovered"),
    ("worst", ("upper", "y"), ["1", "1", "1"], "not a finite number"),
    ("worst", ("upper", "type"), "wishful", "unknown upper certificate"),
    ("worst", ("lower", "type"), "wishful", "unknown lower certificate"),
    ("worst", ("lower", "rows"), [[1], [1]], "one row for each point"),
    ("worst", ("lower", "rows"), [[], [], []], "one row for each point"),
    ("worst", ("lower", "rows", 0), [2], "not distributions"),
    ("worst", ("lower", "rows"), [[1, 0], [1, 0], [0, 1]], "not private between"),
    ("worst", ("upper",), {"type": "tree", "mu": [0.0, 0.0]}, "finite and ≥ 0, one for each"),
    ("weights", ("weights",), [0.5, 0.5], "weights must have one finite entry"),
    ("weights", ("upper", "type"), "points", "capacity only"),
    ("weights", ("copies",), 2, "only a packing certificate"),
    ("weights", ("gain",), [[1.0], [1.0], [1.0]], "not a general gain"),
    ("cover", ("upper", "centres"), [], "centres that are points"),
    ("cover", ("upper", "centres"), [3], "centres that are points"),
    ("cover", ("upper", "radius"), 0.5, "farther from every centre"),
    ("cover", ("lower", "source"), 3, "from 0 to 2"),
    ("cover", ("space",), {**PATH, "lengths": [0.5, 0.5]}, "whole lengths"),
    ("dual", ("upper", "y"), [1.0], "one finite entry for each point"),
    ("dual", ("upper", "forward"), [[0, 0]], "a triple of finite numbers"),
    ("dual", ("upper", "forward"), [[0, 0, -1.0]], "multipliers must be ≥ 0"),
    ("dual", ("upper", "forward"), [[0.5, 0, 1.0]], "whole numbers"),
    ("dual", ("upper", "forward"), [[0, 0, 1.0], [0, 0, 2.0]], "two multipliers"),
    ("dual", ("upper", "forward"), [[0, 0, 1e308], [1, 0, 1e308]], "overflow"),
    ("kernel", ("lower", "z"), [1.0, 1.0], "finite weights ≥ 0"),
    ("kernel", ("lower", "t"), 1.0, "0 ≤ t < 1"),
    ("kernel", ("lower", "z"), [0.0, 0.0, 0.0], "weights are all 0"),
    ("kernel", ("lower", "t"), 0.0, "remainder of the kernel channel"),
    ("transitive", ("upper", "symmetries"), [[1, 1, 0]], "permutation"),
    ("transitive", ("upper", "symmetries"), [[0, 2, 1]], "do not move one point"),
    ("transitive", ("space",), {**PATH, "lengths": [1.0, 1.0]}, "edges of the same length"),
    ("transitive", ("space",), {"size": 3, "edges": []}, "connected graph"),
    ("transitive", ("space", "lengths"), [0.5, 0.5, 0.5], "whole lengths"),
    ("tree", ("space",), {"size": 3, "edges": [[0, 1], [1, 2], [0, 2]]}, "has a cycle"),
    ("tree", ("lower", "there"), [3], "both probabilities"),
    ("tree", ("lower", "there"), [1, 3], "not private on some edge"),
    ("tree", ("lower",), {"type": "tree", "denominator": 10, "there": [5, 6], "back": [6, 5]}, "negative"),
    ("blocks", ("upper", "blocks", 0, "vertices"), [0, 1, 9], "does not exist"),
    ("blocks", ("upper", "blocks", 0, "edges"), [], "does not exist"),
    ("blocks", ("upper", "blocks", 0, "vertices"), [0, 0, 1, 2, 3, 4, 5, 6], "a vertex twice"),
    ("blocks", ("upper", "blocks", 0, "vertices"), [0, 1, 2, 3, 4, 5, 6], "cut vertices only"),
    ("blocks", ("upper", "blocks"), [], "every edge exactly once"),
    (
        "worst",
        ("lower",),
        {
            "type": "blocks",
            "blocks": [
                {"vertices": [1, end], "edges": [edge], "denominator": 1, "rows": [[0, 1], [0, 1]]}
                for edge, end in enumerate((0, 2))
            ],
        },
        "leave a vertex with a negative probability",
    ),
    (
        "worst",
        ("lower",),
        {
            "type": "blocks",
            "blocks": [
                {"vertices": [1, end], "edges": [edge], "denominator": 1, "rows": [[1, 0, 0], [1, 0, 0]]}
                for edge, end in enumerate((0, 2))
            ],
        },
        "must be square",
    ),
    ("parts", ("upper", "parts", 0, "points"), [[0, 1], [2, 4]], "does not exist"),
    ("parts", ("upper", "parts", 0, "points"), [[0, 1], [1, 2]], "exactly once"),
    ("parts", ("upper", "parts", 0, "points"), [[0, 2], [1, 3]], "joins two parts"),
    ("parts", ("space", "lengths"), [1.0, 2.0], "different edges"),
    ("parts", ("space", "edges"), [[0, 1]], "different edges"),
    ("complete form", ("eps",), "-1", "eps must be ≥ 0"),
    ("complete form", ("size",), 10**15 + 1, "size from 1"),
    ("complete form", ("form",), "ring", "'ring' is unknown"),
    ("complete form", ("length",), None, "needs length alone"),
    ("complete form", ("length",), "-1", "length must be ≥ 0"),
    ("complete form", ("reach",), 1, "needs length alone"),
    ("line form", ("size",), 7, "one gap less"),
    ("line form", ("gaps", 0, 1), 4, "one gap less"),
    ("line form", ("gaps", 0, 0), "-1", "gaps ≥ 0"),
    ("line form", ("gaps",), [["1", 6], ["1", -1]], "-1"),
    ("star form", ("gaps",), [], "needs its size alone"),
    ("row form", ("eps",), "0", "eps must be above 0"),
    ("row form", ("reach",), 0, "0"),
    ("map", ("eps",), "-1", "eps must be ≥ 0"),
    ("map", ("step",), "0", "step above 0"),
    ("map", ("rows",), 10**6 + 1, "sides at most"),
    ("map", ("upper", "weights"), None, "needs weights"),
    ("map", ("upper", "weights", 1, 0), -0.5, "1e-100 to 1e100"),
    ("map", ("upper", "weights", 1, 0), 1e200, "1e-100 to 1e100"),
    ("map", ("upper", "weights"), [[0.0]], "uncovered"),
    ("map", ("upper", "weights"), [[1.0, 0.5], [1.0, 0.5]], "odd number"),
    ("map", ("upper", "weights"), [[1.0] * 5] * 3, "odd number"),
    ("map", ("upper", "weights"), [[1.0], [1.0, 1.0], [1.0]], ""),
    ("map", ("upper", "every"), [1, 17], "not on the map"),
    ("map", ("upper", "every"), [0, 1], "0"),
    ("map", ("upper", "reach"), 1001, "reach 1000"),
    ("map", ("terms",), 401, "400 terms"),
    ("map", ("copies",), 0, "0"),
    ("map", ("prior",), [[1.0] * 8] * 9, "one record"),
    ("map with a prior", ("copies",), 2, "one record"),
    ("map with a prior", ("prior",), [[1.0, 1.0, 1.0]], "for each cell"),
    ("map with a prior", ("prior",), [[0.0] * 3] * 2, "not all 0"),
    ("map with a prior", ("prior", 0, 0), -1.0, "1e-100 to 1e100"),
    ("map with a prior", ("upper", "every"), [2, 2], "every cell"),
    ("product", ("eps",), "-1", "eps must be ≥ 0"),
    ("product", ("copies",), 2, "over several records every factor"),
    ("product", ("factors", 0, "upper"), NO_DUAL, "all factors but one"),
    ("product", ("factors", 0, "lower"), None, "every factor needs a lower certificate"),
    ("product", ("factors",), [], "from 1 to 64 factors"),
    ("product", ("given",), None, "needs the places"),
    ("product", ("places",), None, "needs the places"),
    ("product", ("places", 5), [2, 0], "same places"),
    ("product", ("places", 5), [3, 1], "a place does not exist"),
    ("product", ("places",), [[0, 0], [0, 1]], "a point for every choice"),
    ("product", ("given", "size"), 7, "a point for every choice"),
    # One edge fewer, one more, one in another place, one twice, one longer: no other rule is broken.
    (
        "product",
        ("given", "edges"),
        [[0, 1], [2, 3], [4, 5], [0, 2], [2, 4], [1, 3]],
        "not those of the product",
    ),
    ("product", ("given", "edges", 6), [0, 4], "not those of the product"),
    ("product", ("given", "edges", 6), [0, 3], "changes no place, or several"),
    ("product", ("given", "edges", 6), [2, 4], "an edge stands twice"),
    ("product", ("given", "lengths"), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0], "not those of the product"),
    ("product", ("factors", 0, "space", "lengths"), [1.0, 2.0], "not those of the product"),
    ("one way", ("arcs",), [[0, 2]], "does not exist"),
    ("one way", ("eps",), "-1", "eps must be ≥ 0"),
    ("one way", ("upper", "y"), [1.0], "one finite entry ≥ 0"),
    ("one way", ("upper", "y"), [0.0, 0.0], "uncovered"),
    ("one way", ("upper", "type"), "wishful", "unknown upper certificate"),
    ("one way", ("lower", "rows"), [[1, 0], [0, 1]], "not private from point 0"),
    ("one way, dual", ("upper", "backward"), [[0, 0, 1.0]], "in the other direction"),
    ("groups", ("eps",), "-1", "eps must be ≥ 0"),
    ("groups", ("cases",), [], "there must be a group"),
    ("groups", ("cases", 0, "points"), [0, 0], "different points"),
    ("groups", ("cases", 0, "points"), [0, 3], "different points"),
    ("groups", ("cases", 0, "upper", "type"), "wishful", "unknown upper certificate"),
    ("groups", ("cases", 0, "upper", "y"), [1.0], "each of its points"),
    ("groups", ("cases", 0, "upper", "y"), [0.0, 0.0], "uncovered"),
    ("groups", ("lower", "points"), [0, 1], "not listed"),
    ("groups", ("lower", "channel", "rows"), [[2], [2], [2]], "one output for each action"),
    ("outputs", ("outputs",), 4, "too many groups"),
    ("outputs", ("outputs",), 2, "where 2 outputs"),
    ("outputs", ("symmetries",), [], "image of no listed group"),
    ("outputs", ("symmetries",), [[0, 0, 1]], "permutation"),
    ("outputs", ("symmetries",), [[1, 2, 0]], "edges of the same length"),
    (
        "outputs",
        ("lower",),
        {"points": [0, 1], "channel": {"denominator": 2, "rows": [[1, 1], [1, 1], [1, 1]]}},
        "more outputs than are allowed",
    ),
    ("design", ("multipliers",), [[0, 0]], "a triple of arc"),
    ("design", ("multipliers",), [[4, 0, 0.1]], "does not exist"),
    ("design", ("multipliers",), [[0, 2, 0.1]], "does not exist"),
    ("design", ("multipliers",), [[0, 0, -0.1]], "finite and ≥ 0"),
    ("design", ("multipliers",), [[0, 0, 1.7e308], [1, 0, 1.7e308]], "overflow"),
    ("design", ("prior",), [0.5, 0.5], "do not fit each other"),
    ("design", ("prior",), [0.5, 0.25, 0.5], "not a distribution"),
    ("design", ("prior",), [1.5, -0.25, -0.25], "not a distribution"),
    ("design", ("counts",), [[UNIT, 0], [0, UNIT], [UNIT, 0]], "not private between"),
    ("design", ("counts",), [[UNIT, 1]] * 3, "not distributions"),
    ("design", ("upper",), 0.4, "more than the 0.4 claimed"),
    ("design", ("lower",), 0.5, "less than the 0.5 claimed"),
    ("design", ("eps",), "-1", "eps must be ≥ 0"),
    ("design", ("alpha",), "1/2", "either eps or alpha"),
    ("alpha design", ("alpha",), "3/2", "from 0 to 1"),
    ("alpha design", ("space",), {**PATH, "lengths": [0.5, 0.5]}, "whole lengths"),
    ("uniform design", ("uniform", 0, "price"), [0.0, 0.0], "one finite price"),
    ("uniform design", ("uniform", 0, "points"), [0, 1, 3], "does not exist"),
    ("uniform design", ("uniform", 0, "group"), [0, 1], "a group for each point"),
    ("uniform design", ("uniform", 0), {"points": [0, 1], "group": [0, 1], "price": [0.0, 0.0]}, "leaves"),
    ("uniform design", ("space", "lengths"), [1.0, 1.0, 2.0], "not all equally far"),
    ("uniform design", ("space", "edges"), [[0, 1], [0, 1], [1, 2]], "between two groups"),
    ("uniform design", ("uniform", 0, "points"), [0, 1, 1], "twice"),
    (
        "hub design",
        ("uniform",),
        [{"points": [0, 1, 2], "group": [0, 0, 1], "price": [0.0, 0.0, 0.0]}],
        "joined at distance 0",
    ),
    ("exact design", ("alpha",), "3/2", "from 0 to 1"),
    ("exact design", ("prior",), ["1"], "do not fit each other"),
    ("exact design", ("prior",), ["1", "1"], "prior is not a distribution"),
    ("exact design", ("channel",), [["1", "1"], ["1", "0"]], "rows are not distributions"),
    ("exact design", ("channel",), [["1", "0"], ["0", "1"]], "not private between"),
    ("exact design", ("multipliers",), [[2, 0, "1"]], "that exist"),
    ("exact design", ("multipliers",), [[0, 0, "-1"]], "must be ≥ 0"),
    ("exact design", ("prior",), ["1/2", "1/2"], "proves only"),
    ("leakage design", ("family",), "least trouble", "unknown family"),
    ("leakage design", ("prior",), [1.0], "do not fit each other"),
    ("leakage design", ("prior",), [0.5, 0.6], "not a distribution"),
    ("leakage design", ("budget",), 0.4, "exceeds its budget"),
    ("leakage design", ("upper",), 0.45, "may exceed what is claimed"),
    ("leakage design", ("lower",), 0.55, "less than the 0.55 claimed"),
    ("leakage design", ("strategy",), [[0.5, 0.5]], "for each output and guess"),
    ("leakage design", ("strategy",), [[0.9, 0.9], [0.9, 0.9]], "must sum to 1"),
    ("leakage design", ("price",), -1.0, "number ≥ 0"),
    ("likelihood", ("distribution",), ["1/2", "1/4"], "not a distribution"),
    ("likelihood", ("outputs",), [1], "do not fit together"),
    ("likelihood", ("rows",), [["5/4", "-1/4"], ["1/4", "3/4"]], "negative"),
    ("likelihood", ("rows",), [["3/4", "3/4"], ["1/4", "3/4"]], "does not sum to 1"),
    ("likelihood", ("reports",), "3", "number of reports"),
    ("likelihood", ("distribution",), ["1", "0"], "exceeds 1 + bound"),
    ("transport", ("p",), ["2", "0"], "p is not a distribution"),
    ("transport", ("q",), ["0", "2"], "q is not a distribution"),
    ("transport", ("potentials",), ["1"], "do not fit together"),
    ("transport", ("distances",), [["0", "1"], ["2", "0"]], "not symmetric"),
    ("transport", ("distances",), [["1", "1"], ["1", "0"]], "not symmetric"),
    ("transport", ("potentials",), ["2", "0"], "steeper"),
    ("transport", ("moves",), [[0, 1, "2"]], "more than there is"),
    ("transport", ("moves",), [[0, 1, "-1"]], "more than there is"),
    ("transport", ("upper",), "1/2", "costs more"),
    ("transport", ("lower",), "2", "do not reach"),
    ("families", ("size",), 1, "two inputs or more"),
    ("families", ("first_parameter",), "1", "parameters between"),
    ("families", ("first",), "wishful", "unknown"),
    ("families", ("second",), "exponential", "no inequality is known"),
    ("families", ("holds",), False, "says otherwise"),
    ("noise", ("step_alpha",), "1/2", "no level, or two"),
    ("noise", ("moves",), [], "no length, or changes nothing"),
    ("noise", ("moves",), [[0, "1"]], "no length, or changes nothing"),
    ("noise", ("moves",), [[2, "1"], [3, "1"]], "needs more noise"),
    ("noise", ("eps",), "2", "not the level"),
    ("noise by ratio", ("step_alpha",), "2", "not in (0, 1]"),
    ("noise by ratio", ("eps",), "0.69", "needs more noise"),
    ("noise by ratio", ("eps",), "0.7", "not the level"),
    ("tables", ("eps",), "0", "above 0"),
    ("tables", ("eps",), "3", "does not cost"),
    ("tables", ("eps",), "7/4", "costs more than"),
    ("tables", ("pair",), [0, 2], "does not cost"),
    ("tables", ("pair",), [0, 3], "no pair of neighbours"),
    ("tables", ("tables", 0, "cells"), [0, 1], "different numbers of profiles"),
    ("tables", ("tables", 0, "eps"), "-1/2", "less than nothing"),
    ("tables", ("tables", 1, "width"), 0, "whole number"),
    ("tables", ("tables", 1, "width"), 1, "costs more than"),
    ("tables", ("tables", 1, "cells"), [0, 1, 0], "costs more than"),
    ("tables", ("tables",), [], "lists 0 profiles"),
    ("tables of a policy", ("edges", 1), [2, 0, "1"], "costs more than"),
    ("tables of a policy", ("edges", 1), [2, 3, "3/2"], "are no two profiles"),
    ("tables of a policy", ("edges", 0), [0, 1, "0"], "are no two profiles"),
    ("tables of a policy", ("pair",), [1, 2], "no pair of neighbours"),
    ("Gaussian noise", ("rho",), "1/5", "needs more noise"),
    ("Gaussian noise", ("rho",), "1/3", "not the level"),
    ("Gaussian noise", ("variance",), "8", "needs more noise"),
    ("Gaussian noise", ("variance",), "0", "the variance above 0"),
    ("Gaussian noise", ("moves", 1), [[4], "3/2"], "needs more noise"),
    ("Gaussian noise", ("moves", 2), [[1, 1], "1/2"], "needs more noise"),
    ("Gaussian noise", ("moves", 2), [[1, 1], "1"], "not the level"),
    ("Gaussian noise", ("moves",), [], "no length, or changes nothing"),
    ("Gaussian noise", ("moves", 0), [[], "2"], "no length, or changes nothing"),
    ("Gaussian noise", ("moves", 0), [[2, 1], "-2"], "no length, or changes nothing"),
    ("released rows", ("space", "eps"), "69/100", "not private between"),
    ("released rows", ("rows", 0), ["3/4", "1/4"], "not private between"),
    ("released rows", ("rows", 0), ["2/3", "2/3"], "does not sum to 1"),
    ("released rows", ("rows",), [*TOLD, TOLD[0]], "one row for each input"),
    ("released rows", ("law",), "wishful", "is unknown"),
    ("released rows", ("law",), "response", "needs level alone"),
    ("released rows", ("level",), {"eps": "1"}, "needs rows alone"),
    ("released rows", ("space",), NEAR, "say which ε is kept"),
    ("released rows", ("space", "form"), "free", "say which ε is kept"),
    ("released response", ("level",), {"eps": "11/10"}, "told apart by more"),
    ("released response", ("level",), {"eps": "-1"}, "eps ≥ 0, or alpha"),
    ("released response", ("level",), {"alpha": "0"}, "eps ≥ 0, or alpha"),
    ("released response", ("level",), {"alpha": "36/100"}, "told apart by more"),
    ("released response", ("level",), {"beta": "1/2"}, "eps ≥ 0, or alpha"),
    ("released response", ("space", "lengths"), ["1"], "told apart by more"),
    ("released noise", ("places",), ["0", "2"], "needs a place"),
    ("released noise", ("places",), ["0", "3", "12"], "told apart by more"),
    ("released noise", ("places",), ["0", "2", "13"], "told apart by more"),
    ("released noise", ("space", "eps"), "138/100", "told apart by more"),
    ("released places", ("level",), {"eps": "26/10"}, "told apart by more"),
    ("released places", ("space", "form"), "graph", "every edge needs a length"),
    ("released noise", ("law",), "plane", "needs level alone"),
    ("released noise of any two", ("places",), ["3", "-2", "5"], "told apart by more"),
    ("Gaussian", ("lower",), "5462445/10000000", "do not enclose"),
    ("Gaussian", ("upper",), "5462444/10000000", "do not enclose"),
    ("Gaussian", ("mu",), "101/100", "do not enclose"),
    ("Gaussian", ("mu",), "-1", "from 0 to 100"),
    ("Gaussian", ("values",), 4, "do not enclose"),
    ("Gaussian", ("terms",), 2, "do not enclose"),
    ("Gaussian", ("strip",), "1/10", "do not enclose"),
    ("Gaussian", ("strip",), "11", "the strip at most 10"),
    ("Gaussian", ("step",), "2", "at most 1"),
    ("deficiency", ("lower",), "17/100", "expects only"),
    ("deficiency", ("upper",), "16/100", "away from A·R"),
    ("deficiency", ("post",), [["1/2", "1/2"]], "do not fit"),
    ("deficiency", ("post", 0), ["1", "0"], "away from A·R"),
    ("deficiency", ("post",), [["1/2", "1/2", "0"]] * 2, "do not fit"),
    ("deficiency", ("gain", 0), ["2", "0"], "outside [0, 1]"),
    ("deficiency", ("gain", 0), ["-1", "0"], "outside [0, 1]"),
    ("deficiency", ("prior",), [["1/2", "1/4"]], "does not sum to 1"),
    ("deficiency", ("safer", 0), ["3/4", "1/4"], "away from A·R"),
    ("deficiency of a prior", ("any_prior",), True, "away from A·R"),
    ("deficiency of a prior", ("prior",), [["1/2", "1/2"]], "away from A·R"),
    ("runs", ("eps",), "126/100", "do not differ by so much"),
    ("runs", ("eps",), "-1", "eps must be ≥ 0"),
    ("runs", ("delta",), "3/10", "do not differ by so much"),
    ("runs", ("distance",), "13/10", "do not differ by so much"),
    ("runs", ("distance",), "0", "the distance above 0"),
    ("runs", ("confidence",), "1", "between 0 and 1"),
    ("runs", ("confidence",), "999/1000", "not as often as low says"),
    ("runs", ("likelier",), [86, 100], "not as often as low says"),
    ("runs", ("likelier",), [101, 100], "must have happened"),
    ("runs", ("low",), "9/10", "not as often as low says"),
    ("runs", ("other",), [14, 100], "not as seldom as high says"),
    ("runs", ("high",), "1/10", "not as seldom as high says"),
    ("runs", ("high",), "0", "bounds must be between"),
    ("partitions", ("safer",), [0, 0], "different numbers of inputs"),
    ("partitions", ("less_safe",), [0, 1, 1], "two outputs of B"),
    ("pair", ("pair",), [0, 3], "not among the inputs"),
    ("pair", ("pair",), [1, 2], "does not show"),
    ("block sizes", ("safer",), [[1, 3]], "same number of inputs"),
    ("block sizes", ("safer",), [[2, 1]], "forbid nothing"),
    ("privacy", ("safer",), [["1", "0"]], "different numbers of inputs"),
    ("privacy", ("safer",), TRUE, "apart better than A"),
    ("privacy witness", ("pair",), [0, 2], "does not exist"),
    ("privacy witness", ("output",), 2, "does not exist"),
    ("privacy witness", ("output",), 1, "not likelier"),
    ("privacy witness", ("less_safe",), TRUE, "at least as well"),
    ("metric order", ("metric",), [["0", "1"], ["2", "0"]], "symmetric table"),
    ("metric order", ("metric",), [["0", "-1"], ["-1", "0"]], "negative distance"),
    ("metric order", ("metric",), [["1", "1"], ["1", "0"]], "diagonal"),
    ("metric order", ("safer",), TRUE, "is larger"),
    ("metric order", ("holds",), False, "not larger"),
    ("refinement", ("tolerance",), "1/10", "is rounding"),
    ("refinement", ("post",), [["1/2", "1/2"]], "shapes"),
    ("refinement", ("post",), TRUE, "away from A·R"),
    ("mixture", ("tolerance",), "1/10", "is rounding"),
    ("mixture", ("mixing",), [["1/2", "1/2"]], "shapes"),
    ("mixture", ("mixing",), [["-1/2", "1/2"], ["1/2", "1/2"]], "negative entry"),
    ("mixture", ("mixing",), TRUE, "not the stated mixture"),
    ("adversary", ("case",), "worst", "unknown"),
    ("adversary", ("prior",), ["1"], "one probability for each input"),
    ("adversary", ("prior",), ["1/2", "1"], "not a distribution"),
    ("adversary", ("gain",), [["1"]], "a gain for each input"),
    ("adversary", ("after",), "2", "does not expect"),
    ("class", ("tolerance",), "1/10", "is rounding"),
    ("class", ("generators",), [["1"]], "a gain for each input"),
    ("class", ("post",), TRUE, "may expect"),
]


def changed(content: Content, path: Sequence[Any], *value: Any) -> Content:
    """The content with another value at a place, or with none."""
    place = content
    for step in path[:-1]:
        place = place[step]
    if value:
        place[path[-1]] = value[0]
    else:
        del place[path[-1]]
    return content


def refusal(content: Content) -> str:
    """Why the proof is refused."""
    try:
        result = proof_from_dict(content).verify()
    except FileError as problem:
        return str(problem)
    assert not result, f"accepted: {result.statement}"
    return result.statement


@pytest.mark.parametrize("name", list(BASES))
def test_the_proofs_to_be_forged_hold(name: str) -> None:
    result = proof_from_dict(BASES[name]()).verify()
    assert result, result.statement
    assert result.meaning.endswith(".") and result.meaning != result.statement


@pytest.mark.parametrize(("name", "path", "value", "words"), FORGED)
def test_each_check_refuses_in_its_own_words(
    name: str, path: tuple[Any, ...], value: Any, words: str
) -> None:
    assert words in refusal(changed(BASES[name](), path, value))


@pytest.mark.parametrize("k", range(4))
def test_every_corner_of_the_cells_of_priors_is_needed(k: int) -> None:
    content = BASES["universal"]()
    for name in ("priors", "prices"):
        del content[name][k]
    assert "a corner of a cell of priors is missing" in refusal(content)


def test_cells_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LARGEST_CUTS", "LARGEST_CELLS", "LARGEST_CELL"):
        with monkeypatch.context() as patch:
            patch.setattr(f"sievert.proofs._cells.{name}", 1)
            assert "1 is the limit here" in refusal(BASES["universal"]())


def test_tables_of_many_points_are_refused() -> None:
    """A ring of 6001 points has no table of distances."""
    size = 6001
    ring = {"size": size, "edges": [[v, (v + 1) % size] for v in range(size)]}
    content = {**BASES["worst"](), "space": ring, "lower": None}
    assert "table of distances" in refusal({**content, "upper": {"type": "packing", "y": [1.0] * size}})
    dual = {"type": "dual", "y": [1.0] * size, "forward": [], "backward": []}
    assert "table of gains" in refusal({**content, "upper": dual})
    arcs = {"size": size, "arcs": ring["edges"], "upper": {"type": "packing", "y": [1.0] * size}}
    one_way = {**BASES["one way"](), **arcs, "lower": {"denominator": 1, "rows": [[1]] * size}}
    assert "table of distances" in refusal(one_way)


def test_a_dual_that_fills_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sievert.proofs._bounds.LARGEST_DUAL", 5)
    assert "too many for a dual" in refusal(BASES["dual"]())


@pytest.mark.parametrize(
    ("name", "upper"),
    [
        ("guess", "sievert.proofs._promises.GuessProof._upper"),
        ("approximate", "sievert.proofs._promises.ApproximateProof._upper"),
        ("worst", "sievert.proofs._worst.upper_value"),
        ("one way", "sievert.proofs._groups.DirectedProof._upper"),
        ("groups", "sievert.proofs._groups.GroupsProof._upper"),
    ],
)
def test_bounds_that_cross_betray_a_wrong_check(
    name: str, upper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upper, lambda *arguments: Fraction(1, 100))
    assert "lower bound exceeds the upper bound" in refusal(BASES[name]())


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("design", "sievert.proofs._design.loss_below"),
        ("leakage design", "sievert.proofs._designs.below"),
    ],
)
def test_claims_that_cross_betray_a_wrong_check(
    name: str, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(below, lambda *arguments: 10.0)
    assert "lower bound exceeds the upper bound" in refusal({**BASES[name](), "lower": 5.0})


@pytest.mark.parametrize("name", ["prior", "loss", "gain"])
def test_numbers_given_in_python_must_be_finite_too(name: str) -> None:
    proof = proof_from_dict(BASES["leakage design"]())
    endless = replace(proof, **{name: np.full(getattr(proof, name).shape, np.inf)})  # type: ignore[type-var]
    assert "must be finite" in endless.verify().statement


def test_mechanisms_made_in_python_are_checked_too() -> None:
    space, decay = ProofSpace.from_data(PATH), Decay(eps=Fraction(1))
    with pytest.raises(ValueError, match="one row for each point"):
        check_private(space, decay, np.full((2, 1), UNIT))
    with pytest.raises(ValueError, match="from 0 to 2"):
        require_rows(np.array([[-1, UNIT + 1]]))
