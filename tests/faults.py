"""Kill a child process at any one of its steps on the disk, for tests of what is left behind."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

STEPS = ("open", "write", "fsync", "replace", "unlink", "ftruncate")


def interrupted(action: Callable[[], object], step: int, moment: str) -> bool:
    """Run an action in a forked child that is killed (SIGKILL) at its step-th call to the disk.

    `moment` is "before" the call, "after" it, or "torn": in the middle of a write. True when the child
    was killed; False when it ended before it came to that step.
    """
    child = os.fork()
    if child == 0:
        code = 3
        try:
            _arm(step, moment)
            action()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the action itself failed"
    return False


def _arm(step: int, moment: str) -> None:
    calls = iter(range(10**9))

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            reached = next(calls) == step
            if reached and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            if reached and moment == "torn" and name == "write":
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            if reached:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in STEPS:
        setattr(os, name, wrapped(name, getattr(os, name)))


def every_step(moments: tuple[str, ...] = ("before", "torn", "after")) -> Iterator[tuple[int, str]]:
    """Every step and moment; the loop over it ends with the first step that no child reaches."""
    for step in range(10_000):
        for moment in moments:
            yield step, moment
