"""Noise that is added to every cell of a table, and how far off a released number will be.

ε is a fraction that is never too small: a logarithm is rounded up.
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

from sievert.arrays import IntArray
from sievert.channels import Channel, epsilon
from sievert.errors import FileError, MechanismError
from sievert.files import Scenario
from sievert.ledger import amount
from sievert.numerics import as_fraction, brief, log_fraction, number
from sievert.policies import Answers
from sievert.release._exact_level import keeps
from sievert.release._statistics import Statistic, consecutive
from sievert.sampling import (
    Sampler,
    discrete_laplace,
    irregular_geometric,
    randomised_response,
    rational_rows,
    truncated_geometric,
)
from sievert.spaces import label

__all__ = [
    "AddedNoise",
    "Errors",
    "FloatRows",
    "Randomiser",
    "added_noise",
    "exact_alpha",
    "finite_eps",
    "randomiser",
    "rounded_up",
]
# ε that is a logarithm is charged to so many decimals, or digits where it is small, rounded up; the margin is
# for the rounding of the float.
CHARGED_DIGITS = 9
ROUNDING_MARGIN = 1e-14
# A smaller alpha releases the data itself, for all that anybody could notice.
LEAST_ALPHA = Fraction(1, 10**300)


@dataclass(frozen=True)
class Errors:
    """How far a released number is from the truth.

    Attributes
    ----------
    sd : standard deviation of the noise
    mean : expected distance
    radius : the truth is within this distance with at least the asked-for probability
    kept : smallest probability that the released value is the true one (None: not a useful number here)
    """

    sd: float | None
    mean: float | None
    radius: Fraction | None
    kept: float | None = None


@dataclass(frozen=True)
class AddedNoise:
    """Discrete Laplace noise on every cell of a table, clamped to a public range if there is one."""

    eps: Fraction
    step_eps: Fraction | None
    step_alpha: Fraction | None
    step: Fraction
    limits: tuple[int, int] | None
    kind: str

    @property
    def rate(self) -> float:
        """ε of one step."""
        if self.step_eps is not None:
            return float(self.step_eps)
        assert self.step_alpha is not None
        return -log_fraction(self.step_alpha)

    @property
    def parameter(self) -> tuple[str, str]:
        """The parameter of the noise for one step, by its own name, as an exact text."""
        if self.step_eps is not None:
            return "eps_of_step", str(self.step_eps)
        return "alpha_of_step", str(self.step_alpha)

    def sampler(self, timing: Any = "fixed", insecure_rng: object = None) -> Sampler:
        """The exact sampler, on whole steps."""
        level: dict[str, Any] = {"eps": self.step_eps, "alpha": self.step_alpha}
        if self.limits is None:
            return discrete_laplace(**level, timing=timing, insecure_rng=insecure_rng)
        low, high = self.limits
        return truncated_geometric(**level, low=low, high=high, timing=timing, insecure_rng=insecure_rng)

    def errors(self, confidence: float) -> Errors:
        """Before clamping, which only brings numbers closer to the truth."""
        if self.rate == 0:
            return Errors(None, None, None)
        decay, step = math.exp(-self.rate), float(self.step)
        # P(|Z| > q) = 2·λ^(q+1)/(1+λ), E Z² = 2λ/(1-λ)² and E |Z| = 2λ/(1-λ²)
        q = max(0, math.ceil(math.log((1 - confidence) * (1 + decay) / 2) / -self.rate - 1 - 1e-12))
        scale = math.sqrt(2) * math.exp(-self.rate / 2) / -math.expm1(-self.rate)
        mean = 2 * decay / -math.expm1(-2 * self.rate)
        return Errors(step * scale, step * mean, q * self.step)

    def describe(self) -> str:
        """In words."""
        per = f"alpha = {self.step_alpha}" if self.step_eps is None else f"ε = {_short(self.step_eps)}"
        clamped = ""
        if self.limits is not None:
            low, high = (number(limit * self.step) for limit in self.limits)
            clamped = f", clamped to {low} … {high}"
        return f"discrete Laplace noise, {per} for each step of {number(self.step)}{clamped}"


def added_noise(
    scenario: Scenario, table: Statistic, steps: Fraction, absence: bool = False
) -> AddedNoise | None:
    """The noise that [mechanism] asks for on a table of sensitivity `steps`; None for other mechanisms.

    With `absence`, rows may be left out of the table.
    """
    model = scenario.document.mechanism
    assert model is not None
    if model.kind not in ("geometric", "truncated-geometric"):
        return None
    if model.kind == "truncated-geometric" and model.outputs is None:
        if len(table.cells) == 1 and not consecutive(table, scenario.policy):
            return None
        limits: tuple[int, int] | None = table.range(scenario.policy, absence)
    elif model.outputs is not None:
        limits = _steps_of(model.outputs, table.step)
    else:
        limits = None
    if model.eps is not None:
        eps = finite_eps(model.eps)
        per_step = eps / steps if steps else eps
        charged = eps if steps else Fraction(0)  # one record moves nothing
        return AddedNoise(charged, per_step, None, table.step, limits, model.kind)
    alpha = exact_alpha(model.alpha)
    if table.step.denominator != 1:
        raise FileError(
            f"mechanism.alpha is for one unit of the answer, but answers are multiples of {table.step}; give "
            "eps instead"
        )
    per_step_alpha = Fraction(alpha**table.step.numerator)
    eps = rounded_up(-log_fraction(per_step_alpha) * float(steps)) if alpha != 1 else Fraction(0)
    return AddedNoise(eps, None, per_step_alpha, table.step, limits, model.kind)


def finite_eps(value: float) -> Fraction:
    """The file's eps, as written; infinite ones are refused."""
    if not math.isfinite(value):
        raise FileError("mechanism.eps is infinite: the data itself would be released; give a finite eps")
    return amount(value, "mechanism.eps")


def exact_alpha(given: object) -> Fraction:
    """The file's alpha, as written; 0 would release the data itself."""
    rule = f"a release needs a number from {float(LEAST_ALPHA):g} to 1"
    try:
        alpha = as_fraction(str(given) if isinstance(given, float) else given)
    except ValueError:
        raise FileError(f"mechanism.alpha is {brief(given)}; {rule}") from None
    if not LEAST_ALPHA <= alpha <= 1:
        raise FileError(f"mechanism.alpha is {brief(given)}; {rule}")
    return alpha


def rounded_up(eps: float) -> Fraction:
    """A fraction that is certainly not below an ε computed in floating point.

    >>> rounded_up(math.log(3)), float(rounded_up(math.log1p(1e-5)))
    (Fraction(1098612289, 1000000000), 9.99995001e-06)
    """
    if not math.isfinite(eps):
        raise MechanismError("no ε is large enough for this mechanism: it rules values out with certainty")
    if eps <= 0:
        return Fraction(0)
    scale = 10 ** (CHARGED_DIGITS + max(0, -math.floor(math.log10(eps)) - 1))
    return Fraction(math.ceil(Fraction(eps * (1 + ROUNDING_MARGIN)) * scale), scale)


def _steps_of(outputs: Sequence[int], step: Fraction) -> tuple[int, int]:
    low, high = Fraction(min(outputs)) / step, Fraction(max(outputs)) / step
    if low.denominator != 1 or high.denominator != 1:
        raise FileError(f"mechanism.outputs: {min(outputs)} and {max(outputs)} must be multiples of {step}")
    return int(low), int(high)


def _short(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 12 else number(value)


# ── The file's channel as an exact sampler: one label goes to another ───────────────────────────────────────
# Randomised response and geometric noise have samplers of their own. Any other finite channel is drawn from
# its rows as fractions; one given in floats is rounded to fractions first, and the ε that is charged is the
# one these fractions really have.
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
