"""Closed forms: how much can leak at worst, from the shape of the policy alone.

Everything is computed as a logarithm, so that ε·diameter may exceed 709.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sievert.errors import PolicyError
from sievert.numerics import abbreviated, in_bits, non_negative, taken, whole
from sievert.results import Result, guarded
from sievert.spaces import iterable

__all__ = [
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


def __dir__() -> list[str]:
    return sorted(__all__)


LN2 = math.log(2)
LARGEST_SIZE = 10**18
# Up to here the sum for a cycle is added term by term, which loses no digits for small ε.
LONGEST_SUM = 1_000_000


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


def database_bound(values: int, records: int, eps: float) -> Bound:
    """Most that ε-differential privacy lets a database leak: (v·e^ε/(v-1+e^ε))^u.

    Exact: per-record randomised response attains it.

    Parameters
    ----------
    values : how many values a record may have
    records : how many records there are
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(1).

    References
    ----------
    Alvim et al., Thm 15 and Prop 16.

    Examples
    --------
    >>> round(database_bound(values=2, records=100, eps=5).bits, 6)
    99.03118
    """
    count = _size("records", records)
    return Bound(count * individual_bound(values, eps).log)


def individual_bound(values: int, eps: float) -> Bound:
    """Most that leaks about one record given all the others: v·e^ε/(v-1+e^ε).

    Parameters
    ----------
    values : how many values the record may have
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(1).

    References
    ----------
    Alvim et al., Prop 21.

    Examples
    --------
    >>> round(individual_bound(3, 1.35).bits, 6)
    0.982334
    """
    level, count = _level(eps), _size("values", values)
    # v·e^ε/(v-1+e^ε) = v/(1 + (v-1)e^-ε), written so that ε → 0 loses no digits.
    if level > 1:
        return Bound(math.log(count) - math.log1p((count - 1) * math.exp(-level)))
    return Bound(-math.log1p((count - 1) / count * math.expm1(-level)))


def limited_outputs_bound(values: int, records: int, outputs: int, eps: float) -> Bound:
    """Most that leaks through at most r outputs: the smaller of two bounds, one with ℓ = floor(log_v r).

    The appendix prints ℓ = ceil(log_v r), which is false.

    Parameters
    ----------
    values : how many values a record may have
    records : how many records there are
    outputs : the largest number of outputs
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(log outputs).

    References
    ----------
    Alvim et al., Prop 20 and Thm 15.

    Examples
    --------
    >>> limited_outputs_bound(2, 3, 4, 0.3).bits < database_bound(2, 3, 0.3).bits + 1e-12
    True
    """
    eps, records, values = _level(eps), _size("records", records), _size("values", values)
    outputs = whole("outputs", outputs, PolicyError)
    everything = database_bound(values, records, eps)
    if values == 1:
        return everything
    if math.isinf(eps):
        return min(everything, Bound(math.log(outputs)))
    length = 0
    while values ** (length + 1) <= outputs and length < records:
        length += 1
    # r·e^{εu} / ((v-1+e^ε)^ℓ - e^{εℓ} + e^{εu}), divided through by e^{εu}.
    if eps > 1:
        lead = length * math.log1p((values - 1) * math.exp(-eps))
        rest = math.exp(eps * (length - records)) * math.expm1(lead)
        return min(everything, Bound(math.log(outputs) - math.log1p(rest)))
    # For small ε the same over v^ℓ, so that nothing cancels.
    words, hidden = values**length, math.expm1(-eps * (records - length))
    shrunk = (1 + hidden) * math.expm1(-length * individual_bound(values, eps).log)
    shortfall = (1 - 1 / words) * hidden + shrunk
    return min(everything, Bound(_log_ratio(outputs, words) - math.log1p(shortfall)))


def _log_ratio(large: int, small: int) -> float:
    """ln of the ratio of two whole numbers, near 1 to full precision."""
    excess = Fraction(large - small, small)
    return math.log1p(float(excess)) if excess < 1 else math.log(large) - math.log(small)


def blowfish_bound(diameters: Mapping[float, int] | Sequence[float], eps: float) -> Bound:
    """Σ over components of e^(ε·diameter), in logarithms.

    With radii instead of diameters the bound is better and as valid.

    Parameters
    ----------
    diameters : one entry a component, or a mapping from a diameter to how many components have it
    eps : ε in nats

    Returns
    -------
    Bound
        As `factor` and in `bits`.

    Notes
    -----
    Cost: O(different diameters).

    References
    ----------
    Edwards et al., Thm 3.

    Examples
    --------
    >>> import math
    >>> round(blowfish_bound([1, 1], math.log(2)).factor, 9)
    4.0
    """
    level, counted = _level(eps), _counted(diameters)
    # An unbounded component tells nothing at ε = 0, and a point nothing at ε = ∞.
    terms = [
        (level * extent if level and extent else 0.0) + math.log(count) for extent, count in counted.items()
    ]
    top = max(terms)
    if math.isinf(top):
        return Bound(math.inf)
    return Bound(top + math.log(math.fsum(math.exp(term - top) for term in terms)))


@guarded
def posterior_bound(diameters: Mapping[float, int] | Sequence[float], databases: int, eps: float) -> float:
    """Upper bound on the best guess of the database under a uniform prior.

    Parameters
    ----------
    diameters : one entry a component, or a mapping from a diameter to how many components have it
    databases : how many databases are possible
    eps : ε in nats

    Returns
    -------
    float
        A probability.

    Notes
    -----
    Cost: that of `sv.bounds.blowfish_bound`.

    References
    ----------
    Edwards et al., Thm 2.

    Examples
    --------
    >>> import math
    >>> round(posterior_bound([1, 1], 6, math.log(2)), 6)
    0.666667
    """
    possible = _size("databases", databases)
    return math.exp(min(0.0, blowfish_bound(diameters, eps).log - math.log(possible)))


def _counted(diameters: Mapping[float, int] | Sequence[float]) -> dict[float, int]:
    """How many components have each diameter."""
    counted: dict[float, int] = {}
    if isinstance(diameters, Mapping):
        pairs = [(extent, _size("a number of components", count)) for extent, count in diameters.items()]
    elif iterable(diameters) and not isinstance(diameters, str):
        pairs = [(extent, 1) for extent in taken("diameters", diameters, PolicyError, "diameters")]
    else:
        raise PolicyError(
            f"diameters is {abbreviated(diameters)}; give one diameter for each component, or a mapping "
            f"from a "
            "diameter to how many components have it"
        )
    for extent, count in pairs:
        size = non_negative("a diameter", extent, PolicyError, infinite=True)
        counted[size] = counted.get(size, 0) + count
    if not counted:
        raise PolicyError("diameters is empty; a policy has at least one component")
    return counted


def path_capacity(size: int, eps: float) -> Bound:
    """Exact for a path (and for any tree with ε ≥ ln(Δ-1)): 1 + (n-1)·tanh(ε/2).

    Parameters
    ----------
    size : number of nodes
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> import math
    >>> round(path_capacity(4, math.log(2)).factor, 9)
    2.0
    """
    return Bound(math.log1p((_size("size", size) - 1) * math.tanh(_level(eps) / 2)))


def complete_capacity(size: int, eps: float) -> Bound:
    """Exact for a complete graph: n/(1 + (n-1)e^-ε).

    Parameters
    ----------
    size : number of nodes
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> import math
    >>> round(complete_capacity(3, math.log(2)).factor, 9)
    1.5
    """
    return individual_bound(_size("size", size), eps)


def cycle_capacity(size: int, eps: float) -> Bound:
    """Exact for a cycle: n/Σ_d n_d e^(-εd).

    The sum is 1 + 2(q + … + q^⌊(n-1)/2⌋), and q^(n/2) once more when n is even, with q = e^-ε.

    Parameters
    ----------
    size : number of nodes
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> import math
    >>> round(cycle_capacity(4, math.log(2)).factor, 6)
    1.777778
    """
    points, level = _size("size", size), _level(eps)
    half, opposite = (points - 1) // 2, points // 2
    if level == 0:
        return Bound(0.0)
    if level > 1 or half > LONGEST_SUM:
        q = math.exp(-level)
        total = 1 + 2 * q * math.expm1(-level * half) / math.expm1(-level) if half else 1.0
        total += math.exp(-level * opposite) if points % 2 == 0 else 0.0
        return Bound(math.log(points) - math.log(total))
    counts = [1, *([2] * half), *([1] if points % 2 == 0 else [])]
    return regular_capacity(counts, level)


def regular_capacity(counts: Sequence[int], eps: float) -> Bound:
    """Exact for vertex-transitive or distance-regular graphs: n/Σ_d n_d e^(-εd).

    Parameters
    ----------
    counts : n_d, the number of points at distance d of any point, from n_0 = 1
    eps : ε in nats

    Returns
    -------
    Bound

    Notes
    -----
    Cost: O(distances).

    References
    ----------
    Alvim et al., Thm 12.

    Examples
    --------
    >>> regular_capacity([1, 2, 1], 1.0) == cycle_capacity(4, 1.0)
    True
    """
    level = _level(eps)
    if isinstance(counts, str) or not iterable(counts):
        raise PolicyError(f"counts is {abbreviated(counts)}; give how many points are at distance 0, 1, 2, …")
    listed = taken("counts", counts, PolicyError, "numbers of points")
    sizes = [
        count if type(count) is int and count >= 0 else whole(f"counts[{d}]", count, PolicyError, least=0)
        for d, count in enumerate(listed)
    ]
    if not sizes or sizes[0] != 1:
        raise PolicyError(
            f"counts is {abbreviated(counts)}; it begins with n_0 = 1, the point itself, then how many "
            f"points are "
            "at distance 1, 2, …"
        )
    total = sum(sizes)
    if level > 1:
        near = math.fsum(count * math.exp(-level * d) for d, count in enumerate(sizes) if d)
        return Bound(math.log(total) - math.log1p(near))
    # n/Σ n_d e^-εd = 1/(1 + Σ n_d (e^-εd - 1)/n), without cancellation for small ε.
    shortfall = math.fsum(count / total * math.expm1(-level * d) for d, count in enumerate(sizes) if d)
    return Bound(-math.log1p(shortfall))


def _level(eps: float) -> float:
    return non_negative("eps", eps, PolicyError, infinite=True)


def _size(name: str, value: int) -> int:
    return whole(name, value, PolicyError, most=LARGEST_SIZE)
