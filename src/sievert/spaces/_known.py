"""Which declared label a text of data means: by the text itself, or as the same exact number.

A declared text is meant by that text alone, so that "01067" is not 1067. A declared number is meant by every
text that is exactly this number (7, 7.0, 07, 7e0), whatever a float would round it to; a declared yes or no
by `true` and `false` in any case, never by 1 and 0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

from sievert.numerics import as_fraction
from sievert.spaces._labels import label, label_text

__all__ = ["KnownLabels", "as_float", "exact_number"]

# Numbers with more digits or a larger exponent than are ever computed with exactly: no label is one of them.
BEYOND = Fraction(10**5000)
TRUTHS = {"true": True, "false": False}


def as_float(value: Any) -> float | None:
    """The number that a cell of data is, not finite ones included; None for anything else.

    >>> as_float(" 2.50"), as_float("1_0"), as_float("east")
    (2.5, None, None)
    """
    # Python reads 1_0 and १० as ten; whoever declared numbers means neither.
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def exact_number(text: str) -> Fraction | None:
    """The exact number that a text is, infinities as ones beyond any label; None where it is no number.

    >>> exact_number(" 07.50"), exact_number("1e2"), exact_number("3/2"), exact_number("NaN")
    (Fraction(15, 2), Fraction(100, 1), None, None)
    """
    number = as_float(text)
    if number is None or math.isnan(number):
        return None
    try:
        return as_fraction(text.strip())
    except ValueError:
        if math.isinf(number):
            return BEYOND if number > 0 else -BEYOND
        # Exponents far below zero are next to nothing; digits without end are no measurement.
        return (Fraction(1) if number >= 0 else Fraction(-1)) / BEYOND if abs(number) < 1e-300 else None


class KnownLabels:
    """Which of the labels expected in a file a cell means: by its text, or as the same number.

    >>> known = KnownLabels(["01067", 2, 0.5])
    >>> known.find("01067"), known.find("2.0"), known.find("0.50"), known.find("1067") is None
    ('01067', 2, 0.5, True)
    """

    def __init__(self, labels: Iterable[Hashable]) -> None:
        self._range = labels if isinstance(labels, range) else None
        items = [] if self._range is not None else list(labels)
        self._texts: dict[str, Hashable] = {label_text(item): item for item in items}
        for item in items:
            if isinstance(item, str):
                self._texts.setdefault(item.strip(), item)
        # True equals 1 and is another label.
        self._labels = {(isinstance(item, bool), item): item for item in items}
        self._numbers = dict(pair for item in reversed(items) for pair in _numbers(item))

    def find(self, value: Any) -> Hashable | None:
        """The expected label, or None."""
        if isinstance(value, str):
            return self._by_text(value.strip())
        item = label(value)
        if isinstance(item, bool):
            return self._labels.get((True, item), self._by_text(str(item).lower()))
        if self._range is not None:
            number = as_float(item)
            whole = number is not None and math.isfinite(number) and item == int(number)
            return self._place(int(item)) if whole else None  # type: ignore[call-overload]
        return self._labels.get((False, item), self._texts.get(label_text(item)))

    def _by_text(self, text: str) -> Hashable | None:
        if self._range is not None:
            number = exact_number(text)
            whole = number is not None and number.denominator == 1
            return self._place(number.numerator) if number is not None and whole else None
        if text in self._texts:
            return self._texts[text]
        truth = TRUTHS.get(text.lower())
        if truth is not None:
            return self._labels.get((True, truth))
        number = exact_number(text) if self._numbers else None
        return None if number is None else self._numbers.get(number)

    def _place(self, number: int) -> int | None:
        assert self._range is not None
        return number if number in self._range else None


def _numbers(item: Any) -> list[tuple[Fraction, Hashable]]:
    """The numbers that mean a label: 0.1 stands for one tenth, and for the float that is nearest to it."""
    if isinstance(item, int | Fraction) and not isinstance(item, bool):
        return [(Fraction(item), item)]
    if not isinstance(item, float) or not math.isfinite(item):
        return []
    return [(Fraction(item), item), (Fraction(str(item)), item)]
