"""Geometric noise on the integers: unbounded, truncated, over-truncated, and on irregular points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import RELATIVE, Channel, require_dense
from sievert.errors import ChannelError, MechanismError
from sievert.mechanisms._family import Privacy, inputs_of, privacy
from sievert.mechanisms._truncated import TruncatedGeometricChannel, two_sided_noise
from sievert.numerics import brief, generator_of, is_whole, require_float, require_size
from sievert.sampling import SAMPLER, BitSource, ClampedGeometric, DiscreteLaplace, IrregularGeometric, Timing
from sievert.spaces import labels_or_range, listed, shown

__all__ = ["GeometricChannel", "geometric", "truncated_geometric"]
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
    which every y ≤ min and every y ≥ max of the inputs is one output (Fernandes, Lem 4.15). With
    `outputs`, the noisy value is clamped to these consecutive integers.

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

    def __init__(self, positions: list[int], level: Privacy) -> None:
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
        values = np.array(self.inputs, dtype=np.int64)[self._indices(xs)]
        noise = np.clip(two_sided_noise(generator, self.level.eps, len(values)), -FURTHEST, FURTHEST)
        return np.asarray(values + noise.astype(np.int64))

    def noise_sampler(self, timing: Timing, source: BitSource) -> DiscreteLaplace:
        """The exact sampler of the noise; see `sampling.for_channel`."""
        return DiscreteLaplace(self.level.ratio(), timing, source)

    def to_dict(self) -> dict[str, Any]:
        """Inputs and parameter as plain data."""
        alpha = None if self.level.alpha is None else str(self.level.alpha)
        return {"form": "geometric", "inputs": list(self.inputs), "eps": self.level.eps, "alpha": alpha}

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"

    def __repr__(self) -> str:
        return f"Channel({len(self.inputs)} inputs, all integers as outputs, {self.form})"


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
            raise MechanismError(f"n is {brief(n)} but points has {len(positions)} entries; give one of them")
    for value in positions:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | Fraction)
            or not -math.inf < value < math.inf
        ):
            raise MechanismError(f"points: {brief(value)} is not a finite number")
        require_float("points", value, MechanismError)
    for a, b in pairwise(positions):
        if a >= b:
            raise MechanismError(f"points: {brief(b)} comes after {brief(a)}; points must increase")
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
                f"{argument}: {brief(value)} is not an integer; noise on the integers needs integers"
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


def _kernel(positions: Sequence[Any], level: Privacy) -> Channel:
    """c_y·e^(-eps·|x-y|) on any increasing points; on 0…n-1 the truncated geometric."""
    if len(positions) == 1:
        return Channel([[1]], positions, positions)
    if _is_consecutive(positions):
        return TruncatedGeometricChannel(len(positions), level, range(positions[0], positions[-1] + 1))
    require_dense(len(positions), len(positions), "the truncated geometric mechanism")
    whole = all((Fraction(b) - Fraction(a)).denominator == 1 for a, b in pairwise(positions))
    if level.alpha is not None and (whole or level.alpha in (0, 1)):
        return _exact_kernel(positions, level.alpha)
    places = np.array(positions, dtype=np.float64)
    # tanh(eps·gap/2), with 1 beyond both ends; the weight of a point is the mean of its two sides'.
    tanh = np.concatenate([[1.0], np.tanh(level.eps * np.diff(places) / 2), [1.0]])
    relative = -level.eps * np.abs(np.subtract.outer(places, places))
    channel = Channel._trusted(relative + np.log((tanh[:-1] + tanh[1:]) / 2), "log", positions, positions)
    channel._cache[RELATIVE] = relative
    points = tuple(Fraction(position) for position in positions)
    channel._cache[SAMPLER] = partial(IrregularGeometric, points, level.ratio())
    return channel


def _exact_kernel(positions: Sequence[Any], alpha: Fraction) -> Channel:
    """As `_kernel`; each power of alpha and each product with a weight is computed once."""
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
    return Channel._trusted(data, "exact", positions, positions)


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


def _clamped(inputs: list[int], outputs: list[int], level: Privacy) -> Channel:
    """Noise on all integers, then everything left (right) of the outputs moved to the first (last)."""
    require_dense(len(inputs), len(outputs), "the clamped geometric mechanism")
    if len(outputs) == 1:
        return Channel([[1]] * len(inputs), inputs, outputs)
    if level.alpha is not None:
        return _exact_clamped(inputs, outputs, level.alpha)
    offsets = np.subtract.outer(np.array(outputs, float), np.array(inputs, float)).T
    eps = level.eps
    logs = math.log(math.tanh(eps / 2)) - eps * np.abs(offsets)
    logs[:, -1] = _log_tail(offsets[:, -1], eps)
    logs[:, 0] = _log_tail(-offsets[:, 0], eps)
    channel = Channel._trusted(logs, "log", inputs, outputs)
    channel._cache[SAMPLER] = partial(ClampedGeometric, inputs, (outputs[0], outputs[-1]), level.ratio())
    return channel


def _log_tail(k: FloatArray, eps: float) -> FloatArray:
    """log P(noise ≥ k): alpha^k/(1+alpha) for k ≥ 0, 1 - alpha^(1-k)/(1+alpha) for k < 0."""
    normaliser = math.log1p(math.exp(-eps))
    upper = -eps * np.maximum(k, 0.0) - normaliser
    lower = np.log1p(-np.exp(-eps * (1 - np.minimum(k, 0.0)) - normaliser))
    return np.where(k >= 0, upper, lower)


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
    return Channel._trusted(data, "exact", inputs, outputs)


def _equivalent(positions: list[int], level: Privacy) -> Channel:
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
    return Channel._trusted(clamped._data, clamped.form, positions, names)
