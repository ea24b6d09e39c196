"""Channels from the theory of Blowfish policies (Edwards et al. 2021)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import BlockChannel, Channel
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, as_fraction, is_exact

__all__ = ["theorem_five"]


def theorem_five(n: int, delta: Any) -> BlockChannel:
    """K^(δ): ln(1 + δ)-private on one K4 and n - 1 disjoint K2 (Edwards et al., Thm 5).

    Its leakage log2(4n(1 + δ)/(4 + 2δ)) comes as close to the diameter bound log2(n(1 + δ)) as one likes
    when δ → 0. At a fixed δ the most any private channel leaks lies strictly between the two.

    Parameters
    ----------
    n : int
        Number of components, at least 2; the inputs are the 2n + 2 vertices of
        `sievert.spaces.graphs.theorem_five(n)`.
    delta : number
        At least 0; an exact number (integer, fraction, text such as "1/10") gives an exact channel.

    Examples
    --------
    >>> theorem_five(2, "1/2").exact[0].tolist()[:4]
    [Fraction(3, 10), Fraction(3, 10), Fraction(1, 5), Fraction(1, 5)]
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 2:
        raise MechanismError(
            f"n is {abbreviated(n)}; the family of Theorem 5 needs a whole number of components ≥ 2"
        )
    try:
        exact = as_fraction(delta)
    except ValueError:
        exact = Fraction(-1)
    if exact < 0:
        raise MechanismError(f"delta is {abbreviated(delta)}; it must be a finite number ≥ 0")
    step = exact if is_exact(delta) else float(delta)
    high, total = 1 + step, 4 + 2 * step
    first = [[high, high, 1, 1], [1, high, high, 1], [1, 1, high, high], [high, 1, 1, high]]
    second = [[2 * high, 2], [2, 2 * high]]
    blocks = [Channel([[entry / total for entry in row] for row in rows]) for rows in (first, second)]
    return BlockChannel([blocks[0], *[blocks[1]] * (int(n) - 1)])
