"""Chapter 6: optimal discrete mechanisms, the worked examples and the two tables of kernels, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

from flint import fmpq, fmpq_mat

import sievert as sv
from papers.page import Entry, Page

HALF = "1/2"


def build() -> Page:
    """Every worked number of the chapter, at e^-ε = 1/2 unless it says otherwise."""
    rows, entries = _tables()
    entries = [
        *_losses(),
        *_geometry(),
        *_average_or_not(),
        *_discrete(),
        *_cube(),
        *_restrictions(),
        *_galton(),
        *entries,
    ]
    remarks = [
        "Kernels are the basic solutions of Σ a·v = (1/n, …) over the extreme private posteriors v, counted "
        "by their support.",
        "Heights are Galton's 928 children in three classes (Tall 402, Average 258, Short 268): the chapter "
        "has no data. For them, and for the losses of the figures, where the chapter prints no number, the "
        "one compared with comes from an independent computation.",
        "The other errata of the chapter are on the page of its shapes, as cases that run.",
    ]
    header = ["kernels", "e^-ε = 1/3", "1/2", "2/3"]
    title = "Chapter 6: optimal discrete mechanisms"
    return Page(title, "Fernandes (2021)", header, rows, entries, remarks, agreeing=True)


def _text(value: Any) -> str:
    return str(Fraction(value))


def _lost(channel: sv.Channel, loss: Any, prior: Any = None) -> str:
    """Expected loss with the best action for each output."""
    return _text(sv.remap(channel, prior, loss).after)


def _best(metric: sv.Metric, loss: Any, prior: Any = None, alpha: str = HALF) -> str:
    """The exact optimum, verified."""
    found = sv.optimal_mechanism(metric, alpha=alpha, prior=prior, loss=loss)
    if found.gap != 0 or not found.certificate.verify().holds:
        raise AssertionError(f"not proved optimal: {found}")
    return _text(found.loss)


def _show(values: Any) -> str:
    return " ".join(_text(value) for value in values)


def _losses() -> list[Entry]:
    channel = sv.Channel([["3/4", "1/8", "1/8"], ["2/3", 0, "1/3"], ["1/4", "1/4", "1/2"]])
    loss = sv.losses.matrix([[0, 1, 1], [1, 0, 0]])
    first = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"]])
    second = sv.Channel([["2/3", "1/6", "1/12", "1/12"], ["1/3", "1/3", "1/6", "1/6"]])
    alike = sv.refines(first, second).holds and sv.refines(second, first).holds
    return [
        Entry("Ex 6.1, uniform prior", "1/3", _lost(channel, loss)),
        Entry("Ex 6.1, prior (1/2, 1/4, 1/4)", "17/48", _lost(channel, loss, ["1/2", "1/4", "1/4"])),
        Entry("Sec 6.2, equivalent channels", "yes", "yes" if alike else "no"),
    ]


def _geometry() -> list[Entry]:
    found = sv.optimal_mechanism(sv.metrics.line(3), alpha=HALF)
    exact = found.mechanism.exact
    assert exact is not None
    vertices = [_show(row) for row in posteriors(3, [(0, 1), (1, 2)], Fraction(1, 2))]
    printed = ["2/5 1/5 2/5", "4/7 2/7 1/7", "1/4 1/2 1/4", "1/7 2/7 4/7"]
    entries = [
        Entry(f"Fig 6.2, vertex {name}", text, text if text in vertices else "no vertex")
        for name, text in zip("ABCD", printed, strict=True)
    ]
    entries.append(Entry("Fig 6.2, number of vertices", "4", str(len(vertices))))
    for x, text in enumerate(["2/3 1/6 1/6", "1/3 1/3 1/3", "1/6 1/6 2/3"]):
        entries.append(Entry(f"Ex 6.2, row {x} of the optimum G3", text, _show(exact[x])))
    outers = exact.sum(axis=0) / 3
    entries.append(Entry("Ex 6.2, outers of G3 (B, C, D)", "7/18 2/9 7/18", _show(outers)))
    two = sv.optimal_mechanism(sv.metrics.line(2), alpha=HALF).mechanism.exact
    assert two is not None
    entries.append(Entry("Fig 6.1, two inputs", "2/3 1/3", _show(two[0])))
    cycle = len(vertex_levels(4, [(0, 1), (1, 2), (2, 3), (0, 3)]))
    line = len(vertex_levels(4, [(0, 1), (1, 2), (2, 3)]))
    note = "E11: the line has 2^(n-1) vertices, and the cycle fewer; 2(n-1) is a bound for all metrics."
    entries.append(Entry("Lem B1, vertices of the line, n = 4", "6", str(line), note))
    fewest = "yes" if line <= cycle else "no"
    entries.append(Entry("Lem B1, no metric on 4 points has fewer vertices", "yes", fewest, note))
    return entries


def _average_or_not() -> list[Entry]:
    loss = sv.losses.matrix([["7/10", 0, "7/10"], ["3/10", 1, "3/10"]])
    other = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
    geometric = sv.mechanisms.truncated_geometric(3, alpha=HALF)
    return [
        Entry("Sec 6.7.3, H", "2/5", _lost(other, loss)),
        Entry("Sec 6.7.3, G", "7/15", _lost(geometric, loss)),
        Entry("Sec 6.7.3, optimum", "2/5", _best(sv.metrics.line(3), loss)),
    ]


def _discrete() -> list[Entry]:
    discrete = sv.metrics.discrete(3)
    response = sv.mechanisms.randomised_response(3, alpha=HALF)
    last = sv.Channel([["1/3", "2/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
    first = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
    middle = sv.Channel([["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
    loss = sv.losses.matrix([[3, 1, 0], [0, 1, 3]])
    height = sv.losses.matrix([[0, 1, 0], [1, 0, 0]])
    forgotten = "E4: the factor 1/3 of the prior is forgotten."
    risk = sv.losses.bayes_risk(3)
    reversed_response = sv.Channel([["1/5" if x == y else "2/5" for y in range(3)] for x in range(3)])
    return [
        Entry("Ex 6.5, K_A", "1", _lost(last, loss)),
        Entry("Ex 6.5, K_B", "1", _lost(first, loss)),
        Entry("Ex 6.5, randomised response", "13/12", _lost(response, loss)),
        Entry("Ex 6.5, optimum", "1", _best(discrete, loss)),
        Entry("Sec 6.8.1, U(ν, R)", "3/4", _lost(response, height), forgotten),
        Entry("Sec 6.8.1, U(ν, K)", "2/3", _lost(middle, height), forgotten),
        Entry("Sec 6.8.1, optimum is K", _lost(middle, height), _best(discrete, height)),
        Entry(
            "Appendix A.5, alpha on the diagonal is randomised response",
            "yes",
            "yes" if _lost(reversed_response, risk) == _lost(response, risk) else "no",
            f"E14: it is the other kernel, of Bayes risk {_lost(reversed_response, risk)} instead of "
            f"{_lost(response, risk)}.",
        ),
    ]


def _cube() -> list[Entry]:
    cube = sv.metrics.hamming(3, 2)
    four = sv.mechanisms.truncated_geometric(4, alpha=HALF).exact
    channel = sv.Channel([four[sum(point)].tolist() for point in cube.points], inputs=cube.points)
    risk = sv.losses.bayes_risk(cube.points)
    hamming = sv.losses.matrix(cube.matrix.astype(int).tolist(), cube.points, secrets=cube.points)
    heavy = sv.losses.property(cube.points, lambda point: sum(point) >= 2)
    return [
        Entry("Fig 6.5, outers", "9/32 7/32 7/32 9/32", _show(channel.exact.sum(axis=0) / 8)),
        Entry("Fig 6.5, row of weight 1", "1/3 1/3 1/6 1/6", _show(four[1])),
        Entry("Fig 6.5, Bayes risk of K", "3/4", _lost(channel, risk)),
        Entry("Fig 6.5, least Bayes risk", "19/27", _best(cube, risk)),
        Entry("Fig 6.5, Hamming loss of K", "9/8", _lost(channel, hamming)),
        Entry("Fig 6.5, least Hamming loss", "1", _best(cube, hamming)),
        Entry("Fig 6.5, weight ≥ 2, optimum", "7/24", _best(cube, heavy)),
        Entry("Fig 6.5, weight ≥ 2, K", "7/24", _lost(channel, heavy)),
        *_geodesics(),
    ]


def _geodesics() -> list[Entry]:
    """On which shortest paths of three and four points K and product RR are the geometric mechanism."""
    cube = sv.metrics.hamming(3, 2)
    by_weight = sv.mechanisms.pull_back(cube, (0, 0, 0), alpha=HALF)
    response = sv.mechanisms.tight_constraints(cube, alpha=HALF)
    entries = []
    for name, channel, printed in (("K", by_weight, ("24", "12")), ("product RR", response, ("0", "0"))):
        for size, text in zip((3, 4), printed, strict=True):
            same = sum(is_geometric(channel, walk) for walk in geodesics(cube, size))
            entries.append(
                Entry(f"Sec 6.9, geodesics of {size} points on which {name} is G{size}", text, str(same))
            )
    return entries


def geodesics(metric: sv.Metric, size: int) -> list[tuple[Any, ...]]:
    """Ordered shortest paths of so many points, one step each."""
    return [
        walk
        for walk in permutations(metric.points, size)
        if all(metric.distance(walk[i], walk[j]) == j - i for i in range(size) for j in range(i, size))
    ]


def is_geometric(channel: sv.Channel, walk: tuple[Any, ...]) -> bool:
    """Whether a mechanism, for the inputs of a path, is the geometric one on a line."""
    rows = sv.Channel([channel.exact[channel.inputs.index(point)].tolist() for point in walk])
    geometric = sv.mechanisms.truncated_geometric(len(walk), alpha=HALF)
    return rows.hyper().is_same(geometric.hyper())


def _restrictions() -> list[Entry]:
    channel = sv.Channel([["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/2", "1/4", "1/4"]])
    loss = sv.losses.matrix([[3, 0, 0], [1, 2, 0]])
    ends = sv.Channel(sv.mechanisms.truncated_geometric(3, alpha=HALF).exact[[0, 2]].tolist())
    kept, least = _lost(ends, sv.losses.bayes_risk(2)), _best(sv.metrics.line([0, 2]), None)
    return [
        Entry("Sec 6.5.4, loss of M", "7/9", _lost(channel, loss)),
        Entry(
            "Cor 6.23, G3 restricted to its ends is optimal there",
            "yes",
            "yes" if kept == least else "no",
            f"E5: it loses {kept}, the best mechanism on the ends {least}.",
        ),
    ]


def _galton() -> list[Entry]:
    prior = [Fraction(count, 928) for count in (402, 258, 268)]
    table = {
        "Tall or Average": (
            [[0, 1, 0], [1, 0, 0]],
            "0.278017 0.164871 0.142241 0.142241 0.142241 0.142241",
        ),
        "Bayes risk": (
            [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
            "0.566810 0.333333 0.431034 0.255603 0.333333 0.255603",
        ),
        "Sec 6.7.3": (
            [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]],
            "0.494612 0.357399 0.329957 0.371121 0.329957 0.329957",
        ),
        "absolute error": (
            [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
            "0.721983 0.453664 0.662069 0.291703 0.453664 0.291703",
        ),
    }
    blind = sv.Channel([[1]] * 3)
    response = sv.mechanisms.randomised_response(3, alpha="1/4")
    average = sv.mechanisms.versus(sv.metrics.discrete(3), [1], alpha="1/4")
    geometric = sv.mechanisms.truncated_geometric(3, alpha="1/4")
    entries = []
    for name, (rows, printed) in table.items():
        loss = sv.losses.matrix(rows)
        values = [
            *(_lost(channel, loss, prior) for channel in (blind, response, average, geometric)),
            _best(sv.metrics.discrete(3), loss, prior, "1/4"),
            _best(sv.metrics.line(3), loss, prior, "1/4"),
        ]
        found = " ".join(f"{float(Fraction(value)):.6f}" for value in values)
        where = f"Heights, {name}: no release, R, Average or not, G, optimum for d_D, for d₂"
        entries.append(Entry(where, printed, found))
    return entries


def _tables() -> tuple[list[list[str]], list[Entry]]:
    """Tables 6.1 and 6.2 at three values of ε."""
    alphas = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
    lines = {n: [(i, i + 1) for i in range(n - 1)] for n in (2, 3, 4, 5)}
    pairs = {n: list(combinations(range(n), 2)) for n in (2, 3, 4)}
    rows, entries = [], []
    for table, spaces, printed in (
        ("Table 6.1, line", lines, {2: "1", 3: "2", 4: "11", 5: "187"}),
        ("Table 6.2, discrete", pairs, {2: "1", 3: "5", 4: "41"}),
    ):
        for n, edges in spaces.items():
            counts = [str(kernel_count(n, edges, alpha)) for alpha in alphas]
            rows.append([f"{table}, n = {n}", *counts])
            for alpha, count in zip(alphas, counts, strict=True):
                note = "E1: 187 is the degenerate ε = ln 2 alone." if n == 5 else ""
                entries.append(Entry(f"{table}, n = {n}, e^-ε = {alpha}", printed[n], count, note))
    return rows, entries


def vertex_levels(n: int, edges: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Vertices of the Lipschitz polytope of a graph: whole steps of at most 1, tight edges connecting all."""
    found = []
    for rest in product(range(1 - n, n), repeat=n - 1):
        u = (0, *rest)
        if any(abs(u[a] - u[b]) > 1 for a, b in edges):
            continue
        home = list(range(n))
        for a, b in edges:
            if abs(u[a] - u[b]) == 1:
                home = [home[a] if h == home[b] else h for h in home]
        if len(set(home)) == 1:
            found.append(u)
    return found


def posteriors(n: int, edges: list[tuple[int, int]], alpha: Fraction) -> list[list[Fraction]]:
    """The extreme private posteriors under the uniform prior."""
    powers = [[alpha**-k for k in u] for u in vertex_levels(n, edges)]
    return [[value / sum(row) for value in row] for row in powers]


def kernel_count(n: int, edges: list[tuple[int, int]], alpha: Fraction) -> int:
    """Supports of the basic solutions a ≥ 0 of Σ a_s·v_s = (1/n, …)."""
    points = [[fmpq(v.numerator, v.denominator) for v in row] for row in posteriors(n, edges, alpha)]
    centre = fmpq_mat([[fmpq(1, n)]] * n)
    supports = set()
    for chosen in combinations(range(len(points)), n):
        matrix = fmpq_mat([[points[s][x] for s in chosen] for x in range(n)])
        if matrix.det() == 0:
            continue
        weights = [value for (value,) in matrix.solve(centre).tolist()]
        if all(value >= 0 for value in weights):
            supports.add(tuple(s for s, value in zip(chosen, weights, strict=True) if value > 0))
    return len(supports)
