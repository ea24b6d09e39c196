"""Who may ask: every way in but the right one is refused, and every reply carries the headers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from sievert.studio import Auth, Studio, WorkerPool

PORT = 4711
BASE = f"http://127.0.0.1:{PORT}"
OURS = {"origin": BASE}
JSON = {"content-type": "application/json"}


def client_of(folder: Path, gate: Auth) -> TestClient:
    (folder / "file.toml").write_text("version = 1\n", encoding="utf-8")
    studio = Studio(WorkerPool(folder, "file.toml"), "version = 1\n", gate)
    return TestClient(studio.app, BASE, raise_server_exceptions=True, follow_redirects=False)


@pytest.fixture
def gate() -> Auth:
    return Auth(PORT)


@pytest.fixture
def client(tmp_path: Path, gate: Auth) -> Iterator[TestClient]:
    """A browser that has opened the link; nothing is computed, so no child is started."""
    found = client_of(tmp_path, gate)
    reply = found.get(f"/?token={gate.token}")
    assert reply.status_code == 200 and 'url=/"' in reply.text
    yield found
    found.close()


def test_the_link_gives_a_cookie_once(tmp_path: Path, gate: Auth) -> None:
    client, token = client_of(tmp_path, gate), gate.token
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    reply = client.get(f"/?token={token}")
    flags = {part.strip() for part in reply.headers["set-cookie"].split(";")[1:]}
    assert flags == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert str(token) not in reply.headers["set-cookie"]
    assert client.get("/").status_code == 200
    stranger = client_of(tmp_path, gate)
    assert stranger.get(f"/?token={token}").status_code == 403
    again = client.get(f"/?token={token}")
    assert again.status_code == 200 and 'url=/"' in again.text and "set-cookie" not in again.headers
    assert str(gate.key) not in repr(gate) and str(token) not in repr(gate)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": f"localhost:{PORT}"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": f"evil.example:{PORT}"}, 403),
        ({"host": "127.0.0.1"}, 403),
        ({"host": f"127.0.0.1:{PORT + 1}"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://localhost:{PORT}"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"upgrade": "websocket", "connection": "upgrade"}, 403),
        ({"cookie": f"sievert-studio-{PORT}=forged"}, 403),
    ],
)
def test_hosts_origins_and_cookies(client: TestClient, headers: dict[str, str], status: int) -> None:
    if headers.get("host", "").startswith("localhost"):
        headers = {**headers, "cookie": "; ".join(f"{k}={v}" for k, v in client.cookies.items())}
    assert client.get("/", headers=headers).status_code == status


@pytest.mark.parametrize(
    "said",
    [
        [("origin", BASE), ("origin", "http://evil.example")],
        [("origin", "http://evil.example"), ("origin", BASE)],
        [("Origin", BASE), ("origin", BASE)],
        [("host", f"127.0.0.1:{PORT}"), ("host", f"127.0.0.1:{PORT}")],
        [("sec-fetch-site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
    ],
)
def test_what_is_said_twice_is_refused(client: TestClient, said: list[tuple[str, str]]) -> None:
    assert client.get("/", headers=[("origin", BASE)]).status_code == 200
    reply = client.get("/", headers=said)
    assert reply.status_code == 403 and "once" in reply.json()["message"]


def test_looking_ahead_does_not_use_the_link_up(tmp_path: Path, gate: Auth) -> None:
    client, token = client_of(tmp_path, gate), gate.token
    reply = client.head(f"/?token={token}")
    assert reply.status_code == 405 and "set-cookie" not in reply.headers
    assert client.get(f"/?token={token}").status_code == 200


def test_what_changes_anything_names_its_origin(client: TestClient) -> None:
    body = json.dumps({"name": "file.toml"})
    assert client.post("/api/open", content=body, headers=JSON).status_code == 403
    assert client.delete("/api/jobs/1-guess").status_code == 403
    assert client.post("/api/open", content=body, headers=JSON | OURS).json()["text"] == "version = 1\n"


def test_no_websocket_is_opened(client: TestClient) -> None:
    for path in ("/", "/api/answer"):
        with pytest.raises(WebSocketDisconnect) as refused, client.websocket_connect(path):
            pass
        assert refused.value.code == 1008


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_only_json_is_read(client: TestClient, kind: str) -> None:
    reply = client.post("/api/check", content=b'{"text": ""}', headers={"content-type": kind, **OURS})
    assert reply.status_code == 415


def test_large_and_broken_bodies(client: TestClient) -> None:
    large = b'{"text": "' + b"x" * 2_000_001 + b'"}'
    assert client.post("/api/check", content=large, headers=JSON | OURS).status_code == 413
    stream = iter([b"x" * 1_000_000] * 3)
    assert client.post("/api/check", content=stream, headers=JSON | OURS).status_code == 413
    for body in (
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"[" * 100_000,
        b"\xff",
        b'{"text": 1}',
        b'{"text": "\\ud800"}',
    ):
        reply = client.post("/api/check", content=body, headers=JSON | OURS)
        assert reply.status_code == 422 and reply.json()["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"text": "", "parts": ["nothing"]},
        {"text": "", "parts": "guess"},
        {"text": "", "parts": [["guess"]]},
        {"text": "", "edits": [{"path": []}]},
        {"text": "", "edits": [{"path": ["a", None], "value": 1}]},
        {"text": "", "edits": [{"control": "eps", "value": "1"}]},
        {"text": "", "edits": [{"path": ["a"], "toml": 1}]},
        {"text": "", "settings": [], "parts": []},
    ],
)
def test_questions_that_no_page_asks(client: TestClient, body: dict[str, object]) -> None:
    if "settings" in body:
        assert client.post("/api/jobs", json={"text": "", "part": None}, headers=OURS).status_code == 422
        return
    assert client.post("/api/answer", json=body, headers=OURS).status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/static/nothing.js",
        "/static/..%2f_gate.py",
        "/static/%2e%2e/_gate.py",
        "/static//etc/passwd",
        "/static/index.html%00.js",
        "/_gate.py",
        "/api/nothing",
        "/api/jobs/99-guess",
    ],
)
def test_what_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_only_files_of_the_folder_are_opened(client: TestClient, tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.toml"
    outside.write_text("secret = 1\n", encoding="utf-8")
    (tmp_path / "link.toml").symlink_to(outside)
    for name in ("../outside.toml", str(outside), "link.toml", "nothing.toml", ".", "file.toml/../file.toml"):
        reply = client.post("/api/open", json={"name": name}, headers=OURS)
        assert reply.status_code == 404 and "secret" not in reply.text


def test_every_reply_carries_the_headers(client: TestClient) -> None:
    replies = [
        client.get("/"),
        client.get("/static/plotly-cartesian.min.js"),
        client.get("/static/nothing.js"),
        client.get("/", headers={"host": "evil.example"}),
        client.post("/api/check", content=b"{", headers=JSON | OURS),
    ]
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy.partition("style-src")[0] and "eval" not in policy
        assert "frame-ancestors 'none'" in policy and "http" not in policy
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert "server" not in reply.headers and "access-control-allow-origin" not in reply.headers
    assert replies[1].content.startswith(b"/*") and len(replies[1].content) > 10**6
