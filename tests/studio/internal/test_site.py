"""A text that is never checked is given up, and what nobody waits for is left alone."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sievert.studio import Auth, Run, Studio, WorkerPool, _site
from tests.studio.test_gate import BASE, OURS, PORT
from tests.studio.test_server import LONG_WORK, awaited


@pytest.fixture
def gate() -> Auth:
    return Auth(PORT)


class Stuck:
    """Children that never answer."""

    def __init__(self) -> None:
        self.run = Run("1", "check")

    def ask(self, question: str, **given: Any) -> Run:
        return self.run

    def start(self) -> None:
        pass

    def cancel(self, run: Run) -> None:
        run.ends("cancelled")


def test_a_text_that_is_never_checked_is_given_up(
    tmp_path: Path, gate: Auth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_site, "LONG", 0.01)
    monkeypatch.setattr(_site, "LONGEST_CHECK", 0.01)
    studio = Studio(WorkerPool(tmp_path, "file.toml"), "version = 1\n", gate)
    stuck = Stuck()
    monkeypatch.setattr(studio, "children", stuck)
    client = TestClient(studio.app, BASE, headers=OURS)
    client.cookies.set(gate.cookie, gate.key)
    reply = client.post("/api/check", json={"text": "version = 1\n"})
    assert reply.status_code == 422 and "0.01 s" in reply.json()["message"]
    assert stuck.run.state == "cancelled"


def test_what_nobody_waits_for_is_left_alone() -> None:
    """A limit whose page has gone on is not solved to its end, and the child that answers is not asked."""

    class Gone:
        async def is_disconnected(self) -> bool:
            return True

    async def asked() -> tuple[Run, str, list[str]]:
        studio = Studio(WorkerPool(Path("examples").resolve(), "file.toml"), "version = 1\n", Auth(PORT))
        run = studio.children.ask("form")
        await run.finished(60)
        gone: Any = Gone()
        with pytest.raises(_site.requests.BadRequest) as problem:
            await studio._aside(gone, "answer", text=LONG_WORK, parts=["design"], settings={})
        states = [child.run.state for child in studio.children._children if child.run is not None]
        studio.children.close()
        return run, problem.value.message, states

    run, message, states = awaited(asked())
    assert run.state == "done" and message == "the work was stopped" and states == []
