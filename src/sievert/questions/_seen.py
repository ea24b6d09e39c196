"""How questions see the mechanism of a file: through the list of its answers, or as noise without one.

Every question asks the same things: the true ε, whether the promise is kept, how well one record is guessed
now and after many releases, and what the whole database gives away. A list answers by looking at its entries.
Noise that is the same everywhere answers by closed forms, whatever the number of answers: ε by the
sensitivity, with a certificate that is verified here, and guesses by what one record shows through the noise.
"""

from __future__ import annotations

from functools import singledispatch

from sievert.channels import Channel, JointNoise, NoiseChannel, TableNoise
from sievert.files import PolicyScenario, table_noise
from sievert.questions._seen_base import SEED, SHARE, Analysis, belief_of
from sievert.questions._seen_listed import MatrixAnalysis
from sievert.questions._seen_noise import JointNoiseAnalysis, NoiseAnalysis, TableNoiseAnalysis

__all__ = ["SEED", "SHARE", "Analysis", "NoiseAnalysis", "analysis_of", "belief_of", "table_noise_analysis"]


def analysis_of(scenario: PolicyScenario) -> Analysis:
    """How to see the mechanism of a file; the file keeps the view, and the view what was found."""
    if "view" not in scenario.kept:
        scenario.kept["view"] = _seen(scenario.channel, scenario)
    view: Analysis = scenario.kept["view"]
    return view


@singledispatch
def _seen(channel: Channel, scenario: PolicyScenario) -> Analysis:
    return MatrixAnalysis(scenario)


@_seen.register
def _without_list(channel: NoiseChannel, scenario: PolicyScenario) -> Analysis:
    return NoiseAnalysis(scenario, channel)


@_seen.register
def _on_several(channel: JointNoise, scenario: PolicyScenario) -> Analysis:
    return JointNoiseAnalysis(scenario, channel)


@_seen.register
def _on_table(channel: TableNoise, scenario: PolicyScenario) -> Analysis:
    return TableNoiseAnalysis(scenario, channel)


def table_noise_analysis(view: Analysis) -> Analysis | None:
    """A mechanism with a list seen as noise on one record; None where it is no such noise."""
    noise = table_noise(view.scenario)
    if not isinstance(view, MatrixAnalysis) or view._view is None or not isinstance(noise, TableNoise):
        return None
    return TableNoiseAnalysis(view.scenario, noise)
