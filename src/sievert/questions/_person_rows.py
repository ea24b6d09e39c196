"""Rows that are released one by one, several of one person: what all of them together let an attacker guess.

Rows of one value are further releases of it: k rows in n releases are n·k releases. So a number about one row
is not about a person, and every question says so.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sievert.analysis import Analysis
from sievert.errors import SievertError
from sievert.files import PolicyScenario
from sievert.numerics import at_least_percent, at_most_percent, in_percent
from sievert.observations import SimulatedVulnerability
from sievert.questions._attackers import AttackerResult, attacker_results
from sievert.questions._beside import bounded_words, finely, guess_beside
from sievert.questions._one_row import rows_of_person
from sievert.results import Result

__all__ = ["PersonRows", "person_rows"]


@dataclass(frozen=True)
class PersonRows(Result):
    """What all rows of one person let an attacker guess who has them together, where they say the same.

    Attributes
    ----------
    rows : how many rows one person may have
    releases : of one value, by all rows in all releases
    before : the best guess without a release
    guess : the best guess after them all, exactly or (`exact` False) at most; None where it is not known
    simulated : beside a bound, the guess by simulation
    gains : what each adversary of the file gains after them all
    """

    rows: int
    releases: int
    before: float
    guess: float | None
    exact: bool
    simulated: SimulatedVulnerability | None
    gains: tuple[AttackerResult, ...] = ()

    @property
    def words(self) -> str:
        """The guess after all rows in words; "" where it is not known."""
        return "" if self.guess is None else guess_beside(self.guess, self.exact, self.simulated)

    def __str__(self) -> str:
        told = f"A person has up to {self.rows} rows (data.rows_per_person)"
        if self.guess is None:
            return f"{told}: what all of them let an attacker guess is not known."
        others = [f"; “{item.name}”: {_after(item)}" for item in self.gains if item.name != "identity"]
        more = "".join(others)
        return (
            f"{told}: an attacker who has all of them, of one value, guesses it with probability "
            f"{self.words}{more}. The other numbers are about one row."
        )


def _after(item: AttackerResult) -> str:
    if item.unit not in ("probability", "risk"):
        return f"{float(item.repeated):.4g}"
    if item.repeated_exact:
        return in_percent(float(item.repeated))
    is_risk = item.unit == "risk"
    least = "at least" if is_risk else "at most"
    shown = (at_least_percent if is_risk else at_most_percent)(float(item.repeated))
    return bounded_words(f"{least} {shown}", shown not in ("100%", "0%"), item.simulated, finely)


def person_rows(scenario: PolicyScenario) -> PersonRows | None:
    """What all rows of one person let an attacker guess; None where a person has one, or tables are released.

    Cost: that of an audit with so many more observations.
    """
    rows = rows_of_person(scenario)
    if rows == 1:
        return None
    if scenario.analysis not in _FOUND:
        _FOUND[scenario.analysis] = _person_rows(scenario, rows)
    return _FOUND[scenario.analysis]


# As long as the analysis of the file lives.
_FOUND: WeakKeyDictionary[Analysis, PersonRows] = WeakKeyDictionary()


def _person_rows(scenario: PolicyScenario, rows: int) -> PersonRows:
    releases, before = rows * scenario.observations, scenario.analysis.vulnerability().prior
    with suppress(SievertError):
        longer = scenario.replaced({"adversary.observations": releases})
        found = longer.analysis.vulnerability(releases=releases)
        drawn, gains = longer.analysis.simulate(releases=releases), attacker_results(longer)[0]
        return PersonRows(rows, releases, before, found.value, found.is_exact, drawn, gains)
    return PersonRows(rows, releases, before, None, False, None)
