"""What a release costs for the pairs that a ledger is about.

A policy says which two states of a person's records its ε is for; a ledger adds ε up for pairs of its own.
Where they differ, the release is charged the most that it tells about any pair of the ledger: noise on a
table by how far such a pair moves it, any other mechanism by how far apart the policy has it. What a release
does not bound is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sievert.errors import LedgerError
from sievert.ledger import ADD_REMOVE, REPLACE, UNIT, Ledger, Relation
from sievert.policies import Policy
from sievert.release._local import has_places
from sievert.release._plan import Plan
from sievert.spaces import SecretGraph
from sievert.spaces.secrets import LARGEST_EDGES, ThresholdGraph

__all__ = ["charge", "cost", "relation_of"]

# Distances between this many values are listed to find the largest.
LARGEST_LISTED = 4000


def relation_of(plan: Plan) -> Relation:
    """The pairs that a release's own ε is about."""
    if plan.places is not None:
        return Relation("places", "two places of one person, by their distance", "metre")
    policy = plan.scenario.policy
    owned = plan.owned
    if policy.is_metric:
        words = f"two values of one person's records, by their distance ({len(policy.values)} values)"
        return _marked("metric", words, "unit of distance", policy, owned)
    if policy.constrained:
        return _marked("constrained", "databases adjacent under the public knowledge", UNIT, policy, owned)
    if policy.absent is not None:
        return replace(ADD_REMOVE, person_records=owned)
    if policy.hides_any_two:
        return replace(REPLACE, person_records=owned)
    assert isinstance(policy.secrets, SecretGraph)
    words = f"values of one person's records that are joined by the secrets ({policy.secrets.describe()})"
    return _marked("graph", words, UNIT, policy, owned)


def charge(plan: Plan, ledger: Ledger) -> Fraction:
    """What the release costs: a place that was drawn once for each person is paid for once."""
    mark = plan.stable_mark
    paid = mark is not None and any(entry.record.get("stable") == mark for entry in ledger.entries)
    return Fraction(0) if paid and has_places(ledger) else cost(plan, ledger.relation)


def cost(plan: Plan, relation: Relation | None) -> Fraction:
    """What the release costs each person for the pairs of a ledger; None: of a ledger that states none."""
    if relation is None:
        return plan.eps
    own = relation_of(plan)
    if own.unit != relation.unit:
        return plan.eps  # refused by the ledger, which knows the units
    if own.is_places and relation.is_places:
        return plan.eps
    # Without a column that says whose row it is, nobody has seen that a person owns fewer than elsewhere.
    owned = plan.owned if plan.data.person is not None else max(plan.owned, relation.person_records)
    if own.same_pairs(relation):
        return plan.unit_eps * owned
    if own.is_any_two and relation.is_joined and _values_mark(plan) == relation.values:
        return plan.unit_eps * owned  # any two values, so those that are joined as well
    if relation.is_any_two and own.reaches_any_two:
        return _for_any_two(plan, own) * owned
    raise _refusal(own, relation)


def _refusal(own: Relation, relation: Relation) -> LedgerError:
    return LedgerError(
        f"the ledger adds up what is learned about {relation.words}, and this release promises nothing for "
        f"those: its ε is about {own.words}; charge it to another ledger, or open one for both "
        '(relation = "replace" in the budget file)'
    )


def _for_any_two(plan: Plan, own: Relation) -> Fraction:
    """ε of one record for any two of its values."""
    policy, noise, table, found = plan.scenario.policy, plan.noise, plan.table, plan.sensitivity
    if noise is not None and table is not None and found is not None:
        present = [
            i for i, value in enumerate(policy.values) if value != policy.absent or policy.absent is None
        ]
        shown = replace(table, cell_of=table.cell_of[present], amount=table.amount[present])
        everyone = Policy.differential([policy.values[i] for i in present], 1)
        return noise.eps_of(shown.sensitivity(everyone, absence=plan.domain().drops))
    return plan.unit_eps * _largest_distance(policy, own)


def _largest_distance(policy: Policy, own: Relation) -> Fraction:
    """How far apart two values of the policy are at most."""
    known = policy.secrets.diameter() if isinstance(policy.secrets, SecretGraph) else None
    if known is not None:
        return Fraction(known)
    if len(policy.values) <= LARGEST_LISTED:
        largest = float(policy.record_metric.matrix.max())
        if np.isfinite(largest):
            return Fraction(largest)
    raise _refusal(own, REPLACE)


def _marked(kind: str, words: str, unit: str, policy: Policy, owned: int) -> Relation:
    digest = hashlib.sha256(
        repr((kind, tuple(policy.values), 0 if not policy.constrained else policy.records)).encode()
    )
    if policy.constrained:
        digest.update(np.ascontiguousarray(policy.permitted_databases.rows, dtype=np.int64).tobytes())
    secrets = policy.secrets
    if isinstance(secrets, ThresholdGraph) and secrets.reach.pair_count > LARGEST_EDGES:
        digest.update(np.stack([secrets.reach.order, secrets.reach.ends]).astype(np.int64).tobytes())
    else:
        edges = policy.record_edges
        digest.update(np.ascontiguousarray(edges.pairs, dtype=np.int64).tobytes())
        digest.update(np.ascontiguousarray(edges.lengths, dtype=np.float64).tobytes())
    return Relation(kind, words, unit, _digest(policy.values), digest.hexdigest(), owned)


def _values_mark(plan: Plan) -> str:
    return _digest(plan.scenario.policy.values)


def _digest(values: Iterable[Hashable]) -> str:
    listed = sorted(map(repr, values))
    return hashlib.sha256("\0".join(listed).encode()).hexdigest()
