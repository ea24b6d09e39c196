"""Small connected graphs, drawn at random for the tests of several methods."""

import itertools

from hypothesis import strategies as st

from sievert.spaces import Graph

__all__ = ["LEVELS", "connected_graphs"]


LEVELS = st.sampled_from([0.05, 0.2, 0.5, 1.0, 2.5])


@st.composite
def connected_graphs(draw: st.DrawFn, least: int = 2, most: int = 7) -> Graph:
    """A random tree and a few more edges."""
    n = draw(st.integers(least, most))
    edges = {(draw(st.integers(0, k - 1)), k) for k in range(1, n)}
    every = list(itertools.combinations(range(n), 2))
    edges |= set(draw(st.lists(st.sampled_from(every), max_size=4)))
    return Graph(range(n), sorted(edges))
