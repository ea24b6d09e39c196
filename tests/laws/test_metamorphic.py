"""What must not change an answer, and which way it must go: laws over all measures and families.

Labels are names only; a channel's form (exact, float, logarithms, structured) is not its content; more ε and
more releases never tell less; what is done to an answer afterwards never tells more.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv

Measure = Callable[[sv.Channel, Any], float]

# Every one grows with what the channel tells.
MEASURES: dict[str, Measure] = {
    "one try": lambda c, p: float(sv.posterior_vulnerability(c, p)),
    "one try, worst answer": lambda c, p: float(sv.posterior_vulnerability(c, p, case="max")),
    "two tries": lambda c, p: float(sv.posterior_vulnerability(c, p, sv.gains.tries(c.inputs, 2))),
    "factor": lambda c, p: float(sv.leakage(c, p).factor),
    "difference": lambda c, p: float(sv.leakage(c, p).difference),
    "Bayes risk": lambda c, p: -float(sv.posterior_vulnerability(c, p, sv.losses.bayes_risk(c.inputs))),
    "guesses": lambda c, p: -float(sv.posterior_vulnerability(c, p, sv.losses.guessing(c.inputs))),
    "Shannon": sv.information.mutual_information,
    "Sibson 1/2": lambda c, p: sv.information.sibson_information(c, p, 0.5),
    "Sibson 3": lambda c, p: sv.information.sibson_information(c, p, 3.0),
    "Arimoto 2": lambda c, p: sv.information.arimoto_information(c, p, 2.0),
    "maximal": lambda c, p: sv.information.maximal_leakage(c),
    "min-entropy": sv.information.min_entropy_leakage,
    "capacity": lambda c, p: float(sv.capacity(c)),
    "risk capacity": lambda c, p: float(sv.capacity(c, kind="risk")),
    "unit capacity": lambda c, p: float(sv.capacity(c, kind="additive", gains="unit", prior=p)),
    "signed capacity": lambda c, p: float(sv.capacity(c, kind="additive", gains="signed", prior=p)),
    "Shannon capacity": lambda c, p: float(sv.capacity(c, kind="shannon")),
    "ε": lambda c, p: sv.epsilon(c, sv.metrics.discrete(c.inputs)).nats,
    "δ(1/2)": lambda c, p: sv.divergences.delta_curve(c, sv.metrics.discrete(c.inputs), [0.5]).delta[0],
    "Rényi 2": lambda c, p: sv.divergences.renyi_curve(c, sv.metrics.discrete(c.inputs), [2.0]).nats[0],
    "worst level": lambda c, p: sv.observations.worst_level(c).bits,
    "average level": lambda c, p: sv.observations.average_level(c).bits,
    "twice": lambda c, p: sv.success_probability(c, p, 2).upper,
    "loss": lambda c, p: -float(sv.remap(c, p, 1 - np.eye(len(c.inputs))).after),
}  # fmt: skip
# What a solver finds is right to its own accuracy.
SOLVED = ("Shannon capacity", "unit capacity")


def close(first: float, second: float, tolerance: float = 1e-9) -> bool:
    return first == second or math.isclose(first, second, rel_tol=tolerance, abs_tol=tolerance)


def drawn(seed: int, n: int | None = None) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    size, outputs = n or int(rng.integers(2, 5)), int(rng.integers(2, 5))
    matrix = rng.dirichlet(np.ones(outputs), size)
    if seed % 3 == 0:
        matrix[rng.random(matrix.shape) < 0.3] = 0
        matrix[:, 0] += 1 - matrix.sum(axis=1)
    return rng, matrix, rng.dirichlet(np.ones(size))


@pytest.mark.parametrize("name", MEASURES)
@given(st.integers(0, 10**6))
@settings(max_examples=12)
def test_permuting_and_renaming_labels_changes_nothing(name: str, seed: int) -> None:
    rng, matrix, prior = drawn(seed)
    rows, columns = rng.permutation(len(matrix)), rng.permutation(matrix.shape[1])
    plain = sv.Channel(matrix)
    renamed = sv.Channel(
        matrix[np.ix_(rows, columns)],
        inputs=[f"secret {i}" for i in rows],
        outputs=[("answer", int(j)) for j in columns],
    )
    measure = MEASURES[name]
    tolerance = 1e-6 if name in SOLVED else 1e-9
    assert close(measure(plain, prior), measure(renamed, prior[rows]), tolerance)


@pytest.mark.parametrize("seed", range(6))
def test_verdicts_designs_and_estimates_follow_their_labels(seed: int) -> None:
    rng, matrix, prior = drawn(3 * seed + 1, 3)
    other = matrix @ rng.dirichlet(np.ones(3), matrix.shape[1])
    order = rng.permutation(3)
    names = [f"s{i}" for i in range(3)]
    first, second = sv.Channel(matrix, inputs=names), sv.Channel(other, inputs=names)
    moved = [sv.Channel(m[order], inputs=[names[i] for i in order]) for m in (matrix, other)]
    for kind in ("average", "max", "privacy"):
        assert sv.refines(first, second, kind).holds == sv.refines(*moved, kind).holds  # type: ignore[arg-type]
        assert sv.refines(second, first, kind).holds == sv.refines(moved[1], moved[0], kind).holds  # type: ignore[arg-type]
    assert close(float(sv.deficiency(second, first)), float(sv.deficiency(moved[1], moved[0])))

    distances = sv.metrics.line(3).matrix
    metric, permuted = (
        sv.Metric(distances, names),
        sv.Metric(distances[np.ix_(order, order)], [names[i] for i in order]),
    )
    loss = rng.random((3, 3))
    found = sv.optimal_mechanism(metric, 1.0, prior, loss)
    again = sv.optimal_mechanism(permuted, 1.0, prior[order], loss[:, order])
    assert close(float(found.loss), float(again.loss), 1e-7)
    there, back = float(sv.kantorovich(prior, prior[::-1], metric)), prior[::-1][order]
    assert close(there, float(sv.kantorovich(prior[order], back, permuted)))

    response = sv.mechanisms.randomised_response(names, 1.0)
    turned = sv.mechanisms.randomised_response([names[i] for i in order], 1.0)
    counts = np.array([50, 30, 120])
    straight = sv.estimate(counts, response, interval="none").distribution
    assert sv.estimate(counts[order], turned, interval="none").distribution == pytest.approx(
        straight[order], abs=1e-9
    )


FILE = """
version = 1
[policy]
values = [{values}]
secrets = "complete"
[query]
kind = "record"
[mechanism]
kind = "randomised-response"
eps = 1.0
[adversary]
prior = [{prior}]
observations = 3
"""


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_an_audit_does_not_depend_on_names(tmp_path: Path, order: tuple[int, ...]) -> None:
    prior = [0.2, 0.3, 0.5]

    def audited(names: list[str], places: tuple[int, ...]) -> list[float]:
        file = tmp_path / f"{'-'.join(names)}.toml"
        values = ", ".join(f'"{names[i]}"' for i in places)
        file.write_text(
            FILE.format(values=values, prior=", ".join(str(prior[i]) for i in places)), encoding="utf-8"
        )
        return sorted(numbers_of(sv.audit(str(file)).to_dict(), {str(v) for v in prior}))

    plain = audited(["a", "b", "c"], (0, 1, 2))
    assert len(plain) > 5
    assert audited(["x", "y z", "µ"], order) == pytest.approx(plain, rel=1e-9)


def numbers_of(item: Any, skipped: set[str]) -> list[float]:
    """The figures of an answer; those of the question are left out."""
    if isinstance(item, dict):
        return [v for value in item.values() for v in numbers_of(value, skipped)]
    if isinstance(item, list | tuple):
        return [v for value in item for v in numbers_of(value, skipped)]
    is_figure = isinstance(item, float) and math.isfinite(item) and str(item) not in skipped
    return [item] if is_figure else []


def families(alpha: Fraction) -> list[tuple[str, sv.Channel]]:
    line = sv.metrics.line(4)
    return [
        ("truncated geometric", sv.mechanisms.truncated_geometric(4, alpha=alpha)),
        ("irregular geometric", sv.mechanisms.truncated_geometric(points=[0, 1, 3, 4], alpha=alpha)),
        ("randomised response", sv.mechanisms.randomised_response(4, alpha=alpha)),
        ("exponential", sv.mechanisms.exponential(line, alpha=alpha)),
        ("tight constraints", sv.mechanisms.tight_constraints(line, alpha=alpha)),
    ]


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(9, 10), Fraction(1, 50)])
def test_every_form_of_a_channel_has_the_same_measures(name: str, alpha: Fraction) -> None:
    """As the family makes it, as exact rows, as floats and as logarithms; likewise from eps = -ln alpha."""
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    measure = MEASURES[name]
    tolerance = 1e-6 if name in SOLVED else 1e-9
    for family, made in families(alpha):
        labels = {"inputs": made.inputs, "outputs": made.outputs}
        forms = [sv.Channel(made.matrix, **labels), sv.Channel.from_log(made.log_matrix, **labels)]
        if made.exact is not None:
            forms.append(sv.Channel(made.exact, **labels))
        expected = measure(made, prior)
        for form in forms:
            assert close(measure(form, prior), expected, tolerance), (family, form)


def of_eps(family: str, eps: float) -> sv.Channel:
    line = sv.metrics.line(3)
    made = {
        "truncated geometric": lambda: sv.mechanisms.truncated_geometric(3, eps),
        "randomised response": lambda: sv.mechanisms.randomised_response(3, eps),
        "exponential": lambda: sv.mechanisms.exponential(line, eps),
        "tight constraints": lambda: sv.mechanisms.tight_constraints(line, eps),
    }
    return made[family]()


@pytest.mark.parametrize("family", ["truncated geometric", "randomised response", "exponential"])
@pytest.mark.parametrize("name", MEASURES)
def test_more_epsilon_never_tells_less(family: str, name: str) -> None:
    prior = np.array([0.5, 0.3, 0.2])
    tolerance = 1e-6 if name in SOLVED else 1e-9
    values = [
        MEASURES[name](of_eps(family, eps), prior) for eps in (0.0, 1e-6, 0.01, 0.3, 1.0, 2.5, 8.0, 30.0)
    ]
    for less, more in pairwise(values):
        assert more >= less - tolerance, values


@pytest.mark.parametrize(
    "family", ["truncated geometric", "randomised response", "exponential", "tight constraints"]
)
def test_more_releases_never_tell_less(family: str) -> None:
    prior = np.array([0.5, 0.3, 0.2])
    channel = of_eps(family, 0.7)
    repeated = [channel.repeated(k) for k in (1, 2, 3, 5)]
    for name in ("one try", "Shannon", "capacity", "maximal", "ε", "guesses"):
        values = [MEASURES[name](c, prior) for c in repeated]
        assert all(b >= a - 1e-9 for a, b in pairwise(values)), (name, values)
    curve = [
        point.lower for point in sv.observations.success_curve(channel, prior, range(1, 8), rng=1).points
    ]
    assert all(b >= a - 1e-12 for a, b in pairwise(curve))
    for k, c in zip((1, 2, 3, 5), repeated, strict=True):
        assert close(
            sv.success_probability(channel, prior, k).upper, float(sv.posterior_vulnerability(c, prior))
        )


@pytest.mark.parametrize("name", MEASURES)
@given(st.integers(0, 10**6))
@settings(max_examples=12)
def test_processing_an_answer_never_tells_more(name: str, seed: int) -> None:
    rng, matrix, prior = drawn(seed)
    channel = sv.Channel(matrix)
    post = sv.Channel(rng.dirichlet(np.ones(3), matrix.shape[1]), inputs=channel.outputs)
    tolerance = 1e-6 if name in SOLVED else 1e-9
    before, after = MEASURES[name](channel, prior), MEASURES[name](channel.then(post), prior)
    assert after <= before + tolerance * max(1.0, abs(after))
