"""Pictures and the table of an audit of noise without a list hold the numbers of the closed forms."""

import math
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.questions import NoiseCurve, NoiseMap, guess_by_eps, guess_by_releases, noise_curve
from sievert.report import audit as report
from sievert.report import release

HISTOGRAM = """
version = 1
title = "Twelve cells"
policy = {{ values = {{ range = [1, 12] }}, records = 240 }}
query = {{ kind = "histogram" }}
mechanism = {{ kind = "geometric", eps = 0.5 }}
adversary = {{ observations = {observations} }}
{more}
"""


def file(folder: Path, text: str) -> PolicyScenario:
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def histogram(folder: Path, observations: int = 4, more: str = "") -> PolicyScenario:
    return file(folder, HISTOGRAM.format(observations=observations, more=more))


def test_the_guess_release_by_release(tmp_path: Path) -> None:
    """Releases without a list, §1: k = 12, ε' = 0.25."""
    curve = guess_by_releases(histogram(tmp_path, 52, "accept = { guess = 0.9 }"))
    assert curve is not None
    found = dict(zip(curve.levels, curve.guesses, strict=True))
    assert found[1] == pytest.approx(0.106960164, abs=5e-10)
    assert found[52] == pytest.approx(0.575237886, abs=5e-10)
    assert all(curve.exact)
    assert (curve.before, curve.here, curve.limit, curve.ever) == (1 / 12, 52, 0.9, None)
    assert list(curve.guesses) == sorted(curve.guesses)


def test_the_guess_against_eps(tmp_path: Path) -> None:
    curve = guess_by_eps(histogram(tmp_path))
    assert curve is not None
    assert (curve.levels[0], curve.guesses[0]) == (0.0, 1 / 12)
    assert curve.levels[-1] == pytest.approx(1.5)
    for eps, guess in zip(curve.levels[1:], curve.guesses[1:], strict=True):
        alpha = math.exp(-eps / 2)
        none = (1 + alpha) ** -12
        assert guess == pytest.approx(((1 - none) / alpha + alpha * none) / 12, rel=1e-12)


def test_the_law_of_one_cell_and_one_belief(tmp_path: Path) -> None:
    scenario = histogram(tmp_path)
    found = noise_curve(scenario.channel, scenario)
    assert isinstance(found, NoiseCurve)
    alpha = math.exp(-0.25)
    middle = len(found.amounts) // 2
    assert found.amounts[middle : middle + 3] == (0, 1, 2)
    for amount, chance in zip(found.amounts, found.probabilities, strict=True):
        assert chance == pytest.approx((1 - alpha) / (1 + alpha) * alpha ** abs(amount), rel=1e-12)
    assert sum(found.probabilities) > 0.999
    # Bayes: the cell of the value came out one too high, no other did.
    weights = np.array([*[math.exp(-0.25)] * 6, math.exp(0.25), *[math.exp(-0.25)] * 5])
    assert found.after == pytest.approx(weights / weights.sum(), rel=1e-12)
    assert (found.seen, found.values[:2], found.before[0]) == (7, (1, 2), 1 / 12)


def test_belief_after_a_sum_is_by_distance(tmp_path: Path) -> None:
    scenario = file(
        tmp_path,
        """
        version = 1
        policy = { values = { range = [0, 300000], step = 1 }, records = 20 }
        query = { kind = "sum" }
        mechanism = { kind = "geometric", eps = 1.0 }
        adversary = { observations = 2 }
        """,
    )
    found = noise_curve(scenario.channel, scenario)
    assert isinstance(found, NoiseCurve)
    assert len(found.values) <= 401
    assert len(found.amounts) <= 401
    level = 1 / 300000
    # The likeliest value in the middle is seen: the one that a uniform belief has there.
    near, far = found.after[found.values.index(150_000)], found.after[-1]
    assert found.seen == 150_000
    assert far / near == pytest.approx(math.exp(-level * 150_000), rel=1e-9)
    # Per value: the shares of all 300001 values add up to 1.
    alpha = math.exp(-level)
    assert near == pytest.approx((1 - alpha) / (1 + alpha - 2 * alpha**150_001), rel=1e-9)


def test_the_map_shows_where_a_place_goes() -> None:
    scenario = sv.load("examples/release/taxis.toml")
    found = noise_curve(scenario.channel, scenario)
    assert isinstance(found, NoiseMap)
    rows, columns = found.probabilities.shape
    assert (len(found.north), len(found.east)) == (rows, columns)
    centre = found.north.index(0.0), found.east.index(0.0)
    assert np.unravel_index(found.probabilities.argmax(), (rows, columns)) == centre
    assert found.probabilities.sum() > 0.998
    north, east = found.probabilities[centre[0] + 1, centre[1]], found.probabilities[centre[0], centre[1] + 1]
    assert north / found.probabilities[centre] == pytest.approx(math.exp(-0.01 * 150), rel=1e-9)
    assert north == pytest.approx(east, rel=1e-9)


def test_the_table_settles_which_at_most_is_which(tmp_path: Path) -> None:
    found = sv.audit(histogram(tmp_path)).standing
    one, repeated, database = found.rows
    # e^ε/(e^ε + 11) is the most that any mechanism with ε = 0.5 lets one guess among twelve values.
    assert one.promise is not None and one.mechanism is not None
    assert one.promise.exact
    assert one.promise.value == pytest.approx(math.exp(0.5) / (math.exp(0.5) + 11), rel=1e-9)
    assert one.mechanism.exact
    assert one.mechanism.value == pytest.approx(0.106960164, abs=5e-10)
    assert repeated.mechanism is not None and repeated.promise is not None
    assert repeated.mechanism.value == pytest.approx(0.167128244, abs=5e-10)
    assert repeated.mechanism.value < repeated.promise.value
    # Releases without a list, §1: k = 12, N = 240.
    assert database.mechanism is not None and database.promise is not None
    assert database.mechanism.value == pytest.approx(31.409257265, rel=1e-9)
    assert database.mechanism.value < database.promise.value < database.anything.value
    assert database.anything.value == pytest.approx(240 * math.log2(12), rel=1e-12)
    assert found.promise == "ε = 0.5"
    assert found.header == ["", "before", "this mechanism", "this promise", "any mechanism"]
    assert one.texts() == ["guess about one record", "8.33%", "10.7%", "13.0%", "100%"]


def test_bounds_say_at_most_by_their_field(tmp_path: Path) -> None:
    scenario = file(
        tmp_path,
        """
        version = 1
        policy = { values = { range = [0, 9] }, records = 20 }
        query = { kind = "sum" }
        mechanism = { kind = "geometric", eps = 1.0 }
        adversary = { observations = 5 }
        """,
    )
    found = sv.audit(scenario)
    for row in found.standing.rows:
        for amount, text in zip((row.mechanism, row.promise, row.anything), row.texts()[2:], strict=True):
            assert amount is not None
            assert text.startswith("at most ") is not amount.exact
    assert found.standing.rows[1].mechanism is not None
    assert found.standing.rows[1].mechanism.exact is found.repeated_exact


@pytest.mark.parametrize("name", ["income-by-district", "household-sizes", "taxis", "ages"])
def test_every_release_has_pages(name: str) -> None:
    scenario = sv.load(f"examples/release/{name}.toml")
    found = sv.audit(scenario)
    pages = [report.page(found, scenario), release.page(sv.release.preview(scenario), scenario)]
    for page in pages:
        assert len(page.encode()) < 2_000_000
        assert page.count('class="plotly-graph-div"') >= 1
    header, rows = report.table(found)
    assert all(cell in pages[0] for cell in (*header, *(cell for row in rows for cell in row)))
