"""What a document gives away: bags of words, noise by meaning, what is promised, what is still found.

A document is a bag of words; words are points of a public embedding; two documents are as far apart as their
words must travel (Fernandes, Ch. 9). A mechanism on words that is ε·d-private makes bags of N words
ε·N·E-private, and everything here says that number in nats before it says anything else.
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "Bag",
    "Corpus",
    "DocumentIndex",
    "Embedding",
    "attack",
    "bag",
    "bag_bound",
    "bag_channel",
    "bag_likelihood",
    "bag_loss",
    "bag_probability",
    "bottleneck",
    "calibrate",
    "capacity_bound",
    "distance",
    "estimate_word_channel",
    "hide_and_reveal",
    "hiding_level",
    "laplace_log_density",
    "laplace_radius",
    "lower_bounds",
    "marginal_tail",
    "nearest_documents",
    "ngrams",
    "obfuscate",
    "presidents",
    "read_corpus",
    "replacement_profile",
    "revealing_level",
    "tokens",
    "utility_bound",
    "utility_radius",
    "word_channel",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
