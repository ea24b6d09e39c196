"""Audits of vectors: joint outcomes, mixed coordinates, wild values, and a suite of mechanisms."""

import math

import numpy as np
import pytest

import sievert as sv
from tests.estimation.suite_of_mechanisms import CASES, Case

audit = sv.estimation.audit_outputs
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("seed", range(12))
def test_vectors_count_as_joint_outcomes(seed: int) -> None:
    """SVT 5 is private at no ε; vectors show as much of it as the same vectors written as texts."""
    first, second = BY_NAME["SVT 5"].outputs(5000, seed)
    found = audit(first, second, eps=0.1, rng=seed)
    texts = [["".join(f"{v:g}" for v in row) for row in side] for side in (first, second)]
    assert found.refuted and found.eps_lower > 3
    assert found.eps_lower == pytest.approx(audit(*texts, eps=0.1, rng=seed).eps_lower)
    assert "(1, 1, 1, 1, 1, 0, 0, 0, 0, 0)" in found.event


# What 20,000 runs a side show at 99.9% confidence where much is to be seen; by other events it would be 0.
SHOWN = {
    "noisy histogram 2": 5.5,
    "SVT 5": 3.9,
    "prefix sum": 0.1,
    "one-time RAPPOR": 0.2,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_suite_of_mechanisms(case: Case) -> None:
    """No claim that holds is refuted; false alarm of all twenty together: at most 2%."""
    found = audit(*case.outputs(20_000, 1), eps=case.true_eps, confidence=0.999, rng=1)
    assert not found.refuted
    assert found.eps_lower >= SHOWN.get(case.name, 0.0)
    assert 0 < sum(found.shares) < 2


def test_private_vectors_are_rarely_flagged() -> None:
    """Exactly private vectors, discrete and mixed: P(Binomial(300, 0.1) > 49) < 1e-3."""
    eps, flagged = math.log(3), [0, 0]
    for seed in range(150):
        rng = np.random.default_rng(seed)
        # Both bits answer one question with half of ε each; or a bit with half, a number with the rest.
        stay = 1 / (1 + math.exp(-eps / 2))
        bits = [np.abs(b - (rng.random((400, 2)) >= stay)) for b in (0, 1)]
        numbers = [rng.laplace(b, 2 / eps, 400) for b in (0, 1)]
        mixed = [np.column_stack([side[:, 0], x]) for side, x in zip(bits, numbers, strict=True)]
        for k, sides in enumerate((bits, mixed)):
            flagged[k] += audit(*sides, eps=eps, confidence=0.9, rng=seed).refuted
    assert sum(flagged) <= 49
    # The discrete event is as telling as can be, so that some false alarms are expected, not none.
    assert flagged[0] > 0


def test_a_wild_value_hides_nothing() -> None:
    """A difference that only two coordinates together show, beside one output of 3·10^10."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (2, 4000))
    together = np.column_stack([signs[0], signs[0]]) + rng.normal(0, 0.2, (4000, 2))
    opposed = np.column_stack([signs[1], -signs[1]]) + rng.normal(0, 0.2, (4000, 2))
    together[0, 0], opposed[0, 1] = 3.2e10, -3.2e10
    assert audit(together, opposed, eps=1.0, rng=0).eps_lower > 2


def test_no_event_is_vacuous() -> None:
    rng = np.random.default_rng(0)
    for outputs in (np.zeros((400, 3)), np.zeros(400), ["same"] * 400, [(1, "a")] * 400, [None] * 400):
        found = audit(outputs, outputs, eps=0.0, rng=0)
        assert found.eps_lower == 0 and not found.refuted
        assert "no event" in str(found) and "100" not in str(found).replace("400", "")
    # A difference too small to show: the event is one that happens in some runs and not in others.
    for width in (1, 3, 8):
        first, second = rng.integers(0, 2, (2, 2000, width))
        found = audit(first, second, eps=0.0, rng=0)
        assert 0 < found.shares[0] < 1


def test_mixed_ragged_and_wordy_vectors() -> None:
    rng = np.random.default_rng(0)
    runs = 3000
    lengths = [rng.binomial(4, chance, runs) for chance in (0.3, 0.7)]
    ragged = [[tuple(rng.normal(size=1 + n).tolist()) for n in side] for side in lengths]
    found = audit(*ragged, eps=0.5, rng=0)
    assert found.eps_lower > 1.5
    words = [
        [
            ("stop", None) if stop else ("go", x)
            for stop, x in zip(rng.random(runs) < chance, rng.normal(size=runs), strict=True)
        ]
        for chance in (0.1, 0.6)
    ]
    found = audit(*words, eps=0.5, rng=0)
    assert found.eps_lower > 1 and ("stop" in found.event or "None" in found.event)
    # Numbers among words are still compared as numbers.
    numbers = [[x if x > -1 else "low" for x in rng.normal(mean, 0.3, runs)] for mean in (0, 1)]
    assert audit(*numbers, eps=0.5, rng=0).eps_lower > 3
    # One side shorter than the other, and outputs of another kind altogether.
    assert audit(rng.normal(size=(200, 3)), rng.normal(size=(300, 2)), eps=0.5, rng=0).refuted
    assert audit(["a"] * 200, [1.0] * 200, eps=0.5, rng=0).refuted
    assert audit([10**400] * 200, [1] * 200, eps=0.5, rng=0).refuted
    # Deeper arrays are vectors.
    deep = rng.normal(size=(500, 2, 2)), rng.normal(3, 1, size=(500, 2, 2))
    assert audit(*deep, eps=0.5, rng=0).refuted


def test_what_is_no_number_is_an_outcome() -> None:
    rng = np.random.default_rng(1)
    for odd in (math.nan, math.inf, -math.inf):
        sides = []
        for chance in (0.02, 0.2):
            side = rng.normal(size=(3000, 3))
            side[rng.random(3000) < chance, 1] = odd
            sides.append(side)
        found = audit(*sides, eps=0.5, rng=0)
        assert found.eps_lower > 1 and "coordinate 1" in found.event
    everywhere = np.full((200, 2), math.nan), np.full((200, 2), math.inf)
    assert audit(*everywhere, eps=0.5, rng=0).refuted


def test_frames_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2000, 2)), rng.normal(1, 1, size=(2000, 2))
    frames = [pandas.DataFrame(side, columns=["a", "b"]) for side in (first, second)]
    assert audit(*frames, rng=0) == audit(first, second, rng=0)
    assert audit(frames[0]["a"], frames[1]["a"], rng=0) == audit(first[:, 0], second[:, 0], rng=0)


def test_samples_with_vectors() -> None:
    """Every pair of inputs is looked at; the worst one is found through the joint outcome."""
    case = BY_NAME["SVT 5"]
    first, second = case.outputs(2000, 3)
    third = case.outputs(2000, 4)[0]
    inputs = ["a"] * 2000 + ["b"] * 2000 + ["c"] * 2000
    found = sv.audit_samples(inputs, np.concatenate([first, second, third]), eps=0.1, rng=0)
    assert found.refuted and "'b'" in {found.likelier, found.other}
