"""Tables and figures of the sources: every entry agrees or is a known erratum, and docs/papers is fresh."""

import importlib
import re
from pathlib import Path

import plotly.graph_objects as go
import pytest

from papers.picture import obstacle, write_svg

SCRIPTS = sorted(
    path.stem
    for path in Path("papers").glob("*.py")
    if "\ndef build() -> Page:" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "name",
    # The experiments of chapter 8 run hundreds of estimates.
    [pytest.param(name, marks=pytest.mark.slow) if "figure_8" in name else name for name in SCRIPTS],
)
def test_the_page_is_fresh(name: str) -> None:
    page = importlib.import_module(f"papers.{name}").build()
    assert page.entries
    assert [str(entry) for entry in page.entries if entry.status == "DIFFERS"] == []
    assert page.text() == Path(f"docs/papers/{name}.md").read_text(encoding="utf-8"), "run make papers"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_figures_are_there(name: str) -> None:
    page = Path(f"docs/papers/{name}.md").read_text(encoding="utf-8")
    for figure in re.findall(r"\]\((\w+\.svg)\)", page):
        assert "<svg" in Path("docs/papers", figure).read_text(encoding="utf-8")


@pytest.mark.skipif(obstacle() is not None, reason=f"nothing can be drawn: {obstacle()}")
def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    figure = go.Figure([go.Scatter(x=[1, 2], y=[1, 3], name="ε"), go.Bar(x=[1, 2], y=[2, 1], name="a bar")])
    for name in ("first.svg", "second.svg"):
        assert write_svg(figure, tmp_path / name)
    drawing = (tmp_path / "first.svg").read_bytes()
    assert drawing == (tmp_path / "second.svg").read_bytes()
    assert b"DejaVu Sans" in drawing and b"<svg" in drawing
    used = set(re.findall(rb"url\(#([^)]+)\)", drawing))
    assert used and used <= set(re.findall(rb'id="([^"]+)"', drawing))
