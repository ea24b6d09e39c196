"""How much text changes at an ε, and which ε reaches a target.

Nats between reference documents are ε·N·E, so the ε of a target is a division. What share of words stays the
same, and how far words move, is simulated on public words with the same noise for every ε, so that curves are
smooth and a bisection finds where one crosses a target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import TextError
from sievert.numerics import abbreviated, generator_of, in_nats, positive, probability, taken, whole
from sievert.results import Result
from sievert.text._attack import attack as bench
from sievert.text._corpora import Corpus
from sievert.text._distance import distance
from sievert.text._embedding import Embedding, as_embedding
from sievert.text._mechanisms import word_mechanism
from sievert.text._promises import verdict
from sievert.text._word_channels import intervals
from sievert.text._words import as_bag

__all__ = ["Profile", "TextCalibration", "calibrate", "replacement_profile"]

# Public words that are made noisy: frequent, but no function words.
RANKS = (200, 10_000)
# A bisection ends when ε is known to this share.
CLOSE = 1e-3
LEAST, MOST = 1e-3, 1e4
MOST_TRIALS = 10_000_000


@dataclass(frozen=True)
class Profile(Result):
    """What becomes of public words at several ε.

    Attributes
    ----------
    eps : the levels, nats per unit of distance
    unchanged : share of words that stay the same, with `lower` and `upper` bounds (99 % each)
    moved : mean distance from a word to what it becomes
    distinct : share of different words among the outputs, against that among the inputs
    """

    eps: tuple[float, ...]
    unchanged: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    moved: tuple[float, ...]
    distinct: tuple[float, ...]
    trials: int

    def __str__(self) -> str:
        parts = [
            f"ε = {eps:g}: {share:.1%} of words unchanged ({low:.1%} to {high:.1%}), moved {far:.3g}"
            for eps, share, low, high, far in zip(
                self.eps, self.unchanged, self.lower, self.upper, self.moved, strict=True
            )
        ]
        return "; ".join(parts)


def replacement_profile(
    embedding: Embedding,
    eps: float | Sequence[float],
    *,
    kind: str = "word-laplace",
    dimensions: int | None = None,
    clusters: int | None = None,
    words: Iterable[str] | None = None,
    trials: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> Profile:
    """How many words stay the same at an ε, and how far the others move.

    Parameters
    ----------
    embedding : Embedding
    eps : one or several levels, in nats per unit of distance
    kind : of the mechanism
    dimensions, clusters : its further parameters
    words : public words to try; by default some of frequency rank 200 to 10,000
    trials : how many
    rng : a seed or a generator

    Returns
    -------
    Profile

    Notes
    -----
    The same noise is used for every ε.

    Cost: O(levels·trials·vocabulary).

    Examples
    --------
    >>> found = replacement_profile(Embedding.small(), [2.0, 20.0], trials=200, rng=1)
    >>> found.unchanged[0] < 0.1 < 0.9 < found.unchanged[1]
    True
    """
    table = as_embedding("embedding", embedding)
    levels = [positive("eps", one, TextError) for one in (eps if isinstance(eps, Sequence) else [eps])]
    many, generator = whole("trials", trials, TextError, most=MOST_TRIALS), generator_of(rng)
    places = _tried(table, words, many, generator)
    seed = int(generator.integers(2**62))
    shares, moves, kinds = [], [], []
    for level in levels:
        mechanism = word_mechanism(table, level, kind, dimensions=dimensions, clusters=clusters)
        found = mechanism.sampler(seed).draw(places)
        shares.append(int((found == places).sum()))
        moves.append(float(np.linalg.norm(table.vectors[found] - table.vectors[places], axis=1).mean()))
        kinds.append(len(np.unique(found)) / len(np.unique(places)))
    lower, upper = intervals(shares, len(places), 0.99)
    return Profile(
        tuple(levels),
        tuple(count / len(places) for count in shares),
        tuple(lower.tolist()),
        tuple(upper.tolist()),
        tuple(moves),
        tuple(kinds),
        len(places),
    )


def _tried(
    table: Embedding, words: Iterable[str] | None, trials: int, generator: np.random.Generator
) -> IntArray:
    if words is not None:
        listed = taken("words", words, TextError, "words")
        if not listed:
            raise TextError("words is empty; give public words to try")
        pool = table.places(listed)
    else:
        low = RANKS[0] if table.size > 2 * RANKS[0] else 0
        pool = np.arange(low, min(RANKS[1], table.size))
    return np.asarray(generator.choice(pool, trials), dtype=np.int64)


@dataclass(frozen=True)
class TextCalibration(Result):
    """The ε that reaches a target.

    Attributes
    ----------
    eps : nats per unit of distance
    target : "nats", "unchanged" or "success", and its value
    reached : the value at eps
    curve : (ε, value) pairs that were looked at, by rising ε
    exact : whether eps is a closed form; otherwise it was simulated
    """

    eps: float
    target: str
    wanted: float
    reached: float
    curve: tuple[tuple[float, float], ...]
    exact: bool

    def __float__(self) -> float:
        return self.eps

    def __str__(self) -> str:
        if self.target == "nats":
            wanted = in_nats(self.wanted, 6)
            return f"ε = {self.eps:.6g} for {wanted} between the references; {verdict(self.wanted)}"
        what = "of words unchanged" if self.target == "unchanged" else "success of the attack"
        return f"ε = {self.eps:.4g} for {self.reached:.1%} {what} (asked for: {self.wanted:.1%}; simulated)"


def calibrate(
    embedding: Embedding,
    *,
    kind: str = "word-laplace",
    nats: float | None = None,
    references: Iterable[Any] | None = None,
    unchanged: float | None = None,
    success: float | None = None,
    attack: Callable[[float], float] | Corpus | None = None,
    dimensions: int | None = None,
    trials: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> TextCalibration:
    """The ε for a target: nats between reference documents, words unchanged, or success of an attack.

    Parameters
    ----------
    embedding : Embedding
    kind : of the mechanism
    nats : the most that any two references may differ by
    references : public bags of one size, for `nats`
    unchanged : the share of words that stay the same
    success : the share that the attack may find
    attack : for `success`, a corpus whose authors the bench looks for (the best attacker counts), or a
        function of ε that gives the share found
    dimensions : of the projection
    trials : public words that are tried
    rng : a seed or a generator

    Returns
    -------
    TextCalibration

    Notes
    -----
    Give exactly one target.

    Cost: a distance for each pair of references, or about 25 simulations.

    Examples
    --------
    >>> small = Embedding.small()
    >>> found = calibrate(small, nats=1.0, references=[["president", "press"], ["chief", "media"]])
    >>> f"{found.eps:.4f}"
    '0.1327'
    """
    table = as_embedding("embedding", embedding)
    targets = {"nats": nats, "unchanged": unchanged, "success": success}
    given = [name for name, value in targets.items() if value is not None]
    if len(given) != 1:
        raise TextError(
            f"give exactly one of nats, unchanged and success (given: {', '.join(given) or 'none'})"
        )
    if attack is not None and success is None:
        raise TextError(f"attack is {abbreviated(attack)}; it goes with success, the share that it may find")
    word_mechanism(table, 1.0, kind, dimensions=dimensions)
    many, generator = whole("trials", trials, TextError, most=MOST_TRIALS), generator_of(rng)
    if nats is not None:
        return _for_nats(table, positive("nats", nats, TextError), references)
    if success is not None:
        found = _finds(table, kind, dimensions, attack, int(generator.integers(2**62)))
        return _crossing("success", probability("success", success, TextError), found)
    seed = int(generator.integers(2**62))

    def share(eps: float) -> float:
        return replacement_profile(
            table, eps, kind=kind, dimensions=dimensions, trials=many, rng=seed
        ).unchanged[0]

    return _crossing("unchanged", probability("unchanged", unchanged, TextError), share)


def _finds(
    table: Embedding, kind: str, dimensions: int | None, given: object, seed: int
) -> Callable[[float], float]:
    """The share of authors found, as a function of ε: every ε has the same draws."""
    if isinstance(given, Corpus):
        return lambda eps: bench(
            given, table, [eps], kind=kind, dimensions=dimensions, linear=False, rng=seed
        ).best_author(eps)
    if not callable(given):
        raise TextError(
            f"attack is {abbreviated(given)}; success needs a sv.text.Corpus, or a function of ε that "
            f"gives the "
            "share found"
        )
    return given


def _for_nats(table: Embedding, nats: float, references: Iterable[Any] | None) -> TextCalibration:
    if references is None:
        raise TextError("references is not given; nats needs public documents to stand between")
    bags = [as_bag("references", item) for item in taken("references", references, TextError, "bags")]
    if len(bags) < 2:
        raise TextError(f"references has {len(bags)} document(s); give two or more")
    if len({bag.size for bag in bags}) > 1:
        sizes = sorted({bag.size for bag in bags})
        raise TextError(
            f"references have sizes {abbreviated(sizes)}; a release shows its size, so give bags of one size"
        )
    costs = [distance(a, b, table).cost for a, b in combinations(bags, 2)]
    farthest = max(costs)
    if farthest == 0:
        raise TextError("references are all the same documents; any eps promises 0 nats between them")
    eps = nats / farthest
    curve = tuple((cost_eps, cost_eps * farthest) for cost_eps in (eps / 4, eps / 2, eps, 2 * eps, 4 * eps))
    return TextCalibration(eps, "nats", nats, eps * farthest, curve, True)


def _crossing(target: str, wanted: float, share: Callable[[float], float]) -> TextCalibration:
    """Bisection in ln ε of a share that rises with ε."""
    seen: dict[float, float] = {}

    def at(eps: float) -> float:
        if eps not in seen:
            seen[eps] = float(share(eps))
        return seen[eps]

    low, high = 1.0, 2.0
    while at(low) > wanted and low > LEAST:
        low /= 2
    while at(high) < wanted and high < MOST:
        high *= 2
    if at(low) > wanted or at(high) < wanted:
        raise TextError(
            f"{target} is {wanted:g}; between ε = {low:g} and {high:g} it goes from {at(low):g} to "
            f"{at(high):g}"
        )
    while high / low > 1 + CLOSE:
        middle = math.sqrt(low * high)
        if at(middle) < wanted:
            low = middle
        else:
            high = middle
    curve = tuple(sorted(seen.items()))
    return TextCalibration(low, target, wanted, at(low), curve, False)
