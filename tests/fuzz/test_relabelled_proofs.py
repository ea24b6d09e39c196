"""Random proofs under random labels: verified for a file exactly where they say what its own proof says.

Two files that differ in one respect, each with the proof that a command writes about it. The first proof,
labelled for the second file, passes if and only if both are about the same: what differs between the files
may be no part of the question. SIEVERT_FUZZ_SECONDS goes on for longer with a new seed.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sievert.errors import SievertError
from sievert.files import PolicyScenario, bind_proof, digest_of, load_policy_scenario
from sievert.limits import explain_claim, worst_leakage
from sievert.proofs import Proof, proof_from_dict, save_proof
from sievert.questions import record_belief
from sievert.questions.design import design_of
from sievert.questions.explain import file_claim
from sievert.questions.limits import limits_of
from sievert.release import mechanism_proof
from sievert.verification import check_about

SECONDS = float(os.environ.get("SIEVERT_FUZZ_SECONDS", "0")) / 4
SEED = os.environ.get("SIEVERT_FUZZ_SEED") or (str(random.SystemRandom().getrandbits(32)) if SECONDS else "1")
PAIRS = 60

GRAPHS = (
    '"complete"',
    '"line"',
    '"cycle"',
    "{ threshold = 2 }",
    '{ metric = "line" }',
    '{ metric = "discrete" }',
)
RESPECTS: dict[str, tuple[Any, ...]] = {
    "values": (2, 3, 4, 5),
    "secrets": GRAPHS,
    "records": (1, 2, 3),
    "owned": (1, 2),
    "adjacency": ("replace", "add-remove"),
    "query": ("record", "histogram", "sum"),
    "mechanism": ("truncated-geometric", "geometric", "randomised-response", "exponential"),
    "eps": (0.25, 0.5, 1.0, 2.0),
    "observations": (1, 1, 2, 5),
    "skewed": (False, False, True),
    "loss": ("absolute", "squared", "bayes"),
    "claim": ("", "", "eps = 0.75", "eps = 0.5\ndelta = 0.01", "rho = 0.1"),
}


def text_of(given: dict[str, Any]) -> str:
    """The file that is described."""
    count, many = given["values"], given["query"] != "record"
    weights = [count - k for k in range(count)]
    prior = [weight / sum(weights) for weight in weights]
    lines = [
        "version = 1\n[policy]",
        f"values = {{ range = [0, {count - 1}] }}\nsecrets = {given['secrets']}",
        *([f"records = {max(2, given['records'])}"] if many else []),
        *([f"person_records = {given['owned']}", f'adjacency = "{given["adjacency"]}"'] if many else []),
        f'[query]\nkind = "{given["query"]}"',
        f'[mechanism]\nkind = "{given["mechanism"]}"\neps = {given["eps"]}',
        f"[adversary]\nobservations = {given['observations']}",
        *([f"record_prior = {prior}"] if given["skewed"] else []),
        *([] if many else [f'[use]\nloss = "{given["loss"]}"']),
        *([f"[claim]\n{given['claim']}"] if given["claim"] else []),
    ]
    return "\n".join(lines) + "\n"


def proofs_of(scenario: PolicyScenario) -> Iterator[tuple[str, Proof]]:
    """What commands prove about a file, those that answer."""
    policy, claim = scenario.policy, file_claim(scenario)[0]
    asked = {
        "audit": lambda: mechanism_proof(scenario),
        "limits": lambda: limits_of(scenario).database.certificate,
        "explain": lambda: explain_claim(claim, prior=record_belief(scenario), policy=policy).certificate,
        "design": lambda: design_of(scenario).certificate,
    }
    for command, ask in asked.items():
        try:
            found = ask()
        except SievertError:
            continue
        if isinstance(found, Proof):
            yield command, bind_proof(found, scenario)


def implied_by(scenario: PolicyScenario) -> Iterator[tuple[str, Any]]:
    """What a pure ε implies for all releases together: `explain` asks it beside what it answers with."""
    with suppress(SievertError):
        if scenario.document.claim is None and record_belief(scenario) is None:
            total = scenario.document.mechanism.eps * scenario.observations
            proof = worst_leakage(scenario.policy, total, individual=True).certificate
            yield proof.kind, bind_proof(proof, scenario).question()


def under(proof: Proof, path: Path) -> Proof:
    """The proof with the label of a file, as it is read back from JSON."""
    return proof_from_dict(json.loads(save_proof(proof.with_identity(digest_of(path)))))


@pytest.mark.slow
def test_a_random_relabelled_proof_is_verified_only_where_it_says_the_same(tmp_path: Path) -> None:
    print(f"SIEVERT_FUZZ_SEED={SEED}")
    draw, begun, tried, forged = random.Random(int(SEED)), time.monotonic(), 0, 0
    while tried < PAIRS or time.monotonic() - begun < SECONDS:
        given = {name: draw.choice(options) for name, options in RESPECTS.items()}
        respect = draw.choice([*RESPECTS])
        other = {**given, respect: draw.choice(RESPECTS[respect])}
        paths = [tmp_path / "one.toml", tmp_path / "other.toml"]
        try:
            for path, one in zip(paths, (given, other), strict=True):
                path.write_text(text_of(one), encoding="utf-8")
            first, second = (dict(proofs_of(load_policy_scenario(path))) for path in paths)
        except SievertError:
            continue
        tried += 1
        told = f"SIEVERT_FUZZ_SEED={SEED}: {given} but {respect} = {other[respect]}"
        known = [(proof.kind, proof.question()) for proof in second.values()]
        for command, proof in first.items():
            honest = check_about(under(proof, paths[0]), paths[0])
            assert honest.holds, f"{told}\n{command}: {honest}"
            found = check_about(under(proof, paths[1]), paths[1])
            same = (proof.kind, proof.question()) in known
            forged += not same
            if found.holds and not same:
                same = (proof.kind, proof.question()) in implied_by(load_policy_scenario(paths[1]))
            assert found.holds == same, f"{told}\n{command} ({proof.kind}): {found}"
    assert forged > tried // 4, "hardly a proof was about anything else"
