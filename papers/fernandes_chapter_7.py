"""Chapter 7: continuous mechanisms, the worked examples, the convergence tables and the errata that run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import sievert as sv
from papers.page import Entry, Page
from sievert.continuous import (
    Density,
    gap,
    grid_geometric,
    hyper_distance,
    laplace_loss,
    lifted,
    pixel_witness,
    refined_by_geometric,
    truncated_laplace,
    witness,
)

EPS = 4 * math.log(2)
ALPHA = "1/16"
LEVELS = {"4 ln 2": EPS, "1": 1.0, "8": 8.0}
LOSSES: dict[str, Any] = {
    "abs": "absolute",
    "sq": "squared",
    "pinball.8": {"pinball": "4/5"},
    "br_N": "bayes-risk",
    "step1/2": {"threshold": "1/2"},
}
GRIDS = {"4 ln 2": (1, 2, 4, 8, 16, 32, 64), "1": (2, 8, 32, 64), "8": (2, 8, 32, 64)}


def build() -> Page:
    """Tables 6.1 and 6.2 of our notes, and every worked number of their section 5."""
    rows = [*_uniform_rows(), *_beta_rows()]
    entries = [*_matrices(), *_losses(), *_pixels(), *_several(), *_continuous(), *_cells()]
    entries += [*_hypers(), *_step_losses(), *_proof()]
    remarks = [
        "The chapter prints no table of losses: those compared with here come from an independent "
        "computation (quadrature, linear programs).",
        "U[L] is exact on points (the integral of the lower envelope), gap never exceeds the cosh bound, and "
        "equals it for Bayes risk; N²·gap settles. The thesis's bound is that of Thm 7.10.",
        "Slips: (7.4) and (7.5) print 1/(1+α) for (1-α)/(1+α); (7.8) lets T pixels be T + 1; Sec 7.6 has "
        "1/3 / 1/2 for 1/3 / 1/6, and calls halving ε on [0, 1] a square root of it; α is e^(ε/N) and "
        "e^(-ε/N) in B.2; N ≥ ε is missing from Thm 7.9 and 7.10.",
    ]
    header = ["prior", "ε", "loss", "N", "U[G_N]", "U[L]", "gap", "N²·gap", "cosh bound", "thesis's bound"]
    figures = {
        "fernandes_chapter_7_price": sv.plots.laplace_price(
            [gap(None, "absolute", EPS, cells) for cells in (1, 2, 4, 8, 16, 32, 64, 128)]
        ),
        "fernandes_figure_7_3": sv.plots.laplace_posteriors(truncated_laplace(EPS), 8),
        "fernandes_chapter_7_density": sv.plots.laplace_density(truncated_laplace(EPS), [0.25, 1.0]),
    }
    title = "Chapter 7: continuous mechanisms"
    return Page(title, "Fernandes (2021)", header, rows, entries, remarks, figures)


def _row(prior: str, level: str, name: str, cells: int, belief: Any) -> list[str]:
    found = gap(belief, LOSSES[name], LEVELS[level], cells)
    thesis = "–" if found.thesis_bound is None else f"{found.thesis_bound:.4f}"
    # Where no output changes the guess, the difference is rounding.
    more = found.gap if found.gap > found.error else 0.0
    return [
        prior, level, name, str(cells), f"{found.geometric:.10f}", f"{found.laplace:.10f}", f"{more:.4e}",
        f"{cells**2 * more:.5f}", f"{found.cosh_bound:.4e}", thesis,
    ]  # fmt: skip


def _uniform_rows() -> list[list[str]]:
    rows = []
    for level, grids in GRIDS.items():
        names = LOSSES if level == "4 ln 2" else ("abs", "sq")
        rows += [_row("uniform", level, name, cells, None) for name in names for cells in grids]
    return rows


def _beta_rows() -> list[list[str]]:
    names, grids = ("abs", "sq", "step1/2"), (2, 4, 8, 16, 32, 64)
    return [_row("Beta(2, 5)", "4 ln 2", name, n, Density.beta(2, 5)) for name in names for n in grids]


def _text(values: Sequence[Any]) -> str:
    return " ".join(str(Fraction(value)) for value in values)


def _matrices() -> list[Entry]:
    noise = truncated_laplace(alpha=ALPHA)
    four = grid_geometric(4, alpha=ALPHA)
    part = sv.Channel([four.exact[i].tolist() for i in (0, 2, 4)], [0, Fraction(1, 2), 1])
    below = refined_by_geometric(part, alpha=ALPHA).witness
    return [
        Entry("G_2, row 0", "4/5 3/20 1/20", _text(grid_geometric(2, alpha=ALPHA).exact[0])),
        Entry("G_4, row 1", "1/3 1/3 1/6 1/12 1/12", _text(four.exact[1])),
        Entry("⁴L on U_2, row 0", "3/4 1/8 1/16 1/16", _text(noise.pixelated(4, 2).exact[0])),
        Entry("witness G_2 to ⁴L, row 1", "1/9 7/18 7/18 1/9", _text(witness(2, 4, alpha=ALPHA).exact[1])),
        Entry(
            "witness G_1 to ⁴L, row 0",
            "191/240 31/240 7/120 1/60",
            _text(witness(1, 4, alpha=ALPHA).exact[0]),
        ),
        Entry("witness G_2 to rows of G_4, row 1", "0 2/9 5/9 2/9 0", _text(below.exact[1])),
        Entry(
            "Def 7.4.3, the atom at 0 for x = 1/2, ε = 4 ln 2",
            "2",
            _text([Fraction(noise.atoms("1/2")[0])]),
            "The exponent is printed e^(εx)/2, which is no probability; it is e^(-εx)/2.",
        ),
    ]


def _value(found: Any) -> str:
    return f"{float(found):.10f}"


def _losses() -> list[Entry]:
    three, five = [Fraction(1, 3)] * 3, [Fraction(1, 5)] * 5
    four, lift = grid_geometric(4, alpha=ALPHA), lifted(grid_geometric(2, alpha="1/4"), 2)
    table = sv.Channel([*lift.exact.tolist()[:4], ["1/6", "1/6", "2/3"]], four.inputs)
    part = sv.Channel([four.exact[i].tolist() for i in (0, 2, 4)], [0, Fraction(1, 2), 1])
    parity = np.array([[1, 0, 1, 0, 1], [0, 2, 0, 2, 0]])
    judged = gap(five, parity, EPS, optimum=True)
    lost = [str(sum((parity @ channel.exact).min(axis=0)) / 5) for channel in (four, table)]
    return [
        Entry("U_br2[G_2]", _value(4 / 15), _value(gap(three, "bayes-risk", EPS).geometric)),
        Entry("U_br2[L]", _value(1 / 3), _value(laplace_loss(three, "bayes-risk", EPS))),
        Entry("U_br4[G_4]", _value(8 / 15), _value(gap(five, "bayes-risk", EPS).geometric)),
        Entry("U_br4[L]", _value(2 * math.sqrt(2) / 5), _value(laplace_loss(five, "bayes-risk", EPS))),
        Entry("U_abs[G_2]", _value(3 / 20), _value(gap(three, "absolute", EPS).geometric)),
        Entry("U_abs[G_4]", _value(49 / 240), _value(gap(five, "absolute", EPS).geometric)),
        Entry("U_br2[M], U_abs[M]", "1/3 13/72", _bayes_and_absolute(part)),
        Entry("U_br4[M_2], U_abs[M_2]", "2/3 31/120", _bayes_and_absolute(table)),
        Entry("M_2 refined by G_4", "no", "yes" if refined_by_geometric(table, alpha=ALPHA) else "no"),
        Entry("parity consumer, U[G_4] and U[M_2]", "7/12 17/30", " ".join(lost)),
        Entry("parity consumer, least loss of any private mechanism", _value(7 / 15), _value(judged.optimum)),
    ]


def _bayes_and_absolute(channel: Any) -> str:
    """What the best guesses lose under a uniform prior, in fractions."""
    points = channel.inputs
    size = len(points)
    off = np.array([[abs(w - x) for x in points] for w in points])
    wrong = 1 - np.eye(size, dtype=int)
    return _text([sum((table @ channel.exact).min(axis=0)) / size for table in (wrong, off)])


def _several() -> list[Entry]:
    """Section 5.4 of our notes: the same privacy by several mechanisms, absolute error on 33 points."""
    points = np.arange(33) / 32
    apart = np.abs(np.subtract.outer(points, points))
    noise = truncated_laplace(EPS)
    rows = {
        "G_32": (grid_geometric(32, EPS).matrix, "0.195551033"),
        "⁶⁴L": (noise.pixelated(64, 32).matrix, "0.195628964"),
        "³²L": (noise.pixelated(32, 32).matrix, "0.195647500"),
        "⁸L": (noise.pixelated(8, 32).matrix, "0.196204843"),
        "⁴L": (noise.pixelated(4, 32).matrix, "0.198342816"),
    }
    table = np.exp(-EPS / 2 * apart)
    rows["exponential of ε/2, rows scaled"] = (table / table.sum(axis=1, keepdims=True), "0.240924559")
    found = [
        Entry(f"U_abs[{name}] on U_32", printed, f"{(apart @ matrix).min(axis=0).sum() / 33:.9f}")
        for name, (matrix, printed) in rows.items()
    ]
    laplace = f"{float(laplace_loss(None, 'absolute', EPS, 32)):.9f}"
    return [*found, Entry("U_abs[L] on U_32", "0.195618571", laplace)]


def _cells() -> list[Entry]:
    """Section 6.3 of our notes: a uniform density in cells, squared error."""
    wanted = {
        ("1", 8): "0.076802539 0.076833569 0.078135653",
        ("1", 128): "0.077986484 0.077986604 0.077991690",
        ("4 ln 2", 8): "0.056689913 0.057039529 0.058341612",
        ("4 ln 2", 128): "0.057774882 0.057776231 0.057781317",
        ("8", 8): "0.018189398 0.019608581 0.020910664",
        ("8", 128): "0.019871017 0.019876721 0.019881808",
    }
    found = []
    for (level, cells), printed in wanted.items():
        floor = gap(Density.uniform(), "squared", LEVELS[level], cells)
        middles = [Fraction(2 * k + 1, 2 * cells) for k in range(cells)]
        middle = laplace_loss([1 / cells] * cells, "squared", LEVELS[level], middles)
        values = (floor.geometric, floor.laplace, float(middle) + 1 / (12 * cells**2))
        name = f"uniform density in {cells} cells, ε = {level}: G and L of floors, L of middles"
        found.append(Entry(name, printed, " ".join(f"{value:.9f}" for value in values)))
    return found


def _pixels() -> list[Entry]:
    noise = truncated_laplace(EPS)
    wanted = {2: 5 / 12, 3: 0.3422702626, 4: 1 / 3, 5: 0.3365414864, 6: 0.3422702626, 8: 1 / 3, 12: 1 / 3}
    found = [
        Entry(
            f"U_br2[{pixels} pixels]",
            _value(value),
            _value(1 - noise.pixelated(pixels, 2).matrix.max(axis=0).sum() / 3),
        )
        for pixels, value in wanted.items()
    ]
    for pixels, coarser in ((4, 2), (3, 2), (6, 4), (2, 4)):
        holds = pixel_witness(pixels, coarser, cells=2, eps=EPS).holds
        printed = "yes" if pixels % coarser == 0 else "no"
        found.append(Entry(f"{coarser} pixels from {pixels}", printed, "yes" if holds else "no"))
    return found


def _continuous() -> list[Entry]:
    wanted = {
        ("1", "squared"): "0.0779911219",
        ("4 ln 2", "squared"): "0.0577791038",
        ("8", "squared"): "0.0198777173",
        ("1", "absolute"): "0.2378308113",
        ("4 ln 2", "absolute"): "0.1921658108",
        ("8", "absolute"): "0.1023760058",
    }
    return [
        Entry(
            f"uniform density, {loss}, ε = {level}",
            value,
            _value(laplace_loss(Density.uniform(), loss, LEVELS[level])),
        )
        for (level, loss), value in wanted.items()
    ]


def _hypers() -> list[Entry]:
    wanted = {
        ("1", 2): "0.01352423 0.01816696",
        ("4 ln 2", 4): "0.02174976 0.02925284",
        ("8", 8): "0.02090596 0.02834880",
    }
    found = []
    for (level, cells), printed in wanted.items():
        eps = LEVELS[level]
        smooth, by = truncated_laplace(eps).pixelated(8 * cells, cells), witness(cells, 8 * cells, eps)
        distance = hyper_distance(grid_geometric(cells, eps), smooth, move_by=by)
        values = f"{distance.value:.8f} {distance.move:.8f}"
        found.append(Entry(f"hypers of G_{cells} and Laplace, and the move, ε = {level}", printed, values))
    return found


def _step_losses() -> list[Entry]:
    """Secs 7.7, 7.8, B.5, B.6: for step losses Laplace is said not to be optimal."""
    found = []
    for cells in (4, 8, 16, 32):
        prior = [Fraction(int(k in (0, cells // 2, cells)), 3) for k in range(cells + 1)]
        table = [[int(x != w) for x in range(cells + 1)] for w in (0, cells // 2, cells)]
        judged = gap(prior, table, EPS, optimum=True)
        found.append(
            Entry(
                f"B.6, least loss of a mechanism private on U_{cells}; U[L]",
                f"{_value(4 / 15)} {_value(1 / 3)}",
                f"{_value(judged.optimum)} {_value(judged.laplace)}",
                "The 4/15 of B.6 needs privacy on {0, 1/2, 1} alone; private on any finer grid, as on "
                "[0, 1], Laplace is optimal for step losses too.",
            )
        )
    for level, size, k, best in (("1", 24, 4, "0.6599455399"), ("8", 24, 3, "0.2202898304")):
        block = np.arange(size) * k // size
        costs = (block[None, :] != np.arange(k)[:, None]).astype(int)
        judged = gap([1 / size] * size, costs, LEVELS[level], optimum=True)
        same = judged.optimum is not None and abs(judged.optimum - judged.geometric) < 1e-9
        values = (
            f"{_value(judged.geometric)} {'optimal' if same and judged.single_crossing else 'not optimal'}"
        )
        found.append(Entry(f"{k} cells of {size} points, U[G], ε = {level}", f"{best} optimal", values))
    return found


def _proof() -> list[Entry]:
    """B.3 bounds differences of posteriors by c/N², c = 3/(1 - e^-ε)²; a factor ε² is lost on the way."""
    found = []
    for eps, cells in ((2.0, 10), (4.0, 10)):
        matrix = grid_geometric(cells, eps).matrix
        columns = matrix / matrix.sum(axis=0)
        largest = float(np.abs(np.diff(columns, axis=1)).max())
        bound = 3 / (1 - math.exp(-eps)) ** 2 / cells**2
        found.append(
            Entry(
                f"B.3, largest difference of neighbouring posteriors, ε = {eps:g}, N = {cells}",
                f"at most {bound:.6f}",
                f"{largest:.6f}",
                f"1 - λ ≤ ε/N is used as 1/N; with ε² the bound is {bound * eps**2:.6f} and holds.",
            )
        )
    return found
