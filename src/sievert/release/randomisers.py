"""The file's channel as an exact sampler: one label goes to another.

Randomised response and geometric noise have samplers of their own. Any other finite channel is drawn from its
rows as fractions; one given in floats is rounded to fractions first, and the ε that is charged is the one
these fractions really have.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.privacy import epsilon
from sievert.errors import FileError
from sievert.files import Scenario
from sievert.numerics.logs import log_fraction
from sievert.numerics.rationals import as_fraction
from sievert.release.exact_level import keeps
from sievert.release.noise import Errors, exact_alpha, finite_eps, rounded_up
from sievert.release.statistics import Statistic
from sievert.sampling import (
    Sampler,
    irregular_geometric,
    randomised_response,
    rational_rows,
    truncated_geometric,
)
from sievert.spaces.labels import label
from sievert.spaces.query import Answers

__all__ = ["FloatRows", "Randomiser", "randomiser"]

IntArray = NDArray[np.int64]
LARGEST_ROWS = 1_000_000
LARGEST_ERRORS = 4_000_000
# Digits of a probability in an exact row.
MOST_BITS = 20_000
# A mechanism whose ε exceeds the file's claim by more than this is refused.
CLAIM_TOLERANCE = 1e-9
# How much of the average row is mixed into a channel whose rounding exceeds its claim.
SMALLEST_SHARES = tuple(Fraction(1, 2**bits) for bits in (36, 32, 28, 24, 20))
# A claim that the channel uses up to this share is what is charged; far below it, the channel's own ε is.
SAME_CLAIM = 1e-6


@dataclass(frozen=True)
class Randomiser:
    """A channel by the positions of its labels, with its exact sampler."""

    inputs: Sequence[Hashable]
    outputs: Sequence[Hashable]
    eps: Fraction
    words: str
    maker: Any = field(repr=False)
    channel: Channel | None = field(repr=False, default=None)

    def sampler(self, timing: Any = "fixed", insecure_rng: object = None) -> Sampler:
        """Positions of inputs to positions of outputs."""
        made: Sampler = self.maker(timing=timing, insecure_rng=insecure_rng)
        return made

    @cached_property
    def position(self) -> dict[Hashable, int]:
        """Where each input stands."""
        return {item: i for i, item in enumerate(self.inputs)}

    def errors(self, confidence: float) -> Errors:
        """At the worst input; distances where inputs and outputs are numbers."""
        channel = self.channel
        if channel is None or channel.shape[0] * channel.shape[1] > LARGEST_ERRORS:
            return Errors(None, None, None)
        matrix = channel.matrix
        place = {item: j for j, item in enumerate(self.outputs)}
        own = [matrix[i, place[item]] for i, item in enumerate(self.inputs) if item in place]
        kept = float(min(own)) if len(own) == len(self.inputs) else None
        if not all(isinstance(v, int | float | Fraction) for v in (*self.inputs, *self.outputs)):
            return Errors(None, None, None, kept)
        distance = np.abs(np.subtract.outer(_floats(self.inputs), _floats(self.outputs)))
        squares = (matrix * distance**2).sum(axis=1)
        return Errors(
            float(np.sqrt(squares.max())),
            float((matrix * distance).sum(axis=1).max()),
            _radius(matrix, distance, confidence),
            kept,
        )

    def describe(self) -> str:
        """In words."""
        return self.words


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([float(value) for value in values])


def _radius(matrix: NDArray[Any], distance: NDArray[np.float64], confidence: float) -> Fraction:
    """The smallest radius that holds enough probability around every input."""
    order = np.argsort(distance, axis=1)
    mass = np.cumsum(np.take_along_axis(matrix, order, axis=1), axis=1)
    first = (mass < confidence - 1e-12).sum(axis=1).clip(max=distance.shape[1] - 1)
    reach = np.take_along_axis(distance, order, axis=1)[np.arange(len(distance)), first]
    return as_fraction(str(float(reach.max())))


def randomiser(scenario: Scenario, table: Statistic | None, steps: Fraction) -> Randomiser:
    """The file's channel on the query's answers, with the exact sampler of its family.

    `table` and `steps` describe values that are numbers, for geometric noise.
    """
    model = scenario.document.mechanism
    assert model is not None
    labels = scenario.answers.labels
    parameter = "" if model.alpha is None else f"alpha = {model.alpha}"
    if model.eps is not None:
        parameter = f"eps = {model.eps:g}"
    if model.kind == "randomised-response":
        level, eps = _level(model.eps, model.alpha)
        _require_unit_distance(scenario, eps)
        return Randomiser(
            labels,
            labels,
            eps,
            f"randomised response, {parameter}",
            lambda **options: randomised_response(len(labels), **level, **options),
            scenario.channel,
        )
    if model.kind in ("geometric", "truncated-geometric") and model.outputs is None:
        if model.kind == "geometric":
            raise FileError(
                "mechanism: geometric noise on all integers has no last output; for values released one by "
                'one use "truncated-geometric"'
            )
        return _kernel(scenario, table, steps, parameter)
    name = model.kind or f"the matrix {model.matrix}"
    return _rows(scenario, f"{name}, {parameter}" if model.kind and parameter else name)


def _require_unit_distance(scenario: Scenario, eps: Fraction) -> None:
    """Randomised response tells any two answers apart equally well, however near the policy has them.

    So its ε for one unit of distance is its own only if no two answers are nearer than that.
    """
    record = scenario.policy.record_metric
    if scenario.document.query.kind == "record" and record.uniform_distance is not None:
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


def _level(eps: float | None, alpha: object) -> tuple[dict[str, Any], Fraction]:
    if eps is not None:
        exact = finite_eps(eps)
        return {"eps": exact}, exact
    ratio = exact_alpha(alpha)
    return {"alpha": ratio}, rounded_up(-log_fraction(ratio)) if ratio != 1 else Fraction(0)


def _kernel(scenario: Scenario, table: Statistic | None, steps: Fraction, parameter: str) -> Randomiser:
    """The truncated geometric on the answers, consecutive or not."""
    model, labels = scenario.document.mechanism, scenario.answers.labels
    assert model is not None
    if table is None:
        raise FileError(
            "mechanism: truncated-geometric noise needs numbers; use exponential or randomised-response"
        )
    steady = _gap(labels)
    per_unit = steps * table.step  # sensitivity in the answer's units
    level, eps = _level(model.eps, model.alpha)
    if "eps" in level:
        level = {"eps": eps / per_unit if per_unit else eps}
    else:
        eps = rounded_up(-log_fraction(level["alpha"]) * float(per_unit)) if level["alpha"] != 1 else eps
    words = f"truncated geometric, {parameter}"
    if steady is not None and ("eps" in level or steady.denominator == 1):
        unit: dict[str, Any] = (
            {"eps": level["eps"] * steady} if "eps" in level else {"alpha": level["alpha"] ** int(steady)}
        )
        return Randomiser(
            labels,
            labels,
            eps,
            words,
            lambda **options: truncated_geometric(len(labels), **unit, **options),
            scenario.channel,
        )
    points = [as_fraction(str(value)) for value in labels]
    return Randomiser(
        labels,
        labels,
        eps,
        words,
        lambda **options: irregular_geometric(points, **level, **options),
        scenario.channel,
    )


def _gap(labels: Sequence[Any]) -> Fraction | None:
    """The distance of neighbouring numbers, where it is the same everywhere."""
    if isinstance(labels, range):
        return Fraction(labels.step)
    points = [as_fraction(str(value)) for value in labels]
    gaps = {b - a for a, b in pairwise(points)}
    return next(iter(gaps), Fraction(1)) if len(gaps) <= 1 else None


def _rows(scenario: Scenario, words: str) -> Randomiser:
    """Any other finite channel: its rows as fractions, and the ε that these fractions really have."""
    channel, claimed = scenario.channel, scenario.claimed_eps
    rules = scenario.document.release
    if rules is not None and rules.sampler == "float":
        return _floating(scenario, words)
    if channel.shape[0] * channel.shape[1] > LARGEST_ROWS:
        raise FileError(
            f"mechanism: a channel of {channel.shape[0]} by {channel.shape[1]} entries is too large to be "
            "drawn from exactly; use randomised-response, truncated-geometric or coarser values, or say "
            'sampler = "float" under [release]'
        )
    exact = _exactly(channel)
    found = epsilon(exact, scenario.answers)
    if claimed is not None and found.nats > claimed + CLAIM_TOLERANCE * max(1.0, claimed):
        raise FileError(
            f"mechanism: claims ε = {claimed:g} but only satisfies ε = {found.nats:.6g}; nothing is "
            "released on a promise that does not hold (see sievert audit)"
        )
    if channel.form != "exact" and claimed is not None and not keeps(exact, scenario.answers, claimed):
        exact = _kept_claim(exact, scenario.answers, claimed)
        found = epsilon(exact, scenario.answers)
    return Randomiser(
        exact.inputs,
        exact.outputs,
        _charged(exact, scenario.answers, found.nats, claimed),
        words,
        lambda **options: rational_rows(exact.exact, **options),
        channel,
    )


def _exactly(channel: Channel) -> Channel:
    """The channel in fractions: as its floats are, where their rows sum to exactly 1, else rounded."""
    if channel.form == "exact":
        return channel
    if channel.form == "float":
        rows = [[Fraction(entry) for entry in row] for row in channel.matrix.tolist()]
        if all(sum(row) == 1 for row in rows):
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
    average = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
    if any(mean and not entry for row in rows for entry, mean in zip(row, average, strict=True)):
        return channel
    for share in SMALLEST_SHARES:
        mixed = [
            [(1 - share) * entry + share * mean for entry, mean in zip(row, average, strict=True)]
            for row in rows
        ]
        moved = Channel(mixed, channel.inputs, channel.outputs)
        if keeps(moved, answers, claimed):
            return moved
    return channel


def _floating(scenario: Scenario, words: str) -> Randomiser:
    """The channel drawn in floating point, which the file has to ask for."""
    channel = scenario.channel
    eps = rounded_up(epsilon(channel, scenario.answers).nats)
    return Randomiser(
        channel.inputs,
        channel.outputs,
        eps,
        f"{words}, drawn in floating point",
        lambda **options: FloatRows(channel, **options),
        channel,
    )


class FloatRows(Sampler):
    """Rows of a channel by floating point: not exact, and marked so."""

    kind = "channel"
    exact = False

    def __init__(self, channel: Channel, timing: Any = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self._channel = channel
        self._position = {item: i for i, item in enumerate(channel.outputs)}

    @property
    def parameters(self) -> dict[str, Any]:
        """Its size."""
        return {"inputs": self._channel.shape[0], "outputs": self._channel.shape[1]}

    def draw(self, inputs: Any) -> IntArray:
        """Positions of outputs for positions of inputs."""
        # A fresh generator for each batch, seeded with 256 bits of the source.
        seed = self.source.words(0, self.source.reserve(4)).tolist()
        labels = [self._channel.inputs[i] for i in np.asarray(inputs).tolist()]
        drawn = self._channel.sample(labels, np.random.default_rng(seed))
        return np.array([self._position[label(item)] for item in drawn], dtype=np.int64)


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
