"""Explain what mechanisms of other libraries promise: OpenDP's measurements, dp-accounting's events.

An event says what is done, an accountant under which relation of neighbours it is counted: a person added or
removed, a person replaced by a special empty record, or one record replaced by another. Under the first two
the person's value is two steps away from another value (`ReplacementClaim`).

Neither library is needed by anything else; they are looked at only when one of their objects is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from sievert.errors import MechanismError
from sievert.limits._explain import Explanation
from sievert.limits._measurements import (
    QUESTIONS,
    explain_about,
    explain_opendp,
    limited,
    require_once,
)
from sievert.limits._replacement import ReplacementClaim
from sievert.limits.promises import (
    Claim,
    GaussianClaim,
    ProfileClaim,
    ZeroConcentratedClaim,
    checked_releases,
)
from sievert.numerics import abbreviated, choice

__all__ = ["explain_dp_accounting", "explain_opendp"]


def __dir__() -> list[str]:
    return sorted(__all__)


RELATIONS = ("add-remove", "replace")
# Events whose parameters speak of one record replaced by another; other noise is relative to one record.
REPLACED = ("RandomizedResponseDpEvent", "SampledWithoutReplacementDpEvent", "ZCDpEvent")
ALWAYS = ("NoOpDpEvent", "NonPrivateDpEvent")
# Randomised responses among other events that are composed one at a time: PLDAccountant of dp-accounting
# 0.6.0 counts a repeated randomised response once.
MOST_SINGLY = 64


def explain_dp_accounting(
    event_or_pld: object,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    *,
    releases: int = 1,
    about: str = "value",
    relation: str | None = None,
) -> Explanation:
    """What an event, a loss distribution or an accountant of dp-accounting promises one person.

    Parameters
    ----------
    event_or_pld : a DpEvent, a PrivacyLossDistribution or an accountant
    values, prior, releases : as for `sv.explain`
    about : "value", which value the person has, or "presence", whether the person is in the data at all
    relation : "add-remove" or "replace", what a loss distribution was computed for, which it does not say
        (add-remove unless stated, which is the safe reading); events and accountants say it themselves

    Returns
    -------
    Explanation

    Notes
    -----
    The loss distribution is pessimistic, so the explanation is an upper bound up to its discretisation.

    Cost: that of composing the event in dp-accounting, and of `sv.explain`.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> import sievert as sv
    >>> round(sv.adapters.explain_dp_accounting(dp_event.GaussianDpEvent(2.0), about="presence").after, 6)
    0.598706
    """
    choice("about", about, QUESTIONS, MechanismError)
    claim = claim_of_event(event_or_pld, releases, about=about, relation=relation)
    return explain_about(claim, about, values, prior)


def claim_of_event(
    given: Any, releases: int = 1, *, about: str = "value", relation: str | None = None
) -> Claim:
    """What an event, a loss distribution or an accountant promises about a value, or about presence."""
    count = checked_releases(releases)
    if relation is not None:
        choice("relation", relation, RELATIONS, MechanismError)
    if hasattr(given, "get_delta_for_epsilon"):
        composed = given if count == 1 else given.self_compose(count)
        profile = limited(composed.get_delta_for_epsilon)
        claim: Claim = ProfileClaim(profile, "a privacy loss distribution", releases=count)
        return _about(claim, relation == "replace", about)
    if relation is not None:
        raise MechanismError(
            f"relation is {abbreviated(relation)}; it goes with a loss distribution, while "
            f"{type(given).__name__} says itself which databases are neighbours"
        )
    if hasattr(given, "get_delta") and hasattr(given, "compose"):
        require_once(count, "an accountant")
        return _about(*_of_accountant(given), about)
    accounting = _dp_accounting()
    if not isinstance(given, accounting.DpEvent):
        raise MechanismError(
            f"event_or_pld is {abbreviated(given)}; give a DpEvent, a loss distribution or an accountant"
        )
    return _about(*_of_event(accounting, given, count), about)


def _dp_accounting() -> Any:
    try:
        return import_module("dp_accounting")
    except ImportError:
        raise MechanismError(
            "event_or_pld needs the package dp-accounting, which is not installed; install it, or give eps "
            "and delta to sv.explain"
        ) from None


def _about(claim: Claim, replaces: bool, about: str) -> Claim:
    """The claim about a value or about presence, from one about records replaced or removed."""
    if about == "value":
        return claim if replaces else ReplacementClaim(claim, claim.of_group(2))
    if replaces:
        raise MechanismError(
            'about is "presence", but the promise is about one record replaced by another: nobody is absent; '
            'ask about="value"'
        )
    return claim


def _leaves(event: Any, times: int) -> Iterator[tuple[Any, int]]:
    """The events of a composition, and how often each."""
    name = type(event).__name__
    if name == "SelfComposedDpEvent":
        yield from _leaves(event.event, times * event.count)
    elif name == "ComposedDpEvent":
        for part in event.events:
            yield from _leaves(part, times)
    elif name != "NoOpDpEvent":
        yield event, times


def _of_event(accounting: Any, event: Any, count: int) -> tuple[Claim, bool]:
    """The claim of an event, and whether it is about one record replaced by another."""
    leaves = list(_leaves(event, 1))
    names = {type(leaf).__name__ for leaf, _ in leaves}
    source = f"{type(event).__name__} of dp-accounting"
    if not leaves:
        return ZeroConcentratedClaim(0.0, count), True
    if names == {"GaussianDpEvent"}:
        return _of_gaussians(leaves, count), False
    if names == {"ZCDpEvent"} and all(leaf.xi == 0 for leaf, _ in leaves):
        return ZeroConcentratedClaim(math.fsum(leaf.rho * times for leaf, times in leaves), count), False
    if names == {"RandomizedResponseDpEvent"}:
        return _of_responses(leaves, source, count), True
    accountant, replaces = _accountant(accounting, event, leaves, count)
    return ProfileClaim(limited(accountant.get_delta), source, releases=count), replaces


def _of_gaussians(leaves: list[tuple[Any, int]], count: int) -> GaussianClaim:
    """Gaussians compose as one: squares of the distances in deviations add up."""
    scales = [(float(leaf.noise_multiplier), times) for leaf, times in leaves]
    if any(not sigma >= 0 for sigma, _ in scales):
        raise MechanismError("event_or_pld has a noise multiplier below 0; it must be a number ≥ 0")
    if len(scales) == 1 and scales[0][1] == 1:
        return GaussianClaim(scales[0][0], 1.0, count)
    if any(sigma == 0 for sigma, _ in scales):
        return GaussianClaim(0.0, 1.0, count)
    return GaussianClaim(1 / math.sqrt(math.fsum(times / sigma**2 for sigma, times in scales)), 1.0, count)


def _of_responses(leaves: list[tuple[Any, int]], source: str, count: int) -> ProfileClaim:
    distributions = import_module("dp_accounting.pld.privacy_loss_distribution")
    total = distributions.identity()
    for leaf, times in leaves:
        if leaf.noise_parameter == 0 and leaf.num_buckets > 1:
            return ProfileClaim(lambda eps: 1.0, source, releases=count)
        if leaf.num_buckets > 1:
            one = distributions.from_randomized_response(leaf.noise_parameter, leaf.num_buckets)
            total = total.compose(one.self_compose(times * count))
    return ProfileClaim(limited(total.get_delta_for_epsilon), source, releases=count)


def _accountant(accounting: Any, event: Any, leaves: list[tuple[Any, int]], count: int) -> tuple[Any, bool]:
    """The first accountant and relation that understand the event; and whether it counts replacements."""
    relations = accounting.NeighboringRelation
    by_loss, by_order = import_module("dp_accounting.pld"), import_module("dp_accounting.rdp")
    kinds = (by_loss.PLDAccountant, by_order.RdpAccountant)
    problem: object = "no accountant understands it"
    for relation in (relations.ADD_OR_REMOVE_ONE, relations.REPLACE_SPECIAL, relations.REPLACE_ONE):
        for kind in kinds:
            accountant = kind(neighboring_relation=relation)
            if accountant.supports(event) and _composable(accountant, leaves, count):
                try:
                    _compose(accountant, leaves, count)
                except Exception as refusal:
                    problem = refusal
                    continue
                return accountant, _replaces(accountant, leaves)
    raise MechanismError(f"event_or_pld is {abbreviated(event)}, which dp-accounting refuses: {problem}")


def _composable(accountant: Any, leaves: list[tuple[Any, int]], count: int) -> bool:
    return not _counts_once(accountant) or count * _responses(leaves) <= MOST_SINGLY


def _compose(accountant: Any, leaves: list[tuple[Any, int]], count: int) -> None:
    for leaf, times in leaves:
        if _counts_once(accountant) and type(leaf).__name__ == "RandomizedResponseDpEvent":
            for _ in range(times * count):
                accountant.compose(leaf)
        else:
            accountant.compose(leaf, times * count)


def _counts_once(accountant: Any) -> bool:
    return type(accountant).__name__ == "PLDAccountant"


def _responses(leaves: list[tuple[Any, int]]) -> int:
    return sum(times for leaf, times in leaves if type(leaf).__name__ == "RandomizedResponseDpEvent")


def _replaces(accountant: Any, leaves: list[tuple[Any, int]]) -> bool:
    """Whether the accountant counts one record replaced by another.

    PLDAccountant does under REPLACE_ONE. RdpAccountant then still takes noise to be relative to one record,
    not to the difference of two, unless the event itself speaks of replacements.
    """
    if accountant.neighboring_relation.name != "REPLACE_ONE":
        return False
    known = (*REPLACED, *ALWAYS)
    return type(accountant).__name__ == "PLDAccountant" or all(
        type(leaf).__name__ in known for leaf, _ in leaves
    )


def _of_accountant(accountant: Any) -> tuple[Claim, bool]:
    """The curve of an accountant, and whether it is about one record replaced by another."""
    leaves = list(_leaves(accountant.ledger, 1))
    if _counts_once(accountant) and _responses(leaves) > sum(
        type(leaf).__name__ == "RandomizedResponseDpEvent" for leaf, _ in leaves
    ):
        raise MechanismError(
            "event_or_pld is a PLDAccountant with a repeated randomised response, which dp-accounting counts "
            "once; give its ledger (accountant.ledger), where every one is counted"
        )
    claim = ProfileClaim(limited(accountant.get_delta), "a dp-accounting accountant")
    return claim, _replaces(accountant, leaves)
