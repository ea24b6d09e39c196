from __future__ import annotations

from sievert.channels import Channel
from sievert.errors import FileError
from sievert.files import Scenario
from sievert.proofs import Proof
from sievert.spaces import shown

__all__ = ["channel_of", "matching_note"]


def channel_of(loaded: Scenario | Channel | Proof) -> Channel:
    """The mechanism of a file, or a channel itself."""
    if isinstance(loaded, Proof):
        raise FileError("a proof has no mechanism; give a TOML file, or a channel as .csv, .npz or .parquet")
    return loaded if isinstance(loaded, Channel) else loaded.channel


def matching_note(first: Channel, second: Channel) -> str:
    """How inputs with different labels were matched; empty where the labels are the same."""
    if first.inputs == second.inputs or set(first.inputs) == set(second.inputs):
        return ""
    return (
        f"The inputs of A ({shown(first.inputs)}) and of B ({shown(second.inputs)}) were matched by position."
    )
