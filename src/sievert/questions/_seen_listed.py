"""A mechanism whose answers and outputs are listed: all entries are looked at, or the law of its noise."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from sievert.channels import (
    Channel,
    TableNoise,
)
from sievert.errors import TooLargeError
from sievert.files import table_noise
from sievert.measures import (
    Capacity,
    GainFunction,
    RecordLeakage,
    capacity,
    record_leakage,
)
from sievert.observations import (
    RecordGain,
    RecordLikelihood,
    ReleasesWithin,
    RepeatedGuess,
    SimulatedVulnerability,
    guess_limit,
    likelihood_of,
    record_gain,
    releases_within,
    repeated_guess,
    simulated_record_gain,
)
from sievert.policies import Answers
from sievert.questions._seen_base import (
    EXACT,
    SEED,
    Analysis,
    belief_of,
    clamping_loses_answers,
    leakage_bits,
    worst_context_guess,
)
from sievert.spaces import Metric

__all__ = ["MatrixAnalysis"]

# Entries of a list that are looked at one by one where the law of the noise says the same.
LARGEST_LOOKED_AT = 50_000


class MatrixAnalysis(Analysis):
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
    def _view(self) -> RecordLikelihood | None:
        """One record seen through noise of a known law, that looks alike whatever the others are."""
        scenario = self.scenario
        if scenario.policy.constrained:
            return None
        noise = table_noise(scenario)
        if not isinstance(noise, TableNoise):
            return None
        view = likelihood_of(noise, belief_of(scenario), clamping_loses_answers(noise, scenario))
        return None if view.is_cut else view

    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """By the law of the noise where it has one, else in every situation of the others."""
        if self._view is not None:
            return self._view.gain(adversary, releases)
        scenario = self.scenario
        return record_gain(scenario.channel, scenario.answers, adversary, releases, scenario.record_prior)

    def _drawn(self, adversary: GainFunction, releases: int, share: int) -> SimulatedVulnerability | None:
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
            found = worst_context_guess((self._view,), 1)
            if found is not None and found.exact:
                return RecordLeakage(found.before, found.guess, leakage_bits(found), (), EXACT)
        return record_leakage(scenario.channel, scenario.answers, prior=scenario.record_prior)

    def _own_repeated(self, count: int) -> RepeatedGuess | None:
        """By the law of the noise where that is exact, else in every situation of the others."""
        by_law = None if self._view is None else worst_context_guess((self._view,), count)
        if by_law is not None and by_law.exact:
            return by_law
        scenario = self.scenario
        with suppress(TooLargeError):
            listed = repeated_guess(scenario.channel, scenario.answers, count, scenario.record_prior)
            return listed if by_law is None or listed.guess <= by_law.guess else by_law
        return by_law
