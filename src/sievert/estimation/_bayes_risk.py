"""How often an attacker is wrong, estimated from samples of (input, output).

The Bayes risk is 1 - V, V = Σ_y max_x P(x, y) the probability of a right guess. Two sides, each with its
own proof. *Some attacker succeeds so often*: a guesser learned from one half is tried on the other, and its
share of right guesses bounds V from below (Clopper and Pearson). *No attacker succeeds more often*: for
finitely many outputs the share that counting gives, V̂, is too high on average (a maximum is convex) and
moves by at most 1/n when one sample changes, so V ≤ V̂ + √(ln(1/risk)/(2n)) (McDiarmid). For continuous
outputs no such bound exists without assumptions, and none is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.estimation._events import checked_confidence, outputs_kind, outputs_of, runs_of, share_above
from sievert.numerics import choice, generator_of
from sievert.results import Result

__all__ = ["BayesRisk", "bayes_risk"]
Method = Literal["auto", "frequentist", "nearest"]
SMALLEST_SAMPLE = 20
# Below this share of repeated outputs counting them says nothing about the next sample.
LEAST_REPEATED = 0.5
UNCERTIFIED = (
    "the interval holds by Clopper and Pearson below and by McDiarmid above, and is computed in doubles; "
    "which guesser was learned from which half of the runs is not written down, so that nobody could check it"
)


@dataclass(frozen=True)
class BayesRisk(Result):
    """Best guess about the input from the output, estimated from samples.

    Attributes
    ----------
    risk : estimated probability of a wrong guess (of the guesser that was learned, on fresh samples)
    guess : 1 - risk
    guess_interval : with the stated confidence the best attacker's success is in here; the upper end is 1
        where none can be proved (continuous outputs)
    before : success without the output
    bits : log2(guess/before)
    method : "frequentist" (count outputs) or "nearest" (vote of the nearest outputs)
    uncertified : why the interval has no proof that others could check
    """

    risk: float
    guess: float
    guess_interval: tuple[float, float]
    before: float
    bits: float
    method: str
    confidence: float
    samples: int
    inputs: tuple[Hashable, ...]
    uncertified: str = UNCERTIFIED

    def __float__(self) -> float:
        return self.risk

    def __str__(self) -> str:
        low, high = self.guess_interval
        ends = (
            f"between {low:.4g} and {high:.4g}"
            if high < 1
            else f"at least {low:.4g} (no upper end can be proved)"
        )
        return (
            f"{self.samples} samples of {len(self.inputs)} inputs, {self.method}: the input is guessed with "
            f"probability {self.before:.4g} before and about {self.guess:.4g} after; with "
            f"{100 * self.confidence:g}% confidence the best attacker's probability is {ends}"
        )


def bayes_risk(
    inputs: object,
    outputs: object,
    prior: object = None,
    method: Method = "auto",
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
) -> BayesRisk:
    """Estimate how often the best attacker guesses the input from the output.

    Parameters
    ----------
    inputs, outputs : one input and one output a run
    prior : probabilities of the distinct inputs in order of first appearance. Without it the runs are taken
        as drawn from the prior themselves; with it each input's runs are weighted.
    method : "frequentist" for outputs that repeat, "nearest" for numbers and vectors; "auto" looks
    confidence : of `guess_interval`; each end may be wrong with half the rest
    rng : for the split into a half that learns to guess and a half that is guessed

    Returns
    -------
    BayesRisk
        The best `guess` found, its interval, and the guess without any output.

    Notes
    -----
    The interval's lower end holds for any guesser; its upper end needs outputs that repeat.

    Cost: O(runs) for outputs that repeat; for numbers and vectors the neighbours of each of half the runs.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> secret = draw.integers(0, 2, 4000)
    >>> answer = np.where(draw.random(4000) < 0.75, secret, 1 - secret)
    >>> found = bayes_risk(secret, answer, rng=1)
    >>> found.guess_interval[0] < 0.75 < found.guess_interval[1]
    True
    """
    sure = checked_confidence(confidence)
    labels, truth = runs_of(inputs)
    seen = outputs_of(outputs, "outputs")
    if len(seen) != len(truth):
        raise ChannelError(f"outputs has {len(seen)} entries but inputs {len(truth)}; give one of each a run")
    if len(truth) < SMALLEST_SAMPLE:
        raise ChannelError(f"inputs has {len(truth)} entries; at least {SMALLEST_SAMPLE} are needed")
    kind = outputs_kind(seen)
    chosen = _method(method, kind, seen)
    counts = np.bincount(truth, minlength=len(labels))
    belief = counts / counts.sum() if prior is None else as_prior(prior, labels).astype(np.float64)
    # Each sample's weight: 1/n as drawn, or π_x/n_x for a given prior.
    weights = belief[truth] / counts[truth]
    order = generator_of(rng).permutation(len(truth))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    learn = _count_guesser if chosen == "frequentist" else _nearest_guesser
    guesses = learn(seen, truth, weights, train, test, int(belief.argmax()))
    right = guesses == truth[test]
    guess, low = _success(right, truth[test], belief if prior is not None else None, (1 - sure) / 2)
    high = 1.0
    if chosen == "frequentist":
        high = _most(seen, truth, weights, (1 - sure) / 2)
    before = float(belief.max())
    guess = min(max(guess, before), 1.0)
    return BayesRisk(
        1 - guess,
        guess,
        # The blind guess is always possible, but `before` is itself an estimate unless the prior is given.
        (max(low, before) if prior is not None else low, max(high, low)),
        before,
        math.log2(guess / before),
        chosen,
        sure,
        len(truth),
        labels,
    )


def _method(method: str, kind: str, outputs: Any) -> str:
    choice("method", method, ("auto", "frequentist", "nearest"), ChannelError)
    if method == "nearest" and kind == "label":
        raise ChannelError('method is "nearest", which needs outputs that are numbers; use "frequentist"')
    if method != "auto":
        return method
    if kind == "label":
        return "frequentist"
    distinct = len(np.unique(outputs, axis=0))
    return "frequentist" if distinct <= LEAST_REPEATED * len(outputs) else "nearest"


def _keys(outputs: Any) -> list[Hashable]:
    if isinstance(outputs, np.ndarray):
        return outputs.tolist() if outputs.ndim == 1 else [tuple(row) for row in outputs.tolist()]
    return list(outputs)


def _count_guesser(
    outputs: Any,
    truth: NDArray[np.intp],
    weights: FloatArray,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    blind: int,
) -> NDArray[np.intp]:
    """The input that most often led to an output; the likeliest input for an output not seen before."""
    keys = _keys(outputs)
    votes: dict[Hashable, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for i in train.tolist():
        votes[keys[i]][int(truth[i])] += float(weights[i])
    best = {key: max(sorted(counted), key=lambda x: counted[x]) for key, counted in votes.items()}
    return np.array([best.get(keys[i], blind) for i in test.tolist()], dtype=np.intp)


def _nearest_guesser(
    outputs: Any,
    truth: NDArray[np.intp],
    weights: FloatArray,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    blind: int,
) -> NDArray[np.intp]:
    """Weighted vote of the k nearest outputs, k ≈ √n: its risk tends to the Bayes risk (Stone)."""
    from scipy.spatial import cKDTree

    table = outputs.reshape(len(outputs), -1)
    near = max(1, min(len(train), round(math.sqrt(len(train)))))
    scale = table[train].std(axis=0)
    scaled = table / np.where(scale > 0, scale, 1.0)
    _, index = cKDTree(scaled[train]).query(scaled[test], k=near)
    index = np.reshape(index, (len(test), near))
    voters = train[index]
    scores = np.zeros((len(test), int(truth.max()) + 1))
    rows = np.repeat(np.arange(len(test)), near)
    np.add.at(scores, (rows, truth[voters].ravel()), weights[voters].ravel())
    return np.asarray(scores.argmax(axis=1), dtype=np.intp)


def _success(
    right: NDArray[np.bool_], truth: NDArray[np.intp], belief: FloatArray | None, risk: float
) -> tuple[float, float]:
    """Share of right guesses, and its lower end: exact as drawn, Hoeffding's for weighted inputs."""
    if belief is None:
        return float(right.mean()), share_above(int(right.sum()), len(right), risk)
    counts = np.bincount(truth, minlength=len(belief))
    if (counts[belief > 0] == 0).any():
        return 0.0, 0.0
    hits = np.bincount(truth, weights=right, minlength=len(belief))
    used = belief > 0
    value = float((belief[used] * hits[used] / counts[used]).sum())
    spread = math.sqrt(float((belief[used] ** 2 / counts[used]).sum()) * -math.log(risk) / 2)
    return value, max(0.0, value - spread)


def _most(outputs: Any, truth: NDArray[np.intp], weights: FloatArray, risk: float) -> float:
    """V̂ + √(Σ w²·ln(1/risk)/2): no attacker succeeds more often (McDiarmid, with Jensen for the bias)."""
    votes: dict[Hashable, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for key, x, weight in zip(_keys(outputs), truth.tolist(), weights.tolist(), strict=True):
        votes[key][x] += weight
    counted = math.fsum(max(found.values()) for found in votes.values())
    return min(1.0, counted + math.sqrt(float((weights**2).sum()) * -math.log(risk) / 2))
