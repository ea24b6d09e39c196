"""Closed forms: how much can leak at worst, from the shape of the policy alone.

Everything is computed as a logarithm, so that ε·diameter may exceed 709.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sievert.errors import PolicyError
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
    _check(eps, records, values)
    return Bound(records * individual_bound(values, eps).log)


def individual_bound(values: int, eps: float) -> Bound:
    """Most that leaks about one record given all the others: v·e^ε/(v-1+e^ε) (Alvim et al., Prop 21).

    >>> round(individual_bound(3, 1.35).bits, 6)
    0.982334
    """
    _check(eps, 1, values)
    # v·e^ε/(v-1+e^ε) = v/(1 + (v-1)e^-ε) = 1/(1 - share).
    share = -(values - 1) / values * math.expm1(-eps)
    return _reciprocal(share, lambda: math.log(values) - math.log1p((values - 1) * math.exp(-eps)))


def _reciprocal(share: float, direct: Callable[[], float]) -> Bound:
    """1/(1 - share): by the share where that is small, else by a form that keeps what is left of 1."""
    return Bound(-math.log1p(-share) if share < 0.5 else direct())


def limited_outputs_bound(records: int, values: int, outputs: int, eps: float) -> Bound:
    """With at most r outputs (Alvim et al., Prop 20 with ℓ = floor(log_v r), and Thm 15): the smaller bound.

    The appendix prints ℓ = ceil(log_v r), which is false.
    """
    _check(eps, records, values)
    if outputs < 1:
        raise PolicyError(f"outputs is {outputs!r}; a mechanism has at least one output")
    whole = database_bound(records, values, eps)
    if values == 1:
        return whole
    length = 0
    while values ** (length + 1) <= outputs and length < records:
        length += 1
    # r·e^{εu} / ((v-1+e^ε)^ℓ - e^{εℓ} + e^{εu}) = r/(1 + f·(B·v^ℓ - 1)), f = e^(-ε(u-ℓ)), B = e^-growth.
    fall = math.expm1(-eps * (records - length)) if eps * (records - length) else 0.0
    growth = length * individual_bound(values, eps).log
    words = values**length
    left = (outputs - words) / outputs - (words - 1) / outputs * fall
    share = left - (1 + fall) * words / outputs * math.expm1(-growth)

    def direct() -> float:
        lead = length * math.log1p((values - 1) * math.exp(-eps))
        # The factor f may be far below 1 where the power is far above: only their product counts.
        if lead > 700:
            return math.log(outputs) - _log1p_exp(lead - eps * (records - length))
        return math.log(outputs) - math.log1p((1 + fall) * math.expm1(lead))

    return min(whole, _reciprocal(share, direct))


def _log1p_exp(value: float) -> float:
    """ln(1 + e^value), also where e^value overflows."""
    return value + math.log1p(math.exp(-value)) if value > 0 else math.log1p(math.exp(value))


def blowfish_bound(diameters: Mapping[float, int] | Sequence[float], eps: float) -> Bound:
    """Σ over components of e^(ε·diameter) (Edwards et al., Thm 3), in logarithms.

    `diameters` lists one entry a component, or maps a diameter to how many components have it. With radii
    instead, the bound is better and as valid.
    """
    counted = diameters if isinstance(diameters, Mapping) else _counted(diameters)
    terms = [eps * extent + math.log(count) for extent, count in counted.items()]
    top = max(terms)
    return Bound(top + math.log(math.fsum(math.exp(term - top) for term in terms)))


def posterior_bound(diameters: Mapping[float, int] | Sequence[float], eps: float, databases: int) -> float:
    """Upper bound on the best guess of the database under a uniform prior (Edwards et al., Thm 2)."""
    return math.exp(min(0.0, blowfish_bound(diameters, eps).log - math.log(databases)))


def _counted(values: Sequence[float]) -> dict[float, int]:
    counted: dict[float, int] = {}
    for value in values:
        counted[value] = counted.get(value, 0) + 1
    return counted


def path_capacity(size: int, eps: float) -> Bound:
    """Exact for a path (and for any tree with ε ≥ ln(Δ-1)): 1 + (n-1)·tanh(ε/2)."""
    return Bound(math.log1p((size - 1) * math.tanh(eps / 2)))


def complete_capacity(size: int, eps: float) -> Bound:
    """Exact for a complete graph: n/(1 + (n-1)e^-ε)."""
    return individual_bound(size, eps)


def cycle_capacity(size: int, eps: float) -> Bound:
    """Exact for a cycle: n/Σ_d n_d e^(-εd)."""
    half = size // 2
    counts = [1, *([2] * half)]
    if size % 2 == 0 and half:
        counts[half] = 1
    return regular_capacity(counts, eps)


def regular_capacity(counts: Sequence[int], eps: float) -> Bound:
    """Exact for vertex-transitive or distance-regular graphs: n/Σ_d n_d e^(-εd) (Alvim et al., Thm 12).

    `counts` holds n_d, the number of points at distance d of any point, from n_0 = 1.
    """
    total = math.fsum(counts)
    # n/Σ n_d e^-εd = 1/(1 + Σ n_d (e^-εd - 1)/n), without cancellation for small ε.
    share = -math.fsum(count / total * math.expm1(-eps * d) for d, count in enumerate(counts))
    return _reciprocal(
        share,
        lambda: (
            math.log(total)
            - math.log(math.fsum(count * math.exp(-eps * d) for d, count in enumerate(counts)))
        ),
    )


def _check(eps: float, records: int, values: int) -> None:
    if not eps >= 0:
        raise PolicyError(f"eps is {eps!r}; it must be a number ≥ 0 (nats)")
    for name, count in (("records", records), ("values", values)):
        if count < 1:
            raise PolicyError(f"{name} is {count!r}; it must be a whole number ≥ 1")
