"""No result and no number that a function returns is NaN: one guard, at the exit of all."""

import dataclasses
import inspect
import re
import sys
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert import results
from sievert.errors import NotANumberError

sys.path.insert(0, str(Path(__file__).with_name("fuzz")))
from arguments import public

# What is no answer about leakage: rows and products of a channel, distances that were given, drawings.
NO_BOUND = {"Channel.matvec", "Channel.rmatvec", "Channel.row", "Metric.distance", "Policy.distance",
            "Query.sensitivity", "plots.long_run", "protocols.LocalHashing.variances",
            "protocols.ResponseProtocol.variances", "protocols.UnaryEncoding.variances"}  # fmt: skip
RESULTS = [
    found
    for name in results.HOMES
    if issubclass(found := getattr(results, name), results.Result) and dataclasses.is_dataclass(found)
]
NANS: list[Any] = [
    float("nan"), np.float64("nan"), np.array([[1.0, np.nan]]), np.array([0.5, np.nan], dtype=object),
    (1.0, [float("nan")]), {"a": float("nan")}, np.array([np.inf, -np.inf, np.nan]),
    {float("nan"): 1}, MappingProxyType({"a": [float("nan")]}), complex(0, float("nan")), Decimal("nan"),
    np.array(np.nan), np.float32("nan"), np.longdouble("nan"), [{"a": (np.array([[np.nan]]),)}],
]  # fmt: skip


def _holding(kind: type[Any], field: str, value: Any) -> None:
    fields = {item.name: None for item in dataclasses.fields(kind) if item.init}
    kind(**(fields | {field: value}))


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_no_class_of_results_takes_nan_in_any_field(kind: type[Any]) -> None:
    for field in dataclasses.fields(kind):
        if field.init:
            for value in NANS:
                with pytest.raises(NotANumberError, match=rf"{kind.__name__}\.{field.name}"):
                    _holding(kind, field.name, value)


def test_infinities_are_numbers() -> None:
    _holding(RESULTS[0], dataclasses.fields(RESULTS[0])[0].name, np.array([np.inf, -np.inf]))


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_methods_of_results_that_return_numbers_are_guarded(kind: type[Any]) -> None:
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if name.startswith("_") or not issubclass(base, results.Result):
                continue
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function):
                returned = str(function.__annotations__.get("return", ""))
                assert returned.startswith(results.NUMERIC) == hasattr(function, "guarded"), (kind, name)
                holds_numbers = re.search(r"float|Fraction|Number|ObjectArray|NDArray\[Any\]", returned)
                assert not holds_numbers or hasattr(function, "guarded"), (kind, name, returned)


def test_public_functions_that_return_numbers_are_guarded() -> None:
    for name, function in public():
        returned = str(inspect.signature(function).return_annotation)
        if returned.startswith(("float", "FloatArray", "Fraction")) and name not in NO_BOUND:
            assert hasattr(function, "guarded"), name


def test_the_error_names_the_quantity() -> None:
    @results.guarded
    def entropy() -> float:
        return float("nan")

    with pytest.raises(sv.SievertError, match="entropy is not a number") as caught:
        entropy()
    assert isinstance(caught.value, NotANumberError)
    assert caught.value.quantity.endswith("entropy")
