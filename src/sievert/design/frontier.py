"""The frontier between leakage and loss: what every further bit of privacy costs.

Both ends are known: the least possible loss (releasing the best action for the truth) and the loss of an
answer that does not look at the data, which leaks nothing. Between them the least loss is a convex,
decreasing function of what the adversary may reach, found point by point, each with its proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.design.leakage_families import LeakageDesign, least_leakage, least_loss, lowest_loss
from sievert.errors import MechanismError
from sievert.numerics.checks import require_size, taken, whole
from sievert.numerics.progress import advance
from sievert.results import Result
from sievert.spaces.tabular import floats

__all__ = ["Frontier", "frontier"]

# Each point is a design of its own.
MOST_POINTS = 10_000


@dataclass(frozen=True)
class Frontier(Result):
    """Mechanisms from the one that leaks nothing to the one that loses least.

    Attributes
    ----------
    designs : one proved mechanism a point, by growing leakage
    """

    designs: tuple[LeakageDesign, ...]

    @property
    def posteriors(self) -> list[float]:
        """What the adversary reaches at each point."""
        return [design.posterior for design in self.designs]

    @property
    def losses(self) -> list[float]:
        """What is lost at each point."""
        return [design.loss for design in self.designs]

    @property
    def gap(self) -> float:
        """The largest gap of any point."""
        return max(design.gap for design in self.designs)

    def __len__(self) -> int:
        return len(self.designs)

    def __str__(self) -> str:
        first, last = self.designs[0], self.designs[-1]
        return (
            f"{len(self)} mechanisms from loss {first.loss:.6g} (the adversary reaches "
            f"{first.posterior:.6g}, no more than before) down to loss {last.shown_loss:.6g} (it reaches "
            f"{last.posterior:.6g}); every point within {self.gap:.1e} of the frontier"
        )

    def to_dict(self) -> dict[str, Any]:
        """The points as plain data."""
        return {"posterior": self.posteriors, "loss": self.losses, "gap": self.gap}


def frontier(
    prior: object, loss: object, gain: object = None, points: int | Iterable[float] = 11
) -> Frontier:
    """Least loss against what the adversary may reach, each point with its proof.

    Parameters
    ----------
    prior, loss, gain : as in `sv.least_loss`
    points : how many points, equally far apart in what the adversary reaches; or the values themselves

    Examples
    --------
    >>> from sievert.leakage import losses
    >>> found = frontier(None, losses.bayes_risk(2), points=3)
    >>> [round(value, 9) for value in found.posteriors], [round(value, 9) for value in found.losses]
    ([0.5, 0.75, 1.0], [0.5, 0.25, 0.0])
    """
    if isinstance(points, int | np.integer):
        count = whole("points", points, MechanismError, least=2)
        require_size(count, MOST_POINTS, "the points of the frontier", "give the values you want")
        first, last = _ends(prior, loss, gain)
        values = np.linspace(first, last, count).tolist()
        values[-1] = last
    else:
        listed = taken("points", points, MechanismError, "values, or how many points")
        values = floats(listed, "points", MechanismError, "give numbers").ravel().tolist()
        if not values:
            raise MechanismError("points is empty; give at least one value for the adversary")
    designs = []
    for done, value in enumerate(values, 1):
        designs.append(least_loss(prior, loss, value, gain))
        advance("points of the frontier", done, len(values))
    return Frontier(tuple(designs))


def _ends(prior: object, loss: object, gain: object) -> tuple[float, float]:
    """What the adversary reaches without a release, and under the least leaking release of least loss."""
    last = least_leakage(prior, loss, lowest_loss(prior, loss), gain)
    return last.prior, last.posterior
