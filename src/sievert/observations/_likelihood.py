"""What every view of one record answers, whatever the noise: guesses, gains, and releases within a limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import NoiseChannel
from sievert.measures import GainFunction, gains
from sievert.observations._contribution_classes import RecordGain, SimulatedVulnerability
from sievert.observations._record_repeats import MOST_RELEASES, ReleasesWithin, RepeatedGuess

__all__ = ["RecordLikelihood"]


@dataclass(frozen=True, eq=False)
class RecordLikelihood(ABC):
    """What releases tell about one record.

    Attributes
    ----------
    noise : what is added
    belief : about the record's value before any release, in the order of the policy's values
    """

    noise: NoiseChannel
    belief: FloatArray

    @property
    @abstractmethod
    def is_cut(self) -> bool:
        """Whether clamping hides some of the noise, so that what is known of the law is only a bound."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """The best guess after infinitely many releases."""

    @abstractmethod
    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess after independent releases from the same data."""

    @abstractmethod
    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """What an adversary gains after independent releases from the same data."""

    @abstractmethod
    def simulated(
        self,
        releases: int = 1,
        rng: int | np.random.Generator | None = None,
        samples: int | None = None,
        adversary: GainFunction | None = None,
        share: int = 1,
    ) -> SimulatedVulnerability:
        """The gain by simulation, with its interval: an estimate beside a bound, never one itself.

        Parameters
        ----------
        releases : how many
        rng : seed of the simulation
        samples : records that are drawn; by default as many as take about a second, divided by `share`
        adversary : by default the guess in one try
        share : the part of the work, and of the risk that the interval misses the gain
        """

    @abstractmethod
    def affinity(self, first: int, second: int) -> float:
        """ln Σ_y √(p(y | v)·p(y | w)) for two values by their positions."""

    @cached_property
    def identity(self) -> GainFunction:
        """To guess the value in one try."""
        return gains.identity(len(self.belief))

    @property
    def before(self) -> float:
        """The best guess without a release."""
        return float(self.belief.max())

    def releases_within(self, limit: float, most: int = MOST_RELEASES) -> ReleasesWithin:
        """How many releases certainly keep the best guess within a limit, up to `most`."""
        # A limit is not exceeded by the last few digits.
        allowed = limit * (1 + 1e-9)
        if self.limit <= allowed:
            return ReleasesWithin(limit, None, True)
        if self.before > allowed:
            return ReleasesWithin(limit, 0, True)
        return _last_within(self.guess, limit, allowed, most)


def _last_within(
    guess: Callable[[int], RepeatedGuess], limit: float, allowed: float, most: int
) -> ReleasesWithin:
    """The last number of releases whose guess is allowed, by doubling and halving."""
    low, high = 0, 1
    while (found := guess(high)).guess <= allowed:
        if high >= most:
            return ReleasesWithin(limit, most, False)
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        tried = guess(middle)
        if tried.guess <= allowed:
            low = middle
        else:
            high, found = middle, tried
    return ReleasesWithin(limit, low, found.exact)
