"""What a query gives: of which columns of which tables it is made, and whether it is about people one by one.

Each column of a relation carries the columns of tables that it is made of, and the relation those on which it
depends which rows there are. A relation *distributes over people* where what it says of all people together
is what it says of each alone, put together: then a limit on the rows of a person holds however a join repeats
them; else one person's rows change those of others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sievert.tables._catalogs import Known

__all__ = [
    "NOTHING",
    "Base",
    "Look",
    "Origin",
    "PersonNames",
    "Relation",
    "Scope",
    "Select",
    "Source",
    "all_of",
    "joined",
    "manifold",
    "optional_sources",
    "set_of",
    "spelled_person",
]

Base = tuple[str, str]  # a table by its whole name, and a column of it
PersonNames = frozenset[
    tuple[Base, str]
]  # columns that name a person, and what is made of each: "lower(name)"
Look = Callable[[Sequence[str]], Known | None]


@dataclass(frozen=True)
class Origin:
    """What a column is made of.

    `bases` are columns of tables; `plain` the columns of which this is the only one and unchanged, or a
    function of; `unknown` names a view whose definition cannot be read; `length` is how many cells or
    letters it is as long as.
    """

    bases: frozenset[Base] = frozenset()
    unknown: frozenset[str] = frozenset()
    length: int = 1

    def __or__(self, other: Origin) -> Origin:
        longer = max(self.length, other.length)
        return Origin(self.bases | other.bases, self.unknown | other.unknown, longer)


NOTHING = Origin()


@dataclass(frozen=True)
class Relation:
    """What a query gives.

    Attributes
    ----------
    columns : its columns in order, and what each is made of
    rows : what it depends on which rows there are
    who : columns that name the person whose row it is, and what these names are made of
    keys : names by which rows are put together on the way: joined, grouped, or counted once
    mixed : why rows of one person may change those of others; "" where they do not
    public : that it is about no person
    rowwise : that each row is one row of one table, and no two are the same one
    """

    columns: Mapping[str, Origin]
    rows: Origin = NOTHING
    who: Mapping[str, PersonNames] = field(default_factory=dict)
    keys: PersonNames = frozenset()
    mixed: str = ""
    public: bool = False
    rowwise: bool = False

    def through(self, columns: Sequence[str]) -> Origin:
        """All columns of tables on which some of its columns depend."""
        found = self.rows
        for name in columns:
            found |= self.columns.get(name, NOTHING)
        return found


@dataclass(frozen=True)
class Select:
    """A SELECT that was understood: its text, written anew, and what it gives."""

    text: str
    relation: Relation
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A table, view, CTE or subquery in FROM: its name there, the one it gets, and what it gives."""

    name: str
    alias: str
    relation: Relation


@dataclass
class Scope:
    """The sources that a column can be of, and the query around."""

    sources: list[Source] = field(default_factory=list)
    outer: Scope | None = None
    merged: dict[str, Source] = field(default_factory=dict)  # columns of USING
    subqueries: list[Relation] = field(default_factory=list)


def joined(join: Any, side: str, left: Relation, scope: Scope, source: Source) -> Relation:
    """Whether a join distributes over people; `who` are columns by alias and name while it is built."""
    right, name = source.relation, source.name or "a subquery"
    left = replace(left, keys=left.keys | right.keys)
    mixed = left.mixed or right.mixed
    if mixed or (left.public and right.public):
        return replace(left, mixed=mixed, public=left.public and right.public)
    if side in ("RIGHT", "FULL"):
        return replace(left, mixed=f"a {side} JOIN keeps rows that nobody's row matches")
    if right.public:
        return left
    if left.public:
        if side == "LEFT":
            return replace(left, mixed="a LEFT JOIN from a public table keeps rows that nobody's matches")
        return replace(left, public=False)
    for found in _conjuncts(join.args.get("on")):
        if type(found).__name__ != "EQ":
            continue
        sides = [_named_person(part, scope) for part in (found.this, found.expression)]
        aliases = {alias for alias, _ in sides}
        if "" not in aliases and source.alias in aliases and len(aliases) == 2:
            return replace(left, keys=left.keys | sides[0][1] | sides[1][1])
    return replace(left, mixed=f"the JOIN with {name} is not on the person's column of both tables")


def spelled_person(node: Any, scope: Scope) -> tuple[str, PersonNames]:
    """The alias of the source whose person a value names, in another spelling perhaps, or "", and the names.

    Whatever else is made of a name may be the same for many people (`patient = patient`), and the rows of
    each of them would change what stands there for all.
    """
    kind, others = type(node).__name__, {key for key, value in node.args.items() if value} - {"this"}
    if kind == "Paren":
        return spelled_person(node.this, scope)
    if kind in ("Cast", "TryCast"):
        kept = node.to.is_type("text", "varchar", "nvarchar", "uuid") and not node.to.expressions
        return _respelled(node, node.this, scope) if kept else NO_PERSON
    if kind in ("Lower", "Upper", "Trim", "MD5", "SHA", "SHA2"):
        length = node.args.get("length")
        plain = others <= {"length"} and (length is None or type(length).__name__ == "Literal")
        return _respelled(node, node.this, scope) if plain else NO_PERSON
    if kind == "DPipe":
        sides = [part for part in (node.this, node.expression) if type(part).__name__ != "Literal"]
        return _respelled(node, sides[0], scope) if len(sides) == 1 else NO_PERSON
    return _named_person(node, scope)


NO_PERSON: tuple[str, PersonNames] = ("", frozenset())


def _named_person(node: Any, scope: Scope) -> tuple[str, PersonNames]:
    """The alias of the source whose person a column names, or "", and the names that stand there."""
    if type(node).__name__ == "Column" and node.args.get("table") is not None:
        for source in scope.sources:
            if source.alias == node.table and node.name in source.relation.who:
                return source.alias, source.relation.who[node.name]
    return NO_PERSON


def _respelled(node: Any, inner: Any, scope: Scope) -> tuple[str, PersonNames]:
    """What `spelled_person` says of a value that is made of another one."""
    alias, names = spelled_person(inner, scope)
    written = [
        "" if part is inner else part.sql() for part in node.iter_expressions()
    ]  # in the order of the text, with nothing where the name stands
    return alias, frozenset((base, f"{type(node).__name__}({written}, {made})") for base, made in names)


def manifold(names: PersonNames) -> str:
    """A column of which a query makes several names for one person, or ""."""
    bases = [base for base, _ in names]
    return next((column for table, column in sorted(bases) if bases.count((table, column)) > 1), "")


def set_of(kind: str, all_rows: bool, left: Relation, right: Relation) -> Relation:
    """What a UNION, EXCEPT or INTERSECT gives; columns go by their places."""
    columns = {
        name: origin | other
        for (name, origin), other in zip(left.columns.items(), right.columns.values(), strict=True)
    }
    pairs = zip(left.columns, right.columns, strict=True)
    who = {
        first: left.who[first] | right.who[second]
        for first, second in pairs
        if first in left.who and second in right.who
    }
    keys = left.keys | right.keys
    public, mixed = left.public and right.public, left.mixed or right.mixed
    if not public and not mixed:
        if left.public or right.public:
            mixed = f"{kind} puts rows of people and public ones together"
        elif not who and not all_rows:
            mixed = f"{kind} without the person in the same place on both sides"
    rows = left.rows | right.rows
    if not all_rows:
        keys = keys.union(*who.values())
        for origin in columns.values():
            rows |= origin
    return Relation(columns, rows, who, keys, mixed, public)


def all_of(relation: Relation) -> Origin:
    found = relation.rows
    for origin in relation.columns.values():
        found |= origin
    return found


def _conjuncts(node: Any) -> list[Any]:
    """The parts of a condition that all must hold."""
    if node is None:
        return []
    kind = type(node).__name__
    if kind == "Paren":
        return _conjuncts(node.this)
    return [*_conjuncts(node.this), *_conjuncts(node.expression)] if kind == "And" else [node]


def optional_sources(node: Any, scope: Scope) -> frozenset[str]:
    """Sources of which a row may be empty, on the right of a LEFT JOIN."""
    joins = node.args.get("joins") or []
    return frozenset(
        source.alias
        for join, source in zip(joins, scope.sources[1:], strict=True)
        if str(join.args.get("side") or "").upper() == "LEFT"
    )
