"""The other questions about a file with [vectors]: explain, limits, breach, design, estimate and compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sievert.errors import FileError
from sievert.files import VectorScenario
from sievert.numerics import in_percent, positive, read_eps, whole
from sievert.proofs import CodesProof, Proof
from sievert.questions._answer import Answer
from sievert.questions._vector_audit import DISTANCES
from sievert.vectors import (
    MOST_CHANNEL_BITS,
    Accountant,
    NoisyHash,
    calibrate,
    channel,
    choose_bits,
    estimate_distance,
)

__all__ = ["VectorsAnswer", "about_vectors", "compare_vectors", "promise_of_vectors"]

# Beyond this many nats a bound on a guess says nothing.
MEANINGFUL = 5.0
SURE = 0.9


@dataclass(frozen=True)
class VectorsAnswer(Answer):
    """The answer to one question about users' vectors."""


def about_vectors(question: str, scenario: VectorScenario, **given: Any) -> VectorsAnswer:
    """The answer to a question other than the audit, or a refusal that says why."""
    scenario.check()
    found: dict[str, Callable[..., VectorsAnswer]] = {
        "explain": _explain,
        "limits": _limits,
        "breach": _breach,
        "design": _design,
        "estimate": _estimate,
        "infer": _infer,
    }
    with scenario.at("mechanism"):
        return found[question](scenario, **given)


def promise_of_vectors(scenario: VectorScenario) -> Proof:
    """The proof of what one release promises the pair that the file is about."""
    found, why = _promise(scenario)
    if found is None:
        raise FileError(f"{scenario.source}: has no certificate: {why}")
    return found


def _promise(scenario: VectorScenario, releases: int = 1) -> tuple[CodesProof | None, str]:
    """ξ at the file's distance and δ with its law, or why there is no proof."""
    mechanism, model = scenario.mechanism, scenario.document.vectors
    if not isinstance(mechanism, NoisyHash):
        return (
            None,
            f"the account of {mechanism.kind} is computed in floating point; lsh-response has a proof",
        )
    if not CodesProof.possible(mechanism.hashing.bits, releases):
        return None, "so many bits and releases have a law too long to check one step at a time"
    law = (account := _account(mechanism, model.distance, releases)).law
    assert law is not None
    xi = Fraction(account.xi(model.delta))
    delta = read_eps(model.delta)
    return CodesProof.of(law.coordinates, law.distance, law.eps, law.values, releases, xi, delta), ""


def _account(mechanism: NoisyHash, distance: float, releases: int) -> Accountant:
    """Of releases under the hash that the file names."""
    return mechanism.account(distance).compose(releases, "same")


def _at(scenario: VectorScenario, eps: float | None) -> VectorScenario:
    """The file, or the same at another ε."""
    return scenario if eps is None else scenario.with_eps(positive("eps", eps))


def _explain(
    scenario: VectorScenario,
    eps: float | None = None,
    releases: int | None = None,
    guess: float | None = None,
) -> VectorsAnswer:
    if guess is not None:
        raise FileError(
            "--guess: says nothing about [vectors]; write xi, delta and distance under [mechanism], and the "
            "level is calibrated"
        )
    told = {"eps": eps, "releases": releases}
    scenario = _at(scenario, eps)
    many = 1 if releases is None else whole("releases", releases)
    delta = scenario.document.vectors.delta

    def row(distance: float) -> tuple[float, float]:
        if many == 1:
            return scenario.mechanism.xi(distance, delta), scenario.mechanism.guess(distance)
        account = _account(_repeatable(scenario), distance, many)
        return account.xi(delta), (1 + account.delta(0.0)) / 2

    rows = {d: row(d) for d in DISTANCES}
    lines = [
        f"{180 * d:.3g}° apart: {xi:.4g} nats but for probability {delta:g}; a guess between the two rises "
        f"from 50.0% to {in_percent(right)}"
        for d, (xi, right) in rows.items()
    ]
    here = scenario.document.vectors.distance
    xi, likely = row(here)
    most = "" if scenario.mechanism.accounted else "at most "
    again = "" if many == 1 else f" after {many} releases under this hash"
    certificate, why = _promise(scenario, many)
    return VectorsAnswer(
        "explain",
        scenario.title,
        f"Between two users {180 * here:.3g}° apart a guess rises from 50.0% to {most}{in_percent(likely)}"
        f"{again}; near users are hard to tell apart, far ones are not.",
        {"distance": here, "xi": xi, "guess": likely, "curve": {str(d): row for d, row in rows.items()}},
        tuple(lines),
        xi <= MEANINGFUL,
        tuple((180 * d, xi) for d, (xi, _) in rows.items()),
        "angle between two users (degrees)",
        certificate,
        why,
        told,
    )


def _limits(scenario: VectorScenario, eps: float | None = None) -> VectorsAnswer:
    scenario = _at(scenario, eps)
    worst, bits = float(scenario.mechanism.worst()), scenario.hashing.bits
    # M outputs and ratios e^W: a factor M·e^W/(e^W + M - 1) at most.
    outputs = bits * math.log(2)
    anybody = min(worst, outputs + worst - _log_sum(worst, _log_less_one(outputs))) / math.log(2)
    facts: dict[str, Any] = {"bits": anybody, "worst_nats": worst, "code_bits": bits}
    lines = [
        f"A code without noise could leak {bits} bits.",
        "The bounds hold for gains that are not negative.",
    ]
    if scenario.mechanism.kind != "laplace-lsh":
        # Independent coins with log-odds L leak log2(2·σ(L)) bits each.
        own = bits * (1 + math.log2(1 / (1 + math.exp(-worst / bits))))
        facts["own_bits"] = own
        lines.insert(0, f"This mechanism, whose bits are independent coins, leaks at most {own:.4g} bits.")
    return VectorsAnswer(
        "limits",
        scenario.title,
        f"No mechanism on {bits} bits with at most {worst:.4g} nats between any two users leaks more than "
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


def _repeatable(scenario: VectorScenario) -> NoisyHash:
    """The mechanism, if its releases have an account together."""
    mechanism = scenario.mechanism
    if not isinstance(mechanism, NoisyHash):
        raise FileError(
            f"{scenario.source}: repeated releases have an account for lsh-response only; of this mechanism "
            f"the worst case adds up, {float(mechanism.worst()):.4g} nats each"
        )
    return mechanism


def _breach(scenario: VectorScenario, observations: Sequence[int] | None = None) -> VectorsAnswer:
    here = scenario.document.vectors.distance
    counts = tuple(range(1, 11)) if observations is None else tuple(observations)
    account = _repeatable(scenario).account(here)
    rows = {
        how: {k: (1 + account.compose(k, how).delta(0.0)) / 2 for k in counts} for how in ("same", "fresh")
    }
    until = {how: next((k for k, p in row.items() if p >= SURE), None) for how, row in rows.items()}
    said = {
        how: f"after {k} releases" if k else f"not within {counts[-1]} releases" for how, k in until.items()
    }
    return VectorsAnswer(
        "breach",
        scenario.title,
        f"Which of two users {180 * here:.3g}° apart it is, is told with 90 % {said['same']} under the same "
        f"hash, {said['fresh']} under fresh ones.",
        {"guesses": rows, "until": until, "distance": here},
        tuple(
            f"{k} release(s): {in_percent(rows['same'][k])} under the same hash, "
            f"{in_percent(rows['fresh'][k])} under fresh ones"
            for k in counts
        ),
        until["same"] is None and until["fresh"] is None,
        tuple((float(k), p) for k, p in rows["same"].items()),
        "releases under the same hash",
    )


def _design(scenario: VectorScenario, eps: float | None = None) -> VectorsAnswer:
    model, told = scenario.document.vectors, {"eps": eps}
    scenario = _at(scenario, eps)
    xi = scenario.mechanism.xi(model.distance, model.delta)
    if model.delta == 0 or xi <= 0:
        raise FileError(f"{scenario.source}: design needs vectors.delta above 0 and a promise above 0 nats")
    found = choose_bits(model.distance, xi, model.delta, near=0.2, far=0.45)
    lines = [
        f"{n} bits: eps = {eps:.4g}, a near user before a far one {in_percent(p)} of times"
        for n, eps, p in zip(found.tried, found.eps.tolist(), found.success.tolist(), strict=True)
    ]
    level = float(f"{calibrate(found.bits, model.distance, xi, model.delta).eps * (1 - 1e-9):.9g}")
    chosen = scenario.with_mechanism(found.bits, kind="lsh-response", eps=level)
    certificate, why = _promise(chosen)
    return VectorsAnswer(
        "design",
        scenario.title,
        f"At the same promise, {xi:.4g} nats at {180 * model.distance:.3g}°, lsh-response with {found.bits} "
        f"bits and eps = {level:.4g} ranks a user 36° away before one 81° away most often, "
        f"{in_percent(float(found.success.max()))}.",
        {"bits": found.bits, "eps": level, "xi": xi, "tried": found.to_dict()},
        (
            *lines,
            "soft-sign flips fewer bits at the same promise for close pairs and tells more about far ones: "
            "compare both files with `sievert compare`.",
        ),
        curve=tuple(zip(map(float, found.tried), found.success.tolist(), strict=True)),
        axis="bits of a code",
        certificate=certificate,
        unproved=why,
        told=told,
        chosen=chosen,
    )


def _estimate(scenario: VectorScenario) -> VectorsAnswer:
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


def _infer(scenario: VectorScenario) -> VectorsAnswer:
    raise FileError(
        f"{scenario.source}: [vectors] has no [inference]; who somebody is, is answered by `sievert audit` "
        "with vectors.known, and bounded by `sievert limits`"
    )


def compare_vectors(first: VectorScenario, second: VectorScenario) -> VectorsAnswer:
    """Whether the second mechanism is at least as safe at every distance."""
    delta = first.document.vectors.delta
    if second.document.vectors.delta != delta:
        raise FileError(f"{second.source}: has another delta than {first.source}; compare at one δ")
    curves = [{d: item.mechanism.xi(d, delta) for d in DISTANCES} for item in (first, second)]
    safer = all(curves[1][d] <= curves[0][d] * (1 + 1e-9) for d in DISTANCES)
    lines = [f"{180 * d:.3g}°: {curves[0][d]:.4g} against {curves[1][d]:.4g} nats" for d in DISTANCES]
    facts: dict[str, Any] = {
        "curves": [{str(d): xi for d, xi in one.items()} for one in curves],
        "delta": delta,
    }
    one, other = first.mechanism, second.mechanism
    bits = first.hashing.bits
    certificate = None
    if (
        isinstance(one, NoisyHash)
        and isinstance(other, NoisyHash)
        and first.hashing.identity == second.hashing.identity
        and bits <= min(6, MOST_CHANNEL_BITS)
    ):
        from sievert.orders import compare

        verdicts = compare(channel(bits, one.eps), channel(bits, other.eps))
        lines.append(f"By refinement of the noise on {bits} bits: {verdicts}")
        facts["refinement"] = verdicts.to_dict()
        certificate = verdicts.forward[0].certificate
    known = [item.known for item in (first, second)]
    if all(found is not None for found in known):
        threats = [m.threat(k.rows) for m, k in zip((one, other), known, strict=True) if k is not None]
        lines += [f"{item.title}: {threat}" for item, threat in zip((first, second), threats, strict=True)]
        facts["threats"] = [threat.to_dict() for threat in threats]
    said = "at least as safe at every distance" if safer else "not as safe at every distance"
    return VectorsAnswer(
        "compare",
        first.title,
        f"{second.title} is {said} as {first.title} (ξ at δ = {delta:g}, observer sees hash and code).",
        facts,
        tuple(lines),
        safer,
        certificate=certificate,
        unproved="curves have none; of lsh-response on at most 6 bits under one hash refinement has one",
    )
