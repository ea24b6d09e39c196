"""Proof that a mechanism is private and (nearly) the best: its loss, and a loss nobody can go below.

The mechanism is a table of whole numbers over 2^53, or of more digits (`_fine`). Privacy is compared exactly.
The lower bound holds for *any* multipliers y ≥ 0 on the constraints c[x,w] - e^(-εd(x,z))·c[z,w] ≥ 0:
subtracting them from the loss leaves Σ_x Σ_w c[x,w]·(q[w,x] - Σ_z y[x,z,w] + Σ_z e^(-εd(z,x))·y[z,x,w]), and
rows sum to 1, so no private mechanism is below Σ_x min_w of the bracket. Nothing of the solver's is trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray, IndexArray
from sievert.numerics import UNIT, decimal
from sievert.proofs._base import Proof, measured
from sievert.proofs._fine import BITS_OF_ONE, MOST_BITS_OF_ONE, FineMechanism, exact_costs
from sievert.proofs._reading import entries, floats, fraction, indices, listed, whole
from sievert.proofs._space import Decay, ProofSpace

__all__ = [
    "SCALE",
    "SPARE",
    "Multipliers",
    "OptimalDesignProof",
    "UniformPart",
    "check_private",
    "loss_above",
    "loss_below",
    "parts_of_one",
    "require_rows",
]
# Every probability is a whole number of these parts, so that sums of rows are exact in any order.
SCALE = 2**53
# Relative error of a cost π·ℓ: prior and loss are each rounded to a float, and so is their product.
COST_ERROR = 3.01 * UNIT
# The smallest normal float: below it a rounded number has lost more than a unit.
TINY = 2.0**-1022
BLOCK_ENTRIES = 4_000_000
# What a claim leaves to spare, so that sums in another order on another machine still prove it.
SPARE = 2.0**-49


@dataclass(frozen=True, eq=False)
class Multipliers:
    """y ≥ 0 on c[left,w] ≥ e^(-ε·length)·c[right,w]; arc 2e is edge e as listed, 2e+1 reversed."""

    arc: IndexArray
    output: IndexArray
    value: FloatArray

    @classmethod
    def none(cls) -> Multipliers:
        """No multipliers: the bound is that of an observer who sees everything."""
        return cls(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))

    @classmethod
    def joined(cls, parts: list[Multipliers]) -> Multipliers:
        """All of several lists."""
        if not parts:
            return cls.none()
        return cls(
            np.concatenate([part.arc for part in parts]),
            np.concatenate([part.output for part in parts]),
            np.concatenate([part.value for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class UniformPart:
    """A component whose different points are all equally far apart, with dual prices of its rows.

    `points[k]` belongs to group `group[k]`; points of one group are at distance 0.
    """

    points: IndexArray
    group: IndexArray
    price: FloatArray


@dataclass(frozen=True, eq=False)
class OptimalDesignProof(Proof):
    """A private mechanism, an upper bound on its loss, and a lower bound on everybody's.

    Attributes
    ----------
    space, decay : which probabilities may shrink by how much along which edges
    prior, loss : entries as given (fractions exactly, floats as they are); loss is [action, point]
    counts : mechanism in parts of 2^bits, [point, action]
    multipliers, uniform : the dual certificate; beyond 53 bits, multipliers are in parts of 2^bits too
    lower, upper : what is claimed
    bits : 53, as floats have, or up to 4096 where a loss is smaller than that
    """

    kind: ClassVar[str] = "optimal design"
    found: ClassVar[tuple[str, ...]] = ("counts", "multipliers", "uniform", "lower", "upper", "bits")
    grounds: ClassVar[str] = (
        "weak duality of linear programming: multipliers of the constraints bound every private mechanism"
    )
    space: ProofSpace
    decay: Decay
    prior: NDArray[Any]
    loss: NDArray[Any]
    counts: NDArray[Any]
    multipliers: Multipliers
    uniform: tuple[UniformPart, ...]
    lower: float
    upper: float
    labels: tuple[Any, ...] = field(default=())
    bits: int = BITS_OF_ONE

    def data(self) -> dict[str, Any]:
        fine = self.bits > BITS_OF_ONE
        return {
            "space": self.space.to_data(),
            **self.decay.to_data(),
            "prior": _texts(self.prior),
            "loss": [_texts(row) for row in self.loss],
            **({"bits": self.bits} if fine else {}),
            "counts": [list(map(str, row)) for row in self.counts] if fine else self.counts.tolist(),
            "multipliers": [
                [int(a), int(w), str(v) if fine else float(v)]
                for a, w, v in zip(
                    self.multipliers.arc, self.multipliers.output, self.multipliers.value, strict=True
                )
            ],
            "uniform": [
                {"points": p.points.tolist(), "group": p.group.tolist(), "price": p.price.tolist()}
                for p in self.uniform
            ],
            "lower": self.lower,
            "upper": self.upper,
            "labels": [str(label) for label in self.labels],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> OptimalDesignProof:
        arrows = entries(data["multipliers"])
        if any(len(entry) != 3 for entry in arrows):
            raise ValueError("a multiplier is a triple of arc, output and value")
        bits = whole(data.get("bits", BITS_OF_ONE), BITS_OF_ONE, MOST_BITS_OF_ONE)
        values = [entry[2] for entry in arrows]
        return cls(
            ProofSpace.from_data(data["space"]),
            Decay.from_data(data),
            _numbers(data["prior"]),
            np.array([_numbers(row) for row in entries(data["loss"])]),
            parts_of_one(data["counts"], bits),
            Multipliers(
                indices([entry[0] for entry in arrows]),
                indices([entry[1] for entry in arrows]),
                floats(values) if bits == BITS_OF_ONE else _wholes(values),
            ),
            tuple(
                UniformPart(indices(part["points"]), indices(part["group"]), floats(part["price"]))
                for part in listed(data["uniform"])
            ),
            float(fraction(data["lower"])),
            float(fraction(data["upper"])),
            tuple(listed(data.get("labels", []))),
            bits,
        )

    def check(self) -> None:
        """ValueError unless the mechanism is private and both bounds hold."""
        n, m = self.counts.shape
        if self.prior.shape != (n,) or self.loss.shape != (m, n) or self.space.size != n:
            raise ValueError("prior, loss, mechanism and space do not fit each other")
        _check_prior(self.prior)
        if self.bits > BITS_OF_ONE:
            bounds: tuple[float | Fraction, float | Fraction] = self._finely()
        else:
            bounds = self._in_floats()
        upper, lower = bounds
        if not upper <= self.upper:
            raise ValueError(f"the mechanism may lose {float(upper)!r}, more than the {self.upper!r} claimed")
        if not lower >= self.lower:
            raise ValueError(
                f"the certificate proves only {float(lower)!r}, less than the {self.lower!r} claimed"
            )
        if self.lower > self.upper:
            raise ValueError("the lower bound exceeds the upper bound")

    def _in_floats(self) -> tuple[float, float]:
        check_private(self.space, self.decay, self.counts)
        cost = costs(self.prior, self.loss)
        lower = loss_below(self.space, self.decay, cost, self.multipliers, self.uniform)
        return loss_above(cost, self.counts), lower

    def _finely(self) -> tuple[Fraction, Fraction]:
        if self.uniform:
            raise ValueError("a mechanism of more than 53 bits is proved by multipliers alone")
        mechanism, cost = FineMechanism(self.counts, self.bits), exact_costs(self.prior, self.loss)
        mechanism.check(self.space, self.decay)
        lower = mechanism.loss_below(self.space, self.decay, cost, self.multipliers)
        return mechanism.loss(cost), lower

    def proved(self) -> str:
        self.check()
        level = f"ε = {self.decay.eps}" if self.decay.eps is not None else f"e^-ε = {self.decay.alpha}"
        low, high = Fraction(self.lower), Fraction(self.upper)
        return (
            f"the mechanism on {self.space.size} inputs is private with {level} and loses at most "
            f"{decimal(high, 12, down=False)}; no such mechanism loses less than "
            f"{decimal(low, 12, down=True)}"
        )

    def meaning(self) -> str:
        return (
            f"users of this mechanism lose {measured(self.upper, down=False)} on average at most, and with "
            f"no mechanism that is as private would they lose less than {measured(self.lower, down=True)}."
        )


def costs(prior: NDArray[Any], loss: NDArray[Any]) -> FloatArray:
    """π_x·ℓ(w,x) as floats [point, action], each within a relative COST_ERROR of the truth.

    A cost nearer to 0 than TINY becomes ±TINY, off by less than that; 0 stands for costs that are 0 only.
    """
    chances, losses = _nearest(prior), _nearest(loss)
    with np.errstate(all="ignore"):
        cost = losses * chances
    none = np.asarray((loss == 0) | (prior == 0), dtype=bool)
    cost[none] = 0.0
    sure = none | (_normal(cost) & _normal(losses) & _normal(chances))
    for w, x in np.argwhere(~sure).tolist():
        cost[w, x] = _nearest_cost(Fraction(prior[x]) * Fraction(loss[w, x]))
    return np.ascontiguousarray(cost.T)


def _nearest(values: NDArray[Any]) -> FloatArray:
    """Each number as a float; infinite beyond the largest."""
    if values.dtype != object:
        return np.asarray(values, dtype=np.float64)
    flat = [_float(value) for value in values.ravel()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _normal(values: FloatArray) -> NDArray[np.bool_]:
    return np.isfinite(values) & (np.abs(values) >= TINY)


def _nearest_cost(exact: Fraction) -> float:
    if abs(exact) < Fraction(TINY):
        return math.copysign(TINY, exact)
    if abs(exact) > Fraction(float(np.finfo(np.float64).max)):
        raise ValueError("a loss times its probability is beyond the largest float")
    return float(exact)


def check_private(space: ProofSpace, decay: Decay, counts: NDArray[np.int64]) -> None:
    """ValueError unless rows sum to 2^53 and every ratio along every edge is allowed, exactly."""
    if counts.ndim != 2 or counts.shape[0] != space.size or counts.shape[1] == 0:
        raise ValueError("the mechanism must have one row for each point")
    require_rows(counts)
    if not len(space.pairs):
        return
    table = counts.astype(np.float64)
    high = decay.enclosure(space.lengths)[1]
    # Where the shortest edge allows even the least and the largest entry of a column, all do.
    if (_surely_above(high.max(), table.max(axis=0)) <= table.min(axis=0)).all():
        return
    step = max(1, BLOCK_ENTRIES // table.shape[1])
    for start in range(0, len(space.pairs), step):
        pairs, factor = space.pairs[start : start + step], high[start : start + step, None]
        for small, large in (pairs.T, pairs.T[::-1]):
            doubtful = _surely_above(factor, table[large]) > table[small]
            for k, w in np.argwhere(doubtful).tolist():
                x, z = int(small[k]), int(large[k])
                if not decay.allows(int(counts[x, w]), int(counts[z, w]), float(space.lengths[start + k])):
                    raise ValueError(f"the mechanism is not private between points {x} and {z}")


def require_rows(counts: NDArray[np.int64]) -> None:
    """ValueError unless every row sums to 2^53, without a sum that wraps around."""
    if (counts < 0).any() or (counts > SCALE).any():
        raise ValueError("the mechanism's entries must be from 0 to 2^53")
    # A float sum tells 2^53 from 2^53 + 2^64.
    if (counts.sum(axis=1) != SCALE).any() or (counts.sum(axis=1, dtype=np.float64) > 2 * SCALE).any():
        raise ValueError("the mechanism's rows are not distributions")


def _surely_above(factor: Any, values: FloatArray) -> FloatArray:
    """A float ≥ factor·value: the product is off by less than its distance to the next float."""
    return np.where(values > 0, np.nextafter(factor * values, np.inf), 0.0)


def loss_above(cost: FloatArray, counts: NDArray[np.int64]) -> float:
    """A float proved to be at least the expected loss of the mechanism."""
    terms = cost * (counts.astype(np.float64) / SCALE)
    if not cost[counts > 0].any():
        return 0.0
    # The product adds a unit to the cost's own error, and the sum of a row one for each entry at most.
    share = COST_ERROR + (terms.shape[1] + 4) * UNIT
    # Tiny costs are off by TINY, and a product that is below it by less; a row's shares sum to 1.
    tiny = 2 * terms.size * TINY
    error = share * math.fsum(np.abs(terms).sum(axis=1)) * 1.01 + tiny
    return float(np.nextafter(math.fsum(terms.sum(axis=1)) + error, np.inf))


def loss_below(
    space: ProofSpace,
    decay: Decay,
    cost: FloatArray,
    multipliers: Multipliers,
    uniform: tuple[UniformPart, ...] = (),
) -> float:
    """A float proved to be at most the expected loss of every private mechanism.

    Where no cost is negative, that is never below 0, whatever rounding leaves of the multipliers' bound.
    """
    n, m = cost.shape
    bracket, size = cost, np.abs(cost)
    terms: NDArray[Any] = np.zeros((1, 1))
    if len(multipliers.value):
        y = multipliers.value
        if not (np.isfinite(y) & (y >= 0)).all():
            raise ValueError("multipliers must be finite and ≥ 0")
        arc, output = multipliers.arc, multipliers.output
        if arc.min() < 0 or arc.max() >= 2 * len(space.pairs) or output.min() < 0 or output.max() >= m:
            raise ValueError("a multiplier names an arc or an output that does not exist")
        ends = space.pairs[arc >> 1]
        turned = (arc & 1).astype(bool)
        left = np.where(turned, ends[:, 1], ends[:, 0]) * m + output
        right = np.where(turned, ends[:, 0], ends[:, 1]) * m + output
        shrunk = y * decay.enclosure(space.lengths)[0][arc >> 1]
        out, into = np.bincount(left, y, n * m), np.bincount(right, shrunk, n * m)
        terms = (np.bincount(left, minlength=n * m) + np.bincount(right, minlength=n * m)).reshape(n, m)
        bracket = cost - out.reshape(n, m) + into.reshape(n, m)
        size = size + out.reshape(n, m) + into.reshape(n, m)
    # Each bracket adds that many rounded terms to a cost with its own error; 1e-300 covers underflow.
    safe = bracket - size * ((terms + 6) * (UNIT * 1.01) + COST_ERROR) - 1e-300
    price = safe.min(axis=1)
    total = [price]
    together = [point for part in uniform for point in part.points.tolist()]
    if len(set(together)) != len(together):
        raise ValueError("a point is in uniform parts twice")
    for part in uniform:
        total.append(np.array([_uniform_below(space, decay, cost, part)]))
        total.append(-price[part.points])
    joined = np.concatenate(total)
    if not np.isfinite(joined).all():
        raise ValueError("the certificate's numbers overflow")
    floor = 0.0 if (cost >= 0).all() else -np.inf
    return max(floor, float(np.nextafter(math.fsum(joined), -np.inf)))


def _uniform_below(space: ProofSpace, decay: Decay, cost: FloatArray, part: UniformPart) -> float:
    """Σλ - max_w(-φ_w)₊ with φ_w = Σp + (e^ε - 1)·Σ min(p, 0), p = q_w - λ summed over each group.

    A column is private iff t ≤ c_x ≤ e^ε·t, so φ_w ≥ 0 says that p is never negative on one; lowering every
    λ by s raises φ_w by at least n·s.
    """
    growth = decay.growth_above(_common_length(space, part))
    points, group, price = part.points, part.group, part.price
    if price.shape != points.shape or not np.isfinite(price).all():
        raise ValueError("a uniform part needs one finite price for each point")
    order = np.argsort(group, kind="stable")
    starts = np.unique(group[order], return_index=True)[1]
    rest = cost[points] - price[:, None]
    size = np.abs(cost[points]) + np.abs(price)[:, None]
    tiny = np.where(cost[points] == 0, 0.0, 2 * TINY)
    rest_low = rest - size * (COST_ERROR + 2 * UNIT) - tiny
    if len(starts) < len(points):
        summed = np.add.reduceat(rest_low[order], starts, axis=0)
        rest_low = summed - np.add.reduceat(size[order], starts, axis=0) * ((len(points) + 2) * UNIT)
    negative = np.minimum(rest_low, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        charged = np.where(negative == 0, 0.0, (growth - 1) * negative)
    magnitude = np.abs(rest_low).sum(axis=0) - charged
    phi = rest_low.sum(axis=0) + charged - magnitude * ((len(points) + 6) * UNIT * 1.01)
    if np.isnan(phi).any():
        raise ValueError("the certificate's numbers overflow")
    missing = max(0.0, -float(phi.min()))
    return float(np.nextafter(math.fsum([*price.tolist(), -missing]), -np.inf))


def _common_length(space: ProofSpace, part: UniformPart) -> float:
    """The one distance between points of different groups, after checking that it is so."""
    place = np.full(space.size, -1, dtype=np.intp)
    if not len(part.points) or part.points.min() < 0 or part.points.max() >= space.size:
        raise ValueError("a uniform part names a point that does not exist")
    if part.group.shape != part.points.shape or part.group.min() < 0:
        raise ValueError("a uniform part needs a group for each point")
    place[part.points] = part.group
    ends = place[space.pairs]
    inside = (ends >= 0).all(axis=1)
    if (inside != (ends >= 0).any(axis=1)).any():
        raise ValueError("an edge leaves a uniform part")
    lengths, apart = space.lengths[inside], ends[inside, 0] != ends[inside, 1]
    if (lengths[~apart] != 0).any() or len(np.unique(lengths[apart])) > 1:
        raise ValueError("the points of a uniform part are not all equally far apart")
    groups = len(np.unique(part.group))
    between = np.sort(ends[inside][apart], axis=1)
    if len(np.unique(between, axis=0)) != groups * (groups - 1) // 2:
        raise ValueError("an edge between two groups of a uniform part is missing")
    alike = space.pairs[inside][~apart]
    joined = coo_array((np.ones(len(alike)), tuple(alike.T)), shape=(space.size, space.size))
    component = connected_components(joined, directed=False)[1]
    if len(np.unique(component[part.points])) != groups:
        raise ValueError("points of one group of a uniform part are not joined at distance 0")
    return float(lengths[apart][0]) if groups > 1 else 0.0


def _check_prior(prior: NDArray[Any]) -> None:
    if not all(0 <= p <= 1 for p in prior) or not abs(float(sum(prior)) - 1) <= 1e-8:
        raise ValueError("the prior is not a distribution")


def _texts(values: NDArray[Any]) -> list[Any]:
    return [value if isinstance(value, float) else str(value) for value in values.tolist()]


def _numbers(values: list[Any]) -> NDArray[Any]:
    if all(isinstance(value, float) for value in values):
        return np.array(values, dtype=np.float64)
    array = np.empty(len(values), dtype=object)
    array[:] = [value if isinstance(value, float) else fraction(value) for value in values]
    return array


def _wholes(values: list[Any]) -> NDArray[Any]:
    """Multipliers in parts of a fine grid."""
    found = np.empty(len(values), dtype=object)
    found[:] = [whole(value, 0) for value in values]
    return found


def parts_of_one(rows: Any, bits: int = BITS_OF_ONE) -> NDArray[Any]:
    """A mechanism's whole numbers, in parts of 2^bits."""
    if bits > BITS_OF_ONE:
        return FineMechanism.read(rows, bits).counts
    return np.array([[whole(value, 0, SCALE) for value in row] for row in entries(rows)], dtype=np.int64)
