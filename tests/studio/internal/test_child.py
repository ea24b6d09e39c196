"""What nobody expected is told by its class alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from sievert.studio._worker import answered


class Careless:
    """A desk that quotes what it read."""

    def check(self, text: str) -> Iterator[tuple[str, dict[str, float]]]:
        if text == "endless":
            yield "check", {"eps": float("inf")}
        raise OSError("canary-51")


@pytest.mark.parametrize(("text", "kind"), [("x", "OSError"), ("endless", "ValueError")])
def test_what_nobody_expected_is_told_by_its_class_alone(text: str, kind: str) -> None:
    told: list[tuple[str, Any, Any]] = []
    desk: Any = Careless()
    answered(desk, "check", {"text": text}, lambda *words: told.append(words))
    failed = ("failed", None, f"this could not be answered ({kind})")
    assert told == [("begun", None, None), failed]
