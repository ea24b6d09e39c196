"""Which mechanism with how many bits serves matching best at the promise of a file with [vectors]."""

from __future__ import annotations

import math
from typing import Any

from sievert.errors import FileError
from sievert.files import VectorsScenario
from sievert.numerics import in_nats, in_percent
from sievert.questions._vector_audit import failed_limits
from sievert.questions._vector_promise import VectorsAnswer, at_level, promise
from sievert.vectors import MechanismCandidate, choose_bits, choose_mechanism

__all__ = ["design_vectors"]

# Angular distances of users whom matching should tell apart: a typical neighbour and a typical user.
NEAR, FAR = 0.2, 0.45
# Numbers of bits beside the file's own, and the largest log-odds of a soft sign where the file has none.
TRIED, CLIP = (8, 16, 32, 64, 128), 3.0


def design_vectors(scenario: VectorsScenario, eps: float | None = None) -> VectorsAnswer:
    """The best design that keeps the file's promise and its limits."""
    model, told = scenario.document.vectors, {"eps": eps}
    scenario = at_level(scenario, eps)
    xi = scenario.mechanism.xi(model.distance, model.delta)
    if model.delta == 0 or not 0 < xi < math.inf:
        raise FileError(f"{scenario.source}: design needs vectors.delta above 0 and a promise above 0 nats")
    hashing = scenario.hashing
    if hashing.kind != "hyperplane" or not hashing.independent:
        return _designed_bits(scenario, xi, told)
    clip = getattr(scenario.mechanism, "clip", None) or CLIP
    bits = sorted({*TRIED, hashing.bits})
    found = choose_mechanism(scenario.dimension, model.distance, xi, model.delta, NEAR, FAR, bits, clip=clip)
    refused: dict[MechanismCandidate, str] = {}
    for one in sorted(found.candidates, key=lambda item: -item.success):
        chosen = _variant(scenario, one, found.clip)
        refused[one] = _refusal(scenario, chosen)
        if not refused[one]:
            break
    else:
        raise FileError(f"{scenario.source}: nothing keeps [accept] at this promise; {refused[one]}")
    best = [found.of(kind) for kind in dict.fromkeys(item.mechanism for item in found.candidates)]
    certificate, why = promise(chosen)
    return VectorsAnswer(
        "design",
        scenario.title,
        f"At the same promise, {in_nats(xi)} at {180 * model.distance:.3g}°, {one.mechanism} with {one.bits} "
        f"bits ranks a user {180 * NEAR:.3g}° away before one {180 * FAR:.3g}° away most often, "
        f"{in_percent(one.success)}: {chosen.mechanism.words()}.",
        {
            "mechanism": one.mechanism,
            "bits": one.bits,
            "level": chosen.mechanism.level,
            "xi": xi,
            "tried": [{**item.to_dict(), "refused": refused.get(item)} for item in found.candidates],
        },
        (
            f"Chosen. {_compared(chosen, '')}",
            *(
                f"Best. {_compared(_variant(scenario, item, found.clip), refused.get(item, ''))}"
                for item in best
                if item != one
            ),
            *(f"{str(item).capitalize()}." for item in found.candidates),
        ),
        curve=tuple(
            (float(item.bits), item.success) for item in found.candidates if item.mechanism == one.mechanism
        ),
        axis="bits of a code",
        certificate=certificate,
        unproved=why,
        told=told,
        chosen=chosen,
    )


def _variant(scenario: VectorsScenario, one: MechanismCandidate, clip: float) -> VectorsScenario:
    """The file with a candidate, its level rounded to the safe side."""
    soft = one.mechanism == "soft-sign"
    level = float(f"{one.level * (1 + (1e-5 if soft else -1e-5)):.6g}")
    keys: dict[str, Any] = {"scale": level, "clip": clip} if soft else {"eps": level}
    return scenario.with_mechanism(one.bits, kind=one.mechanism, **keys)


def _refusal(scenario: VectorsScenario, changed: VectorsScenario) -> str:
    """Why a design is not proposed, or nothing.

    Equal ξ at one distance is not equal risk: without a limit on people traced back, far pairs may not be
    told apart by more than the file allows.
    """
    document, mechanism = changed.document, changed.mechanism
    if not mechanism.exact and (document.release is None or document.release.sampler != "float"):
        return 'drawn in floating point, which release.sampler = "float" would allow'
    delta, accept = document.vectors.delta, document.accept
    if accept is not None and accept.reidentified is not None:
        return "; ".join(failed_limits(changed))
    mine, theirs = scenario.mechanism.xi(0.5, delta), mechanism.xi(0.5, delta)
    if theirs > mine * 1.001:  # calibrated anew
        return (
            f"users 90° apart are told apart by {in_nats(theirs)}, in this file by {mine:.4g}; [accept] "
            "reidentified with vectors.known would allow it up to a share of people"
        )
    return "" if accept is None else "; ".join(failed_limits(changed))


def _compared(scenario: VectorsScenario, refused: str) -> str:
    """What one design tells about far pairs and people, and what it is charged."""
    mechanism, delta = scenario.mechanism, scenario.document.vectors.delta
    known = scenario.known
    traced = ""
    if known is not None:
        traced = f"{in_percent(mechanism.threat(known.rows).value)} of known people traced back, "
    left = f"; left out: {refused}." if refused else "."
    return (
        f"{mechanism.kind} with {scenario.hashing.bits} bits: {in_nats(mechanism.xi(0.5, delta))} at 90°, "
        f"{traced}charged {in_nats(float(mechanism.worst()))} a release{left}"
    )


def _designed_bits(scenario: VectorsScenario, xi: float, told: dict[str, Any]) -> VectorsAnswer:
    """The number of bits of lsh-response, which goes with every hash."""
    model, hashing = scenario.document.vectors, scenario.hashing
    if not hashing.independent:
        raise FileError(
            f'{scenario.source}: orthogonal planes have no account to design by; write planes = "gaussian"'
        )
    if hashing.values != 2:
        raise FileError(f"{scenario.source}: design is for bits; write values = 2 in the hash")
    here, near, far = (hashing.collision(d) for d in (model.distance, NEAR, FAR))
    found = choose_bits(here, xi, model.delta, near, far)
    place = found.tried.index(found.bits)
    level = float(f"{float(found.eps[place]) * (1 - 1e-9):.9g}")
    chosen = scenario.with_mechanism(found.bits, kind="lsh-response", eps=level)
    certificate, why = promise(chosen)
    return VectorsAnswer(
        "design",
        scenario.title,
        f"At the same promise, {in_nats(xi)} at distance {model.distance:g}, lsh-response with {found.bits} "
        f"bits and eps = {level:.4g} ranks a user at distance {NEAR:g} before one at {FAR:g} most often, "
        f"{in_percent(float(found.success.max()))}.",
        {"mechanism": "lsh-response", "bits": found.bits, "level": level, "xi": xi, "tried": found.to_dict()},
        tuple(
            f"{n} bits: eps = {eps:.4g}, a near user before a far one {in_percent(p)} of times."
            for n, eps, p in zip(found.tried, found.eps.tolist(), found.success.tolist(), strict=True)
        ),
        curve=tuple(zip(map(float, found.tried), found.success.tolist(), strict=True)),
        axis="bits of a code",
        certificate=certificate,
        unproved=why,
        told=told,
        chosen=chosen,
    )
