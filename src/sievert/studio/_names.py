"""The parts of an answer by name, in the order of their tabs."""

__all__ = ["NAMES"]

NAMES = (
    "headline",
    "guess",
    "noise",
    "epsilon",
    "releases",
    "compare",
    "design",
    "secrets",
    "places",
    "inference",
    "budget",
    "proofs",
)
