"""Ways to damage a proof: some keep every other rule (sums of rows, symmetry, signs), some break the file.

`mutated` takes the content of a proof and a seeded generator; it returns a changed copy, or None where the
change drawn does not apply.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Content = dict[str, Any]
Place = tuple[Any, Any]
ODD = (None, True, "", "nan", "1/0", "1e999999", "0x10", "１", [], {}, [[]], -1, 0, 1.5, 10**30, "9" * 5000)
FACTORS = (
    Fraction(-1),
    Fraction(0),
    Fraction(2),
    Fraction(1, 2),
    Fraction(101, 100),
    Fraction(99, 100),
    Fraction(10**9 + 1, 10**9),
)


def mutated(content: Content, draw: random.Random) -> Content | None:
    """A changed copy of a proof."""
    found = copy.deepcopy(content)
    change = draw.choice(CHANGES)
    return found if change(found, draw) and found != content else None


def places(item: Any) -> Iterator[Place]:
    """Every (container, key) of nested data, but for the format and the kind."""
    keys = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for key, value in keys:
        if key not in ("format", "kind", "labels"):
            yield item, key
            yield from places(value)


def number(value: Any) -> Fraction | None:
    """The number that a leaf is, or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        return None


def like(value: Fraction, leaf: Any) -> Any:
    """A number in the form of the leaf that it replaces."""
    if isinstance(leaf, float):
        return float(value)
    return str(value) if isinstance(leaf, str) or value.denominator != 1 else int(value)


def leaves(content: Content) -> list[Place]:
    """The places of all numbers."""
    return [(box, key) for box, key in places(content) if number(box[key]) is not None]


def rows(content: Content) -> list[list[Any]]:
    """Lists of two numbers or more."""
    found = [box[key] for box, key in places(content)]
    return [
        row
        for row in found
        if isinstance(row, list) and len(row) > 1 and all(number(v) is not None for v in row)
    ]


def matrices(content: Content) -> list[list[list[Any]]]:
    """Lists of equally long rows of numbers."""
    found = [box[key] for box, key in places(content)]
    return [
        table
        for table in found
        if isinstance(table, list)
        and len(table) > 1
        and all(isinstance(row, list) and row and len(row) == len(table[0]) for row in table)
    ]


def scale_a_number(content: Content, draw: random.Random) -> bool:
    """One number is multiplied."""
    box, key = draw.choice(leaves(content))
    value = number(box[key])
    assert value is not None
    box[key] = like(value * draw.choice(FACTORS), box[key])
    return True


def shift_a_number(content: Content, draw: random.Random) -> bool:
    """One number is moved, by little or by much."""
    box, key = draw.choice(leaves(content))
    value = number(box[key])
    assert value is not None
    step = draw.choice((Fraction(1), Fraction(1, 100), Fraction(1, 10**6))) * draw.choice((1, -1))
    box[key] = like(value + (step if not isinstance(box[key], int) else draw.choice((1, -1))), box[key])
    return True


def move_within_a_row(content: Content, draw: random.Random) -> bool:
    """One entry gives to another: the sum of the row stays, and so do the signs."""
    found = rows(content)
    if not found:
        return False
    row = draw.choice(found)
    i, j = draw.sample(range(len(row)), 2)
    mine, theirs = number(row[i]), number(row[j])
    assert mine is not None and theirs is not None
    amount = mine * draw.choice((Fraction(1), Fraction(1, 2), Fraction(1, 100)))
    if isinstance(row[i], int):
        amount = Fraction(int(amount))
    row[i], row[j] = like(mine - amount, row[i]), like(theirs + amount, row[j])
    return True


def change_symmetrically(content: Content, draw: random.Random) -> bool:
    """An entry of a square table and its mirror image: symmetry stays, triangles may break."""
    found = [table for table in matrices(content) if len(table) == len(table[0])]
    if not found:
        return False
    table = draw.choice(found)
    i, j = draw.sample(range(len(table)), 2)
    value = number(table[i][j])
    if value is None:
        return False
    table[i][j] = table[j][i] = like(value * draw.choice(FACTORS[2:]), table[i][j])
    return True


def swap_rows(content: Content, draw: random.Random) -> bool:
    """Two rows of one table change places: each is still what it was."""
    found = matrices(content)
    if not found:
        return False
    table = draw.choice(found)
    i, j = draw.sample(range(len(table)), 2)
    table[i], table[j] = table[j], table[i]
    return True


def swap_entries(content: Content, draw: random.Random) -> bool:
    """Two entries of one list change places: sums stay."""
    found = rows(content)
    if not found:
        return False
    row = draw.choice(found)
    i, j = draw.sample(range(len(row)), 2)
    row[i], row[j] = row[j], row[i]
    return True


def copy_an_entry(content: Content, draw: random.Random) -> bool:
    """One number in the place of another: indices stay within what exists."""
    found = leaves(content)
    (box, key), (other, name) = draw.choice(found), draw.choice(found)
    box[key] = other[name]
    return True


def put_something_odd(content: Content, draw: random.Random) -> bool:
    """A value of another type, or one that no honest writer makes."""
    box, key = draw.choice(list(places(content)))
    box[key] = copy.deepcopy(draw.choice(ODD))
    return True


def drop(content: Content, draw: random.Random) -> bool:
    """A key or an entry is missing."""
    box, key = draw.choice(list(places(content)))
    del box[key]
    return True


def drop_together(content: Content, draw: random.Random) -> bool:
    """One entry of a list, and that of every list of the same object that goes with it by its length."""
    boxes = [content, *(box[key] for box, key in places(content) if isinstance(box[key], dict))]
    box = draw.choice(boxes)
    lengths = sorted({len(value) for value in box.values() if isinstance(value, list) and len(value) > 1})
    if not lengths:
        return False
    length = draw.choice(lengths)
    k = draw.randrange(length)
    for value in box.values():
        if isinstance(value, list) and len(value) == length:
            del value[k]
    return True


def repeat(content: Content, draw: random.Random) -> bool:
    """An entry stands twice."""
    found = [(box, key) for box, key in places(content) if isinstance(box, list)]
    if not found:
        return False
    box, key = draw.choice(found)
    box.insert(key, copy.deepcopy(box[key]))
    return True


def turn_a_flag(content: Content, draw: random.Random) -> bool:
    """True becomes false."""
    found = [(box, key) for box, key in places(content) if isinstance(box[key], bool)]
    if not found:
        return False
    box, key = draw.choice(found)
    box[key] = not box[key]
    return True


def cut_digits(content: Content, draw: random.Random) -> bool:
    """A number loses its last digit."""
    found = [(box, key) for box, key in leaves(content) if len(str(box[key]).strip("-")) > 1]
    if not found:
        return False
    box, key = draw.choice(found)
    text = str(box[key])[:-1]
    box[key] = text if isinstance(box[key], str) else number(text) is not None and type(box[key])(text)
    return True


CHANGES: tuple[Callable[[Content, random.Random], bool], ...] = (
    scale_a_number,
    scale_a_number,
    shift_a_number,
    shift_a_number,
    move_within_a_row,
    move_within_a_row,
    change_symmetrically,
    swap_rows,
    swap_entries,
    copy_an_entry,
    put_something_odd,
    drop,
    drop_together,
    repeat,
    turn_a_flag,
    cut_digits,
)
