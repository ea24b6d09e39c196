"""What a child process does: it answers one question after the other, and can be killed in between words.

The parent talks through a pipe. A thread of the child listens, so that a child whose parent is gone ends at
once, whatever it computes.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sievert.studio._session import Session

__all__ = ["answered", "work"]

Asked = queue.SimpleQueue[tuple[str, str, dict[str, Any]]]

# Seconds between two words about progress.
NEWS = 0.1


def work(pipe: Connection, folder: Path, name: str) -> None:
    """Answer what comes through the pipe until it is closed; every word bears its question's number."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked: Asked = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, asked), daemon=True).start()
    from sievert.studio._session import Session

    desk = Session(folder, name)
    for number, question, given in _questions(desk, asked):
        try:
            answered(desk, question, given, lambda *words, number=number: pipe.send((number, *words)))
        except BrokenPipeError:
            return


def _questions(desk: Session, asked: Asked) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """One question after the other; while there is none yet, what the first answer needs is loaded."""
    stages = desk.warming()
    while True:
        try:
            yield asked.get(block=False)
        except queue.Empty:
            if next(stages, None) is None:
                yield asked.get()


def _listen(pipe: Connection, asked: Asked) -> None:
    while True:
        try:
            asked.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)


def answered(desk: Session, question: str, given: dict[str, Any], tell: Callable[..., None]) -> None:
    """Tell the parts as JSON and then, once, how it ended.

    What nobody expected is told by its class alone, for it may quote anything.
    """
    from sievert.errors import SievertError
    from sievert.numerics import progress_listener

    tell("begun", None, None)
    try:
        with progress_listener(_news(tell)):
            for item, answer in getattr(desk, question)(**given):
                tell("part", item, json.dumps(answer, allow_nan=False))
    except BrokenPipeError:
        raise
    except SievertError as problem:
        tell("failed", None, problem.in_file())
    except Exception as problem:
        tell("failed", None, f"this could not be answered ({type(problem).__name__})")
    else:
        tell("done", None, None)


def _news(told: Callable[..., None]) -> Callable[[str, int, int | None], None]:
    """Tells the parent how far the work has come, now and then."""
    last = 0.0

    def tell(words: str, done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= NEWS:
            last = now
            told("progress", words, (done, total))

    return tell
