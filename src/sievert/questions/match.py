"""`sievert match CODES`: who is alike, from noisy codes as they were released."""

from __future__ import annotations

from dataclasses import dataclass, field

from sievert.results import Result
from sievert.vectors import Codes, estimate_distance, neighbours

__all__ = ["Match", "match", "table"]


@dataclass(frozen=True)
class Match(Result):
    """Who is most alike to everybody, as far as noisy codes tell.

    Attributes
    ----------
    users : whom the answer is for
    neighbours : for each of them, those whose codes are nearest, ties in random order
    differing : bits that differ
    distance : debiased angular distance where the noise has one flip rate (it may be negative), else None
    deviation : standard deviation of such a distance at a right angle
    """

    users: list[str] = field(repr=False)
    neighbours: list[list[str]] = field(repr=False)
    differing: list[list[int]] = field(repr=False)
    distance: list[list[float]] | None = field(repr=False)
    deviation: float | None
    bits: int

    def __str__(self) -> str:
        k = len(self.neighbours[0]) if self.neighbours else 0
        spread = "" if self.deviation is None else f"; distances are off by about {180 * self.deviation:.3g}°"
        return f"The {k} nearest of {len(self.users):,} users by {self.bits} noisy bits{spread}."


def match(
    users: list[str],
    codes: Codes,
    k: int,
    eps: float | None = None,
    seed: int | None = None,
    device: str | None = None,
) -> Match:
    """The k nearest of every user; with ε a bit, what the distance is."""
    found = neighbours(codes, k, rng=seed, device=device)
    distance = deviation = None
    if eps is not None and codes.identity is not None and codes.identity.kind == "hyperplane":
        by_count = [estimate_distance(count, codes.bits, eps) for count in range(codes.bits + 1)]
        distance = [[by_count[int(d)].value for d in row] for row in found.distances]
        deviation = by_count[codes.bits // 2].deviation
    return Match(
        users,
        [[users[int(i)] for i in row] for row in found.indices],
        [[int(d) for d in row] for row in found.distances],
        distance,
        deviation,
        codes.bits,
    )


def table(found: Match) -> tuple[list[str], list[list[str]]]:
    """Columns of user, rank, neighbour, differing bits and, where it is known, the distance."""
    names = ["user", "rank", "neighbour", "differing", *(["distance"] if found.distance else [])]
    width = len(found.neighbours[0]) if found.neighbours else 0
    columns = [
        [user for user in found.users for _ in range(width)],
        [str(rank + 1) for _ in found.users for rank in range(width)],
        [other for row in found.neighbours for other in row],
        [str(count) for row in found.differing for count in row],
    ]
    if found.distance is not None:
        columns.append([f"{value:.6g}" for row in found.distance for value in row])
    return names, columns
