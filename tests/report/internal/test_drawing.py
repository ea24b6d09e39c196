"""Inside `_drawing`: figures where nothing draws."""

import pytest

import sievert as sv
from sievert.report import Page, Picture, page_html
from sievert.report.plots import _drawing


@pytest.fixture
def figure():
    """A small picture."""
    return sv.plots.channel_heatmap(sv.mechanisms.warner())


@pytest.mark.usefixtures("browser")
def test_chromium_draws_it_once(figure):
    first = _drawing.still(figure)
    assert first is not None
    assert first.startswith(b"\x89PNG")
    assert len(first) > 3000
    assert _drawing.still(figure) is first


def page_of(figure):
    """A page with the picture twice."""
    pictures = [Picture(f"Picture {k}", "</script> in words", figure) for k in range(2)]
    return page_html(Page("Title", "Made by hand", "Nothing.", [], pictures=pictures))


@pytest.mark.usefixtures("browser")
def test_a_picture_drawn_again_is_the_same(figure):
    page = page_of(figure)
    _drawing._traced.cache_clear()
    assert page_of(figure) == page
