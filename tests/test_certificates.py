"""Every certificate that the library hands out holds, after a trip through JSON, where there is no solver."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.estimation import prove_likelihood, prove_transport
from sievert.files import load_policy_scenario
from sievert.limits import worst_about, worst_leakage
from sievert.proofs import Proof, save_proof
from sievert.release import make_plan, noise_proof

CHECK = (
    "import sys\n"
    "for name in ('highspy', 'scipy.optimize'): sys.modules[name] = None\n"
    "from sievert.proofs._base import verify\n"
    "for path in sys.argv[1:]: print(path, verify(path))\n"
)
Rng = np.random.Generator


def fractions(rng: Rng, rows: int, columns: int) -> list[list[str]]:
    """A channel of small fractions, some of them 0."""
    table = rng.integers(0, 6, (rows, columns))
    table[np.arange(rows), rng.integers(0, columns, rows)] += 1
    return [[str(Fraction(int(v), int(row.sum()))) for v in row] for row in table]


def a_graph(rng: Rng) -> sv.Graph:
    size = int(rng.integers(2, 9))
    pairs = [(i, j) for i in range(size) for j in range(i) if rng.random() < 0.4]
    return sv.Graph(range(size), pairs)


def limits(rng: Rng) -> Iterator[Proof | None]:
    eps = float(rng.choice([0.1, 0.7, 2.0, 9.0]))
    graph = a_graph(rng)
    prior = rng.dirichlet(np.ones(graph.size))
    yield sv.worst_leakage(graph, eps).certificate
    yield sv.worst_leakage(graph, eps, prior=prior).certificate
    metric = sv.metrics.euclidean(rng.random((int(rng.integers(3, 9)), 2)))
    yield sv.worst_leakage(metric, eps).certificate
    size = int(rng.integers(2, 5))
    yield sv.worst_leakage(sv.Policy.differential(size, 2), eps).certificate


def one_way_limits(rng: Rng) -> Iterator[Proof | None]:
    """Databases that are permitted or not, so that some inequalities hold in one direction only."""
    eps = float(rng.choice([0.1, 0.7, 2.0, 9.0]))
    every = list(product(range(3), repeat=3))
    permitted = [every[i] for i in np.flatnonzero(rng.random(27) < 0.5)]
    policy = sv.Policy.blowfish(sv.secrets.line(3), 3, permitted=permitted)
    yield worst_leakage(policy.adjacency(directed=True), eps).certificate


def limits_of_groups(rng: Rng) -> Iterator[Proof | None]:
    eps = float(rng.choice([0.1, 0.7, 2.0, 9.0]))
    graph = a_graph(rng)
    points = np.flatnonzero(rng.random(graph.size) < 0.6).tolist() or [0]
    yield worst_about(graph, eps, points).certificate
    yield worst_leakage(sv.graphs.cycle(5), eps, outputs=int(rng.integers(1, 4))).certificate
    permitted = [(i, int(rng.integers(3))) for i in range(1, 5)] + [(0, 2)]
    policy = sv.Policy.blowfish(sv.secrets.line(5), 2, permitted=permitted)
    yield worst_leakage(policy, eps, individual=True).certificate


NOISY = """version = 1
[policy]
values = {values}
secrets = "{secrets}"
records = {records}
[query]
kind = "{query}"
[mechanism]
kind = "geometric"
{level}
[data]
input = "data.csv"
column = "x"
[release]
ledger = "budget.toml"
"""


def noise(rng: Rng) -> Iterator[Proof | None]:
    values = sorted(rng.choice(50, int(rng.integers(2, 6)), replace=False).tolist())
    for query in ("sum", "histogram"):
        for secrets in ("complete", "line"):
            for level in (f"eps = {rng.random() * 3 + 1e-3}", 'alpha = "2/3"', "eps = 1e-9"):
                records = int(rng.integers(1, 6))
                text = NOISY.format(values=values, secrets=secrets, records=records, query=query, level=level)
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "file.toml"
                    path.write_text(text, encoding="utf-8")
                    yield noise_proof(make_plan(load_policy_scenario(path)))


def a_metric_of_many_points(rng: Rng) -> Iterator[Proof | None]:
    yield sv.worst_leakage(sv.metrics.euclidean(rng.random((70, 2))), 1.5).certificate


def claims(rng: Rng) -> Iterator[Proof | None]:
    eps, delta = float(rng.choice([0.1, 1.0, 3.0])), float(rng.choice([0.0, 1e-6, 0.05]))
    values, releases = int(rng.integers(2, 6)), int(rng.choice([1, 2, 7, 40]))
    prior = rng.dirichlet(np.ones(values))
    yield sv.explain(eps=eps, delta=delta, values=values, releases=releases).certificate
    yield sv.explain(eps=eps, delta=delta, prior=prior, releases=releases).certificate
    graph = sv.graphs.path(4)
    yield sv.explain(eps=eps, delta=delta, policy=graph, prior=rng.dirichlet(np.ones(4))).certificate
    found = sv.weakest_claim(0.9, values=values)
    yield None if found.explanation is None else found.explanation.certificate


def designs(rng: Rng) -> Iterator[Proof | None]:
    size = int(rng.integers(2, 7))
    eps = float(rng.choice([1e-20, 0.2, 1.0, 5.0, 50.0]))
    prior, loss = rng.dirichlet(np.full(size, 0.5)), rng.normal(size=(size, size))
    for metric in (sv.metrics.line(size), sv.metrics.discrete(size), sv.metrics.cycle(max(size, 3))):
        if metric.size == size:
            yield sv.optimal_mechanism(metric, eps, prior, loss).certificate
        yield sv.optimal_mechanism(metric, eps).certificate
    yield sv.optimal_mechanism(sv.metrics.line(size), alpha="1/3", loss=sv.losses.absolute(size)).certificate
    yield sv.design.least_leakage(prior, sv.losses.absolute(size), 0.4).certificate
    yield sv.design.least_loss(prior, sv.losses.absolute(size), (1 + prior.max()) / 2).certificate


def optima_for_all_priors(rng: Rng) -> Iterator[Proof | None]:
    """Yes by theorem, blocks and cells, no with the worst prior, the least regret, and optima for a prior."""
    alpha = str(rng.choice(["1/3", "1/2", "4/5"]))
    metric = [sv.metrics.line, sv.metrics.discrete, sv.metrics.cycle][int(rng.integers(3))](3)
    kernels = sv.geometry.kernels(metric, alpha)
    kernel = kernels[int(rng.integers(len(kernels)))].channel
    for loss in (None, sv.losses.absolute(3), rng.integers(0, 4, (2, 3)).tolist()):
        yield sv.is_universally_optimal(kernel, metric, alpha=alpha, loss=loss).certificate
        yield sv.is_optimal(kernel, metric, alpha=alpha, loss=loss).certificate
    yield sv.design.minimax_regret(metric, alpha=alpha, loss=rng.integers(0, 4, (2, 3)).tolist()).certificate
    bits = rng.integers(0, 2, 5)
    bits[:2] = 0, 1
    versus = sv.Channel(sv.mechanisms.randomised_response(2, alpha=alpha).exact[bits].tolist())
    loss = [bits.tolist(), (2 - 2 * bits).tolist()]
    yield sv.is_universally_optimal(versus, sv.metrics.discrete(5), alpha=alpha, loss=loss).certificate


def comparisons(rng: Rng) -> Iterator[Proof | None]:
    size = int(rng.integers(2, 5))
    a, b = (sv.Channel(fractions(rng, size, int(rng.integers(1, 5)))) for _ in range(2))
    first, second = (sv.Channel(rng.dirichlet(np.ones(3), size)) for _ in range(2))
    after = sv.Channel(rng.dirichlet(np.ones(3), 3))
    pairs = [(a, b), (first, second), (first, first.then(after)), (a, a)]
    for one, other in pairs:
        for verdict in sv.compare(one, other).forward:
            yield verdict.certificate
    geometric = [sv.mechanisms.truncated_geometric(4, alpha=alpha) for alpha in ("1/3", "1/2")]
    response = [sv.mechanisms.randomised_response(4, alpha=alpha) for alpha in ("1/3", "1/2")]
    for one in (*geometric, *response):
        for other in (*geometric, *response):
            yield sv.refines(one, other).certificate


def capacities(rng: Rng) -> Iterator[Proof | None]:
    size, outputs = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    prior = rng.dirichlet(np.ones(size))
    for channel in (
        sv.Channel(rng.dirichlet(np.ones(outputs), size)),
        sv.Channel(rng.dirichlet(np.full(outputs, 0.05), size)),
        sv.Channel(fractions(rng, size, outputs)),
    ):
        yield sv.capacity(channel, kind="additive", gains="unit", prior=prior).certificate
        yield sv.capacity(channel, kind="additive", gains="unit").certificate


def estimates(rng: Rng) -> Iterator[Proof | None]:
    size = int(rng.integers(2, 6))
    channel = sv.mechanisms.randomised_response(size, 1.0)
    counts = rng.integers(0, 50, size) + 1
    yield prove_likelihood(sv.estimate(counts, channel, method="maximum-likelihood"), counts, channel)
    metric = sv.metrics.line(size)
    p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.full(size, 0.3))
    yield prove_transport(sv.kantorovich(p, q, metric), p, q, metric)


SOURCES: list[tuple[Callable[[Rng], Iterator[Proof | None]], int]] = [
    (limits, 12),
    (one_way_limits, 8),
    (limits_of_groups, 6),
    (noise, 4),
    (a_metric_of_many_points, 1),
    (claims, 12),
    (designs, 12),
    (optima_for_all_priors, 6),
    (comparisons, 8),
    (capacities, 20),
    (estimates, 8),
]


@pytest.mark.parametrize(("source", "times"), SOURCES, ids=[source.__name__ for source, _ in SOURCES])
def test_certificates_hold_where_there_is_no_solver(
    source: Callable[[Rng], Iterator[Proof | None]], times: int, tmp_path: Path
) -> None:
    paths: list[Any] = []
    for seed in range(times):
        for proof in source(np.random.default_rng(seed)):
            if proof is None:
                continue
            path = tmp_path / f"{seed}-{len(paths)}-{proof.kind.replace(' ', '-')}.json"
            path.write_text(save_proof(proof), encoding="utf-8")
            assert json.loads(path.read_text(encoding="utf-8"))["kind"] == proof.kind
            paths.append(path)
    assert len(paths) >= times
    done = subprocess.run(
        [sys.executable, "-c", CHECK, *map(str, paths)], capture_output=True, text=True, check=True
    )
    wrong = [line for line in done.stdout.splitlines() if "NOT verified" in line]
    assert not wrong, "\n".join(wrong)
    assert len(done.stdout.splitlines()) == len(paths)
