"""Child processes that compute: one waits warm, and whoever takes too long is stopped, not waited for.

Work begins in an idle child. A child that is stopped is killed: that takes milliseconds whatever it does, and
the next question goes to another one.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sievert.studio._worker import work

__all__ = ["Run", "WorkerPool"]

# Children at most; the oldest work gives way to new.
MOST = 3
# Seconds for a listener to hear that its child is gone.
WAIT = 5.0

GONE = "the process that worked on it ended; it may have run out of memory"

State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass
class Run:
    """One question that is being answered.

    Attributes
    ----------
    parts : answers as JSON text, as they come
    progress : what is being done, how far it is and how far it goes
    problem : why it failed
    """

    id: str
    question: str
    wanted: tuple[str, ...] = ()
    state: State = "waiting"
    parts: dict[str, str] = field(default_factory=dict)
    progress: tuple[str, int, int | None] | None = None
    problem: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "failed", "cancelled")

    async def finished(self, seconds: float | None = None) -> bool:
        """Wait until it is over, or so long; whether it is."""
        await self._until(lambda: self.over, seconds)
        return self.over

    async def has(self, part: str, seconds: float) -> bool:
        """Wait until a part is there, so long after the work has begun; whether it is."""
        await self._until(lambda: self.state != "waiting", None)
        await self._until(lambda: self.over or part in self.parts, seconds)
        return part in self.parts

    async def _until(self, holds: Callable[[], bool], seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            pass

    def ends(self, state: State, problem: str = "") -> None:
        """Nothing more will come."""
        if not self.over:
            self.state, self.problem = state, problem
        self.changed.set()


class _Child:
    """One process and the thread that listens to it."""

    def __init__(self, folder: Path, name: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, folder, name), daemon=True)
        self.process.start()
        theirs.close()
        self.run: Run | None = None
        self.listener: threading.Thread | None = None

    def hear(self) -> None:
        """From now on what it says is heard in the loop that runs."""
        if self.listener is None:
            loop = asyncio.get_running_loop()
            self.listener = threading.Thread(target=self._listen, args=(loop,), daemon=True)
            self.listener.start()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            try:
                message = self.pipe.recv()
            except (EOFError, OSError):
                message = (None, "gone", None, None)
            try:
                loop.call_soon_threadsafe(self._hear, *message)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            if message[1] == "gone":
                return

    def _hear(self, number: str | None, what: str, item: Any, content: Any) -> None:
        run = self.run
        if run is None or number not in (None, run.id):  # a word about a question that is over
            return
        if what == "begun":
            run.state = "running"
        elif what == "part":
            run.parts[item] = content
        elif what == "progress":
            run.progress = (item, *content)
        elif what == "gone":
            run.ends("failed", GONE)
        else:
            run.ends("done" if what == "done" else "failed", content or "")
            self.run = None
        run.changed.set()

    @property
    def idle(self) -> bool:
        return self.run is None and self.process.is_alive()

    def asks(self, run: Run, given: dict[str, Any]) -> None:
        self.hear()
        self.run = run
        self.pipe.send((run.id, run.question, given))

    def stop(self) -> None:
        self.process.kill()
        if self.run is not None:
            self.run.ends("cancelled")
        self.process.join()
        if self.listener is not None:
            # The end of the pipe is heard at once; a pipe that is closed while it is read is an error.
            self.listener.join(timeout=WAIT)
        self.pipe.close()


class WorkerPool:
    """The children of one server; they are heard in its event loop.

    Parameters
    ----------
    folder : which files may be read
    name : of the file that the texts stand for
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._children: list[_Child] = []
        self._numbers = itertools.count(1)

    def start(self) -> None:
        """Have an idle child, that gets warm meanwhile; no loop need run yet."""
        self._children = [child for child in self._children if child.process.is_alive()]
        if not any(child.idle for child in self._children):
            while len(self._children) >= MOST:
                self._children.pop(0).stop()
            self._children.append(_Child(self.folder, self.name))

    def ask(self, question: str, wanted: Sequence[str] = (), *, aside: bool = False, **given: Any) -> Run:
        """Begin to answer a question; one that is asked aside leaves the child that answered last alone."""
        run = Run(str(next(self._numbers)), question, tuple(wanted))
        self.start()
        idle = [child for child in self._children if child.idle]
        # The one that answered last knows most about the text.
        child = idle[0] if aside else idle[-1]
        if not aside:
            # The youngest work last: the oldest gives way first.
            self._children.remove(child)
            self._children.append(child)
        child.asks(run, given)
        return run

    def cancel(self, run: Run) -> None:
        """Stop the work on a question, whatever it is doing."""
        for child in list(self._children):
            if child.run is run:
                self._children.remove(child)
                child.stop()
        run.ends("cancelled")
        self.start()

    def close(self) -> None:
        """Stop them all."""
        for child in self._children:
            child.stop()
        self._children = []
