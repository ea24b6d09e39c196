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
from sievert.errors import LedgerError, OutputError
from sievert.ledger import Reservation
from sievert.tables import Engine, Source, asking_about_hosts, write_bytes

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


def counting(folder: Path) -> Path:
    """A file that counts four rows."""
    folder.mkdir(mode=0o755)
    (folder / "file.toml").write_text(
        'version = 1\npolicy = { values = ["n", "s"], records = 4 }\n'
        'query = { kind = "count", where = ["n"] }\nmechanism = { kind = "geometric", eps = 1.0 }\n'
        'data = { input = "data.csv", column = "ward" }\n'
        'release = { ledger = "budget.toml", output = "out.csv" }\n'
    )
    (folder / "data.csv").write_text("ward\nn\ns\nn\ns\n")
    (folder / "budget.toml").write_text("person = 9\n")
    return folder / "file.toml"


@pytest.mark.usefixtures("open_umask")
def test_what_is_remembered_of_ledgers_lies_behind_closed_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formerly every folder above the last was made as the umask said: another user could exchange it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    file = counting(tmp_path / "work")
    sv.release.run(file)
    made = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    (kept,) = (path for path in made if path.is_file())
    # A file that others may write is not believed: it could say that less was spent.
    forged = kept.read_text().replace('[[1, 1, "1"]]', '[[1, 1, "0"]]')
    assert forged != kept.read_text()
    kept.write_text(forged)
    assert sv.release.account(file.with_name("budget.toml")).spent == 0  # so much it is believed otherwise
    kept.chmod(0o622)
    assert sv.release.account(file.with_name("budget.toml")).spent == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes them another's")
@pytest.mark.parametrize("planted", ["folder", "link"])
def test_a_ledgers_folder_that_another_user_made_is_refused(tmp_path: Path, planted: str) -> None:
    """Where others may write, one may lie there before the first use, with files that its maker reads."""
    file = counting(tmp_path / "shared")
    theirs = tmp_path / "theirs" if planted == "link" else file.with_name("budget.ledger")
    theirs.mkdir()
    (theirs / "ledger.jsonl").touch()
    if planted == "link":
        file.with_name("budget.ledger").symlink_to(theirs)
    for path in (theirs, theirs / "ledger.jsonl"):
        os.chown(path, 65534, 65534)
    with pytest.raises(LedgerError, match="another user's"):
        sv.release.run(file)
    assert (theirs / "ledger.jsonl").read_bytes() == b"" and len(list(theirs.iterdir())) == 1
    os.chown(tmp_path / "shared", 65534, 65534)  # whose folder it is could exchange the ledger at any rate
    assert sv.release.run(file).remaining == 8


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes them another's")
@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.lock"])
def test_a_file_of_another_user_in_a_ledgers_folder_is_refused(tmp_path: Path, name: str) -> None:
    """Formerly only the folder was looked at: what was planted while it was open is its owner's to read."""
    file = counting(tmp_path / "work")
    folder = file.with_name("budget.ledger")
    folder.mkdir(mode=0o700)
    (folder / name).touch()
    os.chown(folder / name, 65534, 65534)
    for mode in (0o700, 0o777):
        folder.chmod(mode)
        with pytest.raises(LedgerError, match=f"{name}: is another user's"):
            sv.release.run(file)
        assert (folder / name).read_bytes() == b"" and len(list(folder.iterdir())) == 1
    (folder / name).unlink()
    assert sv.release.run(file).remaining == 8
    os.chown(folder / "ledger.jsonl", 65534, 0)
    folder.chmod(0o770)  # a group that was let in on purpose
    (folder / "ledger.jsonl").chmod(0o660)
    assert sv.release.run(file, output=tmp_path / "2.csv").remaining == 7


def test_a_restored_ledger_is_closed_to_others_again(tmp_path: Path) -> None:
    """A copy has the modes of the umask; a group that may write was let in on purpose."""
    file = counting(tmp_path / "work")
    sv.release.run(file)
    folder = file.with_name("budget.ledger")
    for given, left in ((0o055, 0), (0o077, 0), (0o070, 0o070), (0o075, 0o070)):
        for path in (folder, *folder.iterdir()):
            path.chmod((0o700 if path.is_dir() else 0o600) | (given & (0o777 if path.is_dir() else 0o666)))
        file.write_text(re.sub('output = "[^"]*"', f'output = "{given}.csv"', file.read_text()))
        sv.release.run(file)
        assert folder.stat().st_mode & 0o777 == 0o700 | left
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600 | (left & 0o660)}


def test_spark_is_begun_so_that_what_it_spills_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formerly its folders in /tmp had the mode that the umask left, with rows of the data in them."""
    sessions = pytest.importorskip("pyspark.sql").SparkSession
    noted = []

    def begun(_: Any) -> None:
        noted.append(os.umask(0o077))
        raise RuntimeError("no Java")

    monkeypatch.setattr(sessions.Builder, "getOrCreate", begun)
    monkeypatch.setattr(sessions, "getActiveSession", lambda: None)
    before = os.umask(0o022)
    try:
        with pytest.raises(OutputError, match="does not answer"):
            Source.resolve({"source": "spark://local[1]", "table": "visits"}).warehouse(Path())
        assert noted == [0o077] and os.umask(0o022) == 0o022
    finally:
        os.umask(before)


@pytest.mark.parametrize("place", ["short", "long"])
def test_a_ray_that_is_begun_lies_in_a_folder_of_ours_and_asks_for_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Formerly its folders were those of /tmp/ray, where Ray lets everybody write beside its sockets."""
    ray = pytest.importorskip("ray", reason="needs Ray (extra cluster)")
    noted: list[tuple[str, str, int]] = []

    def begun(**settings: Any) -> None:
        folder = Path(settings["_temp_dir"])
        noted.append((str(folder), os.environ["RAY_AUTH_TOKEN"], folder.parent.stat().st_mode & 0o777))
        raise RuntimeError("no memory")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", begun)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", "/tmp" if place == "short" else str(tmp_path))
    for _ in range(2):
        with pytest.raises(OutputError, match="cannot be reached or begun"):
            Engine.resolve("ray").start(None)
    (first, token, mode), (second, other, _) = noted
    assert mode == 0o700 and first != second and len(token) > 40 and token != other
    assert len(first) <= 46 and not Path(first).parent.exists() and "RAY_AUTH_TOKEN" not in os.environ
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the owner")
    with pytest.raises(OutputError):
        Engine.resolve("ray").start(None)
    assert noted[-1][1] == os.environ["RAY_AUTH_TOKEN"] == "of the owner"


def test_a_private_file_is_not_open_to_others_while_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formerly what was written under another name first had the mode that the umask left, until its end."""
    target, modes, write = tmp_path / "report.html", [], os.write

    def noted(descriptor: int, content: Any) -> int:
        modes.append(os.fstat(descriptor).st_mode & 0o777)
        return write(descriptor, content)

    before = os.umask(0o022)
    try:
        target.touch(0o600)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", noted)
            write_bytes(target, b"<p>of the owner</p>")
        assert modes == [0o600] and target.stat().st_mode & 0o777 == 0o600
        target.chmod(0o640)
        write_bytes(target, b"<p>of the group</p>")
        assert target.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_the_list_of_hosts_lies_behind_closed_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formerly the folders above the last were made as the umask said: with 000 for everybody to write in."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    with asking_about_hosts(lambda _: True):
        Source.resolve({"source": "postgres://127.0.0.1:5432/clinic", "table": "visits"}).require_hosts()
    made = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700, 0o700, 0o600]
