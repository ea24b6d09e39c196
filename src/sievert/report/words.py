"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from sievert.results import in_bits, upwards

__all__ = ["belief_growth", "bits", "guess_words", "probability", "times"]


def bits(value: float) -> str:
    """A number of bits.

    >>> bits(1.0), bits(0.3157)
    ('1 bit', '0.316 bits')
    """
    return in_bits(value, 3)


def probability(value: float) -> str:
    """A probability as people read it.

    >>> probability(0.25), probability(0.9999999), probability(1e-9)
    ('25.0%', 'almost 100%', '1.00e-07%')
    """
    if 0.9995 < value < 1:
        return "almost 100%"
    percent = 100 * value
    if percent == 0 or percent >= 100:
        return f"{percent:.3g}%"
    return f"{percent:.1f}%" if percent >= 0.1 else f"{percent:.2e}%"


def times(factor: float) -> str:
    """A factor with its word, never "1 times": near 1 as many digits as it takes.

    >>> times(2.5), times(1.0), times(1.0000123), times(math.inf)
    ('2.5 times', 'once', '1.00001 times', 'more than 1e308 times')
    """
    if math.isinf(factor):
        return "more than 1e308 times"
    texts = (f"{factor:.{digits}g}" for digits in range(4, 18))
    text = next((text for text in texts if text != "1"), "1")
    return "once" if text == "1" else f"{text} times"


def belief_growth(what: str, factors: Sequence[tuple[float, float]], unit: str = "") -> str:
    """How much belief grows when only values up to a distance apart are possible; bounds, rounded up.

    >>> print(belief_growth("places", [(50, 2.3511), (100, 5.5)], " m"))
    Belief in the truth grows at most 2.352 times for someone to whom only places up to 50 m apart are ...
    """
    (nearest, least), *others = factors
    more = "".join(f", {times(float(upwards(factor)))} for {apart:.4g}{unit}" for apart, factor in others)
    return (
        f"Belief in the truth grows at most {times(float(upwards(least)))} for someone to whom only {what} "
        f"up to {nearest:.4g}{unit} apart are possible{more}."
    )


def guess_words(action: Hashable) -> str:
    """An adversary's action: the guess itself, or the answer to a question.

    >>> guess_words(True), guess_words("north"), guess_words(("a", "b"))
    ('yes', 'north', 'a, b')
    """
    if isinstance(action, bool):
        return "yes" if action else "no"
    if isinstance(action, tuple):
        return ", ".join(map(str, action))
    return str(action)
