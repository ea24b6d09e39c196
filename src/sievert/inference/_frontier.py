"""The exact trade-off: how accurate can a release be while a secret stays guarded?

The largest accuracy under V_S ≤ τ is a linear program (`_program`), so the whole frontier is a concave line
of finitely many pieces. Every point comes with a mechanism that reaches it and with prices that prove that
none exceeds it (`_certificates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.errors import PolicyError
from sievert.inference._correlation import Correlation
from sievert.inference._curve import SMALLEST_KINK, traced
from sievert.inference._frontier_problem import FrontierProblem
from sievert.inference._points import InferenceCurve, InferenceFrontier
from sievert.mechanisms import privacy
from sievert.numerics import abbreviated, advance, taken
from sievert.spaces import Metric

__all__ = ["curve", "frontier", "frontier_question"]


def frontier(
    correlation: Correlation | Sequence[Correlation],
    limits: Any,
    eps: float | None = None,
    metric: Metric | None = None,
    insensitive: bool = False,
    *,
    alpha: object = None,
    gain: object = None,
    use_gain: object = None,
    ball: object = None,
    box: object = None,
) -> InferenceFrontier:
    """The largest accuracy while a secret is guessed with at most a given probability, with proof.

    Parameters
    ----------
    correlation : how secret and use go together; several, over the same data, protect several secrets at once
    limits : how often a secret may be guessed: one number, or a list of them, a point for each; with several
        secrets one number is for all of them, and a tuple has one for each
    eps : the mechanism must also be ε-private, in nats
    metric : between uses, or between the inputs of the raw data; ε counts for its distances. By default any
        two inputs are at distance 1
    insensitive : the mechanism sees the use only, not the raw data
    alpha : e^-eps instead of `eps`; a fraction makes exact answers possible
    gain : on the secrets: what is limited is the value of this gain, whose largest entry is from 0.001 to
        1e9; one guess by default
    use_gain : on the uses: what is made large; one guess by default
    ball : the limits hold for every joint of which a share of at least 1 - ball is the given one
    box : the limits hold for every joint whose probabilities differ from the given ones by at most this

    Returns
    -------
    InferenceFrontier
        Points with `accuracy`, `mechanism` and `certificate`, in the order of the limits.

    Notes
    -----
    A linear program over mechanisms [input, guess of the use]. Only the secrets that are given are protected:
    for every participant of a survey give one correlation each, or use `insensitive`.

    Cost: one program of inputs·uses variables, solved anew from the last limit; of a long line of tallies
    only a core and likely guesses, folded where they are symmetric, or all guesses from inside: 1000
    participants take seconds at any limit. Above what the best mechanism gives away without limits, no
    program at all: geometric noise is the best on a line.

    References
    ----------
    Fernandes, Sec 5.4 and 5.5; the program is not in the thesis.

    Examples
    --------
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> frontier(survey, ["1/2", "3/4"]).accuracies
    (Fraction(3, 4), Fraction(1, 1))
    """
    level = _level(eps, alpha)
    question = FrontierProblem(correlation, level, metric, insensitive, (gain, use_gain), (ball, box))
    wanted = [question.limits(item) for item in _listed(limits)]
    found = []
    for place, limit in enumerate(wanted):
        advance("best mechanisms", place, len(wanted))
        found.append(question.point(limit))
    return InferenceFrontier(tuple(found))


def frontier_question(
    correlation: Correlation | Sequence[Correlation],
    limit: Any,
    eps: float | None = None,
    metric: Metric | None = None,
    insensitive: bool = False,
) -> dict[str, Any]:
    """What a proof of `frontier` with these arguments is about, found without solving anything.

    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> proof = frontier(survey, "3/4")[0].certificate
    >>> proof.question() == frontier_question(survey, "3/4"), proof.question() == frontier_question(survey, 1)
    (True, False)
    """
    question = FrontierProblem(
        correlation, _level(eps, None), metric, insensitive, (None, None), (None, None)
    )
    return question.asked(question.limits(limit))


def curve(
    correlation: Correlation | Sequence[Correlation],
    eps: float | None = None,
    metric: Metric | None = None,
    insensitive: bool = False,
    *,
    alpha: object = None,
    gain: object = None,
    use_gain: object = None,
    ball: object = None,
    box: object = None,
    within: float = SMALLEST_KINK,
) -> InferenceCurve:
    """The whole frontier: every limit at which its slope changes.

    Parameters
    ----------
    correlation : how secret and use go together; several secrets have one limit
    eps, metric, insensitive, alpha, gain, use_gain, ball, box : as for `frontier`
    within : how far the curve may be above the straight line between two kinks

    Returns
    -------
    InferenceCurve
        `limits` and `accuracies` at the kinks, the `slopes` between them, a proved point for each of them
        (`points`), and the proved `gap` over the whole of it.

    Notes
    -----
    Each solve gives a point and a tangent, its multiplier; where two tangents meet, the curve either has a
    kink or is solved again. So k kinks take about 2k solves, and none lies between them unseen. The prices
    of a tangent bound the whole piece that it touches, so that the certificates of the points prove the curve
    between them too.

    Cost: that of `frontier` once, and a few steps of the simplex and a proof for each kink.

    Examples
    --------
    >>> import math
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> found = curve(survey, eps=math.log(3), metric=Metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    >>> [round(x, 6) for x in found.limits], [round(x, 6) for x in found.accuracies]
    ([0.5, 0.666667], [0.5625, 0.625])
    """
    level = _level(eps, alpha)
    question = FrontierProblem(correlation, level, metric, insensitive, (gain, use_gain), (ball, box))
    if not (isinstance(within, float | int) and SMALLEST_KINK <= within <= 1):
        raise PolicyError(f"within is {abbreviated(within)}; it must be from {SMALLEST_KINK:g} to 1")
    return traced(question, float(within))


def _level(eps: object, alpha: object) -> Any:
    """What is promised; None for nothing."""
    return None if eps is None and alpha is None else privacy(eps, alpha)


def _listed(limits: Any) -> list[Any]:
    single = isinstance(limits, str | int | float | Fraction | np.number | tuple)
    items = [limits] if single else taken("limits", limits, PolicyError, "limits")
    if not items:
        raise PolicyError("limits is empty; give how often the secret may be guessed")
    return items
