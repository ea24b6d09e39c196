"""What else does the release tell? A correlated secret, the accuracy of the answer, and the best possible
trade-off."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import combinations, pairwise
from typing import Any

from sievert.channels import Channel, TableNoise, epsilon
from sievert.errors import TooLargeError
from sievert.files import InferenceCase, PolicyScenario
from sievert.inference import (
    Accuracy,
    Correlation,
    InferenceCurve,
    InferencePoint,
    PrivacyLoss,
    accuracy,
    curve,
    frontier,
    frontier_question,
    newcomer,
    no_free_lunch,
    privacy_loss,
)
from sievert.mechanisms import randomised_response, truncated_geometric
from sievert.numerics import as_fraction, in_percent
from sievert.proofs import Proof
from sievert.questions.acceptance import Check, is_within
from sievert.results import Result

__all__ = ["InferenceAnswer", "InferenceCandidate", "infer", "inference_checks", "inference_question"]

# Programs up to this many probabilities are solved for the whole curve too; from so many on only as closely
# as can be seen.
LARGEST_CURVE, SEEN_CURVE, SEEN = 45_000, 3000, 3e-4
# Answers on which standard noise is written out.
LARGEST_NOISE = 3000


@dataclass(frozen=True)
class InferenceCandidate(Result):
    """A mechanism on the picture: how often the secret is guessed and the answer told right."""

    name: str
    guess: float
    accuracy: float


@dataclass(frozen=True)
class InferenceAnswer(Result):
    """What the release of a file tells about a correlated secret.

    Attributes
    ----------
    secret, answer : what may be inferred, and what is released, in words
    rows : how many rows of the public table the correlation was counted from
    loss : how the best guess of the secret grows, and how far beliefs move
    accuracy : how often the answer itself is told right
    association : Cramér's V of secret and answer, and their mutual information in bits
    eps : the ε that other mechanisms may have too
    best : the most accurate mechanism with this ε that gives away as little (None: too large)
    least : where they are one: the compromise that no mechanism avoids (None: they are not)
    curve : the whole trade-off (None: too large)
    candidates : standard mechanisms on the same answers, the file's first
    checks : the limits of [accept] about inference
    """

    title: str
    secret: str
    answer: str
    mechanism: str
    rows: int
    loss: PrivacyLoss
    accuracy: Accuracy
    association: tuple[float, float]
    eps: float
    best: InferencePoint | None
    least: float | None
    curve: InferenceCurve | None = field(repr=False)
    candidates: tuple[InferenceCandidate, ...]
    checks: tuple[Check, ...]

    @property
    def uncertified(self) -> str | None:
        """Why there is no certificate; None where there is one."""
        if self.best is not None:
            return None
        return "the program of the best mechanism is too large"

    @property
    def certificate(self) -> Proof | None:
        """What proves the best trade-off."""
        return None if self.best is None else self.best.certificate

    @property
    def unproved(self) -> str:
        """Why there is no certificate."""
        return str(self.uncertified)

    @property
    def told(self) -> dict[str, Any]:
        """The options that it was asked with, beside the file."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; the mechanism and the proof of the best one are saved with --proof."""
        found = super().to_dict()
        if found["best"] is not None:
            for name in ("mechanism", "certificate"):
                del found["best"][name]
            found["best"]["exact"] = self.best is not None and self.best.exact
        found["uncertified"] = self.uncertified
        return found

    @property
    def passed(self) -> bool:
        """Whether every limit about inference holds."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        before, after = in_percent(float(self.loss.before)), in_percent(float(self.loss.after))
        right = in_percent(float(self.accuracy.value))
        found = (
            f"Whoever sees the release guesses {self.secret} with {before} before and {after} after; "
            f"the answer itself is right with {right}"
        )
        if self.best is None:
            return f"{found}."
        best = in_percent(float(self.best.upper))
        return f"{found}; no mechanism {self.rivals} that gives away as little does better than {best}."

    @property
    def rivals(self) -> str:
        """Which mechanisms the best one is among; where no ε holds, all that see the answer."""
        return "at all" if math.isinf(self.eps) else f"with ε = {self.eps:.4g}"


def run(scenario: PolicyScenario) -> InferenceAnswer:
    """The answer of `sievert infer`."""
    return infer(scenario)


def infer(scenario: PolicyScenario) -> InferenceAnswer:
    """What the file's mechanism tells about the secret of its [inference], and what the best one could.

    Parameters
    ----------
    scenario : with [inference] and [mechanism]

    Returns
    -------
    Inference
    """
    case = scenario.inference
    loss = privacy_loss(case.channel, case.correlation)
    told = accuracy(case.channel, case.correlation)
    eps = _eps(scenario, case)
    same = case.correlation.secret_equals_use
    best = _best(case, float(loss.after), eps)
    return InferenceAnswer(
        title=scenario.title,
        secret=case.correlation.secret_words,
        answer=case.answer,
        mechanism=scenario.mechanism.words(),
        rows=case.rows,
        loss=loss,
        accuracy=told,
        association=(case.correlation.cramers_v, case.correlation.mutual_information),
        eps=eps,
        best=best,
        least=float(no_free_lunch(case.correlation.secret_prior)) if same else None,
        curve=_curve(case, eps),
        candidates=tuple(_candidates(scenario, case, eps, loss, told)),
        checks=tuple(_checked(scenario, loss)),
    )


def inference_question(scenario: PolicyScenario) -> dict[str, Any]:
    """What the proof of the best mechanism of `infer` is about; none is looked for."""
    case = scenario.inference
    limit = float(privacy_loss(case.channel, case.correlation).after)
    return frontier_question(case.correlation, limit, **_promise(case, _eps(scenario, case)))


def inference_checks(scenario: PolicyScenario) -> tuple[Check, ...]:
    """The limits of [accept] about inference, where the file has any."""
    accept = scenario.accept
    if accept is None or (accept.inference is None and accept.loss_factor is None):
        return ()
    case = scenario.inference
    return tuple(_checked(scenario, privacy_loss(case.channel, case.correlation)))


def _checked(scenario: PolicyScenario, loss: PrivacyLoss) -> Iterator[Check]:
    accept = scenario.accept
    if accept is None:
        return
    secret = scenario.inference.correlation.secret_words
    if accept.inference is not None:
        value = float(loss.after)
        name = f"best guess of {secret} after the release"
        before = float(loss.before)
        if not is_within(before, accept.inference):
            name += f" (no mechanism can pass: it is guessed with {in_percent(before)} without any release)"
        yield Check("inference", name, accept.inference, value, is_within(value, accept.inference))
    if accept.loss_factor is not None:
        value = float(loss.factor)
        name = f"growth of the guess of {secret}"
        yield Check("loss_factor", name, accept.loss_factor, value, is_within(value, accept.loss_factor))


def _eps(scenario: PolicyScenario, case: InferenceCase) -> float:
    """The ε that the file claims, or what its mechanism keeps on these answers."""
    claimed = scenario.claimed_eps
    return _kept(scenario.channel, case) if claimed is None else claimed


@singledispatch
def _kept(channel: Channel, case: InferenceCase) -> float:
    """The least ε that a mechanism keeps on these answers; ∞ where none is large enough."""
    return epsilon(case.channel, case.metric).nats


@_kept.register
def _kept_by_noise(channel: TableNoise, case: InferenceCase) -> float:
    """Of noise without a list, by its law: outputs that are left out far in the tails count too."""
    steps = [as_fraction(use) / channel.statistic.step for use in case.correlation.uses]
    size = len(steps)
    pairs = combinations(range(size), 2) if size <= 100 else pairwise(range(size))
    moves = {(abs(steps[i] - steps[j]), float(case.metric.matrix[i, j])) for i, j in pairs}
    found = (channel.law.nats_of(move) / length for move, length in moves if move and length)
    return max(found, default=0.0)


def _best(case: InferenceCase, limit: float, eps: float) -> InferencePoint | None:
    try:
        return frontier(case.correlation, limit, **_promise(case, eps))[0]
    except TooLargeError:
        return None


def _curve(case: InferenceCase, eps: float) -> InferenceCurve | None:
    size = len(case.correlation.uses) ** 2
    if size > LARGEST_CURVE:
        return None
    options = _promise(case, eps)
    if size > SEEN_CURVE:
        options["within"] = SEEN
    return curve(case.correlation, **options)


def _promise(case: InferenceCase, eps: float) -> dict[str, Any]:
    """ε on the answers; where none holds, a mechanism that sees the answer only."""
    if math.isinf(eps):
        return {"insensitive": True}
    return {"eps": eps, "metric": case.metric}


def _candidates(
    scenario: PolicyScenario, case: InferenceCase, eps: float, loss: PrivacyLoss, told: Accuracy
) -> Iterator[InferenceCandidate]:
    """The file's mechanism, silence, the exact answer, and standard noise with the same ε."""
    own = InferenceCandidate(scenario.mechanism.title(), float(loss.after), float(told.value))
    yield own
    yield InferenceCandidate("nothing", float(loss.before), float(told.before))
    yield InferenceCandidate("the exact answer, without ε", _exact_answer(case.correlation), 1.0)
    if math.isinf(eps) or len(case.correlation.uses) < 2:
        return
    for candidate in (*_on_answers(case, eps), *_by_everybody(case, eps)):
        # The file's own mechanism is on the picture already.
        if candidate.name != own.name:
            yield candidate


def _on_answers(case: InferenceCase, eps: float) -> Iterator[InferenceCandidate]:
    """Noise on the answer itself."""
    uses, correlation = case.correlation.uses, case.correlation
    if len(uses) > LARGEST_NOISE:
        return
    distances = case.metric.matrix
    least = float(distances[distances > 0].min(initial=math.inf))
    if math.isfinite(least) and least * eps < 700:
        yield _placed("randomised response", randomised_response(uses, least * eps), correlation)
    steps = [b - a for a, b in pairwise(uses) if _numbers(a, b)]  # type: ignore[operator]
    if steps == [1] * (len(uses) - 1) and distances[0, 1] == 1 and eps < 700:
        noise = truncated_geometric(list(uses), eps)  # type: ignore[arg-type]
        yield _placed("truncated geometric", noise, correlation)


def _by_everybody(case: InferenceCase, eps: float) -> Iterator[InferenceCandidate]:
    """Local noise: every record is randomised before it is counted."""
    if not case.counted or not 0 < eps < 700 or len(case.values.uses) < 2:
        return
    local = newcomer(case.values, list(case.counted), mechanism=randomised_response(case.values.uses, eps))
    yield InferenceCandidate(
        "randomised response by everybody", float(local.secret_after), float(local.utility)
    )


def _numbers(*items: object) -> bool:
    return all(isinstance(item, int) and not isinstance(item, bool) for item in items)


def _exact_answer(correlation: Correlation) -> float:
    return math.fsum(correlation.floats.max(axis=0).tolist())


def _placed(name: str, channel: Channel, correlation: Correlation) -> InferenceCandidate:
    loss, told = privacy_loss(channel, correlation), accuracy(channel, correlation)
    return InferenceCandidate(name, float(loss.after), float(told.value))
