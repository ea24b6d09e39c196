"""What everybody knows about the data already: constraints that leave only some databases possible.

>>> from sievert.policies._policy import Policy
>>> Policy.differential(range(4), 3, permitted=total(7)).size
6

A policy takes one constraint or a list of them (all hold), a list of databases, or a function that says
whether a database is permitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sievert.constraints._equations import Equations
from sievert.errors import PolicyError
from sievert.numerics import abbreviated, function, instance, is_whole, taken
from sievert.spaces import Databases, Labels, Rows, iterable, label, shown, worded

__all__ = [
    "Constraint",
    "ConstraintPredicate",
    "constraint",
    "histogram",
    "listed",
    "marginals",
    "satisfying",
    "total",
]


@dataclass(frozen=True)
class ConstraintPredicate:
    """A condition that only a function knows: on whole databases, and perhaps on their first records."""

    whole: Callable[[tuple[Hashable, ...]], object]
    prefix: Callable[[tuple[Hashable, ...]], object] | None = None

    def __post_init__(self) -> None:
        function("whole", self.whole, "a tuple of values", PolicyError)
        if self.prefix is not None:
            function("prefix", self.prefix, "a tuple of values", PolicyError)


Bound: TypeAlias = Equations | ConstraintPredicate | Databases  # a constraint on given values and records


class Constraint(ABC):
    """Something publicly known about the database."""

    @abstractmethod
    def describe(self) -> str:
        """What is known, in plain words."""

    @abstractmethod
    def bound(self, values: Labels, records: int, absent: Hashable | None) -> Bound:
        """The constraint on databases of so many records with these values; checks that it fits them."""


@dataclass(frozen=True, eq=False)
class TotalConstraint(Constraint):
    """The contributions of all records add up to a known number."""

    amount: Fraction
    value_weights: Mapping[Hashable, Fraction] | None = None
    record_weights: tuple[Fraction, ...] | None = None

    def describe(self) -> str:
        """What is known."""
        what = (
            "the values" if self.value_weights is None and self.record_weights is None else "weighted values"
        )
        return f"{what} add up to {_written(self.amount)}"

    def bound(self, values: Labels, records: int, absent: Hashable | None) -> Equations:
        """One equation; records of equal weight contribute alike."""
        numbers = self._numbers(values, absent)
        if self.record_weights is None:
            return Equations.of_fractions(
                [[[number] for number in numbers]], np.zeros(records, dtype=np.intp), [self.amount]
            )
        if len(self.record_weights) != records:
            raise PolicyError(
                f"permitted: total has {len(self.record_weights)} weights but the policy has {records} "
                "records; give one for each record, or a mapping from each value to what it counts"
            )
        kinds = sorted(set(self.record_weights))
        kind_of = np.array([kinds.index(weight) for weight in self.record_weights], dtype=np.intp)
        return Equations.of_fractions(
            [[[number * weight] for number in numbers] for weight in kinds], kind_of, [self.amount]
        )

    def _numbers(self, values: Labels, absent: Hashable | None) -> list[Fraction]:
        weights = self.value_weights
        if weights is None:
            zero = Fraction(0)
            return [zero if _is(value, absent) else _number(value, "total: the value") for value in values]
        _known(weights, values, "total has a weight for")
        missing = [value for value in values if value not in weights and not _is(value, absent)]
        if missing:
            raise PolicyError(
                f"permitted: total has no weight for the value {abbreviated(missing[0])}; give one for "
                f"each value"
            )
        return [weights.get(value, Fraction(0)) for value in values]


@dataclass(frozen=True, eq=False)
class CountsConstraint(Constraint):
    """Known numbers of records with some values, or with some value of an attribute."""

    counts: Mapping[Hashable, int]
    attribute: int | Callable[[Any], object] | None = None
    complete: bool = False  # every value is counted: those not named do not occur

    def describe(self) -> str:
        """What is known."""
        listed = [f"{worded(name, str)}: {count}" for name, count in self.counts.items()]
        names = ", ".join(listed[:6]) + (", …" if len(listed) > 6 else "")
        if self.complete:
            return f"the number of records with each value is fixed ({names})"
        if self.attribute is None:
            return f"the number of records with some values is fixed ({names})"
        which = f"attribute {self.attribute + 1}" if isinstance(self.attribute, int) else "an attribute"
        return f"the number of records with some values of {which} is fixed ({names})"

    def bound(self, values: Labels, records: int, absent: Hashable | None) -> Equations:
        """One equation for each count."""
        groups = [self._group(value) for value in values]
        _known(self.counts, tuple(dict.fromkeys(groups)), f"{self._name} counts")
        whole = sum(self.counts.values())
        if whole > records or (self.complete and whole < records):
            raise PolicyError(
                f"permitted: the counts of {self._name} add up to {whole} but there are {records} records",
                fix="use marginals to give some of the counts" if whole < records else "correct the counts",
                file_fix="use counts to give some of them" if whole < records else "correct the counts",
            )
        named = list(self.counts) + ([value for value in values if value not in self.counts] * self.complete)
        table = [[[int(group == name) for name in named] for group in groups]]
        return Equations(
            np.array(table, dtype=np.int64).reshape(1, len(values), len(named)),
            np.zeros(records, dtype=np.intp),
            np.array([self.counts.get(name, 0) for name in named], dtype=np.int64),
        )

    @property
    def _name(self) -> str:
        return "histogram" if self.complete else "marginals"

    def _group(self, value: Hashable) -> Hashable:
        if self.attribute is None:
            return value
        if not isinstance(self.attribute, int):
            return label(self.attribute(value))
        if not isinstance(value, tuple) or not -len(value) <= self.attribute < len(value):
            raise PolicyError(
                f"permitted: marginals counts attribute {self.attribute} but the value {worded(value)} has "
                "no such attribute; values with attributes are tuples, and attributes are numbered from 0"
            )
        return label(value[self.attribute])


@dataclass(frozen=True, eq=False)
class ListedConstraint(Constraint):
    """The permitted databases one by one."""

    databases: tuple[object, ...] | np.ndarray[Any, Any] = field(repr=False)

    def describe(self) -> str:
        """What is known."""
        count = len(self.databases)
        return f"the database is one of {count} that are listed" if count > 1 else "the database is known"

    def bound(self, values: Labels, records: int, absent: Hashable | None) -> Databases:
        """The rows in order, each once."""
        position = {value: i for i, value in enumerate(values)}
        if isinstance(self.databases, np.ndarray) and self.databases.shape[1:] == (records,):
            rows = _looked_up(self.databases, position, records)
        else:
            rows = np.array(
                [_row(database, where, position, records) for where, database in enumerate(self.databases)],
                dtype=np.intp,
            )
        return Databases(_distinct(rows.reshape(-1, records)), values)


@dataclass(frozen=True, eq=False)
class PredicateConstraint(Constraint):
    """The databases that a function accepts."""

    predicate: Callable[[Any], object]
    prefix: Callable[[Any], object] | None = None
    words: str = "the database satisfies a known condition"

    def describe(self) -> str:
        """What is known."""
        return self.words

    def bound(self, values: Labels, records: int, absent: Hashable | None) -> ConstraintPredicate:
        """The functions themselves."""
        return ConstraintPredicate(self.predicate, self.prefix)


def total(amount: float | Fraction, weights: Mapping[Any, Any] | Sequence[Any] | None = None) -> Constraint:
    """The sum of all records is publicly known.

    Parameters
    ----------
    amount : number
        The known total; decimals are read as written.
    weights : mapping or sequence, optional
        What each value counts (then values need not be numbers), or one factor for each record.

    Returns
    -------
    Constraint

    Notes
    -----
    Cost: O(values); the databases are listed when one asks for them.

    Examples
    --------
    >>> total(250).describe()
    'the values add up to 250'
    """
    known = _number(amount, "total: the amount")
    if weights is None:
        return TotalConstraint(known)
    if isinstance(weights, Mapping):
        numbers = {label(value): _number(weight, "total: the weight") for value, weight in weights.items()}
        return TotalConstraint(known, value_weights=numbers)
    if isinstance(weights, str) or not iterable(weights):
        raise PolicyError(f"total: weights is {abbreviated(weights)}; give a mapping from value, or a list")
    return TotalConstraint(
        known,
        record_weights=tuple(
            _number(weight, "total: the weight")
            for weight in taken("weights", weights, PolicyError, "numbers")
        ),
    )


def histogram(counts: Mapping[Any, int]) -> Constraint:
    """How many records have each value is publicly known; values not named do not occur.

    Parameters
    ----------
    counts : from a value to the number of records that have it

    Returns
    -------
    Constraint

    Notes
    -----
    Cost: O(values); the databases are listed when one asks for them.

    Examples
    --------
    >>> histogram({"a": 2, "b": 1}).describe()
    'the number of records with each value is fixed (a: 2, b: 1)'
    """
    return CountsConstraint(_counts(counts, "histogram"), complete=True)


def marginals(
    counts: Mapping[Any, int], attribute: int | Callable[[Any], object] | None = None
) -> Constraint:
    """How many records have some of the values is publicly known.

    Parameters
    ----------
    counts : mapping
        From a value to the number of records that have it.
    attribute : int or callable, optional
        Where values are tuples of attributes, which one is counted (from 0); or a function of the value.

    Returns
    -------
    Constraint

    Notes
    -----
    Cost: O(values); the databases are listed when one asks for them.

    Examples
    --------
    >>> marginals({"f": 120}, attribute=0).describe()
    'the number of records with some values of attribute 1 is fixed (f: 120)'
    """
    if isinstance(attribute, bool) or not (
        attribute is None or isinstance(attribute, int) or callable(attribute)
    ):
        raise PolicyError(
            f"attribute is {abbreviated(attribute)}; give the position of an attribute in the values, "
            f"or a function"
        )
    return CountsConstraint(_counts(counts, "marginals"), attribute)


def listed(databases: Iterable[object]) -> Constraint:
    """Exactly these databases are possible (a database listed twice counts once).

    Parameters
    ----------
    databases : tuples of values, one value a record

    Returns
    -------
    Constraint

    Notes
    -----
    Cost: O(databases·records).

    Examples
    --------
    >>> import sievert as sv
    >>> policy = sv.Policy.differential([0, 1], 2, permitted=sv.constraints.listed([(0, 1), (1, 0)]))
    >>> list(policy.databases())
    [(0, 1), (1, 0)]
    """
    if isinstance(databases, str) or not iterable(databases):
        raise PolicyError(f"databases is {abbreviated(databases)}; give a list of databases")
    items = (
        databases
        if isinstance(databases, np.ndarray)
        else tuple(taken("databases", databases, PolicyError, "databases"))
    )
    if not len(items):
        raise PolicyError("permitted lists no database; at least one must be possible")
    if isinstance(items, np.ndarray) and (items.dtype.kind == "c" or _holds_nan(items)):
        raise PolicyError(f"databases is {abbreviated(items)}; values are real numbers or texts")
    return ListedConstraint(items)


def satisfying(
    predicate: Callable[[Any], object],
    prefix: Callable[[Any], object] | None = None,
    words: str | None = None,
) -> Constraint:
    """The databases (tuples of values) for which a function is true are possible.

    Parameters
    ----------
    predicate : callable
        Of a whole database.
    prefix : callable, optional
        Of the first records of a database: false when no permitted database begins with them. Without it
        every combination of values is tried.
    words : str, optional
        What is known, for `describe`.

    Returns
    -------
    Constraint

    Notes
    -----
    Cost: the function is called for every combination of values, or with a prefix for those that it leaves.

    Examples
    --------
    >>> import sievert as sv
    >>> rising = sv.constraints.satisfying(lambda database: database[0] <= database[1], words="sorted")
    >>> list(sv.Policy.differential([0, 1], 2, permitted=rising).databases())
    [(0, 0), (0, 1), (1, 1)]
    """
    function("predicate", predicate, "a tuple of values", PolicyError)
    if prefix is not None:
        function("prefix", prefix, "a tuple of values", PolicyError)
    if words is None:
        return PredicateConstraint(predicate, prefix)
    return PredicateConstraint(predicate, prefix, instance("words", words, str, "a sentence", PolicyError))


def constraint(permitted: object) -> tuple[Constraint, ...]:
    """The constraints that `permitted=` stands for; all of them hold.

    Parameters
    ----------
    permitted : None, a constraint, a list of them, a list of databases, or a function of a database

    Returns
    -------
    tuple of Constraint

    Notes
    -----
    Cost: O(databases) for a list of databases.

    Examples
    --------
    >>> [rule.describe() for rule in constraint([total(3), histogram({0: 1, 1: 3})])]
    ['the values add up to 3', 'the number of records with each value is fixed (0: 1, 1: 3)']
    """
    if isinstance(permitted, Constraint):
        return (permitted,)
    if callable(permitted):
        return (satisfying(permitted),)
    if isinstance(permitted, str) or not iterable(permitted):
        raise PolicyError(
            f"permitted is {abbreviated(permitted)}; give a constraint (sv.constraints.…), a list of "
            f"them, a list "
            "of databases or a function of a database"
        )
    items = (
        permitted
        if isinstance(permitted, np.ndarray)
        else taken("permitted", permitted, PolicyError, "databases")
    )
    if len(items) and all(isinstance(item, Constraint) or callable(item) for item in items):
        return tuple(item if isinstance(item, Constraint) else satisfying(item) for item in items)
    if any(isinstance(item, Constraint) for item in items):
        raise PolicyError(
            "permitted lists constraints together with something else; give databases as "
            "sv.constraints.listed(databases)"
        )
    return (listed(items),)


def _holds_nan(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _is(value: Hashable, absent: Hashable | None) -> bool:
    return absent is not None and value == absent


def _number(value: object, what: str) -> Fraction:
    try:
        if isinstance(value, bool | str) or value is None:
            raise ValueError
        return Fraction(str(label(value)))
    except (TypeError, ValueError):
        raise PolicyError(
            f"permitted: {what} {abbreviated(value)} is not a finite number",
            fix="pass weights={value: number} to say what each value counts",
            file_fix="give weights = { value = number } to say what each value counts",
        ) from None


def _written(number: Fraction) -> str:
    if number.denominator == 1:
        return str(number.numerator)
    return str(float(number)) if Fraction(str(float(number))) == number else str(number)


def _counts(counts: object, name: str) -> dict[Hashable, int]:
    if not isinstance(counts, Mapping) or not counts:
        raise PolicyError(f"permitted: {name} is {abbreviated(counts)}; give a mapping from values to counts")
    for value, count in counts.items():
        if not is_whole(count) or count < 0:
            raise PolicyError(
                f"permitted: {name} gives {abbreviated(value, worded)} the count {abbreviated(count)}; "
                "a count is a whole number ≥ 0"
            )
    return {label(value): int(count) for value, count in counts.items()}


def _known(named: Iterable[Hashable], values: Sequence[Hashable], what: str) -> None:
    for name in named:
        if name not in values:
            raise PolicyError(
                f"permitted: {what} {abbreviated(name, worded)}, which is not one of {shown(values)}"
            )


def _row(database: object, where: int, position: Mapping[Hashable, int], records: int) -> list[int]:
    try:
        key = label(database)
        if records == 1 and key in position:
            return [position[key]]
        if isinstance(key, tuple) and len(key) == records:
            return [position[value] for value in key]
    except TypeError:
        pass
    except KeyError as missing:
        raise PolicyError(
            f"permitted: database {where} is {abbreviated(database)}, and "
            f"{abbreviated(missing.args[0], worded)} "
            "is not one of the values " + shown(list(position))
        ) from None
    raise PolicyError(
        f"permitted: database {where} is {abbreviated(database)}; each must be a sequence of {records} values"
    )


def _looked_up(array: np.ndarray[Any, Any], position: Mapping[Hashable, int], records: int) -> Rows:
    """Positions of the values of a whole array, each different one looked up once."""
    found, where = np.unique(array, return_inverse=True)
    places = [position.get(label(value), -1) for value in found]
    rows = np.array(places, dtype=np.intp)[where.reshape(array.shape)]
    unknown = np.flatnonzero((rows < 0).any(axis=1))
    if len(unknown):
        _row(array[unknown[0]], int(unknown[0]), position, records)
    return rows


def _distinct(rows: Rows) -> Rows:
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[new]
