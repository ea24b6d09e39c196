"""Policies: which databases are possible and which of them must not be told apart.

Differential privacy, local differential privacy, metric privacy and Blowfish are presets of one
object: a secret graph (or a metric) on the values of one record, and a number of records. The
unconstrained policy on n records is the n-fold product of the secret graph (Edwards et al., Thm 1),
so its distance is a sum over records and nothing is ever enumerated unless asked for. Public knowledge
(`permitted`) leaves only some databases possible; those are listed, and Definition 2 says which of them
are adjacent.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product as cartesian
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.constraints import Permitted, adjacency_graph, constraint, needs_no_list, neighbour_rows
from sievert.errors import PolicyError, TooLargeError
from sievert.numerics import abbreviated, choice, flag, require_size, whole
from sievert.policies._description import neighbour_description, short_list
from sievert.results import html_table
from sievert.spaces import (
    DatabaseGraph,
    Databases,
    Edges,
    Graph,
    Labels,
    Metric,
    graph_of,
    label,
    listed,
    product_edges,
    product_neighbours,
    shown,
    worded,
)
from sievert.spaces import secrets as secret_graphs
from sievert.spaces.secrets import SecretGraph

__all__ = [
    "LARGEST_ENUMERATION",
    "Policy",
]

LARGEST_ENUMERATION = 100_000
# Numbers of up to this many bits are written out.
LARGEST_NUMBER = 10_000_000

# More than all people have rows of anything; what is multiplied by it stays a float.
MOST_RECORDS = 10**18

Database = tuple[Hashable, ...]


@dataclass(frozen=True)
class Policy:
    """What must stay hidden.

    Parameters
    ----------
    secrets : SecretGraph or Metric
        Which values of one record must not be told apart, or how far apart they are.
    records : int
        Number of records in a database.
    permitted : constraint, list of constraints, list of databases or function, optional
        What everybody knows already (`sv.constraints`): only databases that satisfy all of it are possible.
    person_records : int
        How many of the records may belong to one person.

    Examples
    --------
    >>> policy = Policy.differential(values=["yes", "no"], records=3)
    >>> policy.distance(("yes", "yes", "no"), ("no", "yes", "yes"))
    2.0
    """

    secrets: SecretGraph | Metric
    records: int = 1
    permitted: Any = None  # as given; kept as a tuple of constraints
    person_records: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.secrets, SecretGraph | Metric):
            raise PolicyError(
                f"secrets is a {type(self.secrets).__name__}; give a secret graph (sv.secrets.…) or a metric"
            )
        for name in ("records", "person_records"):
            object.__setattr__(self, name, whole(name, getattr(self, name), PolicyError, most=MOST_RECORDS))
        if self.person_records > self.records:
            raise PolicyError(
                f"person_records is {self.person_records} but there are only {self.records} records; "
                "a person cannot own more records than there are"
            )
        if self.permitted is not None:
            self._bind()

    def _bind(self) -> None:
        """Check the constraints against values and records, and keep them bound."""
        if not isinstance(self.secrets, SecretGraph):
            raise PolicyError(
                "permitted goes with a secret graph, but secrets is a metric; adjacency under public "
                "knowledge is defined by pairs of values that must not be told apart",
                fix="use sv.secrets.threshold(values, theta, metric)",
                file_fix="use secrets = { threshold = … } or { edges = … }",
            )
        given = constraint(self.permitted)
        object.__setattr__(self, "permitted", given)
        bound = Permitted.of(given, self.values, self.records, self.absent)
        if needs_no_list(bound, self.secrets):
            bound = replace(bound, implicit="neighbours(database) needs no list; ")
        bound.check()
        self.__dict__["_space"] = bound

    @classmethod
    def blowfish(cls, secrets: SecretGraph | Metric, records: int = 1, **options: Any) -> Policy:
        """A secret graph on the values of each of `records` records (He et al.; Edwards et al., Def. 2).

        >>> policy = Policy.blowfish(secret_graphs.line(5), records=2)
        >>> policy.distance((0, 0), (3, 1))
        4.0
        """
        return cls(secrets, records, **options)

    @classmethod
    def of_graph(cls, graph: Graph) -> Policy:
        """The policy of one record whose databases are joined as in the graph (Edwards et al., Thm 4).

        >>> from sievert.spaces.graphs import cycle
        >>> Policy.of_graph(cycle(5)).adjacency().labelled_edges() == cycle(5).labelled_edges()
        True
        """
        graph = graph_of(graph)
        if isinstance(graph, SecretGraph):
            return cls(graph)
        count = len(graph.edges)
        words = f"{count} listed {'pair' if count == 1 else 'pairs'} of values may not be told apart"
        return cls(SecretGraph._of_indices(graph.nodes, graph.edges, words=words))

    @classmethod
    def differential(
        cls,
        values: int | Iterable[object],
        records: int,
        adjacency: Literal["replace", "add-remove"] = "replace",
        person_records: int = 1,
        permitted: object = None,
    ) -> Policy:
        """Ordinary differential privacy for `records` records.

        With "replace", databases that differ in one record are neighbours. With "add-remove", a record
        may be absent (a value of its own) and neighbours differ by the presence of one record, so
        that replacing a record counts twice.
        """
        items = secret_graphs._values(values)
        choice("adjacency", adjacency, ("replace", "add-remove"), PolicyError)
        if adjacency == "replace":
            return cls(secret_graphs.complete(items), records, permitted, person_records)
        if secret_graphs.ABSENT in listed(items, "values"):
            raise PolicyError(
                f"values contains {abbreviated(secret_graphs.ABSENT)}, which add-remove adjacency uses for a "
                "missing record"
            )
        return cls(secret_graphs.presence(items), records, permitted, person_records)

    @classmethod
    def local(cls, values: int | Iterable[object]) -> Policy:
        """One person's value, perturbed before anybody sees it; any two values are neighbours."""
        return cls(secret_graphs.complete(values), 1)

    @classmethod
    def metric(cls, metric: Metric, records: int = 1) -> Policy:
        """Values protected in proportion to their distance (metric privacy)."""
        return cls(metric, records)

    @property
    def values(self) -> Labels:
        """The values one record can take."""
        return self.secrets.nodes if isinstance(self.secrets, SecretGraph) else self.secrets.points

    @property
    def absent(self) -> Hashable | None:
        """The value of a missing record under add-remove adjacency, else None."""
        return self.secrets.absent if isinstance(self.secrets, SecretGraph) else None

    @property
    def is_metric(self) -> bool:
        """Whether values are protected in proportion to a distance."""
        return isinstance(self.secrets, Metric)

    @property
    def hides_any_two(self) -> bool:
        """Whether no two values may be told apart."""
        return isinstance(self.secrets, SecretGraph) and self.secrets.is_complete

    @property
    def preset(self) -> str:
        """What such a policy is called: local, differential, metric or blowfish."""
        return self.secrets.presets[self.records > 1] if isinstance(self.secrets, SecretGraph) else "metric"

    @property
    def constrained(self) -> bool:
        """Whether public knowledge rules out some databases."""
        return self.permitted is not None

    @property
    def _known(self) -> Permitted:
        space: Permitted = self.__dict__["_space"]
        return space

    @property
    def has_known_histogram(self) -> bool:
        """Whether the possible databases are the rearrangements of one multiset of values."""
        if not self.constrained or self.records < 2 or self._known.kind_of is None:
            return False
        equations = self._known.equations
        return equations is not None and equations.histogram is not None

    @cached_property
    def known_groups(self) -> tuple[NDArray[np.intp], NDArray[np.int64]] | None:
        """The group of each value and the known number of records in each group, where nothing else is known.

        Then, and where no two values may be told apart, adjacent databases differ in one record inside its
        group, or along a simple directed cycle of groups, one record leaving each: whatever else leaves the
        counts as they are has such a part. None for other public knowledge and other secrets.
        """
        if not self.constrained or not self.hides_any_two or self._known.kind_of is None:
            return None
        equations = self._known.equations
        return None if equations is None else equations.groups

    @property
    def size(self) -> int:
        """Number of possible databases (an exact integer, however large)."""
        if self.constrained:
            return self._known.count
        bits = self.records * math.log2(len(self.values))
        way = "ask about one record, which needs no count of databases"
        require_size(bits, LARGEST_NUMBER, "the bits of the number of databases", way)
        return int(len(self.values) ** self.records)

    @cached_property
    def record_metric(self) -> Metric:
        """Distance between the values of one record."""
        return self.secrets.metric() if isinstance(self.secrets, SecretGraph) else self.secrets

    @cached_property
    def record_edges(self) -> Edges:
        """Pairs of values whose lengths generate the record metric."""
        edges = self.record_metric.edges
        if edges is not None:
            return edges
        rows, columns = np.triu_indices(len(self.values), 1)
        lengths = self.record_metric.matrix[rows, columns]
        finite = np.isfinite(lengths)
        return Edges(np.column_stack([rows, columns])[finite], lengths[finite])

    def distance(self, a: object, b: object) -> float:
        """Distance between two databases: the sum over records of the distance between their values.

        Under public knowledge, the number of steps between adjacent databases. A database is a sequence of
        values; with one record the value itself will do.
        """
        if self.constrained:
            graph = self.database_graph
            start, stop = (graph.index(self._label(self.database(item))) for item in (a, b))
            return float(graph.distances_from(start)[stop])
        first, second = self._places(a), self._places(b)
        unit = self.record_metric.uniform_distance
        if unit is not None:
            changed = int((first != second).sum())
            return unit * changed if changed else 0.0
        return float(self.record_metric.matrix[first, second].sum())

    def _places(self, values: object) -> NDArray[np.intp]:
        """A database as positions of its values, checked; arrays of the values 0, 1, 2, … need no look-up."""
        if isinstance(values, np.ndarray) and values.shape == (self.records,) and values.dtype.kind in "iu":
            if self._counted and values.min() >= 0 and values.max() < len(self.values):
                return values.astype(np.intp, copy=False)
        elif isinstance(values, list | tuple) and len(values) == self.records > 1:
            try:
                return np.fromiter(map(self._position.__getitem__, values), np.intp, self.records)
            except (KeyError, TypeError):
                pass  # said properly below
        return np.array([self._position[value] for value in self._sequence(values)], dtype=np.intp)

    @cached_property
    def _counted(self) -> bool:
        return tuple(self.values) == tuple(range(len(self.values)))

    def database(self, values: object) -> Database:
        """A database as a tuple of values, checked against the policy."""
        found = self._sequence(values)
        if self.constrained and not self._known.permits([self._position[value] for value in found]):
            raise PolicyError(f"database {short_list(values)} is not permitted: {self._known.describe()}")
        return found

    def _sequence(self, values: object) -> Database:
        try:
            key = label(values)
        except TypeError:
            raise PolicyError(
                f"database {short_list(values)} must be a sequence of {self.records} values"
            ) from None
        if self.records == 1 and key in self._position:
            return (key,)
        if not isinstance(key, tuple) or len(key) != self.records:
            raise PolicyError(f"database {short_list(values)} must be a sequence of {self.records} values")
        for place, value in enumerate(key):
            if value not in self._position:
                raise PolicyError(
                    f"database {short_list(values)} has the value {abbreviated(value, worded)} in "
                    f"record {place}; "
                    f"it must be one of {shown(self.values)}"
                )
        return key

    def _label(self, database: Database) -> Hashable:
        return database[0] if self.records == 1 else database

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {value: i for i, value in enumerate(self.values)}

    def databases(self) -> Iterator[Database]:
        """Every possible database, the first record varying slowest."""
        if self.constrained:
            return iter(self._known.databases)  # type: ignore[arg-type]
        return cartesian(self.values, repeat=self.records)

    @property
    def permitted_databases(self) -> Databases:
        """The databases that public knowledge leaves possible, as one array with lazy labels."""
        if not self.constrained:
            raise PolicyError("permitted is not given: every combination of values is possible")
        return self._known.databases

    @property
    def alike_databases(self) -> NDArray[np.intp] | None:
        """A number for each permitted database, equal where exchanging records leads from one to the other.

        None where every combination of values is possible, or no two records are known to count alike.
        """
        kind_of = self._known.kind_of if self.constrained else None
        if kind_of is None:
            return None
        rows = self._known.databases.rows.copy()
        for kind in np.unique(kind_of):
            rows[:, kind_of == kind] = np.sort(rows[:, kind_of == kind], axis=1)
        return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel(), dtype=np.intp)

    @property
    def exchanges(self) -> tuple[NDArray[np.intp], ...]:
        """Where exchanges of records that count alike lead each permitted database; they generate all such.

        Empty where every combination of values is possible, or no two records are known to count alike.
        """
        kind_of = self._known.kind_of if self.constrained else None
        if kind_of is None:
            return ()
        listed, found = self._known.databases, []
        for kind in np.unique(kind_of):
            members = np.flatnonzero(kind_of == kind)
            for moved in ([1, 0, *range(2, len(members))], np.roll(np.arange(len(members)), 1)):
                if len(members) > 1:
                    order = np.arange(self.records)
                    order[members] = members[moved]
                    found.append(listed.positions(listed.rows[:, order]))
        return tuple(found)

    def neighbours(self, database: object) -> list[Database]:
        """The databases adjacent to a given one (Edwards et al., Def. 2: as seen from this one).

        Without the list of all databases for unconstrained policies, and for a known total or histogram
        when no two values may be told apart.

        >>> Policy.differential([0, 1, 2], 2, permitted=[(0, 0), (1, 2), (2, 1), (2, 2)]).neighbours((0, 0))
        [(1, 2), (2, 1), (2, 2)]
        """
        found = self.database(database)
        row = np.array([self._position[value] for value in found], dtype=np.intp)
        if self.constrained:
            assert isinstance(self.secrets, SecretGraph)
            rows = neighbour_rows(self._known, self.secrets, row, LARGEST_ENUMERATION)
        else:
            rows = product_neighbours(self.record_edges, row)
        return [tuple(self.values[place] for place in neighbour) for neighbour in rows.tolist()]

    def adjacency(self, directed: bool = False) -> Graph:
        """The graph of databases that must not be told apart (explicit, for small policies).

        Under public knowledge Definition 2 of Edwards et al. may hold one way only; such pairs are joined
        all the same (the stronger promise), and `one_way` of the graph lists them. With `directed`, the
        graph holds the ordered pairs of the definition. For a metric policy, the pairs whose distances
        generate the metric are joined.
        """
        directed = flag("directed", directed, PolicyError)
        if self.constrained:
            return self.database_graph.as_directed() if directed else self.database_graph
        if self.records == 1 and isinstance(self.secrets, SecretGraph):
            return self.secrets
        return Graph._of_indices(self.database_labels(), self.database_edges().pairs)

    @cached_property
    def database_graph(self) -> DatabaseGraph:
        """The undirected adjacency under public knowledge, found once."""
        if not self.constrained:
            raise PolicyError("permitted is not given: adjacency() is the product of the secret graph")
        assert isinstance(self.secrets, SecretGraph)
        return adjacency_graph(self._known, self.secrets, self.database_labels())

    def database_edges(self) -> Edges:
        """Pairs of enumerated databases, with lengths, that generate the distance."""
        if self.constrained:
            return Edges(self.database_graph.edges, np.ones(len(self.database_graph.edges)))
        self.require_enumerable("the explicit policy")
        return product_edges(self.record_edges, len(self.values), self.records)

    def database_metric(self) -> Metric:
        """Distances between all databases (explicit, for small policies)."""
        return Metric.from_edges(self.database_edges(), self.database_labels(), self.size)

    def database_labels(self) -> Labels:
        """The labels of all databases in order: tuples of values, or values where there is one record."""
        if self.constrained:
            listed = self._known.databases
            return tuple(self.values[i] for i in listed.rows[:, 0].tolist()) if self.records == 1 else listed
        self.require_enumerable("the explicit policy")
        return self.values if self.records == 1 else tuple(self.databases())

    def require_enumerable(self, action: str) -> None:
        """Refuse to list more databases than fit in memory."""
        if self.constrained:
            _ = self._known.databases  # refuses by itself, and says how many there are
        elif self.size > LARGEST_ENUMERATION:
            raise TooLargeError(
                f"{action} would list {len(self.values)}^{self.records} databases; at most "
                f"{LARGEST_ENUMERATION} are enumerated; distance(a, b) and the record metric need no list",
                size=self.size,
            )

    def describe(self) -> str:
        """The promise in plain words."""
        return neighbour_description(self)

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        return html_table(self.describe(), {})

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain data."""
        return {
            "preset": self.preset,
            "records": self.records,
            "person_records": self.person_records,
            "secrets": self.secrets.to_dict(),
            **({"permitted": self._known.describe()} if self.constrained else {}),
        }
