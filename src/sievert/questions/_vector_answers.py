"""The other questions about a file with [vectors]: explain, limits, breach, design, estimate and compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sievert.errors import FileError
from sievert.files import VectorsScenario
from sievert.numerics import bounded_percent, in_nats, in_percent, in_releases, probability, whole
from sievert.questions._max_level import max_level
from sievert.questions._vector_audit import DISTANCES
from sievert.questions._vector_design import design_vectors
from sievert.questions._vector_promise import VectorsAnswer, account_of, at_level, promise
from sievert.vectors import (
    NoisyHash,
    channel,
    distance_text,
    estimate_distance,
)

__all__ = ["about_vectors", "compare_vectors"]

# Beyond this many nats a bound on a guess says nothing.
MEANINGFUL = 5.0
SURE = 0.9


def about_vectors(question: str, scenario: VectorsScenario, **given: Any) -> VectorsAnswer:
    """The answer to a question other than the audit, or a refusal that says why."""
    scenario.check()
    found: dict[str, Callable[..., VectorsAnswer]] = {
        "explain": _explain,
        "limits": _limits,
        "breach": _breach,
        "design": design_vectors,
        "estimate": _estimate,
        "infer": _infer,
    }
    with scenario.at("mechanism"):
        return found[question](scenario, **given)


def _explain(
    scenario: VectorsScenario,
    eps: float | None = None,
    releases: int | None = None,
    guess: float | None = None,
) -> VectorsAnswer:
    told = {"eps": eps, "releases": releases, "guess": guess}
    many = 1 if releases is None else whole("releases", releases)
    here = scenario.document.vectors.distance
    solved = [str(max_level(scenario))] if many == 1 and _is_limited(scenario) else []
    scenario = at_level(scenario, eps) if guess is None else _guessed(scenario, guess, here, many)
    delta = scenario.document.vectors.delta

    def row(distance: float) -> tuple[float, float]:
        if many > 1:
            return account_of(_repeatable(scenario), distance, many).xi(delta), _guess(
                scenario, distance, many
            )
        return scenario.mechanism.xi(distance, delta), scenario.mechanism.guess(distance)

    rows = {d: row(d) for d in DISTANCES}
    measured = scenario.hashing.measured
    apart = partial(distance_text, measured)
    lines = [
        f"{apart(d)} apart: {in_nats(xi)} but for probability {delta:g}; a guess between the two rises "
        f"from 50.0% to {in_percent(right)}"
        for d, (xi, right) in rows.items()
    ]
    if guess is not None:
        lines.insert(0, f"The most that keeps a guess to {in_percent(guess)}: {scenario.mechanism.words()}.")
    lines += solved
    xi, likely = row(here)
    after = bounded_percent(likely, scenario.mechanism.accounted)
    again = "" if many == 1 else f" after {many} releases under this hash"
    certificate, why = promise(scenario, many)
    return VectorsAnswer(
        "explain",
        scenario.title,
        f"Between two users {apart(here)} apart a guess rises from 50.0% to {after}"
        f"{again}; near users are hard to tell apart, far ones are not.",
        {
            "distance": here,
            "xi": xi,
            "guess": likely,
            "curve": {str(d): row for d, row in rows.items()},
            "level": scenario.mechanism.level,
        },
        tuple(lines),
        xi <= MEANINGFUL,
        tuple((180 * d if measured == "angle" else d, xi) for d, (xi, _) in rows.items()),
        "angle between two users (degrees)" if measured == "angle" else f"{measured} of two users",
        certificate,
        why,
        told,
    )


def _is_limited(scenario: VectorsScenario) -> bool:
    """Whether [accept] has a limit that is known to be kept or not."""
    accept = scenario.document.accept
    if accept is None or (accept.reidentified is not None and scenario.known is None):
        return False
    return accept.nats is not None or accept.reidentified is not None


def _guess(scenario: VectorsScenario, distance: float, many: int) -> float:
    """The best guess between two users after releases under one hash."""
    if many == 1:
        return scenario.mechanism.guess(distance)
    return (1 + account_of(_repeatable(scenario), distance, many).delta(0.0)) / 2


def _guessed(scenario: VectorsScenario, guess: float, distance: float, many: int) -> VectorsScenario:
    """The file with the least noise that keeps the best guess at a distance to `guess`: a bisection."""
    wanted = probability("guess", guess)
    if not 0.5 < wanted < 1:
        raise FileError(f"--guess: is {guess:g}; between two users it is above 0.5 and below 1")
    falls = scenario.mechanism.level_name == "scale"
    calm, wild = (1e3, 0.01) if falls else (1e-6, 1e6)

    def kept(level: float) -> bool:
        return _guess(scenario.with_level(level), distance, many) <= wanted

    if kept(wild):
        raise FileError(
            f"--guess: codes without noise are guessed between with {guess:g} or less at distance "
            f"{distance:g}; no level is needed for that, so give a distance for which one is"
        )
    while abs(math.log(wild / calm)) > 1e-4:
        middle = math.sqrt(calm * wild)
        calm, wild = (middle, wild) if kept(middle) else (calm, middle)
    return scenario.with_level(float(f"{calm * (1 + (1e-5 if falls else -1e-5)):.6g}"))


def _limits(scenario: VectorsScenario, eps: float | None = None) -> VectorsAnswer:
    scenario = at_level(scenario, eps)
    worst, count, values = float(scenario.mechanism.worst()), scenario.hashing.bits, scenario.hashing.values
    bits = count * math.log2(values)
    # M outputs and ratios e^W: a factor M·e^W/(e^W + M - 1) at most.
    outputs = bits * math.log(2)
    anybody = min(worst, outputs + worst - _log_sum(worst, _log_less_one(outputs))) / math.log(2)
    facts: dict[str, Any] = {"bits": anybody, "worst_nats": worst, "code_bits": bits}
    lines = [
        f"A code without noise could leak {bits:g} bits.",
        "The bounds hold for gains that are not negative.",
    ]
    if scenario.mechanism.kind != "laplace-lsh":
        # Independent coordinates of v values with ratios e^L leak log2(v/(1 + (v-1)·e^-L)) bits each.
        own = bits - count * math.log2(1 + (values - 1) * math.exp(-worst / count))
        facts["own_bits"] = own
        lines.insert(0, f"This mechanism, whose coordinates are independent, leaks at most {own:.4g} bits.")
    return VectorsAnswer(
        "limits",
        scenario.title,
        f"No mechanism on {bits:g} bits with at most {in_nats(worst)} between any two users leaks more than "
        f"{anybody:.4g} bits about anybody's vector, whoever guesses.",
        facts,
        tuple(lines),
        unproved="the bound is one formula in bits and nats, M·e^W/(e^W + M - 1), which needs no search",
        told={"eps": eps},
    )


def _log_sum(first: float, second: float) -> float:
    return max(first, second) + math.log1p(math.exp(-abs(first - second)))


def _log_less_one(log_value: float) -> float:
    """ln(e^v - 1)."""
    return log_value + math.log1p(-math.exp(-log_value))


def _repeatable(scenario: VectorsScenario) -> NoisyHash:
    """The mechanism, if its releases have an account together."""
    mechanism = scenario.mechanism
    if not isinstance(mechanism, NoisyHash):
        raise FileError(
            f"{scenario.source}: repeated releases have an account for lsh-response only; of this mechanism "
            f"the worst case adds up, {in_nats(float(mechanism.worst()))} each"
        )
    return mechanism


def _breach(scenario: VectorsScenario, observations: Sequence[int] | None = None) -> VectorsAnswer:
    here = scenario.document.vectors.distance
    apart = distance_text(scenario.hashing.measured, here)
    counts = tuple(range(1, 11)) if observations is None else tuple(observations)
    account = _repeatable(scenario).account(here)
    rows = {
        how: {k: (1 + account.compose(k, how).delta(0.0)) / 2 for k in counts} for how in ("same", "fresh")
    }
    until = {how: next((k for k, p in row.items() if p >= SURE), None) for how, row in rows.items()}
    said = {
        how: f"after {in_releases(k)}" if k else f"not within {in_releases(counts[-1])}"
        for how, k in until.items()
    }
    return VectorsAnswer(
        "breach",
        scenario.title,
        f"Which of two users {apart} apart it is, is told with 90 % {said['same']} under the same "
        f"hash, {said['fresh']} under fresh ones.",
        {"guesses": rows, "until": until, "distance": here},
        tuple(
            f"{in_releases(k)}: {in_percent(rows['same'][k])} under the same hash, "
            f"{in_percent(rows['fresh'][k])} under fresh ones"
            for k in counts
        ),
        until["same"] is None and until["fresh"] is None,
        tuple((float(k), p) for k, p in rows["same"].items()),
        "releases under the same hash",
    )


def _estimate(scenario: VectorsScenario) -> VectorsAnswer:
    mechanism, bits = scenario.mechanism, scenario.hashing.bits
    if not isinstance(mechanism, NoisyHash) or scenario.hashing.kind != "hyperplane":
        raise FileError(
            f"{scenario.source}: distances are debiased for lsh-response under hyperplanes, whose bits have "
            "one flip rate; match ranks without it"
        )
    flip = 1 / (1 + math.exp(min(mechanism.eps, 700.0)))
    q = 2 * flip * (1 - flip)
    rows = {
        d: estimate_distance(round(bits * (q + d * (1 - 2 * q))), bits, mechanism.eps)
        for d in (0.1, 0.3, 0.5)
    }
    deviation = rows[0.3].deviation
    return VectorsAnswer(
        "estimate",
        scenario.title,
        f"Two noisy codes give the distance of their users without bias, with a standard deviation of "
        f"{deviation:.3g}: {180 * deviation:.3g}°.",
        {str(d): one.to_dict() for d, one in rows.items()},
        tuple(f"about {180 * d:.3g}° apart: {one}" for d, one in rows.items()),
        deviation < 0.25,
    )


def _infer(scenario: VectorsScenario) -> VectorsAnswer:
    raise FileError(
        f"{scenario.source}: [vectors] has no [inference]; who somebody is, is answered by `sievert audit` "
        "with vectors.known, and bounded by `sievert limits`"
    )


def compare_vectors(
    first: VectorsScenario, second: VectorsScenario, names: tuple[str, str] | None = None
) -> VectorsAnswer:
    """Whether the second mechanism is at least as safe at every distance; titles name them unless given."""
    called = (first.title, second.title) if names is None else names
    delta = first.document.vectors.delta
    if second.document.vectors.delta != delta:
        raise FileError(f"{second.source}: has another delta than {first.source}; compare at one δ")
    curves = [{d: item.mechanism.xi(d, delta) for d in DISTANCES} for item in (first, second)]
    safer = all(curves[1][d] <= curves[0][d] * (1 + 1e-9) for d in DISTANCES)
    measured = first.hashing.measured
    lines = [
        f"{distance_text(measured, d)}: {curves[0][d]:.4g} against {in_nats(curves[1][d])}" for d in DISTANCES
    ]
    facts: dict[str, Any] = {
        "curves": [{str(d): xi for d, xi in one.items()} for one in curves],
        "delta": delta,
    }
    one, other = first.mechanism, second.mechanism
    certificate = None
    if (
        isinstance(one, NoisyHash)
        and isinstance(other, NoisyHash)
        and first.hashing.identity == second.hashing.identity
    ):
        from sievert.orders import compare

        # Coordinates are alike and independent, and responses to one are ordered by ε: one decides for all.
        values = first.hashing.values
        verdicts = compare(channel(1, one.eps, values=values), channel(1, other.eps, values=values))
        lines.append(
            f"By refinement of the noise, one of {first.hashing.bits} alike coordinates for all: {verdicts}"
        )
        facts["refinement"] = verdicts.to_dict()
        certificate = verdicts.forward[0].certificate
    known = [item.known for item in (first, second)]
    if all(found is not None for found in known):
        threats = [m.threat(k.rows) for m, k in zip((one, other), known, strict=True) if k is not None]
        lines += [f"{name}: {threat}" for name, threat in zip(called, threats, strict=True)]
        facts["threats"] = [threat.to_dict() for threat in threats]
    said = "at least as safe at every distance" if safer else "not as safe at every distance"
    return VectorsAnswer(
        "compare",
        first.title,
        f"{called[1]} is {said} as {called[0]} (ξ at δ = {delta:g}, observer sees hash and code).",
        facts,
        tuple(lines),
        safer,
        certificate=certificate,
        unproved="curves have none; of two lsh-response under one hash refinement has one",
    )
