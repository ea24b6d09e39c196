"""Audit a mechanism by its outputs alone: a lower bound on ε that holds with a stated confidence.

If the mechanism is (ε, δ)-private, then P(E | a) ≤ e^ε·P(E | b) + δ for every event E. One half of the
samples chooses the event and the direction; the other half bounds both probabilities by Clopper and
Pearson's exact intervals. The event is fixed before the second half is looked at, so no correction for the
search is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels.divergences import Against, neighbours_of
from sievert.errors import ChannelError
from sievert.estimation._confidence import (
    checked_confidence,
    share_above,
    share_below,
    shares_above,
    shares_below,
)
from sievert.estimation._events import Event, Family, label_family
from sievert.estimation._outputs import Outputs, outputs_of, runs_of
from sievert.estimation._vector_events import table_families
from sievert.numerics import abbreviated, generator_of, non_negative, probability, require_size, whole
from sievert.proofs import Proof, RunsProof
from sievert.results import Result

__all__ = ["BlackBoxAudit", "audit_mechanism", "audit_outputs", "audit_samples"]

SMALLEST_SAMPLE = 20
NOTHING = "a pass proves nothing: another event or other inputs might distinguish them"
# Where no event is likelier under one input than under the other.
EVERY = "every output"
# An event that cannot be said in terms of the output has to show so much more than one that can.
OPAQUE = 0.98


@dataclass(frozen=True)
class BlackBoxAudit(Result):
    """What samples of two inputs prove about a mechanism.

    Attributes
    ----------
    eps_lower : with the stated confidence the true ε (at this δ) is at least this; 0 when nothing was found
    delta : the δ that is granted
    confidence : share of audits whose `eps_lower` does not exceed the truth
    claimed : the ε that was claimed (None: no claim), and `refuted` whether `eps_lower` exceeds it
    event : the event that distinguishes two inputs; it happens more often with `likelier` than with `other`
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
            "no event tried is likelier under one of the two inputs"
            if self.event == EVERY
            else f"“{self.event}” happened in {self.shares[0]:.2%} of the tests with input {self.likelier} "
            f"and in {self.shares[1]:.2%} of those with {self.other}"
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
    (seen,) = outputs_of(("outputs", outputs))
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
    groups = {x: seen.take(np.flatnonzero(which == x)) for x in usable}
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
        raise ChannelError(f"names is {abbreviated(names)}; give two names, one for each input")
    sides = dict(enumerate(outputs_of(("first", first), ("second", second))))
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
        raise ChannelError(f"mechanism is {abbreviated(mechanism)}; give a function of the input")
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
        names=(abbreviated(first), abbreviated(second)),
    )


def _audit(
    groups: dict[int, Outputs],
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
    generator = generator_of(rng)
    parts = {x: _parts(side, generator) for x, side in groups.items()}
    risk = 1 - sure
    best: tuple[tuple[float, float], Event | None, int, int, float] = (0.0, -math.inf), None, *pairs[0]
    for i, h, length in pairs:
        for family in _families(parts[i][0], parts[h][0], (names[i], names[h])):
            promise, event = _best_event(family, parts[i][1], parts[h][1], delta, risk)
            worth = (1.0 if family.plain else OPAQUE) / length
            if event is not None and (value := (promise[0] * worth, promise[1])) > best[0]:
                a, b = (i, h) if event.above else (h, i)
                best = value, event, a, b, length
    _, event, a, b, length = best
    tests = parts[a][2], parts[b][2]
    sizes = [len(side) for side in tests]
    hits = sizes if event is None else [int(event.contains(side.rows).sum()) for side in tests]
    counts = hits[0], sizes[0], hits[1], sizes[1]
    lower = _bound(*counts, delta, risk) / length
    proof, missing = _proof(counts, delta, sure, length, lower)
    return BlackBoxAudit(
        lower,
        delta,
        sure,
        level,
        level is not None and lower > level,
        EVERY if event is None else event.words,
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


def _parts(outputs: Outputs, generator: np.random.Generator) -> tuple[Outputs, Outputs, Outputs]:
    """A quarter to form events, a quarter to choose among them, a half to test the chosen one.

    Choosing on the samples that formed an event would favour events that merely describe those samples.
    """
    order = generator.permutation(len(outputs))
    quarter, half = len(outputs) // 4, len(outputs) // 2
    return outputs.take(order[:quarter]), outputs.take(order[quarter:half]), outputs.take(order[half:])


def _families(first: Outputs, second: Outputs, names: tuple[str, str]) -> Iterator[Family]:
    """Events worth testing, learned from samples of the two inputs."""
    if isinstance(first.rows, np.ndarray) and isinstance(second.rows, np.ndarray):
        yield from table_families(first.columns, first.rows, second.rows, names)
    elif isinstance(first.rows, list) and isinstance(second.rows, list):
        yield label_family(first.rows, second.rows)


def _best_event(
    family: Family, first: Outputs, second: Outputs, delta: float, risk: float
) -> tuple[tuple[float, float], Event | None]:
    """The cut with the largest bound, were the test half like these samples; else the clearest difference."""
    scores = [np.sort(family.score(side.rows[: family.pilot])) for side in (first, second)]
    sizes = [len(side) for side in scores]
    best: tuple[tuple[float, float], Event | None] = (0.0, -math.inf), None
    for above, cuts in ((True, family.above), (False, family.below)):
        if not len(cuts):
            continue
        counts = [_beyond(side, cuts, above) for side in scores]
        likelier, other = (0, 1) if above else (1, 0)
        arguments = counts[likelier], sizes[likelier], counts[other], sizes[other], delta
        promises, clear = _bounds(*arguments, risk), _clearness(*arguments)
        k = int(np.lexsort((clear, promises))[-1])
        if (value := (float(promises[k]), float(clear[k]))) > best[0]:
            best = value, Event(family, float(cuts[k]), above)
    return best


def _beyond(scores: FloatArray, cuts: FloatArray, above: bool) -> FloatArray:
    """How many of the sorted scores are at least, or at most, each cut; nan is neither."""
    if not above:
        return np.searchsorted(scores, cuts, side="right").astype(np.float64)
    numbers = len(scores) - int(np.isnan(scores).sum())
    return numbers - np.searchsorted(scores, cuts).astype(np.float64)


def _bounds(
    hits: FloatArray, trials: int, other_hits: FloatArray, other_trials: int, delta: float, risk: float
) -> FloatArray:
    """`_bound` of several events at once."""
    low = shares_above(hits, trials, risk / 2) - delta
    high = shares_below(other_hits, other_trials, risk / 2)
    return np.where(low > high, np.log(np.maximum(low, 1e-300) / high), 0.0)


def _clearness(
    hits: FloatArray, trials: int, other_hits: FloatArray, other_trials: int, delta: float
) -> FloatArray:
    """By how many standard deviations one share exceeds the other; -inf where both are none, or all."""
    one, two = hits / trials, other_hits / other_trials
    spread = np.sqrt(one * (1 - one) / trials + two * (1 - two) / other_trials)
    vacuous = ((hits == 0) & (other_hits == 0)) | ((hits == trials) & (other_hits == other_trials))
    return np.where(vacuous, -np.inf, (one - delta - two) / np.maximum(spread, 1 / (trials + other_trials)))


def _bound(hits: int, trials: int, other_hits: int, other_trials: int, delta: float, risk: float) -> float:
    """ln((p - δ)/q) with p from below and q from above, each wrong with probability at most risk/2."""
    low = share_above(hits, trials, risk / 2) - delta
    high = share_below(other_hits, other_trials, risk / 2)
    return math.log(low / high) if low > high > 0 else 0.0
