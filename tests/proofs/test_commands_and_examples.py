"""Which command proves its answer about which example: the proof holds for both checkers, or none is made and
the reason is a field."""

import json
from pathlib import Path

import pytest
from opinions import first_opinion, second_opinion

from sievert.files import identified, load_scenario
from sievert.limits import explain
from sievert.proofs import Proof, save_proof
from sievert.questions.limits import limits_of
from sievert.release import released_proof

EXAMPLES = Path("examples")
LIMITS = {
    "census-count": "worst leakage",
    "city-places": None,
    "commute-reports": "worst leakage",
    "custody": "worst leakage",
    "survey-response": "worst leakage",
    "town-places": "worst leakage",
}
RELEASES = {
    "census-count": "noise",
    "centre-bicycles": "released mechanism",
    "city-places": "released mechanism",
    "register-table": "noise",
    "release/ages": "released mechanism",
    "release/household-sizes": "noise",
    "release/income-by-district": "noise",
    "release/taxis": "released mechanism",
    "salaries": "noise",
    "solar-share": "released mechanism",
    "survey-response": "released mechanism",
    "town-places": "released mechanism",
}


def judged(proof: Proof) -> str:
    """The kind of a proof that both checkers accept."""
    content = json.loads(save_proof(proof))
    assert first_opinion(content).holds and second_opinion(content).holds, content["kind"]
    return proof.kind


@pytest.mark.parametrize(("example", "kind"), RELEASES.items())
def test_releases(example: str, kind: str) -> None:
    scenario = load_scenario(EXAMPLES / f"{example}.toml")
    assert judged(identified(released_proof(scenario), scenario, released=True)) == kind


@pytest.mark.parametrize(("example", "kind"), LIMITS.items())
def test_limits(example: str, kind: str | None) -> None:
    found = limits_of(load_scenario(EXAMPLES / f"{example}.toml"))
    certificate = found.database.certificate
    assert (None if certificate is None else judged(certificate)) == kind
    assert (found.uncertified is None) == (kind is not None)


CLAIMS = {
    "pure": ({"eps": 1.0, "values": 5}, "guess under a claim"),
    "approximate": ({"eps": 1.0, "delta": 1e-6}, "guess under a claim"),
    "concentrated": ({"rho": 0.1, "values": 5}, "guess under a divergence"),
    "concentrated, several": ({"rho": 0.1, "values": 3, "releases": 4}, "guess under a divergence"),
    "Rényi": ({"renyi": {2.0: 0.3, 8.0: 1.0}, "values": 3}, "guess under a divergence"),
    "Gaussian": ({"sigma": 1.5, "values": 5}, "guess through Gaussian noise"),
    "Gaussian, several": ({"sigma": 3.0, "values": 3, "releases": 9}, "guess through Gaussian noise"),
    "several, two values": ({"eps": 0.5, "releases": 10}, "repeated guess between two values"),
    "several, more values": ({"eps": 0.5, "releases": 10, "values": 5}, "guess after several releases"),
    "several, a prior": (
        {"eps": 0.5, "releases": 4, "values": 3, "prior": [0.5, 0.3, 0.2]},
        "guess after several releases",
    ),
    "concentrated, a prior": ({"rho": 0.1, "values": 3, "prior": [0.5, 0.3, 0.2]}, None),
    "Gaussian, a prior": ({"sigma": 1.5, "values": 3, "prior": [0.5, 0.3, 0.2]}, None),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims(name: str) -> None:
    arguments, kind = CLAIMS[name]
    found = explain(**arguments)  # type: ignore[arg-type]
    assert (None if found.certificate is None else judged(found.certificate)) == kind
    assert (found.uncertified is None) == (kind is not None)
