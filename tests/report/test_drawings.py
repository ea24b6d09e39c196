"""Figures where nothing draws: a picture by Chromium, else the table; objects in a notebook."""

import shutil

import pytest

import sievert as sv
from sievert.report.plots import _drawing


@pytest.fixture
def figure():
    """A small picture."""
    return sv.plots.channel_heatmap(sv.mechanisms.warner())


def test_a_figure_without_a_browser_carries_its_numbers(figure, monkeypatch):
    monkeypatch.setattr(_drawing.shutil, "which", lambda name: None)
    bundle = figure._repr_mimebundle_()
    assert "image/png" not in bundle
    assert "<table>" in _drawing._table(figure)
    assert "0.75" in _drawing._table(figure) or "75" in _drawing._table(figure)


def test_a_browser_that_fails_is_none(figure, monkeypatch, tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(_drawing.shutil, "which", lambda name: str(broken))
    assert _drawing.still(figure) is None


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_chromium_draws_it_once(figure):
    first = _drawing.still(figure)
    assert first is not None
    assert first.startswith(b"\x89PNG")
    assert len(first) > 3000
    assert _drawing.still(figure) is first


def test_policies_queries_metrics_and_channels_show_themselves():
    policy = sv.Policy.differential(["<b>", "no"], records=3)
    shown = [policy, sv.Query.count(["no"]), sv.metrics.line(range(40)), sv.mechanisms.warner()]
    for item in shown:
        html = item._repr_html_()
        assert html.startswith("<")
        assert "<b>" not in html
    assert "the first 12" in sv.metrics.line(range(40))._repr_html_()
    assert "Query: " in sv.Query.record()._repr_html_()
