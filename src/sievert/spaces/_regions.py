"""Places on a map: latitude and longitude, a plane in metres, and the square cells of a region.

The plane is the transverse Mercator projection of the WGS 84 ellipsoid, centred on the region, by Krüger's
series to the sixth order (Karney 2011, "Transverse Mercator with an accuracy of a few nanometers"). A
private mechanism protects distances in the plane; `Region.distortion` says how far they are from distances
on the ground.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IntArray
from sievert.errors import FileError
from sievert.numerics import require_size
from sievert.spaces import metrics
from sievert.spaces._labels import CheckedLabels, LabelledTable
from sievert.spaces._metric import Metric

__all__ = ["Region", "TransverseMercator"]

# WGS 84
EQUATOR = 6378137.0
FLATTENING = 1 / 298.257223563
# Beyond this the projection stretches distances by more than 1 %.
WIDEST_METRES = 900_000.0
# A millimetre: the projection is no better than that, and cells are counted in whole numbers.
LEAST_CELL = 1e-3
# Cells whose middles are kept, 16 bytes each.
LARGEST_LISTED = 10_000_000
# The scale is known at the points of a grid, to a few parts in 10^9; between them it differs by less.
STRETCH_MARGIN = 1e-6

# Krüger's coefficients: row j-1 holds those of n^j, n^(j+1), … (Karney 2011, eqs 35 and 36).
FORWARD = (
    (1 / 2, -2 / 3, 5 / 16, 41 / 180, -127 / 288, 7891 / 37800),
    (13 / 48, -3 / 5, 557 / 1440, 281 / 630, -1983433 / 1935360),
    (61 / 240, -103 / 140, 15061 / 26880, 167603 / 181440),
    (49561 / 161280, -179 / 168, 6601661 / 7257600),
    (34729 / 80640, -3418889 / 1995840),
    (212378941 / 319334400,),
)
BACKWARD = (
    (1 / 2, -2 / 3, 37 / 96, -1 / 360, -81 / 512, 96199 / 604800),
    (1 / 48, 1 / 15, -437 / 1440, 46 / 105, -1118711 / 3870720),
    (17 / 480, -37 / 840, -209 / 4480, 5569 / 90720),
    (4397 / 161280, -11 / 504, -830251 / 7257600),
    (4583 / 161280, -108847 / 3991680),
    (20648693 / 638668800,),
)


@dataclass(frozen=True)
class TransverseMercator:
    """Latitude and longitude (degrees) to metres east and north of a central point, and back.

    >>> plane = TransverseMercator(latitude=0, longitude=9)
    >>> east, north = plane.forward(48.0, 9.0)
    >>> float(east), float(north)  # along the central meridian, distances are those on the ground
    (0.0, 5318427.595)
    """

    latitude: float
    longitude: float

    @cached_property
    def _series(self) -> tuple[float, list[float], list[float]]:
        n = FLATTENING / (2 - FLATTENING)
        radius = EQUATOR / (1 + n) * (1 + n**2 / 4 + n**4 / 64 + n**6 / 256)
        forward, backward = (
            [sum(c * n ** (j + i) for i, c in enumerate(row)) for j, row in enumerate(table, start=1)]
            for table in (FORWARD, BACKWARD)
        )
        return radius, forward, backward

    @cached_property
    def _origin(self) -> float:
        return float(self._project(np.float64(self.latitude), np.float64(0.0))[1])

    def forward(self, latitude: Any, longitude: Any) -> tuple[FloatArray, FloatArray]:
        """Metres east and north of the central point."""
        turn = (np.asarray(longitude, np.float64) - self.longitude + 180) % 360 - 180
        east, north = self._project(np.asarray(latitude, np.float64), turn)
        return east, north - self._origin

    def _project(self, latitude: Any, turn: Any) -> tuple[FloatArray, FloatArray]:
        radius, series, _ = self._series
        phi, lam = np.radians(latitude), np.radians(turn)
        tau = np.tan(phi)
        conformal = self._conformal(tau)
        xi = np.arctan2(conformal, np.cos(lam))
        eta = np.arcsinh(np.sin(lam) / np.hypot(conformal, np.cos(lam)))
        north, east = xi.copy(), eta.copy()
        for j, a in enumerate(series, start=1):
            north = north + a * np.sin(2 * j * xi) * np.cosh(2 * j * eta)
            east = east + a * np.cos(2 * j * xi) * np.sinh(2 * j * eta)
        return np.asarray(radius * east), np.asarray(radius * north)

    def backward(self, east: Any, north: Any) -> tuple[FloatArray, FloatArray]:
        """Latitude and longitude of points in the plane."""
        radius, _, series = self._series
        xi = (np.asarray(north, np.float64) + self._origin) / radius
        eta = np.asarray(east, np.float64) / radius
        north_angle, east_angle = xi, eta
        for j, b in enumerate(series, start=1):
            north_angle = north_angle - b * np.sin(2 * j * xi) * np.cosh(2 * j * eta)
            east_angle = east_angle - b * np.cos(2 * j * xi) * np.sinh(2 * j * eta)
        lam = np.arctan2(np.sinh(east_angle), np.cos(north_angle))
        conformal = np.sin(north_angle) / np.hypot(np.sinh(east_angle), np.cos(north_angle))
        tau = conformal
        for _ in range(5):  # Newton's method; three steps reach the last digit
            e2 = FLATTENING * (2 - FLATTENING)
            reached = self._conformal(tau)
            step = (1 + (1 - e2) * tau**2) / ((1 - e2) * np.hypot(1, tau) * np.hypot(1, reached))
            tau = tau - (reached - conformal) * step
        longitude = (np.degrees(lam) + self.longitude + 180) % 360 - 180
        return np.degrees(np.arctan(tau)), np.asarray(longitude)

    @staticmethod
    def _conformal(tau: Any) -> Any:
        """Tangent of the conformal latitude."""
        e = math.sqrt(FLATTENING * (2 - FLATTENING))
        sigma = np.sinh(e * np.arctanh(e * tau / np.hypot(1, tau)))
        return tau * np.hypot(1, sigma) - sigma * np.hypot(1, tau)

    def scale(self, latitude: Any, longitude: Any) -> FloatArray:
        """Length in the plane of one metre on the ground, from small differences."""
        phi, lam, step = np.asarray(latitude, np.float64), np.asarray(longitude, np.float64), 1e-4
        first, second = self.forward(phi - step, lam), self.forward(phi + step, lam)
        length = np.hypot(second[0] - first[0], second[1] - first[1])
        e2 = FLATTENING * (2 - FLATTENING)
        meridian = EQUATOR * (1 - e2) / (1 - e2 * np.sin(np.radians(phi)) ** 2) ** 1.5
        return np.asarray(length / (meridian * np.radians(2 * step)))


@dataclass(frozen=True)
class Region:
    """Square cells that cover a rectangle of latitudes and longitudes; a place is (row, column) of a cell.

    >>> region = Region(48.80, 2.25, 48.90, 2.42, 100)
    >>> region.shape, [int(i) for i in region.cells([48.8582], [2.2945])[0]]
    ((112, 125), [64, 32])
    """

    south: float
    west: float
    north: float
    east: float
    cell: float

    @classmethod
    def checked(cls, south: float, west: float, north: float, east: float, cell: float) -> Region:
        """A region whose plane is a good map and whose cells can be counted."""
        region = cls(south, west, north, east, cell)
        west, south, east, north = region._corner
        wide, high = east - west, north - south
        if max(wide, high) > WIDEST_METRES:
            raise FileError(
                f"region is {wide / 1000:.0f} km by {high / 1000:.0f} km; a plane is a good map of at most "
                f"{WIDEST_METRES / 1000:.0f} km: split it"
            )
        if not LEAST_CELL <= region.cell <= WIDEST_METRES:
            raise FileError(
                f"region.cell is {region.cell:g}; the width of a cell is from {LEAST_CELL:g} to "
                f"{WIDEST_METRES:g} metres"
            )
        return region

    @cached_property
    def plane(self) -> TransverseMercator:
        """The projection, centred on the region."""
        return TransverseMercator((self.south + self.north) / 2, (self.west + self.east) / 2)

    @cached_property
    def _corner(self) -> tuple[float, float, float, float]:
        """Least and greatest metres east and north along the border."""
        along = np.linspace(0, 1, 33)
        latitudes = self.south + along * (self.north - self.south)
        longitudes = self.west + along * (self.east - self.west)
        border = [
            *((latitudes, np.full(33, side)) for side in (self.west, self.east)),
            *((np.full(33, side), longitudes) for side in (self.south, self.north)),
        ]
        easts, norths = zip(*(self.plane.forward(*line) for line in border), strict=True)
        return (
            float(np.min(easts)),
            float(np.min(norths)),
            float(np.max(easts)),
            float(np.max(norths)),
        )

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows (south to north) and columns (west to east) of cells."""
        west, south, east, north = self._corner
        return math.ceil((north - south) / self.cell), math.ceil((east - west) / self.cell)

    def __len__(self) -> int:
        return self.shape[0] * self.shape[1]

    def contains(self, latitude: FloatArray, longitude: FloatArray) -> NDArray[np.bool_]:
        """Which places are in the rectangle."""
        inside = (self.south <= latitude) & (latitude <= self.north)
        return np.asarray(inside & (self.west <= longitude) & (longitude <= self.east))

    def clamp(self, latitude: FloatArray, longitude: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The nearest latitude and longitude in the rectangle."""
        return np.clip(latitude, self.south, self.north), np.clip(longitude, self.west, self.east)

    def metres(self, latitude: Any, longitude: Any) -> tuple[FloatArray, FloatArray]:
        """Metres east and north of the south-western corner of the cells."""
        west, south, _, _ = self._corner
        east, north = self.plane.forward(latitude, longitude)
        return east - west, north - south

    def cells(self, latitude: Any, longitude: Any) -> IntArray:
        """Row and column of the cell of each place, an array [places, 2]."""
        east, north = self.metres(latitude, longitude)
        rows = np.floor(north / self.cell).astype(np.int64)
        columns = np.floor(east / self.cell).astype(np.int64)
        limits = np.array(self.shape) - 1
        return np.clip(np.stack([rows, columns], axis=-1), 0, limits)

    def centres(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Latitude and longitude of the middle of cells given as an array [places, 2]."""
        west, south, _, _ = self._corner
        places = np.asarray(cells, np.float64) + 0.5
        return self.plane.backward(west + places[..., 1] * self.cell, south + places[..., 0] * self.cell)

    def weights(self, table: LabelledTable, source: object) -> FloatArray:
        """Public weights of the cells, row by row, from rows of latitude, longitude and weight.

        Rows outside the rectangle are left out, and several rows of one cell are added up.
        """
        if len(table.header) < 3:
            raise FileError(f"{source}: needs latitude, longitude and weight in each row")
        try:
            numbers = np.array([[float(cell) for cell in row[:3]] for row in table.rows])
        except (TypeError, ValueError) as problem:
            raise FileError(f"{source}: {problem}; latitude, longitude and weight must be numbers") from None
        if not np.isfinite(numbers).all() or (numbers[:, 2:] < 0).any():
            raise FileError(f"{source}: latitudes, longitudes and weights must be finite, and weights ≥ 0")
        numbers = numbers.reshape(-1, 3)
        inside = self.contains(numbers[:, 0], numbers[:, 1])
        cells = self.cells(numbers[inside, 0], numbers[inside, 1])
        flat = cells[:, 0] * self.shape[1] + cells[:, 1]
        found = np.bincount(flat, numbers[inside, 2], minlength=len(self)).astype(np.float64)
        if not found.sum() > 0:
            raise FileError(f"{source}: gives no weight to any place in the region")
        return found

    @cached_property
    def labels(self) -> CheckedLabels:
        """Every cell, row by row."""
        rows, columns = self.shape
        return CheckedLabels.combined([range(rows), range(columns)])

    def metric(self) -> Metric:
        """Distances in metres between the cells' centres; listed only where somebody asks for them."""
        rows, columns = self.shape
        require_size(len(self), LARGEST_LISTED, "the cells of the region", "so use wider cells (region.cell)")
        places = self.cell * np.indices((rows, columns), dtype=np.float64)[::-1].reshape(2, -1).T
        return metrics.between_points(self.labels, places)

    @cached_property
    def distortion(self) -> tuple[float, float]:
        """Least and greatest length in the plane of one metre on the ground, over the region."""
        # The scale is greatest on the eastern and western border, where it is nearest to the equator.
        latitudes = np.append(np.linspace(self.south, self.north, 9), np.clip(0.0, self.south, self.north))
        longitudes = np.linspace(self.west, self.east, 9)
        grid = np.meshgrid(latitudes, longitudes)
        scale = self.plane.scale(*grid)
        return float(scale.min()), float(scale.max())

    @property
    def diagonal(self) -> float:
        """Metres across a cell, from corner to corner."""
        return self.cell * math.sqrt(2)

    @cached_property
    def stretch(self) -> float:
        """No distance on the ground is longer than this many times itself in the plane."""
        return max(1.0, self.distortion[1]) * (1 + STRETCH_MARGIN)

    def cells_apart(self, metres: float) -> float:
        """The farthest that the middles of two cells can be apart that hold places so many metres apart.

        Each place is up to half a diagonal from the middle of its cell, on the far side.

        >>> round(Region(48.80, 2.25, 48.90, 2.42, 100).cells_apart(10), 2)
        151.42
        """
        return metres * self.stretch + self.diagonal


class GridRegion(Region):
    """Cells of a plane that is no part of the earth: its sides are counted in cells.

    >>> GridRegion.of(3, 4, 50.0).shape
    (3, 4)
    """

    @classmethod
    def of(cls, rows: int, columns: int, cell: float) -> GridRegion:
        """So many rows and columns of cells of one width."""
        return cls(0.0, 0.0, float(rows), float(columns), cell)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return int(self.north), int(self.east)
