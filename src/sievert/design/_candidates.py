"""The standard mechanisms beside the optimal one: what each loses, leaks, and which is safer than which.

Every candidate is scaled to satisfy the same ε for the same policy: geometric noise by the sensitivity of the
numbers, randomised response by the smallest distance, the exponential mechanism by its true level.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, epsilon, finite_channel, target_metric
from sievert.channels.priors import as_prior
from sievert.design._optimal import OptimalMechanism, as_loss, optimal_mechanism
from sievert.errors import GainError, SievertError
from sievert.measures import (
    GainFunction,
    GainMatrix,
    as_gain,
    gain_title,
    posterior_vulnerability,
    vulnerability,
)
from sievert.mechanisms import Family
from sievert.numerics import advance, exact_matmul, fractions_of, instance
from sievert.orders import refines
from sievert.policies import Answers, Policy, Query
from sievert.results import Result
from sievert.spaces import Metric

__all__ = [
    "Alternative",
    "Candidates",
    "Leak",
    "NeighbourLeaks",
    "Remap",
    "candidates",
    "candidates_beside",
    "leak_of",
    "remap",
    "standard",
]

Relation = Literal["equivalent", "safer", "less safe", "neither", "undecided"]
# The names of the mechanism that was looked for: for a prior, or for all.
OPTIMAL, LEAST_REGRET = "optimal", "least regret"
# What the best for a uniform prior is called beside it.
UNIFORM = "best for a uniform prior"
# Inputs up to which neighbours are compared against every adversary.
LARGEST_COMPARED = 40


@dataclass(frozen=True)
class Leak(Result):
    """What one adversary reaches, before and after."""

    name: str
    before: float
    after: float
    is_loss: bool

    @property
    def title(self) -> str:
        """What tables and pictures call the adversary."""
        return gain_title(self.name)


@dataclass(frozen=True)
class Alternative(Result):
    """One mechanism of the same ε.

    Attributes
    ----------
    loss : expected loss with the best action for each output
    as_released : expected loss when outputs are taken as they are (None: outputs are no actions)
    eps : the smallest ε it really satisfies
    leaks : what each adversary reaches
    """

    name: str
    loss: float
    as_released: float | None
    eps: float
    leaks: tuple[Leak, ...]
    mechanism: Channel = field(repr=False)

    @property
    def is_optimal(self) -> bool:
        """Whether it is the one that was looked for, beside the standard ones."""
        return self.name in (OPTIMAL, LEAST_REGRET)

    def __str__(self) -> str:
        return f"{self.name}: loses {self.loss:.6g}, true ε = {self.eps:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, without the channel."""
        found = super().to_dict()
        found.pop("mechanism")
        return found


@dataclass(frozen=True)
class NeighbourLeaks(Result):
    """How the second of two alternatives stands to the first, against every adversary."""

    first: str
    second: str
    relation: Relation

    def __str__(self) -> str:
        words = {
            "equivalent": f"{self.second} tells exactly as much as {self.first}",
            "safer": f"{self.second} is at least as safe as {self.first} against every adversary",
            "less safe": f"{self.first} is at least as safe as {self.second} against every adversary",
            "neither": f"some adversary prefers {self.first}, another {self.second}",
            "undecided": f"between {self.first} and {self.second} the precision does not tell",
        }
        return words[self.relation]


@dataclass(frozen=True)
class Candidates(Result):
    """Mechanisms of one ε, by growing loss, and the verdicts between neighbours in that order.

    `missing` says of each standard mechanism that does not exist here why.
    """

    eps: float
    loss_name: str
    optimal: OptimalMechanism
    alternatives: tuple[Alternative, ...]
    neighbours: tuple[NeighbourLeaks, ...]
    missing: dict[str, str]

    def _repr_html_(self) -> str:
        names = [leak.name for leak in self.alternatives[0].leaks]
        head = "".join(f"<th>{escape(name)}</th>" for name in ("mechanism", "loss", "true ε", *names))
        rows = "".join(
            f"<tr><th>{escape(item.name)}</th><td>{item.loss:.6g}</td><td>{item.eps:.6g}</td>"
            + "".join(f"<td>{leak.before:.4g} → {leak.after:.4g}</td>" for leak in item.leaks)
            + "</tr>"
            for item in self.alternatives
        )
        return f"<p>{escape(str(self))}</p><table><tr>{head}</tr>{rows}</table>"

    def __str__(self) -> str:
        rest = [item for item in self.alternatives if not item.is_optimal and item.name != UNIFORM]
        if not rest:
            return f"the optimal mechanism loses {float(self.optimal.loss):.6g}"
        best = rest[0]
        excess = best.loss - float(self.optimal.loss)
        if excess <= 1e-9 * max(1.0, abs(best.loss)):
            return f"{best.name} is optimal here: it loses {best.loss:.6g}"
        share = f" ({excess / best.loss:.1%} less)" if best.loss > 0 else ""
        return (
            f"the optimal mechanism loses {float(self.optimal.loss):.6g}{share}; the best standard one is "
            f"{best.name} with {best.loss:.6g}"
        )


def candidates(
    policy_or_metric: Policy | Metric | Answers,
    eps: float | None = None,
    prior: object = None,
    loss: object = None,
    *,
    gains: Iterable[object] = (None,),
    alpha: object = None,
    query: Query | None = None,
    gap: float = 1e-9,
    device: str | None = None,
) -> Candidates:
    """The optimal mechanism and the standard ones for the same policy and ε, side by side.

    Parameters
    ----------
    policy_or_metric, eps, prior, loss, alpha, query, gap, device : as in `sv.optimal_mechanism`
    gains : what adversaries want; the best guess by default

    Returns
    -------
    Candidates
        One row a mechanism by growing loss, with its true ε and what each adversary reaches, and verdicts
        between neighbouring rows.

    Notes
    -----
    Cost: one `sv.optimal_mechanism`, O(inputs²·outputs) for each standard mechanism, and a refinement test
    for each two neighbouring rows while there are few inputs.

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.spaces import metrics
    >>> found = candidates(metrics.line(4), 1.0, None, losses.absolute(4))
    >>> print(found)
    truncated geometric is optimal here: it loses 0.520549
    >>> [str(item) for item in found.neighbours][0]
    'truncated geometric tells exactly as much as optimal'
    """
    metric = target_metric(policy_or_metric, query)
    belief = as_prior(prior, metric.points)
    wanted = as_loss(loss, metric.points)
    instance("gains", gains, list | tuple, "a list of gains", GainError)
    adversaries = [as_gain(gain, metric.points) for gain in gains]
    best = optimal_mechanism(metric, eps, belief, wanted, alpha=alpha, gap=gap, device=device)
    return _weighed(metric, belief, wanted, adversaries, best, {OPTIMAL: best.mechanism})


def candidates_beside(
    mechanism: Channel,
    policy_or_metric: Policy | Metric | Answers,
    eps: float | None,
    loss: object,
    gains: Iterable[object],
    alpha: object = None,
) -> Candidates:
    """As `candidates` under a uniform prior, for a mechanism that was chosen for an unknown one."""
    metric = target_metric(policy_or_metric)
    belief, wanted = as_prior(None, metric.points), as_loss(loss, metric.points)
    adversaries = [as_gain(gain, metric.points) for gain in gains]
    best = optimal_mechanism(metric, eps, belief, wanted, alpha=alpha)
    looked_for = {LEAST_REGRET: mechanism, UNIFORM: best.mechanism}
    return _weighed(metric, belief, wanted, adversaries, best, looked_for)


def _weighed(
    metric: Metric,
    belief: NDArray[Any],
    wanted: GainMatrix,
    adversaries: list[GainFunction],
    best: OptimalMechanism,
    looked_for: dict[str, Channel],
) -> Candidates:
    """What was looked for beside the standard mechanisms, by growing loss."""
    others, missing = standard(metric, float(best.eps))
    built = {**looked_for, **others}
    rows = []
    for done, (name, channel) in enumerate(built.items()):
        advance("weighing the candidates", done, len(built))
        found = remap(channel, belief, wanted)
        rows.append(
            Alternative(
                name,
                float(best.loss if channel is best.mechanism else found.after),
                None if found.before is None else float(found.before),
                epsilon(channel, metric).nats,
                tuple(leak_of(channel, belief, adversary) for adversary in adversaries),
                channel,
            )
        )
    # Equal losses keep the order in which the mechanisms are listed, the optimal one first.
    rows.sort(key=lambda row: round(row.loss, 9))
    compared: tuple[NeighbourLeaks, ...] = ()
    if metric.size <= LARGEST_COMPARED:
        for done, (first, second) in enumerate(pairwise(rows)):
            advance("comparing neighbours", done, len(rows) - 1)
            compared += (_relation(first, second),)
    return Candidates(float(best.eps), wanted.name, best, tuple(rows), compared, missing)


def standard(metric: Metric, eps: float) -> tuple[dict[str, Channel], dict[str, str]]:
    """Each family scaled to ε for the metric, or why it does not exist there."""
    built: dict[str, Channel] = {}
    missing: dict[str, str] = {}
    for family in Family.classes():
        try:
            member = family.candidate(metric, eps)
            if member is not None:
                built[family.title()] = member.finite()
        except SievertError as problem:
            missing[family.title()] = str(problem)
    return built, missing


def leak_of(channel: Channel, belief: Any, adversary: GainFunction) -> Leak:
    """What an adversary reaches before and after."""
    before = float(vulnerability(belief, adversary).value)
    after = float(posterior_vulnerability(channel, belief, adversary).value)
    return Leak(adversary.name, before, after, adversary.is_loss)


def _relation(first: Alternative, second: Alternative) -> NeighbourLeaks:
    forward = refines(first.mechanism, second.mechanism).holds
    backward = refines(second.mechanism, first.mechanism).holds
    relation: Relation
    if forward and backward:
        relation = "equivalent"
    elif forward:
        relation = "safer"
    elif backward:
        relation = "less safe"
    else:
        relation = "undecided" if None in (forward, backward) else "neither"
    return NeighbourLeaks(first.name, second.name, relation)


# ── What a user makes of noisy outputs ──────────────────────────────────────────────────────────────────────
# What a user makes of noisy outputs: the best action for each, and what it gains over taking them as is.
#
# Remapping is post-processing, so it keeps every privacy guarantee, and it never raises the expected loss
# (Fernandes, Def 6.2.2, Lem 6.1).


@dataclass(frozen=True)
class Remap(Result):
    """The best action for every output.

    Attributes
    ----------
    actions : output → action
    before : expected loss when outputs are taken as actions as they are (None: they are no actions)
    after : expected loss with the best actions
    without_release : expected loss of the best action without any output
    mechanism : the channel followed by the remap
    """

    actions: dict[Hashable, Hashable] = field(repr=False)
    before: float | Fraction | None
    after: float | Fraction
    without_release: float | Fraction
    mechanism: Channel = field(repr=False)

    def __float__(self) -> float:
        return float(self.after)

    def __str__(self) -> str:
        found = f"expected loss {float(self.after):.6g} with the best action for each output"
        if self.before is not None:
            found += f", {float(self.before):.6g} taking outputs as they are"
        return f"{found}, {float(self.without_release):.6g} without any release"


def remap(channel: Channel, prior: object = None, loss: object = None) -> Remap:
    """The Bayesian remap of a channel's outputs for a loss: the best action for each output.

    Exact where channel, prior and loss are.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the inputs; uniform by default
    loss : a loss (`sv.losses`) or an array [action, input]; Bayes risk by default

    Returns
    -------
    Remap
        The remapped `mechanism`, the `actions` by output, and the expected loss `before` and `after`.

    Notes
    -----
    Remapping is post-processing: it keeps every promise of privacy, and never raises the expected loss.

    Cost: O(actions·inputs·outputs).

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from sievert.mechanisms._response import randomised_response
    >>> best = remap(randomised_response(3, alpha="1/2"), ["4/5", "1/10", "1/10"], losses.absolute(3))
    >>> best.after, best.before, best.actions
    (Fraction(3, 10), Fraction(29, 40), {0: 0, 1: 0, 2: 0})
    """
    finite = finite_channel(channel)
    wanted = as_loss(loss, finite.inputs)
    belief = as_prior(prior, finite)
    exact = finite.form == "exact" and belief.dtype == object and wanted.is_exact
    joint = _joint(finite, belief, exact)
    if exact:
        scores: NDArray[Any] = exact_matmul(fractions_of(wanted.table), joint)
    else:
        scores = np.asarray(wanted.table, dtype=np.float64) @ joint
    best = scores.argmin(axis=0)
    remapped = np.zeros((finite.shape[1], len(wanted.actions)), dtype=np.int64)
    remapped[np.arange(finite.shape[1]), best] = 1
    post = Channel(remapped, finite.outputs, wanted.actions)
    return Remap(
        {output: wanted.actions[int(w)] for output, w in zip(finite.outputs, best, strict=True)},
        _taken(finite, wanted, scores),
        _number(scores.min(axis=0).sum()),
        _number(scores.sum(axis=1).min()),
        finite.then(post),
    )


def _joint(channel: Channel, belief: NDArray[Any], exact: bool) -> NDArray[Any]:
    if exact:
        assert channel.exact is not None
        return np.asarray(belief[:, None] * channel.exact)
    return np.asarray(belief.astype(np.float64)[:, None] * channel.rounded())


def _taken(channel: Channel, wanted: GainMatrix, scores: NDArray[Any]) -> float | Fraction | None:
    """The loss when every output is taken as the action of the same name."""
    position = {action: w for w, action in enumerate(wanted.actions)}
    if not all(output in position for output in channel.outputs):
        return None
    rows = [position[output] for output in channel.outputs]
    return _number(scores[rows, np.arange(len(rows))].sum())


def _number(value: Any) -> float | Fraction:
    return value if isinstance(value, Fraction) else float(value)
