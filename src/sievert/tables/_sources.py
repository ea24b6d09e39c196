"""Where records lie that nobody reads one by one: a database, or files that the embedded DuckDB counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sievert.errors import DataError, FileError
from sievert.kinds import PrivatePath, kind
from sievert.numerics import brief, did_you_mean
from sievert.tables._batches import Rows, Source, open_rows
from sievert.tables._databases import (
    EMBEDDED,
    Database,
    GivenToDuckDb,
    ParquetOrCsv,
    database_for,
    database_of,
    ibis_or_refuse,
)
from sievert.tables._folders import files_named, refuse_twice
from sievert.tables._warehouse import Warehouse

__all__ = ["DatabaseSource", "SourceUrl", "counted_files", "given_warehouse"]

SECRET = re.compile(r"pass|pwd|token|secret|credential|private|key$", re.IGNORECASE)
PASSWORD = (
    "holds a password, and whoever sees the file would have it; leave it out and give it to the driver: in "
    "the environment (PGPASSWORD), or in its own file (~/.pgpass, spark-defaults.conf)"
)
# Parquet files with fewer rows are read here, where an error can say which row it is about.
FEWEST_ROWS = 100_000


class SourceUrl(PrivatePath):
    """Where a database is: scheme://place. A password must not stand in a file."""

    @classmethod
    def checked(cls, text: str) -> Self:
        scheme, sign, place = text.partition("://")
        if not sign or not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
            raise ValueError(
                'is no URL of a database; write "duckdb://file.db", "postgres://host/database" or '
                '"spark://host:7077"'
            )
        if scheme not in EMBEDDED and not (
            place.isascii() and place.isprintable() and not set(place) & set(" \\")
        ):
            raise ValueError("holds a blank, a backslash or another letter that no URL has; write it as %20")
        before, _, after = place.partition("?")
        # A password may hold a slash or a question mark itself.
        user = "" if scheme in EMBEDDED else place.rpartition("@")[0]
        told = [*parse_qsl(after, keep_blank_values=True), *parse_qsl(before, separator=";")]
        if ":" in user or any(SECRET.search(name) for name, _ in told):
            # The value is a secret, so the message must not repeat it.
            raise PydanticCustomError("secret", PASSWORD)
        _known_scheme(scheme)
        return super().checked(text)

    @property
    def scheme(self) -> str:
        """What stands before ://."""
        return self.partition("://")[0]

    @property
    def local(self) -> str | None:
        """The file that the database is, if it is one."""
        return self.partition("://")[2].partition("?")[0] if self.scheme in EMBEDDED else None

    def at(self, local: str) -> Self:
        """The same database under another path."""
        return type(self)(f"{self.scheme}://{local}")


@kind(Source, key="source")
class DatabaseSource(Source):
    """A table in a database, which is counted there."""

    source: Annotated[
        SourceUrl,
        Field(
            description='the database: `"duckdb://file.db"`, `"postgres://host/database"`, '
            '`"spark://host:7077"`, or another URL of Ibis; never with a password, and its '
            "host allowed outside the file ([where the data lives](warehouse.md))"
        ),
    ]
    table: Annotated[
        str | None, Field(min_length=1, description="the table, `schema.table` where it is in a schema")
    ] = None
    sql: Annotated[str | None, Field(min_length=1, description="or one SELECT that gives the records")] = None

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        if (self.table is None) == (self.sql is None):
            raise ValueError(
                "give exactly one of table and sql: the table, or a SELECT that gives the records"
            )
        return self

    by_record = False

    def require_hosts(self) -> None:
        if self.source.scheme not in EMBEDDED:
            database_for(self.source.scheme).require_host(self.source)

    def rows(self, folder: Path) -> Rows:
        raise FileError(
            "data.source: only distinct cells and their counts leave a database, and this release reads "
            "every record; export the table to a folder of Parquet files and name it as data.input"
        )

    def warehouse(self, folder: Path) -> Warehouse:
        found = database_for(self.source.scheme)
        sql = None if self.sql is None else one_select(self.sql, found.backend, self.source)
        database = found.open(self.source, folder)
        try:
            table = database.table(str(self.table)) if sql is None else database.view(sql)
        except BaseException:
            database.close()
            raise
        what = "data.sql" if self.table is None else f"table {self.table}"
        return Warehouse(database, table, f"{self.source}, {what}")


def one_select(sql: str, backend: str, url: str) -> str:
    """The one SELECT of a text; whatever else is refused: a file must not change the data it is about."""
    ibis_or_refuse(url)
    import sqlglot
    from sqlglot import expressions

    dialect = {"pyspark": "spark", "": None}.get(backend, backend)
    try:
        statements = [found for found in sqlglot.parse(sql, dialect=dialect) if found is not None]
    except sqlglot.errors.SqlglotError as problem:
        raise FileError(f"data.sql: is not understood ({str(problem).splitlines()[0]})") from None
    statements = [found for found in statements if not isinstance(found, expressions.Semicolon)]
    writing = (
        expressions.DML,
        expressions.DDL,
        expressions.Command,
        expressions.Into,
        expressions.Lock,
        expressions.Set,
        expressions.Pragma,
        expressions.Copy,
        expressions.Drop,
        expressions.Alter,
    )
    reads = len(statements) == 1 and isinstance(statements[0], expressions.Query)
    for node in statements[0].walk() if reads else ():
        reads = reads and (isinstance(node, expressions.Query) or not isinstance(node, writing))
    if not reads:
        raise FileError(
            f"data.sql: {brief(sql)} is not one SELECT; a file only reads the data, so give a single query "
            "that begins with SELECT or WITH"
        )
    _refuse_chosen(statements[0])
    return str(statements[0].sql(dialect=dialect, comments=False))


# What gives another answer each time it is asked, by its names in several databases.
CHANCE = re.compile(
    r"(gen_)?rand(om|n)?(_?uuid|_normal)?|uuid(_string|v[0-9])?|nextval|clock_timestamp", re.I
)


def _refuse_chosen(query: Any) -> None:
    """Refuse rows that are chosen by how many others there are, or by chance: asked again, others count."""
    from sqlglot import expressions

    outermost = query.unnest().args
    found = ["LIMIT or OFFSET"] if outermost.get("limit") or outermost.get("offset") else []
    for node in query.walk():
        if isinstance(node, expressions.TableSample):
            found.append("a sample")
        elif isinstance(node, expressions.Func):
            name = node.name if isinstance(node, expressions.Anonymous) else node.sql_name()
            found += [f"{name}()"] if CHANCE.fullmatch(name) else []
    if found:
        raise FileError(
            f"data.sql: {found[0]} chooses which rows count, so that one person's rows let in or keep out "
            "those of others; choose by what stands in a row (WHERE), or by person (release.too_many)"
        )


def counted_files(path: str, folder: Path) -> Warehouse | None:
    """Files that the embedded DuckDB counts: folders, patterns and large Parquet files; else None.

    Without the extra `sql` nothing is counted there.
    """
    try:
        import ibis  # noqa: F401
    except ImportError:
        return None
    files = files_named(path, folder)
    refuse_twice(files)
    suffixes = {file.suffix.lower() for file in files}
    if len(suffixes) != 1 or not suffixes <= {".parquet", ".csv", ".txt", ".tsv"}:
        return None
    single = files == [folder / path]
    (suffix,) = suffixes
    if suffix == ".parquet":
        if single and _rows_in(files[0]) < FEWEST_ROWS:
            return None
        database = ParquetOrCsv(files)
        return Warehouse(database, database.parquet(), str(folder / path))
    if single:
        return None
    header = _one_header(files)
    database = ParquetOrCsv(files)
    return Warehouse(database, database.csv(header, "\t" if suffix == ".tsv" else ","), str(folder / path))


def _rows_in(path: Path) -> int:
    import pyarrow.parquet

    try:
        return int(pyarrow.parquet.read_metadata(path).num_rows)
    except Exception:
        return 0  # whoever reads it says what is wrong with it


def _one_header(files: Sequence[Path]) -> list[str]:
    headers = [open_rows(file).header for file in files]
    for file, header in zip(files, headers, strict=True):
        if header != headers[0]:
            raise DataError(
                f"{file}: has the columns {', '.join(header)}, but {files[0].name} has "
                f"{', '.join(headers[0])}; files that are one table have the same columns in the same order"
            )
    return headers[0]


def given_warehouse(data: Any) -> Warehouse | None:
    """What is given in Python and counted where it is: of Ibis, DuckDB or a lazy one of polars, or files."""
    if isinstance(data, str | Path):
        return counted_files(str(data), Path())
    home = type(data).__module__.split(".")[0]
    name = type(data).__name__
    if home == "ibis" and hasattr(data, "get_backend"):
        backend = data.get_backend()
        backend._run_pre_execute_hooks(data)  # tables in memory are made known to it
        return Warehouse(database_of(backend), data, "the Ibis table", ours=False)
    if name in ("DuckDBPyRelation", "LazyFrame"):
        database = GivenToDuckDb(data)
        words = "the DuckDB relation" if name == "DuckDBPyRelation" else "the lazy frame"
        return Warehouse(database, database.given(), words)
    return None


def _known_scheme(scheme: str) -> None:
    """Refuse what neither Sievert nor Ibis knows; without Ibis its own schemes cannot be told."""
    own = [name for found in Database.known for name in found.schemes]
    others = [entry.name for entry in entry_points(group="ibis.backends")]
    if scheme not in (*own, *others):
        known = sorted({*own, *others} - {"postgresql", "pyspark"})
        raise ValueError(
            f"{scheme!r} is no database that is known here; schemes are {', '.join(known)}"
            f"{did_you_mean(scheme, known)}"
        )
