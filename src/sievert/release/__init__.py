"""Running a mechanism on data: counts, sums, histograms, and columns of numbers, categories and places.

`preview` says what a release would do; `run` does it and charges the ledger; `Ledger` and `Budget` are the
account. Noise is drawn exactly, from the operating system's random bits.
"""

from sievert.release.preview import Preview, preview
from sievert.release.running import Release, run
from sievert.tables.budget import Budget
from sievert.tables.ledger import Ledger

__all__ = ["Budget", "Ledger", "Preview", "Release", "preview", "run"]
