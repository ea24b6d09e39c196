"""Correlations that are known only nearly: the joints that may be true, by their extreme ones.

What somebody gains from a release is convex in the joint, so over a polytope of joints it is largest at a
vertex: a limit that holds at every vertex holds for every joint. A *ball* of radius r has every joint of
which a share of at least 1 - r is the given one; its vertices put the rest on one pair. A *box* has every
joint whose probabilities differ from the given ones by at most r.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, BoolArray, ObjectArray
from sievert.errors import PolicyError
from sievert.numerics import abbreviated, as_fraction, is_exact, read_eps, require_size
from sievert.proofs import exact_rows

__all__ = ["extreme_joints"]

LARGEST_WORLDS = 2000


def extreme_joints(joint: AnyArray, cells: BoolArray, ball: Any, box: Any) -> list[AnyArray]:
    """The extreme joints [secret, input] near one; `cells` are the pairs that may occur."""
    if ball is None and box is None:
        return [joint]
    if ball is not None and box is not None:
        raise PolicyError("ball and box are both given; give one of them")
    exact = exact_rows(joint)
    exact = np.asarray(exact / exact.sum())
    if ball is not None:
        return _ball(exact, cells, _radius("ball", ball))
    return _box(exact, cells, _radius("box", box))


def _radius(argument: str, given: Any) -> Fraction:
    try:
        masked = given is np.ma.masked
        value = as_fraction(given) if is_exact(given) else read_eps(math.nan if masked else float(given))
    except (TypeError, ValueError, OverflowError):
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise PolicyError(
            f"{argument} is {abbreviated(given)}; it must be from 0 to 1: how far off is the correlation?"
        )
    return value


def _ball(joint: ObjectArray, cells: BoolArray, radius: Fraction) -> list[AnyArray]:
    places = np.argwhere(cells).tolist()
    require_size(len(places), LARGEST_WORLDS, "the joints in the ball", "group secrets or uses")
    found = []
    for s, i in places:
        world = joint * (1 - radius)
        world[s, i] += radius
        found.append(world)
    return found


def _box(joint: ObjectArray, cells: BoolArray, radius: Fraction) -> list[AnyArray]:
    """All pairs but one are at an end of their interval, and that one has what is left."""
    places = [tuple(place) for place in np.argwhere(cells).tolist()]
    require_size(
        len(places) * 2 ** (len(places) - 1),
        LARGEST_WORLDS * 4,
        "the joints in the box",
        "give a ball instead",
    )
    ends = [(max(Fraction(0), joint[p] - radius), min(Fraction(1), joint[p] + radius)) for p in places]
    seen: dict[tuple[Fraction, ...], AnyArray] = {}
    for free, place in enumerate(places):
        others = [end for k, end in enumerate(ends) if k != free]
        for chosen in product(*others):
            rest = 1 - sum(chosen, Fraction(0))
            if not ends[free][0] <= rest <= ends[free][1]:
                continue
            values = (*chosen[:free], rest, *chosen[free:])
            if values in seen:
                continue
            world = np.full(joint.shape, Fraction(0), dtype=object)
            for where, value in zip(places, values, strict=True):
                world[where] = value
            world[place] = rest
            seen[values] = world
    require_size(len(seen), LARGEST_WORLDS, "the joints in the box", "give a ball instead")
    return list(seen.values())
