"""Exact sums over types: how much an attacker still misses after n observations.

What the attacker misses is a sum of positive terms: the joint probabilities of all classes but the best
one, or the regret of the best action. It is kept as a logarithm and has full relative precision however
close the attacker is to certainty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.leakage.adversary import Adversary, MatrixAdversary
from sievert.leakage.row_classes import RowClasses
from sievert.leakage.type_tables import BLOCK, TypeTable, log_add
from sievert.numerics.logs import log_of

__all__ = ["class_regrets", "joint_log_missed", "log_missed", "values_by_types"]

FloatArray = NDArray[np.float64]


def log_missed(table: TypeTable, log_weights: FloatArray, observations: int) -> float:
    """log Σ over types of (Σ_c w_c P_c - max_c w_c P_c)."""
    total = -np.inf
    for _, logs in table.blocks(observations, log_weights):
        total = log_add(total, _all_but_the_largest(logs))
    return total


def _all_but_the_largest(logs: FloatArray) -> FloatArray:
    """[rows-1, types]: every entry of a column but one largest."""
    top = logs[0].copy()
    rest = np.empty((len(logs) - 1, logs.shape[1]))
    for position, row in enumerate(logs[1:]):
        np.minimum(top, row, out=rest[position])
        np.maximum(top, row, out=top)
    return rest


def joint_log_missed(parts: list[tuple[FloatArray, int]], log_weights: FloatArray) -> float:
    """As `log_missed`, for several channels observed so many times each: all pairs of their types."""
    columns = log_weights[:, None]
    tables = [(TypeTable(logs, times), times) for logs, times in parts if times > 0]
    tables.sort(key=lambda pair: pair[0].size(pair[1]))
    for table, times in tables[:-1]:
        types = np.concatenate([logs for _, logs in table.blocks(times)], axis=1)
        columns = (columns[:, :, None] + types[:, None, :]).reshape(len(columns), -1)
    if not tables:
        return log_add(-np.inf, _all_but_the_largest(columns))
    total = -np.inf
    last, times = tables[-1]
    step = max(1, BLOCK // columns.shape[1])
    for _, logs in last.blocks(times):
        for start in range(0, logs.shape[1], step):
            part = logs[:, start : start + step]
            joined = (columns[:, :, None] + part[:, None, :]).reshape(len(columns), -1)
            total = log_add(total, _all_but_the_largest(joined))
    return total


def class_regrets(classes: RowClasses, adversary: MatrixAdversary) -> tuple[FloatArray, FloatArray]:
    """[action, class] how much worse each action is than the best for the class, and the best's value.

    A class's value is the mean over its members; losses count as they are, gains with their sign turned.
    """
    table = np.asarray(adversary.table, dtype=np.float64)
    table = table if adversary.is_loss else -table
    means = np.column_stack(
        [
            table[:, list(group)] @ classes.belief[list(group)] / weight
            for group, weight in zip(classes.members, classes.total, strict=True)
        ]
    )
    best = means.min(axis=0)
    return means - best, best


def log_regret(table: TypeTable, log_weights: FloatArray, regrets: FloatArray, observations: int) -> float:
    """log Σ over types of min over actions of Σ_c regret[action, c]·π_c·P_c."""
    total = -np.inf
    for _, logs in table.blocks(observations, log_weights):
        top = logs.max(axis=0)
        top = np.where(np.isneginf(top), 0.0, top)
        least = (regrets @ np.exp(logs - top)).min(axis=0)
        total = log_add(total, log_of(least) + top)
    return total


def values_by_types(
    table: TypeTable, classes: RowClasses, adversary: Adversary, observations: list[int]
) -> tuple[FloatArray, FloatArray, float]:
    """U_n for each n, its distance from the limit, and the limit (what knowing the class is worth)."""
    weights = log_of(classes.total)
    if isinstance(adversary, MatrixAdversary):
        regrets, best = class_regrets(classes, adversary)
        sign = 1.0 if adversary.is_loss else -1.0
        limit = float(classes.total @ best)
        gaps = np.array([np.exp(log_regret(table, weights, regrets, n)) for n in observations])
        return sign * (limit + gaps), gaps, sign * limit
    known = np.zeros((len(classes.belief), len(classes)))
    for column, group in enumerate(classes.members):
        known[list(group), column] = classes.belief[list(group)]
    limit = float(adversary.values(known).sum())
    values = np.array([_values(table, classes, adversary, n) for n in observations])
    return values, np.abs(values - limit), limit


def _values(table: TypeTable, classes: RowClasses, adversary: Adversary, observations: int) -> float:
    place = np.full(len(classes.belief), 0)
    for position, group in enumerate(classes.members):
        place[list(group)] = position
    total = 0.0
    for _, logs in table.blocks(observations):
        total += float(adversary.values(classes.belief[:, None] * np.exp(logs)[place]).sum())
    return total
