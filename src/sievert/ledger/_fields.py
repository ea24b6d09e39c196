"""What the records of a ledger may hold: a ledger that came along is read by this before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sievert.ledger._chain import Record, legible
from sievert.ledger._currency import exactly
from sievert.ledger._reservation import check_name
from sievert.numerics import abbreviated

__all__ = ["MOST_RECORDS", "check_records"]

# More records of one person, or values of a record, are a mistake.
MOST_RECORDS = 2**53
# What is charged is compared in floats, too.
LARGEST_AMOUNT = 10**300


def check_records(records: Sequence[Record]) -> None:
    """Refuse what no version wrote."""
    with legible():
        for record in records:
            kind = record["kind"]
            if kind in ("reserve", "plan"):  # names become parts of file names
                check_name(record["id"])
            known = {**FIELDS, **PLAN} if kind == "plan" else FIELDS
            for name, is_sound in known.items():
                if name in record and not is_sound(record[name]):
                    raise ValueError(f"{name} is {abbreviated(record[name])}")
            for name in REQUIRED.get(kind, ()):
                if name not in record:
                    raise ValueError(f"{name} is missing")
            if "about" in record and "carried" not in record:
                raise ValueError("carried is missing")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_amount(value: object) -> bool:
    return 0 <= exactly(value) <= LARGEST_AMOUNT


def _is_no_amount_or_one(value: object) -> bool:
    return value is None or _is_amount(value)


def _is_number_of_values(value: object) -> bool:
    return value is None or (type(value) is int and 0 < value <= MOST_RECORDS)


def _is_guess(value: object) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, dict)
        and isinstance(value["after"], int | float)
        and 0 <= value["after"] <= 1
        and isinstance(value["exact"], bool)
    )


def _is_place(value: object) -> bool:
    return value is None or (
        isinstance(value, dict) and _is_count(value["number"]) and _is_text(value["head"])
    )


def _is_noise(value: object) -> bool:
    """The name of a law, and its parameters: whole numbers, or fractions as texts."""
    if not isinstance(value, dict) or not _is_text(value["law"]):
        return False
    given = [value[name] for name in value if name != "law"]
    return all(_is_amount(str(item) if type(item) is int else item) for item in given)


def _is_planned(value: object) -> bool:
    """The noise and the largest moves of a plan, of one table or of several; else the name of a mechanism."""
    if not isinstance(value, dict) or "moves" not in value:
        return isinstance(value, dict) and _is_text(value["mark"])
    several = "noises" in value
    noises = value["noises"] if several else [value["noise"]]
    moves = value["moves"] if several else [[move] for move in value["moves"]]
    return all(map(_is_noise, noises)) and all(
        len(move) == len(noises) and all(_is_count(step) for steps in move for step in steps)
        for move in moves
    )


FIELDS: Mapping[str, Callable[[object], bool]] = {
    "unit": _is_text,
    "columns": lambda value: isinstance(value, dict) or _are_texts(value),  # of the opening, their limits
    "targets": _are_texts,
    "sha256": _are_texts,
    "mechanism": _is_text,
    "cost": _is_amount,
    "eps": _is_no_amount_or_one,
    "pair": _are_texts,
    "plan": _is_text,
    "stable": _is_text,
    "period": _is_text,
    "carried": _is_text,
    "about": _is_text,
    "values": _is_number_of_values,
    "guess": _is_guess,
    "places": _is_place,
}
PLAN: Mapping[str, Callable[[object], bool]] = {"pair": _is_planned}
CHARGED = ("unit", "columns", "eps")
REQUIRED: Mapping[str, Sequence[str]] = {
    "reserve": ("targets", *CHARGED),
    "plan": ("pair", "cost", "n", *CHARGED),
    "commit": ("id", "sha256"),
    "retarget": ("id", "targets"),
}
