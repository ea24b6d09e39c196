"""What a document gives away: bags of words, noise by meaning, what is promised, what is still found.

A document is a bag of words; words are points of a public embedding; two documents are as far apart as their
words must travel (Fernandes, Ch. 9). A mechanism on words that is ε·d-private makes bags of N words
ε·N·E-private, and everything here says that number in nats before it says anything else.
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "Bag",
    "Embedding",
    "bag",
    "bottleneck",
    "distance",
    "lower_bounds",
    "nearest_documents",
    "ngrams",
    "tokens",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
