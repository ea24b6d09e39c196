"""Which tables and views a database has of its own, with their columns and, of views, what they are made of.

A SELECT of a file names tables; each is looked up here by its whole name before the question is asked, so
that a name is never a file, a function, a variable of Python or a table of the system. Questions are fixed
texts with parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Known", "same_name"]

# Schemas of the systems themselves.
SYSTEM = ("information_schema", "pg_catalog", "pg_toast", "system", "temp")


@dataclass(frozen=True)
class Known:
    """A table or view of the database.

    Attributes
    ----------
    path : its whole name: catalogue (where there is one), schema, name
    columns : their names
    definition : the SELECT of a view; "" where it is one but what it is made of is not known; None of a table
    """

    path: tuple[str, ...]
    columns: tuple[str, ...]
    definition: str | None = None


def same_name(dialect: str, name: str, quoted: bool = True) -> str:
    """A name as it is compared: Postgres folds what is not quoted, the others do not distinguish letters."""
    if dialect == "postgres":
        return name if quoted else name.lower()
    return name.lower()


def of_duckdb(base: Any, parts: Sequence[str]) -> Known | None:
    """A table or view of a DuckDB file."""
    *where, name = parts
    catalogue, schema = ([None, None, *where])[-2:]
    found = base.execute(
        "SELECT database_name, schema_name, table_name, NULL FROM duckdb_tables() WHERE NOT internal "
        "AND NOT temporary AND database_name = current_database() AND lower(table_name) = lower($1) "
        "AND lower(schema_name) = lower(coalesce($2, 'main')) AND lower(database_name) = lower(coalesce($3, "
        "database_name)) UNION ALL SELECT database_name, schema_name, view_name, sql FROM duckdb_views() "
        "WHERE NOT internal AND NOT temporary AND database_name = current_database() "
        "AND lower(view_name) = lower($1) AND lower(schema_name) = lower(coalesce($2, 'main')) "
        "AND lower(database_name) = lower(coalesce($3, database_name))",
        [name, schema, catalogue],
    ).fetchall()
    if not found:
        return None if len(parts) != 2 else _of_duckdb_catalogue(base, parts)
    *path, definition = found[0]
    columns = base.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = $1 AND schema_name = $2 "
        "AND table_name = $3 ORDER BY column_index",
        path,
    ).fetchall()
    return Known(tuple(path), tuple(column for (column,) in columns), definition)


def _of_duckdb_catalogue(base: Any, parts: Sequence[str]) -> Known | None:
    """`database.table` where the first part is the database and the schema is the usual one."""
    return of_duckdb(base, [parts[0], "main", parts[1]])


def of_postgres(base: Any, parts: Sequence[str]) -> Known | None:
    """A table or view of a Postgres database; a foreign table is none of its own."""
    *where, name = parts
    catalogue, schema = ([None, None, *where])[-2:]
    with base.cursor() as cursor:
        found = cursor.execute(
            "SELECT c.oid, current_database(), n.nspname, c.relname, CASE WHEN c.relkind IN ('v', 'm') "
            "THEN coalesce(pg_get_viewdef(c.oid), '') END FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname <> ALL (%s) "
            "AND n.nspname NOT LIKE 'pg\\_%%' AND (%s::text IS NULL OR current_database() = %s) "
            "AND CASE WHEN %s::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid) "
            "ELSE n.nspname = %s END",
            (name, list(SYSTEM), catalogue, catalogue, schema, schema),
        ).fetchone()
        if found is None:
            return None
        oid, *path, definition = found
        columns = cursor.execute(
            "SELECT attname FROM pg_catalog.pg_attribute WHERE attrelid = %s AND attnum > 0 "
            "AND NOT attisdropped ORDER BY attnum",
            (oid,),
        ).fetchall()
    return Known(tuple(path[1:]), tuple(column for (column,) in columns), definition)


def of_sqlite(base: Any, parts: Sequence[str]) -> Known | None:
    """A table or view of an SQLite file; a virtual table is a program."""
    *where, name = parts
    if where and [part.lower() for part in where] != ["main"]:
        return None
    found = base.execute(
        "SELECT name, type, sql FROM main.sqlite_master WHERE lower(name) = lower(?) "
        "AND type IN ('table', 'view') AND upper(trim(sql)) NOT LIKE 'CREATE VIRTUAL%'",
        (name,),
    ).fetchone()
    if found is None:
        return None
    columns = base.execute("SELECT name FROM pragma_table_info(?)", (found[0],)).fetchall()
    definition = found[2] if found[1] == "view" else None
    return Known(("main", found[0]), tuple(column for (column,) in columns), definition)


def of_spark(session: Any, parts: Sequence[str]) -> Known | None:
    """A table or view of Spark's catalogue, or one of the session; never a file by its format and path."""
    *where, name = parts
    if any("`" in part or "$" in part for part in parts):
        return None
    place = ""
    if where:
        schemas = [row[0].lower() for row in session.sql(_show("SCHEMAS", where[:-1])).collect()]
        if where[-1].lower() not in schemas:
            return None
        place = ".".join(f"`{part}`" for part in where)
    shown = session.sql(f"SHOW TABLES IN {place}" if place else "SHOW TABLES").collect()
    found = [row for row in shown if row["tableName"].lower() == name.lower()]
    found = sorted((row for row in found if not (where and row["isTemporary"])), key=lambda row: not row[2])
    if not found:
        return None
    space, own, temporary = found[0][:3]
    views = session.sql(f"SHOW VIEWS IN {place}" if place else "SHOW VIEWS").collect()
    is_view = temporary or own.lower() in {row["viewName"].lower() for row in views}
    path = (own,) if temporary else (*where, own) if where else (space, own)
    columns = tuple(session.table(".".join(f"`{part}`" for part in path)).columns)
    return Known(tuple(path), columns, "" if is_view else None)


def _show(what: str, where: Sequence[str]) -> str:
    return f"SHOW {what} IN {'.'.join(f'`{part}`' for part in where)}" if where else f"SHOW {what}"
