"""Least leakage for a loss, least loss for a leakage, and the frontier between them."""

import dataclasses
import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sievert as sv
from sievert import testing
from sievert.design import Frontier
from sievert.errors import GainError, MechanismError

FloatArray = NDArray[np.float64]


def two_block(n: int) -> FloatArray:
    return np.maximum(0, 1 - np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 2)


def check(design: sv.results.LeakageDesign, gap: float = 1e-10) -> None:
    assert design.certificate.verify().holds
    assert 0 <= design.gap <= gap
    assert (design.mechanism.matrix.sum(axis=1) == 1.0).all()


@pytest.mark.parametrize("n", [3, 8, 20])
@pytest.mark.parametrize("kind", ["bayes", "g", "risk"])
def test_agreement_with_qif(n: int, kind: str, oracle: Callable[[str], ModuleType]) -> None:
    qif = oracle("qif")
    rng = np.random.default_rng(n)
    prior, loss = rng.dirichlet(np.ones(n)), sv.losses.absolute(n)

    def absolute(w: object, x: object) -> float:
        return abs(float(w) - float(x))  # type: ignore[arg-type]

    gain = two_block(n)
    if kind == "bayes":
        least = sv.design.least_leakage(prior, loss, 0.5)
        theirs = qif.mechanism.bayes_vuln.min_vuln_given_max_loss(prior, n, 0.5, absolute)
        assert least.posterior == pytest.approx(qif.measure.bayes_vuln.posterior(prior, theirs), abs=1e-9)
        limit = least.prior + (1 - least.prior) / 4
        found = sv.design.least_loss(prior, loss, limit)
        other = qif.mechanism.bayes_vuln.min_loss_given_max_vuln(prior, n, limit, absolute)
    elif kind == "g":
        least = sv.design.least_leakage(prior, loss, 0.5, gain)
        theirs = qif.mechanism.g_vuln.min_vuln_given_max_loss(
            prior, n, n, 0.5, lambda w, x: gain[int(w), int(x)], absolute
        )
        assert least.posterior == pytest.approx(qif.measure.g_vuln.posterior(gain, prior, theirs), abs=1e-9)
        limit = least.prior + (1 - least.prior) / 4
        found = sv.design.least_loss(prior, loss, limit, gain)
        other = qif.mechanism.g_vuln.min_loss_given_max_vuln(
            prior, n, n, limit, lambda w, x: gain[int(w), int(x)], absolute
        )
    else:
        adversary = sv.losses.squared(n)
        least = sv.design.least_leakage(prior, loss, 0.5, adversary)
        theirs = qif.mechanism.l_risk.max_risk_given_max_loss(
            prior, n, n, 0.5, lambda w, x: (float(w) - float(x)) ** 2, absolute
        )
        risk = float(sv.posterior_vulnerability(sv.Channel(theirs, normalise=True), prior, adversary).value)
        assert least.posterior == pytest.approx(risk, abs=1e-8)
        limit = least.prior / 2
        found = sv.design.least_loss(prior, loss, limit, adversary)
        other = qif.mechanism.l_risk.min_loss_given_min_risk(
            prior, n, n, limit, lambda w, x: (float(w) - float(x)) ** 2, absolute
        )
    check(least)
    check(found)
    assert least.loss <= 0.5
    distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert found.loss == pytest.approx(float((prior[:, None] * distances * other).sum()), abs=1e-8)
    assert found.posterior <= limit if kind != "risk" else found.posterior >= limit


@given(st.data())
def test_budgets_hold_and_order(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    prior = data.draw(testing.priors(n))
    gain = np.asarray(data.draw(testing.gain_matrices(n)), dtype=np.float64)
    share = data.draw(st.floats(0, 1))
    loss = sv.losses.absolute(n)
    everything = sv.design.least_leakage(prior, loss, 0.0, gain)
    check(everything, 1e-9 * max(1.0, float(np.abs(gain).max())))
    between = everything.prior + share * (everything.posterior - everything.prior)
    found = sv.design.least_loss(prior, loss, between, gain)
    check(found, 1e-9 * max(1.0, n))
    assert found.posterior <= found.budget + 1e-12
    # Going back from its loss the leakage is the same.
    again = sv.design.least_leakage(prior, loss, found.loss, gain)
    assert again.posterior <= found.posterior + 1e-8


def test_the_ends() -> None:
    prior, loss = [0.5, 0.3, 0.2], sv.losses.absolute(3)
    nothing = sv.design.least_loss(prior, loss, 0.5)
    # The adversary may still learn something as long as the best guess stays right half of the time.
    assert nothing.posterior == pytest.approx(0.5) and nothing.loss == pytest.approx(0.5)
    check(nothing)
    all_of_it = sv.design.least_leakage(prior, loss, 0.0)
    assert all_of_it.posterior == pytest.approx(1.0) and all_of_it.loss < 1e-14
    check(all_of_it)
    idle = sv.design.least_leakage(prior, loss, 5.0)
    assert idle.posterior == pytest.approx(0.5) and idle.gap < 1e-12
    free = sv.design.least_loss(prior, loss, 1.0)
    assert free.loss < 1e-14
    assert sv.design.least_loss(prior, loss, bits=0.5).posterior <= 0.5 * 2**0.5 + 1e-12
    for wrong, message in (
        (lambda: sv.design.least_leakage(prior, loss, -0.1), "even without privacy the loss is 0"),
        (lambda: sv.design.least_loss(prior, loss, 0.4), "already reaches 0.5"),
        (lambda: sv.design.least_loss(prior, loss, bits=-1), "bits is -1"),
        (lambda: sv.design.least_loss(prior, loss), "exactly one"),
        (lambda: sv.design.least_loss(prior, loss, 0.5, sv.losses.squared(3), bits=1), "exactly one"),
        (lambda: sv.design.least_loss(prior, loss, bits=1, gain=sv.losses.squared(3)), "give posterior"),
    ):
        with pytest.raises(MechanismError, match=message):
            wrong()
    with pytest.raises(GainError, match="loss is missing"):
        sv.design.least_leakage(prior, None, 0.1)
    risk = sv.design.least_leakage(prior, loss, 0.3, sv.losses.squared(3))
    assert risk.posterior <= risk.lower_bound <= risk.posterior + 1e-10
    with pytest.raises(GainError, match="no matrix"):
        sv.design.least_leakage(prior, loss, 0.1, sv.losses.shannon(3))


def test_frontier_is_convex_and_proved() -> None:
    prior = [0.4, 0.3, 0.2, 0.1]
    found = sv.frontier(prior, sv.losses.absolute(4), points=9)
    assert len(found) == 9 and found.gap < 1e-10
    assert found.posteriors[0] == pytest.approx(0.4) and found.losses[-1] < 1e-12
    slopes = np.diff(found.losses) / np.diff(found.posteriors)
    assert (slopes <= 1e-9).all() and (np.diff(slopes) >= -1e-6).all()
    assert "9 mechanisms" in str(found) and set(found.to_dict()) == {"posterior", "loss", "gap"}
    two = sv.frontier(prior, sv.losses.absolute(4), points=[0.5, 0.7])
    assert two.posteriors == pytest.approx([0.5, 0.7])
    for points in (1, []):
        with pytest.raises(MechanismError, match="points is"):
            sv.frontier(prior, sv.losses.absolute(4), points=points)


def test_impossible_inputs_and_signed_gains() -> None:
    prior = [0.0, 0.5, 0.5]
    gain = np.array([[-1.0, 2.0, -3.0], [0.5, -1.0, 1.0]])
    for design in (
        sv.design.least_leakage(prior, sv.losses.absolute(3), 0.2, gain),
        sv.design.least_loss(prior, sv.losses.absolute(3), 0.3, gain),
    ):
        check(design, 1e-9)
    assert math.isfinite(sv.design.least_leakage(prior, sv.losses.absolute(3), 0.2, gain).posterior)


def test_nothing_lost_is_exactly_nothing() -> None:
    """Rounding up does not turn 0 into the smallest float."""
    found = sv.frontier([0.3, 0.25, 0.25, 0.2], sv.losses.absolute(4), points=2)
    assert found.losses[-1] == 0.0
    turned = sv.frontier([0.5, 0.3, 0.2], sv.losses.absolute(3), sv.losses.bayes_risk(3), points=2)
    assert turned.posteriors[-1] == 0.0 and str(turned.posteriors[-1]) == "0.0"
    for design in (*found.designs, *turned.designs):
        assert design.certificate.verify().holds


def test_rounding_is_not_told_as_a_loss() -> None:
    found = sv.design.least_loss([0.5, 0.3, 0.2], sv.losses.absolute(3), posterior=1)
    assert str(found).startswith("loses 0 on average")
    tiny = dataclasses.replace(found, loss=5e-324)
    assert "down to loss 0 (" in str(Frontier((tiny,)))
    # What is lost really is told, below zero too.
    assert "loses -0.25 on" in str(dataclasses.replace(found, loss=-0.25))
