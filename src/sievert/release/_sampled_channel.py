"""A channel on a list as it is drawn: itself where it has an exact sampler by its own law, else in fractions.

Randomised response and geometric noise are drawn as they are audited, for the parameter as it is written. Any
other finite channel is drawn from its rows as fractions; one given in floats is rounded to fractions first,
and the ε that is charged is the one these fractions really have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from sievert.analysis._measurement import CLAIM_TOLERANCE
from sievert.channels import Channel, ResponseChannel, epsilon
from sievert.errors import FileError, MetricError
from sievert.files import PolicyScenario, exact_alpha, finite_eps
from sievert.ledger import amount
from sievert.mechanisms import (
    GeometricChannel,
    IrregularGeometricChannel,
    PixelatedLaplaceChannel,
    TruncatedGeometricChannel,
)
from sievert.numerics import exact_sum, log_fraction, rounded_up
from sievert.policies import Answers
from sievert.proofs import Decay
from sievert.spaces import align

__all__ = ["SampledChannel", "by_rows", "drawn_channel"]
LARGEST_ROWS = 1_000_000
# Digits of a probability in an exact row.
MOST_BITS = 20_000
# How much of the average row is mixed into a channel whose rounding exceeds its claim.
SMALLEST_SHARES = tuple(Fraction(1, 2**bits) for bits in (36, 32, 28, 24, 20))
# A claim that the channel uses up to this share is what is charged; far below it, the channel's own ε is.
SAME_CLAIM = 1e-6


@dataclass(frozen=True)
class SampledChannel:
    """The channel that is drawn from, what it costs for a unit of distance, and its name.

    `exact` says whether an exact sampler draws, or one in floating point, which the file has to ask for;
    `note` why what is drawn has another ε than the file's own channel.
    """

    channel: Channel = field(repr=False)
    eps: Fraction
    words: str
    exact: bool = True
    note: str | None = None


def drawn_channel(scenario: PolicyScenario) -> SampledChannel:
    """The file's channel on the listed answers, as it is drawn."""
    alpha = scenario.mechanism.written().get("alpha")
    if alpha is not None:
        exact_alpha(alpha)
    return drawn(scenario.channel, scenario)


@singledispatch
def drawn(channel: Channel, scenario: PolicyScenario) -> SampledChannel:
    """Any finite channel: its rows as fractions, and the ε that these fractions really have."""
    words, claimed = scenario.mechanism.words(), scenario.claimed_eps
    rules = scenario.document.release
    if rules is not None and rules.sampler == "float":
        true = epsilon(channel, scenario.answers).nats
        if claimed is not None:
            _require_kept(claimed, true)
        return SampledChannel(channel, rounded_up(true), f"{words}, drawn in floating point", exact=False)
    if channel.shape[0] * channel.shape[1] > LARGEST_ROWS:
        raise FileError(
            f"mechanism: a channel of {channel.shape[0]} by {channel.shape[1]} entries is too large to be "
            "drawn from exactly; use randomised-response, truncated-geometric or coarser values, or say "
            'sampler = "float" under [release]'
        )
    exact = _exactly(channel)
    nats = audited = epsilon(exact, scenario.answers).nats
    if claimed is not None:
        _require_kept(claimed, nats)
    if channel.form != "exact" and claimed is not None and not keeps(exact, scenario.answers, claimed):
        exact = _kept_claim(exact, scenario.answers, claimed)
        nats = epsilon(exact, scenario.answers).nats
    eps = _charged(exact, scenario.answers, nats, claimed)
    return SampledChannel(exact, eps, words, note=_other_eps(audited, nats))


def by_rows(channel: Channel) -> bool:
    """Whether a channel is drawn from the list of its rows, having no law of its own."""
    return drawn.dispatch(type(channel)) is drawn.dispatch(Channel)


def _other_eps(audited: float, nats: float) -> str | None:
    """What the reader of an audit should know where the fractions that are drawn have a smaller ε."""
    if nats >= audited * (1 - SAME_CLAIM):
        return None
    return (
        "What is drawn is the mechanism in fractions: rounded alone they would exceed its ε, so each row is "
        f"mixed with a little of the average row. These fractions have ε = {nats:.6g}, which is charged, "
        f"while the mechanism as written, which `sievert audit` is about, has ε = {audited:.6g}."
    )


@drawn.register
def _response(channel: ResponseChannel, scenario: PolicyScenario) -> SampledChannel:
    eps = _promised(channel, scenario, Fraction(1))
    _require_unit_distance(scenario, eps)
    _require_kept(float(eps), epsilon(channel, scenario.answers).nats)
    return SampledChannel(channel, eps, scenario.mechanism.words())


@drawn.register(TruncatedGeometricChannel)
@drawn.register(IrregularGeometricChannel)
def _kernel(channel: Channel, scenario: PolicyScenario) -> SampledChannel:
    """Geometric noise on the answers, scaled by how far one unit of distance moves them."""
    statistic = scenario.query.statistic(scenario.policy)
    assert statistic is not None
    per_unit = statistic.sensitivity(scenario.policy).steps * statistic.step
    eps = _promised(channel, scenario, per_unit)
    _require_kept(float(eps), epsilon(channel, scenario.answers).nats)
    return SampledChannel(channel, eps, scenario.mechanism.words())


@drawn.register
def _pixels(channel: PixelatedLaplaceChannel, scenario: PolicyScenario) -> SampledChannel:
    """Laplace noise on an interval: the ε of the file, which the pixels keep whatever their number."""
    eps = _promised(channel, scenario, _reach(scenario))
    _require_kept(float(eps), epsilon(channel, scenario.answers).nats)
    return SampledChannel(channel, eps, scenario.mechanism.words())


def _reach(scenario: PolicyScenario) -> Fraction:
    """How many units of the answer one unit of the policy's distance is at most."""
    return Fraction(scenario.query.sensitivity(scenario.policy))


@drawn.register
def _on_all_integers(channel: GeometricChannel, scenario: PolicyScenario) -> SampledChannel:
    raise FileError(
        "mechanism: geometric noise on all integers has no last output; for values released one by "
        'one use "truncated-geometric"'
    )


def _promised(channel: Channel, scenario: PolicyScenario, units: Fraction) -> Fraction:
    """The file's own ε, or the channel's; alpha is that of one of so many units of the answer."""
    family = scenario.mechanism
    if family.promised is not None:
        return finite_eps(family.promised)
    if "alpha" not in family.written():
        return rounded_up(epsilon(channel, scenario.answers).nats)
    alpha = exact_alpha(family.written()["alpha"])
    return rounded_up(-log_fraction(alpha) * float(units)) if alpha != 1 else Fraction(0)


def _require_kept(claimed: float, true: float) -> None:
    """Refuse a channel that does not keep the ε that its family claims for it."""
    if true > claimed + CLAIM_TOLERANCE * max(1.0, claimed):
        raise FileError(
            f"mechanism: claims ε = {claimed:g} but only satisfies ε = {true:.6g}; nothing is "
            "released on a promise that does not hold (see sievert audit)"
        )


def _require_unit_distance(scenario: PolicyScenario, eps: Fraction) -> None:
    """Randomised response tells any two answers apart equally well, however near the policy has them.

    So its ε for one unit of distance is its own only if no two answers are nearer than that.
    """
    record = scenario.policy.record_metric
    if scenario.document.query.is_record and record.uniform_distance is not None:
        least = record.uniform_distance
    else:
        least = float(scenario.answers.edges.lengths.min(initial=math.inf))
    if least < 1 and eps:
        true = f"{float(eps) / least:.6g}" if least else "∞"
        raise FileError(
            f"mechanism: claims ε = {float(eps):.6g} but only satisfies ε = {true}, because two answers are "
            f"at distance {least:g}; nothing is released on a promise that does not hold. Use exponential "
            'with level = "true", or a unit in which distances are 1 or more'
        )


def _exactly(channel: Channel) -> Channel:
    """The channel in fractions: as its floats are, where their rows sum to exactly 1, else rounded."""
    if channel.form == "exact":
        return channel
    if channel.form == "float":
        rows = [[Fraction(entry) for entry in row] for row in channel.matrix.tolist()]
        if all(exact_sum(row) == 1 for row in rows):
            return Channel(rows, channel.inputs, channel.outputs)
    return _rational(channel)


def _charged(exact: Channel, answers: Answers, nats: float, claimed: float | None) -> Fraction:
    """What the channel costs: its claim where it keeps and uses it, else its own ε, rounded up."""
    if claimed is not None and nats >= claimed * (1 - SAME_CLAIM) and keeps(exact, answers, claimed):
        return finite_eps(claimed)
    eps = rounded_up(nats)
    if not keeps(exact, answers, eps):  # the last digits of logarithms that lie far apart
        eps = rounded_up(nats * (1 + 1e-9) + 1e-12)
    return eps


def _kept_claim(channel: Channel, answers: Answers, claimed: float) -> Channel:
    """The channel moved towards its average row by as little as keeps the ε that rounding exceeded.

    Every column is mixed with a constant, which brings its entries closer to each other. Where some entries
    of a column are 0 and others not, the channel is left as it is: mixing would make outputs possible.
    """
    rows = channel.exact
    assert rows is not None
    # In whole numbers of one denominator: the rows, and their sum, which is the average times how many.
    scale = math.lcm(*{entry.denominator for entry in rows.ravel().tolist()})
    whole = [[entry.numerator * (scale // entry.denominator) for entry in row] for row in rows.tolist()]
    total = [sum(column) for column in zip(*whole, strict=True)]
    if any(column and not entry for row in whole for entry, column in zip(row, total, strict=True)):
        return channel
    for share in SMALLEST_SHARES:
        kept, below = len(whole) * (share.denominator - 1), len(whole) * share.denominator * scale
        mixed = [
            [Fraction(kept * entry + column, below) for entry, column in zip(row, total, strict=True)]
            for row in whole
        ]
        moved = Channel(mixed, channel.inputs, channel.outputs)
        if keeps(moved, answers, claimed):
            return moved
    return channel


def _rational(channel: Channel) -> Channel:
    """A channel in fractions within 2^-50, relative, of one in floats or logarithms.

    Every entry is rounded on the grid of 2^-W with W so large that the smallest one keeps all its digits;
    the largest entry of a row takes what is left. Which ε the result has is computed, not assumed.
    """
    logs = channel.log_matrix / math.log(2)
    positive = np.isfinite(logs)
    bits = 64 + math.ceil(-float(logs[positive].min()))
    if bits > MOST_BITS:
        raise FileError(
            f"mechanism: a probability is below 2^-{MOST_BITS - 64}, too small to be drawn from exactly; "
            "lower eps, or use randomised-response or truncated-geometric"
        )
    rows = []
    for line, allowed in zip(logs.tolist(), positive.tolist(), strict=True):
        weights = [
            _scaled(value, bits) if is_positive else 0
            for value, is_positive in zip(line, allowed, strict=True)
        ]
        largest = max(range(len(weights)), key=weights.__getitem__)
        weights[largest] += (1 << bits) - sum(weights)
        rows.append([Fraction(weight, 1 << bits) for weight in weights])
    return Channel(rows, channel.inputs, channel.outputs)


def _scaled(exponent: float, bits: int) -> int:
    """2^(exponent + bits), to 53 digits."""
    whole = math.floor(exponent)
    digits = int(2.0 ** (exponent - whole) * 2**53)
    shift = whole + bits - 53
    return digits << shift if shift >= 0 else digits >> -shift


# ── Does a channel of fractions keep an ε exactly? Floats find the doubtful entries, balls decide them ──────

# Logarithms of ratios closer than this to their limit, relative to 1 and to the limit, are decided exactly.
DOUBTFUL = 1e-9
BLOCK_ENTRIES = 4_000_000

Doubt = tuple[int, int, int, float]  # rows of the larger and the smaller entry, their column and distance


def keeps(channel: Channel, answers: Answers, eps: float | Fraction) -> bool:
    """Whether every ratio of two entries of a column is at most e^(ε·distance), exactly.

    >>> from sievert.policies._policy import Policy
    >>> from sievert.policies._query import Query
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"])
    >>> answers = Query.record().answers(Policy.local(["yes", "no"]))
    >>> keeps(coin, answers, 1.0986122886), keeps(coin, answers, 1.0986122887)
    (False, True)
    """
    decay = Decay(eps=eps if isinstance(eps, Fraction) else amount(eps, "eps"))
    entries = channel.exact
    assert entries is not None
    for large, small, output, length in _doubtful(channel, answers, float(decay.eps or 0)):
        more, less = entries[large, output], entries[small, output]
        products = less.numerator * more.denominator, more.numerator * less.denominator
        if not decay.allows(*products, length):
            return False
    return True


def _doubtful(channel: Channel, answers: Answers, eps: float) -> Iterator[Doubt]:
    """Ratios that are not clearly allowed."""
    metric = answers.metric
    order = align(channel.inputs, metric.points, "the metric", MetricError)
    row_of = np.arange(metric.size) if order is None else np.argsort(order)
    logs = channel.log_matrix[row_of]
    if metric.uniform_distance is not None:
        yield from _extremes(channel, logs, row_of, eps, metric.uniform_distance)
        return
    edges = metric.edges
    pairs = np.column_stack(np.triu_indices(metric.size, 1)) if edges is None else edges.pairs
    lengths = metric.matrix[pairs[:, 0], pairs[:, 1]] if edges is None else edges.lengths
    near = np.flatnonzero(np.isfinite(lengths))
    step = max(1, BLOCK_ENTRIES // logs.shape[1])
    for start in range(0, len(near), step):
        chosen = near[start : start + step]
        block, apart = pairs[chosen], lengths[chosen]
        with np.errstate(invalid="ignore"):
            change = logs[block[:, 0]] - logs[block[:, 1]]
        change = np.where(np.isnan(change), 0.0, change)  # impossible for both
        limit = eps * apart * (1 - DOUBTFUL) - DOUBTFUL
        for k, output in np.argwhere(np.abs(change) > limit[:, None]).tolist():
            first, second = (int(row_of[i]) for i in block[k])
            yield from ((first, second, output, float(apart[k])), (second, first, output, float(apart[k])))


def _extremes(
    channel: Channel, logs: NDArray[np.float64], row_of: NDArray[np.intp], eps: float, length: float
) -> Iterator[Doubt]:
    """Where all are equally far apart, the largest and the least entry of a column decide."""
    entries = channel.exact
    assert entries is not None
    high, low = logs.max(axis=0), logs.min(axis=0)
    with np.errstate(invalid="ignore"):
        spread = np.where(np.isneginf(high), 0.0, high - low)
    for output in np.flatnonzero(spread > eps * length * (1 - DOUBTFUL) - DOUBTFUL).tolist():
        top = np.flatnonzero(logs[:, output] >= high[output] - DOUBTFUL)
        bottom = np.flatnonzero(logs[:, output] <= low[output] + DOUBTFUL)
        large = max((int(row_of[i]) for i in top), key=lambda i: entries[i, output])
        small = min((int(row_of[i]) for i in bottom), key=lambda i: entries[i, output])
        yield large, small, output, length
