"""A figure whose texts are text, and that also shows where nothing draws.

Plotly reads tags in every text, with links and styles whose addresses a browser asks: a label of a file is
no tag. Where nothing draws, the figure is a picture by Chromium where it is found, else a table: notebooks
that are printed, or converted by nbconvert, and pages read where scripts do not run, take what needs none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import plotly.graph_objects as go

__all__ = ["Drawing", "still", "stills"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH, HEIGHT, SECONDS = 700, 420, 30
# A "<" that begins no tag of ours, and an "&" that Plotly would take for the beginning of another letter.
MARKUP = re.compile(r"<(?!(?:br|/?extra)>)|&(?=#?\w+;)")
# What draws asks nobody.
POLICY = (
    "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:\">"
)
TRACED = "data:image/svg+xml,"
OPTIONS = (
    "--headless=new",
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-device-scale-factor=2",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


class Drawing(go.Figure):  # type: ignore[misc]
    """A Plotly figure; in a notebook it carries a picture, or a table of its numbers, beside it."""

    def to_dict(self) -> dict[str, Any]:
        """What is drawn, wherever it is: its texts without tags but our own line breaks."""
        found: dict[str, Any] = _texts_alone(super().to_dict())
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy holds the texts themselves."""
        held = super().to_dict()
        return type(self), ({**held, "_grid_str": self._grid_str, "_grid_ref": self._grid_ref},)

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, validate: bool = True, **options: Any
    ) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(include, exclude, validate, **options) or {})
        picture = still(self)
        if picture is not None:
            bundle["image/png"] = picture
        # Plotly's own needs its library from elsewhere, and a page made by nbconvert takes this form first.
        bundle["text/html"] = self._repr_html_()
        return bundle

    def _repr_html_(self) -> str:
        """The picture or the table; Plotly's own would ask another machine for its library."""
        picture = still(self)
        if picture is None:
            return _table(self)
        source = b64encode(picture).decode("ascii")
        return (
            f'<img width="{WIDTH}" alt="a picture of the numbers below" src="data:image/png;base64,{source}">'
            f"<details><summary>The numbers behind this picture</summary>{_table(self)}</details>"
        )


def _texts_alone(item: Any) -> Any:
    """The same figure with every text as Plotly shows it letter by letter."""
    if isinstance(item, str):
        return MARKUP.sub(lambda found: "&lt;" if found[0] == "<" else "&amp;", item)
    if isinstance(item, dict):
        return {key: _texts_alone(part) for key, part in item.items()}
    if isinstance(item, list | tuple):
        return [_texts_alone(part) for part in item]
    if isinstance(item, np.ndarray) and item.dtype.kind in "OU":
        return _texts_alone(item.tolist())
    return item


def still(figure: go.Figure) -> bytes | None:
    """The figure as PNG, drawn by Chromium; None where none is found, or it does not answer."""
    browser = _browser()
    return None if browser is None else _drawn(browser, figure.to_json())


def stills(figures: Sequence[go.Figure]) -> tuple[str | None, ...]:
    """Figures as SVG, all drawn by one run of Chromium; None where none is found, or it does not answer."""
    browser = _browser()
    if browser is None or not figures:
        return (None,) * len(figures)
    found = _traced(browser, tuple(figure.to_json() for figure in figures))
    return found if len(found) == len(figures) else (None,) * len(figures)


def _browser() -> str | None:
    """The Chromium that SIEVERT_BROWSER names (none where it is empty), else one that is installed."""
    named = os.environ.get("SIEVERT_BROWSER")
    names = BROWSERS if named is None else (named,) if named else ()
    return next((path for name in names if (path := shutil.which(name)) is not None), None)


@lru_cache(maxsize=64)
def _drawn(browser: str, figure: str) -> bytes | None:
    script = (
        f"const drawn = {_inside(figure)}; Plotly.newPlot('figure', drawn.data, "
        f"{{...drawn.layout, width: {WIDTH}, height: {HEIGHT}}}, {{staticPlot: true}});"
    )
    with tempfile.TemporaryDirectory(prefix="sievert-") as folder:
        picture = Path(folder, "picture.png")
        answer = _shown(browser, folder, script, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}")
        return None if answer is None or not picture.exists() else picture.read_bytes()


@lru_cache(maxsize=16)
def _traced(browser: str, figures: tuple[str, ...]) -> tuple[str, ...]:
    drawn = _inside(",".join(figures))
    # Plotly names its clips by chance: a fixed sequence makes the same page of the same answer.
    script = (
        "let step = 1; Math.random = () => (step = step * 16807 % 2147483647) / 2147483647;"
        f"(async () => {{ for (const drawn of [{drawn}]) {{"
        "const picture = await Plotly.toImage(drawn, {format: 'svg', "
        f"width: {WIDTH}, height: drawn.layout.height || {HEIGHT}}});"
        "const place = document.createElement('pre'); place.textContent = picture; "
        "document.body.append(place); }})();"
    )
    with tempfile.TemporaryDirectory(prefix="sievert-") as folder:
        answer = _shown(browser, folder, script, f"--virtual-time-budget={SECONDS * 1000}", "--dump-dom")
    found = re.findall(rf"<pre>{re.escape(TRACED)}(.*?)</pre>", (answer or b"").decode("utf-8", "replace"))
    return tuple(unquote(picture) for picture in found)


def _inside(figures: str) -> str:
    """JSON that neither ends a script nor begins a comment in it."""
    return figures.replace("<", "\\u003c")


def _shown(browser: str, folder: str, script: str, *options: str) -> bytes | None:
    """What Chromium says of a page that draws; None where it does not answer."""
    from sievert.report._page import drawing_library

    page = Path(folder, "page.html")
    page.write_text(
        f"<!doctype html><meta charset='utf-8'>{POLICY}<style>body{{margin:0}}</style>"
        f"<script>{drawing_library()}</script><body><div id='figure'></div><script>{script}</script></body>",
        encoding="utf-8",
    )
    command = [browser, *OPTIONS, f"--user-data-dir={folder}/profile", *options, page.as_uri()]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, timeout=SECONDS, check=True).stdout
    return None


def _table(figure: go.Figure) -> str:
    from sievert.report._picture_data import picture_data

    found = picture_data(figure)
    head = "".join(f"<th>{escape(str(name))}</th>" for name in found.header)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in found.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
