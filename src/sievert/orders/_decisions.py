"""What deciding average refinement in floats finds: a bracket on the deficiency and its two certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, finite_channel
from sievert.errors import ChannelError
from sievert.spaces import align

__all__ = [
    "TOLERANCE",
    "Decision",
    "Witness",
    "aligned",
    "best_prior",
    "best_prior_gap",
    "gap",
    "gap_error",
    "normalised_gap",
    "residual",
    "span",
    "stochastic",
    "tighter",
    "two_action_gap",
]
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


# ── Gaps and distances: the two numbers that certify a refusal and an acceptance, whatever produced them ────
# For any G [secret, action], gap(G) = <G,B> - Σ_y max_w (AᵀG)[y,w] is at most the largest <G, B - AR>, so a
# positive gap proves that no R has AR = B. For any stochastic R, max_x TV(B_x, (AR)_x) bounds the
# deficiency.
Witness = FloatArray  # [secret, output of B]
EPS = float(np.finfo(np.float64).eps)


def gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """<G,B> - Σ_y max_w (AᵀG)[y,w]."""
    return float((witness * safer).sum() - (less_safe.T @ witness).max(axis=1).sum())


def gap_error(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """A-priori rounding allowance of the gap."""
    size = np.abs(witness)
    scale = (size * safer).sum() + (less_safe.T @ size).max(axis=1).sum()
    return float(2 * EPS * (safer.shape[0] + safer.shape[1] + 8) * scale)


def span(witness: FloatArray) -> float:
    """Largest spread of a row: adding a constant to a row changes nothing."""
    return float((witness.max(axis=1) - witness.min(axis=1)).max())


def normalised_gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """Advantage under the uniform prior for the gain scaled to [0, 1], less the rounding allowance."""
    width = span(witness)
    if not width > 0 or not np.isfinite(width):
        return 0.0
    sure = gap(witness, less_safe, safer) - gap_error(witness, less_safe, safer)
    return float(max(0.0, sure / (len(less_safe) * width)))


def best_prior(witness: FloatArray) -> FloatArray:
    """The prior that makes a witness count most: each secret in proportion to the spread of its gains."""
    width = witness.max(axis=1) - witness.min(axis=1)
    total = float(width.sum())
    return width / total if total > 0 else np.full(len(width), 1 / len(width))


def best_prior_gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """Advantage under the best prior for gains in [0, 1]: a lower bound on the Le Cam deficiency."""
    total = float((witness.max(axis=1) - witness.min(axis=1)).sum())
    if not total > 0 or not np.isfinite(total):
        return 0.0
    return max(0.0, (gap(witness, less_safe, safer) - gap_error(witness, less_safe, safer)) / total)


def stochastic(post: FloatArray) -> FloatArray:
    """Negative entries clipped and rows rescaled."""
    clipped = np.maximum(post, 0.0)
    sums = clipped.sum(axis=1, keepdims=True)
    return np.where(sums > 0, clipped / np.where(sums > 0, sums, 1.0), 1.0 / post.shape[1])


def residual(post: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """max_x TV(B_x, (AR)_x): an upper bound on the deficiency."""
    return float(np.abs(safer - less_safe @ post).sum(axis=1).max() / 2)


def two_action_gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """As `normalised_gap` for a gain whose actions are not tied to outputs of B, in O(n·m·actions)."""
    width = span(witness)
    if not width > 0 or not np.isfinite(width):
        return 0.0
    before, after = less_safe.T @ witness, safer.T @ witness
    size = np.abs(witness)
    allowance = (less_safe.T @ size).max(axis=1).sum() + (safer.T @ size).max(axis=1).sum()
    error = 2 * EPS * (len(witness) + max(less_safe.shape[1], safer.shape[1]) + 8) * float(allowance)
    sure = float(after.max(axis=1).sum() - before.max(axis=1).sum()) - error
    return float(max(0.0, sure / (len(less_safe) * width)))


# ── Two channels made comparable: finite, on the same inputs in the same order ──────────────────────────────


def aligned(
    less_safe: Channel, safer: Channel, names: tuple[str, str] = ("less_safe", "safer")
) -> tuple[Channel, Channel]:
    """Both channels, finite, with the inputs of the second in the order of the first."""
    first, second = finite_channel(less_safe, names[0]), finite_channel(safer, names[1])
    if first.shape[0] != second.shape[0]:
        raise ChannelError(
            f"the channels have {first.shape[0]} and {second.shape[0]} inputs; "
            "compare channels on the same inputs"
        )
    positions = align(first.inputs, second.inputs, "the inputs of the second channel", ChannelError)
    if positions is not None:
        second = Channel.trusted(second.entries[positions], second.form, first.inputs, second.outputs)
    return first, second
