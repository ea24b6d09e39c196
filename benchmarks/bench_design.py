"""Optimal mechanisms against qif and plain models in HiGHS (also pdlp), with what each answer is worth.

Ours includes repair and certificate; the note of every row says our certified gap and whether the peer's
floats are private at all: "not private" means that its true ε is infinite or above what was asked. qif gets
its best setting, only pairs that no third point lies between. Peers run in a process of their own, stopped
after 10 s of processor time.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sievert as sv
from benchmarks.harness import Row, timed

LIMIT = 10.0
Matrix = NDArray[np.float64]


def run() -> list[Row]:
    """Lines, grids, random points, discrete metrics, cities, long lines and the leakage families."""
    return headline() + lines() + all_pairs() + spaces() + cities() + long_lines() + families()


def lines() -> list[Row]:
    """Line, absolute loss, uniform prior."""
    rows = []
    alive = {"qif": True, "scipy": True}
    for n in (10, 20, 50, 100, 200):
        metric, loss = sv.metrics.line(n), sv.losses.absolute(n)
        rows += compared("line, absolute loss, ε = 1", n, metric, np.full(n, 1 / n), loss, alive)
    return rows


def all_pairs() -> list[Row]:
    """The line of 50 points as one would state it first, with a constraint for every pair."""
    n = 50
    metric, loss = sv.metrics.line(n), sv.losses.absolute(n)
    every = sv.Metric(metric.matrix)
    best = sv.optimal_mechanism(every, 1.0, None, loss)
    assert best.certificate.verify().holds
    ours = timed(lambda: sv.optimal_mechanism(every, 1.0, None, loss), 3, "cpu")
    table = np.asarray(loss.matrix, dtype=float)
    done = bounded("qif", metric.matrix, np.full(n, 1 / n), table, limit=30.0, every=True)
    if done is None:
        note = "qif over 30 s"
    elif done[1] is None:
        note = "qif found no solution"
    else:
        note = f"qif {_privacy(done[1], metric)}"
    return [
        Row(
            "line, every pair constrained",
            n,
            ours,
            "qif",
            None if done is None else done[0],
            f"gap {best.gap:.0e}; {note}",
        )
    ]


def spaces() -> list[Row]:
    """Euclidean grids, random points, the discrete metric."""
    rows = []
    alive = {"qif": True, "scipy": True}
    for side in (6, 8, 10):
        metric = sv.metrics.euclidean(list(product(range(side), repeat=2)))
        n = side * side
        rows += compared(
            "grid, uniform prior", n, metric, np.full(n, 1 / n), sv.losses.distance(metric), alive
        )
    alive = {"qif": True, "scipy": True}
    for side in (6, 8):
        metric = sv.metrics.euclidean(list(product(range(side), repeat=2)))
        prior = np.random.default_rng(side).dirichlet(np.ones(side * side))
        loss = sv.losses.distance(metric)
        rows += compared("grid, random prior", side * side, metric, prior, loss, alive, repeat=1)
    alive = {"qif": True, "scipy": True}
    for n in (30, 50):
        points = 5 * np.random.default_rng(n).random((n, 2))
        metric = sv.metrics.euclidean(points)
        loss = sv.losses.distance(metric)
        rows += compared("random points", n, metric, np.full(n, 1 / n), loss, alive, repeat=1)
    alive = {"qif": True, "scipy": True}
    for n in (10, 20, 50, 100):
        metric, loss = sv.metrics.discrete(n), sv.losses.absolute(n)
        rows += compared("discrete metric, absolute loss", n, metric, np.full(n, 1 / n), loss, alive)
    return rows


# Peers of the largest programs, each stopped after so many seconds of processor time.
PEERS = ("scipy", "pdlp", "qif")
NAMES = {"scipy": "scipy HiGHS", "pdlp": "HiGHS pdlp", "qif": "qif"}
PATIENCE = 60.0


def cities() -> list[Row]:
    """Square cells, ε 0.5 for a cell, a random prior: certified gaps, and the peers with a limit of time."""
    rows, alive = [], dict.fromkeys(PEERS, True)
    for side, gap in ((6, 1e-4), (8, 1e-4), (10, 1e-3), (15, 1e-2)):
        n = side * side
        metric = sv.metrics.euclidean(list(product(range(side), repeat=2)))
        prior = np.random.default_rng(0).exponential(size=n)
        prior /= prior.sum()
        loss = sv.losses.distance(metric)
        begun = time.process_time()
        best = sv.optimal_mechanism(metric, 0.5, prior, loss, method="interior", gap=gap)
        seconds = time.process_time() - begun
        assert best.gap <= gap * float(best.loss)
        table = np.asarray(loss.matrix, dtype=float)
        name = f"city, random prior, gap {gap:g}"
        rows += beside(name, seconds, best, (0.5 * metric.matrix, prior, table), alive)
    return rows


def long_lines() -> list[Row]:
    """A line with a random loss, which no closed form fits, to a gap of 1e-6."""
    rows, alive = [], dict.fromkeys(PEERS, True)
    for n in (150, 300, 600, 1000):
        metric, loss = sv.metrics.line(n), np.random.default_rng(0).random((n, n))
        begun = time.process_time()
        best = sv.optimal_mechanism(metric, 0.5, None, loss, gap=1e-6)
        seconds = time.process_time() - begun
        assert best.gap <= 1e-6 * float(best.loss)
        problem = 0.5 * metric.matrix, np.full(n, 1 / n), loss
        rows += beside("line, random loss, gap 1e-6", seconds, best, problem, alive)
    return rows


def beside(
    name: str,
    seconds: float,
    best: Any,
    problem: tuple[Matrix, Matrix, Matrix],
    alive: dict[str, bool],
) -> list[Row]:
    """A row for each peer, with what its answer loses; one that was stopped is not asked for larger sizes."""
    rows = []
    _, prior, table = problem
    for peer in PEERS:
        done = bounded(peer, *problem, limit=PATIENCE) if alive[peer] else None
        alive[peer] = done is not None and done[1] is not None
        note = f"certified within {best.gap / float(best.loss):.1e}"
        if done is None:
            note += f"; {NAMES[peer]} over {PATIENCE:g} s"
        elif done[1] is None:
            note += f"; {NAMES[peer]} found no solution"
        else:
            theirs = float((prior[:, None] * table.T * done[1]).sum())
            note += f"; {NAMES[peer]} loses {theirs / float(best.loss) - 1:+.1e} of ours"
        rows.append(Row(name, len(prior), seconds, NAMES[peer], None if done is None else done[0], note))
    return rows


def compared(
    name: str,
    n: int,
    metric: sv.Metric,
    prior: Matrix,
    loss: Any,
    alive: dict[str, bool],
    repeat: int = 3,
) -> list[Row]:
    """One row a peer; a peer that was stopped is not asked for larger sizes."""
    best = sv.optimal_mechanism(metric, 1.0, prior, loss)
    assert best.certificate.verify().holds
    ours = timed(lambda: sv.optimal_mechanism(metric, 1.0, prior, loss), repeat, "cpu")
    rows = []
    for peer, running in list(alive.items()):
        done = bounded(peer, metric.matrix, prior, np.asarray(loss.matrix, dtype=float)) if running else None
        alive[peer] = done is not None
        if done is None:
            note = f"gap {best.gap:.0e}; {peer} over {LIMIT:g} s"
        elif done[1] is None:
            note = f"gap {best.gap:.0e}; {peer} found no solution"
        else:
            note = f"gap {best.gap:.0e}; {peer} {_privacy(done[1], metric)}"
        rows.append(Row(name, n, ours, peer, None if done is None else done[0], note))
    return rows


def _privacy(channel: Matrix, metric: sv.Metric, eps: float = 1.0) -> str:
    """What the floats that a peer returned really satisfy."""
    table = np.maximum(channel, 0.0)
    found = sv.epsilon(sv.Channel(table, metric.points, normalise=True), metric).nats
    if np.isinf(found):
        return "not private (ε infinite)"
    if found <= eps * (1 + 1e-12):
        return "private to rounding"
    return f"not private (ε = {eps:g} + {found - eps:.0e})"


def bounded(
    peer: str,
    distances: Matrix,
    prior: Matrix,
    loss: Matrix,
    limit: float = LIMIT,
    every: bool = False,
) -> tuple[float, Matrix | None] | None:
    """Processor seconds and answer of a peer in its own process, or None when it is stopped at the limit.

    With `every` it is given all pairs as constraints, not only those without a third point between them.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_peer, args=(peer, distances, prior, loss, sender, limit, every))
    process.start()
    sender.close()
    try:
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        return None  # stopped by the system
    finally:
        process.join()


def _peer(
    peer: str, distances: Matrix, prior: Matrix, loss: Matrix, sender: Any, limit: float, every: bool
) -> None:
    solvers: dict[str, Callable[..., Matrix | None]] = {"qif": _qif, "scipy": _scipy, "pdlp": _pdlp}
    solve = solvers[peer]
    # What is imported on the first call does not count.
    solve(np.ones((2, 2)) - np.eye(2), np.full(2, 0.5), 1 - np.eye(2), ~np.eye(2, dtype=bool))
    needed = ~np.eye(len(prior), dtype=bool) if every else _needed(distances)
    used = time.process_time()
    # Processor time, so that a busy machine does not stop anybody early.
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + limit), int(used + limit)))
    start = time.process_time()
    try:
        found = solve(distances, prior, loss, needed)
    except RuntimeError:
        # qif's word for a solver that gave up.
        found = None
    sender.send((time.process_time() - start, found))


def _needed(distances: Matrix) -> NDArray[np.bool_]:
    """Pairs without a third point between them."""
    needed = ~np.eye(len(distances), dtype=bool)
    for y in range(len(distances)):
        between = distances[:, y, None] + distances[None, y, :] <= distances * (1 + 1e-12)
        between[y, :] = between[:, y] = False
        needed &= ~between
    return needed


def _qif(distances: Matrix, prior: Matrix, loss: Matrix, needed: NDArray[np.bool_]) -> Matrix:
    import qif

    # d_priv_ch is true where a pair may be skipped.
    found = qif.mechanism.d_privacy.min_loss_given_d(
        prior,
        len(loss),
        lambda x, z: distances[int(x), int(z)],
        lambda w, x: loss[int(w), int(x)],
        d_priv_ch=lambda x, z: not needed[int(x), int(z)],
    )
    return np.asarray(found)


def _model(distances: Matrix, prior: Matrix, loss: Matrix, needed: NDArray[np.bool_]) -> tuple[Any, ...]:
    """The textbook model: cost, inequalities ≤ 0, equations = 1; sparse."""
    from scipy.sparse import coo_array, kron

    n, m = len(prior), len(loss)
    x, z = np.nonzero(needed)
    row = np.arange(len(x) * m)
    pair, w = np.divmod(row, m)
    matrix = coo_array(
        (
            np.concatenate([-np.ones(len(row)), np.exp(-distances[x, z])[pair]]),
            (np.concatenate([row, row]), np.concatenate([x[pair] * m + w, z[pair] * m + w])),
        ),
        shape=(len(row), n * m),
    )
    return (prior[:, None] * loss.T).ravel(), matrix.tocsr(), kron(np.eye(n), np.ones((1, m))).tocsr()


def _scipy(distances: Matrix, prior: Matrix, loss: Matrix, needed: NDArray[np.bool_]) -> Matrix | None:
    """HiGHS behind linprog."""
    from scipy.optimize import linprog

    cost, matrix, sums = _model(distances, prior, loss, needed)
    found = linprog(
        cost,
        A_ub=matrix,
        b_ub=np.zeros(matrix.shape[0]),
        A_eq=sums,
        b_eq=np.ones(sums.shape[0]),
        method="highs",
    )
    return None if found.x is None else np.asarray(found.x).reshape(len(prior), len(loss))


def _pdlp(distances: Matrix, prior: Matrix, loss: Matrix, needed: NDArray[np.bool_]) -> Matrix | None:
    """The first-order method of HiGHS, to its tolerance of 1e-4."""
    import highspy
    from scipy.sparse import vstack

    cost, matrix, sums = _model(distances, prior, loss, needed)
    rows = vstack([matrix, sums]).tocsr()
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(cost), rows.shape[0]
    program.col_cost_, program.col_lower_ = cost, np.zeros(len(cost))
    program.col_upper_ = np.full(len(cost), highspy.kHighsInf)
    equal = np.ones(sums.shape[0])
    program.row_lower_ = np.concatenate([np.full(matrix.shape[0], -highspy.kHighsInf), equal])
    program.row_upper_ = np.concatenate([np.zeros(matrix.shape[0]), equal])
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
    program.a_matrix_.value_ = rows.data
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("solver", "pdlp")
    solver.setOptionValue("pdlp_optimality_tolerance", 1e-4)
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.asarray(solver.getSolution().col_value).reshape(len(prior), len(loss))


def headline() -> list[Row]:
    """How many of qif's line mechanisms are private: ε 0.5, 1, 2 and n = 10, 15, …, 100, against ours."""
    cases = infinite = beyond = below = ours_private = 0
    worst = theirs_seconds = 0.0
    start = time.process_time()
    for eps, n in product((0.5, 1.0, 2.0), range(10, 101, 5)):
        metric, loss = sv.metrics.line(n), sv.losses.absolute(n)
        needed, table = _needed(metric.matrix), np.asarray(loss.matrix, dtype=float)
        begin = time.process_time()
        channel = _qif(eps * metric.matrix, np.full(n, 1 / n), table, needed)
        theirs_seconds += time.process_time() - begin
        cases += 1
        answer = _privacy(channel, metric, eps)
        infinite += "infinite" in answer
        beyond += "+" in answer
        best = sv.optimal_mechanism(metric, eps, None, loss)
        below += float((channel * table.T).sum() / n) < best.lower_bound - 1e-12
        ours_private += best.certificate.verify().holds
        worst = max(worst, best.gap)
    ours_seconds = time.process_time() - start - theirs_seconds
    note = (
        f"qif not private in {infinite + beyond} of {cases} ({infinite} with ε infinite), its loss "
        f"below every private mechanism's in {below}; ours proved private in {ours_private}, largest gap "
        f"{worst:.0e}"
    )
    return [Row("lines, ε 0.5, 1, 2, n = 10…100, verified", cases, ours_seconds, "qif", theirs_seconds, note)]


def families() -> list[Row]:
    """Least leakage for a loss of 1, least loss for a quarter of the way to certainty."""
    import qif

    bayes, general = qif.mechanism.bayes_vuln, qif.mechanism.g_vuln
    rows = []

    def absolute(w: Any, x: Any) -> float:
        return abs(float(w) - float(x))

    def near(w: Any, x: Any) -> float:
        return max(0.0, 1 - abs(float(w) - float(x)) / 2)

    for n in (10, 20, 50):
        prior = np.random.default_rng(n).dirichlet(np.ones(n))
        loss = sv.losses.absolute(n)
        gain = np.maximum(0, 1 - np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 2)
        blind = float((gain * prior).sum(axis=1).max())
        limit, other = prior.max() + (1 - prior.max()) / 4, blind + (1 - blind) / 4
        cases: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
            (
                "least Bayes leakage",
                lambda p=prior, q=loss: sv.design.least_leakage(p, q, 1.0),
                lambda p=prior, k=n: bayes.min_vuln_given_max_loss(p, k, 1.0, absolute),
            ),
            (
                "least loss, Bayes",
                lambda p=prior, q=loss, v=limit: sv.design.least_loss(p, q, v),
                lambda p=prior, k=n, v=limit: bayes.min_loss_given_max_vuln(p, k, v, absolute),
            ),
            (
                "least g-leakage",
                lambda p=prior, q=loss, g=gain: sv.design.least_leakage(p, q, 1.0, g),
                lambda p=prior, k=n: general.min_vuln_given_max_loss(p, k, k, 1.0, near, absolute),
            ),
            (
                "least loss, g",
                lambda p=prior, q=loss, g=gain, v=other: sv.design.least_loss(p, q, v, g),
                lambda p=prior, k=n, v=other: general.min_loss_given_max_vuln(p, k, k, v, near, absolute),
            ),
        ]
        for name, ours, theirs in cases:
            gap = f"gap {ours().gap:.0e}"
            rows.append(Row(name, n, timed(ours, 3, "cpu"), "qif", timed(theirs, 3, "cpu"), gap))
    return rows
