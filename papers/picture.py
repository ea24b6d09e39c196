"""Figures as SVG files, drawn by a headless Chromium (the figures are Plotly's, which draws in a browser).

The same figure is the same file, byte for byte, on every machine: names and text widths do not depend on
chance or on the fonts that happen to be installed.
"""

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

# Plotly draws its names by lot, and measures texts: a fixed lot, and one font whose metrics are known.
FONT = "DejaVu Sans"
PAGE = """<!doctype html><meta charset="utf-8"><div id="f"></div><script>
let state = 1;
Math.random = () => (state = state * 48271 % 2147483647) / 2147483647;
</script><script>{library}</script>
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


def obstacle() -> str | None:
    """Why nothing can be drawn here, if so."""
    if browser() is None:
        return "no chromium was found"
    if shutil.which("fc-match") is None or FONT not in _font_file():
        return f"the font {FONT} is not installed, and another one would move every text"
    return None


def _font_file() -> str:
    done = subprocess.run(["fc-match", FONT], capture_output=True, text=True, check=False)
    return done.stdout


def write_svg(figure: go.Figure, path: Path, width: int = 760, height: int = 420) -> bool:
    """Draw a figure into a file; where that cannot be done the old file stays, and a line says so."""
    reason, program = obstacle(), browser()
    if reason is not None or program is None:
        print(f"  {path.name} is not drawn: {reason}", file=sys.stderr)
        return False
    figure = go.Figure(figure).update_layout(font_family=f"{FONT}, Verdana, sans-serif")
    page = PAGE.format(library=get_plotlyjs(), figure=figure.to_json(), width=width, height=height)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "figure.html"
        source.write_text(page, encoding="utf-8")
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
        options += ["--font-render-hinting=none", "--force-device-scale-factor=1", "--lang=en-US"]
        command = [program, *options, f"--user-data-dir={folder}/profile", "--dump-dom", source.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="out">data:image/svg\+xml,(.*?)</pre>', done.stdout, flags=re.DOTALL)
    if found is None:
        raise RuntimeError(f"chromium drew nothing for {path.name}: {done.stderr[-500:]}")
    drawing = _renamed(unquote(html.unescape(found[1])))
    partial = path.with_suffix(".svg.partial")
    partial.write_text(drawing + "\n", encoding="utf-8")
    partial.replace(path)
    return True


def _renamed(drawing: str) -> str:
    """The drawing with its names numbered in the order in which they are given."""
    given = dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawing))
    names = {name: f"p{number}" for number, name in enumerate(given)}
    return re.sub(r'(\bid="|url\(\'?#|href="#)([^"\')]+)', lambda m: m[1] + names.get(m[2], m[2]), drawing)
