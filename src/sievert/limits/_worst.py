"""The most that any mechanism obeying a policy can leak, with the mechanism that does and the proof.

The ladder goes from closed forms to the exact linear program: symmetric spaces and non-negative weights
(the packing bound is then attained), trees, blocks over cut vertices, orbits of the symmetry group, rays.
Each connected component is solved on its own and the capacities add; an unconstrained policy is a product,
so it is solved on the secret graph and the bits are multiplied by the number of records. Where they need not
multiply, few databases are solved as one space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sievert.arrays import IndexArray
from sievert.channels import Channel
from sievert.errors import PolicyError
from sievert.limits._component_solvers import (
    LARGEST_CHANNEL,
    SMALL,
    ComponentSolution,
    covering,
    radius_cover,
    solve_component,
)
from sievert.limits._grids import Grid, GridBounds, grid_of
from sievert.limits._listed import MOST_DATABASES, databases_of
from sievert.limits._long_lines import ClosedBounds, closed_bounds
from sievert.limits._space import LARGEST_DENSE, IsomorphicComponents, Space, log_capacity, space_of, together
from sievert.limits._targets import Target
from sievert.limits.bounds import Bound, blowfish_bound, complete_capacity
from sievert.mechanisms import randomised_response
from sievert.numerics import abbreviated, flag, in_bits, log2_bounds, read_eps, tracked
from sievert.policies import Policy, target_of
from sievert.proofs import (
    PACKINGS,
    ClosedLeakageProof,
    DirectedProof,
    GroupsProof,
    MapLeakageProof,
    ProductLeakageProof,
    WorstLeakageProof,
)
from sievert.results import Result
from sievert.spaces import DatabaseGraph, Graph, Metric
from sievert.spaces.secrets import CompleteGraph

__all__ = [
    "WorstLeakage",
    "equally_apart",
    "finite_eps",
    "target_and_records",
    "worst_leakage",
    "worst_of_space",
]

LARGEST_EPS = 10**308
# The latest answers for each space that is still in use, by ε and number of records.
SOLVED: WeakKeyDictionary[Graph | Metric, dict[tuple[Fraction, int], WorstLeakage]] = WeakKeyDictionary()
MOST_SOLVED = 4
# The last answer about a large space, whose proof holds all pairs: several parts of a question ask for it.
LARGE: WeakKeyDictionary[Graph | Metric, tuple[Fraction, int, WorstLeakage]] = WeakKeyDictionary()

Certificate = (
    WorstLeakageProof
    | GroupsProof
    | DirectedProof
    | ProductLeakageProof
    | ClosedLeakageProof
    | MapLeakageProof
)
# Certified ends this close are one number to every digit anybody prints.
MEETS = 1e-8
LN2 = math.log(2)
LARGEST_EXPONENT = 600.0
# Beyond this many points a product is solved by its factors.
LARGEST_PLAIN = 60
GAP = "the solver's tolerance left a gap"


@dataclass(frozen=True)
class WorstLeakage(Result):
    """Bounds on what any ε-private mechanism leaks, and the exact maximum where it is known.

    Attributes
    ----------
    diameter : Σ over components of e^(ε·diameter) (Edwards et al., Thm 3)
    radius : the same with radii: never worse
    packing : the packing bound
    lower, upper : proved ends; `exact` is their common value when they meet, else None with a `reason`
    method : how the value was found
    mechanism : a channel that attains `lower` (None where it is too large to write down)
    certificate : the proof, which verifies without a solver
    records : how many records the bits were multiplied by
    """

    diameter: Bound
    radius: Bound
    packing: Bound
    lower: Bound
    upper: Bound
    exact: Bound | None
    method: str
    reason: str | None
    mechanism: Channel | None = field(repr=False, compare=False)
    certificate: Certificate | None = field(repr=False, compare=False)
    eps: float = 0.0
    records: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Bounds and words as plain data; mechanism and proof are saved on their own."""
        data = Result.to_dict(replace(self, mechanism=None, certificate=None))
        return {name: value for name, value in data.items() if name not in ("mechanism", "certificate")}

    def __float__(self) -> float:
        return self.upper.bits

    def __str__(self) -> str:
        if self.exact is not None:
            return f"at most {self.exact}, and some mechanism leaks exactly that ({self.method})"
        return (
            f"between {self.lower.bits:.6g} and {in_bits(self.upper.bits, 6)} ({self.method}); {self.reason}"
        )


def worst_leakage(
    policy_or_metric: Target,
    eps: float,
    prior: object = None,
    gain: object = None,
    individual: bool = False,
    outputs: int | None = None,
) -> WorstLeakage:
    """What any mechanism that obeys a policy could leak at worst.

    Parameters
    ----------
    policy_or_metric : Policy, Metric or Graph
        What the mechanism must respect; ``policy.adjacency(directed=True)`` for one-way pairs to the letter.
    eps : float
        ε in nats; decimals are read as written (0.1 is one tenth).
    prior : sequence, optional
        A known prior, in the order of ``policy.databases()``; by default the worst one (which is uniform).
    gain : gain function, optional
        What the adversary wants; by default the one-try guess.
    individual : bool
        About one record when all others are known, instead of the whole database.
    outputs : int, optional
        Mechanisms with at most this many outputs.

    Returns
    -------
    WorstLeakage
        Bounds by diameter, radius and packing, and the `exact` maximum where it is found, with a mechanism
        that reaches it and a `certificate`; `float(result)` is in bits.

    Notes
    -----
    ε = ∞ is allowed: anything may then be released. Trees, symmetric spaces and spaces with non-negative
    weights are solved up to thousands of points, others up to blocks of 60 or graphs of 150; beyond, the
    answer is an interval with its `reason`. A Cartesian product (a grid, a hypercube, a torus, whether it
    was made as one or is found to be one) is solved by its factors, whatever its size: capacities multiply
    as soon as all factors but one attain their packing bound. Several records are such a product; where a
    record does not attain its bound, up to 125 databases are solved as one space.

    Cost: a closed form for complete and vertex-transitive spaces; of a tree a linear program with two
    unknowns for each edge that symmetry does not exchange, and a proof that lists every edge; otherwise a
    linear program with a row for each pair of points.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(worst_leakage(metrics.cycle(5), 1))
    at most a factor of 2.49199, 1.31730 bits, and some mechanism leaks exactly that (non-negative weights: \
the packing bound is attained)
    """
    exact_eps = _eps(eps)
    individual = flag("individual", individual, PolicyError)
    special = [prior is not None or gain is not None, individual, outputs is not None]
    if sum(special) > 1:
        raise PolicyError("give one of prior/gain, individual and outputs at a time")
    target, records = target_and_records(policy_or_metric)
    if exact_eps is None:
        if special[0] or special[2]:
            raise PolicyError("eps is inf; with a prior, a gain or few outputs give a finite eps")
        return _unlimited(policy_or_metric, individual)
    if isinstance(policy_or_metric, DatabaseGraph) and policy_or_metric.directed:
        from sievert.limits._objectives import worst_directed

        if any(special):
            raise PolicyError(
                "the directed adjacency is bounded as a whole; with prior, gain, individual or outputs pass "
                "the policy, whose one-way pairs count in both directions"
            )
        return worst_directed(policy_or_metric, exact_eps)
    if special[0]:
        from sievert.limits._objectives import worst_gain

        return worst_gain(policy_or_metric, exact_eps, prior, gain)
    if outputs is not None:
        from sievert.limits._restricted import worst_with_outputs

        return worst_with_outputs(policy_or_metric, exact_eps, outputs)
    if individual and isinstance(policy_or_metric, Policy) and policy_or_metric.permitted is not None:
        from sievert.limits._restricted import worst_individual

        return worst_individual(policy_or_metric, exact_eps)
    if individual:
        # Unconstrained, the others known: the reachable databases are a copy of the secret graph.
        return _by_record(policy_or_metric, target, exact_eps, 1)
    found = _by_record(policy_or_metric, target, exact_eps, records)
    if found.exact is None and isinstance(policy_or_metric, Policy):
        return _by_database(policy_or_metric, found, exact_eps)
    return found


def _by_record(given: Target, target: Graph | Metric, eps: Fraction, records: int) -> WorstLeakage:
    """The space of one record (or of all databases, where it is theirs), by its form or solved."""
    apart = equally_apart(target)
    if apart is not None and target.size > LARGEST_DENSE:
        return _complete(target.size, eps, apart, records)
    if (grid := grid_of(target)) is not None:
        return _on_grid(grid, eps, records)
    if target.size > LARGEST_PLAIN and target.factors:
        from sievert.limits._products import worst_of_factors

        found = worst_of_factors(target, eps, records)
        whole = found.exact is None and records == 1 and target.size <= LARGEST_DENSE
        return _narrower(found, _solved(target, eps, 1, ())) if whole else found
    if target.size > LARGEST_DENSE and (closed := closed_bounds(target, eps)) is not None:
        return _by_form(closed, eps, records)
    if isinstance(given, Policy) and target.size > LARGEST_DENSE:
        return _solved_large(given, target, eps, records)
    return _solved(target, eps, records, given.exchanges if isinstance(given, Policy) else ())


def _by_database(policy: Policy, found: WorstLeakage, eps: Fraction) -> WorstLeakage:
    """Records whose capacities need not multiply: their databases as one space, where these are few."""
    known = SOLVED.setdefault(policy.secrets, {})
    key = eps, policy.records
    if key not in known:
        whole = databases_of(policy)
        if whole is None:
            return found
        _remember(known, key, _narrower(found, _solved(whole, eps, 1, ())))
    return known[key]


def _narrower(first: WorstLeakage, second: WorstLeakage) -> WorstLeakage:
    """The exact one of two answers, or the one whose ends are closer."""
    narrow = second.upper.log - second.lower.log < first.upper.log - first.lower.log
    return second if second.exact is not None or narrow else first


def _solved(
    target: Graph | Metric, eps: Fraction, records: int, symmetries: tuple[IndexArray, ...]
) -> WorstLeakage:
    """What a space gives away, solved once: several parts of one answer ask for it."""
    known = SOLVED.setdefault(target, {})
    key = eps, records
    if key in known:
        return known[key]
    merged = together(target) if isinstance(target, Metric) else None
    if merged is None:
        found = _one_by_one(replace(space_of(target), symmetries=symmetries), eps, records)
    else:
        found = _spread(_one_by_one(space_of(merged[0]), eps, records), target, merged[1])
    if found.exact is not None:
        _remember(known, key, found)
    return found


def _remember(
    known: dict[tuple[Fraction, int], WorstLeakage], key: tuple[Fraction, int], found: WorstLeakage
) -> None:
    while len(known) >= MOST_SOLVED:
        del known[next(iter(known))]
    known[key] = found


def _spread(found: WorstLeakage, target: Graph | Metric, member: IndexArray) -> WorstLeakage:
    """What is found of a metric without points at distance 0 from others, for all its points.

    `member` says which point of the metric that was solved every point is.
    """
    alike = len(member) - int(member.max()) - 1
    channel = found.mechanism if found.records == 1 else None
    if channel is not None:
        labels = target.nodes if isinstance(target, Graph) else target.points
        channel = Channel.from_log(channel.log_matrix[member], inputs=labels, normalise=True)
    words = f"{found.method}; {alike} points at distance 0 from others are taken for these"
    return replace(found, mechanism=channel, method=words)


def _one_by_one(space: Space, eps: Fraction, records: int) -> WorstLeakage:
    """A space by its factors where it is a product, else as a whole; the better where neither is exact."""
    if space.size <= LARGEST_PLAIN or space.factors is None:
        return worst_of_space(space, eps, records)
    from sievert.limits._products import worst_of_product

    found = worst_of_product(space, space.factors, eps, records)
    if found.exact is not None or space.size > LARGEST_DENSE:
        return found
    return _narrower(found, worst_of_space(space, eps, records))


def _solved_large(policy: Policy, target: Graph | Metric, eps: Fraction, records: int) -> WorstLeakage:
    """The same for so many points that symmetries of the policy are worth naming."""
    known = LARGE.get(target)
    if known is None or known[:2] != (eps, records):
        space = replace(space_of(target), symmetries=policy.exchanges, alike=policy.alike_databases)
        known = LARGE[target] = eps, records, worst_of_space(space, eps, records)
    return known[2]


def _eps(eps: float | Fraction) -> Fraction | None:
    """ε as an exact rational, None when it is infinite."""
    if isinstance(eps, float) and eps == math.inf:
        return None
    try:
        value = read_eps(eps)
    except (ValueError, TypeError, OverflowError):
        value = Fraction(-1)
    if not 0 <= value <= LARGEST_EPS:
        raise PolicyError(f"eps is {abbreviated(eps)}; it must be a number ≥ 0 (nats), at most 1e308 or inf")
    return value


def finite_eps(eps: float | Fraction) -> Fraction:
    """ε as an exact rational; refuses ∞."""
    value = _eps(eps)
    if value is None:
        raise PolicyError("eps is inf; give a finite eps")
    return value


def target_and_records(given: Target) -> tuple[Graph | Metric, int]:
    """The space to solve and how many independent copies of it the databases are made of."""
    if isinstance(given, Policy):
        if given.permitted is not None:
            return given.adjacency(), 1
        return given.secrets, given.records
    found = target_of(given, "policy_or_metric")
    assert not isinstance(found, Policy)
    return found, 1


def _unlimited(given: Target, individual: bool) -> WorstLeakage:
    """ε = ∞ promises nothing: the database itself may be released."""
    target, records = target_and_records(given)
    everything = Bound((1 if individual else records) * math.log(target.size))
    if individual and isinstance(given, Policy) and given.permitted is not None:
        from sievert.limits._restricted import individual_groups

        everything = Bound(math.log(max(map(len, individual_groups(given)))))
    components = int(target.component_of.max()) + 1
    wide = Bound(math.inf if components < target.size else everything.log)
    return WorstLeakage(
        wide, wide, everything, everything, everything, everything,
        "ε = ∞: the database itself may be released", None, None, None, math.inf, records,
    )  # fmt: skip


def equally_apart(target: Graph | Metric) -> Fraction | None:
    """The one finite distance between any two points, where there is one."""
    if isinstance(target, CompleteGraph):
        return Fraction(1)
    distance = target.uniform_distance if isinstance(target, Metric) else None
    return None if distance is None or math.isinf(distance) else Fraction(distance)


def _complete(size: int, level: Fraction, apart: Fraction, records: int) -> WorstLeakage:
    """Very many values, any two of them secrets: the closed form alone (Alvim et al., Thm 15)."""
    eps = level * apart
    value = Bound(records * complete_capacity(size, float(eps)).log)
    wide = Bound(records * float(eps))
    method = "a complete graph: n/(1 + (n-1)e^-ε), attained by randomised response"
    # Prop 16: randomised response of every record.
    mechanism = randomised_response(size, float(eps))
    return WorstLeakage(
        wide, wide, value, value, value, value, method, None,
        mechanism if records == 1 else mechanism.product(records),
        ClosedLeakageProof(level, "complete", size, length=apart, copies=records), float(eps), records,
    )  # fmt: skip


def _on_grid(grid: Grid, eps: Fraction, records: int) -> WorstLeakage:
    """Very many cells of a map: bounds by sums over the grid, and planar geometric noise from below."""
    found = grid.bounds(eps)
    proof = grid.proof(eps, found.packing, records)
    if proof is not None:
        low, high = log2_bounds(*proof.bounds())
        # Of an ε next to 0 the factor says less than the radius, whose bound loses no digits.
        packing = min(high * LN2, found.radius)
        found = replace(found, reached=min(low * LN2, packing), packing=packing)
    return _of_forms(
        found,
        "a map: the least bound by sums over its cells; planar geometric noise from below",
        "the exact program would need a list of all distances",
        eps,
        records,
        proof,
    )


def _by_form(found: ClosedBounds, eps: Fraction, records: int) -> WorstLeakage:
    """Very many values in a row, or beside a missing one."""
    proof = None if found.certificate is None else replace(found.certificate, copies=records)
    reason = "the exact program would need a list of all pairs"
    return _of_forms(found, found.method, reason, eps, records, proof)


def _of_forms(
    found: GridBounds | ClosedBounds,
    method: str,
    reason: str,
    eps: Fraction,
    records: int,
    proof: ClosedLeakageProof | MapLeakageProof | None,
) -> WorstLeakage:
    """The bounds of closed forms for so many records, whose capacities multiply."""
    lower, upper = Bound(records * found.reached), Bound(records * found.packing)
    meets = upper.bits - lower.bits <= MEETS * min(1.0, upper.bits)
    return WorstLeakage(
        diameter=Bound(records * found.diameter),
        radius=Bound(records * found.radius),
        packing=upper,
        lower=lower,
        upper=upper,
        exact=upper if meets else None,
        method=method,
        reason=None if meets else reason,
        mechanism=None,
        certificate=proof,
        eps=float(eps),
        records=records,
    )


def worst_of_space(space: Space, eps: Fraction, records: int = 1, packed: bool = False) -> WorstLeakage:
    """Solve every component, add the capacities, multiply the bits by the number of records.

    `packed` bounds by packing vectors, which multiply over factors as over records.
    """
    pieces = space.pieces()
    rungs = [solve_component(piece.space, eps) for piece in tracked("parts of the secrets", pieces)]
    covers = [
        _least(piece.space, eps, _cover(piece.space, eps, rung))
        for piece, rung in zip(pieces, rungs, strict=True)
    ]
    uppers = [
        _least(piece.space, eps, rung.upper, cover)
        for piece, rung, cover in zip(pieces, rungs, covers, strict=True)
    ]
    # Over several records only packing bounds multiply: Cap(T)^n ≤ Cap(T^n) ≤ P(T)^n.
    chosen = covers if packed or records > 1 else uppers
    proof = WorstLeakageProof(
        space.proof,
        eps,
        _joined(pieces, chosen),
        _joined(pieces, [rung.lower for rung in rungs]),
        copies=records,
        labels=space.labels,
    )
    lower, upper = proof.bounds()
    assert lower is not None
    cover = upper
    if any(a is not b for a, b in zip(chosen, covers, strict=True)):
        cover = WorstLeakageProof(space.proof, eps, _joined(pieces, covers), None).bounds()[1]
    low, high = log2_bounds(lower, upper)
    closed = _closed_form(pieces, eps)
    meets = closed is not None or high - low <= MEETS * min(1.0, high)
    diameters, radii = _extents(pieces)
    ends = Bound(records * low * LN2), Bound(records * high * LN2)
    return WorstLeakage(
        diameter=Bound(records * blowfish_bound(diameters, float(eps)).log),
        radius=Bound(records * blowfish_bound(radii, float(eps)).log),
        packing=Bound(records * log2_bounds(cover, cover)[1] * LN2),
        lower=ends[0],
        upper=ends[1],
        exact=_common(ends, closed, records) if meets else None,
        method=_method(pieces, rungs),
        reason=None if meets else _reason(rungs, records == 1 and not packed),
        mechanism=_mechanism(space, float(eps), pieces, rungs, records),
        certificate=proof,
        eps=float(eps),
        records=records,
    )


def _cover(space: Space, eps: Fraction, rung: ComponentSolution) -> dict[str, Any]:
    """A packing vector: that of the rung, where it has one."""
    return rung.upper if rung.upper["type"] in PACKINGS else rung.cover or covering(space, eps)


def _least(space: Space, eps: Fraction, *certificates: dict[str, Any]) -> dict[str, Any]:
    """The certificate that proves least; for small ε also the radius, whose bound loses no digits."""
    options = list(certificates)
    if 0 < float(eps) * space.extent[0] < SMALL:
        options.append(radius_cover(space, eps))
    if all(option is options[0] for option in options):
        return options[0]
    return min(options, key=lambda option: WorstLeakageProof(space.proof, eps, option, None).bounds()[1])


def _common(ends: tuple[Bound, Bound], closed: float | None, records: int) -> Bound:
    """The value where both ends meet: their mean, or the closed form between them.

    For small ε the ends enclose a factor next to 1, which leaves its logarithm few digits.
    """
    if closed is None:
        return Bound((ends[0].log + ends[1].log) / 2)
    return Bound(min(max(records * closed, ends[0].log), ends[1].log))


def _closed_form(pieces: list[IsomorphicComponents], eps: Fraction) -> float | None:
    """The logarithm of the capacity of one component, where it is known to every digit."""
    return log_capacity(pieces[0].space, eps) if len(pieces) == 1 and pieces[0].count == 1 else None


def _joined(pieces: list[IsomorphicComponents], certificates: list[dict[str, Any]]) -> dict[str, Any]:
    """One certificate for all components."""
    if len(pieces) == 1 and pieces[0].count == 1:
        return certificates[0]
    parts = [
        {"points": piece.points.tolist(), **certificate}
        for piece, certificate in zip(pieces, certificates, strict=True)
    ]
    return {"type": "parts", "parts": parts}


def _reason(rungs: list[ComponentSolution], solved: bool) -> str:
    """Why the ends do not meet."""
    given = next((rung.reason for rung in rungs if rung.reason is not None), None)
    if given is not None or solved:
        return given or GAP
    return (
        "the worst mechanism on one record is below the packing bound, so several records together "
        f"may leak more than it does alone; up to {MOST_DATABASES} databases are solved as one space"
    )


def _extents(pieces: list[IsomorphicComponents]) -> tuple[dict[float, int], dict[float, int]]:
    """How many components have each diameter, and each radius."""
    diameters: dict[float, int] = {}
    radii: dict[float, int] = {}
    for piece in pieces:
        diameter, radius, _ = piece.space.extent
        diameters[diameter] = diameters.get(diameter, 0) + piece.count
        radii[radius] = radii.get(radius, 0) + piece.count
    return diameters, radii


def _method(pieces: list[IsomorphicComponents], rungs: list[ComponentSolution]) -> str:
    names = list(dict.fromkeys(rung.method for rung in rungs))
    components = sum(piece.count for piece in pieces)
    return "; ".join(names[:3]) + (f"; over {components} components" if components > 1 else "")


def _mechanism(
    space: Space, eps: float, pieces: list[IsomorphicComponents], rungs: list[ComponentSolution], records: int
) -> Channel | None:
    """The attaining channel: of the record, repeated over the records."""
    if any(rung.channel is None for rung in rungs) or space.size > LARGEST_CHANNEL:
        return None
    # Logarithms where a float would round e^(-εd) to 0 and with it lose the privacy.
    logs = any(eps * piece.space.extent[0] > LARGEST_EXPONENT for piece in pieces)
    if logs:
        tables = [rung.log_channel(piece.space, eps) for piece, rung in zip(pieces, rungs, strict=True)]
    else:
        tables = [rung.channel for rung in rungs if rung.channel is not None]
    width = sum(piece.count * part.shape[1] for piece, part in zip(pieces, tables, strict=True))
    table = np.full((space.size, width), -np.inf if logs else 0.0)
    start = 0
    for piece, part in zip(pieces, tables, strict=True):
        for points in piece.points:
            table[np.ix_(points, np.arange(start, start + part.shape[1]))] = part
            start += part.shape[1]
    make = Channel.from_log if logs else Channel
    one = make(table, inputs=space.labels, normalise=True)
    return one if records == 1 else one.product(records)
