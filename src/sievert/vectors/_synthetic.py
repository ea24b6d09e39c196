"""Ratings of people who are not there: tastes in clusters, popular items, few ratings each."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sievert.errors import VectorError
from sievert.numerics import generator_of, require_size, whole

__all__ = ["synthetic_ratings"]

FACTORS, CLUSTERS = 10, 30
LARGEST = 200_000_000
BLOCK = 2048


def synthetic_ratings(
    users: int, items: int, rng: int | np.random.Generator | None = None
) -> sparse.csr_array:
    """Ratings 1 to 5 of synthetic users, one row each, 0 for what is not rated.

    Parameters
    ----------
    users, items : how many
    rng : seed or generator

    Returns
    -------
    sparse array of single precision, compressed by rows; no row is empty

    Notes
    -----
    Ten latent factors, thirty clusters of taste, items of Zipf popularity (exponent 0.8), about 60 ratings a
    user, 20 at least where there are as many items, drawn without replacement in proportion to popularity
    and taste.
    Cost: O(users·items) in blocks.

    Examples
    --------
    >>> synthetic_ratings(5, 40, rng=1).shape
    (5, 40)
    """
    people, things = whole("users", users, VectorError), whole("items", items, VectorError)
    require_size(people * things, LARGEST * 10, "the ratings", "take fewer users or items")
    generator = generator_of(rng)
    centres = generator.standard_normal((CLUSTERS, FACTORS))
    factors = generator.standard_normal((things, FACTORS)) / np.sqrt(FACTORS)
    popularity = -0.8 * np.log(np.arange(1, things + 1))
    offset = 0.4 * generator.standard_normal(things)
    parts = []
    for start in range(0, people, BLOCK):
        size = min(BLOCK, people - start)
        taste = centres[generator.integers(0, CLUSTERS, size)]
        taste = taste + np.sqrt(0.5) * generator.standard_normal((size, FACTORS))
        liking = taste @ factors.T
        # The largest of ln(weight) + Gumbel noise are a draw without replacement.
        keys = popularity + 0.5 * liking + generator.gumbel(size=liking.shape)
        wanted = np.rint(generator.lognormal(np.log(60), 0.9, size)).astype(int)
        counts = np.clip(wanted, min(20, things), things)
        rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
        level = 3.5 + 0.4 * generator.standard_normal((size, 1)) + offset + 0.8 * liking
        rating = np.clip(np.rint(level + 0.6 * generator.standard_normal(liking.shape)), 1, 5)
        parts.append(sparse.csr_array((rating * (rank < counts[:, None])).astype(np.float32)))
    return sparse.csr_array(sparse.vstack(parts, format="csr"))
