"""Dalenius vulnerability, privacy loss and accuracy: the worked example of the thesis, and laws."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import GainError
from sievert.inference import Correlation, accuracy, privacy_loss, survey_channel, vulnerability
from sievert.testing import channels

SURVEY = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
# One row for each pair of answers <0,0>, <1,0>, <0,1>, <1,1>.
PEOPLE = Correlation.from_labels([1, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2])
RESPONSE = [["9/16", "3/8", "1/16"], ["3/16", "5/8", "3/16"], ["1/16", "3/8", "9/16"]]
GEOMETRIC = [["3/4", "1/6", "1/12"], ["1/4", "1/2", "1/4"], ["1/12", "1/6", "3/4"]]


def on_people(rows: list[Any]) -> sv.Channel:
    return sv.Channel([rows[i] for i in (0, 1, 1, 2)])


@pytest.mark.parametrize(
    ("rows", "secret", "use"),
    [
        (RESPONSE, Fraction(5, 8), Fraction(19, 32)),
        (GEOMETRIC, Fraction(2, 3), Fraction(5, 8)),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], Fraction(3, 4), Fraction(1)),
        ([[1], [1], [1]], Fraction(1, 2), Fraction(1, 2)),
    ],
)
def test_the_survey_of_two(rows: list[Any], secret: Fraction, use: Fraction) -> None:
    for channel, correlation in ((sv.Channel(rows), SURVEY), (on_people(rows), PEOPLE)):
        assert vulnerability(channel, correlation).value == secret
        assert accuracy(channel, correlation).value == use
        assert privacy_loss(channel, correlation).factor == 2 * secret


def test_the_figures_are_these_channels() -> None:
    assert survey_channel(2, Fraction(1, 3), "response").exact.tolist() == sv.Channel(RESPONSE).exact.tolist()
    truth = sv.mechanisms.truncated_geometric(3, alpha="1/3")
    assert truth.exact.tolist() == sv.Channel(GEOMETRIC).exact.tolist()


def test_visible_answers_tell_more_about_one_and_as_much_about_the_tally() -> None:
    one = sv.mechanisms.randomised_response(2, alpha="1/3")
    both = one.product(2)
    rows = [both.exact[both.input_index(pair)] for pair in ((0, 0), (1, 0), (0, 1), (1, 1))]
    assert vulnerability(sv.Channel(rows), PEOPLE).value == Fraction(3, 4)
    assert accuracy(sv.Channel(rows), PEOPLE).value == Fraction(19, 32)


def test_both_channels_are_ln_3_private_between_neighbours_and_one_refines_the_other() -> None:
    response, geometric = sv.Channel(RESPONSE), sv.Channel(GEOMETRIC)
    for channel in (response, geometric):
        assert sv.epsilon(channel, sv.metrics.line(3)).exact == 3
    assert sv.refines(geometric, response).holds
    assert not sv.refines(response, geometric).holds
    post = sv.Channel([["3/4", "1/4", 0], [0, 1, 0], [0, "1/4", "3/4"]])
    assert geometric.then(post).exact.tolist() == response.exact.tolist()


def test_erratum_a_better_guess_of_the_answer_is_no_better_guess_of_the_tally() -> None:
    """Sec 5.3.2 says that it must be; telling the answer of one participant refutes it."""
    told = sv.Channel([[1, 0], [0, 1], [1, 0], [0, 1]])
    assert vulnerability(told, PEOPLE).value == 1
    assert accuracy(told, PEOPLE).value == Fraction(1, 2) < Fraction(19, 32)


def test_zero_bayes_leakage_is_not_silence() -> None:
    """Table 5.1, row ln 3 of scenario A: the rare class goes from 20.16 % to 43.10 % at loss 1."""
    shares = [Fraction(n, 11710) for n in (2361, 9349)]
    found = privacy_loss(
        sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]]), Correlation([[shares[0], 0], [0, shares[1]]])
    )
    assert found.factor == 1 and not found.leaks and not found.preserves
    assert round(found.shifts[0].before, 4) == 0.2016
    assert round(found.shifts[0].most, 4) == 0.4310
    assert found.odds == pytest.approx(3)
    assert found.capacity == Fraction(3, 2)
    assert found.bits > 0.05
    assert "Zero Bayes leakage" in str(found) and "beliefs move" in str(found)


def test_nothing_told_is_said_so() -> None:
    found = privacy_loss(sv.Channel([[0.3, 0.7]] * 3), SURVEY)
    assert found.preserves and found.bits == 0 and found.odds == 1
    parity = privacy_loss(sv.Channel([[1, 0], [0, 1], [1, 0]]), SURVEY)
    assert parity.preserves
    assert accuracy(sv.Channel([[1, 0], [0, 1], [1, 0]]), SURVEY).value == Fraction(3, 4)


def test_zero_columns_and_zero_uses_contribute_nothing() -> None:
    joint = Correlation([["1/2", 0, 0], [0, "1/2", 0]])
    channel = sv.Channel([[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    found = privacy_loss(channel, joint)
    assert found.after == 1 and found.odds == np.inf


def test_a_loss_has_no_privacy_loss() -> None:
    with pytest.raises(GainError, match="is the loss"):
        privacy_loss(sv.Channel(RESPONSE), SURVEY, sv.losses.bayes_risk(2))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Correlation, sv.Channel, list[list[int]]]:
    secrets, uses = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    counts = [[draw(st.integers(0, 5)) for _ in range(uses)] for _ in range(secrets)]
    for row in counts:
        row[0] += 1
    channel = draw(channels(inputs=uses, outputs=(1, 4), form="exact", sparse=True))
    gain = [[draw(st.integers(-3, 3)) for _ in range(secrets)] for _ in range(draw(st.integers(1, 4)))]
    return Correlation.from_counts(counts), channel, gain


@given(cases(), channels(inputs=4, outputs=(1, 3), form="exact"))
@settings(max_examples=60)
def test_laws_of_dalenius_vulnerability(case: Any, post: sv.Channel) -> None:
    correlation, channel, gain = case
    value = vulnerability(channel, correlation, gain).value
    # Equation 5.2: pairs (secret, use) as a prior, the starred channel, the lifted gain.
    prior = correlation.input_prior
    starred = channel.exact[correlation.use_of]
    lifted = np.array(gain, dtype=object)[:, correlation.secret_of]
    scores = (lifted[:, :, None] * (prior[:, None] * starred)[None]).sum(axis=1)
    assert value == scores.max(axis=0).sum()
    # Data processing, and the Bayes capacity as an upper bound.
    kept = post.exact[: channel.shape[1]]
    worse = sv.Channel(np.array([[v for v in row] for row in channel.exact.dot(kept)], dtype=object))
    assert vulnerability(worse, correlation, gain).value <= value
    guess = privacy_loss(channel, correlation)
    assert 1 <= guess.factor <= guess.capacity <= float(sv.capacity(channel).factor) + 1e-12
    assert guess.bits <= correlation.mutual_information + 1e-9


def test_the_capacity_bounds_every_loss_of_standard_mechanisms() -> None:
    a, n, m = Fraction(1, 3), 4, 5
    geometric = sv.mechanisms.truncated_geometric(n + 1, alpha=a)
    assert sv.capacity(geometric).factor == (2 + (n - 1) * (1 - a)) / (1 + a)
    response = sv.mechanisms.randomised_response(m, alpha=a)
    assert sv.capacity(response).factor == m / (1 + (m - 1) * a)
