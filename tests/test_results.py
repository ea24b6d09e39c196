"""Results as data: numbers are numbers, and what is exact is said beside them."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import sievert as sv
from sievert.results import Result, exact_texts


@dataclass(frozen=True)
class Sample(Result):
    value: Any
    exact: Any = None


def test_fractions_are_floats_with_an_exact_text_beside_them() -> None:
    assert Sample(Fraction(1, 3)).to_dict() == {"value": 1 / 3, "value_exact": "1/3", "exact": None}
    assert Sample(0.5).to_dict() == {"value": 0.5, "exact": None}
    assert Sample(0.5, exact=Fraction(3)).to_dict() == {"value": 0.5, "exact": "3"}
    prior = np.array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    assert Sample(prior).to_dict()["value"] == [0.5, 0.5]
    assert Sample(prior).to_dict()["value_exact"] == ["1/2", "1/2"]
    assert Sample(Fraction(10) ** 400).to_dict()["value"] == "inf"


def test_labels_are_not_taken_for_exact_numbers() -> None:
    assert "value_exact" not in Sample((1, 2)).to_dict()
    assert "value_exact" not in Sample(("a", Fraction(1, 2))).to_dict()
    assert exact_texts([]) is None
    assert exact_texts(np.ones(2)) is None


def test_leakage_in_json_is_all_numbers() -> None:
    survey = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
    data = json.loads(json.dumps(sv.leakage(survey).to_dict()))
    for name in ("prior", "posterior", "factor", "difference", "bits"):
        assert isinstance(data[name], float)
    assert data["posterior_exact"] == "3/4"
    assert sv.epsilon(survey, sv.Policy.local(["yes", "no"])).to_dict()["exact"] == "3"


def test_tables_escape_labels() -> None:
    wild = sv.Channel([[1, 0], [0, 1]], inputs=["<b>", "&"], outputs=["<script>", "x"])
    page = wild._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page
    assert "<script>" not in sv.leakage(wild, gain=sv.gains.identity(["<b>", "&"]))._repr_html_()
