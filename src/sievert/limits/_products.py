"""The worst leakage of a Cartesian product by its factors: grids, hypercubes, tori, products of anything.

Packing bounds multiply, and Cap(G□H) = Cap(G)·Cap(H) as soon as one of them attains its packing bound, as
paths, cycles and complete graphs do. Where two factors do not, the product of what is reached and of what
bounds each of them is an interval: all factors but the loosest are bounded by packing vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import Channel
from sievert.limits._component_solvers import LARGEST_CHANNEL
from sievert.limits._space import Space, space_of
from sievert.limits._worst import LARGEST_EXPONENT, WorstLeakage, worst_of_space
from sievert.limits.bounds import Bound
from sievert.numerics import tracked
from sievert.proofs import ProductLeakageProof, WorstLeakageProof
from sievert.spaces import Factors, Graph, Labels, Metric

__all__ = ["flat_factors", "worst_of_factors", "worst_of_product"]


def worst_of_factors(target: Graph | Metric, eps: Fraction, records: int) -> WorstLeakage:
    """What a space gives away that was made as a product: its edges are not looked at.

    >>> from sievert.spaces.graphs import grid
    >>> worst_of_factors(grid(30, 20), Fraction(1, 2), 1).exact.factor
    45.80...
    """
    found = _each([space_of(factor) for factor in flat_factors(target.factors)], eps, records)
    labels = target.nodes if isinstance(target, Graph) else target.points
    return _together(found, eps, records, labels, np.arange(target.size))


def worst_of_product(space: Space, factors: Factors, eps: Fraction, records: int) -> WorstLeakage:
    """What a space gives away that was found to be a product; its proof shows that it is one."""
    parts = [
        Space(size, edges.pairs, edges.lengths, range(size))
        for size, edges in zip(factors.sizes, factors.edges, strict=True)
    ]
    order = np.ravel_multi_index(tuple(factors.places.T), factors.sizes)
    found = _together(_each(parts, eps, records), eps, records, space.labels, order)
    assert isinstance(found.certificate, ProductLeakageProof)
    return replace(found, certificate=replace(found.certificate, given=space.proof, places=factors.places))


def flat_factors(factors: Sequence[Graph | Metric]) -> list[Graph | Metric]:
    """The factors of factors, in their order, without single points."""
    found = [
        part for factor in factors for part in (flat_factors(factor.factors) if factor.factors else [factor])
    ]
    return [part for part in found if part.size > 1]


def _each(spaces: list[Space], eps: Fraction, records: int) -> list[WorstLeakage]:
    """Every factor by itself, those that are the same once; all but one by packing vectors."""
    known: dict[bytes, tuple[WorstLeakage, WorstLeakage]] = {}
    pairs = []
    for space in tracked("factors of the secrets", spaces):
        key = space.pairs.tobytes() + space.lengths.tobytes()
        if key not in known:
            packed = worst_of_space(space, eps, packed=True)
            tight = packed.exact is not None or records > 1
            known[key] = packed, packed if tight else worst_of_space(space, eps)
        pairs.append(known[key])
    gained = [packed.upper.log - best.upper.log for packed, best in pairs]
    loosest = int(np.argmax(gained))
    return [best if k == loosest else packed for k, (packed, best) in enumerate(pairs)]


def _together(
    found: list[WorstLeakage], eps: Fraction, records: int, labels: Labels, order: IndexArray
) -> WorstLeakage:
    """Logarithms add over factors, and are multiplied by the number of records.

    `order` has the place of each label among the products of the factors' points.
    """

    def added(logs: Sequence[float]) -> Bound:
        return Bound(records * math.fsum(logs))

    values = [part.exact for part in found if part.exact is not None]
    exact = added([value.log for value in values]) if len(values) == len(found) else None
    reason = next((part.reason for part in found if part.exact is None), None)
    loose = sum(part.exact is None for part in found)
    proofs = tuple(part.certificate for part in found if isinstance(part.certificate, WorstLeakageProof))
    return WorstLeakage(
        diameter=added([part.diameter.log for part in found]),
        radius=added([part.radius.log for part in found]),
        packing=added([part.packing.log for part in found]),
        lower=added([part.lower.log for part in found]),
        upper=added([part.upper.log for part in found]),
        exact=exact,
        method=_method(found),
        reason=None if exact is not None else f"{loose} of {len(found)} factors: {reason}",
        mechanism=_mechanism(found, records, labels, order),
        certificate=ProductLeakageProof(eps, proofs, records),
        eps=float(eps),
        records=records,
    )


def _method(found: list[WorstLeakage]) -> str:
    names = list(dict.fromkeys(part.method for part in found))
    return f"a product of {len(found)} factors, whose capacities multiply: " + "; ".join(names[:3])


def _mechanism(found: list[WorstLeakage], records: int, labels: Labels, order: IndexArray) -> Channel | None:
    """The product of the factors' channels, where it is small enough to be written down."""
    channels = [part.mechanism for part in found if part.mechanism is not None]
    if len(channels) < len(found) or len(order) > LARGEST_CHANNEL:
        return None
    # Logarithms where a float would round e^(-εd) to 0 and with it lose the privacy.
    if sum(part.diameter.log for part in found) > LARGEST_EXPONENT:
        table = reduce(_log_product, [channel.log_matrix for channel in channels])
        one = Channel.from_log(table[order], inputs=labels, normalise=True)
    else:
        table = reduce(_product, [channel.matrix for channel in channels])
        one = Channel(table[order], inputs=labels, normalise=True)
    return one if records == 1 else one.product(records)


def _product(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.asarray(np.kron(first, second))


def _log_product(first: FloatArray, second: FloatArray) -> FloatArray:
    """The logarithms of a Kronecker product."""
    table = first[:, None, :, None] + second[None, :, None, :]
    return table.reshape(len(first) * len(second), -1)
