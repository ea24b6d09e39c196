"""Closed forms: how much can leak at worst, from the shape of the policy alone.

Everything is computed as a logarithm, so that ε·diameter may exceed 709.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sievert.errors import PolicyError
from sievert.numerics.checks import brief, non_negative, require_size, whole
from sievert.results import Result, in_bits

__all__ = [
    "Bound",
    "blowfish_bound",
    "complete_capacity",
    "cycle_capacity",
    "database_bound",
    "individual_bound",
    "limited_outputs_bound",
    "path_capacity",
    "posterior_bound",
    "regular_capacity",
]

LN2 = math.log(2)
LARGEST_LIST = 10_000_000


@dataclass(frozen=True, order=True)
class Bound(Result):
    """A factor by which a best guess may grow, kept as its natural logarithm."""

    log: float

    @property
    def factor(self) -> float:
        """The factor itself (inf when a float cannot hold it)."""
        return math.exp(self.log) if self.log < 709.7 else math.inf

    @property
    def bits(self) -> float:
        """log2 of the factor; never overflows."""
        return self.log / LN2

    def __float__(self) -> float:
        return self.factor

    def __str__(self) -> str:
        size = f"a factor of {self.factor:.6g}, " if self.factor < 1e12 else ""
        return f"{size}{in_bits(self.bits, 6)}"

    def to_dict(self) -> dict[str, float | str]:
        """Factor and bits."""
        return {
            "factor": self.factor if math.isfinite(self.factor) else "inf",
            "bits": self.bits if math.isfinite(self.bits) else "inf",
        }


def database_bound(records: int, values: int, eps: float) -> Bound:
    """Most that ε-differential privacy lets a database leak: (v·e^ε/(v-1+e^ε))^u (Alvim et al., Thm 15).

    Exact: per-record randomised response attains it (Prop 16).

    >>> round(database_bound(100, 2, 5).bits, 6)
    99.03118
    """
    records = whole("records", records, PolicyError)
    return Bound(records * individual_bound(values, eps).log)


def individual_bound(values: int, eps: float) -> Bound:
    """Most that leaks about one record given all the others: v·e^ε/(v-1+e^ε) (Alvim et al., Prop 21).

    >>> round(individual_bound(3, 1.35).bits, 6)
    0.982334
    """
    values, eps = whole("values", values, PolicyError), _level(eps)
    # v·e^ε/(v-1+e^ε) = v/(1 + (v-1)e^-ε), written so that ε → 0 loses no digits.
    return Bound(
        -math.log1p((values - 1) / values * math.expm1(-eps)) if eps < math.inf else math.log(values)
    )


def limited_outputs_bound(records: int, values: int, outputs: int, eps: float) -> Bound:
    """With at most r outputs (Alvim et al., Prop 20 with ℓ = floor(log_v r), and Thm 15): the smaller bound.

    The appendix prints ℓ = ceil(log_v r), which is false.
    """
    records, values = whole("records", records, PolicyError), whole("values", values, PolicyError)
    outputs, eps = whole("outputs", outputs, PolicyError), _level(eps)
    any_outputs = database_bound(records, values, eps)
    if values == 1:
        return any_outputs
    if math.isinf(eps):
        # Each output may name one database.
        return min(any_outputs, Bound(math.log(outputs)))
    length = 0
    while values ** (length + 1) <= outputs and length < records:
        length += 1
    # r·e^{εu} / ((v-1+e^ε)^ℓ - e^{εℓ} + e^{εu}), divided through by e^{εu}.
    lead = length * math.log1p((values - 1) * math.exp(-eps)) + eps * length
    rest = math.exp(eps * (length - records)) * math.expm1(lead - eps * length)
    proposition = Bound(math.log(outputs) - math.log1p(rest))
    return min(any_outputs, proposition)


def blowfish_bound(diameters: Mapping[float, int] | Sequence[float], eps: float) -> Bound:
    """Σ over components of e^(ε·diameter) (Edwards et al., Thm 3), in logarithms.

    `diameters` lists one entry a component, or maps a diameter to how many components have it. With radii
    instead, the bound is better and as valid.
    """
    eps = _level(eps)
    terms = [_product(eps, extent) + math.log(count) for extent, count in _counted(diameters).items()]
    top = max(terms)
    if math.isinf(top):
        return Bound(math.inf)
    return Bound(top + math.log(math.fsum(math.exp(term - top) for term in terms)))


def posterior_bound(diameters: Mapping[float, int] | Sequence[float], eps: float, databases: int) -> float:
    """Upper bound on the best guess of the database under a uniform prior (Edwards et al., Thm 2)."""
    databases = whole("databases", databases, PolicyError)
    return math.exp(min(0.0, blowfish_bound(diameters, eps).log - math.log(databases)))


def _counted(diameters: Mapping[float, int] | Sequence[float]) -> dict[float, int]:
    """How many components have each diameter."""
    if isinstance(diameters, Mapping):
        pairs = [(extent, whole("diameters", count, PolicyError)) for extent, count in diameters.items()]
    elif (
        isinstance(diameters, str)
        or not isinstance(diameters, Iterable)
        or getattr(diameters, "ndim", 1) == 0
    ):
        pairs = []
    else:
        pairs = [(extent, 1) for extent in diameters]
    if not pairs:
        raise PolicyError(
            f"diameters is {brief(diameters)}; give one for each component, or map a diameter to how many "
            "components have it"
        )
    counted: dict[float, int] = {}
    for extent, count in pairs:
        size = non_negative("diameters", extent, PolicyError, infinite=True)
        counted[size] = counted.get(size, 0) + count
    return counted


def _product(eps: float, extent: float) -> float:
    """ε·diameter; nothing leaks through a component at ε = 0 or of diameter 0, whatever the other is."""
    return 0.0 if 0 in (eps, extent) else eps * extent


def _level(eps: object) -> float:
    return non_negative("eps", eps, PolicyError, infinite=True)


def path_capacity(size: int, eps: float) -> Bound:
    """Exact for a path (and for any tree with ε ≥ ln(Δ-1)): 1 + (n-1)·tanh(ε/2)."""
    size = whole("size", size, PolicyError)
    return Bound(math.log1p((size - 1) * math.tanh(_level(eps) / 2)))


def complete_capacity(size: int, eps: float) -> Bound:
    """Exact for a complete graph: n/(1 + (n-1)e^-ε)."""
    return individual_bound(whole("size", size, PolicyError), eps)


def cycle_capacity(size: int, eps: float) -> Bound:
    """Exact for a cycle: n/Σ_d n_d e^(-εd)."""
    size = whole("size", size, PolicyError)
    require_size(size, LARGEST_LIST, "the distances of a cycle", "bound it by sv.bounds.path_capacity")
    half = size // 2
    counts = [1, *([2] * half)]
    if size % 2 == 0 and half:
        counts[half] = 1
    return regular_capacity(counts, eps)


def regular_capacity(counts: Sequence[int], eps: float) -> Bound:
    """Exact for vertex-transitive or distance-regular graphs: n/Σ_d n_d e^(-εd) (Alvim et al., Thm 12).

    `counts` holds n_d, the number of points at distance d of any point, from n_0 = 1.
    """
    if isinstance(counts, str) or not isinstance(counts, Iterable):
        raise PolicyError(f"counts is {brief(counts)}; give the number of points at distance 0, 1, 2, …")
    counts = [whole("counts", count, PolicyError, least=0) for count in counts]
    if not counts or counts[0] < 1:
        raise PolicyError(f"counts is {brief(counts)}; the first is the point itself, at distance 0")
    eps = _level(eps)
    total = sum(counts)
    # n/Σ n_d e^-εd = 1/(1 + Σ n_d (e^-εd - 1)/n), without cancellation for small ε.
    shortfall = math.fsum(count / total * math.expm1(-_product(eps, d)) for d, count in enumerate(counts))
    return Bound(-math.log1p(shortfall))
