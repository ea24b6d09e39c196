"""Tables of answers fit the terminal and lose nothing; a bar is shown on a terminal only."""

import io
import sys

import pytest

from sievert.cli._present import print_table, progress_bar
from sievert.numerics import advance

HEADER = ["", "in the long run", "95.0% radius of the noise", "what it is"]
ROWS = [
    ["one release of a table", "12.5%", "3.25", "a sentence that goes on for a while"],
    ["ten releases", "36.4% to 37.0%", "11", "short"],
]


def shown(capsys: pytest.CaptureFixture[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(HEADER, ROWS, named=True)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_a_table_fits_its_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(capsys, columns, monkeypatch)
    assert max(map(len, lines)) <= columns
    words = sorted(word for row in (HEADER, *ROWS) for cell in row for word in cell.split())
    assert sorted(" ".join(lines).split()) == words


def test_titles_wrap_before_cells(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(shown(capsys, 200, monkeypatch)) == 3
    lines = shown(capsys, 92, monkeypatch)
    assert "36.4% to 37.0%" in lines[-1] and len(lines) == 4
    # Titles stand on their columns.
    assert lines[1].endswith("what it is") and "what" not in lines[0]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_and_silence_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shows in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar():
            advance("neighbours", 3, 4)
        assert ("Neighbours" in stream.getvalue()) == shows
