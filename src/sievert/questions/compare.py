"""Which of two mechanisms may replace the other, against every adversary?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sievert.channels import Channel, NoiseChannel, TableNoise
from sievert.errors import FileError
from sievert.files import PolicyScenario
from sievert.orders import Comparison, Verdict, compare
from sievert.proofs import Proof
from sievert.results import Result
from sievert.spaces import shown

__all__ = ["CompareAnswer", "compared_channels", "replacement"]

# What is left when B is safer in a weaker order only.
REACH = {
    "max": "Still, no single output of B reveals more (max order).",
    "privacy": "Still, B needs no larger ε under any metric (privacy order).",
}


@dataclass(frozen=True)
class CompareAnswer(Result):
    """Whether the second mechanism, B, can replace the first, A; `names` are the files they come from."""

    names: tuple[str, str]
    first: Channel
    second: Channel
    comparison: Comparison

    @property
    def title(self) -> str:
        """Which file is A and which is B."""
        return f"A = {self.names[0]}, B = {self.names[1]}"

    @property
    def can_replace(self) -> bool | None:
        """Whether B can replace A against every adversary; None where it cannot be decided."""
        return self.comparison.forward[0].holds

    @property
    def note(self) -> str:
        """How inputs with different labels were matched; empty where the labels are the same."""
        if isinstance(self.first, NoiseChannel) or isinstance(self.second, NoiseChannel):
            return ""
        first, second = self.first.inputs, self.second.inputs
        if first == second or set(first) == set(second):
            return ""
        return f"The inputs of A ({shown(first)}) and of B ({shown(second)}) were matched by position."

    def __str__(self) -> str:
        main = self.comparison.forward[0]
        if main.holds:
            return f"B can replace A against every adversary{main.precision}."
        if main.holds is None:
            near = (
                f" B is within {main.deficiency:.3g} of a post-processing of A."
                if main.deficiency < 0.5
                else ""
            )
            return f"Undecided: {main.method}.{near}"
        weaker = self.comparison.strongest
        reach = "" if weaker is None else f" {REACH[weaker]}"
        reason = main.method if main.witness is None else main.witness.sentence("B", "A")
        return f"No: {reason}.{reach}"

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, proofs left out (they are saved with --proof)."""
        return {
            "can_replace": self.can_replace,
            "strongest": self.comparison.strongest,
            "forward": [_plain(verdict) for verdict in self.comparison.forward],
            "backward": [_plain(verdict) for verdict in self.comparison.backward],
        }


def _plain(verdict: Verdict) -> dict[str, Any]:
    told = {key: value for key, value in verdict.to_dict().items() if key not in ("certificate", "post")}
    return {**told, "uncertified": verdict.uncertified}


def replacement(
    first: PolicyScenario | Channel | Proof, second: PolicyScenario | Channel | Proof, names: tuple[str, str]
) -> CompareAnswer:
    """Compare two mechanisms, each of a file or a channel itself."""
    channels = compared_channels(first, second)
    return CompareAnswer(names, *channels, compare(*channels))


def compared_channels(
    first: PolicyScenario | Channel | Proof, second: PolicyScenario | Channel | Proof
) -> tuple[Channel, Channel]:
    """The mechanisms that are compared, each of a file or a channel itself."""
    channels = _channel(first), _channel(second)
    for loaded in (first, second):
        _require_all_answers(loaded)
    return channels


def _require_all_answers(loaded: PolicyScenario | Channel | Proof) -> None:
    """Noise that is clamped to less than all answers is not ordered by its law alone."""
    if not isinstance(loaded, PolicyScenario) or not isinstance(loaded.channel, TableNoise):
        return
    limits, found = loaded.channel.limits, loaded.tabulated
    least, greatest = found.statistic.range(loaded.policy, found.absence)
    if limits is not None and (limits[0] > least or limits[1] < greatest):
        raise FileError(
            f"{loaded.source}, mechanism.outputs: the truth may lie outside {limits[0]} … {limits[1]} steps, "
            "and noise clamped to less than all answers is not ordered by its size; leave outputs out"
        )


def _channel(loaded: PolicyScenario | Channel | Proof) -> Channel:
    """The mechanism of a file, or a channel itself."""
    if isinstance(loaded, Proof):
        raise FileError("a proof has no mechanism; give a TOML file, or a channel as .csv, .npz or .parquet")
    return loaded if isinstance(loaded, Channel) else loaded.channel
