"""The linear programs between leakage and loss, on as few entries of the mechanism as are ever used.

Outputs are the actions of the loss. The adversary's best response to each output makes the leakage piecewise
linear. The program starts with the least-loss outputs of each input and adds what the adversary's strategy
shows to be worth it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.design._optimal import as_loss
from sievert.errors import GainError
from sievert.measures import as_gain, table_adversary
from sievert.programs import LinearProgram, Unsolved, solve
from sievert.proofs import SCALE, costs, exact_loss, exact_vulnerability, loss_above, vulnerability_above
from sievert.spaces import Labels

__all__ = ["Family", "Task", "blind_strategy", "generate", "within_budget"]
Family = Literal["least leakage", "least loss"]
# Outputs for each input at the start, and the most that a round adds.
START, ADDED = 10, 8
# The value of the program and the bound for all mechanisms meet to this.
SETTLED = 1e-11
MOST_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class Task:
    """What is minimised over which mechanisms, and what is limited."""

    family: Family
    prior: FloatArray
    loss: FloatArray  # [output, input]
    gain: FloatArray  # [guess, input]
    turned: bool  # the adversary's own loss, taken as a negative gain
    inputs: Labels
    outputs: Labels

    @classmethod
    def read(cls, family: Family, prior: object, loss: object, gain: object) -> Task:
        """Read and check prior, loss and gain."""
        if loss is None:
            raise GainError("loss is missing; say what the data is for, such as sv.losses.absolute(n)")
        given = table_adversary(loss, "loss", is_loss=True)
        wanted = as_loss(given, given.secrets)
        belief = np.asarray(as_prior(prior, wanted.secrets), dtype=np.float64)
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

    def reachable(self, budget: float) -> float:
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


def generate(task: Task, budget: float) -> tuple[FloatArray, FloatArray, float]:
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
    task: Task, budget: float, used: NDArray[np.bool_]
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


def _mixed(task: Task, strategy: FloatArray, price: float) -> tuple[FloatArray, float]:
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


def _blindly(task: Task, mixed: FloatArray) -> FloatArray:
    blind = int(task.weights.sum(axis=1).argmax())
    mixed[:, blind] += np.maximum(1 - mixed.sum(axis=1), 0.0)
    return mixed


def blind_strategy(task: Task) -> FloatArray:
    """The adversary who does not look: always the best guess without a release."""
    return _blindly(task, np.zeros((len(task.loss), len(task.gain))))


def within_budget(task: Task, channel: FloatArray, budget: float) -> NDArray[np.int64]:
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
