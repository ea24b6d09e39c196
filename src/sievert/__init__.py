"""Sievert: measure, bound, compare and design what a privacy mechanism leaks.

>>> import sievert as sv
>>> warner = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
>>> print(sv.epsilon(warner, sv.Policy.local(["yes", "no"])))
ε = ln(3) = 1.09861, between inputs 'yes' and 'no' on output 'yes'
"""

import lazy_loader

__version__ = "0.1.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except AttributeError:
        if name.startswith("_"):
            raise
        raise AttributeError(f"sievert has no {name}{_elsewhere(name)}", name=name) from None


def _elsewhere(name: str) -> str:
    """Where the name stands, or the nearest spelling of one at the top."""
    from difflib import get_close_matches
    from types import ModuleType

    topics = {topic: module for topic in __all__ if isinstance(module := _load(topic), ModuleType)}
    found = [f"sv.{topic}.{name}" for topic, module in topics.items() if name in module.__dir__()]
    if found:
        return f"; it is {' or '.join(found)}"
    near = get_close_matches(name, __all__, 1)
    return f" (did you mean sv.{near[0]}?)" if near else ""
