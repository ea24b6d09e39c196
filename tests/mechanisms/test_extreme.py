"""Families that are kernels: a set or the rest, pull-backs, balanced collections, blocks, magnitude."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import MechanismError, SievertError

line, discrete = sv.metrics.line, sv.metrics.discrete
HALF = "1/2"


def test_one_versus_the_rest_is_the_kernel_of_thm_6_28() -> None:
    found = sv.mechanisms.versus(discrete(3), [0], alpha=HALF)
    assert found.exact.tolist() == [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)], [F(1, 3), F(2, 3)]]  # type: ignore[union-attr]
    assert sv.geometry.is_kernel(found, discrete(3), alpha=HALF)
    n, a = 5, F(1, 3)
    kernel = sv.mechanisms.versus(discrete(n), [0], alpha=a)
    hyper = kernel.hyper()
    k, j = 1 + (n - 1) * a, a + n - 1
    assert sorted(hyper.outers) == sorted([k / (k + j), j / (k + j)])
    assert k + j == n * (1 + a)
    assert sv.geometry.is_kernel(kernel, discrete(n), alpha=a)
    wide = sv.mechanisms.versus(line([0, 1, 5, 6]), [0, 1], 0.5)
    assert wide.matrix[0, 0] == pytest.approx(1 / (1 + math.exp(-2)), rel=1e-14)
    assert sv.is_private(wide, line([0, 1, 5, 6]), 0.5)
    for members in ([], [0, 1, 2]):
        with pytest.raises(MechanismError, match="name some and leave some"):
            sv.mechanisms.versus(discrete(3), members, 1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 6), st.data())
def test_two_actions_under_the_discrete_metric_have_a_universal_optimum(n: int, data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=n, max_size=n))
    members = [x for x, (a, b) in enumerate(rows) if a < b]
    if not 0 < len(members) < n or all(a <= b for a, b in rows) or all(a >= b for a, b in rows):
        return
    loss = [[a for a, _ in rows], [b for _, b in rows]]
    channel = sv.mechanisms.versus(discrete(n), members, alpha="1/3")
    found = sv.is_universally_optimal(channel, discrete(n), alpha="1/3", loss=loss)
    assert found.holds
    assert found.certificate is not None
    assert found.certificate.verify().holds


def test_pull_back_on_the_cube_figure_6_5() -> None:
    cube = sv.metrics.hamming(3, 2)
    channel = sv.mechanisms.pull_back(cube, (0, 0, 0), alpha=HALF)
    assert channel.exact is not None
    printed = {0: "2/3 1/6 1/12 1/12", 1: "1/3 1/3 1/6 1/6", 2: "1/6 1/6 1/3 1/3", 3: "1/12 1/12 1/6 2/3"}
    for point, row in zip(cube.points, channel.exact, strict=True):
        assert " ".join(map(str, row)) == printed[sum(point)]
    assert sv.geometry.is_kernel(channel, cube, alpha=HALF)
    four = sv.mechanisms.truncated_geometric(4, alpha=HALF)
    # All six monotone paths carry the geometric mechanism, not three (erratum 19).
    paths = 0
    for order in permutations(range(3)):
        path = [tuple(int(k in order[:step]) for k in range(3)) for step in range(4)]
        rows = channel.exact[[cube.index(point) for point in path]]
        paths += bool((rows == four.exact).all())
    assert paths == 6
    risk, weighted = sv.losses.bayes_risk(cube.points), sv.metrics.hamming(3, 2).matrix.astype(int).tolist()
    assert sv.remap(channel, None, risk).after == F(3, 4)
    assert sv.remap(channel, None, sv.losses.matrix(weighted, cube.points, secrets=cube.points)).after == F(
        9, 8
    )


def test_product_response_on_the_cube_equals_the_best_on_neighbours_only() -> None:
    cube = sv.metrics.hamming(3, 2)
    channel = sv.mechanisms.tight_constraints(cube, alpha=HALF)
    assert channel.exact is not None
    path = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
    rows = channel.exact[[cube.index(point) for point in path]]
    for a, b in pairwise(rows):
        assert all(x in (2 * y, y / 2) for x, y in zip(a, b, strict=True))
    part = sv.Channel(rows.tolist(), range(4))
    hyper = part.hyper()
    assert sorted(hyper.outers) == sorted(
        map(F, ["5/36", "1/12", "1/9", "1/6", "1/12", "1/9", "1/6", "5/36"])
    )
    parts = sv.geometry.decompose(part, line(4), alpha=HALF)
    assert sum(parts.weights) == 1
    four = sv.mechanisms.truncated_geometric(4, alpha=HALF)
    assert not part.hyper().is_same(four.hyper())


def test_pull_back_refuses_what_is_steep() -> None:
    with pytest.raises(MechanismError, match="may not change faster"):
        sv.mechanisms.pull_back(line(3), {0: 0, 1: 2, 2: 0}, 1.0)
    with pytest.raises(MechanismError, match="no number for 2"):
        sv.mechanisms.pull_back(line(3), {0: 0, 1: 1}, 1.0)
    with pytest.raises(MechanismError, match="infinite distance"):
        sv.mechanisms.pull_back(sv.Metric([[0, math.inf], [math.inf, 0]]), 0, 1.0)
    folded = sv.mechanisms.pull_back(line(3), {0: 0, 1: 1, 2: 0}, alpha=HALF)
    assert folded.shape == (3, 2)
    assert sv.geometry.is_kernel(folded, line(3), alpha=HALF)


def test_balanced_collections() -> None:
    single = sv.mechanisms.balanced_collection(4, [[0], [1], [2], [3]], alpha="1/3")
    assert single.exact.tolist() == sv.mechanisms.randomised_response(4, alpha="1/3").exact.tolist()  # type: ignore[union-attr]
    mixed = sv.mechanisms.balanced_collection(4, [[0, 1], [0, 2], [0, 3], [1, 2, 3]], alpha=HALF)
    assert sv.geometry.is_kernel(mixed, discrete(4), alpha=HALF)
    floats = sv.mechanisms.balanced_collection(4, [[0, 1], [0, 2], [0, 3], [1, 2, 3]], math.log(2))
    assert np.allclose(floats.matrix, mixed.matrix, rtol=1e-12)
    given = {(0,): "1/2", (1,): "1/2", (2,): 1, (0, 1): "1/2"}
    weighted = sv.mechanisms.balanced_collection(3, given, alpha=HALF)
    assert sv.geometry.is_vertex_mechanism(weighted, discrete(3), alpha=HALF)
    assert not sv.geometry.is_kernel(weighted, discrete(3), alpha=HALF)
    for sets, match in (
        ([[0], [0, 1]], "not balanced"),
        ([[0], [1], [0, 1], [2], [2, 0]], "not determined"),
        ([[0, 1, 2]], "proper subsets"),
        ([], "proper subsets"),
        ([[0], [7]], "not one of the inputs"),
        ([0, 1], "no set of inputs"),
    ):
        with pytest.raises(MechanismError, match=match):
            sv.mechanisms.balanced_collection(3, sets, alpha=HALF)


def test_every_kernel_of_the_discrete_metric_is_a_balanced_collection() -> None:
    for kernel in sv.geometry.kernels(discrete(4), "1/3"):
        sets = [[x for x in range(4) if row[x] == max(row)] for row in kernel.inners]
        channel = sv.mechanisms.balanced_collection(4, sets, alpha="1/3")
        assert channel.hyper().is_same(kernel.channel.hyper())


def test_blocks_of_two_points_are_best_for_everything() -> None:
    inf = math.inf
    metric = sv.Metric([[0, 0, 1, inf], [0, 0, 1, inf], [1, 1, 0, inf], [inf, inf, inf, 0]])
    channel = sv.mechanisms.two_point_blocks(metric, alpha=HALF)
    assert channel.exact is not None
    assert channel.exact.tolist() == [
        [F(2, 3), F(1, 3), 0],
        [F(2, 3), F(1, 3), 0],
        [F(1, 3), F(2, 3), 0],
        [0, 0, 1],
    ]
    assert sv.geometry.is_kernel(channel, metric, alpha=HALF)
    assert len(sv.geometry.kernels(metric, HALF)) == 1
    for seed in range(5):
        loss = np.random.default_rng(seed).integers(0, 5, (3, 4)).tolist()
        assert sv.is_universally_optimal(channel, metric, alpha=HALF, loss=loss).holds
    with pytest.raises(MechanismError, match=r"Thm 6\.15"):
        sv.mechanisms.two_point_blocks(line(3), 1.0)


@pytest.mark.parametrize("eps", [1e-9, 1.0, 40.0, 800.0, 5000.0])
def test_families_promise_the_level_that_was_asked_for(eps: float) -> None:
    inf = math.inf
    apart = sv.Metric([[0, 2.5, inf], [2.5, 0, inf], [inf, inf, 0]])
    gaps = line([0, 0.5, 4])
    weighted = {(0,): "1/3", (1,): "1/3", (2,): 1, (0, 1): "2/3"}
    for channel, metric in (
        (sv.mechanisms.versus(discrete(3), [0], eps), discrete(3)),
        (sv.mechanisms.versus(gaps, [0, 0.5], eps), gaps),
        (sv.mechanisms.two_point_blocks(line(2), eps), line(2)),
        (sv.mechanisms.two_point_blocks(apart, eps), apart),
        (sv.mechanisms.balanced_collection(3, [[0, 1], [1, 2], [0, 2]], eps), discrete(3)),
        (sv.mechanisms.balanced_collection(3, weighted, eps), discrete(3)),
    ):
        assert sv.epsilon(channel, metric).nats == pytest.approx(eps, rel=1e-14)
        assert sv.is_private(channel, metric, eps)
        assert np.exp(channel.log_matrix).sum(axis=1) == pytest.approx(1.0, rel=1e-14)
    assert np.isneginf(sv.mechanisms.two_point_blocks(apart, eps).log_matrix).sum() == 4


def test_families_agree_with_their_exact_forms_beyond_floats() -> None:
    alpha, eps, gaps = F(1, 2**300), 300 * math.log(2), line([0, 1, 5])
    for make in (
        lambda **level: sv.mechanisms.versus(gaps, [0, 1], **level),
        lambda **level: sv.mechanisms.two_point_blocks(line([0, 4]), **level),
        lambda **level: sv.mechanisms.balanced_collection(3, [[0, 1], [1, 2], [0, 2]], **level),
    ):
        exact, logs = make(alpha=alpha), make(eps=eps)
        assert (exact.form, logs.form) == ("exact", "log")
        assert np.allclose(logs.log_matrix, exact.log_matrix, rtol=1e-14, atol=0)
    assert np.isfinite(sv.mechanisms.versus(line([0, 1e10]), [0], 1e300).log_matrix).all()
    half = line([0, 0.5])
    assert sv.mechanisms.two_point_blocks(half, math.inf).exact.tolist() == [[1, 0], [0, 1]]  # type: ignore[union-attr]
    assert sv.mechanisms.versus(half, [0], 0).exact.tolist() == [[F(1, 2)] * 2] * 2  # type: ignore[union-attr]


def test_magnitude_says_why_the_exponential_kernel_does_not_exist() -> None:
    star = sv.metrics.from_graph([(0, leaf) for leaf in (1, 2, 3)])
    for alpha in ("1/3", "1/2", "2/3"):
        a = F(alpha)
        found = sv.mechanisms.magnitude(star, alpha=alpha)
        assert found.weights[0] == (1 - 2 * a) / (1 + a)
        assert found.exists == (a <= F(1, 2))
    assert found.negative == 0
    gaps = line([0, 1, 3, 4])
    weights = sv.mechanisms.magnitude(gaps, alpha=HALF).weights
    t = [F(1, 2), F(1, 4), F(1, 2)]
    assert weights[0] == 1 / (1 + t[0])
    assert weights[1] == (1 - t[0] * t[1]) / ((1 + t[0]) * (1 + t[1]))
    assert sv.mechanisms.magnitude(discrete(5), alpha=HALF).weights == (F(1, 3),) * 5
    assert sv.mechanisms.magnitude(gaps, 0.7).magnitude == pytest.approx(
        float(sum(np.tanh(0.7 * g / 2) for g in (1, 2, 1))) + 1, rel=1e-12
    )
    with pytest.raises(MechanismError, match="singular"):
        sv.mechanisms.magnitude(sv.Metric([[0, 0], [0, 0]]), alpha=HALF)


@pytest.mark.parametrize(
    "mechanism, rows",
    [
        ('kind = "versus"\nmembers = ["a", "b"]', ["2/3 1/3", "2/3 1/3", "1/3 2/3"]),
        ('kind = "pull-back"\nanchor = "a"', ["2/3 1/3", "1/3 2/3", "1/3 2/3"]),
        ('kind = "pull-back"\nalong = [0, 1, 0]', ["2/3 1/3", "1/3 2/3", "2/3 1/3"]),
        (
            'kind = "balanced-collection"\nsets = [["a", "b"], ["b", "c"], ["a", "c"]]',
            ["2/5 1/5 2/5", "2/5 2/5 1/5", "1/5 2/5 2/5"],
        ),
        (
            'kind = "balanced-collection"\nsets = [["a"], ["b", "c"], ["b"], ["a", "c"]]\n'
            'weights = ["1/3", "1/3", "2/3", 0.6666666666666666]',
            None,
        ),
        (
            'kind = "balanced-collection"\nsets = [["a"], ["b", "c"], ["b"], ["a", "c"]]\n'
            'weights = ["1/3", "1/3", "2/3", "2/3"]',
            ["2/9 1/9 2/9 4/9", "1/9 2/9 4/9 2/9", "1/9 2/9 2/9 4/9"],
        ),
        ('kind = "two-point-blocks"', ["2/3 1/3 0", "1/3 2/3 0", "0 0 1"]),
    ],
)
def test_files_name_them(tmp_path: Path, mechanism: str, rows: list[str] | None) -> None:
    secrets = '{ partition = [["a", "b"], ["c"]] }' if "two-point" in mechanism else '"complete"'
    file = written(tmp_path, mechanism, secrets)
    if rows is None:
        with pytest.raises(SievertError, match="not balanced"):
            sv.audit(sv.load(file))
        return
    assert [" ".join(map(str, row)) for row in sv.load(file).channel.exact] == rows
    assert sv.audit(sv.load(file)) is not None


def written(folder: Path, mechanism: str, secrets: str = '"complete"') -> Path:
    file = folder / "case.toml"
    file.write_text(
        f'version = 1\n[policy]\nvalues = ["a", "b", "c"]\nsecrets = {secrets}\n[query]\nkind = "record"\n'
        f'[mechanism]\n{mechanism}\nalpha = "1/2"\n',
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize(
    "mechanism, words",
    [
        ('kind = "pull-back"', "exactly one of anchor"),
        ('kind = "pull-back"\nanchor = "a"\nalong = [0, 1, 2]', "exactly one of anchor"),
        ('kind = "pull-back"\nalong = [0, 1]', "2 numbers for 3 answers"),
        ('kind = "pull-back"\nalong = [0, 1, 2]', "faster than the distance"),
        ('kind = "balanced-collection"\nsets = [["a"], ["b", "c"]]\nweights = [1]', "1 numbers for 2 sets"),
        (
            'kind = "balanced-collection"\nsets = [["a"], ["a"], ["b", "c"]]\nweights = [0.5, 0.5, 1]',
            "listed twice",
        ),
        ('kind = "two-point-blocks"', "finite distance of each other"),
    ],
)
def test_files_that_name_them_wrongly(tmp_path: Path, mechanism: str, words: str) -> None:
    with pytest.raises(SievertError, match=words):
        sv.audit(sv.load(written(tmp_path, mechanism)))


@pytest.mark.parametrize("weight", ["x", float("nan"), float("inf"), None])
def test_weights_are_numbers(weight: object) -> None:
    with pytest.raises(MechanismError, match="sets"):
        sv.mechanisms.balanced_collection(3, {(0, 1): weight, (2,): 1}, 1.0)


@pytest.mark.parametrize("number", ["x", float("nan"), None])
def test_what_is_pulled_back_is_a_number(number: object) -> None:
    with pytest.raises(MechanismError, match=r"along has .*give a number"):
        sv.mechanisms.pull_back(sv.metrics.line(3), {0: number, 1: 1, 2: 2}, 1.0)


def test_alpha_is_no_truth_value() -> None:
    with pytest.raises(MechanismError, match="alpha is True"):
        sv.mechanisms.truncated_geometric(3, alpha=True)
