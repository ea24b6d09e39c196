"""What changes when values are real numbers: densities, Laplace noise on an interval, its exact price."""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "Density",
    "function_loss",
    "gap",
    "grid_geometric",
    "hyper_distance",
    "induced_metric",
    "laplace_loss",
    "lifted",
    "pixel_witness",
    "realised_epsilon",
    "refined_by_geometric",
    "resolution",
    "sensitivity",
    "step_loss",
    "truncated_laplace",
    "witness",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
