"""From an accuracy to what it gives away: the ε, σ and ρ of noise that keeps it, and what they mean."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw
from sievert.errors import MechanismError
from sievert.limits import explain
from sievert.mechanisms import Accuracy, geometric_law, largest_scale, least_level, squared_sensitivity
from sievert.numerics import abbreviated, choice, non_negative, number
from sievert.questions.explain import ExplainAnswer, NoiseNeeded, explain_file, report_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sievert.channels import NoiseLaw
    from sievert.files import PolicyScenario

__all__ = ["accuracy_asked", "accurate_report"]


def accuracy_asked(within: float, confidence: float | None = None, of: str | None = None) -> Accuracy:
    """The accuracy that options ask for.

    >>> accuracy_asked(3.0).words()
    'each cell within 3 with probability 0.95'
    """
    share = 0.95 if confidence is None else confidence
    if not 0 < share < 1:
        raise MechanismError(f"--confidence is {abbreviated(confidence)}; give a number between 0 and 1")
    which: Any = choice("--of", "cell" if of is None else of, ("cell", "all", "total"), MechanismError)
    return Accuracy(within=non_negative("--accuracy", within, MechanismError), confidence=share, of=which)


def accurate_report(
    accuracy: Accuracy, cells: int = 1, scenario: PolicyScenario | None = None, releases: int | None = None
) -> ExplainAnswer:
    """What noise of some accuracy gives away: of a file's table, or of a histogram of so many cells (1: of a
    count), one of whose records is replaced."""
    law: Callable[[Fraction], NoiseLaw]
    if scenario is None:
        # One record moves one cell of a count by a step, or two of a histogram.
        step, squared = Fraction(1), Fraction(min(cells, 2))
        law = partial(_on_step, min(cells, 2))
    else:
        found, policy = scenario.tabulated, scenario.policy
        step, cells = found.statistic.step, len(found.statistic.cells)
        absence = found.absence and policy.absent is None
        squared = squared_sensitivity(policy, found.statistic, absence)
        law = partial(geometric_law, found.statistic, found.sensitivity.steps, alpha=None)
    eps = least_level(accuracy, cells, step, law)
    sigma = largest_scale(accuracy, cells, step, GaussianLaw)
    if scenario is None:
        values = max(cells, 2)
        told = report_of(explain(eps=float(eps), values=values, releases=1 if releases is None else releases))
    else:
        told = explain_file(scenario, releases, eps=float(eps))
    words = accuracy.words()
    told_sigma = _down(sigma * step)
    # ρ of the σ that is told.
    noise = NoiseNeeded(_up(eps), told_sigma, _up(squared / (Fraction(told_sigma) / step) ** 2 / 2))
    exactly = ""
    if 0 < accuracy.within < step:
        exactly = f" Noise moves the answer by steps of {number(step)}, so this is to be exactly right."
    answer = f"{words[0].upper()}{words[1:]} takes {noise}.{exactly}"
    return replace(told, title=f"What does it take to keep {words}?", answer=answer, noise=noise)


def _on_step(moved: int, eps: Fraction) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(float(eps / moved), None, exact_eps=eps / moved))


def _up(value: Fraction) -> float:
    """Nine digits, never below."""
    return float(Context(prec=9, rounding=ROUND_CEILING).divide(value.numerator, value.denominator))


def _down(value: Fraction) -> float:
    """Nine digits, never above."""
    return float(Context(prec=9, rounding=ROUND_FLOOR).divide(value.numerator, value.denominator))
