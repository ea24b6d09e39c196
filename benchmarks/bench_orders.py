"""Refinement against qif: every path of the decision by itself, and structured pairs far beyond matrices.

qif's `refined_by_witness` is the like-for-like peer, since ours always returns R or an adversary. It runs in
a process of its own, stopped after two processor seconds; then the note says so, with the least ratio that
this leaves, and larger sizes are not tried. Both sides are processor seconds, so that a busy machine does not
count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import sievert as sv
from benchmarks.bounded import bounded
from benchmarks.harness import Row, timed
from sievert.orders._deficiency import deficiency

LIMIT = 2.0
# A call of ours that takes longer is not repeated.
LONG = 0.3
SIZES = (20, 50, 100, 200)
Matrix = NDArray[np.float64]


def run() -> list[Row]:
    """Each kind of pair at four sizes, with qif's boolean and its witness."""
    rows = [row for name in KINDS for row in pairs(name)]
    return rows + structured() + exact() + deficiencies()


def pairs(name: str, limit: float = LIMIT) -> list[Row]:
    """One kind of pair at every size."""
    make, expected = KINDS[name]
    rows = []
    alive = {"refined_by": True, "refined_by_witness": True}
    for n in SIZES:
        a, b = make(n, np.random.default_rng(n))
        first, second = sv.Channel(a), sv.Channel(b, normalise=True)
        start = time.process_time()
        verdict = sv.refines(first, second)
        ours = time.process_time() - start
        assert verdict.holds is expected, (name, n, verdict)
        if ours <= LONG:
            ours = seconds_of(lambda first=first, second=second: sv.refines(first, second))
        for function, running in list(alive.items()):
            seconds = bounded("qif.refinement", function, (a, b), limit) if running else None
            note = verdict.method
            if not running:
                note += "; qif not tried"
            elif seconds is None:
                note += "; qif fails"
            elif seconds == math.inf:
                note += f"; qif over {limit:g} s, at least {limit / ours:.2g}×"
            if seconds == math.inf:
                seconds = None
            alive[function] = seconds is not None
            rows.append(Row(name, n, ours, f"qif {function}", seconds, note))
    return rows


def seconds_of(function: Callable[[], object]) -> float:
    """Processor seconds a call, the best of three; of one call where it is long."""
    start = time.process_time()
    function()
    once = time.process_time() - start
    return once if once > LONG else timed(function, repeat=3, clock="cpu")


def _random(rng: np.random.Generator, n: int, m: int) -> Matrix:
    table = rng.random((n, m))
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _sparse(rng: np.random.Generator, n: int, m: int, entries: int) -> Matrix:
    table = np.zeros((n, m))
    for row in table:
        row[rng.choice(m, min(entries, m), replace=False)] = rng.random(min(entries, m)) + 0.1
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _low_rank(rng: np.random.Generator, n: int) -> Matrix:
    return np.asarray(_random(rng, n, n // 2) @ _random(rng, n // 2, 3 * n // 2))


def _inside_hull(n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """B = A·M with M ≥ 0, so posteriors are inside the hull, but M's rows sum to 1 + a null vector of A."""
    a = _random(rng, n, 3 * n // 2)
    null = np.linalg.svd(a)[2][n:]
    shift = rng.standard_normal(len(null)) @ null
    scale = 1 + 0.9 * shift / np.abs(shift).max()
    return a, a @ (scale[:, None] * _sparse(rng, a.shape[1], n, 1))


Maker = Callable[[int, np.random.Generator], tuple[Matrix, Matrix]]
KINDS: dict[str, tuple[Maker, bool]] = {
    "square false": (lambda n, r: (_random(r, n, n), _random(r, n, n)), False),
    "square true": (lambda n, r: _degraded(_random(r, n, n), _random(r, n, n)), True),
    "wide false": (lambda n, r: (_random(r, n, 3 * n // 2), _random(r, n, n)), False),
    "2n outputs, false": (lambda n, r: (_random(r, n, 2 * n), _random(r, n, n)), False),
    "wide false, max and privacy hold": (_inside_hull, False),
    "wide true": (lambda n, r: _degraded(_random(r, n, 3 * n // 2), _random(r, 3 * n // 2, n)), True),
    "2n outputs, true": (lambda n, r: _degraded(_random(r, n, 2 * n), _random(r, 2 * n, n)), True),
    "wide true, R deterministic": (
        lambda n, r: _degraded(_random(r, n, 3 * n // 2), _sparse(r, 3 * n // 2, n, 1)),
        True,
    ),
    "wide true, R 3 a row": (
        lambda n, r: _degraded(_random(r, n, 3 * n // 2), _sparse(r, 3 * n // 2, n, 3)),
        True,
    ),
    "rank n/2, true, R 3 a row": (
        lambda n, r: _degraded(_low_rank(r, n), _sparse(r, 3 * n // 2, n, 3)),
        True,
    ),
    "sparse false": (lambda n, r: (_sparse(r, n, 3 * n // 2, 5), _sparse(r, n, n, min(n, 20))), False),
    "sparse true": (lambda n, r: _degraded(_sparse(r, n, 3 * n // 2, 5), _sparse(r, 3 * n // 2, n, 5)), True),
}


def _degraded(a: Matrix, post: Matrix) -> tuple[Matrix, Matrix]:
    return a, a @ post


def structured() -> list[Row]:
    """Families by their column tests, two secrets by ROC curves, programs by partitions."""
    rows = []
    for n in (100, 300, 1000):
        tg, rr = sv.mechanisms.truncated_geometric(n, 1.0), sv.mechanisms.randomised_response(n, 0.7)
        for channel in (tg, rr):
            channel.rounded()
        rows.append(Row("TG against R, true", n, seconds_of(lambda a=tg, b=rr: sv.refines(a, b))))
        rows.append(Row("R against TG, false", n, seconds_of(lambda a=rr, b=tg: sv.refines(a, b))))
        exact = [
            sv.mechanisms.truncated_geometric(n, alpha="1/2"),
            sv.mechanisms.randomised_response(n, alpha="2/3"),
        ]
        seconds = seconds_of(lambda pair=exact: sv.refines(*pair))
        rows.append(Row("TG against R at the boundary, exact", n, seconds))
        binary = _degraded(
            _random(np.random.default_rng(n), 2, n), _sparse(np.random.default_rng(1), n, n // 4, 1)
        )
        pair = [sv.Channel(binary[0]), sv.Channel(binary[1], normalise=True)]
        rows.append(Row("two secrets, n outputs", n, seconds_of(lambda pair=pair: sv.refines(*pair))))
        programs = [sv.Channel.from_function(lambda h, m=m: h % m, n * 100) for m in (64, 32)]
        rows.append(
            Row(
                "programs on 100·n secrets",
                n,
                seconds_of(lambda p=programs: sv.refines(*p)),
            )
        )
    return rows


def exact() -> list[Row]:
    """Rational pairs decided with proof, the float step included."""
    rows = []
    for n in (20, 50, 100):
        rng = np.random.default_rng(n)
        a = sv.Channel(rng.integers(1, 100, (n, n)).tolist(), normalise=True)
        post = sv.Channel(rng.multinomial(64, np.ones(n) / n, n).tolist(), normalise=True)
        pairs = {"exact square true": a.then(post)}
        pairs["exact square false"] = sv.Channel(rng.integers(1, 100, (n, n)).tolist(), normalise=True)
        for name, b in pairs.items():
            rows.append(Row(name, n, seconds_of(lambda a=a, b=b: sv.refines(a, b))))
    return rows


def deficiencies() -> list[Row]:
    """Le Cam deficiency with its bracket; qif's add_metric (gains at most 1, any loss) comes nearest."""
    rows = []
    for n in (20, 50, 100):
        rng = np.random.default_rng(n)
        a, b = (_random(rng, n, n) for _ in range(2))
        pair = sv.Channel(a), sv.Channel(b)
        start = time.process_time()
        found = deficiency(*pair)
        ours = time.process_time() - start
        theirs = bounded("qif.refinement", "add_metric", (np.full(n, 1 / n), a, b), LIMIT)
        ended = "; qif fails" if theirs is None else "; qif stopped" if theirs == math.inf else ""
        width = f"bracket {found.upper - found.lower:.1e}{ended}"
        theirs = None if theirs == math.inf else theirs
        rows.append(Row("deficiency, square", n, ours, "qif add_metric", theirs, width))
    return rows
