"""Arguments that the fuzz suite found: each is refused in a sentence, before any work."""

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GeometricLaw, HistogramNoise
from sievert.numerics import exp_enclosure

LINE = sv.metrics.line(3)
LETTERS = sv.metrics.discrete(["a", "b", "c"])
PAIRS = sv.inference.Correlation([[0.3, 0.1, 0.1], [0.1, 0.2, 0.2]])
PLANES = sv.vectors.HyperplaneLSH(3, 2, 7)
CODES = [[1, 0, 1], [0, 0, 1], [1, 1, 1]]
PLACES = sv.text.Embedding(["sea", "lake", "car", "road"], [[0, 0], [0, 1], [5, 0], [5, 1]])
TEXTS = sv.text.Corpus({"ann": "sea lake", "bob": "car road"}, {"ann": "sea", "bob": "car"})
TWO = sv.Policy.differential(2, 2)
TABLE_NOISE = HistogramNoise(sv.Query.histogram().statistic(TWO), GeometricLaw(EpsilonOrAlpha(0.5, None)))


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


HOSTILE: dict[str, Callable[[], Any]] = {
    "function": lambda: sv.continuous.induced_metric(LETTERS, lambda x: x > 0),
    "device": lambda: sv.optimal_mechanism(LINE, alpha="1/2", device=1 + 2j),
    "device is": lambda: sv.candidates(LINE, alpha="1/2", device=Ellipsis),
    "rng": lambda: sv.vectors.reidentification(CODES, 1.0, rng=np.eye(3) * 1j),
    "draws": lambda: sv.vectors.reidentification(CODES, 1.0, draws=object()),
    "draws is": lambda: sv.vectors.reidentification_of_chances([[0.2, 0.8], [0.6, 0.4]], draws=float("nan")),
    "finer grid": lambda: sv.continuous.lifted(sv.continuous.grid_geometric(2, 1), 10**6),
    "limits": lambda: sv.inference.frontier(PAIRS, -(10**400), eps=1.0),
    "give probabilities": lambda: sv.inference.frontier(PAIRS, "1e400", eps=1.0),
    "move_by has shape": lambda: sv.continuous.hyper_distance(
        sv.continuous.grid_geometric(2, 1),
        sv.continuous.truncated_laplace(1).pixelated(4, 2),
        move_by=sv.Channel([[1, 0, 0]] * 3),
    ),
    "bits": lambda: sv.vectors.calibrate(10**6, 0.1, 2.0, 0.1),
    "xi is": lambda: sv.vectors.calibrate(4, 0.1, 1e308, 0.1),
    "users is": lambda: sv.vectors.calibrate(4, 0.1, 2.0, 0.1, users=2**1000),
    "eps is": lambda: sv.vectors.paper_bounds(4, 0.1, 1e308, 0.1),
    "x has shape": lambda: sv.vectors.angular_distance(np.zeros((0, 3)), [[1.0, 2.0, 0.5]]),
    "cells": lambda: sv.continuous.resolution(0.01, eps=1e308),
    "points": lambda: sv.continuous.laplace_loss([0.5, 0.3, 0.2], "squared", 1.0, points=[10**400] * 3),
    "yes is": lambda: sv.inference.survey(3, 1.0, yes=10**400),
    "prior is": lambda: sv.inference.no_free_lunch(sparse.csr_array(np.eye(3))),
    "eps:": lambda: sv.sampling.staircase(10**400, 3),
    "size is": lambda: sv.text.utility_radius(10**400, 3, 1.0, 0.5),
    "no real number": lambda: sv.inference.privacy_loss(sv.mechanisms.warner(), np.eye(3) * 1j),
    "ball|box": lambda: sv.inference.curve(PAIRS, eps=1.0, box=np.ma.masked),
    "at most 1,000,000": lambda: sv.release.afford("examples/census-count.toml", eps=2**1000, delta=1e-6),
    "key is of type object": lambda: sv.release.account("examples/budgets/census.toml", key=object()),
    "name is nan": lambda: sv.text.Embedding(["sea"], [[0.0]], name=float("nan")),
    "bits|outputs|values": lambda: sv.vectors.channel(10**400, 1.0),
    "along has masked": lambda: sv.mechanisms.pull_back(LINE, {0: np.ma.masked, 1: 0.5, 2: 0.5}, 1.0),
    "vocabulary is bytearray": lambda: sv.text.tokens("the sea", vocabulary=bytearray(b"ab")),
    "actions has array": lambda: sv.continuous.function_loss(abs, np.eye(3) * 1j, 1),
    "name is 1j": lambda: sv.continuous.function_loss(abs, [0.0, 1.0], 1, name=1j),
    "vectors is ragged": lambda: sv.text.Embedding(["sea"], -(10**400)),
    "words: .*cannot be compared": lambda: sv.testing.bags(np.eye(3) * 1j),
    "the draws would take": lambda: sv.text.attack(TEXTS, PLACES, [2.0], draws=10**6),
    "draws of noise": lambda: sv.text.estimate_word_channel(PLACES, 1.0, trials=2**63),
    "prior is Fraction": lambda: sv.inference.no_free_lunch("1e400"),
    "the noise goes beyond": lambda: sv.text.obfuscate("the sea", PLACES, 5e-324, insecure_rng=1),
    "values has more than 2": lambda: sv.estimation.estimate_table(itertools.count(), TABLE_NOISE, TWO),
    "n is Graph": lambda: sv.sampling.laplace_radius(sv.graphs.path(4), 1.0, 0.5),
    "p is ragged": lambda: sv.sampling.laplace_radius(2, 1.0, "0x10"),
    "upper is .*; it must be a probability": lambda: sv.sampling.laplace_radius(2, 1.0, upper=[0.5, 1.5]),
    "clusters is a list": lambda: sv.text.attack(TEXTS, PLACES, [2.0], clusters=nested(2000)),
    "tolerance is a list": lambda: sv.plots.private_posteriors(LINE, 1.0, tolerance=nested(2000)),
    "v is ragged": lambda: sv.text.laplace_log_density(-(10**400), 1.0),
    "the numbers of v": lambda: sv.text.laplace_log_density(range(10**12), 1.0),
    "t is ragged": lambda: sv.text.marginal_tail(10**400, 3, 1.0),
    "not computed yet": lambda: sv.inference.frontier(pl.LazyFrame({"a": [1.0]}), [0.7], eps=1.0),
    "entries of the channel": lambda: sv.mechanisms.balanced_collection(range(10**12), [[0], [1]], 1.0),
    "outputs has 3": lambda: sv.bayes_risk([0, 1] * 100, pa.array([0.5, None, 0.5])),
    "the cells would take": lambda: sv.continuous.gap([0.5, 0.5], "absolute", 1.0, cells=10**400),
    "trials is": lambda: sv.text.replacement_profile(PLACES, [1.0], words=["sea"], trials=10**9),
    "beyond the largest float": lambda: sv.plots.noise_contours(5e-324, reach=2.0),
    "more items than": lambda: sv.estimation.estimate_table(range(10**30), TABLE_NOISE, TWO),
    "more items than can": lambda: sv.inference.no_free_lunch(range(10**30)),
    "at most 1e.12": lambda: sv.vectors.laplace_lsh(np.eye(3), PLANES, 1e308),
    "from 1e-12 to 1e.12": lambda: sv.vectors.laplace_channel(np.eye(3), PLANES, 1e308),
    "eps is 5e-324; it must be a number from": lambda: sv.vectors.laplace_channel(np.eye(3), PLANES, 5e-324),
    "dimension is 1": lambda: sv.vectors.choose_mechanism(10**10, 0.05, 2.0, 0.01),
    "dimension is a whole number of": lambda: sv.vectors.calibrate_laplace(2**1000, 4, 0.1, 2.0, 0.1),
    "users is a whole number of": lambda: sv.vectors.delta_for_population(10**400),
    "counts is '99": lambda: sv.inference.newcomer_table("9" * 5000, [0], [1.0]),
    "size is a whole": lambda: sv.text.utility_bound(10**400, 3, 1.0, 0.5),
    "vocabulary is range": lambda: sv.text.tokens("the sea", vocabulary=range(10**12)),
    "vocabulary is shape": lambda: sv.text.tokens("the sea", vocabulary=pl.Series([0.5, 0.3])),
    "vocabulary is masked": lambda: sv.text.tokens("the sea", vocabulary=np.ma.masked),
    "vocabulary is <LazyFrame": lambda: sv.text.tokens("the sea", vocabulary=pl.LazyFrame({"a": [1.0]})),
    "eps is 1e-300; such codes": lambda: sv.vectors.estimate_distance(1, 8, 1e-300),
    "delta is array": lambda: sv.vectors.loss_curve(4, 1.0, np.array([None, 1, 2]), []),
    "points is a whole": lambda: sv.continuous.laplace_loss([0.5, 0.5], "squared", 1.0, points=-(10**400)),
    "the cells of the grid": lambda: sv.continuous.witness(10**6, 4, 1.0),
    "the cells of the grid would": lambda: sv.continuous.pixel_witness(4, 2, 10**6, 1.0),
    "reach is": lambda: sv.plots.noise_contours(1.0, reach=1e308),
}


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_arguments_are_refused_in_a_sentence(words: str) -> None:
    with pytest.raises(sv.SievertError, match=words):
        HOSTILE[words]()


def test_tiny_and_decimal_numbers_are_answered() -> None:
    tiny = sv.continuous.refined_by_geometric(sv.continuous.grid_geometric(2, 1), 5e-324)
    assert tiny.holds is None
    assert sv.vectors.paper_bounds(4, Decimal("1e-400"), 1.0, 0.1).exact >= 0
    assert sv.vectors.paper_bounds(4, 0.1, 5e-324, 0.1).exact == 0
    assert sv.vectors.paper_bounds(4, 0.1, 5e-324, 5e-324).exact < 1e-322
    assert 0 < sv.vectors.alpha_kl(4, 5e-324, 0.1) < 0.01
    assert 0 < sv.vectors.alpha_kl(4, 1e-300, math.nextafter(1.0, 0.0)) < 1e-16
    assert sv.vectors.calibrate_laplace(3, 4, 0.05, 5e-324, 0.01) > 0
    assert sv.vectors.calibrate(4, 0.1, 5e-324, 0.01).eps >= 0
    assert sv.text.attack(TEXTS, PLACES, [1e308], draws=1, linear=False, rng=1).nats[1e308] > 1e300
    assert sv.text.marginal_tail(1e308, 3, 1e308) == 0
    assert sv.text.utility_radius(2, 3, 5e-324, 0.5) == math.inf
    assert sv.continuous.gap([0.5, 0.3, 0.2], "absolute", 5e-324).thesis_bound == math.inf
    many = sv.vectors.calibrate(4, 0.1, 2.0, 0.1, users=np.uint8(255))
    assert many == sv.vectors.calibrate(4, 0.1, 2.0, 0.1, users=255)
    assert (
        sv.vectors.reidentification(CODES, 1e308).value == sv.vectors.reidentification(CODES, math.inf).value
    )
    assert str(sv.vectors.laplace_lsh(np.eye(3), PLANES, Fraction(1, 3))).endswith(
        "eps = 0.333333 a unit of length"
    )
    assert "scale 0.333333" in str(sv.vectors.soft_sign(np.eye(3), PLANES, Fraction(1, 3)))
    assert sv.text.tokens("the sea", vocabulary=pl.Series(["The"])) == sv.text.tokens(
        "the sea", vocabulary=["The"]
    )
    drawn = sv.plots.noise_law([-1, 0, 1], [0.2, 0.6, 0.2], radius=Fraction(1, 3))
    assert drawn.data[0].name.startswith("within 0.333333 ")


def test_arguments_in_another_form_are_read() -> None:
    after = sv.explain(delta=np.array(0.5), renyi={2.0: 0.5}).after
    assert after == sv.explain(delta=0.5, renyi={2.0: 0.5}).after
    noise = sv.continuous.truncated_laplace(2)
    assert len(sv.plots.laplace_density(noise, pa.array([0.5, 0.3])).data) == 4
    designed = sv.design.noise_for(TWO, 1.0, sv.Query.sum(), prior=[0.5, 0.5], releases=10**6)
    assert "geometric" in str(designed)
    texts = pa.array(["a", "b", "a", "b"] * 50)
    found, expected = (sv.bayes_risk([0, 1] * 100, given, rng=1) for given in (texts, texts.to_pylist()))
    assert str(found) == str(expected)


def test_a_key_that_is_refused_is_not_repeated() -> None:
    with pytest.raises(sv.SievertError) as refused:
        sv.release.account("examples/budgets/census.toml", key="correct horse")
    assert "correct horse" not in str(refused.value)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-150, 1e150, 1.7e308])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_code_of_a_vector_does_not_depend_on_its_scale(scale: float, form: Callable[[Any], Any]) -> None:
    signs = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [0.0, -1.0, -1.0]])
    hashing = sv.vectors.HyperplaneLSH(3, 64, 7)
    expected = hashing.codes(signs).distances(hashing.codes(signs))
    found = sv.vectors.realised_xi(hashing, form(signs * scale), signs, 1.0)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("eps", [1e-300, 1e300, 1e308])
def test_noise_that_no_float_can_weigh(eps: float) -> None:
    with pytest.raises(sv.SievertError, match=r"eps is .*; noise is designed for an ε from 1e-100 to 1e100"):
        sv.design.noise_for(sv.Policy.differential(range(4), 10), eps, sv.Query.sum())


def test_products_of_a_level_with_distances_that_are_no_floats() -> None:
    far = sv.metrics.euclidean(np.random.default_rng(1).random((6, 2)) * 90)
    assert sv.worst_leakage(far, 1e308).upper.factor == pytest.approx(6)
    low, high = exp_enclosure(-Fraction(10**308), np.linspace(0.25, 100, 5000))
    assert low.max() == 0 and high.max() < 1e-300
    assert sv.text.capacity_bound(PLACES, 1e308).by_neighbours == 4
    with pytest.raises(sv.SievertError, match=r"eps is 1e\+308; give at most 1e150"):
        sv.text.word_mechanism(PLACES, 1e308, "word-exponential")


def test_words_at_a_level_that_hides_nothing_are_drawn() -> None:
    many = sv.text.Embedding([f"w{i}" for i in range(2000)], np.random.default_rng(1).random((2000, 2)))
    sampler = sv.text.word_mechanism(many, 1e30, "word-exponential").sampler(1)
    assert sampler.draw(range(5)).tolist() == [0, 1, 2, 3, 4]


def test_reports_of_next_to_nothing_have_no_standard_errors() -> None:
    found = sv.estimate([5, 3, 2], sv.mechanisms.truncated_geometric(3, 1e-300))
    assert found.standard_errors is None
    assert any("no standard errors" in said for said in found.undetermined)
