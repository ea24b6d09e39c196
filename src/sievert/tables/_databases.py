"""How each database is asked: its connection, one state of the table for a whole run, and its own functions.

Ibis writes the questions (`_warehouse`) in the language of every database. What it does not say the same
everywhere is here, one class a database: texts compared byte by byte whatever the collation, a keyed hash,
a few codes sent along with a question, and what holds the table still while it is read.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from sievert.errors import DataError, FileError, OutputError
from sievert.numerics import abbreviated, did_you_mean
from sievert.tables._catalogs import Known, of_duckdb, of_postgres, of_spark, of_sqlite
from sievert.tables._dictionary_encoding import DictionaryColumn
from sievert.tables._driver_words import PRIVATE_WORDS, class_of, first_line, whole, words_before_data
from sievert.tables._hosts import require_allowed
from sievert.tables._literals import fixed, text_of
from sievert.tables._postgres_url import UNLESS_TOLD, postgres_told, require_postgres
from sievert.tables._reading import existing

__all__ = [
    "CODES",
    "CsvFiles",
    "Database",
    "DuckDb",
    "ParquetOrCsv",
    "database_for",
    "database_of",
    "ibis_or_refuse",
]

# The name under which codes of cells go along with a question, and that of data given in Python.
CODES, GIVEN = "sievert_codes", "sievert_rows"
# Databases that are a file, by the scheme of their URL.
EMBEDDED = ("duckdb", "sqlite")
BLOCK = 64  # bytes of SHA-256's block, to which HMAC pads its key (RFC 2104)


def ibis_or_refuse(what: str, extra: str = "sql") -> Any:
    """Ibis, or which extra brings it."""
    try:
        import ibis
    except ImportError:
        raise FileError(f"{what}: needs Ibis; install sievert[{extra}]") from None
    return ibis


@cache
def function(name: str, takes: tuple[str, ...], gives: str) -> Callable[..., Any]:
    """A function that the database has of its own."""
    import ibis

    made: dict[int, Any] = {1: lambda a: None, 2: lambda a, b: None}
    builtin: Callable[..., Any] = ibis.udf.scalar.builtin(
        made[len(takes)], name=name, signature=(takes, gives)
    )
    return builtin


class Database:
    """A database that Ibis knows; subclasses say what it does not."""

    # Ibis's name of it, the schemes of its URLs, and the extra that brings its driver.
    backend: ClassVar[str] = ""
    schemes: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = "sql"
    # The dialect in which texts are written and a file's SELECT is read; "" where none is known.
    dialect: ClassVar[str] = ""
    # Whether all questions see one state of the table; else everything is counted twice and must agree.
    one_state: ClassVar[bool] = False
    known: ClassVar[list[type[Database]]] = []

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.backend:
            Database.known.append(cls)

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @classmethod
    def open(cls, url: str, folder: Path) -> Database:
        """Connect, for a file that lies in this folder; a database that is a file is named from there."""
        ibis = ibis_or_refuse(url)
        scheme, _, place = url.partition("://")
        if scheme in EMBEDDED:
            place = str(existing(folder / place).absolute())
        told = {} if scheme in EMBEDDED else cls.require_host(url)
        try:
            return database_of(ibis.connect(f"{scheme}://{place}", **told))
        except ImportError:
            raise FileError(f"{url}: needs Ibis's driver for it; install ibis-framework[{scheme}]") from None
        except Exception as problem:
            raise OutputError(f"{url}: does not answer ({first_line(problem)})") from None

    @classmethod
    def require_host(cls, url: str) -> dict[str, str]:
        """Refuse a host that only the file allows; what its owner says about it outside the file."""
        if "?" in url:
            raise FileError(
                f"data.source: {abbreviated(url)} tells the driver what stands after the question mark, "
                f"and only "
                "its owner may: leave it out of the file, and put it behind the host where that is allowed "
                f"(SIEVERT_HOSTS='{url.partition('://')[0]}://host:port?name=value')"
            )
        return require_allowed(url, "data.source")

    def table(self, name: str) -> Any:
        """A table by its name, with schema and catalogue before it where it has them."""
        *where, own = name.split(".")
        try:
            return self._table(own, where)
        except Exception as problem:
            known: list[str] = []
            with suppress(Exception):
                known = self.names(where)
            raise FileError(
                f"data.table: {abbreviated(name)} cannot be read ({words_before_data(problem)})"
                f"{did_you_mean(own, known)}",
                private=whole(problem),
            ) from None

    def names(self, where: Sequence[str]) -> list[str]:
        """The tables of a schema."""
        return list(self.connection.list_tables(database=tuple(where) or None))

    def _table(self, name: str, where: Sequence[str]) -> Any:
        return self.connection.table(name, database=tuple(where) or None)

    def look(self, parts: Sequence[str]) -> Known | None:
        """A table or view of the database's own, by the parts of its name."""
        return None

    def own_functions(self) -> Sequence[str]:
        """Names of functions that the database has beside its engine's."""
        return ()

    def view(self, sql: str) -> Any:
        """What a SELECT gives."""
        try:
            return self.connection.sql(sql, schema=self.types_of(sql))
        except Exception as problem:
            raise FileError(
                f"data.sql: cannot be read ({words_before_data(problem)})", private=whole(problem)
            ) from None

    def types_of(self, sql: str) -> dict[str, Any] | None:
        """The columns of a SELECT and their types, where Ibis cannot ask for them itself."""
        return None

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        """The rows of an answer; `codes` are the rows of the table that the question calls CODES."""
        if codes:
            raise self._without_sample()
        if hasattr(getattr(self.connection, "compiler", None), "to_sqlglot"):
            self._tree(question)
        found = self.connection.to_pyarrow(question)
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def sql(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> str:
        """A question in the language of the database."""
        text = str(self._tree(question).sql(dialect=self.connection.dialect, unsupported_level=_raise()))
        if not codes:
            return text
        names = [f"k{place}" for place in range(len(codes[0]) - 1)] + ["code"]
        given = self.listed(names, list(zip(*codes, strict=True)))
        first = f"WITH {CODES} AS ({given})"
        return f"{first}, {text[len('WITH ') :]}" if text.startswith("WITH ") else f"{first} {text}"

    def _tree(self, question: Any) -> Any:
        """A question as a tree whose texts no setting of the session reads in another way."""
        return fixed(self.connection.compiler.to_sqlglot(question), self.dialect)

    def _cell(self, value: Any) -> str:
        return text_of(value, self.dialect) if isinstance(value, str) else str(value)

    def listed(self, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> str:
        """A SELECT of given texts and, in the last column, whole numbers."""
        raise self._without_sample()

    def bytewise(self, text: Any) -> Any:
        """A text that equals another only where their bytes do, whatever the collation of its column."""
        return text

    def stripped(self, text: Any, blanks: str) -> Any:
        """A text without the blanks around it."""
        return text.strip()

    def keyed(self, key: bytes, text: Any) -> Any:
        """HMAC-SHA256 of a text, in a form whose order is that of its bytes."""
        raise self._without_sample()

    def _without_sample(self) -> FileError:
        return FileError(
            f'release.too_many: "sample" is not written for {self.connection.name}; it is for DuckDB, '
            "Postgres, Spark and files"
        )

    def still(self) -> None:
        """Refuse a table that has changed since it was opened, where that can be told."""

    def close(self) -> None:
        """Let the connection go."""
        with suppress(Exception):
            self.connection.disconnect()


def padded(key: bytes) -> tuple[str, str]:
    """The inner and the outer key of HMAC, in hexadecimal digits."""
    if len(key) > BLOCK:
        key = hashlib.sha256(key).digest()
    block = key.ljust(BLOCK, b"\0")
    inner, outer = (bytes(byte ^ mask for byte in block).hex() for mask in (0x36, 0x5C))
    return inner, outer


def private_folder() -> tempfile.TemporaryDirectory[str]:
    """Where an embedded DuckDB puts what does not fit into memory: it is private."""
    return tempfile.TemporaryDirectory(prefix="sievert-")


def _raise() -> Any:
    """That what a database has no word for is refused, not left out."""
    from sqlglot import ErrorLevel

    return ErrorLevel.RAISE


class DuckDb(Database):
    """A DuckDB file, opened for reading."""

    backend = "duckdb"
    dialect = "duckdb"
    schemes = ("duckdb",)
    # No variable of Python is a table, no extension is fetched, and nothing said later changes this.
    SETTINGS: ClassVar = (
        "python_enable_replacements = false",
        "autoload_known_extensions = false",
        "autoinstall_known_extensions = false",
        "lock_configuration = true",
    )

    def __init__(self, connection: Any, spill: tempfile.TemporaryDirectory[str] | None = None) -> None:
        super().__init__(connection)
        self._spill = spill

    def close(self) -> None:
        super().close()
        if self._spill is not None:
            self._spill.cleanup()

    @classmethod
    def open(cls, url: str, folder: Path) -> Database:
        ibis = ibis_or_refuse(url)
        path = existing(folder / url.removeprefix("duckdb://"))
        try:
            # What the file's sql may not do: open other files, or the network.
            spill = private_folder()
            connection = ibis.duckdb.connect(
                str(path), read_only=True, enable_external_access=False, temp_directory=spill.name
            )
            for setting in cls.SETTINGS:
                connection.raw_sql(f"SET {setting}")
            connection.raw_sql("BEGIN TRANSACTION")
        except Exception as problem:
            raise OutputError(f"{path}: DuckDB cannot open it ({first_line(problem)})") from None
        return OpenDuckDb(connection, spill)

    def _table(self, name: str, where: Sequence[str]) -> Any:
        import ibis

        named = ".".join('"' + part.replace('"', '""') + '"' for part in (*where, name))
        catalogue, schema = ([None, None, *where])[-2:]
        types = self.types_of(f"SELECT * FROM {named}")
        return ibis.table(types, name=name, catalog=catalogue, database=schema)

    def look(self, parts: Sequence[str]) -> Known | None:
        return of_duckdb(self.connection.con, parts)

    def own_functions(self) -> Sequence[str]:
        asked = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal"
        return [name for (name,) in self.connection.con.execute(asked).fetchall()]

    def names(self, where: Sequence[str]) -> list[str]:
        found = self.connection.con.execute("SELECT table_name FROM information_schema.tables").fetchall()
        return [name for (name,) in found]

    def types_of(self, sql: str) -> dict[str, Any] | None:
        return self._types(self.connection.con.sql(f"SELECT * FROM ({sql}) AS described LIMIT 0"))

    def _types(self, relation: Any) -> dict[str, Any]:
        types = self.connection.compiler.type_mapper
        kinds = zip(relation.columns, relation.types, strict=True)
        return {name: types.from_string(str(kind)) for name, kind in kinds}

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        (statement,) = self.connection.con.extract_statements(self.sql(question, codes))
        found: list[tuple[Any, ...]] = self.connection.con.execute(statement).fetchall()
        return found

    def listed(self, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> str:
        parts = ["unnest([" + ", ".join(map(self._cell, column)) + "])" for column in columns]
        return "SELECT " + ", ".join(f"{part} AS {name}" for part, name in zip(parts, names, strict=True))

    def bytewise(self, text: Any) -> Any:
        return function("decode", ("binary",), "string")(function("encode", ("string",), "binary")(text))

    def stripped(self, text: Any, blanks: str) -> Any:
        return function("trim", ("string",) * 2, "string")(text, blanks)

    def keyed(self, key: bytes, text: Any) -> Any:
        unhex, sha = function("unhex", ("string",), "binary"), function("sha256", ("binary",), "string")
        joined, encoded = (
            function("concat", ("binary",) * 2, "binary"),
            function("encode", ("string",), "binary"),
        )
        inner, outer = padded(key)
        return sha(joined(unhex(outer), unhex(sha(joined(unhex(inner), encoded(text))))))


class OpenDuckDb(DuckDb):
    """A DuckDB file in one transaction of ours."""

    backend = ""
    one_state = True


class SQLite(Database):
    """An SQLite file, opened for reading."""

    backend = "sqlite"
    dialect = "sqlite"
    schemes = ("sqlite",)

    @classmethod
    def open(cls, url: str, folder: Path) -> Database:
        found = super().open(url, folder)
        found.connection.con.execute("PRAGMA query_only = ON")
        return found

    def look(self, parts: Sequence[str]) -> Known | None:
        return of_sqlite(self.connection.con, parts)


class GivenToDuckDb(DuckDb):
    """A frame or a relation of DuckDB given in Python; a relation is asked where it lives."""

    backend = ""

    def __init__(self, data: Any) -> None:
        ibis = ibis_or_refuse("data")
        spill = private_folder()
        super().__init__(ibis.duckdb.connect(temp_directory=spill.name), spill)
        self.relation = data if hasattr(data, "query") and hasattr(data, "aggregate") else None
        if self.relation is None:
            try:
                self.connection.con.register(GIVEN, data)
                self.relation = self.connection.con.table(GIVEN)
            except Exception as problem:
                self.close()
                raise DataError(
                    f"the lazy frame cannot be handed to DuckDB ({class_of(problem)}), which has not "
                    "all types of columns; select others of it, or collect() it",
                    private=whole(problem),
                ) from None

    def given(self) -> Any:
        """The table, as questions name it."""
        import ibis

        return ibis.table(self._types(self.relation), name=GIVEN)

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        relation: Any = self.relation
        found: list[tuple[Any, ...]] = relation.query(GIVEN, self.sql(question, codes)).fetchall()
        return found


class ParquetOrCsv(DuckDb):
    """Files of one kind, as one table of the embedded DuckDB; they are held still by what their names say."""

    backend = ""
    one_state = True
    _fix = "see that all are whole, and that a column is of one type in all of them"

    def __init__(self, files: Sequence[Path]) -> None:
        ibis = ibis_or_refuse(str(files[0]))
        self._files = list(files)
        spill = private_folder()
        super().__init__(
            ibis.duckdb.connect(temp_directory=spill.name, preserve_insertion_order=False), spill
        )
        self._state = self._marks()

    def _marks(self) -> list[tuple[int, int, int]]:
        try:
            found = [path.stat() for path in self._files]
        except OSError as problem:
            raise OutputError(f"{problem.filename}: is gone while it was read") from None
        return [(mark.st_ino, mark.st_size, mark.st_mtime_ns) for mark in found]

    def parquet(self) -> Any:
        """The files as one table, columns matched by name; folders such as `ward=north` say nothing."""
        return self._named("read_parquet", "union_by_name = true, hive_partitioning = false")

    def _named(self, reader: str, told: str) -> Any:
        # From the root: "file:" before a path is no folder to DuckDB.
        files = ", ".join(self._cell(str(path.absolute())) for path in self._files)
        sql = f"CREATE TEMPORARY VIEW {GIVEN} AS SELECT * FROM {reader}([{files}], {told})"
        try:
            self.connection.con.execute(sql)
            return self._table(GIVEN, ())
        except Exception as problem:
            raise FileError(
                f"{self._files[0].parent}: cannot be read ({class_of(problem)}); {self._fix}; "
                f"{PRIVATE_WORDS}",
                private=whole(problem),
            ) from None

    def bytewise(self, text: Any) -> Any:
        return text  # no column of a file has a collation

    def still(self) -> None:
        if self._marks() != self._state:
            raise OutputError("the files changed while they were read")

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        try:
            return super().ask(question, codes)
        except Exception as problem:
            # DuckDB's kinds of errors say whether the files or their reader are at fault.
            if type(problem).__name__ not in ("InvalidInputException", "ConversionException"):
                raise
            self.still()
            named = re.search(r"^\s*file = (.+)$", str(problem), re.MULTILINE)
            line = re.match(r"[A-Za-z ]+: CSV Error on Line: ([0-9]+)\n", str(problem))
            which = named[1] if named else ""
            which = next((path.name for path in self._files if str(path.absolute()) == which), "the files")
            place = f", line {line[1]}" if line else ""
            raise DataError(
                f"{which}{place}: cannot be read ({class_of(problem)}); {self._fix}; {PRIVATE_WORDS}",
                private=whole(problem),
            ) from None


class CsvFiles(ParquetOrCsv):
    """Files of CSV as one table of texts: parsed by the one reader, a batch at a time, and counted here."""

    def __init__(self, files: Sequence[Path], header: Sequence[str], read: Callable[..., Any]) -> None:
        super().__init__(files)
        self.header, self._read = list(header), read
        self._problem: DataError | None = None

    def table_of_texts(self) -> Any:
        """The files as one table."""
        import ibis

        return ibis.table(dict.fromkeys(self.header, "string"), name=GIVEN)

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        import pyarrow
        from ibis.expr import operations

        named = {node.name for node in question.op().find(operations.Field)}
        columns = [name for name in self.header if name in named] or self.header[:1]
        schema = pyarrow.schema([(name, pyarrow.string()) for name in columns])
        # A stream is read once, and every question names the table once.
        stream = pyarrow.RecordBatchReader.from_batches(schema, self._batches(columns, schema))
        self.connection.con.register(GIVEN, stream)
        try:
            return super().ask(question, codes)
        except Exception:
            if self._problem is not None:
                raise self._problem from None
            raise
        finally:
            self.connection.con.unregister(GIVEN)

    def _batches(self, columns: Sequence[str], schema: Any) -> Iterator[Any]:
        import pyarrow

        try:
            for path in self._files:
                for batch in self._read(path).batches(columns):
                    cells = (batch.columns[name] for name in columns)
                    yield pyarrow.record_batch([_texts_of(column) for column in cells], schema)
        except DataError as problem:
            # Whoever asked says in which folder.
            words = str(problem).removeprefix(f"{self._files[0].parent}{os.sep}")
            self._problem = DataError(words, private=problem.private)
            raise


def _texts_of(column: Any) -> Any:
    """A column of texts as Arrow has it."""
    import pyarrow

    if isinstance(column, DictionaryColumn):
        return pyarrow.array(column.values.items, pyarrow.string()).take(pyarrow.array(column.codes))
    return pyarrow.array(column, pyarrow.string())


class Postgres(Database):
    """Postgres, in one transaction that sees one state and cannot write."""

    backend = "postgres"
    dialect = "postgres"
    schemes = ("postgres", "postgresql")
    extra = "postgres"
    # How days, numbers and texts are written, and that every transaction only reads.
    SETTINGS: ClassVar = {
        "client_encoding": "'UTF8'",
        "datestyle": "'ISO'",
        "extra_float_digits": "1",
        "standard_conforming_strings": "on",
        "default_transaction_read_only": "on",
    }

    @classmethod
    def open(cls, url: str, folder: Path) -> Database:
        ibis = ibis_or_refuse(url, cls.extra)
        told = postgres_told(url)
        try:
            connection = ibis.postgres.connect(**told)
        except ImportError:
            raise FileError(f"{url}: needs the driver psycopg; install sievert[{cls.extra}]") from None
        except Exception as problem:
            raise OutputError(
                f"{url}: Postgres does not answer ({first_line(problem)}); {UNLESS_TOLD}"
            ) from None
        for name, value in cls.SETTINGS.items():
            connection.raw_sql(f"SET {name} = {value}").close()
        connection.raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").close()
        return OpenPostgres(connection)

    @classmethod
    def require_host(cls, url: str) -> dict[str, str]:
        return require_postgres(url)

    def look(self, parts: Sequence[str]) -> Known | None:
        return of_postgres(self.connection.con, parts)

    def own_functions(self) -> Sequence[str]:
        with self.connection.con.cursor() as cursor:
            found = cursor.execute(
                "SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p WHERE pg_catalog.pg_function_is_visible("
                "p.oid) AND p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace"
            ).fetchall()
        return [name for (name,) in found]

    def types_of(self, sql: str) -> dict[str, Any] | None:
        # Ibis would make a view to learn the types, which a transaction that only reads does not.
        with self.connection.con.cursor() as cursor:
            question = f"SELECT * FROM ({sql}) AS described LIMIT 0"
            described = cursor.execute(question, prepare=True).description
        types = self.connection.compiler.type_mapper
        return {column.name: types.from_string(column.type_display) for column in described}

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        with self.connection.con.cursor() as cursor:
            # What is prepared is one statement: a text that ends the transaction is none.
            found: list[tuple[Any, ...]] = cursor.execute(self.sql(question, codes), prepare=True).fetchall()
        return found

    def listed(self, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> str:
        parts = ["ARRAY[" + ", ".join(map(self._cell, column)) + "]" for column in columns]
        return f"SELECT * FROM unnest({', '.join(parts)}) AS given({', '.join(names)})"

    def bytewise(self, text: Any) -> Any:
        from ibis.expr.datatypes import string
        from ibis.expr.operations import Cast

        # Out of its bytes a text has the collation of the database, which tells every two texts apart; an
        # enum, which Ibis takes for a text, has bytes only once it is one.
        there = function("convert_to", ("string", "string"), "binary")(Cast(text, string).to_expr(), "UTF8")
        return function("convert_from", ("binary", "string"), "string")(there, "UTF8")

    def stripped(self, text: Any, blanks: str) -> Any:
        return function("btrim", ("string",) * 2, "string")(text, blanks)

    def keyed(self, key: bytes, text: Any) -> Any:
        decode, sha = function("decode", ("string",) * 2, "binary"), function("sha256", ("binary",), "binary")
        joined = function("byteacat", ("binary",) * 2, "binary")
        encoded = function("convert_to", ("string",) * 2, "binary")(text, "UTF8")
        inner, outer = (decode(pad, "hex") for pad in padded(key))
        return sha(joined(outer, sha(joined(inner, encoded))))


class OpenPostgres(Postgres):
    """Postgres in a transaction of ours."""

    backend = ""
    one_state = True


# A Spark in this process, and what keeps other users of the machine from talking to it.
LOCAL_SPARK = re.compile(r"local(\[([0-9]+|\*)(,[0-9]+)?\])?")
ALONE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.authenticate": "true",
}


@contextmanager
def _private_files() -> Iterator[None]:
    """Have the Java that is begun inside spill for its user alone, in whatever folders it is set to use."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


class Spark(Database):
    """Spark, whose tables have no transaction: everything is counted twice and must agree."""

    backend = "pyspark"
    dialect = "spark"
    schemes = ("spark", "pyspark")
    extra = "spark"
    # Moments are written in the time zone of the session, and ${env:NAME} in a question is a text.
    SETTINGS: ClassVar = {"spark.sql.session.timeZone": "UTC", "spark.sql.variable.substitute": "false"}

    def __init__(self, connection: Any, ours: bool = False) -> None:
        super().__init__(connection)
        self._ours = ours
        self._session = connection._session
        for name, value in self.SETTINGS.items():
            self._session.conf.set(name, value)

    @classmethod
    def open(cls, url: str, folder: Path) -> Database:
        ibis = ibis_or_refuse(url, cls.extra)
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise FileError(f"{url}: needs pyspark; install sievert[{cls.extra}]") from None
        place = url.split("://", 1)[1]
        local = LOCAL_SPARK.fullmatch(place) is not None
        # Spark would log the stack of every refusal; its first line goes into our message.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        try:
            running = SparkSession.getActiveSession()
            if running is not None:
                return cls(ibis.pyspark.connect(running))
            builder = SparkSession.builder.appName("sievert").config("spark.ui.enabled", "false")
            builder = builder.config("spark.ui.showConsoleProgress", "false")
            if local:
                for name, value in ALONE.items():
                    builder = builder.config(name, value)
            else:
                cls.require_host(url)
            master = place if local else f"spark://{place}"
            with _private_files():
                connection = ibis.pyspark.connect(builder.master(master).getOrCreate())
            # Its log would quote the cells that a question fails on.
            connection._session.sparkContext.setLogLevel("OFF")
            return cls(connection, ours=True)
        except FileError:
            raise
        except Exception as problem:
            raise OutputError(
                f"{url}: Spark does not answer ({first_line(problem)}); it needs a Java runtime"
            ) from None

    @classmethod
    def require_host(cls, url: str) -> dict[str, str]:
        place = url.split("://", 1)[1]
        if LOCAL_SPARK.fullmatch(place) is None:
            # What a master sends is run here, so it is not asked about on a terminal.
            require_allowed(url, "data.source", asks=False)
        return {}

    def ask(self, question: Any, codes: Sequence[tuple[Any, ...]] = ()) -> list[tuple[Any, ...]]:
        session = self._session
        if codes:
            names = [f"k{place} string" for place in range(len(codes[0]) - 1)] + ["code long"]
            session.createDataFrame(list(codes), ", ".join(names)).createOrReplaceTempView(CODES)
        try:
            return [tuple(row) for row in session.sql(self.sql(question)).collect()]
        finally:
            if codes:
                session.catalog.dropTempView(CODES)

    def look(self, parts: Sequence[str]) -> Known | None:
        return of_spark(self._session, parts)

    def own_functions(self) -> Sequence[str]:
        found = self._session.sql("SHOW USER FUNCTIONS").collect()
        return [str(row[0]).rpartition(".")[2] for row in found]

    def close(self) -> None:
        if self._ours:
            super().close()

    def bytewise(self, text: Any) -> Any:
        there = function("encode", ("string",) * 2, "binary")
        return function("decode", ("binary", "string"), "string")(there(text, "UTF-8"), "UTF-8")

    def stripped(self, text: Any, blanks: str) -> Any:
        return function("btrim", ("string",) * 2, "string")(text, blanks)

    def keyed(self, key: bytes, text: Any) -> Any:
        unhex, sha = function("unhex", ("string",), "binary"), function("sha2", ("binary", "int32"), "string")
        joined = function("concat", ("binary",) * 2, "binary")
        encoded = function("encode", ("string",) * 2, "binary")(text, "UTF-8")
        inner, outer = (unhex(pad) for pad in padded(key))
        return sha(joined(outer, unhex(sha(joined(inner, encoded), 256))), 256)


def database_for(scheme: str) -> type[Database]:
    """Who opens a URL of this scheme."""
    return next((found for found in Database.known if scheme in found.schemes), Database)


def database_of(backend: Any) -> Database:
    """How a connection of Ibis's that somebody else made is asked."""
    own = next((found for found in Database.known if found.backend == backend.name), Database)
    return own(backend)
