"""Beside every bound what a simulation finds; a bound that says nothing is left out."""

from __future__ import annotations

from collections.abc import Callable

from sievert.numerics import at_most_percent, in_percent
from sievert.observations import SimulatedVulnerability

__all__ = ["SAYS_NOTHING", "bounded_words", "finely", "guess_beside"]

# A bound on a probability above this reads as 100%: it says nothing.
SAYS_NOTHING = 1 - 5e-4


def guess_beside(value: float, exact: bool, drawn: SimulatedVulnerability | None) -> str:
    """The probability of a right guess: exactly, or at most and by simulation."""
    if exact:
        return in_percent(value)
    return bounded_words(f"at most {at_most_percent(value)}", value < SAYS_NOTHING, drawn, finely)


def bounded_words(
    bound: str, says_something: bool, drawn: SimulatedVulnerability | None, amount: Callable[[float], str]
) -> str:
    """A bound with the simulation beside it; where it says nothing, the simulation and that.

    >>> found = SimulatedVulnerability("identity", 0.5617, 0.5563, 0.567, 20_000, 10)
    >>> guess_beside(1.0, False, found)
    'about 56.2% (simulated: 55.6% to 56.7%; no bound below 100%)'
    >>> guess_beside(0.7, False, found)
    'at most 70.0% (simulated: 55.6% to 56.7%)'
    """
    if drawn is None:
        return bound
    ends = f"simulated: {amount(drawn.lower)} to {amount(drawn.upper)}"
    if says_something:
        return f"{bound} ({ends})"
    least = bound.removeprefix("at most ").removeprefix("at least ")
    side = "below" if bound.startswith("at most") else "above"
    return f"about {amount(drawn.value)} ({ends}; no bound {side} {least})"


def finely(share: float) -> str:
    """A probability with the digits that tell the ends of an interval apart."""
    return in_percent(share) if share < 0.001 or share >= SAYS_NOTHING else f"{100 * share:#.3g}%"
