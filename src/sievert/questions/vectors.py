"""Every question about a file with [vectors]: what two users can be told apart by, in users' units.

An audit reads no private vector: what is promised depends on the distance of two users alone. Only the
attacker who knows people is given some to know, the public vectors of `vectors.known`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from sievert.errors import FileError
from sievert.files import VectorScenario
from sievert.numerics import in_percent
from sievert.results import Result
from sievert.vectors import (
    MOST_CHANNEL_BITS,
    NoisyHash,
    PaperBounds,
    ReIdentification,
    SoftSigns,
    calibrate,
    channel,
    choose_bits,
    estimate_distance,
    paper_bounds,
)

__all__ = ["VectorsAnswer", "VectorsAudit", "about_vectors", "audit_vectors", "compare_vectors"]

DISTANCES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
# Beyond this many nats a bound on a guess says nothing.
MEANINGFUL = 5.0


@dataclass(frozen=True)
class VectorsAudit(Result):
    """What a file with [vectors] promises two users at a distance.

    Attributes
    ----------
    distance, delta : what the answers are about, as the file says
    angle : the distance in degrees
    xi : nats that two such users are told apart by, but for a probability δ
    guess : best guess which of the two it is, each as likely before (None: not computed for this mechanism)
    worst : nats between any two users under this very hash, without δ: what a release is charged
    curve : ξ at several distances
    bounds : what the paper's bounds say instead (of lsh-response under Gaussian planes)
    threat : how many of the `known` people an attacker traces back (None: the file names none)
    view, quantifier : what the observer sees, and what ξ is about
    exact : whether ξ is exact; a bound otherwise
    sampler : "exact" or "float"
    passed : whether every limit of [accept] holds
    """

    title: str
    mechanism: str
    hash: str
    bits: int
    distance: float
    angle: float
    delta: float
    xi: float
    guess: float | None
    worst: float
    curve: dict[float, float]
    bounds: PaperBounds | None
    threat: ReIdentification | None
    exact: bool
    sampler: str
    passed: bool
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    view: str = "output+seed"
    quantifier: str = field(default="for each pair fixed before the hash is drawn, over the draw of the hash")

    def __str__(self) -> str:
        guessed = (
            ""
            if self.guess is None
            else f": a guess between the two is right {in_percent(self.guess)} of times"
        )
        traced = "" if self.threat is None else f"; {self.threat}"
        return (
            f"Somebody within an angle of {self.angle:.3g}° can be told from you by {self.xi:.4g} nats, but "
            f"for a probability of {self.delta:g}{guessed}{traced}."
        )


def audit_vectors(scenario: VectorScenario) -> VectorsAudit:
    """What the file promises, for two users at its distance and for all."""
    scenario.check()
    mechanism, model = scenario.mechanism, scenario.document.vectors
    with scenario.at("mechanism"):
        xi = mechanism.xi(model.distance, model.delta)
        curve = {d: mechanism.xi(d, model.delta) for d in DISTANCES}
        worst = float(mechanism.worst())
    threat = None
    if scenario.known is not None:
        with scenario.at("vectors.known"):
            threat = mechanism.threat(scenario.known.rows)
    failed = _failed(scenario, xi, threat)
    exact = isinstance(mechanism, NoisyHash)
    return VectorsAudit(
        scenario.title,
        mechanism.words(),
        str(scenario.hashing.identity),
        scenario.hashing.bits,
        model.distance,
        180 * model.distance,
        model.delta,
        xi,
        _guess(scenario, model.distance),
        worst,
        curve,
        _bounds(scenario),
        threat,
        exact,
        "exact" if mechanism.exact else "float",
        not failed,
        failed,
        _notes(scenario),
    )


def _guess(
    scenario: VectorScenario, distance: float, releases: int = 1, hashing: str = "fresh"
) -> float | None:
    """Which of two users at a distance it is: (1 + δ(0))/2."""
    mechanism = scenario.mechanism
    if isinstance(mechanism, NoisyHash):
        return (1 + mechanism.account(distance).compose(releases, hashing).delta(0.0)) / 2
    if isinstance(mechanism, SoftSigns) and releases == 1:
        return (1 + mechanism.account(distance).delta(0.0)) / 2
    return None


def _bounds(scenario: VectorScenario) -> PaperBounds | None:
    mechanism, model = scenario.mechanism, scenario.document.vectors
    if not isinstance(mechanism, NoisyHash) or model.delta == 0:
        return None
    return paper_bounds(
        scenario.hashing.bits, scenario.hashing.collision(model.distance), mechanism.eps, model.delta
    )


def _failed(scenario: VectorScenario, xi: float, threat: ReIdentification | None) -> tuple[str, ...]:
    accept = scenario.document.accept
    if accept is None:
        return ()
    found = []
    if accept.nats is not None and xi > accept.nats:
        found.append(
            f"{xi:.4g} nats at distance {scenario.document.vectors.distance:g}, accepted are {accept.nats:g}"
        )
    if accept.reidentified is not None:
        if threat is None:
            found.append("[accept] reidentified needs vectors.known: public vectors that an attacker knows")
        elif threat.value > accept.reidentified:
            found.append(
                f"{in_percent(threat.value)} of known people are traced back, accepted are "
                f"{in_percent(accept.reidentified)}"
            )
    return tuple(found)


def _notes(scenario: VectorScenario) -> tuple[str, ...]:
    mechanism, model = scenario.mechanism, scenario.document.vectors
    notes = [
        "The hash is public, and the observer sees it with the code; with a secret hash one code alone would "
        "say nothing, but users must know it.",
        "ξ is about each pair of users over the draw of the hash; under the hash that was drawn a pair may "
        f"lose up to {float(mechanism.worst()):.4g} nats, which is what a release is charged.",
    ]
    if isinstance(mechanism, NoisyHash) and scenario.hashing.independent:
        notes += mechanism.account(model.distance).warnings(model.delta)
    if mechanism.kind == "laplace-lsh":
        notes.append(
            "ξ charges the whole noisy vector although only bits are published: the codes give away 10 to "
            "100 times less, for which no closed account is known."
        )
    if scenario.known is None:
        notes.append("Name public vectors as vectors.known to see how many people an attacker traces back.")
    return tuple(notes)


# ── The other questions ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class VectorsAnswer(Result):
    """The answer to one question about users' vectors.

    Attributes
    ----------
    question : the command
    sentence : the answer
    facts : its numbers, by name
    lines : what else to know
    good : whether the answer is a yes
    """

    question: str
    title: str
    sentence: str
    facts: dict[str, Any]
    lines: tuple[str, ...] = ()
    good: bool = True

    def __str__(self) -> str:
        return self.sentence


def about_vectors(question: str, scenario: VectorScenario, **given: Any) -> VectorsAnswer:
    """The answer to a question other than the audit, or a refusal that says why."""
    scenario.check()
    found = {
        "explain": _explain,
        "limits": _limits,
        "breach": _breach,
        "design": _design,
        "estimate": _estimate,
        "infer": _infer,
    }[question]
    with scenario.at("mechanism"):
        return found(scenario, **given)


def _explain(scenario: VectorScenario) -> VectorsAnswer:
    delta = scenario.document.vectors.delta
    rows = {d: (scenario.mechanism.xi(d, delta), _guess(scenario, d)) for d in DISTANCES}
    lines = [
        f"{180 * d:.3g}° apart: {xi:.4g} nats but for probability {delta:g}"
        + ("" if guess is None else f"; a guess between the two rises from 50.0% to {in_percent(guess)}")
        for d, (xi, guess) in rows.items()
    ]
    here = scenario.document.vectors.distance
    xi, guess = scenario.mechanism.xi(here, delta), _guess(scenario, here)
    said = f"at most {xi:.4g} nats" if guess is None else f"a guess rises from 50.0% to {in_percent(guess)}"
    return VectorsAnswer(
        "explain",
        scenario.title,
        f"Between two users {180 * here:.3g}° apart {said}; near users are hard to tell apart, far ones are "
        "not.",
        {"distance": here, "xi": xi, "guess": guess, "curve": {str(d): row for d, row in rows.items()}},
        tuple(lines),
        xi <= MEANINGFUL,
    )


def _limits(scenario: VectorScenario) -> VectorsAnswer:
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
    )


def _log_sum(first: float, second: float) -> float:
    return max(first, second) + math.log1p(math.exp(-abs(first - second)))


def _log_less_one(log_value: float) -> float:
    """ln(e^v - 1)."""
    return log_value + math.log1p(-math.exp(-log_value))


def _breach(scenario: VectorScenario, releases: int = 10) -> VectorsAnswer:
    here = scenario.document.vectors.distance
    if not isinstance(scenario.mechanism, NoisyHash):
        worst = float(scenario.mechanism.worst())
        raise FileError(
            f"{scenario.source}: repeated releases have an account for lsh-response only; of this mechanism "
            f"the worst case adds up, {worst:.4g} nats each"
        )
    rows = {
        how: {k: _guess(scenario, here, k, how) or 0.5 for k in range(1, releases + 1)}
        for how in ("same", "fresh")
    }
    until = {how: next((k for k, p in row.items() if p >= 0.9), None) for how, row in rows.items()}
    said = {
        how: f"after {k} releases" if k else f"not within {releases} releases" for how, k in until.items()
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
            for k in range(1, releases + 1)
        ),
        until["same"] is None and until["fresh"] is None,
    )


def _design(scenario: VectorScenario) -> VectorsAnswer:
    model = scenario.document.vectors
    xi = scenario.mechanism.xi(model.distance, model.delta)
    if model.delta == 0 or xi <= 0:
        raise FileError(f"{scenario.source}: design needs vectors.delta above 0 and a promise above 0 nats")
    found = choose_bits(model.distance, xi, model.delta, near=0.2, far=0.45)
    lines = [
        f"{n} bits: eps = {eps:.4g}, a near user before a far one {in_percent(p)} of times"
        for n, eps, p in zip(found.tried, found.eps.tolist(), found.success.tolist(), strict=True)
    ]
    eps = calibrate(found.bits, model.distance, xi, model.delta).eps
    return VectorsAnswer(
        "design",
        scenario.title,
        f"At the same promise, {xi:.4g} nats at {180 * model.distance:.3g}°, lsh-response with {found.bits} "
        f"bits and eps = {eps:.4g} ranks a user 36° away before one 81° away most often, "
        f"{in_percent(float(found.success.max()))}.",
        {"bits": found.bits, "eps": eps, "xi": xi, "tried": found.to_dict()},
        (
            *lines,
            "soft-sign flips fewer bits at the same promise for close pairs and tells more about far ones: "
            "compare both files with `sievert compare`.",
        ),
    )


def _estimate(scenario: VectorScenario, **_: Any) -> VectorsAnswer:
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


def _infer(scenario: VectorScenario, **_: Any) -> VectorsAnswer:
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
    )
