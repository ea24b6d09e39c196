"""Which mechanism serves a survey: each record reports for itself, and frequencies are estimated from all.

What is made small is the squared error of the estimated frequencies, n·E Σ_x (estimate - truth)², for the
best unbiased estimate. It is no expected loss of single reports, so no linear program finds the best of all
mechanisms: the ones that are known are weighed, and none is proved to be best. Besides the families that a
file names there are subsets of d values (Ye and Barg 2018) and bits flipped one by one (unary encoding; Wang
et al. 2017), both of which report a set of values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from sievert.channels import Channel, epsilon, target_metric
from sievert.channels.priors import as_prior
from sievert.design._candidates import Leak, leak_of, standard
from sievert.errors import EstimationError, GainError, MechanismError, SievertError
from sievert.estimation import frequency_variance, identifiability
from sievert.measures import as_gain
from sievert.numerics import abbreviated, instance, non_negative, whole
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric, label_text

__all__ = ["SurveyDesign", "SurveyOption", "survey_design"]

# Sets that a mechanism is listed with; with more of them its variance is still known in closed form.
LARGEST_SETS = 5_000
MOST_REPORTS = 10**15
# Below, no number of people is enough; above, nothing is hidden.
LEAST_EPS, MOST_EPS = 1e-9, 50.0
NO_PROOF = "no proof of optimality: the best of the mechanisms that were weighed"


@dataclass(frozen=True)
class SurveyOption(Result):
    """One mechanism of the same ε.

    Attributes
    ----------
    variance : n·E Σ_x (estimated - true frequency)² for n reports; inf where it cannot be inverted
    standard_error : root mean square error of one frequency from so many reports as the design says
    invertible : whether reports determine all frequencies; None where the precision does not tell
    alike : which true distributions look the same, where some do
    eps : the smallest ε it really satisfies; None where it is not listed
    leaks : what each adversary reaches; empty where it is not listed
    """

    name: str
    variance: float
    standard_error: float
    invertible: bool | None
    alike: str | None
    eps: float | None
    leaks: tuple[Leak, ...]
    mechanism: Channel | None = field(repr=False, compare=False)

    def __str__(self) -> str:
        if not self.invertible:
            verb = "cannot" if self.invertible is False else "can perhaps not"
            return f"{self.name}: {verb} be inverted; {self.alike}"
        return f"{self.name}: frequencies are off by {self.standard_error:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, without the channel."""
        found = super().to_dict()
        found.pop("mechanism")
        return {**found, "listed": self.mechanism is not None}


@dataclass(frozen=True)
class SurveyDesign(Result):
    """Mechanisms for a survey, by growing variance.

    Attributes
    ----------
    eps : ε for the policy, in nats
    reports : how many reports the standard errors are for
    options : the mechanisms that apply
    missing : those that do not, and why
    best : name of the listed one with the least variance
    proved : whether no mechanism does better; never known here
    optimality : the same in words
    """

    eps: float
    reports: int
    options: tuple[SurveyOption, ...]
    missing: dict[str, str]
    best: str
    proved: bool = False
    optimality: str = NO_PROOF

    @property
    def chosen(self) -> SurveyOption:
        """The listed mechanism with the least variance."""
        return next(option for option in self.options if option.name == self.best)

    def __str__(self) -> str:
        best, least = self.chosen, self.options[0]
        unlisted = ""
        if least.mechanism is None:
            unlisted = (
                f"; {least.name} would be off by {least.standard_error:.3g}, but no file lists so many sets"
            )
        return (
            f"With ε = {self.eps:.6g}, frequencies estimated from {self.reports:,} reports are off by "
            f"{best.standard_error:.3g} (root mean square) with {best.name}{unlisted}; {self.optimality}"
        )


def survey_design(
    policy_or_metric: Policy | Metric | Answers,
    eps: float,
    prior: object = None,
    *,
    gains: Iterable[object] = (None,),
    reports: int = 1000,
) -> SurveyDesign:
    """The known mechanisms for reports one a record, by the variance of the frequencies estimated from them.

    Parameters
    ----------
    policy_or_metric : what must stay hidden about one record
    eps : ε for it, in nats, above 0
    prior : the true frequencies for which the variance is computed; uniform by default
    gains : what adversaries want; the best guess by default
    reports : how many there will be

    Returns
    -------
    SurveyDesign

    Notes
    -----
    The variance is that of the best unbiased linear estimate of the frequencies among those who report, the
    trace of the inverse Fisher information less 1. The number of values in a subset is the best one.
    Cost: O(values²·outputs) for every listed mechanism.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> found = survey_design(metrics.discrete(8), 0.5)
    >>> found.best, found.proved
    ('subsets of 3 values', False)
    """
    metric = target_metric(policy_or_metric, None)
    eps = non_negative("eps", eps, MechanismError, infinite=True)
    if not LEAST_EPS <= eps <= MOST_EPS:
        raise MechanismError(
            f"eps is {abbreviated(eps)}; a survey needs an ε from {LEAST_EPS:g} to {MOST_EPS:g}"
        )
    count = whole("reports", reports, MechanismError, most=MOST_REPORTS)
    if metric.size < 2:
        raise MechanismError("there is one value only; its frequency is 1 whatever is reported")
    instance("gains", gains, list | tuple, "a list of gains", GainError)
    belief = as_prior(prior, metric.points).astype(np.float64)
    adversaries = [as_gain(gain, metric.points) for gain in gains]
    built, missing = standard(metric, eps)
    options = [_listed(name, channel, metric, belief, adversaries, count) for name, channel in built.items()]
    try:
        options += list(_sets(metric, eps, belief, adversaries, count))
    except SievertError as problem:
        missing["sets of values"] = str(problem)
    # Equal variances keep the order in which the mechanisms are listed.
    options.sort(key=lambda option: float(f"{option.variance:.9g}"))
    best = next((option.name for option in options if option.invertible and option.mechanism), None)
    if best is None:
        raise MechanismError("no mechanism that is known for these values can be inverted; use a larger eps")
    return SurveyDesign(eps, count, tuple(options), missing, best)


def _listed(
    name: str, channel: Channel, metric: Metric, belief: Any, adversaries: Sequence[Any], reports: int
) -> SurveyOption:
    leaks = tuple(leak_of(channel, belief, adversary) for adversary in adversaries)
    true = epsilon(channel, metric).nats
    invertible: bool | None = True
    try:
        variance, alike = frequency_variance(channel, belief), None
    except EstimationError:
        seen = identifiability(channel)
        variance, alike, invertible = math.inf, str(seen), None if seen.undetermined else False
    error = _error(variance, metric.size, reports)
    return SurveyOption(name, variance, error, invertible, alike, true, leaks, channel)


def _error(variance: float, size: int, reports: int) -> float:
    return math.sqrt(variance / size / reports)


def _sets(
    metric: Metric, eps: float, belief: Any, adversaries: Sequence[Any], reports: int
) -> Iterator[SurveyOption]:
    """Mechanisms that report a set of values, which holds the true one more often than any other."""
    level, size = min(eps * _nearest(metric), MOST_EPS), metric.size
    names = list(metric.points)
    number = min(range(1, size), key=lambda d: _set_variance(subset_rates(size, d, level), size))
    bits = {"bits flipped alike": _alike(level), "bits flipped at best": _at_best(level)}
    if number > 1:  # a subset of one value is randomised response
        rates = subset_rates(size, number, level)
        sets = math.comb(size, number)
        channel = _subsets(names, number, level) if sets * size <= LARGEST_SETS * 20 else None
        yield _set_option(f"subsets of {number} values", rates, channel, metric, belief, adversaries, reports)
    for name, rates in bits.items():
        channel = _bits(names, *rates[:2]) if 2**size <= LARGEST_SETS else None
        yield _set_option(name, rates, channel, metric, belief, adversaries, reports)


def _set_option(
    name: str,
    rates: Rates,
    channel: Channel | None,
    metric: Metric,
    belief: Any,
    adversaries: Sequence[Any],
    reports: int,
) -> SurveyOption:
    if channel is not None:
        return _listed(name, channel, metric, belief, adversaries, reports)
    variance = _set_variance(rates, metric.size)
    return SurveyOption(name, variance, _error(variance, metric.size, reports), True, None, None, (), None)


# How often a set holds the true value, how often any other one, and the difference, to its last digits.
Rates = tuple[float, float, float]


def subset_rates(size: int, number: int, eps: float) -> Rates:
    """Of subsets of so many values, those with the true one e^ε times as likely (Ye and Barg 2018).

    >>> [round(rate, 6) for rate in subset_rates(4, 2, 1.0)]
    [0.731059, 0.42298, 0.308078]
    """
    total = number + (size - number) * math.exp(-eps)
    truth, gap = number / total, number * (size - number) * -math.expm1(-eps) / (size - 1) / total
    return truth, truth - gap, gap


def _alike(eps: float) -> Rates:
    """Every bit flipped with 1/(1 + e^(ε/2)) (symmetric unary encoding)."""
    flip = math.exp(-eps / 2) / (1 + math.exp(-eps / 2))
    return 1 - flip, flip, math.tanh(eps / 4)


def _at_best(eps: float) -> Rates:
    """The true bit by a coin, others set with 1/(1 + e^ε) (optimised unary encoding; Wang et al. 2017)."""
    return 0.5, math.exp(-eps) / (1 + math.exp(-eps)), math.tanh(eps / 2) / 2


def _set_variance(rates: Rates, size: int) -> float:
    """n·Σ_x Var((share of sets with x - other)/(truth - other)), which no frequency changes."""
    truth, other, gap = rates
    return (truth * (1 - truth) + (size - 1) * other * (1 - other)) / gap**2


def _subsets(names: Sequence[Any], number: int, eps: float) -> Channel:
    """All subsets of so many values; those with the true one are e^ε times as likely."""
    chosen = list(combinations(range(len(names)), number))
    member = np.zeros((len(names), len(chosen)))
    for j, places in enumerate(chosen):
        member[list(places), j] = 1.0
    inside, outside = math.comb(len(names) - 1, number - 1), math.comb(len(names) - 1, number)
    normaliser = math.log(inside + outside * math.exp(-eps))
    return Channel.trusted(eps * (member - 1) - normaliser, "log", names, [_joined(names, s) for s in chosen])


def _bits(names: Sequence[Any], truth: float, other: float) -> Channel:
    """Every set of values; each value is in it by itself, the true one with another probability."""
    size = len(names)
    member = (np.arange(2**size)[None, :] >> np.arange(size)[:, None]) & 1
    plain = np.where(member, math.log(other), math.log1p(-other))
    own = np.where(member, math.log(truth), math.log1p(-truth))
    logs = plain.sum(axis=0)[None, :] - plain + own
    sets = [_joined(names, np.flatnonzero(column).tolist()) for column in member.T]
    return Channel.trusted(logs, "log", names, sets)


def _joined(names: Sequence[Any], places: Sequence[int]) -> str:
    return "{" + " | ".join(label_text(names[place]) for place in places) + "}"


def _nearest(metric: Metric) -> float:
    """The smallest distance of different values, for which the sets must keep ε."""
    nearest = float(metric.matrix[~np.eye(metric.size, dtype=bool)].min())
    if nearest == 0 or math.isinf(nearest):
        raise MechanismError(
            "some values may not be told apart at all" if nearest == 0 else "no two values need to be alike"
        )
    return nearest
