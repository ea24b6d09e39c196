"""The city of docs/places.md: people in 400 cells, the best noise for them, and planar noise beside it.

Planar noise is drawn with the same ε, and with the ε through which a place is guessed as often.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import sievert as sv
from papers.picture import write_svg
from sievert.channels import PlanarNoise
from sievert.numerics import read_eps
from sievert.questions.design import design_of
from sievert.spaces import Region

DOCS = Path(__file__).resolve().parent.parent / "docs"
REGION = Region(47.36, 8.5, 47.3958, 8.5529, 200)
# Centres of the city: row, column, people in the middle cell, and over how many cells they thin out.
CENTRES = ((9.0, 8.0, 900.0, 3.0), (14.5, 14.0, 500.0, 2.0), (4.0, 3.5, 350.0, 1.6))


def main() -> None:
    """The population, and where its likeliest place is released."""
    write_population(DOCS / "city" / "population.csv")
    scenario = sv.load(DOCS / "city" / "city.toml")
    design = design_of(scenario)
    beside = design.beside
    assert beside is not None and beside.equal_eps is not None
    print(design.found.optimal)
    print(beside)
    belief = np.asarray(scenario.use_prior, dtype=np.float64)
    likeliest = list(REGION.labels)[int(belief.argmax())]
    released = dict(zip(design.mechanism.outputs, design.mechanism.row(likeliest), strict=True))
    figure = sv.plots.place_densities(
        REGION,
        {
            "people": belief,
            "the best mechanism": [released.get(cell, 0.0) for cell in REGION.labels],
            "planar, same ε": planar(beside.eps, likeliest),
            "planar, same guess": planar(beside.equal_eps, likeliest),
        },
    )
    # Each map on a scale of its own: people are spread wider than noise.
    figure.update_traces(showscale=False, zmax=None, zauto=True)
    figure.update_xaxes(tickangle=0, dtick=1000)
    # The size of the picture makes cells square.
    figure.update_yaxes(dtick=1000, scaleanchor=None)
    figure.update_layout(margin={"t": 30, "b": 55, "l": 75, "r": 15})
    write_svg(figure, DOCS / "pictures" / "city-noise.svg", width=1090, height=310)


def write_population(target: Path) -> None:
    """People in the cells of a city on a lake, which is the same every time."""
    rows, columns = np.indices(REGION.shape)
    lake = (rows < 8 - 0.9 * np.abs(columns - 12)) & (columns > 6)
    people = 30.0 + np.random.default_rng(20260109).integers(0, 50, REGION.shape)
    for row, column, most, width in CENTRES:
        people += most * np.exp(-np.hypot(rows - row, columns - column) / width)
    cells = np.argwhere(~lake)
    degrees = np.round(np.column_stack(REGION.centres(cells)), 5).tolist()
    counts = np.round(people[tuple(cells.T)]).astype(int).tolist()
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["lat", "lon", "people"])
        writer.writerows([*place, count] for place, count in zip(degrees, counts, strict=True))


def planar(eps: float, cell: object) -> np.ndarray:
    """How likely planar geometric noise releases each cell instead of this one."""
    return np.exp(PlanarNoise(REGION, read_eps(eps)).log_law(cell))


if __name__ == "__main__":
    main()
