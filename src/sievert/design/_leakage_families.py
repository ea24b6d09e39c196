"""Least leakage for a given loss, and least loss for a given leakage, over all mechanisms.

Both are linear programs (`sievert.design._leakage_programs`). What they return is rounded to multiples of
2^-53 within the budget, and the adversary's strategy in their duals proves what nobody can go below.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.design._leakage_programs import Family, Task, blind_strategy, generate, within_budget
from sievert.design._optimal import DesignResult
from sievert.errors import MechanismError
from sievert.numerics import advance, finite, is_whole, require_size, taken, whole
from sievert.programs import Unsolved
from sievert.proofs import SCALE, SPARE, LeakageDesignProof, below, loss_above, vulnerability_above
from sievert.results import Result
from sievert.spaces import floats

__all__ = ["Frontier", "LeakageDesign", "frontier", "least_leakage", "least_loss", "lowest_loss"]
# A budget may be this much below the least possible one, and is then taken for one as much above it: the
# rounding of whoever wrote it, and room for ours.
ROUNDING = 1e-12
SMALL_GAP = 1e-9


@dataclass(frozen=True)
class LeakageDesign(DesignResult):
    """A mechanism between leakage and loss, proved best within its budget.

    Attributes
    ----------
    mechanism : channel from the inputs to the actions of the loss
    loss : expected loss, rounded up
    posterior : what the adversary reaches: vulnerability rounded up (for an adversary's loss, rounded down)
    prior : what the adversary reaches without the release
    lower_bound : no mechanism within the budget has less loss, or leaks less (the one that was minimised; for
        an adversary's loss, the most that it can be)
    budget : what the other one may be at most
    certificate : the proof; saves to JSON, `sievert verify` re-checks it without a solver
    """

    mechanism: Channel
    family: Family
    loss: float
    posterior: float
    prior: float
    lower_bound: float
    budget: float
    certificate: LeakageDesignProof = field(repr=False)

    @property
    def gap(self) -> float:
        """How far from optimal the mechanism can be."""
        return self.certificate.upper - self.certificate.lower

    @property
    def shown_loss(self) -> float:
        """The loss in a sentence: 0 where its upward rounding is all that is left of it."""
        nothing = self.family == "least loss" and abs(self.loss) <= min(self.gap, 1e-12)
        return 0.0 if nothing else self.loss

    def __float__(self) -> float:
        return self.posterior if self.family == "least leakage" else self.loss

    def __str__(self) -> str:
        return self._warned(
            f"loses {self.shown_loss:.6g} on average and takes the adversary from {self.prior:.6g} to "
            f"{self.posterior:.6g}; within {self.gap:.1e} of the {self.family} possible"
        )


def least_leakage(prior: object, loss: object, most_loss: float, gain: object = None) -> LeakageDesign:
    """The mechanism that leaks least among those of expected loss at most `most_loss`.

    Parameters
    ----------
    prior : what is known about the inputs; None is uniform
    loss : what the data is for (`sv.losses`, or rows [action, input]); outputs are its actions
    most_loss : the expected loss that may not be exceeded
    gain : what the adversary wants: a gain (best guess by default), or a loss, which is then made largest

    Returns
    -------
    LeakageDesign
        The `mechanism`, what it loses and leaks, and a proof.

    Raises
    ------
    MechanismError when no mechanism loses so little

    Notes
    -----
    Cost: a linear program of inputs·actions variables.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> print(least_leakage(None, losses.absolute(3), 0.5).certificate.verify().holds)
    True
    """
    task = Task.read("least leakage", prior, loss, gain)
    least = float(task.cost.min(axis=1).sum())
    most_loss = finite("most_loss", most_loss, MechanismError)
    if not most_loss >= least - ROUNDING * max(1.0, abs(least)):
        raise MechanismError(
            f"most_loss is {most_loss!r}; even without privacy the loss is {least:.12g}; give at least that"
        )
    return _solved(task, most_loss)


def least_loss(
    prior: object,
    loss: object,
    posterior: float | None = None,
    gain: object = None,
    *,
    bits: float | None = None,
) -> LeakageDesign:
    """The mechanism that loses least among those that leak at most a given amount.

    Parameters
    ----------
    prior, loss, gain : as in `least_leakage`
    posterior : what the adversary may reach at most (for an adversary's loss: at least)
    bits : instead of it, log2 of the factor by which the adversary may improve

    Returns
    -------
    LeakageDesign
        The `mechanism`, what it loses and leaks, and a proof.

    Raises
    ------
    MechanismError when the adversary reaches more without any release

    Notes
    -----
    Cost: a linear program of inputs·actions variables.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> round(float(least_loss(None, losses.absolute(2), posterior=0.75)), 9)
    0.25
    """
    task = Task.read("least loss", prior, loss, gain)
    if (posterior is None) == (bits is None):
        raise MechanismError("give exactly one of posterior and bits")
    if bits is not None:
        if task.turned:
            raise MechanismError("bits measures gains; for an adversary's loss give posterior")
        limit = task.blind * 2.0 ** min(finite("bits", bits, MechanismError), 1000.0)
    else:
        reached = finite("posterior", posterior, MechanismError)
        limit = -reached if task.turned else reached
    if not limit >= task.blind - ROUNDING * max(1.0, abs(task.blind)):
        shown = -task.blind if task.turned else task.blind
        raise MechanismError(
            f"{'posterior' if bits is None else 'bits'} is {posterior if bits is None else bits!r}; without "
            f"any release the adversary already reaches {shown:.12g}; give at "
            f"{'most' if task.turned else 'least'} {'that' if bits is None else '0 bits'}"
        )
    return _solved(task, limit)


def lowest_loss(prior: object, loss: object) -> float:
    """The loss when every input gets its best action: no mechanism loses less."""
    return float(Task.read("least leakage", prior, loss, None).cost.min(axis=1).sum())


def _solved(task: Task, budget: float) -> LeakageDesign:
    """Solve, round, certify; at the least budget itself nothing can be rounded, so a little is added."""
    least = task.reachable(budget)
    try:
        proposal = generate(task, least)
    except Unsolved:
        # Still a mechanism within the budget, with an honest gap.
        proposal = task.slack() / SCALE, blind_strategy(task), 0.0
    for extra in (0.0, ROUNDING * max(1.0, abs(least))):
        found = _certified(task, least + extra, *proposal)
        if found.gap <= SMALL_GAP * max(1.0, abs(found.certificate.upper)):
            break
    return found


def _certified(
    task: Task, budget: float, channel: FloatArray, strategy: FloatArray, price: float
) -> LeakageDesign:
    counts = within_budget(task, channel, budget)
    lower = below(task.family, task.prior, task.loss, task.gain, budget, strategy, price)
    lost, reached = loss_above(task.cost, counts), vulnerability_above(task.prior, task.gain, counts)
    upper = reached if task.family == "least leakage" else lost
    spare = SPARE * max(1.0, float(np.abs(task.gain).max()), float(np.abs(task.loss).max()))
    proof = LeakageDesignProof(
        task.family,
        task.prior,
        task.loss,
        task.gain,
        budget,
        counts,
        strategy,
        price,
        min(lower, upper) - spare,
        upper + spare,
    )
    return LeakageDesign(
        Channel.trusted(counts.astype(np.float64) / SCALE, "float", task.inputs, task.outputs),
        task.family,
        lost,
        0.0 - reached if task.turned else reached,
        -task.blind if task.turned else task.blind,
        -proof.lower if task.turned and task.family == "least leakage" else proof.lower,
        -budget if task.turned and task.family == "least loss" else budget,
        proof,
    )


# ── The frontier between leakage and loss: what every further bit of privacy costs ──────────────────────────
# Both ends are known: the least possible loss (releasing the best action for the truth) and the loss of an
# answer that does not look at the data, which leaks nothing. Between them the least loss is a convex,
# decreasing function of what the adversary may reach, found point by point, each with its proof.

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
    prior, loss, gain : as in `sv.design.least_loss`
    points : how many points, equally far apart in what the adversary reaches; or the values themselves

    Returns
    -------
    Frontier
        `posteriors` and `losses`, with a proof for each point.

    Notes
    -----
    Cost: a linear program of inputs·actions variables for each point.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> found = frontier(None, losses.bayes_risk(2), points=3)
    >>> [round(value, 9) for value in found.posteriors], [round(value, 9) for value in found.losses]
    ([0.5, 0.75, 1.0], [0.5, 0.25, 0.0])
    """
    if is_whole(points):
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
