"""Work whose worker dies once, at a moment that a file names; imported by workers, so no test itself."""

import os
from pathlib import Path
from typing import Any

from sievert.release import _units as units

MOMENTS = ("before", "during", "after")


def draw_unit(shared: Any, part: units.Part) -> int:
    """Draw a unit, but die before, during or after its publication where that was planted for it."""
    for moment in MOMENTS:
        planted = Path(shared.folder) / "dies" / f"{moment}-{part.target.stem}"
        if planted.exists():
            planted.unlink()
            _dying(moment)
    return REAL(shared, part)


REAL = units.draw_unit


def _dying(moment: str) -> None:
    if moment == "before":
        os._exit(1)
    real = units.give_name

    def named(private: Path, target: Path) -> None:
        if moment == "after":
            real(private, target)
        os._exit(1)

    units.give_name = named
