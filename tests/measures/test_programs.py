"""Deterministic programs by their block sizes: the 2^32-secret programs of Fernandes, Ex 4.1.1 (spec 3.6)."""

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import TooLargeError

N = 2**32
# P1: if H mod 8 = 0 reveal H, else 1; P2: the same with 4; P3: the low 8 bits; P4: the low 4 bits.
P1 = sv.Channel.from_blocks({1: 2**29, 7 * 2**29: 1}, inputs=N)
P2 = sv.Channel.from_blocks({1: 2**30, 3 * 2**30: 1}, inputs=N)
P3 = sv.Channel.from_blocks({2**24: 2**8}, inputs=N)
P4 = sv.Channel.from_blocks({2**28: 2**4}, inputs=N)
PROGRAMS = (P1, P2, P3, P4)


def test_posterior_bayes_and_factors() -> None:
    posteriors = [sv.posterior_vulnerability(program).value for program in PROGRAMS]
    assert posteriors == [F(2**29 + 1, N), F(2**30 + 1, N), F(1, 2**24), F(1, 2**28)]
    assert [sv.leakage(program).factor for program in PROGRAMS] == [2**29 + 1, 2**30 + 1, 256, 16]
    assert [sv.capacity(program).factor for program in PROGRAMS] == [2**29 + 1, 2**30 + 1, 256, 16]


def test_shannon_leakage() -> None:
    bits = [float(sv.leakage(p, None, sv.losses.shannon(N), kind="additive")) for p in PROGRAMS]
    assert [f"{value:.6f}" for value in bits] == ["4.168564", "8.311278", "8.000000", "4.000000"]
    assert [sv.information.mutual_information(program) for program in PROGRAMS] == pytest.approx(bits)


def test_tries_cross_over_at_2105377() -> None:
    """P3 is strictly safer below, P1 strictly safer from 2105377 tries on, until both are at their most."""

    def value(program: sv.Channel, k: int) -> Any:
        return sv.posterior_vulnerability(program, None, sv.gains.tries(N, k)).value

    for k in (1, 2, 1000, 2**21, 2105376, 2105377, 2**24, 2**28, 7 * 2**29, N):
        assert value(P1, k) == F(2**29 + min(k, 7 * 2**29), N)
        assert value(P3, k) == min(1, F(2**8 * k, N))
    assert value(P1, 2105376) > value(P3, 2105376)
    assert value(P1, 2105377) < value(P3, 2105377)
    assert value(P1, 7 * 2**29 - 1) < value(P3, 7 * 2**29 - 1) == 1
    assert value(P1, 7 * 2**29) == value(P3, 7 * 2**29) == 1


def test_erratum_e11_p3_leaks_more_than_p4() -> None:
    for gain in (None, sv.losses.shannon(N), sv.losses.guessing(N), sv.gains.tries(N, 5)):
        third, fourth = (sv.leakage(program, None, gain, kind="additive") for program in (P3, P4))
        assert third.difference > fourth.difference


def test_guessing_and_the_max_case() -> None:
    """The expected number of guesses in a block of s equally likely secrets is (s + 1)/2."""
    found = sv.leakage(P1, None, sv.losses.guessing(N))
    assert found.prior == F(N + 1, 2)
    assert found.posterior == F(2**29, N) + F(7 * 2**29, N) * F(7 * 2**29 + 1, 2)
    worst = sv.posterior_vulnerability(P1, case="max")
    assert worst.value == 1
    assert worst.output == 0
    assert sv.posterior_vulnerability(P3, case="max").value == F(1, 2**24)


def test_other_measures_stay_symbolic() -> None:
    assert sv.capacity(P1, kind="shannon").bits == math.log2(2**29 + 1)
    assert sv.capacity(P1, kind="additive", gains="signed").difference == 1
    assert sv.capacity(P4, kind="additive", gains="unit").difference == F(15, 16)
    risk = sv.capacity(P1, kind="risk")
    assert risk.factor == math.inf
    assert risk.pair == (0, N - 1)
    assert sv.epsilon(P1, sv.metrics.discrete(N)).nats == math.inf
    assert sv.information.maximal_leakage(P3) == 8
    # Sibson of any order on equal blocks is the number of bits revealed.
    assert sv.information.sibson_information(P3, order=3) == pytest.approx(8)
    assert sv.information.arimoto_information(P3, order=0.5) == pytest.approx(8)
    assert P1.sample([0, 2**29 - 1, 2**29, N - 1]).tolist() == [0, 2**29 - 1, 2**29, 2**29]


@pytest.mark.parametrize(
    "question",
    [
        lambda: sv.leakage(P1, None, sv.gains.of_belief(max, N)),
        lambda: sv.posterior_vulnerability(P1, None, sv.gains.of_belief(max, N)),
        lambda: sv.gains.strategy(P1),
        lambda: sv.leakage(P1, [1.0]),
        lambda: P1.matrix,
        lambda: P1.row(0),
    ],
)
def test_what_needs_a_list_of_the_secrets_says_how_many_there_are(question: Any) -> None:
    with pytest.raises(TooLargeError, match=r"4,?294,?967,?296|536,?870,?913"):
        question()


def numbers(program: sv.Channel, size: int) -> list[Any]:
    gains = [None, sv.gains.tries(size, 3), sv.losses.guessing(size), sv.losses.shannon(size)]
    found = [
        sv.leakage(program, None, gain, kind="additive", case=case)
        for gain in gains
        for case in ("average", "max")
    ]
    values = [value for one in found for value in (one.prior, one.posterior)]
    return [*values, sv.capacity(program).factor, sv.capacity(program, kind="shannon").bits]


@given(st.integers(1, 12), st.data())
def test_block_sizes_function_and_matrix_agree(size: int, data: st.DataObject) -> None:
    images = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    program = sv.Channel.from_function(images.__getitem__, size)
    blocks = sv.Channel.from_blocks([images.count(image) for image in set(images)], inputs=size)
    matrix = sv.Channel(program.exact)
    assert numbers(program, size) == numbers(blocks, size)
    assert numbers(program, size) == pytest.approx(numbers(matrix, size))
    prior = data.draw(st.permutations([F(1, size)] * size))
    assert program.rmatvec(np.array(prior, dtype=float)).sum() == pytest.approx(1)


def test_programs_run_on_a_million_inputs() -> None:
    program = sv.Channel.from_function(lambda x: x % 1000, 10**6)
    assert sv.leakage(program).factor == 1000
    assert sv.posterior_vulnerability(program, None, sv.gains.tries(10**6, 7)).value == F(7000, 10**6)
    prior = np.random.default_rng(0).dirichlet(np.ones(10**6))
    heaviest = prior.reshape(1000, 1000).max(axis=0).sum()
    assert float(sv.posterior_vulnerability(program, prior)) == pytest.approx(heaviest)
