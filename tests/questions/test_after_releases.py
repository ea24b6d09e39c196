"""What files say after several releases: which bound it is, simulations, one record of a short list, maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.errors import FileError
from sievert.files import load_policy_scenario, table_noise
from sievert.observations import PlanarLikelihood, likelihood_of
from sievert.questions.breach import breach_of
from sievert.questions.explain import explain_file
from sievert.report.audit import lines

SUM = """version = 1
[policy]
values = {{ range = [0, {top}] }}
secrets = "complete"
records = {records}
[query]
kind = "sum"
[mechanism]
{mechanism}
[adversary]
gains = ["identity", {{ within = 2 }}, {{ tries = 2 }}, "shannon"]
observations = {count}
{more}
"""
REGION = "{ south = 48.80, west = 2.25, north = 48.90, east = 2.42, cell = %d }"
MAP = """version = 1
[policy]
secrets = {{ metric = "euclidean", region = {region} }}
[query]
kind = "record"
[mechanism]
kind = "planar-geometric"
eps = 0.004
[adversary]
gains = ["identity", {{ within = 200 }}, {{ tries = 3 }}]
observations = {count}
"""


def written(folder: Path, text: str, **parts: object) -> Path:
    path = folder / "file.toml"
    path.write_text(text.format(**parts), encoding="utf-8")
    return path


def of_sum(folder: Path, mechanism: str = 'kind = "geometric"\neps = 1.0', **parts: object) -> Path:
    given = {"top": 60, "records": 3000, "count": 20, "more": "", **parts}
    return written(folder, SUM, mechanism=mechanism, **given)


def test_every_bound_has_its_name_and_a_simulation(tmp_path: Path) -> None:
    found = sv.audit(of_sum(tmp_path))
    assert not found.repeated_exact and "neighbours" in found.repeated_method
    assert found.simulated is not None and found.simulated.lower < found.repeated_guess
    for item in found.leakages:
        assert item.method.startswith("exact") and item.least is None
        assert item.repeated_method.startswith("bound") and item.repeated_least is not None
        assert item.simulated is not None and item.simulated.lower <= item.simulated.value
        if item.name != "shannon":
            assert item.repeated_least <= item.simulated.upper and item.simulated.lower <= item.repeated
    text = "\n".join(sentence for _, part in lines(found) for sentence in part)
    assert text.count("a bound: values told from their neighbours") == 4
    assert text.count("(simulated: ") == 5
    plain = found.to_dict()
    assert plain["leakages"][1]["simulated"]["releases"] == 20 and plain["repeated_method"]


def test_gaussian_sums_are_exact_after_all_releases(tmp_path: Path) -> None:
    found = sv.audit(of_sum(tmp_path, 'kind = "gaussian"\nsigma = 40'))
    assert found.repeated_exact and found.simulated is None
    assert all(item.repeated_exact and item.simulated is None for item in found.leakages)


def test_design_knows_what_audit_knows(tmp_path: Path) -> None:
    """Each option's guess after all releases is the audit's of the same mechanism."""
    policy = sv.Policy.differential(range(16), 3000)
    design = sv.design.noise_for(policy, 1.0, sv.Query.sum(), releases=4)
    for option in design.options:
        assert option.repeated < 1
        if option.mechanism is not None:
            kind = "\n".join(f"{key} = {value!r}" for key, value in option.mechanism.items())
            found = sv.audit(of_sum(tmp_path, kind.replace("'", '"'), top=15, count=4))
            assert option.repeated == pytest.approx(found.repeated_guess, rel=1e-9)
            assert option.repeated_exact == found.repeated_exact


def test_breach_of_a_short_list_about_one_record(tmp_path: Path) -> None:
    """The curve of the noise seen by one record, whatever the list of answers."""
    noise = 'kind = "geometric"\neps = 1.0'
    short = load_policy_scenario(of_sum(tmp_path, noise, top=2, records=3, more='about = "record"'))
    told = breach_of(short, [1, 2])
    assert told.about_record and told.secret == "one record"
    view = likelihood_of(table_noise(short), np.full(3, 1 / 3))
    assert [point.value for point in told.found.success] == [view.guess(n).guess for n in (1, 2)]
    other = of_sum(tmp_path, 'kind = "exponential"\neps = 1.0', top=2, records=3, more='about = "record"')
    with pytest.raises(FileError, match='about = "answer"'):
        breach_of(load_policy_scenario(other), [1])


def test_noise_clamped_to_less_than_the_truth_is_a_bound(tmp_path: Path) -> None:
    """Noisy sums of up to 180,000 that are cut off at 100: what is known of the noise is no longer exact."""
    cut = f'kind = "truncated-geometric"\neps = 1.0\noutputs = {list(range(101))}'
    plain = sv.audit(of_sum(tmp_path, count=1))
    found = sv.audit(of_sum(tmp_path, cut, count=1))
    assert not plain.record.is_bound and found.record.is_bound
    assert found.record.after <= plain.record.after * (1 + 1e-12)
    assert all(not item.exact for item in found.leakages if item.name != "shannon")


def test_large_maps_answer_near_a_place_and_by_district(tmp_path: Path) -> None:
    path = written(tmp_path, MAP, region=REGION % 200, count=5)
    scenario = load_policy_scenario(path)
    near = explain_file(scenario, releases=1, within=400.0).explanation.near
    assert near is not None and not near.exact and near.points == 13
    assert near.before == 1 / 13 < near.after < 1
    with pytest.raises(sv.errors.PolicyError, match="one of the values"):
        sv.explain(0.004, policy=scenario.policy, within=400.0, centre="nowhere")
    view = PlanarLikelihood(
        scenario.channel, np.full(len(scenario.policy.values), 1 / len(scenario.policy.values))
    )
    west = sv.gains.property(len(view.belief), range(0, len(view.belief), 2))
    found = view.gain(west)
    assert found.exact and found.after == view.districts(np.arange(len(view.belief)) % 2 == 0).after
