"""How likely a released document is, given the one it was made of: exact for short ones, sampled for long.

K*(b){c} is a permanent divided by factorials (Fernandes, eq 9.9), which nothing computes fast in general. For
long documents it is a mean over random matchings of words: one row after the other draws one of the columns
that are left, in proportion to a matrix whose rows and columns sum to 1, and the product of what was left is
an unbiased estimate. Its spread says how far to trust it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, as_channel
from sievert.errors import TextError
from sievert.numerics import generator_of, log_sum, require_size, whole
from sievert.results import Result
from sievert.text._bags import log_count
from sievert.text._mechanisms import WordMechanism
from sievert.text._words import Bag, as_bag

__all__ = ["BagLikelihood", "bag_likelihood", "log_likelihoods"]

# States of the exact recursion that are cheaper than sampling.
FEW_STATES = 20_000
LARGEST_SAMPLED = 20_000_000
ROUNDS = 60


@dataclass(frozen=True)
class BagLikelihood(Result):
    """ln of the probability that one document becomes another.

    Attributes
    ----------
    log : of the probability; -inf where it cannot happen
    error : standard error of the logarithm (0: exact)
    samples : random matchings that were drawn
    exact : whether nothing was drawn
    """

    log: float
    error: float
    samples: int
    exact: bool

    def __float__(self) -> float:
        return self.log

    def __str__(self) -> str:
        how = "exact" if self.exact else f"± {self.error:.2g} from {self.samples} random matchings"
        return f"ln of the probability {self.log:.9g} ({how})"


def bag_likelihood(
    b: Any, c: Any, channel: Channel, *, samples: int = 400, rng: int | np.random.Generator | None = None
) -> BagLikelihood:
    """How likely the document b becomes c, for documents of any length: exact, or by importance sampling.

    Parameters
    ----------
    b : the bag that is protected
    c : the bag that is released
    channel : Channel
        On words.
    samples : random matchings, where the exact recursion is too long
    rng : a seed or a generator

    Returns
    -------
    BagLikelihood

    Notes
    -----
    The probability is estimated without bias, its logarithm a little too low. See `bag_probability` for
    fractions.

    Cost: the recursion of `bag_probability` up to 20,000 states; beyond, O(samples·N²).

    References
    ----------
    Fernandes (2021), eq 9.9.

    Examples
    --------
    >>> from sievert.text import word_channel
    >>> words = word_channel([[0.0], [1.0], [3.0]], 1.0)
    >>> found = bag_likelihood([0, 2], [1, 1], words)
    >>> math.exp(found.log), found.exact
    (0.0336662549877, True)
    """
    source, target, law = as_bag("b", b), as_bag("c", c), as_channel(channel)
    rows = [law.input_index(word) for word in source]
    columns = [law.output_index(word) for word in target]
    logs = law.log_matrix[np.ix_(rows, columns)]
    return _likelihood(source, target, logs, whole("samples", samples, TextError), generator_of(rng))


def _likelihood(
    source: Bag, target: Bag, logs: FloatArray, samples: int, rng: np.random.Generator
) -> BagLikelihood:
    if source.size != target.size:
        return BagLikelihood(-math.inf, 0.0, 0, True)
    if not source.size:
        return BagLikelihood(0.0, 0.0, 0, True)
    states = [math.prod(times + 1 for times in side.values()) for side in (source, target)]
    if min(states) <= FEW_STATES:
        return BagLikelihood(float(log_count(source, target, logs)), 0.0, 0, True)
    require_size(samples * source.size, LARGEST_SAMPLED, "the random matchings", "take fewer samples")
    listed = np.repeat(np.arange(len(source)), list(source.values()))
    columns = np.repeat(np.arange(len(target)), list(target.values()))
    log, error = _sampled_permanent(logs[np.ix_(listed, columns)], samples, rng)
    ways = sum(math.lgamma(times + 1) for times in target.values())
    return BagLikelihood(log - ways, error, samples, False)


def _sampled_permanent(logs: FloatArray, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    """ln of the permanent of e^logs, and its standard error."""
    if np.isneginf(logs.max(axis=1)).any() or np.isneginf(logs.max(axis=0)).any():
        return -math.inf, 0.0
    balanced, scale = logs.copy(), 0.0
    for _ in range(ROUNDS):  # Sinkhorn: rows and columns that sum to 1 leave little to chance
        for axis in (1, 0):
            sums = log_sum(balanced, axis=axis)
            balanced -= np.expand_dims(sums, axis)
            scale += float(sums.sum())
    table = np.exp(balanced)
    left = np.ones((samples, len(table)))
    weights = np.zeros(samples)
    every = np.arange(samples)
    for row in table[rng.permutation(len(table))]:
        free = np.cumsum(left * row, axis=1)
        total = free[:, -1]
        with np.errstate(divide="ignore"):
            weights += np.log(total)
        chosen = np.minimum((free < (rng.random(samples) * total)[:, None]).sum(axis=1), len(row) - 1)
        left[every, chosen] = 0.0
    top = float(weights.max())
    if math.isinf(top):
        return -math.inf, math.inf
    shares = np.exp(weights - top)
    error = float(shares.std(ddof=1) / shares.mean() / math.sqrt(samples)) if samples > 1 else math.inf
    return scale + top + math.log(float(shares.mean())), error


def log_likelihoods(
    documents: Sequence[Bag],
    released: Iterable[Bag],
    mechanism: WordMechanism,
    samples: int,
    rng: np.random.Generator,
) -> FloatArray | None:
    """ln P(released | document) for each release (row) and document; None: not known.

    Where one document alone has the size of a release nothing is computed: it is that one.
    """
    noisy = list(released)
    found = np.full((len(noisy), len(documents)), -np.inf)
    for column, document in enumerate(documents):
        rivals = [row for row, bag in enumerate(noisy) if bag.size == document.size]
        if sum(other.size == document.size for other in documents) == 1:
            found[rivals, column] = 0.0
            continue
        seen = sorted({str(word) for row in rivals for word in noisy[row]})
        logs = mechanism.log_rows(list(map(str, document)), seen)
        if logs is None:
            return None
        for row in rivals:
            columns = np.searchsorted(seen, list(map(str, noisy[row])))
            found[row, column] = _likelihood(document, noisy[row], logs[:, columns], samples, rng).log
    return found
