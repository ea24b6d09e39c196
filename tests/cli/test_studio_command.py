"""`sievert studio`: the command becomes the studio's own program, which says what it misses."""

import builtins
import os
import re
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import uvicorn

from sievert.cli import main
from sievert.errors import SievertError
from sievert.studio import serve


def test_the_command_becomes_the_studio(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append(arguments))
    with pytest.raises(SystemExit) as done:
        main(["studio", "a.toml", "--port", "8123", "--no-browser"])
    assert done.value.code == 0
    options = ["--port", "8123", "--no-browser", "--", "a.toml"]
    assert started == [[sys.executable, "-P", "-m", "sievert.studio", *options]]


@pytest.mark.parametrize(
    ("name", "words"),
    [("nothing.toml", "cannot be read"), ("data.csv", "TOML file is needed"), ("latin.toml", "UTF-8")],
)
def test_what_is_no_file_to_open(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'\n")
    with pytest.raises(SievertError, match=words):
        serve(tmp_path / name, browser=False)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *given: Any, **more: Any) -> Any:
        if name == "uvicorn":
            raise ModuleNotFoundError("No module named 'uvicorn'", name=name)
        return whole(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        SievertError, match=r"needs uvicorn: install it with `pip install 'sievert\[studio\]'`"
    ):
        serve(browser=False)


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SievertError, match=f"port {port} of 127.0.0.1 cannot be used"):
            serve(port=port, browser=False)
    with pytest.raises(SievertError, match="from 0"):
        serve(port=70000, browser=False)


def test_the_link_is_shown_once_somebody_listens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A browser that opens it before the server runs waits, and is not refused."""
    opened: list[str] = []

    def connect(page: str) -> None:
        link = re.findall('href="(.*?)"', Path(unquote(urlsplit(page).path)).read_text())[0]
        socket.create_connection(("127.0.0.1", urlsplit(link).port or 0)).close()
        opened.append(link)

    monkeypatch.setattr(webbrowser, "open", connect)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: None)
    serve()
    assert opened[0] in capsys.readouterr().out
