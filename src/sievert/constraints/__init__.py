"""What everybody knows already: permitted databases, their adjacency and their moves."""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "Constraint",
    "constraint",
    "histogram",
    "listed",
    "marginals",
    "satisfying",
    "total",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
