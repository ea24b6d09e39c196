"""Families of private channels (Fernandes, Sec 3.4, 4.7.1).

Each takes the number of inputs (or their labels) and exactly one of `eps` (nats) and `alpha` = e^-eps;
a rational alpha gives an exact channel.
"""

from sievert.mechanisms.exponential import exponential, nominal_epsilon, true_epsilon
from sievert.mechanisms.geometric import geometric, truncated_geometric
from sievert.mechanisms.kernels import metric_channel, tight_constraints
from sievert.mechanisms.response import randomised_response, warner

__all__ = [
    "exponential",
    "geometric",
    "metric_channel",
    "nominal_epsilon",
    "randomised_response",
    "tight_constraints",
    "true_epsilon",
    "truncated_geometric",
    "warner",
]
