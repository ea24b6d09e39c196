"""A policy in plain words: who has which values, what may not be told, what everybody knows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from sievert.errors import TooLargeError
from sievert.numerics import abbreviated, number
from sievert.spaces import DatabaseGraph, shown, worded
from sievert.spaces.secrets import SecretGraph

if TYPE_CHECKING:
    from sievert.policies._policy import Policy

__all__ = ["neighbour_description", "promise_words", "short_list"]

LONGEST_SHOWN = 20


def neighbour_description(policy: Policy) -> str:
    """What the policy promises."""
    people = "One record with" if policy.records == 1 else f"{policy.records} records, each with"
    few = ", ".join(worded(value, str) for value in policy.values[:5])
    listed = few + (", …" if len(policy.values) > 5 else "")
    promise = (
        policy.secrets.describe()
        if isinstance(policy.secrets, SecretGraph)
        else "values are protected in proportion to their distance (far apart may be told apart)"
    )
    sentences = [f"{people} one of {len(policy.values)} values ({listed}): {promise}."]
    components = int(policy.secrets.component_of.max()) + 1
    if components == len(policy.values) > 1:
        sentences.append("Every value is a group of its own: no two are protected from being told apart.")
    elif components > 1:
        sentences.append(
            f"The values fall into {components} groups; which group a value is in is not protected."
        )
    if policy.constrained:
        sentences += _public_knowledge(policy)
    elif policy.records > 1:
        sentences.append(
            "Whoever knows all the other records must not learn the remaining one beyond the promise."
        )
    if policy.person_records > 1:
        sentences.append(f"Up to {policy.person_records} records may belong to one person.")
    return " ".join(sentences)


def _public_knowledge(policy: Policy) -> list[str]:
    """What is known, what that leaves, and whether adjacency is mutual where that has been found out."""
    known = policy._known
    sentences = [f"Everybody knows that {known.describe()}."]
    try:
        sentences.append(
            f"That leaves {known.count} possible {'database' if known.count == 1 else 'databases'}."
        )
    except TooLargeError:
        sentences.append("That leaves more possible databases than can be counted.")
    sentences.append("Possible databases with a smallest secret difference must not be told apart.")
    graph: DatabaseGraph | None = policy.__dict__.get("database_graph")
    if graph is None:
        return sentences
    ways = len(graph.one_way)
    if ways:
        sentences.append(
            f"{ways} of these pairs {'is' if ways == 1 else 'are'} one-way (the first differs minimally "
            "from the second, not the second from the first); they count in both directions, unless "
            "the directed adjacency is asked for."
        )
    else:
        sentences.append("Every such pair holds in both directions.")
    return sentences


def short_list(values: object) -> str:
    """A database in a message; of a long one only the beginning."""
    if isinstance(values, list | tuple) and len(values) > LONGEST_SHOWN:
        return f"({shown(values)}) of {len(values)} values"
    return abbreviated(values, worded)


def promise_words(policy: Policy, eps: Fraction, what: Literal["database", "value"], owned: int = 1) -> str:
    """What a mechanism of this ε promises for the policy, in one sentence.

    `what` is what it is applied to, and `owned` how many rows a person has at most.
    """
    if int(policy.secrets.component_of.max()) + 1 == len(policy.values) > 1 and not policy.constrained:
        return "Nothing is promised: by this policy any two values may be told apart."
    level = number(eps)
    scaled = not policy.hides_any_two and policy.absent is None
    distance, apart = ("·d", " at distance d") if scaled else ("", "")
    if what == "database" and not scaled:
        apart = " that the policy makes its neighbour"
    together = ""
    if owned > 1:
        together = f"; a person owns at most {owned} rows, together ε = {number(eps * owned)}"
    return (
        f"Any output is at most e^({level}{distance}) times as likely for one {what} as for another"
        f"{apart}{together}."
    )
