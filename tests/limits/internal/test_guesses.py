"""What responses repeated or coded reach, counted word by word."""

import itertools
import math

import pytest

from sievert.limits._complete_guess import best_guess, coded_response_guess, repeated_response_guess
from sievert.limits.promises import ApproximateClaim


def test_many_values_after_several_releases() -> None:
    """The lower end against the sum over all words of answers."""
    eps, values, releases = 0.8, 3, 5
    a = math.exp(eps) / (math.exp(eps) + values - 1)
    b = 1 / (math.exp(eps) + values - 1)
    total = 0.0
    for word in itertools.product(range(values), repeat=releases):
        likelihood = [a ** word.count(x) * b ** (releases - word.count(x)) for x in range(values)]
        total += max(likelihood) / values
    assert repeated_response_guess(eps, values, releases) == pytest.approx(total, abs=1e-12)
    found = best_guess(ApproximateClaim(eps, 0.0, releases), values, None)
    assert total - 1e-12 <= found.lower <= found.upper
    assert found.upper < math.exp(releases * eps) / (math.exp(releases * eps) + values - 1)


def test_words_of_many_values_do_not_overflow() -> None:
    found = [repeated_response_guess(0.5, values, 60) for values in (10, 1000, 10**6)]
    assert all(1 / values <= guess < 1 for guess, values in zip(found, (10, 1000, 10**6), strict=True))
    assert found[0] > found[1] > found[2]


def test_coded_response_over_every_code() -> None:
    """The mean over all codes of three words with two bits each, decoded as the nearest word."""
    eps, values, bits = 0.9, 3, 2
    wrong = 1 / (1 + math.exp(eps))
    words = list(itertools.product([0, 1], repeat=bits))
    total = 0.0
    for code in itertools.product(words, repeat=values):
        for seen in words:
            apart = [sum(a != b for a, b in zip(word, seen, strict=True)) for word in code]
            likelihood = [wrong**d * (1 - wrong) ** (bits - d) for d in apart]
            total += max(likelihood) / values
    mean = total / len(words) ** values
    assert coded_response_guess(eps, values, bits) == pytest.approx(mean, abs=1e-12)
