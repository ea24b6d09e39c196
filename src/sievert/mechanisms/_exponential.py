"""The exponential mechanism on a metric, by its nominal parameter or by its true ε.

C[x, y] is proportional to exp(-(eps/2)·d(x, y)). The nominal eps is what the standard analysis promises;
the normalisation makes the true one smaller, between eps/2 and eps (Fernandes, Sec 4.7.1; footnote 11 is
an erratum: the mechanism over-reports).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from sievert import spaces
from sievert.arrays import FloatArray
from sievert.channels import Channel, epsilon
from sievert.errors import MechanismError
from sievert.kinds import variant
from sievert.mechanisms._family import EpsilonFamily, Family, privacy
from sievert.numerics import abbreviated, choice, log_sum, non_negative, read_eps, taken, whole
from sievert.policies import Answers, Policy, Query
from sievert.proofs import EXPONENTIAL
from sievert.results import guarded
from sievert.sampling import BitSource, ChannelSampler, Sampler, Timing, exact_sampler, exponential_rows
from sievert.spaces import Metric, metric_of

__all__ = ["exponential", "nominal_epsilon", "true_epsilon"]

# A longer line has the same closed forms, in floats.
LONGEST_LINE = 10**300
# A larger ε times a distance leaves the floats.
LARGEST_TRUE = 1e100


def exponential(
    metric: Metric,
    eps: float | None = None,
    level: Literal["nominal", "true"] = "nominal",
    *,
    alpha: object = None,
    inputs: Iterable[object] | None = None,
    outputs: Iterable[object] | None = None,
) -> Channel:
    """Output y with probability proportional to exp(-(nominal/2)·d(x, y)).

    Parameters
    ----------
    metric : Metric
        Distances between inputs and outputs (all its points by default).
    eps : float
        The parameter in nats: nominal, or with ``level="true"`` the smallest ε the channel really has.
    level : "nominal" or "true"
        What `eps` means.
    alpha : exact number, optional
        e^-eps, instead of eps; the channel is exact when alpha is the square of a rational and the
        distances are integers.
    inputs, outputs : sequence, optional
        Points of the metric that can be put in and reported; all of them by default.

    Returns
    -------
    Channel
        From the inputs to the outputs.

    Notes
    -----
    Cost: O(inputs·outputs); for level="true" a search of the nominal parameter besides.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> exponential(metrics.line(3), alpha="1/4").exact[0].tolist()
    [Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)]
    """
    choice("level", level, ("nominal", "true"), MechanismError)
    metric = metric_of(metric)
    given = privacy(eps, alpha)
    rows = _positions(metric, inputs, "inputs")
    columns = _positions(metric, outputs, "outputs")
    if not rows or not columns:
        raise MechanismError("inputs or outputs is empty; the mechanism needs at least one of each")
    distances = metric.matrix[np.ix_(rows, columns)]
    names = ([metric.points[i] for i in rows], [metric.points[j] for j in columns])
    _refuse_unreachable(distances, names[0])
    if math.isinf(given.eps):
        return _nearest(distances, *names)
    if level == "true" and given.eps > 0:
        among = metric if rows == list(range(metric.size)) else metric.restricted(names[0])
        return ExponentialChannel(distances, _solve_nominal(distances, among, given.eps), *names)
    root = _rational_root(given.alpha)
    finite = distances[np.isfinite(distances)]
    if root is not None and np.array_equal(finite, np.rint(finite)):
        return _exact_channel(distances, root, *names)
    return ExponentialChannel(distances, given.eps, *names)


def _positions(metric: Metric, labels: Iterable[object] | None, argument: str) -> list[int]:
    if labels is None:
        return list(range(metric.size))
    return [metric.index(point) for point in taken(argument, labels, MechanismError, "points of the metric")]


@guarded
def true_epsilon(n: int, nominal: float) -> float:
    """Smallest ε for |x - x'| of the exponential mechanism on 0…n-1, in closed form.

    ln((1 + a - a² - a^(n-1)) / (a·(1 - a^n))) with a = e^(-nominal/2); attained by the two end points.

    Parameters
    ----------
    n : number of inputs
    nominal : the nominal parameter in nats

    Returns
    -------
    float
        The true ε, in nats.

    Notes
    -----
    Cost: O(1).

    Examples
    --------
    >>> round(true_epsilon(3, math.log(4)), 6)   # ln(16/7)
    0.826679
    """
    n = min(whole("n", n, MechanismError), LONGEST_LINE)
    nominal = non_negative("nominal", nominal, MechanismError, infinite=True)
    h = nominal / 2
    if n < 2 or h == 0:
        return 0.0
    if math.isinf(nominal):
        return math.inf
    # S_0 = Σ a^k over the end row and S_1 over the next; ε = ln(S_1/(a·S_0)) = h + ln(S_1/S_0) with
    # S_1 - S_0 = a - a^(n-1), written with expm1 so that tiny parameters lose nothing.
    end = math.expm1(-h * n) / math.expm1(-h)
    difference = -math.exp(-h) * math.expm1(-h * (n - 2))
    return h + math.log1p(difference / end)


@guarded
def nominal_epsilon(n: int, true: float) -> float:
    """The nominal parameter whose true ε on 0…n-1 is given (inverse of `true_epsilon`).

    Parameters
    ----------
    n : number of inputs
    true : the true ε in nats

    Returns
    -------
    float
        The nominal parameter, in nats.

    Notes
    -----
    Cost: O(1): a root of the closed form.

    Examples
    --------
    >>> round(nominal_epsilon(5, 1.0), 7)
    1.5873664
    """
    from scipy.optimize import brentq

    n = min(whole("n", n, MechanismError), LONGEST_LINE)
    true = non_negative("true", true, MechanismError, infinite=True)
    if true == 0 or math.isinf(true):
        return true
    if n < 2:
        raise MechanismError("n is 1: with one input every parameter has true ε 0")
    if true < 1e-280 or true > sys.float_info.max / 2:
        # The limits of small and of large parameters; a search would run out of digits or of range.
        return true * n / (n - 1) if true < 1 else 2 * true
    root = brentq(lambda nominal: true_epsilon(n, nominal) - true, true, 2 * true, xtol=1e-300, rtol=1e-15)
    return float(root)


def _solve_nominal(distances: FloatArray, metric: Metric, true: float) -> float:
    """The nominal parameter with a given true ε, which is at most the nominal one for any metric."""
    from scipy.optimize import brentq

    if metric.size == 1:
        return true
    if true > LARGEST_TRUE:
        raise MechanismError(
            f"eps is {abbreviated(true)}; an exponential mechanism is built for at most {LARGEST_TRUE:g}"
        )

    if (step := _step_of_line(distances)) is not None:
        return nominal_epsilon(metric.size, true * step) / step

    def excess(nominal: float) -> float:
        return epsilon(ExponentialChannel(distances, nominal, metric.points, None), metric).nats - true

    # Where every input is also an output the true ε is at least half the nominal one.
    high = 2 * true
    while excess(high) < 0:
        high *= 2
        if high > 1e6 * true:
            raise MechanismError(
                f"eps is {abbreviated(true)}; no nominal parameter up to {high:g} has that true ε here"
            )
    return float(brentq(excess, true * (1 - 1e-12), high, xtol=1e-300, rtol=1e-14))


def _step_of_line(distances: FloatArray) -> float | None:
    """The distance of neighbours where inputs and outputs are the same evenly spaced points of a line."""
    size = len(distances)
    if distances.shape != (size, size) or not 0 < distances[0, -1] < math.inf:
        return None
    places = np.arange(size, dtype=np.float64)
    step = float(distances[0, 1])
    even = all(np.array_equal(row, step * np.abs(places - k)) for k, row in enumerate(distances))
    return step if even else None


def _refuse_unreachable(distances: FloatArray, inputs: Sequence[object]) -> None:
    lost = np.isinf(distances).all(axis=1)
    if lost.any():
        name = inputs[int(np.argmax(lost))]
        raise MechanismError(
            f"metric: input {abbreviated(name)} is at infinite distance from every output; add it to outputs"
        )


class ExponentialChannel(Channel):
    """Outputs weighted by e^(-(nominal/2)·distance), in logarithms."""

    def __init__(
        self,
        distances: FloatArray,
        nominal: float,
        inputs: Iterable[object],
        outputs: Iterable[object] | None,
    ) -> None:
        self.distances, self.nominal = distances, nominal
        scores = self._scores()
        self._set(scores - log_sum(scores, axis=1)[:, None], "log", inputs, outputs)

    def _scores(self) -> FloatArray:
        unreachable = np.isinf(self.distances)
        weighted = -(self.nominal / 2) * np.where(unreachable, 0.0, self.distances)
        return np.where(unreachable, -np.inf, weighted)

    def _relative_entries(self) -> FloatArray:
        """Less ln of the mean weight, with its digits where all weights are close to 1."""
        scores = self._scores()
        short = np.expm1(scores).mean(axis=1)
        far = log_sum(scores, axis=1) - math.log(scores.shape[1])
        means = np.where(short > -0.5, np.log1p(np.maximum(short, -0.5)), far)
        return np.asarray(scores - means[:, None])


@exact_sampler.register
def _exactly(channel: ExponentialChannel, timing: Timing, source: BitSource) -> Sampler:
    """For the parameter as it is written."""
    positions = exponential_rows(
        channel.distances, read_eps(channel.nominal) / 2, timing=timing, insecure_rng=source
    )
    return ChannelSampler(channel, positions)


def _nearest(distances: FloatArray, inputs: Iterable[object], outputs: Iterable[object]) -> Channel:
    """The limit of large eps: one of the nearest outputs, each as likely."""
    nearest = distances == distances.min(axis=1, keepdims=True)
    return Channel(nearest.astype(np.int64), inputs, outputs, normalise=True)


def _exact_channel(
    distances: FloatArray, root: Fraction, inputs: Iterable[object], outputs: Iterable[object]
) -> Channel:
    distinct, inverse = np.unique(distances, return_inverse=True)
    powers = np.empty(len(distinct), dtype=object)
    powers[:] = [Fraction(0) if math.isinf(d) else root ** int(d) for d in distinct]
    scores = powers[inverse.reshape(distances.shape)]
    return Channel.trusted(scores / scores.sum(axis=1)[:, None], "exact", inputs, outputs)


def _rational_root(alpha: Fraction | None) -> Fraction | None:
    """√alpha when it is rational (and positive)."""
    if alpha is None or alpha == 0:
        return None
    top, bottom = math.isqrt(alpha.numerator), math.isqrt(alpha.denominator)
    if top * top != alpha.numerator or bottom * bottom != alpha.denominator:
        return None
    return Fraction(top, bottom)


@variant(Family, "exponential")
class Exponential(EpsilonFamily):
    """Near answers more often: a probability proportional to e^(-(nominal/2)·distance)."""

    in_theorems = EXPONENTIAL

    level: Annotated[
        Literal["nominal", "true"] | None,
        Field(
            description='what eps is: "true" (unless given), the ε it really has, or "nominal", the '
            "parameter of the formula, a promise of no ε: audit, design and the charge then use the smaller "
            "ε that it has"
        ),
    ] = None

    @property
    def _nominal(self) -> bool:
        """Whether the parameter promises no ε of its own."""
        return self.level == "nominal"

    def channel(self, answers: Answers, query: Query) -> Channel:
        return exponential(answers.metric, self.eps, self.level or "true", alpha=self.alpha)

    def claimed(self, policy: Policy, query: Query) -> float | None:
        return None if self._nominal else super().claimed(policy, query)

    @property
    def promised(self) -> float | None:
        return None if self._nominal else self.eps

    def words(self) -> str:
        return f"{super().words()} ({'the nominal parameter, not ε' if self._nominal else 'true ε'})"

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        return exponential(metric, eps, "true")

    @classmethod
    def on_line(cls, n: int, eps: float) -> Channel | None:
        return exponential(spaces.metrics.line(n), nominal_epsilon(n, eps) if n > 1 else eps)
