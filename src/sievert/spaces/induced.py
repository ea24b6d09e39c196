"""What answers inherit when the databases are listed: adjacency, and one record given the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.errors import TooLargeError
from sievert.spaces.database_graph import DatabaseGraph
from sievert.spaces.databases import Databases
from sievert.spaces.metric import Edges

__all__ = ["contexts_of", "edges_of_answers"]

IndexArray = NDArray[np.intp]

# Pairs of answers up to which "seen or not" is a table of booleans.
LARGEST_TABLE = 50_000_000
LARGEST_CONTEXTS = 20_000_000


def edges_of_answers(graph: DatabaseGraph, answer_of: IndexArray, answers: int) -> Edges:
    """Pairs of different answers that adjacent databases have (Alvim et al., Def 25), all of length 1."""
    seen = np.zeros(answers**2, dtype=bool) if answers**2 <= LARGEST_TABLE else None
    codes = [np.empty(0, dtype=np.int64)]
    for first, last in graph.row_blocks():
        rows = np.repeat(answer_of[first:last], np.diff(graph.starts[first : last + 1]))
        columns = answer_of[graph.ends[graph.starts[first] : graph.starts[last]]]
        apart = rows < columns
        found = rows[apart].astype(np.int64) * answers + columns[apart]
        if seen is not None:
            seen[found] = True
        else:
            codes.append(_distinct(found))
    distinct = _distinct(np.concatenate(codes)) if seen is None else np.flatnonzero(seen)
    pairs = np.column_stack([distinct // answers, distinct % answers]).astype(np.intp)
    return Edges(pairs, np.ones(len(pairs)))


def contexts_of(databases: Databases, answer_of: IndexArray) -> IndexArray:
    """[others, values]: the answer when the others are fixed and one record takes each of its values.

    Each distinct situation once; -1 where a value is not permitted with the others.
    """
    values = len(databases.values)
    if len(databases) * values > LARGEST_CONTEXTS:
        raise TooLargeError(
            f"{len(databases)} databases have up to {len(databases) * values} pairs of a situation of the "
            f"others and a value; at most {LARGEST_CONTEXTS} are listed; coarsen the values",
            size=len(databases) * values,
        )
    tables = [_contexts_of_record(databases, record, answer_of) for record in range(databases.records)]
    return np.unique(np.concatenate(tables), axis=0)


def _contexts_of_record(databases: Databases, record: int, answer_of: IndexArray) -> IndexArray:
    rows = databases.rows
    others = np.delete(rows, record, axis=1)
    order = np.lexsort(others.T[::-1]) if others.shape[1] else np.arange(len(rows))
    ordered = others[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    situation = np.cumsum(new) - 1
    table = np.full((int(situation[-1]) + 1, len(databases.values)), -1, dtype=np.intp)
    table[situation, rows[order, record]] = answer_of[order]
    return np.unique(table, axis=0)


def _distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(codes)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
