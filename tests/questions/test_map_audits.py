"""Audits of maps: a public prior by place, gains in metres, and what is said of true places."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.files import load_policy_scenario
from sievert.observations import RecordLikelihood, likelihood_of
from sievert.questions.breach import breach_of
from sievert.questions.compare import replacement
from sievert.report.breach import lines

TOWN = """
version = 1
[policy.secrets]
metric = "euclidean"
region = {{ south = 52.50, west = 13.36, north = 52.52, east = 13.40, cell = {cell} }}
[mechanism]
kind = "planar-geometric"
eps = 0.005
[adversary]
prior = "people.csv"
gains = ["identity", {{ within = 300 }}, {{ tries = 3 }}]
"""
PEOPLE = "lat,lon,people\n52.505,13.37,40\n52.505,13.37,10\n52.512,13.385,30\n52.518,13.395,20\n40.0,0.0,99\n"


def town(folder, cell=200, people=PEOPLE):
    (folder / "people.csv").write_text(people)
    (folder / "town.toml").write_text(TOWN.format(cell=cell))
    return folder / "town.toml"


def test_a_population_is_the_prior(tmp_path):
    """Rows of one cell are added up, those outside the region left out; the guess is that of all pairs."""
    scenario = load_policy_scenario(town(tmp_path))
    belief = scenario.record_prior
    assert sorted(belief[belief > 0]) == pytest.approx([0.2, 0.3, 0.5])
    found = sv.audit(scenario)
    joint = belief[:, None] * scenario.channel.finite().matrix
    assert found.record.before == pytest.approx(0.5)
    assert found.record.after == pytest.approx(joint.max(axis=0).sum(), rel=1e-12)
    assert not found.record.is_bound
    places = scenario.policy.secrets.matrix
    near = ((places <= 300).astype(float) @ joint).max(axis=0).sum()
    after = {item.name: item.after for item in found.leakages}
    assert after["within 300"] == pytest.approx(near, rel=1e-12)
    assert after["3 tries"] == pytest.approx(1)


def test_large_maps_are_audited_too(tmp_path):
    found = sv.audit(town(tmp_path, cell=10))
    assert 0.5 < found.record.after < 1
    assert not found.record.is_bound
    assert found.database.factor > 1


def test_true_places_are_promised_the_diagonal_as_well(tmp_path):
    """Places d apart lie in cells whose middles are up to d + u·√2 apart: never e^(ε·d) alone."""
    file = town(tmp_path)
    region, found = load_policy_scenario(file).region, sv.audit(file)
    assert found.on_map
    for metres, factor in found.radii:
        assert factor > math.exp(0.005 * metres)
        assert factor == pytest.approx(math.exp(0.005 * region.cells_apart(metres)), rel=1e-12)
        assert factor >= math.exp(0.005 * (metres + 200 * math.sqrt(2)))


def test_the_sum_is_reached_by_two_places(tmp_path):
    """Two places a hair apart, on either side of a corner of cells, change the odds by e^(ε·u·√2)."""
    noise = load_policy_scenario(town(tmp_path)).channel
    laws = np.log(noise.law((4, 4))), np.log(noise.law((5, 5)))
    assert np.abs(laws[0] - laws[1]).max() == pytest.approx(0.005 * 200 * math.sqrt(2), rel=1e-9)


def test_previews_say_the_guess(tmp_path):
    file = town(tmp_path)
    data = '[data]\ninput = "x.csv"\ncolumn = ["lat", "lon"]\n'
    rules = '[release]\noutput = "y.csv"\nledger = "budget.toml"\n'
    file.write_text(file.read_text() + data + rules)
    (tmp_path / "x.csv").write_text("lat,lon\n52.51,13.37\n")
    (tmp_path / "budget.toml").write_text("person = 1.0\n")
    before = sv.release.preview(file)
    assert before.guess_after == pytest.approx(sv.audit(file).record.after)
    assert all(factor > math.exp(0.005 * metres) for metres, factor in before.factors)


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ("lat,lon\n52.5,13.4\n", "needs latitude, longitude and weight"),
        ("lat,lon,people\n52.51,13.37,many\n", "must be numbers"),
        ("lat,lon,people\n52.51,13.37,-1\n", "weights ≥ 0"),
        ("lat,lon,people\n40,0,5\n", "gives no weight to any place in the region"),
    ],
)
def test_bad_populations_are_refused(tmp_path, people, message):
    with pytest.raises(FileError, match=message):
        sv.audit(town(tmp_path, people=people))


def test_breaches_of_large_maps_are_answered(tmp_path):
    """A guess after some releases lies between the first and a named bound, and beside its simulation."""
    text = TOWN.format(cell=10).replace('prior = "people.csv"\n', "").replace("eps = 0.005", "eps = 0.22")
    (tmp_path / "town.toml").write_text(text)
    found = breach_of(load_policy_scenario(tmp_path / "town.toml"), [1, 3])
    first, last = found.found.success
    assert first.exact
    assert not last.exact
    assert last.method.startswith("an upper bound: ")
    assert first.upper <= found.simulated.upper
    assert found.simulated.lower <= last.upper
    assert found.simulated.lower <= found.simulated.value <= found.simulated.upper
    # No output rules any cell out: logarithms hold what floats do not.
    assert 1023 < found.found.worst.bits < math.inf
    text = " ".join(line for _, part in lines(found) for line in part)
    assert "A simulation of" in text
    assert "without limit" not in text


def test_uniform_beliefs_are_those_of_fractions(tmp_path):
    text = TOWN.format(cell=100).replace('prior = "people.csv"\n', "")
    (tmp_path / "town.toml").write_text(text)
    scenario = load_policy_scenario(tmp_path / "town.toml")
    assert np.array_equal(scenario.float_record_prior, scenario.record_prior.astype(float))


def test_a_place_is_one_record(tmp_path):
    """Maps and tables share one interface, so that every question sees them alike."""
    view = likelihood_of(load_policy_scenario(town(tmp_path)).channel, np.full(12 * 14, 1 / 168))
    assert isinstance(view, RecordLikelihood)
    kept = view.releases_within(0.5)
    assert view.guess(kept.releases).guess <= 0.5 < view.guess(kept.releases + 1).guess


def test_losses_on_a_map_are_those_of_all_pairs(tmp_path):
    gains = '"shannon", "guessing", "bayes-risk"'
    text = TOWN.format(cell=600).replace("0.005", "0.0005").replace("{ tries = 3 }", gains)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "town.toml").write_text(text + "observations = 2\n")
    scenario = load_policy_scenario(tmp_path / "town.toml")
    found = {item.name: item for item in sv.audit(scenario).leakages}
    matrix, belief = scenario.channel.finite().matrix, scenario.record_prior
    twice = np.array([np.multiply.outer(row, row).ravel() for row in matrix])
    for name in ("shannon", "guessing", "bayes_risk"):
        loss = getattr(sv.losses, name)(len(belief))
        item = found[loss.name]
        assert float(item.before) == pytest.approx(float(loss.values(belief[:, None])[0]))
        assert float(item.after) == pytest.approx(float(loss.values(belief[:, None] * matrix).sum()))
        after_two = float(loss.values(belief[:, None] * twice).sum())
        assert item.exact and not item.repeated_exact
        assert float(item.repeated) <= after_two * (1 + 1e-12)
    # Each release takes away no more bits than the first.
    bits = found["shannon"]
    assert float(bits.repeated) == pytest.approx(float(bits.before) - 2 * float(bits.difference))


def test_a_gain_of_ones_own_above_1_grows_with_releases(tmp_path):
    """What one release gives is no bound after several."""
    scenario = load_policy_scenario(town(tmp_path, cell=600))
    view = likelihood_of(scenario.channel, scenario.float_record_prior)
    euros = sv.gains.matrix(5 * np.eye(len(view.belief)), name="euros")
    once, thrice = view.gain(euros), view.gain(euros, 3)
    rows = scenario.channel.finite().matrix
    cubed = np.array([np.multiply.outer(np.multiply.outer(row, row), row).ravel() for row in rows])
    true = float(euros.values(view.belief[:, None] * cubed).sum())
    assert once.exact and not thrice.exact
    assert once.after < true <= thrice.after * (1 + 1e-12) <= 5 * (1 + 1e-9)


def test_the_promise_of_a_large_map_bounds_the_guess(tmp_path):
    """No guess grows by more than the capacity that ε allows, with all cells equally likely."""
    text = TOWN.format(cell=10).replace('prior = "people.csv"', "observations = 2")
    (tmp_path / "town.toml").write_text(text)
    found = sv.audit(tmp_path / "town.toml")
    once, twice, whole = found.standing.rows
    assert once.promise is not None and not once.promise.exact
    assert once.promise.value == pytest.approx(once.before * 2**whole.promise.value)
    assert once.mechanism.value <= once.promise.value <= twice.promise.value <= 1


def test_a_listed_map_is_compared_with_planar_noise_both_ways(tmp_path):
    """A remapped copy of the noise is safer than it, with a proof, and not the other way round."""
    noise = load_policy_scenario(town(tmp_path, cell=400)).channel
    listed = noise.finite()
    size = len(listed.matrix)
    moved = sv.Channel(
        listed.matrix @ (0.7 * np.eye(size) + 0.3 / size), inputs=listed.inputs, normalise=True
    )
    forward = replacement(noise, moved, ("noise", "moved"))
    backward = replacement(moved, noise, ("moved", "noise"))
    assert forward.can_replace is True and backward.can_replace is False
    assert forward.note == "" == backward.note
    assert forward.comparison.forward[0].certificate.verify().holds
    assert backward.comparison.forward[0].certificate.verify().holds
