"""Word from long work to whoever wants to show it; silent unless somebody listens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["Listener", "advance", "progress_listener", "tracked"]

Item = TypeVar("Item")

# What is being done, how much of it is done, how much there is.
Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("sievert_progress", default=None)


def advance(what: str, done: int, total: int) -> None:
    """Say how far some work has come."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def tracked(what: str, items: Collection[Item]) -> Iterator[Item]:
    """Items one after the other, with word of how many are done.

    >>> with progress_listener(lambda *news: print(*news)):
    ...     squares = [k * k for k in tracked("numbers", [2, 3])]
    numbers 0 2
    numbers 1 2
    numbers 2 2
    """
    for done, item in enumerate(items):
        advance(what, done, len(items))
        yield item
    advance(what, len(items), len(items))


@contextmanager
def progress_listener(listener: Listener) -> Iterator[None]:
    """Hear of the progress of everything done inside.

    >>> heard = []
    >>> with progress_listener(lambda *news: heard.append(news)):
    ...     advance("counting", 1, 2)
    >>> heard
    [('counting', 1, 2)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
