"""Policies: which databases are possible and which of them must not be told apart.

Differential privacy, local differential privacy, metric privacy and Blowfish are presets of one
object: a secret graph (or a metric) on the values of one record, and a number of records. The
unconstrained policy on n records is the n-fold product of the secret graph (Edwards et al., Thm 1),
so its distance is a sum over records and nothing is ever enumerated unless asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product as cartesian
from typing import Any, Literal

import numpy as np

from sievert.errors import PolicyError, TooLargeError
from sievert.spaces import secrets as secret_graphs
from sievert.spaces.graph import Graph
from sievert.spaces.labels import Labels, label, shown
from sievert.spaces.metric import Edges, Metric
from sievert.spaces.secrets import SecretGraph

__all__ = ["ABSENT", "LARGEST_ENUMERATION", "Policy"]

ABSENT = "absent"
LARGEST_ENUMERATION = 100_000

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
    permitted: None = None
    person_records: int = 1
    preset: str = field(default="blowfish", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.secrets, SecretGraph | Metric):
            raise PolicyError(
                f"secrets is a {type(self.secrets).__name__}; give a secret graph (sv.secrets.…) or a metric"
            )
        for name in ("records", "person_records"):
            count = getattr(self, name)
            if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
                raise PolicyError(f"{name} is {count!r}; it must be a whole number ≥ 1")
            object.__setattr__(self, name, int(count))
        if self.person_records > self.records:
            raise PolicyError(
                f"person_records is {self.person_records} but there are only {self.records} records; "
                "a person cannot own more records than there are"
            )
        if self.permitted is not None:
            raise PolicyError("permitted: public constraints are not supported; leave it out")

    @classmethod
    def blowfish(cls, secrets: SecretGraph | Metric, records: int = 1, **options: Any) -> Policy:
        """A secret graph on the values of each of `records` records (He et al.; Edwards et al., Def. 2).

        >>> policy = Policy.blowfish(secret_graphs.line(5), records=2)
        >>> policy.distance((0, 0), (3, 1))
        4.0
        """
        return cls(secrets, records, **options)

    @classmethod
    def differential(
        cls,
        values: int | Iterable[object],
        records: int,
        adjacency: Literal["replace", "add-remove"] = "replace",
        person_records: int = 1,
    ) -> Policy:
        """Ordinary differential privacy for `records` records.

        With "replace", databases that differ in one record are neighbours. With "add-remove", a record
        may be absent (a value of its own) and neighbours differ by the presence of one record, so
        that replacing a record counts twice.
        """
        items = secret_graphs._values(values)
        if adjacency == "replace":
            return cls(
                secret_graphs.complete(items), records, person_records=person_records, preset="differential"
            )
        if adjacency != "add-remove":
            raise PolicyError(f'adjacency is {adjacency!r}; it must be "replace" or "add-remove"')
        if ABSENT in items:
            raise PolicyError(
                f"values contains {ABSENT!r}, which add-remove adjacency uses for a missing record"
            )
        star = secret_graphs._secret(
            [ABSENT, *items],
            [(0, i + 1) for i in range(len(items))],
            "add-remove",
            "whether a record is present, and with which value, may not be told",
        )
        return cls(star, records, person_records=person_records, preset="differential (add-remove)")

    @classmethod
    def local(cls, values: int | Iterable[object]) -> Policy:
        """One person's value, perturbed before anybody sees it; any two values are neighbours."""
        return cls(secret_graphs.complete(values), 1, preset="local")

    @classmethod
    def metric(cls, metric: Metric, records: int = 1) -> Policy:
        """Values protected in proportion to their distance (metric privacy)."""
        return cls(metric, records, preset="metric")

    @property
    def values(self) -> Labels:
        """The values one record can take."""
        return self.secrets.nodes if isinstance(self.secrets, SecretGraph) else self.secrets.points

    @property
    def absent(self) -> Hashable | None:
        """The value of a missing record under add-remove adjacency, else None."""
        return ABSENT if getattr(self.secrets, "kind", None) == "add-remove" else None

    @property
    def size(self) -> int:
        """Number of possible databases (an exact integer, however large)."""
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

        A database is a sequence of values; with one record the value itself will do.
        """
        first, second = self.database(a), self.database(b)
        matrix, index = self.record_metric.matrix, self.record_metric.index
        return float(sum(matrix[index(u), index(v)] for u, v in zip(first, second, strict=True)))

    def database(self, values: object) -> Database:
        """A database as a tuple of values, checked against the policy."""
        try:
            key = label(values)
        except TypeError:
            raise PolicyError(f"database {values!r} must be a sequence of {self.records} values") from None
        if self.records == 1 and key in self._known_values:
            return (key,)
        if not isinstance(key, tuple) or len(key) != self.records:
            raise PolicyError(f"database {values!r} must be a sequence of {self.records} values")
        for position, value in enumerate(key):
            if value not in self._known_values:
                raise PolicyError(
                    f"database {values!r} has the value {value!r} in record {position}; "
                    f"it must be one of {shown(self.values)}"
                )
        return key

    @cached_property
    def _known_values(self) -> frozenset[Hashable]:
        return frozenset(self.values)

    def databases(self) -> Iterator[Database]:
        """Every possible database, the first record varying slowest."""
        return cartesian(self.values, repeat=self.records)

    def adjacency(self) -> Graph:
        """The graph of databases that must not be told apart (explicit, for small policies).

        For a metric policy, the pairs whose distances generate the metric are joined.
        """
        if self.records == 1 and isinstance(self.secrets, SecretGraph):
            return self.secrets
        return Graph._of_indices(self._database_labels(), self.database_edges().pairs)

    def database_edges(self) -> Edges:
        """Pairs of enumerated databases, with lengths, that generate the distance."""
        self.require_enumerable("the explicit policy")
        if len(self.values) == 1:
            return self.record_edges
        index = np.arange(self.size).reshape([len(self.values)] * self.records)
        pairs = [
            np.column_stack(
                [np.take(index, self.record_edges.pairs[:, side], axis).ravel() for side in (0, 1)]
            )
            for axis in range(self.records)
        ]
        lengths = np.concatenate([self._lengths_along(axis) for axis in range(self.records)])
        return Edges(np.concatenate(pairs), lengths)

    def _lengths_along(self, axis: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        shape = [len(self.values)] * self.records
        shape[axis] = 1
        view = [1] * self.records
        view[axis] = len(self.record_edges)
        return (self.record_edges.lengths.reshape(view) * np.ones(shape)).ravel()

    def database_metric(self) -> Metric:
        """Distances between all databases (explicit, for small policies)."""
        return Metric.from_edges(self.database_edges(), self._database_labels(), self.size)

    def _database_labels(self) -> Labels:
        self.require_enumerable("the explicit policy")
        return self.values if self.records == 1 else tuple(self.databases())

    def require_enumerable(self, action: str) -> None:
        """Refuse to list more databases than fit in memory."""
        if self.size > LARGEST_ENUMERATION:
            raise TooLargeError(
                f"{action} would list {len(self.values)}^{self.records} databases; at most "
                f"{LARGEST_ENUMERATION} are enumerated; distance(a, b) and the record metric need no list",
                size=self.size,
            )

    def describe(self) -> str:
        """The promise in plain words."""
        people = "one record" if self.records == 1 else f"{self.records} records"
        listed = ", ".join(map(str, self.values[:5])) + (", …" if len(self.values) > 5 else "")
        promise = (
            self.secrets.describe()
            if isinstance(self.secrets, SecretGraph)
            else "values are protected in proportion to their distance (far apart may be told apart)"
        )
        sentences = [f"{people.capitalize()}, each one of {len(self.values)} values ({listed}): {promise}."]
        components = int(self.secrets.component_of.max()) + 1
        if components > 1:
            sentences.append(
                f"The values fall into {components} groups; which group a value is in is not protected."
            )
        if self.records > 1:
            sentences.append(
                "Whoever knows all the other records must not learn the remaining one beyond the promise."
            )
        if self.person_records > 1:
            sentences.append(f"Up to {self.person_records} records may belong to one person.")
        return " ".join(sentences)

    def __str__(self) -> str:
        return self.describe()

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain data."""
        return {
            "preset": self.preset,
            "records": self.records,
            "person_records": self.person_records,
            "secrets": self.secrets.to_dict(),
        }
