"""A sceptic's forgeries: one false statement in each kind of proof, all other rules kept.

Both checkers refuse each for the rule that it breaks, and accept the proof that it was made from.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from opinions import CHECKER, first_opinion, second_opinion
from test_every_check import BASES

# What was done: the honest proof, where it was changed and to what, and why Sievert and verify.py refuse it.
FORGERIES: dict[str, tuple[str, tuple[Any, ...], Any, str, str]] = {
    "an answer of the secret from another program": (
        "Dalenius",
        ("safer", 0),
        ["0", "1"],
        "the secret is not guessed better from B: 0.5",
        "the secret is not guessed better from B",
    ),
    "a ρ rounded down in the last digit": (
        "Gaussian noise",
        ("rho",),
        "249999999999/1000000000000",
        "a move needs more noise than ρ = 249999999999/1000000000000 has",
        "a move needs more noise",
    ),
    "a mechanism with its outputs exchanged": (
        "accuracy",
        ("other", 0),
        ["1/3", "2/3"],
        "the other mechanism does not tell the use better",
        "the other mechanism does not tell the use better",
    ),
    "a gain of another adversary": (
        "additive",
        ("gain", 0),
        ["0", "1"],
        "the gain function gains 0 only",
        "the adversary expects less",
    ),
    "a bound below what the reference allows": (
        "additive",
        ("upper",),
        "499999999999/1000000000000",
        "the reference allows 0.5",
        "the channels are farther apart",
    ),
    "rows of another channel, with the same sums": (
        "approximate",
        ("channel", "rows", 0),
        [0, 1],
        "the channel is not private enough: some event exceeds e^ε times the",
        "the channel is not private enough",
    ),
    "a rival with its outputs exchanged": (
        "better",
        ("better", 0),
        ["1/3", "2/3"],
        "the mechanism loses 1/2 and the other 1/2, which is no gap of 1/6",
        "the mechanism loses 1/2 and the other 1/2",
    ),
    "blocks of another program": (
        "block sizes",
        ("less_safe", 0),
        [1, 2],
        "the sizes forbid nothing",
        "the sizes forbid nothing",
    ),
    "post-processing of another pair": (
        "class",
        ("post",),
        [["1", "0"], ["0", "1"]],
        "an adversary of the class may expect 0.5 more from B",
        "an adversary of the class may expect more from B",
    ),
    "one coordinate more": (
        "noisy codes",
        ("bits",),
        2,
        "the law of the loss does not prove so small a δ at ξ",
        "the law of the loss does not prove so small a δ at ξ",
    ),
    "post-processing of another channel": (
        "deficiency",
        ("safer", 0),
        ["1/3", "2/3"],
        "the adversary expects only 0 more from B",
        "the adversary expects less",
    ),
    "a distance rounded down": (
        "deficiency",
        ("upper",),
        "499999999997/3000000000000",
        "B is 0.166666666667 away from A·R",
        "the channels are farther apart",
    ),
    "words of another embedding": (
        "documents",
        ("vectors",),
        [["3", "4"], ["0", "0"], ["1", "0"]],
        "the ways are longer than the nats that are stated",
        "the ways are longer than the nats that are stated",
    ),
    "one release more": (
        "documents",
        ("releases",),
        2,
        "the ways are longer than the nats that are stated",
        "the ways are longer than the nats that are stated",
    ),
    "prices of another prior": (
        "exact design",
        ("prior",),
        ["0", "1"],
        "the mechanism loses 1 but the certificate proves only 0",
        "the mechanism loses 1 and the certificate proves 0",
    ),
    "one release more than was composed": (
        "composed",
        ("releases",),
        5,
        "the releases together are not as private as the proof says",
        "the releases together are not as private as the proof says",
    ),
    "a composed δ rounded down": (
        "composed",
        ("total", "delta"),
        "111424585079444387474987229274292797069/309485009821345068724781056000000000000",
        "the releases together are not as private as the proof says",
        "the releases together are not as private as the proof says",
    ),
    "one value more behind the noise": (
        "Gaussian",
        ("values",),
        4,
        "the stated ends do not enclose the guess",
        "the stated ends do not enclose the guess",
    ),
    "an upper end rounded down": (
        "guess",
        ("upper",),
        "499999999999/1000000000000",
        "the certificate does not prove the ends that it states",
        "the certificate does not prove the ends that it states",
    ),
    "a smaller response": (
        "divergence",
        ("eps",),
        "1/2",
        "the response of eps keeps the divergence, so that a better guess may",
        "the response of eps keeps the divergence",
    ),
    "a channel with its outputs exchanged": (
        "inference",
        ("channel", 0),
        ["1/3", "2/3"],
        "the channel does not tell the two uses apart",
        "the channel does not tell the two uses apart",
    ),
    "a level that is a little smaller": (
        "frontier",
        ("space", "alpha"),
        "499999999999/1000000000000",
        "a private column is worth more than the prices allow",
        "a private column is worth more than the prices allow",
    ),
    "a mechanism with its rows exchanged": (
        "frontier",
        ("mechanism",),
        [["1/3", "2/3"], ["2/3", "1/3"]],
        "the mechanism is worth 0.333333333333, less than is claimed",
        "the mechanism is worth less than is claimed",
    ),
    "two halves about different levels": (
        "largest gap",
        ("attained", "alpha"),
        "499999999999/1000000000000",
        "the parts of the proof are about different mechanisms, losses or",
        "the parts of the proof are about different mechanisms",
    ),
    "counts of another sample": (
        "runs",
        ("likelier",),
        [86, 100],
        "the event is not as often as low says, with this confidence",
        "the event is not as often as low says",
    ),
    "a mechanism with exchanged outputs": (
        "leakage design",
        ("counts", 0),
        [0, 9007199254740992],
        "the mechanism exceeds its budget",
        "the mechanism exceeds its budget",
    ),
    "prices of another level": (
        "regret",
        ("most", "alpha"),
        "499999999999/1000000000000",
        "prices exceed what a private column costs",
        "prices exceed what a private column costs",
    ),
    "counts of another survey": (
        "likelihood",
        ("counts",),
        ["2", "0"],
        "a factor c exceeds 1 + bound",
        "a factor c exceeds 1 + bound",
    ),
    "a mixture of other posteriors": (
        "mixture",
        ("mixing",),
        [["1", "0"], ["0", "1"]],
        "a posterior of B is not the stated mixture of posteriors of A",
        "a posterior of B is not the stated mixture of posteriors of A",
    ),
    "a prior that sums to 1 with a negative entry": (
        "no free lunch",
        ("prior",),
        ["3/2", "-1/2"],
        "the prior is not a distribution",
        "the prior has a negative entry",
    ),
    "an ε rounded down in the last digit": (
        "noise",
        ("eps",),
        "999999999999/1000000000000",
        "a move of 2 steps at distance 1 needs more noise",
        "a move needs more noise",
    ),
    "an ε of several tables rounded down": (
        "tables",
        ("eps",),
        "1999999999999/1000000000000",
        "a pair of values costs more than ε = 1999999999999/1000000000000",
        "two neighbours cost more than ε",
    ),
    "channels exchanged for each other": (
        "adversary",
        ("safer", 0),
        ["0", "1"],
        "the adversary does not expect what the proof states",
        "another gain is stated",
    ),
    "a prior of another population": (
        "design",
        ("prior",),
        [0.25, 0.5, 0.25],
        "the mechanism may lose 0.7500000000000009, more than the 0.6 claimed",
        "the mechanism loses more than is claimed",
    ),
    "a gentler first noise": (
        "order of noise",
        ("first", "alpha"),
        "249999999999/1000000000000",
        "the two noises do not add up to the second",
        "the share of noise that is 0 is another",
    ),
    "a program that joins other inputs": (
        "partitions",
        ("less_safe",),
        [0, 1, 1],
        "output 1 of A goes to two outputs of B",
        "an output of A goes to two outputs of B",
    ),
    "an output of the other secret": (
        "privacy witness",
        ("pair",),
        [1, 0],
        "the output is not likelier for the first secret of the pair",
        "A tells the pair apart at least as well",
    ),
    "a metric that is none": (
        "metric order",
        ("metric", 0),
        ["1", "0"],
        "the metric is not a symmetric table over the secrets",
        "the metric's diagonal is not 0",
    ),
    "a channel that tells more": (
        "privacy",
        ("safer",),
        [["1", "0"], ["0", "1"]],
        "B tells secrets 1 and 0 apart better than A",
        "B tells secrets 0 and 1 apart better than A",
    ),
    "post-processing that is none": (
        "refinement",
        ("post",),
        [["1", "0"], ["0", "1"]],
        "B is 0.5 away from A·R, more than 0",
        "B is farther from A·R than the tolerance",
    ),
    "the opposite verdict": (
        "families",
        ("holds",),
        False,
        "the inequality of the two families says otherwise",
        "the inequality of the two families says otherwise",
    ),
    "a level of the release that is a little smaller": (
        "released response",
        ("space", "eps"),
        "499999999999/1000000000000",
        "two neighbours at distance 2 are told apart by more than ε =",
        "two neighbours are told apart by more than ε",
    ),
    "an upper end of two releases rounded down": (
        "repeated",
        ("upper",),
        "3/5",
        "the stated ends do not enclose the guess",
        "the stated ends do not enclose the guess",
    ),
    "a stair that is too steep": (
        "staircase",
        ("eps",),
        "999999999999/1000000000000",
        "a move of 4 steps at distance 1 needs more noise",
        "a move needs more noise",
    ),
    "a plan from another place": (
        "transport",
        ("p",),
        ["0", "1"],
        "the plan moves more than there is",
        "the plan moves more than there is",
    ),
    "a cost rounded down": (
        "transport",
        ("upper",),
        "999999999999/1000000000000",
        "the plan costs more than the upper bound",
        "the plan costs more than is claimed",
    ),
    "a level that moves the corners": (
        "universal",
        ("alpha",),
        "499999999999/1000000000000",
        "prices exceed what a private column costs",
        "prices exceed what a private column costs",
    ),
    "a loss with its actions exchanged": (
        "crossing",
        ("loss",),
        [["1", "0"], ["0", "1"]],
        "what the theorem asks for does not hold: the geometric mechanism on a",
        "what the theorem asks for does not hold: the geometric mechanism on a",
    ),
    "a block whose inputs are told apart": (
        "quotient",
        ("channel",),
        [["1/3", "2/3"], ["2/3", "1/3"], ["2/3", "1/3"]],
        "the mechanism tells inputs of one block apart",
        "the mechanism or the loss tells inputs of one block apart",
    ),
    "an inner proof about another loss": (
        "quotient",
        ("inner", "loss"),
        [["0", "2"], ["1", "0"]],
        "the proof about representatives has another loss",
        "the proof about representatives has another loss",
    ),
    "symmetries that leave a point alone": (
        "transitive",
        ("upper", "symmetries", 0),
        [2, 1, 0],
        "the symmetries do not move one point to every other",
        "the symmetries leave 2 orbits, not 1",
    ),
    "an ε rounded down in the last digit, blocks": (
        "blocks",
        ("eps",),
        "399999999999/1000000000000",
        "the channel is not private between points 0 and 1",
        "the channel is not private",
    ),
    "blocks that leave a cut vertex too little": (
        "blocks",
        ("lower", "blocks", 0, "vertices"),
        [4, 3],
        "the block channels leave a vertex with a negative probability of its",
        "the block channels leave a vertex with a negative probability",
    ),
    "components that are torn apart": (
        "parts",
        ("upper", "parts", 0, "points"),
        [[0, 2], [1, 3]],
        "an edge joins two parts",
        "an edge joins two parts",
    ),
    "a packing vector that leaves a point uncovered": (
        "worst",
        ("upper", "y"),
        [0.0, 0.0, 0.0],
        "the packing vector leaves some point uncovered",
        "the packing vector leaves some point uncovered",
    ),
    "a triangle inequality that does not hold": (
        "metric",
        ("space",),
        {
            "size": 3,
            "edges": [[0, 1], [0, 2], [1, 2]],
            "lengths": [1.0, 5.0, 1.0],
            "metric": True,
            "coordinates": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]],
        },
        "a length is not that between the coordinates of its ends",
        "a length is not that of its coordinates",
    ),
    "a cover of a smaller radius": (
        "cover",
        ("upper", "radius"),
        0.5,
        "some point is farther from every centre than the cover's radius",
        "some point is farther from every centre than the cover's radius",
    ),
    "a gap that a line has not": (
        "line form",
        ("gaps", 0, 1),
        4,
        "a line has one gap less than values",
        "a line has one gap less than values",
    ),
    "weights for another grid of cells": (
        "map",
        ("upper", "every"),
        [2, 1],
        "a table of weights has one for each cell, or an odd number of rows",
        "a table of weights has one for each cell, or an odd number of rows or",
    ),
    "weights beside a prior of no cell": (
        "map with a prior",
        ("prior",),
        None,
        "without a prior the bound needs weights",
        "without a prior the bound needs weights",
    ),
    "places of other points": (
        "product",
        ("places",),
        [[0, 1], [0, 0], [1, 0], [1, 1], [2, 0], [2, 1]],
        "an edge changes no place, or several",
        "an edge changes no place, or several",
    ),
    "a channel that is private one way only": (
        "one way",
        ("lower", "rows"),
        [[1, 0], [0, 1]],
        "the channel is not private from point 0 to point 1",
        "the channel is not private between points 1 and 0",
    ),
    "a group that is not listed": (
        "groups",
        ("cases", 0, "points"),
        [2, 0],
        "the channel is about a group that is not listed",
        "the channel is about a group that is not listed",
    ),
    "symmetries that are none": (
        "outputs",
        ("symmetries", 0),
        [1, 2, 0],
        "a symmetry does not map edges to edges of the same length",
        "a symmetry does not map edges to edges alike in length",
    ),
}


def forged(base: str, path: tuple[Any, ...], value: Any) -> Any:
    content = copy.deepcopy(BASES[base]())
    part = content
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return content


@pytest.mark.parametrize("story", FORGERIES)
def test_a_forgery_is_refused_by_both(story: str) -> None:
    base, path, value, ours, theirs = FORGERIES[story]
    assert first_opinion(BASES[base]()).holds and second_opinion(BASES[base]()).holds
    content = forged(base, path, value)
    assert content != BASES[base]()
    for opinion, words in ((first_opinion, ours), (second_opinion, theirs)):
        found = opinion(content)
        assert not found.holds and words in found.statement


def test_every_kind_has_a_forgery() -> None:
    assert {BASES[base]()["kind"] for base, *_ in FORGERIES.values()} == set(CHECKER.KINDS)
