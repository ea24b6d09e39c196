"""What do all private mechanisms look like: the polytope of private posteriors, its vertices, and kernels."""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "convex_sum",
    "decompose",
    "has_universally_optimal",
    "is_kernel",
    "is_vertex_mechanism",
    "iter_kernels",
    "kernel_thresholds",
    "kernels",
    "optimal_kernels",
    "pair_T_realizable",
    "polytope",
    "to_vertex_mechanism",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
