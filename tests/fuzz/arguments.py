"""Which calls are tried: every public function with arguments that it accepts, as Python expressions.

The table is calls.toml; "*" stands for a list of arguments without a name. A public function for which it has
no valid arguments fails the suite, so a new one must join. Expressions are evaluated anew for every call, and
print as a reproduction.
"""

from __future__ import annotations

import collections
import datetime
import inspect
import itertools
import math
import tomllib
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import sievert as sv
from sievert.results import Result

Call = dict[str, str]

HERE = Path(__file__).resolve().parent
TABLE = tomllib.loads((HERE / "calls.toml").read_text(encoding="utf-8"))

# Classes that people make themselves: their public methods are tried too, on this object.
SUBJECTS = {
    "Channel": "rr",
    "Metric": "line",
    "Graph": "sv.graphs.path(3)",
    "secrets.SecretGraph": "sv.secrets.line(3)",
    "Policy": "two_records",
    "Query": "sv.Query.sum()",
    "results.Hyper": "rr.hyper([.5, .3, .2])",
    "protocols.ResponseProtocol": "sv.protocols.randomised_response(3, 1.0)",
    "protocols.UnaryEncoding": "sv.protocols.unary(3, 1.0)",
    "protocols.LocalHashing": "sv.protocols.local_hashing(3, 1.0)",
}

# Public, and nothing to call with arguments of one's own.
EXEMPT = {
    "Channel.trusted": "takes its rows on trust",
    "Channel.is_rule_beyond": "asked by measures of ours",
    "Channel.output_probabilities": "asked by measures of ours, with a checked prior",
    "Channel.smallest_epsilon": "asked by sv.epsilon, with a metric on the inputs",
    "Channel.witness": "asked by sv.epsilon, with positions",
    "continuous.Density": "made by Density.uniform, beta, …",
    "Query": "made by Query.sum, count, …",
    "plots.noise_beside": "takes a region of a file",
    "plots.place_densities": "takes a region of a file",
    "Proof": "the base of the proofs",
    "constraints.Constraint": "the base of the rules",
    "protocols.Protocol": "the base of the protocols",
    "sampling.BitSource": "the base of the sources of bits",
    "sampling.NoiseSampler": "the base of the samplers",
    "sampling.Sampler": "the base of the samplers",
    "adversaries.AdversaryClass": "made by the other functions of adversaries",
    "protocols.HashedReports": "made by LocalHashing.privatise",
    "protocols.LimitedReports": "made by LocalHashing.privatise",
    "Metric.from_edges": "takes edges of ours",
    "Policy.require_enumerable": "a guard of ours",
    "testing.TextbookLaplace": "shows an attack; not for use",
    "testing.float_support_attack": "shows an attack; not for use",
    "testing.hull_distance": "research code that a page shows",
    "testing.project": "research code that a page shows",
    "vectors.foursquare": "needs a package that carries the visits",
    "vectors.movielens": "needs a package that carries the ratings",
    "text.presidents": "takes nothing; needs the messages of an extra",
    "vectors.Codes": "made by Codes.of, hashes and mechanisms",
    "vectors.HashFamily": "the base of the hashes of a file",
    "vectors.HashIdentity": "made by a hash",
    "vectors.LaplaceHash": "made by a file",
    "vectors.LocalityHash": "the base of the hashes",
    "vectors.NoisyHash": "made by a file",
    "vectors.SoftSigns": "made by a file",
    "vectors.VectorFamily": "the base of the mechanisms of a file",
    "vectors.VectorMechanism": "the base of the mechanisms",
}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class that people make, and public method of such a class, by its name."""
    for name in sorted(sv.__all__):
        item = getattr(sv, name)
        if isinstance(item, types.ModuleType):
            if name not in ("errors", "results"):
                yield from _members(name, item)
        elif _is_tried(name, item):
            yield name, item
    for name, subject in SUBJECTS.items():
        yield from _methods(name, subject)


def _members(space: str, module: types.ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in module.__all__:
        item = getattr(module, name)
        if _is_tried(f"{space}.{name}", item):
            yield f"{space}.{name}", item


def _is_tried(name: str, item: Any) -> bool:
    if not callable(item) or name in EXEMPT:
        return False
    made_by_us = inspect.isclass(item) and issubclass(item, (Result, Exception))
    return not made_by_us


def _methods(name: str, subject: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    kind = _attribute(name)
    target = evaluate(subject)
    for method, _ in inspect.getmembers(kind, callable):
        if method.startswith("_") or f"{name}.{method}" in EXEMPT:
            continue
        bound = getattr(target, method)
        if inspect.signature(bound).parameters:
            yield f"{name}.{method}", bound


def _attribute(name: str) -> Any:
    found: Any = sv
    for part in name.split("."):
        found = getattr(found, part)
    return found


def calls(name: str, function: Callable[..., Any]) -> list[Call]:
    """Valid arguments of a function; each a way to call it."""
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    ways = []
    for way in TABLE["calls"].get(name, [{}]):
        full = {p.name: TABLE["by_name"][p.name] for p in named if p.name in TABLE["by_name"]} | way
        ways.append({key: text for key, text in full.items() if text != "DEFAULT"})
    return ways


def missing(function: Callable[..., Any], call: Call) -> list[str]:
    """Parameters that must be given and are not."""
    return [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in call
    ]


def evaluate(expression: str) -> Any:
    """The value of an expression of the table or of the hostile ones."""
    return eval(expression, scope())


def scope() -> dict[str, Any]:
    """What expressions may name; made anew, so that no call can spoil the next one's arguments."""
    rr = sv.mechanisms.randomised_response(3, 1.0)
    two_records = sv.Policy.differential(2, 2)
    return {
        "sv": sv, "np": np, "pd": pd, "pl": pl, "pa": pa, "sparse": sparse, "math": math,
        "datetime": datetime, "itertools": itertools, "collections": collections,
        "Decimal": Decimal, "Fraction": Fraction, "Path": Path, "nan": math.nan, "inf": math.inf,
        "rr": rr, "line": sv.metrics.line(3), "two_records": two_records, "here": Path.cwd(),
        "example": Path("example.toml"), "nested": nested, "recursive": recursive, "readonly": readonly,
        "laplace_measurement": laplace_measurement, "dp_event": _event(), "automorphisms": automorphisms,
        "sums": _sums(), "counts_noise": _counts_noise(two_records),
    }  # fmt: skip


def _sums() -> sv.Channel:
    """Noise on the sum of two bits, an answer of `two_records`."""
    return sv.mechanisms.truncated_geometric(3, 1.0)


def _counts_noise(policy: sv.Policy) -> Any:
    """Noise in the cells of a histogram, as the channel of a file has it."""
    from sievert.channels import EpsilonOrAlpha, GeometricLaw, HistogramNoise

    return HistogramNoise(sv.Query.histogram().statistic(policy), GeometricLaw(EpsilonOrAlpha(0.5, None)))


def _event() -> Any:
    from dp_accounting import dp_event

    return dp_event


def laplace_measurement() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    return space >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)


def automorphisms(graph: Any) -> Any:
    from sievert.spaces import automorphisms as found

    return found(graph)


def nested(depth: int) -> list[Any]:
    found: list[Any] = [1.0]
    for _ in range(depth):
        found = [found]
    return found


def recursive() -> list[Any]:
    found: list[Any] = [0.5]
    found.append(found)
    return found


def readonly(array: Any) -> Any:
    array.flags.writeable = False
    return array
