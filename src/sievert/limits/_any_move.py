"""A plan whose releases may make any of several moves: one law that tells at least as much as each of them.

Which of a person's states are compared decides how every cell moves, and no move need be the largest in all
cells. Each has a curve δ(ε); the greatest of them at every ε is again the curve of a pair of laws (it is
convex in e^ε, as each is), and the releases of the plan, whatever they move, tell no more than as many draws
of that pair (Zhu, Dong and Wang, 2022). On a lattice of losses the pair is read off the curve: between two of
its points the steepest chord is the greatest curve's (Doroshenko et al., 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.signal import lfilter

from sievert.arrays import FloatArray
from sievert.channels import NoiseLaw
from sievert.limits._composition import zcdp_delta
from sievert.limits._planned_composition import (
    GATHERED,
    Losses,
    PlannedClaim,
    _convolved,
    _losses,
    planned_claim,
)
from sievert.limits.promises import ZeroConcentratedClaim

__all__ = ["keeps", "largest_epsilon", "planned_claim_of_any"]

# The law of a release is computed under tilts that move its mean by so many deviations, so far to each side,
# and a mass counts where it is above so small a share of the largest: below that a transform is rounding.
APART, FARTHEST, SHARE = 4.0, 9, math.log(1e-13)
# Curves that differ by less than this share are one curve, up to rounding.
SAME_CURVE = 1e-9
# Below this a curve is rounding.
LEAST_DELTA = 1e-250
# More says nothing.
MOST_RHO = Fraction(10**300)
# Points of the lattice of one release, and of those of all moves.
LEAST_POINTS, MOST_POINTS = 1 << 12, 1 << 21

Cells = Sequence[tuple[NoiseLaw, int]]


@dataclass(frozen=True, eq=False)
class AnyMoveClaim(PlannedClaim):
    """The curve of a plan whose releases may make any of several moves.

    Attributes
    ----------
    moves : for every move the cells and the steps; `cells` has those of the first
    """

    moves: tuple[tuple[tuple[NoiseLaw, int], ...], ...] = ()

    @cached_property
    def _counted(self) -> tuple[list[tuple[Losses, int]], bool]:
        return [(_greatest(self.moves, self.releases)[0], self.releases)], False

    @property
    def pure(self) -> float:
        """ε at δ = 0: the largest loss of every release; inf where the noise keeps none."""
        return self.releases * max(
            math.fsum(law.nats_of(Fraction(steps)) for law, steps in move) for move in self.moves
        )


def planned_claim_of_any(moves: Sequence[Cells], releases: int) -> PlannedClaim:
    """The promise of a plan, each of whose releases makes one of several moves.

    Parameters
    ----------
    moves : for every move the law of the noise of each cell and by how many steps it moves
    releases : how many releases are planned

    Returns
    -------
    PlannedClaim
        Of the one move that tells most at every ε, where there is one; else of a law above all of them.

    Notes
    -----
    Cost: for every move a Fourier transform of the losses of one release.
    """
    made = [planned_claim(cells, releases) for cells in moves]
    if len(made) == 1:
        return made[0]
    kept = tuple(claim.cells for claim in made)
    _, most = _greatest(kept, releases)
    if most is not None:
        return made[most]
    return AnyMoveClaim(kept[0], releases, moves=kept)


def _greatest(moves: Sequence[Cells], releases: int) -> tuple[Losses, int | None]:
    """The law of the greatest curve, and which move it is of where that is one for every ε."""
    width = 0.0
    for cells in moves:
        ranges = [_losses(law, steps)[0] for law, steps in cells]
        width = max(width, math.fsum(float(values[-1] - values[0]) for values in ranges))
    unit = width / max(LEAST_POINTS, min(GATHERED // releases, MOST_POINTS // len(moves))) if width else 1.0
    laws = [_of_one(cells, unit) for cells in moves]
    first = min(start for start, _ in laws)
    size = max(start + len(logs) for start, logs in laws) - first
    masses = np.zeros((len(laws), size))
    for mass, (start, logs) in zip(masses, laws, strict=True):
        mass[start - first : start - first + len(logs)] = np.exp(logs)
    # What lies above a level, as Q has it, is R_k = e^-u (p_(k+1) + R_(k+1)), and
    # δ_k = δ_(k+1) + (e^u - 1) R_k.
    step = math.exp(-unit)
    above = np.zeros_like(masses)
    above[:, :-1] = lfilter([step], [1.0, -step], masses[:, ::-1], axis=1)[:, -2::-1]
    curves = np.cumsum((math.expm1(unit) * above)[:, ::-1], axis=1)[:, ::-1]
    best, places = curves.max(axis=0), np.arange(size)
    seen = best > LEAST_DELTA
    alone = [k for k, curve in enumerate(curves) if (curve >= best * (1 - SAME_CURVE))[seen].all()]
    owner = np.where(seen, curves.argmax(axis=0), alone[0] if alone else 0)
    following = np.append(owner[1:], owner[-1])
    # A chord within one curve is known to all digits, one between two curves as a difference.
    chord = np.maximum(best - np.append(best[1:], 0.0), 0.0) / math.expm1(unit)
    chord = np.where(owner == following, above[owner, places], chord)
    within = np.append(False, (owner[:-1] == following[:-1]) & (following[:-1] == following[1:]))
    bent = np.maximum(math.exp(unit) * np.append(0.0, chord[:-1]) - chord, 0.0)
    found = np.where(within, masses[owner, places], bent)
    found[0] = max(0.0, 1.0 - float(found[1:].sum()))
    with np.errstate(divide="ignore"):
        return Losses(first * unit, unit, np.log(found)), alone[0] if alone else None


def _of_one(cells: Cells, unit: float) -> tuple[int, FloatArray]:
    """The law of the loss of one release on multiples of the unit: where it begins, and ln of its masses."""
    laws = [_lifted(law, steps, unit) for law, steps in cells]
    counted = [(found, 1) for found in laws]
    first = round(math.fsum(law.first for law in laws) / unit)
    # Half way between P and Q the law is symmetric.
    middle = _convolved(counted, -0.5)
    weights = np.exp(middle.logs - middle.logs.max())
    centre = float(weights @ middle.values / weights.sum())
    deviation = math.sqrt(float(weights @ (middle.values - centre) ** 2 / weights.sum()))
    logs, near = np.full(len(middle.logs), -math.inf), np.full(len(middle.logs), SHARE)
    for number in range(-FARTHEST, FARTHEST + 1):
        tilt = -0.5 + APART * number / max(deviation, unit)
        together = _convolved(counted, tilt)
        share = together.logs - together.logs.max()
        logs = np.where(share > near, together.logs - tilt * together.values, logs)
        near = np.maximum(share, near)
    return first, logs


def _lifted(law: NoiseLaw, steps: int, unit: float) -> Losses:
    """The loss of one cell on multiples of the unit, each split between two so that the mean of P/Q stays."""
    values, logs = _losses(law, steps)
    places = np.floor(values / unit)
    below = values - unit * places
    share = np.clip(np.expm1(below) / math.expm1(unit), 0.0, 1.0)
    least = int(places[0])
    found = np.zeros(int(places[-1]) - least + 2)
    np.add.at(found, places.astype(np.int64) - least, np.exp(logs - below) * (1 - share))
    np.add.at(found, places.astype(np.int64) - least + 1, np.exp(logs + unit - below) * share)
    with np.errstate(divide="ignore"):
        return Losses(least * unit, unit, np.log(found))


# ── One release, whose worst move is asked for ──────────────────────────────────────────────────────────────
# What ρ implies is soon known and never below the truth: moves of which it says enough are not composed.


def largest_epsilon(moves: Sequence[Cells], delta: float) -> tuple[float, bool]:
    """The largest ε at a δ of one release over its moves, and whether it is exact or a little above that."""
    largest, exact = 0.0, True
    for rho, cells in _by_rho(moves):
        if ZeroConcentratedClaim(rho).epsilon(delta) <= largest:
            break
        claim = planned_claim(cells, 1)
        if not largest or float(claim.delta(np.array([largest]))[0]) > delta:
            largest, exact = max(largest, claim.epsilon(delta)), claim.exact
    return largest, exact


def keeps(moves: Sequence[Cells], eps: float, delta: float) -> bool:
    """Whether one release keeps ε at a δ, whichever of the moves is compared."""
    level = np.array([eps])
    for rho, cells in _by_rho(moves):
        if float(zcdp_delta(rho, level)[0]) <= delta:
            break
        if float(planned_claim(cells, 1).delta(level)[0]) > delta:
            return False
    return True


def _by_rho(moves: Sequence[Cells]) -> list[tuple[float, Cells]]:
    """The moves with their ρ, rounded up, the largest first."""
    costs = [sum((law.rho_of(steps) for law, steps in cells), Fraction(0)) for cells in moves]
    order = sorted(range(len(moves)), key=lambda place: costs[place], reverse=True)
    return [(math.nextafter(float(min(costs[i], MOST_RHO)), math.inf), moves[i]) for i in order]
