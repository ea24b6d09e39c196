"""Surveys: n people answer yes or no, and the tally is released. What does it tell about one of them?

Everything factors through the tally, so nothing is larger than a row of n + 1 numbers
(Fernandes, Sec 5.2 and 5.3.2, for any n). With randomised response the noisy answers of the others are
independent: their count is binomial; and given that y answers are a noisy yes, the true tally is a sum of two
binomials, whose largest probability lies next to its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, FloatArray
from sievert.channels import Channel
from sievert.errors import MechanismError, PolicyError
from sievert.inference._correlation import Correlation
from sievert.inference._envelope import binomial_law
from sievert.measures import posterior_vulnerability
from sievert.mechanisms import privacy, truncated_geometric
from sievert.numerics import (
    abbreviated,
    as_fraction,
    choice,
    in_percent,
    is_exact,
    probability,
    require_size,
    whole,
)
from sievert.results import Result

__all__ = ["KINDS", "Survey", "survey", "survey_channel", "survey_correlation"]

KINDS = ("response", "geometric", "individual", "noiseless")
WORDS = {
    "response": "randomised response, counted",
    "geometric": "truncated geometric noise on the tally",
    "individual": "randomised response, every noisy answer visible",
    "noiseless": "the exact tally",
}
# Up to this many people the answers are fractions, where everything given is one.
LARGEST_EXACT = 60
LARGEST_SURVEY = 100_000
# The whole channel takes n³/6 products: so many people in floats, and in fractions.
LARGEST_CHANNEL, LARGEST_EXACT_CHANNEL = 2000, 200
# Probabilities of the tally as fractions have n digits each.
LARGEST_EXACT_TALLY = 5000
# Outputs this rare add less than a unit of the last digit to the accuracy, which is at least 1/(n + 1), and
# entries beyond so many standard deviations add less to the largest of a sum.
NEGLIGIBLE, NEAR = 1e-26, 12.0


@dataclass(frozen=True)
class Survey(Result):
    """What a survey tells: about one participant (the secret) and about the tally (the use).

    Attributes
    ----------
    privacy, accuracy : V_S and V_U: how often the answer of one participant, and the tally, are guessed right
    privacy_before, accuracy_before : the same without a release
    loss : V_S after over before
    """

    n: int
    eps: float
    kind: str
    yes: Any
    privacy: Any
    accuracy: Any
    privacy_before: Any
    accuracy_before: Any

    @property
    def loss(self) -> Any:
        """How many times better one participant's answer is guessed."""
        return self.privacy / self.privacy_before

    def __str__(self) -> str:
        values = (self.privacy_before, self.privacy, self.accuracy_before, self.accuracy)
        before, after, blind, right = (in_percent(float(value)) for value in values)
        return (
            f"{self.n} people, {WORDS[self.kind]}: one answer is guessed with {before} before and {after} "
            "after; "
            f"the tally with {blind} before and {right} after."
        )


def survey(
    n: int, eps: float | None = None, *, kind: str = "response", yes: object = 0.5, alpha: object = None
) -> Survey:
    """What a survey of n people tells about one of them, and how well it tells the tally.

    Parameters
    ----------
    n : number of people, each of whom answers yes with probability `yes`, independently
    eps : level of the noise in nats
    kind : "response" (each answers at random, with odds e^ε for the truth, and the answers are counted),
        "geometric" (truncated geometric noise on the tally), "individual" (randomised response with every
        noisy answer visible) or "noiseless" (the exact tally; no eps)
    yes : probability of a yes
    alpha : e^-eps instead of `eps`; a fraction gives exact answers for up to 60 people

    Returns
    -------
    Survey
        `privacy` (V_S) and `accuracy` (V_U), and both before the release.

    Notes
    -----
    Cost: O(n) for the geometric, O(n^1.5) for randomised response; exact answers O(n²) fractions.

    References
    ----------
    Fernandes, Sec 5.2 and Figures 5.1, 5.2.

    Examples
    --------
    >>> survey(2, kind="response", alpha="1/3", yes="1/2").privacy
    Fraction(5, 8)
    >>> round(survey(1000, math.log(3), kind="geometric").privacy, 8)
    0.51257508
    """
    n = whole("n", n, PolicyError, most=LARGEST_SURVEY)
    choice("kind", kind, KINDS, MechanismError)
    chance = _chance(yes)
    level = privacy(math.inf, None) if kind == "noiseless" else privacy(eps, alpha)
    known = isinstance(chance, Fraction) or chance == 0.5
    exact = level.alpha is not None and known and n <= LARGEST_EXACT
    values: tuple[Any, Any] = (
        _exactly(n, level.alpha, kind, Fraction(chance))
        if exact and level.alpha is not None
        else _in_floats(n, level.eps, kind, float(chance))
    )
    blind = max(chance, 1 - chance), max(_tally(n, chance if exact else float(chance)).tolist())
    # A release never makes the best guess worse, nor better than certain; rounding may say so by 1e-16.
    if not exact:
        values = min(1.0, max(values[0], float(blind[0]))), min(1.0, max(values[1], float(blind[1])))
    return Survey(n, level.eps, kind, chance, *values, *blind)


def survey_correlation(n: int, yes: object = Fraction(1, 2)) -> Correlation:
    """One participant's answer (0, 1) against the tally 0…n.

    Parameters
    ----------
    n : number of people
    yes : probability of a yes, above 0 and below 1; a fraction is kept for up to 5000 people

    Returns
    -------
    Correlation
        Probabilities [answer of the participant, tally].

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> survey_correlation(2).joint[1].tolist()
    [Fraction(0, 1), Fraction(1, 4), Fraction(1, 4)]
    """
    n = whole("n", n, PolicyError, most=LARGEST_SURVEY)
    chance = _chance(yes)
    if isinstance(chance, Fraction):
        require_size(n, LARGEST_EXACT_TALLY, "people counted in fractions", "give yes as a float")
    table = _joint(n, chance)
    if table.dtype != object:
        table /= table.sum()
    found = Correlation(table, secrets=(0, 1), uses=range(n + 1))
    found.secret_words, found.use_words = "one participant's answer", "the tally"
    return found


def survey_channel(n: int, alpha: Any, kind: str) -> Channel:
    """The channel of a survey on the tally 0…n.

    Parameters
    ----------
    n : number of people
    alpha : e^-eps; a fraction gives an exact channel
    kind : as in `survey`; "noiseless" is the identity whatever alpha is, and "individual" the count of the
        visible answers, which tells as much about the tally

    Returns
    -------
    Channel
        From the tally to the noisy count.

    Notes
    -----
    Cost: O(n³) products for randomised response, for up to 2000 people in floats and 200 in fractions.

    Examples
    --------
    >>> survey_channel(1, "1/3", "response").exact.tolist()
    [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    """
    n = whole("n", n, PolicyError, most=LARGEST_SURVEY)
    choice("kind", kind, KINDS, MechanismError)
    level = privacy(math.inf, None) if kind == "noiseless" else privacy(None, alpha)
    if kind in ("geometric", "noiseless"):
        return truncated_geometric(n + 1, **_given(level))
    if level.alpha is None:
        require_size(n, LARGEST_CHANNEL, "people in a whole channel", "ask survey, which needs none")
        toward, against = math.exp(level.eps), math.exp(-level.eps)
        rows = [np.convolve(_law(u, toward), _law(n - u, against)) for u in range(n + 1)]
    else:
        require_size(n, LARGEST_EXACT_CHANNEL, "people in an exact channel", "give alpha as a float")
        truth = 1 / (1 + level.alpha)
        rows = [_convolved(_binomial(u, truth), _binomial(n - u, 1 - truth)) for u in range(n + 1)]
    return Channel(np.stack(rows), inputs=range(n + 1), outputs=range(n + 1))


def _given(level: Any) -> dict[str, Any]:
    return {"eps": level.eps} if level.alpha is None else {"alpha": level.alpha}


def _chance(yes: object) -> Any:
    """A probability, as a fraction where it is exact."""
    try:
        exact = is_exact(yes) and not isinstance(yes, bool)
        chance: Any = as_fraction(yes) if exact else probability("yes", yes, PolicyError)
    except ValueError:
        raise PolicyError(f"yes is {abbreviated(yes)}; it must be a probability from 0 to 1") from None
    if not 0 <= chance <= 1:
        raise PolicyError(f"yes is {abbreviated(yes)}; it must be a probability from 0 to 1")
    return chance


def _joint(n: int, chance: Any) -> AnyArray:
    """Probabilities [answer of the participant, tally]."""
    others = _tally(n - 1, chance)
    zero = others[:1] * 0
    return np.stack([np.append(others * (1 - chance), zero), np.append(zero, others * chance)])


def _tally(n: int, chance: Any) -> AnyArray:
    """The distribution of how many of n say yes."""
    if isinstance(chance, Fraction):
        return _binomial(n, chance)
    return _law(n, _odds(chance, 1 - chance))


def _law(n: int, odds: float) -> FloatArray:
    """The binomial law with these odds, all n + 1 entries."""
    start, law = binomial_law(n, odds)
    full = np.zeros(n + 1)
    full[start : start + len(law)] = law
    return full


def _binomial(n: int, chance: Fraction) -> AnyArray:
    law = np.empty(n + 1, dtype=object)
    law[:] = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
    return law


def _convolved(first: AnyArray, second: AnyArray) -> AnyArray:
    found = np.full(len(first) + len(second) - 1, first[0] * 0, dtype=first.dtype)
    for k, value in enumerate(first):
        found[k : k + len(second)] += value * second
    return found


def _exactly(n: int, alpha: Fraction, kind: str, yes: Fraction) -> tuple[Fraction, Fraction]:
    """V_S and V_U in fractions."""
    joint = _joint(n, yes)
    prior = joint.sum(axis=0)
    if kind == "noiseless":
        return Fraction(joint.max(axis=0).sum()), Fraction(1)
    table = survey_channel(n, alpha, kind).exact
    assert table is not None
    accuracy = Fraction((prior[:, None] * table).max(axis=0).sum())
    if kind == "individual":
        truth = 1 / (1 + alpha)
        return _seen(truth, yes), accuracy
    with_output = (joint[:, :, None] * table[None]).sum(axis=1)
    return Fraction(with_output.max(axis=0).sum()), accuracy


def _seen(truth: Any, yes: Any) -> Any:
    """The best guess of an answer whose noisy form is seen."""
    lie = 1 - truth
    return max(yes * truth, (1 - yes) * lie) + max(yes * lie, (1 - yes) * truth)


def _in_floats(n: int, eps: float, kind: str, yes: float) -> tuple[float, float]:
    if kind == "geometric":
        return _geometric(n, eps, yes)
    if kind == "noiseless":
        others = _tally(n - 1, yes)
        return _guessed(others, yes, 1.0), 1.0
    alpha = math.exp(-eps)
    truth, lie = 1 / (1 + alpha), alpha / (1 + alpha)
    accuracy = _tally_from_answers(n, truth, lie, yes)
    if kind == "individual":
        return _seen(truth, yes), accuracy
    noisy = _odds(yes * truth + (1 - yes) * lie, yes * lie + (1 - yes) * truth)
    return _guessed(_law(n - 1, noisy), yes, truth), accuracy


def _guessed(others: FloatArray, yes: float, truth: float) -> float:
    """Best guess of one answer from the count of n noisy ones; `others` is the law of the other n - 1."""
    without, with_one = np.append(others, 0.0), np.insert(others, 0, 0.0)
    said_yes = yes * (truth * with_one + (1 - truth) * without)
    said_no = (1 - yes) * ((1 - truth) * with_one + truth * without)
    return math.fsum(np.maximum(said_yes, said_no).tolist())


def _geometric(n: int, eps: float, yes: float) -> tuple[float, float]:
    """The kernel's sums and its decaying maxima, O(n)."""
    if n == 0:
        return max(yes, 1 - yes), 1.0
    noise = truncated_geometric(n + 1, eps)
    others = _tally(n - 1, yes)
    rows = [(1 - yes) * np.append(others, 0.0), yes * np.insert(others, 0, 0.0)]
    joint = np.stack([noise.rmatvec(row) for row in rows])
    tally = _tally(n, yes)
    accuracy = posterior_vulnerability(noise, tally / math.fsum(tally.tolist()))
    return math.fsum(joint.max(axis=0).tolist()), float(accuracy.value)


def _tally_from_answers(n: int, truth: float, lie: float, yes: float) -> float:
    """Σ_y P(y)·max_u P(u|y): given y, the tally is Bin(y, a) + Bin(n-y, b), largest next to its mean."""
    # What a noisy yes and a noisy no stand for: a yes, or a no.
    said_yes, said_no = (yes * truth, (1 - yes) * lie), (yes * lie, (1 - yes) * truth)
    outputs = _law(n, _odds(sum(said_yes), sum(said_no)))
    told, lied = (_share(*said) for said in (said_yes, said_no))
    terms = []
    for y in np.flatnonzero(outputs > NEGLIGIBLE).tolist():
        first_at, first = binomial_law(y, _odds(*said_yes), NEAR)
        second_at, second = binomial_law(n - y, _odds(*said_no), NEAR)
        mean = y * told + (n - y) * lied - first_at - second_at
        near = range(max(0, math.floor(mean) - 2), min(len(first) + len(second) - 1, math.ceil(mean) + 3))
        terms.append(outputs[y] * max(_at(first, second, u) for u in near))
    return math.fsum(terms)


def _odds(first: float, second: float) -> float:
    return first / second if second else math.inf


def _share(first: float, second: float) -> float:
    """first/(first + second); what never occurs has the share 0."""
    return first / (first + second) if first else 0.0


def _at(first: FloatArray, second: FloatArray, u: int) -> float:
    """One entry of the convolution."""
    low, high = max(0, u - len(second) + 1), min(len(first) - 1, u)
    if high < low:
        return 0.0
    part = second[u - high : u - low + 1][::-1]
    return float(first[low : high + 1] @ part)
