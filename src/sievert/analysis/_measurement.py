"""What is analysed: a query of a policy through a channel. Files describe one; so can Python."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel, Epsilon, NoiseChannel
from sievert.policies import Answers, Policy, Query, Sensitivity

__all__ = ["CLAIM_TOLERANCE", "ROUNDED", "Measurement", "is_within"]

# A family's ε is recomputed from rounded logarithms; a claim is not broken by the last few digits.
CLAIM_TOLERANCE = 1e-9
# Differences of logarithms of probabilities are off by some units in their last place, however small ε is.
ROUNDED = 1e-14


def is_within(value: float, limit: float) -> bool:
    """Whether a value keeps a limit, up to rounding."""
    return value <= limit * (1 + CLAIM_TOLERANCE)


class Measurement(Protocol):
    """A query of a policy, released through a channel."""

    @property
    def policy(self) -> Policy:
        """Which databases must be indistinguishable."""

    @property
    def query(self) -> Query:
        """What is computed before noise."""

    @property
    def channel(self) -> Channel:
        """On the listed answers, or the noise itself."""

    @property
    def answers(self) -> Answers:
        """The query's answers, where they are listed."""

    @property
    def table_noise(self) -> NoiseChannel | None:
        """The noise that a release draws; None where the channel is a list that is drawn from."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one record moves the table."""

    @property
    def absence(self) -> bool:
        """Whether records may be left out."""

    @property
    def record_prior(self) -> NDArray[Any]:
        """What is believed of one record."""

    @property
    def float_record_prior(self) -> FloatArray:
        """The same in floats, one array for every uniform prior of a size."""

    @property
    def informative_prior(self) -> FloatArray | None:
        """The same; None where it is uniform."""

    @property
    def epsilon(self) -> Epsilon:
        """The smallest ε of the mechanism."""

    @property
    def claimed_eps(self) -> float | None:
        """The pure ε that is claimed."""

    @property
    def claimed_rho(self) -> Fraction | None:
        """The ρ of noise that keeps no pure ε."""

    @property
    def is_table(self) -> bool:
        """Whether a table over all records is released."""

    @property
    def source(self) -> str:
        """What errors call it."""

    @property
    def description(self) -> str:
        """The mechanism in words."""

    def require_record_prior(self) -> None:
        """Refuse a prior about the answer, where no list holds the answers."""
