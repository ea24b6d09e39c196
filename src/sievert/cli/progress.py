"""A progress bar on a terminal for work that takes long; nothing where the output is a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar() -> Iterator[None]:
    """Show how far the work inside has come, on standard error, and clear it away afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import Progress, TaskID

    from sievert.cli.printing import terminal
    from sievert.numerics.progress import listening

    with Progress(console=terminal(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what[0].upper() + what[1:], total=total)
            bar.update(tasks[what], completed=done, total=total)

        with listening(show):
            yield
