"""Families of private channels (Fernandes, Sec 3.4, 4.7.1).

Each takes the number of inputs (or their labels) and exactly one of `eps` (nats) and `alpha` = e^-eps;
a rational alpha gives an exact channel.
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "balanced_collection",
    "exponential",
    "geometric",
    "magnitude",
    "metric_channel",
    "nominal_epsilon",
    "pull_back",
    "randomised_response",
    "tight_constraints",
    "true_epsilon",
    "truncated_geometric",
    "two_point_blocks",
    "versus",
    "warner",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
