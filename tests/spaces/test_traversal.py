"""Neighbour lists and breadth-first search, against networkx and against each other."""

from itertools import product

import numpy as np

import sievert as sv
from sievert.spaces import Graph, distances_to_nearest, graphs, neighbours


def test_neighbour_lists_are_sorted_and_count_repeated_edges_once() -> None:
    twice = Graph._of_indices((0, 1, 2), np.array([[0, 2], [2, 0], [1, 2]]))
    lists = neighbours(twice)
    assert [lists.of(v).tolist() for v in range(3)] == [[2], [2], [0, 1]]
    assert lists.degrees.tolist() == [1, 1, 2]


def test_a_million_vertices() -> None:
    side = 1000
    found = distances_to_nearest(graphs.grid(side, side), [0])
    row, column = np.divmod(np.arange(side**2), side)
    assert np.array_equal(found, row + column)
    long_path = graphs.path(side**2)
    assert np.array_equal(distances_to_nearest(long_path, [0]), np.arange(side**2))


def test_the_lists_of_a_database_graph_are_taken_as_they_are() -> None:
    kept = [d for d in product(range(3), repeat=3) if sum(d) % 4]
    graph = sv.Policy.blowfish(sv.secrets.line(3), 3, permitted=kept).adjacency()
    lists = neighbours(graph)
    assert lists.ends is graph.ends and lists.starts is graph.starts
    plain = neighbours(Graph._of_indices(range(graph.size), graph.edges))
    assert lists.starts.tolist() == plain.starts.tolist() and lists.ends.tolist() == plain.ends.tolist()


def test_a_directed_graph_is_searched_both_ways() -> None:
    policy = sv.Policy.blowfish(sv.secrets.edges(3, [(0, 1), (0, 2)]), 2, permitted=[(0, 0), (0, 1), (1, 2)])
    directed, both = (neighbours(policy.adjacency(directed=way)) for way in (True, False))
    assert directed.ends.tolist() == both.ends.tolist()
