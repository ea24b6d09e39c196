"""Where records lie that nobody reads one by one: a database, or files that the embedded DuckDB counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from sievert.errors import DataError, FileError
from sievert.kinds import PrivatePath, variant
from sievert.numerics import did_you_mean, several
from sievert.tables._batches import Rows, Source, open_rows
from sievert.tables._databases import (
    EMBEDDED,
    CsvFiles,
    Database,
    GivenToDuckDb,
    ParquetOrCsv,
    database_for,
    database_of,
    ibis_or_refuse,
)
from sievert.tables._folders import files_named, refuse_twice
from sievert.tables._select import parsed
from sievert.tables._views import table_of, view_of
from sievert.tables._warehouse import Warehouse

__all__ = ["DatabaseSource", "SourceUrl", "counted_files", "given_warehouse"]

SECRET = re.compile(r"pass|pwd|token|secret|credential|private|key$", re.IGNORECASE)
PASSWORD = (
    "holds a password, and whoever sees the file would have it; leave it out and give it to the driver: in "
    "the environment (PGPASSWORD), or in its own file (~/.pgpass, spark-defaults.conf)"
)
# Letters by which DuckDB takes the name of a file for a pattern of others.
PATTERN = re.compile(r"[*?\[\\]")
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


class WhoseTable(BaseModel):
    """Which column of a table says whose row it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    person: str = Field(min_length=1, description="the column of the table that says whose row it is")


@variant(Source, key="source")
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
    tables: Annotated[
        dict[str, Literal["public"] | WhoseTable],
        Field(
            description="with sql of several tables, whose rows they are: "
            '`{ visits = { person = "patient" }, wards = "public" }`'
        ),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        if (self.table is None) == (self.sql is None):
            raise ValueError(
                "give exactly one of table and sql: the table, or a SELECT that gives the records"
            )
        return self

    @model_validator(mode="after")
    def _tables_of_sql(self) -> Self:
        if self.tables and (self.sql is None or self.person is None):
            raise ValueError("tables goes with sql and person; leave it out")
        return self

    by_record = False

    @property
    def per(self) -> str:
        return "row of this view" if self.sql is not None and self.person is None else super().per

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
        if self.sql is not None:
            if not found.dialect:
                raise FileError(
                    f"data.sql: is not read for {self.source.scheme}, only for DuckDB, Postgres, Spark and "
                    "SQLite; make a view in the database and name it as data.table"
                )
            ibis_or_refuse(self.source)
            parsed(self.sql, found.dialect)  # before anything is connected to
        database = found.open(self.source, folder)
        try:
            if self.sql is None:
                # Looked up first: a name may be a file to an engine that is asked for it.
                relation = table_of(str(self.table), database)
                table = database.table(str(self.table))
            else:
                people = {name: told.person for name, told in self.tables.items() if told != "public"}
                public = [name for name, told in self.tables.items() if told == "public"]
                select = view_of(self.sql, database, self.person, people, public)
                table, relation = database.view(select.text), select.relation
        except BaseException:
            database.close()
            raise
        what = "data.sql" if self.table is None else f"table {self.table}"
        return Warehouse(database, table, f"{self.source}, {what}", relation=relation)


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
    if suffixes == {".parquet"}:
        if any(PATTERN.search(str(file.absolute())) for file in files):
            return None
        if not _alike(files) or (single and _rows_in(files[0]) < FEWEST_ROWS):
            return None
        database = ParquetOrCsv(files)
        return Warehouse(database, database.parquet(), str(folder / path))
    if single:
        return None
    header = _one_header(files)
    texts = CsvFiles(files, header, open_rows)
    return Warehouse(texts, texts.table_of_texts(), str(folder / path))


def _alike(files: Sequence[Path]) -> bool:
    """Whether Parquet files have the same columns of the same types, which DuckDB reads as Arrow does.

    It would fill a column that a file has not, make one type of two, and does not see capitals in names.
    """
    import pyarrow.parquet

    try:
        schemas = [pyarrow.parquet.read_schema(file).remove_metadata() for file in files]
    except Exception:
        return False  # whoever reads it says what is wrong with it
    if any(_of_arrow_alone(field.type) for field in schemas[0]):
        return False
    if len({name.casefold() for name in schemas[0].names}) < len(schemas[0].names):
        return False
    types = [dict(zip(schema.names, map(str, schema.types), strict=True)) for schema in schemas]
    return all(found == types[0] and len(found) == len(schemas[0].names) for found in types)


def _of_arrow_alone(kind: Any) -> bool:
    """Whether DuckDB takes cells of this type for others: what Arrow notes beside them it does not read."""
    import pyarrow as arrow

    types = arrow.types
    if types.is_dictionary(kind):
        return _of_arrow_alone(kind.value_type)
    own: bool = isinstance(kind, arrow.BaseExtensionType) and kind.extension_name != "arrow.uuid"
    # Decimals of more digits than 38 become floats there.
    wide: bool = types.is_duration(kind) or types.is_decimal256(kind)
    return own or wide


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
                f"{file}: has the columns {several(header)}, but {files[0].name} has "
                f"{several(headers[0])}; files that are one table have the same columns in the same order"
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
