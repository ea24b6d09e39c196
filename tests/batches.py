"""Few rows at a time."""

from collections.abc import Iterable, Iterator

import pytest

from sievert.tables import Batch, Rows


def in_batches_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read comes in batches of so many rows, also where more are read at once."""
    real = Rows.batches

    def batches(rows: Rows, columns: Iterable[str], most: int = size) -> Iterator[Batch]:
        for batch in real(rows, columns, most):
            for start in range(0, batch.size, most):
                cells = {name: column[start : start + most] for name, column in batch.columns.items()}
                yield Batch(batch.first + start, cells, min(most, batch.size - start))

    monkeypatch.setattr(Rows, "batches", batches)
