"""Ends of lines, half planes and quadrants of a lattice, added up term by term or taken from the whole."""

from fractions import Fraction

import numpy as np

from sievert.channels import _lattice


def test_ends_of_lines_are_the_same_both_ways(monkeypatch):
    lattice, away = _lattice.Lattice(Fraction(1, 50)), np.arange(40.0)
    added = lattice.line_end(20, away), lattice.half_plane(20), lattice.quadrant(20, 30)
    monkeypatch.setattr(_lattice, "MOST_TERMS", 10)
    taken = lattice.line_end(20, away), lattice.half_plane(20), lattice.quadrant(20, 30)
    for first, second in zip(added, taken, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-14)
