"""Structured cases: partitions, ROC curves, families; each against the general method on the same pair."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.orders import refines

TG, RR = sv.mechanisms.truncated_geometric, sv.mechanisms.randomised_response


def programs(bits, low):
    """Smaller analogues of the programs of Ex 4.1.1 on 2^bits secrets."""
    size = 2**bits
    return [
        sv.Channel.from_function(lambda h: h if h % 8 == 0 else "no", size),
        sv.Channel.from_function(lambda h: h if h % 4 == 0 else "no", size),
        sv.Channel.from_function(lambda h: h % 2**low, size),
        sv.Channel.from_function(lambda h: h % 2 ** (low // 2), size),
    ]


EXPECTED = {(1, 0), (2, 3)}  # P2 ⊑ P1 and P3 ⊑ P4, everything else incomparable (E11: P3 leaks more than P4)


@pytest.mark.parametrize("order", ["average", "max", "privacy"])
def test_programs_by_partitions(order):
    found = programs(10, 4)
    for i, a in enumerate(found):
        for j, b in enumerate(found):
            verdict = refines(a, b, order)
            assert verdict.holds is (i == j or (i, j) in EXPECTED)
            assert verdict.exact and verdict.certificate.verify()
            if verdict.holds is False and order == "average":
                prior, gain = verdict.witness.prior, verdict.witness.gain
                values = [sv.posterior_vulnerability(c, prior, gain) for c in (a, b)]
                assert float(values[1]) > float(values[0])


def test_programs_agree_with_the_general_method():
    found = programs(4, 2)
    for a in found:
        for b in found:
            assert refines(a, b).holds is (sv.deficiency(a, b, "uniform").exact == 0)


def test_programs_known_by_sizes():  # 2^32 secrets, symbolically
    sizes = [{1: 2**29, 7 * 2**29: 1}, {1: 2**30, 3 * 2**30: 1}, {2**24: 256}, {2**28: 16}]
    found = [sv.Channel.from_blocks(each) for each in sizes]
    for i, a in enumerate(found):
        for j, b in enumerate(found):
            if i == j:
                continue
            verdict = refines(a, b)
            # Sizes refuse, but do not say which secrets share a block.
            assert verdict.holds is (None if (i, j) in EXPECTED else False)
            assert verdict.certificate is None or verdict.certificate.verify()
    assert "do not tell" in refines(found[1], found[0]).method
    everything, nothing = sv.Channel.from_blocks({1: 2**32}), sv.Channel.from_blocks({2**32: 1})
    assert refines(everything, found[2]).holds and refines(found[2], nothing).holds
    with pytest.raises(sv.errors.ChannelError):
        refines(everything, sv.Channel.from_blocks({4: 1}))


@given(st.data())
def test_two_secrets_by_curves(data):
    a = data.draw(testing.channels(2, (1, 6), form="exact", sparse=True))
    if data.draw(st.booleans()):
        b = a.then(data.draw(testing.channels(a.shape[1], (1, 5), form="exact", sparse=True)))
    else:
        b = data.draw(testing.channels(2, (1, 5), form="exact", sparse=True))
    verdict = refines(a, b)
    assert verdict.holds is (sv.deficiency(a, b, "uniform").exact == 0)
    assert verdict.certificate.verify()


def exact_family(name, n, parameter):
    if name == "E":
        return sv.mechanisms.exponential(sv.metrics.line(n), alpha=parameter**2)
    return TG(n, alpha=parameter) if name == "TG" else RR(n, alpha=parameter)


@pytest.mark.parametrize("first", ["TG", "R", "E"])
@pytest.mark.parametrize("second", ["TG", "R", "E"])
def test_column_tests_agree_with_the_general_method(first, second):
    rng = np.random.default_rng(9)
    for _ in range(12):
        n = int(rng.integers(2, 7))
        a, b = (exact_family(name, n, F(int(rng.integers(1, 30)), 30)) for name in (first, second))
        verdict, general = refines(a, b), sv.deficiency(a, b, "uniform")
        assert verdict.holds is (general.exact == 0)
        assert verdict.certificate.verify()


@pytest.mark.parametrize(("less_safe", "safer"), [("TG", "R"), ("R", "TG"), ("TG", "TG"), ("R", "R")])
def test_large_members_by_closed_form(less_safe, safer):
    a = exact_family(less_safe, 1000, F(1, 2))
    known = {("TG", "R"): F(2, 3), ("TG", "TG"): F(1, 2), ("R", "R"): F(1, 2)}
    boundary = known.get((less_safe, safer))
    if boundary is None:
        verdict = refines(a, exact_family(safer, 1000, F(999, 1000)))
        assert verdict.holds is False and verdict.certificate.verify()
        verdict = refines(a, exact_family(safer, 1000, 1 - F(1, 10**6)))
        assert verdict.holds and verdict.certificate.verify()
        return
    tiny = F(1, 10**40)
    for step, answer in ((-tiny, False), (F(0), True), (tiny, True)):
        verdict = refines(a, exact_family(safer, 1000, boundary + step))
        assert verdict.holds is answer and verdict.exact and verdict.certificate.verify()


def test_large_float_families():
    line = sv.metrics.line(400)
    tg, rr, e = TG(400, 1.0), RR(400, 0.7), sv.mechanisms.exponential(line, 1.2)
    assert refines(tg, rr).holds
    verdict = refines(tg, RR(400, 1.0))
    assert verdict.holds is False
    assert np.count_nonzero(np.abs(np.diff(np.asarray(verdict.witness.gain, dtype=float), axis=0))) <= 3
    assert refines(e, TG(400, 0.2)).holds
    assert refines(e, TG(400, 1.1)).holds is False


@pytest.mark.parametrize("pair", [(TG, TG), (RR, RR), (TG, RR), (RR, TG)])
def test_families_in_every_order_far_beyond_fractions(pair):
    n = 400
    for alpha, beta in ((F(1, 2), F(1, 2)), (F(1, 2), F(3, 4)), (F(3, 4), F(1, 2))):
        a, b = pair[0](n, alpha=alpha), pair[1](n, alpha=beta)
        verdicts = [refines(a, b, order) for order in ("average", "max", "privacy")]
        assert all(verdict.exact for verdict in verdicts)
        assert verdicts[0].holds is verdicts[1].holds  # independent columns
        expected = beta ** (n - 1) >= alpha if pair == (RR, TG) else beta >= alpha
        assert verdicts[2].holds is expected
        if verdicts[1].holds is False:
            witness = verdicts[1].witness
            before, after = (
                sv.posterior_vulnerability(sv.Channel(c.rounded()), None, witness.gain, case="max")
                for c in (a, b)
            )
            assert float(after) > float(before)


def test_max_order_of_rare_outputs_is_not_taken_from_the_average():
    # The second output of B is rare and far outside A's hull: on average nobody sees it.
    rare = 1e-12
    a = sv.Channel([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]])
    b = sv.Channel([[1 - rare, rare], [1.0, 0.0], [1.0, 0.0]])
    assert refines(a, b).holds is True
    assert refines(a, b, "max").holds is False
