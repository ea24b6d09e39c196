"""Mechanisms that other auditors are tried on, from the papers that define them; many runs at once.

The names are those of Bichsel, Steffen, Bogunovic and Vechev, "DP-Sniper" (IEEE S&P 2021), Table 1, with the
inputs and the size of its claim; the mechanisms are of

- Lyu, Su and Li, "Understanding the sparse vector technique" (VLDB 2017), Algorithms 1 to 6 (SVT 1 to 6);
- Ding, Wang, Wang, Zhang and Kifer, "Detecting violations of differential privacy" (CCS 2018), Algorithms 5
  to 10 (report noisy maximum, noisy histogram);
- Wang, Ding, Wang, Kifer and Zhang, "Proving differential privacy with shadow execution" (PLDI 2019): sparse
  vector with numbers, prefix sum;
- Erlingsson, Pihur and Korolova, "RAPPOR" (CCS 2014), steps 1 to 2 (one time) and 1 to 3;
- Balcer and Vadhan, "Differential privacy on finite computers" (2018): truncated geometric noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

Outputs = np.ndarray
EPS = 0.1
NO, STOPPED = -1000.0, -2000.0


@dataclass(frozen=True)
class Case:
    """A mechanism on two neighbouring inputs, and the ε it satisfies (inf: none)."""

    name: str
    run: Callable[[np.ndarray, int, np.random.Generator], Outputs]
    first: np.ndarray
    second: np.ndarray
    true_eps: float

    def outputs(self, runs: int, seed: int) -> tuple[Outputs, Outputs]:
        """Independent runs on the first and on the second input."""
        rng = np.random.default_rng(seed)
        return self.run(self.first, runs, rng), self.run(self.second, runs, rng)


def laplace(x: np.ndarray, runs: int, rng: np.random.Generator, scale: float, copies: int = 1) -> Outputs:
    """One number with Laplace noise, released so many times."""
    return x[0] + rng.laplace(scale=scale, size=(runs, copies))


def noisy_histogram(x: np.ndarray, runs: int, rng: np.random.Generator, scale: float) -> Outputs:
    """Every count with noise of its own."""
    return x + rng.laplace(scale=scale, size=(runs, len(x)))


def noisy_maximum(x: np.ndarray, runs: int, rng: np.random.Generator, noise: str, value: bool) -> Outputs:
    """The place of the largest noisy answer; or, wrongly, its value."""
    noisy = x + getattr(rng, noise)(scale=2 / EPS, size=(runs, len(x)))
    return noisy.max(axis=1) if value else noisy.argmax(axis=1)


def sparse_vector(
    x: np.ndarray,
    runs: int,
    rng: np.random.Generator,
    threshold: float,
    noise: float | None,
    limit: int | None,
    limit_at: float = 1.0,
    renew: bool = False,
    numbers: bool = False,
) -> Outputs:
    """Which answers exceed a noisy threshold, until `limit` of them did.

    `threshold` and `noise` are Laplace scales (None: no noise on the answers); `renew` draws the threshold
    anew after each yes; `numbers` releases the noisy answer instead of yes.
    """
    level = limit_at + rng.laplace(scale=threshold, size=runs)
    yes_so_far = np.zeros(runs, dtype=int)
    released = np.empty((runs, len(x)))
    for j, answer in enumerate(x):
        noisy = answer + (rng.laplace(scale=noise, size=runs) if noise is not None else 0.0)
        yes = noisy >= level
        stopped = np.zeros(runs, dtype=bool) if limit is None else yes_so_far >= limit
        released[:, j] = np.where(yes, noisy if numbers else 1.0, NO if numbers else 0.0)
        released[stopped, j] = STOPPED if numbers else -1.0
        yes_so_far += yes & ~stopped
        if renew:
            level[yes] = limit_at + rng.laplace(scale=threshold, size=int(yes.sum()))
    return released


def sparse_vector_numbers(x: np.ndarray, runs: int, rng: np.random.Generator, limit: int = 2) -> Outputs:
    """As `sparse_vector`, but the number that is released has fresh noise."""
    yes = sparse_vector(x, runs, rng, 3 / EPS, 6 * limit / EPS, limit)
    fresh = x + rng.laplace(scale=3 * limit / EPS, size=yes.shape)
    return np.where(yes == 1, fresh, np.where(yes == 0, 0.0, NO))


def two_at_once(x: np.ndarray, runs: int, rng: np.random.Generator) -> Outputs:
    """SVT 3 and SVT 4 on the same answers."""
    return np.column_stack([SVT3(x, runs, rng), SVT4(x, runs, rng)])


def prefix_sum(x: np.ndarray, runs: int, rng: np.random.Generator) -> Outputs:
    """Running sums of noisy numbers."""
    return np.cumsum(noisy_histogram(x, runs, rng, 1 / EPS), axis=1)


def rappor(
    x: np.ndarray, runs: int, rng: np.random.Generator, flip: float, zero: float = 0.0, one: float = 1.0
) -> Outputs:
    """A Bloom filter of 20 bits, 4 of them set, each replaced by a fair coin with probability `flip`.

    The two values share no bit, as the paper's worst case has it; afterwards a bit is sent as 1 with
    probability `one` where it is 1 and `zero` where it is 0.
    """
    bits = np.zeros(20)
    bits[[4 * int(x[0]) + k for k in range(4)]] = 1
    kept = np.where(rng.random((runs, 20)) < flip, rng.random((runs, 20)) < 0.5, bits)
    return (rng.random((runs, 20)) < np.where(kept == 1, one, zero)).astype(float)


def truncated_geometric(x: np.ndarray, runs: int, rng: np.random.Generator, top: int = 5) -> Outputs:
    """Geometric noise on a count from 0 to `top`, what falls outside moved to the nearest end."""
    ratio = math.exp(-EPS)
    noise = rng.geometric(1 - ratio, runs) - rng.geometric(1 - ratio, runs)
    return np.clip(x[0] + noise, 0, top)


SVT1 = partial(sparse_vector, threshold=2 / EPS, noise=4 / EPS, limit=1, limit_at=0.5)
SVT2 = partial(sparse_vector, threshold=2 / EPS, noise=4 / EPS, limit=1, renew=True)
SVT3 = partial(sparse_vector, threshold=2 / EPS, noise=2 / EPS, limit=1, numbers=True)
SVT4 = partial(sparse_vector, threshold=4 / EPS, noise=4 / (3 * EPS), limit=1)
SVT5 = partial(sparse_vector, threshold=2 / EPS, noise=None, limit=None)
SVT6 = partial(sparse_vector, threshold=2 / EPS, noise=2 / EPS, limit=None)

ZERO, ONE, TWO = np.array([0.0]), np.array([1.0]), np.array([2.0])
ONES = np.ones(10)
UP_DOWN, DOWN_UP = np.array([1.0] * 5 + [0.0] * 5), np.array([0.0] * 5 + [1.0] * 5)
AROUND = np.array([2.0] * 5 + [0.0] * 5)
NOT_PRIVATE = math.inf

CASES = [
    Case("laplace", partial(laplace, scale=1 / EPS), ZERO, ONE, EPS),
    Case("laplace, 20 at once", partial(laplace, scale=20 / EPS, copies=20), ZERO, ONE, EPS),
    Case("truncated geometric", truncated_geometric, TWO, ONE, EPS),
    Case(
        "noisy histogram 1",
        partial(noisy_histogram, scale=1 / EPS),
        np.ones(5),
        np.array([0.0] + [1.0] * 4),
        EPS,
    ),
    Case(
        "noisy histogram 2",
        partial(noisy_histogram, scale=EPS),
        np.ones(5),
        np.array([2.0] + [1.0] * 4),
        1 / EPS,
    ),
    Case(
        "report noisy max 1",
        partial(noisy_maximum, noise="laplace", value=False),
        np.ones(5),
        np.array([0.0] + [2.0] * 4),
        EPS,
    ),
    Case(
        "report noisy max 2",
        partial(noisy_maximum, noise="exponential", value=False),
        np.ones(5),
        np.array([0.0] + [2.0] * 4),
        EPS,
    ),
    Case(
        "report noisy max 3",
        partial(noisy_maximum, noise="laplace", value=True),
        np.ones(5),
        2 * np.ones(5),
        5 * EPS / 2,
    ),
    Case(
        "report noisy max 4",
        partial(noisy_maximum, noise="exponential", value=True),
        np.ones(5),
        2 * np.ones(5),
        NOT_PRIVATE,
    ),
    Case("SVT 1", SVT1, ONES, AROUND, EPS),
    Case("SVT 2", SVT2, DOWN_UP, UP_DOWN, EPS),
    Case("SVT 3", SVT3, DOWN_UP, UP_DOWN, NOT_PRIVATE),
    Case("SVT 4", SVT4, ONES, AROUND, (1 + 6) / 4 * EPS),
    Case("SVT 5", SVT5, AROUND, ONES, NOT_PRIVATE),
    Case("SVT 6", SVT6, UP_DOWN, DOWN_UP, NOT_PRIVATE),
    Case("SVT 3 and 4", two_at_once, ONES, AROUND, NOT_PRIVATE),
    Case("SVT with numbers", sparse_vector_numbers, 2 * ONES, ONES, EPS),
    Case("prefix sum", prefix_sum, ONES, np.zeros(10), 10 * EPS),
    Case("one-time RAPPOR", partial(rappor, flip=0.95), ONE, ZERO, 8 * math.log(0.525 / 0.475)),
    Case("RAPPOR", partial(rappor, flip=0.75, zero=0.45, one=0.55), ONE, ZERO, 8 * math.log(0.5125 / 0.4875)),
]
