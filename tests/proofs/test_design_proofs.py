"""Certificates of designs: re-checked without the solver, and broken by any change."""

import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.proofs import (
    Decay,
    Multipliers,
    ProofSpace,
    UniformPart,
    costs,
    exact_loss,
    exact_vulnerability,
    loss_above,
    loss_below,
    proof_from_dict,
    save_proof,
    vulnerability_above,
)

DESIGNS: dict[str, Any] = {
    "line": lambda: sv.optimal_mechanism(sv.metrics.line(6), 1.0, None, sv.losses.absolute(6)),
    "program": lambda: sv.optimal_mechanism(
        sv.metrics.euclidean([(0, 0), (1, 0), (0, 2), (3, 1)]), 0.7, [0.1, 0.2, 0.3, 0.4]
    ),
    "uniform": lambda: sv.optimal_mechanism(sv.metrics.discrete(5), 1.0, None, sv.losses.absolute(5)),
    "merged": lambda: sv.optimal_mechanism(
        sv.Metric([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]]), 1.0, [0.1, 0.2, 0.3, 0.4]
    ),
    "exact": lambda: sv.optimal_mechanism(sv.metrics.cycle(4), alpha="1/2", loss=sv.losses.squared(4)),
    "least leakage": lambda: sv.design.least_leakage(None, sv.losses.absolute(4), 0.6),
    "least loss": lambda: sv.design.least_loss([0.1, 0.2, 0.3, 0.4], sv.losses.absolute(4), 0.6),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    design = DESIGNS[name]()
    path = tmp_path / "proof.json"
    path.write_text(save_proof(design.certificate), encoding="utf-8")
    found = sv.verify(path)
    assert found.holds, found
    assert found.statement == design.certificate.verify().statement


def test_verified_where_the_solver_cannot_be_imported(tmp_path: Path) -> None:
    paths = []
    for name, make in DESIGNS.items():
        path = tmp_path / f"{name}.json"
        path.write_text(save_proof(make().certificate), encoding="utf-8")
        paths.append(str(path))
    code = (
        "import sys\n"
        "for name in ('highspy', 'scipy.optimize'): sys.modules[name] = None\n"
        "import sievert as sv\n"
        f"print(all(sv.verify(path).holds for path in {paths!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def changed(data: Any, path: list[Any], value: Any) -> Any:
    copy = json.loads(json.dumps(data))
    target = copy
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return copy


@pytest.mark.parametrize("name", ["line", "program", "uniform", "merged"])
def test_any_change_is_noticed(name: str) -> None:
    data = json.loads(save_proof(DESIGNS[name]().certificate))
    counts = data["counts"]
    for x, w in product(range(len(counts)), range(len(counts[0]))):
        assert not proof_from_dict(changed(data, ["counts", x, w], counts[x][w] + 1)).verify().holds
        if w:
            moved = changed(data, ["counts", x, w], counts[x][w] + counts[x][0] // 3 + 2**40)
            moved["counts"][x][0] -= counts[x][0] // 3 + 2**40
            damaged = any(value < 0 for value in moved["counts"][x])
            if damaged:
                with pytest.raises(sv.SievertError):
                    proof_from_dict(moved)
            else:
                assert not proof_from_dict(moved).verify().holds
    noticed = []
    for k, (arc, output, value) in enumerate(data["multipliers"]):
        for other in (0.0, 2 * value + 0.01, -value):
            damaged = proof_from_dict(changed(data, ["multipliers", k], [arc, output, other]))
            noticed.append(not damaged.verify().holds)
            # Multipliers are not unique: other ones that prove as much are as good a proof.
            assert noticed[-1] or (other >= 0 and _proves(damaged) >= data["lower"])
    assert not noticed or np.mean(noticed) > 0.75
    for part in data["uniform"]:
        for k, price in enumerate(part["price"]):
            for other in (price - 0.01, price + 0.01):
                damaged = changed(data, ["uniform", 0, "price", k], other)
                assert not proof_from_dict(damaged).verify().holds
    assert not proof_from_dict(changed(data, ["lower"], data["lower"] + 1e-12)).verify().holds
    assert not proof_from_dict(changed(data, ["upper"], data["upper"] - 1e-12)).verify().holds
    # A smaller ε makes the same channel too revealing.
    assert (
        not proof_from_dict(changed(data, ["eps"], str(Fraction(data["eps"]) * Fraction(99, 100))))
        .verify()
        .holds
    )


@pytest.mark.parametrize("name", ["least leakage", "least loss"])
def test_any_change_of_a_leakage_design_is_noticed(name: str) -> None:
    data = json.loads(save_proof(DESIGNS[name]().certificate))
    for x, y in product(range(4), repeat=2):
        assert not proof_from_dict(changed(data, ["counts", x, y], data["counts"][x][y] + 1)).verify().holds
        strategy = data["strategy"][y][x]
        assert not proof_from_dict(changed(data, ["strategy", y, x], strategy + 0.2)).verify().holds
    assert not proof_from_dict(changed(data, ["price"], data["price"] * 1.5)).verify().holds
    assert not proof_from_dict(changed(data, ["budget"], data["budget"] - 0.01)).verify().holds
    assert not proof_from_dict(changed(data, ["lower"], data["lower"] + 1e-9)).verify().holds


def test_any_change_of_an_exact_design_is_noticed() -> None:
    data = json.loads(save_proof(DESIGNS["exact"]().certificate))
    noticed = []
    for k, (arc, output, value) in enumerate(data["multipliers"]):
        for other in (str(Fraction(value) / 2), str(-Fraction(value))):
            damaged = proof_from_dict(changed(data, ["multipliers", k], [arc, output, other]))
            noticed.append(not damaged.verify().holds)
            assert noticed[-1] or Fraction(other) >= 0
    assert np.mean(noticed) > 0.75
    for x in range(4):
        assert not proof_from_dict(changed(data, ["channel", x, 0], "1")).verify().holds
    assert not proof_from_dict(changed(data, ["alpha"], "3/5")).verify().holds


def _proves(proof: Any) -> float:
    cost = costs(proof.prior, proof.loss)
    return loss_below(proof.space, proof.decay, cost, proof.multipliers, proof.uniform)


def test_every_multiplier_gives_a_bound() -> None:
    """Random y ≥ 0 against random private channels, also in fractions: the bound is never above a loss."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        n, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        pairs = np.array([(i, j) for i in range(n) for j in range(i)], dtype=np.intp)
        space = ProofSpace(n, pairs, rng.integers(1, 4, len(pairs)).astype(float))
        prior, loss = rng.dirichlet(np.ones(n)), rng.random((m, n))
        count = int(rng.integers(0, 12))
        arcs = rng.integers(0, 2 * len(pairs), count)
        y = Multipliers(
            arcs.astype(np.intp), rng.integers(0, m, count).astype(np.intp), 0.2 * rng.random(count)
        )
        bound = loss_below(space, Decay(alpha=Fraction(1, 2)), costs(prior, loss), y)
        best = sv.optimal_mechanism(
            sv.Metric(space.distances), alpha=Fraction(1, 2), prior=prior, loss=loss, method="program"
        )
        assert bound <= float(best.loss)
        exact = max(Fraction(0), exact_bound(space, prior, loss, y))
        assert bound <= exact <= bound + 1e-12


def exact_bound(space: ProofSpace, prior: Any, loss: Any, y: Multipliers) -> Fraction:
    n, m = len(prior), len(loss)
    bracket = [[Fraction(prior[x]) * Fraction(loss[w, x]) for w in range(m)] for x in range(n)]
    for arc, w, value in zip(y.arc.tolist(), y.output.tolist(), y.value.tolist(), strict=True):
        a, b = space.pairs[arc // 2].tolist()
        left, right = (b, a) if arc % 2 else (a, b)
        bracket[left][w] -= Fraction(value)
        bracket[right][w] += Fraction(value) * Fraction(1, 2) ** int(space.lengths[arc // 2])
    return sum((min(row) for row in bracket), Fraction(0))


def test_rounding_is_always_outward() -> None:
    """The float bounds on loss and vulnerability enclose the exact values, signs included."""
    rng = np.random.default_rng(9)
    for _ in range(50):
        n, m, guesses = rng.integers(1, 7, 3).tolist()
        prior, loss, gain = rng.dirichlet(np.ones(n)), rng.normal(size=(m, n)), rng.normal(size=(guesses, n))
        counts = np.floor(rng.dirichlet(np.ones(m), n) * 2**53).astype(np.int64)
        counts[:, 0] += 2**53 - counts.sum(axis=1)
        above = Fraction(loss_above(costs(prior, loss), counts))
        assert (
            exact_loss(prior, loss, counts) <= above <= exact_loss(prior, loss, counts) + Fraction(1, 10**12)
        )
        reached = exact_vulnerability(prior, gain, counts)
        assert reached <= Fraction(vulnerability_above(prior, gain, counts)) <= reached + Fraction(1, 10**12)


@pytest.mark.parametrize("eps", ["1/2", "1", "7/3"])
def test_uniform_prices_agree_with_all_pairs(eps: str) -> None:
    """The bound from prices alone is never above what the true optimum loses."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        n, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        pairs = np.array([(i, j) for i in range(n) for j in range(i)], dtype=np.intp)
        space, decay = ProofSpace(n, pairs, np.ones(len(pairs))), Decay(eps=Fraction(eps))
        prior, loss = rng.dirichlet(np.ones(n)), rng.random((m, n))
        cost = costs(prior, loss)
        part = UniformPart(np.arange(n), np.arange(n), cost.min(axis=1) + 0.2 * rng.random(n) * cost.mean())
        bound = loss_below(space, decay, cost, Multipliers.none(), (part,))
        best = sv.optimal_mechanism(
            sv.metrics.discrete(n), float(Fraction(eps)), prior, loss, method="program"
        )
        assert bound <= float(best.loss) + 1e-15


def test_costs_are_near_the_truth_and_zero_only_where_it_is() -> None:
    """Factors underflow or overflow where their product does not, and the other way round."""
    chances = np.array([Fraction(text) for text in ("1e-400", "1e-310", "1e-200", "3e-160", "0", "1/3", "1")])
    for sign in (1, -1):
        for text in ("1e-400", "1e-310", "1e-200", "3e-160", "0", "1/3", "7e150", "1e300"):
            losses = np.full((1, len(chances)), sign * Fraction(text))
            for x, found in enumerate(costs(chances, losses)[:, 0].tolist()):
                truth = chances[x] * losses[0, x]
                assert (found == 0) == (truth == 0)
                assert abs(Fraction(found) - truth) <= abs(truth) / 2**51 + Fraction(2.0**-1022)
    large = np.array([[Fraction("1e390")]])
    assert costs(chances[:1], large)[0, 0] == pytest.approx(1e-10)
    with pytest.raises(ValueError, match="beyond the largest float"):
        costs(chances[-1:], large)


@pytest.mark.parametrize(
    ("small", "loss", "truth"),
    [
        ("1e-400", "1e390", 1e-10),
        ("1e-400", "1e-5", 5e-324),
        ("1e-320", "1e310", 1e-10),
        ("1e-200", 1e-200, 5e-324),
    ],
)
def test_a_loss_that_underflows_is_still_a_loss(small: str, loss: Any, truth: float) -> None:
    """One input in 10^400 always answered wrongly: an upper bound below what that costs is refused."""
    content = {
        "format": "sievert proof 1",
        "kind": "optimal design",
        "space": {"size": 2, "edges": [[0, 1]]},
        "eps": "1",
        "prior": [str(1 - Fraction(small)), small],
        "loss": [["0", str(loss)]],
        "counts": [[2**53], [2**53]],
        "multipliers": [],
        "uniform": [],
        "lower": 0.0,
        "upper": truth / 2,
    }
    found = proof_from_dict(content).verify()
    assert not found.holds
    assert "more than the" in found.statement
    assert proof_from_dict({**content, "upper": max(truth, 1e-300) * (1 + 1e-12)}).verify()


def test_a_gain_that_underflows_is_still_a_gain() -> None:
    """A joint probability below the smallest float times a gain near the largest is no nothing."""
    prior, gain = np.array([1.0, 5e-324]), np.array([[0.0, 1.7e308]])
    counts = np.array([[2**53, 0], [2**52, 2**52]])
    assert Fraction(vulnerability_above(prior, gain, counts)) >= exact_vulnerability(prior, gain, counts) > 0
    content = {
        "format": "sievert proof 1",
        "kind": "leakage design",
        "family": "least leakage",
        "prior": prior.tolist(),
        "loss": [[0.0, 0.0], [0.0, 0.0]],
        "gain": gain.tolist(),
        "budget": 1.0,
        "counts": counts.tolist(),
        "strategy": [[1.0], [1.0]],
        "price": 0.0,
        "lower": 0.0,
        "upper": 1e-17,
    }
    assert not proof_from_dict(content).verify()
