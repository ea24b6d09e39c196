"""Every public function says what it takes, what it gives, what it costs, and shows it.

A docstring has the sections Parameters (every parameter is named), Returns, Notes with a line that begins
with "Cost:", and Examples, which run as doctests; one that names a theorem has it under References. A class
that people make has Parameters and Examples; errors, results and bases say what they are.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import sievert as sv

SECTION = re.compile(r"^([A-Z][a-z]+)\n-{3,}$", re.MULTILINE)
THEOREM = re.compile(r"\b(?:Thm|Prop|Lem|Cor|Def|Alg)s? \d")
# Documented by their modules: classes of errors and of results.
LISTS = ("errors", "results")
# Made by functions, or bases of what people use.
BASES = {
    "Proof", "SievertError", "adversaries.AdversaryClass", "constraints.Constraint", "continuous.Density",
    "lattice.NoBoundError",
    "protocols.HashedReports", "protocols.LimitedReports", "protocols.LocalHashing", "protocols.Protocol",
    "protocols.ResponseProtocol", "protocols.UnaryEncoding", "sampling.BitSource", "sampling.NoiseSampler",
    "sampling.OperatingSystemBits", "sampling.Sampler", "testing.TextbookLaplace",
}  # fmt: skip
# Not complete yet.
PENDING: tuple[str, ...] = ()


def public() -> Iterator[tuple[str, Any]]:
    for name in sv.__all__:
        item = getattr(sv, name)
        if not isinstance(item, ModuleType):
            yield name, item
        elif name not in LISTS:
            for part in item.__all__:
                if callable(getattr(item, part)):
                    yield f"{name}.{part}", getattr(item, part)


ITEMS = [(name, item) for name, item in public() if name.partition(".")[0] not in PENDING]
FUNCTIONS = [pytest.param(item, id=name) for name, item in ITEMS if not inspect.isclass(item)]
CLASSES = [pytest.param(item, id=name) for name, item in ITEMS if inspect.isclass(item) and name not in BASES]


def sections(item: Any) -> dict[str, str]:
    parts = SECTION.split(inspect.getdoc(item) or "")
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_is_documented_in_full(function: Any) -> None:
    found = sections(function)
    parameters = [name for name in inspect.signature(function).parameters]
    assert found[""].strip().partition("\n")[0].endswith((".", ":", "?", ";"))
    assert set(found) >= {"Returns", "Notes", "Examples"} | ({"Parameters"} if parameters else set())
    named = re.findall(r"^(\S.*?)(?: :|$)", found.get("Parameters", ""), re.MULTILINE)
    listed = {name.strip("*") for line in named for name in line.split(", ")}
    assert set(parameters) - listed == set()
    assert re.search(r"^Cost: ", found["Notes"], re.MULTILINE)
    assert ">>> " in found["Examples"]


@pytest.mark.parametrize("item", CLASSES)
def test_a_class_says_how_it_is_made(item: Any) -> None:
    found = sections(item)
    assert ">>> " in found["Examples"]
    assert "Parameters" in found or "Attributes" in found


@pytest.mark.parametrize("item", [pytest.param(item, id=name) for name, item in ITEMS])
def test_a_theorem_that_is_named_has_its_reference(item: Any) -> None:
    found = sections(item)
    if THEOREM.search("".join(text for name, text in found.items() if name != "Examples")):
        assert "References" in found
    assert [name for name in found if found[name].strip() == ""] == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_class_of_a_result_is_the_one_documented(function: Any) -> None:
    documented = re.search(r"Returns\n-+\n(\w+)\n", inspect.getdoc(function) or "")
    annotated = str(inspect.signature(function).return_annotation)
    if documented is not None and documented[1] in dir(sv.results):
        assert documented[1] in re.findall(r"\w+", annotated)
