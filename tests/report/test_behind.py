"""The table behind a picture holds what is drawn."""

import sievert as sv
from sievert.report import bars, picture_data


def test_curves_share_their_axis() -> None:
    figure = sv.plots.guess_curve([1, 2, 3], [0.3, 0.4, 0.6], 0.2, exact=[True, True, False])
    found = picture_data(figure, "guess", "how it grows")
    assert found.header == ["releases", "best guess", "at most"]
    assert found.rows == [["1", "30.0%", ""], ["2", "40.0%", "40.0%"], ["3", "", "60.0%"]]


def test_bars_that_lie_go_by_their_names() -> None:
    found = picture_data(bars(["first", "second"], [0.25, 3.0], "spent"))
    assert found.header == ["", "spent"] and found.rows == [["first", "0.25"], ["second", "3"]]


def test_cells_and_many_rows_are_thinned() -> None:
    found = picture_data(sv.plots.channel_heatmap(sv.mechanisms.geometric(3, alpha="1/2")))
    assert len(found.rows) == 3 and found.rows[0][1:] == ["66.7%", "16.7%", "16.7%"]
    long = picture_data(sv.plots.noise_law(range(1000), [0.001] * 1000), caption="much")
    assert len(long.rows) == 200 and long.caption == "much 200 of 1000 rows, evenly spaced."
