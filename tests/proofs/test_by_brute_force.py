"""Parts of checks that take a short way, compared with the long one: columns, cells of priors, maps."""

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import flint
import numpy as np
import pytest
from test_every_check import BASES
from test_parts import space, table

from sievert.errors import TooLargeError
from sievert.proofs import ProofSpace, proof_from_dict
from sievert.proofs import _map_leakage as maps
from sievert.proofs import _universal as universal
from sievert.proofs._cells import require_corners
from sievert.proofs._neighbours import Neighbours, forest_excess, polar_excess

HALF, ONE = Fraction(1, 2), Fraction(1)
TRIANGLE = space(3, (0, 1), (1, 2), (0, 2))
CIRCLE = space(4, (0, 1), (1, 2), (2, 3), (3, 0))


def shrink(alpha: Fraction, length: float) -> Fraction:
    return ONE if length == 0 else alpha ** int(length)


def columns(points: ProofSpace, alpha: Fraction) -> set[tuple[Fraction, ...]]:
    """Extreme private columns of a tree: along each edge as steep as allowed, either way (scaled)."""
    found = set()
    for ways in product((False, True), repeat=len(points.pairs)):
        column = {0: ONE}
        while len(column) < points.size:
            for (a, b), length, way in zip(points.pairs.tolist(), points.lengths, ways, strict=True):
                known, other = (a, b) if a in column else (b, a)
                if known in column and other not in column:
                    down = (known == a) is way
                    factor = shrink(alpha, length)
                    column[other] = column[known] * factor if down else column[known] / factor
        found.add(tuple(column[x] for x in range(points.size)))
    return found


def setting(points: ProofSpace, alpha: Fraction) -> Any:
    proof: Any = proof_from_dict(BASES["universal"]())
    return replace(proof, space=points, alpha=alpha)


def scaled(rays: Any) -> set[tuple[Fraction, ...]]:
    """Rays whose largest entry is 1."""
    return {tuple(Fraction(value) / Fraction(max(ray)) for value in ray) for ray in rays.tolist()}


# ── Private columns ─────────────────────────────────────────────────────────────────────────────────────────


def test_extreme_columns_of_trees() -> None:
    for points in (space(3, (0, 1), (2, 1)), space(3, (0, 1), (1, 2), lengths=[2.0, 1.0])):
        found = scaled(setting(points, HALF).extreme_columns)
        assert found == scaled(np.array(list(columns(points, HALF)), dtype=object))


def test_extreme_columns_where_all_are_alike_are_those_of_the_cone(monkeypatch: pytest.MonkeyPatch) -> None:
    short = scaled(setting(TRIANGLE, HALF).extreme_columns)
    assert short == {choice for choice in product((HALF, ONE), repeat=3) if len(set(choice)) == 2}
    monkeypatch.setattr(universal, "LARGEST_SUBSETS", 2)
    assert scaled(setting(TRIANGLE, HALF).extreme_columns) == short
    assert scaled(setting(space(3), HALF).extreme_columns) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_a_cone_that_is_too_large() -> None:
    assert len(setting(space(50, (0, 1)), HALF).extreme_columns) == 50
    for points in (space(51, (0, 1)), space(3, *[(0, 1), (1, 2)] * 13)):
        with pytest.raises(TooLargeError, match="the cone of private columns"):
            setting(points, HALF).extreme_columns  # noqa: B018


def test_which_settings_are_checked() -> None:
    path = space(60, *[(x, x + 1) for x in range(59)])
    every = space(12, *combinations(range(12), 2))
    assert all(setting(points, HALF).is_checkable for points in (path, every, CIRCLE))
    ring = [space(n, *[(x, (x + 1) % n) for x in range(n)]) for n in (17, 18)]
    assert [setting(points, HALF).is_checkable for points in ring] == [True, False]


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 3), ONE])
def test_costs_that_no_private_column_makes_negative(alpha: Fraction) -> None:
    path = space(3, (0, 1), (1, 2), lengths=[1.0, 2.0])
    low = [(a, b) for a, b in product((alpha, ONE), repeat=2)]
    allowed = {
        path: [
            (1, a, a * b * b) for a, b in low
        ] + [(a, 1, b * b) for a, b in low] + [(a * b * b, b * b, 1) for a, b in low],
        TRIANGLE: list(product((alpha, ONE), repeat=3)),
        space(3, (0, 1)): [(1, alpha, 0), (alpha, 1, 0), (1, 1, 0), (0, 0, 1)],
    }  # fmt: skip
    for points, found in allowed.items():
        proof = setting(points, alpha)
        for cost in product((-2, -1, 0, 1), repeat=3):
            least = min(sum(c * v for c, v in zip(cost, column, strict=True)) for column in found)
            assert proof.is_never_negative(table(cost)[0]) == (least >= 0), (cost, alpha)


FORMS = {
    "uniform": ("uniform", 3, (), (2,)),
    "path": ("forest", 3, ((0, 1), (1, 2)), (1, 2)),
    "star": ("forest", 4, ((1, 0), (1, 2), (3, 1)), (1, 1, 2)),
    "two trees": ("forest", 4, ((0, 1), (2, 3)), (1, 2)),
    "four in a row": ("forest", 4, ((3, 2), (2, 1), (1, 0)), (1, 1, 1)),
}


def private(form: str, alpha: Fraction) -> Iterator[tuple[Fraction, ...]]:
    """Columns of a form that are as steep as allowed along every edge, from one input of it."""
    name, size, pairs, lengths = FORMS[form]
    if name == "uniform":
        yield from product((alpha ** lengths[0], ONE), repeat=size)
        return
    for others in product(range(-3, 4), repeat=size - 1):
        first = pairs[0][0]
        values = (*others[:first], 0, *others[first:])
        if all(abs(values[a] - values[b]) == d for (a, b), d in zip(pairs, lengths, strict=True)):
            column = tuple(alpha ** (v + 3) for v in values)
            yield column
            if form == "two trees":
                yield (*column[:2], Fraction(0), Fraction(0))
                yield (Fraction(0), Fraction(0), *column[2:])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("eps", [None, ONE])
def test_what_a_private_column_makes_of_a_functional(form: str, eps: Fraction | None) -> None:
    name, size, pairs, lengths = FORMS[form]
    alpha = HALF if eps is None else Fraction(math.exp(-1))
    near = Neighbours(name, size, pairs, tuple(map(Fraction, lengths)), eps, HALF if eps is None else None)
    every = set(private(form, alpha))
    asked = random.Random(form).sample(list(product(range(-2, 3), repeat=size)), 60)
    for functional, excess in zip(asked, polar_excess(near, table(*asked)), strict=True):
        most = max(sum(c * v for c, v in zip(functional, column, strict=True)) for column in every)
        assert (excess > 0) == (most > 1e-9), (functional, excess, most)


def test_without_a_bound_what_is_positive_counts() -> None:
    """α = 0, and ε so large that e^-ε is not written out: a column may be 0 but at one input."""
    asked = list(product(range(-1, 2), repeat=3))
    path, large, none = ((0, 1), (1, 2)), Fraction(10**6), Fraction(0)
    for near in (
        Neighbours("forest", 3, path, (ONE, ONE), None, none),
        Neighbours("forest", 3, path, (ONE, ONE), large, None),
        Neighbours("uniform", 3, (), (ONE,), None, none),
        Neighbours("uniform", 3, (), (ONE,), large, None),
    ):
        for functional, excess in zip(asked, polar_excess(near, table(*asked)), strict=True):
            assert (excess > 0) == (max(functional) > 0), (functional, near)


def test_sums_along_a_forest_are_rounded_upwards() -> None:
    near = Neighbours("forest", 2, ((0, 1),), (ONE,), ONE, None)
    for functional, most in (([-2, 1], 1), ([0, 1], 3), ([1, -1], 1), ([1, -3], 0), ([5, 0], 5)):
        assert forest_excess(near, [functional]) == [most]


# ── Cells of priors ─────────────────────────────────────────────────────────────────────────────────────────


def solved(first: Any, second: Any) -> tuple[Fraction, ...] | None:
    """The prior of three inputs at which two linear functions are 0."""
    cross = [
        first[1] * second[2] - first[2] * second[1],
        first[2] * second[0] - first[0] * second[2],
        first[0] * second[1] - first[1] * second[0],
    ]
    total = sum(cross)
    return tuple(value / total for value in cross) if total else None


def corners(channel: Any, loss: Any) -> set[tuple[Fraction, ...]]:
    """Where two of the borders meet: an input that is impossible, or two actions that are equally good."""
    costs = [[tuple(channel[:, y] * row) for row in loss] for y in range(channel.shape[1])]
    sides: list[tuple[Any, Any]] = [(tuple(Fraction(x == k) for x in range(3)), None) for k in range(3)]
    for rows in costs:
        for v, w in combinations(rows, 2):
            sides.append((tuple(a - b for a, b in zip(v, w, strict=True)), (rows, v)))
    found = set()
    for (first, one), (second, two) in combinations(sides, 2):
        prior = solved(first, second)
        if prior is None or min(prior) < 0:
            continue
        scores = [
            (sum(a * p for a, p in zip(v, prior, strict=True)), rows) for rows, v in filter(None, (one, two))
        ]
        if all(
            score <= min(sum(a * p for a, p in zip(row, prior, strict=True)) for row in rows)
            for score, rows in scores
        ):
            found.add(prior)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_all_corners_of_cells_and_no_others_are_needed(seed: int) -> None:
    draw = random.Random(seed)
    outputs, actions = draw.choice(((1, 3), (1, 5), (2, 2), (2, 4), (3, 2)))
    counts = [[draw.randint(0, 3) for _ in range(outputs)] for _ in range(3)]
    channel = table(
        *[[Fraction(v, sum(row)) if sum(row) else Fraction(1, outputs) for v in row] for row in counts]
    )
    loss = table(*[[draw.randint(0, 6) for _ in range(3)] for _ in range(actions)])
    every = corners(channel, loss)
    require_corners(channel, loss, every)
    for one in every:
        with pytest.raises(ValueError, match="a corner of a cell of priors is missing"):
            require_corners(channel, loss, every - {one})


def test_too_many_outputs_and_actions() -> None:
    with pytest.raises(TooLargeError, match="the cells of priors"):
        require_corners(table([Fraction(1, 41)] * 41), table(*[[k] for k in range(10)]), {(ONE,)})


# ── Sums over a map ─────────────────────────────────────────────────────────────────────────────────────────


def spread(weights: Any, counts: tuple[int, int]) -> Any:
    """A table of weights whose middle row and column repeat, written out."""
    full = np.array(weights)
    for axis, count in enumerate(counts):
        side = full.shape[axis]
        places = [*range(side // 2), *[side // 2] * (count - side + 1), *range(side // 2 + 1, side)]
        full = np.take(full, places, axis=axis)
    return full


@pytest.mark.parametrize(
    ("sides", "every", "shape", "reach"),
    [
        ((9, 8), (1, 2), (3, 4), 2),
        ((14, 7), (1, 4), (5, 2), 1),
        ((11, 13), (5, 4), (2, 3), 9),
        ((1, 2), (1, 1), (1, 2), 1),
    ],
)
def test_sums_over_a_map(sides: Any, every: Any, shape: Any, reach: int) -> None:
    draw = np.random.default_rng(7)
    weights = draw.uniform(0.5, 1.5, shape)
    proof: Any = replace(
        proof_from_dict(BASES["map"]()),  # type: ignore[type-var]
        rows=sides[0], columns=sides[1], upper=maps.Spread(every, weights, reach), step=ONE,
    )  # fmt: skip
    places = [range(k // 2, side, k) for side, k in zip(sides, every, strict=True)]
    counts = (len(places[0]), len(places[1]))
    full = spread(weights, counts)
    sums = np.zeros(counts)
    for (a, b), (c, d) in product(np.ndindex(counts), repeat=2):
        if abs(a - c) <= reach and abs(b - d) <= reach:
            away = math.hypot(every[0] * (a - c), every[1] * (b - d))
            sums[a, b] += full[c, d] * math.exp(-away / 2)
    found = proof._sums(weights, counts)
    assert sorted(set(np.round(found.ravel(), 9))) == sorted(set(np.round(sums.ravel(), 9)))
    assert (found[0, 0], found[-1, -1]) == pytest.approx((sums[0, 0], sums[-1, -1]))
    far = [
        max(min(abs(x - y) for y in row) for x in range(side))
        for side, row in zip(sides, places, strict=True)
    ]
    bound = full.sum() / sums.min() * math.exp(math.hypot(*far) / 2)
    assert float(proof._packed()) == pytest.approx(min(bound, sides[0] * sides[1]))
    assert [maps._farthest(*three) for three in zip(sides, every, counts, strict=True)] == far


def test_small_maps() -> None:
    proof: Any = proof_from_dict(BASES["map"]())
    for weight in (1e-100, 1e100):
        upper = maps.Spread((1, 1), np.array([[weight]]), 0)
        assert replace(proof, rows=1, columns=1, copies=1, upper=upper).bounds() == (1, 1)
    two = replace(proof, rows=1, columns=2, copies=1, upper=maps.Spread((1, 1), np.ones((1, 2)), 1))
    assert 1 < two.bounds()[0] < two.bounds()[1] < 2
    believed = replace(two, prior=np.array([[0.5, 0.25]]), upper=maps.Spread((1, 1), None, 1))
    assert float(believed.bounds()[1]) == pytest.approx(2 / (2 + math.exp(-1)))


def test_how_many_products_a_map_takes() -> None:
    # From either end 1 + 2 places differ, and those in the middle are one; each sums over 3 by 3.
    assert maps.map_products((5, 5), (20, 30), 1) == (7 * 3) ** 2
    assert maps.map_products((5, 5), (5, 6), 9) == 5 * 5 * 6 * 6


def test_waves_and_roots() -> None:
    least = Fraction(1, 2**maps.FAR)
    assert maps._wave(Fraction(30_000), 1) == (0, least)
    assert maps._wave(Fraction(1, 10**80), 1)[1] == 1
    for small in (flint.arb(0), flint.arb(2) ** -(maps.FAR + 1)):
        assert maps._upper(small) == least
    root, unit = maps._root_above(2), Fraction(1, 2**64)
    assert (root - unit) ** 2 < 2 <= root**2
