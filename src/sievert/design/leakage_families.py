"""Least leakage for a given loss, and least loss for a given leakage, over all mechanisms.

Outputs are the actions of the loss. The adversary's best response to each output makes the leakage piecewise
linear, so both are linear programs. Few entries of the mechanism are ever used: the program starts with the
least-loss outputs of each input and adds what the adversary's strategy shows to be worth it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.design.optimal import as_loss
from sievert.errors import MechanismError
from sievert.leakage.adversary import MatrixAdversary
from sievert.leakage.gains import as_gain
from sievert.numerics.linear_programs import LinearProgram, Unsolved, solve
from sievert.proofs.design import SCALE, SPARE, costs, loss_above
from sievert.proofs.leakage_design import (
    LeakageDesignProof,
    below,
    exact_loss,
    exact_vulnerability,
    vulnerability_above,
)
from sievert.results import Result
from sievert.spaces.labels import Labels

__all__ = ["LeakageDesign", "least_leakage", "least_loss", "lowest_loss"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Family = Literal["least leakage", "least loss"]
# Outputs for each input at the start, and the most that a round adds.
START, ADDED = 10, 8
# The value of the program and the bound for all mechanisms meet to this.
SETTLED = 1e-11
MOST_ROUNDS = 60
# A budget may be this much below the least possible one, and is then taken for one as much above it: the
# rounding of whoever wrote it, and room for ours.
ROUNDING = 1e-12
SMALL_GAP = 1e-9


@dataclass(frozen=True)
class LeakageDesign(Result):
    """A mechanism between leakage and loss, proved best within its budget.

    Attributes
    ----------
    mechanism : channel from the inputs to the actions of the loss
    loss : expected loss, rounded up
    posterior : what the adversary reaches: vulnerability rounded up (for an adversary's loss, rounded down)
    prior : what the adversary reaches without the release
    lower_bound : no mechanism within the budget has less loss, or leaks less (the one that was minimised)
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

    def __float__(self) -> float:
        return self.posterior if self.family == "least leakage" else self.loss

    def __str__(self) -> str:
        return (
            f"loses {self.loss:.6g} on average and takes the adversary from {self.prior:.6g} to "
            f"{self.posterior:.6g}; within {self.gap:.1e} of the {self.family} possible"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{self.mechanism._repr_html_()}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the proof is saved by itself."""
        found = super().to_dict()
        found.pop("certificate")
        return {**found, "gap": self.gap}


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
    task = _Task.read("least leakage", prior, loss, gain)
    least = float(task.cost.min(axis=1).sum())
    if not most_loss >= least - ROUNDING * max(1.0, abs(least)):
        raise MechanismError(
            f"most_loss is {most_loss!r}; even without privacy the loss is {least:.12g}; give at least that"
        )
    return task.solved(float(most_loss))


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
    task = _Task.read("least loss", prior, loss, gain)
    if (posterior is None) == (bits is None):
        raise MechanismError("give exactly one of posterior and bits")
    if bits is not None:
        if task.turned:
            raise MechanismError("bits measures gains; for an adversary's loss give posterior")
        limit = task.blind * 2.0**bits
    else:
        assert posterior is not None
        limit = -posterior if task.turned else float(posterior)
    if not limit >= task.blind - ROUNDING * max(1.0, abs(task.blind)):
        shown = -task.blind if task.turned else task.blind
        raise MechanismError(
            f"{'posterior' if bits is None else 'bits'} is {posterior if bits is None else bits!r}; without "
            f"any release the adversary already reaches {shown:.12g}; give at "
            f"{'most' if task.turned else 'least'} {'that' if bits is None else '0 bits'}"
        )
    return task.solved(limit)


def lowest_loss(prior: object, loss: object) -> float:
    """The loss when every input gets its best action: no mechanism loses less."""
    return float(_Task.read("least leakage", prior, loss, None).cost.min(axis=1).sum())


@dataclass(frozen=True, eq=False)
class _Task:
    family: Family
    prior: FloatArray
    loss: FloatArray  # [output, input]
    gain: FloatArray  # [guess, input]
    turned: bool  # the adversary's own loss, taken as a negative gain
    inputs: Labels
    outputs: Labels

    @classmethod
    def read(cls, family: Family, prior: object, loss: object, gain: object) -> _Task:
        if not isinstance(loss, MatrixAdversary):
            rows = np.asarray(loss)
            loss = as_loss(loss, range(rows.shape[-1] if rows.ndim == 2 else 0))
        wanted = as_loss(loss, loss.secrets)
        belief = np.asarray(as_prior(prior, wanted.size), dtype=np.float64)
        adversary = as_gain(gain, wanted.secrets)
        table = np.asarray(adversary.matrix, dtype=np.float64)
        return cls(
            family,
            belief,
            np.asarray(wanted.table, dtype=np.float64),
            -table if adversary.is_loss else table,
            adversary.is_loss,
            wanted.secrets,
            wanted.actions,
        )

    @cached_property
    def cost(self) -> FloatArray:
        """π_x·ℓ[y,x], [input, output]."""
        return costs(self.prior, self.loss)

    @cached_property
    def weights(self) -> FloatArray:
        """π_x·G[g,x], [guess, input]."""
        return self.gain * self.prior

    @property
    def blind(self) -> float:
        """What the adversary reaches without a release."""
        return float(self.weights.sum(axis=1).max())

    def solved(self, budget: float) -> LeakageDesign:
        """Solve, round, certify; at the least budget itself nothing can be rounded, so a little is added."""
        least = self._reachable(budget)
        try:
            proposal = _generate(self, least)
        except Unsolved:
            # Still a mechanism within the budget, with an honest gap.
            proposal = self.slack() / SCALE, _blindly(self, np.zeros((len(self.loss), len(self.gain)))), 0.0
        for extra in (0.0, ROUNDING * max(1.0, abs(least))):
            found = self._certified(least + extra, *proposal)
            if found.gap <= SMALL_GAP * max(1.0, abs(found.certificate.upper)):
                break
        return found

    def _certified(
        self, budget: float, channel: FloatArray, strategy: FloatArray, price: float
    ) -> LeakageDesign:
        counts = _within_budget(self, channel, budget)
        lower = below(self.family, self.prior, self.loss, self.gain, budget, strategy, price)
        lost, reached = loss_above(self.cost, counts), vulnerability_above(self.prior, self.gain, counts)
        upper = reached if self.family == "least leakage" else lost
        spare = SPARE * max(1.0, float(np.abs(self.gain).max()), float(np.abs(self.loss).max()))
        proof = LeakageDesignProof(
            self.family,
            self.prior,
            self.loss,
            self.gain,
            budget,
            counts,
            strategy,
            price,
            min(lower, upper) - spare,
            upper + spare,
        )
        return LeakageDesign(
            Channel._trusted(counts.astype(np.float64) / SCALE, "float", self.inputs, self.outputs),
            self.family,
            lost,
            -reached if self.turned else reached,
            -self.blind if self.turned else self.blind,
            proof.lower,
            -budget if self.turned and self.family == "least loss" else budget,
            proof,
        )

    def _reachable(self, budget: float) -> float:
        """The budget, or the least one where it is below that by rounding alone."""
        counts = self.slack()
        return budget if self.within(counts, budget) else self.side(counts)

    def slack(self) -> NDArray[np.int64]:
        """A mechanism that is within every budget that can be met."""
        counts = np.zeros((len(self.prior), len(self.loss)), dtype=np.int64)
        if self.family == "least leakage":
            counts[np.arange(len(counts)), self.cost.argmin(axis=1)] = SCALE
        else:
            counts[:, int(self.cost.sum(axis=0).argmin())] = SCALE
        return counts

    def side(self, counts: NDArray[np.int64]) -> float:
        """What the budget limits, rounded up."""
        if self.family == "least leakage":
            return loss_above(self.cost, counts)
        return vulnerability_above(self.prior, self.gain, counts)

    def within(self, counts: NDArray[np.int64], budget: float) -> bool:
        """Whether a mechanism is within the budget, decided in fractions where floats are too close."""
        above = self.side(counts)
        if above <= budget:
            return True
        if above > budget + 1e-13 * max(1.0, abs(budget)):
            return False
        if self.family == "least leakage":
            return bool(exact_loss(self.prior, self.loss, counts) <= budget)
        return bool(exact_vulnerability(self.prior, self.gain, counts) <= budget)


def _generate(task: _Task, budget: float) -> tuple[FloatArray, FloatArray, float]:
    """Column generation: the mechanism, the adversary's strategy and the price of the budget."""
    n, m = len(task.prior), len(task.loss)
    cost = task.cost
    used = np.zeros((n, m), dtype=bool)
    nearest = np.argsort(cost, axis=1, kind="stable")[:, : min(START, m)]
    np.put_along_axis(used, nearest, True, axis=1)
    used[:, int(cost.sum(axis=0).argmin())] = True
    certain = task.prior == 0
    used[certain] = False
    used[certain, int(cost.sum(axis=0).argmin())] = True
    for _ in range(MOST_ROUNDS):
        channel, prices, strategy, price, value = _program(task, budget, used)
        bracket = task.prior * (
            strategy @ task.gain + price * task.loss
            if task.family == "least leakage"
            else task.loss + price * (strategy @ task.gain)
        )
        bound = float(bracket.min(axis=0).sum()) - price * budget
        if value - bound <= SETTLED * max(1.0, abs(value)):
            break
        worth = np.where(used.T, 0.0, bracket - prices)
        best = np.argsort(worth, axis=0, kind="stable")[:ADDED]
        fresh = np.zeros_like(used.T)
        np.put_along_axis(fresh, best, np.take_along_axis(worth, best, axis=0) < -1e-14, axis=0)
        if not fresh.any():
            break
        used |= fresh.T
    return channel, strategy, price


def _program(
    task: _Task, budget: float, used: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, FloatArray, float, float]:
    """The program on the entries in use: columns are entries, then V_y; rows are sums, budget, guesses."""
    n, m = used.shape
    x, y = np.nonzero(used)
    weights, cost = task.weights, task.cost
    leaks = task.family == "least leakage"
    guess, entry = np.nonzero(weights[:, x])
    if (task.gain < 0).any():
        pairs = np.arange(len(weights) * m)
        codes = guess * m + y[entry]
    else:
        codes = guess * m + y[entry]
        pairs = np.unique(codes)
    row = n + 1 + np.searchsorted(pairs, codes)
    entries = len(x)
    names = np.arange(len(pairs))
    rows = [x, row, n + 1 + names]
    columns = [np.arange(entries), entry, entries + pairs % m]
    values = [np.ones(entries), -weights[guess, x[entry]], np.ones(len(pairs))]
    if leaks:
        rows.append(np.full(entries, n))
        columns.append(np.arange(entries))
        values.append(cost[x, y])
    else:
        rows.append(np.full(m, n))
        columns.append(entries + np.arange(m))
        values.append(np.ones(m))
    shape = (n + 1 + len(pairs), entries + m)
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape
    ).tocsc()
    objective = np.concatenate([np.zeros(entries), np.ones(m)] if leaks else [cost[x, y], np.zeros(m)])
    lower = np.concatenate([np.ones(n), [-np.inf], np.zeros(len(pairs))])
    upper = np.concatenate([np.ones(n), [budget], np.full(len(pairs), np.inf)])
    least = np.zeros(entries + m)
    if (task.gain < 0).any():
        least[entries:] = -np.inf
    program = LinearProgram(objective, matrix, lower, upper, least, np.full(entries + m, np.inf))
    solution = solve(program, "simplex", tolerance=1e-10, presolve=False, basis=False)
    if not solution.optimal:
        raise Unsolved(f"the linear-program solver stopped with the status {solution.status!r}")
    channel = np.zeros((n, m))
    channel[x, y] = np.maximum(solution.primal[:entries], 0.0)
    price = max(0.0, -float(solution.dual[n]))
    strategy = np.zeros((m, len(weights)))
    strategy[pairs % m, pairs // m] = np.maximum(solution.dual[n + 1 :], 0.0)
    return channel, solution.dual[:n], *_mixed(task, strategy, price), solution.value


def _mixed(task: _Task, strategy: FloatArray, price: float) -> tuple[FloatArray, float]:
    """Duals as mixtures of guesses: what is missing goes to the best guess without a release."""
    scale = 1.0
    if task.family == "least loss":
        if price <= 0:
            return _blindly(task, np.zeros_like(strategy)), 0.0
        scale = 1 / price
    mixed = strategy * scale
    total = mixed.sum(axis=1, keepdims=True)
    mixed = np.where(total > 1, mixed / np.maximum(total, 1.0), mixed)
    return _blindly(task, mixed), price


def _blindly(task: _Task, mixed: FloatArray) -> FloatArray:
    blind = int(task.weights.sum(axis=1).argmax())
    mixed[:, blind] += np.maximum(1 - mixed.sum(axis=1), 0.0)
    return mixed


def _within_budget(task: _Task, channel: FloatArray, budget: float) -> NDArray[np.int64]:
    """Parts of 2^53 within the budget: as they are, or mixed with a little of a mechanism that has slack."""
    counts = _rounded(channel)
    above = task.side(counts)
    if above <= budget:
        return counts
    slack = task.slack()
    room = budget - task.side(slack)
    share = (above - budget) / (above - budget + room) if room > 0 else 1.0
    while share < 1:
        mixed = _rounded((1 - share) * channel + share * (slack / SCALE))
        if task.side(mixed) <= budget:
            return mixed
        share *= 2
    return counts if task.within(counts, budget) else slack


def _rounded(channel: FloatArray) -> NDArray[np.int64]:
    """Rows in parts of 2^53 that sum to exactly 1; the largest entry takes the rest."""
    scaled = channel / channel.sum(axis=1, keepdims=True) * SCALE
    counts = np.floor(np.minimum(scaled, SCALE)).astype(np.int64)
    rest = SCALE - counts.sum(axis=1)
    counts[np.arange(len(counts)), counts.argmax(axis=1)] += rest
    return np.asarray(counts, dtype=np.int64)
