"""The parts about what must stay hidden: the secret graph, drawn with its edges, and places on a map."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from sievert.policies import Policy
from sievert.report import PageTable, Picture, graph_places, places_picture, plots
from sievert.spaces import Metric
from sievert.spaces.secrets import SecretGraph
from sievert.studio._payload import Shown, drawn, refused
from sievert.studio._validated_file import ValidatedFile

__all__ = ["places", "secrets"]

# Values of a graph that somebody can read and edit.
LARGEST_GRAPH = 60


def secrets(case: ValidatedFile, settings: Mapping[str, Any]) -> Shown:
    """Which values must not be told apart."""
    policy = case.of_records.policy
    graph = policy.secrets
    if isinstance(graph, Metric):
        nearest = "Look at the places." if case.of_records.region is not None else "Ask what can be guessed."
        return refused(f"There is no graph: {policy.describe()}", nearest)
    if _unread(graph):
        return refused(
            f"A graph of {graph.size} values cannot be read; at most {LARGEST_GRAPH} are drawn.",
            "Ask what can be guessed.",
        )
    return _graph(case, policy, graph)


def _unread(graph: SecretGraph | Metric) -> bool:
    """Whether there is no graph that somebody can read."""
    return isinstance(graph, Metric) or graph.size > LARGEST_GRAPH


def _graph(case: ValidatedFile, policy: Policy, graph: SecretGraph) -> Shown:
    pair = case.of_records.epsilon.pair if case.of_records.document.mechanism is not None else None
    shown = pair if pair is not None and all(value in graph.position for value in pair) else None
    marked = "" if shown is None else " The red line joins the two that are easiest to tell apart."
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2).tolist()
    names = [_as_written(node) for node in graph.nodes]
    rows = [(_word(graph.nodes[first]), _word(graph.nodes[second])) for first, second in edges]
    caption = f"Two values that are joined must not be told apart.{marked}"
    figure, spots = plots.policy_graph(graph, witness=shown), graph_places(graph)
    table = PageTable("Pairs that must not be told apart", ("value", "and"), rows)
    return {
        "sentence": f"{policy.describe()} {len(edges)} pairs are joined.",
        **drawn(Picture("What must not be told apart", caption, figure), table),
        "graph": {
            "nodes": [{"name": name, "x": x, "y": y} for name, (x, y) in zip(names, spots, strict=True)],
            "edges": edges,
            "editable": graph.absent is None and all(name is not None for name in names),
            "path": ["policy", "secrets"],
        },
    }


def _as_written(node: Hashable) -> Any:
    """A value as the file has it."""
    if isinstance(node, tuple):
        return list(node)
    return node if isinstance(node, str | int | float) else str(node)


def _word(node: Hashable) -> str:
    return ", ".join(map(str, node)) if isinstance(node, tuple) else str(node)


def places(case: ValidatedFile, settings: Mapping[str, Any]) -> Shown:
    """The rectangle of the region, with what is believed about where people are."""
    scenario = case.of_records
    region = scenario.region
    if region is None:
        nearest = "Ask what can be guessed." if _unread(scenario.policy.secrets) else "Look at the secrets."
        return refused("The policy is not about places on a map: it has no region.", nearest)
    rows, columns = region.shape
    wide, high = columns * region.cell / 1000, rows * region.cell / 1000
    belief = scenario.stated_record_prior
    shares = None if belief is None else np.asarray(scenario.record_prior, dtype=np.float64)
    picture = places_picture(region, shares)
    sides = {name: getattr(region, name) for name in ("south", "west", "north", "east", "cell")}
    facts = [(name, f"{value:g}", "m" if name == "cell" else "°") for name, value in sides.items()]
    return {
        "sentence": (
            f"{rows * columns:,} cells of {region.cell:g} m cover {wide:.4g} km from west to east and "
            f"{high:.4g} km from south to north."
        ),
        **drawn(picture),
        "facts": [dict(zip(("name", "value", "unit"), fact, strict=True)) for fact in facts],
        "region": {**sides, "path": ["policy", "secrets", "region"]},
    }
