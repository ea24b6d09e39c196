"""Which analysis a measurement has: by its list, or by its noise."""

from __future__ import annotations

from functools import singledispatch

from sievert.analysis._analysis import Analysis
from sievert.analysis._matrix import MatrixAnalysis
from sievert.analysis._measurement import Measurement
from sievert.analysis._noise import JointNoiseAnalysis, NoiseAnalysis, TableNoiseAnalysis
from sievert.channels import Channel, JointNoise, NoiseChannel, TableNoise

__all__ = ["analysis_of", "table_noise_analysis"]


def analysis_of(measurement: Measurement) -> Analysis:
    """The analysis of a measurement."""
    return _analysis(measurement.channel, measurement)


@singledispatch
def _analysis(channel: Channel, measurement: Measurement) -> Analysis:
    return MatrixAnalysis(measurement)


@_analysis.register
def _noise(channel: NoiseChannel, measurement: Measurement) -> Analysis:
    return NoiseAnalysis(measurement, channel)


@_analysis.register
def _joint_noise(channel: JointNoise, measurement: Measurement) -> Analysis:
    return JointNoiseAnalysis(measurement, channel)


@_analysis.register
def _table_noise(channel: TableNoise, measurement: Measurement) -> Analysis:
    return TableNoiseAnalysis(measurement, channel)


def table_noise_analysis(analysis: Analysis) -> Analysis | None:
    """A listed mechanism analysed as noise on one record; None where it is no such noise."""
    noise = analysis.measurement.table_noise
    if (
        not isinstance(analysis, MatrixAnalysis)
        or analysis._likelihood is None
        or not isinstance(noise, TableNoise)
    ):
        return None
    return TableNoiseAnalysis(analysis.measurement, noise)
