"""What an adversary learns from a mechanism: gains, vulnerability, leakage, capacity.

`sievert.leakage` is both this room and, called, the function `sievert.leakage.measures.leakage`.
"""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from types import ModuleType
from typing import Any

from sievert.leakage import measures


class _Room(ModuleType):
    """A module that can be called like the measure it is named after."""

    __signature__ = inspect.signature(measures.leakage)

    @wraps(measures.leakage)
    def __call__(self, *args: Any, **kwargs: Any) -> measures.Leakage:
        return measures.leakage(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
