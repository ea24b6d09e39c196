"""What a release costs for the pairs that a ledger is about.

A policy says which two states of a person's records its ε is for; a ledger adds ε up for pairs of its own.
Where they differ, the release is charged the most that it tells about any pair of the ledger: noise on a
table by how far such a pair moves it, any other mechanism by how far apart the policy has it. What a release
does not bound is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import (
    JointNoise,
    QuantileNoise,
    law_from_data,
    law_to_data,
    rho_of_channel,
    rho_of_eps,
)
from sievert.errors import LedgerError, TooLargeError
from sievert.files import contents
from sievert.ledger import ADD_REMOVE, EPS, REPLACE, UNIT, Currency, Ledger, Relation, Share
from sievert.numerics import number
from sievert.policies import Policy, Statistic, cell_moves, joint_sensitivity
from sievert.release._budget_account import Cost, hash_of
from sievert.release._plan import Plan
from sievert.release._stable import Ids, has_places
from sievert.spaces import SecretGraph
from sievert.spaces.secrets import LARGEST_EDGES, ThresholdGraph

__all__ = [
    "charge",
    "compared",
    "cost",
    "moves_by_noise",
    "planned_pair",
    "relation_of",
    "require_small_delta",
    "slot_for",
]

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


def charge(plan: Plan, ledger: Ledger, ids: Ids | None = None) -> Cost:
    """What the release costs: a place that was drawn once is paid for once, and a slot is paid for.

    `ids` says how many ids of the data have no place yet; without it, as if none were new.
    """
    require_small_delta(plan, ledger)
    found = cost(plan, ledger.relation, ledger.budget.currency)
    if plan.stable_mark is not None and _is_paid(plan, ledger, ids):
        return replace(found, amount=Fraction(0))
    return replace(found, plan=slot_for(plan, ledger))


def _is_paid(plan: Plan, ledger: Ledger, ids: Ids | None) -> bool:
    """Whether every place of a release was drawn before, or is a newcomer's in a period that is charged."""
    periods = ledger.totals.marks.get(str(plan.stable_mark))
    if periods is None or not has_places(ledger):
        return False
    if ids is None or not ids.new:
        return True
    return plan.period in periods and not ids.have_changed


def require_small_delta(plan: Plan, ledger: Ledger) -> None:
    """Refuse a δ at which whole records might be published."""
    budget, records = ledger.budget, plan.scenario.policy.records
    if budget.delta is not None and plan.central and budget.delta * records >= 1:
        raise LedgerError(
            f"{plan.budget_file.name}: delta is {number(budget.delta)} and there may be {records} records; a "
            f"δ of 1/records or more lets whole records be published: use less than {1 / records:.3g}"
        )


def cost(plan: Plan, relation: Relation | None, currency: Currency = EPS) -> Cost:
    """What the release costs each person for the pairs of a ledger; None: of a ledger that states none."""
    pairs = _pairs(plan, relation)
    return replace(_cost(plan, pairs, currency), share=_share(plan, pairs, currency))


def _cost(plan: Plan, pairs: _Pairs, currency: Currency) -> Cost:
    if plan.several is not None:
        return _of_several(plan, plan.several, pairs, currency)
    if currency is EPS:
        eps = _in_eps(plan, pairs)
        return Cost(eps, eps, pairs.attained)
    known = None if plan.pure_eps is None else _in_eps(plan, pairs)
    return replace(_in_rho(plan, pairs, known), eps=known)


def _share(plan: Plan, pairs: _Pairs, currency: Currency) -> Share:
    """Where the data say whose row it is, a person was checked to own no more; else the charge may grow.

    Rows that are drawn one by one add up, records of one table are a group (Bun and Steinke, Prop 1.9).
    """
    if plan.data.person is not None:
        return Share(pairs.owned, 0)
    return Share(pairs.owned, 1 if currency is EPS or not plan.central else 2)


@dataclass(frozen=True)
class _Pairs:
    """Which pairs a release is charged for.

    Attributes
    ----------
    owned : how many records of one person differ
    everyone : any two values, though the policy joins fewer
    attained : the pair that changes the table most
    """

    owned: int
    everyone: bool = False
    attained: tuple[Hashable, Hashable] | None = None


def _pairs(plan: Plan, relation: Relation | None) -> _Pairs:
    """The pairs of a ledger, seen from the release; refused where it does not bound them."""
    attained = None if plan.sensitivity is None else plan.sensitivity.pair
    own = relation_of(plan)
    if relation is None or own.unit != relation.unit or (own.is_places and relation.is_places):
        return _Pairs(plan.owned, False, attained)  # another unit is refused by the ledger
    # Without a column that says whose row it is, nobody has seen that a person owns fewer than elsewhere.
    owned = plan.owned if plan.data.person is not None else max(plan.owned, relation.person_records)
    if own.same_pairs(relation):
        return _Pairs(owned, False, attained)
    if own.is_any_two and relation.is_joined and _values_mark(plan) == relation.values:
        return _Pairs(owned, False, attained)  # any two values, so those that are joined as well
    if relation.is_any_two and own.reaches_any_two:
        if plan.noise is not None and plan.table is not None:
            policy, table = compared(plan, True)
            attained = table.sensitivity(policy, absence=plan.domain().drops).pair
        return _Pairs(owned, True, attained)
    raise _refusal(own, relation)


def _refusal(own: Relation, relation: Relation) -> LedgerError:
    return LedgerError(
        f"the ledger adds up what is learned about {relation.words}, and this release promises nothing for "
        f"those: its ε is about {own.words}; charge it to another ledger, or open one for both "
        '(relation = "replace" in the budget file)'
    )


def compared(plan: Plan, everyone: bool) -> tuple[Policy, Statistic]:
    """The policy whose neighbours are compared, and the table over its values."""
    policy, table = plan.scenario.policy, plan.table
    assert table is not None
    if not everyone:
        return policy, table
    present = [i for i, value in enumerate(policy.values) if value != policy.absent or policy.absent is None]
    shown = replace(table, cell_of=table.cell_of[present], amount=table.amount[present])
    return Policy.differential([policy.values[i] for i in present], 1), shown


def _in_eps(plan: Plan, pairs: _Pairs) -> Fraction:
    """ε for the pairs of a ledger."""
    if not pairs.everyone:
        return plan.unit_eps * pairs.owned
    if plan.noise is not None and plan.table is not None and plan.sensitivity is not None:
        policy, table = compared(plan, True)
        return plan.noise.eps_of(table.sensitivity(policy, absence=plan.domain().drops)) * pairs.owned
    return plan.unit_eps * _largest_distance(plan.scenario.policy, relation_of(plan)) * pairs.owned


def _of_several(plan: Plan, noise: JointNoise, pairs: _Pairs, currency: Currency) -> Cost:
    """The worst pair over all tables together, in the currency of the ledger."""
    seen = _several_compared(plan, noise, pairs.everyone)
    eps = seen.largest(in_rho=False, multiple=pairs.owned) if noise.keeps_eps else None
    if currency is EPS:
        if eps is None:
            return Cost(plan.unit_eps, None)  # refused: it keeps no ε
        return Cost(eps.cost, eps.cost, eps.pair)
    found = seen.largest(in_rho=True, multiple=pairs.owned)
    return Cost(found.cost, None if eps is None else eps.cost, found.pair)


def _several_compared(plan: Plan, noise: JointNoise, everyone: bool) -> JointNoise:
    """The noise of several tables, over the values whose pairs are compared."""
    if not everyone:
        return noise
    policy = plan.scenario.policy
    present = np.array([i for i, value in enumerate(policy.values) if i or policy.absent is None])
    anybody = Policy.differential([policy.values[int(i)] for i in present], 1)
    return noise.among(anybody, present, plan.domain().drops)


def _in_rho(plan: Plan, pairs: _Pairs, eps: Fraction | None) -> Cost:
    """ρ for the pairs of a ledger, with the pair that attains it where noise is on a table."""
    if plan.places is not None:
        raise LedgerError(
            "places have their ε for each metre, and a ledger in ρ adds up what is about records; name a "
            "ledger in ε (person = … in its budget file)"
        )
    if plan.noise is not None and plan.table is not None:
        return _noisy_rho(plan, pairs)
    return Cost(_listed_rho(plan, pairs, eps), eps, pairs.attained)


def _noisy_rho(plan: Plan, pairs: _Pairs) -> Cost:
    """Cells add, and m records that move alike are worst: ρ is convex in the steps."""
    assert plan.noise is not None
    policy, table = compared(plan, pairs.everyone)
    law, drops = plan.noise.law, plan.domain().drops
    any_two = policy.absent is not None or policy.hides_any_two
    found = joint_sensitivity(
        policy,
        [table],
        [law.rho_of],
        absence=drops and any_two,
        multiple=pairs.owned,
        power=2 if policy.is_metric else 1,
    )
    if drops and not any_two:  # a row that is left out moves its cell alone
        place = int(np.abs(table.amount).argmax())
        alone = law.rho_of(int(abs(table.amount[place])) * pairs.owned)
        if alone > found.cost:
            return Cost(alone, None, (policy.values[place], "left out"))
    return Cost(found.cost, None, found.pair)


def _listed_rho(plan: Plan, pairs: _Pairs, eps: Fraction | None) -> Fraction:
    """Of a channel on a list: rows of a person are drawn independently, records of one table are a group."""
    apart = Fraction(1)
    if pairs.everyone:
        apart = _largest_distance(plan.scenario.policy, relation_of(plan))
    found = [] if eps is None else [rho_of_eps(eps)]
    with suppress(TooLargeError):
        once = rho_of_channel(plan.channel, plan.scenario.answers) * apart**2
        # Bun and Steinke, Prop 1.9: in a group ρ grows with the square.
        found.append(once * pairs.owned ** (2 if plan.central else 1))
    if not plan.central and plan.pure_eps is not None:
        found.append(rho_of_eps(plan.unit_eps * apart) * pairs.owned)
    return min(found)


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


# ── Slots of a plan: paid for beforehand, for any query with the same noise and no larger moves ─────────────


def slot_for(plan: Plan, ledger: Ledger) -> str | None:
    """The first plan of the ledger with a free slot that takes the release; None where there is none."""
    open_plans = [found for found in ledger.plans if found.free and found.record["unit"] == plan.unit]
    if not open_plans or plan.stable_mark is not None:
        return None
    pair = planned_pair(plan, ledger.relation)
    limited = set(plan.columns) & set(ledger.budget.columns)
    own = _share(plan, _pairs(plan, ledger.relation), ledger.budget.currency)
    for found in open_plans:
        paid = ledger.totals.share_of(found.record)
        if own.grows and not paid.grows:
            continue  # it has paid for as many records of a person as were counted, and here they are not
        if "mark" in pair and own.records > paid.records:
            continue  # moves say for how many records of a person they are, the name of a mechanism does not
        if limited <= set(found.columns) and _fits(pair, found.record["pair"]):
            return found.id
    return None


def planned_pair(plan: Plan, relation: Relation | None) -> dict[str, Any]:
    """What a plan fixes: the noise and the largest moves, or else the whole mechanism."""
    pairs = _pairs(plan, relation)
    policy = plan.scenario.policy
    if plan.several is not None and not (policy.constrained or policy.is_metric):
        return _several_pair(_several_compared(plan, plan.several, pairs.everyone), pairs.owned)
    if plan.noise is None or plan.table is None or policy.constrained or policy.is_metric:
        document = plan.scenario.document
        text = document.model_dump_json(include={"policy", "query", "mechanism"})
        return {"mark": hash_of(text, *contents([document.policy, document.mechanism], plan.scenario.folder))}
    moves = {move.steps for move in cell_moves(*compared(plan, pairs.everyone), absence=plan.domain().drops)}
    largest = sorted([pairs.owned * step for step in steps] for steps in moves)
    return {"noise": law_to_data(plan.noise.law), "moves": largest}


def _several_pair(noise: JointNoise, owned: int) -> dict[str, Any]:
    """Cells of several tables by their noise: of each the moves of all tables that have it, largest first.

    Quantiles stand for binary response of their ε; `above` says that what is planned is only above them.
    """
    found: list[dict[str, Any]] = []
    rows: list[list[list[int]]] = []
    for move in noise.moves:
        cells: dict[int, list[int]] = {}
        for law, steps in noise.cells(move, owned):
            data = law_to_data(law)
            if data not in found:
                found.append(data)
            cells.setdefault(found.index(data), []).append(steps)
        rows.append([sorted(cells.get(place, []), reverse=True) for place in range(len(found))])
    widened = sorted([*row, *([[]] * (len(found) - len(row)))] for row in rows)
    above: dict[str, Any] = {}
    if any(isinstance(part, QuantileNoise) for part in noise.parts) or any(
        move.pair is None for move in noise.moves
    ):
        above = {"above": True}
    if len(found) == 1:
        return {"noise": found[0], "moves": [row[0] for row in widened], **above}
    return {"noises": found, "moves": widened, **above}


def _fits(pair: dict[str, Any], planned: dict[str, Any]) -> bool:
    """Whether a slot takes a release: the same noise, and every move within a planned one, cell by cell."""
    if "moves" not in pair or "moves" not in planned:
        return pair == planned
    noises, most = moves_by_noise(planned)
    own, moves = moves_by_noise(pair)
    if any(noise not in noises for noise in own):
        return False
    # Every move with the noises in the plan's order.
    aligned = [[move[own.index(noise)] if noise in own else [] for noise in noises] for move in moves]
    if not all(law_from_data(noise).is_log_concave for noise in own):  # a larger move need not tell more
        return all(move in most for move in aligned)
    return all(any(all(map(_within, move, one)) for one in most) for move in aligned)


def moves_by_noise(pair: dict[str, Any]) -> tuple[list[dict[str, Any]], list[list[list[int]]]]:
    """What a plan fixes, as several tables: its noises, and for every move the steps of each."""
    if "noises" in pair:
        return pair["noises"], pair["moves"]
    return [pair["noise"]], [[move] for move in pair["moves"]]


def _within(move: list[int], most: list[int]) -> bool:
    """Whether moves, both sorted by size, are no larger cell by cell."""
    return len(move) <= len(most) and all(a <= b for a, b in zip(move, most, strict=False))


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
