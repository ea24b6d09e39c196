"""docs/gallery.md: every file runs as it stands, and every kind that a file can name occurs somewhere.

`SIEVERT_GOLDEN=write pytest tests/test_gallery.py` writes what the commands print into the page.
"""

import io
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import sievert as sv
from sievert.cli import main
from sievert.kinds import ConfigType

PAGE = Path("docs/gallery.md").resolve()
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w.-]+)`:\n\n```\w+\n(.*?)```$", TEXT, re.MULTILINE | re.DOTALL))
SHOWN = re.findall(r"^\$ (sievert .*)\n((?:(?!\$ |```).*\n)*)", TEXT, re.MULTILINE)
# Kinds that need a service or a cluster: their own tests run them (tests/tables, tests/release).
ELSEWHERE = {"engine": {"processes", "ray", "address"}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def _first_paragraph(command: str) -> str:
    printed, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors), pytest.raises(SystemExit) as stopped:
        main(shlex.split(command)[1:])
    assert stopped.value.code in (0, 1), (command, errors.getvalue())
    return printed.getvalue().split("\n\n")[0].rstrip() + "\n"


def test_commands_print_what_the_page_shows(folder: Path) -> None:
    assert len(SHOWN) > 20
    page = TEXT
    for command, shown in SHOWN:
        printed = _first_paragraph(command)
        page = page.replace(f"$ {command}\n{shown}", f"$ {command}\n{printed}")
    if os.environ.get("SIEVERT_GOLDEN") == "write":
        PAGE.write_text(page, encoding="utf-8")
    else:
        assert _masked(page) == _masked(TEXT)


def _masked(page: str) -> str:
    """The page without the digits of gaps that are rounding alone: they differ between machines."""
    return re.sub(r"\d\.\de-1[3-6]", "1e-15", page)


def test_every_file_is_asked_something() -> None:
    asked = " ".join(command for command, _ in SHOWN)
    assert [name for name in FILES if "version = 1" in FILES[name] and name not in asked] == []


def _kinds_in(value: Any) -> Iterator[type[ConfigType]]:
    if isinstance(value, ConfigType):
        yield type(value)
    if isinstance(value, BaseModel):
        value = [getattr(value, name) for name in type(value).model_fields]
    elif isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("sievert"):
        value = list(vars(value).values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _kinds_in(item)


def test_every_kind_occurs_in_an_example_or_on_the_page(folder: Path, request: pytest.FixtureRequest) -> None:
    examples = [
        path
        for path in (request.config.rootpath / "examples").rglob("*.toml")
        if path.parent.name != "budgets"
    ]
    own = [folder / name for name, content in FILES.items() if "version = 1" in content]
    used = {owner for path in [*examples, *own] for owner in _kinds_in(sv.load(path).document)}
    missing = []
    for noun, base in ConfigType.nouns.items():
        for home in base.homes:
            import_module(home)
        missing += [
            f"{noun} {one}"
            for one in base.registry.values()
            if not any(issubclass(owner, one.owner) for owner in used)
            and str(one) not in ELSEWHERE.get(noun, set())
        ]
    assert missing == []
