"""Densities on a map: how many places lie in each cell of a region, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sievert.arrays import FloatArray
from sievert.channels import Channel
from sievert.errors import DataError
from sievert.mechanisms import planar_noise
from sievert.numerics import instance, read_eps
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._style import LARGEST_HEATMAP, SHARE, laid_out, numbers
from sievert.spaces import Region

__all__ = ["place_densities", "summed"]


def place_densities(region: Region, densities: Mapping[str, Any]) -> go.Figure:
    """Shares of the cells of a region, one map for each name, on one scale of colours.

    Parameters
    ----------
    region : the policy's region; axes are metres east and north of its south-western corner
    densities : for each name a number for every cell, row by row; each is scaled to add up to 1

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(cells) for each map. Cells too small to be seen are drawn several at a time.

    Examples
    --------
    >>> import sievert as sv
    >>> from sievert.spaces import Region
    >>> region = Region(48.80, 2.25, 48.82, 2.28, 500)
    >>> flat = [1] * len(region)
    >>> figure = sv.plots.place_densities(region, {"noisy": flat, "estimated": flat})
    >>> [note.text for note in figure.layout.annotations]
    ['noisy', 'estimated']
    """
    instance("region", region, Region, "the region of a policy", DataError)
    if not isinstance(densities, Mapping) or not densities:
        raise DataError("densities is empty; map a name to a number for every cell")
    shares = {str(name): _shares(region, name, given) for name, given in densities.items()}
    titles = list(shares)
    figure = make_subplots(1, len(shares), subplot_titles=titles, horizontal_spacing=0.03, figure=Drawing())
    step = max(-(-size // LARGEST_HEATMAP) for size in region.shape)
    drawn = [summed(grid, step) for grid in shares.values()]
    top = max(float(grid.max()) for grid in drawn)
    width = region.cell * step
    for place, grid in enumerate(drawn, start=1):
        figure.add_heatmap(
            z=grid,
            x=(np.arange(grid.shape[1]) + 0.5) * width,
            y=(np.arange(grid.shape[0]) + 0.5) * width,
            zmin=0.0,
            zmax=top,
            colorscale="Blues",
            showscale=place == len(drawn),
            colorbar={"title": "share", "tickformat": SHARE},
            hovertemplate=f"%{{x:.0f}} m east, %{{y:.0f}} m north: %{{z:{SHARE}}}<extra></extra>",
            row=1,
            col=place,
        )
        axis = "" if place == 1 else str(place)
        # Axes of their own: shared ones would stretch all maps but the first.
        figure.update_yaxes(
            scaleanchor=f"x{axis}",
            scaleratio=1,
            constrain="domain",
            showticklabels=place == 1,
            row=1,
            col=place,
        )
    laid_out(figure, "metres east", "metres north")
    figure.update_xaxes(title="metres east", nticks=6, constrain="domain")
    figure.update_layout(margin={"t": 30})
    return figure


def noise_beside(region: Region, mechanism: Channel, eps: float, belief: Any) -> go.Figure:
    """Where people are, and where the likeliest place is released: planar geometric noise and a mechanism.

    Parameters
    ----------
    region : the policy's region
    mechanism : a channel on its cells
    eps : of the planar noise, in nats for each metre
    belief : a number for every cell, row by row: how likely it is

    Returns
    -------
    plotly.graph_objects.Figure

    Notes
    -----
    Cost: O(cells).

    Examples
    --------
    >>> import sievert as sv
    >>> from sievert.spaces import Region
    >>> region = Region(48.80, 2.25, 48.82, 2.28, 500)
    >>> best = sv.optimal_mechanism(region.metric(), 0.002, gap=0.05)
    >>> figure = sv.plots.noise_beside(region, best.mechanism, 0.002, [1] * len(region))
    >>> [note.text for note in figure.layout.annotations]
    ['people', 'planar geometric', 'the best mechanism']
    """
    instance("region", region, Region, "the region of a policy", DataError)
    instance("mechanism", mechanism, Channel, "a channel on the cells of the region", DataError)
    shares = _shares(region, "belief", belief)
    if sorted(map(str, mechanism.inputs)) != sorted(map(str, region.labels)):
        raise DataError(
            f"mechanism has {len(mechanism.inputs)} inputs, and the region {len(region)} cells; give a "
            "channel on the cells of the region"
        )
    likeliest = list(region.labels)[int(shares.argmax())]
    noise = planar_noise(region, read_eps(eps))
    released = dict(zip(mechanism.outputs, mechanism.row(likeliest), strict=True))
    return place_densities(
        region,
        {
            "people": shares,
            "planar geometric": np.exp(noise.log_law(likeliest)),
            "the best mechanism": [released.get(cell, 0.0) for cell in region.labels],
        },
    )


def _shares(region: Region, name: object, given: Any) -> FloatArray:
    found = numbers(f"densities[{name!r}]", np.asarray(given).ravel(), len(region))
    if not (found >= 0).all() or not 0 < float(found.sum()) < np.inf:
        raise DataError(f"densities[{name!r}] must be numbers ≥ 0, not all 0, one for each cell")
    return np.asarray(found / found.sum()).reshape(region.shape)


def summed(grid: FloatArray, step: int) -> FloatArray:
    """Blocks of cells added up."""
    padded = np.pad(grid, [(0, -size % step) for size in grid.shape])
    rows, columns = (size // step for size in padded.shape)
    return np.asarray(padded.reshape(rows, step, columns, step).sum(axis=(1, 3)))
