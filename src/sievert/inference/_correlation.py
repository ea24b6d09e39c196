"""Correlations: how a secret and a useful property go together in what is known about the data.

Raw data x has a prior, a secret property S(x) and a useful property U(x); their correlation is
Π[s,u] = π({x : S(x) = s, U(x) = u}) (Fernandes, Sec 5.4). A release acts on the useful property, or on the
raw data itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sievert.arrays import AnyArray, FloatArray, IndexArray
from sievert.channels import Channel, as_channel
from sievert.errors import PolicyError, PriorError
from sievert.inference._masses import (
    LARGEST_JOINT,
    columns_of,
    factored,
    gathered,
    information_bits,
    matched,
    positions,
    probabilities,
    shares,
    summed,
    weights_of,
    whole_counts,
)
from sievert.inference._properties import property_of
from sievert.numerics import (
    abbreviated,
    choice,
    exact_matmul,
    fractions_of,
    require_size,
)
from sievert.results import html_table
from sievert.spaces import Labels, labels_or_range, shown, table_of

__all__ = ["Correlation", "contingency", "correlation_of"]

# Entries of a channel's matrix that are multiplied at once; a rule beyond answers by products.
LARGEST_MATRIX = 200_000_000


def contingency(
    counts: Any, secrets: Iterable[object] | None = None, uses: Iterable[object] | None = None
) -> tuple[Any, Any, Any]:
    """Counts [secret, use] as whole numbers, and the labels of a table that has some."""
    table = table_of(counts, "counts", PriorError)
    entries, secrets, uses = table.ordered(secrets, uses, ("secrets", "uses"), PriorError)
    return whole_counts(entries), secrets, uses


class Correlation:
    """How a secret property and a useful one go together.

    Parameters
    ----------
    joint : array_like, shape (secrets, uses), or a table with labels
        Probability of each pair; they sum to 1. Fractions stay exact. A secret or use of probability 0 may
        be listed.
    secrets, uses : labels of the rows and of the columns; by default the table's own, or 0, 1, 2, …

    Attributes
    ----------
    joint : array of floats or fractions [secret, use]
    secrets, uses : labels
    inputs : labels of the raw data that a release may act on: here the pairs (secret, use) that can occur
    total : how many records it was counted from, where it was counted

    Examples
    --------
    >>> survey = Correlation([["1/4", "1/4", 0], [0, "1/4", "1/4"]])
    >>> survey.secret_prior.tolist(), survey.use_prior.tolist()
    ([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    """

    joint: AnyArray
    secrets: Labels
    uses: Labels
    inputs: Labels
    total: int | None

    def __init__(
        self,
        joint: Any,
        secrets: Iterable[object] | None = None,
        uses: Iterable[object] | None = None,
    ) -> None:
        table = table_of(joint, "joint", PriorError)
        entries, secrets, uses = table.ordered(secrets, uses, ("secrets", "uses"), PriorError)
        array = probabilities(entries)
        self.secrets = labels_or_range(secrets, array.shape[0], "secrets", PriorError)
        self.uses = labels_or_range(uses, array.shape[1], "uses", PriorError)
        self.total = None
        self.secret_words, self.use_words = "the secret", "the use"
        self.joint = array
        rows, columns = np.nonzero(array)
        self._raw = (array[rows, columns], rows.astype(np.intp), columns.astype(np.intp))
        self.inputs = tuple(
            (self.secrets[i], self.uses[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        )
        self._is_pairs = True

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        secrets: Iterable[object] | None = None,
        uses: Iterable[object] | None = None,
    ) -> Correlation:
        """The correlation in a contingency table: counts [secret, use], rescaled exactly.

        >>> Correlation.from_counts([[3, 1], [0, 4]]).joint[0].tolist()
        [Fraction(3, 8), Fraction(1, 8)]
        """
        numbers, secrets, uses = contingency(counts, secrets, uses)
        total = sum(numbers.ravel().tolist())
        if not total:
            raise PriorError("counts are all 0; at least one record must be counted")
        found = cls(fractions_of(numbers) / total, secrets, uses)
        found.total = total
        return found

    @classmethod
    def from_table(cls, frame: Any, *, secret: Any, use: Any, counts: str | None = None) -> Correlation:
        """The correlation in a table of records: a pandas, polars or Arrow table, or a mapping of columns.

        `secret` and `use` name a column, or are tables as in a file: ``{"where": {"age": {"least": 65}}}``,
        ``{"column": "age", "bins": [18, 65]}``, ``{"count": ["first", "second"], "of": "yes"}``. `counts` is
        the column that says how often a row occurs. A release on the raw data has the rows, 0, 1, 2, …, as
        inputs.

        >>> rows = {"age": [30, 70, 80, 20], "ill": ["no", "yes", "yes", "no"]}
        >>> found = Correlation.from_table(rows, secret="ill", use={"where": {"age": {"least": 65}}})
        >>> found.secrets, found.uses, found.joint.tolist()
        (('no', 'yes'), ('no', 'yes'), [[Fraction(1, 2), Fraction(0, 1)], [Fraction(0, 1), Fraction(1, 2)]])
        """
        columns = columns_of(frame)
        size = len(next(iter(columns.values()), ()))
        if not size:
            raise PolicyError("frame has no rows; give a table of records")
        hidden, useful = property_of(secret, "secret"), property_of(use, "use")
        secrets, secret_of = hidden.labelled(columns)
        uses, use_of = useful.labelled(columns)
        weights = np.ones(size, dtype=np.int64)
        if counts is not None:
            if counts not in columns:
                raise PolicyError(
                    f"counts is {abbreviated(counts)}; the table's columns are {shown(list(columns))}"
                )
            weights = whole_counts([columns[counts]])[0]
        found = cls.from_labels(weights, secret_of, use_of, secrets, uses)
        found.secret_words, found.use_words = hidden.words(), useful.words()
        return found

    @classmethod
    def from_labels(
        cls,
        weights: Any,
        secret_of: Any,
        use_of: Any,
        secrets: Iterable[object] | None = None,
        uses: Iterable[object] | None = None,
        inputs: Iterable[object] | None = None,
    ) -> Correlation:
        """From raw data: the weight of each input and the positions of its secret and of its use.

        >>> found = Correlation.from_labels([1, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 2])
        >>> found.joint.astype(float).tolist()
        [[0.25, 0.25, 0.0], [0.0, 0.25, 0.25]]
        """
        s, u = positions(secret_of, "secret_of"), positions(use_of, "use_of")
        mass = weights_of(weights)
        if not (s.shape == u.shape == mass.shape) or s.ndim != 1 or not len(s):
            raise PriorError(
                f"weights, secret_of and use_of have shapes {mass.shape}, {s.shape} and {u.shape}; give one "
                "number of each for every input"
            )
        if s.min() < 0 or u.min() < 0:
            raise PriorError("secret_of and use_of hold positions from 0; a negative one is none")
        self = cls.__new__(cls)
        names = None if secrets is None else tuple(secrets), None if uses is None else tuple(uses)
        rows = int(s.max()) + 1 if names[0] is None else len(names[0])
        columns = int(u.max()) + 1 if names[1] is None else len(names[1])
        if s.max() >= rows or u.max() >= columns:
            raise PriorError("secret_of and use_of name positions beyond the labels of secrets and uses")
        require_size(rows * columns, LARGEST_JOINT, "the pairs of secrets and uses", "group them")
        self.secrets = labels_or_range(names[0], rows, "secrets", PriorError)
        self.uses = labels_or_range(names[1], columns, "uses", PriorError)
        prior, self.total = shares(mass)
        self.joint = summed(prior, s, u, (rows, columns))
        self.secret_words, self.use_words = "the secret", "the use"
        self._raw = (prior, s, u)
        self.inputs = (
            range(len(s)) if inputs is None else labels_or_range(inputs, len(s), "inputs", PriorError)
        )
        self._is_pairs = False
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of secrets and of uses."""
        return len(self.secrets), len(self.uses)

    @property
    def is_exact(self) -> bool:
        """Whether its probabilities are fractions."""
        return bool(self.joint.dtype == object)

    @property
    def input_prior(self) -> AnyArray:
        """Probability of each input of the raw data."""
        return self._raw[0]

    @property
    def secret_of(self) -> IndexArray:
        """The position of each input's secret."""
        return self._raw[1]

    @property
    def use_of(self) -> IndexArray:
        """The position of each input's use."""
        return self._raw[2]

    @property
    def secret_prior(self) -> AnyArray:
        """Probability of each secret."""
        return np.asarray(self.joint.sum(axis=1))

    @property
    def use_prior(self) -> AnyArray:
        """Probability of each use."""
        return np.asarray(self.joint.sum(axis=0))

    @cached_property
    def floats(self) -> FloatArray:
        """The joint probabilities as floats."""
        return self.joint.astype(np.float64)

    @property
    def secret_equals_use(self) -> bool:
        """Whether each of the two properties determines the other, so that they are one."""
        support = np.asarray(self.joint != 0, dtype=bool)
        return bool((support.sum(axis=0) <= 1).all() and (support.sum(axis=1) <= 1).all())

    @property
    def cramers_v(self) -> float:
        """Cramér's V: 0 where the two are independent, 1 where one determines the other."""
        used = self.floats[np.ix_(self.floats.sum(axis=1) > 0, self.floats.sum(axis=0) > 0)]
        least = min(used.shape) - 1
        if not least:
            return 0.0
        expected = used.sum(axis=1)[:, None] * used.sum(axis=0)
        return math.sqrt(float(((used - expected) ** 2 / expected).sum()) / least)

    @property
    def mutual_information(self) -> float:
        """What the use itself tells about the secret, in bits."""
        return information_bits(self.floats)

    def with_outputs(self, channel: Channel) -> AnyArray:
        """Probability of each secret together with each output: (Π·C)[s,y], exact where both are.

        The channel is on the uses, or on the raw data (`inputs`), told apart by its inputs.
        """
        return self._grouped(channel, by_use=False)

    def uses_with_outputs(self, channel: Channel) -> AnyArray:
        """Probability of each use together with each output."""
        return self._grouped(channel, by_use=True)

    def _grouped(self, channel: Channel, by_use: bool) -> AnyArray:
        """The channel's rows times their weights, summed by secret or by use; no gain is ever listed."""
        channel = as_channel(channel).finite()
        weights, group, places, order = self._acting_on(channel, by_use)
        size = len(self.uses if by_use else self.secrets), len(order)
        if channel.form == "exact" and weights.dtype == object:
            assert channel.exact is not None
            return exact_matmul(gathered(weights, group, places, size), channel.exact[list(order)])
        rows = np.asarray(order, dtype=np.intp)[places]
        grouped = csr_array((weights.astype(np.float64), (group, rows)), shape=size)
        if channel.is_rule_beyond(max(LARGEST_MATRIX, 100 * sum(channel.shape))):
            return np.stack([channel.rmatvec(part) for part in grouped.toarray()])
        return np.asarray(grouped @ channel.rounded())

    def _acting_on(
        self, channel: Channel, by_use: bool
    ) -> tuple[AnyArray, IndexArray, IndexArray, list[int] | range]:
        """Weights, the group and the input of each, and the channel's rows in the order of these inputs."""
        order = matched(self.uses, channel.inputs)
        if order is not None and by_use:
            every = np.arange(len(self.uses))
            return self.use_prior, every, every, order
        if order is not None:
            rows, columns = np.nonzero(self.joint)
            return self.joint[rows, columns], rows, columns, order
        given = self._on_raw(channel)
        if given is not None:
            prior, secret_of, use_of, order = given
            return prior, use_of if by_use else secret_of, np.arange(len(prior)), order
        raw = "pairs (secret, use)" if self._is_pairs else "rows of the raw data"
        raise PolicyError(
            f"the channel has the inputs {shown(channel.inputs)}; a release acts on the uses "
            f"{shown(self.uses)}, or on the {raw} {shown(self.inputs)}"
        )

    def insensitive(
        self, channel: Channel, to: str = "secret", tolerance: float = 1e-12, over: str = "prior"
    ) -> Channel | None:
        """The channel on the uses (or, for to="use", on the secrets) that a channel on raw data factors into.

        The channel is on the raw data (`inputs`), or on all pairs (secret, use). None where two of its inputs
        agree in that property and differ in their output distributions, by more than `tolerance` unless the
        channel is exact (Fernandes, Def 5.5.1). With over="prior" inputs that cannot occur say nothing, and a
        property that cannot occur is told like the first one that can; with over="all" every input counts.

        >>> survey = Correlation([["1/2", 0], ["1/4", "1/4"]])
        >>> pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
        >>> odd = Channel([[1, 0], [1, 0], [1, 0], [0, 1]], inputs=pairs)
        >>> survey.insensitive(odd).rounded().tolist(), survey.insensitive(odd, over="all")
        ([[1.0, 0.0], [0.0, 1.0]], None)
        """
        choice("to", to, ("secret", "use"), PolicyError)
        choice("over", over, ("prior", "all"), PolicyError)
        channel = as_channel(channel).finite()
        raw = self._on_raw(channel, all_pairs=over == "all")
        if raw is None:
            if to == "secret" and matched(self.uses, channel.inputs) is not None:
                return channel
            pairs = f"all {len(self.secrets) * len(self.uses):,} pairs (secret, use)"
            wanted = pairs if over == "all" and self._is_pairs else f"the raw data {shown(self.inputs)}"
            raise PolicyError(
                f"the channel has the inputs {shown(channel.inputs)}; whether it factors is asked of a "
                f"release on {wanted}{'' if wanted is pairs else f', or on {pairs}'}"
            )
        prior, secret_of, use_of, order = raw
        labels, group = (self.uses, use_of) if to == "secret" else (self.secrets, secret_of)
        possible = np.asarray(prior != 0, dtype=bool) | (over == "all")
        return factored(channel, order, group, possible, labels, tolerance)

    def _on_raw(
        self, channel: Channel, all_pairs: bool = False
    ) -> tuple[AnyArray, IndexArray, IndexArray, list[int] | range] | None:
        """Prior, secret, use and row of the channel of each input: raw data, or every pair."""
        order = matched(self.inputs, channel.inputs)
        rows, columns = self.shape
        partial = self._is_pairs and all_pairs and len(self.inputs) < rows * columns
        if order is not None and not partial:
            return *self._raw, order
        if len(channel.inputs) != rows * columns:
            return None
        order = matched(tuple(itertools.product(self.secrets, self.uses)), channel.inputs)
        if order is None:
            return None
        secret_of, use_of = np.divmod(np.arange(rows * columns), columns)
        return self.joint.ravel(), secret_of, use_of, order

    def to_dict(self) -> dict[str, Any]:
        """Labels and probabilities as plain data."""
        exact = (
            {"joint_exact": [[str(v) for v in row] for row in self.joint.tolist()]} if self.is_exact else {}
        )
        return {
            "secrets": [str(item) for item in self.secrets],
            "uses": [str(item) for item in self.uses],
            "joint": self.floats.tolist(),
            **exact,
        }

    def __repr__(self) -> str:
        return f"Correlation({self.shape[0]} secrets, {self.shape[1]} uses)"

    def _repr_html_(self) -> str:
        rows = {
            str(name): ", ".join(f"{use}: {value:.4g}" for use, value in zip(self.uses, row, strict=True))
            for name, row in zip(self.secrets, self.floats.tolist(), strict=True)
        }
        return html_table(f"{self!r}, Cramér's V {self.cramers_v:.4g}", rows)


def correlation_of(given: object, argument: str = "correlation") -> Correlation:
    """The correlation that a function was given: itself, or a joint matrix."""
    if isinstance(given, Correlation):
        return given
    # Asked of the class: a lazy table answers with a warning.
    if isinstance(given, list | tuple | np.ndarray) or hasattr(type(given), "columns"):
        return Correlation(given)
    raise PolicyError(
        f"{argument} is {abbreviated(given)}; give a sv.inference.Correlation, such as Correlation(joint)"
    )
