"""Hiding and revealing: what a release tells about the author, and what about the topic.

Classes of secrets (documents by one author, on one topic) are what an adversary guesses. A channel hides
authors to level h when its release multiplies the chance of the best guess by 1 + h at most, and reveals
topics to level Δ when it multiplies that chance by 1 + Δ at least (Fernandes, Defs 9.5.1 and 9.5.2). The
prior is an argument: the printed trade-off between the two is false for a prior that is uniform on secrets
(erratum E2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import Channel, as_channel
from sievert.channels.priors import as_prior
from sievert.errors import TextError
from sievert.measures import GainMatrix, gains, leakage
from sievert.results import Result, guarded

__all__ = ["HideReveal", "hide_and_reveal", "hiding_level", "revealing_level"]
Classes = Mapping[Any, Iterable[object]] | Iterable[Iterable[object]]


@guarded
def hiding_level(channel: Channel, prior: Any, classes: Classes) -> float | Fraction:
    """The least h for which the channel hides the classes: its leakage about them, less 1.

    Parameters
    ----------
    channel : Channel
    prior : over its inputs
    classes : a partition of the inputs: lists, or a mapping from name to list

    Returns
    -------
    float or Fraction
        The chance of the best guess of the class grows by the factor 1 + h.

    Notes
    -----
    Cost: O(inputs·outputs).

    References
    ----------
    Fernandes (2021), Def 9.5.1.

    Examples
    --------
    >>> told = Channel([[1, 0], [1, 0], [0, 1], [0, 1]], inputs=list("abcd"))
    >>> hiding_level(told, ["1/4"] * 4, [["a", "c"], ["b", "d"]])
    Fraction(0, 1)
    """
    law = as_channel(channel)
    return _growth(law, as_prior(prior, law.inputs), _guess(law, classes))


@guarded
def revealing_level(channel: Channel, prior: Any, classes: Classes) -> float | Fraction:
    """The largest Δ for which the channel reveals the classes: its leakage about them, less 1.

    Parameters
    ----------
    channel : Channel
    prior : over its inputs
    classes : a partition of the inputs: lists, or a mapping from name to list

    Returns
    -------
    float or Fraction

    Notes
    -----
    The same number as `hiding_level`: what is wanted of topics is what is feared for authors.

    Cost: O(inputs·outputs).

    References
    ----------
    Fernandes (2021), Def 9.5.2.

    Examples
    --------
    >>> told = Channel([[1, 0], [1, 0], [0, 1], [0, 1]], inputs=list("abcd"))
    >>> revealing_level(told, ["1/4"] * 4, [["a", "b"], ["c", "d"]])
    Fraction(1, 1)
    """
    return hiding_level(channel, prior, classes)


@dataclass(frozen=True)
class HideReveal(Result):
    """What a channel hides of one partition and reveals of another.

    Attributes
    ----------
    hiding, revealing : h for the authors, Δ for the topics
    finer : whether every class of authors lies within one class of topics
    even : whether the prior gives every class of authors the same probability
    bounded : whether Δ ≤ h is a theorem here (finer and even)
    violated : whether Δ > h: where it is, `bounded` is False, and this is the counter-example
    """

    hiding: float | Fraction
    revealing: float | Fraction
    finer: bool
    even: bool

    @property
    def bounded(self) -> bool:
        return self.finer and self.even

    @property
    def violated(self) -> bool:
        return bool(self.revealing > self.hiding)

    def __str__(self) -> str:
        hidden, revealed = float(self.hiding), float(self.revealing)
        what = f"authors hidden to level {hidden:.6g}, topics revealed to {revealed:.6g}"
        if self.bounded:
            return f"{what}: no channel does better, since authors are finer than topics and equally likely"
        if self.violated:
            why = "authors are not equally likely" if self.finer else "authors are not finer than topics"
            return f"{what}: more is revealed than hidden, which is possible because {why}"
        return what


def hide_and_reveal(channel: Channel, prior: Any, authors: Classes, topics: Classes) -> HideReveal:
    """How much is hidden of authors while topics are revealed, and whether one bounds the other.

    Parameters
    ----------
    channel : Channel
    prior : over its inputs
    authors, topics : partitions of the inputs

    Returns
    -------
    HideReveal

    Notes
    -----
    Where authors are finer than topics and the prior gives every author the same probability, Δ ≤ h whatever
    the channel. The printed theorem asks for a prior uniform on secrets, for which it is false (erratum E2).

    Cost: O(inputs·outputs).

    References
    ----------
    Fernandes (2021), Thm 9.13, corrected.

    Examples
    --------
    >>> told = Channel([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> found = hide_and_reveal(told, ["1/4"] * 4, [[0, 1], [2], [3]], [[0, 1], [2, 3]])
    >>> found.hiding, found.revealing, found.violated
    (Fraction(1, 2), Fraction(1, 1), True)
    """
    law = as_channel(channel)
    belief = as_prior(prior, law.inputs)
    one, other = _guess(law, authors), _guess(law, topics)
    members, wider = (np.asarray(gain.matrix) > 0 for gain in (one, other))
    finer = all(any((row <= block).all() for block in wider) for row in members)
    masses = [sum(belief[i] for i in np.flatnonzero(row)) for row in members]
    even = max(masses) - min(masses) <= (0 if isinstance(masses[0], Fraction) else 1e-12)
    return HideReveal(_growth(law, belief, one), _growth(law, belief, other), finer, bool(even))


def _growth(law: Channel, belief: Any, guess: GainMatrix) -> float | Fraction:
    """By what share of itself a guess grows: the factor, which a guess always has, less 1."""
    found = leakage(law, belief, guess).factor
    assert found is not None
    level: float | Fraction = found - 1
    return level


def _guess(channel: Channel, classes: Classes) -> GainMatrix:
    try:
        return gains.partition(classes, channel.inputs)
    except ValueError as error:
        raise TextError(f"classes: {error}") from None
