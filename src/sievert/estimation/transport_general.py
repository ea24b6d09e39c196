"""Optimal transport under any finite distances: the network simplex, or a linear program without numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from sievert.numerics.linear_programs import LinearProgram, solved

__all__ = ["between"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Moves = tuple[IndexArray, IndexArray, FloatArray]


def between(cost: FloatArray, supply: FloatArray, demand: FloatArray) -> tuple[Moves, FloatArray]:
    """The cheapest way from supplies to demands of the same total: (source, sink, mass) and a price of
    each sink.

    No source i has price_i > price_j + cost_ij, where price_i = min_j price_j + cost_ij: the dual optimum.
    """
    from sievert.estimation.transport_kernels import COMPILED

    demand = demand * (supply.sum() / demand.sum())
    if COMPILED:
        return _simplex(np.ascontiguousarray(cost), supply, demand)
    return _program(cost, supply, demand)


def _simplex(cost: FloatArray, supply: FloatArray, demand: FloatArray) -> tuple[Moves, FloatArray]:
    from sievert.estimation.transport_kernels import network_simplex

    sources = len(supply)
    most = 1000 * (sources + len(demand)) + 100_000
    flow, parent, _, potential, _ = network_simplex(cost, supply, demand, most)
    root = sources + len(demand)
    nodes = np.flatnonzero((parent[:root] != root) & (flow[:root] > 0))
    above = parent[nodes]
    is_source = nodes < sources
    tails, heads = np.where(is_source, nodes, above), np.where(is_source, above, nodes) - sources
    return (tails.astype(np.intp), heads.astype(np.intp), flow[nodes]), -potential[sources:root]


def _program(cost: FloatArray, supply: FloatArray, demand: FloatArray) -> tuple[Moves, FloatArray]:
    sources, sinks = cost.shape
    tails, heads = np.divmod(np.arange(sources * sinks), sinks)
    ones = np.ones(len(tails))
    columns = np.arange(len(tails))
    matrix = csc_array(
        coo_array(
            (np.concatenate([ones, ones]), (np.concatenate([tails, sources + heads]), np.tile(columns, 2))),
            shape=(sources + sinks, len(tails)),
        )
    )
    limits = np.concatenate([supply, demand])
    free = np.full(len(tails), np.inf)
    found = solved(LinearProgram(cost.ravel(), matrix, limits, limits, np.zeros(len(tails)), free))
    used = np.flatnonzero(found.primal > 0)
    return (tails[used], heads[used], found.primal[used]), -found.dual[sources:]
