"""The exact sampler of a channel, by its structure where it has one and by its rational rows otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.channels import (
    Channel,
    ConvolutionChannel,
    CyclicChannel,
    DeterministicChannel,
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    JointNoise,
    NoiseLaw,
    PlanarNoise,
    ProductChannel,
    QuantileNoise,
    ResponseChannel,
    StaircaseLaw,
    TableNoise,
    as_channel,
    label_array,
)
from sievert.errors import MechanismError
from sievert.sampling._base import BitSource, NoiseSampler, Sampler, Timing, bit_source, integers
from sievert.sampling._geometric import TruncatedGeometricSampler
from sievert.sampling._laplace import DiscreteLaplace
from sievert.sampling._lattice import PlanarGeometricSampler, discrete_gaussian, planar_geometric
from sievert.sampling._lazy import Ratio, ratio
from sievert.sampling._response import RandomisedResponseSampler
from sievert.sampling._rows import RationalRows
from sievert.sampling._scores import ScoreSampler
from sievert.sampling._staircase import StaircaseSampler

__all__ = ["ChannelSampler", "NoisyInputs", "exact_sampler", "for_channel", "ratio_of"]


def for_channel(channel: Channel, *, timing: Timing = "fixed", insecure_rng: object = None) -> Sampler:
    """The exact sampler of a channel: labelled inputs in, labelled outputs out.

    Channels with rational entries have one, and so do the families with a rational ε, and noise without a
    list: the cells of a table in steps, or places by row and column. Others, known only by floats, are
    refused: their reference sampler is `floats.of_channel`.

    Parameters
    ----------
    channel : Channel
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: that of the sampler of its family; of rational rows O(inputs·outputs) for setting up.

    Examples
    --------
    >>> from sievert.channels._channel import Channel
    >>> warner = Channel([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["yes", "no"], outputs=["yes", "no"])
    >>> for_channel(warner, insecure_rng=2).draw(["yes", "no", "no"]).tolist()
    ['yes', 'no', 'yes']
    """
    return exact_sampler(as_channel(channel), timing, bit_source(insecure_rng))


def ratio_of(level: EpsilonOrAlpha) -> Ratio:
    """What an exact sampler needs of a level: the parameter that was given, as it was written."""
    name, value = level.written
    return ratio(value, None) if name == "eps" else ratio(None, value)


@singledispatch
def exact_sampler(channel: Channel, timing: Timing, source: BitSource) -> Sampler:
    """The exact sampler of a channel's form; a family registers its own beside its class.

    Any other channel is drawn from its rows of fractions.
    """
    exact = channel.exact
    if exact is None:
        raise MechanismError(
            f"channel is {channel!r}, known only by floats; an exact release needs rational entries (alpha "
            'instead of eps, or fractions such as "1/3"), or sampler = "float"'
        )
    return ChannelSampler(channel, RationalRows(exact, timing, source))


@exact_sampler.register
def _of_response(channel: ResponseChannel, timing: Timing, source: BitSource) -> Sampler:
    positions = RandomisedResponseSampler(channel.shape[0], ratio_of(channel.level), timing, source)
    return ChannelSampler(channel, positions)


@exact_sampler.register
def _of_function(channel: DeterministicChannel, timing: Timing, source: BitSource) -> Sampler:
    return ChannelSampler(channel, Images(channel, timing, source))


@exact_sampler.register
def _of_sum(channel: ConvolutionChannel, timing: Timing, source: BitSource) -> Sampler:
    return _shifted(channel, None, timing, source)


@exact_sampler.register
def _of_turn(channel: CyclicChannel, timing: Timing, source: BitSource) -> Sampler:
    return _shifted(channel, channel.shape[0], timing, source)


def _shifted(
    channel: ConvolutionChannel | CyclicChannel, cycle: int | None, timing: Timing, source: BitSource
) -> Sampler:
    kernel = channel.noise.exact
    if kernel is None:
        return exact_sampler.dispatch(Channel)(channel, timing, source)
    return ChannelSampler(channel, Shifted(kernel, cycle, timing, source))


@exact_sampler.register
def _of_product(channel: ProductChannel, timing: Timing, source: BitSource) -> Sampler:
    return ProductSampler(channel, timing, source)


@exact_sampler.register
def _of_table(channel: TableNoise, timing: Timing, source: BitSource) -> Sampler:
    """Cells of tables in steps, each with noise of its own."""
    return law_sampler(channel.law, channel.limits, timing, source)


@singledispatch
def law_sampler(law: NoiseLaw, limits: tuple[int, int] | None, timing: Timing, source: BitSource) -> Sampler:
    """The exact sampler of a law of noise, clamped to the limits where there are some."""
    raise MechanismError(f"{law.words()} has no exact sampler; use another mechanism")


@law_sampler.register
def _of_geometric(
    law: GeometricLaw, limits: tuple[int, int] | None, timing: Timing, source: BitSource
) -> Sampler:
    level = ratio_of(law.level)
    if limits is None:
        return DiscreteLaplace(level, timing, source)
    return TruncatedGeometricSampler(level, *limits, timing, source)


@law_sampler.register
def _of_gaussian(
    law: GaussianLaw, limits: tuple[int, int] | None, timing: Timing, source: BitSource
) -> Sampler:
    noise = discrete_gaussian(variance=law.variance, timing=timing, insecure_rng=source)
    return noise if limits is None else ClampedNoise(noise, *limits)


@law_sampler.register
def _of_stairs(
    law: StaircaseLaw, limits: tuple[int, int] | None, timing: Timing, source: BitSource
) -> Sampler:
    noise = StaircaseSampler(law, timing, source)
    return noise if limits is None else ClampedNoise(noise, *limits)


class ClampedNoise(Sampler):
    """Integers plus noise, then everything beyond the limits moved to them."""

    def __init__(self, noise: NoiseSampler, low: int, high: int) -> None:
        super().__init__(noise.timing, noise.source)
        self.noise_sampler, self.low, self.high = noise, low, high
        self.kind = f"clamped {noise.kind}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self.noise_sampler.parameters, "low": self.low, "high": self.high}

    def draw(self, inputs: Any) -> IntArray:
        """Integers plus noise, clamped."""
        values = integers(inputs)
        noisy = self.noise_sampler.noise(len(values))  # before any input is added
        noisy += values
        return np.clip(noisy, self.low, self.high, out=noisy)


@exact_sampler.register
def _of_quantile(channel: QuantileNoise, timing: Timing, source: BitSource) -> Sampler:
    return QuantileSampler(channel, timing, source)


@exact_sampler.register
def _of_several(channel: JointNoise, timing: Timing, source: BitSource) -> Sampler:
    return SeveralSampler(channel, timing, source)


class QuantileSampler(Sampler):
    """A point of the grid, for a table of how many records have each position on it."""

    def __init__(self, channel: QuantileNoise, timing: Timing, source: BitSource) -> None:
        super().__init__(timing, source)
        self.channel, self._points = channel, ScoreSampler(channel.level, timing, source)
        self.kind = self._points.kind

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self._points.parameters, "points": len(self.channel.order.grid)}

    def draw(self, inputs: Any) -> IntArray:
        """The place of the chosen point on the grid."""
        return self._points.draw(self.channel.order.scores(integers(inputs, 0)))


class SeveralSampler(Sampler):
    """Several tables, each with noise of its own: a list of tables in and out."""

    kind = "several tables"

    def __init__(self, channel: JointNoise, timing: Timing, source: BitSource) -> None:
        super().__init__(timing, source)
        self.names = channel.names
        self.parts = [exact_sampler(part, timing, source) for part in channel.parts]

    @property
    def parameters(self) -> dict[str, Any]:
        rows = zip(self.names, self.parts, strict=True)
        return {"tables": [{"name": name, "kind": part.kind, **part.parameters} for name, part in rows]}

    def draw(self, inputs: Any) -> Any:
        """The noisy table, or the place of a quantile, for each exact table."""
        return [part.draw(table) for part, table in zip(self.parts, inputs, strict=True)]


@exact_sampler.register
def _of_plane(channel: PlanarNoise, timing: Timing, source: BitSource) -> Sampler:
    return PlanarCells(channel, timing, source)


class ChannelSampler(Sampler):
    """A channel's labels around a sampler of positions."""

    def __init__(self, channel: Channel, positions: Sampler) -> None:
        super().__init__(positions.timing, positions.source)
        self.channel, self.positions = channel, positions
        self.kind, self.exact = positions.kind, positions.exact
        self._first, self._start = _consecutive(channel.inputs), _consecutive(channel.outputs)
        self._outputs = label_array(channel.outputs) if self._start is None else None

    @property
    def parameters(self) -> dict[str, Any]:
        return self.positions.parameters

    def draw(self, inputs: Any) -> NDArray[Any]:
        """One labelled output for each labelled input."""
        drawn = self.positions.draw(self._positions(inputs))
        if self._outputs is not None:
            return np.asarray(self._outputs[drawn])
        return drawn + self._start if self._start else drawn

    def draw_positions(self, inputs: Any) -> NDArray[Any]:
        """One output position for each input position."""
        return self.positions.draw(inputs)

    def _positions(self, inputs: Any) -> NDArray[Any]:
        """Positions of the inputs; whole numbers in a row need no look-up."""
        whole = isinstance(inputs, np.ndarray) and inputs.ndim == 1 and inputs.dtype.kind in "iu"
        if not whole or self._first is None or not inputs.size:
            return self.channel.input_indices(inputs)
        last = self._first + self.channel.shape[0] - 1
        if int(inputs.min()) < self._first or int(inputs.max()) > last:
            return self.channel.input_indices(inputs)
        return np.asarray(inputs - self._first if self._first else inputs)


def _consecutive(labels: Sequence[Any]) -> int | None:
    """The first of labels that are whole numbers in a row, else None."""
    if isinstance(labels, range) and labels.step == 1:
        return labels.start
    if not labels or type(labels[0]) is not int or labels[-1] != labels[0] + len(labels) - 1:
        return None
    in_a_row = all(type(label) is int and label == k for k, label in enumerate(labels, labels[0]))
    return labels[0] if in_a_row else None


class NoisyInputs(Sampler):
    """Integer inputs of a channel plus noise on all integers."""

    def __init__(self, channel: Channel, noise: NoiseSampler) -> None:
        super().__init__(noise.timing, noise.source)
        self.channel, self.noise_sampler = channel, noise
        self.kind = noise.kind

    @property
    def parameters(self) -> dict[str, Any]:
        return self.noise_sampler.parameters

    def draw(self, inputs: Any) -> NDArray[Any]:
        """One integer for each labelled input."""
        positions = self.channel.input_indices(inputs)
        return self.noise_sampler.draw(np.array(self.channel.inputs, dtype=np.int64)[positions])


class ProductSampler(Sampler):
    """Independent channels side by side: an array [draws, records] in and out."""

    kind = "product of channels"

    def __init__(self, channel: ProductChannel, timing: Timing, source: BitSource) -> None:
        super().__init__(timing, source)
        self.channel = channel
        self._parts = [
            (for_channel(drawn, timing=timing, insecure_rng=source), count)
            for drawn, (_, count) in zip(channel.drawn, channel.factors, strict=True)
        ]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"records": [{"count": count, **part.to_dict()} for part, count in self._parts]}

    def draw(self, inputs: Any) -> NDArray[Any]:
        """One row of labelled outputs for each row of labelled inputs."""
        table = inputs if isinstance(inputs, np.ndarray) else np.array(list(inputs), dtype=object)
        if table.ndim != 2 or table.shape[1] != self.channel.records:
            raise MechanismError(
                f"inputs has shape {table.shape}; it must be [draws, {self.channel.records}], one row a draw"
            )
        columns, start = [], 0
        for part, count in self._parts:
            piece = table[:, start : start + count]
            columns.append(part.draw(piece.ravel()).reshape(piece.shape))
            start += count
        mixed = len({column.dtype.kind for column in columns}) > 1
        return np.concatenate(columns, axis=1, dtype=object if mixed else None)


class Images(Sampler):
    """A function of the input; nothing is random."""

    kind = "deterministic"

    def __init__(self, channel: DeterministicChannel, timing: Timing, source: BitSource) -> None:
        super().__init__(timing, source)
        self._images = channel.images

    @property
    def parameters(self) -> dict[str, Any]:
        return {"inputs": len(self._images)}

    def draw(self, inputs: Any) -> NDArray[Any]:
        """Output positions."""
        return np.asarray(self._images[inputs])


class Shifted(Sampler):
    """Input plus rational noise on the integers, or around a cycle."""

    kind = "input plus noise"

    def __init__(
        self, kernel: NDArray[np.object_], cycle: int | None, timing: Timing, source: BitSource
    ) -> None:
        super().__init__(timing, source)
        self._noise = RationalRows(kernel, timing, source)
        self._cycle = cycle

    @property
    def parameters(self) -> dict[str, Any]:
        return {"noise_values": self._noise.shape[1], "cycle": self._cycle}

    def draw(self, inputs: Any) -> NDArray[Any]:
        """Output positions for input positions."""
        positions = np.asarray(inputs, dtype=np.int64)
        drawn = positions + self._noise.draw(np.zeros(len(positions), dtype=np.int64))
        return drawn if self._cycle is None else drawn % self._cycle


class PlanarCells(Sampler):
    """Cells of a region plus planar noise, clamped to it: rows and columns, or positions row by row."""

    def __init__(self, channel: PlanarNoise, timing: Timing, source: BitSource) -> None:
        super().__init__(timing, source)
        rows, columns = channel.region.shape
        bounds = ((0, rows - 1), (0, columns - 1))
        self._width = columns
        self._plane: PlanarGeometricSampler = planar_geometric(
            channel.level.exact_eps, bounds=bounds, timing=timing, insecure_rng=source
        )
        self.kind = self._plane.kind

    @property
    def parameters(self) -> dict[str, Any]:
        return self._plane.parameters

    def draw(self, inputs: Any) -> IntArray:
        """A cell [row, column] for each cell."""
        return self._plane.draw(inputs)

    def draw_positions(self, inputs: Any) -> IntArray:
        """A position, row by row, for each position."""
        noisy = self._plane.draw(np.stack(np.divmod(np.asarray(inputs), self._width), axis=1))
        return np.asarray(noisy[:, 0] * self._width + noisy[:, 1])
