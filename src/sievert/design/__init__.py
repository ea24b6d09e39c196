"""Which mechanism is best: optimal design, what standard mechanisms would cost, and the price of privacy."""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "calibration",
    "dominating_remap",
    "geometric_optimality",
    "least_leakage",
    "least_loss",
    "minimax_regret",
    "noise_for",
    "survey_design",
    "universal_existence",
    "universal_gap",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
