"""The web side: routes, and at their gate everything a request must be before it is looked at."""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sievert.errors import SievertError
from sievert.studio import _requests as requests
from sievert.studio._auth import HEADERS, SAFE, Auth
from sievert.studio._sandbox_path import inside
from sievert.studio._worker_pool import Run, WorkerPool

__all__ = ["Studio"]

# Seconds that an answer is waited for, and a headline; what takes longer goes on as a job.
PATIENCE, HEADLINE = 1.0, 4.0
# Seconds after which a text that is still being checked is given up: a pattern may name a whole disk.
LONGEST_CHECK = 20.0
# Seconds after which another child gets warm, so that the next question finds one.
LONG = 0.3
LARGEST_LIMIT = 1e300
KEPT_ANSWERS, KEPT_JOBS = 256, 64
# The link may be followed from a file, and what a redirect leads to would still come from there, without the
# cookie; a page of ours leads on as ourselves.
ONWARD = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Sievert</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head><body><a href="/">Open the studio</a></body></html>'
)
LIBRARY = "plotly-cartesian.min.js"
STATIC = re.compile(r"[a-z0-9-]+\.(js|css|svg|html)")
TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}


class Studio:
    """The application of one folder.

    Parameters
    ----------
    children : who answers, about which folder: all else is out of reach
    text : of the file that the page opens with
    gate : who may ask
    """

    def __init__(self, children: WorkerPool, text: str, gate: Auth) -> None:
        self.folder, self.name = children.folder, children.name
        self.children, self.text, self.gate = children, text, gate
        self._answers: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        self._jobs: OrderedDict[str, tuple[Run, str, str, str]] = OrderedDict()
        self.app = _Gated(
            Starlette(
                routes=[
                    Route("/", self._page),
                    Route("/static/{name}", self._static),
                    Route("/api/start", self._asked(self._start)),
                    Route("/api/form", self._asked(self._form)),
                    Route("/api/open", self._asked(self._open), methods=["POST"]),
                    Route("/api/check", self._asked(self._check), methods=["POST"]),
                    Route("/api/edit", self._asked(self._edit), methods=["POST"]),
                    Route("/api/answer", self._asked(self._answer), methods=["POST"]),
                    Route("/api/backward", self._asked(self._backward), methods=["POST"]),
                    Route("/api/export", self._asked(self._export), methods=["POST"]),
                    Route("/api/report", self._asked(self._report), methods=["POST"]),
                    Route("/api/jobs", self._asked(self._job), methods=["POST"]),
                    Route("/api/jobs/{id}", self._asked(self._job_state)),
                    Route("/api/jobs/{id}", self._asked(self._job_end), methods=["DELETE"]),
                ],
                lifespan=self._alive,
            ),
            gate,
        )

    @asynccontextmanager
    async def _alive(self, app: Starlette) -> AsyncIterator[None]:
        self.children.start()
        try:
            yield
        finally:
            self.children.close()

    # ── Pages ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _page(self, request: Request) -> Response:
        if "token" not in request.query_params:
            return _file("index.html")
        if self.gate.knows(request.cookies):  # the link again, in the browser that has used it
            return HTMLResponse(ONWARD)
        if request.method == "HEAD":  # whoever looks ahead does not use the link up
            return PlainTextResponse("", 405, {"allow": "GET"})
        if not self.gate.takes(request.query_params["token"]):
            return PlainTextResponse(
                "This link is cut short, or another browser has used it: start the studio again.", 403
            )
        return HTMLResponse(ONWARD, headers={"set-cookie": self.gate.set_cookie})

    async def _static(self, request: Request) -> Response:
        return _file(request.path_params["name"])

    # ── Questions ───────────────────────────────────────────────────────────────────────────────────────────

    def _asked(
        self, answer: Callable[[Request, Mapping[str, Any]], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A question: its body is JSON, and what goes wrong is a sentence."""

        async def asked(request: Request) -> Response:
            try:
                given = {} if request.method != "POST" else await requests.body(request)
                return await answer(request, given)
            except requests.BadRequest as problem:
                return _json({"message": problem.message}, problem.status)

        return asked

    async def _start(self, request: Request, given: Mapping[str, Any]) -> Response:
        """What is known before anything is loaded."""
        return _json(
            {
                "text": self.text,
                "name": self.name,
                "folder_name": self.folder.resolve().name,
                "examples": _files(self.folder),
            }
        )

    async def _form(self, request: Request, given: Mapping[str, Any]) -> Response:
        run = await self._whole("form")
        return _json_with({}, run.parts)

    async def _open(self, request: Request, given: Mapping[str, Any]) -> Response:
        name = requests.text(given, "name")
        if name not in _files(self.folder):
            raise requests.BadRequest(404, "there is no such file in the folder of the studio")
        try:
            path = inside(self.folder, name)
            return _json({"name": name, "text": path.read_text(encoding="utf-8-sig")})
        except (OSError, SievertError, UnicodeDecodeError):
            raise requests.BadRequest(422, f"{name} cannot be read") from None

    async def _check(self, request: Request, given: Mapping[str, Any]) -> Response:
        return _json(await self._checked(requests.text(given, "text"), requests.edits(given)))

    async def _edit(self, request: Request, given: Mapping[str, Any]) -> Response:
        edit = {key: given[key] for key in ("path", "value", "toml", "control") if key in given}
        found = await self._checked(requests.text(given, "text"), requests.edits({"edits": [edit]}))
        wrong = [error for error in found["errors"] if error["path"] == list(edit.get("path", ()))]
        if found["text"] == given["text"] and wrong:
            raise requests.BadRequest(422, wrong[0]["message"])
        return _json({"text": found["text"]})

    async def _checked(self, text: str, edits: list[dict[str, Any]]) -> dict[str, Any]:
        run = await self._whole("check", LONGEST_CHECK, text=text, edits=edits)
        found: dict[str, Any] = json.loads(run.parts["check"])
        return found

    async def _answer(self, request: Request, given: Mapping[str, Any]) -> Response:
        """The text after its edits, and then each part on a line of its own, as soon as it is known."""
        parts, settings = requests.parts(given), requests.table(given, "settings")
        found = await self._checked(requests.text(given, "text"), requests.edits(given))

        async def lines() -> AsyncIterator[str]:
            yield f"{json.dumps(found, allow_nan=False)}\n"
            try:
                async for name, answer in self._told(found, parts if found["ok"] else [], settings):
                    yield f'{{"part": {json.dumps(name)}, "answer": {answer}}}\n'
            except requests.BadRequest as problem:
                yield f"{json.dumps({'message': problem.message})}\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def _told(
        self, found: dict[str, Any], parts: list[str], settings: dict[str, Any]
    ) -> AsyncIterator[tuple[str, str]]:
        """The parts as JSON, in their order; those that take long go on as jobs."""
        state, set_ = found["hash"], json.dumps(settings, sort_keys=True)
        known = {name: self._answers[key] for name in parts if (key := (state, name, set_)) in self._answers}
        missing = [name for name in parts if name not in known]
        run, patience = None, PATIENCE
        if missing:
            run = self.children.ask("answer", missing, text=found["text"], parts=missing, settings=settings)
        for name in parts:
            if run is not None and name not in known:
                since = time.monotonic()
                await self._has(run, name, HEADLINE if name == "headline" else patience)
                patience = max(0.0, patience - (time.monotonic() - since) * (name != "headline"))
                self._keep(run, state, set_)
                if run.state == "failed":
                    raise requests.BadRequest(422, run.problem)
                job = "" if name in run.parts else self._register(run, name, state, set_)
                known[name] = json.dumps({"job": job}) if job else run.parts[name]
            yield name, known[name]

    async def _has(self, run: Run, name: str, seconds: float) -> None:
        """Wait for a part, so long at most; meanwhile another child gets warm for the next question."""
        if not await run.has(name, LONG) and not run.over:
            self.children.start()
            await run.has(name, seconds)

    def _keep(self, run: Run, state: str, set_: str) -> None:
        for name, part in run.parts.items():
            if name in ("release", "budget"):  # a release may change them under the same text
                continue
            self._answers[state, name, set_] = part
            self._answers.move_to_end((state, name, set_))
        while len(self._answers) > KEPT_ANSWERS:
            self._answers.popitem(last=False)

    def _register(self, run: Run, name: str, state: str, set_: str) -> str:
        id_ = f"{run.id}-{name}"
        self._jobs[id_] = (run, name, state, set_)
        while len(self._jobs) > KEPT_JOBS:
            self._jobs.popitem(last=False)
        return id_

    async def _whole(self, question: str, seconds: float | None = None, **given: Any) -> Run:
        """A question that is waited for, so long at most."""
        run = self.children.ask(question, **given)
        if not await run.finished(LONG):
            self.children.start()
            if not await run.finished(seconds):
                self.children.cancel(run)
                raise requests.BadRequest(
                    422, f"the text took more than {seconds:g} s to check, and was left alone"
                )
        return _done(run)

    async def _aside(self, request: Request, question: str, **given: Any) -> Run:
        """A question that is left alone once nobody waits for its answer."""
        run, since = self.children.ask(question, aside=True, **given), time.monotonic()
        while not await run.finished(LONG):
            self.children.start()
            # To load another child takes as long as short work does: that is let be.
            if time.monotonic() - since > PATIENCE and await request.is_disconnected():
                self.children.cancel(run)
        return _done(run)

    async def _backward(self, request: Request, given: Mapping[str, Any]) -> Response:
        limit = given.get("limit")
        if not isinstance(limit, int | float) or isinstance(limit, bool) or not abs(limit) < LARGEST_LIMIT:
            raise requests.BadRequest(422, "limit must be a number")
        run = await self._aside(
            request,
            "backward",
            text=requests.text(given, "text"),
            quantity=requests.text(given, "quantity"),
            limit=float(limit),
        )
        told = {name: json.loads(part) for name, part in run.parts.items()}
        return _json({"refused": told["refused"]["sentence"]} if "refused" in told else told)

    async def _export(self, request: Request, given: Mapping[str, Any]) -> Response:
        run = await self._whole(
            "export",
            text=requests.text(given, "text"),
            form=requests.text(given, "form"),
            name=self._named(given),
        )
        return _json(json.loads(run.parts["export"]))

    async def _report(self, request: Request, given: Mapping[str, Any]) -> Response:
        opened = self._named(given)
        run = await self._whole("report", text=requests.text(given, "text"), name=opened)
        name = f"{Path(opened).stem}.html"
        headers = {"content-disposition": f'attachment; filename="{re.sub("[^A-Za-z0-9._-]", "-", name)}"'}
        return Response(json.loads(run.parts["report"])["html"], 200, headers, "text/html")

    def _named(self, given: Mapping[str, Any]) -> str:
        """The file that the page has opened; the first one unless it says so."""
        name = requests.text(given, "name") if "name" in given else self.name
        if name != self.name and name not in _files(self.folder):
            raise requests.BadRequest(404, "there is no such file in the folder of the studio")
        return name

    # ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _job(self, request: Request, given: Mapping[str, Any]) -> Response:
        name, settings = requests.parts({"parts": [given.get("part")]})[0], requests.table(given, "settings")
        found = await self._checked(requests.text(given, "text"), [])
        if not found["ok"]:
            raise requests.BadRequest(422, found["errors"][0]["message"])
        run = self.children.ask("answer", [name], text=found["text"], parts=[name], settings=settings)
        self.children.start()
        return _json({"job": self._register(run, name, found["hash"], json.dumps(settings, sort_keys=True))})

    def _of(self, request: Request) -> tuple[Run, str, str, str]:
        found = self._jobs.get(request.path_params["id"])
        if found is None:
            raise requests.BadRequest(404, "there is no such job")
        return found

    async def _job_state(self, request: Request, given: Mapping[str, Any]) -> Response:
        run, name, state, set_ = self._of(request)
        self._keep(run, state, set_)
        told: dict[str, Any] = {"state": "done" if name in run.parts else run.state, "progress": None}
        if run.progress is not None:
            told["progress"] = dict(zip(("words", "done", "total"), run.progress, strict=True))
        if run.state == "failed":
            told["message"] = run.problem
        return _json_with(told, {"answer": run.parts.get(name, "null")})

    async def _job_end(self, request: Request, given: Mapping[str, Any]) -> Response:
        run = self._of(request)[0]
        self.children.cancel(run)
        return _json({"state": run.state})


def _done(run: Run) -> Run:
    if run.state != "done":
        raise requests.BadRequest(422, run.problem or "the work was stopped")
    return run


class _Gated:
    """The gate before everything: hosts, origins, upgrades and cookies; every reply has the headers."""

    def __init__(self, app: ASGIApp, gate: Auth) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message["headers"] if name.decode() not in HEADERS]
                message["headers"] = kept + [
                    (name.encode(), value.encode()) for name, value in HEADERS.items()
                ]
            await send(message)

        request = Request(scope)
        opening = scope["path"] == "/" and scope["method"] in SAFE and "token" in request.query_params
        reason = self._gate.refusal(scope["method"], headers, opening=opening)
        if reason is None and not opening and not self._gate.knows(request.cookies):
            reason = "open the link that the terminal shows: this browser has not done so"
        app = self._app if reason is None else _json({"message": reason}, 403)
        await app(scope, receive, send_with_headers)


# ── Replies ─────────────────────────────────────────────────────────────────────────────────────────────────


def _json(content: Any, status: int = 200) -> Response:
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")


def _json_with(content: dict[str, Any], parts: Mapping[str, str]) -> Response:
    """Content beside answers that are JSON already."""
    told = {name: json.dumps(item, allow_nan=False) for name, item in content.items()} | dict(parts)
    whole = ", ".join(f"{json.dumps(name)}: {part}" for name, part in told.items())
    return Response(f"{{{whole}}}", media_type="application/json")


def _file(name: str) -> Response:
    """A file of the page; the drawing library is the reports'."""
    if name == LIBRARY:
        path = resources.files("sievert.report").joinpath("plotly", name)
        return Response(path.read_bytes(), media_type="text/javascript")
    match = STATIC.fullmatch(name)
    path = resources.files("sievert.studio").joinpath("static", name)
    if match is None or not path.is_file():
        return _json({"message": "there is no such file"}, 404)
    return Response(path.read_bytes(), media_type=TYPES[match[1]])


def _files(folder: Path) -> list[str]:
    """The files that describe something, in the folder itself."""
    return sorted(path.name for path in folder.glob("*.toml") if path.is_file() and not path.is_symlink())
