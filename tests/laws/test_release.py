"""Laws of release: what is said before, what is charged and what is drawn are one thing."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.errors import SievertError
from sievert.files import load_policy_scenario
from sievert.release import make_plan
from sievert.spaces import Region

MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = {{ south = {south}, west = 13.36, north = {north}, east = 13.38, cell = {cell} }}
[mechanism]
{mechanism}
[data]
input = "places.csv"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
"""
PLANAR = 'kind = "planar-geometric"\neps = 0.01'
ON_CELLS = 'kind = "exponential"\nlevel = "true"\neps = 0.01'


def metres_on_the_ground(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distance of places a few hundred metres apart, by the radii of curvature half way."""
    e2, equator = 6.69437999014e-3, 6378137.0
    middle = np.radians((first[0] + second[0]) / 2)
    w2 = 1 - e2 * np.sin(middle) ** 2
    north = np.radians(second[0] - first[0]) * equator * (1 - e2) / w2**1.5
    east = np.radians(second[1] - first[1]) * equator * np.cos(middle) / np.sqrt(w2)
    return np.hypot(north, east)


@pytest.mark.parametrize("mechanism", [PLANAR, ON_CELLS])
@pytest.mark.parametrize(("south", "cell"), [(52.505, 250), (52.505, 97.3), (-0.005, 250), (69.0, 130)])
def test_the_leak_between_any_two_places_is_within_what_the_preview_says(
    tmp_path: Path, mechanism: str, south: float, cell: float
) -> None:
    """Brute force over pairs of places, most of them on either side of a border of cells."""
    north = south + 0.012
    (tmp_path / "budget.toml").write_text("person = 1.0")
    (tmp_path / "map.toml").write_text(
        MAP.format(south=south, north=north, cell=cell, mechanism=mechanism), encoding="utf-8"
    )
    described = load_policy_scenario(tmp_path / "map.toml")
    plan = make_plan(described)
    noise = plan.places
    assert noise is not None
    # Rounding of the channel and of its clamped ends, far below what a distance adds.
    logs = np.log(noise.matrix)
    region = noise.region
    generator = np.random.default_rng(5)
    low, high = np.array([south, 13.36]), np.array([north, 13.38])
    first = low[:, None] + generator.random((2, 4000)) * (high - low)[:, None]
    step = 10 ** generator.uniform(-7, -2.3, 4000)
    angle = generator.uniform(0, 2 * math.pi, 4000)
    second = np.clip(first + step * np.array([np.sin(angle), np.cos(angle)]), low[:, None], high[:, None])
    positions = [(region.cells(*places) @ [region.shape[1], 1]) for places in (first, second)]
    leak = np.abs(logs[positions[0]] - logs[positions[1]]).max(axis=1)
    distance = metres_on_the_ground(first, second)
    eps = float(plan.unit_eps)
    allowed = eps * np.array([region.cells_apart(d) for d in distance])
    assert (leak <= allowed + 1e-9).all()
    assert (leak > eps * distance * 1.01 + 1e-6).any(), "cells matter here: the distance alone is too little"
    for metres, factor in sv.release.preview(described).factors:
        near = distance <= metres
        assert near.any() and np.exp(leak[near]).max() <= factor * (1 + 1e-9)


def test_an_audit_on_a_map_says_what_two_places_give_away(tmp_path: Path) -> None:
    """Two places centimetres apart may be in two cells: the audit's factor counts the cell's diagonal."""
    text = MAP.format(south=52.505, north=52.515, cell=250, mechanism=ON_CELLS)
    (tmp_path / "map.toml").write_text(text, encoding="utf-8")
    found = sv.audit(tmp_path / "map.toml")
    region = Region(52.505, 13.36, 52.515, 13.38, 250)
    assert found.on_map
    for metres, factor in found.radii:
        assert factor >= math.exp(0.01 * (metres + region.diagonal)) * (1 - 1e-9)


# ── what audit says is what is charged ───────────────────────────────────────────────────────────

FILE = """version = 1
[policy]
values = {values}
secrets = {secrets}
records = {records}
adjacency = "{adjacency}"
[query]
{query}
[mechanism]
{mechanism}
[data]
input = "data.csv"
column = "value"
[release]
ledger = "budget.toml"
"""


def any_level(generator: np.random.Generator) -> str:
    if generator.random() < 0.5:
        return f"eps = {float(f'{10 ** generator.uniform(-6, 0.7):.{generator.integers(1, 9)}g}')!r}"
    top, bottom = sorted(int(n) for n in generator.integers(1, 40, 2))
    return f'alpha = "{top}/{bottom + 1}"'


def any_file(generator: np.random.Generator) -> str:
    """A policy, a query and a mechanism of every kind, at random."""
    kind = str(generator.choice(["record", "count", "sum", "histogram"]))
    family = str(generator.choice(["geometric", "truncated-geometric", "randomised-response", "exponential",
                                   "tight-constraints"]))  # fmt: skip
    noise = family in ("geometric", "truncated-geometric")
    if kind == "record" and family == "geometric":
        family = "truncated-geometric"
    level = any_level(generator)
    if family == "exponential" and generator.random() < 0.5:
        level += '\nlevel = "nominal"'
    secrets = str(generator.choice(['"complete"', '"line"', "{ threshold = 2 }"]))
    if family in ("exponential", "tight-constraints") and "alpha" in level:
        level = "eps = 0.25"
    adjacency = "replace"
    if kind != "record" and secrets == '"complete"' and generator.random() < 0.3 and noise:
        adjacency = "add-remove"
    query = f'kind = "{kind}"' + ("\nwhere = [1, 2]" if kind == "count" else "")
    return FILE.format(
        values="{ range = [0, 3] }",
        secrets=secrets,
        records=1 if kind == "record" else int(generator.integers(1, 4)),
        adjacency=adjacency,
        query=query,
        mechanism=f'kind = "{family}"\n{level}',
    )


@pytest.mark.parametrize("seed", range(60))
def test_what_audit_says_is_what_release_charges(tmp_path: Path, seed: int) -> None:
    """To the last digit where the file writes ε, else within 10^-9 of it and never below."""
    (tmp_path / "file.toml").write_text(any_file(np.random.default_rng(seed)), encoding="utf-8")
    described = load_policy_scenario(tmp_path / "file.toml")
    try:
        charged = make_plan(described).eps
    except SievertError as problem:
        # What is refused has no charge; the audit says why, or the family has no outputs to list.
        assert any(
            word in str(problem) for word in ("claims ε", "no ε is large enough", "needs", "does not exist")
        ), problem
        return
    written = described.document.mechanism.eps
    found = sv.audit(described)
    assert found.satisfied
    if not found.listed:
        assert found.exact_eps == charged
        return
    # The audit takes differences of logarithms of floats, which are off by 10^-15 or so.
    assert charged >= Fraction(found.epsilon.nats) * (1 - Fraction(1, 10**12)) - Fraction(1, 10**14)
    if written is not None and found.epsilon.nats >= written * (1 - 1e-6):
        assert charged == Fraction(str(written))
    else:
        assert float(charged) <= found.epsilon.nats * (1 + 1e-8) + 1e-9 * min(1, found.epsilon.nats)


@pytest.mark.parametrize("eps", ["2e-05", "0.1", "0.7", "1e-07", "3.3"])
def test_a_designed_mechanism_costs_exactly_its_own_epsilon(tmp_path: Path, eps: str) -> None:
    """A budget of exactly the ε of the design is enough."""
    text = FILE.format(
        values='["yes", "no"]', secrets='"complete"', records=6, adjacency="replace",
        query='kind = "count"\nwhere = ["yes"]', mechanism=f'matrix = "optimal.npz"\neps = {eps}',
    )  # fmt: skip
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    policy = sv.Policy.differential(["yes", "no"], 6)
    answers = sv.Query.count(["yes"]).answers(policy)
    prior = np.array([0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05])
    made = sv.optimal_mechanism(answers.metric, float(eps), prior, sv.losses.absolute(list(range(7))))
    sv.save(made.mechanism, tmp_path / "optimal.npz")
    described = load_policy_scenario(tmp_path / "file.toml")
    charged = make_plan(described).eps
    nats = sv.audit(described).epsilon.nats
    assert charged == Fraction(eps) or float(charged) <= nats * (1 + 1e-8)
    assert charged <= Fraction(eps)


# ── intervals ────────────────────────────────────────────────────────────────────────────────────
