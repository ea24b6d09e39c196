"""Isomorphic components, and the isomorphisms between them."""

from sievert.spaces import graphs, isomorphic_components


def test_colours_can_make_a_difference() -> None:
    paths = graphs.of_pairs([[0, 1], [2, 3]])
    assert len(isomorphic_components(paths, colours=["red", "blue", "blue", "red"])) == 1
    assert len(isomorphic_components(paths, colours=["red", "red", "blue", "red"])) == 2


def test_many_components() -> None:
    """Edwards et al., Thm 5 with 10^5 components: two classes."""
    found = isomorphic_components(graphs.theorem_five(100_000))
    assert [(one.count, one.size) for one in found] == [(1, 4), (99_999, 2)]
    assert str(found[1]) == "99999 isomorphic components of 2 vertices"
