"""What a request holds: JSON of a few kinds, each looked at before anybody uses it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

from sievert.studio._names import TITLES

__all__ = ["BadRequest", "body", "edits", "parts", "table", "text"]

# Bytes of a request; a file with longer lists names tables.
LARGEST_BODY = 2_000_000


class BadRequest(Exception):
    """A request that is answered by a status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


async def body(request: Request) -> Mapping[str, Any]:
    """The table that a body holds; nothing but JSON, and no more than is allowed."""
    kind, _, further = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != "application/json" or further.strip().lower() not in ("", "charset=utf-8"):
        raise BadRequest(415, "send application/json")
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > LARGEST_BODY:
                raise BadRequest(413, f"the request has more than {LARGEST_BODY:,} bytes")
    except ClientDisconnect:
        raise BadRequest(422, "the request broke off") from None
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise BadRequest(422, "the body is no JSON") from None
    if not isinstance(given, dict):
        raise BadRequest(422, "the body must be a JSON object")
    return given


def text(given: Mapping[str, Any], key: str) -> str:
    """A text, whole."""
    found = given.get(key)
    if not isinstance(found, str) or not _encodes(found):
        raise BadRequest(422, f"{key} must be a text")
    return found


def _encodes(text: str) -> bool:
    """Whether a text has no half of a letter in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def table(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A table, empty where there is none."""
    found = given.get(key, {})
    if not isinstance(found, dict):
        raise BadRequest(422, f"{key} must be an object")
    return found


def edits(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Changes of keys and of sliders."""
    found = given.get("edits", [])
    if not isinstance(found, list) or not all(map(_is_edit, found)):
        raise BadRequest(422, "edits must be a list of {path, value}, {path, toml} or {control, value}")
    return found


def _is_edit(edit: Any) -> bool:
    if not isinstance(edit, dict):
        return False
    if "control" in edit:
        return isinstance(edit["control"], str) and isinstance(edit.get("value"), int | float)
    path = edit.get("path")
    proper = isinstance(path, list) and path and all(isinstance(step, str | int) for step in path)
    return bool(proper) and (isinstance(edit.get("toml"), str) if "toml" in edit else "value" in edit)


def parts(given: Mapping[str, Any]) -> list[str]:
    """Names of parts, each once."""
    found = given.get("parts", [])
    if not isinstance(found, list) or not all(isinstance(name, str) and name in TITLES for name in found):
        raise BadRequest(422, f"parts are some of {', '.join(TITLES)}")
    return list(dict.fromkeys(found))
