"""Properties and gains as plain guesses of another secret."""

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

import sievert as sv
from sievert.errors import GainError


def test_a_property_is_a_secret_of_its_own() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 5, 9):
        channel, prior = sv.Channel(rng.dirichlet(np.ones(4), n)), rng.dirichlet(np.ones(n))
        has = [x for x in range(n) if x % 2]
        belief, told = sv.gains.property_channel(channel, prior, has)
        direct = sv.leakage(channel, prior, sv.gains.property(n, has))
        assert float(sv.vulnerability(belief)) == pytest.approx(direct.prior, rel=1e-12)
        assert float(sv.posterior_vulnerability(told, belief)) == pytest.approx(direct.posterior, rel=1e-12)
        assert sv.gains.property_channel(channel, prior, lambda x: x % 2)[1].matrix == pytest.approx(
            told.matrix
        )


def test_sides_that_cannot_happen() -> None:
    channel = sv.Channel([["3/4", "1/4"], ["1/2", "1/2"], [0, 1]])
    belief, told = sv.gains.property_channel(channel, [Fraction(1, 2), Fraction(1, 2), 0], [2])
    assert belief.tolist() == [0, 1]
    assert told.exact.tolist() == [[0, 1], [Fraction(5, 8), Fraction(3, 8)]]
    belief, told = sv.gains.property_channel(channel, None, [])
    assert belief.tolist() == [0, 1]
    assert told.exact[0].tolist() == told.exact[1].tolist() == [Fraction(5, 12), Fraction(7, 12)]


@pytest.mark.parametrize("shift", [0.0, -2.0])
def test_every_gain_is_a_guess(shift: float) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 3, 6):
        gain = sv.gains.matrix(rng.random((4, n)) + shift)
        prior = rng.dirichlet(np.ones(n))
        guess = sv.gains.as_guess(gain, prior)
        value = guess.factor * float(sv.vulnerability(guess.prior)) + guess.shift
        assert value == pytest.approx(float(sv.vulnerability(prior, gain)), rel=1e-12)
        for m in (1, 3):
            channel = sv.Channel(rng.dirichlet(np.ones(m), n))
            after = float(sv.posterior_vulnerability(guess.channel.then(channel), guess.prior))
            expected = float(sv.posterior_vulnerability(channel, prior, gain))
            assert guess.factor * after + guess.shift == pytest.approx(expected, rel=1e-12)


def test_exact_and_like_qif(oracle: Callable[[str], ModuleType]) -> None:
    qif = oracle("qif")
    table = [[1, Fraction(1, 5), Fraction(3, 10)], [0, Fraction(1, 2), Fraction(9, 10)], [0, 0, 0]]
    prior = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    guess = sv.gains.as_guess(sv.gains.matrix(table), prior)
    assert guess.factor == Fraction(19, 20)
    assert guess.prior.tolist() == [Fraction(62, 95), Fraction(33, 95)]  # the useless action is no secret
    floats = np.array(table[:2], dtype=float)
    expected = qif.measure.g_vuln.g_to_bayes(floats, np.array(prior, dtype=float))
    assert guess.prior.astype(float) == pytest.approx(expected[0])
    assert guess.channel.matrix == pytest.approx(expected[1])


def test_what_is_refused() -> None:
    with pytest.raises(GainError, match=r"gain is the loss 'absolute'; give sv\.gains\.from_loss"):
        sv.gains.as_guess(sv.losses.absolute(3))
    with pytest.raises(GainError, match="worth nothing under this prior"):
        sv.gains.as_guess(sv.gains.matrix([[0, 1]]), [1, 0])
