"""What a user makes of noisy outputs: the best action for each, and what it gains over taking them as is.

Remapping is post-processing, so it keeps every privacy guarantee, and it never raises the expected loss
(Fernandes, Def 6.2.2, Lem 6.1).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.design.optimal import as_loss
from sievert.leakage.adversary import MatrixAdversary
from sievert.numerics.rationals import exact_matmul, fractions_of
from sievert.results import Result

__all__ = ["Remap", "remap"]


@dataclass(frozen=True)
class Remap(Result):
    """The best action for every output.

    Attributes
    ----------
    actions : output → action
    before : expected loss when outputs are taken as actions as they are (None: they are no actions)
    after : expected loss with the best actions
    without_release : expected loss of the best action without any output
    mechanism : the channel followed by the remap
    """

    actions: dict[Hashable, Hashable] = field(repr=False)
    before: float | Fraction | None
    after: float | Fraction
    without_release: float | Fraction
    mechanism: Channel = field(repr=False)

    def __float__(self) -> float:
        return float(self.after)

    def __str__(self) -> str:
        found = f"expected loss {float(self.after):.6g} with the best action for each output"
        if self.before is not None:
            found += f", {float(self.before):.6g} taking outputs as they are"
        return f"{found}, {float(self.without_release):.6g} without any release"


def remap(channel: Channel, prior: object = None, loss: object = None) -> Remap:
    """The Bayesian remap of a channel's outputs for a loss (Bayes risk by default).

    Exact where channel, prior and loss are. O(actions·inputs·outputs).

    >>> from sievert.leakage import losses
    >>> from sievert.mechanisms import randomised_response
    >>> best = remap(randomised_response(3, alpha="1/2"), ["4/5", "1/10", "1/10"], losses.absolute(3))
    >>> best.after, best.before, best.actions
    (Fraction(3, 10), Fraction(29, 40), {0: 0, 1: 0, 2: 0})
    """
    finite = channel.finite()
    wanted = as_loss(loss, finite.inputs)
    belief = as_prior(prior, finite)
    exact = finite.form == "exact" and belief.dtype == object and wanted.is_exact
    joint = _joint(finite, belief, exact)
    if exact:
        scores: NDArray[Any] = exact_matmul(fractions_of(wanted.table), joint)
    else:
        scores = np.asarray(wanted.table, dtype=np.float64) @ joint
    best = scores.argmin(axis=0)
    remapped = np.zeros((finite.shape[1], len(wanted.actions)), dtype=np.int64)
    remapped[np.arange(finite.shape[1]), best] = 1
    post = Channel(remapped, finite.outputs, wanted.actions)
    return Remap(
        {output: wanted.actions[int(w)] for output, w in zip(finite.outputs, best, strict=True)},
        _taken(finite, wanted, scores),
        _number(scores.min(axis=0).sum()),
        _number(scores.sum(axis=1).min()),
        finite.then(post),
    )


def _joint(channel: Channel, belief: NDArray[Any], exact: bool) -> NDArray[Any]:
    if exact:
        assert channel.exact is not None
        return np.asarray(belief[:, None] * channel.exact)
    return np.asarray(belief.astype(np.float64)[:, None] * channel.rounded())


def _taken(channel: Channel, wanted: MatrixAdversary, scores: NDArray[Any]) -> float | Fraction | None:
    """The loss when every output is taken as the action of the same name."""
    position = {action: w for w, action in enumerate(wanted.actions)}
    if not all(output in position for output in channel.outputs):
        return None
    rows = [position[output] for output in channel.outputs]
    return _number(scores[rows, np.arange(len(rows))].sum())


def _number(value: Any) -> float | Fraction:
    return value if isinstance(value, Fraction) else float(value)
