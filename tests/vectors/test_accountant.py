"""The exact accountant: every worked number and erratum of the chapter, brute force, certified tails."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import VectorError
from sievert.proofs import CodesProof
from sievert.vectors import (
    CXDP,
    PXDP,
    XDP,
    accountant,
    alpha_hoeffding,
    alpha_kl,
    calibrate,
    delta_for_population,
    loss_curve,
    paper_bounds,
    response_cxdp,
    subgaussian,
    xi_hoeffding,
)
from sievert.vectors._bounds import differing_bits

ALPHA = {
    0.05: (0.31111486, 0.20280078, 0.15866099, 0.11713909),
    0.10: (0.37660520, 0.25209506, 0.19988300, 0.14979226),
    0.20: (0.44181282, 0.30509491, 0.24546817, 0.18683926),
    0.25: (0.45747060, 0.31976981, 0.25866058, 0.19796900),
    0.30: (0.46544700, 0.32908649, 0.26749642, 0.20573692),
    0.40: (0.46266809, 0.33474602, 0.27462319, 0.21313271),
    0.50: (0.43792833, 0.32553964, 0.26969757, 0.21123322),
}
DIFFERING = {
    0.05: (3, 4, 5, 7),
    0.10: (4, 6, 7, 10),
    0.20: (5, 8, 11, 17),
    0.25: (6, 10, 13, 20),
    0.30: (7, 11, 15, 23),
    0.40: (8, 13, 18, 28),
    0.50: (9, 15, 21, 33),
}
KAPPAS = (10, 20, 30, 50)


@pytest.mark.parametrize("distance", ALPHA)
def test_table_10_2(distance: float) -> None:
    for bits, alpha, differing in zip(KAPPAS, ALPHA[distance], DIFFERING[distance], strict=True):
        assert alpha_kl(bits, distance, 0.01) == pytest.approx(alpha, abs=5.1e-9)
        assert differing_bits(bits, distance, 0.01) == differing


def test_alphas_of_hoeffding_and_of_small_delta() -> None:
    assert [alpha_hoeffding(bits, 0.01) for bits in KAPPAS] == pytest.approx(
        [0.479853, 0.339307, 0.277043, 0.214597], abs=5e-7
    )
    for delta, alpha, differing in ((1e-3, 0.260195382, 5), (1e-6, 0.400955497, 8), (1e-9, 0.516849153, 10)):
        assert alpha_kl(20, 0.05, delta) == pytest.approx(alpha, abs=5e-10)
        assert differing_bits(20, 0.05, delta) == differing


@pytest.mark.parametrize(
    ("bits", "distance", "hoeffding", "kl", "binomial", "tails", "exact"),
    [
        (10, 0.05, 5.2985, 3.6111, 3, (2, 2, 3), (0.5846, 1.8127, 2.3941)),
        (10, 0.25, 7.2985, 7.0747, 6, (4, 5, 6), (1.8668, 4.1540, 5.8386)),
        (20, 0.05, 7.7861, 5.0560, 4, (3, 3, 4), (0.9015, 2.6776, 3.7600)),
        (20, 0.10, 8.7861, 7.0419, 6, (3, 4, 6), (1.6512, 3.8676, 4.9996)),
        (20, 0.25, 11.7861, 11.3954, 10, (5, 7, 10), (3.0248, 6.8283, 9.5924)),
        (20, 0.50, 16.7861, 16.5108, 15, (8, 11, 15), (4.9170, 10.7257, 14.8340)),
        (50, 0.05, 13.2298, 8.3570, 7, (4, 5, 7), (1.8776, 4.6086, 6.2752)),
        (50, 0.25, 23.2298, 22.3984, 20, (9, 14, 20), (5.7899, 12.9968, 19.2530)),
    ],
)
def test_xi_by_accountant(
    bits: int,
    distance: float,
    hoeffding: float,
    kl: float,
    binomial: int,
    tails: tuple[int, ...],
    exact: tuple[float, ...],
) -> None:
    """Spec 7.3; every bound is at most the one before it."""
    for eps, tail, xi in zip((0.1, 1.0, 4.0), tails, exact, strict=True):
        found = paper_bounds(bits, distance, eps, 0.01)
        assert found.hoeffding / eps == pytest.approx(hoeffding, abs=5.1e-5)
        assert found.kl / eps == pytest.approx(kl, abs=5.1e-5)
        assert found.binomial == pytest.approx(eps * binomial)
        assert found.tail == pytest.approx(eps * tail)
        assert found.exact / eps == pytest.approx(xi, abs=5.1e-5)
        assert found.exact <= found.tail <= found.binomial <= found.kl <= found.hoeffding


EPS = {
    (10, 0.05): (
        (0.188732, 0.276920, 0.333333, 0.642781),
        (0.377463, 0.553840, 0.666667, 1.084829),
        (0.943659, 1.384601, 1.666667, 2.512664),
        (1.887317, 2.769202, 3.333333, 4.118611),
    ),
    (10, 0.25): (
        (0.137014, 0.141349, 0.166667, 0.340155),
        (0.274028, 0.282697, 0.333333, 0.555631),
        (0.685070, 0.706743, 0.833333, 1.122584),
        (1.370140, 1.413486, 1.666667, 2.011276),
    ),
    (20, 0.05): (
        (0.128433, 0.197784, 0.25, 0.513358),
        (0.256867, 0.395568, 0.5, 0.814283),
        (0.642167, 0.988921, 1.25, 1.696680),
        (1.284333, 1.977842, 2.5, 2.851034),
    ),
    (20, 0.10): (
        (0.113816, 0.142007, 0.166667, 0.361305),
        (0.227631, 0.284014, 0.333333, 0.614187),
        (0.569078, 0.710036, 0.833333, 1.254400),
        (1.138156, 1.420071, 1.666667, 2.062668),
    ),
    (20, 0.25): (
        (0.084845, 0.087755, 0.1, 0.238186),
        (0.169691, 0.175509, 0.2, 0.404061),
        (0.424227, 0.438774, 0.5, 0.793954),
        (0.848454, 0.877547, 1.0, 1.323563),
    ),
    (30, 0.05): (
        (0.101923, 0.159749, 0.2, 0.408256),
        (0.203847, 0.319498, 0.4, 0.693334),
        (0.509617, 0.798744, 1.0, 1.343331),
        (1.019234, 1.597488, 2.0, 2.501238),
    ),
    (50, 0.05): (
        (0.075587, 0.119661, 0.142857, 0.335281),
        (0.151174, 0.239322, 0.285714, 0.539573),
        (0.377934, 0.598304, 0.714286, 1.063403),
        (0.755868, 1.196608, 1.428571, 1.796491),
    ),
    (50, 0.25): (
        (0.043048, 0.044646, 0.05, 0.150037),
        (0.086096, 0.089292, 0.1, 0.253705),
        (0.215240, 0.223230, 0.25, 0.501677),
        (0.430481, 0.446459, 0.5, 0.826665),
    ),
}


@pytest.mark.parametrize(("bits", "distance"), EPS)
def test_calibrated_eps(bits: int, distance: float) -> None:
    """Spec 7.4: the exact accountant allows twice the ε of the paper."""
    for xi, row in zip((1, 2, 5, 10), EPS[bits, distance], strict=True):
        for method, eps in zip(("hoeffding", "kl", "binomial", "exact"), row, strict=True):
            found = calibrate(bits, distance, xi, 0.01, method=method)
            assert found.eps == pytest.approx(eps, abs=5.1e-7)
            assert found.reached <= 0.01
        assert accountant(bits, distance, row[3] * 1.00001).delta(xi) > 0.01


def test_the_interpretation_example() -> None:
    """Spec 7.5: a claimed δ of 0.01 is 330 times too large."""
    found = calibrate(20, 0.05, 5.0, 0.01, method="kl")
    assert (found.eps, found.flip) == pytest.approx((0.988921013, 0.271125251), abs=5e-10)
    assert 20 * found.flip == pytest.approx(5.42250501, abs=5e-9)
    account = accountant(20, 0.05, found.eps)
    assert account.tail(5.0) == pytest.approx(4.85766e-5, rel=1e-5)
    assert account.delta(5.0) == found.reached == pytest.approx(3.04025e-5, rel=1e-5)
    assert (account.tail(2.0), account.delta(2.0)) == pytest.approx((0.0283206, 0.0186439), abs=5e-8)


def test_composition() -> None:
    """Spec 6: the same hash has the same mean and a fatter tail."""
    one = accountant(20, 0.05, 0.5)
    same, fresh = one.compose(3, "same"), one.compose(3)
    assert [one.delta(xi) for xi in (1, 2, 4)] == pytest.approx(
        [0.00739531663, 9.64088850e-5, 1.09951253e-9], rel=1e-8
    )
    assert [same.delta(xi) for xi in (1, 2, 4)] == pytest.approx(
        [0.0968257819, 0.0191262810, 7.54392751e-4], rel=1e-8
    )
    assert [fresh.delta(xi) for xi in (1, 2, 4)] == pytest.approx(
        [0.0739104511, 0.00834210302, 1.80907884e-5], rel=1e-8
    )
    assert same.mean == pytest.approx(fresh.mean)
    for account in (one, same, fresh):
        law = account.loss_distribution
        assert law.probabilities.sum() == pytest.approx(1, abs=1e-14)
        mean = float(law.losses @ law.probabilities)
        assert account.mean == pytest.approx(mean)
        assert account.variance == pytest.approx(float((law.losses - mean) ** 2 @ law.probabilities))


def test_more_values() -> None:
    """Spec 6, B-ary randomised response."""
    account = accountant(4, 0.3, 0.8, values=4)
    assert account.tail(1) == pytest.approx(0.0725756742, abs=5e-11)
    assert account.delta(1) == pytest.approx(0.0349165690, abs=5e-11)


@pytest.mark.parametrize(("bits", "values"), [(1, 2), (2, 2), (3, 2), (6, 2), (1, 3), (3, 3), (4, 3)])
def test_brute_force(bits: int, values: int) -> None:
    """All patterns of differing coordinates, all outputs: the joint law of hash and output."""
    distance, eps = 0.3, 0.8
    total = math.exp(eps) + values - 1
    patterns = np.array(list(itertools.product((0, 1), repeat=bits)))[:, None, :]
    outputs = np.array(list(itertools.product(range(values), repeat=bits)))[None, :, :]
    weight = np.where(patterns == 1, distance, 1 - distance).prod(axis=2)
    # The first user has all zeros; the second a 1 wherever the pattern says so.
    first = (np.where(outputs == 0, math.exp(eps), 1) / total).prod(axis=2)
    second = (np.where(outputs == patterns, math.exp(eps), 1) / total).prod(axis=2)
    account = accountant(bits, distance, eps, values=values)
    for xi in (0.0, 0.5, 0.8, 1.6, 2.0):
        delta = float((weight * np.maximum(0.0, first - math.exp(xi) * second)).sum())
        tail = float((weight * first * (np.log(first / second) > xi + 1e-12)).sum())
        assert account.delta(xi) == pytest.approx(delta, abs=1e-14)
        assert account.tail(xi) == pytest.approx(tail, abs=1e-14)


@pytest.mark.parametrize(("bits", "values", "releases"), [(6, 2, 1), (3, 2, 2), (3, 4, 1), (40, 2, 1)])
def test_a_proof_shares_nothing_with_the_account(bits: int, values: int, releases: int) -> None:
    """One coordinate after another in whole numbers, against balls and a recurrence."""
    account = accountant(bits, 0.3, 0.8, values=values).compose(releases, "same")
    for delta in (Fraction(1, 100), Fraction(1, 10**12)):
        parts = bits, Fraction(3, 10), Fraction(4, 5), values, releases
        proof = CodesProof.of(*parts, Fraction(account.xi(delta)), delta)
        assert proof.verify() and proof.delta == delta
        assert float(proof.xi) == pytest.approx(account.xi(delta), rel=1e-14)
        assert float(proof.guess) == pytest.approx((1 + account.delta(0.0)) / 2, rel=1e-14)
        assert not replace(proof, xi=proof.xi * Fraction(999, 1000)).verify()
        # ξ is a double rounded up, which changes a δ of 1e-12 by some millionths.
        assert not replace(proof, delta=delta * Fraction(9999, 10**4)).verify()


@settings(max_examples=15)
@given(
    st.integers(1, 60),
    st.fractions(0, 1, max_denominator=40),
    st.fractions("1/10", 3, max_denominator=10),
    st.fractions("1/10", 20, max_denominator=10),
)
def test_laws(bits: int, distance: Fraction, eps: Fraction, xi: Fraction) -> None:
    """P[S = -s] = e^(-εs)·P[S = s]; XDP below PXDP; δ rises with the distance; ξ inverts δ."""
    account = accountant(bits, float(distance), float(eps))
    law = account.loss_distribution
    assert law.probabilities[::-1] == pytest.approx(np.exp(-law.losses) * law.probabilities, rel=1e-12, abs=0)
    delta, tail = account.delta(float(xi)), account.tail(float(xi))
    assert delta <= tail
    assert delta >= accountant(bits, float(distance) / 2, float(eps)).delta(float(xi))
    assert account.delta(0.0) <= account.differs * (1 + 1e-12)
    if 0 < delta < 1:
        assert account.xi(delta) <= float(xi) * (1 + 1e-12) + 1e-12
        assert account.delta(account.xi(delta / 3)) <= delta / 3
    further = XDP(float(xi), delta).tail(float(xi) + 1)
    assert account.tail(float(xi) + 1) <= further.delta * (1 + 1e-9)


def test_small_tails_are_certified() -> None:
    """δ far below 1e-16 against exact rationals; no FFT could see it."""
    account = accountant(60, 0.1, 1.0)
    # e^-1 as a rational to 60 digits; the sum below is exact.
    grown = Fraction(str(2.718281828459045)) + Fraction(
        "0.000000000000000235360287471352662497757247093699959"
    )
    p = [Fraction(1, 10) / (1 + grown), Fraction(9, 10), Fraction(1, 10) * grown / (1 + grown)]
    law = [Fraction(1)]
    for _ in range(60):
        wide = [Fraction(0)] * (len(law) + 2)
        for place, mass in enumerate(law):
            for step in range(3):
                wide[place + step] += mass * p[step]
        law = [Fraction(round(v * 10**120), 10**120) for v in wide]
    expected = float(sum(law[60 + 41 :]))
    assert 0 < expected < 1e-23
    assert account.tail(40.0) == pytest.approx(expected, rel=1e-13)
    assert account.tail(40.0) >= expected * (1 - 1e-15)
    assert 0 < account.delta(40.0) < account.tail(40.0)
    assert account.delta(account.xi(1e-30)) <= 1e-30


def test_ties_are_decided_on_integers() -> None:
    account = accountant(20, 0.1, 0.7)
    assert account.tail(3 * 0.7) == account.tail(2.1) == account.tail(2.2)
    assert account.tail(2.0999) > account.tail(2.1)


def test_the_tail_may_fall_with_distance() -> None:
    """Spec 6, monotonicity trap: delta rises, tail does not."""
    tails = [accountant(2, d, 0.1).tail(0) for d in (0.5, 0.9, 1.0)]
    assert tails == pytest.approx([0.331390, 0.317735, 0.275603], abs=5e-7)
    flip = 1 / (1 + math.exp(0.1))
    largest = accountant(2, 1.0, 0.1).tail_within(0)
    assert largest == pytest.approx(accountant(2, 1 / (1 + flip), 0.1).tail(0), abs=1e-9)
    deltas = [accountant(2, d, 0.1).delta(0) for d in (0.5, 0.9, 1.0)]
    assert deltas == sorted(deltas)


TAU = {
    0.01: (0.307475, 0.308623, 0.313176, 0.317600, 0.322873, 0.326020, 0.326540),
    0.05: (0.369705, 0.371146, 0.376701, 0.381802, 0.387406, 0.390449, 0.390926),
    0.10: (0.412798, 0.414143, 0.418978, 0.422762, 0.425775, 0.426612, 0.426670),
    0.25: (0.514044, 0.514388, 0.513378, 0.507866, 0.493497, 0.479782, 0.477084),
    0.50: (0.707104, 0.706812, 0.699884, 0.679792, 0.617088, 0.518230, 0.500335),
    0.75: (0.866022, 0.865665, 0.857179, 0.832572, 0.755775, 0.601257, 0.479497),
    1.00: (0.999996, 0.999584, 0.989785, 0.961371, 0.872694, 0.694272, 0.499832),
}


@pytest.mark.parametrize("distance", TAU)
def test_sharp_subgaussian_constants(distance: float) -> None:
    found = [subgaussian(distance, eps) for eps in (0.01, 0.1, 0.5, 1, 2, 4, 8)]
    assert found == pytest.approx(TAU[distance], abs=1e-6)


def test_erratum_theorem_10_6() -> None:
    """E1: the printed tau is wrong below four bits; ours holds for every number of bits."""
    eps, s = 0.1, 10.0
    law = accountant(1, 1.0, eps).loss_distribution
    moment = float(np.exp(s * (law.losses - law.losses @ law.probabilities)) @ law.probabilities)
    printed = CXDP(eps, eps / 2)
    assert moment == pytest.approx(1.52373489, abs=5e-9)
    assert math.exp(s**2 * printed.tau**2 / 2) == pytest.approx(1.13314845, abs=5e-9)
    assert moment <= math.exp(s**2 * response_cxdp(1, eps).tau ** 2 / 2)
    assert 4 * subgaussian(0.5, 0.1) ** 2 == pytest.approx(1.998, abs=5e-4)
    assert 4 * subgaussian(1.0, 0.1) ** 2 == pytest.approx(3.997, abs=1.5e-3)
    # Thm 10.7 does not follow from Thm 10.6 with Prop 10.4: that gives bits where the theorem has √bits.
    by_way = CXDP(1.0 * 20, 1.0 * 20 / 2).to_pxdp(0.05, 0.01)
    assert by_way.xi > xi_hoeffding(20, 0.05, 1.0, 0.01)
    assert PXDP(2.0, 0.1).to_xdp() == XDP(2.0, 0.1)


def test_errata_of_views_and_lemmas() -> None:
    """E2: with the seed hidden one code says nothing, which is no promise; E3, E4."""
    hidden = accountant(20, 0.5, 3.0, view="output only")
    assert (hidden.delta(0.0), hidden.xi(0.0), hidden.worst, hidden.mean) == (0, 0, 0, 0)
    assert "secret" in hidden.warnings(0.01)[0]
    normal_tail = 0.5 * math.erfc(-1 / math.sqrt(2))
    assert math.exp(-1 / 2) == pytest.approx(0.606531, abs=5e-7) and normal_tail > 0.84  # s < 0 is no bound
    # d^bits > δ: no root; the loss never exceeds ε·bits.
    assert alpha_kl(2, 0.5, 0.1) == 0.5
    assert paper_bounds(2, 0.5, 1.0, 0.1).kl == 2.0
    assert paper_bounds(20, 0.0, 1.0, 0.1).kl == 0.0 == paper_bounds(20, 0.0, 1.0, 0.1).hoeffding
    with pytest.raises(VectorError, match="delta"):
        alpha_hoeffding(20, 1.5)


def test_vacuous_promises_are_named() -> None:
    """E10 and spec 6: plain hashing satisfies (0, 0.01) already at ten bits and distance 0.001."""
    found = calibrate(10, 0.001, 1.0, 0.01, users=943)
    assert found.vacuous and math.isinf(found.eps)
    assert found.reached == pytest.approx(0.00995512, abs=5e-9)
    assert "vacuous" in str(found) and "4,442" in found.warnings[1]
    assert not calibrate(20, 0.05, 1.0, 0.01).warnings
    assert delta_for_population(943) == pytest.approx(1 / 444153)


def test_converse_of_proposition_10_5() -> None:
    account = accountant(20, 0.05, 1.0)
    assert account.delta(1) == pytest.approx(0.0924544890, abs=5e-11)
    assert XDP(1.0, account.delta(1)).tail(2.0).delta == pytest.approx(0.146260848, abs=5e-10)
    assert account.tail(2) == pytest.approx(0.0285858220, abs=5e-11)
    # PXDP is broken by merging outputs, XDP is not.
    first, second = np.array([0.01, 0.30, 0.69]), np.array([0.0, 0.30 / math.e, 1 - 0.30 / math.e])
    merged = first[:2].sum(), second[:2].sum()
    assert first[np.array([True, False, False])].sum() == 0.01
    assert merged[0] == pytest.approx(0.31) and math.log(merged[0] / merged[1]) > 1


def test_renyi_orders() -> None:
    for bits, distance, eps, order in ((3, 0.3, 0.8, 2.5), (1, 1.0, 2.0, 7.0)):
        account = accountant(bits, distance, eps)
        law = account.loss_distribution
        exact = math.log(float(np.exp((order - 1) * law.losses) @ law.probabilities)) / (order - 1)
        assert account.renyi(order) == pytest.approx(exact, rel=1e-12)
    assert accountant(2, 0.5, 5.0).renyi(1000.0) == pytest.approx(10.0, rel=1e-3)
    with pytest.raises(VectorError, match="order"):
        accountant(2, 0.5, 5.0).renyi(1.0)


def test_ends() -> None:
    assert accountant(20, 0.0, 1.0).delta(0.0) == 0
    assert accountant(20, 0.3, 0.0).delta(0.0) == 0
    plain = accountant(10, 0.1, math.inf)
    assert plain.delta(5.0) == plain.tail(5.0) == pytest.approx(1 - 0.9**10)
    assert plain.xi(0.1) == math.inf and plain.xi(0.9) == 0
    assert plain.loss_distribution.infinite == pytest.approx(1 - 0.9**10)
    assert accountant(5, 1.0, 1.0).xi(0.0) == 5.0 == accountant(5, 1.0, 1.0).worst
    assert accountant(5, 1.0, 1.0).delta(5.0) == 0


def test_curves_and_peers(oracle: object) -> None:
    found = loss_curve(20, 1.0, 0.01)
    assert (np.diff(found.exact) >= 0).all() and "0.01" in str(found)
    accounting = oracle("dp_accounting")  # type: ignore[operator]
    from dp_accounting.pld import privacy_loss_distribution as pld

    assert accounting is not None
    d, flip = 0.25, 1 / (1 + math.e)
    first = {"same": 1 - d, "plus": d * (1 - flip), "minus": d * flip}
    second = {"same": 1 - d, "plus": d * flip, "minus": d * (1 - flip)}
    peer = pld.from_two_probability_mass_functions(
        {k: math.log(v) for k, v in first.items()},
        {k: math.log(v) for k, v in second.items()},
        value_discretization_interval=1e-3,
    ).self_compose(20)
    for xi in (2.0, 5.0):
        assert peer.get_delta_for_epsilon(xi) == pytest.approx(accountant(20, d, 1.0).delta(xi), rel=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: accountant(0, 0.1, 1.0), "bits is 0"),
        (lambda: accountant(5, 1.5, 1.0), "distance is 1.5"),
        (lambda: accountant(5, 0.1, -1.0), "eps is -1.0"),
        (lambda: accountant(5, 0.1, math.nan), "eps is nan"),
        (lambda: accountant(5, 0.1, 1.0, view="output"), "view is 'output'"),
        (lambda: accountant(5, 0.1, 1.0).xi(1.0), "delta is 1.0; it must be below 1"),
        (lambda: accountant(5, 0.1, 1.0).delta(-1), "xi is -1"),
        (lambda: calibrate(5, 0.1, 0.0, 0.1), "xi is 0.0"),
        (lambda: calibrate(5, 0.1, 1.0, 1.0), "delta is 1.0"),
        (lambda: calibrate(5, 0.1, 1.0, 0.1, method="exac"), "did you mean 'exact'"),
        (lambda: accountant(5, 0.1, 1.0).compose(2).compose(2), "several releases already"),
        (lambda: sv.vectors.delta_for_population(1), "users is 1"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    with pytest.raises(VectorError, match=words):
        call()  # type: ignore[operator]


@given(
    st.integers(1, 30),
    st.floats(0, 1),
    st.floats(0.01, 20),
    st.floats(1e-9, 0.9),
    st.integers(2, 9),
    st.sampled_from(["fresh", "same"]),
)
@settings(max_examples=60)
def test_the_least_xi_keeps_its_delta(
    bits: int, distance: float, eps: float, delta: float, values: int, hashing: str
) -> None:
    """In floats too, however ξ and δ are rounded."""
    account = accountant(bits, distance, eps, values=values).compose(2, hashing)
    assert account.delta(account.xi(delta)) <= delta
