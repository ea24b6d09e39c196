"""The limits of a policy in words: every bound, which is exact, and how much of it the mechanism uses."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sievert.errors import TooLargeError
from sievert.files import PolicyScenario, file_eps
from sievert.limits import WorstLeakage, worst_leakage
from sievert.numerics import in_bits, tracked
from sievert.proofs import Proof
from sievert.questions._one_row import OfOneRow, one_row, rows_of_person
from sievert.results import Result

__all__ = ["LimitCurves", "LimitsAnswer", "limit_curves", "limits_of"]


NO_CERTIFICATE = (
    "the bound was computed ({}), with a margin for rounding, but is not written down as a proof that others "
    "could check"
)


@dataclass(frozen=True)
class LimitsAnswer(OfOneRow):
    """What any ε-private mechanism of a policy could leak, and what the file's own mechanism does.

    Attributes
    ----------
    database, individual : worst case about the whole database, and about one record given the others
    used_bits : what the file's mechanism leaks about the database (None: no mechanism, or none with a list)
    used_exact : whether that is exact, else an upper bound
    used_record_bits : what it leaks about one record
    verified : what the certificate proves; empty without one
    uncertified : why there is no certificate (None: there is one)
    """

    title: str
    policy: str
    eps: float
    values: int
    database: WorstLeakage
    individual: WorstLeakage
    used_bits: float | None
    used_record_bits: float | None
    verified: str = field(default="")
    uncertified: str | None = None
    used_exact: bool = True

    asked_eps: float | None = field(default=None, compare=False)

    @property
    def passed(self) -> None:
        """Bounds promise nothing that could fail."""
        return None

    @property
    def certificate(self) -> Proof | None:
        """What proves the bound about the database."""
        return self.database.certificate

    @property
    def unproved(self) -> str:
        """Why there is no certificate."""
        return str(self.uncertified)

    @property
    def told(self) -> dict[str, Any]:
        """The options that it was asked with, beside the file."""
        return {"eps": self.asked_eps}

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data."""
        found = super().to_dict()
        del found["asked_eps"]
        return found

    def __str__(self) -> str:
        worst = self.database
        reached = f" (some mechanism leaks {in_bits(worst.lower.bits)})"
        if worst.exact is not None:
            reached = ", and some mechanism leaks exactly that"
        return (
            f"Whatever mechanism is chosen, at ε = {self.eps:g} the database leaks at most "
            f"{in_bits(worst.upper.bits)}{reached}.{one_row(self.rows_per_person)}"
        )


def run(scenario: PolicyScenario, eps: float | None = None) -> LimitsAnswer:
    """The answer of `sievert limits`."""
    return replace(limits_of(scenario, eps), asked_eps=eps)


def limits_of(scenario: PolicyScenario, eps: float | None = None) -> LimitsAnswer:
    """Bounds for the file's policy at an ε (the file's claim, or its mechanism's true ε, by default)."""
    level = eps if eps is not None else file_eps(scenario)
    database = worst_leakage(scenario.policy, level)
    individual = worst_leakage(scenario.policy, level, individual=True)
    used = used_record = None
    exact = True
    if scenario.document.mechanism is not None:
        with suppress(TooLargeError):  # the limits hold whether or not the answers can be listed
            view = scenario.analysis
            if view.capacity is not None:
                used, exact = float(view.capacity.bits), view.capacity.gap == 0
            used_record = view.uniform_bits
    certificate = database.certificate
    verified = "" if certificate is None else str(certificate.verify())
    return LimitsAnswer(
        scenario.title,
        scenario.policy.describe(),
        level,
        _candidates(scenario, individual),
        database,
        individual,
        used,
        used_record,
        verified,
        uncertified=_uncertified(database),
        used_exact=exact,
        rows_per_person=rows_of_person(scenario),
    )


def _uncertified(database: WorstLeakage) -> str | None:
    """Why there is no certificate; None where there is one."""
    if database.certificate is not None:
        return None
    if math.isinf(database.eps):
        return "ε = ∞ promises nothing, so that there is nothing to prove"
    return NO_CERTIFICATE.format(database.method)


def _candidates(scenario: PolicyScenario, individual: WorstLeakage) -> int:
    """How many values of one record are possible when it can be guessed about most."""
    if scenario.policy.constrained and individual.mechanism is not None:
        return individual.mechanism.shape[1]
    if scenario.policy.constrained and individual.upper.log == 0:
        return 1  # what everybody knows and the other records determine it
    return len(scenario.policy.values)


# ── The same bounds at other ε, for a picture ───────────────────────────────────────────────────────────────

# Shares of the range, coarse before fine, so that a curve may stop at any of them.
COARSE_TO_FINE = np.array([0, 16, 8, 4, 12, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15]) / 16
FEWEST_POINTS = 5
# A curve may take this many seconds; a policy that needs longer for one ε has no curve.
CURVE_SECONDS = 6.0
# Twice a larger ε would not be a number.
LARGEST_EPS = 1e308


@dataclass(frozen=True)
class LimitCurves(Result):
    """Bits that any mechanism of the policy could leak as ε varies: one curve a bound."""

    eps: tuple[float, ...]
    bits: dict[str, tuple[float, ...]]


def limit_curves(scenario: PolicyScenario, limits: LimitsAnswer) -> LimitCurves | None:
    """The bounds around the ε of the limits; None where they take too long."""
    if math.isinf(limits.eps):
        return None
    top = min(2 * limits.eps, LARGEST_EPS) if limits.eps > 0 else 2.0
    found: dict[float, WorstLeakage] = {limits.eps: limits.database}
    start = time.perf_counter()
    for eps in tracked("points of the curve", (top * COARSE_TO_FINE**2).tolist()):
        if time.perf_counter() - start > CURVE_SECONDS:
            break
        found[eps] = worst_leakage(scenario.policy, eps)
    if len(found) < FEWEST_POINTS:
        return None
    grid = tuple(sorted(found))
    at = [found[eps] for eps in grid]
    return LimitCurves(
        grid,
        {
            "diameter bound": tuple(item.diameter.bits for item in at),
            "radius bound": tuple(item.radius.bits for item in at),
            "packing bound": tuple(item.packing.bits for item in at),
            "most that any mechanism leaks": tuple(item.upper.bits for item in at),
        },
    )
