"""The public face: every name of the design loads lazily, and importing costs next to nothing."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

import sievert as sv
from sievert.results import Result

TOP = [
    "Channel", "Metric", "Graph", "Policy", "Query", "Proof", "SievertError",
    "load", "save", "audit", "explain", "verify",
    "epsilon", "is_private", "distinguishability",
    "vulnerability", "posterior_vulnerability", "leakage", "record_leakage", "capacity",
    "breaches", "success_probability", "query_budget",
    "worst_leakage", "largest_epsilon", "weakest_claim",
    "audit_mechanism", "audit_samples", "bayes_risk",
    "refines", "compare", "threshold", "deficiency",
    "optimal_mechanism", "is_optimal", "is_universally_optimal", "candidates", "frontier", "remap",
    "estimate", "estimate_mean", "identifiability", "kantorovich",
    "uniform",
]  # fmt: skip
NAMESPACES = [
    "adapters", "adversaries", "bounds", "constraints", "continuous", "design", "divergences", "errors",
    "estimation", "gains", "geometry", "graphs", "inference", "information", "lattice", "losses",
    "mechanisms", "metrics", "observations", "plots", "priors", "promises", "protocols", "release", "results",
    "sampling", "secrets", "symmetries", "testing", "text", "transformations",
    "vectors",
]  # fmt: skip


def test_the_door_is_small() -> None:
    assert len(TOP) <= 45
    assert sorted(sv.__all__) == sorted(TOP + NAMESPACES)
    assert sorted(dir(sv)) == sorted(sv.__all__)
    assert [name for name in NAMESPACES if not isinstance(getattr(sv, name), ModuleType)] == []
    assert [name for name in TOP if isinstance(getattr(sv, name), ModuleType)] == []


def test_the_questions_of_the_readme_name_the_whole_top() -> None:
    questions = Path("README.md").read_text(encoding="utf-8").partition("## Questions")[2].partition("## ")[0]
    assert [name for name in TOP if f"`sv.{name}`" not in questions] == []
    named = set(re.findall(r"`sv\.(\w+)", questions))
    assert named <= {*TOP, *NAMESPACES}


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_shows_its_public_names_only(name: str) -> None:
    space = getattr(sv, name)
    assert sorted(dir(space)) == sorted(space.__all__)
    for item in space.__all__:
        value = getattr(space, item)
        assert not item.startswith("_")
        assert not isinstance(value, ModuleType) or name == "sampling"
        if name != "results":
            assert not (inspect.isclass(value) and issubclass(value, Result)), item


def test_a_thing_has_one_public_name() -> None:
    """But for the base of all errors, and the prior that everybody uses."""
    seen: dict[int, str] = {
        id(getattr(sv, name)): name for name in TOP if name not in ("SievertError", "uniform")
    }
    for name in NAMESPACES:
        for item in getattr(sv, name).__all__:
            value = getattr(getattr(sv, name), item)
            if callable(value):
                assert seen.setdefault(id(value), f"{name}.{item}") == f"{name}.{item}"


def public_functions() -> Iterator[Any]:
    for owner in (sv, *(getattr(sv, name) for name in NAMESPACES if name not in ("plots", "testing"))):
        yield from (
            getattr(owner, name) for name in owner.__all__ if inspect.isfunction(getattr(owner, name))
        )


def test_whatever_a_public_function_returns_is_among_the_results() -> None:
    listed = {getattr(sv.results, name) for name in sv.results.__all__}
    missing = set()
    for function in public_functions():
        given = get_type_hints(function, vars(sys.modules[function.__module__])).get("return")
        for kind in (given, *get_args(given)):
            if inspect.isclass(kind) and issubclass(kind, Result) and kind not in listed:
                missing.add(f"{function.__module__}.{function.__name__}: {kind.__name__}")
    assert missing == set()


def test_a_name_that_is_no_result_is_refused() -> None:
    with pytest.raises(AttributeError, match="Rezult"):
        sv.results.Rezult  # type: ignore[attr-defined]  # noqa: B018


def test_every_public_name_loads() -> None:
    for name in sv.__all__:
        assert getattr(sv, name) is not None
    assert set(sv.__all__) <= set(dir(sv))


def test_import_loads_no_numerics() -> None:
    code = "import sys, sievert; print([m for m in ('numpy', 'plotly', 'pydantic') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_leakage_shows_its_parameters() -> None:
    parameters = list(inspect.signature(sv.leakage).parameters)
    assert parameters == ["channel", "prior", "gain", "kind", "case"]
    assert "How much a release helps an adversary" in (inspect.getdoc(sv.leakage) or "")


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("entropy", ["sv.information.entropy"]),
        ("composed_claim", ["sv.promises.composed_claim"]),
        ("loss_curve", ["sv.observations.loss_curve", "sv.vectors.loss_curve"]),
        ("Verdict", ["sv.results.Verdict"]),
        ("survey_correlation", ["sv.inference.survey_correlation"]),
        ("laplace_radius", ["sv.sampling.laplace_radius"]),
    ],
)
def test_a_name_of_a_topic_is_pointed_to(name: str, places: list[str]) -> None:
    with pytest.raises(AttributeError) as found:
        getattr(sv, name)
    assert all(place in str(found.value) for place in places)
    for place in places:
        topic = place.split(".")[1]
        assert getattr(getattr(sv, topic), name) is not None


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    with pytest.raises(AttributeError, match=r"did you mean sv\.capacity\?"):
        sv.capacty  # noqa: B018
    assert not hasattr(sv, "__wrapped__")
