"""A design in words and in a picture: what the best mechanism loses, its proof, what others would cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from sievert.design import Candidates, candidates
from sievert.errors import MechanismError
from sievert.files import Scenario, dumps, file_eps, moved
from sievert.mechanisms import privacy
from sievert.results import Result

__all__ = ["Design", "design_of", "designed_toml"]


@dataclass(frozen=True)
class Design(Result):
    """The best mechanism for a file's use, with the standard ones beside it."""

    title: str
    policy: str
    query: str
    use: str
    found: Candidates
    verified: str = field(default="")

    def __str__(self) -> str:
        best = self.found.optimal
        gap = (
            "exactly optimal" if best.gap == 0 else f"proved to be within {best.gap:.1e} of the best possible"
        )
        return (
            f"The best mechanism with ε = {self.found.eps:.6g} loses {float(best.loss):.6g} on average "
            f"({self.use}), {gap}; without any release the loss is {best.without_release:.6g}."
        )


def design_of(scenario: Scenario, eps: float | None = None) -> Design:
    """The design for a file: its policy and query, its loss, at its own ε or another."""
    if eps == math.inf:
        raise MechanismError("eps is inf; nothing would be hidden, and no audit accepts it; give a finite ε")
    answers, loss, prior = scenario.answers, scenario.use_loss, scenario.use_prior
    gains = [gain.adversary(answers.labels, scenario.distance) for gain in scenario.document.adversary.gains]
    alpha = None if eps is not None else _file_alpha(scenario)
    level = None if alpha is not None else file_eps(scenario) if eps is None else eps
    found = candidates(answers, level, prior, loss, gains, alpha=alpha)
    verified = str(found.optimal.certificate.verify())
    return Design(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        scenario.use.loss.words(),
        found,
        verified,
    )


def _file_alpha(scenario: Scenario) -> object:
    """e^-ε as the file writes it, where that is what it promises for the policy: the design is then exact."""
    family = scenario.document.mechanism
    alpha = None if family is None else family.written().get("alpha")
    if not isinstance(alpha, str):
        return None
    return alpha if scenario.claimed_eps == privacy(None, alpha).eps else None


def designed_toml(scenario: Scenario, channel_file: str, eps: float, folder: Path) -> str:
    """The file with its mechanism replaced by the designed channel, ready for `audit` and `release`.

    Paths are made relative to the folder it is written to.
    """
    content = moved(scenario.document.model_dump(exclude_unset=True), scenario.folder, folder)
    content["mechanism"] = {"matrix": channel_file, "eps": eps}
    order = ["version", "title", "policy", "query", "mechanism"]
    return dumps({key: content[key] for key in [*order, *content] if key in content})
