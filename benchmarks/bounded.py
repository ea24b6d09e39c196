"""One call of a peer in a process of its own, stopped when it has used its seconds.

The process imports this file and the peer, nothing of ours, so that starting it is cheap.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from importlib import import_module
from typing import Any


def bounded(module: str, function: str, arguments: tuple[Any, ...], limit: float) -> float | None:
    """Processor seconds of one call; infinite when it is stopped, None when it fails."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(module, function, arguments, sender, limit))
    process.start()
    sender.close()
    try:
        return float(receiver.recv())
    except EOFError:
        process.join()
        # The system's limit ends the process by a signal.
        return math.inf if (process.exitcode or 0) < 0 else None
    finally:
        process.join()


def _call(module: str, function: str, arguments: tuple[Any, ...], sender: Any, limit: float) -> None:
    called = getattr(import_module(module.partition(".")[0]), module.partition(".")[2])
    # The system stops the process when the call has used its seconds, however busy the machine is.
    most = math.ceil(time.process_time() + limit)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    calls, start = 0, time.process_time()
    # The clock's grain is coarse in a limited process: repeat short calls.
    while calls == 0 or time.process_time() - start < 0.2:
        getattr(called, function)(*arguments)
        calls += 1
    sender.send((time.process_time() - start) / calls)
