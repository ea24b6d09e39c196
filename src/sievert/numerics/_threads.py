"""How many threads matrix products take: one for small matrices, where several mostly wait for each other.

The threads of a BLAS spin until the last of them is done. On processors that have other work, a product of
100 × 100 takes a hundred times as long with two threads as with one. The limit is the whole process's, and
OpenBLAS ignores what another thread asks for once the main one has asked: so only the main one does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["one_thread"]
# Below so many rows several threads gain little on idle processors, and lose much on busy ones.
SMALL = 500


@contextmanager
def one_thread(rows: int) -> Iterator[bool]:
    """Inside, BLAS takes one thread for matrices of few rows; whether it does (threadpoolctl can see to it).

    >>> with one_thread(10**6) as limited:
    ...     limited
    False
    """
    is_main = threading.current_thread() is threading.main_thread()
    controller = _controller() if rows < SMALL and is_main else None
    if controller is None:
        yield False
        return
    with controller.limit(limits=1, user_api="blas"):
        yield True


@cache
def _controller() -> Any:
    """One for the process; NumPy's and SciPy's libraries are loaded before they are looked for."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    import_module("scipy.linalg")
    return ThreadpoolController()
