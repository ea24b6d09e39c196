"""[inference]: the secret and the useful property of a public table, beside the file's own mechanism.

The mechanism answers about values of the policy; the table says how a value goes with the secret. For a
record the
useful property is the value. For a count or a sum it is the answer once somebody has joined: with the other
rows of
the table known to everybody, or drawn like them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sievert.arrays import AnyArray, FloatArray
from sievert.channels import Channel, TableNoise
from sievert.errors import FileError
from sievert.inference import Correlation, Property
from sievert.kinds import PublicPath, Section
from sievert.numerics import abbreviated, as_fraction, log_binomial, require_size
from sievert.spaces import LabelledTable, Labels, Metric, shown, worded

if TYPE_CHECKING:
    from sievert.files._scenario import PolicyScenario

__all__ = ["InferenceCase", "InferenceModel", "inference_case"]


# Outputs that are rarer say nothing in floats: their ratios have lost their digits.
NEGLIGIBLE = 1e-250
# Outputs of noise without a list that are looked at.
WIDEST = 200_000
# Answers of random records that are told apart.
LARGEST_SUMS = 5000
# Probabilities of outputs that are listed for all answers together.
LARGEST_ROWS = 30_000_000


class InferenceModel(Section):
    """[inference]: what else the release may tell."""

    secret: Annotated[Property, Field(description="what somebody wants to infer")]
    use: Annotated[Property, Field(description="the values of the policy, as the table has them")]
    table: Annotated[
        PublicPath,
        Field(description="a public CSV or Parquet file with a row for each record, or counted rows"),
    ]
    counts: Annotated[str | None, Field(description="the column that says how often a row occurs")] = None
    public: Annotated[
        bool,
        Field(description="must be `true`: everybody knows the table, it is not taken from private data"),
    ] = False
    others: Annotated[
        Literal["known", "random"],
        Field(
            description="counts and sums: the rows of the table are `known` and somebody joins them, or all "
            "records are drawn like them at `random`"
        ),
    ] = "known"


@dataclass(frozen=True, eq=False)
class InferenceCase:
    """What a file asks: secret against answer, the mechanism on these answers, and their distances.

    `values` has the secret against the values of the table; `counted` those that a count of known rows
    counts.
    """

    correlation: Correlation
    channel: Channel
    metric: Metric
    rows: int
    answer: str
    values: Correlation
    counted: tuple[Hashable, ...] = ()


def inference_case(scenario: PolicyScenario) -> InferenceCase:
    """The correlation of a file's [inference] with the answers of its query."""
    model = scenario.document.inference
    assert model is not None
    if not model.public:
        raise FileError(
            f"{scenario.source}, inference.public: {model.table} is not declared public; a correlation "
            "taken from "
            "private data would tell about it. If everybody may know the table write public = true"
        )
    values = _from_table(model, model.table.table())
    _require_values(scenario, values)
    if scenario.query.is_record:
        return _of_record(scenario, values)
    if not scenario.query.is_total:
        raise FileError(
            f"{scenario.source}, query: {scenario.query.words} is no number that each record adds to; "
            "inference is answered for a record, a count or a sum, so ask about one number of it, say "
            '[query] kind = "count" with where = one of its cells'
        )
    return _joined(scenario, values) if model.others == "known" else _random(scenario, values)


def _from_table(model: InferenceModel, table: LabelledTable) -> Correlation:
    columns = {name: [table.value(row[j]) for row in table.rows] for j, name in enumerate(table.header)}
    return Correlation.from_table(columns, secret=model.secret, use=model.use, counts=model.counts)


def _require_values(scenario: PolicyScenario, values: Correlation) -> None:
    unknown = [use for use in values.uses if use not in scenario.policy.values]
    if unknown:
        raise FileError(
            f"{scenario.source}, inference.use: {abbreviated(unknown[0], worded)} is not one of the policy's "
            f"values {shown(scenario.policy.values)}; use must name what the mechanism answers about"
        )


def _of_record(scenario: PolicyScenario, values: Correlation) -> InferenceCase:
    channel = scenario.channel.finite()
    joint = _placed(values, [channel.input_index(use) for use in values.uses], len(channel.inputs))
    found = _named(Correlation(joint, values.secrets, channel.inputs), values, values.use_words)
    answer = f"{values.use_words} itself"
    return InferenceCase(found, channel, scenario.answers.metric, values.total or 0, answer, values)


def _placed(values: Correlation, places: list[int], size: int) -> AnyArray:
    """The joint with its uses added up at these places."""
    zero: Any = Fraction(0) if values.is_exact else 0.0
    joint = np.full((len(values.secrets), size), zero, dtype=values.joint.dtype)
    for j, place in enumerate(places):
        joint[:, place] = joint[:, place] + values.joint[:, j]
    return joint


def _named(found: Correlation, values: Correlation, use: str) -> Correlation:
    found.secret_words, found.use_words = values.secret_words, use
    found.total = values.total
    return found


def _contributions(scenario: PolicyScenario, values: Correlation) -> list[Any]:
    form: Any = scenario.query.form
    return [form.contribution(use) for use in values.uses]


def _joined(scenario: PolicyScenario, values: Correlation) -> InferenceCase:
    """Everybody knows the rows of the table; one more joins them."""
    rows = values.total or 0
    if scenario.policy.records != rows + 1:
        raise FileError(
            f"{scenario.source}, policy.records: is {scenario.policy.records}, but the table has {rows} "
            "rows, which "
            f'somebody joins; write records = {rows + 1}, or inference.others = "random"'
        )
    adds = _contributions(scenario, values)
    base = sum(
        (Fraction(add) * round(share * rows) for add, share in zip(adds, values.use_prior, strict=True)),
        Fraction(0),
    )
    answers = [_number(base + Fraction(add)) for add in adds]
    used = tuple(sorted(set(answers)))  # type: ignore[type-var]
    joint = _placed(values, [used.index(answer) for answer in answers], len(used))
    part = _rows(scenario.channel, used)
    found = _named(Correlation(joint, values.secrets, used), values, scenario.query.words)
    counts = set(adds) <= {0, 1}
    counted = tuple(use for use, add in zip(values.uses, adds, strict=True) if counts and add == 1)
    words = scenario.query.words
    return InferenceCase(found, part, _distances(scenario, used), rows, words, values, counted)


@singledispatch
def _rows(channel: Channel, used: Labels) -> Channel:
    """The channel on some of its inputs, without outputs that hardly any float can tell from impossible."""
    channel = channel.finite()
    rows = np.stack([channel.row(answer) for answer in used])
    kept = np.flatnonzero(rows.max(axis=0) > NEGLIGIBLE)
    return Channel(rows[:, kept], inputs=used, outputs=[channel.outputs[int(j)] for j in kept])


@_rows.register
def _rows_of_noise(channel: TableNoise, used: Labels) -> Channel:
    """Noise without a list: the outputs around the answers, what is rarer than NEGLIGIBLE at their ends."""
    step = channel.statistic.step
    answers = np.array([int(as_fraction(answer) / step) for answer in used], dtype=np.float64)
    low, high = (-math.inf, math.inf) if channel.limits is None else channel.limits
    reach = 64
    while channel.law.log_pmf(np.array([float(reach)]))[0] > math.log(NEGLIGIBLE) and reach < WIDEST:
        reach *= 2
    first, last = int(max(low, answers.min() - reach)), int(min(high, answers.max() + reach))
    require_size(last - first, WIDEST, "the outputs around the answers", "give a larger eps")
    require_size(
        len(answers) * (last - first + 1),
        LARGEST_ROWS,
        "the answers and outputs of inference",
        "take fewer records or a larger eps",
    )
    # Whoever sees the clamped output sees what anybody could make of the output itself.
    window = TableNoise(channel.statistic, channel.law, (first, last))
    outputs = np.arange(first, last + 1)
    rows = np.exp(window.log_cells(answers[:, None], outputs[None, :].astype(np.float64)))
    kept = np.flatnonzero(rows.max(axis=0) > NEGLIGIBLE)
    return Channel(rows[:, kept], inputs=used, outputs=outputs[kept].tolist(), normalise=True)


def _random(scenario: PolicyScenario, values: Correlation) -> InferenceCase:
    """All records are drawn like the rows of the table: the answer of the others is a sum of independent
    ones."""
    adds = [Fraction(add) for add in _contributions(scenario, values)]
    least, step = min(adds), _step(adds)
    places = [int((add - least) / step) for add in adds]
    records = scenario.policy.records
    size = records * max(places) + 1
    require_size(
        size, LARGEST_SUMS, "the answers of random records", 'take fewer records, or others = "known"'
    )
    sums = [_number(records * least + step * place) for place in range(size)]
    floats, others = values.floats, _sum_of(values, places, records - 1)
    joint = np.zeros((len(values.secrets), size))
    for column, place in zip(floats.T, places, strict=True):
        joint[:, place : place + len(others)] += column[:, None] * others
    # Not every number in between is a sum of values.
    possible = set(scenario.answers.labels)
    kept = [place for place, total in enumerate(sums) if total in possible]
    used = tuple(sums[place] for place in kept)
    joint = joint[:, kept] / joint.sum()
    words = scenario.query.words
    found = _named(Correlation(joint, values.secrets, used), values, words)
    whole = used == tuple(scenario.answers.labels)
    metric = scenario.answers.metric if whole else _distances(scenario, used)
    channel = _rows(scenario.channel, used)
    return InferenceCase(found, channel, metric, values.total or 0, words, values)


def _step(adds: list[Fraction]) -> Fraction:
    """The largest step that all contributions are whole numbers of, from the least on."""
    bottom = math.lcm(*(add.denominator for add in adds))
    gaps = [int((add - min(adds)) * bottom) for add in adds]
    return Fraction(math.gcd(*gaps), bottom) or Fraction(1)


def _sum_of(values: Correlation, places: list[int], count: int) -> FloatArray:
    """The law of the sum of so many independent records; all of it is added, so that no digits are lost."""
    single = np.bincount(places, weights=values.use_prior.astype(np.float64))
    if len(single) == 2:
        chance = float(single[1])
        odds = math.log(chance) - math.log1p(-chance) if 0 < chance < 1 else math.inf * (chance - 0.5)
        return np.exp(log_binomial(count, odds))
    found, power = np.ones(1), single
    while count:
        if count % 2:
            found = np.convolve(found, power)
        count //= 2
        power = np.convolve(power, power) if count else power
    return found


def _number(value: Fraction) -> Hashable:
    return int(value) if value.denominator == 1 else float(value)


def _distances(scenario: PolicyScenario, used: Labels) -> Metric:
    """Distances between some answers, along the edges of them all."""
    answers = scenario.answers
    position = {answer: place for place, answer in enumerate(answers.labels)}
    places = [position[answer] for answer in used]
    edges, size = answers.edges, len(answers.labels)
    graph = csr_array((edges.lengths, (edges.pairs[:, 0], edges.pairs[:, 1])), shape=(size, size))
    found = dijkstra(graph, directed=False, indices=places)[:, places]
    return Metric(np.where(np.isfinite(found), found, math.inf), points=used)
