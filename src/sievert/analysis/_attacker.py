"""Attackers: the gain function, and how many records of one person it is about."""

from __future__ import annotations

from dataclasses import dataclass

from sievert.errors import GainError
from sievert.measures import GainFunction
from sievert.numerics import whole

__all__ = ["Attacker"]


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attacker who knows all other records.

    Attributes
    ----------
    gain : the gain function over the values of a record (None: to guess the value in one try)
    records : how many records the attacked person owns; all of them are guessed together, in one try
    """

    gain: GainFunction | None = None
    records: int = 1

    def __post_init__(self) -> None:
        if whole("records", self.records, GainError) > 1 and self.gain is not None:
            raise GainError(
                f"records is {self.records}, with a gain; several are guessed in one try: leave gain out"
            )
