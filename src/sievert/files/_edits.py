"""Edits of a file's text that keep its comments: one key changes one line.

A value that is what stands there changes nothing, and of a list or table only what differs is written. What
comes out is read again by the standard library, so that no edit is anything else than what was asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from sievert.errors import FileError
from sievert.files._document import Document, dumps, key_text, value_text
from sievert.files._loading import DEEPEST, UNTITLED, parse_toml, require_shallow
from sievert.numerics import abbreviated

__all__ = ["Key", "edited", "line_of", "with_values"]

Key = str | tuple[str | int, ...]
Steps = tuple[str | int, ...]
# The line that opens a table, and its first two names.
HEADER = re.compile(
    r"\s*\[\[?\s*(?P<name>[\w-]+|\"[^\"]*\"|'[^']*')\s*(\.\s*(?P<inner>[\w-]+|\"[^\"]*\"|'[^']*'))?[^\[\],]*\]\]?\s*(#.*)?$"
)


def edited(text: str, key: Key, value: Any, source: str = UNTITLED) -> str:
    """The text of a file with another value under a key; None takes the key away.

    Parameters
    ----------
    text : the file
    key : such as "mechanism.eps"; as a tuple where a name has a dot in it, with places in lists from 0
    value : numbers, texts, lists and tables as Python has them
    source : what errors call the text

    Returns
    -------
    str
        The text with its comments, its order and its spacing. A new key comes last in its table, a new table
        where the reference has it.

    Notes
    -----
    Needs the extra `studio` (tomlkit). Cost: O(length of the text).

    Examples
    --------
    >>> from sievert.files import edited
    >>> print(edited("[mechanism]\\neps = 1.0  # agreed in May\\n", "mechanism.eps", 0.5), end="")
    [mechanism]
    eps = 0.5  # agreed in May
    """
    steps, tables = _steps(key), parse_toml(text, source)
    require_shallow(value, source, DEEPEST - len(steps))
    wanted = with_values(tables, {steps: value})
    if repr(wanted) == repr(tables):
        return text
    first, document = str(steps[0]), _toolkit().parse(text)
    added = _added(tables.get(first, {}), wanted.get(first))
    if added and (first not in tables or _is_headless(document[first])):
        found = _with_table(text, first, added)
    else:
        _write(document, steps, wanted)
        found = _toolkit().dumps(document)
    if repr(_in_order(parse_toml(found, source))) != repr(_in_order(wanted)):
        name = ".".join(map(str, steps))
        raise FileError(
            f"{source}: {name} cannot be changed as the text is written; edit the text", key=steps
        )
    return found


def _added(old: Any, new: Any) -> dict[str, Any]:
    """The keys of a table that were not there."""
    return {key: value for key, value in new.items() if key not in old} if isinstance(new, dict) else {}


def with_values(tables: Mapping[str, Any], changes: Mapping[Any, Any]) -> dict[str, Any]:
    """The tables of a file with other values under some keys; None takes a key away."""
    found = deepcopy(dict(tables))
    for key, value in changes.items():
        _apply(found, _steps(key), deepcopy(value))
    return found


def _steps(key: Key) -> Steps:
    """The names and places that lead to a key."""
    found: Any = key
    if isinstance(key, str):
        found = tuple(int(part) if part.isdecimal() and part.isascii() else part for part in key.split("."))
    proper = isinstance(found, tuple) and found and isinstance(found[0], str) and "" not in found
    if not proper or not all(isinstance(part, str) or type(part) is int for part in found):
        raise FileError(f'key is {abbreviated(key)}; give one such as "mechanism.eps"')
    return tuple(found)


def _apply(tables: Any, steps: Steps, value: Any) -> None:
    """Put a value under a key of nested tables, with the tables that are missing on the way."""
    home = tables
    for place, step in enumerate(steps[:-1]):
        if not _has(home, step, steps):
            if value is None:
                return
            for inner in reversed(steps[place + 1 :]):
                value = [value] if inner == 0 else {inner: value}
            break
        home = home[step]
    else:
        step = steps[-1]
    there = _has(home, step, steps)
    if value is None:
        if there:
            del home[step]
    elif isinstance(home, list) and not there:
        home.append(value)
    else:
        home[step] = value


def _has(home: Any, step: str | int, steps: Steps) -> bool:
    """Whether something stands there; an error where nothing could."""
    if isinstance(home, Mapping) and isinstance(step, str):
        return step in home
    if isinstance(home, list) and isinstance(step, int) and 0 <= step <= len(home):
        return step < len(home)
    name = ".".join(map(str, steps))
    raise FileError(
        f"key {name} leads nowhere at {abbreviated(step)}; give the keys of tables and places in lists"
    )


def _in_order(item: Any) -> Any:
    """Nested tables with their keys in order, to compare what they say; an empty one says nothing."""
    if isinstance(item, Mapping):
        return {key: _in_order(part) for key, part in sorted(item.items()) if part != {}}
    return [_in_order(part) for part in item] if isinstance(item, list) else item


# ── In the text ─────────────────────────────────────────────────────────────────────────────────────────────


def _toolkit() -> Any:
    try:
        import tomlkit
    except ModuleNotFoundError:
        raise FileError("edits that keep comments need tomlkit: install sievert[studio]") from None
    return tomlkit


def _write(document: Any, steps: Steps, wanted: Any) -> None:
    """Change the parsed text where it differs from the tables that are wanted."""
    home, place = document, 0
    while place + 1 < len(steps) and _is_section(_part(home, steps[place])):
        home, wanted = home[steps[place]], wanted[steps[place]]
        place += 1
    if isinstance(home, list):
        _assign_list(home, wanted)
    else:
        _assign_key(home, str(steps[place]), wanted)


def _assign_key(table: Any, key: str, wanted: dict[str, Any]) -> None:
    """One key of a table as it is wanted: gone, another value, or a line of its own."""
    if key not in wanted:
        table.pop(key, None)
    elif key in table:
        _assign(table, key, wanted[key])
    else:
        _append_line(table, f"{key_text(key)} = {value_text(wanted[key])}")


def _part(home: Any, step: Any) -> Any:
    """What stands under a name or in a place; None: nothing."""
    if isinstance(home, list):
        return home[step] if step < len(home) else None
    return home.get(step)


def _is_section(item: Any) -> bool:
    """Whether it has lines of its own: a table under its header, or several of them."""
    items = _toolkit().items
    return isinstance(item, items.Table | items.AoT)


def _is_headless(item: Any) -> bool:
    """Whether only tables inside it have headers."""
    return isinstance(item, _toolkit().items.Table) and item.is_super_table()


def _append_line(table: Any, line: str) -> None:
    """A line after the last key of a table, before comments that speak of the next one."""
    items = _toolkit().items
    body = table.value.body if isinstance(table, items.Table) else table.body
    own = [item for name, item in body if name is not None and not _is_section(item)]
    last = own[-1] if own else table
    end = last.trivia.trail
    newline = "\r\n" if "\r\n" in end else "\n"
    last.trivia.trail = f"{end or newline}{line}{newline if end else ''}"


def _assign(home: Any, step: Any, value: Any) -> None:
    """Another value in the place of one, as little of it as can be."""
    old = home[step]
    if repr(old.unwrap() if hasattr(old, "unwrap") else old) == repr(value):
        return
    sections = _is_section(old)
    if isinstance(old, dict) and isinstance(value, dict) and (sections or old.keys() == value.keys()):
        for key in dict.fromkeys([*old, *value]):
            _assign_key(old, key, value)
    elif isinstance(old, list) and isinstance(value, list):
        _assign_list(old, value)
    else:
        home[step] = _toolkit().value(value_text(value))


def _assign_list(old: Any, value: list[Any]) -> None:
    """Another list in the place of one: what both begin and end with stays."""
    plain = old.unwrap()
    shorter = min(len(plain), len(value))
    start = next((i for i in range(shorter) if repr(plain[i]) != repr(value[i])), shorter)
    left = shorter - start
    end = next((i for i in range(left) if repr(plain[-1 - i]) != repr(value[-1 - i])), left)
    before, after = plain[start : len(plain) - end], value[start : len(value) - end]
    for place in range(min(len(before), len(after))):
        _assign(old, start + place, after[place])
    for place in reversed(range(len(after), len(before))):
        del old[start + place]
    several = isinstance(old, _toolkit().items.AoT)
    for place in range(len(before), len(after)):
        part = after[place]
        old.insert(
            start + place, _toolkit().parse(dumps(part)) if several else _toolkit().value(value_text(part))
        )


def _with_table(text: str, name: str, table: dict[str, Any]) -> str:
    """The text with a new table, before the next one of the reference and the comments right above it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = dumps({name: table}).replace("\n", newline)
    order = list(Document.model_fields)
    later = order[order.index(name) :] if name in order else [name]
    lines = text.splitlines(keepends=True)
    heads = [number for other in later if (number := line_of(text, (other,))) is not None]
    if not heads:
        gap = (
            ""
            if not text or text.endswith(newline * 2)
            else newline
            if text.endswith(newline)
            else newline * 2
        )
        return f"{text}{gap}{block}"
    at = min(heads) - 1
    while at > 0 and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return f"{''.join(lines[:at])}{block}{newline}{''.join(lines[at:])}"


def line_of(text: str, key: Key) -> int | None:
    """The number of the line on which a key or its table stands, from 1; None where neither does."""
    steps = _steps(key)
    name, places = str(steps[0]), [step for step in steps[1:2] if isinstance(step, int)]
    inner = next((step for step in steps[1:] if isinstance(step, str)), None)
    wanted: str | None = name
    found, seen = None, -1
    for number, line in enumerate(text.splitlines(), start=1):
        head = HEADER.match(line)
        if head is not None:
            ours = head["name"].strip("\"'") == name
            seen += ours
            inside = ours and (not places or seen == places[0])
            found = number if inside and found is None else found
            wanted = inner if inside else None
            if inside and inner is not None and (head["inner"] or "").strip("\"'") == inner:
                return number
        elif wanted is not None and re.match(rf"\s*[\"']?{re.escape(wanted)}[\"']?\s*[=.]", line):
            return number
    return found
