"""Audit a mechanism by its outputs alone: a lower bound on ε that holds with a stated confidence.

If the mechanism is (ε, δ)-private, then P(E | a) ≤ e^ε·P(E | b) + δ for every event E. One half of the
samples chooses the event and the direction; the other half bounds both probabilities by Clopper and
Pearson's exact intervals. The event is fixed before the second half is looked at, so no correction for the
search is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.divergences import Against, neighbours_of
from sievert.errors import ChannelError
from sievert.estimation._events import (
    Event,
    candidate_events,
    checked_confidence,
    outputs_kind,
    outputs_of,
    runs_of,
    share_above,
    share_below,
)
from sievert.numerics import brief, generator_of, non_negative, probability, require_size, whole
from sievert.proofs import Proof, RunsProof
from sievert.results import Result

__all__ = ["BlackBoxAudit", "audit_mechanism", "audit_outputs", "audit_samples"]

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
    event : the event that tells two inputs apart; it happens more often with `likelier` than with `other`
    shares : its share among the test samples of the likelier and of the other input
    samples : how many outputs were looked at in all
    certificate : the proof of `eps_lower`, by tails of binomials (None: there is none, as `uncertified` says)
    """

    eps_lower: float
    delta: float
    confidence: float
    claimed: float | None
    refuted: bool
    event: str
    likelier: str
    other: str
    shares: tuple[float, float]
    samples: int
    certificate: Proof | None = field(default=None, repr=False)
    uncertified: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words as plain data; the proof is saved on its own."""
        data = Result.to_dict(replace(self, certificate=None))
        return {name: value for name, value in data.items() if name != "certificate"}

    @property
    def passed(self) -> bool:
        """Whether the claim was not refuted; this proves nothing about the mechanism."""
        return not self.refuted

    def __float__(self) -> float:
        return self.eps_lower

    def __str__(self) -> str:
        sure = f"with {100 * self.confidence:g}% confidence"
        found = (
            f"“{self.event}” happened in {self.shares[0]:.2%} of the tests with input {self.likelier} and in "
            f"{self.shares[1]:.2%} of those with {self.other}"
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


MOST_TRIALS = 10_000_000
# Runs of an input that a proof counts, and the share by which its bounds are wider than the float ones.
MOST_PROVED = 1_000_000
MARGIN = Fraction(1, 10**10)


def audit_samples(
    inputs: object,
    outputs: object,
    eps: float | None = None,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
    policy_or_metric: Against | None = None,
) -> BlackBoxAudit:
    """A lower bound on ε from runs of a mechanism: an input and an output each.

    Parameters
    ----------
    inputs, outputs : one input and one output for each independent run; outputs are numbers, labels, or
        vectors (one a row)
    eps : the claim to refute, if there is one
    delta : the δ that the claim grants
    confidence : at most a share 1 - confidence of audits of a correct mechanism may say too much
    rng : for the split into a half that chooses pair and event and a half that tests them
    policy_or_metric : which inputs are neighbours (any two by default); with a metric, ε is per unit of it

    Returns
    -------
    BlackBoxAudit
        `eps_lower`, the pair and the event that show it, and whether the claim is `refuted`.

    Notes
    -----
    Inputs with fewer than 20 runs are left out. Every pair of neighbours is looked at on the first half.

    Cost: O(runs·log runs) for each pair of neighbours.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> draw = np.random.default_rng(0)
    >>> secret = draw.integers(0, 3, 9000)
    >>> noisy = secret + draw.laplace(0, 0.5, 9000)
    >>> found = audit_samples(secret, noisy, eps=1.0, policy_or_metric=metrics.line(3), rng=1)
    >>> found.refuted, found.eps_lower > 1.4             # noise of half the scale: the true ε is 2
    (True, True)
    """
    seen = outputs_of(outputs, "outputs")
    labels, which = runs_of(inputs)
    if len(which) != len(seen):
        raise ChannelError(f"outputs has {len(seen)} entries but inputs {len(which)}; give one of each a run")
    counts = np.bincount(which, minlength=len(labels))
    usable = [x for x in range(len(labels)) if counts[x] >= SMALLEST_SAMPLE]
    pairs = _pairs(labels, usable, policy_or_metric)
    if not pairs:
        raise ChannelError(
            f"the runs hold no two neighbours with at least {SMALLEST_SAMPLE} runs each; run more, or "
            "check that the policy's values are the inputs"
        )
    groups = {x: _chosen(seen, np.flatnonzero(which == x)) for x in usable}
    return _audit(groups, pairs, [repr(item) for item in labels], eps, delta, confidence, rng)


def audit_outputs(
    first: object,
    second: object,
    eps: float | None = None,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> BlackBoxAudit:
    """A lower bound on ε from outputs of two neighbouring inputs.

    Parameters
    ----------
    first, second : outputs of independent runs on the first and on the second input
    eps, delta : the claim to refute, if there is one, and the δ that it grants
    confidence : at most a share 1 - confidence of audits of a correct mechanism may say too much
    rng : for the split into a half that chooses an event and a half that tests it
    names : what the two inputs are called

    Returns
    -------
    BlackBoxAudit
        `eps_lower`, the event that shows it, and whether the claim is `refuted`.

    Notes
    -----
    Cost: O(runs·log runs).

    Examples
    --------
    >>> noise = np.random.default_rng(0)
    >>> found = audit_outputs(noise.laplace(0, 0.5, 4000), noise.laplace(1, 0.5, 4000), eps=1.0, rng=1)
    >>> found.refuted, found.eps_lower > 1.5             # noise of half the scale: the true ε is 2
    (True, True)
    """
    if not isinstance(names, list | tuple) or len(names) != 2:
        raise ChannelError(f"names is {brief(names)}; give two names, one for each input")
    sides = {0: outputs_of(first, "first"), 1: outputs_of(second, "second")}
    for side, name in zip(sides.values(), ("first", "second"), strict=True):
        if len(side) < SMALLEST_SAMPLE:
            raise ChannelError(
                f"{name} has {len(side)} outputs; it needs at least {SMALLEST_SAMPLE}, better thousands"
            )
    return _audit(sides, [(0, 1, 1.0)], [str(name) for name in names], eps, delta, confidence, rng)


def audit_mechanism(
    mechanism: Callable[[Any], Any],
    first: object,
    second: object,
    eps: float | None = None,
    *,
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
    eps, delta : the claim to refute, if there is one, and the δ that it grants
    confidence : at most a share 1 - confidence of audits of a correct mechanism may say too much
    trials : how often the mechanism is run on each of the two
    rng : for the split of the outputs; the mechanism's own randomness is its own affair

    Returns
    -------
    BlackBoxAudit
        `eps_lower`, the event that shows it, and whether the claim is `refuted`.

    Notes
    -----
    A sample never proves a claim: it can only refute one.

    Cost: 2·trials runs of the mechanism, and O(trials·log trials) for sorting what came out.

    Examples
    --------
    >>> noise = np.random.default_rng(0)
    >>> found = audit_mechanism(lambda x: x + noise.laplace(0, 1), 0, 1, eps=1.0, trials=2000, rng=1)
    >>> found.refuted                                     # this proves nothing
    False
    """
    if not callable(mechanism):
        raise ChannelError(f"mechanism is {brief(mechanism)}; give a function of the input")
    trials = whole("trials", trials, ChannelError, least=SMALLEST_SAMPLE)
    require_size(trials, MOST_TRIALS, "the runs on each input", "run fewer; 10,000 tell much already")
    outputs = [[mechanism(given) for _ in range(trials)] for given in (first, second)]
    return audit_outputs(
        outputs[0],
        outputs[1],
        eps,
        delta=delta,
        confidence=confidence,
        rng=rng,
        names=(brief(first), brief(second)),
    )


def _audit(
    groups: dict[int, Any],
    pairs: list[tuple[int, int, float]],
    names: list[str],
    eps: float | None,
    delta: float,
    confidence: float,
    rng: int | np.random.Generator | None,
) -> BlackBoxAudit:
    """Choose pair, direction and event on one half; test that one choice on the other."""
    level = None if eps is None else non_negative("eps", eps, ChannelError, infinite=True)
    delta, sure = probability("delta", delta, ChannelError), checked_confidence(confidence)
    kinds = {outputs_kind(side) for side in groups.values()}
    kind = kinds.pop() if len(kinds) == 1 else "label"
    generator = generator_of(rng)
    parts = {x: _parts(side, kind, generator) for x, side in groups.items()}
    risk = 1 - sure
    best: tuple[float, Event, int, int, float] | None = None
    for i, h, length in pairs:
        for a, b in ((i, h), (h, i)):
            for event in candidate_events(parts[a][0], parts[b][0], kind):
                promise = _promise(event, parts[a][1], parts[b][1], delta, risk) / length
                if best is None or promise > best[0]:
                    best = promise, event, a, b, length
    if best is None:
        raise ChannelError("outputs: no event can be formed from them; give finite numbers or labels")
    _, event, a, b, length = best
    tests = parts[a][2], parts[b][2]
    hits = [int(event.contains(side).sum()) for side in tests]
    sizes = [len(side) for side in tests]
    counts = hits[0], sizes[0], hits[1], sizes[1]
    lower = _bound(*counts, delta, risk) / length
    proof, missing = _proof(counts, delta, sure, length, lower)
    return BlackBoxAudit(
        lower,
        delta,
        sure,
        level,
        level is not None and lower > level,
        event.words,
        names[a],
        names[b],
        (hits[0] / sizes[0], hits[1] / sizes[1]),
        sum(len(side) for side in groups.values()),
        proof,
        missing,
    )


def _proof(
    counts: tuple[int, int, int, int], delta: float, confidence: float, length: float, lower: float
) -> tuple[Proof | None, str | None]:
    """The bound in fractions, smaller by 1e-9 at most; where there is none, why."""
    hits, trials, other_hits, other_trials = counts
    if lower <= 0:
        return None, "the runs show no leak, and what they do not show proves nothing"
    if max(trials, other_trials) > MOST_PROVED:
        return None, f"tails of binomials are written out for up to {MOST_PROVED:,} runs"
    sure, granted = Fraction(str(confidence)), Fraction(str(delta))
    risk = (1 - confidence) / 2
    low = Fraction(share_above(hits, trials, risk)) * (1 - MARGIN)
    high = Fraction(share_below(other_hits, other_trials, risk)) * (1 + MARGIN)
    apart = Fraction(length)
    margin = MARGIN * (2 + low / (low - granted)) / apart if low > granted else Fraction(1)
    eps = max(Fraction(0), Fraction(lower) - 2 * margin)
    places = [Fraction(math.floor(low * 2**80), 2**80), Fraction(math.ceil(high * 2**80), 2**80)]
    found = RunsProof(
        eps, granted, apart, sure, (hits, trials), (other_hits, other_trials), places[0], places[1]
    )
    checked = found.verify()
    return (found, None) if checked else (None, f"the one that was tried does not hold: {checked.statement}")


def _pairs(
    labels: tuple[Hashable, ...], usable: list[int], policy: Against | None
) -> list[tuple[int, int, float]]:
    """Neighbouring inputs that were run often enough, with their distances."""
    if policy is None:
        return [(i, h, 1.0) for i, h in combinations(usable, 2)]
    named, edges = neighbours_of(policy)
    position = {label: x for x, label in enumerate(labels)}
    found = []
    for (i, h), length in zip(edges.pairs.tolist(), edges.lengths.tolist(), strict=True):
        a, b = position.get(named[i]), position.get(named[h])
        if a in usable and b in usable and length > 0:
            assert a is not None and b is not None
            found.append((a, b, length))
    return found


def _chosen(outputs: Any, rows: NDArray[np.intp]) -> Any:
    return outputs[rows] if isinstance(outputs, np.ndarray) else [outputs[i] for i in rows]


def _parts(outputs: Any, kind: str, generator: np.random.Generator) -> tuple[Any, Any, Any]:
    """A quarter to form events, a quarter to choose among them, a half to test the chosen one.

    Choosing on the samples that formed an event would favour events that merely describe those samples.
    """
    order = generator.permutation(len(outputs))
    quarter, half = len(outputs) // 4, len(outputs) // 2
    pieces = order[:quarter], order[quarter:half], order[half:]
    if kind == "label":
        first, second, third = ([outputs[i] for i in piece] for piece in pieces)
    else:
        first, second, third = (outputs[piece] for piece in pieces)
    return first, second, third


def _promise(event: Event, likelier: Any, other: Any, delta: float, risk: float) -> float:
    """What the bound would be if the test half looked like the samples that choose."""
    hits, misses = int(event.contains(likelier).sum()), int(event.contains(other).sum())
    return _bound(hits, len(likelier), misses, len(other), delta, risk)


def _bound(hits: int, trials: int, other_hits: int, other_trials: int, delta: float, risk: float) -> float:
    """ln((p - δ)/q) with p from below and q from above, each wrong with probability at most risk/2."""
    low = share_above(hits, trials, risk / 2) - delta
    high = share_below(other_hits, other_trials, risk / 2)
    return math.log(low / high) if low > high > 0 else 0.0
