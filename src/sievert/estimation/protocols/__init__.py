"""Frequency protocols of local differential privacy: vectorised clients and servers, closed-form variances.

Every protocol turns a value into a report that is ε-private for any two values, and counts for each value the
reports that *support* it: a report supports its true value with probability p and any other with
probability q. The frequency of a value is then (support/N - q)/(p - q), unbiased, with a variance in
closed form (Wang et al., USENIX Security 2017). Clients here draw floating-point randomness: for analysis
and simulation.

>>> protocol = local_hashing(["a", "b", "c", "d"], eps=2.0)
>>> reports = protocol.privatise(["a"] * 3000 + ["b"] * 1000, rng=1)
>>> (protocol.estimate(reports).frequencies > 0.1).tolist()
[True, True, False, False]
"""

from __future__ import annotations

from sievert.estimation.protocols._base import (
    Protocol,
    ResponseProtocol,
    UnaryEncoding,
    randomised_response,
    unary,
)
from sievert.estimation.protocols._hashing import HashedReports, LimitedReports, LocalHashing, local_hashing

__all__ = [
    "HashedReports",
    "LimitedReports",
    "LocalHashing",
    "Protocol",
    "ResponseProtocol",
    "UnaryEncoding",
    "local_hashing",
    "randomised_response",
    "unary",
]


def __dir__() -> list[str]:
    return sorted(__all__)
