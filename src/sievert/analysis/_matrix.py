"""A mechanism whose answers and outputs are listed: all entries are looked at, or the law of its noise."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from sievert.analysis._analysis import SEED, Analysis
from sievert.analysis._attacker import Attacker
from sievert.analysis._enclosure import Vulnerability
from sievert.analysis._noise import EXACT, bits_of, clamping_loses_answers, largest_guess
from sievert.channels import Channel, TableNoise
from sievert.errors import TooLargeError
from sievert.measures import Capacity, GainFunction, RecordLeakage, capacity, record_leakage
from sievert.observations import (
    RecordLikelihood,
    ReleasesWithin,
    SimulatedVulnerability,
    guess_limit,
    likelihood_of,
    record_gain,
    releases_within,
    repeated_guess,
    simulated_record_gain,
)
from sievert.policies import Answers
from sievert.spaces import Metric

__all__ = ["MatrixAnalysis"]

# Entries of a list that are looked at one by one where the law of the noise says the same.
LARGEST_LOOKED_AT = 50_000


class MatrixAnalysis(Analysis):
    """Answers and outputs are listed, and all entries are looked at."""

    def dominating_pair(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        return None if releases > 1 else (self.measurement.channel, self.measurement.answers)

    @property
    def capacity(self) -> Capacity:
        return capacity(self.measurement.channel)

    @cached_property
    def vulnerability_limit(self) -> float | None:
        if self._likelihood is not None:
            # Priors that add up to 1 but for rounding.
            return 1.0 if self._likelihood.limit > 1 - 1e-12 else self._likelihood.limit
        found = self.measurement
        with suppress(TooLargeError):
            return guess_limit(found.channel, found.answers, found.record_prior)
        return None

    def _releases_within(self, limit: float) -> ReleasesWithin | None:
        found = self.measurement
        with suppress(TooLargeError):
            if self._likelihood is not None:
                return self._likelihood.releases_within(limit)
        with suppress(TooLargeError):
            return releases_within(found.channel, found.answers, limit, found.record_prior)
        return None

    @cached_property
    def _likelihood(self) -> RecordLikelihood | None:
        """The law of the noise about one record, where the list is such noise on every answer."""
        measurement = self.measurement
        if measurement.policy.constrained:
            return None
        noise = measurement.table_noise
        if not isinstance(noise, TableNoise):
            return None
        found = likelihood_of(
            noise, measurement.float_record_prior, clamping_loses_answers(noise, measurement)
        )
        return None if found.is_cut else found

    def _gain(self, attacker: Attacker, releases: int) -> Vulnerability:
        """By the law of the noise where it has one, else in every context of the others."""
        gain = attacker.gain
        assert gain is not None
        if self._likelihood is not None:
            return Vulnerability.of_gain(self._likelihood.gain(gain, releases), gain.is_loss)
        found = self.measurement
        listed = record_gain(found.channel, found.answers, gain, releases, found.record_prior)
        return Vulnerability.of_gain(listed, gain.is_loss)

    def _drawn(self, gain: GainFunction, releases: int, share: int) -> SimulatedVulnerability | None:
        """By the law of the noise where it has one, else in every context of the others."""
        found = self.measurement
        with suppress(TooLargeError):
            if self._likelihood is not None:
                return self._likelihood.simulated(releases, SEED, adversary=gain, share=share)
        with suppress(TooLargeError):
            return simulated_record_gain(
                found.channel, found.answers, gain, releases, found.record_prior, SEED, share
            )
        return None

    @property
    def uniform_bits(self) -> float:
        return float(record_leakage(self.measurement.channel, self.measurement.answers).bits)

    def _own_first_guess(self) -> tuple[Vulnerability, float]:
        found = self.measurement
        if self._likelihood is not None and len(found.answers.labels) ** 2 > LARGEST_LOOKED_AT:
            by_law = largest_guess((self._likelihood,), 1)
            if by_law is not None and by_law.exact:
                record = RecordLeakage(by_law.before, by_law.guess, bits_of(by_law), (), EXACT)
                return Vulnerability.of_record(record), record.bits
        record = record_leakage(found.channel, found.answers, prior=found.record_prior)
        return Vulnerability.of_record(record), record.bits

    def _own_guess(self, releases: int) -> Vulnerability | None:
        """By the law of the noise where that is exact, else in every context of the others."""
        by_law = None if self._likelihood is None else largest_guess((self._likelihood,), releases)
        if by_law is not None and by_law.exact:
            return Vulnerability.of_guess(by_law)
        found = self.measurement
        with suppress(TooLargeError):
            listed = repeated_guess(found.channel, found.answers, releases, found.record_prior)
            best = listed if by_law is None or listed.guess <= by_law.guess else by_law
            return Vulnerability.of_guess(best)
        return None if by_law is None else Vulnerability.of_guess(by_law)
