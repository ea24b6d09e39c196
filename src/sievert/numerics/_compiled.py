"""Functions compiled on their first call, so that a command that calls none never imports the compiler."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

__all__ = ["COMPILED", "compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED = find_spec("numba") is not None


class Compiled:
    """A function and, from its first call on, its machine code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.machine_code: Any = None
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __call__(self, *args: Any) -> Any:
        return (self.machine_code or self.compile())(*args)

    def compile(self) -> Any:
        """The machine code; what the function calls is compiled before it, as the compiler must see it."""
        import numba

        names = self.function.__globals__
        for name in self.function.__code__.co_names:
            if isinstance(names.get(name), Compiled):
                names[name] = names[name].machine_code or names[name].compile()
        try:
            self.machine_code = numba.njit(nogil=True, cache=True)(self.function)
        except RuntimeError:  # no folder to keep it in
            self.machine_code = numba.njit(nogil=True)(self.function)
        return self.machine_code

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments for which there is machine code already."""
        return [] if self.machine_code is None else list(self.machine_code.signatures)


def compiled(function: Function) -> Function:
    """Machine code that lets other threads run; kept on disk where that is possible."""
    return Compiled(function) if COMPILED else function  # type: ignore[return-value]
