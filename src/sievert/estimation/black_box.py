"""Audit a mechanism by its outputs alone: a lower bound on ε that holds with a stated confidence.

If the mechanism is (ε, δ)-private, then P(E | a) ≤ e^ε·P(E | b) + δ for every event E. One half of the
samples
chooses the event and the direction; the other half bounds both probabilities by Clopper and Pearson's exact
intervals. The event is fixed before the second half is looked at, so no correction for the search is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.errors import ChannelError
from sievert.estimation.events import Event, candidate_events, outputs_kind, outputs_of
from sievert.estimation.intervals import checked_confidence, share_above, share_below
from sievert.results import Result

__all__ = ["BlackBoxAudit", "audit_mechanism", "audit_samples"]

SMALLEST_SAMPLE = 20
NOTHING = "a pass proves nothing: another event or other inputs might tell them apart"


@dataclass(frozen=True)
class BlackBoxAudit(Result):
    """What samples of two inputs prove about a mechanism.

    Attributes
    ----------
    eps_lower : with the stated confidence the true ε (at this δ) is at least this; 0 when nothing was found
    delta : the δ that is granted
    confidence : share of audits whose `eps_lower` does not exceed the truth
    claimed : the ε that was claimed (None: no claim), and `refuted` whether `eps_lower` exceeds it
    event : the event that tells the inputs apart; `likelier` is the input under which it happens more often
    shares : its share among the test samples of the likelier and of the other input
    samples : how many outputs of the two inputs were used in all
    """

    eps_lower: float
    delta: float
    confidence: float
    claimed: float | None
    refuted: bool
    event: str
    likelier: str
    shares: tuple[float, float]
    samples: int

    @property
    def passed(self) -> bool:
        """Whether the claim was not refuted; this proves nothing about the mechanism."""
        return not self.refuted

    def __float__(self) -> float:
        return self.eps_lower

    def __str__(self) -> str:
        sure = f"with {self.confidence:.6g} confidence"
        found = (
            f"“{self.event}” happened in {self.shares[0]:.2%} of the tests with input {self.likelier} and in "
            f"{self.shares[1]:.2%} of those with the other"
        )
        if self.refuted:
            granted = f" at δ = {self.delta:g}" if self.delta else ""
            return (
                f"The claim ε = {self.claimed:g}{granted} is refuted {sure}: the true ε is at least "
                f"{self.eps_lower:.4g}, since {found} ({self.samples} samples)."
            )
        at_least = f"{sure} ε is at least {self.eps_lower:.4g} ({found})"
        if self.claimed is None:
            return f"From {self.samples} samples, {at_least}; it may be much larger."
        return f"{self.samples} samples do not refute the claim ε = {self.claimed:g}: {at_least}; {NOTHING}."


def audit_samples(
    first: object,
    second: object,
    eps: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
) -> BlackBoxAudit:
    """A lower bound on ε from outputs of two neighbouring inputs.

    Parameters
    ----------
    first, second : outputs of independent runs on the first and on the second input: numbers, labels, or
        vectors (one a row)
    eps : the claim to refute, if there is one
    delta : the δ that the claim grants
    confidence : at most one audit in 1/(1-confidence) of a correct mechanism may say too much
    rng : for the split into a half that chooses the event and a half that tests it

    Examples
    --------
    >>> noise = np.random.default_rng(0)
    >>> found = audit_samples(noise.laplace(0, 0.5, 4000), noise.laplace(1, 0.5, 4000), eps=1.0, rng=1)
    >>> found.refuted, found.eps_lower > 1.5             # noise of half the scale: the true ε is 2
    (True, True)
    """
    level, sure = _claim(eps, delta), checked_confidence(confidence)
    sides = [outputs_of(first, "first"), outputs_of(second, "second")]
    kinds = [outputs_kind(side) for side in sides]
    kind = kinds[0] if kinds[0] == kinds[1] else "label"
    for side, name in zip(sides, ("first", "second"), strict=True):
        if len(side) < SMALLEST_SAMPLE:
            raise ChannelError(
                f"{name} has {len(side)} outputs; it needs at least {SMALLEST_SAMPLE}, better thousands"
            )
    generator = np.random.default_rng(rng)
    (train_a, test_a), (train_b, test_b) = (_halves(side, kind, generator) for side in sides)
    risk = 1 - sure
    found = [
        (_promise(event, a, b, delta, risk), event, swapped)
        for swapped, (a, b) in enumerate(((train_a, train_b), (train_b, train_a)))
        for event in candidate_events(a, b, kind)
    ]
    _, event, swapped = max(found, key=lambda item: item[0])
    tests = (test_b, test_a) if swapped else (test_a, test_b)
    hits = [int(event.contains(side).sum()) for side in tests]
    sizes = [len(side) for side in tests]
    lower = _bound(hits[0], sizes[0], hits[1], sizes[1], delta, risk)
    return BlackBoxAudit(
        lower,
        float(delta),
        sure,
        level,
        level is not None and lower > level,
        event.words,
        names[1] if swapped else names[0],
        (hits[0] / sizes[0], hits[1] / sizes[1]),
        len(sides[0]) + len(sides[1]),
    )


def audit_mechanism(
    mechanism: Callable[[Any], Any],
    first: object,
    second: object,
    eps: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    trials: int = 10_000,
    rng: int | np.random.Generator | None = None,
) -> BlackBoxAudit:
    """Run a mechanism on two neighbouring inputs and bound its ε from below.

    Parameters
    ----------
    mechanism : a function of the input that draws its own noise; it is called `trials` times on each input
    first, second : the two inputs
    rng : for the split of the outputs; the mechanism's own randomness is its own affair

    Examples
    --------
    >>> noise = np.random.default_rng(0)
    >>> found = audit_mechanism(lambda x: x + noise.laplace(0, 1), 0, 1, eps=1.0, trials=2000, rng=1)
    >>> found.refuted                                     # this proves nothing
    False
    """
    if not callable(mechanism):
        raise ChannelError(f"mechanism is {mechanism!r}; give a function of the input")
    if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < SMALLEST_SAMPLE:
        raise ChannelError(f"trials is {trials!r}; it must be a whole number ≥ {SMALLEST_SAMPLE}")
    outputs = [[mechanism(given) for _ in range(trials)] for given in (first, second)]
    return audit_samples(
        outputs[0], outputs[1], eps, delta, confidence, rng, names=(repr(first), repr(second))
    )


def _claim(eps: object, delta: object) -> float | None:
    if isinstance(delta, bool) or not isinstance(delta, int | float | np.number) or not 0 <= delta <= 1:
        raise ChannelError(f"delta is {delta!r}; it is a probability, so give a number from 0 to 1")
    if eps is None:
        return None
    if isinstance(eps, bool) or not isinstance(eps, int | float | np.number) or not eps >= 0:
        raise ChannelError(f"eps is {eps!r}; it must be a number ≥ 0 (nats)")
    return float(eps)


def _halves(outputs: Any, kind: str, generator: np.random.Generator) -> tuple[Any, Any]:
    order = generator.permutation(len(outputs))
    half = len(outputs) // 2
    if kind == "label":
        return [outputs[i] for i in order[:half]], [outputs[i] for i in order[half:]]
    return outputs[order[:half]], outputs[order[half:]]


def _promise(event: Event, likelier: Any, other: Any, delta: float, risk: float) -> float:
    """What the bound would be if the test half looked like the training half."""
    hits, misses = int(event.contains(likelier).sum()), int(event.contains(other).sum())
    return _bound(hits, len(likelier), misses, len(other), delta, risk)


def _bound(hits: int, trials: int, other_hits: int, other_trials: int, delta: float, risk: float) -> float:
    """ln((p - δ)/q) with p from below and q from above, each wrong with probability at most risk/2."""
    low = share_above(hits, trials, risk / 2) - delta
    high = share_below(other_hits, other_trials, risk / 2)
    return math.log(low / high) if low > high > 0 else 0.0
