"""Another user of the machine: processes, temporary files, ports and links."""

import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import sievert as sv
from sievert.errors import OutputError
from sievert.ledger import Reservation

# ── the studio's link ───────────────────────────────────────────────────────────────────────────────

pytest.importorskip("uvicorn")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A studio whose browser takes its time: what stood on its command line, and the link in the terminal."""
    (tmp_path / "a.toml").write_text("version = 1\n")
    browser, told = tmp_path / "browser.sh", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\numask 077\necho "$@" > {told}.part\nmv {told}.part {told}\nsleep 8\n')
    browser.chmod(0o755)
    environment = dict(os.environ, BROWSER=f"{browser} %s &")
    command = [sys.executable, "-m", "sievert", "studio", "a.toml"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        link = running.stdout.readline().split()[-1]
        while not told.exists():
            time.sleep(0.01)
        yield told.read_text().strip(), link
        running.terminate()


def processes() -> str:
    """What `ps` and /proc tell every user of the machine."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return "\n".join(found)


def test_the_link_of_the_studio_stands_on_no_command_line(opened: tuple[str, str]) -> None:
    """Formerly the browser was given the link, and /proc/PID/cmdline is for every user to read."""
    told, link = opened
    token = link.partition("token=")[2]
    all_of_them = processes()
    assert len(token) > 40 and token not in all_of_them and token not in told and told in all_of_them
    page = Path(unquote(urlsplit(told).path))
    assert page.stat().st_mode & 0o777 == 0o600 and page.parent.stat().st_mode & 0o777 == 0o700
    assert token in page.read_text()


def test_the_page_of_the_link_leads_a_browser_to_the_studio(
    opened: tuple[str, str], started_browser: Any
) -> None:
    told, _ = opened
    page = started_browser.new_page()
    answers = []
    page.on("response", lambda reply: answers.append((urlsplit(reply.url).path, reply.status)))
    page.goto(told)
    page.wait_for_url(re.compile(r"http://127\.0\.0\.1:[0-9]+/$"))
    page.wait_for_selector("main, body")
    assert ("/", 200) in answers and not [answer for answer in answers if answer[1] == 403]
    page.close()


def test_another_user_gets_nothing_from_the_port_of_the_studio(opened: tuple[str, str]) -> None:
    _, link = opened
    server = http.client.HTTPConnection("127.0.0.1", urlsplit(link).port or 0, timeout=20)
    for path in ("/", "/api/start", "/api/form", "/static/main.js", "/?token=", "/?token=" + "A" * 43):
        server.request("GET", path)
        reply = server.getresponse()
        assert (
            reply.status == 403 and b"version" not in reply.read() and reply.getheader("set-cookie") is None
        )
    server.close()


# ── temporary and private files ─────────────────────────────────────────────────────────────────────

ROWS = """
version = 1
policy = { values = ["north", "south"] }
mechanism = { kind = "randomised-response", eps = 0.5 }
data = { input = "data.csv", column = "ward", person = "who" }
release = { ledger = "budget.toml", output = "out.csv" }
"""


@pytest.fixture
def open_umask() -> Iterator[None]:
    """An account whose new files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_keys_and_ledgers_are_the_owners_alone_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a release runs, and where it was interrupted: whoever has the key knows the noise."""
    (tmp_path / "file.toml").write_text(ROWS)
    (tmp_path / "budget.toml").write_text("person = 9\n")
    (tmp_path / "data.csv").write_text("ward,who\n" + "".join(f"north,p{i}\n" for i in range(30)))
    commit = Reservation.commit

    def interrupted(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Reservation, "commit", interrupted)
    with pytest.raises(OutputError, match="is charged"):
        sv.release.run(tmp_path / "file.toml")
    folder = tmp_path / "budget.ledger"
    assert folder.stat().st_mode & 0o777 == 0o700
    kept = [path for path in folder.iterdir() if path.suffix == ".state"]
    assert kept and all(path.stat().st_mode & 0o077 == 0 for path in kept)
    monkeypatch.setattr(Reservation, "commit", commit)
    assert sv.release.run(tmp_path / "file.toml").resumed
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not [path for path in folder.iterdir() if path.suffix == ".state"]
