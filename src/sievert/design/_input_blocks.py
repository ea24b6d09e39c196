"""Inputs in blocks that nothing tells apart inside: what is best for one of each is best for all.

Averaging the rows of a private mechanism over a block, weighted by prior and loss, keeps it private between
blocks, so a mechanism on representatives is universally optimal iff it is on all inputs (our notes, 4.10).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, FloatArray

__all__ = ["blocks_of", "loss_classes"]


def loss_classes(loss: AnyArray) -> list[tuple[Fraction, ...] | None]:
    """Losses [action, input] up to a positive factor and a shift of each input; None where all are equal."""
    found: list[tuple[Fraction, ...] | None] = []
    for column in np.asarray(loss).T.tolist():
        values = [Fraction(value) for value in column]
        least, most = min(values), max(values)
        found.append(None if least == most else tuple((v - least) / (most - least) for v in values))
    return found


def blocks_of(
    distances: FloatArray, loss: AnyArray, same: Callable[[int, int], bool] = lambda first, second: True
) -> list[tuple[int, ...]]:
    """Coarse blocks inside which losses are alike and `same` holds, and distances to other blocks too.

    Inputs whose losses do not depend on the action go with any others. A block's first input is one whose
    losses do, if there is one.
    """
    classes = loss_classes(loss)
    size = len(distances)
    order = sorted(range(size), key=lambda x: (classes[x] is None, x))
    home = np.full(size, -1)
    firsts: list[int] = []
    for x in order:
        fits = (
            k for k, y in enumerate(firsts) if (classes[x] is None or classes[x] == classes[y]) and same(y, x)
        )
        home[x] = next(fits, len(firsts))
        firsts += [x] if home[x] == len(firsts) else []
    home = _refined(distances, home)
    return [tuple(x for x in order if home[x] == k) for k in dict.fromkeys(home.tolist())]


def _refined(distances: FloatArray, home: Any) -> Any:
    """Blocks split until all inputs of one are equally far from every input outside."""
    while True:
        seen: dict[tuple[Any, ...], int] = {}
        new = home.copy()
        for x in range(len(home)):
            away = tuple(distances[x, home != home[x]].tolist())
            new[x] = seen.setdefault((int(home[x]), away), len(seen))
        if len(set(new.tolist())) == len(set(home.tolist())):
            return new
        home = new
