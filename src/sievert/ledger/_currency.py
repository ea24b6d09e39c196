"""What a ledger adds up: pure ε, or ρ of zero-concentrated privacy, which is read at a δ.

Both add up whatever is released next (Feldman and Zrnic; Whitehouse et al.): a limit fixed before is a
filter. Only δ is read at the end, so nobody spends it. Every conversion is rounded to the safe side.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from sievert.errors import LedgerError
from sievert.numerics import abbreviated, number

__all__ = ["CURRENCIES", "EPS", "RHO", "Currency", "epsilon_of", "exactly", "largest_rho"]

# Digits after the point of what no fraction is exactly.
SCALE = 10**12
# Floats find a ρ to fewer units than this share of it.
MARGIN = Fraction(1, 10**12)
HALVINGS = 200


@dataclass(frozen=True)
class Currency:
    """The unit of a ledger's amounts: its key in the records, and how it is written."""

    key: str
    symbol: str

    def words(self, amount: Fraction) -> str:
        """An amount, such as "ρ = 0.1"."""
        return f"{self.symbol} = {number(amount)}"


EPS = Currency("eps", "ε")
RHO = Currency("rho", "ρ")
CURRENCIES = {currency.key: currency for currency in (EPS, RHO)}


# An exponent would be written out: 1e999999999 has no end.
_AMOUNT = re.compile(r"-?[0-9]+(/[0-9]+)?")


def exactly(text: object) -> Fraction:
    """An amount of a record, as this package writes them: p or p/q."""
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise ValueError(f"{abbreviated(text)} is no amount, such as 1/2")
    return Fraction(text)


def largest_rho(eps: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ that is (ε, δ)-private by its conversion, rounded down and converted again.

    >>> float(largest_rho(Fraction(3), Fraction(1, 10**6)))
    0.18506984...
    """
    from sievert.limits import zcdp_delta

    level, lost = float(eps), float(delta)

    def kept(rho: float) -> bool:
        return float(zcdp_delta(rho, level)[0]) <= lost

    low, high = 0.0, level
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if kept(middle) else (low, middle)
    found = Fraction(math.floor(Fraction(low) * (1 - MARGIN) * SCALE), SCALE)
    if found <= 0 or not kept(float(found)):
        raise LedgerError(
            f"no ρ of at least 1e-12 keeps ε = {abbreviated(level)} at δ = {abbreviated(lost)}; allow "
            f"more of either"
        )
    return found


def epsilon_of(rho: Fraction, delta: Fraction) -> float:
    """The least ε that ρ implies at a δ (Canonne, Kamath and Steinke, Prop 12), rounded up.

    >>> round(epsilon_of(Fraction(1, 10), Fraction(1, 10**6)), 9)
    2.141938928
    """
    from sievert.limits.promises import ZeroConcentratedClaim

    above = math.nextafter(float(rho), math.inf) if rho else 0.0
    return ZeroConcentratedClaim(above).epsilon(float(delta))
