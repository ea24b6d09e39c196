"""Running a mechanism on data: counts, sums, histograms, and columns of numbers, categories and places.

`preview` says what a release would do; `run` does it and charges the ledger; `plan` charges several releases
beforehand, and `account` says what a ledger holds. Noise is drawn exactly, from the operating system's random
bits.
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "account",
    "afford",
    "plan",
    "preview",
    "run",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
