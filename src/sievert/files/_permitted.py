"""Public knowledge from the file: `permitted` of [policy] as constraints."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sievert.constraints import Constraint
from sievert.constraints import _knowledge as constraints
from sievert.errors import FileError
from sievert.files._document import PermittedModel
from sievert.numerics import brief, did_you_mean
from sievert.policies import Policy
from sievert.spaces import KnownLabels, Labels, shown
from sievert.tables import existing, read_table

__all__ = ["build_permitted"]


def build_permitted(
    models: PermittedModel | list[PermittedModel], policy: Policy, folder: Path
) -> list[Constraint]:
    """Every constraint of `permitted`; values are named by their text, as elsewhere in the file."""
    tables = models if isinstance(models, list) else [models]
    if not tables:
        raise FileError("permitted is an empty list; leave it out when nothing is known")
    return [constraint for table in tables for constraint in _constraints(table, policy, folder)]


def _constraints(model: PermittedModel, policy: Policy, folder: Path) -> list[Constraint]:
    found = []
    if model.total is not None:
        weights: Any = model.weights
        if isinstance(weights, dict):
            weights = _named(weights, policy.values, "permitted.weights")
        found.append(constraints.total(model.total, weights))
    if model.histogram is not None:
        found.append(constraints.histogram(_named(model.histogram, policy.values, "permitted.histogram")))
    if model.counts is not None:
        labels = policy.values if model.attribute is None else _attribute(policy.values, model.attribute)
        counts = _named(model.counts, labels, "permitted.counts")
        found.append(constraints.marginals(counts, model.attribute))
    if model.databases is not None:
        found.append(constraints.listed(_databases(model.databases, policy, folder)))
    return found


def _named(given: Mapping[str, Any], labels: Labels, key: str) -> dict[Hashable, Any]:
    """The mapping with the labels that its keys, texts in TOML, stand for."""
    known = KnownLabels(labels)
    result: dict[Hashable, Any] = {}
    for text, value in given.items():
        item = known.find(text)
        if item is None:
            raise FileError(f"{key}: {brief(text)} is not one of {shown(labels)}{did_you_mean(text, labels)}")
        if item in result:
            raise FileError(f"{key}: {brief(item)} is there twice")
        result[item] = value
    return result


def _attribute(values: Iterable[Hashable], attribute: int) -> Labels:
    for value in values:
        if not isinstance(value, tuple) or attribute >= len(value):
            raise FileError(
                f"permitted.attribute is {attribute} but the value {value!r} has no such part; values with "
                "attributes are lists, and attributes are numbered from 0"
            )
    return tuple(dict.fromkeys(value[attribute] for value in values))  # type: ignore[index]


def _databases(file: str, policy: Policy, folder: Path) -> list[tuple[Hashable, ...]]:
    existing(folder / file, "; paths in the file are relative to its own folder")
    table = read_table(folder / file)
    if len(table.header) != policy.records:
        raise FileError(
            f"{file}: has {len(table.header)} columns but a database has {policy.records} records; give a "
            "row for each permitted database with a value for each record"
        )
    known = KnownLabels(policy.values)
    rows = []
    for number, row in enumerate(table.rows, start=2):
        values = tuple(known.find(cell) for cell in row)
        if None in values:
            unknown = row[values.index(None)]
            raise FileError(f"{file}, line {number}: {brief(unknown)} is not one of {shown(policy.values)}")
        rows.append(values)
    return rows
