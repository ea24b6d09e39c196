"""The studio with its child processes: answers, the cache, and jobs that are stopped."""

import asyncio
import json
import shutil
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from sievert.studio import Auth, Run, Studio, WorkerPool

PORT = 4712
BASE = f"http://127.0.0.1:{PORT}"
CANARY = "canary-7f3a91"
# The guess after many releases of several tables is summed up for minutes.
# A design of 400 places takes the better part of a minute.
LONG_WORK = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 47.36, west = 8.5, north = 47.3958, east = 8.5529, cell = 200 }
[query]
kind = "record"
[mechanism]
kind = "planar-geometric"
eps = 0.0025
[use]
loss = "distance"
gap = 0.01
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    folder = tmp_path_factory.mktemp("folder")
    shutil.copy("examples/daily-question.toml", folder / "daily.toml")
    (folder / "data.csv").write_text(f"mood\n{CANARY}\n", encoding="utf-8")
    text = (folder / "daily.toml").read_text(encoding="utf-8")
    data = '\n[data]\ninput = "data.csv"\ncolumn = "mood"\n'
    return Studio(WorkerPool(folder, "daily.toml"), text + data, Auth(PORT))


def awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """What comes of it in a thread of its own: Playwright's loop may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class Heard(list[str]):
    """Every reply, headers and body."""

    def hear(self, reply: httpx.Response) -> None:
        reply.read()
        self.append(f"{reply.headers} {reply.text}")


@pytest.fixture(scope="module")
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="module")
def client(studio: Studio, heard: Heard) -> Iterator[TestClient]:
    with TestClient(studio.app, BASE, headers={"origin": BASE}) as found:
        found.event_hooks["response"].append(heard.hear)
        found.get(f"/?token={studio.gate.token}")
        yield found


def answered(client: TestClient, text: str, *parts: str, **given: Any) -> dict[str, Any]:
    reply = client.post("/api/answer", json={"text": text, "parts": parts, **given})
    assert reply.status_code == 200
    first, *rest = map(json.loads, reply.text.splitlines())
    found: dict[str, Any] = {**first, "parts": {line["part"]: line["answer"] for line in rest}}
    for name, part in found["parts"].items():
        if "job" in part:  # on a busy machine
            found["parts"][name] = waited(client, part["job"])["answer"]
    return found


def waited(client: TestClient, job: str) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = client.get(f"/api/jobs/{job}").json()
        if found["state"] in ("done", "failed", "cancelled"):
            return found
        time.sleep(0.05)
    raise AssertionError("the job does not end")


def test_the_form_and_the_first_text(client: TestClient, studio: Studio) -> None:
    found = client.get("/api/start").json()
    form = client.get("/api/form").json()
    assert (
        found["text"] == studio.text and found["name"] == "daily.toml" and found["examples"] == ["daily.toml"]
    )
    keys = [section["key"] for section in form["sections"]["policy"]]
    assert keys[:5] == ["", "policy", "query", "mechanism", "adversary"]
    fields = {
        tuple(field["path"]): field for section in form["sections"]["policy"] for field in section["fields"]
    }
    assert fields["accept", "guess"]["unit"] == "probability" and not fields["accept", "guess"]["rare"]
    assert fields["policy", "records"]["default"] == 1 and fields["policy", "person_records"]["rare"]
    assert fields["policy", "adjacency"]["choices"] == ["replace", "add-remove"]
    assert {("data", "input"), ("data", "column")} <= set(fields)
    mechanism = next(section for section in form["sections"]["policy"] if section["key"] == "mechanism")
    assert {"eps", "alpha"} <= {field["path"][1] for field in mechanism["variants"]["geometric"]}
    assert all(field["help"] for section in form["sections"]["policy"] for field in section["fields"])
    assert set(form["sections"]) == {"policy", "documents", "vectors"}
    assert form["version"] and form["parts"][0]["name"] == "headline"


def test_one_round_trip_edits_and_answers(client: TestClient, studio: Studio) -> None:
    edits = [{"control": "eps", "value": 1.5}, {"path": ["accept", "guess"], "value": 0.9}]
    found = answered(client, studio.text, "headline", "guess", "epsilon", edits=edits)
    assert found["ok"] and "eps = 1.5" in found["text"] and found["controls"]["eps"]["value"] == 1.5
    assert {part["hash"] for part in found["parts"].values()} == {found["hash"]}
    assert found["parts"]["headline"]["good"] is False  # 10 releases at ε = 1.5


def test_the_same_document_is_answered_from_the_cache(client: TestClient, studio: Studio) -> None:
    first = answered(client, studio.text, "headline", "releases")
    asked = []
    ask = studio.children.ask
    studio.children.ask = lambda question, *given, **more: (  # type: ignore[method-assign]
        asked.append(question),
        ask(question, *given, **more),
    )[1]
    try:
        again = answered(client, studio.text + "# a remark\n", "headline", "releases")
        assert asked == ["check"] and again["parts"] == first["parts"]
        answered(client, studio.text, "headline", settings={"brief": True})
        assert asked == ["check", "check", "answer"]
    finally:
        del studio.children.ask  # type: ignore[method-assign]


def test_mistakes_are_replies_not_failures(client: TestClient, studio: Studio) -> None:
    found = answered(client, "version = 2\n", "headline")
    assert not found["ok"] and found["parts"] == {} and found["hash"] is None and found["errors"]
    edit = {"text": studio.text, "path": ["accept", "guess"], "toml": "[1, "}
    assert client.post("/api/edit", json=edit).status_code == 422
    edit = {"text": studio.text, "path": ["accept", "guess"], "value": 0.7}
    assert "guess = 0.7" in client.post("/api/edit", json=edit).json()["text"]
    backward = {"text": studio.text, "quantity": "guess", "limit": 0.1}
    assert "already" in client.post("/api/backward", json=backward).json()["refused"]
    job = {"text": "version = 2\n", "part": "design"}
    assert client.post("/api/jobs", json=job).status_code == 422


def test_a_failed_question_does_not_answer_for_the_next(client: TestClient, studio: Studio) -> None:
    """Each reply belongs to its own question, however many before it could not be answered."""
    for count in (3, 4, 5):
        assert client.post("/api/export", json={"text": studio.text, "form": "nothing"}).status_code == 422
        found = answered(client, studio.text, "headline", edits=[{"control": "releases", "value": count}])
        assert f"observations = {count}" in found["text"]
        assert f"after {count}" in found["parts"]["headline"]["sentence"]


def test_nobody_listens_to_a_child_that_was_stopped(tmp_path: Path) -> None:
    """A pipe was closed while a thread read it, which now and then ended that thread with a TypeError."""
    before = set(threading.enumerate())

    async def asked() -> list[threading.Thread]:
        children = WorkerPool(tmp_path, "file.toml")
        children.ask("export", text="", form="toml")
        listening = [thread for thread in threading.enumerate() if "_listen" in thread.name]
        assert listening
        children.close()
        return [thread for thread in listening if thread not in before and thread.is_alive()]

    assert awaited(asked()) == []


def test_words_about_a_question_that_is_over_are_not_heard(tmp_path: Path) -> None:
    async def asked() -> tuple[Run, Run]:
        children = WorkerPool(tmp_path, "file.toml")
        try:
            first, second = children.ask("export", text="", form="toml"), Run("x", "check")
            await first.finished(60)
            child = children._children[0]
            child.run = second
            for words in (("part", "check", "{}"), ("done", None, None)):
                child._hear(first.id, *words)
            return first, second
        finally:
            children.close()

    first, second = awaited(asked())
    assert first.state == "failed" and second.state == "cancelled" and second.parts == {}


def test_a_budget_is_read_again_under_the_same_text(client: TestClient, studio: Studio) -> None:
    text, budget = f'{studio.text}\n[release]\nledger = "budget.toml"\n', studio.folder / "budget.toml"
    budget.write_text("person = 3.0\n", encoding="utf-8")
    first = answered(client, text, "budget")["parts"]["budget"]
    budget.write_text("person = 5.0\n", encoding="utf-8")
    second = answered(client, text, "budget")["parts"]["budget"]
    assert first["hash"] == second["hash"] and first["sentence"] != second["sentence"]


def test_an_infinite_eps_is_answered(client: TestClient, studio: Studio) -> None:
    text = """version = 1
[policy]
values = ["never", "once", "sometimes", "often"]
secrets = "complete"
[query]
kind = "record"
[mechanism]
kind = "randomised-response"
eps = inf
[adversary]
observations = 1
[accept]
guess = 0.5
"""
    found = answered(client, text, "headline")
    assert found["ok"] and found["controls"]["eps"]["value"] is None
    assert found["parts"]["headline"]["good"] is False


@pytest.mark.parametrize("limit", ["NaN", "Infinity", "-Infinity", "1" + "0" * 400, "true", '"0.5"'])
def test_a_limit_is_a_number(client: TestClient, studio: Studio, limit: str) -> None:
    body = json.dumps({"text": studio.text, "quantity": "guess"})[:-1] + f', "limit": {limit}}}'
    reply = client.post("/api/backward", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 422 and reply.json() == {"message": "limit must be a number"}


def test_what_goes_out(client: TestClient, studio: Studio) -> None:
    forms = {
        form: client.post("/api/export", json={"text": studio.text, "form": form}).json()
        for form in ("toml", "python", "command")
    }
    assert forms["toml"]["content"] == studio.text
    command = "sievert audit daily.toml\n"
    assert forms["command"]["content"] == f"# First save the text of the studio as daily.toml.\n{command}"
    saved = (studio.folder / "daily.toml").read_text(encoding="utf-8")
    assert client.post("/api/export", json={"text": saved, "form": "command"}).json()["content"] == command
    compile(forms["python"]["content"], "daily.py", "exec")
    report = client.post("/api/report", json={"text": studio.text})
    assert report.headers["content-disposition"] == 'attachment; filename="daily.html"'
    (studio.folder / "other.toml").write_text(saved, encoding="utf-8")
    other = {"text": saved, "form": "command", "name": "other.toml"}
    assert client.post("/api/export", json=other).json()["content"] == "sievert audit other.toml\n"
    assert client.post("/api/export", json={**other, "name": "../other.toml"}).status_code == 404
    # On the clipboard the comment would end at its line, and what follows be a command.
    for name, told in (("a\nid;#.toml", 422), ("\x1b[201~.toml", 422), ("--json.toml", 200)):
        (studio.folder / name).write_text(saved, encoding="utf-8")
        reply = client.post("/api/export", json={**other, "name": name})
        assert reply.status_code == told
    assert reply.json()["content"] == "sievert audit ./--json.toml\n"
    assert report.text.startswith("<!doctype html>") and len(report.content) < 2_000_000
    solved = client.post(
        "/api/backward", json={"text": studio.text, "quantity": "guess", "limit": 0.8}
    ).json()
    assert 0 < solved["any"]["eps"] < solved["this"]["eps"]


def test_long_work_is_stopped_and_delays_nothing(client: TestClient, studio: Studio) -> None:
    job = client.post("/api/jobs", json={"text": LONG_WORK, "part": "design"}).json()["job"]
    for _ in range(400):
        if client.get(f"/api/jobs/{job}").json()["state"] == "running":
            break
        time.sleep(0.05)
    found = answered(client, studio.text, "headline", edits=[{"control": "releases", "value": 3}])
    assert "after 3" in found["parts"]["headline"]["sentence"]
    assert client.get(f"/api/jobs/{job}").json()["state"] == "running"
    assert client.delete(f"/api/jobs/{job}").json() == {"state": "cancelled"}
    assert client.get(f"/api/jobs/{job}").json()["state"] == "cancelled"
    assert client.delete(f"/api/jobs/{job}").json() == {"state": "cancelled"}
    found = answered(client, studio.text, "headline", edits=[{"control": "releases", "value": 4}])
    assert "after 4" in found["parts"]["headline"]["sentence"]
    assert client.delete("/api/jobs/nothing").status_code == 404


def test_no_private_cell_was_in_any_reply(heard: Heard, capfd: pytest.CaptureFixture[str]) -> None:
    assert len(heard) > 20 and not [reply for reply in heard if CANARY in reply]
    assert json.dumps(capfd.readouterr()) == '["", ""]'
