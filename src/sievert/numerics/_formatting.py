"""Numbers in words that a reader can take in: of proofs, and of answers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

__all__ = [
    "amount",
    "at_least_percent",
    "at_most",
    "at_most_percent",
    "belief_growth",
    "bounded_percent",
    "claim_in_words",
    "eps_in_words",
    "guess_words",
    "in_bits",
    "in_nats",
    "in_percent",
    "in_releases",
    "in_share",
    "in_tenths",
    "number",
    "times",
]

LONGEST = 24
# Between these an amount has its thousands set apart.
LARGE, LARGEST = 1e4, 1e10
# Smaller percents are written as a power of ten.
LEAST_PERCENT = 1e-6
# What a bound may miss by rounding alone.
LAST_DIGITS = 1e-12


def eps_in_words(eps: Fraction) -> str:
    """ε exactly where that is short, else as a rounded decimal that says so.

    >>> eps_in_words(Fraction(1, 2)), eps_in_words(Fraction(1, 3)), eps_in_words(Fraction(2**60 + 1, 2**61))
    ('0.5', '1/3', '0.5 (rounded)')
    """
    rounded = f"{float(eps):.12g}"
    if Fraction(rounded) == eps:
        return rounded
    exact = str(eps)
    return exact if len(exact) <= LONGEST else f"{rounded} (rounded)"


def at_most(value: Fraction | float, digits: int = 3) -> str:
    """A number ≥ 0 with few digits, rounded up: what is said to be a bound is one.

    >>> at_most(Fraction(1, 3)), at_most(Fraction(2, 3) / 10**9), at_most(0.0), at_most(212.1320344, 4)
    ('0.334', '6.67e-10', '0', '212.2')
    """
    if not 0 < value < math.inf:
        return f"{float(value):g}"
    shown = f"{float(value):.{digits}g}"
    if Fraction(shown) >= value:
        return shown
    unit = Fraction(f"1e{f'{float(value):.{digits - 1}e}'.partition('e')[2]}") / 10 ** (digits - 1)
    return f"{float(Fraction(shown) + unit):.{digits}g}"


def claim_in_words(eps: Fraction, delta: Fraction) -> str:
    """Both parameters of approximate differential privacy.

    >>> claim_in_words(Fraction(3), Fraction(1, 10**6))
    'ε = 3, δ = 1e-06'
    """
    return f"ε = {eps_in_words(eps)}, δ = {eps_in_words(delta)}"


# ── Numbers as people read them ─────────────────────────────────────────────────────────────────────────────


def amount(value: float, digits: int = 4) -> str:
    """A number with few digits, its thousands set apart; what is very large as a power of ten.

    >>> amount(0.78941), amount(6468.2, 3), amount(28284.27), amount(1028712.0, 3), amount(6.5e15)
    ('0.7894', '6470', '28,280', '1,030,000', '6.5e+15')
    """
    shown = f"{value:.{digits}g}"
    if LARGE <= abs(value) < LARGEST:
        return f"{float(shown):,.0f}"
    return f"{float(shown):.0f}" if "e+" in shown and abs(value) < LARGE else shown


def in_bits(value: float, digits: int = 4) -> str:
    """An amount of information as text.

    >>> in_bits(1.0), in_bits(0.78941), in_bits(39863.1)
    ('1 bit', '0.7894 bits', '39,860 bits')
    """
    text = amount(value, digits)
    return f"{text} bit" if text == "1" else f"{text} bits"


def in_nats(value: float | str, digits: int = 4) -> str:
    """A privacy loss as text, or one that is text already with its unit.

    >>> in_nats(1.0), in_nats(10.82212), in_nats("1/3")
    ('1 nat', '10.82 nats', '1/3 nats')
    """
    text = value if isinstance(value, str) else f"{value:.{digits}g}"
    return f"{text} nat" if text == "1" else f"{text} nats"


def in_releases(count: int) -> str:
    """How many releases, in words.

    >>> in_releases(1), in_releases(10)
    ('1 release', '10 releases')
    """
    return f"{count} release{'' if count == 1 else 's'}"


def in_percent(value: float) -> str:
    """A probability as people read it, with three digits.

    >>> in_percent(0.25), in_percent(0.9999999), in_percent(2.718e-7), in_percent(1e-9)
    ('25.0%', 'almost 100%', '0.0000272%', '1e-07%')
    >>> in_percent(0.0011944), in_percent(0.022), in_percent(0.005)
    ('0.119%', '2.20%', '0.5%')
    """
    return "almost 100%" if 0.9995 < value < 1 else _percent(value, ROUND_HALF_EVEN)


def at_most_percent(value: float) -> str:
    """The same of a bound that nothing exceeds: rounded up.

    >>> at_most_percent(0.02201), at_most_percent(0.3), at_most_percent(0.9996), at_most_percent(0.1994)
    ('2.21%', '30.0%', '100%', '20.0%')
    """
    return _percent(value * (1 - LAST_DIGITS), ROUND_CEILING)


def bounded_percent(value: float, exact: bool) -> str:
    """A probability that is exact, or at most that and then rounded up.

    >>> bounded_percent(0.02201, True), bounded_percent(0.02201, False)
    ('2.20%', 'at most 2.21%')
    """
    return in_percent(value) if exact else f"at most {at_most_percent(value)}"


def at_least_percent(value: float) -> str:
    """The same of a bound that nothing is below: rounded down.

    >>> at_least_percent(0.02209), at_least_percent(0.3), at_least_percent(0.99999)
    ('2.20%', '30.0%', '99.9%')
    """
    return _percent(min(value * (1 + LAST_DIGITS), max(value, 1.0)), ROUND_FLOOR)


def _percent(value: float, rounding: str) -> str:
    """Three digits, no more than a tenth of a percent of what is large."""
    percent = Decimal(100 * value)
    if percent == 0 or percent >= 100 or not percent.is_finite():
        return f"{float(percent):.3g}%"
    places = 1 if percent >= 10 else 2 if percent >= 1 else 2 - percent.adjusted()
    shown = percent.quantize(Decimal(1).scaleb(-places), rounding)
    if percent >= 1:
        return "100%" if shown >= 100 else f"{shown}%"
    short = shown.normalize()
    return f"{short:f}%" if percent >= LEAST_PERCENT else f"{float(short):g}%"


def in_share(value: float) -> str:
    """A share of a whole in percents; all of it only where it is.

    >>> in_share(0.5), in_share(0.9957), in_share(1.0), in_share(0.00123)
    ('50%', '99.6%', '100%', '0.123%')
    """
    if 0 < value < 0.005:
        return in_percent(value)
    return f"{100 * value:.3g}%" if 0.995 <= value < 1 - 1e-9 else f"{value:.0%}"


def in_tenths(value: float) -> str:
    """A share to a tenth of a percent; exact at 0 and 1.

    >>> in_tenths(0.25), in_tenths(1.0), in_tenths(1e-5)
    ('25.0%', '100%', '<0.1%')
    """
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.0%}" if value in (0, 1) or abs(value) < 1e-12 else f"{value:.1%}"


def times(factor: float) -> str:
    """A factor with its word, never "1 times": near 1 as many digits as it takes.

    >>> times(2.5), times(1.0), times(1.0000123), times(math.inf)
    ('2.5 times', 'once', '1.00001 times', 'more than 1e308 times')
    """
    if math.isinf(factor):
        return "more than 1e308 times"
    texts = (amount(factor, digits) for digits in range(4, 18))
    text = next((text for text in texts if text != "1"), "1")
    return "once" if text == "1" else f"{text} times"


def belief_growth(what: str, factors: Sequence[tuple[float, float]], unit: str = "") -> str:
    """How much belief grows when only values up to a distance apart are possible; bounds, rounded up.

    >>> print(belief_growth("places", [(50, 2.3511), (100, 5.5)], " m"))
    Belief in the truth grows at most 2.352 times for someone to whom only places up to 50 m apart are ...
    """
    (nearest, least), *others = [(apart, times(float(at_most(factor, 4)))) for apart, factor in factors]
    more = "".join(f", {growth} for {amount(apart)}{unit}" for apart, growth in others)
    return (
        f"Belief in the truth grows at most {least} for someone to whom only {what} "
        f"up to {amount(nearest)}{unit} apart are possible{more}."
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


def number(value: Fraction | float) -> str:
    """An amount as people read it: the shortest decimal, or twelve digits of it.

    >>> number(Fraction(1, 2)), number(Fraction(1, 3)), number(Fraction(3))
    ('0.5', '0.333333333333', '3')
    """
    return f"{float(value):.12g}"
