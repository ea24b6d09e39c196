"""A mechanism whose answers and outputs are listed: all entries are looked at, or the law of its noise."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from sievert.channels import (
    Channel,
    TableNoise,
)
from sievert.errors import TooLargeError
from sievert.files import added_noise
from sievert.measures import (
    Adversary,
    Capacity,
    RecordLeakage,
    capacity,
    record_leakage,
)
from sievert.observations import (
    OneRecord,
    RecordGain,
    ReleasesWithin,
    RepeatedGuess,
    SimulatedGain,
    guess_limit,
    record_gain,
    record_view,
    releases_within,
    repeated_guess,
    simulated_record_gain,
)
from sievert.policies import Answers
from sievert.questions._seen_base import (
    EXACT,
    SEED,
    Seen,
    belief_of,
    bits_of,
    is_narrow,
    largest_guess,
)
from sievert.spaces import Metric

__all__ = ["Listed"]

# Entries of a list that are looked at one by one where the law of the noise says the same.
LARGEST_LOOKED_AT = 50_000


class Listed(Seen):
    """Answers and outputs are listed, and all entries are looked at."""

    def neighbours(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        return None if releases > 1 else (self.scenario.channel, self.scenario.answers)

    @property
    def database(self) -> Capacity:
        return capacity(self.scenario.channel)

    @cached_property
    def guess_limit(self) -> float | None:
        if self._view is not None:
            # Beliefs that add up to 1 but for rounding.
            return 1.0 if self._view.limit > 1 - 1e-12 else self._view.limit
        with suppress(TooLargeError):
            return guess_limit(self.scenario.channel, self.scenario.answers, self.scenario.record_prior)
        return None

    def releases_within(self, limit: float) -> ReleasesWithin | None:
        scenario = self.scenario
        with suppress(TooLargeError):
            if self._view is not None:
                return self._view.releases_within(limit)
        with suppress(TooLargeError):
            return releases_within(scenario.channel, scenario.answers, limit, scenario.record_prior)
        return None

    @cached_property
    def _view(self) -> OneRecord | None:
        """One record seen through noise of a known law, that looks alike whatever the others are."""
        scenario = self.scenario
        if scenario.policy.constrained:
            return None
        noise = added_noise(scenario)
        if not isinstance(noise, TableNoise):
            return None
        view = record_view(noise, belief_of(scenario), is_narrow(noise, scenario))
        return None if view.is_cut else view

    def gain(self, adversary: Adversary, releases: int = 1) -> RecordGain:
        """By the law of the noise where it has one, else in every situation of the others."""
        if self._view is not None:
            return self._view.gain(adversary, releases)
        scenario = self.scenario
        return record_gain(scenario.channel, scenario.answers, adversary, releases, scenario.record_prior)

    def _drawn(self, adversary: Adversary, releases: int, share: int) -> SimulatedGain | None:
        """By the law of the noise where it has one, else in every situation of the others."""
        scenario = self.scenario
        with suppress(TooLargeError):
            if self._view is not None:
                return self._view.simulated(releases, SEED, adversary=adversary, share=share)
        with suppress(TooLargeError):
            return simulated_record_gain(
                scenario.channel, scenario.answers, adversary, releases, scenario.record_prior, SEED, share
            )
        return None

    @property
    def uniform_bits(self) -> float:
        return float(record_leakage(self.scenario.channel, self.scenario.answers).bits)

    def _own_record(self) -> RecordLeakage:
        scenario = self.scenario
        if self._view is not None and len(scenario.answers.labels) ** 2 > LARGEST_LOOKED_AT:
            found = largest_guess((self._view,), 1)
            if found is not None and found.exact:
                return RecordLeakage(found.before, found.guess, bits_of(found), (), EXACT)
        return record_leakage(scenario.channel, scenario.answers, prior=scenario.record_prior)

    def _own_repeated(self, count: int) -> RepeatedGuess | None:
        """By the law of the noise where that is exact, else in every situation of the others."""
        by_law = None if self._view is None else largest_guess((self._view,), count)
        if by_law is not None and by_law.exact:
            return by_law
        scenario = self.scenario
        with suppress(TooLargeError):
            listed = repeated_guess(scenario.channel, scenario.answers, count, scenario.record_prior)
            return listed if by_law is None or listed.guess <= by_law.guess else by_law
        return by_law
