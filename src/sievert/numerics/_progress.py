"""Word from long work to whoever wants to show it; silent unless somebody listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "advance", "listening"]

# What is being done, how much of it is done, how much there is.
Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("sievert_progress", default=None)


def advance(what: str, done: int, total: int) -> None:
    """Say how far some work has come."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear of the progress of everything done inside.

    >>> heard = []
    >>> with listening(lambda *news: heard.append(news)):
    ...     advance("counting", 1, 2)
    >>> heard
    [('counting', 1, 2)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
