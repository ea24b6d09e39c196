"""What lies beside a released table: what was done, how, and what it promises; never a true value.

Nothing here is computed from the data. In particular there is no fingerprint of the input and no number of
rows that were left out: both would answer questions about the data exactly. What is cut off to fit is said,
values of the data before they are added up and noisy numbers after: clamping costs nothing, but it moves
numbers, and whoever reads a released table has to know.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from functools import singledispatch
from typing import Any, Literal

import numpy as np
import scipy

from sievert.channels import Channel, JointNoise, PlanarNoise, TableNoise
from sievert.files import UseValue
from sievert.mechanisms import PixelatedLaplaceChannel
from sievert.numerics import at_most, number
from sievert.policies import promise_words
from sievert.questions import joint_cost
from sievert.release._acceptance import acceptance, broken_claim
from sievert.release._plan import Plan
from sievert.release._release_proof import noise_proof
from sievert.results import package_version, plain

__all__ = ["clamping", "note", "promise", "sidecar"]

FORMAT = "sievert release 1"


def sidecar(
    plan: Plan, name: str, output: str, sampler: dict[str, Any], output_hash: str, head: str | None
) -> dict[str, Any]:
    """Everything a reader of the released table may know; `head` is None where no ledger adds it up."""
    scenario, rules = plan.scenario, plan.rules
    errors = plan.errors
    return {
        "format": FORMAT,
        "id": name,
        "title": scenario.title,
        "output": {"file": output, "sha256": output_hash},
        "policy": policy_words(plan),
        "query": query_words(plan),
        "mechanism": {"words": plan.words, **sampler},
        "eps": _eps(plan),
        **({} if plan.several is None else {"tables": _tables(plan)}),
        "noise": {
            "sd": errors.sd,
            **_parameter(plan),
            "expected_error": errors.mean,
            "interval_radius": plain(errors.radius),
            "confidence": rules.confidence,
        },
        "promise": promise(plan),
        "clamping": clamping(plan),
        "accept": [*_claim(plan), *({"limit": str(c), "holds": c.passed} for c in acceptance(plan))],
        "treatment": rules.model_dump(include={"missing", "unknown", "out_of_range", "off_grid", "too_many"}),
        "proof": proof(plan.channel, plan),
        "ledger": None if head is None else {"head_when_charged": head},
        "versions": {
            "sievert": package_version(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "file": scenario.to_toml(),
    }


def _tables(plan: Plan) -> list[dict[str, Any]]:
    """What is known of every one of several tables."""
    found = joint_cost(plan.channel, plan.scenario)
    return [] if found is None else [table.to_dict() for table in found.tables]


def _eps(plan: Plan) -> dict[str, Any] | None:
    """What the release costs; None where its noise keeps no ε."""
    if plan.pure_eps is None:
        return None
    return {"exact": str(plan.eps), "nats": float(plan.eps), "for_one_record": str(plan.unit_eps)}


def _claim(plan: Plan) -> list[dict[str, Any]]:
    """A [claim] that does not hold, beside the limits that the release may exceed."""
    broken = broken_claim(plan)
    return [] if broken is None else [{"limit": broken, "holds": False}]


def _parameter(plan: Plan) -> dict[str, str]:
    """The noise's own parameter and what it is for."""
    if plan.noise is None:
        return {}
    name, level = plan.noise.written
    return {f"{name}_of_step": str(level), "step": str(plan.noise.statistic.step)}


def policy_words(plan: Plan) -> str:
    """What is protected."""
    if plan.places is not None:
        region = plan.places.region
        least, greatest = region.distortion
        stretch = max(abs(least - 1), abs(greatest - 1))
        return (
            f"Places in the rectangle from {region.south}, {region.west} to {region.north}, {region.east}, "
            f"in {region.shape[0]} by {region.shape[1]} cells of {region.cell:g} m: two places are protected "
            "in proportion to the distance of their cells, measured in a transverse Mercator plane that "
            f"stretches distances on the ground by at most {at_most(stretch, 2)}."
        )
    return plan.scenario.policy.describe()


def query_words(plan: Plan) -> str:
    """What is released."""
    if plan.several is not None:
        return plan.scenario.query.words
    if plan.central:
        assert plan.table is not None
        return plan.table.words
    what = " and ".join(plan.columns)
    if plan.rules.stable:
        return f"{what} of each person, drawn once and repeated"
    return f"{what} of each row"


def promise(plan: Plan) -> str:
    """The guarantee in one sentence."""
    if plan.pure_eps is None:
        stated = plan.scenario.document.claim
        kept = "" if stated is None else f" It is held against its claim: {broken_claim(plan) or 'kept'}."
        why = "however large ε is, outputs far out in the tails of this noise exceed it"
        return f"No ε is promised: {why}.{kept}"
    eps = number(plan.unit_eps)
    if plan.places is not None:
        region = plan.places.region
        stretch, slack = (at_most(value, 6) for value in (region.stretch, region.diagonal))
        return (
            f"Any output is at most e^({eps}·d) times as likely for one cell as for another at a distance of "
            "d metres; for two places d metres apart on the ground, wherever in their cells they lie, at "
            f"most e^({eps}·({stretch}·d + {slack}))."
        )
    what: Literal["database", "value"] = "database" if plan.central else "value"
    return promise_words(plan.scenario.policy, plan.unit_eps, what, plan.owned)


@singledispatch
def proof(channel: Channel, plan: Plan) -> dict[str, Any]:
    """Why the promise holds, with the numbers to check it."""
    return _plain(channel, plan)


def _plain(channel: Channel, plan: Plan) -> dict[str, Any]:
    """The rows themselves, or a table that one record cannot change."""
    return {
        "theorem": "the channel's own rows, drawn exactly; `sievert audit` of the file shows its ε and where "
        "it is attained",
        "eps": str(plan.unit_eps),
    }


@proof.register
def _of_cells(noise: TableNoise, plan: Plan) -> dict[str, Any]:
    certificate = noise_proof(plan)
    if certificate is None or plan.sensitivity is None:
        return {"theorem": "none: no ε is large enough"} if plan.pure_eps is None else _plain(noise, plan)
    return {
        **certificate.to_dict(),
        "theorem": "noise of ε₀ for a step of the answer on a query of sensitivity s steps is "
        "s·ε₀-private (Fernandes, Lem 3.6); clamping is post-processing (Lem 3.3)",
        "sensitivity_steps": str(plan.sensitivity.steps),
        "attained_by": plain(plan.sensitivity.pair),
    }


@proof.register
def _of_several(noise: JointNoise, plan: Plan) -> dict[str, Any]:
    certificate = noise_proof(plan)
    joint = noise.charged
    return {
        **({} if certificate is None else certificate.to_dict()),
        "theorem": "independent noise adds up: together the tables cost the largest sum over one pair of "
        "neighbours (Fernandes, Lem 3.6, for each table)",
        "attained_by": plain(joint.pair),
        "costs": {name: str(cost) for name, cost in zip(noise.names, joint.parts, strict=True)},
    }


@proof.register
def _of_places(noise: PlanarNoise, plan: Plan) -> dict[str, Any]:
    return {
        "theorem": "on the whole lattice e^(-ε|z|) has the same normaliser for every input, so the ratio "
        "of two outputs is at most e^(ε·|x - x'|); clamping and remap are post-processing (Lem 3.3)",
        "eps_of_a_step": str(noise.level.exact_eps),
    }


def clamping(plan: Plan) -> list[str]:
    """Sentences for the reader of the release; none where every value and every noisy number is kept."""
    return [*_data(plan), *_noisy_numbers(plan)]


def note(plan: Plan) -> str:
    """The same in a few words, for a column of the released table."""
    words = [words for rule, words in _treatments(plan) if rule]
    if _limits(plan) is not None:
        low, high = _limits(plan)  # type: ignore[misc]
        words.append(f"noisy numbers cut off at {low} and {high}")
    return "; ".join(words)


def _treatments(plan: Plan) -> Iterator[tuple[bool, str]]:
    rules: Any = plan.rules
    what = "places outside the region" if plan.places is not None else "values out of range"
    yield rules.out_of_range == "clamp", f"{what} counted as the nearest one inside"
    yield rules.off_grid == "nearest", "values between two declared ones rounded to the nearer"
    yield any(isinstance(rule, UseValue) for rule in (rules.missing, rules.unknown)), "gaps filled in"
    words = f"of a person with more than {plan.owned} rows only so many counted, chosen at random"
    yield rules.too_many == "sample", words
    drops = (rules.missing, rules.unknown, rules.out_of_range, rules.off_grid)
    yield "drop" in drops, "rows that do not fit left out"


def _data(plan: Plan) -> Iterator[str]:
    """Intervals are for the table of the values as they were counted, not as they stand in the data."""
    changed = [words for rule, words in _treatments(plan) if rule]
    if changed and plan.central:
        yield (
            f"{_capital(', '.join(changed))}: low and high are for the table of what was counted, not of "
            "what stands in the data."
        )
        if plan.rules.too_many == "sample":
            yield (
                "The table estimates the rows of each person in every cell times the share of that person's "
                "rows that are counted: people with many rows weigh less than in the data."
            )
        return
    if plan.rules.out_of_range == "clamp":
        yield f"{_capital(changed[0])}, before noise is drawn."
    if plan.rules.off_grid == "nearest" and plan.places is None:
        yield from _rounded(plan.channel, plan)


@singledispatch
def _rounded(channel: Channel, plan: Plan) -> Iterator[str]:
    """What it costs that numbers are rounded to the nearest value."""
    yield "Numbers between two values are rounded to the nearer before noise is drawn: errors are from there."


@_rounded.register
def _rounded_to_pixels(channel: PixelatedLaplaceChannel, plan: Plan) -> Iterator[str]:
    from sievert.questions.interval import interval_facts

    facts = interval_facts(plan.scenario)
    yield from () if facts is None else facts.of_rounding()


def _noisy_numbers(plan: Plan) -> Iterator[str]:
    limits = _limits(plan)
    if limits is None:
        return
    sentence = f"Noisy numbers are cut off at {limits[0]} and {limits[1]}"
    noise = plan.noise
    if noise is not None and 0 < noise.law.mean_error < math.inf:
        # E max(0, Z) = E |Z|/2 steps for symmetric noise Z at an end of the range.
        bias = float(noise.statistic.step) * noise.law.mean_error / 2
        sentence += f", so a true {limits[0]} comes out {at_most(bias, 3)} too high on average"
        if plan.table is not None and len(plan.table.cells) > 1:
            sentence += ", in every empty cell, and totals over many cells too high"
    yield f'{sentence}; kind = "geometric" leaves them as they are, below 0 too.'


def _limits(plan: Plan) -> tuple[str, str] | None:
    """Where noisy numbers of a table are cut off."""
    noise, table = plan.noise, plan.table
    if not plan.central or table is None:
        return None
    if noise is not None:
        found = noise.limits
    else:
        added = plan.scenario.mechanism.added()
        if added is None or not added.clamps:
            return None
        found = table.range(plan.scenario.policy)
    return None if found is None else (number(found[0] * table.step), number(found[1] * table.step))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
