"""The pictures of docs/places.md: the best noise for a town's centre beside planar geometric noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go

import sievert as sv
from papers.picture import write_svg
from sievert.questions.design import design_of
from sievert.report.plots._style import curve_line, laid_out

FOLDER = Path(__file__).resolve().parent.parent
TARGET = FOLDER / "docs" / "pictures"
# ε for each metre at which both are weighed.
LEVELS = (0.001, 0.0018, 0.0025, 0.0035, 0.005)


def main() -> None:
    """Where the likeliest place is released, and error against guess."""
    scenario = sv.load(FOLDER / "examples" / "centre-bicycles.toml")
    region, belief = scenario.region, np.asarray(scenario.use_prior, dtype=np.float64)
    assert region is not None
    best, planar = [], []
    for eps in LEVELS:
        design = design_of(scenario, eps)
        beside = design.beside
        assert beside is not None
        best.append((beside.guess, beside.loss))
        planar.append((beside.planar_guess, beside.planar_loss))
        if eps == 0.0025:
            figure = sv.plots.noise_beside(region, design.mechanism, eps, belief)
            figure.update_xaxes(nticks=4)
            write_svg(figure, TARGET / "centre-noise.svg", width=900, height=320)
            print(beside)
    write_svg(_against_guess(best, planar), TARGET / "centre-guess.svg", width=760, height=380)


def _against_guess(best: list[tuple[float, float]], planar: list[tuple[float, float]]) -> go.Figure:
    figure = go.Figure()
    for place, (name, points) in enumerate({"planar geometric": planar, "the best mechanism": best}.items()):
        guesses, errors = zip(*points, strict=True)
        figure.add_scatter(x=guesses, y=errors, name=name, mode="lines+markers", line=curve_line(place))
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(rangemode="tozero")
    return laid_out(figure, "probability that a place is guessed", "mean error in metres")


if __name__ == "__main__":
    main()
