"""What deciding average refinement in floats finds: a bracket on the deficiency and its two certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["TOLERANCE", "Decision", "tighter"]

FloatArray = NDArray[np.float64]
# Far above rounding (1e-13 at 300 secrets), far below any effect of interest.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Decision:
    """A bracket on the deficiency with its two certificates, and how it was found."""

    lower: float
    upper: float
    post: FloatArray | None
    witness: FloatArray | None
    method: str

    @property
    def holds(self) -> bool | None:
        """True, False, or None when the bracket contains the tolerance."""
        if self.upper <= TOLERANCE:
            return True
        return False if self.lower > TOLERANCE else None

    def with_post(self, post: FloatArray, upper: float) -> Decision:
        """The decision with a post-processing, where it comes nearer."""
        return replace(self, post=post, upper=upper) if upper < self.upper else self

    def with_witness(self, witness: FloatArray, lower: float) -> Decision:
        """The decision with a witness, where it gains more."""
        return replace(self, witness=witness, lower=lower) if lower > self.lower else self


def tighter(first: Decision, second: Decision) -> Decision:
    """The tighter of two brackets, side by side, under the name of the second."""
    low = second if second.lower >= first.lower else first
    high = first if first.upper <= second.upper else second
    return Decision(low.lower, high.upper, high.post, low.witness, second.method)
