"""Starting the studio: one socket on this machine, one link in the terminal."""

from __future__ import annotations

import html
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from sievert.errors import FileError, SievertError
from sievert.studio._auth import Auth
from sievert.studio._welcome import FIRST
from sievert.studio._worker_pool import WorkerPool

__all__ = ["serve"]

LOOPBACK, LARGEST_PORT = "127.0.0.1", 65535


def serve(file: Path | None = None, port: int = 0, *, browser: bool = True) -> None:
    """Serve the studio until it is interrupted.

    Parameters
    ----------
    file : the TOML file to open; its folder is all that is read. Without one, the current folder
    port : where to listen on 127.0.0.1; any free one by default
    browser : whether to open the page in the browser
    """
    folder, name = (Path(), "untitled.toml") if file is None else (file.parent, file.name)
    text = FIRST if file is None else _text_of(file)
    listener = _listener(port)
    # The child that computes gets warm while the server is loaded and the browser opens.
    children = WorkerPool(folder.resolve(), name)
    children.start()
    try:
        _serve(listener, children, text, browser)
    except ModuleNotFoundError as problem:
        raise SievertError(
            f"the studio needs {problem.name}: install it with `pip install 'sievert[studio]'`"
        ) from None
    finally:
        children.close()
        listener.close()


def _serve(listener: socket.socket, children: WorkerPool, text: str, browser: bool) -> None:
    import uvicorn

    from sievert.studio._site import Studio

    gate = Auth(listener.getsockname()[1])
    # Nothing is logged: a log would outlive the page.
    config = uvicorn.Config(
        Studio(children, text, gate).app,
        log_level="critical",
        access_log=False,
        ws="none",
        server_header=False,
        date_header=False,
        # A browser keeps its connection open: nobody waits for it.
        timeout_graceful_shutdown=1,
    )
    print(f"The studio is at {gate.link}\nThe link works once; press Ctrl-C here to end.", flush=True)
    with _opened(gate.link) if browser else nullcontext():
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _opened(link: str) -> Iterator[None]:
    """Open a link in the browser by a page that only this user can read.

    The command line of a browser is read by every user of the machine, so the link may not stand on it.
    """
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="sievert-studio-") as folder:
        page = Path(folder) / "open.html"
        address = html.escape(link)
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(
                '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Sievert</title>'
                '<meta name="referrer" content="no-referrer">'
                f'<meta http-equiv="refresh" content="0; url={address}"></head>'
                f'<body><p><a href="{address}">Open the studio</a></p></body></html>\n'
            )
        webbrowser.open(page.as_uri())
        yield


def _text_of(file: Path) -> str:
    if file.suffix != ".toml":
        raise FileError(f"{file}: a TOML file is needed here")
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise FileError(f"{file}: cannot be read ({problem.strerror})") from None
    except ValueError:
        raise FileError(f"{file}: is not UTF-8 text; save it as UTF-8") from None


def _listener(port: int) -> socket.socket:
    """A socket that only this machine reaches, and that listens: who comes early waits in its queue."""
    if not 0 <= port <= LARGEST_PORT:
        raise SievertError(f"port is {port}; give one from 0 (any free one) to {LARGEST_PORT}")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as problem:
        listener.close()
        raise SievertError(f"port {port} of {LOOPBACK} cannot be used ({problem.strerror})") from None
    return listener
