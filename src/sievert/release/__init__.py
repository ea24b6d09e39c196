"""Running a mechanism on data: counts, sums, histograms, and columns of numbers, categories and places.

`preview` says what a release would do; `run` does it and charges the ledger; `Ledger` and `Budget` are the
account. Noise is drawn exactly, from the operating system's random bits.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
