"""What a release about one thing tells about another: correlated secrets, exact trade-offs, counter-examples.

The count of single people says something about who is in custody, because the two are correlated. A
`Correlation` says how; everything else here asks what a release about the useful property gives away about
the secret one (Fernandes, Ch. 5).
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "Correlation",
    "accuracy",
    "accuracy_counterexample",
    "curve",
    "frontier",
    "inference_counterexample",
    "lunch_counterexample",
    "newcomer",
    "newcomer_table",
    "no_free_lunch",
    "privacy_loss",
    "survey",
    "survey_correlation",
    "vulnerability",
    "witness",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
