"""Which command proves its answer about which example: the proof holds for both checkers, or none is made and
the reason is a field."""

import json
from functools import cache
from pathlib import Path

import pytest
from opinions import first_opinion, second_opinion

from sievert.errors import TooLargeError
from sievert.files import PolicyScenario, bind_proof, described, load_policy_scenario
from sievert.limits import explain
from sievert.proofs import Proof, save_proof
from sievert.questions.compare import replacement
from sievert.questions.design import design_of
from sievert.questions.estimate import estimate_of, estimate_proof
from sievert.questions.explain import explain_file
from sievert.questions.infer import infer
from sievert.questions.limits import limits_of
from sievert.release import mechanism_proof, released_proof

EXAMPLES = Path("examples")
WORST = "worst leakage"
AFTER = "guess after several releases"
NOISE, RELEASED = "noise", "released mechanism"
# What each command proves about each example; None: no proof, with a reason; absent: the file does not ask.
# A star: the proof takes something as given, which the reason names.
TABLE: dict[str, dict[str, str | None]] = {
    "census-count": {
        "release": NOISE, "audit": NOISE, "limits": WORST, "explain": AFTER, "design": "optimal design",
        "compare": "refinement",
    },
    "centre-bicycles": {"release": RELEASED},
    "city-places": {
        "release": RELEASED, "limits": "worst leakage of a map", "explain": "worst leakage of a map",
        "design": None, "compare": None, "estimate": None,
    },
    "clinic-statistics": {
        "release": "noise of several tables", "limits": WORST, "explain": WORST, "compare": None,
    },
    "commute-reports": {
        "audit": RELEASED, "limits": WORST, "explain": WORST, "compare": "refinement",
        "estimate": "likelihood",
    },
    "custody": {
        "audit": NOISE, "limits": WORST, "explain": "guess under a claim", "design": NOISE,
        "compare": "order of noise", "infer": "inference frontier",
    },
    "daily-question": {"audit": RELEASED, "limits": WORST, "explain": AFTER, "compare": "refinement"},
    "lake-rides": {"release": NOISE},
    "register-table": {
        "release": NOISE, "limits": "worst leakage in closed form", "explain": AFTER, "design": NOISE,
        "compare": "order of noise",
    },
    "salaries": {
        "release": NOISE, "limits": WORST, "explain": WORST + "*", "design": "staircase noise",
        "compare": "order of noise",
    },
    "solar-share": {
        "release": RELEASED, "limits": WORST, "explain": "approximate worst guess*",
        "design": "optimal design", "compare": "refinement",
    },
    "survey-response": {
        "release": RELEASED, "limits": WORST, "explain": AFTER, "compare": "refinement",
    },
    "town-places": {
        "release": RELEASED, "limits": WORST, "explain": WORST, "design": "optimal design",
        "compare": "refinement",
    },
    "weekly-visits": {
        "release": NOISE, "limits": WORST, "explain": AFTER, "design": NOISE, "compare": "order of noise",
    },
    "release/ages": {"release": RELEASED, "limits": WORST, "explain": WORST, "compare": "refinement"},
    "release/household-sizes": {
        "release": NOISE, "limits": WORST, "explain": WORST, "design": "staircase noise",
        "compare": "refinement",
    },
    "release/income-by-district": {
        "release": NOISE, "limits": WORST, "explain": "guess under a claim", "design": NOISE,
        "compare": "order of noise",
    },
    "release/taxis": {
        "release": RELEASED, "limits": WORST, "explain": WORST, "design": None, "compare": None,
    },
}  # fmt: skip
# What the second checker would take long for: fractions of tables with hundreds of rows.
LONG = {("census-count", "compare"), ("commute-reports", "compare"), ("release/ages", "compare")}
# What takes long to find; other examples ask the same of smaller files.
DEAR = {
    ("salaries", "limits"),
    ("salaries", "explain"),
    ("release/household-sizes", "compare"),
    ("release/taxis", "limits"),
    ("release/taxis", "explain"),
}
ASKED = [
    (example, command) for example, row in TABLE.items() for command in row if (example, command) not in DEAR
]


@cache
def scenario_of(example: str) -> PolicyScenario:
    return load_policy_scenario(EXAMPLES / f"{example}.toml")


def judged(proof: Proof, long: bool = False) -> str:
    """The kind of a proof that both checkers accept, or the first where the second takes long."""
    content = json.loads(save_proof(proof))
    assert first_opinion(content).holds, content["kind"]
    assert long or second_opinion(content).holds, content["kind"]
    return proof.kind


def answered(command: str, scenario: PolicyScenario) -> tuple[Proof | None, str | None]:
    """The proof that `--proof` saves, and why there is none."""
    if command == "release":
        return bind_proof(released_proof(scenario), scenario, released=True), None
    if command == "audit":
        drawn = mechanism_proof(scenario)
        return (None, drawn) if isinstance(drawn, str) else (drawn, None)
    if command == "limits":
        limits = limits_of(scenario)
        return limits.database.certificate, limits.uncertified
    if command == "explain":
        told = explain_file(scenario).explanation
        return told.certificate, told.uncertified
    if command == "design":
        design = design_of(scenario)
        return design.certificate, design.uncertified
    if command == "compare":
        verdict = replacement(scenario, scenario, ("a", "b")).comparison.forward[0]
        return verdict.certificate, verdict.uncertified
    if command == "infer":
        found = infer(scenario)
        return None if found.best is None else found.best.certificate, found.uncertified
    assert command == "estimate"
    try:
        return estimate_proof(scenario, estimate_of(scenario)), None
    except TooLargeError as problem:
        return None, str(problem)


@pytest.mark.parametrize(("example", "command"), ASKED)
def test_every_command_of_every_example(example: str, command: str) -> None:
    wanted = TABLE[example][command]
    proof, reason = answered(command, scenario_of(example))
    kind = None if proof is None else judged(proof, (example, command) in LONG)
    assert kind == (None if wanted is None else wanted.rstrip("*"))
    assert (reason is None) == (wanted is not None and not wanted.endswith("*"))


def test_the_table_names_every_example() -> None:
    scenarios = [path for path in EXAMPLES.glob("**/*.toml") if "budgets" not in path.parts]
    with_tables = {
        str(path.relative_to(EXAMPLES).with_suffix("")) for path in scenarios if described(path) is None
    }
    assert with_tables == set(TABLE)


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
