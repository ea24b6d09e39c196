"""A region as a rectangle on a plot, with what is believed about it; no map is fetched from anywhere."""

from __future__ import annotations

import numpy as np

from sievert.arrays import FloatArray
from sievert.report._page import Picture
from sievert.report.plots._drawing import Drawing
from sievert.report.plots._maps import summed
from sievert.report.plots._style import AFTER, LARGEST_HEATMAP, SHARE, laid_out
from sievert.spaces import Region

__all__ = ["places_picture"]


def places_picture(region: Region, belief: FloatArray | None) -> Picture:
    """The rectangle in degrees; cells too small to be seen are drawn several at a time."""
    figure = Drawing()
    if belief is not None:
        step = max(-(-size // LARGEST_HEATMAP) for size in region.shape)
        grid = summed(belief.reshape(region.shape), step)
        north, east = ((np.arange(size) + 0.5) / size for size in grid.shape)
        figure.add_heatmap(
            z=grid,
            x=region.west + east * (region.east - region.west),
            y=region.south + north * (region.north - region.south),
            colorscale="Blues",
            showscale=False,
            hovertemplate=f"%{{y:.4f}}° north, %{{x:.4f}}° east: %{{z:{SHARE}}}<extra></extra>",
        )
    figure.add_scatter(
        x=[region.west, region.east, region.east, region.west, region.west],
        y=[region.south, region.south, region.north, region.north, region.south],
        mode="lines",
        line={"color": AFTER, "width": 2.5},
        name="the region",
        showlegend=False,
    )
    laid_out(figure, "longitude (°)", "latitude (°)")
    # A degree of longitude is shorter than one of latitude.
    middle = float(np.cos(np.radians((region.south + region.north) / 2)))
    figure.update_yaxes(scaleanchor="x", scaleratio=1 / middle)
    caption = "The region of the policy; the darker a cell, the likelier the adversary holds a place there."
    return Picture("The places", caption if belief is not None else "The region of the policy.", figure)
