"""Figures as SVG files, drawn by a headless Chromium (the figures are Plotly's, which draws in a browser)."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

PAGE = """<!doctype html><meta charset="utf-8"><div id="f"></div><script>{library}</script>
<pre id="out"></pre><script>
const figure = {figure};
Plotly.newPlot("f", figure.data, figure.layout, {{staticPlot: true}})
  .then(f => Plotly.toImage(f, {{format: "svg", width: {width}, height: {height}}}))
  .then(url => document.getElementById("out").textContent = url);
</script>"""


def browser() -> str | None:
    """A Chromium that can be driven, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def write_svg(figure: go.Figure, path: Path, width: int = 760, height: int = 420) -> bool:
    """Draw a figure into a file; without a browser the old file stays, and a line says so."""
    program = browser()
    if program is None:
        print(f"  {path.name} is not drawn: no chromium was found", file=sys.stderr)
        return False
    page = PAGE.format(library=get_plotlyjs(), figure=figure.to_json(), width=width, height=height)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "figure.html"
        source.write_text(page, encoding="utf-8")
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
        command = [program, *options, f"--user-data-dir={folder}/profile", "--dump-dom", source.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="out">data:image/svg\+xml,(.*?)</pre>', done.stdout, flags=re.DOTALL)
    if found is None:
        raise RuntimeError(f"chromium drew nothing for {path.name}: {done.stderr[-500:]}")
    drawing = unquote(html.unescape(found[1]))
    # Plotly numbers its clip paths anew at every drawing; fixed numbers keep the files equal.
    for number, name in enumerate(sorted(set(re.findall(r'id="([^"]+)"', drawing)), key=drawing.index)):
        drawing = re.sub(rf'(["#\']){re.escape(name)}(?=["\')])', rf"\g<1>p{number}", drawing)
    partial = path.with_suffix(".svg.partial")
    partial.write_text(drawing + "\n", encoding="utf-8")
    partial.replace(path)
    return True
