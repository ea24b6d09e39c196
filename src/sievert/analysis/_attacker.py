"""Who attacks: what they want, what they believe, and how many records of one person they want it of."""

from __future__ import annotations

from dataclasses import dataclass

from sievert.arrays import FloatArray
from sievert.measures import GainFunction, Identity

__all__ = ["Attacker"]


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attacker who knows all other records.

    Attributes
    ----------
    gain : the gain function over the values of a record (None: to guess the value in one try)
    prior : what is believed of the record (None: what the file says)
    records : how many records the attacked person owns; all of them are guessed together
    """

    gain: GainFunction | None = None
    prior: FloatArray | None = None
    records: int = 1

    @property
    def guesses_value(self) -> bool:
        """Whether the gain is that of a right guess in one try."""
        return self.gain is None or isinstance(self.gain, Identity)

    @property
    def is_default(self) -> bool:
        """Whether it is the guess about one record under the prior of the measurement."""
        return self.gain is None and self.prior is None and self.records == 1
