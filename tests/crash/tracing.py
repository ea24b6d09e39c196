"""Stop a child at any system call that touches the disk: kill it there, tear its write, or fail the call.

Works on the system's own calls (ptrace), so libraries in C are stopped as well: SQLite, Arrow, NumPy.
Linux on x86-64 only.
"""

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

TRACE_ME, PEEK, POKE, NEXT_CALL, SET_OPTIONS = 0, 3, 6, 24, 0x4200
MARK_CALLS, DIE_WITH_PARENT = 1, 0x100000
# Places of registers in the kernel's record of a stopped process.
RAX, RDX, RSI, CALL = 80, 96, 104, 120
WRITES = {1: "write", 18: "pwrite64"}
CALLS = WRITES | {
    2: "open", 257: "openat", 20: "writev", 73: "flock", 74: "fsync", 75: "fdatasync", 77: "ftruncate",
    82: "rename", 264: "renameat", 316: "renameat2", 87: "unlink", 263: "unlinkat", 83: "mkdir",
    258: "mkdirat", 86: "link", 265: "linkat", 90: "chmod", 268: "fchmodat",
}  # fmt: skip
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass
class Ended:
    """How a child ended: killed by us, or with an exit code and the words it left."""

    reached: bool
    killed: bool
    code: int | None
    words: str


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype = ctypes.c_long
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return int(call(request, pid, address, data))


def _child(action: Callable[[], object], words: int) -> None:
    code = 70  # an error that is not one of ours
    try:
        _ptrace(TRACE_ME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        action()
        code = 0
    except BaseException as problem:
        code = getattr(problem, "exit_code", 70)
        os.write(words, f"{type(problem).__name__}: {problem}".encode(errors="replace")[:4000])
    finally:
        os._exit(code)


def stopped_at(action: Callable[[], object], step: int, moment: str, error: int = 0) -> Ended:
    """Run an action in a forked child up to its step-th call that changes the disk.

    `moment`: kill "before" or "after" the call, kill after half of a write ("torn"), or "fail" the call
    with an error number, and go on.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(action, write)
    os.close(write)
    try:
        os.waitpid(child, 0)
        _ptrace(SET_OPTIONS, child, 0, MARK_CALLS | DIE_WITH_PARENT)
        reached, killed, code = _followed(child, step, moment, error)
        return Ended(reached, killed, code, os.read(read, 4000).decode(errors="replace"))
    finally:
        os.close(read)


def _followed(child: int, step: int, moment: str, error: int) -> tuple[bool, bool, int | None]:
    count, entering, here, reached, passed = 0, True, False, False, 0
    while True:
        _ptrace(NEXT_CALL, child, 0, passed)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            return reached, False, os.WEXITSTATUS(status)
        if os.WIFSIGNALED(status):
            return reached, True, None
        passed = os.WSTOPSIG(status)
        if passed != signal.SIGTRAP | 0x80:
            continue
        passed = 0
        if entering and _changes_disk(child):
            here, count = count == step, count + 1
            if here:
                reached = True
                if _begin(child, moment):
                    return True, True, None
        elif not entering and here:
            here = False
            if _end(child, moment, error):
                return True, True, None
        entering = not entering


def _changes_disk(child: int) -> bool:
    name = CALLS.get(_ptrace(PEEK, child, CALL))
    if name in ("open", "openat"):
        return bool(_ptrace(PEEK, child, RSI if name == "open" else RDX) & CHANGING)
    return name is not None


def _begin(child: int, moment: str) -> bool:
    """At the entry of the call; whether the child was killed."""
    if moment == "before":
        return _kill(child)
    if moment == "torn" and _ptrace(PEEK, child, CALL) in WRITES:
        _ptrace(POKE, child, RDX, _ptrace(PEEK, child, RDX) // 2)
    if moment == "fail":
        _ptrace(POKE, child, CALL, -1)  # no such call: the system does nothing
    return False


def _end(child: int, moment: str, error: int) -> bool:
    if moment == "fail":
        _ptrace(POKE, child, RAX, -error)
        return False
    return _kill(child)


def _kill(child: int) -> bool:
    os.kill(child, signal.SIGKILL)
    while True:
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return True
