"""The parameter of a family: eps in nats, or alpha = e^-eps (rational for exact channels)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sievert.numerics import log_fraction, read_eps, rounded_up

__all__ = ["Privacy"]


@dataclass(frozen=True)
class Privacy:
    """How far apart one unit makes two outputs.

    Attributes
    ----------
    eps : nats for one unit
    alpha : e^-eps as a fraction, where the channel's entries are fractions of it
    exact_eps, exact_alpha : the one of them that was given, as it was written: the law that is drawn from
    """

    eps: float
    alpha: Fraction | None
    exact_eps: Fraction | None = None
    exact_alpha: Fraction | None = None

    @property
    def written(self) -> tuple[str, Fraction]:
        """The parameter that was given, by its name.

        >>> Privacy(0.5, None).written, Privacy(0.5, None, exact_alpha=Fraction(3, 5)).written
        (('eps', Fraction(1, 2)), ('alpha', Fraction(3, 5)))
        """
        if self.exact_eps is not None:
            return "eps", self.exact_eps
        alpha = self.alpha if self.exact_alpha is None else self.exact_alpha
        return ("eps", read_eps(self.eps)) if alpha is None else ("alpha", alpha)

    def times(self, units: Fraction) -> Fraction:
        """ε of so many units: exact where eps was given, else a logarithm rounded up."""
        name, value = self.written
        if name == "eps":
            return value * units
        return Fraction(0) if value == 1 else rounded_up(-log_fraction(value) * float(units))
