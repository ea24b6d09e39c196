"""The noise that a table could get, in one picture."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from sievert.design import TableDesign
from sievert.errors import DataError
from sievert.numerics import instance
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import curve_line, laid_out, percents, thinned

__all__ = ["noise_laws"]

# Values of the noise that are drawn at most.
MOST_VALUES = 201


def noise_laws(found: TableDesign) -> go.Figure:
    """How far off one number comes out under each noise of a design, and how often.

    Parameters
    ----------
    found : TableDesign

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(mechanisms) for a bounded number of values each.

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.design.noise_for(sv.Policy.differential(range(4), 10), 3.0, sv.Query.sum())
    >>> len(sv.plots.noise_laws(found).data)
    3
    """
    instance("found", found, TableDesign, "what sv.design.noise_for returns", DataError)
    drawn = [(option, option.noise) for option in found.options if option.noise is not None]
    reach = 2 * min(noise.law.radius(found.confidence) for _, noise in drawn) + 1
    places = np.arange(-reach, reach + 1, dtype=np.float64)[thinned(2 * reach + 1, MOST_VALUES)]
    figure = Drawing()
    for position, (option, noise) in enumerate(drawn):
        step = float(noise.statistic.step)
        chances = np.exp(noise.law.log_pmf(places))
        line = {**curve_line(position), "shape": "hvh"}
        figure.add_scatter(x=places * step, y=chances, name=option.name, mode="lines", line=line)
    figure.update_yaxes(rangemode="tozero")
    return percents(laid_out(figure, "released number minus true number", "probability"))
