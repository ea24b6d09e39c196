"""From the file's tables to objects: policy, query, mechanism, prior and gains."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert import mechanisms
from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior, from_counts
from sievert.errors import FileError
from sievert.files.schema import (
    GainModel,
    MechanismModel,
    PolicyModel,
    QueryModel,
    SecretsModel,
    ValuesModel,
    WhereModel,
)
from sievert.leakage import gains, losses
from sievert.leakage.adversary import Adversary
from sievert.mechanisms.parameters import privacy
from sievert.spaces import metrics, secrets
from sievert.spaces.labels import Labels, label
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy
from sievert.spaces.query import Answers, Query
from sievert.tables.channel_files import read_channel
from sievert.tables.reading import Row, cell, rows_of

__all__ = ["build_gain", "build_mechanism", "build_policy", "build_prior", "build_query", "inputs_metric"]


def build_policy(model: PolicyModel, folder: Path) -> Policy:
    """The policy of [policy]."""
    chosen = model.secrets
    if isinstance(chosen, SecretsModel) and chosen.points is not None:
        if model.values is not None:
            raise FileError("values: the points file already names the values; leave values out")
        return _sized(_points_metric(chosen, folder), model, "metric")
    if isinstance(chosen, SecretsModel) and (chosen.tree is not None or chosen.partition is not None):
        return _sized(_secrets(chosen, []), model, "blowfish")
    if model.values is None:
        raise FileError("values is missing; list the values a record can take")
    values = _values(model.values, folder)
    if isinstance(chosen, SecretsModel):
        built = _secrets(chosen, values)
        return _sized(built, model, "metric" if isinstance(built, Metric) else "blowfish")
    if chosen != "complete":
        return _sized(getattr(secrets, chosen)(values), model, "blowfish")
    if model.records == 1 and model.adjacency == "replace":
        return Policy.local(values)
    return Policy.differential(values, model.records, model.adjacency, model.person_records)


def _sized(chosen: secrets.SecretGraph | Metric, model: PolicyModel, preset: str) -> Policy:
    if model.adjacency != "replace":
        raise FileError('adjacency: "add-remove" goes with secrets = "complete"')
    return Policy(chosen, model.records, person_records=model.person_records, preset=preset)


def _values(model: list[Any] | ValuesModel, folder: Path) -> list[Hashable]:
    if isinstance(model, list):
        return [label(value) for value in model]
    if model.range is not None:
        first, last = model.range
        return list(range(first, last + 1))
    assert model.file is not None
    header, rows = rows_of(folder / model.file)
    column = _column(header, model.column, model.file) if model.column is not None else 0
    return [_cell(row[column]) for row in rows]


def _column(header: list[str], name: str, file: str) -> int:
    if name not in header:
        raise FileError(f"{file}: has no column {name!r}, but {', '.join(header)}")
    return header.index(name)


def _cell(value: Any) -> Hashable:
    return cell(value) if isinstance(value, str) else label(value)


def _secrets(model: SecretsModel, values: list[Hashable]) -> secrets.SecretGraph | Metric:
    if model.threshold is not None:
        return secrets.threshold(values, model.threshold)
    if model.partition is not None:
        return secrets.partition(model.partition)
    if model.tree is not None:
        return secrets.tree({child: parent or None for child, parent in model.tree.items()})
    if model.edges is not None:
        return secrets.edges(values, [(label(edge[0]), label(edge[1])) for edge in model.edges])
    if model.metric == "line":
        return metrics.line(values)  # type: ignore[arg-type]
    if model.metric == "discrete":
        return metrics.discrete(values)
    return secrets.cycle(values).metric()


def _points_metric(model: SecretsModel, folder: Path) -> Metric:
    assert model.points is not None
    header, rows = rows_of(folder / model.points)
    if len(header) < 2:
        raise FileError(f"{model.points}: needs a label and at least one coordinate in each row")
    coordinates = [[_coordinate(row, header, i, model.points) for i in range(1, len(header))] for row in rows]
    make = metrics.euclidean if model.metric == "euclidean" else metrics.manhattan
    return make(coordinates, labels=[_cell(row[0]) for row in rows])


def _coordinate(row: Row, header: list[str], column: int, file: str) -> float:
    try:
        return float(row[column])
    except (TypeError, ValueError):
        raise FileError(
            f"{file}: {row[column]!r} for {row[0]!r} in column {header[column]!r} is not a number"
        ) from None


def build_query(model: QueryModel, folder: Path) -> Query:
    """The query of [query]."""
    if model.kind == "count":
        return Query.count(_condition(model.where))
    if model.kind == "table":
        assert model.table is not None
        _, rows = rows_of(folder / model.table)
        keys = [tuple(_cell(v) for v in row[:-1]) for row in rows]
        return Query.from_table(
            {k if len(k) > 1 else k[0]: _cell(row[-1]) for k, row in zip(keys, rows, strict=True)}
        )
    make: Callable[[], Query] = getattr(Query, model.kind)
    return make()


def _condition(where: Any) -> Any:
    if not isinstance(where, WhereModel):
        return [label(value) for value in where] if isinstance(where, list) else where
    low = -np.inf if where.at_least is None else where.at_least
    high = np.inf if where.at_most is None else where.at_most
    return lambda value: low <= value <= high


def build_mechanism(
    model: MechanismModel, answers: Answers, query: Query, folder: Path, eps: float | None = None
) -> tuple[Channel, float | None]:
    """The channel of [mechanism] on the query's answers, and the ε it is claimed to have for the policy.

    For a family, `eps` is the ε promised for the policy: noise on the answers is scaled by the query's
    sensitivity. `alpha` is the ratio for one unit of the answer. `eps` given here replaces the file's.
    """
    if model.matrix is not None:
        channel = read_channel(folder / model.matrix)
        missing = [answer for answer in answers.labels if answer not in channel.inputs]
        if missing or len(channel.inputs) != len(answers.labels):
            what = f"no row for {missing[0]!r}" if missing else f"{len(channel.inputs)} rows"
            raise FileError(
                f"matrix: {model.matrix} has {what}; it needs one row for each of the "
                f"{len(answers.labels)} answers of the query"
            )
        return channel, model.eps
    if model.kind == "metric-channel":
        return mechanisms.metric_channel(answers.metric), 1.0
    alpha = None if eps is not None else model.alpha
    eps = model.eps if eps is None and alpha is None else eps
    return _family(model, answers, query, eps, alpha)


def _family(
    model: MechanismModel, answers: Answers, query: Query, eps: float | None, alpha: Any
) -> tuple[Channel, float | None]:
    claimed = privacy(eps, alpha).eps
    if model.kind in ("geometric", "truncated-geometric"):
        points = _numbers(answers.labels, model.kind)
        sensitivity = query.sensitivity(answers.policy)
        unit = None if eps is None else eps / (sensitivity or 1.0)
        make = mechanisms.geometric if model.kind == "geometric" else mechanisms.truncated_geometric
        channel = make(points=points, eps=unit, alpha=alpha, outputs=model.outputs)
        return channel, claimed if alpha is None else claimed * sensitivity
    if model.kind == "randomised-response":
        return mechanisms.randomised_response(answers.labels, eps, alpha=alpha), claimed
    if model.kind == "exponential":
        return mechanisms.exponential(answers.metric, eps, model.level or "nominal", alpha=alpha), claimed
    return mechanisms.tight_constraints(answers.metric, eps, alpha=alpha), claimed


def _numbers(labels: Labels, kind: str | None) -> list[Any]:
    for answer in labels:
        if not isinstance(answer, int | float):
            raise FileError(
                f"{kind} noise needs numbers but an answer is {answer!r}; "
                "use exponential or randomised-response"
            )
    return list(labels)


def build_prior(given: str | list[float], labels: Labels, folder: Path) -> NDArray[Any]:
    """A prior over labels: "uniform", a list, or a public CSV of label and weight."""
    if given == "uniform":
        return as_prior(None, len(labels))
    if isinstance(given, list):
        return as_prior(given, len(labels))
    header, rows = rows_of(folder / given)
    if len(header) < 2:
        raise FileError(f"{given}: needs a label and a weight in each row")
    return from_counts({_cell(row[0]): _coordinate(row, header, 1, given) for row in rows}, labels)


def inputs_metric(answers: Answers) -> Metric:
    """Distance in which guesses are judged: |y - y'| for numbers, else the policy's own distance."""
    if all(isinstance(answer, int | float) for answer in answers.labels):
        return metrics.line(list(answers.labels))  # type: ignore[arg-type]
    return answers.metric


def build_gain(model: str | GainModel, labels: Labels, distance: Metric, folder: Path) -> Adversary:
    """One of [adversary].gains, over the channel's inputs."""
    if isinstance(model, str):
        return _named_gain(model, labels, distance)
    built = _parametrised_gain(model, labels, distance, folder)
    return built.relabelled(model.name) if model.name else built


def _named_gain(name: str, labels: Labels, distance: Metric) -> Adversary:
    if name == "closeness":
        return gains.closeness(distance)
    if name == "identity":
        return gains.identity(labels)
    make: Callable[[Labels], Adversary] = getattr(losses, name.replace("-", "_"))
    return make(labels)


def _parametrised_gain(model: GainModel, labels: Labels, distance: Metric, folder: Path) -> Adversary:
    if model.tries is not None:
        return gains.tries(labels, model.tries)
    if model.within is not None:
        return gains.within(distance, model.within)
    if model.partition is not None:
        return gains.partition(model.partition, labels)
    if model.property is not None:
        return gains.property(labels, [label(value) for value in model.property])
    assert model.matrix is not None
    header, rows = rows_of(folder / model.matrix)
    columns = [_column([str(_cell(name)) for name in header], str(item), model.matrix) for item in labels]
    return gains.matrix(
        [[str(row[c]).strip() for c in columns] for row in rows], [_cell(row[0]) for row in rows]
    )
