"""A table from local responses: each record answers for itself, and the table is estimated from the answers.

Every record reports what it adds to the table truly with probability p, and anything else with q each
(randomised response on k different contributions, p/q = e^ε). What y counts for in an unbiased estimate is
(a_y - q·Σa)/(p - q), so the variance of the estimate is known for every table, and largest where all records
are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import EpsilonOrAlpha, ResponseChannel
from sievert.errors import TooLargeError
from sievert.numerics import log_binomial
from sievert.observations import RepeatedGuess, repeated_guess
from sievert.policies import Policy, Query, Statistic

__all__ = ["LocalTable"]

# Records whose estimate is known by its whole law, and contributions whose repeated reports are listed.
LARGEST_LAW = 1_000_000
LARGEST_LISTED = 40


@dataclass(frozen=True, eq=False)
class LocalTable:
    """Randomised response on what each record adds to a table, and the estimate from all reports.

    Attributes
    ----------
    statistic : the table
    records : how many report
    eps : of each report, in nats
    belief : about one record's value
    """

    statistic: Statistic
    records: int
    eps: float
    belief: FloatArray

    @cached_property
    def _classes(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Cell, amount and likeliest belief of each different contribution."""
        first, kind = self.statistic.alike
        amounts = self.statistic.amount[first]
        likeliest = np.zeros(len(first))
        np.maximum.at(likeliest, kind, self.belief)
        return np.where(amounts == 0, -1, self.statistic.cell_of[first]), amounts, likeliest

    @property
    def size(self) -> int:
        """How many different contributions there are."""
        return len(self._classes[1])

    @property
    def _chances(self) -> tuple[float, float, float]:
        """p, q and p - q, each with its digits."""
        lie = math.exp(-self.eps)
        whole = 1 + (self.size - 1) * lie
        return 1 / whole, lie / whole, -math.expm1(-self.eps) / whole

    @property
    def inverts(self) -> bool:
        """Whether the table can be estimated: not from reports that do not depend on the truth."""
        return self.eps > 0

    @cached_property
    def variances(self) -> FloatArray:
        """Variance that one record of each contribution adds to the estimate of the cell it touches most."""
        if not self.inverts:
            return np.full(self.size, math.inf)
        truth, lie, apart = self._chances
        cells, amounts = self._classes[0], self._classes[1].astype(np.float64)
        if len(self.statistic.cells) > 1:
            counted = cells >= 0
            return np.where(counted, truth * (1 - truth), lie * (1 - lie)) / apart**2
        squares = lie * float(amounts @ amounts) + apart * amounts**2
        means = lie * float(amounts.sum()) + apart * amounts
        return np.asarray(np.maximum(squares - means**2, 0.0) / apart**2)

    @property
    def deviation(self) -> float:
        """Standard deviation of one cell of the table where it is largest, in steps."""
        return math.sqrt(self.records * float(self.variances.max()))

    def law(self, confidence: float) -> tuple[float, float] | None:
        """Mean absolute error and radius of a count where the deviation is largest; None: not a count.

        All records are alike there, so the number of their reports is binomial.
        """
        truth, lie, apart = self._chances
        counts = len(self.statistic.cells) > 1 or self.size == 2
        if not counts or not self.inverts or self.records > LARGEST_LAW:
            return None
        chance, log_odds = truth, self.eps - math.log(self.size - 1)
        if truth * (1 - truth) < lie * (1 - lie):
            chance, log_odds = lie, -self.eps - math.log1p((self.size - 2) * math.exp(-self.eps))
        # Where two contributions differ by more than a step, so does what a report counts for.
        scale = float(np.ptp(self._classes[1])) / apart if len(self.statistic.cells) == 1 else 1 / apart
        hits = np.arange(self.records + 1)
        off = np.abs(hits - self.records * chance) * scale
        chances = np.exp(log_binomial(self.records, log_odds))
        order = np.argsort(off, kind="stable")
        within = np.cumsum(chances[order])
        place = min(int(np.searchsorted(within, confidence)), self.records)
        return float(off @ chances), float(off[order][place])

    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess about one record by somebody who sees its reports."""
        truth, lie, _ = self._chances
        likeliest = self._classes[2]
        before = float(self.belief.max())
        first, second = np.sort(likeliest)[::-1][[0, min(1, self.size - 1)]]
        others = np.where(likeliest == first, second if (likeliest == first).sum() == 1 else first, first)
        once = float(np.maximum(likeliest * truth, others * lie).sum()) if self.size > 1 else before
        limit = min(1.0, float(likeliest.sum()))
        if releases == 1:
            return RepeatedGuess(before, min(max(once, before), limit), True, 1)
        if self.size <= LARGEST_LISTED:
            exact = self._listed(releases)
            if exact is not None:
                return RepeatedGuess(before, min(max(exact, once, before), limit), True, releases)
        # One more report multiplies any guess by Σ_y max_v P(y | v) = k·p at most.
        with np.errstate(over="ignore"):
            grown = once * float(np.float64(self.size * truth) ** (releases - 1))
        return RepeatedGuess(before, min(grown, limit), False, releases)

    def _listed(self, releases: int) -> float | None:
        """By the types of repeated reports; None where they are too many."""
        likeliest = self._classes[2]
        total = float(likeliest.sum())
        channel = ResponseChannel(self.size, EpsilonOrAlpha(self.eps, None))
        answers = Query.record().answers(Policy.local(list(range(self.size))))
        try:
            found = repeated_guess(channel, answers, releases, likeliest / total)
        except TooLargeError:
            return None
        return found.guess * total if found.exact else None
