"""Names in a SELECT: each column and table is found, and written whole; what is not understood is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sievert.errors import FileError
from sievert.numerics import abbreviated, did_you_mean
from sievert.tables._allowed import CLAUSES, ROW_CHOICE
from sievert.tables._catalogs import same_name
from sievert.tables._relations import Base, Look, Origin, Scope, Source

__all__ = ["RESOLVED", "Names", "words_of"]

RESOLVED = "sievert"  # the mark of a column that has its whole name
FIX_CHOICE = (
    "chooses which rows count, so that one person's rows let in or keep out those of others; choose by what "
    "stands in a row (WHERE), or by person (release.too_many)"
)


class Names:
    """What is known of the names of one SELECT, for a dialect of sqlglot."""

    def __init__(self, dialect: str, look: Look, people: frozenset[Base], public: frozenset[str]) -> None:
        from sqlglot import expressions

        self.sg: Any = expressions
        self.dialect, self.look, self.people, self.public = dialect, look, people, public
        self.tables: set[str] = set()
        self.count = self.depth = 0

    def _resolved(self, node: Any, scope: Scope) -> Origin:
        self._only(node)
        if type(node.this).__name__ != "Identifier":
            raise self._refused(words_of(node.this))
        table = node.args.get("table")
        around: Scope | None = scope
        if node.meta.get(RESOLVED):
            while around is not None:
                for source in around.sources:
                    if source.alias == node.table:
                        return source.relation.columns[node.name]
                around = around.outer
            raise self._unknown(node.name, scope.sources)
        name = self._name(node.this)
        while around is not None:
            if table is None:
                fitting = [source for source in around.sources if self._has(source, name)]
                merged = around.merged.get(self._key(name))
                fitting = [merged] if merged is not None else fitting
            else:
                own = self._name(table)
                fitting = [source for source in around.sources if source.name == own]
                if fitting and not all(self._has(source, name) for source in fitting):
                    raise self._unknown(f"{own}.{name}", around.sources)
            if fitting:
                made, origin = self._column(self._one(fitting, name), name)
                node.set("this", made.this)
                node.set("table", made.args["table"])
                node.meta[RESOLVED] = True
                return origin
            around = around.outer
        raise self._unknown(name if table is None else f"{self._name(table)}.{name}", scope.sources)

    def _column(self, source: Source, name: str) -> tuple[Any, Origin]:
        key = self._key(name)
        for column, origin in source.relation.columns.items():
            if self._key(column) == key:
                return self._whole(source, column), origin
        raise self._unknown(name, [source])

    def _whole(self, source: Source, column: str) -> Any:
        """A column by its whole name."""
        made = self.sg.Column(this=self._quoted(column), table=self._quoted(source.alias))
        made.meta[RESOLVED] = True
        return made

    def _has(self, source: Source, name: str) -> bool:
        return any(self._key(column) == self._key(name) for column in source.relation.columns)

    def _one(self, sources: Sequence[Source], name: str) -> Source:
        if len(sources) != 1:
            raise FileError(
                f"data.sql: the column {abbreviated(name)} is of {len(sources)} tables; write the table "
                f"before it"
            )
        return sources[0]

    def _fresh(self) -> str:
        self.count += 1
        return f"sievert_q{self.count}"

    def _quoted(self, name: str) -> Any:
        return self.sg.Identifier(this=name, quoted=True)

    def _spelled(self, node: Any) -> str:
        """A name as it is written, but folded where the database does."""
        self._only(node)
        text = str(node.this)
        return text.lower() if self.dialect == "postgres" and not node.args.get("quoted") else text

    def _name(self, node: Any) -> str:
        self._only(node)
        return same_name(self.dialect, str(node.this), bool(node.args.get("quoted")))

    def _key(self, name: str) -> str:
        return same_name(self.dialect, name)

    def _only(self, node: Any) -> None:
        """Refuse a part of a query that has more to it than what is understood."""
        kind = type(node).__name__
        if kind not in CLAUSES:
            raise self._refused(words_of(node))
        for key, value in node.args.items():
            if value and key not in CLAUSES[kind]:
                if key in ROW_CHOICE or type(value).__name__ in ROW_CHOICE:
                    raise self._choice(ROW_CHOICE.get(key) or ROW_CHOICE[type(value).__name__])
                raise self._refused(f"{key.strip('_').upper().replace('_', ' ')} of {words_of(node)}")

    def _choice(self, what: str) -> FileError:
        return FileError(f"data.sql: {what} {FIX_CHOICE}")

    def _function(self, node: Any) -> FileError:
        name = node if isinstance(node, str) else node.sql_name()
        return FileError(
            f"data.sql: {abbreviated(name)}() is not among the functions that a file may call, which "
            f"only compute "
            "on a row; make a view of it in the database and name that as data.table"
        )

    def _refused(self, what: str) -> FileError:
        return FileError(
            f"data.sql: {what} is not among what a file may ask; make a view of it in the database and name "
            "that as data.table"
        )

    def _unknown(self, name: str, sources: Sequence[Source]) -> FileError:
        known = [column for source in sources for column in source.relation.columns]
        return FileError(
            f"data.sql: no table in FROM has a column {abbreviated(name)}{did_you_mean(name, known)}"
        )


def words_of(node: Any) -> str:
    """A part of a query by name."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
