"""Somebody joins a table that everybody knows: what does the noisy count tell about the newcomer?

The table D with N rows and its count c are known; a row x* drawn like them is added and the count of D + x*
is released with noise (Fernandes, Sec 5.6). Oblivious geometric noise around the count has two ratios of
neighbouring outputs only, alpha and 1/alpha: a closed form. Local noise on every row is counted by the
envelope of lines (`_envelope`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from sievert.arrays import AnyArray
from sievert.channels import Channel, as_channel
from sievert.errors import MechanismError, PolicyError, PriorError
from sievert.inference._correlation import Correlation, contingency
from sievert.inference._envelope import (
    Joining,
    best_line,
    chances,
    exact_excess,
    excess_at,
    gaps,
    lines,
    local_excess,
)
from sievert.inference._inputs import whole_joint
from sievert.inference._masses import matched
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, choice, in_percent, non_negative, taken
from sievert.results import Result
from sievert.spaces import Labels, label, shown, table_of

__all__ = ["Newcomer", "NewcomerTable", "Thresholds", "newcomer", "newcomer_table"]

# By how much a local mechanism must exceed its floor for that to count: it exceeds it by 1e-100 always.
VISIBLE = 1e-4
# Local noise is counted in fractions, where its alpha is one, for so many rows of so many values.
LARGEST_EXACT, LARGEST_VALUES = 60, 20
# The levels at which a local mechanism is looked at first; nothing happens beyond the last.
LEVELS = tuple([k / 4 for k in range(80)] + [float(k) for k in range(20, 61)])

Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Thresholds(Result):
    """At which ε utility and privacy loss exceed their floors, by more than `by`.

    Attributes
    ----------
    utility, privacy_loss : the least such ε in nats; None where there is none
    utility_spans, loss_spans : all of them, as intervals (from, to). Local noise may tell more at a small ε
        than at a larger one (Fernandes, erratum to Sec 5.6), so there may be several, found between levels a
        quarter of a nat apart
    by : how much counts
    """

    utility_spans: Spans
    loss_spans: Spans
    by: float

    @property
    def utility(self) -> float | None:
        """The least ε at which the count is told better than blindly."""
        return self.utility_spans[0][0] if self.utility_spans else None

    @property
    def privacy_loss(self) -> float | None:
        """The least ε at which the secret is guessed better than blindly."""
        return self.loss_spans[0][0] if self.loss_spans else None

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, and the least levels."""
        return {"utility": self.utility, "privacy_loss": self.privacy_loss, **super().to_dict()}


@dataclass(frozen=True)
class Newcomer(Result):
    """What a noisy count tells about somebody who joined.

    Attributes
    ----------
    privacy_loss : best guess of the secret after the release over that before, at least 1
    utility : how often the true count is guessed right
    excess_loss, excess_utility : by how much they exceed their floors, 1 and `utility_before`: added up by
        themselves, so that a tiny excess has digits too
    secret_before, secret_after : best guess of the newcomer's secret
    utility_before : how often the count is right without a release
    largest_loss : the loss if the secret were told outright, 1/`secret_before`
    limit : the privacy loss of the exact count
    eps : of the geometric noise in nats; None of a mechanism of one's own
    thresholds : at which ε the two leave their floors; None of a mechanism of one's own
    """

    mechanism: str
    eps: float | None
    records: int
    privacy_loss: Any
    utility: Any
    excess_loss: float
    excess_utility: float
    secret_before: Any
    secret_after: Any
    utility_before: Any
    largest_loss: Any
    limit: Any
    thresholds: Thresholds | None

    def __str__(self) -> str:
        level = "" if self.eps is None else f", ε = {self.eps:.6g}"
        return (
            f"Whoever sees the count guesses the newcomer's secret with "
            f"{in_percent(float(self.secret_before))} "
            f"before and {in_percent(float(self.secret_after))} after; the count itself is right with "
            f"{in_percent(float(self.utility))} ({self.mechanism}{level})."
        )


@dataclass(frozen=True)
class NewcomerTable(Result):
    """The same for several ε and both mechanisms: one row an ε."""

    eps: tuple[float, ...]
    oblivious: tuple[Newcomer, ...]
    local: tuple[Newcomer, ...]

    def rows(self) -> list[tuple[float, float, float, float, float]]:
        """e^ε, loss and utility of the oblivious mechanism, loss and utility of the local one."""
        pairs = zip(self.eps, self.oblivious, self.local, strict=True)
        return [
            (math.exp(e), float(o.privacy_loss), float(o.utility), float(n.privacy_loss), float(n.utility))
            for e, o, n in pairs
        ]

    def __str__(self) -> str:
        return "\n".join(
            f"e^ε = {a:9.6g}: oblivious {b:.6f} / {c:.6f}, local {d:.6f} / {e:.6f} (loss / utility)"
            for a, b, c, d, e in self.rows()
        )


def newcomer(
    table: Any,
    query: object,
    eps: float | None = None,
    mechanism: str | Channel = "oblivious",
    *,
    alpha: object = None,
    belief: object = None,
) -> Newcomer:
    """What the noisy count of a table tells about somebody who joins it.

    Parameters
    ----------
    table : counts [secret, value] of the known rows: a contingency table, or a `Correlation` that was counted
    query : the value that is counted, or a list of values
    eps : of the geometric noise, in nats; none with a mechanism of one's own
    mechanism : "oblivious" adds truncated geometric noise to the count; "local" to the value of every row,
        coded
        0, 1, 2, …; or a channel on the counts 0…N+1, or one on the values, applied to every row
    alpha : e^-eps instead of `eps`; a fraction gives exact answers, of the local mechanism for up to
        60 rows
    belief : probabilities [secret, value] of the newcomer, or a `Correlation`, where they differ from the
        table's; of a table without rows all pairs are as likely

    Returns
    -------
    Newcomer
        `privacy_loss`, `utility` and the `thresholds` at which they leave their floors.

    Notes
    -----
    The same ε is not the same guarantee: local noise on the codes 0…K-1 is (K-1)·ε-private between any two
    values.

    Cost: O(secrets·values) in closed form; local noise O(width of f) for each line of the envelope, where f
    is
    the law of the noisy count, about 80 standard deviations.

    References
    ----------
    Fernandes, Sec 5.6.

    Examples
    --------
    >>> found = newcomer([[20, 10], [10, 60]], 0, alpha="1/10")
    >>> found.privacy_loss, found.utility
    (Fraction(82, 77), Fraction(10, 11))
    """
    asked, uses = _question(table, query, belief)
    if isinstance(mechanism, Channel):
        if eps is not None or alpha is not None:
            raise MechanismError(
                "eps and alpha belong to mechanism='oblivious' or 'local'; a channel has its own"
            )
        return _of_channel(asked, uses, as_channel(mechanism, "mechanism"))
    choice("mechanism", mechanism, ("oblivious", "local"), MechanismError)
    level = privacy(eps, alpha)
    if mechanism == "oblivious":
        ratio = level.alpha if level.alpha is not None else math.exp(-level.eps)
        return _oblivious(asked, ratio, level.eps)
    return _local(asked, level.eps, level.alpha)


def newcomer_table(
    table: Any, query: object, eps: Iterable[float], *, belief: object = None
) -> NewcomerTable:
    """The new-row calculator for several ε: oblivious beside local geometric noise.

    Parameters
    ----------
    table : counts [secret, value] of the known rows, or a `Correlation` that was counted
    query : the value that is counted, or a list of values
    eps : levels in nats
    belief : as for `newcomer`

    Returns
    -------
    NewcomerTable
        A `Newcomer` for each ε and mechanism; `rows()` has the numbers.

    Notes
    -----
    Cost: that of `newcomer` for each cell; COMPAS with 11,710 rows takes about 10 ms a cell.

    Examples
    --------
    >>> print(newcomer_table([[20, 10], [10, 60]], 0, [0, 2]))
    e^ε =         1: oblivious 1.000000 / 0.700000, local 1.000000 / 0.700000 (loss / utility)
    e^ε =   7.38906: oblivious 1.040683 / 0.880797, local 1.000000 / 0.700000 (loss / utility)
    """
    given = taken("eps", eps, MechanismError, "levels")
    levels = tuple(non_negative("eps", value, MechanismError) for value in given)
    found = {
        name: tuple(newcomer(table, query, level, name, belief=belief) for level in levels)
        for name in ("oblivious", "local")
    }
    return NewcomerTable(levels, found["oblivious"], found["local"])


def _question(table: Any, query: object, belief: Any) -> tuple[Joining, Labels]:
    """Who joins which rows, and the values."""
    known, rows = _known(table)
    uses = known.uses
    wanted = {label(item) for item in query} if isinstance(query, list | tuple | set) else {label(query)}
    unknown = [item for item in wanted if item not in uses]
    if unknown or not wanted:
        raise PolicyError(f"query is {abbreviated(query)}, which matches none of the values {shown(uses)}")
    joint = whole_joint(known.joint if belief is None else _believed(belief, uses))
    return Joining(joint, rows, tuple(use in wanted for use in uses)), uses


def _known(table: Any) -> tuple[Correlation, tuple[int, ...]]:
    """How secret and value go together in a table, and how many rows have each value."""
    if not isinstance(table, Correlation):
        numbers, secrets, uses = contingency(table)
        rows = tuple(sum(column) for column in numbers.T.tolist())
        return Correlation.from_counts(numbers if any(rows) else numbers + 1, secrets, uses), rows
    total = table.total
    if total is None:
        raise PolicyError(
            "table has no counts; the newcomer joins rows that are known, give a contingency table of them"
        )
    return table, tuple(round(value * total) for value in table.use_prior.tolist())


def _believed(belief: Any, uses: Labels) -> AnyArray:
    """The newcomer's joint [secret, value], its values in the table's order."""
    if not isinstance(belief, Correlation):
        given = table_of(belief, "belief", PriorError)
        belief = Correlation(belief, uses=None if given.columns is not None else uses)
    order = matched(uses, belief.uses)
    if order is None:
        raise PolicyError(
            f"belief is about the values {shown(belief.uses)}; it must be about those of the table, "
            f"{shown(uses)}"
        )
    return np.asarray(belief.joint[:, list(order)])


# ── Noise on the count itself ───────────────────────────────────────────────────────────────────────────────


def _oblivious(asked: Joining, alpha: Any, eps: float) -> Newcomer:
    """All outputs y ≤ c have one ratio and all y > c another, whatever the truncation: two guesses."""
    chance = np.array([Fraction(int(flag)) for flag in asked.counted], dtype=object)
    told, guessed = (_leaves(*lines(joint, 1 - chance, chance)) for joint in (asked.by_use, asked.joint))
    thresholds = Thresholds(_onwards(told), _onwards(guessed), 0.0)

    def excess(joint: AnyArray) -> Any:
        a, b = lines(joint, 1 - chance, chance)
        top = best_line(a, b)
        # (max_s(a_s + α·b_s) + max_s(α·a_s + b_s))/(1 + α), less max_s(a_s + b_s).
        gains = [
            max((x - a[top]) * first + (y - b[top]) * second for x, y in zip(a, b, strict=True))
            for first, second in ((1, alpha), (alpha, 1))
        ]
        return sum(gains) / (1 + alpha)

    return _found("oblivious", asked, eps, excess(asked.joint), excess(asked.by_use), thresholds)


def _onwards(level: float | None) -> Spans:
    return () if level is None else ((level, math.inf),)


def _leaves(a: AnyArray, b: AnyArray) -> float | None:
    """The ε from which on some other guess is better at one of the two ratios."""
    top = best_line(a, b)
    largest: Fraction | None = None
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        for gained, lost in ((x - a[top], b[top] - y), (y - b[top], a[top] - x)):
            if gained > 0 and lost > 0:
                ratio = Fraction(gained) / Fraction(lost)
                largest = ratio if largest is None else max(largest, ratio)
    return None if largest is None else max(0.0, math.log(largest.denominator) - math.log(largest.numerator))


def _found(
    name: str, asked: Joining, eps: float | None, loss: Any, more: Any, thresholds: Thresholds | None
) -> Newcomer:
    secret, use = (max(joint.sum(axis=1).tolist()) for joint in (asked.joint, asked.by_use))
    chance = np.array([Fraction(int(flag)) for flag in asked.counted], dtype=object)
    a, b = lines(asked.joint, 1 - chance, chance)
    exact = isinstance(loss, Fraction | int)
    before, base = (secret, use) if exact else (float(secret), float(use))
    return Newcomer(
        mechanism=name,
        eps=eps,
        records=asked.records,
        privacy_loss=1 + loss / before,
        utility=base + more,
        excess_loss=float(loss / before),
        excess_utility=float(more),
        secret_before=secret,
        secret_after=before + loss,
        utility_before=use,
        largest_loss=1 / secret,
        limit=(max(a.tolist()) + max(b.tolist())) / secret,
        thresholds=thresholds,
    )


def _of_channel(asked: Joining, uses: Labels, channel: Channel) -> Newcomer:
    """Any mechanism: on the counts 0…N+1, or on the values of every row."""
    channel = channel.finite()
    if set(channel.inputs) == set(uses) and asked.records + 2 != len(channel.inputs):
        counted = {use for use, flag in zip(uses, asked.counted, strict=True) if flag}
        if not counted <= set(channel.outputs):
            raise MechanismError(
                f"mechanism is a channel on the values, whose outputs are {shown(channel.outputs)}; what "
                "is counted "
                "must be among them"
            )
        places = [channel.output_index(use) for use in counted]
        counting = chances(np.stack([channel.row(use) for use in uses]), places)
        loss, more = (local_excess(asked, joint, *counting) for joint in (asked.joint, asked.by_use))
        return _found("own, on every row", asked, None, loss, more, None)
    c = asked.count
    missing = [count for count in (c, c + 1) if count not in channel.inputs]
    if missing:
        raise MechanismError(
            f"mechanism is a channel on {shown(channel.inputs)}; it must take the counts {c} and {c + 1}, "
            "or the "
            f"values {shown(uses)}"
        )
    pair = np.stack([channel.row(c), channel.row(c + 1)])
    hit = np.array(asked.counted, dtype=np.float64)

    def excess_of(joint: AnyArray) -> float:
        gains = np.array([(0.0, 0.0), *gaps(joint, 1 - hit, hit)]) @ pair
        return math.fsum(gains.max(axis=0).tolist())

    found = excess_of(asked.joint), excess_of(asked.by_use)
    return _found("own, on the count", asked, None, *found, None)


# ── Noise on every row ──────────────────────────────────────────────────────────────────────────────────────


def _local(asked: Joining, eps: float, alpha: Fraction | None) -> Newcomer:
    exact = alpha is not None and asked.records <= LARGEST_EXACT and len(asked.rows) <= LARGEST_VALUES
    found: Any = (
        exact_excess(asked, joint, alpha) if exact else excess_at(asked, joint, eps)
        for joint in (asked.joint, asked.by_use)
    )
    loss, more = found
    table = tuple(tuple(row) for row in asked.joint.tolist())
    return _found("local", asked, eps, loss, more, _local_thresholds(table, asked.rows, asked.counted))


@lru_cache(maxsize=64)
def _local_thresholds(
    table: tuple[tuple[Fraction, ...], ...], rows: tuple[int, ...], counted: tuple[bool, ...]
) -> Thresholds:
    """They depend on the table alone, so that several ε ask once."""
    joint = np.empty((len(table), len(rows)), dtype=object)
    joint[:] = table
    asked = Joining(joint, rows, counted)
    secret = float(max(joint.sum(axis=1).tolist()))
    return Thresholds(
        _above(lambda level: excess_at(asked, asked.by_use, level)),
        _above(lambda level: excess_at(asked, joint, level) / secret),
        VISIBLE,
    )


def _above(excess: Callable[[float], float]) -> Spans:
    """Where a quantity is visible: it passes the line between two levels, or on a hill or in a dip there."""

    def over(level: float) -> float:
        return excess(level) - VISIBLE

    height = {level: over(level) for level in LEVELS}
    for left, middle, right in zip(LEVELS, LEVELS[1:], LEVELS[2:], strict=False):
        side = 1.0 if height[middle] > 0 else -1.0
        near = VISIBLE / 10 < height[middle] + VISIBLE < 10 * VISIBLE
        if near and side * height[middle] < min(side * height[left], side * height[right]):
            found = minimize_scalar(
                lambda x, side=side: side * over(x), bounds=(left, right), method="bounded"
            )
            height[float(found.x)] = over(float(found.x))
    levels = sorted(height)
    edges = [0.0] if height[levels[0]] > 0 else []
    for left, right in itertools.pairwise(levels):
        if (height[left] > 0) != (height[right] > 0):
            edges.append(float(brentq(over, left, right, xtol=1e-10)))
    if height[levels[-1]] > 0:
        edges.append(math.inf)
    return tuple(zip(edges[::2], edges[1::2], strict=True))
