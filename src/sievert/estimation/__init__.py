"""What samples and aggregates tell: distributions from noisy reports, audits of black boxes, intervals."""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "audit_outputs",
    "estimate_repeated",
    "estimate_table",
    "frequency_variance",
    "multiplicative_kantorovich",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
