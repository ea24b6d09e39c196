"""docs/coming-from-qif.md: both columns of every row are run and give the same."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sievert as sv

PAGE = Path("docs/coming-from-qif.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", PAGE, flags=re.MULTILINE)


def names(qif: ModuleType) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    n = 4
    matrix = rng.dirichlet(np.ones(5), n)
    first, second = rng.dirichlet(np.ones(3), n), rng.dirichlet(np.ones(4), n)
    holds = np.array([0, 1, 1, 0], dtype=np.uint64)
    gain = rng.random((3, n))
    return {
        "qif": qif, "sv": sv, "n": n, "d": qif.metric.euclidean(), "pi": rng.dirichlet(np.ones(n)),
        "C": matrix, "A": first, "B": second, "R": rng.dirichlet(np.ones(3), 5), "G": gain, "P": holds,
        "channel": sv.Channel(matrix), "a": sv.Channel(first), "b": sv.Channel(second),
        "gain": sv.gains.matrix(gain), "loss": sv.losses.matrix(gain),
        "has": np.flatnonzero(holds).tolist(), "line": sv.metrics.line(n),
    }  # fmt: skip


def sorted_columns(value: Any) -> Any:
    """The same up to the order of outputs, which neither side promises."""
    array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    return array[..., np.lexsort(np.atleast_2d(array).round(9))]


def test_the_page_has_its_rows() -> None:
    assert len(ROWS) > 80


@pytest.mark.parametrize(("theirs", "ours"), ROWS, ids=[row[0] for row in ROWS])
def test_both_columns_agree(theirs: str, ours: str, oracle: Callable[[str], ModuleType]) -> None:
    scope = names(oracle("qif"))
    expected, found = eval(theirs, scope), eval(ours, scope)
    if not isinstance(found, (np.ndarray, list)):
        found = float(found)
    tolerance = 1e-6 if "shannon.add_capacity" in theirs or "add_metric" in theirs else 1e-9
    if "metric.kantorovich" in theirs:
        tolerance = 1e-5  # qif's own error
    assert sorted_columns(found) == pytest.approx(sorted_columns(expected), abs=tolerance)


def test_every_call_is_named(oracle: Callable[[str], ModuleType]) -> None:
    """Each function of each module of qif stands on the page, in a table or in a sentence below one."""
    qif = oracle("qif")
    modules = [qif.probab, qif.channel, qif.channel.compose, qif.refinement, qif.utility]
    modules += [getattr(qif.measure, name) for name in dir(qif.measure) if not name.startswith("_")]
    modules += [getattr(qif.mechanism, name) for name in dir(qif.mechanism) if not name.startswith("_")]
    missing = []
    for module in modules:
        for name in dir(module):
            value = getattr(module, name)
            public = not name.startswith("_") and callable(value) and not isinstance(value, ModuleType)
            if public and not re.search(rf"\b{name}\b", PAGE):
                missing.append(f"{module.__name__}.{name}")
    assert missing == []
