"""A SELECT that somebody wrote, understood whole: what may run, and which columns of which tables it reads.

The text is parsed by sqlglot (which Ibis brings) in the dialect of its database and walked from the leaves
up. Every clause, operator, function and type must stand in a list (`_allowed`), every table in the catalogue
of the database (`_catalogs`), every column in its table; each name is then replaced by the whole, quoted
one. What the database is asked is written anew from this tree, so nothing is asked that was not understood.

On the way up each column of a relation carries the columns of tables that it is made of, and the relation
those on which it depends which rows there are (WHERE, JOIN, GROUP BY). A relation also knows whether it
*distributes over people*: whether what it says of all people together is what it says of each alone, put
together. Then a limit on the rows of a person holds however a join repeats them; else one person's rows
change those of others.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sievert.errors import FileError
from sievert.numerics import abbreviated
from sievert.tables._allowed import AGGREGATES
from sievert.tables._catalogs import Known
from sievert.tables._literals import fixed
from sievert.tables._names import RESOLVED, words_of
from sievert.tables._relations import (
    NOTHING,
    Base,
    Look,
    Origin,
    PersonNames,
    Relation,
    Scope,
    Select,
    Source,
    joined,
    optional_sources,
    set_of,
    spelled_person,
)
from sievert.tables._values import Values

__all__ = ["of_known", "parsed", "understood"]

# Longer or deeper queries are not read.
LARGEST_TEXT, LARGEST_TREE, DEEPEST = 20_000, 4_000, 40


def parsed(sql: str, dialect: str) -> Any:
    """The one SELECT of a text, as a tree."""
    import sqlglot
    from sqlglot import expressions

    if len(sql) > LARGEST_TEXT:
        raise FileError(f"data.sql: has {len(sql)} letters; at most {LARGEST_TEXT} are read")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", sql):
        raise FileError("data.sql: holds a control character; leave it out")
    try:
        with _silently():
            statements = [found for found in sqlglot.parse(sql, dialect=dialect) if found is not None]
    except RecursionError:
        raise FileError(f"data.sql: is nested too deeply; at most {DEEPEST} queries are") from None
    except Exception as problem:  # the parser fails in many ways on texts that nobody meant
        known = isinstance(problem, sqlglot.errors.SqlglotError)
        reason = str(problem).splitlines()[0] if known else "its parser fails on it"
        raise FileError(f"data.sql: is not understood ({reason})") from None
    statements = [found for found in statements if not isinstance(found, expressions.Semicolon)]
    if len(statements) != 1 or not isinstance(
        statements[0], expressions.Select | expressions.SetOperation | expressions.Subquery
    ):
        raise FileError(
            f"data.sql: {abbreviated(sql)} is not one SELECT; a file only reads the data, so give a "
            f"single query "
            "that begins with SELECT or WITH"
        )
    if sum(1 for _ in statements[0].walk()) > LARGEST_TREE:
        raise FileError(f"data.sql: has more than {LARGEST_TREE} parts; make a view of it in the database")
    return statements[0]


@contextmanager
def _silently() -> Iterator[None]:
    """The parser logs what it does not know in the file's own letters, which may steer a terminal."""
    log = logging.getLogger("sqlglot")

    def dropped(record: logging.LogRecord) -> bool:
        return False

    log.addFilter(dropped)
    try:
        yield
    finally:
        log.removeFilter(dropped)


def understood(
    sql: str,
    dialect: str,
    look: Look,
    *,
    people: frozenset[Base] = frozenset(),
    public: frozenset[str] = frozenset(),
) -> Select:
    """A SELECT whose every part is understood, written anew.

    Parameters
    ----------
    dialect : "duckdb", "postgres", "spark" or "sqlite"
    look : finds a table or view of the database by the parts of its name
    people : columns of tables that name the person whose row it is
    public : tables, by their whole names, that are about no person

    Raises
    ------
    FileError : a text that is not one SELECT, and whatever is not on the list of what may run
    """
    tree = parsed(sql, dialect)
    reader = _Reader(dialect, look, people, public)
    try:
        relation = reader.query(tree, {}, None)
        text = _written(tree, dialect)
        # What is written must say what was understood: read again it is the same.
        again = parsed(text, dialect)
        other = _Reader(dialect, look, people, public).query(again, {}, None)
        if _written(again, dialect) != text or list(other.columns) != list(relation.columns):
            raise FileError(
                f"data.sql: {abbreviated(sql)} is not written in one way; make a view in the database"
            )
        text = _written(fixed(tree, dialect), dialect)
    except RecursionError:
        raise FileError(f"data.sql: is nested too deeply; at most {DEEPEST} queries are") from None
    return Select(text, relation, tuple(sorted(reader.tables)))


def of_known(known: Known, dialect: str, look: Look) -> Relation:
    """A table or view of the database as a relation."""
    return _Reader(dialect, look, frozenset(), frozenset()).base(known, ".".join(known.path))


def _written(tree: Any, dialect: str) -> str:
    from sqlglot.errors import SqlglotError

    try:
        return str(tree.sql(dialect=dialect, comments=False, unsupported_level=_raise()))
    except SqlglotError as problem:
        raise FileError(f"data.sql: this database does not have what it asks ({problem})") from None


def _raise() -> Any:
    from sqlglot import ErrorLevel

    return ErrorLevel.RAISE


class _Reader(Values):
    # ── queries ────────────────────────────────────────────────────────────────────────────────────────

    def query(self, node: Any, ctes: Mapping[str, Source], outer: Scope | None) -> Relation:
        """A SELECT, a set operation, or one in parentheses."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise FileError(f"data.sql: is nested too deeply; at most {DEEPEST} queries are")
        try:
            self._only(node)
            ctes = self.ctes(node, ctes)
            kind = type(node).__name__
            if kind == "Subquery":
                if node.args.get("alias"):
                    raise self._refused("a name of the whole query")
                return self.query(node.this, ctes, outer)
            if kind == "Select":
                return self._select(node, ctes, outer)
            if kind in ("Union", "Except", "Intersect"):
                return self._set(node, ctes, outer)
            raise self._refused(kind.upper())
        finally:
            self.depth -= 1

    def ctes(self, node: Any, ctes: Mapping[str, Source]) -> Mapping[str, Source]:
        given = node.args.get("with_")
        if given is None:
            return ctes
        self._only(given)
        found = dict(ctes)
        for part in given.expressions:
            self._only(part)
            part.set("materialized", None)
            name = self._name(part.args["alias"].this)
            relation = self._renamed(part, self.query(part.this, found, None))
            source = Source(name, self._fresh(), relation)
            part.set("alias", self.sg.TableAlias(this=self._quoted(source.alias)))
            found[name] = source
        return found

    def _renamed(self, node: Any, relation: Relation) -> Relation:
        """A query under its alias; names of columns there are written into the query."""
        alias = node.args.get("alias")
        if alias is None:
            return relation
        self._only(alias)
        given = alias.args.get("columns") or []
        if not given:
            return relation
        names = [self._spelled(part) for part in given]
        if len(names) != len(relation.columns) or len({self._key(name) for name in names}) != len(names):
            raise self._refused("an alias with other than one name for each column")
        told = dict(zip(relation.columns, names, strict=True))
        query = node.this
        while isinstance(query, self.sg.Subquery):
            query = query.this
        while not isinstance(query, self.sg.Select):
            query = query.this.unnest()
        for item, name in zip(query.expressions, names, strict=True):
            item.set("alias", self._quoted(name))
        columns = dict(zip(names, relation.columns.values(), strict=True))
        who = {told[name]: person for name, person in relation.who.items()}
        return replace(relation, columns=columns, who=who)

    def _set(self, node: Any, ctes: Mapping[str, Source], outer: Scope | None) -> Relation:
        left, right = self.query(node.this, ctes, outer), self.query(node.expression, ctes, outer)
        if len(left.columns) != len(right.columns):
            raise FileError(
                f"data.sql: a {type(node).__name__.upper()} joins {len(left.columns)} columns to "
                f"{len(right.columns)}; give as many on both sides"
            )
        self._order(node, None, {})
        all_rows = isinstance(node, self.sg.Union) and not node.args.get("distinct")
        return set_of(type(node).__name__.upper(), all_rows, left, right)

    def _select(self, node: Any, ctes: Mapping[str, Source], outer: Scope | None) -> Relation:
        scope = Scope(outer=outer)
        if not node.expressions:
            raise self._refused("a SELECT of no column")
        if node.args.get("from_") is None:
            raise self._refused("a SELECT without FROM")
        self._only(node.args["from_"])
        scope.sources.append(self._source(node.args["from_"], ctes, outer))
        relation = scope.sources[0].relation
        rows = relation.rows
        for join in node.args.get("joins") or []:
            relation, told = self._join(join, scope, ctes, relation)
            rows |= told
        where = node.args.get("where")
        if where is not None:
            rows |= self.expression(where.this, scope, ctes)
        aggregates = [part for part in _within(node) if type(part).__name__ in AGGREGATES]
        columns, who = self._columns(node, scope, ctes, relation)
        group = node.args.get("group")
        grouped, told = self._group(group, node, scope, ctes, relation)
        rows |= told
        keys = relation.keys | grouped
        having = node.args.get("having")
        if having is not None:
            having.set("this", self._with_aliases(having.this, node, scope))
            rows |= self.expression(having.this, scope, ctes)
        distinct = node.args.get("distinct")
        if distinct is not None:
            self._only(distinct)
            if distinct.expressions:
                raise self._choice("DISTINCT ON")
            keys = keys.union(*who.values())
            for origin in columns.values():
                rows |= origin
        self._order(node, scope, ctes)
        mixed = relation.mixed
        if not relation.public and not mixed:
            if (group is not None or aggregates or having is not None) and not grouped:
                mixed = "GROUP BY or an aggregate without the person among what rows are grouped by"
            elif distinct is not None and not who:
                mixed = "DISTINCT without the person among the columns"
        public = relation.public
        plain = not (node.args.get("joins") or group or aggregates or having or distinct or scope.subqueries)
        if any(not found.public for found in scope.subqueries):
            mixed, public = mixed or "a subquery outside of FROM over a table that is not public", False
        rowwise = plain and scope.sources[0].relation.rowwise
        return Relation(columns, rows, who, keys, mixed, public, rowwise)

    # ── sources and joins ──────────────────────────────────────────────────────────────────────────────

    def _source(self, holder: Any, ctes: Mapping[str, Source], outer: Scope | None) -> Source:
        node = holder.this
        kind = type(node).__name__
        if kind == "Table":
            source = self._table(node, ctes)
        elif kind == "Subquery":
            self._only(node)
            relation = self._renamed(node, self.query(node.this, self.ctes(node, ctes), None))
            alias = node.args.get("alias")
            name = "" if alias is None else self._name(alias.this)
            source = Source(name, self._fresh(), relation)
            node.set("alias", self.sg.TableAlias(this=self._quoted(source.alias)))
        else:
            raise self._refused(f"{words_of(node)} in place of a table")
        return source

    def _table(self, node: Any, ctes: Mapping[str, Source]) -> Source:
        self._only(node)
        parts = [node.args.get("catalog"), node.args.get("db"), node.this]
        named = [part for part in parts if part]
        if not all(type(part).__name__ == "Identifier" for part in named):
            raise self._refused(f"{words_of(node.this)} in place of a table")
        alias = node.args.get("alias")
        if alias is not None:
            self._only(alias)
            if alias.args.get("columns"):
                raise self._refused("an alias of a table with names of columns")
        own = self._name(named[-1] if alias is None else alias.this)
        fresh = self._fresh()
        cte = ctes.get(self._name(named[0])) if len(named) == 1 else None
        if cte is not None:
            relation = cte.relation
            path: tuple[str, ...] = (cte.alias,)
        else:
            path, relation = self._known([self._spelled(part) for part in named])
        written = [None] * (3 - len(path)) + [self._quoted(part) for part in path]
        for key, part in zip(("catalog", "db", "this"), written, strict=True):
            node.set(key, part)
        node.set("alias", self.sg.TableAlias(this=self._quoted(fresh)))
        return Source(own, fresh, relation)

    def _known(self, parts: Sequence[str]) -> tuple[tuple[str, ...], Relation]:
        known = self.look(parts)
        if known is None:
            raise FileError(
                f"data.sql: {abbreviated('.'.join(parts))} is no table or view of the database; name "
                f"one of its "
                "own: files, functions, foreign tables and tables of the system are not read"
            )
        name = ".".join(known.path)
        self.tables.add(name)
        return known.path, self.base(known, name)

    def base(self, known: Known, name: str) -> Relation:
        if known.definition is not None:
            return self._view(known, name)
        columns = {column: Origin(frozenset({(name, column)})) for column in known.columns}
        who = self._named_there(known, name)
        public = name in self.public
        mixed = "" if who or public else f"nothing says whose the rows of {known.path[-1]} are"
        return Relation(columns, NOTHING, who, mixed=mixed, public=public, rowwise=True)

    def _named_there(self, known: Known, name: str) -> dict[str, PersonNames]:
        """The columns of a table or view that the file says are of its person."""
        return {
            column: frozenset({((name, column), "")})
            for column in known.columns
            if (name, column) in self.people
        }

    def _view(self, known: Known, name: str) -> Relation:
        """A view of the database: its definition is its owner's, and read for what it is made of."""
        try:
            if not known.definition:
                raise FileError("unknown")
            tree = parsed(_body(known.definition), self.dialect)
            inner = _Reader(self.dialect, self.look, self.people, self.public)
            inner.depth = self.depth + 1
            found = inner.query(tree, {}, None)
            if len(found.columns) != len(known.columns):
                raise FileError("unknown")
        except (FileError, RecursionError):
            unknown = frozenset({known.path[-1]})
            columns = {column: Origin(frozenset({(name, column)}), unknown) for column in known.columns}
            who = self._named_there(known, name)
            public = name in self.public
            mixed = "" if who or public else f"what the view {known.path[-1]} is made of is not understood"
            return Relation(columns, Origin(unknown=unknown), who, mixed=mixed, public=public, rowwise=True)
        self.tables |= inner.tables
        told = dict(zip(found.columns, known.columns, strict=True))
        columns = dict(zip(known.columns, found.columns.values(), strict=True))
        named = {told[column]: names for column, names in found.who.items()}
        own = self._named_there(known, name)
        # Whoever names a person's column of the view itself says so of the view as of a table.
        mixed = "" if own and not found.who else found.mixed
        return replace(found, columns=columns, who=own | named, mixed=mixed, rowwise=True)

    def _join(
        self, join: Any, scope: Scope, ctes: Mapping[str, Source], left: Relation
    ) -> tuple[Relation, Origin]:
        """What all sources up to this one give together, as far as people go, and what rows depend on."""
        self._only(join)
        side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS"):
            raise self._refused(f"a {side} {kind} JOIN".replace("  ", " "))
        source = self._source(join, ctes, None)
        earlier = list(scope.sources)
        told = source.relation.rows
        using = [self._name(part) for part in join.args.get("using") or []]
        if using and side in ("RIGHT", "FULL"):
            raise self._refused(f"USING in a {side} JOIN")
        conditions = []
        for name in using:
            first = scope.merged.get(name) or self._one(
                [own for own in earlier if self._has(own, name)], name
            )
            if not self._has(source, name):
                raise self._unknown(name, [source])
            scope.merged[name] = first
            pair = [self._column(own, name) for own in (first, source)]
            conditions.append(self.sg.EQ(this=pair[0][0], expression=pair[1][0]))
            told |= pair[0][1] | pair[1][1]
        scope.sources.append(source)
        if using:
            join.set("using", None)
            join.set("on", self.sg.and_(*conditions))
        elif join.args.get("on") is not None:
            told |= self.expression(join.args["on"], scope, ctes)
        return joined(join, side, left, scope, source), told

    # ── columns ────────────────────────────────────────────────────────────────────────────────────────

    def _columns(
        self, node: Any, scope: Scope, ctes: Mapping[str, Source], joined: Relation
    ) -> tuple[dict[str, Origin], dict[str, PersonNames]]:
        written: list[Any] = []
        found: dict[str, Origin] = {}
        who: dict[str, PersonNames] = {}
        keys: set[str] = set()
        outer_joined = optional_sources(node, scope)
        for item in self._expanded(node.expressions, scope):
            alias = item.args.get("alias") if isinstance(item, self.sg.Alias) else None
            inner = item.this if alias is not None else item
            if isinstance(item, self.sg.Alias):
                self._only(item)
            # The name as the database would give it.
            name = self._spelled(alias) if alias is not None else self._named(inner, len(found))
            origin = self.expression(inner, scope, ctes)
            if self._key(name) in keys:
                raise FileError(
                    f"data.sql: gives the column {abbreviated(name)} twice; name the columns, each "
                    f"once, with AS"
                )
            keys.add(self._key(name))
            names = self._carried(inner, scope, outer_joined)
            if names:
                who[name] = names
            found[name] = origin
            written.append(self.sg.Alias(this=inner.copy(), alias=self._quoted(name)))
        node.set("expressions", written)
        return found, {} if joined.public else who

    def _expanded(self, items: Sequence[Any], scope: Scope) -> list[Any]:
        """Columns in place of a star."""
        found: list[Any] = []
        for item in items:
            star = item if isinstance(item, self.sg.Star) else item.this if _is_star(item) else None
            if star is None:
                found.append(item)
                continue
            self._only(star)
            table = item.args.get("table") if star is not item else None
            if star is not item:
                self._only(item)
            chosen = scope.sources
            if table is not None:
                name = self._name(table)
                chosen = [source for source in scope.sources if source.name == name]
                if len(chosen) != 1:
                    raise self._unknown(f"{name}.*", scope.sources)
            for source in chosen:
                for column in source.relation.columns:
                    merged = scope.merged.get(self._key(column))
                    if table is None and merged is not None and merged is not source:
                        continue
                    found.append(self._whole(source, column))
        return found

    def _named(self, node: Any, place: int) -> str:
        if isinstance(node, self.sg.Column):
            if node.meta.get(RESOLVED):
                return str(node.name)
            return self._spelled(node.this) if self.dialect != "postgres" else self._name(node.this)
        return f"column{place + 1}"

    def _carried(self, node: Any, scope: Scope, optional: frozenset[str]) -> PersonNames:
        """What a value names people by: the person's column of a source, or another spelling of it."""
        alias, names = spelled_person(node, scope)
        return frozenset() if alias in optional else names

    def _group(
        self, group: Any, node: Any, scope: Scope, ctes: Mapping[str, Source], joined: Relation
    ) -> tuple[PersonNames, Origin]:
        """Resolve GROUP BY: the names of the person among its parts, and what they are made of."""
        keys: PersonNames = frozenset()
        if group is None:
            return keys, NOTHING
        self._only(group)
        parts, told, optional = [], NOTHING, optional_sources(node, scope)
        for part in group.expressions:
            number = part.unnest()  # a number is a place, in parentheses too
            if isinstance(number, self.sg.Literal) and not number.is_string:
                place = int(number.this) if str(number.this).isdigit() else 0
                if not 1 <= place <= len(node.expressions):
                    raise self._refused(f"GROUP BY {number.this}")
                made = node.expressions[place - 1].this.copy()
            else:
                made = self._with_aliases(part, node, scope)
            if isinstance(made.unnest(), self.sg.Literal):
                raise self._refused("GROUP BY of what is the same in every row")
            told |= self.expression(made, scope, ctes)
            keys |= self._carried(made, scope, optional)
            parts.append(made.copy())
        group.set("expressions", parts)
        return frozenset() if joined.public else keys, told

    def _with_aliases(self, node: Any, select: Any, scope: Scope) -> Any:
        """An expression in which a name that no table has is what the SELECT gives under it."""
        given = {self._key(item.alias): item.this for item in select.expressions}

        def told(part: Any) -> Any:
            if isinstance(part, self.sg.Column) and not part.args.get("table"):
                name = self._name(part.this)
                if not any(self._has(source, name) for source in scope.sources) and self._key(name) in given:
                    made = given[self._key(name)].copy()
                    simple = part is node or isinstance(made, self.sg.Column | self.sg.Func)
                    return made if simple else self.sg.Paren(this=made)
            return part

        return node.copy().transform(told, copy=False) if node.parent is None else node.transform(told)

    def _order(self, node: Any, scope: Scope | None, ctes: Mapping[str, Source]) -> None:
        """An order of rows is read as the rest is and left out: nothing depends on it."""
        order = node.args.get("order")
        if order is None:
            return
        self._only(order)
        for part in order.expressions:
            self._only(part)
            if isinstance(part.this, self.sg.Literal) or (
                scope is None and isinstance(part.this, self.sg.Column) and not part.this.table
            ):
                continue
            if scope is None:
                raise self._refused("ORDER BY of a set operation by more than a column")
            part.set("this", self._with_aliases(part.this, node, scope))
            self.expression(part.this, scope, ctes)
        node.set("order", None)


def _is_star(node: Any) -> bool:
    return type(node).__name__ == "Column" and type(node.this).__name__ == "Star"


def _within(node: Any) -> list[Any]:
    """The parts of a SELECT's own expressions, without those of subqueries."""
    found: list[Any] = []
    waiting = [*node.expressions]
    if node.args.get("having") is not None:
        waiting.append(node.args["having"])
    while waiting:
        part = waiting.pop()
        if type(part).__name__ in ("Select", "Subquery", "Union", "Except", "Intersect"):
            continue
        found.append(part)
        waiting.extend(part.iter_expressions())
    return found


def _body(definition: str) -> str:
    """The SELECT of a view, out of its CREATE where the database keeps that."""
    found = re.match(r"(?is)\s*create\s.*?\bas\b(?=\s*[\s(]*(select|with|from)\b)", definition)
    return definition[found.end() :] if found else definition
