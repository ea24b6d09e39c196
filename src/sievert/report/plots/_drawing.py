"""A figure that also shows where nothing draws: as a picture by Chromium where it is found, else as a table.

Notebooks that are printed, or converted by nbconvert, take what needs no JavaScript from the same figure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

__all__ = ["Drawing", "still"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH, HEIGHT, SECONDS = 700, 420, 30
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

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, validate: bool = True, **options: Any
    ) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(include, exclude, validate, **options) or {})
        picture = still(self)
        if picture is not None:
            bundle["image/png"] = picture
        else:
            bundle.setdefault("text/html", _table(self))
        return bundle


def still(figure: go.Figure) -> bytes | None:
    """The figure as PNG, drawn by Chromium; None where none is found, or it does not answer."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name)) is not None), None)
    return None if browser is None else _drawn(browser, figure.to_json())


@lru_cache(maxsize=64)
def _drawn(browser: str, figure: str) -> bytes | None:
    from sievert.report._page import drawing_library

    with tempfile.TemporaryDirectory(prefix="sievert-") as folder:
        page, picture = Path(folder, "page.html"), Path(folder, "picture.png")
        page.write_text(
            "<!doctype html><meta charset='utf-8'><style>body{margin:0}</style>"
            f"<script>{drawing_library()}</script><div id='figure'></div>"
            f"<script>const drawn = {figure.replace('</', '<' + chr(92) + '/')};"
            "Plotly.newPlot('figure', drawn.data, {...drawn.layout, "
            f"width: {WIDTH}, height: {HEIGHT}}}, {{staticPlot: true}});</script>",
            encoding="utf-8",
        )
        command = [browser, *OPTIONS, f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{HEIGHT}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [*command, f"--screenshot={picture}", page.as_uri()],
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
            return picture.read_bytes()
    return None


def _table(figure: go.Figure) -> str:
    from sievert.report._behind import behind

    found = behind(figure)
    head = "".join(f"<th>{escape(str(name))}</th>" for name in found.header)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in found.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
