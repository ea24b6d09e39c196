"""The trade-off of somebody who must say which of two inputs was used: false alarms against misses.

A trade-off function is the least share of misses at each share of false alarms (Dong, Roth and Su, Def 2.1):
convex, falling, at most 1 - α. With δ(ε) it says the same: δ(ε) = max over α of 1 - f(α) - e^ε·α.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.results import Result

__all__ = ["Tradeoff"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tradeoff(Result):
    """Least share of misses for each share of false alarms; straight lines between the points.

    `exact` is False where the curve only bounds the misses from below: every attacker misses so much, perhaps
    more. `pair` is the two inputs of a channel's curve, the one that an alarm is about first.
    """

    false_alarm: FloatArray
    miss: FloatArray
    exact: bool = True
    pair: tuple[Hashable, Hashable] | None = None
    # The advantage, where it is known more precisely than by the points.
    total_variation: float | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The points; `advantage` follows from them."""
        return {name: value for name, value in super().to_dict().items() if name != "total_variation"}

    def at(self, false_alarm: ArrayLike) -> FloatArray:
        """Least share of misses at a share of false alarms."""
        shares = np.asarray(false_alarm, dtype=np.float64)
        return np.asarray(np.interp(shares, self.false_alarm, self.miss), dtype=np.float64)

    @property
    def advantage(self) -> float:
        """Largest difference between the shares of right and of false alarms: the total variation."""
        if self.total_variation is not None:
            return self.total_variation
        return float(np.max(1 - self.false_alarm - self.miss))

    def __str__(self) -> str:
        misses = ", ".join(f"{float(self.at(a)):.1%} at {a:.0%}" for a in (0.01, 0.05, 0.1))
        relation = "misses" if self.exact else "misses at least"
        return f"whoever tells the two apart {relation} {misses} false alarms"
