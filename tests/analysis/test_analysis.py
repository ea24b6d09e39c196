"""The one protocol of what is released: vulnerability, its enclosure, and who attacks."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.analysis import Attacker, Enclosure, MatrixAnalysis, NoiseAnalysis, Vulnerability
from sievert.files import PolicyScenario

LISTED = "examples/census-count.toml"
NOISE = "examples/weekly-visits.toml"


def scenario(name: str, **changes: object) -> PolicyScenario:
    found = sv.load(name)
    assert isinstance(found, PolicyScenario)
    return found.replaced(dict(changes)) if changes else found


def test_a_list_and_a_noise_are_analysed_each_in_its_way() -> None:
    assert isinstance(scenario(LISTED).analysis, MatrixAnalysis)
    assert isinstance(scenario(NOISE).analysis, NoiseAnalysis)
    one = scenario(NOISE)
    assert one.analysis is one.analysis  # what was found stays with the file


@pytest.mark.parametrize(
    "name", [LISTED, NOISE, "examples/clinic-statistics.toml", "examples/town-places.toml"]
)
def test_the_audit_reads_the_analysis(name: str) -> None:
    one = scenario(name)
    audit, analysis = sv.audit(one), one.analysis
    first, after = analysis.vulnerability(), analysis.vulnerability(releases=one.observations)
    assert (audit.record.before, audit.record.after) == (first.prior, first.value)
    assert (audit.repeated_guess, audit.repeated_exact) == (after.value, after.is_exact)
    assert first.prior <= first.value <= after.value * (1 + 1e-12) <= 1 + 1e-12
    assert audit.epsilon == analysis.epsilon
    drawn = analysis.simulate(releases=one.observations)
    assert audit.simulated == drawn and (drawn is None or not after.is_exact)


def test_the_guess_about_a_response_by_hand() -> None:
    """Warner with 3 values: e^ε/(e^ε + 2) after one release, whatever is asked of it."""
    one = scenario(
        "examples/daily-question.toml",
        mechanism={"kind": "randomised-response", "eps": 1.0},
        adversary={"observations": 1},
    )
    truth = math.e / (math.e + len(one.policy.values) - 1)
    found = one.analysis.vulnerability()
    assert found.value == pytest.approx(truth, rel=1e-12) and found.is_exact
    assert found.bits == pytest.approx(math.log2(truth * len(one.policy.values)))
    assert found.advantage == pytest.approx(truth - 1 / len(one.policy.values))
    asked = one.analysis.vulnerability(Attacker(gain=sv.gains.identity(one.policy.values)))
    assert asked.value == pytest.approx(truth, rel=1e-12)


def test_more_records_of_one_person_and_more_releases_give_away_more() -> None:
    analysis = scenario(NOISE).analysis
    by_releases = [analysis.vulnerability(releases=n).value for n in (1, 2, 5, 12)]
    assert by_releases == sorted(by_releases) and by_releases[0] < by_releases[-1]
    by_records = [analysis.vulnerability(Attacker(records=k)).value for k in (1, 2, 4)]
    assert by_records == sorted(by_records) and by_records[0] < by_records[-1]
    limit = analysis.vulnerability(releases=5).value
    within = analysis.releases_within(limit)
    assert within is not None and within.releases == 5


def test_several_records_are_guessed_in_one_try_only() -> None:
    with pytest.raises(sv.SievertError, match="records is 2, with a gain"):
        Attacker(gain=sv.gains.identity(3), records=2)
    with pytest.raises(sv.SievertError, match="records is 0"):
        Attacker(records=0)


def test_a_loss_is_worse_where_it_is_smaller() -> None:
    one = scenario("examples/town-places.toml")
    loss = sv.losses.absolute(len(one.policy.values))
    found = one.analysis.vulnerability(Attacker(gain=loss))
    assert found.is_loss and found.value == found.posterior.lower <= found.prior
    between = Vulnerability(0.5, Enclosure(0.1, 0.3, "bound"), is_loss=True)
    assert between.value == 0.1 and Vulnerability(0.5, Enclosure(0.1, 0.3, "bound")).value == 0.3


def test_an_enclosure_is_only_ever_tightened() -> None:
    known = Enclosure.exact(0.4, "exact")
    assert known.tightened(0.1, "other") is known
    wide = Enclosure.at_most(0.9, "bound", 0.2)
    assert (wide.lower, wide.upper, wide.is_exact) == (0.2, 0.9, False)
    assert wide.tightened(0.95, "other") is wide
    less = wide.tightened(0.5, "other")
    assert (less.lower, less.upper, less.method) == (0.2, 0.5, "other")
    assert wide.tightened(0.1, "other").lower == 0.1


def test_noise_is_never_above_what_its_epsilon_allows() -> None:
    one = scenario(NOISE)
    found = one.analysis.vulnerability()
    eps = one.analysis.epsilon.nats
    assert found.value <= found.prior * math.exp(eps) * (1 + 1e-12)
    assert found.posterior.lower <= found.posterior.upper
    assert np.isfinite(found.bits)
