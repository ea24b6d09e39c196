"""Geometric noise on the integers: unbounded, truncated, over-truncated, and on irregular points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel, EpsilonOrAlpha, geometric_log_tail, require_dense, sample_geometric
from sievert.errors import ChannelError, MechanismError
from sievert.mechanisms._family import inputs_of, privacy
from sievert.mechanisms._truncated import TruncatedGeometricChannel
from sievert.numerics import (
    abbreviated,
    as_fraction,
    fractions_of,
    generator_of,
    is_whole,
    require_float,
    require_size,
)
from sievert.sampling import (
    BitSource,
    ChannelSampler,
    ClampedGeometric,
    DiscreteLaplace,
    NoisyInputs,
    Sampler,
    Timing,
    TruncatedGeometricSampler,
    exact_sampler,
    irregular_geometric,
    ratio,
    ratio_of,
)
from sievert.spaces import labels_or_range, listed, shown

__all__ = ["GeometricChannel", "IrregularGeometricChannel", "geometric", "truncated_geometric"]
# Simulated noise stays within 64-bit integers; it gets this far only for eps below 1e-16.
FURTHEST = 2.0**62
# Of exact probabilities together; 100 MB.
MOST_BITS = 800_000_000


def truncated_geometric(
    n: int | Iterable[float] | None = None,
    eps: float | None = None,
    *,
    alpha: object = None,
    points: Sequence[float] | None = None,
    outputs: Iterable[int] | None = None,
) -> Channel:
    """Geometric noise clamped to the range of the inputs 0…n-1; the distance of inputs is eps·|x - x'|.

    Parameters
    ----------
    n : number of inputs
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha gives an exact channel
    points : sorted positions of the inputs, if they are not 0…n-1 (the irregular geometric kernel)
    outputs : consecutive integers to which the noisy value is clamped instead (over-truncation when
        they do not cover the inputs)

    Returns
    -------
    Channel
        On the inputs, or onto the given outputs.

    Notes
    -----
    Cost: O(n); a matrix is made when one asks for it, O(n²).

    Examples
    --------
    >>> truncated_geometric(3, alpha="1/2").exact[1].tolist()
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    level = privacy(eps, alpha)
    positions = _positions(n, points)
    if outputs is not None:
        return _clamped(_integers(positions, "points"), _consecutive(outputs), level)
    return _kernel(positions, level)


def geometric(
    n: int | Iterable[float] | None = None,
    eps: float | None = None,
    *,
    alpha: object = None,
    points: Sequence[float] | None = None,
    outputs: Iterable[int] | None = None,
) -> Channel:
    """Geometric noise on all integers: P(y | x) = (1-alpha)/(1+alpha)·alpha^|x-y|.

    The result has infinitely many outputs; `.finite()` is the equivalent channel with finitely many, in
    which every y ≤ min and every y ≥ max of the inputs is one output.

    Parameters
    ----------
    n : number of inputs 0…n-1
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha gives an exact channel
    points : the integers that are the inputs, if they are not 0…n-1
    outputs : consecutive integers to which the noisy value is clamped

    Returns
    -------
    Channel
        With all integers as outputs, or with the given ones.

    Notes
    -----
    Cost: O(n); a matrix is made when one asks for it, O(n²).

    References
    ----------
    Fernandes, Lem 4.15.

    Examples
    --------
    >>> noise = geometric(3, alpha="1/2")
    >>> noise.probability(0, -2), noise.finite().outputs
    (Fraction(1, 12), ('≤ 0', 1, '≥ 2'))
    """
    level = privacy(eps, alpha)
    positions = _integers(_positions(n, points), "points")
    if outputs is not None:
        return _clamped(positions, _consecutive(outputs), level)
    if level.eps == 0:
        raise MechanismError(
            "eps is 0; geometric noise on all integers needs eps > 0 (no uniform distribution there)"
        )
    return GeometricChannel(positions, level)


class GeometricChannel(Channel):
    """Geometric noise on all integers, kept symbolic.

    Every measure, and every product with a vector, is that of the equivalent finite channel; only `sample`
    and `probability` speak of single integers.
    """

    def __init__(self, positions: list[int], level: EpsilonOrAlpha) -> None:
        self.level = level
        consecutive = range(positions[0], positions[-1] + 1) if _is_consecutive(positions) else positions
        self.inputs = labels_or_range(consecutive, len(positions), "points", MechanismError)
        self.form = "log" if level.alpha is None and len(positions) > 1 else "exact"
        self._cache = {}

    def finite(self) -> Channel:
        """The equivalent channel with outputs "≤ min", …, "≥ max"."""
        if "finite" not in self._cache:
            self._cache["finite"] = _equivalent(list(self.inputs), self.level)  # type: ignore[arg-type]
        found: Channel = self._cache["finite"]
        return found

    @property
    def listed_outputs(self) -> None:
        """None: there are infinitely many."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """Refused: there are infinitely many outputs."""
        raise _infinite()

    def __getattr__(self, name: str) -> Never:
        raise _infinite() if name in ("_data", "outputs") else AttributeError(name)

    def row(self, item: object) -> FloatArray:
        """Distribution of one input over the outputs of `.finite()`; `probability` has single integers."""
        return self.finite().row(item)

    def matvec(self, vector: Any) -> FloatArray:
        """C·v for a vector over the outputs of `.finite()`."""
        return self.finite().matvec(vector)

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C over the outputs of `.finite()`."""
        return self.finite().rmatvec(vector)

    def probability(self, x: int, y: int) -> Fraction | float:
        """Probability of output y for input x."""
        self.input_index(x)
        alpha = self.level.alpha
        if alpha is not None:
            return (1 - alpha) / (1 + alpha) * alpha ** abs(y - x)
        return math.tanh(self.level.eps / 2) * math.exp(-self.level.eps * abs(y - x))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs (floating point; not for private releases)."""
        generator = generator_of(rng)
        values = np.array(self.inputs, dtype=np.int64)[self.input_indices(xs)]
        noise = np.clip(sample_geometric(generator, self.level.eps, len(values)), -FURTHEST, FURTHEST)
        return np.asarray(values + noise.astype(np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Inputs and parameter as plain data."""
        alpha = None if self.level.alpha is None else str(self.level.alpha)
        return {"form": "geometric", "inputs": list(self.inputs), "eps": self.level.eps, "alpha": alpha}

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"

    def __repr__(self) -> str:
        return f"Channel({len(self.inputs)} inputs, all integers as outputs, {self.form})"


@exact_sampler.register
def _on_all_integers(channel: GeometricChannel, timing: Timing, source: BitSource) -> Sampler:
    return NoisyInputs(channel, DiscreteLaplace(ratio_of(channel.level), timing, source))


def _infinite() -> ChannelError:
    return ChannelError(
        "a geometric channel has infinitely many outputs; use .finite() for an equivalent channel, or "
        ".probability(x, y) for one entry"
    )


def _positions(n: int | Iterable[float] | None, points: Sequence[float] | None) -> list[Any]:
    positions: list[Any]
    if points is None:
        if n is None:
            raise MechanismError("n is missing; give the number of inputs, or points")
        positions = list(listed(inputs_of(n), "inputs"))
    else:
        positions = list(listed(inputs_of(points, "points"), "points"))
        if n is not None and (not is_whole(n) or n != len(positions)):
            raise MechanismError(
                f"n is {abbreviated(n)} but points has {len(positions)} entries; give one of them"
            )
    for value in positions:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | Fraction)
            or not -math.inf < value < math.inf
        ):
            raise MechanismError(f"points: {abbreviated(value)} is not a finite number")
        require_float("points", value, MechanismError)
    for a, b in pairwise(positions):
        if a >= b:
            raise MechanismError(
                f"points: {abbreviated(b)} comes after {abbreviated(a)}; points must increase"
            )
    return positions


def _integers(values: Iterable[Any], argument: str) -> list[int]:
    items = list(values)
    for value in items:
        try:
            whole = not isinstance(value, bool | str) and value == int(value)
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise MechanismError(
                f"{argument}: {abbreviated(value)} is not an integer; noise on the integers needs integers"
            )
    return [int(value) for value in items]


def _consecutive(outputs: Iterable[int]) -> list[int]:
    labels = _integers(listed(inputs_of(outputs, "outputs"), "outputs"), "outputs")
    if not labels or labels != list(range(labels[0], labels[0] + len(labels))):
        raise MechanismError(
            f"outputs is {shown(labels) or 'empty'}; it must be consecutive integers in increasing order"
        )
    return labels


def _is_consecutive(positions: Sequence[Any]) -> bool:
    """Whether the positions are integers without gaps."""
    low, high = positions[0], positions[-1]
    return all(isinstance(value, int) for value in positions) and high - low == len(positions) - 1


def _kernel(positions: Sequence[Any], level: EpsilonOrAlpha) -> Channel:
    """c_y·e^(-eps·|x-y|) on any increasing points; on 0…n-1 the truncated geometric."""
    if len(positions) > 1 and _is_consecutive(positions):
        return TruncatedGeometricChannel(len(positions), level, range(positions[0], positions[-1] + 1))
    return IrregularGeometricChannel(positions, level)


class IrregularGeometricChannel(Channel):
    """c_y·e^(-eps·|x-y|) on increasing points that are not consecutive integers."""

    def __init__(self, points: Sequence[Any], level: EpsilonOrAlpha) -> None:
        require_dense(len(points), len(points), "the truncated geometric mechanism")
        self.level = level
        whole = all((Fraction(b) - Fraction(a)).denominator == 1 for a, b in pairwise(points))
        if len(points) == 1:
            self._set(fractions_of([[1]]), "exact", points, points)
            return
        if level.alpha is not None and (whole or level.alpha in (0, 1)):
            self._set(_exact_kernel(points, level.alpha), "exact", points, points)
            return
        # tanh(eps·gap/2), with 1 beyond both ends; the weight of a point is the mean of its two sides'.
        gaps = np.diff(np.array(points, dtype=np.float64))
        tanh = np.concatenate([[1.0], np.tanh(level.eps * gaps / 2), [1.0]])
        weights = np.log((tanh[:-1] + tanh[1:]) / 2)
        self._set(self._exponents(points) + weights, "log", points, points)

    def _exponents(self, points: Sequence[Any]) -> FloatArray:
        places = np.array(points, dtype=np.float64)
        return np.asarray(-self.level.eps * np.abs(np.subtract.outer(places, places)))

    def _relative_entries(self) -> FloatArray:
        """-ε times the distance."""
        return self._exponents(self.inputs) if self.form == "log" else super()._relative_entries()


@exact_sampler.register
def _on_points(channel: IrregularGeometricChannel, timing: Timing, source: BitSource) -> Sampler:
    """Points at one distance from the next are as good as consecutive integers, of that ε."""
    points = [as_fraction(str(point)) for point in channel.inputs]
    gaps = {b - a for a, b in pairwise(points)}
    name, value = channel.level.written
    gap = next(iter(gaps), Fraction(1)) if len(gaps) <= 1 else None
    if gap is not None and (name == "eps" or gap.denominator == 1):
        level = ratio(value * gap, None) if name == "eps" else ratio(None, value ** int(gap))
        return ChannelSampler(channel, TruncatedGeometricSampler(level, 0, len(points) - 1, timing, source))
    drawn = irregular_geometric(points, timing=timing, insecure_rng=source, **{name: value})
    return ChannelSampler(channel, drawn)


def _exact_kernel(positions: Sequence[Any], alpha: Fraction) -> NDArray[np.object_]:
    """The kernel in fractions; each power of alpha and each product with a weight is computed once."""
    places = [Fraction(position) for position in positions]
    distances, index = _distinct_distances(places, places, alpha)
    # 0^0 = 1, so alpha = 0 is the identity channel; alpha is 0 or 1 where a distance is not an integer.
    powers = _objects([_power(alpha, distance) for distance in distances])
    gap = [powers[index[i, i + 1]] for i in range(len(places) - 1)]
    tanh = [Fraction(1), *((1 - power) / (1 + power) for power in gap), Fraction(1)]
    weights = _objects([(a + b) / 2 for a, b in pairwise(tanh)])
    data = np.empty(index.shape, dtype=object)
    for weight in set(weights.tolist()):
        columns = np.flatnonzero(weights == weight)
        data[:, columns] = (powers * weight)[index[:, columns]]
    return data


def _distinct_distances(
    first: Sequence[Any], second: Sequence[Any], alpha: Fraction
) -> tuple[list[Fraction], NDArray[np.intp]]:
    """The different values of |x - y|, and which one each pair has; alpha to the power of each is affordable.

    alpha^d has d times the digits of alpha.
    """
    both = (first, second)
    whole = all(isinstance(value, int) for side in both for value in side)
    scale = 1 if whole else math.lcm(*(Fraction(value).denominator for side in both for value in side))
    places = both if whole else [[int(Fraction(value) * scale) for value in side] for side in both]
    far = max(abs(place) for side in places for place in side) >= 2**62
    left, right = (np.array(side, dtype=object if far else np.int64) for side in places)
    table = np.abs(np.subtract.outer(left, right))
    distinct, inverse = np.unique(table, return_inverse=True)
    if alpha not in (0, 1):
        bits = int(distinct.astype(object).sum()) // scale * alpha.denominator.bit_length()
        require_size(bits, MOST_BITS, "the bits of the exact probabilities", "give eps instead of alpha")
    return [Fraction(int(value), scale) for value in distinct], inverse.reshape(table.shape)


def _power(alpha: Fraction, distance: Fraction) -> Fraction:
    if alpha in (0, 1):
        return Fraction(1) if alpha == 1 or distance == 0 else Fraction(0)
    return alpha ** int(distance)


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _clamped(inputs: list[int], outputs: list[int], level: EpsilonOrAlpha) -> Channel:
    """Noise on all integers, then everything left (right) of the outputs moved to the first (last)."""
    require_dense(len(inputs), len(outputs), "the clamped geometric mechanism")
    if len(outputs) == 1:
        return Channel([[1]] * len(inputs), inputs, outputs)
    if level.alpha is not None:
        return _exact_clamped(inputs, outputs, level.alpha)
    return ClampedGeometricChannel(inputs, outputs, level)


class ClampedGeometricChannel(Channel):
    """Noise of any ε on all integers, clamped to consecutive outputs; in logarithms."""

    def __init__(self, inputs: list[int], outputs: list[int], level: EpsilonOrAlpha) -> None:
        self.level = level
        offsets = np.subtract.outer(np.array(outputs, float), np.array(inputs, float)).T
        eps = level.eps
        logs = math.log(math.tanh(eps / 2)) - eps * np.abs(offsets)
        logs[:, -1] = geometric_log_tail(offsets[:, -1], eps)
        logs[:, 0] = geometric_log_tail(-offsets[:, 0], eps)
        self._set(logs, "log", inputs, outputs)


@exact_sampler.register
def _on_outputs(channel: ClampedGeometricChannel, timing: Timing, source: BitSource) -> Sampler:
    inputs, outputs = (list(side) for side in (channel.inputs, channel.outputs))
    ends: Any = (outputs[0], outputs[-1])
    positions = ClampedGeometric(inputs, ends, ratio_of(channel.level), timing, source)  # type: ignore[arg-type]
    return ChannelSampler(channel, positions)


def _exact_clamped(inputs: list[int], outputs: list[int], alpha: Fraction) -> Channel:
    def tail(k: int) -> Fraction:
        if k >= 0:
            return Fraction(alpha**k / (1 + alpha))
        return 1 - alpha ** (1 - k) / (1 + alpha)

    distances, index = _distinct_distances(inputs, outputs, alpha)
    inner = (1 - alpha) / (1 + alpha)
    data = _objects([inner * alpha ** int(distance) for distance in distances])[index]
    data[:, 0] = [tail(x - outputs[0]) for x in inputs]
    data[:, -1] = [tail(outputs[-1] - x) for x in inputs]
    return Channel.trusted(data, "exact", inputs, outputs)


def _equivalent(positions: list[int], level: EpsilonOrAlpha) -> Channel:
    """The unbounded geometric with all outputs beyond the inputs merged into one at either end."""
    low, high = positions[0], positions[-1]
    if low == high:
        return Channel([[1]], positions, ["any integer"])
    if not _is_consecutive(positions):
        require_dense(len(positions), high - low + 1, "the equivalent finite channel")
    names = [f"≤ {low}", *range(low + 1, high), f"≥ {high}"]
    if _is_consecutive(positions):
        return TruncatedGeometricChannel(len(positions), level, range(low, high + 1), names)
    clamped = _clamped(positions, list(range(low, high + 1)), level)
    return Channel.trusted(clamped.entries, clamped.form, positions, names)
