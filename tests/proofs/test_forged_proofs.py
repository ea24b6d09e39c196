"""Forged proofs: the statement is false, every other rule holds, and one check refuses it."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.proofs import proof_from_dict, save_proof
from sievert.proofs._base import FORMAT


def refusal(kind: str, **data: Any) -> str:
    """Why a proof, given as it would stand in a file, is refused."""
    try:
        result = proof_from_dict({"format": FORMAT, "kind": kind, **json.loads(json.dumps(data))}).verify()
    except FileError as problem:
        return str(problem)
    assert not result, f"accepted: {result.statement}"
    return result.statement


def cycle_of_near_points(size: int, near: float, far: float) -> dict[str, Any]:
    pairs = [[i, j] for i in range(size) for j in range(i + 1, size)]
    lengths = [near if (j - i) % size in (1, size - 1) else far for i, j in pairs]
    return {"size": size, "edges": pairs, "lengths": lengths, "metric": True}


def test_a_kernel_on_lengths_that_are_no_metric_reaches_what_shortest_paths_allow() -> None:
    """Every point is near every other along the cycle, so nothing beyond 1 + 1e-4 can be reached."""
    content = {
        "format": FORMAT,
        "kind": "worst leakage",
        "space": cycle_of_near_points(100, 1e-6, 100.0),
        "eps": "1",
        "upper": {"type": "points"},
        "lower": {"type": "kernel", "z": [1.0] * 100, "t": 0.001},
    }
    proof = proof_from_dict(content)
    assert proof.bounds()[0] <= Fraction("1.0001")


def test_a_kernel_on_a_metric_of_rounded_distances_still_proves_its_value() -> None:
    metric = sv.metrics.euclidean(np.random.default_rng(3).random((80, 2)))
    found = sv.worst_leakage(metric, 3.0)
    assert found.certificate.lower["type"] == "kernel"
    low, high = found.certificate.bounds()
    assert float(low) == pytest.approx(float(high), rel=0.2)


def test_blocks_of_one_size_listed_twice_hide_outputs() -> None:
    assert "twice" in refusal("block sizes", less_safe=[[1, 3], [1, 1]], safer=[[2, 2]])
    assert "blocks" in refusal("block sizes", less_safe=[], safer=[])


def test_a_post_processing_of_one_column_is_not_spread_over_the_outputs_of_b() -> None:
    """A reveals nothing and B everything; a column of ones minus B is never negative."""
    why = refusal(
        "class of adversaries",
        less_safe=[["1"], ["1"]],
        safer=[["1", "0"], ["0", "1"]],
        generators=[["1", "0"], ["0", "1"]],
        prior=["1/2", "1/2"],
        post=[["1"]],
        tolerance="0",
    )
    assert "shapes" in why


def test_a_prior_of_one_entry_is_not_spread_over_the_inputs() -> None:
    matrices = {"less_safe": [["1/2", "1/2"], ["1/2", "1/2"]], "safer": [["1/2", "1/2"], ["1/2", "1/2"]]}
    same = {**matrices, "post": [["1", "0"], ["0", "1"]], "generators": [["1", "2"]], "tolerance": "0"}
    assert "prior" in refusal("class of adversaries", **same, prior=["1"])


def test_a_uniform_part_listed_twice_counts_once() -> None:
    """Twice the part would raise the lower bound to the loss of a mechanism that is far from the best."""
    best = sv.optimal_mechanism(sv.metrics.discrete(4), 1.0)
    content = json.loads(save_proof(best.certificate))
    assert len(content["uniform"]) == 1
    blind = [[2**53, 0, 0, 0]] * 4
    forged = {**content, "counts": blind, "uniform": content["uniform"] * 2, "lower": 0.7, "upper": 0.76}
    assert not proof_from_dict({**forged, "uniform": content["uniform"]}).verify()
    assert "twice" in str(proof_from_dict(forged).verify())


def test_rows_whose_sum_wraps_around_are_no_distributions() -> None:
    """2049 outputs of probability 1 sum to 2^53 + 2^64, which 64 bits hold as 2^53."""
    outputs = 2049
    why = refusal(
        "optimal design",
        space={"size": 1, "edges": []},
        eps="1",
        prior=[1.0],
        loss=[[-1.0]] * outputs,
        counts=[[2**53] * outputs],
        multipliers=[],
        uniform=[],
        lower=-3000.0,
        upper=-2048.0,
    )
    assert "distributions" in why
    why = refusal(
        "leakage design",
        family="least loss",
        prior=[1.0],
        loss=[[-1.0]] * outputs,
        gain=[[1.0]],
        budget=1e9,
        counts=[[2**53] * outputs],
        strategy=[[0.0]] * outputs,
        price=0.0,
        lower=-3000.0,
        upper=-2048.0,
    )
    assert "distributions" in why


def test_uneven_rows_are_no_witness() -> None:
    """B's rows sum to 1 and A's miss it by less than rounding may: nothing is gained by that."""
    short = str(1 - Fraction(1, 10**10))
    why = refusal(
        "objecting adversary",
        less_safe=[[short], [short]],
        safer=[["1"], ["1"]],
        gain=[["1", "1"]],
        prior=["1/2", "1/2"],
        case="average",
        exact=False,
        before=short,
        after="1",
    )
    assert "does not prefer" in why
    tilted = [["0.5", str(Fraction(1, 2) - Fraction(1, 10**10))], ["0.5", "0.5"]]
    even = [[str(Fraction(v) / sum(map(Fraction, row))) for v in row] for row in tilted]
    why = refusal("privacy order", less_safe=even, safer=tilted, pair=[1, 0], output=1, exact=False)
    assert "at least as well" in why


def test_noise_has_no_negative_level() -> None:
    assert "≥ 0" in refusal("noise", eps="-1", step_eps="-1", step_alpha=None, moves=[[1, "1"]])


def test_posteriors_are_compared_as_distributions() -> None:
    """A·M is B in direction up to 4e-9, and half of the entrywise difference would be 2e-9."""
    tiny = Fraction(6, 10**9)
    a = [["1", "0"], ["0", "1"]]
    b = [["1/2", "1/2"], ["1/2", "1/2"]]
    mixing = [[str(Fraction(1, 2) + tiny), "1/2"], ["1/2", "1/2"]]
    accepted = {"less_safe": a, "safer": b, "tolerance": "4e-9"}
    assert proof_from_dict(
        {"format": FORMAT, "kind": "max refinement", **accepted, "mixing": mixing}
    ).verify()
    wider = [[str(Fraction(1, 2) + 3 * tiny), "1/2"], ["1/2", "1/2"]]
    assert "mixture" in refusal("max refinement", **accepted, mixing=wider)


def test_numbers_that_overflow_bound_no_loss() -> None:
    """Prices whose differences overflow leave nothing to compare: every mechanism loses 5.67e307 or more."""
    half = 2**52
    assert "overflow" in refusal(
        "optimal design",
        space={"size": 3, "edges": [[0, 1], [0, 2], [1, 2]]},
        eps="100",
        alpha=None,
        prior=[1 / 3] * 3,
        loss=[[1.7e308, 0.0, 1.7e308], [1.7e308, 1.7e308, 0.0]],
        counts=[[half, half]] * 3,
        multipliers=[],
        uniform=[{"points": [0, 1, 2], "group": [0, 1, 2], "price": [-1.6e308, 1.1e308, 1.1e308]}],
        lower=5.95e307,
        upper=1.2e308,
    )


SAME = [["1/2", "1/2"]] * 2
TRUTH = [["1", "0"], ["0", "1"]]


@pytest.mark.parametrize("tiny", ["1e-9", "1e-30"])
def test_a_class_of_small_gains_holds_large_ones(tiny: str) -> None:
    generators = [[tiny, "0"], ["0", tiny]]
    claim = {"less_safe": SAME, "safer": TRUTH, "prior": ["1/2", "1/2"], "post": TRUTH}
    refused = refusal("class of adversaries", **claim, generators=generators, tolerance="4e-9")
    assert "may expect" in refused
    assert "no adversaries" in refusal(
        "class of adversaries", **claim, generators=[["0", "0"]], tolerance="0"
    )


def statement(kind: str, **data: Any) -> str:
    result = proof_from_dict({"format": FORMAT, "kind": kind, **data}).verify()
    assert result, result.statement
    return result.statement


def test_what_rounding_hides_is_said() -> None:
    uneven = [["1000000001/2000000000", "1/2"], ["1/2", "1/2"]]
    mixed = statement("max refinement", less_safe=SAME, safer=uneven, mixing=TRUTH, tolerance="1/1000000000")
    assert "up to 2.1e-09 in total variation" in mixed or "up to 2e-09 in total variation" in mixed
    nearly = [["20000000001/30000000000", "9999999999/30000000000"], ["1/3", "2/3"]]
    response = [["2/3", "1/3"], ["1/3", "2/3"]]
    ordered = statement(
        "privacy order for one metric",
        less_safe=response,
        safer=nearly,
        metric=[["0", "1"], ["1", "0"]],
        holds=True,
        exact=False,
    )
    assert ordered.endswith("to a relative 1e-09")
    fitted = statement(
        "likelihood",
        rows=uneven,
        outputs=[2],
        counts=["1000000000", "1000000000"],
        distribution=["1", "0"],
        reports="2000000000",
        bound="1/1000000000000",
    )
    assert "by more than 4." in fitted
