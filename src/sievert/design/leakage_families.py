"""Least leakage for a given loss, and least loss for a given leakage, over all mechanisms.

Both are linear programs (`sievert.design.leakage_programs`). What they return is rounded to multiples of
2^-53 within the budget, and the adversary's strategy in their duals proves what nobody can go below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.design.designed import Designed
from sievert.design.leakage_programs import Family, Task, blind_strategy, generate, within_budget
from sievert.errors import MechanismError
from sievert.numerics.checks import finite, non_negative
from sievert.numerics.linear_programs import Unsolved
from sievert.proofs.design import SCALE, SPARE, loss_above
from sievert.proofs.leakage_design import (
    LeakageDesignProof,
    below,
    vulnerability_above,
)

__all__ = ["LeakageDesign", "least_leakage", "least_loss", "lowest_loss"]

FloatArray = NDArray[np.float64]
# A budget may be this much below the least possible one, and is then taken for one as much above it: the
# rounding of whoever wrote it, and room for ours.
ROUNDING = 1e-12
SMALL_GAP = 1e-9


@dataclass(frozen=True)
class LeakageDesign(Designed):
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
    gain : what the adversary wants: a gain (best guess by default), or a loss, which is then made largest

    Raises
    ------
    MechanismError when no mechanism loses so little

    Examples
    --------
    >>> from sievert.leakage import losses
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

    Raises
    ------
    MechanismError when the adversary reaches more without any release

    Examples
    --------
    >>> from sievert.leakage import losses
    >>> round(float(least_loss(None, losses.absolute(2), posterior=0.75)), 9)
    0.25
    """
    task = Task.read("least loss", prior, loss, gain)
    if (posterior is None) == (bits is None):
        raise MechanismError("give exactly one of posterior and bits")
    if bits is not None:
        if task.turned:
            raise MechanismError("bits measures gains; for an adversary's loss give posterior")
        limit = task.blind * 2.0 ** min(non_negative("bits", bits, MechanismError), 1000.0)
    else:
        assert posterior is not None
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
        Channel._trusted(counts.astype(np.float64) / SCALE, "float", task.inputs, task.outputs),
        task.family,
        lost,
        0.0 - reached if task.turned else reached,
        -task.blind if task.turned else task.blind,
        -proof.lower if task.turned and task.family == "least leakage" else proof.lower,
        -budget if task.turned and task.family == "least loss" else budget,
        proof,
    )
