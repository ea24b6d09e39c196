from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["COMPILED", "compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba

    COMPILED = True
except ImportError:
    COMPILED = False


def compiled(function: Function) -> Function:
    """Machine code that lets other threads run; kept on disk where that is possible."""
    if not COMPILED:
        return function
    made: Any
    try:
        made = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder to keep it in
        made = numba.njit(nogil=True)(function)
    return made  # type: ignore[no-any-return]
