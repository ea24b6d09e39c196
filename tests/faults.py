"""Kill a child process at any one of its steps on the disk, for tests of what is left behind."""

import gc
import os
import pickle
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STEPS = ("open", "write", "fsync", "replace", "unlink", "ftruncate")


# Where waiting for the disk is left out, nothing differs before and after it.
WITHOUT_WAITING = tuple(name for name in STEPS if name != "fsync")
NOT_TORN = 4


def interrupted(
    action: Callable[[], object], step: int, moment: str, steps: tuple[str, ...] = STEPS
) -> bool | None:
    """Run an action in a forked child that is killed (SIGKILL) at its step-th call to the disk.

    `moment` is "before" the call, "after" it, or "torn": in the middle of a write. True when the child
    was killed; False when it ended before it came to that step; None where a step is no write to be torn.
    """

    def armed() -> None:
        _arm(step, moment, steps)
        action()

    return interrupted_by(armed)


def interrupted_by(action: Callable[[], object]) -> bool | None:
    """Run an action that may kill its process in a forked child; whether it did, None where it could not."""
    child = os.fork()
    if child == 0:
        # What the parent's libraries hold for threads, which a fork does not have, is not collected here.
        gc.freeze()
        code = 3
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    if os.WEXITSTATUS(status) == NOT_TORN:
        return None
    assert os.WEXITSTATUS(status) == 0, "the action itself failed"
    return False


def _arm(step: int, moment: str, steps: tuple[str, ...] = STEPS) -> None:
    calls = iter(range(10**9))

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            reached = next(calls) == step
            if reached and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            if reached and moment == "torn" and name != "write":
                os._exit(NOT_TORN)
            if reached and moment == "torn":
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return real(*arguments, **options)
            finally:
                if reached:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in steps:
        setattr(os, name, wrapped(name, getattr(os, name)))


def power_lost(action: Callable[[], object], folder: Path, step: int) -> bool:
    """As `interrupted` after a step, and then everything is lost that the disk had not confirmed.

    A file keeps the content it had when it was last synced; a folder has the names it had when it was last
    synced. That is the least a file system promises.
    """
    record = folder.with_name(folder.name + ".durable")

    def recorded() -> None:
        durable = _Durable(folder, record)
        real = os.fsync
        os.fsync = lambda descriptor: (real(descriptor), durable.synced(descriptor))[0]
        _arm(step, "after")
        action()

    killed = bool(interrupted_by(recorded))
    if killed:
        shutil.rmtree(folder)
        folder.mkdir()
        for name, content in pickle.loads(record.read_bytes()).items():
            path = folder / name
            if content is None:
                path.mkdir(exist_ok=True)
            elif path.parent.is_dir():
                path.write_bytes(content)
    return killed


class _Durable:
    """What is on disk for sure: names by folder, contents by file."""

    def __init__(self, folder: Path, record: Path) -> None:
        self.folder, self.record = folder, record
        self.contents: dict[int, bytes] = {}
        self.names: dict[Path, dict[str, int | None]] = {}
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                self._list(path)
            else:
                self.contents[path.stat().st_ino] = path.read_bytes()
        self._save()

    def synced(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        if path.is_dir():
            self._list(path)
        else:
            self.contents[os.fstat(descriptor).st_ino] = path.read_bytes()
        self._save()

    def _list(self, folder: Path) -> None:
        self.names[folder.resolve()] = {
            path.name: None if path.is_dir() else path.stat().st_ino for path in folder.iterdir()
        }

    def _save(self) -> None:
        found: dict[str, bytes | None] = {}
        waiting = [self.folder.resolve()]
        while waiting:
            folder = waiting.pop()
            for name, inode in self.names.get(folder, {}).items():
                path = folder / name
                key = str(path.relative_to(self.folder.resolve()))
                found[key] = None if inode is None else self.contents.get(inode, b"")
                if inode is None:
                    waiting.append(path)
        # Parents come before what is in them.
        self.record.write_bytes(pickle.dumps(dict(sorted(found.items()))))


def every_step(moments: tuple[str, ...] = ("before", "torn", "after")) -> Iterator[tuple[int, str]]:
    """Every step and moment; the loop over it ends with the first step that no child reaches."""
    for step in range(10_000):
        for moment in moments:
            yield step, moment


def every_state(
    action: Callable[[], object], folder: Path, steps: tuple[str, ...] = STEPS
) -> list[tuple[int, str]]:
    """A step and moment for each content that a folder has while an action runs, found by a rehearsal.

    A killed process leaves nothing but what is on the disk: where a step changes nothing, and between two
    steps, it is the same to be killed before and after. The action must take the same steps again.
    """
    record = folder.with_name(folder.name + ".states")
    found: list[tuple[int, str]] = []
    last: list[Any] = [None]

    def seen(step: int, moment: str) -> None:
        content = _content(folder)
        if content != last[0]:
            last[0] = content
            found.append((step, moment))

    def rehearsed() -> None:
        calls = iter(range(10**9))

        def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                step = next(calls)
                seen(step, "before")
                if name == "write" and len(arguments[1]) > 1:
                    found.append((step, "torn"))
                try:
                    return real(*arguments, **options)
                finally:
                    seen(step, "after")

            return call

        originals = {name: getattr(os, name) for name in steps}
        for name, real in originals.items():
            setattr(os, name, wrapped(name, real))
        action()
        for name, real in originals.items():
            setattr(os, name, real)
        record.write_bytes(pickle.dumps(found))

    assert interrupted_by(rehearsed) is False
    return list(pickle.loads(record.read_bytes()))


def _content(folder: Path) -> dict[Path, tuple[int, bytes | None]]:
    """Every name under a folder with its mode and content."""
    return {
        path: (path.stat().st_mode, None if path.is_dir() else path.read_bytes())
        for path in folder.rglob("*")
    }
