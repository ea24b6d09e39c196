"""Inside `_regions`: the projection against arcs of the meridian, conformality, and published coordinates."""

import numpy as np
import pytest
from scipy.integrate import quad

from sievert.spaces._regions import EQUATOR, FLATTENING, TransverseMercator

E2 = FLATTENING * (2 - FLATTENING)
RNG = np.random.default_rng(9)
LATITUDES, LONGITUDES = RNG.uniform(-80, 84, 500), RNG.uniform(4, 14, 500)


def meridian_radius(phi: float) -> float:
    return float(EQUATOR * (1 - E2) / (1 - E2 * np.sin(phi) ** 2) ** 1.5)


@pytest.mark.parametrize("latitude", [-75.0, 0.0, 12.5, 48.0, 83.0])
def test_the_central_meridian_keeps_its_length(latitude: float) -> None:
    arc, _ = quad(meridian_radius, 0, np.radians(latitude), epsabs=1e-9, epsrel=1e-13)
    east, north = TransverseMercator(0, 9).forward(latitude, 9.0)
    assert float(east) == pytest.approx(0, abs=1e-9)
    assert float(north) == pytest.approx(arc, abs=1e-6)


def test_the_projection_is_conformal() -> None:
    """Steps north and east on the ground are perpendicular and equally stretched in the plane."""
    plane, step = TransverseMercator(0, 9), 1e-4
    phi = np.radians(LATITUDES)
    along = np.array(plane.forward(LATITUDES + step, LONGITUDES)) - plane.forward(
        LATITUDES - step, LONGITUDES
    )
    across = np.array(plane.forward(LATITUDES, LONGITUDES + step)) - plane.forward(
        LATITUDES, LONGITUDES - step
    )
    north = along / (np.array([meridian_radius(p) for p in phi]) * np.radians(2 * step))
    east = across / (EQUATOR * np.cos(phi) / np.sqrt(1 - E2 * np.sin(phi) ** 2) * np.radians(2 * step))
    np.testing.assert_allclose(np.hypot(*north), np.hypot(*east), rtol=1e-8)
    np.testing.assert_allclose((north * east).sum(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(plane.scale(LATITUDES, LONGITUDES), np.hypot(*north), rtol=1e-9)


def test_there_and_back() -> None:
    plane = TransverseMercator(48, 9)
    latitude, longitude = plane.backward(*plane.forward(LATITUDES, LONGITUDES))
    np.testing.assert_allclose(latitude, LATITUDES, atol=1e-12)
    np.testing.assert_allclose(longitude, LONGITUDES, atol=1e-12)


def test_the_eiffel_tower_in_utm() -> None:
    """UTM zone 31 is this projection about 3° east, scaled by 0.9996 and shifted."""
    east, north = TransverseMercator(0, 3).forward(48.858222, 2.2945)
    assert 500_000 + 0.9996 * float(east) == pytest.approx(448_252, abs=1)
    assert 0.9996 * float(north) == pytest.approx(5_411_935, abs=1)


def test_across_the_date_line() -> None:
    plane = TransverseMercator(-17, 179.9)
    east, _ = plane.forward(-17.0, -179.9)
    assert 20_000 < float(east) < 22_000
    assert float(plane.backward(east, 0.0)[1]) == pytest.approx(-179.9, abs=1e-4)
