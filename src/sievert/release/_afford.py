"""What a total affords: the noise of each of so many releases, or how many releases of a file fit.

Three ways to add up are valid, and each has its own noise: Σε, whatever depends on earlier outputs; Σρ within
a limit fixed before, likewise; and the exact composition of a plan, whose number is fixed and which is paid
whole. Every ε is rounded down, every σ up, and what is printed was evaluated forwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, TableNoise
from sievert.errors import DataError, FileError
from sievert.files import PolicyScenario, load_policy_scenario, table_noise
from sievert.ledger import largest_rho
from sievert.limits import planned_claim
from sievert.mechanisms import add_to_table
from sievert.numerics import abbreviated, as_fraction, bounded_percent, number, whole
from sievert.observations import likelihood_of
from sievert.policies import CellMove, cell_moves, joint_sensitivity
from sievert.results import Result

__all__ = ["Affordable", "Afforded", "afford"]

# Digits of an ε or σ that is searched for, and releases that are counted.
DIGITS = 10
MOST_RELEASES = 1_000_000
# What a δ that is summed in floats must stay below its limit by.
ROUNDING = 1e-9
WAYS = {
    "pure": "adding up ε",
    "rho": "adding up ρ",
    "plan": "as a plan, composed exactly",
}
# A total beyond which nothing is kept.
LARGEST_TOTAL = 1_000_000


@dataclass(frozen=True)
class Afforded(Result):
    """One noise and one valid way to add it up.

    Attributes
    ----------
    noise : "geometric" or "gaussian"
    way : "pure" (Σε), "rho" (Σρ) or "plan" (exact composition, number fixed before)
    releases : how many
    parameter, value : "eps" (nats for one record, of each release) or "sigma" (units of the answer)
    sd, radius : standard deviation of a cell, and its error at the confidence, in units of the answer
    guess, exact : best guess about one record after all of them, and whether that is exact or a bound
    """

    noise: str
    way: str
    releases: int
    parameter: str
    value: Fraction
    sd: float
    radius: Fraction
    guess: float
    exact: bool

    def __str__(self) -> str:
        return (
            f"{self.releases} releases with {self.noise} noise, {self.parameter} = {float(self.value):.6g} "
            f"each, {WAYS[self.way]}: standard deviation {self.sd:.5g}, one record guessed with "
            f"probability {bounded_percent(self.guess, self.exact)} after all"
        )


@dataclass(frozen=True)
class Affordable(Result):
    """What a total affords.

    Attributes
    ----------
    total : the total in words
    confidence : of the radii
    options : one a noise and valid way to add up, the least standard deviation (or the most releases) first
    missing : ways that do not apply, each with the reason
    """

    total: str
    confidence: float
    options: tuple[Afforded, ...]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> Afforded:
        """The option with the least noise, or the most releases."""
        return self.options[0]

    def __str__(self) -> str:
        return f"{self.total} affords {self.best}"


def afford(
    scenario: PolicyScenario | str | Path,
    *,
    eps: float | str | Fraction | None = None,
    delta: float | str | Fraction | None = None,
    rho: float | str | Fraction | None = None,
    releases: int | None = None,
) -> Affordable:
    """What a total of ε, of ε and δ, or of ρ affords: the noise of each release, or how many fit.

    Parameters
    ----------
    scenario : a scenario or the path of its TOML file, with a count, sum or histogram over all records
    eps, delta : the total for one person: pure ε, or ε at δ
    rho : instead of eps: the total ρ (with delta, where a plan is to be read)
    releases : how many are wanted: the noise that each may have is looked for, geometric and Gaussian. By
        default, how many releases with the noise of the file fit

    Returns
    -------
    Affordable
        One option a noise and valid way to add up: Σε, Σρ, and a plan that is composed exactly.

    Notes
    -----
    The total is for a person, who may own several records (`person_records`). A plan fixes the number of
    releases and is charged whole; the other two may stop or change at any time. Its exact curve holds for
    the plan alone: a ledger, which others may be charged to, adds up its ρ (or ε), so that a plan that fits
    here may need a larger budget there.

    Cost: some forty compositions for each plan, and one guess after all releases for each option.

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.release.afford("examples/census-count.toml", eps=2.0)
    >>> [(option.way, option.releases) for option in found.options]
    [('pure', 4)]
    """
    listed = scenario if isinstance(scenario, PolicyScenario) else load_policy_scenario(scenario)
    total = _total(eps, delta, rho)
    case = _Case(listed, total)
    options, missing = _fitting(case) if releases is None else _each(case, _counted(releases))
    if not options:
        reasons = "; ".join(f"{WAYS[way]}: {reason}" for way, reason in missing.items())
        raise DataError(f"no release fits in {total.words} ({reasons}); allow more, or use more noise")
    return Affordable(total.words, case.confidence, tuple(options), missing)


def _counted(releases: int) -> int:
    return whole("releases", releases, DataError, most=MOST_RELEASES)


@dataclass(frozen=True)
class _Total:
    """A limit: pure ε, ρ, and ε at δ, each where it is one."""

    words: str
    eps: Fraction | None
    delta: Fraction | None
    rho: Fraction | None


def _total(eps: object, delta: object, rho: object) -> _Total:
    if (eps is None) == (rho is None):
        raise DataError("give exactly one of eps (with delta, or without) and rho")
    lost = None if delta is None else _amount("delta", delta)
    if lost is not None and lost >= 1:
        raise DataError(f"delta is {abbreviated(delta)}; it must be below 1")
    if rho is not None:
        limit = _amount("rho", rho)
        return _Total(f"ρ = {number(limit)}", None, lost, limit)
    level = _amount("eps", eps)
    if lost is None:
        return _Total(f"ε = {number(level)}", level, None, None)
    return _Total(f"ε = {number(level)} at δ = {number(lost)}", level, lost, largest_rho(level, lost))


def _amount(name: str, value: object) -> Fraction:
    try:
        found = as_fraction(str(value) if isinstance(value, float) else value)
    except (ValueError, TypeError):
        found = Fraction(0)
    if isinstance(value, bool) or found <= 0:
        raise DataError(f"{name} is {abbreviated(value)}; it must be a finite number above 0")
    if found > LARGEST_TOTAL:
        raise DataError(f"{name} is {abbreviated(value)}; give at most {LARGEST_TOTAL:,}")
    return found


@dataclass(frozen=True)
class _Case:
    """A table, whose moves by one person are known, and a total."""

    scenario: PolicyScenario
    total: _Total

    @property
    def confidence(self) -> float:
        rules = self.scenario.document.release
        return 0.95 if rules is None else rules.confidence

    @cached_property
    def noise(self) -> TableNoise:
        """The noise of the file in the cells of its table."""
        found = table_noise(self.scenario)
        if not isinstance(found, TableNoise):
            raise FileError(
                f"{self.scenario.source}: afford is about noise in the cells of a table; use a count, sum or "
                'histogram with kind = "geometric" or "gaussian"'
            )
        return found

    @property
    def owned(self) -> int:
        return self.scenario.policy.person_records

    @property
    def absence(self) -> bool:
        return self.scenario.tabulated.absence and self.scenario.policy.absent is None

    def cost(self, law: NoiseLaw, currency: str) -> Fraction:
        """What one release with this noise costs a person, in ε or ρ."""
        policy, table = self.scenario.policy, self.scenario.tabulated.statistic
        if currency == "pure":
            noise = add_to_table(table, law)
            return noise.eps_of(self.scenario.tabulated.sensitivity) * self.owned
        return joint_sensitivity(
            policy, [table], [law.rho_of], absence=self.absence, multiple=self.owned, power=2
        ).cost

    @cached_property
    def moves(self) -> tuple[CellMove, ...]:
        """The moves of one person that no other exceeds."""
        policy = self.scenario.policy
        return cell_moves(policy, self.scenario.tabulated.statistic, self.absence)

    def why_no_plan(self) -> str | None:
        """Why no plan is composed; None where one is."""
        policy, total = self.scenario.policy, self.total
        if total.eps is None or total.delta is None:
            return "a plan is read as ε at δ; give eps and delta"
        if policy.is_metric or policy.constrained:
            return "moves have lengths, or several records move at once"
        return None

    def planned(self, law: NoiseLaw, releases: int) -> bool:
        """Whether a plan of so many releases stays within ε at δ."""
        assert self.total.eps is not None and self.total.delta is not None
        eps, allowed = float(self.total.eps), float(self.total.delta) * (1 - ROUNDING)
        for move in self.moves:
            steps = [self.owned * step for step in move.steps if step]
            found = law.delta_of(steps * releases, eps) if isinstance(law, GaussianLaw) else None
            if found is None:
                claim = planned_claim([(law, step) for step in steps], releases)
                found = float(claim.delta(np.array([eps]))[0])
            if found > allowed:
                return False
        return True

    def option(self, law: NoiseLaw, way: str, releases: int) -> Afforded:
        """What so many releases with this noise are worth."""
        table = self.scenario.tabulated
        noise = add_to_table(table.statistic, law)
        gaussian, step = isinstance(law, GaussianLaw), table.statistic.step
        guess = likelihood_of(noise, self.scenario.float_record_prior).guess(releases)
        value = law.sigma * step if isinstance(law, GaussianLaw) else noise.eps_of(table.sensitivity)
        return Afforded(
            "gaussian" if gaussian else "geometric",
            way,
            releases,
            "sigma" if gaussian else "eps",
            value,
            law.deviation * float(step),
            law.radius(self.confidence) * step,
            guess.guess,
            guess.exact,
        )


def _fitting(case: _Case) -> tuple[list[Afforded], dict[str, str]]:
    """How many releases with the noise of the file fit, each way."""
    law, total, missing = case.noise.law, case.total, {}
    found: list[Afforded] = []
    for way, limit in (("pure", total.eps), ("rho", total.rho)):
        if limit is None:
            missing[way] = "the total is no ε" if way == "pure" else "the total is a pure ε"
        elif way == "pure" and not case.noise.keeps_eps:
            missing[way] = "the noise keeps no ε"
        else:
            _add(found, missing, case, law, way, math.floor(limit / (case.cost(law, way) or 1)))
    reason = case.why_no_plan()
    if reason is None:
        _add(found, missing, case, law, "plan", _most(lambda count: case.planned(law, count)))
    else:
        missing["plan"] = reason
    return sorted(found, key=lambda option: -option.releases), missing


def _add(
    found: list[Afforded], missing: dict[str, str], case: _Case, law: NoiseLaw, way: str, count: int
) -> None:
    if count:
        found.append(case.option(law, way, min(count, MOST_RELEASES)))
    else:
        missing[way] = "not even one release fits"


def _most(kept: Callable[[int], bool]) -> int:
    """The largest number that is kept, where smaller ones are too."""
    low, high = 0, 1
    while high <= MOST_RELEASES and kept(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def _each(case: _Case, releases: int) -> tuple[list[Afforded], dict[str, str]]:
    """The least noise of each of so many releases, each way."""
    total, missing = case.total, {}
    laws: list[tuple[str, NoiseLaw]] = []
    if total.eps is None:
        missing["pure"] = "the total is no ε"
    else:
        steps = case.scenario.tabulated.sensitivity.steps * case.owned
        laws.append(("pure", _geometric(_rounded(total.eps / releases / (steps or 1)))))
    if total.rho is None:
        missing["rho"] = "the total is a pure ε"
    else:
        each = total.rho / releases
        laws.append(("rho", _geometric(_largest(lambda eps: case.cost(_geometric(eps), "rho") <= each))))
        unit = case.cost(GaussianLaw(Fraction(1)), "rho")
        laws.append(("rho", GaussianLaw.of_variance(unit / each)))
    reason = case.why_no_plan()
    if reason is None:
        laws.append(("plan", _geometric(_largest(lambda eps: case.planned(_geometric(eps), releases)))))
        narrow = _largest(lambda inverse: case.planned(GaussianLaw(1 / inverse), releases))
        wide = GaussianLaw(_rounded(1 / narrow * (1 + Fraction(1, 10 ** (DIGITS - 1)))))
        laws.append(("plan", wide if case.planned(wide, releases) else GaussianLaw(1 / narrow)))
    else:
        missing["plan"] = reason
    found = [case.option(law, way, releases) for way, law in laws]
    return sorted(found, key=lambda option: option.sd), missing


def _geometric(eps: Fraction) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(float(eps), None, exact_eps=eps))


def _largest(kept: Callable[[Fraction], bool]) -> Fraction:
    """The largest number of 10 digits that is kept, where smaller ones are too."""
    low = high = Fraction(1)
    while not kept(low):
        low, high = low / 2, low
    while low == high or kept(high):
        low, high = high, 2 * high
    while high / low > 1 + Fraction(1, 10**DIGITS):
        middle = _rounded((low + high) / 2)
        if not low < middle < high:
            break
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def _rounded(value: Fraction) -> Fraction:
    """To so many digits, never up."""
    scale = Fraction(10) ** (DIGITS - 1 - math.floor(math.log10(value)))
    return Fraction(math.floor(value * scale)) / scale
