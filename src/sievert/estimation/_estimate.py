"""The distribution of true values from counts of noisy reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import chdtri

from sievert.arrays import AnyArray, FloatArray
from sievert.channels import Channel
from sievert.errors import EstimationError, SievertError
from sievert.estimation._confidence import checked_confidence
from sievert.estimation._intervals import (
    bootstrap_intervals,
    normal_intervals,
    profile_intervals,
    standard_errors,
)
from sievert.estimation._inversion import invert
from sievert.estimation._likelihood import WHEN, maximum_likelihood, range_of_maxima, stopped_early
from sievert.estimation._operators import (
    Fit,
    Operator,
    certified_gap,
    iterate,
    log_likelihood,
    rounding_slack,
)
from sievert.estimation._plane import operator_of
from sievert.estimation._reports import Reports, nearest_distribution, read_reports
from sievert.estimation._transport import _refuse_large
from sievert.numerics import abbreviated, choice, generator_of, non_negative, whole
from sievert.proofs import LikelihoodProof
from sievert.results import Result
from sievert.spaces import Labels, by_label, floats, frame, label, pandas_axis, shown

__all__ = ["Estimate", "IntervalKind", "Method", "estimate", "likelihood_question", "prove_likelihood"]
Method = Literal["auto", "maximum-likelihood", "inversion", "projection", "ibu", "regularised"]
IntervalKind = Literal["normal", "bootstrap", "profile", "none"]

# A gap of this many nats over all reports is less than the reports themselves can tell.
GAP_OF_ALL_REPORTS = 0.5
MOST_ROUNDS = 100_000
MOST_RESAMPLES = 100_000
# Profile intervals take some twenty maximisations for each input.
LARGEST_PROFILE = 200
# An inverse this little below 0 is rounding.
NEGATIVE = 1e-12
SHOWN = 8


@dataclass(frozen=True, eq=False)
class Estimate(Result):
    """What noisy reports say about the distribution of the true values.

    Attributes
    ----------
    distribution : probability of each input, in the order of `inputs`; the plain inverse may leave [0, 1]
    interval : lower and upper limit for each input at confidence `level`, each input on its own (None: see
        `remarks`)
    standard_errors : of the unbiased estimate at this distribution (None where there is none)
    mean_log_likelihood : log-likelihood per report, nats
    likelihood_gap : certified upper bound on how far that is below the maximum, nats per report (None for an
        inverse that left the simplex)
    unique : whether no other distribution has the same, largest likelihood (None: not decided)
    ranges : where it is not unique, the least and largest probability of each input among all maxima
    method, iterations : how it was found
    reports : number of reports
    remarks : what a reader should know
    undetermined : what the reports leave open: other distributions that fit as well, missing standard errors
    """

    inputs: Labels
    distribution: FloatArray
    interval: FloatArray | None
    level: float
    standard_errors: FloatArray | None
    mean_log_likelihood: float
    likelihood_gap: float | None
    unique: bool | None
    ranges: FloatArray | None
    method: str
    iterations: int
    reports: float
    remarks: tuple[str, ...] = field(default=())
    undetermined: tuple[str, ...] = field(default=())

    @property
    def total_gap(self) -> float | None:
        """Certified bound on what all reports together miss of the largest log-likelihood, in nats."""
        return None if self.likelihood_gap is None else self.reports * self.likelihood_gap

    @property
    def is_distribution(self) -> bool:
        """Whether every probability is in [0, 1]."""
        return bool((self.distribution >= -NEGATIVE).all())

    def probability(self, item: Hashable) -> float:
        """The estimated probability of one input."""
        order = [label(name) for name in self.inputs]
        if label(item) not in order:
            raise EstimationError(f"item is {abbreviated(item)}; it must be one of {shown(self.inputs)}")
        return float(self.distribution[order.index(label(item))])

    def to_pandas(self) -> Any:
        """The estimate as a pandas table: a row for each value, with its interval where there is one."""
        table = frame(self._columns(), "pandas")
        table.index = pandas_axis(self.inputs)
        return table

    def to_polars(self) -> Any:
        """The estimate as a polars table: value, probability, and the interval where there is one."""
        return frame({"value": [str(name) for name in self.inputs], **self._columns()}, "polars")

    def _columns(self) -> dict[str, FloatArray]:
        columns = {"probability": self.distribution}
        if self.interval is not None:
            columns |= {"low": self.interval[:, 0], "high": self.interval[:, 1]}
        if self.standard_errors is not None:
            columns["standard_error"] = self.standard_errors
        return columns

    def __str__(self) -> str:
        order = np.argsort(-self.distribution, kind="stable")[:SHOWN]
        parts = ", ".join(f"{self.inputs[i]}: {self._one(int(i))}" for i in order.tolist())
        more = f", and {len(self.inputs) - SHOWN} more" if len(self.inputs) > SHOWN else ""
        return f"{self.method} estimate from {self.reports:,.0f} reports: {parts}{more}; {self._quality()}"

    def _one(self, i: int) -> str:
        share = f"{self.distribution[i]:.1%}"
        if self.interval is None:
            return share
        return f"{share} ({self.interval[i, 0]:.1%} to {self.interval[i, 1]:.1%})"

    def _quality(self) -> str:
        if self.total_gap is None:
            return "it leaves the simplex and is no distribution"
        unique = {True: "unique", False: "NOT unique", None: "uniqueness not decided"}[self.unique]
        if self.method in ("regularised", "projection"):
            unique = "not meant to be the maximum"
        return f"log-likelihood within {self.total_gap:.2g} nats of the maximum, {unique}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(str(item))}</th><td>{escape(self._one(i))}</td></tr>"
            for i, item in enumerate(self.inputs[: 10 * SHOWN])
        )
        return f"<p>{escape(str(self))}</p><table><tr><th>value</th><th>probability</th></tr>{rows}</table>"


def estimate(
    counts: Any,
    channel: Channel | Sequence[Channel],
    method: Method = "auto",
    *,
    interval: IntervalKind = "normal",
    confidence: float = 0.95,
    start: Any = None,
    tolerance: float | None = None,
    most_rounds: int = MOST_ROUNDS,
    resamples: int = 400,
    rng: int | np.random.Generator | None = None,
) -> Estimate:
    """Estimate the distribution of true values from counts of noisy reports.

    Parameters
    ----------
    counts : how often each output was reported: a list in the channel's order, or by label a mapping, a
        pandas series or a table of output and count (a mapping may leave out what was not reported)
    channel : the channel every user applied; for groups of users with channels of their own, a list of
        channels beside a list of counts
    method : "auto" and "maximum-likelihood" are exact (closed form for randomised response, interior point
        for the truncated geometric and any other channel); "inversion" is unbiased but may leave [0, 1];
        "projection" moves it to the nearest distribution; "ibu" iterates from `start`; "regularised" stops
        IBU early
    interval : "normal", "bootstrap", "profile" or "none": how intervals are found, each for one input
    confidence : that an interval holds its input's probability
    start : where IBU starts, uniform by default; entries that are 0 stay 0
    tolerance : certified gap per report at which IBU stops; by default 0.5 nats over all reports
    most_rounds : of IBU
    resamples, rng : for "bootstrap", and the folds of "regularised"

    Returns
    -------
    Estimate
        The `distribution` over the inputs, the intervals, and how far from the likeliest it can be.

    Notes
    -----
    Cost: O(n·log n) for randomised response on n inputs, O(n) a Newton step for the truncated geometric,
    O(inputs·outputs·min(inputs, outputs)) a step for a matrix, two products with the channel for each
    round of IBU; a bootstrap estimates `resamples` times more.

    Examples
    --------
    >>> from sievert.mechanisms._response import randomised_response
    >>> found = estimate([60, 35, 5], randomised_response(3, alpha="1/2"))
    >>> (found.distribution * 19).round(6).tolist()
    [17.0, 2.0, 0.0]
    """
    choice("method", method, get_args(Method), EstimationError)
    choice("interval", interval, get_args(IntervalKind), EstimationError)
    level = checked_confidence(confidence)
    if tolerance is not None:
        tolerance = non_negative("tolerance", tolerance, EstimationError)
    most_rounds = whole("most_rounds", most_rounds, EstimationError)
    resamples = whole("resamples", resamples, EstimationError, least=2, most=MOST_RESAMPLES)
    generator = generator_of(rng)
    reports = read_reports(counts, channel)
    operator, shares = operator_of(reports)
    remarks: list[str] = []
    undetermined: list[str] = []
    begin = _start(start, reports.inputs, remarks)
    slack = rounding_slack(reports.size, len(shares))
    limit = GAP_OF_ALL_REPORTS / reports.total - slack if tolerance is None else tolerance

    def fitted(some: Reports, notes: list[str]) -> Fit:
        return _fit(method, some, begin, limit, most_rounds, generator, notes)

    fit = fitted(reports, remarks)
    gap: float | None = fit.gap + slack
    if method == "inversion" and (fit.distribution < -NEGATIVE).any():
        gap = None
    remarks += _doubts(method, reports, fit, limit)
    unique, ranges = _uniqueness(method, operator, shares, fit, gap)
    if ranges is not None:
        undetermined.append(
            "other distributions fit the reports as well; `ranges` says how far each value can move"
        )
    errors = _standard_errors(reports, fit, undetermined)
    limits = None
    if interval != "none":
        limits = _interval(
            interval, reports, operator, shares, fit, level, fitted, resamples, generator, remarks
        )
    return Estimate(
        reports.inputs,
        fit.distribution,
        limits,
        level,
        errors,
        fit.mean_log_likelihood,
        gap,
        unique,
        ranges,
        "maximum-likelihood" if method == "auto" else method,
        fit.iterations,
        reports.total,
        tuple(dict.fromkeys(remarks)),
        tuple(undetermined),
    )


def _doubts(method: Method, reports: Reports, fit: Fit, limit: float) -> Iterator[str]:
    """What speaks against the fit."""
    if method == "inversion" and (fit.distribution < -NEGATIVE).any():
        yield "the inverse has negative entries; it is unbiased, but no distribution"
    if method == "ibu" and fit.gap > limit:
        yield (
            f"IBU stopped after {fit.iterations} rounds, up to {reports.total * fit.gap:.3g} nats short of "
            'the maximum; method="auto" is exact'
        )
    if method in ("auto", "maximum-likelihood") and _misfit(reports, fit):
        yield "the reports fit no distribution well: check that they really come from this channel"


def _fit(
    method: Method,
    reports: Reports,
    start: FloatArray,
    limit: float,
    most: int,
    rng: np.random.Generator,
    remarks: list[str],
) -> Fit:
    operator, shares = operator_of(reports)
    if method in ("auto", "maximum-likelihood"):
        return _inverted(reports, operator, shares) or maximum_likelihood(operator, shares, reports.size)
    if method == "ibu":
        return iterate(operator, shares, start, limit, most)
    if method == "regularised":
        stop = stopped_early(operator, shares, reports.total, start, rng)
        chosen = (
            "held-out reports were predicted best by the maximum likelihood itself"
            if stop.rounds is None
            else f"IBU stopped after {stop.rounds} rounds, which predicted held-out reports best"
        )
        remarks.append(f"{chosen}; early stopping {WHEN}")
        return stop.fit
    p = invert(reports)
    if method == "projection":
        p = nearest_distribution(p)
    inside = bool((p >= -NEGATIVE).all())
    clean = np.maximum(p, 0.0) if inside else p
    with np.errstate(invalid="ignore"):
        likelihood = log_likelihood(operator, shares, clean)
    return Fit(p, likelihood, certified_gap(operator, shares, clean) if inside else float("inf"), 0)


def _inverted(reports: Reports, operator: Operator, shares: FloatArray) -> Fit | None:
    """The inverse of a square channel where it is a distribution: it is the maximum (Fernandes, Prop 8.2)."""
    channel = reports.groups[0].channel
    if operator.is_solved or len(reports.groups) > 1 or channel.shape[0] != channel.shape[1]:
        return None
    try:
        p = invert(reports)
    except SievertError:
        return None  # no inverse: the maximum is searched
    if (p < -NEGATIVE).any():
        return None
    p = np.maximum(p, 0.0)
    p /= p.sum()
    gap = certified_gap(operator, shares, p)
    return Fit(p, log_likelihood(operator, shares, p), gap, 0) if gap <= NEGATIVE else None


def _start(start: Any, inputs: Labels, remarks: list[str]) -> FloatArray:
    size = len(inputs)
    if start is None:
        return np.full(size, 1 / size)
    given = by_label(start, inputs, "start", EstimationError)
    begin = floats(given, "start", EstimationError, f"it must be {size} numbers ≥ 0")
    if begin.shape != (size,) or not (begin >= 0).all() or not 0 < float(begin.max()) < np.inf:
        raise EstimationError(f"start must be {size} numbers ≥ 0, one for each input, not all 0")
    if (begin == 0).any():
        remarks.append(f"start gives {int((begin == 0).sum())} inputs probability 0, where IBU leaves them")
    scaled = begin / begin.max()
    return np.asarray(scaled / scaled.sum())


def _uniqueness(
    method: Method, operator: Operator, shares: FloatArray, fit: Fit, gap: float | None
) -> tuple[bool | None, FloatArray | None]:
    """Only a maximum can be a unique one."""
    if gap is None or method in ("projection", "regularised"):
        return None, None
    if method == "ibu" and not operator.is_solved:
        exact = maximum_likelihood(operator, shares, len(fit.distribution))
        unique, ranges = range_of_maxima(operator, shares, exact)
        if ranges is not None:
            spread = np.column_stack([fit.distribution, fit.distribution])
            ranges = np.column_stack([np.minimum(ranges, spread)[:, 0], np.maximum(ranges, spread)[:, 1]])
        return unique, ranges
    return range_of_maxima(operator, shares, fit)


def _misfit(reports: Reports, fit: Fit) -> bool:
    """Whether a likelihood-ratio test against any reports at all rejects the channel, at one false alarm
    in 10^6.

    Only where nearly every output is expected at least five times, as its χ² distribution asks for.
    """
    saturated, cells, large = 0.0, 0, 0
    for group in reports.groups:
        counts = group.counts[group.observed]
        size = counts.sum()
        saturated += float(counts @ np.log(counts / size))
        cells += len(counts)
        large += int((size * group.channel.rmatvec(fit.distribution) >= 5).sum())
    if large < 0.8 * sum(group.channel.shape[1] for group in reports.groups):
        return False
    deviance = 2 * (saturated - reports.total * fit.mean_log_likelihood)
    return bool(deviance > chdtri(max(1, cells - 1), 1e-6))


def _standard_errors(reports: Reports, fit: Fit, undetermined: list[str]) -> FloatArray | None:
    positive = np.maximum(fit.distribution, 0.0)
    try:
        return standard_errors(reports, positive / positive.sum())
    except SievertError as problem:
        undetermined.append(f"no standard errors: {problem.in_file()}")
        return None


def _interval(
    kind: IntervalKind,
    reports: Reports,
    operator: Operator,
    shares: FloatArray,
    fit: Fit,
    level: float,
    fitted: Any,
    resamples: int,
    rng: np.random.Generator,
    remarks: list[str],
) -> FloatArray | None:
    if kind == "normal":
        if operator.is_blurred:
            remarks.append(
                "no intervals for single cells: the noise on a map is far wider than a cell, so reports tell "
                'about neighbourhoods; interval="bootstrap" draws the reports anew'
            )
            return None
        try:
            return normal_intervals(reports, fit.distribution, level)
        except SievertError:
            remarks.append('no normal intervals without an inverse; interval="profile" works here')
            return None
    if kind == "bootstrap":
        base = np.maximum(fit.distribution, 0.0)
        return bootstrap_intervals(
            reports, base / base.sum(), lambda some: fitted(some, []).distribution, level, resamples, rng
        )
    if reports.size > LARGEST_PROFILE and not operator.is_solved:
        raise EstimationError(
            f'interval is "profile", which takes too long for {reports.size} inputs (at most '
            f'{LARGEST_PROFILE}); use "normal" or "bootstrap"'
        )
    best = maximum_likelihood(operator, shares, reports.size)
    return profile_intervals(operator, shares, best, reports.total, level)


def prove_likelihood(found: Estimate, counts: Any, channel: Channel | Sequence[Channel]) -> LikelihoodProof:
    """That no distribution fits the counts better than the estimate by more than a stated number of nats.

    Exact channels are proved as they are, others as the floats they are rounded to.

    >>> from sievert.estimation._estimate import estimate
    >>> from sievert.mechanisms._response import randomised_response
    >>> channel = randomised_response(3, alpha="1/2")
    >>> bool(prove_likelihood(estimate([60, 35, 5], channel), [60, 35, 5], channel).verify())
    True
    """
    if not found.is_distribution:
        raise EstimationError(
            "the estimate leaves the simplex and has no likelihood to prove; project it first"
        )
    return LikelihoodProof.of(*_reported(counts, channel), np.maximum(found.distribution, 0.0).tolist())


def likelihood_question(counts: Any, channel: Channel | Sequence[Channel]) -> dict[str, Any]:
    """What a proof of `prove_likelihood` about these counts is about; nothing is estimated.

    >>> from sievert.estimation._estimate import estimate
    >>> from sievert.mechanisms._response import randomised_response
    >>> channel = randomised_response(3, alpha="1/2")
    >>> proof = prove_likelihood(estimate([60, 35, 5], channel), [60, 35, 5], channel)
    >>> [proof.question() == likelihood_question(counts, channel) for counts in ([60, 35, 5], [60, 35, 6])]
    [True, False]
    """
    rows, outputs, reported = _reported(counts, channel)
    numbers = tuple(map(Fraction, reported))
    return LikelihoodProof(
        rows, tuple(outputs), numbers, (), sum(numbers, Fraction(0)), Fraction(0)
    ).question()


def _reported(counts: Any, channel: Channel | Sequence[Channel]) -> tuple[AnyArray, list[int], list[float]]:
    """All channels side by side, how many outputs each has, and how often each was reported."""
    reports = read_reports(counts, channel)
    _refuse_large(sum(group.channel.shape[0] * group.channel.shape[1] for group in reports.groups))
    blocks = [group.channel.exact_or_rounded() for group in reports.groups]
    rows = np.concatenate([block.astype(object) for block in blocks], axis=1)
    if all(block.dtype != object for block in blocks):
        rows = rows.astype(np.float64)
    numbers = np.concatenate([group.counts for group in reports.groups]).tolist()
    return rows, [block.shape[1] for block in blocks], numbers
