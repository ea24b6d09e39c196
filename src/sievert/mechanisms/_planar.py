"""Noise on a map, as a file names it: geometric noise on the lattice of a region's cells."""

from __future__ import annotations

from typing import Annotated, Never

from pydantic import Field

from sievert.errors import MechanismError
from sievert.kinds import NonNegative, kind
from sievert.mechanisms._family import Family
from sievert.policies import Answers, Policy, Query

__all__ = ["PlanarGeometric"]


@kind(Family, "planar-geometric")
class PlanarGeometric(Family):
    """Geometric noise on a map, the discrete planar Laplace."""

    eps: Annotated[NonNegative, Field(description="ε in nats for each metre")]

    def channel(self, answers: Answers, query: Query) -> Never:
        raise _no_list()

    def claimed(self, policy: Policy, query: Query) -> Never:
        raise _no_list()

    def words(self) -> str:
        return f"{self.title()}, eps = {self.eps:g}"

    @property
    def promised(self) -> float:
        return self.eps

    @property
    def per_metre(self) -> float:
        return self.eps


def _no_list() -> MechanismError:
    return MechanismError(
        "planar-geometric noise is on a map and has no list of outputs; "
        "`sievert release FILE --preview` says what it gives away"
    )
