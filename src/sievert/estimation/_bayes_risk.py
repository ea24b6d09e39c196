"""How often an attacker is wrong, estimated from samples of (input, output).

The Bayes risk is 1 - V, V = Σ_y max_x P(x, y) the probability of a right guess. Two sides, each with its
own proof. *Some attacker succeeds so often*: a guesser learned from one half is tried on the other, and its
share of right guesses bounds V from below (Clopper and Pearson). Which guesser that is (counts, or votes of
how many neighbours on which scale) is settled within the first half. *No attacker succeeds more often*: the
share that counting gives, V̂, is too high on average (a maximum is convex) and moves by at most 1/n when one
sample changes, so V ≤ V̂ + √(ln(1/risk)/(2n)) (McDiarmid). Outputs that never return make V̂ = 1: for
continuous outputs no bound exists without assumptions, and none is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.estimation._confidence import checked_confidence, share_above
from sievert.estimation._neighbours import Neighbours
from sievert.estimation._outputs import Outputs, outputs_of, runs_of
from sievert.estimation._scales import Scale, by_quartiles, by_ranks
from sievert.numerics import choice, generator_of
from sievert.results import Result

__all__ = ["BayesRisk", "bayes_risk"]
Method = Literal["auto", "frequentist", "nearest"]
SMALLEST_SAMPLE = 20
# Runs of each pair of an input and an output, on average, from which counting leaves nothing to neighbours.
ENOUGH = 10
# A quarter of the runs that teach settles which guesser is taught; at most so many do.
MOST_SETTLING = 10_000
# Runs among which neighbours are sought.
MOST_POINTS = 200_000
VOTERS = (1, 5, 20, 50, 100)
SCALES: dict[str, Callable[[FloatArray], Scale]] = {"quartiles": by_quartiles, "ranks": by_ranks}
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
    method : "frequentist" (count outputs) or "nearest" (vote of the nearest outputs), the better one if asked
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
    method : "frequentist" counts outputs, "nearest" lets the nearest numbers or vectors vote; "auto" takes
        what guesses best on runs held out for that
    confidence : of `guess_interval`; each end may be wrong with half the rest
    rng : for the split into a half that learns to guess and a half that is guessed

    Returns
    -------
    BayesRisk
        The best `guess` found, its interval, and the guess without any output.

    Notes
    -----
    The interval's lower end holds for any guesser; its upper end needs outputs that repeat. Distances are in
    ranks or in distances of quartiles of each coordinate, whichever guesses better, so that a few wild values
    change nothing.

    Cost: O(runs·log runs) for outputs that repeat; for numbers and vectors the neighbours of half the runs.

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
    choice("method", method, ("auto", "frequentist", "nearest"), ChannelError)
    (seen,) = outputs_of(("outputs", outputs))
    if len(seen) != len(truth):
        raise ChannelError(f"outputs has {len(seen)} entries but inputs {len(truth)}; give one of each a run")
    if len(truth) < SMALLEST_SAMPLE:
        raise ChannelError(f"inputs has {len(truth)} entries; at least {SMALLEST_SAMPLE} are needed")
    if method == "nearest" and isinstance(seen.rows, list):
        raise ChannelError('method is "nearest", which needs outputs that are numbers; use "frequentist"')
    counts = np.bincount(truth, minlength=len(labels))
    belief = counts / counts.sum() if prior is None else as_prior(prior, labels).astype(np.float64)
    # Each sample's weight: 1/n as drawn, or π_x/n_x for a given prior.
    runs = _Runs(seen, seen.codes(), truth, belief[truth] / counts[truth], int(belief.argmax()))
    order = generator_of(rng).permutation(len(truth))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    guesser = _best_guesser(runs, train, method)
    right = guesser.guesses(runs, train, test) == truth[test]
    guess, low = _success(right, truth[test], belief if prior is not None else None, (1 - sure) / 2)
    high = _most(runs, (1 - sure) / 2)
    before = float(belief.max())
    guess = min(max(guess, before), 1.0)
    return BayesRisk(
        1 - guess,
        guess,
        # The blind guess is always possible, but `before` is itself an estimate unless the prior is given.
        (max(low, before) if prior is not None else low, max(high, low)),
        before,
        math.log2(guess / before),
        guesser.name,
        sure,
        len(truth),
        labels,
    )


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs: their outputs (and a number for each different one), inputs, weights; the likeliest input."""

    outputs: Outputs
    codes: NDArray[np.intp]
    truth: NDArray[np.intp]
    weights: FloatArray
    blind: int

    def votes(self, rows: NDArray[np.intp] | slice) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Each output that came, each input that led to it, and their weight, by output and then by input."""
        inputs = int(self.truth.max()) + 1
        pairs, place = np.unique(self.codes[rows] * inputs + self.truth[rows], return_inverse=True)
        weights = np.bincount(np.ravel(place), weights=self.weights[rows]).astype(np.float64)
        return pairs // inputs, pairs % inputs, weights


@dataclass(frozen=True)
class _Counts:
    """The input that most often led to an output; the likeliest input for an output not seen before."""

    name = "frequentist"

    def guesses(self, runs: _Runs, train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.intp]:
        codes, inputs, weights = runs.votes(train)
        # The last of an output's entries is the heaviest, the first input among equals.
        order = np.lexsort((-inputs, weights, codes))
        best = np.full(int(runs.codes.max()) + 1, runs.blind, dtype=np.intp)
        best[codes[order]] = inputs[order]
        return best[runs.codes[test]]


@dataclass(frozen=True)
class _Nearest:
    """Weighted vote of the k nearest outputs: with k growing slower than n, its risk tends to the Bayes risk
    (Stone)."""

    scale: str
    voters: int

    name = "nearest"

    def guesses(self, runs: _Runs, train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.intp]:
        ((_, found),) = _nearest_guesses(runs, train, test, self.scale, (self.voters,))
        return found


def _nearest_guesses(
    runs: _Runs, train: NDArray[np.intp], test: NDArray[np.intp], scale: str, sizes: tuple[int, ...]
) -> list[tuple[_Nearest, NDArray[np.intp]]]:
    """What votes of each size guess, from one query."""
    table = np.asarray(runs.outputs.rows)
    known = train[:MOST_POINTS]
    place = SCALES[scale](table[known])
    near = Neighbours(
        place(table[known]), runs.truth[known], runs.weights[known], int(runs.truth.max()) + 1, max(sizes)
    )
    guesses = {size: np.empty(len(test), dtype=np.intp) for size in sizes}
    for block, size, votes in near.scores(place(table[test]), sizes):
        guesses[size][block] = votes.argmax(axis=1)
    return [(_Nearest(scale, size), found) for size, found in guesses.items()]


def _best_guesser(runs: _Runs, train: NDArray[np.intp], method: str) -> _Counts | _Nearest:
    """The guesser that is right most often on a part of the runs that teach, learned from the rest."""
    plenty = ENOUGH * (int(runs.codes.max()) + 1) * (int(runs.truth.max()) + 1) <= len(train)
    if method == "frequentist" or isinstance(runs.outputs.rows, list) or (method == "auto" and plenty):
        return _Counts()
    settling = min(len(train) // 4, MOST_SETTLING)
    held, known = train[:settling], train[settling:]
    sizes = tuple(sorted({*(k for k in VOTERS if k < len(known)), round(math.sqrt(len(known)))}))
    tried: list[tuple[_Counts | _Nearest, NDArray[np.intp]]] = []
    if method == "auto":
        tried.append((_Counts(), _Counts().guesses(runs, known, held)))
    for scale in SCALES:
        tried += _nearest_guesses(runs, known, held, scale, sizes)
    value = [float(runs.weights[held][found == runs.truth[held]].sum()) for _, found in tried]
    return tried[int(np.argmax(value))][0]


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


def _most(runs: _Runs, risk: float) -> float:
    """V̂ + √(Σ w²·ln(1/risk)/2): no attacker succeeds more often (McDiarmid, with Jensen for the bias)."""
    codes, _, weights = runs.votes(slice(None))
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    counted = math.fsum(np.maximum.reduceat(weights, first).tolist())
    return min(1.0, counted + math.sqrt(float((runs.weights**2).sum()) * -math.log(risk) / 2))
