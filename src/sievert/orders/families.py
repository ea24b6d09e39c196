"""Truncated geometric, randomised response and exponential on a line as the less safe channel, in O(n·m).

Each is invertible with a known inverse (tridiagonal, or identity minus a constant), so the only candidate
R = A⁻¹B costs a few operations an entry, and a negative entry of R gives a two-action adversary whose gain is
that row of A⁻¹ (Fernandes, Thm 4.16, 4.21 and the column tests behind their thresholds).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.response import ResponseChannel
from sievert.mechanisms.truncated import TruncatedGeometricChannel
from sievert.orders.decisions import Decision
from sievert.orders.exact import ExactDecision
from sievert.orders.witnesses import residual, stochastic, two_action_gap
from sievert.proofs.families import EXPONENTIAL, GEOMETRIC, RESPONSE, FamilyProof, kernel_sums

__all__ = ["Family", "decide_family", "decide_family_exactly", "family_of", "family_proof"]

FloatArray = NDArray[np.float64]
AnyArray = NDArray[Any]
# Beyond this many entries of R, fractions with their long denominators take seconds.
LARGEST_EXACT = 40_000


@dataclass(frozen=True)
class Family:
    """A member of a family: its name, number of inputs, and parameter (a fraction where it is exact)."""

    name: str
    size: int
    parameter: Any

    @property
    def exact(self) -> bool:
        """Whether the parameter is a fraction."""
        return isinstance(self.parameter, Fraction)

    def inverse_times(self, table: AnyArray) -> AnyArray:
        """A⁻¹·B."""
        n, a = self.size, self.parameter
        if self.name == RESPONSE:
            truth, lie = 1 / (1 + (n - 1) * a), a / (1 + (n - 1) * a)
            return np.asarray((table - lie * table.sum(axis=0)) / (truth - lie))
        ends, inner = self._weights()
        scaled = table * ends[:, None]
        result = scaled * (1 + a * a)
        result[[0, -1]] = scaled[[0, -1]]
        result[1:] -= a * scaled[:-1]
        result[:-1] -= a * scaled[1:]
        return np.asarray(result / (inner * (1 - a * a))[:, None])

    def _weights(self) -> tuple[AnyArray, AnyArray]:
        """For A = diag(1/s)·K(a)·diag(c): s and c."""
        n, a = self.size, self.parameter
        one: Any = Fraction(1) if self.exact else 1.0
        dtype = object if self.exact else np.float64
        if self.name == EXPONENTIAL:
            return np.array(kernel_sums(a, n), dtype=dtype), np.array([one] * n, dtype=dtype)
        inner = [(1 - a) / (1 + a)] * n
        inner[0] = inner[-1] = 1 / (1 + a)
        return np.array([one] * n, dtype=dtype), np.array(inner, dtype=dtype)

    def floats(self) -> FloatArray:
        """The channel's matrix, without its fractions."""
        n, a = self.size, float(self.parameter)
        positions = np.arange(n)
        if self.name == RESPONSE:
            lie = a / (1 + (n - 1) * a)
            return np.where(np.eye(n, dtype=bool), 1 / (1 + (n - 1) * a), lie)
        ends, inner = Family(self.name, n, a)._weights()
        kernel = a ** np.abs(np.subtract.outer(positions, positions)).astype(np.float64)
        return np.asarray(kernel * inner / ends[:, None])

    def inverse_row(self, y: int) -> AnyArray:
        """Row y of A⁻¹."""
        n, a = self.size, self.parameter
        zero: Any = Fraction(0) if self.exact else 0.0
        row = np.full(n, zero, dtype=object if self.exact else np.float64)
        if self.name == RESPONSE:
            truth, lie = 1 / (1 + (n - 1) * a), a / (1 + (n - 1) * a)
            row -= lie / (truth - lie)
            row[y] += 1 / (truth - lie)
            return row
        ends, inner = self._weights()
        row[y] = (1 if y in (0, n - 1) else 1 + a * a) * ends[y]
        for neighbour in (y - 1, y + 1):
            if 0 <= neighbour < n:
                row[neighbour] = -a * ends[neighbour]
        return np.asarray(row / (inner[y] * (1 - a * a)))

    def spans(self) -> FloatArray:
        """max - min (0 included) of every row of A⁻¹."""
        rows = Family(self.name, self.size, float(self.parameter))
        if self.name == RESPONSE:
            row = rows.inverse_row(0)
            return np.full(self.size, float(row.max() - min(row.min(), 0.0)))
        ends, inner = rows._weights()
        a, n = float(self.parameter), self.size
        peak = ends * (1 + a * a)
        peak[[0, -1]] = ends[[0, -1]]
        lowest = np.zeros(n)
        lowest[1:] = np.maximum(lowest[1:], a * ends[:-1])
        lowest[:-1] = np.maximum(lowest[:-1], a * ends[1:])
        return np.asarray((peak + lowest) / (inner * (1 - a * a)))


def family_of(channel: Channel) -> Family | None:
    """The family a channel is known to belong to, with a parameter strictly between 0 and 1."""
    if isinstance(channel, TruncatedGeometricChannel):
        found = Family(GEOMETRIC, channel.shape[0], _parameter(channel.level.alpha, channel.level.eps))
    elif isinstance(channel, ResponseChannel):
        found = Family(RESPONSE, channel.shape[0], _parameter(channel.alpha, channel.eps))
    else:
        return _exponential(channel)
    return found if 0 < found.parameter < 1 and found.size >= 2 else None


def _parameter(alpha: Fraction | None, eps: float) -> Any:
    return math.exp(-eps) if alpha is None else alpha


def _exponential(channel: Channel) -> Family | None:
    """C[x,y] = C[x,x]·a^|x-y| in every row: the exponential mechanism on a line, however it was made."""
    n, m = channel.shape
    if n != m or n < 3:
        return None
    logs = channel.log_matrix
    if not np.isfinite(logs).all():
        return None
    step = float(logs[0, 0] - logs[0, 1])
    if not step > 0:
        return None
    distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    miss = np.abs(logs - np.diag(logs)[:, None] + step * distances).max()
    # Logarithms of correctly rounded numbers agree to a few units in the last place of n·step.
    if not miss <= 1e-13 * (4 + n * step):
        return None
    exact = channel.exact if channel.form == "exact" else None
    if exact is None:
        return Family(EXPONENTIAL, n, math.exp(-step))
    a = exact[0, 1] / exact[0, 0]
    powers = np.array([a**k for k in range(n)], dtype=object)
    same = exact == np.diag(exact)[:, None] * powers[distances]
    return Family(EXPONENTIAL, n, a) if bool(np.all(same)) else None


def decide_family(family: Family, less_safe: FloatArray, safer: FloatArray) -> Decision:
    """The only candidate R and its best two-action witness, in floats."""
    known = Family(family.name, family.size, float(family.parameter))
    post = known.inverse_times(safer)
    value = -post / family.spans()[:, None]
    y, w = np.unravel_index(int(np.argmax(value)), value.shape)
    method = f"column tests of the {family.name}"
    if value[y, w] <= 0:
        fitted = stochastic(post)
        return Decision(0.0, residual(fitted, less_safe, safer), fitted, None, method)
    witness = np.stack([-known.inverse_row(int(y)), np.zeros(family.size)], axis=1)
    lower = two_action_gap(witness, less_safe, safer)
    fitted = stochastic(post)
    return Decision(lower, residual(fitted, less_safe, safer), fitted, witness, method)


def decide_family_exactly(family: Family, safer: Channel) -> ExactDecision | None:
    """The only candidate R in fractions; None where that would be too long."""
    if not family.exact or family.size * safer.shape[1] > LARGEST_EXACT:
        return None
    post = family.inverse_times(safer._data)
    method = f"column tests of the {family.name}, exactly"
    negative = np.argwhere(np.asarray(post < 0, dtype=bool))
    if not len(negative):
        return ExactDecision(True, post, None, method)
    spans = family.spans()
    worst = max(negative.tolist(), key=lambda at: -float(post[at[0], at[1]]) / spans[at[0]])
    row = -family.inverse_row(worst[0])
    witness = np.stack([row, np.full(family.size, Fraction(0), dtype=object)], axis=1)
    return ExactDecision(False, None, witness, method)


def family_proof(first: Family, second: Family | None) -> FamilyProof | None:
    """The closed form for two members with exact parameters, or None."""
    if second is None or not (first.exact and second.exact):
        return None
    proof = FamilyProof(first.name, second.name, first.size, first.parameter, second.parameter, True)
    found = proof.decided()
    if found is None or found:
        return None if found is None else proof
    return FamilyProof(first.name, second.name, first.size, first.parameter, second.parameter, False)
