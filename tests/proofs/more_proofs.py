"""Honest proofs for branches of the rules that those of test_every_check do not reach, each at its edge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

FORMAT = "sievert proof 1"
Content = dict[str, Any]
UNIT = 2**53
PATH = {"size": 3, "edges": [[0, 1], [1, 2]]}
EDGE = {"size": 2, "edges": [[0, 1]]}
CIRCLE = {"size": 4, "edges": [[0, 1], [1, 2], [2, 3], [3, 0]]}
STRAIGHT = {
    "size": 3,
    "edges": [[0, 1], [0, 2], [1, 2]],
    "lengths": [1.0, 2.0, 1.0],
    "metric": True,
    "coordinates": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]],
}
TRUE, EVEN = [["1", "0"], ["0", "1"]], [["1/2", "1/2"], ["1/2", "1/2"]]
TOLD = [["2/3", "1/3"], ["1/3", "2/3"]]
GUESS = {"type": "channel", "denominator": 10, "rows": [[4, 3, 3], [3, 4, 3], [3, 3, 4]]}


def proof(kind: str, **data: Any) -> Content:
    return {"format": FORMAT, "kind": kind, **data}


def worst(upper: Content, lower: Content | None, **data: Any) -> Content:
    return proof("worst leakage", **{"space": PATH, "eps": "1", "upper": upper, "lower": lower, **data})


def limits() -> dict[str, Content]:
    dual = {"type": "dual", "y": [1.0, 0.75, 1.0], "forward": [[0, 0, 0.25]], "backward": [[1, 2, 0.125]]}
    one = {
        "points": [[0, 1], [2, 3]],
        "type": "tree",
        "mu": [0.0, 0.5],
        "denominator": 10,
        "there": [3],
        "back": [4],
    }
    pair = [{"vertices": [k, k + 1], "edges": [k]} for k in (0, 1)]
    rows = {"denominator": 10, "rows": [[7, 3], [3, 7]]}
    return {
        "one edge": worst(
            {"type": "points"},
            {"type": "tree", "denominator": 10, "there": [4], "back": [4]},
            space=EDGE,
            eps="1/2",
        ),
        "tree of unlike weights": worst({"type": "tree", "mu": [0.0, 5.0]}, None, space=EDGE, eps="1/10"),
        "tree of other weights": worst({"type": "tree", "mu": [5.0, 0.0]}, None, space=EDGE, eps="1/10"),
        "block of a double edge": worst(
            {
                "type": "block bounds",
                "blocks": [
                    {"vertices": [0, 1], "edges": [0, 1], "upper": {"type": "points"}},
                    {"vertices": [1, 2], "edges": [2], "upper": {"type": "points"}},
                ],
            },
            None,
            space={"size": 3, "edges": [[0, 1], [0, 1], [1, 2]]},
        ),
        "tree that tells nothing": worst(
            {"type": "tree", "mu": [0.0, 0.0, 0.0]},
            {"type": "tree", "denominator": 10, "there": [5, 5], "back": [5, 5]},
            eps="0",
        ),
        "blocks that tell nothing": worst(
            {"type": "block bounds", "blocks": [{**block, "upper": {"type": "points"}} for block in pair]},
            {
                "type": "blocks",
                "blocks": [{**block, "denominator": 10, "rows": [[5, 5], [5, 5]]} for block in pair],
            },
            eps="0",
        ),
        "weighted channel": worst(
            {"type": "packing", "y": [0.5, 0.25, 0.25]}, GUESS, weights=[0.5, 0.3, 0.2]
        ),
        "weighted kernel": worst(
            {"type": "packing", "y": [0.5, 0.25, 0.25]},
            {"type": "kernel", "z": [0.25, 0.125, 0.25], "t": 0.2},
            weights=[0.5, 0.3, 0.0],
        ),
        "dual with a multiplier of 0": worst(
            {"type": "dual", "y": [1.0, 1.0, 1.0], "forward": [[0, 0, 0.0]], "backward": []},
            None,
            eps="1000",
        ),
        "columns": worst(
            {
                "type": "columns",
                "symmetries": [[2, 1, 0]],
                "y": [0.75, -0.125],
                "forward": [[0, 0, 0.125], [1, 0, 0.0625]],
                "backward": [[0, 1, 0.25], [1, 1, 0.25]],
            },
            {
                "type": "columns",
                "symmetries": [[2, 1, 0]],
                "columns": [[0, 1, 2], [2, 0, 2]],
                "z": [1.0, 0.25],
                "t": 0.25,
            },
            space={**PATH, "lengths": [2.0, 2.0]},
        ),
        "orbits": worst(
            {"type": "orbits", "symmetries": [[2, 1, 0]], "y": [1.0, 0.25]},
            {"type": "orbits", "symmetries": [[2, 1, 0]], "z": [1.0, 0.25], "t": 0.25},
        ),
        "gain": worst(dual, GUESS, gain=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]),
        "weight of one point": worst(
            {"type": "packing", "y": [1.0, 0.0, 0.0]}, None, weights=[1.0, 0.0, 0.0]
        ),
        "records": worst({"type": "cover", "centres": [0, 2], "radius": 1.0}, GUESS, copies=3),
        "metric of long lengths": worst(
            {"type": "points"}, None, space={**STRAIGHT, "lengths": [1.0 + 3 * 2.0**-50, 2.0, 1.0]}
        ),
        "cover of a metric": worst(
            {"type": "cover", "centres": [0, 2], "radius": 1.25},
            {"type": "kernel", "z": [1.0, 0.5, 1.0], "t": 0.2},
            space=STRAIGHT,
        ),
        "lengths": worst(
            {"type": "packing", "y": [1.0, 0.5, 0.25, 1.0]},
            {"type": "kernel", "z": [1.0, 0.5, 1.0, 0.0], "t": 0.6},
            space={**CIRCLE, "lengths": [0.5, 1.25, 2.0, 0.75]},
        ),
        "points that are one": worst(
            {"type": "packing", "y": [0.5, 0.5, 1.0]},
            {"type": "channel", "denominator": 10, "rows": [[7, 3], [7, 3], [3, 7]]},
            space={**PATH, "lengths": [0.0, 1.0]},
        ),
        "packing of a path": worst({"type": "packing", "y": [1.0, 0.5, 0.25]}, None),
        "packing of a star": worst(
            {"type": "packing", "y": [0.25, 1.0, 0.5, 0.125]},
            None,
            space={"size": 4, "edges": [[1, 0], [1, 2], [1, 3]], "lengths": [1.0, 0.5, 2.0]},
        ),
        "cover of lengths": worst(
            {"type": "cover", "centres": [0], "radius": 1.7500001},
            None,
            space={**CIRCLE, "lengths": [0.5, 1.25, 2.0, 0.75]},
        ),
        "levels with gaps": worst(
            {"type": "points"}, {"type": "levels", "source": 1}, space={**PATH, "lengths": [2.0, 5.0]}
        ),
        "tree of lengths": worst(
            {"type": "tree", "mu": [0.0, 0.25, 0.0]},
            {"type": "tree", "denominator": 100, "there": [27, 13], "back": [27, 13]},
            space={**PATH, "lengths": [1.0, 2.0]},
        ),
        "parts of a kind": worst(
            {"type": "parts", "parts": [one]},
            {"type": "parts", "parts": [one]},
            space={"size": 4, "edges": [[0, 1], [2, 3]]},
        ),
        "block bounds": worst(
            {
                "type": "block bounds",
                "blocks": [{**block, "upper": {"type": "tree", "mu": [0.0, 0.0]}} for block in pair],
            },
            {"type": "blocks", "blocks": [{**block, **rows} for block in pair]},
        ),
        "blocks with multipliers": worst(
            {
                "type": "blocks",
                "mu": [0.0, 0.5, 0.0],
                "blocks": [
                    {**block, "y": [1.0, 1.25], "forward": [[0, 0, 0.25]], "backward": []} for block in pair
                ],
            },
            None,
        ),
        "group by a dual": proof(
            "worst of groups",
            space=PATH,
            eps="1",
            outputs=None,
            symmetries=[],
            cases=[
                {
                    "points": [0, 2],
                    "upper": {
                        "type": "dual",
                        "y": [1.0, 0.5, 1.0],
                        "forward": [[0, 0, 0.125]],
                        "backward": [],
                    },
                }
            ],
            lower=None,
        ),
        "one way, further": proof(
            "worst leakage, one way",
            size=3,
            arcs=[[0, 1], [1, 2]],
            eps="1/2",
            upper={"type": "packing", "y": [1.0, 0.5, 0.25]},
            lower={"denominator": 10, "rows": [[5, 5], [4, 6], [4, 6]]},
        ),
        "one way by a dual": proof(
            "worst leakage, one way",
            size=2,
            arcs=[[0, 1]],
            eps="1/2",
            upper={"type": "dual", "y": [1.0, 1.0], "forward": [[0, 0, 0.25]], "backward": []},
            lower={"denominator": 2, "rows": [[1, 1], [1, 1]]},
        ),
        "approximate with δ": proof(
            "approximate worst guess",
            space=PATH,
            eps="1",
            delta="1/10",
            objective=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]],
            dual={"y": [1.0, 1.0, 0.5], "forward": [[0, 0, 0.25], [0, 1, 0.125]], "backward": [[1, 0, 0.25]]},
            channel={"denominator": 100, "rows": [[75, 25], [25, 75], [25, 75]]},
            lower="1875/1000",
            upper="3627423/1000000",
        ),
    }


def promises() -> dict[str, Content]:
    return {
        "guess with δ": proof(
            "guess under a claim",
            eps="1",
            delta="1/10",
            values=3,
            prior=["1/2", "3/10", "1/5"],
            cover=["45/100", "14/100", "2/100"],
            used=2,
            lower="626362/1000000",
            upper="649001/1000000",
        ),
        "repeated with δ": proof(
            "repeated guess between two values",
            eps="1/3",
            delta="1/50",
            releases=7,
            prior=["2/5", "3/5"],
            lower="726149/1000000",
            upper="726150/1000000",
        ),
        "composed by hand": proof(
            "guess after several releases",
            eps="1/2",
            delta="0",
            releases=2,
            total={
                "eps": "1/2",
                "delta": "152453/1000000",
                "values": 2,
                "prior": None,
                "cover": ["31124/100000"],
                "used": 2,
                "lower": "68/100",
                "upper": "681/1000",
            },
        ),
        "codes of many values": proof(
            "codes",
            bits=3,
            distance="1/3",
            eps="3/2",
            values=5,
            releases=2,
            xi="1",
            delta="336535/1000000",
            guess="719979/1000000",
        ),
    }


def family(first: str, second: str, size: int, a: str, least: Fraction) -> dict[str, Content]:
    """A pair of families at the least parameter, and just below it."""
    return {
        f"{first} to {second}, {size}, {holds}": proof(
            "refinement of families",
            first=first,
            second=second,
            size=size,
            first_parameter=a,
            second_parameter=str(least if holds else least - Fraction(1, 10**9)),
            holds=holds,
        )
        for holds in (True, False)
    }


def orders() -> dict[str, Content]:
    geometric, response, exponential = "truncated geometric", "randomised response", "exponential"
    half = Fraction(1, 2)
    sums = [sum((half ** abs(i - y) for y in range(4)), Fraction(0)) for i in range(4)]
    end = half * sums[1] / sums[0]
    inner = half * sums[2] / ((1 + half**2) * sums[1] - half * sums[0])
    outer = half * sums[0] / ((1 + half**2) * sums[1] - half * sums[2])
    found = {
        **family(geometric, response, 4, "1/2", half / (1 - half + half**2)),
        **family(response, response, 4, "1/2", half),
        **family(geometric, geometric, 2, "1/2", half),
        **family(exponential, geometric, 4, "1/2", end),
        **family(exponential, response, 4, "1/2", max(end, inner, outer)),
    }
    chance = {
        "less_safe": [["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]],
        "safer": [["3/5", "2/5"], ["1/2", "1/2"], ["2/5", "3/5"]],
    }
    metric = [["0", "1", "2"], ["1", "0", "inf"], ["2", "inf", "0"]]
    return {
        **found,
        "geometric of response": proof(
            "refinement of families",
            first=response,
            second=geometric,
            size=3,
            first_parameter="1/4",
            second_parameter="3/4",
            holds=True,
        ),
        "metric of lengths": proof(
            "privacy order for one metric", **chance, metric=metric, holds=True, exact=True
        ),
        "metric the other way": proof(
            "privacy order for one metric",
            less_safe=chance["safer"],
            safer=chance["less_safe"],
            metric=metric,
            holds=False,
            exact=True,
        ),
        "equal slopes of other pairs": proof(
            "privacy order for one metric",
            less_safe=[["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]],
            safer=[["4/5", "1/5"], ["4/5", "1/5"], ["1/5", "4/5"]],
            metric=[["0", "1", "3"], ["1", "0", "2"], ["3", "2", "0"]],
            holds=True,
            exact=True,
        ),
        "transport with a rest": proof(
            "transport",
            distances=[["0", "2"], ["2", "0"]],
            p=["1", "0"],
            q=["0", "1"],
            moves=[[0, 1, "1/2"]],
            potentials=["1", "-1"],
            lower="2",
            upper="2",
        ),
        "equal slopes": proof(
            "privacy order for one metric",
            less_safe=[["2/3", "1/3"], ["1/3", "2/3"]],
            safer=[["2/3", "1/3"], ["1/3", "2/3"]],
            metric=[["0", "3/2"], ["3/2", "0"]],
            holds=True,
            exact=True,
        ),
        "order by the largest ratio": proof(
            "privacy order holds",
            less_safe=[["6/10", "3/10", "1/10"], ["3/10", "6/10", "1/10"]],
            safer=[["2/3", "1/3"], ["1/3", "2/3"]],
            exact=True,
        ),
        "order of floats": proof(
            "privacy order holds",
            less_safe=[["0.75", "0.2500000001"], ["0.25", "0.75"]],
            safer=EVEN,
            exact=False,
        ),
        "witness of floats": proof(
            "privacy order",
            less_safe=[["0.5", "0.5000000001"], ["0.5", "0.5"]],
            safer=TOLD,
            pair=[0, 1],
            output=0,
            exact=False,
        ),
        "rounded refinement": proof(
            "refinement",
            less_safe=TRUE,
            safer=[["0.5000000001", "0.4999999999"], ["0.5", "0.5"]],
            post=EVEN,
            tolerance="1e-9",
        ),
        "rounded mixture": proof(
            "max refinement",
            less_safe=TRUE,
            safer=[["0.5000000001", "0.4999999999"], ["0.5", "0.5"]],
            mixing=EVEN,
            tolerance="1e-9",
        ),
        "mixture of a rare output": proof(
            "max refinement",
            less_safe=TRUE,
            safer=[["1/2", "1/2", "0"], ["1/4", "3/4", "0"]],
            mixing=[["1/2", "1", "0"], ["1/4", "3/2", "0"]],
            tolerance="0",
        ),
        "adversary at one output": proof(
            "objecting adversary",
            less_safe=EVEN,
            safer=[["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"]],
            gain=TRUE,
            prior=["1/3", "2/3"],
            case="max",
            exact=True,
            before="2/3",
            after="1",
        ),
        "class of two": proof(
            "class of adversaries",
            less_safe=TOLD,
            safer=EVEN,
            generators=[["2", "-1"], ["0", "1"], ["0", "0"]],
            prior=["1/3", "2/3"],
            post=EVEN,
            tolerance="0",
        ),
        "larger block": proof("block sizes", less_safe=[[3, 1], [1, 1]], safer=[[2, 2]]),
        "smaller block": proof("block sizes", less_safe=[[2, 2]], safer=[[1, 1], [3, 1]]),
        "noise of a smaller ε": proof(
            "order of noise", first={"eps": "2"}, second={"alpha": "1/4"}, holds=True, weight=None
        ),
        "Gaussian of few terms": proof(
            "guess through Gaussian noise",
            values=2,
            mu="1/2",
            step="1",
            strip="3",
            terms=3,
            lower="0",
            upper="1",
        ),
        "leak in few runs": proof(
            "leak in runs",
            eps="0",
            delta="0",
            distance="1/2",
            confidence="1/2",
            likelier=[7, 8],
            other=[1, 8],
            low="1/2",
            high="1/2",
        ),
        "noise that is 1": proof("noise", eps="0", step_eps=None, step_alpha="1", moves=[[3, "1"]]),
        "noise of two moves": proof(
            "noise", eps="3/2", step_eps="1/2", step_alpha=None, moves=[[3, "1"], [4, "2"]]
        ),
    }


def designs() -> dict[str, Content]:
    two = {"space": {"size": 2, "edges": [[0, 1]]}, "alpha": "1/2", "loss": [["0", "1"], ["1", "0"]]}
    third = UNIT // 3 + 1
    third_more = UNIT - third
    near = {"form": "uniform", "size": 2, "pairs": [], "lengths": ["1"], "eps": None, "alpha": "1/2"}
    frontier = {
        "prior": ["1/2", "1/2"],
        "gain": TRUE,
        "joints": [[["1/2", "0"], ["0", "1/2"]]],
        "wants": [None],
        "limits": ["7/12"],
        "mechanism": [["7/12", "5/12"], ["5/12", "7/12"]],
        "prices": ["0", "0"],
        "weights": [[["1", "0"], ["0", "1"]]],
        "multipliers": [],
        "given": ["7/12"],
        "lower": "7/12",
        "upper": "7/12",
        "tails": "0",
        "robust": False,
    }
    alone = [["1/3", "1/3", "1/3"]] * 3
    corners = [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]
    return {
        "design by multipliers": proof(
            "optimal design",
            space=two["space"],
            alpha="1/2",
            prior=["1/2", "1/2"],
            loss=two["loss"],
            counts=[[third_more, third], [third, third_more]],
            multipliers=[[0, 1, 0.3333333333], [1, 0, 0.3333333333]],
            uniform=[],
            lower=0.33333,
            upper=0.33334,
        ),
        "fine design for a large ε": proof(
            "optimal design",
            space=two["space"],
            eps="100",
            prior=["1/2", "1/2"],
            loss=two["loss"],
            bits=300,
            counts=[[str(2**300 - 2**156), str(2**156)], [str(2**156), str(2**300 - 2**156)]],
            multipliers=[[0, 1, str(2**299 - 2**155)], [1, 0, str(2**299 - 2**155)]],
            uniform=[],
            lower=3.71e-44,
            upper=4.5e-44,
        ),
        "design by prices": proof(
            "optimal design",
            space={"size": 3, "edges": [[0, 1], [0, 2], [1, 2]], "lengths": [1.0, 1.0, 0.0]},
            alpha="1/2",
            prior=["1/2", "1/4", "1/4"],
            loss=[["0", "1", "1"], ["1", "0", "0"]],
            counts=[[third_more, third], [third, third_more], [third, third_more]],
            multipliers=[],
            uniform=[{"points": [0, 1, 2], "group": [0, 1, 1], "price": [0.1666, 0.0833, 0.0833]}],
            lower=0.333,
            upper=0.33334,
        ),
        "design with a reward": proof(
            "optimal design",
            space=two["space"],
            eps="1",
            prior=[0.5, 0.5],
            loss=[[-1.0, 1.0], [1.0, -0.5]],
            counts=[[UNIT, 0], [UNIT, 0]],
            multipliers=[],
            uniform=[],
            lower=-0.7500001,
            upper=0.1,
        ),
        "exact by multipliers": proof(
            "exact optimal design",
            space=two["space"],
            alpha="1/2",
            prior=["1/2", "1/2"],
            loss=two["loss"],
            channel=TOLD,
            multipliers=[[0, 1, "1/3"], [1, 0, "1/3"]],
        ),
        "least loss": proof(
            "leakage design",
            family="least loss",
            prior=[0.5, 0.5],
            loss=[[0.0, 1.0], [1.0, 0.0]],
            gain=[[1.0, 0.0], [0.0, 1.0]],
            budget=0.75,
            counts=[[3 * UNIT // 4, UNIT // 4], [UNIT // 4, 3 * UNIT // 4]],
            strategy=[[1.0, 0.0], [0.0, 1.0]],
            price=1.0,
            lower=0.2499,
            upper=0.2501,
        ),
        "least leakage of an adversary who may lose": proof(
            "leakage design",
            family="least leakage",
            prior=[0.5, 0.5],
            loss=[[0.0, 1.0], [1.0, 0.0]],
            gain=[[0.0, -1.0], [-1.0, 0.0]],
            budget=0.25,
            counts=[[3 * UNIT // 4, UNIT // 4], [UNIT // 4, 3 * UNIT // 4]],
            strategy=[[1.0, 0.0], [0.0, 1.0]],
            price=1.0,
            lower=-0.2501,
            upper=-0.2499,
        ),
        "universal on a circle": proof(
            "universal optimality",
            space=CIRCLE,
            alpha="1/2",
            channel=[["1"]] * 4,
            loss=[["1", "2", "3", "4"]],
            priors=[["1", "0", "0", "0"], ["0", "1", "0", "0"], ["0", "0", "1", "0"], ["0", "0", "0", "1"]],
            prices=[["1", "0", "0", "0"], ["0", "2", "0", "0"], ["0", "0", "3", "0"], ["0", "0", "0", "4"]],
            gap="0",
        ),
        "universal where all are alike": proof(
            "universal optimality",
            space={"size": 3, "edges": [[0, 1], [1, 2], [0, 2]]},
            alpha="1/2",
            channel=alone,
            loss=[["1", "2", "3"]],
            priors=corners,
            prices=[["1", "0", "0"], ["0", "2", "0"], ["0", "0", "3"]],
            gap="0",
        ),
        "frontier of all alike": proof("inference frontier", space=near, **frontier),
        "frontier for a want": proof("inference frontier", space=near, **{**frontier, "wants": [TRUE]}),
        "frontier of others": proof(
            "inference frontier",
            space=near,
            **{**frontier, "tails": "1/100", "upper": "61/100", "robust": True},
        ),
        "frontier by ε": proof(
            "inference frontier",
            space={**near, "form": "forest", "pairs": [[0, 1]], "alpha": None, "eps": "1"},
            **frontier,
        ),
    }


MORE: dict[str, Content] = {**limits(), **promises(), **orders(), **designs()}

# base, the entry that is changed, its new value: just beyond what the rule allows
BEYOND: list[tuple[str, tuple[Any, ...], Any]] = [
    ("one edge", ("space",), {**EDGE, "lengths": [1.0], "metric": True}),
    ("tree of unlike weights", ("space",), {**EDGE, "lengths": [1.0], "metric": True}),
    ("block of a double edge", ("upper", "blocks", 0, "edges"), [0, 0]),
    ("cover of a metric", ("space", "lengths"), [1.0 + 5 * 2.0**-50, 2.0, 1.0]),
    ("one edge", ("lower", "there"), [9]),
    ("one edge", ("lower", "there"), [1]),
    ("one edge", ("lower", "back"), [9]),
    ("one edge", ("lower", "back"), [1]),
    ("tree that tells nothing", ("lower", "there"), [5, 6]),
    ("blocks that tell nothing", ("lower", "blocks", 0, "rows"), [[5, 5], [6, 4]]),
    ("cover of lengths", ("upper", "radius"), 1.7499999),
    ("points that are one", ("lower", "rows", 1), [6, 4]),
    ("columns", ("lower", "columns", 0), [0, 1, 4]),
    ("columns", ("lower", "columns", 0), [3, 1, 2]),
    ("columns", ("lower", "columns", 0), [3, 0, 2]),
    ("columns", ("lower", "columns", 0), [0, 1]),
    ("columns", ("lower", "columns", 0), [0, 1, 2, 2]),
    ("columns", ("lower", "z"), [1.0]),
    ("columns", ("lower", "z"), [1.0, -0.25]),
    ("columns", ("lower", "t"), 0.0),
    ("columns", ("upper", "y"), [0.75]),
    ("columns", ("upper", "y"), [0.75, 0.5, 0.5]),
    ("columns", ("space", "lengths"), [1.5, 1.5]),
    ("block bounds", ("upper", "blocks", 1, "edges"), [0]),
    ("block bounds", ("lower", "blocks", 1, "rows", 0), [8, 2]),
    ("tree of lengths", ("lower", "there"), [26, 13]),
    ("tree of lengths", ("lower", "back"), [27, 11]),
    ("weighted channel", ("lower", "rows", 0), [5, 3, 3]),
    ("records", ("upper",), {"type": "dual", "y": [1.0, 1.0, 1.0], "forward": [], "backward": []}),
    ("approximate with δ", ("delta",), "7/100"),
    ("guess with δ", ("upper",), "648999/1000000"),
    ("guess with δ", ("lower",), "626363/1000000"),
    ("approximate with δ", ("upper",), "3627422/1000000"),
    ("approximate with δ", ("lower",), "18751/10000"),
    ("guess with δ", ("cover",), ["45/100", "12/100", "2/100"]),
    ("composed by hand", ("total", "delta"), "152451/1000000"),
    ("composed by hand", ("eps",), "501/1000"),
    ("equal slopes of other pairs", ("metric", 1, 2), "3"),
    ("equal slopes of other pairs", ("safer", 2), ["9/50", "41/50"]),
    ("transport with a rest", ("upper",), "19/10"),
    ("transport with a rest", ("lower",), "21/10"),
    ("transport with a rest", ("moves", 0, 2), "11/10"),
    ("repeated with δ", ("upper",), "726149/1000000"),
    ("repeated with δ", ("lower",), "726150/1000000"),
    ("codes of many values", ("delta",), "336534/1000000"),
    ("codes of many values", ("guess",), "719978/1000000"),
    ("design by multipliers", ("lower",), 0.333337),
    ("design by multipliers", ("upper",), 0.33333),
    ("fine design for a large ε", ("lower",), 3.75e-44),
    ("fine design for a large ε", ("upper",), 4.4e-44),
    ("fine design for a large ε", ("bits",), 301),
    ("fine design for a large ε", ("bits",), 53),
    ("fine design for a large ε", ("multipliers", 0, 2), str(-(2**299))),
    ("fine design for a large ε", ("multipliers", 0, 2), str(2**299 + 2**160)),
    ("fine design for a large ε", ("counts", 0), [str(2**300 - 2**155), str(2**155)]),
    ("fine design for a large ε", ("counts", 0), [str(2**300), str(2**156)]),
    ("fine design for a large ε", ("uniform",), [{"points": [0, 1], "group": [0, 1], "price": [0.0, 0.0]}]),
    ("design by prices", ("uniform", 0, "group"), [0, 1, 2]),
    ("design by prices", ("uniform", 0, "price"), [0.18, 0.0833, 0.0833]),
    ("design with a reward", ("lower",), -0.74),
    ("exact by multipliers", ("multipliers", 0, 2), "1/4"),
    ("least loss", ("lower",), 0.25005),
    ("least loss", ("budget",), 0.74),
    ("least leakage of an adversary who may lose", ("strategy", 0), [0.5, 0.0]),
    ("least leakage of an adversary who may lose", ("lower",), -0.24995),
    ("universal on a circle", ("prices", 0), ["1", "0", "0", "1/100"]),
    ("universal where all are alike", ("prices", 0), ["1", "1/100", "0"]),
    ("frontier of all alike", ("upper",), "58/100"),
    ("frontier of all alike", ("given",), ["58/100"]),
    ("frontier for a want", ("wants", 0), [["2", "0"], ["0", "2"]]),
    ("frontier of others", ("upper",), "60/100"),
    ("frontier by ε", ("weights", 0), [["9/10", "0"], ["0", "9/10"]]),
    ("adversary at one output", ("after",), "2/3"),
    ("rounded refinement", ("tolerance",), "1e-11"),
    ("rounded mixture", ("tolerance",), "1e-11"),
    ("equal slopes", ("holds",), False),
    ("metric of lengths", ("holds",), False),
    ("metric the other way", ("holds",), True),
    ("order of floats", ("exact",), True),
    ("larger block", ("less_safe",), [[2, 2]]),
    ("noise that is 1", ("eps",), "1/10"),
    ("noise of two moves", ("moves", 1), [7, "2"]),
    ("noise of a smaller ε", ("first", "eps"), "1"),
]
