"""Chapter 6, the shape of privacy: tables 6.1 and 6.2 for every ε, figures 6.1-6.5, errata as cases."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

import sievert as sv
from papers.page import Entry, Page

HALF = "1/2"
line, discrete = sv.metrics.line, sv.metrics.discrete
AVERAGE = [["7/10", 0, "7/10"], ["3/10", 1, "3/10"]]


def build() -> Page:
    """Counts of kernels with the ε at which they jump, who is best whatever the prior, and the errata."""
    rows, entries = _tables()
    entries += [*_universal(), *_errata_of_statements(), *_errata_of_losses(), *_errata_of_shapes()]
    header = ["metric", "kernels as e^-ε grows from 0 to 1"]
    remarks = [
        "Kernels are the extreme private mechanisms, listed in fractions; thresholds are roots of minors of "
        "the matrix of vertices, not samples.",
        "Figures 6.1 to 6.4 show the private posteriors with their vertices; blue circles are the posteriors "
        "of a kernel, as large as they are likely. Figure 6.5 is the geometric mechanism on the weight of "
        "three bits. Erratum E4 and the worked losses are on the page of the chapter's examples.",
    ]
    title = "Chapter 6: the shape of privacy"
    return Page(title, "Fernandes (2021)", header, rows, entries, remarks, _figures(), agreeing=True)


def _tables() -> tuple[list[list[str]], list[Entry]]:
    rows, entries = [], []
    for name, metrics, printed in (
        ("Table 6.1, line", {n: line(n) for n in (2, 3, 4, 5)}, {2: "1", 3: "2", 4: "11", 5: "187"}),
        ("Table 6.2, discrete", {n: discrete(n) for n in (3, 4, 5)}, {3: "5", 4: "41", 5: "1291"}),
    ):
        for n, metric in metrics.items():
            found = sv.geometry.kernel_thresholds(metric)
            rows.append([f"{name}, n = {n}", str(found)])
            note = "" if len(found.between) == 1 else f"E1: true for ε = ln 2 alone; {found}."
            entries.append(Entry(f"{name}, n = {n}, every ε", printed[n], _steady(found), note))
            here = len(sv.geometry.kernels(metric, HALF))
            entries.append(Entry(f"{name}, n = {n}, e^-ε = 1/2", printed[n], str(here)))
    return rows, entries


def _steady(found: Any) -> str:
    return str(found.between[0]) if len(found.between) == 1 else "depends on ε"


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _best(channel: sv.Channel, metric: sv.Metric, loss: Any = None, alpha: str = HALF) -> str:
    """Whether a mechanism is best whatever the prior, with a certificate that holds."""
    found = sv.is_universally_optimal(channel, metric, alpha=alpha, loss=loss)
    if found.holds is None or found.certificate is None or not found.certificate.verify().holds:
        raise AssertionError(f"not proved: {found}")
    return "yes" if found.holds else f"no, by {found.gap}"


def _universal() -> list[Entry]:
    geometric = sv.mechanisms.truncated_geometric(3, alpha=HALF)
    folded = sv.mechanisms.pull_back(line(3), {0: 0, 1: 1, 2: 0}, alpha=HALF)
    response = sv.mechanisms.randomised_response(3, alpha=HALF)
    example = [[3, 1, 0], [0, 1, 3]]
    first, last = (sv.mechanisms.versus(discrete(3), [x], alpha=HALF) for x in (0, 2))
    return [
        Entry("Thm 6.4, G3 for the absolute error", "yes", _best(geometric, line(3), sv.losses.absolute(3))),
        Entry("Sec 6.7.3, H for the loss there (left open)", "yes", _best(folded, line(3), AVERAGE)),
        Entry("Sec 6.7.3, G3 for it", "no, by 1/15", _best(geometric, line(3), AVERAGE)),
        Entry("Ex 6.5, K_A", "yes", _best(last, discrete(3), example)),
        Entry("Ex 6.5, K_B", "yes", _best(first, discrete(3), example)),
        Entry("Cor 6.34, randomised response for Bayes risk", "no, by 1/24", _best(response, discrete(3))),
        Entry(
            "Thm 6.15, three inputs have a universally optimal mechanism",
            "no",
            _yes(sv.geometry.has_universally_optimal(line(3))),
        ),
    ]


def _errata_of_statements() -> list[Entry]:
    leaky = sv.Channel([[1, 0], [0, 1]])
    blurred = leaky.then(sv.Channel([["2/3", "1/3"], ["1/3", "2/3"]]))
    ends = sv.Channel(sv.mechanisms.truncated_geometric(3, alpha=HALF).exact[[0, 2]].tolist(), [0, 2])
    two = sv.mechanisms.randomised_response(2, alpha=HALF)
    star = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3)])
    tree = sv.mechanisms.tight_constraints(star, alpha=HALF)
    both = 2 * Fraction(1, 3) <= Fraction(2, 3) and Fraction(2, 3) <= Fraction(1, 2) * Fraction(1, 3)
    private = sv.is_private(blurred, line(2), 0.7) and not sv.is_private(leaky, line(2), 0.7)
    mixed = sv.geometry.kernels(line(4), HALF)
    refined = any(
        sv.refines(a.channel, b.channel).holds for a in mixed for b in mixed if a.support != b.support
    )
    return [
        Entry(
            "Eq 6.2 holds for the private posterior (2/3, 1/3)",
            "yes",
            _yes(both),
            "E2: the exponent stands on the wrong side; both lines together cannot hold.",
        ),
        Entry(
            "Sec 6.2.2, what a private mechanism is made from is private",
            "yes",
            _yes(not private),
            "E3: reversed; post-processing keeps privacy, and the identity followed by T is the case.",
        ),
        Entry(
            "Cor 6.23, best on three inputs, so best on its ends",
            "yes",
            _best(ends, line([0, 2])),
            "E5: the ends are no retract of the line: "
            f"{sv.geometry.polytope(line(3)).retraction([0, 2])} is the map that would be needed.",
        ),
        Entry(
            "Thm 6.6, impossible for n = 2 too",
            "yes",
            _yes(not sv.is_universally_optimal(two, discrete(2), alpha=HALF)),
            "E12: two inputs have a universally optimal mechanism, and so have ε = 0 and ε = ∞.",
        ),
        Entry(
            "Cor 6.12, vertex mechanisms are the minimum",
            "yes",
            _yes(refined),
            "E18: minimal elements, and of eleven kernels on four inputs none refines another.",
        ),
        Entry(
            "Introduction, Bayes risk has universal optima on linear orders only",
            "yes",
            _yes(_best(tree, star) != "yes"),
            "E21: the exponential kernel of a star is best for Bayes risk whatever the prior (TREE-BAYES).",
        ),
        Entry(
            "Thm 6.28 refutes Thm 6.6",
            "yes",
            _yes(_best(sv.mechanisms.versus(discrete(3), [0], alpha=HALF), discrete(3)) == "yes"),
            "E13: it is best for one loss about a pair, not for the whole class; for Bayes risk it is not.",
        ),
        Entry(
            "Thm 6.33, two posteriors of a kernel decide a pair",
            "yes",
            _yes(all(len(kernel) == 2 for kernel in sv.geometry.kernels(discrete(3), HALF))),
            "E20: kernels have up to n posteriors; among three inputs two agree in each, which is enough.",
        ),
    ]


def _errata_of_losses() -> list[Entry]:
    lifted = [[0, 1, 0], [1, 0, 5]]
    versus = sv.mechanisms.versus(discrete(3), [0], alpha=HALF)
    middle = sv.losses.matrix([[0, 1], [1, 0], [2, 1]])
    extended = sv.losses.matrix([["1/2", "1/2", "1/2", 0], [1, 1, 1, 0]])
    class_of = sv.losses.classify_loss
    three = sv.losses.matrix([[2, 1, 5], [4, 1, 1]])
    negative = [[-2, 1, -2], [1, 1, 1], [0, 0, 0]]
    geometric = sv.mechanisms.truncated_geometric(3, alpha=HALF)
    gap = sv.design.universal_gap(geometric, line(3), alpha=HALF, loss=negative).gap
    channel = sv.mechanisms.versus(discrete(3), [0], alpha=HALF)
    tied = sv.remap(channel, ["1/10", "1/10", "4/5"], sv.losses.bayes_risk(3)).actions
    return [
        Entry(
            "Lem 6.21, T on a pair is best for every loss that the pair's values extend",
            "yes",
            _best(versus, discrete(3), lifted),
            "E6: only the lift with zeros outside the pair; here the third input counts five times.",
        ),
        Entry(
            "Prop 11, |w - x| stays monotone on {0, 1}",
            "yes",
            _yes(class_of(middle, line(2)).monotonic is not None),
            "E8: three different losses at one input need three distances, and two points have two.",
        ),
        Entry(
            "Ex 6.4, l_s is not monotone in d₂",
            "yes",
            _yes(class_of(extended, line(4)).monotonic is None),
            "E9: w1 → x3, w2 → x4 makes it so.",
        ),
        Entry(
            "Lem 6.27, (a, 1, b), (c, 1, d) is a loss that is not monotone",
            "yes",
            _yes(class_of(three, line(3)).monotonic is None),
            "E10: every non-trivial one is, by w1 → x1, w2 → x3.",
        ),
        Entry(
            "Lem 6.27 with negative entries and a zero action, G3's worst gap",
            "0",
            str(gap),
            "E10: it fails.",
        ),
        Entry(
            "Ex 6.5, w1 → x3, w2 → x1 makes the loss with zeros at (w1, x1), (w2, x3) monotone in d_D",
            "yes",
            _yes(monotone_by([[0, 1, 3], [3, 1, 0]], [2, 0])),
            "E16: at x1 the nearer action costs 3 and the other 0; zeros belong at (w1, x3) and (w2, x1).",
        ),
        Entry(
            "Ex 6.5, so it does with zeros at (w1, x3), (w2, x1)",
            "yes",
            _yes(monotone_by([[3, 1, 0], [0, 1, 3]], [2, 0])),
        ),
        Entry(
            "Remark 6.2.1, maximum a posteriori uses the uniform prior",
            "yes",
            _yes(tied[True] == 0),
            "E17: it keeps the actual prior, here (1/10, 1/10, 8/10), and is an argmax.",
        ),
    ]


def monotone_by(loss: list[list[int]], places: list[int]) -> bool:
    """Def 6.5.2 under the discrete metric: actions placed nearer to an input cost no more there."""
    return all(
        (a[x] <= b[x] if (p == x) > (q == x) else a[x] == b[x] if (p == x) == (q == x) else True)
        for x in range(len(loss[0]))
        for a, p in zip(loss, places, strict=True)
        for b, q in zip(loss, places, strict=True)
    )


def _errata_of_shapes() -> list[Entry]:
    found = sv.geometry.kernels(line(3), HALF)
    rows = found.vertices.matrix.tolist()
    chosen = {
        rows.index([Fraction(v) for v in text.split()])
        for text in ("2/5 1/5 2/5", "4/7 2/7 1/7", "1/4 1/2 1/4")
    }
    counts = {n: sv.geometry.polytope(line(n)).count() for n in (4, 6)}
    cycle = sv.geometry.polytope(sv.metrics.cycle(4)).count()
    inverse = sv.Channel([["1/5" if x == y else "2/5" for y in range(3)] for x in range(3)])
    response = sv.mechanisms.randomised_response(3, alpha=HALF)
    same = inverse.hyper().is_same(response.hyper())
    versus = sv.mechanisms.versus(discrete(3), [0], alpha=HALF).exact
    cube = sv.metrics.hamming(3, 2)
    channel = sv.mechanisms.pull_back(cube, (0, 0, 0), alpha=HALF).exact
    four = sv.mechanisms.truncated_geometric(4, alpha=HALF).exact
    paths = 0
    for order in permutations(range(3)):
        path = [tuple(int(k in order[:step]) for k in range(3)) for step in range(4)]
        paths += bool((channel[[cube.index(point) for point in path]] == four).all())
    return [
        Entry(
            "Lem 6.10, a hull that holds the uniform prior is a kernel: {A, B, C}",
            "yes",
            _yes(any(set(kernel.support) == chosen for kernel in found)),
            "E7: weights must be positive on all of them; here B's is 0.",
        ),
        Entry(
            "Lem B1, vertices of the line of 4", "6", str(counts[4]), "E11: 2^(n-1); 2(n-1) are its facets."
        ),
        Entry(
            "Lem B1, vertices of the line of 6", "10", str(counts[6]), "E11: 2^(n-1); 2(n-1) are its facets."
        ),
        Entry(
            "Lem B1, no metric on 4 points has fewer than the line",
            "yes",
            _yes(cycle >= counts[4]),
            f"E11: the cycle has {cycle}.",
        ),
        Entry(
            "Appendix A.5, alpha on the diagonal is randomised response",
            "yes",
            _yes(same),
            "E14: it is another kernel, R2.",
        ),
        Entry(
            "Thm 6.28, K on the pair is (2/9, 1/9)",
            "2/9",
            str(versus[0, 0]),
            "E15: that is the joint distribution; the channel has 1/(1 + alpha).",
        ),
        Entry("Sec 6.9, monotone paths on which K is G4", "3", str(paths), "E19: all six, three are listed."),
    ]


def _figures() -> dict[str, Any]:
    plot = sv.plots.private_posteriors
    lines = sv.geometry.kernels(line(3), HALF)
    discretes = sv.geometry.kernels(discrete(3), HALF)
    cube = sv.metrics.hamming(3, 2)
    weights = sv.mechanisms.pull_back(cube, (0, 0, 0), alpha=HALF)
    order = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 0), (0, 1, 1), (1, 0, 1), (0, 0, 1)]
    rows = np.array([weights.exact[cube.index(point)] for point in order], dtype=object)
    shown = sv.Channel(rows.tolist(), ["".join(map(str, point)) for point in order])
    two = sv.mechanisms.randomised_response(2, alpha=HALF)
    return {
        "fernandes_figure_6_1": plot(line(2), None, two, alpha=HALF),
        "fernandes_figure_6_2": plot(line(3), alpha=HALF),
        "fernandes_figure_6_3": plot(line(3), None, lines[1].channel, alpha=HALF),
        "fernandes_figure_6_4": plot(discrete(3), None, discretes[len(discretes) - 1].channel, alpha=HALF),
        "fernandes_figure_6_5": sv.plots.channel_heatmap(shown),
    }
