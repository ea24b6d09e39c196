"""Figures where nothing draws: a picture by Chromium, else the table; objects in a notebook."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest

import sievert as sv
from sievert.report import Page, Picture, page_html

STILL = r'<noscript><img class="still"[^>]*base64,([^"]+)"></noscript>'


@pytest.fixture
def figure():
    """A small picture."""
    return sv.plots.channel_heatmap(sv.mechanisms.warner())


def test_a_figure_without_a_browser_carries_its_numbers(figure, monkeypatch):
    monkeypatch.setenv("SIEVERT_BROWSER", "")
    bundle = figure._repr_mimebundle_()
    assert "image/png" not in bundle
    html = figure._repr_html_()
    assert html == bundle["text/html"] and "<table>" in html and "<img" not in html
    assert "0.75" in html or "75" in html


@pytest.mark.usefixtures("browser")
def test_a_figure_as_html_asks_no_other_machine(figure):
    html = figure._repr_html_()
    assert 'src="data:image/png;base64,' in html and "<table>" in html
    assert "http" not in html and "<script" not in html
    assert figure._repr_mimebundle_()["text/html"] == html


def test_labels_of_secrets_are_whole_and_beside_the_edges():
    """Each label is drawn, away from the edges of its vertex, and the axis leaves room for it."""
    blocks = sv.secrets.partition([["influenza", "common cold", "asthma"], ["fracture of arm", "sprain"]])
    figure = sv.plots.policy_graph(blocks)
    labels = {
        text: (x, side)
        for trace in figure.data
        if trace.text is not None
        for text, x, side in zip(trace.text, trace.x, trace.textposition, strict=True)
    }
    assert set(labels) == {"influenza", "common cold", "asthma", "fracture of arm", "sprain"}
    left, right = figure.layout.xaxis.range
    letters = (right - left) / 400 * 7  # the narrowest page is 400 pixels wide, a letter at most 7
    for text, (x, side) in labels.items():
        start = x - {"left": 1, "center": 0.5, "right": 0}[side.split()[1]] * len(text) * letters
        assert left <= start and start + len(text) * letters <= right, text
    parents = {"north": "country", "south": "country", "harbour": "south", "old town": "south", "country": ""}
    tree = sv.plots.policy_graph(sv.secrets.tree(parents))
    sides = {
        text: side
        for trace in tree.data
        if trace.text is not None
        for text, side in zip(trace.text, trace.textposition, strict=True)
    }
    assert len(set(sides.values())) > 1


def test_a_browser_that_fails_is_none(figure, monkeypatch, tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("SIEVERT_BROWSER", str(broken))
    assert "image/png" not in figure._repr_mimebundle_()
    page = page_of(figure)
    assert "<img" not in page and page.count('<noscript><div class="scroll"><table>') == 2


def page_of(figure):
    """A page with the picture twice."""
    pictures = [Picture(f"Picture {k}", "</script> in words", figure) for k in range(2)]
    return page_html(Page("Title", "Made by hand", "Nothing.", [], pictures=pictures))


@pytest.mark.usefixtures("browser")
def test_a_page_holds_its_pictures_without_scripts(figure):
    """As SVG with the labels in it, below 2 MB."""
    figure.update_layout(title="</script>")
    page = page_of(figure)
    found = re.findall(STILL, page)
    assert len(found) == 2
    for picture in map(b64decode, found):
        root = ElementTree.fromstring(picture)
        words = {text for item in root.iter() if (text := (item.text or "").strip())}
        assert {"yes", "no"} <= words
    assert len(page.encode()) < 2_000_000


def test_a_page_without_a_browser_holds_the_numbers(figure):
    page = page_of(figure)
    assert "<img" not in page
    assert page.count('<noscript><div class="scroll"><table>') == 2


def test_policies_queries_metrics_and_channels_show_themselves():
    policy = sv.Policy.differential(["<b>", "no"], records=3)
    shown = [policy, sv.Query.count(["no"]), sv.metrics.line(range(40)), sv.mechanisms.warner()]
    for item in shown:
        html = item._repr_html_()
        assert html.startswith("<")
        assert "<b>" not in html
    assert "the first 12" in sv.metrics.line(range(40))._repr_html_()
    assert "Query: " in sv.Query.record()._repr_html_()
