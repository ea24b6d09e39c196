"""The studio in a real browser: one server and one browser for all tests of this folder.

Every page is watched: an error in its console, a violation of its policy, a request that leaves this machine
or a private cell in anything the server sends fails the test that saw it.
"""

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sievert as sv
from sievert.files import PolicyScenario

# What stands in every private table of the folder that the studio is started in.
CANARY = "zq7canary"
EXAMPLES = sorted(Path("examples").glob("*.toml"))


@dataclass
class Watch:
    """What a page did that it must not do."""

    problems: list[str] = field(default_factory=list)

    def attach(self, page: Any) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != "127.0.0.1":
            self.problems.append(f"request to {request.url}")


class Recorder:
    """An application with every byte that it sends looked at."""

    def __init__(self, app: Any) -> None:
        self.app, self.sent, self.found = app, 0, []  # type: ignore[var-annotated]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def looked_at(message: Any) -> None:
            shown = repr(message.get("headers", ())).encode() + message.get("body", b"")
            self.sent += len(shown)
            if CANARY.encode() in shown:
                self.found.append(scope["path"])
            await send(message)

        await self.app(scope, receive, looked_at)


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, with a canary in every private table."""
    place = tmp_path_factory.mktemp("studio") / "examples"
    shutil.copytree("examples", place, ignore=shutil.ignore_patterns("out", "letters", "users"))
    for path in EXAMPLES:
        for name in private_tables(path):
            named = place / name
            for table in named.rglob("*.*") if named.is_dir() else place.glob(name):
                first = table.read_bytes().partition(b"\n")[0] if table.suffix == ".csv" else b""
                table.write_bytes(b"\n".join([first, *[CANARY.encode()] * 3, b""]))
    (place / "words.txt").write_text("sea 0 1\nlake 1 0\nhill 1 1\n", encoding="utf-8")
    for name in ("sea", "lake"):
        (place / f"{name}.txt").write_text(f"{name} {name} hill", encoding="utf-8")
    (place / "letters").mkdir()
    (place / "letters" / "first.txt").write_text(f"{CANARY} sea", encoding="utf-8")
    return place


def private_tables(path: Path) -> list[str]:
    """The files of a TOML file that nobody but its owner may read."""
    import tomllib

    data = tomllib.loads(path.read_text(encoding="utf-8")).get("data", {})
    return [data["input"]] if "input" in data else []


@pytest.fixture(scope="package")
def served(folder: Path) -> Iterator[tuple[str, Recorder]]:
    """The studio, started in that folder: the link of its terminal, and what it sends."""
    import uvicorn

    from sievert.studio import Auth, Studio, WorkerPool

    listener = socket.create_server(("127.0.0.1", 0))
    gate = Auth(listener.getsockname()[1])
    text = (folder / "census-count.toml").read_text(encoding="utf-8")
    app = Recorder(Studio(WorkerPool(folder, "census-count.toml"), text, gate).app)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield gate.link, app
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="package")
def context(started_browser: Any, served: tuple[str, Recorder]) -> Iterator[Any]:
    """A window of Debian's Chromium that holds the studio's cookie."""
    opened = started_browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="light")
    opened.set_default_timeout(30_000)
    opened.add_init_script(path=Path(__file__).with_name("probes.js"))
    # No page is opened for it: Chromium may never answer that a page which is still busy is closed.
    assert opened.request.get(served[0]).ok
    yield opened
    opened.close()


@dataclass
class Studio:
    """A page of the studio, and what a test asks of it."""

    page: Any
    watch: Watch
    folder: Path

    def text(self) -> str:
        """The TOML on the page."""
        found: str = self.page.input_value("#text")
        return found

    def settle(self) -> None:
        """Wait until nothing is on its way: typed words, answers, long work of what is seen."""
        self.page.wait_for_selector("body[data-idle=true]")
        self.page.wait_for_selector("[role=tabpanel]:not([hidden]) .job:not([hidden])", state="hidden")
        self.page.wait_for_selector("[data-hurried]", state="detached")

    def only_checked(self) -> None:
        """From now on the server checks the text and computes nothing from it."""

        def emptied(route: Any) -> None:
            asked = route.request.post_data_json
            route.continue_(post_data=json.dumps({**asked, "parts": []}))

        self.page.route("**/api/answer", emptied)

    def write(self, text: str) -> None:
        """Type a whole file."""
        self.page.fill("#text", text)
        self.page.eval_on_selector("#text", "element => element.blur()")
        self.settle()

    def tab(self, name: str) -> None:
        self.page.click(f"#tab-{name}")
        self.settle()

    def headline(self) -> str:
        found: str = self.page.inner_text("#headline > p")
        return found

    def probe(self, name: str, argument: Any = None) -> Any:
        """One of the questions in probes.js."""
        return self.page.evaluate("([name, argument]) => probes[name](argument)", [name, argument])

    def reset(self) -> None:
        """Back to the file, the tab and the look of the beginning."""
        self.page.unroute_all()
        self.page.set_viewport_size({"width": 1400, "height": 1000})
        self.probe("reset")
        self.page.fill("#limit", "0.5")
        self.write((self.folder / "census-count.toml").read_text(encoding="utf-8"))
        self.tab("glance")

    def afresh(self) -> None:
        """Open the page anew."""
        self.page.reload()
        self.page.wait_for_selector("body[data-ready=true]")

    def scenario(self, *changes: tuple[str, str]) -> Any:
        """The TOML on the page, with some words in place of others, as the library reads it."""
        text = self.text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        return PolicyScenario.from_text(text, self.folder, "census-count.toml")

    def audited(self, *changes: tuple[str, str]) -> Any:
        """The audit of that, by the library."""
        return sv.audit(self.scenario(*changes))

    def traces(self, part: str, picture: int = 0) -> list[dict[str, Any]]:
        """What a picture of a part shows, and that it is drawn where its numbers say."""
        assert self.probe("misdrawn") == []
        found: list[dict[str, Any]] = self.probe("traces", part)[picture]
        return found


@pytest.fixture(scope="package")
def opened(context: Any, served: tuple[str, Recorder], folder: Path) -> Studio:
    """The one page that the tests share."""
    page, watch = context.new_page(), Watch()
    watch.attach(page)
    page.goto(served[0].partition("?")[0])
    page.wait_for_selector("body[data-ready=true]")
    return Studio(page, watch, folder)


@pytest.fixture
def studio(opened: Studio, served: tuple[str, Recorder]) -> Iterator[Studio]:
    """The page as it is when it is opened, and what went wrong on it."""
    yield opened
    content = opened.page.content()
    problems, opened.watch.problems[:] = opened.watch.problems[:], []
    opened.reset()
    assert problems == []
    assert CANARY not in content
    assert served[1].sent > 0 and served[1].found == []
