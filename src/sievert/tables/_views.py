"""A table or a SELECT of a file as a relation: which columns it reads, and that it is about whom it names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sievert.errors import FileError
from sievert.numerics import abbreviated, did_you_mean, several
from sievert.tables._catalogs import same_name
from sievert.tables._relations import Base, Relation, Select, manifold
from sievert.tables._select import of_known, understood

if TYPE_CHECKING:
    from sievert.tables._databases import Database

__all__ = ["table_of", "view_of"]


def table_of(name: str, database: Database) -> Relation | None:
    """A table of the file, by its name; None of a database whose catalogue is not read here."""
    if not database.dialect:
        return None
    *where, own = name.split(".")
    known = database.look([*where, own])
    if known is None:
        there: list[str] = []
        with suppress(Exception):
            there = database.names(where)
        raise FileError(
            f"data.table: {abbreviated(name)} is no table or view of the database (files, foreign tables and "
            f"tables of the system are not read){did_you_mean(own, there)}"
        )
    return of_known(known, database.dialect, database.look)


def view_of(
    sql: str, database: Database, person: str | None, people: Mapping[str, str], public: Sequence[str]
) -> Select:
    """A SELECT that is about the rows of the person it names, or else row by row about one table.

    Parameters
    ----------
    person : the column of it that says whose row it is
    people, public : of tables that the file describes: the person's column, or that they are about no person

    Raises
    ------
    FileError : where rows of one person change those of others, so that no limit on a person's rows holds
    """
    first = understood(sql, database.dialect, database.look)
    _refuse_own_functions(first.text, database)
    if person is None:
        if not first.relation.rowwise:
            raise FileError(
                "data.sql: joins, groups or repeats rows, and no column says whose row it is, so that one "
                "person may change any number of rows and nothing is promised; name data.person"
            )
        return first
    column = _column(person, first.relation, database.dialect)
    bases = first.relation.columns[column].bases
    owners = _owners(people, database) if people else bases
    if len({table for table, _ in owners}) < len(owners):
        raise FileError(
            f"data.person: {abbreviated(person)} is made of several columns of data.sql "
            f"({', '.join(sorted(name for _, name in bases))}), so that one person may have many names; "
            "name the column of the table that says whose row it is"
        )
    found = understood(
        sql,
        database.dialect,
        database.look,
        people=owners,
        public=frozenset(_path(name, database) for name in public),
    )
    told = found.relation
    many = manifold(told.keys | told.who.get(column, frozenset()))
    if told.mixed or column not in told.who or many:
        reason = told.mixed or f"{abbreviated(person)} is not the column of the person"
        if many and not told.mixed:
            reason = f"the names in {abbreviated(many)} are spelled in more than one way"
        raise FileError(
            f"data.sql: rows of one person may change those of others ({reason}), so that a limit on the "
            "rows of a person does not hold; join and group by the person, and say whose rows each has: "
            'tables = { visits = { person = "patient" }, wards = "public" }'
        )
    return found


def _column(person: str, relation: Relation, dialect: str) -> str:
    for name in relation.columns:
        if same_name(dialect, name) == same_name(dialect, person):
            return name
    raise FileError(
        f"data.person: {abbreviated(person)} is no column of data.sql, which gives "
        f"{several(relation.columns)}"
        f"{did_you_mean(person, list(relation.columns))}"
    )


def _path(name: str, database: Database) -> str:
    known = database.look(name.split("."))
    if known is None:
        raise FileError(f"data.tables: {abbreviated(name)} is no table or view of the database")
    return ".".join(known.path)


def _owners(people: Mapping[str, str], database: Database) -> frozenset[Base]:
    found = set()
    for name, column in people.items():
        known = database.look(name.split("."))
        spelled = {} if known is None else {same_name(database.dialect, own): own for own in known.columns}
        own = spelled.get(same_name(database.dialect, column))
        if known is None or own is None:
            raise FileError(
                f"data.tables: {abbreviated(name)} has no column {abbreviated(column)} in the database"
            )
        found.add((".".join(known.path), own))
    return frozenset(found)


def _refuse_own_functions(text: str, database: Database) -> None:
    """A function of the engine may have been given another meaning in this database."""
    called = {name.lower() for name in re.findall(r"([A-Za-z_0-9]+)\(", text)}
    for name in database.own_functions():
        if name.lower() in called:
            raise FileError(
                f"data.sql: {abbreviated(name)}() is also a function of this database, which may do "
                f"anything; make "
                "a view in the database and name it as data.table"
            )
