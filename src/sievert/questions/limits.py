"""The limits of a policy in words: every bound, which is exact, and how much of it the mechanism uses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from sievert.errors import TooLargeError
from sievert.files import Scenario, file_eps
from sievert.limits import WorstLeakage, worst_leakage
from sievert.measures import capacity, record_leakage
from sievert.questions._accept import has_noise_in_cells
from sievert.results import Result, in_bits

__all__ = ["Limits", "limits_of"]


@dataclass(frozen=True)
class Limits(Result):
    """What any ε-private mechanism of a policy could leak, and what the file's own mechanism does.

    Attributes
    ----------
    database, individual : worst case about the whole database, and about one record given the others
    used_bits : what the file's mechanism leaks about the database (None: no mechanism, or none with a list)
    used_record_bits : what it leaks about one record
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

    def __str__(self) -> str:
        worst = self.database
        if worst.exact is not None:
            return (
                f"Whatever mechanism is chosen, at ε = {self.eps:g} the database leaks at most "
                f"{in_bits(worst.exact.bits)}, and some mechanism leaks exactly that."
            )
        return (
            f"Whatever mechanism is chosen, at ε = {self.eps:g} the database leaks at most "
            f"{in_bits(worst.upper.bits)} (some mechanism leaks {worst.lower.bits:.4g})."
        )


def limits_of(scenario: Scenario, eps: float | None = None) -> Limits:
    """Bounds for the file's policy at an ε (the file's claim, or its mechanism's true ε, by default)."""
    level = eps if eps is not None else file_eps(scenario)
    database = worst_leakage(scenario.policy, level)
    individual = worst_leakage(scenario.policy, level, individual=True)
    used = used_record = None
    if scenario.document.mechanism is not None and not has_noise_in_cells(scenario):
        with suppress(TooLargeError):  # the limits hold whether or not the answers can be listed
            used = float(capacity(scenario.channel).bits)
            used_record = float(record_leakage(scenario.channel, scenario.answers).bits)
    certificate = database.certificate
    verified = "" if certificate is None else str(certificate.verify())
    return Limits(
        scenario.title,
        scenario.policy.describe(),
        level,
        _candidates(scenario, individual),
        database,
        individual,
        used,
        used_record,
        verified,
    )


def _candidates(scenario: Scenario, individual: WorstLeakage) -> int:
    """How many values of one record are possible when it can be guessed about most."""
    if scenario.policy.constrained and individual.mechanism is not None:
        return individual.mechanism.shape[1]
    if scenario.policy.constrained and individual.upper.log == 0:
        return 1  # what everybody knows and the other records determine it
    return len(scenario.policy.values)
