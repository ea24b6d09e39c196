"""The privacy level of a channel: how far apart two secrets' outputs are, and against which distance.

d_C(x, x') = max over outputs of |ln C[x,y]/C[x',y]| is the least metric for which the channel is
private (Fernandes, Def 4.4.4). The smallest ε for a metric d is the largest ratio d_C/d (Def 4.4.1),
with 0/anything = 0, anything/∞ = 0, positive/0 = ∞. All of it works on logarithms, so that entries
such as e^-2000 are not mistaken for zeros.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, singledispatch
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels._blocks import ProductChannel
from sievert.channels._channel import Channel, finite_channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError, MetricError, PolicyError
from sievert.numerics import exp_or_infinity, instance, log_difference, log_fraction, log_of, non_negative
from sievert.policies import Answers, Policy, Query, query_over
from sievert.results import Result, guarded
from sievert.spaces import Labels, Metric, align, metric_of, worded

__all__ = [
    "Epsilon",
    "composed_distinguishability",
    "distinguishability",
    "epsilon",
    "is_private",
    "one_sided_divergence",
    "posterior_privacy_vulnerability",
    "privacy_vulnerability",
]

BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True)
class Epsilon(Result):
    """The smallest ε for which a channel is private, and where it is attained.

    Attributes
    ----------
    nats : ε, in nats per unit of distance
    pair : the two inputs that attain it, the more likely one first (None when ε is 0)
    output : the output on which they differ most
    exact : for rational channels, the likelihood ratio of the pair at that output; ε = ln(exact)/distance
    distance : distance of the pair under the metric or policy
    """

    nats: float
    pair: tuple[Hashable, Hashable] | None
    output: Hashable
    exact: Fraction | None
    distance: float

    def __float__(self) -> float:
        return self.nats

    def odds(self, radius: float) -> float:
        """Largest growth of the belief in the truth when every other candidate is within a radius of it.

        The factor is e^(ε·radius): near candidates stay indistinguishable, far ones do not
        (Fernandes, Sec 3.2, Lem 3.5).
        """
        if self.nats == 0 or radius == 0:
            return 1.0
        return exp_or_infinity(self.nats * radius)

    def __str__(self) -> str:
        if self.pair is None:
            return "ε = 0: every pair of inputs that must not be told apart has the same outputs"
        value = "∞" if math.isinf(self.nats) else f"{self.nats:.6g}"
        if self.exact is not None and self.distance == 1:
            value = f"ln({self.exact}) = {value}"
        first, second = self.pair
        between = f"between inputs {worded(first)} and {worded(second)}"
        return f"ε = {value}, {between} on output {worded(self.output)}"


def distinguishability(channel: Channel) -> Metric:
    """The least metric for which the channel is private: largest |log ratio| of each pair of rows.

    It is 0 for equal rows and inf for rows with different supports.

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    Metric
        On the channel's inputs.

    Notes
    -----
    Cost: O(n²·outputs) for n inputs.

    Examples
    --------
    >>> d = distinguishability(Channel([["2/3", "1/3"], ["1/3", "2/3"]]))
    >>> round(d.distance(0, 1), 6)
    0.693147
    """
    distances = _all_pairs(finite_channel(channel).relative_logs)
    return Metric._known(channel.inputs, partial(np.asarray, distances))


@guarded
def one_sided_divergence(channel: Channel) -> FloatArray:
    """D[x, x'] = max over outputs of ln C[x,y]/C[x',y] (0/0 ignored).

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    array of shape (n, n)
        In nats.

    Notes
    -----
    Cost: O(n²·outputs) for n inputs.

    Examples
    --------
    >>> one_sided_divergence(Channel([["1/2", "1/2"], ["1/4", "3/4"]])).round(4).tolist()
    [[0.0, 0.6931], [0.4055, 0.0]]
    """
    logs = finite_channel(channel).relative_logs
    n, m = logs.shape
    result = np.empty((n, n))
    rows = max(1, BLOCK_ENTRIES // max(1, n * m))
    for start in range(0, n, rows):
        numerator = logs[start : start + rows, None, :]
        with np.errstate(invalid="ignore"):
            ratios = np.where(np.isneginf(numerator), -np.inf, numerator - logs[None, :, :])
        result[start : start + rows] = ratios.max(axis=2)
    np.fill_diagonal(result, 0.0)
    return result


def composed_distinguishability(first: Channel, second: Channel) -> Metric:
    """Exact distinguishability of releasing both: max of the two directions' summed divergences.

    At most the sum of the two metrics, usually less.

    Parameters
    ----------
    first, second : channels on the same inputs, released together

    Returns
    -------
    Metric
        On the inputs.

    Notes
    -----
    Cost: O(n²·outputs) for n inputs.

    References
    ----------
    Fernandes, Lem 3.2.

    Examples
    --------
    >>> c = Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    >>> swapped = Channel([["1/5", "4/5"], ["3/5", "2/5"]])
    >>> round(composed_distinguishability(c, swapped).distance(0, 1) / math.log(3), 6)
    2.0
    """
    first, second = finite_channel(first, "first"), finite_channel(second, "second")
    order = align(first.inputs, second.inputs, "the inputs of the second channel", ChannelError)
    other = one_sided_divergence(second)
    total = one_sided_divergence(first) + (other if order is None else other[np.ix_(order, order)])
    distances = np.maximum(total, total.T)
    return Metric._known(first.inputs, partial(np.asarray, distances))


def epsilon(
    channel: Channel,
    policy_or_metric: Policy | Metric | Answers,
    query: Query | None = None,
) -> Epsilon:
    """The smallest ε for which the channel is ε·d-private, with the pair and output that attain it.

    Parameters
    ----------
    channel : Channel
        Its inputs are the metric's points, the answers of the query, or the policy's databases.
    policy_or_metric : Policy, Metric or Answers
        Against what privacy is judged.
    query : Query, optional
        What is computed before the channel; the policy is then carried over to the answers (Prop 26).

    Returns
    -------
    Epsilon
        `nats`, with the inputs and the output that attain it, and `exact` = e^ε where that is rational.

    Notes
    -----
    Metrics generated by edges need only the edges: logarithms of ratios add up along a path.
    Otherwise O(n² m).

    Cost: O(pairs·outputs), over the edges of a metric that has them and all n² pairs otherwise; O(n·outputs)
    where all distances are equal.

    References
    ----------
    Alvim et al., Prop 26.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> print(epsilon(Channel([["2/3", "1/3"], ["1/3", "2/3"]]), metrics.discrete(2)))
    ε = ln(2) = 0.693147, between inputs 0 and 1 on output 0
    """
    channel = finite_channel(channel)
    # Under public constraints one record cannot change alone, so the databases themselves are compared.
    if isinstance(policy_or_metric, Policy) and not policy_or_metric.constrained and query is None:
        separate = record_epsilon(channel, policy_or_metric)
        if separate is not None:
            return separate
    metric = target_metric(policy_or_metric, query)
    order = align(channel.inputs, metric.points, "the metric", MetricError)
    if order is not None and order == list(range(len(order))):
        order = None  # the same labels in the same order, kept in another kind of sequence
    known = channel.smallest_epsilon(metric) if order is None else None
    if known is not None:
        return _known_result(channel, *known)
    logs = channel.relative_logs
    if order is not None:
        # Rows of the channel in the order of the metric's points.
        logs = logs[np.argsort(order)]
    labels = channel.inputs if order is None else metric.points
    if metric.uniform_distance is not None:
        i, j = _widest_column(logs)
        found = _ratio(_pair_distances(logs, np.array([[i, j]]))[0], metric.uniform_distance)
        return _result(channel, labels, found, i, j, metric.uniform_distance)
    edges = metric.edges
    if edges is None:
        ratios = _ratios(_all_pairs(logs), metric.matrix)
        i, j = map(int, np.unravel_index(_first_largest(ratios), ratios.shape))
        return _result(channel, labels, float(ratios[i, j]), i, j, float(metric.matrix[i, j]))
    if not len(edges):
        return Epsilon(0.0, None, None, None, math.inf)
    ratios = _ratios(_pair_distances(logs, edges.pairs), edges.lengths)
    k = _first_largest(ratios)
    i, j = map(int, edges.pairs[k])
    return _result(channel, labels, float(ratios[k]), i, j, float(edges.lengths[k]))


@singledispatch
def record_epsilon(channel: Channel, policy: Policy) -> Epsilon | None:
    """The smallest ε of a channel that treats the records of a database one by one; None for others."""
    return None


@record_epsilon.register
def _product_epsilon(channel: ProductChannel, policy: Policy) -> Epsilon:
    """Records are protected one at a time, so the least private record decides."""
    if channel.records != policy.records:
        raise PolicyError(
            f"the policy has {policy.records} records but the product channel serves {channel.records}"
        )
    levels = [epsilon(part, policy.record_metric) for part, _ in channel.factors]
    return max(levels, key=lambda level: level.nats)


def _known_result(channel: Channel, value: float, i: int, j: int, distance: float) -> Epsilon:
    if value == 0:
        return Epsilon(0.0, None, None, None, distance)
    a, b, output, exact = channel.witness(i, j)
    if exact is not None and 0 < distance < math.inf:
        value = log_fraction(exact) / distance
    return Epsilon(value, (channel.inputs[a], channel.inputs[b]), channel.outputs[output], exact, distance)


def is_private(
    channel: Channel,
    policy_or_metric: Policy | Metric | Answers,
    eps: float = 1.0,
    query: Query | None = None,
) -> bool:
    """Whether the channel is ε·d-private.

    Parameters
    ----------
    channel : Channel
    policy_or_metric : Policy, Metric or Answers
        Against what privacy is judged.
    eps : ε in nats, per unit of distance
    query : what is computed before the channel, if a policy is given

    Returns
    -------
    bool

    Notes
    -----
    Logarithms of probabilities down to e^-2000 are rounded by less than 1e-12, so a level may exceed
    `eps` by 1e-12·max(1, eps) before the answer is no.

    Cost: that of `sv.epsilon`.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> is_private(Channel([["2/3", "1/3"], ["1/3", "2/3"]]), metrics.discrete(2), eps=0.6)
    False
    """
    level = non_negative("eps", eps, MetricError, infinite=True)
    return epsilon(channel, policy_or_metric, query).nats <= level + 1e-12 * max(1.0, level)


def target_metric(policy_or_metric: Policy | Metric | Answers, query: Query | None = None) -> Metric:
    """The distance on a channel's inputs that a metric, a policy or a query over a policy gives."""
    asked = query_over(policy_or_metric, query)
    if isinstance(policy_or_metric, Metric):
        return policy_or_metric
    if isinstance(policy_or_metric, Answers):
        return policy_or_metric.metric
    words = "a sv.Metric, a sv.Policy or a query's answers"
    instance("policy_or_metric", policy_or_metric, Policy, words, PolicyError)
    if asked is not None:
        return asked.answers(policy_or_metric).metric
    if policy_or_metric.records == 1 and not policy_or_metric.constrained:
        return policy_or_metric.record_metric
    return policy_or_metric.database_metric()


@guarded
def privacy_vulnerability(prior: object, metric: Metric) -> float:
    """V_d(π) = max ln(π_x/π_x')/d(x, x'), at least 0; may be inf.

    Parameters
    ----------
    prior : probabilities of the secrets, in the order of the points or by label
    metric : Metric on the secrets

    Returns
    -------
    float
        In nats per unit of distance.

    Notes
    -----
    Cost: O(n²) for n secrets.

    References
    ----------
    Fernandes, Def 4.4.6.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> round(privacy_vulnerability([0.8, 0.1, 0.1], metrics.discrete(3)), 6)   # ln 8
    2.079442
    """
    metric = metric_of(metric)
    return _largest_rate(_log_belief(prior, metric.points)[:, None], metric.matrix)


@guarded
def posterior_privacy_vulnerability(channel: Channel, metric: Metric, prior: object = None) -> float:
    """Largest V_d over the posteriors of outputs that can occur (max case).

    With the uniform prior it is the smallest ε of the channel for the metric.

    Parameters
    ----------
    channel : Channel
    metric : Metric on the inputs
    prior : probabilities of the secrets; uniform by default

    Returns
    -------
    float
        In nats per unit of distance; may be inf.

    Notes
    -----
    Cost: O(n²·outputs) for n inputs.

    References
    ----------
    Fernandes, Thm 4.9.

    Examples
    --------
    >>> import sievert as sv
    >>> round(posterior_privacy_vulnerability(sv.mechanisms.warner(), sv.metrics.discrete(["yes", "no"])), 6)
    1.098612
    """
    channel, metric = finite_channel(channel), metric_of(metric)
    order = align(channel.inputs, metric.points, "the metric", MetricError)
    distances = metric.matrix if order is None else metric.matrix[np.ix_(order, order)]
    # Odds do not change when a posterior is scaled, so the joint distribution will do.
    return _largest_rate(_log_belief(prior, channel)[:, None] + channel.relative_logs, distances)


def _log_belief(prior: object, secrets: Labels | Channel) -> FloatArray:
    belief = as_prior(prior, secrets)
    return np.array([log_fraction(p) for p in belief]) if belief.dtype == object else log_of(belief)


def _largest_rate(logs: FloatArray, distances: FloatArray) -> float:
    return float(_ratios(_all_pairs(logs), distances).max())


def _result(channel: Channel, labels: Labels, value: float, i: int, j: int, distance: float) -> Epsilon:
    if value == 0:
        return Epsilon(0.0, None, None, None, distance)
    a, b = channel.input_index(labels[i]), channel.input_index(labels[j])
    logs = channel.relative_logs
    difference = log_difference(logs[a], logs[b])
    output = _first_largest(np.abs(difference))
    if difference[output] < 0:
        a, b = b, a
    exact = None
    if channel.form == "exact" and math.isfinite(value):
        assert channel.exact is not None
        exact = channel.exact[a, output] / channel.exact[b, output]
        value = log_fraction(exact) / distance
    return Epsilon(value, (channel.inputs[a], channel.inputs[b]), channel.outputs[output], exact, distance)


def _pair_distances(logs: FloatArray, pairs: IndexArray) -> FloatArray:
    """max over outputs of |log ratio| for the given pairs of rows, a block of pairs at a time."""
    result = np.empty(len(pairs))
    step = max(1, BLOCK_ENTRIES // logs.shape[1])
    for start in range(0, len(pairs), step):
        block = pairs[start : start + step]
        result[start : start + step] = np.abs(log_difference(logs[block[:, 0]], logs[block[:, 1]])).max(
            axis=1
        )
    return result


def _all_pairs(logs: FloatArray) -> FloatArray:
    """max over outputs of |log ratio| for all pairs of rows: a Chebyshev distance on logarithms."""
    from scipy.spatial.distance import pdist, squareform

    zeros = np.isneginf(logs)
    if len(logs) == 1:
        return np.zeros((1, 1))
    distances: FloatArray = squareform(pdist(np.where(zeros, 0.0, logs), "chebyshev"))
    if zeros.any():
        _, pattern = np.unique(np.packbits(zeros, axis=1), axis=0, return_inverse=True)
        distances[pattern.ravel()[:, None] != pattern.ravel()[None, :]] = np.inf
    return distances


def _widest_column(logs: FloatArray) -> tuple[int, int]:
    """The two rows that some output tells apart best, over all pairs: O(n m)."""
    high, low = logs.max(axis=0), logs.min(axis=0)
    y = int(np.argmax(log_difference(high, low)))
    return int(np.argmax(logs[:, y])), int(np.argmin(logs[:, y]))


def _first_largest(ratios: FloatArray) -> int:
    """Position of the first entry that is largest up to rounding: a witness that does not hang on noise."""
    top = ratios.max()
    return int(np.argmax(ratios >= (top if np.isinf(top) else top * (1 - 1e-12))))


def _ratio(distance: float, unit: float) -> float:
    return float(_ratios(np.array([distance]), np.array([unit]))[0])


def _ratios(distances: FloatArray, units: FloatArray) -> FloatArray:
    """distance/unit with 0/anything = 0, anything/inf = 0, positive/0 = inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Any = distances / units
    return np.where((distances == 0) | np.isinf(units), 0.0, result)
