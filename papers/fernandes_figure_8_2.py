"""Fig 8.2: original, noisy and estimated distributions, 100,000 reports, 5000 rounds of IBU."""

from __future__ import annotations

import numpy as np

import sievert as sv
from papers.chapter_8 import ASSUMPTIONS, LINE, MECHANISMS, SEED, TRUTHS, lines
from papers.experiments import batched_rounds
from papers.page import Entry, Page

SHOWN = (0, 5, 10, 20, 30, 35, 40, 45, 50, 55, 60, 70, 80, 90, 95, 100)


def build() -> Page:
    """One run of each setting, thinned to some values, and the distance of each to its original."""
    rng = np.random.default_rng(SEED)
    columns: dict[str, np.ndarray] = {}
    distances: dict[str, tuple[float, float]] = {}
    for truth_name, truth in TRUTHS.items():
        values = rng.choice(101, 100_000, p=truth)
        original = np.bincount(values, minlength=101) / 1e5
        columns[f"{truth_name} original"] = original
        for name, channel in MECHANISMS.items():
            noisy = np.bincount(channel.sample(values, rng=rng), minlength=101) / 1e5
            estimated = batched_rounds(noisy[None, :], channel.matrix, [5000])[5000][0]
            columns[f"{truth_name} {name} noisy"] = noisy
            columns[f"{truth_name} {name} estimated"] = estimated
            variation = float(np.abs(estimated - original).sum() / 2)
            distances[f"{truth_name} {name}"] = (float(sv.kantorovich(estimated, original, LINE)), variation)
    rows = [[str(x), *(f"{column[x]:.4f}" for column in columns.values())] for x in SHOWN]
    entries = [
        Entry("binomial: the geometric estimate looks better", "TG", _closer(distances, "binomial", 1)),
        Entry(
            "4-point: the randomised-response estimate looks better", "RR", _closer(distances, "4-point", 1)
        ),
        Entry("binomial: Kantorovich is smaller for", "TG", _closer(distances, "binomial", 0)),
        Entry("4-point: Kantorovich is smaller for", "TG", _closer(distances, "4-point", 0)),
    ]
    remarks = [
        "; ".join(
            f"{name}: Kantorovich {k:.3f}, total variation {v:.3f}" for name, (k, v) in distances.items()
        )
        + ".",
        '"Looks better" is read as a smaller total variation.',
        ASSUMPTIONS,
    ]
    title = "Fig 8.2: original, noisy and estimated"
    figures = {
        f"fernandes_figure_8_2_{truth.replace('-', '_')}_{name}": lines(
            range(101),
            {
                "original": columns[f"{truth} original"].tolist(),
                "reported (noisy)": columns[f"{truth} {name} noisy"].tolist(),
                "estimated": columns[f"{truth} {name} estimated"].tolist(),
            },
            f"value ({truth}, {name})",
            "share",
        )
        for truth in TRUTHS
        for name in MECHANISMS
    }
    return Page(title, "Fernandes (2021)", ["value", *columns], rows, entries, remarks, figures)


def _closer(distances: dict[str, tuple[float, float]], truth: str, which: int) -> str:
    return min(MECHANISMS, key=lambda name: distances[f"{truth} {name}"][which])
