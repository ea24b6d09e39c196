"""Before two mechanisms are compared for utility: are they equally private, and in which sense?

Noise that depends on distance and noise that does not can agree on one measure of privacy and differ on all
others (Fernandes, Sec 8.4: equal within radius 10, but one leaks more than twice as much to a Bayesian
guesser).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sievert.channels import Channel, epsilon, finite_channel
from sievert.errors import EstimationError
from sievert.measures import capacity
from sievert.numerics import non_negative
from sievert.results import Result
from sievert.spaces import Edges, Metric, align, metric_of, metrics

__all__ = ["Calibration", "PrivacyLevels", "calibration"]

# Two levels that differ by a smaller share are the same calibration.
SAME = 1e-9


@dataclass(frozen=True)
class PrivacyLevels(Result):
    """How private one mechanism is, in three measures.

    Attributes
    ----------
    worst_nats : largest log-likelihood ratio between any two inputs
    within_nats : the same between inputs within the radius
    capacity : how many times likelier a right guess becomes at most (Bayes capacity)
    capacity_bits : log2 of it
    """

    worst_nats: float
    within_nats: float
    capacity: float
    capacity_bits: float

    @property
    def worst_ratio(self) -> float:
        """e^worst_nats."""
        return math.exp(self.worst_nats) if self.worst_nats < 700 else math.inf

    @property
    def within_ratio(self) -> float:
        """e^within_nats."""
        return math.exp(self.within_nats) if self.within_nats < 700 else math.inf


@dataclass(frozen=True)
class Calibration(Result):
    """Two mechanisms side by side; `agrees` names the measures in which they are equally private."""

    first: PrivacyLevels
    second: PrivacyLevels
    radius: float

    @property
    def agrees(self) -> tuple[str, ...]:
        """Among "worst", "within" and "capacity"."""
        pairs = {
            "worst": (self.first.worst_nats, self.second.worst_nats),
            "within": (self.first.within_nats, self.second.within_nats),
            "capacity": (self.first.capacity_bits, self.second.capacity_bits),
        }
        return tuple(name for name, (a, b) in pairs.items() if a == b or abs(a - b) <= SAME * max(a, b))

    def __str__(self) -> str:
        a, b = self.first, self.second
        lines = (
            f"worst-case ratio {a.worst_ratio:.6g} against {b.worst_ratio:.6g}",
            f"ratio within radius {self.radius:g} {a.within_ratio:.6g} against {b.within_ratio:.6g}",
            f"Bayes capacity {a.capacity:.6g} against {b.capacity:.6g}",
        )
        if len(self.agrees) == len(lines):
            verdict = "equally private in all three: utilities can be compared"
        elif self.agrees:
            words = {
                "worst": "in the worst case",
                "within": "within the radius",
                "capacity": "in Bayes capacity",
            }
            verdict = f"equally private only {' and '.join(words[name] for name in self.agrees)}"
        else:
            verdict = "not equally private in any of them: a comparison of utilities says nothing yet"
        return f"{'; '.join(lines)}; {verdict}"


def calibration(first: Channel, second: Channel, metric: Metric, radius: float) -> Calibration:
    """Worst-case ratio, Bayes capacity and ratio within a radius of two mechanisms on the same inputs.

    Parameters
    ----------
    first, second : channels on the same inputs
    metric : Metric on the inputs
    radius : how far apart two inputs may be for the third measure

    Returns
    -------
    Calibration
        What each of them tells by three measures, and by which they agree.

    Notes
    -----
    Cost: O(n²·outputs) for n inputs.

    Examples
    --------
    >>> from sievert.mechanisms._response import randomised_response
    >>> from sievert.mechanisms._geometric import truncated_geometric
    >>> found = calibration(truncated_geometric(3, 0.5), randomised_response(3, 0.5), metrics.line(3), 1)
    >>> found.agrees
    ('within',)
    """
    metric = metric_of(metric)
    first, second = finite_channel(first, "first"), finite_channel(second, "second")
    radius = non_negative("radius", radius, EstimationError, infinite=True)
    for name, channel in (("first", first), ("second", second)):
        align(channel.inputs, metric.points, f"the metric, for {name},", EstimationError)
    close = np.argwhere(np.triu(metric.matrix <= radius, 1))
    neighbours = Metric.from_edges(Edges(close, np.ones(len(close))), metric.points, metric.size)
    return Calibration(_privacy(first, neighbours), _privacy(second, neighbours), float(radius))


def _privacy(channel: Channel, neighbours: Metric) -> PrivacyLevels:
    finite = channel.finite()
    size = finite.shape[0]
    worst = epsilon(finite, metrics.discrete(size)).nats if size > 1 else 0.0
    assert neighbours.edges is not None
    within = epsilon(finite, neighbours).nats if len(neighbours.edges) else 0.0
    guessing = capacity(finite)
    return PrivacyLevels(float(worst), float(within), float(guessing.factor), float(guessing.bits))
