"""User vectors against peers and the naive forms: neighbours, hashing with flips, the exact account.

The peer of neighbours is NumPy's bitwise_count with a histogram of all distances; that of the account is
dp-accounting's privacy loss distribution for the same composition. Sizes are users or bits; notes are pairs
or users in a processor second.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from benchmarks.harness import Row, timed
from sievert.vectors import Codes, HyperplaneLSH, accountant, neighbours, perturb

QUERIES = 256


def run() -> list[Row]:
    """Everything, at growing sizes."""
    return [*matching(), *hashing(), *accounting()]


def matching() -> list[Row]:
    """The ten nearest of some users by 64 bits, against whole rows of distances."""
    rows = []
    for size in (50_000, 200_000, 1_000_000):
        words = np.random.default_rng(1).integers(0, 2**64, (size, 1), dtype=np.uint64)
        codes, asked = Codes(words, 64), np.arange(QUERIES)
        neighbours(codes, 10, queries=asked[:2], rng=1)
        seconds = timed(lambda c=codes, a=asked: neighbours(c, 10, queries=a, rng=1), repeat=2, clock="cpu")  # type: ignore[misc]

        def naive(words: np.ndarray = words) -> None:
            for query in words[:16, 0]:
                np.bincount(np.bitwise_count(words[:, 0] ^ query), minlength=65)

        slow = timed(naive, repeat=1, clock="cpu") * QUERIES / 16
        note = f"{QUERIES * size / seconds:.2e} pairs/s"
        rows.append(Row("10 nearest, 64 bits", size, seconds, "numpy", slow, note))
    return rows


def hashing() -> list[Row]:
    """Hash and flip 64 bits of users with 100 ratings, against dense products and float coins."""
    rows = []
    planes = HyperplaneLSH(1000, 64, seed=7)
    rng = np.random.default_rng(2)
    for size in (20_000, 80_000, 200_000):
        items = np.sort(rng.integers(0, 1000, (size, 100)), axis=1).astype(np.int32)
        ratings = rng.integers(1, 6, size * 100).astype(np.float32)
        x = sparse.csr_array((ratings, items.ravel(), np.arange(0, size * 100 + 1, 100)), shape=(size, 1000))
        x.sum_duplicates()
        planes.codes(x[:10])
        seconds = timed(lambda x=x: perturb(planes.codes(x), 1.0), repeat=2, clock="cpu")  # type: ignore[misc]
        few = x[:4000].toarray().astype(np.float64)

        def naive(few: np.ndarray = few) -> None:
            bits = few @ planes.planes.astype(np.float64).T >= 0
            np.packbits(bits ^ (rng.random(bits.shape) < 1 / (1 + math.e)), axis=1)

        slow = timed(naive, repeat=1, clock="cpu") * size / 4000
        rows.append(Row("hash and flip", size, seconds, "dense", slow, f"{size / seconds:,.0f} users/s"))
    return rows


def accounting() -> list[Row]:
    """δ of one ξ, against dp-accounting's composition of the same three-point law.

    Ours is exact and certified; the peer composes by FFT on its default grid of 1e-4 nats, on which these
    losses lie. The note says how far its δ is off, relatively: at 10,000 bits δ is below what FFT
    resolves.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    rows = []
    d, flip = 0.05, 1 / (1 + math.e)
    first = {"0": math.log(1 - d), "+": math.log(d * (1 - flip)), "-": math.log(d * flip)}
    second = {"0": math.log(1 - d), "+": math.log(d * flip), "-": math.log(d * (1 - flip))}
    for bits in (100, 1000, 10_000):
        xi = 0.04 * bits
        seconds = timed(lambda n=bits, v=xi: accountant(n, d, 1.0).delta(v), repeat=3, clock="cpu")  # type: ignore[misc]

        found = []

        def peer(n: int = bits, v: float = xi, out: list[float] = found) -> None:
            one = pld.from_two_probability_mass_functions(first, second)
            out.append(one.self_compose(n).get_delta_for_epsilon(v))

        other = timed(peer, repeat=1, clock="cpu")
        excess = found[0] / accountant(bits, d, 1.0).delta(xi) - 1
        rows.append(
            Row("exact account", bits, seconds, "dp-accounting", other, f"its δ is off by {excess:.1e} of it")
        )
    return rows
