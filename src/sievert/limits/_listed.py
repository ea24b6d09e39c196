"""Few databases of several records, as one space: what leaks where capacities of records need not multiply.

Cap(T)^n ≤ Cap(T^n) ≤ P(T)^n meet where a record attains its packing bound P. Where it does not, the databases
themselves are the space to solve.
"""

from __future__ import annotations

from sievert.policies import Policy
from sievert.spaces import Graph, Metric

__all__ = ["MOST_DATABASES", "databases_of"]

# Databases that are solved as one space: seconds even where no two of them look alike.
MOST_DATABASES = 125


def databases_of(policy: Policy) -> Graph | Metric | None:
    """All databases of several records as one space; None where they are too many, or one record's.

    >>> from sievert.spaces import secrets
    >>> databases_of(Policy(secrets.line(5), 3)).size, databases_of(Policy(secrets.line(5), 4))
    (125, None)
    """
    # Two values each are the fewest that make more than one database.
    few = policy.records <= MOST_DATABASES.bit_length() and policy.size <= MOST_DATABASES
    if policy.constrained or policy.records == 1 or not few:
        return None
    return policy.database_metric() if isinstance(policy.secrets, Metric) else policy.adjacency()
