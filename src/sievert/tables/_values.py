"""Values in a SELECT: what each is made of, and that it is made by what a file may call."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sievert.numerics import abbreviated
from sievert.tables._allowed import (
    AGGREGATES,
    CLAUSES,
    EXPRESSIONS,
    JOINING,
    NAMED,
    ROW_CHOICE,
    TYPES,
    UNITS,
)
from sievert.tables._names import Names, words_of
from sievert.tables._relations import NOTHING, Origin, Relation, Scope, Source, all_of

__all__ = ["Values"]

LONGEST = 1_000  # cells or letters that a text is put together from
# How Spark says which part of a day is meant.
SPARK_UNITS = frozenset({"MM", "MON", "YYYY", "YY"})


class Values(Names, ABC):
    """Reads expressions; subqueries in them are read by `query` and `ctes`."""

    @abstractmethod
    def query(self, node: Any, ctes: Mapping[str, Source], outer: Scope | None) -> Relation:
        """A SELECT, a set operation, or one in parentheses."""

    @abstractmethod
    def ctes(self, node: Any, ctes: Mapping[str, Source]) -> Mapping[str, Source]:
        """The queries that a WITH names, and those of the queries around."""

    def expression(self, node: Any, scope: Scope, ctes: Mapping[str, Source]) -> Origin:
        """What a value is made of; names in it are replaced by whole ones."""
        kind = type(node).__name__
        if kind == "Column":
            return self._resolved(node, scope)
        if kind == "Subquery":
            self._only(node)
            return self._scalar(node, scope, ctes)
        if kind in ROW_CHOICE:
            raise self._choice(ROW_CHOICE[kind])
        if kind == "Exists":
            self._only(node)
            return self._scalar(node, scope, ctes)
        if kind == "In" and node.args.get("query") is not None:
            self._only(node)
            query = node.args["query"]
            inside = self.query(query, ctes, scope)
            scope.subqueries.append(inside)
            return self.expression(node.this, scope, ctes) | all_of(inside)
        self._listed(node, kind)
        found, lengths = NOTHING, {}
        for key, value in node.args.items():
            made = [
                self._part(node, key, part, scope, ctes)
                for part in (value if isinstance(value, list) else [value])
                if part is not None and not isinstance(part, bool)
            ]
            lengths[key] = sum(origin.length for origin in made)
            for origin in made:
                found |= origin
        if kind in AGGREGATES or kind == "Filter":
            self._of_this_query(node, scope)
        return self._as_long(node, kind, found, lengths)

    def _of_this_query(self, node: Any, scope: Scope) -> None:
        """Refuse an aggregate over a column of the query around, whose rows it would put together there."""
        outer, around = set(), scope.outer
        while around is not None:
            outer |= {source.alias for source in around.sources}
            around = around.outer
        if any(column.table in outer for column in node.find_all(self.sg.Column)):
            raise self._refused("an aggregate over a column of the query around it")

    def _as_long(self, node: Any, kind: str, found: Origin, lengths: Mapping[str, int]) -> Origin:
        """How long a text becomes; one that would fill a memory is refused."""
        length = found.length
        if kind == "Literal" and node.is_string:
            return replace(found, length=max(1, len(str(node.this))))
        if kind in JOINING:
            length = sum(lengths.values())
        elif kind == "Replace":
            length = lengths["this"] * max(1, lengths.get("replacement", 1))
        elif kind in ("Cast", "TryCast"):
            sizes = [int(part.name) for part in node.args["to"].expressions]
            length = max([length, *sizes])
        if length > max(found.length, LONGEST):
            raise self._refused(f"a text as long as {abbreviated(length)} cells (at most {LONGEST})")
        return replace(found, length=length)

    def _listed(self, node: Any, kind: str) -> None:
        if kind == "Literal":
            if not node.is_string and not re.fullmatch(r"[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?", str(node.this)):
                raise self._refused(f"the number {node.this}")
            return
        if kind in CLAUSES:
            self._only(node)
        if kind == "Interval" and not (
            isinstance(node.this, self.sg.Literal) and re.fullmatch(r"[-+0-9.: A-Za-z]{1,60}", node.this.this)
        ):
            raise self._refused("an INTERVAL that is no text of a length of time")
        if kind == "DateTrunc" and str(node.args["unit"].name).upper() not in UNITS | SPARK_UNITS:
            raise self._refused(f"the part of a moment {abbreviated(node.args['unit'].name)}")
        if kind == "TryCast" and self.dialect in ("postgres", "sqlite"):
            raise self._refused("TRY_CAST, which this database does not have,")
        others = [key for key, value in node.args.items() if value and key not in ("this", "big_int")]
        if kind in AGGREGATES and others:
            raise self._refused(f"{node.sql_name()} of more than one value")
        if kind == "Anonymous":
            if str(node.this).lower() not in NAMED[self.dialect]:
                raise self._function(str(node.this))
            return
        if kind not in EXPRESSIONS and kind not in AGGREGATES and kind != "Filter":
            raise self._function(node) if isinstance(node, self.sg.Func) else self._refused(words_of(node))

    def _part(self, node: Any, key: str, part: Any, scope: Scope, ctes: Mapping[str, Source]) -> Origin:
        kind = type(part).__name__
        if part is None or isinstance(part, bool):
            return NOTHING
        if isinstance(part, str):
            if type(node).__name__ in ("Literal", "Anonymous") and key == "this":
                return NOTHING
            if re.fullmatch("[A-Za-z_]+", part):
                return NOTHING
            raise self._refused(abbreviated(part))
        if kind == "DataType":
            self._type(part)
            return NOTHING
        if kind == "Var":
            if str(part.this).upper() not in UNITS:
                raise self._refused(f"the word {abbreviated(str(part.this))}")
            return NOTHING
        if kind == "Star":
            if type(node).__name__ != "Count":
                raise self._refused("* in an expression")
            self._only(part)
            return NOTHING
        if kind == "Distinct" and type(node).__name__ in AGGREGATES:
            self._only(part)
            found = NOTHING
            for inner in part.expressions:
                found |= self.expression(inner, scope, ctes)
            return found
        if kind == "Where" and type(node).__name__ == "Filter":
            self._only(part)
            return self.expression(part.this, scope, ctes)
        if kind == "DType":
            return NOTHING
        return self.expression(part, scope, ctes)

    def _type(self, node: Any) -> None:
        """A type that looks nothing up: no enumeration, no name of an object, no list or structure."""
        name = getattr(node.this, "name", str(node.this))
        sizes = node.expressions
        plain = all(
            type(part).__name__ == "DataTypeParam" and type(part.this).__name__ == "Literal" for part in sizes
        )
        others = [key for key, value in node.args.items() if value and key not in ("this", "expressions")]
        if name == "UUID" and self.dialect == "sqlite":
            raise self._refused("the type UUID, which this database does not have,")
        if name not in TYPES or others or not plain:
            raise self._refused(f"the type {abbreviated(node.sql(dialect=self.dialect))}")

    def _scalar(self, node: Any, scope: Scope, ctes: Mapping[str, Source]) -> Origin:
        if node.args.get("alias") is not None:
            raise self._refused("a name of a subquery outside of FROM")
        found = self.query(node.this, self.ctes(node, ctes), scope)
        scope.subqueries.append(found)
        return all_of(found)
