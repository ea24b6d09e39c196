"""The ε that a file is about: what it claims, or what its mechanism truly satisfies."""

from __future__ import annotations

import math

from sievert.channels.privacy import epsilon
from sievert.errors import FileError
from sievert.files import Scenario

__all__ = ["file_eps"]


def file_eps(scenario: Scenario) -> float:
    """ε in nats for the policy; an error that names --eps where the file has no finite one."""
    if scenario.document.mechanism is None:
        raise FileError(f"{scenario.source}: has no [mechanism] to take ε from; pass --eps")
    claimed = scenario.claimed_eps
    if claimed is None:
        claimed = epsilon(scenario.channel, scenario.answers).nats
    if not math.isfinite(claimed):
        raise FileError(f"{scenario.source}: its mechanism satisfies no finite ε; pass --eps")
    return claimed
