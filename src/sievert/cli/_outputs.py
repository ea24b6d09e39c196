"""Files that commands write: the option to replace earlier ones, and the guard that all go through."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from sievert.tables import Outputs

__all__ = ["Force", "claimed"]

Force = Annotated[bool, typer.Option("--force", help="Replace results that are there already.")]


def claimed(reads: Iterable[Path], force: bool, **paths: Path | None) -> Outputs:
    """The guard for a command's outputs, each named by its option; refused before any work is done."""
    outputs = Outputs(reads, force)
    for option, path in paths.items():
        outputs.claim(f"--{option.replace('_', '-')}", path)
    return outputs
