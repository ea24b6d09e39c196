"""Backwards for the file's own mechanism: the largest ε at which it keeps a limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from typing import Literal

from sievert.analysis import Attacker, Enclosure, Vulnerability
from sievert.errors import FileError, MechanismError
from sievert.files import PolicyScenario
from sievert.limits import largest_satisfying, odds_growth, six_digits
from sievert.numerics import (
    abbreviated,
    advance,
    choice,
    in_bits,
    in_percent,
    non_negative,
    probability,
    whole,
)
from sievert.results import Result

__all__ = ["MaxEpsilon", "max_epsilon"]

Quantity = Literal["guess", "bits", "odds", "advantage"]
# ε above which nobody could tell the promise from none, and below which nothing is released.
HIGHEST, LOWEST = 1e4, 1e-12
GROWTH = 4.0
# Relative width at which the search stops; the answer keeps the limit in any case.
PRECISION = 1e-9


@dataclass(frozen=True)
class MaxEpsilon(Result):
    """The largest ε at which the file's mechanism keeps a limit about one record, everything else known.

    Where a person may own several records, the limit is about them all.

    Attributes
    ----------
    eps : ε in nats, as [mechanism] writes it; inf where no ε exceeds the limit
    quantity, limit : what is limited: the best "guess", its growth in "bits", in "odds" or in "advantage"
    value : the quantity at that ε
    releases : after how many releases
    exact : whether the value is exact; else a bound keeps the limit, and a larger ε might
    about : "one record", or "one person" where one may own several
    """

    eps: float
    quantity: Quantity
    limit: float
    value: float
    releases: int
    exact: bool
    about: Literal["one record", "one person"] = "one record"

    def __float__(self) -> float:
        return self.eps

    def __str__(self) -> str:
        after = "one release" if self.releases == 1 else f"{self.releases} releases"
        most = f"{_words(self.quantity, self.limit, self.about)} after {after}"
        if math.isinf(self.eps):
            return f"this mechanism keeps {most} at every ε"
        surely = "" if self.exact else "surely "
        return f"this mechanism {surely}keeps {most} up to ε = {six_digits(self.eps, ROUND_FLOOR)}"


def max_epsilon(
    scenario: PolicyScenario, limit: float, quantity: Quantity = "guess", releases: int | None = None
) -> MaxEpsilon:
    """The largest ε at which the file's own mechanism keeps a limit about one record.

    Parameters
    ----------
    scenario : what `sievert.load` read; its family must have an ε
    limit : what is accepted
    quantity : what is limited: the best "guess", its growth in "bits", in "odds" or in "advantage"
    releases : after how many releases; the adversary's observations unless given

    Returns
    -------
    MaxEpsilon
        At its ε the limit is kept; at one larger by a part in 10⁹ it is not, or is not known to be.

    Notes
    -----
    What any mechanism allows is `weakest_claim`; this one may leak less, so that its ε may be larger. Cost:
    about a dozen audits of one record.

    Examples
    --------
    >>> import sievert as sv
    >>> from sievert.questions import max_epsilon
    >>> print(max_epsilon(sv.load("examples/daily-question.toml"), 0.9, releases=1))
    this mechanism keeps the best guess about one record at or below 90.0% after one release up to ε = 2.89037
    """
    choice("quantity", quantity, ("guess", "bits", "odds", "advantage"), MechanismError)
    share = quantity in ("guess", "advantage")
    most = (probability if share else non_negative)("limit", limit, MechanismError)
    count = (
        scenario.observations if releases is None else whole("releases", releases, MechanismError, least=1)
    )
    if scenario.mechanism.with_eps(1.0) is None:
        words = scenario.mechanism.words()
        raise FileError(
            f"{scenario.source}, mechanism: {words} has no other ε; name a family with eps",
            key=("mechanism",),
        )
    found: dict[float, Vulnerability] = {}
    policy = scenario.policy
    people = 1 if policy.constrained else policy.person_records

    def excess(eps: float) -> float:
        if eps not in found:
            advance("levels of ε", len(found), len(found) + 1)
            found[eps] = scenario.at_eps(eps).analysis.vulnerability(Attacker(records=people), count)
        return _amount(quantity, found[eps]) - most

    before = scenario.analysis.vulnerability().prior
    blind = Vulnerability(before, Enclosure.exact(before, ""), count)
    if _amount(quantity, blind) > most:
        raise MechanismError(f"limit is {abbreviated(limit)}; no ε keeps it, a blind guess is better")
    low, high = _bracket(excess, scenario)
    eps = low if math.isinf(high) or low == 0 else largest_satisfying(excess, low, high, PRECISION)
    last = found.get(eps, blind)
    shown = math.inf if math.isinf(high) else eps
    value = _amount(quantity, last)
    about: Literal["one record", "one person"] = "one record" if people == 1 else "one person"
    return MaxEpsilon(shown, quantity, most, value, count, last.is_exact, about)


def _bracket(excess: Callable[[float], float], scenario: PolicyScenario) -> tuple[float, float]:
    """An ε that keeps the limit (0: none above does) and one that does not (inf: every one keeps it)."""
    stated = scenario.claimed_eps
    start = stated if stated is not None and LOWEST < stated < HIGHEST else 1.0
    if excess(start) <= 0:
        low, high = start, GROWTH * start
        while excess(high) <= 0:
            low, high = high, GROWTH * high
            if high > HIGHEST:
                return low, math.inf
        return low, high
    low, high = start / GROWTH, start
    while excess(low) > 0:
        low, high = low / GROWTH, low
        if low < LOWEST:
            return 0.0, high
    return low, high


def _amount(quantity: Quantity, found: Vulnerability) -> float:
    """What is limited, of a guess before and after."""
    before, after = found.prior, found.value
    if quantity == "odds":
        return odds_growth(before, after)
    return {"guess": after, "advantage": after - before, "bits": math.log2(after / before)}[quantity]


def _words(quantity: Quantity, limit: float, about: str) -> str:
    return {
        "guess": f"the best guess about {about} at or below {in_percent(limit)}",
        "advantage": f"the growth of the best guess at or below {100 * limit:.4g} percentage points",
        "bits": f"the leak about {about} at or below {in_bits(limit)}",
        "odds": f"the odds of a right guess from growing more than {limit:g} times",
    }[quantity]
