"""What a user's vector gives away through its hash: private codes, exact accounts, matching.

Users hash their vectors with a public random hash, make the bits noisy and publish them; the curator matches
users by the noisy bits (Fernandes, Ch. 10). With the hash public, the loss of a pair of users is a sum of
independent steps, so the accountant's answers are exact.
"""

import lazy_loader

# The stub lists the names of users and those of other rooms; these are the users'.
__all__ = [
    "Codes",
    "HashIdentity",
    "HyperplaneLSH",
    "MinHash",
    "PStable",
    "accountant",
    "alpha_hoeffding",
    "alpha_kl",
    "angular_distance",
    "ball_counts",
    "calibrate",
    "calibrate_laplace",
    "calibrate_soft_sign",
    "channel",
    "choose_bits",
    "choose_mechanism",
    "chord_distance",
    "code_xi",
    "delta_for_population",
    "estimate_distance",
    "exposed_planes",
    "foursquare",
    "from_chord",
    "laplace_accountant",
    "laplace_channel",
    "laplace_lsh",
    "loss_curve",
    "mechanism_frontier",
    "movielens",
    "neighbours",
    "paper_bounds",
    "perturb",
    "realised_xi",
    "reidentification",
    "reidentification_of_chances",
    "reidentification_of_laplace",
    "response_cxdp",
    "soft_sign",
    "soft_sign_accountant",
    "soft_sign_channel",
    "subgaussian",
    "synthetic_ratings",
    "true_neighbours",
    "utility_loss",
    "within",
    "xi_hoeffding",
]
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return sorted(__all__)
