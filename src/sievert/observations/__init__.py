"""What many releases give away: success curves, rates, breaches, budgets of queries."""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "average_level",
    "breach_curve",
    "chernoff_information",
    "chernoff_pairs",
    "expected_loss",
    "geometric_rate",
    "individual_breach",
    "loss_curve",
    "observations_until",
    "observations_until_breach",
    "rates",
    "success_curve",
    "worst_level",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
