"""Is this a size, a probability, an ε? One check and one message each, for every public function.

A check returns the value in the type the caller computes with, or raises an error that names the argument,
the value (shortened: a wrong value may be a whole table), the rule and, where there is one, the fix.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Sized
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from sievert.errors import SievertError, TooLargeError

__all__ = [
    "abbreviated",
    "choice",
    "count_of",
    "did_you_mean",
    "file_path",
    "finite",
    "flag",
    "function",
    "generator_of",
    "holds_masked",
    "instance",
    "is_whole",
    "non_negative",
    "positive",
    "probability",
    "readable",
    "require_float",
    "require_size",
    "several",
    "taken",
    "whole",
]

LONGEST_VALUE = 60
# Names that a message lists, and those among which it looks for a near one.
MOST_NAMES, MOST_CHOICES = 20, 10_000
# Items taken from what does not say how many it has.
MOST_TAKEN = 10_000_000
LARGEST_LIST = 100_000_000


def abbreviated(value: object, words: Callable[[object], str] = repr) -> str:
    """A wrong value as a message shows it: its repr, or what `words` says, cut in the middle when long.

    >>> abbreviated([1, 2]), abbreviated("x" * 200)
    ('[1, 2]', "'xxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxx'")
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = " ".join(words(value).split())
    except Exception:
        # Nested without end, with numbers of thousands of digits inside, or an object that cannot say.
        text = f"a {type(value).__name__}"
    half = (LONGEST_VALUE - 4) // 2
    return text if len(text) <= LONGEST_VALUE else f"{text[:half]}…{text[-half:]}"


def several(names: Iterable[object]) -> str:
    """Names as a message lists them: the first ones, and long ones cut.

    >>> several(["age", "ward"]), several(f"c{i}" for i in range(1000))[-19:]
    ('age, ward', 'c19, … and 980 more')
    """
    texts = [text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…" for text in map(str, names)]
    rest = len(texts) - MOST_NAMES
    return ", ".join(texts[:MOST_NAMES]) + (f", … and {rest} more" if rest > 0 else "")


def require_float(argument: str, value: Any, error: type[SievertError]) -> None:
    """Refuse an exact number that no float is near: distances and noise are computed in floats."""
    if abs(value) > sys.float_info.max:
        raise error(
            f"{argument}: {abbreviated(value)} is beyond the largest float, {sys.float_info.max:.3g}; "
            f"scale the "
            "numbers down, such as thousands instead of units"
        )


def whole(
    argument: str,
    value: object,
    error: type[SievertError] = SievertError,
    *,
    least: int = 1,
    most: int | None = None,
) -> int:
    """A whole number from `least` to `most`.

    >>> whole("records", 3)
    3
    """
    number = value if type(value) is int else _index(value)
    if number is None or number < least or (most is not None and number > most):
        rule = "it must be a whole number " + (f"≥ {least}" if most is None else f"from {least} to {most}")
        raise error(f"{argument} is {abbreviated(value)}; {rule}")
    return number


def _index(value: Any) -> int | None:
    """A whole number as an int; None where it is none (truth values and spans of time are not)."""
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def is_whole(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Whether it is a whole number: no truth value, and no span of time, which NumPy counts among them."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def finite(argument: str, value: object, error: type[SievertError] = SievertError) -> float:
    """A finite real number."""
    return _real(argument, value, error, "it must be a finite number", -math.inf, math.inf)


def non_negative(
    argument: str, value: object, error: type[SievertError] = SievertError, *, infinite: bool = False
) -> float:
    """A number ≥ 0, such as ε in nats or a distance; `infinite` allows ∞."""
    number = _number(value)
    if infinite and number == math.inf:
        return number
    rule = "it must be a number ≥ 0" if infinite else "it must be a finite number ≥ 0"
    return _real(argument, value, error, rule, 0.0, math.inf)


def positive(
    argument: str,
    value: object,
    error: type[SievertError] = SievertError,
    *,
    least: float = 0.0,
    most: float = math.inf,
) -> float:
    """A finite number > 0; `least` and `most` are the ends of what is computed.

    >>> positive("eps", 1e308, most=1e12)
    Traceback (most recent call last):
    sievert.errors.SievertError: eps is 1e+308; it must be a number > 0, at most 1e+12
    """
    if least > 0:
        rule = f"it must be a number from {least:g} to {most:g}"
    else:
        rule = (
            "it must be a finite number > 0"
            if most == math.inf
            else f"it must be a number > 0, at most {most:g}"
        )
    number = _real(argument, value, error, rule, least, most)
    if number == 0:
        raise error(f"{argument} is {abbreviated(value)}; {rule}")
    return number


def probability(argument: str, value: object, error: type[SievertError] = SievertError) -> float:
    """A number from 0 to 1; 60 is answered with "write 0.6"."""
    rule = "it must be a probability from 0 to 1"
    number = _number(value)
    if number is not None and 1 < number <= 100:
        rule += f" (for {number:g} % write {number / 100:g})"
    return _real(argument, value, error, rule, 0.0, 1.0)


def choice(
    argument: str, value: object, choices: tuple[str, ...], error: type[SievertError] = SievertError
) -> str:
    """One of a few words, with the nearest one named when it is misspelt.

    >>> choice("direction", "lef", ("left", "right"))
    Traceback (most recent call last):
    sievert.errors.SievertError: direction is 'lef'; it must be one of left, right (did you mean 'left'?)
    """
    if isinstance(value, str) and value in choices:
        return value
    hint = did_you_mean(value, choices)
    raise error(f"{argument} is {abbreviated(value)}; it must be one of {', '.join(choices)}{hint}")


def flag(argument: str, value: object, error: type[SievertError] = SievertError) -> bool:
    """True or False, NumPy's included.

    >>> flag("cyclic", 1)
    Traceback (most recent call last):
    sievert.errors.SievertError: cyclic is 1; it must be True or False
    """
    if not isinstance(value, bool | np.bool_):
        raise error(f"{argument} is {abbreviated(value)}; it must be True or False")
    return bool(value)


def taken(argument: str, given: Any, error: type[SievertError], noun: str) -> list[Any]:
    """The items one by one as a list; what has none, or goes on without end, is refused.

    >>> taken("values", (n for n in range(3)), SievertError, "values")
    [0, 1, 2]
    """

    def refused(more: str = "") -> SievertError:
        return error(f"{argument} is {abbreviated(given)}; give a list of {noun}{more}")

    if not isinstance(given, Iterable):
        raise refused()
    if holds_masked(given):
        raise refused(", none of them masked")
    if isinstance(given, Sized):
        try:
            count = count_of(given)
        except TypeError:
            # Arrays of no dimensions and sparse matrices only look as if they had one.
            raise refused() from None
        require_size(count, LARGEST_LIST, f"the {noun} of {argument}", "take fewer")
        return list(given)
    endless = isinstance(given, itertools.count | itertools.cycle)
    items = [] if endless else list(itertools.islice(given, MOST_TAKEN + 1))
    if endless or len(items) > MOST_TAKEN:
        items.clear()
        raise error(
            f"{argument} is {abbreviated(given)}, which gives more than {MOST_TAKEN:,} {noun}; give a "
            f"list of them"
        )
    return items


def count_of(given: Sized) -> int:
    """How many items there are; Python cannot count those of range(10**30).

    >>> count_of("abc")
    3
    """
    try:
        return len(given)
    except OverflowError:
        raise TooLargeError(
            f"{abbreviated(given)} has more items than can be counted; take fewer", size=sys.maxsize
        ) from None


def holds_masked(given: object, depth: int = 3) -> bool:
    """Whether an array, a list or a list of lists holds a masked entry, which NumPy would make a nan."""
    if isinstance(given, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(given).any())
    if not isinstance(given, list | tuple) or not depth:
        return False
    nested = any(issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in set(map(type, given)))
    return nested and any(holds_masked(item, depth - 1) for item in given)


def did_you_mean(written: object, choices: Iterable[object]) -> str:
    """The words to add to a message about an unknown name: the nearest of the choices, or nothing.

    >>> did_you_mean("lef", ("left", "right"))
    " (did you mean 'left'?)"
    """
    if not isinstance(written, str) or len(written) > LONGEST_VALUE:
        return ""
    from difflib import get_close_matches

    spelled = {str(item).lower(): item for item in itertools.islice(choices, MOST_CHOICES)}
    near = get_close_matches(written.lower(), spelled, n=1)
    return f" (did you mean {spelled[near[0]]!r}?)" if near else ""


def instance(argument: str, value: object, kind: Any, words: str, error: type[SievertError]) -> Any:
    """An object of a class (or of one of several); `words` say what to give instead."""
    if not isinstance(value, kind):
        raise error(f"{argument} is {abbreviated(value)}; give {words}")
    return value


def function(argument: str, value: object, words: str, error: type[SievertError]) -> Any:
    """Something to call; `words` say of what."""
    if not callable(value):
        raise error(f"{argument} is {abbreviated(value)}; give a function of {words}")
    return value


def file_path(argument: str, value: object, error: type[SievertError]) -> Path:
    """The path of a file, written as a text or as a pathlib.Path."""
    instance(argument, value, str | os.PathLike, "the path of a file", error)
    try:
        path = Path(value)  # type: ignore[arg-type]
        os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        raise error(f"{argument} is {abbreviated(value)}; give the path of a file as a text") from None
    return path


def require_size(size: int | float, most: int | float, what: str, way_out: str) -> None:
    """Refuse before work begins: `what` would have `size` elements, more than `most`."""
    if size > most:
        raise TooLargeError(
            f"{what} would take {readable(size)}; {most:,} is the limit here, {way_out}", size=size
        )


def readable(number: int | float) -> str:
    """A count of any size; long ones to three digits.

    >>> readable(1234567), readable(10**30)
    ('1,234,567', '1.00e30')
    """
    if number < 10**15:
        return f"{number:,}"
    if number == math.inf:
        return "more than 10^300"
    exponent = math.log10(number)
    return f"{10 ** (exponent % 1):.2f}e{int(exponent)}"


def _number(value: Any) -> float | None:
    """A real number as a float; None where it is none (texts and truth values are not)."""
    if (
        isinstance(value, str | bytes | bool | np.bool_ | complex | np.complexfloating | np.timedelta64)
        or value is np.ma.masked
    ):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def _real(
    argument: str, value: object, error: type[SievertError], rule: str, least: float, most: float
) -> float:
    number = _number(value)
    if number is None or not least <= number <= most or math.isinf(number):
        raise error(f"{argument} is {abbreviated(value)}; {rule}")
    return number


# ── Randomness of analyses: a seed, a generator, or nothing for a fresh one ─────────────────────────────────


def generator_of(rng: object, argument: str = "rng") -> np.random.Generator:
    """The generator that a seed ≥ 0 or a generator stands for; a fresh one for None."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    instance(argument, rng, int | np.integer, "a seed, a numpy.random.Generator or None", SievertError)
    return np.random.default_rng(whole(argument, rng, least=0))
