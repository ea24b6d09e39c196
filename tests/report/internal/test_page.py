"""Inside `_page`: figures where nothing draws."""

import re

import pytest

import sievert as sv
from sievert.report import Page, Picture, _page, page_html

STILL = r'<noscript><img class="still"[^>]*base64,([^"]+)"></noscript>'


@pytest.fixture
def figure():
    """A small picture."""
    return sv.plots.channel_heatmap(sv.mechanisms.warner())


def page_of(figure):
    """A page with the picture twice."""
    pictures = [Picture(f"Picture {k}", "</script> in words", figure) for k in range(2)]
    return page_html(Page("Title", "Made by hand", "Nothing.", [], pictures=pictures))


@pytest.mark.usefixtures("browser")
def test_pictures_that_are_too_long_leave_their_table(figure, monkeypatch):
    found = re.findall(STILL, page_of(figure))
    monkeypatch.setattr(_page, "MOST_STILLS", len(found[0]))
    assert page_of(figure).count('class="still"') == 1
