"""Backwards for documents and vectors: the least noise at which a file keeps its [accept]."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR

from sievert.errors import FileError
from sievert.files import DocumentsScenario, VectorsScenario
from sievert.limits import six_digits
from sievert.numerics import advance
from sievert.questions._document_audit import nats_within, varied_nats
from sievert.results import Result

__all__ = ["MaxLevel", "max_level"]

# Quotient of two levels at which the search stops, what it begins with, and how far it goes.
CLOSE, GROWTH, FURTHEST = 1 + 1e-4, 4.0, 1e9


@dataclass(frozen=True)
class MaxLevel(Result):
    """The least noise at which a file with [documents] or [vectors] keeps its limits.

    Attributes
    ----------
    name : "eps", or "scale" where the noise is told by its width
    level : the largest ε, or the smallest scale; rounded to the safe side. inf (0 for a scale): any will do
    own : what the file has
    """

    name: str
    level: float
    own: float

    @property
    def passed(self) -> bool:
        """Whether the file's own level is within."""
        return self.own >= self.level if self.name == "scale" else self.own <= self.level

    def __float__(self) -> float:
        return self.level

    def __str__(self) -> str:
        if self.level in (0.0, math.inf):
            return f"Any {'scale' if self.name == 'scale' else 'ε'} is within [accept]."
        if self.name == "scale":
            return f"Within [accept] the scale is {self.level:g} or more; the file has {self.own:g}."
        return f"The largest ε within [accept] is {self.level:g}; the file has ε = {self.own:g}."


def max_level(
    scenario: DocumentsScenario | VectorsScenario, limits: Mapping[str, float] | None = None
) -> MaxLevel:
    """The least noise within some limits: those of [accept], unless others are given by its keys."""
    accept = scenario.document.accept
    stated = {} if accept is None else accept.model_dump(exclude_none=True)
    found = stated if limits is None else dict(limits)
    if not found:
        raise FileError(f"{scenario.source}: has no limit under [accept]; give one, such as nats = 1.0")
    if isinstance(scenario, DocumentsScenario):
        return _of_documents(scenario, found)
    return _of_vectors(scenario, found)


def _of_documents(scenario: DocumentsScenario, limits: Mapping[str, float]) -> MaxLevel:
    """Nats between documents are proportional to ε."""
    once, candidates = varied_nats(scenario)
    guess = limits.get("guess", 1.0)
    guessed = nats_within(guess, candidates, f"{scenario.source}, accept.guess:")
    nats, own = min(limits.get("nats", math.inf), guessed), scenario.mechanism.eps
    return MaxLevel("eps", _rounded(own * nats / once, falls=False), own)


def _of_vectors(scenario: VectorsScenario, limits: Mapping[str, float]) -> MaxLevel:
    """ξ, a guess and the share of people that is traced back fall with the noise."""
    model, known = scenario.document.vectors, scenario.known
    if "reidentified" in limits and known is None:
        raise FileError(f"{scenario.source}, accept.reidentified: needs vectors.known, public vectors")
    mechanism = scenario.mechanism
    falls, tried = mechanism.level_name == "scale", 0

    def kept(level: float) -> bool:
        nonlocal tried
        advance("levels of noise", tried, (tried := tried + 1))
        other = scenario.with_level(level).mechanism
        if other.xi(model.distance, model.delta) > limits.get("nats", math.inf):
            return False
        if other.guess(model.distance) > limits.get("guess", 1.0):
            return False
        return known is None or other.threat(known.rows).value <= limits.get("reidentified", 1.0)

    found = _last(kept, mechanism.level, 1 / GROWTH if falls else GROWTH)
    return MaxLevel(mechanism.level_name, found, mechanism.level)


def _last(kept: Callable[[float], bool], own: float, wilder: float) -> float:
    """The last level with less noise, which `wilder` leads to, that is kept."""
    good, bad = own, own
    if kept(own):
        while kept(bad := bad * wilder):
            good = bad
            if abs(math.log(bad / own)) > math.log(FURTHEST):
                return math.inf if wilder > 1 else 0.0
    else:
        while not kept(good := good / wilder):
            bad = good
            if abs(math.log(good / own)) > math.log(FURTHEST):
                raise FileError("[accept]: no noise keeps these limits; raise one of them")
    while abs(math.log(bad / good)) > math.log(CLOSE):
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if kept(middle) else (good, middle)
    return _rounded(good, falls=wilder < 1)


def _rounded(level: float, *, falls: bool) -> float:
    """Six digits, to the safe side."""
    rounding = ROUND_CEILING if falls else ROUND_FLOOR
    return float(six_digits(level, rounding)) if math.isfinite(level) else level
